"""Claude Code: session files, and the stream of ``--output-format stream-json``.

Both have messages with tool-use and tool-result blocks. A session file is one thread. The main
thread's file leaves its sub-agents out; they are separate files whose lines have ``isSidechain``,
below a folder with the session's name beside its file. Unlike stream lines, session lines carry the
real output-token counts. Lines of type ``attachment`` hold what the harness showed without a call.
Each line names the one before it, so that a branch which the user rewound shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.reading import Reading, is_summary
from retrieval_eval.agents.traces.results.base import integer
from retrieval_eval.agents.traces.results.local_files import read_local, read_write, shown_count
from retrieval_eval.agents.traces.served import is_refusal, until_stopped
from retrieval_eval.agents.traces.tokens import (
    ANTHROPIC_COUNTS,
    ANTHROPIC_PROMPT,
    Item,
    Usage,
    anthropic_usage,
    is_misstated,
)
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    resource_text,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, probe, read_json
from retrieval_eval.io.spooled import like
from retrieval_eval.records import CUT_HERE, LineRange, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Claude Code: the names that only it has; shared ones are in ``common``.

_OPENING: Final = 400
_OPENING_STATUS: Final = re.compile(r"\s*(?:Error: )?Exit code -?\d+\s*(?:\n|$)")


def opens_with_exit_status(text: str) -> bool:
    r"""Whether a text opens as that of a command which ended in an error.

    Examples
    --------
    >>> opens_with_exit_status("Exit code 2\nls: no such file")
    True
    >>> opens_with_exit_status("Command timed out after 2m 0.0s\nExit code 2")
    False
    """
    return _OPENING_STATUS.match(text[:_OPENING]) is not None


_PERSISTED: Final = "<persisted-output>"
_PREVIEW: Final = re.compile(r"^Preview \([^)\n]{0,60}\):?$", re.MULTILINE)
_PREVIEW_END: Final = re.compile(r"\n\.{3}\s*$")


def preview(text: str) -> str:
    r"""Return what an answer shows of a result that was saved to a file; another as it is.

    The preview is cut at a byte count, so that its last line may be half a line. It is kept before
    a line that says that the rest was left out.

    Examples
    --------
    >>> preview("<persisted-output>\nPreview (first 2KB):\na.py\nb\n...\n</persisted-output>")
    'a.py'
    """
    if not text.lstrip().startswith(_PERSISTED):
        return text
    marker = _PREVIEW.search(text)
    if marker is None:
        return ""
    body = text[marker.end() :].split("</persisted-output>", 1)[0].removeprefix("\n")
    shown, mark, _ = body.partition(CUT_HERE)
    if mark:
        return shown + mark
    return _PREVIEW_END.sub("", body).rpartition("\n")[0]


_MOVED: Final = re.compile(
    r"(?:^|\n)Command did not complete within its [^\n]{1,40} timeout and was moved to the "
    r"background\b[^\n]{0,2000}\s*\Z"
)
_LONGEST_MOVED: Final = 3000


def moved_to_background(text: str) -> str | None:
    r"""Return what a command printed until its time limit, if it went on in the background then.

    Examples
    --------
    >>> note = "Command did not complete within its 2s timeout and was moved to the background"
    >>> moved_to_background(f"import os\n{note}"), moved_to_background("import os")
    ('import os', None)
    """
    found = _MOVED.search(text, max(0, len(text) - _LONGEST_MOVED))
    return None if found is None else text[: found.start()]


_TOO_LARGE: Final = re.compile(
    r"\s*(?:Error: )?(?:result|MCP tool \"[^\"\n]{1,200}\" response) \([^)\n]{1,60}\)"
    r" exceeds maximum allowed tokens[^\n]{0,60}?"
    r"(?:\. Output has been saved to (?P<path>/\S{1,1000})|\Z|\n|\.)"
)


def is_too_large(text: str) -> tuple[bool, str | None]:
    r"""Return whether a server's answer was too large to show, and the file it was saved to.

    Examples
    --------
    >>> is_too_large(
    ...     "Error: result (81,234 characters) exceeds maximum allowed tokens. Output has"
    ...     " been saved to /h/r.txt.\nFormat: Plain text"
    ... )
    (True, '/h/r.txt')
    """
    found = _TOO_LARGE.match(text[:_LONGEST_MOVED])
    path = found["path"] if found is not None else None
    return found is not None, path.removesuffix(".") if path else None


_FORKED: Final = re.compile(
    r"\s*Skill \"?[^\"\n]{1,200}\"? (?:completed|launched) \(forked execution"
)


def _forks(call: ToolCall) -> int:
    """Return 1 for a skill that ran in a sub-agent; others only add instructions."""
    if call.name != "Skill" or call.result is None:
        return 0
    is_stated = dict_of(call.result.structured).get("status") == "forked"
    return int(is_stated or _FORKED.match(call.result.text[:_OPENING]) is not None)


DIALECTS.add(
    "claude-code",
    Dialect(
        harnesses=frozenset({"claude-code"}),
        delegating=frozenset({"Agent", "Task", "Workflow"}),
        delegates=_forks,
        cut=(
            "A large answer is saved to a file, and 2 KB of it are shown (`<persisted-output>`); "
            "`toolUseResult` holds more than that. A read without a limit ends after 2,000 lines."
        ),
        finished=(
            "`is_error` without an exit code: the call did not run. A command that exceeds its "
            "time limit goes on in the background, and its answer ends with a sentence "
            "about it; older versions stopped it with an error."
        ),
        delegated=(
            "`Agent` (`Task`), `Workflow` and skills that fork. Session files: SESSION/subagents/ "
            "beside SESSION.jsonl, a workflow's below workflows/; the stream holds the calls of an "
            "`Agent` only."
        ),
        source="Claude Code, which is closed: files of 2.1.63 to 2.1.220 seen",
        refusals=(
            r"<tool_use_error>",
            r"The user doesn't want to (?:proceed with this|take this action)",
            r"\[Request interrupted by user",
            r"Claude requested permissions to",
            r"This (?:Bash )?command (?:requires approval|contains multiple operations)",
            r"File is in a directory that is denied by your permission settings",
            r"Permission to use \w{1,100} (?:with command |has been denied)",
            r"[^\n]{1,200} was blocked\. For security, Claude Code",
            r"\w{1,100} operation blocked by hook",
            r"\w{1,100}:\w{1,100} hook error",
            r"<error>Command was aborted before completion",
        ),
        failures=(
            r"\w*InputValidationError",
            r"File content \([^)]{0,80}\) exceeds maximum allowed",
            r"<system-reminder>Warning: the file exists but is shorter than the provided offset",
            r"String to replace not found",
            r"File has not been read yet",
            r"No such tool available",
        ),
        empty=(r"<system-reminder>Warning: the file exists but the contents are empty",),
        own_files=(
            r"/(?:\.claude|sessions)/projects/",
            r"/\.claude/(?:plans|todos|file-history)/",
            r"^/tmp/claude-\d",
        ),
        saved_files=(r"/tool-results/[^/]+\.(?:txt|json)$",),
        saved=(
            r"<persisted-output>[^/]{0,200}saved to: (/\S{1,1000})",
            r"running in background with ID: \S{1,100} Output is being written to: (/\S{1,1000})",
        ),
        preview=preview,
        # The second form is that of the conversion to ATIF.
        statuses=(r"(?:Error: )?Exit code -?\d+", r"\[exit_code\] -?\d+"),
        blocks=(("<system-reminder>", "</system-reminder>"),),
        tools=(
            Tool(("bash",), "other", read_nothing, is_shell=True),
            Tool(("notebook_read",), "file_read", read_local),
            Tool(("workflow",), "other", read_nothing),
            Tool(("multi_edit", "notebook_edit"), "file_write", read_write),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Shared by both: messages with tool-use and tool-result blocks.

COMPACTED = "compact_boundary"
"""The subtype of the system line after which the agent saw a summary of the history."""

SYNTHETIC_MODEL = "<synthetic>"
"""The model name on messages that the harness made up itself, such as API errors."""


_STARTERS: Final = frozenset({"Agent", "Task", "Workflow", "Skill"})
"""Tools whose answer may name the sub-agent that they started."""


class ClaudeTranscript(Transcript):
    """What a file of Claude Code says, with the calls that may have started a sub-agent."""

    def __init__(self, name: str, **facts: Any) -> None:
        super().__init__(name, harness="claude-code", **facts)
        self.starters: set[str] = set()


_USAGE_NAMES: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


def usage_of_models(stated: Any) -> dict[str, Usage]:
    """Return the tokens of each model in a ``modelUsage``, which counts sub-agents too."""
    found = {}
    for model, counts in dict_of(stated).items():
        named = {_USAGE_NAMES.get(name, name): count for name, count in dict_of(counts).items()}
        usage = anthropic_usage(str(model), named)
        if usage is not None:
            found[str(model)] = usage
    return found


def tokens_of_models(stated: Any) -> int | None:
    """Return the tokens of all models in a ``modelUsage``, or None where it states none."""
    return sum(usage.total for usage in usage_of_models(stated).values()) or None


def take_assistant(said: ClaudeTranscript, message: Any) -> None:
    """Take the usage and the tool calls of an assistant line's message."""
    usage = at(message, "usage")
    if is_misstated(usage, ANTHROPIC_COUNTS):
        said.used(None, 0, 0, is_misstated=True)
    else:
        prompt, output = count_at(usage, *ANTHROPIC_PROMPT), count_at(usage, "output_tokens")
        said.used(at(message, "id"), prompt, output)
    for block in _blocks(said, message):
        if block.get("type") == "tool_use":
            name = text_at(block, "name")
            if name and text_at(block, "id") is None:
                said.note(f"the call of {name[:60]} has no id")
            if name and not isinstance(block.get("input"), (dict, type(None))):
                said.note(f"the arguments of {name[:60]} are no object")
            call = said.call(name, block.get("input"), block.get("id"))
            if call is not None and call.name in _STARTERS:
                said.starters.add(call.call_id)


