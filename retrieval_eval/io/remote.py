"""Files behind URLs such as ``s3://bucket/run``: the one door to object storage (fsspec).

Credentials and endpoints come from the configuration of fsspec and of the storage's own library,
never from a URL, so that no artefact can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError

T = TypeVar("T")
R = TypeVar("R")

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLAIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://(?!/)(?:(?!::|/\.{1,2}(?:/|$))[^?#@\0-\x1f\x7f-\x9f])+"
)
_WHOLE: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"})
"""Protocols that show a file when all of it is there, and the former one until then."""
_N_AT_ONCE: Final = 16
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


def located(location: str | Path) -> Path | Place:
    """Return the local path that is named, as such or by a ``file:///`` URL, else the place.

    Examples
    --------
    >>> located("file:///shared/run").as_posix(), str(located("s3://bucket/run/"))
    ('/shared/run', 's3://bucket/run')
    """
    if not isinstance(location, str) or not is_url(location):
        return Path(location)
    is_local = location.startswith("file:///") and "\0" not in location
    return Path(location.removeprefix("file://")) if is_local else Place(location)


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a listing: its path in the listed folder, and its size."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Place:
    """A folder behind a URL.

    Parameters
    ----------
    url
        A plain URL without query, fragment or credentials.

    Raises
    ------
    BadInputError
        When the URL is of another form; it is not named, for it may hold a password.
    """

    url: str

    def __post_init__(self) -> None:
        scheme, _, rest = self.url.partition("://")
        object.__setattr__(self, "url", f"{scheme.lower()}://{rest.rstrip('/')}")
        if scheme.lower() == "file" or not _PLAIN.fullmatch(self.url):
            raise BadInputError(
                "a URL is of the form s3://bucket/folder or file:///folder, without user, "
                "password, query or fragment, and without . or .. in it: credentials and endpoints "
                "belong into fsspec's own configuration or environment"
            )

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        """The last part of the location."""
        return self.url.rsplit("/", 1)[-1]

    def files(self) -> list[Found]:
        """Return every file in this folder and below, sorted by path; nothing where none is."""
        with self._opened("listed") as (system, root):
            try:
                listed = system.find(root, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
        start = f"{root}/"
        found = [
            Found(name.removeprefix(start), int(entry.get("size") or 0))
            for name, entry in listed.items()
            if entry["type"] == "file" and name.startswith(start) and not name.endswith("/")
        ]
        return sorted(found, key=lambda file: file.path)

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return the content of files in this folder; empty where there is none of the name."""

        def content(name: str) -> bytes:
            with self._opened("read", name) as (system, path):
                try:
                    return bytes(system.cat_file(path))
                except FileNotFoundError:
                    return b""

        return _each(content, names)

    def copy(self, files: Sequence[Found], into: Path) -> set[str]:
        """Copy files into a private folder; return the paths of those that are not as listed.

        These are gone, of another size, or have a name that no folder can hold.
        """
        held, lost = laid_out(files, into)

        def is_as_listed(file: Found) -> bool:
            target = into / file.path
            with self._opened("read", file.path) as (system, path):
                try:
                    system.get_file(path, str(target))
                except FileNotFoundError:
                    target.unlink(missing_ok=True)
                    return False
            return target.stat().st_size == file.size

        same = _each(is_as_listed, held)
        return lost | {file.path for file, is_same in zip(held, same, strict=True) if not is_same}

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Write files of this folder, each whole or not at all."""
        if (scheme := self.url.partition("://")[0]) not in _WHOLE:
            raise BadInputError(
                f"{self}: cannot be written to, as half a file may be left over {scheme}:// when "
                "a writer is killed; name an output on S3, Google or Azure storage, or a local "
                "folder"
            )

        def put(file: tuple[str, bytes]) -> None:
            with self._opened("written", file[0]) as (system, path):
                system.pipe_file(path, file[1])

        _each(put, list(contents))

    def remove(self, names: Iterable[str]) -> None:
        """Delete files of this folder."""
        for name in names:
            with self._opened("removed", name) as (system, path):
                system.rm_file(path)

    @contextmanager
    def _opened(self, what: str, name: str = "") -> Iterator[tuple[Any, str]]:
        """Give the file system and a path in it; any error of a storage becomes one sentence."""
        shown = f"{self}/{name}" if name else str(self)
        scheme, _, path = shown.partition("://")
        try:
            core = import_module("fsspec.core")
        except ImportError:
            raise BadInputError(f"URLs are read with fsspec: {install_hint('dask')}") from None
        bucket, slash, rest = path.partition("/")
        try:
            # A listing that is kept would not show what other processes wrote since.
            system, root = core.url_to_fs(f"{scheme}://{bucket}", use_listings_cache=False)
            yield system, f"{root}{slash}{rest}"
        except BadInputError:
            raise
        except Exception as error:
            text = " ".join(_SECRET.sub("", str(error)).split())
            cause = f"{type(error).__name__}: {text[:200]}"
            raise BadInputError(f"{shown}: cannot be {what} ({cause})") from error


def laid_out(files: Sequence[Found], into: Path) -> tuple[list[Found], set[str]]:
    """Make a private folder with an empty file for each of a listing that it can hold.

    Returns
    -------
    list of Found
        The files that are there now; an empty object that only marks a folder is none.
    set of str
        The keys that no folder can hold: with empty or dotted parts, too long, or both a file and
        the folder of others.
    """
    held, lost = [], {file.path for file in files if not _is_plain(file.path)}
    plain = [file for file in files if file.path not in lost]
    for folder in {into, *((into / file.path).parent for file in plain)}:
        with suppress(OSError, ValueError):
            folder.mkdir(parents=True, exist_ok=True)
    for file in plain:
        target = into / file.path
        try:
            if target.is_dir():
                lost |= {file.path} if file.size else set()
                continue
            target.touch()
            held.append(file)
        except (OSError, ValueError):
            lost.add(file.path)
    return held, lost


def _is_plain(path: str) -> bool:
    # s3fs takes what follows `?versionId=` for no part of the name.
    is_named = "\0" not in path and "?versionId=" not in path
    return is_named and {"", ".", ".."}.isdisjoint(path.split("/"))


def _each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Call a function with each item, several at a time: a storage takes long to answer."""
    with ThreadPoolExecutor(_N_AT_ONCE) as threads:
        return list(threads.map(function, items))
