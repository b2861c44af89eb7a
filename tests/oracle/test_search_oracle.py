"""The measures in a search run against trec_eval, on graded runs with all that goes wrong."""

from __future__ import annotations

import math
import random

import pytest
import pytrec_eval

from retrieval_eval.ranking import evaluate_rankings
from retrieval_eval.search.run import Settings
from tests.searches import answer, failure, gold_query, gold_set, run_of

K_VALUES = (1, 3, 5, 10, 20)
SETTINGS = Settings(k_values=K_VALUES, n_resamples=50)
TREC_EVAL = {
    **{f"P@{k}": f"P_{k}" for k in K_VALUES},
    **{f"Recall@{k}": f"recall_{k}" for k in K_VALUES},
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in K_VALUES},
    "RR": "recip_rank",
}


def random_run(n, seed):
    rng = random.Random(seed)
    queries, answers = [], []
    for number in range(n):
        pool = [f"doc-{i}" for i in range(rng.choice((4, 30, 80)))]
        grades = rng.choice(((0, 1), (0, 0, 1, 2), (0,)))
        judged = rng.sample(pool, rng.randint(1, min(len(pool), 20)))
        name = f"q{number}"
        queries.append(
            gold_query(
                name,
                {doc: rng.choice(grades) for doc in judged},
                corpus=rng.choice(("docs", "policies")),
                area=rng.choice((None, "levy", "sla")),
            )
        )
        if rng.random() < 0.02:
            answers.append(failure(name))
            continue
        depth = 0 if rng.random() < 0.05 else rng.randint(1, min(len(pool), 50))
        levels = rng.choice((2, 5, 10**6))
        # Whole scores: trec_eval compares 32-bit numbers, and these are the same in both.
        ranking = {doc: float(rng.randint(0, levels)) for doc in rng.sample(pool, depth)}
        answers.append(answer(name, ranking))
    return gold_set(*queries), answers


GOLD, ANSWERS = random_run(1500, seed=11)


@pytest.fixture(scope="module")
def document():
    return run_of(GOLD, ANSWERS, settings=SETTINGS)


@pytest.fixture(scope="module")
def theirs():
    measures = {
        name.rsplit("_", 1)[0] + "." + name.rsplit("_", 1)[1]
        for name in TREC_EVAL.values()
        if name != "recip_rank"
    } | {"recip_rank"}
    evaluator = pytrec_eval.RelevanceEvaluator(GOLD.qrels, measures)
    return evaluator.evaluate(
        {a.id: {d.doc: d.score for d in a.ranking} for a in ANSWERS if a.ranking}
    )


def test_per_query_values_equal_trec_eval_where_both_have_one(document, theirs):
    n_compared = 0
    for query in document["queries"]:
        has_relevant = any(grade for grade in GOLD.qrels[query["id"]].values())
        for name, trec_name in TREC_EVAL.items():
            value = query["metrics"][name]
            if query["status"] == "failed":
                assert (value, query["reasons"][name]) == (None, "query_failed")
            elif not has_relevant:
                # trec_eval says 0 where nothing could be found.
                assert (value, query["reasons"][name]) == (None, "no_ground_truth")
            elif not query["ranking"]:
                # trec_eval leaves out what a run lacks; here it counts as 0.
                assert query["id"] not in theirs
                assert value == 0
            else:
                assert value == pytest.approx(theirs[query["id"]][trec_name], abs=1e-12)
                n_compared += 1
    assert n_compared > 1000 * len(TREC_EVAL) * 0.6


@pytest.mark.parametrize("dimension", [None, "corpus", "area"])
def test_means_equal_those_of_trec_eval_with_zeros_for_empty_rankings(document, theirs, dimension):
    parts = {None: document} if dimension is None else document["slices"][dimension]
    by_id = {query.id: query for query in GOLD.queries}
    for part_name, part in parts.items():
        chosen = [
            a
            for a in ANSWERS
            if a.status == "ok"
            and by_id[a.id].n_relevant
            and (dimension is None or (getattr(by_id[a.id], dimension) or "(none)") == part_name)
        ]
        for name, trec_name in TREC_EVAL.items():
            values = [theirs[a.id][trec_name] if a.ranking else 0.0 for a in chosen]
            found = part["metrics"][name]
            assert found["n"] == len(values)
            assert found["value"] == pytest.approx(math.fsum(values) / len(values), abs=1e-12)


def test_the_same_rankings_have_the_same_means_without_a_run(document):
    answered = [a for a in ANSWERS if a.status == "ok"]
    qrels = {a.id: GOLD.qrels[a.id] for a in answered}
    # Whether an empty ranking is given or left out is one and the same.
    for kept in (answered, [a for a in answered if a.ranking]):
        rankings = {a.id: {d.doc: d.score for d in a.ranking} for a in kept}
        found = evaluate_rankings(qrels, rankings, SETTINGS.measures)
        assert len(found.missing_queries) == len(answered) - len(kept)
        for name, mean in found.means.items():
            ours = document["metrics"][name]
            assert (mean.value, mean.n) == (pytest.approx(ours["value"], abs=1e-12), ours["n"])


def test_the_grades_beside_a_ranking_are_those_of_the_gold_set_in_trec_evals_order(document):
    for query in document["queries"]:
        ranked = [(found["score"], found["doc"]) for found in query["ranking"]]
        assert ranked == sorted(ranked, reverse=True)
        judged = GOLD.qrels[query["id"]]
        assert [found["grade"] for found in query["ranking"]] == [
            judged.get(found["doc"]) for found in query["ranking"]
        ]
