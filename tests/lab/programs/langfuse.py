"""Runs an agent of LangChain that Langfuse observes: ``langfuse.py URL PROMPT OUT``.

Langfuse's server cannot be installed, so that the spans of its library are put into the layout of
its download: what went in and came out, the type, model, tokens and times are the span's own.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

url, prompt, folder = sys.argv[1:]
NAME = "langfuse.observation."
rows: dict[str, dict] = {}


def when(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat().replace("+00:00", "Z")


class Rows(SpanExporter):
    def export(self, spans) -> SpanExportResult:
        for span in spans:
            said = dict(span.attributes)
            key = format(span.context.span_id, "016x")
            rows[key] = {
                "id": key,
                "traceId": format(span.context.trace_id, "032x"),
                "parentObservationId": span.parent and format(span.parent.span_id, "016x"),
                "type": str(said.get(f"{NAME}type", "span")).upper(),
                "name": span.name,
                "startTime": when(span.start_time),
                "endTime": when(span.end_time),
                "level": said.get(f"{NAME}level", "DEFAULT"),
                "statusMessage": said.get(f"{NAME}status_message"),
                "model": said.get(f"{NAME}model.name"),
                "usageDetails": json.loads(said.get(f"{NAME}usage_details", "{}")),
                "costDetails": {},
                "input": said.get(f"{NAME}input"),
                "output": said.get(f"{NAME}output"),
            }
        text = json.dumps({"observations": [*rows.values()], "scores": []})
        (Path(folder) / "trace.json").write_text(text)
        return SpanExportResult.SUCCESS


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


@tool
def run_shell(command: str) -> str:
    """Run a shell command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}"


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Rows()))
Langfuse(
    public_key="pk-lf-1",
    secret_key="sk-lf-1",
    base_url=url.removesuffix("/v1"),
    tracer_provider=provider,
)
model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="scripted", max_retries=0)
agent = create_agent(model, [read_file, run_shell])
asked = {"messages": [{"role": "user", "content": prompt}]}
agent.invoke(asked, {"recursion_limit": 500, "callbacks": [CallbackHandler()]})
os._exit(0)  # The library would wait for a server that takes its spans.
