"""Gold sets on disk: settings, faults, rows that keep their bytes, composition."""

from __future__ import annotations

import json
import math
import sys

import pytest
from msgspec.structs import replace

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import Anchor, FieldMap, GoldQuery, GoldSet, Label
from retrieval_eval.search.gold import (
    field_map,
    gold_faults,
    gold_stats,
    load_gold_set,
    percents,
    query_line,
    write_gold_set,
)
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.identity import query_id


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gold-set.jsonl"


def test_without_settings_our_names_and_those_of_the_seed_are_known(path):
    found = field_map(path)
    assert found == FieldMap()
    assert found.max_grade == 2
    meanings = found.meanings()
    assert meanings["relevant"] == meanings["relevant_case_law_ids"] == "relevant"
    assert meanings["area"] == meanings["practice_area"] == "area"
    assert "answers" not in meanings


def test_a_header_line_goes_before_gold_toml_and_adds_to_it(path):
    (path.parent / "gold.toml").write_text(
        'max_grade = 3\n[fields]\nrelevant = "answers"\narea = "topic"\n'
    )
    header = '{"gold_set": {"max_grade": 4, "fields": {"relevant": "docs"}}}'
    path.write_bytes(b"\xef\xbb\xbf\r\n" + header.encode() + b"\r\n{}\n")
    found = field_map(path)
    assert found.names == {"relevant": "docs", "area": "topic"}
    assert (found.max_grade, found.header) == (4, header)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("max_grade = 0", r"gold\.toml: max_grade: expected a whole number from 1 to 1000"),
        ("max_grade = 1001", "max_grade"),
        ("max_grade = true", "max_grade"),
        ("max_grade = 2.0", "max_grade"),
        ("max_grad = 3", "unknown setting 'max_grad'"),
        ('names = "other"', "names: expected one of standard, case-law, not 'other'"),
        ('[fields]\nanswer = "x"', "unknown field 'answer'; known: id, query"),
        ("[fields]\nrelevant = 3", "relevant: expected a field name as text"),
        ('[fields]\nrelevant = ""', "relevant: expected a field name as text"),
        ('[fields]\nrelevant = "x"\narea = "x"', "two fields have the same name"),
        ('fields = "x"', "expected standard field names"),
        ("max_grade = ", "not valid TOML"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(path, toml, message):
    (path.parent / "gold.toml").write_text(toml)
    with pytest.raises(BadInputError, match=message):
        field_map(path)


@pytest.mark.parametrize("settings", ["3", "null", '{"max_grade": -1}', '{"field": {}}'])
def test_a_broken_header_names_file_and_line(path, settings):
    path.write_text(f'{{"gold_set": {settings}}}\n')
    with pytest.raises(BadInputError, match=rf"^{path}: line 1: /gold_set"):
        field_map(path)


def test_a_first_row_is_no_header(path):
    path.write_text('{"gold_set": 1, "query": "x"}\n')
    assert field_map(path).header is None


SEED_ROW = (
    '{"id":"g001","query":"Betterment levy","practice_area":"betterment_levy", '
    '"corpus":"precedent_library", "relevant_case_law_ids":["u-1","u-2"],"source":"bootstrap",'
    '"note":""}'
)
DIGEST = "0" * 64


def row(**changes):
    plain = {"id": "a", "query": "late fees", "corpus": "law", "source": "chair"}
    return {key: value for key, value in {**plain, **changes}.items() if value is not ...}


def faults_of(path, *rows):
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    return [str(fault) for fault in gold_faults(path)]


def test_the_row_of_seed_002_loads_unchanged(path):
    path.write_text(SEED_ROW + "\n" + SEED_ROW.replace("g001", "g2").replace("Better", "Worse"))
    first, second = load_gold_set(path).queries
    assert first.id == "g001"
    assert first.area == "betterment_levy"
    assert first.corpus == "precedent_library"
    assert first.relevant == {"u-1": 1, "u-2": 1}
    assert (first.source, first.note, first.origin) == ("bootstrap", "", None)
    assert first.answerable is True
    assert first.extra == {}
    assert (first.line, second.line) == (1, 2)


def test_a_row_of_the_design(path):
    path.write_text(
        json.dumps(
            row(
                area="levy",
                relevant={"d17": 2, "d4": 0},
                origin="adversarial",
                note="n",
                labels=[{"labeller": "x", "doc": "d17", "grade": 2}],
                anchors={"d17": {"source": "a.md", "start": 3, "end": 3, "sha256": DIGEST}},
                difficulty=[1],
            )
        )
    )
    gold = load_gold_set(path)
    (query,) = gold.queries
    assert query.relevant == {"d17": 2, "d4": 0}
    assert query.n_relevant == 1
    assert query.labels == (Label("x", "d17", 2),)
    assert query.anchors == {"d17": Anchor("a.md", 3, 3, DIGEST)}
    assert query.extra == {"difficulty": [1]}
    assert gold.qrels == {"a": {"d17": 2, "d4": 0}}
    assert gold.path == path


def test_what_is_not_said_is_derived(path):
    path.write_text('{"query": "late fees", "source": "chair", "id": null, "area": ""}\n')
    (query,) = load_gold_set(path).queries
    assert query.corpus == "default"
    assert query.id == query_id("default", "late fees")
    assert (query.area, query.answerable, query.relevant) == (None, None, {})


@pytest.mark.parametrize(
    ("relevant", "stated", "answerable"),
    [
        ({"d": 1}, ..., True),
        ({"d": 0}, ..., None),
        ({}, ..., None),
        ({}, True, True),
        ({"d": 0}, False, False),
    ],
)
def test_answerable(path, relevant, stated, answerable):
    assert faults_of(path, row(relevant=relevant, answerable=stated)) == []
    assert load_gold_set(path).queries[0].answerable is answerable


def test_other_names_through_gold_toml_a_header_or_an_argument(path):
    line = '{"id":"a","text":"late fees","docs":["d"],"source":"chair"}\n'
    header = '{"gold_set":{"fields":{"query":"text","relevant":"docs"}}}\n'
    path.write_text(line)
    assert [str(fault) for fault in gold_faults(path)] == [
        "line 1: /query: is missing; expected text"
    ]
    names = FieldMap({"query": "text", "relevant": "docs"})
    given = load_gold_set(path, fields=names)
    path.write_text(header + line)
    stated = load_gold_set(path)
    assert stated.queries[0].line == 2
    path.write_text(line)
    (path.parent / "gold.toml").write_text('[fields]\nquery = "text"\nrelevant = "docs"\n')
    beside = load_gold_set(path)
    assert given.qrels == stated.qrels == beside.qrels == {"a": {"d": 1}}
    assert given.fingerprint == stated.fingerprint == beside.fingerprint


def test_byte_order_mark_line_ends_and_blank_lines_do_no_harm(path):
    rows = [json.dumps(row(id=key, query=key)).encode() for key in "ab"]
    path.write_bytes(b"\xef\xbb\xbf\r\n \n" + rows[0] + b"\r\n\r\n" + rows[1])
    found = load_gold_set(path)
    assert [(query.id, query.line) for query in found.queries] == [("a", 3), ("b", 5)]


GOOD = row(relevant={"d": 1})

BROKEN = [
    ([], "expected an object, found a list"),
    (row(id=7), "/id: expected text, found the number 7"),
    (row(id=" "), "/id: expected text, found an empty text"),
    (row(query=...), "/query: is missing; expected text"),
    (row(query=None), "/query: expected text, found null"),
    (row(query="\t"), "/query: expected text, found an empty text"),
    (row(corpus=["c"]), "/corpus: expected text, found a list"),
    (row(area=1), "/area: expected text, found the number 1"),
    (row(practice_area={}), "/practice_area: expected text, found an object"),
    (row(note=1), "/note: expected text, found the number 1"),
    (
        row(source=...),
        "/source: is missing; use 'chair' for a reviewed row, 'bootstrap' for a generated one",
    ),
    (row(source="me"), "/source: 'me' is unknown; expected one of bootstrap, chair"),
    (row(source=["chair"]), "/source: a list is unknown; expected one of bootstrap, chair"),
    (
        row(origin="log"),
        "/origin: 'log' is unknown; expected one of replayed, extracted, adversarial",
    ),
    (row(answerable="no"), "/answerable: expected true or false, found the text 'no'"),
    (row(answerable=0), "/answerable: expected true or false, found the number 0"),
    (row(relevant="d"), "/relevant: expected a list of ids or ids with grades, found the text 'd'"),
    (row(relevant=[1]), "/relevant/0: expected a document id as text, found the number 1"),
    (row(relevant={"": 1}), "/relevant/: expected a document id as text, found an empty text"),
    (row(relevant=["d", "d"]), "/relevant/1: the document 'd' is listed twice"),
    (
        row(relevant={"a/b": 1.5}),
        "/relevant/a~1b: expected a whole number as grade, found the number 1.5",
    ),
    (row(relevant={"d": True}), "/relevant/d: expected a whole number as grade, found true"),
    (row(relevant={"d": "1"}), "/relevant/d: expected a whole number as grade, found the text '1'"),
    (
        row(relevant_case_law_ids=3),
        "/relevant_case_law_ids: expected a list of ids or ids with grades, found the number 3",
    ),
    (
        row(relevant=[], relevant_case_law_ids=[]),
        "/relevant_case_law_ids: says the same as 'relevant'; keep one of them",
    ),
    (row(labels={}), "/labels: expected a list, found an object"),
    (row(labels=[3]), "/labels/0: expected an object, found the number 3"),
    (row(labels=[{"labeller": "x", "doc": "d"}]), "/labels/0/grade: is missing"),
    (
        row(labels=[{"labeller": "x", "doc": "d", "grade": 1, "z": 1}]),
        "/labels/0/z: is unknown; expected labeller, doc, grade",
    ),
    (
        row(labels=[{"labeller": "", "doc": "d", "grade": 1}]),
        "/labels/0/labeller: expected text, found an empty text",
    ),
    (
        row(labels=[{"labeller": "x", "doc": 1, "grade": 1}]),
        "/labels/0/doc: expected a document id as text, found the number 1",
    ),
    (row(anchors=[]), "/anchors: expected documents with their anchors, found a list"),
    (
        row(anchors={"d": {"source": "s", "start": -1, "end": 2, "sha256": DIGEST}}),
        "/anchors/d/start: expected a whole number from 0, found the number -1",
    ),
    (
        row(anchors={"d": {"source": "s", "start": 1, "end": 2, "sha256": "x"}}),
        "/anchors/d/sha256: expected 64 hexadecimal digits in lower case",
    ),
    (
        row(anchors={"d": {"source": 1, "start": 1, "end": 2, "sha256": DIGEST}}),
        "/anchors/d/source: expected the path of a text, found the number 1",
    ),
]

# What a schema that knows only one row, and the widest scale, cannot see.
BROKEN_ACROSS = [
    (
        row(relevant={"d": 3}),
        (
            "/relevant/d: the grade 3 is off the scale 0 to 2"
            " (max_grade in gold.toml or in the header line)"
        ),
    ),
    (
        row(answerable=False, relevant=["d"]),
        "/answerable: is false, yet a document is judged relevant; one of them is wrong",
    ),
    (
        row(labels=[{"labeller": "x", "doc": "d", "grade": 1}] * 2),
        "/labels/1: 'x' labels 'd' a second time",
    ),
    (
        row(anchors={"d": {"source": "s", "start": 2, "end": 1, "sha256": DIGEST}}),
        "/anchors/d: ends at 1, before its start 2",
    ),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN + BROKEN_ACROSS)
def test_every_fault_is_named_by_line_and_pointer(path, broken, message):
    assert faults_of(path, row(id="b", query="other"), broken) == [f"line 2: {message}"]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_the_schema_refuses_what_the_reader_refuses(broken, message):
    assert schema.faults(broken, "gold_set")


@pytest.mark.parametrize(
    "good",
    [
        json.loads(SEED_ROW),
        GOOD,
        {"query": "q", "source": "chair"},
        row(id=None, area=None, note=None, relevant=None, origin=None, answerable=None),
        row(labels=None, anchors=None, area=""),
        row(relevant={"d": 2.0}, answerable=True),
        row(labels=[{"labeller": "x", "doc": "d", "grade": 1}], other={"deep": [None]}),
        row(anchors={"d": {"source": "s", "start": 1, "end": 2, "sha256": DIGEST}}),
    ],
)
def test_the_schema_takes_what_the_reader_takes(path, good):
    assert faults_of(path, good) == []
    assert schema.faults(good, "gold_set") == []


def test_all_faults_of_all_lines_are_collected(path):
    path.write_bytes(
        b'{"id": 1}\n'
        b"{\n" + json.dumps(row()).encode() + b"\n"
        b'"\xff"\n'
        b'{"id":"a","query":"LATE  fees","corpus":"law","source":"chair"}\n'
        b'{"id":"a","query":"other","corpus":"law","source":"chair"}\n'
        b'{"id":"b","query":"late fees","corpus":"tax","source":"chair"}\n'
        b'{"gold_set":{}}\n'
    )
    with pytest.raises(BadInputError) as caught:
        load_gold_set(path)
    assert str(caught.value).splitlines() == [
        "gold-set.jsonl: line 1: /id: expected text, found the number 1",
        "gold-set.jsonl: line 1: /query: is missing; expected text",
        (
            "gold-set.jsonl: line 1: /source: is missing; use 'chair' for a reviewed row,"
            " 'bootstrap' for a generated one"
        ),
        (
            "gold-set.jsonl: line 2: not valid JSON (column 2: Expecting property name enclosed in"
            " double quotes)"
        ),
        "gold-set.jsonl: line 4: is not UTF-8",
        (
            "gold-set.jsonl: line 5: the same query for the corpus 'law' is on line 3 (case and"
            " white space do not count); keep one of them"
        ),
        "gold-set.jsonl: line 6: the id 'a' is on line 3 already",
        "gold-set.jsonl: line 8: a header can only be the first line",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id":"a","id":"b"}', "the key 'id' stands twice in one object"),
        ('{"query":"q","source":"chair","relevant":{"d":2,"d":0}}', "the key 'd' stands twice"),
        ('{"query":NaN}', "holds nan, which is no JSON number"),
        ('{"query":"q","x":[1e999]}', "holds inf, which is no JSON number"),
        ('{"query":"\\ud800"}', "lone surrogate"),
        ('{"query":"q","x":{"\\udfff":1}}', "lone surrogate"),
        ('{"x":' + "[" * 70 + "]" * 70 + "}", "nested deeper than 64 levels"),
        ("[" * 200_000, "nested too deeply"),
        ('{"x":' + "9" * 5000 + "}", "not valid JSON"),
        ("null", "expected an object, found null"),
        ("\x00", "not valid JSON"),
    ],
)
def test_hostile_lines_are_named_and_nothing_raw_is_raised(path, line, message):
    path.write_text(line + "\n")
    (fault,) = gold_faults(path)
    assert fault.line == 1
    assert message in fault.message


