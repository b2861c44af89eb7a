import math

import numpy as np
import pytest
from scipy import stats

from retrieval_eval.stats.equivalence import (
    equivalence,
    equivalence_of_pairs,
    equivalence_of_ratios,
)


def test_both_tests_agree_with_one_sided_t_tests():
    rows = np.random.default_rng(3).normal(0.02, 0.1, 25)
    found = equivalence(rows.mean(), rows.std(ddof=1) / 5, 24, 0.06, n=25)
    above = stats.ttest_1samp(rows, -0.06, alternative="greater")
    below = stats.ttest_1samp(rows, 0.06, alternative="less")
    assert found.p_equivalence.value == pytest.approx(max(above.pvalue, below.pvalue), abs=1e-14)
    assert found.p_non_inferiority.value == pytest.approx(above.pvalue, abs=1e-14)
    ends = stats.ttest_1samp(rows, 0).confidence_interval(0.9)
    assert found.interval.low.value == pytest.approx(ends.low, abs=1e-14)
    assert found.interval.high.value == pytest.approx(ends.high, abs=1e-14)
    assert found.interval.confidence == pytest.approx(0.9)


def test_equivalence_agrees_with_statsmodels():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    rng = np.random.default_rng(5)
    before = rng.normal(0.5, 0.2, 18)
    after = before + rng.normal(0.01, 0.08, 18)
    p_value, *_ = weightstats.ttost_paired(after, before, -0.05, 0.05)
    found = equivalence_of_pairs(after - before, 0.05, seed=1)
    assert found.p_equivalence.value == pytest.approx(p_value, abs=1e-12)


def test_lower_is_better_turns_the_test_of_non_inferiority_round():
    up = equivalence(0.03, 0.02, 20, 0.05, n=21, is_higher_better=False)
    down = equivalence(-0.03, 0.02, 20, 0.05, n=21, is_higher_better=True)
    assert up.p_non_inferiority.value == pytest.approx(down.p_non_inferiority.value)
    # Worse by about the margin: neither equivalent nor not worse.
    assert up.p_non_inferiority.value > 0.1
    assert up.p_equivalence.value == pytest.approx(up.p_non_inferiority.value)


def test_a_clear_gain_is_not_inferior_but_not_equivalent():
    rows = [0.2, 0.3, 0.25, 0.22, 0.31, 0.27, 0.24]
    found = equivalence_of_pairs(rows, 0.05, seed=1)
    assert found.p_non_inferiority.value < 1e-4
    assert found.p_equivalence.value > 0.99
    assert not found.is_equivalent


def test_clusters_count_once():
    rows = [0.01, -0.02, 0.02, 0.0, 0.01, -0.01, 0.03, -0.03, 0.01, 0.0, -0.01, 0.02]
    alone = equivalence_of_pairs(rows, 0.03, seed=1)
    # Each difference three times is no more evidence.
    labels = [i for i in range(12) for _ in range(3)]
    thrice = equivalence_of_pairs(np.repeat(rows, 3), 0.03, seed=1, clusters=labels)
    assert thrice.p_equivalence.value == pytest.approx(alone.p_equivalence.value)
    assert thrice.p_equivalence.n == 12
    naive = equivalence_of_pairs(np.repeat(rows, 3), 0.03, seed=1)
    assert naive.p_equivalence.value < thrice.p_equivalence.value


def test_few_clusters_are_tested_by_their_means():
    rows = [0.01, 0.03, -0.01, 0.01, 0.0, 0.02]
    found = equivalence_of_pairs(rows, 0.05, seed=1, clusters=list("aabbcc"))
    means = np.array([0.02, 0.0, 0.01])
    above = stats.ttest_1samp(means, -0.05, alternative="greater").pvalue
    below = stats.ttest_1samp(means, 0.05, alternative="less").pvalue
    assert found.p_equivalence.value == pytest.approx(max(above, below))
    assert found.p_equivalence.n == 3
    assert found.interval.method == "t_of_cluster_means"


@pytest.mark.parametrize(
    ("rows", "clusters", "reason"),
    [
        ([0.1, 0.0], None, "too_few_values"),
        ([0.0] * 30, None, "constant_input"),
        ([0.0] * 28 + [0.1, 0.2], None, "too_few_values"),
        ([0.1, 0.2, 0.3, 0.1], list("aaaa"), "too_few_values"),
        ([0.1, 0.1, 0.1, 0.1], list("aabb"), "constant_input"),
    ],
)
def test_what_cannot_be_tested_has_a_reason(rows, clusters, reason):
    found = equivalence_of_pairs(rows, 0.05, seed=1, clusters=clusters)
    assert found.p_equivalence.reason == reason
    assert found.p_non_inferiority.reason == reason
    assert found.interval.low.reason == reason
    assert not found.is_equivalent


def test_margins_of_a_ratio_are_symmetric_on_the_log_scale():
    rows = np.random.default_rng(2).normal(0.0, 0.08, 20)
    found = equivalence_of_ratios(rows, 1.25, seed=1)
    same = equivalence_of_pairs(rows, math.log(1.25), seed=1, is_higher_better=False)
    assert found.p_equivalence == same.p_equivalence
    assert found.p_non_inferiority == same.p_non_inferiority
    assert (found.margin_low, found.margin_high) == (0.8, 1.25)
    assert found.interval.low.value == pytest.approx(math.exp(same.interval.low.value))
    missing = equivalence_of_ratios([0.0] * 9, 1.25, seed=1)
    assert missing.interval.low.reason == "constant_input"


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan, math.inf])
def test_a_margin_is_positive(margin):
    with pytest.raises(ValueError, match="margin"):
        equivalence(0.0, 1.0, 3, margin, n=4)
    with pytest.raises(ValueError, match="above 1"):
        equivalence_of_ratios([0.1, 0.2, 0.3], 1.0, seed=1)


@pytest.mark.parametrize(
    ("draw", "most"),
    [
        (lambda rng, n: rng.normal(0.05, 0.1, n), 0.07),
        (lambda rng, n: (rng.random(n) < 0.25) * rng.uniform(0.0, 0.4, n), 0.07),
        # Ties of one sign: the docstring states the excess.
        (lambda rng, n: rng.choice([0.0, 0.0, 0.0, 0.2], n), 0.12),
    ],
)
def test_at_the_margin_equivalence_is_seldom_found(draw, most):
    rng = np.random.default_rng(8)
    for n in (10, 30):
        found = [
            equivalence_of_pairs(draw(rng, n), 0.05, seed=1, n_resamples=200).is_equivalent
            for _ in range(400)
        ]
        assert np.mean(found) <= most, n
