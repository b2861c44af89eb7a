"""Where the checkouts of a trial lie, inferred from what the trace shows.

A checkout may lie anywhere: in the folder that a harness mounts, in a home, under its own name, in
a worktree. Its folder is *stated* (by the session, the task, or the layout of a known harness),
*observed* (an agent cloned into it, git named it, it holds ``.git``, or an agent worked in it and
it holds files of the ground truth or has the repository's name), or *inferred*: the one folder
below which all the paths lie that end like files of the ground truth. What is not decided stays
possible.

A folder with the name of the repository is no checkout for that alone: below the checkout of
``acme/widgets`` the package ``widgets`` has it too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeAlias

from retrieval_eval.agents.events.calls import ReadCall
from retrieval_eval.agents.traces.shell.places import Place
from retrieval_eval.paths import (
    TEMPORARY,
    WORKSPACE_ROOTS,
    Names,
    checked_out,
    checkout_names,
    is_elsewhere,
    local_path,
    repository_name,
)
from retrieval_eval.records import FileRef, GroundTruth, Placement

START: Final = "."
"""The folder that relative paths begin in while it is not known."""

PER_FOLDER_NAMES: Final = frozenset(
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

_TOP_FILES: Final = frozenset(
    {".gitignore", ".gitattributes", "cargo.toml", "contributing.md", "go.mod", "go.work"}
    | {"license", "license.md", "license.txt", "makefile", "package.json", "pnpm-workspace.yaml"}
    | {"pom.xml", "pyproject.toml", "readme.md", "readme.rst", "setup.cfg", "setup.py"}
)
"""Files at the top of a project: the folder that holds one may be a checkout."""

_SHARED: Final = re.compile(
    r"/?(?:root|tmp|var|var/tmp|opt|srv|mnt|data|~|(?:home|users)(?:/[^/]+)?)?"
)
"""Folders that hold checkouts and are none."""
_HOME: Final = re.compile(r"/root(?=/|$)|/(?:home|Users)/[^/]+(?=/|$)")
_MAY_HOLD_HOME: Final = re.compile(r"root|home|Users|%")
_LETTER: Final = re.compile(r"/[A-Za-z](?=/)")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]|/(?:mnt|cygdrive)/[A-Za-z]/")
_WORKTREE: Final = re.compile(r"(/.{0,1000}?)/\.(?:claude/worktrees|worktrees)/[^/]+(?=/)")
"""A further checkout that a harness keeps inside the first one."""
_PARTS: Final = frozenset(
    {"__tests__", "apps", "benchmarks", "cmd", "components", "crates", "doc", "docs", "example"}
    | {"examples", "extensions", "fixtures", "generated", "internal", "libs", "modules", "packages"}
    | {"pkg", "plugins", "samples", "services", "spec", "specs", "templates", "test", "testdata"}
    | {"tests"}
)
"""Folders inside a checkout: what lies below one is seldom a checkout of its own."""
_CHECKOUTS: Final = frozenset({"/testbed"})
"""Folders that harnesses mount one checkout as, and never one beside another."""
_INSTANCE: Final = re.compile(
    r"[a-z0-9][\w.-]{0,100}?__[\w.-]{1,100}(?:__v?\d[\w.+-]{0,50}|-\d{1,9})"
)
"""A folder named by owner, repository and version or issue, as no folder in a checkout is."""
_RUNNER: Final = re.compile(r"/(?:\w+/runner/work|__w)/")
"""Where the runner of a workflow keeps each checkout in a folder of the same name."""
_MOST_CANDIDATES: Final = 50
_MOST_ROOTS: Final = 50
_MOST_TRIED: Final = 200


@dataclass(frozen=True, slots=True)
class Root:
    """A folder in which paths of the ground truth begin.

    ``folder`` is absolute, in lower case and without final slash, or :data:`START`.
    ``repository`` is the repository that is checked out there, None where the task's repositories
    may lie in it. ``is_checkout``: it is known to be the top of a checkout, so that
    a longer path below it is another file.
    """

    folder: str
    placement: Placement
    repository: str | None = None
    is_checkout: bool = False
    prefix: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", f"{self.folder}/")

    def rest(self, path: str) -> str | None:
        """Return what follows the folder in a path without case, or None where it is not below."""
        return path[len(self.prefix) :] if path.startswith(self.prefix) else None


@dataclass(frozen=True, slots=True)
class Layout:
    r"""Where the checkouts of a trial lie.

    ``roots`` are ordered: the first that makes a path a file of the ground truth decides.
    ``elsewhere`` are checkouts of other repositories. ``has_drives``: the trial ran where
    ``/c/work`` is ``C:\work``. ``home`` is the folder that ``~`` means. ``is_placed``: some
    folder is known in which a checkout may lie. ``has_workdirs``: a relative path begins in the
    folder of the session, for the trace states which other folder a command ran in. ``may_be`` are
    folders that may be the top of a checkout: files directly in them may be those at its top.
    """

    roots: tuple[Root, ...]
    elsewhere: frozenset[str] = frozenset()
    may_be: frozenset[str] = frozenset()
    has_drives: bool = False
    home: str | None = None
    is_placed: bool = False
    has_workdirs: bool = True

    def is_elsewhere(self, path: str) -> bool:
        """Return whether a path lies where no checkout of the task is."""
        is_other = bool(self.elsewhere) and is_inside(identity(path), self.elsewhere)
        return is_other or is_elsewhere(path, has_drives=self.has_drives)

    def around(self, path: str, same: str) -> list[tuple[Root, str]]:
        """Return the roots that a path lies below, in order, each with the rest of the path.

        ``same`` is its identity.
        """
        found = [root for root in self.roots if same.startswith(root.prefix)]
        if path.isascii():
            return [(root, path[len(root.prefix) :]) for root in found]
        parts = path.split("/") if found else []
        return [(root, "/".join(parts[root.prefix.count("/") :])) for root in found]

    def spelled(self, path: str) -> str:
        """Return an absolute path in the one spelling of this trial."""
        if path.startswith("/~/") and self.home is not None:
            path = self.home + path[2:]
        return _LETTER.sub("", path, count=1) if self.has_drives and _LETTER.match(path) else path


def identity(path: str) -> str:
    """Return a path without case and in one Unicode form."""
    path = path.lower()
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path lies in a folder, at any depth."""
    return path.startswith(f"{folder}/")


