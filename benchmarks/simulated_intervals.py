"""Intervals of a mean from the literature that the package does not use, to compare with."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from retrieval_eval.stats.resampling import Floats, mirrored_quantiles

Ends = tuple[float, float]


def resampled(x: Floats, g: np.random.Generator, n_resamples: int) -> Floats:
    """Return resamples of the deviations from the mean, one a row."""
    drawn: Floats = (x - x.mean())[g.integers(0, len(x), (n_resamples, len(x)))]
    return drawn


def student(x: Floats) -> Ends:
    half = float(stdtrit(len(x) - 1, 0.975)) * x.std(ddof=1) / math.sqrt(len(x))
    return x.mean() - half, x.mean() + half


def bca(x: Floats, rows: Floats) -> Ends:
    """Bias-corrected and accelerated percentiles (Efron 1987)."""
    mean, centred, means = x.mean(), x - x.mean(), rows.mean(axis=1)
    below = (np.sum(means < 0) + 0.5 * np.sum(means == 0)) / len(rows)
    bias = float(ndtri(min(max(below, 1e-3), 1 - 1e-3)))
    acceleration = float(np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5))
    z = bias + ndtri(np.array([0.025, 0.975]))
    low, high = mean + np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


def bootstrap_t(x: Floats, rows: Floats) -> Ends:
    error = x.std(ddof=1) / math.sqrt(len(x))
    spreads = rows.std(axis=1, ddof=1)
    has_spread = spreads > 1e-12 * error
    t = rows.mean(axis=1)[has_spread] / spreads[has_spread] * math.sqrt(len(x))
    low, high = mirrored_quantiles(t, 0.95) or (0.0, 0.0)
    return x.mean() - high * error, x.mean() - low * error
