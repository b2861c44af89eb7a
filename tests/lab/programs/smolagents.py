"""Runs an agent of smolagents with OpenInference's spans: ``smolagents.py URL PROMPT SPANS``."""

import subprocess
import sys
from pathlib import Path

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

url, prompt, spans = sys.argv[1:]
provider = TracerProvider()
out = Path(spans).open("w")  # noqa: SIM115
lines = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
provider.add_span_processor(SimpleSpanProcessor(lines))
SmolagentsInstrumentor().instrument(tracer_provider=provider)


@tool
def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: the path
    """
    return Path(path).read_text()


@tool
def run_shell(command: str) -> str:
    """Run a shell command.

    Args:
        command: the command
    """
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"


model = OpenAIServerModel(model_id="gpt-4o", api_base=url, api_key="scripted")
reads = "Reads files."
helper = ToolCallingAgent([read_file], model, name="helper", description=reads, max_steps=5)
agent = ToolCallingAgent([read_file, run_shell], model, managed_agents=[helper], max_steps=100)
agent.run(prompt)
