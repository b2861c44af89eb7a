"""Local files that a tool read, viewed, edited or wrote, and the lines that were shown."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.received import is_cut, whole_lines
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    integer,
    is_display,
    joined,
    merged_ranges,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.results.payload import is_empty_answer, is_saved_result, parsed
from retrieval_eval.agents.traces.untrusted import text_of
from retrieval_eval.records import CUT_HERE, Doubt, LineRange, RawTarget, ToolCategory

# --------------------------------------------------------------------------------------------------
# Text with a line number before every line: ``12→…``, ``12<TAB>…``, ``12: …``.

_LISTED: Final = re.compile(r"^[ ]{0,9}\d{1,9}[→\t]")
_HEADING: Final = 2
_NUMBER: Final = re.compile(r"[ ]{0,9}L?(\d{1,9})(?:→|\t|\||:[ ]|:$)")
_NUMBERS: Final = re.compile(rf"^{_NUMBER.pattern}", re.MULTILINE)


def line_ranges(text: str) -> tuple[LineRange, ...] | None:
    r"""Return the ranges of line numbers a listing shows, or None when it has no numbers.

    A listing begins with its numbers, but for a short heading, and most of its lines have one;
    elsewhere a line that begins with a number is content.

    Examples
    --------
    >>> line_ranges("10: a\n11: b\n20: c")
    ((10, 11), (20, 20))
    >>> line_ranges('import re\n\n\ndef f():\n    return {\n        200: "OK",\n    }') is None
    True
    """
    if is_cut(text):
        text = "\n".join(whole_lines(text))
    shown = _NUMBERS.findall(text)
    first = int(shown[0]) if shown else 0
    if first > 0 and [*map(int, shown)] == [*range(first, first + len(shown))]:
        behind = text.split("\n", len(shown))[len(shown) :]
        if not behind or _NUMBERS.search(behind[0]) is None:
            return ((first, first + len(shown) - 1),)
    lines = [_NUMBER.match(line) for line in text.split("\n") if line.strip()]
    places = [place for place, match in enumerate(lines) if match is not None]
    if not places or places[0] > _HEADING or 2 * len(places) < places[-1] - places[0] + 1:
        return None
    numbers = [int(match[1]) for match in lines if match is not None]
    return merged_ranges((n, n) for n in numbers if n > 0)


_WINDOW: Final = re.compile(r"^\[File: ([^\n]{1,4096}) \(\d{1,9} lines? total\)\]$", re.MULTILINE)
_WINDOW_LINE: Final = re.compile(r"^(\d{1,9}):", re.MULTILINE)


class Window(Struct, frozen=True, gc=False):
    """The part of an open file that SWE-agent's tools show, and the lines of it."""

    path: str
    lines: tuple[LineRange, ...] | None


def window(text: str) -> Window | None:
    r"""Return the window on a file that an answer of SWE-agent ends with, if it has one.

    Examples
    --------
    >>> window("[File: /w/a.py (9 lines total)]\n(1 more line above)\n2:def f():\n3:    return 1")
    Window(path='/w/a.py', lines=((2, 3),))
    """
    header = _WINDOW.search(text)
    if header is None:
        return None
    numbers = [int(found[1]) for found in _WINDOW_LINE.finditer(text, header.end())]
    return Window(header[1], merged_ranges((n, n) for n in numbers if n > 0))


def without_numbers(text: str) -> str:
    r"""Return a numbered listing without its numbers; any other line stays as it is.

    Examples
    --------
    >>> without_numbers("     1\ta.py\n     2\tb.py")
    'a.py\nb.py'
    """
    return "\n".join(_LISTED.sub("", line, count=1) for line in text.split("\n"))


_OF_LINES: Final = re.compile(
    r"\s*(?:IMPORTANT: The file content has been truncated\.|Showing lines \d{1,9}-\d{1,9} of )"
)
_RULE: Final = re.compile(r"^---(?: FILE CONTENT \(truncated\) ---)?\n", re.MULTILINE)
_COUNTED: Final = re.compile(r"[ ]{0,12}(\d{1,9})(?:\. | \| ?|: |[.:]$)")
_END_NOTE: Final = re.compile(
    r"\((?:Showing lines|End of file|Output capped|File has more)[^\n]*\)"
)


