"""Write several files or none: files that only make sense together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import is_device, replace_bytes, staged
from retrieval_eval.io.locks import alone

_PATIENCE = 30.0


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write all files or none, creating their folders.

    Everything that can fail for lack of space or rights happens in temporary files beside the
    files; then each of them replaces its target. Another process that writes the same files waits
    until then, so that none of its files lies beside one of these. A process that is killed just
    between two replacements leaves files of both; writing them again makes them whole.

    Parameters
    ----------
    files
        Path to content.

    Raises
    ------
    BadInputError
        When one of them cannot be written; then none is.
    """
    devices = [path for path in files if is_device(path)]
    paths = [path for path in files if path not in devices]
    try:
        for path in paths:
            if path.is_dir():
                raise BadInputError(f"{path}: cannot be written (is a folder)")
        with ExitStack() as stack:
            temporary = {path: stack.enter_context(staged(path, files[path])) for path in paths}
            if paths:
                stack.enter_context(alone(min(paths), "writes it", patience=_PATIENCE))
            for path in devices:
                replace_bytes(path, files[path])
            for path in paths:
                temporary[path].replace(path)
    except OSError as error:
        names = ", ".join(map(str, files))
        raise BadInputError(f"cannot be written: {names} ({error.strerror or error})") from error
