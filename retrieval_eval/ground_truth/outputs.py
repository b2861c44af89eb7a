"""Which ground-truth entries name what the agent itself has to write.

Such an entry cannot be retrieved, so it is no relevant file. Evidence is, in this order: a log
or scratch folder; a place the task tells the agent to write its answer to; a document directly
under the workspace root, which is no checkout; a bare file name that is the name of a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from retrieval_eval.paths import WORKSPACE_ROOTS

_SCRATCH = tuple(f"/{folder}/" for folder in ("tmp", "logs", "output", "outputs"))
_REPORT_SUFFIXES = (".md", ".json", ".jsonl", ".txt", ".csv", ".html", ".log", ".patch", ".diff")
_REPORT_WORDS = frozenset(
    {"answer", "answers", "report", "audit", "investigation", "findings", "analysis", "review"}
    | {"documentation", "summary", "solution", "diagnosis", "assessment", "result", "results"}
)
_CHECKOUT_FILES = frozenset(
    {"readme.md", "changelog.md", "contributing.md", "changes.md", "history.md", "security.md"}
    | {"package.json", "package-lock.json", "tsconfig.json", "composer.json", "cargo.json"}
    | {"requirements.txt", "cmakelists.txt", "license.txt", "license.md", "go.mod", "readme.txt"}
)
_LONGEST_TEXT = 200_000
_LONGEST_LINE = 2_000
_WRITES = re.compile(
    r"\b(?:writ(?:e|ing|ten)|sav(?:e|ed|ing)|stor(?:e|ed)|put|output|produce|create[ds]?|"
    r"generate|submit|document|record)\b|OUTPUT\w{0,20}\s{0,3}=|>\s{0,3}/",
    re.IGNORECASE,
)
_PATH = re.compile(r"/?[\w.@+-]+(?:/[\w.@+-]+)*")


def told_outputs(text: str) -> tuple[str, ...]:
    """Return the report files that a task's text tells the agent to write, each once.

    They are absolute paths and bare names. A relative path, or a name that every checkout has
    such as ``README.md``, is a file of a repository and not among them.

    Examples
    --------
    >>> told_outputs("Write your findings to `/workspace/REPORT.md`. Read src/a.json.")
    ('/workspace/REPORT.md',)
    """
    found: dict[str, str] = {}
    for line in text[:_LONGEST_TEXT].splitlines():
        start = _WRITES.search(line[:_LONGEST_LINE])
        if start is None:
            continue
        for token in _PATH.findall(line[:_LONGEST_LINE], start.start()):
            place = token.rstrip(".")
            is_place = place.startswith("/") or "/" not in place
            if is_place and _is_report_file(place.lower()):
                found.setdefault(place.lower(), place)
    return tuple(found.values())


class OwnOutputs:
    """The files that an agent has to write, as far as a task's text and their names tell.

    Parameters
    ----------
    told
        The outputs of :func:`told_outputs`.
    """

    def __init__(self, told: Iterable[str]) -> None:
        self._places = frozenset(place.lower() for place in told)
        self._names = frozenset(place.rsplit("/", 1)[-1] for place in self._places)

    def includes(self, raw: str) -> bool:
        """Return whether a ground-truth entry, as the task writes it, is one of them.

        Examples
        --------
        >>> OwnOutputs(()).includes("/workspace/documentation.md")
        True
        >>> OwnOutputs(()).includes("/workspace/src/store.go")
        False
        """
        path = raw.strip().replace("\\", "/").lower()
        if "::" in path or "://" in path:
            return False
        if path.startswith(_SCRATCH):
            return True
        if not _is_report_file(path):
            return False
        name = path.rsplit("/", 1)[-1]
        if path.startswith("/"):
            return path in self._places or any(path == root + name for root in WORKSPACE_ROOTS)
        return "/" not in path and (name in self._names or _has_report_word(name))


def _is_report_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    is_named = name not in _REPORT_SUFFIXES and name not in _CHECKOUT_FILES
    return is_named and name.endswith(_REPORT_SUFFIXES)


def _has_report_word(name: str) -> bool:
    return not _REPORT_WORDS.isdisjoint(re.split(r"[^a-z0-9]+", name.rsplit(".", 1)[0]))
