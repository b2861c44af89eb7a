"""Claude Code's session JSONL: one thread a file, a time and a folder on every line.

The main thread's file leaves its sub-agents out; they are separate files whose lines have
``isSidechain``. Unlike stream lines, session lines carry the real output-token counts.
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
    take_assistant,
    take_user,
)
from retrieval_eval.traces.reading import Reading
from retrieval_eval.traces.transcript import Transcript
from retrieval_eval.traces.untrusted import text_at, text_of

FORMAT = "claude-code-session-jsonl"


def read_claude_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file; ``name`` is the file's name in messages."""
    said = Transcript(name, harness="claude-code")
    seen: set[str | None] = {None}
    cwd = None
    for entry, where in said.complaints.objects(lines):
        said.session(entry.get("sessionId"))
        said.version = said.version or text_of(entry.get("version"))
        said.cwd = text_of(entry.get("cwd"))  # of the calls in this line
        cwd = cwd or said.cwd
        kind = entry.get("type")
        if kind == "system" and entry.get("subtype") == COMPACTED:
            said.note_summary(is_cut=text_of(entry.get("logicalParentUuid")) not in seen)
        seen.add(text_of(entry.get("uuid")))
        if kind not in ("assistant", "user"):
            continue
        model = text_at(entry, "message", "model")
        is_model = kind == "assistant" and model != SYNTHETIC_MODEL
        said.has_agent = said.has_agent or is_model
        said.at(where, unix_seconds(entry.get("timestamp")), starts=kind == "assistant")
        said.by(text_of(entry.get("agentId")), is_subagent=entry.get("isSidechain") is True)
        if kind == "user":
            take_user(said, entry, entry.get("toolUseResult"))
            continue
        if is_model and not said.is_subagent:
            said.model = said.model or model
        take_assistant(said, entry.get("message"))
    return said.reading(FORMAT, cwd=cwd)


def _is_session_line(line: Mapping[str, Any]) -> bool:
    return bool(text_at(line, "sessionId") and text_at(line, "type"))


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
