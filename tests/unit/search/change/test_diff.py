from __future__ import annotations

import math

import pytest

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_diff import SearchDiff
from retrieval_eval.search.change import movers
from retrieval_eval.search.change.diff_text import (
    diff_markdown,
    metric_changes,
    mover_rows,
    summary_sentences,
)
from retrieval_eval.search.run import Settings
from tests.guards import with_claims
from tests.plain_runs import diff as diff_of
from tests.searches import answer, failure, gold_query, gold_set, written
from tests.searches import run_of as measured

QUICK = Settings(n_resamples=50)


def diff(*runs, **options):
    return written(diff_of(*runs, **options))


def read(document):
    return from_builtins(document, SearchDiff, "diff")


def run_of(gold, answers, **fields):
    return measured(gold, answers, **{"settings": QUICK, **fields})


GOLD = gold_set(
    gold_query("q1", {"a": 2, "b": 1}, area="levy"),
    gold_query("q2", {"a": 1}, area="levy"),
    gold_query("q3", {"a": 1}, corpus="other"),
    gold_query("q4", {"a": 1}, corpus="other"),
    gold_query("q5"),
)
#          RR:   1           1/2         0      1
BEFORE = [["a", "x"], ["x", "a"], ["x"], ["a"], ["x"]]
#          RR:   1/2         1          1/4                    1
AFTER = [["x", "a"], ["a", "x"], ["x", "y", "z", "a"], ["a"], ["y"]]


def answers(rankings):
    return [answer(q.id, ranking) for q, ranking in zip(GOLD.queries, rankings, strict=True)]


@pytest.fixture
def a():
    return run_of(GOLD, answers(BEFORE), label="old")


@pytest.fixture
def b():
    return run_of(GOLD, answers(AFTER), label="new")


def by_id(found):
    return {query["id"]: query for query in found["queries"]}


def test_changes_are_points_of_paired_queries(a, b):
    found = diff(a, b, seed=1)
    change = found["metrics"]["RR"]
    # 0.625 → 0.6875 over four queries; q5 has no relevant document.
    assert (change["a"], change["b"], change["n_pairs"]) == (0.625, 0.6875, 4)
    assert change["delta_points"] == pytest.approx(6.25, abs=1e-12)
    assert (change["n_up"], change["n_down"], change["is_paired"]) == (2, 1, True)
    assert change["ci_low_points"] < 0 < change["ci_high_points"]
    assert found["n_queries_in_both"] == 5
    assert found["banner"] is None
    assert schema.faults(found, "search_diff") == []
    assert schema.kind_of(found) == "search_diff"


@pytest.mark.parametrize(("level", "is_flagged"), [(6.2, True), (6.25, False), (6.3, False)])
def test_a_metric_is_flagged_when_it_moved_by_more_than_the_level(a, b, level, is_flagged):
    found = diff(a, b, seed=1, flag_points=level)
    assert ("RR" in found["flagged"]) is found["metrics"]["RR"]["is_flagged"] is is_flagged


def test_half_a_point_of_fifths_is_not_more_than_half_a_point():
    # Four of five instead of three in one of 40 queries: 0.2 / 40. In floats 0.8 - 0.6 > 0.2.
    gold = gold_set(*(gold_query(f"q{i:02}", dict.fromkeys("abcd", 1)) for i in range(40)))
    rankings = [list("abc")] * 40
    runs = [
        run_of(gold, [answer(q.id, r) for q, r in zip(gold.queries, given, strict=True)])
        for given in (rankings, [list("abcd"), *rankings[1:]])
    ]
    found = diff(*runs, seed=1)
    assert found["metrics"]["P@5"]["delta_points"] > 0.5
    assert "P@5" not in found["flagged"]


def test_contributions_by_hand_and_the_largest_first(a, b):
    found = diff(a, b, seed=1)
    given = {query["id"]: query["contributions"].get("RR") for query in found["queries"]}
    assert given == {"q1": -12.5, "q2": 12.5, "q3": 6.25, "q5": None}
    assert [query.id for query in movers(read(found).queries, "RR")] == ["q1", "q2", "q3"]
    # Recall@20 and P@5 of q3 rose by 1 and 0.2; nothing else moved a headline measure.
    assert found["queries"][0]["id"] == "q3"
    assert by_id(found)["q1"]["metrics"]["RR"] == {"a": 1.0, "b": 0.5}
    assert "P@5" not in by_id(found)["q1"]["metrics"]
    for name, change in found["metrics"].items():
        total = math.fsum(q["contributions"].get(name, 0.0) for q in found["queries"])
        assert total == pytest.approx(change["delta_points"], abs=1e-12)