def _blocks(said: Transcript, message: Any) -> list[Mapping[str, Any]]:
    """Return the content blocks of a line's message; plain text has none."""
    content = at(message, "content")
    if isinstance(content, str):
        return []
    if not isinstance(content, list):
        said.note("expected a message with content")
        return []
    if not all(isinstance(block, (dict, str)) for block in content):
        said.note("a content block is no object")
    return [block for block in content if isinstance(block, dict)]


def take_user(said: ClaudeTranscript, entry: Mapping[str, Any], structured: Any) -> None:
    """Take the tool results of a user line, or that it is the summary of a dropped history.

    ``structured`` is the line's machine-readable result; it is used where it can belong to one
    result only. A result without a call id belongs to the one call that the same agent made
    directly before, if the line holds no other result.
    """
    before = said.take_recent()
    message = entry.get("message")
    if entry.get("isCompactSummary") is True or is_summary(blocks_text(at(message, "content"))):
        said.note_summary()
    blocks = [b for b in _blocks(said, message) if b.get("type") == "tool_result"]
    callers = [text_of(block.get("tool_use_id")) for block in blocks]
    if (
        len(blocks) == len(before) == 1
        and "content" in blocks[0]
        and not blocks[0].get("tool_use_id")
    ):
        (call,) = before
        if (call.is_subagent, call.parent_id) == (said.is_subagent, said.agent):
            callers = [call.call_id]
    answers = [(caller, b) for caller, b in zip(callers, blocks, strict=True) if caller is not None]
    if len(answers) < len(blocks):
        said.note("a tool result does not name its call")
    own = clean(structured) if len(answers) == 1 and isinstance(structured, (dict, list)) else None
    for caller, block in answers:
        result = ToolResult(
            text=blocks_text(block.get("content")),
            structured=own if own is not None else _beside_text(block.get("content")),
            is_error=block.get("is_error") is True,
        )
        if caller in said.starters:
            _link(said, caller, result)
        said.answer(caller, marked(result))


