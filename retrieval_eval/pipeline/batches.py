"""Evaluate runs behind URLs: batches of trials on any executor, a table file for each batch.

A worker gets locators, never data. It copies the files of its batch into a private temporary
folder and evaluates them as a local run, so that readers and their safety rules are the same. What
it writes is named by what it was made from: a second run finds it and does nothing, and a batch
that is begun twice is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from msgspec.structs import replace as with_fields

from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.io.artefacts import decoded, encoded, record_in
from retrieval_eval.io.layout import Discovery, discover, trial_at
from retrieval_eval.io.remote import Found, Place, differing, is_plain, unholdable
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.metrics.catalog import BY_NAME, summarised
from retrieval_eval.model import AnyRecord
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.pipeline.executors import WAITS, Engine, halves, run_on
from retrieval_eval.pipeline.fingerprint import code_fingerprint, combined
from retrieval_eval.pipeline.manifest import (
    Manifest,
    TaskFiles,
    Unit,
    find_tasks,
    manifest_of,
    read_tasks,
    tasks_bytes,
    tasks_digest,
)
from retrieval_eval.pipeline.naming import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.pipeline.summary import OverTasks, Totals
from retrieval_eval.pipeline.tables import (
    TABLES,
    Kept,
    Shard,
    kept_in,
    shard_at,
    shard_bytes,
    shards_in,
    task_numbers,
    trials_in,
    write_documents,
)
from retrieval_eval.pipeline.trial import Job, Tasks, TrialResult, evaluate_trial, give_up
from retrieval_eval.records import Exclusion, Progress
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.study import impact_analysis

TASKS_FILE: Final = "tasks.parquet"
_MOST_CELLS: Final = 1 << 22
"""Numbers that one reducer holds: trials of a configuration times metrics, of which it has one."""

_MOST_NOTES: Final = 20


@dataclass(frozen=True, slots=True)
class Setting:
    """What all batches of a run share; ``tasks`` is where the list of tasks is, with its digest."""

    run: Place
    run_id: str
    tables: Place
    k_values: tuple[int, ...]
    code: str
    benchmarks: Place | None = None
    tasks: Place | None = None
    tasks_digest: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The locators of some trials of one configuration; ``start`` is the place of the first."""

    setting: Setting
    config: str
    start: int
    units: tuple[Unit, ...]
    gives_up: str = ""

    @property
    def fingerprint(self) -> str:
        """The digest of everything that its shard depends on."""
        own = self.setting
        settings = (SCHEMA_VERSION, own.run_id, self.config, own.tasks_digest)
        files = (
            f"{unit.folder}\0{found.path}\0{found.size}\0{found.version}"
            for unit in self.units
            for found in unit.files
        )
        folders = (unit.folder for unit in self.units)
        cutoffs = ",".join(map(str, own.k_values))
        return combined([*settings, cutoffs, self.gives_up, *folders, *files])

    def shard(self, digest: str | None = None) -> Shard:
        """Return where its table goes: by its fingerprint, or by the digest of something else."""
        own = self.setting
        return shard_at(own.tables, own.run_id, self.config, digest or self.fingerprint)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker returns of a batch; its size does not depend on the number of trials.

    Parameters
    ----------
    start, shard
        Which batch, and where its table is.
    is_fresh
        Whether it was computed now.
    kept
        What the shard keeps beside its rows.
    """

    start: int
    shard: Shard
    is_fresh: bool
    kept: Kept


def evaluate_batch(batch: Batch) -> Receipt:
    """Evaluate the trials of a batch and write its shard, unless it is there.

    Raises
    ------
    BadInputError
        When the worker runs other code than the one that made the batch, or files cannot be read
        or written.
    """
    if code_fingerprint() != batch.setting.code:
        raise BadInputError(
            "a worker runs another version of this package, or other metrics; install the same "
            "on all of them"
        )
    shard = batch.shard()
    is_fresh = not shard.place.exists()
    if is_fresh:
        with _local_copy(batch) as copy:
            tasks = Tasks()
            results = [
                give_up(one.job, one.reason) if one.reason else evaluate_trial(one.job, tasks)
                for one in copy.planned
            ]
        notes = [note for result in results for note in result.notes]
        pairs = zip(copy.planned, results, strict=True)
        if copy.differs or not all(one.is_measured_by(result) for one, result in pairs):
            # Under the name of what was listed the next evaluation would take it for that.
            shard = batch.shard(combined([batch.fingerprint, *(r.fingerprint for r in results)]))
            notes.insert(0, _ODD.format(batch.config))
        data, kept = shard_bytes(results, copy.excluded, notes[:_MOST_NOTES])
        shard.place.write(data)
    else:
        kept = kept_in(shard.place)
    return Receipt(batch.start, shard, is_fresh, kept)


_ODD: Final = (
    "{}: some trials could not be measured as listed, because files changed meanwhile or the "
    "measuring failed; evaluate again"
)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A trial of a batch.

    Parameters
    ----------
    job
        Its evaluation.
    reason
        Why it is given up, or an empty text.
    listed
        The digests of the trial's own files and of its task's when they were listed; None for what
        is behind a URL.
    """

    job: Job
    reason: str
    listed: tuple[str | None, str | None]

    def is_measured_by(self, result: TrialResult) -> bool:
        """Return whether a result is that of the files that were listed."""
        if self.reason:
            return True
        if result.measured is None:
            return False
        pairs = zip(self.listed, result.measured, strict=True)
        return all(listed in (None, measured) for listed, measured in pairs)


