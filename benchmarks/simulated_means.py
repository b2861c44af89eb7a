"""Simulated studies of the mean difference: each function returns one row of a table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from simulated_draws import ARMS, COARSE, DIFFERENCES, MEASUREMENTS, SPREADS, Draw, generator
from simulated_intervals import (
    bca,
    bootstrap_t,
    resampled,
    student,
)
from simulated_studies import N_RESAMPLES, Row, between, flagged, holds, percent

from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.power import detectable_by_test_and_interval
from retrieval_eval.stats.resampling import Floats, sign_flip_p

Ints = NDArray[np.int64]
ALL_DIFFERENCES = MEASUREMENTS | DIFFERENCES | COARSE
CLUSTERED: dict[str, Draw] = {
    "skewed": lambda g, n: g.exponential(1, n) - 1,
    "normal": lambda g, n: g.normal(0, 1, n),
}


def mean_row(name: str, n: int, studies: int) -> Row:
    draw, truth = ALL_DIFFERENCES[name]
    g = generator("mean", name, n)
    hits, widths = [], []
    for study in range(studies):
        x = draw(g, n)
        found = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES)
        hit = holds(found, truth)
        if hit is None:
            continue
        rows = resampled(x, g, N_RESAMPLES)
        rest = [student(x), bca(x, rows), bootstrap_t(x, rows)]
        hits.append([hit, *(between(*ends, truth) for ends in rest)])
        widths.append((found.high.value - found.low.value) / (rest[0][1] - rest[0][0]))
    missing = f"{100 * (1 - len(widths) / studies):.1f}"
    shown = [percent(column) for column in zip(*hits, strict=True)]
    return [name, str(n), flagged(shown[0]), missing, f"{np.median(widths):.2f}", *shown[1:]]


def cluster_row(shape: str, n_clusters: int, shared: float, studies: int) -> Row:
    """Count coverage of the mean when pairs of one cluster share part of their difference."""
    draw = CLUSTERED[shape]
    g = generator("cluster", shape, n_clusters, shared)
    hits: tuple[list[bool], ...] = ([], [], [], [])
    for study in range(studies):
        sizes = g.integers(1, 6, n_clusters)
        labels = np.repeat(np.arange(n_clusters), sizes)
        common, own = draw(g, n_clusters)[labels], draw(g, len(labels))
        x = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
        symmetric = x * g.choice([-1.0, 1.0], n_clusters)[labels]
        for place, clusters in enumerate((labels.tolist(), None)):
            found = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES, clusters=clusters)
            hits[place].append(holds(found, 0.0) is True)
            p = sign_flip_p(symmetric, seed=study, n_resamples=999, clusters=clusters)[0].value
            hits[place + 2].append(p is not None and p < 0.05)
    shown = [percent(h) for h in hits]
    return [shape, str(n_clusters), f"{shared:.1f}", flagged(shown[0]), *shown[1:]]


def few_clusters_row(shape: str, n_clusters: int, shared: float, studies: int) -> Row:
    """Compare equal arms on a few clusters of uneven size, by cluster means and by tasks."""
    g = generator("few clusters", shape, n_clusters, shared)
    verdicts: tuple[list[bool], list[bool]] = ([], [])
    covered = []
    for study in range(studies):
        sizes = g.integers(1, 16, n_clusters)
        labels = np.repeat(np.arange(n_clusters), sizes)
        before, after = FEW_CLUSTERS[shape](g, labels, shared)
        for place, clusters in enumerate((labels.tolist(), None)):
            found = compare_paired(
                before, after, seed=study, n_resamples=N_RESAMPLES, clusters=clusters
            )
            low, high, p = found.interval.low.value, found.interval.high.value, found.p_value.value
            is_clear = p is not None and p < 0.05 and low is not None and not low <= 0 <= high
            verdicts[place].append(is_clear)
            if clusters is not None and low is not None:
                covered.append(low <= 0 <= high)
    shown = [percent(v) for v in verdicts]
    return [shape, str(n_clusters), f"{shared:.1f}", flagged(percent(covered)), *shown]


def _recalls(g: np.random.Generator, labels: Ints, shared: float) -> tuple[Floats, Floats]:
    """Return recalls of one to six files, with an effect of the cluster on each arm's chance."""
    task = g.normal(0, 1, len(labels))
    files = g.integers(1, 7, len(labels))
    size = math.sqrt(shared / (1 - shared))
    arms = []
    for _ in range(2):
        effect = g.normal(0, size, labels.max() + 1)[labels]
        arms.append(g.binomial(files, 1 / (1 + np.exp(-task - effect))) / files)
    return arms[0], arms[1]


def _skewed(g: np.random.Generator, labels: Ints, shared: float) -> tuple[Floats, Floats]:
    """Return costs of two equal arms, whose cluster and task parts are lognormal."""
    arms = []
    for _ in range(2):
        common, own = (
            g.lognormal(0, 0.5, labels.max() + 1)[labels],
            g.lognormal(0, 0.5, len(labels)),
        )
        arms.append(math.sqrt(shared) * common + math.sqrt(1 - shared) * own)
    return arms[0], arms[1]


FEW_CLUSTERS = {"recall of 1 to 6 files": _recalls, "cost, lognormal": _skewed}


def decide(x: Floats, study: int) -> tuple[bool, bool]:
    """Return whether the test alarms, and whether the verdict is better or worse."""
    p = sign_flip_p(x, seed=study, n_resamples=N_RESAMPLES)[0].value
    if p is None or p >= 0.05:
        return False, False
    ends = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES)
    # Differences that are all equal have no interval; then the test alone decides.
    return True, ends.low.reason == "constant_input" or holds(ends, 0.0) is False


def null_row(name: str, n: int, studies: int) -> Row:
    g = generator("null", name, n)
    alarms, verdicts = [], []
    for study in range(studies):
        x = ARMS[name](g, n) - ARMS[name](g, n)
        if name.startswith("equal"):
            x[g.random(n) < 0.6] = 0.0
        alarm, verdict = decide(x, study)
        alarms.append(alarm)
        verdicts.append(verdict)
    return [name, str(n), percent(alarms), percent(verdicts)]


def power_row(name: str, n: int, studies: int) -> Row:
    """Plant the smallest detectable difference of the true spread."""
    g = generator("power", name, n)
    planted = detectable_by_test_and_interval(1.0, n).value or 0.0
    found = [decide(planted + SPREADS[name](g, n), study) for study in range(studies)]
    return [
        name,
        str(n),
        f"{planted:.2f}",
        *(percent(column) for column in zip(*found, strict=True)),
    ]
