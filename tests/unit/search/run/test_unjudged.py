from __future__ import annotations

from itertools import combinations
from math import log2

import pytest

from retrieval_eval.ranking import rank_metrics
from retrieval_eval.search.ask import ScoredDoc
from retrieval_eval.search.run.scoring import upper_bounds

MEASURES = ("P@1", "P@3", "Recall@1", "Recall@3", "RR", "nDCG@3", "nDCG@5", "Judged@10")


def bounds(judged, ranked, measures=MEASURES):
    ranking = tuple(ScoredDoc(doc, -float(place)) for place, doc in enumerate(ranked))
    found = upper_bounds({"q": judged}, {"q": ranking}, measures)
    return {name: by_query.get("q") for name, by_query in found.items()}


def test_by_hand():
    found = bounds({"a": 2, "b": 1, "c": 0}, ["x", "b", "a", "c"])
    ideal_with_x = 2 + 1 / log2(3) + 1 / 2
    assert found == {
        "P@1": 1,
        "P@3": 1,
        "Recall@1": pytest.approx(1 / 3),
        "Recall@3": 1,
        "RR": 1,
        "nDCG@3": pytest.approx((1 + 1 / log2(3) + 2 / 2) / ideal_with_x),
        "nDCG@5": pytest.approx((1 + 1 / log2(3) + 2 / 2) / ideal_with_x),
    }


def test_recall_does_not_pay_for_unjudged_documents_beyond_its_cut_off():
    found = bounds({"a": 1}, ["a", "x", "y", "z"])
    assert (found["Recall@1"], found["Recall@3"]) == (1, 1)


def test_ndcg_is_no_less_than_the_value_itself():
    # With x relevant as well: (2 + 1 / log2(6)) / (2 + 1 / log2(3)) < 1.
    assert bounds({"a": 2, "b": 0, "c": 0, "d": 0}, ["a", "b", "c", "d", "x"])["nDCG@5"] == 1


@pytest.mark.parametrize("judged", [{}, {"a": 0}])
def test_where_the_measure_is_not_computable_there_is_no_bound(judged):
    assert set(bounds(judged, ["a", "x"]).values()) == {None}


def test_an_empty_ranking_has_no_bound_of_its_own():
    assert set(bounds({"a": 1}, []).values()) == {None}


@pytest.mark.parametrize(
    ("judged", "ranked"),
    [
        ({"a": 2, "b": 1, "c": 0}, "xaybzc"),
        ({"a": 1}, "xyzwva"),
        ({"a": 2, "m": 2, "n": 1}, "axybz"),
        ({"a": 0, "b": 2, "m": 1}, "xabyz"),
        ({"m": 1}, "xyzab"),
    ],
)
def test_no_choice_of_relevant_documents_gives_more_and_one_gives_as_much(judged, ranked):
    unjudged = [doc for doc in [*ranked, "never-1", "never-2"] if doc not in judged]
    measures = MEASURES[:-1]
    best = dict.fromkeys(measures, 0.0)
    for size in range(len(unjudged) + 1):
        for chosen in combinations(unjudged, size):
            found = rank_metrics(ranked, {**judged, **dict.fromkeys(chosen, 1)}, measures)
            best = {name: max(best[name], found[name].value) for name in measures}
    assert bounds(judged, ranked, measures) == pytest.approx(best, abs=1e-12)
