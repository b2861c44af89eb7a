"""Studies whose plain complete-case mean misleads: each is read as what it can show."""

from __future__ import annotations

import random
import re

import pytest

from retrieval_eval.agents.study.arms import config_pairs
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.schema import faults
from tests.studies import comparison, document, impact_document

ARMS = ("baseline", "mcp")


def rows_of(values, **fields):
    """Return the trials of (task, baseline recall, comparison recall) with fields for both."""
    found = []
    for task, *recalls in values:
        for config, recall in zip(ARMS, recalls, strict=True):
            own = {k: v[task] if isinstance(v, dict) else v for k, v in fields.items()}
            found.append(document(task, config, recall, mcp=3 * (config == "mcp"), **own))
    return found


def clustered(n_clusters, seed, *, shift=0.0, per_cluster=8):
    """Return a study with an effect of each repository on the difference, 0 on the whole."""
    dice = random.Random(seed)
    values, repositories = [], {}
    for c in range(n_clusters):
        effect = dice.gauss(0, 0.15)
        for i in range(per_cluster):
            task = f"t{c}-{i}"
            before = 0.5 - shift / 2 + dice.gauss(0, 0.05)
            after = before + shift + effect + dice.gauss(0, 0.05)
            values.append((task, *(min(1.0, max(0.0, v)) for v in (before, after))))
            repositories[task] = [f"repo-{c}"]
    return rows_of(values, repositories=repositories)


def threat(found, name):
    return next(t for t in found["threats"] if t["name"] == name)


def missing(found):
    """Return by arm how many tasks lack the value, and of how many."""
    said = [t["sentence"] for t in found["threats"] if t["name"] == "lacking_values"]
    found = re.findall(r"(\d+) of (\d+) tasks? with (\w+)", said[0]) if said else []
    return {arm: (int(n), int(of)) for n, of, arm in found}


# Few clusters


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_equal_arms_in_few_repositories_seldom_have_a_verdict(n_clusters):
    studies = (clustered(n_clusters, seed) for seed in range(20))
    verdicts = [comparison(rows, n_resamples=200)["verdict"] for rows in studies]
    # At 5 % no more than three of twenty would be seen in 98 % of such series.
    assert sum(v != "no_detectable_difference" for v in verdicts) <= 3


def test_few_repositories_are_compared_by_their_means_and_said_to_be():
    found = comparison(clustered(5, 1, shift=0.6))
    recall = found["metrics"]["file_recall"]
    assert (recall["cluster_by"], recall["n_clusters"]) == ("repository", 5)
    assert recall["averaged_over"] == "clusters"
    assert found["verdict"] == "better"
    assert "mean of 5 repository means" in found["verdict_reason"]
    assert "the repository means are compared" in threat(found, "few_clusters")["sentence"]
    assert "4 degrees of freedom" in threat(found, "few_clusters")["sentence"]


def test_uneven_repositories_have_an_estimate_inside_its_interval():
    values = [(f"a{i:02}", 0.1, 0.9) for i in range(30)]
    values += [("b", 0.5, 0.55), ("c", 0.5, 0.5), ("c2", 0.5, 0.52)]
    repositories = {task: [task[0]] for task, _, _ in values}
    recall = comparison(rows_of(values, repositories=repositories))["metrics"]["file_recall"]
    # Means of the three repositories: 0.8, 0.05 and 0.01.
    assert recall["mean_difference"] == pytest.approx((0.8 + 0.05 + 0.01) / 3)
    assert recall["ci_low"] < recall["mean_difference"] < recall["ci_high"]
    shown = recall["mean_comparison"] - recall["mean_baseline"]
    assert shown == pytest.approx(recall["mean_difference"])


@pytest.mark.parametrize("n_clusters", [2, 4, 8])
def test_bounds_are_the_mean_difference_where_nothing_is_lacking(n_clusters):
    # One repository of many tasks: the mean over tasks is not that over repositories.
    values = [(f"t{i:02}", 0.1 + i % 3 / 10, 0.3 + i / 40) for i in range(10 + n_clusters)]
    repositories = {task: [f"r{max(0, i - 10)}"] for i, (task, *_) in enumerate(values)}
    found = comparison(rows_of(values, repositories=repositories))
    recall = found["metrics"]["file_recall"]
    assert (recall["n_clusters"], missing(found)) == (n_clusters, {})
    assert recall["bound_low"] == pytest.approx(recall["mean_difference"])
    assert recall["bound_high"] == pytest.approx(recall["mean_difference"])


