"""Gemini CLI: its shell's envelope, searches relative to the searched folder, and display texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    is_display,
    joined,
    text_argument,
)
from retrieval_eval.agents.traces.results.grep import grep_lines
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS, counted_only, located
from retrieval_eval.agents.traces.results.local_files import (
    read_write,
    requested_range,
    shown_range,
)
from retrieval_eval.agents.traces.results.mentions import read_mentions
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.results.remote import read_remote
from retrieval_eval.agents.traces.served import is_stub
from retrieval_eval.records import (
    CUT_HERE,
    Doubt,
    LineRange,
    RawTarget,
    ToolCall,
    ToolCategory,
    ToolResult,
)

# --------------------------------------------------------------------------------------------------
# The envelope of a command: ``Output:`` and, behind it, what is not empty of the rest.

_WRAPPER: Final = re.compile(r"\s*<untrusted_context>\n?(.*?)\n?</untrusted_context>\s*", re.DOTALL)
_FIELD: Final = re.compile(
    r"(Error|Exit Code|Signal|Background PIDs|Process Group PGID|Stderr): ?(.{0,4000})"
)
_DIVIDER: Final = re.compile(r"^---\n", re.MULTILINE)
"""What stands between the heading of a list of names and the names."""

_NONE: Final = frozenset({"", "(none)", "(empty)"})
_CANCELLED: Final = re.compile(
    r"(?:Command was (?:automatically )?cancelled|\[Operation Cancelled\]"
    r"|Command timed out after \d{1,12} ?ms before it could complete)[^\n]{0,400}?"
    r"(?:Below is the output before it (?:was cancelled|timed out):(?:\n|\Z)|(?=\n|\Z))"
)
_SHOWS_OUTPUT: Final = ("before it was cancelled:", "before it timed out:")
_BACKGROUND: Final = re.compile(
    r"Command (?:is running in background|moved to background)[^\n]{0,400}(?:\n|\Z)"
    r"|(?:Command|Background command) started\b[^\n]{0,400}(?:\n|\Z)"
    r"|Background shell (?:started\.\nid: [^\n]{1,200}\n|\S{1,100} started \().{0,4000}\Z",
    re.DOTALL,
)
_ONLY_STATUS: Final = re.compile(r"Command exited with code: (-?\d{1,9})\s*")
_INITIAL: Final = re.compile(r"[^\n]{0,400}?Initial output:\n")
_OVERSIZE: Final = re.compile(
    r"Output too large\. Showing (?P<ends>first [\d,]{1,20} and last )?[^\n]{0,4200}\n"
    r"|Tool output was too large and has been truncated\.\n(?:[^\n]{0,4200}\n){0,12}?"
    r"Truncated part of the output:\n"
)
_OMITTED: Final = re.compile(
    r"(?:\n{1,3}---)?\n*^\.\.\. \["
    r"(?:[\d,]{1,20} (?:characters|lines) (?:omitted|truncated)|CONTENT TRUNCATED)\]"
    r" \.\.\.$(?:\n---\n)?\n*",
    re.MULTILINE,
)
_KEPT: Final = re.compile(r"\nOutput too long and was saved to: [^\n]{1,4096}\s*\Z")
_LONGEST_NOTE: Final = 5000
_HEAD_SENT: Final = 700
_END_SENT: Final = 3000
"""Of an output that a stream displays and says to be saved, the model is sent 800 and 3,200
characters of either end, of which some are the envelope's."""


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the envelope of commands.

    Examples
    --------
    >>> text = "Output: a.py:3:x\nExit Code: 1\nProcess Group PGID: 77"
    >>> result = answer(ToolCall("c", "run_shell_command", {"command": "make"}, ToolResult(text)))
    >>> result.text, result.is_error
    ('a.py:3:x', True)
    """
    result = call.result or ToolResult("")
    text = _whole(_unwrapped(result.text))
    if call.name == "glob":
        text = _DIVIDER.sub("", text, count=1)
    if call.name != "run_shell_command":
        return result if text == result.text else replace(result, text=text)
    late = _CANCELLED.match(text[:2000])
    if late is not None:
        rest = text[late.end() :] if late[0].rstrip().endswith(_SHOWS_OUTPUT) else ""
        is_silent = not rest.strip()
        return replace(
            result, text=rest, is_error=True, is_unfinished=is_silent, is_stopped=not is_silent
        )
    if result.is_unfinished:
        return result
    behind = _BACKGROUND.match(text[:5000])
    if behind is not None:
        first = _INITIAL.match(text[:2000])
        rest = text[first.end() if first is not None else behind.end() :]
        is_silent = not rest.strip()
        doubt: Doubt | None = "background" if is_silent else None
        return replace(result, text=rest, doubt=doubt, is_stopped=not is_silent)
    silent = _ONLY_STATUS.fullmatch(text)
    if silent is not None:
        return replace(result, text="", is_error=result.is_error or int(silent[1]) != 0)
    text, fields = _fields(text, call)
    status = fields.get("Exit Code", "")
    has_failed = status.lstrip("-").isdecimal() and status.strip("-0") != ""
    known = result.structured
    if known is None and has_failed and len(status) < 10:
        known = {"exit_code": int(status)}
    is_killed = fields.get("Signal", "(none)") not in _NONE
    is_error = result.is_error or has_failed or is_killed
    is_silent = is_killed and not text.strip()
    return replace(
        result,
        text=_whole(text),
        structured=known,
        is_error=is_error,
        is_unfinished=is_silent,
        is_stopped=result.is_stopped or (is_killed and not is_silent),
    )


def _unwrapped(text: str) -> str:
    if "<untrusted_context>" not in text[:100]:
        return text
    match = _WRAPPER.fullmatch(text)
    return match[1] if match is not None else text


def _fields(text: str, call: ToolCall) -> tuple[str, Mapping[str, str]]:
    """Return the output in an envelope and the fields behind it; any other text is the output."""
    command = call.arguments.get("command")
    opening = f"Command: {command}\nDirectory: "
    if text.startswith(opening):
        text = text[len(opening) :].partition("\n")[2]
    for name in ("Output: ", "Stdout: "):
        if text.startswith((name, name.rstrip())):
            break
    else:
        return text, {}
    lines = text[len(name.rstrip()) :].removeprefix(" ").split("\n")
    fields: dict[str, str] = {}
    while len(lines) > 1:
        field = _FIELD.fullmatch(lines[-1])
        if field is None or field[1] in fields:
            break
        fields[field[1]] = field[2].strip()
        lines.pop()
    shown = "\n".join(lines)
    errors = fields.get("Stderr", "")
    if errors not in _NONE:
        shown = errors if shown in _NONE else f"{shown}\n{errors}"
    return ("" if shown in _NONE else shown), fields


def _whole(text: str) -> str:
    """Mark where a part of a large output was left out; where that is not stated, at both ends."""
    notice = _OVERSIZE.match(text[:60_000])
    if notice is None:
        kept = _KEPT.search(text, max(0, len(text) - _LONGEST_NOTE))
        if kept is None or kept.start() <= _HEAD_SENT + _END_SENT:
            return text
        tail = text[kept.start() - _END_SENT : kept.start()]
        return f"{text[:_HEAD_SENT]}\n{CUT_HERE}\n{tail}"
    shown, n_marks = _OMITTED.subn(f"\n{CUT_HERE}\n", text[notice.end() :], count=1)
    return shown if n_marks else f"{CUT_HERE}\n{shown}\n{CUT_HERE}"


# --------------------------------------------------------------------------------------------------
# Reads. A read that was cut says which lines it shows; a display text is empty for a whole read.

_STATUS: Final = re.compile(
    r"\s*IMPORTANT: The file content has been truncated\.\n"
    r"Status: Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9}) total lines\."
    r"(?:\n[^\n]{0,1000}){1,6}?\n--- FILE CONTENT \(truncated\) ---"
    r"|Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9}) total lines\.\n\n---(?=\n)"
)
_READ_LINES: Final = re.compile(r"Read lines (\d{1,9})-(\d{1,9}) of (\d{1,9})[^\n]{0,4000}")
_UNCHANGED: Final = re.compile(r"Unchanged: [^\n]{1,4096}")
_SECTION: Final = re.compile(r"^--- (\S[^\n]{0,4000}) ---$", re.MULTILINE)
_SUMMARY: Final = "### ReadManyFiles Result"
_PROCESSED: Final = re.compile(r"^- `([^`\n]{1,4000})`", re.MULTILINE)
_FOLDER: Final = re.compile(r"\(Target Dir: `([^`\n]{1,4000})`\)")


def read_file(seen: Seen) -> Found:
    """Return the file that was read; which lines of it, where the answer states them."""
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    if path is None:
        return read_remote(seen)
    stated = _READ_LINES.fullmatch(seen.text)
    if stated is not None:
        return _of_lines(seen, path, stated, None)
    if is_stub(seen.text) or _UNCHANGED.fullmatch(seen.text):
        # What the agent is sent in place of what it was shown before.
        return NOTHING
    if is_display(seen.value):
        if seen.text.startswith("Skipped"):
            return NOTHING
        lines = shown_range(requested_range(seen.arguments))
        return _opened(seen, path, lines, is_whole=lines is None)
    status = _STATUS.match(seen.text[:5000])
    if status is None:
        return read_remote(seen)
    return _of_lines(seen, path, status, seen.text[status.end() :].strip("\n"))


def _of_lines(seen: Seen, path: str, stated: re.Match[str], shown: str | None) -> Found:
    """Return the file with the lines that an answer states, which may lie behind its end.

    It counts what follows the last line break as a line; ``shown`` is the text, if it is there.
    """
    first, last, total = (int(number) for number in stated.groups() if number is not None)
    if (shown is not None and not shown.strip()) or not 0 < first <= min(last, total):
        return NOTHING
    n_lines = total if shown is None else shown.count("\n") + 1
    lines = ((first, min(last, total, first + n_lines - 1)),)
    return _opened(seen, path, lines, is_whole=first == 1 and last >= total)


def _opened(seen: Seen, path: str, lines: tuple[LineRange, ...] | None, *, is_whole: bool) -> Found:
    return Found((RawTarget(joined(seen.cwd, path), "opened", None, lines, is_whole),))


def read_many(seen: Seen) -> Found:
    """Return the files whose sections an answer holds; a display text lists the first of them."""
    if is_display(seen.value) or seen.text.startswith(_SUMMARY):
        head = seen.text.partition("**Skipped")[0]
        folder = _FOLDER.search(head[:5000])
        base = folder[1] if folder is not None else seen.cwd
        paths = [joined(base, match[1]) for match in _PROCESSED.finditer(head)]
        is_more = "more." in head or not paths
    else:
        names = (match[1] for match in _SECTION.finditer(seen.text))
        paths = [joined(seen.cwd, name) for name in names if name != "End of content"]
        is_more = not paths and not is_empty_answer(seen.text)
    return Found(distinct(RawTarget(path, "opened") for path in paths), is_opaque=is_more)


# --------------------------------------------------------------------------------------------------
# Searches: paths are relative to the searched folder.

_HEAD: Final = re.compile(r"Found \d{1,9} (?:match(?:es)?|files? with matches) for ")
_LINE: Final = re.compile(r"L(\d{1,9})[:-] ?")


def grep_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``file_search`` for a search that shows names only, else ``code_search``."""
    return "file_search" if arguments.get("names_only") is True else "code_search"


