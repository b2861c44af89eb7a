"""Write several files or none: files that only make sense together."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import is_device, replace_bytes, rights_of


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write all files or none, creating their folders.

    Everything that can fail for lack of space or rights happens in temporary folders beside the
    files; then each temporary file replaces its target.

    Parameters
    ----------
    files
        Path to content.

    Raises
    ------
    BadInputError
        When one of them cannot be written; then none is.
    """
    try:
        with ExitStack() as stack:
            staged = {
                path: _stage(path, data, stack)
                for path, data in files.items()
                if not is_device(path)
            }
            for path in files.keys() - staged.keys():
                replace_bytes(path, files[path])
            for path, temporary in staged.items():
                temporary.replace(path)
    except OSError as error:
        names = ", ".join(map(str, files))
        raise BadInputError(f"cannot be written: {names} ({error.strerror or error})") from error


def _stage(path: Path, data: bytes, stack: ExitStack) -> Path:
    if path.is_dir():
        raise BadInputError(f"{path}: cannot be written (is a folder)")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=f".{os.getpid()}.", suffix=".tmp", dir=path.parent)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    temporary = Path(folder) / path.name
    replace_bytes(temporary, data, mode=rights_of(path))
    return temporary
