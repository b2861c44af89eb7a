"""Simulated studies whose truth is known: each function returns one row of a table.

Every row has a generator of its own, seeded by its name, so that neither the order of the rows
nor the number of processes changes a number. `simulation.py` runs them and prints the tables.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import spearmanr

from retrieval_eval.stats.clusters import group
from retrieval_eval.stats.correlation import spearman
from retrieval_eval.stats.intervals import Interval, bootstrap_mean
from retrieval_eval.stats.multiplicity import benjamini_hochberg, holm
from retrieval_eval.stats.power import detectable_by_sign_flips
from retrieval_eval.stats.rank_bootstrap import bootstrap_spearman
from retrieval_eval.stats.resampling import Floats, mirrored_quantiles
from retrieval_eval.stats.sign_flips import sign_flip_p
from retrieval_eval.stats.time_to_event import time_to_event

Draw = Callable[[np.random.Generator, int], Floats]
Pair = tuple[Floats, Floats]
Row = list[str]

N_RESAMPLES = 999
PROMISED = (93.0, 97.0)


def grid(values: Sequence[float], shares: Sequence[float]) -> tuple[Draw, float]:
    return (lambda g, n: g.choice(values, n, p=shares)), float(np.dot(values, shares))


def sparse(draw: Draw, mean: float) -> tuple[Draw, float]:
    return (lambda g, n: np.where(g.random(n) < 0.6, 0.0, draw(g, n))), 0.4 * mean


THIRDS = [i / 3 for i in range(-3, 4)]
QUARTERS = [i / 4 for i in range(-4, 5)]
DIFFERENCES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, n: g.normal(0.3, 1, n), 0.3),
    "heavy tails (t, 3 df)": (lambda g, n: 0.3 + g.standard_t(3, n), 0.3),
    "skewed: exponential − 0.5": (lambda g, n: g.exponential(1, n) - 0.5, 0.5),
    "skewed: lognormal(σ = 0.5) − 1": (
        lambda g, n: g.lognormal(0, 0.5, n) - 1,
        math.exp(0.125) - 1,
    ),
    "very skewed: lognormal(σ = 1) − 1": (lambda g, n: g.lognormal(0, 1, n) - 1, math.exp(0.5) - 1),
    "tied: thirds from −1 to 1": grid(THIRDS, [0.02, 0.05, 0.1, 0.3, 0.23, 0.17, 0.13]),
    "tied: quarters, 35 % zeros": grid(
        QUARTERS, [0.04, 0.04, 0.05, 0.07, 0.35, 0.2, 0.12, 0.08, 0.05]
    ),
    "tied, one-sided: 0, ⅓, ⅔, 1": grid(THIRDS[3:], [0.5, 0.3, 0.12, 0.08]),
    "60 % zeros, else normal(0.2, 0.4)": sparse(lambda g, n: g.normal(0.2, 0.4, n), 0.2),
    "60 % zeros, else normal(1, 1)": sparse(lambda g, n: g.normal(1, 1, n), 1.0),
    "60 % zeros, else uniform(−0.5, 1)": sparse(lambda g, n: g.uniform(-0.5, 1, n), 0.25),
    "60 % zeros, else thirds": sparse(*grid(THIRDS, [0, 0.1, 0.2, 0, 0.4, 0.2, 0.1])),
    "60 % zeros, else −1 or 1": grid([-1, 0, 1], [0.1, 0.6, 0.3]),
    "60 % zeros, else exponential": sparse(lambda g, n: g.exponential(1, n), 1.0),
    "60 % zeros, else exponential − 0.5": sparse(lambda g, n: g.exponential(1, n) - 0.5, 0.5),
}
ARMS: dict[str, Draw] = {
    "normal": lambda g, n: g.normal(0, 1, n),
    "lognormal(σ = 1)": lambda g, n: g.lognormal(0, 1, n),
    "recall in thirds": lambda g, n: g.choice(THIRDS[3:], n, p=[0.1, 0.2, 0.3, 0.4]),
    "reward 0 or 1": lambda g, n: (g.random(n) < 0.7).astype(float),
    "equal in 60 % of the tasks": lambda g, n: g.exponential(1, n),
}


def generator(*name: object) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(zlib.crc32(repr(name).encode())))


def percent(hits: Iterable[bool | float]) -> str:
    return f"{100 * np.mean(list(hits)):.1f}"


def flagged(value: str) -> str:
    """Mark a coverage that is not what was promised."""
    return value if PROMISED[0] <= float(value) <= PROMISED[1] else f"**{value}**"


def between(low: float, high: float, truth: float) -> bool:
    # A grid's mean and its truth differ by rounding where they are equal.
    return low - 1e-12 <= truth <= high + 1e-12


def holds(interval: Interval, truth: float) -> bool | None:
    """Return whether the interval holds the truth, or None where there is no interval."""
    low, high = interval.low.value, interval.high.value
    return None if low is None or high is None else between(low, high, truth)


def others(x: Floats, g: np.random.Generator) -> list[tuple[float, float]]:
    """Return the intervals not taken: Student's, BCa, and the bootstrap-t by itself."""
    n, mean = len(x), x.mean()
    centred, error = x - mean, x.std(ddof=1) / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.975)) * error
    rows = centred[g.integers(0, n, (N_RESAMPLES, n))]
    means, spreads = rows.mean(axis=1), rows.std(axis=1, ddof=1)
    below = (np.sum(means < 0) + 0.5 * np.sum(means == 0)) / N_RESAMPLES
    bias = float(ndtri(min(max(below, 1e-3), 1 - 1e-3)))
    acceleration = float(np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5))
    z = bias + ndtri(np.array([0.025, 0.975]))
    bca = mean + np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))
    has_spread = spreads > 1e-12 * error
    t = means[has_spread] / spreads[has_spread] * math.sqrt(n)
    low, high = mirrored_quantiles(t, 0.95) or (0.0, 0.0)
    return [
        (mean - half, mean + half),
        (float(bca[0]), float(bca[1])),
        (mean - high * error, mean - low * error),
    ]


