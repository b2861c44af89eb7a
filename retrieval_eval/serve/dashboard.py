"""The dashboard: the latest search run, its difference to the baseline, the review backlog, health.

The HTTP server and the MCP tool return the same document; clients may rely on its JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.io.files import json_bytes
from retrieval_eval.schema import SCHEMA_VERSION, SCHEMAS
from retrieval_eval.search.run_files import document_of, load_search_run
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.values import Value

PATTERN: Final = "eval-report-*.json"

_NUMBERED: Final = re.compile(r"Z-(\d{1,9})\.")

_KEPT = 2048  # far more runs than a folder holds; fewer would read all of them every time

NO_BASELINE: Final = "the run was measured without a baseline"

_MOST_NAMED = 20

DEFAULT_NAME: Final = "backlog"

NOT_CONFIGURED: Final = "no source of the backlog is configured; name one with --backlog"

BacklogReader = Callable[[], Mapping[str, Any]]
"""Reads the backlog and returns it as JSON; raises ``BadInputError`` when it cannot be read."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TAKEN = frozenset(
    {"latest_run", "n_runs", "runs", "skipped", "degraded_reasons", "package", "status"}
    | {"schema_versions", "latest_run_reason"}
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a server reads; nothing is read before a request."""

    data: Path
    reports: Path
    backlog: BacklogReader | None = None
    backlog_name: str = DEFAULT_NAME


def dashboard(
    sources: Sources, *, run: str | None = None, corpus: str | None = None
) -> dict[str, Any]:
    """Return the latest measurements as one JSON document.

    Parameters
    ----------
    sources
        Where the runs and the backlog are; without a backlog its block is null, and
        ``<backlog_name>_reason`` gives the reason.
    run
        Label or file name of the run to show instead of the latest; the newest that has it.
    corpus
        Show the metrics of this corpus instead of those over all queries.

    Returns
    -------
    dict
        ``latest_run`` (null, with ``latest_run_reason``, when there is none), ``runs`` (newest
        first), ``n_runs``, ``skipped`` (files that are no valid run, by name), the backlog block
        and its reason. Every metric has its ``n`` and its interval; what is not computable is
        null with a reason code.

    Raises
    ------
    BadInputError
        When there is no such run or corpus.

    Examples
    --------
    >>> nowhere = Sources(Path("no-such-folder"), Path("nor-this"))
    >>> dashboard(nowhere)["latest_run"] is None
    True
    """
    root, name = sources.data, sources.backlog_name
    runs, skipped = read_runs(root)
    shown = _chosen(runs, run)
    if shown is None and corpus is not None:
        raise BadInputError(f"no corpus {corpus!r}: {_why_none(root)}")
    block, reason = _backlog(sources.backlog)
    return {
        "latest_run": None if shown is None else _run_summary(shown, corpus),
        "latest_run_reason": None if shown is not None else _why_none(root),
        "n_runs": len(runs),
        "runs": [_entry(each) for each in runs],
        "skipped": [{"name": each.name, "reason": each.reason} for each in skipped],
        name: block,
        f"{name}_reason": reason,
    }


def _run_summary(run: Run, corpus: str | None = None) -> dict[str, Any]:
    """Return a run's settings, counts, metrics and distance to the baseline, without queries.

    With ``corpus``, metrics and delta are those of its queries; ``status`` always counts the
    whole run. Raises ``BadInputError`` for a corpus that the run did not measure.
    """
    document = run.document
    part, delta = document, document["delta"]
    if corpus is not None:
        part = _slice(document["slices"], corpus)
    summary = {
        "name": run.name,
        "label": document["label"],
        "generated_at": document["generated_at"],
        "schema_version": document["schema_version"],
        "corpus": corpus,
        "n_queries": document["status"]["n_queries"] if corpus is None else part["n_queries"],
        "run": document["run"],
        "status": document["status"],
        "headline": {name: _metric(part["metrics"], name) for name in HEADLINE},
        "metrics": part["metrics"],
        "delta": None if delta is None else _delta(delta, corpus, run.n_top1_changed),
        "delta_reason": _no_delta(document) if delta is None else None,
    }
    # The document is cached between requests, so callers get a copy that they may change.
    return deepcopy(summary)


def _no_delta(document: Mapping[str, Any]) -> str:
    return "; ".join(document.get("delta_withheld") or [NO_BASELINE])


def _chosen(runs: Sequence[Run], wanted: str | None) -> Run | None:
    if wanted is None:
        return runs[0] if runs else None
    for run in runs:
        if wanted in {run.label, run.name, run.name.removesuffix(".json")}:
            return run
    raise BadInputError(
        f"no run with the label or name {wanted!r}; there are: "
        + _named([run.label or run.name for run in runs])
    )


def _entry(run: Run) -> dict[str, Any]:
    document = run.document
    return {
        "name": run.name,
        "label": document["label"],
        "generated_at": document["generated_at"],
        "n_queries": document["status"]["n_queries"],
        "n_failed": document["status"]["n_failed"],
        "has_verdict": document["status"]["has_verdict"],
        "headline": {name: deepcopy(_metric(document["metrics"], name)) for name in HEADLINE},
    }


def _metric(metrics: Mapping[str, Any], name: str) -> Any:
    return metrics[name] if name in metrics else Value.missing("not_recorded").to_json()


def _slice(slices: Mapping[str, Any], corpus: str) -> Mapping[str, Any]:
    corpora: Mapping[str, Mapping[str, Any]] = slices["corpus"]
    if corpus not in corpora:
        raise BadInputError(f"no corpus {corpus!r} in the run; there are: {_named(corpora)}")
    return corpora[corpus]


def _delta(
    delta: Mapping[str, Any], corpus: str | None, n_top1_changed: int | None
) -> dict[str, Any]:
    metrics = delta["metrics"]
    if corpus is not None:
        metrics = delta["slices"].get("corpus", {}).get(corpus, {}).get("metrics", {})
    return {
        "baseline": delta["baseline"],
        "is_comparable": delta["is_comparable"],
        "reasons": delta["reasons"],
        "changes": delta["changes"],
        "n_queries_top1_changed": n_top1_changed,
        "metrics": metrics,
    }


def _why_none(root: Path) -> str:
    if not root.is_dir():
        return f"there is no folder {root.name!r}; name the folder of the runs with --data"
    return f"no valid {PATTERN} in {root.name!r}; write one with 'retrieval-eval search run'"


def _named(names: Sequence[str] | Mapping[str, Any]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(known[:_MOST_NAMED]) or "none"
    return shown if len(known) <= _MOST_NAMED else f"{shown} and {len(known) - _MOST_NAMED} more"


def diagnostics(sources: Sources) -> dict[str, Any]:
    """Return the health snapshot: ``status`` is ``degraded`` when there is a reason, else ``ok``.

    A backlog that is not configured is no fault; one that cannot be read is. Missing or broken
    files and databases raise nothing: they are named in ``degraded_reasons``.

    Examples
    --------
    >>> diagnostics(Sources(Path("no-such-folder"), Path("nor-this")))["status"]
    'degraded'
    """
    name = sources.backlog_name
    shown = dashboard(sources)
    reason = shown[f"{name}_reason"]
    reasons = _degraded(shown, sources.reports)
    if sources.backlog is not None and reason is not None:
        reasons.append(f"backlog: {reason}")
    return {
        "status": "degraded" if reasons else "ok",
        "degraded_reasons": reasons,
        "package": {"name": NAME, "version": __version__},
        "schema_versions": dict.fromkeys(sorted(SCHEMAS), SCHEMA_VERSION),
        "n_runs": shown["n_runs"],
        "latest_run": _short(shown["latest_run"]),
        "latest_run_reason": shown["latest_run_reason"],
        name: shown[name],
        f"{name}_reason": reason,
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


# --- search runs in a folder ---


@dataclass(frozen=True, slots=True)
class Run:
    """One valid search run: its file name, when it was made, and its artefact without queries.

    ``n_top1_changed`` is the number of queries whose first document differs from the baseline's;
    None when the run was not compared with one.
    """

    name: str
    label: str
    generated_at: datetime
    document: Mapping[str, Any]
    n_top1_changed: int | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file with the name of a search run that is not one, and the reason."""

    name: str
    reason: str