def test_no_depth_of_nesting_slips_between_two_ways_of_reading(path):
    # Near the limit of recursion a line can be decoded, and then not be looked through.
    limit = sys.getrecursionlimit()
    for depth in range(limit - 250, limit, 3):
        path.write_text('{"x":' * depth + "1" + "}" * depth + "\n")
        (fault,) = gold_faults(path)
        assert "nested" in fault.message


def test_a_huge_grade_is_off_the_scale(path):
    (fault,) = faults_of(path, row(relevant={"d": 10**4000}))
    assert "is off the scale" in fault
    assert len(fault) < 200


def test_the_scale_can_be_declared(path):
    (path.parent / "gold.toml").write_text("max_grade = 3\n")
    assert faults_of(path, row(relevant={"d": 3})) == []
    assert "off the scale 0 to 3" in faults_of(path, row(relevant={"d": 4}))[0]
    assert "off the scale" in faults_of(path, row(relevant={"d": -1}))[0]
    label = {"labeller": "x", "doc": "d", "grade": 4}
    assert "/labels/0/grade: the grade 4" in faults_of(path, row(labels=[label]))[0]


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(BadInputError, match="cannot be read"):
        load_gold_set(tmp_path / name)
    (fault,) = gold_faults(tmp_path / name)
    assert fault.line == 0


