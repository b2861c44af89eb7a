"""Remote files: reads and listings of servers, pages, and scripts that a server ran."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    is_absolute,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import (
    FOLDER_ARGUMENTS,
    listed_names,
    located,
    without_folders,
)
from retrieval_eval.agents.traces.results.local_files import (
    has_content,
    line_ranges,
    read_local,
    requested_range,
    shown_range,
)
from retrieval_eval.agents.traces.results.mentions import (
    file_link,
    looks_like_file,
    read_mentions,
    tree_names,
)
from retrieval_eval.agents.traces.results.payload import is_empty_answer, parsed, states_failure
from retrieval_eval.agents.traces.served import (
    is_barrier,
    is_error_message,
    is_http_error,
    may_be_a_barrier,
    may_be_a_failure,
    may_be_a_page,
    may_be_an_error,
    states_error,
)
from retrieval_eval.records import LineRange, RawTarget, ToolCategory, ToolResult

# --------------------------------------------------------------------------------------------------
# Reads and listings of remote files: Sourcegraph in both generations, GitHub, unknown servers.

_ADDRESS: Final = re.compile(r"URL: (\S+)[ \t]*(?:\n|$)")
_FETCHED: Final = re.compile(r"\AContents of \S{1,4096}:\n")
_OFFER: Final = re.compile(
    r"(?:Resolved potential matches|Path did not point to)[^\[]{0,600}"
    r"(?:matching files|possible path matches): (\[[^\]]{0,20000}\])"
)
_ENTRY_TYPES: Final = ("file", "dir", "directory", "symlink", "submodule", "blob", "tree")
_LONGEST_OFFER: Final = 20_800
_MARKED: Final = ("[DIR] ", "[FILE] ")
_CUT_NOTE: Final = re.compile(r"\[Truncated\]|Showing first \d+ of \d+ lines", re.IGNORECASE)


def read_remote(seen: Seen) -> Found:
    """Return the remote file whose content came back; a folder gives its files as ``listed``."""
    address = _ADDRESS.match(seen.text[:4200])
    link = file_link(address[1]) if address is not None else None
    if address is None or link is None:
        return _named(seen)
    body = seen.text[address.end() :]
    if not has_content(body):
        return NOTHING
    repository, path, shown = link
    asked = requested_range(seen.arguments)
    is_cut = seen.is_truncated or _CUT_NOTE.search(body[-400:]) is not None
    bounds = shown or shown_range(asked)
    lines = _within(line_ranges(body), bounds)
    if seen.is_truncated:
        lines = bounds or lines
    is_whole = shown is None and asked is None and not is_cut
    return Found((RawTarget(path, "opened", repository, lines, is_whole),))


def unserved_remotely(seen: Seen, result: ToolResult) -> Found | None:
    """Return the result of an answer that a server gave instead of the requested content.

    That is an error for flags, error objects, error messages and pages that ask to sign in; None
    for any other answer. A server of local files answers with content, and so may a file with the
    name of JSON or a page: such an answer is opaque, or content.
    """
    if states_failure(result.text, result.structured):
        return Found(is_error=True)
    is_address, path = _asked_path(seen)
    if states_error(seen.value):
        is_json = seen.category == "file_read" and path is not None and path.endswith(".json")
        return Found(is_opaque=True) if is_json else Found(is_error=True)
    if isinstance(seen.value, dict) and seen.value.get("content", "") is None:
        return Found(is_opaque=True)
    if path is not None and is_absolute(path) and repository_argument(seen.arguments) is None:
        is_doubtful = seen.category == "file_read" and may_be_a_failure(seen.text)
        return Found(is_opaque=True) if is_doubtful else None
    text = _FETCHED.sub("", seen.text, count=1)
    is_markup = may_be_a_page(path)
    if is_error_message(text) or (is_barrier(text) and not is_markup):
        return Found(is_error=True)
    if seen.category != "file_read":
        return None
    is_doubtful = not is_address and may_be_an_error(text)
    if is_doubtful or (is_address and not is_markup and may_be_a_barrier(text)):
        return Found(is_opaque=True)
    return None


def _asked_path(seen: Seen) -> tuple[bool, str | None]:
    """Return whether the file was requested by a web address, and its path."""
    link = file_link(text_argument(seen.arguments, ("url", "uri")) or "")
    if link is not None:
        return True, link[1]
    return False, text_argument(seen.arguments, PATH_ARGUMENTS)


def _within(
    numbered: tuple[LineRange, ...] | None, bounds: tuple[LineRange, ...] | None
) -> tuple[LineRange, ...] | None:
    """Clip to what was requested: the server adds one empty line behind the last."""
    if numbered is None or bounds is None:
        return numbered or bounds
    first, last = bounds[0]
    return tuple((max(a, first), min(b, last)) for a, b in numbered if a <= last and b >= first)


def _named(seen: Seen) -> Found:
    """Read an answer without an address: the file is the requested one."""
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    if _is_folder(seen.value):
        listing = replace(seen, category="file_search")
        return replace(list_remote(listing), category="file_search")
    repository = repository_argument(seen.arguments)
    if repository is None or path is None:
        return read_local(seen)
    if not has_content(seen.text):
        return NOTHING
    offered = _offered(seen.text)
    if offered is not None:
        found = distinct(RawTarget(name, "listed", repository) for name in offered)
        return Found(found, category="file_search")
    asked = requested_range(seen.arguments)
    bounds = shown_range(asked)
    lines = bounds if seen.is_truncated and bounds else _within(line_ranges(seen.text), bounds)
    is_whole = asked is None and not seen.is_truncated
    return Found((RawTarget(path, "opened", repository, lines, is_whole),))


def _is_folder(value: Any) -> bool:
    """Whether an answer lists a folder's entries; other JSON is the content of the file."""
    entries = value if isinstance(value, list) else [None]
    return all(isinstance(e, dict) and e.get("type") in _ENTRY_TYPES for e in entries)


