"""Folders of traces that no layout describes: trajectories by configuration, sessions of agents.

Each file that a format recognises is a trial, and each session of a file that holds several. Files
of sub-agents belong to their sessions. Folders with the same names of files are configurations;
elsewhere the harness of a session is its configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from retrieval_eval.agents.door.layouts.base import DEEPEST, MOST_FOLDERS, folders_in
from retrieval_eval.agents.door.table import ONE_CONFIG, Row, Rows
from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    LineFormat,
    event_folder_names,
    is_file_name,
    read_file,
    read_lines,
)
from retrieval_eval.agents.traces.reading import Reading, Several, Unreadable
from retrieval_eval.escape import visible
from retrieval_eval.io.files import (
    content_kind,
    entries,
    first_bytes,
    iter_jsonl,
    label,
    probe,
)
from retrieval_eval.values import counted

_SUFFIXES: Final = (".json", ".jsonl", ".traj", ".txt", ".eval", ".db", ".gz", ".zst")
_NO_TRACES: Final = frozenset({"subagents", "tool-results", "observations"})
"""Folders in which harnesses keep what belongs to a session."""

_HEAD_LINES: Final = 40
_MOST_FILES: Final = 20_000
_SHOWN: Final = 3


class _Found(Struct, frozen=True):
    """A trace: where it lies, which one of its file it is, and what is known of it."""

    path: Path
    sample: str | None
    name: str
    harness: str | None


def find(place: Path) -> Rows | None:
    """Return the traces of a file, or in a folder and below it."""
    unknown: list[Path] = []
    if probe(place.is_file):
        root, found = place.parent, list(_of_file(place, place.parent))
    else:
        root = place
        found = list(_of_folder(place, unknown))
    if not found:
        return None
    arms = _arms(found, root)
    harnesses = {one.harness or ONE_CONFIG for one in found}
    rows = []
    for one in found:
        config = one.harness or ONE_CONFIG if len(harnesses) > 1 else next(iter(harnesses))
        if arms:
            config = one.path.relative_to(root).parts[0]
        rows.append(Row(trace=str(one.path), task=one.name, config=config, sample=one.sample))
    problems = []
    if unknown:
        named = ", ".join(visible(label(path, root), 80) for path in unknown[:_SHOWN])
        what = counted(len(unknown), "file")
        problems.append(f"{what} of other content, which no format recognises: {named}")
    return Rows(_distinct(rows, root), tuple(problems))


def _distinct(rows: list[Row], root: Path) -> tuple[Row, ...]:
    """Return rows in which two traces of one configuration have different tasks."""
    same = Counter((row.config, row.task) for row in rows)
    return tuple(
        row
        if same[row.config, row.task] == 1 or row.sample is not None
        else Row(
            trace=row.trace, task=label(Path(row.trace), root), config=row.config, sample=row.sample
        )
        for row in rows
    )


def _arms(found: list[_Found], root: Path) -> bool:
    """Return whether the folders hold the same tasks, so that each is a configuration."""
    of: dict[str, set[str]] = {}
    for one in found:
        parts = one.path.relative_to(root).parts
        if len(parts) < 2:
            return False
        of.setdefault(parts[0], set()).add(one.name)
    tasks = Counter(name for names in of.values() for name in names)
    return len(of) > 1 and any(n > 1 for n in tasks.values())


def _of_folder(root: Path, unknown: list[Path]) -> Iterator[_Found]:
    stack, n_folders, n_files = [(root, 0)], 0, 0
    while stack and n_folders < MOST_FOLDERS and n_files < _MOST_FILES:
        folder, depth = stack.pop()
        n_folders += 1
        if folder.name in event_folder_names():
            yield from _of_events(folder)
            continue
        files = [path for path in entries(folder) if _may_be_trace(path)]
        n_files += len(files)
        yield from _of_files(files, root, unknown)
        inner = folders_in(folder) if depth < DEEPEST else []
        stack += [(path, depth + 1) for path in reversed(inner) if path.name not in _NO_TRACES]


def _may_be_trace(path: Path) -> bool:
    is_named = path.suffix.lower() in _SUFFIXES or is_file_name(path.name)
    return is_named and path.name[0] != "." and probe(path.is_file)


def _of_files(files: list[Path], root: Path, unknown: list[Path]) -> Iterator[_Found]:
    """Yield the traces among the files of one folder; those of one session together.

    Whole documents with the same ending are of one kind, so that the first few tell of all.
    """
    sessions: _Sessions = []
    known: Counter[str] = Counter()
    first: dict[str, str | None] = {}
    for path in files:
        ending = "".join(path.suffixes[-2:])
        if known[ending] >= _SHOWN:
            yield _Found(path, None, _stem(path), first[ending])
            continue
        reading = _looked_at(path, root)
        if isinstance(reading, Several):
            yield from _samples(path, reading)
        elif isinstance(reading, Unreadable):
            if reading.is_unknown:
                unknown.append(path)
        elif _is_of_lines(reading):
            sessions.append((path, reading))
        elif reading.part_of is None:
            known[ending] += 1
            first.setdefault(ending, reading.harness)
            yield _Found(path, None, _stem(path), reading.harness)
    for mains in _by_session(sessions):
        if len(mains) == 1:
            path, reading = mains[0]
            yield _Found(path, None, _stem(path), reading.harness)
        else:
            yield from _joined(mains)


_Sessions = list[tuple[Path, Reading]]


def _by_session(files: _Sessions) -> list[_Sessions]:
    """Return the files of the same session together; those of sub-agents belong to other files."""
    found: list[tuple[set[str], _Sessions]] = []
    for path, reading in files:
        if reading.part_of is not None:
            continue
        ids = set(reading.session_ids)
        same = next((known for known in found if known[0] & ids), None)
        if same is None:
            found.append((ids, [(path, reading)]))
        else:
            same[0].update(ids)
            same[1].append((path, reading))
    return [own for _, own in found]


def _joined(mains: _Sessions) -> Iterator[_Found]:
    """Yield the one session that several files hold, read from the folder that holds them."""
    path, reading = mains[0]
    try:
        read_trace(path.parent)
    except SeveralTracesError:
        yield _Found(path.parent, path.name, _stem(path), reading.harness)
    except NoTraceError:
        yield from (_Found(each, None, _stem(each), one.harness) for each, one in mains)
    else:
        yield _Found(path.parent, None, _stem(path), reading.harness)


def _of_file(path: Path, root: Path) -> Iterator[_Found]:
    reading = _looked_at(path, root)
    if isinstance(reading, Several):
        yield from _samples(path, reading)
    elif isinstance(reading, Reading):
        yield _Found(path, None, _stem(path), reading.harness)


def _of_events(folder: Path) -> Iterator[_Found]:
    try:
        trace = read_trace(folder.parent)
    except NoTraceError:
        return
    yield _Found(folder.parent, None, folder.parent.name, trace.harness)


def _samples(path: Path, several: Several) -> Iterator[_Found]:
    first = several.read(several.names[0])
    harness = first.harness if isinstance(first, Reading) else None
    yield from (_Found(path, name, name, harness) for name in several.names)


def _looked_at(path: Path, root: Path) -> Reading | Unreadable:
    """Return the reading of a file; of one of lines only the first ones are read."""
    head, problem = first_bytes(path, root)
    if problem is not None:
        return Unreadable(problem)
    if content_kind(head) in ("JSON lines", "text"):
        lines = list(islice(iter_jsonl(path, root), _HEAD_LINES))
        found = read_lines(lines, path.name)
        if not isinstance(found, Several):
            return found
    return read_file(path, root)


def _is_of_lines(reading: Reading) -> bool:
    formats = dict(FORMATS.items())
    return isinstance(formats.get(reading.format), LineFormat)


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".traj.json", ".gz", ".zst", path.suffix):
        name = name.removesuffix(suffix)
    return name.removesuffix(".traj") or path.name
