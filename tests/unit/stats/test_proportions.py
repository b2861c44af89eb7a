"""Intervals of a proportion."""

import math

import pytest
from scipy import stats as scipy_stats
from scipy.special import stdtr, stdtrit

from retrieval_eval.stats.proportions import clopper_pearson, t_quantile, t_share_below


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 10), (3, 10), (10, 10), (7, 40)])
def test_clopper_pearson_is_that_of_scipy(k, n):
    found = clopper_pearson(k, n)
    expected = scipy_stats.binomtest(k, n).proportion_ci(method="exact")
    assert (found.low.value, found.high.value) == pytest.approx((expected.low, expected.high))


def test_clopper_pearson_of_nothing():
    assert clopper_pearson(0, 0).low.reason == "too_few_values"
    with pytest.raises(ValueError, match="between 0 and n"):
        clopper_pearson(3, 2)


@pytest.mark.parametrize("degrees", [1, 2, 9, 59, 61, 100, 599, 5_000, 1e6])
def test_quantiles_and_shares_of_t_are_those_of_scipy(degrees):
    for share in (0.5, 0.8, 0.975, 0.999, 1 - 0.05 / 7):
        quantile = t_quantile(degrees, share)
        assert quantile == pytest.approx(float(stdtrit(degrees, share)), rel=1e-10, abs=1e-12)
    for value in (-math.inf, -6.0, -1.5, 0.0, 0.3, 4.0):
        assert t_share_below(degrees, value) == pytest.approx(stdtr(degrees, value), abs=1e-11)
