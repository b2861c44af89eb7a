"""Code shared by Claude Code's two line formats: messages with tool-use and tool-result blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects.claude_code import (
    is_too_large,
    moved_to_background,
    opens_with_exit_status,
)
from retrieval_eval.agents.traces.reading import is_summary
from retrieval_eval.agents.traces.served import is_refusal, until_stopped
from retrieval_eval.agents.traces.tokens import (
    ANTHROPIC_COUNTS,
    ANTHROPIC_PROMPT,
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
    dict_of,
    resource_text,
    status_of,
    text_at,
    text_of,
)
from retrieval_eval.records import CUT_HERE, ToolResult

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
