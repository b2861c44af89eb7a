from __future__ import annotations

import hashlib
import json
import math

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import RetrieverError
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.run.running import run_queries

RUN = """\
q1 Q0 d1 1 0.5 tag
q1 Q0 d2 2 1.5 tag
q2 Q0 d3 1 7 tag
q1 Q0 d0 3 0.5 tag
"""


@pytest.fixture
def ranked(tmp_path):
    def opened(content, name="run.trec", **options):
        path = tmp_path / name
        if not isinstance(content, str | bytes):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return open_retriever(f"run:{path}", options)

    return opened


def pairs(docs):
    return [(doc.doc, doc.score) for doc in docs]


def by_id(retriever, query_id, k=10):
    return pairs(retriever.search_by_id(query_id, corpus="default", k=k))


def test_a_trec_run_keeps_its_stated_order_and_the_score_decides_what_is_cut(ranked):
    retriever = ranked(RUN)
    assert list(retriever.query_ids) == ["q1", "q2"]
    assert by_id(retriever, "q1") == [("d1", 0.5), ("d2", 1.5), ("d0", 0.5)]
    # What is kept rises, and the whole does not: it is given by score, as no distance is meant.
    assert by_id(retriever, "q1", k=2) == [("d2", 1.5), ("d1", 0.5)]
    assert by_id(retriever, "q2") == [("d3", 7.0)]


def test_jsonl_takes_every_form_of_a_document(ranked):
    retriever = ranked(
        [
            {"id": "q1", "ranking": ["d2", "d1"]},
            {"id": "q2", "ranking": [["d1", 0.5], {"doc": "d2", "score": 1.5}]},
            {"id": "q3", "ranking": []},
        ]
    )
    assert by_id(retriever, "q1") == [("d2", -1.0), ("d1", -2.0)]
    assert by_id(retriever, "q2") == [("d1", 0.5), ("d2", 1.5)]
    assert by_id(retriever, "q3") == []
    with pytest.raises(RetrieverError, match=r"run\.trec: no line for query 'q4'"):
        by_id(retriever, "q4")


def test_a_row_that_states_its_text_is_found_by_it(ranked):
    retriever = ranked(
        [
            {"id": "q1", "query": "Betterment  LEVY", "ranking": ["d1"]},
            {"id": "q2", "ranking": ["d2"]},
        ]
    )
    assert pairs(retriever.search("betterment levy", corpus="law", k=5)) == [("d1", -1.0)]
    assert pairs(retriever.search("q2", corpus="law", k=5)) == [("d2", -1.0)]


def test_a_run_over_a_ranked_file_goes_by_id(ranked):
    queries = [GoldQuery(f"q{n}", "any text", "default") for n in (1, 2, 3)]
    results = run_queries(GoldSet(tuple(queries), "f"), ranked(RUN), depth=2, jobs=2)
    assert [pairs(result.ranking) for result in results] == [
        [("d2", 1.5), ("d1", 0.5)],
        [("d3", 7.0)],
        [],
    ]
    rows = [{"id": "q1", "ranking": ["d1", "d2"]}, {"id": "q2", "ranking": []}]
    results = run_queries(GoldSet(tuple(queries), "f"), ranked(rows), depth=2)
    assert [result.problems for result in results] == [(), ("empty_in_file",), ("missing",)]
    results = run_queries(GoldSet(tuple(queries), "f"), ranked(rows, missing="empty"), depth=2)
    assert [result.problems for result in results] == [(), ("empty_in_file",), ("empty_in_file",)]


def test_a_run_made_from_another_gold_set_is_refused(ranked):
    gold = GoldSet((GoldQuery("g1", "levy", "law"),), "f")
    with pytest.raises(BadInputError, match="made from another gold set"):
        run_queries(gold, ranked(RUN), depth=2)


