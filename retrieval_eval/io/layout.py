"""The layout of run trees: runs by name, trials, tasks, and the folders excluded, with reasons."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import (
    decode_toml,
    is_inside,
    is_there,
    names_in,
    probe,
    read_json,
    read_text,
)
from retrieval_eval.io.remote import is_url
from retrieval_eval.records import Exclusion, TrialRef

OWN_FOLDER = "retrieval_events"
"""The folder of a run that this package writes."""

UNKNOWN_CONFIG = "unknown"
"""The config of a trial that lies under no folder but batches."""

EXCLUSION_REASONS: dict[str, str] = {
    "skipped_name": "the name marks an archived, broken, partial or duplicate run",
    "link": "a link to a folder is not followed",
    "unreadable": "the folder cannot be read",
    "nothing_recorded": "the folder is named like a trial but holds neither result nor trace",
    "nothing_named": "the row names no trace or no task",
    "unreadable_row": "the row cannot be read",
    "repeated": "another row is the same trial",
    "no_trace": "the trial has no trace here",
}
"""Every reason of an :class:`~retrieval_eval.records.Exclusion` with its sentence."""

TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}__\d{2}-\d{2}-\d{2}")
"""The name of a batch folder."""

_JOB = re.compile("ccb_|csb_")
_MARKERS = "archive|__broken|__duplicate|__all_errored|__partial|__integrated"
_MARKED_RUN = re.compile(_MARKERS, re.IGNORECASE)
_MARKED_LEVEL = re.compile(
    rf"archived?|{TIMESTAMP.pattern}.*(?:{_MARKERS}).*", re.IGNORECASE | re.DOTALL
)
"""Below a run: an archive folder, and a batch with a marker behind its time."""

_TRIAL_FIELDS = frozenset(
    {"task_name", "trial_name", "agent_info", "agent_result", "verifier_result", "task_checksum"}
)
_LONGEST_NAME = 200
_HASH = re.compile(r"(?P<task>.+)__[A-Za-z0-9]{4,12}", re.DOTALL)

Kind = Literal["trial", "unfinished", "other"]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The trials of a run and what was left out, each in a fixed order."""

    trials: tuple[TrialRef, ...]
    excluded: tuple[Exclusion, ...]


def discover(run_dir: Path, run_id: str) -> Discovery:
    """Return every trial below ``run_dir``, found by content.

    The config is the first level that is not a batch timestamp, the batch the level that is one.
    A trial whose result is missing or broken is still a trial when it left a trace. Links to
    folders are not followed: one inside the run is seen where it points to, one that leaves the
    run must not be read. Every trial of a run whose name marks it is left out; the names of
    configs, jobs and trials mark nothing, because they repeat those of tasks.

    Parameters
    ----------
    run_dir
        The folder of the run; the folder of a single trial works too.
    run_id
        The name under which the trials are reported.

    Returns
    -------
    Discovery
        Trials ordered by config, batch and trial name, exclusions by path. Task names are as
        recorded; :func:`retrieval_eval.io.layout.resolve_trials` finds their tasks.
    """
    marked = run_dir if _MARKED_RUN.search(run_id) else None
    walk = _Walk(run_dir, run_id)
    stack: list[_Place] = [(run_dir, (), marked)]
    while stack:
        stack.extend(walk.enter(stack.pop()))
    return walk.discovery()


def runs_inside(trials: Iterable[Path], folder: Path) -> tuple[Path, ...]:
    """Return the runs below a folder that holds runs and is none itself; nothing for a run.

    Trials of a run lie below a config, or deeper, below jobs and batches. Where all of them have
    one more level above the config of a batch, that level is the run.
    """
    runs = {_run_of(trial, folder) for trial in trials}
    return () if folder in runs else tuple(sorted(runs))


