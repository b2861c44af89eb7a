"""Simulated comparisons of whole trials: each function returns one row of a table of verdicts.

Every study is a list of trials of two or five configurations, given to `retrieval_eval.compare` as
a user gives it. Without a true difference `better` and `worse` are false. With one, `fragile` is a
false alarm of the threats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import numpy as np
from simulated_draws import generator
from simulated_studies import Row

from retrieval_eval.agents.study import compare
from retrieval_eval.agents.study.compare import draft_of, finish, over_pairs, p_of_lead
from retrieval_eval.agents.study.stated import Settings, metrics_named
from retrieval_eval.agents.study.trials import Trial

ARMS = ("control", "treatment")
N_RESAMPLES = 499
METRICS = metrics_named(["file_recall"])
STATED = frozenset({"better", "worse"})

Trials = list[Trial]
Study = Callable[[np.random.Generator, int, float], Trials]
"""Trials of a number of tasks, with a true effect on every task."""

_CONSTANT: dict[str, Any] = {
    **{field.name: None for field in fields(Trial)},
    "run_id": "run",
    "benchmark": "suite",
    "model": "model",
    "harness": "harness",
    "harness_version": "1",
    "degraded_sources": (),
    "quality_flags": (),
    "ground_truth_confidence": "high",
    "ground_truth_digest": "digest",
    "has_exception": False,
    "calls_seen": 20,
    "mcp_calls": 0,
    "mcp_calls_ok": 0,
    "shell_calls": 12,
    "shell_opaque": 1,
    "total_events": 20,
    "n_ground_truth": 4,
    "candidate_set_count": 8,
    "evidence_type": "local",
    "has_ground_truth": True,
    "computable": True,
    "never_hit": False,
}


def trial(task: int, config: str, numbers: dict[str, float], **fields: Any) -> Trial:
    """Return a trial of a task that has a repository of its own unless one is given."""
    names = {"task_name": f"task-{task:04}", "trial_name": f"{config}-{task:04}"}
    own = {"config_name": config, "repositories": (f"repository-{task}",), "numbers": numbers}
    return Trial(**{**_CONSTANT, **names, **own, **fields})


# Measurements of both arms: task by task, with an effect of the treatment

Sides = Iterator[tuple[dict[str, float], dict[str, float]]]


def recall(g: np.random.Generator, n: int, effect: float, shift: Any = 0.0) -> Sides:
    """Yield recall of one to six files; the effect is a share of what the control misses."""
    chance = g.beta(2, 2, n)
    gain = np.broadcast_to(np.asarray(effect + shift, dtype=float), n)
    raised = np.where(gain > 0, chance + gain * (1 - chance), chance * (1 + gain))
    for before, after in zip(chance, np.clip(raised, 0, 1), strict=True):
        files = int(g.integers(1, 7))
        found = g.binomial(files, [before, after]) / files
        yield {"file_recall": float(found[0])}, {"file_recall": float(found[1])}


def cost(g: np.random.Generator, n: int, effect: float, shift: Any = 0.0) -> Sides:
    """Yield lognormal costs; the effect is the logarithm of their ratio."""
    base = g.lognormal(0, 0.8, n)
    noise = g.lognormal(0, 0.5, (2, n))
    ratio = np.exp(np.broadcast_to(np.asarray(effect + shift, dtype=float), n))
    for before, after in zip(base * noise[0], base * noise[1] * ratio, strict=True):
        yield {"cost_usd": float(before)}, {"cost_usd": float(after)}


def cost_with_outliers(g: np.random.Generator, n: int, effect: float, shift: Any = 0.0) -> Sides:
    """Yield costs of which one in twenty is ten times as high."""
    for sides in cost(g, n, effect, shift):
        first, second = (
            {"cost_usd": side["cost_usd"] * (10.0 if g.random() < 0.05 else 1.0)} for side in sides
        )
        yield first, second


def first_hit(g: np.random.Generator, n: int, effect: float, shift: Any = 0.0) -> Sides:
    """Yield times to the first relevant file, of which those beyond the trial's end are censored.

    The effect is the logarithm of the ratio of the hazards. About three in ten never hit.
    """
    scale = g.lognormal(0, 0.5, n)
    hazard = np.exp(np.broadcast_to(np.asarray(effect + shift, dtype=float), n))
    for task, factor in zip(scale, hazard, strict=True):
        times = g.exponential(60 * task, 2) / (1, factor)
        ends = g.uniform(60, 90, 2)
        yield tuple(  # type: ignore[misc]
            {"ttfr_seconds": float(time), "censored_at_seconds": float(end)}
            if time <= end
            else {"censored_at_seconds": float(end)}
            for time, end in zip(times, ends, strict=True)
        )


MEASURES: dict[str, tuple[str, Callable[..., Sides]]] = {
    "recall": ("file_recall", recall),
    "cost": ("cost_usd", cost),
    "cost, 5 % tenfold": ("cost_usd", cost_with_outliers),
    "time to first hit, 30 % never": ("ttfr_seconds", first_hit),
}


def trials_of(sides: Sides, configs: tuple[str, str] = ARMS, **fields: Any) -> Trials:
    """Return the trials of both sides, task by task."""
    found = []
    for task, pair in enumerate(sides):
        for config, numbers in zip(configs, pair, strict=True):
            is_missed = "censored_at_seconds" in numbers and "ttfr_seconds" not in numbers
            numbers = {"file_recall": 0.5, "reward": 0.5, **numbers}
            found.append(trial(task, config, numbers, never_hit=is_missed, **fields))
    return found


def plain(measure: str) -> Study:
    def draw(g: np.random.Generator, n: int, effect: float) -> Trials:
        return trials_of(MEASURES[measure][1](g, n, effect))

    return draw


# Designs without a true difference, or with one, that a plain mean misreads


def clusters(count: int, spread: float) -> Study:
    """Return tasks in repositories, each with an effect of its own around the true one."""

    def draw(g: np.random.Generator, n: int, effect: float) -> Trials:
        own = g.permutation(np.arange(n) % count)
        shift = g.normal(0, spread, count)[own]
        found = trials_of(recall(g, n, effect, shift))
        return [
            replace(one, repositories=(f"repository-{own[int(one.task_name[5:])]}",))
            for one in found
        ]

    return draw


def informative_loss(share: float) -> Study:
    """Return a treatment that lacks the tasks on which it did worst."""

    def draw(g: np.random.Generator, n: int, effect: float) -> Trials:
        found = trials_of(recall(g, n, effect))
        after = [t for t in found if t.config_name == ARMS[1]]
        after.sort(key=lambda t: (t.numbers["file_recall"], t.task_name))
        lost = {id(t) for t in after[: round(share * n)]}
        return [t for t in found if id(t) not in lost]

    return draw


def crashes(share: float) -> Study:
    """Return a treatment that crashes before it starts on the tasks on which it did worst."""

    def draw(g: np.random.Generator, n: int, effect: float) -> Trials:
        whole = trials_of(recall(g, n, effect))
        kept = {id(t) for t in whole}
        after = [t for t in whole if t.config_name == ARMS[1]]
        after.sort(key=lambda t: (t.numbers["file_recall"], t.task_name))
        kept -= {id(t) for t in after[: round(share * n)]}
        return [
            t
            if id(t) in kept
            else replace(t, has_exception=True, calls_seen=0, computable=False, numbers={})
            for t in whole
        ]

    return draw


def contaminated(share: float) -> Study:
    """Return a control of which some trials used the tool, and did better for another reason."""

    def draw(g: np.random.Generator, n: int, effect: float) -> Trials:
        found = []
        for t in trials_of(recall(g, n, effect)):
            is_user = t.config_name == ARMS[1] or g.random() < share
            found.append(replace(t, mcp_calls=4 * is_user, mcp_calls_ok=4 * is_user))
        return found

    return draw


def two_scales(g: np.random.Generator, n: int, effect: float) -> Trials:
    """Return rewards that one suite gives from 0 to 1 and the other from 0 to 100."""
    found = []
    for t in trials_of(recall(g, n, effect)):
        is_wide = int(t.task_name[5:]) % 2 == 1
        reward = float(np.clip(t.numbers["file_recall"] + g.normal(0, 0.1), 0, 1))
        numbers = {**t.numbers, "reward": reward * (100 if is_wide else 1)}
        found.append(replace(t, benchmark=f"suite-{int(is_wide)}", numbers=numbers))
    return found


def opposite_suites(g: np.random.Generator, n: int, effect: float) -> Trials:
    """Return two suites with opposite effects, of which the mean is the true one."""
    shift = np.where(np.arange(n) % 2 == 0, 0.5, -0.5)
    return [
        replace(t, benchmark=f"suite-{int(t.task_name[5:]) % 2}")
        for t in trials_of(recall(g, n, effect, shift))
    ]


STUDIES: dict[str, tuple[str, Study]] = {
    **{name: (metric, plain(name)) for name, (metric, _) in MEASURES.items()},
    **{
        f"{count} repositories of effects ±{spread}": ("file_recall", clusters(count, spread))
        for count in (2, 3, 5, 8, 12, 20)
        for spread in (0.2, 0.5)
    },
    "worst tenth not run": ("file_recall", informative_loss(0.1)),
    "worst 40 % not run": ("file_recall", informative_loss(0.4)),
    "crashes on the worst third": ("file_recall", crashes(1 / 3)),
    "control used the tool in a fifth": ("file_recall", contaminated(0.2)),
    "rewards on two scales": ("reward", two_scales),
    "two suites, opposite effects": ("file_recall", opposite_suites),
}


def verdict_row(name: str, n: int, effect: float, studies: int) -> Row:
    """Count the verdicts on a design with a true effect, in %."""
    metric, draw = STUDIES[name]
    g = generator("verdict", name, n, effect)
    found: Counter[str] = Counter()
    for study in range(studies):
        made = compare(
            draw(g, n, effect),
            *ARMS,
            seed=study,
            primary=metric,
            metrics=[metric],
            n_resamples=N_RESAMPLES,
        )
        found[made.verdict.state] += 1
    return [name, str(n), f"{effect:g}", *shares(found, studies)]


STATES = (
    ("better", "worse"),
    ("fragile",),
    ("no_detectable_difference", "equivalent"),
    ("too_few_pairs", "no_verdict"),
)
"""The columns of verdicts that a row counts."""


def shares(found: Counter[str], studies: int) -> list[str]:
    return [f"{100 * sum(found[state] for state in states) / studies:.1f}" for states in STATES]


def many_arms_row(arms: int, n: int, studies: int) -> Row:
    """Count studies of equal arms in which any pair, not stated in advance, has a verdict."""
    g = generator("many arms", arms, n)
    configs = [f"config-{i}" for i in range(arms)]
    any_false, stated = 0, 0
    for study in range(studies):
        chance = g.beta(2, 2, n)
        files = g.integers(1, 7, n)
        trials = [
            trial(
                task,
                config,
                {
                    "file_recall": float(g.binomial(files[task], chance[task]) / files[task]),
                    "reward": 0.5,
                },
            )
            for task in range(n)
            for config in configs
        ]
        settings = Settings(study, N_RESAMPLES)
        # Only pairs that stay clear over the family can be better or worse.
        drafts = [
            draft_of(trials, *pair, settings, metrics=METRICS, primary=METRICS[0])
            for pair in combinations(configs, 2)
        ]
        overs = over_pairs([p_of_lead(draft.study) for draft in drafts])
        any_false += any(
            finish(draft, over).verdict.state in STATED
            for draft, over in zip(drafts, overs, strict=True)
            if over is not None and over.p_value is not None and over.p_value < 0.05
        )
        stated += finish(drafts[0]).verdict.state in STATED
    return [
        str(arms),
        str(n),
        f"{100 * any_false / studies:.1f}",
        f"{100 * stated / studies:.1f}",
    ]
