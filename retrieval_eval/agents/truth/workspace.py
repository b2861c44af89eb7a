"""The workspace stated by a task: repositories, their folders, the agent's own outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from retrieval_eval.agents.truth.source import items, load_text, table, text_of
from retrieval_eval.io.files import decode_toml
from retrieval_eval.paths import WORKSPACE_ROOTS, local_path, repository_name
from retrieval_eval.records import Repository

# --------------------------------------------------------------------------------------------------
# Which ground-truth entries name what the agent itself has to write.
#
# Such an entry cannot be retrieved, so it is no relevant file. Evidence is, in this order: a log
# or scratch folder; a place the task tells the agent to write its answer to; a document directly
# under the workspace root, which is no checkout; a bare file name that is the name of a report.

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
_PATH_TOKEN = re.compile(r"/?[\w.@+-]+(?:/[\w.@+-]+)*")


def stated_outputs(text: str) -> tuple[str, ...]:
    """Return the report files that a task's text tells the agent to write, each once.

    They are absolute paths and bare names. A relative path, or a name that every checkout has
    such as ``README.md``, is a file of a repository and not among them.

    Examples
    --------
    >>> stated_outputs("Write your findings to `/workspace/REPORT.md`. Read src/a.json.")
    ('/workspace/REPORT.md',)
    """
    found: dict[str, str] = {}
    for line in text[:_LONGEST_TEXT].splitlines():
        start = _WRITES.search(line[:_LONGEST_LINE])
        if start is None:
            continue
        for token in _PATH_TOKEN.findall(line[:_LONGEST_LINE], start.start()):
            place = token.rstrip(".")
            is_place = place.startswith("/") or "/" not in place
            if is_place and _is_report_file(place.lower()):
                found.setdefault(place.lower(), place)
    return tuple(found.values())


class OwnOutputs:
    """The files that an agent has to write, inferred from a task's text and from their names.

    Parameters
    ----------
    stated
        The outputs of :func:`stated_outputs`.
    """

    def __init__(self, stated: Iterable[str]) -> None:
        self._places = frozenset(place.lower() for place in stated)
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


# --------------------------------------------------------------------------------------------------
# The workspace stated by a task: repositories, their folders, the agent's own outputs.

_MOST_REPOSITORIES = 100


@dataclass(frozen=True, slots=True)
class Workspace:
    """The repositories a task states, the outputs it requires and its decoded task.toml."""

    repositories: tuple[Repository, ...] = ()
    output_files: tuple[str, ...] = ()
    document: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()

    @property
    def primary(self) -> str | None:
        """The repository at the top of the workspace: the only one, in no folder of its own."""
        sole = self.repositories[0] if len(self.repositories) == 1 else None
        return sole.name if sole is not None and not sole.folder else None

    @property
    def folders(self) -> tuple[Repository, ...]:
        """The repositories whose folder is stated, longest folder first."""
        stated = (r for r in self.repositories if r.folder)
        return tuple(sorted(stated, key=lambda r: (-len(r.folder or ""), r.name)))


def read_workspace(task_dir: Path) -> Workspace:
    """Return what ``task.toml`` and ``instruction.md`` say; nothing where they are missing."""
    document, problems = _task_toml(task_dir)
    instruction = load_text(task_dir, "", "instruction.md")
    prompt = text_of(table(document, "task").get("prompt")) or ""
    artifacts = " ".join(_strings(document.get("artifacts")))
    stated = stated_outputs(f"{instruction[1] if instruction else ''}\n{prompt}\nwrite {artifacts}")
    return Workspace(tuple(_repositories(document)), stated, document, problems)


def _task_toml(task_dir: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    loaded = load_text(task_dir, "", "task.toml")
    if loaded is None:
        return {}, ()
    name, text, problems = loaded
    document, problem = decode_toml(text)
    return document, problems if problem is None else (*problems, f"{name}: {problem}")


def _repositories(document: dict[str, Any]) -> Iterator[Repository]:
    """Yield each stated repository once, with the folder of its first statement."""
    found: dict[str, Repository] = {}
    for item in islice(items(document.get("repos")), _MOST_REPOSITORIES):
        stated = as_repository(item)
        if stated is not None:
            found.setdefault(stated.name.lower(), stated)
    for holder in (document, table(document, "task")):
        for raw in (text_of(holder.get("repo")) or "").split(",", _MOST_REPOSITORIES):
            name = repository_name(raw)
            if name is not None:
                found.setdefault(name.lower(), Repository(name))
    yield from found.values()


def as_repository(item: Any) -> Repository | None:
    """Return the repository that a text or an object states, or None when it states none."""
    if isinstance(item, str):
        name = repository_name(item)
        return Repository(name) if name else None
    if not isinstance(item, dict):
        return None
    stated = (text_of(item.get("path")) or "").strip()
    root = next((root for root in WORKSPACE_ROOTS if f"{stated}/".startswith(root)), "")
    outside = local_path(stated) if not root else None
    folder = outside or f"{stated}/".removeprefix(root).strip("/.")
    address = text_of(item.get("url")) or text_of(item.get("repo")) or text_of(item.get("name"))
    name = repository_name(address) if address else repository_name(folder)
    return Repository(name, folder or None) if name else None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from (item for item in items(inner) if isinstance(item, str))
