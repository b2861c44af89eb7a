"""Associations of retrieval with outcomes: pooled, within config and suite, and of changes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from retrieval_eval.metrics.catalog import BY_NAME, read_metric
from retrieval_eval.study.arms import Document, task_of
from retrieval_eval.study.pairs import Pair
from retrieval_eval.study.rewards import SCALES_DIFFER, are_poolable
from retrieval_eval.study.settings import Settings
from retrieval_eval.values import Value, mean, signed

RETRIEVAL_METRICS: Final = (
    "file_recall",
    "mrr",
    "ndcg@10",
    "context_efficiency",
    "util_read_overlap_with_relevant_files",
)
OUTCOME_METRICS: Final = ("reward", "cost_usd", "elapsed_seconds", "total_tokens")
FAMILY: Final = tuple(product(RETRIEVAL_METRICS, OUTCOME_METRICS))
"""The family of tests, declared before any is made: every retrieval metric with every outcome."""

MIN_GROUP: Final = 5
"""A group with fewer units does not contradict the pooled sign."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One task under one configuration: its numbers with repeats averaged."""

    task: str
    config: str
    suite: str
    values: Mapping[str, Value]
    trials: tuple[Document, ...]


def associations(
    documents: Sequence[Document],
    settings: Settings,
    *,
    among: Sequence[Document] | None = None,
) -> dict[str, Any]:
    """Return the ``associations`` and their ``family``.

    Pooled over everything, and within each configuration and each suite, since pooling can turn
    a sign round. Units of one task are one cluster. The false discovery rate is controlled over
    the pooled family. Configurations and suites are those of ``among``, by default of the
    documents: one of which no trial is left has no association, and says so.
    """
    units = _units(documents)
    known: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    results: list[dict[str, Any]] = []
    for scope, group, rows in _groups(units, documents if among is None else among):
        # A run of one configuration, or of one suite, has the same units there as in all.
        same = tuple(map(id, rows))
        if same not in known:
            known[same] = _associate(rows, settings)
        results += [row | {"scope": scope, "group": group} for row in known[same]]
    pooled = [r for r in results if r["scope"] == "pooled"]
    m, method = _adjust(pooled)
    for result in pooled:
        result["sign_change"] = _changes_sign(result, results)
    for result in results:
        result["interpretation"] = _sentence(result)
    return {
        "associations": results,
        "family": {"m": m, "declared": len(pooled), "method": method},
    }


def difference_associations(pairs: Sequence[Pair], settings: Settings) -> list[dict[str, Any]]:
    """Return whether a larger change of retrieval goes with a larger change of an outcome."""
    units = []
    for pair in pairs:
        values = {}
        for name in (*RETRIEVAL_METRICS, *OUTCOME_METRICS):
            before, after = pair.values(BY_NAME[name])
            values[name] = _difference(before, after)
        task = f"{pair.benchmark}/{pair.task_name}"
        trials = (*pair.baseline, *pair.comparison)
        units.append(Unit(task, "", pair.benchmark, values, trials))
    rows = _associate(units, settings)
    _adjust(rows)
    for row in rows:
        row["interpretation"] = _sentence(row | {"group": None}, "the change of ")
    return rows


def _difference(before: Value, after: Value) -> Value:
    if before.value is None or after.value is None:
        return Value.missing(str(before.reason or after.reason))
    # Differences that are the same on paper tie; their last digits would rank them.
    return Value.of(round(after.value - before.value, 12), 1)


def _units(documents: Sequence[Document]) -> list[Unit]:
    groups: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for document in documents:
        groups[*task_of(document), str(document["provenance"]["config_name"])].append(document)
    names = (*RETRIEVAL_METRICS, *OUTCOME_METRICS)
    return [
        Unit(
            f"{suite}/{task}",
            config,
            suite,
            {n: mean(read_metric(d, BY_NAME[n]) for d in group) for n in names},
            tuple(group),
        )
        for (suite, task, config), group in sorted(groups.items())
    ]


