"""Simulated pairs of search runs whose truth is known; each function returns one row of a table.

A study draws two runs of simulated systems (`guard_systems.py`), and lets the guard decide with its
own functions under each of its rules. Every row has a generator of its own, seeded by its name.
`guard_simulation.py` runs them and prints the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from guard_systems import (
    DROPS,
    METRICS,
    REFUSAL_DROPS,
    SYSTEMS,
    Drop,
    Queries,
    again,
    bad_days,
    uneven,
)
from numpy.typing import NDArray
from simulated_draws import generator

from retrieval_eval.search.decide import (
    BREACH,
    UNDECIDED,
    NoiseLevel,
    decide,
    harm_test,
    noise_test,
    run_to_run,
)
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.stats.resampling import Floats

Row = list[str]

_SHIPPED = {row.metric: row.max_change for row in shipped_thresholds().rows}
LIMITS = {name: _SHIPPED[name] for name in METRICS}
"""The changes that the shipped guard.toml allows, in points."""

N_RESAMPLES = 999
REPEATS = 10
"""Number of runs that the noise of a system is measured from, as in `search noise`."""
OTHER_REPEATS = (5, 20)

RULES = ("threshold", "significance", "noise", *(f"noise of {n}" for n in OTHER_REPEATS))

PROMISED_ALARMS, PROMISED_POWER = 5.0, 95.0

_STILL = run_to_run(np.zeros((2, 1)))


class Study(NamedTuple):
    """For each metric how much each query got worse, and the measured noise by number of repeats.

    ``undropped_points`` is the harm of each metric but for the planted drop.
    """

    harms: list[Floats]
    noise: dict[int, list[NoiseLevel]]
    undropped_points: list[float]


def study_of(queries: Queries, system: str, share: float, *, drop: Drop = lambda run: run) -> Study:
    """Return one pair of runs of a system, the second of them with a drop."""
    base, run = queries.run(), SYSTEMS[system]
    before, second = queries.levels(run(queries, base, share)), run(queries, base, share)
    harms = [old - new for old, new in zip(before, queries.levels(drop(second)), strict=True)]
    undropped = [
        float((old - new).mean()) for old, new in zip(before, queries.levels(second), strict=True)
    ]
    counts = (REPEATS, *OTHER_REPEATS)
    if run not in (again, uneven, bad_days):
        return Study(harms, dict.fromkeys(counts, [_STILL] * len(harms)), undropped)
    repeats = [queries.levels(run(queries, base, share)) for _ in range(max(counts))]
    tables = [np.array(rows) / 100 for rows in zip(*repeats, strict=True)]
    return Study(harms, {n: [run_to_run(one[:n]) for one in tables] for n in counts}, undropped)


class Decisions(NamedTuple):
    """The guard's decisions under each rule, and harms in points: studies by metrics."""

    codes: dict[str, NDArray[np.int8]]
    harm_points: Floats
    undropped_points: Floats


def decisions(studies: int, draw: Callable[[], Study], n: int) -> Decisions:
    """Return the decisions of the guard over that many studies."""
    shape = (studies, len(LIMITS))
    harms, undropped = np.zeros(shape), np.zeros(shape)
    tests = {rule: (np.zeros(shape), np.zeros(shape)) for rule in RULES[1:]}
    repeats = dict(zip(RULES[2:], (REPEATS, *OTHER_REPEATS), strict=True))
    for study in range(studies):
        found = draw()
        undropped[study] = found.undropped_points
        for place, harm in enumerate(found.harms):
            at, mean = (study, place), harm.mean()
            harms[at] = mean
            p_values, errors = tests["significance"]
            p_values[at], errors[at] = harm_test(harm, seed=study, n_resamples=N_RESAMPLES)
            for rule, n_runs in repeats.items():
                (p_values, errors), levels = tests[rule], found.noise[n_runs]
                is_still = all(level.is_deterministic for level in levels)
                test = noise_test(mean, [levels[place]], (1, 1), is_deterministic=is_still)
                p_values[at], errors[at] = test.p_value, test.error_points
    pairs = np.array([n // 10 if name.startswith("ungrounded") else n for name in LIMITS])
    limits = list(LIMITS.values())
    freedom = {rule: repeats.get(rule, pairs) - 1 for rule in tests}
    codes = {rule: decide(harms, limits, *tests[rule], freedom[rule]).codes for rule in tests}
    plain = decide(harms, limits, *tests["significance"], pairs - 1, rule="threshold").codes
    return Decisions({"threshold": plain, **codes}, harms, undropped)


def equal_row(system: str, share: float, n: int, studies: int) -> Row:
    """Return how often two runs of equally good systems do not pass: alarm, and no verdict."""
    g = generator("guard", "equal", system, share, n)
    found = decisions(studies, lambda: study_of(Queries(g, n), system, share), n).codes
    breaches = {rule: codes == BREACH for rule, codes in found.items()}
    alarms = [100 * breaches[rule].any(axis=1).mean() for rule in RULES]
    no_verdict = [
        100 * ((found[rule] == UNDECIDED).any(axis=1) & ~breaches[rule].any(axis=1)).mean()
        for rule in RULES[1:3]
    ]
    return [
        system,
        percent_of_queries(share),
        str(n),
        *(_alarm(share) for share in alarms),
        *(f"{share:.1f}" for share in no_verdict),
    ]


def drop_row(points: float, how: str, system: str, share: float, n: int, studies: int) -> Row:
    """Return how often a planted drop of P@5 is caught, as a breach of the row of P@5.

    The first share is that of a rule that knows how the change of P@5 is distributed without a
    drop, and alarms in 5 % of pairs.
    """
    g = generator("guard", "drop", points, how, system, share, n)

    def draw() -> Study:
        queries = Queries(g, n)
        return study_of(
            queries, system, share, drop=lambda run: DROPS[how](queries, run, points)(run)
        )

    found = decisions(studies, draw, n)
    return [f"{points:g}", how, system, percent_of_queries(share), str(n), *_caught(found, 0)]


def refusal_row(points: float, how: str, system: str, share: float, n: int, studies: int) -> Row:
    """Return how often refusals that move are caught, as a breach of the row they are about."""
    g = generator("guard", "refusals", points, how, system, share, n)
    change, place = REFUSAL_DROPS[how]

    def draw() -> Study:
        queries = Queries(g, n)
        return study_of(queries, system, share, drop=lambda run: change(queries, run, points)(run))

    found = decisions(studies, draw, n)
    return [f"{points:g}", how, system, percent_of_queries(share), str(n), *_caught(found, place)]


def _caught(found: Decisions, place: int) -> Row:
    """Return the cells of one metric: known, each rule, and without a verdict."""
    critical = np.quantile(found.undropped_points[:, place], 1 - PROMISED_ALARMS / 100)
    bound = 100 * (found.harm_points[:, place] > critical).mean()
    caught = [100 * (found.codes[rule] == BREACH)[:, place].mean() for rule in RULES]
    is_open = [found.codes[rule][:, place] == UNDECIDED for rule in RULES[1:3]]
    return [
        f"{bound:.1f}" + (" †" if min(bound, caught[0]) < PROMISED_POWER else ""),
        *(f"{c:.1f}" if c >= PROMISED_POWER else f"**{c:.1f}**" for c in caught),
        *(f"{100 * one.mean():.1f}" for one in is_open),
    ]


def percent_of_queries(share: float) -> str:
    """Return the share of outcomes that change, as a table cell."""
    return f"{100 * share:g} %" if share else "–"


def _alarm(percent: float) -> str:
    return f"**{percent:.1f}**" if percent > PROMISED_ALARMS else f"{percent:.1f}"
