"""Mistral Vibe's journal of a session: what the model was sent and answered, each message once.

What ``--output json`` prints is no trace: it holds each effect without a mark, also of a call in
a program that the model wrote, of which it was given what the program returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.codex import read_cell
from retrieval_eval.agents.traces.formats.messages import function_arguments
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    from_milliseconds,
    status_of,
    text_at,
)
from retrieval_eval.io.files import Line, decode, read_json
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Mistral Vibe: answers as JSON, of a large one an excerpt beside the file that holds it.

HARNESS: Final = "mistral-vibe"

_LARGE: Final = "<system>The tool output is large."
_SAVED: Final = re.compile(r"saved to the file system under (\S{1,4096}?)\.\n")
_EXCERPT: Final = ("<truncated-output>\n", "\n</truncated-output>")
_OMITTED: Final = re.compile(r"\n?\[\.\.\. \d{1,15} characters omitted \.\.\.\]\n?")
_NOT_RUN: Final = "InvalidToolCall"
_LONGEST_HEADING: Final = 8000


def answer(call: ToolCall) -> ToolResult:
    r"""Return what a call showed, without the object that it stands in.

    Examples
    --------
    >>> shown = '{"returncode": 1, "stdout": "a\\n", "stderr": "", "timed_out": false}'
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(shown)))
    >>> found.text, found.is_error, found.structured
    ('a\n', True, {'exit_code': 1})
    """
    result = call.result or ToolResult("")
    text = result.text
    if text.startswith(_LARGE):
        saved = _SAVED.search(text[:_LONGEST_HEADING])
        text = text.partition(_EXCERPT[0])[2].rpartition(_EXCERPT[1])[0]
        result = replace(result, text=_cut(text), saved_to=saved[1] if saved is not None else None)
    value = dict_of(decode(text)[0])
    failed = dict_at(value, "result", "error")
    if failed:
        said, is_refused = text_at(failed, "message"), failed.get("name") == _NOT_RUN
        return replace(result, text=said or "", is_error=True, is_unfinished=is_refused)
    if call.name == "bash" and "stdout" in value:
        return _printed(result, value)
    if call.name == "read_file" and "content" in value:
        return _read(call, result, value)
    return result


def _printed(result: ToolResult, value: Mapping[str, Any]) -> ToolResult:
    shown = _cut(text_at(value, "stdout") or "")
    if value.get("was_truncated") is True and CUT_HERE not in shown:
        shown = f"{shown}\n{CUT_HERE}"
    errors = text_at(value, "stderr") or ""
    code = status_of(value.get("returncode"))
    is_late = value.get("timed_out") is True
    return replace(
        result,
        text=f"{shown}{errors}" if shown.endswith("\n") or not shown else f"{shown}\n{errors}",
        structured=None if code is None else {"exit_code": code},
        is_error=is_late or bool(code),
        is_stopped=is_late and bool(shown.strip()),
        is_unfinished=is_late and not shown.strip(),
    )


def _read(call: ToolCall, result: ToolResult, value: Mapping[str, Any]) -> ToolResult:
    text = _cut(text_at(value, "content") or "")
    first, shown = count_at(value, "offset") + 1, count_at(value, "lines_read")
    file = {"startLine": first, "numLines": shown, "totalLines": count_at(value, "total_lines")}
    # A folder is answered as a file whose lines are its names.
    is_file = shown > 0 and "\0" not in text and looks_like_file(str(call.arguments.get("path")))
    return replace(result, text=text, structured={"file": file} if is_file else None)


def _cut(text: str) -> str:
    return _OMITTED.sub(f"\n{CUT_HERE}\n", text)


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "vibe"}),
        delegating=frozenset({"task", "delegate"}),
        saved_files=(r"/\.vibe/logs/session/[^\s]{1,300}/tool-results/[^/\s]{1,300}",),
        answer=answer,
        keeps_shell=False,
        cut=(
            "A read states which lines it shows and how many there are. Of an answer above 16,000 "
            "characters the model is given the ends of each long text, with a note between them "
            "of how many characters were left out, and the name of the file that holds the whole."
        ),
        finished=(
            "A call that failed is answered with an error, InvalidToolCall where it did not run; "
            "a command states its status and whether its time was over."
        ),
        delegated="No sub-agent was seen.",
        source="sessions, printed output and requests of 3.0.3 compared",
        tools=(
            Tool(("run_typescript",), "other", read_cell),
            Tool(
                ("search_tool_functions", "unified_harness_scratchpad"),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Mistral Vibe's journal of a session: what the model was sent and answered, each message once.

JOURNAL: Final = "vibe-journal"
_VERSION: Final = "recovery_journal_record_version"
_FILE: Final = "file://"
_INSTRUCTIONS: Final = re.compile(
    r"<vibe_warning>\nContents of ([^\n]{1,4096}?) \(project instructions [^\n)]{0,200}\):\n"
    r"[\s\S]*?\n</vibe_warning>\n?"
)
_OF_PROJECT: Final = re.compile(r"^Contents of ([^\n]{1,4096}\.md):$", re.MULTILINE)
_FOLDER: Final = re.compile(r"^Absolute path: (/[^\n]{0,4096})$", re.MULTILINE)
_CLOCK: Final = ("input", "determinism", "time_unix_ms")


def read_journal(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the records of a journal."""
    said = Transcript(name, answer=answer, harness=HARNESS, holds_run=True, is_native=True)
    now: float | None = None
    is_open = False
    for record, where in said.complaints.objects(lines):
        payload = dict_at(record, "payload")
        result = dict_at(payload, "result", "result")
        if record.get("type") == "core_input":
            now = from_milliseconds(at(payload, *_CLOCK)) or now
            said.until(now)
        elif payload.get("kind") == "completion":
            sent = dict_at(payload, "request", "model_input", "messages")
            said.at(where, now if sent.get("type") == "append" else None, starts=True)
            _sent(said, sent)
            is_open = True
        elif record.get("type") == "action_result" and "parts" in result:
            said.at(where, now, by_agent=True)
            is_open = _answered(said, result)
    said.ending = ("no_result_event",) if is_open else ()
    return said.reading(JOURNAL)


