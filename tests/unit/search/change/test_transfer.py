from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.run import Settings
from tests.plain_runs import transfer
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(n_resamples=200)
CORPORA = ("fin", "gov", "med")
GOLD = gold_set(
    *(gold_query(f"{c}{i}", {"x": 1}, corpus=c) for c in CORPORA for i in range(8)),
    gold_query("fin-u", answerable=False, corpus="fin"),
)


def run(first, **fields):
    """A run in which so many queries of each corpus have the relevant document first."""
    answers = [
        answer(f"{c}{i}", ["x", "y"] if i < first[c] else ["y", "x"])
        for c in CORPORA
        for i in range(8)
    ]
    answers.append(answer("fin-u", ["y"]))
    return run_of(GOLD, answers, settings=SETTINGS, **fields)


def row_of(before, after, metric="P@1"):
    found = transfer(run(before), run(after), metrics=[metric], seed=1)
    return found["metrics"][metric]


def verdicts(row):
    return {corpus: cells["verdict"] for corpus, cells in row["corpora"].items()}


FEW = dict.fromkeys(CORPORA, 2)


def test_an_improvement_everywhere_holds_on_every_corpus():
    row = row_of(FEW, {"fin": 8, "gov": 7, "med": 6})
    assert verdicts(row) == dict.fromkeys(CORPORA, "holds")
    assert row["holds_everywhere"] is True
    fin = row["corpora"]["fin"]
    # P@1 from 2/8 to 8/8; on the others from 4/16 to 13/16.
    assert fin["held_out"]["delta_points"] == pytest.approx(75)
    assert fin["others"]["delta_points"] == pytest.approx(100 * 9 / 16)
    assert (fin["held_out"]["n_pairs"], fin["others"]["n_pairs"]) == (8, 16)
    assert fin["held_out"]["ci_low_points"] < 75 < fin["held_out"]["ci_high_points"]
    assert fin["is_clear"] is True
    assert row["overall"]["delta_points"] == pytest.approx(100 * 15 / 24)
    assert row["overall"]["n_pairs"] == 24


def test_a_corpus_that_gets_worse_while_the_mean_rises_is_named():
    row = row_of(FEW, {"fin": 8, "gov": 8, "med": 1})
    assert row["overall"]["delta_points"] > 0
    assert verdicts(row) == {"fin": "holds", "gov": "holds", "med": "reverses"}
    assert row["holds_everywhere"] is False
    # One query of eight moved: its sign may be chance.
    assert row["corpora"]["med"]["is_clear"] is None


def test_a_clear_loss_is_as_clear_as_a_gain():
    row = row_of(dict.fromkeys(CORPORA, 8), {"fin": 1, "gov": 2, "med": 1})
    assert verdicts(row) == dict.fromkeys(CORPORA, "holds")
    assert [cells["is_clear"] for cells in row["corpora"].values()] == [True, True, True]
    # Of every eight queries three fall and four rise: an interval around 0.
    before = run(dict.fromkeys(CORPORA, 3))
    answers = [
        answer(query.id, ["x", "y"] if int(query.id[3:]) in (3, 4, 5, 6) else ["y", "x"])
        for query in GOLD.queries[:24]
    ]
    mixed = run_of(GOLD, [*answers, answer("fin-u", ["y"])], settings=SETTINGS)
    row = transfer(before, mixed, metrics=["P@1"], seed=1)["metrics"]["P@1"]
    assert [cells["is_clear"] for cells in row["corpora"].values()] == [False, False, False]
    assert row["holds_everywhere"] is True


def test_a_corpus_on_which_nothing_changes_does_not_hold():
    row = row_of(FEW, {"fin": 5, "gov": 2, "med": 5})
    assert verdicts(row)["gov"] == "vanishes"
    assert row["holds_everywhere"] is False


def test_without_a_change_there_is_nothing_to_hold():
    row = row_of(FEW, FEW)
    assert verdicts(row) == dict.fromkeys(CORPORA, "no_change")
    assert row["holds_everywhere"] is None


def test_a_metric_that_a_corpus_lacks_is_not_computable_there():
    # The only unanswerable query is of one corpus.
    row = row_of(FEW, FEW, "ungrounded_true_positive_rate")
    assert verdicts(row) == dict.fromkeys(CORPORA, "not_computable")
    assert row["corpora"]["gov"]["held_out"]["n_pairs"] == 0
    assert row["holds_everywhere"] is None


def test_by_default_the_metrics_that_both_runs_have():
    found = transfer(run(FEW), run(FEW), seed=1)
    rates = ["ungrounded_true_positive_rate", "answerable_false_refusal_rate"]
    assert list(found["metrics"]) == ["P@5", "Recall@20", "RR", "nDCG@10", *rates]
    older = run(FEW)
    del older["abstention"]
    assert list(transfer(older, run(FEW), seed=1)["metrics"]) == list(found["metrics"])[:4]
    assert found["corpora"] == list(CORPORA)
    assert (found["computable"], found["reasons"]) == (True, [])


def test_one_corpus_cannot_be_held_out():
    gold = gold_set(gold_query("q", {"x": 1}))
    alone = run_of(gold, [answer("q", ["x"])], settings=SETTINGS)
    found = transfer(alone, alone, seed=1)
    assert (found["computable"], found["metrics"]) == (False, {})
    assert "share 1 corpus" in found["reasons"][0]


def test_a_run_without_a_verdict_is_said():
    answers = [failure(query.id) for query in GOLD.queries[:1]]
    answers += [answer(query.id, ["x"]) for query in GOLD.queries[1:]]
    broken = run_of(GOLD, answers, settings=SETTINGS)
    found = transfer(run(FEW), broken, seed=1)
    assert found["reasons"][0].startswith("B has no verdict: 1 of 25 queries failed")
    assert found["metrics"]["P@5"]["corpora"]["fin"]["held_out"]["n_pairs"] == 7


@pytest.mark.parametrize("name", ["auc", "composite"])
def test_what_is_no_mean_over_queries_has_no_part_on_a_corpus(name):
    with pytest.raises(BadInputError, match="no mean over queries"):
        transfer(run(FEW), run(FEW), metrics=[name], seed=1)


def test_runs_of_different_gold_sets_are_not_compared_unless_that_is_accepted():
    other = gold_set(*GOLD.queries[:-1], gold_query("fin-v", answerable=False, corpus="fin"))
    answers = [answer(query.id, ["x"]) for query in other.queries]
    theirs = run_of(other, answers, settings=SETTINGS)
    with pytest.raises(NothingToEvaluateError, match="--accept gold_set"):
        transfer(run(FEW), theirs, seed=1)
    found = transfer(run(FEW), theirs, accept=["gold_set"], seed=1)
    assert list(found["accepted"]) == ["gold_set"]
    assert found["metrics"]["P@5"]["corpora"]["gov"]["held_out"]["n_pairs"] == 8


def test_swapping_the_runs_negates_and_keeps_the_verdicts():
    a, b = run(FEW), run({"fin": 8, "gov": 5, "med": 1})
    there, back = transfer(a, b, seed=1), transfer(b, a, seed=1)
    for name, row in there["metrics"].items():
        mirror = back["metrics"][name]
        assert verdicts(row) == verdicts(mirror)
        for corpus, cells in row["corpora"].items():
            one, other = cells["held_out"], mirror["corpora"][corpus]["held_out"]
            if one["delta_points"] is not None:
                assert one["delta_points"] == -other["delta_points"]
