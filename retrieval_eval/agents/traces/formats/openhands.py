"""OpenHands: events of version 0 (an array, or a folder of one file each) and of the SDK.

The output of an evaluation holds the events of one task a line. Before 0.10 events came in pairs,
then without ids and with their arguments beside their kind; an observation follows its action.

An observation of version 0 names the action that caused it; arguments are those of the action and
never those in the model's message, which belong to the first of several calls. The SDK joins by the
id of the call. Costs and tokens of version 0 are running totals.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    saved_path,
    tool_name,
)
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, arguments_of, chosen
from retrieval_eval.agents.traces.results.ipython import read_ipython
from retrieval_eval.agents.traces.results.local_files import editor_category, read_editor
from retrieval_eval.agents.traces.results.payload import (
    CUT_MARKER,
    complete_json,
    states_failure,
    unwrapped,
)
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    at,
    blocks_text,
    clean,
    count_at,
    count_of,
    dict_at,
    dict_of,
    latest,
    list_of,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# OpenHands, and the editor it shares with the Anthropic API.

HARNESS: Final = "openhands"
SDK: Final = "openhands-sdk"
"""The names by which traces call the two generations of the harness."""

_SHELLS: Final = frozenset({"execute_bash", "terminal"})
_NOTES: Final = re.compile(
    r"\[(?:The command|Command) (?:completed|finished) with exit code (?P<code>-?\d{1,9})[^\n]*"
    r"|\[Current working directory: [^\n]*\]"
    r"|\[Python interpreter: [^\n]*\]"
    r"|\[Jupyter (?:current working directory|Python interpreter): [^\n]*\]"
    r"|(?P<late>\[The command (?:timed out after|has no new output after) [^\n]*)"
)
_LAST_LINES: Final = 8
# An `exit` ended the terminal, and what the command printed is lost.
_LOST: Final = "The terminal session was reset because "
# What stands before the text of a call that failed, where the model reads of it.
_FAILED: Final = "[An error occurred during execution.]\n"
_CLIPPED: Final = re.compile(
    r"\n?(?:\[\.\.\. Observation truncated due to length \.\.\.\]"
    r"|<response clipped>(?:<NOTE>[^<]{0,1000}</NOTE>)?"
    r"|\[Results truncated to [^\]\n]{0,200}\])\n?"
)
_NUMBERED_LINE: Final = "Here's the result of running `cat -n` on "
_EXECUTED: Final = re.compile(r"\A\[Tool '[^'\n]{1,300}' executed[^\]\n]{0,100}\](?:\n|\Z)")


def server_tool(name: str, arguments: Mapping[str, Any], servers: Sequence[str] = ()) -> str:
    """Return the name of a server's tool, which the harness leaves without its server.

    ``servers`` are those that are configured; where there are several, their tools begin with
    their names.

    Examples
    --------
    >>> server_tool("find_symbol", {}, ["docs"]), server_tool("docs_find", {}, ["docs", "web"])
    ('mcp__docs__find_symbol', 'mcp__docs__find')
    >>> server_tool("find_symbol", {})
    'mcp__unknown__find_symbol'
    """
    if len(servers) == 1:
        return f"mcp__{servers[0]}__{name}"
    for server in sorted(servers, key=len, reverse=True):
        if name.startswith(f"{server}_") and name != f"{server}_":
            return f"mcp__{server}__{name.removeprefix(f'{server}_')}"
    return name if tool_name(name, arguments).is_mcp else f"mcp__unknown__{name}"


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without the notes behind it, with what they state.

    Examples
    --------
    >>> text = "a.py\n[The command completed with exit code 1.]"
    >>> found = answer(ToolCall("1", "execute_bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a.py', True)
    """
    result = call.result or ToolResult("")
    if result.is_unfinished:
        return result
    if result.text.startswith(_FAILED):
        failed = result.text.removeprefix(_FAILED).removeprefix("\n")
        result = replace(result, text=failed, is_error=True)
    if call.name in _SHELLS and result.text.startswith(_LOST):
        return replace(result, text="", is_error=True)
    lines, code, is_late = _without_notes(result.text)
    clipped = _CLIPPED.search(lines)
    if clipped is not None and result.saved_to is None:
        result = replace(result, saved_to=saved_path(clipped[0]))
    if clipped is not None and lines.startswith(_NUMBERED_LINE):
        # A view is clipped before its lines are numbered: behind that no number is a line's.
        lines = f"{lines[: clipped.start()]}\n{CUT_HERE}"
    lines = _CLIPPED.sub(f"\n{CUT_HERE}\n", lines)
    if call.name not in _SHELLS:
        return replace(result, text=_EXECUTED.sub("", lines, count=1))
    stated = status_of(dict_of(result.structured).get("exit_code"))
    if code is None and stated != -1:
        code = stated
    # The command was killed or goes on: what it printed so far was shown. A status of -1 alone
    # says that none is known.
    is_open = is_late or (code is None and stated == -1)
    has_output = bool(lines.strip())
    return replace(
        result,
        text=lines,
        is_error=result.is_error or is_late or bool(code),
        is_unfinished=is_late and not has_output,
        is_stopped=result.is_stopped or (is_open and has_output),
    )


