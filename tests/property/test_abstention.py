"""The laws of refusing: rates rise with the threshold, the area is that under the curve."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.run.abstention import (
    Gate,
    Kinds,
    auc,
    auc_interval,
    roc_points,
    threshold_within,
)
from tests.searches import abstention_block, stored_queries

SCORES = st.lists(st.sampled_from([-math.inf, 0.0, 0.5, 1.0, 2.5, 7.0]), max_size=12)
THRESHOLDS = st.sampled_from([-1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 2.5, 7.0, 8.0])
SHARES = st.floats(0, 1)


def queries_of(low, high):
    return [
        {
            "id": f"{'u' if is_low else 'a'}{place:02}",
            "answerable": not is_low,
            "status": "ok",
            "problems": [],
            "ranking": [] if math.isinf(score) else [{"doc": "x", "score": score}],
        }
        for is_low, scores in ((True, low), (False, high))
        for place, score in enumerate(scores)
    ]


def rates(block):
    return [block[name]["value"] for name in ("true_positive_rate", "false_refusal_rate")]


@given(SCORES, SCORES, THRESHOLDS, THRESHOLDS)
def test_a_higher_threshold_refuses_no_less(low, high, one, other):
    assume(low and high)
    queries = queries_of(low, high)
    less, more = (
        rates(abstention_block(queries, threshold=threshold)) for threshold in sorted((one, other))
    )
    own = rates(abstention_block(queries))
    for refused, by_less, by_more in zip(own, less, more, strict=True):
        assert refused <= by_less <= by_more


@given(SCORES, SCORES)
def test_every_point_of_the_curve_is_what_its_threshold_does(low, high):
    assume(low and high)
    queries = queries_of(low, high)
    block = abstention_block(queries)
    for point in block["roc"]:
        if point["threshold"] is not None:
            found = rates(abstention_block(queries, threshold=point["threshold"]))
            assert found == [point["true_positive_rate"], point["false_refusal_rate"]]


@given(SCORES, SCORES)
def test_the_curve_rises_from_one_control_to_the_other_and_holds_the_area(low, high):
    assume(low and high)
    points = roc_points(low, high)
    line = [(p.false_refusal_rate, p.true_positive_rate) for p in points]
    assert (line[0], line[-1]) == ((0, 0), (1, 1))
    assert all(x <= x2 and y <= y2 for (x, y), (x2, y2) in pairwise(line))
    trapezoids = math.fsum((x2 - x) * (y + y2) / 2 for (x, y), (x2, y2) in pairwise(line))
    area = auc(low, high).value
    assert area == pytest.approx(trapezoids, abs=1e-12)
    ends = auc_interval(low, high)
    if ends.low.computable:
        assert 0 <= ends.low.value <= area <= ends.high.value <= 1


@given(SCORES, SCORES, st.randoms(use_true_random=False))
def test_neither_order_nor_scale_of_scores_matters_to_the_area(low, high, chance):
    assume(low and high)
    queries = queries_of(low, high)
    shuffled = list(queries)
    chance.shuffle(shuffled)
    assert abstention_block(queries, threshold=1.0) == abstention_block(shuffled, threshold=1.0)
    rescaled = [[3 * score - 40 for score in scores] for scores in (low, high)]
    assert auc(*rescaled) == auc(low, high)
    assert auc_interval(*rescaled) == auc_interval(low, high)


@given(SCORES, SCORES, st.floats(0, 0.99))
def test_no_threshold_within_the_cap_catches_more(low, high, cap):
    assume(low and high)
    found = threshold_within(low, high, cap)
    kinds = Kinds.of(stored_queries(queries_of(low, high)))
    assert threshold_within(*kinds.top_scores(), cap) == found
    for threshold in (-1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 2.5, 7.0):
        refused = sum(score < threshold for score in high) / len(high)
        caught = sum(score < threshold for score in low) / len(low)
        # Below the highest score of all, where the curve has its thresholds.
        if refused <= cap and threshold <= max(*low, *high):
            assert found is not None
            assert caught <= found.true_positive_rate
    if found is not None:
        assert found.false_refusal_rate <= cap


@given(SHARES, SHARES)
def test_both_controls_fail_every_gate_there_can_be(least, most):
    try:
        gate = Gate(least, most)
    except BadInputError:
        assert least == 0 or most == 1
        return
    assert not gate.passes(0, 0)
    assert not gate.passes(1, 1)
    assert gate.passes(1, 0)
