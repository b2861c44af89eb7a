"""The statistics against scipy, where both do the same thing."""

import numpy as np
import pytest
from scipy import stats

from retrieval_eval.stats.censored import kaplan_meier
from retrieval_eval.stats.correlation import spearman
from retrieval_eval.stats.intervals import bootstrap_mean, wilson
from retrieval_eval.stats.multiplicity import benjamini_hochberg
from retrieval_eval.stats.paired import compare_paired, rank_biserial, sign_flip_p
from retrieval_eval.stats.power import smallest_detectable_difference
from retrieval_eval.stats.ranks import average_ranks

RNG = np.random.Generator(np.random.PCG64(5))


def samples(n_cases, sizes=(6, 40)):
    for case in range(n_cases):
        n = int(RNG.integers(*sizes))
        x, y = RNG.normal(size=n), RNG.normal(size=n)
        if case % 2:
            # Coarse numbers tie.
            x, y = np.round(x), np.round(y)
        yield x, y


def test_ranks():
    for x, _ in samples(50):
        np.testing.assert_array_equal(average_ranks(x), stats.rankdata(x))


def test_spearman_r_and_t_p_value():
    for x, y in samples(100, (31, 80)):
        ours, theirs = spearman(x, y, seed=1, n_resamples=10), stats.spearmanr(x, y)
        assert ours.r.value == pytest.approx(theirs.statistic, abs=1e-12)
        assert ours.p_value.value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_spearman_exact_p_value():
    for x, y in samples(16, (6, 9)):
        if len(set(x)) == 1 or len(set(y)) == 1:
            continue
        # Of the ranks only the sum of products changes with the arrangement. scipy doubles the
        # smaller tail; the null distribution is the same.
        a, b = (stats.rankdata(side) - (len(side) + 1) / 2 for side in (x, y))
        theirs = stats.permutation_test(
            (a,),
            lambda arranged, axis, b=b: (arranged * b).sum(axis=axis),
            permutation_type="pairings",
            vectorized=True,
            n_resamples=np.inf,
        )
        null = theirs.null_distribution
        expected = np.mean(np.abs(null) >= abs(theirs.statistic) - 1e-9)
        assert spearman(x, y, seed=1, n_resamples=10).p_value.value == pytest.approx(
            expected, abs=1e-12
        )


def test_spearman_monte_carlo_p_value_is_near_the_t_one():
    for x, y in samples(10, (25, 31)):
        ours = spearman(x, y, seed=1)
        assert ours.p_method == "monte_carlo"
        assert ours.p_value.value == pytest.approx(stats.spearmanr(x, y).pvalue, abs=0.03)


def test_spearman_interval_is_near_scipys_bootstrap():
    x = RNG.normal(size=60)
    y = x + RNG.normal(size=60)
    theirs = stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=3000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    ours = spearman(x, y, seed=1).interval
    assert ours.low.value == pytest.approx(theirs.low, abs=0.02)
    assert ours.high.value == pytest.approx(theirs.high, abs=0.02)


def test_sign_flips_exact():
    for x, y in samples(40, (6, 13)):
        theirs = stats.permutation_test(
            (x - y,),
            lambda d, axis: d.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert sign_flip_p(x - y, seed=1)[0].value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_sign_flips_drawn_are_near_the_t_test():
    for _ in range(5):
        x = RNG.normal(0.2, size=60)
        p_value, method = sign_flip_p(x, seed=1)
        assert method == "monte_carlo"
        assert p_value.value == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.02)


def test_rank_biserial_is_wilcoxons_statistic():
    for x, y in samples(40):
        differences = x - y
        kept = differences[differences != 0]
        greater = stats.wilcoxon(kept, alternative="greater", method="approx").statistic
        total = len(kept) * (len(kept) + 1) / 2
        expected = 2 * greater / total - 1
        assert rank_biserial(differences).value == pytest.approx(expected, abs=1e-12)


def test_benjamini_hochberg():
    for _ in range(50):
        p_values = RNG.random(int(RNG.integers(1, 30))) ** 2
        expected = stats.false_discovery_control(p_values)
        assert benjamini_hochberg(p_values.tolist()).values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [8, 30, 200])
def test_bca_interval_is_near_scipys(n):
    for skewed in (RNG.normal(size=n), RNG.exponential(size=n)):
        theirs = stats.bootstrap(
            (skewed,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(2)
        ).confidence_interval
        ours = bootstrap_mean(skewed, seed=1, n_resamples=20_000)
        tolerance = 0.06 * (theirs.high - theirs.low)
        assert ours.low.value == pytest.approx(theirs.low, abs=tolerance)
        assert ours.high.value == pytest.approx(theirs.high, abs=tolerance)


def test_means_and_medians():
    for x, y in samples(20):
        ours = compare_paired(x, y, seed=1, n_resamples=10)
        assert ours.mean_difference.value == pytest.approx(np.mean(y - x), abs=1e-12)
        assert ours.median_difference.value == pytest.approx(np.median(y - x), abs=1e-12)


def test_wilson():
    for successes, n in ((0, 5), (3, 7), (50, 60), (9, 9)):
        theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
        ours = wilson(successes, n)
        assert ours.low.value == pytest.approx(theirs.low, abs=1e-12)
        assert ours.high.value == pytest.approx(theirs.high, abs=1e-12)


def test_smallest_detectable_difference_has_power_point_eight():
    for n in (3, 6, 20, 150):
        difference = smallest_detectable_difference(2.0, n).value
        shift = difference / 2.0 * np.sqrt(n)
        critical = stats.t.ppf(0.975, n - 1)
        power = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
        assert power == pytest.approx(0.8, abs=1e-6)


def test_kaplan_meier():
    for _ in range(30):
        times = RNG.integers(1, 15, size=25).astype(float)
        events = RNG.random(25) < 0.7
        if not events.any():
            continue
        data = stats.CensoredData.right_censored(times, ~events)
        theirs = stats.ecdf(data).sf
        ours = kaplan_meier(times, events)
        assert ours.survival == pytest.approx(theirs.evaluate(ours.times), abs=1e-12)


@pytest.mark.parametrize("n", [12, 40])
def test_the_interval_covers_the_truth_as_often_as_it_says(n):
    rng = np.random.Generator(np.random.PCG64(11))
    covered = 0
    for trial in range(300):
        interval = bootstrap_mean(rng.normal(1.0, size=n), seed=trial, n_resamples=1000)
        covered += interval.low.value <= 1.0 <= interval.high.value
    # Bootstrap intervals of few values are known to be somewhat short.
    assert 0.88 <= covered / 300 <= 0.98
