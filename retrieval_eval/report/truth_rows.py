"""What became of every ground-truth file of a trial, read from its event document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from retrieval_eval.report.frames import Row, coerce, members, records

_ACCESS_OF_CATEGORY = {"file_read": "opened", "file_write": "written"}


@dataclass(slots=True)
class _Fate:
    first_step: int | None = None
    is_retrieved: bool = False
    is_opened: bool = False
    is_written: bool = False


def ground_truth_rows(document: Any, identity: Row) -> list[Row]:
    """Return one row per ground-truth file, with what became of it in the trial.

    A file is retrieved by any access but a write, and opened when its content was read. Plain 1.0
    documents do not say how a file was touched; there the tool category decides.
    """
    truth = members(members(document).get("ground_truth"))
    files = coerce(truth.get("files"), "list")
    repositories = _aligned(truth.get("repositories"), len(files))
    edits = truth.get("expected_edit_files")
    fates = _fates(document, files, repositories)
    return [
        {
            **identity,
            "file": file,
            "repository": repositories[i],
            "is_retrieved": fates[i].is_retrieved,
            "is_opened": fates[i].is_opened,
            "is_written": fates[i].is_written,
            "is_expected_edit": file in edits if isinstance(edits, list) else None,
            "first_step": fates[i].first_step,
        }
        for i, file in enumerate(files)
    ]


def _aligned(values: Any, length: int) -> list[str | None]:
    listed = values if isinstance(values, list) and len(values) == length else [None] * length
    return [coerce(value, "text") for value in listed]


def _fates(document: Any, files: list[str], repositories: list[str | None]) -> list[_Fate]:
    fates = [_Fate() for _ in files]
    places: dict[str, list[int]] = defaultdict(list)
    for i, file in enumerate(files):
        places[file].append(i)
    for event in records(members(document).get("events")):
        targets = records(event.get("targets"))
        step = coerce(event.get("step_index"), "integer")
        for file, i in _hits(event, targets, places, repositories):
            accesses = {t.get("access") for t in targets if _is_named(t, file, repositories[i])}
            if not accesses:
                accesses = {_ACCESS_OF_CATEGORY.get(str(event.get("tool_category")), "matched")}
            fate = fates[i]
            fate.is_written |= "written" in accesses
            fate.is_opened |= "opened" in accesses
            if accesses - {"written"} and not fate.is_retrieved:
                fate.is_retrieved, fate.first_step = True, step
    return fates


def _hits(
    event: Mapping[str, Any],
    targets: list[Mapping[str, Any]],
    places: Mapping[str, list[int]],
    repositories: list[str | None],
) -> Iterator[tuple[str, int]]:
    """Yield the ground-truth files of an event; equal paths are told apart by repository."""
    matched = coerce(event.get("matched_ground_truth_files"), "list")
    for file in dict.fromkeys(matched):
        candidates = places.get(file, [])
        if len(candidates) > 1:
            named = [
                i for i in candidates if any(_is_named(t, file, repositories[i]) for t in targets)
            ]
            candidates = named or candidates[: matched.count(file)]
        yield from ((file, i) for i in candidates)


def _is_named(target: Mapping[str, Any], file: str, repository: str | None) -> bool:
    path, known = coerce(target.get("file"), "text"), coerce(target.get("repository"), "text")
    if path is None or path.lower() != file.lower():
        return False
    return known is None or repository is None or known.lower() == repository.lower()
