"""The tasks of a benchmark, and the task that a decorated or truncated name means."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode_toml, is_inside, is_there, names_in, read_text
from retrieval_eval.records import TrialRef

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
