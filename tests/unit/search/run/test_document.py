from __future__ import annotations

import json

import pytest

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.search.ask.options import shown_spec
from retrieval_eval.search.run.document import retriever_facts, run_bytes
from tests.plain_runs import read_search_run
from tests.searches import answer, failure, gold_query, gold_set, run_of
from tests.unit.test_schema import undeclared

GOLD = gold_set(
    gold_query("q1", {"a": 2, "c": 0}, area="levy", source="chair"),
    gold_query("q2", {"b": 1}),
    gold_query("q3", answerable=False),
    gold_query("q4"),
)
GOOD = (answer("q1", {"x": 3.0, "a": 3.0, "c": 1.0}), answer("q2"), answer("q3"), answer("q4"))


@pytest.fixture
def document():
    return run_of(GOLD, GOOD, label="first")


def test_a_run_is_valid_and_declares_every_field(document):
    assert schema.kind_of(document) == "search_run"
    assert schema.faults(document, "search_run") == []
    part = schema.load_schema("search_run")
    assert undeclared(document, part, part) == []


def test_the_head_of_a_run(document):
    assert list(document)[:3] == ["schema_version", "generated_at", "label"]
    assert document["run"]["gold_set"] == {
        "name": "gold-set",
        "fingerprint": GOLD.fingerprint,
        "n_queries": 4,
        "n_labelled_pairs": 3,
        "n_answerable": 2,
        "n_unanswerable": 1,
        "n_unlabelled": 1,
        "sources": {"bootstrap": 3, "chair": 1},
        "is_provisional": False,
    }
    assert document["run"]["settings"]["empty_ranking"] == "zero"
    assert document["run"]["versions"].keys() == {"python", "retrieval-evidence", "numpy", "scipy"}


def test_a_query_of_a_run(document):
    query = document["queries"][0]
    # Equal scores: document ids descend.
    assert query["ranking"] == [
        {"doc": "x", "score": 3.0, "grade": None},
        {"doc": "a", "score": 3.0, "grade": 2},
        {"doc": "c", "score": 1.0, "grade": 0},
    ]
    assert query["metrics"]["RR"] == 0.5
    assert query["reasons"] == {}
    assert document["queries"][3]["metrics"]["RR"] is None
    assert document["queries"][3]["reasons"]["RR"] == "no_ground_truth"


def test_a_sound_run_has_a_verdict_and_counts_what_happened():
    answers = [
        answer("q1", ["a"], problems=("fewer_than_k", "unsorted")),
        answer("q2", is_refused=True),
        answer("q3", problems=("fewer_than_k",)),
        answer("q4"),
    ]
    assert run_of(GOLD, answers)["status"] == {
        "n_queries": 4,
        "n_ok": 4,
        "n_failed": 0,
        "n_empty": 3,
        "n_refused": 1,
        "n_with_problems": 2,
        "problems": {"fewer_than_k": 2, "unsorted": 1},
        "has_verdict": True,
        "reasons": [],
    }


def test_a_run_with_a_failed_query_has_no_verdict():
    document = run_of(GOLD, [*GOOD[:3], failure("q4", "timed out")])
    status = document["status"]
    assert (status["n_ok"], status["n_failed"], status["has_verdict"]) == (3, 1, False)
    (reason,) = status["reasons"]
    assert reason.startswith("1 of 4 queries failed, so the means are not those of the gold set")
    assert reason.endswith("the first of fake was q4 (timed out)")
    assert document["queries"][3]["error"] == "timed out"
    assert schema.faults(document, "search_run") == []


def test_a_run_without_any_relevant_document_has_no_verdict():
    status = run_of(gold_set(gold_query("q4")), [answer("q4", ["a"])])["status"]
    assert status["has_verdict"] is False
    assert "no query has a document labelled relevant" in status["reasons"][0]


def test_a_run_of_failures_alone_does_not_blame_the_labels():
    (reason,) = run_of(GOLD, [failure(query.id) for query in GOLD.queries])["status"]["reasons"]
    assert reason.startswith("4 of 4 queries failed")


