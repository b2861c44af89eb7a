"""Properties of the ranking measures that hold for every input."""

import importlib.util
import itertools
import math
import string
import tempfile
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import evaluate_rankings, rank_metrics, trec
from retrieval_eval.ranking.few import evaluate_few
from retrieval_eval.ranking.ids import Ids
from retrieval_eval.ranking.measures import as_measures
from retrieval_eval.ranking.result import _means
from retrieval_eval.ranking.table import blocks
from retrieval_eval.ranking.trec import parse_decimals
from tests.conftest import COSTLY

MEASURES = [
    *(f"{name}@{k}" for name in ("P", "Recall", "F1", "nDCG", "Success", "Judged") for k in (1, 3)),
    *("P", "Recall", "F1", "Judged", "RR", "RR@2", "AP", "AP@3", "nDCG", "nDCG(gain=exp)@4"),
    *("P(rel=2)@2", "AP(rel=2)", "bpref", "bpref(rel=2)", "Rprec"),
]
DOCS = st.text(string.ascii_letters + "é文\U0001f600-./0123456789", min_size=1, max_size=20)
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False))
GRADES = st.integers(-2, 4)
# A small pool of names makes hits and ties likely.
NAMES = st.one_of(st.sampled_from("abcdefgh"), DOCS)
QUERIES = st.sampled_from(["q1", "q2", "q3", "a-much-longer-query-id"])
QRELS = st.dictionaries(QUERIES, st.dictionaries(NAMES, GRADES, max_size=8), max_size=4)
RUNS = st.dictionaries(QUERIES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=12), max_size=4)


