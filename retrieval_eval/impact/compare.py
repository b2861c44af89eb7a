"""One comparison of two configurations: validity, pairs, differences, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.events.retrieved import VIEWS
from retrieval_eval.impact.arms import Document, arm, task_of
from retrieval_eval.impact.associations import difference_associations
from retrieval_eval.impact.discrimination import discrimination
from retrieval_eval.impact.pairs import Pair, clusters_of, excluded_tasks, ledger, match
from retrieval_eval.impact.settings import Settings
from retrieval_eval.impact.slices import slices
from retrieval_eval.impact.validity import RULES, Valid, screen
from retrieval_eval.metrics.catalog import BY_NAME, Metric, in_view
from retrieval_eval.values import signed

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
"""The family of metrics that are compared pair by pair, declared before any is."""

PRIMARY: Final = "file_recall"
"""The metric the verdict is about."""

VIEWED: Final = ("file_recall", "mrr", "ndcg@10", "context_efficiency")
"""Headline metrics whose value depends on the view."""

OUTCOMES: Final = ("reward",)
"""Outcomes that retrieval is for; one that moves against the verdict is said beside it."""

ALPHA: Final = 0.05


def compare(
    documents: Sequence[Document], baseline: str, comparison: str, settings: Settings
) -> dict[str, Any]:
    """Return the comparison of two configurations, ``comparison`` minus ``baseline``."""
    from retrieval_eval.stats.paired import MIN_PAIRS

    arms = (arm(documents, baseline), arm(documents, comparison))
    valid = screen(*arms)
    pairs = match(valid)
    measure = _Measure(pairs, settings)
    metrics = with_holm({name: measure(BY_NAME[name]) for name in COMPARED})
    views = _views(measure)
    verdict, reason = _verdict(metrics[PRIMARY], valid, len(pairs))
    is_computable = len(pairs) >= MIN_PAIRS
    return {
        "baseline_config": baseline,
        "comparison_config": comparison,
        "computable": is_computable,
        "reason": None if is_computable else "too_few_pairs",
        "verdict": verdict,
        "verdict_metric": PRIMARY,
        "verdict_reason": reason,
        "cautions": _cautions(metrics) if verdict in {"better", "worse"} else [],
        "gate": {
            "passed": not valid.failed,
            "failed": valid.failed,
            "rules": [finding.to_json() for finding in valid.findings],
        },
        "ledger": ledger(arms, valid, pairs),
        "n_tasks_baseline": len({task_of(d) for d in arms[0].trials}),
        "n_tasks_comparison": len({task_of(d) for d in arms[1].trials}),
        "n_pairs": len(pairs),
        "excluded": excluded_tasks(arms, valid, pairs),
        "metrics": metrics,
        "views": views,
        "flips": _flips(views) if is_computable else [],
        "discrimination": discrimination(pairs, COMPARED),
        "difference_associations": difference_associations(pairs, settings),
        "slices": slices(pairs, settings),
        "pairs": [_pair_row(pair) for pair in pairs],
    }


@dataclass(frozen=True, slots=True)
class _Measure:
    """Compares one metric over the pairs; called once for every metric and view."""

    pairs: Sequence[Pair]
    settings: Settings

    def __call__(self, metric: Metric) -> dict[str, Any]:
        from retrieval_eval.stats.paired import compare_paired

        sides = [(pair, *pair.values(metric)) for pair in self.pairs]
        rows = [
            (pair, a.value, b.value)
            for pair, a, b in sides
            if a.value is not None and b.value is not None
        ]
        clustered_by, labels = clusters_of([pair for pair, _, _ in rows])
        result = compare_paired(
            [a for _, a, _ in rows],
            [b for _, _, b in rows],
            seed=self.settings.seed,
            is_higher_better=metric.direction == "higher_is_better",
            n_resamples=self.settings.n_resamples,
            confidence=self.settings.confidence,
            clusters=labels,
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
            "cluster_by": clustered_by,
            "n_clusters": result.n_clusters,
        }


def with_holm(metrics: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add Holm's adjusted p-value over the family of metrics."""
    from retrieval_eval.stats.multiplicity import holm

    adjusted = holm([block["p_value"] for block in metrics.values()])
    return {
        name: {**block, "p_holm": value}
        for (name, block), value in zip(metrics.items(), adjusted.values, strict=True)
    }


