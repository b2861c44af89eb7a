from __future__ import annotations

import math

import numpy as np
import pytest

from retrieval_eval.search.decide import (
    BREACH,
    HOLDS,
    UNDECIDED,
    WITHIN_NOISE,
    decide,
    harm_test,
)
from retrieval_eval.stats.multiplicity import holm

NAN = math.nan


def codes(*arguments, **options):
    return decide(*arguments, **options).codes.tolist()


def test_the_threshold_itself_is_allowed_and_a_hair_more_is_not():
    # 100 * (0.725 - 0.72) is 0.5000000000000004 in floats, and still half a point.
    harms = [100 * (0.725 - 0.72), 0.51, -3.0, 0.0]
    found = codes(harms, [0.5] * 4, [0.0] * 4, [0.1] * 4, [600] * 4, rule="threshold")
    assert found == [HOLDS, BREACH, HOLDS, HOLDS]


def test_nothing_may_rise_under_a_threshold_of_zero():
    assert codes([0.2, 0.0], [0.0, 0.0], [0.5] * 2, [0.1] * 2, 600, rule="threshold") == [3, 0]


def test_significance_is_adjusted_over_the_rows_of_one_guard():
    # 0.02 alone is significant; the smaller of two has to be 0.025 or less, of three 0.0167.
    alone = codes([1.0], [0.5], [0.02], [0.4], [600])
    two = codes([1.0, 0.0], [0.5] * 2, [0.02, 0.9], [0.4] * 2, [600] * 2)
    three = codes([1.0, 0.0, 0.0], [0.5] * 3, [0.02, 0.9, 0.9], [0.4] * 3, [600] * 3)
    assert (alone, two, three) == ([BREACH], [BREACH, HOLDS], [WITHIN_NOISE, HOLDS, HOLDS])


def test_a_row_without_test_is_held_by_its_threshold_and_leaves_the_family():
    found = decide([5.0, 1.0], [1.0, 0.5], [NAN, 0.04], [NAN, 0.4], [-1, 599])
    assert found.codes.tolist() == [BREACH, BREACH]
    assert found.p_adjusted[1] == 0.04
    assert math.isnan(found.p_adjusted[0])
    assert math.isnan(found.detectable_points[0])


def test_a_change_that_could_not_have_been_seen_is_no_pass():
    # (z.95 + z.80) * error = 2.49 * error for one row: 1.99 at an error of 0.8, 2.24 at 0.9.
    assert codes([1.0], [0.5], [0.3], [0.8], [6000]) == [WITHIN_NOISE]
    assert codes([1.0], [0.5], [0.3], [0.9], [6000]) == [UNDECIDED]
    # Four times the threshold where that is more: a loose threshold needs no sharp run.
    assert codes([1.6], [1.5], [0.3], [0.9], [6000]) == [WITHIN_NOISE]
    # Below six pairs nothing could ever be significant.
    assert codes([1.0], [0.5], *([x] for x in harm_test(np.ones(5), seed=1)), [4]) == [UNDECIDED]


def test_the_detectable_change_is_that_of_normal_theory():
    from scipy.stats import norm

    found = decide([0.0, 0.0], [0.5, 0.5], [0.5, 0.5], [1.0, 2.0], [10**6] * 2)
    steps = norm.ppf(1 - 0.05 / 2) + norm.ppf(0.8)
    assert found.detectable_points == pytest.approx([steps, 2 * steps], abs=1e-4)


def test_few_degrees_of_freedom_show_less():
    from scipy.stats import t

    # Ten repeats: nine degrees of freedom. 0.75 would do with many: 2.49 * 0.75 = 1.86.
    found = decide([1.0], [0.5], [0.3], [0.75], [9])
    steps = t.ppf(0.95, 9) + t.ppf(0.8, 9)
    assert found.detectable_points == pytest.approx([0.75 * steps])
    assert found.codes.tolist() == [UNDECIDED]
    assert codes([1.0], [0.5], [0.3], [0.75], [6000]) == [WITHIN_NOISE]


@pytest.mark.parametrize("rule", ["threshold_and_real", "threshold_and_significant"])
def test_the_rules_differ_in_their_p_values_only(rule):
    assert codes([1.0], [0.5], [0.04], [0.4], [600], rule=rule) == [BREACH]
    assert codes([1.0], [0.5], [0.06], [0.4], [600], rule=rule) == [WITHIN_NOISE]


def test_many_guards_at_once_are_decided_as_one_by_one():
    generator = np.random.default_rng(5)
    harm = generator.normal(0.5, 1, size=(7, 3, 4))
    p, error = generator.random((7, 3, 4)) ** 3, generator.random((7, 3, 4))
    p[generator.random((7, 3, 4)) < 0.2] = NAN
    limit = np.array([0.5, 0.5, 1.0, 0.0])
    found = decide(harm, limit, p, error, 600)
    for place in np.ndindex(7, 3):
        alone = decide(harm[place], limit, p[place], error[place], 600)
        assert found.codes[place].tolist() == alone.codes.tolist()
        expected = holm([None if math.isnan(x) else x for x in p[place].tolist()]).values
        given = [None if math.isnan(x) else x for x in found.p_adjusted[place].tolist()]
        assert given == pytest.approx(expected)


def test_the_test_of_a_harm_is_one_sided():
    # Of the 64 sign patterns of six ones, one has a sum of 6 or more, seven a sum of 4 or more.
    ones = np.ones(6)
    assert harm_test(ones, seed=1)[0] == 1 / 64
    assert harm_test(-ones, seed=1)[0] == 1 - 1 / 64
    assert harm_test(np.array([1, 1, 1, 1, 1, -1.0]), seed=1)[0] == 7 / 64
    assert harm_test(np.zeros(8), seed=1) == (0.5, 0.0)


def test_the_standard_error_counts_the_queries_that_stood_still():
    # Two of eight moved by 1: variance (2 - 8 / 16) / 7, over eight.
    harms = np.array([1.0, 1.0, *[0.0] * 6])
    assert harm_test(harms, seed=1)[1] == pytest.approx(math.sqrt(1.5 / 7 / 8))


def test_too_few_queries_are_never_significant():
    for n in (0, 1, 5):
        assert harm_test(np.ones(n), seed=1) == (1.0, math.inf)


def test_no_rows_are_no_decisions():
    assert codes([], [], [], [], []) == []