def long(data, number):
    rows = [(query, doc, value) for query, docs in data.items() for doc, value in docs.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", number])
    return frame.astype({"query_id": "str", "doc_id": "str", number: "float64"})


def in_order(scores):
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


@given(QRELS, RUNS)
def test_many_rankings_equal_each_single_one_in_any_order_and_within_bounds(qrels, rankings):
    result = evaluate_rankings(qrels, rankings, MEASURES)
    for name, scores in result.scores.items():
        present = scores[~np.isnan(scores)]
        assert ((present >= 0) & (present <= 1 + 1e-12)).all(), name
    flipped = {q: dict(reversed(docs.items())) for q, docs in reversed(rankings.items())}
    again = evaluate_rankings(qrels, {**flipped, "never judged": {"a": 1.0}}, MEASURES)
    assert again.means == result.means
    for query in result.query_ids:
        expected = rank_metrics(in_order(rankings.get(query, {})), qrels[query], MEASURES)
        for name, single in expected.items():
            value = result.value(query, name)
            if single.reason == "nothing_retrieved" and not name.startswith("Judged"):
                # A trial that retrieved nothing has no precision; an empty ranking has 0.
                assert value.value == 0, name
                continue
            assert value.reason == single.reason, name
            assert value.value == pytest.approx(single.value, abs=1e-12), name


@COSTLY
@given(QRELS, RUNS, st.sampled_from(["trec", "trec9"]), st.randoms())
def test_frames_equal_mappings_in_any_row_order(qrels, rankings, convention, random):
    expected = evaluate_rankings(qrels, rankings, MEASURES, convention=convention)
    run = long(rankings, "score")
    rows = list(range(len(run)))
    random.shuffle(rows)
    frames = [qrels, run.iloc[rows]]
    found = evaluate_rankings(*frames, MEASURES, convention=convention)
    assert found.query_ids == expected.query_ids
    assert set(found.missing_queries) == set(expected.missing_queries)
    for name in MEASURES:
        np.testing.assert_array_equal(found.scores[name], expected.scores[name], err_msg=name)
    pd.testing.assert_frame_equal(found.tie_bands, expected.tie_bands)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh")))
def test_recall_grows_with_depth_and_rr_with_an_earlier_hit(ranked, relevant):
    names = [f"Recall@{k}" for k in range(1, 9)]
    values = [value.value for value in rank_metrics(ranked, relevant, names).values()]
    if relevant:
        assert values == sorted(values)
        moved = sorted(ranked, key=lambda doc: doc not in relevant)
        for name in ("RR", "AP", "nDCG@5", "P@3", "bpref"):
            before, after = (rank_metrics(r, relevant, [name])[name] for r in (ranked, moved))
            if before.computable:
                assert after.value >= before.value - 1e-12


@given(st.dictionaries(st.sampled_from("abcdef"), GRADES, min_size=1))
def test_the_ideal_order_is_perfect(grades):
    ideal = sorted(grades, key=lambda doc: -grades[doc])
    for name, value in rank_metrics(ideal, grades, ["nDCG", "AP", "Rprec", "bpref", "RR"]).items():
        if value.computable:
            assert value.value == pytest.approx(1.0), name


@settings(max_examples=40)
@given(QRELS, RUNS)
def test_few_rankings_have_the_numbers_of_many_to_the_last_bit(qrels, rankings):
    given = {query: {d: float(s) for d, s in docs.items()} for query, docs in rankings.items()}
    few = evaluate_few(qrels, given, as_measures(MEASURES))
    many = evaluate_rankings(qrels, given, MEASURES)
    assert few.means == many.means
    assert few.query_ids == many.query_ids
    assert few.missing_queries == many.missing_queries
    assert few.unjudged_queries == many.unjudged_queries
    for name, scores in many.scores.items():
        np.testing.assert_array_equal(few.scores[name], scores)
    assert few.not_computable == many.not_computable
    assert few.mean_bands == many.mean_bands
    for query in qrels:
        assert few.value(query, MEASURES[0]) == many.value(query, MEASURES[0])


@given(st.lists(st.none() | st.floats(-2, 2), min_size=1, max_size=9), st.floats(0, 1e-20))
@example([-9.444557018776753e-19], 0.0)
def test_a_mean_is_of_the_exact_sum(numbers, tiny):
    values = np.array([math.nan if number is None else number for number in [*numbers, tiny]])
    present = [number for number in values.tolist() if number == number]
    mean = _means({"P": values})["P"]
    assert (mean.value, mean.n) == (math.fsum(present) / len(present), len(present))


@COSTLY
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2).map(float), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), GRADES),
)
def test_the_tie_band_is_the_range_over_all_orders(scores, grades):
    result = evaluate_rankings({"q": grades}, {"q": scores}, MEASURES)
    groups = [
        [doc for doc in scores if scores[doc] == level] for level in sorted(set(scores.values()))
    ][::-1]
    orders = [
        [doc for part in parts for doc in part]
        for parts in itertools.product(*map(itertools.permutations, groups))
    ]
    seen = [rank_metrics(order, grades, MEASURES) for order in orders]
    for name, (low, high) in result.mean_bands.items():
        values = [one[name].value for one in seen if one[name].computable]
        assert low.computable == bool(values)
        if values:
            assert low.value == pytest.approx(min(values), abs=1e-12), name
            assert high.value == pytest.approx(max(values), abs=1e-12), name


@given(
    st.lists(
        st.one_of(
            st.floats().map(repr),
            st.decimals(allow_nan=False, allow_infinity=False).map(str),
            st.from_regex(r"-?[0-9]{0,20}\.?[0-9]{0,20}", fullmatch=True),
            st.text(string.digits + "+-.eE_x", min_size=1, max_size=22),
        ).filter(bool),
        max_size=8,
    )
)
def test_decimals_are_read_as_float_reads_them(texts):
    ids = Ids.from_strings(texts)
    buffer = np.append(ids.buffer, np.zeros(32, dtype=np.uint8))
    found = np.empty(len(texts))
    try:
        expected = [float(text) for text in texts]
    except ValueError:
        assert not parse_decimals(buffer, ids.starts, ids.lengths, out=found)
        return
    assert parse_decimals(buffer, ids.starts, ids.lengths, out=found)
    for ours, theirs in zip(found.tolist(), expected, strict=True):
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))


