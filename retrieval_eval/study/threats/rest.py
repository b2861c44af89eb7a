"""Threats beside the metric of the verdict: other metrics that pay for it, and other pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.model.impact import Threat
from retrieval_eval.study.headline import headline_estimate
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.study.trials import SCALES_DIFFER
from retrieval_eval.study.verdict import OUTCOMES, apparent
from retrieval_eval.values import REASONS, counted, signed

PAYING: Final = ("reward", "cost_usd", "elapsed_seconds", "total_tokens")
"""Metrics that may pay for the verdict's, in the order in which they are named."""


@THREATS.register("other_metrics")
@kind(
    title="Other metrics pay",
    meaning="reward, cost, time or tokens move the other way",
    gravity=10,
)
def _other_metrics(study: Study) -> Iterator[Threat]:
    for name in PAYING:
        block = study.blocks.get(name)
        if block is None or name == study.primary.name or study.found == "equivalent":
            continue
        there = apparent(block, study.design.alpha)
        if there not in ("better", "worse") or there == study.found:
            continue
        metric, lead = BY_NAME[name], headline_estimate(block)
        estimate = lead.estimate or 0.0
        amount = (
            f"{estimate:.2f} times"
            if lead.quantity == "ratio"
            else f"{signed(estimate)} {metric.unit}"
        )
        has_effect = name in OUTCOMES and study.is_clear
        outcome = {"better": "is better", "worse": "is worse"}.get(
            study.found, "has no detectable difference"
        )
        text = (
            f"{study.primary.label} {outcome}, but {metric.label} is {there}: {amount} that of "
            f"{study.arms[0].config} over {counted(lead.n, 'task')}"
            if lead.quantity == "ratio"
            else f"{study.primary.label} {outcome}, but {metric.label} is {there} ({amount} over "
            f"{counted(lead.n, 'task')})"
        )
        yield Threat(
            name="other_metrics",
            value=estimate,
            unit=f"ratio of {metric.label}" if lead.quantity == "ratio" else metric.unit,
            effect="lowers" if has_effect else "none",
            sentence=text,
            estimate=study.headline.estimate,
            overturn=f"if {metric.label} is what counts" if has_effect else None,
        )


@THREATS.register("many_pairs")
@kind(
    title="One of many pairs",
    meaning="the pair was not stated in advance, and one of so many is clear by chance",
    gravity=15,
)
def _many_pairs(study: Study) -> Iterator[Threat]:
    over, p_value = study.over, study.headline.p
    if over is None or over.n < 2 or p_value is None or not study.is_clear:
        return
    # The p of a view is not among those that were adjusted; every pair counts against it.
    adjusted = over.p_value if study.view is None else min(1.0, p_value * over.n)
    has_effect = adjusted is None or adjusted >= study.design.alpha
    text = f"one of {over.n} pairs of configurations, and none was stated in advance"
    if adjusted is not None:
        text += f": p is {adjusted:.3f} where all are looked at, and {p_value:.3f} by itself"
    yield Threat(
        name="many_pairs",
        value=adjusted,
        unit="p over pairs",
        effect="lowers" if has_effect else "none",
        sentence=text,
        estimate=study.headline.estimate,
        overturn=f"if all {over.n} pairs are looked at" if has_effect else None,
    )


_MAX_SUITES: Final = 4
"""Suites whose reward a sentence gives."""


@THREATS.register("never_hit")
@kind(
    title="Files never found",
    meaning="the arms never found a file on different tasks, so their times cannot be compared",
    gravity=70,
)
def _never_hit(study: Study) -> Iterator[Threat]:
    block = study.blocks.get("ttfr_seconds")
    if block is None or block.ci_reason != "never_hit_differs":
        return
    never = (block.n_never_baseline, block.n_never_comparison)
    watched = (block.n_watched_baseline, block.n_watched_comparison)
    counts = [
        f"{k} of {counted(n or 0, 'task')} with {arm.config}"
        for k, n, arm in zip(never, watched, study.arms, strict=True)
    ]
    text = (
        f"no relevant file was found on {' and '.join(counts)}: which was faster cannot "
        "be decided from the tasks on which both found one"
    )
    yield Threat(name="never_hit", value=None, unit="tasks", effect="none", sentence=text)


@THREATS.register("reward_scales")
@kind(
    title="Scales of rewards",
    meaning="rewards of several suites are on different scales and cannot be averaged",
    gravity=65,
)
def _reward_scales(study: Study) -> Iterator[Threat]:
    reward = study.blocks.get("reward")
    if reward is None or reward.reason != SCALES_DIFFER:
        return
    known = [row for row in study.reward_by_suite if row.computable]
    given = [
        f"{signed(row.mean_difference or 0.0)} in {row.benchmark} ({counted(row.n_pairs, 'task')})"
        for row in known[:_MAX_SUITES]
    ]
    if rest := len(known) - len(given):
        given.append(f"{counted(rest, 'further suite')} in the analysis")
    text = f"{REASONS[SCALES_DIFFER]}: reward is given by suite"
    if given:
        text += f", the mean difference is {', '.join(given)}"
    yield Threat(name="reward_scales", value=None, unit="suites", effect="none", sentence=text)
