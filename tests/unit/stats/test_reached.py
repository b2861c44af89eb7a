"""By when units had an event."""

import pytest

from retrieval_eval.search.change.paired_change import quantile
from retrieval_eval.stats.proportions import reached


def test_the_share_by_a_time_is_that_of_all_units():
    found = reached([3.0, None, 1.0, 3.0, None])
    assert found.curve == ((1.0, 0.2), (3.0, 0.6))
    assert (found.n, found.n_events, found.never.value) == (5, 3, 0.4)
    assert found.median.value == 3.0
    assert found.never_interval.low.value < 0.4 < found.never_interval.high.value


def test_fewer_than_half_have_no_median_and_never_is_later_than_any_time():
    few = reached([1.0, None, None])
    assert few.median.reason == "never_hit"
    assert reached([None, None]).curve == ()
    assert reached([]).median.reason == reached([]).never.reason == "too_few_values"
    # Of 20 values the interval of the median ends at the 6th and the 15th.
    found = reached([*map(float, range(1, 15)), *[None] * 6])
    assert (found.median.value, *found.median_interval) == (10.0, 6.0, None)
    assert reached([*map(float, range(1, 16)), *[None] * 5]).median_interval == (6.0, 15.0)


@pytest.mark.parametrize("time", [-1.0, float("inf"), float("nan")])
def test_impossible_times_of_one_row_are_refused(time):
    with pytest.raises(ValueError, match="negative or not finite"):
        reached([time])


@pytest.mark.parametrize("n", [6, 7, 20, 101, 2000])
def test_the_interval_of_the_median_is_that_of_quantiles(n):
    values = [float(i) for i in range(n)]
    expected = quantile(values, 0.5)
    found = reached(values)
    assert (found.median.value, *found.median_interval) == (
        expected.value,
        expected.ci_low,
        expected.ci_high,
    )
