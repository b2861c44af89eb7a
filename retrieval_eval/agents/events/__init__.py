"""From a trace to its ordered events, matched to the ground truth."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from retrieval_eval.agents.events.calls import PER_TARGET, CallReducer, ReadCall, count
from retrieval_eval.agents.events.match import Identity, Workspace
from retrieval_eval.agents.events.roots import find_layout
from retrieval_eval.agents.traces.formats import has_workdirs
from retrieval_eval.agents.traces.results.base import is_absolute
from retrieval_eval.agents.traces.shell import ShellEvent
from retrieval_eval.agents.truth import expanded
from retrieval_eval.agents.truth.readers import touched_by
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.model.common import CallLedger
from retrieval_eval.paths import Names
from retrieval_eval.records import (
    AttachedFile,
    Event,
    FileRef,
    GroundTruth,
    LineRange,
    RawTarget,
    Symbol,
    Target,
    ToolCall,
    Trace,
)

if TYPE_CHECKING:
    from retrieval_eval.agents.events.evidence import Ranking


@dataclass(frozen=True, slots=True)
class _Accesses:
    events: Sequence[Event]
    own: frozenset[Identity]

    def __iter__(self) -> Iterator[tuple[Event, Target]]:
        own = self.own
        for event in self.events:
            for target in event.targets:
                if target.access != "written" and target.file.key not in own:
                    yield event, target


@dataclass(frozen=True, slots=True)
class Beside:
    """What a trace states of files beside the calls of the agent.

    ``attached`` are files that were shown without a call that requested them. ``submitted`` are the
    files that the patch changes which the agent handed in; None where the trace keeps no patch.
    """

    attached: tuple[AttachedFile, ...] = ()
    submitted: tuple[Target, ...] | None = None


@dataclass(frozen=True)
class TrialEvents:
    """The events of one trial with the ground truth they are compared with.

    ``own_output`` are the files that are the agent's own product. ``created`` are all that it
    created: what they show later is what it wrote. ``beside`` is what the trace states beside the
    calls. ``flags`` are quality flags found
    while reading the calls: ``case_collision``, ``clock_skew``, ``results_missing``,
    ``ground_truth_expanded`` when patterns of the ground truth gave some of its files,
    ``nothing_resolved`` when opaque calls are all that may have shown files, ``found_by_name_only``
    when a listing alone names some of the ground truth, and ``ground_truth_read`` when the agent
    saw a file that holds the answer, ``answer_exposed`` when call ``exposed_at`` showed the
    reference change or took it over. ``trace_flags`` are those found while reading the trace.
    """

    events: Sequence[Event]
    ground_truth: GroundTruth
    ledger: CallLedger = field(default_factory=lambda: count([]))
    own_output: frozenset[Identity] = frozenset()
    flags: tuple[str, ...] = ()
    trace_flags: tuple[str, ...] = ()
    exposed_at: int | None = None
    created: frozenset[Identity] = frozenset()
    beside: Beside = field(default_factory=Beside)

    @cached_property
    def own_files(self) -> frozenset[Identity]:
        """The files of the agent itself, which it cannot retrieve."""
        return self.own_output | self.created

    @cached_property
    def accesses(self) -> Iterable[tuple[Event, Target]]:
        """Every access in order: read, matched or listed; never written, never an own file."""
        found = _Accesses(self.events, self.own_files)
        # Events that lie in a file are read again each time.
        return found if isinstance(self.events, Spooled) else tuple(found)

    @cached_property
    def rankings(self) -> dict[str, Ranking]:
        """The rankings of the accessed files by view, once they have been computed."""
        return {}


def extract_events(
    trace: Trace, ground_truth: GroundTruth, *, agent_started_at: float | None = None
) -> TrialEvents:
    """Return the events of ``trace`` in execution order, matched to ``ground_truth``.

    Every retrieval-related call is one event. A shell call is an ``other`` event followed by one
    event per command that touched files (``via: shell``). An error finds nothing.

    Parameters
    ----------
    trace, ground_truth
        What :func:`~retrieval_eval.agents.traces.read_trace` and
        :func:`~retrieval_eval.agents.truth.load_ground_truth` return.
    agent_started_at
        Unix seconds from which elapsed time counts; else the first agent step of the trace.

    Returns
    -------
    TrialEvents
        The events, the ground truth, and a ledger of the status of every call. Never raises on
        what a trace holds.

    Examples
    --------
    >>> from retrieval_eval.records import FileRef, ToolResult
    >>> call = ToolCall(
    ...     "c1", "Bash", {"command": "cd /workspace && grep -rn x ."}, ToolResult("./a.py:3:x = 1")
    ... )
    >>> trace = Trace((call,), "example", "transcript", has_trajectory=False, has_transcript=True)
    >>> found = extract_events(trace, GroundTruth(files=(FileRef("a.py"), FileRef("b.py"))))
    >>> [(event.tool_name, event.tool_category, event.matched) for event in found.events]
    [('Bash', 'other', ()), ('grep', 'code_search', (0,))]
    >>> [(str(target.file), target.access, target.lines) for target in found.events[1].targets]
    [('a.py', 'matched', ((3, 3),))]
    """
    reducer = CallReducer(
        trace.harness,
        trace.cwd,
        symbols=ground_truth.symbols,
        fix_lines=ground_truth.fix_lines,
        edit_files=ground_truth.expected_edit_files or ground_truth.files,
    )
    reads = reducer.take_all(trace.calls)
    remote = dict.fromkeys(
        t.repository for read in reads for t, _ in read.raw_targets() if t.repository
    )
    names = Names()
    workdirs = has_workdirs(trace.format)
    layout = find_layout(reads, trace.cwd, ground_truth, names, has_workdirs=workdirs)
    workspace = Workspace(ground_truth, remote_repositories=remote, layout=layout, paths=names)
    if ground_truth.patterns:
        ground_truth = expanded(ground_truth, _seen(reads, workspace))
        layout = find_layout(reads, trace.cwd, ground_truth, names, has_workdirs=workdirs)
        workspace = Workspace(ground_truth, remote_repositories=remote, layout=layout, paths=names)
    start = agent_started_at if agent_started_at is not None else trace.started_at
    made_files = made_by_agent(reads, workspace)
    folders = _folders(reads, workspace)
    builder = _Builder(workspace, folders, start, made_files)
    for read in reads:
        if read.use.is_retrieval:
            builder.add(read)
    events = builder.events.done()
    ledger = count(reads)
    exposed_at = reducer.exposure.found_at
    beside = Beside(_attached(trace, workspace, folders), _submitted(trace, workspace))
    own, made = own_output(events, ground_truth, workspace), created(events, beside)
    flags = {
        "case_collision": workspace.collisions,
        "ground_truth_expanded": ground_truth.expanded,
        "found_by_name_only": _is_found_by_name_only(events, ground_truth, made),
        "results_missing": _has_lost_results(reads),
        "nothing_resolved": ledger.calls_opaque and not _has_access(events, own | made),
        "clock_skew": builder.is_skewed,
        "ground_truth_read": _has_read_the_answer(events),
        "answer_exposed": exposed_at is not None,
    }
    return TrialEvents(
        events,
        ground_truth,
        ledger,
        own,
        tuple(flag for flag, is_raised in flags.items() if is_raised),
        trace.flags,
        exposed_at,
        made,
        beside,
    )


def _attached(
    trace: Trace, workspace: Workspace, folders: frozenset[Identity]
) -> tuple[AttachedFile, ...]:
    """Return the files that were shown without a call, or that may be these, at their places."""
    found = []
    for a in trace.attached:
        if a.is_pattern:
            covered = workspace.covered(a.path, cwd=a.cwd)
            targets = [Target(expected, a.access, doubt=a.doubt) for expected in covered]
        else:
            lines = _real_lines(a.lines)
            targets = [
                Target(
                    placed.file,
                    a.access,
                    lines,
                    a.is_whole,
                    a.doubt or placed.doubt,
                    placed.placement,
                )
                for placed in workspace.place(a.path, cwd=a.cwd)
                if a.access != "listed" or placed.file.key not in folders
            ]
        found += [
            AttachedFile(target, a.how, a.call_id, a.timestamp, a.is_subagent) for target in targets
        ]
    return tuple(found)


def _submitted(trace: Trace, workspace: Workspace) -> tuple[Target, ...] | None:
    """Return the files of the patch that the agent handed in, None where there is none to read."""
    if trace.submission is None:
        return None
    touched = touched_by([trace.submission])
    if trace.submission.strip() and not touched.files:
        return None
    return tuple(
        Target(placed.file, "written", None, False, placed.doubt, placed.placement, is_new)
        for entry in touched.files
        for is_new in [entry in touched.added]
        for placed in workspace.place(entry.path)
    )


def _has_lost_results(reads: Iterable[ReadCall]) -> bool:
    """Return whether calls lack their results that are not the last ones of an agent.

    A run ends with a call, or with several at once, that is not answered: it reached its limit. The
    files that such a call names are possible, and nothing else is missing. Where no call at all has
    an answer, the trace keeps none.
    """
    waiting: dict[str | None, list[tuple[float | None, int | None]]] = {}
    n_answered = 0
    for read in reads:
        call = read.call
        agent = call.parent_id or ("sub-agent" if call.is_subagent else None)
        unanswered = waiting.setdefault(agent, [])
        n_answered += read.has_result
        if unanswered and (read.has_result or not _is_beside(unanswered[-1], call)):
            return True
        if not read.has_result and read.use.is_retrieval:
            unanswered.append((call.timestamp, call.cumulative_tokens))
    return not n_answered and any(waiting.values())


def _is_beside(last: tuple[float | None, int | None], call: ToolCall) -> bool:
    """Return whether a call was made in the same message as the last one."""
    moment, tokens = last
    is_at_once = moment is not None and moment == call.timestamp
    return is_at_once or (tokens is not None and tokens == call.cumulative_tokens)


def _seen(reads: Iterable[ReadCall], workspace: Workspace) -> Iterator[FileRef]:
    """Yield every file that the calls name, for the patterns of a ground truth."""
    for read in reads:
        for raw, cwd in read.raw_targets():
            if raw.is_pattern:
                continue
            file = workspace.resolve(raw.path, cwd=cwd, repository=raw.repository)
            if file is not None:
                yield file


def _has_access(events: Iterable[Event], own: frozenset[Identity]) -> bool:
    """Return whether a file was read, matched or listed that is not the agent's own output."""
    return any(
        target.access != "written" and target.file.key not in own
        for event in events
        for target in event.targets
    )