def _run_of(trial: Path, folder: Path) -> Path:
    """Return the folder of a trial's run, judged by the levels between."""
    levels = trial.relative_to(folder).parts[:-1]
    batches = [i for i, level in enumerate(levels) if TIMESTAMP.fullmatch(level)]
    # A run may be named like a job; what is named so below something else is a job.
    named = [
        i
        for i, level in enumerate(levels)
        if i not in batches and (i == 0 or not _JOB.match(level))
    ]
    if len(named) < 2 or (len(named) == 2 and not any(i > named[-1] for i in batches)):
        return folder
    return folder.joinpath(*levels[: named[-1]])


def trial_at(path: Path, run_dir: Path) -> TrialRef | None:
    """Return the trial in a folder of a run, or None when it holds none; nothing else is read."""
    folder = _inspect(path, run_dir)
    if folder.kind != "trial":
        return None
    return _trial_ref(path, path.relative_to(run_dir).parts, run_dir.name, folder)


_Place = tuple[Path, tuple[str, ...], Path | None]
"""A folder, the levels that lead to it, and the marked folder that it lies in, if any."""


class _Walk:
    """What has been found so far below a run."""

    def __init__(self, run_dir: Path, run_id: str) -> None:
        self._run_dir = run_dir
        self._run_id = run_id
        self._trials: list[TrialRef] = []
        self._excluded: list[Exclusion] = []
        self._unfinished: list[tuple[Path, tuple[str, ...]]] = []
        self._marked: dict[Path, tuple[str, ...]] = {}
        self._holding: set[Path] = set()

    def enter(self, place: _Place) -> list[_Place]:
        """Record what a folder is and return the folders to look into."""
        path, levels, marked = place
        if levels and path.is_symlink():
            self._exclude(path, levels, "link")
            return []
        folder = _inspect(path, self._run_dir)
        if folder.kind == "trial":
            self._take_trial(path, levels, folder, marked)
            return []
        if levels and marked is None and _MARKED_LEVEL.fullmatch(path.name):
            marked = path
        if marked == path:
            self._marked[path] = levels
        children, reason = _children(path)
        if reason is not None:
            self._exclude(path, levels, reason)
        elif folder.kind == "unfinished":
            self._unfinished.append((path, levels))
        return [(child, (*levels, child.name), marked) for child in children]

    def _take_trial(
        self, path: Path, levels: tuple[str, ...], folder: Folder, marked: Path | None
    ) -> None:
        self._holding.update(path.parents)
        if marked is None:
            self._trials.append(_trial_ref(path, levels, self._run_id, folder))
        else:
            self._exclude(path, levels, "skipped_name")

    def discovery(self) -> Discovery:
        """Return everything in its order.

        A marked folder without a trial is named itself, and so is the outermost of nested folders
        that are named like a trial and hold none.
        """
        for path, levels in self._marked.items():
            if path not in self._holding:
                self._exclude(path, levels, "skipped_name")
        empty = {path for path, _ in self._unfinished if path not in self._holding}
        for path, levels in self._unfinished:
            if path in empty and empty.isdisjoint(path.parents):
                self._exclude(path, levels, "nothing_recorded")
        return Discovery(
            tuple(sorted(self._trials, key=_order)),
            tuple(sorted(self._excluded, key=lambda e: e.path.as_posix())),
        )

    def _exclude(self, path: Path, levels: tuple[str, ...], reason: str) -> None:
        detail = "/".join((self._run_id, *levels)) if reason == "skipped_name" else "/".join(levels)
        if reason == "link" and not is_inside(path, self._run_dir):
            detail += ": leads out of the run"
        config = config_of(levels[:-1] or levels)
        self._excluded.append(Exclusion(path, self._run_id, config, reason, detail))


def _children(path: Path) -> tuple[list[Path], str | None]:
    """Return the folders to look into, or the reason why that is impossible."""
    try:
        with os.scandir(path) as found:
            names = [entry.name for entry in found if entry.name[0] != "." and entry.is_dir()]
    except OSError:
        return [], "unreadable"
    return [path / name for name in names if name != OWN_FOLDER], None


