from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.gold.exchange import export_beir, import_beir
from retrieval_eval.model.gold import GoldQuery, GoldSet


@pytest.fixture
def folder(tmp_path):
    """A folder as the collection distributes them."""
    root = tmp_path / "beir"
    (root / "qrels").mkdir(parents=True)
    (root / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "T", "text": "x", "metadata": {"url": "u"}}\n'
        '{"_id": "d 2", "title": "", "text": "y", "metadata": {}}\n'
    )
    (root / "queries.jsonl").write_text(
        '{"_id": "1", "text": "late fees", "metadata": {}}\n'
        '{"_id": "2", "text": "tax", "metadata": {"k": 1}}\n'
        '{"_id": "3", "text": "only for training", "metadata": {}}\n'
        '{"_id": "4", "text": "nobody judged", "metadata": {}}\n'
    )
    (root / "qrels" / "test.tsv").write_bytes(
        b"query-id\tcorpus-id\tscore\r\n1\td1\t2\r\n1\td 2\t0\r\n2\td9\t-1\r\n"
    )
    (root / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n3\td1\t1\n1\td1\t1\n")
    return root


def test_import(folder):
    found = import_beir(folder, corpus="law")
    assert found.queries == (
        GoldQuery(
            "1", "late fees", "law", relevant={"d1": 2, "d 2": 0}, source="chair", answerable=True
        ),
        GoldQuery(
            "2", "tax", "law", relevant={"d9": 0}, source="chair", extra={"metadata": {"k": 1}}
        ),
        GoldQuery("4", "nobody judged", "law", source="chair"),
    )
    assert found.documents == (
        Document("d1", "law", "T", "x", {"metadata": {"url": "u"}}),
        Document("d 2", "law", "", "y", {"metadata": {}}),
    )
    assert found.notes == (
        "1 grade below 0 became 0",
        "1 query only judged in other splits left out",
        "1 judged document not in corpus.jsonl, such as 'd9'",
    )


def test_a_folder_without_documents(folder):
    (folder / "corpus.jsonl").unlink()
    assert import_beir(folder).documents is None


@pytest.mark.parametrize(
    ("name", "content", "messages"),
    [
        (
            "qrels/test.tsv",
            "1\td1\t2\n1 d1 2\n1\td1\t1\n1\td2\t1.5\n1\td3\t9999\n\n1\t\t1\n",
            [
                "test.tsv: line 2: expected query-id, corpus-id, score with tabs between them",
                "test.tsv: line 3: the document 'd1' for the second time for the query '1'",
                "test.tsv: line 4: '1.5' is not a grade (a whole number up to 1000)",
                "test.tsv: line 5: '9999' is not a grade (a whole number up to 1000)",
                "test.tsv: line 7: expected query-id, corpus-id, score with tabs between them",
            ],
        ),
        (
            "queries.jsonl",
            (
                '{\n[]\n{"_id":1,"text":"x"}\n{"_id":"1","text":""}\n{"_id":"1","text":"x"}\n'
                '{"_id":"1","text":"y"}\n'
            ),
            [
                (
                    "queries.jsonl: line 1: not valid JSON (at the end: Expecting property name"
                    " enclosed in double quotes)"
                ),
                "queries.jsonl: line 2: expected an object, found a list",
                "queries.jsonl: line 3: /_id: expected text, found the number 1",
                "queries.jsonl: line 4: /text: expected text, found an empty text",
                "queries.jsonl: line 6: the id '1' for the second time",
            ],
        ),
        (
            "queries.jsonl",
            '{"_id":"1","text":"x"}\n{"_id":"5","text":"X"}\n',
            [
                "queries.jsonl: no text for the judged query '2'",
                (
                    "queries.jsonl: '1' and '5' are the same query (case and white space do not"
                    " count); keep one of them"
                ),
            ],
        ),
    ],
)
def test_every_fault_of_an_import_is_named(folder, name, content, messages):
    (folder / name).write_text(content)
    with pytest.raises(BadInputError) as caught:
        import_beir(folder)
    place = (folder / name).parent
    assert str(caught.value).splitlines() == [f"{place}/{message}" for message in messages]


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(BadInputError, match=rf"{name}: cannot be read"):
        import_beir(folder)


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
def test_a_link_to_itself_is_named(folder, name):
    (folder / name).unlink()
    (folder / name).symlink_to(folder / name)
    with pytest.raises(BadInputError, match=rf"{name}: a link"):
        import_beir(folder)


def corpus(*documents):
    return Corpus(documents, "f", None)


def test_export(tmp_path):
    gold = GoldSet(
        (
            GoldQuery("q 1", "late\nfees", "law", relevant={"d1": 2, "d2": 0}, source="chair"),
            GoldQuery("q2", "tax", "law", answerable=False, source="chair", extra={"k": 1}),
        ),
        "f",
    )
    documents = corpus(
        Document("d1", "law", "T", "x", {"metadata": {"a": 1}}), Document("d2", "law", "", "y")
    )
    lost = export_beir(gold, tmp_path, corpus=documents)
    assert (tmp_path / "qrels" / "test.tsv").read_bytes() == (
        b"query-id\tcorpus-id\tscore\nq 1\td1\t2\nq 1\td2\t0\n"
    )
    rows = [json.loads(line) for line in (tmp_path / "queries.jsonl").read_text().splitlines()]
    assert rows == [{"_id": "q 1", "text": "late\nfees"}, {"_id": "q2", "text": "tax"}]
    rows = [json.loads(line) for line in (tmp_path / "corpus.jsonl").read_text().splitlines()]
    assert rows == [
        {"_id": "d1", "title": "T", "text": "x", "metadata": {"a": 1}},
        {"_id": "d2", "title": "", "text": "y"},
    ]
    assert [sentence.split(":")[0] for sentence in lost] == [
        "fields that are not ours of 1 query",
        "the names of the corpora (law)",
        "that 1 query cannot be answered",
        "judgements of 1 query",
    ]
    assert "no corpus.jsonl" in export_beir(gold, tmp_path / "other")[-1]
    assert not (tmp_path / "other" / "corpus.jsonl").exists()


@pytest.mark.parametrize("bad", ["a\tb", "a\nb", 'a"', " a", "a\u2028b", "\ud800"])
def test_ids_that_cannot_stand_in_a_table_are_named(tmp_path, bad):
    gold = GoldSet((GoldQuery("q", "x", "c", relevant={bad: 1}),), "f")
    with pytest.raises(BadInputError, match="cannot hold ids") as caught:
        export_beir(gold, tmp_path / "out")
    assert repr(bad) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_does_not_fit_is_refused(tmp_path):
    gold = GoldSet((GoldQuery("q", "x", "law", relevant={"d": 1}, line=4),), "f")
    two = corpus(Document("d", "law", "", "x"), Document("d", "tax", "", "y"))
    with pytest.raises(BadInputError, match="the document id 'd' is in 'law' and in 'tax'"):
        export_beir(gold, tmp_path / "out", corpus=two)
    other = Corpus((Document("e", "law", "", "x"),), "f", tmp_path / "c.jsonl")
    with pytest.raises(BadInputError, match="line 4: the document 'd' is unknown"):
        export_beir(gold, tmp_path / "out", corpus=other)
    assert not (tmp_path / "out").exists()
    both = corpus(Document("d", "law", "", "x"), Document("e", "tax", "", "y"))
    lost = export_beir(gold, tmp_path / "out", corpus=both)
    assert "which of the 2 corpora a document is in: they become one" in lost
