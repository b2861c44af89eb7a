"""Who decides whether a block of text supports a claim, and what is kept of the decisions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import append_line, decode, is_there, json_bytes
from retrieval_eval.io.user_files import read_user_bytes
from retrieval_eval.model.search_run import JudgeFacts
from retrieval_eval.registry import Registry
from retrieval_eval.search.ask import clean_text
from retrieval_eval.search.ask.options import (
    accepts,
    is_callable_spec,
    load_callable,
    made_by,
    refuse_async,
)
from retrieval_eval.search.claims.splitting import find_quote

HTTP: Final = "http"

MODULE: Final = "MODULE:CALLABLE"
"""How help names a judge out of the user's own code."""

_LEFT_OUT: Final = "left_out"

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class JudgeError(NothingToEvaluateError):
    """A judge gave no usable verdict, so nothing was measured (exit code 2)."""


@dataclass(frozen=True, slots=True, repr=False)
class Judgement:
    """Whether a block supports a claim, where, and why.

    ``span`` are the characters of the block that do, None where it does not support the claim or
    the place is not known. ``reason`` is a code or a short sentence. An ``is_unproved`` claim was
    called supported without proof, or not judged in words that can be read: it is not supported,
    and not known to be unsupported. ``veto`` is the rule that a supporting verdict breaks
    (`retrieval_eval.search.claims.veto`).
    """

    supported: bool
    span: tuple[int, int] | None
    reason: str
    is_unproved: bool = False
    veto: str | None = None

    def __repr__(self) -> str:
        """Return the parts, without those that are not set."""
        parts = [f"supported={self.supported}", f"span={self.span}", f"reason={self.reason!r}"]
        parts += ["is_unproved=True"] if self.is_unproved else []
        parts += [f"veto={self.veto!r}"] if self.veto else []
        return f"Judgement({', '.join(parts)})"


SUPPORTED: Final = "supported"
NOT_SUPPORTED: Final = "not_supported"
NOT_QUOTED: Final = "not_quoted"
"""Called supported by words that the block does not hold."""

_LONGEST_REASON: Final = 200
_EXPECTED: Final = (
    "expected true or false, a Judgement, or a mapping with supported and perhaps span or quote,"
    " and reason"
)


def checked(found: Any, block_text: str) -> Judgement:
    """Return what a judge answered as a judgement: the one place that decides what may count.

    A judge answers with `Judgement`, with true or false, or with a mapping: ``supported`` (true or
    false), ``span`` (first and behind the last character of the block) or ``quote`` (words of the
    block), ``reason`` (text). A claim called supported by a quote that the block does not hold is
    unproved.

    Raises
    ------
    JudgeError
        When it is anything else: no such value, a number in place of true or false, a span outside
        the block or of no character.

    Examples
    --------
    >>> checked({"supported": True, "quote": "30 days"}, "Kept for 30 days.")
    Judgement(supported=True, span=(9, 16), reason='supported')
    >>> checked(0.93, "Kept for 30 days.")
    Traceback (most recent call last):
    retrieval_eval.search.claims.judge.JudgeError: the judge answered with a value of type float; \
expected true or false, a Judgement, or a mapping with supported and perhaps span or quote, \
and reason
    """
    supported: Any
    span: Any
    reason: Any
    quote, is_unproved = None, False
    if isinstance(found, Judgement):
        supported, span, reason = found.supported, found.span, found.reason
        is_unproved = _flag(found.is_unproved, "is_unproved")
    elif isinstance(found, Mapping):
        supported, span = found.get("supported"), found.get("span")
        quote, reason = found.get("quote"), found.get("reason")
    elif _is_flag(found):
        supported, span, reason = found, None, None
    else:
        raise JudgeError(f"the judge answered with {_kind(found)}; {_EXPECTED}")
    is_supported = _flag(supported, "supported")
    if reason is not None and not isinstance(reason, str):
        raise JudgeError(f"the judge gave {_kind(reason)} for a reason; expected text")
    said = clean_text(" ".join((reason or "").split())[:_LONGEST_REASON])
    if not is_supported:
        return Judgement(False, None, said or NOT_SUPPORTED, is_unproved)
    if quote is not None and not isinstance(quote, str):
        raise JudgeError(f"the judge gave {_kind(quote)} for a quote; expected text")
    place = None if span is None else _span(span, block_text)
    if place is None and quote is not None:
        place = find_quote(quote, block_text)
        if place is None:
            return Judgement(False, None, said or NOT_QUOTED, is_unproved=True)
    return Judgement(not is_unproved, place, said or SUPPORTED, is_unproved)


def _is_flag(value: Any) -> bool:
    # A boolean of numpy is one, an array of them is none.
    return isinstance(value, bool) or type(value).__name__ in {"bool_", "bool"}


def _flag(value: Any, name: str) -> bool:
    if not _is_flag(value):
        raise JudgeError(f"the judge gave {_kind(value)} for {name}; expected true or false")
    return bool(value)


