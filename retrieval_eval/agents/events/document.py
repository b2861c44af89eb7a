"""The event document: writing it, and reading any 1.x version back."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, cast

from retrieval_eval.agents.events import Beside, TrialEvents, created, own_output
from retrieval_eval.agents.events.calls import count
from retrieval_eval.agents.events.evidence import INCOMPLETE, accesses, doubts
from retrieval_eval.agents.events.match import Workspace
from retrieval_eval.io.spooled import like
from retrieval_eval.model.common import Coverage, EventSummary, Provenance
from retrieval_eval.model.events import (
    AttachedRow,
    EventDocument,
    EventRow,
    ExpectedChunk,
    ExpectedSymbol,
    GroundTruthBlock,
    TargetRow,
)
from retrieval_eval.paths import file_ref
from retrieval_eval.records import (
    Access,
    AttachedFile,
    Chunk,
    Event,
    FileRef,
    GroundTruth,
    Symbol,
    Target,
    Trace,
)
from retrieval_eval.schema import SCHEMA_VERSION

_ACCESS_OF_CATEGORY: Mapping[str, Access] = {"file_read": "opened", "file_write": "written"}


def event_document(
    trial: TrialEvents, *, provenance: Provenance, coverage: Coverage
) -> EventDocument:
    """Return the event document of a trial, all but ``generated_at``."""
    files = trial.ground_truth.files
    rows = (_event(event, files) for event in trial.events)
    return EventDocument(
        schema_version=SCHEMA_VERSION,
        provenance=provenance,
        coverage=coverage,
        ground_truth=_ground_truth(trial.ground_truth),
        events=cast("tuple[EventRow, ...]", like(trial.events, EventRow, rows)),
        attached=tuple(_attached_row(attached) for attached in trial.beside.attached),
        submitted_files=(
            None if trial.beside.submitted is None else tuple(map(_row, trial.beside.submitted))
        ),
        summary=summarise(trial),
        ledger=trial.ledger,
    )


def iso(timestamp: float | None) -> str | None:
    """Return Unix seconds as an ISO 8601 UTC time with milliseconds, or None."""
    if timestamp is None:
        return None
    try:
        moment = datetime.fromtimestamp(timestamp, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ground_truth(truth: GroundTruth) -> GroundTruthBlock:
    edits = truth.expected_edit_files or ()
    return GroundTruthBlock(
        files=tuple(f.path for f in truth.files),
        repositories=tuple(f.repository for f in truth.files),
        symbols=tuple(
            ExpectedSymbol(file=s.file.path, symbol=s.symbol, repo=s.file.repository)
            for s in truth.symbols
        ),
        chunks=tuple(
            ExpectedChunk(
                file=c.file.path,
                repository=c.file.repository,
                line_start=c.line_start,
                line_end=c.line_end,
                annotation=c.annotation,
            )
            for c in truth.chunks
        ),
        expected_edit_files=tuple(f.path for f in edits),
        expected_edit_repositories=tuple(f.repository for f in edits),
        added_files=tuple(f.path for f in truth.added_files),
        added_repositories=tuple(f.repository for f in truth.added_files),
        not_retrieval_targets=truth.not_retrieval_targets,
        output_files=truth.output_files,
    )


def _event(event: Event, files: tuple[FileRef, ...]) -> EventRow:
    return EventRow(
        step_index=event.step_index,
        timestamp=iso(event.timestamp),
        tool_name=event.tool_name,
        tool_category=event.tool_category,
        is_mcp=event.is_mcp,
        arguments=dict(event.arguments),
        target_files=tuple(dict.fromkeys(t.file.path for t in event.targets)),
        hits_ground_truth=bool(event.matched),
        matched_ground_truth_files=tuple(files[i].path for i in event.matched),
        cumulative_tokens=event.cumulative_tokens,
        elapsed_seconds=event.elapsed_seconds,
        call_id=event.call_id,
        call_index=event.call_index,
        via=event.via,
        server=event.server,
        is_error=event.is_error,
        is_subagent=event.is_subagent,
        agent=event.agent,
        target_symbols=tuple(symbol.symbol for symbol in event.symbols),
        is_opaque=event.is_opaque,
        is_shell=event.is_shell or None,
        targets=tuple(_row(target) for target in event.targets),
        possible_targets=tuple(_row(target) for target in event.possible),
        open_doubt=event.open_doubt,
    )


def _row(target: Target) -> TargetRow:
    return TargetRow(
        file=target.file.path,
        repository=target.file.repository,
        access=target.access,
        lines=target.lines,
        is_whole=target.is_whole,
        doubt=target.doubt,
        placement=target.placement,
        is_new=True if target.is_new else None,
    )


def _attached_row(attached: AttachedFile) -> AttachedRow:
    target = attached.target
    return AttachedRow(
        file=target.file.path,
        repository=target.file.repository,
        how=attached.how,
        lines=target.lines,
        is_whole=target.is_whole,
        access=None if target.access == "opened" else target.access,
        call_id=attached.call_id,
        timestamp=iso(attached.timestamp),
        is_subagent=True if attached.is_subagent else None,
        doubt=target.doubt,
        placement=target.placement,
    )


def _read_beside(saved: EventDocument) -> Beside:
    attached = (
        AttachedFile(
            Target(
                FileRef(row.file, row.repository),
                row.access or "opened",
                row.lines,
                bool(row.is_whole),
                row.doubt,
                row.placement,
            ),
            row.how,
            row.call_id,
            is_subagent=bool(row.is_subagent),
        )
        for row in saved.attached
    )
    rows = saved.submitted_files
    return Beside(tuple(attached), None if rows is None else tuple(map(_target, rows)))


def trial_events(saved: EventDocument) -> TrialEvents:
    """Return the events and ground truth of an event document of any 1.x version.

    A plain 1.0 document records neither how a file was touched nor its repository: the access
    follows from the tool category (reads open, writes write, everything else matches), and files
    are matched to the ground truth anew.
    """
    truth = _read_ground_truth(saved)
    workspace = Workspace(truth)
    events = tuple(_read_event(row, index, workspace) for index, row in enumerate(saved.events))
    own = own_output(events, truth, workspace)
    beside = _read_beside(saved)
    return TrialEvents(
        events,
        truth,
        saved.ledger or count([]),
        own,
        trace_flags=saved.coverage.quality_flags,
        created=created(events, beside),
        beside=beside,
    )


def _read_ground_truth(document: EventDocument) -> GroundTruth:
    block, coverage = document.ground_truth, document.coverage
    files = _refs(block.files, block.repositories)
    edits = _refs(block.expected_edit_files, block.expected_edit_repositories)
    return GroundTruth(
        files=files,
        symbols=tuple(
            Symbol(ref, s.symbol)
            for s in block.symbols
            if (ref := file_ref(s.file, repository=s.repo))
        ),
        chunks=tuple(
            Chunk(ref, c.line_start, c.line_end, c.annotation)
            for c in block.chunks
            if (ref := file_ref(c.file, repository=c.repository))
        ),
        expected_edit_files=edits or None,
        added_files=_refs(block.added_files, block.added_repositories),
        not_retrieval_targets=block.not_retrieval_targets,
        output_files=block.output_files,
        source=coverage.ground_truth_source,
        confidence=coverage.ground_truth_confidence,
        reason=None if files else coverage.ground_truth_reason or "no_ground_truth",
    )


def _refs(paths: tuple[str, ...], repositories: tuple[str | None, ...]) -> tuple[FileRef, ...]:
    known = repositories if len(repositories) == len(paths) else (None,) * len(paths)
    refs = (file_ref(p, repository=r) for p, r in zip(paths, known, strict=True))
    return tuple({ref.key: ref for ref in refs if ref is not None}.values())


def _read_event(row: EventRow, index: int, workspace: Workspace) -> Event:
    targets = tuple(_read_targets(row, workspace))
    positions = (workspace.position(t.file) for t in targets)
    return Event(
        step_index=row.step_index,
        call_index=index if row.call_index is None else row.call_index,
        call_id=row.call_id or "",
        tool_name=row.tool_name,
        tool_category=row.tool_category,
        is_mcp=row.is_mcp,
        targets=targets,
        possible=tuple(_target(target) for target in row.possible_targets),
        open_doubt=row.open_doubt,
        matched=tuple(dict.fromkeys(p for p in positions if p is not None)),
        elapsed_seconds=row.elapsed_seconds,
        cumulative_tokens=row.cumulative_tokens,
        arguments=row.arguments,
        via=row.via,
        server=row.server,
        is_error=bool(row.is_error),
        is_subagent=bool(row.is_subagent),
        agent=row.agent,
        is_opaque=bool(row.is_opaque),
        is_shell=bool(row.is_shell),
    )


def _read_targets(row: EventRow, workspace: Workspace) -> list[Target]:
    if not row.targets:
        access = _ACCESS_OF_CATEGORY.get(row.tool_category, "matched")
        files = [workspace.resolve(path) for path in row.target_files]
        return [Target(file, access) for file in files if file is not None]
    # The path is resolved already; resolving it again would take the folder gcc of gcc for its
    # checkout.
    return [_target(target) for target in row.targets]


def _target(row: TargetRow) -> Target:
    file = FileRef(row.file, row.repository)
    return Target(
        file,
        row.access,
        row.lines,
        bool(row.is_whole),
        row.doubt,
        row.placement,
        bool(row.is_new),
    )


# --------------------------------------------------------------------------------------------------
# What was available for a trial, and the sentence about what is missing.

_Source = Literal["trace", "outcome", "ground_truth"]


def _faults_of_trace(trial: TrialEvents, trace: Trace | None, missing: str | None) -> list[str]:
    """Return the sentences on why the events are empty or incomplete."""
    if trace is None:
        return [missing or "no trace was found"]
    early, late = (
        [INCOMPLETE[flag].sentence for flag in flags if flag in INCOMPLETE]
        for flags in (trace.flags, trial.flags)
    )
    return [*early, *trace.problems, *late]


def coverage(
    trial: TrialEvents,
    trace: Trace | None,
    missing: str | None,
    *,
    outcome: Iterable[str] = (),
    ground_truth: Iterable[str] = (),
) -> Coverage:
    """Return what was available of a trial.

    ``degraded_reason`` holds a sentence for everything that is missing, incomplete or cannot be
    read, and is null when nothing is; ``degraded_sources`` names what these sentences are about,
    of ``trace``, ``outcome`` and ``ground_truth``. Only a broken trace makes events incomplete.

    Parameters
    ----------
    trial
        The events of the trial, with its ground truth.
    trace
        The trace, or None when there is none.
    missing
        Why there is no trace.
    outcome, ground_truth
        Sentences on files of the outcome and of the ground truth that cannot be read.
    """
    truth = trial.ground_truth
    found = doubts(trial)
    faults: dict[_Source, list[str]] = {
        "trace": _faults_of_trace(trial, trace, missing),
        "outcome": list(outcome),
        "ground_truth": list(ground_truth),
    }
    return Coverage(
        has_trajectory=trace is not None and trace.has_trajectory,
        has_transcript=trace is not None and trace.has_transcript,
        has_ground_truth=bool(truth.files),
        has_chunk_ground_truth=bool(truth.chunks),
        trace_source=trace.source if trace is not None else None,
        degraded_reason="; ".join(s for stated in faults.values() for s in stated) or None,
        degraded_sources=tuple(source for source, stated in faults.items() if stated),
        ground_truth_source=truth.source,
        ground_truth_confidence=truth.confidence,
        ground_truth_reason=None if truth.files else truth.reason,
        ground_truth_problems=truth.problems,
        ground_truth_digest=_digest(truth),
        repositories=tuple(sorted(_repositories(truth))),
        quality_flags=tuple(sorted({*(trace.flags if trace is not None else ()), *trial.flags})),
        trace_format=trace.format if trace is not None else None,
        recall_width=found.width if trace is not None else None,
        possible_files=found.files,
        possible_calls=found.calls,
        answer_exposed_at=trial.exposed_at,
    )


def _digest(truth: GroundTruth) -> str | None:
    """Return a digest that distinguishes versions of a ground truth, or None without one."""
    if not truth.files:
        return None
    # What a pattern gave differs from trial to trial, the pattern does not.
    stated = [*(f for f in truth.files if f not in truth.expanded), *truth.patterns]
    keys = sorted(f"{repository or ''}::{path}" for repository, path in (f.key for f in stated))
    return hashlib.sha256("\n".join(keys).encode("utf-8", "replace")).hexdigest()[:16]


def _repositories(truth: GroundTruth) -> set[str]:
    named = {f.repository for f in truth.files if f.repository}
    return named or {repository.name for repository in truth.repositories}


# --------------------------------------------------------------------------------------------------
# The seed's pre-computed counts over the events of a trial.


def first_hit_step(trial: TrialEvents) -> int | None:
    """Return the ``step_index`` of the first event that retrieved a ground-truth file."""
    relevant = {f.key for f in trial.ground_truth.files}
    return next((e.step_index for e, t in accesses(trial) if t.file.key in relevant), None)


def summarise(trial: TrialEvents) -> EventSummary:
    """Return the counts over the events; writes are no accesses and find nothing."""
    relevant = {f.key for f in trial.ground_truth.files}
    accessed = {target.file.key for _, target in accesses(trial)}
    mcp = sum(event.is_mcp for event in trial.events)
    categories = Counter(event.tool_category for event in trial.events)
    return EventSummary(
        total_events=len(trial.events),
        mcp_events=mcp,
        local_events=len(trial.events) - mcp,
        unique_files_accessed=len(accessed),
        ground_truth_files_hit=len(accessed & relevant),
        ground_truth_files_total=len(relevant),
        first_ground_truth_hit_step=first_hit_step(trial),
        events_by_category=dict(sorted(categories.items())),
    )
