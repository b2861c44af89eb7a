"""Time to the first relevant file: in seconds, tokens, steps, calls and rank."""

from __future__ import annotations

import math
from typing import Any, Final

from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import accesses, ranking

CLOCK_TOLERANCE: Final = 1.0
"""Seconds by which the clocks of the trace and of the result may disagree."""


def time_to_first_relevant(trial: TrialEvents, lasted: float | None = None) -> dict[str, Any]:
    """Return when the first ground-truth file was retrieved.

    Seconds count from the agent's start, tokens are truly cumulative, ``ttfr_calls`` counts
    tool calls up to and including the hit. A trial that never hits is right-censored:
    ``never_hit`` is true, the values are null and ``censored_at_seconds``,
    ``censored_at_tokens`` and ``censored_at_calls`` say how long it was observed. Seconds before
    the start of the trial or after its end, ``lasted`` seconds later, are not computable
    (``outside_trial``).
    """
    found = _first_hit(trial)
    for name in ("ttfr_seconds", "censored_at_seconds"):
        if found[name] is not None and _is_outside(found[name], lasted):
            found |= {name: None, f"{name}_reason": "outside_trial"}
    return found


def _is_outside(seconds: float, lasted: float | None) -> bool:
    end = math.inf if lasted is None else lasted + CLOCK_TOLERANCE
    return not 0 <= seconds <= end


def _first_hit(trial: TrialEvents) -> dict[str, Any]:
    relevant = {f.key for f in trial.ground_truth.files}
    for event, target in accesses(trial):
        if target.file.key in relevant:
            keys = [f.key for f in ranking(trial, "accessed")]
            return {
                "never_hit": False,
                "first_gt_hit_step": event.step_index,
                "ttfr_step": event.step_index,
                "ttfr_calls": event.call_index + 1,
                "ttfr_rank": next(r for r, key in enumerate(keys, 1) if key in relevant),
                "ttfr_seconds": event.elapsed_seconds,
                "ttfr_tokens": event.cumulative_tokens,
                "censored_at_seconds": None,
                "censored_at_tokens": None,
                "censored_at_calls": None,
            }
    seconds = [e.elapsed_seconds for e in trial.events if e.elapsed_seconds is not None]
    tokens = [e.cumulative_tokens for e in trial.events if e.cumulative_tokens is not None]
    nothing = ("first_gt_hit_step", "ttfr_step", "ttfr_calls", "ttfr_rank")
    return {
        "never_hit": True,
        **dict.fromkeys((*nothing, "ttfr_seconds", "ttfr_tokens")),
        "censored_at_seconds": max(seconds, default=None),
        "censored_at_tokens": max(tokens, default=None),
        "censored_at_calls": trial.ledger.calls_seen or len(trial.events),
    }
