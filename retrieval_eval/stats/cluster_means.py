"""Two to five clusters: Student's t on the means of the clusters."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from retrieval_eval.stats.clusters import Grouping
from retrieval_eval.stats.intervals import Interval
from retrieval_eval.stats.resampling import Floats, is_constant
from retrieval_eval.values import Value

METHOD: Final = "t_of_cluster_means"


def cluster_means(values: Floats, grouping: Grouping) -> Floats:
    """Return the mean of ``values`` in every cluster, by first appearance."""
    means: Floats = grouping.totals(values) / grouping.sizes()
    return means


def t_of_cluster_means(means: Floats, confidence: float) -> tuple[Interval, Value]:
    """Return the interval of the mean of cluster means, and the two-sided p that it is 0.

    Student's t with one degree of freedom less than there are clusters. It holds its level up to
    8 % with as few as two clusters, whatever the clusters' sizes, variances and inner dependence,
    as long as their means are about normal (Ibragimov & Muller 2010). Every cluster counts the
    same, so the interval is that of the mean of the means, not of the mean over units.

    Cluster means that are all the same have no interval (``constant_input``), and a p-value of 1
    where they are 0 and none elsewhere. At least two clusters are needed.

    Examples
    --------
    >>> interval, p_value = t_of_cluster_means(np.array([1.0, 2.0, 3.0]), 0.95)
    >>> round(interval.low.value, 3), round(interval.high.value, 3), round(p_value.value, 4)
    (-0.484, 4.484, 0.0742)
    """
    g = len(means)
    if is_constant(means):
        empty = Interval.missing("constant_input", g, confidence, METHOD)
        is_zero = not means.any()
        return empty, Value.of(1.0, g) if is_zero else Value.missing("constant_input", g)
    from scipy.special import stdtr, stdtrit

    centre = math.fsum(means) / g
    error = float(np.std(means, ddof=1)) / math.sqrt(g)
    half = float(stdtrit(g - 1, (1 + confidence) / 2)) * error
    p_value = min(1.0, 2 * float(stdtr(g - 1, -abs(centre) / error)))
    return Interval.of(centre - half, centre + half, g, confidence, METHOD), Value.of(p_value, g)
