"""Goose: a session file before 1.10, the stream it prints, an exported session, and its database.

A message's content holds requests of tools and, in the next user message, their responses, joined
by id. The chunks of one message share its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_unknown
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    LineFormat,
    Store,
    StoreFormat,
)
from retrieval_eval.agents.traces.merge import join_sub_agents
from retrieval_eval.agents.traces.reading import Complaints, Reading, Unreadable, chosen
from retrieval_eval.agents.traces.results.base import Found, Seen, joined, text_argument
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS, INDENTED, list_tree
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    count_of,
    dict_at,
    dict_of,
    dicts_at,
    from_seconds,
    list_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.sqlite import Database, Row
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Goose, whose tools have the name of their extension before them.

HARNESS: Final = "goose"

LOCAL: Final = frozenset(
    {
        *("developer", "computercontroller", "memory", "autovisualiser", "chatrecall"),
        *("extensionmanager", "platform", "todo", "dynamic_task", "subagent", "summon"),
        *("analyze", "skills", "code_execution", "orchestrator"),
    }
)
"""The extensions that are part of goose; any other is a server."""

_EXITED: Final = re.compile(r"(?:\A|\n)Command exited with code (-?\d{1,9})\.?\s*\Z")
_LATE: Final = re.compile(r"\s*Command timed out after\b")
_TAIL: Final = 200
_LONGEST_NOTE: Final = 9000
_EXCEEDED: Final = re.compile(
    r"\n\n\[Output exceeded [\d,]{1,15} (?:line|byte) limit[^\n]{1,4500}\](?=\s*\Z|\n\nCommand )"
)
"""What goose writes below the last 50 lines of an output of more than 2,000 lines or 50 kB."""

_LAST_ROWS: Final = re.compile(
    r"\s*private note: output was [\d,]{1,15} lines and we are only showing the most recent lines, "
    r"remainder of lines in (?P<path>\S{1,4000}) do not show [^\n]{1,300}?truncated output: ?\n?"
)
"""What versions before 1.20 write above the last lines of a long output."""
_STORED: Final = re.compile(
    r"\s*The response returned from the tool call was larger \([^)\n]{1,60}\) and is stored in the "
    r"file [^\n]{1,200}?: (?P<path>\S{1,4000})\s*\Z"
)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without its last line, with the exit status that it states.

    Examples
    --------
    >>> found = answer(ToolCall("1", "shell", {}, ToolResult("a\nCommand exited with code 1")))
    >>> found.text, found.is_error
    ('a', True)
    """
    result = call.result or ToolResult("")
    rows = _LAST_ROWS.match(result.text[:_LONGEST_NOTE])
    if rows is not None:
        shown = f"{CUT_HERE}\n{CUT_HERE}\n{result.text[rows.end() :]}"
        result = replace(result, text=shown, saved_to=rows["path"])
    stored = _STORED.match(result.text[:_LONGEST_NOTE])
    if stored is not None:
        return replace(result, text=CUT_HERE, saved_to=stored["path"])
    exceeded = _EXCEEDED.search(result.text)
    if exceeded is not None:
        shown = result.text[: exceeded.start()] + result.text[exceeded.end() :]
        result = replace(result, text=f"{CUT_HERE}\n{shown}")
    found = _EXITED.search(result.text[-_TAIL:])
    if found is None:
        if _LATE.match(result.text[:_TAIL]):
            return replace(result, is_error=True, is_unfinished=True)
        return result
    text = result.text[: len(result.text) - len(found[0])] if found[0] else result.text
    code = int(found[1])
    return replace(
        result,
        text=text,
        structured=result.structured if result.structured is not None else {"exit_code": code},
        is_error=result.is_error or code != 0,
    )


_ENTRY: Final = re.compile(r"(?P<name>\s*\S.{0,4000}?)(?:/|\s+\[[\d.,]{1,12}[KkMm]?\])\s*")


