"""Files that only their owner may read, at every moment of their life."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
_OTHERS: Final = 0o077


def write_private(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` with mode 0600, whole or not at all, creating its folder.

    The file is created with this mode and only then filled, so that nobody else can open it for
    a moment in between; a file that is replaced loses wider rights.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp creates with mode 0600, whatever the umask allows beyond it.
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name[:80]}.{os.getpid()}.", suffix=".tmp", dir=path.parent
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_private(path: Path) -> bool:
    """Return whether nobody but the owner has any right on ``path``; always True off POSIX."""
    return os.name != "posix" or not path.stat().st_mode & _OTHERS
