"""Simulated guards of several runs on either side; each function returns one row of a table.

`guard_studies.py` has those of one run against one, and `guard_simulation.py` prints both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from guard_studies import (
    LIMITS,
    PROMISED_ALARMS,
    PROMISED_POWER,
    REPEATS,
    Row,
    percent_of_queries,
)
from guard_systems import DROPS, SYSTEMS, Drop, Queries, Run
from numpy.typing import NDArray
from simulated_draws import generator

from retrieval_eval.search.decide import (
    BREACH,
    UNDECIDED,
    decide,
    noise_test,
    run_to_run,
)
from retrieval_eval.stats.resampling import Floats

ALONE, WITH_FILE = (3, 5, 10, 20), (5,)
WAYS = [(n, False) for n in ALONE] + [(n, True) for n in WITH_FILE]
"""Runs on either side, and whether a noise file of REPEATS runs is used too."""

Codes = NDArray[np.int8]


def _unchanged(run: Run) -> Run:
    return run


def _decisions(
    draw: Callable[[], tuple[Queries, Drop, Run]], system: str, share: float, studies: int
) -> list[Codes]:
    """Return the guard's decisions, studies by metrics, in each of the WAYS."""
    shape = (len(WAYS), studies, len(LIMITS))
    harms, p_values, errors, freedom = (np.zeros(shape) for _ in range(4))
    for study in range(studies):
        queries, drop, base = draw()

        def levels(n: int, change: Drop, queries: Queries = queries, base: Run = base) -> Floats:
            runs = (change(SYSTEMS[system](queries, base, share)) for _ in range(n))
            return np.array([np.concatenate(queries.levels(run)) for run in runs]) / 100

        groups = (levels(max(ALONE), _unchanged), levels(max(ALONE), drop))
        file = levels(REPEATS, _unchanged)
        ends = np.cumsum([len(found) for found in queries.levels(base)])
        for place, cut in enumerate(map(slice, [0, *ends[:-1]], ends)):
            measured = run_to_run(file[:, cut])
            for way, (n, has_file) in enumerate(WAYS):
                before, after = (group[:n, cut] for group in groups)
                spread = [run_to_run(before), run_to_run(after)]
                harm = 100 * float(before.mean() - after.mean())
                test = noise_test(
                    harm,
                    [*spread, measured] if has_file else spread,
                    (n, n),
                    is_deterministic=_is_still([*groups, file] if has_file else groups, n),
                )
                at = way, study, place
                harms[at], p_values[at] = harm, test.p_value
                errors[at], freedom[at] = test.error_points, test.freedom
    limits = list(LIMITS.values())
    return [
        decide(harms[way], limits, p_values[way], errors[way], freedom[way]).codes
        for way in range(len(WAYS))
    ]


def _is_still(groups: Sequence[Floats], n: int) -> bool:
    return all(bool((group[:n] == group[0]).all()) for group in groups)


def equal_means_row(system: str, share: float, n: int, studies: int) -> Row:
    """Return how often means of one system do not pass: alarm, and neither alarm nor verdict."""
    g = generator("guard", "equal means", system, share, n)

    def draw() -> tuple[Queries, Drop, Run]:
        queries = Queries(g, n)
        return queries, _unchanged, queries.run()

    cells = []
    for codes in _decisions(draw, system, share, studies):
        is_alarm = (codes == BREACH).any(axis=1)
        is_open = (codes == UNDECIDED).any(axis=1) & ~is_alarm
        alarms = 100 * float(is_alarm.mean())
        cells.append(_cell(alarms, is_open, is_kept=alarms <= PROMISED_ALARMS))
    return [system, percent_of_queries(share), str(n), *cells]


def drop_means_row(points: float, how: str, system: str, share: float, n: int, studies: int) -> Row:
    """Return how often a planted drop of P@5 is caught between means, or gets no verdict.

    The queries that lose documents are the same in all runs.
    """
    g = generator("guard", "drop means", points, how, system, share, n)

    def draw() -> tuple[Queries, Drop, Run]:
        queries = Queries(g, n)
        base = queries.run()
        return queries, DROPS[how](queries, base, points), base

    cells = []
    for codes in _decisions(draw, system, share, studies):
        caught = 100 * float((codes[:, 0] == BREACH).mean())
        cells.append(_cell(caught, codes[:, 0] == UNDECIDED, is_kept=caught >= PROMISED_POWER))
    return [f"{points:g}", how, system, percent_of_queries(share), str(n), *cells]


def _cell(percent: float, is_open: NDArray[np.bool_], *, is_kept: bool) -> str:
    shown = f"{percent:.1f}" if is_kept else f"**{percent:.1f}**"
    return f"{shown}/{100 * is_open.mean():.1f}"
