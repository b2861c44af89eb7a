"""Verdicts on unusual data contradict neither their own sentences nor the estimates."""

from __future__ import annotations

from retrieval_eval.report import words
from retrieval_eval.study.compare import compare
from tests.unit.study.test_threats import arms, gains

FEW = {"seed": 1, "n_resamples": 200}


def costs(first, second, n=12):
    values = [(f"t{i:02}", 0.4, 0.4) for i in range(n)]
    return arms(values, {"cost": first}, {"cost": second})


def words_of(found):
    said = words.answer_to(found.record)
    return " ".join([said.title, *said.sentences, *(text for _, text in said.points)])


def test_costs_of_0_leave_nothing_to_test_and_are_said_to():
    rows = costs(1.0, 0.0)
    for row in rows:
        is_b = row["provenance"]["config_name"] == "b"
        row["outcome"]["total_tokens"] = 2000 if is_b else 1000
    found = compare(rows, "a", "b", primary="cost_usd", **FEW)
    assert found.verdict.state == "too_few_pairs"
    assert found.verdict.reason.startswith("12 matched tasks with cost: more than a third of the")
    assert found.verdict.overturn == ""
    assert "no detectable difference" not in found.sentence()
    assert "cost is undecided at 2.00 times the tokens of a" in found.sentence()
    assert "12 of at least 6" not in words_of(found)
    assert "12 matched tasks with cost" in words_of(found)


def test_six_tasks_of_which_two_have_no_ratio_are_too_few_on_the_page_too():
    found = compare(costs(1.0, lambda i: 0.0 if i < 2 else 2.0, n=7), "a", "b", primary="cost_usd")
    assert found.verdict.state == "too_few_pairs"
    assert "5 of 7 matched tasks" in found.verdict.reason
    assert "verdict: 5 of at least 6" in words_of(found)


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
