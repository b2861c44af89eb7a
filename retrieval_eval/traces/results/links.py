"""Web addresses of files in code hosts and code search."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from retrieval_eval.records import LineRange

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