_AGENT_ID: Final = re.compile(r"\bagentId: ([\w-]{1,80})|\b(wf_[\w-]{1,80})")
_LONGEST_START: Final = 4000
_LONGEST_END: Final = 600


def _link(said: ClaudeTranscript, caller: str, result: ToolResult) -> None:
    """Note which sub-agent a call started, and that one which called no tool is all there."""
    stated = dict_of(result.structured)
    agent = text_of(stated.get("agentId")) or text_of(stated.get("runId"))
    if agent is None and not result.is_error:
        # An answer that comes at once begins with the id; a report has it at its end.
        is_begun = result.text.lstrip().startswith(("Async agent", "Workflow ", "Skill "))
        part = result.text[:_LONGEST_START] if is_begun else result.text[-_LONGEST_END:]
        found = list(_AGENT_ID.finditer(part))
        agent = (found[-1][1] or found[-1][2]) if found else None
    if agent is not None:
        said.delegated[caller] = agent
    if status_of(stated.get("totalToolUseCount")) == 0:
        said.sub_agents.add(agent or caller)


def _beside_text(content: Any) -> Mapping[str, Any] | None:
    """Return what a content is besides text: resources of MCP, an image or a document, or None."""
    blocks = content if isinstance(content, list) else []
    if any(resource_text(block) is not None for block in blocks):
        return {"content": clean(blocks)}
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
    is_elsewhere, path = is_too_large(result.text)
    if is_elsewhere:
        return replace(result, text=CUT_HERE, is_error=False, saved_to=path)
    late = _LATE.match(result.text[:_HEAD]) if result.is_error else None
    if late is not None:
        # What was printed before stands behind the message.
        shown = (late["status"] or "") + result.text[late.end() :]
        is_nothing = not result.text[late.end() :].strip()
        return replace(
            result,
            text=result.text if is_nothing else shown,
            is_unfinished=is_nothing,
            is_stopped=not is_nothing,
        )
    printed = moved_to_background(result.text)
    if printed is not None:
        return replace(result, text=printed, is_stopped=True)
    structured = dict_of(result.structured)
    if text_of(structured.get("persistedOutputPath")) and "<persisted-output>" not in result.text:
        # Less was shown than was printed; where the part that is shown lies is not stated.
        result = replace(result, text=f"{CUT_HERE}\n{result.text}\n{CUT_HERE}")
    goes_on = text_of(structured.get("backgroundTaskId")) is not None
    if goes_on and not result.is_error and "background" not in result.text[:_HEAD]:
        result = replace(result, is_stopped=bool(result.text.strip()))
    is_interrupted = structured.get("interrupted") is True and "stdout" in structured
    if is_interrupted and (text_of(structured.get("stdout")) or "").strip():
        # Whether the agent was shown what was printed before is not stated.
        return replace(result, is_error=True, is_stopped=True, doubt="may_have_failed")
    if result.is_error and not (opens_with_exit_status(result.text) or is_refusal(result.text)):
        result = until_stopped(result, "")
        is_interrupted = is_interrupted or not result.is_stopped
    elif result.is_error:
        is_interrupted = is_interrupted or not opens_with_exit_status(result.text)
    return replace(result, is_error=True, is_unfinished=True) if is_interrupted else result


