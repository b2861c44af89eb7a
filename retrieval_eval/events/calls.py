"""Interprets the calls of a trace: what each tool did, and the status of each call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.events.exposure import Exposure
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.model.common import CallLedger
from retrieval_eval.records import FileRef, RawTarget, Symbol, ToolCall, ToolResult, Trace
from retrieval_eval.traces.dialects import dialect_of
from retrieval_eval.traces.received import received
from retrieval_eval.traces.results.base import PATH_ARGUMENTS, joined, text_argument
from retrieval_eval.traces.results.local_files import without_numbers
from retrieval_eval.traces.served import is_refusal
from retrieval_eval.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.traces.shell.copies import Copies
from retrieval_eval.traces.shell.session import WENT_ON
from retrieval_eval.traces.tools import ToolUse, doubt_of, interpret, with_plain_output

_MOST_OPAQUE_REASONS = 50
_LONGEST_REASON = 200
_MOST_TOOLS = 200
_LONGEST_TOOL = 200
PER_TARGET = 300
"""Bytes that a file of a call takes in memory, about."""


class ReadCall(Struct, frozen=True, gc=False):
    """One call with what its tool did and, for a shell, what its command did.

    ``call`` is without its result, which may be large: what is needed of it is read. ``cwd`` is the
    folder that relative paths of the tool's own targets are relative to. ``is_refused``: the call
    failed because it did not run or did not finish. ``defined`` are the expected symbols whose
    definition the result may show.
    """

    index: int
    call: ToolCall
    use: ToolUse
    shell: ShellAnalysis | None
    cwd: str | None
    has_result: bool = True
    is_refused: bool = False
    defined: tuple[Symbol, ...] = ()

    @property
    def is_opaque(self) -> bool:
        """Whether files may have been touched that could not be resolved."""
        return self.use.is_opaque or bool(self.shell and self.shell.opaque)

    @property
    def status(self) -> str:
        """The status the call is counted under."""
        if not self.use.is_retrieval:
            return "not_retrieval"
        if not self.has_result:
            return "without_result"
        if self.use.is_error:
            return "error"
        return "opaque" if self.is_opaque else "resolved"

    @property
    def n_targets(self) -> int:
        """How many files the call touched, as often as it names them."""
        commands = self.shell.events if self.shell is not None else ()
        return len(self.use.targets) + sum([len(command.targets) for command in commands])

    def raw_targets(self) -> Iterator[tuple[RawTarget, str | None]]:
        """Yield every file the call touched with the folder its path is relative to."""
        for target in self.use.targets:
            yield target, self.cwd
        for command in self.shell.events if self.shell is not None else ():
            for target in command.targets:
                yield target, None


class CallReducer:
    """Interprets the calls of a trace, one after the other, and keeps no result.

    Each agent of a trial has a shell of its own. A call that reads the saved result of an earlier
    call shows a further part of that result.

    Parameters
    ----------
    harness, cwd
        The harness and the folder that the trace states.
    symbols
        Expected symbols whose definitions are looked for in the results.
    fix_lines, edit_files
        The lines of the reference change, which are looked for too, and the files that it changes.

    Attributes
    ----------
    exposure
        Which call showed the reference change.
    """

    def __init__(
        self,
        harness: str | None,
        cwd: str | None,
        *,
        symbols: Iterable[Symbol] = (),
        fix_lines: Sequence[str] = (),
        edit_files: Sequence[FileRef] = (),
    ) -> None:
        dialect = dialect_of(harness)
        self.exposure = Exposure(fix_lines, [file.path for file in edit_files])
        self._keeps_shell = dialect is None or dialect.keeps_shell
        self._cwd = cwd
        self._copies = Copies()
        self._shells: dict[str, ShellSession] = {}
        self._saved = SavedResults()
        self._definitions = {symbol: Definition(symbol.symbol) for symbol in symbols}
        self._taken = 0

    def take(self, call: ToolCall) -> ReadCall:
        """Return the next call with what it did."""
        index, self._taken = self._taken, self._taken + 1
        self.exposure.take(index, call)
        call = with_plain_output(call)
        if call.result is not None:
            call = replace(call, result=received(call.result))
        use = interpret(call)
        if use.command is not None:
            self.exposure.run(index, use.command, call.result)
        agent = call.parent_id or ("sub-agent" if call.is_subagent else "main")
        session = self._shells.get(agent)
        if session is None:
            session = self._shells[agent] = ShellSession(self._cwd, self._copies)
        if not self._keeps_shell:
            session.restart(joined(self._cwd, call.cwd or self._cwd or ""))
        before = session.cwd
        use = self._of_copies(use)
        session.learn(use.targets)
        shell = _shell(session, call, use)
        folder = use.command_cwd or call.cwd or self._cwd
        again = self._saved.reread(call, use)
        if again is not None:
            use = replace(
                use,
                is_retrieval=True,
                targets=again.use.targets,
                is_opaque=again.use.is_opaque,
            )
            shell = again.shell or shell
            folder = again.use.command_cwd or folder
        elif shell is not None and self._saved.is_read_by(use):
            shell = replace(shell, opaque=(*shell.opaque, "reads a saved result in its own way"))
        kept = replace(call, result=None) if call.result is not None else call
        self._saved.remember(index, kept, call.result, before)
        return ReadCall(
            index,
            kept,
            use,
            shell,
            folder,
            has_result=call.result is not None,
            is_refused=_is_refused(call, use),
            defined=self._defined(call, use),
        )

    def take_all(self, calls: Iterable[ToolCall]) -> Sequence[ReadCall]:
        """Return all calls with what they did.

        A command in the background has shown nothing itself once its whole output was fetched.
        """
        reads: Spooled[ReadCall] = Spooled(ReadCall)
        for call in calls:
            read = self.take(call)
            reads.append(read, PER_TARGET * read.n_targets)
        for index in self._saved.fetched:
            shell = reads[index].shell
            if shell is not None:
                reads[index] = replace(reads[index], shell=_without_background(shell))
        return reads.done()

    def _of_copies(self, use: ToolUse) -> ToolUse:
        """Return what a tool did, with the files whose copies it showed."""
        for target in use.targets:
            if target.access == "written" and target.doubt is None:
                self._copies.overwrite(target.path, is_edit=True)
        targets = self._copies.with_origins(use.targets)
        return use if len(targets) == len(use.targets) else replace(use, targets=targets)

    def _defined(self, call: ToolCall, use: ToolUse) -> tuple[Symbol, ...]:
        if call.result is None or not use.is_retrieval:
            return ()
        text = call.result.text
        return tuple(s for s, found in self._definitions.items() if found.is_in(text))


def read_calls(trace: Trace) -> Sequence[ReadCall]:
    """Interpret every call of a trace, as :class:`CallReducer` does."""
    reducer = CallReducer(trace.harness, trace.cwd)
    return reducer.take_all(trace.calls)


def _without_background(shell: ShellAnalysis) -> ShellAnalysis:
    """Return what a command did without the files that its output may have shown later."""
    events = []
    for event in shell.events:
        kept = tuple(target for target in event.targets if target.doubt != "background")
        events += [replace(event, targets=kept)] if kept else []
    opaque = tuple(reason for reason in shell.opaque if reason != WENT_ON)
    return replace(shell, events=tuple(events), opaque=opaque)


def _is_refused(call: ToolCall, use: ToolUse) -> bool:
    result = call.result
    if result is None or not use.is_error:
        return False
    return result.is_unfinished or is_refusal(result.text)


def _shell(session: ShellSession, call: ToolCall, use: ToolUse) -> ShellAnalysis | None:
    if use.command is None:
        return None
    if call.result is not None and call.result.is_unfinished:
        return ShellAnalysis()
    result = call.result
    return session.analyse(
        use.command,
        result.text if result is not None else None,
        is_error=use.is_error,
        is_truncated=result is not None and result.is_truncated,
        doubt=doubt_of(result),
        cwd=use.command_cwd,
    )


_KEYWORDS: Final = (
    "def|class|func|function|fn|fun|sub|module|interface|struct|trait|enum|type|const|let|var|val"
    "|object|impl|macro_rules!|define|namespace|record|protocol"
)


class Definition:
    """A line that defines a symbol, whatever the language.

    The line names it behind a keyword such as ``def``, or with parameters before a body.

    Examples
    --------
    >>> Definition("Reader.load").is_in("def load(self):"), Definition("load").is_in("load(1)")
    (True, False)
    """

    def __init__(self, symbol: str) -> None:
        self._name = re.split(r"::|[.#]", symbol.split("(", 1)[0].strip())[-1]
        name = re.escape(self._name)
        keyword = rf"\b(?:{_KEYWORDS})[ \t]{{1,8}}(?:\([^)\n]{{0,80}}\)[ \t]{{0,4}})?{name}\b"
        body = rf"\b{name}[ \t]{{0,4}}\([^;\n]{{0,300}}\)[^;\n]{{0,80}}(?:\{{|=>)"
        self._line = re.compile(f"{keyword}|{body}")

    def is_in(self, text: str) -> bool:
        """Return whether a text holds such a line."""
        return self._name in text and self._line.search(text) is not None


def count(reads: Sequence[ReadCall]) -> CallLedger:
    """Return the counts of a trial's calls by status.

    ``calls_seen`` is the sum of ``calls_not_retrieval``, ``calls_without_result``,
    ``calls_error``, ``calls_opaque`` and ``calls_resolved``; a call counts in the first of
    these that fits.
    """
    statuses: Counter[str] = Counter(read.status for read in reads)
    housekeeping = Counter(r.call.name for r in reads if not r.use.is_retrieval)
    n_opaque, n_events = 0, 0
    reasons: Counter[str] = Counter()
    for shell in (r.shell for r in reads if r.shell is not None):
        n_opaque += bool(shell.opaque)
        n_events += sum(event.is_certain for event in shell.events)
        reasons.update(reason[:_LONGEST_REASON] for reason in shell.opaque)
    mcp: Counter[str] = Counter(r.status for r in reads if r.use.is_mcp)
    return CallLedger(
        calls_seen=len(reads),
        calls_not_retrieval=statuses["not_retrieval"],
        calls_without_result=statuses["without_result"],
        calls_error=statuses["error"],
        calls_refused=sum(r.status == "error" and r.is_refused for r in reads),
        calls_opaque=statuses["opaque"],
        calls_resolved=statuses["resolved"],
        subagent_calls=sum(r.call.is_subagent for r in reads),
        shell_calls=sum(r.use.command is not None for r in reads),
        shell_opaque=n_opaque,
        shell_events=n_events,
        mcp_calls=mcp.total(),
        mcp_calls_ok=mcp["resolved"] + mcp["opaque"],
        not_retrieval_by_tool=dict(sorted(housekeeping.items())),
        opaque_reasons=_most_frequent(reasons),
        tools=_use((r.call.name, r) for r in reads),
        mcp_servers=_use((r.use.server, r) for r in reads if r.use.is_mcp),
    )


def _use(named: Iterable[tuple[str | None, ReadCall]]) -> dict[str, tuple[int, int]]:
    """Return calls by name, and how many of them were answered; of many names the commonest."""
    calls: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for name, read in named:
        key = (name or "")[:_LONGEST_TOOL]
        calls[key] += 1
        answered[key] += read.has_result and not read.use.is_error
    kept = sorted(calls, key=lambda name: (-calls[name], name))[:_MOST_TOOLS]
    return {name: (calls[name], answered[name]) for name in sorted(kept)}


def _most_frequent(reasons: Counter[str]) -> dict[str, int]:
    """Return the most frequent reasons by name; all others are counted together."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    kept, rest = ordered[:_MOST_OPAQUE_REASONS], ordered[_MOST_OPAQUE_REASONS:]
    further = [(f"{len(rest)} further reasons", sum(n for _, n in rest))] if rest else []
    return dict([*sorted(kept), *further])