def content_lines(text: str) -> tuple[list[str], bool]:
    r"""Return the lines of a file that a read shows, without the harness's headings and numbers.

    Whether these are all lines of the file is false where a heading says that they are some.

    Examples
    --------
    >>> content_lines("     1\ta.py\n     2\tb.py")
    (['a.py', 'b.py'], True)
    >>> content_lines("Showing lines 3-4 of 9 total lines.\n\n---\n\nc\nd")
    (['c', 'd'], False)
    >>> content_lines("<path>/t/a</path>\n<type>file</type>\n<content>\n7: g\n</content>")[0]
    ['g']
    """
    is_part = CUT_HERE in text
    text = "\n".join(line for line in text.split("\n") if line != CUT_HERE) if is_part else text
    is_part = is_part or _OF_LINES.match(text) is not None
    heading = _RULE.search(text) if is_part else None
    text = text if heading is None else text[heading.end() :].removeprefix("\n")
    tagged = _TAGGED.match(text[:8500])
    if tagged is not None:
        text = text[tagged.end() :].rpartition(f"</{tagged['tag'] or 'file'}>")[0]
    lines = without_numbers(text).split("\n")
    while lines and (not lines[-1].strip() or _END_NOTE.fullmatch(lines[-1])):
        note = lines.pop()
        is_part = is_part or (note.startswith("(") and not note.startswith("(End of file"))
    numbers = [_COUNTED.match(line) for line in lines]
    found = [number for number in numbers if number is not None]
    values = [int(number[1]) for number in found]
    if lines and len(found) == len(lines) and values == [*range(values[0], values[-1] + 1)]:
        is_part = is_part or values[0] > 1
        lines = [line[number.end() :] for line, number in zip(lines, found, strict=True)]
    return lines, not is_part


def has_content(text: str) -> bool:
    """Whether any line has something besides its number.

    Code hosts answer a range behind the end of a file with one empty numbered line.
    """
    for line in text.split("\n"):
        match = _NUMBER.match(line)
        if line[match.end() if match else 0 :].strip():
            return True
    return False


# --------------------------------------------------------------------------------------------------
# The line range that a read requested, in the argument names of several harnesses.

_STARTS: Final = ("startLine", "start_line", "line_start", "start_line_one_indexed", "StartLine")
_ENDS: Final = ("endLine", "end_line", "line_end", "end_line_one_indexed_inclusive", "EndLine")


def requested_range(arguments: Mapping[str, Any]) -> LineRange | None:
    """Return the range a read requested, or None when it requested the whole file.

    ``offset`` and ``limit`` (or ``head``) cover offset … offset + limit - 1. An end that is not
    given, or that is -1, is open: the range then ends at the largest line number.

    Examples
    --------
    >>> requested_range({"offset": 900, "limit": 100})
    (900, 999)
    >>> requested_range({"view_range": [1, 40]})
    (1, 40)
    >>> requested_range({"file_path": "a.py"}) is None
    True
    """
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2:
        return _range(integer(view[0]), integer(view[1]))
    start = _first(arguments, _STARTS)
    end = _first(arguments, _ENDS)
    if start is not None or end is not None:
        return _range(start, end)
    offset = integer(arguments.get("offset"))
    limit = _first(arguments, ("limit", "head"))
    if offset is None and limit is None:
        return None
    first = offset or 1
    return _range(first, None if limit is None else first + limit - 1)


def is_from_end(arguments: Mapping[str, Any]) -> bool:
    """Return whether the requested lines are counted back from the end of the file."""
    offset = arguments.get("offset")
    is_negative = isinstance(offset, int | float) and offset < 0
    return is_negative or integer(arguments.get("tail")) is not None


def shown_range(asked: LineRange | None) -> tuple[LineRange, ...] | None:
    """Return a requested range as the lines seen, unless it is open-ended and so unknown."""
    return None if asked is None or asked[1] == OPEN_END else (asked,)


OPEN_END: Final = 10**9
"""The end of a range that runs to the end of the file."""


