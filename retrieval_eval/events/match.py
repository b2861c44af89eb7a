"""Identity of files inside one trial, and their match to the ground-truth files.

A file is its repository and its path, compared without case. A trace seldom has both: local
reads in a single-repository task name no repository, a checkout folder may precede the
path, remote tools name the repository separately. :class:`Workspace` brings all of these to one
identity, so that a file read twice in two ways counts once and the same path in another
repository is another file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from retrieval_eval.paths import WORKSPACE_ROOTS, file_ref, repository_name
from retrieval_eval.records import FileRef, GroundTruth

Identity = tuple[str | None, str]

_PER_FOLDER_NAMES = frozenset(
    {
        "__init__.py",
        "__main__.py",
        "build",
        "build.bazel",
        "build.gradle",
        "cargo.lock",
        "cargo.toml",
        "changelog.md",
        "cmakelists.txt",
        "conftest.py",
        "dockerfile",
        "go.mod",
        "go.sum",
        "index.html",
        "index.js",
        "index.ts",
        "index.tsx",
        "lib.rs",
        "license",
        "main.c",
        "main.cpp",
        "main.go",
        "main.py",
        "main.rs",
        "makefile",
        "meson.build",
        "mod.rs",
        "package-lock.json",
        "package.json",
        "pom.xml",
        "pyproject.toml",
        "readme",
        "readme.md",
        "readme.rst",
        "requirements.txt",
        "setup.cfg",
        "setup.py",
        "tsconfig.json",
        "types.go",
        "types.ts",
        "utils.py",
        "yarn.lock",
    }
)
"""File names that occur in most folders of a project: a bare one means the file at the root."""


class Workspace:
    """The files of one trial: normalises raw paths and matches them to the ground truth.

    Parameters
    ----------
    ground_truth
        What the task expects; its repositories are the known ones.
    cwd
        The folder the agent was started in, when the trace states it.
    remote_repositories
        Raw names of the repositories that remote tools of this trial named.

    Attributes
    ----------
    collisions
        Files that differ only in case from another one seen, in order of appearance.
    """

    def __init__(
        self,
        ground_truth: GroundTruth,
        *,
        cwd: str | None = None,
        remote_repositories: Iterable[str] = (),
    ) -> None:
        self._roots = _roots(cwd)
        names = {r.name for r in ground_truth.repositories}
        names |= {f.repository for f in ground_truth.files if f.repository}
        self._sole = next(iter(names)).lower() if len(names) == 1 else None
        names |= {n for raw in remote_repositories if (n := repository_name(raw))}
        self._names = frozenset(n.lower() for n in names)
        self._folders = {
            r.folder.strip("/").lower(): r.name.lower()
            for r in ground_truth.repositories
            if r.folder
        }
        self._depths = sorted({1, *(f.count("/") + 1 for f in self._folders)}, reverse=True)
        self._index: dict[Identity, int] = {}
        self._bare: dict[Identity, int] = {}
        for position, file in enumerate(ground_truth.files):
            self._index.setdefault(file.key, position)
            name = file.path.lower()
            if "/" not in name and name not in _PER_FOLDER_NAMES:
                repository = file.key[0]
                self._bare[None if repository == self._sole else repository, name] = position
        self._files = ground_truth.files
        self._resolved: dict[FileRef, FileRef | None] = {}
        self._spelling: dict[Identity, str] = {f.key: f.path for f in ground_truth.files}
        self.collisions: list[str] = []

    def resolve(
        self, raw: str, *, cwd: str | None = None, repository: str | None = None
    ) -> FileRef | None:
        """Return the one identity of a raw path in this trial, or None when it names no file.

        A ground-truth file comes back as the very record of the ground truth.
        """
        ref = file_ref(raw, cwd=cwd, repository=repository, roots=self._roots)
        if ref is None:
            return None
        if ref not in self._resolved:
            self._resolved[ref] = self._resolve(ref)
        return self._resolved[ref]

    def covered(
        self, pattern: str, *, cwd: str | None = None, repository: str | None = None
    ) -> tuple[FileRef, ...]:
        """Return the ground-truth files that a raw pattern may mean.

        In a pattern ``*`` is any text, slashes included. One that names no folder that is known
        may mean a file below any.
        """
        if not pattern.strip("*/"):
            return self._files
        ref = file_ref(pattern, cwd=cwd, repository=repository, roots=self._roots)
        if ref is None:
            return ()
        wanted = self._canonical(ref)
        name, path = wanted.key
        expression = re.compile(".*".join(map(re.escape, path.split("*"))))
        return tuple(
            file
            for file in self._files
            if name in (None, file.key[0] or self._sole)
            and (expression.fullmatch(file.key[1]) or expression.fullmatch("/" + file.key[1]))
        )

    def position(self, file: FileRef) -> int | None:
        """Return the position of a resolved file in the ground-truth files, or None."""
        return self._index.get(file.key)

    def _resolve(self, ref: FileRef) -> FileRef | None:
        if ref.repository is None and self._repository_of(ref.path.lower()):
            return None
        position = self._find(ref)
        file = self._canonical(ref) if position is None else self._files[position]
        spelling = self._canonical(ref).path
        known = self._spelling.setdefault(file.key, spelling)
        if known != spelling and known.lower() == spelling.lower():
            self.collisions.append(str(file))
        return file

    def _canonical(self, ref: FileRef) -> FileRef:
        repository, path = ref.repository, ref.path
        if repository is None:
            repository, path = self._checkout(path)
        sole = repository is not None and repository.lower() == self._sole
        return FileRef(path, None if sole else repository)

    def _repository_of(self, folder: str) -> str | None:
        return self._folders.get(folder) or (folder if folder in self._names else None)

    def _checkout(self, path: str) -> tuple[str | None, str]:
        """Return the repository whose folder a path begins with, and what lies below it."""
        parts = path.split("/")
        for depth in self._depths:
            name = self._repository_of("/".join(parts[:depth]).lower())
            if name and depth < len(parts):
                return name, "/".join(parts[depth:])
        return None, path

    def _find(self, ref: FileRef) -> int | None:
        for candidate in self._candidates(ref):
            if candidate in self._index:
                return self._index[candidate]
        repository, path = self._canonical(ref).key
        if path.startswith("/"):
            return None
        name = path.rsplit("/", 1)[-1]
        return self._bare.get((repository, name), self._bare.get((None, name)))

    def _candidates(self, ref: FileRef) -> Iterator[Identity]:
        repository, path = ref.key
        yield (repository, path)
        if repository is not None:
            yield (None, f"{repository}/{path}")
            if self._sole == repository or (self._sole is None and self._is_telling(path)):
                yield (None, path)
            return
        name, rest = self._checkout(path)
        if name:
            yield (name, rest)
            if self._is_telling(rest):
                yield (None, rest)
        elif self._sole:
            yield (self._sole, path)

    def _is_telling(self, path: str) -> bool:
        """Return whether a path without repository is specific enough to identify this file.

        ``Cargo.toml`` exists in every repository of a task; ``pandas/core/arrays/masked.py``
        does not.
        """
        return "/" in path or len(self._names) <= 1


def _roots(cwd: str | None) -> tuple[str, ...]:
    """Return the workspace folders, with the agent's own start folder where it is another."""
    if not cwd or not cwd.startswith("/") or cwd.strip("/") in {"", "root", "home", "tmp"}:
        return WORKSPACE_ROOTS
    folder = cwd.rstrip("/") + "/"
    if folder.startswith(WORKSPACE_ROOTS):
        return WORKSPACE_ROOTS
    return tuple(sorted((*WORKSPACE_ROOTS, folder), key=len, reverse=True))
