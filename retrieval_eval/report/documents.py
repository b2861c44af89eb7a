"""The artefacts of one or several runs, read leniently from their folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io import artefacts
from retrieval_eval.io.files import answers
from retrieval_eval.report.frames import coerce, members, records
from retrieval_eval.schema import check_version

SUMMARY_FILE = "run_retrieval_summary.json"
IMPACT_FILE = "run_impact_analysis.json"


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """A trial as the run summary lists it, with its metrics document when there is one."""

    run_id: str
    folder: Path
    entry: Mapping[str, Any]
    metrics: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """Return the columns that name the trial."""
        names = ("config_name", "benchmark", "task_name", "trial_name")
        return {"run_id": self.run_id} | {n: coerce(self.entry.get(n), "text") for n in names}

    def events(self) -> Mapping[str, Any]:
        """Return the event document, or an empty one."""
        return read_member(self.folder, self.entry.get("events_file"))


def read_artefact(folder: Path, name: str) -> Mapping[str, Any]:
    """Return a run-level artefact; raises ``BadInputError`` when it cannot be used."""
    document = artefacts.read_artefact(folder / name, folder)
    if document.problem is not None:
        raise BadInputError(f"{folder}: {document.problem}; evaluate the run first")
    check_version(document.value, name)
    return members(document.value)


def read_member(folder: Path, name: Any) -> Mapping[str, Any]:
    """Return a trial's artefact inside ``folder``, or an empty one when it is not there.

    Raises ``BadInputError`` for a damaged one, ``SchemaError`` for one of another major version.
    """
    if not isinstance(name, str) or not name or not answers((folder / name).is_file):
        return {}
    document = artefacts.read_artefact(folder / name, folder)
    if document.problem is not None:
        raise BadInputError(f"{folder}: {document.problem}; evaluate the run again")
    return members(document.value)


def read_trials(folder: Path, summary: Mapping[str, Any]) -> list[TrialFiles]:
    """Return the trials that a run summary lists, in its order."""
    run_id = coerce(summary.get("run_id"), "text") or folder.parent.name
    return [
        TrialFiles(run_id, folder, entry, read_member(folder, entry.get("metrics_file")))
        for entry in records(summary.get("trials"))
    ]


def k_values(trials: Iterable[TrialFiles]) -> tuple[int, ...]:
    """Return every cut-off that some trial was measured at, in order."""
    found: set[int] = set()
    for trial in trials:
        levels = members(trial.metrics.get("file_level_metrics")).get("k_values")
        if isinstance(levels, list):
            found.update(k for k in levels if isinstance(k, int) and not isinstance(k, bool))
    return tuple(sorted(found)) or (1, 3, 5, 10)


def config_names(trials: Sequence[TrialFiles], excluded: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return every config name, sorted."""
    names = {coerce(t.entry.get("config_name"), "text") for t in trials}
    names |= {coerce(e.get("config_name"), "text") for e in excluded}
    return sorted(name for name in names if name)
