"""What was available for a trial, and the sentence that says what is missing."""

from __future__ import annotations

from typing import Any, Final

from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.records import Trace

INCOMPLETE: Final[dict[str, str]] = {
    "trimmed": "the trace was cut by whoever stored it: steps are missing",
    "truncated": "parts of the trace were replaced by previews",
    "subagent_calls_missing": "the agent delegated, and the trace does not hold the calls of its "
    "sub-agents",
    "malformed_line": "the trace holds lines that are not valid",
    "no_result_event": "the transcript ends without a final result: the run was cut off",
}
"""Quality flags that make the events incomplete, with the sentence for each."""


def degraded_reason(trace: Trace | None, missing: str | None) -> str | None:
    """Return why the events are empty or incomplete, or None.

    Parameters
    ----------
    trace
        The trace, or None when there is none.
    missing
        Why there is no trace.
    """
    if trace is None:
        return missing or "no trace was found"
    sentences = [INCOMPLETE[flag] for flag in trace.flags if flag in INCOMPLETE]
    return "; ".join([*sentences, *trace.problems]) or None


def why_nothing_is_computable(trace: Trace | None) -> str | None:
    """Return the reason code of a trial whose metrics would be misleading zeroes, or None.

    A complete trace without tool calls is a true zero; one that breaks off before the first call
    says nothing.
    """
    if trace is None:
        return "no_trace"
    is_incomplete = bool(trace.problems) or any(f in INCOMPLETE for f in trace.flags)
    return "agent_never_acted" if not trace.calls and is_incomplete else None


def coverage(trial: TrialEvents, trace: Trace | None, missing: str | None) -> dict[str, Any]:
    """Return the ``coverage`` block of the seed."""
    truth = trial.ground_truth
    return {
        "has_trajectory": trace is not None and trace.has_trajectory,
        "has_transcript": trace is not None and trace.has_transcript,
        "has_ground_truth": bool(truth.files),
        "has_chunk_ground_truth": bool(truth.chunks),
        "trace_source": trace.source if trace is not None else None,
        "degraded_reason": degraded_reason(trace, missing),
        "ground_truth_source": truth.source,
        "ground_truth_confidence": truth.confidence,
        "ground_truth_reason": None if truth.files else truth.reason,
        "ground_truth_problems": list(truth.problems),
        "quality_flags": sorted({*(trace.flags if trace is not None else ()), *trial.flags}),
        "trace_format": trace.format if trace is not None else None,
    }
