"""Building blocks of all documents, and parts that several share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from retrieval_eval.records import Confidence, Doubt, TraceSource

# --------------------------------------------------------------------------------------------------
# Building blocks of all document structs: base class, field descriptions, number types.

Better = Literal["higher", "lower"]
"""Which direction of a number is an improvement."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a document: immutable, made by keyword, equal by value."""

    @classmethod
    def complete_schema(cls, schema: dict[str, Any]) -> None:
        """Add to the generated JSON Schema what the types do not state; nothing by default."""

    @classmethod
    def upgraded(cls, document: Any) -> Any:
        """Return a document of an earlier major version as one of this; others as they are."""
        return document

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the plain objects as written; a part may override this to omit some."""
        return plain


def computable_part(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a block; without numbers, but with the reason, where it is not computable."""
    if plain.get("computable"):
        return plain
    return {name: value for name, value in plain.items() if value is not None and value != {}}


def about(
    meaning: str, *, unit: str | None = None, label: str | None = None, better: Better | None = None
) -> Meta:
    """Return the description of a field: meaning, unit, label and direction.

    Parameters
    ----------
    meaning
        The meaning of the value, in a sentence without a full stop.
    unit
        Its unit in print, such as ``files`` or ``seconds``; ``0–1`` for a share.
    label
        Its name in print, where the field's own name does not do.
    better
        Which direction is an improvement, for a measured quality.
    """
    facts = {"unit": unit, "label": label, "better": better}
    known = {name: value for name, value in facts.items() if value is not None}
    return Meta(
        description=meaning,
        extra=known,
        extra_json_schema={f"x-{name}": value for name, value in known.items()} or None,
    )


def _null() -> None:
    return None


def _empty_list() -> tuple[()]:
    return ()


def _empty_map() -> dict[str, Any]:
    return {}


NULL: Final[Any] = field(default_factory=_null)
EMPTY_LIST: Final[Any] = field(default_factory=_empty_list)
EMPTY_MAP: Final[Any] = field(default_factory=_empty_map)
ABSENT_MAP: Final[Any] = field(default_factory=dict)


def null_called(name: str) -> Any:
    """Return the default ``NULL`` of a field whose name in the document is a Python keyword."""
    return field(name=name, default_factory=_null)


Json = Mapping[str, Any]
"""An object with arbitrary members, such as the arguments of a tool call."""

Version = Annotated[str, Meta(pattern=r"^1\.\d+(\.\d+)?$")]
SecondVersion = Annotated[str, Meta(pattern=r"^2\.\d+(\.\d+)?$")]
"""Of documents that are no seed's and lost fields."""
Moment = Annotated[
    str,
    Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?$"),
]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

SchemaVersion = Annotated[
    Version,
    about(
        "Semver-style version. Minor versions add optional fields; another major version is "
        "another contract"
    ),
]


def as_second(document: Any) -> Any:
    """Return a document of 1.x as one of 2.0, which reads all of it that it did not lose."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    is_first = isinstance(version, str) and version.startswith("1.")
    return {**document, "schema_version": "2.0"} if is_first else document


SecondSchemaVersion = Annotated[
    SecondVersion,
    about("Semver-style version. Minor versions add optional fields; 1.x is read too"),
]
GeneratedAt = Annotated[Moment, about("When the document was written (ISO 8601, UTC)")]
InputFingerprint = Annotated[
    str | None, about("SHA-256 over the inputs and the code, that of other distributions included")
]
BodyDigest = Annotated[
    Sha256 | None,
    about(
        "SHA-256 over all other members but generated_at, as compact JSON; it shows whether the "
        "file is damaged"
    ),
]


# --------------------------------------------------------------------------------------------------
# Parts that several documents share.


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