def test_documents_unknown_to_the_corpus_are_faults(path, tmp_path):
    documents = tmp_path / "corpus.jsonl"
    documents.write_text(
        '{"id":"d1","corpus":"law","text":"x"}\n{"id":"d2","corpus":"tax","text":"x"}\n'
    )
    label = {"labeller": "x", "doc": "d4", "grade": 1}
    rows = [
        row(relevant={"d1": 1, "d2": 1, "d3": 0}, labels=[label]),
        row(id="b", corpus="nowhere", relevant=["d1"]),
    ]
    assert faults_of(path, *rows) == []
    found = gold_faults(path, corpus=read_corpus(documents))
    assert [str(fault) for fault in found] == [
        "line 1: the document 'd2' is only in the corpus 'tax' in corpus.jsonl",
        "line 1: the document 'd3' is unknown in corpus.jsonl",
        "line 1: the document 'd4' is unknown in corpus.jsonl",
        "line 2: the corpus 'nowhere' has no document in corpus.jsonl",
    ]


def test_the_fingerprint_sees_what_moves_a_metric_and_nothing_else(path):
    def fingerprint(*rows):
        assert faults_of(path, *rows) == []
        return load_gold_set(path).fingerprint

    one, two = row(relevant={"d": 1, "e": 2}), row(id="b", query="other")
    first = fingerprint(one, two)
    assert fingerprint(two, one) == first
    assert fingerprint(dict(reversed(one.items())), two) == first
    assert fingerprint({**one, "relevant": {"e": 2, "d": 1}}, two) == first
    assert fingerprint({**one, "answerable": True}, two) == first
    assert fingerprint({**one, "note": "n", "mine": 1}, two) == first
    others = [
        {"id": "c"},
        {"query": "Late fees"},
        {"corpus": "tax"},
        {"area": "x"},
        {"origin": "replayed"},
        {"source": "bootstrap"},
        {"relevant": {"d": 1, "e": 1}},
        {"relevant": {"d": 1}},
        {"relevant": {"d": 0, "e": 0}},
        {"relevant": {}, "answerable": False},
    ]
    found = [fingerprint({**one, **other}, two) for other in others]
    assert len({first, fingerprint(one), *found}) == len(others) + 2


