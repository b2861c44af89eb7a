"""The statistics against scipy, where both do the same thing."""

import itertools

import numpy as np
import pytest
from scipy import stats

from retrieval_eval.stats.correlation import average_ranks, spearman
from retrieval_eval.stats.intervals import bootstrap_mean, standard_error
from retrieval_eval.stats.multiplicity import benjamini_hochberg, holm
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.power import (
    detectable_by_test_and_interval,
    smallest_detectable_difference,
)
from retrieval_eval.stats.proportions import beta_quantile, hypergeometric_tail, t_quantile, wilson
from retrieval_eval.stats.resampling import group, sign_flip_p

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


@pytest.mark.parametrize("share", [0.55, 0.9, 0.975, 0.995])
def test_quantiles(share):
    sizes = [0.5, 1, 2.5, 3, 17, 29.5, 30, 200]
    for a, b in itertools.product(sizes, repeat=2):
        for tail in (share, 1 - share):
            expected = stats.beta.ppf(tail, a, b)
            assert beta_quantile(a, b, tail) == pytest.approx(expected, rel=2e-13)
    for freedom in (1, 1.3, 2, 3, 7.7, 25, 60, 61, 5999):
        expected = stats.t.ppf(share, freedom)
        assert t_quantile(freedom, share) == pytest.approx(expected, rel=2e-13)


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
    r = stats.spearmanr(x, y).statistic
    half = 1.959964 * np.sqrt((1 + r * r / 2) / 57)
    ours = spearman(x, y, seed=1).interval
    assert ours.low.value == pytest.approx(min(theirs.low, np.tanh(np.arctanh(r) - half)), abs=0.02)
    assert ours.high.value == pytest.approx(
        max(theirs.high, np.tanh(np.arctanh(r) + half)), abs=0.02
    )


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


def test_benjamini_hochberg():
    for _ in range(50):
        p_values = RNG.random(int(RNG.integers(1, 30))) ** 2
        expected = stats.false_discovery_control(p_values)
        assert benjamini_hochberg(p_values.tolist()).values == pytest.approx(expected, abs=1e-12)


def test_holm_is_the_closed_test_of_bonferroni():
    # By the closure principle a hypothesis falls when every set that holds it does.
    for _ in range(20):
        p_values = (RNG.random(int(RNG.integers(1, 8))) ** 3).tolist()
        places = range(len(p_values))
        sets = [c for size in places for c in itertools.combinations(places, size + 1)]
        expected = [
            max(min(1.0, len(s) * min(p_values[i] for i in s)) for s in sets if place in s)
            for place in places
        ]
        assert holm(p_values).values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [10, 30, 200])
def test_the_interval_of_a_mean_is_near_the_two_textbook_ones_it_rests_on(n):
    rng = np.random.Generator(np.random.PCG64(n))
    counts = rng.geometric(0.5, size=n).astype(float)
    sparse = np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n))
    for sample in (rng.normal(size=n), rng.exponential(size=n), sparse, counts):
        error = stats.sem(sample)
        rows = sample[rng.integers(0, n, (40_000, n))]
        errors = stats.sem(rows, axis=1)
        rows, errors = rows[errors > 1e-9], errors[errors > 1e-9]
        drawn = (rows.mean(axis=1) - sample.mean()) / np.maximum(errors, error / np.sqrt(n))
        upper, lower = np.quantile(drawn, [0.975, 0.025])
        student = stats.t.interval(0.95, n - 1, sample.mean(), error)
        ours = bootstrap_mean(sample, seed=1, n_resamples=30_000)
        tolerance = 0.05 * (student[1] - student[0])
        # Without ties any one of the values is the commonest.
        others = sample[sample != stats.mode(sample).mode]
        weight = np.mean([a != b for a, b in itertools.combinations(others, 2)])
        low = student[0] - weight * max(0, student[0] - (sample.mean() - upper * error))
        high = student[1] + weight * max(0, sample.mean() - lower * error - student[1])
        assert ours.low.value == pytest.approx(low, abs=tolerance)
        assert ours.high.value == pytest.approx(high, abs=tolerance)


def test_means_and_medians():
    for x, y in samples(20):
        ours = compare_paired(x, y, seed=1, n_resamples=10)
        assert ours.mean_difference.value == pytest.approx(np.mean(y - x), abs=1e-12)


def test_wilson():
    for successes, n in ((0, 5), (3, 7), (50, 60), (9, 9)):
        theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
        ours = wilson(successes, n)
        assert ours.low.value == pytest.approx(theirs.low, abs=1e-12)
        assert ours.high.value == pytest.approx(theirs.high, abs=1e-12)


def test_a_share_of_what_was_drawn():
    for n_all, n_part, n_drawn in itertools.product((1, 7, 200), (0, 1, 5, 150), (0, 1, 6, 90)):
        if max(n_part, n_drawn) <= n_all:
            for least in range(min(n_part, n_drawn) + 2):
                expected = stats.hypergeom.sf(least - 1, n_all, n_part, n_drawn)
                found = hypergeometric_tail(least, n_all, n_part, n_drawn)
                assert found == pytest.approx(expected, abs=1e-12)


def test_smallest_detectable_difference_has_power_point_eight():
    for n, alpha in itertools.product((3, 6, 20, 150), (0.05, 0.0009, 1e-6)):
        difference = smallest_detectable_difference(2.0, n, alpha=alpha).value
        shift = difference / 2.0 * np.sqrt(n)
        critical = stats.t.isf(alpha / 2, n - 1)
        # scipy's opposite tail is NaN where it is next to nothing.
        opposite = np.nan_to_num(stats.nct.cdf(-critical, n - 1, shift))
        power = stats.nct.sf(critical, n - 1, shift) + opposite
        assert power == pytest.approx(0.8, abs=1e-6)


