"""Checked rows of finite numbers and seeded resamples of them, which every statistic here uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.generic)

BATCH_CELLS = 1 << 15
"""Most cells of a resampling matrix worked on at once, so that memory does not grow with the data;
larger ones are slower, because they do not fit into the processor's own memory."""
_ROUND_CELLS: Final = 1 << 17
"""Cells drawn in one round by generators whose numbers depend on the rounds."""
_COUNTED_CELLS: Final = 1 << 13
"""Cells counted at once: the counts of more are memory that the system hands out anew each time."""
_MOST_KEPT = 1 << 24
"""Most positions that are kept for the next metric over as many units: 32 MB below 65,536 units."""


def as_floats(values: Sequence[float] | Floats) -> Floats:
    """Return ``values`` as a vector of finite float64; raises ``ValueError`` otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("expected one row of finite numbers: drop missing values first")
    return array


def is_constant(values: Floats) -> bool:
    """Whether all values are the same up to rounding of their largest magnitude."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def batches(n_rows: int, n_columns: int, n_cells: int = _ROUND_CELLS) -> Iterator[int]:
    """Yield row counts that add up to ``n_rows`` and keep each matrix within ``n_cells``."""
    step = max(1, n_cells // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield min(step, n_rows - start)


def in_parts(matrix: NDArray[Kind]) -> Iterator[NDArray[Kind]]:
    """Yield some rows of a matrix after others, none with more cells than ``BATCH_CELLS``."""
    step = max(1, BATCH_CELLS // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        yield matrix[start : start + step]


def resample(
    statistic: Callable[[NDArray[np.int64]], Floats], n: int, n_resamples: int, seed: int
) -> Floats:
    """Return the bootstrap distribution of ``statistic``.

    ``statistic`` gets a matrix of positions (one resample a row, ``n`` columns) and returns one
    number for every row that has one. The generator is PCG64 seeded with ``seed``.
    """
    if n * n_resamples > _MOST_KEPT:
        parts = [statistic(rows) for rows in draws(n, n_resamples, seed)]
    else:
        parts = [statistic(rows.astype(np.int64)) for rows in _kept(n, n_resamples, seed)]
    return np.concatenate(parts) if parts else np.empty(0)


def draws(n: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield matrices of positions drawn with replacement, one resample of ``n`` a row."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for rows in batches(n_resamples, n, BATCH_CELLS):
        yield generator.integers(0, n, size=(rows, n), dtype=np.int64)


def drawn_counts(n: int, n_resamples: int, seed: int, n_rows: int) -> Iterator[Floats]:
    """Yield how often each of ``n`` positions is in each of the resamples of :func:`draws`.

    A matrix holds ``n_rows`` resamples, the last one fewer; it is filled again for the next ones.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    counts = np.empty((min(n_rows, n_resamples), n))
    for kept in batches(n_resamples, 1, n_rows):
        start = 0
        for rows in batches(kept, n, _COUNTED_CELLS):
            cells = generator.integers(0, n, size=(rows, n), dtype=np.int64)
            cells += n * np.arange(rows)[:, np.newaxis]
            found = np.bincount(cells.ravel(), minlength=n * rows)
            counts[start : start + rows] = found.reshape(rows, n)
            start += rows
        yield counts[:kept]


@lru_cache(maxsize=2)
def _kept(n: int, n_resamples: int, seed: int) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Return all draws: each metric over the same units is resampled with the same ones."""
    kind = np.min_scalar_type(max(n - 1, 0))
    return tuple(rows.astype(kind) for rows in draws(n, n_resamples, seed))


def mirrored_quantiles(distribution: Floats, confidence: float) -> tuple[float, float] | None:
    """Return the two order statistics that leave out (1 - confidence) / 2 on either side.

    The k-th smallest and the k-th largest, k = (m + 1)(1 - confidence) / 2 rounded down and at
    least 1: the mirrored distribution gives exactly the mirrored ends, which interpolated
    quantiles do not. None without numbers.

    Examples
    --------
    >>> mirrored_quantiles(np.arange(1.0, 20.0), 0.9)
    (1.0, 19.0)
    """
    m = len(distribution)
    if m == 0:
        return None
    # The tiny shift keeps (m + 1) * .025 = 250 from becoming 249 by rounding.
    k = min(max(1, math.floor((m + 1) * (1 - confidence) / 2 + 1e-9)), (m + 1) // 2)
    ordered = np.partition(distribution, [k - 1, m - k])
    return float(ordered[k - 1]), float(ordered[m - k])
