"""Whether an agent saw the answer, the reference change itself, before it wrote any of it.

Agents find the fix in the history of the repository, in an upstream pull request or in the folders
of the task, and look at it or take it over unseen. A recall reached that way is not retrieval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from retrieval_eval.agents.events.applied import Applied
from retrieval_eval.records import ToolCall, ToolResult

N_LINES: Final = 3
"""Lines of the reference change in one result that make it an exposure."""

_FEWEST: Final = 2
_DEEPEST: Final = 6


class Exposure:
    """Looks through the calls of a trial, one after the other, for the reference change.

    A result shows it when it holds three of its lines, or all of a change of two. Lines that the
    agent wrote before, in the arguments of any call, do not count.

    Parameters
    ----------
    fix_lines
        The lines that only the reference change adds.
    files
        The paths of the files that it changes.

    Attributes
    ----------
    found_at
        The index of the first call that showed it or took it over, or None.

    Examples
    --------
    >>> from retrieval_eval.records import ToolResult
    >>> exposure = Exposure(["limit = read_limit(config)", "if size > limit: raise TooLarge(size)"])
    >>> shown = "+limit = read_limit(config)" + chr(10) + "+if size > limit: raise TooLarge(size)"
    >>> exposure.take(0, ToolCall("1", "Bash", {"command": "git show HEAD~1"}, ToolResult(shown)))
    >>> exposure.found_at
    0
    """

    def __init__(self, fix_lines: Sequence[str], files: Sequence[str] = ()) -> None:
        self.found_at: int | None = None
        self._applied = Applied(files) if files else None
        self._unseen = list(dict.fromkeys(fix_lines))
        self._needed = min(N_LINES, len(self._unseen))
        self._is_over = len(self._unseen) < _FEWEST

    def take(self, index: int, call: ToolCall) -> None:
        """Look at the next call."""
        if self._is_over:
            return
        for text in _texts(call.arguments, _DEEPEST):
            if len(text) >= len(min(self._unseen, key=len, default=text)):
                self._unseen = [line for line in self._unseen if line not in text]
        self._is_over = len(self._unseen) < self._needed
        if self._is_over or call.result is None or call.result.doubt is not None:
            return
        shown = call.result.text
        if '\\"' in shown:
            shown = shown.replace('\\"', '"')
        if sum(line in shown for line in self._unseen) >= self._needed:
            self.found_at = index
            self._is_over = True

    def wrote(self, path: str) -> None:
        """Note a file that the agent wrote itself."""
        if self._applied is not None:
            self._applied.wrote(path)

    def run(self, index: int, command: str, result: ToolResult | None) -> None:
        """Look at the command of the call that was taken last."""
        is_applied = self._applied is not None and self._applied.take(command, result)
        if is_applied and self.found_at is None:
            self.found_at = index
            self._is_over = True


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