def _range(start: int | None, end: int | None) -> LineRange | None:
    if start is None and end is None:
        return None
    first, last = start or 1, end or OPEN_END
    return (first, last) if first <= last else None


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = integer(arguments.get(name))
        if value is not None:
            return value
    return None


# --------------------------------------------------------------------------------------------------
# Reads of local files: Claude Code's Read, Cursor's readToolCall and their relatives.
#
# The file is the named one, provided that content came back; the lines are those the result
# shows, else the requested ones.

_WITHOUT_LINES: Final = ("image", "notebook", "pdf", "parts")
_DEFAULT_LIMIT: Final = 2000
"""Lines that Claude Code's Read returns when no limit is given; more means it was cut."""


def read_local(seen: Seen) -> Found:
    """Return the file a local read opened; nothing when no content came back."""
    several = strings(seen.arguments.get("paths"))
    if several:
        return _several(seen, several)
    requested = seen.arguments.get("files")
    if isinstance(requested, list) and requested:
        return _requested(seen, requested)
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    block = seen.value.get("file") if isinstance(seen.value, dict) else None
    file = block if isinstance(block, dict) else None
    if path is None and file is not None:
        path = text_argument(file, PATH_ARGUMENTS)
    if path is None:
        return Found(is_opaque=not is_empty_answer(seen.text))
    if is_saved_result(path):
        return Found(is_opaque=True)
    if _is_warning(seen.text):
        return NOTHING
    tagged = _TAGGED.match(seen.text[:8500])
    if tagged is not None:
        return _read_tagged(seen, path, tagged)
    is_declared = file is not None and integer(file.get("numLines")) is not None
    if file is not None and is_declared and not is_cut(seen.text):
        lines, is_whole = _declared(file)
    elif has_content(seen.text.replace(CUT_HERE, "")):
        lines, is_whole = _shown(seen)
    elif _is_not_text(seen.value):
        lines, is_whole = None, True
    else:
        return NOTHING
    target = RawTarget(
        joined(seen.cwd, path), "opened", repository_argument(seen.arguments), lines, is_whole
    )
    is_stated = _viewed(seen) is None and (file is not None or _is_raw(seen))
    return (None if is_stated else _of_a_folder(seen, path)) or Found((target,))


_ENTRY: Final = re.compile(
    r"(?:\[(?:DIR|FILE)\] )?[\w.@+()\[\]$~-][\w.@+()\[\]$~,&'!#%= -]{0,254}/?"
)
_VIEWED: Final = re.compile(
    r"\s{0,9}diff --git [^\n]{1,8200}\n(?P<made>create file mode [^\n]{1,20}\n)?index "
)
"""What Copilot CLI keeps beside a view: a folder looks like a new file, whose lines are names."""
_LONGEST_HEADER: Final = 9000
_MARKS: Final = ("[DIR] ", "[FILE] ")
_MOST_ENTRIES: Final = 1000


def _of_a_folder(seen: Seen, path: str) -> Found | None:
    """Return what an answer lists if it is that of a folder, None where it is a file's content.

    A folder is one that holds the folder of the session, or whose answer marks the folders in it.
    A name without an extension, above lines that could be names, may be that of either.
    """
    base = joined(seen.cwd, path).rstrip("/")
    shown = _viewed(seen)
    if shown is not None and shown["made"] is None:
        return None
    is_known = shown is not None or (
        seen.cwd is not None and f"{seen.cwd.rstrip('/')}/".startswith(f"{base}/")
    )
    if not is_known and looks_like_file(path):
        return None
    names = whole_lines(seen.text)[:_MOST_ENTRIES]
    names = [name.strip() for name in names if name.strip() and not name.endswith(":")]
    if names and "/" in names[0].rstrip("/") and path in names[0]:
        names = names[1:]
    if not all(_ENTRY.fullmatch(name) for name in names):
        return Found(is_opaque=True, category="file_search") if is_known else None
    names = [f"{n[6:]}/" if n.startswith(_MARKS[0]) else n.removeprefix(_MARKS[1]) for n in names]
    is_marked = bool(names) and any(name.endswith("/") for name in names)
    has_prose = any(" " in name and not looks_like_file(name) for name in names)
    if not is_known and not is_marked and has_prose:
        return None
    listing = _listing([f"{base}/{name}" for name in names], is_truncated=seen.is_truncated)
    if is_known or is_marked:
        return listing
    targets = (RawTarget(base, "opened"), *listing.targets)
    return Found(tuple(replace(target, doubt="opaque_call") for target in targets), is_opaque=True)


