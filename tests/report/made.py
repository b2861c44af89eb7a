"""Comparisons and their parts with invented numbers, as the analysis would hold them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from retrieval_eval.model.impact import (
    ArmLedger,
    ComparisonDocument,
    Flip,
    Gate,
    GateRule,
    NamedTrial,
    PairedStatistics,
    PairLedger,
)


def result(**given: Any) -> PairedStatistics:
    """Return the statistics of a metric of 142 pairs that clearly rose by 0.05."""
    made = PairedStatistics(
        direction="higher_is_better",
        n_pairs=142,
        reason=None,
        mean_baseline=0.53,
        mean_comparison=0.58,
        mean_difference=0.05,
        estimate=0.05,
        ci_low=0.02,
        ci_high=0.08,
        p_value=0.01,
        wins=87,
        ties=11,
        losses=44,
        smallest_detectable=0.06,
        p_holm=0.04,
    )
    return replace(made, **given)


def arm(
    trials: int,
    removed: dict[str, int] | None = None,
    unmatched: dict[str, int] | None = None,
    used: int = 0,
    **given: Any,
) -> ArmLedger:
    """Return the ledger of one arm."""
    return ArmLedger(
        trials=trials, removed=removed or {}, unmatched=unmatched or {}, used=used, **given
    )


def ledger(baseline: ArmLedger, other: ArmLedger) -> PairLedger:
    """Return the ledger of two arms."""
    return PairLedger(baseline=baseline, comparison=other, n_pairs=min(baseline.used, other.used))


def rule(name: str, *configs: str, count: int | None = None, detail: str | None = None) -> GateRule:
    """Return a rule that failed on a trial of each config."""
    return GateRule(
        name=name,
        meaning="meaning",
        count=len(configs) if count is None else count,
        n_removed=0,
        share_removed=0.5,
        failed=True,
        detail=detail,
        trials=tuple(
            NamedTrial(config_name=c, task_name=f"task-{i}", trial_name="t")
            for i, c in enumerate(configs)
        ),
    )


def gate(*rules: GateRule) -> Gate:
    """Return a gate that failed on these rules, or passed where there are none."""
    return Gate(passed=not rules, failed=tuple(r.name for r in rules), rules=rules)


def flip(metric: str, view: str, kind: Any, default: float, there: float) -> Flip:
    """Return a conclusion that changes under a view."""
    return Flip(
        metric=metric, view=view, kind=kind, default=default, there=there, sentence="made up"
    )


def comparison(**given: Any) -> ComparisonDocument:
    """Return a comparison of two configs, ``base`` and ``mcp``, that found a gain."""
    made = ComparisonDocument(
        baseline_config="base",
        comparison_config="mcp",
        computable=True,
        reason=None,
        n_pairs=142,
        excluded=(),
        metrics={"file_recall": result()},
        pairs=(),
        verdict="better",
        verdict_metric="file_recall",
        verdict_reason="made up",
        gate=gate(),
        ledger=ledger(
            arm(150, {"degraded_trace": 3}, {"no valid trial in the other arm": 5}, 142),
            arm(160, {"degraded_trace": 12, "crashed_before_start": 2}, {}, 146),
        ),
        views={},
        flips=(),
        discrimination=(),
        difference_associations=(),
        slices=(),
    )
    return replace(made, **given)