def _span(span: Any, block_text: str) -> tuple[int, int]:
    ends = tuple(span) if isinstance(span, Sequence) and not isinstance(span, str) else ()
    if len(ends) != 2 or not all(isinstance(end, Integral) for end in ends) or _has_flag(ends):
        raise JudgeError("the judge gave a span that is no pair of whole numbers")
    start, end = int(ends[0]), int(ends[1])
    if not 0 <= start < end <= len(block_text):
        raise JudgeError(
            f"the judge gave the span {start} to {end} of a block of {len(block_text)} characters"
        )
    return start, end


def _has_flag(values: Sequence[Any]) -> bool:
    return any(isinstance(value, bool) for value in values)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def ask(judge: Judge, claim: str, block_text: str) -> Judgement:
    """Return the checked judgement of a judge on one claim and one block.

    Raises
    ------
    JudgeError
        When the judge raises anything, or its answer is none (`checked`).
    """
    try:
        return checked(judge.judge(claim, block_text), block_text)
    except (JudgeError, BadInputError):
        raise
    except (Exception, SystemExit) as error:
        said = clean_text(" ".join(str(error).split())[:_LONGEST_REASON])
        raise JudgeError(f"the judge failed: {type(error).__name__}: {said}") from error


class Judge(Protocol):
    """Judges one claim against one block at a time; asked from ``concurrency`` threads at most."""

    @property
    def facts(self) -> JudgeFacts:
        """What an artefact says of it; ``settings`` hold all that decides a judgement."""
        ...

    @property
    def concurrency(self) -> int:
        """How many threads may ask it at once."""
        ...

    def judge(self, claim: str, block_text: str) -> Judgement:
        """Return the judgement.

        Parameters
        ----------
        claim
            One statement.
        block_text
            A document. Its first paragraph may be its title, see `block_text`.

        Raises
        ------
        JudgeError
            When there is none. A run then fails: a guess in its place would not be a
            measurement.
        """
        ...


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """One kind of judge.

    Attributes
    ----------
    summary
        What it does, for help: a verb and its object.
    open
        Returns the judge of textual options; raises `BadInputError` for what cannot be used.
    options
        Names of its options, for help.
    """

    summary: str
    open: Callable[[Mapping[str, str]], Judge]
    options: tuple[str, ...] = ()


JUDGES: Final[Registry[JudgeKind]] = Registry(
    "retrieval_eval.judges",
    "judge",
    ("retrieval_eval.search.claims.http_judge",),
)
"""The judges by name. None is the default: a coverage means nothing without who judged."""


def open_judge(name: str, options: Mapping[str, str] = {}, *, cache: Path | None = None) -> Judge:
    """Return a judge of :data:`JUDGES`, such as ``http``, or ``module:callable``.

    ``cache`` is the file in which judgements that may cost money are kept; None: they are not.

    Raises
    ------
    BadInputError
        When there is no such judge, an option is of no use, or the extra ``search`` with its HTTP
        client is not installed.
    """
    if ":" in name:
        return open_module_judge(name, options)
    try:
        kind = JUDGES[name]
    except BadInputError as error:
        raise BadInputError(f"{error}, and package.module:callable of your own code") from None
    judge = kind.open(options)
    return judge if cache is None else CachedJudge(judge, cache)


def block_text(title: str, text: str) -> str:
    r"""Return a document as judges read it: its title as the first paragraph, then its text.

    Examples
    --------
    >>> block_text("Ports", "TCP 443.")
    'Ports\n\nTCP 443.'
    >>> block_text("", "TCP 443.")
    'TCP 443.'
    """
    title = " ".join(title.split())
    return f"{title}\n\n{text}" if title else text


def ask_all(ask: Callable[[Item], Answer], items: Sequence[Item], judge: Judge) -> Iterator[Answer]:
    """Yield the answer for each item in order, from as many threads as the judge allows.

    The first that fails ends all: what it raised is raised, and nothing more is asked.
    """
    if judge.concurrency == 1:
        yield from map(ask, items)
        return
    failures: list[BaseException] = []

    def unless_failed(item: Item) -> Answer:
        # The caller sees a failure only when its turn comes; until then each question may cost.
        if failures:
            raise failures[0]
        try:
            return ask(item)
        except BaseException as error:
            failures.append(error)
            raise

    executor = ThreadPoolExecutor(max_workers=judge.concurrency, thread_name_prefix="judge")
    try:
        waiting = [executor.submit(unless_failed, item) for item in items]
        for future in waiting:
            yield future.result()
    finally:
        executor.shutdown(cancel_futures=True)


@runtime_checkable
class Adapting(Protocol):
    """A judge that leaves out what its endpoint refused to take."""

    @property
    def left_out(self) -> frozenset[str]:
        """What was left out because it was refused."""
        ...

    def leave_out(self, names: frozenset[str]) -> None:
        """Leave it out from now on."""
        ...


