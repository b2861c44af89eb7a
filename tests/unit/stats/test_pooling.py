import math

import numpy as np
import pytest
from scipy import stats

from retrieval_eval.stats.pooling import paule_mandel, pool_estimates

BCG = [
    # Colditz et al. (1994), 13 trials of the BCG vaccine: cases and others, vaccinated and not.
    (4, 119, 11, 128),
    (6, 300, 29, 274),
    (3, 228, 11, 209),
    (62, 13536, 248, 12619),
    (33, 5036, 47, 5761),
    (180, 1361, 372, 1079),
    (8, 2537, 10, 619),
    (505, 87886, 499, 87892),
    (29, 7470, 45, 7232),
    (17, 1699, 65, 1600),
    (186, 50448, 141, 27197),
    (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
]


def bcg():
    """Logarithms of risk ratios and their standard errors."""
    rows = [
        (
            math.log((a / (a + b)) / (c / (c + d))),
            math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)),
        )
        for a, b, c, d in BCG
    ]
    return [row[0] for row in rows], [row[1] for row in rows]


def test_the_numbers_of_a_published_analysis():
    # Viechtbauer (2010), The metafor package: Q(12) = 152.23; the interval of tau squared by
    # profiling Q is 0.1197 to 1.1115, of I squared 81.86 to 97.67 %; Paule-Mandel 0.3181.
    found = pool_estimates(*bcg())
    assert found.q.value == pytest.approx(152.2330, abs=1e-3)
    assert found.tau.value**2 == pytest.approx(0.3181, abs=1e-4)
    assert found.tau_interval.low.value**2 == pytest.approx(0.1197, abs=1e-4)
    assert found.tau_interval.high.value**2 == pytest.approx(1.1115, abs=1e-4)
    assert found.mean.value == pytest.approx(-0.715, abs=1e-3)
    assert found.q_p_value.value < 1e-20
    assert found.i_squared.value == pytest.approx(1 - 12 / 152.2330, abs=1e-6)


def test_it_agrees_with_statsmodels():
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    estimates, errors = bcg()
    theirs = meta.combine_effects(
        np.array(estimates), np.array(errors) ** 2, method_re="iterated", use_t=True
    )
    ours = pool_estimates(estimates, errors)
    assert ours.tau.value**2 == pytest.approx(theirs.tau2, abs=1e-6)
    assert ours.mean.value == pytest.approx(theirs.mean_effect_re, abs=1e-6)
    half = (ours.interval.high.value - ours.interval.low.value) / 2
    theirs_half = stats.t.ppf(0.975, 12) * theirs.sd_eff_w_re_hksj
    assert half >= theirs_half - 1e-6
    assert theirs.q == pytest.approx(ours.q.value, abs=1e-8)
    weights = theirs.weights_rel_re
    assert ours.weights == pytest.approx(weights, abs=1e-6)


def test_by_hand_with_equal_errors():
    # Errors of 0.1 and a sample variance of 1 between: tau squared is 1 - 0.01.
    found = pool_estimates([0.0, 1.0, 2.0], [0.1, 0.1, 0.1])
    assert paule_mandel(np.array([0.0, 1.0, 2.0]), np.full(3, 0.01)) == pytest.approx(0.99)
    assert (found.mean.value, found.n) == (pytest.approx(1.0), 3)
    half = stats.t.ppf(0.975, 2) / math.sqrt(3)
    assert found.interval.high.value == pytest.approx(1 + half)
    reach = stats.t.ppf(0.975, 1) * math.sqrt(0.99 + 1 / 3)
    assert found.prediction.low.value == pytest.approx(1 - reach)
    assert found.q.value == pytest.approx(200.0)
    assert found.weights == pytest.approx([1 / 3] * 3)
    assert found.p_value.value == pytest.approx(2 * stats.t.sf(math.sqrt(3), 2))
    # Without the second, two are left, which have no interval.
    assert found.without[1][0].value == pytest.approx(1.0)
    assert found.without[1][1].low.reason == "too_few_values"


def test_studies_that_agree_too_well_do_not_shorten_the_interval():
    found = pool_estimates([0.1, 0.1, 0.1, 0.1], [0.05] * 4)
    assert (found.tau.value, found.i_squared.value) == (0.0, 0.0)
    assert found.q.value == pytest.approx(0.0, abs=1e-12)
    half = stats.t.ppf(0.975, 3) * 0.05 / 2
    assert found.interval.low.value == pytest.approx(0.1 - half)
    assert found.tau_interval.low.value == 0.0
    assert found.tau_interval.high.value == 0.0


def test_one_and_two_studies():
    one = pool_estimates([0.2], [0.05])
    assert one.mean.value == 0.2
    assert one.interval.low.value == pytest.approx(0.2 - 1.959964 * 0.05, abs=1e-6)
    assert one.prediction.low.reason == one.tau.reason == "too_few_values"
    assert one.without == ()
    two = pool_estimates([0.2, 0.1], [0.05, 0.05])
    assert two.mean.value == pytest.approx(0.15)
    assert two.interval.low.reason == two.tau.reason == two.p_value.reason == "too_few_values"
    assert two.q.value == pytest.approx(2.0)
    assert [value.value for value, _ in two.without] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("estimates", "errors"), [([], []), ([0.1], [0.0]), ([0.1, 0.2], [0.1]), ([math.nan], [0.1])]
)
def test_what_is_no_study_is_refused(estimates, errors):
    with pytest.raises(ValueError, match=r"study|positive|finite"):
        pool_estimates(estimates, errors)


@pytest.mark.parametrize(("k", "tau"), [(3, 0.1), (8, 0.0), (8, 0.1)])
def test_intervals_cover_mean_and_a_further_study(k, tau):
    rng = np.random.default_rng(5)
    covered, predicted = [], []
    for _ in range(400):
        errors = rng.uniform(0.03, 0.12, k)
        truths = rng.normal(0.1, tau, k + 1)
        found = pool_estimates(truths[:k] + rng.normal(0, errors), errors)
        covered.append(found.interval.low.value <= 0.1 <= found.interval.high.value)
        predicted.append(found.prediction.low.value <= truths[k] <= found.prediction.high.value)
    assert np.mean(covered) >= 0.92
    assert np.mean(predicted) >= 0.90
