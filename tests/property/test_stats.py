"""Properties of the statistics that hold for every input."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retrieval_eval.stats.censored import kaplan_meier
from retrieval_eval.stats.correlation import spearman
from retrieval_eval.stats.intervals import bootstrap_mean, wilson
from retrieval_eval.stats.multiplicity import benjamini_hochberg, holm
from retrieval_eval.stats.paired import compare_paired, sign_flip_p
from retrieval_eval.stats.ranks import average_ranks, dense_codes, places

NUMBERS = st.integers(-20, 20).map(lambda n: n / 4)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=25)
P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20)
FAST = {"seed": 3, "n_resamples": 200}


@given(PAIRS)
def test_swapping_the_sides_mirrors_everything(pairs):
    left, right = zip(*pairs, strict=True)
    there = compare_paired(left, right, **FAST)
    back = compare_paired(right, left, **FAST)
    assert there.mean_difference.value == -back.mean_difference.value
    assert there.median_difference.value == -back.median_difference.value
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert there.p_value == back.p_value
    if there.interval.low.computable:
        assert there.interval.low.value == pytest.approx(-back.interval.high.value, abs=1e-9)
        assert there.interval.high.value == pytest.approx(-back.interval.low.value, abs=1e-9)
    if there.rank_biserial.computable:
        assert there.rank_biserial.value == pytest.approx(-back.rank_biserial.value)
    assert there.smallest_detectable_difference == back.smallest_detectable_difference


@given(PAIRS, st.sampled_from([2.0, 0.5, 4.0]))
def test_scaling_and_shifting_the_data(pairs, factor):
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    plain = compare_paired(left, right, **FAST)
    scaled = compare_paired(factor * left + 1, factor * right + 1, **FAST)
    assert scaled.p_value == plain.p_value
    assert scaled.rank_biserial == plain.rank_biserial
    for name in ("mean_difference", "median_difference"):
        expected = factor * getattr(plain, name).value
        assert getattr(scaled, name).value == pytest.approx(expected, abs=1e-12)
    if plain.interval.low.computable:
        assert scaled.interval.low.value == pytest.approx(factor * plain.interval.low.value)


@given(st.lists(NUMBERS, min_size=6, max_size=14), st.randoms())
def test_the_exact_p_value_does_not_depend_on_order(differences, random):
    shuffled = random.sample(differences, len(differences))
    assert sign_flip_p(differences, seed=1) == sign_flip_p(shuffled, seed=2)


@given(st.lists(st.integers(1, 20).map(lambda n: n / 4), min_size=6, max_size=12))
def test_every_further_pair_halves_the_p_value_of_one_sided_differences(differences):
    assert sign_flip_p(differences, seed=1)[0].value == pytest.approx(2 / 2 ** len(differences))


@given(st.lists(NUMBERS, min_size=3, max_size=30))
def test_the_bootstrap_interval_lies_within_the_data(values):
    interval = bootstrap_mean(values, **FAST)
    if interval.low.computable:
        ends = interval.low.value, interval.high.value
        assert min(values) - 1e-9 <= ends[0] <= ends[1] <= max(values) + 1e-9
    else:
        assert len(set(values)) == 1


@given(PAIRS)
def test_spearman_symmetry_bounds_and_monotone_transforms(pairs):
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    result = spearman(x, y, **FAST)
    if not result.r.computable:
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    assert -1 <= result.r.value <= 1
    assert spearman(y, x, **FAST).r.value == pytest.approx(result.r.value, abs=1e-12)
    assert spearman(x, -y, **FAST).r.value == pytest.approx(-result.r.value, abs=1e-12)
    curved = spearman(np.exp(x), y**3, **FAST)
    assert curved == result
    if result.p_value.computable:
        assert 0 <= result.p_value.value <= 1
    if result.interval.low.computable:
        assert -1 <= result.interval.low.value <= result.interval.high.value <= 1


@given(st.lists(NUMBERS, min_size=2, max_size=15), st.randoms())
def test_ranks_from_counts_equal_ranks_of_the_resample(values, random):
    rows = [random.randrange(len(values)) for _ in values]
    codes, counts = dense_codes(np.array(values))
    drawn = np.bincount(codes[rows], minlength=len(counts)).astype(float)
    found = places(drawn[np.newaxis, :])[0][codes[rows]]
    np.testing.assert_array_equal(found, average_ranks(np.array(values)[rows]))


@given(P_VALUES)
def test_adjusted_p_values(p_values):
    for adjust in (benjamini_hochberg, holm):
        adjusted = adjust(p_values)
        assert adjusted.m == sum(p is not None for p in p_values)
        present = [(p, q) for p, q in zip(p_values, adjusted.values, strict=True) if p is not None]
        assert all(p * (1 - 1e-12) <= q <= 1 for p, q in present)
        ordered = [q for _, q in sorted(present)]
        assert ordered == sorted(ordered)
    for bh, strict in zip(benjamini_hochberg(p_values).values, holm(p_values).values, strict=True):
        assert bh is None or bh <= strict * (1 + 1e-12)


@given(st.integers(0, 50), st.integers(0, 50))
def test_wilson_holds_the_share_and_mirrors(successes, failures):
    n = successes + failures
    assume(n > 0)
    one, other = wilson(successes, n), wilson(failures, n)
    assert 0 <= one.low.value <= successes / n <= one.high.value <= 1
    assert one.low.value == pytest.approx(1 - other.high.value, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=30))
def test_survival_falls_and_without_censoring_is_the_empirical_share(rows):
    times, events = zip(*rows, strict=True)
    curve = kaplan_meier(times, events)
    shares = [1.0, *curve.survival]
    assert all(a > b >= -1e-12 for a, b in itertools.pairwise(shares))
    everyone = kaplan_meier(times, [True] * len(times))
    for time, share in zip(everyone.times, everyone.survival, strict=True):
        assert share == pytest.approx(sum(t > time for t in times) / len(times), abs=1e-12)
    assert everyone.restricted_mean(9).value == pytest.approx(np.mean(times))
