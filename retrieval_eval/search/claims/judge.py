"""Who decides whether a block of text supports a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from retrieval_eval.errors import NothingToEvaluateError
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


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """What an artefact says of a judge; ``settings`` hold all that decides a judgement.

    ``known_errors`` says how it is known to err; empty: not known.
    """

    name: str
    version: str
    settings: Mapping[str, Any]
    known_errors: str = ""

    def identity(self) -> dict[str, Any]:
        """Return what makes two judges one and the same."""
        return {"name": self.name, "version": self.version, "settings": dict(self.settings)}

    def to_json(self) -> dict[str, Any]:
        """Return the ``judge`` block of an artefact."""
        return {**self.identity(), "known_errors": self.known_errors or None}


def is_same_judge(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the ``judge`` blocks of two artefacts are of one judge.

    Examples
    --------
    >>> is_same_judge({"name": "offline", "version": "1"}, {"name": "rules", "version": "1"})
    True
    """
    return _identity(one) == _identity(other)


def _identity(block: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    name = block.get("name")
    return FORMER_NAMES.get(str(name), name), block.get("version"), block.get("settings")


class Judge(Protocol):
    """Judges one claim against one block at a time; asked from ``concurrency`` threads at most."""

    @property
    def facts(self) -> JudgeFacts:
        """What it is."""
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
            When there is none. A run then fails: a guess in its place would be a score that
            nobody measured.
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
    from retrieval_eval.search.claims.judgement_cache import CachedJudge

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