class _Copy(NamedTuple):
    """The trials of a batch where they can be read, and whether copies are not as listed."""

    planned: list[_Planned]
    excluded: tuple[Exclusion, ...]
    differs: bool


@contextmanager
def _local_copy(batch: Batch) -> Iterator[_Copy]:
    """Give the trials of a batch, on a temporary copy of what is behind a URL."""
    own = batch.setting
    with ExitStack() as stack:
        differ: list[Found] = []

        def copied(place: Place, files: Sequence[Found], folders: Sequence[str] = ()) -> Path:
            copy = stack.enter_context(place.copied(files, folders=folders))
            differ.extend(differing(copy, files))
            return copy

        listed: dict[str, str] = {}
        lacking: dict[str, str] = {}
        if own.run.local is not None:
            run, found = own.run.local, _trials_of(own.run.local, batch)
            listed = {unit.folder: unit.files[0].version for unit in batch.units}
        else:
            run = copied(
                own.run,
                [inner.below(unit.folder) for unit in batch.units for inner in unit.files],
                [unit.folder for unit in batch.units],
            )
            found = discover(run, own.run_id)
            lacking = {unit.folder: lack for unit in batch.units if (lack := _lack_of(unit))}
        tasks: dict[Path, TaskFiles] = {}
        if own.benchmarks is None or own.tasks is None:
            index = TaskIndex.with_names(t.task_name for t in found.trials)
        else:
            index, tasks = _tasks(str(own.tasks), own.tasks_digest)
        trials, problems = resolve_trials(found.trials, index)
        wanted = {trial.task_dir for trial in trials if trial.task_dir is not None}
        benchmarks = own.benchmarks.local if own.benchmarks is not None else None
        of_tasks: dict[Path, str] = {}
        if benchmarks is not None:
            of_tasks = {folder: tasks[folder].files[0].version for folder in wanted}
        elif own.benchmarks is not None:
            needed = [
                inner.below(folder) for folder in sorted(wanted) for inner in tasks[folder].files
            ]
            benchmarks = copied(own.benchmarks, needed)
        planned = []
        for trial in trials:
            inner = trial.path.relative_to(run)
            within = (folder.as_posix() for folder in (inner, *inner.parents))
            lack = next((lacking[folder] for folder in within if folder in lacking), "")
            of_task = None if trial.task_dir is None else of_tasks.get(trial.task_dir)
            problem = problems.get(trial.path)
            if trial.task_dir is not None and benchmarks is not None:
                trial = with_fields(trial, task_dir=benchmarks / trial.task_dir)
            job = Job(trial, None, trial.trial_name, own.k_values, problem)
            digests = listed.get(inner.as_posix()), of_task
            planned.append(_Planned(job, batch.gives_up or lack, digests))
        yield _Copy(planned, found.excluded, bool(differ))


def _trials_of(run: Path, batch: Batch) -> Discovery:
    """Return the trials of a batch in a local folder, which the client has found there."""
    trials = []
    for unit in batch.units:
        trial = trial_at(run / unit.folder, run)
        if trial is None:
            raise BadInputError(
                f"{run / unit.folder}: there is no trial now, or this worker does not see the "
                "folder; evaluate again"
            )
        trials.append(trial)
    return Discovery(tuple(trials), ())


def _lack_of(unit: Unit) -> str:
    """Return why the copy of a trial lacks a file, or an empty text where it has all of them."""
    left_out = unholdable(found.path for found in unit.files)
    # An empty object with the name of a folder marks that folder.
    lost = [f.path for f in unit.files if f.path in left_out and (f.size or not is_plain(f.path))]
    if not lost:
        return ""
    return f"the storage holds {lost[0]!r}, which no local folder can hold beside the other files"


