"""What ``retrieval-eval trace`` prints of a trial's two documents."""

from __future__ import annotations

from typing import Any

from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.cli.common import echo, number
from retrieval_eval.model import Record, to_builtins
from retrieval_eval.model.events import EventDocument, EventRow
from retrieval_eval.values import REASONS, counted

_MOST_FILES = 4
_BOUNDED = (
    ("file_recall", "file recall"),
    ("mrr", "MRR"),
    ("context_efficiency", "context efficiency"),
)


def in_json(document: Record) -> dict[str, Any]:
    """Return a document without the time stamp, for nothing was written."""
    return {k: v for k, v in to_builtins(document).items() if k != "generated_at"}


def print_facts(document: EventDocument) -> None:
    """Print agent, trace, what is expected, and the calls by status."""
    provenance, coverage = document.provenance, document.coverage
    if provenance.config_name:
        echo(f"  trial    {provenance.config_name} · {provenance.task_name}")
    if provenance.is_simulated:
        echo("  data     SIMULATED: the trial is invented")
    harness = " ".join(filter(None, (provenance.harness, provenance.harness_version)))
    agent = ", ".join(filter(None, (harness, provenance.model)))
    echo(f"  agent    {agent or 'unknown'}")
    trace = ", ".join(filter(None, (coverage.trace_source, coverage.trace_format)))
    echo(f"  trace    {trace or 'none'}")
    if coverage.degraded_reason:
        echo(f"  degraded {coverage.degraded_reason}")
    files = document.ground_truth.files
    source = coverage.ground_truth_source or coverage.ground_truth_reason
    echo(f"  expected {counted(len(files), 'file')} ({source})")
    if (ledger := document.ledger) is not None:
        echo(
            f"  calls    {ledger.calls_seen} seen: {ledger.calls_resolved} resolved, "
            f"{ledger.calls_opaque} opaque, {ledger.calls_error} failed "
            f"({ledger.calls_refused or 0} refused), "
            f"{ledger.calls_without_result} without result, "
            f"{ledger.calls_not_retrieval} not retrieval"
        )


def print_events(document: EventDocument) -> None:
    """Print a line for every event, behind an empty one."""
    echo("")
    for event in document.events:
        echo(_line(event))


def _line(event: EventRow) -> str:
    mark = "*" if event.hits_ground_truth else "?" if event.is_opaque else " "
    seconds = number(event.elapsed_seconds, 1)
    name = event.tool_name if event.via is None else f"  {event.tool_name}"
    files = event.target_files
    more = f" +{len(files) - _MOST_FILES}" if len(files) > _MOST_FILES else ""
    state = " (failed)" if event.is_error else ""
    agent = " (sub-agent)" if event.is_subagent else ""
    line = (
        f"{mark}{event.step_index:>4} {seconds:>8}s {event.tool_category:<17} "
        f"{name}{state}{agent}  {', '.join(files[:_MOST_FILES])}{more}"
    )
    return line.rstrip()


def print_metrics(metrics: TrialMetrics) -> None:
    """Print recall, rank and the first relevant file, or why nothing is computable.

    Where the task expects lines, what was shown of them comes first.
    """
    block = metrics.file_level_metrics
    is_cut = "trace" in metrics.coverage.degraded_sources and block.file_recall != 1
    echo("")
    if not block.computable:
        sentence = REASONS.get(block.reason or "", "no reason is known")
        echo(f"not computable: {sentence} ({block.reason})")
        return
    _print_lines(metrics)
    echo(
        f"file recall {'at least ' if is_cut else ''}{number(block.file_recall)} "
        f"({block.n_overlap} of {block.n_ground_truth}), MRR {number(block.mrr)}, "
        f"context efficiency {number(block.context_efficiency)} "
        f"({block.n_overlap} of {block.n_retrieved})"
    )
    bounds = [(label, *block.bounds.get(name, (0, 0))) for name, label in _BOUNDED]
    open_ones = [
        f"{label} {number(low)} to {number(high)}" for label, low, high in bounds if low != high
    ]
    if open_ones:
        echo(f"with what is only possible: {', '.join(open_ones)}")
    if block.never_hit:
        echo("first relevant file: never")
    elif block.ttfr_calls is None:
        echo("first relevant file: not known, for no access to one is certain")
    else:
        seconds = "" if block.ttfr_seconds is None else f"{number(block.ttfr_seconds, 1)} s, "
        echo(f"first relevant file: call {block.ttfr_calls}, {seconds}rank {block.ttfr_rank}")
    echo("* hits the ground truth   ? may have touched files that could not be resolved")


_LINES = (("line_recall", "line recall"), ("line_precision", "precision"), ("line_f1", "F1"))


def _print_lines(metrics: TrialMetrics) -> None:
    """Print recall, precision and F1 of the expected lines, each with its bounds or its reason."""
    overlap = metrics.chunk_level_metrics.line_overlap
    if overlap is None or (not overlap.computable and overlap.reason != "no_line_ranges"):
        return
    parts = []
    for name, label in _LINES:
        why = REASONS.get(overlap.reasons.get(name, overlap.reason or ""), "")
        value = getattr(overlap, name)
        low, high = overlap.bounds.get(name, (None, None))
        text = f"{label} {number(value)}" if value is not None else f"{label} not computable: {why}"
        if name == "line_recall" and value is not None:
            text += f" ({overlap.lines_seen} of {overlap.lines_expected})"
        if low is not None:
            text += f" ({number(low)} to {number(high)} with what is open)"
        parts.append(text)
    echo("; ".join(parts))