def is_inside(path: str, folders: Container[str]) -> bool:
    """Return whether a path lies in one of several folders, at any depth."""
    return any(folder in folders for folder in _above(path))


def is_shared(folder: str) -> bool:
    """Return whether a folder holds checkouts and is none, such as a home or ``/tmp``."""
    return _SHARED.fullmatch(folder.lower()) is not None


def stated_roots(cwd: str | None, truth: GroundTruth | None = None) -> tuple[Root, ...]:
    """Return the folders that need no evidence: of the task, of known harnesses, of the session.

    Examples
    --------
    >>> [root.folder for root in stated_roots("/home/dev/project")][:2]
    ['/ccb_crossrepo/src', '/home/dev/project']
    """
    named = [r for r in truth.repositories if (r.folder or "").startswith("/")] if truth else []
    task = [Root(identity(str(r.folder)), "stated", r.name.lower(), True) for r in named]
    folders = {root.rstrip("/") for root in WORKSPACE_ROOTS}
    start = local_path(cwd) if cwd else None
    if start is not None and start.strip("/") not in {"", "root", "home", "tmp"}:
        start = identity(start)
        if not any(start == folder or is_below(start, folder) for folder in folders):
            folders.add(start)
    known = [Root(folder, "stated") for folder in sorted(folders, key=lambda f: (-len(f), f))]
    return (*task, *known, Root(START, "stated"))


class Repositories:
    """The repositories of a trial, and what the name of a folder says of them.

    Parameters
    ----------
    truth
        What the task expects: it names repositories and, perhaps, their folders.
    remote
        Raw names of the repositories that remote tools of the trial named.

    Attributes
    ----------
    names
        All of them in lower case.
    sole
        The only repository of the task, if it has one.
    primary
        The repository that paths without one belong to.

    Examples
    --------
    >>> from retrieval_eval.records import Repository
    >>> found = Repositories(GroundTruth(repositories=(Repository("widgets"),)))
    >>> found.named("widgets"), found.proved("widgets"), found.proved("widgets-1.2")
    ('widgets', None, 'widgets')
    """

    def __init__(self, truth: GroundTruth, remote: Iterable[str] = ()) -> None:
        stated = {r.name.lower() for r in truth.repositories}
        stated |= {file.repository.lower() for file in truth.files if file.repository}
        self.sole = next(iter(stated)) if len(stated) == 1 else None
        primary = self.sole or truth.primary
        self.primary = primary.lower() if primary else None
        self._apart = stated - {self.primary} if len(stated) > 1 else set()
        others = {name.lower() for raw in remote if (name := repository_name(raw))}
        self.names = frozenset(stated | others)
        self._folders = {
            r.folder.strip("/").lower(): r.name.lower() for r in truth.repositories if r.folder
        }
        self._depths = sorted({1, *(f.count("/") + 1 for f in self._folders)}, reverse=True)
        self._known: dict[str, str | None] = {}

    def named(self, folder: str) -> str | None:
        """Return the repository that a folder may be a checkout of, by the last part of its name.

        A package of that repository may have the same name.
        """
        name = folder.rpartition("/")[2]
        if name not in self._known:
            self._known[name] = checked_out(name, self.names)
        return self._known[name]

    def proved(self, folder: str) -> str | None:
        """Return the repository that a folder in a workspace is a checkout of by its name alone.

        The name says more than that of the repository: its owner, its revision. Or the task has
        several repositories, which lie in folders of their own.
        """
        name = self.named(folder)
        return name if name != folder.rpartition("/")[2] or name in self._apart else None

    def split(self, path: str) -> tuple[str | None, str]:
        """Return the repository whose folder a path in a workspace begins with, and the rest.

        None for the repository where no folder at the beginning is proved to be a checkout.
        """
        parts = path.split("/")
        for depth in self._depths:
            folder = "/".join(parts[:depth]).lower()
            name = self._folders.get(folder) or (self.proved(folder) if depth == 1 else None)
            if name and depth < len(parts):
                return name, "/".join(parts[depth:])
        return None, path

    def is_folder(self, path: str) -> bool:
        """Return whether a path in a workspace is the folder of a repository, or named like one."""
        return path in self._folders or path in self.names


