"""Layouts as they are published, rebuilt small by hand: which trials they give, and what is said.

Each was written after a published folder: two of mini-swe-agent with reports of the evaluation,
SWE-agent's and OpenHands' submissions to Multi-SWE-bench, OpenHands' output of an evaluation, a job
of Harbor, and logs of Inspect.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from retrieval_eval.agents.door import nearest, opened
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.cli import run
from retrieval_eval.cli.report import searched_runs
from retrieval_eval.model import to_builtins
from tests.unit.agents.door.test_tables import trace_of


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def mini_of(file: str, model: str = "openai/gpt-5-mini") -> dict[str, object]:
    """A trajectory of mini-swe-agent 1: a command in a fence, and its output."""
    return {
        "info": {
            "exit_status": "Submitted",
            "submission": "",
            "model_stats": {"instance_cost": 0.1, "api_calls": 1},
            "mini_version": "1.17.3",
            "config": {"model": {"model_name": model}, "environment": {"cwd": "/testbed"}},
        },
        "messages": [
            {"role": "system", "content": "You are an agent."},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": f"Look.\n\n```bash\ncat {file}\n```"},
            {
                "role": "user",
                "content": "<returncode>0</returncode>\n<output>\nx = 1\n</output>",
            },
        ],
        "trajectory_format": "mini-swe-agent-1",
    }


def swe_agent_of(file: str) -> dict[str, object]:
    state = json.dumps({"open_file": "n/a", "working_dir": "/acme__widgets"})
    step = {"action": f"cat {file}\n", "observation": "x = 1", "state": state, "thought": ""}
    return {"environment": "swe_main", "trajectory": [step], "history": [], "info": {}}


def completion_of(file: str, n: int) -> dict[str, object]:
    """A logged completion of OpenHands, with all messages before it."""
    calls = [
        {
            "id": f"c{i}",
            "type": "function",
            "function": {"name": "execute_bash", "arguments": json.dumps({"command": "cat a.py"})},
        }
        for i in range(n)
    ]
    calls[-1]["function"]["arguments"] = json.dumps({"command": f"cat /workspace/{file}"})
    said = [
        part
        for call in calls
        for part in (
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "x = 1\n[exit code 0]"},
        )
    ]
    messages = [{"role": "user", "content": "Fix it."}, *said]
    return {"messages": [], "fncall_messages": messages, "timestamp": 1.0, "cost": 0.01}


def output_of(task: str, file: str) -> dict[str, object]:
    """A line of OpenHands' output: a task with its events."""
    return {
        "instance_id": task,
        "test_result": {"git_patch": ""},
        "metadata": {"llm_config": {"model": "openai/m"}, "max_iterations": 50},
        "history": [
            {
                "id": 1,
                "timestamp": "2026-01-01T00:00:00",
                "source": "agent",
                "action": "run",
                "args": {"command": f"cat /workspace/{file}"},
                "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "c"},
            },
            {
                "id": 2,
                "source": "agent",
                "cause": 1,
                "observation": "run",
                "content": "x = 1",
                "extras": {"metadata": {"exit_code": 0, "working_dir": "/workspace"}},
            },
            {"id": 3, "source": "agent", "action": "finish", "args": {}},
        ],
        "metrics": {"accumulated_cost": 0.5},
        "error": None,
    }


def sample_of(task: int, file: str, **more: object) -> dict[str, object]:
    """A sample of a log of Inspect."""
    call = {"event": "tool", "timestamp": "2026-01-05T10:00:01+00:00", "id": "c"}
    call |= {"function": "bash", "arguments": {"cmd": f"cat /repo/{file}"}, "result": "x = 1"}
    model = {"event": "model", "timestamp": "2026-01-05T10:00:00+00:00", "model": "openai/m"}
    usage = {"openai/m": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}}
    return {
        "id": task,
        "epoch": 1,
        "messages": [],
        "events": [model, call],
        "model_usage": usage,
    } | (more)


