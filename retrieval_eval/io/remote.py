"""Files behind URLs such as ``s3://bucket/run``: the one door to object storage (fsspec).

Credentials and endpoints come from the configuration of fsspec and of the storage's own library,
never from a URL, so that no artefact can hold them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import files_below, is_inside, probe, replace_bytes
from retrieval_eval.io.locks import private_folder

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLAIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://(?!/)(?:(?!::|/\.{1,2}(?:/|$))[^?#@\0-\x1f\x7f-\x9f])+"
)
_LOCAL: Final = re.compile(r"(?:file|local)://(.*)", re.IGNORECASE | re.DOTALL)
_WHOLE: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"})
"""Protocols that show a file when all of it is there, and the former one until then."""
_N_LISTING: Final = 16
_AT_ONCE: Final = 32 << 20
"""Bytes of small files that are fetched together; a larger file is written as it arrives."""

_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 3000
_SECRET: Final = re.compile(r"(?<=://)[^/\s@]*@|\?[^\s\"']*")
"""What a message of a library may hold of an endpoint: who asks, and with what signature."""


def is_url(location: object) -> bool:
    """Return whether a location is a URL and no local path.

    Examples
    --------
    >>> is_url("s3://bucket/run"), is_url("runs/a"), is_url(Path("runs"))
    (True, False, False)
    """
    return isinstance(location, str) and _URL.match(location) is not None


def local_of(location: str | Path) -> Path | None:
    """Return the path of a local place, which a ``file://`` URL is too; None for any other URL."""
    if not is_url(location):
        return Path(location)
    match = _LOCAL.fullmatch(str(location))
    return _local_path(match[1]) if match else None


