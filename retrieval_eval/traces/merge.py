"""From what the files of a trial say to one trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from retrieval_eval.records import ToolCall, Trace, TraceSource
from retrieval_eval.traces import claude_stream
from retrieval_eval.traces.clock import earliest, latest
from retrieval_eval.traces.damage import TRIMMED, TRUNCATED
from retrieval_eval.traces.reading import (
    CONTINUED_ELSEWHERE,
    DELEGATING_TOOLS,
    HISTORY_COMPACTED,
    SUBAGENT_ELSEWHERE,
    Reading,
)
from retrieval_eval.traces.tokens import Item, accumulate, count_tokens
from retrieval_eval.traces.weave import weave

_Number = TypeVar("_Number", int, float)


def join_transcripts(readings: Sequence[Reading]) -> Reading | None:
    """Return the transcripts of one run as one reading, or None when there are none.

    Stream lines come first, because only they carry sub-agents; session files fill in. Beside a
    stream, a file of another session is left out and flagged, unless it shares calls with what
    is joined already. Session files alone are one run: a resumed session has a new id.
    """
    ordered = sorted(readings, key=lambda reading: reading.format != claude_stream.FORMAT)
    if not ordered:
        return None
    base = ordered[0]
    has_stream = base.format == claude_stream.FORMAT
    for other in ordered[1:]:
        woven = weave(base.items, other.items)
        is_same_run = not has_stream or _may_share(base, other)
        if not is_same_run and not woven.n_shared:
            base = replace(base, flags=(*base.flags, "other_session_left_out"))
        else:
            conflicts = ("source_conflict",) if woven.n_conflicts else ()
            base = _filled(base, other, woven.items, conflicts)
    return base


def join_trace(
    trajectory: Reading | None,
    transcript: Reading | None,
    flags: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
) -> Trace:
    """Return the trace of a trial from its trajectory, its joined transcripts, or both.

    ``flags`` and ``problems`` are those of finding the files. Raises ``ValueError`` when there
    is neither a trajectory nor a transcript.
    """
    trace = _joined(trajectory, transcript)
    return replace(
        trace,
        flags=tuple(dict.fromkeys((*trace.flags, *flags))),
        problems=tuple(dict.fromkeys((*problems, *trace.problems))),
    )


def _joined(trajectory: Reading | None, transcript: Reading | None) -> Trace:
    if trajectory is None or transcript is None:
        only = trajectory or transcript
        if only is None:
            raise ValueError("a trace needs a trajectory or a transcript")
        source: TraceSource = "transcript" if trajectory is None else "trajectory"
        return _trace(only, source, accumulate(only.items), trajectory, transcript)
    if not trajectory.calls and transcript.calls:
        joined = _filled(transcript, trajectory, transcript.items, ())
        return _trace(joined, "transcript", accumulate(joined.items), trajectory, transcript)
    woven = weave(_calls(trajectory.items), _calls(transcript.items))
    if not woven.n_shared and not _may_share(trajectory, transcript):
        alone = replace(trajectory, flags=(*trajectory.flags, "transcript_of_another_session"))
        return _trace(alone, "trajectory", accumulate(alone.items), trajectory, transcript)
    conflicts = ("source_conflict",) if woven.n_conflicts else ()
    joined = replace(
        _filled(trajectory, transcript, woven.items, conflicts),
        declared_tokens=_stated(transcript.declared_tokens, trajectory.declared_tokens),
        declared_cost_usd=_stated(transcript.declared_cost_usd, trajectory.declared_cost_usd),
    )
    mended = _mended(trajectory, transcript, woven.n_shared)
    joined = replace(joined, flags=tuple(f for f in joined.flags if f not in mended))
    told = accumulate(transcript.items)
    calls = _with_tokens(joined.calls, told, accumulate(trajectory.items))
    is_merged = woven.has_added or any(call.cumulative_tokens is not None for call in told)
    return _trace(joined, "merged" if is_merged else "trajectory", calls, trajectory, transcript)


def _mended(trajectory: Reading, transcript: Reading, n_shared: int) -> set[str]:
    """Return the flags of a trajectory whose gaps the transcript fills."""
    mended: set[str] = set()
    if n_shared == len(trajectory.calls):
        mended |= {TRIMMED, TRUNCATED, CONTINUED_ELSEWHERE} - set(transcript.flags)
    if any(call.is_subagent for call in transcript.calls):
        mended.add(SUBAGENT_ELSEWHERE)
    return mended


def _may_share(one: Reading, other: Reading) -> bool:
    """Return whether two files may be about one session: a common id, or one that is unknown."""
    if not one.session_ids or not other.session_ids:
        return True
    return bool(one.session_ids & other.session_ids)


def _calls(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if isinstance(item, ToolCall)]


def _with_tokens(calls: Sequence[ToolCall], *counted: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Give ``calls`` the cumulative tokens of the file that knows them for most calls.

    Files are not mixed, because they count differently; among equals the first is taken. A call
    whose id is in reuse gets none.
    """
    uses = Counter(call.call_id for call in calls)
    tables = [
        {
            call.call_id: call.cumulative_tokens
            for call in source
            if call.cumulative_tokens is not None and uses[call.call_id] == 1
        }
        for source in counted
    ]
    best = max(tables, key=len)
    return tuple(replace(call, cumulative_tokens=best.get(call.call_id)) for call in calls)


