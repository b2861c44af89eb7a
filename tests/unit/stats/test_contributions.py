"""What one unit and repeats contribute, and what a handful of units can show."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from retrieval_eval.stats.intervals import bootstrap_mean, bounded_mean, t_mean
from retrieval_eval.stats.paired import compare_paired, variance_components, without_largest
from retrieval_eval.stats.power import detectable_interval, smallest_detectable_difference
from retrieval_eval.values import Value

SEED = 7


# The interval of a bounded mean


def test_a_bounded_mean_covers_every_two_point_distribution():
    # All outcomes of six values of 0 or 1 (and of -1 or 1), each with its probability.
    for low in (0, -1):
        ends = [bounded_mean([1] * k + [low] * (6 - k), low, 1) for k in range(7)]
        for share in np.linspace(0, 1, 201):
            mean = low + (1 - low) * share
            missed = sum(
                scipy_stats.binom.pmf(k, 6, share)
                for k, own in enumerate(ends)
                if not own.low.value <= mean <= own.high.value
            )
            assert missed <= 0.05


def test_a_bounded_mean_covers_every_distribution_on_a_grid():
    # Three values, all 4 ** 3 samples of four points, under distributions with a rare far point.
    points = [-1.0, -0.2, 0.1, 1.0]
    ends = {rows: bounded_mean(rows, -1, 1) for rows in itertools.product(points, repeat=3)}
    generator = np.random.default_rng(1)
    for shares in generator.dirichlet([0.3] * 4, 100):
        mean = float(np.dot(points, shares))
        missed = math.fsum(
            math.prod(shares[points.index(value)] for value in rows)
            for rows, own in ends.items()
            if not own.low.value <= mean <= own.high.value
        )
        assert missed <= 0.05


def test_a_bounded_mean_is_symmetric_and_has_no_order():
    values = [0.25, -0.5, 0.75, 0.0, 0.5]
    found = bounded_mean(values, -1, 1)
    mirrored = bounded_mean([-value for value in values], -1, 1)
    assert mirrored.low.value == pytest.approx(-found.high.value)
    assert mirrored.high.value == pytest.approx(-found.low.value)
    other = bounded_mean(sorted(values), -1, 1)
    assert other.low.value == pytest.approx(found.low.value)


def test_a_bounded_mean_stays_in_its_range_and_is_wider_than_the_bootstrap():
    values = [1.0, 0.9, 0.8, 1.0, 0.6, 0.7]
    found = bounded_mean(values, -1, 1)
    assert -1 <= found.low.value < np.mean(values) < found.high.value <= 1
    shorter = bootstrap_mean(values, seed=SEED)
    assert found.low.value < shorter.low.value
    assert bounded_mean([1.0] * 6, -1, 1).high.value == 1.0


def test_a_value_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="outside -1 to 1"):
        bounded_mean([0.5, 1.5], -1, 1)
    assert bounded_mean([], -1, 1).low.reason == "too_few_values"


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


def test_the_largest_difference_is_named_and_left_out():
    found = without_largest([0.1, 0.2, -5.0, 0.3])
    assert found.share.value == pytest.approx(5 / 5.6)
    assert found.mean_without.value == pytest.approx(0.2)
    assert (found.share.n, found.mean_without.n) == (4, 3)


def test_of_equally_large_ones_that_with_the_mean_is_left_out():
    assert without_largest([-1.0, 0.5, 1.0, 0.5]).mean_without.value == 0.0
    assert without_largest([1.0, -0.5, -1.0, -0.5]).mean_without.value == 0.0


def test_the_largest_of_few_clusters_is_left_out_of_their_means():
    values, clusters = [1.0, 3.0, 10.0, 2.0, 6.0], ["a", "a", "a", "b", "b"]
    # The means of the clusters are then 2 and 4.
    assert without_largest(values, clusters).mean_without.value == 3.0
    assert without_largest([9.0, 1.0, 2.0], ["a", "b", "b"]).mean_without.value == 1.5


def test_without_differences_there_is_no_largest():
    assert without_largest([0.0] * 5).share.reason == "constant_input"
    assert without_largest([1.0, 2.0]).share.reason == "too_few_pairs"


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


# What a study could have shown


@pytest.mark.parametrize("n", [6, 10, 34])
def test_the_detectable_difference_is_as_uncertain_as_the_spread(n):
    found = detectable_interval(smallest_detectable_difference(2.0, n), n - 1)
    factor = smallest_detectable_difference(1.0, n).value
    # The chi-square interval of the standard deviation.
    ends = [2 * math.sqrt((n - 1) / scipy_stats.chi2.ppf(q, n - 1)) for q in (0.975, 0.025)]
    assert found.low.value == pytest.approx(factor * ends[0])
    assert found.high.value == pytest.approx(factor * ends[1])


def test_what_is_not_known_has_no_interval():
    gap = Value.missing("constant_input", 5)
    assert detectable_interval(gap, 4).low.reason == "constant_input"
    assert detectable_interval(Value.of(1.0, 1), 0).low.reason == "too_few_values"


@pytest.mark.parametrize("clusters", [None, [i % 8 for i in range(24)], [i % 3 for i in range(24)]])
def test_a_comparison_says_how_sure_its_detectable_difference_is(clusters):
    generator = np.random.default_rng(1)
    before = generator.normal(size=24)
    found = compare_paired(before, before + generator.normal(size=24), seed=SEED, clusters=clusters)
    ends = found.smallest_detectable_interval
    g = 24 if clusters is None else len(set(clusters))
    known = found.smallest_detectable_difference.value
    assert ends.low.value < known < ends.high.value
    assert ends.high.value / known == pytest.approx(
        math.sqrt((g - 1) / scipy_stats.chi2.ppf(0.025, g - 1))
    )
