"""The workspace of a task: repositories, folders, own outputs, and the file an entry means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from retrieval_eval.agents.truth.shapes import Entry, items, load_text, table, text_of
from retrieval_eval.io.files import decode_toml
from retrieval_eval.paths import WORKSPACE_ROOTS, file_ref, local_path, repository_name
from retrieval_eval.records import FileRef, Repository

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


# --------------------------------------------------------------------------------------------------
# Resolves entries as a source writes them to normalised files with their repository.


@dataclass(frozen=True, slots=True)
class Resolved:
    """The distinct files of some entries, the entries that name the agent's own output.

    ``patterns`` are the entries with a wildcard, such as ``src/**/*.py``.
    """

    files: tuple[FileRef, ...]
    own_outputs: tuple[str, ...]
    problems: tuple[str, ...]
    patterns: tuple[FileRef, ...] = ()


def resolve(entries: Iterable[Entry], workspace: Workspace, source: str) -> Resolved:
    """Return the files that ``entries`` name, in their order and each once.

    Duplicates are judged by the case-folded repository and path; two paths that differ in case
    only become one file and a problem sentence.
    """
    listed = tuple(entries)
    repeats_folder = _repeats_folder(listed, workspace)
    own = OwnOutputs(workspace.output_files)
    files: dict[tuple[str | None, str], FileRef] = {}
    patterns: dict[FileRef, None] = {}
    outputs: dict[str, None] = {}
    problems: list[str] = []
    for entry in listed:
        if entry.repository is None and own.includes(entry.path):
            outputs[entry.path] = None
            continue
        ref = None if entry.path.endswith("/") else locate(entry, workspace, repeats_folder)
        if ref is None:
            problems.append(f"{source}: {entry.path[:200]!r} does not name a file")
            continue
        if "*" in ref.path:
            patterns[ref] = None
            continue
        known = files.setdefault(ref.key, ref)
        if known.path != ref.path:
            problems.append(f"{source}: {known.path} and {ref.path} count as one file")
    return Resolved(tuple(files.values()), tuple(outputs), tuple(problems), tuple(patterns))


def locate(entry: Entry, workspace: Workspace, repeats_folder: bool = False) -> FileRef | None:
    """Return the file an entry names, or None when it names none.

    A plain path that starts with the stated folder of one of several repositories belongs to
    that repository. With a single repository this holds for absolute paths only, because
    ``flask/app.py`` is more often a path inside a repository ``flask``.
    """
    repository, path = entry.repository, entry.path
    if "://" in path and "::" in path:
        repository, _, path = path.partition("::")
    ref = file_ref(path, repository=repository)
    if ref is None:
        return None
    if ref.repository is not None:
        name = _stated_name(ref.repository, workspace)
        if repeats_folder and entry.repository is not None:
            return _inside_folder(ref.path, workspace, name) or FileRef(ref.path, name)
        return FileRef(ref.path, name)
    if len(workspace.folders) > 1 or entry.path.startswith("/"):
        return _inside_folder(ref.path, workspace) or ref
    return ref


class Aligner:
    """Finds the file of a ground truth that another source writes differently.

    Examples
    --------
    >>> Aligner([FileRef("a/b.py", "lib")]).align(FileRef("a/b.py"))
    FileRef(path='a/b.py', repository='lib')
    """

    def __init__(self, files: Iterable[FileRef]) -> None:
        self._by_path: dict[str, list[FileRef]] = {}
        for file in files:
            self._by_path.setdefault(file.path.lower(), []).append(file)

    def align(self, ref: FileRef) -> FileRef | None:
        """Return the file that ``ref`` means, or None when none or several could be meant.

        A file may be written with or without its repository, or below a folder that holds the
        checkout (``src/pandas/pandas/core/base.py`` for ``pandas/core/base.py``).
        """
        tail = ref.path.lower()
        same = [file for file in self._by_path.get(tail, ()) if _may_agree(file, ref)]
        exact = [file for file in same if file.key == ref.key]
        found = exact or same
        while not found and "/" in tail:
            tail = tail.split("/", 1)[1]
            below = self._by_path.get(tail, ()) if "/" in tail else ()
            found = [file for file in below if _may_agree(file, ref)]
        return found[0] if len(found) == 1 else None


def _may_agree(one: FileRef, other: FileRef) -> bool:
    if one.repository is None or other.repository is None:
        return True
    return one.repository.lower() == other.repository.lower()


def _stated_name(name: str, workspace: Workspace) -> str:
    """Return the name of a repository that may be named by its folder."""
    for repository in workspace.repositories:
        if name.lower() in {repository.name.lower(), (repository.folder or "").lower()}:
            return repository.name
    return name


def _inside_folder(path: str, workspace: Workspace, name: str | None = None) -> FileRef | None:
    for repository in workspace.folders:
        prefix = f"{repository.folder}/"
        if name in {None, repository.name} and path.lower().startswith(prefix.lower()):
            return FileRef(path[len(prefix) :], repository.name)
    return None


def _repeats_folder(entries: tuple[Entry, ...], workspace: Workspace) -> bool:
    """Return whether entries of several repositories all start with that repository's folder.

    One repository alone proves nothing: the compiler gcc keeps its sources in ``gcc/``.
    """
    stated = [entry for entry in entries if entry.repository is not None]
    names = set()
    for entry in stated:
        name = _stated_name(str(entry.repository), workspace)
        if _inside_folder(entry.path, workspace, name) is None:
            return False
        names.add(name)
    return len(names) > 1