def _filled(
    base: Reading, other: Reading, items: tuple[Item, ...], flags: tuple[str, ...]
) -> Reading:
    """Return ``base`` with ``items`` and with what only ``other`` declares."""
    return replace(
        base,
        items=items,
        session_ids=base.session_ids | other.session_ids,
        harness=base.harness or other.harness,
        harness_version=base.harness_version or other.harness_version,
        model=base.model or other.model,
        started_at=earliest(base.started_at, other.started_at),
        finished_at=latest(base.finished_at, other.finished_at),
        cwd=base.cwd or other.cwd,
        declared_tokens=_stated(base.declared_tokens, other.declared_tokens),
        declared_cost_usd=_stated(base.declared_cost_usd, other.declared_cost_usd),
        flags=tuple(
            flag
            for flag in (*base.flags, *other.flags, *flags)
            if flag != HISTORY_COMPACTED or _is_history_lost(base, other, items)
        ),
        problems=(*base.problems, *other.problems),
        format="+".join(dict.fromkeys((*base.format.split("+"), other.format))),
    )


def _is_history_lost(base: Reading, other: Reading, items: Iterable[Item]) -> bool:
    """Return whether no file holds calls that were made before a summary in another one.

    Such calls come before all others of the same thread.
    """
    cut = [reading for reading in (base, other) if HISTORY_COMPACTED in reading.flags]
    if len(cut) != 1:
        return True
    opening = next(iter(cut[0].calls), None)
    thread = (opening.is_subagent, opening.parent_id) if opening else (False, None)
    calls = (item for item in items if isinstance(item, ToolCall))
    first = next((c for c in calls if (c.is_subagent, c.parent_id) == thread), None)
    return first is None or (opening is not None and first.call_id == opening.call_id)


def _stated(mine: _Number | None, theirs: _Number | None) -> _Number | None:
    return theirs if mine is None else mine


def _trace(
    reading: Reading,
    source: TraceSource,
    calls: tuple[ToolCall, ...],
    trajectory: Reading | None,
    transcript: Reading | None,
) -> Trace:
    parts = [part for part in (transcript, trajectory) if part is not None]
    is_silent = not calls and not any(part.has_agent for part in parts)
    silent = ("no_agent_step",) if is_silent else ()
    has_delegated = any(call.name in DELEGATING_TOOLS for call in calls)
    is_missing = has_delegated and not any(call.is_subagent for call in calls)
    missing = ("subagent_calls_missing",) if is_missing else ()
    counted = [count_tokens(part.items) for part in parts]
    return Trace(
        calls=calls,
        format=reading.format,
        source=source,
        has_trajectory=trajectory is not None,
        has_transcript=transcript is not None,
        harness=reading.harness,
        harness_version=reading.harness_version,
        model=reading.model,
        started_at=reading.started_at,
        finished_at=reading.finished_at,
        cwd=reading.cwd,
        declared_tokens=reading.declared_tokens,
        counted_tokens=next((count for count in counted if count is not None), None),
        declared_cost_usd=reading.declared_cost_usd,
        flags=tuple(dict.fromkeys((*reading.flags, *missing, *silent))),
        problems=tuple(dict.fromkeys(reading.problems)),
    )
