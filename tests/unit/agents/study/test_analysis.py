from __future__ import annotations

import math

import pytest

from retrieval_eval.agents.study import compare as rev_compare
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.study.arms import MOST_CONFIGS, config_pairs, pairs_to_compare
from retrieval_eval.agents.study.stated import stated_from
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.report import words
from retrieval_eval.schema import faults
from tests.studies import comparison, document, impact_document, study


def test_a_matched_comparison_by_hand():
    found = comparison(study(8))
    recall = found["metrics"]["file_recall"]
    assert (found["baseline_config"], found["comparison_config"]) == ("baseline", "mcp")
    assert found["n_pairs"] == 8
    assert recall["mean_difference"] == pytest.approx(0.15)
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
    assert five["mean_difference"] is not None
    assert five["p_value"] is None


def test_what_is_not_matched_is_named():
    rows = [
        *study(12),
        document("only", "baseline", 0.5),
        document("other-model", "baseline", 0.5, model="small"),
        document("other-model", "mcp", 0.9, mcp=1, model="large"),
        document("other-version", "baseline", 0.5),
        document("other-version", "mcp", 0.9, mcp=1, version="2"),
        document("no-reward", "baseline", 0.5),
        document("no-reward", "mcp", 0.5, mcp=1, reward=None),
        document("task-0", "mcp", 0.5, mcp=1, benchmark="another suite"),
    ]
    found = comparison(rows)
    assert found["n_pairs"] == 13
    reasons = {(e["benchmark"], e["task_name"]): e["reason"] for e in found["excluded"]}
    assert reasons == {
        ("suite", "only"): "only in baseline",
        ("suite", "other-model"): "model_differs",
        ("suite", "other-version"): "harness_version_differs",
        ("another suite", "task-0"): "only in mcp",
    }
    assert found["metrics"]["file_recall"]["n_pairs"] == 13
    assert found["metrics"]["reward"]["n_pairs"] == 12


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
    assert list(config_pairs(trials_of(rows))) == [
        ("Baseline-x", "zeta"),
        ("Baseline-x", "mcp"),
        ("zeta", "mcp"),
    ]


def many_configs(n):
    """Return trials of ``n`` configurations; every third has a task of its own only."""
    return [
        document("own" if i % 3 == 2 else "shared", f"c{i:02d}", 0.5, reward=1.0) for i in range(n)
    ]


def test_of_many_configurations_each_is_compared_with_the_first_that_shares_a_task():
    trials = trials_of(many_configs(MOST_CONFIGS + 4))
    few = pairs_to_compare([t for t in trials if int(t.config_name[1:]) < MOST_CONFIGS])
    assert len(few.pairs) == few.n_all == 190
    assert few.left_out is None
    found = pairs_to_compare(trials)
    assert found.n_all == 276
    assert len(found.pairs) == 22  # all but the first of either task
    assert {first for first, _ in found.pairs} == {"c00", "c02"}
    assert found.left_out.n_compared == 22
    assert found.left_out.sentence.startswith("22 of 276 pairs of configurations are compared")


def test_of_many_configurations_stated_ones_are_compared_first():
    trials = trials_of(many_configs(24))
    meant = {"arms": {"c07": {"role": "treatment"}, "c10": {"role": "control"}}}
    found = pairs_to_compare(trials, stated_from(meant))
    assert found.pairs[0] == ("c10", "c07")
    assert len(set(map(frozenset, found.pairs))) == len(found.pairs) == 22
    assert {first for first, _ in found.pairs} == {"c10", "c02"}


