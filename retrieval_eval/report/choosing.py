"""Which pair of configs a report leads with, and either way round."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.comparison import HEADLINE, Comparison, MetricResult, View
from retrieval_eval.report.robustness import Flip, Slice

T = TypeVar("T", MetricResult, Slice)

_OPPOSITE: Final = {"better": "worse", "worse": "better"}


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
        metrics=_results(comparison.metrics),
        verdict=_opposite(comparison.verdict),
        ledger=comparison.ledger.swapped() if comparison.ledger else None,
        views={
            name: View(_opposite(view.verdict), _results(view.metrics))
            for name, view in comparison.views.items()
        },
        flips=tuple(map(_flip, comparison.flips)),
        slices=tuple(map(_turned, comparison.slices)),
    )


def _results(results: Mapping[str, MetricResult]) -> dict[str, MetricResult]:
    return {name: _result(result) for name, result in results.items()}


def _result(result: MetricResult) -> MetricResult:
    return replace(
        _turned(result),
        wins=result.losses,
        losses=result.wins,
        rank_biserial=_negated(result.rank_biserial),
        bound_low=_negated(result.bound_high),
        bound_high=_negated(result.bound_low),
        n_lacking_baseline=result.n_lacking_comparison,
        n_lacking_comparison=result.n_lacking_baseline,
        tipping_baseline=result.tipping_comparison,
        tipping_comparison=result.tipping_baseline,
        n_never_baseline=result.n_never_comparison,
        n_never_comparison=result.n_never_baseline,
        n_watched_baseline=result.n_watched_comparison,
        n_watched_comparison=result.n_watched_baseline,
    )


def _turned(found: T) -> T:
    return replace(
        found,
        mean_baseline=found.mean_comparison,
        mean_comparison=found.mean_baseline,
        mean_difference=_negated(found.mean_difference),
        ci_low=_negated(found.ci_high),
        ci_high=_negated(found.ci_low),
    )


def _flip(flip: Flip) -> Flip:
    return replace(flip, default=_other(flip.default), there=_other(flip.there))


def _other(side: float | str | None) -> float | str | None:
    return _opposite(side) if isinstance(side, str) else _negated(side)


def _opposite(verdict: str) -> str:
    return _OPPOSITE.get(verdict, verdict)


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def _headline_pairs(comparison: Comparison) -> tuple[int, int]:
    headline = comparison.metric(HEADLINE)
    return (headline.n_pairs if headline else 0, comparison.n_pairs)
