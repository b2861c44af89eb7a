"""A paired comparison of two configs, read from the impact analysis into typed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from retrieval_eval.report.frames import coerce, members, records
from retrieval_eval.report.gate import Gate, Ledger, read_gate, read_ledger
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.reading import read_as
from retrieval_eval.report.robustness import (
    DifferenceAssociation,
    Discrimination,
    Flip,
    Slice,
    read_discrimination,
    read_flip,
    read_slice,
)

HEADLINE: Final = "file_recall"
"""The metric whose paired difference the report leads with."""

ALPHA: Final = 0.05

VERDICTS: Final[dict[str, str]] = {
    "better": "better",
    "worse": "worse",
    "fragile": "fragile",
    "no_detectable_difference": "no detectable difference",
    "too_few_pairs": "too few pairs",
    "no_verdict": "no verdict",
}
"""Verdict to its printed name. The analysis decides; the report only says it."""


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The paired statistics of one metric; every number may be None."""

    metric: str
    is_higher_better: bool
    n_pairs: int
    computable: bool
    reason: str | None
    mean_baseline: float | None
    mean_comparison: float | None
    mean_difference: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    wins: int
    ties: int
    losses: int
    smallest_detectable: float | None
    p_holm: float | None = None
    n_clusters: int | None = None
    cluster_by: str | None = None
    rank_biserial: float | None = None
    averaged_over: str | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    n_planned: int | None = None
    n_lacking_baseline: int | None = None
    n_lacking_comparison: int | None = None
    tipping_baseline: float | None = None
    tipping_comparison: float | None = None
    n_never_baseline: int | None = None
    n_never_comparison: int | None = None
    n_watched_baseline: int | None = None
    n_watched_comparison: int | None = None
    ci_reason: str | None = None

    @property
    def is_by_means(self) -> bool:
        """Whether the statistics are those of the means of a few clusters."""
        return self.averaged_over == "clusters"

    @property
    def is_gain(self) -> bool:
        """Whether the mean difference points to the better side."""
        return ((self.mean_difference or 0) > 0) == self.is_higher_better

    @property
    def is_fragile(self) -> bool:
        """Whether values that an arm lacks could give the mean difference the other sign."""
        if self.bound_low is None or self.bound_high is None or self.mean_difference is None:
            return False
        has_gap = bool(self.n_lacking_baseline or self.n_lacking_comparison)
        worst = self.bound_low if self.mean_difference > 0 else -self.bound_high
        return has_gap and worst <= 0

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval and it lies on one side of 0."""
        known = self.ci_low is not None and self.ci_high is not None
        return known and not (self.ci_low or 0) <= 0 <= (self.ci_high or 0)

    @property
    def is_clear(self) -> bool:
        """Whether interval and adjusted test both speak of a difference."""
        return self.excludes_zero and self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class Threat:
    """What could change the reading of a comparison, with its effect on the verdict."""

    name: str
    effect: str
    sentence: str


@dataclass(frozen=True, slots=True)
class View:
    """The statistics and the verdict under one view of what counts as retrieved."""

    verdict: str
    metrics: Mapping[str, MetricResult]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configs on the tasks they share, with verdict, gate, ledger and what may turn it."""

    baseline: str
    comparison: str
    computable: bool
    reason: str | None
    n_pairs: int
    metrics: Mapping[str, MetricResult]
    verdict: str = "no_verdict"
    verdict_metric: str = HEADLINE
    verdict_reason: str | None = None
    gate: Gate | None = None
    ledger: Ledger | None = None
    views: Mapping[str, View] = field(default_factory=dict)
    flips: tuple[Flip, ...] = ()
    discrimination: tuple[Discrimination, ...] = ()
    difference_associations: tuple[DifferenceAssociation, ...] = ()
    slices: tuple[Slice, ...] = ()
    threats: tuple[Threat, ...] = ()

    def metric(self, name: str) -> MetricResult | None:
        """Return the statistics of a metric, or None when the analysis has none."""
        return self.metrics.get(name)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the gate's rules that withhold the verdict."""
        return self.gate.failed if self.gate else ()

    def discriminates(self, metric: str) -> Discrimination | None:
        """Return what is known about a metric's power to tell the arms apart."""
        return next((d for d in self.discrimination if d.metric == metric), None)


def read_comparison(document: Mapping[str, Any]) -> Comparison:
    """Return a comparison; what is missing or of a wrong type reads as unknown.

    A verdict that is missing or unheard of reads as ``no_verdict``.
    """
    verdict = coerce(document.get("verdict"), "text")
    differences = records(document.get("difference_associations"))
    return read_as(
        Comparison,
        document,
        baseline=coerce(document.get("baseline_config"), "text") or "",
        comparison=coerce(document.get("comparison_config"), "text") or "",
        metrics=_metrics(document.get("metrics")),
        verdict=verdict if verdict in VERDICTS else "no_verdict",
        verdict_metric=coerce(document.get("verdict_metric"), "text") or HEADLINE,
        gate=read_gate(document.get("gate")),
        ledger=read_ledger(document.get("ledger")),
        views={
            name: View(coerce(members(value).get("verdict"), "text") or "", _metrics(value))
            for name, value in members(document.get("views")).items()
        },
        flips=tuple(map(read_flip, records(document.get("flips")))),
        discrimination=tuple(map(read_discrimination, records(document.get("discrimination")))),
        difference_associations=tuple(read_as(DifferenceAssociation, d) for d in differences),
        slices=tuple(map(read_slice, records(document.get("slices")))),
        threats=tuple(read_as(Threat, threat) for threat in records(document.get("threats"))),
    )


def _metrics(value: Any) -> dict[str, MetricResult]:
    return {
        name: read_as(
            MetricResult,
            result,
            metric=name,
            is_higher_better=result.get("direction") != "lower_is_better",
            smallest_detectable=finite(result.get("smallest_detectable_difference")),
        )
        for name, result in members(value).items()
        if isinstance(result, Mapping)
    }
