from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.abstention import (
    Kinds,
    halved,
    operating_point,
    operating_points,
    threshold_within,
)
from tests.searches import answer, failure, gold_query, gold_set, point, run_of, stored_queries


def kinds_of(low, high):
    rows = [gold_query(f"u{i:03}", answerable=False) for i in range(len(low))]
    rows += [gold_query(f"a{i:03}", {"x": 1}) for i in range(len(high))]
    answers = [
        failure(row.id) if score is None else answer(row.id, {} if score == "" else {"x": score})
        for row, score in zip(rows, (*low, *high), strict=True)
    ]
    settings = Settings(n_resamples=20)
    return Kinds.of(stored_queries(run_of(gold_set(*rows), answers, settings=settings)["queries"]))


LOW, HIGH = [1.0, 2.0, 2.0, 6.0], [2.0, 3.0, 4.0, 5.0, 7.0]


@pytest.mark.parametrize(
    ("cap", "threshold", "caught", "refused"),
    [
        (0.0, 2.0, 0.25, 0.0),
        # Below 3 and below 4 catch as many; the former refuses fewer answerable queries.
        (0.2, 3.0, 0.75, 0.2),
        (0.5, 3.0, 0.75, 0.2),
        (0.8, 7.0, 1.0, 0.8),
    ],
)
def test_the_threshold_catches_most_within_the_cap(cap, threshold, caught, refused):
    found = threshold_within(LOW, HIGH, cap)
    assert found == point(threshold, pytest.approx(caught), pytest.approx(refused))


def test_no_threshold_undoes_an_empty_ranking():
    kinds = kinds_of([1.0], ["", 2.0])
    assert threshold_within(*kinds.top_scores(), 0.4) is None
    assert threshold_within(*kinds.top_scores(), 0.5).threshold == 2.0


@pytest.mark.parametrize("cap", [-0.1, 1.0, float("nan")])
def test_a_cap_is_a_share_below_one(cap):
    with pytest.raises(BadInputError, match="none to aim at"):
        threshold_within(LOW, HIGH, cap)


def test_the_table_has_a_row_for_every_cap_with_counts():
    points = operating_points(kinds_of(LOW, HIGH), (0.2, 0.0, 0.2), confidence=0.95)
    assert [(point.cap, point.threshold) for point in points] == [(0.0, 2.0), (0.2, 3.0)]
    assert points[1].true_positive_rate.n_refused == 3
    assert points[1].false_refusal_rate.n_refused == 1
    assert points[1].passes is False


def test_a_point_that_is_not_computable_has_no_verdict():
    point = operating_point(kinds_of([1.0, None], [2.0]), 1.5, confidence=0.95)
    assert point.passes is None
    assert point.true_positive_rate.reason == "query_failed"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (kinds_of([1.0], []), "1 unanswerable and 0 answerable"),
        (kinds_of([], [1.0]), "0 unanswerable and 1 answerable"),
        (kinds_of([1.0, None], [2.0]), "failed on 1 query"),
        (kinds_of([-1.0], [-1.0]), "an order without scores"),
    ],
)
def test_without_anything_to_choose_by_there_is_no_table(kinds, message):
    with pytest.raises(NothingToEvaluateError, match=message):
        operating_points(kinds, confidence=0.95)


def test_a_choice_that_always_holds_also_holds_on_the_other_half():
    # Whatever the halves are, the best threshold within 0 is the lowest answerable score, 5.
    found = halved(kinds_of([1.0] * 12, [5.0] * 40), 0.0, seed=3)
    assert (found.true_positive_rate, found.false_refusal_rate, found.share_over) == (1, 0, 0)


def test_a_choice_on_few_queries_does_worse_on_the_others():
    low, high = [i + 0.5 for i in range(12)], [float(i) for i in range(40)]
    kinds = kinds_of(low, high)
    found = halved(kinds, 0.1, seed=3)
    chosen = threshold_within(*kinds.top_scores(), 0.1)
    assert chosen.false_refusal_rate <= 0.1
    # The 20 answerable queries of a half can hold 2; the next lies anywhere in the other's tail.
    assert found.share_over > 0.2
    assert found.n_halvings == 500
    assert found == halved(kinds, 0.1, seed=3)
    assert found != halved(kinds, 0.1, seed=4)


def test_too_few_queries_are_not_halved():
    assert halved(kinds_of([1.0] * 9, [5.0] * 40), 0.05, seed=3) is None
    assert halved(kinds_of([1.0] * 40, [5.0] * 9), 0.05, seed=3) is None
    # Half of the answerable queries come back empty, so that no half has a threshold within 0.
    assert halved(kinds_of([1.0] * 10, [""] * 30 + [5.0] * 10), 0.0, seed=3) is None
