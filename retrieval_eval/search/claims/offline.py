"""The rule-based judge, which needs no model: words must overlap, and facts must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from retrieval_eval.search.claims.judge import RULES, RULES_ERRORS, JudgeFacts, Judgement
from retrieval_eval.search.claims.names import holds
from retrieval_eval.search.claims.negation import denial_differs, has_opposite
from retrieval_eval.search.claims.quantities import matches
from retrieval_eval.search.claims.sentences import sentences
from retrieval_eval.search.claims.statement import Statement, statement

THRESHOLD: Final = 0.6
"""The smallest share of a claim's words that its evidence holds; see docs/claims.md."""

_WINDOW: Final = 2
"""Sentences one behind the other that may support a claim together."""

SUPPORTED: Final = "supported"
NO_CONTENT: Final = "no_content"
TOO_LITTLE_OVERLAP: Final = "too_little_overlap"
NUMBER_DIFFERS: Final = "number_differs"
IDENTIFIER_DIFFERS: Final = "identifier_differs"
NAME_DIFFERS: Final = "name_differs"
NEGATION_DIFFERS: Final = "negation_differs"
OPPOSITE_WORD: Final = "opposite_word"


@dataclass(frozen=True, slots=True)
class OfflineJudge:
    """Supports a claim where one or two neighbouring sentences of a block hold it.

    They hold it when at least ``threshold`` of the claim's words with content are among theirs
    (by stem, the block's title helping) and every number with its unit, date, frequency,
    identifier and name of the claim stands there, nothing is denied on one side only, and no word
    faces its opposite. Wording decides, so a free paraphrase is not supported: the judge errs
    towards unsupported. A wrong claim in the words of a document passes where its error is one
    common word. Its error rates are in ``docs/claims.md``.

    Examples
    --------
    >>> block = "Copies are kept for 30 business days. They are encrypted."
    >>> OfflineJudge().judge("We keep copies for 30 business days", block)
    Judgement(supported=True, span=(0, 37), reason='supported')
    >>> OfflineJudge().judge("We keep copies for 30 days", block).reason
    'number_differs'
    """

    threshold: float = THRESHOLD

    @property
    def facts(self) -> JudgeFacts:
        """Its name, version and threshold."""
        settings = {"threshold": self.threshold, "window": _WINDOW}
        return JudgeFacts(RULES, "1", settings, RULES_ERRORS)

    @property
    def concurrency(self) -> int:
        """One: threads would not make it faster."""
        return 1

    def judge(self, claim: str, block_text: str) -> Judgement:
        """Return the judgement; the span is that of the sentences that hold the claim."""
        ours = statement(claim)
        if not ours.stems and not ours.numbers:
            return Judgement(False, None, NO_CONTENT)
        best: tuple[float, int, tuple[int, int]] | None = None
        nearest = (-1.0, TOO_LITTLE_OVERLAP)
        for start, end, theirs in _windows(block_text):
            # A bare number ("30 days.") has no words that could be missing.
            share = len(ours.stems & theirs.stems) / len(ours.stems) if ours.stems else 1.0
            reason = self._objection(share, ours, theirs)
            if reason is None:
                # The best words in the least text, and of equals the first.
                best = max(best or (-1.0, 0, (0, 0)), (share, start - end, (start, end)), key=_rank)
            elif share > nearest[0]:
                nearest = share, reason
        if best is None:
            return Judgement(False, None, nearest[1])
        return Judgement(True, best[2], SUPPORTED)

    def _objection(self, share: float, ours: Statement, theirs: Statement) -> str | None:
        if share < self.threshold:
            return TOO_LITTLE_OVERLAP
        if not all(matches(number, theirs.numbers) for number in ours.numbers):
            return NUMBER_DIFFERS
        if not all(holds(theirs.words, wanted) for wanted in ours.identifiers):
            return IDENTIFIER_DIFFERS
        if not ours.names <= theirs.stems:
            return NAME_DIFFERS
        if denial_differs(ours.clauses, theirs.clauses):
            return NEGATION_DIFFERS
        return OPPOSITE_WORD if has_opposite(ours.words, theirs.words) else None


def _rank(found: tuple[float, int, tuple[int, int]]) -> tuple[float, int]:
    return found[0], found[1]


def _windows(block: str) -> Iterator[tuple[int, int, Statement]]:
    yield from _cached_windows(block)


@lru_cache(maxsize=1024)
def _cached_windows(block: str) -> tuple[tuple[int, int, Statement], ...]:
    title, gap, text = block.partition("\n\n")
    # A first paragraph that ends like a sentence, or that nothing follows, is the text itself.
    is_title = (
        text.strip() and "\n" not in title and not title.rstrip().endswith((".", "!", "\u2026"))
    )
    body = len(title) + len(gap) if is_title else 0
    prefix = f"{title}. " if body else ""
    parts = [part for part in sentences(block) if part.start >= body]
    found = []
    for size in range(1, _WINDOW + 1):
        for first, last in zip(parts, parts[size - 1 :], strict=False):
            said = prefix + block[first.start : last.end]
            found.append((first.start, last.end, statement(said)))
    return tuple(found)
