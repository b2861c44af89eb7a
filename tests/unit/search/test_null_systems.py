"""Systems without skill: closed forms against every order, permuted labels, popular documents."""

from __future__ import annotations

import statistics
from itertools import permutations

import pytest

from retrieval_eval.metrics.ranking import evaluate_rankings
from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_run import CorpusFacts, SearchRun
from retrieval_eval.search.null_systems import (
    expected_at_random,
    not_beaten,
    null_notes,
    null_sentences,
    null_systems,
)
from retrieval_eval.search.scoring import score_run
from retrieval_eval.search.settings import Settings
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(n_resamples=200)
NAMES = ("P@1", "P@3", "P@10", "Recall@3", "Recall@20", "RR", "nDCG@3", "nDCG@10")


def corpora(size: int | None = 40):
    return [CorpusFacts(corpus="docs", n_documents=size, fingerprint=None)]


def block_of(gold, answers, size: int | None = 40):
    return null_systems(score_run(gold, answers, SETTINGS), corpora(size))


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


def test_a_system_with_skill_beats_all_three():
    gold, answers = skilled()
    block = block_of(gold, answers)
    assert not_beaten(block) == []
    assert block.systems["random"].metrics["P@1"].value == pytest.approx(1 / 40)
    assert block.systems["popular"].metrics["RR"].value < 0.5
    assert block.systems["random"].metrics["P@1"].n == 12


def test_labels_of_other_queries_are_the_mean_over_all_of_them_where_they_are_few():
    gold, answers = skilled(6)
    block = block_of(gold, answers)
    labels = {query.id: query.relevant for query in gold.queries}
    values = []
    for result in answers:
        scores = {found.doc: found.score for found in result.ranking}
        own = [labels[other] for other in labels if other != result.id]
        runs = {str(i): scores for i in range(len(own))}
        qrels = {str(i): grades for i, grades in enumerate(own)}
        values += evaluate_rankings(qrels, runs, ["RR"], convention="trec").scores["RR"].tolist()
    assert block.systems["permuted"].metrics["RR"].value == pytest.approx(statistics.fmean(values))
    assert block.n_permutations == 10


def test_popular_documents_know_nothing_of_the_query_itself():
    gold, answers = skilled()
    popular = block_of(gold, answers).systems["popular"]
    # Its own document is known from no other query, so it never comes.
    assert popular.metrics["Recall@20"].value == 0


def popular_gold(n: int = 20):
    """One document is relevant to every query."""
    gold = gold_set(*(gold_query(f"q{i:02d}", {"all": 1}) for i in range(n)))
    return gold, [answer(query.id, ["all", "x"]) for query in gold.queries]


def test_one_document_that_is_relevant_to_everything_is_flagged_and_named():
    gold, answers = popular_gold()
    block = block_of(gold, answers)
    assert {system for system, _ in not_beaten(block)} == {"permuted", "popular"}
    (popular,) = block.popular
    assert (popular.doc, popular.n_relevant, popular.n_queries) == ("all", 20, 20)
    run = from_builtins(run_of(gold, answers, settings=SETTINGS), SearchRun, "run")
    text = " ".join(null_sentences(run, ("P@5",)))
    assert "Without skill" in text
    assert "P@5 unknown / 0.200 / 0.200" in text
    assert "document all is relevant to 20 of 20 queries of docs" in text
    (first, _) = null_notes(run, {"P@5"})
    assert "the baseline is not better than the labels of other queries in P@5" in first


def test_a_corpus_of_unknown_size_leaves_random_documents_unknown():
    gold, answers = skilled()
    for size in (None, 0):
        mean = block_of(gold, answers, size).systems["random"].metrics["P@5"]
        assert (mean.value, mean.reason, mean.is_beaten) == (None, "no_corpus_size", None)


def test_queries_without_labels_and_failed_ones_are_left_out():
    gold = gold_set(
        gold_query("q1", {"a": 1}), gold_query("q2"), gold_query("q3", {"b": 1}), gold_query("q4")
    )
    answers = [answer("q1", ["a"]), answer("q2", ["a"]), failure("q3"), answer("q4")]
    block = block_of(gold, answers)
    assert block.n_queries == 1
    mean = block.systems["permuted"].metrics["P@5"]
    assert (mean.value, mean.reason) == (None, "too_few_values"), "there is no other query"
    assert block.systems["random"].metrics["P@5"].is_beaten is None, "one query shows no spread"
    assert block_of(gold, [answer("q2", ["a"]), answer("q4")]) is None


def test_the_order_of_the_gold_file_does_not_matter():
    gold, answers = skilled()
    turned = gold_set(*reversed(gold.queries))
    assert block_of(gold, answers) == block_of(turned, answers[::-1])


def test_what_the_corpus_lacks_is_found_by_no_system():
    """Eight documents, each the one relevant document of a query that the corpus has."""
    n = 8
    gold = gold_set(*(gold_query(f"q{i}", {f"d{i}": 1, "gone": 1}) for i in range(n)))
    answers = [answer(f"q{i}", [f"d{(i + j) % n}" for j in range(n)]) for i in range(n)]
    outside = {f"q{i}": ("gone",) for i in range(n)}
    block = null_systems(score_run(gold, answers, SETTINGS), corpora(n), outside)
    random = block.systems["random"].metrics
    # One relevant document among eight, and the other half of the labels can never be found.
    assert random["P@1"].value == pytest.approx(1 / 8)
    assert random["P@5"].value == pytest.approx(1 / 8)
    assert random["Recall@20"].value == pytest.approx(0.5)
    assert random["RR"].value == pytest.approx(sum(1 / rank for rank in range(1, 9)) / 8)
    assert ("random", "P@5") not in not_beaten(block)
    assert block.systems["popular"].metrics["Recall@20"].value == 0
    assert [each.doc for each in block.popular] == ["d0"]
    # Where nothing of the labels is there, the expectation is 0, and not unknown.
    all_gone = {f"q{i}": ("gone", f"d{i}") for i in range(n)}
    found = null_systems(score_run(gold, answers, SETTINGS), corpora(n), all_gone)
    assert found.systems["random"].metrics["nDCG@10"].value == 0
    assert found.popular == ()


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