def test_a_document_of_many_configurations_says_what_it_leaves_out():
    rows = many_configs(22)
    found = impact_document(rows, seed=1)
    assert len(found["comparisons"]) == found["pairs_left_out"]["n_compared"] == 20
    assert found["pairs_left_out"]["n_pairs"] == 231
    asked = impact_document(rows, seed=1, pairs=[("c00", "c21")])
    assert len(asked["comparisons"]) == 1
    assert "pairs_left_out" not in asked
    assert rev_compare(rows, "c03", "c04").record.n_pairs == 1
    table = rev_compare(rows).every_pair
    assert table.attrs["left_out"] == found["pairs_left_out"]["sentence"]
    assert words.every_pair(table).startswith("20 of 231 pairs of configurations: ")


def test_a_sign_that_pooling_reverses_is_visible():
    rows = []
    for config, offset in (("baseline", 0.0), ("mcp", 0.5)):
        rows += [
            document(f"t{i}", config, offset + i / 100, reward=0.9 - offset + i / 100)
            for i in range(8)
        ]
    pick = {
        (a["scope"], a["group"]): a
        for a in impact_document(rows, seed=1)["associations"]
        if (a["retrieval_metric"], a["outcome_metric"]) == ("file_recall", "reward")
    }
    assert pick["config", "baseline"]["spearman_r"] == pytest.approx(1.0)
    assert pick["config", "mcp"]["spearman_r"] == pytest.approx(1.0)
    pooled = pick["pooled", None]
    assert (pooled["spearman_r"] < 0, pooled["sign_change"]) == (True, True)
    assert "the other sign" in pooled["interpretation"]


def test_a_constant_side_has_no_association_and_does_not_count_in_the_family():
    rows = [document(f"t{i}", "baseline", i / 10, reward=1.0) for i in range(6)]
    result = impact_document(rows, seed=1)
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
    result = impact_document(study(7), seed=1)
    assert faults(result, "run_impact_analysis") == []
    sentences = " ".join(a["interpretation"] for a in result["associations"])
    for word in ("because", "improves", "leads to", "due to", "effect"):
        assert word not in sentences


def rules(found):
    return {rule["name"]: rule for rule in found["gate"]["rules"]}


def adds_up(found):
    for side in ("baseline", "comparison"):
        row = found["ledger"][side]
        parts = sum(row["removed"].values()) + sum(row["unmatched"].values()) + row["used"]
        assert row["trials"] == parts
    return True


def test_a_clear_gain_a_clear_loss_and_nothing():
    better = comparison(study(12))
    assert (better["verdict"], better["gate"]["failed"]) == ("better", [])
    swapped = [
        r | {"provenance": r["provenance"] | {"config_name": c}} for r, c in _swapped(study(12))
    ]
    assert comparison(swapped)["verdict"] == "worse"
    same = [
        document(f"t{i}", c, 0.5 + (i % 2) / 10 * (c == "mcp"), mcp=c == "mcp")
        for i in range(4)
        for c in ("baseline", "mcp")
    ]
    assert comparison(same)["verdict"] == "too_few_pairs"
    flat = [
        document(f"t{i}", c, 0.5 + ((-1) ** i) / 10 * (c == "mcp"), mcp=c == "mcp")
        for i in range(12)
        for c in ("baseline", "mcp")
    ]
    assert comparison(flat)["verdict"] == "no_detectable_difference"


def _swapped(rows):
    for row in rows:
        is_baseline = row["provenance"]["config_name"] == "baseline"
        ledger = row["ledger"] | {"mcp_calls": 3 * is_baseline, "mcp_calls_ok": 3 * is_baseline}
        yield row | {"ledger": ledger}, "mcp" if is_baseline else "baseline"


def test_of_three_configurations_those_that_cannot_be_told_apart_are_grouped():
    rows = []
    for i in range(20):
        for config, gain in (("a", 0.0), ("b", 0.01 * (-1) ** i), ("c", 0.4 + i % 3 / 50)):
            rows.append(document(f"t{i:02}", config, 0.4 + gain))
    found = impact_analysis(rows, seed=1)
    assert {(c.baseline_config, c.comparison_config, c.verdict) for c in found.comparisons} == {
        ("a", "b", "no_detectable_difference"),
        ("a", "c", "better"),
        ("b", "c", "better"),
    }
    assert found.groups == (("a", "b"), ("c",))
    assert impact_analysis(rows, seed=1, pairs=[("a", "b")]).groups == ()


