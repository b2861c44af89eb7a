from __future__ import annotations

from dataclasses import replace

import pytest

from retrieval_eval.report import findings, prose
from retrieval_eval.report.comparison import Comparison, MetricResult

RESULT = MetricResult(
    metric="file_recall",
    is_higher_better=True,
    n_pairs=142,
    computable=True,
    reason=None,
    mean_baseline=0.53,
    mean_comparison=0.58,
    mean_difference=0.05,
    ci_low=0.02,
    ci_high=0.08,
    p_value=0.01,
    wins=87,
    ties=11,
    losses=44,
    smallest_detectable=0.06,
)
COMPARISON = Comparison(
    baseline="base",
    comparison="mcp",
    computable=True,
    reason=None,
    n_pairs=142,
    n_tasks_baseline=150,
    n_tasks_comparison=160,
    metrics={"file_recall": RESULT},
    unmatched=(),
)
FACTS = prose.Facts(
    n_tasks=210,
    n_paired=142,
    n_trials=420,
    n_degraded=9,
    n_excluded=0,
    n_without_ground_truth=38,
    n_configs=2,
    hurt=("fix-017", -0.5),
)


def words(answer: prose.Answer) -> int:
    return len(" ".join(answer.sentences).split())


def test_better_says_how_much_how_sure_where_it_hurt_and_what_was_left_out():
    said = prose.answer(COMPARISON, RESULT, FACTS)
    assert said.tone == "better"
    assert said.title == "File recall is 0.05 higher with mcp"
    how_much, where, trust = said.sentences
    assert how_much == (
        "On 142 matched tasks, mean file recall was 0.53 with base and 0.58 with mcp: difference "
        "+0.05, 95 % interval [+0.02, +0.08], p 0.010."
    )
    assert where == "Higher on 87, equal on 11, lower on 44, most on fix-017 (−0.50)."
    assert trust == (
        "142 of 210 tasks enter the paired analysis; 38 trials without ground truth, 9 degraded."
    )


def test_worse():
    worse = replace(RESULT, mean_difference=-0.05, ci_low=-0.08, ci_high=-0.02)
    said = prose.answer(COMPARISON, worse, FACTS)
    assert said.tone == "worse"
    assert said.title == "File recall is 0.05 lower with mcp"


def test_no_detectable_difference_names_the_smallest_that_could_be_shown():
    flat = replace(RESULT, ci_low=-0.01, ci_high=0.08)
    said = prose.answer(COMPARISON, flat, FACTS)
    assert said.tone == "none"
    assert said.title == "No detectable difference in file recall over 142 matched tasks"
    assert "smallest detectable difference about 0.06" in said.sentences[0]


def test_an_interval_and_a_test_that_disagree_give_no_verdict():
    said = prose.answer(COMPARISON, replace(RESULT, p_value=0.051), FACTS)
    assert said.tone == "none"
    assert said.title == "No clear difference in file recall over 142 matched tasks"
    assert ", p 0.051; smallest detectable difference about 0.06." in said.sentences[0]


def test_below_six_pairs_the_numbers_are_given_and_no_verdict():
    said = prose.answer(COMPARISON, replace(RESULT, n_pairs=5, p_value=None), FACTS)
    assert said.title == "Too few matched tasks for a verdict: 5"
    assert said.sentences[0].endswith("[+0.02, +0.08]; below 6 pairs no test can decide.")


def test_a_lower_value_is_better_for_a_time():
    faster = replace(
        RESULT, metric="ttfr_seconds", is_higher_better=False, ci_low=-9.0, ci_high=-1.0
    )
    assert faster.verdict == "better"
    assert replace(faster, ci_low=1.0, ci_high=9.0).verdict == "worse"


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_pairs_gives_no_statistic(n):
    few = replace(RESULT, n_pairs=n)
    said = prose.answer(COMPARISON, few, FACTS)
    assert said.title == f"Too few matched tasks for a verdict: {n}"
    assert "0.05" not in " ".join(said.sentences)


def test_one_configuration_only():
    said = prose.answer(None, None, replace(FACTS, n_configs=1))
    assert said.title == "One configuration only: nothing to compare"


def test_two_configurations_without_a_shared_task():
    said = prose.answer(None, None, FACTS)
    assert said.title == "No matched tasks: nothing to compare"


def test_an_invalid_arm_withholds_the_difference():
    facts = replace(FACTS, invalid="No trial of mcp made a single MCP call.")
    said = prose.answer(COMPARISON, RESULT, facts)
    assert said.title.startswith("No comparison")
    assert "0.05" not in " ".join(said.sentences)


def test_an_interval_that_is_missing_gives_no_verdict():
    bare = replace(RESULT, ci_low=None, ci_high=None, reason="constant_input")
    said = prose.answer(COMPARISON, bare, FACTS)
    assert said.title.startswith("No verdict")
    assert "one side is constant" in said.sentences[0]


def test_a_view_that_turns_the_sign_is_said_in_the_answer():
    said = prose.answer(COMPARISON, RESULT, replace(FACTS, flips=("listing_discounted",)))
    assert "the sign turns under the view listing discounted" in said.sentences[1]


@pytest.mark.parametrize("low", [-0.01, 0.02])
def test_at_most_ninety_words_whatever_the_input(low):
    facts = replace(
        FACTS,
        n_tasks=10**9,
        n_degraded=10**9,
        n_excluded=10**9,
        hurt=("a task with many words " * 40, -1.0),
        flips=("opened", "structured", "listing_discounted"),
    )
    names = replace(COMPARISON, baseline="many words " * 60, comparison="more words " * 60)
    said = prose.answer(names, replace(RESULT, ci_low=low), facts)
    assert words(said) <= 90


def test_nothing_claims_a_cause():
    cases = [
        prose.answer(COMPARISON, RESULT, FACTS),
        prose.answer(COMPARISON, replace(RESULT, ci_low=-0.1), FACTS),
        prose.answer(None, None, FACTS),
    ]
    for said in cases:
        text = " ".join((said.title, *said.sentences)).lower()
        assert not any(w in text for w in ("because", "cause", "improve", "thanks to", "due to"))


def test_counts_agree_with_their_nouns():
    facts = replace(FACTS, n_tasks=1, n_degraded=1, n_without_ground_truth=0, n_paired=1)
    assert prose.trust(facts) == "1 of 1 task enters the paired analysis; 1 trial degraded."


def test_findings_of_sections():
    assert (
        findings.never_hit([("a", 2, 10)]) == "Never found a relevant file: 2 of 10 trials with a"
    )
    assert findings.associations(1, 20, 2).endswith("2 turn sign within a config")
    assert findings.slices({("s", "small"): (0.3, 2)}, 5).startswith("Every cell holds fewer")
    cells = {("s", "small"): (0.9, 2), ("t", "large"): (-0.2, 6)}
    assert findings.slices(cells, 5) == (
        "Largest difference: −0.20 in t, large sets (n = 6); 1 cell too small to interpret"
    )
    assert findings.intervals([RESULT, replace(RESULT, ci_low=-1.0)]) == (
        "1 of 2 paired differences is clear: interval without 0 and p < 0.05, not adjusted for "
        "their number"
    )
