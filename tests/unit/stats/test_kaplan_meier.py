import math

import pytest

from retrieval_eval.stats.kaplan_meier import kaplan_meier
from retrieval_eval.stats.proportions import wilson

# Times of remission in weeks, 6-MP group of Freireich et al. (1963); + is censored.
TIMES = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
CENSORED = {3, 5, 7, 8, 11, 12, 13, 16, 17, 18, 19, 20}  # positions of 6+ 9+ 10+ 11+ 17+ ...


def test_published_example():
    curve = kaplan_meier(TIMES, [place not in CENSORED for place in range(len(TIMES))])
    assert curve.times == (6, 7, 10, 13, 16, 22, 23)
    published = (0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448)
    assert curve.survival == pytest.approx(published, abs=5e-4)
    assert curve.median().value == 23
    assert (curve.n, curve.n_events) == (21, 9)
    assert curve.share_never().value == 12 / 21
    assert curve.share_never_interval() == wilson(12, 21)


def test_published_pointwise_interval():
    # Log-log limits of the 6-MP group as survfit(conf.type = "log-log") prints them.
    curve = kaplan_meier(TIMES, [place not in CENSORED for place in range(len(TIMES))])
    low = (0.620, 0.563, 0.503, 0.432, 0.368, 0.268, 0.188)
    high = (0.952, 0.923, 0.889, 0.849, 0.805, 0.747, 0.680)
    assert curve.low == pytest.approx(low, abs=5e-4)
    assert curve.high == pytest.approx(high, abs=5e-4)
    # Its lower limit falls below one half at 13, its upper one never does.
    interval = curve.median_interval()
    assert interval.low.value == 13
    assert interval.high.reason == "too_few_values"


def test_limits_by_hand():
    # Survival .5 after 2 of 4: Greenwood 2 / (4 * 2), so .5 / ln 2 = .72135 on the log(-log) scale.
    curve = kaplan_meier([1.0, 1.0, 2.0, 2.0], [True] * 4)
    spread = math.exp(1.959964 * 0.721348)
    assert curve.low == (pytest.approx(0.5**spread, abs=1e-6), None)
    assert curve.high == (pytest.approx(0.5 ** (1 / spread), abs=1e-6), None)
    assert curve.median_interval().low.value == 1.0
    # After 2 no unit is left: the upper limit is below one half there although it has no number.
    assert curve.median_interval().high.value == 2.0


def test_without_censoring_the_restricted_mean_is_the_mean():
    curve = kaplan_meier([1.0, 2.0, 6.0], [True, True, True])
    assert curve.restricted_mean(6.0).value == pytest.approx(3.0)
    assert curve.restricted_mean(100.0).value == pytest.approx(3.0)
    assert curve.restricted_mean(2.0).value == pytest.approx((1 + 2 + 2) / 3)
    assert curve.median().value == 2.0


def test_restricted_mean_by_hand():
    # Survival 1 until 1, .75 until 3, .375 until 4.
    curve = kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, False])
    assert curve.restricted_mean(4.0).value == pytest.approx(1 + 0.75 * 2 + 0.375)
    assert curve.restricted_mean(4.5).reason == "too_few_values"


def test_never_reached():
    curve = kaplan_meier([5.0, 7.0, 9.0], [True, False, False])
    assert curve.median().reason == "too_few_values"
    curve = kaplan_meier([5.0, 7.0], [False, False])
    assert curve.median().reason == "too_few_values"
    assert curve.restricted_mean(7.0).value == 7.0
    assert curve.restricted_mean(8.0).reason == "too_few_values"


def test_half_is_the_median_despite_rounding():
    assert kaplan_meier([1, 2, 3, 4], [True] * 4).median().value == 2


def test_no_units():
    curve = kaplan_meier([], [])
    assert curve.median().reason == "too_few_values"
    assert curve.restricted_mean(1.0).reason == "too_few_values"
    assert curve.share_never().reason == "too_few_values"
    assert curve.median_interval().low.reason == "too_few_values"


def test_bad_rows_are_refused():
    for times, events in (([1.0], []), ([-1.0], [True])):
        with pytest.raises(ValueError, match="at least 0"):
            kaplan_meier(times, events)
