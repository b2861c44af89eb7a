"""Health at a glance: versions, the backlog, the latest run, and everything that is amiss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.schema import SCHEMA_VERSION, SCHEMAS
from retrieval_eval.serve.backlog import DEFAULT_NAME, BacklogReader
from retrieval_eval.serve.dashboard import dashboard


def diagnostics(
    root: Path,
    reports: Path,
    *,
    backlog: BacklogReader | None = None,
    backlog_name: str = DEFAULT_NAME,
) -> dict[str, Any]:
    """Return the health snapshot: ``status`` is ``degraded`` when there is a reason, else ``ok``.

    A backlog nobody configured is no fault; one that cannot be read is. Raises nothing for files
    or databases that are missing or broken: they are named in ``degraded_reasons``.

    Examples
    --------
    >>> diagnostics(Path("no-such-folder"), Path("nor-this"))["status"]
    'degraded'
    """
    shown = dashboard(root, backlog=backlog, backlog_name=backlog_name)
    reason = shown[f"{backlog_name}_reason"]
    reasons = _degraded(shown, reports)
    if backlog is not None and reason is not None:
        reasons.append(f"backlog: {reason}")
    return {
        "status": "degraded" if reasons else "ok",
        "degraded_reasons": reasons,
        "package": {"name": NAME, "version": __version__},
        "schema_versions": dict.fromkeys(sorted(SCHEMAS), SCHEMA_VERSION),
        "n_runs": shown["n_runs"],
        "latest_run": _short(shown["latest_run"]),
        "latest_run_reason": shown["latest_run_reason"],
        backlog_name: shown[backlog_name],
        f"{backlog_name}_reason": reason,
    }


def _short(run: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if run is None:
        return None
    kept = ("name", "label", "generated_at", "schema_version", "n_queries", "status", "headline")
    return {key: run[key] for key in kept}


def _degraded(shown: Mapping[str, Any], reports: Path) -> list[str]:
    run = shown["latest_run"]
    reasons = []
    if run is None:
        reasons.append(f"latest run: {shown['latest_run_reason']}")
    elif not run["status"]["has_verdict"]:
        why = "; ".join(run["status"]["reasons"])
        reasons.append(f"latest run: {run['name']} carries no verdict ({why})")
    reasons += [f"skipped {each['name']}: {each['reason']}" for each in shown["skipped"]]
    if not reports.is_dir():
        reasons.append(f"reports: there is no folder {reports.name!r}")
    return reasons