def _sent(said: Transcript, stated: Mapping[str, Any]) -> None:
    """Log the messages that are new in what the model is sent."""
    is_history = stated.get("type") != "append"
    if said.has_agent and is_history:
        said.note_summary()
    for message in dicts_at(stated, "messages"):
        text = blocks_text(message.get("content"))
        if message.get("role") == "tool":
            is_error = message.get("outcome") != "success"
            given = None if is_error else _INSTRUCTIONS.match(text)
            if given is not None:
                # They stand in the place of what the call was to show.
                said.attach(given[1], "instructions", call_id=message.get("tool_call_id"))
                text = text[given.end() :]
            said.answer(message.get("tool_call_id"), ToolResult(text, None, is_error))
        elif message.get("role") == "assistant" and is_history:
            # A resumed run is sent calls of which the journal has no more.
            _take_calls(said, dicts_at(message, "content"), "/content", "arguments")
        elif message.get("role") == "user":
            said.heard(text, is_users=True)
            for block in dicts_at(message, "content"):
                address = text_at(block, "resource", "uri") or ""
                if address.startswith(_FILE):
                    said.attach(unquote(address.removeprefix(_FILE)), "named in the prompt")
        elif message.get("role") == "system":
            folder = _FOLDER.search(text)
            said.cwd = folder[1] if folder is not None else said.cwd
            for path in _OF_PROJECT.findall(text):
                said.attach(path, "instructions")


def _answered(said: Transcript, result: Mapping[str, Any]) -> bool:
    """Log an answer of the model; return whether the run goes on behind it."""
    parts = [*dicts_at(result, "parts")]
    said.spoke("\n".join(text_at(part, "text") or "" for part in parts))
    usage = dict_at(result, "usage")
    said.used(None, count_at(usage, "input_tokens"), count_at(usage, "output_tokens"))
    return _take_calls(said, parts, "/parts", "arguments_json")


def _take_calls(
    said: Transcript, parts: Iterable[Mapping[str, Any]], inside: str, stated_in: str
) -> bool:
    """Log the calls in parts of a message; return whether there are any."""
    calls = [part for part in parts if part.get("type") == "tool_call"]
    for number, call in enumerate(calls):
        stated = call.get(stated_in)
        given = dict_of(stated).get("value", stated) if stated_in == "arguments" else stated
        arguments = _own(function_arguments(given))
        said.call(call.get("name"), arguments, call.get("id"), inside=f"{inside}/{number}")
    return bool(calls)


def _own(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments with lines counted from 1, as elsewhere."""
    offset = status_of(arguments.get("offset"))
    return arguments if offset is None else {**arguments, "offset": offset + 1}


def _placed(path: Path, root: Path, reading: Reading) -> Reading:
    """Add what the file beside the journal's folder states of the session."""
    about = dict_of(read_json(path.parent.parent / "meta.json", root).value)
    return replace(
        reading,
        model=text_at(about, "config", "model_name"),
        session_ids=frozenset(filter(None, [text_at(about, "session_id")])),
    )


def _is_record(line: Mapping[str, Any]) -> bool:
    return _VERSION in line and isinstance(line.get("payload"), dict)


_COMPLETION: Final[Mapping[str, Any]] = {
    "action_id": "a",
    "result": {
        "finish_reason": "tool_call",
        "parts": [
            {
                "type": "tool_call",
                "id": "c",
                "name": "read_file",
                "arguments_json": '{"path": "a.py"}',
            }
        ],
        "usage": {"input_tokens": 9, "output_tokens": 1},
    },
    "type": "completion_succeeded",
}
_SENT: Final[Mapping[str, Any]] = {
    "role": "tool",
    "tool_call_id": "c",
    "outcome": "success",
    "content": [{"type": "text", "text": '{"content":"x = 1\\n","offset":0,"lines_read":1}'}],
}
FORMATS.add(
    JOURNAL,
    LineFormat(
        recognises=_is_record,
        read=read_journal,
        placed=_placed,
        folders=("journal", "unified"),
        keeps=("times", "tokens", "model"),
        counters="Tokens of each answer, cached ones inside the input; of the newest run alone.",
        priority=3,
        example=(
            {
                _VERSION: 1,
                "type": "action_result",
                "payload": {"action_id": "a", "result": _COMPLETION, "state": "succeeded"},
            },
            {
                _VERSION: 1,
                "type": "action_intent",
                "payload": {
                    "kind": "completion",
                    "request": {
                        "model_input": {"messages": {"type": "append", "messages": [_SENT]}}
                    },
                },
            },
        ),
    ),
)
