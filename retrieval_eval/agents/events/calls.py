"""Interprets the calls of a trace: what each tool did, and the status of each call."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.events.exposure import Exposure
from retrieval_eval.agents.traces.dialects import (
    NO_SUCH_TOOL,
    dialect_of,
    marked_name,
    saved_path,
)
from retrieval_eval.agents.traces.received import received
from retrieval_eval.agents.traces.results.base import PATH_ARGUMENTS, joined, strings, text_argument
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS
from retrieval_eval.agents.traces.results.local_files import (
    CONTENTS,
    PATCH_ARGUMENTS,
    content_lines,
    requested_range,
)
from retrieval_eval.agents.traces.results.payload import is_saved_result
from retrieval_eval.agents.traces.served import is_refusal, states_exit_status
from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.agents.traces.shell.copies import Copies
from retrieval_eval.agents.traces.shell.output import is_error_line
from retrieval_eval.agents.traces.shell.printed import printed_lines
from retrieval_eval.agents.traces.shell.session import WENT_ON, ShellEvent
from retrieval_eval.agents.traces.tools import ToolUse, doubt_of, interpret, with_plain_output
from retrieval_eval.agents.traces.untrusted import dict_of
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.model.common import CallLedger
from retrieval_eval.records import CUT_HERE, FileRef, RawTarget, Symbol, ToolCall, ToolResult, Trace

# --------------------------------------------------------------------------------------------------
# Results that a harness saved to a file because they were too large to show.

_TASK: Final = re.compile(r"Command running in background with ID: ([\w-]{1,100})")
_IS_OVER: Final = re.compile(r"<status>(?:completed|failed|killed)</status>")
_TASK_ARGUMENTS: Final = ("bash_id", "task_id", "shell_id")
_WORD: Final = re.compile(r"[^\s'\"|;&<>()`$=]{1,4096}")
_PATH: Final = re.compile(r"(?:[A-Za-z]:)?[/\\][^\s'\"|;&<>()`$]{1,1000}")
_HEAD: Final = 1400

IN_ITS_OWN_WAY: Final = "reads a saved result in its own way"


class _SavedResult(Struct, frozen=True, gc=False):
    """The call, without its result, whose result was saved to a file."""

    index: int
    call: ToolCall
    cwd: str | None


class Reread(Struct, frozen=True, gc=False):
    """A read of a saved result: the first tool's use and, for a shell, its analysis."""

    saved: _SavedResult
    use: ToolUse
    shell: ShellAnalysis | None