_ANSWERS: Final = frozenset(
    {
        "ground_truth.json",
        "ground_truth_agent.json",
        "oracle_answer.json",
        "expected_defects.json",
        "expected_changes.json",
        "expected_solution.json",
        "reference_fix.patch",
    }
)
"""Files of a task that hold what the agent is to find."""


def _has_read_the_answer(events: Iterable[Event]) -> bool:
    return any(
        target.access in {"opened", "matched"}
        and target.file.path.rpartition("/")[2].lower() in _ANSWERS
        for event in events
        for target in event.targets
    )


def _is_found_by_name_only(
    events: Iterable[Event], ground_truth: GroundTruth, made: frozenset[Identity]
) -> bool:
    """Return whether some ground-truth file was listed and never opened nor matched."""
    relevant = {f.key for f in ground_truth.files} - made
    listed: set[Identity] = set()
    seen: set[Identity] = set()
    for event in events:
        for target in event.targets:
            if target.file.key in relevant and target.access != "written":
                (listed if target.access == "listed" else seen).add(target.file.key)
    return bool(listed - seen)


def _folders(reads: Iterable[ReadCall], workspace: Workspace) -> frozenset[Identity]:
    """Return every folder above a path of the trial, because listings do not mark folders."""
    folders: set[Identity] = set()
    for read in reads:
        for raw, cwd in read.raw_targets():
            if raw.is_pattern:
                continue
            file = workspace.resolve(raw.path, cwd=cwd, repository=raw.repository)
            repository, path = file.key if file is not None else (None, "")
            while (path := path.rpartition("/")[0]) and (repository, path) not in folders:
                folders.add((repository, path))
    return frozenset(folders)


