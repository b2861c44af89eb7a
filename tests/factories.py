"""Small artefact folders for tests of whatever reads artefacts: made, not measured."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.studies import impact_document

BASELINE, MCP = "baseline-local-direct", "mcp-remote-direct"
LABELS = (
    "missed_key_evidence",
    "unused_correct_retrieval",
    "irrelevant_retrieval",
    "ambiguity_near_miss",
    "wrong_evidence_used",
)
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
    has_mcp_answers: bool = True,
    seed: int = 7,
) -> Path:
    """Write the artefacts of an invented run and return its ``retrieval_events`` folder.

    ``shift`` is added to the recall of every config after the first. The first tasks lack a
    trace, the next ones ground truth. Trials of a config named for MCP called a server, which
    answered unless ``has_mcp_answers`` is False.
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
    _write(folder / "run_impact_analysis.json", impact_document(documents, seed=1))
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


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
