"""OpenCode: the stream of ``run --format json``, the document of ``export``, and its database.

All consist of parts, and a part of type ``tool`` is a call with its result. A step's tokens and
cost follow its calls. The calls of a sub-agent are in a session of their own, which only the
database holds. Its newest form keeps whole messages in one table, with their calls in ``content``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.sqlite import Database, Row
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, from_milliseconds, latest
from retrieval_eval.traces.dialects.opencode import answer
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat, Store, StoreFormat
from retrieval_eval.traces.merge import join_sub_agents
from retrieval_eval.traces.reading import (
    CallLog,
    Complaints,
    Reading,
    Unreadable,
    arguments_of,
    chosen,
)
from retrieval_eval.traces.tokens import Usage, is_misstated
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

STREAM = "opencode-run-json"
EXPORT = "opencode-export"
STORE = "opencode-store"
_KINDS = frozenset({"step_start", "tool_use", "text", "reasoning", "step_finish"})
_COUNTS = ("input", "output", "reasoning")


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    session_ids: set[str] = field(default_factory=set)
    waiting: list[tuple[ToolCall, ToolResult | None]] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    model: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    ending: str | None = None
    has_agent: bool = False
    agent: str | None = None
    delegated: dict[str, str] = field(default_factory=dict)


def read_opencode_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream of events."""
    complaints = Complaints(name)
    state = _State(name, CallLog(complaints))
    for line in lines:
        if isinstance(line.value, dict):
            _take(state, line.value, f"{name}:{line.number}")
        elif state.has_agent:
            complaints.add(line)
    endings = {"stop": (), "error": ("result_error",)}
    return _reading(state, STREAM, endings.get(state.ending or "", ("no_result_event",)), {})


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    timestamp = from_milliseconds(event.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    session = text_of(event.get("sessionID"))
    if session:
        state.session_ids.add(session)
    kind, part = text_of(event.get("type")), dict_of(event.get("part"))
    if kind in _KINDS:
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
    if kind == "error":
        state.ending = "error"
    elif kind == "tool_use":
        state.ending = None
        _take_call(state, part, where, timestamp)
    elif kind == "step_finish":
        state.ending = text_of(part.get("reason"))
        _take_usage(state, part, where)


def read_opencode_export(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of an exported session."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: an exported OpenCode session without a list of messages")
    state = _exported(document, name)
    return _reading(state, EXPORT, (), dict_of(document.get("info")))


def _exported(document: Mapping[str, Any], name: str, agent: str | None = None) -> _State:
    """Return what a session holds; ``agent`` is the sub-agent whose session it is."""
    state = _State(name, CallLog(Complaints(name, "step")), agent=agent)
    info = dict_of(document.get("info"))
    state.cwd = text_of(info.get("directory"))
    session = text_of(info.get("id"))
    state.session_ids |= {session} if session else set()
    for index, message in enumerate(list_of(document.get("messages"))):
        _take_message(state, message, f"{name}#/messages/{index}")
    return state


def _take_message(state: _State, message: Any, where: str) -> None:
    info = dict_of(dict_of(message).get("info"))
    if not info:
        state.log.complaints.note(where, "expected a message")
        return
    if info.get("role") != "assistant":
        return
    times = dict_of(info.get("time"))
    started = from_milliseconds(times.get("created"))
    state.has_agent = True
    state.started_at = earliest(state.started_at, started)
    state.finished_at = latest(state.finished_at, from_milliseconds(times.get("completed")))
    state.model = state.model or text_of(info.get("modelID"))
    state.cwd = text_of(dict_of(info.get("path")).get("cwd")) or state.cwd
    if info.get("summary") is True:
        state.log.note_summary()
    parts = [dict_of(part) for part in list_of(dict_of(message).get("parts"))]
    for index, part in enumerate(parts):
        if part.get("type") == "tool":
            _take_call(state, part, f"{where}/parts/{index}", started)
        elif part.get("type") == "step-finish":
            _take_usage(state, part, f"{where}/parts/{index}")
    _flush(state)


def _take_call(state: _State, part: Mapping[str, Any], where: str, timestamp: float | None) -> None:
    name, stated = text_of(part.get("tool")), dict_of(part.get("state"))
    if name is None:
        state.log.complaints.note(where, "a tool call without a name")
        return
    call = ToolCall(
        call_id=text_of(part.get("callID")) or text_of(part.get("id")) or where,
        name=name,
        arguments=arguments_of(stated.get("input")),
        result=None,
        timestamp=from_milliseconds(dict_of(stated.get("time")).get("start")) or timestamp,
        is_subagent=state.agent is not None,
        cwd=state.cwd,
        where=where,
        parent_id=state.agent,
    )
    child = text_of(dict_of(stated.get("metadata")).get("sessionId"))
    if child is not None:
        state.delegated[child] = call.call_id
    state.waiting.append((call, _result(stated)))


def _result(stated: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a call's state, None while it is pending or running."""
    metadata = clean(stated.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) and "exit" in metadata else None
    match stated.get("status"):
        case "completed":
            return ToolResult(text_of(stated.get("output")) or "", metadata)
        case "error":
            text = text_of(stated.get("error")) or ""
            return ToolResult(text, is_error=True, is_unfinished=True)
    return None


def _take_usage(state: _State, part: Mapping[str, Any], where: str) -> None:
    """Log what a step took, before the calls it made."""
    tokens = part.get("tokens")
    counts, cache = dict_of(tokens), dict_of(dict_of(tokens).get("cache"))
    if is_misstated(tokens, _COUNTS) or is_misstated(cache, ("read", "write")):
        state.log.complaints.note(where, "the token counts are no numbers")
        state.log.add_gap()
    prompt = sum(map(count_of, (counts.get("input"), cache.get("read"), cache.get("write"))))
    output = count_of(counts.get("output")) + count_of(counts.get("reasoning"))
    if prompt + output:
        is_subagent = state.agent is not None
        state.log.add_usage(Usage(text_of(part.get("id")) or where, prompt, output, is_subagent))
    cost = amount_of(part.get("cost"))
    if cost is not None:
        state.costs.append(cost)
    _flush(state)


def _flush(state: _State) -> None:
    waiting, state.waiting = state.waiting, []
    for call, result in waiting:
        state.log.add(call)
        if result is not None:
            state.log.join(call.call_id, answer(replace(call, result=result)))


def _reading(state: _State, name: str, flags: tuple[str, ...], info: Mapping[str, Any]) -> Reading:
    _flush(state)
    complaints = state.log.complaints
    return Reading(
        format=name,
        items=state.log.items(),
        session_ids=frozenset(state.session_ids),
        harness="opencode",
        harness_version=text_of(info.get("version")),
        model=state.model,
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=state.cwd,
        declared_cost_usd=sum(state.costs) if state.costs else None,
        flags=(*flags, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_native=True,
    )


# --------------------------------------------------------------------------------------------------
# The database. A row's JSON lacks what other columns hold: its own id and those it belongs to.

_SESSION = ("id", "parent_id", "directory", "version", "time_created")


def read_opencode_store(store: Store) -> Reading | Unreadable:
    """Return the only session of a database with its sub-agents', or those among which to choose.

    Sessions without a message are left out where others have some.
    """

    def find(database: Database) -> Reading | Unreadable:
        sessions = _sessions(database)
        used = {
            row.get("session_id")
            for table in ("message", "session_message")
            for row in database.rows(table, ("session_id",))
        }
        roots = [name for name, row in sessions.items() if row.get("parent_id") not in sessions]
        names = [name for name in roots if name in used] or roots
        return chosen(store.name, names, read)

    def read(session: str) -> Reading | Unreadable:
        return store.reading(lambda database: _stored(database, session))

    return store.reading(find)


def _sessions(database: Database) -> dict[str, Row]:
    rows = database.rows("session", _SESSION)
    rows.sort(key=lambda row: (amount_of(row.get("time_created")) or 0, str(row.get("id"))))
    return {name: row for row in rows if (name := text_of(row.get("id"))) is not None}


def _stored(database: Database, session: str) -> Reading:
    sessions = _sessions(database)
    # Each session has one parent, so that no session comes twice.
    family = [session]
    for member in family:
        family += [
            name
            for name, row in sessions.items()
            if row.get("parent_id") == member and name not in family
        ]
    messages = _messages(database, family)
    calls: dict[str, str] = {}
    readings = []
    for member in family:
        row = sessions.get(member, {})
        info = {"id": member, "directory": row.get("directory"), "version": row.get("version")}
        document = {"info": info, "messages": messages.get(member, [])}
        agent = None if member == session else calls.get(member, member)
        state = _exported(document, f"{database.name}/{member}", agent)
        calls |= state.delegated
        readings.append(_reading(state, STORE, (), info))
    return join_sub_agents(readings[0], readings[1:])


def _messages(database: Database, sessions: list[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the messages of sessions with their parts, as they are exported."""
    complaints = Complaints(database.name, "row")
    of = ("session_id", sessions)
    parts: dict[Any, list[Mapping[str, Any]]] = {}
    for row in _in_order(database.rows("part", ("id", "message_id", "data"), where=of)):
        part = _data(row, f"{database.name}: the part", complaints)
        parts.setdefault(row.get("message_id"), []).append({**part, "id": row.get("id")})
    found: dict[str, list[Mapping[str, Any]]] = {}
    columns = ("id", "session_id", "time_created", "data")
    for row in _in_order(database.rows("message", columns, where=of), by_time=True):
        info = {**_data(row, f"{database.name}: the message", complaints), "id": row.get("id")}
        message = {"info": info, "parts": parts.pop(row.get("id"), [])}
        found.setdefault(str(row.get("session_id")), []).append(message)
    for orphan in parts:
        complaints.note(
            f"{database.name}: the message {str(orphan)[:80]}", "missing, but it has parts"
        )
    newest: dict[str, list[Mapping[str, Any]]] = {}
    whole = ("id", "session_id", "type", "seq", "time_created", "data")
    for row in _in_order(database.rows("session_message", whole, where=of), by_time=True):
        if (session := str(row.get("session_id"))) not in found:
            data = _data(row, f"{database.name}: the message", complaints)
            newest.setdefault(session, []).append(_as_exported(row, data))
    database.problems.extend(complaints.sentences())
    return newest | found


def _in_order(rows: list[Row], *, by_time: bool = False) -> list[Row]:
    """Return rows in the order of their ids, which is that in which they were made."""
    keys = ("seq", "time_created") if by_time else ()

    def order(row: Row) -> tuple[Any, ...]:
        return (*(amount_of(row.get(key)) or 0 for key in keys), str(row.get("id")))

    return sorted(rows, key=order)


def _data(row: Row, what: str, complaints: Complaints) -> Mapping[str, Any]:
    value, problem = decode(str(row.get("data")))
    if problem is None and not isinstance(value, dict):
        problem = "no JSON object"
    if problem is not None:
        complaints.note(f"{what} {str(row.get('id'))[:80]}", problem)
    return dict_of(value)


def _as_exported(row: Row, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a whole message as one with parts."""
    kind = row.get("type")
    if kind not in ("assistant", "compaction"):
        return {"info": {"role": kind}, "parts": []}
    info = {
        "role": "assistant",
        "time": data.get("time"),
        "modelID": dict_of(data.get("model")).get("id"),
        "summary": kind == "compaction",
    }
    parts = [_as_part(dict_of(entry)) for entry in list_of(data.get("content"))]
    end: dict[str, Any] = {"type": "step-finish", "id": row.get("id"), "reason": data.get("finish")}
    end |= {key: data[key] for key in ("tokens", "cost") if key in data}
    return {"info": info, "parts": [*parts, end]}


def _as_part(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry.get("type") != "tool":
        return entry
    state = dict_of(entry.get("state"))
    started = dict_of(entry.get("time"))
    error = state.get("error")
    return {
        "type": "tool",
        "callID": entry.get("id"),
        "tool": entry.get("name"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": blocks_text(state.get("content")),
            "error": dict_of(error).get("message") if isinstance(error, dict) else error,
            "metadata": state.get("structured"),
            "time": {"start": started.get("ran") or started.get("created")},
        },
    }


def _is_event(event: Mapping[str, Any]) -> bool:
    is_part = text_of(event.get("type")) in _KINDS and isinstance(event.get("part"), dict)
    return is_part and text_of(event.get("sessionID")) is not None


def _is_export(document: Mapping[str, Any]) -> bool:
    messages = list_of(document.get("messages"))
    return isinstance(document.get("info"), dict) and any(
        isinstance(dict_of(message).get("parts"), list) for message in messages
    )


_CALL: Mapping[str, Any] = {
    "id": "p1",
    "type": "tool",
    "callID": "c",
    "tool": "glob",
    "state": {
        "status": "completed",
        "input": {"pattern": "*.py"},
        "output": "/w/a.py",
        "metadata": {"count": 1},
        "time": {"start": 1770112801000, "end": 1770112802000},
    },
}
_STEP: Mapping[str, Any] = {
    "id": "p2",
    "type": "step-finish",
    "reason": "stop",
    "cost": 0.01,
    "tokens": {"input": 9, "output": 1, "reasoning": 0, "cache": {"read": 4, "write": 0}},
}

FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_event,
        read=read_opencode_stream,
        keeps=("times", "tokens", "cost"),
        priority=3,
        example=(
            {"type": "tool_use", "timestamp": 1770112802000, "sessionID": "s", "part": _CALL},
            {"type": "step_finish", "timestamp": 1770112803000, "sessionID": "s", "part": _STEP},
        ),
    ),
)
FORMATS.add(
    EXPORT,
    DocumentFormat(
        recognises=_is_export,
        read=read_opencode_export,
        keeps=("times", "tokens", "cost", "model", "version"),
        example={
            "info": {"id": "s", "directory": "/w", "version": "1.2.0"},
            "messages": [
                {
                    "info": {"role": "assistant", "modelID": "m", "time": {"created": 1}},
                    "parts": [_CALL, _STEP],
                }
            ],
        },
        file_names=("opencode*.json", "ses_*.json"),
    ),
)

_SCRIPT = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT,
  time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
INSERT INTO session VALUES ('s', NULL, '/w', '1.2.0', 1770112800000);
INSERT INTO message VALUES ('m', 's', 1770112800000,
  '{"role": "assistant", "modelID": "m", "time": {"created": 1770112800000}}');
INSERT INTO part VALUES ('p1', 'm', 's', '{"type": "tool", "callID": "c", "tool": "glob",
  "state": {"status": "completed", "input": {"pattern": "*.py"}, "output": "/w/a.py"}}');
INSERT INTO part VALUES ('p2', 'm', 's', '{"type": "step-finish", "reason": "stop", "cost": 0.01,
  "tokens": {"input": 9, "output": 1}}');
"""

FORMATS.add(
    STORE,
    StoreFormat(
        tables={
            "session": ("id", "directory"),
            "message": ("id", "session_id", "data"),
            "part": ("id", "message_id", "session_id", "data"),
        },
        read=read_opencode_store,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        example=_SCRIPT,
        file_names=("opencode.db", "opencode-*.db"),
        folders=("opencode",),
    ),
)