class _Part(Struct, frozen=True, gc=False):
    """What a call shows of a saved result, and whether that is all of it."""

    saved: _SavedResult
    text: str
    is_whole: bool


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
        self._below: dict[str, list[str]] = {}
        self._names: set[str] = set()
        self._folders: set[str] = set()
        self._by_task: dict[str, _SavedResult] = {}

    def remember(
        self,
        index: int,
        call: ToolCall,
        result: ToolResult | None,
        cwd: str | None,
        again: Reread | None = None,
    ) -> None:
        """Note the file a result was saved to; ``cwd`` is where a shell was before the call.

        What a call showed ``again`` of a saved result may itself be too large to show.
        """
        if result is None:
            return
        saved = _SavedResult(index, call, cwd) if again is None else again.saved
        path = result.saved_to or saved_path(result.text)
        if path is not None:
            self._keep(path, saved)
        started = _TASK.search(result.text[:_HEAD])
        if started is not None:
            self._by_task[started[1]] = saved

    def _keep(self, path: str, saved: _SavedResult) -> None:
        path = posixpath.normpath(path)
        if path not in self._by_path:
            for above in _folders_of(path):
                self._below.setdefault(above, []).append(path)
        self._by_path[path] = saved
        self._names.add(posixpath.basename(path))
        folder, _, name = posixpath.dirname(path).rpartition("/")
        self._folders.update({name, posixpath.basename(folder)} - {"", "tmp", "home", "root"})

    def copy(self, shell: ShellAnalysis | None) -> None:
        """Note the copies that a command made of saved results."""
        for event in shell.events if shell is not None and self._by_path else ():
            sources = [posixpath.normpath(source) for source, _ in event.sources]
            found = [self._by_path[source] for source in sources if source in self._by_path]
            for target in event.targets if len(found) == 1 == len(sources) else ():
                if target.access == "written" and target.doubt is None:
                    self._keep(target.path, found[0])

    def is_read_by(self, use: ToolUse) -> bool:
        """Return whether a shell command names a saved result."""
        paths = _PATH.findall(use.command or "") if self._by_path else ()
        named = {posixpath.normpath(path.rstrip("*")) for path in paths}
        return any(path in self._by_path or path in self._below for path in named)

    def others(self, targets: Iterable[RawTarget], cwd: str | None) -> tuple[RawTarget, ...]:
        """Return targets without the files of saved results, which are no files of a repository."""
        return tuple(target for target in targets if not self._is_saved(target.path, cwd))

    def _is_saved(self, path: str, cwd: str | None) -> bool:
        if path.rpartition("/")[2] not in self._names:
            return is_saved_result(path)
        return posixpath.normpath(joined(cwd, path)) in self._by_path or is_saved_result(path)

    def reread(self, call: ToolCall, use: ToolUse, cwd: str | None) -> Reread | None:
        """Return what a call shows of a saved result; ``cwd`` is where its shell was before it.

        None for a call that reads none, that did not run, or whose output need not consist of
        lines of the saved file.
        """
        part = self._part(call, use, cwd)
        if part is None or call.result is None:
            return None
        first = part.saved.call
        shown = ToolResult(part.text, is_truncated=call.result.is_truncated)
        again = interpret(replace(first, result=shown))
        shell = None
        if again.command is not None:
            session = ShellSession(part.saved.cwd)
            shell = session.analyse(again.command, part.text, cwd=again.command_cwd)
        if not part.is_whole:
            again = replace(again, targets=_of_a_part(again.targets, again.targets))
            shell = None if shell is None else _analysis_of_a_part(shell)
        return Reread(part.saved, again, shell)

    def _part(self, call: ToolCall, use: ToolUse, cwd: str | None) -> _Part | None:
        result = call.result
        if result is None or result.is_unfinished or (use.is_error and use.command is None):
            return None
        if not use.is_retrieval:
            return self._of_a_task(call, result)
        if use.command is not None:
            return self._printed(use, result, cwd)
        path = _named_file(call.arguments)
        place = posixpath.normpath(joined(call.cwd, path)) if path else ""
        saved = self._by_path.get(place)
        if saved is None and path and use.category != "file_read":
            place, saved = self._inside(place, result.text)
        if saved is None or path is None:
            return None
        if use.category == "file_read":
            lines, is_whole = content_lines(result.text)
            is_asked = requested_range(call.arguments) is None
            return _Part(saved, "\n".join(lines), is_whole and is_asked and _is_whole(result))
        return _Part(saved, "\n".join(_hits(result.text, place)), is_whole=False)

    def _inside(self, folder: str, text: str) -> tuple[str, _SavedResult | None]:
        """Return the one saved result below a folder that the answer to a search of it names."""
        found = [path for path in self._below.get(folder, ()) if posixpath.basename(path) in text]
        return (found[0], self._by_path[found[0]]) if len(found) == 1 else (folder, None)

    def _of_a_task(self, call: ToolCall, result: ToolResult) -> _Part | None:
        saved = self._by_task.get(text_argument(call.arguments, _TASK_ARGUMENTS) or "")
        if saved is None:
            return None
        is_over = _IS_OVER.search(result.text[:_HEAD]) is not None and not result.is_truncated
        if is_over:
            self.fetched.add(saved.index)
        return _Part(saved, _fetched(result.text), is_whole=True)

    def _printed(self, use: ToolUse, result: ToolResult, cwd: str | None) -> _Part | None:
        words = _WORD.findall(use.command or "") if self._names else ()
        named = {posixpath.basename(word.rstrip("/")) for word in words}
        named |= {posixpath.basename(posixpath.dirname(word)) for word in words}
        if named.isdisjoint(self._names) and named.isdisjoint(self._folders):
            return None
        folder = joined(cwd, use.command_cwd) if use.command_cwd is not None else cwd
        found = printed_lines(
            use.command or "", result.text, self._by_path, folder, has_failed=use.is_error
        )
        if found is None:
            return None
        is_whole = found.is_beginning and found.is_end and _is_whole(result)
        return _Part(self._by_path[found.path], "\n".join(found.lines), is_whole)


_DEEPEST: Final = 3


def _folders_of(path: str) -> list[str]:
    """Return the folders that lie next above a file."""
    found = []
    for _ in range(_DEEPEST):
        path = posixpath.dirname(path)
        found.append(path)
    return found


def _is_whole(result: ToolResult) -> bool:
    return not result.is_truncated and CUT_HERE not in result.text


