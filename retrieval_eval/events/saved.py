"""Results that a harness saved to a file because they were too large to show.

The agent sees a preview and the file's path, and reads the file afterwards. What it then sees is
a further part of the first tool's result, not a file of a repository.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.results.base import PATH_ARGUMENTS, text_argument
from retrieval_eval.traces.results.local_files import without_numbers
from retrieval_eval.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.traces.tools import ToolUse, interpret

_NOTICE: Final = re.compile(r"<persisted-output>[^/]{0,200}saved to: (/\S{1,1000})")
_PLAIN: Final = re.compile(r"\s*(?:cat|head|tail|sed|grep|egrep|fgrep)\s[^|;&<>`$\n]{1,2000}")
_PATH: Final = re.compile(r"/[^\s'\"|;&<>()`$]{1,1000}")
_CHANGES_LINES: Final = re.compile(
    r"\s*(?:cat|[ef]?grep)\s(?:[^\n]{0,2000}\s)?-(?:-|[A-Za-z]{0,20}[nbclLHoZ])"
)
"""Options that number, count or cut the lines that are printed."""
_HEAD: Final = 1400


@dataclass(frozen=True, slots=True)
class _Saved:
    call: ToolCall
    cwd: str | None


@dataclass(frozen=True, slots=True)
class Again:
    """What reading a saved result shows: the first tool's use and, for a shell, its analysis."""

    use: ToolUse
    shell: ShellAnalysis | None


class SavedResults:
    """The saved results of a trial, by the path of their file."""

    def __init__(self) -> None:
        self._by_path: dict[str, _Saved] = {}

    def remember(self, call: ToolCall, cwd: str | None) -> None:
        """Note the file a result was saved to; ``cwd`` is where a shell was before the call."""
        text = call.result.text[:_HEAD] if call.result is not None else ""
        found = _NOTICE.match(text.lstrip())
        if found is not None:
            self._by_path[found[1]] = _Saved(call, cwd)

    def is_read_by(self, use: ToolUse) -> bool:
        """Return whether a shell command names a saved result."""
        return use.command is not None and bool(self._named_in(use.command))

    def reread(self, call: ToolCall, use: ToolUse) -> Again | None:
        """Return what a call shows of a saved result.

        None for a call that reads none, that failed, or whose output need not consist of lines of
        the saved file.
        """
        saved = self._read(call, use)
        if saved is None or call.result is None or use.is_error:
            return None
        text = call.result.text if use.command else without_numbers(call.result.text)
        shown = ToolResult(text, is_truncated=call.result.is_truncated)
        again = interpret(replace(saved.call, result=shown))
        shell = None
        if again.command is not None:
            session = ShellSession(saved.cwd)
            shell = session.analyse(again.command, text, cwd=again.command_cwd)
        return Again(again, shell)

    def _read(self, call: ToolCall, use: ToolUse) -> _Saved | None:
        if use.command is None:
            path = text_argument(call.arguments, PATH_ARGUMENTS)
            return self._by_path.get(path) if path and use.category == "file_read" else None
        is_plain = _PLAIN.fullmatch(use.command) and not _CHANGES_LINES.match(use.command)
        named = self._named_in(use.command) if is_plain else []
        return named[0] if len(named) == 1 else None

    def _named_in(self, command: str) -> list[_Saved]:
        return [self._by_path[p] for p in _PATH.findall(command) if p in self._by_path]
