"""Whether an agent saw the answer: the reference change itself, before it wrote any of it.

Agents find the fix in the history of the repository, in an upstream pull request or in the folders
of the task. A recall reached that way is not retrieval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from retrieval_eval.records import ToolCall

N_LINES: Final = 3
"""Lines of the reference change in one result that make it an exposure."""

_FEWEST: Final = 2
_DEEPEST: Final = 6


def exposing_call(calls: Sequence[ToolCall], fix_lines: Sequence[str]) -> int | None:
    """Return the index of the first call that showed the reference change, or None.

    A result shows it when it holds three of its lines, or all of a change of two. Lines that the
    agent wrote before, in the arguments of any call, do not count.

    Examples
    --------
    >>> from retrieval_eval.records import ToolResult
    >>> fix = ["limit = read_limit(config)", "if size > limit: raise TooLarge(size)"]
    >>> shown = ToolResult("+" + fix[0] + chr(10) + "+" + fix[1])
    >>> exposing_call([ToolCall("1", "Bash", {"command": "git show HEAD~1"}, shown)], fix)
    0
    """
    unseen = dict.fromkeys(fix_lines)
    if len(unseen) < _FEWEST:
        return None
    needed = min(N_LINES, len(unseen))
    for index, call in enumerate(calls):
        for text in _texts(call.arguments, _DEEPEST):
            if len(text) >= len(min(unseen, key=len, default=text)):
                unseen = {line: None for line in unseen if line not in text}
        if len(unseen) < needed:
            return None
        if call.result is None or call.result.doubt is not None:
            continue
        shown = call.result.text
        if '\\"' in shown:
            shown = shown.replace('\\"', '"')
        if sum(line in shown for line in unseen) >= needed:
            return index
    return None


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