class Expected:
    """The files of a ground truth by the ends of their paths.

    Examples
    --------
    >>> expected = Expected([FileRef("src/a.py")])
    >>> list(expected.ends("/home/dev/project/src/a.py"))
    [('/home/dev/project', (FileRef(path='src/a.py', repository=None),))]
    """

    def __init__(self, files: Iterable[FileRef]) -> None:
        self._files: dict[str, tuple[FileRef, ...]] = {}
        self.folders: set[str] = set()
        for file in files:
            path = file.key[1]
            if not path.startswith("/"):
                self._files[path] = (*self._files.get(path, ()), file)
                self.folders.add(path.rpartition("/")[0])
        self.folders.discard("")
        self._depth = max((path.count("/") for path in self._files), default=0)
        self._last = {path.rpartition("/")[2] for path in (*self._files, *self.folders)}

    def may_hold(self, path: str) -> bool:
        """Return whether one of the files, or a folder of one, has the last name of ``path``."""
        return path.rpartition("/")[2] in self._last

    def at(self, path: str) -> tuple[FileRef, ...]:
        """Return the files with exactly this path, of any repository."""
        return self._files.get(path, ())

    def ends(self, path: str) -> Iterator[tuple[str, tuple[FileRef, ...]]]:
        """Yield each folder below which ``path`` is a file with two components or more."""
        if not self.may_hold(path):
            return
        for above, rest in _ends(path, self._depth + 1, 2):
            if rest in self._files:
                yield above, self._files[rest]

    def hosts(self, path: str) -> Iterator[str]:
        """Yield each folder below which a file beside ``path`` can be one of the files."""
        folder = path.rpartition("/")[0]
        if not self.may_hold(folder):
            return
        for above, rest in _ends(folder, self._depth, 1):
            if rest in self.folders:
                yield above


def _ends(path: str, most: int, least: int) -> Iterator[tuple[str, str]]:
    """Yield a path divided into folder and rest, the rest of so many components."""
    parts = path.split("/")
    for n in range(min(most, len(parts) - 1), least - 1, -1):
        yield "/".join(parts[:-n]), "/".join(parts[-n:])


@dataclass(slots=True)
class _Seen:
    """What the calls of a trial show: paths, folders worked in, checkouts.

    ``paths`` says of each whether it was retrieved before it was written: what an agent wrote tells
    little. ``reread`` are those that were retrieved after. ``remote`` are the files that remote
    tools named, each with its repository.
    """

    paths: dict[str, bool] = field(default_factory=dict)
    reread: dict[str, bool] = field(default_factory=dict)
    remote: dict[tuple[str, str], None] = field(default_factory=dict)
    visited: dict[str, None] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    layout: Layout = field(default_factory=lambda: Layout(()))
    names: Names = field(default_factory=Names)

    def folder(self, raw: str | None) -> str | None:
        path = self.names.local(raw) if raw else None
        return identity(self.layout.spelled(path)) if path else None

    def path(self, raw: str, cwd: str | None) -> str | None:
        path = self.names.local(raw, cwd)
        if path is not None:
            return identity(self.layout.spelled(path))
        return None if cwd or "::" in raw or "://" in raw else identity(f"{START}/{raw}")


