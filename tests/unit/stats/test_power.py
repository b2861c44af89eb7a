import pytest

from retrieval_eval.stats.power import (
    detectable_by_test_and_interval,
    smallest_detectable_difference,
)
from retrieval_eval.stats.resampling import attainable_level, sign_flip_p


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


def test_levels_the_sign_flip_test_can_reach():
    # Multiples of 2 / 2 ** n below .05: 1 of 32, 3 of 64, 6 of 128, 12 of 256.
    assert [attainable_level(n) for n in (5, 6, 7, 8, 9)] == [
        0.0,
        1 / 32,
        3 / 64,
        6 / 128,
        12 / 256,
    ]
    assert attainable_level(40) == pytest.approx(0.05)
    assert attainable_level(5_000) == pytest.approx(0.05)
    # A level that is itself a multiple is not below itself.
    assert attainable_level(6, 1 / 32) == 0.0
    assert sign_flip_p([1.0] * 6, seed=1)[0].value == attainable_level(6)


def test_what_test_and_interval_detect():
    assert detectable_by_test_and_interval(1.0, 5).reason == "too_few_values"
    assert detectable_by_test_and_interval(0.0, 9).reason == "constant_input"
    # .96349 ** 6 = .8 is the normal share below 1.7932.
    assert detectable_by_test_and_interval(2.0, 6).value == pytest.approx(2 * 1.7932, abs=1e-3)
    for n in (7, 12, 60):
        by_t = smallest_detectable_difference(1.0, n).value
        found = detectable_by_test_and_interval(1.0, n).value
        assert found == pytest.approx(by_t * (1 + 1.1 / n), abs=1e-9)


def test_the_stricter_of_test_and_interval_decides():
    # 1 / 64 is the only p-value below .02: all seven are positive, .8 = .96862 ** 7, the normal
    # share below 1.8610. At .05 three of 64 patterns count, and the interval needs more.
    assert detectable_by_test_and_interval(1.0, 7, alpha=0.02).value == pytest.approx(
        1.861, abs=1e-3
    )
    at_five = detectable_by_test_and_interval(1.0, 7).value
    assert at_five > smallest_detectable_difference(1.0, 7, alpha=3 / 64).value


def test_a_level_that_the_test_cannot_reach_finds_nothing():
    # The least p-value of 11 pairs is 2 / 2 ** 11 = .00098, that of 12 is .00049: then all twelve
    # are positive, .8 = .98158 ** 12, the normal share below 2.0875.
    assert detectable_by_test_and_interval(1.0, 11, alpha=0.0009).reason == "too_few_values"
    found = detectable_by_test_and_interval(1.0, 12, alpha=0.0009).value
    assert found == pytest.approx(2.0875, abs=1e-3)
    # 1 - 1e-17 is 1: no level is so small that the search does not end.
    assert detectable_by_test_and_interval(1.0, 9, alpha=1e-17).reason == "too_few_values"
    assert smallest_detectable_difference(1.0, 9, alpha=1e-17).value > 10
