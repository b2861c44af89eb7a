"""Draws of the simulated studies: differences, arms and pairs whose truth is known."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from retrieval_eval.stats.resampling import Floats

Draw = Callable[[np.random.Generator, int], Floats]
Pair = tuple[Floats, Floats]


def generator(*name: object) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(zlib.crc32(repr(name).encode())))


def grid(values: Sequence[float], shares: Sequence[float]) -> tuple[Draw, float]:
    return (lambda g, n: g.choice(values, n, p=shares)), float(np.dot(values, shares))


def sparse(draw: Draw, mean: float) -> tuple[Draw, float]:
    return (lambda g, n: np.where(g.random(n) < 0.6, 0.0, draw(g, n))), 0.4 * mean


def files_found(g: np.random.Generator, n: int) -> Floats:
    """Return differences in recall of one to six files, half of them found by both or neither."""
    files = np.arange(6) < g.integers(1, 7, (n, 1))
    chance = g.beta(2, 2, (n, 1))
    luck, other = g.random((2, n, 6))
    other = np.where(g.random((n, 6)) < 0.5, luck, other)
    found = (other < chance + 0.2 * (1 - chance)).astype(float) - (luck < chance)
    return (found * files).sum(axis=1) / files.sum(axis=1)


def ndcg(g: np.random.Generator, n: int) -> Floats:
    """Return differences in nDCG@10 of one to four files; three in ten tasks are ranked equally."""
    n_relevant = g.integers(1, 5, n)
    gains = 1 / np.log2(np.arange(2, 12))
    best = np.cumsum(gains)[n_relevant - 1]

    def score(ratio: float) -> Floats:
        # Exponential races pick distinct places, early ones more often; a quarter is not found.
        order = np.argsort(g.exponential(1, (n, 10)) / ratio ** np.arange(10), axis=1)
        is_found = g.random((n, 4)) < 0.75
        is_found &= np.arange(4) < n_relevant[:, np.newaxis]
        found: Floats = (gains[order[:, :4]] * is_found).sum(axis=1) / best
        return found

    return np.where(g.random(n) < 0.3, 0.0, score(0.7) - score(0.8))


def rewards(g: np.random.Generator, n: int) -> Floats:
    """Return differences between the mean rewards of three repeats, 0.5 against 0.6."""
    chance = g.random(n)
    return (g.binomial(3, 1 - (1 - chance) ** 1.5) - g.binomial(3, chance)) / 3.0


def costs(ratio: float) -> tuple[Draw, float]:
    """Return lognormal cost differences, the task's cost shared by both arms, and their mean."""

    def draw(g: np.random.Generator, n: int) -> Floats:
        task = g.lognormal(0, 0.8, n)
        first, second = g.lognormal(0, 0.4, (2, n))
        return task * (ratio * second - first)

    return draw, (ratio - 1) * math.exp((0.8**2 + 0.4**2) / 2)


def by_simulation(draw: Draw) -> tuple[Draw, float]:
    return draw, float(draw(generator("truth", draw.__name__), 500_000).mean())


THIRDS = [i / 3 for i in range(-3, 4)]
QUARTERS = [i / 4 for i in range(-4, 5)]
MEASUREMENTS: dict[str, tuple[Draw, float]] = {
    "recall of 1 to 6 files": (files_found, 0.1),
    "nDCG@10 of 1 to 4 files": by_simulation(ndcg),
    "reward 0 or 1, once": grid([-1, 0, 1], [0.15, 0.5, 0.35]),
    "reward 0 or 1, mean of 3": (rewards, 0.1),
    "cost, lognormal, ratio 1": costs(1.0),
    "cost, lognormal, ratio 1.5": costs(1.5),
}
DIFFERENCES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, n: g.normal(0.3, 1, n), 0.3),
    "heavy tails (t, 3 df)": (lambda g, n: 0.3 + g.standard_t(3, n), 0.3),
    "skewed: exponential − 0.5": (lambda g, n: g.exponential(1, n) - 0.5, 0.5),
    "skewed: lognormal(σ = 0.5) − 1": (
        lambda g, n: g.lognormal(0, 0.5, n) - 1,
        math.exp(0.125) - 1,
    ),
    "very skewed: lognormal(σ = 1) − 1": (lambda g, n: g.lognormal(0, 1, n) - 1, math.exp(0.5) - 1),
    "tied: thirds from −1 to 1": grid(THIRDS, [0.02, 0.05, 0.1, 0.3, 0.23, 0.17, 0.13]),
    "tied: quarters, 35 % zeros": grid(
        QUARTERS, [0.04, 0.04, 0.05, 0.07, 0.35, 0.2, 0.12, 0.08, 0.05]
    ),
    "tied, one-sided: 0, ⅓, ⅔, 1": grid(THIRDS[3:], [0.5, 0.3, 0.12, 0.08]),
    "60 % zeros, else normal(0.2, 0.4)": sparse(lambda g, n: g.normal(0.2, 0.4, n), 0.2),
    "60 % zeros, else normal(1, 1)": sparse(lambda g, n: g.normal(1, 1, n), 1.0),
    "60 % zeros, else uniform(−0.5, 1)": sparse(lambda g, n: g.uniform(-0.5, 1, n), 0.25),
    "60 % zeros, else thirds": sparse(*grid(THIRDS, [0, 0.1, 0.2, 0, 0.4, 0.2, 0.1])),
    "60 % zeros, else −1 or 1": grid([-1, 0, 1], [0.1, 0.6, 0.3]),
    "60 % zeros, else exponential": sparse(lambda g, n: g.exponential(1, n), 1.0),
    "60 % zeros, else exponential − 0.5": sparse(lambda g, n: g.exponential(1, n) - 0.5, 0.5),
}
KINDS = {
    "of recall, nDCG and rewards": ("recall", "nDCG", "reward"),
    "of costs": ("cost",),
    "symmetric": ("normal", "heavy tails"),
    "skewed": ("skewed", "very skewed"),
    "tied": ("tied",),
    "zero-inflated": ("60 % zeros",),
}
"""Beginnings of the names of differences, by kind."""

