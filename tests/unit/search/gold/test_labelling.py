"""Labelling sheets: what labellers see, and how their grades come back."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.gold import Label
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.labelling import (
    COLUMNS,
    Item,
    build_pool,
    csv_sheet,
    jsonl_sheet,
    pooled,
    read_pool,
    read_sheet,
    shown_digest,
    write_pool,
)
from tests.rechunking import write_rows

ITEMS = (
    Item("i1", "late fees", 'A rule, "quoted"\nover two lines'),
    Item("i2", "=HYPERLINK(1)", "+49 is a prefix"),
)
SHOWN = {item.id: shown_digest(item.query, item.document) for item in ITEMS}


def _filled(path, grades, comments=("", ""), edit=lambda text: text):
    rows = list(csv.reader(io.StringIO(csv_sheet(ITEMS).decode("utf-8-sig"), newline="")))
    for row, grade, comment in zip(rows[1:], grades, comments, strict=True):
        row[3:] = [grade, comment]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    path.write_text(edit(buffer.getvalue()), encoding="utf-8", newline="")
    return path


def _read(path, max_grade=2):
    return read_sheet(path, SHOWN, max_grade=max_grade)


def test_a_spreadsheet_finds_no_formula():
    rows = list(csv.reader(io.StringIO(csv_sheet(ITEMS).decode("utf-8-sig"), newline="")))
    assert rows[0] == list(COLUMNS)
    assert rows[2][1:3] == ["'=HYPERLINK(1)", "'+49 is a prefix"]


def test_a_sheet_says_nothing_but_what_is_to_be_graded():
    (first, _) = jsonl_sheet(ITEMS).decode().splitlines()
    assert json.loads(first) == {
        "item": "i1",
        "query": "late fees",
        "document": 'A rule, "quoted"\nover two lines',
        "grade": None,
        "comment": "",
    }


def test_what_is_written_is_read_back(tmp_path):
    answers, faults = _read(_filled(tmp_path / "a.csv", ["2", ""], ["=not a formula", "'tis so"]))
    assert faults == []
    assert [(a.item, a.grade, a.comment) for a in answers] == [
        ("i1", 2, "=not a formula"),
        ("i2", None, "'tis so"),
    ]
    # The first item takes two lines of the file, so the second one begins on line 4.
    assert [a.where for a in answers] == ["a.csv: line 2", "a.csv: line 4"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\r\n", "\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\r\n,,,,\r\n",
        lambda text: "\r\n".join(
            ";".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row)
            for row in csv.reader(io.StringIO(text, newline=""))
        ),
    ],
    ids=["line feeds", "byte-order mark", "empty rows", "semicolons"],
)
def test_what_spreadsheets_do_to_a_file_does_no_harm(tmp_path, edit):
    answers, faults = _read(_filled(tmp_path / "a.csv", ["1", " 0 "], edit=edit))
    assert faults == []
    assert [answer.grade for answer in answers] == [1, 0]


@pytest.mark.parametrize("grade", ["3", "-1", "1.5", "yes", "٢", "1e0", "9999999999"])
def test_a_grade_off_the_scale_is_named_by_line(tmp_path, grade):
    answers, (fault,) = _read(_filled(tmp_path / "a.csv", ["1", grade]))
    assert [answer.grade for answer in answers] == [1]
    assert fault.startswith("a.csv: line 4: the grade")
    assert "0 to 2" in fault


def test_edited_text_and_unknown_items_are_named(tmp_path):
    edited = _filled(tmp_path / "a.csv", ["1", "1"], edit=lambda t: t.replace("fees", "fines"))
    _, (fault,) = _read(edited)
    assert fault.startswith("a.csv: line 2: the text of item i1 was edited")
    altered = _filled(tmp_path / "b.csv", ["1", "1"], edit=lambda t: t.replace("i2", "i9"))
    _, (fault,) = _read(altered)
    assert fault.startswith("b.csv: line 4: the item 'i9' is not in the key")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ('{"item":"i1"}', "expected an object with"),
        ('{"item":1,"query":"","document":"","grade":1,"comment":""}', "item: expected text"),
        ('{"item":"i1","query":"late fees","document":"D","grade":true,"comment":""}', "edited"),
    ],
)
def test_a_broken_line_is_named(tmp_path, row, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f"\n{row}\n", encoding="utf-8")
    answers, (fault,) = _read(path)
    assert answers == []
    assert fault.startswith("a.jsonl: line 2: ")
    assert message in fault


@pytest.mark.parametrize("grade", [True, 1.0, "x", [], -1, 3])
def test_a_grade_in_json_is_a_whole_number(tmp_path, grade):
    row = {"item": "i2", "query": ITEMS[1].query, "document": ITEMS[1].document}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**row, "grade": grade, "comment": ""}), encoding="utf-8")
    answers, (fault,) = _read(path)
    assert answers == []
    assert "off the scale" in fault


def test_a_row_with_too_few_cells_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(COLUMNS) + "\ni1,late fees\n", encoding="utf-8")
    _, faults = _read(path)
    assert faults == ["a.csv: line 2: has 2 cells instead of 5"]


@pytest.mark.parametrize("text", ["", "item,query\n", "a,b,c,d,e\n", f"{','.join(COLUMNS)},rank\n"])
def test_a_file_that_is_no_sheet_is_refused(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"a\.csv: line 1: expected the columns"):
        _read(path)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    for name in ("none.csv", "none.jsonl"):
        with pytest.raises(BadInputError, match="cannot be read"):
            _read(tmp_path / name)
    broken = tmp_path / "broken.csv"
    broken.write_text(",".join(COLUMNS) + '\ni1,"open', encoding="utf-8")
    with pytest.raises(BadInputError, match="not valid CSV"):
        _read(broken)


def test_a_long_document_fits_into_a_cell(tmp_path):
    item = Item("i1", "q", "word " * 60_000)
    path = tmp_path / "a.csv"
    path.write_bytes(csv_sheet([item]))
    answers, faults = read_sheet(path, {"i1": shown_digest("q", item.document)}, max_grade=2)
    assert faults == []
    assert answers[0].grade is None


N_QUERIES, N_DOCS = 8, 120


@pytest.fixture
def gold(tmp_path):
    rows = [
        {"id": f"q{n}", "query": f"question {n}", "corpus": "c", "source": "chair",
         "relevant": {"d3": 2, "d4": 0}}
        for n in range(N_QUERIES)
    ]  # fmt: skip
    return load_gold_set(write_rows(tmp_path / "gold-set.jsonl", rows))


@pytest.fixture
def corpus(tmp_path):
    rows = [
        {"id": f"d{n}", "corpus": "c", "title": f"Title {n}", "text": f"text of {n}", "rank": n}
        for n in range(N_DOCS)
    ]
    return read_corpus(write_rows(tmp_path / "corpus.jsonl", rows))


FORWARD = {f"q{n}": [f"d{i}" for i in range(60)] for n in range(N_QUERIES)}
OTHER = {f"q{n}": [f"d{i}" for i in range(89, 29, -1)] for n in range(N_QUERIES)}


def test_a_pool_is_the_union_of_the_first_documents():
    # 0..49 from the one, 40..89 from the other: 90 different documents.
    assert pooled([FORWARD, OTHER])["q0"] == {f"d{i}" for i in range(90)}
    assert pooled([FORWARD, OTHER], depth=1)["q1"] == {"d0", "d89"}


def test_the_order_of_the_runs_leaves_no_trace(gold, corpus):
    one = build_pool(gold, [FORWARD, OTHER], corpus, ["a", "b"])
    two = build_pool(gold, [OTHER, FORWARD], corpus, ["a", "b"])
    turned = {query: docs[:50][::-1] for query, docs in FORWARD.items()}
    three = build_pool(gold, [turned, OTHER], corpus, ["a", "b"])
    for other in (two, three):
        assert other == one
        for labeller in ("a", "b"):
            assert csv_sheet(other.sheets[labeller]) == csv_sheet(one.sheets[labeller])


def _places(pool, labeller):
    """Return for each query the documents in the order of the sheet."""
    found = {}
    for item in pool.sheets[labeller]:
        entry = pool.key["items"][item.id]
        found.setdefault(entry["query"], []).append(int(entry["doc"][1:]))
    return found


@pytest.mark.parametrize("labeller", ["a", "b"])
def test_the_place_in_a_sheet_says_nothing_about_the_rank(gold, corpus, labeller):
    from scipy.stats import spearmanr

    places = _places(build_pool(gold, [FORWARD], corpus, ["a", "b"]), labeller)
    # In FORWARD the number of a document is its rank. Under independence the mean of 8
    # correlations of 50 ranks has the standard error 1 / sqrt(49 * 8) = 0.05.
    correlations = [spearmanr(range(50), ranks).statistic for ranks in places.values()]
    assert len(correlations) == N_QUERIES
    assert abs(sum(correlations) / N_QUERIES) < 4 / math.sqrt(49 * N_QUERIES)
    assert len({tuple(ranks) for ranks in places.values()}) == N_QUERIES


def test_labellers_get_the_same_pairs_in_other_orders_under_other_ids(gold, corpus):
    pool = build_pool(gold, [FORWARD], corpus, ["a", "b"])
    first, second = pool.sheets["a"], pool.sheets["b"]
    assert {(i.query, i.document) for i in first} == {(i.query, i.document) for i in second}
    assert _places(pool, "a") != _places(pool, "b")
    assert list(_places(pool, "a")) != list(_places(pool, "b"))
    assert not {item.id for item in first} & {item.id for item in second}
    assert pool.n_pairs == len(first) == N_QUERIES * 50


def test_no_field_leaks(gold, corpus):
    pool = build_pool(gold, [FORWARD, OTHER], corpus, ["a"])
    for line in jsonl_sheet(pool.sheets["a"]).decode().splitlines():
        row = json.loads(line)
        assert set(row) == {"item", "query", "document", "grade", "comment"}
        number = row["document"].removeprefix("Title ").split("\n")[0]
        assert row["document"] == f"Title {number}\n\ntext of {number}"
        assert row["grade"] is None
        assert row["item"][0] == "i"
        assert f"d{number}" != row["item"]
    # Grades that the gold set has already change nothing in a sheet.
    ungraded = replace(gold, queries=tuple(replace(q, relevant={}) for q in gold.queries))
    assert build_pool(ungraded, [FORWARD, OTHER], corpus, ["a"]).sheets == pool.sheets


def test_queries_without_candidates_are_counted(gold, corpus):
    pool = build_pool(gold, [{"q1": ["d1"], "q2": []}], corpus, ["a"])
    assert (pool.n_queries, pool.n_pairs, pool.n_without) == (1, 1, N_QUERIES - 1)


def test_nothing_found_is_nothing_to_label(gold, corpus):
    with pytest.raises(NothingToEvaluateError):
        build_pool(gold, [{"q1": []}], corpus, ["a"])


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ({"q99": ["d1"]}, r"not in the gold set: 1 query of the runs, 'q99'"),
        ({"q1": ["d1", "x7"]}, r"not in corpus.jsonl: 1 document of the runs.*'x7'"),
    ],
)
def test_unknown_queries_and_documents_are_named(gold, corpus, ranking, message):
    with pytest.raises(BadInputError, match=message):
        build_pool(gold, [ranking], corpus, ["a"])


@pytest.mark.parametrize("labellers", [[], [""], ["../x"], ["a", "A"], ["a b"]])
def test_labellers_must_name_files(gold, corpus, labellers):
    with pytest.raises(BadInputError, match="labeller"):
        build_pool(gold, [FORWARD], corpus, labellers)


def test_sheets_and_key_are_written_together(gold, corpus, tmp_path):
    pool = build_pool(gold, [FORWARD], corpus, ["a", "b"])
    paths = write_pool(pool, tmp_path / "out", tmp_path / "secret.json")
    assert sorted(path.name for path in paths) == [
        "secret.json", "sheet-a.csv", "sheet-a.jsonl", "sheet-b.csv", "sheet-b.jsonl"
    ]  # fmt: skip
    before = {path: path.read_bytes() for path in paths}
    write_pool(pool, tmp_path / "out", tmp_path / "secret.json")
    assert {path: path.read_bytes() for path in paths} == before


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
    gold = write_rows(tmp_path / "gold-set.jsonl", ROWS)
    texts = ({"id": f"d{n}", "corpus": "c", "text": f'-{n} is\nless, than "x"'} for n in (1, 2, 3))
    corpus = write_rows(tmp_path / "corpus.jsonl", texts)
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
        return write_rows(path, rows)
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
