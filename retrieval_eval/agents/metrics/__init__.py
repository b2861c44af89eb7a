"""Measures one trial: every registered metric and the error labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import (
    VIEWS,
    accesses,
    evidence,
    files_with,
    outer_rankings,
    ranked,
    ranking,
    unless_open,
)
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.metrics import chunks, files
from retrieval_eval.agents.metrics.catalog import (
    FILES,
    Block,
    Computed,
    FileView,
    TrialView,
    computed,
)
from retrieval_eval.agents.metrics.document import (
    ChunkLevel,
    FileLevel,
    Measurement,
    Utilization,
)
from retrieval_eval.agents.metrics.document import FileView as ViewMetrics
from retrieval_eval.model.metrics import ErrorRate, ErrorTaxonomy, LineOverlap, TrialSlices
from retrieval_eval.records import FileRef
from retrieval_eval.values import Value

# --------------------------------------------------------------------------------------------------
# The seed's five error labels, each with its own denominator, and the calibration slices.

LABELS: Final[dict[str, str]] = {
    "irrelevant_retrieval": "files retrieved",
    "missed_key_evidence": "ground-truth files that are not left open",
    "wrong_evidence_used": "files written",
    "unused_correct_retrieval": "ground-truth files retrieved",
    "ambiguity_near_miss": "retrieved files outside the ground truth",
}
"""Every label with what its denominator counts."""

NOTE: Final = (
    "unused_correct_retrieval counts files that were not written to; in a task that asks for an "
    "answer and not for edits every file found carries it, so read the read-overlap probe beside it"
)

SMALL_SET: Final = 5
MEDIUM_SET: Final = 20


def error_taxonomy(trial: TrialEvents, *, reason: str | None = None) -> ErrorTaxonomy:
    """Return the ``error_taxonomy`` block: counts, rates with denominators, files, slices.

    Parameters
    ----------
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    """
    reason = reason or (None if trial.ground_truth.files else trial.ground_truth.reason)
    slices = (
        candidate_slices(trial) if reason in {None, trial.ground_truth.reason} else TrialSlices()
    )
    if reason is not None:
        return ErrorTaxonomy(computable=False, reason=reason, slices=slices)
    groups = _groups(trial)
    return ErrorTaxonomy(
        computable=True,
        labels={label: len(files) for label, (files, _) in groups.items()},
        rates={
            label: ErrorRate(
                count=len(files),
                denominator=denominator,
                denominator_of=LABELS[label],
                rate=len(files) / denominator if denominator else None,
            )
            for label, (files, denominator) in groups.items()
        },
        files={label: tuple(sorted(map(str, files))) for label, (files, _) in groups.items()},
        slices=slices,
        note=NOTE,
    )


def _groups(trial: TrialEvents) -> dict[str, tuple[list[FileRef], int]]:
    relevant = {f.key: f for f in trial.ground_truth.files}
    retrieved = {f.key: f for f in ranking(trial, "accessed")}
    written = files_with(trial, "written")
    repositories = {repository for repository, _ in relevant}
    home = next(iter(repositories)) if len(repositories) == 1 else None
    folders = {_folder(key, home) for key in relevant}
    irrelevant = [f for key, f in retrieved.items() if key not in relevant]
    found = [f for key, f in retrieved.items() if key in relevant]
    known = evidence(trial, with_attached=True)
    missed = [f for f, status in known.items() if status == "none"]
    n_open = sum(status == "possible" for status in known.values())
    return {
        "irrelevant_retrieval": (irrelevant, len(retrieved)),
        "missed_key_evidence": (missed, len(relevant) - n_open),
        "wrong_evidence_used": (
            [f for key, f in written.items() if key not in relevant],
            len(written),
        ),
        "unused_correct_retrieval": ([f for f in found if f.key not in written], len(found)),
        "ambiguity_near_miss": (
            [f for f in irrelevant if _folder(f.key, home) in folders],
            len(irrelevant),
        ),
    }


def _folder(key: Identity, home: str | None) -> Identity:
    """Return a file's folder; a file of no stated repository is one of ``home``."""
    repository, path = key
    return (repository or home, path.rpartition("/")[0])