def test_the_file_is_identified_by_its_content(ranked):
    assert ranked(RUN).describe() == {
        "name": "run.trec",
        "reranker": None,
        "layout": "trec",
        "n_queries": 2,
        "sha256": hashlib.sha256(RUN.encode()).hexdigest(),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no ranking"),
        (b"\xef\xbb\xbf\n \n", "holds no ranking"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d1 1\n", "line 2: expected 6 fields"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d1 2 0.4 t\n", r"'d1' occurs twice .*\(lines 1 and 2\)"),
        ("q1 Q0 d1 1 0.5 t\n\nq1 Q0 d2 1 x t\n", "line 3: 'x' is not a number"),
        ("q1 Q0 d1 1 0.5 t\n\nq1 Q0 d2 1 inf t\n", "line 3: a score of inf; expected"),
        (b"q1 Q0 \xff 1 0.5 t\n", "not UTF-8"),
        ('{"id": "q1", "ranking": ["a"]}\n{"id":\n', "line 2: not valid JSON"),
        ('{"id": "q1", "ranking": ["a"]}\n\n[]\n', 'line 3: expected {"id"'),
        ([{"id": "q1"}], 'line 1: expected {"id"'),
        ([{"id": 1, "ranking": []}], 'line 1: expected {"id"'),
        ([{"id": "q1", "ranking": {"a": 1}}], 'line 1: expected {"id"'),
        ([{"id": "q1", "ranking": ["a", "b", "a"]}], "line 1: /ranking: items 1 and 3 are the"),
        ([{"id": "q1", "ranking": [["a", 1], ["b", "x"]]}], r"line 1: /ranking: item 2 .*type str"),
        ([{"id": "q1", "ranking": [["a", math.nan]]}], r"line 1: /ranking: item 1 .*score of nan"),
        ([{"id": "q1", "ranking": [["a", 1], "b"]}], r"line 1: /ranking: item 2 .* no score, and"),
        ([{"id": "q1", "ranking": [["a", 1, 2]]}], "line 1: /ranking: item 1 has 3 parts"),
        ([{"id": "q1", "ranking": []}], "no query has a document"),
        ([{"id": "q1", "ranking": []}] * 2, "line 2: query 'q1' is on line 1 too"),
    ],
)  # fmt: skip
def test_faults_are_named_by_line(ranked, content, message):
    with pytest.raises(BadInputError, match=message):
        ranked(content)


# Ids that begin as JSON does, and ids that are JSON.
JSON_LIKE = ["{q1", "{", "{}", "[]", "[1", '{"id":"q1"}', '"q1"', "null", "7", '{"ranking":[]}']


@pytest.mark.parametrize("name", JSON_LIKE)
@pytest.mark.parametrize("before", ["", "\n \n", "\ufeff", "\ufeff\r\n\n"])
def test_a_trec_run_is_one_whatever_its_ids_look_like(ranked, name, before):
    retriever = ranked(f"{before}{name} Q0 {{d1 2 0.5 t\n{name} Q0 {{}} 1 1.5 t\nq2 Q0 d 1 7 t\n")
    assert retriever.layout == "trec"
    assert list(retriever.query_ids) == [name, "q2"]
    assert by_id(retriever, name) == [("{}", 1.5), ("{d1", 0.5)]


@pytest.mark.parametrize("before", ["", "\n", " \n\n", "\ufeff", "\ufeff\n\r\n", "\ufeff  "])
@pytest.mark.parametrize(
    "row",
    [
        '{"id": "q1", "ranking": ["d1"]}',
        # Six fields, and the fifth is a number: still a JSON object.
        '{"id":"q1","ranking": [7, 8, 9, 10 ]}',
        '{"id": "q1", "ranking": [], "query": "a"}',
    ],
)
def test_jsonl_is_known_by_its_first_line(ranked, before, row):
    retriever = ranked(f"{before}{row}\n" + '{"id": "q2", "ranking": ["d2"]}\n')
    assert retriever.layout == "jsonl"
    assert list(retriever.query_ids) == ["q1", "q2"]
    assert by_id(retriever, "q2") == [("d2", -1.0)]


@pytest.mark.parametrize(
    ("content", "line", "trec", "jsonl"),
    [
        (
            "q1 Q0 d1 1 0.5\n",
            1,
            "expected 6 fields (query Q0 document rank score tag), found 5",
            "",
        ),
        ("\n\nq1 Q0 d1 1 x t\n", 3, "'x' is not a number", "not valid JSON"),
        ('{"id": "q1", "ranking": ["a", "b", "c"\n', 1, "'\"b\",' is not a number", "not valid"),
        ('[{"id": "q1", "ranking": []}]\n', 1, "found 4", "an object"),
        (b"q1 Q0 \xff 1 0.5 t\n", 1, "not UTF-8", "not UTF-8"),
    ],
)
def test_what_is_neither_layout_is_told_what_either_expects(ranked, content, line, trec, jsonl):
    with pytest.raises(BadInputError) as caught:
        ranked(content)
    message = str(caught.value)
    head, _, rest = message.partition(" is neither ")
    assert head.endswith(f"run.trec: line {line}")
    first, _, second = rest.partition(", nor ")
    assert first.startswith("of a TREC run (")
    assert trec in first
    assert second.startswith('of JSONL ({"id": "…", "ranking": […]}')
    assert jsonl in second


def test_a_ranked_file_has_two_options(ranked):
    with pytest.raises(BadInputError, match="run has no option 'k'; it has best, missing"):
        ranked(RUN, k="1")
    with pytest.raises(BadInputError, match="option best is 'lowest'; it must be one of high, low"):
        ranked(RUN, best="lowest")