def test_an_interval_of_few_means_stays_within_the_range_of_a_difference():
    values = [(f"t{c}-{i}", 0.5, 0.9 if c else 0.1) for c in range(2) for i in range(8)]
    repositories = {task: [task[:2]] for task, _, _ in values}
    metrics = comparison(rows_of(values, repositories=repositories))["metrics"]
    assert (metrics["file_recall"]["ci_low"], metrics["file_recall"]["ci_high"]) == (-1.0, 1.0)
    assert metrics["file_recall"]["p_value"] == pytest.approx(1.0)


def test_a_task_without_repository_is_a_cluster_of_its_own():
    rows = clustered(7, 3)
    assert comparison(rows)["metrics"]["file_recall"]["n_clusters"] == 7
    for row in rows:
        if row["provenance"]["task_name"] == "t0-0":
            row["coverage"]["repositories"] = []
    recall = comparison(rows)["metrics"]["file_recall"]
    assert (recall["cluster_by"], recall["n_clusters"]) == ("repository", 8)


@pytest.mark.parametrize(
    "stated",
    [
        lambda cluster, i: [f"repo-{cluster}", f"library-{cluster}-{i}"],
        lambda cluster, i: [f"repo-{cluster}", f"other-{cluster}"][:: -1 if i % 2 else 1],
        lambda cluster, i: [f"repo-{cluster}", f"shared-{i}"][: 1 + i % 2],
        lambda cluster, i: [f"repo-{cluster}", "common"],
        lambda cluster, i: (
            [f"repo-{cluster}"] if i % 2 else [f"repo-{cluster}", f"other-{i}-{cluster}"]
        ),
    ],
    ids=[
        "and another",
        "in another order",
        "and one of another cluster",
        "and one of all",
        "or another",
    ],
)
def test_tasks_that_share_one_of_several_repositories_are_one_cluster(stated):
    rows = clustered(3, 1)
    for row in rows:
        cluster, i = map(int, row["provenance"]["task_name"][1:].split("-"))
        row["coverage"]["repositories"] = stated(cluster, i)
    recall = comparison(rows)["metrics"]["file_recall"]
    assert (recall["cluster_by"], recall["n_clusters"]) == ("repository", 3)


def test_one_suite_of_many_repositories_is_no_cluster():
    rows = clustered(12, 2, shift=0.5, per_cluster=1)
    assert comparison(rows)["metrics"]["file_recall"]["cluster_by"] is None
    for row in rows:
        row["coverage"]["repositories"] = []
    found = comparison(rows)
    recall = found["metrics"]["file_recall"]
    assert (recall["cluster_by"], recall["n_clusters"]) == ("suite", 1)
    assert "none states its repository" in threat(found, "few_clusters")["sentence"]


def test_one_repository_is_what_the_result_is_about():
    found = comparison(clustered(1, 2, shift=0.5, per_cluster=12))
    recall = found["metrics"]["file_recall"]
    assert (recall["cluster_by"], recall["n_clusters"]) == ("repository", 1)
    assert "this repository only" in threat(found, "few_clusters")["sentence"]


# Values that an arm lacks


def informative_loss(how):
    """Return forty tasks on which both arms are equal, without the worst 16 of one arm."""
    values = [(f"t{i:02}", i / 50, i / 50 + (0.05 if i >= 16 else 0.0)) for i in range(40)]
    rows = rows_of(values)
    gone = {f"t{i:02}" for i in range(16)}
    kept = []
    for row in rows:
        is_lost = row["provenance"]["task_name"] in gone
        if row["provenance"]["config_name"] == "mcp" and is_lost:
            if how == "absent":
                continue
            row["coverage"]["degraded_reason"] = "cut"
        kept.append(row)
    return kept


