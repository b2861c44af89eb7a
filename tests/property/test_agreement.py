"""Laws of kappa that hold for every two raters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.stats.agreement import cohen_kappa

UNITS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), min_size=0, max_size=40
)
WEIGHTS = st.sampled_from([None, "linear", "quadratic"])
FAST = {"seed": 3, "n_resamples": 50, "categories": range(4)}


@given(UNITS, WEIGHTS)
def test_swapping_raters_changes_no_bit_and_turning_the_scale_no_kappa(units, weights):
    a, b, clusters = ([unit[n] for unit in units] for n in range(3))
    there = cohen_kappa(a, b, weights=weights, clusters=clusters, **FAST)
    back = cohen_kappa(b, a, weights=weights, clusters=clusters, **FAST)
    assert (there.value, there.observed, there.expected) == (
        back.value, back.observed, back.expected,
    )  # fmt: skip
    assert there.interval == back.interval
    assert there.table == tuple(zip(*back.table, strict=True))
    upside_down = cohen_kappa([3 - g for g in a], [3 - g for g in b], weights=weights, **FAST)
    assert upside_down.value == there.value


@given(UNITS, st.permutations(range(4)))
def test_renaming_categories_leaves_plain_kappa_as_it_is(units, names):
    a, b, clusters = ([unit[n] for unit in units] for n in range(3))
    plain = cohen_kappa(a, b, clusters=clusters, **FAST)
    other = cohen_kappa([names[g] for g in a], [names[g] for g in b], clusters=clusters, **FAST)
    assert (plain.value, plain.observed, plain.expected) == (
        other.value, other.observed, other.expected,
    )  # fmt: skip
    assert plain.interval == other.interval


@given(UNITS, WEIGHTS)
def test_kappa_says_one_only_where_raters_agree(units, weights):
    a, b, clusters = ([unit[n] for unit in units] for n in range(3))
    found = cohen_kappa(a, b, weights=weights, clusters=clusters, **FAST)
    if found.value.value is not None:
        assert found.value.value <= 1
        assert (found.value.value == 1) == (a == b)
        low, high = found.interval.low.value, found.interval.high.value
        assert (low is None) == (high is None)
        assert low is None or (low <= high <= 1)
    assert sum(map(sum, found.table)) == len(units)
