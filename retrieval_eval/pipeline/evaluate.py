"""Evaluate runs: every trial accounted for, artefacts written, stale ones removed.

What is on the disk, whatever happens:

- Only the process that evaluates writes. A document is written to a temporary file, which then
  takes its name: readers see the whole document or none.
- An evaluation that is killed has written the documents of the trials it had done. The next one
  keeps these, for each has the digest of its inputs, and goes on with the others. It also removes
  temporary files of writers that no longer run.
- Documents are synced once, at the end. If the machine loses power before, a document may be
  missing, empty or half. Each has the digest of its own body, so readers name such a file, and the
  next evaluation makes it again from the inputs.
- One evaluation at a time works on the documents of a run. Another one waits for a minute at most,
  and is then refused; afterwards it finds the documents of the first. The lock ends with its
  process.
- A summary is written after the documents that it lists.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Final, Self, TypeVar

from msgspec.structs import replace

from retrieval_eval.demo import write_demo
from retrieval_eval.errors import BadInputError, NothingToEvaluateError, SchemaError
from retrieval_eval.io.artefacts import decoded, encoded, kept_record, read_record
from retrieval_eval.io.files import (
    files_below,
    is_inside,
    probe,
    remove,
    settle,
    write_bytes,
)
from retrieval_eval.io.layout import EXCLUSION_REASONS, Discovery, discover, runs_inside
from retrieval_eval.io.locks import alone, remove_leftovers
from retrieval_eval.io.remote import Place, is_url, local_path
from retrieval_eval.io.runs import GROUPS, resolve_runs
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.metrics.catalog import fixed_cutoffs
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.metrics.ranking.measures import MAX_CUTOFF
from retrieval_eval.metrics.trial import DEFAULT_K
from retrieval_eval.model.events import EventDocument
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.pipeline.batches import evaluate_batches, evaluated_before
from retrieval_eval.pipeline.executors import WAITS, Engine, engine_for, halves, run_on
from retrieval_eval.pipeline.fingerprint import combined
from retrieval_eval.pipeline.naming import (
    EVENTS_SUFFIX,
    IMPACT_FILE,
    METRICS_SUFFIX,
    SUMMARY_FILE,
    artefact_stems,
    safe_name,
)
from retrieval_eval.pipeline.roots import (
    BENCHMARKS_VARIABLE,
    DEMO,
    DEMO_OUTPUT,
    LEVELS_ABOVE_A_RUN,
    default_benchmarks_root,
    default_runs_root,
    is_demo,
)
from retrieval_eval.pipeline.summary import run_summary
from retrieval_eval.pipeline.tables import (
    TABLES,
    Shard,
    StoredRun,
    metrics_in,
    trials_in,
    write_tables,
)
from retrieval_eval.pipeline.trial import (
    Job,
    Tasks,
    TrialResult,
    collecting_rarely,
    evaluate_trial,
    give_up,
    measure_saved,
)
from retrieval_eval.pipeline.workers import worth_starting
from retrieval_eval.records import Exclusion, Progress, TrialRef
from retrieval_eval.study import impact_analysis
from retrieval_eval.study.trials import Trial
from retrieval_eval.traces.dialects import DIALECTS
from retrieval_eval.traces.formats import FORMATS
from retrieval_eval.values import DEFAULT_SEED, counted

ARTEFACTS = "retrieval_events"

_MOST_LOCKED: Final = 200
"""Runs whose folders are locked: each lock is an open file, of which a process may have few."""

_PATIENCE: Final = 60.0
"""Seconds to wait for another process that evaluates a run."""


class _Output:
    """Writes the files of an evaluation: each is whole at once, all are synced at the end."""

    def __init__(self) -> None:
        self._written: list[Path] = []

    def write(self, path: Path, data: bytes) -> None:
        write_bytes(path, data, is_synced=False)
        self._written.append(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        settle(self._written)


@dataclass(frozen=True, slots=True)
class Done:
    """An evaluated trial: its metrics, its inputs' digest, whether computed now.

    ``notes`` are sentences for whoever started the evaluation.
    """

    job: Job
    metrics: TrialMetrics
    fingerprint: str
    is_fresh: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """What evaluating one run gave: artefact folder, summary and impact documents, trials.

    ``notes`` name what was damaged and made again, and trials that could not be measured.
    ``is_written`` is false where only the numbers were computed. Of a run behind a URL, or with
    an output there, the trials are in ``shards`` alone, and ``n_fresh`` of them were computed now.
    """

    run_id: str
    folder: Path | Place
    summary: RunSummary
    impact: ImpactAnalysis
    trials: tuple[Done, ...]
    notes: tuple[str, ...] = ()
    is_written: bool = True
    shards: tuple[Shard, ...] = ()
    n_fresh: int = 0

    @property
    def source(self) -> Path | StoredRun:
        """What frames are read from."""
        if isinstance(self.folder, Path):
            return self.folder
        return StoredRun(self.folder, self.shards)

    @property
    def n_trials(self) -> int:
        """How many trials it has."""
        counts = self.summary.counts
        return counts.evaluated + counts.degraded

    @property
    def metrics(self) -> list[TrialMetrics]:
        """The metrics of every trial; from shards they are read each time."""
        if self.shards:
            return [metrics for shard in self.shards for metrics in metrics_in(shard)]
        return [done.metrics for done in self.trials]


@dataclass(frozen=True)
class Evaluation:
    """What evaluating runs gave; ``benchmarks_root`` is where tasks were looked for."""

    runs: tuple[RunEvaluation, ...]
    seed: int
    benchmarks_root: Path | Place | None = None

    def why_nothing_was_measured(self) -> str | None:
        """Return a sentence with what to do when no trial has metrics, or None when one has."""
        of_runs = [run.summary.counts for run in self.runs]
        if any(counts.computable for counts in of_runs):
            return None
        n = sum(counts.evaluated + counts.degraded for counts in of_runs)
        parts, hint = [f"of {counted(n, 'trial')} none could be measured"], ""
        for name, what in (("without_trace", "trace"), ("without_ground_truth", "ground truth")):
            if lacking := sum(getattr(counts, name) for counts in of_runs):
                parts.append(f"{lacking} without {what}")
                hint = _where_tasks_are(self.benchmarks_root) if what == "ground truth" else ""
        return "; ".join(filter(None, [*parts, hint]))

    @cached_property
    def impact(self) -> ImpactAnalysis:
        """The impact document over all runs together; of one run, the one on disk."""
        if len(self.runs) == 1:
            return self.runs[0].impact
        trials: list[Trial | TrialMetrics] = []
        for run in self.runs:
            trials += trials_in(run.shards) if run.shards else run.metrics
        return impact_analysis(trials, seed=self.seed)


def evaluate(
    runs: Sequence[str | Path],
    *,
    runs_root: Path | str | None = None,
    benchmarks_root: Path | str | None = None,
    output_dir: Path | str | None = None,
    k_values: Sequence[int] = DEFAULT_K,
    jobs: int = 1,
    executor: Executor | str | None = None,
    tables: bool = False,
    seed: int = DEFAULT_SEED,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate runs and write their artefacts; unchanged trials are not computed again.

    Parameters
    ----------
    runs
        Run ids (looked up below ``runs_root``) or paths of run directories; also the URL of a
        folder with the documents of a run, which is read and not evaluated. ``demo`` is the
        built-in demonstration, written to ``output_dir``, by default to ``reports/demo/data``:
        unless a runs root is given, or the environment names one that has a run ``demo``. Where
        that could be a run or folder here too, the name is refused.
    runs_root, benchmarks_root
        Folder of all runs, and of the ``<suite>/<task>/`` directories; see
        :mod:`retrieval_eval.pipeline.roots` for the defaults. Without a benchmarks root there is
        no ground truth.
    output_dir
        Artefacts go to ``<output_dir>/<run_id>/retrieval_events``; by default to
        ``<run>/retrieval_events``.
    k_values
        Cut-offs of the ranking metrics; those of `retrieval_eval.metrics.catalog.fixed_cutoffs`
        are always among them.
    jobs
        Processes to use.
    executor
        What evaluates trials in place of these processes: any executor whose workers have this
        package and see the same files, or ``processes:N``, ``threads:N`` or ``dask://HOST:PORT``.
    tables
        Also write the trials as Parquet tables to ``tables/`` in the output (extra ``cloud``), as
        is done for an output behind a URL.
    seed
        Seed of every bootstrap and permutation.

    Notes
    -----
    Runs, roots and the output may be URLs such as ``s3://bucket/runs/a`` (extra ``cloud``). Then
    the trials are evaluated in batches and written as tables below the output, with the summary
    and the impact document of each run. Documents of single trials are written only where the
    output is local.

    Raises
    ------
    BadInputError
        When a run, a root or a setting does not exist or makes no sense.
    NothingToEvaluateError
        When no run holds a trial, or a folder is no run but holds runs.
    """
    # What other distributions add must load, or every trial would be measured without it.
    for registry in (FORMATS, DIALECTS):
        registry.load()
    cutoffs = _check_k_values(k_values)
    if seed < 0:
        raise BadInputError(f"the seed is {seed}; it must be 0 or more")
    if any(map(is_url, (*runs, runs_root, benchmarks_root, output_dir))):
        with engine_for(executor or (f"processes:{jobs}" if jobs > 1 else "threads:1")) as engine:
            return _evaluate_places(
                _places(runs, runs_root),
                benchmarks_root,
                output_dir,
                cutoffs,
                seed,
                engine,
                progress,
            )
    runs_root, benchmarks_root, output_dir = (
        None if folder is None else Path(folder)
        for folder in (runs_root, benchmarks_root, output_dir)
    )
    if is_demo(runs, runs_root):
        _refuse_own_demo()
        output_dir = output_dir or DEMO_OUTPUT
        write_demo(output_dir)
        runs_root, benchmarks_root = output_dir / "runs", output_dir / "benchmarks"
    folders = resolve_runs([str(run) for run in runs], runs_root or default_runs_root())
    benchmarks_root = benchmarks_root or default_benchmarks_root(folders)
    found, problems = _discover(folders, benchmarks_root)
    targets = _targets(folders, output_dir)
    work = [_jobs(d, t, cutoffs, problems) for d, t in zip(found, targets, strict=True)]
    _refuse_links(targets, work)
    each = [(job, target) for target, batch in zip(targets, work, strict=True) for job in batch]
    with ExitStack() as stack:
        stack.enter_context(collecting_rarely())
        # In one order, so that two evaluations of several runs cannot wait for each other.
        for target in sorted(targets)[:_MOST_LOCKED]:
            stack.enter_context(_alone_in(target))
        output = stack.enter_context(_Output())
        each_done = iter(_run_jobs(each, jobs, output, progress, executor))
        done = [list(islice(each_done, len(batch))) for batch in work]
        results = tuple(
            _finish(run.name, place, left_out.excluded, own, output, cutoffs, seed)
            for run, place, left_out, own in zip(folders, targets, found, done, strict=True)
        )
        if tables:
            for run, target in zip(results, targets, strict=True):
                place = Place(output_dir or target) / TABLES
                _refuse_planted_links(target, place.local)
                trials = [
                    (d.metrics.provenance.config_name, d.job.stem, d.fingerprint)
                    for d in run.trials
                ]
                write_tables(place, run.run_id, target, trials)
    return Evaluation(results, seed, benchmarks_root)


