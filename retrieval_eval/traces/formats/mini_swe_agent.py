"""mini-swe-agent's trajectories, of versions 1 and 2: messages with commands and their answers.

Version 1 has one fenced block of shell in an assistant's text, which the next user message answers.
Version 2 keeps the commands apart from the text; they are answered by id, or in their order. The
file keeps the raw output too, which the agent may not have seen whole: the message is read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, from_seconds, latest, unix_seconds
from retrieval_eval.traces.dialects.mini_swe_agent import HARNESS, answer
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.reading import Complaints, Reading, Unreadable
from retrieval_eval.traces.tokens import Gap, Item, Usage
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

FORMAT = "mini-swe-agent"
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n")


@dataclass(slots=True)
class _State:
    name: str
    complaints: Complaints
    cwd: str | None
    items: Spooled[Item] = field(default_factory=lambda: Spooled(Item))
    waiting: deque[int] = field(default_factory=deque)
    places: dict[str, int] = field(default_factory=dict)
    flags: dict[str, None] = field(default_factory=dict)
    has_agent: bool = False
    started_at: float | None = None
    finished_at: float | None = None


def read_mini_swe_agent(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a trajectory."""
    messages = document.get("messages")
    if not isinstance(messages, list):
        return Unreadable(f"{name}: a mini-swe-agent trajectory without a list of messages")
    return _reading(document, messages, name)


