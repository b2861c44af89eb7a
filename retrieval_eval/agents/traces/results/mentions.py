"""Files that a text mentions: in prose, records, headers, addresses, diffs and grep lines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    integer,
    joined,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import listed_names
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.paths import diff_path
from retrieval_eval.records import Access, LineRange, RawTarget, ToolCategory

# --------------------------------------------------------------------------------------------------
# File paths in prose and among arguments: what looks like one, and the line it is named with.

_TRACEBACK: Final = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})')
_TOKEN: Final = re.compile(r"[^\s\"'`<>{}|;,=]{3,400}")
_PLACE: Final = re.compile(r"(?::|\(|\[|::|#L)(\d{1,9})\b")
_END: Final = re.compile(r"[:#]|[(\[](?=\d)")
NAME: Final = re.compile(r"(?:[A-Za-z]:[\\/])?[\w.@+~()\[\]\\/-]+")
"""A path of the characters that paths usually have."""

_LONGEST_NAME: Final = 1000

_EXTENSION = re.compile(r".+\.[A-Za-z][A-Za-z0-9_+-]{0,11}")
_BARE: Final = frozenset(
    {
        *("README", "LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CONTRIBUTORS"),
        *("CHANGELOG", "CHANGES", "NEWS", "TODO", "INSTALL", "HISTORY", "VERSION", "OWNERS"),
        *("MAINTAINERS", "CODEOWNERS", "BUILD", "WORKSPACE", "MANIFEST", "Makefile", "GNUmakefile"),
        *("Dockerfile", "Containerfile", "Jenkinsfile", "Vagrantfile", "Gemfile", "Rakefile"),
        *(
            "Procfile",
            "Podfile",
            "Brewfile",
            "Kconfig",
            "Kbuild",
            "BUCK",
            "DEPS",
            "CODE_OF_CONDUCT",
        ),
        *("CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY", "gradlew", "mvnw", "configure"),
    }
)
"""Names that files customarily have without an extension."""

_DOTFILE: Final = re.compile(
    r"\.(?:[\w-]{0,100}(?:ignore|rc|attributes|config|keep|env|modules|versions?|format|tidy|lint"
    r"|mailmap|tags|profile|htaccess|ignore-revs)|flake8|rspec|npmrc)"
)


def looks_like_file(path: str) -> bool:
    """Return whether a name is one that files have: an extension, or a customary bare name.

    Examples
    --------
    >>> [looks_like_file(p) for p in ("a/b.py", "src", "LICENSE", "pkg--v1.2", "x/", ".gitignore")]
    [True, False, True, False, False, True]
    """
    if path.endswith("/"):
        return False
    name = path.rsplit("/", 1)[-1]
    if name.startswith("."):
        return bool(_DOTFILE.fullmatch(name) or _EXTENSION.fullmatch(name))
    return bool(_EXTENSION.fullmatch(name) or name in _BARE)


def path_texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield those texts that are paths of files: the arguments of a program that is not known.

    Examples
    --------
    >>> list(path_texts(["--config=etc/x.toml", "build", "src/a.py", "-v", "https://h.org/a.py"]))
    ['etc/x.toml', 'src/a.py']
    """
    for text in texts:
        if text.startswith("-"):
            text = text.partition("=")[2]
        path = text.partition("::")[0]
        is_path = 0 < len(path) <= _LONGEST_NAME and NAME.fullmatch(path) is not None
        if is_path and looks_like_file(path):
            yield path


def mentions(line: str) -> Iterator[tuple[str, int | None]]:
    r"""Yield the files that a line of prose names, with the line number where one is given.

    A name without a folder counts only with a line number.

    Examples
    --------
    >>> list(mentions("src/a.rs:3:9: error, see https://x.org/a.html"))
    [('src/a.rs', 3)]
    >>> list(mentions('  File "/w/a.py", line 7, in f')), list(mentions("e.g. README.md"))
    ([('/w/a.py', 7)], [])
    """
    traceback = _TRACEBACK.search(line)
    if traceback is not None:
        if not traceback[1].startswith("<"):
            yield traceback[1], int(traceback[2]) or None
        return
    for match in _TOKEN.finditer(line):
        token = match[0].lstrip("([").rstrip(".:)]")
        if "://" in token or "." not in token:
            continue
        drive = 2 if token[1:3] in (":\\", ":/") else 0
        end = _END.search(token, drive)
        path = token[: end.start()] if end is not None else token
        place = _PLACE.match(token, len(path))
        number = int(place[1]) if place is not None else None
        path = path.removeprefix("./")
        if not NAME.fullmatch(path) or not looks_like_file(posixpath.basename(path)):
            continue
        if number or "/" in path or "\\" in path:
            yield path, number or None