def test_first_documents_that_changed_with_their_grades(a, b):
    found = {query["id"]: query for query in diff(a, b, seed=1)["top1_changed"]}
    assert found.keys() == {"q1", "q2", "q5"}
    assert found["q1"]["a"] == {"doc": "a", "grade": 2}
    assert found["q1"]["b"] == {"doc": "x", "grade": None}
    assert found["q5"]["a"] == {"doc": "x", "grade": None}


def test_nothing_first_is_a_change_of_the_first_document(a):
    empty = run_of(GOLD, answers([[], *BEFORE[1:]]))
    (changed,) = diff(a, empty, seed=1)["top1_changed"]
    assert (changed["id"], changed["b"]) == ("q1", None)


def test_documents_gained_and_lost_within_each_cut_off(a, b):
    documents = by_id(diff(a, b, seed=1))["q1"]["documents"]
    # a x → x a: only the first one changed.
    assert documents == {
        "1": {
            "gained": [{"doc": "x", "grade": None, "rank_a": 2, "rank_b": 1}],
            "lost": [{"doc": "a", "grade": 2, "rank_a": 1, "rank_b": 2}],
        }
    }
    # x → x y z a
    documents = by_id(diff(a, b, seed=1))["q3"]["documents"]
    assert documents.keys() == {"3", "5", "10", "20"}
    assert [found["doc"] for found in documents["3"]["gained"]] == ["y", "z"]
    assert documents["5"]["gained"][-1] == {"doc": "a", "grade": 1, "rank_a": None, "rank_b": 4}
    assert documents["5"]["lost"] == []


def test_only_cut_offs_of_both_runs_are_compared(a):
    b = run_of(GOLD, answers(AFTER), settings=Settings(k_values=(2, 5)))
    assert by_id(diff(a, b, seed=1))["q3"]["documents"].keys() == {"5"}


def test_slices_and_the_pinned_one(a, b):
    found = diff(a, b, seed=1, pinned=["q2", "q3", "gone"])
    slices = found["slices"]
    assert slices["corpus"]["other"]["metrics"]["RR"]["delta_points"] == pytest.approx(12.5)
    assert slices["area"]["levy"]["metrics"]["RR"]["delta_points"] == 0
    assert slices["area"]["(none)"]["n_queries"] == 3
    assert slices["pinned"]["pinned"]["n_queries"] == 2
    # Half of what q2 gained, 0.5, and q3, 0.25.
    moved = slices["pinned"]["pinned"]["metrics"]["RR"]["delta_points"]
    assert moved == pytest.approx(37.5)
    assert found["notices"][-1] == "Not in both runs: 1 of 3 pinned queries, such as gone."
    assert schema.faults(found, "search_diff") == []
    assert "pinned" not in diff(a, b, seed=1)["slices"]


def test_failed_queries_are_said_and_have_no_documents_to_compare(a):
    broken = answers(AFTER)
    broken[0] = failure("q1")
    found = diff(a, run_of(GOLD, broken), seed=1)
    (told,) = found["no_verdict"]
    assert told.startswith("run B has no verdict: 1 of 5 queries failed")
    assert found["banner"].startswith(f"NO VERDICT, what follows decides nothing: {told}")
    assert schema.faults(found, "search_diff") == []
    assert found["metrics"]["RR"]["n_only_a"] == 1
    assert found["n_queries_moved"] == 2
    assert [(one["id"], one["a"], one["b"]) for one in found["outcomes"]] == [
        ("q1", "answered", "failed")
    ]
    assert "q1" not in by_id(found)
    assert "q1" not in {query["id"] for query in found["top1_changed"]}


def test_queries_of_one_run_only_are_counted(a):
    part = run_of(GOLD, answers(AFTER)[:2])
    part["run"]["corpora"] = a["run"]["corpora"]
    with pytest.raises(NothingToEvaluateError, match=r"not ask 3 of the 5 .* --accept queries$"):
        diff(a, part, seed=1)
    found = diff(a, part, seed=1, accept=["queries"])
    assert "queries: run B did not ask 3 of the 5 queries of run A" in found["banner"]
    assert found["no_verdict"] == []
    assert (found["n_queries_in_both"], found["n_queries_only_a"]) == (2, 3)
    assert "left out: 3 of A, 0 of B" in found["notices"][0]
    assert [(one["id"], one["a"], one["b"]) for one in found["outcomes"]] == [
        (name, "answered", "not_asked") for name in ("q3", "q4", "q5")
    ]
    assert found["metrics"]["RR"]["delta_points"] == 0


def test_runs_of_the_same_part_of_a_gold_set_are_comparable():
    parts = [run_of(GOLD, found[:2]) for found in (answers(BEFORE), answers(AFTER))]
    assert diff(*parts, seed=1)["banner"] is None


def test_a_run_that_holds_a_query_twice_decides_nothing(a, b):
    b["queries"].append(b["queries"][0])
    found = diff(a, b, seed=1)
    assert found["no_verdict"] == [
        "run B has no verdict: it holds 1 query more than once, the first is 'q1'"
    ]
    assert "NO VERDICT" in diff_markdown(read(found)).split("##")[0]


@pytest.mark.parametrize(
    ("setting", "value"), [("convention", "trec9"), ("empty_ranking", "skip"), ("depth", 20)]
)
def test_other_rules_are_refused_until_they_are_named(a, b, setting, value):
    a["run"]["settings"][setting] = value
    with pytest.raises(NothingToEvaluateError, match=f"add --accept {setting}$"):
        diff(a, b, seed=1, accept=["corpus", "gold_set"])
    found = diff(a, b, seed=1, accept=[setting])
    assert [row["code"] for row in found["accepted"]] == [setting]
    assert found["banner"].startswith("THESE RUNS DID NOT MEASURE THE SAME THING")
    assert f"({value}, now" in found["banner"]


def test_another_gold_set_and_corpus_must_each_be_named(a):
    gold = gold_set(gold_query("q1", {"a": 1, "x": 1}), *GOLD.queries[1:])
    b = run_of(gold, answers(AFTER))
    for run, digest in ((a, "1" * 64), (b, "2" * 64)):
        run["run"]["corpora"][0] |= {"n_documents": 4, "fingerprint": digest}
    with pytest.raises(NothingToEvaluateError) as refused:
        diff(a, b, seed=1)
    assert str(refused.value).endswith("add --accept gold_set --accept corpus")
    assert "corpus docs has another digest (111111111111, then 222222222222)" in str(refused.value)
    with pytest.raises(NothingToEvaluateError, match=r"--accept corpus$"):
        diff(a, b, seed=1, accept=["gold_set"])
    found = diff(a, b, seed=1, accept=["gold_set", "corpus"])
    # The judgements of either run are those of its own gold set: x is relevant in the second.
    assert by_id(found)["q1"]["documents"]["1"]["gained"][0]["grade"] == 1
    assert found["metrics"]["RR"]["delta_points"] == pytest.approx(100 * (0.5 + 0.25) / 4)
    text = diff_markdown(read(found))
    assert "\n> **THESE RUNS DID NOT MEASURE THE SAME THING" in text.split("##")[0]


def test_a_corpus_that_one_run_skipped_is_a_mismatch(a, b):
    b["run"]["corpora"] = b["run"]["corpora"][:1]
    with pytest.raises(NothingToEvaluateError, match="corpus other was searched by one run only"):
        diff(a, b, seed=1)


def test_what_cannot_be_accepted_or_compared(a, b):
    with pytest.raises(BadInputError, match="'gold' cannot be accepted; expected one of gold_set,"):
        diff(a, b, seed=1, accept=["gold"])
    for level in (math.nan, math.inf, -0.1):
        with pytest.raises(BadInputError, match=f"flag level is {level}"):
            diff(a, b, seed=1, flag_points=level)
    other = run_of(gold_set(gold_query("z", {"a": 1}, corpus="docs")), [answer("z", ["a"])])
    with pytest.raises(NothingToEvaluateError, match="no query in common"):
        diff(a, other, seed=1, accept=["gold_set", "corpus"])
    b["run"]["settings"]["measures"] = ["Judged@7"]
    with pytest.raises(NothingToEvaluateError, match="no measure in common"):
        diff(a, b, seed=1)


def test_a_corpus_of_unknown_documents_is_said(a, b):
    assert diff(a, b, seed=1)["notices"][0].startswith("The digest of corpus docs")


