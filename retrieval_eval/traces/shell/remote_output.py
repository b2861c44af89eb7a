"""What a remote code-search client prints: repositories, paths and numbered lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from retrieval_eval.traces.shell.plan import Plan
from retrieval_eval.traces.shell.programs.search import looks_like_file

Found = dict[tuple[str, str], list[int]]
"""(repository, path) → line numbers."""

_HEADER = re.compile(r"# (\S{1,300}) [\u2013\u2014-] (\S.{0,999})")
_URL = re.compile(r"URL: https?://[^/\s]+/(\S{1,300}?)(?:@[^/\s]+)?/-/blob/([^?\s]{1,1000})")
_LINE = re.compile(r"(\d{1,9}):(?: |$)")


def remote_files(plan: Plan, lines: Iterable[str]) -> Found:
    """Return the files and line numbers that a client printed.

    Sections begin with ``# repository – path`` or ``URL: …``; a listing has one path a line,
    with a slash behind directories. Without a header the file comes from the command.
    """
    asked = plan.files[0].written if plan.files else None
    repository = plan.repository or ""
    if plan.access == "listed":
        return {(repository, path): [] for path in _entries(asked, lines)}
    current = (repository, asked) if asked is not None and plan.access == "opened" else None
    found: Found = {}
    for line in lines:
        head = line[:1400]
        section = _HEADER.fullmatch(head) or _URL.match(head)
        if section:
            current = (section[1], unquote(section[2]).strip())
            found.setdefault(current, [])
            continue
        number = _LINE.match(head)
        if number and current is not None:
            found.setdefault(current, []).append(int(number[1]))
    return found


def _entries(folder: str | None, lines: Iterable[str]) -> list[str]:
    base = (folder or "").strip("./")
    paths = []
    for line in lines:
        entry = line.strip()
        if not entry or entry.endswith("/") or " " in entry or not looks_like_file(entry):
            continue
        is_full = not base or entry.startswith(base + "/")
        paths.append(entry if is_full else f"{base}/{entry}")
    return paths
