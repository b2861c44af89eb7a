"""``run_impact_analysis.json``: matched comparisons and associations, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval_eval.impact.associations import associations
from retrieval_eval.impact.pairs import Matching, config_pairs, match
from retrieval_eval.metrics.catalog import BY_NAME, Metric
from retrieval_eval.schema import SCHEMA_VERSION

COMPARED: Final = (
    "file_recall",
    "mrr",
    "ndcg@10",
    "ttfr_seconds",
    "ttfr_tokens",
    "context_efficiency",
    "util_read_overlap_with_relevant_files",
    "reward",
    "cost_usd",
    "elapsed_seconds",
    "total_tokens",
)
"""Metrics that are compared pair by pair."""

CONFIDENCE: Final = 0.95
N_RESAMPLES: Final = 10_000
MIN_PAIRS: Final = 3

Document = Mapping[str, Any]


def impact_analysis(documents: Sequence[Document], *, seed: int) -> dict[str, Any]:
    """Return the impact document over the trials' metric documents, without ``generated_at``.

    The result does not depend on the order of ``documents``. Language and statistics are
    associational: nothing here says that retrieval caused an outcome.
    """
    ordered = sorted(documents, key=_order)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_ids": sorted({d["provenance"]["run_id"] for d in ordered}),
        "association_only": True,
        "comparisons": [
            _comparison(match(ordered, *configs), seed) for configs in config_pairs(ordered)
        ],
        **associations(ordered, seed=seed, n_resamples=N_RESAMPLES, confidence=CONFIDENCE),
        "parameters": {"seed": seed, "n_resamples": N_RESAMPLES, "confidence": CONFIDENCE},
    }


def _order(document: Document) -> tuple[str, ...]:
    provenance = document["provenance"]
    keys = ("benchmark", "task_name", "config_name", "run_id", "batch_timestamp", "trial_name")
    return tuple(str(provenance.get(key) or "") for key in keys)


def _comparison(matching: Matching, seed: int) -> dict[str, Any]:
    metrics = {name: _compare(matching, BY_NAME[name], seed) for name in COMPARED}
    is_computable = len(matching.pairs) >= MIN_PAIRS
    return {
        "baseline_config": matching.baseline_config,
        "comparison_config": matching.comparison_config,
        "computable": is_computable,
        "reason": None if is_computable else "too_few_pairs",
        "n_tasks_baseline": matching.n_tasks_baseline,
        "n_tasks_comparison": matching.n_tasks_comparison,
        "n_pairs": len(matching.pairs),
        "excluded": [
            {"benchmark": benchmark, "task_name": task, "reason": reason}
            for (benchmark, task), reason in matching.excluded
        ],
        "metrics": metrics,
        "pairs": [
            {
                "benchmark": pair.benchmark,
                "task_name": pair.task_name,
                "n_trials_baseline": len(pair.baseline),
                "n_trials_comparison": len(pair.comparison),
                "metrics": {name: _sides(*pair.values(BY_NAME[name])) for name in COMPARED},
            }
            for pair in matching.pairs
        ],
    }


def _sides(baseline: Any, comparison: Any) -> dict[str, float | None]:
    both = baseline.computable and comparison.computable
    return {
        "baseline": baseline.value,
        "comparison": comparison.value,
        "difference": comparison.value - baseline.value if both else None,
    }


def _compare(matching: Matching, metric: Metric, seed: int) -> dict[str, Any]:
    from retrieval_eval.stats.paired import compare_paired

    sides = [pair.values(metric) for pair in matching.pairs]
    rows = [(a.value, b.value) for a, b in sides if a.value is not None and b.value is not None]
    result = compare_paired(
        [a for a, _ in rows],
        [b for _, b in rows],
        seed=seed,
        is_higher_better=metric.direction == "higher_is_better",
        n_resamples=N_RESAMPLES,
        confidence=CONFIDENCE,
    )
    return {
        "direction": metric.direction,
        "unit": metric.unit,
        "n_pairs": result.n,
        "n_not_computable": len(sides) - result.n,
        "computable": result.mean_difference.computable,
        "reason": result.mean_difference.reason,
        "mean_baseline": result.mean_baseline.value,
        "mean_comparison": result.mean_comparison.value,
        "mean_difference": result.mean_difference.value,
        "median_difference": result.median_difference.value,
        "ci_low": result.interval.low.value,
        "ci_high": result.interval.high.value,
        "ci_method": result.interval.method,
        "ci_reason": result.interval.low.reason,
        "p_value": result.p_value.value,
        "p_method": result.p_method,
        "p_reason": result.p_value.reason,
        "wins": result.wins,
        "ties": result.ties,
        "losses": result.losses,
        "rank_biserial": result.rank_biserial.value,
        "smallest_detectable_difference": result.smallest_detectable_difference.value,
    }
