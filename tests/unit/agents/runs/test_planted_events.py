"""Traces read by this package hold exactly the events that were planted, in every trial."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.traces import NoTraceError, read_trace
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.records import Event, GroundTruth, Trace
from tests.simulators import DemoPlan, Fault, TaskPlan, TrialPlan, simulate_run
from tests.simulators.tree import SEED

# Another seed, and the faults that change what agents call and are answered.
OTHERS = (
    (7, None),
    *(
        (SEED, fault)
        for fault in (
            Fault.DEAD_MCP_SERVER,
            Fault.CONTAMINATED_BASELINE,
            Fault.OTHER_HARNESS_VERSION,
            Fault.OPAQUE_SHELL,
        )
    ),
)


@pytest.fixture(scope="module", params=[None, *OTHERS], ids=str)
def demo(request, demo_tree: Path, demo_plan: DemoPlan, tmp_path_factory) -> tuple[Path, DemoPlan]:
    if request.param is None:
        return demo_tree, demo_plan
    seed, fault = request.param
    root = tmp_path_factory.mktemp("planted")
    return root, simulate_run(root, seed=seed, fault=fault)


def test_the_simulators_know_nothing_of_the_code_they_are_a_test_of(project: Path) -> None:
    for path in (project / "tests" / "simulators").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) retrieval_eval\b", text, re.MULTILINE), path


def truth_of(root: Path, task: TaskPlan) -> GroundTruth:
    return load_ground_truth(root / "benchmarks" / task.benchmark / task.task_name)


def test_ground_truth_is_read_as_planted(demo: tuple[Path, DemoPlan]) -> None:
    root, plan = demo
    for task in plan.tasks:
        truth = truth_of(root, task)
        is_multi = any("::" in file for file in task.files)
        found = [str(file) if is_multi else file.path for file in truth.files]
        assert found == list(task.files), task.task_name
        assert truth.source == (f"tests/{task.source}" if task.source else None)
        assert (truth.expected_edit_files is None) == (task.expected_edit_files is None)
        ranges = [(c.file.path, c.line_start, c.line_end) for c in truth.chunks]
        assert ranges == list(task.chunks)
        assert not truth.problems


def test_traces_are_read_as_planted(demo: tuple[Path, DemoPlan]) -> None:
    root, plan = demo
    for trial in plan.trials:
        if trial.fate == "degraded":
            with pytest.raises(NoTraceError):
                read_trace(root / "runs" / trial.path)
            continue
        trace = read_trace(root / "runs" / trial.path)
        assert isinstance(trace, Trace), trial.path
        assert trace.problems == (), trial.path
        assert (trace.source, len(trace.calls)) == (trial.source, trial.n_calls), trial.path
        assert (trace.model, trace.harness_version) == (trial.model, trial.harness_version)
        total = (trial.result.input_tokens or 0) + (trial.result.output_tokens or 0)
        assert trace.declared_tokens == total, trial.path


def test_events_are_the_planted_actions(demo: tuple[Path, DemoPlan]) -> None:
    root, plan = demo
    tasks = {task.task_name: task for task in plan.tasks}
    for trial in plan.trials:
        if trial.fate == "degraded":
            continue
        trace = read_trace(root / "runs" / trial.path)
        task = tasks[trial.task_name]
        start = agent_start(root, trial)
        events = extract_events(trace, truth_of(root, task), agent_started_at=start).events
        is_multi = any("::" in file for file in task.files)
        assert [seen(event, is_multi) for event in events] == planted(trial), trial.path


def agent_start(root: Path, trial: TrialPlan) -> float:
    path = root / "runs" / trial.path / "result.json"
    text = json.loads(path.read_text(encoding="utf-8"))["agent_execution"]["started_at"]
    return datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=UTC).timestamp()


def seen(event: Event, is_multi: bool) -> tuple[object, ...]:
    touches = [
        (
            str(t.file) if is_multi else t.file.path,
            t.access,
            None if t.is_whole else t.lines,
            t.is_whole,
        )
        for t in event.targets
    ]
    return (
        event.step_index, event.tool_name, event.tool_category, event.via, touches,
        event.elapsed_seconds, event.cumulative_tokens, event.is_mcp, event.is_subagent,
        event.is_error, event.is_opaque,
    )  # fmt: skip


def local(file: str) -> str:
    return file.removeprefix("/workspace/")


def planted(trial: TrialPlan) -> list[tuple[object, ...]]:
    return [
        (
            a.step, a.tool, a.category, a.via,
            [(local(t.file), t.access, t.lines, t.is_whole) for t in a.touches],
            pytest.approx(a.second, abs=1e-5), a.cumulative_tokens, a.is_mcp, a.is_subagent,
            a.is_error, a.is_opaque,
        )
        for a in trial.actions
    ]  # fmt: skip
