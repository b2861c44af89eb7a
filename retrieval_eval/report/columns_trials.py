"""The columns of the trials frame and the identity columns that every frame starts with."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.columns_base import Column, rows

IDENTITY: Final = rows(
    "text",
    "",
    ("run_id", "provenance/run_id", "run the trial belongs to"),
    ("config_name", "provenance/config_name", "configuration label of the arm"),
    ("benchmark", "provenance/benchmark", "suite the task comes from"),
    ("task_name", "provenance/task_name", "canonical name of the task"),
    ("trial_name", "provenance/trial_name", "name of the trial's folder"),
)

VIEWS: Final = ("accessed", "opened", "structured", "listing_discounted")
LABELS: Final = (
    "missed_key_evidence",
    "unused_correct_retrieval",
    "irrelevant_retrieval",
    "ambiguity_near_miss",
    "wrong_evidence_used",
)

_COVERAGE: Final = (
    *rows(
        "text",
        "",
        ("batch_timestamp", "provenance/batch_timestamp", "batch folder within the run"),
        ("status", "=summary trials[].status", "evaluated, degraded or excluded"),
        ("status_reason", "=summary trials[].reason", "why it is degraded or excluded"),
        ("model", "outcome/model", "model of the agent"),
        ("harness", "outcome/harness", "agent harness"),
        ("harness_version", "outcome/harness_version", "version of the harness"),
        ("trace_source", "coverage/trace_source", "trajectory, transcript or merged"),
        ("trace_format", "coverage/trace_format", "format the trace was read as"),
        ("degraded_reason", "coverage/degraded_reason", "what is missing or cannot be read"),
        ("ground_truth_source", "coverage/ground_truth_source", "file that named the files"),
        ("ground_truth_confidence", "coverage/ground_truth_confidence", "high, medium or low"),
        ("ground_truth_reason", "coverage/ground_truth_reason", "reason code when there is none"),
    ),
    *rows(
        "boolean",
        "",
        ("has_trajectory", "coverage/has_trajectory", "agent/trajectory.json was readable"),
        ("has_transcript", "coverage/has_transcript", "a transcript was readable"),
        ("has_ground_truth", "coverage/has_ground_truth", "file-level ground truth exists"),
        ("computable", "file_level_metrics/computable", "ranking metrics exist"),
    ),
    Column(
        "degraded_sources",
        "coverage/degraded_sources",
        "list",
        "",
        "what that is about: trace, outcome, ground_truth",
    ),
    Column("quality_flags", "coverage/quality_flags", "list", "", "flags of the trace reader"),
    Column("reason", "file_level_metrics/reason", "text", "", "reason code when not computable"),
)

_RANKING: Final = rows(
    "number",
    "0–1",
    ("file_recall", "file_level_metrics/file_recall", "ground-truth files found / all of them"),
    ("mrr", "file_level_metrics/mrr", "1 / rank of the first ground-truth file"),
    ("map_score", "file_level_metrics/map_score", "average precision"),
    ("context_efficiency", "file_level_metrics/context_efficiency", "relevant / retrieved files"),
    ("precision@{k}", "file_level_metrics/precision/{k}", "hits in the first k / k"),
    ("recall@{k}", "file_level_metrics/recall/{k}", "hits in the first k / ground-truth files"),
    ("f1@{k}", "file_level_metrics/f1/{k}", "harmonic mean of the two"),
    ("ndcg@{k}", "file_level_metrics/ndcg/{k}", "discounted gain of the first k / ideal"),
    *(
        (
            f"file_recall:{view}",
            f"file_level_metrics/views/{view}/file_recall",
            f"file recall under the view {view}",
        )
        for view in VIEWS
    ),
)

_COUNTS: Final = rows(
    "integer",
    "files",
    ("n_retrieved", "file_level_metrics/n_retrieved", "distinct files retrieved"),
    ("n_ground_truth", "file_level_metrics/n_ground_truth", "ground-truth files"),
    ("n_overlap", "file_level_metrics/n_overlap", "ground-truth files retrieved"),
    ("n_repeats", "file_level_metrics/n_repeats", "accesses of a file seen before"),
    ("found_structured", "file_level_metrics/found_by/structured", "found by structured tools"),
    ("found_shell_only", "file_level_metrics/found_by/shell_only", "found by shell only"),
    ("found_subagent_only", "file_level_metrics/found_by/subagent_only", "by sub-agents only"),
    ("found_listed_only", "file_level_metrics/found_by/listed_only", "seen in listings only"),
)

_TIMING: Final = (
    Column("ttfr_seconds", "file_level_metrics/ttfr_seconds", "number", "s", "to first relevant"),
    Column(
        "ttfr_tokens", "file_level_metrics/ttfr_tokens", "number", "tokens", "to first relevant"
    ),
    Column("ttfr_step", "file_level_metrics/ttfr_step", "integer", "step", "first event that hits"),
    Column("ttfr_rank", "file_level_metrics/ttfr_rank", "integer", "rank", "rank of the first hit"),
    Column("ttfr_reason", "file_level_metrics/ttfr_reason", "text", "", "reason code when missing"),
)

_UTIL: Final = "utilization_probes/util_"
_USE: Final = (
    *rows(
        "number",
        "0–1",
        ("chunk_recall", "chunk_level_metrics/chunk_recall", "chunks whose file was accessed"),
        (
            "util_read_overlap_with_relevant_files",
            _UTIL + "read_overlap_with_relevant_files",
            "ground-truth files whose content was read / all of them",
        ),
        (
            "util_write_overlap_with_relevant_files_proxy",
            _UTIL + "write_overlap_with_relevant_files_proxy",
            "ground-truth files written / all of them",
        ),
        (
            "util_write_overlap_with_expected_edit_files",
            _UTIL + "write_overlap_with_expected_edit_files",
            "expected edit files written / all of them",
        ),
        (
            "util_read_before_write_ratio",
            _UTIL + "read_before_write_ratio",
            "written files read before / written files",
        ),
    ),
    *(
        Column(
            f"{label}:{part}",
            f"error_taxonomy/rates/{label}/{part}",
            "integer",
            "files",
            f"{part} of {label}",
        )
        for label in LABELS
        for part in ("count", "denominator")
    ),
    *rows(
        "text",
        "",
        ("candidate_set_size", "error_taxonomy/slices/candidate_set_size", "small to large"),
        ("evidence_type", "error_taxonomy/slices/evidence_type", "local or mcp"),
    ),
)

_OUTCOME: Final = (
    Column("reward", "outcome/reward", "number", "", "reward of the verifier"),
    Column("reward_reason", "outcome/reward_reason", "text", "", "reason code when there is none"),
    Column("cost_usd", "outcome/cost_usd", "number", "USD", "cost of the trial"),
    Column("elapsed_seconds", "outcome/elapsed_seconds", "number", "s", "agent's wall-clock time"),
    Column("input_tokens", "outcome/input_tokens", "number", "tokens", "with cached tokens"),
    Column("output_tokens", "outcome/output_tokens", "number", "tokens", "output tokens"),
    Column("total_tokens", "outcome/total_tokens", "number", "tokens", "input and output"),
    Column("cost_source", "outcome/cost_source", "text", "", "where the cost was recorded"),
    Column("elapsed_source", "outcome/elapsed_source", "text", "", "where the time was recorded"),
    Column("exception", "outcome/exception", "text", "", "exception that ended the trial"),
    *rows(
        "integer",
        "events",
        ("total_events", "event_summary/total_events", "retrieval events"),
        ("mcp_events", "event_summary/mcp_events", "events of MCP tools"),
        ("local_events", "event_summary/local_events", "events of local tools"),
    ),
)

TRIALS: Final = IDENTITY + _COVERAGE + _RANKING + _COUNTS + _TIMING + _USE + _OUTCOME
