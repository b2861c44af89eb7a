"""OpenCode and Kilo: the stream of ``run --format json``, the exported document, the database.

All consist of parts, and a part of type ``tool`` is a call with its result. A step's tokens and
cost follow its calls. The calls of a sub-agent are in a session of their own, which only the
database holds. Its newest form keeps whole messages in one table, with their calls in ``content``.
A session that was forked from another begins with copies of its messages, which keep their times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    read_unknown,
)
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    LineFormat,
    Store,
    StoreFormat,
)
from retrieval_eval.agents.traces.merge import join_sub_agents
from retrieval_eval.agents.traces.reading import Complaints, Reading, Unreadable, chosen
from retrieval_eval.agents.traces.tokens import is_misstated
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    from_milliseconds,
    list_of,
    status_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.sqlite import Database, Row
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# OpenCode and Kilo, which is made of it: what they add to results, and their tools.

_NOTE: Final = re.compile(
    r"\n{0,4}<(?P<tag>bash_metadata|shell_metadata)>\n?(?P<note>[^<]{0,4000})</(?P=tag)>\s*\Z"
)
_CUT_NOTE: Final = re.compile(r"\btruncated\b[^\n]{0,80}\bexceeded\b")
_OLD_NOTE: Final = re.compile(
    r"(?:\A|\n)\s{0,4}\((?P<note>Command (?:timed out after|was aborted)[^)\n]{0,200})\)\s*\Z"
)
_STOPPED: Final = re.compile(r"(?i:exceed\w{0,3} timeout|timed out|aborted|terminated)")
_CUT: Final = re.compile(
    r"^\.\.\.(?:\d{1,12} (?:lines|bytes)|output) truncated\.\.\.$", re.MULTILINE
)
_SAVED: Final = re.compile(
    r"^(?:The tool call succeeded but the output was truncated\. )?Full output saved to: [^\n]*"
    r"(?:\n(?:Use |Next: )[^\n]*)?\n?",
    re.MULTILINE,
)
_PICTURE: Final = re.compile(r"(?:Image|PDF) read successfully\s*")
_SILENT: Final = "(no output)"
_LONGEST_NOTE: Final = 5000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the notes that OpenCode adds to it.

    Examples
    --------
    >>> text = "a.py\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>"
    >>> result = answer(ToolCall("c", "bash", {"command": "ls"}, ToolResult(text)))
    >>> result.text, result.is_error, result.is_unfinished
    ('a.py', True, False)
    """
    result = call.result or ToolResult("")
    if result.is_unfinished:
        return result
    text = result.text
    if " truncated..." in text:
        text = _SAVED.sub("", _CUT.sub(CUT_HERE, text))
    if call.name == "read" and _PICTURE.fullmatch(text):
        # A model that takes no images is sent an error in its place, which the record conceals.
        return replace(result, doubt="display_only")
    if call.name != "bash":
        return result if text == result.text else replace(result, text=text)
    start = max(0, len(text) - _LONGEST_NOTE)
    note = _NOTE.search(text, start) or _OLD_NOTE.search(text, start)
    is_stopped = note is not None and _STOPPED.search(note["note"]) is not None
    is_head = note is not None and _CUT_NOTE.search(note["note"]) is not None
    text = text if note is None else text[: note.start()]
    text = f"{text.rstrip()}\n{CUT_HERE}" if is_head else text
    text = "" if text.strip() == _SILENT else text
    record = dict_of(result.structured)
    if record.get("truncated") is True and CUT_HERE not in text:
        text = f"{CUT_HERE}\n{text}\n{CUT_HERE}"
    status = status_of(record.get("exit"))
    return replace(
        result,
        text=text,
        is_error=result.is_error or is_stopped or bool(status),
        is_stopped=is_stopped,
        is_unfinished=is_stopped and not text.strip(),
    )