@lru_cache(maxsize=4)
def _tasks(location: str, digest: str) -> tuple[TaskIndex, dict[Path, TaskFiles]]:
    """Return the tasks of a run; a process that gets many batches reads them once."""
    tasks = read_tasks(Place(location))
    if tasks_digest(tasks.values()) != digest:
        raise BadInputError(f"{location}: was written by another evaluation; evaluate again")
    return TaskIndex.of(one.task for one in tasks.values()), tasks


# --- the whole run ---


@dataclass(frozen=True, slots=True)
class RunOfBatches:
    """A run that was evaluated in batches: its documents, its shards, and what was done."""

    run_id: str
    folder: Place
    summary: RunSummary
    impact: ImpactAnalysis
    shards: tuple[Shard, ...]
    n_fresh: int = 0
    notes: tuple[str, ...] = ()


def evaluated_before(folder: Place) -> RunOfBatches | None:
    """Return the run whose documents are in a folder; None where it holds none."""
    try:
        summary = read_document(folder, SUMMARY_FILE, RunSummary)
    except FileNotFoundError:
        return None
    try:
        impact = read_document(folder, IMPACT_FILE, ImpactAnalysis)
    except FileNotFoundError:
        raise BadInputError(f"{folder}: there is no {IMPACT_FILE}; evaluate again") from None
    # Tables lie in the folder itself, or beside those of other runs.
    for tables in (folder / TABLES, folder.parent.parent / TABLES):
        if shards := shards_in(tables, summary.run_id):
            return RunOfBatches(summary.run_id, folder, summary, impact, tuple(shards))
    raise BadInputError(f"{folder}: there are no tables of the run {summary.run_id}")


def evaluate_batches(
    run: Place,
    folder: Place,
    tables: Place,
    *,
    benchmarks: Place | None,
    k_values: tuple[int, ...],
    seed: int,
    engine: Engine,
    progress: Progress | None = None,
) -> RunOfBatches | None:
    """Evaluate a run in batches and write its tables, its summary and its impact document.

    Parameters
    ----------
    run, folder, tables
        The run, where its documents go, and the folder of the tables of all runs.
    benchmarks
        The folder of the tasks, or None.
    k_values, seed, progress
        As for :func:`retrieval_eval.evaluate`.
    engine
        Where batches are evaluated.

    Returns
    -------
    RunOfBatches or None
        None where there is no trial.
    """
    setting = _setting(run, folder, tables, benchmarks, k_values)
    totals = Totals()
    done: dict[str, list[tuple[int, Shard]]] = {}
    n_fresh = 0
    with manifest_of(run) as manifest:
        excluded = list(manifest.excluded)
        notes = list(manifest.notes)
        wanted = {batch.fingerprint for batch in _batches(setting, manifest)}
        there = {shard.name: shard for shard in shards_in(tables, run.name)}
        if wanted and there.keys() == wanted:
            kept = _kept_documents(folder, _digest_of(wanted, seed))
            if kept is not None:
                shards = tuple(there.values())
                # Documents of trials may have been deleted or damaged since.
                notes += [] if folder.local is None else write_documents(folder.local, shards)[1]
                shown = tuple(notes[:_MOST_NOTES])
                return RunOfBatches(run.name, folder, *kept, shards, notes=shown)

        def waits() -> None:
            if progress is not None:
                progress(totals.n_trials, manifest.n_units, WAITS)

        for receipt in run_on(
            engine,
            evaluate_batch,
            _batches(setting, manifest),
            split=_split,
            lost=_lost,
            waits=waits,
        ):
            own, shard = receipt.kept, receipt.shard
            totals.merge(own.totals)
            excluded += (Exclusion(Path(e[0]), run.name, *e[1:]) for e in own.excluded)
            notes += own.notes
            done.setdefault(shard.config, []).append((receipt.start, shard))
            n_fresh += own.totals.n_trials if receipt.is_fresh else 0
            if progress is not None:
                progress(totals.n_trials, manifest.n_units, shard.name[:12])
    made = (shard for parts in done.values() for _, shard in parts)
    shards = tuple(sorted(made, key=lambda shard: (shard.config, shard.name)))
    names = {shard.name for shard in shards}
    for shard in shards_in(tables, run.name):
        if shard.name not in names:
            shard.place.remove()
    if not totals.n_trials:
        return None
    # A table with trials that were given up has a name that no manifest gives: it is tried again.
    digest = _digest_of(names, seed)
    entries, damaged = ([], []) if folder.local is None else write_documents(folder.local, shards)
    over_tasks = _over_tasks(engine, totals, done)
    distinct = sorted(set(excluded), key=lambda e: (e.detail, e.reason))
    summary = with_fields(
        totals.summary(run.name, over_tasks, entries, distinct, k_values), input_fingerprint=digest
    )
    (folder / SUMMARY_FILE).write(encoded(summary, indent=1))
    work = (shards, seed, digest)
    (document,) = run_on(engine, _impact, [work], split=_unsplit, lost=_refused)
    (folder / IMPACT_FILE).write(document)
    impact = decoded(document, ImpactAnalysis, IMPACT_FILE)
    shown = tuple(dict.fromkeys([*notes, *damaged]))[:_MOST_NOTES]
    return RunOfBatches(run.name, folder, summary, impact, shards, n_fresh, shown)


