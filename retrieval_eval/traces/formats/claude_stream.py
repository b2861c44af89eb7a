"""Claude Code's ``--output-format stream-json``: one file, with the calls of its sub-agents.

Lines of type ``assistant`` make calls, lines of type ``user`` carry results, and a line of type
``result`` ends the run with its usage. Older versions put a time on ``user`` lines only; a
call then has the time of its result, a delegating call that of its sub-agent's first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.claude_lines import (
    COMPACTED,
    SYNTHETIC_MODEL,
    log_assistant,
    log_user,
)
from retrieval_eval.traces.reading import CallLog, Complaints, Reading
from retrieval_eval.traces.tokens import anthropic_usage
from retrieval_eval.traces.untrusted import amount_of, dict_of, text_of

FORMAT = "claude-code-stream-json"
_USAGE_NAMES = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


@dataclass(slots=True)
class _State:
    log: CallLog
    init: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    session_ids: set[str] = field(default_factory=set)
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False


def read_claude_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file; ``name`` is the file's name in messages."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints))
    for entry, where in complaints.objects(lines):
        _take(state, entry, where)
    declared = declared_total(state.result)
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        session_ids=frozenset(state.session_ids),
        harness="claude-code",
        harness_version=text_of(state.init.get("claude_code_version")),
        model=text_of(state.init.get("model")),
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=text_of(state.init.get("cwd")),
        declared_tokens=declared,
        declared_cost_usd=amount_of(dict_of(state.result).get("total_cost_usd")),
        flags=(*_ending(state.result), *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        holds_run=True,
    )


def _take(state: _State, entry: Mapping[str, Any], where: str) -> None:
    kind = entry.get("type")
    session = text_of(entry.get("session_id"))
    if session:
        state.session_ids.add(session)
    if kind == "system" and entry.get("subtype") == "init":
        state.init = state.init or entry
    elif kind == "system" and entry.get("subtype") == COMPACTED:
        state.log.note_summary()
    elif kind == "result":
        state.result = entry
    elif kind in ("assistant", "user"):
        _message(state, entry, where)


def _message(state: _State, entry: Mapping[str, Any], where: str) -> None:
    timestamp = unix_seconds(entry.get("timestamp"))
    parent = text_of(entry.get("parent_tool_use_id"))
    state.finished_at = latest(state.finished_at, timestamp)
    if parent:
        state.log.touch(parent, timestamp)
    if entry.get("type") == "user":
        structured = entry.get("tool_use_result")
        log_user(
            state.log,
            entry,
            structured,
            where=where,
            timestamp=timestamp,
            is_subagent=parent is not None,
            parent_id=parent,
        )
        return
    model = dict_of(entry.get("message")).get("model")
    state.has_agent = state.has_agent or model != SYNTHETIC_MODEL
    state.started_at = earliest(state.started_at, timestamp)
    log_assistant(
        state.log,
        entry.get("message"),
        where=where,
        timestamp=timestamp,
        is_subagent=parent is not None,
        parent_id=parent,
        cwd=text_of(state.init.get("cwd")),
    )


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
    if kind == "assistant" and text_of(dict_of(line.get("message")).get("id")):
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
