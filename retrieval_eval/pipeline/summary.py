"""The run summary: counts that add up, and aggregates per configuration."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from retrieval_eval.metrics.catalog import BY_NAME, Metric, read_metric, summarised
from retrieval_eval.metrics.taxonomy import LABELS
from retrieval_eval.pipeline.naming import EVENTS_SUFFIX, METRICS_SUFFIX
from retrieval_eval.records import Exclusion
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.study.trials import SCALES_DIFFER, open_suites
from retrieval_eval.values import Value, mean

Document = Mapping[str, Any]


def run_summary(
    run_id: str,
    rows: Sequence[tuple[str, Document]],
    excluded: Sequence[Exclusion],
    k_values: Sequence[int],
) -> dict[str, Any]:
    """Return the summary document of a run, without ``generated_at``.

    Parameters
    ----------
    rows
        The stem of the artefacts and the metric document of every trial, in order.
    excluded
        What discovery left out.
    """
    documents = [document for _, document in rows]
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "parameters": {"k_values": list(k_values)},
        "counts": counts(documents, excluded),
        "configs": config_aggregates(documents),
        "trials": [_trial_row(stem, document) for stem, document in rows],
        "excluded": [
            {
                "path": e.path.name,
                "config_name": e.config_name,
                "reason": e.reason,
                "detail": e.detail,
            }
            for e in excluded
        ],
    }


def _trial_row(stem: str, document: Document) -> dict[str, Any]:
    provenance, reason = document["provenance"], document["coverage"]["degraded_reason"]
    names = ("config_name", "benchmark", "task_name", "trial_name", "batch_timestamp")
    block = document["file_level_metrics"]
    return {
        **{name: provenance[name] for name in names},
        "status": "degraded" if reason else "evaluated",
        "reason": reason,
        "computable": bool(block.get("computable")),
        "not_computable_reason": block.get("reason"),
        "events_file": f"{stem}{EVENTS_SUFFIX}",
        "metrics_file": f"{stem}{METRICS_SUFFIX}",
    }


def config_aggregates(documents: Iterable[Document]) -> dict[str, Any]:
    """Return the aggregates of every configuration over its trials.

    Repeats of a task are averaged first, so that ``n`` counts tasks.
    """
    groups: dict[str, list[Document]] = defaultdict(list)
    rewards = []
    for document in documents:
        groups[document["provenance"]["config_name"]].append(document)
        if (reward := read_metric(document, BY_NAME["reward"]).value) is not None:
            rewards.append((document["provenance"]["benchmark"], reward))
    unscaled = open_suites(rewards)
    return {config: _aggregate(groups[config], unscaled) for config in sorted(groups)}


def _aggregate(documents: Sequence[Document], unscaled: Collection[str]) -> dict[str, Any]:
    tasks = task_groups(documents)
    files = [d["file_level_metrics"] for d in documents]
    return {
        "n_trials": len(documents),
        "n_tasks": len(tasks),
        "n_computable": sum(bool(block.get("computable")) for block in files),
        "metrics": {m.name: _over_tasks(tasks, m, unscaled) for m in summarised()},
        "never_hit": {
            "count": sum(bool(block.get("never_hit")) for block in files),
            "denominator": sum(bool(block.get("computable")) for block in files),
        },
        "error_taxonomy": {label: _pooled_rate(documents, label) for label in LABELS},
        "events_by_category": _sum(d["event_summary"]["events_by_category"] for d in documents),
        "ledger": _sum(
            {k: v for k, v in d["ledger"].items() if isinstance(v, int)} for d in documents
        ),
        "found_by": _sum(block.get("found_by", {}) for block in files),
        "n_ground_truth": sum(block.get("n_ground_truth", 0) for block in files),
        "harnesses": _names(documents, "harness"),
        "harness_versions": _names(documents, "harness_version"),
        "models": _names(documents, "model"),
    }


def task_groups(documents: Iterable[Document]) -> dict[tuple[str, str], list[Document]]:
    """Return the documents of one configuration grouped by benchmark and task."""
    groups: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in documents:
        provenance = document["provenance"]
        groups[provenance["benchmark"], provenance["task_name"]].append(document)
    return dict(sorted(groups.items()))


def _over_tasks(
    tasks: Mapping[tuple[str, str], Sequence[Document]], metric: Metric, unscaled: Collection[str]
) -> dict[str, Any]:
    known = {
        task: [_read(document, metric, is_open=task[0] in unscaled) for document in group]
        for task, group in tasks.items()
    }
    values = [mean(own) for own in known.values()]
    lost = Counter(
        str(own[0].reason)
        for own, value in zip(known.values(), values, strict=True)
        if not value.computable
    )
    suites = {suite for (suite, _), own in known.items() if any(v.computable for v in own)}
    if metric.name == "reward" and len(suites) > 1 and not suites.isdisjoint(unscaled):
        values = [Value.missing(SCALES_DIFFER) for _ in values]
        lost = Counter({SCALES_DIFFER: len(values)})
    numbers = [v.value for v in values if v.value is not None]
    overall = mean(values)
    return {
        "mean": overall.value,
        "median": statistics.median(numbers) if numbers else None,
        "n": len(numbers),
        "n_not_computable": len(values) - len(numbers),
        "reasons": dict(sorted(lost.items())),
        "direction": metric.direction,
        "unit": metric.unit,
    }


def _read(document: Document, metric: Metric, *, is_open: bool) -> Value:
    """Return a number of a trial; a reward off the scale of its suite is none."""
    value = read_metric(document, metric)
    if metric.name != "reward" or is_open or value.value is None or 0 <= value.value <= 1:
        return value
    return Value.missing("reward_off_scale")


def _pooled_rate(documents: Sequence[Document], label: str) -> dict[str, Any]:
    """Pool counts and denominators over the trials: a file counts once a trial."""
    rates = [
        d["error_taxonomy"]["rates"][label]
        for d in documents
        if d["error_taxonomy"].get("computable")
    ]
    count = sum(r["count"] for r in rates)
    denominator = sum(r["denominator"] for r in rates)
    return {
        "count": count,
        "denominator": denominator,
        "denominator_of": LABELS[label],
        "rate": count / denominator if denominator else None,
        "n_trials": len(rates),
    }


def _sum(blocks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for block in blocks:
        total.update(block)
    return dict(sorted(total.items()))


def _names(documents: Sequence[Document], key: str) -> list[str]:
    return sorted({str(d["provenance"][key]) for d in documents if d["provenance"].get(key)})


def counts(documents: Sequence[Document], excluded: Sequence[Exclusion]) -> dict[str, int]:
    """Return how many trials were found and what became of them.

    ``trials_found`` is ``evaluated`` + ``degraded`` + ``excluded``; ``simulated`` is only counted
    where a trial is.
    """
    degraded = sum(bool(d["coverage"]["degraded_reason"]) for d in documents)
    simulated = sum(d["provenance"].get("is_simulated") is True for d in documents)
    return {
        "trials_found": len(documents) + len(excluded),
        "evaluated": len(documents) - degraded,
        "degraded": degraded,
        "excluded": len(excluded),
        "without_trace": sum(d["coverage"]["trace_source"] is None for d in documents),
        "without_ground_truth": sum(not d["coverage"]["has_ground_truth"] for d in documents),
        "computable": sum(bool(d["file_level_metrics"].get("computable")) for d in documents),
        **({"simulated": simulated} if simulated else {}),
    }
