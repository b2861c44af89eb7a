"""What the answer may say and may not, for every verdict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import retrieval_eval as rev
from retrieval_eval.agents.study import Comparison
from retrieval_eval.agents.study.gate import RULES as GATE_RULES
from retrieval_eval.agents.study.trials import from_document
from retrieval_eval.model.impact import (
    ComparisonDocument,
    Discrimination,
    Threat,
)
from retrieval_eval.report import words
from retrieval_eval.report.words import VERDICTS
from tests.report.made import arm, comparison, flip, gate, ledger, result, rule
from tests.studies import document

RESULT = result()
COMPARISON = comparison()


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


def test_the_verdict_is_the_analysis_s_and_never_the_report_s():
    said = said_of("no_detectable_difference", ci_low=0.04, ci_high=0.06, p_value=0.0001)
    assert said.title.startswith("No detectable difference")


@pytest.mark.parametrize("n", [0, 1, 2])
def test_below_three_pairs_no_number_is_given(n):
    said = said_of("too_few_pairs", n_pairs=n)
    assert "0.05" not in " ".join(said.sentences)


def test_one_configuration_only():
    trials = [from_document(document(f"t{i}", "base", 0.5 if i else None)) for i in range(3)]
    alone = study_of(replace(COMPARISON, comparison_config=""), trials)
    said = words.answer(alone)
    assert said.title == "One configuration only: nothing to compare"
    assert "2 of 3 trials" in said.sentences[-1]
    for finding in (words.gate, words.ledger, words.paired):
        assert finding(alone)


def test_a_verdict_that_is_missing_is_no_verdict_with_the_reason():
    said = answer(replace(COMPARISON, verdict="no_verdict", verdict_reason="odd data"))
    assert said.title == "No verdict"
    assert said.sentences[0] == "Odd data."
    assert "0.05" not in everything(said)


def everything(said: words.Answer) -> str:
    return " ".join((said.title, *said.sentences, *(text for _, text in said.points)))


@pytest.mark.parametrize("rule", [*GATE_RULES, "unheard_of"])
def test_a_failed_gate_withholds_the_difference_and_says_why(rule):
    said = answer(failing(rule, "base", "base"))
    assert said.title == "No verdict: base and mcp cannot be compared"
    assert len(said.sentences[0]) > 40
    assert "0.05" not in everything(said)
    assert said.tone == "none"


def test_a_fragile_difference_and_an_equivalent_one_have_no_colour():
    lacking = Threat(
        name="lacking_values", value=-0.12, unit="points", effect="lowers", sentence="Some lack."
    )
    fragile = answer(replace(COMPARISON, verdict="fragile", threats=(lacking,)))
    assert fragile.title.startswith("Fragile: ")
    assert "Some lack." in everything(fragile)
    equivalent = said_of("equivalent")
    assert equivalent.title.startswith("Equivalent: ")
    assert fragile.tone == equivalent.tone == "none"


def test_a_view_that_turns_the_verdict_is_in_the_title_and_takes_the_colour():
    changed = flip("file_recall", "opened", "verdict", 0.05, -0.04)
    comparison = replace(COMPARISON, flips=(changed,), views={"opened": {"verdict": "worse"}})
    said = answer(comparison)
    assert "depends on what counts as retrieved" in said.title
    assert said.tone == "none"
    assert "worse" in point(said, "Views")


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
        *(answer(failing(rule, "base")) for rule in GATE_RULES),
        answer(replace(COMPARISON, flips=(changed,))),
    ]
    for said in cases:
        text = everything(said).lower()
        assert not any(w in text for w in ("because", "cause", "improve", "thanks to", "due to"))


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
