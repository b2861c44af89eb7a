"""Sentences of the answer and findings of the sections, for every case."""

from __future__ import annotations

import pandas as pd
import pytest
from msgspec.structs import replace

import retrieval_eval as rev
from retrieval_eval.agents.study import Comparison
from retrieval_eval.agents.study.gate import RULES as GATE_RULES
from retrieval_eval.agents.study.trials import from_document
from retrieval_eval.model.design import ArmDesign, Design
from retrieval_eval.model.impact import (
    ComparisonDocument,
    Discrimination,
    LetThrough,
    MatchedPair,
    PairSlice,
    PairValues,
    Threat,
)
from retrieval_eval.report import words
from retrieval_eval.report.table.estimates import estimate_notes
from retrieval_eval.report.words import VERDICTS
from tests.report.made import arm, comparison, flip, gate, ledger, result, rule
from tests.studies import document

RESULT = result()
FALL = PairValues(baseline=0.5, comparison=0.0, difference=-0.5)
WORST = MatchedPair(benchmark="s", task_name="fix-017", metrics={"file_recall": FALL})
COMPARISON = replace(comparison(), pairs=(WORST,))
DESIGN = Design(
    arms=(ArmDesign(config_name="base"), ArmDesign(config_name="mcp", must_use=("mcp",))),
    unit="task",
    cluster="suite",
    missing="unknown",
    headline="file_recall",
    margin=None,
    alpha=0.05,
    family="stated_pair",
    is_sequential=False,
)


def study_of(record: ComparisonDocument, trials=()) -> Comparison:
    return Comparison(record.baseline_config, record.comparison_config, record, tuple(trials))


def answer(record: ComparisonDocument) -> words.Answer:
    return words.answer(study_of(record))


def said_of(verdict: str = "better", **changes) -> words.Answer:
    """Return the answer on a verdict, with changes to the result."""
    changed = replace(RESULT, **changes)
    return answer(replace(COMPARISON, verdict=verdict, metrics={"file_recall": changed}))


def failing(name: str, *configs: str, count: int | None = None, **given) -> ComparisonDocument:
    """Return the comparison with a gate that failed on a rule which found trials of configs."""
    failed = gate(rule(name, *configs, count=count))
    return replace(COMPARISON, verdict="no_verdict", gate=failed, **given)


def length(said: words.Answer) -> int:
    own = [text for label, text in said.points if label not in ("Threat", "Note", "Design")]
    return len(" ".join([*said.sentences, *own]).split())


def point(said: words.Answer, label: str) -> str:
    (text,) = [text for name, text in said.points if name == label]
    return text


def test_better_says_how_much_how_sure_where_it_hurt_and_what_was_left_out():
    said = said_of("better")
    assert said.tone == "better"
    assert said.title == "Better: file recall is 0.05 higher with mcp"
    (_, estimate), (_, trust) = said.points
    assert estimate == (
        "+0.05, 95 % interval [+0.02, +0.08], p 0.010, over 142 matched tasks: 0.53 with base, "
        "0.58 with mcp. It rose on 87 tasks, stayed on 11 and fell on 44; the largest fall was "
        "fix-017 (−0.50)."
    )
    # 142 + 146 used of 150 + 160; degraded 3 + 12, crashed 2, unmatched 5.
    assert trust == (
        "288 of 310 trials form 142 matched tasks; left out: degraded trace (15), no valid trial "
        "in the other arm (5), crashed before the agent ran (2)."
    )


def test_trust_says_which_matched_tasks_have_no_recall():
    one = arm(22, {}, {}, 22, outcomes_only={"no_ground_truth": 1})
    comparison = replace(
        COMPARISON,
        n_pairs=22,
        ledger=ledger(one, one),
        metrics={"file_recall": replace(RESULT, n_pairs=21)},
    )
    assert words.trust(comparison) == (
        "44 of 44 trials form 22 matched tasks (21 with file recall, 1 for outcomes only); no "
        "trial was left out."
    )


