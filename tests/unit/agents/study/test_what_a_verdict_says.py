"""Verdicts on unusual data contradict neither their own sentences nor the estimates."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.study.compare import compare
from retrieval_eval.agents.study.verdict import headline_estimate
from retrieval_eval.report import words
from retrieval_eval.report.displays import answer
from retrieval_eval.values import signed_ends
from tests.unit.agents.study.test_threats import arms, gains

FEW = {"seed": 1, "n_resamples": 200}


def costs(first, second, n=12):
    values = [(f"t{i:02}", 0.4, 0.4) for i in range(n)]
    return arms(values, {"cost": first}, {"cost": second})


def words_of(found):
    said = answer(found)
    return " ".join([said.finding, *said.sentences])


def test_costs_of_0_leave_nothing_to_test_and_are_said_to():
    rows = costs(1.0, 0.0)
    for row in rows:
        is_b = row["provenance"]["config_name"] == "b"
        row["outcome"]["total_tokens"] = 2000 if is_b else 1000
    found = compare(rows, "a", "b", primary="cost_usd", **FEW)
    assert found.verdict.state == "too_few_pairs"
    assert found.verdict.reason == (
        "12 matched tasks with cost: 12 tasks with a value of 0 have no ratio; over all 12 the "
        "mean difference is −1.00 USD"
    )
    assert found.verdict.overturn == ""
    assert "no detectable difference" not in found.sentence()
    assert "cost is undecided at 2.00 times the tokens of a" in found.sentence()
    assert "12 of at least 6" not in words_of(found)
    assert "12 matched tasks with cost" in words_of(found)
    # There is no difference that those without a ratio could cancel.
    half = costs(1.0, lambda i: 0.0 if i % 2 else 3.0)
    threats = compare(half, "a", "b", primary="cost_usd", **FEW).record.threats
    assert "lacking_values" not in [threat.name for threat in threats]


def test_six_tasks_of_which_two_have_no_ratio_are_too_few_on_the_page_too():
    found = compare(costs(1.0, lambda i: 0.0 if i < 2 else 2.0, n=7), "a", "b", primary="cost_usd")
    assert found.verdict.state == "too_few_pairs"
    assert "5 of 7 matched tasks" in found.verdict.reason
    assert "verdict: 5 matched tasks of at least 6" in words_of(found)


def test_arms_that_never_find_a_file_have_no_difference_to_detect():
    found = compare(arms([(f"t{i}", 0.0, 0.0) for i in range(8)]), "a", "b", primary="ttfr_seconds")
    assert found.verdict.state == "too_few_pairs"
    assert "no ground-truth file was ever found" in found.verdict.reason


def test_where_no_difference_may_be_read_no_sentence_gives_one():
    rows = arms(gains(*[0.2, 0.25, 0.3] * 4), {"cost": 1.0}, {"cost": 2.0, "model": "other"})
    found = compare(rows, "a", "b", **FEW)
    assert found.verdict.state == "no_verdict"
    assert found.verdict.threats == ()
    assert "better" not in found.sentence()
    assert " times " not in found.sentence()
    assert "+0." not in found.sentence()


def test_at_a_look_among_many_nothing_is_said_of_a_single_look():
    rows = arms(gains(*[0.08, 0.1, 0.12] * 5))
    found = compare(rows, "a", "b", sequential=True, **FEW)
    assert found.verdict.state == "no_detectable_difference"
    assert found.verdict.overturn.endswith("of those that hold at every look, without 0.")


def test_equivalence_of_a_ratio_has_an_interval_of_ratios():
    rows = costs(1.0, lambda i: 0.97 + i % 4 / 50)
    found = compare(rows, "a", "b", primary="cost_usd", margin=0.2, **FEW)
    assert found.verdict.state == "equivalent"
    assert found.verdict.overturn.endswith("the 90 % interval is 0.99 to 1.01 times.")


def test_one_task_without_which_nothing_is_clear_is_one():
    found = compare(arms(gains(*[0.18, 0.2, 0.22] * 2)), "a", "b", **FEW)
    assert found.record.n_tasks_to_overturn == 1
    assert "without the one of 6 tasks that rose most" in found.verdict.overturn


def test_tasks_without_a_ratio_because_of_a_0_are_named():
    rows = costs(1.0, lambda i: 0.0 if i % 4 == 0 else 3.0, n=24)
    found = compare(rows, "a", "b", primary="cost_usd", **FEW)
    assert headline_estimate(found.record.metrics["cost_usd"]).n == 18
    # A cost of 0 is known: nothing is missing.
    assert "lacking_values" not in [threat.name for threat in found.record.threats]
    assert "6 tasks with a value of 0 have no ratio; over all 24 the mean" in found.verdict.reason
    assert found.verdict.state == "worse"
    assert words.verdict_title(found.record).endswith("on the 18 of 24 tasks that have a ratio")


def test_a_ratio_is_nothing_where_the_tasks_without_one_turn_the_bill():
    rows = costs(1.0, lambda i: 0.0 if i % 4 == 0 else 1.25, n=24)
    found = compare(rows, "a", "b", primary="cost_usd", **FEW)
    block = found.record.metrics["cost_usd"]
    assert (block.estimate, block.mean_difference) == (pytest.approx(1.25), pytest.approx(-0.0625))
    assert found.verdict.state == "no_detectable_difference"
    assert found.verdict.overturn == (
        "6 tasks with a value of 0 have no ratio; over all 24 the mean difference is −0.06 USD "
        f"({' to '.join(signed_ends(block.bill_low, block.bill_high))}), on the other side of 0 "
        "than the ratio."
    )
    # It pays for nothing else either.
    beside = compare(rows, "a", "b", **FEW)
    assert "other_metrics" not in [threat.name for threat in beside.record.threats]
    assert set(beside.estimates["side"]) == {"unclear", None}
    # And what holds of some tasks is not equivalence of all.
    alike = costs(1.0, lambda i: 0.0 if i % 4 == 0 else 0.97 + i % 4 / 50, n=24)
    assert compare(alike, "a", "b", primary="cost_usd", margin=0.2, **FEW).verdict.state == (
        "no_detectable_difference"
    )


def test_times_that_are_not_known_count_neither_in_the_estimate_nor_in_its_threats():
    values = [(f"t{i:02}", 0.4, 0.5) for i in range(24)]
    after = {"hit": lambda i: -3.0 if i % 3 == 0 else 10.0 + i % 4}
    found = compare(arms(values, {"hit": 40.0}, after), "a", "b", primary="ttfr_seconds", **FEW)
    assert "over 16 matched tasks" in found.verdict.reason
    assert " of 16 tasks that fell most" in found.verdict.overturn
    (said,) = [t.sentence for t in found.record.threats if t.name == "lacking_values"]
    assert said.startswith("values are missing on 8 of 24 tasks with b: a difference of +")


def test_a_level_other_than_the_usual_is_given():
    rows = arms(gains(*[0.3, -0.2, 0.1, -0.15, 0.05, 0.02, -0.01, 0.2]))
    assert " at a level of " not in compare(rows, "a", "b", **FEW).sentence()
    found = compare(rows, "a", "b", alpha=0.2, **FEW)
    assert found.verdict.reason.endswith(" at a level of 0.2")
    assert " at a level of " not in found.verdict.overturn
    wide = compare(rows, "a", "b", confidence=0.5, **FEW)
    assert wide.verdict.overturn.endswith("of such studies at a level of 0.5.")
