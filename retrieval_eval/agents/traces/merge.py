"""Merges the files of a trial into one trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import addressed_sub_agents, started_sub_agents
from retrieval_eval.agents.traces.reading import (
    CALLS_UNREADABLE,
    CONTINUED_ELSEWHERE,
    HISTORY_COMPACTED,
    SUBAGENT_ELSEWHERE,
    Reading,
)
from retrieval_eval.agents.traces.results.payload import TRIMMED, TRUNCATED
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import Gap, Item, Usage, accumulate, count_tokens
from retrieval_eval.agents.traces.untrusted import earliest, latest
from retrieval_eval.io.spooled import Spooled, like, room_like
from retrieval_eval.records import ToolCall, ToolResult, Trace, TraceSource

_Number = TypeVar("_Number", int, float)


def join_transcripts(readings: Sequence[Reading]) -> Reading | None:
    """Return the transcripts of one run as one reading, or None when there are none.

    Stream lines come first, because only they carry sub-agents; session files fill in. Beside a
    stream, a file of another session is left out and flagged, unless it shares calls with what
    is joined already. Session files alone are one run: a resumed session has a new id. A digest
    comes last and adds no calls of its own to the session files of its run.
    """
    ordered = sorted(readings, key=lambda reading: (reading.is_digest, not reading.holds_run))
    if not ordered:
        return None
    base = ordered[0]
    for other in ordered[1:]:
        are_alike = other.format in base.format.split("+")
        merged = merge_calls(base.items, other.items, are_copies=are_alike)
        is_same_run = not base.holds_run or _may_share(base, other)
        if other.is_digest and base.has_calls and not base.is_digest and not merged.n_shared:
            if base.session_ids & other.session_ids:
                base = _filled(base, other, base.items, ())
            else:
                base = replace(base, flags=(*base.flags, "other_session_left_out"))
        elif not is_same_run and not merged.n_shared:
            base = replace(base, flags=(*base.flags, "other_session_left_out"))
        else:
            conflicts = ("source_conflict",) if merged.n_conflicts else ()
            base = _filled(base, other, merged.items, conflicts)
    return base


def grouped(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Return the readings of several files by run: those that ids or copied calls link.

    A sub-agent's file is of the session that it names; a resumed session repeats its id or its
    calls. A reading that states no id, or a sub-agent's that names none of these sessions, may be
    of any run, so that it is of the first.
    """
    if len(readings) < 2:
        return [list(readings)] if readings else []
    ordered = sorted(readings, key=_is_inner)
    of: list[int] = []  # an earlier reading of the same run, or the reading itself
    owner: dict[object, int] = {}

    def first(place: int) -> int:
        while of[place] != place:
            of[place] = place = of[of[place]]
        return place

    for place, reading in enumerate(ordered):
        keys: set[object] = {name for name in (*reading.session_ids, reading.part_of) if name}
        is_named = bool(keys) and not _is_inner(reading)
        keys |= {(call.call_id, hash(repr(call.arguments))) for call in reading.calls}
        of.append(place)
        linked = [first(owner[key]) for key in keys if key in owner]
        run = min(linked, default=place if is_named else 0)
        for other in (*linked, place):
            of[first(other)] = run
        owner.update(dict.fromkeys(keys, run))
    runs: dict[int, list[Reading]] = {}
    for place, reading in enumerate(ordered):
        runs.setdefault(first(place), []).append(reading)
    return list(runs.values())


def _is_inner(reading: Reading) -> bool:
    """Return whether a file holds only what sub-agents did."""
    if reading.part_of is not None:
        return True
    return reading.has_calls and all(call.is_subagent for call in reading.calls)


def as_sub_agent(reading: Reading, agent: str) -> Reading:
    """Return what a sub-agent's file holds as that of a sub-agent, whose id it may not state."""

    def marked() -> Iterator[Item]:
        for item in reading.items:
            if isinstance(item, ToolCall):
                yield replace(item, is_subagent=True, parent_id=item.parent_id or agent)
            else:
                yield replace(item, is_subagent=True) if isinstance(item, Usage) else item

    if reading.sub_agents:
        return reading
    items = like(reading.items, Item, marked())
    return replace(reading, items=items, sub_agents=frozenset((agent,)))