def _offered(text: str) -> list[str] | None:
    """Return the paths GitHub offers in place of one that does not exist; None for a file."""
    offer = _OFFER.match(text[:_LONGEST_OFFER])
    return None if offer is None else strings(parsed(offer[1]))


def resource_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``file_read`` for the resource of a server that is a file, else ``other``."""
    address = _address(arguments)
    is_file = address.startswith(_FILE_ADDRESS) or file_link(address) is not None
    return "file_read" if is_file else "other"


def read_resource(seen: Seen) -> Found:
    """Return the file that a server's resource is, where its address names one."""
    address = _address(seen.arguments)
    if not address.startswith(_FILE_ADDRESS):
        return read_page(seen) if file_link(address) is not None else NOTHING
    path = unquote(address.removeprefix(_FILE_ADDRESS))
    return read_local(replace(seen, arguments={**seen.arguments, "path": path}))


_FILE_ADDRESS: Final = "file://"


def list_remote(seen: Seen) -> Found:
    """Return the files a listing names; folders end in a slash or are marked as such."""
    repository = repository_argument(seen.arguments)
    if isinstance(seen.value, list) and seen.value and strings(seen.value) == seen.value:
        names = strings(seen.value)
    elif seen.value is not None:
        found = read_mentions(seen)
        names = [] if found.targets else list(tree_names(seen.value))
        if not names:
            return found
    elif is_empty_answer(seen.text):
        return NOTHING
    else:
        names = listed_names(seen.text, seen.is_truncated)
    folder = text_argument(seen.arguments, FOLDER_ARGUMENTS)
    if repository is None:
        if _may_be_prose(names, seen.text, folder):
            return read_mentions(seen)
        names = located(without_folders(names), folder, seen.cwd)
    elif folder is not None:
        names = located(without_folders(names), folder.strip("/") or None, None)
    targets = distinct(RawTarget(n, "listed", repository) for n in names)
    return Found(targets, is_opaque=seen.is_truncated)