def mean_row(name: str, n: int, studies: int) -> Row:
    draw, truth = DIFFERENCES[name]
    g = generator("mean", name, n)
    hits: list[list[bool]] = [[], [], [], []]
    widths = []
    for study in range(studies):
        x = draw(g, n)
        found = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES)
        hit = holds(found, truth)
        if hit is None:
            continue
        rest = others(x, g)
        for place, one in enumerate([hit, *(between(*ends, truth) for ends in rest)]):
            hits[place].append(one)
        widths.append((found.high.value - found.low.value) / (rest[0][1] - rest[0][0]))
    missing = f"{100 * (1 - len(widths) / studies):.1f}"
    shown = [percent(h) for h in hits]
    return [name, str(n), flagged(shown[0]), missing, f"{np.median(widths):.2f}", *shown[1:]]


def cluster_row(n_clusters: int, shared: float, studies: int) -> Row:
    """Cover the mean over pairs when pairs of one cluster share part of their difference."""
    g = generator("cluster", n_clusters, shared)
    hits: tuple[list[bool], ...] = ([], [], [], [])
    for study in range(studies):
        sizes = g.integers(1, 6, n_clusters)
        labels = np.repeat(np.arange(n_clusters), sizes)
        common = g.exponential(1, n_clusters)[labels] - 1
        x = math.sqrt(shared) * common + math.sqrt(1 - shared) * (g.exponential(1, len(labels)) - 1)
        symmetric = x * g.choice([-1.0, 1.0], n_clusters)[labels]
        for place, clusters in enumerate((labels.tolist(), None)):
            found = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES, clusters=clusters)
            hits[place].append(holds(found, 0.0) is True)
            p = sign_flip_p(symmetric, seed=study, n_resamples=999, clusters=clusters)[0].value
            hits[place + 2].append(p is not None and p < 0.05)
    shown = [percent(h) for h in hits]
    return [str(n_clusters), f"{shared:.1f}", flagged(shown[0]), *shown[1:]]


def decide(x: Floats, study: int) -> tuple[bool, bool]:
    """Return whether the test alarms, and whether the verdict is better or worse."""
    p = sign_flip_p(x, seed=study, n_resamples=N_RESAMPLES)[0].value
    if p is None or p >= 0.05:
        return False, False
    ends = bootstrap_mean(x, seed=study, n_resamples=N_RESAMPLES)
    # Differences that are all the same have no interval; then the test alone decides.
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
    draws: dict[str, Draw] = {
        "normal": lambda g, n: g.normal(0, 1, n),
        "uniform": lambda g, n: g.uniform(-math.sqrt(3), math.sqrt(3), n),
        "logistic": lambda g, n: g.logistic(0, math.sqrt(3) / math.pi, n),
    }
    planted = detectable_by_sign_flips(1.0, n).value or 0.0
    found = [decide(planted + draws[name](g, n), study) for study in range(studies)]
    return [
        name,
        str(n),
        f"{planted:.2f}",
        *(percent(column) for column in zip(*found, strict=True)),
    ]


def family_row(kind: str, n_true: int, studies: int) -> Row:
    """Adjust correlated tests: 20 associations over 40 tasks, or 11 metrics over 12 pairs."""
    g = generator("family", kind, n_true)
    any_false, shares, found = [], [], []
    for study in range(studies):
        if kind.startswith("Benjamini"):
            # All nulls share one factor within each side; the true ones are pairs of their own.
            xs = 0.7 * g.normal(size=(40, 1)) + 0.7 * g.normal(size=(40, 20))
            ys = 0.7 * g.normal(size=(40, 1)) + 0.7 * g.normal(size=(40, 20))
            ys[:, :n_true] += 0.7 * xs[:, :n_true]
            p_values = [
                spearman(xs[:, i], ys[:, i], seed=study, n_resamples=1).p_value.value
                for i in range(20)
            ]
            adjusted = benjamini_hochberg(p_values).values
        else:
            x = 0.7 * g.normal(size=(12, 1)) + 0.7 * g.normal(size=(12, 11))
            x[:, :n_true] += 1.0
            adjusted = holm([sign_flip_p(x[:, i], seed=study)[0].value for i in range(11)]).values
        rejected = [q is not None and q < 0.05 for q in adjusted]
        false = sum(rejected[n_true:])
        any_false.append(false > 0)
        shares.append(false / max(1, sum(rejected)))
        found.append(sum(rejected[:n_true]) / max(1, n_true))
    power = percent(found) if n_true else "–"
    return [kind, str(len(adjusted)), str(n_true), percent(any_false), percent(shares), power]


