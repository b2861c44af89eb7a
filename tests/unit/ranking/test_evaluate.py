import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import evaluate_rankings, hits


@pytest.fixture(autouse=True, params=["kernel", "plain"])
def engine(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(hits, "kernel", None)
    elif hits.kernel is None:
        pytest.skip("the kernel is not compiled")


QRELS = {
    "q1": {"a": 1, "b": 2, "c": 0},
    "q2": {"d": 1},
    "nothing relevant": {"e": 0},
}
RANKINGS = {
    "q1": {"a": 0.5, "b": 0.9, "x": 0.7},
    "q2": {"x": 2, "d": 1},
    "nothing relevant": {"e": 1.0},
    "not judged": {"a": 1.0},
}


def as_frames(qrels, rankings):
    return tuple(
        pd.DataFrame(
            [(query, doc, number) for query, docs in data.items() for doc, number in docs.items()],
            columns=["query_id", "doc_id", column],
        )
        for data, column in ((qrels, "grade"), (rankings, "score"))
    )


def as_files(qrels, rankings, folder: Path):
    paths = folder / "qrels.txt", folder / "run.txt"
    rows = [(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    paths[0].write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
    rows = [(q, d, s) for q, docs in rankings.items() for d, s in docs.items()]
    paths[1].write_text("".join(f"{q} Q0 {d} 0 {s!r} tag\n" for q, d, s in rows))
    return paths


@pytest.fixture(params=["mappings", "frames", "object frames", "files"])
def shaped(request, tmp_path):
    """Turn dictionaries into another kind of input."""

    def shape(qrels, rankings):
        if request.param == "mappings":
            return qrels, rankings
        if request.param == "files":
            return as_files(qrels, rankings, tmp_path)
        frames = as_frames(qrels, rankings)
        if request.param == "object frames":
            return tuple(frame.astype({"query_id": object, "doc_id": object}) for frame in frames)
        return frames

    return shape


def test_hand_computed_means(shaped):
    qrels, rankings = ({k.replace(" ", "_"): v for k, v in d.items()} for d in (QRELS, RANKINGS))
    result = evaluate_rankings(*shaped(qrels, rankings), ["P@2", "RR", "nDCG@3", "Judged@3"])
    # q1 ranks b (2), x, a (1); q2 ranks x, d.
    assert result.query_ids == ("q1", "q2", "nothing_relevant")
    ndcg = (2 + 1 / math.log2(4)) / (2 + 1 / math.log2(3)), 1 / math.log2(3)
    expected = {
        "P@2": ((1 / 2 + 1 / 2) / 2, 2),
        "RR": ((1 + 1 / 2) / 2, 2),
        "nDCG@3": (sum(ndcg) / 2, 2),
        "Judged@3": ((2 / 3 + 1 / 2 + 1) / 3, 3),
    }
    for name, (mean, n) in expected.items():
        assert result.means[name].value == pytest.approx(mean, abs=1e-15)
        assert result.means[name].n == n
    assert result.not_computable == {
        "P@2": {"no_ground_truth": 1},
        "RR": {"no_ground_truth": 1},
        "nDCG@3": {"no_ground_truth": 1},
        "Judged@3": {},
    }
    assert result.unjudged_queries == ("not_judged",)
    assert result.missing_queries == ()
    assert result.value("nothing_relevant", "RR").reason == "no_ground_truth"
    assert result.value("q2", "RR").value == 0.5


def test_a_missing_query_counts_as_an_empty_ranking(shaped):
    qrels, rankings = {"q": {"a": 1}, "gone": {"a": 1}}, {"q": {"a": 1.0}}
    result = evaluate_rankings(*shaped(qrels, rankings), ["Recall@5", "P@1", "Judged@1"])
    assert result.missing_queries == ("gone",)
    assert (result.means["Recall@5"].value, result.means["Recall@5"].n) == (0.5, 2)
    assert (result.means["P@1"].value, result.means["P@1"].n) == (0.5, 2)
    assert (result.means["Judged@1"].value, result.means["Judged@1"].n) == (1.0, 1)
    assert result.not_computable == {
        "Recall@5": {},
        "P@1": {},
        "Judged@1": {"nothing_retrieved": 1},
    }
    assert result.value("gone", "Judged@1").reason == "nothing_retrieved"


def test_an_empty_ranking_scores_zero_and_has_no_share_that_was_judged():
    names = ["P@5", "P", "F1@5", "F1", "Recall@5", "RR", "AP", "nDCG@5", "Success@5", "bpref"]
    result = evaluate_rankings({"q": {"a": 1}}, {"q": {}}, [*names, "Judged@5", "Judged"])
    assert result.missing_queries == ()
    assert {name: result.value("q", name).value for name in names} == dict.fromkeys(names, 0.0)
    for name in ("Judged@5", "Judged"):
        assert result.value("q", name).reason == "nothing_retrieved"
    assert [end.value for end in result.mean_bands["P"]] == [0.0, 0.0]


def test_trec9_skips_missing_queries_and_says_zero(shaped):
    qrels = {"gone": {"a": 1}, "q": {"a": 1}, "none": {"a": 0}}
    rankings = {"none": {"a": 1.0}, "q": {"a": 1.0}}
    result = evaluate_rankings(*shaped(qrels, rankings), ["RR", "P@1"], convention="trec9")
    assert result.query_ids == ("q", "none")
    assert result.missing_queries == ("gone",)
    assert result.per_query["RR"].tolist() == [1.0, 0.0]
    assert (result.means["P@1"].value, result.means["P@1"].n) == (0.5, 2)


def test_equal_scores_rank_by_id_from_high_to_low(shaped):
    qrels = {"q": {"b": 1}}
    rankings = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "top": 2.0, "low": 0.5}}
    result = evaluate_rankings(*shaped(qrels, rankings), ["RR", "P@2", "AP"])
    assert result.per_query.loc["q"].to_dict() == {"RR": 1 / 3, "P@2": 0.0, "AP": 1 / 3}
    bands = result.tie_bands.set_index("measure")
    assert bands.loc["RR", ["low", "value", "high"]].tolist() == [1 / 4, 1 / 3, 1 / 2]
    assert bands.loc["P@2", ["low", "value", "high"]].tolist() == [0.0, 0.0, 0.5]
    assert [end.value for end in result.mean_bands["RR"]] == [1 / 4, 1 / 2]


def test_ids_compare_as_code_points_of_any_length(shaped):
    ids = ["doc", "docu", "document-1", "document-10", "document-2", "dö", "z", "é" * 9, "文書"]
    rankings = {"q": dict.fromkeys(ids, 1.0)}
    for doc in ids:
        result = evaluate_rankings(*shaped({"q": {doc: 1}}, rankings), ["RR"])
        rank = sorted(ids, reverse=True).index(doc) + 1
        assert result.per_query.loc["q", "RR"] == 1 / rank, doc


def test_without_ties_there_is_no_band(shaped):
    result = evaluate_rankings(*shaped({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}}), ["RR"])
    assert result.tie_bands.empty
    assert [end.value for end in result.mean_bands["RR"]] == [0.5, 0.5]


