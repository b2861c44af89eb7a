"""Messages of LangChain and LangGraph: a state, or one message a line.

They come as ``messages_to_dict`` writes them (``{"type": "ai", "data": {…}}``), as their fields
alone (``{"type": "ai", "content": …}``), and as the constructors of ``dumpd`` (``{"lc": 1, "id":
[…, "AIMessage"], "kwargs": {…}}``); states and snapshots of a graph hold them below ``messages``.
A message that several states repeat counts once, by its id or those of its calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    dialect_of,
    harness_of,
    read_nothing,
)
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.messages import function_arguments, log_message
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import Item, openai_usage
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    blocks_text,
    dict_at,
    dict_of,
    dicts_at,
    is_picture,
    list_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import like
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# deepagents: files of a virtual root, a heading above what a read shows, lists of Python.

_HEADING: Final = re.compile(
    r"(?:[^\n]{0,2000}\n){0,9}?"
    r"@@ lines (\d{1,9})-(\d{1,9})(?: of (\d{1,9}))?(?: \| [^\n|]{1,80}){0,4} @@\n"
)
_STATUS: Final = re.compile(
    r"\n\[Command (?:succeeded|failed) with exit code (-?\d{1,9})\]"
    r"(\n\[Output was truncated due to size limits\])?\s*\Z"
)
_EXIT_CODE: Final = re.compile(r"\n\nExit code: -?\d{1,9}\s*\Z")
_CUT: Final = re.compile(r"\n\n\.\.\. Output truncated at \d{1,12} bytes\.\s*\Z")
_OMITTED: Final = re.compile(r"\.\.\. \[\d{1,9} lines truncated\] \.\.\.")
_NUMBER: Final = re.compile(r"\A\d{1,9}  ?")
_STDERR: Final = re.compile(r"^\[stderr\] ", re.MULTILINE)
_BELOW: Final = "\n\n[stderr] "
_LATE: Final = "Error: Command timed out after "
_TOO_LARGE: Final = "Tool result too large, the result of this tool call "
_PREVIEW: Final = "\n\nHere is a preview"
_LONGEST_OPENING: Final = 20_000
_FILE: Final = re.compile(r"(\S[^\n]{0,4096}):")
_MATCH: Final = re.compile(r" {2}(\d{1,9})([:-]) (.*)")


def recognises(call: ToolCall) -> bool:
    """Whether the heading of a read or the last line of a command is this harness's."""
    text = call.result.text if call.result is not None else ""
    if call.name == "read_file":
        return text[:_LONGEST_OPENING].startswith("@@ ") and _HEADING.match(text) is not None
    return call.name == "execute" and _STATUS.search(text[-400:]) is not None


def answer(call: ToolCall) -> ToolResult:
    r"""Return what a file or a command showed, without the harness's words around it.

    Examples
    --------
    >>> shown = ToolResult("@@ lines 3-3 of 9 | next offset 3 @@\nc = 3")
    >>> found = answer(ToolCall("1", "read_file", {"file_path": "/a.py"}, shown))
    >>> found.text, found.structured["file"]
    ('c = 3', {'startLine': 3, 'numLines': 1, 'totalLines': 9})
    >>> shown = ToolResult("a\n\n[stderr] b\n\nExit code: 1\n[Command failed with exit code 1]")
    >>> answer(ToolCall("1", "execute", {}, shown)).text
    'a\nb'
    """
    result = call.result or ToolResult("")
    if result.text.startswith(_TOO_LARGE):
        return _saved(call, result)
    match call.name:
        case "read_file":
            return _read(result)
        case "grep" if call.arguments.get("output_mode") == "content":
            return replace(result, text=_searched(result.text))
        case "ls" | "glob" if result.text.startswith("["):
            return replace(result, text=result.text.partition("]\n\n")[0].rstrip("]") + "]")
        case "execute":
            return _executed(result)
        case _:
            return result


def _read(result: ToolResult) -> ToolResult:
    heading = _HEADING.match(result.text[:_LONGEST_OPENING])
    if heading is None:
        return result
    first, last = int(heading[1]), int(heading[2])
    file = {"startLine": first, "numLines": max(1, last - first + 1)}
    total = {"totalLines": int(heading[3])} if heading[3] and "mid-line" not in heading[0] else {}
    text = result.text[heading.end() :]
    return replace(result, text=text, structured={"file": {**file, **total}})


def _searched(text: str) -> str:
    """Return matches, which stand indented below their file, as grep prints them."""
    lines, file = [], ""
    for line in text.split("\n"):
        found = _MATCH.fullmatch(line)
        if found is not None and file:
            lines.append(f"{file}{found[2]}{found[1]}{found[2]}{found[3]}")
        elif (heading := _FILE.fullmatch(line)) is not None:
            file = heading[1]
        elif line.strip() != "--":
            lines.append(line)
    return "\n".join(lines)