def _observed(reads: Sequence[ReadCall], cwd: str | None, names: Names) -> _Seen:
    seen = _Seen(names=names)
    # Each once, retrieved and written, in the order in which they first occur.
    raws = dict.fromkeys(
        (target.path, folder, target.access != "written")
        for read in reads
        for target, folder in read.raw_targets()
        if target.repository is None and target.doubt is None
    )
    worked = [cwd, *(f for r in reads for f in (r.call.cwd, r.use.command_cwd))]
    places = [p for r in reads if r.shell is not None for p in r.shell.places]
    places += _isolated(reads, cwd)
    texts = {*worked, *(raw for raw, _, _ in raws), *(p.folder for p in places)}
    texts |= {folder for _, folder, _ in raws}
    known = [names.local(text) for text in texts if text and _MAY_HOLD_HOME.search(text)]
    homes = {m[0] for path in known if path and (m := _HOME.match(path))}
    has_drives = any(text is not None and _DRIVE.match(text) for text in texts)
    home = next(iter(homes)) if len(homes) == 1 else None
    seen.layout, seen.places = Layout((), has_drives=has_drives, home=home), places
    seen.remote = {
        (name.lower(), identity(target.path.strip("/"))): None
        for read in reads
        for target, _ in read.raw_targets()
        if target.repository and (name := repository_name(target.repository))
    }
    for raw, folder, is_retrieved in raws:
        path = seen.path(raw, folder)
        if path is not None and not seen.paths.setdefault(path, is_retrieved) and is_retrieved:
            seen.reread[path] = True
    for text in (*worked, *(p.folder for p in places if p.kind in {"visited", "start"})):
        found = seen.folder(text)
        if found is not None:
            seen.visited[found] = None
    return seen


def _isolated(reads: Iterable[ReadCall], cwd: str | None) -> Iterator[Place]:
    """Yield the worktrees that a harness made for an agent.

    One that it made for a sub-agent is the folder in which this begins, and one that an agent
    entered is the folder of the next call.
    """
    begun: set[str] = set()
    entering: dict[str | None, str | None] = {}
    is_isolating = False
    for read in reads:
        call, agent = read.call, read.call.parent_id
        is_isolating = is_isolating or call.arguments.get("isolation") == "worktree"
        if call.cwd is not None:
            source = entering.pop(agent, None)
            if source is None and agent is not None and agent not in begun and is_isolating:
                source = cwd if cwd and not is_below(call.cwd, cwd) else None
            if source is not None and call.cwd != source:
                yield Place("worktree", call.cwd, source)
            begun.add(agent or "")
        if call.name.replace("_", "").lower() == "enterworktree" and read.has_result:
            entering[agent] = call.cwd or cwd


def find_layout(
    reads: Sequence[ReadCall],
    cwd: str | None,
    truth: GroundTruth,
    names: Names | None = None,
    *,
    has_workdirs: bool = True,
) -> Layout:
    """Return where the checkouts of a trial lie.

    Parameters
    ----------
    reads
        The interpreted calls of the trial.
    cwd
        The folder the session states to have begun in.
    truth
        The ground truth: its repositories are the known ones.
    names
        The ways to write files that were read already.
    has_workdirs
        Whether the trace states in which folder each command ran.

    Returns
    -------
    Layout
        Roots in the order of their evidence: stated, observed, inferred. A folder is inferred for a
        repository only where it alone explains every path that ends like one of its files, where
        nothing shows that a folder above it is the checkout, and where no path would then be two
        files of the ground truth.
    """
    found = _Finder(_observed(reads, cwd, names or Names()), cwd, truth).layout()
    return replace(found, has_workdirs=has_workdirs)


@dataclass(slots=True)
class _Explained:
    """The paths below a folder that end like files of the ground truth, and these files."""

    paths: set[str] = field(default_factory=set)
    files: set[FileRef] = field(default_factory=set)


_ByRepository: TypeAlias = dict[str | None, dict[str, _Explained]]


