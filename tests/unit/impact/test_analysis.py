from __future__ import annotations

import copy
import random

import pytest

from retrieval_eval.impact import impact_analysis
from retrieval_eval.impact.pairs import config_pairs, match
from retrieval_eval.schema import faults, stamped


def document(task, config, recall, reward=1.0, *, mcp=0, trial="t", **fields):
    provenance = {
        "run_id": "r",
        "benchmark": fields.pop("benchmark", "suite"),
        "task_name": task,
        "config_name": config,
        "trial_name": trial,
        "batch_timestamp": None,
        "model": fields.pop("model", "m"),
        "harness": "h",
        "harness_version": fields.pop("version", "1"),
    }
    outcome = {"reward": reward, "cost_usd": fields.pop("cost", 1.0)}
    return {
        "provenance": provenance,
        "coverage": {"degraded_reason": None},
        "ledger": {"mcp_calls": mcp},
        "file_level_metrics": {"computable": recall is not None, "file_recall": recall},
        "utilization_probes": {},
        "outcome": outcome,
    }


def study(n=8):
    rows = []
    for i in range(n):
        rows.append(document(f"task-{i}", "baseline", i / 10, reward=i / 10))
        rows.append(document(f"task-{i}", "mcp", i / 10 + 0.1 + i % 2 / 10, reward=0.5, mcp=3))
    return rows


def comparison(rows, seed=1):
    (found,) = impact_analysis(rows, seed=seed)["comparisons"]
    return found


def test_a_matched_comparison_by_hand():
    found = comparison(study(8))
    recall = found["metrics"]["file_recall"]
    assert (found["baseline_config"], found["comparison_config"]) == ("baseline", "mcp")
    assert found["n_pairs"] == 8
    assert recall["mean_difference"] == pytest.approx(0.15)
    assert recall["median_difference"] == pytest.approx(0.15)
    assert (recall["wins"], recall["ties"], recall["losses"]) == (8, 0, 0)
    assert recall["p_value"] == pytest.approx(2 / 2**8)
    assert recall["ci_low"] < 0.15 < recall["ci_high"]


def test_direction_is_per_metric_so_that_dearer_is_no_win():
    rows = [
        document(f"t{i}", c, 0.5, cost=1 + (c == "mcp"))
        for i in range(4)
        for c in ("baseline", "mcp")
    ]
    cost = comparison(rows)["metrics"]["cost_usd"]
    assert cost["direction"] == "lower_is_better"
    assert (cost["wins"], cost["losses"], cost["mean_difference"]) == (0, 4, 1.0)


def test_below_three_pairs_there_is_no_statistic_and_below_six_no_p_value():
    two = comparison(study(2))
    assert not two["computable"]
    assert two["reason"] == "too_few_pairs"
    assert two["metrics"]["file_recall"]["mean_difference"] is None
    five = comparison(study(5))["metrics"]["file_recall"]
    assert five["computable"]
    assert five["p_value"] is None


def test_repeats_are_averaged_and_never_count_as_pairs():
    rows = study(6)
    once = comparison(rows)
    repeats = [copy.deepcopy(r) for r in rows for _ in range(3)]
    for number, row in enumerate(repeats):
        row["provenance"]["trial_name"] = f"trial-{number}"
    again = comparison(repeats)
    assert again["metrics"] == once["metrics"]
    assert [p["n_trials_baseline"] for p in again["pairs"]] == [3] * 6


def test_input_order_does_not_matter():
    rows = study(9)
    shuffled = rows[:]
    random.Random(3).shuffle(shuffled)
    assert impact_analysis(shuffled, seed=1) == impact_analysis(rows, seed=1)


def test_what_is_not_matched_is_named():
    rows = [
        *study(3),
        document("only", "baseline", 0.5),
        document("other-model", "baseline", 0.5, model="small"),
        document("other-model", "mcp", 0.9, model="large"),
        document("other-version", "baseline", 0.5),
        document("other-version", "mcp", 0.9, version="2"),
        document("no-reward", "baseline", 0.5),
        document("no-reward", "mcp", 0.5, reward=None),
        document("task-0", "mcp", 0.5, benchmark="another suite"),
    ]
    found = comparison(rows)
    assert found["n_pairs"] == 3
    reasons = {(e["benchmark"], e["task_name"]): e["reason"] for e in found["excluded"]}
    assert reasons == {
        ("suite", "only"): "only in baseline",
        ("suite", "other-model"): "model or harness version differs",
        ("suite", "other-version"): "model or harness version differs",
        ("suite", "no-reward"): "no valid reward in both",
        ("another suite", "task-0"): "only in mcp",
    }
    assert found["n_pairs"] + len(found["excluded"]) == 8


def test_a_metric_missing_on_one_side_leaves_only_that_metric():
    rows = study(4)
    rows[0]["file_level_metrics"] = {"computable": False, "reason": "no_ground_truth"}
    found = comparison(rows)
    assert found["n_pairs"] == 4
    assert found["metrics"]["file_recall"]["n_pairs"] == 3
    assert found["metrics"]["reward"]["n_pairs"] == 4
    assert found["pairs"][0]["metrics"]["file_recall"]["difference"] is None


def test_every_pair_of_configs_is_compared_baseline_first():
    rows = [document("t", c, 0.5, mcp=m) for c, m in (("mcp", 2), ("zeta", 0), ("Baseline-x", 0))]
    assert list(config_pairs(rows)) == [
        ("Baseline-x", "zeta"),
        ("Baseline-x", "mcp"),
        ("zeta", "mcp"),
    ]
    assert match(rows, "zeta", "mcp").n_tasks_baseline == 1


def test_pooling_that_turns_a_sign_round_is_visible():
    rows = []
    for config, offset in (("baseline", 0.0), ("mcp", 0.5)):
        rows += [
            document(f"t{i}", config, offset + i / 100, reward=0.9 - offset + i / 100)
            for i in range(8)
        ]
    found = impact_analysis(rows, seed=1)["associations"]
    pick = {
        (a["scope"], a["group"]): a["spearman_r"]
        for a in found
        if (a["retrieval_metric"], a["outcome_metric"]) == ("file_recall", "reward")
    }
    assert pick["config", "baseline"] == pytest.approx(1.0)
    assert pick["config", "mcp"] == pytest.approx(1.0)
    assert pick["pooled", None] < 0


def test_a_constant_side_has_no_association_and_does_not_count_in_the_family():
    rows = [document(f"t{i}", "baseline", i / 10, reward=1.0) for i in range(6)]
    result = impact_analysis(rows, seed=1)
    reward = next(
        a
        for a in result["associations"]
        if (a["retrieval_metric"], a["outcome_metric"]) == ("file_recall", "reward")
    )
    assert (reward["computable"], reward["reason"], reward["q_value"]) == (
        False,
        "constant_input",
        None,
    )
    assert result["family"]["m"] == 0
    assert result["family"]["declared"] == 20


def test_the_document_follows_its_schema_and_claims_no_cause():
    result = stamped(impact_analysis(study(7), seed=1), "2026-01-01T00:00:00Z")
    assert faults(result, "run_impact_analysis") == []
    sentences = " ".join(a["interpretation"] for a in result["associations"])
    for word in ("because", "improves", "leads to", "due to", "effect"):
        assert word not in sentences


def test_one_config_alone_gives_no_comparison():
    assert impact_analysis(study(3)[::2], seed=1)["comparisons"] == []
