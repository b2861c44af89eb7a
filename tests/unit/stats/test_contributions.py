"""Student's interval, and what repeats contribute."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from retrieval_eval.stats.intervals import bootstrap_mean, t_mean
from retrieval_eval.stats.paired import variance_components

SEED = 7


# Student's interval


def test_students_interval_is_that_of_scipy():
    values = np.random.default_rng(4).normal(size=15)
    found = t_mean(values)
    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval()
    assert (found.low.value, found.high.value) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([1.0, 2.0], None),
        ([1.0] * 5, None),
        ([0.0] * 8 + [1.0, 2.0], None),
        ([1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "b"]),
        ([1.0, 2.0, 3.0, 4.0], ["a", "b", "c", "d"]),
    ],
)
def test_students_interval_is_missing_where_the_bootstrap_is(values, clusters):
    found = t_mean(values, clusters=clusters)
    assert found.low.reason == bootstrap_mean(values, seed=SEED, clusters=clusters).low.reason


# One unit


# Repeats


def simulated(n, k, between, before, after, seed):
    generator = np.random.default_rng(seed)
    tasks = generator.normal(0, 1, (n, 1))
    moved = generator.normal(0.3, between, (n, 1))
    first = tasks + generator.normal(0, before, (n, k))
    return first, tasks + moved + generator.normal(0, after, (n, k))


def test_the_components_are_those_that_were_planted():
    found = [variance_components(*simulated(30, 3, 0.5, 0.6, 0.3, seed)) for seed in range(200)]
    assert np.mean([own.between.value for own in found]) == pytest.approx(0.25, rel=0.05)
    assert np.mean([own.within.value for own in found]) == pytest.approx(0.45 / 3, rel=0.05)


def test_the_components_add_up_to_the_variance_of_the_differences():
    before, after = simulated(20, 4, 1.0, 0.5, 0.5, 1)
    found = variance_components(before, after)
    total = np.var(after.mean(axis=1) - before.mean(axis=1), ddof=1)
    assert found.between.value + found.within.value == pytest.approx(total)


def test_repeats_that_explain_everything_leave_nothing_between_tasks():
    before, after = simulated(10, 2, 0.0, 3.0, 3.0, 2)
    found = variance_components(before, after)
    assert found.between.value == 0.0


def test_tasks_with_other_numbers_of_repeats():
    found = variance_components([[0, 2], [0, 2], [0, 2], [5]], [[1, 1], [1, 1, 1], [2], [6]])
    # Spread 2 in the baseline: 1, 1, 1 and 2 over the repeats; none in the comparison.
    assert found.within.value == pytest.approx(5 / 4)


def test_components_need_repeats_in_both_arms():
    assert variance_components([[1], [2], [3]], [[1, 2]] * 3).between.reason == "no_repeats"
    few = variance_components([[1, 2], [2], [3]], [[1, 2]] * 3)
    assert few.within.reason == "too_few_values"
    assert variance_components([], []).within.reason == "too_few_values"
    with pytest.raises(ValueError, match="trials of each unit"):
        variance_components([[1]], [])
