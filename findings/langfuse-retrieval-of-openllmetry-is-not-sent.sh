#!/usr/bin/env bash
# Langfuse sends the spans of its own SDK and of instrumentations that it knows. It knows
# OpenLLMetry's of language models, not those of vector databases: the search that OpenLLMetry
# traced, and the program's own span around both, never leave the process. What arrives is an answer
# without a retrieval, whose parent does not exist.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile \
    langfuse==5.0.4 opentelemetry-instrumentation-qdrant==0.62.4 qdrant-client==1.20.0
cat > "$work/see.py" <<'PY'
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

from langfuse import Langfuse
from opentelemetry import trace
from opentelemetry.instrumentation.qdrant import QdrantInstrumentor
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from qdrant_client import QdrantClient, models

received = []


class Platform(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path.endswith("/traces"):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    received.extend(scope.spans)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = Langfuse(
    public_key="none", secret_key="none", base_url=f"http://127.0.0.1:{server.server_port}"
)

traced = InMemorySpanExporter()
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(traced))
QdrantInstrumentor().instrument()
engine = QdrantClient(":memory:")
engine.create_collection(
    "documents",
    vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT),
)
engine.upsert("documents", [models.PointStruct(id=1, vector=[1.0, 0.0])])
traced.clear()
with trace.get_tracer("program").start_as_current_span("question"):
    engine.query_points("documents", query=[1.0, 0.0])
    with client.start_as_current_observation(name="answer", as_type="generation"):
        pass
client.flush()
made = [span.name for span in traced.get_finished_spans()]
sent = [span.name for span in received]
parents = {span.parent_span_id for span in received} - {span.span_id for span in received}
for package in ("langfuse", "opentelemetry-instrumentation-qdrant"):
    print(package, version(package))
print("traced in the program:", made)
print("expected: all of them are sent")
print("seen:     sent:", sent, "with", len(parents), "parent that was not sent")
assert len(made) > 2 and "qdrant.query_points" in made, "changed"
assert sent == ["answer"] and len(parents) == 1 and b"" not in parents, "changed"
PY
cd "$work"
export HOME="$work" TRACELOOP_TELEMETRY=false
timeout 100 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
