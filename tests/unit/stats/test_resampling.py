import numpy as np

from retrieval_eval.stats.resampling import mirrored_quantiles


def test_order_statistics_by_hand():
    # (9999 + 1) * .025 = 250: the 250th from either side.
    values = np.arange(1.0, 10_000.0)[::-1]
    assert mirrored_quantiles(values, 0.95) == (250.0, 9750.0)


def test_few_numbers_give_their_extremes():
    assert mirrored_quantiles(np.array([3.0, 1.0, 2.0]), 0.95) == (1.0, 3.0)
    assert mirrored_quantiles(np.array([5.0]), 0.95) == (5.0, 5.0)
    assert mirrored_quantiles(np.array([]), 0.95) is None


def test_no_coverage_leaves_the_middle():
    assert mirrored_quantiles(np.array([3.0, 1.0, 2.0]), 0.0) == (2.0, 2.0)


def test_mirrored_numbers_give_mirrored_ends():
    values = np.random.Generator(np.random.PCG64(1)).normal(size=777)
    low, high = mirrored_quantiles(values, 0.9)
    assert mirrored_quantiles(-values, 0.9) == (-high, -low)
