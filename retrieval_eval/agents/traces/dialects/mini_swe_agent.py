"""mini-swe-agent: one shell command after another, each in a new shell."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect
from retrieval_eval.agents.traces.untrusted import status_of, text_of
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

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
