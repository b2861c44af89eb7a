import pytest
from scipy import stats as scipy_stats

from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.resampling import sign_flip_p

SEED = 7


def test_hand_computed_comparison():
    result = compare_paired([1, 2, 3, 4], [2, 2, 5, 3], seed=SEED)
    assert result.n == 4
    assert (result.mean_baseline.value, result.mean_comparison.value) == (2.5, 3.0)
    assert result.mean_difference.value == 0.5
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)
    assert result.interval.low.value < 0.5 < result.interval.high.value
    assert result.p_value.reason == "too_few_values"
    assert result.p_method is None


def test_direction_changes_who_wins_and_nothing_else():
    higher = compare_paired([1, 2, 3], [2, 3, 3], seed=SEED)
    lower = compare_paired([1, 2, 3], [2, 3, 3], seed=SEED, is_higher_better=False)
    assert (higher.wins, higher.losses) == (2, 0)
    assert (lower.wins, lower.losses) == (0, 2)
    assert higher.mean_difference == lower.mean_difference
    assert higher.interval == lower.interval


def test_below_three_pairs_nothing_but_counts():
    result = compare_paired([1, 2], [3, 1], seed=SEED)
    assert (result.n, result.wins, result.losses) == (2, 1, 1)
    for value in (
        result.mean_baseline,
        result.mean_difference,
        result.interval.low,
        result.p_value,
        result.smallest_detectable_difference,
    ):
        assert value.reason == "too_few_pairs"
    assert compare_paired([], [], seed=SEED).n == 0


def test_p_value_needs_six_pairs():
    assert sign_flip_p([1] * 5, seed=SEED)[0].reason == "too_few_values"
    p_value, method = sign_flip_p([1] * 6, seed=SEED)
    assert (p_value.value, method) == (2 / 2**6, "exact")


def test_sums_equal_but_for_rounding_count_as_equal():
    # 0.1 + 0.2 and 0.3 differ in the last bit; as whole numbers the p-value is the same.
    whole = sign_flip_p([1, 2, -3, 1, 2, 3], seed=SEED)[0]
    tenths = sign_flip_p([0.1, 0.2, -0.3, 0.1, 0.2, 0.3], seed=SEED)[0]
    assert tenths == whole


def test_no_difference_at_all():
    result = compare_paired([1.0] * 6, [1.0] * 6, seed=SEED)
    assert result.p_value.value == 1.0
    assert result.ties == 6
    assert result.mean_difference.value == 0.0
    assert result.interval.low.reason == "constant_input"
    assert result.smallest_detectable_difference.reason == "constant_input"


def test_differences_constant_but_for_rounding():
    baseline = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    result = compare_paired(baseline, [value + 0.1 for value in baseline], seed=SEED)
    assert result.interval.low.reason == "constant_input"
    assert result.smallest_detectable_difference.reason == "constant_input"
    assert result.p_value.value == 2 / 2**6


def test_many_pairs_use_drawn_flips_that_repeat_with_the_seed():
    differences = [(-1) ** i * (i % 5) + 0.3 for i in range(40)]
    first, method = sign_flip_p(differences, seed=SEED)
    assert method == "monte_carlo"
    assert first == sign_flip_p(differences, seed=SEED)[0]
    assert first != sign_flip_p(differences, seed=SEED + 1)[0]
    assert sign_flip_p([1.0] * 200, seed=SEED, n_resamples=999)[0].value == 1 / 1000


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="one number for each"):
        compare_paired([1, 2], [1], seed=SEED)
    with pytest.raises(ValueError, match="finite"):
        compare_paired([1, 2, float("nan")], [1, 2, 3], seed=SEED)


