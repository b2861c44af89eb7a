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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from msgspec.structs import replace

from retrieval_eval.agents.door import (
    Opened,
    Truths,
    as_file,
    is_truth,
    nearest,
    opened,
    opened_tree,
    read_truths,
    with_truths,
)
from retrieval_eval.agents.metrics import DEFAULT_K
from retrieval_eval.agents.metrics.catalog import fixed_cutoffs
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.away import (
    Away,
    Item,
    engine_for,
    evaluate_part,
    parts_of,
    run_on,
    worth_starting,
)
from retrieval_eval.agents.runs.fingerprint import code_fingerprint, combined
from retrieval_eval.agents.runs.layout import (
    DEMO,
    DEMO_OUTPUT,
    EVENTS_SUFFIX,
    IMPACT_FILE,
    METRICS_SUFFIX,
    SUMMARY_FILE,
    artefact_stems,
    default_benchmarks_root,
    default_runs_root,
    documents_of,
    is_demo,
    safe_name,
)
from retrieval_eval.agents.runs.summary import run_summary
from retrieval_eval.agents.runs.tables import TABLES, write_tables
from retrieval_eval.agents.runs.trial import (
    Job,
    Tasks,
    TrialResult,
    collecting_rarely,
    evaluate_trial,
    measure_saved,
)
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.traces.dialects import DIALECTS
from retrieval_eval.agents.traces.formats import FORMATS
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
from retrieval_eval.io.layout import (
    EXCLUSION_REASONS,
    TaskIndex,
    resolve_runs,
    resolve_trials,
    runs_inside,
)
from retrieval_eval.io.locks import alone, private_folder, remove_leftovers
from retrieval_eval.io.remote import Place, is_url, located
from retrieval_eval.model.events import EventDocument
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.summary import ExcludedFolder, RunSummary
from retrieval_eval.ranking.measures import MAX_CUTOFF
from retrieval_eval.records import Exclusion, Progress, TrialRef
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    import pandas as pd

ARTEFACTS = "retrieval_events"

_MOST_LOCKED: Final = 200
"""Runs whose folders are locked: each lock is an open file, of which a process may have few."""

_PATIENCE: Final = 60.0
"""Seconds to wait for another process that evaluates a run."""


