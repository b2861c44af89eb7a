"""The laws that scores of a run and the delta of two runs keep, whatever was retrieved."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval import schema
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.document import run_bytes
from retrieval_eval.search.run.scoring import score_run
from tests.conftest import COSTLY
from tests.plain_runs import delta, to_markdown
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(k_values=(1, 3), n_resamples=20)
DOCS = st.sampled_from("abcdefgh")
NAMES = st.sampled_from(["one", "two", "three"])

RANKINGS = st.dictionaries(DOCS, st.sampled_from([0.0, 0.5, 1.0, 2.5]), max_size=8)
QUERY = st.tuples(
    st.dictionaries(DOCS, st.integers(0, 3), max_size=6), NAMES, st.none() | NAMES, RANKINGS
)
QUERIES = st.lists(QUERY, min_size=1, max_size=8)
# What is validated is short: that takes longer than to make it.
FEW_QUERIES = st.lists(QUERY, min_size=1, max_size=3)


def run_parts(drawn, *, is_failing=lambda number: False):
    gold = gold_set(
        *(
            gold_query(f"q{number}", relevant, corpus=corpus, area=area)
            for number, (relevant, corpus, area, _) in enumerate(drawn)
        )
    )
    answers = [
        failure(f"q{number}") if is_failing(number) else answer(f"q{number}", ranking)
        for number, (*_, ranking) in enumerate(drawn)
    ]
    return gold, answers


@COSTLY
@given(QUERIES, st.integers(0, 7), st.randoms(use_true_random=False))
def test_scores_are_bounded_counted_once_and_of_no_order(drawn, failed, chance):
    gold, answers = run_parts(drawn, is_failing=lambda n: n == failed)
    shuffled = list(answers)
    chance.shuffle(shuffled)
    scored, again = score_run(gold, answers, SETTINGS), score_run(gold, shuffled, SETTINGS)
    assert (scored.overall, scored.slices) == (again.overall, again.slices)
    for query in scored.queries:
        for name, score in query.scores.items():
            value = score.value.value
            if value is None:
                assert score.tie_low is None
                continue
            assert 0 <= score.tie_low <= value + 1e-12
            assert value <= score.tie_high + 1e-12 <= 1 + 2e-12
            if name == "Judged@10":
                assert score.unjudged_high is None
            else:
                assert value - 1e-12 <= score.unjudged_high <= 1 + 1e-12
    for name, mean in scored.overall.metrics.items():
        assert mean.n + sum(mean.not_computable.values()) == len(drawn)
        for parts in scored.slices.values():
            assert sum(part.n_queries for part in parts.values()) == len(drawn)
            inside = [part.metrics[name] for part in parts.values()]
            assert sum(value.n for value in inside) == mean.n
            if mean.value is not None:
                total = math.fsum(value.value * value.n for value in inside if value.computable)
                assert total / mean.n == pytest.approx(mean.value, abs=1e-12)


@COSTLY
@given(FEW_QUERIES, st.integers(0, 3), st.text(), st.text(max_size=20))
def test_every_run_is_valid_reads_back_and_becomes_markdown(drawn, failed, query, label):
    gold, answers = run_parts(drawn, is_failing=lambda n: n == failed)
    gold = gold_set(gold_query("text", {"a": 1}, query=query or "-"), *gold.queries)
    answers = [answer("text", ["a"]), *answers]
    document = run_of(gold, answers, settings=SETTINGS, label=label)
    document["delta"] = delta(document, document, seed=1)
    data = json.loads(run_bytes(document))
    assert schema.faults(data, "search_run") == []
    assert data["queries"][1:] == document["queries"][1:]
    page = to_markdown(document)
    widths = {line.replace(r"\|", "").count("|") for line in page.splitlines() if line[:1] == "|"}
    assert widths <= {3, 4, 7, 8}