def read_search(seen: Seen) -> Found:
    """Return the files that a search of contents found."""
    counted = counted_only(seen, "matched")
    if counted is not None:
        return counted
    if is_empty_answer(seen.text):
        return NOTHING
    if _HEAD.match(seen.text) is None:
        return read_mentions(seen)
    _, mark, body = seen.text.partition(":\n---\n")
    if not mark:
        names = [line for line in seen.text.partition(":\n")[2].split("\n") if line.strip()]
        return Found(_matched(seen, {name: () for name in names if not name.startswith("(")}))
    found: dict[str, list[LineRange]] = {}
    current: list[LineRange] | None = None
    others = []
    for line in body.split("\n"):
        number = _LINE.match(line)
        if line.startswith("File: "):
            current = found.setdefault(line.removeprefix("File: ").strip(), [])
        elif number is not None and current is not None:
            current.append((int(number[1]), int(number[1])))
        elif line not in ("", "---"):
            others.append(line)
    if found:
        return Found(_matched(seen, found), is_opaque=seen.is_truncated)
    shown = grep_lines(others)
    return Found(_matched(seen, shown.files), is_opaque=shown.is_uncertain or not shown.files)


def _matched(seen: Seen, found: Mapping[str, Iterable[LineRange]]) -> tuple[RawTarget, ...]:
    folder = text_argument(seen.arguments, FOLDER_ARGUMENTS)
    names = list(found)
    if folder is not None and len(names) == 1 and folder.rstrip("/").endswith(f"/{names[0]}"):
        paths = [joined(seen.cwd, folder)]
    else:
        paths = located(names, folder, seen.cwd)
    return distinct(
        RawTarget(path, "matched", None, tuple(n for n in found[name] if n[0] > 0) or None)
        for path, name in zip(paths, names, strict=True)
    )


