from __future__ import annotations

import pytest

from retrieval_eval.search.run import Settings
from tests.plain_runs import changes, delta, differences
from tests.searches import answer, gold_query, gold_set, run_of

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
