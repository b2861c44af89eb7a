"""Properties of the ranking measures that hold for every input."""

import itertools
import math
import os
import random
import shutil
import string
import tempfile
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import evaluate_rankings, hits, rank_metrics
from retrieval_eval.ranking.hits import Hits, rank
from retrieval_eval.ranking.inputs import Frame
from retrieval_eval.ranking.measures import as_measures
from retrieval_eval.ranking.trec import TrecFile
from tests.conftest import COSTLY

needs_kernel = pytest.mark.skipif(hits.kernel is None, reason="the kernel is not compiled")

MEASURES = [
    *(f"{name}@{k}" for name in ("P", "Recall", "F1", "nDCG", "Success", "Judged") for k in (1, 3)),
    *("P", "Recall", "F1", "Judged", "RR", "RR@2", "AP", "AP@3", "nDCG", "nDCG(gain=exp)@4"),
    *("P(rel=2)@2", "AP(rel=2)", "bpref", "bpref(rel=2)", "Rprec"),
]
ALL = [
    *MEASURES,
    *("P@999999999", "Judged@999999999", "RR(rel=3)", "Recall(rel=1000)", "Rprec(rel=9999999999)"),
    *("nDCG@7", "nDCG(gain=exp)", "nDCG@20", "F1(rel=2)@20", "Success(rel=2)@20"),
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


@pytest.mark.skipif(not os.environ.get("CI"), reason="a machine needs no compiler")
def test_where_a_compiler_is_the_kernel_is_installed():
    assert hits.kernel is not None or not shutil.which("cc")


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


IDS = [
    *(f"d{number}" for number in range(150)),
    *("é", "é" * 9, "文書", "\U0001f600", "\ud800", "\uffff", "a\ud800b", "", " ", "a\0b", "a\0"),
    *("document-1", "document-10", "documen"),
]
EDGES = [0.0, -0.0, 1, -3, 10**15, 2**62, 1e39, -1e39, 1e300, 5e-324, 0.1, 0.1 + 2**-40, 16777217]


def drawn(seed, *, ids=IDS, edges=True):
    """Rankings of few or many documents, ordered or not, with few or many equal scores."""
    dice = random.Random(seed)
    judged, runs = [], []
    for _ in range(dice.randint(1, 4)):
        docs = dice.sample(ids, dice.choice((0, 1, 5, 20, len(ids))))
        top = dice.choice((1, 3, 30, 10**6))
        runs.append({doc: dice.randint(-top, top) / dice.choice((1, 8)) for doc in docs})
        if edges and dice.random() < 0.5:
            runs[-1] |= {doc: dice.choice(EDGES) for doc in docs[::3]}
            runs[-1] |= {doc: np.float64(runs[-1][doc]) for doc in docs[::5]}
        if dice.random() < 0.7:
            best_first = sorted(runs[-1].items(), key=lambda pair: -pair[1])
            runs[-1] = dict(best_first)
        grades = dice.choice(((0, 1), (-2, -1, 0, 1, 4), (0,), (-1000, 1000, 1, 2)))
        known = dice.sample(ids, dice.choice((0, 1, 10, len(ids))))
        judged.append({doc: dice.choice(grades) for doc in known})
    return judged, runs


SEEDS = st.integers(0, 2**32)


@needs_kernel
@given(SEEDS, st.sampled_from([-1000, 1]), st.booleans(), st.sampled_from([math.nan, 0.0]))
def test_the_kernel_has_the_numbers_of_python_to_the_last_bit(seed, lowest, is_float32, undefined):
    judged, runs = drawn(seed)
    plain = rank(judged, runs, lowest, is_float32)
    found = Hits(*hits.kernel.rank(judged, runs, {}, {}, lowest, is_float32))
    assert found == plain
    for one in (found, found.extreme(is_best=True), found.extreme(is_best=False)):
        assert_same_numbers(one, as_measures(ALL), undefined)


def assert_same_numbers(found, measures, undefined):
    columns, means = found.measured(measures, undefined)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hits, "kernel", None)
        plain, plain_means = found.measured(measures, undefined)
    assert {name: bytes(column) for name, column in columns.items()} == {
        name: column.tobytes() for name, column in plain.items()
    }
    assert means == plain_means


def by_query(found):
    ties = memoryview(found.hits).cast("i").tolist()
    ranges = zip(found.column(0), found.column(1), strict=True)
    tied = [ties[4 * at : 4 * (at + n)] for at, n in ranges]
    return list(found.judged()), tied, found.is_tied


