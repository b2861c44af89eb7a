"""The transcript keeps the promises of the format, checked on the raw lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulators import DemoPlan, TrialPlan

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def transcripts(demo_tree: Path, demo_plan: DemoPlan) -> list[tuple[TrialPlan, Lines]]:
    found = []
    for trial in demo_plan.trials:
        path = demo_tree / "runs" / trial.path / "agent" / "claude-code.txt"
        if path.exists():
            text = path.read_text(encoding="utf-8")
            found.append((trial, [json.loads(line) for line in text.splitlines()]))
    assert len(found) > 25
    return found


def blocks(lines: Lines, kind: str, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (line, block)
        for line in lines
        if line["type"] == kind
        for block in line["message"]["content"]
        if block["type"] == name
    ]


def test_every_call_has_one_result_after_it(transcripts) -> None:
    for trial, lines in transcripts:
        calls = [block["id"] for _, block in blocks(lines, "assistant", "tool_use")]
        results = [block["tool_use_id"] for _, block in blocks(lines, "user", "tool_result")]
        assert len(calls) == len(set(calls)) == trial.n_calls
        assert sorted(results) == sorted(calls)
        order = {x: n for n, line in enumerate(lines) for x in _ids(line)}
        assert all(order[call] < order[f"result {call}"] for call in calls)


def _ids(line: dict[str, Any]) -> list[str]:
    content = line.get("message", {}).get("content", [])
    return [b["id"] for b in content if b["type"] == "tool_use"] + [
        f"result {b['tool_use_id']}" for b in content if b["type"] == "tool_result"
    ]


def test_time_never_runs_backwards(transcripts) -> None:
    for _, lines in transcripts:
        stamps = [line["timestamp"] for line in lines if "timestamp" in line]
        assert stamps == sorted(stamps)


def test_usage_counted_once_a_message_is_that_of_the_result_line(transcripts) -> None:
    for trial, lines in transcripts:
        messages = {m["message"]["id"]: m for m in lines if m["type"] == "assistant"}
        result = lines[-1]
        assert result["type"] == "result"
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            main = [m for m in messages.values() if m["parent_tool_use_id"] is None]
            assert sum(m["message"]["usage"][key] for m in main) == result["usage"][key]
        by_model = result["modelUsage"][trial.model]
        names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        assert sum(by_model[name] for name in names) == trial.result.input_tokens
        assert by_model["outputTokens"] == trial.result.output_tokens
        assert result["total_cost_usd"] == trial.result.cost_usd


def test_a_message_on_several_lines_repeats_its_usage(transcripts) -> None:
    repeated = 0
    for _, lines in transcripts:
        usages: dict[str, list[Any]] = {}
        for line in lines:
            if line["type"] == "assistant":
                usages.setdefault(line["message"]["id"], []).append(line["message"]["usage"])
        assert all(all(u == group[0] for u in group) for group in usages.values())
        repeated += sum(len(group) > 1 for group in usages.values())
    assert repeated > 50


def test_sub_agent_lines_name_the_call_that_started_them(transcripts) -> None:
    delegating = [
        (trial, lines)
        for trial, lines in transcripts
        if any(line.get("parent_tool_use_id") for line in lines)
    ]
    ((trial, lines),) = delegating
    agent = [b for _, b in blocks(lines, "assistant", "tool_use") if b["name"] == "Agent"]
    parents = {line["parent_tool_use_id"] for line in lines if line.get("parent_tool_use_id")}
    assert parents == {agent[0]["id"]}
    inner = [line for line, _ in blocks(lines, "assistant", "tool_use")]
    assert sum(line["parent_tool_use_id"] is not None for line in inner) >= 2
    assert sum(a.is_subagent for a in trial.actions) >= 2
    assert not [x for x in lines if x.get("parent_tool_use_id") and "tool_use_result" in x]


def test_both_generations_of_search_results_occur(transcripts) -> None:
    texts = [
        block["content"]
        for _, lines in transcripts
        for _, block in blocks(lines, "user", "tool_result")
        if isinstance(block["content"], str)
    ]
    assert any(text.startswith('{"blocks":[{"chunks"') for text in texts)
    assert any(text.startswith('{"text":"# github.com/') and " – " in text for text in texts)
