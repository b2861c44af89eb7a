"""The calls of a trace, interpreted: what each tool did, and what became of each call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from retrieval_eval.events.saved import SavedResults
from retrieval_eval.records import RawTarget, ToolCall, Trace
from retrieval_eval.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.traces.tools import ToolUse, interpret

_MOST_OPAQUE_REASONS = 50
_LONGEST_REASON = 200


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
class ReadCall:
    """One call with what its tool did and, for a shell, what its command did.

    ``cwd`` is the folder that relative paths of the tool's own targets are relative to.
    """

    index: int
    call: ToolCall
    use: ToolUse
    shell: ShellAnalysis | None
    cwd: str | None

    @property
    def is_opaque(self) -> bool:
        """Whether files may have been touched that could not be resolved."""
        return self.use.is_opaque or bool(self.shell and self.shell.opaque)

    @property
    def fate(self) -> str:
        """The part of the ledger the call counts in."""
        if not self.use.is_retrieval:
            return "not_retrieval"
        if self.call.result is None:
            return "without_result"
        if self.use.is_error:
            return "error"
        return "opaque" if self.is_opaque else "resolved"

    def raw_targets(self) -> Iterator[tuple[RawTarget, str | None]]:
        """Yield every file the call touched with the folder its path is relative to."""
        for target in self.use.targets:
            yield target, self.cwd
        for command in self.shell.events if self.shell is not None else ():
            for target in command.targets:
                yield target, None


def read_calls(trace: Trace) -> list[ReadCall]:
    """Interpret every call of a trace; each agent of the trial has a shell of its own.

    A call that reads the saved result of an earlier one shows a further part of that result.
    """
    shells: dict[str, ShellSession] = {}
    saved = SavedResults()
    reads = []
    for index, call in enumerate(trace.calls):
        use = interpret(call)
        agent = call.parent_id or ("sub-agent" if call.is_subagent else "main")
        session = shells.get(agent) or shells.setdefault(agent, ShellSession(trace.cwd))
        before = session.cwd
        shell = _shell(session, call, use)
        folder = use.command_cwd or call.cwd or trace.cwd
        again = saved.reread(call, use)
        if again is not None:
            use = replace(use, targets=again.use.targets, is_opaque=again.use.is_opaque)
            shell = again.shell or shell
            folder = again.use.command_cwd or folder
        elif shell is not None and saved.is_read_by(use):
            shell = replace(shell, opaque=(*shell.opaque, "reads a saved result in its own way"))
        saved.remember(call, before)
        reads.append(ReadCall(index, call, use, shell, folder))
    return reads


def _shell(session: ShellSession, call: ToolCall, use: ToolUse) -> ShellAnalysis | None:
    if use.command is None:
        return None
    if call.result is not None and call.result.is_unfinished:
        return ShellAnalysis()
    output = call.result.text if call.result is not None else ""
    return session.analyse(use.command, output, is_error=use.is_error, cwd=use.command_cwd)


def count(reads: list[ReadCall]) -> Ledger:
    """Return the ledger of a trial's calls."""
    fates: Counter[str] = Counter(read.fate for read in reads)
    housekeeping = Counter(r.call.name for r in reads if not r.use.is_retrieval)
    shells = [r.shell for r in reads if r.shell is not None]
    reasons = Counter(reason[:_LONGEST_REASON] for shell in shells for reason in shell.opaque)
    mcp = [r for r in reads if r.use.is_mcp]
    return Ledger(
        calls_seen=len(reads),
        calls_not_retrieval=fates["not_retrieval"],
        calls_without_result=fates["without_result"],
        calls_error=fates["error"],
        calls_opaque=fates["opaque"],
        calls_resolved=fates["resolved"],
        subagent_calls=sum(r.call.is_subagent for r in reads),
        shell_calls=sum(r.use.command is not None for r in reads),
        shell_opaque=sum(bool(shell.opaque) for shell in shells),
        shell_events=sum(len(shell.events) for shell in shells),
        mcp_calls=len(mcp),
        mcp_calls_ok=sum(r.fate in {"resolved", "opaque"} for r in mcp),
        not_retrieval_by_tool=tuple(sorted(housekeeping.items())),
        opaque_reasons=_most_frequent(reasons),
    )


def _most_frequent(reasons: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Return the reasons that occur most, by name; all further ones are counted as one."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    kept, rest = ordered[:_MOST_OPAQUE_REASONS], ordered[_MOST_OPAQUE_REASONS:]
    further = [(f"{len(rest)} further reasons", sum(n for _, n in rest))] if rest else []
    return (*sorted(kept), *further)