@needs_kernel
@given(SEEDS, st.sampled_from([-1000, 1]), st.booleans(), st.booleans())
def test_rows_are_ranked_as_dictionaries_are(seed, lowest, is_float32, is_frame):
    ids = IDS if is_frame else [doc for doc in IDS if doc.isalnum() and doc.isprintable()]
    judged, runs = drawn(seed, ids=ids, edges=False)
    names = [f"q{place}" for place in range(len(runs))]
    rows = [(q, d, s) for q, run in zip(names, runs, strict=True) for d, s in run.items()]
    random.Random(seed).shuffle(names)
    order = [int(name[1:]) for name in names]
    judged, runs = [judged[place] for place in order], [runs[place] for place in order]
    places, ranked = {name: place for place, name in enumerate(names)}, {}
    if is_frame:
        # Arrow holds no lone surrogate; a column of objects does.
        frame = pd.DataFrame(np.array(rows, dtype=object).reshape(-1, 3), dtype=object)
        frame.columns = ["query_id", "doc_id", "score"]
        is_text = all(doc.isprintable() for _, doc, _ in rows)
        types = {"doc_id": "str", "query_id": "str"} if is_text else {}
        given = Frame(frame.astype({"score": "float64", **types}), "score", "run").packed()
    else:
        given = "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, d, s in rows).encode(), 6, 4
    found = hits.kernel.rank(judged, given, places, ranked, lowest, is_float32)
    assert list(ranked) == list(dict.fromkeys(query for query, _, _ in rows))
    plain = rank(judged, runs, lowest, is_float32)
    assert by_query(Hits(*found)) == by_query(plain)


@needs_kernel
@given(SEEDS, st.integers(0, 5))
def test_what_is_irregular_is_left_to_python(seed, fault):
    judged, runs = drawn(seed)
    spoilt = [(1, 0.5), ("x", math.nan), ("x", True), ("x", 10**400), ("x", "1"), ("x", None)][
        fault
    ]
    dice = random.Random(seed)
    dice.choice(runs).update([spoilt])
    assert hits.kernel.rank(judged, runs, {}, {}, 1, False) is None
    judged, runs = drawn(seed)
    dice.choice(judged).update([(1, 1) if spoilt[0] == 1 else ("x", spoilt[1])])
    assert hits.kernel.rank(judged, runs, {}, {}, 1, False) is None


@needs_kernel
@given(st.lists(st.none() | st.floats(0, 1), max_size=9), st.floats(0, 1e-20))
@example([0.1] * 3, 1e-30)
def test_a_mean_is_of_the_exact_sum(shares, tiny):
    # One relevant document at a rank of choice gives any reciprocal, nDCG sums of few bits.
    ranks = [None if share is None else 1 + int(share * 2**20) for share in [*shares, tiny]]
    queries, found = [], []
    for place, rank_of in enumerate(ranks):
        found += [] if rank_of is None else [rank_of, 1, rank_of, 1]
        queries += [len(found) // 4 - (rank_of is not None), rank_of is not None, 2 * place, 2]
        queries += [2**20 + 1, 0]
    made = Hits(
        *(
            np.array(*one).tobytes()
            for one in ((queries, "q"), (found, "i"), ([1, 1] * len(ranks), "i"))
        )
    )
    assert_same_numbers(made, as_measures(["RR", "AP", "nDCG@9", "P@999999999"]), math.nan)


@COSTLY
@given(
    st.dictionaries(st.sampled_from("abcde"), st.integers(0, 2).map(float), min_size=1),
    st.dictionaries(st.sampled_from("abcde"), GRADES),
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


@needs_kernel
@given(
    st.lists(TREC_LINES, max_size=8, unique_by=lambda line: line[2]),
    mostly(" ", "\t", "  "),
    mostly("\n", "", "\r\n"),
    st.sampled_from(["run", "ranks"]),
)
def test_both_readers_of_runs_find_the_same(lines, space, end, kind):
    text = "\n".join(map(space.join, lines)) + end
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.txt")
        path.write_bytes(text.encode())
        file = TrecFile(path, kind)
    # A mark at the very start belongs to the file and not to the first query.
    assert file.text == text.encode().removeprefix(BOM_UTF8)
    found = _rows_or_message(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hits, "kernel", None)
        assert found == _rows_or_message(file)


def _rows_or_message(file):
    try:
        data = file.nested()
    except BadInputError as error:
        return str(error)
    # The text of a number tells 0 from -0.
    return [
        (query, doc, repr(number)) for query, docs in data.items() for doc, number in docs.items()
    ]


NUMBERS = st.one_of(
    st.floats().map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"-?[0-9]{0,20}\.?[0-9]{0,20}", fullmatch=True),
    st.text(string.digits + "+-.eE_x", min_size=1, max_size=22),
).filter(bool)


@needs_kernel
@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_the_kernel_reads_decimals_as_float_reads_them(texts):
    for text in texts:
        found = hits.kernel.nested((f"q Q0 d 0 {text} t".encode(), 6, 4), False)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if found is not None:
            assert repr(found["q"]["d"]) == repr(number)
        else:
            assert "_" in text or not math.isfinite(number)
