"""Cline: histories of messages, and the stream of ``--json``.

Calls are tool blocks or, in older versions, XML in the text. The command line keeps an object with
``messages`` and, beside it, one about the session and one with the messages of each sub-agent; the
extension keeps an array, which is read as lines. In XML a message holds one call, and the next user
message answers it below a line that names the tool. A call of the newest tools does several things,
each with a result of its own, and is read as a call for each.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, arguments_of
from retrieval_eval.agents.traces.results.base import (
    Found,
    Seen,
    distinct,
    integer,
    joined,
    merged_ranges,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import list_names
from retrieval_eval.agents.traces.results.local_files import read_local, read_write
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    from_milliseconds,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Cline: tools whose calls older versions wrote as XML into the assistant's text.

HARNESS: Final = "cline-cli"
DELEGATING: Final = frozenset({"spawn_agent", "use_subagents"})

_COMMAND: Final = re.compile(
    r"\s*Command (?P<how>executed|completed|failed)[^\n]{0,200}\n"
    r"(?:Exit code: (?P<code>-?\d{1,9})[^\n]{0,200}\n)?(?:Output:\n)?",
    re.IGNORECASE,
)
_RUNNING: Final = re.compile(
    r"\s*Command is still running in the user's terminal\.[^\n]{0,300}"
    r"(?:\n(?:Here's the output so far:\n)?)?"
)
_STATUS: Final = re.compile(r"exit code:? (-?\d{1,9})", re.IGNORECASE)
_UPDATED: Final = "You will be updated on the terminal status"
_FEEDBACK: Final = "\n\nThe user provided the following feedback:"
_HEAD: Final = 1000
_NUMBERED: Final = re.compile(r"^ {0,12}(\d{1,9}) \| ?", re.MULTILINE)
_EXITED: Final = re.compile(r"Command exited with code (-?\d{1,9})")
_CUT: Final = re.compile(r"^\[\.\.\. output truncated: [^\]\n]{1,1000}\]$", re.MULTILINE)
_SOME_LINES: Final = re.compile(
    r"\n\n\[Showing lines \d{1,9}-\d{1,9} of \d{1,9}\. [^\]\n]{1,200}\]\s*\Z"
)
_ERRORS: Final = "\n[stderr]\n"
_MOST_SENT: Final = 8000
_END_SENT: Final = 3980
"""Of a longer result the model is sent about so many characters of either end; all are kept."""

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "read_files": ("files", "file_paths", "paths"),
    "search_codebase": ("queries",),
    "run_commands": ("commands", "command", "cmd"),
}
"""Tools that do several things in one call, and the arguments that may list them."""


def operations_of(name: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of each thing that a call does: of a file, a search, or a command.

    Examples
    --------
    >>> operations_of("read_files", {"files": ["a.py", {"path": "b.py", "start_line": 3}]})
    [{'path': 'a.py'}, {'path': 'b.py', 'start_line': 3}]
    >>> operations_of("run_commands", {"commands": ["ls", {"command": "cat", "args": ["a b"]}]})
    [{'command': 'ls'}, {'command': "cat 'a b'"}]
    >>> operations_of("editor", {"path": "a.py"})
    [{'path': 'a.py'}]
    """
    for key in LISTS.get(name, ()):
        stated = arguments.get(key)
        if stated is None:
            continue
        entries = stated if isinstance(stated, list) else [stated]
        found = [_operation(name, entry) for entry in entries]
        return [entry for entry in found if entry] or [dict(arguments)]
    return [dict(arguments)]


def _operation(name: str, entry: Any) -> dict[str, Any]:
    if name == "read_files":
        return {"path": entry} if isinstance(entry, str) else dict(dict_of(entry))
    if name == "search_codebase":
        return {"pattern": entry} if isinstance(entry, str) else {}
    if isinstance(entry, str):
        return {"command": entry}
    words = [entry.get("command"), *list_of(entry.get("args"))] if isinstance(entry, dict) else []
    first, *rest = [word for word in words if isinstance(word, str)] or [""]
    return {"command": " ".join((first, *map(shlex.quote, rest)))} if first else {}


