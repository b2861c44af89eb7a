import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from retrieval_eval.stats.paired import compare_ratio, geometric_mean
from retrieval_eval.stats.resampling import sign_flip_p

SEED = 7
POSITIVE = st.floats(0.01, 100)
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=6, max_size=20)


def rows(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


def lognormal(n, seed=1):
    generator = np.random.default_rng(seed)
    task = generator.lognormal(0, 1, n)
    return task * generator.lognormal(0, 0.4, n), 1.3 * task * generator.lognormal(0, 0.4, n)


@pytest.mark.parametrize("n", [6, 10, 30, 200])
def test_it_is_the_t_interval_of_the_log_ratios(n):
    before, after = lognormal(n)
    logs = np.log(after / before)
    expected = scipy_stats.ttest_1samp(logs, 0).confidence_interval()
    found = compare_ratio(before, after, seed=SEED)
    assert found.ratio.value == pytest.approx(
        scipy_stats.gmean(after) / scipy_stats.gmean(before), rel=1e-12
    )
    # Older versions of scipy are less exact.
    assert found.interval.low.value == pytest.approx(math.exp(expected.low), rel=1e-10)
    assert found.interval.high.value == pytest.approx(math.exp(expected.high), rel=1e-10)


def test_p_is_that_of_all_sign_flips_of_the_log_ratios():
    before, after = lognormal(12)
    logs = np.log(after / before)
    expected = scipy_stats.permutation_test(
        (logs,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", vectorized=True
    )
    found = compare_ratio(before, after, seed=SEED)
    assert found.p_method == "exact"
    assert found.p_value.value == pytest.approx(expected.pvalue)
    assert found.p_value == sign_flip_p(logs, seed=SEED)[0]


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_swapped_rows_give_one_over_everything(pairs):
    before, after = rows(pairs)
    found, mirrored = (
        compare_ratio(before, after, seed=SEED),
        compare_ratio(after, before, seed=SEED),
    )
    assert mirrored.ratio.value == pytest.approx(1 / found.ratio.value)
    assert mirrored.p_value == found.p_value
    assert mirrored.interval.low.reason == found.interval.low.reason
    if found.interval.low.computable:
        assert mirrored.interval.low.value == pytest.approx(1 / found.interval.high.value)
        assert mirrored.interval.high.value == pytest.approx(1 / found.interval.low.value)


@settings(max_examples=40, deadline=None)
@given(PAIRS, st.randoms())
def test_the_order_of_the_pairs_changes_nothing(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    found, other = (compare_ratio(*rows(own), seed=SEED) for own in (pairs, shuffled))
    assert other.ratio.value == pytest.approx(found.ratio.value)
    assert other.p_value.value == pytest.approx(found.p_value.value)
    assert other.interval.low.reason == found.interval.low.reason
    if found.interval.low.computable:
        assert other.interval.low.value == pytest.approx(found.interval.low.value)


def test_a_unit_changes_nothing():
    before, after = lognormal(10)
    found, other = (compare_ratio(before * k, after * k, seed=SEED) for k in (1, 3600))
    assert other.ratio.value == pytest.approx(found.ratio.value)
    assert other.interval.high.value == pytest.approx(found.interval.high.value)


def test_pairs_with_a_side_of_0_have_no_ratio():
    before, after = [0, 1, 2, 4, 1, 1, 1], [1, 2, 4, 8, 3, -1, 1]
    found = compare_ratio(before, after, seed=SEED)
    assert (found.n, found.n_not_positive) == (5, 2)
    # Ratios 2, 2, 2, 3 and 1.
    assert found.ratio.value == pytest.approx(24 ** (1 / 5))


def test_too_many_sides_of_0_leave_no_ratio():
    found = compare_ratio([0, 0, 1, 1, 1, 0, 1], [1] * 7, seed=SEED)
    assert (found.n, found.n_not_positive) == (4, 3)
    for value in (found.ratio, found.interval.low, found.p_value, found.smallest_detectable_ratio):
        assert value.reason == "not_positive"


def test_below_three_pairs_there_is_no_ratio():
    assert compare_ratio([1, 2], [2, 3], seed=SEED).ratio.reason == "too_few_pairs"
    assert compare_ratio([], [], seed=SEED).ratio.reason == "too_few_pairs"


def test_one_ratio_throughout_has_no_interval_but_a_p_value():
    found = compare_ratio([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], seed=SEED)
    assert found.ratio.value == pytest.approx(2)
    assert found.interval.low.reason == "constant_input"
    assert found.p_value.value == 2 / 2**6


def test_clusters_are_flipped_together_and_widen_the_interval():
    before, after = lognormal(30)
    clusters = [i % 10 for i in range(30)]
    logs = np.log(after / before)
    found = compare_ratio(before, after, seed=SEED, clusters=clusters)
    assert found.p_value == sign_flip_p(logs, seed=SEED, clusters=clusters)[0]
    # Ten clusters of three: the interval is that of their means.
    means = [logs[i::10].mean() for i in range(10)]
    expected = scipy_stats.ttest_1samp(means, 0).confidence_interval()
    assert found.interval.low.value == pytest.approx(math.exp(expected.low))
    assert found.interval.high.value == pytest.approx(math.exp(expected.high))


@pytest.mark.parametrize("g", [2, 3, 5])
def test_of_few_clusters_it_is_the_t_interval_of_their_means(g):
    before, after = lognormal(31)
    clusters = [min(i % 7, g - 1) for i in range(31)]
    logs = np.log(after / before)
    means = [logs[[c == label for c in clusters]].mean() for label in range(g)]
    expected = scipy_stats.ttest_1samp(means, 0)
    ends = expected.confidence_interval()
    found = compare_ratio(before, after, seed=SEED, clusters=clusters)
    assert found.p_method == "t_of_cluster_means"
    assert found.p_value.value == pytest.approx(expected.pvalue)
    assert found.ratio.value == pytest.approx(math.exp(np.mean(means)))
    assert found.interval.low.value == pytest.approx(math.exp(ends.low))
    assert found.interval.high.value == pytest.approx(math.exp(ends.high))


def test_a_lost_pair_takes_its_label_with_it():
    before, after = lognormal(30)
    clusters = [i % 10 for i in range(30)]
    whole = compare_ratio(before, after, seed=SEED, clusters=clusters)
    more = compare_ratio([0, *before], [1, *after], seed=SEED, clusters=[99, *clusters])
    assert (more.ratio, more.interval, more.p_value) == (
        whole.ratio,
        whole.interval,
        whole.p_value,
    )


@pytest.mark.parametrize("clusters", [None, [0, 0, 0, 1, 1, 1, 1]])
def test_ratios_beyond_any_number_are_not_computable(clusters):
    before, after = [1e-300] * 7, [1e300, 1e200, 1e250, 1e290, 1e300, 1e300, 1e300]
    found = compare_ratio(before, after, seed=SEED, clusters=clusters)
    assert found.ratio.reason == "not_a_number"
    assert found.interval.low.reason == found.interval.high.reason == "not_a_number"
    found = compare_ratio(after, before, seed=SEED, clusters=clusters)
    assert found.ratio.reason == "not_a_number"


def test_rows_of_other_length_are_refused():
    with pytest.raises(ValueError, match="one number for each unit"):
        compare_ratio([1, 2], [1], seed=SEED)
    with pytest.raises(ValueError, match="one label for each unit"):
        compare_ratio([1, 2], [1, 3], seed=SEED, clusters=["a"])


@pytest.mark.parametrize("values", [[1.0], [2.0, 8.0], [0.1, 0.2, 0.3]])
def test_geometric_mean(values):
    assert geometric_mean(values) == pytest.approx(scipy_stats.gmean(values))


@pytest.mark.parametrize("values", [[0.0], [-1.0], [1.0, 0.0], [-2.0, 3.0]])
def test_geometric_mean_of_what_has_no_logarithm(values):
    assert geometric_mean(values) == 0.0


def test_the_smallest_detectable_ratio_is_above_1():
    before, after = lognormal(12)
    assert compare_ratio(before, after, seed=SEED).smallest_detectable_ratio.value > 1
