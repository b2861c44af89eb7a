"""mini-swe-agent's trajectories, of versions 1 and 2: messages with commands and their answers.

Version 1 has one fenced block of shell in an assistant's text, which the next user message answers.
Version 2 keeps the commands apart from the text; they are answered by id, or in their order. The
file keeps the raw output too, which the agent may not have seen whole: the message is read.

An answer without a command is refused by a message of the user; version 2 keeps the refused answer
in that message. The command that hands in the work ran, but its record says that it did not, and
what it printed is what was handed in: no model was sent it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dicts_at,
    from_seconds,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# mini-swe-agent: one shell command after another, each in a new shell.

HARNESS: Final = "mini-swe-agent"

_STATUS: Final = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_PARTS: Final = ("output", "output_head", "output_tail")
_NOT_EXECUTED: Final = "action was not executed"
_SUBMITS: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_HEAD: Final = 2000


class _Shown(Struct, frozen=True):
    """The parts of a message about a command: its output, or the head and the tail of a long one.

    ``status`` is None where the message states none; ``exception`` is why it did not end by itself.
    """

    parts: tuple[str, ...]
    is_cut: bool
    status: int | None
    exception: str


def answer(call: ToolCall) -> ToolResult:
    r"""Return the output without what is written around it; of a long one, its head and its tail.

    Examples
    --------
    >>> text = "<returncode>1</returncode>\n<output>\na.py\n</output>"
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a.py\n', True)
    >>> text = '{"returncode": 0, "output_head": "a", "output_tail": "z", "elided_chars": 9}'
    >>> answer(ToolCall("1", "bash", {}, ToolResult(text))).text.split("\n")
    ['a', '[... output truncated ...]', 'z']
    """
    result = call.result or ToolResult("")
    shown = _in_json(result.text) or _in_tags(result.text)
    if shown is None:
        return result
    joint = f"\n{CUT_HERE}\n" if shown.is_cut else ""
    parts = [part.rstrip("\n") if shown.is_cut else part for part in shown.parts]
    output = joint.join(parts)
    if shown.is_cut and len(parts) == 1:
        output += joint
    is_nothing = not output.strip() or _NOT_EXECUTED in shown.exception
    return replace(
        result,
        text=output,
        structured=result.structured if shown.status is None else {"exit_code": shown.status},
        is_error=result.is_error or bool(shown.exception) or bool(shown.status),
        is_unfinished=bool(shown.exception) and is_nothing,
        is_stopped=bool(shown.exception) and not is_nothing,
    )


def is_submission(call: ToolCall) -> bool:
    """Whether a command is the one that ends the run and hands in what it prints."""
    command = call.arguments.get("command")
    return isinstance(command, str) and any(mark in command for mark in _SUBMITS)


def _in_json(text: str) -> _Shown | None:
    """Return the parts of a message that is a JSON object, as the default configuration has it."""
    stated = decode(text)[0] if text.lstrip().startswith("{") else None
    if not isinstance(stated, dict) or "returncode" not in stated:
        return None
    parts = tuple(stated[name] for name in _PARTS if isinstance(stated.get(name), str))
    if not parts and "exception_info" not in stated:
        return None
    is_cut = "output_head" in stated or "output_tail" in stated or "elided_chars" in stated
    exception = text_of(stated.get("exception_info")) or ""
    return _Shown(parts, is_cut, status_of(stated["returncode"]), exception)


def _in_tags(text: str) -> _Shown | None:
    """Return the parts of a message with tags, or of the one about a command that was killed."""
    head = text[:_HEAD]
    status = _STATUS.search(head)
    parts = tuple(part for name in _PARTS if (part := _inside(text, name)) is not None)
    before = head.split("<output", 1)[0]
    exception = before if "<exception>" in before or _is_killed(text) else ""
    if status is None and not parts and not exception:
        return None
    is_cut = "<elided_chars>" in text and "<output_head>" in text
    return _Shown(parts, is_cut, None if status is None else int(status[1]), exception)


def _is_killed(text: str) -> bool:
    return text.lstrip().startswith("The last command <command>") and (
        "timed out and has been killed" in text
    )


def _inside(text: str, tag: str) -> str | None:
    """Return the text of the first element of a name, to its last closing tag."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    end = text.rfind(closing)
    if start < 0 or end < start:
        return None
    return text[start + len(opening) : end].removeprefix("\n")


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "mini"}),
        keeps_shell=False,
        refusals=(
            r"Tool call error:|Format error:\s{0,9}<error>",
            r"Please always provide \W{0,4}EXACTLY ONE action\b",
            r"<exception>[^\n<]{0,300}action was not executed",
        ),
        answer=answer,
        cut=(
            "of more than 10,000 characters the message keeps 5,000 of the head and the tail, in "
            "tags or in JSON (output_head, output_tail, elided_chars); raw_output keeps them all"
        ),
        finished=(
            "returncode -1 with an exception: killed at its time limit after what is printed, or "
            "'action was not executed'; the command that submits ran, and is recorded so too"
        ),
        delegated="none: the one agent has no tool but its shell",
        statuses=(r"<returncode>-?\d+</returncode>",),
        source=(
            "mini-swe-agent 1.14 and 2.4.6 at a83fcae8, read in its source; two "
            "trajectories of 1.x seen"
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# mini-swe-agent's trajectories, of versions 1 and 2: messages with commands and their answers.

FORMAT = "mini-swe-agent"
_SUBMITTED = "Submitted"
_LONGEST_OPENING = 200
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n")


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
    info = dict_at(document, "info")
    submission = text_of(clean(at(info, "submission")))
    seen = _seen(submission) if at(info, "exit_status") == _SUBMITTED else answer
    said = Transcript(name, "step", answer=seen, harness=HARNESS, holds_run=True, is_native=True)
    said.submission = submission
    template = text_at(info, "config", "agent", "format_error_template") or ""
    wrong = template[:_LONGEST_OPENING].partition("{")[0].strip()
    said.cwd = text_of(clean(at(info, "config", "environment", "cwd")))
    said.model = text_of(clean(at(info, "config", "model", "model_name")))
    said.version = text_at(info, "mini_version")
    said.paid(at(info, "model_stats", "instance_cost"))
    said.ending = _ending(text_at(info, "exit_status"))
    waiting: list[str] = []
    for index, message in enumerate(messages):
        said.at(f"{name}#/messages/{index}", _time(message))
        if isinstance(message, dict):
            waiting = _take(said, message, waiting, wrong)
        else:
            said.note("expected an object")
            said.add_gap()
    version = (text_at(document, "trajectory_format") or "")[:40].removeprefix("mini-swe-agent-")
    n_requests = count_at(at(info, "model_stats"), "api_calls")
    return said.reading(f"{FORMAT}-{version or 1}", n_requests=n_requests)


def _seen(submission: str | None) -> Callable[[ToolCall], ToolResult]:
    """Return what gives the answer of a call in a run that handed in its work.

    The last command's output was handed in, and the run ended before a model was sent it.
    """

    def seen(call: ToolCall) -> ToolResult:
        result = answer(call)
        if submission is None or call.result is None or not is_submission(call):
            return result
        if result.is_unfinished or call.result.text.strip() == submission.strip():
            return ToolResult(submission, doubt="display_only")
        return result

    return seen


def _ending(status: str | None) -> tuple[str, ...]:
    if status is None:
        return ("no_result_event",)
    return () if status == _SUBMITTED else (f"result_{status[:60]}",)


def _take(
    said: Transcript, message: Mapping[str, Any], waiting: list[str], wrong: str
) -> list[str]:
    """Take a message; ``waiting`` are the calls without an answer, and those after it return.

    A message without the id of a call answers the first of them. ``wrong`` is how the message
    begins that refuses an answer, where the configuration states it.
    """
    role = message.get("role")
    if role == "assistant" or message.get("object") == "response":
        return _take_answer(said, message)
    if at(message, "extra", "interrupt_type") is not None:
        _take_refused(said, message)
        return waiting
    is_tool = role == "tool" or message.get("type") == "function_call_output"
    if not is_tool and role != "user":
        return waiting
    text = blocks_text(message.get("content", message.get("output")))
    is_wrong = bool(wrong) and text.lstrip().startswith(wrong)
    said.heard(text, is_refusal=is_wrong)
    stated = text_at(message, "tool_call_id") or text_at(message, "call_id") if is_tool else None
    call_id = stated or next(iter(waiting), None)
    if call_id is not None:
        said.join(call_id, ToolResult(text))
    elif is_tool:
        said.flags["result_without_call"] = None
    return [other for other in waiting if other != call_id]


def _take_answer(said: Transcript, message: Mapping[str, Any]) -> list[str]:
    """Take an answer of the model; return the ids of its calls."""
    said.at(said.where, said.time, by_agent=True)
    _take_usage(said, at(message, "extra", "response", "usage") or at(message, "usage"))
    said.spoke(blocks_text(message.get("content")))
    made = []
    for number, (command, call_id) in enumerate(_commands(message)):
        own = call_id or (said.where if number == 0 else f"{said.where}/{number}")
        if not said.has(own):
            said.call("bash", {"command": command}, own)
            made.append(own)
    return made


def _take_refused(said: Transcript, message: Mapping[str, Any]) -> None:
    """Take an answer of the model that lies, with its tokens, in the message that refused it."""
    refused = at(message, "extra", "response")
    if isinstance(refused, dict):
        said.at(said.where, said.time, by_agent=True)
        _take_usage(said, refused.get("usage"))
        said.spoke()
        said.heard("", is_refusal=True)


def _take_usage(said: Transcript, usage: Any) -> None:
    prompt = count_at(usage, "prompt_tokens") or count_at(usage, "input_tokens")
    output = count_at(usage, "completion_tokens") or count_at(usage, "output_tokens")
    said.used(None, prompt, output)


def _time(message: Any) -> float | None:
    """Return when a message was written; version 1 keeps when the response was made."""
    extra = at(message, "extra")
    stated = (at(extra, "timestamp"), at(message, "timestamp"), at(extra, "response", "created"))
    times = (from_seconds(value) or unix_seconds(value) for value in stated)
    return next((time for time in times if time is not None), None)


def _commands(message: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    actions = dicts_at(message, "extra", "actions")
    stated = [(text_of(clean(a.get("command"))), text_at(a, "tool_call_id")) for a in actions]
    known = [(command, call_id) for command, call_id in stated if command is not None]
    if known or "actions" in dict_at(message, "extra"):
        return known
    # Only a message with exactly one block was executed.
    text = blocks_text(message.get("content"))
    blocks = list(islice(_BLOCK.finditer(text), 2))
    body = text[blocks[0].end() :] if len(blocks) == 1 else ""
    return [(body.split("\n```", 1)[0].removesuffix("```"), None)] if "```" in body else []


def _is_mini_swe_agent(document: Mapping[str, Any]) -> bool:
    stated = text_at(document, "trajectory_format") or ""
    if stated.startswith("mini-swe-agent"):
        return True
    return isinstance(document.get("messages"), list) and "mini_version" in dict_at(
        document, "info"
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
        counters="none: the messages alone keep no counts",
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
        counters=(
            "each answer's own prompt and completion tokens, cached tokens inside the prompt, "
            "refused answers too; the cost is the run's total"
        ),
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
