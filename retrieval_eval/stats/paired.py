"""Two measurements of the same units, compared unit by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.intervals import (
    Floats,
    Interval,
    as_floats,
    batches,
    bootstrap_mean,
    is_constant,
)
from retrieval_eval.stats.power import smallest_detectable_difference
from retrieval_eval.stats.ranks import average_ranks
from retrieval_eval.values import Value

MIN_PAIRS: Final = 3
"""Below this no statistic is given."""
MIN_PAIRS_FOR_P: Final = 6
"""Below this a two-sided sign-flip test cannot reach .05 (2 / 2**5 = .0625)."""
MAX_EXACT_PAIRS: Final = 20
"""Up to this many non-zero differences all sign flips are enumerated."""


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A paired comparison; differences are comparison minus baseline.

    ``wins`` counts pairs where the comparison is better in the stated direction. ``interval`` is
    the BCa bootstrap interval of the mean difference, ``p_value`` the two-sided sign-flip
    permutation test of it (``p_method`` says ``exact`` or ``monte_carlo``), and
    ``rank_biserial`` the matched-pairs rank-biserial correlation (positive: comparison larger).
    """

    n: int
    mean_baseline: Value
    mean_comparison: Value
    mean_difference: Value
    median_difference: Value
    interval: Interval
    p_value: Value
    p_method: str | None
    wins: int
    ties: int
    losses: int
    rank_biserial: Value
    smallest_detectable_difference: Value


def compare_paired(
    baseline: Sequence[float] | Floats,
    comparison: Sequence[float] | Floats,
    *,
    seed: int,
    is_higher_better: bool = True,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> PairedComparison:
    """Compare two equally long rows of numbers pair by pair.

    Below three pairs every statistic is missing (``too_few_pairs``) and only the counts stand;
    below six there is no p-value (``too_few_values``), since none could reach .05. Differences
    that do not vary have no interval and no smallest detectable difference
    (``constant_input``); the p-value stands, and is 1 when all of them are 0.

    Parameters
    ----------
    baseline, comparison
        One number a unit in the same order, sorted by a stable key: the seed picks positions.
        Repeats of a unit are averaged before.
    seed
        Seed of the PCG64 generators of the bootstrap and of the Monte-Carlo test.
    is_higher_better
        Direction that counts as a win; changes ``wins`` and ``losses`` only.
    n_resamples
        Bootstrap resamples, and sign flips when there are too many pairs to enumerate.
    confidence
        Coverage of the interval.

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite.

    Examples
    --------
    >>> result = compare_paired([1, 2, 3, 4, 5, 6], [2, 4, 4, 6, 6, 8], seed=1)
    >>> result.mean_difference.value, result.wins, result.p_value.value
    (1.5, 6, 0.03125)
    """
    before, after = as_floats(baseline), as_floats(comparison)
    if len(before) != len(after):
        raise ValueError("both rows need one number for each unit")
    n = len(before)
    differences = after - before
    # Equality of the measurements, not of a rounded difference, makes a tie.
    larger, smaller = int(np.sum(after > before)), int(np.sum(after < before))
    wins, losses = (larger, smaller) if is_higher_better else (smaller, larger)
    if n < MIN_PAIRS:
        return _too_few(n, wins, losses, confidence)
    p_value, p_method = sign_flip_p(differences, seed=seed, n_resamples=n_resamples)
    is_flat = is_constant(differences)
    spread = 0.0 if is_flat else float(differences.std(ddof=1))
    return PairedComparison(
        n=n,
        mean_baseline=Value.of(math.fsum(before) / n, n),
        mean_comparison=Value.of(math.fsum(after) / n, n),
        mean_difference=Value.of(math.fsum(differences) / n, n),
        median_difference=Value.of(float(np.median(differences)), n),
        interval=bootstrap_mean(
            differences, seed=seed, n_resamples=n_resamples, confidence=confidence
        ),
        p_value=p_value,
        p_method=p_method,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        rank_biserial=rank_biserial(differences),
        smallest_detectable_difference=smallest_detectable_difference(spread, n),
    )


def _too_few(n: int, wins: int, losses: int, confidence: float) -> PairedComparison:
    gap = Value.missing("too_few_pairs", n)
    return PairedComparison(
        n=n,
        mean_baseline=gap,
        mean_comparison=gap,
        mean_difference=gap,
        median_difference=gap,
        interval=Interval.missing("too_few_pairs", n, confidence, "bca"),
        p_value=gap,
        p_method=None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        rank_biserial=gap,
        smallest_detectable_difference=gap,
    )


def sign_flip_p(
    differences: Sequence[float] | Floats, *, seed: int, n_resamples: int = 10_000
) -> tuple[Value, str | None]:
    """Return the two-sided sign-flip permutation p-value of the mean, and the method.

    Exact over all sign flips up to 20 non-zero differences, otherwise Monte Carlo with the
    observed arrangement counted in, so that it is never 0. Not computable below six pairs.

    Examples
    --------
    >>> sign_flip_p([1, 1, 1, 1, 1, -1], seed=1)[0].value
    0.21875
    """
    data = as_floats(differences)
    n = len(data)
    if n < MIN_PAIRS_FOR_P:
        return Value.missing("too_few_values", n), None
    # A zero difference is the same with either sign: leaving it out halves the flips only.
    moved = data[data != 0]
    observed = abs(math.fsum(moved))
    # Sums of the same numbers in another order differ by rounding; those are ties, not less.
    threshold = observed - 1e-12 * math.fsum(np.abs(moved))
    if len(moved) <= MAX_EXACT_PAIRS:
        return Value.of(float(np.mean(np.abs(_all_sums(moved)) >= threshold)), n), "exact"
    generator = np.random.Generator(np.random.PCG64(seed))
    reached = 1
    for rows in batches(n_resamples, len(moved)):
        signs = generator.integers(0, 2, size=(rows, len(moved)), dtype=np.int8) * 2.0 - 1.0
        reached += int(np.sum(np.abs(signs @ moved) >= threshold))
    return Value.of(reached / (n_resamples + 1), n), "monte_carlo"


def _all_sums(moved: Floats) -> Floats:
    # The first sign is fixed: flipping everything mirrors the sum, and the test is two-sided.
    sums = np.array(moved[:1]) if len(moved) else np.zeros(1)
    for difference in moved[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def rank_biserial(differences: Sequence[float] | Floats) -> Value:
    """Return the matched-pairs rank-biserial correlation in [-1, 1] (Kerby 2014).

    The share of rank sum with positive minus the share with negative difference, zeros dropped
    as in Wilcoxon's test. Not computable when all differences are 0 (``constant_input``).

    Examples
    --------
    >>> rank_biserial([3, 2, -1]).value
    0.6666666666666666
    """
    data = as_floats(differences)
    moved = data[data != 0]
    if not len(moved):
        return Value.missing("constant_input", len(data))
    ranks = average_ranks(np.abs(moved))
    return Value.of(float(np.sum(np.sign(moved) * ranks) / np.sum(ranks)), len(data))
