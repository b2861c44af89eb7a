"""Threats of the other metrics: times of never-found files, scales of rewards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from retrieval_eval.model.impact import Threat
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.study.trials import SCALES_DIFFER
from retrieval_eval.values import REASONS, counted, signed

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
    gravity=60,
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
