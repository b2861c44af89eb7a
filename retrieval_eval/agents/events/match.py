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

from retrieval_eval.agents.events.roots import (
    PER_FOLDER_NAMES,
    START,
    Expected,
    Layout,
    Repositories,
    Root,
    identity,
    is_below,
    is_telling,
    stated_roots,
)
from retrieval_eval.paths import Names, in_checkout
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
        self._repositories = Repositories(ground_truth, remote_repositories)
        self._primary = self._repositories.primary
        self._is_relative = ground_truth.confidence == "high"
        self._index: dict[Identity, int] = {}
        self._bare: dict[Identity, int] = {}
        for position, file in enumerate(ground_truth.files):
            self._index.setdefault(file.key, position)
            name = file.path.lower()
            if "/" not in name and name not in PER_FOLDER_NAMES:
                repository = file.key[0]
                self._bare[None if repository == self._primary else repository, name] = position
        self._files = ground_truth.files
        heads = {path.partition("/")[0] for name, path in self._index if name is None}
        heads &= self._repositories.names
        self._heads = heads if self._primary is None and len(heads) > 1 else set()
        self._by_name: dict[str, list[FileRef]] = {}
        for file in self._files:
            self._by_name.setdefault(file.key[1].rpartition("/")[2], []).append(file)
        self._resolved: dict[tuple[str, str | None], _Resolved] = {}
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
        possible = () if position is not None else self._possible_remote(ref)
        if possible:
            return file, tuple(Placed(found, doubt="unplaced_path") for found in possible)
        return file, (Placed(file, "stated"),)

    def _possible_remote(self, ref: FileRef) -> tuple[FileRef, ...]:
        """Return the files that one of a remote repository may be, if the task writes no more."""
        repository, path = ref.key
        if self._primary is None and not self._heads:
            at = self._index.get((None, f"{repository}/{path}"))
            if at is not None:
                return (self._files[at],)
        return () if self._is_relative else self._bare_names(ref)

    def _local(self, path: str) -> _Resolved:
        is_adrift = not (path.startswith("/") or self._layout.has_workdirs)
        path = self._layout.spelled(path) if path.startswith("/") else f"{START}/{path}"
        same = identity(path)
        around = self._layout.around(path, same)
        if same.rpartition("/")[2] not in self._by_name:
            other, placement = self._other(path, same, [found for found in around if found[1]])
            return other, (Placed(other, placement),) if other is not None else ()
        if is_adrift and (drifted := self._adrift(same)):
            return drifted[0], tuple(Placed(file, doubt="unplaced_path") for file in drifted)
        for root, rest in around:
            ref = _within(root, rest)
            position = self._find(ref) if ref is not None else None
            if ref is not None and position is not None:
                file = self._files[position]
                self._note(file, self._canonical(ref))
                return file, (Placed(file, root.placement),)
        if (position := self._index.get((None, same))) is not None:
            return self._files[position], (Placed(self._files[position], "stated"),)
        inside = [found for found in around if found[1]]
        other, placement = self._other(path, same, inside)
        # In a virtual file system the root is the top of the checkout, whatever its folders' names.
        is_virtual = not (inside or self._layout.is_placed) and (None, same[1:]) in self._index
        is_barred = other is None or (self._layout.is_elsewhere(path) and not is_virtual)
        possible = () if is_barred else self._possible(same, inside)
        if possible:
            return other, tuple(Placed(file, doubt="unplaced_path") for file in possible)
        return other, (Placed(other, placement),) if other is not None else ()

    def _adrift(self, path: str) -> tuple[FileRef, ...]:
        """Return the files that a relative path may mean where a command ran in any folder.

        None where it is one of them from the top on and says enough to be no other.
        """
        _, _, rest = path.partition("/")
        files = self._by_name[path.rpartition("/")[2]]
        if any(file.key[1] == rest for file in files) and is_telling(rest):
            return ()
        return tuple(file for file in files if f"/{file.key[1]}".endswith(f"/{rest}"))

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
        if ref is None or (ref.repository is None and self._is_folder(ref.path)):
            return None, None
        file = self._canonical(ref)
        self._note(file, file)
        return file, root.placement

    def _is_folder(self, path: str) -> bool:
        return self._repositories.is_folder(path.lower())

    def _possible(self, path: str, around: Sequence[tuple[Root, str]]) -> tuple[FileRef, ...]:
        """Return the files of the ground truth that a local path may mean."""
        named = self._repositories.named
        folder, _, name = path.rpartition("/")
        found: dict[FileRef, None] = {}
        is_known = any(root.is_checkout or root.repository for root, _ in around)
        if not is_known:
            for above, files in self._expected.ends(path):
                if not self._layout.is_elsewhere(f"{above}/"):
                    own = named(above)
                    found.update((f, None) for f in files if self._may_be_of(f, own))
            is_open = not (around or self._layout.is_placed) or folder in self._layout.may_be
            if is_open or named(folder):
                at_top = self._expected.at(name)
                found.update((f, None) for f in at_top if self._may_be_of(f, named(folder)))
        if not (is_known and self._is_relative):
            refs = [_within(root, rest) for root, rest in around] if around else [FileRef(path)]
            for ref in filter(None, refs):
                found.update((f, None) for f in self._bare_names(ref))
        return tuple(found)

    def _may_be_of(self, file: FileRef, repository: str | None) -> bool:
        own = file.key[0] or self._primary
        return repository is None or own in (None, repository)

    def _bare_names(self, ref: FileRef) -> tuple[FileRef, ...]:
        """Return the files that the task gives by a name alone, which this one has too.

        Names that occur in most folders are those of files at the top.
        """
        if not self._bare:
            return ()
        repository, path = self._canonical(ref).key
        name = path.rpartition("/")[2]
        own = self._bare.get((repository, name))
        if path.startswith("/"):
            return tuple(self._files[n] for (_, b), n in self._bare.items() if b == name)
        is_primary = repository is None or self._primary in (None, repository)
        own = self._bare.get((None, name)) if own is None and is_primary else own
        return () if own is None else (self._files[own],)

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
            repository, path = self._repositories.split(path)
            if repository is None:
                return ref
        if repository.lower() == self._repositories.sole:
            return FileRef(path)
        return ref if repository == ref.repository else FileRef(path, repository)

    def _find(self, ref: FileRef) -> int | None:
        for candidate in self._candidates(ref):
            if candidate in self._index:
                return self._index[candidate]
        return None

    def _candidates(self, ref: FileRef) -> Iterator[Identity]:
        repository, path = ref.key
        yield (repository, path)
        if repository is not None:
            if repository in self._heads:
                yield (None, f"{repository}/{path}")
            if self._primary == repository or (self._primary is None and self._is_telling(path)):
                yield (None, path)
            return
        name, rest = self._repositories.split(path)
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
        return "/" in path or len(self._repositories.names) <= 1


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
