"""Simulated studies of the estimate that leads for each kind of metric: rows of a table."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from simulated_draws import DIFFERENCES, MEASUREMENTS, Draw, Pair, generator
from simulated_studies import N_RESAMPLES, Row, between, flagged, percent
from simulated_verdicts import trial

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.outcomes import load_outcome
from retrieval_eval.agents.study import design
from retrieval_eval.agents.study.estimates import Measure
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.verdict import headline_estimate
from retrieval_eval.model.impact import PairedEstimate
from retrieval_eval.stats.resampling import Floats

Sides = Callable[[np.random.Generator, int], Pair]
"""Both arms of a number of tasks; a time that is NaN never came."""

REAL_RUNS = "RETRIEVAL_EVAL_REAL_RUNS"
N_TRUTH = 200_000


def split(draw: Draw) -> Sides:
    """Return arms between 0 and 1 with differences that are drawn."""

    def sides(g: np.random.Generator, n: int) -> Pair:
        difference = draw(g, n)
        return np.maximum(0, -difference), np.maximum(0, difference)

    return sides


def ratio_of(noise: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Sides:
    """Return positive arms whose task is shared, the second half as high again."""

    def sides(g: np.random.Generator, n: int) -> Pair:
        task = g.lognormal(0, 0.8, n)
        first, second = noise(g, (2, n))
        return task * first, 1.5 * task * second

    return sides


def tenfold(noise: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Sides:
    """Return such arms of which one value in twenty is ten times as high."""

    def drawn(g: np.random.Generator, size: tuple[int, int]) -> Floats:
        return noise(g, size) * np.where(g.random(size) < 0.05, 10.0, 1.0)

    return ratio_of(drawn)


def times(never: float) -> Sides:
    """Return exponential times whose scale is the task's; a share of each arm never comes."""

    def sides(g: np.random.Generator, n: int) -> Pair:
        scale = g.lognormal(0, 0.5, n)
        hit = g.exponential(1, (2, n)) * scale
        hit[1] *= 0.8
        hit[g.random((2, n)) < never] = np.nan
        return hit[0], hit[1]

    return sides


def lognormal(sigma: float) -> Callable[[np.random.Generator, tuple[int, int]], Floats]:
    return lambda g, size: g.lognormal(0, sigma, size)


REAL = "positive: durations of real trials, ratio 1.5"


@cache
def durations() -> Floats:
    """Return the durations in seconds of the real trials; none where they are not at hand."""
    root = Path(os.environ.get(REAL_RUNS, os.devnull))
    folders = sorted(path.parent for path in root.glob("**/result.json"))
    found = [load_outcome(folder).elapsed_seconds for folder in folders]
    return np.array([value for value in found if value is not None])


def real(g: np.random.Generator, n: int) -> Pair:
    """Return durations drawn from those of real trials, the second half as long again."""
    first, second = g.choice(durations(), (2, n))
    return first, 1.5 * second


BOUNDED = (
    *(name for name in MEASUREMENTS if not name.startswith("cost")),
    *("tied: thirds from −1 to 1", "tied: quarters, 35 % zeros", "tied, one-sided: 0, ⅓, ⅔, 1"),
    *("60 % zeros, else uniform(−0.5, 1)", "60 % zeros, else thirds", "60 % zeros, else −1 or 1"),
)
SHAPES: dict[str, tuple[str, Sides]] = {
    **{name: ("file_recall", split((MEASUREMENTS | DIFFERENCES)[name][0])) for name in BOUNDED},
    "skewed: beta(1, 6) − 0.1": ("file_recall", split(lambda g, n: g.beta(1, 6, n) - 0.1)),
    "positive: lognormal(0.5), ratio 1.5": ("cost_usd", ratio_of(lognormal(0.5))),
    "positive: lognormal(1), ratio 1.5": ("cost_usd", ratio_of(lognormal(1.0))),
    "positive: lognormal(0.5), 5 % tenfold": ("cost_usd", tenfold(lognormal(0.5))),
    "positive: lognormal(1), 5 % tenfold": ("cost_usd", tenfold(lognormal(1.0))),
    REAL: ("cost_usd", real),
    "times, all hit": ("ttfr_seconds", times(0.0)),
    "times, 15 % never": ("ttfr_seconds", times(0.15)),
    "times, 40 % never": ("ttfr_seconds", times(0.4)),
}


HEADLINE_KINDS = {
    "mean difference: recall, nDCG, rewards": ("recall", "nDCG", "reward"),
    "mean difference: tied or skewed": ("tied", "skewed"),
    "mean difference: 60 % zeros": ("60 % zeros",),
    "ratio: costs": ("positive: lognormal",),
    "ratio: durations of real trials": (REAL,),
    "restricted mean: times, 0, 15 or 40 % never": ("times",),
}
"""Beginnings of the names of shapes, by the estimate that leads and their kind."""


def truth_of(name: str) -> Callable[[float | None], float]:
    """Return the true value of an estimate; for times it depends on the end of observation."""
    metric, sides = SHAPES[name]
    if metric == "cost_usd":
        return lambda _: 1.5
    before, after = sides(generator("truth", name), N_TRUTH)
    if metric == "file_recall":
        mean = float((MEASUREMENTS | DIFFERENCES)[name][1]) if name in BOUNDED else 1 / 7 - 0.1
        return lambda _: mean
    ordered = [np.sort(side[~np.isnan(side)]) for side in (before, after)]
    sums = [np.concatenate(([0.0], np.cumsum(side))) for side in ordered]

    def restricted(until: float | None) -> float:
        assert until is not None
        means = []
        for side, total in zip(ordered, sums, strict=True):
            early = int(np.searchsorted(side, until))
            means.append((total[early] + until * (N_TRUTH - early)) / N_TRUTH)
        return float(means[1] - means[0])

    return restricted


def headline_row(name: str, n: int, studies: int) -> Row:
    """Count how often the interval of the leading estimate holds the truth, in %."""
    metric, sides = SHAPES[name]
    if name == REAL and not len(durations()):
        return [name, str(n), "–", "–"]
    g = generator("headline", name, n)
    truth = truth_of(name)
    hits = []
    for study in range(studies):
        block = estimate(metric, sides(g, n), study)
        found = headline_estimate(block)
        if found.low is None or found.high is None:
            continue
        hits.append(between(found.low, found.high, truth(block.until)))
    missing = f"{100 * (1 - len(hits) / studies):.1f}"
    return [name, str(n), flagged(percent(hits)), missing]


def estimate(metric: str, sides: Pair, seed: int) -> PairedEstimate:
    """Return the estimate of a metric over tasks that state a repository of their own each."""
    matched = []
    for task, values in enumerate(zip(*sides, strict=True)):
        own = []
        for config, value in zip(("a", "b"), values, strict=True):
            is_missed = math.isnan(value)
            numbers = {} if is_missed else {metric: float(value)}
            if metric.startswith("ttfr"):
                numbers["censored_at_seconds"] = 1e6
            own.append((trial(task, config, numbers, never_hit=is_missed),))
        matched.append(design.Pair("suite", f"task-{task:04}", *own))
    settings = Settings(seed, N_RESAMPLES)
    return Measure(matched, (), settings)(BY_NAME[metric])
