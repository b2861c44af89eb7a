"""``package.module:callable``: a retriever out of the user's own code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.protocol import Retriever
from retrieval_eval.search.retrievers import RETRIEVERS, RetrieverKind, shown_kinds

_CALLABLE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_EXPECTED = (
    "expected an object with search(query, *, corpus, k), a class or factory of such objects,"
    " or a function (query, *, corpus, k)"
)


@dataclass(frozen=True, slots=True)
class FunctionRetriever:
    """A plain function ``(query, *, corpus, k)`` as a retriever.

    It is called from one thread, unless the function has an attribute ``is_thread_safe = True``.
    """

    spec: str
    function: Callable[..., Any]
    options: Mapping[str, str]

    @property
    def is_thread_safe(self) -> bool:
        """What the function says about itself."""
        return getattr(self.function, "is_thread_safe", False) is True

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
    if not _CALLABLE.fullmatch(spec):
        raise BadInputError(f"{spec!r} names no retriever; expected {shown_kinds()}")
    found = user_object(spec, shown_kinds())
    if not isinstance(found, type) and isinstance(found, Retriever):
        if options:
            raise BadInputError(f"{spec}: is a retriever already and takes no options")
        return found
    if not callable(found):
        raise BadInputError(f"{spec}: is of type {type(found).__name__}; {_EXPECTED}")
    if not isinstance(found, type) and _accepts(found, ("query",), {"corpus": "", "k": 1}):
        return _function(spec, found, options)
    return _made(spec, found, options)


def user_object(spec: str, expected: str) -> Any:
    """Return what ``package.module:name`` names; the current directory can be imported from.

    Raises
    ------
    BadInputError
        When the spec has another form (the message says what was ``expected``), there is no such
        module or attribute, or importing it fails.
    """
    if not _CALLABLE.fullmatch(spec):
        raise BadInputError(f"{spec!r} is not of the form package.module:name; expected {expected}")
    module_name, _, path = spec.partition(":")
    return _attribute(_module(module_name, spec), path, spec)


def _module(name: str, spec: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    # A file written since the last import would not be seen.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise BadInputError(
                f"{spec}: there is no module {missing!r}; looked in {here} and where Python looks"
            ) from error
        raise BadInputError(f"{spec}: importing {name!r} fails: {_said(error)}") from error


def _attribute(module: ModuleType, path: str, spec: str) -> Any:
    found: Any = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except Exception as error:
            public = [known for known in sorted(dir(found)) if not known.startswith("_")]
            raise BadInputError(
                f"{spec}: module {module.__name__!r} has no {path!r}"
                f" (it has {', '.join(public[:10]) or 'nothing public'})"
            ) from error
    return found


def _function(spec: str, function: Callable[..., Any], options: Mapping[str, str]) -> Retriever:
    if inspect.iscoroutinefunction(function):
        raise BadInputError(f"{spec}: is an async function; wrap it in one that waits for it")
    own = {"corpus": "", "k": 1}
    if own.keys() & options.keys() or not _accepts(function, ("query",), {**own, **options}):
        raise BadInputError(f"{spec}: cannot be called with {_listed(options)}")
    return FunctionRetriever(spec, function, dict(options))


def _made(spec: str, factory: Callable[..., Any], options: Mapping[str, str]) -> Retriever:
    try:
        made = factory(**options)
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"{spec}: calling it with {_listed(options)} fails: {_said(error)}; {_EXPECTED}"
        ) from error
    if not isinstance(made, Retriever):
        raise BadInputError(f"{spec}: gives a value of type {type(made).__name__}; {_EXPECTED}")
    return made


def _accepts(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **named)
    except (TypeError, ValueError):
        return False
    return True


def _listed(options: Mapping[str, str]) -> str:
    return f"the options {', '.join(sorted(options))}" if options else "no options"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


RETRIEVERS.add("module", RetrieverKind("package.module:callable", open_module, schemes=("",)))
