"""GitHub Copilot CLI's events: requests of tools, their starts and their ends, joined by id.

A result holds what the model got (``content``) and what a person was shown (``detailedContent``);
the first is read. Where the model is Anthropic's, the printed stream has flat ``tool_use`` and
``tool_result`` lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    addressees,
    read_nothing,
    read_unknown,
    tool_name,
)
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.grep import grep_category, read_grep
from retrieval_eval.agents.traces.tokens import Item
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    resource_text,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.spooled import like
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# GitHub Copilot CLI.

HARNESS: Final = "copilot-cli"

_EXITED: Final = re.compile(
    r"(?:\A|\n)<(?:exited|shellId: \S{1,100} completed)(?: with exit code (-?\d{1,9}))?>\s*\Z"
)
_GOES_ON: Final = (
    r"<command (?:started|is still running|with \w+: \S+ (?:is (?:still )?running|moved))"
)
_STARTED: Final = re.compile(rf"\s*{_GOES_ON}")
_LATER: Final = re.compile(rf"\n{_GOES_ON}[^<]*\Z")
_TAKEN: Final = re.compile(r"<command with \w+: \S+ is already running\b")
_SHELL: Final = re.compile(r"\b(?:shellId|sessionId):? ([\w-]{1,100})")
_SAVED: Final = re.compile(
    r"Output too large to read at once \([^)\n]{1,60}\)\. Saved to: [^\n]{1,4096}\n"
    r"(?:[^\n]{0,1000}\n){0,8}?Preview \(first (?P<length>\d{1,9}) char\w{0,10}\):\n"
)
_PICTURE: Final = re.compile(r"Viewed image file successfully\.?\s*")
_TAIL: Final = 200
_HEAD: Final = 10_000
_LONGEST_NOTE: Final = 1000


def _note(text: str) -> int | None:
    """Return where an answer says that the command goes on: at its end or its beginning."""
    if _STARTED.match(text[:_TAIL]):
        return 0
    found = _LATER.search(text, max(0, len(text) - _LONGEST_NOTE))
    return None if found is None else found.start()


def started_shell(text: str) -> str | None:
    r"""Return the name of the shell in which an answer says that a command goes on, or None.

    Examples
    --------
    >>> started_shell("<command started in background with shellId: 7>")
    '7'
    >>> started_shell("a.py\n<command with shellId: x is still running after 30 seconds.>")
    'x'
    """
    note = _note(text)
    found = _SHELL.search(text, note) if note is not None else None
    return found[1] if found is not None else None


def _preview(shown: str, length: int) -> str:
    """Return the beginning of a result of which the agent was shown so many characters."""
    is_full = len(shown.rstrip("\n")) >= length
    whole = shown.rpartition("\n")[0] if is_full else shown.rstrip("\n")
    return f"{whole}\n{CUT_HERE}" if whole else CUT_HERE


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without its last line, with the exit status that it states.

    What a command printed before it went on in the background was shown.

    Examples
    --------
    >>> text = "a\n<shellId: 0 completed with exit code 1>"
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a', True)
    """
    result = call.result or ToolResult("")
    if call.name == "view" and _PICTURE.fullmatch(result.text):
        # Whether the model takes images is not stated.
        return replace(result, doubt="display_only")
    found = _EXITED.search(result.text[-_TAIL:])
    saved = _SAVED.match(result.text[:_HEAD])
    if saved is not None:
        shown = result.text[saved.end() : len(result.text) - len(found[0] if found else "")]
        result = replace(result, text=_preview(shown, int(saved["length"])))
    if found is not None:
        code = int(found[1]) if found[1] else None
        length = len(result.text) if saved else len(result.text) - len(found[0])
        return replace(
            result,
            text=result.text[:length],
            structured=result.structured or (None if code is None else {"exit_code": code}),
            is_error=result.is_error or bool(code),
            is_unfinished=False,
        )
    if saved is not None:
        return result
    if _TAKEN.match(result.text[:_TAIL]):
        return replace(result, is_error=True, is_unfinished=True)
    note = _note(result.text)
    if note is None:
        return result
    shown = result.text[:note]
    if not shown.strip():
        return replace(result, doubt="background")
    return replace(result, text=shown, is_stopped=True)