def test_scores_that_differ_only_beyond_32_bits(shaped):
    qrels, rankings = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    ours = evaluate_rankings(*shaped(qrels, rankings), ["RR"])
    theirs = evaluate_rankings(*shaped(qrels, rankings), ["RR"], convention="trec9")
    assert (ours.means["RR"].value, theirs.means["RR"].value) == (1.0, 0.5)


@pytest.mark.parametrize("convention", ["trec", "trec9"])
@pytest.mark.parametrize("score", [math.inf, -math.inf])
def test_an_infinite_score_is_refused_as_a_search_run_refuses_it(shaped, score, convention):
    rankings = {"q": {"a": 1.0, "b": score}}
    with pytest.raises(BadInputError, match="number"):
        evaluate_rankings(*shaped({"q": {"a": 1}}, rankings), ["RR"], convention=convention)


@pytest.mark.parametrize("convention", ["trec", "trec9"])
@pytest.mark.parametrize(
    "score",
    [True, np.True_, np.array(True), "0.5", np.str_("0.5"), np.array("0.5"), Decimal("NaN"), 1j],
)
def test_a_score_that_is_no_number_is_refused_in_a_mapping_and_a_frame(score, convention):
    rankings = {"q": {"a": score, "b": score}}
    frame = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [score, score]})
    for given in (rankings, frame):
        with pytest.raises(BadInputError, match="number"):
            evaluate_rankings({"q": {"a": 1}}, given, ["RR"], convention=convention)


@pytest.mark.parametrize("convention", ["trec", "trec9"])
@pytest.mark.parametrize("number", [Decimal, Fraction, np.float32, np.int8, np.array, float])
def test_every_kind_of_number_is_a_score(number, convention):
    qrels, rankings = {"q": {"b": 1}}, {"q": {"a": number(1), "b": number(2), "c": 1.0, "d": 2.0}}
    result = evaluate_rankings(qrels, rankings, ["RR"], convention=convention)
    assert result.means["RR"].value == 1 / 2


@pytest.mark.parametrize("ranking", [None, 0, False, "", "ab", [], ["a"], (("a", 1.0),)])
def test_what_is_no_ranking_is_not_taken_for_an_empty_one(ranking):
    with pytest.raises(BadInputError, match=r"query 'q': expected \{document: score\}"):
        evaluate_rankings({"q": {"a": 1}}, {"q": ranking}, ["P@1"])


