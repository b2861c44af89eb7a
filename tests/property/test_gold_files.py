from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from retrieval_eval import schema
from retrieval_eval.model.gold import (
    FIELDS,
    ORIGINS,
    SOURCES,
    Anchor,
    FieldMap,
    GoldQuery,
    GoldSet,
    Label,
)
from retrieval_eval.search.ask import says_nothing
from retrieval_eval.search.ask.retrievers.ranked_file import open_ranked_file
from retrieval_eval.search.gold import (
    gold_faults,
    gold_stats,
    load_gold_set,
    parse_gold,
    percents,
    query_line,
    write_gold_set,
)
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.gold.exchange import (
    export_beir,
    export_trec,
    import_beir,
    import_trec,
    run_bytes,
)
from retrieval_eval.search.gold.identity import fingerprint, normalize_query, query_id
from tests.conftest import COSTLY

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = TEXT.filter(lambda text: text.strip() and normalize_query(text))
# No white space and nothing that other formats split at.
IDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=6)
ID = IDS.filter(lambda text: '"' not in text and "\ufeff" not in text)
GRADES = st.integers(0, 2)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN_FIELDS = st.dictionaries(
    TEXT.filter(lambda name: name not in FieldMap().meanings() and name != "gold_set"),
    JSON,
    max_size=2,
)


@st.composite
def queries(draw, corpora=WORDS):
    relevant = draw(st.dictionaries(ID, GRADES, max_size=4))
    has_relevant = any(relevant.values())
    labels = draw(st.dictionaries(st.tuples(WORDS, ID), GRADES, max_size=2))
    start, length = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    anchor = Anchor(draw(WORDS), start, start + length, "0" * 64)
    return GoldQuery(
        id=draw(ID),
        query=draw(WORDS),
        corpus=draw(corpora),
        area=draw(st.none() | WORDS),
        relevant=relevant,
        source=draw(st.sampled_from(SOURCES)),
        origin=draw(st.none() | st.sampled_from(ORIGINS)),
        answerable=True if has_relevant else draw(st.sampled_from([True, False, None])),
        note=draw(TEXT),
        labels=tuple(Label(who, doc, grade) for (who, doc), grade in labels.items()),
        anchors=draw(st.sampled_from([{}, {"d": anchor}])),
        extra=draw(UNKNOWN_FIELDS),
    )


def sets(**options):
    return st.lists(
        queries(**options),
        max_size=4,
        unique_by=(lambda q: q.id, lambda q: (q.corpus, normalize_query(q.query))),
    )


def one_corpus():
    return st.lists(
        queries(corpora=st.just("law")),
        max_size=4,
        unique_by=(lambda q: q.id, lambda q: normalize_query(q.query)),
    )


def unplaced(found):
    return [replace(query, line=0, written=None) for query in found]


@COSTLY
@given(sets())
def test_a_gold_set_is_read_back_as_it_was_written(written):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gold-set.jsonl"
        write_gold_set(path, written)
        first = path.read_bytes()
        gold = load_gold_set(path)
        assert unplaced(gold.queries) == written
        # It has no order.
        assert gold.fingerprint == fingerprint(written) == fingerprint(written[::-1])
        for block in gold_stats(gold)["composition"].values():
            assert sum(part["n"] for part in block["parts"]) == block["n"]
            if block["n"]:
                assert abs(math.fsum(part["share"] for part in block["parts"]) - 1) <= 1e-12
        write_gold_set(path, gold.queries)
        assert path.read_bytes() == first
        for line in first.splitlines():
            assert schema.faults(json.loads(line), "gold_set") == []


@given(sets(), st.data())
def test_a_row_in_any_spelling_stays_as_it_is_and_a_change_touches_one_field(written, data):
    names = {"relevant": "relevant_case_law_ids", "area": "practice_area"}
    lines = []
    for query in written:
        row = json.loads(query_line(query))
        keys = data.draw(st.permutations(list(row)))
        row = {names.get(key, key): row[key] for key in keys}
        indent = data.draw(st.sampled_from([(", ", ": "), (" ,", " :  "), (",", ":")]))
        lines.append(json.dumps(row, separators=indent, ensure_ascii=data.draw(st.booleans())))
    found, faults = parse_gold("\r\n".join(lines).encode(), FieldMap())
    assert faults == []
    assert unplaced(found) == written
    for query, line in zip(found, lines, strict=True):
        assert query_line(query) == line
        changed = replace(query, note=query.note + "!")
        row = json.loads(query_line(changed))
        assert {**row, "note": None} == {**json.loads(line), "note": None}
        assert row["note"] == changed.note


