"""Listings of names: Glob, LS, directory views, and lists of unknown tools."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.received import is_cut, whole_lines
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    is_absolute,
    is_display,
    joined,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.records import Access, RawTarget

FOLDER_ARGUMENTS: Final = (
    "path",
    "targetDirectory",
    "target_directory",
    "relative_workspace_path",
    "dir_path",
    "dirpath",
    "directory",
    "relative_path",
)
_NOTICE: Final = re.compile(
    r"Found \d+ |No files|No matches|\[Showing |\(Results are |Showing \d+|\.\.\.$|\[DIR\] "
    r"|[-=*#+~_][-=*#+~_ ]{2,}$|[^:]{0,200}:(?: |$)"
)
_FILE_MARK: Final = "[FILE] "
_DEEPEST: Final = 64
_TREE_ENTRY: Final = re.compile(r"(\s*)- (.+)$")


_BYTES: Final = re.compile(r"\d[\d.,]{0,20} ?(?:[KMGT]i?)?B(?:ytes)?")
_QUOTED: Final = re.compile(
    r"\s{0,9}(?:'((?:[^'\\\n]|\\.){0,4096})'|\"((?:[^\"\\\n]|\\.){0,4096})\")\s{0,9}(,|(?=\]))"
)


def listed_texts(text: str) -> list[str] | None:
    """Return the texts of a list as Python writes it, up to where it was cut, else None.

    Examples
    --------
    >>> listed_texts("['/docs/a b.md', 'c.md']"), listed_texts("['a.md', 'b.")
    (['/docs/a b.md', 'c.md'], ['a.md'])
    >>> listed_texts("[a.md]") is None
    True
    """
    text = text.strip()
    if text[:2] not in {"['", '["'}:
        return None
    found: list[str] = []
    at = 1
    while (item := _QUOTED.match(text, at)) is not None:
        found.append(re.sub(r"\\(.)", r"\1", item[1] if item[1] is not None else item[2]))
        at = item.end()
    rest = text[at:].strip()
    return found if rest == "]" or (rest[:1] in {"'", '"', ""} and "]" not in rest) else None


def listed_names(text: str, is_truncated: bool) -> list[str]:
    """Return the names in a text of one name per line, without headers and notices.

    The last line of a result that the trace cut may be half a name and is left out. A list as
    Python writes it holds the names itself.
    """
    listed = listed_texts(text)
    if listed is not None:
        return listed
    lines = whole_lines(text)
    if is_truncated and lines:
        lines.pop()
    names = (line.strip() for line in lines)
    return [_unmarked(n) for n in names if n and _NOTICE.match(n) is None]


def _unmarked(name: str) -> str:
    """Return a name without the mark before it and the size behind it."""
    if not name.startswith(_FILE_MARK):
        return name
    name = name.removeprefix(_FILE_MARK)
    shown, gap, size = name.rpartition("  ")
    return shown.rstrip() if gap and _BYTES.fullmatch(size.strip()) else name


def without_folders(names: Iterable[str]) -> list[str]:
    """Return the names that are not marked as those of folders."""
    return [name for name in names if not name.endswith(("/", "\\"))]


def located(names: Sequence[str], folder: str | None, cwd: str | None) -> list[str]:
    """Return relative names as absolute paths where the folder searched determines their base.

    Tools print names relative to the working directory or to the folder searched. As every
    name lies in that folder, names that repeat the end of its path are relative to what is
    before it.

    Examples
    --------
    >>> located(["jest/packages/a.json"], "/workspace/jest/packages", "/workspace")
    ['/workspace/jest/packages/a.json']
    >>> located(["a.json"], "/workspace/jest/packages", "/workspace")
    ['/workspace/jest/packages/a.json']
    >>> located(["src/a.py"], "src", None)
    ['src/a.py']
    """
    if folder is None:
        return [joined(cwd, name) for name in names]
    place = posixpath.normpath(joined(cwd, folder))
    base = _base([n for n in names if not is_absolute(n)], place)
    return [joined(base, name) for name in names]


def _base(names: Sequence[str], place: str) -> str:
    parts = [p for p in place.split("/") if p]
    for start in range(max(0, len(parts) - _DEEPEST), len(parts)):
        if _all_below(names, "/".join(parts[start:])):
            above = place[: -len("/".join(parts[start:]))].rstrip("/")
            return above or ("/" if place.startswith("/") else ".")
    return place


def _all_below(names: Sequence[str], folder: str) -> bool:
    return bool(names) and all(n == folder or n.startswith(f"{folder}/") for n in names)


_COUNT: Final = re.compile(
    r"(?:Found|Listed) (\d{1,9}) "
    r"(?:match(?:es)?|(?:matching )?(?:files?|items?|file\(s\)|item\(s\)))"
    r"(?: \([^)\n]{0,100}\))?\.?(?: \([^)\n]{0,100}\))?\s*"
)
_ANY: Final = re.compile(r"(?:\*+/?|\?|\{[^}]{0,200}\}|\[[^\]]{0,200}\])+")


def counted_only(seen: Seen, access: Access) -> Found | None:
    """Return what a search may have found that a trace only counts, or None for other results.

    Any file below the folder that was searched may be one of them, if its name fits.
    """
    count = _COUNT.fullmatch(seen.text)
    if count is None and (not is_display(seen.value) or seen.text.strip()):
        return None
    if count is not None and not int(count[1]):
        return NOTHING
    folder = joined(seen.cwd, text_argument(seen.arguments, FOLDER_ARGUMENTS) or ".")
    name = text_argument(seen.arguments, ("pattern",)) if access == "listed" else None
    name = _ANY.sub("*", name or "*")
    whole = name if folder == "." or is_absolute(name) else f"{folder.rstrip('/')}/{name}"
    target = RawTarget(whole, access, doubt="display_only", is_pattern=True)
    return Found((target,), is_opaque=True)


def list_names(seen: Seen) -> Found:
    """Return the files a Glob-like tool names, as ``listed``."""
    counted = counted_only(seen, "listed")
    if counted is not None:
        return counted
    value = seen.value
    lists = [value.get(name) for name in _LISTS] if isinstance(value, dict) else [value]
    listed = next((found for found in lists if isinstance(found, list)), None)
    names = None if listed is None else [*strings(listed), *_entry_names(listed)]
    if (listed and not names) or (listed is None and seen.text.lstrip().startswith(("[{", "{"))):
        return Found(is_opaque=True)
    if names is None:
        text = "" if is_empty_answer(seen.text) else seen.text
        names = listed_names(text, seen.is_truncated)
    folder = text_argument(seen.arguments, FOLDER_ARGUMENTS)
    files = located(without_folders(names), folder, seen.cwd)
    return Found(_listed(files), is_opaque=seen.is_truncated)


_LISTS: Final = ("filenames", "files", "entries")
_ENTRY_NAMES: Final = ("path", "name", "file", "file_path")
_FOLDER_KINDS: Final = frozenset({"dir", "directory", "folder", "tree"})


def _entry_names(listed: Sequence[Any]) -> Iterator[str]:
    """Yield the names of records of a listing; those of folders end in a slash."""
    for entry in listed:
        name = text_argument(entry, _ENTRY_NAMES) if isinstance(entry, dict) else None
        if name is not None:
            kind = entry.get("type") or entry.get("kind")
            is_folder = entry.get("is_dir") is True or entry.get("isDirectory") is True
            is_folder = is_folder or (isinstance(kind, str) and kind.lower() in _FOLDER_KINDS)
            yield f"{name.rstrip('/')}/" if is_folder else name


def list_tree(seen: Seen) -> Found:
    """Return the files of an indented ``- name`` tree, as Claude Code's LS prints it.

    Folders end in a slash; an unindented entry is the root.
    """
    if is_display(seen.value):
        return list_names(seen)
    if is_empty_answer(seen.text):
        return NOTHING
    if is_cut(seen.text):
        seen = replace(seen, text="\n".join(whole_lines(seen.text)))
    if seen.text.startswith(INDENTED):
        return _list_indented(seen)
    if seen.text.startswith(_SIZED):
        return _list_sized(seen)
    if _ROOTED.match(seen.text) is not None:
        return _list_indented(seen)
    entries = [m for line in seen.text.split("\n") if (m := _TREE_ENTRY.match(line)) is not None]
    if not entries:
        return list_names(seen)
    folders: list[tuple[int, str]] = []
    files: list[str] = []
    for entry in entries:
        indent, name = len(entry[1]), entry[2].strip()
        while folders and folders[-1][0] >= indent:
            folders.pop()
        path = joined(folders[-1][1] if folders else seen.cwd, name)
        if name.endswith("/"):
            folders.append((indent, path))
        else:
            files.append(path)
    return Found(_listed(files), is_opaque=seen.is_truncated)


INDENTED: Final = "Absolute path: "
"""Before the folder whose names are listed below it, indented by their depth."""

_INDENT: Final = 2
_LONGEST_NAME: Final = 4096
_ROOTED: Final = re.compile(r"(?:[A-Za-z]:[\\/]|/)[^\n]{0,4096}/\n {2}\S")
_SIZED: Final = "Directory listing for "
_SIZE: Final = re.compile(r" \(\d[\d,]{0,20} bytes\)$")


def _list_sized(seen: Seen) -> Found:
    """Return the files of Gemini CLI's listing, whose names have a size behind them."""
    first, *lines = seen.text.split("\n")
    folder = first.removeprefix(_SIZED).rstrip(":")
    names = [_SIZE.sub("", line.rstrip()) for line in lines if _NOTICE.match(line) is None]
    files = [joined(folder, name) for name in names if name and not name.startswith("(")]
    return Found(_listed(files), is_opaque=seen.is_truncated)


