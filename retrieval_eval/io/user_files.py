"""Files given on the command line: links are followed, and messages use the given name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_bytes, read_json, read_text

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
