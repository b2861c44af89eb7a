"""Code shared by Claude Code's two line formats: messages with tool-use and tool-result blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects.claude_code import opens_with_exit_status
from retrieval_eval.traces.reading import CallLog, arguments_of, is_summary
from retrieval_eval.traces.tokens import ANTHROPIC_COUNTS, anthropic_usage, is_misstated
from retrieval_eval.traces.untrusted import blocks_text, clean, dict_of, text_of

COMPACTED = "compact_boundary"
"""The subtype of the system line after which the agent saw a summary of the history."""

SYNTHETIC_MODEL = "<synthetic>"
"""The model name on messages that the harness made up itself, such as API errors."""


def log_assistant(
    log: CallLog,
    message: Any,
    *,
    where: str,
    timestamp: float | None = None,
    is_subagent: bool = False,
    parent_id: str | None = None,
    cwd: str | None = None,
) -> None:
    """Log the usage and the tool calls of an assistant line's message."""
    body = dict_of(message)
    usage = anthropic_usage(text_of(body.get("id")) or where, body.get("usage"), is_subagent)
    if is_misstated(body.get("usage"), ANTHROPIC_COUNTS):
        log.complaints.note(where, "the token counts are no numbers")
        log.add_gap()
    elif usage is not None:
        log.add_usage(usage)
    for block in _blocks(log, message, where):
        if block.get("type") != "tool_use":
            continue
        name, call_id = text_of(block.get("name")), text_of(block.get("id"))
        if name is None:
            log.complaints.note(where, "a tool call without a name")
            continue
        if call_id is None:
            log.complaints.note(where, f"the call of {name[:60]} has no id")
        if not isinstance(block.get("input"), (dict, type(None))):
            log.complaints.note(where, f"the arguments of {name[:60]} are no object")
        log.add(
            ToolCall(
                call_id=call_id or where,
                name=name,
                arguments=arguments_of(block.get("input")),
                result=None,
                timestamp=timestamp,
                is_subagent=is_subagent,
                cwd=cwd,
                where=where,
                parent_id=parent_id,
            )
        )


def _blocks(log: CallLog, message: Any, where: str) -> list[Mapping[str, Any]]:
    """Return the content blocks of a line's message; plain text has none."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return []
    if not isinstance(content, list):
        log.complaints.note(where, "expected a message with content")
        return []
    blocks: list[Mapping[str, Any]] = [block for block in content if isinstance(block, dict)]
    n_left = len(content) - len(blocks)
    if n_left and n_left > sum(isinstance(block, str) for block in content):
        log.complaints.note(where, "a content block is no object")
    return blocks


def log_user(
    log: CallLog,
    entry: Mapping[str, Any],
    structured: Any,
    *,
    where: str,
    timestamp: float | None = None,
    is_subagent: bool = False,
    parent_id: str | None = None,
) -> None:
    """Log the tool results of a user line, or that it is the summary of a dropped history.

    ``structured`` is the line's machine-readable result; it is used where it can belong to one
    result only. A result without a call id belongs to the one call that the same agent made
    directly before, if the line holds no other result.
    """
    before = log.take_recent()
    message = entry.get("message")
    if entry.get("isCompactSummary") is True or is_summary(
        blocks_text(dict_of(message).get("content"))
    ):
        log.note_summary()
    blocks = [b for b in _blocks(log, message, where) if b.get("type") == "tool_result"]
    callers = [text_of(block.get("tool_use_id")) for block in blocks]
    if (
        len(blocks) == len(before) == 1
        and "content" in blocks[0]
        and not blocks[0].get("tool_use_id")
    ):
        (call,) = before
        if (call.is_subagent, call.parent_id) == (is_subagent, parent_id):
            callers = [call.call_id]
    answers = [(caller, b) for caller, b in zip(callers, blocks, strict=True) if caller is not None]
    if len(answers) < len(blocks):
        log.complaints.note(where, "a tool result does not name its call")
    own = clean(structured) if len(answers) == 1 and isinstance(structured, (dict, list)) else None
    for caller, block in answers:
        result = ToolResult(
            text=blocks_text(block.get("content")),
            structured=own if own is not None else _picture(block.get("content")),
            is_error=block.get("is_error") is True,
        )
        log.join(caller, marked(result), timestamp)


def _picture(content: Any) -> Mapping[str, Any] | None:
    """Return the kind of a content without text, which is an image or a document, or None."""
    blocks = content if isinstance(content, list) else []
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    if not kinds or not all(kind in ("image", "document") for kind in kinds):
        return None
    return {"type": "image" if "image" in kinds else "pdf"}


_HEAD: Final = 1000
_LATE: Final = re.compile(
    r"\s*(?P<status>(?:Error: )?Exit code \d{1,9}\n)?"
    r"(?:Command timed out after \d[\w .]{0,40}\s{0,9}(?:\n|\Z))+"
)


def marked(result: ToolResult) -> ToolResult:
    """Return a result with ``is_unfinished`` set if the call did not run or did not finish.

    That is an error without an exit code (not permitted, blocked by a hook, timed out), and a
    command that was interrupted.
    """
    late = _LATE.match(result.text[:_HEAD]) if result.is_error else None
    if late is not None:
        # What was printed before stands behind the message.
        shown = (late["status"] or "") + result.text[late.end() :]
        is_nothing = not result.text[late.end() :].strip()
        return replace(result, text=result.text if is_nothing else shown, is_unfinished=is_nothing)
    structured = dict_of(result.structured)
    is_interrupted = structured.get("interrupted") is True and "stdout" in structured
    if is_interrupted and (text_of(structured.get("stdout")) or "").strip():
        # Whether the agent was shown what was printed before is not stated.
        return replace(result, is_error=True, doubt="may_have_failed")
    if is_interrupted or (result.is_error and not opens_with_exit_status(result.text)):
        return replace(result, is_error=True, is_unfinished=True)
    return result
