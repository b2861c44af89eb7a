"""Retrievers by name: what ``--retriever`` understands. Each module of this folder adds a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.registry import Registry
from retrieval_eval.search.ask import Retriever

# Kinds that there were.
_GONE: Final = frozenset({"dense", "postgresql", "rrf"})
_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RetrieverKind:
    """One kind of retriever.

    Attributes
    ----------
    shown
        How a spec of this kind is written, for help and messages.
    open
        Returns the retriever of a whole spec and its options, which are text. Raises
        `BadInputError` for what cannot be used; see `Options`.
    options
        Names of its options, for help; empty: any, or none.
    schemes
        What stands before the colon of its specs (``postgresql`` and ``postgresql+driver`` are
        one); by default the name it is registered by.
    """

    shown: str
    open: Callable[[str, Mapping[str, str]], Any]
    options: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()


RETRIEVERS: Final[Registry[RetrieverKind]] = Registry(
    "retrieval_eval.retrievers",
    "retriever",
    tuple(f"{__name__}.{module.name}" for module in iter_modules(__path__)),
)
"""The kinds of retrievers by name, those of other distributions included."""


def open_retriever(spec: str, options: Mapping[str, str] = _NO_OPTIONS) -> Retriever:
    """Return the retriever that ``spec`` names, ready to be asked.

    Parameters
    ----------
    spec
        Such as ``bm25:PATH`` (a corpus in JSONL), ``run:PATH`` (a TREC run or JSONL), ``http://…``
        or ``https://…``, ``package.module:callable``, or what another distribution adds to
        :data:`RETRIEVERS`.
    options
        Settings of that kind of retriever, as text.

    Raises
    ------
    BadInputError
        When the spec is none of these, an option is unknown or out of range, or what the spec
        names does not exist or cannot be used.
    """
    kind = retriever_kind(spec)
    if kind == "module" and _scheme(spec) in _GONE:
        raise BadInputError(
            f"{_scheme(spec)}: was removed: docs/recipes.md has it as ten lines of your own"
        )
    retriever: Retriever = RETRIEVERS[kind].open(spec, options)
    return retriever


def retriever_kind(spec: str) -> str:
    """Return the kind of retriever that a spec names; what has no scheme of one is ``module``.

    Examples
    --------
    >>> retriever_kind("https://host/search"), retriever_kind("package.module:name")
    ('http', 'module')
    """
    kinds, scheme = RETRIEVERS.items(), _scheme(spec)
    return next((name for name, kind in kinds if scheme in (kind.schemes or (name,))), "module")


def _scheme(spec: str) -> str:
    return spec.partition(":")[0].partition("+")[0]


def shown_kinds() -> str:
    """Return how specs of every kind are written, for help and messages."""
    return ", ".join(kind.shown for _, kind in RETRIEVERS.items())


def file_of(spec: str) -> Path:
    """Return the file that a spec such as ``bm25:FILE`` names; raises BadInputError for none."""
    kind, _, name = spec.partition(":")
    if not name:
        raise BadInputError(f"{kind}: needs a file; expected {shown_kinds()}")
    return Path(name).expanduser()