TREC_IDS = st.one_of(
    NAMES, st.sampled_from(['"q', '"a,b"', "\ufeffq", "a\xa0b", "#a", "NA", "", "a\\"])
)
TREC_NUMBERS = st.one_of(
    *[SCORES.map(repr)] * 8,
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(["1_0", "+1", "1e400", "-inf", "nan", "NA", "0x1p3", "1.", ".5", "-0", "x"]),
)


def mostly(usual, *others):
    return st.sampled_from([usual] * 8 * len(others) + [*others])


# Whoever moves a field gets six fields all the same when another one is empty.
TREC_LINES = st.tuples(
    mostly("q1", "q2", '"q', "\ufeffq"),
    mostly("Q0", "", "Q0 Q0"),
    TREC_IDS,
    mostly("1", "", "1 1"),
    TREC_NUMBERS,
    mostly("t", "", "t\n", "t ", "t\r", "t\tt"),
)


@COSTLY
@given(
    st.lists(TREC_LINES, max_size=8, unique_by=lambda line: line[2]),
    mostly(" ", "\t", "  "),
    mostly("\n", "", "\r\n"),
    st.integers(20, 200),
)
def test_all_readers_of_runs_find_the_same(lines, space, end, size):
    text = "\n".join(map(space.join, lines)) + end
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "run.txt")
        path.write_bytes(text.encode())
        # A mark at the very start belongs to the file and not to the first query.
        raw = path.read_bytes().removeprefix(BOM_UTF8)
        found = [_rows_or_message(trec._read_lines, path, raw, "run")]
        patch.setattr(trec, "_CHUNK", size)
        found.append(_rows_or_message(trec.read_trec, path, "run"))
        if importlib.util.find_spec("pyarrow"):
            patch.setattr(trec, "_LARGE", 0)
            patch.setattr(trec, "_PART", size)
            patch.setattr(trec, "_ARROW_CHUNK", size // 3)
            found.append(_rows_or_message(trec.read_trec, path, "run"))
    assert found.count(found[0]) == len(found)


def _rows_or_message(read, *arguments):
    try:
        table = read(*arguments)
    except BadInputError as error:
        return str(error)
    # The text of a number tells 0 from -0.
    numbers = list(map(repr, table.numbers.tolist()))
    return table.query_ids, table.starts.tolist(), table.docs.texts(), numbers


@given(st.lists(st.integers(0, 6), max_size=12), st.integers(1, 20))
def test_blocks_hold_every_row_of_every_segment_once(sizes, max_cells):
    starts = np.cumsum([0, *sizes])[:-1]
    rows_of = {}
    for segments, rows in blocks(starts, np.array(sizes, dtype=np.int64), max_cells):
        # A segment longer than what a block may hold is a block of its own.
        assert rows.size <= max_cells or len(segments) == 1
        rows_of |= dict(zip(segments.tolist(), rows.tolist(), strict=True))
    ends = starts + sizes
    assert rows_of == {
        i: list(range(a, b)) for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    }


@given(st.lists(st.tuples(DOCS, DOCS), min_size=1))
def test_ids_compare_hash_and_sort_as_strings(pairs):
    left, right = (Ids.from_strings([pair[side] for pair in pairs]) for side in (0, 1))
    assert left.texts() == [pair[0] for pair in pairs]
    assert left.equals(right).tolist() == [a == b for a, b in pairs]
    same = left.hashes(7) == Ids.from_strings([a for a, _ in pairs]).hashes(7)
    assert same.all()
    texts = left.texts()
    order = np.lexsort(left.descending_keys())
    assert [texts[row] for row in order] == sorted(texts, reverse=True)
    changes = [i for i, text in enumerate(texts) if i == 0 or text != texts[i - 1]]
    assert left.changes().tolist() == changes
