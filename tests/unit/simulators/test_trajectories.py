"""Both kinds of trajectory, checked on the raw documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulators import DemoPlan, TrialPlan

Documents = list[tuple[TrialPlan, dict[str, Any]]]


@pytest.fixture(scope="module")
def documents(demo_tree: Path, demo_plan: DemoPlan) -> Documents:
    found = []
    for trial in demo_plan.trials:
        path = demo_tree / "runs" / trial.path / "agent" / "trajectory.json"
        if path.exists():
            found.append((trial, json.loads(path.read_text(encoding="utf-8"))))
    return found


def calls(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in document["steps"] if step.get("tool_calls")]


def test_versions_and_sources(documents: Documents) -> None:
    kinds = {(d["schema_version"], d["agent"]["name"], t.source) for t, d in documents}
    assert kinds == {
        ("ATIF-v1.2", "claude-code", "trajectory"),
        ("ATIF-v1.2", "claude-code", "merged"),
        ("ATIF-v1.5", "openhands", "trajectory"),
    }


def test_one_call_and_its_own_result_a_step(documents: Documents) -> None:
    for trial, document in documents:
        steps = calls(document)
        n_sub = sum(a.is_subagent for a in trial.actions)
        assert len(steps) == trial.n_calls or (n_sub and len(steps) < trial.n_calls)
        for step in steps:
            (call,) = step["tool_calls"]
            for result in step.get("observation", {"results": []})["results"]:
                assert result["source_call_id"] == call["tool_call_id"]
        assert [step["step_id"] for step in document["steps"]] == list(
            range(1, len(document["steps"]) + 1)
        )


def test_only_a_merged_trial_lacks_dates_and_its_transcript_has_them(
    documents: Documents, demo_tree: Path
) -> None:
    for trial, document in documents:
        undated = [step for step in document["steps"] if "timestamp" not in step]
        assert bool(undated) == (trial.source == "merged")
        transcript = demo_tree / "runs" / trial.path / "agent" / "claude-code.txt"
        assert transcript.exists() == (trial.source == "merged")


def test_sub_agent_calls_are_not_in_the_trajectory(documents: Documents) -> None:
    ((trial, document),) = [(t, d) for t, d in documents if any(a.is_subagent for a in t.actions)]
    names = [step["tool_calls"][0]["function_name"] for step in calls(document)]
    outer = [a.tool for a in trial.actions if not a.is_subagent and a.via is None]
    assert [name for name in names if name != "TodoWrite"] == outer


def test_openhands_counts_and_costs(documents: Documents) -> None:
    for trial, document in documents:
        if trial.harness != "openhands":
            continue
        metrics = [s.get("metrics", {}) for s in document["steps"]]
        final = document["final_metrics"]
        assert sum(m.get("prompt_tokens", 0) for m in metrics) == final["total_prompt_tokens"]
        assert final["total_prompt_tokens"] == trial.result.input_tokens
        assert sum(m.get("cost_usd", 0) for m in metrics) == pytest.approx(
            final["total_cost_usd"], abs=1e-6
        )


def test_one_openhands_call_has_the_arguments_of_another(documents: Documents) -> None:
    wrong = [
        (trial, step)
        for trial, document in documents
        for step in calls(document)
        if step["message"].startswith("Running command: ")
        and step["message"].removeprefix("Running command: ")
        != step["tool_calls"][0]["arguments"]["command"]
    ]
    assert [(t.task_name, t.config) for t, _ in wrong] == [
        ("lanternpost-queue-order-trace-001", "baseline-local-direct")
    ]
