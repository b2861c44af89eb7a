"""What holds of every rule of the validity gate, those of other distributions too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.agents.study import compare
from retrieval_eval.agents.study.frames import rule_title
from retrieval_eval.agents.study.gate import RULES, rule
from retrieval_eval.model import from_builtins
from retrieval_eval.model.impact import ComparisonDocument
from retrieval_eval.report import words
from tests.studies import comparison, document, study

SCHEMA = Path(__file__).parents[4] / "schemas" / "run_impact_analysis_schema.json"

BREAKS = {
    "crashed_before_start": {"exception": {"type": "E", "message": "x"}, "calls": 0},
    "calls_unreadable": {"flags": ["calls_unreadable"]},
    "degraded_trace": {"degraded": "cut"},
    "mcp_in_baseline": {"mcp": 2},
    "dead_mcp_server": {"mcp": 2, "mcp_ok": 0},
    "task_checksum_differs": {"checksum": "another"},
    "ground_truth_differs": {"digest": "another"},
    "model_differs": {"model": "another"},
    "harness_version_differs": {"version": "2"},
    "no_ground_truth": {},
    "missing_verifier_result": {"reward": None},
    "opaque_share_differs": {"shell": 20, "opaque": 20},
    "mcp_role_unclear": {"mcp": 2},
}
"""What every trial of one arm needs so that the rule finds it."""


def broken(name):
    """Return a study of which the rule finds trials of the baseline (or of mcp)."""
    arm = "mcp" if name == "dead_mcp_server" else "baseline"
    rows = [
        document(f"t{i}", c, 0.5, mcp=c == "mcp", checksum="1")
        for i in range(9)
        for c in ("baseline", "mcp")
    ]
    for place, row in enumerate(rows):
        if row["provenance"]["config_name"] == arm:
            fields = {"mcp": arm == "mcp", "checksum": "1"} | BREAKS[name]
            rows[place] = document(row["provenance"]["task_name"], arm, 0.5, **fields)
            if name == "no_ground_truth":
                rows[place]["file_level_metrics"] = {"computable": False, "reason": name}
    if name == "mcp_role_unclear":
        # An arm named for MCP of which few trials called a server.
        for row in rows[3::2]:
            row["ledger"] |= {"mcp_calls": 0, "mcp_calls_ok": 0}
    return rows


def test_every_rule_is_here():
    assert set(BREAKS) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_what_it_is_about_and_has_words_for_it(name):
    found = comparison(broken(name))
    (entry,) = [r for r in found["gate"]["rules"] if r["name"] == name]
    assert entry["count"] > 0
    assert entry["meaning"] == RULES[name].meaning
    assert entry["failed"] == (name != "no_ground_truth")
    assert rule_title(name) == RULES[name].title
    typed = from_builtins(found, ComparisonDocument, "made")
    (entry,) = [r for r in typed.gate.rules if r.name == name]
    clause = words.rule_clause(entry, typed)
    assert RULES[name].clause.format(tasks="9 tasks") in clause


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_nothing_where_nothing_is_wrong(name):
    rows = study(9)
    (entry,) = [r for r in comparison(rows)["gate"]["rules"] if r["name"] == name]
    assert (entry["count"], entry["n_removed"], entry["failed"]) == (0, 0, False)


@pytest.mark.parametrize(("n_crashed", "is_failed"), [(3, False), (4, True)])
def test_a_third_of_an_arm_may_be_removed_and_no_more(n_crashed, is_failed):
    crash = {"exception": {"type": "E", "message": "x"}, "calls": 0}
    rows = [
        document(f"t{i}", c, 0.5, **({"mcp": 1} if c == "mcp" else crash if i < n_crashed else {}))
        for i in range(9)
        for c in ("baseline", "mcp")
    ]
    rules = {row["name"]: row for row in comparison(rows)["gate"]["rules"]}
    assert rules["crashed_before_start"]["n_removed"] == n_crashed
    assert rules["crashed_before_start"]["failed"] == is_failed


def test_rules_have_titles_and_gravities_of_their_own():
    rules = [entry for _, entry in RULES.items()]
    assert len({entry.title for entry in rules}) == len({e.gravity for e in rules}) == len(rules)
    for entry in rules:
        assert ("{tasks}" in entry.clause) == (entry.subject == "tasks")
        assert not entry.meaning.endswith(".")


def test_a_rule_of_another_distribution_removes_reports_and_fails(monkeypatch):
    @rule(meaning="the trial cost too much", title="Too dear", clause="cost too much", is_loss=True)
    def too_dear(check):
        check.remove_each(lambda trial: trial.numbers.get("cost_usd", 0) > 5)

    monkeypatch.setitem(RULES._entries, "too_dear", too_dear)
    rows = study(9)
    rows[0]["outcome"]["cost_usd"] = 9.0
    found = compare(rows, "baseline", "mcp")
    assert found.record.ledger.baseline.removed == {"too_dear": 1}
    assert found.to_json()["excluded"][0]["reason"] == "too_dear"
    for row in rows[::2]:
        row["outcome"]["cost_usd"] = 9.0
    failed = compare(rows, "baseline", "mcp")
    assert "the trial cost too much" in failed.verdict.reason
    assert rule_title("too_dear") == "Too dear"
    said = words.failed_sentence(from_builtins(failed.to_json(), ComparisonDocument, "made"))
    assert said == "9 of 9 trials of baseline cost too much."


def test_the_schema_leaves_room_for_rules_of_others():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert schema["$defs"]["GateRule"]["properties"]["name"]["type"] == "string"
