"""Studies made of metric documents written by hand: what a comparison is made from."""

from __future__ import annotations

import json
from typing import Any

from retrieval_eval.agents.study import compare, impact_analysis
from retrieval_eval.agents.study.arms import config_pairs
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.model import to_builtins


def document(task, config, recall, reward=1.0, *, mcp=0, trial="t", **fields):
    provenance = {
        "run_id": "r",
        "benchmark": fields.pop("benchmark", "suite"),
        "task_name": task,
        "config_name": config,
        "trial_name": trial,
        "batch_timestamp": None,
        "model": fields.pop("model", "m"),
        "harness": "h",
        "harness_version": fields.pop("version", "1"),
    }
    outcome = {
        "reward": reward,
        "cost_usd": fields.pop("cost", 1.0),
        "exception": fields.pop("exception", None),
        "task_checksum": fields.pop("checksum", None),
    }
    outcome |= {name: fields.pop(name) for name in ("started_at",) if name in fields}
    ledger = {
        "calls_seen": fields.pop("calls", max(5, fields.get("shell", 0))),
        "mcp_calls": int(mcp),
        "mcp_calls_ok": int(fields.pop("mcp_ok", mcp)),
        "shell_calls": fields.pop("shell", 0),
        "shell_opaque": fields.pop("opaque", 0),
    }
    if "tools" in fields:
        ledger["tools"] = fields.pop("tools")
        ledger["mcp_servers"] = fields.pop("servers", {})
    views = {
        view: {"file_recall": fields.pop(view, recall)}
        for view in ("accessed", "opened", "structured", "listing_discounted")
    }
    coverage = {
        "degraded_reason": fields.pop("degraded", None),
        "repositories": fields.pop("repositories", []),
        "quality_flags": fields.pop("flags", []),
        "ground_truth_confidence": "high",
        "ground_truth_digest": fields.pop("digest", "d"),
    }
    block = {"computable": recall is not None, "file_recall": recall, "views": views}
    block |= {
        "never_hit": recall == 0,
        "n_ground_truth": 4,
        "ttfr_seconds": fields.pop("hit", None),
    }
    assert not fields, fields
    return {
        "provenance": provenance,
        "coverage": coverage,
        "ledger": ledger,
        "file_level_metrics": block,
        "utilization_probes": {},
        "error_taxonomy": {"slices": {"candidate_set_count": 8, "evidence_type": "local"}},
        "outcome": outcome,
    }


def study(n=8):
    rows = []
    for i in range(n):
        rows.append(document(f"task-{i}", "baseline", i / 20, reward=i / 20))
        rows.append(document(f"task-{i}", "mcp", i / 20 + 0.1 + i % 2 / 10, reward=0.5, mcp=3))
    return rows


def impact_document(rows, **options: Any) -> dict[str, Any]:
    """Return the impact analysis over some trials as it is read back from disk."""
    made = impact_analysis(rows, generated_at="2026-01-01T00:00:00Z", **options)
    return json.loads(json.dumps(to_builtins(made)))


def comparison(rows, seed=1, n_resamples=1000):
    """Return the comparison of the only two configurations as it is read back from disk."""
    trials = trials_of(rows)
    (pair,) = config_pairs(trials)
    found = compare(trials, *pair, seed=seed, n_resamples=n_resamples)
    return json.loads(json.dumps(found.to_json()))


def frame_of(documents):
    """Return the frame of trials that a run of these documents has."""
    from retrieval_eval.report.columns import FRAMES, expand, make_frame, read_row

    columns = expand(FRAMES["trials"][1], (1, 3, 5, 10))
    rows = [
        read_row(row, columns, {"has_exception": row["outcome"].get("exception") is not None})
        for row in documents
    ]
    return make_frame(rows, columns)
