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
    assert (result.interval.low.value, result.interval.high.value) == (1.0, 1.0)
    assert spearman(range(20), range(20), seed=SEED, n_resamples=999).p_value.value == 1 / 1000


def test_no_defined_resample_means_no_interval():
    # With one resample of a row that is constant but for one point, none may be left.
    reasons = {
        spearman([0, 0, 0, 1], [0, 1, 2, 3], seed=seed, n_resamples=1).interval.low.reason
        for seed in range(20)
    }
    assert reasons == {None, "constant_input"}


def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError, match="one number for each"):
        spearman([1, 2, 3], [1, 2], seed=SEED)