def normal_pair(r: float, change: Callable[[Floats], Floats] = np.asarray) -> Callable[..., Pair]:
    def draw(g: np.random.Generator, n: int) -> Pair:
        a = g.normal(size=n)
        return change(a), change(r * a + math.sqrt(1 - r * r) * g.normal(size=n))

    return draw


def fan(g: np.random.Generator, n: int) -> Pair:
    a = g.normal(size=n)
    return a, a * g.normal(size=n)


ASSOCIATIONS: dict[str, Callable[..., Pair]] = {
    "normal, r = 0": normal_pair(0.0),
    "normal, r = 0.6": normal_pair(0.6),
    "normal, r = 0.9": normal_pair(0.9),
    "four tied levels, r = 0.3": normal_pair(0.3, lambda a: np.clip(np.round(1.2 * a), -2, 1)),
    "four tied levels, r = 0.7": normal_pair(0.7, lambda a: np.clip(np.round(1.2 * a), -2, 1)),
    "60 % zeros on both sides, r = 0.4": normal_pair(0.4, lambda a: np.where(a < 0.25, 0.0, a)),
    "no correlation, y fans out with x": fan,
}


def two_rows_a_task(g: np.random.Generator, n: int) -> Pair:
    """Return two rows of each of n / 2 tasks that share most of x and of y, r = .5 between."""
    shared, own = normal_pair(0.5)(g, n // 2), normal_pair(0.5)(g, n)
    sides = (
        math.sqrt(0.8) * np.repeat(common, 2) + math.sqrt(0.2) * single
        for common, single in zip(shared, own, strict=True)
    )
    x, y = sides
    return x, y


def association_row(name: str, n: int, studies: int) -> Row:
    is_clustered = name.startswith("two rows")
    draw = two_rows_a_task if is_clustered else ASSOCIATIONS[name]
    clusters = [i // 2 for i in range(n)] if is_clustered else None
    g = generator("association", name, n)
    truth = float(spearmanr(*draw(g, 500_000)).statistic)
    hits: tuple[list[bool], ...] = ([], [], [])
    for study in range(studies):
        x, y = draw(g, n)
        found = spearman(x, y, seed=study, n_resamples=N_RESAMPLES, clusters=clusters)
        hit = holds(found.interval, truth)
        if hit is None:
            continue
        r = min(max(found.r.value, -1 + 1e-9), 1 - 1e-9)
        half = 1.959964 * math.sqrt((1 + r * r / 2) / (n - 3))
        drawn = bootstrap_spearman(x, y, group(clusters, n), seed=study, n_resamples=N_RESAMPLES)
        hits[0].append(hit)
        hits[1].append(between(*np.tanh([math.atanh(r) - half, math.atanh(r) + half]), truth))
        hits[2].append(between(*np.quantile(drawn, [0.025, 0.975]), truth))
    missing = f"{100 * (1 - len(hits[0]) / studies):.1f}"
    shown = [percent(h) for h in hits]
    return [name, str(n), f"{abs(truth):.2f}", flagged(shown[0]), missing, *shown[1:]]


def censored_row(n: int, end: float, studies: int) -> Row:
    """Cover restricted mean and median of exponential times (mean 1), watching ends by ``end``."""
    g = generator("censored", n, end)
    until = 0.8 * end
    hits: tuple[list[bool], list[bool]] = ([], [])
    for study in range(studies):
        times, ends = g.exponential(1, n), g.uniform(until, 1.2 * end, n)
        found = time_to_event(
            np.minimum(times, ends), times <= ends, seed=study, until=until, n_resamples=N_RESAMPLES
        )
        hit = holds(found.restricted_mean_interval, 1 - math.exp(-until))
        if hit is not None:
            hits[0].append(hit)
        # An end of the median that was not reached lies beyond what was watched.
        low, high = found.median_interval.low.value, found.median_interval.high.value
        is_above = low is not None and low <= math.log(2)
        hits[1].append(is_above and (high is None or math.log(2) <= high))
    never = (math.exp(-until) - math.exp(-1.2 * end)) / (0.4 * end)
    return [str(n), f"{100 * never:.0f}", *(flagged(percent(h)) for h in hits)]
