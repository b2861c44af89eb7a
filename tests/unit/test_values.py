from __future__ import annotations

import math

import pytest

from retrieval_eval.values import REASONS, Value, mean, ratio


def test_a_value_is_a_number_or_a_reason_and_never_both():
    with pytest.raises(ValueError, match="reason code"):
        Value(None, 0, "because")
    with pytest.raises(ValueError, match="finite number"):
        Value(1.0, 1, "no_trace")
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite number"):
            Value.of(number, 3)


def test_every_reason_is_a_sentence_without_full_stop():
    assert all(sentence and not sentence.endswith(".") for sentence in REASONS.values())


def test_mean_leaves_out_what_is_not_computable_and_counts_the_rest():
    result = mean([Value.of(1.0, 1), Value.missing("no_trace"), Value.of(0.5, 9)])
    assert (result.value, result.n) == (0.75, 2)
    assert mean([Value.missing("no_trace")]).reason == "no_computable_values"


@pytest.mark.parametrize("n", [3, 7, 10, 1000])
def test_the_mean_of_equal_numbers_is_that_number(n):
    assert mean([Value.of(0.1, 1)] * n).value == 0.1


def test_ratio_without_a_denominator_is_not_zero():
    assert ratio(0, 0, "nothing_retrieved") == Value.missing("nothing_retrieved")
    assert ratio(0, 4, "nothing_retrieved") == Value.of(0.0, 4)
