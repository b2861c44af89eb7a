"""Tools by names that harnesses share, by patterns, and those that a model's interface offers."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.grep import grep_category, read_cursor_grep
from retrieval_eval.agents.traces.results.listing import list_cursor_folder, list_names
from retrieval_eval.agents.traces.results.local_files import (
    editor_category,
    read_editor,
    read_local,
    read_patch,
    read_write,
)
from retrieval_eval.agents.traces.results.mentions import (
    pull_request_category,
    read_hits,
    read_mentions,
    read_outline,
    read_pull_request,
)
from retrieval_eval.agents.traces.results.remote import (
    list_remote,
    page_category,
    read_page,
    read_remote,
    read_resource,
    resource_category,
)

DIALECTS.add(
    "housekeeping",
    Dialect(
        offered_by="both",
        cut="of no matter: the tools show no file",
        finished="of no matter: the tools show no file",
        delegated="none: the tools start no agent",
        tools=(
            Tool(
                (
                    *("*todo*", "think", "thinking", "sequentialthinking", "sequential_thinking"),
                    *("finish", "tool_search", "skill", "monitor", "send_message", "submit"),
                    *("task_create", "task_update", "task_list", "task_get", "task_output"),
                    *("task_stop", "task_tracker", "bash_output", "kill_shell", "kill_bash"),
                    *("*plan_mode", "update_plan", "ask_user*", "ask_followup*", "slash_command"),
                    *("structured_output", "attempt_completion"),
                    *("list_mcp_resources*", "*worktree", "schedule_wakeup", "cron_*"),
                    *("save_memory", "*_memory", "retrieve_memories", "remove_*_memories"),
                    *("end_interaction",),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)

DIALECTS.add(
    "common",
    Dialect(
        namespaces=frozenset({"functions"}),
        delegating=frozenset({"agent", "task", "delegate_task"}),
        cut="as the harness that has a tool of such a name does, and else by the wording's shape",
        finished="as the harness that has a tool of such a name states it, and else by the wording",
        delegated="agent, task and delegate_task; where the calls are kept the harness decides",
        guesses=(
            Tool(
                (
                    *("shell_*", "*_shell", "*shell_command*", "*bash*", "run_cmd", "exec"),
                    *("run_command*", "*execute_command*", "*terminal_command*", "exec_*"),
                    "run_in_terminal",
                ),
                "other",
                read_nothing,
                is_shell=True,
            ),
        ),
        tools=(
            Tool(("shell", "run_command", "terminal"), "other", read_nothing, is_shell=True),
            Tool(("task", "agent", "mcp", "delegate*"), "other", read_nothing),
            Tool(("web_search", "websearch"), "other", read_nothing),
            Tool(("read", "view", "open_file"), "file_read", read_local),
            Tool(("grep",), grep_category, read_cursor_grep),
            Tool(("glob", "find_files", "file_search"), "file_search", list_names),
            Tool(("ls", "list", "list_dir", "list_directory"), "file_search", list_cursor_folder),
            Tool(("codebase_search",), "code_search", read_mentions),
            Tool(("lsp",), "symbol_navigation", read_mentions),
            Tool(("file_editor", "text_editor"), editor_category, read_editor),
            Tool(("apply_patch", "patch"), "file_write", read_patch),
            Tool(("write", "edit", "delete"), "file_write", read_write),
        ),
    ),
)

DIALECTS.add(
    "of unknown origin",
    Dialect(
        offered_by="both",
        cut="not known, so by the wording's shape alone",
        finished="not known, so by marks of an error and the wording alone",
        delegated="none is guessed from a name",
        failures=(
            r"MCP error -?\d",
            r"(?:\w{1,60}(?:Error|Exception): )?\[(?:Errno|WinError) \d{1,6}\] ",
            r"\w{1,60}(?:Error|Exception)\(",
            r"Error (?:executing|calling|running) (?:the )?tool\b",
            r"An error occurred while (?:running|executing|calling) the tool\b",
            r"(?:ERROR|Error|Fatal error):",
            r"The (?:path|file) \S{1,300} (?:does not exist|is not a file)\b",
            r"(?:File|Path|Directory) does not exist",
            r"EISDIR|ENOENT|No such file or directory|file not found|Unknown tool",
            r"Request failed with status code|HTTP error:? \d",
            r"[Ff]ailed to (?:get|search|list|read|fetch|find|resolve|download|retrieve)\b",
        ),
        empty=(
            (
                r"(?i:No (?:relevant |matching |such )?"
                r"(?:results?|files?|matches|references|definitions?|commits?|symbols?|code)\b)"
            ),
            r"(?i:(?:\{\}|\[\]|null|nil|none|0 results)\s*$)",
        ),
        guesses=(
            Tool(("*fetch*",), page_category, read_page),
            Tool(("read_mcp_resource*", "read_resource*"), resource_category, read_resource),
            Tool(("*repository_tree*",), "file_search", list_remote),
            Tool(("*pull_request*diff*", "*pull_request*files*"), "commit_search", read_mentions),
            Tool(("pull_request_read",), pull_request_category, read_pull_request),
            Tool(
                (
                    *(
                        "*issue*",
                        "*pull_request*",
                        "*web_search*",
                        "*repos",
                        "*repositor*",
                        "*docs*",
                    ),
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
                    "*move*file*",
                    "*rename*file*",
                    "*replace*",
                    "insert_*",
                    "push_files",
                ),
                "file_write",
                read_write,
            ),
            Tool(
                ("*symbols_overview*", "*document_symbols*", "*file_outline*"),
                "symbol_navigation",
                read_outline,
            ),
            Tool(
                ("*commit*", "*diff*", "*blame*", "*revisions*", "git_log", "git_show"),
                "commit_search",
                read_mentions,
            ),
            Tool(
                (
                    "*references*",
                    "*definition*",
                    "*symbol*",
                    "*implementations*",
                    "*call_hierarchy*",
                ),
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
        ),
    ),
)

DIALECTS.add(
    "of unknown servers",
    Dialect(offered_by="server", guesses=(Tool(("*",), "other", read_hits),)),
)


# --------------------------------------------------------------------------------------------------
# Tools that a model's interface itself offers: they run at the provider, not in the checkout.

DIALECTS.add(
    "model-interfaces",
    Dialect(
        tools=(
            Tool(
                (
                    *("code_execution", "bash_code_execution", "text_editor_code_execution"),
                    *("code_interpreter", "image_generation", "computer", "computer_use_preview"),
                    *("memory", "tool_search_tool_*"),
                ),
                "other",
                read_nothing,
            ),
        ),
        cut="not known to be cut: the tools run at the provider and show no file of the checkout",
        finished="by the item's status, or an error in place of its output",
        delegated="none: the tools start no agent",
        source="public interface descriptions of Anthropic and OpenAI; no file was seen",
    ),
)
