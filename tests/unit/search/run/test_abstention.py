from __future__ import annotations

import math

import pytest

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.abstention import Gate
from retrieval_eval.stats.proportions import wilson
from tests.plain_runs import abstention_sentences as sentences
from tests.plain_runs import metric_value
from tests.searches import abstention_block, answer, failure, gold_query, gold_set, run_of
from tests.unit.test_schema import undeclared

# Answerable: 3.0, 5.0, nothing. Unanswerable: 1.0, 4.0, refused by a floor. Nobody knows: 0.1.
SETTINGS = Settings(n_resamples=20)

GOLD = gold_set(
    gold_query("a1", {"x": 1}),
    gold_query("a2", {"y": 2}),
    gold_query("a3", {"z": 1}, answerable=True),
    gold_query("u1", answerable=False),
    gold_query("u2", {"x": 0}, answerable=False),
    gold_query("u3", answerable=False),
    gold_query("unlabelled", {"x": 0}),
)
ANSWERS = (
    answer("a1", {"x": 3.0, "y": 2.9}),
    answer("a2", {"y": 5.0}),
    answer("a3"),
    answer("u1", {"x": 1.0}),
    answer("u2", {"x": 4.0, "y": 0.5}),
    answer("u3", is_refused=True),
    answer("unlabelled", {"x": 0.1}),
)


def block_of(answers=ANSWERS, gold=GOLD, **options):
    return run_of(gold, answers, settings=SETTINGS, **options)["abstention"]


def counts(block):
    rates = block["true_positive_rate"], block["false_refusal_rate"]
    return [(rate["n_refused"], rate["n"]) for rate in rates]


def test_without_a_threshold_what_came_back_empty_was_refused():
    block = block_of()
    assert (block["decided_by"], block["threshold"]) == ("refusal", None)
    assert (block["n_answerable"], block["n_unanswerable"], block["n_failed"]) == (3, 3, 0)
    assert counts(block) == [(1, 3), (1, 3)]
    rate = block["true_positive_rate"]
    assert rate["value"] == pytest.approx(1 / 3)
    ends = wilson(1, 3)
    assert (rate["ci_low"], rate["ci_high"]) == (ends.low.value, ends.high.value)
    assert block["reasons"] == []


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (-1.0, [(1, 3), (1, 3)]),
        (1.0, [(1, 3), (1, 3)]),
        (1.1, [(2, 3), (1, 3)]),
        (3.0, [(2, 3), (1, 3)]),
        (4.5, [(3, 3), (2, 3)]),
        (99.0, [(3, 3), (3, 3)]),
    ],
)
def test_with_a_threshold_so_is_what_scored_below_it(threshold, expected):
    block = block_of(abstain_at=threshold)
    assert (block["decided_by"], block["threshold"]) == ("threshold", threshold)
    assert counts(block) == expected


def test_the_curve_and_the_area_do_not_depend_on_the_decision():
    block, other = block_of(), block_of(abstain_at=4.5)
    assert block["roc"] == other["roc"]
    assert block["auc"] == other["auc"]
    # Of 9 pairs the unanswerable one scores lower in: u1 < a1, a2; u2 < a2; u3 < a1, a2; u3 = a3.
    assert block["auc"]["value"] == pytest.approx(5.5 / 9)
    assert [point["threshold"] for point in block["roc"]] == [None, 1.0, 3.0, 4.0, 5.0, None]
    assert block["roc"][2] == {
        "threshold": 3.0,
        "true_positive_rate": pytest.approx(2 / 3),
        "false_refusal_rate": pytest.approx(1 / 3),
    }


def test_systems_that_are_the_controls_fail_the_gate_and_one_that_works_passes():
    rows = [gold_query(f"a{i}", {"x": 1}) for i in range(20)]
    rows += [gold_query(f"u{i}", answerable=False) for i in range(20)]
    gold = gold_set(*rows)
    everything = [answer(row.id, {"x": 9.0 if row.id[0] == "a" else 1.0}) for row in rows]
    nothing = [answer(row.id) for row in rows]
    for answers, options, passes in (
        (everything, {}, False),
        (nothing, {}, False),
        (everything, {"abstain_at": 0.5}, False),
        (everything, {"abstain_at": 99.0}, False),
        (everything, {"abstain_at": 5.0}, True),
    ):
        block = block_of(answers, gold, **options)
        assert block["operating_point"]["passes"] is passes
    assert (
        "nothing was refused: the retriever answers every query"
        in block_of(everything, gold)["reasons"]
    )


