"""OpenHands' session as an ATIF 1.5 trajectory, as that harness really writes it.

The message of a step says in words what was done. When one reply made two calls, the second step
has empty metrics, and at times the arguments of the other call: the words and the observation
are right, the arguments are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.simulators.clock import naive
from tests.simulators.moves import Call
from tests.simulators.plan import Staged
from tests.simulators.session import Message, Session, TimedCall


def trajectory(staged: Staged, session: Session, start: datetime) -> dict[str, Any]:
    """Return the document of ``agent/trajectory.json``."""
    plan = staged.plan
    steps = [
        {
            "timestamp": naive(start, 0.2),
            "source": "system",
            "message": "You are OpenHands agent, a helpful AI assistant that can solve tasks.",
        },
        {
            "timestamp": naive(start, 0.3),
            "source": "user",
            "message": f"Work on {staged.task.name}.",
        },
    ]
    for message in session.messages:
        steps += _message_steps(message, plan.model, start)
    usage = session.usage
    return {
        "schema_version": "ATIF-v1.5",
        "session_id": session.session_id,
        "agent": {
            "name": plan.harness,
            "version": plan.harness_version,
            "model_name": plan.model,
            "tool_definitions": [_definition("execute_bash"), _definition("str_replace_editor")],
            "extra": {"agent_class": "CodeActAgent"},
        },
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_prompt_tokens": usage.prompt,
            "total_completion_tokens": usage.output,
            "total_cached_tokens": usage.cache_read,
            "total_cost_usd": plan.result.cost_usd,
        },
    }


def _message_steps(message: Message, model: str, start: datetime) -> Iterator[dict[str, Any]]:
    metrics = {
        "prompt_tokens": message.usage.prompt,
        "completion_tokens": message.usage.output,
        "cached_tokens": message.usage.cache_read,
        "cost_usd": message.usage.cost(model),
    }
    if not message.calls:
        yield {
            "timestamp": naive(start, message.second),
            "source": "agent",
            "message": message.text,
            "metrics": metrics,
        }
    for number, timed in enumerate(message.calls):
        yield _call_step(timed, start) | {"metrics": {} if number else metrics}


def _call_step(timed: TimedCall, start: datetime) -> dict[str, Any]:
    call = timed.call
    arguments = call.arguments if call.shown_arguments is None else call.shown_arguments
    step: dict[str, Any] = {
        "timestamp": naive(start, timed.second),
        "source": "agent",
        "message": _words(call),
        "tool_calls": [
            {"tool_call_id": timed.call_id, "function_name": call.name, "arguments": arguments}
        ],
    }
    if call.name != "finish":
        result = {"source_call_id": timed.call_id, "content": call.text}
        step["observation"] = {"results": [result]}
    return step


def _words(call: Call) -> str:
    if call.name == "execute_bash":
        return f"Running command: {call.arguments['command']}"
    if call.name == "str_replace_editor":
        path = call.arguments["path"]
        is_view = call.arguments["command"] == "view"
        return f"Reading file: {path}" if is_view else f"I edited the file {path}."
    if call.name == "think":
        return f"I am thinking...: {call.arguments['thought']}"
    if call.name == "finish":
        return str(call.arguments["message"])
    return (
        f"I am interacting with the MCP server with name:\n```\n{call.name}\n```\n"
        f"and arguments:\n```\n{dict(call.arguments)!r}\n```"
    )


def _definition(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}}
    function = {"name": name, "description": f"The {name} tool.", "parameters": parameters}
    return {"type": "function", "function": function}
