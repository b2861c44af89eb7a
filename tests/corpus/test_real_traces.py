"""The trace readers over real runs, compared with independent counts."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats.claude_code import read_claude_stream
from retrieval_eval.agents.traces.tokens import largest
from retrieval_eval.io.files import iter_jsonl


@pytest.fixture(scope="module")
def trials(real_runs):
    # A trial with an agent's folder and no trace would be an error here.
    agents = (real_runs / "runs").rglob("agent")
    found = {agent.parent: read_trace(agent.parent) for agent in sorted(agents) if agent.is_dir()}
    assert found
    return found


def objects(path):
    """The JSON objects of a file of lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [entry for line in lines if isinstance(entry := json.loads(line), dict)]


def tool_uses(path):
    return {
        block["id"]
        for entry in objects(path)
        if entry["type"] == "assistant"
        for block in entry["message"]["content"]
        if block["type"] == "tool_use"
    }


def expected_calls(trial):
    """Call ids of a trial, counted without the readers: how often each occurs."""
    agent = trial / "agent"
    if (agent / "trajectory.json").is_file():
        document = json.loads((agent / "trajectory.json").read_text(encoding="utf-8"))
        counts = Counter()
        cursor_ids = set()
        for step in document["steps"]:
            cursor_ids |= {step["call_id"]} if "call_id" in step else set()
            calls = step.get("tool_calls") or []
            if isinstance(calls, dict):
                counts[calls["preview"].split('"tool_call_id": "', 1)[1].split('"', 1)[0]] += 1
            else:
                counts.update(call["tool_call_id"] for call in calls)
        return counts or Counter(cursor_ids)
    return Counter(tool_uses(agent / "claude-code.txt"))


def test_every_call_is_read_once(trials):
    for trial, trace in trials.items():
        assert Counter(call.call_id for call in trace.calls) == expected_calls(trial), trial.name


def test_sub_agent_calls_of_streams_are_kept(trials):
    for trial, trace in trials.items():
        stream = trial / "agent/claude-code.txt"
        if not stream.is_file():
            continue
        expected = {
            block["id"]
            for entry in objects(stream)
            if entry["type"] == "assistant" and entry.get("parent_tool_use_id")
            for block in entry["message"]["content"]
            if block["type"] == "tool_use"
        }
        assert {c.call_id for c in trace.calls if c.is_subagent} == expected, trial.name


def test_cumulative_tokens_never_fall(trials):
    for trial, trace in trials.items():
        counts = [c.cumulative_tokens for c in trace.calls if c.cumulative_tokens is not None]
        assert counts == sorted(counts), trial.name
        if counts and trace.counted_tokens is not None:
            assert counts[-1] <= trace.counted_tokens, trial.name


def test_prompt_tokens_of_the_main_thread_are_those_of_the_result_line(trials):
    """Counting each message once gives exactly what the run declares."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    n_checked, differing = 0, []
    for trial in trials:
        stream = trial / "agent/claude-code.txt"
        if not stream.is_file():
            continue
        results = [entry for entry in objects(stream) if entry["type"] == "result"]
        if not results:
            continue
        reading = read_claude_stream(iter_jsonl(stream, trial), stream.name)
        usages = largest(reading.items).values()
        counted = sum(usage.prompt for usage in usages if not usage.is_subagent)
        declared = sum(results[-1]["usage"][name] for name in names)
        n_checked += 1
        if counted != declared:
            models = results[-1]["modelUsage"].values()
            keys = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
            differing.append(
                (declared, counted, sum(model[key] for model in models for key in keys))
            )
    assert n_checked >= 1
    # A few result lines leave messages out of `usage` that their `modelUsage` has.
    assert len(differing) <= n_checked / 5
    assert all(usage < counted <= of_models for usage, counted, of_models in differing)


def test_whole_claude_trajectories_count_what_the_harness_recorded(trials):
    """Steps of one message are counted once, cache writes included."""
    n_checked = 0
    for trial, trace in trials.items():
        metrics = trial / "task_metrics.json"
        is_claude = trace.format.startswith("atif") and trace.harness == "claude-code"
        if not is_claude or "trimmed" in trace.flags or not metrics.is_file():
            continue
        recorded = json.loads(metrics.read_text(encoding="utf-8"))
        names = ("input_tokens", "cache_creation_tokens", "cache_read_tokens")
        prompt = sum(recorded.get(name) or 0 for name in names)
        if not prompt:
            continue
        document = json.loads((trial / "agent/trajectory.json").read_text(encoding="utf-8"))
        outputs = sum(
            step["metrics"]["completion_tokens"] for step in document["steps"] if "metrics" in step
        )
        n_checked += 1
        assert prompt < trace.counted_tokens <= prompt + outputs, trial.name
    assert n_checked >= 1


def test_no_decoration_of_a_trace_format_is_left_in_a_result(trials):
    for trial, trace in trials.items():
        for call in trace.calls:
            text = call.result.text if call.result else ""
            assert not text.endswith("[error] tool reported failure"), (trial.name, call.where)
            assert "\n[metadata] {" not in text, (trial.name, call.where)
            assert not text.startswith('{"meta": null, "content"'), (trial.name, call.where)


def test_every_call_with_a_time_is_after_the_start(trials):
    for trial, trace in trials.items():
        times = [call.timestamp for call in trace.calls if call.timestamp is not None]
        assert len(times) == len(trace.calls), trial.name
        if times:
            assert trace.started_at is not None
            assert trace.started_at <= min(times), trial.name
            assert max(times) <= trace.finished_at, trial.name


def test_a_trajectory_without_sub_agents_is_completed_from_its_stream(trials, tmp_path):
    """What the converter to ATIF loses (sub-agents, here also every second result) comes back."""
    n_checked = 0
    for number, trial in enumerate(trials):
        stream = trial / "agent/claude-code.txt"
        if not stream.is_file():
            continue
        agent = tmp_path / str(number) / "agent"
        agent.mkdir(parents=True)
        (agent / "claude-code.txt").write_bytes(stream.read_bytes())
        whole = read_trace(agent.parent)
        if not whole.format.startswith("claude-code-stream") or not whole.calls:
            continue
        steps = [
            {
                "source": "agent",
                "tool_calls": [
                    {"tool_call_id": c.call_id, "function_name": c.name, "arguments": c.arguments}
                ],
                "observation": {
                    "results": [{"source_call_id": c.call_id, "content": c.result.text}]
                    if place % 2 and c.result
                    else []
                },
            }
            for place, c in enumerate(whole.calls)
            if not c.is_subagent
        ]
        document = {"schema_version": "ATIF-v1.2", "agent": {"name": "other"}, "steps": steps}
        (agent / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
        merged = read_trace(agent.parent)
        seen = [
            [(c.call_id, c.name, c.is_subagent, c.timestamp, c.cumulative_tokens, c.result)
             for c in trace.calls]
            for trace in (merged, whole)
        ]  # fmt: skip
        assert seen[0] == seen[1], trial.name
        assert merged.source == "merged"
        assert "source_conflict" not in merged.flags
        n_checked += 1
    assert n_checked >= 1
