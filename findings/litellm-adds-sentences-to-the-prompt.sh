#!/usr/bin/env bash
# On the way to Anthropic, LiteLLM fills empty messages with a sentence of its own, and turns a
# later system message into one of the user with another sentence in front. The harness above it
# records what it gave to LiteLLM: the model was sent instructions that no trace of the harness has,
# and which look like the user's or the model's own words.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile litellm==1.110.2
cat > "$work/see.py" <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import litellm

litellm.suppress_debug_info = True
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [{"type": "text", "text": "Good day"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 2},
}
requests = []


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
given = [
    {"role": "user", "content": "start"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "go on"},
    {"role": "system", "content": "Answer in French."},
]
litellm.completion(
    model="anthropic/claude-sonnet-4-5",
    api_base=f"http://127.0.0.1:{server.server_port}",
    api_key="none",
    messages=given,
)
sent = [
    (message["role"], block["text"])
    for message in requests[0]["messages"]
    for block in message["content"]
]
own = [(role, text) for role, text in sent if text not in [m["content"] for m in given]]
print("litellm", version("litellm"))
print("given:   ", [(message["role"], message["content"]) for message in given])
print("expected: the model is sent these texts and no others, or the call is refused")
for role, text in own:
    print(f"seen:     sent as {role}: {text!r}")
assert [role for role, _ in own] == ["assistant", "user"], "changed"
assert ("user", "Answer in French.") in sent, "changed"
PY
cd "$work"
export HOME="$work" LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_TELEMETRY=False
timeout 120 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
