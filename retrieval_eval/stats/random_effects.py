"""The mean over clusters of uneven size, each of which has an effect of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.intervals import spread_of
from retrieval_eval.stats.resampling import BY_CLUSTER, Floats, Grouping, is_constant
from retrieval_eval.values import Interval

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