# --------------------------------------------------------------------------------------------------
# Results that a harness saved to a file because they were too large to show.
#
# The agent sees a preview and the file's path, and reads the file afterwards. What it then sees is
# a further part of the first tool's result, not a file of a repository.

_NOTICE: Final = re.compile(r"<persisted-output>[^/]{0,200}saved to: (/\S{1,1000})")
_BACKGROUND: Final = re.compile(
    r"Command running in background with ID: ([\w-]{1,100})"
    r"(?:\.? Output is being written to: (/[^\s]{1,1000}))?"
)
_IS_OVER: Final = re.compile(r"<status>(?:completed|failed|killed)</status>")
_TASK_ARGUMENTS: Final = ("bash_id", "task_id", "shell_id")
_PLAIN: Final = re.compile(r"\s*(?:cat|head|tail|sed|grep|egrep|fgrep)\s[^|;&<>`$\n]{1,2000}")
_PATH: Final = re.compile(r"/[^\s'\"|;&<>()`$]{1,1000}")
_CHANGES_LINES: Final = re.compile(
    r"\s*(?:cat|[ef]?grep)\s(?:[^\n]{0,2000}\s)?-(?:-|[A-Za-z]{0,20}[nbclLHoZ])"
)
"""Options that number, count or cut the lines that are printed."""
_HEAD: Final = 1400


