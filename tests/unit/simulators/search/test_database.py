from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
from msgspec.structs import replace

from retrieval_eval.search.gold.bootstrap import read_feedback
from retrieval_eval.search.gold.gold_set import query_line
from tests.simulators.search.database import REVIEWS


@pytest.fixture(scope="module")
def database(search_demo):
    with closing(sqlite3.connect(f"file:{search_demo.feedback}?mode=ro", uri=True)) as connection:
        yield connection


def test_the_feedback_gives_back_the_bootstrap_rows_to_the_letter(search_demo):
    lines = search_demo.gold.read_text("utf-8").splitlines()
    expected = [line for line in lines if json.loads(line)["source"] == "bootstrap"]
    found = read_feedback(f"sqlite:///{search_demo.feedback}").queries
    # Feedback does not know that it is invented; the rows that the demo wrote say so.
    marked = [replace(query, extra={"simulated": True}) for query in found]
    assert set(expected) <= {query_line(query) for query in marked}
    # The others are replayed queries that a person has reviewed since.
    reviewed = {json.loads(line)["id"] for line in lines} - {json.loads(x)["id"] for x in expected}
    assert {query.id for query in found} - {json.loads(x)["id"] for x in expected} <= reviewed


def test_not_all_feedback_counts_and_not_every_search_has_some(database):
    scores = Counter(
        score
        for (score,) in database.execute("select relevance_score from search_relevance_feedback")
    )
    assert scores[3] > 100
    assert scores.keys() > {3}
    (silent,) = database.execute(
        "select count(*) from search_logs where id not in"
        " (select search_log_id from search_relevance_feedback)"
    ).fetchone()
    assert silent >= 40


def test_the_review_queue_holds_every_status(database):
    rows = database.execute(
        "select review_status, count(*) from review_items group by 1"
    ).fetchall()
    assert dict(rows) == REVIEWS
    (undated,) = database.execute(
        "select count(*) from review_items where created_at not like '202_-__-__T%+00:00'"
    ).fetchone()
    assert undated == 0
