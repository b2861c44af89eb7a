"""Calibration: the mean outcome by cells of a predictor, with n and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.intervals import Interval, bootstrap_mean, wilson
from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Value

MIN_INTERPRETABLE: Final = 5
"""A cell with fewer units is shown with its n and not interpreted."""

FIFTHS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean outcome and interval of some units, and whether they are enough to interpret."""

    n: int
    mean: Value
    interval: Interval
    is_interpretable: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """One step of a reliability curve: predictors from ``low`` up to, not including, ``high``.

    The last bin includes its ``high``. ``predictor`` is the mean of the predictors in it.
    """

    low: float
    high: float
    predictor: Value
    outcome: Cell


def cell(
    outcomes: Sequence[float] | Floats,
    *,
    is_binary: bool,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> Cell:
    """Return mean and interval of the outcomes of independent units.

    Wilson's interval for outcomes that can only be 0 or 1, else the studentised bootstrap. The
    mean of no units is not computable (``too_few_values``). Below five units the cell is not
    interpretable, whatever its interval says.

    Raises
    ------
    ValueError
        When an outcome is not finite, or ``is_binary`` and one is neither 0 nor 1.

    Examples
    --------
    >>> found = cell([1, 1, 1, 0], is_binary=True, seed=1)
    >>> found.mean.value, round(found.interval.low.value, 3), found.is_interpretable
    (0.75, 0.301, False)
    """
    data = as_floats(outcomes)
    n = len(data)
    if is_binary:
        if not is_binary_row(data):
            raise ValueError("a binary outcome is 0 or 1")
        interval = wilson(int(data.sum()), n, confidence=confidence)
    else:
        interval = bootstrap_mean(data, seed=seed, n_resamples=n_resamples, confidence=confidence)
    mean = Value.of(math.fsum(data) / n, n) if n else Value.missing("too_few_values")
    return Cell(n, mean, interval, n >= MIN_INTERPRETABLE)


def is_binary_row(outcomes: Sequence[float] | Floats) -> bool:
    """Whether every outcome is 0 or 1."""
    return bool(np.isin(as_floats(outcomes), (0.0, 1.0)).all())


def reliability(
    predictor: Sequence[float] | Floats,
    outcome: Sequence[float] | Floats,
    *,
    seed: int,
    edges: Sequence[float] = FIFTHS,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> tuple[Bin, ...]:
    """Return the mean outcome in every bin of a predictor, empty bins included.

    Outcomes count as binary when all of them, over all bins, are 0 or 1.

    Parameters
    ----------
    predictor, outcome
        One number each for every independent unit, sorted by a stable key.
    edges
        Ascending borders of the bins, or of tiers; each bin holds its lower border, the last
        one both. May end in infinities.
    seed, n_resamples, confidence
        As for :func:`~retrieval_eval.stats.intervals.bootstrap_mean`.

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite, edges do not ascend,
        or a predictor lies outside them.

    Examples
    --------
    >>> low, high = reliability([0.1, 0.5, 1.0], [0, 1, 1], seed=1, edges=(0, 0.5, 1))
    >>> low.outcome.n, high.outcome.n, high.outcome.mean.value
    (1, 2, 1.0)
    """
    x, y = as_floats(predictor), as_floats(outcome)
    borders = np.asarray(edges, dtype=np.float64)
    if len(x) != len(y):
        raise ValueError("both rows need one number for each unit")
    if len(borders) < 2 or not (np.diff(borders) > 0).all():
        raise ValueError("edges must ascend")
    if len(x) and (x.min() < borders[0] or x.max() > borders[-1]):
        raise ValueError("a predictor lies outside the edges")
    is_binary = is_binary_row(y)
    places = np.minimum(np.searchsorted(borders, x, side="right") - 1, len(borders) - 2)
    bins = []
    for place in range(len(borders) - 1):
        inside = places == place
        n = int(inside.sum())
        mean = Value.of(math.fsum(x[inside]) / n, n) if n else Value.missing("too_few_values")
        outcomes = cell(
            y[inside],
            is_binary=is_binary,
            seed=seed,
            n_resamples=n_resamples,
            confidence=confidence,
        )
        bins.append(Bin(float(borders[place]), float(borders[place + 1]), mean, outcomes))
    return tuple(bins)
