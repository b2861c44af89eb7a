"""Traces: reads the files an agent left behind into its tool calls in execution order."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    Format,
    LineFormat,
    event_folder_names,
    folder_names,
    is_file_name,
    read_document_file,
    read_event_folder,
    read_file,
    read_line_file,
    tried,
)
from retrieval_eval.agents.traces.merge import (
    as_sub_agent,
    grouped,
    join_parts,
    join_trace,
    join_transcripts,
)
from retrieval_eval.agents.traces.reading import Reading, Several, Unreadable
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import (
    content_kind,
    entries,
    files_below,
    first_bytes,
    is_there,
    label,
    probe,
)
from retrieval_eval.records import Trace

__all__ = ["NoTraceError", "SeveralTracesError", "Trace", "read_trace"]

_TRAJECTORY: Final = "trajectory.json"
_CONTINUATION: Final = re.compile(r"trajectory\.cont-(\d{1,9})\.json")
_NAMED_TRANSCRIPTS: Final = (
    "claude-code.txt",
    "transcript.jsonl",
    "openhands.txt",
    "codex-code.txt",
)
_SUB_AGENTS: Final = "subagents"
"""The folder beside the events of a session in which its sub-agents have folders of their own."""
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
    :mod:`retrieval_eval.agents.traces.formats`). Nothing outside ``path`` and the session that it
    names is opened, and no path or command in a trace is opened or executed.

    Parameters
    ----------
    path
        The directory of one trial, with the trace in ``agent/`` or in the directory itself; the
        file of a trajectory or transcript; the folder that a session keeps beside its file; or a
        folder of events with a file for each. The files of a session's sub-agents are read from
        where its harness keeps them.
    sample
        Which trace to read of a file that holds several, such as a log of an evaluation, or of a
        folder with several sessions: its name, or the whole beginning of only one name.

    Returns
    -------
    Trace
        Calls in execution order, each once, with their results; times in Unix seconds;
        ``cumulative_tokens`` as described in :mod:`retrieval_eval.agents.traces.tokens`. Damage
        shows in ``flags`` and ``problems``; the content of a trace never raises an error.

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
    path = Path(path)
    if probe(path.is_file):
        return _read_file(path, sample)
    session = path.parent / f"{path.name}.jsonl"
    if probe(path.is_dir) and not _is_trial(path) and probe(session.is_file):
        # What a session keeps beside its file lies in a folder of its name.
        return _read_file(session, sample)
    problems: list[str] = []
    unknown: list[Unreadable] = []
    for folder in (path / "agent", path):
        if not probe(folder.is_dir):
            continue
        trajectory = _trajectory(folder, path, problems, unknown)
        files, unreadable, others = _transcripts(folder, path, problems)
        flags = ("transcript_unreadable",) if unreadable else ()
        runs = grouped([reading for _, reading in files if not reading.is_digest])
        if len(runs) > 1 and not any(reading.holds_run for _, reading in files):
            if trajectory is None and not _is_trial(path):
                files = _chosen(path, files, runs, sample)
            else:
                flags = (*flags, f"joined_{len(runs)}_sessions")
        transcript = join_transcripts([reading for _, reading in files])
        if trajectory is not None or transcript is not None:
            return join_trace(trajectory, transcript, flags, tuple(problems))
        problems += (found.reason for found in unreadable)
        unknown += (*unreadable, *others)
    raise NoTraceError(path, _why_none(path, problems, unknown))


_Files = list[tuple[Path, Reading]]


def _is_trial(path: Path) -> bool:
    """Return whether a folder is that of a trial, which has a result or a folder of the agent."""
    return probe((path / "agent").is_dir) or probe((path / "result.json").is_file)


def _chosen(path: Path, files: _Files, runs: list[list[Reading]], sample: str | None) -> _Files:
    """Return the files of the one session that is named; a folder may hold those of many."""
    members = [{id(reading) for reading in run} for run in runs]
    own = [[file for file in files if id(file[1]) in ids] for ids in members]
    main = [next((f for f in run if f[1].part_of is None), run[0]) for run in own]
    names = tuple(label(file, path) for file, _ in main)

    def read(name: str) -> Reading | Unreadable:
        return main[names.index(name)][1]

    shown = ", ".join(name[:80] for name in names[:_MOST_REASONS])
    more = ", …" if len(names) > _MOST_REASONS else ""
    reason = f"holds {len(names)} sessions ({shown}{more}), of which one has to be named"
    one = _sample(path, Several(reason, names=names, read=read), sample)
    return next(run for run, (_, reading) in zip(own, main, strict=True) if reading is one)


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


_several: dict[tuple[str, int, int], Several] = {}
"""The last file that held several traces, so that to read them all does not read it for each."""


def _looked_into(path: Path) -> Reading | Unreadable:
    try:
        stat = path.stat()
    except OSError:
        return read_file(path, path.parent)
    key = (str(path.absolute()), stat.st_size, stat.st_mtime_ns)
    if key in _several:
        return _several[key]
    found = _placed(read_file(path, path.parent), path, path.parent)
    if isinstance(found, Several):
        _several.clear()
        _several[key] = found
    return found


def _read_file(path: Path, sample: str | None) -> Trace:
    found = _looked_into(path)
    if isinstance(found, Several):
        found = _sample(path, found, sample)
    if isinstance(found, Unreadable):
        reason = found.reason.removeprefix(f"{path.name}: ")
        raise NoTraceError(path, f"{reason}; {tried()}" if found.is_unknown else reason)
    if found.format.startswith("atif") or path.name == _TRAJECTORY:
        return join_trace(found, None)
    return join_trace(None, join_transcripts([found, *_sub_agents(found, path, path.parent)]))


def _format_of(reading: Reading) -> Format | None:
    return next((entry for name, entry in FORMATS.items() if name == reading.format), None)


def _placed(found: Reading | Unreadable, path: Path, root: Path) -> Reading | Unreadable:
    """Return what was read with what the file's place says of it."""
    entry = _format_of(found) if isinstance(found, Reading) else None
    if not isinstance(found, Reading) or not isinstance(entry, LineFormat) or entry.placed is None:
        return found
    return entry.placed(path, root, found)


