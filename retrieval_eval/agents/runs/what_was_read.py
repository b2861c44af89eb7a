"""What sessions read, where no truth says what they should have: by file, tool and sub-agent.

Certain content, certain names and what is only possible are counted apart. Tokens of results are
estimated from their length, for no trace counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.door import nearest, opened
from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import accesses, possible_accesses
from retrieval_eval.agents.runs.trial import Inspected, inspect_trace
from retrieval_eval.agents.traces import NoTraceError
from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.records import Access, Event, LineRange, Progress, Target, Trace, TrialRef
from retrieval_eval.values import counted

CHARACTERS_A_TOKEN: Final = 4
"""How many characters of a result are taken as one token."""

MAIN: Final = "main agent"
SHELL: Final = "shell"
ATTACHED: Final = "attached"
_ORDER: Final = ("listed", "matched", "attached", "opened")
_Known = Access | Literal["attached"]


class FileRead(Struct, frozen=True, kw_only=True):
    """What the sessions were shown of one file.

    Parameters
    ----------
    file
        The file, with its repository where the traces name one.
    n_opened, n_attached, n_found, n_named, n_possible
        Sessions in which it was opened; shown without a call for it; found by a search
        that showed lines of it, but not opened; known by name alone; possible at most. Each session
        counts once.
    n_reads
        How often it was opened, in all of them together.
    n_lines
        Its length, where a session was shown the whole of it; else None.
    n_lines_shown
        How many of its lines the sessions were shown, together; None where that is not known.
    share
        The part of its lines that the sessions were shown, together; None where the length or the
        lines are not known.
    shares
        The same for each session that opened it, by the name of the session.
    by
        How often tools showed it, by name; ``shell`` is any command, ``attached`` without a call.
    agents
        Who was shown it: the main agent, and sub-agents by id.
    """

    file: str
    n_opened: int
    n_attached: int
    n_found: int
    n_named: int
    n_possible: int
    n_reads: int
    n_lines: int | None
    n_lines_shown: int | None
    share: float | None
    shares: dict[str, float | None]
    by: dict[str, int]
    agents: tuple[str, ...]

    @property
    def how_much(self) -> str:
        """How much of its lines the sessions were shown, together, in words."""
        if self.share is not None:
            return "whole" if self.share == 1 else f"{self.share:.0%} of {self.n_lines} lines"
        return "not known" if self.n_lines_shown is None else counted(self.n_lines_shown, "line")


class ToolUse(Struct, frozen=True, kw_only=True):
    """The calls of one kind of tool, and how many tokens their results are estimated to be."""

    kind: str
    n_calls: int
    n_errors: int
    result_tokens: int


class AgentUse(Struct, frozen=True, kw_only=True):
    """What one agent of a session did.

    ``tokens`` are those of the messages up to its calls, None where the trace counts none;
    ``result_tokens`` are estimated.
    """

    session: str
    agent: str
    n_calls: int
    n_files_opened: int
    tokens: int | None
    result_tokens: int


class SessionRead(Struct, frozen=True, kw_only=True):
    """One session: how much it read, at what cost, and why it may have read more."""

    session: str
    config: str
    harness: str | None
    model: str | None
    n_calls: int
    n_opaque_calls: int | None
    tokens: int | None
    cost_usd: float | None
    n_files_opened: int
    n_files_possible: int
    problem: str | None


class WhatWasRead(Struct, frozen=True, kw_only=True):
    """What the sessions of a place read: by file, tool, agent and session."""

    layout: str = ""
    sessions: tuple[SessionRead, ...]
    files: tuple[FileRead, ...]
    tools: tuple[ToolUse, ...]
    agents: tuple[AgentUse, ...]
    problems: tuple[str, ...] = ()


class _Seen:
    """What one session was shown of a file."""

    def __init__(self) -> None:
        self.access: _Known | None = None
        """The most that was certain; None for what is only possible."""
        self.n_reads = 0
        self.is_whole = False
        self.lines: list[LineRange] = []
        self.is_partly_unknown = False
        self.by: Counter[str] = Counter()
        self.agents: dict[str, None] = {}

    def add(self, target: Target, by: str, agent: str) -> None:
        """Take a certain access."""
        access: _Known = target.access
        if by == ATTACHED and target.access == "opened":
            access = "attached"
        self.access = max(self.access or access, access, key=_ORDER.index)
        self.n_reads += access == "opened"
        self.by[by] += 1
        self.agents[agent] = None
        if target.access == "listed":
            return
        self.is_whole |= target.is_whole
        self.lines += target.lines or ()
        self.is_partly_unknown |= not target.is_whole and not target.lines


def what_was_read(place: Path, progress: Progress | None = None) -> WhatWasRead:
    """Return what the sessions of a folder, log or table read.

    Raises
    ------
    NothingToEvaluateError
        When there is no session.
    """
    held = opened(place.absolute())
    problems = [*held.problems, *(one.detail for one in held.excluded)]
    found = reading_of(held.trials, progress)
    if not found.sessions:
        what = "; ".join([*problems, *found.problems][:3]) or nearest(place.absolute())
        raise NothingToEvaluateError(f"no session found in {place}: {what}")
    return replace(found, layout=held.layout, problems=(*problems, *found.problems))


def reading_of(trials: Sequence[TrialRef], progress: Progress | None = None) -> WhatWasRead:
    """Return what sessions read; one without a trace is among the problems."""
    problems: list[str] = []
    sessions: list[SessionRead] = []
    agents: list[AgentUse] = []
    files: dict[str, dict[str, _Seen]] = {}
    lengths: dict[str, int] = {}
    tools: dict[str, list[int]] = {}
    for number, trial in enumerate(trials, start=1):
        name = trial.trial_name
        try:
            found = inspect_trace(trial.path, sample=trial.sample)
        except NoTraceError as error:
            problems.append(f"{name}: {error.reason}")
            continue
        seen = _seen(found.trial)
        for file, one in seen.items():
            files.setdefault(file, {})[name] = one
        for file, length in _lengths(found):
            lengths[file] = max(length, lengths.get(file, 0))
        kinds = _kinds(found.trial.events)
        for index, call in enumerate(found.trace.calls):
            counts = tools.setdefault(kinds.get(index, "other"), [0, 0, 0])
            result = call.result
            counts[0] += 1
            counts[1] += result is not None and result.is_error
            counts[2] += 0 if result is None else _tokens(result.text)
        agents += _agents(name, found.trace, found.trial)
        sessions.append(_session(name, trial.config_name, found, seen))
        if progress is not None:
            progress(number, len(trials), name)
    rows = [_file(file, of, lengths.get(file)) for file, of in files.items()]
    rows.sort(
        key=lambda row: (
            *(-row.n_opened, -row.n_attached, -row.n_found, -row.n_reads, -row.n_named),
            row.file,
        )
    )
    uses = [
        ToolUse(kind=kind, n_calls=n, n_errors=errors, result_tokens=tokens)
        for kind, (n, errors, tokens) in tools.items()
    ]
    uses.sort(key=lambda use: (-use.result_tokens, use.kind))
    return WhatWasRead(
        sessions=tuple(sessions),
        files=tuple(rows),
        tools=tuple(uses),
        agents=tuple(agents),
        problems=tuple(problems),
    )


def _seen(trial: TrialEvents) -> dict[str, _Seen]:
    found: dict[str, _Seen] = {}
    for event, target in accesses(trial):
        one = found.setdefault(str(target.file), _Seen())
        one.add(target, _tool_of(event), event.agent or MAIN)
    for file in trial.beside.attached:
        one = found.setdefault(str(file.target.file), _Seen())
        if file.target.doubt is None:
            one.add(file.target, ATTACHED, MAIN)
    for _, target in possible_accesses(trial):
        if target.file.path.strip("*/."):
            found.setdefault(str(target.file), _Seen())
    return found


def _tool_of(event: Event) -> str:
    return SHELL if event.via == "shell" or event.is_shell else event.tool_name


def _kinds(events: Iterable[Event]) -> dict[int, str]:
    """Return the kind of tool of every call that is an event, by the call's place in the trace."""
    return {
        event.call_index: SHELL if _tool_of(event) == SHELL else event.tool_category
        for event in events
    }


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _lengths(found: Inspected) -> Iterator[tuple[str, int]]:
    """Yield the lengths of files that were shown whole, in lines."""
    opened_by: dict[int, list[Target]] = {}
    for event in found.trial.events:
        opened_by.setdefault(event.call_index, []).extend(event.targets)
    for index, call in enumerate(found.trace.calls):
        targets = opened_by.get(index, [])
        for target in targets:
            if target.access != "opened" or not target.is_whole:
                continue
            if target.lines:
                yield str(target.file), max(last for _, last in target.lines)
            elif len(targets) == 1 and call.result is not None and not call.result.is_truncated:
                yield str(target.file), len(call.result.text.splitlines())