def _executed(result: ToolResult) -> ToolResult:
    text = result.text
    status = _STATUS.search(text[-400:])
    code = int(status[1]) if status is not None else None
    text = _STATUS.sub("", text) if status is not None else text
    if text.startswith(_LATE):
        return replace(result, text="", is_error=True, is_unfinished=True)
    text = _EXIT_CODE.sub("", text)
    is_cut = status is not None and status[2] is not None
    if _CUT.search(text[-400:]) or is_cut:
        text = f"{_CUT.sub('', text)}\n{CUT_HERE}"
    text = _STDERR.sub("", text.replace(_BELOW, _BELOW[1:], 1))
    return replace(result, text=text, is_error=result.is_error or bool(code))


def _saved(call: ToolCall, result: ToolResult) -> ToolResult:
    """Return what the preview of a result shows that was too large."""
    head, _, preview = result.text.partition(_PREVIEW)
    place = head.partition("at this path: ")[2].split("\n", 1)[0].strip()
    rows = preview.partition("\n\n")[2].strip("\n").split("\n")
    shown = [CUT_HERE if _OMITTED.fullmatch(row) else _NUMBER.sub("", row) for row in rows]
    if CUT_HERE not in shown:
        shown.append(CUT_HERE)
    inner = replace(result, text="\n".join(shown))
    return replace(_executed(inner) if call.name == "execute" else inner, saved_to=place or None)


DIALECTS.add(
    "deepagents",
    Dialect(
        harnesses=frozenset({"deepagents"}),
        delegating=frozenset({"task"}),
        recognises=recognises,
        answer=answer,
        keeps_shell=False,
        refusals=(
            r"Error: permission denied for (?:read|write|\w{1,12}) on ",
            r"Tool call \w{1,80} with id \S{1,200} (?:could not be executed|did not complete)\b",
            r"\S{1,80} is not a valid tool, try one of \[",
            r"Error invoking tool '",
        ),
        failures=(r"Error: File '[^'\n]{1,4096}' not found",),
        empty=(r"System reminder: File exists but has empty contents",),
        saved_files=(r"/large_tool_results/[^/\s]{1,300}",),
        cut=(
            "a read says in its heading which lines it shows, 100 by default; a long answer is "
            "saved below /large_tool_results and a preview of its head and tail shown; a command "
            "is cut at 100,000 bytes, with a note"
        ),
        finished=(
            "the status of the message, but a command that failed or timed out is a success, whose "
            "exit status stands behind its output; what was printed before a timeout is lost"
        ),
        delegated="task; the messages of a sub-agent are not in the state, its spans are",
        source="deepagents 0.7.32, read in its source and run",
        tools=(Tool(("execute",), "other", read_nothing, is_shell=True),),
    ),
)


# --------------------------------------------------------------------------------------------------
# Messages of LangChain and LangGraph: a state, or one message a line.

FORMAT: Final = "langchain-messages"

_KINDS: Final[Mapping[str, str]] = {
    "ai": "ai",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "human": "human",
    "HumanMessage": "human",
    "tool": "tool",
    "ToolMessage": "tool",
    "system": "system",
    "SystemMessage": "system",
}
_HOLDERS: Final = (
    "messages",
    "values",
    "channel_values",
    "checkpoint",
    "kwargs",
    "state",
    "output",
)
"""Members of states, snapshots and checkpoints below which messages lie."""
_DEEPEST: Final = 6
_SUMMARY: Final = "Here is a summary of the conversation to date:"

_Message = tuple[str, Mapping[str, Any]]


class _Messages(Transcript):
    """The transcript of messages, and what a model called so that it could not be read."""

    def __init__(self, name: str) -> None:
        super().__init__(name, holds_run=False)
        self.invalid: dict[str, str] = {}


def read_langchain_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of lines that are messages, or states that hold some."""
    said = _Messages(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    return _reading(said)


def read_langchain_document(document: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of a state that holds messages."""
    said = _Messages(name)
    _take(said, document, name)
    return _reading(said)


def _reading(said: _Messages) -> Reading:
    for call_id, text in said.invalid.items():
        said.join(call_id, ToolResult(text, is_error=True, is_unfinished=True))
    items = said.items()
    harness = harness_of(item for item in items if isinstance(item, ToolCall))
    dialect = dialect_of(harness)
    answer = dialect.answer if dialect is not None else None
    if answer is not None:
        seen = (
            replace(item, result=answer(item))
            if isinstance(item, ToolCall) and item.result is not None
            else item
            for item in items
        )
        items = like(items, Item, seen)
    return said.reading(FORMAT, items=items, harness=harness)


def _take(said: _Messages, value: Mapping[str, Any], where: str) -> None:
    for message, place in _messages(value, where, _DEEPEST):
        known = _message(message)
        if known is None:
            said.complaints.note(place, "expected a message")
            continue
        said.at(place)
        _take_message(said, *known)


