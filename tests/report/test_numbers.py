from __future__ import annotations

import math

import pytest

from retrieval_eval.report import names as numbers


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "1", True, [], 10**400])
def test_what_is_no_finite_number_is_a_dash(value):
    assert numbers.rate(value) == "—"
    assert numbers.signed(value) == "—"
    assert numbers.count(value) == "—"


def test_formats():
    assert numbers.rate(0.125) == "0.12"
    assert numbers.rate(1234.5, 1) == "1,234.5"
    assert numbers.signed(-1234.5, 0) == "−1,234"
    assert numbers.signed(-0.004) == "0.00"
    assert numbers.interval(-0.1, None) == "—"
    assert numbers.p_value(0.0001) == "< 0.001"
    assert numbers.p_value(0.25) == "0.250"
