from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold.corpus import Document, corpus_bytes, read_corpus
from retrieval_eval.search.gold.identity import sha256_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus.jsonl"


def read(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_corpus(path)


def test_documents_in_our_shape_and_in_that_of_beir(path):
    corpus = read(
        path,
        {"id": "d1", "title": "T", "text": "x", "corpus": "law", "url": "u"},
        {"_id": "d2", "title": None, "text": "", "metadata": {}},
        {"id": "d1", "text": "the id again, in another corpus"},
    )
    assert corpus.documents == (
        Document("d1", "law", "T", "x", {"url": "u"}),
        Document("d2", "default", "", "", {"metadata": {}}),
        Document("d1", "default", "", "the id again, in another corpus"),
    )
    assert corpus.ids() == {"law": {"d1"}, "default": {"d1", "d2"}}
    assert corpus.path == path


def test_what_is_written_is_read_back(path):
    corpus = read(path, {"id": "d", "title": "é", "text": "\u2028", "corpus": "law", "x": [1]})
    path.write_bytes(corpus_bytes(corpus.documents))
    assert read_corpus(path) == corpus


def test_the_fingerprint_is_of_the_content_whatever_the_order(path):
    one, two = {"id": "a", "text": "x"}, {"id": "b", "text": "y"}
    first = read(path, one, two).fingerprint
    assert read(path, two, {"text": "x", "_id": "a"}).fingerprint == first
    others = [{"text": "z"}, {"id": "c"}, {"title": "t"}, {"corpus": "law"}, {"more": 1}]
    assert len({first, *(read(path, {**one, **o}, two).fingerprint for o in others)}) == 6


def test_every_fault_is_named_by_file_and_line(path):
    path.write_bytes(
        b'{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n[]\n{"id":1,"text":null}\n{"text":"x"}\n'
        b'{"id":"b","_id":"b","text":""}\n{"id":"c","text":"x","title":1,"corpus":" "}\n{\n'
        b'{"id":"d","text":"\\ud800"}\n'
    )
    with pytest.raises(BadInputError) as caught:
        read_corpus(path)
    found = str(caught.value).replace(f"{path.parent}/", "")
    assert str(caught.value).startswith(f"{path}: line 2")
    assert found.splitlines() == [
        "corpus.jsonl: line 2: the id 'a' is on line 1 already",
        "corpus.jsonl: line 3: expected an object, found a list",
        "corpus.jsonl: line 4: /id: expected text, found the number 1",
        "corpus.jsonl: line 4: /text: expected text, found null",
        "corpus.jsonl: line 5: /id: is missing; expected text",
        "corpus.jsonl: line 6: /_id: says the same as 'id'; keep one of them",
        "corpus.jsonl: line 7: /title: expected text, found the number 1",
        "corpus.jsonl: line 7: /corpus: expected text, found an empty text",
        (
            "corpus.jsonl: line 8: not valid JSON (at the end: Expecting property name enclosed in"
            " double quotes)"
        ),
        (
            "corpus.jsonl: line 9: holds half of a character (a lone surrogate); write the"
            " character whole"
        ),
    ]


def test_a_wrong_file_does_not_flood_the_screen(path):
    path.write_text("1\n" * 250)
    with pytest.raises(BadInputError) as caught:
        read_corpus(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 101
    assert lines[-1] == f"{path}: and 150 more faults"


def test_no_file_and_no_document(path):
    with pytest.raises(BadInputError, match=rf"^{path}: cannot be read"):
        read_corpus(path)
    path.write_text("\n")
    with pytest.raises(BadInputError, match="holds no document"):
        read_corpus(path)


def test_the_digest_of_a_file(path):
    path.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    assert sha256_file(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(BadInputError, match="cannot be read"):
        sha256_file(path.parent / "missing")
