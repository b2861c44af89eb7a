"""Comparisons over real files: what broken outcomes and traces take away, and what they leave."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.runs.comparison import compare_sides
from retrieval_eval.model import to_builtins
from tests.runs import write_task, write_trial

N_TASKS = 9
BROKEN = "task-03"


@pytest.fixture
def study(tmp_path):
    """Nine tasks under two arms; the second finds both files, the first one of them."""
    for number in range(N_TASKS):
        task = f"task-{number:02d}"
        write_task(tmp_path / "benchmarks", task, ["src/a.py", "src/b.py"])
        for config, reads in (("baseline", ["src/a.py"]), ("local-v2", ["src/a.py", "src/b.py"])):
            write_trial(tmp_path / "runs" / "r", config, task, reads, reward=0.5)
    return tmp_path


def broken_trial(study):
    return study / f"runs/r/local-v2/2026-01-05__10-00-00/{BROKEN}__aaaaaaa"


def compared(study):
    found = compare_sides(
        ["r:baseline", "r:local-v2"],
        runs_root=study / "runs",
        benchmarks_root=study / "benchmarks",
        output_dir=study / "out",
        seed=1,
    )
    (comparison,) = found.impact.comparisons
    return json.loads(json.dumps(to_builtins(comparison)))


def metrics_of(study, task=BROKEN):
    path = study / f"out/r/retrieval_events/local-v2/{task}.retrieval_metrics.json"
    return json.loads(path.read_text())


def summary_of(study):
    path = study / "out/r/retrieval_events/run_retrieval_summary.json"
    return json.loads(path.read_text())["configs"]["local-v2"]["metrics"]["reward"]


def rule(comparison, name):
    return next(r for r in comparison["gate"]["rules"] if r["name"] == name)


def set_result(study, **members):
    path = broken_trial(study) / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def set_metrics(study, text):
    (broken_trial(study) / "task_metrics.json").write_text(text)


def check_only_the_reward_is_lost(study, reason):
    found = compared(study)
    assert (found["gate"]["failed"], found["n_pairs"]) == ([], N_TASKS)
    assert found["metrics"]["file_recall"]["n_pairs"] == N_TASKS
    assert found["metrics"]["reward"]["n_pairs"] == N_TASKS - 1
    assert rule(found, "degraded_trace")["count"] == 0
    lost = rule(found, "missing_verifier_result")
    assert [t["task_name"] for t in lost["trials"]] == [BROKEN]
    assert (summary_of(study)["mean"], summary_of(study)["n"]) == (0.5, N_TASKS - 1)
    assert summary_of(study)["reasons"] == {reason: 1}


@pytest.mark.parametrize("reward", ["0.5", [0.5]])
def test_a_reward_that_is_no_number_takes_only_the_reward_away(study, reward):
    set_result(study, verifier_result={"rewards": {"reward": reward}})
    check_only_the_reward_is_lost(study, "not_a_number")
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["outcome"]


@pytest.mark.parametrize("reward", [37, -0.5])
def test_a_reward_off_the_scale_of_its_suite_takes_only_the_reward_away(study, reward):
    set_result(study, verifier_result={"rewards": {"reward": reward}})
    check_only_the_reward_is_lost(study, "reward_off_scale")
    # Alone the trial is not at fault: it is recorded as it was given.
    assert metrics_of(study)["outcome"]["reward"] == reward
    assert metrics_of(study)["coverage"]["degraded_reason"] is None


def test_broken_task_metrics_beside_a_good_result_take_nothing_away(study):
    set_metrics(study, '{"reward": ')
    found = compared(study)
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["outcome"]
    assert found["gate"]["failed"] == []
    assert rule(found, "degraded_trace")["count"] == 0
    for metric in ("file_recall", "reward"):
        assert found["metrics"][metric]["n_pairs"] == N_TASKS


def test_a_broken_result_leaves_a_trial_whose_model_nobody_can_vouch_for(study):
    (broken_trial(study) / "result.json").write_text('{"task_name": ')
    found = compared(study)
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["outcome"]
    assert rule(found, "degraded_trace")["count"] == 0
    assert found["n_pairs"] == N_TASKS - 1
    assert found["excluded"] == [
        {"benchmark": "suite_a", "task_name": BROKEN, "reason": "harness_version_differs"}
    ]


def test_a_cut_trace_and_a_missing_one_leave_the_comparison(study):
    trace = broken_trial(study) / "agent/claude-code.txt"
    trace.write_text(trace.read_text().rstrip()[:-9])
    found = compared(study)
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["trace"]
    assert rule(found, "degraded_trace")["n_removed"] == 1
    assert found["n_pairs"] == N_TASKS - 1
    trace.unlink()
    set_metrics(study, "[")
    found = compared(study)
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["trace", "outcome"]
    assert rule(found, "degraded_trace")["n_removed"] == 1


def test_unreadable_ground_truth_is_no_fault_of_the_trace(study):
    truth = study / f"benchmarks/suite_a/{BROKEN}/tests/ground_truth.json"
    truth.write_text("{")
    found = compared(study)
    assert metrics_of(study)["coverage"]["degraded_sources"] == ["ground_truth"]
    assert rule(found, "degraded_trace")["count"] == 0
    lost = rule(found, "no_ground_truth")
    assert (lost["count"], lost["n_removed"], lost["failed"]) == (2, 0, False)
    assert found["n_pairs"] == N_TASKS
    assert found["metrics"]["file_recall"]["n_pairs"] == N_TASKS - 1
    assert found["metrics"]["reward"]["n_pairs"] == N_TASKS
    for arm in ("baseline", "comparison"):
        assert found["ledger"][arm] == {
            "trials": N_TASKS,
            "removed": {},
            "unmatched": {},
            "used": N_TASKS,
            "outcomes_only": {"no_ground_truth": 1},
        }


def test_ndcg_at_10_is_compared_whatever_cut_offs_are_asked_for(study):
    found = compare_sides(
        ["r"],
        runs_root=study / "runs",
        benchmarks_root=study / "benchmarks",
        output_dir=study / "out",
        k_values=(1, 20),
        seed=1,
    )
    assert metrics_of(study)["file_level_metrics"]["k_values"] == [1, 5, 10, 20]
    (comparison,) = found.impact.comparisons
    assert comparison.metrics["ndcg@10"].n_pairs == N_TASKS
    assert found.pair is None


@pytest.mark.parametrize("runs", [("mcp_v1", "mcp_v2"), ("baseline_v1", "mcp_v2")])
def test_the_name_of_a_run_says_nothing_about_its_arm(tmp_path, runs):
    for number in range(8):
        task = f"task-{number}"
        write_task(tmp_path / "benchmarks", task, ["src/a.py", "src/b.py"])
        for run, reads in zip(runs, (["src/a.py"], ["src/a.py", "src/b.py"]), strict=True):
            write_trial(tmp_path / "runs" / run, "local", task, reads)
    found = compare_sides(runs, runs_root=tmp_path / "runs", seed=1, output_dir=tmp_path / "out")
    (comparison,) = found.impact.comparisons
    assert found.pair == tuple(f"local@{run}" for run in runs)
    assert (comparison.gate.failed, comparison.verdict) == ((), "better")


def test_a_run_named_twice_is_one_run(study):
    found = compare_sides(
        ["baseline", "local-v2"],
        runs=["r", "r"],
        runs_root=study / "runs",
        output_dir=study / "out",
        seed=1,
    )
    assert found.runs == ("r",)
    assert found.impact.comparisons[0].n_pairs == N_TASKS
