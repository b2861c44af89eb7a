"""Which tool does what: an ordered table of names, read from the top, first match wins.

Names are matched in lower-case snake form without the decorations of a harness, so
``readToolCall``, ``Read`` and ``read`` are one name. A ``*`` stands for any text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from retrieval_eval.traces.results.base import Found, Parser, Seen
from retrieval_eval.traces.results.cursor_grep import read_cursor_grep
from retrieval_eval.traces.results.editor import editor_category, read_editor
from retrieval_eval.traces.results.grep import grep_category
from retrieval_eval.traces.results.listing import list_cursor_folder, list_names
from retrieval_eval.traces.results.local_read import read_local
from retrieval_eval.traces.results.mentions import read_mentions
from retrieval_eval.traces.results.pull_request import pull_request_category, read_pull_request
from retrieval_eval.traces.results.remote import list_remote, read_remote
from retrieval_eval.traces.results.scripted import page_category, read_page, read_script
from retrieval_eval.traces.results.writes import read_patch, read_write


@dataclass(frozen=True, slots=True)
class Tool:
    """One row: what kind of action a tool is and how its results are read.

    ``category`` is one of the seed's eight, or a function of the arguments where these decide.
    """

    names: tuple[str, ...]
    category: str | Callable[[Mapping[str, Any]], str]
    parser: Parser
    is_retrieval: bool = True
    is_shell: bool = False


def read_nothing(_seen: Seen) -> Found:
    """Return nothing: the tool's result is about no file in particular."""
    return Found()


def read_unknown(seen: Seen) -> Found:
    """Return nothing; an answer of a tool that nobody knows may have shown any file."""
    return Found(is_opaque=bool(seen.text.strip()) or bool(seen.value))


_HOUSEKEEPING: Final = Tool(
    (
        *("*todo*", "think", "thinking", "sequentialthinking", "sequential_thinking", "finish"),
        *("task_tracker", "task_output", "task_stop", "task_create", "task_update", "task_list"),
        *("task_get", "tool_search", "bash_output", "kill_shell", "kill_bash", "skill", "monitor"),
        *("*plan_mode", "update_plan", "ask_user*", "ask_followup*", "slash_command"),
        *("structured_output", "attempt_completion", "execute_ipython_cell", "list_mcp_resources*"),
        *("*worktree", "send_message", "schedule_wakeup", "cron_*", "save_memory", "*_memory"),
        *("retrieve_memories", "remove_*_memories"),
        *("write_stdin", "end_interaction", "submit"),
    ),
    "other",
    read_nothing,
    is_retrieval=False,
)

_SHELL: Final = Tool(
    (
        *(
            "bash",
            "execute_bash",
            "shell",
            "local_shell",
            "run_terminal_cmd",
            "run_terminal_command",
        ),
        *("run_shell_command", "execute_command", "run_command", "exec_command", "shell_command"),
        *("terminal", "run_in_terminal", "container_exec"),
    ),
    "other",
    read_nothing,
    is_shell=True,
)

_NATIVE: Final[tuple[Tool, ...]] = (
    _HOUSEKEEPING,
    _SHELL,
    Tool(
        ("task", "agent", "mcp", "call_omo_agent", "delegate*", "invoke_agent", "spawn_agent"),
        "other",
        read_nothing,
    ),
    Tool(("web_search", "google_web_search", "websearch"), "other", read_nothing),
    Tool(("read", "notebook_read", "view", "open_file"), "file_read", read_local),
    Tool(("grep",), grep_category, read_cursor_grep),
    Tool(("glob", "find_files", "file_search"), "file_search", list_names),
    Tool(("ls", "list", "list_dir", "list_directory"), "file_search", list_cursor_folder),
    Tool(("sem_search", "codebase_search"), "code_search", read_mentions),
    Tool(
        ("str_replace_editor", "str_replace_based_edit_tool", "file_editor", "text_editor"),
        editor_category,
        read_editor,
    ),
    Tool(("analyze",), "symbol_navigation", read_unknown),
    Tool(("apply_patch", "patch"), "file_write", read_patch),
    Tool(
        ("write", "edit", "multi_edit", "notebook_edit", "delete", "replace"),
        "file_write",
        read_write,
    ),
)

_REMOTE: Final[tuple[Tool, ...]] = (
    _HOUSEKEEPING,
    Tool(("list_repos", "get_contributor_repos"), "other", read_nothing),
    Tool(("read_file",), "file_read", read_remote),
    Tool(("list_files",), "file_search", list_remote),
    Tool(("keyword_search", "nls_search"), "code_search", read_mentions),
    Tool(("find_references", "go_to_definition"), "symbol_navigation", read_mentions),
    Tool(
        ("commit_search", "diff_search", "compare_revisions"),
        "commit_search",
        read_mentions,
    ),
    Tool(("deepsearch", "deepsearch_read"), "deep_search", read_mentions),
    Tool(("evaluator",), "code_search", read_script),
    Tool(("get_file_contents",), "file_read", read_remote),
    Tool(("codebase_retrieval", "augment_code_search"), "code_search", read_mentions),
)

_BY_PATTERN: Final[tuple[Tool, ...]] = (
    Tool(("*fetch*",), page_category, read_page),
    Tool(("*repository_tree*",), "file_search", list_remote),
    Tool(("*pull_request*diff*", "*pull_request*files*"), "commit_search", read_mentions),
    Tool(("pull_request_read",), pull_request_category, read_pull_request),
    Tool(
        (
            *("*issue*", "*pull_request*", "*web_search*", "*repos", "*repositor*", "*docs*"),
            *("*users*", "git_commit", "commit_changes", "create_branch", "*_resource*"),
        ),
        "other",
        read_nothing,
    ),
    Tool(
        (
            "*write*",
            "*edit*",
            "*create*file*",
            "*delete*file*",
            "*replace*",
            "insert_*",
            "push_files",
        ),
        "file_write",
        read_write,
    ),
    Tool(
        ("*commit*", "*diff*", "*blame*", "*revisions*", "git_log", "git_show"),
        "commit_search",
        read_mentions,
    ),
    Tool(
        ("*references*", "*definition*", "*symbol*", "*implementations*", "*call_hierarchy*"),
        "symbol_navigation",
        read_mentions,
    ),
    Tool(("*deepsearch*", "*deep_search*"), "deep_search", read_mentions),
    Tool(
        ("*list_files*", "*list_dir*", "*tree*", "*glob*", "*find_file*", "*directory*"),
        "file_search",
        list_remote,
    ),
    Tool(("*search*", "*grep*", "*retriev*"), "code_search", read_mentions),
    Tool(
        ("*read*file*", "*get_file*", "*view_file*", "*open_file*", "*file_content*"),
        "file_read",
        read_remote,
    ),
)

_UNKNOWN: Final = Tool(("*",), "other", read_unknown)


@lru_cache(maxsize=1024)
def tool_row(name: str, is_mcp: bool) -> Tool:
    """Return the row of a tool by its snake-case name; unknown names are ``other``.

    Examples
    --------
    >>> tool_row("nls_search", True).category
    'code_search'
    >>> tool_row("read_file_lines", False).category
    'file_read'
    >>> tool_row("make_coffee", True).category
    'other'
    """
    for tool in (*(_REMOTE if is_mcp else _NATIVE), *_BY_PATTERN):
        if any(fnmatchcase(name, pattern) for pattern in tool.names):
            return tool
    return _UNKNOWN
