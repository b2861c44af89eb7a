"""Continue's sessions: a history whose entries hold calls with their results.

An entry holds a message and, of an assistant's, the state of each call: what it was answered and
how it ended. What a command prints while it runs is kept in its state before the model is given it.
A summary replaces the history. Nothing states a time or a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.results.grep import read_grep
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    text_at,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Continue: headings above what its tools show, and notes where it was cut.

HARNESS: Final = "continue"

_ERROR: Final = re.compile(r"Error executing tool [^\n:]{1,200}: ")
_STATUS: Final = re.compile(r"Error \(exit code (-?\d{1,9})\): ")
_CONTENT: Final = re.compile(r"Content of [^\n]{1,4096}:\n")
_FILES: Final = re.compile(r"Files in [^\n]{1,4096}:\n")
_ENTRY: Final = re.compile(r" \((?:file|(directory))(?:, \d{1,15} bytes)?\)$", re.MULTILINE)
_FOUND: Final = re.compile(r"Search results for pattern [^\n]{1,4096}:\n\n")
_WARNING: Final = re.compile(r"Warning during search: [^\n]{1,4000}\n{1,3}")
_RESULTS_CUT: Final = re.compile(r"\n\n\[Results truncated: [^\]\n]{1,200}\]\s*\Z")
_BEFORE: Final = re.compile(r"\((?:previous [^)\n]{1,200}|[^)\n]{1,100} lines truncated)\)\n\n")
_BEHIND: Final = re.compile(r"\n\n\([\d,]{1,20} characters(?: of [^)\n]{1,100})? truncated\)\s*\Z")
_LATE: Final = re.compile(r"\n\n\[Command timed out after [\d.]{1,12} seconds of no output\]\s*\Z")
_LATER: Final = re.compile(r"Command moved to background\. Job ID: [^\n]{1,200}\nOutput so far:\n")
_JOB: Final = re.compile(r"\nUse CheckBackgroundJob\([^\n]{1,200}\Z")
_ERRORS: Final = "\nStderr: "
_LONGEST_NOTE: Final = 5000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the headings and notes of Continue.

    Of a command that failed only what it wrote to stderr was shown, if that is not empty.

    Examples
    --------
    >>> failed = ToolResult("Error executing tool Bash: Error (exit code 3): bad\n", None, True)
    >>> result = answer(ToolCall("c", "Bash", {"command": "cat a; exit 3"}, failed))
    >>> result.text, result.structured, result.is_unfinished
    ('bad\n', {'exit_code': 3}, False)
    """
    result = call.result or ToolResult("")
    if call.name == "Bash":
        return _printed(result)
    if result.is_error:
        return result
    text = result.text
    if call.name in ("Read", "read_file"):
        heading = _CONTENT.match(text)
        text = _cut(text[heading.end() :] if heading is not None else text)
        return replace(result, text=text, structured={"content": text})
    if call.name == "List":
        heading = _FILES.match(text)
        listed = text[heading.end() :] if heading is not None else text
        return replace(result, text=_ENTRY.sub(lambda m: "/" if m[1] else "", listed))
    if call.name.startswith("mcp__"):
        return replace(result, text=blocks_text(decode(text)[0]) or text)
    if call.name != "Search":
        return result
    opening = _FOUND.match(text) or _WARNING.match(text[:_LONGEST_NOTE])
    if opening is None:
        return result
    shown = _RESULTS_CUT.sub(f"\n{CUT_HERE}", text[opening.end() :])
    return replace(result, text=shown, structured={"mode": "content"})


def _cut(text: str) -> str:
    before = _BEFORE.match(text)
    text = f"{CUT_HERE}\n{text[before.end() :]}" if before is not None else text
    behind = _BEHIND.search(text, max(0, len(text) - _LONGEST_NOTE))
    return text if behind is None else f"{text[: behind.start()]}\n{CUT_HERE}"


