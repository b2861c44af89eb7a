"""Retrieval metrics of a trial."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from retrieval_eval.model.common import (
    CallLedger,
    Coverage,
    EventSummary,
    Provenance,
)
from retrieval_eval.model.meta import (
    ABSENT_MAP,
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    Count,
    Moment,
    NonNegative,
    Positive,
    Record,
    Sha256,
    Share,
    Version,
    about,
)


class FileView(Record, frozen=True, kw_only=True):
    """Ranking metrics under one view."""

    precision: Annotated[dict[str, Share | None], about("P@k")] = EMPTY_MAP
    recall: Annotated[dict[str, Share | None], about("Recall@k")] = EMPTY_MAP
    f1: Annotated[dict[str, Share | None], about("F1@k")] = EMPTY_MAP
    ndcg: Annotated[dict[str, Share | None], about("nDCG@k, linear gain")] = EMPTY_MAP
    mrr: Annotated[Share | None, about("Reciprocal rank of the first hit")] = NULL
    map_score: Annotated[Share | None, about("Average precision")] = NULL
    file_recall: Annotated[
        Share | None, about("Ground-truth files found anywhere / all", unit="0–1")
    ] = NULL
    context_efficiency: Annotated[
        Share | None, about("Retrieved files that are relevant / retrieved")
    ] = NULL
    n_retrieved: Annotated[Count | None, about("Distinct files retrieved")] = None
    n_overlap: Annotated[Count | None, about("Distinct ground-truth files retrieved")] = None
    reasons: Annotated[
        dict[str, str], about("Reason code of every value that is not computable")
    ] = EMPTY_MAP


class FileLevel(Record, frozen=True, kw_only=True):
    """File-level ranking metrics."""

    computable: Annotated[bool, about("Whether the metrics exist")]
    reason: Annotated[str | None, about("Reason code when not computable")] = NULL
    default_view: Annotated[str | None, about("The view the top-level metrics use")] = None
    convention: Annotated[str | None, about("Ranking convention")] = None
    k_values: Annotated[tuple[Positive, ...], about("Cut-offs")] = ()
    precision: Annotated[
        dict[str, Share | None], about("P@k: hits in the first k / k", unit="0–1")
    ] = ABSENT_MAP
    recall: Annotated[
        dict[str, Share | None],
        about("Recall@k: hits in the first k / ground-truth files", unit="0–1"),
    ] = ABSENT_MAP
    f1: Annotated[
        dict[str, Share | None], about("F1@k: harmonic mean of precision and recall", unit="0–1")
    ] = ABSENT_MAP
    ndcg: Annotated[
        dict[str, Share | None],
        about("nDCG@k: discounted gain of the first k / ideal, linear gain", unit="0–1"),
    ] = ABSENT_MAP
    mrr: Annotated[Share | None, about("1 / rank of the first ground-truth file", unit="0–1")] = (
        None
    )
    map_score: Annotated[Share | None, about("Average precision", unit="0–1")] = None
    file_recall: Annotated[
        Share | None, about("Ground-truth files found anywhere / all", unit="0–1")
    ] = None
    context_efficiency: Annotated[
        Share | None, about("Retrieved files that are relevant / retrieved", unit="0–1")
    ] = None
    n_retrieved: Annotated[Count | None, about("Distinct files retrieved", unit="files")] = None
    n_overlap: Annotated[
        Count | None, about("Distinct ground-truth files retrieved", unit="files")
    ] = None
    reasons: Annotated[
        dict[str, str], about("Reason code of every value that is not computable")
    ] = EMPTY_MAP
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
        Count | None, about("Tool calls made up to and including the first hit")
    ] = NULL
    ttfr_rank: Annotated[Count | None, about("Rank of the first relevant file", unit="rank")] = NULL
    never_hit: Annotated[bool | None, about("No ground-truth file was found (right-censored)")] = (
        None
    )
    found_by: Annotated[
        dict[str, Count], about("Ground-truth files by what found them", unit="files")
    ] = ABSENT_MAP
    views: Annotated[dict[str, FileView], about("The metrics under each view")] = ABSENT_MAP
    censored_at_seconds: Annotated[
        NonNegative | None, about("Seconds a trial that never hit was observed")
    ] = NULL
    censored_at_tokens: Annotated[
        Count | None, about("Tokens a trial that never hit was observed for")
    ] = NULL
    censored_at_calls: Annotated[
        Count | None, about("Tool calls a trial that never hit was observed for")
    ] = NULL


class LineOverlap(Record, frozen=True, kw_only=True):
    """Line overlap (1.1)."""

    computable: Annotated[bool | None, about("Whether reads carry line ranges")] = None
    reason: Annotated[str | None, about("Reason code")] = NULL
    line_recall: Share | None = None
    line_precision: Share | None = NULL
    chunks_seen: Annotated[Count | None, about("Chunks with at least one line seen")] = None
    lines_expected: Annotated[
        Count | None, about("Distinct lines of the chunks that are not unknown")
    ] = None
    lines_seen: Annotated[Count | None, about("Of these, lines seen")] = None
    lines_read: Annotated[Count | None, about("Lines read in all")] = NULL
    chunks_unknown: Annotated[
        Count | None, about("Chunks whose file was read without telling its lines")
    ] = None


class ChunkLevel(Record, frozen=True, kw_only=True):
    """Chunk-level metrics."""

    resolution: Literal["chunk_level", "file_level_only"]
    validity: Literal["file_match_only", "unsupported"]
    chunk_recall: Annotated[Share | None, about("chunks whose file was accessed", unit="0–1")] = (
        NULL
    )
    chunks_total: Annotated[Count | None, about("Expected chunks")] = None
    chunks_hit: Annotated[Count | None, about("Chunks whose file was accessed")] = None
    line_overlap: Annotated[LineOverlap | None, about("Line overlap (1.1)")] = None
    coverage_auc: Annotated[
        Annotated[float, Meta(le=1)] | None,
        about("Area under cumulative file recall over the retrieving steps"),
    ] = NULL
    redundancy: Annotated[
        Annotated[float, Meta(le=1)] | None, about("1 - distinct / total accesses")
    ] = NULL
    evidence_drop: Annotated[
        Annotated[float, Meta(le=1)] | None,
        about("Ground-truth files retrieved and neither opened nor written later / retrieved"),
    ] = NULL
    reasons: dict[str, str] = EMPTY_MAP


class Utilization(Record, frozen=True, kw_only=True):
    """Whether retrieved evidence was used."""

    probe_available: Annotated[
        bool, about("False only when file-level ground truth or the trace is missing")
    ]
    expected_edit_probe_available: Annotated[bool, about("Whether expected edit files are known")]
    util_read_overlap_with_relevant_files: Annotated[
        Share | None, about("ground-truth files whose content was read / all of them", unit="0–1")
    ] = NULL
    util_write_overlap_with_relevant_files_proxy: Annotated[
        Share | None, about("ground-truth files written / all of them", unit="0–1")
    ] = NULL
    util_write_overlap_with_expected_edit_files: Annotated[
        Share | None, about("expected edit files written / all of them", unit="0–1")
    ] = NULL
    util_read_before_write_ratio: Annotated[
        Share | None, about("written files read before / written files", unit="0–1")
    ] = NULL
    files_read: Annotated[Count | None, about("Distinct files whose content was read")] = NULL
    files_written: Annotated[Count | None, about("Distinct files written")] = NULL
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
    candidate_set_count: Annotated[Count | None, about("Distinct files retrieved")] = NULL
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


class TrialMetrics(Record, frozen=True, kw_only=True):
    """Retrieval metrics of a trial.

    The metric stages of one trial with its provenance, coverage and outcome.
    """

    schema_version: Annotated[
        Version,
        about(
            "Semver-style version. Minor versions add optional fields; another major version "
            "is another contract"
        ),
    ]
    generated_at: Annotated[
        Moment,
        about(
            "When the artefact was written (ISO 8601, UTC). The only field that differs "
            "between two runs over the same input"
        ),
    ]
    provenance: Annotated[Provenance, about("Which run, task, config and trial this is")]
    coverage: Annotated[Coverage, about("What was available")]
    event_summary: Annotated[EventSummary | None, about("Pre-computed counts")] = None
    ledger: Annotated[
        CallLedger | None,
        about(
            "What became of every tool call: seen = not retrieval + no result + error + "
            "opaque + resolved"
        ),
    ] = None
    file_level_metrics: Annotated[FileLevel, about("File-level ranking metrics")]
    chunk_level_metrics: Annotated[ChunkLevel, about("Chunk-level metrics")]
    utilization_probes: Annotated[Utilization, about("Whether retrieved evidence was used")]
    error_taxonomy: Annotated[ErrorTaxonomy, about("Error modes")]
    outcome: Annotated[
        dict[str, Any], about("Reward, cost, tokens and time of the trial, each with its source")
    ] = EMPTY_MAP
    input_fingerprint: Annotated[
        str | None, about("SHA-256 over the inputs and the package's code")
    ] = None
    body_sha256: Annotated[
        Sha256 | None,
        about(
            "SHA-256 over all other members but generated_at, as compact JSON; it tells a "
            "damaged file"
        ),
    ] = None
