"""pi: session files, whose entries form a tree, and the stream of ``--mode json``.

Both hold the same messages: an assistant's calls and tokens, and a result of role ``toolResult``
for each call. An entry of a session names the one before it, so that a branch which the user left
shows. A session that was forked from another begins with copies of its entries, which keep their
times. What is version 3 is the format; pi's own version is not stated.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.listing import list_names
from retrieval_eval.agents.traces.tokens import Item
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    at,
    blocks_text,
    count_at,
    dict_at,
    dicts_at,
    from_milliseconds,
    text_at,
    unix_seconds,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import like
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# pi: searches and listings relative to the searched folder, and notes behind what was cut.

HARNESS: Final = "pi"

_NOTE: Final = re.compile(
    r"(?:\A|\n\n)\[(?:(?P<more>\d{1,9} more lines in file\.)|(?P<long>Line \d{1,9} is )"
    r"|Showing (?:lines|last) [^\]\n]{1,300}?(?:Full output: (?P<path>[^\]\n]{1,4096}))?(?=\])"
    r"|\d{1,9} \w{1,10} limit reached|[\d.]{1,12}\w{1,3} limit reached|Some lines truncated)"
    r"[^\]\n]{0,4096}\]\s*\Z"
)
_LONGEST_NOTE: Final = 9000
_STATUS: Final = re.compile(
    r"(?:\A|\n\n)Command (?:exited with code (?P<code>-?\d{1,9})|(?P<stop>timed out after "
    r"[^\n]{1,60}|aborted|terminated without an exit code))\s*\Z"
)
_SILENT: Final = "(no output)"


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the notes that pi adds to it.

    Names in the answers of searches are relative to the folder that was searched.

    Examples
    --------
    >>> failed = ToolResult("a\n\n\nCommand exited with code 3", is_error=True)
    >>> result = answer(ToolCall("c", "bash", {}, failed))
    >>> result.text, result.structured
    ('a\n', {'exit_code': 3})
    >>> answer(ToolCall("c", "grep", {"path": "src"}, ToolResult("a.py:2: x"))).text
    'src/a.py:2: x'
    """
    result = call.result or ToolResult("")
    if call.name == "bash":
        return _printed(result)
    if result.is_error or result.structured is not None:
        return result
    text, note = _parted(result.text)
    if call.name == "read":
        if note is not None and note["long"]:
            return replace(result, text="", is_error=True, is_unfinished=True)
        is_cut = note is not None and not note["more"]
        text = f"{text}\n{CUT_HERE}" if is_cut else text
        return replace(result, text=text, structured={"content": text})
    if call.name not in ("grep", "find"):
        return result if note is None else replace(result, text=f"{text}\n{CUT_HERE}")
    text = _placed(text, text_at(call.arguments, "path"))
    text = text if note is None else f"{text}\n{CUT_HERE}"
    mode = {"mode": "content"} if call.name == "grep" else None
    return replace(result, text=text, structured=mode)


def _parted(text: str) -> tuple[str, re.Match[str] | None]:
    note = _NOTE.search(text, max(0, len(text) - _LONGEST_NOTE))
    return (text, None) if note is None else (text[: note.start()], note)


def _placed(text: str, folder: str | None) -> str:
    """Return lines that begin with a name below a folder as lines that begin with its path."""
    if folder is None or text.startswith("No "):
        return text
    name = posixpath.basename(folder.rstrip("/"))
    lines = [line for line in text.split("\n") if line]
    # The folder may be a file, whose lines begin with its name alone.
    is_file = all(line.startswith((f"{name}:", f"{name}-")) for line in lines)
    base = posixpath.dirname(folder) if is_file else folder.rstrip("/")
    return "\n".join(f"{base}/{line}" for line in lines) if base else text


def _printed(result: ToolResult) -> ToolResult:
    """Return the result of a command; one that was cut shows its end."""
    text, is_stopped, code = result.text, False, None
    ended = _STATUS.search(text, max(0, len(text) - _LONGEST_NOTE)) if result.is_error else None
    if ended is not None:
        text, is_stopped = text[: ended.start()], ended["code"] is None
        code = int(ended["code"]) if ended["code"] else None
    text, note = _parted(text)
    path = None
    if note is not None:
        path = note["path"]
        text = f"{CUT_HERE}\n{text}"
    text = "" if text.strip() == _SILENT else text
    is_lost = result.is_error and ended is None
    return replace(
        result,
        text=text,
        structured=None if code is None else {"exit_code": code},
        is_stopped=is_stopped and bool(text.strip()),
        is_unfinished=is_lost or (is_stopped and not text.strip()),
        saved_to=path,
    )


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        keeps_shell=False,
        refusals=(
            r"Tool [^\n]{1,200} not found\s*\Z",
            r"Invalid arguments for tool ",
            r"Validation failed for tool ",
        ),
        failures=(r"(?:ENOENT|EISDIR|EACCES): ", r"Offset \d{1,9} is beyond end of file"),
        empty=(r"\(empty directory\)", r"No (?:files found matching pattern|matches found)"),
        saved_files=(r"/pi-bash-[^/]{1,200}\.log$",),
        statuses=(r"Command exited with code -?\d+",),
        answer=answer,
        cut=(
            "A read keeps its beginning and a command its last 50 kB, with a note behind it that "
            "says which lines are shown; the whole output of a command is saved to a file that the "
            "note names."
        ),
        finished=(
            "A result states isError; a command that ran says below what it printed with which "
            "code it ended, or that it was stopped."
        ),
        delegated="none: it has no sub-agents",
        source=(
            "sessions, streams and requests of 0.73.1 and 1.6.0 compared; texts of its tools in "
            "1.6.0"
        ),
        tools=(Tool(("find",), "file_search", list_names),),
    ),
)


