"""Claude Code: the names that only it has; shared ones are in ``common``."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.local_files import read_local, read_write

DIALECTS.add(
    "claude-code",
    Dialect(
        harnesses=frozenset({"claude-code"}),
        delegating=frozenset({"Agent", "Task"}),
        source="Claude Code, which is closed: files of 2.1.63 to 2.1.220 seen",
        refusals=(
            r"<tool_use_error>",
            r"The user doesn't want to (?:proceed with this|take this action)",
            r"\[Request interrupted by user",
            r"Claude requested permissions to",
            r"This command requires approval",
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
            r"/tool-results/[^/]+\.(?:txt|json)$",
            r"/(?:\.claude|sessions)/projects/",
            r"/\.claude/(?:plans|todos|file-history)/",
            r"^/tmp/claude-\d",
        ),
        blocks=(("<system-reminder>", "</system-reminder>"),),
        tools=(
            Tool(("bash",), "other", read_nothing, is_shell=True),
            Tool(("notebook_read",), "file_read", read_local),
            Tool(("multi_edit", "notebook_edit"), "file_write", read_write),
        ),
    ),
)
