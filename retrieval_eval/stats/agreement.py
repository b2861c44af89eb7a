"""Agreement of two raters beyond chance: Cohen's kappa, plain and weighted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats import MIN_VALUES
from retrieval_eval.stats.intervals import MIN_MOVED
from retrieval_eval.stats.resampling import Floats, Grouping, group, mirrored_quantiles, resample
from retrieval_eval.values import Interval, Value

Weights = Literal["linear", "quadratic"]

CLUSTER_BOOTSTRAP: Final = "bootstrap_percentile"


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement of two raters on the same units.

    ``value`` is kappa, at most 1; 0 is what chance gives. ``observed`` and ``expected`` are the
    agreement seen and the agreement of raters who draw from their own margins, both from 0 to 1;
    kappa is ``(observed - expected) / (1 - expected)``. All three rest on the units. ``table``
    counts units by category of the first rater (rows) and of the second (columns).
    ``interval`` is not computable where kappa is not; its ``n`` counts independent units.
    """

    value: Value
    interval: Interval
    observed: Value
    expected: Value
    categories: tuple[Any, ...]
    table: tuple[tuple[int, ...], ...]


def cohen_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    weights: Weights | None = None,
    categories: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int,
    n_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Kappa:
    """Return Cohen's kappa of two raters, with a bootstrap interval.

    Cohen (1960); weighted as in Cohen (1968): a disagreement counts by the distance of the two
    categories in ``categories`` (``"linear"``) or its square (``"quadratic"``), so an unused
    category in between still counts as a step. Swapping the raters changes nothing. Without
    weights, neither does renaming categories.

    Not computable without units (``too_few_values``) and when a rater has one category for all of
    them (``constant_input``): kappa is then 0 whatever the other rater says, or 0/0.

    The interval is the percentile interval of resamples of whole clusters; resamples in which a
    rater is constant are left out. It is not computable (``too_few_values``) below three units,
    with disagreements in fewer than three clusters, or with several units in fewer than six
    clusters; and when there is no disagreement at all (``constant_input``), because resampling
    cannot show what the sample lacks. In simulations with independent units it covers in 93 to
    96 % from 200 of them and 90 to 97 % from 50; with 20 and rare categories in 88 %.

    Parameters
    ----------
    a, b
        The category each rater gives each unit, sorted by a stable key of the units.
    weights
        How disagreements count; None: all alike.
    categories
        The scale in its order; by default the sorted categories that occur.
    clusters
        One label a unit, such as its query; units of one label are resampled together.
    seed
        Seed of the PCG64 generator.
    n_resamples, confidence
        Number of resamples, and coverage of the interval.

    Raises
    ------
    ValueError
        When the rows differ in length, a category is not in ``categories`` or is listed twice,
        the weights are unknown, or there is not one cluster for each unit.

    Examples
    --------
    >>> found = cohen_kappa([0, 0, 1, 1], [0, 1, 1, 1], seed=1)
    >>> found.value.value, found.observed.value, found.expected.value, found.table
    (0.5, 0.75, 0.5, ((1, 1), (0, 2)))
    """
    if weights is not None and weights not in get_args(Weights):
        raise ValueError(f"weights are None, 'linear' or 'quadratic', not {weights!r}")
    scale = _scale(a, b, categories)
    grouping = group(clusters, len(a))
    size = len(scale)
    cells = np.array(
        [size * scale[one] + scale[other] for one, other in zip(a, b, strict=True)], dtype=np.int64
    )
    # Whole numbers throughout, so that no order of raters or categories can change a rounding.
    places = size * size * grouping.codes + cells
    by_cluster = np.bincount(places, minlength=grouping.n_clusters * size * size)
    by_cluster = by_cluster.reshape(grouping.n_clusters, size * size)
    penalty = _penalty(size, weights)
    table = by_cluster.sum(axis=0)
    observed, expected, value = _agreement(table, penalty)
    return Kappa(
        value,
        _interval(by_cluster, penalty, value, grouping, seed, n_resamples, confidence),
        observed,
        expected,
        tuple(scale),
        tuple(tuple(row) for row in table.reshape(size, size).tolist()),
    )


