"""Gold queries from feedback: settings, grouping, and the rows that stay."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import to_builtins
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.bootstrap import (
    FeedbackTables,
    bootstrap,
    feedback_settings,
    read_feedback,
)
from retrieval_eval.search.gold.chunks import text_digest
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.gold.identity import query_id
from tests.databases import WritableDatabase


def _settings(tmp_path, toml):
    (tmp_path / "gold.toml").write_text(toml, encoding="utf-8")
    return feedback_settings(tmp_path / "gold-set.jsonl")


def test_the_file_renames_and_grades(tmp_path):
    settings = _settings(
        tmp_path,
        "max_grade = 3\n[fields]\narea = 'field'\n"
        "[bootstrap.tables]\nsearch_logs = 'usage.queries'\n"
        "[bootstrap.columns]\nquery = 'q'\npractice_area = ''\n[bootstrap.scores]\n3 = 2\n2 = 1\n",
    )
    assert settings.tables.search_logs == "usage.queries"
    assert settings.tables.search_relevance_feedback == "search_relevance_feedback"
    assert (settings.tables.query, settings.tables.practice_area) == ("q", "")
    assert dict(settings.scores) == {3: 2, 2: 1}


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[bootstrap", "not valid TOML"),
        (f"n = {'9' * 5000}", "not valid TOML"),
        ("bootstrap = 3", r"\[bootstrap\] is a section"),
        ("[bootstrap]\ntable = 'x'", r"\[bootstrap\] has no 'table'; expected tables, columns"),
        ("[bootstrap]\ntables = 'x'", r"\[tables\] is a section"),
        ("[bootstrap.tables]\nlogs = 'x'", "'logs' is no table of the feedback; expected one of"),
        ("[bootstrap.tables]\nsearch_logs = ''", "'search_logs' cannot do without a name"),
        ("[bootstrap.columns]\nqueries = 'x'", "'queries' is no column of the feedback"),
        ("[bootstrap.columns]\nquery = 1", "query: expected a name in quotation marks"),
        ("[bootstrap.columns]\nquery = ''", "'query' cannot do without a name"),
        ("[bootstrap.scores]\nhigh = 1", "high: expected a whole score"),
        ("[bootstrap.scores]\n--3 = 1", "--3: expected a whole score"),
        (f"[bootstrap.scores]\n{'9' * 5000} = 1", "9: expected a whole score"),
        ("[bootstrap.scores]\n3 = '1'", "3: expected a whole score"),
        ("[bootstrap.scores]\n3 = true", "3: expected a whole score"),
        ("[bootstrap.scores]\n3 = -1", "3: expected a whole score"),
    ],
)
def test_settings_of_no_use_are_named(tmp_path, toml, said):
    with pytest.raises(BadInputError, match=rf"gold\.toml: .*{said}"):
        _settings(tmp_path, toml)


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


LEVY, FEES = query_id("library", "levy"), query_id("library", "late fees")


@pytest.fixture
def filled(sqlite_database):
    """Two queries of the library: "levy" with d1 and d2, "late fees" with d3."""
    sqlite_database.make_feedback_tables()
    sqlite_database.add_logs((1, "levy", "library", "tax"), (2, "late fees", "library"))
    sqlite_database.add_feedback((1, "d2"), (1, "d1"), (2, "d3"))
    return sqlite_database


@pytest.fixture
def gold(tmp_path) -> Path:
    return tmp_path / "eval" / "gold-set.jsonl"


def _write(gold, data: bytes) -> None:
    gold.parent.mkdir(exist_ok=True)
    gold.write_bytes(data)


def _row(query: str, source: str = "chair", **fields) -> bytes:
    row = {"id": query_id("library", query), "query": query, "corpus": "library"}
    return json.dumps({**row, "relevant": {"x": 2}, "source": source, **fields}).encode()


def _counts(result):
    return (
        result.n_added,
        result.n_changed,
        result.n_unchanged,
        result.n_dropped,
        result.n_chair,
        result.n_covered,
    )


def test_a_first_run_writes_the_rows_by_corpus_and_id(filled, gold):
    result = bootstrap(filled.url, gold)
    rows = [json.loads(line) for line in gold.read_text("utf-8").splitlines()]
    expected = [
        {
            "id": LEVY,
            "query": "levy",
            "corpus": "library",
            "area": "tax",
            "relevant": {"d1": 1, "d2": 1},
            "source": "bootstrap",
            "origin": "replayed",
        },
        {
            "id": FEES,
            "query": "late fees",
            "corpus": "library",
            "relevant": {"d3": 1},
            "source": "bootstrap",
            "origin": "replayed",
        },
    ]
    assert rows == sorted(expected, key=lambda row: row["id"])
    assert _counts(result) == (2, 0, 0, 0, 0, 0)
    assert result.is_written
    assert [query.answerable for query in load_gold_set(gold).queries] == [True, True]


def test_a_second_run_changes_and_writes_nothing(filled, gold):
    bootstrap(filled.url, gold)
    before, made = gold.read_bytes(), gold.stat()
    result = bootstrap(filled.url, gold)
    assert gold.read_bytes() == before
    assert (gold.stat().st_ino, gold.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert _counts(result) == (0, 0, 2, 0, 0, 0)
    assert (result.is_changed, result.is_written) == (False, False)


def test_chair_rows_keep_their_bytes_their_order_and_win(filled, gold):
    odd = (
        b'  {"query" : "LEVY ",\t"id":"me","corpus":"library","relevant":["z"],"source":"chair"}\r'
    )
    other = b'{"source":"chair","note":"\\u05d0","query":"own","relevant":{},"corpus":"library"}'
    machine = _row("late fees", "bootstrap", note="edited by hand")
    _write(gold, machine + b"\n\n" + odd + b"\n" + other)
    result = bootstrap(filled.url, gold)
    head, tail = odd + b"\n" + other + b"\n", gold.read_bytes().splitlines(keepends=True)[-1]
    # The blank line before a chair row is a person's too.
    assert gold.read_bytes() == b"\n" + head + tail
    assert json.loads(tail)["relevant"] == {"d3": 1}
    assert _counts(result) == (0, 1, 0, 0, 2, 1)
    again = gold.read_bytes()
    assert not bootstrap(filled.url, gold).is_changed
    assert gold.read_bytes() == again


def test_a_chair_row_wins_by_its_id_when_its_wording_was_corrected(filled, gold):
    corrected = _row("levy").replace(b'"query": "levy"', b'"query": "the betterment levy"')
    _write(gold, corrected + b"\n")
    result = bootstrap(filled.url, gold)
    assert [query.id for query in load_gold_set(gold).queries] == [LEVY, FEES]
    assert gold.read_bytes().startswith(corrected + b"\n")
    assert (result.n_covered, result.n_added) == (1, 1)


def test_rows_whose_queries_vanished_are_dropped_and_counted(filled, gold):
    bootstrap(filled.url, gold)
    filled.run("DELETE FROM search_relevance_feedback WHERE search_log_id = 1")
    result = bootstrap(filled.url, gold)
    assert [query.id for query in load_gold_set(gold).queries] == [FEES]
    assert _counts(result) == (0, 0, 1, 1, 0, 0)
    (change,) = result.changes
    assert (change.id, change.after) == (LEVY, None)


def test_nothing_is_written_when_no_query_would_be_left(filled, gold):
    bootstrap(filled.url, gold)
    before = gold.read_bytes()
    filled.run("UPDATE search_relevance_feedback SET relevance_score = 2")
    with pytest.raises(NothingToEvaluateError, match="0 feedback rows with score 3"):
        bootstrap(filled.url, gold)
    assert gold.read_bytes() == before
    with pytest.raises(NothingToEvaluateError):
        bootstrap(filled.url, gold.with_name("new.jsonl"))
    assert [each.name for each in gold.parent.iterdir()] == [gold.name]


def test_a_file_saved_while_the_database_is_read_is_not_overwritten(filled, gold):
    """The callback runs between the first look at the file and the writing."""
    late = _row("own") + b"\n"
    _write(gold, _row("levy", "bootstrap") + b"\n")
    bootstrap(filled.url, gold, progress=lambda *_: _write(gold, late))
    assert gold.read_bytes().startswith(late)


def test_a_dry_run_shows_the_rows_and_writes_nothing(filled, gold):
    result = bootstrap(filled.url, gold, dry_run=True)
    assert not gold.parent.exists()
    assert (result.is_changed, result.is_written, result.n_added) == (True, False, 2)
    assert {change.before for change in result.changes} == {None}
    bootstrap(filled.url, gold)
    assert [change.after for change in result.changes] == gold.read_text("utf-8").splitlines()


def test_other_white_space_in_a_row_ends_no_line(filled, gold):
    # U+2028 and U+0085 end a line for str.splitlines, but not in JSON Lines.
    chair = _row("own")[:-1] + ', "note": "a\u2028b\u0085c\x0b"}'.replace("\x0b", "").encode()
    _write(gold, chair)
    bootstrap(filled.url, gold)
    assert gold.read_bytes().startswith(chair + b"\n")
    assert load_gold_set(gold).queries[0].note == "a\u2028b\u0085c"


def test_a_grade_off_the_scale_is_refused_before_the_database_is_read(gold):
    with pytest.raises(BadInputError, match=r"score 3 is worth grade 3, .* scale 0 to 2"):
        bootstrap("sqlite:///absent.db", gold, scores={3: 3})


def test_settings_lie_beside_the_link_as_for_every_other_command(filled, gold, tmp_path):
    _write(gold, _row("own", relevant={"d": 3}) + b"\n")
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "gold.toml").write_text("max_grade = 3\n[bootstrap.scores]\n3 = 3\n")
    link = tmp_path / "named" / "link.jsonl"
    link.symlink_to(gold)
    bootstrap(filled.url, link)
    assert {g for query in load_gold_set(link).queries for g in query.relevant.values()} == {3}


def test_the_result_never_holds_the_password(fresh_postgres_url, database, gold):
    database.make_feedback_tables()
    database.add_logs((1, "levy", "library"))
    database.add_feedback((1, "d"))
    url = database.url.replace("tester@", "tester:correct-horse@")
    document = to_builtins(bootstrap(url, gold))
    assert "correct-horse" not in json.dumps(document)
    assert document["n_added"] == 1
    assert document["changes"][0]["before"] is None


CASE_LAW_ROW = (
    '{"id":"g001","query":"Objection","practice_area":"levy","corpus":"c",'
    '"relevant_case_law_ids":["u-2", "u-1"],"source":"chair","note":""}'
)


def test_new_rows_have_the_names_that_the_set_uses(sqlite_database, tmp_path):
    _fill(sqlite_database)
    path = tmp_path / "gold-set.jsonl"
    path.write_text(f"{CASE_LAW_ROW}\n")
    bootstrap(sqlite_database.url, path)
    first, *made = path.read_text().splitlines()
    assert first == CASE_LAW_ROW
    for row in map(json.loads, made):
        assert list(row)[:7] == list(json.loads(CASE_LAW_ROW))
        assert isinstance(row["relevant_case_law_ids"], list)
    assert not bootstrap(sqlite_database.url, path).is_changed
    # A grade that changes is written in place, as the list it was.
    queries = load_gold_set(path).queries
    write_gold_set(path, [replace(queries[0], relevant={"u-1": 1, "u-9": 1}), *queries[1:]])
    assert path.read_text().splitlines() == [
        CASE_LAW_ROW.replace(" ", "").replace('"u-2","u-1"', '"u-1","u-9"'),
        *made,
    ]


@pytest.mark.parametrize("by", ["option", "gold.toml"])
def test_a_new_set_may_state_its_names(sqlite_database, tmp_path, by):
    _fill(sqlite_database)
    path = tmp_path / "gold-set.jsonl"
    if by == "gold.toml":
        (tmp_path / "gold.toml").write_text('names = "case-law"\n')
    bootstrap(sqlite_database.url, path, names="case-law" if by == "option" else None)
    named = path.read_bytes()
    assert all("relevant_case_law_ids" in json.loads(line) for line in named.splitlines())
    # The rows show the names from now on, also one that is graded otherwise.
    bootstrap(sqlite_database.url, path, scores={3: 2})
    (tmp_path / "gold.toml").unlink(missing_ok=True)
    bootstrap(sqlite_database.url, path)
    assert path.read_bytes() == named
    assert [query.relevant for query in load_gold_set(path).queries] == [{"d1": 1, "d2": 1}]


def _fill(database):
    database.make_feedback_tables()
    database.add_logs((1, "Late fees", "c", "levy"))
    database.add_feedback((1, "d1"), (1, "d2"))


def test_rows_that_are_written_get_digests_and_others_stay_as_they_are(filled, gold):
    texts = {"d1": "one", "d2": "two", "d3": "three"}
    documents = tuple(Document(doc, "library", "", text) for doc, text in texts.items())
    bootstrap(filled.url, gold)
    without = gold.read_bytes()
    corpus = Corpus(documents, "", gold)
    assert not bootstrap(filled.url, gold, corpus=corpus).is_changed
    filled.add_feedback((2, "d1"))
    assert _counts(bootstrap(filled.url, gold, corpus=corpus)) == (0, 1, 1, 0, 0, 0)
    rows = {query.id: query for query in load_gold_set(gold).queries}
    assert rows[LEVY].digests == {}
    assert rows[FEES].digests == {doc: text_digest(texts[doc]) for doc in ("d1", "d3")}

    # An earlier digest is kept: it is of the text that the label was given to.
    other = replace(corpus, documents=tuple(replace(d, text="other") for d in documents))
    assert not bootstrap(filled.url, gold, corpus=other).is_changed
    filled.add_feedback((2, "d2"))
    bootstrap(filled.url, gold, corpus=other)
    rows = {query.id: query for query in load_gold_set(gold).queries}
    assert rows[FEES].digests == {
        "d1": text_digest("one"), "d2": text_digest("other"), "d3": text_digest("three")
    }  # fmt: skip
    assert without != gold.read_bytes()
