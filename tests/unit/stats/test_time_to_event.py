import numpy as np
import pytest

from retrieval_eval.stats.paired import compare_paired, compare_times

SEED = 7


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
    expected = compare_paired([2, 6, 8, 5], [1, 5, 6, 8], seed=SEED, is_higher_better=False)
    assert found.compared == expected


def test_an_arm_that_gives_up_early_is_not_faster():
    before, after = raced(4000, 2.0, 5)
    found = compare_times(before, after, seed=SEED, n_resamples=99)
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
    assert other.compared.mean_difference.value == -found.compared.mean_difference.value
    assert other.compared.interval.low.value == -found.compared.interval.high.value


def test_of_few_clusters_everything_is_of_their_means():
    before, after = [[2.0], [4.0], [6.0], [8.0]], [[None], [4.0], [6.0], [10.0]]
    found = compare_times(before, after, seed=SEED, clusters=["a", "a", "a", "b"])
    assert found.compared.clustering == "cluster_means"
    assert found.compared.mean_difference.value == (8 / 3 + 2) / 2


def test_times_without_any_event_and_impossible_ones():
    assert compare_times([[None]] * 4, [[None]] * 4, seed=SEED) is None
    assert compare_times([], [], seed=SEED) is None
    few = compare_times([[1.0], [2.0]], [[1.0], [None]], seed=SEED)
    assert few.compared.mean_difference.reason == "too_few_pairs"
    for time in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="negative or not finite"):
            compare_times([[time]], [[1.0]], seed=SEED)
