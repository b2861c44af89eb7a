"""``result.json`` and ``task_metrics.json`` of a trial, and the ``result.json`` of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tests.simulators.clock import naive, stamp
from tests.simulators.model import TrialPlan
from tests.simulators.plan import Staged, timed_calls
from tests.simulators.task import CLAUDE

AGENT_STARTS_AFTER = 31.25
"""Seconds from the start of a trial to the start of its agent: set-up comes first."""

_OVERCOUNT = 2
"""How often the files of one trial count the input tokens that its trace has once."""

_OVERCOUNTED = "tidewheel-quota-headers-feat-001"


def trial_result(staged: Staged, start: datetime) -> dict[str, Any]:
    """Return ``result.json``; half of the batches write times with a zone, half without."""
    plan = staged.plan
    write = stamp if plan.batch.startswith("2026-01-06") else naive
    elapsed = plan.result.elapsed_seconds or 0.0
    done = AGENT_STARTS_AFTER + elapsed
    reward = plan.result.reward
    return {
        "id": staged.dice.uuid("result"),
        "task_name": plan.raw_task_name,
        "trial_name": plan.trial_name,
        # By this the trial is known as invented, wherever it is copied and whatever it is called.
        "simulated": True,
        "source": None,
        "task_checksum": staged.task_checksum,
        "agent_info": {
            "name": plan.harness,
            "version": plan.harness_version,
            "model_info": {"name": plan.model, "provider": "demo"},
        },
        "agent_result": None if plan.is_crashed else _agent_result(staged),
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": _exception(write(start, 24.0)) if plan.is_crashed else None,
        "started_at": write(start, 0.0),
        "finished_at": write(start, 24.5 if plan.is_crashed else done + 9.5),
        "environment_setup": {"started_at": write(start, 0.1), "finished_at": write(start, 8.0)},
        "agent_execution": None
        if plan.is_crashed
        else {
            "started_at": write(start, AGENT_STARTS_AFTER),
            "finished_at": write(start, done),
        },
    }


def trial_metrics(staged: Staged) -> dict[str, Any]:
    """Return ``task_metrics.json``."""
    plan, session = staged.plan, staged.session
    usage = session.usage if session else None
    calls = [timed.call for timed in timed_calls(session)] if session else []
    return {
        "task_id": plan.raw_task_name,
        "benchmark": plan.benchmark,
        "config_name": plan.config,
        "reward": plan.result.reward,
        "status": _status(plan),
        "agent_execution_seconds": plan.result.elapsed_seconds,
        "input_tokens": usage.fresh if usage else None,
        "output_tokens": usage.output if usage else None,
        "cache_creation_tokens": usage.cache_written if usage else None,
        "cache_read_tokens": usage.cache_read if usage else None,
        "cost_usd": plan.result.cost_usd,
        "tool_calls_total": len(calls) if session else None,
        "tool_calls_mcp": sum(call.is_mcp for call in calls) if session else None,
        "tool_calls_by_name": dict(sorted(Counter(call.name for call in calls).items())),
        "timed_out": False,
    }


def batch_result(trials: Sequence[TrialPlan], start: datetime) -> dict[str, Any]:
    """Return the ``result.json`` of a batch, which is not one of a trial."""
    rewards = [t.result.reward for t in trials if t.result.reward is not None]
    return {
        "started_at": naive(start, 0.0),
        "n_total_trials": len(trials),
        "stats": {
            "n_trials": len(rewards),
            "n_errors": sum(trial.is_crashed for trial in trials),
        },
    }


def _status(plan: TrialPlan) -> str:
    if plan.is_crashed or plan.result.reward is None:
        return "errored"
    return "passed" if plan.result.reward else "failed"


def _agent_result(staged: Staged) -> dict[str, Any]:
    plan = staged.plan
    if staged.session is None:
        return {"n_input_tokens": None, "n_cache_tokens": None, "n_output_tokens": None}
    usage = staged.session.usage
    times = _OVERCOUNT if plan.task_name == _OVERCOUNTED else 1
    return {
        "n_input_tokens": usage.prompt * times,
        "n_cache_tokens": usage.cache_read * times,
        "n_output_tokens": usage.output,
        "cost_usd": None if plan.harness == CLAUDE else plan.result.cost_usd,
    }


def _exception(moment: str) -> dict[str, Any]:
    return {
        "exception_type": "AgentSetupTimeoutError",
        "exception_message": "the agent's container did not become ready",
        "exception_traceback": "",
        "occurred_at": moment,
    }
