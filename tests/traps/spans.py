"""Spans of OpenTelemetry and OpenInference: what they prove of the calls of tools."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Rows


def _span(identity: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    pairs = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
    return {"traceId": "t", "spanId": identity, "name": identity, "attributes": pairs, **more}


def _tool(
    name: str, arguments: dict[str, Any], result: str | None = None, **more: Any
) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return _span("s", attributes, **more)


def _trial(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"agent/trajectory.json": {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}}


_READ = {"file_path": "/workspace/src/a.py"}
_LATER = _span(
    "m",
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "tool_call", "id": "c", "name": "read_file", "arguments": _READ}
                    ],
                },
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": "c", "result": "import os"}],
                },
            ]
        ),
    },
)


_HITS = json.dumps({"hits": [{"path": "src/a.py", "line": 9, "text": "x"}]})
_BLOCKS = json.dumps([{"type": "input_text", "text": _HITS}])


def _shell(command: str, *result: str, **more: Any) -> dict[str, Any]:
    return _trial(_tool("shell", {"command": command}, *result, **more))


def _read(*result: str, **more: Any) -> dict[str, Any]:
    return _trial(_tool("read_file", _READ, *result, **more))


def _in_workspace(command: str, text: str) -> dict[str, Any]:
    return _shell(f"cd /workspace && {command}", text)


TRAPS: Rows = {
    ("search", "?src/a.py, -src/b.py"): {
        "The blocks that a model was sent hold hits, of a tool whose meaning is not known.": _trial(
            _tool("find_hits", {"query": "x"}, _BLOCKS)
        )
    },
    ("other", "+src/a.py"): {
        "The tool has the name of a shell, and the last line states the status alone.": _trial(
            _tool("run_shell", {"command": "cd /workspace && ls src"}, "a.py\n\nexit code 0")
        )
    },
    ("other", "-src/a.py"): {
        "The command of a tool with the name of a shell printed nothing but its status.": _trial(
            _tool(
                "run_shell",
                {"command": "cd /workspace && sed -n 500,510p src/a.py"},
                "\nexit code 0",
            )
        )
    },
    ("read", "+src/a.py, -src/b.py"): {
        "The span holds the text that the tool returned.": _read("import os"),
        "The library wrote the arguments in Python's notation, the path as plain text.": _trial(
            _span(
                "s",
                {
                    "openinference.span.kind": "TOOL",
                    "tool.name": "read_file",
                    "input.value": "{'path': '/workspace/src/a.py'}",
                    "output.value": "import os",
                },
            )
        ),
    },
    ("read", "+src/a.py"): {
        "A later span of the model shows what the call was answered.": _trial(
            _tool("read_file", _READ), _LATER
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The search printed one match.": _shell(
            "cd /workspace && grep -rn x .", "./src/a.py:3:x = 1"
        )
    },
    ("failed read", "-src/a.py"): {
        "The span ended in an error and holds no result.": _read(
            status={"code": 2, "message": "no such file"}
        ),
        "The result is marked as an error.": _read(
            '{"content": [{"type": "text", "text": "x"}], "isError": true}'
        ),
    },
    ("denied", "-src/a.py"): {
        "The answer opens as that of a call which was not permitted.": _read(
            "Permission to use Read has been denied."
        )
    },
    ("timed out", "-src/a.py"): {
        "The span ended in an error before anything was returned.": _shell(
            "cat /workspace/src/a.py", status={"code": 2}
        )
    },
    ("sub-agent", "+src/a.py"): {
        "The spans of a sub-agent lie beside those of the agent.": _trial(
            _span("o", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "task"}),
            _span("h", {"gen_ai.operation.name": "invoke_agent"}, parentSpanId="o"),
            _tool("read_file", _READ, "import os", parentSpanId="h"),
        )
    },
    ("truncated output", "+src/a.py"): {
        "Part of a file is an access to it.": _shell(
            "cd /workspace && head -n 1 src/a.py", "import os\n"
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _trial(
            _tool("write", {"path": "/workspace/src/a.py", "content": "x"}, "ok")
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "A retriever found the file; whether the model was sent it is not recorded.": _trial(
            _span(
                "r",
                {
                    "openinference.span.kind": "RETRIEVER",
                    "input.value": "limit",
                    "retrieval.documents.0.document.id": "src/a.py",
                },
            )
        ),
        "Results are recorded only where that was chosen: the answer is not known.": _read(),
    },
}

SHELL = _in_workspace
