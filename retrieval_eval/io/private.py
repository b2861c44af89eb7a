"""Files that only their owner may ever read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from retrieval_eval.io.files import write_bytes

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