# --------------------------------------------------------------------------------------------------
# pi: session files, whose entries form a tree, and the stream of ``--mode json``.

SESSION = "pi-session"
STREAM = "pi-json"
_ROLES: Final = frozenset({"system", "user", "assistant", "toolResult", "bashExecution", "custom"})
_EVENTS: Final = frozenset({"message_start", "message_update", "message_end", "turn_end"})
_ENDINGS: Final = {"toolUse": ("no_result_event",), "error": ("result_error",)}
_INSTRUCTIONS: Final = re.compile(
    r'^<project_instructions path="([^"\n]{1,4096})">\n', re.MULTILINE
)
_FILE: Final = re.compile(r'^<file name="([^"\n]{1,4096})">\n(?!</file>)', re.MULTILINE)


class _Said(Transcript):
    """A transcript, and how its entries hang together."""

    def __init__(self, name: str) -> None:
        super().__init__(name, answer=answer, harness=HARNESS, holds_run=True, is_native=True)
        self.before: dict[str, str | None] = {}
        self.lines: dict[str, str] = {}  # the places of entries with calls
        self.last: str | None = None
        self.forked_at: float | None = None
        self.stopped = ""
        self.shown: set[str] = set()


def read_pi_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file."""
    said = _Said(name)
    for entry, where in said.complaints.objects(lines):
        _take_entry(said, entry, where)
    said.ending = _ENDINGS.get(said.stopped, ())
    abandoned = _abandoned(said)
    items = said.items()
    found = like(items, Item, _marked(items, abandoned)) if abandoned else items
    return said.reading(SESSION, items=found)


def read_pi_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of a run."""
    said = _Said(name)
    has_ended = False
    for event, where in said.complaints.objects(lines):
        kind = event.get("type")
        if kind == "session":
            _begin(said, event, where)
        elif kind == "message_end":
            message = dict_at(event, "message")
            _take_message(said, message, where, from_milliseconds(message.get("timestamp")))
        elif kind == "compaction_end" and isinstance(event.get("result"), dict):
            said.at(where, said.time)
            _take_usage(said, dict_at(event, "result", "usage"))
            said.note_summary()
        has_ended = kind in ("agent_end", "agent_settled") or (has_ended and kind != "agent_start")
    said.ending = _ENDINGS.get(said.stopped, ()) if has_ended else ("no_result_event",)
    return said.reading(STREAM)


def _begin(said: _Said, header: Mapping[str, Any], where: str) -> None:
    time = unix_seconds(header.get("timestamp"))
    said.at(where, time)
    said.session(header.get("id"))
    said.cwd = text_at(header, "cwd")
    said.forked_at = time if text_at(header, "parentSession") is not None else None


def _take_entry(said: _Said, entry: Mapping[str, Any], where: str) -> None:
    kind, one = entry.get("type"), text_at(entry, "id")
    if kind == "session":
        _begin(said, entry, where)
        return
    if one is not None:
        said.before[one] = text_at(entry, "parentId")
        said.last = one
    time = unix_seconds(entry.get("timestamp"))
    if kind == "message":
        n_before = said.n_calls
        _take_message(said, dict_at(entry, "message"), where, time)
        if one is not None and said.n_calls > n_before:
            said.lines[one] = where
        return
    said.at(where, time)
    if kind in ("usage", "compaction", "branch_summary"):
        _take_usage(said, dict_at(entry, "usage"))
    if kind == "compaction":
        said.note_summary()


def _take_message(said: _Said, message: Mapping[str, Any], where: str, time: float | None) -> None:
    role = message.get("role")
    said.at(where, time, by_agent=role == "assistant")
    match role:
        case "assistant":
            said.model = text_at(message, "model") or said.model
            said.stopped = text_at(message, "stopReason") or ""
            said.spoke(blocks_text(message.get("content")))
            for block in dicts_at(message, "content"):
                if block.get("type") == "toolCall":
                    said.call(block.get("name"), block.get("arguments"), block.get("id"))
            _take_usage(said, dict_at(message, "usage"))
        case "toolResult":
            said.answer(message.get("toolCallId"), _result(message))
        case "system":
            sections = [*dict_at(message, "sections").values(), message.get("content")]
            _attach(said, sections, _INSTRUCTIONS, "instructions")
        case "user":
            _attach(said, [blocks_text(message.get("content"))], _FILE, "named in the prompt")
        case "bashExecution" if message.get("excludeFromContext") is not True:
            # What a command of the user printed, the agent was shown.
            how = "printed by a command of the user"
            said.attach(f"{said.cwd or ''}/*", how, doubt="opaque_call", is_pattern=True)