def test_only_a_broken_trace_removes_a_degraded_trial():
    rows = study(9)
    for row, sources in zip(rows[1::2], (["outcome"], ["ground_truth"], ["trace"]), strict=False):
        row["coverage"] |= {"degraded_reason": "broken", "degraded_sources": sources}
    found = comparison(rows)
    assert rules(found)["degraded_trace"]["count"] == 1
    assert found["n_pairs"] == 8


def test_tasks_without_ground_truth_count_for_outcomes_and_say_so():
    rows = study(9)
    for row in rows[:4]:
        row["file_level_metrics"] = {"computable": False, "reason": "no_ground_truth"}
    found = comparison(rows)
    assert (found["gate"]["failed"], found["n_pairs"]) == ([], 9)
    assert rules(found)["no_ground_truth"]["count"] == 4
    assert rules(found)["no_ground_truth"]["n_removed"] == 0
    assert (found["metrics"]["file_recall"]["n_pairs"], found["metrics"]["reward"]["n_pairs"]) == (
        7,
        9,
    )
    for side in ("baseline", "comparison"):
        assert found["ledger"][side]["outcomes_only"] == {"no_ground_truth": 2}
    assert adds_up(found)


def test_a_contaminated_baseline_is_found_whichever_arm_is_named_first():
    rows = study(12)
    rows[0]["ledger"] |= {"mcp_calls": 2, "mcp_calls_ok": 2}
    for pair in (("baseline", "mcp"), ("mcp", "baseline")):
        (found,) = impact_document(rows, seed=1, pairs=[pair])["comparisons"]
        assert rules(found)["mcp_in_baseline"]["n_removed"] == 1


def test_another_task_version_is_no_pair():
    rows = study(12)
    for number, row in enumerate(rows):
        row["outcome"]["task_checksum"] = f"sum-{number // 2}"
    rows[1]["outcome"]["task_checksum"] = "edited"
    rows[3]["coverage"]["ground_truth_digest"] = "edited"
    found = comparison(rows)
    assert found["n_pairs"] == 10
    assert {e["reason"] for e in found["excluded"]} == {
        "task_checksum_differs",
        "ground_truth_differs",
    }
    assert adds_up(found)


def test_a_trial_of_unknown_version_does_not_hide_that_the_others_differ():
    rows = [
        *study(12),
        document("x", "baseline", 0.5, checksum="one", trial="1"),
        document("x", "baseline", 0.5, checksum=None, trial="2"),
        document("x", "mcp", 0.5, mcp=1, checksum="two"),
        document("y", "baseline", 0.5, checksum="one", trial="1"),
        document("y", "baseline", 0.5, checksum=None, trial="2"),
        document("y", "mcp", 0.5, mcp=1, checksum="one"),
    ]
    found = comparison(rows)
    (rule,) = [r for r in found["gate"]["rules"] if r["name"] == "task_checksum_differs"]
    assert (rule["count"], rule["n_removed"]) == (2, 2)
    assert found["n_pairs"] == 13
    (row,) = found["excluded"]
    assert (row["task_name"], row["reason"]) == ("x", "task_checksum_differs")
    assert found["ledger"]["baseline"]["unmatched"] == {"no valid trial in the other arm": 1}


def test_missing_rewards_leave_recall_comparable_until_an_arm_has_few():
    rows = study(12)
    rows[1]["outcome"]["reward"] = None
    found = comparison(rows)
    assert (found["gate"]["failed"], found["n_pairs"]) == ([], 12)
    assert found["metrics"]["reward"]["n_pairs"] == 11
    for row in rows[1::2]:
        row["outcome"]["reward"] = None
    found = comparison(rows)
    assert found["gate"]["failed"] == ["missing_verifier_result"]
    assert rules(found)["missing_verifier_result"]["detail"] == "12 of 12 valid trials of mcp"