def test_equal_input_gives_equal_bytes_but_for_the_seconds():
    slow = [answer("q1", {"x": 3.0, "a": 3.0, "c": 1.0}, seconds=9.5000000001), *GOOD[1:]]
    fast, slow = (run_bytes(run_of(GOLD, each)) for each in (GOOD, slow))
    assert fast.replace(b'"seconds": null', b'"seconds": 9.5', 1) == slow


def test_each_query_is_a_line_of_the_file(document, tmp_path):
    data = run_bytes(document)
    lines = data.decode().splitlines()
    for query in document["queries"]:
        assert sum(line.startswith(f'{{"id": "{query["id"]}"') for line in lines) == 1
    assert json.loads(data) == document
    (tmp_path / "run.json").write_bytes(data)
    assert read_search_run(tmp_path / "run.json") == document


def test_a_file_without_queries_or_with_half_a_character_is_written_too():
    assert json.loads(run_bytes({"queries": [], "label": "\ud800"})) == {
        "queries": [],
        "label": "\ufffd",
    }


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("{", BadInputError, "run.json: not a search run: not valid JSON"),
        ("[]", BadInputError, "run.json: not a search run: expected an object"),
        ('{"schema_version": 1.2}', SchemaError, "/schema_version"),
        ('{"schema_version": "2.0"}', SchemaError, "another major version"),
        ('{"schema_version": "1.2"}', BadInputError, "it lacks 'run' and 'queries'"),
        (
            '{"schema_version": "1.2", "run": 1, "queries": []}',
            BadInputError,
            "not a valid search run: /: 'backlog' is a required property",
        ),
    ],
)
def test_what_is_no_run_is_refused_by_name(tmp_path, content, error, message):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(error, match=r"run\.json") as found:
        read_search_run(path)
    assert message in str(found.value)


def test_a_broken_field_is_named_by_pointer_and_a_missing_file_by_path(document, tmp_path):
    document["queries"][1]["ranking"] = [{"doc": 3, "score": 1.0, "grade": None}]
    path = tmp_path / "run.json"
    path.write_bytes(run_bytes(document))
    with pytest.raises(BadInputError, match="/queries/1/ranking/0/doc: 3 is not of type"):
        read_search_run(path)
    with pytest.raises(BadInputError, match=r"none\.json: no such file"):
        read_search_run(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("https://host/search", "https://host/search"),
        ("https://u:p%40ss@host:80/s?q=a&token=t", "https://u:***@host:80/s?q=***&token=***"),
        ("postgresql://u@db/x", "postgresql://u@db/x"),
        ("postgresql://u:pa@ss@db/x", "postgresql://u:***@db/x"),
        # SQLAlchemy takes all of these up to the first @ as the password.
        ("postgresql://u:p/a?s#s w@db:5432/x?y=z", "postgresql://u:***@db:5432/x?y=z"),
        ("postgresql+psycopg://u:p:a/s@db/x?o=a%40b", "postgresql+psycopg://u:***@db/x?o=a%40b"),
        ("postgresql://db:5432/x", "postgresql://db:5432/x"),
        ("https://host:80/a@b", "https://host:80/a@b"),
        ("http://[broken", "http://***"),
        ("bm25:a:b@c.jsonl", "bm25:a:b@c.jsonl"),
        # What follows a # belongs to the value before it, as SQLAlchemy reads it.
        ("postgresql://h/law?password=se#cret", "postgresql://h/law?password=***"),
        ("https://h/search?q=1#token=abc", "https://h/search?q=***#***"),
    ],
)
def test_no_password_stands_in_a_run(spec, shown):
    assert shown_spec(spec) == shown


def test_the_retriever_is_named_by_what_it_says_of_itself():
    found = retriever_facts(
        "http://u:secret@h/", {"b": "1", "a": "2"}, {"name": "hybrid", "reranker": 3}
    )
    assert (found.name, found.reranker, list(found.options)) == ("hybrid", "3", ["a", "b"])
    assert retriever_facts("http://u:secret@h/").name == "http://u:***@h/"