def evaluate_saved(
    folder: Path | str,
    *,
    output_dir: Path | str | None = None,
    k_values: Sequence[int] = DEFAULT_K,
    seed: int = DEFAULT_SEED,
) -> Evaluation:
    """Compute the metrics of event documents alone, without the traces they were made of.

    What an event document does not record is missing: rewards, cost, and how long the agent ran.

    Parameters
    ----------
    folder
        Every ``*.retrieval_events.json`` in it and below is read.
    output_dir
        Artefacts go to ``<output_dir>/<run_id>/retrieval_events``; without one nothing is written.
    k_values, seed
        As for :func:`evaluate`.

    Raises
    ------
    BadInputError
        When there is no such folder, when a document in it is damaged, of another major version or
        no event document (the message names each with its reason), or when ``output_dir`` holds
        the documents that are read.
    NothingToEvaluateError
        When the folder holds no event document.
    """
    folder, cutoffs = local_path(folder), _check_k_values(k_values)
    output_dir = None if output_dir is None else local_path(output_dir)
    if not probe(folder.is_dir):
        raise BadInputError(f"{folder}: no such folder of event documents")
    files = [path for path in files_below(folder) if path.name.endswith(EVENTS_SUFFIX)]
    if not files:
        raise NothingToEvaluateError(f"{folder}: no file named *{EVENTS_SUFFIX} in it")
    saved: dict[str, list[tuple[Path, EventDocument]]] = {}
    refused = []
    for path in files:
        try:
            document = read_record(path, folder, EventDocument)
        except SchemaError as error:
            refused.append(str(error))
            continue
        saved.setdefault(document.provenance.run_id, []).append((path, document))
    if refused:
        more = f"; and {len(refused) - _MOST_REFUSED} more" if len(refused) > _MOST_REFUSED else ""
        raise BadInputError("; ".join(refused[:_MOST_REFUSED]) + more)
    runs = [
        _saved_run(run_id, documents, output_dir, cutoffs, seed)
        for run_id, documents in sorted(saved.items())
    ]
    return Evaluation(tuple(runs), seed)