def test_a_reward_off_its_scale_is_not_computable():
    rows = study(8)
    rows[0]["outcome"]["reward"] = 37.0
    assert comparison(rows)["metrics"]["reward"]["n_pairs"] == 7
    for row in rows:
        row["outcome"]["reward"] = 3.0
    assert comparison(rows)["metrics"]["reward"]["n_pairs"] == 8


def test_a_conclusion_that_changes_under_another_view_is_listed():
    rows = study(12)
    for row in rows[1::2]:
        row["file_level_metrics"]["views"]["opened"]["file_recall"] = 0.0
    for row in rows:
        # A better reward would make a worse recall fragile.
        row["outcome"]["reward"] = 0.5
    found = comparison(rows)
    flips = {(f["metric"], f["view"]): f for f in found["flips"]}
    assert flips["file_recall", "opened"]["kind"] == "verdict"
    assert "under opened" in flips["file_recall", "opened"]["sentence"]
    assert found["views"]["opened"]["verdict"] == "worse"


def test_metrics_that_cannot_discriminate_are_marked():
    rows = study(12)
    for number, row in enumerate(rows):
        block = row["file_level_metrics"]
        block["mrr"] = block["file_recall"] * 2
        block["context_efficiency"] = 1.0 if number else 0.5
        row["outcome"]["cost_usd"] = 0.25
    marks = {d["metric"]: d for d in comparison(rows)["discrimination"]}
    assert marks["file_recall"]["status"] == "discriminates"
    assert (marks["mrr"]["status"], marks["mrr"]["with"]) == ("redundant", "file_recall")
    assert marks["context_efficiency"]["status"] == "saturated"
    assert marks["cost_usd"]["status"] == "constant"
    assert marks["ttfr_seconds"]["status"] == "not_computable"


def test_a_larger_change_of_recall_that_goes_with_a_larger_change_of_reward():
    rows = []
    for i in range(8):
        rows.append(document(f"t{i}", "baseline", 0.1, reward=0.2))
        rows.append(document(f"t{i}", "mcp", 0.1 + i / 10, reward=0.2 + i / 20, mcp=1))
    found = comparison(rows)["difference_associations"]
    first = next(
        a
        for a in found
        if (a["retrieval_metric"], a["outcome_metric"]) == ("file_recall", "reward")
    )
    assert first["spearman_r"] == pytest.approx(1.0)
    assert "the change of file recall" in first["interpretation"]


def test_slices_have_their_n_and_small_cells_are_not_interpreted():
    rows = [
        *study(6),
        document("x", "baseline", 0.1, benchmark="tiny"),
        document("x", "mcp", 0.2, mcp=1, benchmark="tiny"),
    ]
    cells = {(s["dimension"], s["level"]): s for s in comparison(rows)["slices"]}
    assert cells["suite", "suite"]["n_pairs"] == 6
    assert cells["suite", "suite"]["interpretable"]
    assert not cells["suite", "tiny"]["interpretable"]
    assert cells["candidate_set_size", "medium"]["n_pairs"] == 7
    for dimension in ("suite", "evidence_type", "n_ground_truth_files", "n_repositories"):
        assert sum(s["n_pairs"] for (d, _), s in cells.items() if d == dimension) == 7


def test_tiers_and_calibration_count_every_task_once():
    rows = [document(f"t{i}", "baseline", i / 10, reward=i / 10) for i in range(10)]
    result = impact_document(rows, seed=1)
    tiers = [t for t in result["tiers"] if t["config_name"] == "baseline"]
    assert [t["n"] for t in tiers] == [1, 4, 5, 0]
    assert tiers[1]["mean_reward"] == pytest.approx((0.1 + 0.2 + 0.3 + 0.4) / 4)
    assert tiers[3]["mean_reward"] is None