def test_clustered_comparison():
    before = [0.0] * 12
    after = [1, 2, 1, 3, 0, 2, 4, 1, 2, 5, -1, 1]
    labels = [name for name in "abcdef" for _ in range(2)]
    plain = compare_paired(before, after, seed=SEED)
    clustered = compare_paired(before, after, seed=SEED, clusters=labels)
    assert (plain.n_clusters, plain.clustering) == (None, "none")
    assert (clustered.n, clustered.n_clusters, clustered.clustering) == (12, 6, "by_cluster")
    assert clustered.mean_difference == plain.mean_difference
    assert clustered.wins == plain.wins
    # Sums 3, 4, 2, 5, 7, 0 are all on one side: 2 of 2 ** 6 patterns, each with either last sign.
    assert clustered.p_value.value == 2 / 32
    # Cluster means 1.5, 2, 1, 2.5, 3.5, 0: sd sqrt(7.375 / 5) = 1.2145 of six units, and all six
    # are positive with .8 = .96349 ** 6, the normal share below 1.7932.
    detectable = clustered.smallest_detectable_difference
    assert (detectable.value, detectable.n) == (pytest.approx(1.2145 * 1.7932, abs=1e-3), 6)


def test_two_to_five_clusters_are_compared_by_their_means():
    before = [0.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 0.0, 2.0]
    after = [1.0, 3.0, 1.0, 4.0, 2.0, 3.0, 4.0, 2.0, 2.0, 7.0]
    labels = list("aaaabbbccd")
    result = compare_paired(before, after, seed=SEED, clusters=labels)
    # Differences 1 2 1 3, 0 2 4, 1 2, 5: means 1.75, 2, 1.5 and 5.
    means = [1.75, 2.0, 1.5, 5.0]
    expected = scipy_stats.ttest_1samp(means, 0)
    assert (result.n, result.n_clusters, result.clustering) == (10, 4, "cluster_means")
    assert result.mean_difference.value == pytest.approx(sum(means) / 4)
    assert result.mean_baseline.value == pytest.approx((0.5 + 1 + 0.5 + 2) / 4)
    assert result.mean_comparison.value == pytest.approx((2.25 + 3 + 2 + 7) / 4)
    assert result.p_value.value == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert result.interval.low.value == pytest.approx(ends.low)
    assert result.interval.high.value == pytest.approx(ends.high)
    assert result.interval.method == result.p_method == "t_of_cluster_means"
    assert result.smallest_detectable_difference.value is not None
    assert result.wins == 9


def test_clusters_that_are_all_the_same_show_no_spread():
    labels = list("aaabbbccc")
    flat = compare_paired([0.0] * 9, [1.0] * 9, seed=SEED, clusters=labels)
    assert flat.interval.low.reason == flat.p_value.reason == "constant_input"
    same = compare_paired([1.0] * 9, [1.0] * 9, seed=SEED, clusters=labels)
    assert (same.p_value.value, same.interval.low.reason) == (1.0, "constant_input")


def test_one_cluster_cannot_be_tested_and_few_pairs_have_no_p():
    one = compare_paired([0.0] * 6, [1, 2, 1, 3, 0, 2], seed=SEED, clusters=["a"] * 6)
    assert (one.n_clusters, one.clustering) == (1, "too_few_clusters")
    assert (one.interval.low.reason, one.p_value.reason) == ("too_few_values",) * 2
    few = compare_paired([0.0] * 5, [1, 2, 1, 3, 1], seed=SEED, clusters=list("aabbc"))
    assert (few.clustering, few.p_value.reason, few.p_method) == (
        "cluster_means",
        "too_few_values",
        None,
    )
    assert few.interval.low.value is not None


def test_one_pair_a_cluster_is_no_clustering():
    before, after = [0.0] * 5, [1, 2, 1, 3, -1]
    plain = compare_paired(before, after, seed=SEED)
    single = compare_paired(before, after, seed=SEED, clusters=list("abcde"))
    assert single.clustering == "by_cluster"
    assert (single.interval, single.p_value) == (plain.interval, plain.p_value)
    assert single.smallest_detectable_difference == plain.smallest_detectable_difference


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one label for each"):
        compare_paired([1, 2, 3], [1, 2, 4], seed=SEED, clusters=["a", "b"])
