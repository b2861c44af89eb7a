"""The manifest of a run behind a URL: which files each batch of trials has, from listings alone.

What a folder is, only its content tells. A listing shows which folders may be trials; workers,
which have the files, decide with the rules for local trees. Only a folder that holds further ones
is looked into here.
"""

from __future__ import annotations

import gzip
import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.io.files import read_text
from retrieval_eval.io.layout import (
    OWN_FOLDER,
    TIMESTAMP,
    UNKNOWN_CONFIG,
    config_of,
    discover,
    looks_like_trial,
    runs_inside,
    trial_at,
)
from retrieval_eval.io.parquet import Schema, read_table, table_bytes
from retrieval_eval.io.remote import Found, Place, is_plain, listed
from retrieval_eval.io.tasks import (
    DEEPEST,
    TASK_CONTENT,
    Task,
    TaskIndex,
    names_stated_by,
    stated_names,
)
from retrieval_eval.pipeline.fingerprint import (
    combined,
    digest_of_task,
    digest_of_trial,
    is_task_input,
    is_trial_input,
    size_of_trial,
)
from retrieval_eval.records import Exclusion, TrialRef
from retrieval_eval.values import counted

BATCH_BYTES: Final = 64 << 20
BATCH_TRIALS: Final = 256
"""A batch ends with the trial that reaches one of these."""

_ENOUGH: Final = 16
"""Folders that are listed at the same time; fewer are replaced by those in them."""

_MOST_INSIDE: Final = 64
"""A folder with more folders in it is listed as one, page by page."""

_DEEPEST_EXPANDED: Final = 3

_N_READING: Final = 8
"""Trials and tasks of a local folder that are read at the same time."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A folder of a run that may be a trial, and those of its files that are read."""

    folder: str
    files: tuple[Found, ...]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(found.size for found in self.files)


# --- listing a run ---


def units_by_config(run: Place, lost: list[str]) -> Iterator[tuple[str, list[Unit]]]:
    """Yield each configuration of a run with its units in a fixed order; listings go parallel.

    Keys that no local folder can hold are added to ``lost``, unless they are within a unit.
    """
    prefixes, loose = _prefixes(run, lost)
    groups: dict[str | None, list[str]] = defaultdict(list)
    for prefix in prefixes:
        groups[config_of(prefix.split("/"))].append(prefix)
    ordered = sorted(groups, key=lambda config: (config is not None, config or ""))
    listings = listed([run / prefix for config in ordered for prefix in groups[config]])
    for config in ordered:
        files = list(loose.pop(config, ()))
        for prefix in groups[config]:
            files += [f.below(prefix) for f in next(listings)]
        found: dict[str, list[Unit]] = defaultdict(list)
        for unit in _units(run, files, lost):
            found[config_of(unit.folder.split("/")[:-1]) or UNKNOWN_CONFIG].append(unit)
        for name in sorted(found):
            yield name, sorted(found[name], key=_order)


def _local_units(run: Path, trials: Iterable[TrialRef]) -> Iterator[tuple[str, list[Unit]]]:
    """Yield the trials of a local run as units, each with one digest over all that is read of it.

    The time of the last change would not do: it can be set.
    """

    def whole(trial: TrialRef) -> Unit:
        folder = trial.path.relative_to(run).as_posix()
        return Unit(folder, (Found("", size_of_trial(trial.path), digest_of_trial(trial.path)),))

    with ThreadPoolExecutor(_N_READING) as threads:
        for config, own in groupby(trials, key=lambda trial: trial.config_name):
            yield config, list(threads.map(whole, own))


def _order(unit: Unit) -> tuple[str, str, str]:
    levels = unit.folder.split("/")
    batch = next((x for x in reversed(levels[:-1]) if TIMESTAMP.fullmatch(x)), "")
    return batch, levels[-1], unit.folder