# --------------------------------------------------------------------------------------------------
# Claude Code's session JSONL: one thread a file, a time and a folder on every line.

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


# --------------------------------------------------------------------------------------------------
# Claude Code's ``--output-format stream-json``: one file, with the calls of its sub-agents.

STREAM = "claude-code-stream-json"


def read_claude_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file; ``name`` is the file's name in messages."""
    said = ClaudeTranscript(name, holds_run=True)
    has_begun, spent = False, _Spent()
    for entry, where in said.complaints.objects(lines):
        said.session(entry.get("session_id"))
        match entry.get("type"):
            case "system" if entry.get("subtype") == "init" and not has_begun:
                has_begun = True
                said.version = text_at(entry, "claude_code_version")
                said.model, said.cwd = text_at(entry, "model"), text_at(entry, "cwd")
            case "system" if entry.get("subtype") == COMPACTED:
                said.note_summary()
                spent.n_unseen += 1
            case "result":
                spent.ends.append(entry)
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
                spent.add(entry.get("message"), is_inner=parent is not None)
    said.ending = _ending(spent.ends[-1] if spent.ends else None)
    for cost in spent.costs:
        said.paid(cost)
    return said.reading(STREAM, declared_tokens=spent.tokens)


def _ending(result: Mapping[str, Any] | None) -> tuple[str, ...]:
    if result is None:
        return ("no_result_event",)
    subtype = text_of(result.get("subtype"))
    if subtype in (None, "success"):
        return ("result_error",) if result.get("is_error") is True else ()
    return (f"result_{subtype[:60]}",)