def _messages(value: Any, where: str, depth: int) -> Iterator[tuple[Any, str]]:
    """Yield what stands where messages are expected, and its place."""
    entry = dict_of(value)
    if _message(entry) is not None:
        yield entry, where
        return
    holders = list(_HOLDERS)
    if len(entry) == 1:  # A stream of updates names the node before its state.
        holders += [key for key in entry if key not in _HOLDERS]
    for name in holders if depth else ():
        inner, place = entry.get(name), f"{where}/{name}"
        if isinstance(inner, dict):
            yield from _messages(inner, place, depth - 1)
        elif name == "messages":
            for n, message in enumerate(list_of(inner)):
                yield message, f"{place}/{n}"


def _message(value: Any) -> _Message | None:
    """Return the kind and the fields of a message in any of its forms, None for another value."""
    entry = dict_of(value)
    names = list_of(entry.get("id")) if entry.get("type") == "constructor" else []
    kind = text_of(names[-1]) if names else text_at(entry, "type")
    fields = entry.get("kwargs") if names else entry.get("data", entry)
    if kind is None or kind not in _KINDS:
        return None
    if not isinstance(fields, dict) or "content" not in fields:
        return None
    return _KINDS[kind], fields


def _take_message(said: _Messages, kind: str, fields: Mapping[str, Any]) -> None:
    text = blocks_text(fields.get("content"))
    match kind:
        case "ai":
            said.has_agent = True
            said.spoke(text)
            _take_answer(said, fields)
        case "tool":
            said.heard(text, is_users=False)
            said.answer(fields.get("tool_call_id"), _result(fields, text))
        case "human":
            said.heard(text)
            if text.startswith(_SUMMARY):
                said.note_summary()


def _take_answer(said: _Messages, fields: Mapping[str, Any]) -> None:
    """Log the calls of a model's message and what it used."""
    about = dict_at(fields, "response_metadata")
    said.model = text_at(about, "model_name") or text_at(about, "model") or said.model
    counts = (fields.get("usage_metadata"), about.get("token_usage"), about.get("usage"))
    usage = next(filter(None, (openai_usage("", stated) for stated in counts)), None)
    if usage is not None:
        said.used(fields.get("id"), usage.prompt, usage.output)
    said.begin_step()
    calls, invalid = dicts_at(fields, "tool_calls"), dicts_at(fields, "invalid_tool_calls")
    for call in calls:
        said.call(call.get("name"), call.get("args"), call.get("id"))
    for call in invalid:
        made = said.call(call.get("name"), function_arguments(call.get("args")), call.get("id"))
        if made is not None:
            said.invalid[made.call_id] = text_at(call, "error") or ""
    beside = dict_at(fields, "additional_kwargs")
    if not calls and not invalid and (beside.get("tool_calls") or beside.get("function_call")):
        # Before tool calls had a field of their own they stood as the model's interface has them.
        log_message(said, {**beside, "role": "assistant"})


def _result(fields: Mapping[str, Any], text: str) -> ToolResult:
    is_error = fields.get("status") == "error"
    shown = {"type": "image"} if is_picture(fields.get("content")) else None
    return ToolResult(text, shown, is_error, is_unfinished=is_error and is_refusal(text))


def _proves(value: Mapping[str, Any]) -> bool:
    """Whether a value holds a message with a call, or the answer to one."""
    return any(_is_of_call(message) for message, _ in _messages(value, "", _DEEPEST))


def _is_of_call(value: Any) -> bool:
    kind, fields = _message(value) or ("", {})
    if kind == "tool":
        return text_of(fields.get("tool_call_id")) is not None
    stated = [*dicts_at(fields, "tool_calls"), *dicts_at(fields, "invalid_tool_calls")]
    return kind == "ai" and any("args" in call for call in stated)


def _may_be(value: Mapping[str, Any]) -> bool:
    return any((_message(message) or ("",))[0] == "ai" for message, _ in _messages(value, "", 3))


_CALL: Final = {"name": "read_file", "args": {"path": "a.py"}, "id": "c", "type": "tool_call"}
_USED: Final = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"type": "human", "data": {"content": "Where is the limit set?"}},
    {
        "type": "ai",
        "data": {
            "content": "",
            "id": "m",
            "tool_calls": [_CALL],
            "usage_metadata": _USED,
            "response_metadata": {"model_name": "m"},
        },
    },
    {"type": "tool", "data": {"content": "x = 1", "tool_call_id": "c", "status": "success"}},
)
_COUNTERS: Final = (
    "each answer's own usage, the cached tokens inside the input; those of sub-agents are not there"
)
_SOURCE: Final = "langchain-core 1 as deepagents 0.7.32 uses it, run"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_proves,
        read=read_langchain_lines,
        example=_EXAMPLE,
        keeps=("tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be,
    ),
)
FORMATS.add(
    "langchain-state",
    DocumentFormat(
        recognises=_proves,
        read=read_langchain_document,
        example={
            "messages": [{**dict_of(line["data"]), "type": line["type"]} for line in _EXAMPLE]
        },
        keeps=("tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be,
        file_names=("messages.json", "state.json"),
    ),
)
