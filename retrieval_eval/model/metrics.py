"""What a trial's metric document holds beside the registered metrics, and its outcome."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import field

from retrieval_eval.model.common import (
    ABSENT_MAP,
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    Count,
    NonNegative,
    Positive,
    Record,
    Share,
    about,
    computable_part,
)

# --------------------------------------------------------------------------------------------------
# The outcome of a trial: reward, cost, tokens and time, each with its source.


def _no() -> bool:
    return False


_FALSE: Final[Any] = field(default_factory=_no)


class TrialOutcome(Record, frozen=True, kw_only=True):
    """The outcome of one trial; null where a value was not recorded."""

    reward: Annotated[float | None, about("The verifier's reward as recorded")] = NULL
    reward_reason: Annotated[str | None, about("Reason code when there is no reward")] = NULL
    reward_source: Annotated[str | None, about("The file the reward is from")] = NULL
    reward_scale: Annotated[
        Literal["unit", "open"] | None,
        about(
            "'open' when the reward lies outside 0 to 1, as un-normalised sums of checkpoints do"
        ),
    ] = NULL
    cost_usd: Annotated[float | None, about("Cost of the trial", unit="USD")] = NULL
    cost_source: Annotated[str | None, about("The source of the cost")] = NULL
    cost_other: Annotated[
        dict[str, float], about("The sources that state another cost", unit="USD")
    ] = EMPTY_MAP
    input_tokens: Annotated[
        int | None,
        about("Input tokens with cached ones; null when only a total is known", unit="tokens"),
    ] = NULL
    output_tokens: Annotated[
        int | None, about("Output tokens; null when only a total is known", unit="tokens")
    ] = NULL
    total_tokens: Annotated[int | None, about("Input and output tokens", unit="tokens")] = NULL
    token_source: Annotated[str | None, about("The source of the tokens")] = NULL
    token_other: Annotated[
        dict[str, float], about("The sources that state another total", unit="tokens")
    ] = EMPTY_MAP
    is_token_total_confirmed: Annotated[
        bool, about("The count over the trace's messages gives that total too")
    ] = _FALSE
    elapsed_seconds: Annotated[
        float | None,
        about(
            "How long the agent worked, without set-up and verification where that is recorded",
            unit="s",
        ),
    ] = NULL
    elapsed_source: Annotated[str | None, about("The source of that time")] = NULL
    wall_seconds: Annotated[float | None, about("How long the whole trial took", unit="s")] = NULL
    started_at: Annotated[float | None, about("Start of the trial, Unix seconds (UTC)")] = NULL
    finished_at: Annotated[float | None, about("End of the trial, Unix seconds (UTC)")] = NULL
    agent_started_at: Annotated[
        float | None, about("Start of the agent's execution, Unix seconds (UTC)")
    ] = NULL
    model: Annotated[str | None, about("Model of the agent; null for 'unknown'")] = NULL
    harness: Annotated[str | None, about("Agent harness of the trial")] = NULL
    harness_version: Annotated[str | None, about("Version of the agent harness")] = NULL
    exception: Annotated[
        dict[str, str | None] | None,
        about("type and message of the error that ended the trial; it is not a reward of 0"),
    ] = NULL
    task_checksum: Annotated[str | None, about("Version of the task")] = NULL
    problems: Annotated[
        tuple[str, ...], about("Faults of the files of the outcome, naming the file")
    ] = EMPTY_LIST


# --------------------------------------------------------------------------------------------------
# What a trial's metric document holds beside its metrics, which the registry declares.


class FileViewFacts(Record, frozen=True, kw_only=True):
    """Ranking metrics under one definition of "retrieved"."""

    n_retrieved: Annotated[Count | None, about("Distinct files retrieved")] = None
    n_overlap: Annotated[Count | None, about("Distinct ground-truth files retrieved")] = None
    reasons: Annotated[
        dict[str, str], about("Reason code of every value that is not computable")
    ] = EMPTY_MAP
    bounds: Annotated[
        dict[str, tuple[float, float]],
        about("Lowest and highest value of every metric that the trace leaves open"),
    ] = ABSENT_MAP


class AgentFiles(Record, frozen=True, kw_only=True):
    """The files that one agent of a trial retrieved."""

    n_retrieved: Annotated[Count, about("Distinct files retrieved", unit="files")]
    n_overlap: Annotated[Count, about("Distinct ground-truth files retrieved", unit="files")]
    file_recall: Annotated[Share | None, about("n_overlap / ground-truth files")] = NULL
    file_precision: Annotated[Share | None, about("n_overlap / n_retrieved")] = NULL


class FileLevelFacts(Record, frozen=True, kw_only=True):
    """File-level ranking metrics."""

    computable: Annotated[bool, about("Whether the metrics exist")]
    reason: Annotated[str | None, about("Reason code when not computable")] = NULL
    default_view: Annotated[str | None, about("The view the top-level metrics use")] = None
    convention: Annotated[str | None, about("Ranking convention")] = None
    k_values: Annotated[tuple[Positive, ...], about("Cut-offs")] = ()
    n_retrieved: Annotated[Count | None, about("Distinct files retrieved", unit="files")] = None
    n_overlap: Annotated[
        Count | None, about("Distinct ground-truth files retrieved", unit="files")
    ] = None
    reasons: Annotated[
        dict[str, str], about("Reason code of every value that is not computable")
    ] = EMPTY_MAP
    file_recall_bounds: Annotated[
        tuple[Share, Share] | None,
        about("File recall of the certain accesses, and of the certain and the possible ones"),
    ] = None
    bounds: Annotated[
        dict[str, tuple[float, float]],
        about("Lowest and highest value of every metric that the trace leaves open"),
    ] = ABSENT_MAP
    n_ground_truth: Annotated[Count | None, about("Ground-truth files", unit="files")] = None
    n_repeats: Annotated[
        Count | None, about("Accesses beyond the first of each file", unit="files")
    ] = None
    first_gt_hit_step: Annotated[Count | None, about("step_index of the first hit")] = NULL
    ttfr_seconds: Annotated[
        NonNegative | None, about("Seconds to the first relevant file", unit="s")
    ] = NULL
    ttfr_seconds_reason: Annotated[
        str | None, about("Why the seconds of a hit are not computable: outside_trial")
    ] = None
    censored_at_seconds_reason: Annotated[
        str | None, about("Why the seconds without a hit are not computable: outside_trial")
    ] = None
    ttfr_tokens: Annotated[
        Count | None, about("Cumulative tokens at the first relevant file", unit="tokens")
    ] = NULL
    ttfr_step: Annotated[
        Count | None, about("step_index at the first relevant file", unit="step")
    ] = NULL
    ttfr_calls: Annotated[
        Count | None, about("Tool calls made up to and including the first hit", unit="calls")
    ] = NULL
    ttfr_rank: Annotated[Count | None, about("Rank of the first relevant file", unit="rank")] = NULL
    never_hit: Annotated[bool | None, about("No ground-truth file was found (right-censored)")] = (
        None
    )
    found_by: Annotated[
        dict[str, Count], about("Ground-truth files by the means that found them", unit="files")
    ] = ABSENT_MAP
    by_agent: Annotated[
        dict[str, AgentFiles],
        about("The same for the main agent alone and each sub-agent; absent without sub-agents"),
    ] = ABSENT_MAP
    censored_at_seconds: Annotated[
        NonNegative | None, about("Seconds a trial that never hit was observed", unit="s")
    ] = NULL
    censored_at_tokens: Annotated[
        Count | None, about("Tokens a trial that never hit was observed for", unit="tokens")
    ] = NULL
    censored_at_calls: Annotated[
        Count | None, about("Tool calls a trial that never hit was observed for", unit="calls")
    ] = NULL

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the block; one that is not computable has no numbers."""
        return computable_part(plain)


