"""Runs an agent of openai-agents: ``openai_agents.py PROMPT OUT [otel]``.

It writes the traces of the library itself, an object a line, and the spans of OpenInference or,
with ``otel``, of OpenTelemetry's conventions.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from agents import Agent, Runner, add_trace_processor, function_tool
from agents.mcp import MCPServerStdio
from agents.tracing import TracingProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

prompt, folder, *convention = sys.argv[1:]
if convention:
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor
else:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
provider = TracerProvider(resource=Resource.create({"service.name": "shop-agent"}))
out = (Path(folder) / "spans.jsonl").open("w")
lines = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
provider.add_span_processor(SimpleSpanProcessor(lines))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


class Written(TracingProcessor):
    """Writes what the library would send to its maker."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w")

    def on_trace_start(self, trace) -> None:
        self.write(trace)

    def on_trace_end(self, trace) -> None:
        pass

    def on_span_start(self, span) -> None:
        pass

    def on_span_end(self, span) -> None:
        self.write(span)

    def write(self, item) -> None:
        self.file.write(json.dumps(item.export()) + "\n")
        self.file.flush()

    def shutdown(self) -> None:
        self.file.close()

    def force_flush(self) -> None:
        self.file.flush()


add_trace_processor(Written(Path(folder) / "trace.jsonl"))


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


@function_tool
def run_shell(command: str) -> str:
    """Run a shell command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"


async def main() -> None:
    server = {"command": "python3", "args": ["/mnt/mcp_server.py", "/mnt/shop"]}
    async with MCPServerStdio(name="files", params=server) as files:
        helper = Agent(name="helper", instructions="Read.", model="gpt-4o", tools=[read_file])
        delegate = helper.as_tool(tool_name="helper", tool_description="Reads files.")
        agent = Agent(
            name="shopper",
            instructions="Look around.",
            model="gpt-4o",
            tools=[read_file, run_shell, delegate],
            mcp_servers=[files],
        )
        await Runner.run(agent, prompt, max_turns=100)


asyncio.run(main())
provider.force_flush()
