"""The columns of every frame, declared once as data; the reference page is made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retrieval_eval.report.columns_base import Column, rows
from retrieval_eval.report.columns_comparisons import (
    FIRST_HITS,
    GATE,
    PAIR_LEDGER,
    SLICES,
    STATISTICS,
    VIEW_RESULTS,
)
from retrieval_eval.report.columns_trials import IDENTITY, LABELS, TRIALS, VIEWS
from retrieval_eval.report.search.columns import SEARCH_FRAMES
from retrieval_eval.report.search.diffs.columns import DIFF_FRAMES

__all__ = [
    "ASSOCIATIONS",
    "EVENTS",
    "EXCLUDED",
    "FIRST_HITS",
    "FRAMES",
    "GATE",
    "GROUND_TRUTH",
    "IDENTITY",
    "LABELS",
    "LEDGER",
    "PAIRS",
    "PAIR_LEDGER",
    "SEARCH_FRAMES",
    "SLICES",
    "STATISTICS",
    "SUMMARY",
    "TRIALS",
    "VIEWS",
    "VIEW_RESULTS",
    "Column",
    "expand",
    "reference",
]

EVENTS: Final = (
    *IDENTITY,
    Column("step_index", "step_index", "integer", "", "order of the event"),
    Column("timestamp", "timestamp", "text", "", "time of the event, UTC"),
    Column("elapsed_seconds", "elapsed_seconds", "number", "s", "since the agent started"),
    Column("cumulative_tokens", "cumulative_tokens", "number", "tokens", "up to this event"),
    Column("tool_name", "tool_name", "text", "", "raw name in the trace"),
    Column("tool_category", "tool_category", "text", "", "normalised category"),
    Column("server", "server", "text", "", "MCP server"),
    Column("via", "via", "text", "", "`shell` for an event derived from a command"),
    Column("is_mcp", "is_mcp", "boolean", "", "made by an MCP tool"),
    Column("is_error", "is_error", "boolean", "", "the call failed"),
    Column("is_subagent", "is_subagent", "boolean", "", "made by a sub-agent"),
    Column("is_opaque", "is_opaque", "boolean", "", "files may be missing: not resolvable"),
    Column("hits_ground_truth", "hits_ground_truth", "boolean", "", "touches a relevant file"),
    Column("target_files", "target_files", "list", "files", "normalised files"),
    Column(
        "matched_ground_truth_files",
        "matched_ground_truth_files",
        "list",
        "files",
        "those that hit",
    ),
    Column("arguments", "arguments", "text", "", "arguments as JSON; absent in private reports"),
)

GROUND_TRUTH: Final = (
    *IDENTITY,
    Column("file", "ground_truth/files", "text", "", "ground-truth file"),
    Column("repository", "ground_truth/repositories", "text", "", "its repository, if known"),
    Column("is_retrieved", "=events", "boolean", "", "touched by an event that is no write"),
    Column("is_opened", "=events", "boolean", "", "its content was read"),
    Column("is_written", "=events", "boolean", "", "written by the agent"),
    Column("is_expected_edit", "ground_truth/expected_edit_files", "boolean", "", "edit target"),
    Column("first_step", "=events", "integer", "step", "first event that retrieved it"),
)

LEDGER: Final = (
    *IDENTITY,
    *rows(
        "integer",
        "calls",
        ("calls_seen", "ledger/calls_seen", "tool calls in the trace"),
        ("calls_resolved", "ledger/calls_resolved", "calls understood"),
        ("calls_opaque", "ledger/calls_opaque", "may touch files, not resolvable"),
        ("calls_without_result", "ledger/calls_without_result", "no result in the trace"),
        ("calls_error", "ledger/calls_error", "failed calls, which find nothing"),
        ("calls_not_retrieval", "ledger/calls_not_retrieval", "housekeeping of the harness"),
        ("subagent_calls", "ledger/subagent_calls", "made by sub-agents"),
        ("shell_events", "ledger/shell_events", "events derived from shell commands"),
    ),
)

EXCLUDED: Final = rows(
    "text",
    "",
    ("run_id", "=summary run_id", "run the folder lies in"),
    ("config_name", "=summary excluded[].config_name", "config, where it is known"),
    ("path", "excluded[].path", "folder that was left out"),
    ("reason", "excluded[].reason", "reason code"),
    ("detail", "excluded[].detail", "what was found"),
)

PAIRS: Final = (
    *rows(
        "text",
        "",
        ("baseline_config", "comparisons[].baseline_config", "first arm"),
        ("comparison_config", "comparisons[].comparison_config", "second arm"),
        ("benchmark", "comparisons[].pairs[].benchmark", "suite"),
        ("task_name", "comparisons[].pairs[].task_name", "task"),
        ("metric", "comparisons[].pairs[].metrics key", "metric"),
    ),
    *rows(
        "number",
        "of the metric",
        ("baseline", "…/metrics/*/baseline", "mean over the trials of the first arm"),
        ("comparison", "…/metrics/*/comparison", "mean over the trials of the second arm"),
        ("difference", "…/metrics/*/difference", "comparison − baseline"),
    ),
    Column("n_trials_baseline", "…/n_trials_baseline", "integer", "trials", "first arm"),
    Column("n_trials_comparison", "…/n_trials_comparison", "integer", "trials", "second arm"),
)

ASSOCIATIONS: Final = (
    *rows(
        "text",
        "",
        ("retrieval_metric", "retrieval_metric", "retrieval side"),
        ("outcome_metric", "outcome_metric", "outcome side"),
        ("scope", "scope", "pooled, config or suite"),
        ("group", "group", "config or suite of the scope"),
        ("reason", "reason", "reason code when not computable"),
        ("interpretation", "interpretation", "one cautious sentence"),
    ),
    Column("n", "n", "integer", "trials", "observations"),
    Column("clusters", "clusters", "integer", "tasks", "tasks they come from"),
    Column("sign_change", "sign_change", "boolean", "", "pooled sign turns within groups"),
    Column("computable", "computable", "boolean", "", "whether there is a coefficient"),
    *rows(
        "number",
        "−1–1",
        ("spearman_r", "spearman_r", "rank correlation"),
        ("ci_low", "ci_low", "lower end of the interval"),
        ("ci_high", "ci_high", "upper end of the interval"),
        ("p_value", "p_value", "two-sided p"),
        ("q_value", "q_value", "p adjusted over the family"),
    ),
)

SUMMARY: Final = (
    *rows(
        "text",
        "",
        ("run_id", "run_id", "run"),
        ("config_name", "configs key", "config"),
        ("metric", "configs/*/metrics key", "metric"),
    ),
    Column("mean", "configs/*/metrics/*/mean", "number", "of the metric", "mean over trials"),
    Column("median", "configs/*/metrics/*/median", "number", "of the metric", "median"),
    Column("n", "configs/*/metrics/*/n", "integer", "trials", "computable values"),
    Column("n_not_computable", "configs/*/metrics/*/n_not_computable", "integer", "trials", "rest"),
)

FRAMES: Final[dict[str, tuple[str, tuple[Column, ...]]]] = {
    "trials": ("one row a trial: metrics, outcomes, flags", TRIALS),
    "events": ("one row a retrieval event", EVENTS),
    "ground_truth": ("one row a trial and ground-truth file", GROUND_TRUTH),
    "ledger": ("one row a trial: what became of its tool calls", LEDGER),
    "excluded": ("one row a folder that was left out", EXCLUDED),
    "pairs": ("one row a matched task and metric, per pair of configs", PAIRS),
    "statistics": ("one row a pair of configs and metric: paired statistics", STATISTICS),
    "gate": ("one row a pair of configs and rule of the validity gate", GATE),
    "pair_ledger": ("one row a pair of configs, arm and fate of its trials", PAIR_LEDGER),
    "views": ("one row a pair of configs, view and metric", VIEW_RESULTS),
    "slices": ("one row a pair of configs and slice of the tasks", SLICES),
    "associations": ("one row an association", ASSOCIATIONS),
    "first_hits": ("one row a config and unit: time to the first relevant file", FIRST_HITS),
    "summary": ("one row a config and metric", SUMMARY),
}


def expand(
    columns: Iterable[Column], values: Sequence[object], *, of: str = "k"
) -> tuple[Column, ...]:
    """Return the columns with every ``{k}`` column (or ``{of}``) repeated for each value.

    Examples
    --------
    >>> [c.name for c in expand(TRIALS, [5]) if c.name.startswith("recall@")]
    ['recall@5']
    """
    mark = f"{{{of}}}"
    out: list[Column] = []
    for column in columns:
        if mark not in column.name:
            out.append(column)
            continue
        for value in values:
            name, source = (t.replace(mark, str(value)) for t in (column.name, column.source))
            out.append(Column(name, source, column.type, column.unit, column.meaning))
    return tuple(out)


def reference() -> str:
    """Return the Markdown page that documents every frame."""
    lines = [
        "# Columns of the data frames",
        "",
        "Made from `retrieval_eval/report/columns.py`; do not edit by hand. A missing number is a",
        "missing value, never 0. `{k}` stands for every cut-off of the run, `{measure}` for every",
        "measure of a search run. `run` comes from `load_run`, `search` from `load_search`, `diff`",
        "from `load_diff`.",
    ]
    for owner, frames in (("run", FRAMES), ("search", SEARCH_FRAMES), ("diff", DIFF_FRAMES)):
        for name, (meaning, columns) in frames.items():
            lines += ["", f"## `{owner}.{name}`", "", f"{meaning[0].upper()}{meaning[1:]}.", ""]
            lines += ["| column | type | unit | meaning | source |", "|---|---|---|---|---|"]
            lines += [
                f"| `{c.name}` | {c.type} | {c.unit or ' '} | {c.meaning} | `{c.source}` |"
                for c in columns
            ]
    return "\n".join(lines) + "\n"