def _viewed(seen: Seen) -> re.Match[str] | None:
    """Return what Copilot CLI keeps beside a view, which says whether it is that of a folder."""
    beside = seen.value.get("detailedContent") if isinstance(seen.value, dict) else None
    return _VIEWED.match(beside[:_LONGEST_HEADER]) if isinstance(beside, str) else None


_TAGGED: Final = re.compile(
    r"(?:<path>(?P<path>[^\n]{0,4096})</path>\n<type>(?:file|directory)</type>\n"
    r"<(?P<tag>content|entries)>|<file>)\n"
)
_MORE: Final = re.compile(r"\n\((?:Showing lines|Output capped|Output truncated|File has more)")
_LONGEST_NOTE: Final = 400


def _read_tagged(seen: Seen, path: str, tagged: re.Match[str]) -> Found:
    """Read OpenCode's answer: numbered lines, or the entries of a folder, between tags."""
    tag, base = tagged["tag"] or "file", joined(seen.cwd, (tagged["path"] or path).strip())
    body = seen.text[tagged.end() :].rpartition(f"</{tag}>")[0] or seen.text[tagged.end() :]
    if tag == "entries":
        names = (line.strip() for line in whole_lines(body) if not line.startswith("("))
        paths = (joined(base, name) for name in names if name and not name.endswith("/"))
        files = distinct(RawTarget(path, "listed") for path in paths)
        return Found(files, is_opaque=seen.is_truncated, category="file_search")
    lines = line_ranges(body)
    if lines is None:
        return NOTHING
    is_open = _is_cut(seen) or _MORE.search(body[-_LONGEST_NOTE:]) is not None
    is_whole = not is_open and lines[0][0] == 1 and len(lines) == 1
    read = RawTarget(base, "opened", None, lines, is_whole)
    return Found((read, *_instructions(seen.text, tag)))


_BESIDE: Final = "<system-reminder>\nInstructions from: "
_INSTRUCTIONS: Final = re.compile(r"^Instructions from: (/[^\n]{1,4096})$", re.MULTILINE)


def _instructions(text: str, tag: str) -> Iterator[RawTarget]:
    """Yield the files of instructions of a folder that come with the first read of a file in it."""
    _, mark, beside = text.partition(f"</{tag}>\n\n{_BESIDE}")
    for found in _INSTRUCTIONS.finditer(_BESIDE.rpartition("\n")[2] + beside) if mark else ():
        yield RawTarget(found[1], "opened", is_whole=True)


def _declared(file: dict[str, Any]) -> tuple[tuple[LineRange, ...] | None, bool]:
    """Read Claude Code's ``{startLine, numLines, totalLines}``."""
    start, count = integer(file.get("startLine")) or 1, integer(file.get("numLines")) or 1
    total = integer(file.get("totalLines"))
    is_whole = start == 1 and total is not None and count >= total
    return ((start, start + shown_count(file, count) - 1),), is_whole


def shown_count(file: Mapping[str, Any], count: int) -> int:
    """Return how many lines Claude Code showed of a file, of which it counted so many.

    It counts what follows the last line break as a line, which is empty.
    """
    text = text_of(file.get("content")) or ""
    return count - 1 if count > 1 and text.endswith("\n") else count


def _is_cut(seen: Seen) -> bool:
    """Whether the answer does not hold all that the agent requested."""
    return seen.is_truncated or is_cut(seen.text)


