"""Calibration: the mean outcome by cells of a predictor, with n and interval."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import Interval, Value

if TYPE_CHECKING:
    from retrieval_eval.stats.resampling import Floats

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
    mean of no units is not computable (``too_few_values``), nor the interval of one. Below five
    units the cell is not interpretable, whatever its interval says.

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
    data = _finite(outcomes)
    n = len(data)
    if is_binary and not is_binary_row(data):
        raise ValueError("a binary outcome is 0 or 1")
    if is_binary and n > 1:
        interval = wilson(int(sum(data)), n, confidence=confidence)
    elif n < MIN_VALUES:
        interval = Interval.missing("too_few_values", n, confidence, BOOTSTRAP_T)
    else:
        from retrieval_eval.stats.intervals import bootstrap_mean

        interval = bootstrap_mean(data, seed=seed, n_resamples=n_resamples, confidence=confidence)
    mean = Value.of(math.fsum(data) / n, n) if n else Value.missing("too_few_values")
    return Cell(n, mean, interval, n >= MIN_INTERPRETABLE)


def is_binary_row(outcomes: Sequence[float] | Floats) -> bool:
    """Whether every outcome is 0 or 1."""
    return {0.0, 1.0}.issuperset(_finite(outcomes))


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
    x, y = _finite(predictor), _finite(outcome)
    borders = [float(edge) for edge in edges]
    if len(x) != len(y):
        raise ValueError("both rows need one number for each unit")
    if len(borders) < 2 or not all(a < b for a, b in pairwise(borders)):
        raise ValueError("edges must ascend")
    if x and (min(x) < borders[0] or max(x) > borders[-1]):
        raise ValueError("a predictor lies outside the edges")
    is_binary = is_binary_row(y)
    inside: list[list[tuple[float, float]]] = [[] for _ in borders[1:]]
    for pair in zip(x, y, strict=True):
        inside[min(bisect_right(borders, pair[0]), len(inside)) - 1].append(pair)
    bins = []
    for (low, high), own in zip(pairwise(borders), inside, strict=True):
        n = len(own)
        mean = (
            Value.of(math.fsum(a for a, _ in own) / n, n) if n else Value.missing("too_few_values")
        )
        outcomes = cell(
            [b for _, b in own],
            is_binary=is_binary,
            seed=seed,
            n_resamples=n_resamples,
            confidence=confidence,
        )
        bins.append(Bin(low, high, mean, outcomes))
    return tuple(bins)


def _finite(values: Sequence[float] | Floats) -> list[float]:
    """Return the values as plain floats; raises ``ValueError`` unless all are finite."""
    row = [float(value) for value in values]
    if not all(map(math.isfinite, row)):
        raise ValueError("expected finite numbers: drop missing values first")
    return row
