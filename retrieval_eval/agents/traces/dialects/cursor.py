"""Cursor: the names that only it has; shared ones are in ``common``."""

from __future__ import annotations

from typing import Any, Final

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.mentions import read_mentions
from retrieval_eval.agents.traces.results.payload import parsed
from retrieval_eval.agents.traces.served import states_exit_status
from retrieval_eval.agents.traces.untrusted import clean, dict_of, text_at, text_of
from retrieval_eval.records import ToolCall, ToolResult

_TEXT_KEYS: Final = (
    "interleavedOutput",
    "stdout",
    "content",
    "errorMessage",
    "message",
    "error",
    "reason",
)
_PATH_KEYS: Final = ("filePath", "path", "uri")
_OUTCOMES: Final = frozenset(
    {
        *("success", "failure", "error", "rejected", "timeout", "permissionDenied", "spawnError"),
        *("fileNotFound", "invalidFile", "aborted", "noResult", "backgrounded"),
    }
)


def result_of(stated: Any, is_cut: bool) -> ToolResult | None:
    """Return the result in a record of one key, its status, or None where there is none."""
    outcomes = dict_of(stated).items()
    for outcome, body in sorted(outcomes, key=lambda item: not isinstance(item[1], dict)):
        inner = dict_of(body)
        texts = (text_of(inner.get(key)) for key in _TEXT_KEYS)
        text = next(filter(None, texts), None) or text_of(body) or ""
        behind = text_of(inner.get("stderr")) or ""
        if behind and not text_of(inner.get("interleavedOutput")):
            text = f"{text}\n{behind}" if text else behind
        is_error = outcome != "success" or inner.get("isError") is True
        is_unfinished = is_error and not states_exit_status("", inner)
        where = inner.get("outputLocation")
        path = text_of(where) or next(
            filter(None, (text_at(where, key) for key in _PATH_KEYS)), None
        )
        return ToolResult(text, clean(body), is_error, is_cut, is_unfinished, saved_to=path)
    return ToolResult("", None, False, True) if is_cut else None


def answer(call: ToolCall) -> ToolResult:
    """Return the result that a conversion wrote as the text of Cursor's record.

    Examples
    --------
    >>> found = answer(ToolCall("1", "readToolCall", {}, ToolResult('{"rejected": {}}')))
    >>> found.is_error, found.is_unfinished
    (True, True)
    """
    result = call.result or ToolResult("")
    stated = dict_of(parsed(result.text))
    if len(stated) != 1 or not stated.keys() <= _OUTCOMES:
        return result
    return result_of(stated, result.is_truncated) or result


DIALECTS.add(
    "cursor",
    Dialect(
        harnesses=frozenset({"cursor", "cursor-cli"}),
        answer=answer,
        cut=(
            "A long output of a command is kept in a file that outputLocation names; how much of "
            "it the agent was shown is not stated."
        ),
        finished=(
            "The one key of a result is its status: success, failure with an exit code, or a call "
            "that was rejected, timed out, aborted or left to the background. A transcript holds "
            "no results, so that nothing of it is certain."
        ),
        delegated=(
            "taskToolCall starts a sub-agent, whose calls the stream does not hold; in transcripts "
            "it is Task, and they lie in subagents/ beside it."
        ),
        delegating=frozenset({"taskToolCall", "Task"}),
        tools=(
            Tool(
                ("run_terminal_cmd", "run_terminal_command", "run_in_terminal"),
                "other",
                read_nothing,
                is_shell=True,
            ),
            Tool(("sem_search",), "code_search", read_mentions),
            Tool(
                ("read_lints", "get_mcp_tools", "get_dynamic_tools", "await", "switch_mode"),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)