def _agents(session: str, trace: Trace, trial: TrialEvents) -> list[AgentUse]:
    files: dict[str, set[object]] = {}
    for event, target in accesses(trial):
        if target.access == "opened":
            files.setdefault(event.agent or MAIN, set()).add(target.file.key)
    calls: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    paid: Counter[str] = Counter()
    before = 0
    is_counted = True
    for call in trace.calls:
        agent = (call.parent_id or "a sub-agent") if call.is_subagent else MAIN
        calls[agent] += 1
        shown[agent] += 0 if call.result is None else _tokens(call.result.text)
        if call.cumulative_tokens is None:
            is_counted = is_counted and before == 0
        else:
            paid[agent] += max(call.cumulative_tokens - before, 0)
            before = max(call.cumulative_tokens, before)
    return [
        AgentUse(
            session=session,
            agent=agent,
            n_calls=n,
            n_files_opened=len(files.get(agent, ())),
            tokens=paid[agent] if is_counted and before else None,
            result_tokens=shown[agent],
        )
        for agent, n in calls.items()
    ]


def _session(name: str, config: str, found: Inspected, seen: dict[str, _Seen]) -> SessionRead:
    outcome = found.metrics.outcome
    ledger = found.document.ledger
    return SessionRead(
        session=name,
        config=config,
        harness=outcome.get("harness"),
        model=outcome.get("model"),
        n_calls=len(found.trace.calls),
        n_opaque_calls=None if ledger is None else ledger.calls_opaque,
        tokens=outcome.get("total_tokens"),
        cost_usd=outcome.get("cost_usd"),
        n_files_opened=sum(one.access == "opened" for one in seen.values()),
        n_files_possible=sum(one.access is None for one in seen.values()),
        problem=found.document.coverage.degraded_reason,
    )


