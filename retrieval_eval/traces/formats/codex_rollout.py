"""Codex's session files: one thread a file, with items of the Responses interface in its lines.

Lines are ``{timestamp, type, payload}``. What the agent saw is in lines of type ``response_item``;
events beside them state exit codes and tokens. Where the agent wrote scripts that call tools (code
mode), only the events name the commands: what they printed is certain to have been seen where the
script's own output holds it. Sub-agents have files of their own. Some versions keep events only,
and until autumn 2025 ``exec --json`` printed these events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects.codex import answer, seen_part, session_of
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.openai_calls import Place, log_item, output_text
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, size
from retrieval_eval.traces.tokens import OPENAI_COUNTS, Item, Usage, is_misstated, openai_usage
from retrieval_eval.traces.untrusted import clean, count_of, dict_of, list_of, status_of, text_of

FORMAT = "codex-rollout"
STREAM = "codex-exec-events"
"""The form of ``exec --json`` until autumn 2025: the events of a session file without the items."""
_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_BARE_KINDS = frozenset({"function_call", "function_call_output", "local_shell_call", "reasoning"})
_CELLS = frozenset({"exec", "wait"})
_OUTPUTS_LOOKED_AT = 3
"""Outputs of scripts after an event in which the text of the event is looked for."""
_MOST_WAITING = 200
_TEXTS = ("formatted_output", "aggregated_output", "stdout", "stderr")
"""Where an event holds the output of a command: as the agent saw it, or else as it was printed."""


_Waiting = tuple[Mapping[str, Any], Place]
"""An item and where it is."""


class _Seen(Struct):
    """What an event reports of a call: its text, and how many outputs may still hold it."""

    call_id: str
    text: str
    n_left: int = _OUTPUTS_LOOKED_AT


@dataclass(slots=True)
class _State:
    log: CallLog
    name: str
    meta: Mapping[str, Any] | None = None
    is_subagent: bool = False
    first_own: int = 0
    model: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    total: Usage | None = None
    n_requests: int = 0
    waiting: Spooled[_Waiting] = field(default_factory=lambda: Spooled(_Waiting))
    names: dict[str, str] = field(default_factory=dict)
    commands: set[str] = field(default_factory=set)
    ended: dict[str, bool] = field(default_factory=dict)
    unseen: list[_Seen] = field(default_factory=list)
    certain: set[str] = field(default_factory=set)
    explained: set[str] = field(default_factory=set)
    open_cells: set[str] = field(default_factory=set)
    has_cells: bool = False
    has_agent: bool = False
    has_ended: bool = False
    is_stream: bool = False


def read_codex_rollout(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file; ``name`` is the file's name in messages."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints), name)
    for entry, where in complaints.objects(lines):
        _take(state, entry, where)
    _flush(state)
    meta = dict_of(state.meta)
    ids = (meta.get("id"), meta.get("session_id"), _parent(meta), meta.get("forked_from_id"))
    ending = ("no_result_event",) if state.is_stream and not state.has_ended else ()
    return Reading(
        format=STREAM if state.is_stream else FORMAT,
        items=_finished(state),
        session_ids=frozenset(text for text in map(text_of, ids) if text),
        harness="codex",
        harness_version=text_of(meta.get("cli_version")),
        model=None if state.is_subagent else state.model,
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=text_of(meta.get("cwd")) or state.cwd,
        declared_tokens=None if state.is_subagent or not state.total else state.total.total,
        flags=(*ending, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_native=True,
    )


def _take(state: _State, entry: Mapping[str, Any], where: str) -> None:
    timestamp = unix_seconds(entry.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    kind, payload = text_of(entry.get("type")), dict_of(entry.get("payload"))
    if isinstance(entry.get("msg"), dict):
        kind, payload, state.is_stream = "event_msg", dict_of(entry.get("msg")), True
    elif text_of(entry.get("workdir")) and kind is None:
        state.cwd = text_of(entry.get("workdir"))
        state.model = text_of(entry.get("model"))
    elif kind in _BARE_KINDS and "payload" not in entry:
        kind, payload = "response_item", entry
    ordinal = status_of(entry.get("ordinal"))
    is_copied = ordinal is not None and 0 < ordinal < state.first_own
    is_own = state.is_subagent and not is_copied
    place = Place(
        where=where,
        timestamp=timestamp,
        cwd=state.cwd,
        is_subagent=is_own,
        parent_id=_thread(state) if is_own else None,
    )
    if kind == "session_meta" and state.meta is None:
        # A copied history brings the first lines of other sessions with it.
        state.meta = payload
        is_marked = bool(dict_of(payload.get("source")).get("subagent"))
        is_marked = is_marked or payload.get("thread_source") == "subagent"
        state.is_subagent = is_marked or _parent(payload) is not None
        # A sub-agent's file begins with a copy of what the agent that started it did.
        state.first_own = count_of(payload.get("subagent_history_start_ordinal"))
        state.cwd = text_of(payload.get("cwd"))
    elif kind == "turn_context":
        state.model = text_of(payload.get("model")) or state.model
        state.cwd = text_of(payload.get("cwd")) or state.cwd
        state.started_at = earliest(state.started_at, timestamp)
    elif kind == "compacted":
        _flush(state)
        state.log.note_summary()
    elif kind == "event_msg" and is_copied and payload.get("type") == "token_count":
        # These tokens are those of the other thread.
        state.total = openai_usage("total", dict_of(payload.get("info")).get("total_token_usage"))
        _flush(state)
    elif kind == "event_msg":
        _take_event(state, payload, place)
    elif kind == "response_item":
        state.has_agent = state.has_agent or payload.get("role") not in ("user", "developer")
        state.waiting.append((payload, place), size(payload))
        _note_name(state, payload)


def _parent(meta: Mapping[str, Any]) -> str | None:
    """Return the thread that started this one as its sub-agent, if the file names it."""
    subagent = dict_of(dict_of(meta.get("source")).get("subagent"))
    spawned = text_of(dict_of(subagent.get("thread_spawn")).get("parent_thread_id"))
    return spawned or text_of(meta.get("parent_thread_id"))


def _thread(state: _State) -> str:
    return text_of(dict_of(state.meta).get("id")) or state.name


def _flush(state: _State) -> None:
    """Log the items that came since the last count of tokens, which counts them."""
    waiting, state.waiting = state.waiting, Spooled(_Waiting)
    for item, place in waiting:
        _log(state, item, place)


def _note_name(state: _State, item: Mapping[str, Any]) -> None:
    call_id, name = (
        text_of(item.get("call_id")) or text_of(item.get("id")),
        text_of(item.get("name")),
    )
    is_call = name is not None or item.get("type") == "local_shell_call"
    if call_id is None or not is_call:
        return
    state.names[call_id] = name or "local_shell"
    stated = item.get("arguments")
    state.commands |= _commands(decode(stated)[0] if isinstance(stated, str) else stated)
    if name == "exec":
        state.open_cells.add(call_id)
        state.has_cells = True


def _log(state: _State, item: Mapping[str, Any], place: Place) -> None:
    call_id, output = text_of(item.get("call_id")), item.get("output")
    is_cell = call_id is not None and state.names.get(call_id) in _CELLS
    if log_item(state.log, item, place) and is_cell and output is not None:
        _look_for(state, output_text(output))
        state.open_cells.discard(call_id or "")


# --------------------------------------------------------------------------------------------------
# Events beside the items: tokens, how calls ended, and what scripts did.


def _commands(arguments: Any) -> set[str]:
    """Return a call's command, as a line and without the shell that runs it."""
    stated = dict_of(arguments)
    command = stated.get("command", stated.get("cmd"))
    if isinstance(command, str):
        return {command}
    words = [word for word in list_of(command) if isinstance(word, str)]
    return {" ".join(words), words[-1]} if words else set()


