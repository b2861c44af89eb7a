"""What describes a whole run uses the trials that the gate let through, and says how many."""

from __future__ import annotations

import pytest

from retrieval_eval.schema import faults
from tests.studies import impact_document
from tests.unit.agents.study.test_analysis import document

WHOLE_RUN = ("associations", "family", "tiers", "calibration", "time_to_first_relevant")


def study(n=12, configs=("baseline", "mcp")):
    return [
        document(
            f"t{i:02d}",
            config,
            recall := (i % 5) / 5 + 0.02 * c,
            reward=(i * 7 % 5) / 5,
            cost=1 + (i * 3 % 7),
            hit=float(i + 1) if recall else None,
            benchmark=f"suite-{i % 2}",
            mcp=config == "mcp" and 3,
        )
        for i in range(n)
        for c, config in enumerate(configs)
    ]


def whole_run(rows, **given):
    result = impact_document(rows, seed=1, **given)
    return {name: result[name] for name in WHOLE_RUN}


def passed(rows, **given):
    found = impact_document(rows, seed=1, **given)["let_through"]
    return {row["config_name"]: (row["n_used"], row["n_trials"], row["removed"]) for row in found}


BAD = {
    "crashed_before_start": {"calls": 0, "exception": "X"},
    "degraded_trace": {"degraded": "agent/trajectory.json: cut"},
    "mcp_in_baseline": {"mcp": 2},
}


@pytest.mark.parametrize("rule", BAD)
def test_a_trial_that_the_gate_removed_counts_nowhere(rule):
    good = study()
    for i in range(2):
        row = document(f"t{i:02d}", "baseline", 1.0, reward=1.0, trial="bad", hit=1.0, **BAD[rule])
        row["provenance"]["benchmark"] = f"suite-{i % 2}"
        good.append(row)
    clean = [row for row in good if row["provenance"]["trial_name"] != "bad"]
    assert whole_run(good) == whole_run(clean)
    assert passed(good) == {"baseline": (12, 14, {rule: 2}), "mcp": (12, 12, {})}
    assert passed(clean) == {"baseline": (12, 12, {}), "mcp": (12, 12, {})}


def test_every_scope_loses_the_removed_trials():
    rows = study()
    rows[0]["coverage"]["degraded_reason"] = "cut"
    reward = [
        a
        for a in impact_document(rows, seed=1)["associations"]
        if (a["retrieval_metric"], a["outcome_metric"]) == ("file_recall", "reward")
    ]
    assert {(a["scope"], a["group"]): a["n"] for a in reward} == {
        ("pooled", None): 23,
        ("config", "baseline"): 11,
        ("config", "mcp"): 12,
        ("suite", "suite-0"): 11,
        ("suite", "suite-1"): 12,
    }


def test_one_configuration_alone_is_checked_by_what_a_trial_says_of_itself():
    rows = study(configs=("baseline",))
    rows[3]["coverage"]["degraded_reason"] = "cut"
    rows[4] = document("t04", "baseline", None, calls=0, exception="X", benchmark="suite-0")
    assert passed(rows) == {"baseline": (10, 12, {"crashed_before_start": 1, "degraded_trace": 1})}
    assert whole_run(rows) == whole_run([r for i, r in enumerate(rows) if i not in (3, 4)])


def test_a_configuration_without_a_name_is_counted_too():
    rows = study(4, configs=("",))
    assert passed(rows) == {"": (4, 4, {})}


def test_what_one_comparison_removes_and_another_lets_through_counts():
    rows = study(configs=("baseline", "mcp", "other"))
    for row in rows:
        name, task = row["provenance"]["config_name"], row["provenance"]["task_name"]
        # Two tasks of the third arm ran with the model of the baseline, the others with another.
        row["provenance"]["model"] = "n" if name == "mcp" and task in ("t00", "t01") else "m"
    assert passed(rows) == {
        "baseline": (12, 12, {}),
        "mcp": (10, 12, {"model_differs": 2}),
        "other": (12, 12, {}),
    }
    for row in rows:
        if row["provenance"]["task_name"] == "t00" and row["provenance"]["config_name"] == "other":
            row["provenance"]["model"] = "n"
    assert passed(rows)["mcp"] == (11, 12, {"model_differs": 1})
    # With one pair chosen, the gate of that pair decides for its arms.
    assert passed(rows, pairs=[("baseline", "mcp")])["mcp"] == (10, 12, {"model_differs": 2})
    assert passed(rows, pairs=[("baseline", "mcp")])["other"] == (12, 12, {})


def test_nothing_left_is_not_computable_and_no_fault():
    rows = study(4)
    for row in rows:
        row["coverage"]["degraded_reason"] = "cut"
    result = impact_document(rows, seed=1)
    assert not any(a["computable"] for a in result["associations"])
    assert {a["n"] for a in result["associations"]} == {0}
    assert {t["n"] for t in result["tiers"]} <= {0}
    assert passed(rows) == {c: (0, 4, {"degraded_trace": 4}) for c in ("baseline", "mcp")}
    assert faults(result, "run_impact_analysis") == []


def test_a_group_of_which_nothing_is_left_says_so():
    rows = study()
    for row in rows:
        if row["provenance"]["benchmark"] == "suite-1":
            row["coverage"]["degraded_reason"] = "cut"
    found = impact_document(rows, seed=1)["associations"]
    groups = {(a["scope"], a["group"]): (a["n"], a["computable"], a["reason"]) for a in found}
    assert groups["suite", "suite-1"] == (0, False, "too_few_values")
    assert {group for scope, group in groups if scope == "config"} == {"baseline", "mcp"}


def test_what_the_user_states_of_the_arms_decides_what_counts():
    rows = study(configs=("baseline",))
    rows += [document(f"t{i:02d}", "mcp", i / 20, mcp=3 if i % 2 else 0) for i in range(12)]
    for row in rows[12:]:
        row["provenance"]["benchmark"] = f"suite-{int(row['provenance']['task_name'][1:]) % 2}"
    rows[0]["ledger"].update(mcp_calls=2, mcp_calls_ok=2)
    stated = impact_document(rows, seed=1, mcp_configs=["mcp"])
    (comparison,) = stated["comparisons"]
    counted = {row["config_name"]: row["removed"] for row in stated["let_through"]}
    assert counted["baseline"] == {"mcp_in_baseline": 1}
    assert counted == {
        comparison[f"{side}_config"]: comparison["ledger"][side]["removed"]
        for side in ("baseline", "comparison")
    }
