"""``package.module:callable``: a judge out of the user's own code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_run import JudgeFacts
from retrieval_eval.search.ask.user_code import (
    accepts,
    is_callable_spec,
    load_callable,
    made_by,
    refuse_async,
)
from retrieval_eval.search.claims.judge import JUDGES, Judge

_EXPECTED: Final = (
    "expected a function (claim, block_text), or a class, factory or object with"
    " judge(claim, block_text)"
)


@dataclass(frozen=True, slots=True)
class UserJudge:
    """A function, or the ``judge`` of an object, as a judge.

    What it answers is read by `checked`. It is asked from one thread, unless it has an attribute
    ``concurrency``. Its version is its attribute ``version``, else the digest of the file that
    defines it, so that verdicts of changed code are not compared with earlier ones.
    """

    spec: str
    answer: Callable[..., Any]
    source: Any
    options: Mapping[str, str]
    arguments: Mapping[str, str]

    @property
    def facts(self) -> JudgeFacts:
        """Its name, version and options."""
        version = getattr(self.source, "version", None)
        shown = version if isinstance(version, str) and version else _digest(self.source)
        return JudgeFacts(name=self.spec, version=shown, settings=dict(self.options))

    @property
    def concurrency(self) -> int:
        """What it says about itself."""
        found = getattr(self.source, "concurrency", 1)
        is_number = isinstance(found, int) and not isinstance(found, bool)
        return found if is_number and 1 <= found <= 256 else 1

    def judge(self, claim: str, block_text: str) -> Any:
        """Return what the code returns."""
        return self.answer(claim, block_text, **self.arguments)


def open_module_judge(spec: str, options: Mapping[str, str]) -> Judge:
    """Return the judge that ``module:attribute`` names.

    The current directory can be imported from. A class or factory is called with the options as
    keyword arguments, all of them text; a function ``f(claim, block_text)`` gets them with every
    claim; an object with ``judge(claim, block_text)`` takes none.

    Raises
    ------
    BadInputError
        When the spec has no such form, there is no such module or attribute, importing or calling
        it fails, or what it gives is no judge.
    """
    if not is_callable_spec(spec):
        raise BadInputError(
            f"{spec[:80]!r} names no judge; expected {', '.join(JUDGES)} or package.module:callable"
        )
    found = load_callable(spec)
    if not isinstance(found, type) and callable(getattr(found, "judge", None)):
        if options:
            raise BadInputError(f"{spec}: is a judge already and takes no options")
        return _of_object(spec, found, {})
    if not callable(found):
        raise BadInputError(f"{spec}: is of type {type(found).__name__}; {_EXPECTED}")
    if not isinstance(found, type) and accepts(found, ("claim", "text"), options):
        refuse_async(spec, found)
        return UserJudge(spec, found, found, dict(options), dict(options))
    return _of_object(spec, made_by(spec, found, options, _EXPECTED), options)


def _of_object(spec: str, made: Any, options: Mapping[str, str]) -> Judge:
    answer = getattr(made, "judge", None)
    if not callable(answer) or not accepts(answer, ("claim", "text"), {}):
        raise BadInputError(f"{spec}: gives a value of type {type(made).__name__}; {_EXPECTED}")
    refuse_async(spec, answer)
    return UserJudge(spec, answer, made, dict(options), {})


def _digest(source: Any) -> str:
    name = getattr(source, "__module__", None) or type(source).__module__
    path = getattr(sys.modules.get(name), "__file__", None)
    try:
        return sha256(Path(path).read_bytes()).hexdigest()[:12] if path else "unknown"
    except OSError:
        return "unknown"