def _attach(said: _Said, texts: Iterable[Any], pattern: re.Pattern[str], how: str) -> None:
    for text in texts:
        for found in pattern.finditer(text) if isinstance(text, str) else ():
            if found[1] not in said.shown:
                said.shown.add(found[1])
                said.attach(found[1], how, is_whole=True)


def _result(message: Mapping[str, Any]) -> ToolResult:
    """Return a result; of a picture only whether the model was sent it is of interest."""
    kinds = {text_at(block, "type") for block in dicts_at(message, "content")}
    is_error = message.get("isError") is True
    if "image" in kinds and not is_error:
        if text_at(message, "details", "imageUnsupportedByModel") is not None:
            return ToolResult("")
        return ToolResult(blocks_text(message.get("content")), {"type": "image"})
    has_run = message.get("toolName") == "bash"
    text = blocks_text(message.get("content"))
    return ToolResult(text, None, is_error, is_unfinished=is_error and not has_run)


def _take_usage(said: _Said, usage: Mapping[str, Any]) -> None:
    if said.forked_at is not None and said.time is not None and said.time < said.forked_at:
        return
    said.used(
        None,
        count_at(usage, "input", "cacheRead", "cacheWrite"),
        count_at(usage, "output"),
    )
    said.paid(amount_of(at(usage, "cost", "total")))


def _abandoned(said: _Said) -> set[str]:
    """Return the places of entries with calls on branches that were left.

    Where an entry before another is not in the file, nothing is known of what stands further up.
    """
    live: set[str] = set()
    entry = said.last
    while entry is not None and entry not in live:
        if entry not in said.before:
            return set()
        live.add(entry)
        entry = said.before[entry]
    return {where for one, where in said.lines.items() if one not in live}


def _marked(items: Sequence[Item], places: set[str]) -> Iterator[Item]:
    for item in items:
        is_abandoned = isinstance(item, ToolCall) and item.where in places
        yield replace(item, is_abandoned=True) if is_abandoned else item


def _is_entry(line: Mapping[str, Any]) -> bool:
    kinds = ("model_change", "thinking_level_change", "compaction", "branch_summary")
    has_place = "parentId" in line and text_at(line, "id") is not None
    is_message = line.get("type") == "message" and text_at(line, "message", "role") in _ROLES
    return has_place and "sessionId" not in line and (is_message or line.get("type") in kinds)


def _is_event(line: Mapping[str, Any]) -> bool:
    kind = text_at(line, "type")
    if kind in _EVENTS:
        role = text_at(line, "message", "role")
        return role in _ROLES or isinstance(line.get("assistantMessageEvent"), dict)
    return kind in ("agent_start", "agent_settled") and len(line) <= 2


def _is_header(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "session" and "cwd" in line and "version" in line


_HEADER: Final[Mapping[str, Any]] = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": "2026-01-01T00:00:00Z",
    "cwd": "/w",
}
_CALL: Final[Mapping[str, Any]] = {
    "role": "assistant",
    "content": [{"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a.py"}}],
    "model": "m",
    "usage": {"input": 9, "output": 1, "cacheRead": 4, "cacheWrite": 0, "cost": {"total": 0.01}},
    "stopReason": "toolUse",
    "timestamp": 1767225601000,
}
_ANSWER: Final[Mapping[str, Any]] = {
    "role": "toolResult",
    "toolCallId": "c",
    "toolName": "read",
    "content": [{"type": "text", "text": "x = 1\n"}],
    "isError": False,
    "timestamp": 1767225602000,
}
_END: Final[Mapping[str, Any]] = {"role": "assistant", "content": [], "stopReason": "stop"}
_COUNTERS: Final = (
    "Tokens and cost of each answer and of each summary, the cached tokens beside the input; "
    "resumed runs go on in the session, and the entries that a forked one begins with are copies "
    "and not counted."
)
FORMATS.add(
    SESSION,
    LineFormat(
        recognises=_is_entry,
        may_be=_is_header,
        read=read_pi_session,
        keeps=("times", "tokens", "cost", "model"),
        counters=_COUNTERS,
        priority=4,
        folders=("agent",),
        example=(
            _HEADER,
            *(
                {
                    "type": "message",
                    "id": f"{n}",
                    "parentId": f"{n - 1}" if n else None,
                    "timestamp": f"2026-01-01T00:00:0{n}Z",
                    "message": message,
                }
                for n, message in enumerate((_CALL, _ANSWER, _END))
            ),
        ),
    ),
)
FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_event,
        read=read_pi_stream,
        keeps=("times", "tokens", "cost", "model"),
        counters="Tokens and cost of each answer and of each summary of this run.",
        priority=4,
        example=(
            _HEADER,
            {"type": "agent_start"},
            *({"type": "message_end", "message": message} for message in (_CALL, _ANSWER, _END)),
            {"type": "agent_end", "messages": []},
        ),
    ),
)
