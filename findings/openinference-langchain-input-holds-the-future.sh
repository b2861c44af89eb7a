#!/usr/bin/env bash
# OpenInference writes the input of a LangChain chain when the chain ends, from the object that was
# passed in. An agent loop that appends answers and tool results to the message list of its state
# thus has them in its recorded input: the input of the trace holds the answer that was still to be
# found. The model's own spans in the same trace show what was really given.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile \
    openinference-instrumentation-langchain==0.1.80 opentelemetry-sdk==1.45.2 langchain-core==1.8.3
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exported = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exported))
LangChainInstrumentor().instrument(tracer_provider=provider)

model = FakeMessagesListChatModel(responses=[AIMessage("look into it"), AIMessage("it is 42")])


def work(state):
    for _ in range(2):
        answer = model.invoke(state["messages"])
        state["messages"] += [answer, HumanMessage("result of a tool")]
    return answer.content


RunnableLambda(work).invoke({"messages": [HumanMessage("what is it?")]})
inputs = {}
for span in exported.get_finished_spans():
    kind = span.attributes["openinference.span.kind"]
    inputs.setdefault(kind, []).append(span.attributes["input.value"])
texts = ("what is it?", "look into it", "result of a tool", "it is 42")
seen = {
    kind: [[text for text in texts if text in value] for value in values]
    for kind, values in inputs.items()
}
print("openinference-instrumentation-langchain", version("openinference-instrumentation-langchain"))
print("expected: the agent's input is the question alone:", [["what is it?"]])
print("seen:     the agent's input (CHAIN):", seen["CHAIN"])
print("          the model's two inputs (LLM):", seen["LLM"])
assert seen["CHAIN"] == [list(texts)], "changed"
assert seen["LLM"] == [["what is it?"], list(texts[:3])], "changed"
PY
cd "$work"
export HOME="$work" LANGSMITH_TRACING=false
timeout 100 unshare -rn venv/bin/python see.py
