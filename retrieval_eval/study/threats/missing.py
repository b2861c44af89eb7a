"""Threats of what was not measured: values that an arm lacks."""

from __future__ import annotations

from collections.abc import Iterator

from retrieval_eval.model.impact import Threat
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.study.verdict import is_fragile
from retrieval_eval.values import counted, signed


@THREATS.register("lacking_values")
@kind(
    title="Missing values",
    meaning="values that an arm lacks could change the sign of the difference",
    gravity=10,
)
def _lacking_values(study: Study) -> Iterator[Threat]:
    block, arms = study.block, study.arms
    low, high = block.bound_low, block.bound_high
    if low is None or high is None:
        return
    lacking = (block.n_lacking_baseline, block.n_lacking_comparison)
    if not any(lacking):
        return
    has_effect = study.is_clear and is_fragile(block)
    n = block.n_planned or 0
    parts = [
        f"{k} of {counted(n, 'task')} with {arm.config}"
        for k, arm in zip(lacking, arms, strict=True)
        if k
    ]
    text = (
        f"values are missing on {' and '.join(parts)}: over all of them the mean "
        f"difference lies between {signed(low, 3)} and "
        f"{signed(high, 3)}"
    )
    is_up = (block.mean_difference or 0.0) > 0
    # A gain is overturned by low missing values of the comparison or high ones of the baseline.
    tips = [
        f"those of {arm.config} average {'above' if is_up == (arm is arms[0]) else 'below'} "
        f"{tip:.2f}"
        for arm, tip in zip(arms, (block.tipping_baseline, block.tipping_comparison), strict=True)
        if tip is not None
    ]
    worst = low if is_up else high
    if has_effect and not round(worst, 9):
        text += ", so there may be no difference at all"
    elif has_effect:
        text += f"; the sign changes if {' or if '.join(tips)}" if tips else "; the sign can change"
    elif is_up == (worst > 0) and worst:
        text += ", so they cannot change its sign"
    one = [arm.config for arm, k in zip(arms, lacking, strict=True) if k]
    yield Threat(
        name="lacking_values",
        value=worst,
        unit="mean difference, worst case",
        effect="lowers" if has_effect else "none",
        sentence=text,
        arm=one[0] if len(one) == 1 else None,
        estimate=worst,
        overturn=f"missing values: {' or '.join(tips)}" if tips else None,
    )