def test_calibration_is_by_expected_files_opened_and_the_two_slices():
    rows = []
    for i, opened in enumerate((0.0, 0.5, 0.5, 1.0, 1.0, 1.0)):
        row = document(f"t{i}", "baseline", 1.0, reward=i / 10, opened=opened)
        sizes = {"candidate_set_count": 3 if i < 3 else 40, "evidence_type": "local"}
        row["error_taxonomy"] = {"slices": sizes}
        rows.append(row)
    found = impact_document(rows, seed=1)["calibration"]
    cells = {(c["dimension"], c["level"], c["opened"]): c["n"] for c in found}
    assert cells == {
        ("all", "all", "none"): 1,
        ("all", "all", "some"): 2,
        ("all", "all", "all"): 3,
        ("candidate_set_size", "small", "none"): 1,
        ("candidate_set_size", "small", "some"): 2,
        ("candidate_set_size", "small", "all"): 0,
        ("candidate_set_size", "large", "none"): 0,
        ("candidate_set_size", "large", "some"): 0,
        ("candidate_set_size", "large", "all"): 3,
        ("evidence_type", "local", "none"): 1,
        ("evidence_type", "local", "some"): 2,
        ("evidence_type", "local", "all"): 3,
    }
    every = next(c for c in found if (c["dimension"], c["opened"]) == ("all", "all"))
    assert every["mean_reward"] == pytest.approx(0.4)


def test_never_hit_stays_in_the_denominator():
    rows = [
        document(f"t{i}", "baseline", 0.5 * (i < 6), hit=float(i + 1) if i < 6 else None)
        for i in range(8)
    ]
    for row in rows[6:]:
        row["file_level_metrics"]["censored_at_seconds"] = 50.0
    found = impact_document(rows, seed=1)["time_to_first_relevant"]
    seconds = next(t for t in found if t["unit"] == "seconds")
    assert (seconds["n"], seconds["n_hit"], seconds["n_never"]) == (8, 6, 2)
    assert seconds["median"] == 4.0
    assert seconds["share_never"] == 0.25
    assert seconds["curve"][-1] == [6.0, pytest.approx(0.75)]
    tokens = next(t for t in found if t["unit"] == "tokens")
    assert (tokens["n"], tokens["median"]) == (0, None)


def test_who_never_looked_never_found_one():
    rows = [document(f"t{i}", "baseline", 0.5, hit=float(i + 1)) for i in range(4)]
    for i in range(4, 7):
        rows.append(document(f"t{i}", "baseline", 0.0))
        rows[i]["event_summary"] = {"total_events": 0}
        rows[i]["outcome"]["elapsed_seconds"] = 60.0 if i < 6 else None
    found = impact_document(rows, seed=1)["time_to_first_relevant"]
    seconds = next(t for t in found if t["unit"] == "seconds")
    # How long the seventh took is unknown, and does not matter.
    assert (seconds["n"], seconds["n_hit"], seconds["n_never"]) == (7, 4, 3)
    assert seconds["curve"][-1] == [4.0, pytest.approx(4 / 7)]


def test_a_difference_that_is_the_same_everywhere_is_one_although_it_has_no_interval():
    rows = [
        document(f"t{i}", c, 0.25 + 0.5 * (c == "mcp"), mcp=c == "mcp")
        for i in range(8)
        for c in ("baseline", "mcp")
    ]
    found = comparison(rows)
    assert found["metrics"]["file_recall"]["reason"] == "constant_input"
    assert found["verdict"] == "better"
    for row in rows:
        row["file_level_metrics"]["file_recall"] = 0.5
    assert comparison(rows)["verdict"] == "no_detectable_difference"


