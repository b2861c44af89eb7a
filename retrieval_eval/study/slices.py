"""The paired difference within slices of the tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.metrics.taxonomy import MEDIUM_SET, SMALL_SET
from retrieval_eval.study.arms import Document
from retrieval_eval.study.pairs import Pair
from retrieval_eval.study.settings import Settings

SLICED: Final = "file_recall"


def slices(pairs: Sequence[Pair], settings: Settings) -> list[dict[str, Any]]:
    """Return the paired difference in file recall by every dimension and level, with its n.

    A cell with too few tasks is marked as not interpretable. Its tasks count as independent of
    each other: a slice seldom holds the six clusters that an interval over clusters needs.
    """
    from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
    from retrieval_eval.stats.paired import compare_paired

    metric = BY_NAME[SLICED]
    rows = []
    for dimension, level_of in DIMENSIONS.items():
        cells: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for pair in pairs:
            before, after = pair.values(metric)
            if before.value is not None and after.value is not None:
                cells[level_of(pair)].append((before.value, after.value))
        for level in sorted(cells, key=lambda name: (_ORDER.get(name, 99), name)):
            cell = cells[level]
            found = compare_paired(
                [a for a, _ in cell],
                [b for _, b in cell],
                seed=settings.seed,
                n_resamples=settings.n_resamples,
                confidence=settings.confidence,
            )
            rows.append(
                {
                    "dimension": dimension,
                    "level": level,
                    "n_pairs": found.n,
                    "interpretable": found.n >= MIN_INTERPRETABLE,
                    "mean_baseline": found.mean_baseline.value,
                    "mean_comparison": found.mean_comparison.value,
                    "mean_difference": found.mean_difference.value,
                    "ci_low": found.interval.low.value,
                    "ci_high": found.interval.high.value,
                }
            )
    return rows


def _suite(pair: Pair) -> str:
    return pair.benchmark


def _candidate_set(pair: Pair) -> str:
    """Return the size of the candidate set, averaged over all trials of the pair."""
    counts = [
        d["error_taxonomy"].get("slices", {}).get("candidate_set_count")
        for d in (*pair.baseline, *pair.comparison)
    ]
    known = [count for count in counts if count is not None]
    if not known:
        return "unknown"
    size = sum(known) / len(known)
    return "small" if size <= SMALL_SET else "medium" if size <= MEDIUM_SET else "large"


def _evidence(pair: Pair) -> str:
    """Return whether trials used MCP, in the arm that did so more: arms can be swapped."""
    return max(map(_evidence_of, (pair.baseline, pair.comparison)), key=_BY_MCP.index)


def _evidence_of(trials: Sequence[Document]) -> str:
    types = {d["error_taxonomy"].get("slices", {}).get("evidence_type") for d in trials} - {None}
    return types.pop() if len(types) == 1 else "mixed" if types else "unknown"


def _truth_size(pair: Pair) -> str:
    size = pair.baseline[0]["file_level_metrics"].get("n_ground_truth")
    if size is None:
        return "unknown"
    return next(name for name, most in _TRUTH_SIZES if size <= most)


def _repositories(pair: Pair) -> str:
    n = len(pair.repositories)
    return "unstated" if n == 0 else "one repository" if n == 1 else "several repositories"


def _confidence(pair: Pair) -> str:
    return str(pair.baseline[0]["coverage"].get("ground_truth_confidence") or "unknown")


_BY_MCP: Final = ("unknown", "local", "mixed", "mcp")
_TRUTH_SIZES: Final = (
    ("1 file", 1),
    ("2 to 5 files", 5),
    ("6 to 10 files", 10),
    ("over 10 files", float("inf")),
)
_ORDERED: Final = (
    *("small", "high", "medium", "low", "large"),
    *("local", "mcp", "mixed"),
    *(name for name, _ in _TRUTH_SIZES),
    *("one repository", "several repositories"),
    *("unstated", "unknown"),
)
_ORDER: Final = {name: place for place, name in enumerate(_ORDERED)}
"""Sizes and confidences share a medium, so they stand in one order."""

DIMENSIONS: Final[Mapping[str, Callable[[Pair], str]]] = {
    "suite": _suite,
    "candidate_set_size": _candidate_set,
    "evidence_type": _evidence,
    "n_ground_truth_files": _truth_size,
    "n_repositories": _repositories,
    "ground_truth_confidence": _confidence,
}
"""Every dimension with the function that puts a pair into one of its levels."""
