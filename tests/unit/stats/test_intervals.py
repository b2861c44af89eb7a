import pytest

from retrieval_eval.stats.intervals import bootstrap_mean, wilson
from retrieval_eval.stats.power import smallest_detectable_difference


def test_wilson_published_example():
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for successes, n, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        interval = wilson(successes, n)
        assert interval.low.value == pytest.approx(low, abs=5e-5)
        assert interval.high.value == pytest.approx(high, abs=5e-5)


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


def test_bootstrap_mean_repeats_with_the_seed():
    values = [1.0, 4.0, 2.0, 8.0, 5.0]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_a_wider_confidence_gives_a_wider_interval():
    values = [1.0, 4.0, 2.0, 8.0, 5.0, 9.0]
    narrow, wide = (bootstrap_mean(values, seed=1, confidence=c) for c in (0.8, 0.99))
    assert wide.low.value < narrow.low.value < narrow.high.value < wide.high.value


def test_resampling_in_batches_changes_nothing(monkeypatch):
    from retrieval_eval.stats import intervals

    values = [float(i * i % 17) for i in range(30)]
    whole = bootstrap_mean(values, seed=1, n_resamples=500)
    monkeypatch.setattr(intervals, "BATCH_CELLS", 100)
    parts = bootstrap_mean(values, seed=1, n_resamples=500)
    assert parts.low.value == pytest.approx(whole.low.value, abs=1e-12)
    assert parts.high.value == pytest.approx(whole.high.value, abs=1e-12)


def test_smallest_detectable_difference_inverts_published_sample_sizes():
    # Cohen (1988): a paired t test with power .80 at two-sided .05 needs 34 pairs for d = 0.5,
    # 199 for d = 0.2 and 15 for d = 0.8 (G*Power gives the same).
    for n, effect in ((34, 0.5), (199, 0.2), (15, 0.8)):
        assert smallest_detectable_difference(1.0, n).value <= effect
        assert smallest_detectable_difference(1.0, n - 1).value > effect


def test_smallest_detectable_difference_is_in_the_unit_of_the_data():
    one = smallest_detectable_difference(1.0, 12).value
    assert smallest_detectable_difference(60.0, 12).value == pytest.approx(60 * one)
    assert smallest_detectable_difference(1.0, 2).reason == "too_few_pairs"
    assert smallest_detectable_difference(0.0, 12).reason == "constant_input"
