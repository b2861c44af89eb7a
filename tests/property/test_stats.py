"""Properties of the statistics that hold for every input."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from retrieval_eval.stats.correlation import average_ranks, dense_codes, places, spearman
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.stats.multiplicity import benjamini_hochberg, holm
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.stats.resampling import sign_flip_p
from retrieval_eval.values import Value, mean
from tests.conftest import COSTLY

NUMBERS = st.integers(-20, 20).map(lambda n: n / 4)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=25)
P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20)
FAST = {"seed": 3, "n_resamples": 200}


@given(PAIRS, st.sampled_from([None, 1, 2, 3]))
def test_swapping_the_sides_mirrors_everything_to_the_last_bit(pairs, cluster_size):
    left, right = zip(*pairs, strict=True)
    labels = None if cluster_size is None else [i // cluster_size for i in range(len(left))]
    there = compare_paired(left, right, clusters=labels, **FAST)
    back = compare_paired(right, left, clusters=labels, **FAST)
    assert there.mean_difference.value == -back.mean_difference.value
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert there.p_value == back.p_value
    assert there.interval.low.reason == back.interval.low.reason
    if there.interval.low.computable:
        assert there.interval.low.value == -back.interval.high.value
        assert there.interval.high.value == -back.interval.low.value
    assert there.smallest_detectable_difference == back.smallest_detectable_difference


@given(PAIRS, st.sampled_from([2.0, 0.5, 4.0]))
def test_scaling_and_shifting_the_data(pairs, factor):
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    plain = compare_paired(left, right, **FAST)
    scaled = compare_paired(factor * left + 1, factor * right + 1, **FAST)
    assert scaled.p_value == plain.p_value
    for name in ("mean_difference",):
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


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30))
def test_negated_values_give_exactly_the_negated_interval(values):
    there = bootstrap_mean(values, **FAST)
    back = bootstrap_mean([-value for value in values], **FAST)
    assert there.low.reason == back.low.reason
    if there.low.computable:
        assert (there.low.value, there.high.value) == (-back.high.value, -back.low.value)


@given(st.lists(NUMBERS, min_size=3, max_size=30))
def test_the_interval_of_a_mean_holds_students_and_is_bounded(values):
    interval = bootstrap_mean(values, **FAST)
    n = len(values)
    if not interval.low.computable:
        assert len(set(values)) == 1 or sum(value != 0 for value in values) < 3
        return
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(n)
    student = stats.t.ppf(0.975, n - 1) * error
    # No resample's mean is farther than the farthest value, and its error is at least error / √n.
    most = max(student, np.abs(np.array(values) - mean).max() * np.sqrt(n))
    for end in (mean - interval.low.value, interval.high.value - mean):
        assert student - 1e-9 <= end <= most + 1e-9


@given(st.lists(NUMBERS, min_size=4, max_size=20), st.integers(-8, 8))
def test_shifted_values_give_the_shifted_interval(values, shift):
    there = bootstrap_mean(values, **FAST)
    moved = bootstrap_mean([value + shift for value in values], **FAST)
    assume(there.low.computable and moved.low.computable)
    assert moved.low.value == pytest.approx(there.low.value + shift, abs=1e-9)
    assert moved.high.value == pytest.approx(there.high.value + shift, abs=1e-9)


@given(st.lists(NUMBERS, min_size=6, max_size=12), st.integers(2, 3))
def test_repeating_every_unit_inside_its_cluster_changes_nothing(values, times):
    repeated = [value for value in values for _ in range(times)]
    labels = [place for place in range(len(values)) for _ in range(times)]
    zeros = [0.0] * len(repeated)
    once = compare_paired(zeros[: len(values)], values, **FAST)
    more = compare_paired(zeros, repeated, clusters=labels, **FAST)
    assert more.p_value == once.p_value
    assert more.interval.low.reason == once.interval.low.reason
    if once.interval.low.computable:
        assert more.interval.low.value == pytest.approx(once.interval.low.value, abs=1e-9)
        assert more.interval.high.value == pytest.approx(once.interval.high.value, abs=1e-9)


@given(
    st.lists(
        st.tuples(st.lists(NUMBERS, min_size=1, max_size=3), NUMBERS), min_size=3, max_size=12
    ),
    st.integers(2, 3),
)
def test_duplicating_every_repeat_before_it_is_averaged_changes_no_bit(units, times):
    before = [value for _, value in units]
    once = [mean(Value.of(r, 1) for r in repeats).value for repeats, _ in units]
    more = [mean(Value.of(r, 1) for r in repeats * times).value for repeats, _ in units]
    assert compare_paired(before, more, **FAST) == compare_paired(before, once, **FAST)


@given(PAIRS, st.sampled_from([1, 2, 3]))
def test_clustered_spearman_mirrors_and_stays_in_bounds(pairs, size):
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    labels = [i // size for i in range(len(x))]
    result = spearman(x, y, clusters=labels, **FAST)
    mirrored = spearman(x, -y, clusters=labels, **FAST)
    assert result.p_value == mirrored.p_value
    assert result.r == spearman(x, y, **FAST).r
    if size == 1:
        plain = spearman(x, y, **FAST)
        assert (result.interval, result.p_value) == (plain.interval, plain.p_value)
    if result.interval.low.computable:
        low, high = result.interval.low.value, result.interval.high.value
        assert -1 <= low <= result.r.value <= high <= 1
        assert mirrored.interval.low.value == pytest.approx(-high, abs=1e-12)
        assert mirrored.interval.high.value == pytest.approx(-low, abs=1e-12)


@COSTLY
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
