"""Judgements follow from what the documents say, which is checked against their text."""

from __future__ import annotations

import json

import pytest

from tests.simulators.dice import Dice
from tests.simulators.search.documents import compose
from tests.simulators.search.questions import ask
from tests.simulators.search.texts import families


@pytest.fixture(scope="module")
def rows(search_demo):
    return [json.loads(line) for line in search_demo.gold.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts(search_demo):
    lines = search_demo.corpus.read_text("utf-8").splitlines()
    return {row["id"]: row["text"] for row in map(json.loads, lines)}


def _reviewed(rows, query):
    (row,) = [row for row in rows if row["query"] == query]
    return {doc for doc, grade in row["relevant"].items() if grade}


def test_a_list_question_has_every_document_that_names_the_place(rows, texts):
    # Found in the text by eye: who is in Ireland, in the register or in a notice.
    named = {
        doc
        for doc, text in texts.items()
        if "Ireland" in text and doc.endswith(("-register", "-notice"))
    }
    assert named == {
        f"sp-{name}-{kind}"
        for name in ("pelforth", "quillmark", "lindquay")
        for kind in ("register", "notice")
    }
    assert _reviewed(rows, "subprocessors in Ireland") == named


def test_an_error_is_answered_where_it_is_explained(rows, texts):
    relevant = _reviewed(rows, "TK-4107")
    assert relevant == {"pd-tk4107-reference", "pd-tk4107-case", "pd-linux-trouble"}
    assert all("TK-4107" in texts[doc] for doc in relevant)


def test_a_document_that_says_the_number_is_relevant_to_it(rows, texts):
    relevant = _reviewed(rows, "firewall 9445")
    assert relevant == {doc for doc, text in texts.items() if "9445" in text}


def test_a_question_in_clauses_is_answered_in_full_only_by_one_document_that_has_all():
    collection = compose(Dice(5))
    for query in ask(collection.documents, Dice(5)):
        if "PostgreSQL with that of MySQL" in query.query:
            assert set(query.grades.values()) <= {0, 1}
            assert query.grades["pd-mysql-restore"] == query.grades["pd-postgresql-restore"] == 1
        if query.query.startswith("State the oldest version of PostgreSQL"):
            assert query.grades["pd-postgresql-card"] == 2
            assert query.grades["pd-postgresql-install-6"] == 1


def test_every_fact_that_a_section_refers_to_exists():
    stated = {
        f"{family.name}.{entity['key']}.{fact}"
        for family in families()
        for entity in family.entities
        for section in family.sections
        for fact in section.answers
    }
    referred = {fact for document in compose(Dice(5)).documents for fact in document.facts}
    assert referred <= stated


def test_what_cannot_be_answered_is_in_no_document(rows, texts):
    everything = " ".join(texts.values())
    planted = ("TK-4999", "TK-0042", "ISP-31", "/v3/tenants", "9.2.0", "FedRAMP", "severity 7")
    for row in rows:
        if row.get("answerable") is False:
            assert not any(name in row["query"] and name in everything for name in planted)
