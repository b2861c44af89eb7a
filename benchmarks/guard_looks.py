"""Simulated guards that are repeated, or look at slices; each function returns one row.

`guard_studies.py` has those of one run against one, and `guard_simulation.py` prints all.
"""

from __future__ import annotations

import math

import numpy as np
from guard_studies import (
    LIMITS,
    N_RESAMPLES,
    PROMISED_ALARMS,
    PROMISED_POWER,
    REPEATS,
    Row,
    percent_of_queries,
)
from guard_systems import (
    DROPS,
    SYSTEMS,
    Drop,
    Queries,
    Run,
    again,
    bad_days,
    same,
    uneven,
)
from numpy.typing import NDArray
from simulated_draws import generator

from retrieval_eval.search.guard.rule import BREACH, decide, harm_test
from retrieval_eval.search.noise_level import NoiseLevel, noise_of_part, noise_test, run_to_run
from retrieval_eval.stats.resampling import Floats
from retrieval_eval.stats.sequential import level_at_look
from retrieval_eval.stats.sign_flips import sign_flip_bound

ALPHA = 0.05
COMMITS = 100
"""Guards against one baseline, and the looks over which alpha is shared."""
SLICES = 3

_STILL = run_to_run(np.zeros((2, 1)))
_FAR = 20.0


def looks_row(system: str, share: float, n: int, studies: int) -> Row:
    """Return how often any of many guards against one baseline alarms, and a drop is caught.

    Without a shared level and with one, by noise of 10 repeats and by significance.
    """
    g = generator("guard", "looks", system, share, n)
    alarms = np.zeros((studies, 4), bool)
    caught = np.zeros((studies, 4), bool)
    for study in range(studies):
        queries = Queries(g, n)
        base = queries.run()
        move = SYSTEMS[system]
        before = queries.levels(move(queries, base, share))
        levels = _noise_of(queries, base, system, share)
        for look in range(1, COMMITS + 1):
            now = move(queries, base, share)
            if move is same and look > 1:
                break
            alarms[study] |= _breaches(queries, before, now, levels, look, study).any(axis=1)
        worse = move(queries, base, share)
        worse = DROPS["one of five"](queries, worse, 2.0)(worse)
        caught[study] = _breaches(queries, before, worse, levels, COMMITS, study)[:, 0]
    return [
        system,
        percent_of_queries(share),
        str(n),
        *(_alarm(100 * one.mean(), is_promised=i > 1) for i, one in enumerate(alarms.T)),
        *(f"{100 * one.mean():.1f}" for one in caught.T),
    ]


def _noise_of(queries: Queries, base: Run, system: str, share: float) -> list[NoiseLevel]:
    move = SYSTEMS[system]
    if move not in (again, uneven, bad_days):
        return [_STILL] * len(LIMITS)
    repeats = [queries.levels(move(queries, base, share)) for _ in range(REPEATS)]
    return [run_to_run(np.array(rows) / 100) for rows in zip(*repeats, strict=True)]


def _breaches(
    queries: Queries,
    before: list[Floats],
    run: Run,
    levels: list[NoiseLevel],
    look: int,
    seed: int,
) -> NDArray[np.bool_]:
    """Return breaches by metric: noise and significance alone, then both with a shared level."""
    harms = [old - new for old, new in zip(before, queries.levels(run), strict=True)]
    means = np.array([float(harm.mean()) for harm in harms])
    limits = np.array(list(LIMITS.values()))
    if (means <= limits).all():
        return np.zeros((4, len(limits)), bool)
    is_still = all(level.is_deterministic for level in levels)
    by_noise = np.array(
        [
            noise_test(mean, [level], (1, 1), is_deterministic=is_still).p_value
            for mean, level in zip(means, levels, strict=True)
        ]
    )
    shared = level_at_look(ALPHA, COMMITS, look)
    by_queries = np.array(
        [
            _p_value(harm, shared / len(limits), seed) if mean > limit else 1.0
            for harm, mean, limit in zip(harms, means, limits, strict=True)
        ]
    )
    ones = np.ones(len(limits))
    ways = [(by_noise, ALPHA), (by_queries, ALPHA), (by_noise, shared), (by_queries, shared)]
    return np.array([decide(means, limits, p, ones, 9, alpha=a).codes == BREACH for p, a in ways])


def _p_value(harm: Floats, level: float, seed: int) -> float:
    """Return the guard's p-value, or where it is far from the shared level one as far from it."""
    bound = sign_flip_bound(harm)
    if bound <= level:
        return bound
    found, error = harm_test(harm, seed=seed, n_resamples=N_RESAMPLES)
    usual = math.erfc(float(harm.mean()) / error / math.sqrt(2)) / 2 if error else 0.0
    return found if usual > _FAR * level else harm_test(harm, seed=seed, level=level)[0]


