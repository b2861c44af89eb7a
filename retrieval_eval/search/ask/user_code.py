"""``package.module:callable``: an object out of the user's own code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from retrieval_eval.errors import BadInputError

_CALLABLE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_callable_spec(spec: str) -> bool:
    """Return whether a text has the form ``package.module:callable``."""
    return _CALLABLE.fullmatch(spec) is not None


def load_callable(spec: str) -> Any:
    """Return what ``package.module:callable`` names.

    The current directory can be imported from, as with ``python -m``.

    Raises
    ------
    BadInputError
        When there is no such module or attribute, or importing it fails.
    """
    module_name, _, path = spec.partition(":")
    return _attribute(_module(module_name, spec), path, spec)


def accepts(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether a callable can be called with these arguments."""
    try:
        inspect.signature(function).bind(*args, **named)
    except (TypeError, ValueError):
        return False
    return True


def made_by(
    spec: str, factory: Callable[..., Any], options: Mapping[str, str], expected: str
) -> Any:
    """Return what a class or factory makes of options.

    Raises
    ------
    BadInputError
        When calling it fails; ``expected`` ends the message.
    """
    try:
        return factory(**options)
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"{spec}: calling it with {listed(options)} fails: {said(error)}; {expected}"
        ) from error


def refuse_async(spec: str, function: Callable[..., Any]) -> None:
    """Raise `BadInputError` for an async function."""
    if inspect.iscoroutinefunction(function):
        raise BadInputError(f"{spec}: is an async function; wrap it in one that waits for it")


def listed(options: Mapping[str, str]) -> str:
    """Return the names of options as a message states them."""
    return f"the options {', '.join(sorted(options))}" if options else "no options"


def said(error: BaseException) -> str:
    """Return an exception of the user's code on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


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
        raise BadInputError(f"{spec}: importing {name!r} fails: {said(error)}") from error


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
