"""Runs an agent of openai-agents with OpenInference's spans: ``openai_agents.py PROMPT SPANS``."""

import asyncio
import subprocess
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool
from agents.mcp import MCPServerStdio
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

prompt, spans = sys.argv[1:]
provider = TracerProvider(resource=Resource.create({"service.name": "shop-agent"}))
out = Path(spans).open("w")  # noqa: SIM115
lines = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
provider.add_span_processor(SimpleSpanProcessor(lines))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


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
