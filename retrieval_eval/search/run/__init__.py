"""How a run is scored: what it measures, how deep it looks, and how means are resampled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_run import RunSettings
from retrieval_eval.ranking.measures import Measure, parse_measure
from retrieval_eval.values import DEFAULT_SEED

BASE_MEASURES: Final = (
    *("P@1", "P@3", "P@5", "P@10"),
    *("Recall@5", "Recall@10", "Recall@20"),
    "RR",
    *("nDCG@5", "nDCG@10"),
    "Judged@10",
)
"""In every run, whatever cut-offs it asks for, so that any two runs can be compared."""

HEADLINE: Final = ("P@5", "Recall@20")
"""What the consumer of the top five sees, and the ceiling for any reranker."""

DEFAULT_K: Final = (1, 3, 5, 10, 20)
DEFAULT_DEPTH: Final = 50

CONVENTION: Final = "trec"
EMPTY_RANKING: Final = "zero"
"""An answerable query without documents scores 0: else dropping hard queries would pay off."""

_AT_K: Final = ("P", "Recall", "nDCG")
_ORDER: Final = ("P", "Recall", "RR", "nDCG", "Judged")


@dataclass(frozen=True, slots=True)
class Settings:
    """Cut-offs, ranking depth, and the seed, number and coverage of resampled intervals.

    ``without_own`` leaves the document whose id is that of the query out of its ranking.

    Raises
    ------
    BadInputError
        When a cut-off or the depth is below 1, or a cut-off lies beyond the depth.
    """

    k_values: tuple[int, ...] = DEFAULT_K
    depth: int = DEFAULT_DEPTH
    seed: int = DEFAULT_SEED
    n_resamples: int = 2_000
    confidence: float = 0.95
    without_own: bool = False

    def __post_init__(self) -> None:
        if min(self.k_values, default=1) < 1:
            raise BadInputError("a cut-off k is a whole number from 1")
        deepest = deepest_cutoff(self.measures)
        if self.depth < deepest:
            raise BadInputError(
                f"a depth of {self.depth} is too shallow: the deepest cut-off is {deepest}; "
                f"ask for at least {deepest} documents a query"
            )

    @property
    def measures(self) -> tuple[str, ...]:
        """P, Recall and nDCG at every cut-off, and :data:`BASE_MEASURES`, in reading order.

        Examples
        --------
        >>> [name for name in Settings(k_values=(2,)).measures if name.startswith("P")]
        ['P@1', 'P@2', 'P@3', 'P@5', 'P@10']
        """
        asked = [f"{name}@{k}" for name in _AT_K for k in self.k_values]
        return tuple(sorted({*BASE_MEASURES, *asked}, key=_reading_order))

    def facts(self) -> RunSettings:
        """Return the ``settings`` of a search run."""
        return RunSettings(
            k_values=self.k_values,
            depth=self.depth,
            convention=CONVENTION,
            empty_ranking=EMPTY_RANKING,
            measures=self.measures,
            seed=self.seed,
            n_resamples=self.n_resamples,
            confidence=self.confidence,
            without_own=self.without_own,
        )


def deepest_cutoff(measures: Iterable[str]) -> int:
    """Return the largest k of ``@k`` among the measures, 0 when none has one."""
    return max((parse_measure(name).cutoff or 0 for name in measures), default=0)


def _reading_order(name: str) -> tuple[int, int]:
    measure: Measure = parse_measure(name)
    return _ORDER.index(measure.name), measure.cutoff or 0