_MOST_REFUSED = 5


def _saved_run(
    run_id: str,
    documents: list[tuple[Path, EventDocument]],
    output_dir: Path | str | None,
    cutoffs: tuple[int, ...],
    seed: int,
) -> RunEvaluation:
    """Measure the event documents of one run, and write artefacts where a folder is named."""
    target = Path(output_dir) / safe_name(run_id) / ARTEFACTS if output_dir is not None else None
    trials = {
        TrialRef(
            run_id,
            document.provenance.config_name,
            document.provenance.batch_timestamp,
            document.provenance.trial_name or document.provenance.task_name,
            path,
            document.provenance.task_name,
            document.provenance.benchmark,
        ): document
        for path, document in documents
    }
    stems = artefact_stems(trials)
    done = []
    for trial, document in trials.items():
        job = Job(trial, target, stems[trial], cutoffs)
        done.append(Done(job, measure_saved(document, cutoffs), "", is_fresh=True))
    if target is not None:
        for one in done:
            for place in _files_of(one.job, target):
                if probe(place.exists) and any(_is_same(place, path) for path, _ in documents):
                    raise BadInputError(
                        f"{place}: is one of the documents that are read; name another folder "
                        "with --output-dir"
                    )
        _refuse_links([target], [[one.job for one in done]])
    summary = run_summary(run_id, [(d.job.stem, d.metrics) for d in done], (), cutoffs)
    impact = impact_analysis([d.metrics for d in done], seed=seed)
    if target is not None:
        with _alone_in(target), _Output() as output:
            for one in done:
                events, metrics = _files_of(one.job, target)
                output.write(events, encoded(trials[one.job.trial]))
                output.write(metrics, encoded(one.metrics))
            output.write(target / SUMMARY_FILE, encoded(summary, indent=1))
            output.write(target / IMPACT_FILE, encoded(impact, indent=1))
    return RunEvaluation(
        run_id, target or Path(), summary, impact, tuple(done), is_written=target is not None
    )


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _refuse_own_demo() -> None:
    """Raise where the name of the demonstration is that of a run or folder of the user's too."""
    root = default_runs_root()
    for place in (*((root / DEMO,) if root else ()), Path(DEMO)):
        if probe(place.is_dir):
            raise BadInputError(
                f"{DEMO!r} is the name of the built-in demonstration, which is simulated, and of "
                f"the folder {place.resolve()}: name that run by this path; `retrieval-eval demo` "
                "is the demonstration"
            )


