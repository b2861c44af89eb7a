"""The documents of evaluated trials: reading them, and the rows that their events give."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.events.document import trial_events
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.escape import encodable
from retrieval_eval.io.artefacts import read_artefact, record_as_written, record_in
from retrieval_eval.io.files import probe, read_bytes
from retrieval_eval.io.remote import Place
from retrieval_eval.model import AnyRecord, from_builtins
from retrieval_eval.model.events import EventDocument, EventRow, TargetRow
from retrieval_eval.model.summary import RunSummary, TrialEntry
from retrieval_eval.report.columns import FRAMES, Row, read_row

_ACCESS_OF_CATEGORY: Final = {"file_read": "opened", "file_write": "written"}


@dataclass(frozen=True)
class TrialFiles:
    """A trial as the run summary lists it, with its metrics document when there is one."""

    run_id: str
    folder: Path | Place
    entry: TrialEntry
    metrics: TrialMetrics | None

    @cached_property
    def identity(self) -> Row:
        """The columns that name the trial."""
        names = ("config_name", "benchmark", "task_name", "trial_name")
        found = {"run_id": self.run_id} | {name: getattr(self.entry, name) for name in names}
        return {name: encodable(text) for name, text in found.items()}

    def with_config(self, name: str | None) -> TrialFiles:
        """Return the same trial with another name of its configuration; None changes nothing."""
        if name is None:
            return self
        return dataclass_replace(self, entry=replace(self.entry, config_name=name))

    def events(self) -> EventDocument | None:
        """Return the event document, or None when there is no such file."""
        return _read_member(self.folder, self.entry.events_file, EventDocument)


def read_run_document(folder: Path | Place, name: str, struct: type[AnyRecord]) -> AnyRecord:
    """Return a document of a run.

    Raises
    ------
    BadInputError
        When it is not there, cannot be read or is damaged.
    SchemaError
        When it is of another major version, or no such document; file and pointer are named.
    """
    return _read(folder, name, struct, "evaluate the run first")


def read_trials(folder: Path | Place, summary: RunSummary) -> list[TrialFiles]:
    """Return the trials that a run summary lists, in its order."""
    names = [entry.metrics_file for entry in summary.trials]
    # Together, as a storage takes long to answer.
    contents = folder.read(names) if isinstance(folder, Place) else [None] * len(names)
    return [
        TrialFiles(
            summary.run_id,
            folder,
            entry,
            _read_member(folder, entry.metrics_file, TrialMetrics, data),
        )
        for entry, data in zip(summary.trials, contents, strict=True)
    ]


def _read_member(
    folder: Path | Place, name: str, struct: type[AnyRecord], data: bytes | None = None
) -> AnyRecord | None:
    """Return a document, of a storage by its content where that is read; None without one."""
    if isinstance(folder, Place):
        data = folder.read([name])[0] if data is None else data
        return record_in(data, struct, f"{folder}/{name}") if data else None
    if not name or not probe((folder / name).is_file):
        return None
    return _read(folder, name, struct, "evaluate the run again")


def _read(folder: Path | Place, name: str, struct: type[AnyRecord], remedy: str) -> AnyRecord:
    if isinstance(folder, Place):
        return record_in(folder.read([name])[0], struct, f"{folder}/{name}")
    data, problem = read_bytes(folder / name, folder)
    if problem is None and (record := record_as_written(data, struct)) is not None:
        return record
    found = read_artefact(folder / name, folder)
    if found.problem is not None:
        raise BadInputError(f"{folder}: {found.problem}; {remedy}")
    try:
        return from_builtins(found.value, struct, f"{folder}: {name}")
    except SchemaError as error:
        raise SchemaError(f"{error}; {remedy}") from None


def renamed_summary(summary: RunSummary, new: Mapping[str, str]) -> RunSummary:
    """Return a run summary with configs renamed wherever they are named."""
    return replace(
        summary,
        trials=tuple(
            replace(t, config_name=new.get(t.config_name, t.config_name)) for t in summary.trials
        ),
        excluded=tuple(
            replace(e, config_name=new.get(e.config_name or "", e.config_name))
            for e in summary.excluded
        ),
        configs={new.get(config, config): found for config, found in summary.configs.items()},
    )


def event_rows(document: EventDocument | None, identity: Row) -> list[Row]:
    """Return one row per event of an event document."""
    if document is None:
        return []
    columns = FRAMES["events"][1]
    truth = document.ground_truth
    repositories = _aligned(truth.repositories, len(truth.files))
    places: dict[str, list[int]] = defaultdict(list)
    for i, file in enumerate(truth.files):
        places[file].append(i)
    rows = []
    for event in document.events:
        own = identity | {"arguments": _as_text(event.arguments)}
        if truth.files:
            hits = [(f, repositories[i]) for f, i in _hits(event, places, repositories)]
            several = len(set(repositories)) > 1
            own["matched_ground_truth_files"] = [
                named_file(file, repository if several else None) for file, repository in hits
            ]
        rows.append(read_row(event, columns, own))
    return rows


def named_file(file: str, repository: str | None) -> str:
    """Return a file with its repository, where that is known: several may have one of its name.

    Examples
    --------
    >>> named_file("package.json", "lodash"), named_file("a.py", None)
    ('lodash::package.json', 'a.py')
    """
    return f"{repository}::{file}" if repository else file


def _as_text(arguments: Mapping[str, Any]) -> str | None:
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True) if arguments else None


@dataclass(slots=True)
class _FileStatus:
    first_step: int | None = None
    opened_step: int | None = None
    written_step: int | None = None


def ground_truth_rows(document: EventDocument | None, identity: Row) -> list[Row]:
    """Return one row per ground-truth file, with what became of it in the trial.

    A file is retrieved by any access but a write, and opened when its content was read. Plain 1.0
    documents do not say how a file was touched; there the tool category decides.
    """
    if document is None:
        return []
    truth = document.ground_truth
    repositories = _aligned(truth.repositories, len(truth.files))
    statuses = _statuses(document, repositories)
    certainty: dict[tuple[str, str | None], str] = {}
    if document.coverage.recall_width != 0:  # what is stated to leave nothing open needs no look
        found = evidence(trial_events(document))
        certainty = {(f.path, f.repository): c for f, c in found.items()}
    edits = truth.expected_edit_files
    return [
        {
            **identity,
            "file": file,
            "repository": repositories[i],
            "is_retrieved": statuses[i].first_step is not None,
            "is_opened": statuses[i].opened_step is not None,
            "is_possible": certainty.get((file, repositories[i])) == "possible",
            "is_written": statuses[i].written_step is not None,
            "is_expected_edit": file in edits if edits else None,
            "first_step": statuses[i].first_step,
            "opened_step": statuses[i].opened_step,
            "written_step": statuses[i].written_step,
        }
        for i, file in enumerate(truth.files)
    ]


def _aligned(values: tuple[str | None, ...], length: int) -> tuple[str | None, ...]:
    return values if len(values) == length else (None,) * length


def _statuses(document: EventDocument, repositories: tuple[str | None, ...]) -> list[_FileStatus]:
    files = document.ground_truth.files
    statuses = [_FileStatus() for _ in files]
    places: dict[str, list[int]] = defaultdict(list)
    for i, file in enumerate(files):
        places[file].append(i)
    for event in document.events:
        for file, i in _hits(event, places, repositories):
            named = [t for t in event.targets if _is_named(t, file, repositories[i])]
            accesses = {str(target.access) for target in named}
            if not accesses:
                accesses = {_ACCESS_OF_CATEGORY.get(event.tool_category, "matched")}
            status = statuses[i]
            if accesses - {"written"} and status.first_step is None:
                status.first_step = event.step_index
            if "opened" in accesses and status.opened_step is None:
                status.opened_step = event.step_index
            if "written" in accesses and status.written_step is None:
                status.written_step = event.step_index
    return statuses


def _hits(
    event: EventRow, places: Mapping[str, list[int]], repositories: tuple[str | None, ...]
) -> Iterator[tuple[str, int]]:
    """Yield the ground-truth files of an event; equal paths are distinguished by repository."""
    matched = event.matched_ground_truth_files
    for file in dict.fromkeys(matched):
        candidates = places.get(file, [])
        if len(candidates) > 1:
            named = [
                i
                for i in candidates
                if any(_is_named(t, file, repositories[i]) for t in event.targets)
            ]
            candidates = named or candidates[: matched.count(file)]
        yield from ((file, i) for i in candidates)


def _is_named(target: TargetRow, file: str, repository: str | None) -> bool:
    if target.file.lower() != file.lower():
        return False
    known = target.repository
    return known is None or repository is None or known.lower() == repository.lower()
