"""Runs of retrievers that show stages or answer in batches, and how long queries took."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.funnel import funnel, funnel_rows
from retrieval_eval.search.latency import (
    change_sentence,
    latency,
    latency_change,
    latency_remark,
    latency_rows,
    latency_sentence,
)
from retrieval_eval.search.markdown import to_markdown
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.running import run_queries

GOLD = GoldSet(
    (
        GoldQuery("q1", "one", "law", relevant={"a": 2, "b": 1, "z": 1}),
        GoldQuery("q2", "two", "law", relevant={"c": 1, "a": 0}),
        GoldQuery("q3", "three", "faq", relevant={"d": 1}),
        GoldQuery("q4", "four", "faq", answerable=False),
    ),
    "0" * 64,
)


class Reranked:
    """Finds five candidates, of which the reranker keeps two with a low score."""

    n_candidates = 5

    def first_stage(self, query, *, corpus, k):
        assert k == self.n_candidates
        return [(doc, 1.0) for doc in "abcde"]

    def rerank(self, query, docs, *, k):
        kept = {"one": "ba", "two": "de", "three": "dc", "four": "e"}[query]
        return [(doc, 0.5 - 0.1 * place) for place, doc in enumerate(kept)]

    def search(self, query, *, corpus, k):
        raise AssertionError("the stages are asked in its place")


def stages_of(run):
    return [(s.stage, s.n_queries, s.n_documents) for s in funnel(run.queries)]


def test_the_funnel_says_where_relevant_documents_were_lost():
    run = run_search(GOLD, Reranked(), floor=0.45)
    assert stages_of(run) == [
        ("labelled", 3, 5),
        ("candidates", 3, 4),
        ("reranked", 2, 3),
        ("first 50", 2, 3),
        ("returned", 2, 2),
    ]
    by_name = {stage.stage: stage for stage in funnel(run.queries)}
    assert by_name["reranked"].lost_queries == ("q2",)
    assert by_name["candidates"].n_lost_documents == 1
    assert by_name["returned"].n_lost_documents == 1
    table = funnel_rows(funnel(run.queries))
    assert table[1:3] == [
        ["labelled", "3", "5", ""],
        ["candidates", "3", "4", "0 queries, 1 document"],
    ]
    assert "## Stages" in to_markdown(run)


def test_a_retriever_without_stages_has_no_funnel(tmp_path):
    class Whole:
        def search(self, query, *, corpus, k):
            return ["a"]

    run = run_search(GOLD, Whole())
    assert all(query.stages is None for query in run.queries)
    assert (funnel(run.queries), funnel_rows(())) == ((), [])
    assert "## Stages" not in to_markdown(run)


def test_stages_of_one_call_survive_an_interruption(tmp_path):
    class Hybrid:
        broken = True

        def search(self, query, *, corpus, k):
            return self.search_stages(query, corpus=corpus, k=k)["fused"]

        def search_stages(self, query, *, corpus, k):
            if self.broken and query == "three":
                raise KeyboardInterrupt
            lists = {"candidates/words": ["a"], "candidates/vectors": ["b", "c"]}
            return {**lists, "candidates": ["a", "b", "c"], "fused": ["b", "a"][:k]}

    retriever, journal = Hybrid(), tmp_path / "journal.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_queries(GOLD, retriever, depth=5, journal=journal)
    retriever.broken = False
    results = run_queries(GOLD, retriever, depth=5, journal=journal)
    assert results[0].stages == results[2].stages
    assert [name for name, _ in results[0].stages][-1] == "fused"
    run = run_search(GOLD, retriever)
    assert stages_of(run) == [
        ("labelled", 3, 5),
        ("candidates/words", 1, 1),
        ("candidates/vectors", 2, 2),
        ("candidates", 2, 3),
        ("fused", 1, 2),
        ("returned", 1, 2),
    ]


@pytest.mark.parametrize("stages", [None, {}, {"": ["a"]}, {"x": None}, {"x": ["a", "a"]}, ["a"]])
def test_stages_that_cannot_be_trusted_fail_the_query(stages):
    class Hostile:
        def search(self, query, *, corpus, k):
            return ["a"]

        def search_stages(self, query, *, corpus, k):
            return stages

    assert all(result.status == "failed" for result in run_queries(GOLD, Hostile(), depth=5))


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


# --- latency ---


def timed(n, factor=1.0, **changes):
    queries = tuple(GoldQuery(f"q{i:03}", f"text {i}", "law", relevant={"a": 1}) for i in range(n))
    run = run_search(GoldSet(queries, "0" * 64), Named())
    asked = (replace(q, seconds=factor * (i + 1) / 1000) for i, q in enumerate(run.queries))
    return replace(run, queries=tuple(asked))


class Named:
    def search(self, query, *, corpus, k):
        return ["a"]


def test_a_quantile_needs_enough_queries_for_an_interval():
    found = latency(timed(40))
    known = {name: q.value for name, q in found.quantiles.items()}
    assert known == {"p50": 0.02, "p90": 0.036, "p95": None, "p99": None}
    assert (found.quantiles["p50"].ci_low, found.quantiles["p50"].ci_high) == (0.014, 0.027)
    assert latency_rows(found)[3:] == [
        ["p95", "not computable", "needs 72 queries", "40"],
        ["p99", "not computable", "needs 368 queries", "40"],
        ["longest", "40 ms", "", "40"],
    ]
    assert latency_sentence(found) == "p50 20 ms, p90 36 ms, longest 40 ms (40 queries)"
    assert latency_sentence(latency(timed(3))) == "longest 3 ms (3 queries)"


def test_what_has_no_time_is_left_out_and_counted():
    run = timed(10)
    first, second, *others = run.queries
    gone = (replace(first, seconds=None), replace(second, status="failed"), *others)
    found = latency(replace(run, queries=gone))
    assert (found.n, found.n_unknown, found.n_failed) == (8, 1, 1)
    assert "1 failed query and 1 query asked together" in latency_remark(found)
    assert "## Latency" in to_markdown(run)
    use = replace(run.run.retriever, spec="run:file.trec")
    assert latency(replace(run, run=replace(run.run, retriever=use))) is None


def test_the_change_is_paired_and_decides_nothing():
    found = latency_change(timed(40), timed(40, factor=1.5))
    assert (round(found.value, 6), round(found.ci_low, 6), found.n) == (1.5, 1.5, 40)
    assert "took 1.50 times as long" in change_sentence(found)
    assert "median ratio needs 6" in change_sentence(latency_change(timed(3), timed(3)))
    bare = replace(timed(2), queries=())
    assert latency_change(bare, timed(2)) is None


def test_the_page_has_both_as_tables():
    from retrieval_eval.report import search_tables as tables
    from retrieval_eval.report.search_run import SearchRun

    shown = tables.stages(SearchRun(run_search(GOLD, Reranked())))
    assert shown["Queries with a relevant document"].tolist() == ["3", "3", "2", "2"]
    shown = tables.latency_of(SearchRun(timed(40), baseline=timed(40, factor=0.5)))
    assert shown["Value"].tolist() == [
        "20 ms",
        "36 ms",
        "not computable",
        "not computable",
        "40 ms",
    ]
    assert tables.stages(SearchRun(timed(2))).empty