def candidate_slices(trial: TrialEvents) -> TrialSlices:
    """Return the calibration slices: candidate-set size and evidence type.

    The candidate set is the distinct files retrieved: small up to 5, medium up to 20, else large.
    Evidence is ``mcp`` once any call went to an MCP server.
    """
    size = len(ranking(trial, "accessed"))
    name: Literal["small", "medium", "large"]
    name = "small" if size <= SMALL_SET else "medium" if size <= MEDIUM_SET else "large"
    return TrialSlices(
        candidate_set_size=name,
        candidate_set_count=size,
        evidence_type="mcp" if any(e.is_mcp for e in trial.events) else "local",
    )


# --------------------------------------------------------------------------------------------------
# Measures one trial: every registered metric and the error labels.

DEFAULT_K: Final = (1, 3, 5, 10)
"""The seed's cut-offs."""

CONVENTION: Final = "trec"


def measure(
    trial: TrialEvents,
    k_values: Sequence[int] = DEFAULT_K,
    *,
    reason: str | None = None,
    lasted: float | None = None,
) -> Measurement:
    """Return every metric of a trial's events.

    Parameters
    ----------
    trial
        The events of a trial with its ground truth, as `retrieval_eval.extract_events` gives them.
    k_values
        Cut-offs of P, Recall, F1 and nDCG.
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    lasted
        How many seconds the agent ran, where that is known.

    Returns
    -------
    Measurement
        Four blocks: ``file_level_metrics``, ``chunk_level_metrics``, ``utilization_probes`` and
        ``error_taxonomy``. A number that is not computable is None and has its reason code in the
        ``reasons`` of its block. Shares lie in 0–1, times are in seconds from the agent's start.

    Examples
    --------
    >>> from retrieval_eval.agents.events import TrialEvents
    >>> from retrieval_eval.records import FileRef, GroundTruth
    >>> measured = measure(TrialEvents((), GroundTruth(files=(FileRef("src/a.py"),))))
    >>> measured.file_level_metrics.file_recall, measured.file_level_metrics.never_hit
    (0.0, True)
    >>> measured.file_level_metrics.reasons["context_efficiency"]
    'nothing_retrieved'
    """
    view = TrialView(trial)
    return Measurement(
        file_level_metrics=_file_level(trial, k_values, reason, lasted),
        chunk_level_metrics=_chunk_level(view, reason),
        utilization_probes=_utilization(view, reason),
        error_taxonomy=error_taxonomy(trial, reason=reason),
    )


def _file_level(
    trial: TrialEvents, k_values: Sequence[int], reason: str | None, lasted: float | None
) -> FileLevel:
    """Return the metrics of the default view, with those of every view in ``views``."""
    reason = reason or (None if trial.ground_truth.files else trial.ground_truth.reason)
    if reason is not None:
        return FileLevel(computable=False, reason=reason)
    numbers, outer = computed(FILES, k_values), outer_rankings(trial)
    views = {}
    for name in VIEWS:
        found = [ranked(trial, name), *outer.get(name, ())]
        rankings = [FileView(trial, name, k_values, ranking) for ranking in found]
        views[name] = _view_fields(rankings, numbers)
    bounds = views[VIEWS[0]]["bounds"]
    n_accesses = sum(1 for _ in accesses(trial))
    return FileLevel(
        computable=True,
        default_view=VIEWS[0],
        convention=CONVENTION,
        k_values=tuple(k_values),
        **views[VIEWS[0]],
        file_recall_bounds=bounds.get("file_recall", (views[VIEWS[0]]["file_recall"],) * 2),
        n_ground_truth=len({f.key for f in trial.ground_truth.files}),
        n_repeats=n_accesses - views[VIEWS[0]]["n_retrieved"],
        **files.time_to_first_relevant(trial, lasted),
        found_by=files.found_by(trial),
        by_agent=files.by_agent(trial),
        views={view: ViewMetrics(**fields) for view, fields in views.items()},
    )