def _may_be_prose(names: Sequence[str], text: str, folder: str | None) -> bool:
    """Return whether lines with a space are more likely prose than names in a listing.

    They are names where the listing marks files and folders, where they lie below the folder, and
    among other names of files.
    """
    start = f"{folder.rstrip('/')}/" if folder else "/"
    spaced = [name for name in names if " " in name and not name.startswith(start)]
    others = [name for name in names if " " not in name]
    if not spaced or text.lstrip().startswith(_MARKED):
        return False
    are_names = all(name.endswith("/") or looks_like_file(name) for name in (*others, *spaced))
    return not (others and are_names)


# --------------------------------------------------------------------------------------------------
# Scripts that a code-search server runs for the agent, and pages fetched from the web.

_EXCUSE: Final = re.compile(
    r"\s*(?:(?:I'm sorry|Sorry|Unfortunately)[,. ]|I apologi[sz]e"
    r"|I(?:'m| am| was) (?:unable|not able) to "
    r"|I (?:cannot|can't|could not|couldn't) (?:access|fetch|retrieve|read|open|see|view)\b"
    r"|(?:The|This) (?:page|URL|file|content|web ?page|request|link)[^.\n]{0,60}? "
    r"(?:returned|shows|is|appears to be|requires) (?:an? )?"
    r"(?:HTTP |error )?(?:[45]\d\d\b|error\b|log-?in|sign-?in|not found|authentication)"
    r"|(?:[^\n]{0,80}, )?(?:this|it|the (?:provided |fetched |web )*(?:content|page|text)"
    r"[^.\n]{0,30})"
    r" (?:is|appears to be|seems to be|shows|contains) (?:only )?(?:an? |the )(?:[\w']+ ){0,3}"
    r"(?:[45]\d\d |error |sign-?in |log-?in |login |not found )(?:[\w\"'-]+ ){0,2}"
    r"(?:page|screen|form|message)\b)",
    re.IGNORECASE,
)
"""Phrases of a model that summarises a page when it saw none; free text, so not certain."""

_CALL: Final = re.compile(r"\b(?:read_file|keyword|regex|diff|commit)\s{0,4}[({]")
_READ: Final = re.compile(r"read_file\s{0,4}\(\s{0,4}\{([^{}]{1,1000})\}")
_FIELD: Final = re.compile(
    r"""\b(repo|path)\s{0,4}=\s{0,4}(?:"([^"\n]{1,500})"|'([^'\n]{1,500})')"""
)


def read_script(seen: Seen) -> Found:
    """Return what the answer of a script names.

    A script that neither searches nor reads touches no file. One that reads exactly one file,
    named literally, answers from that file; what it printed of it is unknown, so the file
    is ``matched`` and the call stays opaque.
    """
    script = text_argument(seen.arguments, ("script", "code")) or ""
    if is_empty_answer(seen.text) or _CALL.search(script) is None:
        return NOTHING
    found = read_mentions(seen)
    if found.targets:
        return replace(found, is_opaque=True)
    files = {_literal(m[1]) for m in _READ.finditer(script)}
    if len(files) == 1 and (file := files.pop()) is not None:
        return Found((RawTarget(file[1], "matched", file[0]),), is_opaque=True)
    return found


def _literal(fields: str) -> tuple[str, str] | None:
    values = {m[1]: m[2] or m[3] for m in _FIELD.finditer(fields)}
    return (values["repo"], values["path"]) if len(values) == 2 else None


def page_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``file_read`` when the page is a file of a repository, else ``other``."""
    return "other" if file_link(_address(arguments)) is None else "file_read"


def read_page(seen: Seen) -> Found:
    """Return the repository file a fetched page shows; other pages are no retrieval target.

    The answer may be a summary a model wrote, so neither lines nor wholeness are known.
    """
    link = file_link(_address(seen.arguments))
    if link is None or is_empty_answer(seen.text):
        return NOTHING
    if isinstance(seen.value, dict) and is_http_error(seen.value.get("code")):
        return Found(is_error=True)
    if _EXCUSE.match(seen.text[:400]) is not None:
        return Found(is_opaque=True)
    repository, path, lines = link
    return Found(distinct([RawTarget(path, "opened", repository, lines)]))


def _address(arguments: Mapping[str, Any]) -> str:
    return text_argument(arguments, ("url", "uri")) or ""