def _trial_ref(path: Path, levels: tuple[str, ...], run_id: str, folder: Folder) -> TrialRef:
    above = levels[:-1]
    batches = [level for level in above if TIMESTAMP.fullmatch(level)]
    return TrialRef(
        run_id=run_id,
        config_name=config_of(above) or UNKNOWN_CONFIG,
        batch_timestamp=batches[-1] if batches else None,
        trial_name=path.name,
        path=path,
        task_name=folder.task_name,
        benchmark=folder.benchmark,
        raw_task_name=folder.task_name,
    )


def config_of(levels: Sequence[str]) -> str | None:
    """Return the config among the levels above a trial: the first that is no batch's time."""
    return next((level for level in levels if not TIMESTAMP.fullmatch(level)), None)


def _order(trial: TrialRef) -> tuple[str, str, str, str]:
    batch = trial.batch_timestamp or ""
    return (trial.config_name, batch, trial.trial_name, trial.path.as_posix())


# --- which folder is a trial: decided by what it holds, never by its name or depth ---


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder of a run is and, for a trial, the names its files give.

    ``unfinished`` is a folder named like a trial that holds neither a result nor a trace; it may
    still be a level above trials.
    """

    kind: Kind
    task_name: str = ""
    benchmark: str | None = None


def _inspect(path: Path, root: Path) -> Folder:
    """Return what the folder ``path`` of the run ``root`` is.

    A trial holds a ``result.json`` with the fields of a trial, or an agent's trace where that
    file is missing or broken. A batch's own ``result.json`` makes no trial.
    """
    result = path / "result.json"
    document = read_json(result, root) if is_there(result) else None
    value = document.value if document is not None else None
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    if not fields.keys().isdisjoint(_TRIAL_FIELDS):
        return _trial(path, root, fields)
    if "n_total_trials" in fields or "stats" in fields:
        return Folder("other")
    is_named_so = looks_like_trial(path.name)
    is_broken = document is not None and is_named_so and not _holds_results(path)
    if is_broken or _has_trace(path, root):
        return _trial(path, root, {})
    return Folder("unfinished" if is_named_so else "other")


def looks_like_trial(name: str) -> bool:
    """Return whether a folder is named like a trial, with a hash behind the task."""
    return bool(_HASH.fullmatch(name)) and not TIMESTAMP.fullmatch(name)


def task_of(trial_name: str) -> str:
    """Return the task name inside a trial's folder name: what precedes the last ``__<hash>``.

    Examples
    --------
    >>> task_of("django__django-123__aB3dE5f")
    'django__django-123'
    """
    match = _HASH.fullmatch(trial_name)
    return match["task"] if match else trial_name


def _trial(path: Path, root: Path, result: dict[str, Any]) -> Folder:
    task_name = _task_name(result.get("task_name")) or task_of(path.name)
    return Folder("trial", task_name, _benchmark(path, root, result))


def _task_name(stated: Any) -> str | None:
    """Return a stated task name without the registry before it, or None when it is none."""
    if not isinstance(stated, str) or not stated.isprintable():
        return None
    name = stated.strip().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name if name.strip(".") and len(name) <= _LONGEST_NAME else None


def _benchmark(path: Path, root: Path, result: dict[str, Any]) -> str | None:
    """Return the suite that the trial's metrics or the stored address of its task names."""
    metrics = path / "task_metrics.json"
    value = read_json(metrics, root).value if is_there(metrics) else None
    stated = value.get("benchmark") if isinstance(value, dict) else None
    if isinstance(stated, str) and stated.strip():
        return stated.strip()
    task_id = result.get("task_id")
    address = task_id.get("path") if isinstance(task_id, dict) else None
    parts = address.split("/") if isinstance(address, str) else []
    return parts[-2] if len(parts) > 2 and parts[-3] == "benchmarks" else None


def _holds_results(path: Path) -> bool:
    try:
        return any((item / "result.json").exists() for item in path.iterdir() if item.is_dir())
    except OSError:
        return False