_FUNCTION: Final = re.compile(r"<function=([^<>\n]{1,200})>")
_PARAMETER: Final = re.compile(r"<parameter=([^<>\n]{1,200})>")


def written(answer: str) -> tuple[str, Mapping[str, str]] | None:
    r"""Return the call that a model wrote into its answer, as it does where it is given no tools.

    Examples
    --------
    >>> written("<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>")
    ('execute_bash', {'command': 'ls'})
    """
    found = _FUNCTION.search(answer)
    if found is None:
        return None
    body = answer[found.end() :].partition("</function")[0]
    given = {}
    for part in body.split("</parameter>")[:-1]:
        opening = _PARAMETER.search(part)
        if opening is not None:
            given[opening[1]] = part[opening.end() :].removeprefix("\n").removesuffix("\n")
    return found[1], given


def is_unfinished_output(text: str) -> bool:
    """Return whether a note behind an output says that its command goes on."""
    return _without_notes(text)[2]


def _without_notes(text: str) -> tuple[str, int | None, bool]:
    """Return the text before the notes at its end, the exit status, and whether it is not over."""
    code: int | None = None
    is_late = False
    for _ in range(_LAST_LINES):
        head, _, last = text.rstrip().rpartition("\n")
        note = _NOTES.match(last)
        if note is None:
            break
        code = int(note["code"]) if note["code"] else code
        is_late = is_late or note["late"] is not None
        text = head
    return text, code, is_late


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, SDK}),
        delegating=frozenset({"delegate", "task"}),
        refusals=(
            r"(?:ERROR: )?Cannot execute multiple commands at once\b",
            r"\[Your command \"[\s\S]{0,350}?\bNOT executed\b|\[Your command \"[\s\S]{350}",
            # The reply to a message without a call: nothing was carried out.
            r"Please continue (?:working on the task )?on whatever approach you think\b",
        ),
        failures=(
            r"Invalid `[^`]{1,60}` parameter",
            r"No replacement was performed",
            r"Ran into [^\n]{1,1000} while trying to (?:read|write to) ",
            r"File validation failed for ",
        ),
        # The model is sent the number of a folder's entries, and not their names.
        empty=(r"Listed directory: [^\n]{1,4096} \(\d{1,9} entries\)\s*$",),
        saved=(r"(?:complete|full) (?:output|content) has been saved to (\S{1,1000})",),
        answer=answer,
        cut=(
            "of a long output the head and the tail: 'Observation truncated due to length' on a "
            "line, or '<response clipped>' within one; the file with the whole output is cut so too"
        ),
        finished=(
            "exit status -1, or a note behind the output that the command timed out or goes on; in "
            "the SDK's events only metadata.suffix holds the note; a later empty command shows the "
            "rest; rejections and errors of the agent are observations of their own"
        ),
        delegated=(
            "delegate and task; the SDK keeps the events of a sub-agent in subagents/ID/events of "
            "the conversation, and its tokens in the conversation's too"
        ),
        statuses=(r"\[(?:The c|C)ommand (?:completed|finished) with exit code -?\d+\b.*",),
        source=(
            "OpenHands at 156d0686 and its SDK 1.43 at 611629e6, read in their sources; "
            "trajectories of 1.4 and 1.5, outputs of evaluations with 0.9 and 0.35, events and "
            "messages of the SDK, and a run of its 1.58.2 seen"
        ),
        tools=(
            Tool(("execute_bash", "execute_command"), "other", read_nothing, is_shell=True),
            Tool(("execute_ipython_cell", "run_ipython"), "other", read_ipython),
            Tool(
                ("str_replace_editor", "str_replace_based_edit_tool", "planning_file_editor"),
                editor_category,
                read_editor,
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Arguments that its ATIF trajectories mix up, and results of MCP that are wrapped.

_SHELL, _EDITOR = "execute_bash", "str_replace_editor"
_RUNNING = "Running command: "
_EDITED = re.compile(r"(?:Reading file: |I edited the file )([^\n]{1,4096})")
_MCP = re.compile(r"with name:\n```\n([^\n`]{1,200})\n```\nand arguments:\n```\n")
_NUMBERED = re.compile(r"^ {0,8}(\d{1,9})\t", re.MULTILINE)
_LONGEST_LITERAL = 20_000
_REFUSED = "ERROR: Cannot execute multiple commands at once."
_ERRORS = ("ERROR:", "Invalid `", "Missing required parameter", "No replacement was performed")


def repaired(
    name: str, arguments: Mapping[str, Any], message: Any, observed: str | None
) -> Mapping[str, Any] | None:
    """Return the true arguments of a call, or None when the recorded ones are right.

    Parameters
    ----------
    name, arguments
        The call as written.
    message
        The step's message; one that was cut off proves nothing.
    observed
        The text of the call's result, if the step has exactly one.

    Examples
    --------
    >>> repaired("execute_bash", {"command": "ls a"}, "Running command: ls b", None)
    {'command': 'ls b'}
    """
    if not isinstance(message, str) or CUT_MARKER in message:
        return None
    if name == _SHELL:
        return _command(arguments, message)
    if name == _EDITOR:
        return _edit(arguments, message, observed or "")
    return _mcp(name, arguments, message)


def _command(arguments: Mapping[str, Any], message: str) -> Mapping[str, Any] | None:
    announced = message.removeprefix(_RUNNING)
    if announced == message or not announced.strip() or arguments.get("is_input") in (True, "true"):
        return None
    written = arguments.get("command")
    if isinstance(written, str) and written.strip() == announced.strip():
        return None
    return {"command": clean(announced)}


def _edit(arguments: Mapping[str, Any], message: str, observed: str) -> Mapping[str, Any] | None:
    announced = _EDITED.match(message)
    if announced is None:
        return None
    is_view = message.startswith("Reading")
    path = clean(announced[1].strip() if is_view else announced[1].strip().removesuffix("."))
    numbers = _NUMBERED.findall(observed) if is_view else []
    seen = [int(numbers[0]), int(numbers[-1])] if numbers else None
    if arguments.get("path") == path:
        stated = arguments.get("view_range")
        if seen is None or not isinstance(stated, list) or stated[:1] == seen[:1]:
            return None
        return {**arguments, "view_range": seen}
    if is_view:
        return {"command": "view", "path": path} | ({"view_range": seen} if seen else {})
    command = "create" if observed.startswith("File created") else "str_replace"
    return {"command": command, "path": path}


def _mcp(name: str, arguments: Mapping[str, Any], message: str) -> Mapping[str, Any] | None:
    announced = _MCP.search(message)
    if announced is None or announced[1] != name:
        return None
    literal = message[announced.end() :].rstrip().removesuffix("```").rstrip()
    if literal == str(arguments) or len(literal) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    is_usable = isinstance(value, dict) and all(isinstance(key, str) for key in value)
    return clean(value) if is_usable and value != arguments else None


def result(name: str, text: str, is_truncated: bool) -> ToolResult:
    """Return the result of a call, unwrapped where it is MCP's JSON around a text.

    Examples
    --------
    >>> result(
    ...     "read_file", '{"content": [{"type": "text", "text": "1: x"}], "isError": false}', False
    ... ).text
    '1: x'
    """
    if name == _EDITOR:
        return ToolResult(text, None, text.startswith(_ERRORS), is_truncated)
    if name == _SHELL:
        return ToolResult(text, None, text.startswith(_REFUSED), is_truncated)
    if not text.startswith("{"):
        return ToolResult(text, None, text.startswith("ERROR:"), is_truncated)
    wrapper = dict_of(_decoded(text, is_truncated))
    if not isinstance(wrapper.get("content"), list):
        return ToolResult(text, None, False, is_truncated)
    inner, _ = unwrapped("", wrapper["content"])
    return ToolResult(
        inner or blocks_text(wrapper["content"]),
        clean(wrapper.get("structuredContent")),
        states_failure("", wrapper),
        is_truncated,
    )


def _decoded(text: str, is_truncated: bool) -> Any:
    return complete_json(text, keep_cut_text=True) if is_truncated else decode(text)[0]


# --------------------------------------------------------------------------------------------------
# Calls as both versions name them.

_CALLS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "str_replace_editor",
    "edit": "str_replace_editor",
    "write": "write",
    "call_tool_mcp": "call_tool_mcp",
    "browse": "browse",
    "browse_interactive": "browse_interactive",
    "delegate": "delegate",
    "think": "think",
    "finish": "finish",
    "task_tracking": "task_tracker",
}
"""Actions of version 0 that are calls of tools, and the tools' names."""

_LONGEST_FOLDER = 1000
_ENDS = ("finished", "stopped", "rejected", "error")
_NOT_ARGUMENTS = frozenset(
    {"thought", "hidden", "confirmation_state", "security_risk", "translated_ipython_code"}
)


class _Session(Transcript):
    """A session's transcript, and what its events state of its shell and its totals."""

    def __init__(self, name: str, harness: str) -> None:
        super().__init__(name, "event", answer=answer, harness=harness, is_native=True)
        self.folder: str | None = None
        self.prompt = self.output = 0
        self.tokens: int | None = None
        self.has_ended = False
        self.causes: dict[str, str] = {}
        """The call of each event that is one."""
        self.commands: dict[str, str] = {}
        self.running: str | None = None
        self.servers: tuple[str, ...] = ()

    def see(self, event: Mapping[str, Any], where: str) -> None:
        """Go to an event; that of the prompt is of the agent, too, which did nothing yet."""
        is_agents = event.get("source") == "agent"
        is_prompt = event.get("kind") == "SystemPromptEvent" or event.get("action") == "system"
        time = unix_seconds(event.get("timestamp"))
        self.at(where, time, by_agent=is_agents and not is_prompt, starts=is_agents)

    def spend(self, prompt: int, output: int) -> None:
        """Note what was used since the last totals."""
        if prompt + output > self.prompt + self.output:
            self.used(None, max(0, prompt - self.prompt), max(0, output - self.output))
            self.prompt, self.output = prompt, output


def _reading(said: _Session, form: str, **facts: Any) -> Reading:
    # Every event is written at once: without an end, only a call under way shows a cut.
    items = said.items()
    last = next((item for item in reversed(items) if isinstance(item, ToolCall)), None)
    is_cut = not said.has_ended and last is not None and last.result is None
    said.ending = ("no_result_event",) if is_cut else ()
    return said.reading(
        form,
        items=items,
        cwd=said.folder,
        declared_tokens=said.tokens,
        holds_run=said.agent is None,
        **facts,
    )


def _join(said: _Session, call_id: str, result: ToolResult, *, is_running: bool = False) -> None:
    if call_id in said.commands:
        goes_on = is_running or is_unfinished_output(result.text)
        said.running = said.commands[call_id] if goes_on else None
    said.answer(call_id, result)


def _typed(said: _Session, call_id: str, arguments: dict[str, Any]) -> None:
    """Note the command of a call; an empty one waits for the command that is running."""
    command = text_of(arguments.get("command")) or ""
    if not command.strip() and said.running is not None:
        arguments["command"] = command = said.running
        arguments.pop("is_input", None)
    if str(arguments.get("is_input", "")).lower() != "true":
        said.commands[call_id] = command
        if said.cwd is not None:
            arguments["workdir"] = said.cwd


# --------------------------------------------------------------------------------------------------
# Version 0


def read_openhands_events(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of events of version 0."""
    return _read(lines, name, "openhands-events")


def _read(lines: Iterable[Line], name: str, form: str, **facts: Any) -> Reading:
    said = _Session(name, HARNESS)
    for entry, where in said.complaints.objects(lines):
        said.see(entry, where)
        _take(said, entry)
    return _reading(said, form, **facts)


def _take(said: _Session, event: Mapping[str, Any]) -> None:
    _take_totals(said, dict_at(event, "llm_metrics"))
    action = text_at(event, "action")
    if action == "system":
        said.version = text_at(event, "args", "openhands_version") or said.version
    elif action == "condensation":
        said.note_summary()
    elif action in _CALLS and event.get("source") == "agent":
        said.has_ended = said.has_ended or action == "finish"
        if not isinstance(event.get("args"), dict):
            said.note(f"the arguments of {action} are no object")
        _add(said, event, action)
    elif text_at(event, "observation") is not None:
        _observe(said, event)


def _take_totals(said: _Session, metrics: Mapping[str, Any]) -> None:
    """Take the running totals."""
    said.cost = latest(said.cost, amount_of(metrics.get("accumulated_cost")))
    usage = dict_at(metrics, "accumulated_token_usage")
    said.model = said.model or text_of(clean(usage.get("model")))
    said.spend(count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens"))
    said.tokens = said.prompt + said.output or None


def _add(said: _Session, event: Mapping[str, Any], action: str) -> None:
    metadata = dict_at(event, "tool_call_metadata")
    said.model = said.model or text_of(clean(at(metadata, "model_response", "model")))
    name = _CALLS[action]
    stated = arguments_of(dict_at(event, "args"))
    arguments = {k: v for k, v in stated.items() if k not in _NOT_ARGUMENTS}
    if action == "call_tool_mcp":
        tool = text_of(arguments.get("name"))
        arguments = dict(arguments_of(arguments.get("arguments")))
        name = server_tool(tool, arguments) if tool is not None else name
    elif action in ("read", "edit"):
        name, arguments = _editor(action, arguments)
    own = _id(event.get("id"))
    call_id = text_at(metadata, "tool_call_id") or own or said.where
    if action == "run":
        _typed(said, call_id, arguments)
    if own is not None:
        said.causes[own] = call_id
    said.call(name, arguments, call_id)


def _editor(action: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the call of the editor that an action is; older reads state a start and an end."""
    path = {"path": arguments["path"]} if "path" in arguments else {}
    if action == "edit":
        command = text_of(arguments.get("command")) or "str_replace"
        return "str_replace_editor", {"command": command, **path}
    lines = arguments.get("view_range")
    start, end = arguments.get("start"), arguments.get("end")
    if not isinstance(lines, list) and isinstance(start, int) and isinstance(end, int) and end > 0:
        lines = [start + 1, end]
    is_range = isinstance(lines, list)
    return "str_replace_editor", {"command": "view", **path} | (
        {"view_range": lines} if is_range else {}
    )


def _id(value: Any) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else text_of(value)


def _observe(said: _Session, event: Mapping[str, Any]) -> None:
    kind, extras = event["observation"], dict_at(event, "extras")
    metadata = dict_at(extras, "metadata")
    call_id = said.causes.get(_id(event.get("cause")) or "")
    if kind == "agent_state_changed":
        said.has_ended = said.has_ended or extras.get("agent_state") in _ENDS
    elif call_id is not None:
        _join(said, call_id, _result(said, event, call_id, metadata))
    folder = text_of(clean(metadata.get("working_dir")))
    said.cwd = folder or said.cwd
    said.folder = said.folder or folder


def _result(
    said: _Session, event: Mapping[str, Any], call_id: str, metadata: Mapping[str, Any]
) -> ToolResult:
    kind, text = event["observation"], blocks_text(event.get("content"))
    if kind in ("error", "user_rejected"):
        return ToolResult(text, None, True, is_unfinished=True)
    if kind == "mcp":
        call = said.next_waiting(call_id)
        return result(call.name if call is not None else "", text, False)
    stated = {"exit_code": metadata["exit_code"]} if "exit_code" in metadata else None
    return ToolResult(_with_suffix(text, metadata), stated)


def _is_event(line: Mapping[str, Any]) -> bool:
    has_kind = isinstance(line.get("action"), str) or isinstance(line.get("observation"), str)
    return has_kind and line.get("source") in ("agent", "user", "environment") and "id" in line


# --------------------------------------------------------------------------------------------------
# The output of an evaluation


def read_openhands_output(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of the only task, or the tasks among which to choose."""
    tasks: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        if isinstance(line.value, dict) and _is_output(line.value):
            tasks.setdefault(_task_name(line), line.value)

    def read(task: str) -> Reading:
        return _read_task(tasks[task], f"{name}/{task}")

    return chosen(name, tuple(tasks), read)


def _task_name(line: Line) -> str:
    """Return the task of a line; that of an issue on the web has the issue's number."""
    issue = dict_of(line.value.get("issue"))
    known = text_of(clean(line.value.get("instance_id"))) or _id(issue.get("number"))
    return known or f"line-{line.number}"


def _read_task(task: Mapping[str, Any], name: str) -> Reading:
    events = list_of(task.get("history"))
    flat = [event for entry in events for event in (entry if isinstance(entry, list) else [entry])]
    if any(_is_sdk_event(dict_of(event)) for event in flat):
        lines = [Line(number, event) for number, event in enumerate(flat, start=1)]
        reading = read_openhands_sdk(lines, name)
        reading = replace(reading, format="openhands-output", submission=_patch(task))
    else:
        lines = [Line(number, event) for number, event in enumerate(_with_ids(flat), start=1)]
        reading = _read(lines, name, "openhands-output", submission=_patch(task))
    metrics, cost = dict_at(task, "metrics"), reading.declared_cost_usd
    usage = dict_at(metrics, "accumulated_token_usage")
    tokens = count_at(usage, "prompt_tokens", "completion_tokens")
    stated = (at(task, "metadata", key, "model") for key in ("llm_config", "llm"))
    model = next(filter(None, (text_of(clean(value)) for value in stated)), None)
    return replace(
        reading,
        model=reading.model or model,
        declared_tokens=reading.declared_tokens or tokens or None,
        declared_cost_usd=amount_of(metrics.get("accumulated_cost")) if cost is None else cost,
    )


def _patch(task: Mapping[str, Any]) -> str | None:
    """Return the patch that the task was handed in with."""
    stated = (dict_of(task.get("test_result")).get("git_patch"), task.get("git_patch"))
    return next(filter(None, (text_of(clean(patch)) for patch in stated)), None)


def _with_ids(events: list[Any]) -> Iterator[Any]:
    """Yield events in the form of today."""
    action: int | None = None
    for number, event in enumerate(events):
        if not isinstance(event, dict) or "id" in event:
            yield event
            continue
        rest = {k: v for k, v in event.items() if k not in ("action", "observation", "content")}
        if isinstance(event.get("action"), str):
            is_agent = event["action"] in _CALLS
            action = number if is_agent else None
            source = "agent" if is_agent else "user"
            yield {"id": number, "source": source, "action": event["action"], "args": rest}
            continue
        extras = {"metadata": {k: rest[k] for k in ("exit_code",) if k in rest}}
        yield {**event, "id": number, "cause": action, "extras": extras}
        action = None


def _is_output(line: Mapping[str, Any]) -> bool:
    history = line.get("history")
    first = history[0] if isinstance(history, list) and history else None
    event = dict_of(first[0] if isinstance(first, list) and first else first)
    kinds = (event.get("action"), event.get("observation"))
    is_event = any(isinstance(kind, str) for kind in kinds) or _is_sdk_event(event)
    return is_event and any(key in line for key in ("instance_id", "git_patch", "test_result"))


# --------------------------------------------------------------------------------------------------
# The SDK


def read_openhands_sdk(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the SDK's events; the state of the session may stand before them."""
    said = _Session(name, SDK)
    for entry, where in said.complaints.objects(lines):
        _take_sdk(said, entry, where)
    return _reading(said, "openhands-sdk-events")


def _take_sdk(said: _Session, event: Mapping[str, Any], where: str) -> None:
    kind, call_id = event.get("kind"), text_at(event, "tool_call_id")
    if "workspace" in event and "agent" in event:
        _take_session(said, event)
        return
    if kind == "ConversationStateUpdateEvent":
        said.at(where)
        _take_update(said, event)
        return
    said.see(event, where)
    if kind == "ActionEvent":
        _add_sdk(said, event)
    elif kind == "Condensation":
        said.note_summary()
    elif call_id is not None and kind == "ObservationEvent":
        observation = dict_at(event, "observation")
        is_running = observation.get("timeout") is True
        _join(said, call_id, _observed(said, observation), is_running=is_running)
    elif call_id is not None and kind in ("UserRejectObservation", "AgentErrorEvent"):
        field = "rejection_reason" if kind == "UserRejectObservation" else "error"
        text = text_at(event, field) or ""
        _join(said, call_id, ToolResult(text, None, True, is_unfinished=True))


def _take_session(said: _Session, session: Mapping[str, Any]) -> None:
    agent = dict_at(session, "agent")
    said.model = text_of(clean(at(agent, "llm", "model")))
    said.folder = said.cwd = text_of(clean(at(session, "workspace", "working_dir")))
    said.servers = _servers(dict_at(agent, "mcp_config"))
    inner, parent = _place_in_run(text_at(session, "persistence_dir") or "")
    said.session(session.get("id"), parent)
    said.by(inner)
    said.sub_agents = {inner} if inner is not None else set()
    if inner is None:
        # What a sub-agent used is in the totals of the conversation that started it.
        said.cost, said.tokens, *_ = _totals(session)
    said.has_ended = session.get("execution_status", session.get("agent_status")) == "finished"


def _servers(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the servers that are configured, which may lie one level deeper."""
    inner = config.get("mcpServers")
    return tuple(clean(name) for name in (inner if isinstance(inner, dict) else config))


_SUB_AGENT = re.compile(r"([^/\\]{1,200})[/\\]subagents[/\\]([^/\\]{1,200})[/\\]?\Z")
_HEXADECIMAL = re.compile(r"[0-9a-f]{32}")


def _place_in_run(folder: str) -> tuple[str | None, str | None]:
    """Return which sub-agent keeps its events in a folder, and the session that started it."""
    found = _SUB_AGENT.search(folder[-_LONGEST_FOLDER:])
    if found is None:
        return None, None
    parent, agent = clean(found[1]), clean(found[2])
    is_uuid = _HEXADECIMAL.fullmatch(parent) is not None
    return agent, str(UUID(hex=parent)) if is_uuid else parent


def _take_update(said: _Session, event: Mapping[str, Any]) -> None:
    """Take over what changed in a session: its totals, its end, or the whole of it."""
    key, value = event.get("key"), event.get("value")
    if key == "stats":
        cost, tokens, prompt, output = _totals({"stats": value})
        said.cost = latest(said.cost, cost)
        said.tokens = max(said.tokens or 0, tokens or 0) or None
        metrics = dict_of(_usages({"stats": value}))
        names = (text_of(clean(at(m, "model_name"))) for m in metrics.values())
        said.model = said.model or next(filter(None, names), None)
        said.spend(prompt, output)
    elif key == "execution_status":
        said.has_ended = value == "finished"
    elif key == "full_state" and said.folder is None:
        _take_session(said, dict_of(value))


def _totals(session: Mapping[str, Any]) -> tuple[float | None, int | None, int, int]:
    """Return cost, tokens, and the tokens of prompts and of outputs, of all models together."""
    metrics = [dict_of(m) for m in dict_of(_usages(session)).values()]
    costs = [c for m in metrics if (c := amount_of(m.get("accumulated_cost"))) is not None]
    usages = [dict_of(m.get("accumulated_token_usage")) for m in metrics]
    prompt = sum(count_of(usage.get("prompt_tokens")) for usage in usages)
    output = sum(count_of(usage.get("completion_tokens")) for usage in usages)
    return sum(costs) if costs else None, prompt + output or None, prompt, output


def _usages(session: Mapping[str, Any]) -> Any:
    stats = dict_of(session.get("stats"))
    return stats.get("usage_to_metrics", stats.get("service_to_metrics"))


def _add_sdk(said: _Session, event: Mapping[str, Any]) -> None:
    requested = dict_at(event, "tool_call")
    name = text_at(event, "tool_name") or text_at(requested, "name")
    stated = event.get("action")
    if not isinstance(stated, dict):
        text = requested.get("arguments")
        stated = decode(text)[0] if isinstance(text, str) else text
    arguments = {
        k: v for k, v in arguments_of(stated).items() if k not in ("kind", "security_risk")
    }
    if name is not None and isinstance(arguments.get("data"), dict) and len(arguments) == 1:
        arguments = arguments["data"]
        name = server_tool(name, arguments, said.servers)
    said.has_ended = said.has_ended or name == "finish"
    call_id = text_at(event, "tool_call_id") or said.where
    if name == "terminal":
        _typed(said, call_id, arguments)
    said.call(name, arguments, call_id)


def _observed(said: _Session, observation: Mapping[str, Any]) -> ToolResult:
    text = blocks_text(observation.get("content"))
    text = text or text_of(observation.get("output")) or ""
    metadata = dict_of(observation.get("metadata"))
    structured: dict[str, Any] = {}
    code = observation.get("exit_code", metadata.get("exit_code"))
    if code is not None:
        structured["exit_code"] = code
    for stated, known in (("matches", "filenames"), ("files", "files")):
        names = [clean(v) for v in list_of(observation.get(stated)) if isinstance(v, str)]
        if names:
            structured[known] = names
    said.cwd = text_of(clean(metadata.get("working_dir"))) or said.cwd
    is_error = observation.get("is_error") is True
    is_late = observation.get("timeout") is True
    is_nothing = is_late and not text.strip()
    text = _with_suffix(text, metadata)
    return ToolResult(
        text,
        structured or None,
        is_error or is_late,
        is_unfinished=is_nothing,
        is_stopped=is_late and not is_nothing,
    )


def _with_suffix(text: str, metadata: Mapping[str, Any]) -> str:
    """Return an output with the note behind it that the model was sent."""
    suffix = (text_of(metadata.get("suffix")) or "").strip()
    return f"{text}\n{suffix}" if suffix and suffix not in text else text


def _is_sdk_event(line: Mapping[str, Any]) -> bool:
    kind = line.get("kind")
    if kind in ("MessageEvent", "SystemPromptEvent"):
        # A conversation without a call has no other events.
        return isinstance(line.get("llm_message", line.get("system_prompt")), dict)
    return "tool_call_id" in line and kind in (
        *("ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent"),
    )


FORMATS.add(
    "openhands-events",
    LineFormat(
        recognises=_is_event,
        read=read_openhands_events,
        keeps=("times", "tokens", "cost", "model", "version"),
        counters=(
            "running totals of the session, cached tokens inside the prompt; those of delegates "
            "are not known to be inside"
        ),
        file_names=("openhands.trajectory.json",),
        event_folders=("events",),
        example=(
            {
                "id": 1,
                "timestamp": "2025-01-01T00:00:00",
                "source": "agent",
                "action": "run",
                "args": {"command": "cat a.py"},
                "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "c"},
            },
            {
                "id": 2,
                "source": "agent",
                "cause": 1,
                "observation": "run",
                "content": "x = 1",
                "extras": {"metadata": {"exit_code": 0, "working_dir": "/w"}},
            },
            {"id": 3, "source": "agent", "action": "finish", "args": {}},
        ),
    ),
)
FORMATS.add(
    "openhands-output",
    LineFormat(
        recognises=_is_output,
        read=read_openhands_output,
        keeps=("times", "tokens", "cost", "model", "version"),
        counters=(
            "running totals of the session, cached tokens inside the prompt; those of delegates "
            "are not known to be inside"
        ),
        priority=1,
        example=(
            {
                "instance_id": "acme__widgets-1",
                "metrics": {"accumulated_cost": 0.5},
                "metadata": {"llm_config": {"model": "m"}},
                "history": [
                    {"action": "message", "content": "Fix it."},
                    {"action": "run", "command": "cat a.py"},
                    {"observation": "run", "content": "x = 1", "exit_code": 0},
                    {"action": "finish", "outputs": {}},
                ],
            },
        ),
    ),
)
FORMATS.add(
    "openhands-sdk-events",
    LineFormat(
        recognises=_is_sdk_event,
        read=read_openhands_sdk,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=(
            "totals of the conversation over all its runs, by model and sub-agent, cached tokens "
            "inside the prompt; a sub-agent's own folder states its share again, which is left out"
        ),
        folders=("conversations", "subagents"),
        event_folders=("events",),
        example=(
            {
                "kind": "ActionEvent",
                "source": "agent",
                "tool_name": "file_editor",
                "tool_call_id": "c",
                "action": {"kind": "FileEditorAction", "command": "view", "path": "/w/a.py"},
            },
            {
                "kind": "ObservationEvent",
                "source": "environment",
                "tool_call_id": "c",
                "observation": {"content": [{"type": "text", "text": "1\tx"}], "is_error": False},
            },
        ),
    ),
)