def test_an_arm_without_its_worst_tasks_is_not_plainly_better():
    found = comparison(informative_loss("absent"))
    recall = found["metrics"]["file_recall"]
    assert found["gate"]["failed"] == []
    assert recall["p_value"] < 0.001
    assert found["verdict"] == "fragile"
    assert missing(found) == {"mcp": (16, 40)}
    # 24 differences of 0.05; of the 16 others the baseline has 0 to 15 fiftieths.
    before = sum(i / 50 for i in range(16))
    assert recall["bound_low"] == pytest.approx((24 * 0.05 - before) / 40)
    assert recall["bound_high"] == pytest.approx((24 * 0.05 - before + 16) / 40)
    said = threat(found, "lacking_values")
    assert said["effect"] == "lowers"
    # The mean at which the difference is not clear is above that at which it is 0.
    assert said["overturn"].startswith("if the missing values of mcp average below 0.")
    assert float(said["overturn"][-4:]) > (before - 24 * 0.05) / 16


def test_a_worst_case_of_exactly_nothing_names_no_mean_that_cannot_be():
    # 24 gains of 0.1; a comparison that found nothing on the 8 others would lose 0.3 on each.
    rows = rows_of([(f"t{i:02}", 0.3, 0.4) for i in range(24)])
    rows += rows_of([(f"u{i:02}", 0.3, 0.3) for i in range(8)])[::2]
    found = comparison(rows)
    assert missing(found) == {"mcp": (8, 32)}
    assert found["metrics"]["file_recall"]["bound_low"] == pytest.approx(0.0, abs=1e-9)
    assert found["verdict"] == "fragile"
    said = threat(found, "lacking_values")["sentence"]
    assert said.endswith("so there may be no difference")


def test_where_both_arms_lack_values_the_bounds_are_of_both():
    rows = rows_of([(f"t{i}", 0.4, 0.45) for i in range(10)])
    # The baseline lacks two of ten tasks and the comparison one.
    del rows[19], rows[2], rows[0]
    found = comparison(rows)
    recall = found["metrics"]["file_recall"]
    known = (9 * 0.45 - 8 * 0.4) / 10
    assert missing(found) == {"baseline": (2, 10), "mcp": (1, 10)}
    assert recall["bound_low"] == pytest.approx(known - 0.2)
    assert recall["bound_high"] == pytest.approx(known + 0.1)


def test_crashes_below_a_third_are_lacking_and_one_of_many_overturns_nothing():
    values = [(f"t{i:02}", 0.3, 0.6 + i % 3 / 20) for i in range(20)]
    rows = rows_of(values)
    rows[1]["outcome"]["exception"] = {"type": "Error"}
    rows[1]["ledger"] |= {"calls_seen": 0, "mcp_calls": 0, "mcp_calls_ok": 0}
    found = comparison(rows)
    recall = found["metrics"]["file_recall"]
    assert (missing(found), found["verdict"]) == ({"mcp": (1, 20)}, "better")
    assert recall["bound_low"] < recall["mean_difference"] < recall["bound_high"]
    assert threat(found, "lacking_values")["effect"] == "none"
    assert "if the missing task were the worst of 20" in threat(found, "lacking_values")["sentence"]
    assert "it stays clear" in threat(found, "lacking_values")["sentence"]


def test_a_lost_repeat_is_lacking_in_part():
    rows = rows_of([(f"t{i}", 0.4, 0.5 + i % 2 / 10) for i in range(8)])
    lost = document("t0", "mcp", None, mcp=1, trial="again", degraded="cut")
    recall = comparison([*rows, lost])["metrics"]["file_recall"]
    # Half of the value of one of eight tasks is unknown: 0.5 of 0.5 known, 0 to 0.5 besides.
    rest = sum(0.1 + i % 2 / 10 for i in range(1, 8))
    assert recall["bound_low"] == pytest.approx((rest + 0.25 - 0.4) / 8)
    assert recall["bound_high"] == pytest.approx((rest + 0.75 - 0.4) / 8)


def test_tasks_without_ground_truth_lack_nothing():
    rows = rows_of([(f"t{i}", 0.4, 0.5 + i % 2 / 10) for i in range(8)])
    for config in ARMS:
        row = document("none", config, None, mcp=config == "mcp")
        row["file_level_metrics"]["reason"] = "no_ground_truth"
        rows.append(row)
    found = comparison(rows)
    recall = found["metrics"]["file_recall"]
    assert missing(found) == {}
    assert recall["bound_low"] == pytest.approx(recall["mean_difference"])


def test_metrics_without_a_largest_value_have_no_bounds():
    metrics = comparison(informative_loss("absent"))["metrics"]
    assert metrics["cost_usd"]["bound_low"] is None
    assert metrics["elapsed_seconds"]["bound_high"] is None
    assert metrics["reward"]["bound_low"] is not None


