"""Evaluate runs behind URLs: batches of trials on any executor, a table file for each batch.

A worker gets locators, never data. It copies the files of its batch into a private temporary
folder and evaluates them as a local run, so that readers and their safety rules are the same. What
it writes is named by what it was made from: a second run finds it and does nothing, and a batch
that is begun twice is written once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace as with_fields

from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.io.artefacts import decoded, encoded, record_in
from retrieval_eval.io.layout import discover
from retrieval_eval.io.remote import Found, Place, is_plain, unholdable
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.model import AnyRecord
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.pipeline.executors import Engine, halves, run_on
from retrieval_eval.pipeline.fingerprint import code_fingerprint, combined
from retrieval_eval.pipeline.manifest import (
    TaskFiles,
    Unit,
    find_tasks,
    manifest_bytes,
    read_manifest,
    read_tasks,
    tasks_bytes,
    tasks_digest,
)
from retrieval_eval.pipeline.naming import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.pipeline.summary import PartialSummary
from retrieval_eval.pipeline.tables import (
    TABLES,
    Shard,
    kept_in,
    metrics_in,
    shard_at,
    shard_bytes,
    shards_in,
    trials_in,
    write_documents,
)
from retrieval_eval.pipeline.trial import Job, Tasks, evaluate_trial, give_up
from retrieval_eval.records import Exclusion, Progress
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.study import impact_analysis

MANIFEST_FILE: Final = "manifest.parquet"
TASKS_FILE: Final = "tasks.parquet"
_MOST_TRIALS: Final = 1 << 20
"""Positions that each batch has for its trials, so that those of all are in one order."""

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
    """The locators of some trials of one configuration; ``number`` is its place in the run."""

    setting: Setting
    config: str
    number: int
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

    @property
    def shard(self) -> Shard:
        """Where its table goes."""
        return shard_at(self.setting.tables, self.setting.run_id, self.config, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker returns of a batch.

    Parameters
    ----------
    number, name
        Which batch, and the name of its shard.
    n_trials, n_bytes
        Its trials, and the bytes of their files; none where the shard was there already.
    digest
        Digest of the inputs and the metrics of its trials, in their order.
    seconds
        Time of the worker.
    is_fresh
        Whether it was computed now.
    partial
        The summary of its trials, which merges with those of other batches.
    excluded, notes
        As in the summary of a run.
    """

    number: int
    name: str
    n_trials: int
    n_bytes: int
    digest: str
    seconds: float
    is_fresh: bool
    partial: PartialSummary
    excluded: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()


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
    began = time.monotonic()
    shard = batch.shard
    is_fresh = not shard.place.exists()
    if is_fresh:
        with _local_copy(batch) as (jobs, excluded):
            tasks = Tasks()
            results = [
                give_up(job, reason) if reason else evaluate_trial(job, tasks)
                for job, reason in jobs
            ]
        notes = [note for result in results for note in result.notes]
        data, kept = shard_bytes(results, excluded, notes[:_MOST_NOTES])
        shard.place.write(data)
        trials: Iterable[TrialMetrics] = (
            decoded(result.metrics, TrialMetrics, result.stem) for result in results
        )
    else:
        kept, trials = kept_in(shard.place), metrics_in(shard)
    partial = PartialSummary()
    for position, trial in enumerate(trials):
        partial.add(batch.number * _MOST_TRIALS + position, trial)
    return Receipt(
        batch.number,
        shard.name,
        partial.n_trials,
        sum(unit.size for unit in batch.units) if is_fresh else 0,
        kept.digest,
        time.monotonic() - began,
        is_fresh,
        partial,
        tuple(Exclusion(Path(e[0]), batch.setting.run_id, *e[1:]) for e in kept.excluded),
        kept.notes,
    )