class _Output:
    """Writes the files of an evaluation: each is whole at once, all are synced at the end."""

    def __init__(self, away: Away) -> None:
        self.away = away
        self._written: list[Path] = []

    def write(self, path: Path, data: bytes) -> None:
        write_bytes(path, data, is_synced=False)
        self._written.append(path)
        if (listing := self.away.outputs.get(path.parent)) is not None:
            listing.place.write([(path.name, data)])

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
    ``is_written`` is false where only the numbers were computed.
    """

    run_id: str
    folder: Path | Place
    summary: RunSummary
    impact: ImpactAnalysis
    trials: tuple[Done, ...]
    notes: tuple[str, ...] = ()
    is_written: bool = True

    @property
    def metrics(self) -> list[TrialMetrics]:
        """The metrics of every trial."""
        return [done.metrics for done in self.trials]


@dataclass(frozen=True)
class Evaluation:
    """What evaluating runs gave; ``benchmarks_root`` is where tasks were looked for."""

    runs: tuple[RunEvaluation, ...]
    seed: int
    benchmarks_root: Path | Place | None = None

    @property
    def unused(self) -> tuple[str, ...]:
        """Sentences about trials that were left out and what tables state and is not used.

        A folder in a tree of runs, of which only the place is known, was left out by its name.
        """
        stated = (note for run in self.runs for note in run.summary.notes)
        every = (one for run in self.runs for one in run.summary.excluded)
        return (*_left_out(one for one in every if " " in (one.detail or "")), *stated)

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
                hint = ""
                if what == "ground truth":
                    shown = "`retrieval-eval trace PLACE --all` shows what was read all the same"
                    hint = f"{_where_tasks_are(self.benchmarks_root)}; {shown}"
        return "; ".join(filter(None, [*parts, hint]))

    @cached_property
    def impact(self) -> ImpactAnalysis:
        """The impact document over all runs together; of one run, the one on disk."""
        if len(self.runs) == 1:
            return self.runs[0].impact
        trials = [metrics for run in self.runs for metrics in run.metrics]
        return impact_analysis(trials, seed=self.seed)


def evaluate(
    runs: Sequence[str | Path | pd.DataFrame],
    *,
    runs_root: Path | str | None = None,
    benchmarks_root: Path | str | pd.DataFrame | None = None,
    output_dir: Path | str | None = None,
    k_values: Sequence[int] = DEFAULT_K,
    jobs: int = 1,
    executor: str | None = None,
    tables: bool = False,
    seed: int = DEFAULT_SEED,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate runs and write their artefacts; unchanged trials are not computed again.

    Parameters
    ----------
    runs
        Run ids (looked up below ``runs_root``), paths or URLs of run directories, tables of trials
        (:mod:`retrieval_eval.agents.door.table`; also as a frame), or folders and logs of other
        layouts (:mod:`retrieval_eval.agents.door.layouts`). ``demo`` is the built-in demonstration,
        written to ``output_dir``, by default to ``reports/demo/data``: unless a runs root is given,
        or the environment names one that has a run ``demo``. Where that could be a run or folder
        here too, the name is refused.
    runs_root, benchmarks_root
        Folder of all runs, and of the ``<suite>/<task>/`` directories; see
        :mod:`retrieval_eval.agents.runs.layout` for the defaults. Without a benchmarks root
        there is no ground truth; that of a run behind a URL has to be named. In place of a folder
        of tasks a table of what each expects (:mod:`retrieval_eval.agents.door`), or its frame.
    output_dir
        Artefacts go to ``<output_dir>/<run_id>/retrieval_events``; by default to
        ``<run>/retrieval_events``, and of what is no run tree to ``reports/<run_id>/data``.
    k_values
        Cut-offs of the ranking metrics; those of
        `retrieval_eval.agents.metrics.catalog.fixed_cutoffs` are always among them.
    jobs
        Processes to use.
    executor
        What evaluates trials in place of these processes: ``processes:N`` or ``dask://HOST:PORT``
        (extra ``dask``), whose workers have this package and see the same files.
    tables
        Also write the trials as Parquet tables to ``tables/`` in the output (extra ``dask``).
    seed
        Seed of every bootstrap and permutation.

    Notes
    -----
    Runs, the benchmarks root and the output may be URLs such as ``s3://bucket/runs/a`` (extra
    ``dask``); workers then read and write there. The documents are those of a local evaluation.

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
    if is_url(runs_root):
        raise BadInputError("the runs root is no URL: name each run behind a URL by its own")
    local_root = None if runs_root is None else Path(runs_root)
    with ExitStack() as stack:
        named, truth = _without_frames(runs, benchmarks_root, stack)
        benchmarks, output = (
            None if folder is None else located(folder) for folder in (truth, output_dir)
        )
        if is_demo(named, local_root):
            _refuse_own_demo()
            if isinstance(output, Place):
                raise BadInputError("the demonstration is written to a local folder")
            output = output or DEMO_OUTPUT
            write_demo(output)
            local_root, benchmarks = output / "runs", output / "benchmarks"
        places = [located(run) if is_url(run) else run for run in named]
        stack.enter_context(collecting_rarely())
        is_away = any(isinstance(each, Place) for each in (*places, benchmarks, output))
        away = Away(stack.enter_context(private_folder()) if is_away else Path())
        found = _opened(places, local_root or default_runs_root(), away)
        if isinstance(benchmarks, Place):
            tasks: Path | None = away.add_input(benchmarks, ("task.toml",))
        else:
            tasks = benchmarks or default_benchmarks_root(found)
        truths = None
        if tasks is not None and not is_url(truth) and is_truth(tasks):
            truths = read_truths(tasks)
            tasks = None
        problems = _with_tasks(found, tasks, truths, away)
        targets = _targets(found, output, away)
        work = [
            _Work(folder, target, run.excluded, _jobs(run.trials, target, cutoffs, problems))
            for (folder, run), target in zip(found.items(), targets, strict=True)
        ]
        _refuse_links(targets, [one.jobs for one in work])
        # In one order, so that two evaluations of several runs cannot wait for each other.
        for target in sorted(targets)[:_MOST_LOCKED]:
            stack.enter_context(_alone_in(target))
        files = stack.enter_context(_Output(away))
        done = _run_jobs(work, tasks, jobs, files, progress, executor)
        results = tuple(
            _finish(one, own, files, cutoffs, seed) for one, own in zip(work, done, strict=True)
        )
        if tables:
            for run in results:
                write_tables((output or run.folder) / TABLES, run.folder, run.summary, run.metrics)
    return Evaluation(results, seed, None if tasks is None else away.shown(tasks))


def _without_frames(
    runs: Sequence[str | Path | pd.DataFrame],
    truth: Path | str | pd.DataFrame | None,
    stack: ExitStack,
) -> tuple[list[str | Path], Path | str | None]:
    """Return runs and truth with files in place of frames, which the stack removes."""

    def named(given: str | Path | pd.DataFrame, name: str) -> str | Path:
        if isinstance(given, str | Path):
            return given
        return as_file(given, stack.enter_context(private_folder()) / name)

    return [named(run, "trials.jsonl") for run in runs], (
        None if truth is None else named(truth, "truth.jsonl")
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """A run to evaluate: its folder, where its documents go, what is left out, and its trials."""

    folder: Path
    target: Path
    excluded: tuple[Exclusion, ...]
    jobs: list[Job]


def _opened(
    runs: Sequence[Path | Place | str], runs_root: Path | None, away: Away
) -> dict[Path, Opened]:
    """Return what every run holds, each once, by its folder.

    Runs behind URLs are listed. That of a table or log is a folder of its name, which need not be
    there.
    """
    found: dict[Path, Opened] = {}
    for run in dict.fromkeys(runs):
        if isinstance(run, Place):
            place = away.add_input(run, ("result.json", "task_metrics.json"))
            held = opened_tree(place)
        else:
            is_file = probe(Path(run).is_file)
            place = Path(run).absolute() if is_file else resolve_runs([str(run)], runs_root)[0]
            held = opened(place)
        folder = place.with_name(held.run_id)
        found[folder] = held
        away.notes.setdefault(folder, []).extend(held.problems)
    return found


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
    folder, cutoffs = Path(folder), _check_k_values(k_values)
    if is_url(output_dir):
        raise BadInputError("what is made from event documents is written to a local folder only")
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
        with _alone_in(target), _Output(Away()) as output:
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


def _with_tasks(
    found: dict[Path, Opened],
    benchmarks_root: Path | None,
    truths: Truths | None,
    away: Away,
) -> dict[Path, str]:
    """Give the trials of every run their tasks; return why a trial has none."""
    if benchmarks_root is not None and not away.is_folder(benchmarks_root):
        raise BadInputError(
            f"benchmarks root {away.shown(benchmarks_root)} is not a folder; name one with "
            "--benchmarks-root"
        )
    trials = [trial for run in found.values() for trial in run.trials]
    if not trials:
        where = ", ".join(str(away.shown(folder)) for folder in found)
        unknown = [folder for folder, run in found.items() if not run.layout]
        known = f": {nearest(unknown[0])}" if unknown and probe(unknown[0].exists) else ""
        parts = "; ".join(_left_out(one for run in found.values() for one in run.excluded))
        left_out = f" ({parts})" if parts else ""
        raise NothingToEvaluateError(f"no trial found in {where}{left_out}{known}")
    for folder, run in found.items():
        if run.is_tree and (inside := runs_inside((trial.path for trial in run.trials), folder)):
            raise NothingToEvaluateError(
                f"{away.shown(folder)} is no run: it holds {counted(len(inside), 'run')}, such as "
                f"{inside[0].relative_to(folder)}; name a run; "
                f"{_where_tasks_are(benchmarks_root and away.shown(benchmarks_root))}"
            )
    problems: dict[Path, str] = {}
    if truths is not None:
        resolved, unfit = with_truths(trials, truths)
        away.notes.setdefault(next(iter(found)), []).extend(unfit)
    else:
        index = (
            TaskIndex(benchmarks_root)
            if benchmarks_root is not None
            else TaskIndex.with_names(trial.raw_task_name or trial.task_name for trial in trials)
        )
        resolved, problems = resolve_trials(trials, index)
    following = iter(resolved)
    for folder, run in found.items():
        found[folder] = replace(run, trials=tuple(islice(following, len(run.trials))))
    return problems


def _where_tasks_are(benchmarks_root: Path | Place | None) -> str:
    """Return where ground truth is looked for, and how to say that it is elsewhere."""
    looked = (
        "there is no folder 'benchmarks' near the runs or here, so there is no ground truth"
        if benchmarks_root is None
        else f"ground truth is looked for in {benchmarks_root}"
    )
    ways = "the folder of the tasks, <suite>/<task>/, or a table of truth, with --truth"
    return f"{looked}; name {ways}"


def _left_out(found: Iterable[Exclusion | ExcludedFolder]) -> list[str]:
    """Return how many folders or rows were left out and why, each reason with an example."""
    by_reason: dict[str, list[Exclusion | ExcludedFolder]] = {}
    for excluded in found:
        by_reason.setdefault(excluded.reason, []).append(excluded)
    return [
        f"{len(group)} left out because {EXCLUSION_REASONS.get(reason, reason)}, "
        f"such as {group[0].detail}"
        for reason, group in sorted(by_reason.items())
    ]


def _alone_in(folder: Path) -> AbstractContextManager[None]:
    """Keep other evaluations from writing the documents of a run; a storage has no locks."""
    return alone(folder / SUMMARY_FILE, "evaluates this run", patience=_PATIENCE)


def _targets(found: Mapping[Path, Opened], output: Path | Place | None, away: Away) -> list[Path]:
    """Return the folder of every run's artefacts; raises when two runs would share one."""
    names = Counter(folder.name for folder in found)
    targets = []
    for folder, run in found.items():
        if output is not None and names[folder.name] > 1:
            raise BadInputError(
                f"{names[folder.name]} runs are named {folder.name!r} and would overwrite each "
                f"other in {output}; leave the output folder out, or evaluate one at a time"
            )
        if output is not None:
            place = output / folder.name
        elif run.is_tree:
            place = away.shown(folder)
        else:
            own = f"{folder.parent.name}-{folder.name}" if names[folder.name] > 1 else folder.name
            place = Path("reports") / own / "data" / folder.name
        target = place / ARTEFACTS
        targets.append(away.add_output(target) if isinstance(target, Place) else target)
    return targets


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


