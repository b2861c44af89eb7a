"""What the queue promises: its gains are those of the bounds, and judging it all closes them."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from retrieval_eval.ranking import evaluate_rankings, parse_measure
from retrieval_eval.search.ask import ScoredDoc
from retrieval_eval.search.run import CONVENTION, HEADLINE, Settings
from retrieval_eval.search.run.judging_queue import judging_queue
from retrieval_eval.search.run.scoring import score_run, upper_bounds
from tests.conftest import COSTLY
from tests.searches import answer, gold_query, gold_set, stored_queries

SETTINGS = Settings(k_values=(5,), n_resamples=5)
DOCS = [f"d{i:02}" for i in range(30)]
JUDGED = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 2), max_size=12)
RANKING = st.lists(st.sampled_from(DOCS), unique=True, max_size=26)
QUERIES = st.lists(st.tuples(JUDGED, RANKING, RANKING), min_size=1, max_size=4)


def run_of_rankings(answers):
    """Of a search run what the queue reads: the answers, without the means of every measure."""
    queries = [
        {
            "id": a.id,
            "status": a.status,
            "ranking": [{"doc": found.doc, "score": 0.0} for found in a.ranking],
        }
        for a in answers
    ]
    return SimpleNamespace(label="", queries=stored_queries(queries))


@COSTLY
@given(QUERIES, st.randoms(use_true_random=False), st.booleans())
def test_judging_everything_in_the_queue_closes_the_bounds(drawn, chance, is_pair):
    gold = gold_set(*(gold_query(f"q{i}", judged) for i, (judged, *_) in enumerate(drawn)))
    answers = [
        [answer(f"q{i}", row[side]) for i, row in enumerate(drawn)]
        for side in ((1, 2) if is_pair else (1,))
    ]
    runs = [run_of_rankings(found) for found in answers]
    queue = judging_queue(gold, runs)
    gains = [candidate.gain_points for candidate in queue.candidates]
    assert all(gain > 0 for gain in gains)
    assert all(later <= earlier + 1e-11 for earlier, later in pairwise(gains))
    judged = {query.id: dict(query.relevant) for query in gold.queries}
    for candidate in queue.candidates:
        assert candidate.doc not in judged[candidate.query]
        judged[candidate.query][candidate.doc] = chance.randint(0, 2)
    later = gold_set(*(replace(query, relevant=judged[query.id]) for query in gold.queries))
    for found in answers:
        scored = score_run(later, found, SETTINGS)
        for name in HEADLINE:
            mean = scored.overall.metrics[name]
            if mean.computable:
                assert mean.unjudged_high == pytest.approx(mean.value, abs=1e-12)
    assert judging_queue(later, runs).candidates == ()


def width(judged, ranking):
    """The gap between a query's headline values and their bounds, from the bounds' own code."""
    scored = {"q": [ScoredDoc(doc, -float(rank)) for rank, doc in enumerate(ranking)]}
    high = upper_bounds({"q": judged}, scored, HEADLINE)
    values = {"q": {found.doc: found.score for found in scored["q"]}}
    low = evaluate_rankings({"q": judged}, values, HEADLINE, convention=CONVENTION).scores
    return {name: high[name]["q"] - float(low[name][0]) for name in HEADLINE}


@given(JUDGED, RANKING)
def test_a_gain_is_the_larger_part_that_one_judgement_closes(judged, ranking):
    gold = gold_set(gold_query("q", judged))
    queue = judging_queue(gold, [run_of_rankings([answer("q", ranking)])])
    gains = {candidate.doc: candidate.gain_points for candidate in queue.candidates}
    if not any(judged.values()):
        assert not gains
        return
    # Documents below the deepest cut-off are not queued.
    deepest = max(parse_measure(name).cutoff for name in HEADLINE)
    for rank, doc in enumerate(ranking, 1):
        if doc in judged or rank > deepest:
            assert doc not in gains
            continue
        before = width(judged, ranking)
        after = [width({**judged, doc: grade}, ranking) for grade in (0, 1)]
        expected = sum(max(before[name] - new[name] for new in after) for name in HEADLINE)
        assert gains.get(doc, 0.0) == pytest.approx(100 * expected, abs=1e-9)