class _Finder:
    def __init__(self, seen: _Seen, cwd: str | None, truth: GroundTruth) -> None:
        self._seen = seen
        self._expected = Expected(truth.files)
        self._repositories = Repositories(truth)
        self._names, self._sole = self._repositories.names, self._repositories.primary
        start = local_path(cwd) if cwd else None
        self._roots = list(stated_roots(seen.layout.spelled(start) if start else None, truth))
        self._start = identity(seen.layout.spelled(start)) if start else None
        self._elsewhere: set[str] = set()
        self._tops: set[str] = set()
        visited = (seen.folder(p.folder) for p in seen.places if p.kind in {"start", "visited"})
        self._commanded = {folder for folder in visited if folder}
        self._budget = iter(range(_MOST_TRIED))
        self._telling = dict.fromkeys(filter(self._expected.may_hold, seen.paths))
        self._copies = self._found_copies()
        self._worktrees = self._found_worktrees()
        self._hosts = self._places_of_evidence()

    def layout(self) -> Layout:
        self._add_start()
        self._add_checkouts()
        self._add_instance()
        self._mark_mounts()
        self._add_named()
        self._confirm()
        self._add_session()
        self._infer()
        self._add_worktrees()
        seen = self._seen.layout
        return Layout(
            tuple(self._roots),
            frozenset(self._elsewhere),
            self._may_be(),
            seen.has_drives,
            seen.home,
            self._is_placed(),
        )

    def _is_placed(self) -> bool:
        """Return whether the trial shows a folder in which the checkout may lie."""
        mounts = [root for root in stated_roots(None) if root.folder != START]
        around = {root.folder for root in mounts}
        return len(self._roots) > len(mounts) + 1 or any(
            folder in around or is_inside(folder, around)
            for folder in (*self._seen.visited, *self._seen.paths)
        )

    def _may_be(self) -> frozenset[str]:
        """Return the folders that may be the top of a checkout.

        They are clones, and in a workspace those directly below it and those worked in.
        """
        around = {
            root.folder
            for root in self._roots
            if not root.is_checkout and (root.prefix in WORKSPACE_ROOTS or is_shared(root.folder))
        }
        folders = dict.fromkeys(
            folder
            for path in self._telling
            if (folder := path.rpartition("/")[0]).rpartition("/")[0] in around
            or (folder in self._seen.visited and is_inside(folder, around))
        )
        found = {
            folder
            for folder in islice(folders, _MOST_TRIED)
            if self._is_open(folder) and not self._is_contradicted(folder) and not _is_part(folder)
        }
        return frozenset(found | self._copies)

    # What the trial shows

    def _places_of_evidence(self) -> dict[str, list[str]]:
        """Return the folders that look like the top of a checkout, each with the paths that do."""
        hosts: dict[str, list[str]] = defaultdict(list)
        for path in self._seen.paths:
            folder, _, name = path.rpartition("/")
            is_telling = name in _TOP_FILES or self._expected.may_hold(folder)
            if not is_telling or self._is_installed(path):
                continue
            if name in _TOP_FILES and not is_shared(folder):
                hosts[folder].append(path)
            for above in self._expected.hosts(path):
                hosts[above].append(path)
        return hosts

    def _is_installed(self, path: str) -> bool:
        return self._seen.layout.is_elsewhere(path)

    def _add(self, root: Root) -> None:
        if len(self._roots) >= _MOST_ROOTS or not root.folder or is_shared(root.folder):
            return
        if next(self._budget, None) is None:
            return
        if self._is_consistent(root):
            known = [r for r in self._roots if r.folder == root.folder]
            if not any(r.repository == root.repository and r.is_checkout for r in known):
                self._roots.append(root)

    def _is_consistent(self, root: Root) -> bool:
        """Return whether no seen path is one file by this root and another by an earlier one."""
        for path in self._telling:
            rest = root.rest(path)
            mine = self._expected.at(rest) if rest else ()
            if mine and any(set(mine).isdisjoint(other) for other in self._files(path)):
                return False
        return True

    def _files(self, path: str) -> Iterator[tuple[FileRef, ...]]:
        """Yield the files of the ground truth that a path is by the roots so far."""
        for root in self._roots if self._expected.may_hold(path) else ():
            if not path.startswith(root.prefix):
                continue
            rest = path[len(root.prefix) :]
            found = self._expected.at(rest)
            own = root.repository or self._sole
            found = tuple(f for f in found if f.key[0] in (None, own))
            if found:
                yield found
            elif root.repository is None:
                name, below = self._repositories.split(rest)
                named = tuple(f for f in self._expected.at(below) if f.key[0] in (None, name))
                if name and named:
                    yield named

    # Evidence, the strongest first

    def _add_start(self) -> None:
        """Add where a shell began; a folder that git names above the session's replaces it."""
        tops = [self._seen.folder(p.folder) for p in self._seen.places if p.kind == "top"]
        self._roots = [
            root
            for root in self._roots
            if root.repository is not None
            or not any(top and is_below(root.folder, top) for top in tops)
            or f"{root.folder}/" in WORKSPACE_ROOTS
        ]
        starts = [self._seen.folder(p.folder) for p in self._seen.places if p.kind == "start"]
        for start in starts[:1]:
            if start is not None and not any(start == r.folder for r in self._roots):
                self._add(Root(start, "observed"))

    def _add_checkouts(self) -> None:
        """Clones whose repository is known, and folders that git names as a top."""
        cloned: dict[str, str | None] = {}
        for place in self._seen.places:
            folder = self._seen.folder(place.folder)
            if folder is None or place.kind not in {"clone", "top"}:
                continue
            name = repository_name(place.source) if place.kind == "clone" and place.source else None
            cloned[folder] = name.lower() if name else cloned.get(folder)
        for folder in self._with_git():
            cloned.setdefault(folder, None)
        cloned = {folder: name for folder, name in cloned.items() if not self._is_copied(folder)}
        known = {f: n or self._repositories.named(f) for f, n in cloned.items()}
        for folder, name in known.items():
            if name in self._names:
                self._add(Root(folder, "observed", name, True))
            elif name is not None and self._names:
                self._elsewhere.add(folder)
        open_ones = [folder for folder, name in known.items() if name not in self._names]
        unknown = [folder for folder in open_ones if folder not in self._elsewhere]
        if len(unknown) == 1 and not self._has_direct_hit(unknown[0]):
            self._add(Root(unknown[0], "observed", self._sole, True))
        self._tops = set(unknown)

    def _add_instance(self) -> None:
        """Add the one folder in a workspace with the name of an instance of a benchmark."""
        around = {root.folder for root in self._roots if root.repository is None}
        named = {
            "/".join(path.split("/")[:3])
            for path in (*self._seen.paths, *self._seen.visited)
            if "__" in path and f"/{path.split('/')[1]}" in around
        }
        found = [f for f in named if _INSTANCE.fullmatch(f.rpartition("/")[2])]
        name = self._repositories.named(found[0]) if len(found) == 1 else None
        if len(found) == 1 and (name or not self._names) and self._is_open(found[0]):
            self._add(Root(found[0], "observed", name, True))

    def _found_copies(self) -> frozenset[str]:
        """Return the clones of a repository that need not be the checkout of the task.

        One is that checkout only where the agent did not work or read anywhere else.
        """
        cloned = {
            folder
            for place in self._seen.places
            if place.kind == "clone" and (folder := self._seen.folder(place.folder))
            if not self._names or (repository_name(place.source or "") or "").lower() in self._names
        }
        if not cloned:
            return frozenset()
        start = self._start if self._start and not is_shared(self._start) else None
        is_beside = any(
            is_retrieved and not (is_inside(path, cloned) or self._is_installed(path))
            for path, is_retrieved in self._seen.paths.items()
            if not path.startswith(TEMPORARY)
        )
        return frozenset(
            folder
            for folder in cloned
            if is_beside
            or folder.startswith(TEMPORARY)
            or not (start is None or _holds(start, folder))
        )

    def _is_copied(self, folder: str) -> bool:
        return folder in self._copies or is_inside(folder, self._copies)

    def _with_git(self) -> list[str]:
        """Return the folders that hold ``.git``, but for parts of others such as submodules."""
        ends = (f"{path}/".partition("/.git/") for path in self._seen.paths if "/.git" in path)
        found = {folder for folder, mark, _ in ends if mark and folder}
        listed = (self._seen.folder(p.folder) for p in self._seen.places if p.kind == "git")
        found |= {folder for folder in listed if folder}
        own = (f for f in found if self._repositories.named(f) or not is_inside(f, found))
        return sorted(f for f in own if not self._is_installed(f"{f}/"))

    def _mark_mounts(self) -> None:
        """Mark what harnesses mount as a checkout, unless checkouts are known inside of it."""
        inside = [root.folder for root in self._roots if root.is_checkout]
        for at, root in enumerate(self._roots):
            if root.folder in _CHECKOUTS and not any(is_below(f, root.folder) for f in inside):
                used = (*self._seen.visited, *self._seen.paths)
                if any(path == root.folder or is_below(path, root.folder) for path in used):
                    self._roots[at] = replace(root, is_checkout=True)

    def _has_direct_hit(self, besides: str) -> bool:
        return any(
            self._seen.paths[path] and not is_below(path, besides) and any(self._files(path))
            for path in self._telling
        )

    def _add_named(self) -> None:
        """Folders with the name of a repository: one worked in, or beside another repository's."""
        beside: dict[str, dict[str, str]] = defaultdict(dict)
        known: set[str] = set()
        for path, is_retrieved in self._seen.paths.items():
            for folder in _above(path) if is_retrieved else ():
                if folder in known:
                    break
                known.add(folder)
                name = self._repositories.named(folder)
                if name:
                    beside[folder.rpartition("/")[0]][folder] = name
        together = [f for found in beside.values() if len({*found.values()}) > 1 for f in found]
        together += [f for found in beside.values() for f in found if self._is_remote(f, found[f])]
        for folder in dict.fromkeys((*self._seen.visited, *together)):
            name = self._repositories.named(folder)
            around = (above for above in _above(folder) if not is_shared(above))
            if any(self._repositories.named(above) == name for above in around):
                continue
            is_proved = folder in together or self._repositories.proved(folder) is not None
            if not (is_proved or self._is_worked_in(folder)):
                continue
            if name and self._is_open(folder) and not self._is_contradicted(folder, together):
                self._add(Root(folder, self._placement(folder), name, True))

    def _is_remote(self, folder: str, name: str) -> bool:
        """Return whether a remote tool named a file of the repository as one below the folder."""
        return any(
            "/" in rest and f"{folder}/{rest}" in self._seen.paths
            for repository, rest in self._seen.remote
            if repository == name and (name, f"{name}/{rest}") not in self._seen.remote
        )

    def _is_worked_in(self, folder: str) -> bool:
        """Return whether the agent worked in a folder and in none that may hold its checkout."""
        return folder in self._seen.visited and not any(
            above in self._seen.visited and not is_shared(above) for above in _above(folder)
        )

    def _is_open(self, folder: str) -> bool:
        """Return whether a folder may be a checkout: no known one holds it, nor is it installed.

        One among temporary files is hardly that of a session which began in another folder.
        """
        if self._is_installed(f"{folder}/") or is_inside(f"{folder}/", self._elsewhere):
            return False
        if self._is_copied(folder):
            return False
        start = self._start
        if folder.startswith(TEMPORARY) and start and not is_shared(start):
            return is_below(f"{start}/", folder) or is_below(folder, start)
        known = {root.folder for root in self._roots if root.is_checkout}
        return not (is_inside(folder, known) or is_inside(folder, self._tops))

    def _is_contradicted(self, folder: str, together: Sequence[str] = ()) -> bool:
        """Return whether files beside a folder say that one above it is the checkout.

        Files in folders that are checkouts ``together`` with it say nothing.
        """
        apart = {folder, *together}
        for above in _above(folder):
            if is_shared(above) or above == START:
                continue
            for path in self._hosts.get(above, ()):
                if not is_inside(path, apart):
                    return True
        return False

    def _has_neighbours(self, folder: str, apart: Sequence[str]) -> bool:
        """Return whether files below the same workspace, but outside the folder, were retrieved."""
        around = [r for r in self._roots if is_below(folder, r.folder) and not r.is_checkout]
        named = {*apart, *(r.folder for r in self._roots if r.repository is not None)}
        for root in around:
            for path, is_retrieved in self._seen.paths.items():
                rest = root.rest(path) if is_retrieved else None
                if rest is None or "/" not in rest or rest.startswith("."):
                    continue
                if is_below(path, folder) or self._is_installed(path):
                    continue
                if not is_inside(path, named):
                    return True
        return False

    def _confirm(self) -> None:
        """Mark the workspaces that are themselves a checkout: files of it lie directly below."""
        candidates = {
            above
            for path in self._telling
            if self._seen.paths[path] and not any(self._files(path))
            for above, _ in self._expected.ends(path)
        }
        for at, root in enumerate(self._roots):
            inside = {c for c in candidates if is_below(c, root.folder)}
            is_confirmed = root.repository is None and any(
                self._is_file_of(root, path)
                or (root.folder in self._expected.hosts(path) and not is_inside(path, inside))
                for path in self._hosts.get(root.folder, ())
            )
            if is_confirmed:
                self._roots[at] = Root(root.folder, root.placement, None, True)

    def _is_file_of(self, root: Root, path: str) -> bool:
        """Return whether a path is a file of the ground truth that lies in a folder of a root."""
        rest = root.rest(path) or ""
        return "/" in rest and any(f.key[0] in (None, self._sole) for f in self._expected.at(rest))

    def _add_session(self) -> None:
        """Add the session's folder inside a workspace, unless the checkout lies above it."""
        start = self._start
        if start is None or any(root.folder == start for root in self._roots):
            return
        if any(is_below(start, root.folder) for root in self._roots) and (
            self._is_open(start) and not self._is_contradicted(start) and not _is_part(start)
        ):
            self._add(Root(start, "stated", self._repositories.named(start)))

    def _infer(self) -> None:
        """Add the folders that explain the paths which end like files of the ground truth."""
        explained, placed = self._explained(self._seen.paths)
        late, _ = self._explained(self._seen.reread)
        explained = {**late, **explained}
        for repository, folders in explained.items():
            others = {f for r, found in explained.items() if r != repository for f in found}
            apart = tuple(others - folders.keys())
            for folder in self._chosen(repository, folders, apart, repository in placed):
                is_disputed = any(
                    folder in found for r, found in explained.items() if r and r != repository
                )
                if not is_disputed:
                    placement = self._placement(folder)
                    self._add(Root(folder, placement, repository, True))

    def _placement(self, folder: str) -> Placement:
        return "observed" if folder in self._seen.visited else "inferred"

    def _explained(self, paths: Mapping[str, bool]) -> tuple[_ByRepository, set[str | None]]:
        """Return for each repository the folders below which paths end like its files.

        With it the repositories that have files at a place that is known.
        """
        explained: _ByRepository = defaultdict(dict)
        placed: set[str | None] = set()
        for path, is_retrieved in paths.items():
            if not (is_retrieved and path in self._telling) or is_inside(path, self._worktrees):
                continue
            direct = [file for files in self._files(path) for file in files]
            if not is_below(path, START):
                placed.update(file.key[0] for file in direct)
            for folder, files in self._expected.ends(path) if not direct else ():
                for file in files if folder and self._is_open(folder) else ():
                    if self._repositories.named(folder) in (None, file.key[0] or self._sole):
                        found = explained[file.key[0]].setdefault(folder, _Explained())
                        found.paths.add(path)
                        found.files.add(file)
        return explained, placed

    def _chosen(
        self,
        repository: str | None,
        folders: Mapping[str, _Explained],
        apart: Sequence[str],
        is_placed: bool,
    ) -> list[str]:
        """Return the folders that are checkouts of a repository; ``apart`` may be of others."""
        if len(folders) > _MOST_CANDIDATES or len(apart) > _MOST_CANDIDATES:
            return []
        allowed = [folder for folder in folders if not self._is_contradicted(folder, apart)]
        own = repository or self._sole
        named = [f for f in allowed if own and self._repositories.named(f) == own]
        proved = [f for f in named if self._repositories.proved(f)]
        if proved:
            return proved
        unnamed = [f for f in named or allowed if not is_placed]
        everything = {path for found in folders.values() for path in found.paths}
        whole = [f for f in unnamed if folders[f].paths == everything or _explains_all(f, folders)]
        visited = [f for f in unnamed if f in self._seen.visited]
        chosen = whole if len(whole) == 1 else visited if len(visited) == 1 else []
        return [
            f
            for f in chosen
            if not self._has_neighbours(f, apart)
            and not _is_part(f)
            and not _is_package(f)
            and (f in visited or len(folders[f].files) > 1 or not self._is_at_work_above(f))
            and (f in visited or _is_telling(folders[f].files))
        ]

    def _is_at_work_above(self, folder: str) -> bool:
        """Return whether commands ran in a root above a folder, which then may be the checkout."""
        around = (root.folder for root in self._roots if is_below(folder, root.folder))
        return any(above == START or above in self._commanded for above in around)

    def _found_worktrees(self) -> dict[str, str]:
        """Return the further checkouts of a checkout, each with a folder inside the first."""
        found: dict[str, str] = {}
        for place in self._seen.places:
            folder = self._seen.folder(place.folder)
            source = self._seen.folder(place.source) if place.kind == "worktree" else None
            if folder is not None and source is not None and folder != source:
                found[folder] = source
        for path in self._seen.paths if len(found) < _MOST_ROOTS else ():
            inside = _WORKTREE.match(path) if "worktrees/" in path else None
            if inside is not None:
                found.setdefault(inside[0], inside[1])
        return found

    def _add_worktrees(self) -> None:
        for folder, source in self._worktrees.items():
            if is_inside(f"{source}/", self._elsewhere):
                self._elsewhere.add(folder)
                continue
            if self._is_copied(source.removesuffix("/.")):
                continue
            around = [r for r in self._roots if _holds(r.folder, source)]
            if around:
                best = max(around, key=lambda r: len(r.folder))
                self._add(Root(folder, "observed", best.repository, True))
            elif self._is_open(folder) and len(self._worktrees) == 1:
                self._add(Root(folder, "observed", self._sole, True))