def test_trust_does_not_blame_the_ground_truth_for_every_task_without_recall():
    # One task has no ground truth; another has one, but no answer that could be resolved.
    one = arm(22, {}, {}, 22, outcomes_only={"no_ground_truth": 1})
    comparison = replace(
        COMPARISON,
        n_pairs=22,
        ledger=ledger(one, one),
        metrics={"file_recall": replace(RESULT, n_pairs=20)},
    )
    assert "(20 with file recall, 2 for outcomes only)" in words.trust(comparison)


def test_trust_when_no_trial_is_left():
    gone = arm(5, {"model_differs": 5}, {}, 0)
    comparison = replace(COMPARISON, n_pairs=0, ledger=ledger(gone, gone), metrics={})
    assert words.trust(comparison) == (
        "None of 10 trials has a valid partner under the other one; left out: another model (10)."
    )


def test_worse():
    said = said_of("worse", estimate=-0.05, ci_low=-0.08, ci_high=-0.02)
    assert said.tone == "worse"
    assert said.title == "Worse: file recall is 0.05 lower with mcp"


def test_no_detectable_difference_names_the_smallest_that_could_be_shown():
    said = said_of("no_detectable_difference", ci_low=-0.01)
    assert said.tone == "none"
    assert said.title == "No detectable difference in file recall over 142 matched tasks"
    found = "; a true difference of 0.06 would be found in 80 % of such studies. It"
    assert found in point(said, "Estimate")


def test_an_interval_without_zero_beside_no_difference_is_explained():
    said = said_of("no_detectable_difference", p_value=0.051)
    assert "interval and test disagree; a true difference of 0.06" in point(said, "Estimate")


def test_the_verdict_is_the_analysis_s_and_never_the_report_s():
    said = said_of("no_detectable_difference", ci_low=0.04, ci_high=0.06, p_value=0.0001)
    assert said.title.startswith("No detectable difference")


@pytest.mark.parametrize("n", [0, 1, 2])
def test_below_three_pairs_no_number_is_given(n):
    said = said_of("too_few_pairs", n_pairs=n)
    assert said.title == f"Too few matched tasks for a verdict: {n} of at least 6"
    assert "0.05" not in " ".join(said.sentences)
    assert "below 3 no statistic is given" in said.sentences[0]


def test_of_few_pairs_both_sides_of_each_are_given():
    rows = [document("t-1", "a", 0.25), document("t-1", "b", 0.75)]
    said = words.answer_to(rev.compare(rows, "a", "b").record)
    assert point(said, "Known") == "t-1 +0.50 (0.25 to 0.75)."


def test_a_metric_that_few_tasks_moved_says_what_that_does_to_its_interval():
    def notes(n_same: int) -> str:
        after = [0.25] * n_same + [0.5, 0.75, 1.0, 0.5]
        rows = [document(f"t-{i}", "a", 0.25) for i in range(len(after))]
        rows += [document(f"t-{i}", "b", value) for i, value in enumerate(after)]
        return " ".join(estimate_notes(rev.compare(rows, "a", "b").record.metrics))

    assert "File recall: at least half of fewer than 30 tasks show no difference" in notes(6)
    assert "show no difference" not in notes(2)


def test_below_six_pairs_there_is_no_verdict():
    said = said_of("too_few_pairs", n_pairs=5, p_value=None)
    assert said.title == "Too few matched tasks for a verdict: 5 of at least 6"
    assert "below 6 no test can decide" in said.sentences[0]
    assert said.tone == "none"


def test_pairs_without_the_metric_are_told_apart_from_matched_tasks():
    trials = point(said_of(n_pairs=141), "Trials")
    assert "form 142 matched tasks (141 with file recall);" in trials


def test_one_configuration_only():
    trials = [from_document(document(f"t{i}", "base", 0.5 if i else None)) for i in range(3)]
    alone = study_of(replace(COMPARISON, comparison_config=""), trials)
    said = words.answer(alone)
    assert said.title == "One configuration only: nothing to compare"
    assert said.sentences[-1] == "2 of 3 trials, of 3 tasks, could be scored."
    for finding in (words.gate, words.ledger, words.paired):
        assert finding(alone)


def test_a_verdict_that_is_missing_is_no_verdict_with_the_reason():
    said = answer(replace(COMPARISON, verdict="no_verdict", verdict_reason="odd data"))
    assert said.title == "No verdict"
    assert said.sentences[0] == "Odd data."
    assert "0.05" not in " ".join(said.sentences)


