"""Traces: reads the files an agent left behind into its tool calls in execution order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import entries, files_below, is_there, probe
from retrieval_eval.io.remote import local_path
from retrieval_eval.records import Trace
from retrieval_eval.traces.formats import (
    event_folder_names,
    folder_names,
    is_file_name,
    read_document_file,
    read_event_folder,
    read_file,
    read_line_file,
    tried,
)
from retrieval_eval.traces.merge import join_parts, join_trace, join_transcripts
from retrieval_eval.traces.reading import Reading, Several, Unreadable

__all__ = ["NoTraceError", "SeveralTracesError", "Trace", "read_trace"]

_TRAJECTORY: Final = "trajectory.json"
_CONTINUATION: Final = re.compile(r"trajectory\.cont-(\d{1,9})\.json")
_NAMED_TRANSCRIPTS: Final = (
    "claude-code.txt",
    "transcript.jsonl",
    "openhands.txt",
    "codex-code.txt",
)
_LINE_SUFFIXES: Final = (".jsonl", ".txt")
_MOST_REASONS: Final = 6


class NoTraceError(BadInputError):
    """There is no readable trace; ``reason`` is a sentence."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class SeveralTracesError(NoTraceError):
    """A file holds several traces, and none of them was named; ``names`` are their names."""

    def __init__(self, path: Path, reason: str, names: tuple[str, ...]) -> None:
        super().__init__(path, reason)
        self.names = names


def read_trace(path: Path | str, *, sample: str | None = None) -> Trace:
    r"""Read the trace of a trial, or one trace file.

    In a trial the trajectory is preferred for calls; transcripts add times, results that the
    trajectory lacks or cut, and the calls of sub-agents. Formats are recognised by content (see
    :mod:`retrieval_eval.traces.formats`). Nothing outside ``path`` is opened, and no path or
    command in a trace is opened or executed.

    Parameters
    ----------
    path
        The directory of one trial, with the trace in ``agent/`` or in the directory itself; the
        file of a trajectory or transcript; or a folder of events with a file for each.
    sample
        Which trace to read of a file that holds several, such as a log of an evaluation: its
        name, or the whole beginning of only one name.

    Returns
    -------
    Trace
        Calls in execution order, each once, with their results; times in Unix seconds;
        ``cumulative_tokens`` as described in :mod:`retrieval_eval.traces.tokens`. Damage shows in
        ``flags`` and ``problems``; the content of a trace never raises an error.

    Raises
    ------
    NoTraceError
        When there is no trace, or none whose format is known: the message names what was found
        and which formats were tried. ``SeveralTracesError`` where a ``sample`` has to be named.

    Examples
    --------
    >>> import json, tempfile
    >>> call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "/w/a.py"}}
    >>> answer = {"type": "tool_result", "tool_use_id": "c1", "content": "1\timport os"}
    >>> lines = [
    ...     {"type": "assistant", "message": {"id": "m1", "content": [call]}},
    ...     {"type": "user", "message": {"content": [answer]}},
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "claude-code.txt"
    ...     _ = file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ...     trace = read_trace(folder)
    >>> trace.format, [(c.name, c.result.text) for c in trace.calls], trace.flags
    ('claude-code-stream-json', [('Read', '1\timport os')], ('no_result_event',))
    """
    path = local_path(path)
    if probe(path.is_file):
        return _read_file(path, sample)
    problems: list[str] = []
    unknown: list[Unreadable] = []
    for folder in (path / "agent", path):
        if not probe(folder.is_dir):
            continue
        trajectory = _trajectory(folder, path, problems, unknown)
        transcript, unreadable, others = _transcript(folder, path, problems)
        if trajectory is not None or transcript is not None:
            flags = ("transcript_unreadable",) if unreadable else ()
            return join_trace(trajectory, transcript, flags, tuple(problems))
        problems += (found.reason for found in unreadable)
        unknown += (*unreadable, *others)
    raise NoTraceError(path, _why_none(path, problems, unknown))


def _why_none(path: Path, problems: list[str], unknown: list[Unreadable]) -> str:
    """Return the sentence about a folder without a trace: what was found, and what was tried."""
    reasons = dict.fromkeys(
        (*problems, *(found.reason for found in unknown if not problems or found.is_unknown))
    )
    parts = [*list(reasons)[:_MOST_REASONS]]
    if len(reasons) > _MOST_REASONS:
        parts.append(f"and {len(reasons) - _MOST_REASONS} further files")
    if not parts:
        folder = path / "agent" if probe((path / "agent").is_dir) else path
        names = [entry.name for entry in entries(folder) if probe(entry.is_file)]
        found = f"; found {', '.join(names[:_MOST_REASONS])}" if names else ""
        return (
            f"no trace file (looked for agent/{_TRAJECTORY}, "
            f"agent/{_NAMED_TRANSCRIPTS[0]} and other transcripts, agent/sessions{found})"
        )
    if any(found.is_unknown for found in unknown):
        parts.append(tried())
    return "; ".join(parts)


