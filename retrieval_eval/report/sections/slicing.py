"""Where the difference lies: slices of the tasks, and reward by how much was found."""

from __future__ import annotations

from retrieval_eval.model.impact import RewardTier
from retrieval_eval.report import findings, gate_labels
from retrieval_eval.report.exhibits import Block, Empty, section
from retrieval_eval.report.figures import reliability, slices
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import rate
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections.pairs import UNPAIRED, withheld
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE


def sliced(view: RunView) -> Block:
    """Return the difference by every dimension, with n in every cell."""
    if (block := withheld(view, "slices")) is not None:
        return block
    comparison = view.run.comparison
    if comparison is None:
        return section("Nothing is paired, so nothing is sliced", Empty("slices", UNPAIRED))
    found = comparison.slices
    if comparison.n_pairs < MIN_INTERPRETABLE:
        why = f"Below {MIN_INTERPRETABLE} matched tasks no slice can be interpreted."
        return section("Too few matched tasks to slice", Empty("slices", why))
    shown = [s.mean_difference for s in found if slices.is_shown(s)]
    small = sum(not slices.is_shown(s) for s in found)
    result = comparison.metrics.get(comparison.verdict_metric)
    return section(
        findings.slices([d for d in shown if d is not None], small),
        slices.draw(
            found,
            result.mean_difference if result else None,
            metric_name(comparison.verdict_metric).label.lower(),
        ),
    )


def rewarded(view: RunView) -> Block:
    """Return reward by file recall: a curve, and tiers."""
    bins, found = view.run.impact.calibration, view.run.impact.tiers
    configs = list(view.run.configs)
    ends = [
        (config, [t for t in found if t.config_name == config and reliability.is_shown(t)])
        for config in configs
    ]
    parts = [
        f"{_tier(shown[0])} to {_tier(shown[-1])} with {findings.name(config)}"
        for config, shown in ends
        if len(shown) > 1
    ]
    finding = (
        f"Mean reward by ground truth found: {findings.listed(parts, '; ')}"
        if parts
        else "Too few tasks to set reward against what was found"
    )
    figure = reliability.draw(bins, found, configs)
    reasons = sorted({cell.reason for cell in found if cell.reason})
    why = [f"{reason_sentence(reason)}.".capitalize() for reason in reasons]
    why += gate_labels.counted_trials(view.run.impact.let_through)
    shown = [] if isinstance(figure, Empty) else [reliability.tiers_table(found, configs)]
    return section(finding, figure, *shown, sentences=why)


def _tier(cell: RewardTier) -> str:
    return f"{rate(cell.mean_reward)} ({cell.tier}, n = {cell.n})"
