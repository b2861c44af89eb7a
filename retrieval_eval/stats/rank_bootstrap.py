"""The bootstrap distribution of Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.clusters import Grouping
from retrieval_eval.stats.ranks import dense_codes, places
from retrieval_eval.stats.resampling import Floats, resample


def bootstrap_spearman(
    x: Floats, y: Floats, grouping: Grouping, *, seed: int, n_resamples: int
) -> Floats:
    """Return Spearman's r of resamples of whole clusters, each resample ranked anew.

    Resamples in which one side is constant have no r and are left out.
    """
    (x_codes, _), (y_codes, _) = dense_codes(x), dense_codes(y)
    g = grouping.n_clusters

    def statistic(rows: NDArray[np.int64]) -> Floats:
        cells = rows + g * np.arange(len(rows))[:, np.newaxis]
        drawn = np.bincount(cells.ravel(), minlength=g * len(rows)).reshape(len(rows), g)
        weights = np.take(drawn, grouping.codes, axis=1).astype(np.float64)
        a, b = _centred_ranks(weights, x_codes), _centred_ranks(weights, y_codes)
        weighted = weights * a
        scale = np.einsum("ij,ij->i", weighted, a) * np.einsum("ij,ij->i", weights * b, b)
        cross = np.einsum("ij,ij->i", weighted, b)
        defined = scale > 0
        r: Floats = np.clip(cross[defined] / np.sqrt(scale[defined]), -1.0, 1.0)
        return r

    return resample(statistic, g, n_resamples, seed)


def _centred_ranks(weights: Floats, codes: NDArray[np.int64]) -> Floats:
    """Return the rank of every point in resamples that hold it ``weights`` times, around 0."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.add.reduceat(np.take(weights, order, axis=1), starts, axis=1)
    # The mean of m average ranks is always (m + 1) / 2.
    middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
    centred: Floats = np.take(places(counts), codes, axis=1) - middle
    return centred