def _list_indented(seen: Seen) -> Found:
    """Return the files of a listing of names that are indented by their depth below a folder."""
    first, *rest = seen.text.split("\n")
    above = [first.removeprefix(INDENTED).strip()]
    lines = [line for line in rest if not line.startswith(("More than ", "("))]
    outermost = min((len(n) - len(n.lstrip(" ")) for n in lines if n.strip()), default=0)
    files: list[str] = []
    for line in lines:
        name = line.strip()
        if not name or len(name) > _LONGEST_NAME:
            continue
        indent = len(line) - len(line.lstrip(" ")) - outermost
        depth = min(indent // _INDENT, len(above) - 1)
        del above[depth + 1 :]
        if len(above[-1]) > _LONGEST_NAME:
            continue
        if name.endswith("/") and len(above) < _DEEPEST:
            above.append(joined(above[-1], name))
        elif not name.endswith("/"):
            files.append(joined(above[-1], name.rstrip("@?")))
    return Found(_listed(files), is_opaque=seen.is_truncated)


def list_cursor_folder(seen: Seen) -> Found:
    """Return the files of Cursor's ``directoryTreeRoot``, a tree of folders and files."""
    root = seen.value.get("directoryTreeRoot") if isinstance(seen.value, dict) else None
    files: list[str] = []
    folders: list[Any] = [root]
    while folders:
        folder = folders.pop()
        if not isinstance(folder, dict):
            continue
        place = text_argument(folder, ("absPath",))
        children = folder.get("childrenFiles")
        for child in children if isinstance(children, list) else []:
            name = text_argument(child, ("name",)) if isinstance(child, dict) else None
            if name is not None and place is not None:
                files.append(joined(place, name))
        below = folder.get("childrenDirs")
        folders.extend(reversed(below) if isinstance(below, list) else [])
    return Found(_listed(files)) if isinstance(root, dict) else list_tree(seen)


def _listed(paths: Iterable[str]) -> tuple[RawTarget, ...]:
    return distinct(RawTarget(path, "listed") for path in paths)
