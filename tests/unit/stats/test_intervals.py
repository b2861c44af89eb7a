import numpy as np
import pytest

from retrieval_eval.stats.intervals import bootstrap_mean, standard_error
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.stats.resampling import group


def test_wilson_edges():
    assert wilson(20, 20).high.value == 1.0
    assert wilson(0, 20).low.value == 0.0
    assert wilson(0, 0).low.reason == "too_few_values"
    with pytest.raises(ValueError, match="between"):
        wilson(3, 2)


def test_bootstrap_mean_not_computable():
    assert bootstrap_mean([1.0, 2.0], seed=1).low.reason == "too_few_values"
    assert bootstrap_mean([2.0] * 9, seed=1).high.reason == "constant_input"
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([1.0, float("inf"), 2.0], seed=1)
    with pytest.raises(ValueError, match="one label for each"):
        bootstrap_mean([1.0, 3.0, 2.0], seed=1, clusters=["a", "b"])


def test_two_units_that_moved_say_nothing_of_how_far_units_move():
    assert bootstrap_mean([0.0] * 8 + [1.0, 0.5], seed=1).low.reason == "too_few_values"
    assert bootstrap_mean([0.0] * 7 + [1.0, 0.5, -0.25], seed=1).low.computable
    # What arithmetic leaves of a zero has not moved either.
    residue = 0.1 + 0.2 - 0.3
    assert residue != 0
    assert bootstrap_mean([residue] * 8 + [1.0, 0.5], seed=1).low.reason == "too_few_values"


def test_bootstrap_mean_repeats_with_the_seed():
    values = [float(i * i % 17) + i / 8 for i in range(12)]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_the_interval_is_never_narrower_than_students():
    # Mean 4, standard deviation sqrt(20 / 4), t(4, .975) = 2.776445.
    values = [1.0, 3.0, 4.0, 5.0, 7.0]
    half = 2.776445 * (5 / 5) ** 0.5
    interval = bootstrap_mean(values, seed=1)
    assert interval.low.value <= 4 - half + 1e-5
    assert interval.high.value >= 4 + half - 1e-5
    # Without resamples Student's interval is what is left.
    bare = bootstrap_mean(values, seed=1, n_resamples=0)
    assert bare.low.value == pytest.approx(4 - half, abs=1e-5)
    assert bare.high.value == pytest.approx(4 + half, abs=1e-5)


def test_differences_that_all_tie_have_students_interval():
    # Mean 3 / 7, variance 2 / 7, t(6, .975) = 2.446912: 2.446912 * sqrt(2) / 7 on either side.
    interval = bootstrap_mean([0.0] * 4 + [1.0] * 3, seed=1)
    half = 2.446912 * 2**0.5 / 7
    assert interval.low.value == pytest.approx(3 / 7 - half, abs=1e-6)
    assert interval.high.value == pytest.approx(3 / 7 + half, abs=1e-6)


def test_the_interval_leans_to_the_long_tail():
    interval = bootstrap_mean([0.1, 0.2, 0.3, 0.5, 0.8, 1.3, 2.1, 3.4, 5.5, 8.9], seed=1)
    mean = 2.31
    assert interval.high.value - mean > 1.5 * (mean - interval.low.value)


def test_nearly_equal_resamples_cannot_throw_an_end_away():
    # A tenth of the resamples hold none of the two far values; unbounded, their t would be ~ 1e6.
    values = [1e-6 * i for i in range(8)] + [1.0, 1.0]
    interval = bootstrap_mean(values, seed=1)
    deviation = 0.4217
    assert interval.high.value - interval.low.value < 2 * 10**0.5 * deviation


def test_few_clusters_carry_no_interval():
    values = [float(i % 7) for i in range(20)]
    for n_clusters, reason in ((1, "too_few_values"), (5, "too_few_values"), (6, None)):
        labels = [i % n_clusters for i in range(20)]
        assert bootstrap_mean(values, seed=1, clusters=labels).low.reason == reason


def test_standard_error_of_clusters_by_hand():
    # Mean 3. Clusters {1, 2}, {3}, {6}: sums of deviations -3, 0, 3, and 2, 3, 3 units outside.
    # Their squares over those are 4.5, 0 and 3, a fourth of which is the variance.
    error, deviations = standard_error(np.array([1.0, 2.0, 3.0, 6.0]), group("aabc", 4))
    assert deviations.tolist() == [-3.0, 0.0, 3.0]
    assert error == pytest.approx((7.5 / 4) ** 0.5)


def test_clusters_of_even_and_of_uneven_size_without_resamples():
    # Sums of deviations -5, -3, -1, 1, 3, 5 around 3: sqrt(70 / 10 / 12), t(5, .975) = 2.570582.
    values = [0.5, 0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5, 4.5, 4.5, 5.5, 5.5]
    labels = [i // 2 for i in range(12)]
    even = bootstrap_mean(values, seed=1, n_resamples=0, clusters=labels)
    assert even.high.value - 3 == pytest.approx(2.570582 * (7 / 12) ** 0.5, abs=1e-6)
    # One cluster that holds seven of twelve units leaves fewer than five degrees of freedom.
    labels = [0] * 7 + [1, 2, 3, 4, 5]
    uneven = bootstrap_mean(values, seed=1, n_resamples=0, clusters=labels)
    error, _ = standard_error(np.array(values), group(labels, 12))
    assert uneven.high.value - 3 > 1.5 * 2.570582 * error


def test_a_wider_confidence_gives_a_wider_interval():
    values = [1.0, 4.0, 2.0, 8.0, 5.0, 9.0]
    narrow, wide = (bootstrap_mean(values, seed=1, confidence=c) for c in (0.8, 0.99))
    assert wide.low.value < narrow.low.value < narrow.high.value < wide.high.value
