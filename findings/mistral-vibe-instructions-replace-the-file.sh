#!/usr/bin/env bash
# The first file that Mistral Vibe reads in a folder with an AGENTS.md is not given to the model:
# the answer of the call is the text of that AGENTS.md, and nothing else. What Vibe prints, and the
# record of the call in its journal, hold the file's content, with "30 lines" beside it. Read again,
# the file is given. Whoever counts reads counts one that did not happen, or a needless second one.
set -euo pipefail
python=$("$(dirname "$0")/../.ci/find-python" 3.12)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${python:?it needs Python 3.12}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile uv==0.13.9
# It asks for a release of certifi that only exists with a suffix.
echo certifi==2026.10.19.post1 > "$work/instead"
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" --override "$work/instead" \
    mistral-vibe==3.0.3
mkdir -p "$work/repo/src" "$work/home"
git -C "$work/repo" init -q
echo "Use spaces." > "$work/repo/src/AGENTS.md"
for n in $(seq 30); do echo "value_$n = $n"; done > "$work/repo/src/limits.py"
cat > "$work/see.py" <<'PY'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

answers = []


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        given = [m for m in asked["messages"] if m["role"] == "tool"]
        answers[:] = [str(message["content"]) for message in given]
        call = {
            "index": 0,
            "id": f"call_{len(given)}",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "src/limits.py"}'},
        }
        is_over = len(given) == 2
        said = {"role": "assistant", "content": "Done." if is_over else "I look."}
        if not is_over:
            said["tool_calls"] = [call]
        head = {"id": "c", "created": 1, "model": "m"}
        ended = {"index": 0, "finish_reason": "stop" if is_over else "tool_calls"}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        if asked.get("stream"):
            chunk = head | {"object": "chat.completion.chunk"}
            chunks = [
                chunk | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                chunk | {"choices": [ended | {"delta": {}}]},
                chunk | {"choices": [], "usage": usage},
            ]
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
            body, kind = "".join(lines).encode(), "text/event-stream"
        else:
            whole = {"object": "chat.completion", "choices": [ended | {"message": said}]}
            body, kind = json.dumps(head | whole | {"usage": usage}).encode(), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home = os.environ["HOME"]
with open(f"{home}/config.toml", "w") as config:
    config.write(f"""\
active_model = "own"
enable_telemetry = false
enable_update_checks = false
[[providers]]
name = "own"
api_base = "http://127.0.0.1:{server.server_port}/v1"
api_key_env_var = "OWN_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "m"
provider = "own"
alias = "own"
""")
done = subprocess.run(
    [f"{sys.prefix}/bin/vibe", "-p", "Look.", "--yolo", "--trust", "--output", "json"],
    cwd="repo",
    env=os.environ | {"VIBE_HOME": home, "OWN_KEY": "none"},
    stdin=subprocess.DEVNULL,
    capture_output=True,
    text=True,
    timeout=100,
)
effects = [entry for entry in json.loads(done.stdout) if entry["type"] == "effect"]
printed = [entry["state"]["output"]["content"].count("value_") for entry in effects]
print("Mistral Vibe", version("mistral-vibe"))
print("expected: both reads of a file of 30 lines give the model these lines")
print("seen:     lines of the file that the model was given:", [a.count("value_") for a in answers])
print("          lines that the printed reads hold:         ", printed)
print("          first answer:", json.dumps(answers[0])[:200])
assert printed == [30, 30], "changed"
assert [answer.count("value_") for answer in answers] == [0, 30], "changed"
assert "Use spaces." in answers[0], "changed"
PY
cd "$work"
export HOME="$work/home"
timeout 150 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
