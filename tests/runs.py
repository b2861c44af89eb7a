"""Tiny run trees on disk: one Claude Code transcript of reads a trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STARTED = "2026-01-05T10:00:00Z"


def write_transcript(folder: Path, reads: list[str]) -> None:
    """Write a transcript that reads these files, those that begin with ``mcp:`` from a server."""
    lines: list[dict[str, Any]] = [
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/workspace",
            "session_id": "s",
            "model": "m-1",
        }
    ]
    for number, path in enumerate(reads):
        block = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Read",
            "input": {"file_path": f"/workspace/{path}"},
        }
        if path.startswith("mcp:"):
            own = {"path": path.removeprefix("mcp:")}
            block |= {"name": "mcp__code__read_file", "input": own}
        usage = {"input_tokens": 100, "output_tokens": 10}
        message = {"id": f"msg_{number}", "role": "assistant", "content": [block], "usage": usage}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "     1\tx"}
        stamp = f"2026-01-05T10:00:{number + 5:02d}Z"
        lines.append({"type": "assistant", "message": message, "timestamp": stamp})
        lines.append(
            {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "timestamp": stamp,
            }
        )
    lines.append(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "total_cost_usd": 0.5,
            "usage": {"input_tokens": 100 * len(reads), "output_tokens": 10 * len(reads)},
        }
    )
    target = folder / "agent" / "claude-code.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_trial(
    run: Path,
    config: str,
    task: str,
    reads: list[str] | None,
    *,
    suffix: str = "aaaaaaa",
    batch: str = "2026-01-05__10-00-00",
    reward: Any = 1.0,
    model: str = "m-1",
    version: str = "2.0.0",
) -> Path:
    folder = run / config / batch / f"{task}__{suffix}"
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "task_name": task,
        "trial_name": folder.name,
        "started_at": STARTED,
        "finished_at": "2026-01-05T10:01:00Z",
        "agent_info": {"name": "claude-code", "version": version, "model_info": {"name": model}},
        "agent_execution": {"started_at": STARTED, "finished_at": "2026-01-05T10:00:50Z"},
        "agent_result": {"n_input_tokens": 200, "n_output_tokens": 20, "cost_usd": 0.5},
        "verifier_result": {"rewards": {"reward": reward}},
    }
    (folder / "result.json").write_text(json.dumps(result))
    if reads is not None:
        write_transcript(folder, reads)
    return folder


def write_task(benchmarks: Path, task: str, files: list[str], suite: str = "suite_a") -> Path:
    folder = benchmarks / suite / task
    (folder / "tests").mkdir(parents=True, exist_ok=True)
    (folder / "tests" / "ground_truth.json").write_text(json.dumps({"files": files}))
    return folder