def _real_lines(lines: tuple[LineRange, ...] | None) -> tuple[LineRange, ...] | None:
    """Return ranges without line 0, from which some output counts: lines begin at 1."""
    if lines is None or all(first > 0 for first, _ in lines):
        return lines
    return tuple((max(first, 1), last) for first, last in lines if last > 0) or None


_LONGEST_CALL: Final = 600.0
"""Seconds by which parallel calls can end out of order; more is a clock error."""


class _Builder:
    """Appends the events of one call after the other."""

    def __init__(
        self,
        workspace: Workspace,
        folders: frozenset[Identity],
        start: float | None,
        made: Made,
    ) -> None:
        self.events: Spooled[Event] = Spooled(Event)
        self.is_skewed = False
        self._latest = 0.0
        self._workspace = workspace
        self._folders = folders
        self._start = start
        self._made = made

    def add(self, read: ReadCall) -> None:
        """Append the event of a call, then one for each shell command that touched files.

        What a command may have touched belongs to the event of the call, unless another target of
        the command is certain.
        """
        elapsed = self._elapsed(read.call)
        commands = read.shell.events if read.shell is not None else ()
        open_ones = [t for c in commands if not c.is_certain for t in c.targets]
        self._append(read, elapsed, read.use.targets, None, open_ones)
        for command in commands:
            if command.is_certain:
                self._append(read, elapsed, command.targets, command)

    def _append(
        self,
        read: ReadCall,
        elapsed: float | None,
        raw_targets: tuple[RawTarget, ...],
        command: ShellEvent | None,
        open_ones: Sequence[RawTarget] = (),
    ) -> None:
        call, use = read.call, read.use
        touched = [*self._targets(raw_targets, None if command else read.cwd)]
        touched += self._targets(open_ones, None)
        targets = tuple([target for target in touched if target.doubt is None])
        positions = [self._workspace.position(target.file) for target in targets]
        self.events.append(
            Event(
                step_index=len(self.events),
                call_index=read.index,
                call_id=call.call_id,
                tool_name=command.program if command else call.name,
                tool_category=command.category if command else use.category,
                is_mcp=use.is_mcp,
                targets=targets,
                possible=tuple([target for target in touched if target.doubt is not None]),
                open_doubt=next(
                    (t.doubt for t in (*raw_targets, *open_ones) if t.is_pattern), None
                ),
                matched=tuple(dict.fromkeys([p for p in positions if p is not None])),
                timestamp=call.timestamp,
                elapsed_seconds=elapsed,
                cumulative_tokens=call.cumulative_tokens,
                arguments={} if command else use.arguments,
                via="shell" if command else None,
                server=use.server,
                is_error=use.is_error and not command,
                is_subagent=call.is_subagent,
                is_opaque=read.is_opaque and not command,
                is_shell=use.command is not None and not command,
                agent=call.parent_id or ("sub-agent" if call.is_subagent else None),
                symbols=_symbols(read, targets),
            ),
            PER_TARGET * len(touched),
        )

    def _targets(self, raw_targets: Iterable[RawTarget], cwd: str | None) -> Iterator[Target]:
        for raw in raw_targets:
            if raw.is_pattern:
                covered = self._workspace.covered(raw.path, cwd=cwd, repository=raw.repository)
                yield from (Target(expected, raw.access, doubt=raw.doubt) for expected in covered)
                continue
            for placed in self._workspace.place(raw.path, cwd=cwd, repository=raw.repository):
                key = placed.file.key
                if raw.access == "listed" and key in self._folders:
                    continue
                is_write = raw.access == "written"
                is_open = not is_write and key in self._made.open
                is_whole_write = raw.is_new or raw.state in ("copied", "created")
                yield Target(
                    placed.file,
                    raw.access,
                    _real_lines(raw.lines),
                    raw.is_whole,
                    raw.doubt or placed.doubt or ("may_be_own" if is_open else None),
                    placed.placement,
                    is_write and is_whole_write and key in self._made.own,
                )

    def _elapsed(self, call: ToolCall) -> float | None:
        """Return seconds since the agent's start; None for a time before it."""
        if call.timestamp is None or self._start is None:
            return None
        elapsed = round(call.timestamp - self._start, 6)
        is_back = not call.is_subagent and elapsed < self._latest - _LONGEST_CALL
        self.is_skewed = self.is_skewed or elapsed < 0 or is_back
        self._latest = max(self._latest, elapsed)
        return elapsed if elapsed >= 0 else None


