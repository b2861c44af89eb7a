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
        shares = sizes / sizes.sum()
        scale = sizes / np.sqrt(1 - shares)
        # Covariance of the clusters' deviations in sum, each over the root of one minus its share.
        covariance = np.eye(len(sizes)) - shares - shares[:, np.newaxis] + shares @ shares
        covariance *= np.outer(scale, scale)
        return float(np.trace(covariance) ** 2 / np.sum(covariance**2))


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