def test_a_loss_can_be_fragile_and_a_view_is_no_surer_than_the_verdict():
    rows = informative_loss("absent")
    for row in rows:
        is_baseline = row["provenance"]["config_name"] == "baseline"
        row["provenance"]["config_name"] = ARMS[is_baseline]
        row["ledger"] |= dict.fromkeys(("mcp_calls", "mcp_calls_ok"), 3 * is_baseline)
    found = comparison(rows)
    assert found["verdict"] == "fragile"
    assert found["metrics"]["file_recall"]["mean_difference"] < 0
    assert "missing values of baseline average below" in threat(found, "lacking_values")["overturn"]
    assert {view["verdict"] for view in found["views"].values()} == {"fragile"}


# Arms not as designed


def used(config, n_used, n_called, n=12, gain=0.0, name=None):
    """Return an arm of which ``n_called`` trials called a server, which answered ``n_used``."""
    return [
        document(
            f"t{i:02}",
            name or config,
            0.3 + i / 50 + gain + gain * (i % 2) / 10,
            mcp=3 * (i < n_called),
            mcp_ok=3 * (i < n_used),
        )
        for i in range(n)
    ]


@pytest.mark.parametrize("names", [("baseline", "mcp"), ("first", "second")])
def test_a_server_that_answered_in_one_trial_of_twelve_is_dead(names):
    rows = used(names[0], 0, 0) + used(names[1], 1, 12, gain=0.2)
    found = comparison(rows)
    assert (found["verdict"], found["gate"]["failed"]) == ("no_verdict", ["dead_mcp_server"])
    detail = next(r for r in found["gate"]["rules"] if r["name"] == "dead_mcp_server")["detail"]
    counts = "an MCP server was called in 12 and answered in 1"
    assert detail == f"11 of 12 trials of {names[1]}: {counts}"
    side = found["ledger"]["comparison"]
    assert (side["ran"], side["mcp_called"], side["mcp_answered"]) == (12, 12, 1)


@pytest.mark.parametrize("control", ["baseline", "first"])
def test_a_control_that_used_the_tool_loses_these_trials_or_its_verdict(control):
    found = comparison(used(control, 4, 4) + used("second", 12, 12, gain=0.3))
    rule = next(r for r in found["gate"]["rules"] if r["name"] == "mcp_in_baseline")
    assert (found["gate"]["failed"], rule["n_removed"]) == ([], 4)
    assert {t["config_name"] for t in rule["trials"]} == {control}
    assert missing(found) == {control: (4, 12)}
    found = comparison(used(control, 5, 5) + used("second", 12, 12, gain=0.3))
    assert (found["verdict"], found["gate"]["failed"]) == ("no_verdict", ["mcp_in_baseline"])


def test_roles_come_from_use_and_a_name_that_disagrees_is_said():
    rows = used("baseline", 12, 12, gain=0.3) + used("ablation", 0, 0)
    assert list(config_pairs(trials_of(rows))) == [("ablation", "baseline")]
    found = comparison(rows)
    assert found["verdict"] == "better"
    assert "is named a baseline, but 12 of 12" in threat(found, "mcp_role")["sentence"]


def test_a_name_that_denies_mcp_does_not_make_a_dead_server():
    found = comparison(used("no-mcp", 0, 0) + used("tool", 12, 12, gain=0.3))
    assert (found["baseline_config"], found["verdict"]) == ("no-mcp", "better")


def test_an_arm_named_for_mcp_that_seldom_called_a_server_has_no_clear_role():
    found = comparison(used("baseline", 0, 0) + used("mcp", 0, 0, gain=0.3))
    assert (found["verdict"], found["gate"]["failed"]) == ("no_verdict", ["dead_mcp_server"])
    found = comparison(used("baseline", 0, 0) + used("mcp", 1, 1, gain=0.3))
    assert (found["verdict"], found["gate"]["failed"]) == ("no_verdict", ["mcp_role_unclear"])
    assert "only 1 of 12 trials of mcp called a server" in str(threat(found, "mcp_role"))


def test_an_arm_in_doubt_is_no_control():
    found = comparison(used("mcp-hybrid", 4, 4) + used("mcp-only", 12, 12, gain=0.3))
    assert found["gate"]["failed"] == ["mcp_role_unclear"]
    assert found["ledger"]["baseline"]["removed"] == {}


