"""Claude Code's session as an ATIF 1.2 trajectory, the way the harness converts it.

Each step is one content block. The steps of a message repeat its metrics, the text of a result
carries its structured form again behind ``[metadata]``, and the calls of a sub-agent are not
there at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.simulators.clock import stamp
from tests.simulators.plan import Staged
from tests.simulators.session import Message, Session, TimedCall, Usage
from tests.simulators.task import MERGED


def trajectory(staged: Staged, session: Session, start: datetime) -> dict[str, Any]:
    """Return the document of ``agent/trajectory.json``.

    Where a transcript lies beside it, every fifth step has no timestamp: the transcript is
    what dates those calls.
    """
    plan = staged.plan
    steps: list[dict[str, Any]] = [
        {
            "timestamp": stamp(start, 0.4),
            "source": "user",
            "message": f"Work on {staged.task.name}.",
            "extra": {"is_sidechain": False},
        }
    ]
    for message in session.messages:
        if message.parent_id is None:
            steps += _message_steps(message, plan.model, start)
    for number, step in enumerate(steps, start=1):
        if plan.source == MERGED and number % 5 == 0:
            del step["timestamp"]
    usage = session.main_usage
    return {
        "schema_version": "ATIF-v1.2",
        "session_id": session.session_id,
        "agent": {
            "name": plan.harness,
            "version": plan.harness_version,
            "model_name": plan.model,
            "extra": {"cwds": ["/workspace"], "git_branches": ["main"]},
        },
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_prompt_tokens": usage.prompt,
            "total_completion_tokens": usage.output,
            "total_cached_tokens": usage.cache_read,
            "total_steps": len(steps),
        },
    }


def _message_steps(message: Message, model: str, start: datetime) -> Iterator[dict[str, Any]]:
    metrics = _metrics(message.usage)
    if message.text:
        yield {
            "timestamp": stamp(start, message.second),
            "source": "agent",
            "model_name": model,
            "message": message.text,
            "metrics": metrics,
            "extra": {"cwd": "/workspace", "is_sidechain": False},
        }
    for timed in message.calls:
        yield _call_step(timed, model, start) | {"metrics": metrics}


def _call_step(timed: TimedCall, model: str, start: datetime) -> dict[str, Any]:
    call = timed.call
    extra: dict[str, Any] = {
        "stop_reason": "tool_use",
        "cwd": "/workspace",
        "is_sidechain": False,
        "tool_use_name": call.name,
        "raw_arguments": call.arguments,
    }
    if call.is_error or call.name == "Bash":
        extra["tool_result_is_error"] = call.is_error
    if call.structured is not None and not call.is_mcp and not call.is_error:
        extra["tool_result_metadata"] = {"tool_use_result": call.structured}
    result = {"source_call_id": timed.call_id, "content": _decorated(timed)}
    return {
        "timestamp": stamp(start, timed.second),
        "source": "agent",
        "model_name": model,
        "message": f"Executed {call.name} {timed.call_id}",
        "tool_calls": [
            {
                "tool_call_id": timed.call_id,
                "function_name": call.name,
                "arguments": call.arguments,
            }
        ],
        "observation": {"results": [result]},
        "extra": extra,
    }


def _decorated(timed: TimedCall) -> str:
    """Return the result's text with what the converter adds to it."""
    call = timed.call
    if call.is_error:
        return f"{call.text}\n\n[error] tool reported failure"
    if call.is_mcp or call.structured is None:
        return call.text
    if call.name == "Bash":
        output = call.structured["stdout"]
        metadata = json.dumps({"noOutputExpected": call.structured["noOutputExpected"]})
        shown = f"\n\n[stdout]\n{output}\n" if output else "\n\n"
        return f"{call.text}{shown}[metadata] {metadata}"
    return f"{call.text}\n\n[metadata] {json.dumps(call.structured, ensure_ascii=False)}"


def _metrics(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.shown_output,
        "cached_tokens": usage.cache_read,
        "extra": {
            "cache_creation_input_tokens": usage.cache_written,
            "cache_read_input_tokens": usage.cache_read,
        },
    }
