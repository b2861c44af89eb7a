"""What a retriever is named and set by: options ``name=value``, and the user's own code."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from retrieval_eval.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Options:
    """The options given for one kind of retriever (``kind`` is its name in messages)."""

    kind: str
    given: Mapping[str, str]

    def only(self, known: Collection[str], prefixes: tuple[str, ...] = ()) -> None:
        """Refuse an option that is neither ``known`` nor begins with one of ``prefixes``.

        Raises
        ------
        BadInputError
            When there is one; the message lists what there is.
        """
        for name in self.given:
            if name not in known and not name.startswith(prefixes or ("\0",)):
                listed = ", ".join([*known, *(f"{prefix}NAME" for prefix in prefixes)])
                raise BadInputError(
                    f"{self.kind} has no option {name!r}; it has {listed or 'no options at all'}"
                )

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Return a number from ``low`` to ``high``; raises BadInputError when it is none."""
        text = self.given.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise BadInputError(
                f"{self.kind}: option {name} is {text!r}; it must be a number"
                f" from {low:g} to {high:g}"
            )
        return value

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``; raises BadInputError when it is none."""
        value = self.number(name, default, low, high)
        if value % 1:
            raise BadInputError(f"{self.kind}: option {name} is {value:g}; it must be whole")
        return int(value)

    def choice(self, name: str, default: str, choices: Collection[str]) -> str:
        """Return one of ``choices``; raises BadInputError when it is none."""
        value = self.given.get(name, default)
        if value not in choices:
            raise BadInputError(
                f"{self.kind}: option {name} is {value!r}; it must be one of {', '.join(choices)}"
            )
        return value


# --------------------------------------------------------------------------------------------------
# A retriever's address and options as they may be shown: what looks secret is hidden.

_SECRET: Final = re.compile(r"pass|pwd|secret|token|api.?key|auth|signature", re.IGNORECASE)
# Such an option names a variable of the environment, which is where secrets belong.
_NAMES_A_VARIABLE: Final = re.compile(r"_env(\.|$)", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[\w+.-]+://")
# A database's address as SQLAlchemy reads it: the password goes to the first @, and may hold /, ?
# and #, which end the authority elsewhere. What follows up to a further @ was meant as one, too.
_PASSWORD: Final = re.compile(r"\A(?!http)([\w+.-]+://[^:/@]*):[^@]*@(?:[^/?#]*@)?")


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return a text with each secret replaced: a server may send back what it was sent."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def shown_spec(spec: str) -> str:
    """Return a retriever's spec for people and files: an address without its secrets.

    Of a web address no parameter's value is shown, nor its fragment, since any may be one.

    Examples
    --------
    >>> shown_spec("postgresql://me:secret@db/corpus?table=docs&sslpassword=1")
    'postgresql://me:***@db/corpus?table=docs&sslpassword=***'
    >>> shown_spec("bm25:corpus.jsonl")
    'bm25:corpus.jsonl'
    """
    spec = _PASSWORD.sub(r"\1:***@", spec, count=1)
    is_web = spec.startswith("http")
    try:
        # A database's address has no fragment: a # there belongs to the value it stands in.
        parts = urlsplit(spec, allow_fragments=is_web) if "://" in spec else None
    except ValueError:
        return spec.split("://", 1)[0] + "://***"
    if parts is None:
        return spec
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    query = [
        (key, "***" if is_web or _SECRET.search(key) else value)
        for key, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    shown = parts._replace(
        netloc=f"{name}:***@{host}" if colon else f"{user}{at}{host}",
        query=urlencode(query, safe="*/:"),
        fragment="***" if parts.fragment else "",
    )
    return urlunsplit(shown)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return options for people and files, by name, with values that look secret hidden.

    A value that is itself an address is shown as `shown_spec` shows it.

    Examples
    --------
    >>> shown_options({"header.Authorization": "Basic eA", "bearer_env": "SEARCH_TOKEN"})
    {'bearer_env': 'SEARCH_TOKEN', 'header.Authorization': '***'}
    """
    return {
        name: "***"
        if _SECRET.search(name) and not _NAMES_A_VARIABLE.search(name)
        else shown_spec(value)
        if _ADDRESS.match(value)
        else value
        for name, value in sorted(options.items())
    }


# --------------------------------------------------------------------------------------------------
# ``package.module:callable``: an object out of the user's own code.

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
        remedy = "" if missing is None else f"; install {missing!r} where this command runs"
        raise BadInputError(f"{spec}: importing {name!r} fails: {said(error)}{remedy}") from error


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
