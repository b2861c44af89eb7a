"""Cursor: the printed stream of its command line, and the transcripts of its agents.

The stream has ``tool_call`` events, ``started`` and ``completed`` with one call id each, as JSONL
or as the steps of a ``cursor-jsonl-v1`` document. The key inside ``tool_call`` names the tool; its
``result`` has one key, the status.

A transcript (``agent-transcripts/ID/ID.jsonl``) has messages with calls that have no ids, and no
results at all: what a call showed, and whether it ran, is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, arguments_of
from retrieval_eval.agents.traces.results.mentions import read_mentions
from retrieval_eval.agents.traces.results.payload import (
    TRIMMED,
    TRUNCATED,
    is_placeholder,
    parsed,
    preview_of,
    whole_or_rest,
)
from retrieval_eval.agents.traces.served import states_exit_status
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_of,
    from_milliseconds,
    list_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Cursor: the names that only it has; shared ones are in ``common``.

_TEXT_KEYS: Final = (
    "interleavedOutput",
    "stdout",
    "content",
    "errorMessage",
    "message",
    "error",
    "reason",
)
_PATH_KEYS: Final = ("filePath", "path", "uri")
_OUTCOMES: Final = frozenset(
    {
        *("success", "failure", "error", "rejected", "timeout", "permissionDenied", "spawnError"),
        *("fileNotFound", "invalidFile", "aborted", "noResult", "backgrounded"),
    }
)


def result_of(stated: Any, is_cut: bool) -> ToolResult | None:
    """Return the result in a record of one key, its status, or None where there is none."""
    outcomes = dict_of(stated).items()
    for outcome, body in sorted(outcomes, key=lambda item: not isinstance(item[1], dict)):
        inner = dict_of(body)
        texts = (text_of(inner.get(key)) for key in _TEXT_KEYS)
        text = next(filter(None, texts), None) or text_of(body) or ""
        behind = text_of(inner.get("stderr")) or ""
        if behind and not text_of(inner.get("interleavedOutput")):
            text = f"{text}\n{behind}" if text else behind
        is_error = outcome != "success" or inner.get("isError") is True
        is_unfinished = is_error and not states_exit_status("", inner)
        where = inner.get("outputLocation")
        path = text_of(where) or next(
            filter(None, (text_at(where, key) for key in _PATH_KEYS)), None
        )
        return ToolResult(text, clean(body), is_error, is_cut, is_unfinished, saved_to=path)
    return ToolResult("", None, False, True) if is_cut else None


def answer(call: ToolCall) -> ToolResult:
    """Return the result that a conversion wrote as the text of Cursor's record.

    Examples
    --------
    >>> found = answer(ToolCall("1", "readToolCall", {}, ToolResult('{"rejected": {}}')))
    >>> found.is_error, found.is_unfinished
    (True, True)
    """
    result = call.result or ToolResult("")
    stated = dict_of(parsed(result.text))
    if len(stated) != 1 or not stated.keys() <= _OUTCOMES:
        return result
    return result_of(stated, result.is_truncated) or result


DIALECTS.add(
    "cursor",
    Dialect(
        harnesses=frozenset({"cursor", "cursor-cli"}),
        answer=answer,
        cut=(
            "A long output of a command is kept in a file that outputLocation names; how much of "
            "it the agent was shown is not stated."
        ),
        finished=(
            "The one key of a result is its status: success, failure with an exit code, or a call "
            "that was rejected, timed out, aborted or left to the background. A transcript holds "
            "no results, so that nothing of it is certain."
        ),
        delegated=(
            "taskToolCall starts a sub-agent, whose calls the stream does not hold; in transcripts "
            "it is Task, and they lie in subagents/ beside it."
        ),
        delegating=frozenset({"taskToolCall", "Task"}),
        tools=(
            Tool(
                ("run_terminal_cmd", "run_terminal_command", "run_in_terminal"),
                "other",
                read_nothing,
                is_shell=True,
            ),
            Tool(("sem_search",), "code_search", read_mentions),
            Tool(
                ("read_lints", "get_mcp_tools", "get_dynamic_tools", "await", "switch_mode"),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Cursor: the printed stream of its command line, and the transcripts of its agents.

FORMAT = "cursor-jsonl"


class _Session(Transcript):
    """A session's transcript, with its first and its last event."""

    def __init__(self, name: str) -> None:
        super().__init__(name, harness="cursor")
        self.init: Mapping[str, Any] = {}
        self.result: Mapping[str, Any] | None = None