def _groups(
    units: Sequence[Unit], among: Sequence[Document]
) -> Iterator[tuple[str, str | None, Sequence[Unit]]]:
    yield "pooled", None, units
    for config in sorted({str(d["provenance"]["config_name"]) for d in among}):
        yield "config", config, [unit for unit in units if unit.config == config]
    for suite in sorted({task_of(d)[0] for d in among}):
        yield "suite", suite, [unit for unit in units if unit.suite == suite]


def _associate(units: Sequence[Unit], settings: Settings) -> list[dict[str, Any]]:
    """Return every association of the family over some units."""
    from retrieval_eval.stats.correlation import spearman_of

    found = spearman_of(
        {
            name: [math.nan if (v := unit.values[name].value) is None else v for unit in units]
            for name in (*RETRIEVAL_METRICS, *OUTCOME_METRICS)
        },
        FAMILY,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
        clusters=[unit.task for unit in units],
    )
    has_one_scale = are_poolable(d for unit in units for d in unit.trials)
    return [
        _not_computable(metric, outcome, SCALES_DIFFER)
        | {"n": result.n, "clusters": result.n_clusters}
        if outcome == "reward" and not has_one_scale
        else {
            "retrieval_metric": metric,
            "outcome_metric": outcome,
            "n": result.n,
            "clusters": result.n_clusters,
            "computable": result.r.computable,
            "reason": result.r.reason,
            "spearman_r": result.r.value,
            "ci_low": result.interval.low.value,
            "ci_high": result.interval.high.value,
            "p_value": result.p_value.value,
            "p_method": result.p_method,
            "p_reason": result.p_value.reason,
            "q_value": None,
        }
        for (metric, outcome), result in zip(FAMILY, found, strict=True)
    ]


def _not_computable(metric: str, outcome: str, reason: str) -> dict[str, Any]:
    names = ("spearman_r", "ci_low", "ci_high", "p_value", "p_method", "q_value")
    return {
        "retrieval_metric": metric,
        "outcome_metric": outcome,
        "computable": False,
        "reason": reason,
        "p_reason": reason,
        **dict.fromkeys(names),
    }


def _adjust(rows: Sequence[dict[str, Any]]) -> tuple[int, str]:
    """Add q-values over a family; return its size and the method."""
    from retrieval_eval.stats.multiplicity import benjamini_hochberg

    adjusted = benjamini_hochberg([row["p_value"] for row in rows])
    for row, q_value in zip(rows, adjusted.values, strict=True):
        row["q_value"] = q_value
    return adjusted.m, adjusted.method


def _changes_sign(pooled: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether every group of some scope that is large enough has the other sign.

    One deviating group among many is noise; a whole scope that deviates is a pooling artefact.
    """
    if not pooled["computable"]:
        return False
    for scope in ("config", "suite"):
        signs = [
            r["spearman_r"] * pooled["spearman_r"] < 0
            for r in results
            if r["scope"] == scope
            and r["computable"]
            and r["n"] >= MIN_GROUP
            and r["retrieval_metric"] == pooled["retrieval_metric"]
            and r["outcome_metric"] == pooled["outcome_metric"]
        ]
        if signs and all(signs):
            return True
    return False


def _sentence(result: Mapping[str, Any], prefix: str = "") -> str:
    """Say what was seen; never that one thing caused the other."""
    metric = BY_NAME[result["retrieval_metric"]].label
    outcome = BY_NAME[result["outcome_metric"]].label
    what = f"{prefix}{metric} and {prefix}{outcome}"
    where = f" within {result['group']}" if result["group"] else ""
    if not result["computable"]:
        return f"No association of {what}{where} can be given (n={result['n']})."
    r = result["spearman_r"]
    sign = "positive" if r > 0 else "negative" if r < 0 else "no"
    sentence = (
        f"{sign.capitalize()} rank association of {what}{where} "
        f"(Spearman r={signed(r)}, n={result['n']}); an association, not a cause."
    )
    if result.get("sign_change"):
        sentence += " Within the groups it has the other sign: the pooled value mixes them."
    return sentence