def results_of(content: Any) -> list[ToolResult] | None:
    """Return the result of each thing that a call did, or None for an answer of another form.

    Each states its text, whether it succeeded and, where it did not, why; a command that ran and
    failed keeps its output.

    Examples
    --------
    >>> results_of([{"query": "ls", "result": "a.py", "success": True}])[0].text
    'a.py'
    >>> results_of("a.py") is None
    True
    """
    value = content
    text = blocks_text(content)
    if text[:1] in ("{", "["):
        value = decode(text)[0]
    entries = value if isinstance(value, list) else [value]
    if not entries or not all(
        isinstance(entry, dict) and "query" in entry and "success" in entry for entry in entries
    ):
        return None
    return [_result(entry) for entry in entries]


def _sent(text: str) -> str:
    """Return what the model was sent of a result, without the marks around what it printed."""
    if len(text) > _MOST_SENT:
        text = f"{text[:_END_SENT]}\n{CUT_HERE}\n{text[-_END_SENT:]}"
    ended = re.match(rf"\[{_EXITED.pattern}\]\n", text)
    shown, _, errors = (text if ended is None else text[ended.end() :]).rpartition(_ERRORS)
    return shown + errors


def _result(entry: Mapping[str, Any]) -> ToolResult:
    text = _sent(blocks_text(entry.get("result")))
    if entry.get("success") is True:
        return ToolResult(text)
    error = text_of(entry.get("error")) or ""
    exited = _EXITED.match(error)
    if exited is None:
        return ToolResult(text or error, None, True, is_unfinished=not text)
    return ToolResult(text, {"exit_code": int(exited[1])}, True)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the output of a command without the sentences around it.

    Examples
    --------
    >>> found = answer(ToolCall("1", "execute_command", {}, ToolResult("Command executed.\nx")))
    >>> found.text, found.is_error
    ('x', False)
    """
    result = call.result or ToolResult("")
    if "[... output truncated: " in result.text:
        result = replace(result, text=_CUT.sub(CUT_HERE, result.text, count=1))
    if call.name == "read_files" and not result.is_error:
        text = _SOME_LINES.sub(f"\n{CUT_HERE}", result.text)
        return replace(result, text=_NUMBERED.sub(r"\1: ", text))
    if call.name != "execute_command":
        return result
    head = result.text[:_HEAD]
    ended, running = _COMMAND.match(head), _RUNNING.match(head)
    opening = ended or running
    if opening is None:
        return result
    text = result.text[opening.end() :].split(_UPDATED, 1)[0].split(_FEEDBACK, 1)[0]
    if ended is None:
        text = text.rstrip()
    if ended is None:
        is_silent = not text.strip()
        return replace(
            result, text=text, is_error=True, is_unfinished=is_silent, is_stopped=not is_silent
        )
    status = _STATUS.search(ended[0])
    failed = ended["how"].lower() == "failed" or bool(status and int(status[1]))
    return replace(result, text=text, is_error=result.is_error or failed)


_BAR: Final = "│"
_NOTE: Final = ("Found ", "Showing first ", "[Results ", "(Results ", "(File list truncated")


def read_sections(seen: Seen) -> Found:
    """Return the files whose names stand above lines that begin with a bar.

    Names in matches are relative to the working directory, whatever folder was searched; those of
    definitions to the folder that was requested.
    """
    if is_empty_answer(seen.text) or seen.text.lstrip().startswith("Found 0 "):
        return Found()
    lines = [line.strip() for line in seen.text.split("\n")]
    is_bar = [line.startswith((_BAR, "|")) for line in lines]
    names = [
        line.removeprefix("# ")
        for line, follows, is_own in zip(lines, [*is_bar[1:], False], is_bar, strict=True)
        if line and follows and not is_own and not line.startswith(_NOTE)
    ]
    base = seen.cwd
    if seen.category == "symbol_navigation":
        base = joined(seen.cwd, text_argument(seen.arguments, ("path",)) or ".")
    targets = distinct(RawTarget(joined(base, name), "matched") for name in names)
    return Found(targets, is_opaque=seen.is_truncated or not targets)


_PLACE: Final = re.compile(r"^([^\n]{1,4096}?):(\d{1,9}):\d{1,9}$", re.MULTILINE)


def read_places(seen: Seen) -> Found:
    """Return the files and lines that a search found, each in a line of its own."""
    places = [(found[1], integer(found[2])) for found in _PLACE.finditer(seen.text)]
    is_nothing = is_empty_answer(seen.text) or seen.text.startswith(("Found 0 ", "No results "))
    lines: dict[str, list[int]] = {}
    for path, line in places:
        lines.setdefault(path, []).extend([line] if line else [])
    targets = [
        RawTarget(joined(seen.cwd, path), "matched", None, merged_ranges((n, n) for n in numbers))
        for path, numbers in lines.items()
    ]
    return Found(distinct(targets), is_opaque=not targets and not is_nothing)


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({"cline", HARNESS}),
        delegating=DELEGATING,
        refusals=(
            r"The user denied this operation",
            r"The tool execution failed with the following error",
            r"Access to [^\n]{1,1000} is blocked by the \.clineignore",
            r"Tool \[?\w{1,100}\]? was not executed because a tool has already been used",
        ),
        answer=answer,
        cut=(
            "A long output keeps its beginning and its end, with `[... output truncated: N chars "
            "total ...]` between them; the rest is kept nowhere. Version 3 sends the model the "
            "first and the last 4,000 characters of each result, which the record does not show."
        ),
        finished=(
            "Each thing that a call did states success, and an error where it failed; a command "
            "that exceeded its time limit keeps nothing of what it printed."
        ),
        delegated=(
            "`spawn_agent` starts a sub-agent, whose history is the file agent_*.messages.json "
            "beside the agent's own; the printed stream holds its calls."
        ),
        source=(
            "Cline: responses 008b035, ExtensionMessage 0014234, its SDK's tools 21cb8d2; XML "
            "results from reports; histories and requests of its command line 3.0.65 compared"
        ),
        tools=(
            Tool(("read_files",), "file_read", read_local),
            Tool(("list_files_top_level", "list_files_recursive"), "file_search", list_names),
            Tool(("search_files",), "code_search", read_sections),
            Tool(("search_codebase",), "code_search", read_places),
            Tool(("run_commands",), "other", read_nothing, is_shell=True),
            Tool(("editor",), "file_write", read_write),
            Tool(("list_code_definition_names",), "symbol_navigation", read_sections),
            Tool(("write_to_file", "replace_in_file"), "file_write", read_write),
            Tool(("new_task", "browser_action", "team_*"), "other", read_nothing),
            Tool(("plan_mode_respond", "ask_question"), "other", read_nothing, is_retrieval=False),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Cline: histories of messages, and the stream of ``--json``.

FORMAT = "cline-history"
STREAM = "cline-json"
_NAMED: Final = "named by the prompt"
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "read_file": ("path",),
    "list_files": ("path", "recursive"),
    "search_files": ("path", "regex", "file_pattern"),
    "list_code_definition_names": ("path",),
    "write_to_file": ("path", "content"),
    "replace_in_file": ("path", "diff"),
    "execute_command": ("command", "requires_approval"),
    "use_mcp_tool": ("server_name", "tool_name", "arguments"),
    "access_mcp_resource": ("server_name", "uri"),
    "browser_action": ("action", "url"),
    "ask_followup_question": ("question",),
    "attempt_completion": ("result", "command"),
    "plan_mode_respond": ("response",),
    "new_task": ("context",),
}
"""The tools of older versions, which stand in the text as XML, with their parameters."""

_OPENING = re.compile(r"<(\w{4,40})>\s{0,40}<")
_HEADER = re.compile(r"\[(\w{4,40})(?: for [^\n]{0,4000})?\] Result:[ \t]*\n?")
_FOLDER = re.compile(r"# Current (?:Workspace|Working) Directory \(")
_LONGEST_PATH: Final = 4096
_DETAILS = "<environment_details>"
_FILE_CONTENT: Final = re.compile(
    r'^<file_content path="([^"\n]{1,4096})">\n(?!Error\b)', re.MULTILINE
)


class _History(Transcript):
    """A history's transcript, and what is known of its calls before they are answered."""

    def __init__(self, name: str, unit: str = "message") -> None:
        super().__init__(name, unit, answer=answer, harness=HARNESS, holds_run=True, is_native=True)
        self.names: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.pending: str | None = None