def _has_trace(path: Path, root: Path) -> bool:
    agent = path / "agent"
    try:
        if not agent.is_dir() or not is_inside(agent, root):
            return False
        return any(item.is_file() or item.name == "sessions" for item in agent.iterdir())
    except OSError:
        return False


# --------------------------------------------------------------------------------------------------
# Resolves names of runs to their folders.

GROUPS = ("official", "staging")
"""Folders of a runs root that group runs and are no runs themselves."""

_MOST_SUGGESTIONS = 5


def find_runs(runs_root: Path) -> list[Path]:
    """Return the folders of all runs below a runs root, by name.

    A run is a folder of the root, or of one of its groups ``official`` and ``staging``. Hidden
    folders are none. Raises :class:`~retrieval_eval.errors.BadInputError` when there is no such
    root.
    """
    if not probe(runs_root.is_dir):
        raise BadInputError(
            f"runs root {runs_root} is not a folder; $RETRIEVAL_EVAL_RUNS_ROOT names one"
        )
    runs = []
    for folder in _subfolders(runs_root):
        runs.extend(_subfolders(folder) if folder.name in GROUPS else [folder])
    return sorted(runs, key=lambda run: (run.name, run.as_posix()))


def resolve_runs(names: Sequence[str], runs_root: Path | None) -> tuple[Path, ...]:
    """Return the folder of every named run, in the order given and each once.

    Parameters
    ----------
    names
        Run ids below ``runs_root``, with or without their group (``official/x``), or paths.
    runs_root
        The folder of all runs, or None when only paths are given.

    Returns
    -------
    tuple of Path
        Absolute paths whose last part is the run id.

    Raises
    ------
    BadInputError
        When a name is neither; the message lists the closest names there are.
    """
    found = (_resolve(name.strip(), runs_root) for name in names)
    return tuple(dict.fromkeys(Path(os.path.abspath(path)) for path in found))  # noqa: PTH100


def split_run(name: str) -> list[str]:
    """Split ``RUN:CONFIG`` at its colons, of a URL at those behind its last slash.

    Examples
    --------
    >>> split_run("run:a:b"), split_run("s3://bucket/run:a"), split_run("s3://user:secret@bucket")
    (['run', 'a', 'b'], ['s3://bucket/run', 'a'], ['s3://user:secret@bucket'])
    """
    if not is_url(name):
        return name.split(":")
    folder, _, last = name.rpartition("/")
    if folder.endswith(":/"):
        return [name]
    run, *configs = last.split(":")
    return [f"{folder}/{run}", *configs]


def is_folder(name: str) -> bool:
    """Return whether a text is the path of a folder."""
    return not is_url(name) and probe(Path(name).is_dir)


def _resolve(name: str, runs_root: Path | None) -> Path:
    if name and runs_root is not None:
        found = _below(name, runs_root)
        if len(found) > 1:
            listed = ", ".join(path.relative_to(runs_root).as_posix() for path in found)
            raise BadInputError(f"run {name!r} is in several groups; name one of: {listed}")
        if found:
            return found[0]
    if name and probe(Path(name).is_dir):
        return Path(name)
    raise BadInputError(_not_found(name, runs_root))


def _below(name: str, runs_root: Path) -> list[Path]:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return []
    direct = runs_root / name
    if direct == runs_root:  # "." is here, not the folder of all runs
        return []
    if direct.relative_to(runs_root).as_posix() not in GROUPS and probe(direct.is_dir):
        return [direct]
    places = (runs_root / group / name for group in GROUPS)
    return [place for place in places if probe(place.is_dir)]