def _symbols(read: ReadCall, targets: Iterable[Target]) -> tuple[Symbol, ...]:
    """Return the expected symbols that a call defined before the agent's eyes."""
    if not read.defined:
        return ()
    files = {t.file.key for t in targets if t.access in {"opened", "matched"}}
    return tuple(symbol for symbol in read.defined if symbol.file.key in files)


# --------------------------------------------------------------------------------------------------
# Which files of a trial are the agent's own output and count neither as relevant nor as wrong.


def own_output(
    events: Iterable[Event], ground_truth: GroundTruth, workspace: Workspace
) -> frozenset[Identity]:
    """Return the files the agent produced for itself.

    These are the files the task tells the agent to write, and files that the agent created (the
    first touch is a write) outside the workspace or directly at its root. A ground-truth file is
    never one, nor one that is to be edited.
    """
    wanted = (*ground_truth.files, *(ground_truth.expected_edit_files or ()))
    relevant = {f.key for f in wanted}
    named = {
        ref.key
        for raw in (*ground_truth.output_files, *ground_truth.not_retrieval_targets)
        if (ref := workspace.resolve(raw)) is not None
    }
    first: dict[Identity, bool] = {}
    for event in events:
        for target in event.targets:
            first.setdefault(target.file.key, target.access == "written")
    return frozenset(
        key
        for key, is_written in first.items()
        if key not in relevant and (key in named or (is_written and _is_outside(key)))
    )