def join_parts(parts: Sequence[Reading]) -> Reading:
    """Return the files of one trajectory as one reading, the first part first.

    Totals of a part count from the beginning of the run.
    """
    base = parts[0]
    for part in parts[1:]:
        flags = tuple(flag for flag in base.flags if flag != CONTINUED_ELSEWHERE)
        joined = replace(base, flags=flags, format=part.format)
        base = replace(
            _filled(joined, part, _followed(base, part), ()),
            declared_tokens=_stated(part.declared_tokens, base.declared_tokens),
            declared_cost_usd=_stated(part.declared_cost_usd, base.declared_cost_usd),
        )
    return base


def _followed(base: Reading, part: Reading) -> Sequence[Item]:
    """Return the items of two parts; what the second copies from the first is not missing."""
    joined: Spooled[Item] = Spooled(Item, room=room_like(base.items, part.items))
    joined.extend(base.items)
    is_open = HISTORY_COMPACTED in part.flags and base.has_calls
    for item in part.items:
        is_open = is_open and not isinstance(item, ToolCall)
        if not (is_open and isinstance(item, Gap)):
            joined.append(item)
    return joined.done()


def join_sub_agents(agent: Reading, sub_agents: Sequence[Reading]) -> Reading:
    """Return the sessions of an agent and its sub-agents, of one file, as one reading.

    Totals of a session do not count those of the others.
    """
    whole = agent
    for part in sub_agents:
        whole = replace(
            whole,
            items=merge_calls(whole.items, part.items).items,
            session_ids=whole.session_ids | part.session_ids,
            finished_at=latest(whole.finished_at, part.finished_at),
            declared_tokens=_sum(whole.declared_tokens, part.declared_tokens),
            declared_cost_usd=_sum(whole.declared_cost_usd, part.declared_cost_usd),
            flags=tuple(dict.fromkeys((*whole.flags, *part.flags))),
            problems=(*whole.problems, *part.problems),
            attached=(*whole.attached, *part.attached),
            sub_agents=whole.sub_agents | part.sub_agents,
            delegated={**part.delegated, **whole.delegated},
        )
    return whole


def _sum(mine: _Number | None, more: _Number | None) -> _Number | None:
    return mine if more is None else more if mine is None else mine + more


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
    if not trajectory.has_calls and transcript.has_calls:
        joined = _filled(transcript, trajectory, transcript.items, ())
        return _trace(joined, "transcript", accumulate(joined.items), trajectory, transcript)
    if transcript.is_native and transcript.has_calls and _may_share(trajectory, transcript):
        return _native(trajectory, transcript)
    merged = merge_calls(_calls(trajectory.items), _calls(transcript.items))
    if not merged.n_shared and not _may_share(trajectory, transcript):
        alone = replace(trajectory, flags=(*trajectory.flags, "transcript_of_another_session"))
        return _trace(alone, "trajectory", accumulate(alone.items), trajectory, transcript)
    if transcript.is_digest and not merged.n_shared:
        alone = _filled(trajectory, transcript, trajectory.items, ())
        return _trace(alone, "trajectory", accumulate(alone.items), trajectory, transcript)
    conflicts = ("source_conflict",) if merged.n_conflicts else ()
    joined = replace(
        _filled(trajectory, transcript, merged.items, conflicts),
        declared_tokens=_stated(transcript.declared_tokens, trajectory.declared_tokens),
        declared_cost_usd=_stated(transcript.declared_cost_usd, trajectory.declared_cost_usd),
    )
    closed = _filled_gaps(trajectory, transcript, merged.n_shared)
    has_sub_agents = transcript.sub_agents or any(call.is_subagent for call in transcript.calls)
    if has_sub_agents and not _lacks_sub_agents(joined, joined.calls):
        closed.add(SUBAGENT_ELSEWHERE)
    joined = replace(joined, flags=tuple(f for f in joined.flags if f not in closed))
    counted = accumulate(transcript.items)
    calls = _with_tokens(joined.calls, counted, accumulate(trajectory.items))
    is_merged = merged.has_added or any(call.cumulative_tokens is not None for call in counted)
    return _trace(joined, "merged" if is_merged else "trajectory", calls, trajectory, transcript)


