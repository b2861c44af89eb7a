"""Normalised retrieval events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from retrieval_eval.model.common import (
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    BodyDigest,
    CallLedger,
    Count,
    Coverage,
    EventSummary,
    InputFingerprint,
    Moment,
    NonNegative,
    Positive,
    Provenance,
    Record,
    SchemaVersion,
    about,
)
from retrieval_eval.records import Access, Doubt, Placement, ToolCategory


class ExpectedSymbol(Record, frozen=True, kw_only=True):
    """An expected symbol."""

    file: Annotated[str, about("Repo-relative path")]
    symbol: Annotated[str, about("Symbol name")]
    repo: Annotated[str | None, about("Repository in multi-repo tasks")] = NULL


class ExpectedChunk(Record, frozen=True, kw_only=True):
    """An expected line range."""

    file: Annotated[str, about("Repo-relative path")]
    line_start: Annotated[Positive, about("First line, 1-based")]
    line_end: Annotated[Positive, about("Last line, inclusive")]
    annotation: Annotated[str | None, about("Remark on the range")] = NULL
    repository: Annotated[str | None, about("Repository in multi-repo tasks")] = NULL


class GroundTruthBlock(Record, frozen=True, kw_only=True):
    """What the task expects an agent to find."""

    files: Annotated[
        tuple[str, ...], about("Relevant files, repo-relative; empty when there is no ground truth")
    ]
    repositories: Annotated[
        tuple[str | None, ...],
        about("Repository of each entry of files, null where the source names none"),
    ] = EMPTY_LIST
    symbols: Annotated[tuple[ExpectedSymbol, ...], about("Expected symbols")] = ()
    chunks: Annotated[tuple[ExpectedChunk, ...], about("Expected line ranges")] = ()
    expected_edit_files: Annotated[
        tuple[str, ...],
        about(
            "Files that a high-confidence source names as to be edited; absent when not inferable"
        ),
    ] = ()
    not_retrieval_targets: Annotated[
        tuple[str, ...], about("Entries that name the agent's own output")
    ] = ()
    expected_edit_repositories: Annotated[
        tuple[str | None, ...],
        about("Repository of each expected edit file, null where the source names none"),
    ] = ()
    output_files: Annotated[tuple[str, ...], about("Files the task tells the agent to write")] = ()
    added_files: Annotated[
        tuple[str, ...],
        about(
            "Expected edit files that the reference change adds, which were not there to be found"
        ),
    ] = ()
    added_repositories: Annotated[
        tuple[str | None, ...],
        about("Repository of each added file, null where the source names none"),
    ] = ()


class TargetRow(Record, frozen=True, kw_only=True):
    """One file an event touched."""

    file: Annotated[str, about("Normalised path")]
    repository: Annotated[str | None, about("Short repository name where the trace states it")] = (
        NULL
    )
    access: Annotated[
        Access,
        about("Content read, search hit, name listed, or written"),
    ]
    lines: Annotated[
        tuple[tuple[Positive, Positive], ...] | None,
        about("1-based inclusive line ranges; null where the trace does not state them"),
    ] = NULL
    is_whole: Annotated[bool | None, about("The whole file was read")] = None
    doubt: Annotated[
        Doubt | None, about("Why the access is only possible; absent where it is certain")
    ] = None
    placement: Annotated[
        Placement | None, about("How it is known where the path lies: stated, observed, inferred")
    ] = None
    is_new: Annotated[
        bool | None,
        about("The whole file was written, and the agent created it so; absent otherwise"),
    ] = None


class AttachedRow(Record, frozen=True, kw_only=True):
    """A file that was shown to the agent without a call that requested it."""

    file: Annotated[str, about("Normalised path")]
    repository: Annotated[str | None, about("Short repository name where it is known")] = NULL
    how: Annotated[str, about("Why it was attached, in a few words")] = ""
    lines: Annotated[
        tuple[tuple[Positive, Positive], ...] | None,
        about("1-based inclusive line ranges; null where the trace does not state them"),
    ] = NULL
    is_whole: Annotated[bool | None, about("The whole file was shown")] = None
    access: Annotated[
        Access | None, about("`listed` where only its name was shown; absent where its content was")
    ] = None
    call_id: Annotated[str | None, about("The tool call that it came with, if any")] = None
    timestamp: Annotated[str | None, about("When it was shown (ISO 8601)")] = None
    is_subagent: Annotated[bool | None, about("It was shown to a sub-agent")] = None
    doubt: Annotated[
        Doubt | None, about("Why it may be another file; absent where it is certain")
    ] = None
    placement: Annotated[
        Placement | None, about("How it is known where the path lies: stated, observed, inferred")
    ] = None


class EventRow(Record, frozen=True, kw_only=True):
    """One retrieval-related tool call, or one command inside a shell call."""

    step_index: Annotated[
        Count, about("Zero-based position of the event; preserves execution order")
    ]
    timestamp: Annotated[str | None, about("When the tool was called (ISO 8601)")] = NULL
    tool_name: Annotated[
        str, about("Raw tool name; for events derived from a shell command the program")
    ]
    tool_category: Annotated[
        ToolCategory,
        about("Normalised category"),
    ]
    is_mcp: Annotated[bool, about("The call went to an MCP server")]
    arguments: Annotated[
        dict[str, Any], about("Salient arguments, long ones cut with their length kept")
    ] = EMPTY_MAP
    target_files: Annotated[
        tuple[str, ...], about("Normalised paths accessed or returned, in order", unit="files")
    ]
    target_symbols: Annotated[
        tuple[str, ...], about("Expected symbols whose definition was shown")
    ] = ()
    hits_ground_truth: Annotated[
        bool | None, about("Some target file matches a ground-truth file")
    ] = None
    matched_ground_truth_files: Annotated[
        tuple[str, ...], about("Which entries of ground_truth.files matched", unit="files")
    ] = EMPTY_LIST
    cumulative_tokens: Annotated[
        Count | None, about("Running token total up to this step", unit="tokens")
    ] = NULL
    elapsed_seconds: Annotated[
        NonNegative | None, about("Seconds since the agent's execution started", unit="s")
    ] = NULL
    is_subagent: Annotated[bool | None, about("The call was made by a sub-agent")] = None
    agent: Annotated[
        str | None, about("Id of the sub-agent that made the call; absent for the main agent")
    ] = None
    call_id: Annotated[str | None, about("Id of the tool call")] = None
    call_index: Annotated[
        Count | None,
        about("Zero-based position of the tool call; events derived from one shell call share it"),
    ] = None
    via: Annotated[
        Literal["shell"] | None, about("'shell' for an event derived from a shell command")
    ] = NULL
    server: Annotated[str | None, about("MCP server name")] = NULL
    is_error: Annotated[
        bool | None, about("The tool reported a failure; an error finds nothing")
    ] = None
    is_opaque: Annotated[
        bool | None, about("Files may have been touched that could not be resolved")
    ] = None
    is_shell: Annotated[bool | None, about("The call ran a shell command")] = None
    targets: Annotated[
        tuple[TargetRow, ...],
        about("The target files with repository, kind of access and line ranges"),
    ] = EMPTY_LIST
    possible_targets: Annotated[
        tuple[TargetRow, ...], about("Files that the call may have accessed, with the doubt")
    ] = ()
    open_doubt: Annotated[
        Doubt | None, about("Why the call may have accessed files that are not known by name")
    ] = None


class EventDocument(Record, frozen=True, kw_only=True):
    """Retrieval events of a trial.

    Its provenance, coverage, ground truth and the ordered events. Versions 1.1 and 1.2 add
    optional fields to 1.0; unknown fields of later 1.x versions are allowed.
    """

    schema_version: SchemaVersion
    generated_at: Annotated[
        Moment | None,
        about(
            "When the artefact was written (ISO 8601, UTC). The only field that differs "
            "between two runs over the same input"
        ),
    ] = None
    provenance: Annotated[Provenance, about("Which run, task, config and trial this is")]
    coverage: Annotated[Coverage, about("What was available")]
    ground_truth: Annotated[GroundTruthBlock, about("What the task expects an agent to find")]
    events: Annotated[tuple[EventRow, ...], about("Ordered step-level retrieval events")]
    attached: Annotated[
        tuple[AttachedRow, ...],
        about("Files that were shown without a call that requested them; no event is one"),
    ] = ()
    submitted_files: Annotated[
        tuple[TargetRow, ...] | None,
        about("Files of the patch that the agent handed in; absent where the trace keeps none"),
    ] = None
    summary: Annotated[EventSummary | None, about("Pre-computed counts")] = None
    ledger: Annotated[
        CallLedger | None,
        about(
            "Counts of tool calls by status: seen = not retrieval + no result + error + "
            "opaque + resolved"
        ),
    ] = None
    input_fingerprint: InputFingerprint = None
    body_sha256: BodyDigest = None
