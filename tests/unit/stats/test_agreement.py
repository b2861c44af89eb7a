from __future__ import annotations

import pytest

from retrieval_eval.stats.agreement import cohen_kappa

FAST = {"seed": 1, "n_resamples": 300}

# Cohen (1960), table 1: two judges, three categories, as counts of 200 units.
COHEN_1960 = ((50, 26, 24), (24, 4, 32), (6, 30, 4))


def units(table):
    return zip(
        *((i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)),
        strict=True,
    )


def test_kappa_from_a_table_by_hand():
    # Rows 100, 60, 40 and columns 80, 60, 60 of 200: agreement 58/200 = .29;
    # by chance (100·80 + 60·60 + 40·60) / 200² = 14000/40000 = .35.
    found = cohen_kappa(*units(COHEN_1960), **FAST)
    assert found.table == COHEN_1960
    assert found.observed.value == pytest.approx(0.29, abs=1e-15)
    assert found.expected.value == pytest.approx(0.35, abs=1e-15)
    assert found.value.value == pytest.approx((0.29 - 0.35) / 0.65, abs=1e-15)
    assert found.value.n == found.observed.n == 200


def test_weights_count_the_distance_on_the_scale():
    # Off the diagonal: one unit at distance 1 (0, 1) and one at distance 2 (2, 0); n = 4.
    a, b = [0, 2, 1, 2], [1, 0, 1, 2]
    # Margins a: 1, 1, 2; b: 1, 2, 1. Costs by chance, times 16:
    # linear  1·(0+2+2) + 1·(1+0+1) + 2·(2+2+0) = 4 + 2 + 8 = 14; seen 3: 1 - 4·3/14.
    linear = cohen_kappa(a, b, weights="linear", **FAST)
    assert linear.value.value == pytest.approx(1 - 12 / 14, abs=1e-15)
    # squared 1·(0+2+4) + 1·(1+0+1) + 2·(4+2+0) = 6 + 2 + 12 = 20; seen 1 + 4: 1 - 4·5/20 = 0.
    assert cohen_kappa(a, b, weights="quadratic", **FAST).value.value == 0
    # Agreement of a weighted kappa is a share of the worst: 1 - 3 / (4·2).
    assert linear.observed.value == pytest.approx(1 - 3 / 8, abs=1e-15)
    assert linear.expected.value == pytest.approx(1 - 14 / 32, abs=1e-15)


def test_an_unused_category_is_still_a_step():
    a, b = [0, 0, 2, 2], [0, 2, 2, 2]
    near = cohen_kappa(a, b, weights="linear", **FAST)
    wide = cohen_kappa(a, b, weights="linear", categories=[0, 1, 2], **FAST)
    assert near.categories == (0, 2)
    assert wide.categories == (0, 1, 2)
    # All disagreements have the same distance, so it cancels out of kappa, not of agreement.
    assert near.value == wide.value
    assert wide.table == ((1, 0, 1), (0, 0, 0), (0, 0, 2))


@pytest.mark.parametrize(
    ("a", "b"), [([1, 1, 1], [1, 1, 1]), ([1, 1, 1], [0, 1, 0]), ([0, 1, 0], [2, 2, 2])]
)
def test_a_constant_rater_has_no_kappa(a, b):
    found = cohen_kappa(a, b, **FAST)
    assert (found.value.reason, found.value.n) == ("constant_input", 3)
    assert found.interval.low.reason == "constant_input"
    assert found.observed.value == pytest.approx(
        sum(x == y for x, y in zip(a, b, strict=True)) / 3, abs=1e-15
    )


def test_without_units_nothing_is_computable():
    found = cohen_kappa([], [], **FAST)
    assert found.value.reason == found.observed.reason == found.interval.low.reason
    assert (found.value.reason, found.value.n) == ("too_few_values", 0)
    assert found.table == ()


def test_no_interval_without_disagreements_or_with_too_few():
    same = [0, 1] * 10
    assert cohen_kappa(same, same, **FAST).interval.low.reason == "constant_input"
    assert cohen_kappa(same, same, **FAST).value.value == 1
    two = [1, 0, *same[2:]]
    assert cohen_kappa(same, two, **FAST).interval.low.reason == "too_few_values"
    three = [1, 0, 1, *same[3:]]
    assert cohen_kappa(same, three, **FAST).interval.low.reason is None


def test_the_interval_counts_clusters_not_pairs():
    a = [0, 1, 0, 1, 2, 2] * 10
    b = [0, 1, 1, 1, 2, 0] * 10
    alone = cohen_kappa(a, b, **FAST).interval
    ten = cohen_kappa(a, b, clusters=[i // 6 for i in range(60)], **FAST).interval
    five = cohen_kappa(a, b, clusters=[i // 12 for i in range(60)], **FAST).interval
    assert (alone.low.n, ten.low.n) == (60, 10)
    # The ten clusters are alike, so resampling them moves nothing.
    assert ten.low.value == ten.high.value == cohen_kappa(a, b, **FAST).value.value
    assert alone.low.value < ten.low.value < alone.high.value
    assert five.low.reason == "too_few_values"


def test_each_bad_call_is_refused():
    with pytest.raises(ValueError, match="one category each"):
        cohen_kappa([1], [1, 2], **FAST)
    with pytest.raises(ValueError, match="3 is not in the scale"):
        cohen_kappa([1], [3], categories=[1, 2], **FAST)
    with pytest.raises(ValueError, match="twice"):
        cohen_kappa([1], [1], categories=[1, 1], **FAST)
    with pytest.raises(ValueError, match="not 'cubic'"):
        cohen_kappa([1], [1], weights="cubic", **FAST)
    with pytest.raises(ValueError, match="one label for each unit"):
        cohen_kappa([1, 2], [1, 2], clusters=["q"], **FAST)
