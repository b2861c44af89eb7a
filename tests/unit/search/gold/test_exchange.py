"""BEIR folders and TREC files: what comes in, what goes out, and what is lost."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery, GoldSet, Label
from retrieval_eval.search.ask import ScoredDoc, rank
from retrieval_eval.search.ask.retrievers.ranked_file import open_ranked_file
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.gold.exchange import (
    export_beir,
    export_trec,
    import_beir,
    import_trec,
    run_bytes,
)


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


def test_import_of_beir(folder):
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


FAULTS = {
    "qrels/test.tsv": [
        ("1 d1 2", "expected query-id, corpus-id, score with tabs between them"),
        ("1\td1\t1", "the document 'd1' for the second time for the query '1'"),
        ("1\td2\t1.5", "'1.5' is not a grade (a whole number up to 1000)"),
        ("1\td3\t9999", "'9999' is not a grade"),
        ("1\t\t1", "expected query-id"),
    ],
    "queries.jsonl": [
        ("{", "not valid JSON"),
        ("[]", "expected an object, found a list"),
        ('{"_id":1,"text":"x"}', "/_id: expected text, found the number 1"),
        ('{"_id":"5","text":""}', "/text: expected text, found an empty text"),
        ('{"_id":"1","text":"y"}', "the id '1' for the second time"),
    ],
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_of_an_import_is_named(folder, name):
    first = {"qrels/test.tsv": "1\td1\t2", "queries.jsonl": '{"_id":"1","text":"x"}'}[name]
    lines = [first, *(line for line, _ in FAULTS[name])]
    (folder / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInputError) as caught:
        import_beir(folder)
    said = str(caught.value).splitlines()
    for number, (told, (_, message)) in enumerate(zip(said, FAULTS[name], strict=True), start=2):
        assert told.startswith(f"{folder / name}: line {number}: ")
        assert message in told


def test_queries_that_are_one_or_have_no_text_are_named(folder):
    (folder / "queries.jsonl").write_text('{"_id":"1","text":"x"}\n{"_id":"5","text":"X"}\n')
    with pytest.raises(BadInputError) as caught:
        import_beir(folder)
    lost, same = str(caught.value).splitlines()
    assert lost.endswith("queries.jsonl: no text for the judged query '2'")
    assert "'1' and '5' are the same query" in same


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
        "further fields of 1 query",
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


GOLD = GoldSet(
    (
        GoldQuery("q1", "late\tfees", "law", relevant={"d1": 2, "d2": 0}, source="chair"),
        GoldQuery("q2", "tax", "law", answerable=False, area="x", source="chair"),
    ),
    "f",
)


def run(*queries):
    return {"label": "l", "queries": list(queries)}


def ranked(name, *pairs, status="ok"):
    ranking = [{"doc": doc, "score": score, "grade": None} for doc, score in pairs]
    return {"id": name, "status": status, "ranking": ranking}


def test_the_files_are_those_of_trec(tmp_path):
    lost = export_trec(GOLD, tmp_path)
    assert (tmp_path / "qrels.txt").read_bytes() == b"q1 0 d1 2\nq1 0 d2 0\n"
    assert (tmp_path / "topics.tsv").read_bytes() == b"q1\tlate fees\nq2\ttax\n"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["qrels.txt", "topics.tsv"]
    assert [sentence.split(":")[0] for sentence in lost] == [
        "areas of 1 query",
        "the names of the corpora (law)",
        "that 1 query cannot be answered",
        "judgements of 1 query",
        "tabs and line breaks in 1 query",
    ]


def test_losses_name_only_what_a_gold_set_has(tmp_path):
    plain = GoldQuery("q", "x", "default", relevant={"d": 1}, source="chair", answerable=True)
    assert export_trec(GoldSet((plain,), "f"), tmp_path) == []
    rich = GoldQuery(
        "q", "x", "default", relevant={}, source="bootstrap", answerable=True, origin="replayed",
        note="n", labels=(Label("a", "d", 1),), extra={"k": 1},
    )  # fmt: skip
    lost = " / ".join(export_trec(GoldSet((rich,), "f"), tmp_path))
    for word in ("origins", "notes", "labels", "further fields", "bootstrap", "yet unknown"):
        assert word in lost


@pytest.mark.parametrize("bad", ["a b", "a\u00a0b", "a\tb", "a\x85", "\ufeffa", "a\x01", "\ud800"])
def test_ids_with_white_space_are_named_and_nothing_is_written(tmp_path, bad):
    for query in (GoldQuery(bad, "x", "c"), GoldQuery("q", "x", "c", relevant={bad: 1})):
        with pytest.raises(BadInputError, match="white space") as caught:
            export_trec(GoldSet((query,), "f"), tmp_path / "out")
        assert repr(bad) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_import_of_trec(tmp_path):
    qrels, topics = tmp_path / "q.txt", tmp_path / "t.tsv"
    qrels.write_text("q2 0 d1 3\nq1\t0\td9  -2\nq2 0 d2 0\n")
    topics.write_bytes("\ufeffq1\tlate fees \r\n\r\nq2\ttax\tlaw\nq3\tnobody judged\n".encode())
    found = import_trec(qrels, topics, corpus="law")
    assert found.queries == (
        GoldQuery("q1", "late fees ", "law", relevant={"d9": 0}, source="chair"),
        GoldQuery(
            "q2", "tax\tlaw", "law", relevant={"d1": 3, "d2": 0}, source="chair", answerable=True
        ),
        GoldQuery("q3", "nobody judged", "law", source="chair"),
    )
    assert found.notes == ("1 grade below 0 became 0",)
    assert found.max_grade == 3


@pytest.mark.parametrize(
    ("qrels", "topics", "message"),
    [
        ("q1 0 d1\n", "q1\tx\n", r"q\.txt: line 1: expected 4 fields"),
        ("q1 0 d1 1.5\n", "q1\tx\n", "line 1.*not a grade"),
        ("q1 0 d1 1\nq1 0 d1 1\n", "q1\tx\n", "occurs twice"),
        ("q1 0 d1 1\n", "q2\tx\n", r"t\.tsv: no text for the judged query 'q1'"),
        ("", "q1\n", r"t\.tsv: line 1: expected an id, a tab and the query"),
        ("", "q1\t \n", r"t\.tsv: line 1: expected an id, a tab and the query"),
        ("", "q1\tx\nq1\ty\n", r"t\.tsv: line 2: the id 'q1' for the second time"),
        ("", "q1\tx\nq2\tX \n", "'q1' and 'q2' are the same query"),
        ("", "<top>\n<num> 1\n", "SGML topics"),
    ],
)
def test_faults_of_an_import(tmp_path, qrels, topics, message):
    (tmp_path / "q.txt").write_text(qrels)
    (tmp_path / "t.tsv").write_text(topics)
    with pytest.raises(BadInputError, match=message):
        import_trec(tmp_path / "q.txt", tmp_path / "t.tsv")


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "here").write_text("q1\tx\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(BadInputError, match=r"loop: .*link"):
        import_trec(tmp_path / "here", tmp_path / "loop")
    with pytest.raises(BadInputError, match="cannot be read"):
        import_trec(tmp_path / "none", tmp_path / "here")
    with pytest.raises(BadInputError, match="cannot be read"):
        import_trec(tmp_path / "here", tmp_path / "none")


def test_a_search_run_becomes_a_trec_run(tmp_path):
    path = tmp_path / "run.txt"
    doc = run(
        ranked("q1", ("d2", 1.5), ("d1", 1e-7)),
        ranked("q2", status="failed"),
        ranked("q3"),
        ranked("q4", ("a", 1), ("b", 1)),
    )
    data, lost = run_bytes(doc, "bm25")
    assert data.decode().splitlines() == [
        "q1 Q0 d2 1 1.5 bm25",
        "q1 Q0 d1 2 1e-07 bm25",
        "q4 Q0 a 1 1.0 bm25",
        "q4 Q0 b 2 1.0 bm25",
    ]
    assert [sentence.split(":")[0] for sentence in lost] == [
        "everything but documents and scores",
        "that 1 query failed",
        "that 1 query found nothing",
        "the order of 1 ranking",
    ]
    # The file keeps the order; where it is ranked, equal scores have that of falling ids, as
    # trec_eval does.
    path.write_bytes(data)
    found = open_ranked_file(path, {})
    assert found.rankings == {
        "q1": (ScoredDoc("d2", 1.5), ScoredDoc("d1", 1e-7)),
        "q4": (ScoredDoc("a", 1.0), ScoredDoc("b", 1.0)),
    }
    assert [one.doc for one in rank(found.rankings["q4"], depth=2).ranking] == ["b", "a"]


@pytest.mark.parametrize(
    ("doc", "tag", "message"),
    [
        (run(), "a b", "the tag 'a b'"),
        (run(), "", "the tag ''"),
        ({}, "t", "/queries: expected the list"),
        (run(3), "t", "/queries/0: expected a query"),
        (run(ranked("a b")), "t", "/queries/0/id: 'a b' is no id"),
        (run(ranked("a", (None, 1))), "t", "/queries/0/ranking/0/doc: 'None' is no id"),
        (run(ranked("a", ("d", None))), "t", "/queries/0/ranking/0/score: expected a number"),
        (run(ranked("a", ("d", float("nan")))), "t", "/score: expected a number"),
        (run(ranked("a", ("d", True))), "t", "/score: expected a number"),
        (run(ranked("a", ("d", 10**400))), "t", "/score: expected a number"),
        (run({"id": "a", "ranking": [1]}), "t", "/queries/0/ranking/0: expected an object"),
    ],
)
def test_a_document_that_is_no_run(doc, tag, message):
    with pytest.raises(BadInputError, match=message):
        run_bytes(doc, tag)