def _setting(
    run: Place, folder: Place, tables: Place, benchmarks: Place | None, k_values: tuple[int, ...]
) -> Setting:
    setting = Setting(run, run.name, tables, k_values, code_fingerprint())
    if benchmarks is None:
        return setting
    tasks = find_tasks(benchmarks)
    place = folder / TASKS_FILE
    place.write(tasks_bytes(tasks))
    digest = tasks_digest(tasks)
    return dataclass_replace(setting, benchmarks=benchmarks, tasks=place, tasks_digest=digest)


def _batches(setting: Setting, manifest: Manifest) -> Iterator[Batch]:
    for config, start, units in manifest:
        yield Batch(setting, config, start, units)


def _split(batch: Batch) -> list[Batch]:
    parts, start = [], batch.start
    for units in halves(batch.units):
        parts.append(dataclass_replace(batch, units=units, start=start))
        start += len(units)
    return parts


def _lost(batch: Batch, end: str) -> Receipt:
    return evaluate_batch(dataclass_replace(batch, gives_up=end))


# --- summary and impact, from the tables ---


@dataclass(frozen=True, slots=True)
class Reduction:
    """Some columns of all shards of a configuration, in the order of the run."""

    config: str
    shards: tuple[Shard, ...]
    metrics: tuple[str, ...]
    unscaled: frozenset[str]


def reduced(part: Reduction) -> tuple[str, OverTasks]:
    """Return the means and medians of a configuration over its tasks."""
    numbers = task_numbers(part.shards, [BY_NAME[name] for name in part.metrics])
    return part.config, numbers.summary(part.unscaled)


def _over_tasks(
    engine: Engine, totals: Totals, done: Mapping[str, Sequence[tuple[int, Shard]]]
) -> dict[str, OverTasks]:
    """Return the means and medians of every configuration; workers read the numbers."""
    names = [metric.name for metric in summarised()]
    unscaled = frozenset(totals.unscaled)
    parts = []
    for config, shards in done.items():
        if config not in totals.configs:
            continue
        ordered = tuple(shard for _, shard in sorted(shards, key=lambda each: each[0]))
        width = max(_MOST_CELLS // totals.configs[config].counts["trials"], 1)
        for start in range(0, len(names), width):
            some = tuple(names[start : start + width])
            parts.append(Reduction(config, ordered, some, unscaled))
    found: dict[str, OverTasks] = {}
    for config, own in run_on(engine, reduced, parts, split=_unsplit, lost=_refused):
        metrics = found[config].metrics | own.metrics if config in found else own.metrics
        found[config] = OverTasks(own.n_tasks, metrics)
    return {
        config: OverTasks(own.n_tasks, {name: own.metrics[name] for name in names})
        for config, own in found.items()
    }


def _impact(work: tuple[tuple[Shard, ...], int, str]) -> bytes:
    """Return the impact document as written: the one work that needs the numbers of all trials."""
    shards, seed, digest = work
    impact = impact_analysis(trials_in(shards), seed=seed)
    return encoded(with_fields(impact, input_fingerprint=digest), indent=1)


def _unsplit(_: object) -> list[Any]:
    return []


def _refused(_: object, end: str) -> NoReturn:
    raise BadInputError(
        f"the numbers of all trials could not be summed up: {end}, perhaps for lack of memory; "
        "what was evaluated is kept"
    )


def _digest_of(names: Iterable[str], seed: int) -> str:
    """Return the digest of a run's documents, from the names of the tables they are made from."""
    return combined([*sorted(names), str(seed)])


def _kept_documents(folder: Place, digest: str) -> tuple[RunSummary, ImpactAnalysis] | None:
    """Return the documents of a run if they were made of these inputs."""
    try:
        summary = read_document(folder, SUMMARY_FILE, RunSummary)
        impact = read_document(folder, IMPACT_FILE, ImpactAnalysis)
    except (FileNotFoundError, SchemaError):
        return None
    is_kept = {summary.input_fingerprint, impact.input_fingerprint} == {digest}
    return (summary, impact) if is_kept else None


def read_document(folder: Place, name: str, struct: type[AnyRecord]) -> AnyRecord:
    """Return a document of a run behind a URL.

    Raises ``FileNotFoundError`` where it is not there, and ``SchemaError`` where it is damaged.
    """
    place = folder / name
    return record_in(place.read(), struct, str(place))
