"""The permutation test of a rank association, whole clusters changing places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.clusters import Grouping
from retrieval_eval.stats.resampling import Floats, batches
from retrieval_eval.values import Value

MIN_ARRANGEMENTS: Final = 40
"""With fewer arrangements no two-sided p-value can reach .05: 2 / 40."""
MAX_EXACT_ARRANGEMENTS: Final = math.factorial(8)
"""Up to this many arrangements all are enumerated."""

Places = NDArray[np.int64]


def permutation_p(
    x: Floats, y: Floats, grouping: Grouping, *, seed: int, n_resamples: int
) -> tuple[Value, str | None]:
    """Return the two-sided permutation p-value of the correlation of two rows of ranks.

    The rows of ``y`` that belong to one cluster move together, in their order, to the place of
    another cluster with as many rows; a cluster whose size no other has stays. Under the null
    hypothesis that clusters of equal size are exchangeable the test alarms at most as often as
    it says. Differences between the places inside a cluster (one configuration and the other)
    are the same in every arrangement, so they alone do not make a p-value small.

    All arrangements are enumerated up to 8!, otherwise ``n_resamples`` are drawn and the
    observed one is counted in. Not computable (``too_few_values``) with fewer than 40.
    """
    strata = _strata(grouping)
    n_arrangements = math.prod(math.factorial(len(stratum)) for stratum in strata)
    if n_arrangements < MIN_ARRANGEMENTS:
        return Value.missing("too_few_values", grouping.n_clusters), None
    x, y = x - x.mean(), y - y.mean()
    # Rank products are multiples of 1/4, so rounding cannot bridge half of that.
    threshold = abs(float(x @ y)) - 0.1
    if n_arrangements <= MAX_EXACT_ARRANGEMENTS:
        products = _all_products(x, y, strata)
        reached = float(np.mean(np.abs(products) >= threshold))
        return Value.of(reached, grouping.n_clusters), "exact"
    n_reached = 1
    for products in _drawn_products(x, y, strata, seed, n_resamples):
        n_reached += int(np.sum(np.abs(products) >= threshold))
    return Value.of(n_reached / (n_resamples + 1), grouping.n_clusters), "monte_carlo"


def _strata(grouping: Grouping) -> list[Places]:
    """Return for each size the rows of the clusters that have it, one cluster a row."""
    order = np.argsort(grouping.codes, kind="stable")
    sizes = grouping.sizes().astype(np.int64)
    rows = np.split(order, np.cumsum(sizes)[:-1])
    return [
        np.array([rows[cluster] for cluster in np.flatnonzero(sizes == size)])
        for size in np.unique(sizes)
    ]


def _all_products(x: Floats, y: Floats, strata: list[Places]) -> Floats:
    # Every arrangement of the product is one of each stratum, and their products add up.
    totals = np.zeros(1)
    for stratum in strata:
        arrangements = np.array(list(itertools.permutations(range(len(stratum)))))
        products = _products(x, y, stratum, arrangements)
        totals = (totals[:, np.newaxis] + products).ravel()
    return totals


def _drawn_products(
    x: Floats, y: Floats, strata: list[Places], seed: int, n_resamples: int
) -> Iterator[Floats]:
    generator = np.random.Generator(np.random.PCG64(seed))
    for rows in batches(n_resamples, len(x)):
        totals = np.zeros(rows)
        for stratum in strata:
            places = np.broadcast_to(np.arange(len(stratum)), (rows, len(stratum)))
            totals += _products(x, y, stratum, generator.permuted(places, axis=1))
        yield totals


def _products(x: Floats, y: Floats, stratum: Places, arrangements: Places) -> Floats:
    # What each cluster's x makes with each cluster's y is known before anything is arranged.
    table = x[stratum] @ y[stratum].T
    products: Floats = table[np.arange(len(stratum)), arrangements].sum(axis=1)
    return products
