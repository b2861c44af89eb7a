"""What was available for a trial, and the sentence that says what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import accesses
from retrieval_eval.records import GroundTruth, Trace
from retrieval_eval.traces.reading import HISTORY_COMPACTED

INCOMPLETE: Final[dict[str, str]] = {
    "trimmed": "the trace was cut by whoever stored it: steps are missing",
    "truncated": "parts of the trace were replaced by previews",
    "subagent_calls_missing": "the agent delegated, and the trace does not hold the calls of its "
    "sub-agents",
    "subagent_elsewhere": "the trace refers to sub-agents whose calls lie in other files",
    "continued_elsewhere": "the trace says that it goes on in another file",
    HISTORY_COMPACTED: "the agent's history was summarised, and the trace does not hold the calls "
    "before the summary",
    "malformed_line": "the trace holds lines that are not valid",
    "malformed_step": "the trace holds steps that are not valid",
    "no_agent_step": "the trace holds no step of the agent",
    "results_missing": "the trace holds tool calls without their results",
    "result_without_call": "the trace holds results of tool calls that it does not hold",
    "nothing_resolved": "no answer could be resolved to files, and no other file was seen",
    "no_result_event": "the transcript ends without a final result: the run was cut off",
}
"""Quality flags that make the events incomplete, with the sentence for each."""


def _faults_of_trace(trial: TrialEvents, trace: Trace | None, missing: str | None) -> list[str]:
    """Return the sentences on why the events are empty or incomplete."""
    if trace is None:
        return [missing or "no trace was found"]
    early, late = (
        [INCOMPLETE[flag] for flag in flags if flag in INCOMPLETE]
        for flags in (trace.flags, trial.flags)
    )
    return [*early, *trace.problems, *late]


def why_nothing_is_computable(trace: Trace | None, trial: TrialEvents) -> str | None:
    """Return the reason code of a trial whose metrics would be misleading zeroes, or None.

    A complete trace without any access is a true zero. One that is incomplete and shows none says
    nothing, and neither does one in which no answer could be resolved to files. With an access of
    its own, an incomplete trace gives a lower bound.
    """
    if trace is None:
        return "no_trace"
    if "nothing_resolved" in trial.flags:
        return "nothing_resolved"
    flags = {*trace.flags, *trial.flags}
    if not (trace.problems or flags & INCOMPLETE.keys()) or any(accesses(trial)):
        return None
    is_idle = not trace.calls and "result_without_call" not in flags
    return "agent_never_acted" if is_idle else "evidence_incomplete"


def coverage(
    trial: TrialEvents,
    trace: Trace | None,
    missing: str | None,
    *,
    outcome: Iterable[str] = (),
    ground_truth: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the ``coverage`` block of the seed.

    ``degraded_reason`` holds a sentence for everything that is missing, incomplete or cannot be
    read, and is null when nothing is; ``degraded_sources`` names what these sentences are about,
    of ``trace``, ``outcome`` and ``ground_truth``. Only a broken trace makes events incomplete.

    Parameters
    ----------
    trial
        The events of the trial, with its ground truth.
    trace
        The trace, or None when there is none.
    missing
        Why there is no trace.
    outcome, ground_truth
        Sentences on files of the outcome and of the ground truth that cannot be read.
    """
    truth = trial.ground_truth
    faults = {
        "trace": _faults_of_trace(trial, trace, missing),
        "outcome": list(outcome),
        "ground_truth": list(ground_truth),
    }
    return {
        "has_trajectory": trace is not None and trace.has_trajectory,
        "has_transcript": trace is not None and trace.has_transcript,
        "has_ground_truth": bool(truth.files),
        "has_chunk_ground_truth": bool(truth.chunks),
        "trace_source": trace.source if trace is not None else None,
        "degraded_reason": "; ".join(s for found in faults.values() for s in found) or None,
        "degraded_sources": [source for source, found in faults.items() if found],
        "ground_truth_source": truth.source,
        "ground_truth_confidence": truth.confidence,
        "ground_truth_reason": None if truth.files else truth.reason,
        "ground_truth_problems": list(truth.problems),
        "ground_truth_digest": _digest(truth),
        "repositories": sorted(_repositories(truth)),
        "quality_flags": sorted({*(trace.flags if trace is not None else ()), *trial.flags}),
        "trace_format": trace.format if trace is not None else None,
    }


def _digest(truth: GroundTruth) -> str | None:
    """Return what tells two versions of a task's ground truth apart, or None without one."""
    if not truth.files:
        return None
    keys = sorted(
        f"{repository or ''}::{path}" for repository, path in (f.key for f in truth.files)
    )
    return hashlib.sha256("\n".join(keys).encode("utf-8", "replace")).hexdigest()[:16]


def _repositories(truth: GroundTruth) -> set[str]:
    named = {f.repository for f in truth.files if f.repository}
    return named or {repository.name for repository in truth.repositories}
