"""Claude Code's stream-json transcript: one JSON object a line, one content block a line.

A message that holds several blocks repeats its id and its usage on every line, and the output
tokens on those lines are placeholders; only the closing ``result`` line has the real number. The
calls of a sub-agent carry ``parent_tool_use_id`` and their results have no structured form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.simulators.clock import stamp
from tests.simulators.dice import Dice
from tests.simulators.plan import Staged
from tests.simulators.session import Message, Session, TimedCall, Usage

_LOCAL_TOOLS = ("Task", "Bash", "Edit", "Glob", "Grep", "Read", "TodoWrite", "Write")
_REMOTE_TOOLS = ("find_references", "keyword_search", "list_files", "nls_search", "read_file")


def stream_json(staged: Staged, session: Session, start: datetime) -> bytes:
    """Return the bytes of ``agent/claude-code.txt``."""
    writer = _Writer(staged, session, start)
    lines = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in writer.lines())
    return ("\n".join(lines) + "\n").encode()


def shown_usage(usage: Usage) -> dict[str, Any]:
    """Return a message's usage as its lines show it."""
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.shown_output,
        "service_tier": "standard",
    }


class _Writer:
    def __init__(self, staged: Staged, session: Session, start: datetime) -> None:
        self._staged, self._session, self._start = staged, session, start
        self._dice: Dice = staged.dice.scoped("stream")
        self._count = 0

    def lines(self) -> Iterator[dict[str, Any]]:
        yield self._initial()
        pending: list[TimedCall] = []
        for message in self._session.messages:
            if pending and message.parent_id != pending[-1].call_id:
                yield from self._results([pending.pop()], None)
            yield from self._message(message)
            if message.calls and message.calls[0].call.children:
                pending.append(message.calls[0])
                yield self._prompt(message.calls[0])
            else:
                yield from self._results(list(message.calls), message.parent_id)
        yield self._closing()

    def _named(self) -> dict[str, Any]:
        self._count += 1
        return {
            "session_id": self._session.session_id,
            "uuid": self._dice.uuid("line", self._count),
        }

    def _initial(self) -> dict[str, Any]:
        plan = self._staged.plan
        is_remote = any(timed.call.is_mcp for m in self._session.messages for timed in m.calls)
        prefix = "mcp__sourcegraph__" + ("sg_" if plan.harness_version.startswith("2.1.6") else "")
        tools = [*_LOCAL_TOOLS, *(prefix + name for name in _REMOTE_TOOLS if is_remote)]
        servers = [{"name": "sourcegraph", "status": "connected"}] if is_remote else []
        return {
            "type": "system",
            "subtype": "init",
            "cwd": "/workspace",
            "tools": tools,
            "mcp_servers": servers,
            "model": plan.model,
            "permissionMode": "bypassPermissions",
            "claude_code_version": plan.harness_version,
            **self._named(),
        }

    def _message(self, message: Message) -> Iterator[dict[str, Any]]:
        blocks: list[tuple[float, dict[str, Any]]] = []
        if message.text:
            blocks.append((message.second, {"type": "text", "text": message.text}))
        for timed in message.calls:
            call = timed.call
            block = {
                "type": "tool_use",
                "id": timed.call_id,
                "name": call.name,
                "input": call.arguments,
            }
            blocks.append((timed.second, block))
        for second, block in blocks:
            yield {
                "type": "assistant",
                "message": {
                    "model": self._staged.plan.model,
                    "id": message.message_id,
                    "type": "message",
                    "role": "assistant",
                    "content": [block],
                    "stop_reason": None,
                    "usage": shown_usage(message.usage),
                },
                "parent_tool_use_id": message.parent_id,
                "timestamp": stamp(self._start, second),
                **self._named(),
            }

    def _prompt(self, timed: TimedCall) -> dict[str, Any]:
        content = [{"type": "text", "text": timed.call.arguments["prompt"]}]
        return {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": timed.call_id,
            "timestamp": stamp(self._start, timed.second),
            **self._named(),
        }

    def _results(self, calls: list[TimedCall], parent: str | None) -> Iterator[dict[str, Any]]:
        for timed in calls:
            call = timed.call
            content: Any = call.text
            if call.children:
                content = [{"type": "text", "text": call.text}]
            block = {"tool_use_id": timed.call_id, "type": "tool_result", "content": content}
            if call.is_error or call.name == "Bash":
                block["is_error"] = call.is_error
            line = {
                "type": "user",
                "message": {"role": "user", "content": [block]},
                "parent_tool_use_id": parent,
                "timestamp": stamp(self._start, timed.done),
                **self._named(),
            }
            if parent is None and call.structured is not None:
                line["tool_use_result"] = call.structured
            yield line

    def _closing(self) -> dict[str, Any]:
        plan, session = self._staged.plan, self._session
        usage, main = session.usage, session.main_usage
        cost = plan.result.cost_usd
        by_model = {
            "inputTokens": usage.fresh,
            "outputTokens": usage.output,
            "cacheReadInputTokens": usage.cache_read,
            "cacheCreationInputTokens": usage.cache_written,
            "webSearchRequests": 0,
            "costUSD": cost,
            "contextWindow": 200000,
        }
        return {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": round(session.duration * 1000),
            "num_turns": len(session.messages),
            "result": session.messages[-1].text,
            "total_cost_usd": cost,
            "usage": shown_usage(main) | {"output_tokens": main.output},
            "modelUsage": {plan.model: by_model},
            "permission_denials": [],
            **self._named(),
        }
