"""Clusters of units that are not independent: tasks of one repository, rows of one task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.resampling import Floats

MIN_CLUSTERS: Final = 6
"""Below this neither an interval nor a p-value is made from clusters that hold several units."""

NONE: Final = "none"
BY_CLUSTER: Final = "by_cluster"
TOO_FEW: Final = "too_few_clusters"


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which of ``n_clusters`` clusters each unit belongs to, numbered by first appearance.

    ``status`` is ``none`` when no labels were given, ``by_cluster`` when the clusters can be
    resampled and flipped, and ``too_few_clusters`` when there are fewer than six of them and
    some hold several units: then no interval or test can take them into account.
    """

    codes: NDArray[np.int64]
    n_clusters: int
    status: str

    @property
    def is_usable(self) -> bool:
        """Whether the clusters can carry an interval and a p-value."""
        return self.status != TOO_FEW

    def totals(self, values: Floats) -> Floats:
        """Return the sum of ``values`` in every cluster."""
        sums = np.bincount(self.codes, weights=values, minlength=self.n_clusters)
        return sums.astype(np.float64)

    def sizes(self) -> Floats:
        """Return the number of units in every cluster."""
        return self.totals(np.ones(len(self.codes)))

    def degrees_of_freedom(self) -> float:
        """Return Satterthwaite's degrees of freedom of the variance of the mean over units.

        Those of Bell & McCaffrey (2002) for clusters whose units share everything, the worst
        case that Carter, Schnepel & Steigerwald (2017) count effective clusters for: a few
        large clusters then carry most of the mean. One less than the clusters when all are
        equally large. At least two clusters are needed.

        Examples
        --------
        >>> group(["a", "a", "b", "b", "c", "c"], 6).degrees_of_freedom()
        2.0
        >>> round(group(["a", "a", "b", "c"], 4).degrees_of_freedom(), 2)
        1.6
        """
        sizes = self.sizes()
        if (sizes == sizes[0]).all():
            return self.n_clusters - 1.0
        # The covariance of the clusters' deviations in sum, each over the root of one minus its
        # share, has the cell s s' (1 if alone, else 0, - p - p' + both) for each pair of clusters
        # with shares p, p'. Its trace and the sum of its squares need no matrix: the cells of the
        # largest cluster are summed by themselves, which keeps the rest from cancelling.
        shares = np.sort(sizes)[::-1] / sizes.sum()
        rest = shares[1:]
        lacking = np.append(rest.sum(), 1 - rest)
        both = float(np.sum(shares**2))
        squared = shares**2 / lacking
        own = squared * np.append(lacking[0] ** 2 + np.sum(rest**2), 1 - 2 * rest + both)
        beside = squared[0] * np.sum(squared[1:] * (both - shares[0] - rest) ** 2)
        zeroth, first, second = (float(np.sum(squared[1:] * rest**power)) for power in range(3))
        among = (both * zeroth - first) ** 2 + 2 * zeroth * second + first**2
        among -= 2 * both * zeroth * first
        among -= float(np.sum((squared[1:] * (both - 2 * rest)) ** 2))
        return float(np.sum(own) ** 2 / (np.sum(own**2) + 2 * beside + among))


def group(labels: Sequence[Hashable] | None, n: int) -> Grouping:
    """Return the clusters of ``n`` units; without labels every unit is its own.

    Raises
    ------
    ValueError
        When there is not one label for each unit.

    Examples
    --------
    >>> group(["b", "a", "b"], 3).codes.tolist()
    [0, 1, 0]
    """
    if labels is None:
        return Grouping(np.arange(n), n, NONE)
    if len(labels) != n:
        raise ValueError("clusters need one label for each unit")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    is_enough = len(numbers) == n or len(numbers) >= MIN_CLUSTERS
    return Grouping(codes, len(numbers), BY_CLUSTER if is_enough else TOO_FEW)
