"""Intervals of a mean from the literature that the package does not use, to compare with."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

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


def smoothed(x: Floats, rows: Floats, g: np.random.Generator) -> Ends:
    """Bootstrap-t of resamples with half Silverman's noise (after Polansky & Schucany 1997)."""
    noise = 0.53 * x.std(ddof=1) * len(x) ** -0.2
    return bootstrap_t(x, rows + noise * g.normal(size=rows.shape))


def johnson(x: Floats) -> Ends:
    """Student's t shifted for skewness (Johnson 1978, to second order)."""
    low, high = student(x)
    n, t = len(x), float(stdtrit(len(x) - 1, 0.975))
    shift = skewness(x) * x.std(ddof=1) * (1 + 2 * t * t) / (6 * n)
    return low + shift, high + shift


def hall(x: Floats, rows: Floats) -> Ends:
    """Bootstrap-t of the cubic, monotone transformation that takes out skewness (Hall 1992)."""
    n = len(x)
    spreads = rows.std(axis=1)
    rows = rows[spreads > 1e-12 * x.std()]
    w, gamma = rows.mean(axis=1) / rows.std(axis=1), skewness(rows)
    transformed = w + gamma * w**2 / 3 + gamma**2 * w**3 / 27 + gamma / (6 * n)
    quantiles = np.array(mirrored_quantiles(transformed, 0.95) or (0.0, 0.0))
    own = float(skewness(x))
    if abs(own) > 1e-9:
        quantiles = 3 / own * (np.cbrt(1 + own * (quantiles - own / (6 * n))) - 1)
    low, high = x.mean() - x.std() * quantiles[::-1]
    return float(low), float(high)


def skewness(x: Floats) -> Floats:
    centred = x - x.mean(axis=-1, keepdims=True)
    found: Floats = (centred**3).mean(axis=-1) / (centred**2).mean(axis=-1) ** 1.5
    return found


def farther(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1])


def likelihood_ratio(z: Floats) -> Floats:
    """Return -2 log empirical likelihood ratio (Owen 2001) of mean 0 for every row."""
    found = np.full(len(z), np.inf)
    is_inside = (z.min(axis=1) < 0) & (z.max(axis=1) > 0)
    z = z[is_inside]
    # Every weight is at most 1, which bounds the multiplier; its equation falls in between.
    low, high = (1 / z.shape[1] - 1) / z.max(axis=1), (1 / z.shape[1] - 1) / z.min(axis=1)
    for _ in range(50):
        middle = (low + high) / 2
        is_left = (z / (1 + middle[:, np.newaxis] * z)).sum(axis=1) > 0
        low, high = np.where(is_left, middle, low), np.where(is_left, high, middle)
    found[is_inside] = 2 * np.log(1 + low[:, np.newaxis] * z).sum(axis=1)
    return found


def likelihood_holds(x: Floats, rows: Floats, truth: float) -> list[bool]:
    """Whether empirical likelihood holds the truth, calibrated by t, adjusted, and bootstrapped.

    Adjusted is with a pseudo-value opposite the mean (Chen, Variyath & Abraham 2008).
    """
    z = (x - truth)[np.newaxis]
    opposite = -max(1.0, math.log(len(x)) / 2) * z.mean(axis=1, keepdims=True)
    plain, adjusted = (likelihood_ratio(a)[0] for a in (z, np.hstack([z, opposite])))
    by_t = float(stdtrit(len(x) - 1, 0.975)) ** 2
    drawn = np.sort(likelihood_ratio(rows))[math.ceil(0.95 * (len(rows) + 1)) - 1]
    return [plain <= by_t, adjusted <= by_t, bool(plain <= drawn + 1e-9 and np.isfinite(plain))]


def calibrated_holds(x: Floats, truth: float, g: np.random.Generator, n_resamples: int) -> bool:
    """Whether the farther end of Student's and the bootstrap-t, its level calibrated, holds.

    Calibrated by a second bootstrap inside every resample (Loh 1987; Beran 1987).
    """
    n = len(x)

    def t(rows: Floats) -> Floats:
        spreads = np.maximum(rows.std(axis=-1, ddof=1), 1e-9 * x.std())
        ratio: Floats = rows.mean(axis=-1) / spreads * math.sqrt(n)
        return ratio

    def level(own: Floats, drawn: Floats) -> Floats:
        """Return the level at which the farther end just holds."""
        sides = (own >= drawn - 1e-9).mean(axis=-1), (own <= drawn + 1e-9).mean(axis=-1)
        larger: Floats = np.maximum(2 * np.minimum(*sides), 2 * stdtr(n - 1, -np.abs(own[..., 0])))
        return larger

    rows = resampled(x, g, n_resamples)
    rows = rows[rows.std(axis=1) > 1e-12 * x.std()]
    first = t(rows)
    again = g.integers(0, n, (len(rows), n_resamples, n))
    again = np.take_along_axis((rows - rows.mean(axis=1, keepdims=True))[:, np.newaxis], again, 2)
    least = np.quantile(level(first[:, np.newaxis], t(again)), 0.05, method="lower")
    return bool(level(t(x - truth)[np.newaxis], first) >= least - 1e-12)
