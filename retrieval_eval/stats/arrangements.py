"""The permutation test of rank associations, whole clusters changing places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
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
Pair = tuple[str, str]


def permutation_p(
    ranks: Mapping[str, Floats],
    pairs: Sequence[Pair],
    grouping: Grouping,
    *,
    seed: int,
    n_resamples: int,
) -> list[tuple[Value, str | None]]:
    """Return the two-sided permutation p-value of the correlation of every pair of columns.

    The ranks of a pair's second column that belong to one cluster move together, in their order,
    to the place of another cluster with as many rows; a cluster whose size no other has stays.
    Under the null hypothesis that clusters of equal size are exchangeable the test alarms at most
    as often as it says. Differences between the places inside a cluster (one configuration and
    the other) are the same in every arrangement, so they alone do not make a p-value small.

    All arrangements are enumerated up to 8!, otherwise ``n_resamples`` are drawn, the same for
    every pair, and the observed one is counted in. Not computable (``too_few_values``) with
    fewer than 40.
    """
    n = grouping.n_clusters
    strata = _strata(grouping)
    n_arrangements = math.prod(math.factorial(len(stratum)) for stratum in strata)
    if n_arrangements < MIN_ARRANGEMENTS:
        return [(Value.missing("too_few_values", n), None)] * len(pairs)
    centred = {name: column - column.mean() for name, column in ranks.items()}
    # Rank products are multiples of 1/4, so rounding cannot bridge half of that.
    thresholds = [abs(float(centred[a] @ centred[b])) - 0.1 for a, b in pairs]
    if n_arrangements <= MAX_EXACT_ARRANGEMENTS:
        all_products = [_all_products(centred[a], centred[b], strata) for a, b in pairs]
        shares = [
            float(np.mean(np.abs(products) >= threshold))
            for products, threshold in zip(all_products, thresholds, strict=True)
        ]
        return [(Value.of(share, n), "exact") for share in shares]
    reached = [1] * len(pairs)
    for products in drawn_products(centred, pairs, grouping, seed, n_resamples):
        for i, (pair, threshold) in enumerate(zip(pairs, thresholds, strict=True)):
            reached[i] += int(np.sum(np.abs(products[pair]) >= threshold))
    return [(Value.of(count / (n_resamples + 1), n), "monte_carlo") for count in reached]


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
    # Every arrangement of the product is one of each stratum, and their products add up. What
    # each of the few clusters' x makes with each cluster's y is known before any is arranged.
    totals = np.zeros(1)
    for stratum in strata:
        clusters = np.arange(len(stratum))
        arrangements = np.array(list(itertools.permutations(clusters)))
        products = (x[stratum] @ y[stratum].T)[clusters, arrangements].sum(axis=1)
        totals = (totals[:, np.newaxis] + products).ravel()
    return totals


def drawn_products(
    columns: Mapping[str, Floats],
    pairs: Sequence[Pair],
    grouping: Grouping,
    seed: int,
    n_resamples: int,
) -> Iterator[dict[Pair, Floats]]:
    """Yield the product of every pair of columns in batches of drawn arrangements.

    Rows of the second column are fetched straight from the places they come from, so that time
    and memory go with the rows and not with the square of the clusters.
    """
    partners: dict[str, list[str]] = {}
    for a, b in pairs:
        partners.setdefault(b, []).append(a)
    first = {b: np.column_stack([columns[a] for a in names]) for b, names in partners.items()}
    for places in _drawn_places(_strata(grouping), len(grouping.codes), seed, n_resamples):
        products: dict[Pair, Floats] = {}
        for b, names in partners.items():
            found = np.take(columns[b], places) @ first[b]
            products |= {(a, b): found[:, i] for i, a in enumerate(names)}
        yield products


def _drawn_places(strata: list[Places], n: int, seed: int, n_resamples: int) -> Iterator[Places]:
    """Yield for every place of drawn arrangements, one a row, the row that comes there."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for rows in batches(n_resamples, n):
        places = np.empty((rows, n), dtype=np.int64)
        for stratum in strata:
            clusters = np.broadcast_to(np.arange(len(stratum)), (rows, len(stratum)))
            moved = stratum[generator.permuted(clusters, axis=1)]
            places[:, stratum.ravel()] = moved.reshape(rows, -1)
        yield places