def _prefixes(run: Place, lost: list[str]) -> tuple[list[str], dict[str | None, list[Found]]]:
    """Return folders that together hold a run, and the files above them by configuration."""
    loose: dict[str | None, list[Found]] = defaultdict(list)
    prefixes = _visible("", run.children()[0], lost)
    for _ in range(_DEEPEST_EXPANDED - 1):
        if len(prefixes) >= _ENOUGH:
            break
        deeper: list[str] = []
        for prefix in prefixes:
            folders, files = (run / prefix).children()
            is_unit = "agent" in folders or any(f.path == "result.json" for f in files)
            inside = _visible(f"{prefix}/", folders, [])
            if looks_like_trial(prefix.rsplit("/", 1)[-1]) or is_unit or len(inside) > _MOST_INSIDE:
                deeper.append(prefix)
                continue
            deeper += [f"{prefix}/{name}" for name in _visible(f"{prefix}/", folders, lost)]
            own = [f.below(prefix) for f in files]
            loose[config_of(prefix.split("/"))] += own
        if deeper == prefixes:
            break
        prefixes = deeper
    return prefixes, loose


def _visible(above: str, folders: Iterable[str], lost: list[str]) -> list[str]:
    shown = [name for name in folders if name != OWN_FOLDER and not name.startswith(".")]
    lost += [f"{above}{name}/" for name in shown if not is_plain(name)]
    return [name for name in shown if is_plain(name)]


def _units(run: Place, files: Sequence[Found], lost: list[str]) -> list[Unit]:
    """Return the outermost folders that may be trials, with their files."""
    plain = [found for found in files if is_plain(found.path)]
    candidates = _candidates(plain)
    ordered = sorted(candidates)
    accepted: set[str] = set()
    for place, folder in enumerate(ordered):
        if any(above in accepted for above in _above(folder)):
            continue
        # Sorting puts names such as `a-b` between `a` and `a/b`, so the next one is looked for.
        has_inner = any(
            inner.startswith(f"{folder}/") for inner in _following(ordered, place, folder)
        )
        is_recorded, name = candidates[folder], folder.rsplit("/", 1)[-1]
        if not has_inner:
            is_unit = True
        elif looks_like_trial(name):
            is_unit = is_recorded
        else:
            is_unit = is_recorded and _is_trial(run, folder, plain)
        if is_unit:
            accepted.add(folder)
    own: dict[str, list[Found]] = {folder: [] for folder in accepted}
    for found in files:
        unit = next((above for above in _above(found.path) if above in own), None)
        inner = "" if unit is None else found.path[len(unit) + 1 :]
        if found.path.endswith("/"):  # which only marks a folder
            continue
        if unit is None:
            lost += [] if is_plain(found.path) else [found.path]
        elif _is_input(inner):
            own[unit].append(Found(inner, found.size, found.version))
    return [
        Unit(folder, tuple(sorted(held, key=lambda f: f.path)))
        for folder, held in sorted(own.items())
    ]


def _candidates(files: Iterable[Found]) -> dict[str, bool]:
    """Return the folders that may be trials, and whether there is a result or a trace in each."""
    found: dict[str, bool] = {}
    for one in files:
        parts = one.path.split("/")
        for depth in range(1, len(parts)):
            name, folder = parts[depth - 1], "/".join(parts[:depth])
            if name.startswith(".") or name == OWN_FOLDER:
                break
            following = parts[depth]
            is_last = depth == len(parts) - 1
            if following == "result.json" if is_last else following == "agent":
                found[folder] = True
            elif _is_named_so(name):
                found.setdefault(folder, False)
    return found


_is_named_so = lru_cache(maxsize=1 << 14)(looks_like_trial)
_is_input = lru_cache(maxsize=1 << 14)(is_trial_input)


def _following(ordered: Sequence[str], place: int, folder: str) -> Iterator[str]:
    for inner in ordered[place + 1 :]:
        if not inner.startswith(folder):
            return
        yield inner


