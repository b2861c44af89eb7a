"""Files given on the command line: links are followed, and messages use the given name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_bytes, read_json, read_text, write_bytes

_T = TypeVar("_T")


def read_user_bytes(path: Path) -> bytes:
    """Return the bytes of a file; raises `BadInputError` when it cannot be read."""
    return _read(path, read_bytes)


def read_user_text(path: Path) -> str:
    """Return the text of a file; raises `BadInputError` when it cannot be read or is not UTF-8."""

    def read(real: Path, root: Path) -> tuple[str, str | None]:
        text = read_text(real, root)
        return text.value or "", text.problem

    return _read(path, read)


def read_user_json(path: Path) -> Any:
    """Return the JSON value in a file; raises `BadInputError` when it cannot be read as such."""

    def read(real: Path, root: Path) -> tuple[Any, str | None]:
        found = read_json(real, root)
        return found.value, found.problem

    return _read(path, read)


def _read(path: Path, read: Callable[[Path, Path], tuple[_T, str | None]]) -> _T:
    real = Path(os.path.realpath(path))
    value, problem = read(real, real.parent)
    if problem is not None:
        raise BadInputError(f"{path}: {problem.removeprefix(f'{real.name}: ')}")
    return value


# --------------------------------------------------------------------------------------------------
# Files that only their owner may ever read.

PRIVATE: Final = 0o600
_OTHERS: Final = 0o077


def write_private(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` with mode 0600, whole or not at all, creating its folder.

    The file is created with this mode and only then filled, so that no other user can open it
    in between; a file that is replaced loses wider rights. Raises `BadInputError` when it
    cannot be written.
    """
    write_bytes(path, data, mode=PRIVATE)


def is_private(path: Path) -> bool:
    """Return whether only the owner has rights on ``path``; always True off POSIX."""
    return os.name != "posix" or not path.stat().st_mode & _OTHERS


def write_log(text: str) -> Path | None:
    """Write ``text`` to a new private file among the temporary ones, or return None if it cannot.

    It never raises: it is for the moment when something else has failed already.
    """
    try:
        handle, name = tempfile.mkstemp(prefix="retrieval-eval-", suffix=".log")
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "backslashreplace"))
    except (OSError, MemoryError):
        return None
    return Path(name)
