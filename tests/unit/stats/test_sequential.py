import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from retrieval_eval.stats.sequential import (
    LARGEST_BET,
    PRIOR_VALUES,
    always_valid_bounded,
    always_valid_mean,
)


def _capital_by_hand(shares, mean):
    """The capital after every value that bets on a larger mean, one value at a time."""
    found, capital = [], 1.0
    for i, value in enumerate(shares, 1):
        seen = shares[: i - 1]
        centres = [(0.5 + sum(shares[: j + 1])) / (j + 2) for j in range(i - 1)]
        squares = sum((x - m) ** 2 for x, m in zip(seen, centres, strict=True))
        variance = (0.25 + squares) / i
        stake = math.sqrt(2 * math.log(2 / 0.05) / (variance * i * math.log(i + 1)))
        capital *= 1 + min(stake, LARGEST_BET / mean) * (value - mean)
        found.append(capital)
    return found


def test_p_is_twice_the_inverse_of_the_largest_capital():
    rows = [0.4, 0.1, 0.3, -0.1, 0.5, 0.2, 0.3, 0.4, 0.0, 0.6]
    best = max(_capital_by_hand([(d + 1) / 2 for d in rows], 0.5))
    assert always_valid_bounded(rows).p_value.value == pytest.approx(2 / best)


def test_the_interval_ends_where_the_capital_reaches_the_bar():
    rows = np.random.default_rng(4).uniform(-0.1, 0.6, 40)
    found = always_valid_bounded(rows)
    at_end = (found.interval.low.value + 1) / 2
    assert max(_capital_by_hand(list((rows + 1) / 2), at_end)) == pytest.approx(40, rel=1e-6)


def test_negated_values_mirror_both_intervals():
    rows = np.random.default_rng(4).uniform(-0.2, 0.6, 40)
    for made in (always_valid_bounded, always_valid_mean):
        one, other = made(rows), made(-rows)
        assert one.interval.low.value == pytest.approx(-other.interval.high.value)
        assert one.p_value.value == pytest.approx(other.p_value.value)


def test_more_values_never_widen_an_interval():
    rows = np.random.default_rng(6).uniform(-0.4, 0.6, 60)
    for made in (always_valid_bounded, always_valid_mean):
        looks = [made(rows[:n]) for n in range(8, 61)]
        for before, after in itertools.pairwise(looks):
            assert after.interval.low.value >= before.interval.low.value - 1e-12
            assert after.interval.high.value <= before.interval.high.value + 1e-12
            assert after.p_value.value <= before.p_value.value


def test_interval_and_p_agree_about_zero():
    rng = np.random.default_rng(7)
    for shift in (0.0, 0.05, 0.1, 0.2, 0.3):
        for _ in range(10):
            rows = np.clip(rng.normal(shift, 0.3, 40), -1, 1)
            for made in (always_valid_bounded, always_valid_mean):
                found = made(rows)
                has_zero = found.interval.low.value <= 0 <= found.interval.high.value
                assert has_zero == (found.p_value.value > 0.05)


def test_the_mixture_is_that_of_noncentral_t():
    rows = np.array([0.3, -0.2, 0.5, 0.4, 0.9, 0.1, 0.6])

    def ratio(n):
        t = math.sqrt(n) * rows[:n].mean() / rows[:n].std(ddof=1)
        mixed, _ = integrate.quad(
            lambda effect: (
                stats.nct.pdf(t, n - 1, effect * math.sqrt(n))
                * stats.norm.pdf(effect, 0, PRIOR_VALUES**-0.5)
            ),
            -6,
            6,
        )
        return mixed / stats.t.pdf(t, n - 1)

    best = max(ratio(n) for n in range(2, 8))
    assert always_valid_mean(rows).p_value.value == pytest.approx(1 / best, rel=1e-6)


@pytest.mark.parametrize(
    ("made", "draw", "most"),
    [
        (always_valid_bounded, lambda rng: np.clip(rng.normal(0, 0.3, 80), -1, 1), 0.05),
        (always_valid_bounded, lambda rng: (rng.random(80) < 0.1) - 0.1, 0.05),
        (always_valid_mean, lambda rng: rng.normal(0, 3, 80), 0.05),
        # Skewed values are not normal: the approximation exceeds the level.
        (always_valid_mean, lambda rng: rng.exponential(1, 80) - 1, 0.12),
    ],
)
def test_looking_after_every_value_seldom_finds_what_is_not_there(made, draw, most):
    rng = np.random.default_rng(11)
    found = [made(draw(rng)).p_value.value <= 0.05 for _ in range(600)]
    assert np.mean(found) <= most + 2 * math.sqrt(0.05 * 0.95 / 600)


def test_what_has_no_interval_has_a_reason():
    assert always_valid_bounded([]).interval.low.reason == "too_few_values"
    assert always_valid_mean([0.1]).p_value.reason == "too_few_values"
    assert always_valid_mean([0.1, 0.3]).interval.low.reason == "too_few_values"
    assert always_valid_mean([0.1] * 9).interval.low.reason == "constant_input"
    drift = [0.0, 0.01, -0.01, 0.0, 0.01] * 20 + [1.0, 0.99, 0.98, 1.0, 0.97] * 200
    assert always_valid_bounded(drift).interval.low.reason == "mean_drifts"
    # One value of a bounded metric says nothing yet, and that is an interval.
    first = always_valid_bounded([0.3])
    assert (first.interval.low.value, first.interval.high.value) == (-1.0, 1.0)
    assert first.p_value.value == 1.0
    with pytest.raises(ValueError, match="outside"):
        always_valid_bounded([0.2, 1.2])


def test_equal_first_values_do_not_end_the_study():
    # Tied values have no spread yet; the mixture waits for one that differs.
    found = always_valid_mean([0.0, 0.0, 0.0, 0.2, 0.1, 0.0, 0.3, 0.2, 0.1])
    assert found.interval.low.value < 0.1 < found.interval.high.value