def _above(path: str) -> Iterator[str]:
    """Yield the folders above a path, the outermost first, and the path itself."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        yield "/".join(parts[:depth])


def _is_trial(run: Place, folder: str, files: Iterable[Found]) -> bool:
    """Return whether a folder that holds other candidates is a trial itself, by its result."""
    start = f"{folder}/"
    inner = [f.path.removeprefix(start) for f in files if f.path.startswith(start)]
    # Of the other files that decide only the names count, so they are made empty.
    decisive = re.compile(r"agent/[^/]+|agent/sessions/.*|[^/]+/result\.json", re.DOTALL)
    names = [path for path in inner if decisive.fullmatch(path)]
    result = [f for f in files if f.path == f"{start}result.json"]
    with run.copied(result, empty=[f"{start}{name}" for name in names]) as copy:
        return trial_at(copy / folder, copy) is not None


# --- tasks ---


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task behind a URL: its folder below the benchmarks, and its files."""

    task: Task
    files: tuple[Found, ...]


_TASKS: Final[Schema] = {
    "suite": "text",
    "name": "text",
    "folder": "text",
    "stated": "list",
    "path": "text",
    "size": "integer",
    "version": "text",
}


def find_tasks(benchmarks: Place) -> list[TaskFiles]:
    """Return the tasks below a benchmarks root, by the rules of `retrieval_eval.io.tasks`."""
    if benchmarks.local is not None:
        return _local_tasks(benchmarks.local)
    folders, loose = benchmarks.children()
    visible = [f for f in folders if not f.startswith(".") and is_plain(f)]
    files = list(loose)
    for prefix, inside in zip(visible, listed([benchmarks / f for f in visible]), strict=True):
        files += [f.below(prefix) for f in inside]
    own: dict[str, list[Found]] = defaultdict(list)
    for found in (f for f in files if is_plain(f.path)):
        parts = found.path.split("/")
        for depth in range(1, min(len(parts), DEEPEST + 2)):
            if parts[depth - 1].startswith("."):
                break
            if parts[depth] in TASK_CONTENT:
                inner = "/".join(parts[depth:])
                if is_task_input(inner):
                    one = Found(inner, found.size, found.version)
                    own["/".join(parts[:depth])].append(one)
                break
    texts = _stated(benchmarks, own)
    tasks = []
    for folder, held in sorted(own.items()):
        above, _, name = folder.rpartition("/")
        suite = above.rpartition("/")[2] or benchmarks.name
        task = Task(name, suite, Path(folder), tuple(sorted(texts.get(folder, ()))))
        tasks.append(TaskFiles(task, tuple(sorted(held, key=lambda f: f.path))))
    return tasks


def _local_tasks(benchmarks: Path) -> list[TaskFiles]:
    """Return the tasks in a local folder, each with one digest over all that is read of it."""

    def whole(task: Task) -> TaskFiles:
        folder = task.path or benchmarks
        stated = tuple(sorted(names_stated_by(task)))
        named = Task(task.name, task.suite, folder.relative_to(benchmarks), stated)
        return TaskFiles(named, (Found("", 0, digest_of_task(folder)),))

    with ThreadPoolExecutor(_N_READING) as threads:
        return list(threads.map(whole, TaskIndex(benchmarks).tasks))


def _stated(benchmarks: Place, own: Mapping[str, Sequence[Found]]) -> dict[str, set[str]]:
    wanted = [
        f.below(folder) for folder, held in own.items() for f in held if f.path == "task.toml"
    ]
    found: dict[str, set[str]] = {}
    with benchmarks.copied(wanted) as copy:
        for one in wanted:
            text = read_text(copy / one.path, copy).value or ""
            found[one.path.rpartition("/")[0]] = stated_names(text)
    return found