def conclusion(block: dict[str, Any]) -> str:
    """Return what one compared metric shows: better, worse or no_detectable_difference.

    A difference is only called one when the interval of its mean leaves out 0 and the sign-flip
    test agrees, for each of them alone is wrong too often somewhere. Differences that are all the
    same have no interval; then the test alone decides.
    """
    low, high, p_value = block["ci_low"], block["ci_high"], block["p_value"]
    if block["ci_reason"] == "constant_input":
        low = high = block["mean_difference"]
    if low is None or high is None or p_value is None:
        return "no_detectable_difference"
    if p_value >= ALPHA or low <= 0 <= high:
        return "no_detectable_difference"
    is_gain = (block["mean_difference"] > 0) == (block["direction"] == "higher_is_better")
    return "better" if is_gain else "worse"


def _verdict(primary: dict[str, Any], valid: Valid, n_pairs: int) -> tuple[str, str]:
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    if valid.failed:
        named = "; ".join(f"{name} ({RULES[name]})" for name in valid.failed)
        return "no_verdict", f"the arms cannot be compared: {named}"
    n = primary["n_pairs"]
    if n < MIN_PAIRS_FOR_P:
        return "too_few_pairs", (
            f"{n} of {n_pairs} matched tasks have a {BY_NAME[PRIMARY].label}; "
            f"no test can tell a difference below {MIN_PAIRS_FOR_P}"
        )
    found = conclusion(primary)
    difference, p_value = primary["mean_difference"], primary["p_value"]
    numbers = f"mean difference {signed(difference, 3)} over {n} matched tasks"
    if p_value is not None:
        numbers += ", p < 0.001" if p_value < 0.001 else f", p = {p_value:.3f}"
    return found, f"{BY_NAME[PRIMARY].label}: {numbers}"


def _cautions(metrics: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for every outcome that clearly moves against the verdict's metric."""
    found = conclusion(metrics[PRIMARY])
    sentences = []
    for name in OUTCOMES:
        shown = conclusion(metrics[name])
        if {found, shown} == {"better", "worse"}:
            difference = metrics[name]["mean_difference"]
            sentences.append(
                f"{BY_NAME[PRIMARY].label} is {found}, but {BY_NAME[name].label} is {shown} "
                f"({signed(difference)} {BY_NAME[name].unit} over {metrics[name]['n_pairs']} tasks)"
            )
    return sentences


def _views(measure: Callable[[Metric], dict[str, Any]]) -> dict[str, Any]:
    views: dict[str, Any] = {}
    for view in VIEWS:
        blocks = {name: measure(in_view(BY_NAME[name], view)) for name in VIEWED}
        views[view] = {**blocks, "verdict": conclusion(blocks[PRIMARY])}
    return views


def _flips(views: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every headline whose sign or conclusion is another under another view."""
    rows = []
    for name in VIEWED:
        default = views[VIEWS[0]][name]
        for view in VIEWS[1:]:
            there = views[view][name]
            kind = _flip(default, there)
            if kind is not None:
                rows.append(
                    {
                        "metric": name,
                        "view": view,
                        "kind": kind,
                        "default": default["mean_difference"],
                        "there": there["mean_difference"],
                        "sentence": (
                            f"{BY_NAME[name].label}: {signed(default['mean_difference'])} "
                            f"({conclusion(default).replace('_', ' ')}) under {VIEWS[0]}, "
                            f"{signed(there['mean_difference'])} "
                            f"({conclusion(there).replace('_', ' ')}) under {view}"
                        ),
                    }
                )
    return rows


def _flip(default: dict[str, Any], there: dict[str, Any]) -> str | None:
    if not (default["computable"] and there["computable"]):
        return None
    if conclusion(default) != conclusion(there):
        return "verdict"
    # Thirds that add up to 0 on paper leave a last digit, which has no sign to turn.
    means = (round(block["mean_difference"], 9) for block in (default, there))
    return "sign" if math.prod(means) < 0 else None


def _pair_row(pair: Pair) -> dict[str, Any]:
    sides = {name: pair.values(BY_NAME[name]) for name in COMPARED}
    return {
        "benchmark": pair.benchmark,
        "task_name": pair.task_name,
        "n_trials_baseline": len(pair.baseline),
        "n_trials_comparison": len(pair.comparison),
        "metrics": {
            name: {
                "baseline": a.value,
                "comparison": b.value,
                "difference": None if a.value is None or b.value is None else b.value - a.value,
            }
            for name, (a, b) in sides.items()
        },
    }