@pytest.mark.parametrize("rates", [(0.0, 0.5), (0.5, 1.0), (-1.0, 0.1)])
def test_a_gate_that_a_control_would_pass_is_refused(rates):
    with pytest.raises(BadInputError, match="would pass this gate"):
        Gate(*rates)


def test_both_sides_of_the_gate_include_their_border():
    gate = Gate(0.8, 0.08)
    assert gate.passes(0.8, 0.08)
    assert not gate.passes(0.79, 0.0)
    assert not gate.passes(1.0, 0.081)


@pytest.mark.parametrize("failed", ["a1", "u1"])
def test_a_failed_query_makes_it_not_computable(failed):
    answers = [failure(a.id) if a.id == failed else a for a in ANSWERS]
    block = block_of(answers)
    assert block["n_failed"] == 1
    for name in ("true_positive_rate", "false_refusal_rate", "auc"):
        assert (block[name]["value"], block[name]["reason"]) == (None, "query_failed")
    assert block["roc"] == []
    assert block["operating_point"]["passes"] is None
    assert "1 query got no answer" in block["reasons"][0]


def test_without_unanswerable_queries_there_is_no_block():
    assert block_of(ANSWERS[:3], gold_set(*GOLD.queries[:3])) is None
    # Those of the gold set that were not asked do not count.
    assert block_of(ANSWERS[:3]) is None


def test_without_answerable_queries_there_is_half_of_it():
    block = block_of(ANSWERS[3:6])
    assert counts(block) == [(1, 3), (None, 0)]
    assert block["false_refusal_rate"]["reason"] == "no_such_queries"
    assert block["auc"]["reason"] == "one_class_only"
    assert "refusing everything would cost nothing" in block["reasons"][0]
    assert block["operating_point"]["passes"] is None


def test_an_order_without_scores_has_refusals_and_no_threshold():
    # The adapters give such documents the scores -1, -2 and so on.
    answers = [answer("a1", {"x": -1.0, "y": -2.0}), answer("u1", {"x": -1.0}), answer("u2")]
    assert counts(block_of(answers)) == [(1, 2), (0, 1)]
    block = block_of(answers, abstain_at=0.5)
    assert block["true_positive_rate"]["reason"] == "no_scores"
    assert block["false_refusal_rate"]["reason"] == "no_scores"
    assert "an order without scores" in block["reasons"][0]


@pytest.mark.parametrize("threshold", [math.nan, math.inf])
def test_a_threshold_is_a_finite_number(threshold):
    with pytest.raises(BadInputError, match="finite number"):
        abstention_block([], threshold=threshold)


@pytest.mark.parametrize("answers", [ANSWERS, ANSWERS[:6], ANSWERS[3:6], [failure("u1")]])
@pytest.mark.parametrize("threshold", [None, 2.0])
def test_the_block_is_valid_and_declared_and_metrics_are_read_by_name(answers, threshold):
    document = run_of(GOLD, answers, abstain_at=threshold)
    assert schema.faults(document, "search_run") == []
    part = schema.load_schema("search_run")
    assert undeclared(document, part, part) == []
    for name, key in (
        ("ungrounded_true_positive_rate", "true_positive_rate"),
        ("answerable_false_refusal_rate", "false_refusal_rate"),
        ("auc", "auc"),
    ):
        found = metric_value(document, name)
        assert (found.value, found.n) == tuple(
            document["abstention"][key][k] for k in ("value", "n")
        )


def test_the_sentences_give_counts_and_reasons():
    assert sentences(None) == []
    text = sentences(block_of(abstain_at=2.0))
    assert text[0].startswith("ungrounded TP rate: 0.667 [")
    assert text[0].endswith("], 2 of 3 (refused: nothing returned, or top score below 2)")
    assert text[1].startswith("answerable FR rate: 0.333 [")
    assert text[2].startswith("AUC over all thresholds: 0.611 [")
    failed = sentences(block_of([failure("u1"), answer("a1", ["x"])]))
    assert failed[2].startswith("AUC over all thresholds: not computable (the retriever failed")
    assert "not computable (the retriever failed on the query" in failed[0]
    assert failed[3].startswith("Abstention: 1 query got no answer")