def test_a_metric_that_some_tasks_lack_is_clustered_by_those_that_have_it():
    # Ten tasks with recall in five repositories of one suite, four without in two more: seven
    # repositories can be resampled, of the five that have recall the means are compared.
    rows = []
    for i in range(14):
        for config, gain in (("baseline", 0.0), ("mcp", 0.2 + i / 100)):
            recall = 0.2 + i / 50 + gain if i < 10 else None
            row = document(
                f"t{i:02}", config, recall, mcp=config == "mcp", repositories=[f"repo-{i // 2}"]
            )
            row["file_level_metrics"]["reason"] = None if i < 10 else "no_ground_truth"
            rows.append(row)
    found = comparison(rows)
    recall, cost = (found["metrics"][name] for name in ("file_recall", "cost_usd"))
    assert (recall["n_pairs"], recall["cluster_by"], recall["n_clusters"]) == (10, "repository", 5)
    assert (cost["n_pairs"], cost["cluster_by"], cost["n_clusters"]) == (14, "repository", 7)
    assert found["verdict"] == "better"


def test_thirds_that_cancel_on_paper_turn_no_sign():
    # A third up and a third down leave 2e-17, which is not the other sign of a loss.
    rows = []
    for i in range(8):
        before, after = (2 / 3, 1.0) if i % 2 else (2 / 3, 1 / 3)
        rows.append(document(f"t{i}", "baseline", before, opened=0.6))
        rows.append(document(f"t{i}", "mcp", after, mcp=1, opened=0.55 + i % 2 / 20))
    found = comparison(rows)
    default, opened = (found["views"][v]["file_recall"] for v in ("accessed", "opened"))
    assert 0 < default["mean_difference"] < 1e-15
    assert opened["mean_difference"] == pytest.approx(-0.025)
    assert found["flips"] == []


def test_changes_that_are_alike_on_paper_share_their_rank():
    # Nine changes by a third, written in three ways, and one task that did not change.
    sides = [(2 / 3, 1.0), (1 / 3, 2 / 3), (0.0, 1 / 3)]
    rows = []
    for i in range(9):
        before, after = sides[i % 3]
        rows.append(document(f"t{i}", "baseline", before, reward=0.0))
        rows.append(document(f"t{i}", "mcp", after, reward=i / 10, mcp=1))
    rows += [document("t9", "baseline", 0.5, reward=0.0), document("t9", "mcp", 0.5, mcp=1)]
    first = comparison(rows)["difference_associations"][0]
    assert (first["retrieval_metric"], first["outcome_metric"]) == ("file_recall", "reward")
    # Nine changes of recall share rank 6, the tenth has rank 1 and the largest change of reward:
    # deviations of recall square to 22.5, of reward to 82.5, and their products sum to -22.5.
    assert first["spearman_r"] == pytest.approx(-22.5 / math.sqrt(22.5 * 82.5))


def test_a_small_p_value_is_a_bound_in_the_reason_of_the_verdict():
    found = comparison(study(16))
    assert found["metrics"]["file_recall"]["p_value"] == 2 / 2**16
    assert found["verdict_reason"].endswith("p < 0.001")


def test_an_excluded_task_names_the_rule_that_left_an_arm_none():
    rows = [
        *study(8),
        document("x", "baseline", 0.5, trial="1", exception="Error", calls=0),
        document("x", "baseline", 0.5, trial="2"),
        document("x", "mcp", 0.5, mcp=1, degraded="the trace breaks off"),
    ]
    (row,) = comparison(rows)["excluded"]
    assert (row["task_name"], row["reason"]) == ("x", "degraded_trace")


def test_confidences_stand_from_high_to_low():
    rows = study(9)
    for i, level in enumerate(["low", "medium", "high"] * 3):
        for row in rows[2 * i : 2 * i + 2]:
            row["coverage"]["ground_truth_confidence"] = level
    levels = [
        s["level"]
        for s in comparison(rows)["slices"]
        if s["dimension"] == "ground_truth_confidence"
    ]
    assert levels == ["high", "medium", "low"]
