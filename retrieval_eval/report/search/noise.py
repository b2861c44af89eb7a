"""The noise level of the measured system: how far runs of one system lie apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from retrieval_eval.model.noise import NoiseFloor
from retrieval_eval.report.numbers import band, finite

STILL: Final = "Noise level 0: repeated runs of the system gave the same documents."
STALE: Final = "The noise file is stale; see Noise."
SHARE: Final = 0.95
"""The share of differences between two runs of one system that the band holds."""

MEANING: Final = (
    "Noise level: 95 % of the differences between two runs of one and the same system lie within ± "
    "this many points (normal, from the noise file)."
)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a system, and in sentences why it may hold no longer."""

    document: NoiseFloor
    stale: tuple[str, ...] = ()

    def band(self, metric: str, n: int | None = None) -> float | None:
        """Return how far from 0 a difference of two runs of one system lies at most, in points.

        At most in 95 % of cases: a normal quantile times sqrt(2) times the standard deviation of
        a run (`retrieval_eval.search.noise_level.noise_band`). 0 for a deterministic system, None
        for a metric whose noise was not measured.

        Parameters
        ----------
        metric
            Its name.
        n
            Queries of the part looked at; the band of fewer queries is wider, by the root of
            their number, as if queries varied independently. None: of all.
        """
        found = self.document.metrics.get(metric)
        deviation = None if found is None else finite(found.band_points)
        if found is None or deviation is None or n == 0:
            return None
        quantile = NormalDist().inv_cdf((1 + SHARE) / 2)
        wider = 1.0 if n is None else math.sqrt(max(found.n_queries, n) / n)
        return quantile * math.sqrt(2) * deviation * wider

    def words(self, metric: str, n: int | None = None) -> str:
        """Return the band of a metric for a cell, such as ``±0.25``."""
        return band(self.band(metric, n))

    @property
    def is_deterministic(self) -> bool:
        """Whether every query got the same documents in every run."""
        return self.document.is_deterministic


def noise_notes(level: Noise | None) -> tuple[str, ...]:
    """Return the notes under a table with a column of noise levels; none where it has none."""
    if level is None:
        return ()
    stale = f" {STALE}" if level.stale else ""
    return (f"{STILL if level.is_deterministic else MEANING}{stale}",)