COARSE: dict[str, tuple[Draw, float]] = {
    **{
        f"1 in {won} %, −1 in {lost} %, else 0": grid(
            [-1, 0, 1], [lost / 100, 1 - (lost + won) / 100, won / 100]
        )
        for lost in (0, 10, 20)
        for won in (20, 40, 60)
    },
    "fifths, skewed": grid([i / 5 for i in range(-1, 6)], [0.3, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02]),
    "counts, halving to 6": grid(range(7), [*(2.0**-i for i in range(1, 7)), 2.0**-6]),
}
COARSE_KINDS = {
    "won, never lost": tuple(f"1 in {won} %, −1 in 0 %" for won in (20, 40, 60)),
    "won and lost": tuple(
        f"1 in {won} %, −1 in {lost} %" for lost in (10, 20) for won in (20, 40, 60)
    ),
    "skewed grids": ("fifths", "counts"),
}
"""Beginnings of the names of coarse differences, by kind."""

ARMS: dict[str, Draw] = {
    "normal": lambda g, n: g.normal(0, 1, n),
    "lognormal(σ = 1)": lambda g, n: g.lognormal(0, 1, n),
    "recall in thirds": lambda g, n: g.choice(THIRDS[3:], n, p=[0.1, 0.2, 0.3, 0.4]),
    "reward 0 or 1": lambda g, n: (g.random(n) < 0.7).astype(float),
    "equal in 60 % of the tasks": lambda g, n: g.exponential(1, n),
}


SPREADS: dict[str, Draw] = {
    "normal": lambda g, n: g.normal(0, 1, n),
    "uniform": lambda g, n: g.uniform(-math.sqrt(3), math.sqrt(3), n),
    "logistic": lambda g, n: g.logistic(0, math.sqrt(3) / math.pi, n),
}


def normal_pair(r: float, change: Callable[[Floats], Floats] = np.asarray) -> Callable[..., Pair]:
    def draw(g: np.random.Generator, n: int) -> Pair:
        a = g.normal(size=n)
        return change(a), change(r * a + math.sqrt(1 - r * r) * g.normal(size=n))

    return draw


def fan(g: np.random.Generator, n: int) -> Pair:
    a = g.normal(size=n)
    return a, a * g.normal(size=n)


ASSOCIATIONS: dict[str, Callable[..., Pair]] = {
    "normal, r = 0": normal_pair(0.0),
    "normal, r = 0.9": normal_pair(0.9),
    "60 % zeros on both sides, r = 0.4": normal_pair(0.4, lambda a: np.where(a < 0.25, 0.0, a)),
    "no correlation, y fans out with x": fan,
}


def two_rows_a_task(g: np.random.Generator, n: int) -> Pair:
    """Return two rows of each of n / 2 tasks that share most of x and of y, r = .5 between."""
    shared, own = normal_pair(0.5)(g, n // 2), normal_pair(0.5)(g, n)
    sides = (
        math.sqrt(0.8) * np.repeat(common, 2) + math.sqrt(0.2) * single
        for common, single in zip(shared, own, strict=True)
    )
    x, y = sides
    return x, y
