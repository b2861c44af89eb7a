import pytest

from retrieval_eval.stats.intervals import bootstrap_mean, wilson
from retrieval_eval.stats.time_to_event import pseudo_times, time_to_event

SEED = 7


def test_pseudo_times_by_hand():
    times, events = [1.0, 2.0, 3.0, 4.0], [True, False, True, False]
    # Without 1: survival 1 until 3, then 1/2: 3.5. Without 2+: 2/3 from 1, 1/3 from 3: 8/3.
    # Without 3: 2/3 from 1 on: 3. Without 4+: 2/3 from 1, 0 from 3: 7/3.
    rest = [3.5, 1 + 2 * 2 / 3 + 1 / 3, 3.0, 1 + 2 * 2 / 3]
    expected = [4 * 2.875 - 3 * area for area in rest]
    assert pseudo_times(times, events, 4.0).tolist() == pytest.approx(expected)


def test_without_censoring_it_is_the_mean_of_the_times():
    times = [1.0, 2.0, 6.0, 4.0, 9.0]
    found = time_to_event(times, [True] * 5, seed=SEED)
    assert found.until == 9.0
    assert found.restricted_mean.value == pytest.approx(4.4)
    expected = bootstrap_mean(times, seed=SEED)
    interval = found.restricted_mean_interval
    assert interval.low.value == pytest.approx(expected.low.value)
    assert interval.high.value == pytest.approx(expected.high.value)
    assert found.never.value == 0.0


def test_everything_of_one_group():
    times = [3.0, 5.0, 5.0, 8.0, 12.0, 20.0, 20.0, 20.0]
    events = [True] * 5 + [False] * 3
    found = time_to_event(times, events, seed=SEED, until=10.0)
    assert found.never.value == 3 / 8
    assert found.never_interval == wilson(3, 8)
    assert found.median.value == 8.0
    # Areas: 3 at 1, 2 at 7/8, 3 at 5/8, 2 at 4/8.
    assert found.restricted_mean.value == pytest.approx(3 + 2 * 7 / 8 + 3 * 5 / 8 + 2 * 4 / 8)
    ends = found.restricted_mean_interval
    assert ends.low.value < found.restricted_mean.value < ends.high.value
    assert found.median_interval.low.value <= 8.0


def test_no_unit_hit():
    found = time_to_event([5.0, 7.0, 7.0], [False] * 3, seed=SEED)
    assert found.never.value == 1.0
    assert found.median.reason == "too_few_values"
    assert found.restricted_mean.value == 7.0
    # There is no event, so the spread of the area is not known.
    assert found.restricted_mean_interval.low.reason == "constant_input"


def test_beyond_what_was_watched():
    found = time_to_event([5.0, 7.0, 8.0], [True, True, False], seed=SEED, until=9.0)
    assert found.restricted_mean.reason == "too_few_values"
    assert found.restricted_mean_interval.low.reason == "too_few_values"


def test_no_units():
    found = time_to_event([], [], seed=SEED)
    assert found.never.reason == "too_few_values"
    assert found.never_interval.low.reason == "too_few_values"
    assert found.restricted_mean_interval.low.reason == "too_few_values"


def test_clusters_reach_the_restricted_mean():
    times = [float(1 + i * 7 % 12) for i in range(12)]
    labels = [i // 2 for i in range(12)]
    found = time_to_event(times, [True] * 12, seed=SEED, clusters=labels)
    assert found.restricted_mean_interval.low.n == 6
