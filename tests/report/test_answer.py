"""What the answer of a page and of a terminal may say and may not, for every verdict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import retrieval_eval as rev
from retrieval_eval.agents.study import Comparison
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.trials import from_document
from retrieval_eval.model.impact import ComparisonDocument, Discrimination, Threat
from retrieval_eval.report import words
from retrieval_eval.report.displays import answer, lines_of
from retrieval_eval.report.words import VERDICTS
from tests.report.made import arm, comparison, flip, gate, ledger, result, rule
from tests.studies import document, study

RESULT = result()
COMPARISON = comparison()
DEARER = replace(
    RESULT, direction="lower_is_better", headline="ratio", estimate=1.22, ci_low=1.1, ci_high=1.4
)
LOST = replace(RESULT, estimate=-0.2, mean_difference=-0.2, ci_low=-0.3, ci_high=-0.1)


def of(record: ComparisonDocument, trials=()) -> Comparison:
    return Comparison(record.baseline_config, record.comparison_config, record, tuple(trials))


def failing(name: str, *configs: str) -> ComparisonDocument:
    return replace(COMPARISON, verdict="no_verdict", gate=gate(rule(name, *configs)))


def everything(study: Comparison) -> str:
    block = answer(study)
    return " ".join([block.finding, *block.sentences, *lines_of(study)])


def test_a_clear_difference_comes_with_its_price_and_what_it_paid():
    metrics = {"file_recall": RESULT, "cost_usd": DEARER, "reward": replace(RESULT, p_value=0.5)}
    found = of(replace(COMPARISON, metrics=metrics))
    said = "mcp finds 58 % of the expected files instead of 53 %, for 1.22 times the cost; "
    assert found.headline() == f"{said}reward is not clearly different"
    block = answer(found)
    assert (block.tone, dict(block.badges)) == ("better", {"Verdict": "better"})
    assert of(replace(COMPARISON, metrics={**metrics, "reward": LOST})).headline().endswith("falls")


def test_what_takes_the_certainty_takes_the_colour():
    lacking = Threat(
        name="lacking_values",
        value=-0.12,
        unit="points",
        effect="lowers",
        sentence="mcp has gaps",
    )
    fragile = answer(of(replace(COMPARISON, verdict="fragile", threats=(lacking,))))
    assert (fragile.tone, fragile.sentences[0]) == ("", "■ has gaps.")
    turned = flip("file_recall", "opened", "verdict", 0.05, -0.04)
    views = {"opened": {"verdict": "worse"}}
    seen = answer(of(replace(COMPARISON, flips=(turned,), views=views)))
    assert seen.tone == ""
    assert any("if only opened files count" in s.lower() for s in seen.sentences)
    against = answer(of(replace(COMPARISON, metrics={"file_recall": RESULT, "reward": LOST})))
    assert against.tone == ""


@pytest.mark.parametrize("name", [*RULES, "unheard_of"])
def test_a_failed_gate_withholds_the_difference_and_says_why(name):
    block = answer(of(failing(name, "base", "base")))
    assert block.finding == "base and mcp cannot be compared"
    assert len(block.sentences[0]) > 30
    assert "0.05" not in everything(of(failing(name, "base")))
    assert dict(block.badges) == {"Verdict": "no verdict"}


def test_differences_that_are_withheld_are_in_no_frame():
    found = of(failing("model_differs", "base"))
    for frame in (found.estimates, found.pairs, found.slices, found.discrimination):
        for column in ("mean_difference", "difference", "ci_low", "p_value"):
            assert column not in frame or frame[column].isna().all()
        assert rev.table.show(frame).nothing.endswith("so it is withheld.")
    assert words.every_metric(found) == words.NO_VERDICT
    assert words.admitted(found).startswith(words.DESCRIBES)


def test_a_metric_has_a_side_of_its_own_and_not_the_verdict_of_another():
    rows = of(replace(COMPARISON, metrics={"file_recall": RESULT, "cost_usd": DEARER})).estimates
    found = rows.set_index("metric")
    assert found["side"].to_dict() == {"file_recall": "better", "cost_usd": "worse"}
    assert found["verdict"].to_dict() == {"file_recall": "better", "cost_usd": None}


def test_names_keep_their_letters_and_one_configuration_has_one_word():
    alone = rev.compare([from_document(document(f"t{i}", "mcp-only", 0.5)) for i in range(7)])
    assert alone.verdict.state == "no_verdict"
    assert alone.headline() == "mcp-only finds 50 % of the expected files on average"
    assert dict(answer(alone).badges) == {"Verdict": "one configuration"}
    assert lines_of(alone)[0] == "mcp-only"


@pytest.mark.parametrize("status", ["constant", "saturated"])
def test_a_metric_that_cannot_discriminate_is_no_evidence_of_no_difference(status):
    constant = (Discrimination(metric="file_recall", status=status),)
    record = replace(COMPARISON, verdict="no_detectable_difference", discrimination=constant)
    said = of(record).headline()
    assert said == f"File recall cannot tell the two configurations apart: {status}"


def test_what_such_studies_would_find_is_said_once():
    found = replace(RESULT, smallest_detectable=0.06)
    overturn = "A true difference of 0.06 would be found in 80 % of such studies."
    record = replace(
        COMPARISON,
        verdict="no_detectable_difference",
        metrics={"file_recall": found},
        overturn=overturn,
    )
    assert " ".join(answer(of(record)).sentences).count("80 %") == 1
    assert " ".join(answer(of(replace(record, overturn=""))).sentences).count("80 %") == 1


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_terminal_gets_at_most_fifteen_lines_and_print_twelve_whatever_the_input(verdict):
    many = {f"reason {i} of many words": 10**6 - i for i in range(9)}
    one = arm(10**9, many, many, 10**6)
    record = replace(
        COMPARISON,
        baseline_config="many words " * 60,
        comparison_config="more words " * 60,
        verdict=verdict,
        verdict_reason="many words " * 60,
        overturn="some words " * 60,
        metrics={"file_recall": RESULT, "reward": LOST, "cost_usd": DEARER},
        ledger=ledger(one, one),
        gate=failing("mcp_in_baseline", "x").gate if verdict == "no_verdict" else gate(),
    )
    assert len(lines_of(of(record), more="--verbose")) <= 15
    assert len(str(of(record)).splitlines()) <= 12
    assert all(len(line) <= 110 for line in lines_of(of(record)))


def test_nothing_claims_a_cause():
    cases = [replace(COMPARISON, verdict=verdict) for verdict in VERDICTS]
    cases += [failing(name, "base") for name in RULES]
    for record in cases:
        text = everything(of(record)).lower()
        assert not any(w in text for w in ("because", "cause", "improve", "thanks to", "due to"))


def test_a_ledger_that_does_not_add_up_is_named():
    good = arm(10, {"model_differs": 2}, {"no valid trial in the other arm": 1}, 7)
    assert words.is_balanced(good)
    bad = replace(comparison(), ledger=ledger(good, replace(good, used=8)))
    assert "do not add up" in words.pairs_formed(bad)


def test_a_wrong_metric_in_a_frame_of_estimates_is_no_crash():
    found = rev.compare(study(8), "baseline", "mcp").estimates
    assert rev.table.estimates(found.iloc[:0]).nothing == "No metric is compared."
    with pytest.raises(rev.BadInputError, match="no metric 'rewrd'; it has reward"):
        rev.table.estimates(found, ["rewrd"])
    with pytest.raises(rev.BadInputError, match="no column 'metric'"):
        rev.table.estimates(found.drop(columns="metric"))