class _SavedResult(Struct, frozen=True, gc=False):
    """The call, without its result, whose result was saved to a file."""

    index: int
    call: ToolCall
    cwd: str | None


class Reread(Struct, frozen=True, gc=False):
    """A read of a saved result: the first tool's use and, for a shell, its analysis."""

    use: ToolUse
    shell: ShellAnalysis | None


def _fetched(text: str) -> str:
    """Return what an answer about a background command holds of its output."""
    for tag in ("output", "stdout"):
        _, opening, rest = text.partition(f"<{tag}>")
        if opening:
            inner, closing, _ = rest.rpartition(f"</{tag}>")
            return (inner if closing else rest).strip("\n")
    return ""


class SavedResults:
    """The saved results of a trial, by the path of their file.

    Attributes
    ----------
    fetched
        The calls in the background whose output was fetched to its end.
    """

    def __init__(self) -> None:
        self.fetched: set[int] = set()
        self._by_path: dict[str, _SavedResult] = {}
        self._by_task: dict[str, _SavedResult] = {}

    def remember(
        self, index: int, call: ToolCall, result: ToolResult | None, cwd: str | None
    ) -> None:
        """Note the file a result was saved to; ``cwd`` is where a shell was before the call."""
        text = result.text[:_HEAD] if result is not None else ""
        found = _NOTICE.match(text.lstrip())
        if found is not None:
            self._by_path[found[1]] = _SavedResult(index, call, cwd)
        started = _BACKGROUND.search(text)
        if started is not None:
            self._by_task[started[1]] = _SavedResult(index, call, cwd)
            if started[2]:
                self._by_path[started[2].rstrip(".")] = _SavedResult(index, call, cwd)

    def is_read_by(self, use: ToolUse) -> bool:
        """Return whether a shell command names a saved result."""
        return use.command is not None and bool(self._named_in(use.command))

    def reread(self, call: ToolCall, use: ToolUse) -> Reread | None:
        """Return what a call shows of a saved result.

        None for a call that reads none, that failed, or whose output need not consist of lines of
        the saved file.
        """
        saved = self._read(call, use)
        if saved is None or call.result is None or use.is_error:
            return None
        text = call.result.text if use.command else without_numbers(call.result.text)
        if not use.is_retrieval:
            if _IS_OVER.search(text[:_HEAD]) and not call.result.is_truncated:
                self.fetched.add(saved.index)
            text = _fetched(text)
        shown = ToolResult(text, is_truncated=call.result.is_truncated)
        again = interpret(replace(saved.call, result=shown))
        shell = None
        if again.command is not None:
            session = ShellSession(saved.cwd)
            shell = session.analyse(again.command, text, cwd=again.command_cwd)
        return Reread(again, shell)

    def _read(self, call: ToolCall, use: ToolUse) -> _SavedResult | None:
        if not use.is_retrieval:
            return self._by_task.get(text_argument(call.arguments, _TASK_ARGUMENTS) or "")
        if use.command is None:
            path = text_argument(call.arguments, PATH_ARGUMENTS)
            return self._by_path.get(path) if path and use.category == "file_read" else None
        is_plain = _PLAIN.fullmatch(use.command) and not _CHANGES_LINES.match(use.command)
        named = self._named_in(use.command) if is_plain else []
        return named[0] if len(named) == 1 else None

    def _named_in(self, command: str) -> list[_SavedResult]:
        return [self._by_path[p] for p in _PATH.findall(command) if p in self._by_path]
