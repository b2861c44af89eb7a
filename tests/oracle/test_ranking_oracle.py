"""The measures against other implementations of the same definitions."""

import random

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from sklearn.metrics import ndcg_score

from retrieval_eval.ranking import evaluate_rankings, rank_metrics

CUTOFFS = (1, 3, 5, 10, 100)
TREC_EVAL = {
    **{f"P@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"Recall@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"AP@{k}": f"map_cut_{k}" for k in CUTOFFS},
    **{f"Success@{k}": f"success_{k}" for k in CUTOFFS},
    "RR": "recip_rank",
    "AP": "map",
    "nDCG": "ndcg",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "P": "set_P",
    "Recall": "set_recall",
    "F1": "set_F",
}
ASKED = {
    *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("P", "recall", "ndcg_cut", "map_cut")),
    f"success.{','.join(map(str, CUTOFFS))}",
    *("recip_rank", "map", "ndcg", "Rprec", "bpref", "set_P", "set_recall", "set_F"),
}


def random_queries(n, seed):
    """Graded queries with ties, short lists, nothing relevant, negative grades, unjudged."""
    rng = random.Random(seed)
    qrels, rankings = {}, {}
    for number in range(n):
        pool = [f"doc-{i}" for i in range(rng.choice((3, 12, 60)))]
        grades = rng.choice(((0, 1), (0, 0, 1, 2, 3), (-2, -1, 0, 1, 4), (0,)))
        judged = rng.sample(pool, rng.randint(1, len(pool)))
        retrieved = rng.sample(pool, rng.randint(1, len(pool)))
        levels = rng.choice((2, 5, 10**6))
        qrels[f"q{number}"] = {doc: rng.choice(grades) for doc in judged}
        # pytrec_eval writes beyond its memory when the best grade of a query is below -1.
        if max(qrels[f"q{number}"].values()) < 0:
            qrels[f"q{number}"][judged[0]] = 0
        rankings[f"q{number}"] = {doc: rng.randint(0, levels) / 7 for doc in retrieved}
        if rng.random() < 0.02:
            del rankings[f"q{number}"]
    return qrels, rankings


QRELS, RANKINGS = random_queries(4000, seed=20)


def long(data, number):
    rows = [(query, doc, value) for query, docs in data.items() for doc, value in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", number])


@pytest.fixture(scope="module")
def theirs():
    return pytrec_eval.RelevanceEvaluator(QRELS, ASKED).evaluate(RANKINGS)


@pytest.mark.parametrize("kind", ["mappings", "frames", "files"])
def test_trec9_equals_pytrec_eval(theirs, kind, tmp_path):
    qrels, rankings = QRELS, RANKINGS
    if kind == "frames":
        qrels, rankings = (
            long(QRELS, "grade"),
            long(RANKINGS, "score").sample(frac=1, random_state=1),
        )
    if kind == "files":
        qrels, rankings = tmp_path / "qrels", tmp_path / "run"
        rows = long(QRELS, "grade").itertuples(index=False)
        qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
        rows = long(RANKINGS, "score").itertuples(index=False)
        rankings.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in rows))
    ours = evaluate_rankings(qrels, rankings, list(TREC_EVAL), convention="trec9")
    assert set(ours.query_ids) == set(theirs)
    assert len(theirs) > 3000
    for name, trec_name in TREC_EVAL.items():
        expected = np.array([theirs[query][trec_name] for query in ours.query_ids])
        np.testing.assert_allclose(ours.scores[name], expected, rtol=0, atol=1e-12, err_msg=name)


def test_trec_differs_from_trec9_only_where_nothing_exists(theirs):
    ours = evaluate_rankings(QRELS, RANKINGS, ["RR", "Recall@5", "nDCG@10"])
    assert len(ours.query_ids) == len(QRELS)
    missing = set(ours.missing_queries)
    assert missing == set(QRELS) - set(theirs)
    for query, row in ours.per_query.iterrows():
        is_empty = not any(grade > 0 for grade in QRELS[query].values())
        assert row.isna().all() == row.isna().any() == is_empty
        if not is_empty:
            expected = 0.0 if query in missing else theirs[query]["recip_rank"]
            assert row["RR"] == pytest.approx(expected, abs=1e-12)


