"""Claude Code's session JSONL: one thread a file, a time and a folder on every line.

The main thread's file leaves its sub-agents out; they are separate files whose lines have
``isSidechain``, below a folder with the session's name beside its file. Unlike stream lines,
session lines carry the real output-token counts. Lines of type ``attachment`` hold what the
harness showed without a call. Each line names the one before it, so that a branch which the user
rewound shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.clock import unix_seconds
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.claude_lines import (
    COMPACTED,
    SYNTHETIC_MODEL,
    ClaudeTranscript,
    take_assistant,
    take_user,
    tokens_of_models,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.base import integer
from retrieval_eval.agents.traces.results.local_files import shown_count
from retrieval_eval.agents.traces.tokens import Item
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    dict_at,
    dict_of,
    dicts_at,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line, probe, read_json
from retrieval_eval.io.spooled import like
from retrieval_eval.records import LineRange, ToolCall

FORMAT = "claude-code-session-jsonl"


class _Session(ClaudeTranscript):
    """A session's transcript, with the thread that its lines form."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.first_cwd: str | None = None
        self.cost_state: Mapping[str, Any] = {}
        self.has_main = False
        self.before: dict[str, str | None] = {}  # the line before each of the main thread
        self.roots: dict[str, str] = {}  # the first line of each sub-agent's thread
        self.last: str | None = None
        self.calls_in: dict[str, list[str]] = {}  # the lines of each message, which is one turn
        self.lines: dict[str, str] = {}  # the place of each line with calls


