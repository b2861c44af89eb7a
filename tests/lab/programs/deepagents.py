"""Runs an agent of deepagents: ``deepagents.py URL PROMPT OUT``.

It writes what its state holds in the two ways of langchain-core, and OpenInference's spans.
"""

import json
import sys
from pathlib import Path

from deepagents import create_deep_agent
from deepagents.backends.local_shell import LocalShellBackend
from langchain_core.load import dumpd
from langchain_core.messages import messages_to_dict
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

url, prompt, folder = sys.argv[1:]
# By default a span drops its oldest attributes beyond 128, which a long talk reaches.
provider = TracerProvider(span_limits=SpanLimits(max_attributes=100_000))
out = (Path(folder) / "spans.jsonl").open("w")
lines = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
provider.add_span_processor(SimpleSpanProcessor(lines))
LangChainInstrumentor().instrument(tracer_provider=provider)
backend = LocalShellBackend(root_dir="/mnt/shop", virtual_mode=True, timeout=20, inherit_env=True)
model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="scripted", max_retries=0)
agent = create_deep_agent(model=model, backend=backend)
asked = {"messages": [{"role": "user", "content": prompt}]}
for state in agent.stream(asked, {"recursion_limit": 500}, stream_mode="values"):
    # Again after each step, so that a run that is killed leaves what it had.
    messages = state["messages"]
    written = "".join(json.dumps(message) + "\n" for message in messages_to_dict(messages))
    (Path(folder) / "messages.jsonl").write_text(written)
    (Path(folder) / "state.json").write_text(json.dumps(dumpd({"messages": messages})))
    values = {"values": {"messages": [message.model_dump(mode="json") for message in messages]}}
    (Path(folder) / "values.json").write_text(json.dumps(values))
