import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from retrieval_eval.stats.intervals import share_interval
from retrieval_eval.stats.moved import MAX_EXACT, hodges_lehmann, moved
from retrieval_eval.stats.proportions import clopper_pearson

NUMBERS = st.lists(st.floats(-10, 10), min_size=6, max_size=25)


def pairwise_means(values):
    return np.sort([(a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2)])


def not_rejected(values):
    """Return the ends of the shifts that Wilcoxon's exact test does not reject."""
    means = pairwise_means(values)
    kept = [
        place
        for place, middle in enumerate((means[1:] + means[:-1]) / 2)
        if scipy_stats.wilcoxon(values - middle, method="exact").pvalue >= 0.05
    ]
    return means[kept[0]], means[kept[-1] + 1]


@pytest.mark.parametrize("n", [6, 7, 10, 17, 25])
def test_the_interval_holds_what_the_signed_rank_test_does_not_reject(n):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    value, interval = hodges_lehmann(values)
    assert value.value == pytest.approx(np.median(pairwise_means(values)), abs=1e-15)
    expected = not_rejected(values)
    assert (interval.low.value, interval.high.value) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("n", [6, 8, 11, 20, 50])
def test_the_exact_interval_covers_what_it_must_and_little_more(n):
    # The level is the chance that the signed-rank sum is at least the place of the lower end.
    values = np.random.default_rng(n).normal(size=n)
    _, interval = hodges_lehmann(values)
    place = int(np.searchsorted(pairwise_means(values), interval.low.value))
    sums = np.zeros(n * (n + 1) // 2 + 1)
    sums[0] = 1
    for rank in range(1, n + 1):
        sums[rank:] += sums[:-rank].copy()
    below = np.cumsum(sums) / 2.0**n
    assert below[place] <= 0.025 < below[place + 1]


def test_many_values_are_searched_instead_of_listed():
    values = np.random.default_rng(3).integers(-30, 60, 1201) / 7
    value, interval = hodges_lehmann(values)
    means = pairwise_means(values)
    assert value.value == pytest.approx(np.median(means), abs=1e-12)
    n = len(values)
    centre, spread = n * (n + 1) / 4, (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    place = int(centre + 0.5 - scipy_stats.norm.ppf(0.975) * spread)
    assert interval.low.value == pytest.approx(means[place - 1], abs=1e-12)
    assert interval.high.value == pytest.approx(means[-place], abs=1e-12)


def test_exact_and_approximate_limits_meet():
    values = np.random.default_rng(5).normal(size=MAX_EXACT + 1)
    exact, approximate = (hodges_lehmann(values[:n])[1] for n in (MAX_EXACT, MAX_EXACT + 1))
    width = [ends.high.value - ends.low.value for ends in (exact, approximate)]
    assert width[1] == pytest.approx(width[0], rel=0.1)


@settings(max_examples=50, deadline=None)
@given(NUMBERS)
def test_negated_values_mirror_everything(values):
    (value, ends), (other, mirrored) = (
        hodges_lehmann(values),
        hodges_lehmann([-value for value in values]),
    )
    assert other.value == -value.value
    assert (mirrored.low.value, mirrored.high.value) == (-ends.high.value, -ends.low.value)


@settings(max_examples=50, deadline=None)
@given(NUMBERS, st.randoms())
def test_order_changes_nothing(values, random):
    assert moved(values) == moved(random.sample(values, len(values)))


def test_fewer_than_six_have_a_location_and_no_interval():
    value, interval = hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0])
    assert value.value == 3.0
    assert interval.low.reason == "too_few_values"
    value, interval = hodges_lehmann([])
    assert value.reason == interval.low.reason == "too_few_values"


def test_zeros_count_in_the_shares_and_not_in_the_location():
    found = moved([0.0] * 20 + [0.5, 1.0, 0.25, 0.75, 0.5, -0.25])
    assert (found.n, found.n_moved) == (26, 6)
    assert found.share_larger.value == 5 / 26
    assert found.share_smaller.value == 1 / 26
    assert found.location.value == 0.5
    expected = scipy_stats.binomtest(5, 26).proportion_ci(method="exact")
    assert found.share_larger_interval.low.value == pytest.approx(expected.low)
    assert found.share_larger_interval.high.value == pytest.approx(expected.high)


def test_nothing_moved():
    found = moved([0.0] * 8)
    assert (found.n_moved, found.share_larger.value, found.share_smaller.value) == (0, 0.0, 0.0)
    assert found.location.reason == "too_few_values"
    assert found.share_larger_interval.high.value == pytest.approx(1 - 0.025 ** (1 / 8))


def test_clusters_leave_the_location_without_interval():
    values = np.random.default_rng(1).normal(size=24)
    found = moved(values, clusters=[i // 2 for i in range(24)])
    assert found.location.computable
    assert found.location_interval.low.reason == "tasks_in_clusters"
    apart = moved(values, clusters=list(range(24)))
    assert apart == moved(values)


# Shares


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 10), (3, 10), (10, 10), (7, 40)])
def test_clopper_pearson_is_that_of_scipy(k, n):
    found = clopper_pearson(k, n)
    expected = scipy_stats.binomtest(k, n).proportion_ci(method="exact")
    assert (found.low.value, found.high.value) == pytest.approx((expected.low, expected.high))


def test_clopper_pearson_of_nothing():
    assert clopper_pearson(0, 0).low.reason == "too_few_values"
    with pytest.raises(ValueError, match="between 0 and n"):
        clopper_pearson(3, 2)


def test_a_share_of_independent_units_has_the_exact_interval():
    flags = [True] * 3 + [False] * 7
    assert share_interval(flags) == clopper_pearson(3, 10)
    assert share_interval(flags, clusters=list("abcdefghij")) == clopper_pearson(3, 10)
    assert share_interval([]).low.reason == "too_few_values"


def test_units_of_a_cluster_that_agree_count_as_one():
    flags = [True] * 12 + [False] * 12
    ends = share_interval(flags, clusters=[i // 3 for i in range(24)])
    # Eight clusters of which four are true have the variance of seven units, by their own mean.
    size = 7 * (scipy_stats.t.ppf(0.975, 23) / scipy_stats.t.ppf(0.975, 7)) ** 2
    expected = clopper_pearson(size / 2, size)
    assert ends.low.value == pytest.approx(expected.low.value)
    assert ends.high.value == pytest.approx(expected.high.value)
    assert ends.method == "korn_graubard"


def test_where_all_units_agree_the_clusters_are_counted():
    ends = share_interval([True] * 24, clusters=[i // 3 for i in range(24)])
    assert ends.low == clopper_pearson(8, 8).low
    assert share_interval([False] * 9, clusters=["a"] * 9).high == clopper_pearson(0, 1).high


def test_clusters_never_make_a_share_surer_than_independence():
    generator = np.random.default_rng(2)
    for _ in range(50):
        flags = generator.random(20) < 0.4
        labels = generator.integers(0, 7, 20).tolist()
        ends, plain = share_interval(flags, clusters=labels), share_interval(flags)
        assert ends.low.value <= plain.low.value + 1e-12
        assert ends.high.value >= plain.high.value - 1e-12