def read_mini_swe_agent_messages(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a trajectory that is only its messages."""
    return _reading({}, (line.value for line in lines), name)


def _reading(document: Mapping[str, Any], messages: Iterable[Any], name: str) -> Reading:
    info = dict_of(document.get("info"))
    config = dict_of(info.get("config"))
    cwd = text_of(clean(dict_of(config.get("environment")).get("cwd")))
    state = _State(name, Complaints(name, "step"), cwd)
    for index, message in enumerate(messages):
        where = f"{name}#/messages/{index}"
        if isinstance(message, dict):
            _take(state, message, where)
        else:
            state.complaints.note(where, "expected an object")
            state.items.append(Gap())
    return Reading(
        format=f"{FORMAT}-{_version(document)}",
        items=state.items.done(),
        harness=HARNESS,
        harness_version=text_of(info.get("mini_version")),
        model=text_of(clean(dict_of(config.get("model")).get("model_name"))),
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=cwd,
        declared_cost_usd=amount_of(dict_of(info.get("model_stats")).get("instance_cost")),
        flags=(*_ending(info), *state.flags, *state.complaints.flags()),
        problems=state.complaints.sentences(),
        has_agent=state.has_agent,
        holds_run=True,
        is_native=True,
    )


def _version(document: Mapping[str, Any]) -> str:
    stated = text_of(document.get("trajectory_format")) or ""
    return stated[:40].removeprefix("mini-swe-agent-") or "1"


def _ending(info: Mapping[str, Any]) -> tuple[str, ...]:
    status = text_of(info.get("exit_status"))
    if status is None:
        return ("no_result_event",)
    return () if status == "Submitted" else (f"result_{status[:60]}",)


def _take(state: _State, message: Mapping[str, Any], where: str) -> None:
    extra = dict_of(message.get("extra"))
    timestamp = _time(extra.get("timestamp"), message.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    if message.get("role") == "assistant" or message.get("object") == "response":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
        _log_usage(state, message, extra, where)
        _log_calls(state, message, extra, timestamp, where)
    elif message.get("role") == "tool" or message.get("type") == "function_call_output":
        call_id = text_of(message.get("tool_call_id")) or text_of(message.get("call_id"))
        place = state.places.get(call_id) if call_id else _next(state)
        if place is None:
            state.flags["result_without_call"] = None
        else:
            _answer(state, place, message.get("content", message.get("output")))
    elif message.get("role") == "user" and extra.get("interrupt_type") is None:
        place = _next(state)
        if place is not None:
            _answer(state, place, message.get("content"))


def _time(*stated: Any) -> float | None:
    times = (from_seconds(value) or unix_seconds(value) for value in stated)
    return next((time for time in times if time is not None), None)


def _next(state: _State) -> int | None:
    """Return the place of the first call without an answer, which a message without id answers."""
    return state.waiting.popleft() if state.waiting else None


def _log_usage(
    state: _State, message: Mapping[str, Any], extra: Mapping[str, Any], where: str
) -> None:
    response = dict_of(extra.get("response"))
    usage = dict_of(response.get("usage")) or dict_of(message.get("usage"))
    prompt = count_of(usage.get("prompt_tokens")) or count_of(usage.get("input_tokens"))
    output = count_of(usage.get("completion_tokens")) or count_of(usage.get("output_tokens"))
    if prompt + output:
        state.items.append(Usage(where, prompt, output))


def _log_calls(
    state: _State,
    message: Mapping[str, Any],
    extra: Mapping[str, Any],
    timestamp: float | None,
    where: str,
) -> None:
    state.waiting.clear()
    for number, (command, call_id) in enumerate(_commands(message, extra)):
        arguments = {"command": command}
        own = call_id or (where if number == 0 else f"{where}/{number}")
        if own in state.places:
            continue
        state.places[own] = len(state.items)
        state.waiting.append(len(state.items))
        call = ToolCall(own, "bash", arguments, None, timestamp, cwd=state.cwd, where=where)
        state.items.append(call)


def _commands(message: Mapping[str, Any], extra: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    actions = [dict_of(action) for action in list_of(extra.get("actions"))]
    stated = [(text_of(clean(a.get("command"))), text_of(a.get("tool_call_id"))) for a in actions]
    known = [(command, call_id) for command, call_id in stated if command is not None]
    if known or "actions" in extra:
        return known
    # Only a message with exactly one block was executed.
    text = blocks_text(message.get("content"))
    blocks = list(islice(_BLOCK.finditer(text), 2))
    body = text[blocks[0].end() :] if len(blocks) == 1 else ""
    return [(body.split("\n```", 1)[0].removesuffix("```"), None)] if "```" in body else []


def _answer(state: _State, place: int, content: Any) -> None:
    call = state.items[place]
    if isinstance(call, ToolCall) and call.result is None:
        text = blocks_text(content)
        call = replace(call, result=ToolResult(text))
        state.items.put(place, replace(call, result=answer(call)), len(text))
    if place in state.waiting:
        state.waiting.remove(place)


def _is_mini_swe_agent(document: Mapping[str, Any]) -> bool:
    stated = text_of(document.get("trajectory_format")) or ""
    if stated.startswith("mini-swe-agent"):
        return True
    return isinstance(document.get("messages"), list) and "mini_version" in dict_of(
        document.get("info")
    )


def _is_message(line: Mapping[str, Any]) -> bool:
    content = line.get("content")
    if not isinstance(content, str):
        return False
    if line.get("role") == "assistant":
        return "```mswea_bash_command" in content
    return line.get("role") == "user" and content.startswith("<returncode>")


FORMATS.add(
    f"{FORMAT}-messages",
    LineFormat(
        recognises=_is_message,
        read=read_mini_swe_agent_messages,
        priority=1,
        example=(
            {"role": "system", "content": "You are an agent."},
            {"role": "assistant", "content": "I look.\n\n```mswea_bash_command\ncat a.py\n```"},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\nx = 1\n</output>"},
        ),
    ),
)
FORMATS.add(
    FORMAT,
    DocumentFormat(
        recognises=_is_mini_swe_agent,
        read=read_mini_swe_agent,
        keeps=("times", "tokens", "cost", "model", "version"),
        priority=1,
        file_names=("mini-swe-agent.trajectory.json", "*.traj.json"),
        example={
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {
                "mini_version": "2.4.6",
                "exit_status": "Submitted",
                "model_stats": {"instance_cost": 0.5},
                "config": {"model": {"model_name": "m"}, "environment": {"cwd": "/w"}},
            },
            "messages": [
                {
                    "role": "assistant",
                    "content": "I look.",
                    "extra": {
                        "actions": [{"command": "cat a.py", "tool_call_id": "c"}],
                        "response": {"usage": {"prompt_tokens": 5, "completion_tokens": 2}},
                        "timestamp": 1.5,
                    },
                },
                {
                    "role": "tool",
                    "tool_call_id": "c",
                    "content": "<returncode>0</returncode>\n<output>\nx = 1\n</output>",
                    "extra": {"timestamp": 2.5},
                },
            ],
        },
    ),
)