def _read_file(path: Path, sample: str | None) -> Trace:
    found = read_file(path, path.parent)
    if isinstance(found, Several):
        found = _sample(path, found, sample)
    if isinstance(found, Unreadable):
        reason = found.reason.removeprefix(f"{path.name}: ")
        raise NoTraceError(path, f"{reason}; {tried()}" if found.is_unknown else reason)
    is_trajectory = found.format.startswith("atif") or path.name == _TRAJECTORY
    return join_trace(found, None) if is_trajectory else join_trace(None, found)


def _sample(path: Path, found: Several, sample: str | None) -> Reading | Unreadable:
    if sample is None:
        raise SeveralTracesError(path, found.reason.removeprefix(f"{path.name}: "), found.names)
    named = [name for name in found.names if name == sample]
    named = named or [name for name in found.names if name.startswith(sample)]
    if len(named) != 1:
        which = "no trace" if not named else f"{len(named)} traces"
        shown = ", ".join(name[:80] for name in (named or found.names)[:_MOST_REASONS])
        reason = f"holds {which} named {sample[:80]!r}; there are {shown}"
        more = ", …" if len(named or found.names) > _MOST_REASONS else ""
        raise SeveralTracesError(path, reason + more, found.names)
    return found.read(named[0])


def _trajectory(
    folder: Path, trial_dir: Path, problems: list[str], unknown: list[Unreadable]
) -> Reading | None:
    """Return the trajectory of ``folder``, if there is one; a dangling link counts as one."""
    path = folder / _TRAJECTORY
    if not is_there(path) or probe(path.is_dir):
        return None
    reading = read_document_file(path, trial_dir)
    if not isinstance(reading, Reading):
        problems.append(reading.reason)
        unknown.append(reading)
        return None
    return join_parts([reading, *_continuations(folder, trial_dir, problems)])


def _continuations(folder: Path, trial_dir: Path, problems: list[str]) -> list[Reading]:
    """Return the further parts of a trajectory, in the order of their numbers.

    A harness that replaced its history by a summary begins a new file. What the new one copies from
    the one before is marked and counts once.
    """
    names = ((_CONTINUATION.fullmatch(path.name), path) for path in entries(folder))
    numbered = sorted((int(found[1]), path) for found, path in names if found is not None)
    readings = []
    for _, path in numbered:
        reading = read_document_file(path, trial_dir)
        if isinstance(reading, Reading):
            readings.append(reading)
        else:
            problems.append(reading.reason)
    return readings


def _transcript(
    folder: Path, trial_dir: Path, problems: list[str]
) -> tuple[Reading | None, list[Unreadable], list[Unreadable]]:
    """Return the joined transcripts, the well-known files that are none, and the others.

    Harnesses also write plain logs under these names, which matters only where nothing else is.
    """
    readings: list[Reading] = []
    unreadable: list[Unreadable] = []
    others: list[Unreadable] = []
    sessions = _session_folders(folder)
    for path in [*_transcript_files(folder), *_session_files(sessions)]:
        reading = _read_transcript(path, trial_dir)
        if isinstance(reading, Reading):
            readings.append(reading)
        elif probe(path.is_symlink):
            problems.append(reading.reason)
        else:
            (unreadable if path.name in _NAMED_TRANSCRIPTS else others).append(reading)
    for events in _event_folders(folder, sessions):
        reading = read_event_folder(events, trial_dir)
        if isinstance(reading, Reading):
            readings.append(reading)
    return join_transcripts(readings), unreadable, others


def _read_transcript(path: Path, trial_dir: Path) -> Reading | Unreadable:
    if path.suffix in _LINE_SUFFIXES:
        return read_line_file(path, trial_dir)
    return read_file(path, trial_dir)


def _transcript_files(folder: Path) -> list[Path]:
    """Return the files of ``folder`` that may be transcripts, those with known names first."""
    rank = {name: place for place, name in enumerate(_NAMED_TRANSCRIPTS)}
    found = (p for p in entries(folder) if p.suffix in _LINE_SUFFIXES or is_file_name(p.name))
    files = [path for path in found if probe(path.is_file)]
    return sorted(files, key=lambda path: rank.get(path.name, len(rank)))


def _session_files(sessions: list[Path]) -> list[Path]:
    """Return the files of sessions below some folders; folders that are links are not entered.

    A file that describes a session may have the name of the session's folder.
    """
    found = (path for place in sessions for path in files_below(place))
    return [path for path in found if _is_session_file(path) and probe(path.is_file)]


def _session_folders(folder: Path) -> list[Path]:
    names = set(folder_names())
    return [path for path in entries(folder) if path.name in names]


def _is_session_file(path: Path) -> bool:
    is_description = path.suffix == ".json" and path.stem == path.parent.name
    return path.suffix == ".jsonl" or is_description or is_file_name(path.name)


def _event_folders(folder: Path, sessions: list[Path]) -> list[Path]:
    """Return the folders of single events in ``folder`` or its sessions, or ``folder`` itself."""
    names = event_folder_names()
    files = (path for place in sessions for path in files_below(place))
    below = (path.parent for path in files if path.suffix == ".json")
    near = [folder, *(folder / name for name in sorted(names))]
    found = [path for path in (*near, *dict.fromkeys(below)) if path.name in names]
    return [path for path in found if not probe(path.is_symlink) and probe(path.is_dir)]
