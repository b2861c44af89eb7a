"""Identity of files inside one trial, and their match to the ground-truth files.

A file is its repository and its path, compared without case. A trace seldom has both: local
reads in a single-repository task name no repository, a checkout folder may precede the
path, remote tools name the repository separately. :class:`Workspace` brings all of these to one
identity, so that a file read twice in two ways counts once and the same path in another
repository is another file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from retrieval_eval.events.roots import (
    PER_FOLDER_NAMES,
    START,
    Expected,
    Layout,
    Root,
    identity,
    is_below,
    stated_roots,
)
from retrieval_eval.paths import (
    Names,
    checked_out,
    in_checkout,
    repository_name,
)
from retrieval_eval.records import Doubt, FileRef, GroundTruth, Placement

Identity = tuple[str | None, str]


class Placed(Struct, frozen=True, gc=False):
    """The file that a raw path means in a trial.

    ``placement`` says how it is known where the path lies; None where it lies outside every known
    folder. With a ``doubt`` the path may mean this file.
    """

    file: FileRef
    placement: Placement | None = None
    doubt: Doubt | None = None


_Resolved: TypeAlias = tuple[FileRef | None, tuple[Placed, ...]]


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
    layout
        Where the checkouts of the trial lie; else what is stated of it.
    paths
        The ways to write files that were read already.

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
        layout: Layout | None = None,
        paths: Names | None = None,
    ) -> None:
        self._paths = paths or Names()
        self._layout = layout or Layout(stated_roots(cwd, ground_truth))
        self._tops = {root.folder for root in self._layout.roots}
        self._expected = Expected(ground_truth.files)
        names = {r.name for r in ground_truth.repositories}
        names |= {f.repository for f in ground_truth.files if f.repository}
        self._sole = next(iter(names)).lower() if len(names) == 1 else None
        primary = self._sole or ground_truth.primary
        self._primary = primary.lower() if primary else None
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
            if "/" not in name and name not in PER_FOLDER_NAMES:
                repository = file.key[0]
                self._bare[None if repository == self._primary else repository, name] = position
        self._files = ground_truth.files
        self._last = {key[1].rpartition("/")[2] for key in self._index}
        self._resolved: dict[tuple[str, str | None], _Resolved] = {}
        self._repositories: dict[str, str | None] = {}
        self._spelling: dict[Identity, str] = {f.key: f.path for f in ground_truth.files}
        self.collisions: list[str] = []

    def resolve(
        self, raw: str, *, cwd: str | None = None, repository: str | None = None
    ) -> FileRef | None:
        """Return the one identity of a raw path in this trial, or None when it names no file.

        A file that certainly is one of the ground truth comes back as the very record of it.
        """
        return self._known(raw, cwd, repository)[0]

    def place(
        self, raw: str, *, cwd: str | None = None, repository: str | None = None
    ) -> tuple[Placed, ...]:
        """Return the file that a raw path means, or each that it may mean.

        None when it names no file. Never more than one without a doubt: a path that ends like files
        of the ground truth, below a folder that may or may not be a checkout, may mean any of them.

        Examples
        --------
        >>> expected = GroundTruth(files=(FileRef("src/a.py"),))
        >>> Workspace(expected).place("/srv/project/src/a.py")[0].doubt
        'unplaced_path'
        >>> Workspace(expected).place("/workspace/src/a.py")[0].placement
        'stated'
        """
        return self._known(raw, cwd, repository)[1]

    def _known(self, raw: str, cwd: str | None, repository: str | None) -> _Resolved:
        found = self._paths.of(raw, cwd, repository)
        if found is None:
            return None, ()
        known = self._resolved.get(found)
        if known is None:
            known = self._remote(FileRef(*found)) if found[1] else self._local(found[0])
            self._resolved[found] = known
        return known

    def _remote(self, ref: FileRef) -> _Resolved:
        position = self._find(ref)
        canonical = self._canonical(ref)
        file = canonical if position is None else self._files[position]
        self._note(file, canonical)
        return file, (Placed(file, "stated"),)

    def _local(self, path: str) -> _Resolved:
        path = self._layout.spelled(path) if path.startswith("/") else f"{START}/{path}"
        same = identity(path)
        around = self._layout.around(path, same)
        if same.rpartition("/")[2] not in self._last:
            other, placement = self._other(path, same, [found for found in around if found[1]])
            return other, (Placed(other, placement),) if other is not None else ()
        is_barred = self._layout.is_elsewhere(path)
        for root, rest in around:
            ref = _within(root, rest)
            position = self._find(ref, has_bare_names=not is_barred) if ref is not None else None
            if ref is not None and position is not None:
                file = self._files[position]
                self._note(file, self._canonical(ref))
                return file, (Placed(file, root.placement),)
        if (position := self._index.get((None, same))) is not None:
            return self._files[position], (Placed(self._files[position], "stated"),)
        inside = [found for found in around if found[1]]
        other, placement = self._other(path, same, inside)
        possible = () if other is None or is_barred else self._possible(same, inside)
        if possible:
            return other, tuple(Placed(file, doubt="unplaced_path") for file in possible)
        return other, (Placed(other, placement),) if other is not None else ()

    def _other(
        self, path: str, same: str, around: Sequence[tuple[Root, str]]
    ) -> tuple[FileRef | None, Placement | None]:
        """Return the identity of a path that is no file of the ground truth, None for a folder."""
        if same in self._tops:
            return None, None
        if not around:
            file = FileRef(path)
            self._note(file, self._canonical(file))
            return file, None
        root, rest = max(around, key=lambda found: len(found[0].folder))
        ref = _within(root, rest)
        if ref is None or (ref.repository is None and self._is_folder(ref.path.lower())):
            return None, None
        file = self._canonical(ref)
        self._note(file, file)
        return file, root.placement

    def _possible(self, path: str, around: Sequence[tuple[Root, str]]) -> tuple[FileRef, ...]:
        """Return the files of the ground truth that a path outside every checkout may mean."""
        if any(root.is_checkout or root.repository for root, _ in around):
            return ()
        found: dict[FileRef, None] = {}
        for folder, files in self._expected.ends(path):
            name = self._repository_of(folder.rpartition("/")[2])
            if not self._layout.is_elsewhere(f"{folder}/"):
                found.update((f, None) for f in files if name in (None, f.key[0] or self._primary))
        folder, _, name = path.rpartition("/")
        own = self._repository_of(folder.rpartition("/")[2])
        found.update((f, None) for f in self._expected.at(name) if own and own == f.key[0])
        if not around:
            found.update((self._files[n], None) for (_, b), n in self._bare.items() if b == name)
        return tuple(found)

    def _note(self, file: FileRef, seen: FileRef) -> None:
        """Note when a file was seen in two spellings."""
        spelling = seen.path
        known = self._spelling.setdefault(file.key, spelling)
        if known != spelling and known.lower() == spelling.lower():
            self.collisions.append(str(file))

    def covered(
        self, pattern: str, *, cwd: str | None = None, repository: str | None = None
    ) -> tuple[FileRef, ...]:
        """Return the ground-truth files that a raw pattern may mean.

        In a pattern ``*`` is any text, slashes included. One that names no folder that is known
        may mean a file below any.
        """
        if repository is None and not pattern.strip("*/"):
            return self._files
        path, name = self._paths.of(pattern, cwd, repository) or ("", None)
        if not path:
            return ()
        if name is not None:
            return tuple(file for file in self._files if self._fits(FileRef(path, name), file))
        path = self._layout.spelled(path) if path[0] == "/" else f"{START}/{path}"
        head, star, _ = identity(path).partition("*")
        if self._layout.is_elsewhere(head):
            return ()
        found = tuple(file for file in self._files if self._is_covered(path, file))
        is_known = any(root.is_checkout or root.repository for root in self._layout.roots)
        if found or is_known or any(is_below(head, root.folder) for root in self._layout.roots):
            return found
        anywhere = star + identity(path)[len(head) + 1 :] if star else ""
        return tuple(file for file in self._files if fits(anywhere, f"/{file.key[1]}"))

    def _is_covered(self, path: str, file: FileRef) -> bool:
        """Return whether a local pattern may mean a file below one of the roots."""
        around = dict(self._layout.around(path, identity(path)))
        for root in self._layout.roots:
            inside = _within(root, around.get(root, ""))
            if inside is not None and self._fits(inside, file):
                return True
            own = root.repository or self._primary
            is_own = own is None or file.key[0] in (None, own)
            if is_own and fits(identity(path), f"{root.folder}/{file.key[1]}"):
                return True
        return False

    def _fits(self, pattern: FileRef, file: FileRef) -> bool:
        name, path = self._canonical(pattern).key
        is_own = name in (None, file.key[0] or self._primary)
        return is_own and (fits(path, file.key[1]) or fits(path, f"/{file.key[1]}"))

    def position(self, file: FileRef) -> int | None:
        """Return the position of a resolved file in the ground-truth files, or None."""
        return self._index.get(file.key)

    def _canonical(self, ref: FileRef) -> FileRef:
        repository, path = ref.repository, ref.path
        if repository is None:
            repository, path = self._checkout(path)
            if repository is None:
                return ref
        if repository.lower() == self._sole:
            return FileRef(path)
        return ref if repository == ref.repository else FileRef(path, repository)

    def _is_folder(self, path: str) -> bool:
        """Return whether a path is the folder of a checkout itself."""
        return path in self._folders or path in self._names

    def _repository_of(self, folder: str) -> str | None:
        stated = self._folders.get(folder)
        if stated is not None or "/" in folder:
            return stated
        if folder not in self._repositories:
            self._repositories[folder] = checked_out(folder, self._names)
        return self._repositories[folder]

    def _checkout(self, path: str) -> tuple[str | None, str]:
        """Return the repository whose folder a path begins with, and what lies below it."""
        parts = path.split("/")
        for depth in self._depths:
            name = self._repository_of("/".join(parts[:depth]).lower())
            if name and depth < len(parts):
                return name, "/".join(parts[depth:])
        return None, path

    def _find(self, ref: FileRef, *, has_bare_names: bool = True) -> int | None:
        for candidate in self._candidates(ref):
            if candidate in self._index:
                return self._index[candidate]
        if not has_bare_names or not self._bare:
            return None
        repository, path = self._canonical(ref).key
        if path.startswith("/"):
            return None
        name = path.rsplit("/", 1)[-1]
        own = self._bare.get((repository, name))
        is_primary = repository is None or self._primary in (None, repository)
        return self._bare.get((None, name)) if own is None and is_primary else own

    def _candidates(self, ref: FileRef) -> Iterator[Identity]:
        repository, path = ref.key
        yield (repository, path)
        if repository is not None:
            yield (None, f"{repository}/{path}")
            if self._primary == repository or (self._primary is None and self._is_telling(path)):
                yield (None, path)
            return
        name, rest = self._checkout(path)
        if name:
            yield (name, rest)
            if self._primary in (None, name) and self._is_telling(rest):
                yield (None, rest)
        elif self._primary:
            yield (self._primary, path)

    def _is_telling(self, path: str) -> bool:
        """Return whether a path without repository is specific enough to identify this file.

        ``Cargo.toml`` exists in every repository of a task; ``pandas/core/arrays/masked.py``
        does not.
        """
        return "/" in path or len(self._names) <= 1


def fits(pattern: str, text: str) -> bool:
    """Return whether a text is one that a pattern may mean; ``*`` is any text.

    Examples
    --------
    >>> fits("src/*.py", "src/core/a.py"), fits("src/*.py", "src/a.pyi")
    (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    at, end = len(first), len(text) - len(rest[-1])
    if at > end or not (text.startswith(first) and text.endswith(rest[-1])):
        return False
    for piece in rest[:-1]:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _within(root: Root, rest: str) -> FileRef | None:
    """Return a path below a root as a file of its repository, or None when it is no file there."""
    if not rest:
        return None
    if root.repository:
        return FileRef(rest, root.repository)
    found = in_checkout(rest)
    return FileRef(*found) if found is not None else None
