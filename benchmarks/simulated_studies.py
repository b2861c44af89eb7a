"""Simulated studies whose truth is known: each function returns one row of a table.

Every row has a generator of its own, seeded by its name, so that neither the order of the rows
nor the number of processes changes a number. `simulation.py` runs them and prints the tables.
Studies of the mean difference are in `simulated_means.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.stats import spearmanr
from simulated_draws import ASSOCIATIONS, generator, two_rows_a_task

from retrieval_eval.stats.correlation import bootstrap_spearman, spearman
from retrieval_eval.stats.multiplicity import benjamini_hochberg, holm
from retrieval_eval.stats.resampling import group, sign_flip_p
from retrieval_eval.values import Interval

Row = list[str]

N_RESAMPLES = 999
PROMISED = (93.0, 97.0)


def percent(hits: Iterable[bool | float]) -> str:
    return f"{100 * np.mean(list(hits)):.1f}"


def flagged(value: str) -> str:
    """Mark a coverage that is not what was promised."""
    return value if PROMISED[0] <= float(value) <= PROMISED[1] else f"**{value}**"


def between(low: float, high: float, truth: float) -> bool:
    # A grid's mean and its truth differ by rounding where they are equal.
    return low - 1e-12 <= truth <= high + 1e-12


def holds(interval: Interval, truth: float) -> bool | None:
    """Return whether the interval holds the truth, or None where there is no interval."""
    low, high = interval.low.value, interval.high.value
    return None if low is None or high is None else between(low, high, truth)


def family_row(kind: str, n_true: int, studies: int) -> Row:
    """Adjust correlated tests: 20 associations over 40 tasks, or 11 metrics over 12 pairs."""
    g = generator("family", kind, n_true)
    any_false, shares, found = [], [], []
    for study in range(studies):
        if kind.startswith("Benjamini"):
            # All nulls share one factor within each side; the true ones are pairs of their own.
            xs = 0.7 * g.normal(size=(40, 1)) + 0.7 * g.normal(size=(40, 20))
            ys = 0.7 * g.normal(size=(40, 1)) + 0.7 * g.normal(size=(40, 20))
            ys[:, :n_true] += 0.7 * xs[:, :n_true]
            p_values = [
                spearman(xs[:, i], ys[:, i], seed=study, n_resamples=1).p_value.value
                for i in range(20)
            ]
            adjusted = benjamini_hochberg(p_values).values
        else:
            x = 0.7 * g.normal(size=(12, 1)) + 0.7 * g.normal(size=(12, 11))
            x[:, :n_true] += 1.0
            adjusted = holm([sign_flip_p(x[:, i], seed=study)[0].value for i in range(11)]).values
        rejected = [q is not None and q < 0.05 for q in adjusted]
        false = sum(rejected[n_true:])
        any_false.append(false > 0)
        shares.append(false / max(1, sum(rejected)))
        found.append(sum(rejected[:n_true]) / max(1, n_true))
    power = percent(found) if n_true else "–"
    return [kind, str(len(adjusted)), str(n_true), percent(any_false), percent(shares), power]


def association_row(name: str, n: int, studies: int) -> Row:
    is_clustered = name.startswith("two rows")
    draw = two_rows_a_task if is_clustered else ASSOCIATIONS[name]
    clusters = [i // 2 for i in range(n)] if is_clustered else None
    g = generator("association", name, n)
    truth = float(spearmanr(*draw(g, 500_000)).statistic)
    hits: tuple[list[bool], ...] = ([], [], [])
    for study in range(studies):
        x, y = draw(g, n)
        found = spearman(x, y, seed=study, n_resamples=N_RESAMPLES, clusters=clusters)
        hit = holds(found.interval, truth)
        if hit is None:
            continue
        r = min(max(found.r.value, -1 + 1e-9), 1 - 1e-9)
        half = 1.959964 * math.sqrt((1 + r * r / 2) / (n - 3))
        (drawn,) = bootstrap_spearman(
            {"x": x, "y": y}, [("x", "y")], group(clusters, n), seed=study, n_resamples=N_RESAMPLES
        )
        hits[0].append(hit)
        hits[1].append(between(*np.tanh([math.atanh(r) - half, math.atanh(r) + half]), truth))
        hits[2].append(between(*np.quantile(drawn, [0.025, 0.975]), truth))
    missing = f"{100 * (1 - len(hits[0]) / studies):.1f}"
    shown = [percent(h) for h in hits]
    return [name, str(n), f"{abs(truth):.2f}", flagged(shown[0]), missing, *shown[1:]]
