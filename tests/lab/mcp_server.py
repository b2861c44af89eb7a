"""A small MCP server on stdio: a text, structured hits, an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
_HITS = {
    "type": "object",
    "properties": {"hits": {"type": "array", "items": {"type": "object"}}},
    "required": ["hits"],
}
TOOLS = [
    {"name": "read_text", "description": "Return the text of a file.", "inputSchema": _PATH},
    {
        "name": "find_hits",
        "description": "Search, with structured hits.",
        "inputSchema": _QUERY,
        "outputSchema": _HITS,
    },
    {"name": "fail", "description": "Always fail.", "inputSchema": _PATH},
]


def call(root: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "read_text":
        return _text((root / arguments["path"]).read_text(encoding="utf-8"))
    if name == "find_hits":
        hits = [
            {"path": str(path.relative_to(root)), "line": number, "text": line}
            for path in sorted(root.glob("shop/**/*.py"))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if arguments["query"] in line
        ]
        return {**_text(json.dumps({"hits": hits})), "structuredContent": {"hits": hits}}
    return {**_text(f"cannot open {arguments.get('path')}"), "isError": True}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def answer(root: Path, message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "files", "version": "1.0"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return call(root, message["params"]["name"], message["params"].get("arguments") or {})
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(Path(sys.argv[1]), message)
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
