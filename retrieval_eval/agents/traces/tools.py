"""What one tool call did: its category, and the files that its result shows it touched.

The categories are the seed's eight. Targets are what came back, never what was requested; an
error finds nothing. Shell commands are passed on unchanged: `traces.shell` derives their events.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    Tool,
    ToolName,
    read_nothing,
    tool_name,
    tool_row,
)
from retrieval_eval.agents.traces.results.base import (
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    joined,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS
from retrieval_eval.agents.traces.results.mentions import (
    looks_like_file,
    mentions,
    path_texts,
    searched_repository,
)
from retrieval_eval.agents.traces.results.payload import (
    is_envelope,
    is_failure,
    is_harness_file,
    is_saved_result,
    parsed,
    resource_files,
    undecorated,
    unwrapped,
)
from retrieval_eval.agents.traces.results.remote import read_page, unserved_remotely
from retrieval_eval.agents.traces.served import (
    is_refusal,
    is_stub,
    may_be_refused,
    states_error,
    until_stopped,
    without_last_status,
)
from retrieval_eval.agents.traces.untrusted import dict_of, status_of, text_of
from retrieval_eval.records import Access, Doubt, RawTarget, ToolCall, ToolCategory, ToolResult

# --------------------------------------------------------------------------------------------------
# Files that a call may have touched where its result does not prove which.

_SEARCHES: Final[Mapping[ToolCategory, Access]] = {
    "file_search": "listed",
    "code_search": "matched",
    "commit_search": "matched",
    "symbol_navigation": "matched",
}
_TYPED: Final = ("command", "cmd", "input", "keystrokes", "script", "code")
_MOST_LINES: Final = 5000
_LONGEST_LINE: Final = 2000
_MOST_NAMES: Final = 500
_DEEPEST: Final = 6


def possible(seen: Seen, doubt: Doubt, *, is_remote: bool = False) -> tuple[RawTarget, ...]:
    """Return what a call may have touched, from its arguments and the prose of its answer.

    Parameters
    ----------
    seen
        The call; where its result is not known, with an empty text.
    doubt
        Why nothing of it is certain.
    is_remote
        Whether a server answers, which searches a repository and not the working directory.

    Examples
    --------
    >>> call = Seen({"path": "src"}, "3 results in src/a.py and others", None, "code_search", "/w")
    >>> [(t.path, t.is_pattern) for t in possible(call, "opaque_call")]
    [('/w/src/*', True), ('/w/src/a.py', False)]
    """
    return tuple(dict.fromkeys((*_requested(seen, doubt, is_remote), *_named(seen, doubt))))


def with_possible(seen: Seen, found: Found, *, is_remote: bool) -> Found:
    """Return what a parser found with the files that remain possible."""
    is_bounded = any(target.doubt is not None for target in found.targets)
    if found.is_error or not found.is_opaque or is_bounded:
        return found
    if found.category is not None:
        seen = replace(seen, category=found.category)
    if not seen.is_truncated:
        further = possible(seen, "opaque_call", is_remote=is_remote)
    elif seen.category in _SEARCHES or not found.targets:
        further = tuple(_requested(seen, "cut_result", is_remote))
    else:
        further = ()
    return replace(found, targets=(*found.targets, *further))


def _requested(seen: Seen, doubt: Doubt, is_remote: bool) -> Iterator[RawTarget]:
    repository = repository_argument(seen.arguments)
    if seen.category == "deep_search" and doubt == "no_result":
        yield _below(seen, "matched", doubt, is_remote)
    elif seen.category in _SEARCHES:
        yield _below(seen, _SEARCHES[seen.category], doubt, is_remote)
    elif seen.category == "file_read":
        path = text_argument(seen.arguments, PATH_ARGUMENTS)
        paths = [path] if path is not None else strings(seen.arguments.get("paths"))
        if not paths and doubt == "opaque_call" and not is_remote:
            yield RawTarget("*", "opened", doubt=doubt, is_pattern=True)
        for name in paths[:_MOST_NAMES]:
            if not is_saved_result(name):
                yield _target(seen, name, "opened", repository, doubt)
    elif seen.category == "other":
        for name in path_texts((*_texts(seen.arguments), *_words(seen.arguments))):
            yield _target(seen, name, "opened", repository, doubt)


def _below(seen: Seen, access: Access, doubt: Doubt, is_remote: bool) -> RawTarget:
    """Return what a search may have named: what lies below its folder, else any file.

    What a symbol or a commit leads to need not lie in the file or folder that was named.
    """
    repository = searched_repository(seen.arguments) if is_remote else None
    is_confined = seen.category in ("file_search", "code_search")
    folder = text_argument(seen.arguments, FOLDER_ARGUMENTS) if is_confined else None
    folder = (folder or "").rstrip("/")
    if folder and looks_like_file(folder):
        return _target(seen, folder, access, repository, doubt)
    place = folder.strip("/") if repository is not None else folder
    if not is_remote:
        place = joined(seen.cwd, folder or ".")
    pattern = "*" if place in ("", ".") else f"{place.rstrip('/')}/*"
    return RawTarget(pattern, access, repository, doubt=doubt, is_pattern=True)


def _target(
    seen: Seen, path: str, access: Access, repository: str | None, doubt: Doubt
) -> RawTarget:
    place = path if repository is not None else joined(seen.cwd, path)
    return RawTarget(place, access, repository, doubt=doubt)


def _named(seen: Seen, doubt: Doubt) -> Iterator[RawTarget]:
    repository = repository_argument(seen.arguments)
    if seen.category in ("file_read", "file_write"):
        return
    places: dict[tuple[str, int | None], None] = {}
    for line in seen.text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        places.update(dict.fromkeys(mentions(line[:_LONGEST_LINE])))
        if len(places) >= _MOST_NAMES:
            break
    for path, number in places:
        target = _target(seen, path, "matched", repository, doubt)
        yield replace(target, lines=((number, number),) if number else None)


def _words(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of what was typed into a program or a shell that is not known."""
    typed = text_argument(arguments, _TYPED) or ""
    for word in typed[:_LONGEST_LINE].split()[:_MOST_NAMES]:
        yield word.strip("'\"();|&<>`")