def read_claude_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file; ``name`` is the file's name in messages."""
    said = _Session(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    facts: dict[str, Any] = {}
    session = text_of(said.cost_state.get("sessionId"))
    if session is not None and session in said.session_ids:
        # The costs of a session count from its first run on, and its sub-agents'.
        said.paid(said.cost_state.get("totalCostUSD"))
        facts["declared_tokens"] = tokens_of_models(said.cost_state.get("modelUsage"))
    abandoned = _abandoned(said)
    if abandoned:
        items = said.items()
        facts["items"] = like(items, Item, _marked(items, abandoned))
    part_of = None if said.has_main or not said.sub_agents else next(iter(said.session_ids), None)
    return said.reading(FORMAT, cwd=said.first_cwd, part_of=part_of, **facts)


def _take(said: _Session, entry: Mapping[str, Any], where: str) -> None:
    kind, line = entry.get("type"), text_of(entry.get("uuid"))
    if kind == "cost-state":
        said.cost_state = entry
        return
    said.session(entry.get("sessionId"))
    said.version = said.version or text_of(entry.get("version"))
    said.cwd = text_of(entry.get("cwd"))  # of the calls in this line
    said.first_cwd = said.first_cwd or said.cwd
    is_inner = entry.get("isSidechain") is True
    before = text_of(entry.get("parentUuid")) or text_of(entry.get("logicalParentUuid"))
    if kind == "system" and entry.get("subtype") == COMPACTED:
        logical = text_of(entry.get("logicalParentUuid"))
        said.note_summary(is_cut=logical is not None and logical not in said.before)
        before = before or said.last
    elif entry.get("isCompactSummary") is True:
        before = before or said.last
    if line is not None and not is_inner:
        said.before[line] = before
    if kind not in ("assistant", "user", "attachment"):
        return
    agent = text_of(entry.get("agentId"))
    if is_inner:
        # Older versions name no sub-agent, but its thread begins with a line of its own.
        agent = agent or said.roots.get(before or "") or line or said.name
        said.sub_agents.add(agent)
        if line is not None:
            said.roots[line] = agent
    else:
        said.has_main, said.last = True, line or said.last
    is_model = kind == "assistant" and text_at(entry, "message", "model") != SYNTHETIC_MODEL
    said.has_agent = said.has_agent or is_model
    said.at(where, unix_seconds(entry.get("timestamp")), starts=kind == "assistant")
    said.by(agent, is_subagent=is_inner)
    if kind == "attachment":
        _take_attachment(said, dict_of(entry.get("attachment")))
    elif kind == "user":
        take_user(said, entry, entry.get("toolUseResult"))
    else:
        if is_model and not is_inner:
            said.model = said.model or text_at(entry, "message", "model")
        if line is not None and not is_inner:
            said.calls_in.setdefault(text_at(entry, "message", "id") or line, []).append(line)
            said.lines[line] = where
        take_assistant(said, entry.get("message"))


# --------------------------------------------------------------------------------------------------
# What the harness showed without a call: files that a prompt names, instructions, what changed.


_NAMED: Final = "named in the prompt"
_HOW: Final = {
    "file": "named in the prompt, or shown again after a summary",
    "already_read_file": _NAMED,
    "edited_text_file": "changed by another writer",
    "selected_lines_in_ide": "selected by the user",
    "nested_memory": "instructions of a folder",
}
# The hook that adds a folder's instructions to the answer of a call in that folder.
_HOOKED: Final = re.compile(r"Contents of ([^\n]{1,4096}):\n+\S")


def _take_attachment(said: _Session, stated: Mapping[str, Any]) -> None:
    kind = text_of(stated.get("type")) or ""
    if kind == "instructions":
        for file in dicts_at(stated, "files"):
            if text_at(file, "content"):
                said.attach(file.get("path"), "instructions")
        return
    content = stated.get("content")
    if kind == "hook_additional_context":
        for text in content if isinstance(content, list) else ():
            shown = _HOOKED.match(text_of(text) or "")
            if shown:
                said.attach(shown[1], _HOW["nested_memory"])
        return
    if kind == "directory":
        said.attach_folder(stated.get("path"), blocks_text(content), _NAMED)
        return
    file = dict_at(content, "file")
    path = (
        text_at(file, "filePath")
        or text_of(stated.get("filename"))
        or text_of(stated.get("path"))
        or text_at(content, "path")
    )
    has_text = any(
        text_of(text)
        for text in (content, file.get("content"), at(content, "content"), stated.get("snippet"))
    )
    is_picture = at(content, "type") in ("image", "pdf", "notebook", "parts")
    if kind in _HOW and (has_text or is_picture):
        lines, is_whole = _lines(stated, file)
        said.attach(path, _HOW[kind], lines=lines, is_whole=is_whole)


def _lines(
    stated: Mapping[str, Any], file: Mapping[str, Any]
) -> tuple[tuple[LineRange, ...] | None, bool]:
    """Return the lines that an attached text has in its file, and whether these are all."""
    start, count = integer(file.get("startLine")), integer(file.get("numLines"))
    if start is None and count is None:
        start, end = integer(stated.get("lineStart")), integer(stated.get("lineEnd"))
        return (((start, end),), False) if start and end and start <= end else (None, False)
    start, total = start or 1, integer(file.get("totalLines"))
    if not count:
        return None, False
    is_all = start == 1 and total is not None and count >= total
    return ((start, start + shown_count(file, count) - 1),), is_all and stated.get(
        "truncated"
    ) is not True


# --------------------------------------------------------------------------------------------------
# Branches: from the last line back to the first, each line names the one before it.


def _abandoned(said: _Session) -> set[str]:
    """Return the places of lines with calls on branches that were rewound.

    Lines of one message belong together: the results of parallel calls fork the chain. Where a
    line before another is not in the file, nothing is known of what stands further up.
    """
    live: set[str] = set()
    line = said.last
    while line is not None and line not in live:
        if line not in said.before:
            return set()
        live.add(line)
        line = said.before[line]
    return {
        said.lines[one]
        for lines in said.calls_in.values()
        if live.isdisjoint(lines)
        for one in lines
    }


def _marked(items: Sequence[Item], places: set[str]) -> Iterator[Item]:
    for item in items:
        is_abandoned = isinstance(item, ToolCall) and item.where in places
        yield replace(item, is_abandoned=True) if is_abandoned else item


def placed_in_session(path: Path, root: Path, reading: Reading) -> Reading:
    """Return a sub-agent's reading with the call and the workflow that started it.

    The call stands in a file beside; the sub-agents of a workflow lie in a folder of its name.
    """
    if reading.part_of is None:
        return reading
    agent = next(iter(reading.sub_agents), path.stem)
    delegated = dict(reading.delegated)
    beside = path.with_suffix(".meta.json")
    caller = text_at(read_json(beside, root).value, "toolUseId") if probe(beside.is_file) else None
    if caller is not None:
        delegated[caller] = agent
    workflow = path.parent.name
    if not workflow.startswith("wf_"):
        return replace(reading, delegated=delegated)
    delegated[agent] = workflow
    return replace(reading, delegated=delegated, sub_agents=reading.sub_agents | {workflow})


_THREAD: Final = frozenset({"attachment", "system", "progress"})
_BOOKKEEPING: Final = frozenset(
    {
        *("queue-operation", "last-prompt", "cost-state", "tools-used", "atis-latch"),
        *("api-request", "api-request-blob", "api-request-shape", "permission-mode", "mode"),
        *("custom-title", "ai-title", "agent-name", "agent-color", "pr-link", "tag"),
    }
)


def _is_session_line(line: Mapping[str, Any]) -> bool:
    """Return whether a line is one of a session; other programs have types and sessions, too."""
    kind = text_at(line, "type")
    if text_at(line, "sessionId") is None or kind is None:
        return False
    if kind in ("assistant", "user"):
        message = line.get("message")
        return isinstance(message, dict) and "parts" not in message
    return kind in _BOOKKEEPING or (kind in _THREAD and "parentUuid" in line)


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_session_line,
        read=read_claude_session,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        priority=2,
        sub_agent_files=("{name}/subagents/**/agent-*.jsonl",),
        counters=(
            "Each message's usage once, with cached tokens apart; a `cost-state` line counts "
            "the session since its first run, with its sub-agents. A forked session repeats the "
            "messages of the other one."
        ),
        placed=placed_in_session,
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