def test_what_the_user_states_overrides_use_and_names():
    # Without it, two arms of which one used MCP less often than the other leave no verdict.
    rows = used("one", 12, 12) + used("two", 7, 7, gain=0.3)
    (found,) = impact_document(rows, seed=1)["comparisons"]
    assert found["gate"]["failed"] == ["mcp_role_unclear"]
    (found,) = impact_document(rows, seed=1, mcp_configs=["one"])["comparisons"]
    removed = {rule["name"]: rule["n_removed"] for rule in found["gate"]["rules"]}
    assert removed["mcp_in_baseline"] == 7


@pytest.mark.parametrize("n_used", [1, 5, 7, 11])
def test_an_arm_of_which_some_trials_used_mcp_says_how_many_and_what_these_show(n_used):
    rows = used("one", 0, 0) + used("two", n_used, n_used, gain=0.3)
    (found,) = impact_document(rows, seed=1)["comparisons"]
    said = threat(found, "mcp_role")
    assert (said["value"], said["effect"]) == (n_used, "none")
    assert f"only {n_used} of 12 trials of two called an MCP server" in said["sentence"]
    rest = "without the others 1 matched task is left"
    if n_used > 1:
        rest = f"without the others, over {n_used} matched tasks, +0.3"
    assert rest in said["sentence"]


def test_every_view_is_withheld_with_the_verdict():
    for rows, verdict in (
        (used("one", 0, 0) + used("mcp", 1, 1, gain=0.3), "no_verdict"),
        (used("one", 0, 0, n=5) + used("two", 5, 5, n=5, gain=0.3), "too_few_pairs"),
    ):
        for i, row in enumerate(rows):
            # Under this view the sign is another in each.
            block = row["file_level_metrics"]["views"]["opened"]
            block["file_recall"] = 0.9 - i * 1e-3 - block["file_recall"]
        found = comparison(rows)
        assert found["verdict"] == verdict
        assert {view["verdict"] for view in found["views"].values()} == {verdict}
        assert {flip["kind"] for flip in found["flips"]} == {"sign"}
        assert all("better" not in f["sentence"] for f in found["flips"])


# Scales of reward


def scaled(open_scale=10.0):
    rows = []
    for i in range(16):
        suite, scale = ("unit", 1.0) if i % 2 else ("sums", open_scale)
        for config in ARMS:
            gain = 0.2 * (config == "mcp") + i / 100
            reward = scale * (0.3 + gain)
            rows.append(
                document(
                    f"t{i:02}", config, 0.3 + gain, reward, mcp=config == "mcp", benchmark=suite
                )
            )
    return rows


def test_rewards_of_two_scales_are_given_by_suite_only():
    result = impact_document(scaled(), seed=1)
    (found,) = result["comparisons"]
    reward = found["metrics"]["reward"]
    assert reward["reason"] == "reward_scales_differ"
    assert reward["mean_difference"] is reward["p_value"] is None
    by_suite = {row["benchmark"]: row for row in found["reward_by_suite"]}
    assert by_suite["sums"]["mean_difference"] == pytest.approx(2.0)
    assert by_suite["unit"]["mean_difference"] == pytest.approx(0.2)
    assert by_suite["sums"]["bound_low"] is None
    assert found["metrics"]["cost_usd"]["mean_difference"] is not None
    marks = {row["metric"]: row["status"] for row in found["discrimination"]}
    assert (marks["reward"], marks["file_recall"]) == ("not_computable", "discriminates")
    for row in (*result["associations"], *found["difference_associations"]):
        if row["outcome_metric"] == "reward" and row.get("scope") != "suite":
            assert (row["computable"], row["reason"]) == (False, "reward_scales_differ")
    own = [a for a in result["associations"] if a["scope"] == "suite"]
    pair = ("file_recall", "reward")
    own = [a for a in own if (a["retrieval_metric"], a["outcome_metric"]) == pair]
    assert [a["n"] for a in own] == [16, 16]
    for row in (*result["tiers"], *result["calibration"]):
        assert (row["n"], row["mean_reward"], row["reason"]) == (0, None, "reward_scales_differ")


def test_rewards_from_0_to_1_are_averaged_over_suites():
    found = comparison(scaled(1.0))
    assert found["metrics"]["reward"]["mean_difference"] == pytest.approx(0.2)
    assert found["reward_by_suite"] == []


