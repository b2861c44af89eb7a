"""Files that a user names, with links followed, and the project file ``retrieval-eval.toml``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.files import decode_toml, read_bytes, read_json, read_text, write_bytes
from retrieval_eval.model.design import PROJECT_FILE
from retrieval_eval.records import Renderer

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


def followed(path: Path) -> Path:
    """Return where a path leads; raises `BadInputError` for a name that no file can have."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise BadInputError(f"{visible(path)}: no name of a file ({error})") from error


def _read(path: Path, read: Callable[[Path, Path], tuple[_T, str | None]]) -> _T:
    real = followed(path)
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


# --------------------------------------------------------------------------------------------------
# The project file ``retrieval-eval.toml``: what commands would otherwise be given each time.

DATA: Final = Path("data/eval")
GOLD: Final = DATA / "gold-set.jsonl"

Text = Annotated[str, msgspec.Meta(min_length=1)]


class BacklogNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section ``[backlog]``: where items under review lie, and how they are named there."""

    source: Text | None = None
    preset: Text = "standard"
    table: Text | None = None
    status: Text | None = None
    created: Text | None = None
    block: Text | None = None


class Project(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a project file states. Paths in it are relative to its folder.

    ``study`` is the section of the design, which :mod:`retrieval_eval.agents.study` reads.
    """

    runs: Text | None = None
    benchmarks: Text | None = None
    data: Text = DATA.as_posix()
    reports: Text = "reports"
    gold: Text | None = None
    corpus: Text | None = None
    renderer: Renderer = "auto"
    jobs: Annotated[int, msgspec.Meta(ge=1)] | None = None
    backlog: BacklogNames = BacklogNames()
    study: dict[str, Any] = {}
    path: Path | None = None
    """The file itself; None where there is none."""

    def place(self, text: str) -> Path:
        """Return a stated path as the current folder names it."""
        if self.path is None or Path(text).is_absolute():
            return Path(text)
        return Path(os.path.relpath(self.path.parent / text))

    @property
    def data_folder(self) -> Path:
        """Folder of the runs that are named by their label."""
        return self.place(self.data)

    @property
    def reports_folder(self) -> Path:
        """Folder of the pages."""
        return self.place(self.reports)

    @property
    def gold_set(self) -> Path:
        """The gold set: the stated one, else the one in the data folder."""
        return self.data_folder / GOLD.name if self.gold is None else self.place(self.gold)

    @property
    def corpus_file(self) -> Path | None:
        """The file of the corpus, if one is stated."""
        return None if self.corpus is None else self.place(self.corpus)


def project(start: Path | None = None) -> Project:
    """Return the nearest project file, of the current folder or one above; else the defaults.

    Raises `BadInputError` for a file that cannot be read, with the key that is wrong.
    """
    here = Path.cwd() if start is None else start
    for folder in (here, *here.parents):
        path = folder / PROJECT_FILE
        if path.is_file():
            return read_project(path)
        if (folder / ".git").exists():
            break
    return Project()


def read_project(path: Path) -> Project:
    """Return what a project file states; raises `BadInputError` for what it may not."""
    stated, problem = decode_toml(read_user_text(path))
    if problem is None and "path" in stated:
        problem = "unknown key `path`"
    if problem is None:
        try:
            return msgspec.structs.replace(msgspec.convert(stated, Project), path=path)
        except msgspec.ValidationError as error:
            problem = str(error).replace("Object contains unknown field", "unknown key")
    raise BadInputError(f"{path}: {problem}; known keys: {', '.join(_known())}")


def _known() -> list[str]:
    return [name for name in Project.__struct_fields__ if name != "path"]
