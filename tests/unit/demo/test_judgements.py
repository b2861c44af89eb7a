"""Judgements of the search demo follow from what its documents say, read by eye."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.demo import write_search_demo
from retrieval_eval.search.gold import gold_faults
from retrieval_eval.search.gold.corpus import read_corpus


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return write_search_demo(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="module")
def rows(demo):
    return [json.loads(line) for line in demo.gold.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts(demo):
    lines = demo.corpus.read_text("utf-8").splitlines()
    return {row["id"]: row["text"] for row in map(json.loads, lines)}


def test_the_gold_set_has_no_fault(demo):
    assert gold_faults(demo.gold, corpus=read_corpus(demo.corpus)) == []


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


def test_what_cannot_be_answered_is_in_no_document(rows, texts):
    everything = " ".join(texts.values())
    planted = ("TK-4999", "TK-0042", "ISP-31", "/v3/tenants", "9.2.0", "FedRAMP", "severity 7")
    for row in rows:
        if row.get("answerable") is False:
            assert not any(name in row["query"] and name in everything for name in planted)
