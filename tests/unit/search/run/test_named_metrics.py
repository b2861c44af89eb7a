from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.run.named_metrics import check_metric_name
from retrieval_eval.values import Value
from tests.guards import run_with, with_claims
from tests.plain_runs import metric_value, per_query, query_ids, shares
from tests.searches import answer, failure, gold_query, gold_set, run_of

TRUE_POSITIVE = "ungrounded_true_positive_rate"
FALSE_REFUSAL = "answerable_false_refusal_rate"


def test_a_measure_is_the_one_of_the_run_with_its_n():
    document = run_with([5, 2, 2])
    assert metric_value(document, "P@5") == Value.of(document["metrics"]["P@5"]["value"], 3)
    assert metric_value(document, "P@5").value == pytest.approx((1 + 0.4 + 0.4) / 3)
    assert per_query(document, "P@5") == {"q000": 1.0, "q001": 0.4, "q002": 0.4}


def test_a_slice_is_the_mean_over_its_queries():
    document = run_with([5, 2, 1], corpora=["a", "b", "a"])
    ids = query_ids(document, "corpus", "a")
    assert ids == {"q000", "q002"}
    assert metric_value(document, "P@5", ids) == Value.of(0.6, 2)
    assert metric_value(document, "P@5", {"nothing"}) == Value.missing("no_computable_values")
    assert query_ids(document, "area", "(none)") == {"q000", "q001", "q002"}
    with pytest.raises(BadInputError, match="'shape' is none of corpus, area"):
        query_ids(document, "shape", "a")


@pytest.mark.parametrize("name", ["P@7", "claim_coverage", TRUE_POSITIVE, "auc", "composite"])
def test_what_the_run_lacks_is_missing_and_never_zero(name):
    document = run_with([5])
    document["claims"] = document["abstention"] = document["composite"] = None
    assert metric_value(document, name) == Value.missing("not_recorded")
    assert metric_value(document, name, {"q000"}) == Value.missing("not_recorded")
    assert shares(document, name) == {}
    for block in ("claims", "abstention", "composite"):
        del document[block]
    assert metric_value(document, name) == Value.missing("not_recorded")


def test_rates_of_refusal_rest_on_their_own_kind_of_query():
    document = run_with([5, 5, 0], refused=[True, True, False, True])
    document["queries"][2]["ranking"] = []
    assert metric_value(document, TRUE_POSITIVE) == Value.of(0.75, 4)
    assert per_query(document, TRUE_POSITIVE) == {"u000": 1, "u001": 1, "u002": 0, "u003": 1}
    assert per_query(document, FALSE_REFUSAL) == {"q000": 0, "q001": 0, "q002": 1}
    assert metric_value(document, TRUE_POSITIVE, {"u000", "u002", "q000"}) == Value.of(0.5, 2)


def test_a_threshold_refuses_what_scores_below_it():
    document = run_with([5, 5], refused=[False, True])
    document["abstention"]["threshold"] = 3.0  # five documents score 5 to 1, one scores 1
    assert per_query(document, TRUE_POSITIVE) == {"u000": 1.0, "u001": 1.0}
    document["abstention"]["threshold"] = 5.5
    assert per_query(document, FALSE_REFUSAL) == {"q000": 1.0, "q001": 1.0}


def test_the_area_of_some_queries_counts_pairs_of_them():
    gold = gold_set(
        *(gold_query(name, {"d": 1}, answerable=True) for name in ("a", "b")),
        *(gold_query(name, answerable=False) for name in ("u", "v")),
    )
    tops = {"a": 2.0, "b": 5.0, "u": 2.0, "v": 9.0}
    document = run_of(gold, [answer(name, {"d": top}) for name, top in tops.items()])
    document["abstention"]["auc"] |= {"value": 0.375, "n": 4, "reason": None}
    assert metric_value(document, "auc") == Value.of(0.375, 4)
    # a ties with u and b beats it; nothing beats v.
    assert metric_value(document, "auc", {"a", "b", "u"}) == Value.of(0.75, 3)
    assert metric_value(document, "auc", {"a", "b"}) == Value.missing("one_class_only", 2)
    assert shares(document, "auc") == {}
    broken = run_of(gold, [failure("a"), *(answer(name, {"d": 1.0}) for name in ("b", "u", "v"))])
    broken["abstention"] = document["abstention"]
    assert metric_value(broken, "auc", {"a", "u"}) == Value.missing("query_failed", 2)


def test_claims_are_counted_over_all_drafts():
    document = with_claims(run_with([5, 5, 5]), [[True, True, True], [False], []])
    assert metric_value(document, "claim_coverage") == Value.of(0.75, 4)
    assert shares(document, "claim_coverage") == {"q000": (3, 3), "q001": (0, 1), "q002": (0, 0)}
    assert per_query(document, "claim_faithfulness") == {"q000": 1.0, "q001": 0.0}
    assert metric_value(document, "claim_coverage", {"q001", "q002"}) == Value.of(0.0, 1)


def test_a_claim_without_substance_counts_nowhere():
    document = with_claims(run_with([5]), [[True, False]])
    document["claims"]["queries"][0]["claims"][1]["is_substantive"] = False
    assert shares(document, "claim_coverage") == {"q000": (1.0, 1.0)}


def test_a_composite_is_one_of_the_whole_run():
    document = run_with([5])
    document["composite"]["value"] |= {"value": -0.2, "n": 3, "reason": None}
    assert metric_value(document, "composite") == Value.of(-0.2, 3)
    assert metric_value(document, "composite", {"q000"}) == Value.missing("whole_run_only")


def test_numbers_of_a_foreign_hand_do_not_raise():
    document = run_with([5])
    document["metrics"]["P@5"] |= {"value": float("nan"), "n": 1, "reason": None}
    assert metric_value(document, "P@5") == Value.missing("not_a_number", 1)
    document["metrics"]["P@5"] |= {"value": None, "n": 1, "reason": "nobody knows"}
    assert metric_value(document, "P@5") == Value.missing("not_recorded", 1)
    assert shares(document, "P@5") == {}


def test_a_name_that_is_none_is_refused():
    assert check_metric_name("nDCG@10") == "nDCG@10"
    for call in (check_metric_name, lambda name: metric_value(run_with([5]), name)):
        with pytest.raises(BadInputError, match=r"(?s)prec@5.*claim_coverage"):
            call("prec@5")