def read_tree(seen: Seen) -> Found:
    """Return the files of a tree in which folders end in a slash and files in their line count."""
    entries = [_ENTRY.fullmatch(line) for line in seen.text.split("\n") if line.strip()]
    known = [entry for entry in entries if entry is not None]
    if not known or len(known) < len(entries):
        return read_unknown(seen)
    folder = joined(seen.cwd, text_argument(seen.arguments, FOLDER_ARGUMENTS) or ".")
    names = (entry["name"] + "/" * entry[0].rstrip().endswith("/") for entry in known)
    return list_tree(replace(seen, text="\n".join([f"{INDENTED}{folder}", *names])))


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        namespaces=LOCAL,
        delegating=frozenset(
            {
                *("delegate", "dynamic_task__create_task", "subagent"),
                *("subagent__execute_task", "summon__delegate"),
            }
        ),
        refusals=(
            r"Command timed out after\b",
            r"The user has declined to run this tool",
            r"The command attempts to access '[^'\n]{1,1000}' which is restricted by \.gooseignore",
            r"(?:File|The file) '[^'\n]{1,1000}' is restricted by \.gooseignore",
        ),
        saved=(r"limit \([^)\n]{1,60}\)\. Full output saved to (\S{1,1000})\. ",),
        answer=answer,
        cut=(
            "Of an output of more than 2,000 lines or 50 kB the last 50 lines are shown, above the "
            "name of the file to which all of it was saved."
        ),
        finished=(
            "A response states success or error; a command's last line states its exit code, or "
            "that it timed out, below what it printed until then."
        ),
        delegated=(
            "`delegate`, `create_task` and `execute_task` start sub-agents, whose sessions only "
            "the database holds."
        ),
        statuses=(r"Command exited with code -?\d+",),
        source=(
            "goose: message 6416fe7, shell 2f4773c, developer bc55f68, session_manager dbec165 "
            "(schema 9), read in its source; names of extensions from a reader of its database"
        ),
        tools=(
            Tool(("analyze",), "symbol_navigation", read_unknown),
            Tool(("tree",), "file_search", read_tree),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Goose: a session file before 1.10, the stream it prints, an exported session, and its database.

FORMAT = "goose"
EXPORT = "goose-export"
STORE = "goose-store"
_CONTENTS = ("toolRequest", "toolResponse")


def _transcript(name: str, unit: str, agent: str | None = None) -> Transcript:
    return Transcript(
        name, unit, agent=agent, answer=answer, harness=HARNESS, holds_run=True, is_native=True
    )


def read_goose(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file or of a printed stream."""
    said = _transcript(name, "line")
    head: Mapping[str, Any] = {}
    end: Mapping[str, Any] | None = None
    is_stream = False
    for line, where in said.complaints.objects(lines):
        kind = line.get("type")
        is_stream = is_stream or kind in ("complete", "message")
        if kind == "complete":
            end = line
        elif kind == "message":
            _message(said, line.get("message"), where)
        elif "content" in line and "role" in line:
            _message(said, line, where)
        elif "working_dir" in line:
            head = line
    # A session file has no end of its own.
    said.ending = ("no_result_event",) if is_stream and end is None else ()
    return _reading(said, FORMAT, head, end)


def read_goose_export(document: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of an exported session."""
    return _exported(document, name, EXPORT)


def _exported(
    document: Mapping[str, Any], name: str, form: str, agent: str | None = None
) -> Reading:
    """Return what a session holds; ``agent`` is the sub-agent whose session it is."""
    said = _transcript(name, "step", agent)
    conversation = document.get("conversation")
    wrapped = at(conversation, "messages")
    for index, message in enumerate(list_of(wrapped if wrapped is not None else conversation)):
        _message(said, message, f"{name}#/conversation/{index}")
    return _reading(said, form, document, None)


def _reading(
    said: Transcript, form: str, head: Mapping[str, Any], end: Mapping[str, Any] | None
) -> Reading:
    said.session(head.get("id"))
    said.model = text_of(clean(at(head, "model_config", "model_name")))
    said.cwd = text_of(clean(head.get("working_dir")))
    said.paid(dict_of(end).get("cost_usd", head.get("accumulated_cost")))
    tokens = (
        count_at(end, "input_tokens", "output_tokens"),
        count_at(end, "total_tokens"),
        count_at(head, "accumulated_total_tokens"),
        count_at(head, "total_tokens"),
    )
    return said.reading(form, declared_tokens=next(filter(None, tokens), None))


def _message(said: Transcript, message: Any, where: str) -> None:
    is_agent = at(message, "role") == "assistant"
    said.at(where, from_seconds(at(message, "created")), by_agent=is_agent)
    if not isinstance(message, dict):
        said.note("a message that is no object")
    for block in dicts_at(message, "content"):
        if block.get("type") == "toolRequest":
            _request(said, block)
        elif block.get("type") == "toolResponse" and text_at(block, "id") is not None:
            said.answer(block.get("id"), _result(block.get("toolResult")))


def _request(said: Transcript, block: Mapping[str, Any]) -> None:
    """Log a request; one that goose could not decode has an error in place of its call.

    Newer versions name the extension that offers a tool beside the call, not in the tool's name.
    """
    stated = dict_at(block, "toolCall")
    value = dict_at(stated, "value") or stated
    name, extension = text_at(value, "name"), text_at(block, "_meta", "goose_extension")
    if name is None and stated.get("status") == "error":
        return
    if name is not None and extension not in (None, *LOCAL) and "__" not in name:
        name = f"{extension}__{name}"
    said.call(name, value.get("arguments"), block.get("id"))


def _result(answered: Any) -> ToolResult:
    stated = dict_of(answered)
    if not stated:
        return ToolResult(blocks_text(answered))
    if stated.get("status") == "error" or ("error" in stated and "value" not in stated):
        return ToolResult(text_of(stated.get("error")) or "", None, True, is_unfinished=True)
    value = stated.get("value")
    wrapper = dict_of(value)
    blocks = list_of(wrapper.get("content")) if isinstance(value, dict) else list_of(value)
    seen = [block for block in blocks if _is_for_agent(block)]
    structured = wrapper.get("structuredContent")
    return ToolResult(
        blocks_text(seen),
        clean(structured) if isinstance(structured, dict | list) else None,
        wrapper.get("isError") is True,
    )


def _is_for_agent(block: Any) -> bool:
    """Return whether a block is shown to the agent: some are copies for the person only."""
    entry = dict_of(block)
    audience = dict_of(entry.get("annotations")).get("audience", entry.get("audience"))
    return not isinstance(audience, list) or not audience or "assistant" in audience


# --------------------------------------------------------------------------------------------------
# The database. It does not state which session started a sub-agent's.

_SESSION = (
    *("id", "session_type", "working_dir", "created_at", "model_config_json"),
    *("accumulated_total_tokens", "total_tokens", "accumulated_cost"),
)
_MESSAGE = (
    *("id", "message_id", "session_id", "role", "content_json", "created_timestamp", "timestamp"),
)


def read_goose_store(store: Store) -> Reading | Unreadable:
    """Return the only session of a database with its sub-agents', or those among which to choose.

    Sessions without a message are left out where others have some.
    """

    def find(database: Database) -> Reading | Unreadable:
        sessions = _sessions(database)
        used = {row.get("session_id") for row in database.rows("messages", ("session_id",))}
        roots = [name for name, row in sessions.items() if not _is_inner(row)] or list(sessions)
        names = [name for name in roots if name in used] or roots
        return chosen(store.name, names, lambda name: read(name, is_only=len(names) == 1))

    def read(session: str, *, is_only: bool) -> Reading | Unreadable:
        return store.reading(lambda database: _stored(database, session, is_only=is_only))

    return store.reading(find)


def _is_inner(row: Row) -> bool:
    return row.get("session_type") in ("sub_agent", "hidden")


def _sessions(database: Database) -> dict[str, Row]:
    rows = database.rows("sessions", _SESSION)
    rows.sort(key=lambda row: (str(row.get("created_at")), str(row.get("id"))))
    return {name: row for row in rows if (name := text_of(row.get("id"))) is not None}


def _stored(database: Database, session: str, *, is_only: bool) -> Reading:
    """Return a session; its sub-agents are those of the database where it is the only one."""
    sessions = _sessions(database)
    inner = [
        name
        for name, row in sessions.items()
        if row.get("session_type") == "sub_agent" and name != session
    ]
    family = [session, *(inner if is_only else ())]
    complaints = Complaints(database.name, "row")
    found: dict[str, list[Mapping[str, Any]]] = {}
    rows = database.rows("messages", _MESSAGE, where=("session_id", family))
    rows.sort(key=lambda row: (str(row.get("timestamp")), count_of(row.get("id"))))
    for row in rows:
        content, problem = decode(str(row.get("content_json")))
        if problem is not None:
            complaints.note(f"{database.name}: the message {str(row.get('id'))[:80]}", problem)
        message = {"id": row.get("message_id"), "role": row.get("role"), "content": content}
        message["created"] = row.get("created_timestamp")
        found.setdefault(str(row.get("session_id")), []).append(message)
    database.problems.extend(complaints.sentences())
    readings = []
    for member in family:
        row = sessions.get(member, {})
        model = decode(str(row.get("model_config_json") or "{}"))[0]
        document = {**row, "model_config": model, "conversation": found.get(member, [])}
        agent = None if member == session else member
        readings.append(_exported(document, f"{database.name}/{member}", STORE, agent))
    return join_sub_agents(readings[0], readings[1:])


def _is_export(document: Mapping[str, Any]) -> bool:
    conversation = document.get("conversation")
    messages = dict_of(conversation).get("messages", conversation)
    return isinstance(document.get("working_dir"), str) and isinstance(messages, list)


def _is_goose(line: Mapping[str, Any]) -> bool:
    message = line.get("message") if line.get("type") == "message" else line
    contents = list_of(dict_of(message).get("content"))
    if any(dict_of(content).get("type") in _CONTENTS for content in contents):
        return True
    names = ("message_count", "description", "total_tokens")
    return isinstance(line.get("working_dir"), str) and any(name in line for name in names)


def _may_be_goose(line: Mapping[str, Any]) -> bool:
    message = dict_of(line.get("message"))
    return line.get("type") == "message" and "role" in message and "created" in message


_REQUEST: Mapping[str, Any] = {
    "role": "assistant",
    "created": 1_700_000_000,
    "content": [
        {
            "type": "toolRequest",
            "id": "c",
            "toolCall": {
                "status": "success",
                "value": {"name": "developer__shell", "arguments": {"command": "ls"}},
            },
        }
    ],
}
_RESPONSE: Mapping[str, Any] = {
    "role": "user",
    "created": 1_700_000_001,
    "content": [
        {
            "type": "toolResponse",
            "id": "c",
            "toolResult": {"status": "success", "value": [{"type": "text", "text": "a.py"}]},
        }
    ],
}

_COUNTERS = (
    "The totals of the session, which runs that go on with it add to, the cached tokens inside the "
    "input; a sub-agent's session has totals of its own, which only the database holds."
)

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_goose,
        read=read_goose,
        keeps=("times", "tokens", "cost", "model"),
        counters=_COUNTERS,
        may_be=_may_be_goose,
        example=(
            {"working_dir": "/w", "message_count": 2, "accumulated_total_tokens": 12},
            _REQUEST,
            _RESPONSE,
        ),
    ),
)
FORMATS.add(
    EXPORT,
    DocumentFormat(
        recognises=_is_export,
        read=read_goose_export,
        keeps=("times", "tokens", "cost", "model"),
        counters=_COUNTERS,
        example={
            "id": "20260105_1",
            "working_dir": "/w",
            "accumulated_total_tokens": 12,
            "conversation": [_REQUEST, _RESPONSE],
        },
        priority=1,
        file_names=("goose*.json",),
    ),
)

_SCRIPT = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, session_type TEXT, working_dir TEXT,
  created_at TIMESTAMP, accumulated_total_tokens INTEGER, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT,
  content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP);
INSERT INTO sessions VALUES ('20260105_1', 'user', '/w', '2026-01-05 10:00:00', 12,
  '{"model_name": "m"}');
INSERT INTO messages VALUES (1, 'a', '20260105_1', 'assistant', '[{"type": "toolRequest",
  "id": "c", "toolCall": {"status": "success", "value": {"name": "developer__shell",
  "arguments": {"command": "ls"}}}}]', 1700000000, '2026-01-05 10:00:01');
INSERT INTO messages VALUES (2, 'b', '20260105_1', 'user', '[{"type": "toolResponse", "id": "c",
  "toolResult": {"status": "success", "value": [{"type": "text", "text": "a.py"}]}}]', 1700000001,
  '2026-01-05 10:00:02');
"""

FORMATS.add(
    STORE,
    StoreFormat(
        tables={
            "sessions": ("id", "working_dir"),
            "messages": ("session_id", "role", "content_json"),
        },
        read=read_goose_store,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=_COUNTERS,
        example=_SCRIPT,
        file_names=("sessions.db", "goose*.db"),
        folders=("goose",),
    ),
)