class LineOverlap(Record, frozen=True, kw_only=True):
    """Line overlap (1.1)."""

    computable: Annotated[bool | None, about("Whether reads carry line ranges")] = None
    reason: Annotated[str | None, about("Reason code")] = NULL
    line_recall: Annotated[
        Share | None, about("Expected lines that were shown / expected lines of known files")
    ] = NULL
    line_precision: Annotated[
        Share | None, about("Expected lines that were shown / lines shown")
    ] = NULL
    line_f1: Annotated[
        Share | None, about("Harmonic mean of line recall and line precision", unit="0–1")
    ] = NULL
    chunks_seen: Annotated[Count | None, about("Chunks with at least one line seen")] = None
    reasons: Annotated[
        dict[str, str], about("Reason code of every value that is not computable")
    ] = ABSENT_MAP
    bounds: Annotated[
        dict[str, tuple[Share, Share]],
        about("Lowest and highest value over all expected lines, of what the trace leaves open"),
    ] = ABSENT_MAP
    lines_expected: Annotated[
        Count | None, about("Distinct lines of the chunks that are not unknown")
    ] = None
    lines_seen: Annotated[Count | None, about("Of these, lines seen")] = None
    lines_read: Annotated[Count | None, about("Lines read in all")] = NULL
    chunks_unknown: Annotated[
        Count | None, about("Chunks whose file was read without known lines")
    ] = None

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the block; one that is not computable has no numbers."""
        return computable_part(plain)


class ChunkLevelFacts(Record, frozen=True, kw_only=True):
    """Chunk-level metrics."""

    resolution: Literal["chunk_level", "file_level_only"]
    validity: Literal["file_match_only", "unsupported"]
    chunks_total: Annotated[Count | None, about("Expected chunks")] = None
    chunks_hit: Annotated[Count | None, about("Chunks whose file was accessed")] = None
    line_overlap: Annotated[LineOverlap | None, about("Line overlap (1.1)")] = None
    functions_total: Annotated[
        Count | None, about("Expected functions: symbols, or line ranges without any")
    ] = None
    functions_hit: Annotated[
        Count | None, about("Of these, whose definition or a line was shown")
    ] = None
    reasons: dict[str, str] = EMPTY_MAP

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the block with its line overlap."""
        overlap = plain.get("line_overlap")
        return plain if overlap is None else {**plain, "line_overlap": computable_part(overlap)}