def read_cline_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of the history, or of the description, of a session."""
    if "messages" not in document:
        return _session(document)
    messages = document.get("messages")
    if not isinstance(messages, list):
        return Unreadable(f"{name}: a Cline history without a list of messages")
    said = _History(name)
    origin = dict_at(document, "origin")
    said.version = text_at(origin, "version")
    said.session(document.get("sessionId"), origin.get("parentThreadId"))
    if origin.get("parentThreadId") is not None or document.get("agent") == "subagent":
        # The history of a sub-agent lies beside that of the agent, and shares no call with it.
        said.facts |= {"holds_run": False, "part_of": text_at(origin, "parentThreadId")}
        said.by(text_at(origin, "subagent") or text_at(document, "sessionId") or name)
        said.sub_agents.update(filter(None, (said.agent,)))
    numbered = ((f"/messages/{n}", message) for n, message in enumerate(messages))
    return _reading(said, numbered)


def read_cline_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the messages of an array."""
    return _reading(_History(name), ((f"/{line.number - 1}", line.value) for line in lines))


def _reading(said: _History, messages: Iterable[tuple[str, Any]]) -> Reading:
    for pointer, message in messages:
        is_agent = at(message, "role") == "assistant"
        said.at(f"{said.name}#{pointer}", from_milliseconds(at(message, "ts")), by_agent=is_agent)
        if isinstance(message, dict):
            _take(said, message)
        else:
            said.note("expected an object")
            said.add_gap()
    return said.reading(FORMAT)