DIALECTS.add(
    "opencode",
    Dialect(
        harnesses=frozenset({"opencode", "kilo"}),
        delegating=frozenset({"call_omo_agent"}),
        underscored=(
            *("apply_patch", "plan_enter", "plan_exit", "schedule_wakeup", "*_mcp_resource*"),
            *("background_process", "board_*", "cron_*", "kilo_*", "repo_clone", "repo_overview"),
            # Those of its plug-in for agents.
            *("call_omo_agent", "lsp_*", "ast_grep_*", "session_*", "background_*"),
            *("interactive_bash", "look_at", "skill_mcp", "todo_*", "task_*"),
        ),
        keeps_shell=False,
        refusals=(
            r"(?:Error: )?The user rejected permission",
            r"The user has specified a rule which prevents",
            r"Tool execution aborted",
            r"The arguments provided to the tool are invalid: ",
            r"Model tried to call unavailable tool ",
        ),
        failures=(r"File not found: ", r"Cannot read binary file: ", r"Search path not found: "),
        saved_files=(r"/(?:opencode|kilo)/tool-output/[^/]+$",),
        saved=(r"Full output saved to: ([^\n]{1,4096})",),
        answer=answer,
        cut=(
            "A command's output of more than 50 kB is cut to its end, or to nothing, behind "
            "`...output truncated...`; older versions state how many lines or bytes they left out; "
            "metadata.truncated states it too. The whole is saved to a file that the answer names."
        ),
        finished=(
            "The state of a part is completed or error, and error means that it did not run; a "
            "note behind the output of a command says that it was ended at its limit or aborted."
        ),
        delegated=(
            "`task` starts a sub-agent in a session of its own, whose id is in metadata.sessionId; "
            "the database holds it, the stream and the exported document do not."
        ),
        source=(
            "anomalyco/opencode: message-v2 007a940, run 00f9806, read 00937b9, grep 082eeb9, "
            "truncate 0a3427d, session.sql 063e830, session/message 08e3e1f, export 07fa810; "
            "a stream of 1.18.25, and events of 40 sessions of 0.14 to 1.17 seen; database, stream "
            "and requests of 1.18.33 and of Kilo 7.7.9 compared"
        ),
        tools=(
            Tool(("call_omo_agent", "invalid"), "other", read_nothing),
            Tool(("background_process", "kilo_local_recall"), "other", read_unknown),
            Tool(
                (
                    *("question", "board_*", "plan_enter", "plan_exit"),
                    *("list_mcp_resource_templates", "goal"),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# OpenCode and Kilo: the stream of ``run --format json``, the exported document, the database.

STREAM = "opencode-run-json"
EXPORT = "opencode-export"
STORE = "opencode-store"
KILO = "kilo"
_KINDS = frozenset({"step_start", "tool_use", "text", "reasoning", "step_finish"})
_ENDINGS = {"stop": (), "error": ("result_error",)}
_REJECTED = "The user rejected permission to use this specific tool call"
_FORKED = re.compile(r"\(fork #\d{1,9}\)\s*\Z")
_OF_KILO = re.compile(r"/kilo/tool-output/|\Akilo_")
"""What names a tool, or a file that its harness wrote, that OpenCode does not have."""


def _transcript(name: str, unit: str, agent: str | None = None) -> Transcript:
    return Transcript(
        name,
        unit,
        agent=agent,
        answer=answer,
        tokens_follow=True,
        harness="opencode",
        is_native=True,
    )


def read_opencode_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream of events."""
    said = _transcript(name, "line")
    ending = None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            if said.has_agent:
                said.complaints.add(line)
            continue
        kind, part = text_at(event, "type"), dict_at(event, "part")
        time = from_milliseconds(event.get("timestamp"))
        said.at(f"{name}:{line.number}", time, by_agent=kind in _KINDS)
        said.session(event.get("sessionID"))
        match kind:
            case "error":
                ending = "error"
            case "tool_use":
                _take_call(said, part)
                # A request that cannot be granted ends the run after its step.
                is_rejected = (text_at(part, "state", "error") or "").startswith(_REJECTED)
                ending = "rejected" if is_rejected or ending == "rejected" else None
            case "step_start":
                ending = None
            case "step_finish":
                reason = text_at(part, "reason")
                ending = "stop" if ending == "rejected" and reason == "tool-calls" else reason
                _take_usage(said, part)
    said.ending = _ENDINGS.get(ending or "", ("no_result_event",))
    return said.reading(STREAM)


def read_opencode_export(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of an exported session."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: an exported OpenCode session without a list of messages")
    return _exported(document, name).reading(EXPORT)


def _exported(document: Mapping[str, Any], name: str, agent: str | None = None) -> Transcript:
    """Return what a session holds; ``agent`` is the sub-agent whose session it is."""
    said = _transcript(name, "step", agent)
    info = dict_at(document, "info")
    said.session(info.get("id"))
    said.cwd, said.version = text_at(info, "directory"), text_at(info, "version")
    forked_at = _forked_at(info)
    for index, message in enumerate(list_of(document.get("messages"))):
        info = dict_at(message, "info")
        if not info:
            said.complaints.note(f"{name}#/messages/{index}", "expected a message")
        elif info.get("role") == "user":
            said.at(f"{name}#/messages/{index}", from_milliseconds(at(info, "time", "created")))
            _attach(said, list(dicts_at(message, "parts")))
        elif info.get("role") == "assistant":
            created = from_milliseconds(at(info, "time", "created"))
            is_copy = forked_at is not None and created is not None and created < forked_at
            said.at(f"{name}#/messages/{index}", created, by_agent=True)
            completed = from_milliseconds(at(info, "time", "completed"))
            said.until(completed)
            kinds = {text_at(part, "type") for part in dicts_at(message, "parts")}
            # Of a run that was ended in a step, the tokens of that step are not kept.
            is_cut = completed is None and "step-finish" not in kinds and "tool" in kinds
            said.ending = ("no_result_event",) if is_cut else ()
            said.model = said.model or text_at(info, "modelID")
            said.cwd = text_at(info, "path", "cwd") or said.cwd
            if info.get("summary") is True:
                said.note_summary()
            for n, part in enumerate(dicts_at(message, "parts")):
                if part.get("type") == "tool":
                    _take_call(said, part, f"/parts/{n}")
                elif part.get("type") == "step-finish" and not is_copy:
                    _take_usage(said, part, f"/parts/{n}")
            said.release()
    return said


_FOLDER = re.compile(r"<type>directory</type>\s{0,9}<entries>\n(.*?)(?:\n\(|</entries>)", re.DOTALL)


def _attach(said: Transcript, parts: Sequence[Mapping[str, Any]]) -> None:
    """Note the files of a prompt; a folder comes behind the answer of the tool that listed it."""
    listing: str | None = None
    for part in parts:
        if part.get("type") == "text" and part.get("synthetic") is True:
            found = _FOLDER.search(text_at(part, "text") or "")
            listing = found[1] if found is not None else listing
        elif part.get("type") == "file":
            url = text_at(part, "url") or ""
            path = text_at(part, "source", "path")
            if url.startswith("file:///"):
                path = unquote(url.removeprefix("file://").partition("?")[0])
            if part.get("mime") == "application/x-directory":
                said.attach_folder(path, listing, "named in the prompt")
                listing = None
            else:
                said.attach(path, "named in the prompt")


def _forked_at(info: Mapping[str, Any]) -> float | None:
    """Return when a session was forked from another one, which only its title tells."""
    if _FORKED.search((text_at(info, "title") or "")[-100:]) is None:
        return None
    return from_milliseconds(at(info, "time", "created"))


def _take_call(said: Transcript, part: Mapping[str, Any], inside: str = "") -> None:
    call = said.call(
        part.get("tool"),
        at(part, "state", "input"),
        text_at(part, "callID") or part.get("id"),
        result=_result(dict_at(part, "state")),
        inside=inside,
        time=from_milliseconds(at(part, "state", "time", "start")),
    )
    child = text_at(part, "state", "metadata", "sessionId")
    if call is not None and child is not None:
        said.delegated[call.call_id] = child
    saved = text_at(part, "state", "metadata", "outputPath")
    if any(name and _OF_KILO.search(name) for name in (saved, text_at(part, "tool"))):
        said.facts["harness"] = KILO


def _result(state: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a call's state, None while it is pending or running."""
    metadata = clean(state.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) and "exit" in metadata else None
    match state.get("status"):
        case "completed":
            return ToolResult(text_at(state, "output") or "", metadata)
        case "error":
            text = text_at(state, "error") or ""
            return ToolResult(text, is_error=True, is_unfinished=True)
    return None


def _take_usage(said: Transcript, part: Mapping[str, Any], inside: str = "") -> None:
    """Note what a step took, which is stated after the calls it made."""
    tokens, cache = part.get("tokens"), dict_at(part, "tokens", "cache")
    said.used(
        part.get("id"),
        count_at(tokens, "input") + count_at(cache, "read", "write"),
        count_at(tokens, "output", "reasoning"),
        is_misstated=is_misstated(tokens, ("input", "output", "reasoning"))
        or is_misstated(cache, ("read", "write")),
        inside=inside,
    )
    said.paid(part.get("cost"))


# --------------------------------------------------------------------------------------------------
# The database. A row's JSON lacks what other columns hold: its own id and those it belongs to.

_SESSION = ("id", "parent_id", "directory", "version", "time_created", "title")


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
    is_kilo = any(_OF_KILO.match(table) for table in database.tables)
    for member in family:
        row = sessions.get(member, {})
        info = {key: row.get(key) for key in ("directory", "version", "title")}
        info |= {"id": member, "time": {"created": row.get("time_created")}}
        document = {"info": info, "messages": messages.get(member, [])}
        agent = None if member == session else calls.get(member, member)
        said = _exported(document, f"{database.name}/{member}", agent)
        said.sub_agents.update([member] if agent is not None else ())
        said.facts |= {"harness": KILO} if is_kilo else {}
        calls |= {child: call for call, child in said.delegated.items()}
        readings.append(said.reading(STORE))
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
        "modelID": at(data, "model", "id"),
        "summary": kind == "compaction",
    }
    parts = [_as_part(entry) for entry in dicts_at(data, "content")]
    end: dict[str, Any] = {"type": "step-finish", "id": row.get("id"), "reason": data.get("finish")}
    end |= {key: data[key] for key in ("tokens", "cost") if key in data}
    return {"info": info, "parts": [*parts, end]}


def _as_part(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry.get("type") != "tool":
        return entry
    state = dict_at(entry, "state")
    error = state.get("error")
    return {
        "type": "tool",
        "callID": entry.get("id"),
        "tool": entry.get("name"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": blocks_text(state.get("content")),
            "error": error.get("message") if isinstance(error, dict) else error,
            "metadata": state.get("structured"),
            "time": {"start": at(entry, "time", "ran") or at(entry, "time", "created")},
        },
    }


def _is_event(event: Mapping[str, Any]) -> bool:
    is_part = text_at(event, "type") in _KINDS and isinstance(event.get("part"), dict)
    return is_part and text_at(event, "sessionID") is not None


def _is_export(document: Mapping[str, Any]) -> bool:
    has_parts = (isinstance(m.get("parts"), list) for m in dicts_at(document, "messages"))
    return isinstance(document.get("info"), dict) and any(has_parts)


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
        counters=(
            "Tokens and cost of each step of this run, the cached tokens beside the input; those "
            "of sub-agents are not in the stream."
        ),
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
        counters=(
            "Tokens and cost of each step of the session and of no sub-agent, the cached tokens "
            "beside the input; resumed runs go on in the session, and the steps that a forked one "
            "begins with are copies and not counted."
        ),
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
        counters=(
            "Tokens and cost of each step of the session and of its sub-agents' sessions, the "
            "cached tokens beside the input; resumed runs go on in the session, and the steps that "
            "a forked one begins with are copies and not counted; the title's request is in none."
        ),
        example=_SCRIPT,
        file_names=("opencode.db", "opencode-*.db", "kilo.db"),
        folders=("opencode", "kilo"),
    ),
)