def bell_mccaffrey(labels):
    """The matrix whose quadratic form in the values is the variance, by the general formula."""
    n = len(labels)
    hat = np.full((n, n), 1 / n)
    residual = np.eye(n) - hat
    found = np.zeros((n, n))
    for label in set(labels.tolist()):
        inside = labels == label
        # (I - H)^(-1/2) of the cluster's own block of the hat matrix of a constant.
        roots, vectors = np.linalg.eigh(residual[np.ix_(inside, inside)])
        adjusted = vectors @ np.diag(roots**-0.5) @ vectors.T @ residual[inside]
        row = np.ones(inside.sum()) @ adjusted / n
        found += np.outer(row, row)
    return found


def uneven_labels():
    labels = RNG.integers(0, 7, size=30)
    labels[:7] = range(7)
    return labels


def test_clustered_standard_error_is_bell_and_mccaffreys_of_a_constant():
    for _ in range(20):
        labels = uneven_labels()
        values = RNG.normal(size=30) + labels
        found, _ = standard_error(values, group(labels.tolist(), 30))
        expected = np.sqrt(values @ bell_mccaffrey(labels) @ values)
        assert found == pytest.approx(expected, abs=1e-12)


def test_degrees_of_freedom_are_satterthwaites_of_that_quadratic_form():
    # Values of one cluster are all alike: their covariance is 1 inside it and 0 outside.
    for _ in range(20):
        labels = uneven_labels()
        product = bell_mccaffrey(labels) @ (labels[:, np.newaxis] == labels).astype(float)
        expected = np.trace(product) ** 2 / np.trace(product @ product)
        found = group(labels.tolist(), 30).degrees_of_freedom()
        assert found == pytest.approx(expected, abs=1e-9)


def test_the_smallest_detectable_difference_is_found_as_often_as_it_says():
    rng = np.random.Generator(np.random.PCG64(12))
    planted = detectable_by_test_and_interval(1.0, 10).value
    found = 0
    for trial in range(300):
        x = rng.normal(planted, size=10)
        p_value, _ = sign_flip_p(x, seed=trial)
        low = bootstrap_mean(x, seed=trial, n_resamples=1000).low.value
        found += p_value.value < 0.05 and low > 0
    # 80 % within three standard errors of 300 studies; benchmarks/simulation.py looks closer.
    assert 0.73 <= found / 300 <= 0.87


def test_clustered_sign_flips_are_scipys_on_the_sums():
    for _ in range(20):
        labels = [i // 3 for i in range(24)]
        values = np.round(RNG.normal(size=24), 1)
        sums = values.reshape(8, 3).sum(axis=1)
        theirs = stats.permutation_test(
            (sums,),
            lambda d, axis: d.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        ours, _ = sign_flip_p(values, seed=1, clusters=labels)
        assert ours.value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_clustered_spearman_p_value_by_enumeration():
    # Four clusters of two rows and three single rows: 4! * 3! arrangements of the rows of y.
    labels = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6]
    for _ in range(5):
        x, y = np.round(RNG.normal(size=11), 1), np.round(RNG.normal(size=11), 1)
        observed = stats.spearmanr(x, y).statistic
        reached = 0
        for pairs in itertools.permutations(range(4)):
            for singles in itertools.permutations(range(8, 11)):
                rows = [row for p in pairs for row in (2 * p, 2 * p + 1)] + list(singles)
                r = stats.spearmanr(x, y[rows]).statistic
                reached += abs(r) >= abs(observed) - 1e-9
        ours = spearman(x, y, seed=1, n_resamples=10, clusters=labels)
        assert ours.p_method == "exact"
        assert ours.p_value.value == pytest.approx(reached / 144, abs=1e-12)


def test_clustered_spearman_interval_is_near_a_plain_cluster_bootstrap():
    rng = np.random.Generator(np.random.PCG64(3))
    task = np.repeat(rng.normal(size=40), 2)
    x, y = task + 0.3 * rng.normal(size=80), task + rng.normal(size=80)
    drawn = []
    for _ in range(2000):
        tasks = rng.integers(0, 40, 40)
        rows = np.column_stack([2 * tasks, 2 * tasks + 1]).ravel()
        drawn.append(stats.spearmanr(x[rows], y[rows]).statistic)
    low, high = np.quantile(drawn, [0.025, 0.975])
    r = stats.spearmanr(x, y).statistic
    half = 1.959964 * np.sqrt((1 + r * r / 2) / 77)
    ours = spearman(x, y, seed=1, clusters=[i // 2 for i in range(80)]).interval
    assert ours.low.value == pytest.approx(min(low, np.tanh(np.arctanh(r) - half)), abs=0.02)
    assert ours.high.value == pytest.approx(max(high, np.tanh(np.arctanh(r) + half)), abs=0.02)


@pytest.mark.parametrize("n", [12, 40])
def test_the_interval_covers_the_truth_as_often_as_it_says(n):
    rng = np.random.Generator(np.random.PCG64(11))
    covered = 0
    for trial in range(300):
        interval = bootstrap_mean(rng.normal(1.0, size=n), seed=trial, n_resamples=1000)
        covered += interval.low.value <= 1.0 <= interval.high.value
    # 95 % within three standard errors of 300 studies; benchmarks/simulation.py looks closer.
    assert 0.91 <= covered / 300 <= 0.99