def log_of(path: Path, model: str, scores: list[object]) -> Path:
    """An archive of Inspect with a sample for each score; summaries state the scores."""
    samples = [sample_of(n, f"{n}.py") for n in range(1, len(scores) + 1)]
    known = [
        {"id": n, "epoch": 1, "scores": {"match": {"value": score}}}
        for n, score in enumerate(scores, 1)
    ]
    header = {"eval": {"task": "fix", "model": model, "scorers": [{"name": "match"}]}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("summaries.json", json.dumps(known))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return path


def told(place: Path) -> tuple[str, list[tuple[str, str, float | None]]]:
    found = opened(place)
    return found.layout, [(row.config, row.task, row.reward) for row in found.rows]


SWE_BENCH = "SWE-bench's trajectories by task"


def test_a_run_of_mini_swe_agent_with_the_report_of_its_evaluation(tmp_path):
    folder = tmp_path / "gpt5-output"
    for task in ("a__b-1", "a__b-2", "a__b-3"):
        write(folder / task / f"{task}.traj.json", mini_of("b.py"))
    predictions = {t: {"instance_id": t} for t in ("a__b-1", "a__b-2", "a__b-3", "a__b-4")}
    write(folder / "preds.json", predictions)
    report = {
        "total_instances": 4,
        "submitted_ids": ["a__b-1", "a__b-2"],
        "resolved_ids": ["a__b-1"],
        "unresolved_ids": ["a__b-2"],
        "error_ids": ["a__b-3"],
        "incomplete_ids": ["a__b-4"],
    }
    write(folder / "openai__gpt-5.run_eval.json", report)
    expected = [("a__b-1", 1.0), ("a__b-2", 0.0), ("a__b-3", 0.0)]
    assert told(folder) == (SWE_BENCH, [("gpt5-output", *row) for row in expected])
    found = opened(folder)
    assert found.problems == (
        "1 task whose evaluation ended with an error count as not resolved",
        "preds.json: 1 task without a trace here, such as a__b-4",
    )


def test_several_runs_in_a_folder_are_configurations(tmp_path):
    for arm in ("gpt5-output", "cam-output"):
        write(tmp_path / "results" / arm / "a__b-1" / "a__b-1.traj.json", mini_of("b.py"))
    report = {"total_instances": 1, "resolved_ids": ["a__b-1"], "unresolved_ids": []}
    write(tmp_path / "results/cam-output/m.json", report)
    rows = [("cam-output", "a__b-1", 1.0), ("gpt5-output", "a__b-1", None)]
    assert told(tmp_path) == (SWE_BENCH, rows)
    (found,) = evaluate([tmp_path / "results"], output_dir=tmp_path / "out").runs
    assert found.summary.counts.evaluated == 2
    assert {metrics.outcome["model"] for metrics in found.metrics} == {"gpt-5-mini"}


def test_a_submission_with_a_report_for_each_task(tmp_path):
    """Trajectories and reports lie in two folders, and the report of the service beside them."""
    folder = tmp_path / "20251118_gemini"
    for task, is_resolved in (("a__b-1", True), ("a__b-2", False)):
        write(folder / "trajs" / task / f"{task}.traj.json", mini_of("b.py"))
        write(folder / "logs" / task / "report.json", {"resolved": is_resolved})
    report = {"total_instances": 2, "resolved_ids": ["a__b-1", "a__b-2"], "unresolved_ids": []}
    write(folder / "trajs/sb-cli-reports/verified.json", report)
    rows = [("20251118_gemini", "a__b-1", 1.0), ("20251118_gemini", "a__b-2", 1.0)]
    assert told(folder) == (SWE_BENCH, rows)
    assert opened(folder).problems == (
        "1 task with two verdicts, of which the first is kept: a__b-2",
    )
    assert [row[2] for row in told(folder / "trajs")[1]] == [1.0, 1.0]


@pytest.mark.parametrize("form", ["leaderboard", "multi", "details"])
def test_forms_of_results(tmp_path, form):
    folder = tmp_path / "sub"
    for task in ("a__b-1", "a__b-2"):
        write(folder / "trajs" / f"{task}.traj", swe_agent_of("b.java"))
    match form:
        case "leaderboard":
            results = {"no_generation": [], "no_logs": [], "resolved": ["a__b-1"]}
        case "multi":
            results = {
                "total_instances": 2,
                "resolved": ["a/b:pr-1"],
                "unresolved_ids": ["a/b:pr-2"],
                "incomplete_ids": [],
            }
        case _:
            results = {
                "a__b-1": {"cost": 0.72, "api_calls": 3, "resolved": True},
                "a__b-2": {"cost": 0.1, "api_calls": 3, "resolved": False},
            }
    name = "per_instance_details.json" if form == "details" else "results/results.json"
    write(folder / name, results)
    assert told(folder) == (SWE_BENCH, [("sub", "a__b-1", 1.0), ("sub", "a__b-2", 0.0)])
    if form == "details":
        assert [row.cost_usd for row in opened(folder).rows] == [0.72, 0.1]


def test_of_logged_completions_the_last_one_is_the_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for n in (1, 2, 10):
        name = f"Claude-3.5-Sonnet(Oct)-17434057{n:02}.27.json"
        write(tmp_path / "sub/trajs/a__b-1" / name, completion_of(f"{n}.py", n))
    write(tmp_path / "sub/results/results.json", {"resolved": ["a__b-1"], "no_generation": []})
    truth = write(tmp_path / "t.jsonl", json.dumps({"task": "a__b-1", "files": ["10.py"]}) + "\n")
    (found,) = evaluate(["sub"], benchmarks_root=truth).runs
    block = to_builtins(found.metrics[0])["file_level_metrics"]
    assert (block["file_recall"], found.metrics[0].outcome["reward"]) == (1.0, 1.0)


OPENHANDS = "OpenHands' evaluations"


def test_the_output_of_openhands_with_its_verdicts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "outputs/verified/CodeActAgent/m_maxiter_50_N_v0.15-run_1"
    lines = [output_of(f"a__b-{n}", f"{n}.py") for n in (1, 2, 3)]
    lines[0]["report"] = {"resolved": True}
    lines.append({**output_of("a__b-4", "4.py"), "history": []})
    lines.append({**output_of("a__b-5", "5.py"), "history": None})
    write(folder / "output.jsonl", "\n".join(map(json.dumps, lines)))
    write(folder / "llm_completions/a__b-4/m-1733.1.json", {"messages": [], "cost": 0.25})
    write(folder / "llm_completions/a__b-4/m-1733.2.json", completion_of("4.py", 1))
    evaluated = {"instance_id": "a__b-2", "test_result": {"report": {"resolved": False}}}
    write(folder / "output.swebench_eval.jsonl", json.dumps(evaluated))
    layout, rows = told(tmp_path / "outputs")
    rewards = {"a__b-1": 1.0, "a__b-2": 0.0, "a__b-3": None, "a__b-4": None}
    assert (layout, {task: reward for _, task, reward in rows}) == (OPENHANDS, rewards)
    (found,) = evaluate(["outputs"]).runs
    counts = found.summary.counts
    assert (counts.evaluated + counts.degraded, counts.excluded) == (4, 1)
    assert [one.reason for one in found.summary.excluded] == ["no_trace"]
    calls = {m.provenance.task_name: m.ledger.calls_resolved for m in found.metrics}
    assert calls["a__b-1"] == calls["a__b-4"] == 1
    costs = {m.provenance.task_name: m.outcome["cost_usd"] for m in found.metrics}
    assert (costs["a__b-1"], costs["a__b-4"]) == (0.5, 0.26)


def test_logged_completions_have_no_cost_where_one_does_not_state_its_own(tmp_path):
    write(tmp_path / "llm_completions/a__b-1/m-1.json", {"messages": []})
    write(tmp_path / "llm_completions/a__b-1/m-2.json", completion_of("1.py", 1))
    (row,) = opened(tmp_path).rows
    assert (row.task, row.cost_usd) == ("a__b-1", None)


def test_the_output_of_its_sdk_is_read_too(tmp_path):
    call = {"id": "c", "name": "execute_bash", "arguments": json.dumps({"command": "cat b.py"})}
    action = {"kind": "ActionEvent", "id": "1", "tool_name": "execute_bash", "tool_call_id": "c"}
    shown = {"kind": "ExecuteBashObservation", "output": "x = 1", "metadata": {"exit_code": 0}}
    answer = {"kind": "ObservationEvent", "id": "2", "tool_call_id": "c", "observation": shown}
    history = [{**action, "source": "agent", "tool_call": call}, {**answer, "action_id": "1"}]
    line = {"test_result": {"git_patch": ""}, "metadata": {"llm": {"model": "proxy/m"}}}
    lines = [{"instance_id": f"t-{n}", **line, "history": history} for n in (1, 2)]
    place = write(tmp_path / "r/output.jsonl", "\n".join(map(json.dumps, lines)))
    assert [row.task for row in opened(place.parent).rows] == ["t-1", "t-2"]
    trace = read_trace(place, sample="t-2")
    assert (trace.model, [call.arguments["command"] for call in trace.calls]) == (
        "proxy/m",
        ["cat b.py"],
    )


def test_a_file_with_one_task_is_read_as_such(tmp_path):
    place = write(tmp_path / "r/output.jsonl", json.dumps(output_of("a__b-1", "b.py")))
    assert told(place.parent)[0] == OPENHANDS
    assert opened(place.parent).rows[0].sample is None
    assert told(place) == told(place.parent)
    assert opened(place).run_id == "output"


def harbor_trial(folder: Path, task: str, reward: float, agent: str = "codex") -> None:
    trial = folder / f"{task}__aB3dE5f"
    result = {
        "task_name": f"terminal-bench/{task}",
        "trial_name": trial.name,
        "agent_info": {"name": agent, "version": "1", "model_info": {"name": "gpt-x"}},
        "agent_result": {"n_input_tokens": 10, "cost_usd": 0.2},
        "verifier_result": {"rewards": {"reward": reward}},
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:00:30Z",
    }
    write(trial / "result.json", result)
    write(trial / "config.json", {"trial_name": trial.name, "agent": {"name": agent}})
    write(trial / "agent/claude-code.txt", trace_of("src/a.py"))


HARBOR = "Harbor's jobs"


def test_jobs_of_harbor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for job, reward in (("baseline", 0.0), ("with-search", 1.0), ("2026-01-05__12-00-00", 1.0)):
        write(tmp_path / "jobs" / job / "result.json", {"n_total_trials": 2, "stats": {}})
        for task in ("t-1", "t-2"):
            harbor_trial(tmp_path / "jobs" / job, task, reward)
    write(tmp_path / "jobs/baseline/t-3__zZ3dE5f/config.json", {"trial_name": "t-3__zZ3dE5f"})
    layout, rows = told(tmp_path / "jobs")
    assert layout == HARBOR
    assert {config for config, _, _ in rows} == {"baseline", "with-search", "codex gpt-x"}
    assert {task for _, task, _ in rows} == {"t-1", "t-2"}
    (found,) = evaluate(["jobs/baseline"]).runs
    assert (found.summary.counts.evaluated, found.summary.counts.excluded) == (2, 1)
    assert {m.provenance.trial_name for m in found.metrics} == {"t-1__aB3dE5f", "t-2__aB3dE5f"}
    assert [m.outcome["reward"] for m in found.metrics] == [0.0, 0.0]


def test_attempts_of_a_trial_of_harbor_are_repeats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = tmp_path / "job"
    write(job / "result.json", {"n_total_trials": 2, "stats": {}})
    for task in ("t-1", "t-2"):
        harbor_trial(job, task, 1.0)
        trial = job / f"{task}__aB3dE5f"
        for n in range(2 if task == "t-1" else 1):
            trace = (trial / "agent/claude-code.txt").read_text()
            write(trial / f"attempts/{n:03}/agent/claude-code.txt", trace)
        (trial / "agent/claude-code.txt").unlink()
        (trial / "agent").rmdir()
    write(job / "t-1__aB3dE5f/attempts/000/verifier/reward.txt", "0\n")
    rows = [(row.task, row.repeat, row.reward, row.cost_usd) for row in opened(job).rows]
    assert rows == [("t-1", "1", 0.0, None), ("t-1", "2", 1.0, None), ("t-2", "1", 1.0, 0.2)]
    (found,) = evaluate(["job"]).runs
    assert {m.provenance.trial_name for m in found.metrics} == {"t-1", "t-1@2", "t-2"}
    said = [(m.outcome["reward"], m.outcome["model"]) for m in found.metrics]
    assert sorted(said) == [(0.0, "gpt-x"), (1.0, "gpt-x"), (1.0, "gpt-x")]


def test_two_jobs_or_logs_are_compared_side_by_side(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for job in ("baseline", "with-search"):
        write(tmp_path / job / "result.json", {"n_total_trials": 2, "stats": {}})
        for task in ("t-1", "t-2"):
            harbor_trial(tmp_path / job, task, 1.0)
    truth = write(tmp_path / "t.jsonl", json.dumps({"task": "t-1", "files": ["src/a.py"]}) + "\n")
    assert run(["compare", "baseline", "with-search", "--truth", str(truth), "--json"]) == 2
    (pair,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (pair["baseline_config"], pair["comparison_config"]) == ("baseline", "with-search")
    a, b = (log_of(tmp_path / f"{name}.eval", "openai/m", ["C", "I"]) for name in ("a", "b"))
    truth = write(tmp_path / "i.jsonl", json.dumps({"task": "1", "files": ["1.py"]}) + "\n")
    assert run(["compare", a.name, b.name, "--truth", str(truth), "--json"]) == 2
    (pair,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (pair["baseline_config"], pair["comparison_config"]) == ("m@a", "m@b")


INSPECT = "Inspect's logs"


def test_a_log_is_no_search_run(tmp_path):
    log = log_of(tmp_path / "a.eval", "openai/m", ["C"])
    assert searched_runs([str(log)]) is None
    assert searched_runs([str(write(tmp_path / "run.json", {"schema_version": "1"}))]) is not None


def test_a_log_of_inspect(tmp_path):
    log = log_of(tmp_path / "2026-01-05T10-00-00_fix.eval", "openai/m", ["C", "I", "P", 0.25, {}])
    rewards = [1.0, 0.0, 0.5, 0.25, None]
    rows = [("m", str(n), reward) for n, reward in enumerate(rewards, 1)]
    assert told(log) == (INSPECT, rows)
    found = opened(log)
    assert found.run_id == "2026-01-05T10-00-00_fix"
    assert {row.sample for row in found.rows} == {f"{n}_epoch_1" for n in range(1, 6)}
    assert found.problems == (f"{log.name}: 1 score of match are no number",)


def test_logs_of_one_task_and_model_are_told_apart_by_file(tmp_path):
    log_of(tmp_path / "a.eval", "openai/m", ["C"])
    log_of(tmp_path / "b.eval", "openai/m", ["I"])
    sample = sample_of(1, "1.py", scores={"match": {"value": "C"}, "judge": {"value": "I"}})
    write(tmp_path / "c.json", {"eval": {"task": "fix", "model": "n"}, "samples": [sample]})
    assert told(tmp_path) == (INSPECT, [("a", "1", 1.0), ("b", "1", 0.0), ("n", "1", 1.0)])
    assert opened(tmp_path).problems == ("c.json: the reward is that of match; not used: judge",)


def test_trajectories_by_folder_are_configurations(tmp_path):
    for arm, task in (("old", "t-1"), ("old", "t-2"), ("new", "t-1")):
        write(tmp_path / arm / f"{task}.jsonl", trace_of("a.py"))
    write(tmp_path / "old/notes.json", {"a": 1})
    rows = [("new", "t-1", None), ("old", "t-1", None), ("old", "t-2", None)]
    assert told(tmp_path) == ("traces", rows)
    assert opened(tmp_path).problems == (
        "1 file of other content, which no format recognises: old/notes.json",
    )


def session_of(name: str, path: str) -> str:
    lines = [json.loads(line) for line in trace_of(path).splitlines()]
    return "\n".join(json.dumps({**line, "sessionId": name, "session_id": name}) for line in lines)


def test_the_sessions_of_a_project_are_trials_and_never_joined(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "projects/-home-dev-shop"
    for name in ("one", "two"):
        write(folder / f"{name}.jsonl", session_of(name, f"{name}.py"))
    write(folder / "one/subagents/agent-a1.jsonl", session_of("one", "sub.py"))
    found = opened(folder)
    assert (found.run_id, [row.task for row in found.rows]) == ("home-dev-shop", ["one", "two"])
    (measured,) = evaluate([folder]).runs
    assert measured.summary.counts.evaluated + measured.summary.counts.degraded == 2
    assert measured.folder == Path("reports/home-dev-shop/data/home-dev-shop/retrieval_events")
    assert not (folder / "retrieval_events").exists()


def test_the_table_of_a_folder_is_written_and_used_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    log_of(tmp_path / "log.eval", "openai/m", ["C", "I"])
    assert run(["init", "log.eval"]) == 0
    assert "Inspect's logs: 2 trials of 2 tasks, 2 with a reward" in capsys.readouterr().out
    text = (tmp_path / "trials.csv").read_text()
    assert text.splitlines() == [
        "trace,task,config,reward,benchmark,sample",
        "log.eval,1,m,1.0,fix,1_epoch_1",
        "log.eval,2,m,0.0,fix,2_epoch_1",
    ]
    assert run(["init", "log.eval"]) == 3
    truth = write(tmp_path / "t.jsonl", json.dumps({"task": "1", "files": ["1.py"]}) + "\n")
    capsys.readouterr()
    assert run(["evaluate", "trials.csv", "--truth", str(truth), "--json"]) == 0
    (of_table,) = json.loads(capsys.readouterr().out)["runs"]
    assert run(["evaluate", "log.eval", "--truth", str(truth), "--json"]) == 0
    (of_log,) = json.loads(capsys.readouterr().out)["runs"]
    assert of_table["configs"] == of_log["configs"]


def test_what_is_not_recognised_is_said_with_the_nearest_ways(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "r/results/results.json", {"resolved": ["a__b-1"], "no_generation": []})
    write(tmp_path / "r/README.md", "# Results")
    assert run(["evaluate", "r"]) == 2
    said = capsys.readouterr().err
    for part in (
        "no trial found in",
        "it holds 1 folder and 2 files: .md (1), .json (1)",
        "reports name 1 task, whose trajectories are missing",
        "none is a trace: results.json: not a known trace format",
        "(1) a folder of trajectories or sessions",
        "(3) a table of trials",
    ):
        assert part in said
    write(tmp_path / "suite/t-1/task.toml", "")
    assert "(1) a run, with this folder of tasks as --truth" in nearest(tmp_path / "suite")
    write(tmp_path / "odd.json", "[1]")
    assert "odd.json: not a known trace format" in nearest(tmp_path / "odd.json")


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [{}], {"a": []}, {"resolved": 3}])
@pytest.mark.parametrize(
    "name",
    ["results/results.json", "preds.json", "output.jsonl", "result.json", "x.json", "t.eval"],
)
def test_odd_documents_never_raise(tmp_path, name, value):
    write(tmp_path / "run" / name, value)
    write(tmp_path / "run/trajs/a__b-1.traj", value)
    opened(tmp_path / "run")
    write(tmp_path / "run/result.json", {"stats": value, "n_total_trials": value})
    write(tmp_path / "run/t__aB3dE5f/config.json", {"agent": value, "agent_info": value})
    write(tmp_path / "run/l.json", {"eval": {"task": value}, "samples": [value, {"id": 1}]})
    opened(tmp_path / "run")
    opened(tmp_path / "run/l.json")
