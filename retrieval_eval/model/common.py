"""Parts that several documents share."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.meta import (
    ABSENT_MAP,
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    Count,
    Record,
    Share,
    about,
)
from retrieval_eval.records import Confidence, Doubt, TraceSource


class Provenance(Record, frozen=True, kw_only=True):
    """Which run, task, config and trial this is."""

    run_id: Annotated[str, about("Staging or official run directory name")]
    batch_timestamp: Annotated[
        str | None,
        about("Batch subdirectory within the run; null where the tree has no such level"),
    ] = NULL
    task_name: Annotated[str, about("Canonical task identifier (matches the task directory)")]
    trial_name: Annotated[str | None, about("Trial directory name")] = NULL
    config_name: Annotated[str, about("Full config label, such as baseline-local-direct")]
    benchmark: Annotated[
        str, about("Suite name; 'unknown' when neither the task directory nor the trial names one")
    ]
    model: Annotated[str | None, about("Model identifier, from result.json or the trace")] = NULL
    harness: Annotated[str | None, about("Agent harness, such as claude-code")] = NULL
    harness_version: Annotated[str | None, about("Version of the agent harness")] = NULL
    raw_task_name: Annotated[
        str | None,
        about("The task name as result.json gives it, before its decorations were resolved"),
    ] = NULL
    is_simulated: Annotated[
        bool | None,
        about('The trial is invented: its result.json states "simulated": true. Absent in others'),
    ] = None


class Coverage(Record, frozen=True, kw_only=True):
    """What was available."""

    has_trajectory: Annotated[bool, about("agent/trajectory.json was found and parseable")]
    has_transcript: Annotated[bool, about("A transcript was found and parseable")]
    has_ground_truth: Annotated[bool, about("File-level expected files exist for the task")]
    has_chunk_ground_truth: Annotated[bool | None, about("Line-range annotations exist")] = None
    trace_source: Annotated[
        TraceSource | None,
        about("trajectory, transcript or merged: what produced the events; null in degraded mode"),
    ]
    degraded_reason: Annotated[
        str | None, about("Why events are empty or incomplete; null when nothing is missing")
    ]
    degraded_sources: Annotated[
        tuple[Literal["trace", "outcome", "ground_truth"], ...],
        about(
            "The sources degraded_reason names, since 1.2; only a broken trace leaves events out"
        ),
    ] = EMPTY_LIST
    ground_truth_source: Annotated[
        str | None, about("Which source of the priority chain named the files")
    ] = NULL
    ground_truth_confidence: Annotated[
        Confidence | None, about("Confidence of that source: high, medium or low")
    ] = NULL
    ground_truth_reason: Annotated[
        str | None, about("Reason code when there is no ground truth")
    ] = NULL
    quality_flags: Annotated[
        tuple[str, ...],
        about("Flags of the trace reader, such as trimmed or subagent_calls_missing"),
    ] = EMPTY_LIST
    trace_format: Annotated[
        str | None, about("Format of the trace, such as atif or claude-code-stream-json")
    ] = NULL
    ground_truth_problems: Annotated[
        tuple[str, ...], about("Faults of ground-truth sources, naming file and line")
    ] = EMPTY_LIST
    ground_truth_digest: Annotated[
        str | None, about("Digest that distinguishes versions of a task's ground truth")
    ] = NULL
    repositories: Annotated[
        tuple[str, ...], about("Repositories the ground truth lies in, or the task is about")
    ] = EMPTY_LIST
    recall_width: Annotated[
        Share | None,
        about("Share of the ground-truth files that may or may not have been accessed"),
    ] = None
    possible_files: Annotated[
        dict[Doubt, Count],
        about("Ground-truth files that are only possible, by cause", unit="files"),
    ] = ABSENT_MAP
    possible_calls: Annotated[
        dict[Doubt, Count],
        about("Calls that may have accessed such a file, by cause", unit="calls"),
    ] = ABSENT_MAP
    answer_exposed_at: Annotated[
        Count | None,
        about(
            "call_index of the first result that shows the reference change before the agent "
            "wrote it; absent where there is none"
        ),
    ] = None


class EventSummary(Record, frozen=True, kw_only=True):
    """Pre-computed counts."""

    total_events: Annotated[Count | None, about("Number of events", unit="events")] = None
    mcp_events: Annotated[Count | None, about("Events with is_mcp", unit="events")] = None
    local_events: Annotated[Count | None, about("Events without is_mcp", unit="events")] = None
    unique_files_accessed: Annotated[
        Count | None, about("Distinct files read or returned (writes are not accesses)")
    ] = None
    ground_truth_files_hit: Annotated[
        Count | None, about("Ground-truth files read or returned by at least one event")
    ] = None
    ground_truth_files_total: Annotated[Count | None, about("Ground-truth files of the task")] = (
        None
    )
    first_ground_truth_hit_step: Annotated[
        Count | None,
        about("step_index of the first event that read or returned a ground-truth file"),
    ] = NULL
    events_by_category: Annotated[
        dict[str, Count], about("Event counts keyed by tool_category")
    ] = EMPTY_MAP


class CallLedger(Record, frozen=True, kw_only=True):
    """Counts of tool calls by status.

    seen = not retrieval + no result + error + opaque + resolved.
    """

    calls_seen: Annotated[Count, about("Tool calls in the trace", unit="calls")]
    calls_not_retrieval: Annotated[
        Count | None, about("Housekeeping of the harness", unit="calls")
    ] = None
    calls_resolved: Annotated[Count | None, about("Calls understood", unit="calls")] = None
    calls_opaque: Annotated[
        Count | None, about("May touch files, not resolvable", unit="calls")
    ] = None
    calls_error: Annotated[
        Count | None, about("Failed calls, which find nothing", unit="calls")
    ] = None
    calls_refused: Annotated[
        Count | None, about("Of these, refused or not finished", unit="calls")
    ] = None
    calls_without_result: Annotated[Count | None, about("No result in the trace", unit="calls")] = (
        None
    )
    subagent_calls: Annotated[Count | None, about("Made by sub-agents", unit="calls")] = None
    shell_calls: Annotated[Count | None, about("Shell calls", unit="calls")] = None
    shell_opaque: Annotated[
        Count | None, about("Shell calls with a part that could not be resolved", unit="calls")
    ] = None
    shell_events: Annotated[
        Count | None, about("Events derived from shell commands", unit="calls")
    ] = None
    mcp_calls: Annotated[Count | None, about("Calls to MCP servers", unit="calls")] = None
    mcp_calls_ok: Annotated[
        Count | None, about("Calls to MCP servers that did not fail", unit="calls")
    ] = None
    not_retrieval_by_tool: Annotated[
        dict[str, Count], about("calls_not_retrieval by tool name")
    ] = EMPTY_MAP
    tools: Annotated[
        dict[str, tuple[Count, Count]],
        about(
            "Calls by tool as it is named in the trace, and how many of them had a result "
            "without error; of more than 200 tools those called most often"
        ),
    ] = ABSENT_MAP
    mcp_servers: Annotated[dict[str, tuple[Count, Count]], about("The same by MCP server")] = (
        ABSENT_MAP
    )
    opaque_reasons: Annotated[
        dict[str, Count], about("How often each reason made a call opaque")
    ] = EMPTY_MAP