def local_path(location: str | Path, name: str = "") -> Path:
    """Return the path of a local place, where no other is taken.

    Whatever takes a path as text comes through here, but for runs, benchmarks and outputs.
    ``name`` is what the message calls it.

    Raises
    ------
    BadInputError
        For a URL but ``file://``, which may hold a password and is not named.

    Examples
    --------
    >>> local_path("file:///shared/run").as_posix()
    '/shared/run'
    >>> local_path("s3://key:secret@bucket/run")
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: a URL is not taken here, only a local path or file:///path
    """
    if (local := local_of(location)) is None:
        start = f"{name}: " if name else ""
        raise BadInputError(f"{start}a URL is not taken here, only a local path or file:///path")
    return local


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a listing: its path below the listed folder, its size, and its version.

    The version is the storage's own digest of the content where it has one, else the time of the
    last change. In a local folder it is empty: there the content itself is looked at.
    """

    path: str
    size: int
    version: str

    def below(self, folder: str | Path) -> Found:
        """Return the same file as one of the folder above."""
        return Found(f"{folder}/{self.path}", self.size, self.version)


class Place:
    """A folder behind a URL, or a local one; the same calls work on both.

    Parameters
    ----------
    location
        A plain URL without query, fragment or credentials, or a local path.

    Raises
    ------
    BadInputError
        When the URL is of another form, or the library for its protocol is not installed.
    """

    def __init__(self, location: str | Path) -> None:
        if (local := local_of(location)) is not None:
            # As names of runs are resolved: `..` is taken out of the text.
            self._local: Path | None = Path(os.path.abspath(local))  # noqa: PTH100
            self._text = str(self._local)
            return
        scheme, _, rest = str(location).partition("://")
        self._local, self._text = None, f"{scheme.lower()}://{rest.rstrip('/')}"
        if not _PLAIN.fullmatch(self._text):
            raise BadInputError(
                f"a {scheme.lower()} URL is of the form scheme://bucket/folder, without user, "
                "password, query or fragment, and without . or .. in it: credentials and endpoints "
                "belong into fsspec's own configuration or environment"
            )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Place({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __truediv__(self, name: str) -> Place:
        if self._local is not None:
            return Place(self._local / name)
        # A name of a listing may hold what a URL of a user may not.
        inner = object.__new__(Place)
        inner._local, inner._text = None, f"{self._text}/{name}"
        return inner

    @property
    def name(self) -> str:
        """The last part of the location."""
        return self._text.rsplit("/", 1)[-1]

    @property
    def local(self) -> Path | None:
        """The local path, or None behind a URL."""
        return self._local

    @property
    def parent(self) -> Place:
        """The folder above."""
        if self._local is not None:
            return Place(self._local.parent)
        scheme, _, rest = self._text.partition("://")
        above = rest.rpartition("/")[0]
        return Place(f"{scheme}://{above}") if above else self

    def _opened(self) -> tuple[Any, str]:
        """Return the file system and the path in it."""
        scheme, _, path = self._text.partition("://")
        bucket, slash, rest = path.partition("/")
        # A listing that is kept would not show what other processes wrote since. The names after
        # the bucket are no URL: `::` or `?` in one means nothing.
        system, root = _fsspec().url_to_fs(f"{scheme}://{bucket}", use_listings_cache=False)
        return system, f"{root}{slash}{rest}"

    def children(self) -> tuple[list[str], list[Found]]:
        """Return the names of the folders and the files directly behind this URL, sorted."""
        with _done(self, "listed"):
            system, root = self._opened()
            try:
                found = system.ls(root, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return [], []
        folders, files = [], []
        for entry in found:
            path = _below(entry["name"], root)
            if "/" in path or (not path and entry["name"] != f"{root}/"):
                continue
            if entry["type"] == "directory":
                folders.append(path)
            elif path:
                files.append(self._found(path, entry))
        return sorted(folders), sorted(files, key=lambda f: f.path)

    def files(self) -> list[Found]:
        """Return every file below this folder, sorted by path; nothing where there is none."""
        if self._local is not None:
            inside = [p for p in files_below(self._local) if is_inside(p, self._local)]
            return [_local_file(p, self._local) for p in inside if probe(p.is_file)]
        with _done(self, "listed"):
            system, root = self._opened()
            try:
                found = system.find(root, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
        named = ((_below(name, root), entry) for name, entry in found.items())
        files = [
            self._found(path, entry) for path, entry in named if path and entry["type"] == "file"
        ]
        return sorted(files, key=lambda f: f.path)

    def _found(self, path: str, entry: dict[str, Any]) -> Found:
        version = entry.get("ETag") or entry.get("etag") or entry.get("md5Hash")
        if not version:
            moments = (entry.get(name) for name in ("mtime", "LastModified", "updated", "created"))
            version = next((str(moment) for moment in moments if moment), "")
        if not version:
            raise BadInputError(
                f"{self / path}: the storage has neither a digest nor the time of the last change "
                "of it, so a change would not be noticed; evaluate a copy of the run"
            )
        return Found(path, int(entry.get("size") or 0), str(version).strip('"'))

    def exists(self) -> bool:
        """Return whether there is such a file, or a folder that holds something."""
        if self._local is not None:
            return probe(self._local.exists)
        with _done(self, "looked up"):
            system, root = self._opened()
            return bool(system.exists(root))

    def read(self) -> bytes:
        """Return the content of this file; raises ``FileNotFoundError`` where there is none."""
        with _done(self, "read"):
            if self._local is not None:
                return self._local.read_bytes()
            system, root = self._opened()
            return bytes(system.cat_file(root))

    def write(self, data: bytes) -> None:
        """Write this file whole or not at all; readers see the former content until it is done."""
        with _done(self, "written"):
            if self._local is not None:
                replace_bytes(self._local, data)
                return
            if (scheme := self._text.partition("://")[0]) not in _WHOLE:
                raise BadInputError(
                    f"{self}: cannot be written to, as half a file may be left over {scheme}:// "
                    "when a writer is killed; name an output on S3, Google or Azure storage, or a "
                    "local folder"
                )
            system, root = self._opened()
            system.pipe_file(root, data)

    def remove(self) -> None:
        """Delete this file; one that is gone already is no error."""
        with _done(self, "removed"):
            if self._local is not None:
                self._local.unlink(missing_ok=True)
                return
            system, root = self._opened()
            try:
                system.rm_file(root)
            except FileNotFoundError:
                return

    def open_file(self) -> Any:
        """Open this file for reading by parts; the caller closes it."""
        with _done(self, "read"):
            if self._local is not None:
                return self._local.open("rb")
            system, root = self._opened()
            return system.open(root, "rb", cache_type="readahead")

    @contextmanager
    def copied(
        self, paths: Sequence[Found], *, folders: Iterable[str] = (), empty: Iterable[str] = ()
    ) -> Iterator[Path]:
        """Give a private temporary folder with a copy of some files behind this URL.

        A file that is gone, or that no local folder can hold (`unholdable`), is missing there.
        ``folders`` are there in any case, and of the files in ``empty`` only the name is.
        """
        with private_folder() as root:
            for name in filter(is_plain, folders):
                (root / name).mkdir(parents=True, exist_ok=True)
            names = list(empty)
            left_out = unholdable([*names, *(found.path for found in paths)])
            for name in (n for n in names if n not in left_out):
                _put(root / name, b"")
            small: list[Found] = []
            room = _AT_ONCE
            for found in (f for f in paths if f.path not in left_out):
                if found.size > _AT_ONCE:
                    self._stream(found.path, root)
                    continue
                if found.size > room:
                    self._fetch(small, root)
                    small, room = [], _AT_ONCE
                small.append(found)
                room -= found.size
            self._fetch(small, root)
            yield root

    def _fetch(self, files: Sequence[Found], into: Path) -> None:
        if not files:
            return
        with _done(self, "read"):
            system, root = self._opened()
            # Unlike others this call takes every name as it is, also one with a star in it.
            names = [f"{root}/{found.path}" for found in files]
            # With a start no request for the size goes first; an empty file has no first byte.
            starts = [0 if found.size else None for found in files]
            contents = system.cat_ranges(names, starts, None, on_error="return")
        for found, data in zip(files, contents, strict=True):
            if isinstance(data, FileNotFoundError):
                continue
            with _done(self / found.path, "read"):
                if isinstance(data, BaseException):
                    raise data
                _put(into / found.path, data)

    def _stream(self, path: str, into: Path) -> None:
        place = self / path
        with _done(place, "read"):
            try:
                source = place.open_file()
            except FileNotFoundError:
                return
            with source, _created(into / path) as copy:
                shutil.copyfileobj(source, copy, 1 << 20)


def listed(places: Sequence[Place]) -> Iterator[list[Found]]:
    """Yield the files below each of some folders, in their order; several are listed at a time."""
    with ThreadPoolExecutor(_N_LISTING) as threads:
        ahead: deque[Future[list[Found]]] = deque()
        for place in places:
            if len(ahead) == _N_LISTING:
                yield ahead.popleft().result()
            ahead.append(threads.submit(place.files))
        while ahead:
            yield ahead.popleft().result()


def is_plain(path: str) -> bool:
    """Return whether a key of a storage is a path that a local folder can hold.

    Examples
    --------
    >>> is_plain("a/b.json"), is_plain("../b"), is_plain("/etc/x"), is_plain("a//b")
    (True, False, False, False)
    """
    if "\0" in path or (os.name == "nt" and re.search(r"[\\:]", path)):
        return False
    try:
        parts = os.fsencode(path).split(b"/")
    except UnicodeEncodeError:
        return False
    return len(path) <= _LONGEST_PATH and all(
        part not in (b"", b".", b"..") and len(part) <= _LONGEST_NAME for part in parts
    )


def differing(copy: Path, files: Sequence[Found]) -> list[Found]:
    """Return the files of a listing whose copy is missing or of another size.

    Those that no local folder can hold (`unholdable`) are left out.
    """
    left_out = unholdable(found.path for found in files)
    sizes = ((f, copy / f.path) for f in files if f.path not in left_out)
    return [f for f, path in sizes if not probe(path.is_file) or path.stat().st_size != f.size]


def unholdable(paths: Iterable[str]) -> set[str]:
    """Return the keys of a storage that one local folder cannot hold together.

    These are the ones that are not plain, and files with the name of a folder of others.

    Examples
    --------
    >>> sorted(unholdable(["agent", "agent/trace.txt", "agent//x", "b"]))
    ['agent', 'agent//x']
    """
    paths = set(paths)
    plain = set(filter(is_plain, paths))
    folders = {path[:at] for path in plain for at, sign in enumerate(path) if sign == "/"}
    return (paths - plain) | (plain & folders)


def _local_path(rest: str) -> Path:
    """Return the path that follows ``file://``; it is taken as it is, without percent-decoding."""
    path = rest.removeprefix("localhost") if rest.lower().startswith("localhost/") else rest
    if not path.startswith("/") or "\0" in path:
        raise BadInputError(
            "a file URL is of the form file:///folder, with three slashes and no host; for a "
            "folder of another machine name the path at which it is mounted here"
        )
    return Path(path)


def _created(path: Path) -> BinaryIO:
    """Open a new file of a private copy; raises where there is one of this name already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


def _put(path: Path, data: bytes) -> None:
    with _created(path) as copy:
        copy.write(data)


@contextmanager
def _done(place: Place, what: str) -> Iterator[None]:
    """Make one sentence of any error of a storage; what cannot be read may just be missing."""
    try:
        yield
    except BadInputError:
        raise
    except Exception as error:
        if what == "read" and isinstance(error, FileNotFoundError):
            raise
        text = " ".join(_SECRET.sub("", str(error)).split())
        cause = f"{type(error).__name__}: {text[:200]}"
        raise BadInputError(f"{place}: cannot be {what} ({cause})") from error


def _below(name: str, root: str) -> str:
    """Return a path of a listing relative to the listed folder; empty where it lies elsewhere."""
    start = f"{root.rstrip('/')}/"
    return name.removeprefix(start) if name.startswith(start) else ""


def _local_file(path: Path, root: Path) -> Found:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return Found(path.relative_to(root).as_posix(), size, "")


def _fsspec() -> Any:
    try:
        return import_module("fsspec.core")
    except ImportError:
        raise BadInputError(f"URLs are read with fsspec: {install_hint('cloud')}") from None
