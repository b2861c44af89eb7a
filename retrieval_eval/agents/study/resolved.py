"""Resolved tasks: which arm resolved which, and how much of the difference comes from finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.design import Pair
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.trials import Trial, average
from retrieval_eval.model.impact import Resolved, ResolvedArm
from retrieval_eval.stats.proportions import mcnemar_p, tango

_REWARD: Final = "reward"


def resolved_of(pairs: Sequence[Pair], settings: Settings) -> Resolved | None:
    """Return the two-by-two table of resolved tasks; None unless every reward is 0 or 1.

    A task with repeats counts where all of an arm's agree. Interval and test take tasks as
    independent; the verdict on rewards, which counts tasks of a repository together, is in the
    metrics.
    """
    from retrieval_eval.stats.paired import MIN_PAIRS
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    sides = [(average(p.baseline, _REWARD), average(p.comparison, _REWARD)) for p in pairs]
    trials = [t for p in pairs for t in (*p.baseline, *p.comparison) if _REWARD in t.numbers]
    if not trials or any(t.numbers[_REWARD] not in (0, 1) or t.is_reward_open for t in trials):
        return None
    known = [(a, b) for a, b in sides if a in (0, 1) and b in (0, 1)]
    up, down = known.count((0, 1)), known.count((1, 0))
    ends = tango(up, down, len(known), confidence=settings.confidence)
    has_ends, has_p = len(known) >= MIN_PAIRS, len(known) >= MIN_PAIRS_FOR_P
    column = settings.column(BY_NAME["file_recall"], "opened")
    baseline = _arm((t for p in pairs for t in p.baseline), column)
    comparison = _arm((t for p in pairs for t in p.comparison), column)
    finding, using = _parts(baseline, comparison)
    return Resolved(
        n_both=known.count((1, 1)),
        n_only_baseline=down,
        n_only_comparison=up,
        n_neither=known.count((0, 0)),
        difference=(up - down) / len(known) if known else None,
        ci_low=ends.low.value if has_ends else None,
        ci_high=ends.high.value if has_ends else None,
        p_value=mcnemar_p(up, down) if has_p else None,
        baseline=baseline,
        comparison=comparison,
        by_finding=finding,
        by_using=using,
    )


def _arm(trials: Iterable[Trial], column: str) -> ResolvedArm:
    """Count the resolved trials of an arm with all expected files opened, and without."""
    counts = {True: [0, 0], False: [0, 0]}
    for trial in trials:
        if _REWARD in trial.numbers and column in trial.numbers:
            own = counts[trial.numbers[column] >= 1]
            own[0] += 1
            own[1] += trial.numbers[_REWARD] == 1
    return ResolvedArm(
        n_all_opened=counts[True][0],
        n_all_opened_resolved=counts[True][1],
        n_not_all_opened=counts[False][0],
        n_not_all_opened_resolved=counts[False][1],
    )


def _parts(before: ResolvedArm, after: ResolvedArm) -> tuple[float | None, float | None]:
    """Return what the difference owes to finding, and what to using what was found.

    The shares of trials that opened all files change at the mean of both arms' rates, the rates at
    the mean of both arms' shares (Kitagawa 1955). None where an arm lacks one of the two kinds.
    """
    arms = (before, after)
    if not all(arm.n_all_opened and arm.n_not_all_opened for arm in arms):
        return None, None
    shares = [arm.n_all_opened / (arm.n_all_opened + arm.n_not_all_opened) for arm in arms]
    rates = [
        (
            arm.n_all_opened_resolved / arm.n_all_opened,
            arm.n_not_all_opened_resolved / arm.n_not_all_opened,
        )
        for arm in arms
    ]
    found, lost = ((rates[0][i] + rates[1][i]) / 2 for i in (0, 1))
    finding = (shares[1] - shares[0]) * (found - lost)
    share = (shares[0] + shares[1]) / 2
    using = share * (rates[1][0] - rates[0][0]) + (1 - share) * (rates[1][1] - rates[0][1])
    return finding, using
