"""Gemini CLI: session files, and the stream of ``--output-format stream-json``.

Messages of a session hold the answers the agent saw. The file is a JSON document, or since version
0.40 a log of lines: a message with a known id replaces the earlier one, ``$set`` changes the
session and may state all messages anew, and ``$rewindTo`` takes a message and all behind it out of
the history: what they showed was shown. Sub-agents have files of their own. The folder of the
session is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing, tool_name
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, size
from retrieval_eval.agents.traces.results.base import (
    DISPLAY,
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
from retrieval_eval.agents.traces.served import is_stub, states_exit_status
from retrieval_eval.agents.traces.tokens import is_misstated
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dicts_at,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
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
_OUTPUT_SECTION: Final = re.compile(r"^--- (\S[^\n]{0,4000}) ---$", re.MULTILINE)
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
        names = (match[1] for match in _OUTPUT_SECTION.finditer(seen.text))
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


# --------------------------------------------------------------------------------------------------
# Gemini CLI: session files, and the stream of ``--output-format stream-json``.

FORMAT = "gemini-cli-session"
REWOUND = "history_rewound"
"""The flag of a file whose agent was put back to an earlier point of its history."""
_AGENTS = {"gemini": "gemini-cli", "qwen": "qwen-code"}
_ENDED = frozenset({"success", "error", "cancelled"})
_COUNTS = ("input", "output", "thoughts", "tool", "total")

_Message = tuple[dict[str, Any], str]
"""A message and where it is."""


class _Session(Transcript):
    """A session's transcript, which is complete only when all lines are known."""

    def __init__(self, name: str, unit: str) -> None:
        super().__init__(name, unit, answer=answer, is_native=True)
        self.meta: dict[str, Any] = {}
        self.kept: Spooled[_Message] = Spooled(_Message)
        self.messages: dict[str, int] = {}
        """Where the message with an id is among those that were kept."""
        self.present: dict[str, None] = {}
        """The messages that no rewind took out of the history."""
        self.summaries: set[str] = set()


def read_gemini_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session that is a log of lines."""
    said = _Session(name, "line")
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    return _reading(said)


def read_gemini_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a session that is one document."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: a Gemini CLI session without a list of messages")
    said = _Session(name, "step")
    said.meta.update(document)
    for index, message in enumerate(document["messages"]):
        _keep(said, message, f"{name}#/messages/{index}", is_new=True)
    return _reading(said)


def _take(said: _Session, entry: Mapping[str, Any], where: str) -> None:
    change, target = entry.get("$set"), text_at(entry, "$rewindTo")
    if isinstance(change, dict):
        said.meta.update({key: value for key, value in change.items() if key != "messages"})
        messages = change.get("messages")
        if isinstance(messages, list):
            _restate(said, messages, where)
    elif target is not None:
        said.ending = (REWOUND,) if said.present else said.ending
        is_known = target in said.present
        while said.present and not (is_known and target not in said.present):
            said.present.popitem()
    elif "projectHash" in entry and "type" not in entry:
        said.meta.update(entry)
    else:
        _keep(said, entry, where, is_new=True)


def _restate(said: _Session, messages: list[Any], where: str) -> None:
    """Take the messages that a checkpoint adds: what it leaves out, the agent saw before."""
    kept = {text_at(message, "id") for message in messages}
    is_shorter = any(message_id not in kept for message_id in said.present)
    added = [_keep(said, message, where, is_new=False) for message in messages]
    first = next(filter(None, added), None)
    if is_shorter and first is not None:
        said.summaries.add(first)


def _keep(said: _Session, message: Any, where: str, *, is_new: bool) -> str | None:
    """Keep a message; return its id where the file did not hold one with this id before."""
    if not isinstance(message, dict):
        said.complaints.note(where, "expected a message")
        return None
    message_id = text_at(message, "id") or where
    known = said.messages.get(message_id)
    said.present.setdefault(message_id)
    if known is None or is_new:
        said.messages[message_id] = len(said.kept)
        first = where if known is None else said.kept[known][1]
        said.kept.append((message, first), size(message))
    return message_id if known is None else None


def _reading(said: _Session) -> Reading:
    meta = said.meta
    said.session(meta.get("sessionId"))
    is_inner = meta.get("kind") == "subagent"
    said.by(text_at(meta, "sessionId") if is_inner else None, is_subagent=is_inner)
    said.sub_agents.update(filter(None, (said.agent,)))
    harness = None
    for message_id, place in said.messages.items():
        message, where = said.kept[place]
        if message_id in said.summaries:
            said.note_summary()
        kind = text_at(message, "type")
        said.is_abandoned = message_id not in said.present
        if kind == "user":
            said.at(where, unix_seconds(message.get("timestamp")))
            attach_sections(said, blocks_text(message.get("content")))
        if kind in _AGENTS:
            harness = harness or _AGENTS[kind]
            said.model = said.model or text_at(message, "model")
            said.at(where, unix_seconds(message.get("timestamp")), by_agent=True)
            tokens = message.get("tokens")
            is_wrong = is_misstated(tokens, _COUNTS)
            # Cached tokens are part of the input, thoughts are not part of the output.
            prompt, output = ("input", "tool"), ("output", "thoughts")
            counts = (0, 0) if is_wrong else (count_at(tokens, *prompt), count_at(tokens, *output))
            said.used(message_id, *counts, is_misstated=is_wrong)
            for call in dicts_at(message, "toolCalls"):
                said.call(
                    call.get("name"),
                    call.get("args"),
                    text_at(call, "id") or f"{where}#{said.n_calls}",
                    result=_result(call),
                    time=said.time or unix_seconds(call.get("timestamp")),
                )
    said.until(unix_seconds(meta.get("lastUpdated")))
    folders = list_of(meta.get("directories"))
    return said.reading(
        FORMAT,
        harness=harness or "gemini-cli",
        model=None if is_inner else said.model,
        cwd=text_of(clean(folders[0])) if len(folders) == 1 else None,
    )


_SECTION = re.compile(
    r"^(?:--- Context from: (?P<context>[^\n]{1,4096}?) ---"
    r"|Content from @?(?P<named>[^\n]{1,4096}):)$",
    re.MULTILINE,
)


def attach_sections(said: Transcript, text: str) -> None:
    """Note the files that a message of the user holds: instructions, and files that it names."""
    for found in _SECTION.finditer(text):
        how = "instructions" if found["context"] else "named by the prompt"
        said.attach(found["context"] or found["named"], how)


def _result(entry: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a record of a call, None where the call has not ended."""
    status = text_at(entry, "status")
    parts = entry.get("result")
    if status not in _ENDED and not parts:
        return None
    return response_result(parts, has_failed=status in ("error", "cancelled"))


