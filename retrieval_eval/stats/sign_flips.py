"""The sign-flip permutation test of paired differences."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from retrieval_eval.stats.clusters import group
from retrieval_eval.stats.resampling import Floats, as_floats, batches, in_parts
from retrieval_eval.values import Value

MIN_PAIRS_FOR_P: Final = 6
"""Below this a two-sided sign-flip test cannot reach .05 (2 / 2**5 = .0625)."""
MAX_EXACT_PAIRS: Final = 20
"""Up to this many non-zero differences all sign flips are enumerated."""


def sign_flip_p(
    differences: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[Value, str | None]:
    """Return the two-sided sign-flip permutation p-value of the mean, and the method.

    Exact over all sign flips up to 20 non-zero differences, otherwise Monte Carlo with the
    observed arrangement counted in, so that it is never 0. Under the null hypothesis that the
    arms are exchangeable inside every unit it rejects at most as often as its level. With
    ``clusters`` all differences of a cluster flip together. Not computable below six pairs, or
    six clusters (``too_few_values``).

    Examples
    --------
    >>> sign_flip_p([1, 1, 1, 1, 1, -1], seed=1)[0].value
    0.21875
    """
    data = as_floats(differences)
    grouping = group(clusters, len(data))
    n = grouping.n_clusters
    if n < MIN_PAIRS_FOR_P:
        return Value.missing("too_few_values", n), None
    sums = grouping.totals(data)
    # A zero sum is the same with either sign: leaving it out halves the flips only.
    moved = sums[sums != 0]
    total = math.fsum(moved)
    # Sums of the same numbers in another order differ by rounding; those are ties, not less.
    threshold = abs(total) - 1e-12 * math.fsum(np.abs(data))
    if len(moved) <= MAX_EXACT_PAIRS:
        return Value.of(float(np.mean(np.abs(_all_sums(moved)) >= threshold)), n), "exact"
    generator = np.random.Generator(np.random.PCG64(seed))
    reached = 1
    for rows in batches(n_resamples, len(moved)):
        kept = generator.integers(0, 2, size=(rows, len(moved)), dtype=np.int8)
        for part in in_parts(kept):
            # What keeps its sign, less what does not, which is the rest of the total.
            flipped = 2 * (part.astype(np.float64) @ moved) - total
            reached += int(np.sum(np.abs(flipped) >= threshold))
    return Value.of(reached / (n_resamples + 1), n), "monte_carlo"


def attainable_level(n: int, alpha: float = 0.05) -> float:
    """Return the largest level below ``alpha`` that the exact test of ``n`` units can reach.

    Its p-values are multiples of 2 / 2**n, or none (0.0) when that is not below ``alpha``.

    Examples
    --------
    >>> attainable_level(6), attainable_level(5)
    (0.03125, 0.0)
    """
    # Beyond 60 units the steps are finer than a float near the level, and then below any float.
    step = 2.0 ** (1 - min(n, 60))
    return step * (math.ceil(alpha / step) - 1)


def _all_sums(moved: Floats) -> Floats:
    # The first sign is fixed: flipping everything mirrors the sum, and the test is two-sided.
    sums = np.array(moved[:1]) if len(moved) else np.zeros(1)
    for difference in moved[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums
