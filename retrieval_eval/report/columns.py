"""The columns of every frame: where each comes from, and what type, unit and meaning it has.

A column that is a field of a document has the type, unit and meaning that the field's struct
declares; those that are computed on the way say their own. To add a column, add it below: the
page of the documentation is generated from here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from msgspec import Meta, Struct

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics.catalog import BY_NAME, FILES, METRICS, in_view
from retrieval_eval.agents.metrics.catalog import Block as MetricBlock
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.study.compare import Comparison
from retrieval_eval.agents.study.frames import DTYPES, as_made, dtypes_of, named
from retrieval_eval.agents.study.trials import VIEWED
from retrieval_eval.escape import encodable
from retrieval_eval.model import Record, value_at
from retrieval_eval.model.events import EventRow
from retrieval_eval.model.guard import GuardRow
from retrieval_eval.model.impact import (
    Association,
    ComparisonDocument,
)
from retrieval_eval.model.metrics import TrialOutcome
from retrieval_eval.model.search_diff import (
    MetricDifference,
    QueryDifference,
    QueryOutcome,
)
from retrieval_eval.model.search_history import (
    GoldState,
    PastChange,
    PastNoise,
    PastRun,
    Quarter,
)
from retrieval_eval.model.search_run import (
    Claim,
    GoldSetFacts,
    MetricChange,
    MetricMean,
    QueryContribution,
    QueryResult,
    RankedDocument,
    RocPoint,
    RunSlice,
)
from retrieval_eval.model.summary import ExcludedFolder
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.names import LABELS, finite

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame.

    Attributes
    ----------
    name
        Its name; ``{k}`` means every cut-off of the run, ``{measure}`` for every measure.
    type
        ``text``, ``number``, ``integer``, ``boolean`` or ``list``.
    unit, meaning
        Of its values, for readers.
    source
        Where in the document it comes from, or what it is computed from, for readers.
    path
        The slash-separated path inside the record of a row; empty where it is computed.
    """

    name: str
    type: str
    unit: str
    meaning: str
    source: str
    path: str = ""


Frames = Mapping[str, tuple[str, tuple[Column, ...]]]
"""The name of a frame to what a row of it is, and its columns."""

_TYPES: Final[dict[Any, str]] = {
    str: "text",
    Literal: "text",
    float: "number",
    int: "integer",
    bool: "boolean",
    tuple: "list",
}


def _field(
    struct: type[Struct],
    path: str,
    name: str,
    *,
    at: str = "",
    meaning: str = "",
    type_: str = "",
) -> Column:
    """Return the column that holds a field.

    ``path`` leads to it from a record ``struct``, which stands at ``at`` in its document. A key of
    a mapping is a step of the path too; ``meaning`` then says what the key makes of it.
    """
    found: Any = struct
    facts: list[Meta] = []
    for step in path.split("/"):
        if get_origin(found) is tuple:
            found, own = _described(get_args(found)[int(step)])
        elif get_origin(found) is dict:
            found, own = _described(get_args(found)[1])
        else:
            found, own = _described(_hints(found)[step])
        facts = own or facts
    described = facts[0] if facts else Meta(description="")
    return Column(
        name,
        type_ or _TYPES.get(found) or _TYPES[get_origin(found)],
        (described.extra or {}).get("unit", ""),
        meaning or described.description or "",
        f"{at}/{path}" if at else path,
        path,
    )


@cache
def _hints(struct: type[Struct]) -> dict[str, Any]:
    """Return the types of the fields of a struct; resolving them is slow."""
    return get_type_hints(struct, include_extras=True)


def _described(hint: Any) -> tuple[Any, list[Meta]]:
    """Return a type without None and annotations, and the descriptions among these."""
    metas: list[Meta] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            metas += [m for m in more if isinstance(m, Meta) and m.description]
        elif get_origin(hint) in (Union, UnionType):
            known = [arm for arm in get_args(hint) if arm is not type(None)]
            if len(known) > 1:
                return hint, metas
            hint = known[0]
        else:
            return hint, metas


def _fields(
    struct: type[Struct], names: str, *, prefix: str = "", at: str = "", **meanings: str
) -> tuple[Column, ...]:
    """Return the columns of fields, each called as its field.

    A name may carry another type, as ``n:number``, or the path of its field, as ``doc_a=a/doc``;
    ``meanings`` are those of columns that hold something else than their field.
    """
    found = []
    for text in names.split():
        name, _, path = text.partition("=")
        name, _, type_ = name.partition(":") if not path else (name, "", "")
        path = "/".join(filter(None, (prefix, path or name)))
        found.append(_field(struct, path, name, at=at, meaning=meanings.get(name, ""), type_=type_))
    return tuple(found)


def _columns(parts: Iterable[str | Column | Iterable[Column]]) -> Iterator[Column]:
    """Yield columns, and those that lines of name, type, unit, meaning and source declare."""
    for part in parts:
        if isinstance(part, str):
            for line in filter(None, part.splitlines()):
                yield Column(*(cell.strip() for cell in line.split("|")))
        elif isinstance(part, Column):
            yield part
        else:
            yield from part


def _frame(row: str, *parts: str | Column | Iterable[Column]) -> tuple[str, tuple[Column, ...]]:
    """Return what a row of a frame is, and its columns."""
    return row, tuple(_columns(parts))


def _metrics(block: MetricBlock) -> Iterator[Column]:
    """Return the columns of the computed metrics of a block, those with a cut-off last."""
    declared = [m for m in METRICS.values() if m.path == (block, m.name) and m.compute is not None]
    for m in sorted(declared, key=lambda m: m.has_cutoff):
        at = "{k}" if m.has_cutoff else ""
        if m.is_summarised:
            yield _field(
                TrialMetrics, f"{block}/{m.name}/{at}".rstrip("/"), f"{m.name}@{at}".rstrip("@")
            )


def _outcomes(names: str) -> Iterator[Column]:
    """Yield columns of a trial's outcome, which metric documents hold as plain objects."""
    for found in _fields(TrialOutcome, names, at="outcome"):
        yield replace(found, path=found.source)


_TRIAL: Final = _fields(
    TrialMetrics, "run_id config_name benchmark task_name trial_name", prefix="provenance"
)
_STUDY: Final = _frame(
    "columns of a comparison that no struct declares",
    _fields(ComparisonDocument, "baseline_config comparison_config"),
    _fields(TrialMetrics, "benchmark task_name config_name trial_name", prefix="provenance"),
    """
metric | text | | Metric | metrics key
verdict | text | | Verdict on the metric it is about, or under the view | verdict
side | text | | better, worse or unclear: interval and test agree; missing where withheld | metrics
is_verdict_metric | boolean | | The verdict is about it | verdict_metric
rule | text | | Rule of the validity gate | gate/rules[]/name
field | text | | Part of the design; baseline and comparison are the arms | design
value | text | | What was meant | design
source | text | | Stated, or what it was inferred from | design/sources
title | text | | Printed name of the rule, threat or metric | rule, name or metric
outcome | text | | passed or failed | failed
trials | list | trials | Config, task and trial of every one found | gate/rules[]/trials
arm | text | | Configuration the trials belong to | ledger key
status | text | | Of trials: all, removed, unmatched, used; of a task: why it is paired | computed
reason | text | | Rule or reason of the status | ledger
label | text | | The row as it is printed | computed
n | integer | trials | Trials; all = removed + unmatched + used | ledger
view | text | | What counts as retrieved | views key
flip | text | | `sign` or `verdict` where it differs from the default view | flips
baseline | number | of the metric | Mean of the baseline | pairs
comparison | number | of the metric | Mean of the comparison | pairs
difference | number | of the metric | Mean of comparison minus baseline | pairs
n_pairs | integer | tasks | Matched tasks with the metric on both sides | pairs
n_trials | integer | trials | Trials of the task, under all configurations | trials
p_over_pairs | number | 0–1 | Holm's adjusted p over the pairs of configurations | p_over_pairs
failed | text | | Printed names of the rules that withhold a verdict | gate/failed
unit | text | | seconds, tokens or calls | computed
time | number | of the unit | When a relevant file was found first; missing if never | trials
end | number | of the unit | When a trial without one ended | trials
""",
)[1]


def _of_study(name: str) -> tuple[str, tuple[Column, ...]]:
    """Return what a row of a frame of a comparison is, and its columns."""
    row = str(inspect.getdoc(getattr(Comparison, name))).partition("\n")[0].rstrip(".")
    row = f"{row[:1].lower()}{row[1:]}"
    known = {column.name: column for column in _STUDY}
    found: dict[str, Column] = {}
    for part in DTYPES[name]:
        own = (known[part.partition(":")[0]],) if isinstance(part, str) else _scalars(part)
        found |= {column.name: column for column in own}
    return row, tuple(found.values())


def _of_studies(name: str) -> tuple[str, tuple[Column, ...]]:
    """Return the same of the frame of all comparisons of a run."""
    row, columns = _of_study(name)
    return f"{row}; of every pair of configs", columns


def _scalars(struct: type[Record]) -> tuple[Column, ...]:
    """Return the columns of the fields of a struct that hold one value."""
    return _fields(struct, " ".join(dtypes_of(struct)))


FRAMES: Final[Frames] = {
    "trials": _frame(
        "one row a trial: metrics, outcomes, flags",
        _TRIAL,
        _fields(TrialMetrics, "batch_timestamp", prefix="provenance"),
        "status | text | | evaluated, degraded or excluded | summary trials[]/status",
        "status_reason | text | | Why it is degraded or excluded | summary trials[]/reason",
        "page | text | | Page of the trial, relative to that of the run; missing where there is "
        "none | report",
        _fields(TrialMetrics, "model harness harness_version", prefix="provenance"),
        "is_simulated | boolean | | The trial was invented | provenance/is_simulated is there",
        _fields(
            TrialMetrics,
            "trace_source trace_format degraded_reason ground_truth_source "
            "ground_truth_confidence ground_truth_reason ground_truth_digest",
            prefix="coverage",
        ),
        _outcomes("task_checksum"),
        _fields(TrialMetrics, "has_trajectory has_transcript has_ground_truth", prefix="coverage"),
        _fields(TrialMetrics, "computable", prefix="file_level_metrics"),
        _fields(TrialMetrics, "degraded_sources quality_flags repositories", prefix="coverage"),
        _fields(TrialMetrics, "reason", prefix="file_level_metrics"),
        _metrics(FILES),
        (
            _field(
                TrialMetrics,
                "/".join(in_view(BY_NAME[name], view).path),
                f"{name}:{view}",
                meaning=f"{BY_NAME[name].title} under the view {view}",
            )
            for name in VIEWED
            for view in VIEWS
        ),
        _fields(
            TrialMetrics,
            "n_retrieved n_ground_truth n_overlap "
            "file_recall_low=file_recall_bounds/0 file_recall_high=file_recall_bounds/1",
            prefix="file_level_metrics",
            file_recall_low="File recall of the certain accesses",
            file_recall_high="File recall of the certain and the possible accesses",
        ),
        _fields(TrialMetrics, "recall_width answer_exposed_at", prefix="coverage"),
        _fields(
            TrialMetrics,
            "ttfr_seconds ttfr_tokens:number ttfr_step ttfr_calls never_hit "
            "censored_at_seconds censored_at_tokens:number censored_at_calls:number",
            prefix="file_level_metrics",
        ),
        _metrics("chunk_level_metrics"),
        _fields(
            TrialMetrics,
            "line_recall line_precision line_f1",
            prefix="chunk_level_metrics/line_overlap",
        ),
        _metrics("utilization_probes"),
        (
            _field(
                TrialMetrics,
                f"error_taxonomy/rates/{label}/{part}",
                f"{label}:{part}",
                meaning=f"{part.capitalize()} of {label}",
            )
            for label in LABELS
            for part in ("count", "denominator")
        ),
        _fields(
            TrialMetrics,
            "candidate_set_size candidate_set_count evidence_type",
            prefix="error_taxonomy/slices",
        ),
        _outcomes(
            "reward cost_usd elapsed_seconds input_tokens:number "
            "output_tokens:number total_tokens:number cost_source started_at"
        ),
        "exception | text | | Exception that ended the trial | outcome/exception/type | "
        "outcome/exception/type",
        "has_exception | boolean | | The trial ended with an exception | outcome/exception is "
        "there",
        "state | text | | Scored, or why not | file_recall, reasons and degraded sources",
        _fields(TrialMetrics, "total_events mcp_events", prefix="event_summary"),
        _fields(
            TrialMetrics,
            "calls_seen mcp_calls mcp_calls_ok shell_calls shell_opaque tools:list "
            "mcp_servers:list",
            prefix="ledger",
            tools="Every tool as it is named in the trace, with its calls and how many of them "
            "had a result without error",
            mcp_servers="The same by MCP server",
        ),
    ),
    "events": _frame(
        "one row a retrieval event",
        _TRIAL,
        _fields(
            EventRow,
            "step_index timestamp elapsed_seconds cumulative_tokens:number "
            "tool_name tool_category server via is_mcp is_error is_subagent is_opaque "
            "hits_ground_truth target_files matched_ground_truth_files",
            at="events[]",
        ),
        "arguments | text | | Arguments as JSON; absent in private reports | arguments",
    ),
    "ground_truth": _frame(
        "one row a trial and ground-truth file",
        _TRIAL,
        "file | text | | Ground-truth file | ground_truth/files",
        "repository | text | | Its repository, if known | ground_truth/repositories",
        "is_retrieved | boolean | | Touched by an event that is no write | events",
        "is_opened | boolean | | Its content was read | events",
        "is_possible | boolean | | It may have been retrieved | events",
        "is_written | boolean | | Written by the agent | events",
        "is_expected_edit | boolean | | Edit target | ground_truth/expected_edit_files",
        "first_step | integer | step | First event that retrieved it | events",
        "opened_step | integer | step | First event that showed its content | events",
        "written_step | integer | step | First event that wrote it | events",
    ),
    "exposure": _frame(
        "one row a configuration",
        _fields(TrialMetrics, "config_name", prefix="provenance"),
        "n_trials | integer | trials | Trials with a file recall | trials",
        "n_exposed | integer | trials | Those that were shown the reference change | "
        "coverage/answer_exposed_at",
        "file_recall | number | 0–1 | Mean file recall of all | trials",
        "without | number | 0–1 | Mean file recall of the others | trials",
    ),
    "evidence": _frame(
        "one row a trial and cause of doubt",
        _TRIAL,
        "cause | text | | Why files of the ground truth are only possible | "
        "coverage/possible_files key",
        "n_files | integer | files | Ground-truth files that are only possible | "
        "coverage/possible_files",
        "n_calls | integer | calls | Calls that may have accessed one | coverage/possible_calls",
        _fields(TrialMetrics, "recall_width", prefix="coverage"),
    ),
    "errors": _frame(
        "one row a scored trial and error mode, with what it is counted of",
        _TRIAL,
        "mode | text | | Error mode | error_taxonomy/rates key",
        "label | text | | Its printed name | mode",
        "of | text | | What it is counted of | mode",
        "count | integer | files | Files of this mode | error_taxonomy/rates",
        "denominator | integer | files | All such files | error_taxonomy/rates",
    ),
    "failures": _frame(
        "one row a trial without its reward, where rewards are 0 or 1",
        _TRIAL,
        "cause | text | | How far it came with the files to edit: not found, name only, opened, "
        "some edited, all edited | events",
    ),
    "found_by": _frame(
        "one row a trial and kind of tool",
        _TRIAL,
        "kind | text | | Tool category, and whether by MCP | events[]",
        "n_files | integer | files | Files it returned, each as often as it did | events[]",
        "n_expected | integer | files | Ground-truth files among them | events[]",
        "is_first | boolean | | It brought the first hit of the trial | events[]",
    ),
    "files_read": _frame(
        "one row a file that sessions without ground truth read, most widely opened first",
        "file | text | | File, with its repository where a trace names one | trace",
        "opened_in | text | | Sessions that opened it, of all | trace",
        "how_much | text | | How much of its lines all sessions were shown together | trace",
        "n_reads | integer | calls | How often it was opened | trace",
        "n_opened | integer | sessions | Sessions that opened it | trace",
        "n_attached | integer | sessions | Sessions that were shown it without a call | trace",
        "n_found | integer | sessions | Found by a search that showed lines, never opened | trace",
        "n_named | integer | sessions | Certain by name alone | trace",
        "n_possible | integer | sessions | Possible at most | trace",
        "n_lines | integer | lines | Its length, where it was shown whole | trace",
        "share | number | 0–1 | Part of its lines that all sessions were shown together | trace",
        "by | list | | Tools that showed it with how often, `shell` being any command | trace",
        "agents | list | | Main agent and sub-agents that were shown it | trace",
    ),
    "tools_read": _frame(
        "one row a kind of tool of sessions without ground truth",
        "kind | text | | Kind of tool | trace",
        "n_calls | integer | calls | Calls | trace",
        "n_errors | integer | calls | Calls that failed | trace",
        "result_tokens | integer | tokens | Tokens of the results, estimated | trace",
    ),
    "agents_read": _frame(
        "one row an agent of a session without ground truth",
        "session | text | | Session | trace",
        "agent | text | | Main agent, or id of the sub-agent | trace",
        "n_calls | integer | calls | Its calls | trace",
        "n_files_opened | integer | files | Files it opened | trace",
        "tokens | integer | tokens | Of the messages up to its calls, if counted | trace",
        "result_tokens | integer | tokens | Tokens of the results, estimated | trace",
    ),
    "missed": _frame(
        "one row a task and ground-truth file, most missed first",
        _fields(TrialMetrics, "benchmark task_name", prefix="provenance"),
        "repository | text | | Its repository, if known | ground_truth/repositories",
        "file | text | | Ground-truth file | ground_truth/files",
        "n_trials | integer | trials | Scored trials of the task | trials",
        "n_missed | integer | trials | Those that never retrieved it | events",
        "missed_by | list | | Configurations of these | events",
    ),
    "ledger": _frame(
        "one row a trial: what became of its tool calls",
        _TRIAL,
        _fields(
            TrialMetrics,
            "calls_seen calls_resolved calls_opaque calls_without_result calls_error calls_refused "
            "calls_not_retrieval subagent_calls shell_events",
            prefix="ledger",
        ),
    ),
    "excluded": _frame(
        "one row a folder that was left out",
        "run_id | text | | Run the folder lies in | summary run_id",
        _fields(ExcludedFolder, "config_name path reason detail", at="excluded[]"),
    ),
    "pairs": _of_studies("pairs"),
    "gate": _of_studies("gate"),
    "views": _of_studies("views"),
    "associations": _frame(
        "one row an association",
        "label | text | | The row as it is printed | computed",
        _scalars(Association),
    ),
    "first_hits": _of_study("first_hits"),
}

TRIAL_FRAMES: Final[Frames] = {
    "steps": _frame(
        "one row a tool call, or command inside a shell call, in order",
        _fields(EventRow, "step_index tool_name tool_category server", at="events[]"),
        "tool | text | | Tool with its category, and who called it | events[]",
        "input | text | | Arguments in words, long ones shortened; absent in private reports | "
        "events[]/arguments",
        "part_of | integer | step | Step of the shell call that ran the command | "
        "events[]/call_index",
        "status | text | | served, failed, or unresolved: files may have been touched that are "
        "not known | events[]/is_error, is_opaque",
        "came_back | text | | What was done to how many files, and the first | events[]",
        "n_files | integer | files | Files it touched | events[]/target_files",
        "n_lines | integer | lines | Lines it showed, where stated | events[]/targets",
        "files | list | files | The files, in order | events[]/target_files",
        "hits | text | | Ground-truth files first found, or again | events[]",
        "found | list | files | Ground-truth files that no earlier step had retrieved | "
        "events[]/matched_ground_truth_files",
        _fields(
            EventRow,
            "hits_ground_truth is_subagent elapsed_seconds cumulative_tokens:number",
            at="events[]",
        ),
    ),
    "ground_truth": _frame(
        "one row a ground-truth file, as in run.ground_truth",
        (c for c in FRAMES["ground_truth"][1] if c not in _TRIAL),
        "status | text | | edited, read, seen (in results or listings only), missed, or, where "
        "the trace is incomplete, not in the trace or not known | events",
        "share | number | 0–1 | Expected lines that were shown, where lines are named and reads "
        "state theirs | events[]/targets",
    ),
    "calls": _frame(
        "one row a call, with what the commands inside it did",
        _fields(EventRow, "step_index tool_name", at="events[]"),
        "tool | text | | Tool, and the programs that it ran | events[]",
        "input | text | | Arguments in words, shortened; absent in private reports | "
        "events[]/arguments",
        "came_back | text | | What was done to how many files, and the first | events[]",
        "hits | text | | Ground-truth files first found, or again | events[]",
        _fields(EventRow, "elapsed_seconds cumulative_tokens:number", at="events[]"),
    ),
    "pages": _frame(
        "one row another page of the same report",
        "page | text | | What it is | report",
        "trial_name | text | | Trial, or run, it is about | report",
        "config_name | text | | Config of the trial | report",
        "href | text | | Where it lies, from the page of this trial | report",
    ),
    "redacted": _frame(
        "one row a kind of content that a private page leaves out",
        "kind | text | | What was left out | events[]/arguments",
        "n | integer | | How many | events[]/arguments",
    ),
}

_MEAN: Final = (
    "value n n_not_computable reason ci_low ci_high tie_low tie_high unjudged_low unjudged_high"
)
_ASKED: Final = "What was asked; absent in private reports"

SEARCH_FRAMES: Final[Frames] = {
    "queries": _frame(
        "one row a query: answer, status and every measure",
        _fields(
            QueryResult,
            "id query corpus area origin source answerable status error is_refused problems "
            "n_retrieved",
            at="queries[]",
            query=_ASKED,
            error="How it failed; absent in private reports",
        ),
        "first_document | text | | Document ranked first | ranking",
        "first_score | number | of the retriever | Its score | ranking",
        "first_relevant | integer | rank | First document of grade 1 or more | ranking",
        "n_relevant | integer | documents | Documents of grade 1 or more; missing when the gold "
        "set was not read | gold set",
        _fields(QueryResult, "{measure}", prefix="metrics", at="queries[]"),
    ),
    "rankings": _frame(
        "one row a query and retrieved document",
        _fields(QueryResult, "id", at="queries[]"),
        "rank | integer | rank | Place in the ranking, from 1 | ranking",
        _fields(RankedDocument, "doc score grade", at="queries[]/ranking[]"),
    ),
    "relevant": _frame(
        "one row a query and document known to be relevant",
        _fields(QueryResult, "id", at="queries[]"),
        "doc | text | | Document of grade 1 or more | gold set",
        "grade | integer | grade | Its grade | gold set",
        "rank | integer | rank | Where it was ranked; missing: not retrieved | ranking",
    ),
    "metrics": _frame(
        "one row a measure: the mean over all queries",
        "measure | text | | Measure | metrics key",
        _fields(
            MetricMean,
            _MEAN,
            at="metrics/*",
        ),
    ),
    "slices": _frame(
        "one row a part of the queries and measure",
        "dimension | text | | What the queries are split by | slices key",
        "level | text | | Part of the split | slices/* key",
        _fields(RunSlice, "n_queries", at="slices/*/*"),
        "measure | text | | Measure | metrics key",
        _fields(
            MetricMean,
            _MEAN,
            at="slices/*/*/metrics/*",
        ),
    ),
    "delta": _frame(
        "one row a part of the queries and measure: the change in points",
        "dimension | text | | What the queries are split by; `all` for the whole | delta/slices "
        "key",
        "level | text | | Part of the split | delta/slices/* key",
        "measure | text | | Measure | delta/metrics key",
        _fields(
            MetricChange,
            "baseline current delta_points ci_low_points ci_high_points p_value n_pairs "
            "n_only_baseline n_only_current",
            at="delta/metrics/*",
        ),
        "noise_points | number | points | Noise level: 95 % of differences of one system lie "
        "within ± this | noise file",
    ),
    "contributions": _frame(
        "one row a query and measure that it moved",
        _fields(QueryContribution, "id", at="delta/queries[]"),
        "measure | text | | Measure it moved | delta/queries[]/contributions key",
        "points | number | points | What it adds to the change; they add up to it | "
        "delta/queries[]/contributions/*",
    ),
    "guard": _frame(
        "one row a threshold of the guard",
        _fields(GuardRow, "metric", at="guard"),
        "part | text | | Part of the queries that is looked at; missing: all | guard",
        _fields(
            GuardRow,
            "verdict baseline=baseline/value current=current/value change_points ci_low_points "
            "ci_high_points limit_points",
            at="guard",
        ),
        "noise_points | number | points | 95 % of differences of one system lie within ± this | "
        "noise file",
        _fields(GuardRow, "n_queries n_up n_down p_adjusted reasons", at="guard"),
    ),
    "roc": _frame(
        "one row a threshold of the top score: what refusing below it does",
        _fields(RocPoint, "threshold true_positive_rate false_refusal_rate", at="abstention/roc[]"),
    ),
    "claims": _frame(
        "one row a claim of a draft",
        "id | text | | Query id of the gold set | query",
        _fields(
            Claim,
            "claim=text is_substantive supported_by is_unproved veto in_context "
            "is_context_unproved reason",
            at="claims/queries[]/claims[]",
            claim="The claim; absent in private reports",
        ),
    ),
    "agreement": _frame(
        "one row a pair of labellers, corpus and weighting",
        "labeller_a | text | | One labeller; absent in private reports | gold set",
        "labeller_b | text | | The other; absent in private reports | gold set",
        "corpus | text | | Corpus; missing: all | gold set",
        "weights | text | | How a disagreement counts: none, linear or quadratic | gold set",
        "kappa | number | −1–1 | Cohen's kappa | gold set",
        "ci_low | number | −1–1 | Lower end of its interval | gold set",
        "ci_high | number | −1–1 | Upper end of its interval | gold set",
        "agreement | number | 0–1 | Share of equal grades | gold set",
        "n | integer | pairs | Documents of queries that both graded | gold set",
        "n_queries | integer | queries | Queries of these pairs | gold set",
    ),
    "stale_labels": _frame(
        "one row a judged pair that the corpus has left behind",
        "id | text | | Query id of the gold set | query",
        "corpus | text | | Where | gold set",
        "doc | text | | Judged document | gold set",
        "grade | integer | grade | Its grade | gold set",
        "reason | text | code | document_gone or text_changed | corpus",
    ),
}

DIFF_FRAMES: Final[Frames] = {
    "queries": _frame(
        "one row a query of either run, with both first documents",
        _fields(
            QueryResult,
            "id query corpus area origin source answerable",
            at="queries[]",
            query=_ASKED,
        ),
        "doc_a | text | | Document ranked first by run a | ranking",
        "grade_a | integer | grade | Its grade | ranking",
        "n_retrieved_a | integer | documents | Documents of its ranking | ranking",
        "doc_b | text | | Document ranked first by run b | ranking",
        "grade_b | integer | grade | Its grade | ranking",
        "n_retrieved_b | integer | documents | Documents of its ranking | ranking",
        "is_moved | boolean | | Whether a ranking metric differs | queries[]",
    ),
    "rankings": _frame(
        "one row a query and rank, with the documents of both runs",
        _fields(QueryResult, "id", at="queries[]"),
        "rank | integer | rank | Place in the rankings, from 1 | ranking",
        "doc_a | text | | Document of run a | ranking",
        "grade_a | integer | grade | Its grade | ranking",
        "doc_b | text | | Document of run b | ranking",
        "grade_b | integer | grade | Its grade | ranking",
    ),
    "changes": _frame(
        "one row a part of the queries and metric: the change in points",
        "dimension | text | | What the queries are split by; `all` for the whole | slices key",
        "level | text | | Part of the split | slices/* key",
        "n_queries | integer | queries | Queries of the part in both runs | slices/*/*",
        "metric | text | | Metric | metrics key",
        _fields(MetricDifference, "a b delta_points ci_low_points ci_high_points", at="metrics/*"),
        "noise_points | number | points | 95 % of differences of one system lie within ± this | "
        "noise file",
        _fields(
            MetricDifference,
            "p_value n_pairs n_up n_down n_only_a n_only_b is_flagged",
            at="metrics/*",
        ),
    ),
    "contributions": _frame(
        "one row a query and metric that it moved",
        _fields(QueryDifference, "id", at="queries[]"),
        "metric | text | | Metric it moved | queries[]/contributions key",
        _fields(QueryDifference, "points=contributions/*", at="queries[]"),
    ),
    "outcomes": _frame(
        "one row a query that failed, or that the runs did not both answer, refuse or leave empty",
        _fields(QueryOutcome, "id query a b", at="outcomes[]", query=_ASKED),
    ),
}


_MEASURED: Final = """
run | text | | Label of the run, else the name of its file | document
moment | text | UTC | When it ran | document
"""

HISTORY_FRAMES: Final[Frames] = {
    "runs": _frame(
        "one row a run, also those that could not be read",
        _MEASURED,
        _fields(PastRun, "subject=corpora system=retriever n=n_queries"),
        """
n_computable | integer | queries | Of them answered | document
verdict | text | | measured or no verdict | document
reason | text | | Why this verdict, or why it was not read | document
status | text | code | read or unreadable | folder
""",
        _fields(PastRun, "source is_simulated"),
    ),
    "metrics": _frame(
        "one row a run and metric",
        _MEASURED,
        _fields(PastRun, "subject=corpora"),
        "metric | text | | Metric | document",
        _fields(MetricMean, "mean=value ci_low ci_high n", at="metrics/*"),
        _fields(PastRun, "basis line"),
    ),
    "guard": _frame(
        "one row a search run that has an earlier one: the change since then",
        _MEASURED,
        _fields(
            PastChange,
            "against against_moment=against_at verdict headline breaches worst worst_points "
            "reasons same_setup recorded outcome",
        ),
        "became | text | | The outcome in words | computed",
    ),
    "labels": _frame(
        "one row a search run and source of labels of its gold set",
        _MEASURED,
        _fields(GoldSetFacts, "gold_set=name fingerprint", at="run/gold_set"),
        """
source | text | | Source of the rows | run/gold_set/sources key
is_reviewed | boolean | | The rows were reviewed by a person | source is chair
n | integer | queries | Queries of this source | run/gold_set/sources/*
""",
        _fields(GoldSetFacts, "n_queries n_labelled_pairs n_unlabelled", at="run/gold_set"),
    ),
    "gold": _frame(
        "one row a gold set, dimension and part of it, whenever the gold set changed",
        _MEASURED,
        _fields(
            GoldSetFacts, "gold_set=name fingerprint n_queries n_labelled_pairs", at="run/gold_set"
        ),
        _fields(GoldState, "n_reviewed"),
        _fields(GoldSetFacts, "n_unlabelled", at="run/gold_set"),
        """
dimension | text | code | source; corpus or origin where all queries were asked | slices
part | text | | The source, corpus or origin | slices
n | integer | queries | Queries of the part | slices
""",
    ),
    "noise": _frame(
        "one row a noise file of search: how much runs of one system varied",
        _fields(PastNoise, "source moment=generated_at quarter n_runs n_queries is_deterministic"),
        """
worst_sd_points | number | points | Largest run-to-run SD of a guarded metric | sd_points
worst_metric | text | | That metric | sd_points
""",
        _fields(
            PastNoise,
            "ratio ratio_low ratio_high grew alarm_share=alarms/value alarm_low=alarms/ci_low "
            "alarm_high=alarms/ci_high stale",
        ),
    ),
    "quarters": _frame(
        "one row a calendar quarter: whether the thresholds were re-validated by a noise file",
        _fields(Quarter, "quarter state source n_runs sentence"),
    ),
}