def read_runs(root: Path) -> tuple[tuple[Run, ...], tuple[Skipped, ...]]:
    """Return the valid search runs directly in ``root``, newest first, and what was skipped.

    Newest is the latest ``generated_at``; among equals, the last by its number, then by file name.
    A folder that does not exist holds no run. Files are read again only after they changed.
    """
    runs, skipped = [], []
    for path in sorted(root.glob(PATTERN)):
        found = _read(path)
        if isinstance(found, Run):
            runs.append(found)
        else:
            skipped.append(found)
    runs.sort(key=lambda run: (run.generated_at, _number(run.name), run.name), reverse=True)
    return tuple(runs), tuple(skipped)


def _number(name: str) -> int:
    """Return the number of a report among those of one second, by its name; 1 without a number.

    Examples
    --------
    >>> [_number(f"eval-report-20260131T120000Z{end}.json") for end in ("", "-2", "-10.claims")]
    [1, 2, 10]
    """
    found = _NUMBERED.search(name)
    return int(found[1]) if found else 1


def _read(path: Path) -> Run | Skipped:
    try:
        state = path.stat()
    except OSError as error:
        return Skipped(path.name, f"cannot be read ({error.strerror or error})")
    if not S_ISREG(state.st_mode):  # opening a pipe would wait for a writer
        return Skipped(path.name, "is not a regular file")
    return _load(path, (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=_KEPT)
def _load(path: Path, _state: tuple[int, int, int]) -> Run | Skipped:
    try:
        document = document_of(load_search_run(path))
    except BadInputError as error:
        # The dashboard does not reveal where the folder is.
        reason = str(error).removeprefix(f"{path}: ").replace(str(path), path.name)
        return Skipped(path.name, reason)
    return _run(path.name, document)


def _run(name: str, document: Mapping[str, Any]) -> Run | Skipped:
    try:
        moment = datetime.fromisoformat(document["generated_at"])
    except ValueError:
        return Skipped(name, "/generated_at: expected a time such as '2026-01-31T12:00:00Z'")
    light = {key: value for key, value in document.items() if key != "queries"}
    delta, n_changed = document["delta"], None
    if delta is not None:
        n_changed = len(delta["queries_top1_changed"]) if delta["is_comparable"] else None
        by_query = ("queries", "queries_top1_changed")
        light["delta"] = {key: value for key, value in delta.items() if key not in by_query}
    try:
        json_bytes(light)
    except ValueError:
        return Skipped(name, "holds NaN or infinity, which no artefact may hold")
    # A time without a zone is read as UTC, so that all can be ordered.
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Run(name, document["label"], known, light, n_changed)


# --- the review backlog ---


def backlog_reader(source: str, *, table: str, status: str, created: str) -> BacklogReader:
    """Return a reader of the backlog in ``source``: a database URL or the path of a JSONL file.

    Nothing is opened before the reader is called. For the names, and what is raised then, see
    :func:`retrieval_eval.gold.backlog.read_backlog`.
    """

    def read() -> Mapping[str, Any]:
        from retrieval_eval.gold.backlog import read_backlog

        return read_backlog(source, table=table, status=status, created=created).to_json()

    return read


def _backlog(reader: BacklogReader | None) -> tuple[dict[str, Any] | None, str | None]:
    """Return ``(block, None)``, or ``(None, reason)``; unknown counts are never zeros."""
    if reader is None:
        return None, NOT_CONFIGURED
    try:
        return dict(reader()), None
    except RetrievalEvalError as error:
        return None, str(error)


def check_name(name: str) -> str:
    """Return ``name`` when it is a valid name of the backlog block.

    Raises ``BadInputError`` for what is no lower-case identifier or names another field.
    """
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise BadInputError(
            f"{name!r} cannot name the backlog block; expected lower-case letters, digits and "
            f"underscores, and none of: {', '.join(sorted(_TAKEN))}"
        )
    return name


# --- the JSON Schema of the dashboard ---

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
    "description": "The requested run, or the latest; null when there is none.",
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
    """Return the JSON Schema (draft 2020-12) of the document of :func:`dashboard`.

    ``backlog_name`` is the name of the backlog block.

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