def _native(trajectory: Reading, transcript: Reading) -> Trace:
    """Return the trace of a harness's own record; the trajectory made from it fills it in.

    Converters give calls without an id new ones, so calls are only added where ids are shared.
    """
    merged = merge_calls(transcript.items, _calls(trajectory.items))
    items = merged.items if merged.n_shared else transcript.items
    joined = replace(
        _filled(transcript, trajectory, items, ()),
        flags=transcript.flags,
        problems=transcript.problems,
    )
    source: TraceSource = "merged" if merged.n_shared else "transcript"
    return _trace(joined, source, accumulate(items), trajectory, transcript)


def _filled_gaps(trajectory: Reading, transcript: Reading, n_shared: int) -> set[str]:
    """Return the flags of a trajectory whose gaps the transcript fills."""
    closed: set[str] = set()
    if n_shared == len(trajectory.calls):
        closed |= {TRIMMED, TRUNCATED, CONTINUED_ELSEWHERE} - set(transcript.flags)
    return closed


def _may_share(one: Reading, other: Reading) -> bool:
    """Return whether two files may be about one session: a common id, or one that is unknown."""
    if not one.session_ids or not other.session_ids:
        return True
    return bool(one.session_ids & other.session_ids)


def _calls(items: Sequence[Item]) -> Sequence[Item]:
    return like(items, Item, (item for item in items if isinstance(item, ToolCall)))


def _with_tokens(calls: Sequence[ToolCall], *counted: Sequence[ToolCall]) -> Sequence[ToolCall]:
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
    stated = (replace(call, cumulative_tokens=best.get(call.call_id)) for call in calls)
    return like(calls, ToolCall, stated)


def _cwd(base: Reading, other: Reading) -> str | None:
    """Return the folder that the agent began in: a sub-agent may work in a worktree."""
    if base.cwd and other.cwd and base.cwd != other.cwd:
        is_main = any(not call.is_subagent for call in base.calls)
        if not is_main and any(not call.is_subagent for call in other.calls):
            return other.cwd
    return base.cwd or other.cwd


def _filled(
    base: Reading, other: Reading, items: Sequence[Item], flags: tuple[str, ...]
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
        cwd=_cwd(base, other),
        declared_tokens=_stated(base.declared_tokens, other.declared_tokens),
        declared_cost_usd=_stated(base.declared_cost_usd, other.declared_cost_usd),
        flags=tuple(
            flag
            for flag in (*base.flags, *other.flags, *flags)
            if (flag != HISTORY_COMPACTED or _is_history_lost(base, other, items))
            and (flag != CALLS_UNREADABLE or _is_all_unread(base, other))
        ),
        problems=(*base.problems, *other.problems),
        attached=tuple(dict.fromkeys((*base.attached, *other.attached))),
        submission=base.submission or other.submission,
        sub_agents=base.sub_agents | other.sub_agents,
        delegated={**other.delegated, **base.delegated},
        format="+".join(dict.fromkeys((*base.format.split("+"), other.format))),
    )


def _is_all_unread(base: Reading, other: Reading) -> bool:
    """Return whether no file holds the calls that cannot be read in another one."""
    return all(CALLS_UNREADABLE in part.flags or not part.has_calls for part in (base, other))


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
    calls: Sequence[ToolCall],
    trajectory: Reading | None,
    transcript: Reading | None,
) -> Trace:
    parts = [part for part in (transcript, trajectory) if part is not None]
    is_silent = not calls and not any(part.has_agent for part in parts)
    silent = ("no_agent_step",) if is_silent else ()
    missing = ("subagent_calls_missing",) if _lacks_sub_agents(reading, calls) else ()
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
        attached=reading.attached,
        submission=reading.submission,
    )


