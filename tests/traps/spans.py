"""Spans of OpenTelemetry and OpenInference: what they prove of the calls of tools."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Trap


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

TRAPS = (
    Trap(
        situation="read",
        files=_trial(_tool("read_file", _READ, "import os")),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The span holds the text that the tool returned.",
    ),
    Trap(
        situation="read",
        files=_trial(_tool("read_file", _READ), _LATER),
        expected={"src/a.py": "certain"},
        reason="A later span of the model shows what the call was answered.",
    ),
    Trap(
        situation="search",
        files=_trial(
            _tool("shell", {"command": "cd /workspace && grep -rn x ."}, "./src/a.py:3:x = 1")
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The search printed one match.",
    ),
    Trap(
        situation="listing",
        files=_trial(_tool("shell", {"command": "cd /workspace && ls src"}, "a.py\n")),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the file.",
    ),
    Trap(
        situation="failed read",
        files=_trial(_tool("read_file", _READ, status={"code": 2, "message": "no such file"})),
        expected={"src/a.py": "none"},
        reason="The span ended in an error and holds no result.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            _tool("shell", {"command": "cat /workspace/src/a.py"}, status={"code": 2}),
        ),
        expected={"src/a.py": "none"},
        reason="The span ended in an error before anything was returned.",
    ),
    Trap(
        situation="write",
        files=_trial(_tool("write", {"path": "/workspace/src/a.py", "content": "x"}, "ok")),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="other",
        files=_trial(
            _span(
                "r",
                {
                    "openinference.span.kind": "RETRIEVER",
                    "input.value": "limit",
                    "retrieval.documents.0.document.id": "src/a.py",
                },
            )
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="A retriever found the file; whether the model was sent it is not recorded.",
    ),
    Trap(
        situation="other",
        files=_trial(_tool("read_file", _READ)),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="Results are recorded only where that was chosen, so that the answer is not known.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            _tool("shell", {"command": "cd /workspace && head -n 1 src/a.py"}, "import os\n")
        ),
        expected={"src/a.py": "certain"},
        reason="Part of a file is an access to it.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            _span("o", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "task"}),
            _span("h", {"gen_ai.operation.name": "invoke_agent"}, parentSpanId="o"),
            _tool("read_file", _READ, "import os", parentSpanId="h"),
        ),
        expected={"src/a.py": "certain"},
        reason="The spans of a sub-agent lie beside those of the agent.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            _tool("read_file", _READ, "Permission to use Read has been denied."),
        ),
        expected={"src/a.py": "none"},
        reason="The answer opens as that of a call which was not permitted.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            _tool(
                "read_file", _READ, '{"content": [{"type": "text", "text": "x"}], "isError": true}'
            )
        ),
        expected={"src/a.py": "none"},
        reason="The result is marked as an error.",
    ),
    Trap(
        situation="read",
        files=_trial(
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
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The library wrote the arguments in Python's notation, with the path as plain text.",
    ),
    Trap(
        situation="background",
        files=_trial(_tool("shell", {"command": "cd /workspace && cat src/a.py &"}, "")),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(_tool("shell", {"command": "cd /workspace/lib && cat src/a.py"}, "x = 1")),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
)