SEED = (
    '{"id":"g001","query":"היטל","practice_area":"levy", "corpus":"lib",'
    ' "relevant_case_law_ids":["u-2","u-1"],"source":"bootstrap","note":"","mine":{"b":1,"a":[]}}'
)


def read_one(path, line=SEED):
    path.write_text(line + "\n", encoding="utf-8")
    return load_gold_set(path).queries[0]


def test_what_was_derived_is_written_once_it_no_longer_follows(path):
    line = '{"query":"late fees","relevant":["d"],"source":"chair"}'
    query = read_one(path, line)
    renamed = replace(query, query="late charges")
    assert json.loads(query_line(renamed))["id"] == query.id
    emptied = replace(query, relevant={})
    assert json.loads(query_line(emptied)) == {
        "query": "late fees",
        "relevant": [],
        "source": "chair",
        "answerable": True,
    }
    unknown = replace(query, relevant={}, answerable=None)
    assert "answerable" not in json.loads(query_line(unknown))


def test_the_canonical_line_has_our_order_and_no_defaults():
    query = GoldQuery(
        "a",
        "q",
        "law",
        relevant={"b": 1, "c": 2, "a": 1},
        source="chair",
        answerable=True,
        extra={"z": 1},
    )
    assert query_line(query) == (
        '{"id":"a","query":"q","corpus":"law","relevant":{"c":2,"a":1,"b":1},"source":"chair","z":1}'
    )
    assert query_line(
        replace(query, relevant={}, extra={}, answerable=False, origin="replayed")
    ) == (
        '{"id":"a","query":"q","corpus":"law","relevant":{},"source":"chair","origin":"replayed",'
        '"answerable":false}'
    )


