"""The ROC of refusing by the top score: its points, the area under it, and an interval of that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from retrieval_eval.model.search_run import RocPoint
from retrieval_eval.stats import MIN_VALUES
from retrieval_eval.stats.resampling import Floats
from retrieval_eval.values import Interval, Value

METHOD: Final = "delong_newcombe"


def roc_points(unanswerable: Sequence[float], answerable: Sequence[float]) -> tuple[RocPoint, ...]:
    """Return the ROC from (0, 0) to (1, 1), one point for every distinct top score.

    The points are those of scikit-learn's ``roc_curve`` (``drop_intermediate=False``) with
    unanswerable queries as the positives and minus the top score as their score.

    Parameters
    ----------
    unanswerable, answerable
        The top score of every query, -inf where nothing came back: refused at every threshold.

    Returns
    -------
    tuple of RocPoint
        What refusing every query scored below the threshold of a point does. The threshold is None
        at an end that no score reaches: answering also what came back empty, and refusing
        everything. Empty when there are no queries of either kind.

    Examples
    --------
    >>> [(p.threshold, p.true_positive_rate) for p in roc_points([1.0, 2.0], [2.0, 3.0])]
    [(1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (None, 1.0)]
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    if not len(low) or not len(high):
        return ()
    scores = np.unique(np.concatenate([low, high]))
    thresholds: list[float] = scores[np.isfinite(scores)].tolist()
    # What came back empty is refused at every threshold, so that none answers everything.
    points = [_point(None, 0.0, 0.0)] if len(thresholds) < len(scores) else []
    for threshold in thresholds:
        refused = (float(np.searchsorted(part, threshold)) / len(part) for part in (low, high))
        points.append(_point(threshold, *refused))
    return (*points, _point(None, 1.0, 1.0))


def _point(threshold: float | None, caught: float, refused: float) -> RocPoint:
    return RocPoint(threshold=threshold, true_positive_rate=caught, false_refusal_rate=refused)


def auc(unanswerable: Sequence[float], answerable: Sequence[float]) -> Value:
    """Return the area under the ROC: how often an answerable query outscores an unanswerable one.

    Ties count half (Mann-Whitney; Hanley & McNeil 1982). ``n`` counts all queries. Not computable
    without queries of either kind (``one_class_only``).

    Examples
    --------
    >>> auc([1.0, 2.0], [2.0, 3.0]).value
    0.875
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    n = len(low) + len(high)
    if not len(low) or not len(high):
        return Value.missing("one_class_only", n)
    # Twice the number of pairs, so that the sum is whole and rounded once.
    above = 2 * len(high) * len(low) - int(_below_twice(high, low).sum())
    return Value.of(above / (2 * len(low) * len(high)), n)


def auc_interval(
    unanswerable: Sequence[float], answerable: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Return an interval of the area under the ROC.

    Each end is the farther one of two: DeLong's (DeLong, DeLong & Clarke-Pearson 1988) on the
    logit scale with Welch's degrees of freedom, which holds whatever the scores' spreads but is
    short near 1, and Newcombe's fifth (2006), which is the other way round and the only one where
    the scores separate both kinds completely.

    Not computable with fewer than three queries of either kind (``too_few_values``), or when all
    scores are equal (``constant_input``).
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    m, n = len(low), len(high)
    if min(m, n) < MIN_VALUES:
        return Interval.missing("too_few_values", m + n, confidence, METHOD)
    if min(low[0], high[0]) == max(low[-1], high[-1]):
        return Interval.missing("constant_input", m + n, confidence, METHOD)
    area = auc(unanswerable, answerable).value
    assert area is not None
    ends = [_newcombe(area, m, n, confidence)]
    if 0 < area < 1:
        # The share of the other kind on its right side, for every query.
        shares = 1 - _below_twice(high, low) / (2 * n), _below_twice(low, high) / (2 * m)
        parts = [float(np.var(share, ddof=1)) / len(share) for share in shares]
        ends.append(_delong(area, parts, (m, n), confidence))
    bottom, top = min(end[0] for end in ends), max(end[1] for end in ends)
    return Interval.of(bottom, top, m + n, confidence, METHOD)


def _delong(
    area: float, parts: Sequence[float], sizes: Sequence[int], confidence: float
) -> tuple[float, float]:
    from scipy.special import expit, logit, stdtrit

    variance = math.fsum(parts)
    # Welch and Satterthwaite, each part weighted by its share so that small ones do not vanish.
    freedom = 1 / math.fsum(
        (part / variance) ** 2 / (size - 1) for part, size in zip(parts, sizes, strict=True)
    )
    half = stdtrit(freedom, (1 + confidence) / 2) * math.sqrt(variance) / (area * (1 - area))
    return float(expit(logit(area) - half)), float(expit(logit(area) + half))


def _newcombe(area: float, m: int, n: int, confidence: float) -> tuple[float, float]:
    """Solve for the true areas from which the found one lies just z standard errors away."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    size = (m + n) / 2 - 1

    def excess(truth: float) -> float:
        spread = 1 + size * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        return (truth - area) ** 2 - z * z * truth * (1 - truth) * spread / (m * n)

    # An area of 0 or 1 is itself a root, and the only one on its side.
    low = 0.0 if area == 0 else brentq(excess, 0.0, min(area, 1 - 1e-9), xtol=1e-12)
    high = 1.0 if area == 1 else brentq(excess, max(area, 1e-9), 1.0, xtol=1e-12)
    return float(low), float(high)


def _below_twice(sorted_scores: Floats, queries: Floats) -> Floats:
    """Return for each query twice the number of scores below its own, ties counted once."""
    found: Floats = np.searchsorted(sorted_scores, queries, "left").astype(np.float64)
    return found + np.searchsorted(sorted_scores, queries, "right")


def _sorted(scores: Sequence[float]) -> Floats:
    return np.sort(np.asarray(scores, dtype=np.float64))