def _file(name: str, of: dict[str, _Seen], length: int | None) -> FileRead:
    seen = list(of.values())
    by: Counter[str] = sum((one.by for one in seen), Counter())
    highest = max((last for one in seen for _, last in one.lines), default=0)
    known = length if length is not None and length >= highest else None
    shown = [one for one in seen if one.access in _ORDER[1:]]
    return FileRead(
        file=name,
        n_opened=sum(one.access == "opened" for one in seen),
        n_attached=sum(one.access == "attached" for one in seen),
        n_found=sum(one.access == "matched" for one in seen),
        n_named=sum(one.access == "listed" for one in seen),
        n_possible=sum(one.access is None for one in seen),
        n_reads=sum(one.n_reads for one in seen),
        n_lines=known,
        n_lines_shown=_lines_shown(shown, known),
        share=_share(shown, known),
        shares={s: _share([one], known) for s, one in of.items() if one.access == "opened"},
        by=dict(by.most_common()),
        agents=tuple(dict.fromkeys(agent for one in seen for agent in one.agents)),
    )


def _lines_shown(shown: Sequence[_Seen], length: int | None) -> int | None:
    """Return how many lines of a file were shown, or None where that is not known."""
    if any(one.is_whole for one in shown):
        return length
    lines = [each for one in shown for each in one.lines]
    if not lines or any(one.is_partly_unknown for one in shown):
        return None
    n, last = 0, 0
    for start, end in sorted(lines):
        n += max(end - max(start - 1, last), 0)
        last = max(last, end)
    return n


def _share(shown: Sequence[_Seen], length: int | None) -> float | None:
    if any(one.is_whole for one in shown):
        return 1.0
    n = _lines_shown(shown, length)
    return None if n is None or not length else min(n / length, 1.0)
