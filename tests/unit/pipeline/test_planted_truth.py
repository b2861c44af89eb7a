"""The whole pipeline against the demo's planted truth, which another piece of code computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.demo import write_demo
from retrieval_eval.pipeline import evaluate

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

    def check(name, got, wanted):
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
    for name, planted in SINGLE.items():
        check(name, block[name], getattr(expected, planted))
    for name in ("precision", "recall", "ndcg"):
        for k, wanted in getattr(expected, name).items():
            check(f"{name}@{k}", block[name][str(k)], wanted)
    for name, planted in PROBES.items():
        check(name, document["utilization_probes"][name], getattr(expected, planted))
    for label, count in expected.taxonomy.items():
        check(label, document["error_taxonomy"]["labels"][label], count)
    chunks = document["chunk_level_metrics"]
    check("chunk_recall", chunks["chunk_recall"], expected.chunk_recall)
    check("line_recall", chunks["line_overlap"].get("line_recall"), expected.line_overlap)
    return found


@pytest.mark.parametrize("seed", [20260101, 1, 2])
def test_every_number_is_the_planted_one(tmp_path, seed):
    plan = write_demo(tmp_path / "demo", seed=seed)
    (run,) = measure(tmp_path / "demo", tmp_path / "out").runs
    documents = {
        (d.metrics["provenance"]["config_name"], d.metrics["provenance"]["trial_name"]): d.metrics
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
    counts, ledger = evaluation.runs[0].summary["counts"], demo_plan.ledger
    assert counts["trials_found"] == ledger["n_trials"] + ledger["n_excluded"]
    for ours, planted in (
        ("evaluated", "n_evaluated"),
        ("degraded", "n_degraded"),
        ("excluded", "n_excluded"),
        ("without_ground_truth", "n_without_ground_truth"),
        ("computable", "n_computable"),
    ):
        assert counts[ours] == ledger[planted], ours
    (comparison,) = evaluation.impact["comparisons"]
    for name, planted in demo_plan.n_pairs.items():
        assert comparison["metrics"][name]["n_pairs"] == planted, name
