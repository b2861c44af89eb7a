from __future__ import annotations

import csv
import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set, write_gold_set
from retrieval_eval.gold.labelling import build_pool, read_pool, write_pool
from retrieval_eval.model.gold import Label

ROWS = [
    {"id": "q1", "query": "=SUM of fees", "corpus": "c", "relevant": {"d1": 2}, "source": "chair",
     "labels": [{"labeller": "a", "doc": "d1", "grade": 2},
                {"labeller": "old", "doc": "d9", "grade": 0}]},
    {"id": "q2", "query": "deadlines", "corpus": "c", "relevant": ["d2"], "source": "bootstrap"},
    {"id": "q3", "query": "untouched", "corpus": "c", "relevant": ["d2"], "source": "bootstrap"},
]  # fmt: skip
RANKING = {"q1": ["d1", "d2"], "q2": ["d2", "d3"]}


@pytest.fixture
def pool(tmp_path):
    """Return gold set, key, and a function that fills the sheets of labeller and kind."""
    gold = tmp_path / "gold-set.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        "".join(
            json.dumps({"id": f"d{n}", "corpus": "c", "text": f'-{n} is\nless, than "x"'}) + "\n"
            for n in range(1, 4)
        ),
        encoding="utf-8",
    )
    found = build_pool(load_gold_set(gold), [RANKING], read_corpus(corpus), ["a", "b"])
    write_pool(found, tmp_path)
    return gold, tmp_path / "key.json", lambda *args: _fill(tmp_path, found.key, *args)


def _fill(folder, key, labeller, kind, grades, comments=None):
    """Write grades by (query, doc) into a sheet as a labeller would."""
    path = folder / f"sheet-{labeller}.{kind}"
    pair = {item: (entry["query"], entry["doc"]) for item, entry in key["items"].items()}
    comments = comments or {}
    if kind == "jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for row in rows:
            row["grade"] = grades.get(pair[row["item"]])
            row["comment"] = comments.get(pair[row["item"]], "")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["grade"] = str(grades.get(pair[row["item"]], ""))
        row["comment"] = comments.get(pair[row["item"]], "")
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_grades_become_labels_and_the_rest_stays(pool, kind):
    gold, key, fill = pool
    first = fill("a", kind, {("q1", "d2"): 1, ("q1", "d1"): 0, ("q2", "d3"): 2})
    second = fill("b", kind, {("q1", "d1"): 2})
    found = read_pool(load_gold_set(gold), [first, second], key)
    one, two, three = found.queries
    assert one.labels == (
        Label("a", "d1", 0), Label("old", "d9", 0), Label("a", "d2", 1), Label("b", "d1", 2)
    )  # fmt: skip
    assert dict(one.relevant) == {"d1": 2}
    assert two.labels == (Label("a", "d3", 2),)
    assert two.source == "chair"
    assert three.source == "bootstrap"
    assert three.labels == ()
    # a's grade of d1 was 2 before; d2, d3 and b's d1 are new. Four of the eight items are empty.
    assert (found.n_items, found.n_graded, found.n_added, found.n_changed) == (8, 4, 3, 1)
    assert (found.n_absent, found.promoted) == (0, ("q2",))


def test_reading_twice_changes_nothing_and_untouched_rows_keep_their_bytes(pool):
    gold, key, fill = pool
    untouched = gold.read_bytes().splitlines()[2]
    sheet = fill("a", "csv", {("q1", "d2"): 1}, {("q1", "d2"): "=is it?", ("q2", "d2"): "unsure"})
    write_gold_set(gold, read_pool(load_gold_set(gold), [sheet], key).queries)
    once = gold.read_bytes()
    assert once.splitlines()[2] == untouched
    again = read_pool(load_gold_set(gold), [sheet], key)
    assert (again.n_added, again.n_changed, again.n_absent) == (0, 0, 4)
    write_gold_set(gold, again.queries)
    assert gold.read_bytes() == once
    first, second, _ = (json.loads(line) for line in once.splitlines())
    assert first["label_comments"] == [{"labeller": "a", "doc": "d2", "comment": "=is it?"}]
    # A comment alone is no label, so the row stays the machine's.
    assert second["source"] == "bootstrap"
    assert second["label_comments"][0]["comment"] == "unsure"


def test_every_fault_is_named_and_together(pool):
    gold, key, fill = pool
    csv_sheet = fill("a", "csv", {("q1", "d1"): 7})
    json_sheet = fill("a", "jsonl", {})
    with pytest.raises(BadInputError) as caught:
        read_pool(load_gold_set(gold), [csv_sheet, json_sheet], key)
    lines = str(caught.value).splitlines()
    assert sum("off the scale" in line for line in lines) == 1
    assert sum("a second time" in line for line in lines) == 3


def test_a_query_that_is_gone_is_named(pool):
    gold, key, fill = pool
    sheet = fill("a", "jsonl", {("q1", "d1"): 1})
    gold.write_text(json.dumps(ROWS[1]) + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="the query 'q1' is not in the gold set any more"):
        read_pool(load_gold_set(gold), [sheet], key)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"pool_key":2}', '{"pool_key":1}', '{"pool_key":1,"max_grade":2,"items":{"i":1}}'],
)
def test_a_file_that_is_no_key_is_refused(pool, tmp_path, text):
    gold, _, fill = pool
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"other\.json"):
        read_pool(load_gold_set(gold), [fill("a", "csv", {})], path)
