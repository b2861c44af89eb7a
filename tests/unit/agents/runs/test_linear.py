"""Work grows with the number of calls and not with its square, counted and not timed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from retrieval_eval.agents.runs.trial import Job, documents
from retrieval_eval.records import TrialRef
from tests.scenes import Call, atif, call, read, shell, stream_lines, write_lines

SMALL, LARGE = 120, 960
SAVED = "/logs/tool-results/{}.txt"
NOTICE = "<persisted-output>\nOutput too large (7KB). Full output saved to: {}\n\nPreview (2KB):\n"


def calls(n: int) -> list[Call]:
    """Return calls of every kind, each about another file."""
    made = []
    for i in range(n // 6):
        block = {"file": f"lib/{i}.py", "repo": "github.com/o/r"}
        made += [
            read(f"/workspace/src/{i}.py"),
            shell(f"cd /workspace/d{i} && cat f{i}.py | grep -n x{i}", f"{i}:x"),
            call("Grep", f"src/{i}.py:3:x\nsrc/b.py:9:y", pattern="x", output_mode="content"),
            call("mcp__sourcegraph__keyword_search", json.dumps({"blocks": [block]}), query="x"),
            call("Grep", NOTICE.format(SAVED.format(i)) + f"src/z{i}.py\n", pattern="x"),
            shell(f"cat {SAVED.format(i)}", f"src/z{i}.py"),
        ]
    return made


def work(job: Job) -> int:
    """Return how many functions evaluating a trial calls."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        events, _ = documents(job)
    finally:
        sys.setprofile(None)
    assert events.ledger.calls_seen in (SMALL, LARGE)
    return count


def trial(folder: Path, n: int, kind: str) -> Job:
    path, task = folder / f"{kind}-{n}", folder / "task"
    (task / "tests").mkdir(parents=True, exist_ok=True)
    truth = {"files": [f"src/{i}.py" for i in range(40)]}
    (task / "tests/ground_truth.json").write_text(json.dumps(truth))
    (path / "agent").mkdir(parents=True)
    lines = stream_lines(calls(n))
    if kind != "trajectory":
        write_lines(path / "agent/claude-code.txt", lines)
    if kind == "stream and session":
        main = [{**line, "sessionId": "s"} for line in lines if "message" in line]
        write_lines(path / "agent/sessions/s.jsonl", main)
    if kind in ("trajectory", "stream and trajectory"):
        (path / "agent/trajectory.json").write_text(json.dumps(atif(calls(n), per_step=7)))
    return Job(TrialRef("r", "c", None, "t", path, "t", "s", task, "t"), folder, "c/t", (1, 5))


@pytest.mark.parametrize(
    "kind", ["stream", "stream and session", "trajectory", "stream and trajectory"]
)
def test_eight_times_the_calls_are_eight_times_the_work(tmp_path, kind):
    documents(trial(tmp_path / "warm", SMALL, kind))
    small, large = (work(trial(tmp_path, n, kind)) for n in (SMALL, LARGE))
    assert large / small < 1.15 * LARGE / SMALL
