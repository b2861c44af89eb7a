"""Real traces rewritten: the same calls in other formats, under other names, truncated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.runs.trial import Job, documents
from retrieval_eval.io.artefacts import encoded
from retrieval_eval.io.layout import TaskIndex, discover, resolve_trials
from retrieval_eval.records import ToolCall, Trace, TrialRef
from retrieval_eval.schema import faults
from tests.trials import trace_or_none

pytestmark = [pytest.mark.corpus, pytest.mark.slow, pytest.mark.extra]

STATUSES = ("not_retrieval", "without_result", "error", "opaque", "resolved")


@pytest.fixture(scope="module")
def streams(real_runs) -> list[tuple[TrialRef, Trace]]:
    """The trials whose transcript holds everything, sub-agents too, with their traces."""
    index = TaskIndex(real_runs / "benchmarks")
    runs = sorted(p for p in (real_runs / "runs/official").iterdir() if p.is_dir())
    found = [trial for run in runs for trial in discover(run, run.name).trials]
    pairs = [(trial, trace_or_none(trial.path)) for trial in resolve_trials(found, index)[0]]
    streams = [(trial, trace) for trial, trace in pairs if trace and "stream-json" in trace.format]
    assert len(streams) > 10
    return streams


def measured(trial: TrialRef, path: Path) -> dict[str, Any]:
    """Return the metric document, once what has to hold of any trial was checked."""
    job = Job(replace(trial, path=path), path, "c/t", (1, 5, 10))
    events, metrics = (json.loads(encoded(record)) for record in documents(job))
    for document, kind in ((events, "retrieval_events"), (metrics, "retrieval_metrics")):
        assert faults(document, kind) == []
    ledger = metrics["ledger"]
    assert ledger["calls_seen"] == sum(ledger[f"calls_{status}"] for status in STATUSES)
    assert metrics["event_summary"]["total_events"] == len(events["events"])
    return metrics


def recalls(metrics: dict[str, Any]) -> tuple[float, float]:
    views = metrics["file_level_metrics"]["views"]
    return views["accessed"]["file_recall"], views["opened"]["file_recall"]


def copy_of(trial: TrialRef, folder: Path) -> Path:
    """Return a writable copy of a trial that holds its result and no trace."""
    (folder / "agent").mkdir(parents=True)
    shutil.copyfile(trial.path / "result.json", folder / "result.json")
    return folder


def as_claude(call: ToolCall) -> tuple[str, dict[str, Any], str]:
    return call.name, dict(call.arguments), call.result.text if call.result else ""


def as_openhands(call: ToolCall) -> tuple[str, dict[str, Any], str]:
    """Return a call as OpenHands writes it: other names, MCP answers as JSON around the text."""
    name, arguments, text = as_claude(call)
    is_error = call.result is not None and call.result.is_error
    if name == "Bash":
        return "execute_bash", {"command": arguments["command"], "security_risk": "LOW"}, text
    if name.startswith("mcp__sourcegraph__"):
        wrapper = {"meta": None, "content": [{"type": "text", "text": text}], "isError": is_error}
        return name.rsplit("__", 1)[1].removeprefix("sg_"), arguments, json.dumps(wrapper)
    if name == "Read":
        path = arguments["file_path"]
        shown = f"Here's the result of running `cat -n` on {path}:\n{text}"
        view = {"command": "view", "path": path}
        return "str_replace_editor", view, f"ERROR:\n{text}" if is_error else shown
    return name, arguments, text


def trajectory(trace: Trace, agent: str, per_step: int, tell: Any) -> dict[str, Any]:
    rewritten = [(call.call_id, *tell(call)) for call in trace.calls]
    groups = [rewritten[i : i + per_step] for i in range(0, len(rewritten), per_step)]
    steps = [
        {
            "step_id": number,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": key, "function_name": name, "arguments": arguments}
                for key, name, arguments, _ in group
            ],
            "observation": {
                "results": [
                    {"source_call_id": key, "content": text} for key, _, _, text in reversed(group)
                ]
            },
        }
        for number, group in enumerate(groups, start=1)
    ]
    agent_block = {"name": agent, "version": "1", "extra": {"cwds": [trace.cwd]}}
    return {"schema_version": "ATIF-v1.6", "agent": agent_block, "steps": steps}


def cursor_steps(trace: Trace) -> dict[str, Any]:
    """Return the trace as Cursor writes it, each call started and completed."""
    steps: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "cwd": trace.cwd}]
    for call in trace.calls:
        name, arguments, text = as_claude(call)
        outcome = "failure" if call.result is not None and call.result.is_error else "success"
        key, result = f"{name[0].lower()}{name[1:]}ToolCall", {"content": text}
        if name == "Bash":
            key, result = "shellToolCall", {"stdout": text}
        elif name.startswith("mcp__"):
            _, server, tool = name.split("__", 2)
            key, result = "mcpToolCall", {"content": [{"text": {"text": text}}]}
            arguments = {"providerIdentifier": server, "toolName": tool, "args": arguments}
        for subtype in ("started", "completed"):
            body = {"args": arguments}
            if subtype == "completed":
                body["result"] = {outcome: result}
            event = {"type": "tool_call", "subtype": subtype, "call_id": call.call_id}
            steps.append({**event, "tool_call": {key: body}})
    steps.append({"type": "result", "subtype": "success"})
    return {"schema_version": "cursor-jsonl-v1", "source_format": "jsonl", "steps": steps}


@pytest.mark.parametrize("kind", ["one call a step", "three calls a step", "openhands", "cursor"])
def test_the_same_calls_in_another_format_find_the_same_files(streams, tmp_path, kind):
    for number, (trial, trace) in enumerate(streams):
        if kind == "cursor":
            document = cursor_steps(trace)
        elif kind == "openhands":
            document = trajectory(trace, "openhands", 1, as_openhands)
        else:
            per_step = 1 if kind.startswith("one") else 3
            document = trajectory(trace, "claude-code", per_step, as_claude)
        path = copy_of(trial, tmp_path / str(number))
        (path / "agent/trajectory.json").write_text(json.dumps(document))
        before, after = measured(trial, trial.path), measured(trial, path)
        assert after["ledger"]["calls_seen"] == before["ledger"]["calls_seen"]
        assert recalls(after) == recalls(before), trial.trial_name


def test_a_session_file_in_place_of_the_stream_is_read_whatever_its_name(streams, tmp_path):
    places = ("agent/claude-code.txt", "agent/transcript.jsonl", "agent/sessions/a/b.jsonl")
    n_whole = 0
    for number, (trial, _) in enumerate(streams):
        for session in sorted((trial.path / "agent").rglob("sessions/**/*.jsonl")):
            found = []
            for place in places:
                path = copy_of(trial, tmp_path / str(number) / place.replace("/", "_"))
                (path / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(session, path / place)
                found.append(measured(trial, path))
            assert len({json.dumps(metrics["file_level_metrics"]) for metrics in found}) == 1
            flags = found[0]["coverage"]["quality_flags"]
            before = measured(trial, trial.path)
            if "subagent_calls_missing" in flags:
                low, high = found[0]["file_level_metrics"]["file_recall_bounds"]
                assert low <= recalls(before)[0] <= high
                assert found[0]["coverage"]["degraded_reason"]
            else:
                assert recalls(found[0]) == recalls(before)
                n_whole += 1
    assert n_whole > 5


@pytest.mark.parametrize("share", [0.02, 0.4, 0.97])
def test_a_transcript_that_breaks_off_is_degraded_and_counted(streams, tmp_path, share):
    for number, (trial, trace) in enumerate(streams):
        data = (trial.path / "agent/claude-code.txt").read_bytes()
        path = copy_of(trial, tmp_path / str(number))
        (path / "agent/claude-code.txt").write_bytes(data[: int(len(data) * share)])
        metrics = measured(trial, path)
        assert metrics["coverage"]["degraded_reason"]
        assert metrics["ledger"]["calls_seen"] <= len(trace.calls)
        if not metrics["ledger"]["calls_seen"]:
            assert metrics["file_level_metrics"]["reason"] == "agent_never_acted"
