"""``retrieval-eval trace``: one trace file of any known format, or what a folder of them read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import click
import msgspec

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import (
    CAUSES,
    Certainty,
    accesses,
    doubt_of_gaps,
    evidence,
    possible_accesses,
)
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.trial import Inspected, inspect_trace, truth_near
from retrieval_eval.agents.traces import SeveralTracesError
from retrieval_eval.agents.truth import (
    listed_ground_truth,
    load_ground_truth,
    stated_ground_truth,
)
from retrieval_eval.cli.common import (
    PATH,
    echo,
    json_option,
    number,
    print_json,
    print_table,
    progress_bar,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.model import Record, to_builtins
from retrieval_eval.model.events import EventDocument, EventRow
from retrieval_eval.records import Access, GroundTruth
from retrieval_eval.values import REASONS, counted

if TYPE_CHECKING:
    from retrieval_eval.agents.runs.what_was_read import WhatWasRead

# --------------------------------------------------------------------------------------------------
# What ``retrieval-eval trace`` prints of a trial's two documents.

_MOST_OF_CALL = 4
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
    more = f" +{len(files) - _MOST_OF_CALL}" if len(files) > _MOST_OF_CALL else ""
    state = " (failed)" if event.is_error else ""
    agent = " (sub-agent)" if event.is_subagent else ""
    line = (
        f"{mark}{event.step_index:>4} {seconds:>8}s {event.tool_category:<17} "
        f"{name}{state}{agent}  {', '.join(files[:_MOST_OF_CALL])}{more}"
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


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval trace``: one trace file of any known format, without a run around it.

_LISTS = frozenset({".txt", ".json", ".lst", ".list", ".csv"})
_MOST_FILES = 10
_MOST_CAUSES = 3
_MOST_SAMPLES = 200


@click.command()
@click.argument("path", metavar="FILE-OR-FOLDER", type=PATH)
@click.option(
    "--truth",
    "truths",
    multiple=True,
    metavar="FILES",
    help="What the agent should have found: paths of the repository, comma-separated "
    "(src/a.py,lib/b.c), a list of them in a .txt or .json file, or the folder of a task.",
)
@click.option(
    "--sample",
    help="Which trace to read of a file or folder that holds several: its name, or the beginning "
    "of it.",
)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="What all traces of a folder or log read, by file, tool and sub-agent.",
)
@json_option
def trace(
    path: Path, truths: tuple[str, ...], sample: str | None, is_all: bool, as_json: bool
) -> None:
    """Show what one trace proves: its events, the files it touched, and its metrics.

    FILE-OR-FOLDER is a trace of any known format, recognised by its content: a session of an agent,
    a trajectory, a list of messages, an evaluation log, spans. No run tree is needed, and
    nothing is written.

    \b
    Examples:
      retrieval-eval trace ~/.claude/projects/my-project/SESSION.jsonl
      retrieval-eval trace trajectory.json --truth src/a.py,lib/b.c
      retrieval-eval trace messages.json --truth expected-files.txt --json
      retrieval-eval trace log.eval --sample task-7
      retrieval-eval trace ~/.codex/sessions/2026/11/27 --all
      retrieval-eval trace path/to/trial --truth path/to/task

    A trial in a run tree is measured against its own task. Elsewhere no metric is computable
    without --truth, and events and files are shown. Exit code 3: no trace could be read; the
    message names what was found and which formats were tried.
    """  # noqa: D301  click reads the control character
    if is_all:
        if truths or sample is not None:
            raise click.UsageError("--all reads every trace, without --truth and --sample")
        show_reading(path, as_json=as_json)
        return
    truth = _truth(truths) if truths else truth_near(path)
    try:
        found = inspect_trace(path, truth, sample=sample)
    except SeveralTracesError as error:
        if sample is not None:
            raise
        _print_samples(path, error.names, as_json)
        return
    if as_json:
        _print_json(found)
        return
    echo(f"{path}" + (f" · {sample}" if sample else ""))
    print_facts(found.document)
    for problem in found.document.coverage.ground_truth_problems:
        echo(f"  note     {problem}")
    print_events(found.document)
    _print_evidence(found)
    if truth.files or truth.patterns:
        print_metrics(found.metrics)
    else:
        echo("")
        echo(
            "not computable: no metric without ground truth; name what the agent should have found"
        )
        echo("with --truth src/a.py,lib/b.c")


def _print_json(found: Inspected) -> None:
    print_json(
        {
            "events": in_json(found.document),
            "metrics": in_json(found.metrics),
            "evidence": {
                str(file): certainty
                for file, certainty in evidence(found.trial, with_attached=True).items()
            },
            "evidence_detail": {
                row.name: {
                    "certainty": row.certainty,
                    "channel": row.channel,
                    "access": row.access,
                    "causes": row.causes,
                }
                for row in _rows(found.trial)
                if found.trial.ground_truth.files
            },
        }
    )


class _Row(NamedTuple):
    """What is known of one file: how it came before the agent, and why that is only possible.

    ``channel`` is ``calls`` where the agent's own calls delivered it, else ``attached``; ``access``
    is the most that they showed of it, ``listed`` for a name alone.
    """

    name: str
    certainty: Certainty
    channel: Literal["calls", "attached"] | None = None
    access: Access | None = None
    causes: Sequence[str] = ()

    def __str__(self) -> str:
        is_name_only = self.certainty == "certain" and self.access == "listed"
        known = f"{self.certainty}, name only" if is_name_only else self.certainty
        causes = self.causes[:_MOST_CAUSES]
        more = "; …" if len(self.causes) > _MOST_CAUSES else ""
        why = f"channel: attached ({'; '.join(causes)})" if causes else "channel: attached"
        if self.channel != "attached" or self.certainty != "certain":
            why = "; ".join(causes)
        return f"{known:<9} {self.name}" + (f"  {why}{more}" if why else "")


def _rows(trial: TrialEvents) -> list[_Row]:
    """Return what is known of each file that is expected, or of each that was seen."""
    shown: dict[str, Access] = {}
    for _, target in accesses(trial):
        name = str(target.file)
        shown[name] = max(shown.get(name, target.access), target.access, key=_ORDER.index)
    attached: dict[str, list[str]] = {}
    attached_as: dict[str, Access] = {}
    causes: dict[str, Counter[str]] = {}
    for event, target in possible_accesses(trial):
        if target.doubt is not None:
            where = f"{CAUSES[target.doubt]} (step {event.step_index}, {event.tool_name})"
            causes.setdefault(str(target.file), Counter())[where] += 1
    for file in trial.beside.attached:
        name, doubt = str(file.target.file), file.target.doubt
        if doubt is None:
            attached.setdefault(name, []).append(file.how)
            access = file.target.access
            attached_as[name] = max(attached_as.get(name, access), access, key=_ORDER.index)
        else:
            causes.setdefault(name, Counter())[f"{CAUSES[doubt]} ({file.how})"] += 1
    known = {str(file): found for file, found in evidence(trial, with_attached=True).items()}
    if not known:
        known.update((name, "possible") for name in causes if name not in {*shown, *attached})
        known = {**dict.fromkeys([*shown, *attached], _CERTAIN), **known}
    missing = doubt_of_gaps(trial)
    gap = [] if missing is None else [CAUSES[missing]]
    rows = []
    for name, certainty in known.items():
        if certainty == "possible":
            rows.append(_Row(name, certainty, causes=list(causes.get(name, gap))))
        elif certainty == "none" or name in shown:
            rows.append(_Row(name, certainty, "calls" if name in shown else None, shown.get(name)))
        else:
            how = dict.fromkeys(filter(None, attached.get(name, ())))
            rows.append(_Row(name, certainty, "attached", attached_as.get(name), list(how)))
    return rows


_CERTAIN: Final[Certainty] = "certain"
_ORDER: Final = ("listed", "matched", "opened")


def _print_evidence(found: Inspected) -> None:
    """Print what is certain and what is possible, with the channel and the causes."""
    rows = _rows(found.trial)
    if not found.trial.ground_truth.files:
        certain = [row for row in rows if row.certainty == "certain"]
        possible = [row for row in rows if row.certainty == "possible"]
        rows = [*certain[:_MOST_FILES], *possible[:_MOST_FILES]]
        echo("")
        echo(f"{counted(len(certain), 'file')} certain, {len(possible)} possible")
    if rows:
        echo("")
    for row in rows:
        echo(str(row))
    opened = Counter(event.open_doubt for event in found.trial.events if event.open_doubt)
    for doubt, times in opened.items():
        echo(f"{counted(times, 'event')} may have touched further files: {CAUSES[doubt]}")


def _print_samples(path: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Print the names of the traces in a file that holds several."""
    if as_json:
        print_json({"samples": list(names)})
        return
    echo(f"{path} holds {len(names)} traces; name one with --sample, or read them with --all:")
    for name in names[:_MOST_SAMPLES]:
        echo(f"  {name}")
    if len(names) > _MOST_SAMPLES:
        echo(f"  and {len(names) - _MOST_SAMPLES} more")


