"""What several sections of a difference need, as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRuling
from retrieval_eval.report.search.diffs.run import SearchDiff
from retrieval_eval.report.search.facts import TEXT_LIMIT, no_verdict
from retrieval_eval.report.search.noise import Noise
from retrieval_eval.report.search.reading import read_as
from retrieval_eval.report.search.records import Change
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.multiplicity import adjust_family
from retrieval_eval.study.verdict import ALPHA

Query = Mapping[str, Any]

SIDES: Final = ("A", "B")


@dataclass
class DiffFacts:
    """Plain views of a difference, each computed once.

    With ``privacy`` queries go by their ids, and messages of the retriever are left out.
    """

    diff: SearchDiff
    privacy: bool = False

    @property
    def document(self) -> Mapping[str, Any]:
        """The difference itself."""
        return self.diff.document

    @property
    def verdict(self) -> GuardRuling | None:
        """The verdict of the guard on B against A; None where it could not be asked."""
        return None if isinstance(self.diff.guard, str) else self.diff.guard

    @property
    def noise(self) -> Noise | None:
        """The noise of the system, when it was read."""
        return self.diff.noise

    @cached_property
    def coverage(self) -> str:
        """The coverage of the intervals, such as ``95 %``."""
        return f"{100 * self.document['settings']['confidence']:g} %"

    @cached_property
    def names(self) -> tuple[str, str]:
        """What the runs are called in print."""
        a, b = self.diff.names
        return visible(a, 36), visible(b, 36)

    @cached_property
    def changes(self) -> dict[str, Change]:
        """The changes over all queries by metric."""
        return {name: change_of(name, found) for name, found in self.document["metrics"].items()}

    @cached_property
    def queries(self) -> list[Query]:
        """The queries that changed at all, the largest contribution to a headline measure first."""
        return list(self.document["queries"])

    @cached_property
    def headline(self) -> list[str]:
        """The headline measures that both runs have."""
        return [m for m in HEADLINE if m in self.changes]

    @cached_property
    def clear(self) -> list[Change]:
        """The headline measures of which interval and adjusted test (Holm) show a change."""
        ps: dict[str, float | None] = {m: self.changes[m].p_value for m in self.headline}
        adjusted = adjust_family(ps).adjusted if ps else {}
        return [
            self.changes[m]
            for m in self.headline
            if (p := adjusted.get(m)) is not None and p < ALPHA and self.changes[m].excludes_zero
        ]

    @cached_property
    def withheld(self) -> list[str]:
        """Why a run has no verdict, in sentences without the words of its retriever."""
        found = [
            no_verdict(run["status"], f" of run {side}")
            for run, side in zip(self.diff.runs, SIDES, strict=True)
        ]
        known = [sentence for sentence in found if sentence is not None]
        # What a run cannot say of itself, such as that it holds a query twice.
        return known or [f"{visible(text, 200)}." for text in self.document["no_verdict"]]

    @cached_property
    def notices(self) -> list[str]:
        """What a reader must not miss besides banner and verdict."""
        return [visible(text, 300) for text in (*self.document["notices"], *self.diff.notices)]

    def title(self, query: Query, limit: int = TEXT_LIMIT) -> str:
        """Return what a query is called in print: its text, or its id in private reports."""
        return visible(query["id"] if self.privacy else query["query"] or query["id"], limit)


def change_of(name: str, found: Mapping[str, Any]) -> Change:
    """Return a change of a difference as the record that tables and figures take."""
    return read_as(
        Change,
        found,
        measure=name,
        baseline=found["a"],
        current=found["b"],
        n_only_baseline=found["n_only_a"],
        n_only_current=found["n_only_b"],
    )
