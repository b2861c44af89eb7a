"""Simulated guards that look at slices; `guard_studies.py` has those of all queries."""

from __future__ import annotations

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
    Queries,
    Run,
    again,
    bad_days,
    same,
    uneven,
)
from simulated_draws import generator

from retrieval_eval.search.decide import (
    BREACH,
    NoiseLevel,
    decide,
    harm_test,
    noise_of_part,
    noise_test,
    run_to_run,
)

SLICES = 3

_STILL = run_to_run(np.zeros((2, 1)))


def _noise_of(queries: Queries, base: Run, system: str, share: float) -> list[NoiseLevel]:
    move = SYSTEMS[system]
    if move not in (again, uneven, bad_days):
        return [_STILL] * len(LIMITS)
    repeats = [queries.levels(move(queries, base, share)) for _ in range(REPEATS)]
    return [run_to_run(np.array(rows) / 100) for rows in zip(*repeats, strict=True)]


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