def _scale(
    a: Sequence[Hashable], b: Sequence[Hashable], categories: Sequence[Hashable] | None
) -> dict[Hashable, int]:
    if len(a) != len(b):
        raise ValueError("two raters need one category each for every unit")
    seen: Any = {*a, *b}
    ordered: Sequence[Hashable] = sorted(seen) if categories is None else list(categories)
    scale = {category: place for place, category in enumerate(ordered)}
    if len(scale) < len(ordered):
        raise ValueError("the scale lists a category twice")
    if missing := [category for category in seen if category not in scale]:
        raise ValueError(f"the category {missing[0]!r} is not in the scale")
    return scale


def _penalty(size: int, weights: Weights | None) -> Floats:
    """Return what each pair of categories costs, as a matrix."""
    steps = np.arange(size, dtype=np.float64)
    distance: Floats = np.abs(steps[:, np.newaxis] - steps)
    if weights is None:
        return (distance > 0).astype(np.float64)
    return distance if weights == "linear" else distance**2


def _agreement(table: NDArray[np.int64], penalty: Floats) -> tuple[Value, Value, Value]:
    """Return observed agreement, expected agreement and kappa of a flat table of counts."""
    n = int(table.sum())
    if not n:
        missing = Value.missing("too_few_values")
        return missing, missing, missing
    seen, by_chance = (float(part[0]) for part in _costs(table[np.newaxis], penalty))
    largest = float(penalty.max()) or 1.0
    observed = Value.of(1 - seen / (n * largest), n)
    expected = Value.of(1 - by_chance / (n * n * largest), n)
    if _has_constant_rater(table[np.newaxis], len(penalty))[0]:
        return observed, expected, Value.missing("constant_input", n)
    return observed, expected, Value.of(1 - n * seen / by_chance, n)


def _costs(tables: NDArray[np.int64], penalty: Floats) -> tuple[Floats, Floats]:
    """Return the summed cost of every table, and n² times what chance makes it per unit."""
    size = len(penalty)
    square = tables.reshape(-1, size, size)
    rows, columns = square.sum(axis=2), square.sum(axis=1)
    by_chance: Floats = np.einsum("ti,ij,tj->t", rows, penalty, columns)
    seen: Floats = tables @ penalty.ravel()
    return seen, by_chance


def _has_constant_rater(tables: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    square = tables.reshape(-1, size, size)
    used = [(square.sum(axis=axis) > 0).sum(axis=1) for axis in (1, 2)]
    constant: NDArray[np.bool_] = np.minimum(*used) < 2
    return constant


def _interval(
    by_cluster: NDArray[np.int64],
    penalty: Floats,
    value: Value,
    grouping: Grouping,
    seed: int,
    n_resamples: int,
    confidence: float,
) -> Interval:
    g, size = grouping.n_clusters, len(penalty)
    n_apart = int(np.sum(by_cluster @ penalty.ravel() > 0))
    reason = value.reason
    if reason is None and (g < MIN_VALUES or not grouping.is_usable):
        reason = "too_few_values"
    if reason is None and n_apart < MIN_MOVED:
        reason = "too_few_values" if n_apart else "constant_input"
    if reason is not None:
        return Interval.missing(reason, g, confidence, CLUSTER_BOOTSTRAP)

    def statistic(rows: NDArray[np.int64]) -> Floats:
        cells = rows + g * np.arange(len(rows))[:, np.newaxis]
        drawn = np.bincount(cells.ravel(), minlength=g * len(rows)).reshape(len(rows), g)
        tables = drawn @ by_cluster
        tables = tables[~_has_constant_rater(tables, size)]
        seen, by_chance = _costs(tables, penalty)
        kappas: Floats = 1 - tables.sum(axis=1) * seen / by_chance
        return kappas

    ends = mirrored_quantiles(resample(statistic, g, n_resamples, seed), confidence)
    if ends is None:
        return Interval.missing("constant_input", g, confidence, CLUSTER_BOOTSTRAP)
    return Interval.of(*ends, g, confidence, CLUSTER_BOOTSTRAP)
