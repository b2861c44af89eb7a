"""How far an association holds within strata."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.clusters import Grouping, group
from retrieval_eval.stats.distributions import normal_quantile
from retrieval_eval.stats.ranks import average_ranks
from retrieval_eval.stats.resampling import (
    BATCH_CELLS,
    Floats,
    as_floats,
    drawn_counts,
    mirrored_quantiles,
)
from retrieval_eval.values import Interval, Value

METHOD: Final = "percentile_or_fisher_z"
MIN_STRATA: Final = 3


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial rank correlation; ``n`` units in ``n_strata`` strata of two or more."""

    n: int
    n_strata: int
    r: Value
    interval: Interval


def partial_spearman_of(
    columns: Mapping[str, Sequence[float] | Floats],
    pairs: Sequence[tuple[str, str]],
    strata: Sequence[Hashable],
    *,
    given: Sequence[Hashable] | None = None,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> list[Partial]:
    """Return the rank correlation of every pair of columns within strata.

    The units that have both numbers and are in strata of two or more are ranked together. The mean
    rank of its stratum is taken from each, and with ``given`` what differs on average between its
    labels; the result is Pearson's correlation of what is left. So nothing that all units of a
    stratum share, known or not, can make it: of a task, its difficulty.

    Each end of the interval is the farther one of two: the percentile bootstrap over whole strata,
    and Fisher's z with the standard error of Bonett & Wright (2000) for as many units as there are
    degrees of freedom left.

    Not computable with no stratum of two units (``one_value_per_task``), fewer than three such
    strata (``too_few_values``), or where a side does not vary within them (``constant_input``);
    the interval also with fewer than three degrees of freedom (``too_few_values``).

    Parameters
    ----------
    columns
        One number a unit in the same order; NaN where it is not known.
    pairs
        The names of two columns each.
    strata
        One label a unit, such as its task.
    given
        One label a unit, such as its configuration, whose average effect is removed too.
    seed, n_resamples, confidence
        Of the bootstrap and its interval.

    Raises
    ------
    ValueError
        When the columns differ in length or hold an infinite number, or there is not one label
        for each unit.

    Examples
    --------
    >>> rows = {"found": [1, 2, 5, 6, 8, 9], "reward": [3, 4, 1, 2, 5, 6]}
    >>> (found,) = partial_spearman_of(rows, [("found", "reward")], list("aabbcc"), seed=1)
    >>> round(found.r.value, 6), found.n, found.n_strata
    (1.0, 6, 3)
    """
    (found,) = partials_given(
        columns,
        pairs,
        strata,
        [given],
        seed=seed,
        n_resamples=n_resamples,
        confidence=confidence,
    )
    return found


def partials_given(
    columns: Mapping[str, Sequence[float] | Floats],
    pairs: Sequence[tuple[str, str]],
    strata: Sequence[Hashable],
    given: Sequence[Sequence[Hashable] | None],
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> list[list[Partial]]:
    """Return :func:`partial_spearman_of` for each of several labellings, over the same resamples.

    Parameters
    ----------
    given
        One label a unit each, or None.
    columns, pairs, strata, seed, n_resamples, confidence
        As for :func:`partial_spearman_of`.
    """
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    n = len(strata)
    rows = [*arrays.values(), *(labels for labels in given if labels is not None)]
    if any(len(row) != n for row in rows):
        raise ValueError("every unit needs one number in each column, and one label")
    together: dict[bytes, list[int]] = {}
    for i, (a, b) in enumerate(pairs):
        together.setdefault((~np.isnan(arrays[a]) & ~np.isnan(arrays[b])).tobytes(), []).append(i)
    found: list[dict[int, Partial]] = [{} for _ in given]
    for key, members in together.items():
        known = np.frombuffer(key, dtype=np.bool_)
        own = [strata[i] for i in np.flatnonzero(known).tolist()]
        grouping = group(own, len(own))
        kept = np.flatnonzero(known)[grouping.sizes()[grouping.codes] > 1]
        remaining = group([strata[i] for i in kept.tolist()], len(kept))
        names = sorted({name for i in members for name in pairs[i]})
        values = {name: as_floats(arrays[name][kept]) for name in names}
        rests = []
        for labels in given:
            marks = None if labels is None else [labels[i] for i in kept.tolist()]
            left = _Left(remaining, None if marks is None else group(marks, len(marks)))
            rests.append(left.rests(values))
        made = _of_rests(
            remaining, rests, [pairs[i] for i in members], seed, n_resamples, confidence
        )
        for place, partials in zip(found, made, strict=True):
            place.update(zip(members, partials, strict=True))
    return [[partials[i] for i in range(len(pairs))] for partials in found]


@dataclass(frozen=True, slots=True)
class _Rests:
    """What is left of the ranks of columns, and how many numbers of them are free."""

    columns: Mapping[str, Floats]
    degrees_of_freedom: int


@dataclass(frozen=True, slots=True)
class _Left:
    """What is removed from ranks: the means of strata, and the effects of labels."""

    strata: Grouping
    given: Grouping | None

    def rests(self, columns: Mapping[str, Floats]) -> _Rests:
        """Return what is left of the ranks of every column."""
        effects, rank = self._effects()
        rests = {}
        for name, column in columns.items():
            ranks = average_ranks(column) if len(column) else column
            rest = self._within(ranks)
            if effects is not None and self.given is not None and len(rest):
                fitted = effects @ self.given.totals(rest)
                rest = rest - self._within(fitted[self.given.codes])
            # What is rounding only is nothing: it would correlate with other rounding.
            size = float(np.abs(ranks).max(initial=1.0))
            rests[name] = np.where(np.abs(rest) > 1e-9 * size, rest, 0.0)
        free = len(self.strata.codes) - self.strata.n_clusters
        return _Rests(rests, free if effects is None else free - rank)

    def _within(self, values: Floats) -> Floats:
        means = self.strata.totals(values) / self.strata.sizes()
        rest: Floats = values - means[self.strata.codes]
        return rest

    def _effects(self) -> tuple[Floats | None, int]:
        """Return what turns the totals of labels into their effects within strata, and its rank.

        It is the inverse of the products of the labels' columns, taken from the mean of each
        stratum: as large as the labels, whatever the number of units.
        """
        if self.given is None or not len(self.strata.codes):
            return None, 0
        n_labels, sizes = self.given.n_clusters, self.strata.sizes()
        products = np.diag(self.given.sizes())
        order = np.argsort(self.strata.codes, kind="stable")
        codes, labels = self.strata.codes[order], self.given.codes[order]
        step = max(1, BATCH_CELLS // n_labels)
        for start in range(0, self.strata.n_clusters, step):
            end = min(start + step, self.strata.n_clusters)
            first, last = np.searchsorted(codes, (start, end))
            cells = (codes[first:last] - start) * n_labels + labels[first:last]
            counts = np.bincount(cells, minlength=(end - start) * n_labels).astype(np.float64)
            counts = counts.reshape(end - start, n_labels)
            products -= (counts / sizes[start:end, np.newaxis]).T @ counts
        values, vectors = np.linalg.eigh(products)
        kept = values > 1e-10 * max(1.0, float(values.max(initial=0.0)))
        inverse: Floats = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return inverse, int(kept.sum())


def _of_rests(
    strata: Grouping,
    rests: Sequence[_Rests],
    pairs: Sequence[tuple[str, str]],
    seed: int,
    n_resamples: int,
    confidence: float,
) -> list[list[Partial]]:
    n, g = len(strata.codes), strata.n_clusters
    reasons = [[_reason(g, rest.columns[a], rest.columns[b]) for a, b in pairs] for rest in rests]
    usable = [
        [pair for pair, reason in zip(pairs, own, strict=True) if reason is None] for own in reasons
    ]
    drawn = _bootstrap(strata, [rest.columns for rest in rests], usable, seed, n_resamples)
    found = []
    for rest, own, distributions in zip(rests, reasons, drawn, strict=True):
        following = iter(distributions)
        rows = []
        for (a, b), reason in zip(pairs, own, strict=True):
            if reason is not None:
                empty = Interval.missing(reason, g, confidence, METHOD)
                rows.append(Partial(n, g, Value.missing(reason, n), empty))
                continue
            x, y = rest.columns[a], rest.columns[b]
            r = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
            r = min(1.0, max(-1.0, r))
            ends = _ends(r, rest.degrees_of_freedom, next(following), confidence)
            interval = (
                Interval.missing("too_few_values", g, confidence, METHOD)
                if ends is None
                else Interval.of(*ends, g, confidence, METHOD)
            )
            rows.append(Partial(n, g, Value.of(r, n), interval))
        found.append(rows)
    return found


def _reason(n_strata: int, x: Floats, y: Floats) -> str | None:
    if n_strata == 0:
        return "one_value_per_task"
    if n_strata < MIN_STRATA:
        return "too_few_values"
    return None if x.any() and y.any() else "constant_input"


def _bootstrap(
    strata: Grouping,
    rests: Sequence[Mapping[str, Floats]],
    pairs: Sequence[Sequence[tuple[str, str]]],
    seed: int,
    n_resamples: int,
) -> list[list[Floats]]:
    """Return the correlation of resamples of whole strata, of what is left of ranks and effects."""
    if not any(pairs):
        return [[] for _ in pairs]
    sums = [
        (
            np.column_stack([strata.totals(rest * rest) for rest in columns.values()]),
            np.column_stack([strata.totals(columns[a] * columns[b]) for a, b in own]),
        )
        for columns, own in zip(rests, pairs, strict=True)
        if own
    ]
    parts: list[list[list[Floats]]] = [[[] for _ in own] for own in pairs]
    n_rows = max(64, BATCH_CELLS // strata.n_clusters)
    for weights in drawn_counts(strata.n_clusters, n_resamples, seed, n_rows):
        made = iter(sums)
        for columns, own, found in zip(rests, pairs, parts, strict=True):
            if not own:
                continue
            squares, cross = next(made)
            of = dict(zip(columns, (weights @ squares).T, strict=True))
            for part, (a, b), products in zip(found, own, (weights @ cross).T, strict=True):
                scale = of[a] * of[b]
                defined = scale > 0
                part.append(np.clip(products[defined] / np.sqrt(scale[defined]), -1.0, 1.0))
    return [[np.concatenate(part) for part in found] for found in parts]


def _ends(
    r: float, freedom: int, distribution: Floats, confidence: float
) -> tuple[float, float] | None:
    # Fisher's z of n units has n - 3, where n - 1 degrees of freedom are left by one mean.
    if freedom < 3:
        return None
    nearest = 1 - 12 / (freedom * (freedom * freedom - 1) + 12)
    inner = min(nearest, max(-nearest, r))
    variance = (1 + inner * inner / 2) / (freedom - 2)
    half = normal_quantile((1 + confidence) / 2) * math.sqrt(variance)
    z = math.atanh(inner)
    found = mirrored_quantiles(distribution, confidence) or ()
    ends = (math.tanh(z - half), math.tanh(z + half))
    return min(r, *ends, *found), max(r, *ends, *found)
