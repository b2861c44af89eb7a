#!/usr/bin/env bash
# Where a server sends no usage with a streamed answer, as OpenAI-compatible servers may, LiteLLM
# counts by itself, with a tokenizer that need not be the model's, and hands the result out as the
# usage of the response, without a mark. The same server's answer in one piece has usage 0. Token
# totals of a trace through LiteLLM may be estimates, and of mixed runs they are partly 0.
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
START = {"id": "c1", "created": 1, "model": "own-model"}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("stream"):
            deltas = [{"role": "assistant", "content": "Good "}, {"content": "day"}, {}]
            chunks = [
                START
                | {
                    "object": "chat.completion.chunk",
                    "choices": [
                        {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
                    ],
                }
                for delta in deltas
            ]
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
            body, kind = "".join(lines).encode(), "text/event-stream"
        else:
            message = {"role": "assistant", "content": "Good day"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = START | {"object": "chat.completion", "choices": [choice]}
            body, kind = json.dumps(whole).encode(), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
question = {
    "model": "openai/own-model",
    "api_base": f"http://127.0.0.1:{server.server_port}/v1",
    "api_key": "none",
    "messages": [{"role": "user", "content": "hello " * 100}],
}


def numbers(usage):
    return usage.prompt_tokens, usage.completion_tokens


whole = litellm.completion(**question)
chunks = list(litellm.completion(stream=True, stream_options={"include_usage": True}, **question))
seen = {
    "in one piece": numbers(whole.usage),
    "streamed": numbers(chunks[-1].usage),
    "put together again": numbers(litellm.stream_chunk_builder(chunks).usage),
}
print("litellm", version("litellm"))
print("expected: the server reported no tokens, so none (or 0) however it was asked")
print("seen:    ", seen, "(prompt, completion)")
assert seen["in one piece"] == (0, 0), "changed"
assert seen["streamed"][0] > 100 and seen["streamed"][1] > 0, "changed"
assert seen["put together again"] == seen["streamed"], "changed"
PY
cd "$work"
export HOME="$work" LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_TELEMETRY=False
timeout 120 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