DIALECTS.add(
    "gemini-cli",
    Dialect(
        harnesses=frozenset({"gemini-cli", "gemini"}),
        delegating=frozenset({"invoke_agent", "delegate_to_agent", "codebase_investigator"}),
        keeps_shell=False,
        refusals=(
            r"Tool execution denied by policy",
            r"\[Operation Cancelled\]",
            r"User denied execution",
            r"Command was (?:cancelled by user|automatically cancelled)(?!.{0,400}Below is the)",
        ),
        failures=(
            r"File path must be within|Path not in workspace",
            r"Path is not a directory",
            r"\[Unsupported \w{1,20} file: ",
            r"Skipped (?:image|binary|audio|video|PDF|SVG|large) file: ",
            r"Cannot display content of binary file: ",
        ),
        own_files=(r"/\.(?:gemini|qwen)/tmp/[^/]+/",),
        saved_files=(
            r"/\.gemini/tmp/[^/]+/tool-outputs/",
            r"/\.qwen/tmp/[^/]+/(?:background-shells/.{1,300}|\w{1,100}_[\w-]{1,100})\.output$",
        ),
        saved=(
            r"Output too large\. Showing [^\n]{1,200}\. For full output see: ([^\n]{1,4096})",
            r"The full output has been saved to: ([^\n]{1,4096})",
            r"Output too long and was saved to: ([^\n]{1,4096})",
            r"Background shell started\.\n(?:[^\n]{1,200}\n){1,4}output file: ([^\n]{1,4096})",
        ),
        answer=answer,
        cut=(
            "A large answer is cut to its beginning and its end, with a line of dots between them, "
            "and the whole is saved to a file that it names; a read states which lines it shows."
        ),
        finished=(
            "The status of a call is success, error or cancelled; the answer of a command says "
            "that it was cancelled or timed out, or runs in the background, and what it printed."
        ),
        delegated=(
            "`invoke_agent`, `delegate_to_agent` in older versions, and `codebase_investigator` "
            "start a sub-agent, whose session is a file in a folder with the name of the session; "
            "the stream does not hold it."
        ),
        statuses=(r"Exit Code:? -?\d+",),
        source=(
            "google-gemini/gemini-cli 5411f113 (0.49 preview), recording 04741d1; a session of "
            "October 2025 seen; session, stream and requests of 0.61.0 compared"
        ),
        tools=(
            Tool(("run_shell_command",), "other", read_nothing, is_shell=True),
            Tool(
                ("invoke_agent", "delegate_to_agent", "codebase_investigator"),
                "other",
                read_nothing,
            ),
            Tool(("google_web_search",), "other", read_nothing),
            Tool(("complete_task",), "other", read_nothing, is_retrieval=False),
            Tool(("read_file",), "file_read", read_file),
            Tool(("read_many_files",), "file_read", read_many),
            Tool(("grep_search", "search_file_content"), grep_category, read_search),
            Tool(("replace",), "file_write", read_write),
        ),
    ),
)