def _truth(values: tuple[str, ...]) -> GroundTruth:
    """Return what the agent should have found, as the option states it."""
    paths: list[str] = []
    for value in values:
        if not value.strip():
            raise BadInputError("--truth: '' names no file")
        place = Path(value)
        if probe(place.is_dir):
            truth = load_ground_truth(place)
            if not truth.files and not truth.patterns:
                raise BadInputError(f"{place}: the folder states no ground truth ({truth.reason})")
        elif probe(place.is_file) and place.suffix.lower() in _LISTS:
            truth = listed_ground_truth(place)
            if not truth.files and not truth.patterns:
                raise BadInputError(f"{place}: no path in it; write one a line")
        else:
            paths += value.split(",")
            continue
        if len(values) > 1:
            raise click.UsageError("--truth names a folder or a list once, and nothing beside it")
        return truth
    truth = stated_ground_truth(paths, "--truth")
    if not truth.files and not truth.patterns:
        raise BadInputError(f"--truth: {', '.join(paths)[:200]!r} names no file")
    return truth


# --------------------------------------------------------------------------------------------------
# ``retrieval-eval trace PLACE --all``: what the sessions of a folder or log read.

_MOST_ROWS: Final = 20
_MOST_SESSIONS: Final = 20
_MOST_AGENTS: Final = 20
_MOST_TOOLS: Final = 3


