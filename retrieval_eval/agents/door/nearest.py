"""The sentence about a place in which no trial was found: what it holds, and what would be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from retrieval_eval.agents.door.layouts.base import folders_in, verdicts_in
from retrieval_eval.agents.traces.formats import read_file
from retrieval_eval.agents.traces.reading import Unreadable
from retrieval_eval.escape import visible
from retrieval_eval.io.files import entries, probe
from retrieval_eval.io.layout import trial_at
from retrieval_eval.values import counted

_MOST_SEEN: Final = 2_000
_MOST_ENDINGS: Final = 4
_LEVELS: Final = 3
_WAYS: Final = 3
_LIKE_TRACES: Final = (".json", ".jsonl", ".traj", ".txt", ".log")


def nearest(place: Path) -> str:
    """Return a sentence on what a place holds, what is missing, and the three nearest ways."""
    if not probe(place.is_dir):
        return f"{_why_unread(place)}; nearest: {_listed(_ways(place))}"
    files = list(islice(_files(place), _MOST_SEEN))
    parts = [_held(place, files)]
    stated = verdicts_in(place)
    if stated:
        what = counted(len(stated.by_task), "task")
        parts.append(f"reports name {what}, whose trajectories are missing")
    like = [path for path in files if path.suffix in _LIKE_TRACES]
    if like:
        parts.append(f"none is a trace: {_why_unread(like[0])}")
    return f"{'; '.join(parts)}; nearest: {_listed(_ways(place))}"


def _files(place: Path) -> Iterator[Path]:
    level = [place]
    for _ in range(_LEVELS):
        for folder in level:
            yield from (path for path in entries(folder) if probe(path.is_file))
        level = [inner for folder in level for inner in folders_in(folder)]


def _held(place: Path, files: list[Path]) -> str:
    n_folders = len(folders_in(place))
    if not files:
        return f"it holds {counted(n_folders, 'folder')} and no file"
    endings = Counter(path.suffix or path.name for path in files)
    named = ", ".join(f"{visible(e, 40)} ({n})" for e, n in endings.most_common(_MOST_ENDINGS))
    more = "at least " if len(files) == _MOST_SEEN else ""
    folders = counted(n_folders, "folder")
    return f"it holds {folders} and {more}{counted(len(files), 'file')}: {named}"


def _why_unread(path: Path) -> str:
    found = read_file(path, path.parent)
    reason = found.reason if isinstance(found, Unreadable) else f"{path.name}: holds no call"
    return visible(reason, 200)


def _ways(place: Path) -> list[str]:
    """Return what to name in place of this one, that which its content suggests first."""
    inner = entries(place) if probe(place.is_dir) else []
    names = {path.name for path in inner}
    ways = []
    for above in list(place.parents)[:_LEVELS]:
        if trial_at(above, above.parent) is not None:
            ways.append(f"the run of the trial {visible(above.name, 80)}, a folder above it")
            break
    if any(probe((path / "task.toml").is_file) for path in inner[:_MOST_SEEN]):
        ways.append("a run, with this folder of tasks as --truth")
    if any(name.endswith(".retrieval_events.json") for name in names):
        ways.append("evaluate --from-events, for event documents")
    if any(name.startswith("eval-report-") for name in names):
        ways.append("report, for search runs")
    return [
        *ways,
        "a folder of trajectories or sessions, a file for each (trajs/, sessions/)",
        "a run tree, RUN/CONFIG/TRIAL/ with the trace in agent/",
        "a table of trials with the columns trace and task (trials.csv)",
    ][:_WAYS]


def _listed(ways: list[str]) -> str:
    return "; ".join(f"({n}) {way}" for n, way in enumerate(ways, start=1))
