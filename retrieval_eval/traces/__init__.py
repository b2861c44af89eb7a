"""Traces: from the files an agent left behind to its tool calls in execution order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from retrieval_eval.records import Trace
from retrieval_eval.traces import files
from retrieval_eval.traces.merge import join_trace, join_transcripts
from retrieval_eval.traces.reading import Reading

__all__ = ["NoTrace", "Trace", "read_trace"]


@dataclass(frozen=True, slots=True)
class NoTrace:
    """A trial without a readable trace, and the sentence that says why."""

    reason: str


def read_trace(trial_dir: Path) -> Trace | NoTrace:
    """Read the trace of a trial.

    The trajectory is preferred for calls; transcripts add times, results that the trajectory
    lacks or cut, and the calls of sub-agents. Formats are told by content. Nothing outside
    ``trial_dir`` is opened and nothing a trace says is executed or opened.

    Parameters
    ----------
    trial_dir
        The directory of one trial, with the trace in ``agent/`` or in the directory itself.

    Returns
    -------
    Trace or NoTrace
        Calls in execution order, each once, with their results; times in Unix seconds;
        ``cumulative_tokens`` as described in :mod:`retrieval_eval.traces.tokens`. Damage shows in
        ``flags`` and ``problems``. Never raises on the content of a trace.
    """
    problems: list[str] = []
    for folder in files.folders(trial_dir):
        trajectory = _trajectory(folder, trial_dir, problems)
        transcript, unreadable = _transcript(folder, trial_dir, problems)
        if trajectory is not None or transcript is not None:
            flags = ("transcript_unreadable",) if unreadable else ()
            return join_trace(trajectory, transcript, flags, tuple(problems))
        problems += unreadable
    reason = "; ".join(problems) or (
        f"no trace file (looked for agent/{files.TRAJECTORY}, "
        f"agent/{files.NAMED_TRANSCRIPTS[0]} and other transcripts, agent/sessions)"
    )
    return NoTrace(reason)


def _trajectory(folder: Path, trial_dir: Path, problems: list[str]) -> Reading | None:
    path = files.trajectory(folder)
    if path is None:
        return None
    reading = files.read_trajectory(path, trial_dir)
    if isinstance(reading, Reading):
        return reading
    problems.append(reading.reason)
    return None


def _transcript(
    folder: Path, trial_dir: Path, problems: list[str]
) -> tuple[Reading | None, list[str]]:
    """Return the joined transcripts and a sentence for each well-known file that is none.

    Harnesses also write plain logs under these names, which matters only where nothing else is.
    """
    readings, unreadable = [], []
    for path in [*files.transcripts(folder), *files.sessions(folder)]:
        reading = files.read_transcript(path, trial_dir)
        if isinstance(reading, Reading):
            readings.append(reading)
        elif path.is_symlink():
            problems.append(reading.reason)
        elif path.name in files.NAMED_TRANSCRIPTS:
            unreadable.append(reading.reason)
    return join_transcripts(readings), unreadable
