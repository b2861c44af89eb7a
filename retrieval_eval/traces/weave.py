"""Two files about the same calls, as one list of calls in execution order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest
from retrieval_eval.traces.tokens import Gap, Item, Usage

_Key = tuple[str, str, int]
_Timed = tuple[Item, float | None]


@dataclass(frozen=True, slots=True)
class Woven:
    """The joined items, whether the second file added anything, and calls that disagree."""

    items: tuple[Item, ...]
    n_shared: int
    has_added: bool
    n_conflicts: int


def weave(base: Sequence[Item], other: Sequence[Item]) -> Woven:
    """Join the items of two files by call id (usages by message id).

    A shared call keeps what ``base`` says and takes from ``other`` what is missing there: result,
    structured result, whole text for a cut one, folder; of two times the earlier one. A call that
    only ``other`` has stands behind the shared item it follows there; among calls that only one
    side has, known times decide. Of calls with one id that disagree, the one in ``base`` stays as
    it is, unless the id is in reuse: then they are two calls.
    """
    reused = _reused_ids(base) | _reused_ids(other)
    base_keys, other_keys = _keys(base, reused), _keys(other, reused)
    theirs = dict(zip(other_keys, other, strict=True))
    runs = _runs(other, other_keys, frozenset(base_keys))
    items: list[Item] = []
    pending = runs.get(None, [])[::-1]
    n_conflicts, n_shared, has_added = 0, 0, bool(runs)
    for key, item, time in zip(base_keys, base, _times(base), strict=True):
        if key not in theirs:
            _release(pending, items, before=time)
            items.append(item)
            continue
        items.extend(waiting for waiting, _ in reversed(pending))
        told = theirs[key]
        joined = _join(item, told)
        if isinstance(item, ToolCall) and isinstance(told, ToolCall):
            n_shared += 1
            n_conflicts += _disagree(item, told)
        has_added = has_added or joined != item
        items.append(joined)
        pending = runs.get(key, [])[::-1]
    items.extend(waiting for waiting, _ in reversed(pending))
    return Woven(tuple(items), n_shared, has_added, n_conflicts)


def _runs(
    other: Sequence[Item], keys: Sequence[_Key], shared: frozenset[_Key]
) -> dict[_Key | None, list[_Timed]]:
    """Return what only ``other`` has, by the shared item it follows (None: before them all)."""
    runs: dict[_Key | None, list[_Timed]] = {}
    anchor: _Key | None = None
    for key, item, time in zip(keys, other, _times(other), strict=True):
        if key in shared:
            anchor = key
        elif not isinstance(item, Gap):
            runs.setdefault(anchor, []).append((item, time))
    return runs


def _reused_ids(items: Sequence[Item]) -> set[str]:
    counts = Counter(item.call_id for item in items if isinstance(item, ToolCall))
    return {call_id for call_id, count in counts.items() if count > 1}


def _keys(items: Sequence[Item], reused: set[str]) -> list[_Key]:
    """Return a key for each item: its id, and for an id in reuse also what was called."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for item in items:
        kind, name = type(item).__name__, ""
        if isinstance(item, ToolCall):
            name = item.call_id
            if name in reused:
                name = repr((name, item.name, item.arguments))
        elif isinstance(item, Usage):
            name = item.message_id
        keys.append((kind, name, seen[kind, name]))
        seen[kind, name] += 1
    return keys


def _times(items: Sequence[Item]) -> list[float | None]:
    """Return the time of each item; one without a time has that of the next that has one."""
    times: list[float | None] = []
    time: float | None = None
    for item in reversed(items):
        stated = item.timestamp if isinstance(item, ToolCall) else None
        time = time if stated is None else stated
        times.append(time)
    return times[::-1]


def _release(pending: list[_Timed], items: list[Item], before: float | None) -> None:
    """Move waiting items to ``items`` unless their time is known to be ``before`` or later."""
    while pending:
        item, time = pending[-1]
        if time is not None and before is not None and time >= before:
            return
        items.append(item)
        pending.pop()


def _disagree(mine: ToolCall, theirs: ToolCall) -> bool:
    """Return whether the calls differ; ``theirs`` may say more, because ``mine`` may be cut."""
    missing = object()
    return mine.name != theirs.name or any(
        theirs.arguments.get(key, missing) != value for key, value in mine.arguments.items()
    )


def _join(mine: Item, theirs: Item) -> Item:
    if isinstance(mine, Usage) and isinstance(theirs, Usage):
        return replace(
            mine,
            prompt=max(mine.prompt, theirs.prompt),
            output=max(mine.output, theirs.output),
        )
    if not isinstance(mine, ToolCall) or not isinstance(theirs, ToolCall):
        return mine
    if _disagree(mine, theirs):
        return mine
    return replace(
        mine,
        arguments=theirs.arguments,
        result=_fuller(mine.result, theirs.result),
        timestamp=earliest(mine.timestamp, theirs.timestamp),
        is_subagent=mine.is_subagent or theirs.is_subagent,
        cwd=mine.cwd or theirs.cwd,
        parent_id=mine.parent_id or theirs.parent_id,
    )


def _fuller(mine: ToolResult | None, theirs: ToolResult | None) -> ToolResult | None:
    if mine is None or theirs is None:
        return mine or theirs
    is_error = mine.is_error or theirs.is_error
    if mine.is_truncated and not theirs.is_truncated:
        return replace(theirs, is_error=is_error)
    structured = theirs.structured if mine.structured is None else mine.structured
    is_unfinished = mine.is_unfinished or theirs.is_unfinished
    return replace(mine, structured=structured, is_error=is_error, is_unfinished=is_unfinished)
