"""Content fingerprints: unchanged inputs are not evaluated again, changed ones always are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from retrieval_eval.agents.metrics.catalog import METRICS
from retrieval_eval.agents.traces.dialects import DIALECTS
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    event_folder_names,
    folder_names,
    is_file_name,
)
from retrieval_eval.io.files import entries, files_below, is_inside, names_in, opened, probe
from retrieval_eval.registry import entry_points

_PACKAGE = Path(__file__).resolve().parents[2]
_TRIAL_FILES = ("result.json", "task_metrics.json", "trajectory.json")
_TRACE_SUFFIXES = (".txt", ".jsonl")
_BLOCK = 1 << 20


def fingerprint(trial_digest: str, task_digest: str, settings: Iterable[str]) -> str:
    """Return the SHA-256 over everything the artefacts of a trial depend on.

    These are the files of the trial (`digest_of_trial`) and of its task (`digest_of_task`), the
    settings, and the code of this package.
    """
    return combined((trial_digest, task_digest, *settings))


def digest_of_trial(folder: Path, *, is_shared: bool = False) -> str:
    """Return the SHA-256 over a trial's own files and traces.

    Of a trial that is a single file these are the file and the folder that a session keeps beside
    it; where many trials share the file (``is_shared``), its bytes are read once for all of them.
    """
    if is_shared and probe(folder.is_file):
        stat = folder.stat()
        return _digest_of_shared(folder, stat.st_size, stat.st_mtime_ns)
    if probe(folder.is_file):
        return _digest(folder.parent, (folder, *files_below(folder.with_suffix(""))))
    return _digest(folder, _trial_files(folder))


@lru_cache(maxsize=4)
def _digest_of_shared(path: Path, _size: int, _changed: int) -> str:
    return _digest(path.parent, (path,))


def digest_of_task(folder: Path | None) -> str:
    """Return the SHA-256 over the files of a task; empty for an unknown task."""
    return "" if folder is None else _digest(folder, _task_files(folder))


def combined(parts: Iterable[str]) -> str:
    """Return the SHA-256 over several texts in their order."""
    digest = hashlib.sha256(code_fingerprint().encode())
    for part in parts:
        digest.update(b"\0part\0" + part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@cache
def code_fingerprint() -> str:
    """Return the SHA-256 over the package's own code and what other distributions add to it."""
    from retrieval_eval.agents.study.gate import RULES

    digest = hashlib.sha256()
    for group in (FORMATS.group, DIALECTS.group, METRICS.group, RULES.group):
        for point in sorted(entry_points(group=group), key=lambda p: (p.name, p.value)):
            digest.update(f"{group}\0{point.name}\0{point.value}\0".encode())
            found = find_spec(point.module)
            if found is not None and found.origin is not None and Path(found.origin).is_file():
                digest.update(Path(found.origin).read_bytes())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_trial_input(path: str) -> bool:
    """Return whether a file of a trial, by its path in it, is one of those that are read.

    These are the files of the fingerprint, and results one level deeper: with them a folder is
    known to hold trials.
    """
    first, _, rest = path.partition("/")
    if not rest:
        return _is_trial_file(first)
    return first in _rooms() or rest == "result.json"


@lru_cache(maxsize=1024)
def _is_trial_file(name: str) -> bool:
    return name in _TRIAL_FILES or name.endswith(_TRACE_SUFFIXES) or is_file_name(name)


@cache
def _rooms() -> frozenset[str]:
    return frozenset({"agent", *folder_names(), *event_folder_names()})


def is_task_input(path: str) -> bool:
    """Return whether a file of a task, by its path in it, is one of those that are read."""
    first, _, rest = path.partition("/")
    return not rest or (first in ("tests", "solution") and "/" not in rest)


def _trial_files(folder: Path) -> Iterator[Path]:
    for path in entries(folder):
        if _is_trial_file(path.name):
            yield path
    # A trace may lie in the trial's own folder too.
    names = names_in(folder)
    for room in ("agent", *folder_names(), *sorted(event_folder_names())):
        if names is None or room.partition("/")[0] in names:
            yield from files_below(folder / room)


def _task_files(folder: Path) -> Iterator[Path]:
    # What belongs into tests or solution may also lie in the task's own folder.
    for place in (folder, folder / "tests", folder / "solution"):
        yield from entries(place)


def _digest(root: Path, paths: Iterable[Path]) -> str:
    """Return the SHA-256 over files; links that lead out of the tree are named but not followed."""
    digest = hashlib.sha256()
    start = len(f"{root}/")
    for name, path in sorted({str(path)[start:]: path for path in paths}.items()):
        if not probe(path.is_file):
            continue
        digest.update(b"\0file\0" + name.encode("utf-8", "replace"))
        if not is_inside(path, root):
            continue
        try:
            with opened(path) as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
        except OSError as error:
            digest.update(f"\0unreadable\0{error.errno}".encode())
    return digest.hexdigest()