def test_large_rewards_are_no_faults_where_they_are_common():
    rows = scaled(1.0)
    for row in rows[:6]:
        row["provenance"]["benchmark"] = "unit"
        row["outcome"]["reward"] = 7.0
    for row in rows:
        row["provenance"]["benchmark"] = "one"
    assert comparison(rows)["metrics"]["reward"]["n_pairs"] == 16


# Time to first relevant


def raced(never=6, n=12, late=60.0):
    """Return an arm that is faster where it finds a file, and never does on ``never`` tasks."""
    rows = []
    for i in range(n):
        has_hit = i >= never
        rows.append(document(f"t{i:02}", "baseline", 0.5, hit=late + i))
        rows.append(
            document(f"t{i:02}", "mcp", 0.5 * has_hit, mcp=1, hit=5.0 + i / 2 if has_hit else None)
        )
    return rows


def test_an_arm_that_never_hits_on_half_of_its_tasks_is_named():
    found = comparison(raced())
    time = found["metrics"]["ttfr_seconds"]
    assert (time["n_never_baseline"], time["n_never_comparison"]) == (0, 6)
    assert (time["wins"], time["ties"], time["losses"]) == (6, 0, 6)
    assert "never_hit" not in [t["name"] for t in found["threats"]]


def test_the_faster_arm_that_more_often_finds_nothing_may_be_no_faster():
    design = {"headline": "ttfr_seconds"}
    (found,) = impact_document(raced(), seed=1, design=design)["comparisons"]
    said = threat(found, "never_hit")
    assert (found["verdict"], said["effect"]) == ("fragile", "lowers")
    assert "0 of 12 tasks with baseline and 6 of 12 tasks with mcp" in said["sentence"]
    # One half of the tasks has no hit: every second beyond 71 adds half a second.
    assert said["value"] == pytest.approx(71 + 25.375 / 0.5)


def test_the_restricted_mean_counts_the_tasks_without_a_hit():
    time = comparison(raced())["metrics"]["ttfr_seconds"]
    assert (time["headline"], time["n_pairs"]) == ("restricted_mean", 12)
    # The baseline hits at 60 to 71, the other arm at 8 to 10.5 or never: then 71 counts.
    assert time["until"] == 71
    assert time["mean_baseline"] == 65.5
    assert time["mean_comparison"] == (6 * 9.25 + 6 * 71) / 12
    assert time["estimate"] == time["mean_difference"]


def test_without_any_hit_there_is_no_restricted_mean():
    rows = raced()
    for row in rows:
        row["file_level_metrics"] |= {"never_hit": True, "ttfr_seconds": None}
    time = comparison(rows)["metrics"]["ttfr_seconds"]
    assert (time["n_pairs"], time["reason"], time["estimate"]) == (12, "never_hit", None)


def test_a_hit_of_unknown_time_takes_trials_of_unknown_end_with_it():
    rows = raced()
    rows[0]["file_level_metrics"] |= {"ttfr_seconds": None}
    rows[1]["file_level_metrics"] |= {"censored_at_seconds": 90.0}
    rows[3]["file_level_metrics"] |= {"censored_at_seconds": 90.0}
    time = comparison(rows)["metrics"]["ttfr_seconds"]
    # The first task has a gap in the baseline, 2 to 5 never hit and have no end.
    assert time["n_pairs"] == 12 - 5


def test_arms_that_never_hit_equally_often_on_other_tasks_are_counted():
    rows = raced(never=6, n=24)
    for row in rows:
        number = int(row["provenance"]["task_name"][1:])
        if row["provenance"]["config_name"] == "baseline" and number in range(6, 12):
            row["file_level_metrics"] |= {"never_hit": True, "ttfr_seconds": None}
    found = comparison(rows)
    time = found["metrics"]["ttfr_seconds"]
    assert (time["n_never_baseline"], time["n_never_comparison"]) == (6, 6)


def test_arms_that_never_hit_equally_often_are_timed():
    time = comparison(raced(never=0))["metrics"]["ttfr_seconds"]
    assert (time["n_never_baseline"], time["n_never_comparison"]) == (0, 0)
    assert time["p_value"] < 0.01
    assert time["wins"] == 12


def test_the_document_of_a_doubtful_study_follows_its_schema():
    for rows in (informative_loss("absent"), scaled()):
        result = impact_document(rows, seed=1)
        assert faults(result, "run_impact_analysis") == []