def _take_event(state: _State, event: Mapping[str, Any], place: Place) -> None:
    kind, call_id = text_of(event.get("type")), text_of(event.get("call_id"))
    if kind == "token_count":
        _take_tokens(state, dict_of(event.get("info")), place)
        _flush(state)
    elif kind == "item_completed":
        _flush(state)
        state.has_agent = True
        _take_item(state, dict_of(event.get("item")), place)
    elif kind in _ENDS and call_id:
        if call_id not in state.names:
            _flush(state)
        state.has_agent = True
        _take_item(state, _item_of(event, call_id), place)
    elif kind == "session_configured":
        state.has_agent = True
        state.model = text_of(event.get("model")) or state.model
        state.meta = state.meta or {"id": event.get("session_id")}
    elif kind in ("task_complete", "turn_complete"):
        state.has_ended = True


_ENDS = frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end"})


def _item_of(event: Mapping[str, Any], call_id: str) -> Mapping[str, Any]:
    """Return the end of a call, as older versions report it, in the form of newer ones."""
    item = {**event, "id": call_id}
    match event.get("type"):
        case "exec_command_end":
            return {**item, "type": "CommandExecution"}
        case "patch_apply_end":
            status = "failed" if event.get("success") is False else "completed"
            return {**item, "type": "FileChange", "status": status}
    result = dict_of(event.get("result"))
    is_error = "Err" in result
    return {
        **item,
        **dict_of(event.get("invocation")),
        "type": "McpToolCall",
        "status": "failed" if is_error else "completed",
        "error": result.get("Err"),
        "result": result.get("Ok"),
    }


