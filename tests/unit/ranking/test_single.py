import math

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import rank_metrics

# Ranks 1-5; relevant are b (2), d (4) and z (never found).
RANKED = ["a", "b", "c", "d", "e"]
RELEVANT = {"b", "d", "z"}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("P@1", 0.0),
        ("P@2", 1 / 2),
        ("P@5", 2 / 5),
        ("P@10", 2 / 10),  # the missing tail counts as not relevant
        ("P", 2 / 5),
        ("Recall@1", 0.0),
        ("Recall@2", 1 / 3),
        ("Recall@10", 2 / 3),
        ("Recall", 2 / 3),
        ("F1@1", 0.0),
        ("F1@2", 2 / 5),  # P 1/2, R 1/3
        ("F1@5", 1 / 2),  # P 2/5, R 2/3
        ("RR", 1 / 2),
        ("RR@1", 0.0),
        ("RR@2", 1 / 2),
        ("AP", (1 / 2 + 2 / 4) / 3),
        ("AP@3", (1 / 2) / 3),
        ("Success@1", 0.0),
        ("Success@2", 1.0),
        ("Rprec", 1 / 3),
        ("nDCG@1", 0.0),
        (
            "nDCG@5",
            (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)),
        ),
        ("nDCG@2", (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        ("bpref", 2 / 3),  # nothing is judged not relevant
        ("Judged@2", 1 / 2),
        ("Judged@10", 2 / 5),
    ],
)
def test_hand_computed_binary(measure, expected):
    value = rank_metrics(RANKED, RELEVANT, [measure])[measure]
    assert value.value == pytest.approx(expected, abs=1e-15)


def test_graded_gain_linear_and_exponential():
    grades = {"a": 1, "b": 3, "c": 0, "d": -1, "z": 2}
    values = rank_metrics(["c", "b", "d", "a"], grades, ["nDCG@4", "nDCG(gain=exp)@4", "nDCG@2"])
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert values["nDCG@4"].value == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / ideal)
    ideal = 7 + 3 / math.log2(3) + 1 / 2
    assert values["nDCG(gain=exp)@4"].value == pytest.approx(
        (7 / math.log2(3) + 1 / math.log2(5)) / ideal
    )
    assert values["nDCG@2"].value == pytest.approx((3 / math.log2(3)) / (3 + 2 / math.log2(3)))


def test_bpref_counts_judged_misses_above_and_no_negative_grades():
    grades = {"r1": 1, "r2": 1, "r3": 1, "n1": 0, "n2": 0, "bad": -1}
    ranked = ["bad", "n1", "r1", "unjudged", "n2", "r2"]
    # R = 3, two judged misses: r1 has one above (1 - 1/2), r2 two (1 - 2/2), r3 is not found.
    assert rank_metrics(ranked, grades, ["bpref"])["bpref"].value == pytest.approx(0.5 / 3)


def test_a_higher_relevance_level():
    grades = {"a": 1, "b": 2}
    values = rank_metrics(["a", "b"], grades, ["P(rel=2)@2", "RR(rel=2)", "Recall(rel=2)@1"])
    assert [value.value for value in values.values()] == [0.5, 0.5, 0.0]
    values = rank_metrics(["a"], {"a": 1}, ["AP(rel=2)"])
    assert values["AP(rel=2)"].reason == "no_ground_truth"


def test_the_first_occurrence_of_a_repeated_document_counts():
    values = rank_metrics(["x", "x", "b", "x", "b"], {"b"}, ["RR", "P", "Recall@2"])
    assert [value.value for value in values.values()] == [0.5, 0.5, 1.0]


def test_values_name_what_they_rest_on():
    values = rank_metrics(RANKED, RELEVANT, ["P@10", "P", "Recall@1", "Judged@10"])
    assert [value.n for value in values.values()] == [10, 5, 3, 5]


def test_nothing_relevant_is_not_computable():
    measures = ["P@1", "Recall", "F1@1", "RR", "AP", "nDCG@3", "Success@1", "Rprec", "bpref"]
    for relevant in (set(), {"a": 0, "b": -1}):
        values = rank_metrics(["a"], relevant, measures)
        assert {value.reason for value in values.values()} == {"no_ground_truth"}
    assert rank_metrics(["a", "b"], {"a": 0}, ["Judged@2"])["Judged@2"].value == 0.5
    assert rank_metrics(["a"], {}, ["Judged@2"])["Judged@2"].reason == "no_ground_truth"


def test_nothing_retrieved():
    values = rank_metrics([], {"a"}, ["P@5", "P", "F1@5", "Judged@5"])
    assert {value.reason for value in values.values()} == {"nothing_retrieved"}
    zeros = ["Recall@5", "Recall", "RR", "AP", "nDCG@5", "nDCG", "Success@5", "Rprec", "bpref"]
    assert {value.value for value in rank_metrics([], {"a"}, zeros).values()} == {0.0}


def test_absurd_grades_are_refused():
    with pytest.raises(BadInputError, match="1000"):
        rank_metrics(["a"], {"a": 5000}, ["nDCG(gain=exp)@5"])
