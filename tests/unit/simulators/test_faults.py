"""Each planted fault: it is in the raw files of the trials it names, and in no others."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from retrieval_eval.agents.metrics.trial import DEFAULT_K
from retrieval_eval.agents.runs.trial import Job, documents, trial_by_path
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.model import to_builtins
from tests.simulators import DemoPlan, Fault, TrialPlan
from tests.simulators.plan import make_stage

BASELINE, MCP = "baseline-local-direct", "mcp-remote-direct"

# The baseline has 25 trials (a suite has 6 tasks, one task of the first suite was repeated), of
# which one crashed anyway; the other arm has 24, of which one has no trace.
AFFECTED = {
    Fault.DEAD_MCP_SERVER: {MCP: 23},
    Fault.CONTAMINATED_BASELINE: {BASELINE: 12},
    Fault.OTHER_MODEL: {MCP: 24},
    Fault.OTHER_HARNESS_VERSION: {MCP: 24},
    Fault.CRASHED_ARM: {BASELINE: 18},
    Fault.POOLED_PARADOX: {BASELINE: 24, MCP: 24},
    Fault.OTHER_GROUND_TRUTH: {MCP: 24},
    Fault.TASK_CHECKSUM: {MCP: 1},
    Fault.MISSING_REWARDS: {MCP: 18},
    Fault.OPAQUE_SHELL: {BASELINE: 24},
}
# Tasks with a value in both arms: reward, file_recall, ttfr_seconds.
PAIRS = {
    Fault.OTHER_MODEL: (0, 0, 0),
    Fault.OTHER_HARNESS_VERSION: (0, 0, 0),
    Fault.CRASHED_ARM: (6, 5, 5),
    Fault.MISSING_REWARDS: (6, 21, 20),
    Fault.TASK_CHECKSUM: (23, 21, 20),
}


def contents(root: Path) -> dict[str, bytes]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def result_of(root: Path, trial: TrialPlan) -> dict[str, Any]:
    path = root / "runs" / trial.path / "result.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def agent_text(root: Path, trial: TrialPlan) -> str:
    folder = root / "runs" / trial.path / "agent"
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*")))


def of_arm(plan: DemoPlan, config: str) -> list[TrialPlan]:
    return [trial for trial in plan.trials if trial.config == config]


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_changes_the_trials_it_names_and_no_other_file(
    fault: Fault, faulty, demo_tree: Path
) -> None:
    root, plan = faulty(fault)
    counts: dict[str, int] = defaultdict(int)
    for path in plan.affected:
        counts[path.split("/")[1]] += 1
    assert counts == AFFECTED[fault]
    before, after = contents(demo_tree), contents(root)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    # The excluded batch repeats the first trial, whatever that was.
    changed = {name for name in changed - {"demo_plan.json"} if "__broken/" not in name}
    folders = {f"runs/{path}" for path in plan.affected}
    batches = {f"{folder.rpartition('/')[0]}/result.json" for folder in folders}
    for folder in folders:
        assert any(name.startswith(f"{folder}/") for name in changed), folder
    strangers = [n for n in changed - batches if not any(n.startswith(f"{f}/") for f in folders)]
    assert strangers == []


@pytest.mark.parametrize("fault", Fault)
def test_the_plan_names_the_fault(fault: Fault, faulty, demo_tree: Path) -> None:
    root, plan = faulty(fault)
    stored = json.loads((root / "demo_plan.json").read_text(encoding="utf-8"))
    assert (plan.fault, stored["fault"]) == (fault, fault.value)
    assert stored["affected"] == list(plan.affected)
    ordinary = json.loads((demo_tree / "demo_plan.json").read_text(encoding="utf-8"))
    assert "fault" not in ordinary
    assert plan.seed == ordinary["seed"]


@pytest.mark.parametrize(("fault", "pairs"), PAIRS.items())
def test_pairs_under_a_fault(fault: Fault, pairs: tuple[int, int, int], faulty) -> None:
    n_pairs = faulty(fault)[1].n_pairs
    assert (n_pairs["reward"], n_pairs["file_recall"], n_pairs["ttfr_seconds"]) == pairs


@pytest.mark.parametrize("fault", Fault)
def test_every_number_of_an_affected_trial_is_the_planted_one(fault: Fault, faulty) -> None:
    root, plan = faulty(fault)
    trials = [trial for trial in plan.trials if trial.path in plan.affected]
    for trial in trials:
        stated, _ = trial_by_path(root / "runs" / trial.path)
        (resolved,), _ = resolve_trials([stated], TaskIndex(root / "benchmarks"))
        _, document = documents(Job(resolved, None, "", DEFAULT_K))
        found, wanted = measured(to_builtins(document)), planted(trial)
        if document.coverage.possible_files and "file_recall" in found:
            low, high = document.file_level_metrics.file_recall_bounds
            assert low <= wanted["file_recall"] <= high
            found = {name: value for name, value in found.items() if value is not None}
            wanted = {name: wanted[name] for name in found}
        assert found == pytest.approx(wanted, nan_ok=True), trial.path


def measured(document: dict[str, Any]) -> dict[str, float | None]:
    files, outcome = document["file_level_metrics"], document["outcome"]
    if not files["computable"]:
        return {name: outcome[name] for name in ("reward", "cost_usd", "elapsed_seconds")}
    names = ("file_recall", "mrr", "map_score", "context_efficiency")
    probes = document["utilization_probes"]
    labels = dict(document["error_taxonomy"]["labels"])
    labels["missed_key_evidence"] += sum(document["coverage"].get("possible_files", {}).values())
    return (
        {name: files[name] for name in (*names, "ttfr_seconds", "ttfr_tokens", "ttfr_rank")}
        | {f"{m}@{k}": files[m][k] for m in ("recall", "precision", "ndcg") for k in ("1", "10")}
        | {name: outcome[name] for name in ("reward", "cost_usd", "elapsed_seconds")}
        | {"read_overlap": probes["util_read_overlap_with_relevant_files"]}
        | labels
    )


def planted(trial: TrialPlan) -> dict[str, float | None]:
    expected, result = trial.expected, trial.result
    outcome = {name: getattr(result, name) for name in ("reward", "cost_usd", "elapsed_seconds")}
    if expected is None or expected.file_recall is None:
        return outcome
    assert expected.recall is not None
    assert expected.ndcg is not None
    precision = expected.precision or {"1": None, "10": None}
    return (
        {n: getattr(expected, n) for n in ("file_recall", "mrr", "map_score", "context_efficiency")}
        | {
            "ttfr_seconds": expected.first_hit_second,
            "ttfr_tokens": expected.first_hit_tokens,
            "ttfr_rank": expected.first_hit_rank,
            "read_overlap": expected.util_read_overlap,
        }
        | {f"recall@{k}": expected.recall[k] for k in ("1", "10")}
        | {f"precision@{k}": precision[k] for k in ("1", "10")}
        | {f"ndcg@{k}": expected.ndcg[k] for k in ("1", "10")}
        | outcome
        | (expected.taxonomy or {})
    )


def test_no_call_to_a_dead_server_succeeds_and_little_is_found(faulty) -> None:
    root, plan = faulty(Fault.DEAD_MCP_SERVER)
    kinds = set()
    for trial in of_arm(plan, MCP):
        calls = [action for action in trial.actions if action.is_mcp]
        assert all(action.is_error and not action.touches for action in calls)
        if trial.source is None:
            continue
        assert 1 <= len(calls) <= 3
        text = agent_text(root, trial)
        kinds |= {
            k for k in ("MCP error -32000: Connection closed", '\\"isError\\": true') if k in text
        }
        assert '\\"isError\\": false' not in text
        truth = next(task.files for task in plan.tasks if task.task_name == trial.task_name)
        assert trial.expected is not None
        assert len(set(truth) & set(trial.expected.accessed)) <= 1
    assert len(kinds) == 2
    assert sum(any(a.touches for a in t.actions) for t in of_arm(plan, MCP)) > 10


def test_a_contaminated_baseline_asked_the_server_and_got_answers(faulty) -> None:
    root, plan = faulty(Fault.CONTAMINATED_BASELINE)
    callers = [t for t in of_arm(plan, BASELINE) if any(a.is_mcp and a.touches for a in t.actions)]
    assert [trial.path for trial in callers] == list(plan.affected)
    assert {trial.benchmark for trial in callers} == {"demo_feature", "demo_crossrepo"}
    for trial in callers:
        is_claude = trial.harness == "claude-code"
        assert ("mcp__sourcegraph__" if is_claude else "MCP server") in agent_text(root, trial)


@pytest.mark.parametrize(
    ("fault", "field"), [(Fault.OTHER_MODEL, "model"), (Fault.OTHER_HARNESS_VERSION, "version")]
)
def test_the_other_setup_is_in_every_file_of_the_arm(fault: Fault, field: str, faulty) -> None:
    root, plan = faulty(fault)
    setups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial in plan.trials:
        agent = result_of(root, trial)["agent_info"]
        value = agent["model_info"]["name"] if field == "model" else agent["version"]
        setups[trial.task_name][trial.config].add(value)
        assert trial.source is None or f'"{value}"' in agent_text(root, trial)
    for arms in setups.values():
        assert arms[BASELINE].isdisjoint(arms[MCP])


def test_a_crashed_arm_has_neither_trace_nor_reward(faulty) -> None:
    root, plan = faulty(Fault.CRASHED_ARM)
    crashed = [trial for trial in plan.trials if trial.is_crashed]
    assert len(crashed) == 19
    for trial in crashed:
        result = result_of(root, trial)
        assert result["exception_info"]["exception_type"]
        assert (result["verifier_result"], result["agent_execution"]) == (None, None)
        assert not (root / "runs" / trial.path / "agent").exists()
        assert (trial.fate, trial.expected) == ("degraded", None)


@pytest.mark.parametrize("seed", [20260101, 1, 2, 3, 7])
def test_the_paradox_holds_inside_each_arm_and_turns_round_when_pooled(seed: int) -> None:
    plan = make_stage(seed, Fault.POOLED_PARADOX).plan
    rows: dict[str, list[tuple[float, float]]] = {BASELINE: [], MCP: []}
    for t in plan.trials:
        known = t.expected is not None and t.expected.file_recall is not None
        if known and t.result.reward is not None:
            rows[t.config].append((t.expected.file_recall, t.result.reward))
    within = [spearmanr(*zip(*rows[arm], strict=True)).statistic for arm in (BASELINE, MCP)]
    pooled = spearmanr(*zip(*rows[BASELINE], *rows[MCP], strict=True)).statistic
    assert min(within) > 0.3
    assert pooled < -0.3
    assert min(y for _, y in rows[BASELINE]) >= 0.5 >= max(y for _, y in rows[MCP])


def checksums(root: Path, plan: DemoPlan) -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial in plan.trials:
        found[trial.task_name][trial.config].add(result_of(root, trial)["task_checksum"])
    return found


def test_without_a_fault_a_task_has_one_checksum(demo_tree: Path, demo_plan: DemoPlan) -> None:
    found = checksums(demo_tree, demo_plan)
    assert all(arms[BASELINE] == arms[MCP] for arms in found.values())
    alone = {frozenset(arms[MCP]) for arms in found.values()}
    assert {len(values) for values in alone} == {1}
    assert len(alone) == 24


@pytest.mark.parametrize(
    ("fault", "n_tasks"), [(Fault.OTHER_GROUND_TRUTH, 24), (Fault.TASK_CHECKSUM, 1)]
)
def test_another_version_of_a_task_has_another_checksum(fault: Fault, n_tasks: int, faulty) -> None:
    found = checksums(*faulty(fault))
    assert sum(arms[BASELINE].isdisjoint(arms[MCP]) for arms in found.values()) == n_tasks
    assert all(len(arms[config]) == 1 for arms in found.values() for config in arms)


def test_missing_rewards_are_missing_everywhere(faulty) -> None:
    root, plan = faulty(Fault.MISSING_REWARDS)
    for trial in plan.trials:
        metrics = root / "runs" / trial.path / "task_metrics.json"
        reward = json.loads(metrics.read_text(encoding="utf-8"))["reward"]
        verified = result_of(root, trial)["verifier_result"]
        if trial.path in plan.affected:
            assert (trial.config, reward, verified) == (MCP, None, None)
            assert result_of(root, trial)["exception_info"] is None
            assert trial.result.cost_usd
        elif not trial.is_crashed:
            assert verified == {"rewards": {"reward": reward}}


def test_an_opaque_shell_hides_reads_and_leaves_the_outcome(faulty, demo_plan: DemoPlan) -> None:
    _, plan = faulty(Fault.OPAQUE_SHELL)
    opaque = {arm: [a.is_opaque for t in of_arm(plan, arm) for a in shell_calls(t)] for arm in ARMS}
    assert (sum(opaque[BASELINE]), len(opaque[BASELINE])) == (108, 117)
    assert (sum(opaque[MCP]), len(opaque[MCP])) == (0, 3)
    for now, before in zip(plan.trials, demo_plan.trials, strict=True):
        assert (now.result, now.n_calls) == (before.result, before.n_calls)
        if now.expected is not None and before.expected is not None:
            assert set(now.expected.accessed) <= set(before.expected.accessed)


ARMS = (BASELINE, MCP)


def shell_calls(trial: TrialPlan) -> list[Any]:
    return [a for a in trial.actions if a.tool in {"Bash", "execute_bash"}]