def tasks_bytes(tasks: Iterable[TaskFiles]) -> bytes:
    """Return tasks as a Parquet file."""
    rows = [
        {
            "suite": one.task.suite,
            "name": one.task.name,
            "folder": str(one.task.path),
            "stated": list(one.task.stated or ()),
            "path": found.path,
            "size": found.size,
            "version": found.version,
        }
        for one in tasks
        for found in one.files
    ]
    return table_bytes(_TASKS, rows)


def read_tasks(place: Place) -> dict[Path, TaskFiles]:
    """Return the tasks of :func:`tasks_bytes` by their folder."""
    found: dict[str, tuple[Task, list[Found]]] = {}
    columns = read_table(place, _TASKS)
    for suite, name, folder, stated, *own in zip(*columns.values(), strict=True):
        task = Task(name, suite, Path(folder), tuple(stated))
        found.setdefault(folder, (task, []))[1].append(Found(*own))
    return {Path(f): TaskFiles(task, tuple(files)) for f, (task, files) in found.items()}


def tasks_digest(tasks: Iterable[TaskFiles]) -> str:
    """Return the digest of everything that the tasks say, by the versions of their files."""
    return combined(
        f"{one.task.suite}\0{one.task.path}\0{found.path}\0{found.size}\0{found.version}"
        for one in tasks
        for found in one.files
    )


# --- batches ---


def batches(units: Sequence[Unit]) -> Iterator[tuple[Unit, ...]]:
    """Yield the units of a configuration in groups of some bytes.

    Examples
    --------
    >>> big, small = (Unit("t", (Found("a", n, ""),)) for n in (BATCH_BYTES, 1))
    >>> [len(batch) for batch in batches([small, big, small])]
    [2, 1]
    """
    group: list[Unit] = []
    size = 0
    for unit in units:
        group.append(unit)
        size += unit.size
        if size >= BATCH_BYTES or len(group) >= BATCH_TRIALS:
            yield tuple(group)
            group, size = [], 0
    if group:
        yield tuple(group)


class Manifest:
    """The batches of a run, in a file: configuration, place of the first unit, and the units."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.n_units = 0
        self.folders: set[Path] = set()
        """Where the units lie, but for their names."""
        self.excluded: tuple[Exclusion, ...] = ()
        """What was left out of a local run; of others, workers tell."""
        self.notes: list[str] = []

    def write(self, groups: Iterable[tuple[str, tuple[Unit, ...]]]) -> None:
        """Write the batches of a run, in its order."""
        with gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=1) as packed:
            for config, group in groups:
                pickle.dump((config, self.n_units, group), packed)
                self.n_units += len(group)
                self.folders.update(Path(unit.folder).parent for unit in group)

    def __iter__(self) -> Iterator[tuple[str, int, tuple[Unit, ...]]]:
        self._file.seek(0)
        with gzip.GzipFile(fileobj=self._file) as packed, suppress(EOFError):
            while True:
                yield pickle.load(packed)  # noqa: S301  no other process can open the file


@contextmanager
def manifest_of(run: Place) -> Iterator[Manifest]:
    """List a run once, into a temporary file; one configuration is in memory at a time."""
    with TemporaryFile() as file:
        manifest = Manifest(file)
        lost: list[str] = []
        if run.local is None:
            found = units_by_config(run, lost)
        else:
            discovery = discover(run.local, run.name)
            manifest.excluded = discovery.excluded
            found = _local_units(run.local, discovery.trials)
        manifest.write((config, group) for config, units in found for group in batches(units))
        trials = (folder / "trial" for folder in manifest.folders)
        if inside := runs_inside(trials, Path()):
            raise NothingToEvaluateError(
                f"{run} is no run: it holds {counted(len(inside), 'run')}, such as {inside[0]}; "
                "name a run"
            )
        if lost:
            n = counted(len(lost), "key")
            example = f"such as {lost[0]!r}"
            manifest.notes = [f"{run}: {n} that no local folder can hold left out, {example}"]
        yield manifest