def _jobs(
    trials: Sequence[TrialRef], target: Path, cutoffs: tuple[int, ...], problems: dict[Path, str]
) -> list[Job]:
    stems = artefact_stems(trials)
    return [Job(trial, target, stems[trial], cutoffs, problems.get(trial.path)) for trial in trials]


def _files_of(job: Job, target: Path) -> tuple[Path, Path]:
    """Return where the event and the metric document of a trial go."""
    events, metrics = documents_of(job.stem)
    return target / events, target / metrics


def _run_jobs(
    work: Sequence[_Work],
    tasks: Path | None,
    n_processes: int,
    output: _Output,
    progress: Progress | None,
    executor: str | None,
) -> list[list[Done]]:
    """Write the documents of every trial as it is done; return the trials of each run."""
    each = [(one, job) for one in work for job in one.jobs]
    # The trials of a task come together, so that its files are read once.
    ordered = sorted(range(len(each)), key=lambda at: str(each[at][1].trial.task_dir or ""))
    items = [
        (at, output.away.item(job, one.folder, tasks)) for at in ordered for one, job in [each[at]]
    ]
    n_workers = worth_starting(len(items), n_processes)
    if executor is None and n_workers > 1:
        executor = f"processes:{n_workers}"
    done: dict[int, Done] = {}
    for at, result in _evaluated(items, executor):
        one, job = each[at]
        for name, data in result.files().items():
            output.write(one.target / name, data)
        metrics = decoded(result.metrics, TrialMetrics, job.stem)
        done[at] = Done(job, metrics, result.fingerprint, result.is_fresh, result.notes)
        if progress is not None:
            progress(len(done), len(items), job.trial.trial_name)
    following = (done[at] for at in range(len(each)))
    return [list(islice(following, len(one.jobs))) for one in work]