RULES = {
    "crashed_before_start": "2 of 150 trials of base crashed before the agent ran.",
    "calls_unreadable": "2 of 150 trials of base left a trace whose calls cannot be read.",
    "degraded_trace": "2 of 150 trials of base left no complete trace.",
    "no_ground_truth": "2 of 150 trials of base had no ground truth.",
    "mcp_in_baseline": "2 of 150 trials of base used a tool that the arm is meant to do without.",
    "dead_mcp_server": "2 of 150 trials of base made no successful call of a required tool.",
    "missing_verifier_result": "2 of 150 trials of base had no valid reward.",
    "model_differs": "The arms ran 2 tasks with different models.",
    "harness_version_differs": "The arms ran 2 tasks with different harness versions.",
    "task_checksum_differs": "The arms ran different versions of 2 tasks.",
    "ground_truth_differs": "The ground truth differs between the arms on 2 tasks.",
    "opaque_share_differs": "The arms differ in their share of calls that cannot be resolved.",
    "mcp_role_unclear": "It is unclear which arm is meant to use MCP.",
    "unheard_of": "2 of 150 trials of base fall under the rule “unheard of”.",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_failed_gate_withholds_the_difference_and_says_why(rule):
    said = answer(failing(rule, "base", "base"))
    assert said.title == "No verdict: base and mcp cannot be compared"
    assert said.sentences[0].startswith(f"{RULES[rule]} ")
    assert said.sentences[0].endswith("so none is given.")
    assert "0.05" not in " ".join((said.title, *said.sentences, point(said, "Trials")))
    assert said.tone == "none"


def test_every_rule_with_a_name_has_words():
    assert set(RULES) - {"unheard_of"} == set(GATE_RULES)


def test_unequal_opaque_shares_are_given_where_they_are_known():
    found = rule("opaque_share_differs", "base", detail="0.92 of calls against 0.00")
    known = replace(COMPARISON, gate=gate(found))
    assert words.failed_sentence(known) == (
        "The arms differ in their share of calls that cannot be resolved (0.92 of calls against "
        "0.00)."
    )


def test_trials_of_both_arms_are_counted_apart():
    comparison = failing("crashed_before_start", "base", "mcp", "mcp")
    assert words.failed_sentence(comparison) == (
        "1 of 150 trials of base and 2 of 160 trials of mcp crashed before the agent ran."
    )


def test_a_count_that_does_not_fit_its_trials_is_given_without_arms():
    comparison = failing("crashed_before_start", "base", count=7)
    assert words.failed_sentence(comparison) == "7 trials crashed before the agent ran."


def test_the_gravest_rules_come_first_and_the_rest_is_counted():
    rules = ("opaque_share_differs", "model_differs", "dead_mcp_server", "mcp_in_baseline")
    comparison = replace(
        COMPARISON, verdict="no_verdict", gate=gate(*(rule(name, "base") for name in rules))
    )
    assert words.failed_sentence(comparison) == (
        "1 of 150 trials of base made no successful call of a required tool; 1 of 150 trials of "
        "base used a tool that the arm is meant to do without; 2 further rules failed."
    )


LACKING = Threat(
    name="lacking_values",
    value=-0.12,
    unit="mean difference, worst case",
    effect="lowers",
    sentence="values are missing on 16 of 158 tasks with mcp",
)
OTHER = Threat(name="few_clusters", value=3, unit="suites", effect="none", sentence="3 suites")


def test_a_fragile_difference_names_the_threat_and_what_would_overturn_it():
    overturn = "missing values of mcp that average below 0.21"
    threats = (OTHER, LACKING, OTHER, OTHER)
    said = answer(replace(COMPARISON, verdict="fragile", threats=threats, overturn=overturn))
    assert said.tone == "none"
    assert said.title == (
        "Fragile: file recall is 0.05 higher with mcp, but missing values could overturn this"
    )
    assert said.points[1:3] == (
        ("Threat", "Values are missing on 16 of 158 tasks with mcp."),
        ("To overturn it", "Missing values of mcp that average below 0.21."),
    )


def test_threats_with_a_point_of_their_own_or_without_a_bearing_are_left_to_their_section():
    harmless = replace(LACKING, effect="none")
    named = tuple(replace(OTHER, name=name) for name in ("other_metrics", "view"))
    said = answer(replace(COMPARISON, threats=(harmless, *named, OTHER)))
    assert [label for label, _ in said.points if label in ("Threat", "Note")] == ["Note"]
    assert point(said, "Note") == "3 suites."


def test_where_nothing_is_clear_it_says_what_it_would_take():
    record = replace(COMPARISON, verdict="no_detectable_difference", overturn="more tasks")
    assert point(answer(record), "What it takes") == "More tasks."
    assert "unnoticed" not in point(answer(record), "Estimate")


def test_an_equivalent_result_names_its_margin():
    design = replace(DESIGN, margin=0.1)
    said = answer(replace(COMPARISON, verdict="equivalent", design=design))
    assert said.title == "Equivalent: file recall with mcp differs by less than 0.10"
    assert said.tone == "none"


def test_the_design_is_a_line_that_leads_to_its_table():
    design = replace(DESIGN, margin=0.1, alpha=0.1)
    said = answer(replace(COMPARISON, design=design))
    label, line = said.points[-1]
    assert (label, label.href) == ("Design", "#tbl-design")
    assert line == (
        "mcp must use MCP; tasks clustered by suite; differences up to 0.10 count as none; α = 0.1."
    )
    assert "90 % interval" in point(said, "Estimate")


def test_few_groups_are_named_where_their_means_are_given():
    few = replace(RESULT, averaged_over="clusters", n_clusters=5, cluster_by="repository")
    said = answer(replace(COMPARISON, metrics={"file_recall": few}))
    assert "over 142 matched tasks as the mean of 5 repositories: " in point(said, "Estimate")


COST = replace(
    RESULT,
    direction="lower_is_better",
    headline="ratio",
    mean_difference=1.5,
    estimate=2.5,
    ci_low=2.1,
    ci_high=3.0,
    p_value=0.001,
)


def test_what_other_metrics_pay_is_said_by_side_and_a_high_price_in_the_title():
    time = replace(COST, mean_difference=2.0, estimate=1.02, ci_low=0.9, p_value=0.7)
    metrics = {"file_recall": RESULT, "cost_usd": COST, "elapsed_seconds": time}
    said = answer(replace(COMPARISON, metrics=metrics | {"total_tokens": COST}))
    assert said.title == "Better: file recall is 0.05 higher with mcp, at 2.5 times the cost"
    assert point(said, "Other metrics") == (
        "Worse: cost ×2.50 [2.10, 3.00] (+1.50 USD a task). No clear difference: elapsed time "
        "×1.02 [0.90, 3.00] (+2 s a task)."
    )


def test_a_ratio_leads_where_the_verdict_is_about_a_cost():
    metrics = {"cost_usd": COST}
    said = answer(replace(COMPARISON, verdict="worse", verdict_metric="cost_usd", metrics=metrics))
    assert said.title == "Worse: cost is 2.50 times as high with mcp"
    assert point(said, "Estimate").startswith(
        "×2.50 (ratio of geometric means), 95 % interval [2.10, 3.00], p 0.001, over 142"
    )


def test_a_view_that_turns_the_verdict_is_in_the_title_and_takes_the_colour():
    changed = flip("file_recall", "opened", "verdict", 0.05, -0.04)
    comparison = replace(COMPARISON, flips=(changed,), views={"opened": {"verdict": "worse"}})
    said = answer(comparison)
    assert said.title == (
        "Better: file recall is 0.05 higher with mcp, but this depends on what counts as retrieved"
    )
    assert said.tone == "none"
    assert point(said, "Views") == "If only opened files count, the difference is clear (worse)."


def test_a_sign_that_turns_is_said_with_its_number():
    changed = flip("file_recall", "listing_discounted", "sign", 0.05, -0.02)
    said = answer(replace(COMPARISON, flips=(changed,)))
    assert point(said, "Views") == (
        "If names only seen in listings come last, the difference changes sign (−0.02)."
    )


def test_flips_of_other_metrics_are_counted():
    flips = tuple(flip(m, "opened", "sign", 0.1, -0.1) for m in ("mrr", "ndcg@10"))
    said = answer(replace(COMPARISON, flips=flips))
    assert said.title == "Better: file recall is 0.05 higher with mcp"
    assert said.tone == "better"
    assert point(said, "Views") == "2 results change with what counts as retrieved."


LOST = replace(
    RESULT, mean_difference=-0.2, estimate=-0.2, ci_low=-0.3, ci_high=-0.1, p_value=0.002
)


@pytest.mark.parametrize("verdict", ["better", "no_detectable_difference"])
def test_a_reward_that_goes_the_other_way_is_said_at_once(verdict):
    metrics = {"file_recall": RESULT, "reward": LOST}
    said = answer(replace(COMPARISON, verdict=verdict, metrics=metrics))
    assert said.tone == "none"
    assert point(said, "Other metrics") == "Worse: reward −0.20 [−0.30, −0.10]."
    assert said.title.endswith(", while reward is lower")


@pytest.mark.parametrize(
    "changes",
    [{"ci_high": 0.1}, {"p_value": 0.2}, {"estimate": 0.2, "ci_low": 0.1, "ci_high": 0.3}],
)
def test_a_reward_that_agrees_or_is_unclear_is_no_caution(changes):
    metrics = {"file_recall": RESULT, "reward": replace(LOST, **changes)}
    said = answer(replace(COMPARISON, metrics=metrics))
    assert said.tone == "better"
    assert "while" not in said.title


@pytest.mark.parametrize("status", ["constant", "saturated"])
def test_a_metric_that_cannot_discriminate_is_no_evidence_of_no_difference(status):
    constant = (Discrimination(metric="file_recall", status=status),)
    comparison = replace(COMPARISON, verdict="no_detectable_difference", discrimination=constant)
    title = answer(comparison).title
    assert title == f"File recall cannot tell the two configurations apart: {status}"


def test_lower_is_better_keeps_higher_and_lower_apart():
    said = said_of("better", direction="lower_is_better", estimate=-0.05)
    # 87 tasks did better, which for this metric is lower.
    assert "It rose on 44 tasks, stayed on 11 and fell on 87" in point(said, "Estimate")


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("n_pairs", [2, 5, 10**6])
def test_at_most_so_many_words_whatever_the_input(verdict, n_pairs):
    many = {f"reason {i} of many words": 10**6 - i for i in range(9)}
    one = arm(10**9, many, many, 10**6)
    flips = tuple(
        flip(m, v, "verdict", 0.1, -0.1)
        for m in ("file_recall", "mrr", "ndcg@10")
        for v in ("opened", "structured", "listing_discounted")
    )
    failed = failing("mcp_in_baseline", "x").gate
    comparison = replace(
        COMPARISON,
        baseline_config="many words " * 60,
        comparison_config="more words " * 60,
        verdict=verdict,
        verdict_reason="many words " * 60,
        n_pairs=10**7,
        metrics={"file_recall": replace(RESULT, n_pairs=n_pairs, p_value=0.9), "reward": LOST},
        ledger=ledger(one, one),
        flips=flips,
        gate=failed if verdict == "no_verdict" else gate(),
    )
    said = answer(comparison)
    assert length(said) <= words.MAX_WORDS, said.points
    failed = failing("model_differs", "x", ledger=ledger(one, one))
    assert length(answer(failed)) <= words.MAX_WORDS


def test_nothing_claims_a_cause():
    changed = flip("file_recall", "opened", "sign", 0.05, -0.04)
    cases = [
        *(said_of(verdict) for verdict in VERDICTS),
        *(answer(failing(rule, "base")) for rule in RULES),
        answer(replace(COMPARISON, flips=(changed,))),
    ]
    for said in cases:
        text = " ".join((said.title, *said.sentences, *(t for _, t in said.points))).lower()
        assert not any(w in text for w in ("because", "cause", "improve", "thanks to", "due to"))


def test_counts_agree_with_their_nouns():
    counts = ledger(arm(1, {}, {}, 1), arm(0, {}, {}, 0))
    result = replace(RESULT, n_pairs=1)
    one = replace(COMPARISON, ledger=counts, n_pairs=1, metrics={"file_recall": result})
    assert words.trust(one) == "1 of 1 trials forms 1 matched task; no trial was left out."


@pytest.mark.parametrize(
    ("verdict", "n", "finding"),
    [
        ("better", 142, "Better: file recall is 0.05 higher with mcp"),
        ("too_few_pairs", 2, "Only 2 matched tasks: too few for a statistic"),
        (
            "too_few_pairs",
            4,
            "4 matched tasks: enough to show the differences, too few for a verdict",
        ),
    ],
)
def test_the_finding_of_the_paired_section(verdict, n, finding):
    result = replace(RESULT, n_pairs=n)
    record = replace(COMPARISON, verdict=verdict, metrics={"file_recall": result})
    assert words.paired(study_of(record)) == finding
    assert words.paired(study_of(record), "file_recall") == finding
    assert words.paired(study_of(record), "mrr") is None


def test_configs_beyond_the_fourth_are_counted():
    rows = pd.DataFrame({"config_name": list("abcde"), "n": 1, "all": 2})
    assert words.shares("x", rows, "n", "all").endswith(" and 1 more")


def test_findings_of_sections():
    rows = {"scope": "pooled", "n": 9, "spearman_r": [0.4, 0.5, -0.3], "q_value": 0.01}
    found = pd.DataFrame({**rows, "sign_change": [True, False, True]})
    assert words.associations(found) == (
        "After correction (q < 0.05), 1 of 3 pooled associations is significant; 2 change sign "
        "within groups"
    )
    few = {"dimension": "suite", "level": "x", "n_pairs": 9, "interpretable": True}
    cells = [PairSlice(**few, mean_difference=d) for d in (0.3, -0.2)]
    small = PairSlice(**(few | {"interpretable": False}), mean_difference=0.9)
    assert words.slices(study_of(replace(COMPARISON, slices=(*cells, small))).slices) == (
        "Differences from −0.20 to +0.30 over 2 slices; 1 slice too small to interpret"
    )
    none = study_of(replace(COMPARISON, slices=(small, small)))
    assert words.slices(none.slices) == "2 slices too small to interpret"
    assert words.gate(study_of(COMPARISON)) == (
        "The configurations may be compared: 0 rules passed, no trial removed, 5 without a partner"
    )
    assert words.gate(study_of(failing("model_differs", "base"))).startswith(
        "The configurations cannot be compared: 1 of 1 rule failed, no trial removed, 5 without a "
        "partner. The arms ran 1 task"
    )
    both = {"file_recall": RESULT, "mrr": replace(RESULT, p_holm=0.05)}
    assert words.every_metric(study_of(replace(COMPARISON, metrics=both))) == (
        "After correcting for 2 metrics (Holm): better file recall"
    )


def test_what_passed_the_rules_is_counted_with_the_reasons():
    made = study_of(COMPARISON)
    rows = (
        LetThrough(config_name="base", n_trials=12, n_used=9, removed={"degraded_trace": 3}),
        LetThrough(config_name="mcp", n_trials=12, n_used=0, removed={"crashed_before_start": 12}),
    )
    vars(made)["_valid"] = ((), rows)
    assert words.admitted(made) == (
        "Counted here: 9 of 24 trials, those that broke no validity rule; left out: crashed before "
        "the agent ran (12), degraded trace (3). No trial is left of mcp."
    )
    vars(made)["_valid"] = ((), tuple(replace(row, n_used=12, removed={}) for row in rows))
    assert words.admitted(made) == "Counted here: all 24 trials; none broke a validity rule."


def test_where_no_difference_may_be_read_every_finding_of_one_says_so():
    made = study_of(failing("model_differs", "base"))
    for finding in (words.paired, words.every_metric):
        assert finding(made) == "No verdict: the configurations cannot be compared"
    assert words.estimates(made.estimates, ["cost_usd"]) == words.NO_VERDICT
    assert words.slices(made.slices) is None
    for frame in (made.discrimination, made.difference_associations, made.slices):
        assert rev.table.show(frame).nothing.endswith("so it is withheld.")
    assert rev.table.views(made.views).nothing.endswith("so it is withheld.")
    assert words.described(made) == words.DESCRIBES
    assert words.admitted(made).startswith(words.DESCRIBES)
