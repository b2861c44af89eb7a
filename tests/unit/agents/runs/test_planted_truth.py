"""The whole pipeline against the demo's planted truth, which another piece of code computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.model import to_builtins
from tests.simulators import Fault, simulate_run

SINGLE = {
    "file_recall": "file_recall",
    "mrr": "mrr",
    "map_score": "map_score",
    "context_efficiency": "context_efficiency",
    "ttfr_step": "first_hit_step",
    "first_gt_hit_step": "first_hit_step",
    "ttfr_seconds": "first_hit_second",
    "ttfr_tokens": "first_hit_tokens",
    "ttfr_rank": "first_hit_rank",
}
PROBES = {
    "util_read_overlap_with_relevant_files": "util_read_overlap",
    "util_write_overlap_with_relevant_files_proxy": "util_write_overlap_proxy",
    "util_write_overlap_with_expected_edit_files": "util_write_overlap_expected_edits",
    "util_read_before_write_ratio": "util_read_before_write",
}
OUTCOMES = ("reward", "cost_usd", "input_tokens", "output_tokens", "elapsed_seconds")


def measure(root: Path, output: Path):
    return evaluate(
        ["demo"], runs_root=root / "runs", benchmarks_root=root / "benchmarks", output_dir=output
    )


def differences(plan, document) -> list[tuple]:
    """Return every number of a trial that is not the planted one."""
    found = []

    is_open = bool(document["coverage"].get("possible_files"))

    def check(name, got, wanted):
        if is_open and got is None:
            return
        same = got == wanted if wanted is None or got is None else got == pytest.approx(wanted)
        if not same:
            found.append((plan.config, plan.task_name, name, got, wanted))

    for name in OUTCOMES:
        check(name, document["outcome"][name], getattr(plan.result, name))
    expected, block = plan.expected, document["file_level_metrics"]
    is_measured = expected is not None and expected.file_recall is not None
    check("computable", block["computable"], is_measured)
    if not is_measured:
        return found
    low, high = block["file_recall_bounds"]
    assert low <= expected.file_recall <= high
    for name, planted in SINGLE.items():
        check(name, block[name], getattr(expected, planted))
    for name in ("precision", "recall", "ndcg"):
        for k, wanted in (getattr(expected, name) or {}).items():
            check(f"{name}@{k}", block[name][str(k)], wanted)
    for name, planted in PROBES.items():
        check(name, document["utilization_probes"][name], getattr(expected, planted))
    labels = dict(document["error_taxonomy"]["labels"])
    # What is not known to be missed is not counted as missed.
    labels["missed_key_evidence"] += sum(document["coverage"].get("possible_files", {}).values())
    for label, count in expected.taxonomy.items():
        check(label, labels[label], count)
    chunks = document["chunk_level_metrics"]
    check("chunk_recall", chunks["chunk_recall"], expected.chunk_recall)
    check("line_recall", chunks["line_overlap"].get("line_recall"), expected.line_overlap)
    return found


@pytest.mark.parametrize("seed", [1])
def test_every_number_is_the_planted_one(tmp_path, seed):
    plan = simulate_run(tmp_path / "demo", seed=seed)
    (run,) = measure(tmp_path / "demo", tmp_path / "out").runs
    documents = {
        (d.metrics.provenance.config_name, d.metrics.provenance.trial_name): to_builtins(d.metrics)
        for d in run.trials
    }
    assert len(documents) == len(plan.trials)
    wrong = [
        row
        for trial in plan.trials
        for row in differences(trial, documents[trial.config, trial.trial_name])
    ]
    assert wrong == []


def test_the_counts_and_the_pairs_are_the_planted_ones(demo_tree, demo_plan, tmp_path):
    evaluation = measure(demo_tree, tmp_path)
    counts, ledger = evaluation.runs[0].summary.counts, demo_plan.ledger
    assert counts.trials_found == ledger["n_trials"] + ledger["n_excluded"]
    for ours, planted in (
        ("evaluated", "n_evaluated"),
        ("degraded", "n_degraded"),
        ("excluded", "n_excluded"),
        ("without_ground_truth", "n_without_ground_truth"),
        ("computable", "n_computable"),
    ):
        assert getattr(counts, ours) == ledger[planted], ours
    (comparison,) = evaluation.impact.comparisons
    # A trial without a trace is in no pair, whatever its reward.
    blind = {t.task_name for t in demo_plan.trials if t.fate == "degraded" and t.result.reward}
    for name, planted in demo_plan.n_pairs.items():
        is_outcome = name in {"reward", "cost_usd", "elapsed_seconds"}
        wanted = planted - len(blind) if is_outcome else planted
        if name.startswith("ttfr_"):
            # An arm that never reached a file has no time, and is in the pairs as never.
            wanted = demo_plan.n_pairs["file_recall"]
        assert comparison.metrics[name].n_pairs == wanted, name


GATE = {
    # A task that each arm lacks and one open trial leave the gain unclear at their worst.
    None: ("fragile", []),
    Fault.DEAD_MCP_SERVER: ("no_verdict", ["dead_mcp_server"]),
    Fault.CONTAMINATED_BASELINE: ("no_verdict", ["mcp_in_baseline"]),
    Fault.OTHER_MODEL: ("no_verdict", ["model_differs"]),
    Fault.OTHER_HARNESS_VERSION: ("no_verdict", ["harness_version_differs"]),
    Fault.CRASHED_ARM: ("no_verdict", ["crashed_before_start"]),
    Fault.OTHER_GROUND_TRUTH: ("no_verdict", ["task_checksum_differs"]),
    Fault.MISSING_REWARDS: ("no_verdict", ["missing_verifier_result"]),
    Fault.OPAQUE_SHELL: ("no_verdict", ["opaque_share_differs"]),
    # One open trial and the tasks that are lost to other versions could turn it together.
    Fault.TASK_CHECKSUM: ("fragile", []),
    # Recall is better and reward is worse.
    Fault.POOLED_PARADOX: ("fragile", []),
}


@pytest.mark.parametrize("fault", [None, *Fault])
def test_every_planted_fault_is_seen_by_its_rule(tmp_path, fault):
    plan = simulate_run(tmp_path / "demo", fault=fault)
    evaluation = measure(tmp_path / "demo", tmp_path / "out")
    (comparison,) = evaluation.impact.comparisons
    assert (comparison.verdict, list(comparison.gate.failed)) == GATE[fault]
    for side in ("baseline", "comparison"):
        row = getattr(comparison.ledger, side)
        assert row.trials == sum(row.removed.values()) + sum(row.unmatched.values()) + row.used
    documents = {
        d.metrics.provenance.trial_name: to_builtins(d.metrics) for d in evaluation.runs[0].trials
    }
    wrong = [row for t in plan.trials for row in differences(t, documents[t.trial_name])]
    assert wrong == []
    pooled = [a for a in evaluation.impact.associations if a.scope == "pooled"]
    assert pooled[0].retrieval_metric == "file_recall"
    assert pooled[0].sign_change == (fault == Fault.POOLED_PARADOX)
    assert bool(comparison.cautions) == (fault == Fault.POOLED_PARADOX)
