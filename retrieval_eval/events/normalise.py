"""From a trace to its ordered events and the ledger of what became of every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from retrieval_eval.events.match import Identity, Workspace
from retrieval_eval.events.own_output import own_output
from retrieval_eval.records import Event, GroundTruth, RawTarget, Target, ToolCall, Trace
from retrieval_eval.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.traces.tools import ToolUse, interpret

_MOST_OPAQUE_REASONS = 50


@dataclass(frozen=True, slots=True)
class Ledger:
    """What became of every tool call of a trial.

    ``calls_seen`` is the sum of ``calls_not_retrieval``, ``calls_without_result``,
    ``calls_error``, ``calls_opaque`` and ``calls_resolved``; a call counts in the first of
    these that fits.
    """

    calls_seen: int = 0
    calls_not_retrieval: int = 0
    calls_without_result: int = 0
    calls_error: int = 0
    calls_opaque: int = 0
    calls_resolved: int = 0
    subagent_calls: int = 0
    shell_calls: int = 0
    shell_opaque: int = 0
    shell_events: int = 0
    mcp_calls: int = 0
    mcp_calls_ok: int = 0
    not_retrieval_by_tool: tuple[tuple[str, int], ...] = ()
    opaque_reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TrialEvents:
    """The events of one trial with the ground truth they are held against.

    ``own_output`` are the files that are the agent's own product. ``flags`` are quality flags
    that only show when files are matched, ``case_collision`` and ``clock_skew``.
    """

    events: tuple[Event, ...]
    ground_truth: GroundTruth
    ledger: Ledger = Ledger()
    own_output: frozenset[Identity] = frozenset()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    """One call with what its tool did and, for a shell, what its command did."""

    index: int
    call: ToolCall
    use: ToolUse
    shell: ShellAnalysis | None


def normalise(
    trace: Trace, ground_truth: GroundTruth, *, agent_started_at: float | None = None
) -> TrialEvents:
    """Return the events of ``trace`` in execution order, matched to ``ground_truth``.

    Every retrieval-related call is one event. A shell call is an ``other`` event followed by one
    event per command that touched files (``via: shell``). An error finds nothing.

    Parameters
    ----------
    agent_started_at
        Unix seconds from which elapsed time counts; else the first agent step of the trace.
    """
    reads = _read_calls(trace)
    workspace = Workspace(
        ground_truth, cwd=trace.cwd, remote_repositories=_remote_repositories(reads)
    )
    folders = _folders(reads, workspace, trace.cwd)
    start = agent_started_at if agent_started_at is not None else trace.started_at
    events: list[Event] = []
    skewed = False
    for read in reads:
        if not read.use.is_retrieval:
            continue
        elapsed = _elapsed(read.call.timestamp, start)
        skewed = skewed or (elapsed is not None and elapsed < 0)
        for event in _events_of(read, workspace, trace.cwd, folders):
            known = elapsed if elapsed is not None and elapsed >= 0 else None
            events.append(replace(event, step_index=len(events), elapsed_seconds=known))
    flags = [
        flag
        for flag, raised in (("case_collision", workspace.collisions), ("clock_skew", skewed))
        if raised
    ]
    return TrialEvents(
        tuple(events), ground_truth, _ledger(reads), own_output(events, ground_truth), tuple(flags)
    )


def _read_calls(trace: Trace) -> list[_Read]:
    """Interpret every call; each agent of the trial has a shell of its own."""
    shells: dict[str, ShellSession] = {}
    reads = []
    for index, call in enumerate(trace.calls):
        use = interpret(call)
        shell = None
        if use.command is not None:
            agent = call.parent_id or ("subagent" if call.is_subagent else "main")
            session = shells.setdefault(agent, ShellSession(trace.cwd))
            output = call.result.text if call.result is not None else ""
            shell = session.analyse(use.command, output, is_error=use.is_error, cwd=use.command_cwd)
        reads.append(_Read(index, call, use, shell))
    return reads


def _remote_repositories(reads: Iterable[_Read]) -> Iterator[str]:
    for read in reads:
        yield from (t.repository for t, _ in _targets_of(read, None) if t.repository)


def _targets_of(read: _Read, cwd: str | None) -> Iterator[tuple[RawTarget, str | None]]:
    """Yield every raw target of a call with the folder its path is relative to."""
    for target in read.use.targets:
        yield target, read.use.command_cwd or read.call.cwd or cwd
    for command in read.shell.events if read.shell is not None else ():
        for target in command.targets:
            yield target, None


def _folders(reads: Iterable[_Read], workspace: Workspace, cwd: str | None) -> frozenset[Identity]:
    """Return every folder above a path of the trial: a listing does not say what is one."""
    folders: set[Identity] = set()
    for read in reads:
        for raw, folder in _targets_of(read, cwd):
            file = workspace.resolve(raw.path, cwd=folder, repository=raw.repository)
            repository, path = file.key if file is not None else (None, "")
            while (path := path.rpartition("/")[0]) and (repository, path) not in folders:
                folders.add((repository, path))
    return frozenset(folders)


def _events_of(
    read: _Read, workspace: Workspace, cwd: str | None, folders: frozenset[Identity]
) -> Iterator[Event]:
    call, use = read.call, read.use
    base = Event(
        step_index=0,
        call_index=read.index,
        call_id=call.call_id,
        tool_name=call.name,
        tool_category=use.category,
        is_mcp=use.is_mcp,
        timestamp=call.timestamp,
        cumulative_tokens=call.cumulative_tokens,
        arguments=use.arguments,
        server=use.server,
        is_error=use.is_error,
        is_subagent=call.is_subagent,
        is_opaque=use.is_opaque or bool(read.shell and read.shell.opaque),
    )
    folder = use.command_cwd or call.cwd or cwd
    yield _with_targets(base, use.targets, workspace, folder, folders)
    for command in read.shell.events if read.shell is not None else ():
        derived = replace(
            base,
            tool_name=command.program,
            tool_category=command.category,
            arguments={},
            via="shell",
            is_error=False,
            is_opaque=False,
        )
        yield _with_targets(derived, command.targets, workspace, None, folders)


def _with_targets(
    event: Event,
    raw_targets: tuple[RawTarget, ...],
    workspace: Workspace,
    cwd: str | None,
    folders: frozenset[Identity],
) -> Event:
    targets: list[Target] = []
    matched: list[int] = []
    for raw in raw_targets:
        file = workspace.resolve(raw.path, cwd=cwd, repository=raw.repository)
        if file is None or (raw.access == "listed" and file.key in folders):
            continue
        targets.append(Target(file, raw.access, raw.lines, raw.is_whole))
        position = workspace.position(file)
        if position is not None and position not in matched:
            matched.append(position)
    return replace(event, targets=tuple(targets), matched=tuple(matched))


def _elapsed(timestamp: float | None, start: float | None) -> float | None:
    return None if timestamp is None or start is None else round(timestamp - start, 6)


def _ledger(reads: list[_Read]) -> Ledger:
    fates: Counter[str] = Counter(_fate(read) for read in reads)
    housekeeping = Counter(r.call.name for r in reads if not r.use.is_retrieval)
    shells = [r.shell for r in reads if r.shell is not None]
    reasons = Counter(reason for shell in shells for reason in shell.opaque)
    mcp = [r for r in reads if r.use.is_mcp]
    return Ledger(
        calls_seen=len(reads),
        calls_not_retrieval=fates["not_retrieval"],
        calls_without_result=fates["without_result"],
        calls_error=fates["error"],
        calls_opaque=fates["opaque"],
        calls_resolved=fates["resolved"],
        subagent_calls=sum(r.call.is_subagent for r in reads),
        shell_calls=len(shells),
        shell_opaque=sum(bool(shell.opaque) for shell in shells),
        shell_events=sum(len(shell.events) for shell in shells),
        mcp_calls=len(mcp),
        mcp_calls_ok=sum(_fate(r) in {"resolved", "opaque"} for r in mcp),
        not_retrieval_by_tool=tuple(sorted(housekeeping.items())),
        opaque_reasons=tuple(sorted(reasons.items())[:_MOST_OPAQUE_REASONS]),
    )


def _fate(read: _Read) -> str:
    if not read.use.is_retrieval:
        return "not_retrieval"
    if read.call.result is None:
        return "without_result"
    if read.use.is_error:
        return "error"
    if read.use.is_opaque or (read.shell is not None and read.shell.opaque):
        return "opaque"
    return "resolved"
