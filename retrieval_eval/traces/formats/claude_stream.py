"""Claude Code's ``--output-format stream-json``: one file, with the calls of its sub-agents.

Lines of type ``assistant`` make calls, lines of type ``user`` carry results, and a line of type
``result`` ends the run with its usage. Older versions put a time on ``user`` lines only; a
call then has the time of its result, a delegating call that of its sub-agent's first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.traces.clock import unix_seconds
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.claude_lines import (
    COMPACTED,
    SYNTHETIC_MODEL,
    ClaudeTranscript,
    take_assistant,
    take_user,
)
from retrieval_eval.traces.reading import Reading
from retrieval_eval.traces.tokens import anthropic_usage
from retrieval_eval.traces.untrusted import at, dict_of, text_at, text_of

FORMAT = "claude-code-stream-json"
_USAGE_NAMES = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


def read_claude_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file; ``name`` is the file's name in messages."""
    said = ClaudeTranscript(name, holds_run=True)
    has_begun, end = False, None
    for entry, where in said.complaints.objects(lines):
        said.session(entry.get("session_id"))
        match entry.get("type"):
            case "system" if entry.get("subtype") == "init" and not has_begun:
                has_begun = True
                said.version = text_at(entry, "claude_code_version")
                said.model, said.cwd = text_at(entry, "model"), text_at(entry, "cwd")
            case "system" if entry.get("subtype") == COMPACTED:
                said.note_summary()
            case "result":
                end = entry
            case "assistant" | "user" as kind:
                parent = text_at(entry, "parent_tool_use_id")
                is_assistant = kind == "assistant"
                said.at(where, unix_seconds(entry.get("timestamp")), starts=is_assistant)
                said.by(parent)
                if parent:
                    said.touch(parent, said.time)
                    said.sub_agents.add(parent)
                if not is_assistant:
                    take_user(said, entry, entry.get("tool_use_result"))
                    continue
                if at(entry, "message", "model") != SYNTHETIC_MODEL:
                    said.has_agent = True
                take_assistant(said, entry.get("message"))
    said.ending = _ending(end)
    said.paid(at(end, "total_cost_usd"))
    return said.reading(FORMAT, declared_tokens=declared_total(end))


def _ending(result: Mapping[str, Any] | None) -> tuple[str, ...]:
    if result is None:
        return ("no_result_event",)
    subtype = text_of(result.get("subtype"))
    if subtype in (None, "success"):
        return ("result_error",) if result.get("is_error") is True else ()
    return (f"result_{subtype[:60]}",)


def declared_total(result: Mapping[str, Any] | None) -> int | None:
    """Return the tokens a ``result`` event declares: all models, else the main thread's usage.

    ``modelUsage`` includes sub-agents and ``usage`` does not, so the former is preferred.
    """
    entry = dict_of(result)
    models: list[Any] = [
        {_USAGE_NAMES.get(name, name): count for name, count in dict_of(model).items()}
        for model in dict_of(entry.get("modelUsage")).values()
    ]
    stated = [anthropic_usage("", usage) for usage in models or [entry.get("usage")]]
    return sum(usage.total for usage in stated if usage is not None) or None


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "assistant" and text_at(line, "message", "id"):
        return True
    return "parent_tool_use_id" in line or ("tools" in line and kind == "system")


def _may_be_stream_line(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "assistant" and isinstance(line.get("message"), dict)


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_stream_line,
        read=read_claude_stream,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        may_be=_may_be_stream_line,
        example=(
            {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/w"},
            {
                "type": "assistant",
                "parent_tool_use_id": None,
                "message": {
                    "id": "m",
                    "content": [{"type": "tool_use", "id": "c", "name": "Glob", "input": {}}],
                },
            },
            {
                "type": "user",
                "parent_tool_use_id": None,
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "/w/a.py"}]
                },
            },
            {"type": "result", "subtype": "success"},
        ),
    ),
)