class CachedJudge:
    """A judge that remembers, in a JSONL file, what another one said.

    The key is the SHA-256 over the judge's facts, claim and block, so another model, instruction
    or text is asked anew. A line that is cut or damaged is asked again. Failures are not kept.
    Claims and blocks themselves are not in the file, the judge's reasons are, and what an endpoint
    refused to take, so that the next run does not offer it again.

    Raises
    ------
    BadInputError
        When the file is there and cannot be read, or cannot be written.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self._judge = judge
        self._path = path
        self._lock = Lock()
        self._left_out: frozenset[str] = frozenset()
        self._known, left_out = _read(path)
        self._first_key = _key(judge.facts, "", "")
        if isinstance(judge, Adapting) and self._first_key in left_out:
            self._left_out = left_out[self._first_key]
            judge.leave_out(self._left_out)

    @property
    def facts(self) -> JudgeFacts:
        """Those of the judge that is asked."""
        return self._judge.facts

    @property
    def concurrency(self) -> int:
        """That of the judge that is asked."""
        return self._judge.concurrency

    def judge(self, claim: str, block_text: str) -> Judgement:
        """Return what is known, or else ask and remember."""
        key = _key(self.facts, claim, block_text)
        known = self._known.get(key)
        if known is not None and _fits(known, block_text):
            return known
        judgement = ask(self._judge, claim, block_text)
        self._keep_left_out()
        # The judge may have learnt what its endpoint takes, which is part of its facts.
        key = _key(self.facts, claim, block_text)
        row = {
            "key": key,
            "supported": judgement.supported,
            "span": judgement.span,
            "reason": judgement.reason,
            **({"is_unproved": True} if judgement.is_unproved else {}),
        }
        with self._lock:
            self._known[key] = judgement
            _append(self._path, json_bytes(row))
        return judgement

    def _keep_left_out(self) -> None:
        if not isinstance(self._judge, Adapting):
            return
        with self._lock:
            left_out = self._judge.left_out
            if left_out != self._left_out:
                self._left_out = left_out
                row = {"key": self._first_key, _LEFT_OUT: sorted(left_out)}
                _append(self._path, json_bytes(row))


def _append(path: Path, line: bytes) -> None:
    try:
        append_line(path, line)
    except OSError as error:
        raise BadInputError(
            f"{path}: the judgements cannot be kept ({error.strerror or error})"
        ) from error


def _key(facts: JudgeFacts, claim: str, block_text: str) -> str:
    content = json.dumps(
        [
            {"name": facts.name, "version": facts.version, "settings": facts.settings},
            claim,
            block_text,
        ],
        sort_keys=True,
    )
    return sha256(content.encode()).hexdigest()


def _fits(judgement: Judgement, block_text: str) -> bool:
    span = judgement.span
    return span is None or 0 <= span[0] < span[1] <= len(block_text)


def _read(path: Path) -> tuple[dict[str, Judgement], dict[str, frozenset[str]]]:
    if not is_there(path):
        return {}, {}
    data = read_user_bytes(path)
    if data and not data.endswith(b"\n"):
        # A write was cut; what is appended next must not continue its line.
        _append(path, b"\n")
    found: dict[str, Judgement] = {}
    left_out: dict[str, frozenset[str]] = {}
    for line in data.split(b"\n"):
        row, _ = decode(line.decode("utf-8", "replace"))
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            names = row.get(_LEFT_OUT)
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                left_out[row["key"]] = frozenset(names)
            judgement = _judgement(row)
            if judgement is not None:
                found[row["key"]] = judgement
    return found, left_out


def _judgement(row: dict[str, Any]) -> Judgement | None:
    supported, span, reason = row.get("supported"), row.get("span"), row.get("reason")
    is_unproved = row.get("is_unproved", False)
    if not all(isinstance(flag, bool) for flag in (supported, is_unproved)):
        return None
    if not isinstance(reason, str) or (supported and is_unproved):
        return None
    if span is None:
        return Judgement(bool(supported), None, reason, is_unproved)
    is_pair = isinstance(span, list) and [type(end) for end in span] == [int, int]
    return Judgement(bool(supported), (span[0], span[1]), reason) if is_pair else None


# --------------------------------------------------------------------------------------------------
# ``package.module:callable``: a judge out of the user's own code.

_NO_JUDGE: Final = (
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
        raise BadInputError(f"{spec}: is of type {type(found).__name__}; {_NO_JUDGE}")
    if not isinstance(found, type) and accepts(found, ("claim", "text"), options):
        refuse_async(spec, found)
        return UserJudge(spec, found, found, dict(options), dict(options))
    return _of_object(spec, made_by(spec, found, options, _NO_JUDGE), options)


def _of_object(spec: str, made: Any, options: Mapping[str, str]) -> Judge:
    answer = getattr(made, "judge", None)
    if not callable(answer) or not accepts(answer, ("claim", "text"), {}):
        raise BadInputError(f"{spec}: gives a value of type {type(made).__name__}; {_NO_JUDGE}")
    refuse_async(spec, answer)
    return UserJudge(spec, answer, made, dict(options), {})


def _digest(source: Any) -> str:
    name = getattr(source, "__module__", None) or type(source).__module__
    path = getattr(sys.modules.get(name), "__file__", None)
    try:
        return sha256(Path(path).read_bytes()).hexdigest()[:12] if path else "unknown"
    except OSError:
        return "unknown"