class _Spent:
    """What a run took, by its messages and by what its results state.

    Attributes
    ----------
    ends
        The results, one for each turn.
    n_unseen
        Requests that left no message: those for a summary of the history.
    """

    def __init__(self) -> None:
        self.ends: list[Mapping[str, Any]] = []
        self.n_unseen = 0
        self._main: dict[str, Usage] = {}
        self._inner: dict[str, Usage] = {}
        self._models: dict[str, str] = {}

    def add(self, message: Any, *, is_inner: bool) -> None:
        """Add a line of a message, whose lines repeat its usage."""
        identity, model = text_at(message, "id"), text_at(message, "model")
        usage = anthropic_usage(identity or "", at(message, "usage"))
        if identity is None or model is None or usage is None:
            return
        messages = self._inner if is_inner else self._main
        known = messages.get(identity)
        if known is None or known.total < usage.total:
            messages[identity] = usage
        self._models[identity] = model

    @property
    def is_own(self) -> bool:
        """Whether the totals of the last result count nothing that was paid before the run.

        The models that the messages name must not have read more than the messages did, but for
        what leaves no message: summaries, and the last answers of sub-agents.
        """
        if not self.ends:
            return False
        stated = usage_of_models(self.ends[-1].get("modelUsage"))
        seen = [*self._main.values(), *self._inner.values()]
        named = {self._models[usage.message_id] for usage in seen}
        n_read = sum(usage.prompt for usage in seen)
        n_stated = sum(stated[model].prompt for model in named if model in stated)
        largest = max((usage.prompt for usage in seen), default=0)
        unseen = self.n_unseen * largest + sum(usage.prompt for usage in self._inner.values())
        return not n_read or n_stated <= n_read + unseen

    @property
    def _shares(self) -> list[Any]:
        """The tokens and costs by model that the results state as their own share, since 2.1.332.

        Empty unless each result states its share.
        """
        shares = [end.get("model_usage_since_last_result") for end in self.ends]
        return [] if None in shares else shares

    @property
    def costs(self) -> list[Any]:
        """What the run was charged, where no earlier run is in the sums."""
        if self._shares:
            shares = map(dict_of, self._shares)
            return [at(counts, "costUSD") for share in shares for counts in share.values()]
        return [at(self.ends[-1], "total_cost_usd")] if self.is_own else []

    @property
    def tokens(self) -> int | None:
        """The tokens of the run: those of all models, or of its turns and its sub-agents."""
        if not self.ends:
            return None
        own = sum(tokens_of_models(share) or 0 for share in self._shares)
        if own:
            return own
        stated = tokens_of_models(self.ends[-1].get("modelUsage"))
        if stated is not None and self.is_own:
            return stated
        turns = [anthropic_usage("", end.get("usage")) for end in self.ends]
        own = sum(usage.total for usage in turns if usage is not None)
        return (own + sum(usage.total for usage in self._inner.values()) if own else None) or None


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "assistant" and text_at(line, "message", "id"):
        return True
    return "parent_tool_use_id" in line or ("tools" in line and kind == "system")


def _may_be_stream_line(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "assistant" and isinstance(line.get("message"), dict)


FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_line,
        read=read_claude_stream,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        may_be=_may_be_stream_line,
        counters=(
            "`usage` of a result counts a turn of the main thread; `modelUsage` and "
            "`total_cost_usd` count the session since its first run, with sub-agents. Cached "
            "tokens are apart. `model_usage_since_last_result` counts the run's own share with "
            "its cost; without it, of a run that resumed a session the tokens of its turns are "
            "taken, and no cost."
        ),
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