def created(events: Iterable[Event], beside: Beside) -> frozenset[Identity]:
    """Return the files that the agent created, ground-truth files among them.

    Such a file was written whole before it was seen, and nothing shows that it was there before; or
    the patch that the agent handed in adds it. What the agent sees of it later, such as its name in
    ``git status``, it has not retrieved.
    """
    first: dict[Identity, bool] = {}
    for event in events:
        for target in event.targets:
            if target.access != "written" or target.is_new:
                first.setdefault(target.file.key, target.is_new)
    added = {t.file.key for t in beside.submitted or () if t.is_new and t.doubt is None}
    return frozenset({key for key, is_new in first.items() if is_new} | added)


def _is_outside(key: Identity) -> bool:
    repository, path = key
    return path.startswith("/") or (repository is None and "/" not in path)


# --------------------------------------------------------------------------------------------------
# Which files of a trial the agent made itself, and which were there before.

_State = Literal["known", "source", "removed", "made", "touched", "open", "unplaced"]
_BACKUP: Final = re.compile(
    r"(?:[._-](?:bak|backup|orig|original|old|save[d]?|copy|before|tmp)\d{0,3}|~)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Made:
    """The files that the agent made, and those that it may have made or have found there."""

    own: frozenset[Identity] = frozenset()
    open: frozenset[Identity] = frozenset()


@dataclass(slots=True)
class _History:
    """What happened to the files of a trial so far; those that were there and are ``gone``."""

    states: dict[Identity, _State] = field(default_factory=dict)
    gone: set[Identity] = field(default_factory=set)
    touched_at: dict[Identity, int] = field(default_factory=dict)

    def leave(self, key: Identity, *, is_there: bool) -> None:
        """Note that a file was copied, or moved away."""
        state = self.states.get(key)
        if not is_there:
            self.gone.add(key)
        if state is None:
            self.states[key] = "source"
        elif state in ("made", "touched") and not is_there:
            self.states[key] = "removed"

    def write(self, key: Identity, target: RawTarget, source: Identity | None) -> None:
        """Note a write of a file, perhaps as a copy of another one."""
        state = self.states.get(key)
        if target.state == "existed":
            self.states[key] = "known"
        elif target.state == "removed":
            self.gone.add(key)
            self.states[key] = state if state in ("known", "source") else "removed"
        elif target.state == "touched":
            self.states.setdefault(key, "touched")
        elif target.state in ("copied", "created"):
            if state is None or state == "removed":
                may_restore = target.state == "copied" and state is None and source is not None
                is_back = may_restore and self._may_restore(key, source)
                self.states[key] = "open" if is_back else "made"
            elif state == "source":
                self.states[key] = "known"
        elif target.is_new:
            if state in (None, "removed") or (state == "source" and key in self.gone):
                self.states[key] = "made"
        elif state == "touched":
            self.states[key] = "made"
        else:
            self.states.setdefault(key, "known")

    def may_make(self, keys: Iterable[Identity]) -> None:
        """Note a write of a whole file which may be any of these."""
        for key in keys:
            self.states.setdefault(key, "unplaced")

    def _may_restore(self, key: Identity, source: Identity | None) -> bool:
        """Return whether a copy may put back what was there before: it has the file's name."""
        if source is None or self.states.get(source) in ("made", "touched"):
            return False
        name, other = posixpath.basename(key[1]), posixpath.basename(source[1])
        return other == name or (
            other.startswith(name) and _BACKUP.fullmatch(other[len(name) :]) is not None
        )

    def see(self, key: Identity, target: RawTarget, n_opaque: int) -> None:
        """Note that a file was shown."""
        state = self.states.get(key)
        if state in (None, "source"):
            self.states[key] = "known"
        elif state in ("made", "touched", "open") and target.state is not None:
            self.states[key] = "known" if target.state == "existed" else "made"
        elif state == "unplaced" and (target.state == "existed" or (is_absolute(target.path))):
            # A full path other than that of the write is another file; the same would be placed.
            self.states[key] = "known"
        elif state == "touched" and target.access != "listed":
            # What is in it the agent did not write.
            is_sure = self.touched_at.get(key) == n_opaque
            self.states[key] = "known" if is_sure else "open"


def made_by_agent(reads: Iterable[ReadCall], workspace: Workspace) -> Made:
    """Return which files the agent made, from its interpreted calls in order."""
    history = _History()
    n_opaque = 0

    def key_of(raw: str, cwd: str | None, repository: str | None = None) -> Identity | None:
        file = workspace.resolve(raw, cwd=cwd, repository=repository)
        return file.key if file is not None else None

    for read in reads:
        n_opaque += read.is_opaque
        steps = [((), read.use.targets, read.cwd)] if read.use.targets else []
        commands = read.shell.events if read.shell is not None else ()
        for sources, targets, cwd in (*steps, *((c.sources, c.targets, None) for c in commands)):
            first: Identity | None = None
            for source, is_there in sources:
                key = key_of(source, None)
                first = first or key
                if key is not None:
                    history.leave(key, is_there=is_there)
            for target in targets:
                key = (
                    None
                    if target.doubt or target.is_pattern
                    else key_of(target.path, cwd, target.repository)
                )
                if key is None:
                    continue
                if target.access == "written" and target.is_new:
                    placed = workspace.place(target.path, cwd=cwd, repository=target.repository)
                    history.may_make(found.file.key for found in placed if found.doubt)
                if target.access != "written":
                    history.see(key, target, n_opaque)
                    continue
                history.write(key, target, first)
                history.touched_at[key] = n_opaque
    return Made(
        frozenset(k for k, state in history.states.items() if state in ("made", "touched")),
        frozenset(k for k, state in history.states.items() if state in ("open", "unplaced")),
    )
