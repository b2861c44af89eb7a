"""The written tree: same bytes, real layout, every file readable, every special trial there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.simulators import DemoPlan, TrialPlan, simulate_run

BASELINE, MCP = "baseline-local-direct", "mcp-remote-direct"


def digest(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def names(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


def one(plan: DemoPlan, config: str, task_name: str) -> TrialPlan:
    return next(t for t in plan.trials if (t.config, t.task_name) == (config, task_name))


def text_of(root: Path, trial: TrialPlan, name: str) -> str:
    return (root / "runs" / trial.path / "agent" / name).read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_bytes_in_another_process(
    demo_tree: Path, tmp_path: Path, project: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.simulators import simulate_run;"
        "simulate_run(Path(sys.argv[1]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, env=environment, cwd=project
    )
    assert digest(tmp_path) == digest(demo_tree)


def test_the_simulators_know_nothing_of_the_code_they_are_a_test_of(project: Path) -> None:
    imported = {
        line.split()[1]
        for path in (project / "tests" / "simulators").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(import|from) retrieval_eval\b", line)
    }
    assert imported == {"retrieval_eval.demo"}  # the names of the files of the search demo


def test_another_seed_changes_behaviour_and_not_the_tasks(demo_tree: Path, tmp_path: Path) -> None:
    simulate_run(tmp_path, seed=7)
    assert digest(tmp_path / "benchmarks") == digest(demo_tree / "benchmarks")
    assert digest(tmp_path / "runs") != digest(demo_tree / "runs")
    assert names(tmp_path) == names(demo_tree)


def test_the_tree_is_small_and_every_file_can_be_read(demo_tree: Path) -> None:
    files = [p for p in demo_tree.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) < 3_000_000
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".toml":
            tomllib.loads(text)
        elif path.name == "claude-code.txt":
            assert all(isinstance(json.loads(line), dict) for line in text.splitlines())


def test_no_file_names_this_machine_or_the_present(demo_tree: Path) -> None:
    for path in (p for p in demo_tree.rglob("*") if p.is_file()):
        text = path.read_text(encoding="utf-8")
        assert str(Path.home()) + "/" not in text
        assert str(demo_tree) not in text
        assert "2025-" not in text
        assert "2027-" not in text


def test_the_layout_is_that_of_a_real_run(demo_tree: Path, demo_plan: DemoPlan) -> None:
    for trial in demo_plan.trials:
        folder = demo_tree / "runs" / trial.path
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        assert result["task_name"] == trial.raw_task_name
        assert result["trial_name"] == trial.trial_name == folder.name
        assert folder.name.rpartition("__")[0] == trial.raw_task_name[:32]
        assert (folder / "task_metrics.json").is_file()
        task_dir = demo_tree / "benchmarks" / trial.benchmark / trial.task_name
        assert (task_dir / "task.toml").is_file()
        assert (task_dir / "instruction.md").is_file()
        batch = json.loads((folder.parent / "result.json").read_text(encoding="utf-8"))
        assert "n_total_trials" in batch


def test_the_roster_holds_every_special_trial_once(demo_plan: DemoPlan) -> None:
    assert demo_plan.ledger == {
        "n_tasks": 24,
        "n_trials": 49,
        "n_evaluated": 47,
        "n_degraded": 2,
        "n_excluded": 1,
        "n_without_ground_truth": 2,
        "n_computable": 45,
    }
    assert demo_plan.n_pairs["reward"] == 23  # 24 less the crashed one
    assert demo_plan.n_pairs["file_recall"] == 21  # and less no trace, no ground truth
    assert demo_plan.n_pairs["ttfr_seconds"] == 20  # and less the one that never hits
    trials = demo_plan.trials
    assert len({t.path for t in trials}) == 49
    repeats = Counter((t.task_name, t.config) for t in trials)
    assert sorted(repeats.values()) == [1] * 47 + [2]
    assert Counter(t.benchmark for t in demo_plan.tasks) == dict.fromkeys(
        ("demo_fix", "demo_feature", "demo_review", "demo_crossrepo"), 6
    )
    assert {t.source for t in trials} == {"trajectory", "transcript", "merged", None}
    assert [t.task_name for t in trials if t.is_crashed] == ["tidewheel-cron-dst-fix-001"]
    assert [t.config for t in trials if any(a.is_subagent for a in t.actions)] == [BASELINE]
    assert [t.config for t in trials if any(a.is_opaque for a in t.actions)] == [BASELINE]
    assert sum(t.raw_task_name != t.task_name for t in trials) == 12
    assert sum(any(a.is_error for a in t.actions) for t in trials) > 5


def test_both_arms_of_a_task_share_harness_version_and_model(demo_plan: DemoPlan) -> None:
    arms: dict[str, set[tuple[str, str, str]]] = {}
    for t in demo_plan.trials:
        arms.setdefault(t.task_name, set()).add((t.harness, t.harness_version, t.model))
    assert all(len(kinds) == 1 for kinds in arms.values())
    assert {next(iter(kinds))[0] for kinds in arms.values()} == {"claude-code", "openhands"}


def test_one_trial_finds_its_files_by_shell_only(demo_plan: DemoPlan) -> None:
    task = next(t for t in demo_plan.tasks if t.task_name == "quillmark-render-path-qa-001")
    trial = one(demo_plan, BASELINE, task.task_name)
    hits = [a for a in trial.actions if {x.file for x in a.touches} & set(task.files)]
    assert hits
    assert {a.via for a in hits} == {"shell"}


def test_hand_checked_truth_of_a_local_trial(demo_tree: Path, demo_plan: DemoPlan) -> None:
    """The ranking is h h . . h . . . . with four relevant files; clock and lease are edited."""
    trial = one(demo_plan, BASELINE, "tidewheel-lease-renewal-fix-001")
    e = trial.expected
    assert e is not None
    assert [f.rpartition("/")[2] for f in e.accessed] == [
        "clock.py", "lease.py", "planner.py", "test_lease.py", "ledger.py",
        "README.md", "test_planner.py", "test_cron.py", "pool.py",
    ]  # fmt: skip
    assert [f.rpartition("/")[2] for f in e.written] == ["clock.py", "lease.py"]
    assert e.file_recall == 0.75
    assert e.precision == pytest.approx({"1": 1, "3": 2 / 3, "5": 0.6, "10": 0.3})
    assert e.recall == pytest.approx({"1": 0.25, "3": 0.5, "5": 0.75, "10": 0.75})
    assert e.mrr == 1.0
    assert e.map_score == pytest.approx(0.65)
    assert e.ndcg == pytest.approx(
        {"1": 1.0, "3": 0.765361, "5": 0.787702, "10": 0.787702}, abs=1e-6
    )
    assert e.context_efficiency == pytest.approx(1 / 3)
    assert (e.first_hit_step, e.first_hit_rank) == (0, 1)
    assert e.util_read_overlap == 0.5
    assert e.util_write_overlap_proxy == 0.5
    assert e.util_write_overlap_expected_edits == 0.5
    assert e.util_read_before_write == 0.5
    assert e.taxonomy == {
        "irrelevant_retrieval": 6,
        "missed_key_evidence": 1,
        "wrong_evidence_used": 0,
        "unused_correct_retrieval": 1,
        "ambiguity_near_miss": 1,
    }
    # the Glob is the first call that finds something; its line is dated 14.304 s after the start
    lines = [json.loads(line) for line in text_of(demo_tree, trial, "claude-code.txt").splitlines()]
    glob = next(x for x in lines if '"name": "Glob"' in json.dumps(x))
    result = json.loads((demo_tree / "runs" / trial.path / "result.json").read_text())
    assert result["agent_execution"]["started_at"] == "2026-01-05T09:00:31.250000"
    assert glob["timestamp"] == "2026-01-05T09:00:45.554Z"
    assert e.first_hit_second == 14.304
    # the to-do message and the Glob message, each counted once
    usages = {x["message"]["id"]: x["message"]["usage"] for x in lines if x["type"] == "assistant"}
    first_two = list(usages.values())[:2]
    spent = sum(v for u in first_two for k, v in u.items() if k.endswith("_tokens"))
    assert e.first_hit_tokens == spent


def test_hand_checked_truth_of_a_remote_trial(demo_plan: DemoPlan) -> None:
    """One of six relevant files turns up, at rank 5; one that cannot be found is created."""
    e = one(demo_plan, MCP, "quillmark-plugin-sandbox-feat-001").expected
    assert e is not None
    assert e.accessed == (
        "src/document/merge.ts",
        "src/document/tree.ts",
        "src/session/token.ts",
        "README.md",
        "Dockerfile",
    )
    assert e.written == ("Dockerfile", "src/plugins/sandbox_policy.ts")
    assert e.file_recall == pytest.approx(1 / 6)
    assert e.precision == pytest.approx({"1": 0, "3": 0, "5": 0.2, "10": 0.1})
    assert e.mrr == pytest.approx(0.2)
    assert e.map_score == pytest.approx(1 / 30)
    assert e.ndcg == pytest.approx({"1": 0, "3": 0, "5": 0.131205, "10": 0.117063}, abs=1e-6)
    assert (e.first_hit_step, e.first_hit_rank) == (1, 5)
    assert e.util_read_overlap == pytest.approx(1 / 6)
    assert e.util_write_overlap_proxy == pytest.approx(1 / 3)
    assert e.util_write_overlap_expected_edits is None
    assert e.util_read_before_write == 0.5
    assert e.taxonomy == {
        "irrelevant_retrieval": 4,
        "missed_key_evidence": 5,
        "wrong_evidence_used": 0,
        "unused_correct_retrieval": 0,
        "ambiguity_near_miss": 1,
    }


@pytest.mark.parametrize("seed", [20260101, 1, 2, 3])
def test_the_planted_effect_is_modest_and_some_tasks_are_hurt(seed: int) -> None:
    from tests.simulators.plan import make_stage

    plan = make_stage(seed).plan
    recalls: dict[str, dict[str, list[float]]] = {}
    for t in plan.trials:
        if t.expected and t.expected.file_recall is not None:
            arm = recalls.setdefault(t.task_name, {}).setdefault(t.config, [])
            arm.append(t.expected.file_recall)
    differences = [
        sum(arms[MCP]) / len(arms[MCP]) - sum(arms[BASELINE]) / len(arms[BASELINE])
        for arms in recalls.values()
        if len(arms) == 2
    ]
    assert len(differences) == 21
    assert -0.05 < sum(differences) / 21 < 0.25
    assert sum(d < 0 for d in differences) >= 3


def test_the_plan_on_disk_is_the_plan_returned(demo_tree: Path, demo_plan: DemoPlan) -> None:
    stored = json.loads((demo_tree / "demo_plan.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(demo_plan.to_json()))
    assert stored["trials"][0]["actions"][0]["touches"][0]["access"] == "listed"
