"""Which files of a trial directory may hold a trace."""

from __future__ import annotations

from pathlib import Path

from retrieval_eval.io.files import (
    answers,
    entries,
    files_below,
    is_inside,
    is_there,
    iter_jsonl,
    label,
    read_json,
)
from retrieval_eval.traces.atif import read_atif
from retrieval_eval.traces.cursor import read_cursor_document
from retrieval_eval.traces.detect import read_lines
from retrieval_eval.traces.foreign import text_of
from retrieval_eval.traces.reading import Reading, Unreadable

TRAJECTORY = "trajectory.json"
NAMED_TRANSCRIPTS = ("claude-code.txt", "transcript.jsonl", "openhands.txt", "codex-code.txt")
_LINE_SUFFIXES = (".jsonl", ".txt")


def folders(trial_dir: Path) -> list[Path]:
    """Return where a trial keeps its trace: ``agent/``, or the trial directory itself."""
    return [folder for folder in (trial_dir / "agent", trial_dir) if answers(folder.is_dir)]


def trajectory(folder: Path) -> Path | None:
    """Return the trajectory file of ``folder``, or None; a dangling link counts as one."""
    path = folder / TRAJECTORY
    return path if is_there(path) and not answers(path.is_dir) else None


def transcripts(folder: Path) -> list[Path]:
    """Return the files of ``folder`` that may be transcripts, those with known names first."""
    rank = {name: place for place, name in enumerate(NAMED_TRANSCRIPTS)}
    found = (path for path in entries(folder) if path.suffix in _LINE_SUFFIXES)
    files = [path for path in found if answers(path.is_file)]
    return sorted(files, key=lambda path: rank.get(path.name, len(rank)))


def sessions(folder: Path) -> list[Path]:
    """Return the session files below ``folder``; folders that are links are not entered."""
    found = files_below(folder / "sessions")
    return [path for path in found if path.suffix == ".jsonl" and answers(path.is_file)]


def read_trajectory(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a trajectory: a document, or the lines of one of the line formats."""
    name = label(path, trial_dir)
    document = read_json(path, trial_dir)
    if document.problem is not None:
        lines = read_transcript(path, trial_dir)
        return lines if isinstance(lines, Reading) else Unreadable(document.problem)
    if not isinstance(document.value, dict):
        return Unreadable(f"{name}: expected a JSON object")
    version = text_of(document.value.get("schema_version"))
    if version is None:
        return Unreadable(f"{name}: not a known trace format (no schema_version)")
    if version.lower().startswith("cursor-jsonl-v1"):
        return read_cursor_document(document.value, name)
    return read_atif(document.value, name)


def read_transcript(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a file of JSON lines."""
    name = label(path, trial_dir)
    if not is_inside(path, trial_dir):
        return Unreadable(f"{name}: a link that leads out of the trial is not followed")
    return read_lines(iter_jsonl(path, trial_dir), name)
