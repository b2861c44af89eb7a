import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import Measure, parse_measure
from retrieval_eval.ranking.measures import as_measures


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("P@5", Measure("P", 5)),
        ("Recall", Measure("Recall")),
        ("F1@5", Measure("F1", 5)),
        ("RR@10", Measure("RR", 10)),
        ("AP(rel=2)@100", Measure("AP", 100, rel=2)),
        ("nDCG(gain=exp)@10", Measure("nDCG", 10, gain="exp")),
        ("bpref", Measure("bpref")),
    ],
)
def test_parsing_and_printing_agree(text, measure):
    assert parse_measure(text) == measure
    assert str(measure) == text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ndcg@10", "'nDCG@10'"),
        ("R@5", "'Recall@5'"),
        ("MRR", "'RR'"),
        ("map", "'AP'"),
        ("Recal@5", "'Recall'"),
        ("", "'nDCG@10'"),
        ("P@5; rm", "'P'"),
    ],
)
def test_an_unknown_measure_names_the_nearest(text, hint):
    with pytest.raises(BadInputError, match="did you mean") as caught:
        parse_measure(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["P@0", "Rprec@5", "Success", "P(rel=0)@5", "nDCG(rel=2)@5", "P(gain=exp)@5", "Judged(rel=2)"],
)
def test_options_that_make_no_sense_are_refused(text):
    with pytest.raises(BadInputError):
        parse_measure(text)


def test_measures_lose_repeats_and_keep_order():
    assert as_measures(["RR", Measure("P", 5), "RR"]) == (Measure("RR"), Measure("P", 5))


def test_one_string_is_not_a_list_of_measures():
    with pytest.raises(BadInputError, match="list"):
        as_measures("P@5")
