"""Files and folders that are held while a process works, and freed however it ends.

The system gives a lock back when its holder ends, also when it is killed. So a temporary file
without a lock is a leftover, whichever process, container or machine of a shared disk made it; the
number of a process would not show that, for numbers are used again.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from retrieval_eval.errors import BadInputError

if sys.platform != "win32":
    import fcntl

_PREFIX: Final = ".retrieval-eval."
_OURS: Final = re.compile(r"\.retrieval-eval\..+\.(?:tmp|lock)", re.DOTALL)
_PRIVATE: Final = ("retrieval-eval-", ".private")
_OUR_FOLDERS: Final = re.compile(r"retrieval-eval-[a-z0-9_]{8}\.private")
"""Folders that a person would not name so: such a folder without a lock is deleted."""

_SECONDS_BETWEEN: Final = 0.02

_ONLY_READ: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""What a folder answers in which this user may write nothing, and so needs no lock."""

_NO_LOCKS: Final = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}
)
"""What a file system answers that knows no locks, or none on this kind of file."""


def new_temporary(folder: Path) -> tuple[int, Path]:
    """Create a file in ``folder`` that only its owner may open; return its descriptor and path.

    `remove_leftovers` leaves it alone until the descriptor is closed. Raises ``OSError``.
    """
    while True:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=".tmp", dir=folder)
        if _is_kept(handle, name):
            return handle, Path(name)


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files in ``folder`` whose writers have ended; nothing else is looked at.

    Where the system has no such locks nothing is deleted. It never raises.
    """
    with suppress(OSError), os.scandir(folder) as found:
        for name in [entry.path for entry in found if _OURS.fullmatch(entry.name)]:
            _remove_free(name)


@contextmanager
def alone(path: Path, work: str, *, patience: float = 0.0) -> Iterator[None]:
    """Let no second process do the same to ``path`` while the block runs.

    In a folder that may only be read the block runs without a lock, for no process of this user
    can write there: what the block writes fails by itself, and what it need not write does not.
    So it does on a file system that knows no locks.

    Parameters
    ----------
    path
        A file that the block writes. Its folder is created, and deleted where it stays empty.
    work
        What is done, for the message, such as ``"makes this page"``.
    patience
        Seconds to wait for a process that is at it.

    Raises
    ------
    BadInputError
        When the other process is still at it then, or a lock cannot be made for another reason,
        such as a full disk, too many open files or a link in its place.
    """
    name = path.parent / f"{_PREFIX}{sha256(os.fsencode(path.name)).hexdigest()[:16]}.lock"
    missing = [place for place in path.parents if not os.path.lexists(place)]
    handle = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _held(name, monotonic() + patience)
        if handle is None:
            raise BadInputError(
                f"{path}: another process {work} now; start again when it has ended"
            )
    except OSError as error:
        if error.errno not in _ONLY_READ:
            raise BadInputError(
                f"{path}: cannot be written by one process alone ({error.strerror or error})"
            ) from error
    try:
        yield
    finally:
        if handle is not None:
            # While it is held, so that none waits for the lock of a deleted file.
            with suppress(OSError):
                name.unlink()
            os.close(handle)
        with suppress(OSError):
            for place in missing:
                place.rmdir()


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder among the temporary ones that is deleted afterwards.

    Those of processes that were killed are deleted first.
    """
    _remove_private_leftovers()
    while True:
        name = tempfile.mkdtemp(prefix=_PRIVATE[0], suffix=_PRIVATE[1])
        handle = _opened(name)
        if handle is None or _is_kept(handle, name):
            break
    try:
        yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _held(name: Path, end: float) -> int | None:
    """Return the descriptor of a lock file that is held, or None when another holds it."""
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            is_taken = _take(handle)
        except OSError:
            os.close(handle)
            raise
        # Its holder may have deleted the file after it was opened here.
        if is_taken is None or (is_taken and _is_named(handle, str(name))):
            return handle
        os.close(handle)
        if is_taken is False and monotonic() >= end:
            return None
        sleep(_SECONDS_BETWEEN)


def _take(handle: int, *, is_new: bool = False) -> bool | None:
    """Lock an open file or folder; return whether it worked, None where there are no locks.

    What is new can only be held by someone who is about to delete it, which is waited for.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if is_new else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def _is_kept(handle: int, name: str) -> bool:
    """Lock what was just created; return False, with it closed, when it was taken for a leftover.

    Between its creation and its lock it looks like one.
    """
    try:
        if _take(handle, is_new=True) is None or _is_named(handle, name):
            return True
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return False


def _is_named(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(name))
    except FileNotFoundError:
        return False


def _opened(name: str) -> int | None:
    """Return a descriptor of a file or folder itself, not of what a link leads to, or None."""
    if sys.platform == "win32":
        return None
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None


def _remove_free(name: str) -> None:
    handle = _opened(name)
    if handle is None:
        return
    try:
        with suppress(OSError):  # such as a folder of this name
            if _take(handle):
                Path(name).unlink()
    finally:
        os.close(handle)


def _remove_private_leftovers() -> None:
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
        names = [e.path for e in found if _OUR_FOLDERS.fullmatch(e.name) and e.is_dir()]
        for name in names:
            handle = _opened(name)
            if handle is None:
                continue
            with suppress(OSError):
                is_own = os.fstat(handle).st_uid == os.getuid()
                if is_own and _take(handle):
                    shutil.rmtree(name, ignore_errors=True)
            os.close(handle)