def _texts(arguments: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts among arguments, those inside lists and objects as well."""
    if isinstance(arguments, str):
        yield arguments
    elif depth < _DEEPEST and isinstance(arguments, Mapping | list):
        inner = arguments.values() if isinstance(arguments, Mapping) else arguments
        for value in list(inner)[:_MOST_NAMES]:
            yield from _texts(value, depth + 1)


# --------------------------------------------------------------------------------------------------
# What the call did.

LONGEST_ARGUMENT: Final = 500
"""Characters kept of one argument; the full length is kept beside it."""

_MOST_ARGUMENTS: Final = 40
_LONGEST_RECORD: Final = 10_000
_NOT_SALIENT: Final = frozenset({"parsingResult", "toolCallId", "security_risk", "simpleCommands"})
_COMMANDS: Final = ("command", "cmd", "CommandLine", "script")
_FOLDERS: Final = (
    "workingDirectory",
    "workdir",
    "working_directory",
    "cwd",
    "directory",
    "dir_path",
)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})


class ToolUse(Struct, frozen=True, gc=False):
    """The meaning of one tool call.

    ``is_retrieval`` is false for a harness's own housekeeping (to-do lists, tool search, thinking),
    which becomes no event. ``command`` is the text a shell tool ran, ``command_cwd`` the folder the
    trace states for it. ``is_opaque``: something was returned that could not be resolved to files,
    or that the trace cut off. ``server`` names the MCP server.
    """

    category: ToolCategory
    is_retrieval: bool
    is_mcp: bool
    server: str | None
    command: str | None
    command_cwd: str | None
    targets: tuple[RawTarget, ...]
    is_error: bool
    is_opaque: bool
    arguments: dict[str, Any]


def interpret(call: ToolCall) -> ToolUse:
    r"""Return what a tool call did, from its name, arguments and result.

    Never raises on untrusted data: arguments and results may hold anything. A call without a
    result may have shown what its arguments name; it is neither an error nor opaque. Paths are
    absolute where the tool's rule and the working directory tell, else as the trace has them.

    Examples
    --------
    >>> from retrieval_eval.records import ToolResult
    >>> found = ToolResult("Found 1 file\nsrc/a.py")
    >>> use = interpret(ToolCall("1", "Grep", {"pattern": "x"}, found, cwd="/workspace"))
    >>> use.category, use.targets[0].path, use.targets[0].access
    ('file_search', '/workspace/src/a.py', 'matched')
    """
    raw_name, arguments = _wrapped(call.name, call.arguments)
    name = tool_name(raw_name, arguments)
    tool = tool_row(name.bare, name.is_mcp)
    category = tool.category if isinstance(tool.category, str) else tool.category(arguments)
    found = _found(call, tool, name, category, arguments)
    doubt = doubt_of(call.result)
    command = _command(arguments) if tool.is_shell else None
    return ToolUse(
        category=found.category or category,
        is_retrieval=tool.is_retrieval,
        is_mcp=name.is_mcp,
        server=name.server,
        command=command,
        command_cwd=text_argument(arguments, _FOLDERS) if tool.is_shell else None,
        targets=tuple(
            t if doubt is None or t.doubt is not None else replace(t, doubt=doubt)
            for t in distinct(found.targets)
            if not is_harness_file(t.path)
        ),
        is_error=found.is_error,
        is_opaque=found.is_opaque or (tool.is_shell and _is_unexplained(call, command)),
        arguments=salient_arguments(arguments),
    )


_OUTPUTS: Final = ("stdout", "output", "stderr")
_STATUSES: Final = ("exit_code", "exitCode", "returncode", "return_code", "code", "exit")
_LATE: Final = ("timed_out", "timedOut", "timeout")
_BESIDE_OUTPUT: Final = frozenset(
    {
        *(*_OUTPUTS, *_STATUSES, *_LATE, "interrupted", "duration", "duration_ms", "success"),
        *("signal", "error", "cwd", "command", "status", "metadata", "exception_info"),
    }
)
_LONGEST_FAULT: Final = 400
_ENDED_EARLY: Final = re.compile(r"(?i)\btim(?:ed?[ -]?out|eout)|\b(?:killed|aborted|cancell?ed)\b")


def with_plain_output(call: ToolCall) -> ToolCall:
    """Return a call of a shell with what its command printed, and whether it ran to its end.

    The answer may be a record around the output.

    Examples
    --------
    >>> text = '{"stdout": "", "stderr": "cat: no such file", "exit_code": 1}'
    >>> shown = with_plain_output(ToolCall("1", "bash", {"command": "cat a"}, ToolResult(text)))
    >>> shown.result.text, shown.result.is_error
    ('cat: no such file', True)
    """
    result = call.result
    if result is None:
        return call
    name = tool_name(call.name, call.arguments)
    if not tool_row(name.bare, name.is_mcp).is_shell:
        return call
    record = parsed(result.text) if result.text.startswith("{") else None
    shown, status = _plain(result, record)
    if status is None:
        text, status = without_last_status(shown.text)
        if text != shown.text:
            shown = replace(shown, text=text, is_error=shown.is_error or bool(status))
    shown = until_stopped(shown, _command(call.arguments) or "", status)
    return call if shown is result else replace(call, result=shown)


def _plain(result: ToolResult, record: Any) -> tuple[ToolResult, int | None]:
    """Return the output inside a record around it, and the exit status that is stated."""
    stated = result.structured if isinstance(result.structured, dict) else {}
    status = next((n for key in _STATUSES if (n := status_of(stated.get(key))) is not None), None)
    if not isinstance(record, dict) or not record.keys() <= _BESIDE_OUTPUT:
        return result, status
    texts = [record[key] for key in _OUTPUTS if isinstance(record.get(key), str)]
    statuses = [n for key in _STATUSES if (n := status_of(record.get(key))) is not None]
    status = next(filter(None, statuses), 0)
    is_stated = any(key in record for key in (*_STATUSES, *_LATE, "stderr"))
    if not texts or not is_stated:
        return result, None
    text = "\n".join(filter(None, texts))
    fault = text_of(record.get("error")) or ""
    is_late = (
        any(record.get(key) is True for key in _LATE)
        or bool(text_of(record.get("exception_info")))
        or (status != 0 and _ENDED_EARLY.search(fault[:_LONGEST_FAULT]) is not None)
    )
    is_nothing = is_late and not text.strip()
    shown = replace(
        result,
        text=text,
        is_error=result.is_error or status != 0 or is_late,
        is_unfinished=result.is_unfinished or is_nothing,
        is_stopped=result.is_stopped or (is_late and not is_nothing),
    )
    return shown, status


def doubt_of(result: ToolResult | None) -> Doubt | None:
    """Return why the agent may not have seen what a result shows, or None.

    Where the trace keeps no machine-readable result, the wording of a short answer can leave open
    whether the call was denied.
    """
    if result is None or result.doubt is not None or result.is_error:
        return result.doubt if result is not None else None
    if result.structured is None and may_be_refused(result.text):
        return "may_have_failed"
    return None


def _found(
    call: ToolCall, tool: Tool, name: ToolName, category: ToolCategory, arguments: Mapping[str, Any]
) -> Found:
    result = call.result
    if result is None:
        is_about_files = tool.is_retrieval and tool.parser is not read_nothing
        unseen = Seen(arguments, "", None, category, call.cwd)
        return Found(possible(unseen, "no_result", is_remote=name.is_mcp) if is_about_files else ())
    if result.is_error or tool.is_shell or not tool.is_retrieval:
        return Found(is_error=result.is_error or (tool.is_shell and is_refusal(result.text)))
    # Cursor states success or failure itself, and its results are raw file contents.
    is_stated = call.name.endswith("ToolCall") and not name.is_mcp
    if not is_stated and is_failure(result.text):
        return Found(is_error=True)
    text, value = _read(result, category, name.is_mcp)
    if not is_stated and is_failure(text):
        return Found(is_error=True)
    seen = Seen(arguments, text, value, category, call.cwd, result.is_truncated)
    if category == "file_read" and dict_of(result.structured).get("type") == "file_unchanged":
        return Found()
    if name.is_mcp or tool.parser is read_page:
        unserved = unserved_remotely(seen, result)
        if unserved is not None:
            return with_possible(seen, unserved, is_remote=name.is_mcp)
    elif not is_stated and _is_without_content(category, _record(result, text)):
        return with_possible(seen, Found(is_opaque=True), is_remote=False)
    elif not is_stated and states_error(_record(result, text)):
        is_json = str(text_argument(arguments, PATH_ARGUMENTS)).endswith(".json")
        return with_possible(seen, Found(is_error=not is_json, is_opaque=is_json), is_remote=False)
    read = tool.parser(seen)
    if name.is_mcp and read.is_opaque and not read.targets:
        read = _embedded(result, seen) or read
    if category == "file_read" and read.targets and is_stub(text):
        return Found(possible(seen, "may_have_failed", is_remote=name.is_mcp))
    return with_possible(seen, read, is_remote=name.is_mcp)


def _embedded(result: ToolResult, seen: Seen) -> Found | None:
    """Return the files that the resources in an answer of MCP are, which their URIs name."""
    paths = resource_files(result.structured)
    targets = distinct(RawTarget(path, "opened") for path in paths)
    return Found(targets) if targets and not seen.is_truncated else None


def _is_without_content(category: ToolCategory, record: Any) -> bool:
    """Whether the record of a read says that it holds no content."""
    return (
        category == "file_read" and isinstance(record, dict) and record.get("content", "") is None
    )


def _record(result: ToolResult, text: str) -> Any:
    """Return the machine-readable result, else the JSON that a short answer is, or None."""
    if result.structured is not None:
        return result.structured
    return parsed(text) if len(text) <= _LONGEST_RECORD else None


def _read(result: ToolResult, category: ToolCategory, is_mcp: bool) -> tuple[str, Any]:
    """Return text and value of a result; the answers of MCP tools are unwrapped."""
    if is_mcp:
        is_content = category == "file_read"
        text, value = unwrapped(result.text, result.structured, is_content=is_content)
        return undecorated(text), value
    value = result.structured if isinstance(result.structured, dict | list) else None
    text = result.text
    if not text and isinstance(value, dict):
        text = text_argument(value, ("content",)) or ""
    if value is None and category not in {"file_read", "file_write"}:
        value = parsed(text)
    if category != "file_read" and is_envelope(value):
        text, value = unwrapped(text, value)
    return (text if category == "file_read" else undecorated(text)), value


def _wrapped(name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and arguments inside Cursor's and Qwen Code's wrappers around MCP calls."""
    if name == "tool_call":
        called, given = text_argument(arguments, ("name",)), arguments.get("arguments")
        given = parsed(given) if isinstance(given, str) else given
        return (
            (called, given if isinstance(given, Mapping) else {}) if called else (name, arguments)
        )
    if name != "mcpToolCall":
        return name, arguments
    tool = text_argument(arguments, ("toolName", "name"))
    server = text_argument(arguments, ("providerIdentifier", "serverName")) or "unknown"
    inner = arguments.get("args")
    tool = (tool or "unknown").removeprefix(f"{server}-")
    return f"mcp__{server}__{tool}", inner if isinstance(inner, Mapping) else {}


def _is_unexplained(call: ToolCall, command: str | None) -> bool:
    """Return whether a shell printed something although its command is unknown."""
    if command is not None or call.result is None or call.result.is_error:
        return False
    return not any(name in call.arguments for name in _COMMANDS) and bool(call.result.text.strip())


def _command(arguments: Mapping[str, Any]) -> str | None:
    """Return the command text; input to a program that already runs is no command."""
    if str(arguments.get("is_input", "")).lower() == "true":
        return None
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            is_wrapped = len(value) == 3 and value[0].rsplit("/", 1)[-1] in _SHELLS
            return str(value[2]) if is_wrapped and value[1] in {"-c", "-lc"} else shlex.join(value)
    return None


def salient_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that fit into an event: each cut, its full length kept when it was.

    Examples
    --------
    >>> cut = salient_arguments({"path": "a.py", "content": "x" * 600})
    >>> cut["path"], len(cut["content"]), cut["content_length"]
    ('a.py', 500, 600)
    """
    kept: dict[str, Any] = {}
    for key in list(arguments)[:_MOST_ARGUMENTS]:
        if key in _NOT_SALIENT or not isinstance(key, str):
            continue
        value = arguments[key]
        text = value if isinstance(value, str) else _as_text(value)
        if text is not None and len(text) > LONGEST_ARGUMENT:
            kept[key[:100]] = text[:LONGEST_ARGUMENT]
            kept[f"{key[:100]}_length"] = len(text)
        else:
            kept[key[:100]] = value if text is not None else None
    return kept


def _as_text(value: Any) -> str | None:
    """Return a value as JSON text, or None when it is no finite JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
