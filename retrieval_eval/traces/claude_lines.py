"""What Claude Code's two line formats share: messages with tool-use and tool-result blocks."""

from __future__ import annotations

from typing import Any

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.foreign import blocks_text, clean, dict_of, list_of, text_of
from retrieval_eval.traces.reading import CallLog, arguments_of
from retrieval_eval.traces.tokens import anthropic_usage

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
    if usage is not None:
        log.add_usage(usage)
    for block in list_of(body.get("content")):
        name = text_of(dict_of(block).get("name"))
        if name is None or block.get("type") != "tool_use":
            continue
        log.add(
            ToolCall(
                call_id=text_of(block.get("id")) or where,
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


def log_results(
    log: CallLog, message: Any, structured: Any, *, timestamp: float | None = None
) -> None:
    """Log the tool results of a user line's message.

    ``structured`` is the line's machine-readable result; it is used where it can belong to one
    result only.
    """
    blocks = [
        block
        for block in list_of(dict_of(message).get("content"))
        if dict_of(block).get("type") == "tool_result" and text_of(block.get("tool_use_id"))
    ]
    own = clean(structured) if len(blocks) == 1 and isinstance(structured, (dict, list)) else None
    for block in blocks:
        result = ToolResult(
            text=blocks_text(block.get("content")),
            structured=own,
            is_error=block.get("is_error") is True,
        )
        log.join(text_of(block.get("tool_use_id")) or "", result, timestamp)
