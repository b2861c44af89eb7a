"""The event document: writing it, and reading any 1.x version back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from retrieval_eval.errors import SchemaError
from retrieval_eval.events.calls import Ledger
from retrieval_eval.events.match import Workspace
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.own_output import own_output
from retrieval_eval.events.summary import summarise
from retrieval_eval.paths import file_ref
from retrieval_eval.records import Access, Chunk, Event, FileRef, GroundTruth, Symbol, Target
from retrieval_eval.schema import SCHEMA_VERSION, check_version, faults

_ACCESS_OF_CATEGORY: Mapping[str, Access] = {"file_read": "opened", "file_write": "written"}


def event_document(
    trial: TrialEvents, *, provenance: Mapping[str, Any], coverage: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the event document of a trial, all but ``generated_at``."""
    files = trial.ground_truth.files
    return {
        "schema_version": SCHEMA_VERSION,
        "provenance": dict(provenance),
        "coverage": dict(coverage),
        "ground_truth": _ground_truth(trial.ground_truth),
        "events": [_event(event, files) for event in trial.events],
        "summary": summarise(trial),
        "ledger": ledger_block(trial.ledger),
    }


def ledger_block(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as a JSON object."""
    block = dataclasses.asdict(ledger)
    for name in ("not_retrieval_by_tool", "opaque_reasons"):
        block[name] = dict(block[name])
    return block


def iso(timestamp: float | None) -> str | None:
    """Return Unix seconds as an ISO 8601 UTC time with milliseconds, or None."""
    if timestamp is None:
        return None
    try:
        moment = datetime.fromtimestamp(timestamp, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ground_truth(truth: GroundTruth) -> dict[str, Any]:
    block: dict[str, Any] = {
        "files": [f.path for f in truth.files],
        "repositories": [f.repository for f in truth.files],
    }
    if truth.symbols:
        block["symbols"] = [
            {"file": s.file.path, "symbol": s.symbol, "repo": s.file.repository}
            for s in truth.symbols
        ]
    if truth.chunks:
        block["chunks"] = [
            {
                "file": c.file.path,
                "repository": c.file.repository,
                "line_start": c.line_start,
                "line_end": c.line_end,
                "annotation": c.annotation,
            }
            for c in truth.chunks
        ]
    if truth.expected_edit_files is not None:
        block["expected_edit_files"] = [f.path for f in truth.expected_edit_files]
        block["expected_edit_repositories"] = [f.repository for f in truth.expected_edit_files]
    if truth.not_retrieval_targets:
        block["not_retrieval_targets"] = list(truth.not_retrieval_targets)
    if truth.output_files:
        block["output_files"] = list(truth.output_files)
    return block


def _event(event: Event, files: tuple[FileRef, ...]) -> dict[str, Any]:
    return {
        "step_index": event.step_index,
        "timestamp": iso(event.timestamp),
        "tool_name": event.tool_name,
        "tool_category": event.tool_category,
        "is_mcp": event.is_mcp,
        "arguments": dict(event.arguments),
        "target_files": list(dict.fromkeys(t.file.path for t in event.targets)),
        "hits_ground_truth": bool(event.matched),
        "matched_ground_truth_files": [files[i].path for i in event.matched],
        "cumulative_tokens": event.cumulative_tokens,
        "elapsed_seconds": event.elapsed_seconds,
        "call_id": event.call_id,
        "call_index": event.call_index,
        "via": event.via,
        "server": event.server,
        "is_error": event.is_error,
        "is_subagent": event.is_subagent,
        "is_opaque": event.is_opaque,
        "targets": [_target(t) for t in event.targets],
    }


def _target(target: Target) -> dict[str, Any]:
    return {
        "file": target.file.path,
        "repository": target.file.repository,
        "access": target.access,
        "lines": [list(r) for r in target.lines] if target.lines is not None else None,
        "is_whole": target.is_whole,
    }


def read_event_document(document: Any, name: str) -> TrialEvents:
    """Return the events and ground truth of a decoded event document of any 1.x version.

    A plain 1.0 document says neither how a file was touched nor its repository: the access
    follows from the tool category (reads open, writes write, everything else matches), and files
    are matched to the ground truth anew.

    Parameters
    ----------
    document
        The decoded JSON.
    name
        What to call it in messages.

    Raises
    ------
    SchemaError
        When it has another major version or does not follow the schema.
    """
    check_version(document, name)
    found = faults(document, "retrieval_events")
    if found:
        raise SchemaError(f"{name}: {found[0]}")
    truth = _read_ground_truth(document)
    workspace = Workspace(truth)
    events = tuple(
        _read_event(block, index, workspace) for index, block in enumerate(document["events"])
    )
    known = {f.name for f in dataclasses.fields(Ledger)}
    ledger = {k: v for k, v in document.get("ledger", {}).items() if k in known}
    for key in ("not_retrieval_by_tool", "opaque_reasons"):
        ledger[key] = tuple(ledger.get(key, {}).items())
    return TrialEvents(events, truth, Ledger(**ledger), own_output(events, truth, workspace))


def _read_ground_truth(document: Mapping[str, Any]) -> GroundTruth:
    block, coverage = document["ground_truth"], document["coverage"]
    files = _refs(block["files"], block.get("repositories"))
    edits = block.get("expected_edit_files")
    return GroundTruth(
        files=files,
        symbols=tuple(
            Symbol(ref, s["symbol"])
            for s in block.get("symbols", ())
            if (ref := file_ref(s["file"], repository=s.get("repo")))
        ),
        chunks=tuple(
            Chunk(ref, c["line_start"], c["line_end"], c.get("annotation"))
            for c in block.get("chunks", ())
            if (ref := file_ref(c["file"], repository=c.get("repository")))
        ),
        expected_edit_files=None
        if edits is None
        else _refs(edits, block.get("expected_edit_repositories")),
        not_retrieval_targets=tuple(block.get("not_retrieval_targets", ())),
        output_files=tuple(block.get("output_files", ())),
        source=coverage.get("ground_truth_source"),
        confidence=coverage.get("ground_truth_confidence"),
        reason=None if files else coverage.get("ground_truth_reason") or "no_ground_truth",
    )


def _refs(paths: list[str], repositories: list[str | None] | None) -> tuple[FileRef, ...]:
    known = (
        repositories if repositories and len(repositories) == len(paths) else [None] * len(paths)
    )
    refs = (file_ref(p, repository=r) for p, r in zip(paths, known, strict=True))
    return tuple({ref.key: ref for ref in refs if ref is not None}.values())


def _read_event(block: Mapping[str, Any], index: int, workspace: Workspace) -> Event:
    targets = tuple(_read_targets(block, workspace))
    positions = (workspace.position(t.file) for t in targets)
    matched = tuple(dict.fromkeys(p for p in positions if p is not None))
    return Event(
        step_index=block["step_index"],
        call_index=block.get("call_index", index),
        call_id=block.get("call_id", ""),
        tool_name=block["tool_name"],
        tool_category=block["tool_category"],
        is_mcp=block["is_mcp"],
        targets=targets,
        matched=matched,
        elapsed_seconds=block.get("elapsed_seconds"),
        cumulative_tokens=block.get("cumulative_tokens"),
        arguments=block.get("arguments", {}),
        via=block.get("via"),
        server=block.get("server"),
        is_error=block.get("is_error", False),
        is_subagent=block.get("is_subagent", False),
        is_opaque=block.get("is_opaque", False),
    )


def _read_targets(block: Mapping[str, Any], workspace: Workspace) -> list[Target]:
    access = _ACCESS_OF_CATEGORY.get(block["tool_category"], "matched")
    raw = block.get("targets")
    if raw is None:
        files = [workspace.resolve(path) for path in block["target_files"]]
        return [Target(file, access) for file in files if file is not None]
    targets = []
    for entry in raw:
        # Resolved when it was written; resolved again, gcc's own folder gcc would be its checkout.
        file = FileRef(entry["file"], entry.get("repository"))
        lines = entry.get("lines")
        ranges = tuple((a, b) for a, b in lines) if lines is not None else None
        targets.append(Target(file, entry["access"], ranges, entry.get("is_whole", False)))
    return targets
