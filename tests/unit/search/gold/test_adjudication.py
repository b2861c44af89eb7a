from __future__ import annotations

import csv
import json

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.gold import GoldSet, Label
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.agreement import (
    adjudication_sheet,
    agreement,
    disagreements,
    settle,
)
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.labelling import pair_sheets, write_pool
from tests.rechunking import write_rows


def _label(labeller, doc, grade):
    return {"labeller": labeller, "doc": doc, "grade": grade}


ROWS = [
    {"id": "q1", "query": "fees", "source": "chair", "relevant": {"d1": 2, "d2": 1}, "mine": 7,
     "labels": [_label("ana", "d1", 2), _label("ben", "d1", 1),
                _label("ana", "d2", 1), _label("ben", "d2", 1)]},
    {"id": "q2", "query": "deadlines", "source": "bootstrap", "relevant": ["d3"],
     "labels": [_label("ana", "d3", 0), _label("ben", "d3", 2), _label("ana", "d1", 0)]},
    {"id": "q3", "query": "nothing on it", "source": "chair", "answerable": False,
     "labels": [_label("ana", "d2", 0), _label("ben", "d2", 1)]},
]  # fmt: skip


@pytest.fixture
def gold(tmp_path):
    return load_gold_set(write_rows(tmp_path / "gold-set.jsonl", ROWS))


@pytest.fixture
def corpus(tmp_path):
    texts = ({"id": f"d{n}", "text": f"text {n}"} for n in range(1, 5))
    return read_corpus(write_rows(tmp_path / "corpus.jsonl", texts))


def _fill(folder, pool, labeller, grades):
    """Write the sheet of a labeller with grades by (query, doc); return sheet and key."""
    if not folder.exists():
        write_pool(pool, folder)
    path = folder / f"sheet-{labeller}.jsonl"
    pair = {item: (entry["query"], entry["doc"]) for item, entry in pool.key["items"].items()}
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows:
        row["grade"] = grades.get(pair[row["item"]])
    return write_rows(path, rows), folder / "key.json"


def test_the_sheet_holds_the_disagreements_and_no_grade(gold, corpus, tmp_path):
    sheet = adjudication_sheet(gold, corpus, "cleo", seed=3)
    found = {(e["query"], e["doc"]) for e in sheet.key["items"].values()}
    assert found == {("q1", "d1"), ("q2", "d3"), ("q3", "d2")}
    assert {e["labeller"] for e in sheet.key["items"].values()} == {"cleo"}
    assert sheet.key["purpose"] == "adjudication"
    write_pool(sheet, tmp_path / "out")
    text = (tmp_path / "out/sheet-cleo.csv").read_text("utf-8-sig")
    assert "ana" not in text
    assert "ben" not in text
    assert {row["grade"] for row in csv.DictReader(text.splitlines())} == {""}


def test_what_comes_back_is_final_and_on_record(gold, corpus, tmp_path):
    sheet = adjudication_sheet(gold, corpus, "cleo")
    grades = {("q1", "d1"): 1, ("q2", "d3"): 0}
    back, key = _fill(tmp_path / "out", sheet, "cleo", grades)
    found = settle(gold, [back], key)
    assert (found.purpose, found.n_settled, found.n_moved) == ("adjudication", 2, 2)
    assert (found.n_apart, found.n_waiting) == (0, 1)

    q1, q2, q3 = found.queries
    assert q1.relevant == {"d1": 1, "d2": 1}
    assert q2.relevant == {"d3": 0}
    assert (q2.source, q3.source) == ("chair", "chair")
    assert Label("cleo", "d1", 1) in q1.labels
    assert q1.labels[:4] == gold.queries[0].labels
    assert q1.extra["decisions"] == [
        {"doc": "d1", "grade": 1, "by": ["cleo"], "why": "adjudication",
         "over": {"ana": 2, "ben": 1}}
    ]  # fmt: skip
    assert q3 == gold.queries[2]

    write_gold_set(gold.path, found.queries)
    once = gold.path.read_bytes()
    again = load_gold_set(gold.path)
    assert again.queries[0].extra["mine"] == 7
    write_gold_set(gold.path, settle(again, [back], key).queries)
    assert gold.path.read_bytes() == once

    # What is settled is not handed out a second time, and the third reviewer makes no pair.
    assert [one.decided_by for one in disagreements(again)] == [("cleo",), ("cleo",), ()]
    assert len(adjudication_sheet(again, corpus, "cleo").sheets["cleo"]) == 1
    assert [(p.first, p.second) for p in agreement(again, n_resamples=5)] == [("ana", "ben")]


