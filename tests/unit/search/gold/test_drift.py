"""Drift of labelled documents, seen from the digests in the gold set."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import Anchor, GoldQuery, GoldSet
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.chunks import (
    digest,
    digests_of,
    drift,
    labelled_documents,
    text_digest,
)
from retrieval_eval.search.gold.corpus import Corpus, Document, read_corpus
from retrieval_eval.search.gold.relabel import relabel
from tests.rechunking import recut, split


def now(**texts):
    return Corpus(tuple(Document(doc, "c", "", text) for doc, text in texts.items()), "", None)


@pytest.mark.parametrize(
    ("text", "corpus", "expected"),
    [
        ("late fees", now(d="late \n fees"), "same"),
        ("Cafe\u0301", now(d="Café"), "same"),
        ("late fees", now(d="Late fees"), "changed"),
        ("late fees", now(d="late fees are due"), "changed"),
        ("late fees", now(e="late fees"), "gone"),
        (None, now(d="late fees"), "not_recorded"),
    ],
)
def test_what_became_of_a_text(text, corpus, expected):
    digests = {} if text is None else {"d": text_digest(text)}
    query = GoldQuery("q", "q", "c", relevant={"d": 1}, digests=digests)
    (found,) = drift(GoldSet((query,), ""), corpus)
    assert (found.query, found.doc, found.grade, found.drift) == ("q", "d", 1, expected)


def test_an_anchor_shows_a_changed_text_too():
    anchor = Anchor(source="a.md", start=0, end=4, sha256=digest("fees"))
    query = GoldQuery("q", "q", "c", relevant={"d": 1}, anchors={"d": anchor})
    for text, expected in (("fees", "same"), ("levy", "changed")):
        (found,) = drift(GoldSet((query,), ""), now(d=text))
        assert found.drift == expected


def test_re_labelling_writes_the_digests_of_the_new_documents(tmp_path):
    demo = write_search_demo(tmp_path / "demo")
    gold, corpus = load_gold_set(demo.gold), read_corpus(demo.corpus)
    known = digests_of(corpus, {(q.corpus, doc) for q in gold.queries for doc in q.relevant})
    rows = [
        replace(query, digests={doc: known[query.corpus, doc] for doc in query.relevant})
        for query in gold.queries
    ]
    write_gold_set(demo.gold, rows)
    gold = load_gold_set(demo.gold)
    new = read_corpus(
        recut(demo, tmp_path / "new", split(labelled_documents(gold.queries[0])[0])).corpus
    )
    assert {one.drift for one in drift(gold, new)} == {"same", "gone"}
    moved = relabel(gold, corpus, new).gold
    assert {one.drift for one in drift(moved, new)} == {"same"}


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("7", r"line 1: /digests: expected documents with their digests"),
        ('{"d": 7}', r"line 1: /digests/d: expected 64 hexa"),
        ('{"d": {"n_words": 1}}', r"line 1: /digests/d: expected 64 hexa"),
        ('{"d": {"sha256": "ab"}}', r"line 1: /digests/d: expected 64 hexa"),
    ],
)
def test_a_digest_that_cannot_be_one_is_named(tmp_path, stated, message):
    path = tmp_path / "gold-set.jsonl"
    row = f'{{"query": "q", "relevant": ["d"], "source": "chair", "digests": {stated}}}\n'
    path.write_text(row)
    with pytest.raises(BadInputError, match=message):
        load_gold_set(path)


def test_a_row_with_a_digest_of_an_earlier_version_keeps_its_bytes(tmp_path):
    path = tmp_path / "gold-set.jsonl"
    former = {"sha256": "a" * 64, "n_words": 1, "head": "", "sketch": "", "shared": ""}
    row = {"query": "q", "relevant": ["d"], "source": "chair", "digests": {"d": former}}
    path.write_text(json.dumps(row) + "\n")
    before = path.read_bytes()
    (query,) = load_gold_set(path).queries
    assert query.digests == {"d": "a" * 64}
    write_gold_set(path, [query])
    assert path.read_bytes() == before
