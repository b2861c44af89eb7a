"""A paired comparison of two configs, read from the impact analysis into typed records."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.frames import coerce, members, records
from retrieval_eval.report.numbers import finite

HEADLINE: Final = "file_recall"
"""The metric whose paired difference the report leads with."""

MIN_PAIRS: Final = 3
MIN_PAIRS_FOR_A_TEST: Final = 6
"""Below six pairs a two-sided sign-flip test cannot reach 0.05."""

ALPHA: Final = 0.05

Verdict = Literal[
    "too_few_pairs",
    "not_computable",
    "no_difference",
    "too_few_for_a_test",
    "unclear",
    "better",
    "worse",
]


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

    @property
    def verdict(self) -> Verdict:
        """What the paired statistics allow to say.

        Better and worse mean that the interval excludes 0 and the permutation test agrees
        (p < 0.05). Where the two disagree the verdict is ``unclear``; where there are too few
        pairs for any test to reach 0.05 it is ``too_few_for_a_test``.
        """
        if self.n_pairs < MIN_PAIRS:
            return "too_few_pairs"
        if self.mean_difference is None or self.ci_low is None or self.ci_high is None:
            return "not_computable"
        if self.ci_low <= 0 <= self.ci_high:
            return "no_difference"
        if self.p_value is None and self.n_pairs < MIN_PAIRS_FOR_A_TEST:
            return "too_few_for_a_test"
        if self.p_value is not None and self.p_value >= ALPHA:
            return "unclear"
        return "better" if (self.ci_low > 0) == self.is_higher_better else "worse"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configs on the tasks they share; ``unmatched`` has a reason for each task left out."""

    baseline: str
    comparison: str
    computable: bool
    reason: str | None
    n_pairs: int
    n_tasks_baseline: int
    n_tasks_comparison: int
    metrics: Mapping[str, MetricResult]
    unmatched: tuple[str, ...]

    def metric(self, name: str) -> MetricResult | None:
        """Return the statistics of a metric, or None when the analysis has none."""
        return self.metrics.get(name)


def read_comparison(document: Mapping[str, Any]) -> Comparison:
    """Return a comparison; what is missing or of a wrong type reads as unknown."""
    n_pairs = coerce(document.get("n_pairs"), "integer") or 0
    return Comparison(
        baseline=coerce(document.get("baseline_config"), "text") or "",
        comparison=coerce(document.get("comparison_config"), "text") or "",
        computable=document.get("computable") is True,
        reason=coerce(document.get("reason"), "text"),
        n_pairs=n_pairs,
        n_tasks_baseline=coerce(document.get("n_tasks_baseline"), "integer") or 0,
        n_tasks_comparison=coerce(document.get("n_tasks_comparison"), "integer") or 0,
        metrics={
            name: _metric(name, members(value))
            for name, value in members(document.get("metrics")).items()
        },
        unmatched=tuple(
            coerce(e.get("reason"), "text") or "no reason was recorded"
            for e in records(document.get("excluded"))
        ),
    )


def _metric(name: str, value: Mapping[str, Any]) -> MetricResult:
    def number(key: str) -> float | None:
        return finite(value.get(key))

    def whole(key: str) -> int:
        return coerce(value.get(key), "integer") or 0

    return MetricResult(
        metric=name,
        is_higher_better=value.get("direction") != "lower_is_better",
        n_pairs=whole("n_pairs"),
        computable=value.get("computable") is True,
        reason=coerce(value.get("reason"), "text"),
        mean_baseline=number("mean_baseline"),
        mean_comparison=number("mean_comparison"),
        mean_difference=number("mean_difference"),
        ci_low=number("ci_low"),
        ci_high=number("ci_high"),
        p_value=number("p_value"),
        wins=whole("wins"),
        ties=whole("ties"),
        losses=whole("losses"),
        smallest_detectable=number("smallest_detectable_difference"),
    )


def choose(
    comparisons: Sequence[Comparison],
    configs: Sequence[str],
    baseline: str | None,
    comparison: str | None,
) -> Comparison | None:
    """Return the comparison to lead with: the one asked for, else the one with most pairs.

    Raises ``BadInputError`` with the closest names when a config asked for does not exist.
    """
    for name in (baseline, comparison):
        if name and name not in configs:
            close = difflib.get_close_matches(name, configs, n=3, cutoff=0.0)
            raise BadInputError(
                f"no config named '{name}'; the run has {', '.join(close) or 'none'}"
            )
    both = [*comparisons, *(swapped(c) for c in comparisons if baseline or comparison)]
    fitting = [
        c
        for c in both
        if (not baseline or c.baseline == baseline)
        and (not comparison or c.comparison == comparison)
    ]
    return max(fitting, key=_headline_pairs, default=None)


def swapped(comparison: Comparison) -> Comparison:
    """Return the same comparison the other way round: every sign turns and nothing else."""
    return replace(
        comparison,
        baseline=comparison.comparison,
        comparison=comparison.baseline,
        n_tasks_baseline=comparison.n_tasks_comparison,
        n_tasks_comparison=comparison.n_tasks_baseline,
        metrics={name: _swapped(result) for name, result in comparison.metrics.items()},
    )


def _swapped(result: MetricResult) -> MetricResult:
    return replace(
        result,
        mean_baseline=result.mean_comparison,
        mean_comparison=result.mean_baseline,
        mean_difference=_negated(result.mean_difference),
        ci_low=_negated(result.ci_high),
        ci_high=_negated(result.ci_low),
        wins=result.losses,
        losses=result.wins,
    )


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def _headline_pairs(comparison: Comparison) -> tuple[int, int]:
    headline = comparison.metric(HEADLINE)
    return (headline.n_pairs if headline else 0, comparison.n_pairs)