def _check_k_values(k_values: Sequence[int]) -> tuple[int, ...]:
    if not k_values or any(type(k) is not int or not 1 <= k <= MAX_CUTOFF for k in k_values):
        raise BadInputError(
            f"k values are whole numbers from 1 to {MAX_CUTOFF:,}, not {list(k_values)!r}"
        )
    return tuple(sorted({*k_values, *fixed_cutoffs()}))


def _discover(
    folders: Sequence[Path], benchmarks_root: Path | None
) -> tuple[list[Discovery], dict[Path, str]]:
    """Return the trials of every run with their tasks, and why a trial has no task."""
    if benchmarks_root is not None and not probe(benchmarks_root.is_dir):
        raise BadInputError(
            f"benchmarks root {benchmarks_root} is not a folder; name one with --benchmarks-root"
        )
    found = [discover(folder, folder.name) for folder in folders]
    trials = [trial for discovery in found for trial in discovery.trials]
    if not trials:
        where = ", ".join(str(folder) for folder in folders)
        raise NothingToEvaluateError(f"no trial found in {where}{_left_out(found)}")
    for folder, discovery in zip(folders, found, strict=True):
        if inside := runs_inside((trial.path for trial in discovery.trials), folder):
            raise NothingToEvaluateError(
                f"{folder} is no run: it holds {counted(len(inside), 'run')}, such as {inside[0]}; "
                f"name a run; {_where_tasks_are(benchmarks_root)}"
            )
    index = (
        TaskIndex(benchmarks_root)
        if benchmarks_root is not None
        else TaskIndex.with_names(trial.raw_task_name or trial.task_name for trial in trials)
    )
    resolved, problems = resolve_trials(trials, index)
    following = iter(resolved)
    return [
        Discovery(tuple(next(following) for _ in discovery.trials), discovery.excluded)
        for discovery in found
    ], problems


