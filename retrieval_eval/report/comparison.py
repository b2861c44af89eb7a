"""What the report reads out of a comparison of two configurations, and which one it leads with."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.impact import (
    ArmLedger,
    ComparisonDocument,
    Discrimination,
    Flip,
    PairedEstimate,
    PairedStatistics,
    PairSlice,
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
"""Verdict to its printed name. The analysis decides; the report only words it."""

UNABLE: Final = ("constant", "saturated")
"""States of a metric in which no difference can show."""

AnyEstimate = TypeVar("AnyEstimate", bound=PairedEstimate)

View = Mapping[str, PairedEstimate | str]
"""The statistics by metric under one view of what counts as retrieved, and its ``verdict``."""


def arms(comparison: ComparisonDocument) -> tuple[str, str]:
    """Return the names of the two configs compared."""
    return (comparison.baseline_config, comparison.comparison_config)


def ledgers(comparison: ComparisonDocument) -> tuple[ArmLedger, ArmLedger]:
    """Return the ledgers of the two arms, the baseline first."""
    return (comparison.ledger.baseline, comparison.ledger.comparison)


def is_balanced(arm: ArmLedger) -> bool:
    """Return whether every trial of an arm is removed, unmatched or used."""
    left = sum(arm.removed.values()) + sum(arm.unmatched.values())
    return arm.trials == left + arm.used and sum(arm.outcomes_only.values()) <= arm.used


def discrimination_of(comparison: ComparisonDocument, metric: str) -> Discrimination | None:
    """Return what is known about a metric's power to tell the arms apart."""
    return next((d for d in comparison.discrimination if d.metric == metric), None)


def metrics_of(view: View) -> dict[str, PairedEstimate]:
    """Return the statistics by metric under a view."""
    return {name: found for name, found in view.items() if not isinstance(found, str)}


def verdict_of(view: View) -> str:
    """Return the verdict under a view."""
    return str(view.get("verdict", ""))


def is_by_means(result: PairedEstimate) -> bool:
    """Return whether the statistics are those of the means of a few clusters."""
    return result.averaged_over == "clusters"


def is_gain(result: PairedEstimate) -> bool:
    """Return whether the mean difference points to the better side."""
    return ((result.mean_difference or 0) > 0) == (result.direction == "higher_is_better")


def is_fragile(result: PairedEstimate) -> bool:
    """Return whether values that an arm lacks could give the mean difference the other sign."""
    if result.bound_low is None or result.bound_high is None or result.mean_difference is None:
        return False
    has_gap = bool(result.n_lacking_baseline or result.n_lacking_comparison)
    worst = result.bound_low if result.mean_difference > 0 else -result.bound_high
    return has_gap and worst <= 0


def excludes_zero(result: PairedEstimate) -> bool:
    """Return whether there is an interval and it lies on one side of 0."""
    low, high = result.ci_low, result.ci_high
    return low is not None and high is not None and not low <= 0 <= high


def is_clear(result: PairedStatistics) -> bool:
    """Return whether interval and adjusted test both speak of a difference."""
    return excludes_zero(result) and result.p_holm is not None and result.p_holm < ALPHA


def choose(
    comparisons: Sequence[ComparisonDocument],
    configs: Sequence[str],
    baseline: str | None,
    comparison: str | None,
) -> ComparisonDocument | None:
    """Return the comparison to lead with: the one requested, else the one with most pairs.

    Raises ``BadInputError`` with the closest names when a requested config does not exist.
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
        if (not baseline or c.baseline_config == baseline)
        and (not comparison or c.comparison_config == comparison)
    ]
    return max(fitting, key=_headline_pairs, default=None)


def swapped(comparison: ComparisonDocument) -> ComparisonDocument:
    """Return the same comparison the other way round: every sign changes and nothing else."""
    ledger = comparison.ledger
    return replace(
        comparison,
        baseline_config=comparison.comparison_config,
        comparison_config=comparison.baseline_config,
        metrics={name: _swapped_result(result) for name, result in comparison.metrics.items()},
        verdict=_opposite(comparison.verdict),
        ledger=replace(ledger, baseline=ledger.comparison, comparison=ledger.baseline),
        views={
            name: {
                key: _opposite(found) if isinstance(found, str) else _swapped_result(found)
                for key, found in view.items()
            }
            for name, view in comparison.views.items()
        },
        flips=tuple(map(_swapped_flip, comparison.flips)),
        slices=tuple(map(_swapped_slice, comparison.slices)),
    )


def _swapped_result(result: AnyEstimate) -> AnyEstimate:
    return replace(
        result,
        mean_baseline=result.mean_comparison,
        mean_comparison=result.mean_baseline,
        mean_difference=_negated(result.mean_difference),
        ci_low=_negated(result.ci_high),
        ci_high=_negated(result.ci_low),
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


def _swapped_slice(found: PairSlice) -> PairSlice:
    return replace(
        found,
        mean_baseline=found.mean_comparison,
        mean_comparison=found.mean_baseline,
        mean_difference=_negated(found.mean_difference),
        ci_low=_negated(found.ci_high),
        ci_high=_negated(found.ci_low),
    )


def _swapped_flip(flip: Flip) -> Flip:
    return replace(flip, default=_negated(flip.default), there=_negated(flip.there))


def _opposite(verdict: str) -> str:
    return {"better": "worse", "worse": "better"}.get(verdict, verdict)


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def _headline_pairs(comparison: ComparisonDocument) -> tuple[int, int]:
    headline = comparison.metrics.get(HEADLINE)
    return (headline.n_pairs if headline else 0, comparison.n_pairs)
