"""Tiny trials written call by call, evaluated through the whole pipeline.

A call is ``(tool, arguments, result)``; its result is a text, a list of content blocks, or
``error(text)`` for one the harness marked as failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.agents.runs.evaluate import evaluate
from tests.runs import write_task, write_trial

BASELINE, MCP = "baseline", "mcp"


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Mapping[str, Any]
    result: Any
    is_error: bool = False
    parent: str | None = None
    call_id: str | None = None


def call(tool: str, result: Any = "ok", /, **arguments: Any) -> Call:
    return Call(tool, arguments, result)


def failed(tool: str, result: str, /, **arguments: Any) -> Call:
    return Call(tool, arguments, result, is_error=True)


def read(path: str, content: str = "     1\tx") -> Call:
    return call("Read", content, file_path=path)


def shell(command: str, output: str = "") -> Call:
    return call("Bash", output, command=command)


def stream_lines(calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Return the stream-json lines of an agent that made ``calls``."""
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "cwd": "/workspace", "session_id": "s", "tools": []}
    ]
    for number, made in enumerate(calls):
        key = made.call_id or f"toolu_{number}"
        stamp = f"2026-01-05T10:{number // 60:02d}:{number % 60:02d}Z"
        use = {"type": "tool_use", "id": key, "name": made.tool, "input": dict(made.arguments)}
        usage = {"input_tokens": 100, "output_tokens": 10}
        body = {"id": f"msg_{number}", "role": "assistant", "content": [use], "usage": usage}
        around = {"parent_tool_use_id": made.parent, "session_id": "s", "timestamp": stamp}
        lines.append({"type": "assistant", "message": body, **around})
        if made.result is not None:
            block = {"type": "tool_result", "tool_use_id": key, "content": made.result}
            block |= {"is_error": True} if made.is_error else {}
            lines.append({"type": "user", "message": {"content": [block]}, **around})
    lines.append({"type": "result", "subtype": "success", "usage": {"input_tokens": 100}})
    return lines


def text_blocks(*texts: str) -> list[dict[str, str]]:
    """Return what an MCP server answers with: one content block a text."""
    return [{"type": "text", "text": text} for text in texts]


def atif(
    calls: Iterable[Call], version: str = "ATIF-v1.2", agent: str = "claude-code", per_step: int = 1
) -> dict[str, Any]:
    """Return the trajectory of an agent that made ``calls``, so many a step."""
    made = [(c.call_id or f"toolu_{n}", c) for n, c in enumerate(calls)]
    steps = []
    for start in range(0, len(made), per_step):
        group = made[start : start + per_step]
        steps.append(
            {
                "step_id": len(steps) + 1,
                "source": "agent",
                "timestamp": f"2026-01-05T10:{start // 60:02d}:{start % 60:02d}Z",
                "message": "",
                "tool_calls": [
                    {"tool_call_id": key, "function_name": c.tool, "arguments": dict(c.arguments)}
                    for key, c in group
                ],
                # Results are joined by id, so any order has to do.
                "observation": {
                    "results": [
                        {"source_call_id": key, "content": c.result} for key, c in reversed(group)
                    ]
                },
            }
        )
    return {
        "schema_version": version,
        "session_id": "s",
        "agent": {"name": agent, "version": "1.0"},
        "steps": steps,
    }


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@dataclass(frozen=True)
class Seen:
    """The two documents of a trial."""

    events: dict[str, Any]
    metrics: dict[str, Any]

    @property
    def files(self) -> dict[str, Any]:
        return self.metrics["file_level_metrics"]

    @property
    def recall(self) -> float | None:
        return self.files["file_recall"]

    @property
    def ledger(self) -> dict[str, Any]:
        return self.metrics["ledger"]

    @property
    def flags(self) -> list[str]:
        return self.metrics["coverage"]["quality_flags"]

    @property
    def degraded(self) -> str | None:
        return self.metrics["coverage"]["degraded_reason"]

    @property
    def labels(self) -> dict[str, int]:
        return self.metrics["error_taxonomy"]["labels"]

    def targets(self, access: str | None = None) -> list[str]:
        """Return the files of all events in order, of one kind of access or of all."""
        return [
            target["file"]
            for event in self.events["events"]
            for target in event["targets"]
            if access in (None, target["access"])
        ]


class Bench:
    """A run tree and a benchmark in one temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "runs" / "run-1"
        self.benchmarks = root / "benchmarks"

    def task(self, files: Sequence[str], name: str = "task-one", toml: str = "") -> Path:
        folder = write_task(self.benchmarks, name, list(files))
        if toml:
            (folder / "task.toml").write_text(toml)
        return folder

    def trial(
        self, calls: Iterable[Call] | None, name: str = "task-one", config: str = BASELINE, **more
    ) -> Path:
        folder = write_trial(self.run, config, name, None, **more)
        if calls is not None:
            write_lines(folder / "agent" / "claude-code.txt", stream_lines(calls))
        return folder

    def evaluate(self, *runs: str, **options: Any):
        return evaluate(
            list(runs) or ["run-1"],
            runs_root=self.root / "runs",
            output_dir=self.root / "out",
            **options,
        )

    def seen(self, stem: str = f"{BASELINE}/task-one", run: str = "run-1") -> Seen:
        """Return the documents of a trial as they lie on disk."""
        folder = self.root / "out" / run / "retrieval_events"
        kinds = ("retrieval_events", "retrieval_metrics")
        return Seen(*(json.loads((folder / f"{stem}.{kind}.json").read_text()) for kind in kinds))

    def look(self, calls: Iterable[Call], *files: str, toml: str = "") -> Seen:
        """Evaluate one trial of one task with these ground-truth files."""
        self.task(files or ("src/a.py",), toml=toml)
        self.trial(calls)
        self.evaluate()
        return self.seen()

    def look_at(self, trace: Any, *files: str) -> Seen:
        """Evaluate one trial with this trajectory, or with these lines of a transcript."""
        self.task(files or ("src/a.py",))
        folder = self.trial(None) / "agent"
        folder.mkdir(exist_ok=True)
        if isinstance(trace, list):
            write_lines(folder / "claude-code.txt", trace)
        else:
            (folder / "trajectory.json").write_text(json.dumps(trace))
        self.evaluate()
        return self.seen()