# --------------------------------------------------------------------------------------------------
# The stream. Its events name no agent, but the hooks before them do.


class _Stream(_History):
    """A stream's transcript, and which agents are at work."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "line")
        self.parents: dict[str, str | None] = {}
        self.asked: deque[str] = deque()
        """Calls that start a sub-agent, of which the sub-agent has not begun."""


def read_cline_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of a run."""
    said = _Stream(name)
    said.ending = ("no_result_event",)
    for entry, where in said.complaints.objects(lines):
        kind, event = entry.get("type"), dict_at(entry, "event")
        said.at(where, unix_seconds(entry.get("ts")), by_agent=kind == "agent_event")
        if kind == "hook_event":
            _take_hook(said, entry)
        elif kind == "agent_event" and event.get("type") == "usage":
            _take_metrics(said, event)
        elif kind == "agent_event" and event.get("contentType") == "tool":
            _take_tool(said, event)
        elif kind == "run_result":
            said.model = text_at(entry, "model", "id")
            said.ending = () if entry.get("finishReason") == "completed" else ("result_error",)
            if not said.sub_agents:  # The costs leave them out.
                said.paid(at(entry, "usage", "totalCost"))
    return said.reading(STREAM)


def _take_hook(said: _Stream, hook: Mapping[str, Any]) -> None:
    """Note which agent the next events are of."""
    agent, name = text_at(hook, "agentId"), hook.get("hookEventName")
    if agent is None:
        return
    parent = text_at(hook, "parentAgentId")
    if name == "agent_start" and parent is not None:
        said.sub_agents.add(agent)
        if said.asked:
            said.delegated[said.asked.popleft()] = agent
    said.parents[agent] = parent
    acting = parent if name == "agent_end" and parent is not None else agent
    said.by(acting if said.parents.get(acting) is not None else None)


def _written(output: Mapping[str, Any]) -> str:
    try:
        return json.dumps(output)
    except RecursionError:
        return ""


def _take_tool(said: _Stream, event: Mapping[str, Any]) -> None:
    call_id = text_at(event, "toolCallId") or ""
    if event.get("type") == "content_start":
        name = text_at(event, "toolName")
        said.asked.extend([call_id] if name in DELEGATING else ())
        _call(said, {"type": "tool_use", "id": call_id, "name": name, "input": event.get("input")})
    elif event.get("type") == "content_end":
        output = event.get("output")
        content = _written(output) if isinstance(output, dict) else output
        block = {"content": content, "is_error": "error" in event}
        for number, result in enumerate(_results(said, call_id, block)):
            said.answer(call_id if number == 0 else f"{call_id}/{number}", result)


def _session(document: Mapping[str, Any]) -> Reading:
    """Return what the file beside a history states: folder, model and cost.

    Its tokens leave those of sub-agents out, which the messages state.
    """
    usage = dict_at(document, "usage") or dict_at(document, "metadata", "usage")
    model = document.get("model")
    return Reading(
        FORMAT,
        harness=HARNESS,
        model=text_of(clean(model.get("id") if isinstance(model, dict) else model)),
        cwd=text_of(clean(document.get("cwd"))),
        declared_cost_usd=amount_of(usage.get("totalCost", usage.get("cost"))),
        has_agent=False,
        is_native=True,
    )


