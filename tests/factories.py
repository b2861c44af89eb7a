"""Small artefact folders for tests of whatever reads artefacts: made, not measured."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

BASELINE, MCP = "baseline-local-direct", "mcp-remote-direct"
METRICS = (
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
LOWER = {"ttfr_seconds", "ttfr_tokens", "cost_usd", "elapsed_seconds", "total_tokens"}
LABELS = (
    "missed_key_evidence",
    "unused_correct_retrieval",
    "irrelevant_retrieval",
    "ambiguity_near_miss",
    "wrong_evidence_used",
)
TIERS = ("none", "below half", "half or more", "all")
CATEGORIES = ("file_read", "code_search", "file_search", "file_write", "other")


def write_run(
    root: Path,
    *,
    run_id: str = "made",
    n_tasks: int = 12,
    configs: tuple[str, ...] = (BASELINE, MCP),
    suites: tuple[str, ...] = ("suite_a", "suite_b"),
    task_names: tuple[str, ...] = (),
    n_events: int = 8,
    n_without_trace: int = 0,
    n_without_ground_truth: int = 0,
    shift: float = 0.15,
    excluded: tuple[dict[str, Any], ...] = (),
    changes: dict[str, Any] | None = None,
    has_mcp_answers: bool = True,
    seed: int = 7,
) -> Path:
    """Write the artefacts of an invented run and return its ``retrieval_events`` folder.

    ``shift`` is added to the recall of every config after the first. The first tasks lack a
    trace, the next ones ground truth. ``changes`` replaces members of every stored comparison.
    Trials of a config named for MCP called a server, which answered unless ``has_mcp_answers`` is
    False.
    """
    dice = random.Random(seed)
    folder = root / run_id / "retrieval_events"
    names = [*task_names, *(f"task-{i:03d}" for i in range(len(task_names), n_tasks))]
    trials, documents = [], []
    for i, task in enumerate(names):
        has_trace = i >= n_without_trace
        has_truth = not n_without_trace <= i < n_without_trace + n_without_ground_truth
        base = dice.random() * 0.8
        for c, config in enumerate(configs):
            identity = {
                "run_id": run_id,
                "config_name": config,
                "benchmark": suites[i % len(suites)],
                "task_name": task,
                "trial_name": f"{task}__{c:07d}",
                "batch_timestamp": "2026-01-02__03-04-05",
            }
            recall = round(min(1.0, max(0.0, base + (shift + dice.gauss(0, 0.1)) * (c > 0))), 3)
            metrics = metrics_document(identity, recall, dice, has_trace, has_truth)
            metrics["ledger"]["mcp_calls_ok"] *= has_mcp_answers
            documents.append(metrics)
            stem = f"{c}/{i:04d}"
            events = event_document(identity, metrics, dice, n_events if has_trace else 0)
            _write(folder / f"{stem}.retrieval_events.json", events)
            _write(folder / f"{stem}.retrieval_metrics.json", metrics)
            trials.append(
                {
                    **identity,
                    "status": "evaluated" if has_trace else "degraded",
                    "reason": None if has_trace else "agent: no trace file",
                    "events_file": f"{stem}.retrieval_events.json",
                    "metrics_file": f"{stem}.retrieval_metrics.json",
                }
            )
    _write(folder / "run_retrieval_summary.json", summary(run_id, trials, excluded))
    _write(folder / "run_impact_analysis.json", impact(run_id, documents, configs, changes))
    return folder


def metrics_document(
    identity: dict[str, Any],
    recall: float,
    dice: random.Random,
    has_trace: bool = True,
    has_truth: bool = True,
) -> dict[str, Any]:
    """Return the metrics document of one trial with the given file recall."""
    computable = has_trace and has_truth
    n_truth, n_hit = 10, round(recall * 10)
    reason = None if computable else "no_ground_truth" if has_trace else "no_trace"
    seconds = round(10 + dice.random() * 90, 1) if n_hit else None
    ranking = {
        measure: {str(k): round(recall * k / 10, 4) for k in (1, 3, 5, 10)}
        for measure in ("precision", "recall", "f1", "ndcg")
    }
    return {
        "schema_version": "1.1",
        "generated_at": "2026-01-02T03:04:05Z",
        "provenance": identity | {"model": "model-one", "harness": "claude-code"},
        "coverage": {
            "has_trajectory": has_trace,
            "has_transcript": False,
            "has_ground_truth": has_truth,
            "trace_source": "trajectory" if has_trace else None,
            "degraded_reason": None if has_trace else "agent: no trace file",
            "ground_truth_source": "tests/ground_truth.json" if has_truth else None,
            "ground_truth_confidence": "high" if has_truth else None,
            "ground_truth_reason": None if has_truth else "no_ground_truth",
            "quality_flags": [],
        },
        "event_summary": {
            "total_events": 8 if has_trace else 0,
            "mcp_events": 4 if has_trace and identity["config_name"] == MCP else 0,
            "local_events": 4,
        },
        "ledger": {
            "calls_seen": 10,
            "calls_resolved": 8,
            "calls_opaque": 1,
            "calls_without_result": 0,
            "calls_error": 1,
            "calls_not_retrieval": 0,
            "mcp_calls": 4 * ("mcp" in identity["config_name"]),
            "mcp_calls_ok": 4 * ("mcp" in identity["config_name"]),
            "subagent_calls": 0,
            "shell_events": 2,
        },
        "file_level_metrics": {"computable": False, "reason": reason, "k_values": [1, 3, 5, 10]}
        if not computable
        else {
            "computable": True,
            "k_values": [1, 3, 5, 10],
            **ranking,
            "mrr": recall,
            "map_score": recall,
            "file_recall": recall,
            "context_efficiency": round(recall / 2, 3),
            "n_retrieved": 12,
            "n_ground_truth": n_truth,
            "n_overlap": n_hit,
            "n_repeats": 0,
            "ttfr_seconds": seconds,
            "ttfr_tokens": None if seconds is None else round(seconds * 1000),
            "ttfr_step": 2,
            "views": {
                view: {"file_recall": recall}
                for view in ("accessed", "opened", "structured", "listing_discounted")
            },
        },
        "chunk_level_metrics": {"resolution": "file_level_only", "validity": "unsupported"},
        "utilization_probes": {
            "probe_available": computable,
            "expected_edit_probe_available": False,
            "util_read_overlap_with_relevant_files": recall,
        },
        "error_taxonomy": {
            "computable": computable,
            "rates": {
                label: {"count": 3, "denominator": 10, "rate": 0.3} if computable else {}
                for label in LABELS
            },
            "slices": {"candidate_set_size": "medium", "evidence_type": "local"},
        },
        "outcome": {
            "reward": round(min(1.0, recall + dice.random() * 0.2), 3),
            "cost_usd": round(0.1 + dice.random(), 3),
            "elapsed_seconds": round(60 + dice.random() * 100, 1),
            "total_tokens": 100_000 + dice.randrange(100_000),
            "model": "model-one",
            "harness": "claude-code",
        },
        "input_fingerprint": "0" * 64,
    }


def event_document(
    identity: dict[str, Any], metrics: dict[str, Any], dice: random.Random, n_events: int
) -> dict[str, Any]:
    """Return an event document whose ground truth fits the recall of ``metrics``."""
    has_truth = metrics["coverage"]["has_ground_truth"]
    files = [f"src/part{i}/module.py" for i in range(10)] if has_truth else []
    n_hit = metrics["file_level_metrics"].get("n_overlap", 0)
    events = []
    for step in range(n_events):
        category = CATEGORIES[dice.randrange(len(CATEGORIES))] if step else "file_read"
        hits = files[step : n_hit : max(1, n_events)] if has_truth else []
        events.append(
            {
                "step_index": step,
                "timestamp": f"2026-01-02T03:04:{step % 60:02d}.000Z",
                "tool_name": "Read",
                "tool_category": category,
                "is_mcp": False,
                "target_files": hits or [f"src/other{step}.py"],
                "hits_ground_truth": bool(hits),
                "matched_ground_truth_files": hits,
                "cumulative_tokens": 1000 * step,
                "elapsed_seconds": float(step),
                "arguments": {"file_path": "secret-argument"},
            }
        )
    truth = {"files": files, "repositories": [None] * len(files)}
    return {
        "schema_version": "1.1",
        "provenance": identity,
        "coverage": metrics["coverage"],
        "ground_truth": truth,
        "events": events,
    }


def summary(
    run_id: str, trials: list[dict[str, Any]], excluded: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """Return a run summary over the given trials."""
    return {
        "schema_version": "1.1",
        "generated_at": "2026-01-02T03:04:05Z",
        "run_id": run_id,
        "counts": dict.fromkeys(
            ("evaluated", "degraded", "without_trace", "without_ground_truth", "computable"), 0
        )
        | {"trials_found": len(trials) + len(excluded), "excluded": len(excluded)},
        "trials": trials,
        "excluded": list(excluded),
        "configs": {
            config: {
                **dict.fromkeys(("n_trials", "n_tasks", "n_computable"), 1),
                "metrics": {
                    "file_recall": {"mean": 0.5, "median": 0.5, "n": 1, "n_not_computable": 0}
                },
                "error_taxonomy": {},
                "ledger": {},
            }
            for config in {t["config_name"] for t in trials}
        },
    }


def impact(
    run_id: str,
    documents: list[dict[str, Any]],
    configs: tuple[str, ...],
    changes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an impact analysis of the first config with every other; intervals are made up."""
    found = [_comparison(documents, configs[0], c) | (changes or {}) for c in configs[1:]]
    return {
        "schema_version": "2.0",
        "generated_at": "2026-01-02T03:04:05Z",
        "run_ids": [run_id],
        "association_only": True,
        "comparisons": found,
        "associations": [
            {
                "retrieval_metric": "file_recall",
                "outcome_metric": outcome,
                "scope": scope,
                "group": group,
                "n": len(documents),
                "computable": True,
                "reason": None,
                "spearman_r": 0.4,
                "ci_low": 0.1,
                "ci_high": 0.6,
                "p_value": 0.01,
                "q_value": 0.02,
                "clusters": len(documents) // 2,
                "sign_change": False,
                "interpretation": "",
            }
            for outcome in ("reward", "cost_usd")
            for scope, group in (("pooled", None), *(("config", c) for c in configs))
        ],
        "family": {"m": 2, "method": "bh"},
        "tiers": [_tier(config, tier) for config in configs for tier in TIERS],
        "calibration": [
            _cell(config, own) for config in configs for own in ("none", "some", "all")
        ],
        "time_to_first_relevant": [
            _first_hit(config, unit, len(documents) // max(1, len(configs)))
            for unit in ("seconds", "tokens", "calls")
            for config in configs
        ],
        "parameters": {"seed": 1, "n_resamples": 10, "confidence": 0.95},
    }


def value_of(document: dict[str, Any], metric: str) -> float | None:
    """Return a metric of a metrics document."""
    files = document["file_level_metrics"]
    if metric == "ndcg@10":
        return files.get("ndcg", {}).get("10")
    for block in (files, document["outcome"], document["utilization_probes"]):
        if metric in block:
            return block[metric] if files["computable"] or block is document["outcome"] else None
    return None


def _comparison(documents: list[dict[str, Any]], first: str, second: str) -> dict[str, Any]:
    sides: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for document in documents:
        p = document["provenance"]
        sides.setdefault((p["benchmark"], p["task_name"]), {})[p["config_name"]] = document
    pairs = []
    for (benchmark, task), by_config in sides.items():
        metrics = {}
        for metric in METRICS:
            a, b = (value_of(by_config[c], metric) for c in (first, second))
            difference = None if a is None or b is None else b - a
            metrics[metric] = {"baseline": a, "comparison": b, "difference": difference}
        pairs.append({"task_name": task, "benchmark": benchmark, "metrics": metrics})
    return {
        "baseline_config": first,
        "comparison_config": second,
        "computable": True,
        "reason": None,
        "n_tasks_baseline": len(sides),
        "n_tasks_comparison": len(sides),
        "n_pairs": len(pairs),
        "excluded": [],
        "metrics": {metric: _result(metric, pairs) for metric in METRICS},
        "pairs": pairs,
        **_judged(pairs, (first, second)),
    }


def _judged(pairs: list[dict[str, Any]], arms: tuple[str, str]) -> dict[str, Any]:
    """Return verdict, gate, ledger and what else a comparison says of itself."""
    headline = _result("file_recall", pairs)
    n = headline["n_pairs"]
    arm = {"trials": len(pairs) + 1, "removed": {"degraded_trace": 1}, "unmatched": {}}
    viewed = {m: _result(m, pairs) for m in ("file_recall", "mrr")}
    views = ("accessed", "opened", "structured", "listing_discounted")
    return {
        "verdict": "too_few_pairs" if n < 6 else "better",
        "verdict_metric": "file_recall",
        "verdict_reason": "file recall: made up",
        "gate": {"passed": True, "failed": [], "rules": [rule("degraded_trace", arms, n=2)]},
        "ledger": {
            "baseline": arm | {"used": len(pairs)},
            "comparison": arm | {"used": len(pairs)},
            "n_pairs": len(pairs),
        },
        "views": {view: viewed | {"verdict": "better"} for view in views},
        "flips": [],
        "discrimination": [
            {"metric": m, "status": "discriminates", "detail": "made up", "with": None}
            for m in METRICS
        ],
        "difference_associations": [
            {
                "retrieval_metric": "file_recall",
                "outcome_metric": "reward",
                "n": n,
                "computable": n >= 3,
                "reason": None if n >= 3 else "too_few_values",
                "spearman_r": 0.3 if n >= 3 else None,
                "ci_low": -0.2,
                "ci_high": 0.7,
                "p_value": 0.2,
                "q_value": 0.4,
            }
        ],
        "slices": [_slice("suite", s, pairs) for s in sorted({p["benchmark"] for p in pairs})]
        + [_slice("n_ground_truth_files", "6 to 10 files", pairs[:3])],
    }


def rule(
    name: str, arms: tuple[str, ...], *, n: int, failed: bool = False, detail: str | None = None
) -> dict[str, Any]:
    """Return a rule of the gate that found ``n`` trials, taken from the arms in turn."""
    return {
        "name": name,
        "meaning": f"what {name} means",
        "count": n,
        "n_removed": n,
        "share_removed": 0.1,
        "failed": failed,
        "detail": detail,
        "trials": [
            {
                "config_name": arms[i % len(arms)],
                "task_name": f"task-{i:03d}",
                "trial_name": f"task-{i:03d}__x",
            }
            for i in range(n)
        ],
    }


def _slice(dimension: str, level: str, pairs: list[dict[str, Any]]) -> dict[str, Any]:
    chosen = pairs if dimension != "suite" else [p for p in pairs if p["benchmark"] == level]
    found = _result("file_recall", chosen)
    keys = ("mean_baseline", "mean_comparison", "mean_difference", "ci_low", "ci_high")
    return {
        "dimension": dimension,
        "level": level,
        "n_pairs": found["n_pairs"],
        "interpretable": found["n_pairs"] >= 5,
        **{key: found.get(key) for key in keys},
    }


def _tier(config: str, tier: str) -> dict[str, Any]:
    n = 4 if tier == "none" else 6
    mean = {"none": 0.1, "below half": 0.3, "half or more": 0.6, "all": 0.9}[tier]
    return {
        "config_name": config,
        "tier": tier,
        "n": n,
        "interpretable": n >= 5,
        "mean_reward": mean,
        "ci_low": mean - 0.1,
        "ci_high": mean + 0.1,
    }


def _cell(config: str, opened: str) -> dict[str, Any]:
    number = ("none", "some", "all").index(opened)
    return {
        "config_name": config,
        "dimension": "all",
        "level": "all",
        "opened": opened,
        "n": 4 if number == 2 else 7,
        "interpretable": number != 2,
        "mean_reward": 0.1 + 0.3 * number,
        "ci_low": 0.3 * number,
        "ci_high": 0.2 + 0.3 * number,
    }


def _first_hit(config: str, unit: str, n: int) -> dict[str, Any]:
    scale = {"seconds": 1.0, "tokens": 1000.0, "calls": 0.1}[unit]
    n_never = n // 4
    times = [scale * 10 * (i + 1) for i in range(n - n_never)]
    return {
        "config_name": config,
        "unit": unit,
        "n": n,
        "n_hit": n - n_never,
        "n_never": n_never,
        "share_never": n_never / n if n else None,
        "share_never_low": 0.1,
        "share_never_high": 0.5,
        "median": times[(n + 1) // 2 - 1] if times and n else None,
        "median_low": scale * 10,
        "median_high": None,
        "curve": [[time, (i + 1) / n] for i, time in enumerate(times)],
    }


def _result(metric: str, pairs: list[dict[str, Any]]) -> dict[str, Any]:
    sides = [p["metrics"][metric] for p in pairs]
    known = [s for s in sides if s["difference"] is not None]
    n = len(known)
    base = {
        "direction": "lower_is_better" if metric in LOWER else "higher_is_better",
        "n_pairs": n,
        "computable": n >= 3,
        "reason": None if n >= 3 else "too_few_pairs",
    }
    if n < 3:
        return base
    mean = sum(s["difference"] for s in known) / n
    spread = max(abs(s["difference"] - mean) for s in known) / n**0.5 or 0.01
    sign = -1 if metric in LOWER else 1
    return base | {
        "mean_baseline": sum(s["baseline"] for s in known) / n,
        "mean_comparison": sum(s["comparison"] for s in known) / n,
        "mean_difference": mean,
        "estimate": mean,
        "ci_low": mean - spread,
        "ci_high": mean + spread,
        "p_value": 0.04,
        "p_holm": 0.3 if metric in LOWER else 0.04,
        "n_clusters": 2,
        "cluster_by": "suite",
        "wins": sum(sign * s["difference"] > 0 for s in known),
        "ties": sum(s["difference"] == 0 for s in known),
        "losses": sum(sign * s["difference"] < 0 for s in known),
        "smallest_detectable": 2 * spread,
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