def _printed(result: ToolResult) -> ToolResult:
    text = result.text
    failed = _ERROR.match(text) if result.is_error else None
    if failed is not None:
        text = text[failed.end() :]
        status = _STATUS.match(text)
        if status is None:
            return replace(result, text=text)
        code = {"exit_code": int(status[1])}
        shown = text[status.end() :]
        return replace(result, text=shown, structured=code, is_unfinished=False)
    later = _LATER.match(text)
    if later is not None:
        text = _JOB.sub("", text[later.end() :])
        is_silent = not text.strip()
        return replace(
            result,
            text=_cut(text),
            is_stopped=not is_silent,
            doubt="background" if is_silent else None,
        )
    late = _LATE.search(text, max(0, len(text) - _LONGEST_NOTE))
    text = _cut(text if late is None else text[: late.start()])
    shown, _, errors = text.rpartition(_ERRORS)
    text = shown + errors
    is_silent = late is not None and not text.strip()
    return replace(
        result,
        text=text,
        is_error=result.is_error or late is not None,
        is_stopped=late is not None and not is_silent,
        is_unfinished=result.is_unfinished or is_silent,
    )


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        delegating=frozenset({"Subagent"}),
        keeps_shell=False,
        refusals=(
            r"Command blocked by security policy",
            r"Permission denied by user",
            r"Tool [^\n]{1,200} not found\s*\Z",
            r"Required parameter [^\n]{1,200} missing for tool ",
        ),
        failures=(r"Error executing tool ",),
        answer=answer,
        cut=(
            "A command's output keeps its end, behind a note of how many lines and characters were "
            "removed; a file that is too large is not read at all."
        ),
        finished=(
            "The state of a call is done, errored or canceled. A command that failed shows what it "
            "wrote to stderr alone, or else its output without its status; one that printed "
            "nothing for its time states that below what it printed before."
        ),
        delegated="`Subagent` starts a sub-agent, whose calls the session does not keep.",
        source=(
            "sessions and requests of its command line 1.5.47 compared, and texts of its tools; "
            "what editors add was not seen"
        ),
        tools=(
            Tool(("search",), "code_search", read_grep),
            Tool(("checklist", "check_background_job"), "other", read_nothing, is_retrieval=False),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Continue's sessions: a history whose entries hold calls with their results.

FORMAT: Final = "continue-session"
_ENDED: Final = ("done", "errored", "canceled")
_FILE: Final = "file://"
_BLOCKS: Final = '[{"type":"'


def read_continue(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a session."""
    history = document.get("history")
    if not isinstance(history, list):
        return Unreadable(f"{name}: a session of Continue without a list as its history")
    said = Transcript(name, "entry", answer=answer, harness=HARNESS, holds_run=True, is_native=True)
    said.session(document.get("sessionId"))
    said.cwd = _path(text_at(document, "workspaceDirectory") or "") or None
    said.paid(at(document, "usage", "totalCost"))
    for index, entry in enumerate(history):
        message = dict_at(entry, "message")
        is_agent = message.get("role") == "assistant"
        said.at(f"{name}#/history/{index}", by_agent=is_agent)
        if not message:
            said.note("expected a message")
            said.add_gap()
            continue
        if text_at(entry, "conversationSummary") is not None:
            said.note_summary()
        for item in dicts_at(entry, "contextItems"):
            _attach(said, item)
        if is_agent:
            said.spoke(blocks_text(message.get("content")))
            _take_calls(said, dict_of(entry), message)
    return said.reading(FORMAT)


def _take_calls(said: Transcript, entry: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Log the calls of an answer, of which older versions kept the state of one, and its tokens."""
    states = [*dicts_at(entry, "toolCallStates")] or [dict_at(entry, "toolCallState")]
    known = {text_at(state, "toolCallId"): state for state in states}
    for number, call in enumerate(dicts_at(message, "toolCalls")):
        state = known.get(text_at(call, "id"), {})
        stated = at(call, "function", "arguments")
        parsed = state.get("parsedArgs", decode(stated)[0] if isinstance(stated, str) else stated)
        name, result = text_at(call, "function", "name"), _result(state)
        if name is not None and result is not None and result.text.startswith(_BLOCKS):
            # Only a server's tool is answered so; which server is not stated.
            name = f"mcp__unknown__{name}"
        said.call(
            name,
            parsed if isinstance(parsed, dict) else stated,
            call.get("id"),
            result=result,
            inside=f"/message/toolCalls/{number}",
        )
    usage = dict_at(message, "usage")
    said.model = text_at(usage, "model") or said.model
    said.used(None, count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens"))


def _result(state: Mapping[str, Any]) -> ToolResult | None:
    status = state.get("status")
    if status not in _ENDED:
        return None
    output = "\n".join(text_at(item, "content") or "" for item in dicts_at(state, "output"))
    has_failed = status != "done"
    return ToolResult(output, None, has_failed, is_unfinished=has_failed)


def _attach(said: Transcript, item: Mapping[str, Any]) -> None:
    """Note a file whose content stands beside a prompt, as an editor adds it."""
    path = _path(text_at(item, "uri", "value") or "")
    if path and text_at(item, "content"):
        said.attach(path, "named in the prompt")


def _path(address: str) -> str:
    return unquote(address.removeprefix(_FILE)) if address.startswith(_FILE) else address


def _is_session(document: Mapping[str, Any]) -> bool:
    entries = dicts_at(document, "history")
    has_place = "workspaceDirectory" in document and "sessionId" in document
    return has_place and any(isinstance(entry.get("contextItems"), list) for entry in entries)


_READ: Final[Mapping[str, Any]] = {
    "id": "c",
    "type": "function",
    "function": {"name": "Read", "arguments": '{"filepath": "a.py"}'},
}
FORMATS.add(
    FORMAT,
    DocumentFormat(
        recognises=_is_session,
        read=read_continue,
        keeps=("tokens", "cost", "model"),
        counters=(
            "Tokens of each answer, the cached ones inside the prompt's, and the cost of the "
            "session; resumed runs go on in it, and those of what a summary replaced are not kept."
        ),
        priority=2,
        file_names=("????????-????-????-????-????????????.json",),
        example={
            "sessionId": "s",
            "workspaceDirectory": "/w",
            "history": [
                {"message": {"role": "user", "content": "task"}, "contextItems": []},
                {
                    "message": {
                        "role": "assistant",
                        "content": "",
                        "toolCalls": [_READ],
                        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "model": "m"},
                    },
                    "contextItems": [],
                    "toolCallStates": [
                        {
                            "toolCallId": "c",
                            "status": "done",
                            "output": [{"content": "Content of a.py:\nx = 1"}],
                        }
                    ],
                },
            ],
        },
    ),
)