def addresses(call: ToolCall) -> Sequence[str]:
    """Return the sub-agents to which a call turns.

    Examples
    --------
    >>> addresses(ToolCall("c", "read_agent", {"agent_id": "look"}, None))
    ('look',)
    """
    turns = tool_name(call.name, {}).bare in ("read_agent", "write_agent")
    return addressees(call.arguments) if turns else ()


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "copilot"}),
        refusals=(
            r"Permission denied and could not request permission from user",
            r"The user rejected this tool call",
            r"Denied by preToolUse hook\b",
            r"Tool '[^'\n]{1,200}' does not exist\. Available tools that can be called are ",
        ),
        failures=(
            r"Path [^\n]{1,4096} does not exist\. Please provide a valid path",
            r"File too large to read at once \(",
        ),
        saved_files=(r"copilot-tool-output-[^/]{1,200}$",),
        saved=(r"Output too large to read at once \([^)\n]{1,60}\)\. Saved to: ([^\n]{1,4096})",),
        answer=answer,
        cut=(
            "An answer that is too large is saved to a file, which it names, and its first 500 "
            "characters are shown."
        ),
        finished=(
            "tool.execution_complete states success, and an error with its code, also for a call "
            "that was denied; a command states its exit code, or that it goes on in a shell, below "
            "what it printed."
        ),
        delegated=(
            "`task` starts a sub-agent, whose events are in the same file and carry its agentId; "
            "`read_agent` and `write_agent` turn to one."
        ),
        delegating=frozenset({"task"}),
        addresses=addresses,
        statuses=(r"<(?:exited|shellId: \S{1,100} completed) with exit code -?\d+>",),
        source=(
            "generated event types of copilot-sdk at 0139612; sessions of 1.0.65 and answers of "
            "its tools seen; session, stream and requests of 1.0.102 compared"
        ),
        tools=(
            Tool(("powershell",), "other", read_nothing, is_shell=True),
            Tool(("read_bash", "read_powershell"), "other", read_unknown),
            Tool(("rg",), grep_category, read_grep),
            Tool(("read_agent", "write_agent"), "other", read_nothing),
            Tool(
                (
                    *("write_bash", "stop_bash", "report_intent", "list_bash"),
                    *("write_powershell", "stop_powershell", "list_powershell", "sql"),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# GitHub Copilot CLI's events: requests of tools, their starts and their ends, joined by id.

FORMAT = "copilot-events"
_FETCHES = {"read_bash": "bash", "read_powershell": "powershell"}
"""Tools that fetch what a command printed, and the tools that ran it."""
_INSTRUCTIONS = "\n<custom_instruction>\n"
_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")

_OWN = (
    *("session.start", "assistant.message", "tool.execution_start", "tool.execution_complete"),
    *("session.shutdown", "permission.requested", "permission.completed"),
)


class _Session(Transcript):
    """A session's transcript, and what its events state apart from the calls."""

    def __init__(self, name: str) -> None:
        super().__init__(name, answer=answer, harness=HARNESS, holds_run=True, is_native=True)
        self.start: Mapping[str, Any] = {}
        self.totals: dict[str, int] = {}
        """The tokens of each model, as the last end of the session states them."""
        self.counted = 0
        self.unlogged = 0
        """Tokens of summaries of the history, which no total counts."""
        self.unnamed: dict[str, tuple[Mapping[str, Any], str | None]] = {}
        """Requests without arguments, which the start of their call may state."""
        self.servers: dict[str, str] = {}
        self.requests: dict[str, str] = {}
        self.commands: dict[str, str] = {}
        self.has_ended = False


def read_copilot(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session's events, or of the printed stream."""
    said = _Session(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    for call_id in [*said.unnamed]:
        _begin(said, call_id)
    items = said.items()
    said.session(said.start.get("sessionId"))
    said.ending = () if said.has_ended else ("no_result_event",)
    chosen = text_of(clean(said.start.get("selectedModel")))
    return said.reading(
        FORMAT,
        items=like(items, Item, (_named(said, item) for item in items)),
        harness_version=text_at(said.start, "copilotVersion"),
        # The model that was chosen, or that answered where the choice was left open.
        model=chosen if chosen not in (None, "auto") else said.model or chosen,
        cwd=text_of(clean(at(said.start, "context", "cwd"))),
        # A session that was not ended again after its last start states a total of earlier.
        declared_tokens=max(sum(said.totals.values()) + said.unlogged, said.counted) or None,
    )


def _named(said: _Session, item: Item) -> Item:
    """Give a call of an MCP tool the name with its server, which only its start states."""
    if isinstance(item, ToolCall) and item.call_id in said.servers:
        return replace(item, name=said.servers[item.call_id])
    return item


def _take(said: _Session, event: Mapping[str, Any], where: str) -> None:
    kind, data = event.get("type"), dict_at(event, "data")
    said.at(where, unix_seconds(event.get("timestamp")), by_agent=kind == "assistant.message")
    match kind:
        case "tool_use" | "tool_result":
            _take_flat(said, event)
        case "session.start":
            said.start = said.start or data
            said.cwd = text_of(clean(at(data, "context", "cwd")))
        case "session.context_changed":
            said.cwd = text_of(clean(data.get("cwd"))) or said.cwd
        case "session.resume":
            said.has_ended = False
        case "session.shutdown" | "result":  # the latter is the last line of the printed stream
            said.has_ended = True
            said.session(event.get("sessionId"))
            _take_totals(said, dict_at(data, "modelMetrics"))
        case "session.usage_record":
            _take_usage(said, event, dict_at(data, "usage"))
        case "session.compaction_complete":
            said.unlogged += _take_usage(said, event, dict_at(data, "compactionTokensUsed"))
            said.note_summary()
        case "subagent.started":
            started, by = text_at(data, "toolCallId"), text_at(event, "agentId")
            said.sub_agents.update(filter(None, (by,)))
            said.delegated |= {started: by} if started and by else {}
        case "system.message" | "user.message":
            _attach(said, data)
        case "assistant.message":
            _take_message(said, data, text_at(event, "agentId"))
        case "tool.execution_start":
            request, agent = said.unnamed.pop(text_at(data, "toolCallId") or "", (data, None))
            name = data.get("toolName") or request.get("name")
            _request(said, data, name, text_at(event, "agentId") or agent)
            _note_server(said, data)
        case "tool.execution_complete":
            _complete(said, data)
        case "permission.requested" | "permission.completed":
            _permit(said, data)


def _attach(said: _Session, data: Mapping[str, Any]) -> None:
    """Note what a prompt names; only of a selection the events keep what the model was sent.

    Of instructions it is not stated of which file they are.
    """
    if _INSTRUCTIONS in (text_at(data, "content") or ""):
        for name in _INSTRUCTION_FILES:
            said.attach(name, "instructions", doubt="unlinked_result")
    for stated in dicts_at(data, "attachments"):
        how, path = "named in the prompt", stated.get("filePath") or stated.get("path")
        if stated.get("type") == "directory":
            said.attach_folder(path, None, how)
        elif text_at(stated, "text"):
            said.attach(path, "selected by the user")
        else:
            said.attach(path, how, doubt="display_only")


def _take_message(said: _Session, data: Mapping[str, Any], agent: str | None) -> None:
    if agent is None:
        said.model = said.model or text_of(clean(data.get("model")))
    for request in dicts_at(data, "toolRequests"):
        call_id = text_at(request, "toolCallId")
        if call_id and request.get("arguments") is None and not said.has(call_id):
            said.unnamed[call_id] = (request, agent)
        else:
            _request(said, request, request.get("name"), agent)


def _take_totals(said: _Session, models: Mapping[str, Any]) -> None:
    """Take the totals of an end; a session that was resumed ends again.

    They count from the first start on, but in some versions from the last one.
    """
    usages = {name: dict_at(model, "usage") for name, model in models.items()}
    stated = {
        name: count_at(usage, "inputTokens", "outputTokens") for name, usage in usages.items()
    }
    goes_on = all(stated.get(name, 0) >= tokens for name, tokens in said.totals.items())
    earlier = {} if goes_on else said.totals
    names = {*stated, *earlier}
    said.totals = {name: stated.get(name, 0) + earlier.get(name, 0) for name in names}


def _take_usage(said: _Session, event: Mapping[str, Any], usage: Mapping[str, Any]) -> int:
    """Take the tokens of one request, which include the cached ones; return how many they are."""
    said.by(text_at(event, "agentId"))
    prompt = count_at(usage, "inputTokens", "input")
    output = count_at(usage, "outputTokens", "output")
    said.used(None, prompt, output)
    said.counted += prompt + output
    return prompt + output


def _begin(said: _Session, call_id: str) -> None:
    """Log a request without arguments whose start is not recorded."""
    request, agent = said.unnamed.pop(call_id)
    _request(said, request, request.get("name"), agent)


def _take_flat(said: _Session, line: Mapping[str, Any]) -> None:
    said.has_ended = True  # The printed stream has no end of its own.
    if line.get("type") == "tool_use":
        stated = {"toolCallId": line.get("id"), "arguments": line.get("input")}
        _request(said, stated, line.get("name"), None)
    elif text_at(line, "tool_use_id") is not None:
        text, is_error = blocks_text(line.get("content")), line.get("is_error") is True
        result = ToolResult(text, None, is_error, is_unfinished=is_error)
        said.answer(line.get("tool_use_id"), result)


def _request(said: _Session, stated: Mapping[str, Any], called: Any, agent: str | None) -> None:
    """Log a call; the message that requests it and its start are one call."""
    name, call_id = text_of(called), text_at(stated, "toolCallId")
    if name is not None and call_id is not None and said.has(call_id):
        said.touch(call_id, said.time)
        return
    arguments = stated.get("arguments")
    decoded = decode(arguments)[0] if isinstance(arguments, str) else arguments
    arguments = decoded if isinstance(decoded, dict) else arguments
    known = [said.commands[shell] for shell in _shells(arguments) if shell in said.commands]
    if name in _FETCHES and known:
        # A call that fetches the output of a command is read as the call of the command.
        name, arguments = _FETCHES[name], {**dict_of(arguments), "command": known[0]}
    said.by(agent or text_at(stated, "parentToolCallId"))
    call = said.call(name, arguments, call_id)
    command = text_at(arguments, "command")
    if call is None:
        return
    said.has_agent = True
    if command is not None:
        said.commands |= dict.fromkeys((call.call_id, *_shells(arguments)), command)


def _shells(arguments: Any) -> list[str]:
    """Return under which names of shells a call runs or reads a command."""
    names = (text_at(arguments, name) for name in ("shellId", "sessionId"))
    return [f"shell {name}" for name in names if name is not None]


def _note_server(said: _Session, data: Mapping[str, Any]) -> None:
    server, tool = text_at(data, "mcpServerName"), text_at(data, "mcpToolName")
    call_id = text_at(data, "toolCallId")
    if server and tool and call_id:
        said.servers[call_id] = f"mcp__{server}__{tool}"


def _complete(said: _Session, data: Mapping[str, Any]) -> None:
    call_id, stated = text_at(data, "toolCallId"), data.get("result")
    if call_id is None:
        said.note("a tool result does not name its call")
        return
    if call_id in said.unnamed:
        _begin(said, call_id)
    has_failed = data.get("success") is not True
    if stated is None and not has_failed:
        # Editors record that a call ended, and not what it returned.
        said.touch(call_id, said.time)
        return
    text = blocks_text(stated.get("content") if isinstance(stated, dict) else stated)
    shell = started_shell(text)
    if shell is not None and call_id in said.commands:
        said.commands[f"shell {shell}"] = said.commands[call_id]
    codes = [status_of(at(data, "shellExecution", "exitCode"))]
    codes += [status_of(block.get("exitCode")) for block in dicts_at(stated, "contents")]
    code = next((code for code in codes if code is not None), None)
    parts = at(stated, "structuredContent")
    record = {"exit_code": code} if code is not None else None
    # A resource that a server embeds stands beside the text that the model was sent.
    embedded = [block for block in dicts_at(stated, "contents") if resource_text(block)]
    result = ToolResult(
        text or text_at(data, "error", "message") or blocks_text(embedded),
        {"structuredContent": clean(parts)} if isinstance(parts, dict) else record,
        has_failed or bool(code),
        is_unfinished=has_failed and code is None,
        doubt="display_only" if embedded and not text else None,
    )
    said.answer(call_id, result)


def _permit(said: _Session, data: Mapping[str, Any]) -> None:
    """Note which call a permission is about; one that was denied did not run."""
    request = text_at(data, "requestId") or ""
    call_id = text_at(data, "toolCallId") or text_at(data, "permissionRequest", "toolCallId")
    call_id = call_id or said.requests.get(request)
    if call_id is None:
        return
    said.requests[request] = call_id
    kind = text_at(data, "result", "kind") or ""
    if kind.startswith("denied"):
        said.join(call_id, ToolResult(kind[:200], None, True, is_unfinished=True))


def _is_copilot(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind in _OWN and isinstance(line.get("data"), dict):
        return True
    return kind == "tool_use" and "input" in line and isinstance(line.get("name"), str)


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_copilot,
        read=read_copilot,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        counters=(
            "The requests of the session and of its sub-agents, the cached tokens inside the "
            "input: one record each in newer versions, else the totals of the last end, which "
            "count from the first start of a session that was resumed. The requests for summaries "
            "of the history are in no total and are added. No cost in money is kept; the printed "
            "stream keeps no tokens."
        ),
        folders=("copilot",),
        example=(
            {
                "type": "session.start",
                "data": {"sessionId": "s", "copilotVersion": "1", "context": {"cwd": "/w"}},
            },
            {
                "type": "tool.execution_start",
                "data": {"toolCallId": "c", "toolName": "view", "arguments": {"path": "/w/a.py"}},
            },
            {
                "type": "tool.execution_complete",
                "data": {"toolCallId": "c", "success": True, "result": {"content": "1. x = 1"}},
            },
            {"type": "session.shutdown", "data": {"modelMetrics": {}}},
        ),
    ),
)
