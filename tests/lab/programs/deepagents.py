"""Runs an agent of deepagents with OpenInference's spans: ``deepagents.py URL PROMPT SPANS``."""

import sys
from pathlib import Path

from deepagents import create_deep_agent
from deepagents.backends.local_shell import LocalShellBackend
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

url, prompt, spans = sys.argv[1:]
# By default a span drops its oldest attributes beyond 128, which a long talk reaches.
provider = TracerProvider(span_limits=SpanLimits(max_attributes=100_000))
out = Path(spans).open("w")  # noqa: SIM115
lines = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
provider.add_span_processor(SimpleSpanProcessor(lines))
LangChainInstrumentor().instrument(tracer_provider=provider)
backend = LocalShellBackend(root_dir="/mnt/shop", virtual_mode=True, timeout=20, inherit_env=True)
model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="scripted", max_retries=0)
agent = create_deep_agent(model=model, backend=backend)
agent.invoke({"messages": [{"role": "user", "content": prompt}]}, {"recursion_limit": 500})