def expand(
    columns: Iterable[Column], values: Sequence[object], *, of: str = "k"
) -> tuple[Column, ...]:
    """Return the columns with every ``{k}`` column (or ``{of}``) repeated for each value.

    Examples
    --------
    >>> [c.name for c in expand(FRAMES["trials"][1], [5]) if c.name.startswith("recall@")]
    ['recall@5']
    """
    mark = f"{{{of}}}"
    out: list[Column] = []
    for column in columns:
        for value in values if mark in column.name else ("",):
            texts = (column.name, column.source, column.path)
            name, source, path = (text.replace(mark, str(value)) for text in texts)
            out.append(replace(column, name=name, source=source, path=path))
    return tuple(out)


STUDY_FRAMES: Final[Frames] = {
    name: _of_study(name) for name in DTYPES if hasattr(Comparison, name)
}


# --------------------------------------------------------------------------------------------------
# Records to data frames, column by column as declared.

Row = dict[str, Any]
_DTYPES: Final = {
    "text": "object",
    "number": "float64",
    "integer": "Int64",
    "boolean": "boolean",
    "list": "object",
}


def read_row(record: Any, columns: Iterable[Column], base: Row) -> Row:
    """Return one row of a record; columns in ``base`` are taken from there."""
    return {
        c.name: base[c.name]
        if c.name in base
        else _cell(value_at(record, c.path.split("/")), c.type)
        for c in columns
    }


def _cell(value: Any, type_: str) -> Any:
    """Return a value as a column of this type holds it; what no struct declares is checked here."""
    match type_:
        case "number":
            return finite(value)
        case "list" if isinstance(value, Mapping):
            return [(encodable(name), *parts) for name, parts in value.items()]
        case "list":
            return list(value or ())
        case "text":
            return value if isinstance(value, str) else None
        case _:
            return value


def make_frame(rows: Sequence[Row], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame with exactly the declared columns and their types."""
    return frame_of({c.name: [row.get(c.name) for row in rows] for c in columns}, columns)


def frame_of(values: Mapping[str, Sequence[Any]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame of the values of each declared column; a dictionary a row is slow for many."""
    import pandas as pd

    return pd.DataFrame(
        {
            c.name: pd.Series(
                list(map(encodable, values[c.name]))
                if c.type in ("text", "list")
                else values[c.name],
                dtype=_DTYPES[c.type],
            )
            for c in columns
        }
    )


class Measured:
    """What was measured: nothing in it can be assigned once it is there, nor any of its frames.

    Sections read what was measured. What could be replaced would change some and not others.
    ``frame_columns`` are the columns of its frames, which notes in them call by ``owner`` and name,
    and ``filtered_by`` is what the conditions of its ``filter`` are about; empty where it has none.
    """

    owner: ClassVar[str]
    frame_columns: ClassVar[Mapping[str, Sequence[Column]]]
    filtered_by: ClassVar[str] = ""

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :mod:`retrieval_eval.report.columns`."""
        found: pd.DataFrame = getattr(self, name)
        return found

    def block(self) -> Block:
        """Return what is shown where this is the last line of a cell."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.block()._repr_mimebundle_(include, exclude)

    def remarks(self, name: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what tables of a frame say: ``empty``, why it has no row, and ``notes``."""
        return {}

    def __setattr__(self, name: str, value: object) -> None:
        is_there = name in vars(self) or hasattr(type(self), name)
        if is_there and not name.startswith("_"):
            whose = type(self).__name__
            part = f"; filter(…) returns the part of the {self.filtered_by} that pass a condition"
            raise AttributeError(
                f"{whose}.{name} cannot be assigned, because no section would follow it"
                f"{part if self.filtered_by else ''}"
            )
        super().__setattr__(name, value)


class handed_out:  # noqa: N801  used as a decorator, as cached_property is
    """A frame of what was measured: built when it is first used, handed out as a copy."""

    def __init__(self, make: Callable[[Any], pd.DataFrame]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> Self: ...
    @overload
    def __get__(self, run: Measured, owner: type) -> pd.DataFrame: ...
    def __get__(self, run: Measured | None, owner: type) -> Self | pd.DataFrame:
        if run is None:
            return self
        built = vars(run).setdefault("_frames", {})
        if self._name not in built:
            made = built[self._name] = named(self._make(run), f"{run.owner}.{self._name}")
            made.attrs.update(run.remarks(self._name))
            if made.attrs.get("notes"):
                made.attrs.update(as_made(made))
        frame: pd.DataFrame = built[self._name].copy()
        for column in run.frame_columns[self._name]:
            if column.type == "list":
                frame[column.name] = frame[column.name].map(list)
        return frame
