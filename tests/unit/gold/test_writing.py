from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.gold_set import load_gold_set, query_line, write_gold_set
from retrieval_eval.model.gold import Anchor, GoldQuery, Label

DIGEST = "0" * 64
SEED = (
    '{"id":"g001","query":"היטל","practice_area":"levy", "corpus":"lib",'
    ' "relevant_case_law_ids":["u-2","u-1"],"source":"bootstrap","note":"","mine":{"b":1,"a":[]}}'
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gold-set.jsonl"


def read_one(path, line=SEED):
    path.write_text(line + "\n", encoding="utf-8")
    return load_gold_set(path).queries[0]


def test_an_unchanged_query_gives_its_line_to_the_letter(path):
    lines = [
        SEED,
        ' { "source" : "chair", "query":"caf\\u00e9", "relevant": {"d":2.0} , "answerable":null}',
        '{"query":"x","source":"chair","answerable":true,"labels":[],"anchors":{},"area":""}',
    ]
    path.write_bytes("\r\n".join(lines).encode())
    assert [query_line(query) for query in load_gold_set(path).queries] == lines
    write_gold_set(path, load_gold_set(path).queries)
    assert path.read_text(encoding="utf-8") == "".join(line + "\n" for line in lines)


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ({"note": "seen"}, "note", "seen"),
        ({"area": "fees"}, "practice_area", "fees"),
        ({"area": None}, "practice_area", None),
        ({"relevant": {"u-1": 1, "u-2": 2}}, "relevant_case_law_ids", {"u-2": 2, "u-1": 1}),
        ({"source": "chair"}, "source", "chair"),
    ],
)
def test_a_changed_field_is_the_only_change(path, change, key, value):
    changed = replace(read_one(path), **change)
    expected = {**json.loads(SEED), key: value}
    assert query_line(changed) == json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    write_gold_set(path, [changed])
    (back,) = load_gold_set(path).queries
    assert replace(back, line=0, written=None) == replace(changed, line=0, written=None)


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"origin": "replayed"}, {"origin": "replayed"}),
        ({"labels": (Label("x", "u-1", 2),)}, None),
        ({"anchors": {"u-1": Anchor("s", 1, 2, DIGEST)}}, None),
    ],
)
def test_a_field_that_the_row_had_not_is_added(path, change, more):
    changed = replace(read_one(path), **change)
    row = json.loads(query_line(changed))
    expected = (
        more
        or {
            "labels": {"labels": [{"labeller": "x", "doc": "u-1", "grade": 2}]},
            "anchors": {
                "anchors": {"u-1": {"source": "s", "start": 1, "end": 2, "sha256": DIGEST}}
            },
        }[next(iter(change))]
    )
    assert row == {**json.loads(SEED), **expected}


def test_what_was_derived_is_written_once_it_no_longer_follows(path):
    line = '{"query":"late fees","relevant":["d"],"source":"chair"}'
    query = read_one(path, line)
    renamed = replace(query, query="late charges")
    assert json.loads(query_line(renamed))["id"] == query.id
    emptied = replace(query, relevant={})
    assert json.loads(query_line(emptied)) == {
        "query": "late fees",
        "relevant": {},
        "source": "chair",
        "answerable": True,
    }
    unknown = replace(query, relevant={}, answerable=None)
    assert "answerable" not in json.loads(query_line(unknown))


def test_pass_through_fields_can_be_changed_and_removed(path):
    row = json.loads(SEED)
    query = read_one(path)
    changed = json.loads(query_line(replace(query, extra={"other": 1})))
    assert changed == {**{name: row[name] for name in row if name not in query.extra}, "other": 1}
    assert list(changed)[-1] == "other"


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
        '{"id":"b","query":"r","corpus":"x","relevant":{},"source":"chair"}',
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


def test_a_folder_is_no_place_to_write_to(path):
    path.mkdir()
    with pytest.raises(BadInputError, match="cannot be written"):
        write_gold_set(path, [])
    assert list(path.parent.iterdir()) == [path]
