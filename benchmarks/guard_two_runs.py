"""Simulated guards whose noise was measured: the first result, first ten documents, and times."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
from guard_studies import LIMITS, Row, percent_of_queries
from guard_systems import DEPTH, Generator, Queries
from numpy.typing import NDArray
from simulated_draws import generator

from retrieval_eval.model.guard import FirstTenNoise, LatencyNoise
from retrieval_eval.search.decide import BREACH, decide, noise_test, run_to_run
from retrieval_eval.search.decide.noise import (
    LATENCY_RUNS,
    MOST_PAIRED,
    first_result_limit,
    first_ten_limit,
    latency_limit,
)
from retrieval_eval.stats.resampling import Floats

Order = NDArray[np.int64]
"""The documents of each query, by rank."""

SLOWER = 3.0
"""What is planted: a query takes so many times as long, and has another first ten."""


def _again(g: Generator, n: int, share: float) -> Order:
    """Return another run, in which ``share`` of the first 20 documents trade their places."""
    order = np.tile(np.arange(DEPTH), (n, 1))
    rows = np.flatnonzero(g.random(n) < 20 * share)
    first, second = g.integers(0, 20, len(rows)), g.integers(0, DEPTH, len(rows))
    order[rows, first], order[rows, second] = order[rows, second], order[rows, first]
    return order


def _bad(g: Generator, share: float) -> tuple[float, float]:
    is_bad = g.random() < 0.1
    time = g.normal(math.log(SLOWER) if is_bad else 0.0, 0.05)
    return 0.05 if is_bad else share, time


SHAPES: dict[str, Callable[[Generator, float], tuple[float, float]]] = {
    "deterministic": lambda g, share: (share, g.normal(0, 0.05)),
    "run-to-run noise": lambda g, share: (share, g.normal(0, 0.1)),
    "uneven run-to-run noise": lambda g, share: (
        min(g.exponential(share), 0.05),
        g.normal(0, 0.3),
    ),
    "one bad run in ten": _bad,
}
"""By system how much of a run differs, and the logarithm of its median time."""


def _tops(relevant: NDArray[np.bool_], before: Order, now: Order) -> float:
    """Return the share of queries with other first ten documents and the same metrics."""
    old, new = (np.take_along_axis(relevant, order, axis=1) for order in (before, now))
    is_same = (
        (old[:, :10] == new[:, :10]).all(axis=1)
        & (old[:, :20].sum(axis=1) == new[:, :20].sum(axis=1))
        & (old.argmax(axis=1) == new.argmax(axis=1))
    )
    return float(((before[:, :10] != now[:, :10]).any(axis=1) & is_same).mean())


def _first(relevant: NDArray[np.bool_], order: Order) -> Floats:
    return 100.0 * np.take_along_axis(relevant, order[:, :1], axis=1)[:, 0]


def two_runs_row(system: str, share: float, n: int, n_repeats: int, studies: int) -> Row:
    """Return how often each row breaches for two runs of one system, and for planted changes."""
    g = generator("guard", "two runs", system, share, n, n_repeats)
    is_timed = n_repeats >= LATENCY_RUNS
    found = np.zeros((studies, 5), bool)
    for study in range(studies):
        relevant = Queries(g, n).run().relevant
        drawn = [SHAPES[system](g, share) for _ in range(n_repeats + 2)]
        *repeats, before, now = (_again(g, n, own) for own, _ in drawn)
        times = [time for _, time in drawn]
        level = run_to_run(np.array([_first(relevant, run) for run in repeats]) / 100)
        most = first_result_limit(level, n_repeats)
        harm = float((_first(relevant, before) - _first(relevant, now)).mean())
        p_value = noise_test(harm, [level], (1, 1), is_deterministic=level.is_deterministic).p_value
        others = [1.0] * len(LIMITS)
        codes = decide(
            [harm, *[0.0] * len(LIMITS)],
            [most, *LIMITS.values()],
            [p_value, *others],
            np.ones(1 + len(LIMITS)),
            n_repeats - 1,
        ).codes
        pairs = [100 * _tops(relevant, *pair) for pair in combinations(repeats[:MOST_PAIRED], 2)]
        tops = FirstTenNoise(
            n_pairs=len(pairs),
            mean_points=fmean(pairs),
            sd_points=stdev(pairs),
            largest_points=max(pairs),
        )
        own = times[:n_repeats]
        latency = LatencyNoise(
            n_runs=n_repeats,
            median_seconds=math.exp(fmean(own)),
            sd_of_logs=stdev(own),
            largest_ratio=math.exp(max(own) - min(own)),
        )
        ten, slow = first_ten_limit(tops, n_repeats), 1 + latency_limit(latency) / 100
        ratio = math.exp(times[-1]) / latency.median_seconds
        reordered = now.copy()
        reordered[:, 8:10] = reordered[:, 9:7:-1]
        found[study] = (
            codes[0] == BREACH,
            100 * _tops(relevant, before, now) > ten,
            is_timed and ratio > slow,
            100 * _tops(relevant, before, reordered) > ten,
            is_timed and SLOWER * ratio > slow,
        )
    alarms = found[:, :3]
    cells = [f"{100 * share:.1f}" for share in (*alarms.mean(axis=0), alarms.any(axis=1).mean())]
    if float(cells[-1]) > 5:
        cells[-1] = f"**{cells[-1]}**"
    caught = [f"{100 * share:.1f}" for share in found[:, 3:].mean(axis=0)]
    if not is_timed:
        cells[2] = caught[1] = "–"
    return [system, percent_of_queries(share), str(n), str(n_repeats), *cells, *caught]
