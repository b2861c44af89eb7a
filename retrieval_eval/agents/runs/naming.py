"""File names of artefacts: a trial's names come from untrusted files and may hold anything."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from retrieval_eval.records import TrialRef

EVENTS_SUFFIX = ".retrieval_events.json"
METRICS_SUFFIX = ".retrieval_metrics.json"
SUMMARY_FILE = "run_retrieval_summary.json"
IMPACT_FILE = "run_impact_analysis.json"

_UNSAFE = re.compile(r"[^A-Za-z0-9._@+=-]")
_LONGEST = 150


def documents_of(stem: str) -> tuple[str, str]:
    """Return the names of the event and the metric document of a trial, by their stem."""
    return f"{stem}{EVENTS_SUFFIX}", f"{stem}{METRICS_SUFFIX}"


def safe_name(name: str) -> str:
    """Return ``name`` as one harmless path component.

    A name that had to be changed carries a digest of the original, so that two names never fall
    together.

    Examples
    --------
    >>> safe_name("fix-login-001")
    'fix-login-001'
    >>> safe_name("../../etc").startswith(".")
    False
    """
    plain = _UNSAFE.sub("_", name).lstrip(".")[:_LONGEST]
    if plain and plain == name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain or 'unnamed'}-{digest}"


def artefact_stems(trials: Iterable[TrialRef]) -> dict[TrialRef, str]:
    """Return ``<config>/<name>`` of every trial of a run.

    The first trial of a task and config (by batch, then trial name) has the task's name, further
    ones ``<task_name>@<trial_name>``.
    """
    stems: dict[TrialRef, str] = {}
    taken: set[str] = set()
    ordered = sorted(trials, key=lambda t: (t.batch_timestamp or "", t.trial_name, str(t.path)))
    for trial in ordered:
        stem = f"{safe_name(trial.config_name)}/{safe_name(trial.task_name)}"
        if stem in taken:
            name = safe_name(f"{trial.task_name}@{trial.trial_name}")
            stem = f"{safe_name(trial.config_name)}/{name}"
        number = 2
        unique = stem
        while unique in taken:
            unique, number = f"{stem}.{number}", number + 1
        taken.add(unique)
        stems[trial] = unique
    return stems
