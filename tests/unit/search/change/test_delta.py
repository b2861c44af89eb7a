from __future__ import annotations

import math

import pytest

from retrieval_eval import schema
from retrieval_eval.search.run.settings import Settings
from tests.plain_runs import changes, delta, differences
from tests.searches import answer, failure, gold_query, gold_set, run_of

GOLD = gold_set(
    gold_query("q1", {"a": 1}, area="levy"),
    gold_query("q2", {"a": 1}, area="levy"),
    gold_query("q3", {"a": 1}, corpus="other"),
    gold_query("q4", {"a": 1}, corpus="other"),
    gold_query("q5"),
)
#              q1 RR 1      q2 RR 1/2         q3 RR 0       q4 RR 1
BEFORE = [["a", "x"], ["x", "a"], ["x"], ["a"], ["x"]]
#              q1 RR 1/2    q2 RR 1           q3 RR 1/4               q4 RR 1
AFTER = [["x", "a"], ["a", "x"], ["x", "y", "z", "a"], ["a"], ["y"]]


def answers(rankings):
    return [answer(q.id, ranking) for q, ranking in zip(GOLD.queries, rankings, strict=True)]


@pytest.fixture
def before():
    return run_of(GOLD, answers(BEFORE), label="old")


@pytest.fixture
def after():
    return run_of(GOLD, answers(AFTER), label="new")


def test_changes_are_points_of_paired_queries(before, after):
    found = delta(before, after, seed=1)
    assert found["baseline"] == {
        "label": "old",
        "generated_at": before["generated_at"],
        "gold_fingerprint": GOLD.fingerprint,
    }
    assert found["is_comparable"] is True
    change = found["metrics"]["RR"]
    # 0.625 → 0.6875 over four queries.
    assert change["baseline"] == 0.625
    assert change["current"] == 0.6875
    assert change["delta_points"] == pytest.approx(6.25, abs=1e-12)
    assert (change["n_pairs"], change["n_only_baseline"], change["n_only_current"]) == (4, 0, 0)
    assert change["p_value"] is None
    # -0.5, 0.5, 0.25: three that moved are enough for an interval, and it holds 0.
    assert change["ci_low_points"] < 0 < change["ci_high_points"]


def test_contributions_by_hand(before, after):
    rows = {row["id"]: row["contributions"] for row in delta(before, after, seed=1)["queries"]}
    assert {query: given.get("RR") for query, given in rows.items()} == {
        "q1": -12.5,
        "q2": 12.5,
        "q3": 6.25,
    }
    assert rows["q1"]["P@1"] == -25
    assert "P@5" not in rows["q1"]


def test_first_documents_that_changed(before, after):
    # q3 keeps its first; q5 has no labels, but another first document all the same.
    assert delta(before, after, seed=1)["queries_top1_changed"] == ["q1", "q2", "q5"]


def test_slices_are_compared_alone(before, after):
    found = delta(before, after, seed=1)["slices"]
    assert found["corpus"].keys() == {"docs", "other"}
    assert found["corpus"]["other"]["metrics"]["RR"]["delta_points"] == pytest.approx(12.5)
    assert found["corpus"]["docs"]["metrics"]["RR"]["delta_points"] == 0
    assert found["area"]["levy"]["metrics"]["RR"]["n_pairs"] == 2
    assert found["area"]["(none)"]["metrics"]["RR"]["n_pairs"] == 2


def test_queries_with_a_value_in_one_run_only_are_counted_and_left_out(before):
    broken = answers(AFTER)
    broken[0] = failure("q1")
    found = delta(before, run_of(GOLD, broken), seed=1)
    change = found["metrics"]["RR"]
    assert (change["n_pairs"], change["n_only_baseline"], change["n_only_current"]) == (3, 1, 0)
    # q2, q3, q4: 0.5 → 0.75
    assert change["baseline"] == pytest.approx(0.5)
    assert change["delta_points"] == pytest.approx(25)
    assert "q1" not in found["queries_top1_changed"]
    back = delta(run_of(GOLD, broken), before, seed=1)["metrics"]["RR"]
    assert (back["n_only_baseline"], back["n_only_current"]) == (0, 1)