def _take(said: _History, message: Mapping[str, Any]) -> None:
    stated = message.get("content")
    blocks = [{"type": "text", "text": stated}] if isinstance(stated, str) else list_of(stated)
    blocks = [dict_of(block) for block in blocks]
    if message.get("role") == "assistant":
        said.pending = None
        info = dict_at(message, "modelInfo")
        said.model = text_of(clean(info.get("modelId", info.get("id")))) or said.model
        _take_metrics(said, dict_at(message, "metrics"))
        for block in blocks:
            _call(said, block)
    elif message.get("role") == "user":
        _attach(said, blocks)
        _take_answers(said, blocks)


def _attach(said: _History, blocks: Iterable[Mapping[str, Any]]) -> None:
    """Note the files whose content stands in a message because the prompt names them."""
    for block in blocks:
        if block.get("type") == "file" and text_at(block, "content"):
            said.attach(block.get("path"), _NAMED)
        text = text_at(block, "text") if block.get("type") == "text" else None
        for found in _FILE_CONTENT.finditer(text or ""):
            said.attach(found[1], _NAMED)


def _take_metrics(said: _History, metrics: Mapping[str, Any]) -> None:
    tokens = dict_at(metrics, "tokens") or metrics
    # The input includes what was read from a cache or written to one, as far as it is as large.
    cached = count_at(tokens, "cacheReadTokens", "cacheWriteTokens")
    sent = count_at(tokens, "inputTokens")
    prompt = count_at(tokens, "prompt", "cached") + (sent if sent >= cached else sent + cached)
    output = count_at(tokens, "completion", "outputTokens")
    said.used(None, prompt, output)
    said.paid(metrics.get("cost"))


def _call(said: _History, block: Mapping[str, Any]) -> None:
    if block.get("type") == "text":
        found = _in_text(text_at(block, "text") or "")
        if found is None or said.pending is not None:
            return
        name, arguments, call_id = *found, said.where
        said.pending = call_id
    elif block.get("type") == "tool_use":
        stated = text_at(block, "name")
        if stated is None:
            said.note("a tool call without a name")
            return
        name, arguments = stated, dict(arguments_of(block.get("input")))
        call_id = text_at(block, "id") or said.where
    else:
        return
    said.names[call_id] = name
    called, given = _unwrapped(name, arguments)
    operations = operations_of(called, given)
    said.counts[call_id] = len(operations)
    for number, one in enumerate(operations):
        said.call(called, one, call_id if number == 0 else f"{call_id}/{number}")