def test_a_relevant_document_of_an_unanswerable_query_is_refused(gold, corpus, tmp_path):
    sheet = adjudication_sheet(gold, corpus, "cleo")
    back, key = _fill(tmp_path / "out", sheet, "cleo", {("q3", "d2"): 1})
    with pytest.raises(BadInputError, match=r"'q3' is marked as unanswerable, yet 'd2'"):
        settle(gold, [back], key)


def test_nothing_open_is_said(tmp_path, corpus):
    path = tmp_path / "agreed.jsonl"
    path.write_text(json.dumps(ROWS[0] | {"labels": ROWS[0]["labels"][2:]}), encoding="utf-8")
    with pytest.raises(NothingToEvaluateError, match="no disagreement"):
        adjudication_sheet(load_gold_set(path), corpus, "cleo")


def test_documents_without_a_text_are_named(gold, tmp_path):
    path = tmp_path / "small.jsonl"
    path.write_text('{"id": "d1", "text": "x"}\n', encoding="utf-8")
    with pytest.raises(BadInputError, match=r"not in small\.jsonl: 2 documents .*'d2', 'd3'"):
        adjudication_sheet(gold, read_corpus(path), "cleo")


def test_two_labellers_settle_what_both_say(gold, corpus, tmp_path):
    docs = {"q1": ["d3", "d4"], "q2": ["d4"]}
    pool = pair_sheets(gold, corpus, docs, ["ana", "ben"], purpose="relabel", seed=1)
    ana, key = _fill(
        tmp_path / "out", pool, "ana", {("q1", "d3"): 2, ("q1", "d4"): 0, ("q2", "d4"): 1}
    )
    ben, _ = _fill(tmp_path / "out", pool, "ben", {("q1", "d3"): 2, ("q1", "d4"): 1})

    found = settle(gold, [ana, ben], key)
    assert (found.n_settled, found.n_apart, found.n_waiting) == (1, 1, 1)
    q1, q2, _ = found.queries
    assert q1.relevant == {"d1": 2, "d2": 1, "d3": 2}
    assert q1.extra["decisions"] == [
        {"doc": "d3", "grade": 2, "by": ["ana", "ben"], "why": "relabel", "over": {}}
    ]
    assert q2.relevant == {"d3": 1}
    # The new disagreement is not settled.
    apart = disagreements(GoldSet(found.queries, "any"))
    assert [one.decided_by for one in apart if one.doc == "d4"] == [()]


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("[]", "not the key of these sheets"),
        ('{"pool_key": 1, "items": []}', "expected 'items'"),
        # Tables of agreement have a row for each grade of the scale.
        ('{"pool_key": 1, "items": {}, "max_grade": 1000000000}', "expected 'items' and 'max"),
        ('{"pool_key": 1, "items": {"i": {}}, "max_grade": 2}', "/items/i: expected labeller"),
        ('{"pool_key": 1, "items": {}, "max_grade": 2, "purpose": 3}', "/purpose: expected text"),
        ("{", "not valid JSON"),
    ],
)
def test_a_bad_key_is_named(gold, tmp_path, key, sentence):
    path = tmp_path / "key.json"
    path.write_text(key, encoding="utf-8")
    with pytest.raises(BadInputError, match=sentence):
        settle(gold, [], path)


def test_of_a_pair_only_what_these_two_see_differently_is_adjudicated(tmp_path, corpus):
    grades = {"d1": (1, 1, 2), "d2": (1, 2, 2), "d3": (0, 1, 2), "d4": (1, 1, 1)}
    rows = [
        {
            "id": "q1",
            "query": "fees",
            "source": "chair",
            "relevant": {"d1": 1},
            "labels": [
                _label(name, doc, grade)
                for doc, given in grades.items()
                for name, grade in zip(("ana", "ben", "cleo"), given, strict=True)
            ],
        }
    ]
    gold = load_gold_set(write_rows(tmp_path / "three.jsonl", rows))

    def docs(*pairs):
        return [one.doc for one in disagreements(gold, pairs or None)]

    assert docs() == ["d1", "d2", "d3"]
    assert docs(("ana", "ben")) == docs(("ben", "ana")) == ["d2", "d3"]
    assert docs(("ben", "cleo")) == ["d1", "d3"]
    assert docs(("ana", "ben"), ("ben", "cleo")) == ["d1", "d2", "d3"]
    sheet = adjudication_sheet(gold, corpus, "dora", pairs=[("ana", "ben")])
    assert {entry["doc"] for entry in sheet.key["items"].values()} == {"d2", "d3"}
    # Whoever graded one of them is no third reviewer, of whichever pair.
    with pytest.raises(BadInputError, match="third reviewer"):
        adjudication_sheet(gold, corpus, "cleo", pairs=[("ana", "ben")])
