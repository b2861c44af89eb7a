"""Resolves entries as a source writes them to normalised files with their repository."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retrieval_eval.agents.truth.source import Entry
from retrieval_eval.agents.truth.workspace import OwnOutputs, Workspace
from retrieval_eval.paths import file_ref
from retrieval_eval.records import FileRef


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