class UtilizationFacts(Record, frozen=True, kw_only=True):
    """Whether retrieved evidence was used."""

    probe_available: Annotated[
        bool, about("False only when file-level ground truth or the trace is missing")
    ]
    expected_edit_probe_available: Annotated[bool, about("Whether expected edit files are known")]
    files_read: Annotated[Count | None, about("Distinct files whose content was read")] = NULL
    files_written: Annotated[Count | None, about("Distinct files written")] = NULL
    bounds: Annotated[
        dict[str, tuple[Share, Share]],
        about("Lowest and highest value of every metric that the trace leaves open"),
    ] = ABSENT_MAP
    relevant_files_read: Annotated[Count | None, about("Of the relevant files, read")] = NULL
    relevant_files_written: Annotated[Count | None, about("Of the relevant files, written")] = NULL
    own_output_files: Annotated[
        tuple[str, ...], about("Files taken for the agent's own output")
    ] = EMPTY_LIST
    reasons: dict[str, str] = EMPTY_MAP


class ErrorRate(Record, frozen=True, kw_only=True):
    """A rate."""

    count: Annotated[Count | None, about("Files", unit="files")] = None
    denominator: Annotated[Count | None, about("Out of", unit="files")] = None
    denominator_of: Annotated[str | None, about("What the denominator counts")] = None
    rate: Share | None = NULL


class TrialSlices(Record, frozen=True, kw_only=True):
    """Calibration slices."""

    candidate_set_size: Annotated[
        Literal["small", "medium", "large"] | None, about("small to large")
    ] = NULL
    candidate_set_count: Annotated[
        Count | None, about("Distinct files retrieved", unit="files")
    ] = NULL
    evidence_type: Annotated[Literal["local", "mcp"] | None, about("local or mcp")] = NULL


class ErrorTaxonomy(Record, frozen=True, kw_only=True):
    """Error modes."""

    computable: Annotated[bool, about("Whether labels exist")]
    reason: Annotated[str | None, about("Reason code")] = NULL
    labels: Annotated[dict[str, Count], about("Count per label")] = EMPTY_MAP
    rates: dict[str, ErrorRate] = ABSENT_MAP
    files: Annotated[dict[str, tuple[str, ...]], about("The files of each label")] = ABSENT_MAP
    slices: Annotated[TrialSlices | None, about("Calibration slices")] = None
    note: Annotated[str | None, about("How to read unused_correct_retrieval")] = None
