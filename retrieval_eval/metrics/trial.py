"""All metric stages of one trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.metrics.chunks import chunk_metrics
from retrieval_eval.metrics.files import DEFAULT_K, file_metrics
from retrieval_eval.metrics.taxonomy import error_taxonomy
from retrieval_eval.metrics.utilization import utilization_probes


def trial_metrics(
    trial: TrialEvents,
    k_values: Sequence[int] = DEFAULT_K,
    *,
    reason: str | None = None,
    lasted: float | None = None,
) -> dict[str, Any]:
    """Return the four metric blocks of a trial.

    Parameters
    ----------
    k_values
        Cut-offs of the ranking metrics.
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    lasted
        How many seconds the agent ran, where that is known.
    """
    return {
        "file_level_metrics": file_metrics(trial, k_values, reason=reason, lasted=lasted),
        "chunk_level_metrics": chunk_metrics(trial, reason=reason),
        "utilization_probes": utilization_probes(trial, reason=reason),
        "error_taxonomy": error_taxonomy(trial, reason=reason),
    }
