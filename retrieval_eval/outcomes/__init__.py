"""Outcomes: reward, cost, tokens, time, model and harness of a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval_eval.io.files import is_there, read_json
from retrieval_eval.outcomes.fields import section, text
from retrieval_eval.outcomes.outcome import Outcome
from retrieval_eval.outcomes.reward import read_reward
from retrieval_eval.outcomes.shape import misfits
from retrieval_eval.outcomes.timing import read_timing
from retrieval_eval.outcomes.usage import (
    choose_cost,
    choose_tokens,
    metrics_usage,
    result_usage,
)
from retrieval_eval.records import Trace

__all__ = ["Outcome", "load_outcome"]

_LONGEST_MESSAGE = 300


def load_outcome(trial_dir: Path, trace: Trace | None = None) -> Outcome:
    """Return the outcome of a trial out of its result, its task metrics and its trace.

    Where the three disagree on cost or tokens, two that agree outvote the third; otherwise
    ``task_metrics.json`` comes before ``result.json`` before the trace, with the exceptions for
    tokens in :func:`retrieval_eval.outcomes.usage.choose_tokens`. What was not chosen is kept.

    Parameters
    ----------
    trial_dir
        The folder of the trial; ``result.json`` and ``task_metrics.json`` in it are read and
        never changed. Either may be missing or broken.
    trace
        The trial's trace, or None where there is none.

    Returns
    -------
    Outcome
        With None for what was not recorded, and a sentence for every file that is broken.
    """
    result, problems = _read(trial_dir, "result.json", is_expected=True)
    metrics, more = _read(trial_dir, "task_metrics.json", is_expected=False)
    broken = (*problems, *misfits(result, metrics), *more)
    reward = read_reward(result, metrics)
    usages = (metrics_usage(metrics), result_usage(result))
    cost = choose_cost(*usages, trace)
    tokens = choose_tokens(*usages, trace)
    timing = read_timing(result, metrics, trace)
    agent = section(result, "agent_info")
    return Outcome(
        reward=reward.value,
        reward_reason=reward.reason,
        reward_source=reward.source,
        reward_scale=reward.scale,
        cost_usd=cost.value,
        cost_source=cost.source,
        cost_other=cost.others,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        total_tokens=None if tokens.total.value is None else int(tokens.total.value),
        token_source=tokens.total.source,
        token_other=tokens.total.others,
        is_token_total_confirmed=tokens.is_confirmed,
        elapsed_seconds=timing.elapsed_seconds,
        elapsed_source=timing.elapsed_source,
        wall_seconds=timing.wall_seconds,
        started_at=timing.started_at,
        finished_at=timing.finished_at,
        agent_started_at=timing.agent_started_at,
        model=_model(result) or _known(trace.model if trace else None),
        harness=_known(agent.get("name")) or _known(trace.harness if trace else None),
        harness_version=_known(agent.get("version"))
        or _known(trace.harness_version if trace else None),
        exception=_exception(result, metrics),
        task_checksum=text(section(result).get("task_checksum")),
        is_simulated=section(result).get("simulated") is True,
        problems=(*broken, *reward.problems, *timing.problems),
        unreadable=(*broken, *reward.unreadable),
    )


def _read(trial_dir: Path, name: str, *, is_expected: bool) -> tuple[Any, tuple[str, ...]]:
    path = trial_dir / name
    if not is_there(path):
        return None, (f"{name}: missing",) if is_expected else ()
    document = read_json(path, trial_dir)
    if document.problem is not None:
        return None, (document.problem,)
    if not isinstance(document.value, dict):
        return None, (f"{name}: expected an object",)
    return document.value, ()


def _known(value: Any) -> str | None:
    """Return a name, or None for what harnesses write when they do not know one."""
    name = text(value)
    return None if name is None or name.lower() in {"unknown", "none", "null", "n/a"} else name


def _model(result: Any) -> str | None:
    stated = section(result, "agent_info").get("model_info")
    name = stated.get("name") if isinstance(stated, dict) else stated
    asked_for = section(result, "config", "agent").get("model_name")
    known = _known(name) or _known(asked_for)
    return known.rsplit("/", 1)[-1] if known else None


def _exception(result: Any, metrics: Any) -> dict[str, str | None] | None:
    """Return type and message of the error that ended a trial; None without one."""
    info = section(result).get("exception_info")
    if isinstance(info, dict) and info:
        kind = text(info.get("exception_type")) or text(info.get("type"))
        message = info.get("exception_message", info.get("message"))
        return {"type": kind, "message": text(message, _LONGEST_MESSAGE)}
    if text(info):
        return {"type": None, "message": text(info, _LONGEST_MESSAGE)}
    flat = section(metrics)
    message, kind = text(flat.get("error"), _LONGEST_MESSAGE), text(flat.get("failure_class"))
    return {"type": kind, "message": message} if message or kind else None
