"""One comparison of two configurations: validity, pairs, differences, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from retrieval_eval.events.retrieved import VIEWS
from retrieval_eval.metrics.catalog import BY_NAME, Metric, in_view
from retrieval_eval.study.arms import Document, arm, task_of
from retrieval_eval.study.associations import difference_associations
from retrieval_eval.study.discrimination import discrimination
from retrieval_eval.study.lacking import UNBOUNDED, bounds
from retrieval_eval.study.pairs import (
    Pair,
    Planned,
    clusters_of,
    excluded_tasks,
    ledger,
    match,
    planned_tasks,
)
from retrieval_eval.study.rewards import SCALES_DIFFER, are_poolable, are_unit
from retrieval_eval.study.settings import Settings
from retrieval_eval.study.slices import slices
from retrieval_eval.study.threats import (
    few_clusters,
    lacking_values,
    never_hit,
    partial_use,
    role_notes,
    scales,
)
from retrieval_eval.study.validity import RULES, Valid, screen
from retrieval_eval.values import Value, signed

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

TIMES: Final = ("ttfr_seconds", "ttfr_tokens")
"""Metrics that a trial which never finds a file lacks, because its time would be endless."""

ALPHA: Final = 0.05


def compare(
    documents: Sequence[Document], baseline: str, comparison: str, settings: Settings
) -> dict[str, Any]:
    """Return the comparison of two configurations, ``comparison`` minus ``baseline``."""
    from retrieval_eval.stats.paired import MIN_PAIRS

    arms = (arm(documents, baseline), arm(documents, comparison))
    valid = screen(*arms, settings.mcp_configs)
    pairs = match(valid)
    measure = _Measure(pairs, planned_tasks(arms, valid), settings)
    metrics = with_holm({name: measure(BY_NAME[name]) for name in COMPARED})
    reward_by_suite = _reward_by_suite(measure, metrics["reward"])
    views = _views(measure, valid)
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
        "cautions": _cautions(metrics) if verdict in {"better", "worse", "fragile"} else [],
        "threats": [
            *few_clusters(metrics[PRIMARY], pairs),
            *lacking_values(metrics[PRIMARY], arms, is_fragile=verdict == "fragile"),
            *role_notes(valid),
            *partial_use(BY_NAME[PRIMARY], valid, arms, pairs),
            *never_hit(metrics, arms),
            *scales(metrics["reward"], reward_by_suite),
        ],
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
        "reward_by_suite": reward_by_suite,
        "views": views,
        "flips": _flips(views, valid) if is_computable else [],
        "discrimination": discrimination(pairs, COMPARED),
        "difference_associations": difference_associations(pairs, settings),
        "slices": slices(pairs, settings),
        "pairs": [_pair_row(pair) for pair in pairs],
    }


@dataclass(frozen=True, slots=True)
class _Measure:
    """Compares one metric over the pairs; called once for every metric and view."""

    pairs: Sequence[Pair]
    planned: Sequence[Planned]
    settings: Settings

    def __call__(self, metric: Metric) -> dict[str, Any]:
        from retrieval_eval.stats.paired import CLUSTER_MEANS, compare_paired

        sides = [(pair, *pair.values(metric)) for pair in self.pairs]
        rows = [
            (pair, a.value, b.value)
            for pair, a, b in sides
            if a.value is not None and b.value is not None
        ]
        is_pooled = metric.name != "reward" or are_poolable(_trials(p for p, _, _ in rows))
        rows = rows if is_pooled else []
        clusters = clusters_of([pair for pair, _, _ in rows])
        result = compare_paired(
            [a for _, a, _ in rows],
            [b for _, _, b in rows],
            seed=self.settings.seed,
            is_higher_better=metric.direction == "higher_is_better",
            n_resamples=self.settings.n_resamples,
            confidence=self.settings.confidence,
            clusters=clusters.labels,
        )
        is_by_means = result.clustering == CLUSTER_MEANS
        has_range = metric.unit == "share" or (
            metric.name == "reward" and are_unit(_trials(self.pairs))
        )
        is_bounded = has_range and result.mean_difference.computable
        low, high = result.interval.low.value, result.interval.high.value
        if has_range and low is not None and high is not None:
            # With few clusters t reaches beyond what a difference of two shares can be.
            low, high = max(low, -1.0), min(high, 1.0)
        block = {
            "direction": metric.direction,
            "unit": metric.unit,
            "n_pairs": result.n,
            "n_not_computable": len(sides) - result.n,
            "computable": result.mean_difference.computable,
            "reason": result.mean_difference.reason if is_pooled else SCALES_DIFFER,
            "averaged_over": "clusters" if is_by_means else "tasks",
            "mean_baseline": result.mean_baseline.value,
            "mean_comparison": result.mean_comparison.value,
            "mean_difference": result.mean_difference.value,
            "median_difference": result.median_difference.value,
            "ci_low": low,
            "ci_high": high,
            "ci_method": result.interval.method,
            "ci_reason": result.interval.low.reason if is_pooled else SCALES_DIFFER,
            "p_value": result.p_value.value,
            "p_method": result.p_method,
            "p_reason": result.p_value.reason if is_pooled else SCALES_DIFFER,
            "wins": result.wins,
            "ties": result.ties,
            "losses": result.losses,
            "rank_biserial": result.rank_biserial.value,
            "smallest_detectable_difference": result.smallest_detectable_difference.value,
            "cluster_by": clusters.by,
            "n_clusters": clusters.n,
            **(
                bounds(self.planned, metric, clusters, is_by_means=is_by_means)
                if is_bounded
                else UNBOUNDED
            ),
        }
        return _with_never_hit(block, sides) if metric.name in TIMES else block


def _trials(pairs: Iterable[Pair]) -> Iterator[Document]:
    for pair in pairs:
        yield from (*pair.baseline, *pair.comparison)


def _with_never_hit(
    block: dict[str, Any], sides: Sequence[tuple[Pair, Value, Value]]
) -> dict[str, Any]:
    """Add to the times of tasks on which both arms found a file on how many a trial never did.

    A task on which one arm alone found a file counts as a win or a loss. Where the tasks with a
    trial that never did are not the same in both arms, the others are no fair sample of both:
    then there is neither interval nor test.
    """
    arms = ([p.baseline for p, _, _ in sides], [p.comparison for p, _, _ in sides])
    watched = [sum(any(map(_is_watched, trials)) for trials in own) for own in arms]
    missed = [[any(map(_is_never_hit, trials)) for trials in own] for own in arms]
    gains = sum(all(map(_is_never_hit, pair.baseline)) and b.computable for pair, _, b in sides)
    drops = sum(all(map(_is_never_hit, pair.comparison)) and a.computable for pair, a, _ in sides)
    block = block | {
        "wins": block["wins"] + gains,
        "losses": block["losses"] + drops,
        "n_never_baseline": sum(missed[0]),
        "n_never_comparison": sum(missed[1]),
        "n_watched_baseline": watched[0],
        "n_watched_comparison": watched[1],
    }
    if missed[0] == missed[1]:
        return block
    nothing = ("ci_low", "ci_high", "p_value", "p_method", "rank_biserial")
    reasons = dict.fromkeys(("ci_reason", "p_reason"), "never_hit_differs")
    return block | dict.fromkeys((*nothing, "smallest_detectable_difference")) | reasons


def _is_watched(document: Document) -> bool:
    return bool(document["file_level_metrics"].get("computable"))


def _is_never_hit(document: Document) -> bool:
    return bool(document["file_level_metrics"].get("never_hit"))


def _reward_by_suite(measure: _Measure, pooled: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the reward of every suite, where rewards of several suites cannot be averaged."""
    if pooled["reason"] != SCALES_DIFFER:
        return []
    return [
        {
            "benchmark": suite,
            **replace(
                measure,
                pairs=[p for p in measure.pairs if p.benchmark == suite],
                planned=[t for t in measure.planned if t.benchmark == suite],
            )(BY_NAME["reward"]),
        }
        for suite in sorted({pair.benchmark for pair in measure.pairs})
    ]