# --------------------------------------------------------------------------------------------------
# Web addresses of files in code hosts and code search.

_LINES: Final = re.compile(r"(?:[?#]|%3F)L(\d{1,9})(?:C\d{1,6})?(?:-L?(\d{1,9})(?:C\d{1,6})?)?$")
_REVISION_PREFIXES: Final = (("refs", "heads"), ("refs", "tags"))
_LONGEST: Final = 4096

FileLink = tuple[str, str, tuple[LineRange, ...] | None]
"""Repository with its host, path, and the lines the address points at."""


def file_link(url: str) -> FileLink | None:
    """Return repository, path and lines of a file's address, or None for any other address.

    Understood are ``<host>/<repository>@<revision>/-/blob/<path>`` of code search,
    ``github.com/<owner>/<name>/blob/<revision>/<path>`` (also ``raw`` and ``blame``) and
    ``raw.githubusercontent.com``.

    Examples
    --------
    >>> file_link("https://demo.host/github.com/acme/w@1f3c/-/blob/src/a.py%3FL3-9")
    ('github.com/acme/w', 'src/a.py', ((3, 9),))
    >>> file_link("https://raw.githubusercontent.com/acme/w/v1.9/src/a.py")
    ('github.com/acme/w', 'src/a.py', None)
    >>> file_link("https://github.com/acme/w/issues/3") is None
    True
    """
    if len(url) > _LONGEST or not url.startswith(("https://", "http://")):
        return None
    address, lines = _without_lines(url.split("://", 1)[1])
    host, _, rest = address.partition("/")
    if "/-/blob/" in rest:
        return _code_search(rest, lines)
    parts = rest.split("?", 1)[0].split("#", 1)[0].split("/")
    if host in {"raw.githubusercontent.com", "raw.github.com"}:
        return _code_host(parts[:2], parts[2:], lines)
    if host in {"github.com", "www.github.com"} and parts[2:3] in (["blob"], ["raw"], ["blame"]):
        return _code_host(parts[:2], parts[3:], lines)
    return None


def _without_lines(address: str) -> tuple[str, tuple[LineRange, ...] | None]:
    match = _LINES.search(address)
    if match is None:
        return address, None
    start = int(match[1])
    end = int(match[2]) if match[2] else start
    lines = ((start, end),) if 0 < start <= end else None
    return address[: match.start()], lines


def _code_search(rest: str, lines: tuple[LineRange, ...] | None) -> FileLink | None:
    repository, _, path = rest.partition("/-/blob/")
    repository = unquote(repository).split("@", 1)[0].strip("/")
    path = unquote(path)
    return (repository, path, lines) if repository and path else None


def _code_host(
    repository: list[str], rest: list[str], lines: tuple[LineRange, ...] | None
) -> FileLink | None:
    revision = 3 if tuple(rest[:2]) in _REVISION_PREFIXES else 1
    path = unquote("/".join(rest[revision:]))
    if len(repository) != 2 or not all(repository) or not path:
        return None
    return f"github.com/{'/'.join(repository)}", path, lines


def links_in(line: str) -> list[FileLink]:
    """Return the file addresses in a line of prose or Markdown."""
    if "/blob/" not in line and "raw.githubusercontent.com/" not in line:
        return []
    found = []
    for token in line.split():
        start = token.rfind("https://")
        if start >= 0:
            link = file_link(_trimmed(token[start:]))
            if link is not None:
                found.append(link)
    return found


def _trimmed(token: str) -> str:
    """Cut what surrounds an address: quotes, punctuation, a bracket that it did not open."""
    for mark in ('"', "'", "`", "<", ">", "]"):
        token = token.split(mark, 1)[0]
    token = token.rstrip(".,;:*")
    unopened = max(0, token.count(")") - token.count("("))
    bare = token.rstrip(")")
    closing = min(unopened, len(token) - len(bare))
    return token[: len(token) - closing].rstrip(".,;:*")


# --------------------------------------------------------------------------------------------------
# File records in JSON results: search blocks, listings, trees, commits of several servers.

