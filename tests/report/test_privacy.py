"""Nothing that private reports leave out is in any file they write: planted secrets are sought."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest

from retrieval_eval.cli import run
from tests.rechunking import write_rows
from tests.runs import write_task

pytestmark = pytest.mark.slow

MODULE = """
import os

class Retriever:
    def describe(self):
        return {{"name": "mine", "endpoint": "https://{0}/"}}

    def search(self, query, *, corpus, k):
        if query.endswith("5"):
            raise RuntimeError("no answer of https://user:{1}@host/")
        found = [(f"d{{n}}", 9.0 - n) for n in range(8)]
        return found if os.environ["ORDER"] == "a" else found[3:]

def make(api_key):
    return Retriever()
"""
WHY = """[[justification]]
metrics = {{ "nDCG@10" = 90.0 }}
reason = "{}"
author = "@{}"
second_approver = "@{}"
expires = 2030-01-31
"""
COMMAND = """TOKEN={} curl -H 'Authorization: Bearer {}' https://x.example/{}; grep -rn '{}' src
cat lib/b.py > out.txt <<X
{}
X"""


class Secrets(dict[str, str]):
    """Each secret with the place where it was planted."""

    def __call__(self, place: str) -> str:
        assert place not in self.values()
        secret = f"zq{len(self):02d}xk7"
        self[secret] = place
        return secret

    def many(self, *places: str) -> list[str]:
        return [self(place) for place in places]


def _trial(folder: Path, secret: Secrets) -> None:
    """A trial of which everything but the names of task, files and tools is secret."""
    calls = [
        ("Read", {"file_path": "/workspace/src/a.py", "why": secret("argument of a tool")}),
        ("Bash", {"command": COMMAND.format(*secret.many(
            "variable of a command", "header of a command", "URL of a command",
            "pattern of a command", "text of a here-document",
        )), "description": secret("description of a command")}),
        ("Grep", {"pattern": secret("pattern of a search"), "output_mode": "content"}),
        ("Edit", {"file_path": "/workspace/src/a.py", "old_string": secret("text before an edit"),
                  "new_string": secret("text after an edit")}),
        ("Write", {"file_path": "/workspace/new.py", "content": secret("text written")}),
        ("mcp__code__search", {"query": secret("query"), "api_key": secret("key of a server")}),
        ("WebFetch", {"url": f"https://x.example/?t={secret('URL fetched')}"}),
        ("Task", {"prompt": secret("prompt of a sub-agent"), "subagent_type": "general"}),
    ]  # fmt: skip
    prompt = {"role": "user", "content": secret("prompt")}
    lines = [
        {"type": "system", "subtype": "init", "cwd": "/workspace", "session_id": secret("session")},
        {"type": "user", "message": prompt},
    ]
    for number, (name, given) in enumerate(calls):
        stamp = f"2026-01-05T10:00:{number + 5:02d}Z"
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        thought = {"type": "thinking", "thinking": secret(f"thought before {name}")}
        said = {"id": f"m{number}", "role": "assistant", "content": [thought, use]}
        found = f"src/a.py:{number + 1}: {secret(f'result of {name}')}"
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": found}
        result["is_error"] = name == "WebFetch"
        lines += [
            {"type": "assistant", "message": said, "timestamp": stamp},
            {"type": "user", "message": {"role": "user", "content": [result]}, "timestamp": stamp},
        ]
    lines.append({"type": "result", "subtype": "success", "result": secret("answer")})
    agent = {"model_name": "m-1", "env": {"KEY": secret("environment")}}
    outcome = {
        "task_name": "task-1",
        "started_at": "2026-01-05T10:00:00Z",
        "agent_info": {"name": "claude-code", "version": "2.0.0"},
        "config": {"agent": agent, "user": secret("user of the harness")},
        "exception_info": {"exception_type": "E", "exception_message": secret("exception")},
        "verifier_result": {"rewards": {"reward": 1.0}, "stdout": secret("output of a test")},
    }
    write_rows(folder / "agent/claude-code.txt", lines)
    write_rows(folder / "result.json", [outcome])
    write_rows(folder / "task_metrics.json", [{"error": secret("error of the harness")}])


def _collection(secret: Secrets) -> None:
    labellers = secret.many("labeller", "second labeller")
    rows = [
        {
            "id": f"q{n}",
            "query": f"late fees {secret(f'query {n}')} {n}",
            "relevant": {f"d{n}": 1},
            "source": "chair",
            "note": secret(f"note of query {n}"),
            "labels": [
                {"labeller": name, "doc": f"d{n}", "grade": place or n % 2}
                for place, name in enumerate(labellers)
            ],
        }
        for n in range(6)
    ]
    texts = [
        {"id": f"d{n}", "title": secret(f"title {n}"), "text": secret(f"text {n}")}
        for n in range(9)
    ]
    states = ["approved", "pending_review", secret("status of a review item")]
    items = [{"review_status": state, "created_at": "2026-01-05"} for state in states]
    write_rows(Path("gold.jsonl"), rows)
    write_rows(Path("corpus.jsonl"), texts)
    write_rows(Path("queue.jsonl"), items)
    Path("hidden.py").write_text(MODULE.format(*secret.many("endpoint", "password in an error")))
    why = WHY.format(*secret.many("reason of a justification", "its author", "its approver"))
    Path("why.toml").write_text(why)


def _contents(data: bytes, depth: int = 3) -> Iterator[bytes]:
    """What a file holds: as it is, as text of a page, and whatever is packed or encoded in it."""
    yield data
    if data.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError):
            yield from _contents(gzip.decompress(data), depth - 1)
    yield html.unescape(unquote(data.decode("utf-8", "replace"))).encode()
    for found in re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", data) if depth else ():
        with suppress(ValueError):
            yield from _contents(base64.b64decode(found + b"=" * (-len(found) % 4)), depth - 1)


def _leaks(folder: Path, secret: Secrets) -> set[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    return {
        f"{place}: {path.relative_to(folder)}"
        for path in files
        for content in _contents(path.read_bytes() + str(path.relative_to(folder)).encode())
        for name, place in secret.items()
        if name.encode() in content
    }


@pytest.fixture
def home(tmp_path, monkeypatch):
    secret = Secrets()
    place = tmp_path / secret("name of the user's folder")
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place)
    return secret


def test_a_private_report_of_trials_holds_no_secret(home, capsys):
    batch = Path("runs/r1/baseline-local-direct/2026-01-05__10-00-00")
    _trial(batch / "task-1__aaaaaaa", home)
    unknown = {home("field of an unreadable trace"): home("value of an unreadable trace")}
    write_rows(batch / "task-2__aaaaaaa/agent/trajectory.json", [unknown])
    task = write_task(Path("benchmarks"), "task-1", ["src/a.py", "lib/b.py"])
    (task / "instruction.md").write_text(home("instruction of the task"))
    (task / "task.toml").write_text(f'[metadata]\nauthor_email = "{home("author of the task")}"\n')
    here = Path.cwd()
    roots = [f"--benchmarks-root={here / 'benchmarks'}", f"--output-dir={here / 'measured'}"]
    page = ["--reports-dir", "out", "--privacy", "--renderer", "embedded"]
    assert run(["report", "r1", "--trials", *roots, *page]) == 0, capsys.readouterr().err
    assert len(home) > 35
    assert _leaks(Path("out"), home) == set()


def test_private_reports_of_searches_hold_no_secret(home, capsys, monkeypatch):
    _collection(home)
    files = ["--gold", "gold.jsonl", "--corpus-file", "corpus.jsonl"]
    for name, more in (("a", []), ("b", ["--baseline", "a.json"])):
        monkeypatch.setenv("ORDER", name)
        asked = [
            "--retriever",
            "hidden:make",
            "--option",
            f"api_key={home(f'option of run {name}')}",
        ]
        out = ["--out", name, "--label", name]
        assert run(["search", "run", *asked, *files, *out, *more]) == 2, capsys.readouterr().err
        next(Path(name).glob("eval-report-*.json")).rename(f"{name}.json")
    page = ["--reports-dir", "out", "--privacy", "--renderer", "embedded"]
    stated = 'data = "."\ncorpus = "corpus.jsonl"\nbacklog.source = "queue.jsonl"\n'
    Path("retrieval-eval.toml").write_text(stated)
    Path("why.toml").rename("justification.toml")
    beside = ["--baseline", "a.json", "--gold", "gold.jsonl"]
    assert run(["report", "b.json", *beside, *page]) == 0, capsys.readouterr().err
    run(["report", "a.json", "b.json", *page])
    assert len(home) > 35
    assert _leaks(Path("out"), home) == set()