def _lacks_sub_agents(reading: Reading, calls: Sequence[ToolCall]) -> bool:
    """Return whether the transcript of a sub-agent that some call started is not there.

    A call whose sub-agent is stated needs the transcript of that one. The calls that state none
    need as many of the transcripts that belong to no other call. A call that turns to a sub-agent
    which no call here started shows that one was started.
    """
    present: set[str | None] = {call.parent_id for call in calls if call.is_subagent}
    present |= reading.sub_agents
    linked: set[str | None] = set()
    n_unlinked = 0
    named: set[str] = set()  # what the calls that started sub-agents and their answers say
    addressed: set[str] = set()
    for call in calls:
        agent = reading.delegated.get(call.call_id)
        n_started = started_sub_agents(call, reading.harness) or int(agent is not None)
        named |= _names_in(call) if n_started else set()
        if _is_denied(call.result):
            continue
        if not n_started:
            addressed.update(_still_there(call, addressed_sub_agents(call, reading.harness)))
            continue
        own = present.intersection((call.call_id, agent or call.call_id))
        if own:
            linked |= own
        elif agent:
            return True
        else:
            n_unlinked += n_started
    others = {name for name in addressed if name.rpartition("/")[2] not in named}
    others -= {"", *present, *reading.delegated.values()}
    n_unlinked += len(others) or int("" in addressed and not (named or present))
    # What is part of a workflow was started by no call of its own.
    free = [agent for agent in present - linked if reading.delegated.get(agent or "") not in linked]
    return n_unlinked > len(free)


_WORDS: Final = re.compile(r"[\w-]{1,100}")
_LONGEST_START: Final = 4000
_GONE: Final = re.compile(r"\"([\w-]{1,100})\":\s{0,9}\"not_found\"")


def _names_in(call: ToolCall) -> set[str]:
    """Return the words in a call that starts a sub-agent and in its answer: one is its name."""
    answer = call.result.text if call.result is not None else ""
    texts = (str(value) for value in call.arguments.values())
    found = {word for text in (answer, *texts) for word in _WORDS.findall(text[:_LONGEST_START])}
    return {call.name, call.call_id, *found}


def _still_there(call: ToolCall, agents: Sequence[str]) -> list[str]:
    """Return the sub-agents that a call names, without those that its answer does not know."""
    answer = call.result.text if call.result is not None and agents else ""
    gone = set(_GONE.findall(answer[:_LONGEST_START]))
    return [agent for agent in agents if agent not in gone]


_INTERRUPTED: Final = re.compile(r"interrupted|aborted", re.IGNORECASE)


def _is_denied(result: ToolResult | None) -> bool:
    """Return whether a call did not run at all, unlike one that was interrupted."""
    if result is None or not result.is_error or _INTERRUPTED.search(result.text[:200]):
        return False
    return is_refusal(result.text)


# --------------------------------------------------------------------------------------------------
# Two files about the same calls, as one list of calls in execution order.

_Key = tuple[str, str, int]
_Timed = tuple[int, float | None]


class MergedCalls(Struct, frozen=True, gc=False):
    """The joined items, whether the second file added anything, and calls that disagree."""

    items: Sequence[Item]
    n_shared: int
    has_added: bool
    n_conflicts: int