_PATHS: Final = (
    "file",
    "path",
    "file_path",
    "filePath",
    "filename",
    "relative_path",
    "relativePath",
    "relativeWorkspacePath",
    "newPath",
    "new_path",
    "newFile",
    "fileName",
)
_OLD_PATHS: Final = ("oldPath", "old_path", "oldFile", "previous_filename")
_NAME_LISTS: Final = ("files", "paths", "filenames", "file_paths")
_LOCATIONS: Final = ("uri", "targetUri")
_FILE_ADDRESS: Final = "file://"
_FOLDER_TYPES: Final = ("dir", "directory", "tree", "folder")
_Repository = str | None


def file_records(value: Any, access: Access, repository: str | None) -> Iterator[RawTarget]:
    """Yield the files that nested records name, in document order.

    A record is an object with a path; its repository is its own, else that of the object
    around it, else ``repository``. Folders are left out.
    """
    waiting: list[tuple[Any, _Repository]] = [(value, repository)]
    while waiting:
        item, around = waiting.pop()
        if isinstance(item, list):
            waiting.extend((child, around) for child in reversed(item))
        elif isinstance(item, dict):
            inside = _repository(item) or around
            yield from _record(item, access, inside)
            waiting.extend(
                (child, inside)
                for key, child in reversed(item.items())
                if isinstance(child, dict | list) and key not in {"repository", "chunks"}
            )


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of several lines or with addresses inside JSON, in document order."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and ("\n" in item or "://" in item):
            yield item
        elif isinstance(item, list | dict):
            children = item.values() if isinstance(item, dict) else item
            waiting.extend(reversed(list(children)))


def tree_names(tree: Any) -> Iterator[str]:
    """Yield the paths of the files in a tree of objects with ``name`` and ``children``."""
    waiting: list[tuple[Any, str]] = [(tree, "")]
    while waiting:
        item, folder = waiting.pop()
        if isinstance(item, list):
            waiting.extend((child, folder) for child in reversed(item))
            continue
        name = text_argument(item, ("name",)) if isinstance(item, dict) else None
        if name is None:
            continue
        below = item.get("children")
        if isinstance(below, list):
            waiting.append((below, f"{folder}{name}/"))
        elif item.get("type") not in _FOLDER_TYPES:
            yield f"{folder}{name}"


def _record(item: dict[str, Any], access: Access, repository: _Repository) -> Iterator[RawTarget]:
    is_folder = item.get("isDirectory") is True or item.get("type") in _FOLDER_TYPES
    if not is_folder:
        for names in (_PATHS, _OLD_PATHS):
            path = text_argument(item, names)
            if path is not None:
                yield RawTarget(path, access, repository, _lines(item))
        place = text_argument(item, _LOCATIONS) or ""
        if place.startswith(_FILE_ADDRESS):
            yield RawTarget(unquote(place.removeprefix(_FILE_ADDRESS)), access, repository)
    for key in _NAME_LISTS:
        yield from (RawTarget(n, access, repository) for n in strings(item.get(key)))


def _repository(item: dict[str, Any]) -> _Repository:
    value = item.get("repository")
    if isinstance(value, dict):
        return text_argument(value, ("full_name", "name"))
    return text_argument(item, ("repo", "repository", "repoName"))


def _lines(item: dict[str, Any]) -> tuple[LineRange, ...] | None:
    chunks = item.get("chunks")
    blocks = [item, *(chunks if isinstance(chunks, list) else [])]
    found: list[LineRange] = []
    for block in blocks:
        if isinstance(block, dict):
            start, end = integer(block.get("startLine")), integer(block.get("endLine"))
            if start is not None and end is not None and start <= end:
                found.append((start, end))
    return tuple(found) or None


# --------------------------------------------------------------------------------------------------
# Results of remote searches: files named by JSON records, headers, links, diffs or grep lines.

_HEADER: Final = re.compile(r"# ([^\s/]+/\S*) [–—-] (\S.*)$")
_SECTION: Final = re.compile(r"(?:Path|File): (\S.*)$|(/\S{0,4096}[^\s:]):$")
_NUMBER: Final = re.compile(r"[ ]{0,9}(?:L|Line )?(\d{1,9})(?:: |:$|\t)")
_DIFF: Final = re.compile(r"(?:---|\+\+\+) (\"?[ab]/.+)$|rename (?:from|to) (\S.*)$")
_ROW: Final = re.compile(
    r"[ ]{0,9}(?:\||#{1,6} |[-*] |\d{1,3}[.)] )\s{0,9}[`*]{0,4}"
    r"([\w.@+()\[\]-]{1,255}(?:/[\w.@+()\[\]-]{1,255}){1,40}\.\w{1,12})"
    r"(?::(\d{1,9}))?(?=[`*:|,;]|\s|$)"
)
_GREP: Final = re.compile(r"([^\s:]{1,1024}):(\d{1,9}):")
_READ_NOTE: Final = re.compile(r"- ((?:[^\s/]+/){2}[^\s/]+)/(\S[^\n]{0,2048}?)@[0-9a-f]{4,40}: ")
_QUERIED: Final = re.compile(r"(?<![\w-])repo:\^([\w.@/\\-]{1,300})\$")
_LONGEST_LINE: Final = 8192
_PROSE_CATEGORIES: Final = frozenset({"commit_search", "deep_search"})


