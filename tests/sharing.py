"""Folders that the workers of a test run make once, for whichever of them needs one first."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the test run that ``make`` has filled; it does not change afterwards."""
    own = factory.getbasetemp()
    root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, made = root / f"shared-{name}", root / f"shared-{name}.made"
    with (root / f"shared-{name}.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
