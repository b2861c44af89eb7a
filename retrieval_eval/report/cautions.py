"""What a reader of the verdict has to know beside it: views that turn it, blunt metrics."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.comparison import ALPHA, VERDICTS, Comparison, MetricResult
from retrieval_eval.report.findings import name
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import interval, signed
from retrieval_eval.report.robustness import BLUNT, Flip
from retrieval_eval.values import counted

CLEAR: Final = ("better", "worse", "fragile")
"""Verdicts of a difference that the measured tasks show."""


def turns_the_verdict(comparison: Comparison) -> bool:
    """Return whether another view turns the sign or the verdict of the verdict's metric."""
    return any(flip.metric == comparison.verdict_metric for flip in comparison.flips)


def contrary_reward(comparison: Comparison) -> MetricResult | None:
    """Return the reward's statistics when they differ clearly, but not the way the verdict says.

    A reader who sees that more was found must not take for granted that more was solved.
    """
    reward = comparison.metric("reward")
    if reward is None or comparison.verdict_metric == "reward" or not reward.excludes_zero:
        return None
    is_sure = reward.p_value is not None and reward.p_value < ALPHA
    found = comparison.metric(comparison.verdict_metric)
    is_clear = comparison.verdict in CLEAR
    agrees = is_clear and found is not None and found.is_gain == reward.is_gain
    return reward if is_sure and not agrees else None


def lacking(comparison: Comparison, *, is_short: bool = False) -> str:
    """Return the sentence on what values that an arm lacks could do to a fragile verdict."""
    result = comparison.metric(comparison.verdict_metric)
    if comparison.verdict != "fragile" or result is None:
        return ""
    if is_short:
        return "Values that an arm lacks could change its sign."
    known = metric_name(result.metric)
    arms = (comparison.baseline, comparison.comparison)
    gaps = (result.n_lacking_baseline, result.n_lacking_comparison)
    whole = counted(result.n_planned or 0, "task")
    where = [f"{n} with {name(arm)}" for n, arm in zip(gaps, arms, strict=True) if n]
    ends = interval(result.bound_low, result.bound_high, known.digits)
    text = f"Of {whole}, {' and '.join(where)} lack a value; over all, the difference is in {ends}"
    is_up = (result.mean_difference or 0) > 0
    tips = zip(arms, (result.tipping_baseline, result.tipping_comparison), strict=True)
    # What the second arm lacks overturns a gain when it is low, what the first lacks when high.
    said = [
        f"{'above' if is_up == (arm == arms[0]) else 'below'} {known.value(tip)} with {name(arm)}"
        for arm, tip in tips
        if tip is not None
    ]
    turn = f", and changes sign if those lacking average {' or '.join(said)}" if said else ""
    return f"{text}{turn}."


def bluntness(comparison: Comparison) -> str | None:
    """Return why no difference could show in the verdict's metric, or None when one could."""
    found = comparison.discriminates(comparison.verdict_metric)
    if found is None or found.status not in BLUNT or comparison.verdict in CLEAR:
        return None
    return found.status


def sentence(comparison: Comparison, n_sign_changes: int, n_named: int = 2) -> str:
    """Return one sentence of cautions for the first screen, or nothing when there is none.

    A reward that goes the other way comes first. Flips of the verdict's metric are named, at most
    ``n_named``; the rest is counted, and so are the pooled associations that change sign.
    """
    parts = []
    if (reward := contrary_reward(comparison)) is not None:
        word = "higher" if (reward.mean_difference or 0) > 0 else "lower"
        ends = interval(reward.ci_low, reward.ci_high)
        parts.append(f"reward is {word}, {signed(reward.mean_difference)} {ends}")
    own = [f for f in comparison.flips if f.metric == comparison.verdict_metric][:n_named]
    parts += [flip_clause(flip, comparison) for flip in own]
    rest = len(comparison.flips) - len(own)
    if rest:
        further = "more conclusion" if own else "conclusion"
        verb = "changes" if rest == 1 else "change"
        parts.append(f"{counted(rest, further)} {verb} under another view (see Views)")
    if n_sign_changes:
        verb = "changes" if n_sign_changes == 1 else "change"
        pooled = counted(n_sign_changes, "pooled association")
        parts.append(f"{pooled} {verb} sign within groups")
    return f"Caution: {'; '.join(parts)}." if parts else ""


def flip_clause(flip: Flip, comparison: Comparison) -> str:
    """Return what changes, such as ``under the view opened the sign changes (−0.03)``."""
    known = metric_name(flip.metric)
    view = name(flip.view.replace("_", " "))
    text = f"under the view {view}"
    if flip.kind == "sign":
        return f"{text} the sign changes ({known.difference(flip.there)})"
    there = flip.there if isinstance(flip.there, str) else None
    found = comparison.views.get(flip.view)
    if there is None and found is not None and flip.metric == comparison.verdict_metric:
        there = found.verdict
    if there is None:
        return f"{text} the conclusion changes ({known.difference(flip.there)})"
    return f"{text} the verdict is “{VERDICTS.get(there, name(there))}”"