def with_holm(metrics: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add Holm's adjusted p-value over the family of metrics."""
    from retrieval_eval.stats.multiplicity import holm

    adjusted = holm([block["p_value"] for block in metrics.values()])
    return {
        name: {**block, "p_holm": value}
        for (name, block), value in zip(metrics.items(), adjusted.values, strict=True)
    }


def apparent(block: dict[str, Any]) -> str:
    """Return what the measured tasks show: better, worse or no_detectable_difference.

    A difference is only called one when the interval of its mean leaves out 0 and the test
    agrees, for each of them alone is wrong too often somewhere. Differences that are all the same
    have no interval; then the test alone decides.
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


def conclusion(block: dict[str, Any]) -> str:
    """Return what one compared metric shows, values that an arm lacks considered.

    As :func:`apparent`, but ``fragile`` where the values that were not measured could give the
    mean difference over all planned tasks the other sign, or none.
    """
    found = apparent(block)
    if found == "no_detectable_difference" or block["bound_low"] is None:
        return found
    is_up = block["mean_difference"] > 0
    worst = block["bound_low"] if is_up else -block["bound_high"]
    has_gap = block["n_lacking_baseline"] or block["n_lacking_comparison"]
    # What adds up to 0 on paper can leave a last digit.
    return "fragile" if has_gap and round(worst, 9) <= 0 else found


def permitted(block: dict[str, Any], valid: Valid) -> str:
    """Return what one compared metric shows, as far as the gate and the number of tasks allow.

    As :func:`conclusion`, but ``no_verdict`` where the gate failed and ``too_few_pairs`` where no
    test could decide. The verdict and that of every view are such.
    """
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    if valid.failed:
        return "no_verdict"
    return "too_few_pairs" if block["n_pairs"] < MIN_PAIRS_FOR_P else conclusion(block)


def _verdict(primary: dict[str, Any], valid: Valid, n_pairs: int) -> tuple[str, str]:
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    found = permitted(primary, valid)
    if found == "no_verdict":
        named = "; ".join(f"{name} ({RULES[name]})" for name in valid.failed)
        return found, f"the arms cannot be compared: {named}"
    n = primary["n_pairs"]
    if found == "too_few_pairs":
        return found, (
            f"{n} of {n_pairs} matched tasks have a {BY_NAME[PRIMARY].label}; "
            f"no test can tell a difference below {MIN_PAIRS_FOR_P}"
        )
    difference, p_value = primary["mean_difference"], primary["p_value"]
    numbers = f"mean difference {signed(difference, 3)} over {n} matched tasks"
    if primary["averaged_over"] == "clusters":
        numbers += f" (mean of {primary['n_clusters']} {primary['cluster_by']} means)"
    if p_value is not None:
        numbers += ", p < 0.001" if p_value < 0.001 else f", p = {p_value:.3f}"
    return found, f"{BY_NAME[PRIMARY].label}: {numbers}"


def _cautions(metrics: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for every outcome that clearly moves against the verdict's metric."""
    found = apparent(metrics[PRIMARY])
    sentences = []
    for name in OUTCOMES:
        shown = apparent(metrics[name])
        if {found, shown} == {"better", "worse"}:
            difference = metrics[name]["mean_difference"]
            sentences.append(
                f"{BY_NAME[PRIMARY].label} is {found}, but {BY_NAME[name].label} is {shown} "
                f"({signed(difference)} {BY_NAME[name].unit} over {metrics[name]['n_pairs']} tasks)"
            )
    return sentences


def _views(measure: Callable[[Metric], dict[str, Any]], valid: Valid) -> dict[str, Any]:
    views: dict[str, Any] = {}
    for view in VIEWS:
        blocks = {name: measure(in_view(BY_NAME[name], view)) for name in VIEWED}
        views[view] = {**blocks, "verdict": permitted(blocks[PRIMARY], valid)}
    return views


def _flips(views: dict[str, Any], valid: Valid) -> list[dict[str, Any]]:
    """Return every headline whose sign or conclusion is another under another view."""
    rows = []
    for name in VIEWED:
        default = views[VIEWS[0]][name]
        for view in VIEWS[1:]:
            there = views[view][name]
            shown = (permitted(default, valid), permitted(there, valid))
            kind = _flip(default, there, has_same_conclusion=shown[0] == shown[1])
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
                            f"({shown[0].replace('_', ' ')}) under {VIEWS[0]}, "
                            f"{signed(there['mean_difference'])} "
                            f"({shown[1].replace('_', ' ')}) under {view}"
                        ),
                    }
                )
    return rows


def _flip(
    default: dict[str, Any], there: dict[str, Any], *, has_same_conclusion: bool
) -> str | None:
    if not (default["computable"] and there["computable"]):
        return None
    if not has_same_conclusion:
        return "verdict"
    # Thirds that add up to 0 on paper leave a last digit, which has no sign.
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
