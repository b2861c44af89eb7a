"""Confidence intervals of a mean, and of the share of units in clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.stats.proportions import t_quantile
from retrieval_eval.stats.resampling import (
    Floats,
    Grouping,
    as_floats,
    group,
    mirrored_quantiles,
    resample,
)
from retrieval_eval.values import Interval

MIN_MOVED: Final = 3
"""Below this many units that are not 0 no interval is given: their spread is not known.

Requiring more would select studies by their outcome, and cover worse (``docs/simulation.md``).
"""
STUDENT_T: Final = "student_t"


def bootstrap_mean(
    values: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Interval:
    """Return the studentised bootstrap interval of the mean, never narrower than Student's.

    The bootstrap-t interval (Efron 1982; Hall 1988) corrects for skewness but is short where
    few values tie; Student's t interval is the other way round. Where the bootstrap-t end is the
    farther one, Student's end moves towards it by the share of pairs that differ among the values
    other than the commonest: all the way without ties. The bootstrap-t owes its accuracy to a
    distribution with a continuous part (Cramer's condition: Hall 1992, The Bootstrap and
    Edgeworth Expansion, section 2.2). One common value, such as the 0 of units that did not
    change, leaves such a part; ties among the others speak against it. Of the candidates in
    ``docs/simulation.md`` this covers best.

    Resamples without any spread are left out, and no resample's standard error is taken below
    the sample's divided by the root of its size, so that a resample of nearly equal values cannot
    throw an end to infinity. Negated values give exactly the negated ends.

    With ``clusters`` whole clusters are resampled, and standard error and degrees of freedom
    allow for clusters of uneven size (Bell & McCaffrey 2002); every unit counts the same.

    Not computable (``too_few_values``) below three units, with fewer than three of them
    different from 0, or with several units in fewer than six clusters; and when all are equal
    (``constant_input``), because resampling cannot show a spread that the sample lacks.

    Parameters
    ----------
    values
        One number a unit, sorted by a stable key: the seed picks positions.
    seed
        Seed of the PCG64 generator.
    n_resamples
        Number of bootstrap resamples.
    confidence
        Two-sided coverage, between 0 and 1.
    clusters
        One label a unit; units of one label are resampled together. Labels that are all
        different change nothing.

    Raises
    ------
    ValueError
        When a value is not finite, or there is not one label for each value.

    Examples
    --------
    >>> ends = bootstrap_mean([1.0, 2.0, 3.0, 4.0], seed=1)
    >>> ends.low.value < 2.5 < ends.high.value
    True
    """
    data = as_floats(values)
    grouping = group(clusters, len(data))
    return _mean_interval(data, grouping, seed, n_resamples, confidence)


def standard_error(values: Floats, grouping: Grouping) -> tuple[float, Floats]:
    """Return the standard error of the mean, and every cluster's deviation from it in sum.

    A cluster pulls the mean towards itself by its share of the units, so its squared deviation is
    divided by one minus that share (Bell & McCaffrey 2002, known as CR2). With one unit a cluster
    this is the standard deviation (n - 1) over the root of n. At least two clusters are needed.
    """
    n = len(values)
    centre = math.fsum(values) / n
    deviations = grouping.totals(values - centre)
    variance = float(np.sum(deviations**2 / (n - grouping.sizes()))) / n
    return math.sqrt(variance), deviations


def _mean_interval(
    data: Floats, grouping: Grouping, seed: int, n_resamples: int, confidence: float
) -> Interval:
    g = grouping.n_clusters
    spread = spread_of(data, grouping)
    if isinstance(spread, str):
        return Interval.missing(spread, g, confidence, BOOTSTRAP_T)
    error, deviations = spread
    student = t_quantile(grouping.degrees_of_freedom(), (1 + confidence) / 2)
    sizes = grouping.sizes()
    scales = error, error / math.sqrt(g)
    is_alone = bool((sizes == 1).all())
    found = mirrored_quantiles(
        resample(
            lambda rows: _studentised(deviations[rows], None if is_alone else sizes[rows], scales),
            g,
            n_resamples,
            seed,
        ),
        confidence,
    )
    low, high = found if found is not None else (-student, student)
    centre = math.fsum(data) / len(data)
    weight = _share_that_differ(deviations, 1e-12 * np.abs(data).max())
    below, above = (student + weight * max(0.0, end - student) for end in (high, -low))
    ends = centre - below * error, centre + above * error
    return Interval.of(*ends, g, confidence, BOOTSTRAP_T)


def spread_of(data: Floats, grouping: Grouping) -> tuple[float, Floats] | str:
    """Return :func:`standard_error`, or the reason why there is no interval of the mean."""
    largest = np.abs(data).max(initial=0.0)
    if grouping.n_clusters < MIN_VALUES or not grouping.is_usable:
        return "too_few_values"
    error, deviations = standard_error(data, grouping)
    if error <= 1e-12 * largest:
        return "constant_input"
    moved = int(np.sum(np.abs(grouping.totals(data)) > 1e-12 * largest))
    return "too_few_values" if moved < MIN_MOVED else (error, deviations)


def _share_that_differ(values: Floats, tolerance: float) -> float:
    """Return the share of pairs that differ among all values but the commonest; 1 without pairs."""
    steps = np.flatnonzero(np.diff(np.sort(values)) > tolerance) + 1
    alike = np.sort(np.diff(steps, prepend=0, append=len(values)))[:-1]
    others = int(alike.sum())
    return 1 - float(np.sum(alike * (alike - 1))) / max(1, others * (others - 1))


def _studentised(deviations: Floats, sizes: Floats | None, scales: tuple[float, float]) -> Floats:
    """Return the t statistic of every resample (a row) that has any spread.

    ``sizes`` is None where every unit is its own cluster, ``scales`` are the standard error of the
    sample and the least one of a resample.
    """
    error, floor = scales
    if sizes is None:
        n = deviations.shape[1]
        shift = deviations.sum(axis=1) / n
        residuals = deviations - shift[:, np.newaxis]
        errors = np.sqrt(np.einsum("ij,ij->i", residuals, residuals / (n - 1)) / n)
    else:
        total = sizes.sum(axis=1)
        shift = deviations.sum(axis=1) / total
        residuals = deviations - sizes * shift[:, np.newaxis]
        outside = total[:, np.newaxis] - sizes
        errors = np.sqrt(np.einsum("ij,ij->i", residuals, residuals / outside) / total)
    has_spread: NDArray[np.bool_] = errors > 1e-12 * error
    t: Floats = shift[has_spread] / np.maximum(errors[has_spread], floor)
    return t


def t_mean(
    values: Sequence[float] | Floats,
    *,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Interval:
    """Return Student's t interval of the mean.

    For values that are about normal, such as logarithms of ratios of costs. With ``clusters``
    standard error and degrees of freedom are those of :func:`bootstrap_mean`.

    Not computable where :func:`bootstrap_mean` is not, for the same reasons.

    Raises
    ------
    ValueError
        When a value is not finite, or there is not one label for each value.

    Examples
    --------
    >>> ends = t_mean([1.0, 2.0, 3.0])
    >>> round(ends.low.value, 3), round(ends.high.value, 3)
    (-0.484, 4.484)
    """
    data = as_floats(values)
    grouping = group(clusters, len(data))
    g = grouping.n_clusters
    found = spread_of(data, grouping)
    if isinstance(found, str):
        return Interval.missing(found, g, confidence, STUDENT_T)
    half = t_quantile(grouping.degrees_of_freedom(), (1 + confidence) / 2) * found[0]
    centre = math.fsum(data) / len(data)
    return Interval.of(centre - half, centre + half, g, confidence, STUDENT_T)