def test_without_a_pair_there_is_no_number(before):
    other = run_of(GOLD, [failure(query.id) for query in GOLD.queries])
    change = delta(before, other, seed=1)["metrics"]["RR"]
    assert {change[key] for key in ("baseline", "current", "delta_points", "ci_low_points")} == {
        None
    }
    assert (change["n_pairs"], change["n_only_baseline"]) == (0, 4)


def test_a_run_against_itself_changes_nothing(before):
    found = delta(before, before, seed=1)
    assert {change["delta_points"] for change in found["metrics"].values()} <= {0.0, None}
    assert (found["queries"], found["queries_top1_changed"], found["changes"]) == ([], [], [])


def test_another_gold_set_cannot_be_compared_and_says_how_it_differs(before):
    gold = gold_set(gold_query("q1", {"a": 1, "b": 1}))
    other = run_of(gold, [answer("q1", ["a"])])
    found = delta(before, other, seed=1)
    assert found["is_comparable"] is False
    (reason,) = found["reasons"]
    assert reason.startswith("gold_set: the gold set changed from 5 queries and 4 labelled pairs (")
    assert GOLD.fingerprint[:12] in reason
    assert (found["metrics"], found["slices"], found["queries"]) == (
        {},
        {"corpus": {}, "area": {}},
        [],
    )


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("convention", "trec9", "convention"),
        ("empty_ranking", "skip", "empty_ranking"),
        ("depth", 20, "depth"),
        ("measures", ["bpref"], "measures"),
    ],
)
def test_other_rules_of_measuring_cannot_be_compared(before, after, setting, value, code):
    before["run"]["settings"][setting] = value
    assert list(differences(before, after)) == [code]
    assert delta(before, after, seed=1)["is_comparable"] is False


def test_cut_offs_that_only_one_run_has_do_not_hinder(before):
    deeper = run_of(GOLD, answers(AFTER), settings=Settings(k_values=(1, 2)))
    found = delta(before, deeper, seed=1)
    assert found["is_comparable"] is True
    assert "P@2" not in found["metrics"]
    assert "P@5" in found["metrics"]


def test_what_else_changed_is_listed(before):
    facts = {"name": "fake", "k1": 0.9, "index": "f" * 64, "corpora": [{"corpus": "docs"}]}
    old = run_of(GOLD, answers(BEFORE), facts=facts | {"k1": 1.5, "index": "e" * 64})
    new = run_of(GOLD, answers(BEFORE), facts=facts, options={"k1": "0.9"})
    assert changes(old, new) == ["k1: 1.5 → 0.9", "index: eeeeeeeeeeee → ffffffffffff"]
    assert changes(before, old)[-2:] == ["k1: not there → 1.5", "index: not there → eeeeeeeeeeee"]


def test_of_another_kind_of_retriever_no_option_is_listed():
    old = run_of(GOLD, answers(BEFORE), facts={"name": "bm25", "k1": 1.2, "method": "lucene"})
    new = run_of(GOLD, answers(BEFORE), facts={"name": "search", "timeout": 5})
    old["run"]["retriever"]["spec"] = "bm25:corpus.jsonl"
    new["run"]["retriever"] |= {"spec": "https://host/search", "floor": 0.5}
    assert changes(old, new) == [
        "kind of retriever: bm25 → http",
        "spec: bm25:corpus.jsonl → https://host/search",
        "name: bm25 → search",
        "floor: none → 0.5",
    ]


def test_another_threshold_of_refusal_is_listed():
    gold = gold_set(*GOLD.queries, gold_query("u", answerable=False))
    given = [*answers(BEFORE), answer("u", ["x"])]
    old, new = (run_of(gold, given, abstain_at=at) for at in (None, 1.5))
    assert changes(old, new) == ["abstain_at: none → 1.5"]
    assert changes(new, old) == ["abstain_at: 1.5 → none"]
    assert changes(run_of(GOLD, answers(BEFORE)), run_of(GOLD, answers(BEFORE))) == []


def test_the_same_seed_gives_the_same_delta_and_the_block_is_valid(before, after):
    found = delta(before, after, seed=3)
    assert found == delta(before, after, seed=3)
    after["delta"] = found
    assert schema.faults(after, "search_run") == []


def test_contributions_add_up(before, after):
    found = delta(before, after, seed=1)
    for name, change in found["metrics"].items():
        total = math.fsum(row["contributions"].get(name, 0.0) for row in found["queries"])
        assert total == pytest.approx(change["delta_points"], abs=1e-12)