def read_cursor_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a ``cursor-jsonl-v1`` document."""
    steps = document.get("steps")
    if not isinstance(steps, list):
        return Unreadable(f"{name}: a Cursor trace without a list of steps")
    said = _Session(name)
    if document.get("_corpus_trim_applied"):
        said.flags[TRIMMED] = None
    for index, step in enumerate(steps):
        where = f"{name}#/steps/{index}"
        if isinstance(step, dict):
            _take(said, step, where)
        else:
            said.complaints.note(where, "expected a JSON object")
    return _reading(said)


def read_cursor_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a JSONL file of Cursor events."""
    said = _Session(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    return _reading(said)


def _reading(said: _Session) -> Reading:
    if said.result is None:
        said.ending = ("no_result_event",)
    elif said.result.get("subtype") not in (None, "success"):
        said.ending = (f"result_{str(clean(said.result['subtype']))[:60]}",)
    said.session(said.init.get("session_id"))
    said.model = text_at(said.init, "model")
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    tokens = count_at(at(said.result, "usage"), *names)
    return said.reading(FORMAT, declared_tokens=tokens or None)


def _take(said: _Session, event: Mapping[str, Any], where: str) -> None:
    kind = event.get("type")
    is_agents = kind in ("thinking", "assistant", "tool_call")
    said.at(where, from_milliseconds(event.get("timestamp_ms")), by_agent=is_agents)
    if is_placeholder(event):
        said.flags[TRIMMED] = None
        said.add_gap()
    elif event.get("source") == "malformed":
        said.note("a line that the harness could not read")
    elif kind == "system" and event.get("subtype") == "init":
        said.init = said.init or event
        said.cwd = text_at(said.init, "cwd")
    elif kind == "result":
        said.result = event
    elif kind == "tool_call":
        _take_call(said, event)


def _take_call(said: _Session, event: Mapping[str, Any]) -> None:
    """Log a call, or complete the one that was started under its id."""
    stated = event.get("tool_call")
    is_cut = preview_of(stated) is not None
    if is_cut:
        said.flags[TRUNCATED] = None
    name, sure = _tool(whole_or_rest(stated, keep_cut_text=False))
    if name is None and is_cut:
        return
    _, seen = _tool(whole_or_rest(stated, keep_cut_text=True)) if is_cut else (name, sure)
    is_done = event.get("subtype") == "completed"
    result = result_of(seen.get("result"), is_cut) if is_done else None
    call_id = text_at(event, "call_id") or said.where
    begun = said.next_waiting(call_id)
    if result is None or begun is None or begun.result is not None or begun.name != name:
        said.begin_step()
        said.call(name, sure.get("args"), call_id, result=result)
        return
    arguments = arguments_of(sure.get("args"))
    if len(arguments) > len(begun.arguments):
        said.touch(call_id, None, arguments)
    said.join(call_id, result)


def _tool(tool_call: Any) -> tuple[str | None, Mapping[str, Any]]:
    for name, body in dict_of(tool_call).items():
        if isinstance(body, dict) and text_of(name):
            return text_of(name), body
    return None, {}


# --------------------------------------------------------------------------------------------------
# Transcripts.

TRANSCRIPT: Final = "cursor-transcript"
_ENDINGS: Final = {"success": (), None: ("no_result_event",)}
_SERVERS: Final = {"CallMcpTool": "server", "CallDynamicTool": "namespace"}
"""Tools that call one of a server, and the argument that names the server."""


def read_cursor_transcript(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the transcript of an agent."""
    said = Transcript(name, harness="cursor")
    ended: str | None = None
    for entry, where in said.complaints.objects(lines):
        is_agents = entry.get("role") == "assistant"
        said.at(where, by_agent=is_agents)
        if entry.get("type") == _TURN_ENDED:
            ended = text_at(entry, "status") or "unknown"
            continue
        content = at(entry, "message", "content")
        ended = None
        if entry.get("role") == "user":
            said.heard(blocks_text(content))
        if not is_agents:
            continue
        said.spoke(blocks_text(content))
        for n, block in enumerate(list_of(content)):
            if dict_of(block).get("type") == "tool_use":
                said.call(*_called(dict_of(block)), inside=f"#{n}")
    said.ending = _ENDINGS.get(ended, (f"result_{str(clean(ended))[:60]}",))
    return said.reading(TRANSCRIPT)


def _called(block: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Return the name and the arguments of a call; that of a server's tool lies inside another."""
    name, given = text_at(block, "name"), block.get("input")
    tool, server = text_at(given, "toolName"), text_at(given, _SERVERS.get(name or "", ""))
    if name not in _SERVERS or tool is None:
        return name, given
    return f"mcp__{server or 'unknown'}__{tool}", at(given, "arguments")


_TURN_ENDED: Final = "turn_ended"


def _is_transcript_line(line: Mapping[str, Any]) -> bool:
    if line.get("type") == _TURN_ENDED:
        return line.keys() <= {"type", "status", "error"}
    is_message = line.get("role") in ("user", "assistant") and "type" not in line
    return is_message and isinstance(at(line, "message", "content"), list)


def _is_cursor_event(event: Mapping[str, Any]) -> bool:
    kind = event.get("type")
    if kind in ("tool_call", "thinking"):
        return True
    # An assistant's line with a message id is Claude Code's.
    is_claude = text_of(dict_of(event.get("message")).get("id"))
    return kind == "assistant" and "model_call_id" in event and not is_claude


def _may_be_cursor_event(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "system" and event.get("subtype") == "init"


def _is_cursor_document(document: Mapping[str, Any]) -> bool:
    version = text_of(document.get("schema_version")) or ""
    return version.lower().startswith("cursor-jsonl-v1")


_EXAMPLE: tuple[Mapping[str, Any], ...] = (
    {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w"},
    {
        "type": "tool_call",
        "subtype": "started",
        "call_id": "c",
        "tool_call": {"globToolCall": {"args": {"globPattern": "*.py"}}},
    },
    {
        "type": "tool_call",
        "subtype": "completed",
        "call_id": "c",
        "tool_call": {"globToolCall": {"result": {"success": {"files": ["/w/a.py"]}}}},
    },
    {"type": "result", "subtype": "success"},
)

_COUNTERS = (
    "The totals that the last line states for the run, the cached tokens beside the input; whether "
    "sub-agents are in them is not known. No cost is kept."
)
_SOURCE = "Cursor CLI, which is closed: files seen, which state no version"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_cursor_event,
        read=read_cursor_lines,
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be_cursor_event,
        priority=1,
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    "cursor-jsonl-v1",
    DocumentFormat(
        recognises=_is_cursor_document,
        read=read_cursor_document,
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        example={"schema_version": "cursor-jsonl-v1", "steps": list(_EXAMPLE)},
    ),
)
FORMATS.add(
    TRANSCRIPT,
    LineFormat(
        recognises=_is_transcript_line,
        read=read_cursor_transcript,
        counters="none: a transcript keeps no tokens and no cost",
        source=(
            "parts of transcripts that others published, among them of 2026.07.09; Cursor is "
            "closed and could not be run"
        ),
        sub_agent_files=("../{name}/subagents/*.jsonl",),
        has_workdirs=False,
        example=(
            {
                "role": "user",
                "message": {"content": [{"type": "text", "text": "Where is it set?"}]},
            },
            {
                "role": "assistant",
                "message": {
                    "content": [
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "name": "Read", "input": {"path": "/w/a.py"}},
                    ]
                },
            },
            {"type": _TURN_ENDED, "status": "success"},
        ),
    ),
)
