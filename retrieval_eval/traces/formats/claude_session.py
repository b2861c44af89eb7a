"""Claude Code's session JSONL: one thread a file, a time and a folder on every line.

The main thread's file leaves its sub-agents out; they are separate files whose lines have
``isSidechain``. Unlike stream lines, session lines carry the real output-token counts.
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
from retrieval_eval.traces.untrusted import dict_of, text_of

FORMAT = "claude-code-session-jsonl"


@dataclass(slots=True)
class _State:
    log: CallLog
    session_ids: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    version: str | None = None
    model: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False


def read_claude_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file; ``name`` is the file's name in messages."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints))
    for entry, where in complaints.objects(lines):
        _take(state, entry, where)
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        session_ids=frozenset(state.session_ids),
        harness="claude-code",
        harness_version=state.version,
        model=state.model,
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=state.cwd,
        flags=(*state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
    )


def _take(state: _State, entry: Mapping[str, Any], where: str) -> None:
    session = text_of(entry.get("sessionId"))
    if session:
        state.session_ids.add(session)
    state.version = state.version or text_of(entry.get("version"))
    state.cwd = state.cwd or text_of(entry.get("cwd"))
    kind = entry.get("type")
    if kind == "system" and entry.get("subtype") == COMPACTED:
        kept = text_of(entry.get("logicalParentUuid"))
        state.log.note_summary(is_cut=kept is not None and kept not in state.lines)
    line = text_of(entry.get("uuid"))
    if line:
        state.lines.add(line)
    if kind not in ("assistant", "user"):
        return
    timestamp = unix_seconds(entry.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    message = entry.get("message")
    is_subagent, agent = entry.get("isSidechain") is True, text_of(entry.get("agentId"))
    if kind == "user":
        log_user(
            state.log,
            entry,
            entry.get("toolUseResult"),
            where=where,
            timestamp=timestamp,
            is_subagent=is_subagent,
            parent_id=agent,
        )
        return
    state.started_at = earliest(state.started_at, timestamp)
    model = text_of(dict_of(message).get("model"))
    state.has_agent = state.has_agent or model != SYNTHETIC_MODEL
    if model != SYNTHETIC_MODEL and not is_subagent:
        state.model = state.model or model
    log_assistant(
        state.log,
        message,
        where=where,
        timestamp=timestamp,
        is_subagent=is_subagent,
        parent_id=agent,
        cwd=text_of(entry.get("cwd")),
    )


def _is_session_line(line: Mapping[str, Any]) -> bool:
    return bool(text_of(line.get("sessionId")) and text_of(line.get("type")))


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_session_line,
        read=read_claude_session,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=2,
        example=(
            {
                "type": "assistant",
                "sessionId": "s",
                "timestamp": "2026-01-01T00:00:00Z",
                "message": {
                    "id": "m",
                    "content": [{"type": "tool_use", "id": "c", "name": "Glob", "input": {}}],
                },
            },
            {
                "type": "user",
                "sessionId": "s",
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "/w/a.py"}]
                },
            },
        ),
    ),
)