def _view_fields(views: Sequence[FileView], numbers: Sequence[Computed]) -> dict[str, Any]:
    """Return the metrics under a view as the trace proves them, with the bounds of open ones.

    The first ranking is proven; where something is open, the worst and the best follow. Where no
    relevant file is certain and one is possible, a metric that would be 0 is not computable.
    """
    proven = views[0]
    stated, *others = ([number.of(view) for number in numbers] for view in views)
    bounds = {}
    for number, *found in zip(numbers, stated, *others, strict=True) if others else ():
        known = {value.value for value in found} - {None}
        if len(known) > 1:
            bounds[number.name] = (min(known), max(known))
    if others and not proven.found and views[2].found:
        stated = [unless_open(value) for value in stated]
    fields: dict[str, Any] = {}
    for number, value in zip(numbers, stated, strict=True):
        if number.k is None:
            fields[number.field] = value.value
        else:
            fields.setdefault(number.field, {})[str(number.k)] = value.value
    return {
        **fields,
        "n_retrieved": len(proven.ranked),
        "n_overlap": len(proven.found),
        "reasons": _reasons(numbers, stated),
        "bounds": bounds,
    }


def _chunk_level(view: TrialView, reason: str | None) -> ChunkLevel:
    expected = view.trial.ground_truth.chunks
    is_known = bool(expected) and reason is None
    why = reason or "no_chunk_ground_truth"
    n_shown, n_functions = chunks.functions(view.trial)
    return ChunkLevel(
        resolution="chunk_level" if expected else "file_level_only",
        validity="file_match_only" if is_known else "unsupported",
        chunks_total=len(expected),
        chunks_hit=chunks.chunks_hit(view.trial) if is_known else 0,
        functions_total=n_functions if n_functions and reason is None else None,
        functions_hit=n_shown if n_functions and reason is None else None,
        line_overlap=(
            chunks.line_overlap(view.trial)
            if is_known
            else LineOverlap(computable=False, reason=why)
        ),
        **_metrics("chunk_level_metrics", view, reason),
    )


def _utilization(view: TrialView, reason: str | None) -> Utilization:
    """Return the probes; a file is read when its content was shown, by a tool or a command."""
    return Utilization(
        probe_available=bool(view.relevant) and reason is None,
        expected_edit_probe_available=(
            bool(view.trial.ground_truth.expected_edit_files) and reason is None
        ),
        files_read=len(view.read),
        files_written=len(view.written),
        relevant_files_read=len(view.relevant & view.read.keys()),
        relevant_files_written=len(view.relevant & view.written.keys()),
        own_output_files=tuple(
            sorted(f"{repo}::{path}" if repo else path for repo, path in view.trial.own_output)
        ),
        bounds=_write_bounds(view) if reason is None else {},
        **_metrics("utilization_probes", view, reason),
    )


def _write_bounds(view: TrialView) -> dict[str, tuple[float, float]]:
    """Return the bounds of the shares of files written, where more may have been written."""
    expected = {f.key for f in view.trial.ground_truth.expected_edit_files or ()}
    wanted = {
        "util_write_overlap_with_relevant_files_proxy": view.relevant,
        "util_write_overlap_with_expected_edit_files": expected,
    }
    shares = {
        name: len(files & view.written.keys()) / len(files)
        for name, files in wanted.items()
        if files and view.may_have_written
    }
    return {name: (share, 1.0) for name, share in shares.items() if share < 1}


def _metrics(block: Block, view: TrialView, reason: str | None) -> dict[str, Any]:
    numbers = computed(block)
    values = [Value.missing(reason) if reason else number.of(view) for number in numbers]
    if reason is None:
        is_open = {
            "chunk_recall": view.is_open,
            "function_recall": view.is_open,
            "coverage_auc": view.is_open,
            "util_read_overlap_with_relevant_files": view.is_read_open,
        }
        values = [
            unless_open(value) if is_open.get(number.name) else value
            for number, value in zip(numbers, values, strict=True)
        ]
    return {
        **{number.name: value.value for number, value in zip(numbers, values, strict=True)},
        "reasons": _reasons(numbers, values),
    }


def _reasons(numbers: Sequence[Computed], values: Sequence[Value]) -> dict[str, str]:
    pairs = zip(numbers, values, strict=True)
    return {number.name: value.reason for number, value in pairs if value.reason}
