"""Calibration: the mean outcome by cells of a predictor, with n and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import Interval, Value

if TYPE_CHECKING:
    from retrieval_eval.stats.resampling import Floats

MIN_INTERPRETABLE: Final = 5
"""A cell with fewer units is shown with its n and not interpreted."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean outcome and interval of some units, and whether they are enough to interpret."""

    n: int
    mean: Value
    interval: Interval
    is_interpretable: bool


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


def _finite(values: Sequence[float] | Floats) -> list[float]:
    """Return the values as plain floats; raises ``ValueError`` unless all are finite."""
    row = [float(value) for value in values]
    if not all(map(math.isfinite, row)):
        raise ValueError("expected finite numbers: drop missing values first")
    return row
