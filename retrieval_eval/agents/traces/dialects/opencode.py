"""OpenCode and Kilo, which is made of it: what they add to results, and their tools."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    read_unknown,
)
from retrieval_eval.agents.traces.untrusted import dict_of, status_of
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

_NOTE: Final = re.compile(
    r"\n{0,4}<(?P<tag>bash_metadata|shell_metadata)>\n?(?P<note>[^<]{0,4000})</(?P=tag)>\s*\Z"
)
_CUT_NOTE: Final = re.compile(r"\btruncated\b[^\n]{0,80}\bexceeded\b")
_OLD_NOTE: Final = re.compile(
    r"(?:\A|\n)\s{0,4}\((?P<note>Command (?:timed out after|was aborted)[^)\n]{0,200})\)\s*\Z"
)
_STOPPED: Final = re.compile(r"(?i:exceed\w{0,3} timeout|timed out|aborted|terminated)")
_CUT: Final = re.compile(
    r"^\.\.\.(?:\d{1,12} (?:lines|bytes)|output) truncated\.\.\.$", re.MULTILINE
)
_SAVED: Final = re.compile(
    r"^(?:The tool call succeeded but the output was truncated\. )?Full output saved to: [^\n]*"
    r"(?:\n(?:Use |Next: )[^\n]*)?\n?",
    re.MULTILINE,
)
_PICTURE: Final = re.compile(r"(?:Image|PDF) read successfully\s*")
_SILENT: Final = "(no output)"
_LONGEST_NOTE: Final = 5000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the notes that OpenCode adds to it.

    Examples
    --------
    >>> text = "a.py\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>"
    >>> result = answer(ToolCall("c", "bash", {"command": "ls"}, ToolResult(text)))
    >>> result.text, result.is_error, result.is_unfinished
    ('a.py', True, False)
    """
    result = call.result or ToolResult("")
    if result.is_unfinished:
        return result
    text = result.text
    if " truncated..." in text:
        text = _SAVED.sub("", _CUT.sub(CUT_HERE, text))
    if call.name == "read" and _PICTURE.fullmatch(text):
        # A model that takes no images is sent an error in its place, which the record conceals.
        return replace(result, doubt="display_only")
    if call.name != "bash":
        return result if text == result.text else replace(result, text=text)
    start = max(0, len(text) - _LONGEST_NOTE)
    note = _NOTE.search(text, start) or _OLD_NOTE.search(text, start)
    is_stopped = note is not None and _STOPPED.search(note["note"]) is not None
    is_head = note is not None and _CUT_NOTE.search(note["note"]) is not None
    text = text if note is None else text[: note.start()]
    text = f"{text.rstrip()}\n{CUT_HERE}" if is_head else text
    text = "" if text.strip() == _SILENT else text
    record = dict_of(result.structured)
    if record.get("truncated") is True and CUT_HERE not in text:
        text = f"{CUT_HERE}\n{text}\n{CUT_HERE}"
    status = status_of(record.get("exit"))
    return replace(
        result,
        text=text,
        is_error=result.is_error or is_stopped or bool(status),
        is_stopped=is_stopped,
        is_unfinished=is_stopped and not text.strip(),
    )


DIALECTS.add(
    "opencode",
    Dialect(
        harnesses=frozenset({"opencode", "kilo"}),
        delegating=frozenset({"call_omo_agent"}),
        underscored=(
            *("apply_patch", "plan_enter", "plan_exit", "schedule_wakeup", "*_mcp_resource*"),
            *("background_process", "board_*", "cron_*", "kilo_*", "repo_clone", "repo_overview"),
            # Those of its plug-in for agents.
            *("call_omo_agent", "lsp_*", "ast_grep_*", "session_*", "background_*"),
            *("interactive_bash", "look_at", "skill_mcp", "todo_*", "task_*"),
        ),
        keeps_shell=False,
        refusals=(
            r"(?:Error: )?The user rejected permission",
            r"The user has specified a rule which prevents",
            r"Tool execution aborted",
            r"The arguments provided to the tool are invalid: ",
            r"Model tried to call unavailable tool ",
        ),
        failures=(r"File not found: ", r"Cannot read binary file: ", r"Search path not found: "),
        saved_files=(r"/(?:opencode|kilo)/tool-output/[^/]+$",),
        saved=(r"Full output saved to: ([^\n]{1,4096})",),
        answer=answer,
        cut=(
            "A command's output of more than 50 kB is cut to its end, or to nothing, behind "
            "`...output truncated...`; older versions state how many lines or bytes they left out; "
            "metadata.truncated states it too. The whole is saved to a file that the answer names."
        ),
        finished=(
            "The state of a part is completed or error, and error means that it did not run; a "
            "note behind the output of a command says that it was ended at its limit or aborted."
        ),
        delegated=(
            "`task` starts a sub-agent in a session of its own, whose id is in metadata.sessionId; "
            "the database holds it, the stream and the exported document do not."
        ),
        source=(
            "anomalyco/opencode: message-v2 007a940, run 00f9806, read 00937b9, grep 082eeb9, "
            "truncate 0a3427d, session.sql 063e830, session/message 08e3e1f, export 07fa810; "
            "a stream of 1.18.25, and events of 40 sessions of 0.14 to 1.17 seen; database, stream "
            "and requests of 1.18.33 and of Kilo 7.7.9 compared"
        ),
        tools=(
            Tool(("call_omo_agent", "invalid"), "other", read_nothing),
            Tool(("background_process", "kilo_local_recall"), "other", read_unknown),
            Tool(
                (
                    *("question", "board_*", "plan_enter", "plan_exit"),
                    *("list_mcp_resource_templates", "goal"),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)