def read_mentions(seen: Seen) -> Found:
    """Return the files that a search, navigation, commit or deep-search result names.

    A result with content that names no file in a known grammar is opaque.
    """
    if is_empty_answer(seen.text) and seen.value is None:
        return Found()
    lines = strings(seen.value)
    if lines and lines == seen.value:
        seen = replace(seen, text="\n".join(lines), value=None)
    asked = searched_repository(seen.arguments)
    access: Access = "listed" if seen.category == "file_search" else "matched"
    if seen.value is None:
        found = list(_in_text(seen.text, access, asked))
        found = found or _bare_paths(seen, access, asked) or _in_rows(seen, access, asked)
        has_answer = True
    else:
        found = list(file_records(seen.value, access, asked))
        if seen.category in _PROSE_CATEGORIES:
            for text in texts_in(seen.value):
                found.extend(_in_text(text, access, asked))
        has_answer = seen.category != "file_search" and _holds_records(seen.value, seen.arguments)
    targets = distinct(t if t.repository else _placed(t, seen.cwd) for t in found)
    return Found(targets, is_opaque=seen.is_truncated or (has_answer and not targets))


_HIT: Final = re.compile(r"[^\s:]{1,1024}:\d{1,9}:(?!\d{1,9}:)")
_COUNTED: Final = re.compile(r"(?:Found|Showing) \d{1,9} [^\n]{0,200}")
_NUMBERS_OF_A_HIT: Final = ("line", "line_number", "lineNumber", "startLine")
_TEXTS_OF_A_HIT: Final = ("text", "content", "snippet", "lineText", "line_text", "preview")


def read_hits(seen: Seen) -> Found:
    """Return the files in an answer of an unknown server's tool that consists of hits alone.

    A hit names a file, a line and what stands there; with a column it may be a compiler's message.
    Any other answer is opaque.
    """
    search = replace(seen, category="code_search")
    if seen.value is None:
        lines = [line for line in seen.text.split("\n") if line.strip() and line != "--"]
        if lines and _COUNTED.fullmatch(lines[0]):
            del lines[0]
        is_plain = bool(lines) and all(_HIT.match(line[:_LONGEST_LINE]) for line in lines)
        if is_plain:
            return replace(read_mentions(search), category="code_search")
        return Found(is_opaque=bool(seen.text.strip()))
    targets = distinct(_placed(hit, seen.cwd) for hit in _hits(seen.value))
    named = distinct(_placed(t, seen.cwd) for t in file_records(seen.value, "matched", None))
    if targets and len(targets) == len(named):
        return Found(targets, category="code_search")
    return Found(is_opaque=bool(seen.text.strip()) or bool(seen.value))