@contextmanager
def _local_copy(batch: Batch) -> Iterator[tuple[list[tuple[Job, str]], tuple[Exclusion, ...]]]:
    """Give the trials of a batch as jobs on a temporary copy of their files and tasks.

    Beside each is the reason why it is given up, or an empty text.
    """
    own = batch.setting
    files = [
        Found(f"{unit.folder}/{found.path}", found.size, found.version)
        for unit in batch.units
        for found in unit.files
    ]
    with ExitStack() as stack:
        folders = [unit.folder for unit in batch.units]
        run = stack.enter_context(own.run.copied(files, folders=folders))
        found = discover(run, own.run_id)
        if own.benchmarks is None or own.tasks is None:
            index = TaskIndex.with_names(t.task_name for t in found.trials)
            tasks: dict[Path, TaskFiles] = {}
        else:
            index, tasks = _tasks(str(own.tasks), own.tasks_digest)
        trials, problems = resolve_trials(found.trials, index)
        wanted = {trial.task_dir for trial in trials if trial.task_dir is not None}
        copy = Path()
        if own.benchmarks is not None:
            needed = [
                Found(f"{folder}/{one.path}", one.size, one.version)
                for folder in sorted(wanted)
                for one in tasks[folder].files
            ]
            copy = stack.enter_context(own.benchmarks.copied(needed))
        jobs = []
        lacking = {unit.folder: lack for unit in batch.units if (lack := _lack_of(unit))}
        for trial in trials:
            if trial.task_dir is not None:
                trial = with_fields(trial, task_dir=copy / trial.task_dir)
            problem = problems.get(trial.path)
            inner = trial.path.relative_to(run)
            within = (folder.as_posix() for folder in (inner, *inner.parents))
            lack = next((lacking[folder] for folder in within if folder in lacking), "")
            job = Job(trial, None, trial.trial_name, own.k_values, problem)
            jobs.append((job, batch.gives_up or lack))
        yield jobs, found.excluded


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
    try:
        tasks = read_tasks(Place(location).read())
    except FileNotFoundError:
        raise BadInputError(f"{location}: was removed meanwhile; evaluate again") from None
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
    setting = Setting(run, run.name, tables, k_values, code_fingerprint())
    if benchmarks is not None:
        tasks = find_tasks(benchmarks)
        place = folder / TASKS_FILE
        place.write(tasks_bytes(tasks))
        digest = tasks_digest(tasks)
        setting = dataclass_replace(
            setting, benchmarks=benchmarks, tasks=place, tasks_digest=digest
        )
    manifest = manifest_bytes(run)
    (folder / MANIFEST_FILE).write(manifest)
    wanted = [batch.fingerprint for batch in _batches(setting, manifest)]
    there = {shard.name: shard for shard in shards_in(tables, run.name)}
    digest = combined([*wanted, str(seed)])
    if wanted and there.keys() == set(wanted):
        kept = _kept_documents(folder, digest)
        if kept is not None:
            shards = tuple(there.values())
            # Documents of trials may have been deleted or damaged since.
            made = [] if folder.local is None else write_documents(folder.local, shards)[1]
            shown = tuple(made[:_MOST_NOTES])
            return RunOfBatches(run.name, folder, *kept, shards, notes=shown)
    n_all = sum(len(units) for _, units in read_manifest(manifest))
    partial = PartialSummary()
    excluded: list[Exclusion] = []
    notes: list[str] = []
    names: set[str] = set()
    n_fresh = n_done = 0
    for receipt in run_on(
        engine, evaluate_batch, _batches(setting, manifest), split=_split, lost=_lost
    ):
        partial.merge(receipt.partial)
        excluded += receipt.excluded
        notes += receipt.notes
        names.add(receipt.name)
        n_fresh += receipt.n_trials if receipt.is_fresh else 0
        n_done += receipt.n_trials
        if progress is not None:
            progress(n_done, n_all, receipt.name[:12])
    for shard in shards_in(tables, run.name):
        if shard.name not in names:
            shard.place.remove()
    if not partial.n_trials:
        return None
    distinct = sorted(set(excluded), key=lambda e: (e.detail, e.reason))
    # A run with trials that were given up is tried again, as no manifest has this digest.
    digest = digest if names == set(wanted) else combined([digest, "failed"])
    shards = tuple(shards_in(tables, run.name))
    entries, damaged = ([], []) if folder.local is None else write_documents(folder.local, shards)
    summary = with_fields(
        partial.summary(run.name, entries, distinct, k_values), input_fingerprint=digest
    )
    (folder / SUMMARY_FILE).write(encoded(summary, indent=1))
    impact = with_fields(impact_analysis(trials_in(shards), seed=seed), input_fingerprint=digest)
    (folder / IMPACT_FILE).write(encoded(impact, indent=1))
    shown = tuple(dict.fromkeys([*notes, *damaged]))[:_MOST_NOTES]
    return RunOfBatches(run.name, folder, summary, impact, shards, n_fresh, shown)


def _batches(setting: Setting, manifest: bytes) -> Iterator[Batch]:
    for number, (config, units) in enumerate(read_manifest(manifest)):
        yield Batch(setting, config, number, units)


def _split(batch: Batch) -> list[Batch]:
    return [dataclass_replace(batch, units=units) for units in halves(batch.units)]


def _lost(batch: Batch, end: str) -> Receipt:
    return evaluate_batch(dataclass_replace(batch, gives_up=end))


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
