"""The plan of a guard: how many queries it takes to catch a drop."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.guard import GuardSlice
from retrieval_eval.model.meta import EMPTY_LIST, NULL, Count, Positive, Record, Share, about
from retrieval_eval.model.plan import Assumption


class QueryPoint(Record, frozen=True, kw_only=True):
    """The power of a guard of some size."""

    n_queries: Annotated[Count, about("Queries that the metric rests on", unit="queries")]
    power: Annotated[Share, about("Share of such guards that catch the drop", unit="0–1")]
    power_low: Annotated[
        Share | None, about("The same at the upper end of the spread", unit="0–1")
    ] = NULL
    power_high: Annotated[
        Share | None, about("The same at the lower end of the spread", unit="0–1")
    ] = NULL


class MetricPlan(Record, frozen=True, kw_only=True):
    """How many queries one threshold of a guard needs."""

    metric: Annotated[str, about("Metric")]
    slice: Annotated[GuardSlice | None, about("The queries it looks at; null: all")] = NULL
    direction: Annotated[Literal["down is bad", "up is bad"], about("Direction that is bad")]
    limit_points: Annotated[float, about("Largest allowed change", unit="points")]
    decided_by: Annotated[
        Literal["threshold", "noise", "significance"] | None,
        about(
            "What decides on a change beyond its threshold: nothing more (a deterministic "
            "system), measured run-to-run noise, or the sign-flip test over the queries"
        ),
    ] = NULL
    n_queries: Annotated[
        Count | None,
        about("Queries needed that the metric rests on; null: no number is enough"),
    ] = NULL
    n_queries_low: Annotated[
        Count | None, about("The same at the lower end of the spread", unit="queries")
    ] = NULL
    n_queries_high: Annotated[
        Count | None, about("The same at the upper end of the spread", unit="queries")
    ] = NULL
    share_of_set: Annotated[
        Share | None, about("Share of all queries that the metric rests on", unit="0–1")
    ] = NULL
    n_asked: Annotated[
        Count | None, about("Queries of a gold set of this composition that these are part of")
    ] = NULL
    n_stated: Annotated[Count | None, about("Stated number of queries", unit="queries")] = NULL
    achieved: Annotated[
        Share | None, about("Power of the stated queries for the drop", unit="0–1")
    ] = NULL
    detectable_points: Annotated[
        float | None, about("Smallest drop that the stated queries catch", unit="points")
    ] = NULL
    detectable_low_points: Annotated[
        float | None, about("The same at the lower end of the spread", unit="points")
    ] = NULL
    detectable_high_points: Annotated[
        float | None, about("The same at the upper end of the spread", unit="points")
    ] = NULL
    reason: Annotated[str | None, about("Why there is no plan; null where there is one")] = NULL
    assumptions: Annotated[tuple[Assumption, ...], about("What it rests on")] = EMPTY_LIST
    curve: Annotated[tuple[QueryPoint, ...], about("Power by number of queries")] = EMPTY_LIST
    notes: Annotated[tuple[str, ...], about("What it cannot take into account")] = EMPTY_LIST

    @property
    def name(self) -> str:
        """The metric, and the slice where there is one."""
        part = self.slice
        return f"{self.metric} [{part.dimension} {part.value}]" if part else self.metric


class SearchPlan(Record, frozen=True, kw_only=True):
    """How many queries a guard needs to catch a drop."""

    points: Annotated[float, about("The drop to catch", unit="points")]
    power: Annotated[Share, about("Wanted power", unit="0–1")]
    alpha: Annotated[float, about("Chance of an alarm without cause, over all rows", unit="0–1")]
    rule: Annotated[str, about("The rule of guard.toml")]
    n_tested: Annotated[Positive, about("Thresholds over which p-values are adjusted (Holm)")]
    n_runs: Annotated[Positive, about("Runs on either side whose means are compared")]
    metrics: Annotated[tuple[MetricPlan, ...], about("By threshold")]