def response_result(parts: Any, *, has_failed: bool = False) -> ToolResult:
    """Return the result that the parts of a function's response hold.

    An error did not run or did not finish, unless it states the exit status of a command.
    """
    responses = [
        dict_at(part, "functionResponse")
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    answers = [dict_at(response, "response") for response in responses if response]
    texts, is_error, structured = [], has_failed, None
    for stated in answers:
        error, output = stated.get("error"), stated.get("output")
        is_error = is_error or bool(error)
        texts.append(_text(output) if output is not None else _text(error))
        if output is None and not error and stated:
            texts[-1], structured = blocks_text(stated.get("content")), clean(stated)
    texts += [blocks_text([part]) for part in list_of(parts)]
    text = "\n".join(filter(None, texts)) or (parts if isinstance(parts, str) else "")
    is_unfinished = is_error and not states_exit_status(text) and "\nExit Code: " not in text
    return ToolResult(blocks_text(text), structured, is_error, is_unfinished=is_unfinished)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return text_at(value, "message") or blocks_text(value.get("content"))
    return blocks_text(value)


def _is_session_line(line: Mapping[str, Any]) -> bool:
    if text_at(line, "sessionId") and text_at(line, "projectHash"):
        return "messages" not in line
    return line.get("type") == "gemini" and text_at(line, "id") is not None


def _is_session(document: Mapping[str, Any]) -> bool:
    return "projectHash" in document and isinstance(document.get("messages"), list)


_COUNTERS = (
    "Tokens of each message, the cached ones inside the input, thoughts beside the output; a "
    "resumed run goes on in the file, so that it counts the whole session, with rewound branches; "
    "sub-agents count in their own files. No cost is kept."
)

_CALL: Mapping[str, Any] = {
    "id": "m1",
    "timestamp": "2026-01-01T00:00:01Z",
    "type": "gemini",
    "model": "gemini-3-pro",
    "tokens": {"input": 9, "output": 1, "cached": 4},
    "toolCalls": [
        {
            "id": "c1",
            "name": "glob",
            "args": {"pattern": "*.py"},
            "status": "success",
            "result": [{"functionResponse": {"id": "c1", "response": {"output": "/w/a.py"}}}],
        }
    ],
}

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_session_line,
        read=read_gemini_lines,
        sub_agent_files=("{session}/*.jsonl",),
        keeps=("times", "tokens", "model", "sub-agents"),
        counters=_COUNTERS,
        priority=3,
        example=(
            {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
            {"id": "m0", "type": "gemini", "content": ""},
            _CALL,
            {"$set": {"lastUpdated": "2026-01-01T00:00:02Z", "messages": [_CALL]}},
            {"$rewindTo": "m9"},
            _CALL,
        ),
    ),
)
FORMATS.add(
    "gemini-cli-session-json",
    DocumentFormat(
        recognises=_is_session,
        read=read_gemini_document,
        keeps=("times", "tokens", "model", "sub-agents"),
        counters=_COUNTERS,
        example={"sessionId": "s", "projectHash": "h", "messages": [_CALL]},
        file_names=("gemini-cli.trajectory.json", "session-*.json"),
        sub_agent_files=("{session}/*.json",),
    ),
)


