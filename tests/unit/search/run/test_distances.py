"""Answers whose scores rise: distances, of which the lowest is the best."""

from __future__ import annotations

import pytest

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import QueryResult, ScoredDoc
from retrieval_eval.search.change.baseline import plan_update
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.document import run_bytes
from retrieval_eval.search.run.running import without_distances
from retrieval_eval.search.run.summary import notices
from tests.unit.search.run.test_hostile_retrievers import DAY

NOTHING = 3.4028234663852886e38
SETTINGS = Settings(n_resamples=20, depth=20)
GOLD = GoldSet(
    tuple(
        GoldQuery(f"q{n}", f"text {n}", "docs", relevant={f"d{n}": 1}, source="chair")
        for n in range(10)
    ),
    "0" * 64,
)


class Engine:
    """Returns the right document first, with what it states as its score."""

    def __init__(self, scores, **facts):
        self.scores, self.facts = scores, facts
        vars(self).update(facts)

    def search(self, query, *, corpus, k):
        n = int(query.split()[1])
        scores = self.scores(n) if callable(self.scores) else self.scores
        docs = [f"d{n}", *(f"other-{place}" for place in range(1, len(scores)))]
        return list(zip(docs, scores, strict=False))


def run_of(scores, **facts):
    return run_search(GOLD, Engine(scores, **facts), settings=SETTINGS)


ENGINES = {
    "squared L2 of faiss": [0.0, 0.31, 0.42, 1.7],
    "cosine distance of Chroma, equal ones among them": [0.1, 0.1, 0.2, 0.2, 0.3],
    "bm25() of FTS5": [-7.5, -6.1, -0.000001],
    "minus inner product of pgvector": [-0.9, -0.2, 0.4],
    "two documents": [0.2, 0.9],
    "whole numbers": [0, 1, 2],
    "nearly sorted by an approximate index": [*range(20), 18.5],
    "filled up by faiss": [0.1, 0.4, NOTHING, NOTHING],
}


@pytest.mark.parametrize("scores", ENGINES.values(), ids=ENGINES)
def test_a_run_of_distances_states_no_number_and_names_the_remedy(scores, tmp_path):
    run = run_of(scores)
    assert not run.status.has_verdict
    assert all(mean.value is None for mean in run.metrics.values())
    [reason] = run.status.reasons
    assert "scores rise along the answers of " in reason
    assert "lower_is_better = True" in reason
    assert f"No verdict: {reason}." in notices(run)
    assert run.trust.problems == {"scores_rise": 10}
    # Neither side of a guard takes it, and no baseline is made of it.
    sound = run_of(scores, lower_is_better=True)
    for sides in (([run], [sound]), ([sound], [run])):
        assert check(*sides, shipped_thresholds(), today=DAY).verdict == "no_verdict"
    path = tmp_path / "run.json"
    path.write_bytes(run_bytes(to_builtins(run)))
    with pytest.raises(NothingToEvaluateError, match="scores rise"):
        plan_update(tmp_path / "baseline.json", path)


@pytest.mark.parametrize("scores", ENGINES.values(), ids=ENGINES)
def test_a_retriever_that_says_that_lower_is_better_is_ranked_so(scores):
    run = run_of(scores, lower_is_better=True)
    assert run.status.has_verdict
    # Of equal scores the id decides, descending.
    assert run.metrics["P@1"].value == (1.0 if scores[0] != scores[1] else 0.0)
    assert all(query.ranking[0].score == -scores[0] for query in run.queries)


def test_a_retriever_that_says_that_higher_is_better_is_only_unsorted():
    run = run_of([0.2, 0.9], lower_is_better=False)
    assert run.status.has_verdict
    assert run.status.problems == {"fewer_than_k": 10, "unsorted": 10}
    assert any("10 of 10 queries were answered in another order" in one for one in notices(run))


SCORES = {
    "similarities": [0.9, 0.8, 0.1],
    "all equal": [1.0, 1.0, 1.0],
    "one document": [0.4],
    "no document": [],
    "only an order": [None, None],
    "a stray pair": [0.9, 0.5, 0.6],
}


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_scores_that_do_not_rise_are_scores(scores):
    assert run_of(scores).status.has_verdict


@pytest.mark.parametrize(
    ("n_rising", "n_falling", "n_equal", "has_verdict"),
    [(10, 0, 0, False), (9, 1, 0, False), (8, 2, 0, True), (1, 0, 9, False), (1, 1, 8, True)],
)
def test_nearly_all_answers_with_two_scores_decide(n_rising, n_falling, n_equal, has_verdict):
    answers = [[1, 2]] * n_rising + [[2, 1]] * n_falling + [[1, 1]] * n_equal
    run = run_of(lambda n: answers[n])
    assert run.status.has_verdict == has_verdict
    if has_verdict:
        assert run.status.problems["scores_rise"] == n_rising


def test_a_share_of_failed_queries_that_may_fail_does_not_excuse_distances():
    run = run_search(GOLD, Engine([0.1, 0.2]), settings=SETTINGS, max_failed=0.99)
    assert not run.status.has_verdict


def test_each_corpus_with_a_few_answers_is_judged_by_itself():
    def result(name, code):
        return QueryResult(name, "ok", problems=(code,) if code else ())

    rising = [result(f"a{n}", "scores_rise") for n in range(5)]
    ranking = (ScoredDoc("d1", 0.9), ScoredDoc("d2", 0.8))
    found = [QueryResult(f"b{n}", "ok", ranking=ranking) for n in range(20)]
    corpora = {r.id: r.id[0] for r in (*rising, *found)}
    judged = without_distances([*rising, *found], corpora)
    assert [one.status for one in judged] == ["failed"] * 5 + ["ok"] * 20
    few = without_distances([*rising[:4], *found], corpora)
    assert {one.status for one in few} == {"ok"}


class Padded:
    """Finds one document and fills up, as IDS[-1] of an index of faiss does."""

    def search(self, query, *, corpus, k):
        return [("d1", 0.5), ("d9", -NOTHING), ("d9", -NOTHING)]


def test_a_place_at_which_nothing_was_found_is_counted_and_not_ranked():
    run = run_search(GOLD, Padded(), settings=SETTINGS)
    assert run.status.has_verdict
    assert run.status.problems["no_score"] == 10
    assert [[found.doc for found in query.ranking] for query in run.queries] == [["d1"]] * 10
    assert any("±3.4e38" in notice for notice in notices(run))
