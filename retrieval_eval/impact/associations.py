"""Associations of retrieval metrics with outcomes: pooled, and within config and suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retrieval_eval.metrics.catalog import BY_NAME, read_metric
from retrieval_eval.values import Value, mean

RETRIEVAL_METRICS: Final = (
    "file_recall",
    "mrr",
    "ndcg@10",
    "context_efficiency",
    "util_read_overlap_with_relevant_files",
)
OUTCOME_METRICS: Final = ("reward", "cost_usd", "elapsed_seconds", "total_tokens")
"""The family of tests, declared before any is made: every retrieval metric with every outcome."""

Document = Mapping[str, Any]
Row = dict[str, Value]


def associations(
    documents: Sequence[Document], *, seed: int, n_resamples: int, confidence: float
) -> dict[str, Any]:
    """Return the ``associations`` and their ``family``.

    A unit is one task under one configuration, repeats averaged. Pooled over everything, and
    within each configuration and each suite, since pooling can turn a sign round. The false
    discovery rate is controlled over the pooled family.
    """
    from retrieval_eval.stats.correlation import spearman
    from retrieval_eval.stats.multiplicity import benjamini_hochberg

    results: list[dict[str, Any]] = []
    for scope, group, rows in _groups(documents):
        for metric in RETRIEVAL_METRICS:
            for outcome in OUTCOME_METRICS:
                xs, ys = _complete(rows, metric, outcome)
                found = spearman(xs, ys, seed=seed, n_resamples=n_resamples, confidence=confidence)
                results.append(
                    {
                        "retrieval_metric": metric,
                        "outcome_metric": outcome,
                        "scope": scope,
                        "group": group,
                        "n": found.n,
                        "computable": found.r.computable,
                        "reason": found.r.reason,
                        "spearman_r": found.r.value,
                        "ci_low": found.interval.low.value,
                        "ci_high": found.interval.high.value,
                        "p_value": found.p_value.value,
                        "p_method": found.p_method,
                        "p_reason": found.p_value.reason,
                        "q_value": None,
                    }
                )
    pooled = [r for r in results if r["scope"] == "pooled"]
    adjusted = benjamini_hochberg([r["p_value"] for r in pooled])
    for result, q_value in zip(pooled, adjusted.values, strict=True):
        result["q_value"] = q_value
    for result in results:
        result["interpretation"] = _sentence(result)
    return {
        "associations": results,
        "family": {"m": adjusted.m, "declared": len(pooled), "method": adjusted.method},
    }


def _groups(documents: Sequence[Document]) -> Iterator[tuple[str, str | None, list[Row]]]:
    units: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for document in documents:
        provenance = document["provenance"]
        keys = ("benchmark", "task_name", "config_name")
        benchmark, task, config = (str(provenance[key]) for key in keys)
        units[benchmark, task, config].append(document)
    names = (*RETRIEVAL_METRICS, *OUTCOME_METRICS)
    rows = {
        unit: {n: mean(read_metric(d, BY_NAME[n]) for d in group) for n in names}
        for unit, group in sorted(units.items())
    }
    yield "pooled", None, list(rows.values())
    for scope, place in (("config", 2), ("suite", 0)):
        for group in sorted({unit[place] for unit in rows}):
            yield scope, group, [row for unit, row in rows.items() if unit[place] == group]


def _complete(rows: Sequence[Row], metric: str, outcome: str) -> tuple[list[float], list[float]]:
    pairs = [(row[metric].value, row[outcome].value) for row in rows]
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    return [x for x, _ in known], [y for _, y in known]


def _sentence(result: Mapping[str, Any]) -> str:
    """Say what was seen; never that one thing caused the other."""
    what = (
        f"{BY_NAME[result['retrieval_metric']].label} and {BY_NAME[result['outcome_metric']].label}"
    )
    where = f" within {result['group']}" if result["group"] else ""
    if not result["computable"]:
        return f"No association of {what}{where} can be given (n={result['n']})."
    r = result["spearman_r"]
    sign = "positive" if r > 0 else "negative" if r < 0 else "no"
    return (
        f"{sign.capitalize()} rank association of {what}{where} "
        f"(Spearman r={r:+.2f}, n={result['n']}); an association, not a cause."
    )
