"""Kappa against scikit-learn, on random grades of raters that agree more or less."""

import numpy as np
import pytest

from retrieval_eval.stats.agreement import cohen_kappa

metrics = pytest.importorskip("sklearn.metrics")
RNG = np.random.Generator(np.random.PCG64(11))


def graded(n_cases):
    """Yield pairs of rows of grades 0 to 4 that vary; grades are missing at random."""
    for _ in range(n_cases):
        n, size = int(RNG.integers(3, 80)), int(RNG.integers(2, 6))
        kept = RNG.choice(5, size=size, replace=False)
        a = RNG.choice(kept, size=n)
        b = np.where(RNG.random(n) < RNG.random(), a, RNG.choice(kept, size=n))
        if len(set(a)) > 1 and len(set(b)) > 1:
            yield a.tolist(), b.tolist()


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("categories", [None, [0, 1, 2, 3, 4], [4, 0, 3, 1, 2]])
def test_kappa(weights, categories):
    n_cases = 0
    for a, b in graded(400):
        found = cohen_kappa(
            a, b, weights=weights, categories=categories, seed=1, n_resamples=0
        ).value.value
        expected = metrics.cohen_kappa_score(a, b, weights=weights, labels=categories)
        assert found == pytest.approx(expected, abs=1e-12, rel=0)
        n_cases += 1
    assert n_cases > 300


def test_texts_are_categories_too():
    a, b = ["no", "yes", "yes", "no", "yes"], ["no", "yes", "no", "no", "perhaps"]
    found = cohen_kappa(a, b, seed=1, n_resamples=0)
    assert found.value.value == pytest.approx(metrics.cohen_kappa_score(a, b), abs=1e-12, rel=0)


def test_the_table():
    for a, b in graded(20):
        found = cohen_kappa(a, b, categories=range(5), seed=1, n_resamples=0)
        np.testing.assert_array_equal(
            found.table, metrics.confusion_matrix(a, b, labels=list(range(5)))
        )
