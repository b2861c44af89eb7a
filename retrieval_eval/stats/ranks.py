"""Average ranks, for one row and for many resamples of it at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1, ties sharing the mean of their places.

    Examples
    --------
    >>> average_ranks(np.array([10.0, 30.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    codes, counts = dense_codes(values)
    ranks: Floats = places(counts[np.newaxis, :])[0][codes]
    return ranks


def without_rounding(values: Floats) -> Floats:
    """Return ``values`` with those made equal that differ only by rounding.

    Differences of thirds that are the same on paper differ in the last digit: left so, they would
    have ranks of their own. Rounding is up to 1e-12 of the largest magnitude.

    Examples
    --------
    >>> average_ranks(without_rounding(np.array([1 - 2 / 3, 2 / 3 - 1 / 3, 0.0]))).tolist()
    [2.5, 2.5, 1.0]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    steps = np.diff(ordered, prepend=-np.inf) > 1e-12 * np.abs(values).max(initial=0.0)
    settled = np.empty_like(values)
    settled[order] = ordered[np.flatnonzero(steps)[np.cumsum(steps) - 1]]
    return settled


def dense_codes(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return for each value the position of it among the distinct ones, and their counts."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return codes.astype(np.int64), counts.astype(np.float64)


def places(counts: Floats) -> Floats:
    """Return the average rank of each distinct value, from rows of its counts.

    A resample of a sample holds the same distinct values in the same order, only in other
    numbers: its exact ranks follow from the counts without sorting again.
    """
    ranks: Floats = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return ranks
