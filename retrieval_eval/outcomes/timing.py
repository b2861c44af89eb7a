"""When a trial and its agent started and ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrieval_eval.outcomes.fields import number, seconds, section, span
from retrieval_eval.records import Trace


@dataclass(frozen=True, slots=True)
class Timing:
    """Unix seconds and durations; ``elapsed_seconds`` is the time the agent worked."""

    started_at: float | None
    finished_at: float | None
    agent_started_at: float | None
    wall_seconds: float | None
    elapsed_seconds: float | None
    elapsed_source: str | None
    problems: tuple[str, ...] = ()


def read_timing(result: Any, metrics: Any, trace: Trace | None) -> Timing:
    """Return the times of a trial.

    The agent's time comes from ``agent_execution`` of result.json, else from
    ``agent_execution_seconds`` or ``timing.agent`` of task_metrics.json, else from the first to
    the last time in the trace, else it is the whole trial's time; the source says which. A trial
    that left no trace of an agent at work has no agent's time unless one is stated.
    """
    started, finished = _times(section(result))
    if started is None and finished is None:
        started, finished = _times(section(metrics))
    agent_started, agent_finished = _times(section(result, "agent_execution"))
    wall = span(started, finished)
    stated_wall = _positive(section(metrics).get("wall_clock_seconds"))
    candidates = (
        ("result.json", span(agent_started, agent_finished)),
        ("task_metrics.json", _stated(metrics)),
        ("trace", span(trace.started_at, trace.finished_at) if trace is not None else None),
        ("whole trial", wall if trace is not None else None),
    )
    source, elapsed = next(((source, value) for source, value in candidates if value), (None, None))
    problems = tuple(
        f"result.json: {name} ends before it starts"
        for name, start, end in (
            ("the trial", started, finished),
            ("the agent", agent_started, agent_finished),
        )
        if start is not None and end is not None and end < start
    )
    return Timing(started, finished, agent_started, wall or stated_wall, elapsed, source, problems)


def _times(holder: dict[str, Any]) -> tuple[float | None, float | None]:
    finished = holder.get("finished_at", holder.get("completed_at"))
    return seconds(holder.get("started_at")), seconds(finished)


def _stated(metrics: Any) -> float | None:
    flat = _positive(section(metrics).get("agent_execution_seconds"))
    return flat or _positive(section(metrics, "timing").get("agent"))


def _positive(value: Any) -> float | None:
    found = number(value)
    return found if found is not None and found > 0 else None