def _not_found(name: str, runs_root: Path | None) -> str:
    if runs_root is None:
        return (
            f"no folder {name!r}; name the path of a run, or its id below the folder of all runs "
            "($RETRIEVAL_EVAL_RUNS_ROOT)"
        )
    known = [run.name for run in find_runs(runs_root)]
    by_lower = {run_id.lower(): run_id for run_id in sorted(known, reverse=True)}
    wanted = name.rstrip("/").rsplit("/", 1)[-1].lower()
    close = get_close_matches(wanted, list(by_lower), n=_MOST_SUGGESTIONS, cutoff=0.5)
    if not close:
        return f"no run {name!r} among the {len(known)} runs in {runs_root}"
    listed = ", ".join(by_lower[lower] for lower in close)
    return f"no run {name!r} in {runs_root}; closest names: {listed}"


def _subfolders(path: Path) -> list[Path]:
    try:
        found = [item for item in path.iterdir() if item.is_dir()]
    except OSError:
        return []
    return sorted(f for f in found if not f.name.startswith(".") and f.name != OWN_FOLDER)


# --------------------------------------------------------------------------------------------------
# The tasks of a benchmark, and the task that a decorated or truncated name means.

UNKNOWN_SUITE = "unknown"

_TASK_NAMES = frozenset({"task.toml", "instruction.md", "tests", "solution"})
_DEEPEST = 3
_NAME = re.compile(r"[\w.-]{1,200}")

CUT_LENGTH = 32
"""Harnesses cut the task name in a trial's folder name at this length."""

_PREFIX = re.compile(r"^(?:mcp|bl|sgonly|artifact|sdlc_[a-z]{1,20})_(?=.)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?<=[^_])_{1,2}([A-Za-z0-9]{6,8})$")
_CUT_SUFFIX = re.compile(r"(?<=[^_])_{1,2}[A-Za-z0-9]{0,7}$")
_MOST_PREFIXES = 4


