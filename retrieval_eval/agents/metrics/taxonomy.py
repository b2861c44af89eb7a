"""The seed's five error labels, each with its own denominator, and the calibration slices."""

from __future__ import annotations

from typing import Final, Literal

from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.events.normalise import TrialEvents
from retrieval_eval.agents.events.retrieved import files_with, ranking
from retrieval_eval.model.metrics import ErrorRate, ErrorTaxonomy, TrialSlices
from retrieval_eval.records import FileRef

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