def _shown(seen: Seen) -> tuple[tuple[LineRange, ...] | None, bool]:
    """Return the lines that an answer shows, and whether these are all.

    Claude Code numbers what follows the last line break of a whole file, too.
    """
    asked = requested_range(seen.arguments)
    numbered = None if _is_raw(seen) else line_ranges(seen.text)
    if is_from_end(seen.arguments):
        return numbered, False
    if is_cut(seen.text):
        return numbered or _head(seen.text, asked), False
    if seen.is_truncated:
        return shown_range(asked) or numbered, False
    if numbered is not None:
        limit = _DEFAULT_LIMIT if asked is None else asked[1] - asked[0] + 1
        shown = sum(end - start + 1 for start, end in numbered)
        (start, end), end_mark = numbered[-1], f"\n{numbered[-1][1]}\t"
        if asked is None and start < end and seen.text.endswith(end_mark):
            numbered = (*numbered[:-1], (start, end - 1))
        return numbered, numbered[0][0] == 1 and len(numbered) == 1 and shown < limit
    if asked is None:
        is_limited = isinstance(seen.value, dict) and bool(seen.value.get("exceededLimit"))
        return None, not is_limited
    last = asked[0] + seen.text.removesuffix("\n").count("\n")
    if asked[1] == OPEN_END:
        return ((asked[0], last),), asked[0] == 1
    return ((asked[0], min(last, asked[1])),), False


def _head(text: str, asked: LineRange | None) -> tuple[LineRange, ...] | None:
    """Return the lines before a cut; the last of them may be half a line."""
    before, mark, behind = text.partition(CUT_HERE)
    is_between = behind.startswith(f"\n{CUT_HERE}")
    n_lines = len(whole_lines(before + mark + f"\n{mark}" * is_between))
    first, last = asked or (1, OPEN_END)
    return ((first, min(first + n_lines - 1, last)),) if n_lines else None


def _is_raw(seen: Seen) -> bool:
    """Whether the text is the file's own, as Cursor answers, so that no number is a line's."""
    return isinstance(seen.value, dict) and seen.value.get("content") == seen.text


def _several(seen: Seen, paths: list[str]) -> Found:
    """Read the answer to a list of paths: sections that start with the path and a colon."""
    sections = {s.split("\n", 1)[0].strip(): s for s in seen.text.split("\n---\n")}
    repository = repository_argument(seen.arguments)
    opened = tuple(
        RawTarget(joined(seen.cwd, path), "opened", repository, None, not is_cut(section))
        for path in paths
        if (section := sections.get(f"{path}:")) is not None
    )
    return Found(opened, is_opaque=not opened and not is_empty_answer(seen.text))


def _requested(seen: Seen, requested: list[Any]) -> Found:
    """Read the answer to a list of files: certain are those of a list of records that succeeded."""
    paths = [*strings(requested)]
    paths += filter(
        None, (text_argument(f, PATH_ARGUMENTS) for f in requested if isinstance(f, dict))
    )
    if is_empty_answer(seen.text):
        return NOTHING
    answers = parsed(seen.text)
    records = answers if isinstance(answers, list) else []
    known = {
        r["query"]: r for r in records if isinstance(r, dict) and isinstance(r.get("query"), str)
    }
    targets = []
    for path in paths:
        record = known.get(path)
        if record is not None and (record.get("success") is False or record.get("error")):
            continue
        doubt: Doubt | None = None if record is not None and record.get("result") else "opaque_call"
        targets.append(RawTarget(joined(seen.cwd, path), "opened", doubt=doubt))
    return Found(distinct(targets))


def _is_warning(text: str) -> bool:
    return text.lstrip().startswith("<system-reminder>Warning:")


def _is_not_text(value: Any) -> bool:
    """Whether Claude Code answered with an image, a notebook or a PDF, which has no lines."""
    return isinstance(value, dict) and value.get("type") in _WITHOUT_LINES


# --------------------------------------------------------------------------------------------------
# The view/create/str_replace/insert/undo_edit tool of OpenHands and the Anthropic API.
#
# Arguments of parallel calls can belong to another call in OpenHands traces, so where the result
# names its file, that file is used.

_FILE_VIEW: Final = re.compile(r"Here's the result of running `cat -n` on ([^\n]{1,4096}):\n")
_FOLDER_VIEW: Final = re.compile(
    r"Here(?:'s| is|is| are|'re) the files and directories up to \d{1,4} levels? deep in "
    r"([^\n]{1,4096}?)(?:, excluding [^\n]{0,200})?:?(?:\n|$)"
)
_WRITTEN: Final = re.compile(
    r"(?:File created successfully at: |The file |Last edit to )"
    r"(\S[^\n]{0,4095}?)(?: has been edited| undone successfully|\.?$)",
    re.MULTILINE,
)