def looks_means_row(system: str, share: float, n: int, n_runs: int, studies: int) -> Row:
    """Return the same for means of several runs on either side, which measure their own noise."""
    g = generator("guard", "looks of means", system, share, n, n_runs)
    limits = np.array(list(LIMITS.values()))
    shared = level_at_look(ALPHA, COMMITS)
    alarms, caught = np.zeros((studies, 2), bool), np.zeros((studies, 2), bool)
    for study in range(studies):
        queries = Queries(g, n)
        base = queries.run()

        def side(change: Drop, queries: Queries = queries, base: Run = base) -> list[Floats]:
            runs = [
                queries.levels(change(SYSTEMS[system](queries, base, share))) for _ in range(n_runs)
            ]
            return [np.array(rows) / 100 for rows in zip(*runs, strict=True)]

        before = side(lambda run: run)
        drop = DROPS["one of five"](queries, base, 2.0)
        for look in range(COMMITS + 1):
            now = side(drop if look == COMMITS else lambda run: run)
            means = np.array(
                [100 * float(a.mean() - b.mean()) for a, b in zip(before, now, strict=True)]
            )
            p = [
                noise_test(
                    mean, [run_to_run(a), run_to_run(b)], (n_runs, n_runs), is_deterministic=False
                ).p_value
                for mean, a, b in zip(means, before, now, strict=True)
            ]
            ones = np.ones(len(limits))
            found = np.array(
                [
                    decide(means, limits, p, ones, 9, alpha=a).codes == BREACH
                    for a in (ALPHA, shared)
                ]
            )
            if look == COMMITS:
                caught[study] = found[:, 0]
            else:
                alarms[study] |= found.any(axis=1)
    return [
        system,
        percent_of_queries(share),
        str(n),
        str(n_runs),
        *(_alarm(100 * one.mean(), is_promised=i > 0) for i, one in enumerate(alarms.T)),
        *(f"{100 * one.mean():.1f}" for one in caught.T),
    ]


def slices_row(points: float, system: str, share: float, n: int, studies: int) -> Row:
    """Return alarms with a threshold on the worst of three slices, and drops in one of them.

    The rule is the shipped one: noise decides, in slices that which follows from the noise of all
    queries, and of a deterministic system the thresholds alone.
    """
    g = generator("guard", "slices", points, system, share, n)
    limit = LIMITS["P@5"]
    found = np.zeros((studies, 3), bool)
    for study in range(studies):
        queries = Queries(g, n)
        base = queries.run()
        move = SYSTEMS[system]
        levels = _noise_of(queries, base, system, share)
        slice_of = g.integers(0, SLICES, n)
        before, now = (move(queries, base, share) for _ in range(2))
        if points:
            worse = DROPS["one of five"](queries, now, points * SLICES)(now)
            relevant = np.where((slice_of == 0)[:, None], worse.relevant, now.relevant)
            now = Run(
                relevant, now.n_relevant, now.supported, now.refused, now.refused_unanswerable
            )
        pairs = zip(queries.levels(before), queries.levels(now), strict=True)
        harms = [old - new for old, new in pairs]
        is_still = move is same
        p_values = [
            noise_test(float(h.mean()), [level], (1, 1), is_deterministic=is_still).p_value
            for h, level in zip(harms, levels, strict=True)
        ]
        parts = [harms[0][slice_of == i] for i in range(SLICES)]
        for part in parts:
            error = harm_test(part, seed=study, n_resamples=N_RESAMPLES)[1]
            level = levels[0] if is_still else noise_of_part(levels[0], len(part), error)
            test = noise_test(float(part.mean()), [level], (1, 1), is_deterministic=is_still)
            p_values.append(test.p_value)
        means = [float(harm.mean()) for harm in (*harms, *parts)]
        limits = [*LIMITS.values(), *[limit] * SLICES]
        codes = decide(means, limits, p_values, np.ones(len(means)), 9).codes == BREACH
        found[study] = codes.any(), codes[0], codes[len(LIMITS) :].any()
    any_alarm, whole, worst = 100 * found.mean(axis=0)
    if points:
        cells = [f"{any_alarm:.1f}", *(_power(share) for share in (whole, worst))]
    else:
        cells = [_alarm(any_alarm, is_promised=True), f"{whole:.1f}", f"{worst:.1f}"]
    return [f"{points:g}", system, percent_of_queries(share), str(n), *cells]


def _alarm(percent: float, *, is_promised: bool) -> str:
    is_broken = is_promised and percent > PROMISED_ALARMS
    return f"**{percent:.1f}**" if is_broken else f"{percent:.1f}"


def _power(percent: float) -> str:
    return f"{percent:.1f}" if percent >= PROMISED_POWER else f"**{percent:.1f}**"