def merge_calls(
    base: Sequence[Item], other: Sequence[Item], *, are_copies: bool = False
) -> MergedCalls:
    """Join the items of two files by call id (usages by message id).

    A shared call keeps the fields of ``base`` and takes missing ones from ``other``: result,
    structured result, whole text for a cut one, folder; of two times the earlier one. A call that
    only ``other`` has comes after the shared item it follows there; calls that only one side has
    are ordered by their times. Of calls with one id that disagree, the one in ``base`` stays as it
    is, unless the id is in reuse: then they are two calls. ``are_copies``: a call in both was given
    to a sub-agent with its history, so that it is the main thread's.
    """
    reused = _reused_ids(base) | _reused_ids(other)
    base_keys, other_keys = _keys(base, reused), _keys(other, reused)
    theirs = {key: place for place, key in enumerate(other_keys)}
    runs = _runs(other, other_keys, frozenset(base_keys))
    items: Spooled[Item] = Spooled(Item, room=room_like(base, other))
    pending = runs.get(None, [])[::-1]
    n_conflicts, n_shared, has_added = 0, 0, bool(runs)
    for key, item, time in zip(base_keys, base, _times(base), strict=True):
        if key not in theirs:
            for place in _released(pending, before=time):
                items.append(other[place])
            items.append(item)
            continue
        items.extend(other[place] for place, _ in reversed(pending))
        other_item = other[theirs[key]]
        joined = _join(item, other_item)
        if are_copies and isinstance(joined, ToolCall):
            joined = _of_main_thread(joined, item, other_item)
        if isinstance(item, ToolCall) and isinstance(other_item, ToolCall):
            n_shared += 1
            n_conflicts += _disagree(item, other_item)
        has_added = has_added or joined != item
        items.append(joined)
        pending = runs.get(key, [])[::-1]
    items.extend(other[place] for place, _ in reversed(pending))
    return MergedCalls(items.done(), n_shared, has_added, n_conflicts)


def _runs(
    other: Sequence[Item], keys: Sequence[_Key], shared: frozenset[_Key]
) -> dict[_Key | None, list[_Timed]]:
    """Return where items are that only ``other`` has, by the shared item that they follow.

    None is the key of those before all shared items.
    """
    runs: dict[_Key | None, list[_Timed]] = {}
    anchor: _Key | None = None
    for place, (key, time) in enumerate(zip(keys, _times(other), strict=True)):
        if key in shared:
            anchor = key
        elif key[0] != Gap.__name__:
            runs.setdefault(anchor, []).append((place, time))
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
    """Return the time of each item; one without a time has that of the next that has one.

    What comes after the last time has that one: the last message of a session costs what it costs
    before another session goes on.
    """
    times = [item.timestamp if isinstance(item, ToolCall) else None for item in items]
    time = next((time for time in reversed(times) if time is not None), None)
    for place in range(len(times) - 1, -1, -1):
        time = times[place] = time if times[place] is None else times[place]
    return times


def _released(pending: list[_Timed], before: float | None) -> Iterator[int]:
    """Take out what waits, unless its time is known to be ``before`` or later."""
    while pending:
        place, time = pending[-1]
        if time is not None and before is not None and time >= before:
            return
        pending.pop()
        yield place


def _disagree(mine: ToolCall, theirs: ToolCall) -> bool:
    """Return whether the calls differ; ``theirs`` may be longer, because ``mine`` may be cut."""
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


def _of_main_thread(joined: ToolCall, mine: Item, theirs: Item) -> ToolCall:
    """Return a call as the main thread's if one of two files has it as such."""
    both = [item for item in (mine, theirs) if isinstance(item, ToolCall)]
    if all(call.is_subagent for call in both):
        return joined
    return replace(joined, is_subagent=False, parent_id=None)


def _fuller(mine: ToolResult | None, theirs: ToolResult | None) -> ToolResult | None:
    if mine is None or theirs is None:
        return mine or theirs
    is_error = mine.is_error or theirs.is_error
    if mine.is_truncated and not theirs.is_truncated:
        return replace(theirs, is_error=is_error)
    structured = theirs.structured if mine.structured is None else mine.structured
    return replace(
        mine,
        structured=structured,
        is_error=is_error,
        is_unfinished=mine.is_unfinished or theirs.is_unfinished,
        is_stopped=mine.is_stopped or theirs.is_stopped,
    )
