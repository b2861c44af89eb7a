"""The bootstrap distribution of Spearman's rank correlation, for many pairs of columns at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.clusters import Grouping
from retrieval_eval.stats.ranks import dense_codes
from retrieval_eval.stats.resampling import Floats, draws

Counts = NDArray[np.signedinteger[Any]]


def bootstrap_spearman(
    columns: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    grouping: Grouping,
    *,
    seed: int,
    n_resamples: int,
) -> list[Floats]:
    """Return Spearman's r of resamples of whole clusters, each resample ranked anew, by pair.

    All pairs are over the same resamples, in which every column is ranked once. Resamples in
    which one side is constant have no r and are left out.
    """
    g = grouping.n_clusters
    ranked = {name: _Ranked(columns[name]) for name in {name for pair in pairs for name in pair}}
    most = 2 * g * int(grouping.sizes().max(initial=0))
    kind = np.int32 if most < np.iinfo(np.int32).max else np.int64
    parts: list[list[Floats]] = [[] for _ in pairs]
    for rows in draws(g, n_resamples, seed):
        cells = rows + g * np.arange(len(rows))[:, np.newaxis]
        drawn = np.bincount(cells.ravel(), minlength=g * len(rows)).reshape(len(rows), g)
        weights: Counts = np.take(drawn.astype(kind), grouping.codes, axis=1)
        ranks = {name: column.centred(weights) for name, column in ranked.items()}
        weighted = {name: weights * column for name, column in ranks.items()}
        squares = {n: np.einsum("ij,ij->i", weighted[n], column) for n, column in ranks.items()}
        for part, (a, b) in zip(parts, pairs, strict=True):
            scale = squares[a] * squares[b]
            cross = np.einsum("ij,ij->i", weighted[a], ranks[b])
            defined = scale > 0
            part.append(np.clip(cross[defined] / np.sqrt(scale[defined]), -1.0, 1.0))
    return [np.concatenate(part) if part else np.empty(0) for part in parts]


class _Ranked:
    """A column that is ranked in many resamples: only how often each unit is in them changes."""

    def __init__(self, values: Floats) -> None:
        self.codes, counts = dense_codes(values)
        self.order = np.argsort(self.codes, kind="stable")
        self.ends = np.cumsum(counts).astype(np.int64) - 1

    def centred(self, weights: Counts) -> Floats:
        """Return twice the rank of every unit in resamples that hold it ``weights`` times.

        The ranks lie around 0. They are whole numbers, so that everything summed from them is
        exact, and r does not see that they are doubled.
        """
        reached: Counts = np.take(weights, self.order, axis=1)
        np.cumsum(reached, axis=1, out=reached)
        if len(self.ends) < len(self.order):
            reached = np.take(reached, self.ends, axis=1)
        # Units of one value share the places after those below it, up to those it reaches.
        doubled: Counts = reached - reached[:, -1:]
        doubled[:, 1:] += reached[:, :-1]
        return np.take(doubled, self.codes, axis=1).astype(np.float64)