@dataclass(frozen=True, slots=True)
class Task:
    """One task: the name of its folder, its suite, its folder (None where only named)."""

    name: str
    suite: str
    path: Path | None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The task a raw name means, or a sentence about why it is unknown or ambiguous."""

    task: Task | None
    reason: str | None = None


class TaskIndex:
    """The tasks that exist, and the names by which trials refer to them.

    Parameters
    ----------
    benchmarks_root
        The folder ``<suite>/<task>/``; a task is a folder with ``tests``, ``task.toml``,
        ``instruction.md`` or ``solution``, and its suite is the folder above it. None: there is
        no list of tasks, and :meth:`with_names` may give names of other trials instead.

    Raises
    ------
    BadInputError
        When ``benchmarks_root`` is no folder.
    """

    def __init__(self, benchmarks_root: Path | None) -> None:
        if benchmarks_root is not None and not benchmarks_root.is_dir():
            raise BadInputError(f"benchmarks root {benchmarks_root} is not a folder")
        found = _find_tasks(benchmarks_root) if benchmarks_root is not None else ()
        self._fill(found, is_named=False)

    def _fill(self, tasks: Iterable[Task], *, is_named: bool) -> None:
        self.tasks = tuple(sorted(tasks, key=lambda task: (task.suite, task.name)))
        self.suites = tuple(dict.fromkeys(task.suite for task in self.tasks))
        self._is_named = is_named
        self._starts = [(f"{plain(suite)}-", suite) for suite in self.suites]

    @classmethod
    def with_names(cls, names: Iterable[str]) -> TaskIndex:
        """Return an index of bare task names, for runs whose tasks are not available.

        Which of these names are decorated is unknown, so only a name with a known prefix
        resolves to another (``mcp_x_AbCdEf`` to ``x``, and only when ``x`` is there).
        """
        index = cls(None)
        index._fill((Task(name, UNKNOWN_SUITE, None) for name in set(names)), is_named=True)
        return index

    def resolve(self, raw_task_name: str, *, suite_hint: str | None = None) -> Resolution:
        """Return the task that ``raw_task_name`` means.

        The name as it is comes first, then without case, then with ``-`` for ``_`` and ``__``,
        then as an id or name in a ``task.toml``. Only then decorations are taken off, the fewest
        first, and only where what remains is a task; at last a name that was cut is completed
        where exactly one task starts with it.

        Parameters
        ----------
        raw_task_name
            The task name of a trial.
        suite_hint
            The suite the trial names; it decides between tasks of the same name.
        """
        for forms in self._forms(raw_task_name):
            found = [task for form in forms for task in self._lookup(form)]
            if found:
                return _choose(raw_task_name, found, suite_hint)
        return Resolution(None, f"no task is named {raw_task_name!r}, with or without decorations")

    def suite_of(self, run_id: str) -> str | None:
        """Return the longest suite name that a run id starts with."""
        name = plain(run_id)
        found = [suite for start, suite in self._starts if name.startswith(start)]
        return max(found, key=len, default=None)

    def _forms(self, raw: str) -> Iterator[tuple[str, ...]]:
        """Yield the names to look for, the most certain first."""
        if self._is_named:
            has_prefix = len(tuple(without_prefixes(raw))) > 1
            yield from reversed(tuple(undecorated(raw))) if has_prefix else ((raw,),)
            return
        yield from undecorated(raw)
        if len(raw) == CUT_LENGTH:
            for form in without_prefixes(raw):
                yield self._completions(form)
            for form in without_cut_suffix(raw):
                yield (form,)

    def _completions(self, cut: str) -> tuple[str, ...]:
        stem = plain(cut)
        return tuple(task.name for task in self.tasks if plain(task.name).startswith(stem))

    def _lookup(self, name: str) -> list[Task]:
        for key in (name, name.lower(), plain(name)):
            if key in self._known:
                return self._known[key]
        return self._aliases.get(name.lower(), [])

    @cached_property
    def _known(self) -> dict[str, list[Task]]:
        """The tasks under their name, its lower case and its plain form."""
        known: dict[str, list[Task]] = {}
        for spell in (str, str.lower, plain):
            fresh: dict[str, list[Task]] = {}
            for task in self.tasks:
                fresh.setdefault(spell(task.name), []).append(task)
            known = fresh | known
        return known

    @cached_property
    def _aliases(self) -> dict[str, list[Task]]:
        """The tasks under the id and name in their task.toml, read on first use."""
        aliases: dict[str, list[Task]] = {}
        for task in self.tasks:
            for alias in sorted(names_stated_by(task)):
                aliases.setdefault(alias.lower(), []).append(task)
        return aliases


def resolve_trials(
    trials: Iterable[TrialRef], index: TaskIndex
) -> tuple[tuple[TrialRef, ...], dict[Path, str]]:
    """Return the trials with task name, suite and task folder, and why some have none.

    A trial whose task is unknown or ambiguous keeps its raw task name and the suite it states
    itself (``unknown`` without one); the reason is found under the trial's path.
    """
    resolved, reasons = [], {}
    for trial in trials:
        raw = trial.raw_task_name or trial.task_name
        found = index.resolve(raw, suite_hint=trial.benchmark or index.suite_of(trial.run_id))
        task = found.task
        if task is None:
            reasons[trial.path] = found.reason or ""
        name = task.name if task else raw
        suite = task.suite if task and task.path else trial.benchmark or UNKNOWN_SUITE
        folder = task.path if task else None
        resolved.append(
            replace(trial, task_name=name, benchmark=suite, task_dir=folder, raw_task_name=raw)
        )
    return tuple(resolved), reasons


def _choose(raw: str, found: list[Task], suite_hint: str | None) -> Resolution:
    """Return the only task of ``found``, or the only one of the hinted suite."""
    distinct = list(dict.fromkeys(found))
    if len(distinct) > 1 and suite_hint:
        hinted = [task for task in distinct if _same_suite(task.suite, suite_hint)]
        distinct = hinted if len(hinted) == 1 else distinct
    if len(distinct) == 1:
        return Resolution(distinct[0])
    listed = ", ".join(f"{task.suite}/{task.name}" for task in distinct[:5])
    return Resolution(None, f"task name {raw!r} is ambiguous: {listed}")


def _same_suite(suite: str, hint: str) -> bool:
    return plain(suite) == plain(hint)


def _find_tasks(root: Path) -> Iterator[Task]:
    """Yield the tasks below a folder; each folder is listed once."""
    stack = [(root, 0)]
    while stack:
        path, depth = stack.pop()
        for folder in _folders(path, root):
            if any(is_there(folder / name) for name in _listed(folder) & _TASK_NAMES):
                yield Task(folder.name, path.name, folder)
            elif depth < _DEEPEST:
                stack.append((folder, depth + 1))


def _folders(path: Path, root: Path) -> list[Path]:
    try:
        with os.scandir(path) as found:
            return [
                path / entry.name
                for entry in found
                if entry.name[0] != "."
                and entry.is_dir()
                and (not entry.is_symlink() or is_inside(path / entry.name, root))
            ]
    except OSError:
        return []


def _listed(folder: Path) -> frozenset[str]:
    """Return the names in a folder; those of a task where it cannot be listed."""
    names = names_in(folder)
    return _TASK_NAMES if names is None else names


def names_stated_by(task: Task) -> set[str]:
    """Return the id and name that the task.toml of a task gives; titles with spaces are none."""
    if task.path is None or not is_there(task.path / "task.toml"):
        return set()
    document, _ = decode_toml(read_text(task.path / "task.toml", task.path).value or "")
    tables = (document, document.get("task"), document.get("metadata"))
    stated = (t.get(key) for t in tables if isinstance(t, dict) for key in ("id", "name"))
    return {value for value in stated if isinstance(value, str) and _NAME.fullmatch(value)}


# --- names without the decorations of harnesses ---


def undecorated(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the task names that ``name`` may mean: as it is, with one decoration off, with two off.

    Decorations are the prefixes ``mcp_``, ``bl_``, ``sgonly_``, ``artifact_``, ``sdlc_<phase>_``
    and a random suffix of 6 to 8 letters and digits. Behind a name without prefix a suffix that
    could be a word (no digit, no capital inside) counts as part of the name.

    Examples
    --------
    >>> list(undecorated("mcp_ccx-1_dyywsa"))
    [('mcp_ccx-1_dyywsa',), ('mcp_ccx-1', 'ccx-1_dyywsa'), ('ccx-1',)]
    >>> list(undecorated("fix_login_flow"))
    [('fix_login_flow',)]
    """
    bare = list(without_prefixes(name))
    steps: dict[int, list[str]] = {}
    for count, form in enumerate(bare):
        steps.setdefault(count, []).append(form)
        match = _SUFFIX.search(form)
        if match is not None and (len(bare) > 1 or not _is_word(match[1])):
            steps.setdefault(count + 1, []).append(form[: match.start()])
    for count in sorted(steps):
        yield tuple(dict.fromkeys(steps[count]))


def _is_word(suffix: str) -> bool:
    return suffix.isalpha() and (suffix.islower() or suffix.isupper() or suffix.istitle())


def without_prefixes(name: str) -> Iterator[str]:
    """Yield ``name``, then ``name`` without its first decorating prefix, and so on."""
    yield name
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(name)
        if match is None:
            return
        name = name[match.end() :]
        yield name


def without_cut_suffix(name: str) -> Iterator[str]:
    """Yield the task names that a cut name may mean when the cut went through its random suffix.

    Examples
    --------
    >>> list(without_cut_suffix("mcp_ccx-208_6zocj"))
    ['mcp_ccx-208', 'ccx-208']
    """
    for form in without_prefixes(name):
        match = _CUT_SUFFIX.search(form)
        if match is not None:
            yield form[: match.start()]


def plain(name: str) -> str:
    """Return ``name`` in lower case with ``-`` for every run of separators.

    Examples
    --------
    >>> plain("Django__django-1")
    'django-django-1'
    """
    return re.sub(r"[-_]+", "-", name.lower())