def editor_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``file_write`` for the writing commands, else ``file_read``."""
    command = arguments.get("command")
    writes = ("create", "str_replace", "insert", "undo_edit", "write")
    return "file_write" if command in writes else "file_read"


def read_editor(seen: Seen) -> Found:
    """Return the file viewed or written, or the files of a folder view as ``listed``."""
    text = seen.text
    view = _FILE_VIEW.match(text[:4200])
    if view is not None:
        return _file_view(seen, view[1], text[view.end() :])
    folder = _FOLDER_VIEW.match(text[:4400])
    if folder is not None:
        return _folder_view(seen, folder[1].rstrip("/"))
    if editor_category(seen.arguments) == "file_write":
        written = _WRITTEN.match(text[:4400])
        path = written[1] if written is not None else _path(seen)
        if path is None:
            return NOTHING
        return _written(seen, [path], seen.cwd, None)
    path = _path(seen)
    if path is None or is_empty_answer(text):
        return Found(is_opaque=not is_empty_answer(text))
    return _of_a_folder(seen, path) or _file_view(seen, path, text)


def _file_view(seen: Seen, path: str, body: str) -> Found:
    lines = line_ranges(body)
    asked = requested_range(seen.arguments)
    if seen.is_truncated and not is_cut(body):
        # The arguments may be another call's; then the first line shown is not the requested one.
        is_own = asked is not None and lines is not None and asked[0] == lines[0][0]
        lines = (shown_range(asked) if is_own else None) or lines
    target = RawTarget(
        joined(seen.cwd, path),
        "opened",
        None,
        lines,
        is_whole=not (asked or _is_cut(seen)) and (not lines or lines[0][0] == 1),
    )
    return Found((target,), category="file_read")


def _folder_view(seen: Seen, folder: str) -> Found:
    """Folders end in a slash; in a view that marks none, files and folders look the same."""
    names = [line.strip() for line in whole_lines(seen.text)[1:]]
    if seen.is_truncated and names:
        names.pop()
    names = [n for n in names if n.startswith("/") and n.rstrip("/") != folder]
    return _listing(names, is_truncated=seen.is_truncated or not names)


def _listing(paths: list[str], *, is_truncated: bool) -> Found:
    """Return the files of a listing; one that marks no folder leaves open which names are some."""
    is_marked = any(path.endswith("/") for path in paths)
    parents = {posixpath.dirname(path) for path in paths}
    files = [path for path in paths if path not in parents]
    surely = [path for path in files if is_marked or looks_like_file(path)]
    others = [] if is_marked else [path for path in files if not looks_like_file(path)]
    targets = distinct(
        (
            *(RawTarget(path, "listed") for path in surely),
            *(RawTarget(path, "listed", doubt="opaque_call") for path in others),
        )
    )
    return Found(targets, is_opaque=bool(others) or is_truncated, category="file_search")


def _path(seen: Seen) -> str | None:
    return text_argument(seen.arguments, PATH_ARGUMENTS)


# --------------------------------------------------------------------------------------------------
# Writes: the named file of a write that succeeded, or the files of an applied patch.

_PATCH_FILE: Final = re.compile(
    r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (\S[^\n]*)$", re.MULTILINE
)
_DIFF_FILE: Final = re.compile(
    r"^(?:(--- /dev/null)\s{0,9}\n\+\+\+|---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE
)
PATCH_ARGUMENTS: Final = ("input", "patch", "patchText", "diff")


CONTENTS: Final = ("content", "contents", "file_text", "fileText", "file_content", "text")
_REPLACED: Final = ("old_string", "old_str", "oldString", "old_text", "oldText", "insert_line")
_EXISTED: Final = re.compile(r"(?i)\b(?:overw(?:rit|rote)|updated\b|already exist)")
_CREATED: Final = re.compile(r"\s*(?:Successfully created|(?:New )?[Ff]ile created success)")
_LONGEST_ANSWER: Final = 6000


def _is_whole_file(seen: Seen) -> bool:
    """Return whether a write states the whole content of a file, and no part that it replaces."""
    names = seen.arguments.keys()
    return any(name in names for name in CONTENTS) and not any(name in names for name in _REPLACED)


def _existed(seen: Seen) -> bool:
    """Return whether the answer to a write says that the file was there before."""
    value = seen.value if isinstance(seen.value, dict) else {}
    if value.get("type") == "update" or value.get("exists") is True:
        return True
    if _CREATED.match(seen.text[:_LONGEST_ANSWER]):
        return False
    return _EXISTED.search(seen.text[:_LONGEST_ANSWER]) is not None


def read_write(seen: Seen) -> Found:
    """Return the file written; opaque when a successful write names none.

    An answer with the numbered lines around an edit showed these lines. After a write of a whole
    file they are the agent's own.
    """
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    if path is None and isinstance(seen.value, dict):
        path = text_argument(seen.value, PATH_ARGUMENTS)
    files = seen.arguments.get("files")
    paths = [path] if path is not None else []
    created: set[str] = set()
    if not paths and isinstance(files, list):
        stated = [(text_argument(f, PATH_ARGUMENTS), f) for f in files if isinstance(f, dict)]
        paths = [path for path, _ in stated if path is not None]
        created = {path for path, f in stated if path is not None and f.get("kind") == "add"}
    repository = repository_argument(seen.arguments)
    base = None if repository is not None else seen.cwd
    found = _written(seen, paths, base, repository)
    new = {joined(base, path) for path in created}
    targets = (replace(t, is_new=t.is_new or t.path in new) for t in found.targets)
    return replace(found, targets=tuple(targets)) if new else found


def read_create(seen: Seen) -> Found:
    """Return the file that a tool created, whose content is the agent's own."""
    found = _written(seen, strings([_path(seen)]), seen.cwd, None)
    written = (replace(t, is_new=True) for t in found.targets if t.access == "written")
    return replace(found, targets=tuple(written))


