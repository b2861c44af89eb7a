"""The seed's pre-computed counts over the events of a trial."""

from __future__ import annotations

from collections import Counter
from typing import Any

from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import accesses


def first_hit_step(trial: TrialEvents) -> int | None:
    """Return the ``step_index`` of the first event that retrieved a ground-truth file."""
    relevant = {f.key for f in trial.ground_truth.files}
    return next((e.step_index for e, t in accesses(trial) if t.file.key in relevant), None)


def summarise(trial: TrialEvents) -> dict[str, Any]:
    """Return the ``summary`` block; writes are no accesses and find nothing."""
    relevant = {f.key for f in trial.ground_truth.files}
    accessed = {target.file.key for _, target in accesses(trial)}
    mcp = sum(event.is_mcp for event in trial.events)
    categories = Counter(event.tool_category for event in trial.events)
    return {
        "total_events": len(trial.events),
        "mcp_events": mcp,
        "local_events": len(trial.events) - mcp,
        "unique_files_accessed": len(accessed),
        "ground_truth_files_hit": len(accessed & relevant),
        "ground_truth_files_total": len(relevant),
        "first_ground_truth_hit_step": first_hit_step(trial),
        "events_by_category": dict(sorted(categories.items())),
    }