# --------------------------------------------------------------------------------------------------
# Gemini CLI's ``--output-format stream-json``: calls with what a person saw of their answers.

STREAM = "gemini-cli-stream-json"
_LONGEST_OUTPUT = 30_000
_MOST_LINES = 1000
"""Characters and lines of a command's output that every version shows to the agent whole."""


def read_gemini_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file."""
    said = Transcript(name, harness="gemini-cli", is_digest=True)
    calls: dict[str, ToolCall] = {}
    has_begun, end = False, None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            if has_begun:
                said.complaints.add(line)
            continue
        kind, time = event.get("type"), unix_seconds(event.get("timestamp"))
        is_answer = kind == "message" and event.get("role") == "assistant"
        said.at(f"{name}:{line.number}", time, by_agent=is_answer)
        match kind:
            case "init" if not has_begun:
                has_begun = True
                said.session(event.get("session_id"))
                said.model = text_at(event, "model")
            case "result":
                end = event
            case "tool_use":
                said.has_agent = True
                tool, call_id = event.get("tool_name"), event.get("tool_id")
                call = said.call(tool, event.get("parameters"), call_id)
                calls |= {call.call_id: call} if call is not None else {}
            case "tool_result":
                call = calls.get(text_at(event, "tool_id") or "")
                if call is None:
                    said.note("a tool result does not name its call")
                else:
                    said.answer(call.call_id, answer(replace(call, result=_shown(event, call))))
    said.ending = ("no_result_event",) if end is None else ()
    if at(end, "status") == "error":
        said.ending = ("result_error",)
    stats = dict_at(end, "stats")
    total = count_at(stats, "total_tokens") or count_at(stats, "input_tokens", "output_tokens")
    return said.reading(STREAM, declared_tokens=total or None)


def _shown(event: Mapping[str, Any], call: ToolCall) -> ToolResult:
    shown = text_at(event, "output") or ""
    if event.get("status") == "error":
        text = shown or text_at(event, "error", "message") or ""
        return ToolResult(text, is_error=True, is_unfinished=not states_exit_status(text))
    if call.name == "run_shell_command":
        is_long = len(shown) > _LONGEST_OUTPUT or shown.count("\n") > _MOST_LINES
        return ToolResult(shown, doubt="display_only" if is_long else None)
    if tool_name(call.name, call.arguments).is_mcp:
        return ToolResult(shown, doubt="display_only")
    return ToolResult(shown, {DISPLAY: shown})


def _is_stream_event(event: Mapping[str, Any]) -> bool:
    kind = event.get("type")
    if kind == "init":
        return text_at(event, "session_id") is not None and "model" in event
    return kind in ("tool_use", "tool_result") and text_at(event, "tool_id") is not None


FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_event,
        read=read_gemini_stream,
        keeps=("times", "tokens", "model"),
        counters=(
            "The totals that the last line states for this run, the cached tokens inside the "
            "input; whether sub-agents are in them is not known. No cost is kept."
        ),
        priority=3,
        example=(
            {
                "type": "init",
                "timestamp": "2026-01-01T00:00:00Z",
                "session_id": "s",
                "model": "gemini-3-pro",
            },
            {
                "type": "tool_use",
                "timestamp": "2026-01-01T00:00:01Z",
                "tool_name": "read_file",
                "tool_id": "c",
                "parameters": {"file_path": "a.py"},
            },
            {"type": "tool_result", "tool_id": "c", "status": "success", "output": ""},
            {"type": "result", "status": "success", "stats": {"total_tokens": 10}},
        ),
    ),
)
