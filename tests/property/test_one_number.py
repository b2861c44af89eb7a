"""The same rankings give the same numbers, whichever way they come to be scored."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.ranking import evaluate_rankings
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.named_metrics import metric_value
from tests.conftest import COSTLY

SETTINGS = Settings(k_values=(1, 3), n_resamples=20)
DOCS = st.sampled_from("abcdefgh")
# Few different scores, so that many are equal; no ranking at all, an empty one, a broken one.
HIGH = {"best": "high"}
RANKINGS = st.dictionaries(DOCS, st.sampled_from([-1.5, -0.0, 0.0, 1.0]), max_size=6)
QUERIES = st.lists(
    st.tuples(st.dictionaries(DOCS, st.integers(0, 3), max_size=5), st.none() | RANKINGS),
    min_size=1,
    max_size=7,
)


class Table:
    """Answers by the text of the query; None is an error."""

    # Rankings are drawn in any order, and none of their scores is a distance.
    lower_is_better = False

    def __init__(self, rankings):
        self.rankings = rankings

    def search(self, query, *, corpus, k):
        return list(self.rankings[query].items())


def gold_of(drawn):
    queries = [
        GoldQuery(f"q{n}", f"q{n}", "docs", relevant=grades, answerable=bool(grades) or False)
        for n, (grades, _) in enumerate(drawn)
    ]
    return GoldSet(tuple(queries), "0" * 64)


def trec(rankings):
    return "".join(
        f"{query} Q0 {doc} 1 {score} run\n"
        for query, found in rankings.items()
        for doc, score in found.items()
    )


@COSTLY
@given(QUERIES)
def test_the_api_a_retriever_and_a_ranked_file_agree(drawn):
    gold = gold_of(drawn)
    rankings = {f"q{n}": found for n, (_, found) in enumerate(drawn) if found is not None}
    failed = [f"q{n}" for n, (_, found) in enumerate(drawn) if found is None]
    names = SETTINGS.measures
    live = run_search(gold, Table(rankings), settings=SETTINGS, max_failed=0.99)
    asked = GoldSet(tuple(q for q in gold.queries if q.id not in failed), "0" * 64)
    runs = [live]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.jsonl"
        rows = [{"id": q, "ranking": list(found.items())} for q, found in rankings.items()]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if any(rankings.values()):
            runs.append(run_search(asked, f"run:{file}", options=HIGH, settings=SETTINGS))
        if any(rankings.values()):
            # A TREC run cannot say that nothing was found: such a query has no line.
            file = Path(folder) / "run.txt"
            file.write_text(trec(rankings))
            stated = {**HIGH, "missing": "empty"}
            runs.append(run_search(asked, f"run:{file}", options=stated, settings=SETTINGS))
            qrels = {q.id: dict(q.relevant) for q in asked.queries}
            from_file = evaluate_rankings(qrels, file, names)
        else:
            from_file = None
    qrels = {q.id: dict(q.relevant) for q in asked.queries}
    tables = [evaluate_rankings(qrels, rankings, names, documents="abcdefgh")] if qrels else []
    tables += [from_file] if from_file is not None else []
    for name in names:
        # What failed has no number anywhere, and is counted.
        assert live.metrics[name].not_computable.get("query_failed", 0) == len(failed)
        by_query = [
            {q.id: q.metrics[name] for q in run.queries if q.status == "ok"} for run in runs
        ] + [
            dict(
                zip(
                    table.query_ids,
                    (None if value != value else value for value in table.scores[name].tolist()),
                    strict=True,
                )
            )
            for table in tables
        ]
        assert all(one == by_query[0] for one in by_query)
        means = [metric_value(run, name).value for run in runs]
        means += [table.means[name].value for table in tables]
        assert all(one == pytest.approx(means[0], abs=1e-12) for one in means[1:] if means[0])
        assert len({one is None for one in means}) == 1
        for query, found in rankings.items():
            has_truth = any(grade >= 1 for grade in qrels[query].values())
            if not found and has_truth and not name.startswith("Judged"):
                assert by_query[0][query] == 0
    _counts_agree(live, rankings, failed)


def _counts_agree(run, rankings, failed):
    """What abstention counts is what the rankings say; nothing at all where a query failed."""
    assert run.status.n_failed == run.trust.n_failed == len(failed)
    assert run.status.n_empty == sum(not found for found in rankings.values())
    block = run.abstention
    if block is None:
        assert all(query.answerable for query in run.queries)
        return
    if failed:
        assert block.true_positive_rate.reason == "query_failed"
        assert block.roc == ()
        return
    for rate, answerable in ((block.true_positive_rate, False), (block.false_refusal_rate, True)):
        kind = [query for query in run.queries if query.answerable is answerable]
        assert rate.n == len(kind)
        assert (rate.n_refused or 0) == sum(not rankings[query.id] for query in kind)
