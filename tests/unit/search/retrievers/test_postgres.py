"""Full-text search on a real PostgreSQL server."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import make_url
from sqlalchemy import text as sql

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.protocol import Retriever
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import open_retriever
from retrieval_eval.search.retrievers.postgres import PostgresSettings, _statement, open_postgres
from retrieval_eval.search.running import describe_retriever
from tests.databases import WritableDatabase

DOCUMENTS = [
    ("d1", "policies", "Backups", "Backups are encrypted at rest. Encrypted copies are kept."),
    ("d2", "policies", None, "Copies are kept for thirty days."),
    ("d3", "policies", "Encryption", None),
    ("d4", "manuals", "Backups", "Encrypted backups of the manual."),
    ("e10", "policies", "Same", "identical words"),
    ("e9", "policies", "Same", "identical words"),
    ("E11", "policies", "Same", "identical words"),
    ("\u00e911", "policies", "Same", "identical words"),
]


@pytest.fixture(scope="module")
def documents(postgres_url):
    """A table of eight documents in two corpora."""
    database = WritableDatabase(postgres_url)
    columns = ("id", "corpus", "title", "text")
    database.run(
        "CREATE TABLE documents (id TEXT PRIMARY KEY, corpus TEXT, title TEXT, text TEXT)",
        (
            "INSERT INTO documents VALUES (:id, :corpus, :title, :text)",
            [dict(zip(columns, row, strict=True)) for row in DOCUMENTS],
        ),
    )
    yield database
    database.run("DROP TABLE documents")


@pytest.fixture
def opened(documents):
    """Open a retriever over the documents; it is closed afterwards."""
    made = []

    def open_one(url=documents.url, **options):
        made.append(open_postgres(url, options))
        return made[-1]

    yield open_one
    for retriever in made:
        retriever.close()


def _found(retriever, query, *, corpus="policies", k=10):
    return [each.doc for each in retriever.search(query, corpus=corpus, k=k)]


def test_a_document_without_an_id_is_no_document_of_the_name_none(documents, opened):
    documents.run(
        "CREATE VIEW nameless AS SELECT NULL::text AS id, corpus, title, text FROM documents"
    )
    try:
        with pytest.raises(RetrieverError, match="found in 'nameless' has no 'id'"):
            opened(table="nameless").search("encrypting", corpus="policies", k=10)
    finally:
        documents.run("DROP VIEW nameless")


def test_titles_and_texts_match_by_stem_within_the_corpus(opened):
    retriever = opened()
    assert isinstance(retriever, Retriever)
    # "encrypt" is the stem of all three; d1 has it twice, d3 once and in the title alone.
    first, second = retriever.search("encrypting", corpus="policies", k=10)
    assert (first.doc, second.doc) == ("d1", "d3")
    # Cover density: each hit of a one-word query weighs 0.1, the default weight of class D.
    assert (first.score, second.score) == (pytest.approx(0.2), pytest.approx(0.1))
    assert _found(retriever, "encrypting", corpus="manuals") == ["d4"]
    assert _found(retriever, "encrypting", corpus="absent") == []
    assert _found(retriever, "encrypting", k=1) == ["d1"]


def test_documents_of_equal_rank_are_ordered_by_code_point_descending(opened):
    # The order of trec_eval's ties: by bytes of the id, where "e9" > "e10" and "E" < "e" < "é".
    assert _found(opened(), "identical") == ["\u00e911", "e9", "e10", "E11"]
    assert _found(opened(), "identical", k=2) == ["\u00e911", "e9"]


def test_query_functions_differ_where_the_manual_says(opened):
    assert _found(opened(), "thirty or encryption") == ["d1", "d3", "d2"]
    assert _found(opened(), "copies -encrypted") == ["d2"]
    assert _found(opened(), '"encrypted copies"') == ["d1"]
    plain = opened(query="plainto_tsquery")
    assert _found(plain, "copies -encrypted") == ["d1"]


def test_language_and_normalization_are_passed_on(opened):
    assert _found(opened(language="simple"), "encrypting") == []
    assert _found(opened(language="simple"), "encrypted") == ["d1"]
    # 2 divides by the document's length: 7 of d1's words are no stop words ("are", "at", "for").
    (first, second) = opened(normalization="2").search("encrypting", corpus="policies", k=5)
    assert (first.doc, second.doc) == ("d3", "d1")
    assert second.score == pytest.approx(0.2 / 7)


@pytest.mark.parametrize(
    "query", ["", "   ", "the of and", "'", "\\", "a & | !", "%s %(x)s :name", "\u05d0"]
)
def test_odd_queries_find_nothing_and_break_nothing(opened, query):
    assert _found(opened(), query) == []
    assert _found(opened(query="plainto_tsquery"), query) == []


def test_text_in_a_query_is_never_sql(opened, documents):
    retriever = opened()
    assert _found(retriever, "x'); DROP TABLE documents; --") == []
    assert _found(retriever, "thirty", corpus="policies' OR '1'='1") == []
    assert _found(retriever, "thirty") == ["d2"]


@pytest.mark.parametrize("query", ["nul \x00 byte", "half \ud800 of a character"])
def test_what_the_server_cannot_take_fails_that_query_alone(opened, query):
    retriever = opened()
    with pytest.raises(RetrieverError, match="the database refused"):
        retriever.search(query, corpus="policies", k=5)
    assert _found(retriever, "thirty") == ["d2"]


def test_other_tables_and_columns(opened, documents):
    documents.run(
        'CREATE SCHEMA IF NOT EXISTS "My Law"',
        'CREATE TABLE "My Law".blocks ("block%id" INTEGER, "select" TEXT)',
        "INSERT INTO \"My Law\".blocks VALUES (7, 'late fees'), (12, 'early fees')",
    )
    retriever = opened(table="My Law.blocks", id="block%id", text="select", title="", corpus="")
    assert _found(retriever, "fees", corpus="anything") == ["7", "12"]
    assert describe_retriever(retriever)["corpora"] == [
        {"corpus": "*", "n_documents": 2, "fingerprint": None}
    ]
    documents.run('DROP SCHEMA "My Law" CASCADE')


def test_description_identifies_the_index_without_the_password(opened, documents):
    url = documents.url.replace("tester@", "tester:correct-horse@")
    facts = describe_retriever(opened(url, normalization="1"))
    assert "correct-horse" not in json.dumps(facts)
    assert facts["name"] == "PostgreSQL full text"
    assert (facts["table"], facts["language"], facts["normalization"]) == (
        "documents",
        "english",
        1,
    )
    assert facts["corpora"] == [
        {"corpus": "manuals", "n_documents": 1, "fingerprint": None},
        {"corpus": "policies", "n_documents": 7, "fingerprint": None},
    ]


def test_every_transaction_is_read_only(opened):
    retriever = opened()
    with retriever._connection() as connection:
        assert connection.execute(sql("SHOW transaction_read_only")).scalar_one() == "on"
    with (
        pytest.raises(BadInputError, match="read-only transaction"),
        retriever._connection() as connection,
    ):
        connection.execute(sql("DELETE FROM documents"))


def test_a_query_that_takes_too_long_is_given_up(opened, documents):
    documents.run(
        "CREATE VIEW slow AS SELECT id, corpus, title, text || pg_sleep(5) AS text FROM documents"
    )
    try:
        retriever = opened(table="slow", timeout="0.05")
        with pytest.raises(RetrieverError, match="statement timeout"):
            retriever.search("thirty", corpus="policies", k=5)
        # The limit is of one transaction; the next of the same connection starts without.
        with retriever._connection() as connection:
            assert connection.execute(sql("SHOW statement_timeout")).scalar_one() == "0"
    finally:
        retriever.close()
        documents.run("DROP VIEW slow")


def test_the_documented_index_serves_the_search(opened, documents):
    documents.run(
        "CREATE INDEX documents_words ON documents USING gin "
        "(to_tsvector('english', coalesce(title, '') || ' ' || coalesce(text, '')))"
    )
    retriever = opened()
    with retriever._connection() as connection:
        connection.execute(sql("SET LOCAL enable_seqscan = off"))
        statement = _statement(PostgresSettings(), retriever._language, "thirty", "policies", 5)
        compiled = statement.compile(connection.engine)
        plan = connection.exec_driver_sql(f"EXPLAIN {compiled}", compiled.params).scalars().all()
    documents.run("DROP INDEX documents_words")
    assert any("documents_words" in line for line in plan), "\n".join(plan)


def test_threads_share_a_retriever(opened):
    retriever = opened()
    assert retriever.is_thread_safe is True
    n = 24
    together = threading.Barrier(n, timeout=60)

    def ask(number):
        together.wait()
        return _found(retriever, "thirty" if number % 2 else "identical", k=1)

    with ThreadPoolExecutor(n) as pool:
        answers = list(pool.map(ask, range(n)))
    assert answers == [["\u00e911"], ["d2"]] * (n // 2)


def test_a_server_that_goes_away_fails_queries_with_a_sentence(documents, fresh_postgres_url):
    gone = WritableDatabase(fresh_postgres_url)
    gone.run("CREATE TABLE documents (id TEXT, corpus TEXT, title TEXT, text TEXT)")
    retriever = open_postgres(gone.url, {})
    try:
        assert _found(retriever, "thirty") == []
        documents.run(
            (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name",
                [{"name": make_url(gone.url).database}],
            )
        )
        with pytest.raises(RetrieverError, match="postgresql"):
            retriever.search("thirty", corpus="policies", k=5)
        # A new connection is made for the next query.
        assert _found(retriever, "thirty") == []
    finally:
        retriever.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "absent"}, "no table or view 'absent' .*documents"),
        ({"text": "body", "title": "head"}, "no column 'body', 'head' .*corpus, id, text, title"),
        ({"language": "klingon"}, 'configuration "klingon" does not exist'),
        ({"langauge": "english"}, "no option 'langauge'.*language"),
        ({"query": "to_tsquery"}, "query is 'to_tsquery'"),
        ({"normalization": "64"}, "normalization is '64'.* 0 to 63"),
        ({"normalization": "1.5"}, "normalization is 1.5"),
        ({"timeout": "soon"}, "timeout is 'soon'"),
        ({"timeout": "nan"}, "timeout is 'nan'"),
        ({"id": ""}, "option id cannot be empty"),
    ],
)
def test_options_of_no_use_are_named(documents, options, said):
    with pytest.raises(BadInputError, match=said):
        open_postgres(documents.url, options)


def test_only_postgresql_has_this_search(tmp_path):
    with pytest.raises(BadInputError, match="needs a postgresql:// URL"):
        open_postgres("sqlite:///a.db", {})


def test_the_spec_of_a_server_opens_it(documents):
    retriever = open_retriever(documents.url, {"language": "simple"})
    assert _found(retriever, "kept") == ["d2", "d1"]
    retriever.close()
    retriever.close()