def test_refusals_are_compared_by_query():
    gold = gold_set(
        gold_query("q1", {"a": 1}),
        gold_query("q2", {"a": 1}),
        gold_query("u1", answerable=False),
        gold_query("u2", answerable=False),
    )
    refuse = {"is_refused": True}
    before = [answer("q1", ["a"]), answer("q2", ["a"]), answer("u1", **refuse), answer("u2", ["x"])]
    after = [answer("q1", **refuse), answer("q2", ["a"]), answer("u1", ["x"]), answer("u2", ["x"])]
    found = diff(run_of(gold, before), run_of(gold, after), seed=1)
    caught = found["metrics"]["ungrounded_true_positive_rate"]
    assert (caught["a"], caught["b"], caught["n_pairs"]) == (0.5, 0.0, 2)
    assert caught["delta_points"] == -50
    refused = found["metrics"]["answerable_false_refusal_rate"]
    assert (refused["delta_points"], refused["n_up"]) == (50, 1)
    assert found["metrics"]["auc"]["is_paired"] is False
    assert by_id(found)["u1"]["contributions"] == {"ungrounded_true_positive_rate": -50.0}
    # u1 has no metric of a ranking, so it did not move; that it is answered now is listed.
    assert found["n_queries_moved"] == 1
    assert [(one["id"], one["a"], one["b"]) for one in found["outcomes"]] == [
        ("q1", "answered", "refused"),
        ("u1", "refused", "answered"),
    ]


def test_the_fields_of_the_set_up_that_differ_have_both_values(a):
    other = run_of(GOLD, answers(BEFORE), options={"k1": "2"}, facts={"name": "fake", "k1": 2.0})
    other["run"]["versions"]["numpy"] = "0.1"
    found = diff(a, other, seed=1)["setup"]
    version = a["run"]["versions"]["numpy"]
    assert {one["field"]: (one["a"], one["b"]) for one in found} == {
        "k1": (None, "2.0"),
        "version of numpy": (version, "0.1"),
    }
    assert diff(a, a, seed=1)["setup"] == []


def test_unproved_claims_make_a_change_a_range_and_the_judge_stands_beside_it(a, b):
    rest = [[True]] * 3
    before = with_claims(a, [[True, None], *rest, [True, True]], kappa=None)
    after = with_claims(b, [[True, False], *rest, [None, True]], kappa=None)
    found = diff(before, after, seed=1)
    change = found["metrics"]["claim_coverage"]
    # 6 to 7 of 7 before, 5 to 6 now.
    ends = change["unproved_low_points"], change["unproved_high_points"]
    assert ends == (pytest.approx(-200 / 7), pytest.approx(0.0))
    assert change["delta_points"] == pytest.approx(-100 / 7)
    assert "The judge of the claims: not compared with people." in found["notices"]
    moved = "With its unproved claims, claim_coverage moved by −28.57 to 0.00 points."
    assert moved in found["notices"]
    assert schema.faults(found, "search_diff") == []
    assert "unproved_low_points" not in found["metrics"]["RR"]


def test_tables_say_what_moved(a, b):
    found = diff(a, b, seed=1)
    (row,) = [row for row in metric_changes(read(found), ["RR"]) if row[0] == "RR"]
    assert row[:4] == ["RR", "0.625", "0.688", "+6.25"]
    assert row[6:] == ["2", "1", "4", "moved"]
    assert mover_rows(read(found), "P@5")[1:] == [
        ["q3", "text of q3", "+a (grade 1), +2 unjudged", "0.000", "0.200", "+5.00"]
    ]
    first, second, third = summary_sentences(read(found))
    assert first.startswith("Changed by more than 0.5 points: P@5 +5.00, P@10 +2.50,")
    assert second == (
        "3 queries moved, 3 have another first document; 1 moved P@5; 1 moved Recall@20."
    )
    # q5 has no relevant document, so no metric of it can move.
    assert third.startswith("4 queries have another ranking. A query moved when a metric ")
    still = diff(a, a, seed=1)
    assert summary_sentences(read(still))[0] == "No metric moved by more than 0.5 points."


def test_hostile_text_stays_text_in_markdown():
    hostile = "|<b>`x`</b>\n# not a head"
    gold = gold_set(gold_query("q1|", {hostile: 1}, query=hostile, area=hostile))
    runs = [run_of(gold, [answer("q1|", docs)], label=hostile) for docs in (["x"], [hostile])]
    text = diff_markdown(read(diff(*runs, seed=1)))
    assert "<b>" not in text
    assert "\n# not" not in text
    tables = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in tables if "moved" in line} == {11}


def test_a_long_list_is_cut_and_says_so():
    gold = gold_set(*(gold_query(f"q{i:02}", {"a": 1}) for i in range(25)))
    runs = [run_of(gold, [answer(query.id, [doc]) for query in gold.queries]) for doc in ("a", "x")]
    text = diff_markdown(read(diff(*runs, seed=1)))
    assert text.count("And 5 more; the JSON has them all.") == 3
