"""Claude Code: the names that only it has; shared ones are in ``common``."""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.local_files import read_local, read_write
from retrieval_eval.agents.traces.untrusted import dict_of
from retrieval_eval.records import CUT_HERE, ToolCall

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