GOLD_OF_TWO = GoldSet(
    tuple(GoldQuery(f"q{n}", f"text {n}", "default", relevant={"near": 1}) for n in (1, 2)), "f"
)
BEST_FIRST = ["near", "middle", "far"]
# Each file states that "near" comes first, and gives it the lowest number.
DISTANCES = {
    "ranks rise with the numbers": "".join(
        f"q{n} Q0 {doc} {rank} {rank / 10} t\n"
        for n in (1, 2)
        for rank, doc in enumerate(BEST_FIRST, 1)
    ),
    "lines by number, the highest first": "".join(
        f"q{n} Q0 {doc} {rank} {rank / 10} t\n"
        for n in (1, 2)
        for rank, doc in reversed([*enumerate(BEST_FIRST, 1)])
    ),
    "ranks from 0": "".join(
        f"q{n} Q0 {doc} {rank} {rank / 10} t\n"
        for n in (1, 2)
        for rank, doc in enumerate(BEST_FIRST)
    ),
    "ranks all equal, lines in order": "".join(
        f"q{n} Q0 {doc} 0 {rank / 10} t\n" for n in (1, 2) for rank, doc in enumerate(BEST_FIRST)
    ),
    "no number for a rank": "".join(
        f"q{n} Q0 {doc} - {rank / 10} t\n" for n in (1, 2) for rank, doc in enumerate(BEST_FIRST)
    ),
    "queries mixed": "".join(
        f"q{n} Q0 {doc} {rank} {rank / 10} t\n"
        for rank, doc in enumerate(BEST_FIRST, 1)
        for n in (1, 2)
    ),
    "negative scores, as bm25() of FTS5": "".join(
        f"q{n} Q0 {doc} {rank} {rank - 9} t\n"
        for n in (1, 2)
        for rank, doc in enumerate(BEST_FIRST, 1)
    ),
    "JSONL": [
        {"id": f"q{n}", "ranking": [[doc, rank / 10] for rank, doc in enumerate(BEST_FIRST)]}
        for n in (1, 2)
    ],
}


@pytest.mark.parametrize("depth", [2, 50])
@pytest.mark.parametrize("content", DISTANCES.values(), ids=DISTANCES)
def test_distances_are_not_ranked_upside_down(ranked, content, depth):
    results = run_queries(GOLD_OF_TWO, ranked(content), depth=depth)
    assert [(r.status, r.failure, r.ranking) for r in results] == [
        ("failed", "scores_rise", ())
    ] * 2
    named = run_queries(GOLD_OF_TWO, ranked(content, best="low"), depth=depth)
    assert [[d.doc for d in r.ranking] for r in named] == [BEST_FIRST[:depth]] * 2
    # Who says that the order means nothing gets what trec_eval gives.
    meant = run_queries(GOLD_OF_TWO, ranked(content, best="high"), depth=depth)
    assert [[d.doc for d in r.ranking] for r in meant] == [BEST_FIRST[::-1][:depth]] * 2
    assert all("unsorted" in result.problems for result in meant)


@pytest.mark.parametrize(
    "content",
    [
        "".join(f"q{n} Q0 d{r} {r} {9 - r} t\n" for n in (1, 2) for r in range(1, 4)),
        "".join(f"q{n} Q0 d{r} 0 {9 - r} t\n" for n in (1, 2) for r in range(1, 4)),
        # Equal scores say neither.
        "".join(f"q{n} Q0 d{r} {r} 1.0 t\n" for n in (1, 2) for r in range(1, 4)),
        "".join(f"q{n} Q0 d1 1 0.5 t\n" for n in (1, 2)),
    ],
)
def test_scores_are_no_distances(ranked, content):
    results = run_queries(GOLD_OF_TWO, ranked(content), depth=3)
    assert [(result.status, result.problems) for result in results] == [
        ("ok", ("fewer_than_k",) if len(result.ranking) < 3 else ()) for result in results
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_place_of_a_file_at_which_nothing_was_found_is_left_out(ranked, sign):
    nothing = sign * 3.4028234663852886e38
    rows = f"q1 Q0 near 1 0.9 t\nq1 Q0 far 2 0.8 t\nq1 Q0 last 3 {nothing} t\n"
    row = {"id": "q1", "ranking": [["near", 0.9], ["far", 0.8], ["last", nothing]]}
    shortened = rows.replace(str(nothing), f"{sign * 3.4028235e38}")
    for content in (rows, shortened, [row, {"id": "q2", "ranking": []}]):
        found, _ = run_queries(GOLD_OF_TWO, ranked(content), depth=3)
        assert [each.doc for each in found.ranking] == ["near", "far"]
        assert "no_score" in found.problems
