from __future__ import annotations

import math
from statistics import variance

import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t

from retrieval_eval.search.run.abstention import auc, auc_interval, roc_points
from tests.searches import point

EMPTY = -math.inf


def test_the_points_by_hand():
    # Refuse below 1: nothing; below 2: one of the unanswerable; below 3: both, and one of three.
    assert roc_points([1.0, 2.0], [2.0, 3.0, 3.0]) == (
        point(1.0, 0.0, 0.0),
        point(2.0, 0.5, 0.0),
        point(3.0, 1.0, pytest.approx(1 / 3)),
        point(None, 1.0, 1.0),
    )


def test_what_came_back_empty_is_refused_at_every_threshold():
    assert roc_points([EMPTY, 2.0], [EMPTY, 1.0, 3.0, 3.0]) == (
        point(None, 0.0, 0.0),
        point(1.0, 0.5, 0.25),
        point(2.0, 0.5, 0.5),
        point(3.0, 1.0, 0.5),
        point(None, 1.0, 1.0),
    )
    assert roc_points([EMPTY], [EMPTY]) == (point(None, 0.0, 0.0), point(None, 1.0, 1.0))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([1.0], [2.0], 1.0),
        ([2.0], [1.0], 0.0),
        ([1.0, 1.0], [1.0], 0.5),
        ([EMPTY], [EMPTY], 0.5),
        # Pairs: 1<2 1<3 2=2 2<3.
        ([1.0, 2.0], [2.0, 3.0], 3.5 / 4),
        ([EMPTY, 4.0], [3.0], 0.5),
    ],
)
def test_the_area_by_hand(low, high, expected):
    found = auc(low, high)
    assert (found.value, found.n) == (expected, len(low) + len(high))


@pytest.mark.parametrize(("low", "high"), [([], [1.0]), ([1.0], []), ([], [])])
def test_one_kind_alone_has_no_curve(low, high):
    assert roc_points(low, high) == ()
    assert auc(low, high).reason == "one_class_only"
    assert auc_interval(low, high).low.reason == "too_few_values"


def delong(low, high):
    """By definition, pair by pair."""

    def wins(x, y):
        return 1.0 if x < y else 0.5 if x == y else 0.0

    of_low = [sum(wins(x, y) for y in high) / len(high) for x in low]
    of_high = [sum(wins(x, y) for x in low) / len(low) for y in high]
    area = sum(of_low) / len(low)
    a, b = variance(of_low) / len(low), variance(of_high) / len(high)
    freedom = (a + b) ** 2 / (a**2 / (len(low) - 1) + b**2 / (len(high) - 1))
    half = t.ppf(0.975, freedom) * math.sqrt(a + b) / (area * (1 - area))
    return expit(logit(area) - half), expit(logit(area) + half)


def newcombe_distance(truth, area, m, n):
    """How many standard errors of the truth lie between it and the area (Newcombe 2006)."""
    size = (m + n) / 2 - 1
    spread = 1 + size * (1 - truth) / (2 - truth) + size * truth / (1 + truth)
    return abs(truth - area) / math.sqrt(truth * (1 - truth) * spread / (m * n))


def test_an_interval_reaches_as_far_as_the_farther_of_its_two():
    low, high = [1.0, 2.0, 2.0, 5.0, 1.5], [2.0, 3.0, 4.0, 4.0, 6.0, 0.5, 7.0, 3.5]
    found = auc_interval(low, high)
    area = auc(low, high).value
    ends = found.low.value, found.high.value
    for end, theirs, is_lower in zip(ends, delong(low, high), (True, False), strict=True):
        distance = newcombe_distance(end, area, 5, 8)
        # Where Newcombe's end is the nearer one, the end lies beyond it and is DeLong's.
        if math.isclose(end, theirs, abs_tol=1e-12):
            assert distance >= norm.ppf(0.975) - 1e-9
        else:
            assert distance == pytest.approx(norm.ppf(0.975), abs=1e-6)
            assert end < theirs if is_lower else end > theirs
    assert found.low.n == 13
    assert found.method == "delong_newcombe"


@pytest.mark.parametrize("is_swapped", [False, True])
def test_complete_separation_of_a_few_queries_is_not_certainty(is_swapped):
    kinds = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]
    if is_swapped:
        kinds = kinds[::-1]
    found = auc_interval(*kinds)
    ends = found.low.value, found.high.value
    certain, doubtful = ends if is_swapped else ends[::-1]
    assert certain == (0.0 if is_swapped else 1.0)
    assert newcombe_distance(doubtful, certain, *map(len, kinds)) == pytest.approx(
        norm.ppf(0.975), abs=1e-6
    )


def test_swapping_the_kinds_mirrors_area_and_interval():
    low, high = [1.0, 2.0, 2.0, 5.0], [2.0, 3.0, 4.0, 4.0, EMPTY, 0.5]
    there, back = auc_interval(low, high), auc_interval(high, low)
    assert auc(low, high).value == pytest.approx(1 - auc(high, low).value, abs=1e-15)
    assert there.low.value == pytest.approx(1 - back.high.value, abs=1e-9)
    assert there.high.value == pytest.approx(1 - back.low.value, abs=1e-9)


def test_without_spread_or_with_few_queries_there_is_no_interval():
    assert auc_interval([1.0] * 5, [1.0] * 9).low.reason == "constant_input"
    assert auc_interval([EMPTY] * 5, [EMPTY] * 9).high.reason == "constant_input"
    assert auc_interval([1.0, 2.0], [1.0, 3.0, 4.0]).low.reason == "too_few_values"
