from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

from retrieval_eval.cli import run
from tests.unit.serve.documents import digest, search_run, write

PROJECT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from retrieval_eval.cli import main; main()"]
SECONDS = 120
PASSWORD = "tell-nobody"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.delenv("RETRIEVAL_EVAL_DATABASE_URL", raising=False)
    write(tmp_path / "data" / "eval", "1", search_run("first"))
    (tmp_path / "reports" / "run").mkdir(parents=True)
    (tmp_path / "reports" / "run" / "index.html").write_text("<p>a report</p>")
    with contextlib.closing(sqlite3.connect(tmp_path / "items.db")) as database, database:
        database.execute("CREATE TABLE review_items (id, review_status TEXT, created_at TEXT)")
        rows = [("pending_review", "2026-01-02"), ("pending_review", "2026-01-03")]
        rows += [("approved", "2026-01-01"), ("parked", "2026-01-01")]
        database.executemany("INSERT INTO review_items VALUES (1, ?, ?)", rows)
    return tmp_path


def options(place):
    return ["--data", str(place / "data" / "eval")]


def database(place):
    return ["--backlog", f"sqlite:///{place / 'items.db'}"]


@contextlib.contextmanager
def started(*arguments, stdin=subprocess.DEVNULL, cwd=PROJECT):
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Started in the background, a shell makes its children ignore Ctrl-C, and theirs too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def address(process) -> str:
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found, line or process.stderr.read()
    return found[0]


def test_serve_until_ctrl_c(place):
    reports = ["--reports", str(place / "reports")]
    before = digest(place)
    with started("serve", "--port", "0", *options(place), *reports, *database(place)) as process:
        base = address(process)
        assert base.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=base, timeout=SECONDS, trust_env=False) as client:
            shown = client.get("/api/metrics").json()
            health = client.get("/api/system/diagnostics").json()
            page = client.get("/reports/run/index.html")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert errors == "stopped\n"
    assert shown["latest_run"]["label"] == "first"
    assert health["status"] == "ok"
    assert health["backlog"] == shown["backlog"] | {
        key: health["backlog"][key] for key in ("as_of", "oldest_pending_age_days")
    }
    block = shown["backlog"]
    counts = [block[k] for k in ("pending_review", "approved", "rejected", "published", "other")]
    assert counts == [2, 1, 0, 0, 1]
    assert block["total"] == 4
    assert block["oldest_pending_at"].startswith("2026-01-02T00:00:00")
    assert page.text == "<p>a report</p>"
    assert digest(place) == before


def test_a_port_in_use_is_one_sentence(place, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--port", str(port), *options(place)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"retrieval-eval: port {port} of 127.0.0.1 is in use")


def test_wrong_usage(place, capsys, monkeypatch):
    assert run(["serve", "--mcp", "--backlog", f"me:{PASSWORD}@db"]) == 64
    assert PASSWORD not in capsys.readouterr().err
    assert run(["serve", "--port", "70000"]) == 64
    monkeypatch.chdir(place)
    (place / "retrieval-eval.toml").write_text('[backlog]\nblock = "runs"\n')
    assert run(["serve"]) == 3
    assert "cannot name the backlog block" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("chosen", "module", "extra"),
    [
        (["--port", "0"], "starlette.applications", "serve"),
        (["--port", "0"], "uvicorn", "serve"),
        (["--mcp"], "mcp.server", "serve"),
    ],
)
def test_a_missing_extra_is_one_sentence(place, monkeypatch, capsys, chosen, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    assert run(["serve", *chosen, *options(place)]) == 3
    assert f"pip install '.[{extra}]'" in capsys.readouterr().err


def test_a_real_client_calls_get_metrics(place):
    from mcp import Client, StdioServerParameters

    program, *arguments = COMMAND
    arguments += ["serve", "--mcp", *options(place), *database(place)]
    server = StdioServerParameters(command=program, args=arguments, cwd=PROJECT)

    async def talk():
        with anyio.fail_after(SECONDS):
            async with Client(server) as client:
                listed = await client.list_tools()
                plain = await client.call_tool("get_metrics", {})
                cases = await client.call_tool("get_metrics", {"corpus": "cases"})
                wrong = await client.call_tool("get_metrics", {"label": "none"})
                return listed, plain, cases, wrong

    before = digest(place)
    listed, plain, cases, wrong = anyio.run(talk)
    assert [tool.name for tool in listed.tools] == ["get_metrics"]
    block = plain.structured_content["backlog"]
    counted = ("pending_review", "approved", "rejected", "published", "other")
    assert sum(block[name] for name in counted) == block["total"] == 4
    assert plain.structured_content["latest_run"]["headline"]["P@5"]["value"] == 0.5
    assert cases.structured_content["latest_run"]["headline"]["P@5"]["value"] == 0.6
    assert wrong.is_error
    assert digest(place) == before


def initialize():
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    return json.dumps(request) + "\n"


def test_nothing_but_the_protocol_on_standard_output(place):
    call = {"name": "get_metrics", "arguments": {}}
    messages = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with started("serve", "--mcp", *options(place), stdin=subprocess.PIPE) as process:
        process.stdin.write(initialize() + "".join(json.dumps(m) + "\n" for m in messages))
        process.stdin.write("no JSON\n")
        process.stdin.flush()
        lines = [process.stdout.readline(), process.stdout.readline()]
        rest, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    found = [json.loads(line) for line in [*lines, *rest.splitlines()]]
    assert {message["jsonrpc"] for message in found} == {"2.0"}
    answers = {message["id"]: message for message in found if message.get("id")}
    assert answers[1]["result"]["serverInfo"]["name"] == "retrieval-eval"
    assert answers[2]["result"]["structuredContent"]["latest_run"]["label"] == "first"
