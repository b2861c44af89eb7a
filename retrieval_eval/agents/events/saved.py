"""Results that a harness saved to a file because they were too large to show.

The agent sees a part and the file's path, and then prints, views or searches the file. What it
sees of it is a further part of the first tool's result, not a file of a repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import saved_path
from retrieval_eval.agents.traces.results.base import PATH_ARGUMENTS, joined, strings, text_argument
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS
from retrieval_eval.agents.traces.results.local_files import content_lines, requested_range
from retrieval_eval.agents.traces.results.payload import is_saved_result
from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.agents.traces.shell.printed import printed_lines
from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

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