def test_frames_with_numbers_and_categories_as_ids():
    run = pd.DataFrame({"query_id": [1, 1], "doc_id": [30, 4], "score": [1, 2]})
    qrels = {"1": {"30": 1}}
    assert evaluate_rankings(qrels, run, ["RR"]).means["RR"].value == 0.5
    run = run.astype({"query_id": "str", "doc_id": "str"}).astype("category")
    run["score"] = [1.0, 2.0]
    assert evaluate_rankings(qrels, run, ["RR"]).means["RR"].value == 0.5
    sliced = pd.concat([run.astype({"query_id": "str", "doc_id": "str"})] * 2)[1:3]
    assert evaluate_rankings(qrels, sliced, ["RR"]).means["RR"].value == 0.5


def test_nothing_at_all(shaped):
    result = evaluate_rankings({"q": {"a": 1}}, {}, ["RR", "P@1", "Judged@1"])
    assert result.means["RR"].value == result.means["P@1"].value == 0.0
    assert result.means["Judged@1"].reason == "no_computable_values"
    assert result.tie_bands.empty
    assert evaluate_rankings({}, {"q": {"a": 1.0}}, ["RR"]).means["RR"].n == 0


def test_a_document_relevant_to_one_query_is_no_hit_of_those_without_relevant_ones(shaped):
    names = [f"q{number}" for number in range(9)]
    qrels = {name: {"a": int(name == "q0")} for name in names}
    rankings = {name: {"a": 1.0} for name in [*reversed(names), "not-judged"]}
    result = evaluate_rankings(*shaped(qrels, rankings), ["RR"], convention="trec9")
    assert result.per_query["RR"].to_dict() == {name: float(name == "q0") for name in names}
    assert result.hits.column(1) == [1] + [0] * 8


@pytest.mark.parametrize(
    ("qrels", "rankings", "message"),
    [
        ({"q": {"a": "1"}}, {}, "query 'q', document 'a': '1' is not a grade"),
        ({"q": {"a": 0.5}}, {}, "is not a grade"),
        ({"q": {"a": math.nan}}, {}, "is not a grade"),
        ({"q": {"a": 10**9}}, {}, "is not a grade"),
        ({"q": ["a"]}, {}, "expected {document: grade}"),
        (
            {"q": {"a": 1}},
            {"q": {"a": math.nan, "b": 1.0}},
            "document 'a': 'nan' is no finite number",
        ),
        ({"q": {"a": 1}}, {"q": {"a": "1.0"}}, "'1.0' is no finite number"),
        ({"q": {"a": 1}}, {"q": {"b": None}}, "'None' is no finite number"),
        ({"q": {"a": 1}}, {"q": {"b": 10**400, "a": 1.0}}, "is no finite number"),
        ({"q": {"a": 1}}, {"q": {"a": 10**400}}, "is no finite number"),
        ({"q": {"a": 1}}, {"q": {1: 0.5, "a": 0.5}}, "query 'q': a document id is not text"),
        ({"q": {"a": 1}}, {"q": {"a": 10**5000}}, "a number of thousands of digits"),
        ({"q": {1: 1}}, {}, "qrels: query 'q': a document id is not text: '1'"),
        ({"q": {"a": 1}}, {"q": ["a"]}, "expected {document: score}"),
        ([], {}, "qrels: expected a mapping"),
        ({}, 3, "rankings: expected a mapping"),
        ({}, pd.DataFrame({"query_id": ["q"]}), "no column 'doc_id'"),
        (
            {},
            pd.DataFrame([["q", "a", "b", 1]], columns=["query_id", "doc_id", "doc_id", "score"]),
            "2 columns 'doc_id'",
        ),
        (
            {},
            pd.DataFrame({"query_id": ["q"], "doc_id": [None], "score": [1.0]}),
            "an id is missing",
        ),
        (
            {},
            pd.DataFrame({"query_id": ["q"], "doc_id": [1.5], "score": [1.0]}),
            "not text",
        ),
        (
            {},
            pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": ["high"]}),
            "holds no numbers",
        ),
        (
            {},
            pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [np.nan]}),
            "row 0: no number",
        ),
        (
            {},
            pd.DataFrame({"query_id": list("qpq"), "doc_id": ["a", "a", "a"], "score": [1, 2, 3]}),
            r"document 'a' occurs twice for query 'q' \(rows 0 and 2\)",
        ),
        (
            pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [0.5]}),
            {},
            "row 0: '0.5' is not a grade",
        ),
    ],
)
def test_bad_input_is_named(qrels, rankings, message):
    with pytest.raises(BadInputError, match=message):
        evaluate_rankings(qrels, rankings, ["RR"])


def test_unknown_convention_and_no_measure():
    with pytest.raises(BadInputError, match="trec9"):
        evaluate_rankings({}, {}, ["RR"], convention="trec10")
    with pytest.raises(BadInputError, match="no measure"):
        evaluate_rankings({}, {}, [])
    with pytest.raises(BadInputError, match="not evaluated"):
        evaluate_rankings({"q": {"a": 1}}, {}, ["RR"]).value("q", "AP")
