"""Random documents: closed forms against every order, and what is said of a run no better."""

from __future__ import annotations

import statistics
from itertools import permutations

import pytest
from msgspec.structs import replace

from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_run import CorpusFacts, SearchRun
from retrieval_eval.ranking import evaluate_rankings
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.random_documents import (
    expected_at_random,
    not_beaten,
    random_documents,
    random_notes,
    random_sentences,
)
from retrieval_eval.search.run.scoring import score_run
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(n_resamples=200)
NAMES = ("P@1", "P@3", "P@10", "Recall@3", "Recall@20", "RR", "nDCG@3", "nDCG@10")


def corpora(size: int | None = 40):
    return [CorpusFacts(corpus="docs", n_documents=size, fingerprint=None)]


def block_of(gold, answers, size: int | None = 40):
    return random_documents(score_run(gold, answers, SETTINGS), corpora(size))


@pytest.mark.parametrize("grades", [(1,), (2, 1), (3, 1, 1)])
@pytest.mark.parametrize("depth", [3, 50])
def test_random_documents_are_the_mean_over_every_order(grades, depth):
    docs = [f"d{i}" for i in range(6)]
    labels = dict(zip(docs, grades, strict=False))
    orders = list(permutations(docs))
    runs = {
        str(number): {doc: float(-place) for place, doc in enumerate(order[:depth])}
        for number, order in enumerate(orders)
    }
    names = [name for name in NAMES if depth == 50 or ("10" not in name and "20" not in name)]
    found = evaluate_rankings(dict.fromkeys(runs, labels), runs, names, convention="trec")
    for name in names:
        expected = expected_at_random(name, grades, len(docs), depth)
        assert expected == pytest.approx(statistics.fmean(found.scores[name].tolist()), abs=1e-12)


def skilled(n: int = 12):
    """Every query has its own document, and gets it first."""
    gold = gold_set(*(gold_query(f"q{i:02d}", {f"d{i}": 1}) for i in range(n)))
    answers = [answer(q.id, [f"d{i}", f"d{(i + 1) % n}"]) for i, q in enumerate(gold.queries)]
    return gold, answers


def read(gold, answers, size: int | None = 40):
    made = run_of(gold, answers, settings=SETTINGS)
    run = from_builtins(made, SearchRun, "run")
    return replace(run, random=block_of(gold, answers, size))


def test_a_system_with_skill_is_better_than_random_documents():
    run = read(*skilled())
    assert not_beaten(run) == []
    assert run.random.metrics["P@1"].value == pytest.approx(1 / 40)
    assert run.random.metrics["P@1"].n == 12
    assert random_sentences(run, ("P@1",)) == ["Random documents would get P@1 0.025."]


def test_the_same_answer_to_every_query_is_no_better():
    gold, _ = skilled(20)
    run = read(gold, [answer(query.id, [f"d{i}" for i in range(20)]) for query in gold.queries], 20)
    assert {"P@5", "Recall@20"} <= set(not_beaten(run))
    assert any("Not better than random documents: P@" in s for s in random_sentences(run, ()))
    (note,) = random_notes(run, {"P@5"})
    assert "the baseline is not better than random documents in P@5" in note


def test_a_corpus_of_unknown_size_leaves_random_documents_unknown():
    gold, answers = skilled()
    for size in (None, 0):
        mean = block_of(gold, answers, size).metrics["P@5"]
        assert (mean.value, mean.reason, mean.is_beaten) == (None, "no_corpus_size", None)


def test_queries_without_labels_and_failed_ones_are_left_out():
    gold = gold_set(
        gold_query("q1", {"a": 1}), gold_query("q2"), gold_query("q3", {"b": 1}), gold_query("q4")
    )
    answers = [answer("q1", ["a"]), answer("q2", ["a"]), failure("q3"), answer("q4")]
    block = block_of(gold, answers)
    assert block.n_queries == 1
    assert block.metrics["P@5"].is_beaten is None, "one query shows no spread"
    assert block_of(gold, [answer("q2", ["a"]), answer("q4")]) is None


def test_the_order_of_the_gold_file_does_not_matter():
    gold, answers = skilled()
    turned = gold_set(*reversed(gold.queries))
    assert block_of(gold, answers) == block_of(turned, answers[::-1])


def test_what_the_corpus_lacks_is_not_found():
    """Eight documents, each the one relevant document of a query that the corpus has."""
    n = 8
    gold = gold_set(*(gold_query(f"q{i}", {f"d{i}": 1, "gone": 1}) for i in range(n)))
    answers = [answer(f"q{i}", [f"d{(i + j) % n}" for j in range(n)]) for i in range(n)]
    outside = {f"q{i}": ("gone",) for i in range(n)}
    block = random_documents(score_run(gold, answers, SETTINGS), corpora(n), outside)
    random = block.metrics
    # One relevant document among eight, and the other half of the labels can never be found.
    assert random["P@1"].value == pytest.approx(1 / 8)
    assert random["P@5"].value == pytest.approx(1 / 8)
    assert random["Recall@20"].value == pytest.approx(0.5)
    assert random["RR"].value == pytest.approx(sum(1 / rank for rank in range(1, 9)) / 8)
    assert random["P@5"].is_beaten is not False
    # Where nothing of the labels is there, the expectation is 0, and not unknown.
    all_gone = {f"q{i}": ("gone", f"d{i}") for i in range(n)}
    found = random_documents(score_run(gold, answers, SETTINGS), corpora(n), all_gone)
    assert found.metrics["nDCG@10"].value == 0


@pytest.mark.parametrize("grades", [(1, 1), (2, 1, 1), (3, 2)])
def test_random_documents_of_a_corpus_that_lacks_some_are_the_mean_over_every_order(grades):
    docs = [f"d{i}" for i in range(5)]
    labels = {"gone": grades[0]} | dict(zip(docs, grades[1:], strict=False))
    runs = {
        str(number): {doc: float(-place) for place, doc in enumerate(order)}
        for number, order in enumerate(permutations(docs))
    }
    found = evaluate_rankings(dict.fromkeys(runs, labels), runs, NAMES, convention="trec")
    for name in NAMES:
        expected = expected_at_random(name, grades, len(docs), 50, grades[1:])
        assert expected == pytest.approx(statistics.fmean(found.scores[name].tolist()), abs=1e-12)
