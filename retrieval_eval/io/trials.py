"""Is this folder a trial? Told by what it holds, never by its name or depth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from retrieval_eval.io.files import is_inside, is_there, read_json

TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}__\d{2}-\d{2}-\d{2}")
"""The name of a batch folder."""

_TRIAL_FIELDS = frozenset(
    {"task_name", "trial_name", "agent_info", "agent_result", "verifier_result", "task_checksum"}
)
_LONGEST_NAME = 200
_HASH = re.compile(r"(?P<task>.+)__[A-Za-z0-9]{4,12}", re.DOTALL)

Kind = Literal["trial", "unfinished", "other"]


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder of a run is and, for a trial, the names its files give.

    ``unfinished`` is a folder named like a trial that holds neither a result nor a trace; it may
    still be a level above trials.
    """

    kind: Kind
    task_name: str = ""
    benchmark: str | None = None


def inspect(path: Path, root: Path) -> Folder:
    """Return what the folder ``path`` of the run ``root`` is.

    A trial holds a ``result.json`` with the fields of a trial, or an agent's trace where that
    file is missing or broken. A batch's own ``result.json`` makes no trial.
    """
    result = path / "result.json"
    document = read_json(result, root) if is_there(result) else None
    value = document.value if document is not None else None
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    if not fields.keys().isdisjoint(_TRIAL_FIELDS):
        return _trial(path, root, fields)
    if "n_total_trials" in fields or "stats" in fields:
        return Folder("other")
    looks_like_trial = bool(_HASH.fullmatch(path.name)) and not TIMESTAMP.fullmatch(path.name)
    is_broken = document is not None and looks_like_trial and not _holds_results(path)
    if is_broken or _has_trace(path, root):
        return _trial(path, root, {})
    return Folder("unfinished" if looks_like_trial else "other")


def task_of(trial_name: str) -> str:
    """Return the task name inside a trial's folder name: what precedes the last ``__<hash>``.

    Examples
    --------
    >>> task_of("django__django-123__aB3dE5f")
    'django__django-123'
    """
    match = _HASH.fullmatch(trial_name)
    return match["task"] if match else trial_name


def _trial(path: Path, root: Path, result: dict[str, Any]) -> Folder:
    task_name = _task_name(result.get("task_name")) or task_of(path.name)
    return Folder("trial", task_name, _benchmark(path, root, result))


def _task_name(stated: Any) -> str | None:
    """Return a stated task name without the registry before it, or None when it is none."""
    if not isinstance(stated, str) or not stated.isprintable():
        return None
    name = stated.strip().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name if name.strip(".") and len(name) <= _LONGEST_NAME else None


def _benchmark(path: Path, root: Path, result: dict[str, Any]) -> str | None:
    """Return the suite that the trial's metrics or the stored address of its task names."""
    metrics = path / "task_metrics.json"
    value = read_json(metrics, root).value if is_there(metrics) else None
    stated = value.get("benchmark") if isinstance(value, dict) else None
    if isinstance(stated, str) and stated.strip():
        return stated.strip()
    task_id = result.get("task_id")
    address = task_id.get("path") if isinstance(task_id, dict) else None
    parts = address.split("/") if isinstance(address, str) else []
    return parts[-2] if len(parts) > 2 and parts[-3] == "benchmarks" else None


def _holds_results(path: Path) -> bool:
    try:
        return any((item / "result.json").exists() for item in path.iterdir() if item.is_dir())
    except OSError:
        return False


def _has_trace(path: Path, root: Path) -> bool:
    agent = path / "agent"
    try:
        if not agent.is_dir() or not is_inside(agent, root):
            return False
        return any(item.is_file() or item.name == "sessions" for item in agent.iterdir())
    except OSError:
        return False