def show_reading(place: Path, *, as_json: bool) -> None:
    """Print what the sessions of a place read."""
    from retrieval_eval.agents.runs.what_was_read import what_was_read

    with progress_bar("session") as progress:
        found = what_was_read(place, progress)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    _print_sessions(found)
    _print_files(found)
    _print_tools(found)
    for problem in found.problems:
        echo(f"note: {problem}")


def _print_sessions(found: WhatWasRead) -> None:
    harnesses = Counter(one.harness or "unknown" for one in found.sessions)
    named = ", ".join(f"{n} of {name}" for name, n in harnesses.most_common())
    echo(f"{counted(len(found.sessions), 'session')}: {named}")
    head = ["  session", "calls", "opaque", "tokens", "USD", "opened", "possible"]
    rows = [
        [
            f"  {one.session[:60]}",
            str(one.n_calls),
            "—" if one.n_opaque_calls is None else str(one.n_opaque_calls),
            "—" if one.tokens is None else f"{one.tokens:,}",
            number(one.cost_usd),
            str(one.n_files_opened),
            str(one.n_files_possible),
        ]
        for one in found.sessions
    ]
    print_table([head, *rows[:_MOST_SESSIONS]])
    _print_more(len(rows) - _MOST_SESSIONS)
    for one in found.sessions:
        if one.problem:
            echo(f"  {one.session[:60]}: {one.problem}")


def _print_files(found: WhatWasRead) -> None:
    n = len(found.sessions)
    shown = [row for row in found.files if row.n_opened or row.n_attached or row.n_found]
    named = sum(bool(row.n_named) for row in found.files)
    possible = sum(bool(row.n_possible) for row in found.files)
    echo()
    echo(
        f"{counted(len(shown), 'file')} whose content was shown; {named} known by name alone in "
        f"some session, {possible} only possible in some"
    )
    head = ["  file", "opened in", "found only", "reads", "how much", "by"]
    rows = [
        [
            f"  {row.file}",
            f"{row.n_opened} of {n}",
            str(row.n_found),
            str(row.n_reads),
            row.how_much,
            ", ".join(f"{name} {times}" for name, times in list(row.by.items())[:_MOST_TOOLS]),
        ]
        for row in shown
    ]
    if rows:
        print_table([head, *rows[:_MOST_ROWS]])
    _print_more(len(rows) - _MOST_ROWS)
    again = [row for row in shown if row.n_reads > 2 * max(row.n_opened, 1)]
    again.sort(key=lambda row: -row.n_reads / max(row.n_opened, 1))
    for row in again[:3]:
        of = counted(row.n_opened, "session")
        echo(f"  read again and again: {row.file}, {row.n_reads} times in {of}")
    never = [row for row in shown if row.n_found and not row.n_opened]
    if never:
        files = ", ".join(row.file for row in never[:3])
        echo(f"  found but never opened: {counted(len(never), 'file')}, such as {files}")


def _print_tools(found: WhatWasRead) -> None:
    echo()
    echo("tokens of results by kind of tool, estimated at 4 characters a token")
    head = ["  kind", "calls", "failed", "tokens"]
    rows = [
        [f"  {use.kind}", str(use.n_calls), str(use.n_errors), f"{use.result_tokens:,}"]
        for use in found.tools
    ]
    print_table([head, *rows])
    several = {one.session for one in found.agents if one.agent != "main agent"}
    of_agents = [one for one in found.agents if one.session in several]
    if not of_agents:
        return
    echo()
    echo("agents of the sessions that had sub-agents; tokens of the messages up to their calls")
    head = ["  agent", "session", "calls", "opened", "tokens", "of results"]
    rows = [
        [
            f"  {one.agent[:40]}",
            one.session[:40],
            str(one.n_calls),
            str(one.n_files_opened),
            "—" if one.tokens is None else f"{one.tokens:,}",
            f"{one.result_tokens:,}",
        ]
        for one in of_agents
    ]
    print_table([head, *rows[:_MOST_AGENTS]], numbers_from=2)
    _print_more(len(rows) - _MOST_AGENTS)


def _print_more(n: int) -> None:
    if n > 0:
        echo(f"  and {n} more, all of them with --json")
