import pytest

from retrieval_eval.stats.calibration import cell, reliability
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.stats.proportions import wilson

SEED = 7


def test_bins_hold_their_lower_border_and_the_last_one_both():
    predictor = [0.0, 0.19, 0.2, 0.59, 0.6, 0.8, 1.0]
    bins = reliability(predictor, [0, 1, 0, 1, 1, 1, 1], seed=SEED)
    assert [b.outcome.n for b in bins] == [2, 1, 1, 1, 2]
    assert [(b.low, b.high) for b in bins][:2] == [(0.0, 0.2), (0.2, 0.4)]
    assert [b.outcome.mean.value for b in bins] == [0.5, 0.0, 1.0, 1.0, 1.0]
    assert bins[0].predictor.value == pytest.approx(0.095)


def test_binary_outcomes_have_wilsons_interval_in_every_bin():
    bins = reliability(
        [0.1] * 6 + [0.9] * 5, [1, 0, 0, 0, 1, 0] + [1] * 5, seed=SEED, edges=(0, 0.5, 1)
    )
    assert bins[0].outcome.interval == wilson(2, 6)
    assert bins[1].outcome.interval == wilson(5, 5)


def test_one_graded_outcome_makes_all_bins_graded():
    outcome = [0.5, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0]
    bins = reliability([0.1] * 6 + [0.9] * 5, outcome, seed=SEED, edges=(0, 0.5, 1))
    assert bins[1].outcome.interval == bootstrap_mean(outcome[6:], seed=SEED)


def test_tiers_may_end_in_infinity_and_be_empty():
    inf = float("inf")
    bins = reliability([3, 30], [1, 0], seed=SEED, edges=(-inf, 0, 10, inf))
    assert [b.outcome.n for b in bins] == [0, 1, 1]
    assert bins[0].outcome.mean.reason == "too_few_values"
    assert bins[0].outcome.interval.low.reason == "too_few_values"
    assert bins[0].predictor.reason == "too_few_values"
    assert not bins[0].outcome.is_interpretable


def test_cells_under_five_are_not_interpretable():
    assert not cell([1, 0, 1, 0], is_binary=True, seed=SEED).is_interpretable
    assert cell([1, 0, 1, 0, 1], is_binary=True, seed=SEED).is_interpretable


def test_what_cannot_be_binned_is_refused():
    for arguments, message in (
        ({"predictor": [1.1], "outcome": [1]}, "outside"),
        ({"predictor": [-0.1], "outcome": [1]}, "outside"),
        ({"predictor": [0.1, 0.2], "outcome": [1]}, "one number for each"),
        ({"predictor": [0.1], "outcome": [1], "edges": (0, 0, 1)}, "ascend"),
        ({"predictor": [0.1], "outcome": [1], "edges": (0,)}, "ascend"),
    ):
        with pytest.raises(ValueError, match=message):
            reliability(**arguments, seed=SEED)
    with pytest.raises(ValueError, match="0 or 1"):
        cell([0.5], is_binary=True, seed=SEED)
