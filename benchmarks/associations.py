"""All rank associations of a run, beside scipy's bootstrap and permutation test.

Ours computes r, interval and p-value of every retrieval metric with every outcome, pooled and
within every configuration and suite, with whole tasks as clusters. scipy is called as its manual
says for a correlation of paired samples, and knows no clusters: with a plain function of two
samples, which is called for every resample, or with one that is written for many resamples at once.
Where scipy would take hours, some pairs and resamples are measured and multiplied; the row says so.

    python benchmarks/ratios.py --only associations
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from rounds import OURS, Row, alternating, compared
from scipy import stats

from retrieval_eval.agents.study import associate
from retrieval_eval.agents.study.associations import FAMILY

SUITES = ("fix", "feature", "review")
SEED = 1


def trials(n_tasks: int, n_configs: int, n_suites: int) -> list[dict[str, Any]]:
    """Return metric documents with a number for every metric of the family, few of them tied."""
    dice = random.Random(7)
    metrics = list(dict.fromkeys(metric for pair in FAMILY for metric in pair))
    made = []
    for number in range(n_tasks):
        ease = dice.random()
        for config in range(n_configs):
            document: dict[str, Any] = {
                "provenance": {
                    "benchmark": SUITES[number % n_suites],
                    "task_name": f"task-{number:05d}",
                    "config_name": f"config-{config:03}",
                },
                "coverage": {},
                "ledger": {"calls_seen": 5},
                "file_level_metrics": {"computable": True},
                "outcome": {},
            }
            for metric in metrics:
                part = document
                for name in metric.path[:-1]:
                    part = part.setdefault(name, {})
                part[metric.path[-1]] = min(1.0, max(0.0, ease + dice.gauss(0, 0.3)))
            made.append(document)
    return made


def ours(documents: list[dict[str, Any]], n_resamples: int) -> None:
    found = associate(documents, seed=SEED, n_resamples=n_resamples)
    pooled = [row for row in found.records if row.scope == "pooled"]
    assert len(pooled) == len(FAMILY)
    assert all(row.computable and row.n == len(documents) for row in pooled)


def plain(x: Any, y: Any) -> float:
    found: float = stats.spearmanr(x, y).statistic
    return found


def vectorised(x: Any, y: Any, axis: int = -1) -> Any:
    ranks = [stats.rankdata(side, axis=axis) for side in (x, y)]
    u, v = (side - side.mean(axis=axis, keepdims=True) for side in ranks)
    return (u * v).sum(axis=axis) / np.sqrt((u**2).sum(axis=axis) * (v**2).sum(axis=axis))


def scipys(n: int, n_pairs: int, n_resamples: int, *, is_vectorised: bool) -> None:
    """Compute interval and p-value of pairs of columns."""
    rng = np.random.default_rng(SEED)
    options: dict[str, Any] = {"n_resamples": n_resamples, "vectorized": is_vectorised, "rng": rng}
    if is_vectorised:
        options["batch"] = max(1, 1_000_000 // n)
    for _ in range(n_pairs):
        x = rng.random(n)
        y = x + rng.random(n)
        statistic = vectorised if is_vectorised else plain
        # BCa, the default, also leaves out every point once.
        stats.bootstrap((x, y), statistic, paired=True, method="percentile", **options)
        shuffled = (lambda x, axis=-1, y=y: vectorised(x, y, axis)) if is_vectorised else None
        shuffled = shuffled or (lambda x, y=y: plain(x, y))
        stats.permutation_test((x,), shuffled, permutation_type="pairings", **options)


def rows(*, is_quick: bool) -> Iterator[Row]:
    """Yield the comparisons."""
    n_resamples = 100 if is_quick else 10_000
    pairs = f"{len(FAMILY)} pairs of columns, {n_resamples:,} resamples"
    few = trials(50, 1, 1)
    tasks = {
        OURS: partial(ours, few, n_resamples),
        "scipy, plain function": partial(scipys, 50, 1, n_resamples, is_vectorised=False),
        "scipy, vectorised": partial(scipys, 50, len(FAMILY), n_resamples, is_vectorised=True),
    }
    times = alternating(tasks, 1 if is_quick else 3)
    name = "scipy, plain function"
    what, row = "50 units", {"section": "statistics", "n": pairs}
    own = {OURS: times[OURS], name: [len(FAMILY) * one for one in times[name]]}
    yield from compared(own, what=f"{what}; scipy: 1 pair measured, × {len(FAMILY)}", **row)
    own = {one: times[one] for one in (OURS, "scipy, vectorised")}
    yield from compared(own, what=what, **row)

    n_tasks, part = (30, 1) if is_quick else (6_000, 10)
    many = trials(n_tasks, 2, 3)
    # Every unit is in three scopes: pooled, its configuration and its suite.
    times_more = len(FAMILY) * part * 3
    tasks = {
        OURS: partial(ours, many, n_resamples),
        "scipy, vectorised": partial(scipys, len(many), 1, n_resamples // part, is_vectorised=True),
    }
    times = alternating(tasks, 1 if is_quick else 3)
    times["scipy, vectorised"] = [times_more * one for one in times["scipy, vectorised"]]
    what = f"{len(many):,} trials of {n_tasks:,} tasks, pooled, by configuration and suite; scipy: "
    what += f"1 pair pooled with {n_resamples // part:,} resamples measured, × {times_more}"
    yield from compared(times, what=what, limit=20.0, **row)
