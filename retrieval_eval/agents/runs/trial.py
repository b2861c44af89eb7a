"""One trial, from its folder to its two documents."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace as with_fields

from retrieval_eval.agents.events import TrialEvents, extract_events
from retrieval_eval.agents.events.document import coverage, event_document, summarise, trial_events
from retrieval_eval.agents.events.evidence import why_nothing_is_computable, why_nothing_is_saved
from retrieval_eval.agents.metrics import DEFAULT_K, measure
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.outcomes import (
    Outcome,
    load_outcome,
    outcome_of_trace,
    with_recorded,
)
from retrieval_eval.agents.runs.fingerprint import (
    combined,
    digest_of_task,
    digest_of_trial,
    fingerprint,
)
from retrieval_eval.agents.runs.layout import default_benchmarks_root, documents_of
from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, read_trace
from retrieval_eval.agents.traces.dialects import DIALECTS
from retrieval_eval.agents.traces.formats import FORMATS
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.artefacts import encoded, kept_record
from retrieval_eval.io.files import entries, is_there, probe, reading_once
from retrieval_eval.io.layout import UNKNOWN_SUITE, TaskIndex, resolve_trials, trial_at
from retrieval_eval.model import to_builtins
from retrieval_eval.model.common import Coverage, Provenance
from retrieval_eval.model.events import EventDocument
from retrieval_eval.records import GroundTruth, Trace, TrialRef
from retrieval_eval.schema import SCHEMA_VERSION, now

_MOST_FILES = 100
"""Files of a folder that are looked at for a trace."""


@dataclass(frozen=True, slots=True)
class Job:
    """A trial to evaluate: where it lies, the stem of its documents, and the settings.

    ``folder`` is where documents of an earlier evaluation may be, which are kept when nothing has
    changed since; None when there are none to keep. ``task_problem`` says why the trial's task is
    unknown.
    """

    trial: TrialRef
    folder: Path | None
    stem: str
    k_values: tuple[int, ...]
    task_problem: str | None = None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What the evaluation of a trial gives: its two documents as bytes, to be written as they are.

    A result crosses processes and machines, so it holds no objects of the package.

    Parameters
    ----------
    stem
        Name of the two files without their suffixes, ``<config>/<name>``.
    fingerprint
        Digest of everything that the documents depend on.
    events
        The event document, sealed and encoded; None where the one of an earlier evaluation is kept,
        and empty where a worker has written both.
    metrics
        The same for the metric document; of an earlier evaluation, its bytes.
    notes
        Sentences for whoever started the evaluation.
    """

    stem: str
    fingerprint: str
    events: bytes | None
    metrics: bytes
    notes: tuple[str, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Whether the documents were made now and have to be written."""
        return self.events is not None

    def files(self) -> dict[str, bytes]:
        """Return what has to be written, by names relative to the folder of the run's documents."""
        if not self.events:
            return {}
        return dict(zip(documents_of(self.stem), (self.events, self.metrics), strict=True))


class Tasks:
    """Digest and ground truth of one task, read once for all of its trials.

    Only the last task is kept: the trials of a task are to be evaluated one after another.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._digest: str | None = None
        self._truth: GroundTruth | None = None
        self._is_held = False

    def digest(self, folder: Path | None) -> str:
        """Return the digest of the files of a task."""
        self._is_held = self._digest is None or folder != self._folder
        if self._is_held or self._digest is None:
            self._folder, self._truth = folder, None
            self._digest = digest_of_task(folder)
        return self._digest

    def truth(self, folder: Path | None) -> tuple[GroundTruth, str]:
        """Return the ground truth of a task, and the digest of the bytes that it was read from.

        It is called within the `reading_once` in which :meth:`digest` was called.
        """
        digest = self.digest(folder)
        if self._truth is None:
            if not self._is_held:
                digest = self._digest = digest_of_task(folder)
            self._truth = load_ground_truth(folder)
        return self._truth, digest


_OBJECTS: Final = 50_000


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Look for cycles of objects less often: trials make very many objects, and hardly a cycle."""
    first, *others = gc.get_threshold()
    if first:  # else nothing looks for cycles
        gc.set_threshold(max(first, _OBJECTS), *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


def evaluate_trial(job: Job, tasks: Tasks | None = None) -> TrialResult:
    """Return the event and metric documents of a trial; nothing is written.

    Nothing about a trial stops the batch: what goes wrong unexpectedly makes the trial degraded,
    and its documents say so. The digest is that of the very bytes that are measured, up to 32 MB
    of files; a larger file is read again, so one that grows meanwhile has another digest, and the
    trial is evaluated again the next time. ``tasks`` keeps what was read of the task of the trial
    before.
    """
    folders = (job.trial.path, job.trial.task_dir)
    with reading_once(*(folder for folder in folders if folder is not None)):
        return _evaluated(job, tasks or Tasks())


def _evaluated(job: Job, tasks: Tasks) -> TrialResult:
    folder = job.trial.task_dir
    own = digest_of_trial(job.trial.path, is_shared=job.trial.sample is not None)
    of_task = tasks.digest(folder)
    digest = _input_digest(job, own, of_task)
    notes: tuple[str, ...] = ()
    if job.folder is not None:
        paths = [job.folder / name for name in documents_of(job.stem)]
        events = kept_record(paths[0], job.folder, digest, EventDocument)
        metrics = kept_record(paths[1], job.folder, digest, TrialMetrics)
        if events.record is not None and metrics.record is not None:
            return TrialResult(job.stem, digest, None, metrics.data)
        notes = tuple(note for note in (events.note, metrics.note) if note)
    try:
        truth = job.trial.truth
        if truth is None:
            truth, of_task = tasks.truth(folder)
        digest = _input_digest(job, own, of_task)
        return _result(job, documents(job, truth), digest, notes)
    except Exception as error:  # noqa: BLE001  one trial must not end the batch
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        return give_up(job, f"the trial could not be evaluated ({cause})")


def give_up(job: Job, reason: str) -> TrialResult:
    """Return the documents of a trial that could not be measured: degraded, with the reason."""
    nothing = TrialEvents((), GroundTruth())
    covered = coverage(nothing, None, reason)
    made = _documents(job, nothing, Outcome(reward_reason="not_recorded"), covered, None)
    # What failed for a moment, such as memory, is tried again: no inputs have this digest.
    of_inputs = digest_of_trial(job.trial.path), digest_of_task(job.trial.task_dir)
    digest = combined([_input_digest(job, *of_inputs), "failed"])
    return _result(job, made, digest, (f"{job.trial.trial_name}: {reason}",))


def _input_digest(job: Job, of_trial: str, of_task: str) -> str:
    trial = job.trial
    settings = (
        SCHEMA_VERSION,
        trial.run_id,
        trial.config_name,
        trial.task_name,
        trial.trial_name,
        str(trial.benchmark),
        str(trial.batch_timestamp),
        str(job.task_problem),
        ",".join(map(str, job.k_values)),
        *(str(part) for part in (trial.sample, trial.recorded, trial.truth) if part is not None),
    )
    return fingerprint(of_trial, of_task, settings)


def _result(
    job: Job,
    made: tuple[EventDocument, TrialMetrics],
    digest: str,
    notes: tuple[str, ...],
) -> TrialResult:
    events, metrics = (encoded(with_fields(one, input_fingerprint=digest)) for one in made)
    return TrialResult(job.stem, digest, events, metrics, notes)


def documents(job: Job, truth: GroundTruth | None = None) -> tuple[EventDocument, TrialMetrics]:
    """Return the event document and the metrics of a trial, with the present as time stamp.

    ``truth`` is the ground truth of the task, where it is known already.
    """
    trial = job.trial
    try:
        trace, missing = read_trace(trial.path, sample=trial.sample), None
    except NoTraceError as error:
        trace, missing = None, error.reason
    truth = truth or trial.truth or load_ground_truth(trial.task_dir)
    if job.task_problem:
        truth = with_fields(truth, problems=(job.task_problem, *truth.problems))
    outcome = _outcome(trial, trace)
    trace = trace and _closed(trace, outcome)
    events = (
        TrialEvents((), truth)
        if trace is None
        else extract_events(trace, truth, agent_started_at=outcome.agent_started_at)
    )
    covered = coverage(
        events, trace, missing, outcome=outcome.unreadable, ground_truth=truth.unreadable
    )
    return _documents(job, events, outcome, covered, trace)


def _outcome(trial: TrialRef, trace: Trace | None) -> Outcome:
    if trial.recorded is None:
        return load_outcome(trial.path, trace)
    if is_there(trial.path / "result.json"):
        found = load_outcome(trial.path, trace)
    elif trace is not None:
        found = outcome_of_trace(trace)
    else:
        found = Outcome(reward_reason="not_recorded")
    return with_recorded(found, trial.recorded)


def _closed(trace: Trace, outcome: Outcome) -> Trace:
    """Return a trace; one without a final line is whole where the result states a regular end."""
    has_ended = outcome.reward is not None and outcome.finished_at is not None
    if not has_ended or outcome.exception is not None:
        return trace
    names = {"no_result_event": "final_line_missing"}
    return with_fields(trace, flags=tuple(names.get(flag, flag) for flag in trace.flags))


def _documents(
    job: Job,
    events: TrialEvents,
    outcome: Outcome,
    covered: Coverage,
    trace: Trace | None,
) -> tuple[EventDocument, TrialMetrics]:
    trial, moment = job.trial, now()
    provenance = Provenance(
        run_id=trial.run_id,
        batch_timestamp=trial.batch_timestamp,
        task_name=trial.task_name,
        trial_name=trial.trial_name,
        config_name=trial.config_name,
        benchmark=trial.benchmark or UNKNOWN_SUITE,
        model=outcome.model,
        harness=outcome.harness,
        harness_version=outcome.harness_version,
        raw_task_name=trial.raw_task_name,
        # Said only where it is so: what is measured of others keeps its bytes.
        is_simulated=True if outcome.is_simulated else None,
    )
    document = event_document(events, provenance=provenance, coverage=covered)
    reason = why_nothing_is_computable(trace, events)
    measured = measure(events, job.k_values, reason=reason, lasted=outcome.elapsed_seconds)
    metrics = TrialMetrics(
        schema_version=SCHEMA_VERSION,
        generated_at=moment,
        provenance=provenance,
        coverage=covered,
        event_summary=document.summary,
        ledger=document.ledger,
        file_level_metrics=measured.file_level_metrics,
        chunk_level_metrics=measured.chunk_level_metrics,
        utilization_probes=measured.utilization_probes,
        error_taxonomy=measured.error_taxonomy,
        outcome=to_builtins(outcome),
    )
    return with_fields(document, generated_at=moment), metrics


def measure_saved(saved: EventDocument, k_values: tuple[int, ...]) -> TrialMetrics:
    """Return the metrics of an event document, whose outcome is not recorded."""
    events = trial_events(saved)
    reason = why_nothing_is_saved(saved, events)
    measured = measure(events, k_values, reason=reason)
    return TrialMetrics(
        schema_version=SCHEMA_VERSION,
        generated_at=now(),
        provenance=saved.provenance,
        coverage=saved.coverage,
        event_summary=saved.summary or summarise(events),
        ledger=saved.ledger,
        file_level_metrics=measured.file_level_metrics,
        chunk_level_metrics=measured.chunk_level_metrics,
        utilization_probes=measured.utilization_probes,
        error_taxonomy=measured.error_taxonomy,
        outcome=to_builtins(Outcome(reward_reason="not_recorded")),
    )


@dataclass(frozen=True, slots=True)
class Inspected:
    """A single trace that lies in no run: its two documents, and what they were made of."""

    document: EventDocument
    metrics: TrialMetrics
    trial: TrialEvents
    trace: Trace


def inspect_trace(
    path: Path, truth: GroundTruth | None = None, *, sample: str | None = None
) -> Inspected:
    """Return the events and metrics of one trace, without a run tree around it.

    Parameters
    ----------
    path
        A trace file of any known format, or a folder that holds one.
    truth
        What the agent should have found; without one no metric is computable.
    sample
        Which trace of a file that holds several.

    Raises
    ------
    BadInputError
        When there is no such file, or none that holds a trace; the message names what was found.
    """
    if not probe(path.exists):
        raise BadInputError(f"{path}: no such file or folder")
    for registry in (FORMATS, DIALECTS):
        registry.load()
    trace = read_trace(_trace_in(path), sample=sample)
    truth = truth or GroundTruth()
    folder = path if probe(path.is_dir) else None
    is_trial = folder is not None and probe((folder / "result.json").is_file)
    outcome = load_outcome(folder, trace) if folder and is_trial else outcome_of_trace(trace)
    trace = _closed(trace, outcome)
    events = extract_events(trace, truth, agent_started_at=outcome.agent_started_at)
    covered = coverage(events, trace, None, ground_truth=truth.unreadable)
    name = path.resolve().name
    own = sample or name
    ref = TrialRef("", "", None, name, path, own, raw_task_name=own)
    if is_trial:
        ref, _ = trial_by_path(path)
    document, metrics = _documents(Job(ref, None, "", DEFAULT_K), events, outcome, covered, trace)
    return Inspected(document, metrics, events, trace)


def _trace_in(path: Path) -> Path:
    """Return the only trace file in a folder that is no trial's, else the path itself."""
    if not probe(path.is_dir):
        return path
    try:
        read_trace(path)
    except SeveralTracesError:
        return path
    except NoTraceError:
        files = [entry for entry in entries(path)[:_MOST_FILES] if probe(entry.is_file)]
        readable = [entry for entry in files if _holds_trace(entry)]
        if len(readable) > 1:
            names = ", ".join(entry.name for entry in readable[:5])
            raise BadInputError(
                f"{path}: holds {len(readable)} traces that belong to no trial ({names}); "
                "name one of these files"
            ) from None
        if readable:
            return readable[0]
    return path


def _holds_trace(path: Path) -> bool:
    try:
        read_trace(path)
    except SeveralTracesError:
        return True
    except NoTraceError:
        return False
    return True


# One trial by path, in memory: nothing is written.

_NO_CONFIG = re.compile(r"\d{4}-\d{2}-\d{2}__\d{2}-\d{2}-\d{2}$|ccb_|csb_")
"""Levels between a config and its trials: batch time stamps and job names."""


def truth_near(path: Path) -> GroundTruth:
    """Return what the task of a trial in a run tree expects; nothing where there is no such task.

    Raises `BadInputError` for an unusable root of the tasks in the environment.
    """
    if not probe(path.is_dir) or trial_at(path.resolve(), path.resolve().parent) is None:
        return GroundTruth()
    found, folder = trial_by_path(path)
    tasks = default_benchmarks_root([folder])
    if tasks is None:
        return GroundTruth()
    (resolved,), _ = resolve_trials([found], TaskIndex(tasks))
    return GroundTruth() if resolved.task_dir is None else load_ground_truth(resolved.task_dir)


def trial_by_path(path: Path) -> tuple[TrialRef, Path]:
    """Return the trial in a directory and its run: the folder above the config's.

    Raises
    ------
    BadInputError
        When there is no such directory, or it holds no trial.
    """
    if probe(path.is_file):
        raise BadInputError(
            f"{path}: a file, and no trial directory; `retrieval-eval trace` shows a single trace"
        )
    if not probe(path.is_dir):
        raise BadInputError(f"{path}: no such trial directory")
    path = path.resolve()
    config = path.parent
    while _NO_CONFIG.match(config.name) and config != config.parent:
        config = config.parent
    run = config.parent
    trial = trial_at(path, run)
    if trial is None:
        raise BadInputError(f"{path}: holds neither a result nor a trace of a trial")
    return trial, run
