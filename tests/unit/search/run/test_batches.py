"""Runs of retrievers that answer in batches, and how much longer queries took."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.change.paired_change import change_sentence, latency_change
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run.running import run_queries

GOLD = GoldSet(
    (
        GoldQuery("q1", "one", "law", relevant={"a": 2, "b": 1, "z": 1}),
        GoldQuery("q2", "two", "law", relevant={"c": 1, "a": 0}),
        GoldQuery("q3", "three", "faq", relevant={"d": 1}),
        GoldQuery("q4", "four", "faq", answerable=False),
    ),
    "0" * 64,
)


class Batches:
    """Answers several queries of one corpus at once; ``wrong`` breaks that."""

    is_thread_safe = True
    batch_size = 2

    def __init__(self, wrong=None):
        self.asked, self.wrong = [], wrong

    def search(self, query, *, corpus, k):
        raise AssertionError("asked in batches")

    def search_many(self, queries, *, corpus, k):
        self.asked.append((corpus, list(queries)))
        answers = [ValueError("no") if query == "two" else ["a"] for query in queries]
        if self.wrong == "raises":
            raise ValueError("down")
        return answers[1:] if self.wrong == "short" else answers


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_asks_in_batches_of_one_corpus(jobs):
    retriever = Batches()
    results = run_queries(GOLD, retriever, depth=5, jobs=jobs)
    assert sorted(retriever.asked) == [("faq", ["three", "four"]), ("law", ["one", "two"])]
    assert [result.status for result in results] == ["ok", "failed", "ok", "ok"]
    assert results[1].error == "ValueError: no"
    assert [result.seconds for result in results] == [None] * 4


@pytest.mark.parametrize("wrong", ["raises", "short"])
def test_a_batch_without_an_answer_for_each_query_gives_none(wrong):
    results = run_queries(GOLD, Batches(wrong), depth=5)
    assert [result.status for result in results] == ["failed"] * 4


def timed(n, factor=1.0, **changes):
    queries = tuple(GoldQuery(f"q{i:03}", f"text {i}", "law", relevant={"a": 1}) for i in range(n))
    run = run_search(GoldSet(queries, "0" * 64), Named())
    asked = (replace(q, seconds=factor * (i + 1) / 1000) for i, q in enumerate(run.queries))
    return replace(run, queries=tuple(asked))


class Named:
    def search(self, query, *, corpus, k):
        return ["a"]


def test_the_change_is_paired_and_decides_nothing():
    found = latency_change(timed(40), timed(40, factor=1.5))
    assert (round(found.value, 6), round(found.ci_low, 6), found.n) == (1.5, 1.5, 40)
    assert "took 1.50 times as long" in change_sentence(found)
    assert "median ratio needs 6" in change_sentence(latency_change(timed(3), timed(3)))
    bare = replace(timed(2), queries=())
    assert latency_change(bare, timed(2)) is None


def test_of_a_file_no_time_is_compared():
    run = timed(10)
    use = replace(run.run.retriever, spec="run:file.trec")
    assert latency_change(replace(run, run=replace(run.run, retriever=use)), run) is None
