"""What the values that an arm lacks could do to a mean difference: worst case, tipping point."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from retrieval_eval.metrics.catalog import Metric, read_metric
from retrieval_eval.study.pairs import Clusters, Planned, Side, labels_by
from retrieval_eval.values import mean


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which ends the mean difference over all planned tasks lies (Manski 1989).

    Every value that an arm lacks is taken as 0 and as 1. ``n_lacking_…`` counts the tasks of
    which an arm lacks the value, or that of some repeats. ``tipping_…`` is the mean of what an arm
    lacks at which the difference over all planned tasks would be 0, where the other arm's lacking
    values are taken as the mean of those it has; None where no mean from 0 to 1 does that.
    """

    bound_low: float
    bound_high: float
    n_planned: int
    n_lacking_baseline: int
    n_lacking_comparison: int
    tipping_baseline: float | None
    tipping_comparison: float | None


UNBOUNDED = {field.name: None for field in fields(Bounds)}
"""The fields of :class:`Bounds` of a metric without a largest value."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one side of a task: its value is ``part`` + ``missing`` × (0 to 1)."""

    part: float
    missing: float


def bounds(
    planned: Sequence[Planned], metric: Metric, clusters: Clusters, *, is_by_means: bool
) -> dict[str, Any]:
    """Return the :class:`Bounds` of the mean difference of a metric from 0 to 1.

    Parameters
    ----------
    planned
        Every task that an arm was meant to run. Those without ground truth have no value of a
        retrieval metric in any arm, so they lack none.
    metric
        The metric, which lies between 0 and 1.
    clusters
        What the matched tasks are clustered by.
    is_by_means
        Whether the mean difference is that of the clusters' means.
    """
    tasks = [t for t in planned if t.has_ground_truth or metric.path[0] == "outcome"]
    if not tasks:
        return UNBOUNDED
    weights = list(_weights(tasks, clusters.by if is_by_means else None))
    before = [_known(task.baseline, metric) for task in tasks]
    after = [_known(task.comparison, metric) for task in tasks]
    known = math.fsum(w * (b.part - a.part) for w, a, b in zip(weights, before, after, strict=True))
    gaps = [
        math.fsum(w * side.missing for w, side in zip(weights, sides, strict=True))
        for sides in (before, after)
    ]
    means = [_mean_known(sides) for sides in (before, after)]
    return asdict(
        Bounds(
            known - gaps[0],
            known + gaps[1],
            len(tasks),
            sum(side.missing > 0 for side in before),
            sum(side.missing > 0 for side in after),
            _tipping(known + gaps[1] * means[1], gaps[0]),
            _tipping(gaps[0] * means[0] - known, gaps[1]),
        )
    )


def _weights(tasks: Sequence[Planned], by: str | None) -> Iterator[float]:
    if by is None:
        yield from [1 / len(tasks)] * len(tasks)
        return
    labels = labels_by(by, tasks)
    sizes = Counter(labels)
    yield from (1 / (len(sizes) * sizes[label]) for label in labels)


def _known(side: Side, metric: Metric) -> _Known:
    known = mean(read_metric(d, metric) for d in side.trials)
    if known.value is None:
        return _Known(0.0, 1.0)
    n = len(side.trials) + side.n_lost
    return _Known(known.value * (known.n / n), (n - known.n) / n)


def _mean_known(sides: Sequence[_Known]) -> float:
    known = [side.part / (1 - side.missing) for side in sides if side.missing < 1]
    return math.fsum(known) / len(known) if known else 0.5


def _tipping(rest: float, gap: float) -> float | None:
    """Return the mean of the lacking values that makes ``rest`` vanish, where there is one."""
    if gap == 0 or not 0 <= rest / gap <= 1:
        return None
    return rest / gap
