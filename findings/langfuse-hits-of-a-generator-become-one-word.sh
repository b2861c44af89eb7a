#!/usr/bin/env bash
# Langfuse's decorator records what a decorated generator yields. Text it joins into one word,
# without anything in between: of a retriever that yields ids or paths, the trace has
# "a.pyb.pyc.py". How many were found can no longer be said, and a reading that was left after three
# of five hits looks like a complete one of three.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile langfuse==5.0.4
cat > "$work/see.py" <<'PY'
import gc
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

from langfuse import Langfuse, observe
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

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


@observe(as_type="retriever")
def all_three():
    yield from ["a.py", "b.py", "c.py"]


@observe(as_type="retriever")
def three_of_five():
    yield from ["a.py", "b.py", "c.py", "d.py", "e.py"]


@observe(as_type="retriever")
def as_a_list():
    return ["a.py", "b.py", "c.py"]


list(all_three())
for path in three_of_five():
    if path == "c.py":
        break
gc.collect()
as_a_list()
client.flush()
seen = {
    span.name: attribute.value.string_value
    for span in received
    for attribute in span.attributes
    if attribute.key == "langfuse.observation.output"
}
print("langfuse", version("langfuse"))
print("expected: a list of the hits, as of a function that returns one; a mark if left early")
for name in ("as_a_list", "all_three", "three_of_five"):
    print(f"seen:     {name}: output {seen[name]}")
assert seen["as_a_list"] == '["a.py", "b.py", "c.py"]', "changed"
assert seen["all_three"] == seen["three_of_five"] == "a.pyb.pyc.py", "changed"
assert all(span.status.code == 0 for span in received), "changed"
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