def test_trec_equals_trec_eval_c_with_empty_and_missing_queries():
    # Whole scores are the same as 32-bit numbers, with which trec_eval compares.
    rankings = {
        query: {doc: float(round(score * 7)) for doc, score in docs.items()}
        for query, docs in RANKINGS.items()
    }
    names = list(QRELS)
    empty, missing = set(names[::7]), set(names[3::11])
    given = {q: {} if q in empty else docs for q, docs in rankings.items() if q not in missing}
    ours = evaluate_rankings(QRELS, given, list(TREC_EVAL))
    assert set(ours.missing_queries) == QRELS.keys() - given.keys() >= missing
    whole = {query: given.get(query, {}) for query in QRELS}
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, ASKED).evaluate(whole)
    has_relevant = np.array([max(QRELS[query].values()) > 0 for query in ours.query_ids])
    for name, trec_name in TREC_EVAL.items():
        expected = np.array([theirs[query][trec_name] for query in ours.query_ids])
        assert np.isnan(ours.scores[name][~has_relevant]).all()
        np.testing.assert_allclose(
            ours.scores[name][has_relevant],
            expected[has_relevant],
            rtol=0,
            atol=1e-12,
            err_msg=name,
        )
        assert ours.means[name].n == has_relevant.sum() > 2000


@pytest.mark.parametrize(
    ("ours", "measure"),
    [
        ("P@5", "P@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("Recall@10", "R@10"),
        ("RR", "RR"),
        ("RR(rel=2)", "RR(rel=2)"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("AP@10", "AP@10"),
        ("nDCG@10", "nDCG@10"),
        ("nDCG(gain=exp)@10", "nDCG(gains={0:0,1:1,2:3,3:7,4:15})@10"),
        ("Success@3", "Success@3"),
        ("Rprec(rel=2)", "Rprec(rel=2)"),
        ("bpref(rel=2)", "Bpref(rel=2)"),
        ("F1", "SetF"),
    ],
)
def test_trec9_equals_ir_measures(ours, measure):
    found = evaluate_rankings(QRELS, RANKINGS, [ours], convention="trec9").per_query[ours]
    assert_same_as_ir_measures(found, measure, RANKINGS)


def assert_same_as_ir_measures(found, measure, rankings):
    qrels = {query: QRELS[query] for query in rankings}
    asked = [ir_measures.parse_measure(measure)]
    expected = {m.query_id: m.value for m in ir_measures.iter_calc(asked, qrels, rankings)}
    assert len(expected) == len(found) > 2000
    expected = np.array([expected[query] for query in found.index])
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def test_judged_and_rr_with_cutoff_equal_ir_measures_without_ties():
    # Its own providers break ties the other way round, so there are none here.
    rankings = {
        query: {doc: score + place / 1e3 for place, (doc, score) in enumerate(docs.items())}
        for query, docs in RANKINGS.items()
    }
    rankings = {q: d for q, d in rankings.items() if len(set(d.values())) == len(d)}
    for ours, measure in (("Judged@5", "Judged@5"), ("RR@3", "RR@3")):
        found = evaluate_rankings(QRELS, rankings, [ours], convention="trec9").per_query[ours]
        assert_same_as_ir_measures(found, measure, rankings)


def test_ndcg_equals_scikit_learn():
    rng = np.random.default_rng(3)
    for _ in range(200):
        grades = rng.integers(0, 4, size=12)
        scores = rng.permutation(12).astype(float)
        if not grades.any():
            continue
        names = [f"d{i}" for i in range(12)]
        ranked = [names[i] for i in np.argsort(-scores)]
        judged = dict(zip(names, grades.tolist(), strict=True))
        values = rank_metrics(ranked, judged, ["nDCG@5", "nDCG", "nDCG(gain=exp)@5"])
        assert values["nDCG@5"].value == pytest.approx(ndcg_score([grades], [scores], k=5))
        assert values["nDCG"].value == pytest.approx(ndcg_score([grades], [scores]))
        gains = 2.0**grades - 1
        expected = ndcg_score([gains], [scores], k=5)
        assert values["nDCG(gain=exp)@5"].value == pytest.approx(expected)


def test_means_are_exact(theirs):
    from fractions import Fraction

    ours = evaluate_rankings(QRELS, RANKINGS, ["nDCG@10"], convention="trec9")
    scores = ours.scores["nDCG@10"].tolist()
    exact = float(sum(map(Fraction, scores)) / len(scores))
    assert ours.means["nDCG@10"].value == pytest.approx(exact, rel=2e-16, abs=0)