def _holds(folder: str, other: str) -> bool:
    return folder == other or is_below(other, folder)


def _above(folder: str) -> Iterator[str]:
    """Yield every folder above a folder."""
    while (folder := folder.rpartition("/")[0]) not in {"", START}:
        yield folder


def _explains_all(folder: str, folders: Mapping[str, _Explained]) -> bool:
    """Return whether all other folders lie below this one and explain fewer files."""
    return all(
        is_below(other, folder) and found.files < folders[folder].files
        for other, found in folders.items()
        if other != folder
    )


def _is_part(folder: str) -> bool:
    """Return whether a folder is more likely a part of a checkout than one itself."""
    return not _PARTS.isdisjoint(folder.split("/")[-2:])


def _is_package(folder: str) -> bool:
    """Return whether a folder has the name of the one above it, as a package in its checkout."""
    above, _, name = folder.rpartition("/")
    is_named = name in checkout_names(above.rpartition("/")[2])
    return is_named and _RUNNER.match(above) is None


def _is_telling(files: Iterable[FileRef]) -> bool:
    return any(is_telling(file.key[1]) for file in files)


def is_telling(path: str) -> bool:
    """Return whether a path in lower case says more than ``src/index.ts``, which many have.

    Examples
    --------
    >>> is_telling("src/a.py"), is_telling("src/main.py"), is_telling("a.py")
    (True, False, False)
    """
    n_folders = path.count("/")
    return n_folders > 1 or (n_folders == 1 and path.rpartition("/")[2] not in PER_FOLDER_NAMES)
