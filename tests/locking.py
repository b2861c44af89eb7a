"""A folder that may not be read, also for a superuser, whom no mode keeps out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest


def lock(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let every look at what lies below ``folder`` fail, and the listing of it too."""

    def locked(name: str, *, is_listing: bool = False) -> None:
        ask = getattr(Path, name)

        def asked(path: Path, *args: object, **more: object) -> object:
            if folder in path.parents or (is_listing and path == folder):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return ask(path, *args, **more)

        monkeypatch.setattr(Path, name, asked)

    locked("iterdir", is_listing=True)
    for name in ("stat", "lstat", "open", "read_bytes"):
        locked(name)
    scan = os.scandir

    def scanned(place: str | Path = ".") -> object:
        if folder in (Path(place), *Path(place).parents):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", scanned)