_NAMED: Final = ("{name}", "{session}")
_PLAIN_ID: Final = re.compile(r"(?!\.{1,2}$)[\w.-]{1,200}")


def _sub_agents(
    reading: Reading, path: Path, root: Path, known_files: frozenset[Path] = frozenset()
) -> list[Reading]:
    """Return the readings of the files that the harness keeps of a session's sub-agents."""
    entry = _format_of(reading)
    if reading.part_of is not None or not isinstance(entry, LineFormat | DocumentFormat):
        return []
    known = set(reading.session_ids)
    found = []
    for pattern in entry.sub_agent_files:
        is_own = any(name in pattern for name in _NAMED)
        for candidate in _matching(pattern, reading, path):
            if candidate == path or candidate in known_files or probe(candidate.is_symlink):
                continue
            if not is_own and not _names_one(candidate, root, known):
                continue
            other = _read_transcript(candidate, _outer(root, pattern))
            if isinstance(other, Reading) and (is_own or other.part_of in known):
                agent = candidate.name.partition(".")[0].removeprefix("agent-")
                found.append(as_sub_agent(other, agent))
                known |= other.sub_agents
    return found


def _outer(root: Path, pattern: str) -> Path:
    return root.parent if pattern.startswith("../") else root


def _names_one(path: Path, root: Path, sessions: set[str]) -> bool:
    """Return whether the beginning of a file names one of some sessions."""
    head, problem = first_bytes(path, root)
    if problem is not None or content_kind(head) in ("a gzip file", "a zstd file"):
        return problem is None
    return any(name.encode(errors="replace") in head for name in sessions)


def _matching(pattern: str, reading: Reading, path: Path) -> list[Path]:
    """Return the files that a pattern names; links are not entered."""
    sessions = [name for name in sorted(reading.session_ids) if _PLAIN_ID.fullmatch(name)]
    found: list[Path] = []
    for session in sessions if "{session}" in pattern else ("",):
        folder, _, name = pattern.rpartition("/")
        place = path.parent
        for part in filter(None, folder.removesuffix("**").split("/")):
            named = part.replace("{name}", path.name.partition(".")[0])
            place = place.parent if part == ".." else place / named.replace("{session}", session)
        if probe(place.is_symlink):
            continue
        files = files_below(place) if folder.endswith("**") else entries(place)
        found += [file for file in files if fnmatchcase(file.name, name) and probe(file.is_file)]
    return found


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


def _transcripts(
    folder: Path, trial_dir: Path, problems: list[str]
) -> tuple[_Files, list[Unreadable], list[Unreadable]]:
    """Return the transcripts, the well-known files that are none, and the others.

    Harnesses also write plain logs under these names, which matters only where nothing else is.
    """
    readings: _Files = []
    unreadable: list[Unreadable] = []
    others: list[Unreadable] = []
    sessions = _session_folders(folder)
    for path in [*_transcript_files(folder), *_session_files(sessions)]:
        reading = _read_transcript(path, trial_dir)
        if isinstance(reading, Reading):
            readings.append((path, reading))
        elif probe(path.is_symlink):
            problems.append(reading.reason)
        else:
            (unreadable if path.name in _NAMED_TRANSCRIPTS else others).append(reading)
    for events in _event_folders(folder, sessions):
        reading = read_event_folder(events, trial_dir)
        if isinstance(reading, Reading):
            readings.append((events, _of_event_folder(events, reading)))
    return _with_sub_agents(readings, trial_dir), unreadable, others


def _of_event_folder(events: Path, reading: Reading) -> Reading:
    agent = events.parent
    return as_sub_agent(reading, agent.name) if agent.parent.name == _SUB_AGENTS else reading


def _with_sub_agents(files: _Files, root: Path) -> _Files:
    """Return the files with those of their sub-agents, which may lie in folders of their own."""
    paths = frozenset(path for path, _ in files)
    found: _Files = []
    for path, reading in files:
        found.append((path, reading))
        found += [(path, other) for other in _sub_agents(reading, path, root, paths)]
    return found


def _read_transcript(path: Path, trial_dir: Path) -> Reading | Unreadable:
    is_text = path.suffix in _LINE_SUFFIXES
    found = read_line_file(path, trial_dir) if is_text else read_file(path, trial_dir)
    return _placed(found, path, trial_dir)


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
    near += (agent / name for agent in entries(folder / _SUB_AGENTS) for name in sorted(names))
    found = [path for path in (*near, *dict.fromkeys(below)) if path.name in names]
    return [path for path in found if not probe(path.is_symlink) and probe(path.is_dir)]