def _where_tasks_are(benchmarks_root: Path | Place | None) -> str:
    """Return where ground truth is looked for, and how to say that it is elsewhere."""
    looked = (
        "there is no folder 'benchmarks' near the runs or here, so there is no ground truth"
        if benchmarks_root is None
        else f"ground truth is looked for in {benchmarks_root}"
    )
    return f"{looked}; name the folder of the tasks, <suite>/<task>/, with --benchmarks-root"


def _left_out(found: Sequence[Discovery]) -> str:
    """Return how many folders were left out and why, each reason with an example."""
    by_reason: dict[str, list[Exclusion]] = {}
    for excluded in (e for discovery in found for e in discovery.excluded):
        by_reason.setdefault(excluded.reason, []).append(excluded)
    parts = [
        f"{len(group)} left out because {EXCLUSION_REASONS[reason]}, such as {group[0].detail}"
        for reason, group in sorted(by_reason.items())
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _places(runs: Sequence[str | Path], runs_root: Path | str | None) -> list[Place]:
    """Return where the runs are; a name is looked up below its root, behind a URL too."""
    found = []
    for run in runs:
        if is_url(run):
            place = Place(run)
            if place.local is not None:
                place = Place(resolve_runs([str(place.local)], None)[0])
        elif is_url(runs_root):
            root = Place(runs_root or "")
            places = [root / str(run), *(root / f"{group}/{run}" for group in GROUPS)]
            there = [place for place in places if place.exists()]
            if not there:
                raise BadInputError(f"no run {str(run)!r} in {root}")
            place = there[0]
        else:
            local = None if runs_root is None else Path(runs_root)
            place = Place(resolve_runs([str(run)], local or default_runs_root())[0])
        found.append(place)
    return list(dict.fromkeys(found))


def _benchmarks(runs: Sequence[Place], given: Path | str | None) -> Place | None:
    """Return the folder of all tasks, by the rules of `default_benchmarks_root`."""
    named = given or os.environ.get(BENCHMARKS_VARIABLE)
    if named:
        place = Place(named)
        if not place.exists():
            raise BadInputError(
                f"benchmarks root {place} is not a folder; name one with --benchmarks-root"
            )
        return place
    above: list[Place] = []
    for run in runs:
        place = run
        for _ in range(LEVELS_ABOVE_A_RUN):
            place = place.parent
            above.append(place / "benchmarks")
    return next((place for place in dict.fromkeys(above) if place.exists()), None)


def _evaluate_places(
    runs: Sequence[Place],
    benchmarks_root: Path | str | None,
    output_dir: Path | str | None,
    cutoffs: tuple[int, ...],
    seed: int,
    engine: Engine,
    progress: Progress | None,
) -> Evaluation:
    """Evaluate runs of which something is behind a URL, in batches."""
    names = Counter(run.name for run in runs)
    if output_dir is not None and (twice := [name for name, n in names.items() if n > 1]):
        raise BadInputError(f"several runs are named {twice[0]!r}; evaluate one at a time")
    benchmarks = _benchmarks(runs, benchmarks_root)
    results = []
    for run in runs:
        output = run if output_dir is None else Place(output_dir) / run.name
        folder = output / ARTEFACTS
        tables = (folder if output_dir is None else Place(output_dir)) / TABLES
        _refuse_planted_links(folder.local, tables.local)
        if (done := evaluated_before(run)) is None:
            with _alone_in(folder):
                done = evaluate_batches(
                    run,
                    folder,
                    tables,
                    benchmarks=benchmarks,
                    k_values=cutoffs,
                    seed=seed,
                    engine=engine,
                    progress=progress,
                )
                if done is None:
                    raise NothingToEvaluateError(f"no trial found in {run}")
                if folder.local is not None:
                    listed = done.summary.trials
                    files = [name for t in listed for name in (t.events_file, t.metrics_file)]
                    _remove_stale(folder.local, {folder.local / name for name in files if name})
        results.append(
            RunEvaluation(
                done.run_id,
                done.folder,
                done.summary,
                done.impact,
                (),
                done.notes,
                shards=done.shards,
                n_fresh=done.n_fresh,
            )
        )
    return Evaluation(tuple(results), seed, benchmarks)


def _alone_in(folder: Path | Place) -> AbstractContextManager[None]:
    """Keep other evaluations from writing the documents of a run; a storage has no locks."""
    local = folder if isinstance(folder, Path) else folder.local
    if local is None:
        return nullcontext()
    return alone(local / SUMMARY_FILE, "evaluates this run", patience=_PATIENCE)


def _targets(folders: Sequence[Path], output_dir: Path | None) -> list[Path]:
    """Return the folder of every run's artefacts; raises when two runs would share one."""
    names = Counter(folder.name for folder in folders)
    for folder in folders:
        if output_dir is not None and names[folder.name] > 1:
            raise BadInputError(
                f"{names[folder.name]} runs are named {folder.name!r} and would overwrite each "
                f"other in {output_dir}; leave the output folder out, or evaluate one at a time"
            )
    return [(output_dir / f.name if output_dir else f) / ARTEFACTS for f in folders]


def _refuse_links(targets: Sequence[Path], work: Sequence[Sequence[Job]]) -> None:
    """Raise when artefacts would be written through a link that a run brought with it."""
    for target, batch in zip(targets, work, strict=True):
        folders = {path.parent for job in batch for path in _files_of(job, target)}
        for place in (target, *sorted(folders)):
            if not is_inside(place, target.parent):
                raise BadInputError(
                    f"{place} leads out of {target.parent}: nothing is written through a link; "
                    "remove it, or name another place with --output-dir"
                )


def _refuse_planted_links(folder: Path | None, tables: Path | None) -> None:
    """Raise where the documents or tables of a run would be written through a link."""
    if folder is not None:
        _refuse_links([folder], [[]])
    places = [] if tables is None else [tables, *tables.glob("*"), *tables.glob("*/*")]
    for place in places:
        if place.is_symlink():
            raise BadInputError(f"{place}: nothing is written through a link; remove it")


def _jobs(
    discovery: Discovery, target: Path, cutoffs: tuple[int, ...], problems: dict[Path, str]
) -> list[Job]:
    stems = artefact_stems(discovery.trials)
    return [
        Job(trial, target, stems[trial], cutoffs, problems.get(trial.path))
        for trial in discovery.trials
    ]


def _files_of(job: Job, target: Path) -> tuple[Path, Path]:
    """Return where the event and the metric document of a trial go."""
    return target / f"{job.stem}{EVENTS_SUFFIX}", target / f"{job.stem}{METRICS_SUFFIX}"


def _run_jobs(
    work: list[tuple[Job, Path]],
    n_processes: int,
    output: _Output,
    progress: Progress | None,
    executor: Executor | str | None = None,
) -> list[Done]:
    """Write the documents of every trial as it is done; return the trials in the order given."""
    # The trials of a task come together, so that its files are read once.
    ordered = sorted(range(len(work)), key=lambda at: str(work[at][0].trial.task_dir or ""))
    jobs = [work[at][0] for at in ordered]
    n_workers = worth_starting(len(jobs), n_processes)
    if executor is None and n_workers > 1:
        executor = f"processes:{n_workers}"
    found: Iterable[tuple[int, TrialResult]]
    done: dict[int, Done] = {}

    def waits() -> None:
        if progress is not None:
            progress(len(done), len(jobs), WAITS)

    if executor is not None:
        found = _on_executor(jobs, executor, waits)
    else:
        found = enumerate(map(partial(evaluate_trial, tasks=Tasks()), jobs))
    for place, result in found:
        at = ordered[place]
        job, target = work[at]
        for name, data in result.files().items():
            output.write(target / name, data)
        metrics = decoded(result.metrics, TrialMetrics, job.stem)
        done[at] = Done(job, metrics, result.fingerprint, result.is_fresh, result.notes)
        if progress is not None:
            progress(len(done), len(jobs), job.trial.trial_name)
    return [done[at] for at in range(len(jobs))]


_Part = tuple[tuple[int, Job], ...]
"""Some jobs with their positions."""

_PART: Final = 32


def _on_executor(
    jobs: Sequence[Job], executor: Executor | str, waits: Callable[[], None]
) -> Iterator[tuple[int, TrialResult]]:
    numbered = tuple(enumerate(jobs))
    parts = (numbered[start : start + _PART] for start in range(0, len(numbered), _PART))
    with engine_for(executor) as engine:
        for found in run_on(
            engine, evaluate_part, parts, split=halves, lost=_lost_part, waits=waits
        ):
            yield from found


def evaluate_part(part: _Part) -> list[tuple[int, TrialResult]]:
    """Evaluate some trials; nothing is written."""
    tasks = Tasks()
    with collecting_rarely():
        return [(position, evaluate_trial(job, tasks)) for position, job in part]


def _lost_part(part: _Part, end: str) -> list[tuple[int, TrialResult]]:
    return [(position, give_up(job, end)) for position, job in part]


def _finish(
    run_id: str,
    folder: Path,
    excluded: Sequence[Exclusion],
    done: list[Done],
    output: _Output,
    cutoffs: tuple[int, ...],
    seed: int,
) -> RunEvaluation:
    _remove_stale(folder, {path for d in done for path in _files_of(d.job, folder)})
    digest = combined(d.fingerprint for d in done)

    def summarise() -> RunSummary:
        rows = [(d.job.stem, d.metrics) for d in done]
        return run_summary(run_id, rows, excluded, cutoffs)

    def analyse() -> ImpactAnalysis:
        return impact_analysis([d.metrics for d in done], seed=seed)

    of_summary = combined([digest, *map(str, excluded)])
    of_impact = combined([digest, str(seed)])
    summary, damaged_summary = _made(
        folder / SUMMARY_FILE, of_summary, RunSummary, summarise, output
    )
    impact, damaged_impact = _made(folder / IMPACT_FILE, of_impact, ImpactAnalysis, analyse, output)
    left_out = impact.pairs_left_out.sentence if impact.pairs_left_out else None
    notes = [
        *(note for one in done for note in one.notes),
        damaged_summary,
        damaged_impact,
        left_out,
    ]
    return RunEvaluation(
        run_id, folder, summary, impact, tuple(done), tuple(note for note in notes if note)
    )


def _remove_stale(folder: Path, wanted: set[Path]) -> None:
    """Delete artefacts of trials that are gone and of writers that were killed, nothing else."""
    for place in (folder, *{path.parent for path in wanted}):
        remove_leftovers(place)
    for path in folder.glob("*/*.json"):
        if path.name.endswith((EVENTS_SUFFIX, METRICS_SUFFIX)) and path not in wanted:
            remove(path, folder)


Artefact = TypeVar("Artefact", RunSummary, ImpactAnalysis)


def _made(
    path: Path,
    digest: str,
    struct: type[Artefact],
    make: Callable[[], Artefact],
    output: _Output,
) -> tuple[Artefact, str | None]:
    """Return the document in ``path``, made anew where needed, and a note if it was damaged."""
    kept = kept_record(path, path.parent, digest, struct)
    if kept.record is not None:
        return kept.record, None
    made = replace(make(), input_fingerprint=digest)
    output.write(path, encoded(made, indent=1))
    return made, kept.note
