"""Who decides whether a block of text supports a claim, and what is kept of the decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeVar

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import append_line, decode, is_there, json_bytes
from retrieval_eval.io.user_files import read_user_bytes
from retrieval_eval.model.search_run import JudgeFacts
from retrieval_eval.registry import Registry

RULES: Final = "rules"
HTTP: Final = "http"

FORMER_NAMES: Final[Mapping[str, str]] = {"offline": RULES}
"""Judges by the names that older artefacts and scripts have for them."""

RULES_ERRORS: Final = (
    "in an outside check an earlier version accepted 10 of 16 wrong claims, and no paraphrase"
)
"""What the rule-based judge is known for."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class JudgeError(NothingToEvaluateError):
    """A judge gave no usable verdict, so nothing was measured (exit code 2)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a block supports a claim, where, and why.

    ``span`` are the characters of the block that do, None where it does not support the claim or
    the place is not known. ``reason`` is a code or a short sentence.
    """

    supported: bool
    span: tuple[int, int] | None
    reason: str


def is_same_judge(one: JudgeFacts, other: JudgeFacts) -> bool:
    """Return whether the ``judge`` blocks of two artefacts are of one judge.

    Examples
    --------
    >>> former = JudgeFacts(name="offline", version="1", settings={})
    >>> is_same_judge(former, JudgeFacts(name="rules", version="1", settings={}))
    True
    """
    return _identity(one) == _identity(other)


def _identity(judge: JudgeFacts) -> tuple[str, str, dict[str, Any]]:
    return FORMER_NAMES.get(judge.name, judge.name), judge.version, judge.settings


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
    is_cached
        Whether its judgements are worth keeping, because each may take long or cost money.
    """

    summary: str
    open: Callable[[Mapping[str, str]], Judge]
    options: tuple[str, ...] = ()
    is_cached: bool = True


JUDGES: Final[Registry[JudgeKind]] = Registry(
    "retrieval_eval.judges",
    "judge",
    ("retrieval_eval.search.claims.rules", "retrieval_eval.search.claims.http_judge"),
)
"""The judges by name. None is the default: a coverage means nothing without who judged."""


def open_judge(name: str, options: Mapping[str, str] = {}, *, cache: Path | None = None) -> Judge:
    """Return a judge of :data:`JUDGES`, such as ``rules`` or ``http``.

    The rule-based judge is known to err (`RULES_ERRORS`); its older name is ``offline``.
    ``cache`` is the file in which judgements that may cost money are kept; None: they are not.

    Raises
    ------
    BadInputError
        When there is no such judge, an option is of no use, or the extra ``search`` with its HTTP
        client is not installed.
    """
    kind = JUDGES[FORMER_NAMES.get(name, name)]
    judge = kind.open(options)
    return CachedJudge(judge, cache) if kind.is_cached and cache is not None else judge


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


class CachedJudge:
    """A judge that remembers, in a JSONL file, what another one said.

    The key is the SHA-256 over the judge's facts, claim and block, so another model, instruction
    or text is asked anew. A line that is cut or damaged is asked again. Failures are not kept.
    Claims and blocks themselves are not in the file, the judge's reasons are.

    Raises
    ------
    BadInputError
        When the file is there and cannot be read, or cannot be written.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self._judge = judge
        self._path = path
        self._lock = Lock()
        self._known = _read(path)

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
        judgement = self._judge.judge(claim, block_text)
        row = {
            "key": key,
            "supported": judgement.supported,
            "span": judgement.span,
            "reason": judgement.reason,
        }
        with self._lock:
            self._known[key] = judgement
            _append(self._path, json_bytes(row))
        return judgement


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


def _read(path: Path) -> dict[str, Judgement]:
    if not is_there(path):
        return {}
    data = read_user_bytes(path)
    if data and not data.endswith(b"\n"):
        # A write was cut; what is appended next must not continue its line.
        _append(path, b"\n")
    found = {}
    for line in data.split(b"\n"):
        row, _ = decode(line.decode("utf-8", "replace"))
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            judgement = _judgement(row)
            if judgement is not None:
                found[row["key"]] = judgement
    return found


def _judgement(row: dict[str, Any]) -> Judgement | None:
    supported, span, reason = row.get("supported"), row.get("span"), row.get("reason")
    if not isinstance(supported, bool) or not isinstance(reason, str):
        return None
    if span is None:
        return Judgement(supported, None, reason)
    is_pair = isinstance(span, list) and [type(end) for end in span] == [int, int]
    return Judgement(supported, (span[0], span[1]), reason) if is_pair else None
