"""What several sections of the search report need, as plain Python values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.search import records as read
from retrieval_eval.report.search.checks import Checks
from retrieval_eval.report.search.names import DIMENSIONS, SHOWN
from retrieval_eval.report.search.reading import coerce, members, records
from retrieval_eval.report.search.records import Change, Mean, Part
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.multiplicity import adjust_family
from retrieval_eval.stats.power import detectable_by_test_and_interval
from retrieval_eval.study.verdict import ALPHA
from retrieval_eval.values import counted

Query = Mapping[str, Any]

TEXT_LIMIT: Final = 140


@dataclass
class Facts:
    """Plain views of a search run, each computed once.

    With ``privacy`` queries go by their ids, and messages of the retriever are left out.
    """

    run: SearchRun
    privacy: bool = False

    @property
    def checks(self) -> Checks:
        """Guard, noise, agreement and what else is computed beside the run."""
        return self.run.checks

    @cached_property
    def queries(self) -> Sequence[Query]:
        """The queries asked, in the order of the gold set."""
        return records(self.run.document["queries"])

    @cached_property
    def by_id(self) -> dict[str, Query]:
        """The queries by id."""
        return {str(query["id"]): query for query in self.queries}

    @cached_property
    def coverage(self) -> str:
        """The coverage of the intervals, such as ``95 %``."""
        return f"{100 * self.run.document['run']['settings']['confidence']:g} %"

    @cached_property
    def status(self) -> dict[str, int]:
        """The counts of the status block."""
        return {k: n for k, v in self.run.document["status"].items() if type(n := v) is int}

    @cached_property
    def means(self) -> dict[str, Mean]:
        """The means over all queries by measure."""
        return read.means(self.run.document["metrics"])

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of the queries, by the dimensions the report knows, in its order."""
        found = read.parts(self.run.document["slices"])
        return [part for dimension in DIMENSIONS for part in found if part.dimension == dimension]

    @cached_property
    def scored(self) -> list[Query]:
        """The queries that have values: answered, and something is labelled relevant."""
        return [
            q for q in self.queries if any(finite(q["metrics"].get(m)) is not None for m in SHOWN)
        ]

    @cached_property
    def unanswerable(self) -> list[Query]:
        """The queries that no document answers."""
        return [query for query in self.queries if query["answerable"] is False]

    @cached_property
    def delta(self) -> Mapping[str, Any] | None:
        """The block of the change against the baseline."""
        found = self.run.document["delta"]
        return found if isinstance(found, Mapping) else None

    @cached_property
    def withheld(self) -> str | None:
        """Why there is no verdict, as a sentence; None when there is one."""
        return (
            no_verdict(self.run.document["status"], "")
            or (
                no_verdict(self.run.baseline["status"], " of the baseline")
                if self.run.baseline
                else None
            )
            or self.delta_withheld
        )

    @cached_property
    def delta_withheld(self) -> str | None:
        """Why there is no change although there is a baseline, as a sentence."""
        reasons = self.run.document.get("delta_withheld")
        return f"{visible(reasons[0][:1].upper() + reasons[0][1:], 200)}." if reasons else None

    @cached_property
    def incomparable(self) -> tuple[str, ...]:
        """Why the baseline cannot be compared with, in sentences."""
        if self.delta is None or self.delta["is_comparable"]:
            return ()
        given = [str(r).partition(": ")[2] or str(r) for r in self.delta["reasons"]]
        return tuple(given) or ("the reason was not recorded",)

    @cached_property
    def changes(self) -> dict[str, Change]:
        """The changes over all queries by measure; empty without a comparable baseline."""
        return read.changes(members(self.delta).get("metrics")) if not self.incomparable else {}

    @cached_property
    def baseline_name(self) -> str:
        """What the baseline is called, with the day it was measured."""
        block = members(members(self.delta).get("baseline"))
        label = coerce(block.get("label"), "text") or "no label"
        return f"{visible(label, 36)}, {day(block.get('generated_at'))}"

    @cached_property
    def contributions(self) -> dict[str, dict[str, float]]:
        """Points that each query adds to the change of a measure, for those that moved one."""
        found = records(members(self.delta).get("queries")) if not self.incomparable else []
        return {
            str(query["id"]): {m: p for m, v in query["contributions"].items() if (p := finite(v))}
            for query in found
        }

    @cached_property
    def top1_changed(self) -> list[str]:
        """The ids of the queries whose first document is another one than in the baseline."""
        return [str(query) for query in members(self.delta).get("queries_top1_changed", [])]

    @cached_property
    def first_before(self) -> dict[str, str | None]:
        """The first document of each query of the baseline, when that was read."""
        if self.run.baseline is None:
            return {}
        return {
            str(q["id"]): q["ranking"][0]["doc"] if q["ranking"] else None
            for q in self.run.baseline["queries"]
        }

    @cached_property
    def adjusted(self) -> Mapping[str, float | None]:
        """The p-values of the headline measures, adjusted over them (Holm)."""
        given: dict[str, float | None] = {
            m: _p(self.changes[m]) for m in HEADLINE if m in self.changes
        }
        return adjust_family(given).adjusted if given else {}

    def is_clear(self, measure: str) -> bool:
        """Whether interval and adjusted test of a headline measure both speak of a change."""
        p = self.adjusted.get(measure)
        return p is not None and p < ALPHA and self.changes[measure].excludes_zero

    def detectable(self, measure: str) -> float | None:
        """Return the smallest change, in points, that these queries could have shown."""
        n = self.changes[measure].n_pairs
        moved = [c[measure] * n for c in self.contributions.values() if measure in c]
        if n < 2 or len(moved) > n:
            return None
        spread = statistics.stdev([*moved, *[0.0] * (n - len(moved))])
        return detectable_by_test_and_interval(spread, n).value

    def title(self, query: Query, limit: int = TEXT_LIMIT) -> str:
        """Return what a query is called in print: its text, or its id in private reports."""
        text = query["id"] if self.privacy else query["query"] or query["id"]
        return visible(text, limit)


def day(moment: object) -> str:
    """Return the day of a time in ISO 8601, or that there is none.

    Examples
    --------
    >>> day("2026-01-05T10:00:00Z"), day(None)
    ('2026-01-05', 'undated')
    """
    return visible(moment)[:10] if isinstance(moment, str) and moment else "undated"


def _p(change: Change) -> float | None:
    p = change.p_value
    return p if p is not None and 0 <= p <= 1 else None


def no_verdict(status: Mapping[str, Any], whose: str) -> str | None:
    """Return why a run has no verdict, without the words of its retriever; None when it has.

    Examples
    --------
    >>> no_verdict({"has_verdict": False, "n_failed": 1, "n_queries": 9, "reasons": []}, "")
    '1 of 9 queries failed, so the means are not those of the gold set.'
    """
    if status["has_verdict"]:
        return None
    if status["n_failed"]:
        queries = counted(status["n_queries"], "query")
        failed = f"{status['n_failed']:,} of {queries}{whose} failed"
        return f"{failed}, so the means are not those of the gold set."
    reason = visible("; ".join(status["reasons"]) or "the reason was not recorded", 160)
    return f"{reason[:1].upper()}{reason[1:]}{whose}."


def median(values: Sequence[float]) -> float | None:
    """Return the median, or None for no values."""
    known = [v for v in values if math.isfinite(v)]
    return statistics.median(known) if known else None