def test_the_header_stays_and_names_are_used_where_they_are_understood(path, tmp_path):
    header = '{ "gold_set": {"fields":{"relevant":"docs"}}}'
    line = '{"id":"a","query":"q","docs":["d"],"source":"chair"}'
    path.write_text(f"{header}\n{line}\n")
    queries = load_gold_set(path).queries
    write_gold_set(path, [replace(queries[0], note="n"), GoldQuery("b", "r", "x", source="chair")])
    assert path.read_text().splitlines() == [
        header,
        '{"id":"a","query":"q","docs":["d"],"source":"chair","note":"n"}',
        '{"id":"b","query":"r","corpus":"x","docs":[],"source":"chair"}',
    ]
    elsewhere = tmp_path / "elsewhere" / "gold-set.jsonl"
    write_gold_set(elsewhere, queries)
    assert elsewhere.read_text() == (
        '{"id":"a","query":"q","corpus":"default","relevant":{"d":1},"source":"chair"}\n'
    )


def test_a_wider_scale_is_declared_in_a_header(path):
    query = GoldQuery("a", "q", "law", relevant={"d": 3}, source="chair")
    with pytest.raises(BadInputError, match=r"not written\): line 1: /relevant/d: the grade 3"):
        write_gold_set(path, [query])
    write_gold_set(path, [query], max_grade=3)
    assert path.read_text().splitlines()[0] == '{"gold_set":{"max_grade":3}}'
    assert load_gold_set(path).qrels == {"a": {"d": 3}}
    write_gold_set(path, [replace(query, relevant={"d": 4})], max_grade=4)
    assert path.read_text().splitlines()[0] == '{"gold_set":{"max_grade":4}}'


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([GoldQuery("a", "q", "c"), GoldQuery("a", "r", "c")], "line 2: the id 'a' is on line 1"),
        ([GoldQuery("a", "q", "c"), GoldQuery("b", "Q ", "c")], "line 2: the same query"),
        ([GoldQuery("a", "q", "c", source="me")], "'me' is unknown"),
        ([GoldQuery("a", "\ud800", "c")], "line 1: is not UTF-8"),
        ([GoldQuery("a", "q", "c", relevant={"d": 1}, answerable=False)], "is false"),
        ([GoldQuery("a", "q", "c", extra={"note": "x"})], "'a' could not be read back"),
        ([GoldQuery("a", "q", "c", extra={"practice_area": "x"})], "'a' could not be read back"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(path, queries, message):
    path.write_text(SEED)
    with pytest.raises(BadInputError, match=message):
        write_gold_set(path, queries)
    assert path.read_text() == SEED


def test_a_link_stays_a_link(path, tmp_path):
    query = read_one(path)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    write_gold_set(link, [replace(query, note="seen")])
    assert link.is_symlink()
    assert load_gold_set(path).queries[0].note == "seen"


def test_the_composition_of_a_small_set():
    queries = (
        GoldQuery("a", "1", "law", area="x", relevant={"d": 2, "e": 0}, answerable=True),
        GoldQuery("b", "2", "law", area="y", answerable=False, source="chair", origin="replayed"),
        GoldQuery("c", "3", "tax", relevant={"d": 1}, answerable=True, origin="adversarial"),
        GoldQuery("d", "4", "law", relevant={"f": 0}, labels=(Label("x", "f", 0),)),
    )
    found = gold_stats(GoldSet(queries, "f"))
    blocks = found.pop("composition")
    assert found == {
        "fingerprint": "f",
        "is_provisional": False,
        "n_queries": 4,
        "n_labelled_pairs": 4,
        "n_relevant_pairs": 2,
        "n_unlabelled": 1,
        "n_labels": 1,
        "n_anchors": 0,
    }
    parts = {
        name: [(one["value"], one["n"], one["share"], one["percent"]) for one in block["parts"]]
        for name, block in blocks.items()
    }
    half, quarter = (2, 0.5, 50.0), (1, 0.25, 25.0)
    assert parts == {
        "corpus": [("law", 3, 0.75, 75.0), ("tax", *quarter)],
        "area": [("x", *quarter), ("y", *quarter), (None, *half)],
        "origin": [("replayed", *quarter), ("adversarial", *quarter), (None, *half)],
        "source": [("bootstrap", 3, 0.75, 75.0), ("chair", *quarter)],
        "answerable": [(True, *half), (False, *quarter), (None, *quarter)],
        "grade": [(0, *half), (1, *quarter), (2, *quarter)],
        "found_by": parts["found_by"],
    }
    assert (blocks["corpus"]["unit"], blocks["grade"]["unit"]) == ("queries", "judged pairs")


def test_printed_shares_add_up_where_rounding_each_would_not():
    # 1/7 is 14.28… %: seven times 14.3 would be 100.1.
    assert percents([1] * 7) == [14.3, 14.3, 14.3, 14.3, 14.3, 14.3, 14.2]
    # 2/3 = 66.66…, 1/6 = 16.66… twice: the largest remainders are equal, the first ones win.
    assert percents([4, 1, 1]) == [66.7, 16.7, 16.6]
    assert percents([1, 9999]) == [0.0, 100.0]
    assert percents([0, 5]) == [0.0, 100.0]
    assert percents([]) == percents([0]) == []
    assert math.fsum(percents([1, 1, 1])) == 100.0
