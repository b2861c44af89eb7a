import numpy as np
import pytest

from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.stats.kaplan_meier import kaplan_meier, time_to_event
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.stats.time_to_event import compare_times, pseudo_times

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


# Pairs


def raced(n, gives_up, seed):
    """Return equally fast arms; the second gives up sooner, or not."""
    generator = np.random.default_rng(seed)
    task = generator.lognormal(0, 0.5, n)
    arms = []
    for rate in (0.2, gives_up):
        hit, end = task * generator.exponential(1, n), generator.exponential(1 / rate, n)
        arms.append([[h] if h <= e else [None] for h, e in zip(hit, end, strict=True)])
    return arms


def test_restricted_means_of_pairs_by_hand():
    before = [[2.0], [4.0, 8.0], [None], [5.0]]
    after = [[1.0], [None, 2.0], [6.0], [None]]
    found = compare_times(before, after, seed=SEED)
    # The latest hit is at 8: 2, 6, 8, 5 against 1, 5, 6, 8.
    assert found.until == 8.0
    assert found.compared.mean_baseline.value == 21 / 4
    assert found.compared.mean_comparison.value == 20 / 4
    assert (found.never_baseline.value, found.never_comparison.value) == (1 / 4, 1.5 / 4)
    # Each unit of time beyond 8 adds 1/8 to the difference of -1/4.
    assert found.until_tipping == 10.0
    expected = compare_paired([2, 6, 8, 5], [1, 5, 6, 8], seed=SEED, is_higher_better=False)
    assert found.compared == expected


def test_it_is_the_area_above_the_cumulative_incidence():
    before, after = raced(30, 1.0, 3)
    found = compare_times(before, after, seed=SEED)
    for arm, mean in (
        (before, found.compared.mean_baseline),
        (after, found.compared.mean_comparison),
    ):
        # Units without the event stay at risk for ever: the curve that observes them to the end.
        times = [found.until if time is None else time for (time,) in arm]
        curve = kaplan_meier(times, [time is not None for (time,) in arm])
        assert mean.value == pytest.approx(curve.area(found.until))


def test_an_arm_that_gives_up_early_is_not_faster():
    before, after = raced(4000, 2.0, 5)
    found = compare_times(before, after, seed=SEED, n_resamples=99)
    assert found.never_comparison.value > found.never_baseline.value + 0.3
    assert found.compared.mean_difference.value > 0
    # Among those that hit it seems to be.
    means = [np.mean([t for (t,) in arm if t is not None]) for arm in (before, after)]
    assert means[1] < means[0]


def test_the_restricted_difference_covers_the_truth():
    generator = np.random.default_rng(1)
    task = generator.lognormal(0, 0.5, 200_000)
    truth = []
    for rate in (0.2, 1.0):
        hit, end = (
            task * generator.exponential(1, len(task)),
            generator.exponential(1 / rate, len(task)),
        )
        truth.append(np.sort(np.where(hit <= end, hit, np.inf)))
    covered = 0
    for seed in range(200):
        found = compare_times(*raced(30, 1.0, 100 + seed), seed=SEED, n_resamples=199)
        expected = [np.minimum(times, found.until).mean() for times in truth]
        ends = found.compared.interval
        covered += ends.low.value <= expected[1] - expected[0] <= ends.high.value
    # At 95 % it is below 182 in one of a hundred such series.
    assert covered >= 182


def test_swapped_arms_mirror_the_times():
    before, after = raced(25, 1.0, 2)
    found, other = (compare_times(*arms, seed=SEED) for arms in ((before, after), (after, before)))
    assert other.until == found.until
    assert other.until_tipping == pytest.approx(found.until_tipping)
    assert other.compared.mean_difference.value == -found.compared.mean_difference.value
    assert other.compared.interval.low.value == -found.compared.interval.high.value
    assert other.never_baseline == found.never_comparison


def test_of_few_clusters_everything_is_of_their_means():
    before, after = [[2.0], [4.0], [6.0], [8.0]], [[None], [4.0], [6.0], [10.0]]
    found = compare_times(before, after, seed=SEED, clusters=["a", "a", "a", "b"])
    assert found.compared.clustering == "cluster_means"
    assert found.compared.mean_difference.value == (8 / 3 + 2) / 2
    assert found.never_comparison.value == pytest.approx(1 / 6)
    assert found.until_tipping is None


def test_times_without_any_event_and_impossible_ones():
    assert compare_times([[None]] * 4, [[None]] * 4, seed=SEED) is None
    assert compare_times([], [], seed=SEED) is None
    few = compare_times([[1.0], [2.0]], [[1.0], [None]], seed=SEED)
    assert few.compared.mean_difference.reason == few.never_baseline.reason == "too_few_pairs"
    for time in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="negative or not finite"):
            compare_times([[time]], [[1.0]], seed=SEED)