def read_patch(seen: Seen) -> Found:
    """Return the files named by the headers of an applied patch."""
    patch = text_argument(seen.arguments, PATCH_ARGUMENTS) or ""
    paths = {m[2].strip(): m[1] == "Add" for m in _PATCH_FILE.finditer(patch)}
    if not paths:
        paths = {m[2].strip(): bool(m[1]) for m in _DIFF_FILE.finditer(patch)}
    if not paths:
        return read_write(seen)
    found = (RawTarget(joined(seen.cwd, p), "written", is_new=new) for p, new in paths.items())
    return Found(distinct(found))


_UPDATED: Final = re.compile(
    r"(?:Here is the updated code|has been edited, and the section now reads"
    r"|Showing lines (?P<first>\d{1,9})-(?P<last>\d{1,9}) of \d{1,9} from the edited file)"
    r":\s{0,9}(?:---\s{1,9})?\S"
    r"|<final_file_content path=\"[^\"\n]{1,4096}\">\s{0,9}[^\s<]"
)
"""What stands before the code that an answer shows around an edit, without numbers of lines."""


def _shown_lines(seen: Seen) -> tuple[bool, tuple[LineRange, ...] | None]:
    """Return whether an answer shows lines of the file that was edited, and which."""
    shown = window(seen.text)
    lines = line_ranges(seen.text) if shown is None else shown.lines
    updated = _UPDATED.search(seen.text[:_LONGEST_ANSWER])
    if lines is not None or updated is None or is_display(seen.value):
        return lines is not None, lines
    return True, ((int(updated[1]), int(updated[2])),) if updated[1] else None


def _written(seen: Seen, paths: list[str], base: str | None, repository: str | None) -> Found:
    is_whole = _is_whole_file(seen)
    is_new = is_whole and not _existed(seen)
    places = [joined(base, path) for path in paths]
    targets = [RawTarget(place, "written", repository, is_new=is_new) for place in places]
    is_shown, lines = _shown_lines(seen)
    if is_shown and len(places) == 1 and not is_whole:
        targets.append(RawTarget(places[0], "matched", repository, lines))
    return Found(distinct(targets), is_opaque=not targets)