@given(st.lists(st.dictionaries(st.sampled_from([*FIELDS, "x"]), JSON) | JSON, max_size=4))
def test_any_json_is_read_or_every_fault_is_a_line(rows):
    lines = [json.dumps(row) for row in rows]
    found, faults = parse_gold("\n".join(lines).encode(), FieldMap())
    assert all(1 <= fault.line <= len(rows) and fault.message for fault in faults)
    assert {query.line for query in found} | {fault.line for fault in faults} <= set(
        range(1, len(rows) + 1)
    )
    for number, row in enumerate(rows, start=1):
        has_shape = not schema.faults(row, "gold_set")
        is_refused = any(fault.line == number for fault in faults)
        # What the schema refuses the reader refuses; the reader also sees scales and repeats.
        assert has_shape or is_refused


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_by_line(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gold-set.jsonl"
        path.write_bytes(data)
        for fault in gold_faults(path):
            assert str(fault)


@given(TEXT, TEXT)
def test_the_id_depends_on_the_normalised_query_only(corpus, query):
    once = normalize_query(query)
    assert normalize_query(once) == once
    assert query_id(corpus, query) == query_id(corpus, once) == query_id(corpus, f"  {query}\n")


@given(st.lists(st.integers(0, 10**6), max_size=30))
def test_printed_shares_add_up_and_are_off_by_less_than_a_tenth(counts):
    found = percents(counts)
    total = sum(counts)
    if not total:
        assert found == []
        return
    assert round(math.fsum(found), 9) == 100.0
    for count, percent in zip(counts, found, strict=True):
        assert abs(percent - 100 * count / total) < 0.1


def kept(query):
    """What every format of information retrieval can hold."""
    return GoldQuery(
        query.id,
        query.query,
        "law",
        relevant=query.relevant,
        source="chair",
        answerable=True if query.n_relevant else None,
    )


@COSTLY
@given(one_corpus())
def test_what_trec_does_not_lose_comes_back(written):
    gold = GoldSet(tuple(written), "f")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lost = export_trec(gold, root)
        found = import_trec(root / "qrels.txt", root / "topics.tsv", corpus="law")
        back = [replace(query, query=normalize_query(query.query)) for query in found.queries]
        assert back == [replace(kept(q), query=normalize_query(q.query)) for q in written]
        if not any("became spaces" in sentence for sentence in lost):
            assert list(found.queries) == [kept(query) for query in written]
        assert found.notes == ()


@COSTLY
@given(one_corpus(), st.dictionaries(ID, st.tuples(TEXT, TEXT), max_size=3))
def test_what_beir_does_not_lose_comes_back(written, others):
    judged = [doc for query in written for doc in query.relevant]
    named = [doc for query in written for doc in [label.doc for label in query.labels]]
    texts = {**dict.fromkeys([*judged, *named], ("", "x")), **others}
    documents = tuple(
        Document(doc, "law", title, text) for doc, (title, text) in texts.items()
    ) or (Document("d", "law", "", ""),)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(documents, "f", Path("c.jsonl"))
        export_beir(GoldSet(tuple(written), "f"), Path(folder), corpus=corpus)
        found = import_beir(Path(folder), corpus="law")
        assert list(found.queries) == [kept(query) for query in written]
        assert found.documents == documents
        assert found.notes == ()


SCORES = FLOATS | st.integers(0, 2).map(float)


# Ids that begin as JSON does, or are JSON: the layout of the file does not follow from them.
@example({"{": {"d": 1.0}})
@example({"{q1": {"{d": 1.0, "}": 0.5}, "q2": {"d": 1.0}})
@example({"{}": {"d": 1.0}})
@example({'{"id":"q","ranking":[]}': {'{"id":"q"}': 1.0}})
@example({"[]": {"d": 1.0}})
@example({'"q"': {"d": 1.0}})
@example({"null": {"d": 1.0}, "7": {"7": 1.0}})
@given(st.dictionaries(ID, st.dictionaries(ID, SCORES, max_size=5), max_size=3))
def test_a_run_comes_back_score_for_score(rankings):
    def order(scores):
        return sorted(scores.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)

    doc = {
        "queries": [
            {"id": name, "ranking": [{"doc": d, "score": s} for d, s in order(scores)]}
            for name, scores in rankings.items()
        ]
    }
    data, lost = run_bytes(doc, "t")
    assert not any("order" in sentence for sentence in lost)
    expected = {name: order(scores) for name, scores in rankings.items() if scores}
    # The largest 32-bit number is no score.
    assume(expected and not any(says_nothing(s) for of in rankings.values() for s in of.values()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.txt"
        path.write_bytes(data)
        found = open_ranked_file(path, {}).rankings
    assert {name: [(d.doc, d.score) for d in docs] for name, docs in found.items()} == expected