def _unwrapped(name: str, arguments: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the call of a server's tool that a call of ``use_mcp_tool`` is."""
    server, tool = text_at(arguments, "server_name"), text_at(arguments, "tool_name")
    if name != "use_mcp_tool" or not server or not tool:
        return name, arguments
    inner = arguments.get("arguments")
    value = decode(inner)[0] if isinstance(inner, str) else inner
    return f"mcp__{server}__{tool}", arguments_of(value if isinstance(value, dict) else inner)


def _in_text(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the first call that a text holds as XML, if its closing tag is there."""
    for found in _OPENING.finditer(text):
        name = found[1]
        if name not in _PARAMETERS:
            continue
        end = text.find(f"</{name}>", found.end() - 1)
        if end < 0:
            return None
        body = text[found.end() - 1 : end]
        values = {p: v for p in _PARAMETERS[name] if (v := _parameter(body, p)) is not None}
        return name, dict(clean(values))
    return None


def _parameter(body: str, name: str) -> str | None:
    start, end = body.find(f"<{name}>"), body.rfind(f"</{name}>")
    return body[start + len(name) + 2 : end].strip("\n") if 0 <= start < end else None


def _take_answers(said: _History, blocks: list[Mapping[str, Any]]) -> None:
    texts = [text_at(block, "text") for block in blocks if block.get("type") == "text"]
    known = [text for text in texts if text is not None]
    for text in known if said.cwd is None else ():
        heading = _FOLDER.search(text)
        if heading is not None:
            rest = text[heading.end() : heading.end() + _LONGEST_PATH]
            said.cwd = text_of(clean(rest.split(")", 1)[0].split("\n", 1)[0]))
    for block in blocks:
        call_id = text_at(block, "tool_use_id")
        if block.get("type") == "tool_result" and call_id is not None:
            for number, result in enumerate(_results(said, call_id, block)):
                said.answer(call_id if number == 0 else f"{call_id}/{number}", result)
    if said.pending is not None:
        body = _below_its_name(said.names[said.pending], known)
        if body is not None:
            said.answer(said.pending, ToolResult(body))
        said.pending = None


def _results(said: _History, call_id: str, block: Mapping[str, Any]) -> list[ToolResult]:
    """Return the results that a block holds, one for each thing that the call does."""
    results = results_of(block.get("content"))
    if results is not None:
        return results
    text = blocks_text(block.get("content"))
    header = _HEADER.match(text)
    text = text[header.end() :] if header is not None else text
    is_error = block.get("is_error") is True
    result = ToolResult(text, None, is_error, is_unfinished=is_error)
    if said.names.get(call_id) in LISTS and not is_error:
        result = replace(result, doubt="unlinked_result")
    return [result] * said.counts.get(call_id, 1)


def _below_its_name(name: str, texts: list[str]) -> str | None:
    """Return the text below the line that names the tool; without such a line nothing is known."""
    for place, text in enumerate(texts):
        header = _HEADER.match(text)
        if header is None or header[1] != name:
            continue
        parts = [text[header.end() :]]
        for further in texts[place + 1 :]:
            if further.lstrip().startswith((_DETAILS, "[")):
                break
            parts.append(further)
        return "\n".join(part for part in parts if part).split(f"\n{_DETAILS}", 1)[0]
    return None


def _is_history(message: Mapping[str, Any]) -> bool:
    if message.get("role") not in ("user", "assistant") or "content" not in message:
        return False
    if "modelInfo" in message or ("metrics" in message and "ts" in message):
        return True
    blocks = list_of(message.get("content"))
    texts = (text_at(block, "text") or "" for block in blocks)
    return any(
        text.startswith(_DETAILS) or _in_text(text) is not None or _HEADER.match(text)
        for text in texts
    )


def _is_event(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "hook_event":
        return isinstance(line.get("hookEventName"), str) and "agentId" in line
    is_run = kind == "run_result" and "finishReason" in line
    return is_run or (kind == "agent_event" and isinstance(line.get("event"), dict))


def _is_document(document: Mapping[str, Any]) -> bool:
    messages = list_of(document.get("messages"))
    if messages:
        return any(_is_history(dict_of(message)) for message in messages[:50])
    has_usage = "usage" in document or "usage" in dict_at(document, "metadata")
    has_state = isinstance(document.get("cwd"), str) and has_usage
    return has_state and ("session_id" in document or "sessionId" in document)


_COUNTERS = (
    "Tokens and cost of each message; inputTokens include the cached ones, the cached ones of the "
    "older form stand beside prompt. Each sub-agent's file counts its own, which the totals of the "
    "session's description leave out."
)

_TOOL: Final = {"contentType": "tool", "toolName": "read_files", "toolCallId": "c"}
_INPUT: Final = {"files": [{"path": "/w/a.py"}]}
_OUTPUT: Final = [{"query": "/w/a.py", "result": "1 | x = 1", "success": True}]
_EXAMPLE: tuple[Mapping[str, Any], ...] = (
    {"role": "user", "content": [{"type": "text", "text": "task"}], "ts": 1_700_000_000_000},
    {
        "role": "assistant",
        "ts": 1_700_000_001_000,
        "modelInfo": {"modelId": "m"},
        "metrics": {"tokens": {"prompt": 5, "completion": 2}, "cost": 0.5},
        "content": [
            {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "a.py"}}
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x = 1"}],
    },
)

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_history,
        read=read_cline_lines,
        keeps=("times", "tokens", "cost", "model"),
        counters=_COUNTERS,
        priority=2,
        file_names=("api_conversation_history.json",),
        folders=("tasks",),
        sub_agent_files=("agent_*.messages.json",),
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_event,
        read=read_cline_stream,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=(
            "Tokens of each answer, of sub-agents, too, with the cached ones inside the input; the "
            "cost of a run without sub-agents, which the stream leaves out of it."
        ),
        priority=3,
        example=(
            {"type": "hook_event", "hookEventName": "agent_start", "agentId": "a"},
            {"type": "agent_event", "event": {"type": "usage", "inputTokens": 9}},
            {"type": "agent_event", "event": {"type": "content_start", **_TOOL, "input": _INPUT}},
            {"type": "agent_event", "event": {"type": "content_end", **_TOOL, "output": _OUTPUT}},
            {"type": "run_result", "finishReason": "completed", "model": {"id": "m"}},
        ),
    ),
)
FORMATS.add(
    "cline-session",
    DocumentFormat(
        recognises=_is_document,
        read=read_cline_document,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        file_names=("*.messages.json",),
        example={"messages": list(_EXAMPLE)},
    ),
)
