"""The JSON Schema of the dashboard: what a client of the MCP tool may rely on."""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_NUMBER_OR_NULL: Final = {"type": ["number", "null"]}

_FIELDS: Final = ("latest_run", "latest_run_reason", "n_runs", "runs", "skipped")

_METRIC: Final = {
    "type": "object",
    "description": "A mean over n queries, with its interval; null with a reason code otherwise.",
    "required": ["value", "n", "computable", "reason"],
    "properties": {
        "value": _NUMBER_OR_NULL,
        "n": _COUNT,
        "computable": {"type": "boolean"},
        "reason": _TEXT_OR_NULL,
        "ci_low": _NUMBER_OR_NULL,
        "ci_high": _NUMBER_OR_NULL,
    },
}

_METRICS: Final = {"type": "object", "additionalProperties": _METRIC}

_DELTA: Final = {
    "type": ["object", "null"],
    "description": "Difference to the baseline in points (hundredths); null without a baseline.",
    "required": ["baseline", "is_comparable", "reasons", "metrics"],
    "properties": {
        "baseline": {"type": "object"},
        "is_comparable": {"type": "boolean"},
        "reasons": {"type": "array", "items": _TEXT},
        "changes": {"type": "array", "items": _TEXT},
        "n_queries_top1_changed": {"type": ["integer", "null"]},
        "metrics": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["delta_points", "n_pairs"],
                "properties": {"delta_points": _NUMBER_OR_NULL, "n_pairs": _COUNT},
            },
        },
    },
}

_RUN: Final = {
    "type": ["object", "null"],
    "description": "The run asked for, or the latest; null when there is none.",
    "required": ["name", "label", "generated_at", "n_queries", "status", "headline", "metrics"],
    "properties": {
        "name": _TEXT,
        "label": _TEXT,
        "generated_at": _TEXT,
        "schema_version": _TEXT,
        "corpus": _TEXT_OR_NULL,
        "n_queries": _COUNT,
        "run": {"type": "object", "description": "Retriever, gold set, corpora and settings."},
        "status": {
            "type": "object",
            "description": "Counts of queries by status, of the whole run.",
            "required": ["n_queries", "n_ok", "n_failed", "has_verdict", "reasons"],
        },
        "headline": _METRICS,
        "metrics": _METRICS,
        "delta": _DELTA,
        "delta_reason": _TEXT_OR_NULL,
    },
}

_ENTRY: Final = {
    "type": "object",
    "required": ["name", "label", "generated_at", "n_queries", "has_verdict"],
    "properties": {
        "name": _TEXT,
        "label": _TEXT,
        "generated_at": _TEXT,
        "n_queries": _COUNT,
        "n_failed": _COUNT,
        "has_verdict": {"type": "boolean"},
        "headline": _METRICS,
    },
}

_BACKLOG_COUNTS: Final = ("pending_review", "approved", "rejected", "published", "other", "total")

_BACKLOG: Final = {
    "type": ["object", "null"],
    "description": "Items by review status, which sum to total; null when unknown.",
    "required": [*_BACKLOG_COUNTS, "oldest_pending_at"],
    "properties": {
        **dict.fromkeys(_BACKLOG_COUNTS, _COUNT),
        "oldest_pending_at": _TEXT_OR_NULL,
    },
}


def dashboard_schema(backlog_name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of :func:`~.dashboard.dashboard`'s document.

    ``backlog_name`` is what the backlog block is called.

    Examples
    --------
    >>> "backlog" in dashboard_schema("backlog")["required"]
    True
    """
    reason = f"{backlog_name}_reason"
    return {
        "type": "object",
        "required": [*_FIELDS, backlog_name, reason],
        "properties": {
            "latest_run": _RUN,
            "latest_run_reason": _TEXT_OR_NULL,
            "n_runs": _COUNT,
            "runs": {"type": "array", "items": _ENTRY, "description": "Newest first."},
            "skipped": {
                "type": "array",
                "description": "Files that are no valid search run, and why.",
                "items": {"type": "object", "required": ["name", "reason"]},
            },
            backlog_name: _BACKLOG,
            reason: _TEXT_OR_NULL,
        },
        "additionalProperties": False,
    }
