#!/usr/bin/env bash
# A streamed answer of Anthropic's API reports its output tokens twice: a first count when it
# starts, the count of the whole answer when it ends. OpenLLMetry adds the two, so that the same
# answer has more output tokens in the trace if it was streamed than if it was not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile \
    opentelemetry-instrumentation-anthropic==0.62.4 opentelemetry-sdk==1.45.2 anthropic==2.14.0
cat > "$work/see.py" <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import anthropic
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

EVENTS = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 4},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "day"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 25},
    },
    {"type": "message_stop"},
]
WHOLE = EVENTS[0]["message"] | {
    "content": [{"type": "text", "text": "Good day"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 100, "output_tokens": 25},
}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("stream"):
            parts = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS]
            body, kind = "".join(parts).encode(), "text/event-stream"
        else:
            body, kind = json.dumps(WHOLE).encode(), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
exported = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exported))
AnthropicInstrumentor().instrument(tracer_provider=provider)
client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}")
question = {
    "model": "claude-test",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "hello"}],
}


def output_tokens():
    (span,) = exported.get_finished_spans()
    exported.clear()
    return span.attributes["gen_ai.usage.output_tokens"]


seen = {}
client.messages.create(**question)
seen["not streamed"] = output_tokens()
for _ in client.messages.create(stream=True, **question):
    pass
seen["streamed"] = output_tokens()
with client.messages.stream(**question) as stream:
    told = stream.get_final_message().usage.output_tokens
seen["streamed by the helper"] = output_tokens()
name = "opentelemetry-instrumentation-anthropic"
print(name, version(name), "anthropic", version("anthropic"))
print(f"expected: {told} output tokens, which is what the anthropic package says of the stream")
print("seen:    ", seen)
assert told == 25, "changed"
assert list(seen.values()) == [25, 29, 29], "changed"
PY
cd "$work"
export HOME="$work" TRACELOOP_TELEMETRY=false
timeout 100 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
