"""Threats beside the metric of the verdict: other metrics that pay for it, and other pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.headline import Headline, headline_estimate
from retrieval_eval.agents.study.threats import THREATS, Study, kind
from retrieval_eval.agents.study.trials import SCALES_DIFFER
from retrieval_eval.agents.study.verdict import OUTCOMES, apparent
from retrieval_eval.model.impact import Threat
from retrieval_eval.values import REASONS, counted, signed

PRICES: Final = {"cost_usd": "cost", "elapsed_seconds": "time", "total_tokens": "tokens"}
"""Metrics of what a trial costs, as a sentence names them."""


@THREATS.register("other_metrics")
@kind(
    title="Other metrics pay",
    meaning="reward, cost, time or tokens move the other way",
    gravity=10,
)
def _other_metrics(study: Study) -> Iterator[Threat]:
    against = {
        name: headline_estimate(block)
        for name, block in study.blocks.items()
        if name in PRICES.keys() | OUTCOMES
        and name != study.primary.name
        and (there := apparent(block, study.design.alpha)) in ("better", "worse")
        and there != study.found
    }
    label = study.primary.label
    for name in OUTCOMES & against.keys():
        metric, lead = BY_NAME[name], against[name]
        has_effect = study.is_clear
        yield Threat(
            name="other_metrics",
            value=lead.estimate,
            unit=metric.unit,
            effect="lowers" if has_effect else "none",
            sentence=(
                f"{_result(study)}, but {metric.label} is "
                f"{apparent(study.blocks[name], study.design.alpha)} "
                f"({signed(lead.estimate or 0.0)} over {counted(lead.n, 'task')})"
            ),
            estimate=study.headline.estimate,
            overturn=f"if {metric.label} counts, not {label}" if has_effect else None,
        )
    prices = {name: lead for name, lead in against.items() if name in PRICES}
    if prices:
        # Of a ratio and its inverse the one that is farther from 1 is the larger.
        largest = max(prices.values(), key=lambda lead: abs(_log(lead)))
        parts = [f"{_amount(name, lead)} the {PRICES[name]}" for name, lead in prices.items()]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        yield Threat(
            name="other_metrics",
            value=largest.estimate,
            unit="times that of the baseline",
            effect="none",
            sentence=f"{_result(study)} at {listed} of {study.arms[0].config}",
            estimate=study.headline.estimate,
        )


def _result(study: Study) -> str:
    label = study.primary.label
    if study.headline.p is None:
        return f"{label} is undecided"
    return {
        "better": f"{label} is better",
        "worse": f"{label} is worse",
        "equivalent": f"{label} is equivalent",
    }.get(study.found, f"no detectable difference in {label}")


def _log(lead: Headline) -> float:
    return math.log(lead.estimate) if lead.quantity == "ratio" and lead.estimate else 0.0


def _amount(name: str, lead: Headline) -> str:
    value = lead.estimate or 0.0
    return f"{value:.2f} times" if lead.quantity == "ratio" else f"{signed(value)} {name}"


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
    meaning="the arms never found a file on different tasks, which leaves open which is faster",
    gravity=70,
)
def _never_hit(study: Study) -> Iterator[Threat]:
    block = study.blocks.get("ttfr_seconds")
    if block is None:
        return
    missed = [
        [any(trial.never_hit for trial in getattr(pair, side)) for pair in study.pairs]
        for side in ("baseline", "comparison")
    ]
    if missed[0] == missed[1]:
        return
    never = (block.n_never_baseline, block.n_never_comparison)
    watched = [
        sum(any(trial.computable for trial in getattr(pair, side)) for pair in study.pairs)
        for side in ("baseline", "comparison")
    ]
    counts = [
        f"{k} of {counted(n, 'task')} with {arm.config}"
        for k, n, arm in zip(never, watched, study.arms, strict=True)
    ]
    text = f"no relevant file was found on {' and '.join(counts)}"
    mean = block.estimate
    if mean is None:
        text += ": which was faster cannot be decided from the tasks on which both found one"
    else:
        text += (
            f": with their times counted up to {block.until or 0.0:.0f} s, the mean time over all "
            f"tasks differs by {signed(mean, 1)} s"
        )
    # The arm with the shorter mean time is the one that finds a file less often.
    later = block.until_tipping
    is_lead = study.block is block and study.is_clear and later is not None
    if is_lead:
        text += f"; counted up to {later or 0.0:.0f} s it would be the same"
    yield Threat(
        name="never_hit",
        value=sum(k or 0 for k in never),
        unit="tasks",
        effect="lowers" if is_lead else "none",
        sentence=text,
        estimate=mean,
        overturn=f"if a task without a file counts as {later:.0f} s or more" if is_lead else None,
    )


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
