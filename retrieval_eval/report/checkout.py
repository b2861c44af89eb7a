"""Which commit of this project is running, read from files: no program is started."""

from __future__ import annotations

import re
from pathlib import Path

from retrieval_eval.io.files import read_text

_COMMIT = re.compile(r"[0-9a-f]{40,64}$")


def commit(root: Path | None = None) -> str | None:
    """Return the commit that a checkout is at, or None outside one.

    Parameters
    ----------
    root
        The checkout; by default the folder around the package.
    """
    git = (root or Path(__file__).resolve().parents[2]) / ".git"
    head = _line(git / "HEAD", git)
    if head is None:
        return None
    name = head.removeprefix("ref: ")
    if name == head:
        return head if _COMMIT.match(head) else None
    loose = _line(git / name, git)
    return loose if loose and _COMMIT.match(loose) else _packed(git, name)


def _packed(git: Path, name: str) -> str | None:
    for line in (read_text(git / "packed-refs", git).value or "").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name and _COMMIT.match(found):
            return found
    return None


def _line(path: Path, root: Path) -> str | None:
    text = read_text(path, root).value
    return text.strip() if text else None