def _hits(value: Any) -> Iterator[RawTarget]:
    """Yield the records of a file, a line and the text that stands there."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            path, text = text_argument(item, _PATHS), text_argument(item, _TEXTS_OF_A_HIT)
            numbers = (integer(item.get(name)) for name in _NUMBERS_OF_A_HIT)
            line = next(filter(None, numbers), None)
            if path is not None and text is not None and line is not None:
                yield RawTarget(path, "matched", None, ((line, line),))
        if isinstance(item, list | dict):
            waiting.extend(reversed(list(item.values() if isinstance(item, dict) else item)))


def read_outline(seen: Seen) -> Found:
    """Return the file whose symbols are listed; of a folder, the files that the answer names."""
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    found = read_mentions(seen)
    if path is None or found.targets or not looks_like_file(path) or not found.is_opaque:
        return found
    repository = repository_argument(seen.arguments)
    target = RawTarget(path, "matched", repository)
    return Found((target if repository else _placed(target, seen.cwd),))


def _bare_paths(seen: Seen, access: Access, asked: str | None) -> list[RawTarget]:
    """Read an answer of one path a line, certain only when every line is one."""
    names = listed_names(seen.text, seen.is_truncated)
    if not all("/" in name and " " not in name for name in names):
        return []
    return [RawTarget(name, access, asked) for name in names]


def _in_rows(seen: Seen, access: Access, asked: str | None) -> list[RawTarget]:
    """Read the files that begin the rows of a table, a list or a series of headings."""
    if seen.category in _PROSE_CATEGORIES:
        return []
    rows = (_ROW.match(line[:_LONGEST_LINE]) for line in seen.text.split("\n"))
    return [
        RawTarget(
            row[1], access, asked, ((int(row[2]), int(row[2])),) if int(row[2] or 0) else None
        )
        for row in rows
        if row is not None
    ]


def searched_repository(arguments: Mapping[str, Any]) -> str | None:
    """Return the one repository a search was confined to, or None."""
    named = repository_argument(arguments)
    if named is not None:
        return named
    several = strings(arguments.get("repos"))
    query = text_argument(arguments, ("query",)) or ""
    several = several or [m[1].replace("\\", "") for m in _QUERIED.finditer(query[:_LONGEST_LINE])]
    return several[0] if len(several) == 1 else None


def _holds_records(value: object, arguments: Mapping[str, Any]) -> bool:
    """Whether a JSON answer holds anything besides empty lists and objects.

    Beside an empty list, numbers and what repeats an argument are no records.
    """
    children = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(children, list):
        return True
    rest = [child for child in children if child not in ([], {}, None, 0, "", False)]
    if [] in children:
        repeated = {text for text in arguments.values() if isinstance(text, str)}
        rest = [child for child in rest if not isinstance(child, int | float)]
        rest = [child for child in rest if not isinstance(child, str) or child not in repeated]
    return bool(rest)


def _placed(target: RawTarget, base: str | None) -> RawTarget:
    path = joined(base, target.path)
    return RawTarget(path, target.access, None, target.lines, target.is_whole)


def _in_text(text: str, access: Access, asked: str | None) -> Iterator[RawTarget]:
    """Walk the lines; numbered lines belong to the file named last."""
    current: tuple[str, str | None] | None = None
    numbers: list[LineRange] = []
    for full in text.split("\n"):
        line = full[:_LONGEST_LINE].rstrip("\r")
        number = _NUMBER.match(line)
        if number is not None:
            numbers.append((int(number[1]), int(number[1])))
            continue
        named = _headline(line, asked)
        if named is not None:
            if current is not None:
                yield RawTarget(current[0], access, current[1], tuple(numbers) or None)
            current, numbers = named, []
            continue
        yield from _inline(line, access, asked)
    if current is not None:
        yield RawTarget(current[0], access, current[1], tuple(numbers) or None)


def _headline(line: str, asked: str | None) -> tuple[str, str | None] | None:
    header = _HEADER.match(line)
    if header is not None:
        return header[2].strip(), header[1].split("@", 1)[0]
    section = _SECTION.match(line)
    return None if section is None else ((section[1] or section[2]).strip(), asked)


def _inline(line: str, access: Access, asked: str | None) -> Iterator[RawTarget]:
    diff = _DIFF.match(line)
    if diff is not None:
        path = diff_path(diff[1]) if diff[1] else diff[2].strip()
        if path is not None:
            yield RawTarget(path, access, asked)
        return
    note = _READ_NOTE.match(line)
    if note is not None:
        yield RawTarget(note[2], access, note[1])
        return
    grep = _GREP.match(line)
    if grep is not None and any(c.isalpha() for c in grep[1]) and "//" not in grep[1]:
        start = int(grep[2])
        yield RawTarget(grep[1], access, asked, ((start, start),) if start else None)
        return
    for repository, path, lines in links_in(line):
        yield RawTarget(path, access, repository, lines)


# --------------------------------------------------------------------------------------------------
# GitHub's one tool for everything about a pull request; its ``method`` selects what is read.

_ABOUT_FILES: Final = frozenset({"get_diff", "get_files"})


def pull_request_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``commit_search`` when the change itself is read, else ``other``."""
    method = arguments.get("method")
    is_change = isinstance(method, str) and method in _ABOUT_FILES
    return "commit_search" if is_change else "other"


def read_pull_request(seen: Seen) -> Found:
    """Return the files of a change; reviews and states are not about files."""
    return NOTHING if seen.category == "other" else read_mentions(seen)
