"""Threats beside the metric of the verdict: other metrics that pay for it, and other pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.estimates import observed_times
from retrieval_eval.agents.study.headline import Headline, headline_estimate
from retrieval_eval.agents.study.threats import THREATS, Study, by_arm, kind
from retrieval_eval.agents.study.verdict import OUTCOMES, apparent
from retrieval_eval.model.impact import Threat
from retrieval_eval.values import counted, signed

PRICES: Final = {"cost_usd": "cost", "elapsed_seconds": "time", "total_tokens": "tokens"}
"""Metrics of what a trial costs, as a sentence names them."""

_RESULTS: Final = {
    "better": "{} is better",
    "worse": "{} is worse",
    "equivalent": "{} is equivalent",
    "not_worse": "{} is not worse",
}


@THREATS.register("other_metrics")
@kind(
    title="Other metrics pay",
    meaning="reward, cost, time or tokens move the other way",
    gravity=10,
)
def _other_metrics(study: Study) -> Iterator[Threat]:
    shown = {
        name: apparent(block, study.design.alpha)
        for name, block in study.blocks.items()
        if name in PRICES.keys() | OUTCOMES and name != study.primary.name
    }
    against = {
        name: headline_estimate(study.blocks[name])
        for name, there in shown.items()
        if there in ("better", "worse") and there != study.found
    }
    label = study.primary.label
    result = _RESULTS.get(study.found, "no detectable difference in {}")
    result = (result if study.headline.p is not None else "{} is undecided").format(label)
    for name in OUTCOMES & against.keys():
        metric, lead = BY_NAME[name], against[name]
        yield Threat(
            name="other_metrics",
            value=lead.estimate,
            unit=metric.unit,
            effect="lowers" if study.is_clear else "none",
            sentence=f"{result}, but {metric.label} is {shown[name]} "
            f"({signed(lead.estimate or 0.0)} over {counted(lead.n, 'task')})",
            estimate=study.headline.estimate,
            overturn=f"if {metric.label} counts, not {label}" if study.is_clear else None,
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
            sentence=f"{result} at {listed} of {study.arms[0].config}",
            estimate=study.headline.estimate,
        )


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


@THREATS.register("never_hit")
@kind(
    title="Files never found",
    meaning="the faster arm more often never found a file, which leaves open which is faster",
    gravity=70,
)
def _never_hit(study: Study) -> Iterator[Threat]:
    block, primary = study.block, study.primary
    test = study.sample.test() if primary.kind == "time" and study.is_clear else None
    if test is None or block.until is None:
        return
    shares = (
        sum(time is None for time in after) / len(after)
        - sum(time is None for time in before) / len(before)
        for _, before, after in observed_times(study.pairs, primary)
    )
    slope = math.fsum(w * share for w, share in zip(test.weights.tolist(), shares, strict=True))
    if slope * test.mean >= 0:
        return
    later = block.until - test.mean / slope
    never = (block.n_never_baseline or 0, block.n_never_comparison or 0)
    counts = by_arm(study, never, (block.n_pairs,) * 2, "task", has_all=True)
    yield Threat(
        name="never_hit",
        value=later,
        unit=primary.unit,
        effect="lowers",
        sentence=f"no relevant file was found on {counts}: counted up to {later:.0f} in place of "
        f"{block.until:.0f} {primary.unit}, the mean times would be the same",
        estimate=block.estimate,
        overturn=f"if a task without a file counts as {later:.0f} {primary.unit} or more",
    )
