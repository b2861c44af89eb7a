"""Correlations of many columns over the same units: the same numbers, drawn and ranked once."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from itertools import chain

import numpy as np
import pytest

from retrieval_eval.stats.correlation import (
    average_ranks,
    drawn_products,
    permutation_p,
    spearman,
    spearman_of,
)
from retrieval_eval.stats.resampling import batches, group

SEED = 11


def clustered(n_clusters, sizes, seed, n_values=None):
    """Return two rows of numbers and the label of each, clusters of the given sizes in turn."""
    dice = np.random.default_rng(seed)
    labels = [c for c in range(n_clusters) for _ in range(sizes[c % len(sizes)])]
    order = dice.permutation(len(labels))
    shared = dice.normal(size=n_clusters)[labels]
    x, y = (shared + dice.normal(size=len(labels)) for _ in "xy")
    if n_values is not None:
        x, y = (np.round(v * n_values) / n_values for v in (x, y))
    return x[order], y[order], [labels[i] for i in order]


def by_table(x, y, labels, n_resamples):
    """Return the products of drawn arrangements, each read from a table of all cluster pairs."""
    codes = group(labels, len(x)).codes
    rows = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    sizes = np.array([len(r) for r in rows])
    strata = [np.array([rows[c] for c in np.flatnonzero(sizes == s)]) for s in np.unique(sizes)]
    generator = np.random.Generator(np.random.PCG64(SEED))
    parts = []
    for count in batches(n_resamples, len(x)):
        totals = np.zeros(count)
        for stratum in strata:
            m = len(stratum)
            arrangements = generator.permuted(np.tile(np.arange(m), (count, 1)), axis=1)
            table = x[stratum] @ y[stratum].T
            totals += table[np.arange(m), arrangements].sum(axis=1)
        parts.append(totals)
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("n_clusters", "sizes", "n_values"),
    [(40, (2,), None), (60, (1, 2, 3), None), (30, (1, 4), 2), (500, (2,), 1), (900, (1, 2), None)],
)
def test_products_of_drawn_arrangements_equal_those_of_a_table(n_clusters, sizes, n_values):
    x, y, labels = clustered(n_clusters, sizes, 3, n_values)
    x, y = average_ranks(x), average_ranks(y)
    x, y = x - x.mean(), y - y.mean()
    expected = by_table(x, y, labels, 700)
    grouping = group(labels, len(x))
    found = np.concatenate(
        [p["x", "y"] for p in drawn_products({"x": x, "y": y}, [("x", "y")], grouping, SEED, 700)]
    )
    scale = float(np.sqrt((x @ x) * (y @ y)))
    assert found / scale == pytest.approx(expected / scale, rel=0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_p_value_is_that_of_every_arrangement_by_brute_force(seed):
    x, y, labels = clustered(9, (2, 1), seed, 2)
    x, y = average_ranks(x), average_ranks(y)
    members = [[i for i, label in enumerate(labels) if label == c] for c in range(9)]
    pairs, singles = ([m for m in members if len(m) == size] for size in (2, 1))
    a, b = x - x.mean(), y - y.mean()
    observed = abs(float(a @ b))
    reached = total = 0
    for two in itertools.permutations(pairs):
        for one in itertools.permutations(singles):
            source = dict(zip(chain(*pairs, *singles), chain(*two, *one), strict=True))
            product = math.fsum(a[i] * b[source[i]] for i in range(len(a)))
            reached += abs(product) >= observed - 1e-9
            total += 1
    grouping = group(labels, len(x))
    ((found, method),) = permutation_p(
        {"x": x, "y": y}, [("x", "y")], grouping, seed=SEED, n_resamples=10
    )
    assert method == "exact"
    assert found.value == pytest.approx(reached / total)


def test_memory_does_not_grow_with_the_square_of_the_clusters():
    x, y, labels = clustered(3000, (2,), 5)
    tracemalloc.start()
    try:
        result = spearman(x, y, seed=SEED, n_resamples=50, clusters=labels)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.n_clusters, result.p_method) == (3000, "monte_carlo")
    # A table of all pairs of clusters alone is 72 MB.
    assert peak < 24e6


def columns_with_gaps(n_tasks=40):
    """Return five columns over two rows a task, of which two columns lack some numbers."""
    dice = np.random.default_rng(9)
    labels = [f"task-{i}" for i in range(n_tasks) for _ in "ab"]
    columns = {name: np.round(dice.normal(size=len(labels)), 1) for name in "abcde"}
    columns["d"][[3, 17, 40]] = np.nan
    columns["e"][:] = 2.0
    return columns, labels


def test_every_pair_of_columns_has_the_numbers_it_has_alone():
    columns, labels = columns_with_gaps()
    pairs = list(itertools.combinations(columns, 2))
    found = spearman_of(columns, pairs, seed=SEED, n_resamples=400, clusters=labels)
    for (a, b), result in zip(pairs, found, strict=True):
        known = np.isfinite(columns[a]) & np.isfinite(columns[b])
        alone = spearman(
            columns[a][known],
            columns[b][known],
            seed=SEED,
            n_resamples=400,
            clusters=[label for label, k in zip(labels, known, strict=True) if k],
        )
        assert result == alone
    assert {r.n for r in found} == {80, 77}
    assert {r.r.reason for r in found} == {None, "constant_input"}


def test_an_infinite_number_is_refused_and_a_missing_one_is_left_out():
    rows = {"x": [1.0, 2.0, float("nan"), 4.0], "y": [1.0, 3.0, 2.0, 4.0]}
    (found,) = spearman_of(rows, [("x", "y")], seed=SEED, n_resamples=20)
    assert (found.n, found.r.value) == (3, 1.0)
    with pytest.raises(ValueError, match="finite"):
        spearman_of({**rows, "x": [1.0, math.inf, 3.0, 4.0]}, [("x", "y")], seed=SEED)
    with pytest.raises(ValueError, match="one number for each"):
        spearman_of({**rows, "x": [1.0]}, [("x", "y")], seed=SEED)