def _named_file(arguments: Mapping[str, Any]) -> str | None:
    """Return the one file that a call names."""
    several = strings(arguments.get("paths"))
    named = text_argument(arguments, (*PATH_ARGUMENTS, *FOLDER_ARGUMENTS, "paths"))
    return named or (several[0] if len(several) == 1 else None)


def _analysis_of_a_part(shell: ShellAnalysis) -> ShellAnalysis:
    everything = [target for event in shell.events for target in event.targets]
    events = tuple(
        replace(event, targets=_of_a_part(event.targets, everything)) for event in shell.events
    )
    return replace(shell, events=events)


def _of_a_part(
    targets: Iterable[RawTarget], everything: Iterable[RawTarget]
) -> tuple[RawTarget, ...]:
    """Return what a part of a result shows.

    Which lines of a file that was printed these are is not known; and where several files were
    touched, not of which they are.
    """
    is_sole = len({target.path for target in everything}) == 1
    return tuple(
        t
        if t.access != "opened"
        else replace(
            t, lines=None, is_whole=False, doubt=t.doubt or (None if is_sole else "cut_result")
        )
        for t in targets
    )


_SUMMARY: Final = re.compile(
    r"(?:Found \d{1,9} |No (?:matches|files|results)|\[Showing |\(Results |Showing \d)[^\n]*"
)
_LABELLED: Final = re.compile(r"\s{0,4}(?:Line |L)(\d{1,9}): ?")
_NUMBERED: Final = re.compile(r"\s{0,9}(\d{1,9})[:-]")


def _hits(text: str, path: str) -> list[str]:
    """Return the lines of a file that a search of it found, without what stands before them."""
    name = posixpath.basename(path)
    lines, are_labelled = [], False
    for full in text.split("\n"):
        line = full.rstrip("\r")
        if line in ("", "-", "--", "---", CUT_HERE) or _SUMMARY.fullmatch(line):
            continue
        headed = line.removeprefix("File: ").rstrip(":")
        if headed in (path, name) or (headed and path.endswith(f"/{headed}")):
            continue
        for opening in (path, f"./{name}", name):
            if line.startswith((f"{opening}:", f"{opening}-")):
                line = line[len(opening) + 1 :]
                break
        label = _LABELLED.match(line)
        are_labelled = are_labelled or label is not None
        lines.append(line if label is None else line[label.end() :])
    numbers = [_NUMBERED.match(line) for line in lines]
    found = [number for number in numbers if number is not None]
    if are_labelled or len(found) < len(lines) or not _count_up(found):
        return lines
    return [line[number.end() :] for line, number in zip(lines, found, strict=True)]


def _count_up(found: list[re.Match[str]]) -> bool:
    numbers = [int(number[1]) for number in found]
    return numbers == sorted(set(numbers))


# --------------------------------------------------------------------------------------------------
# Interprets the calls of a trace: what each tool did, and the status of each call.