def _evaluated(
    items: Sequence[tuple[int, Item]], executor: str | None
) -> Iterator[tuple[int, TrialResult]]:
    """Yield the result of every trial with its position, as it is done."""
    measure = partial(evaluate_part, code_fingerprint())
    if executor is None and not any(item.inputs or item.output for _, item in items):
        # One by one, so that each is written, and shown as done, at once.
        tasks = Tasks()
        yield from ((at, evaluate_trial(item.job, tasks)) for at, item in items)
    elif executor is None:
        for part in parts_of(items):
            yield from measure(part)
    else:
        with engine_for(executor) as engine:
            for found in run_on(engine, measure, parts_of(items), _lost):
                yield from found


def _lost(numbered: tuple[int, Item], end: str) -> list[tuple[int, TrialResult]]:
    at, item = numbered
    return evaluate_part(code_fingerprint(), ((at, dataclass_replace(item, reason=end)),))


def _finish(
    work: _Work,
    done: list[Done],
    output: _Output,
    cutoffs: tuple[int, ...],
    seed: int,
) -> RunEvaluation:
    folder, excluded = work.target, work.excluded
    wanted = [documents_of(one.job.stem) for one in done]
    _remove_stale(folder, {name for names in wanted for name in names}, output.away)
    digest = combined(d.fingerprint for d in done)
    unused = output.away.notes.get(work.folder, [])

    def summarise() -> RunSummary:
        rows = [(d.job.stem, d.metrics) for d in done]
        return run_summary(work.folder.name, rows, excluded, cutoffs, notes=unused)

    def analyse() -> ImpactAnalysis:
        return impact_analysis([d.metrics for d in done], seed=seed)

    without = [str(replace(e, path=Path(e.path.name))) for e in excluded]
    of_summary = combined([digest, *without, *unused])
    of_impact = combined([digest, str(seed)])
    summary, damaged_summary = _made(
        folder / SUMMARY_FILE, of_summary, RunSummary, summarise, output
    )
    impact, damaged_impact = _made(folder / IMPACT_FILE, of_impact, ImpactAnalysis, analyse, output)
    left_out = impact.pairs_left_out.sentence if impact.pairs_left_out else None
    notes = [
        *unused,
        *(note for one in done for note in one.notes),
        damaged_summary,
        damaged_impact,
        left_out,
    ]
    return RunEvaluation(
        work.folder.name,
        output.away.shown(folder),
        summary,
        impact,
        tuple(done),
        tuple(note for note in notes if note),
    )


def _remove_stale(folder: Path, wanted: set[str], away: Away) -> None:
    """Delete artefacts of trials that are gone and of writers that were killed, nothing else."""
    for place in (folder, *{(folder / name).parent for name in wanted}):
        remove_leftovers(place)
    suffixes = (EVENTS_SUFFIX, METRICS_SUFFIX)
    for path in folder.glob("*/*.json"):
        if path.name.endswith(suffixes) and path.relative_to(folder).as_posix() not in wanted:
            remove(path, folder)
    if (listing := away.outputs.get(folder)) is not None:
        there = {file.path for file in listing.files if file.path.endswith(suffixes)}
        listing.place.remove(sorted(there - wanted))


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
