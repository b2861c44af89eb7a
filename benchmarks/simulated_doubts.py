"""Simulated comparisons over uneven repositories, and with tasks that one arm lost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from simulated_draws import generator
from simulated_studies import N_RESAMPLES, Row, flagged, percent

from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.resampling import Floats
from retrieval_eval.stats.robustness import mean_of_worst, mean_test

SWE_BENCH_VERIFIED = (231, 75, 44, 34, 32, 22, 22, 19, 10, 8, 2, 1)
"""Tasks of its twelve repositories."""

SPREAD = 0.4
"""Standard deviation of the differences of tasks inside a repository."""


def uneven_row(n: int, tau: float, effect: float, studies: int) -> Row:
    """Count verdicts and coverage where every repository has an effect of its own."""
    g = generator("uneven", n, tau, effect)
    sizes = [max(1, round(size * n / 500)) for size in SWE_BENCH_VERIFIED]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    hits, verdicts, widths, detectable = [], [], [], []
    for study in range(studies):
        own = g.normal(effect, tau, len(sizes))[labels]
        found = compare_paired(
            np.zeros(len(labels)),
            own + g.normal(0, SPREAD, len(labels)),
            seed=study,
            n_resamples=N_RESAMPLES,
            clusters=labels.tolist(),
        )
        low, high = found.interval.low.value, found.interval.high.value
        hits.append(low <= effect <= high)
        verdicts.append(not low <= 0 <= high and found.p_value.value < 0.05)
        widths.append(high - low)
        detectable.append(found.smallest_detectable_difference.value)
    means = [f"{np.mean(values):.2f}" for values in (widths, detectable)]
    return [str(n), f"{tau:g}", f"{effect:g}", percent(verdicts), flagged(percent(hits)), *means]


def _recall(g: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    return g.integers(0, 5, n) / 4, g.integers(0, 5, n) / 4


def _close(g: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    before = np.clip(g.normal(0.5, 0.2, n), 0, 1)
    return before, np.clip(before + g.normal(0, 0.2, n), 0, 1)


def _rewards(g: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    chance = g.uniform(0, 1, n)
    return (g.random(n) < chance) * 1.0, (g.random(n) < chance) * 1.0


ARMS: dict[str, Callable[[np.random.Generator, int], tuple[Floats, Floats]]] = {
    "recall of four files, arms apart": _recall,
    "normal, arms alike": _close,
    "rewards of 0 or 1": _rewards,
}


def missing_row(name: str, n: int, share: float, studies: int) -> Row:
    """Count the gains that equal arms show where the comparison lost its worst tasks."""
    g = generator("missing", name, n, share)
    m = max(1, round(share * n))
    shown: dict[str, list[tuple[bool, bool]]] = {"value": [], "difference": []}
    for _ in range(studies):
        before, after = ARMS[name](g, n)
        for by, key in (("value", after), ("difference", after - before)):
            order = np.lexsort((g.random(n), key))
            lost, seen = order[:m], (after - before)[order[m:]]
            is_clear = _is_gain(seen)
            worst = np.maximum(mean_of_worst(seen, m), -before[lost])
            shown[by].append((is_clear, is_clear and _is_gain(np.concatenate([seen, worst]))))
    rates = [percent(column) for by in shown.values() for column in zip(*by, strict=True)]
    return [name, str(n), str(m), *rates]


def _is_gain(differences: Floats) -> bool:
    found = mean_test(differences)
    return found is not None and found.mean > 0 and found.is_clear(0.05)