_MOST_OPAQUE_REASONS = 50
_LONGEST_REASON = 200
_MOST_TOOLS = 200
_LONGEST_TOOL = 200
_SHORTEST_LIMIT = 2000
"""Characters of an answer that every known harness shows whole."""

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
        self._harness = harness
        self.exposure = Exposure(fix_lines, [file.path for file in edit_files])
        self._keeps_shell = dialect is None or dialect.keeps_shell
        self._knows_cuts = dialect is not None and bool(dialect.cut)
        self._knows_ends = dialect is not None and bool(dialect.finished)
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
        answered = call.result
        is_known = answered is None or NO_SUCH_TOOL.match(answered.text[:200]) is None
        marked = marked_name(call.name, self._harness) if is_known else call.name
        call = with_plain_output(replace(call, name=marked) if marked != call.name else call)
        if call.result is not None:
            call = replace(call, result=self._as_known(received(call.result, call.arguments)))
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
        use = self._of_copies(call, use, use.command_cwd or call.cwd or self._cwd)
        use, log = _of_log(session, call, use)
        session.learn(use.targets)
        shell = log or _shell(session, call, use)
        self._saved.copy(shell)
        folder = use.command_cwd or call.cwd or self._cwd
        again = self._saved.reread(call, use, before)
        if again is not None:
            use = replace(
                use,
                is_retrieval=True,
                targets=again.use.targets,
                is_opaque=again.use.is_opaque,
            )
            shell = again.shell or _writes_of(shell)
            folder = again.use.command_cwd or folder
        else:
            targets = self._saved.others(use.targets, folder)
            use = use if len(targets) == len(use.targets) else replace(use, targets=targets)
            shell = self._without_saved(shell)
            is_silent = call.result is not None and not call.result.text.strip()
            if shell is not None and not is_silent and self._saved.is_read_by(use):
                # What it shows of the saved result may be of any file.
                anything = RawTarget("*", "matched", doubt="opaque_call", is_pattern=True)
                shown = ShellEvent("saved result", "code_search", (anything,))
                opaque = (*shell.opaque, IN_ITS_OWN_WAY)
                shell = replace(shell, opaque=opaque, events=(*shell.events, shown))
        commands = shell.events if shell is not None else ()
        for target in (*use.targets, *(t for c in commands for t in c.targets)):
            if target.access == "written":
                self.exposure.wrote(target.path)
        kept = replace(call, result=None) if call.result is not None else call
        self._saved.remember(index, kept, answered, before, again)
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

    def _as_known(self, result: ToolResult) -> ToolResult:
        """Return a result with what is not known of its harness left open.

        Without a dialect that says how answers are cut, no long one is taken for a whole one; and
        what a failed call printed may be the message of a call that did not run.
        """
        if not self._knows_cuts and len(result.text) > _SHORTEST_LIMIT:
            result = replace(result, is_truncated=True)
        if self._knows_ends or not result.is_error or result.is_unfinished or result.doubt:
            return result
        if states_exit_status(result.text, dict_of(result.structured)) or _names_an_error(result):
            return result
        return replace(result, doubt="may_have_failed")

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

    def _without_saved(self, shell: ShellAnalysis | None) -> ShellAnalysis | None:
        """Return what a command did to other files than those of saved results."""
        if shell is None:
            return None
        events = []
        for event in shell.events:
            targets = self._saved.others(event.targets, None)
            events += [replace(event, targets=targets)] if targets else []
        return replace(shell, events=tuple(events))

    def _of_copies(self, call: ToolCall, use: ToolUse, folder: str | None) -> ToolUse:
        """Return what a tool did, with the files whose copies it showed."""
        for target in use.targets:
            if target.access == "written":
                if target.doubt is None:
                    self._copies.overwrite(target.path, is_edit=True)
                text = text_argument(call.arguments, CONTENTS) or _added(call)
                if text is not None or target.is_new:
                    self._copies.keep_text(
                        joined(folder, target.path), text or "", is_added=not target.is_new
                    )
        targets = self._copies.with_origins(use.targets)
        return use if len(targets) == len(use.targets) else replace(use, targets=targets)

    def _defined(self, call: ToolCall, use: ToolUse) -> tuple[Symbol, ...]:
        if call.result is None or not use.is_retrieval:
            return ()
        text = call.result.text
        return tuple(s for s, found in self._definitions.items() if found.is_in(text))


def _added(call: ToolCall) -> str | None:
    """Return the lines that a patch adds, or the text that an edit puts in."""
    patch = text_argument(call.arguments, PATCH_ARGUMENTS)
    if patch is None:
        return text_argument(call.arguments, ("new_string", "new_str", "newString", "new_text"))
    return "\n".join(line[1:] for line in patch.split("\n") if line.startswith("+"))


_MOST_LINES: Final = 200


def _names_an_error(result: ToolResult) -> bool:
    """Return whether a line of an answer is a command's own message: then the command ran."""
    lines = result.text.split("\n")
    return any(map(is_error_line, (*lines[:_MOST_LINES], *lines[-_MOST_LINES:])))


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


def _writes_of(shell: ShellAnalysis | None) -> ShellAnalysis | None:
    """Return what a command wrote that else printed lines of a saved result alone."""
    if shell is None:
        return None
    events = tuple(e for e in shell.events if all(t.access == "written" for t in e.targets))
    return replace(shell, events=events, opaque=())


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
        is_stopped=result is not None and result.is_stopped,
        doubt=doubt_of(result),
        cwd=use.command_cwd,
    )


def _of_log(
    session: ShellSession, call: ToolCall, use: ToolUse
) -> tuple[ToolUse, ShellAnalysis | None]:
    """Return what a tool showed of a file that a command wrote, which is what that printed."""
    if use.category != "file_read" or len(use.targets) != 1 or call.result is None:
        return use, None
    path = use.targets[0].path
    if not session.wrote_log(path):
        return use, None
    text = "\n".join(content_lines(call.result.text)[0])
    return replace(use, targets=()), session.read_log(path, text)


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
