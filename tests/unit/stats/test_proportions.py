"""Intervals of a proportion."""

import pytest
from scipy import stats as scipy_stats

from retrieval_eval.stats.proportions import clopper_pearson


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 10), (3, 10), (10, 10), (7, 40)])
def test_clopper_pearson_is_that_of_scipy(k, n):
    found = clopper_pearson(k, n)
    expected = scipy_stats.binomtest(k, n).proportion_ci(method="exact")
    assert (found.low.value, found.high.value) == pytest.approx((expected.low, expected.high))


def test_clopper_pearson_of_nothing():
    assert clopper_pearson(0, 0).low.reason == "too_few_values"
    with pytest.raises(ValueError, match="between 0 and n"):
        clopper_pearson(3, 2)
