"""Confidence intervals of a mean, of uneven clusters too, and of the share of units in them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.stats.proportions import t_quantile
from retrieval_eval.stats.resampling import (
    BY_CLUSTER,
    Floats,
    Grouping,
    as_floats,
    group,
    is_constant,
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


# --------------------------------------------------------------------------------------------------
# The mean over clusters of uneven size, each of which has an effect of its own.

RANDOM_EFFECTS: Final = "random_effects"


@dataclass(frozen=True, slots=True)
class RandomEffects:
    """The mean of the clusters' effects.

    ``error`` is its standard error with ``degrees_of_freedom``, ``tau`` the standard deviation of
    the clusters' true effects, and ``weights`` what each unit counts in the mean; they add up to 1.
    """

    mean: float
    error: float
    degrees_of_freedom: int
    tau: float
    weights: Floats

    def interval(self, confidence: float) -> Interval:
        """Return Student's interval of the mean."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2)) * self.error
        n = self.degrees_of_freedom + 1
        return Interval.of(self.mean - half, self.mean + half, n, confidence, RANDOM_EFFECTS)


def is_uneven(grouping: Grouping) -> bool:
    """Return whether six clusters or more count as fewer than half of them, so uneven are they.

    The standard error of the mean over units then has so few degrees of freedom that its interval
    covers almost always and finds almost nothing (``docs/simulation.md``).
    """
    if grouping.status != BY_CLUSTER:
        return False
    return grouping.degrees_of_freedom() < (grouping.n_clusters - 1) / 2


def of_uneven(values: Floats, grouping: Grouping) -> RandomEffects | None:
    """Return the mean of clusters that are uneven; None of others, or where it has no spread."""
    if not is_uneven(grouping) or isinstance(spread_of(values, grouping), str):
        return None
    found = random_effects(values, grouping)
    return None if found.error == 0 else found


def random_effects(values: Floats, grouping: Grouping) -> RandomEffects:
    """Return the mean of the clusters' effects, where a cluster's own mean estimates its effect.

    The variance between clusters is that of Paule & Mandel (1982), the standard error and its
    degrees of freedom, one fewer than clusters, those of Hartung & Knapp (2001) and Sidik &
    Jonkman (2002). Units spread equally inside every cluster, so that one with a single unit has
    an error too. Where they do not spread at all, every cluster counts the same.

    Examples
    --------
    >>> from retrieval_eval.stats.resampling import group
    >>> labels = ["a"] * 6 + ["b", "b", "c", "d", "e", "f"]
    >>> rows = np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.3, 0.5, 0.1, 0.1, 0.4, 0.0, 0.2])
    >>> found = random_effects(rows, group(labels, len(rows)))
    >>> round(found.mean, 3), round(found.error, 3), round(found.tau, 3), found.degrees_of_freedom
    (0.208, 0.046, 0.04, 5)
    """
    sizes = grouping.sizes()
    g, n = grouping.n_clusters, len(values)
    means: Floats = grouping.totals(values) / sizes
    inside = float(np.sum((values - means[grouping.codes]) ** 2)) / max(n - g, 1)
    errors = inside / sizes
    between = _between(means, errors)
    if is_constant(means) or between + float(errors.min()) <= 1e-24:
        weights = np.full(g, 1 / g)
    else:
        weights = 1 / (errors + between)
        weights /= math.fsum(weights)
    mean = math.fsum(weights * means)
    error = math.sqrt(math.fsum(weights * (means - mean) ** 2) / (g - 1))
    if is_constant(means):
        error = 0.0
    return RandomEffects(mean, error, g - 1, math.sqrt(between), (weights / sizes)[grouping.codes])


def _between(means: Floats, errors: Floats) -> float:
    """Return the variance between clusters at which their deviations are as large as expected."""
    freedom = len(means) - 1

    def excess(between: float) -> float:
        weights = 1 / (errors + between)
        centre = float(np.sum(weights * means) / np.sum(weights))
        return float(np.sum(weights * (means - centre) ** 2)) - freedom

    spread = float(np.var(means, ddof=1))
    if spread <= 1e-24:
        return 0.0
    if float(errors.max()) <= 1e-12 * spread:
        return spread
    if excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    high = spread
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-15))
