"""Relevance feedback: what rows of a database become, the same on SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.bootstrap import FeedbackTables, read_feedback
from tests.databases import WritableDatabase


def _by_text(feedback):
    return {(query.corpus, query.query): query for query in feedback.queries}


def test_searches_that_differ_in_case_and_space_are_one_query(database):
    database.make_feedback_tables()
    database.add_logs(
        (1, "Betterment levy", "library", "tax"),
        (2, "  betterment\tLEVY ", "library", "tax"),
        (3, "Betterment levy", "library", "planning"),
        (4, "Betterment levy", "decisions", None),
        (5, "objection", "library", None),
    )
    database.add_feedback((1, "d1"), (2, "d2"), (3, "d1"), (4, "d9"), (5, "d5", 2))
    feedback = read_feedback(database.url)
    found = _by_text(feedback)
    assert set(found) == {("library", "Betterment levy"), ("decisions", "Betterment levy")}
    query = found["library", "Betterment levy"]
    assert query.relevant == {"d1": 1, "d2": 1}
    assert (query.area, query.source, query.origin, query.answerable) == (
        "tax",
        "bootstrap",
        "replayed",
        True,
    )
    assert found["decisions", "Betterment levy"].area is None
    assert feedback.n_rows == 4
    assert dict(feedback.skipped) == {}
    assert [each.corpus for each in feedback.queries] == ["decisions", "library"]


def test_wording_is_counted_by_searches_not_by_documents(database):
    database.make_feedback_tables()
    database.add_logs((1, "LEVY", "c", "x"), (2, "levy", "c", "y"), (3, "levy", "c", "y"))
    # The rows of one search lie apart, as they do when decisions come in one by one.
    database.add_feedback((1, "a"), (2, "a"), (1, "b"), (3, "a"), (1, "c"), (2, "b"), (1, "c"))
    (query,) = read_feedback(database.url).queries
    assert (query.query, query.area) == ("levy", "y")
    assert query.relevant == {"a": 1, "b": 1, "c": 1}


def test_a_tie_goes_to_the_smallest_code_points(database):
    # "L" is U+004C and "l" U+006C; most collations would put "l" first, or call them equal.
    database.make_feedback_tables()
    database.add_logs((1, "levy", "c", "b"), (2, "LEVY", "c", "a"), (3, "Levy", "c", "Z"))
    database.add_feedback((1, "d"), (2, "d"), (3, "d"))
    (query,) = read_feedback(database.url).queries
    assert (query.query, query.area) == ("LEVY", "Z")


def test_rows_that_judge_nothing_are_counted_by_reason(database):
    database.make_feedback_tables()
    database.add_logs(
        (1, None, "c"), (2, "  ", "c"), (3, "q", None), (4, "q", ""), (5, "q", "c"), (6, "r", "c")
    )
    database.add_feedback(
        (1, "d"), (2, "d"), (3, "d"), (4, "d"), (5, None), (5, ""), (6, "d"), (99, "d"), (None, "d")
    )
    feedback = read_feedback(database.url)
    assert [query.query for query in feedback.queries] == ["r"]
    assert dict(feedback.skipped) == {"no_corpus": 2, "no_document": 2, "no_log": 2, "no_query": 2}
    assert feedback.n_rows == 9


def test_scores_are_worth_grades_and_the_highest_wins(database):
    database.make_feedback_tables()
    database.add_logs((1, "q", "c"), (2, "Q", "c"), (3, "nothing", "c"))
    database.add_feedback(
        (1, "a", 3), (1, "b", 2), (2, "b", 3), (2, "c", 1), (1, "e", 0), (3, "z", 0)
    )
    (only,) = read_feedback(database.url).queries
    assert only.relevant == {"a": 1, "b": 1}
    graded = _by_text(read_feedback(database.url, scores={3: 2, 2: 1, 0: 0}))
    assert graded["c", "Q"].relevant == {"a": 2, "b": 2, "e": 0}
    assert graded["c", "nothing"].relevant == {"z": 0}
    assert graded["c", "nothing"].answerable is None


def test_a_score_above_the_wanted_one_is_another_score(database):
    database.make_feedback_tables()
    database.add_logs((1, "q", "c"))
    database.add_feedback((1, "a", 4))
    assert read_feedback(database.url).queries == ()


def test_ids_may_be_numbers_or_uuids(database):
    document = uuid.UUID("6f1f4f3e-0c5a-4a39-9d5d-0a4f5a3f1c11")
    is_sqlite = database.url.startswith("sqlite")
    database.make_feedback_tables(document="TEXT" if is_sqlite else "UUID", log="TEXT")
    database.add_logs(("one", "q", "c"))
    database.add_feedback(("one", str(document)))
    assert read_feedback(database.url).queries[0].relevant == {str(document): 1}


@pytest.mark.parametrize("kind", ["INTEGER", "NUMERIC", "REAL"])
def test_whole_numbers_are_written_without_a_point(database, kind):
    database.make_feedback_tables(document=kind)
    database.add_logs((1, "q", "c"))
    database.add_feedback((1, 17))
    assert read_feedback(database.url).queries[0].relevant == {"17": 1}


def test_binary_ids_are_refused_by_name(sqlite_database):
    sqlite_database.make_feedback_tables(document="BLOB")
    sqlite_database.add_logs((1, "q", "c"))
    sqlite_database.add_feedback((1, b"\x00\x01"))
    with pytest.raises(BadInputError, match="binary; expected text, whole numbers or UUIDs"):
        read_feedback(sqlite_database.url)


HOSTILE = 'que"ry; DROP TABLE "logs'


def test_any_name_can_stand_for_a_documented_one(database):
    quoted = HOSTILE.replace('"', '""')
    database.run(f'CREATE TABLE "Select" ("a%b" INTEGER, "{quoted}" TEXT, "group" TEXT)')
    database.run('CREATE TABLE feed (log INTEGER, "Doc Id" TEXT, s INTEGER)')
    database.run("INSERT INTO \"Select\" VALUES (1, 'late fees', 'tax')")
    database.run("INSERT INTO feed VALUES (1, 'd1', 3)")
    tables = FeedbackTables().renamed(
        tables={"search_logs": "Select", "search_relevance_feedback": "feed"},
        columns={
            "id": "a%b",
            "query": HOSTILE,
            "corpus": "",
            "practice_area": "group",
            "search_log_id": "log",
            "case_law_id": "Doc Id",
            "relevance_score": "s",
        },
    )
    (query,) = read_feedback(database.url, tables).queries
    assert (query.corpus, query.query, query.area) == ("default", "late fees", "tax")
    assert query.relevant == {"d1": 1}


def test_a_table_may_lie_in_a_schema_and_be_a_view(fresh_postgres_url):
    database = WritableDatabase(fresh_postgres_url)
    database.run("CREATE SCHEMA usage")
    database.make_feedback_tables()
    database.add_logs((1, "q", "c"))
    database.add_feedback((1, "d"))
    database.run("CREATE VIEW usage.logs AS SELECT * FROM search_logs")
    tables = FeedbackTables().renamed(tables={"search_logs": "usage.logs"})
    assert len(read_feedback(database.url, tables).queries) == 1


def test_missing_tables_are_named_with_what_there_is(database):
    database.run("CREATE TABLE searches (id INTEGER)")
    said = r"'search_logs' \(there: searches\).*other names can be named"
    with pytest.raises(BadInputError, match=said):
        read_feedback(database.url)


def test_missing_columns_are_all_named(database):
    database.run("CREATE TABLE search_logs (id INTEGER, text TEXT, corpus TEXT)")
    database.run("CREATE TABLE search_relevance_feedback (id INTEGER)")
    with pytest.raises(
        BadInputError,
        match=r"'search_logs' has no column 'query', 'practice_area' \(there: corpus, id, text\)",
    ):
        read_feedback(database.url)


def test_many_rows_stream_and_progress_ends_at_their_number(database):
    database.make_feedback_tables()
    n = 4500
    database.add_logs(*((i, f"query {i % 50}", "c") for i in range(n)))
    database.add_feedback(*((i, f"d{i % 7}") for i in range(n)))
    seen = []
    feedback = read_feedback(database.url, progress=lambda *step: seen.append(step))
    assert len(feedback.queries) == 50
    assert seen == [(2000, n, "feedback"), (4000, n, "feedback"), (n, n, "feedback")]
    # Every one of 50 texts meets every one of 7 documents, for 50 and 7 have no common factor.
    assert all(len(query.relevant) == 7 for query in feedback.queries)


def test_the_database_file_is_not_touched(sqlite_database):
    sqlite_database.make_feedback_tables()
    sqlite_database.add_logs((1, "q", "c"))
    sqlite_database.add_feedback((1, "d"))
    path = Path(sqlite_database.url.removeprefix("sqlite:///"))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    read_feedback(sqlite_database.url)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
