"""What a reader of the verdict has to know beside it: views that turn it, blunt metrics."""

from __future__ import annotations

from retrieval_eval.report.comparison import ALPHA, VERDICTS, Comparison, MetricResult
from retrieval_eval.report.findings import name
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import interval, signed
from retrieval_eval.report.robustness import BLUNT, Flip
from retrieval_eval.values import counted


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
    agrees = comparison.verdict == ("better" if reward.is_gain else "worse")
    return reward if is_sure and not agrees else None


def bluntness(comparison: Comparison) -> str | None:
    """Return why no difference could show in the verdict's metric, or None when one could."""
    found = comparison.discriminates(comparison.verdict_metric)
    if found is None or found.status not in BLUNT or comparison.verdict in ("better", "worse"):
        return None
    return found.status


def sentence(comparison: Comparison, n_sign_changes: int, n_named: int = 2) -> str:
    """Return one sentence of cautions for the first screen, or nothing when there is none.

    A reward that goes the other way comes first. Flips of the verdict's metric are named, at most
    ``n_named``; the rest is counted, and so are the pooled associations that turn sign.
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
        further = "further conclusion" if own else "conclusion"
        verb = "turns" if rest == 1 else "turn"
        parts.append(f"{counted(rest, further)} {verb} under another view")
    if n_sign_changes:
        verb = "turns" if n_sign_changes == 1 else "turn"
        pooled = counted(n_sign_changes, "pooled association")
        parts.append(f"{pooled} {verb} sign within groups")
    return f"Caution: {'; '.join(parts)}." if parts else ""


def flip_clause(flip: Flip, comparison: Comparison) -> str:
    """Return what another view turns, such as ``under the view opened the sign turns (−0.03)``."""
    known = metric_name(flip.metric)
    view = name(flip.view.replace("_", " "))
    text = f"under the view {view}"
    if flip.kind == "sign":
        return f"{text} the sign turns ({known.difference(flip.there)})"
    there = flip.there if isinstance(flip.there, str) else None
    found = comparison.views.get(flip.view)
    if there is None and found is not None and flip.metric == comparison.verdict_metric:
        there = found.verdict
    if there is None:
        return f"{text} the conclusion turns ({known.difference(flip.there)})"
    return f"{text} the verdict is “{VERDICTS.get(there, name(there))}”"
