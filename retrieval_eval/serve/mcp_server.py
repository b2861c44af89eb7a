"""The MCP server: the tool ``get_metrics`` over standard input and output."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval import __version__
from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.files import decode, json_bytes
from retrieval_eval.serve.dashboard import Sources, answer_schema, dashboard, served

if TYPE_CHECKING:
    from mcp.server import Server

TOOL: Final = "get_metrics"

_ARGUMENTS: Final[dict[str, str]] = {
    "corpus": "Show the metrics of this corpus instead of those over all queries.",
    "label": "Show the newest run with this label or file name instead of the latest run.",
}


def create_server(sources: Sources) -> Server[Any]:
    """Return an MCP server with the one read-only tool ``get_metrics``.

    Without arguments the tool returns the dashboard with the backlog block; ``corpus`` and
    ``label`` narrow it. The answer is structured, follows the published schema, and is repeated
    as JSON text for clients that read only text. A wrong argument is an error of the tool, with
    the names that exist.

    Raises ``BadInputError`` when the MCP SDK is missing.
    """
    try:
        import anyio
        from mcp import types
        from mcp.server import Server
    except ImportError as error:
        raise BadInputError(
            f"MCP needs the SDK 'mcp': {install_hint('serve')} ({error})"
        ) from error

    tool = types.Tool(
        name=TOOL,
        title="Retrieval metrics",
        description=(
            "How well retrieval works: the latest search run with its metrics, intervals and "
            "distance to the baseline, all runs, and the backlog of items to review."
        ),
        input_schema=_input_schema(),
        output_schema=answer_schema("dashboard", sources),
        annotations=types.ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            given = _given(params.name, params.arguments or {})
            found = await anyio.to_thread.run_sync(
                lambda: dashboard(sources, run=given.get("label"), corpus=given.get("corpus"))
            )
        except BadInputError as error:
            text = types.TextContent(type="text", text=str(error))
            return types.CallToolResult(content=[text], is_error=True)
        written = json_bytes(served(found, sources)).decode()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=written)],
            structured_content=decode(written)[0],
        )

    return Server(
        "retrieval-eval", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )


def run_stdio(sources: Sources) -> None:
    """Serve MCP on standard input and output until the client closes them.

    Only the protocol is written to standard output: while serving, the SDK points everything
    else that is printed at standard error. Raises ``BadInputError`` when the SDK is missing.
    """
    server = create_server(sources)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # The thread that waits for standard input cannot be interrupted, so that Ctrl-C would do
    # nothing before the next line. There is nothing to finish or to clean up: let it end us.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, before)


def _input_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"type": ["string", "null"], "description": text}
            for name, text in _ARGUMENTS.items()
        },
        "additionalProperties": False,
    }


def _given(tool: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of a call; raises ``BadInputError`` for unknown ones."""
    if tool != TOOL:
        raise BadInputError(f"no tool {visible(repr(tool), 80)}; there is {TOOL}")
    for name, value in arguments.items():
        if name not in _ARGUMENTS:
            known = ", ".join(_ARGUMENTS)
            raise BadInputError(f"no argument {visible(repr(name), 80)}; there are {known}")
        if value is not None and not isinstance(value, str):
            raise BadInputError(f"{name} is a text, not {visible(repr(value), 80)}")
    return {name: value for name, value in arguments.items() if value is not None}