def _take_tokens(state: _State, info: Mapping[str, Any], place: Place) -> None:
    """Log what a request added to the total, which is stated again between requests."""
    stated = info.get("total_token_usage")
    if is_misstated(stated, OPENAI_COUNTS):
        state.log.complaints.note(place.where, "the token counts are no numbers")
        state.log.add_gap()
        return
    total = openai_usage("total", stated)
    if total is None:
        return
    before = state.total or Usage("total", 0, 0)
    added = (total.prompt - before.prompt, total.output - before.output)
    if min(added) < 0:
        before, added = Usage("total", 0, 0), (total.prompt, total.output)
    state.total = total
    if any(added):
        state.n_requests += 1
        message = f"{_thread(state)}#{state.n_requests}"
        state.log.add_usage(Usage(message, *added, is_subagent=place.is_subagent))


def _take_item(state: _State, item: Mapping[str, Any], place: Place) -> None:
    """Take an event about a call: one that an item names already, or one that a script made.

    In a file without other calls such events are the record. Beside some, an event about a command
    of theirs repeats it; any other shows what ran, and not what the agent saw.
    """
    call_id, status = text_of(item.get("id")), text_of(item.get("status"))
    if call_id is None:
        return
    has_failed = status in ("failed", "declined") or bool(status_of(item.get("exit_code")))
    if call_id in state.names:
        state.ended[call_id] = has_failed
        return
    call, result = _call_of(item, place, call_id)
    if call is None or item.get("source") in ("userShell", "user_shell"):
        return
    if not state.has_cells and _commands(call.arguments) & state.commands:
        return
    state.log.add(call)
    state.explained |= state.open_cells
    state.open_cells.clear()
    if result is None or status in ("inProgress", "in_progress"):
        return
    has_ended = status_of(item.get("exit_code")) is not None
    is_unfinished = result.is_unfinished or (has_failed and not has_ended) or status == "declined"
    is_certain = is_unfinished or not result.text.strip() or not state.names
    if is_certain:
        text, is_cut = seen_part(result.text)
        result = replace(result, text=text, is_truncated=is_cut)
    state.log.join(
        call_id,
        replace(
            result,
            is_error=has_failed or result.is_error,
            is_unfinished=is_unfinished,
            doubt=None if is_certain else "display_only",
        ),
    )
    if not is_certain and len(state.unseen) < _MOST_WAITING:
        state.unseen.append(_Seen(call_id, result.text))


def _call_of(
    item: Mapping[str, Any], place: Place, call_id: str
) -> tuple[ToolCall | None, ToolResult | None]:
    match item.get("type"):
        case "CommandExecution":
            arguments: dict[str, Any] = {"command": item.get("command")}
            folder = text_of(item.get("cwd"))
            if folder is not None:
                arguments["workdir"] = folder.removeprefix("file://")
            texts = (text_of(item.get(name)) for name in _TEXTS)
            result = ToolResult(next(filter(None, texts), ""))
            return place.call(call_id, "exec_command", arguments), result
        case "FileChange":
            files = [{"path": path} for path in dict_of(item.get("changes"))]
            text = text_of(item.get("stdout")) or ""
            return place.call(call_id, "apply_patch", {"files": files}), ToolResult(text)
        case "McpToolCall":
            name = f"mcp__{text_of(item.get('server'))}__{text_of(item.get('tool'))}"
            return place.call(call_id, name, item.get("arguments")), mcp_result(item)
        case "DynamicToolCall" if text_of(item.get("tool")):
            content = output_text(item.get("content_items"))
            result = ToolResult(content, is_error=item.get("success") is False)
            return place.call(call_id, str(item.get("tool")), item.get("arguments")), result
    return None, None


def mcp_result(item: Mapping[str, Any]) -> ToolResult | None:
    """Return the result that an item about a server's tool holds, or None where it holds none."""
    error, result = item.get("error"), item.get("result")
    if error:
        message = text_of(dict_of(error).get("message")) or text_of(error)
        return ToolResult(message or "", is_error=True, is_unfinished=True)
    if not isinstance(result, dict):
        return None
    is_error = result.get("isError") is True or result.get("is_error") is True
    return ToolResult(output_text(result), clean(result), is_error)


def _look_for(state: _State, output: str) -> None:
    """Note the calls of a script whose texts its output holds: the agent saw them."""
    left = []
    for seen in state.unseen:
        text = seen.text.strip()
        if text in output or json.dumps(text, ensure_ascii=False)[1:-1] in output:
            state.certain.add(seen.call_id)
        elif seen.n_left > 1:
            left.append(replace(seen, n_left=seen.n_left - 1))
    state.unseen = left


# --------------------------------------------------------------------------------------------------
# What can be said of calls only when all lines are known.


