"""``package.module:callable``: a retriever out of the user's own code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.ask import Retriever
from retrieval_eval.search.ask.options import (
    accepts,
    is_callable_spec,
    listed,
    load_callable,
    made_by,
    refuse_async,
)
from retrieval_eval.search.ask.retrievers import RETRIEVERS, RetrieverKind, shown_kinds

_EXPECTED = (
    "expected an object with search(query, *, corpus, k), a class or factory of such objects,"
    " or a function (query, *, corpus, k)"
)


@dataclass(frozen=True, slots=True)
class FunctionRetriever:
    """A plain function ``(query, *, corpus, k)`` as a retriever.

    It is called from one thread, unless the function has an attribute ``is_thread_safe = True``.
    Its attributes ``is_deterministic`` and ``lower_is_better`` count as those of an object do.
    """

    spec: str
    function: Callable[..., Any]
    options: Mapping[str, str]

    @property
    def is_thread_safe(self) -> bool:
        """What the function says about itself."""
        return getattr(self.function, "is_thread_safe", False) is True

    @property
    def is_deterministic(self) -> bool:
        """What the function says about itself."""
        return getattr(self.function, "is_deterministic", False) is True

    @property
    def lower_is_better(self) -> bool | None:
        """What the function says about its scores; None where it says nothing."""
        value = getattr(self.function, "lower_is_better", None)
        return value if isinstance(value, bool) else None

    def search(self, query: str, *, corpus: str, k: int) -> Any:
        """Return what the function returns."""
        return self.function(query, corpus=corpus, k=k, **self.options)

    def describe(self) -> dict[str, Any]:
        """Return the function's name."""
        return {"name": self.spec, "reranker": None}


def open_module(spec: str, options: Mapping[str, str]) -> Retriever:
    """Return the retriever that ``module:attribute`` names.

    The current directory can be imported from, as with ``python -m``. A class or factory is called
    with the options as keyword arguments, all of them text; a function gets them with every
    query; an object that is a retriever already takes none. A function that can be called as
    ``f(query, corpus=…, k=…)`` is taken for a search function, any other for a factory.

    Raises
    ------
    BadInputError
        When the spec is none of such a kind, there is no such module or attribute, importing or
        calling it fails, or what it gives is no retriever.
    """
    if not is_callable_spec(spec):
        raise BadInputError(f"{spec!r} names no retriever; expected {shown_kinds()}")
    found = load_callable(spec)
    if not isinstance(found, type) and isinstance(found, Retriever):
        if options:
            raise BadInputError(f"{spec}: is a retriever already and takes no options")
        return found
    if not callable(found):
        raise BadInputError(f"{spec}: is of type {type(found).__name__}; {_EXPECTED}")
    if not isinstance(found, type) and accepts(found, ("query",), {"corpus": "", "k": 1}):
        return _function(spec, found, options)
    made = made_by(spec, found, options, _EXPECTED)
    if not isinstance(made, Retriever):
        raise BadInputError(f"{spec}: gives a value of type {type(made).__name__}; {_EXPECTED}")
    return made


def _function(spec: str, function: Callable[..., Any], options: Mapping[str, str]) -> Retriever:
    refuse_async(spec, function)
    own = {"corpus": "", "k": 1}
    if own.keys() & options.keys() or not accepts(function, ("query",), {**own, **options}):
        raise BadInputError(f"{spec}: cannot be called with {listed(options)}")
    return FunctionRetriever(spec, function, dict(options))


RETRIEVERS.add("module", RetrieverKind("package.module:callable", open_module, schemes=("",)))
