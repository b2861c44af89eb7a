import math

import pytest

from retrieval_eval.stats.correlation import spearman

SEED = 7


def test_hand_computed_with_ties():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: deviations -1.5, 0, 0, 1.5 and -1.5, -.5, .5, 1.5.
    result = spearman([1, 5, 5, 9], [10, 20, 30, 40], seed=SEED)
    assert result.r.value == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert result.r.n == 4


def test_five_points_with_r_point_nine_are_not_significant():
    result = spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4], seed=SEED)
    assert result.r.value == pytest.approx(0.9)
    # 1 order gives r = 1 and 4 give .9, on either side: 10 of 120.
    assert result.p_value.value == pytest.approx(10 / 120)
    assert result.p_method == "exact"


def test_too_few_points():
    result = spearman([1, 2], [3, 4], seed=SEED)
    assert {result.r.reason, result.interval.low.reason, result.p_value.reason} == {
        "too_few_values"
    }
    result = spearman([1, 2, 3, 4], [1, 2, 3, 4], seed=SEED)
    assert result.r.value == 1.0
    assert result.p_value.reason == "too_few_values"


def test_a_constant_side_has_no_association():
    for x, y in (([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3, 4], [0.3, 0.1 + 0.2, 0.3, 0.3])):
        result = spearman(x, y, seed=SEED)
        assert result.r.reason == "constant_input"
        assert result.interval.high.reason == "constant_input"
        assert result.p_value.reason == "constant_input"


def test_methods_by_size():
    def noisy(n):
        return spearman(range(n), [i + (i * 7 % 5) * 3 for i in range(n)], seed=SEED)

    assert [noisy(n).p_method for n in (8, 9, 30, 31)] == [
        "exact",
        "monte_carlo",
        "monte_carlo",
        "t",
    ]
    assert noisy(20) == noisy(20)


def test_perfect_association_of_many_points():
    result = spearman(range(50), range(50), seed=SEED)
    assert result.r.value == 1.0
    assert result.p_value.value == 0.0
    assert spearman(range(20), range(20), seed=SEED, n_resamples=999).p_value.value == 1 / 1000


def test_a_perfect_r_is_not_a_certain_one():
    # The nearest smaller r of 5 points is .9: z = 1.4722, error sqrt(1.405 / 2) = .83815.
    interval = spearman(range(5), range(5), seed=SEED).interval
    assert interval.low.value == pytest.approx(math.tanh(1.4722 - 1.95996 * 0.83815), abs=1e-4)
    assert interval.high.value == 1.0
    widths = [1 - spearman(range(n), range(n), seed=SEED).interval.low.value for n in (5, 10, 50)]
    assert widths[0] > widths[1] > widths[2] > 0


def test_the_interval_is_never_narrower_than_that_of_bonett_and_wright():
    x = list(range(19))
    y = [3, 0, 12, 1, 14, 7, 2, 18, 4, 5, 17, 6, 8, 16, 9, 10, 11, 13, 15]
    result = spearman(x, y, seed=SEED, n_resamples=1)
    r = result.r.value
    error = math.sqrt((1 + r * r / 2) / 16)
    assert result.interval.low.value <= math.tanh(math.atanh(r) - 1.9599 * error)
    assert result.interval.high.value >= math.tanh(math.atanh(r) + 1.9599 * error)


def test_three_points_have_no_interval():
    result = spearman([1, 2, 3], [1, 3, 2], seed=SEED)
    assert result.r.value == 0.5
    assert result.interval.low.reason == "too_few_values"


def test_resamples_in_which_one_side_is_constant_are_left_out():
    # One resample of a row that is constant but for one point is often constant.
    intervals = [
        spearman([0, 0, 0, 1], [0, 1, 2, 3], seed=seed, n_resamples=1).interval
        for seed in range(20)
    ]
    assert all(-1 <= i.low.value <= i.high.value <= 1 for i in intervals)


def test_two_rows_of_one_task_are_one_cluster():
    x, y = [1, 2, 3, 4, 5, 6, 7, 8], [1, 3, 2, 4, 6, 5, 8, 7]
    twice = [value for value in x for _ in "ab"], [value for value in y for _ in "ab"]
    single = spearman(x, y, seed=SEED)
    naive = spearman(*twice, seed=SEED)
    tasks = [task for task in range(8) for _ in "ab"]
    clustered = spearman(*twice, seed=SEED, clusters=tasks)
    assert (clustered.n, clustered.n_clusters, clustered.clustering) == (16, 8, "by_cluster")
    assert clustered.r == naive.r
    # Saying everything twice is no evidence: the p-value is that of the eight tasks.
    assert clustered.p_value.value == single.p_value.value
    assert clustered.p_method == "exact"
    assert naive.p_value.value < clustered.p_value.value


def test_clusters_move_as_blocks_by_hand():
    # Three clusters of two: 3! arrangements can never reach .05.
    labels = list("aabbcc")
    result = spearman(range(6), range(6), seed=SEED, clusters=labels)
    assert (result.n_clusters, result.clustering) == (3, "too_few_clusters")
    assert result.p_value.reason == "too_few_values"
    assert result.interval.low.reason == "too_few_values"
    assert result.r.value == 1.0
    # Six clusters, five of two rows and one of three: the one stays, 5! arrangements. All rise
    # together, so only the observed order reaches r = 1; its mirror image cannot be made.
    labels = list("aabbccddeefff")
    result = spearman(range(13), range(13), seed=SEED, clusters=labels)
    assert result.p_value.value == pytest.approx(1 / 120)
    assert result.p_method == "exact"


def test_clusters_of_sizes_of_their_own_have_nowhere_to_go():
    labels = [name for size, name in enumerate("abcdef", 1) for _ in range(size)]
    result = spearman(range(21), range(21), seed=SEED, clusters=labels)
    assert result.clustering == "by_cluster"
    assert result.p_value.reason == "too_few_values"
    assert result.interval.low.computable


def test_what_both_rows_of_every_task_share_is_no_evidence():
    # Twelve tasks under two configurations, the second higher in x and y by 10: without clusters
    # r is large and p tiny, yet within each configuration x and y have nothing to do with
    # each other.
    x = [3, 7, 1, 11, 5, 9, 2, 12, 6, 10, 4, 8]
    y = [5, 2, 9, 6, 11, 3, 8, 7, 1, 12, 10, 4]
    xs = [value + shift for value in x for shift in (0, 10)]
    ys = [value + shift for value in y for shift in (0, 10)]
    tasks = [task for task in range(12) for _ in "ab"]
    assert spearman(xs, ys, seed=SEED).p_value.value < 0.01
    assert spearman(xs, ys, seed=SEED, clusters=tasks).p_value.value > 0.2


def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError, match="one number for each"):
        spearman([1, 2, 3], [1, 2], seed=SEED)
    with pytest.raises(ValueError, match="one label for each"):
        spearman([1, 2, 3], [1, 2, 3], seed=SEED, clusters=["a"])