def _finished(state: _State) -> Sequence[Item]:
    items = state.log.items()
    return like(items, Item, _answered(state, items, _polls(state, items)))


def _polls(state: _State, items: Sequence[Item]) -> dict[int, list[int]]:
    """Return the places of the calls that fetched later output, by that of the command's call."""
    running: dict[str, int] = {}
    polls: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        if not isinstance(item, ToolCall) or item.result is None:
            continue
        is_poll = item.name == "write_stdin" and not item.arguments.get("chars")
        polled = running.get(str(item.arguments.get("session_id"))) if is_poll else None
        if polled is not None:
            polls.setdefault(polled, []).append(place)
        elif item.name != "write_stdin" and item.call_id not in state.explained:
            session = session_of(item.result.text)
            if session is not None:
                running[session] = place
    return polls


def _answered(
    state: _State, items: Sequence[Item], polls: Mapping[int, Sequence[int]]
) -> Iterator[Item]:
    """Yield every item, calls with what the agent saw of their results."""
    fetched = {place for places in polls.values() for place in places}
    for place, item in enumerate(items):
        result = _result(state, item)
        if not isinstance(item, ToolCall) or result is None:
            yield item
        elif place in fetched:
            yield replace(item, result=replace(result, text="", doubt=None))
        else:
            parts = [_result(state, items[later]) for later in polls.get(place, ())]
            yield replace(item, result=_continued(result, [p for p in parts if p is not None]))


def _continued(result: ToolResult, parts: Sequence[ToolResult]) -> ToolResult:
    """Return a command's result with what was printed later, when its output was fetched."""
    if not parts:
        return result
    texts = [result.text.removesuffix("\n"), *(part.text for part in parts)]
    text = "\n".join(filter(None, texts))
    is_error = result.is_error or any(part.is_error for part in parts)
    doubt = None if text.strip() else parts[-1].doubt
    return replace(result, text=text, is_error=is_error, doubt=doubt)


def _result(state: _State, item: Item) -> ToolResult | None:
    """Return what the agent saw of a call's result, with what the events state about it."""
    if not isinstance(item, ToolCall) or item.result is None:
        return None
    result = item.result
    if item.call_id in state.explained:
        # The calls that the script made are calls of their own.
        result = ToolResult("")
    if item.call_id in state.certain:
        result = replace(result, doubt=None)
    if state.ended.get(item.call_id):
        result = replace(result, is_error=True)
    return answer(replace(item, result=result))


def _is_rollout_line(line: Mapping[str, Any]) -> bool:
    if text_of(line.get("type")) in _KINDS and isinstance(line.get("payload"), dict):
        return True
    return line.get("record_type") == "state"


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    return "id" in line and text_of(dict_of(line.get("msg")).get("type")) is not None


FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_line,
        read=read_codex_rollout,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=3,
        example=(
            {"model": "gpt-5", "workdir": "/w"},
            {
                "id": "0",
                "msg": {
                    "type": "exec_command_end",
                    "call_id": "c",
                    "command": ["bash", "-lc", "cat a.py"],
                    "cwd": "/w",
                    "formatted_output": "import os",
                    "exit_code": 0,
                },
            },
            {"id": "0", "msg": {"type": "task_complete"}},
        ),
    ),
)
FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_rollout_line,
        read=read_codex_rollout,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=3,
        file_names=("*.jsonl.zst", "*.jsonl.gz"),
        example=(
            {
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "session_meta",
                "payload": {"id": "t", "cwd": "/w", "cli_version": "0.150.0"},
            },
            {
                "timestamp": "2026-01-01T00:00:01Z",
                "type": "response_item",
                "payload": {
                    "type": "function_call",
                    "name": "exec_command",
                    "arguments": '{"cmd": "ls"}',
                    "call_id": "c",
                },
            },
            {
                "timestamp": "2026-01-01T00:00:02Z",
                "type": "event_msg",
                "payload": {
                    "type": "token_count",
                    "info": {"total_token_usage": {"input_tokens": 9, "output_tokens": 1}},
                },
            },
            {
                "timestamp": "2026-01-01T00:00:03Z",
                "type": "response_item",
                "payload": {
                    "type": "function_call_output",
                    "call_id": "c",
                    "output": "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na.py",
                },
            },
            {
                "timestamp": "2026-01-01T00:00:04Z",
                "type": "event_msg",
                "payload": {
                    "type": "item_completed",
                    "item": {
                        "type": "CommandExecution",
                        "id": "exec-1",
                        "command": ["cat", "a.py"],
                        "cwd": "/w",
                        "status": "completed",
                        "exit_code": 0,
                        "aggregated_output": "import os",
                    },
                },
            },
        ),
    ),
)
