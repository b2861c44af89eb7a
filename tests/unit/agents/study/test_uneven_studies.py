"""Studies whose arms ran under unequal conditions, or whose tasks are of uneven clusters."""

from __future__ import annotations

import random

import pytest

import retrieval_eval as rev
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.study.compare import compare
from retrieval_eval.agents.study.gate import opaque_calls
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.agents.study.verdict import headline_estimate
from retrieval_eval.report import words
from retrieval_eval.report.displays import answer
from tests.studies import document
from tests.unit.agents.study.test_threats import arms, gains

FEW = {"seed": 1, "n_resamples": 300}


def threats_named(found, name):
    return [threat for threat in found.record.threats if threat.name == name]


# One configuration


def alone(n=10, **fields):
    return [document(f"t{i}", "mini", 0.5, shell=20, opaque=9, **fields) for i in range(n)]


@pytest.mark.parametrize(
    "fields", [{}, {"degraded": "cut"}, {"reward": None}, {"exception": {"type": "E"}}, {"mcp": 2}]
)
def test_one_configuration_has_no_threat_no_verdict_and_no_empty_name(fields):
    found = compare(alone(**fields), **FEW)
    assert (found.verdict.state, found.verdict.overturn, found.record.threats) == (
        "no_verdict",
        "",
        (),
    )
    assert found.record.gate.failed == ()
    assert found.withheld == ""
    assert found.verdict.reason == "nothing is compared: all trials are of mini"
    said = [
        answer(found).finding,
        *answer(found).sentences,
        words.gate(found),
        words.ledger(found),
        words.every_metric(found),
        words.admitted(found),
        words.pairs_formed(found.record),
        rev.table.show(found.threats).nothing,
        found.sentence(),
    ]
    for text in said:
        assert "withheld" not in text
        assert " of  " not in text
        assert "cannot be compared" not in text


# Opaque calls


@pytest.mark.parametrize("tools_of_its_own", [0, 30])
def test_the_share_of_opaque_calls_is_of_all_calls(tools_of_its_own):
    # One agent has only a shell, the other reads with tools of its own; both leave a fifth open.
    rows = arms(
        gains(*[0.2, 0.3] * 4),
        {"calls": 50, "shell": 50, "opaque": 10},
        {"calls": 50, "shell": 50 - tools_of_its_own, "opaque": 10},
    )
    found = compare(rows, "a", "b", **FEW)
    assert "opaque_share_differs" not in found.record.gate.failed


def test_an_arm_that_another_rule_removed_has_no_share_of_opaque_calls():
    values = gains(*[0.2, 0.3] * 4)
    rows = arms(values, {"calls": 50, "shell": 50, "opaque": 20}, {"degraded": "cut"})
    assert compare(rows, "a", "b", **FEW).record.gate.failed == ("degraded_trace",)


def test_more_opaque_calls_of_all_fail_the_gate_where_all_shell_calls_are_opaque():
    rows = arms(
        gains(*[0.2, 0.3] * 4),
        {"calls": 50, "shell": 5, "opaque": 5},
        {"calls": 50, "shell": 20, "opaque": 20},
    )
    found = compare(rows, "a", "b", **FEW)
    assert found.record.gate.failed == ("opaque_share_differs",)
    (rule,) = [rule for rule in found.record.gate.rules if rule.failed]
    assert "40 of 400 calls" in rule.detail
    assert "160 of 400 calls" in rule.detail


def test_few_calls_hide_little():
    rows = trials_of([document("t", "a", 0.5, calls=9, shell=9, opaque=9)])
    assert (opaque_calls(rows).share, str(opaque_calls(rows))) == (
        0.0,
        "9 of 9 calls, too few, taken as 0",
    )


# Timeouts and errors


def with_errors(values, n_first, n_second, kind="AgentTimeoutError"):
    """Return a study of which the first trials of either arm ended in an error."""
    rows = arms(values)
    for config, n in (("a", n_first), ("b", n_second)):
        own = [row for row in rows if row["provenance"]["config_name"] == config]
        for row in own[:n]:
            row["outcome"]["exception"] = {"type": kind, "message": "ran out of time"}
    return rows


EQUAL = gains(*[0.1, -0.1, 0.05, -0.05] * 10)


def test_timeouts_of_one_arm_are_a_threat_with_their_shares():
    found = compare(with_errors(EQUAL, 0, 8), "a", "b", **FEW)
    (said,) = threats_named(found, "errors")
    # McNemar's exact test of 8 against 0: 2 / 2**8.
    assert said.sentence.startswith(
        "a timeout or another error ended 0 of 40 trials of a and 8 of 40 trials of b "
        "(8 AgentTimeoutError) (exact p = 0.008); without them, over 32 matched tasks, "
    )
    assert (said.effect, said.arm, said.value) == ("lowers", "b", 0.2)


def test_timeouts_as_frequent_in_both_arms_are_none():
    assert threats_named(compare(with_errors(EQUAL, 8, 8), "a", "b", **FEW), "errors") == []
    assert threats_named(compare(with_errors(EQUAL, 1, 2), "a", "b", **FEW), "errors") == []


def test_errors_that_are_not_surely_of_one_arm_are_named_only():
    found = compare(with_errors(gains(*[0.2, 0.3] * 4), 0, 3, "OSError"), "a", "b", **FEW)
    (said,) = threats_named(found, "errors")
    assert "3 of 8 trials of b (3 OSError) (exact p = 0.250)" in said.sentence
    assert (said.effect, found.verdict.state) == ("none", "better")


def test_timeouts_of_the_worse_arm_could_make_the_difference_and_those_of_the_better_one_not():
    values = gains(*[0.2, 0.3] * 20)
    lost = compare(with_errors(values, 12, 0), "a", "b", **FEW)
    assert (lost.verdict.state, lost.verdict.overturn[:44]) == (
        "fragile",
        "It is overturned if the errors of a made it;"[:44],
    )
    assert "timeouts and errors could overturn this" in words.verdict_title(lost.record)
    won = compare(with_errors(values, 0, 12), "a", "b", **FEW)
    assert (won.verdict.state, threats_named(won, "errors")[0].effect) == ("better", "none")


def test_timeouts_that_left_no_whole_trace_are_named_too():
    rows = with_errors(EQUAL, 0, 8)
    for row in rows:
        if row["outcome"]["exception"]:
            row["coverage"]["degraded_reason"] = "the trace is cut"
    found = compare(rows, "a", "b", **FEW)
    assert found.record.gate.failed == ()
    (said,) = threats_named(found, "errors")
    assert "8 of 40 trials of b (8 AgentTimeoutError)" in said.sentence


# Order in time


def started(values, moments):
    rows = arms(values)
    for config in ("a", "b"):
        own = [row for row in rows if row["provenance"]["config_name"] == config]
        for place, row in enumerate(own):
            row["outcome"]["started_at"] = moments(config, place)
            row["provenance"]["batch_timestamp"] = "2026-01-11T00:00:00Z"
    return rows


VALUES = gains(*[0.2, 0.3] * 20)
DAY = 1_790_000_000.0


def test_arms_one_after_the_other_are_said_to_in_spite_of_a_straggler():
    late = started(
        VALUES, lambda c, i: DAY + 60 * i + (c == "b") * 1e5 + (c == "a" and i == 5) * 1e6
    )
    (said,) = threats_named(compare(late, "a", "b", **FEW), "run_order")
    assert said.value == pytest.approx(39 / 40)
    assert "that of a came first in 98 % of cases" in said.sentence
    whole = started(VALUES, lambda c, i: DAY + 60 * i + (c == "b") * 1e5)
    (said,) = threats_named(compare(whole, "a", "b", **FEW), "run_order")
    assert "that of a came first in 100 % of cases" in said.sentence


def test_arms_in_turns_are_not():
    turns = started(VALUES, lambda c, i: DAY + 600 * i + (c == "b") * 60)
    assert threats_named(compare(turns, "a", "b", **FEW), "run_order") == []


# Clusters of uneven size


SIZES = (92, 30, 25, 16, 12, 8, 6, 4, 4, 3, 1)
"""Tasks of eleven repositories, of which one has 46 %."""


def uneven(sizes=SIZES, gain=0.07, seed=7):
    dice = random.Random(seed)
    rows = []
    gains_of = gain if isinstance(gain, list) else [gain] * len(sizes)
    for place, (size, gain) in enumerate(zip(sizes, gains_of, strict=True)):
        for i in range(size):
            before = dice.uniform(0.2, 0.6)
            after = min(1.0, max(0.0, before + dice.gauss(gain, 0.25)))
            for config, recall in (("a", before), ("b", after)):
                rows.append(document(f"r{place}-{i}", config, recall, repositories=[f"r{place}"]))
    return rows


def test_a_gain_in_every_repository_is_clear_although_one_has_46_percent_of_the_tasks():
    found = compare(uneven(), "a", "b", **FEW)
    block = found.record.metrics["file_recall"]
    lead = headline_estimate(block)
    assert (found.verdict.state, block.averaged_over) == ("better", "random_effects")
    assert lead.excludes_null
    assert block.largest_cluster_share == pytest.approx(92 / 201)
    shown = block.mean_comparison - block.mean_baseline
    assert shown == pytest.approx(block.mean_difference)
    assert block.estimate != pytest.approx(block.mean_difference)
    assert "mean effect in 11 repositories of uneven size" in found.verdict.reason
    # An interval of this width finds no difference smaller than its half in most studies.
    assert block.smallest_detectable > (block.ci_high - block.ci_low) / 2


def test_a_gain_in_the_largest_repository_alone_is_none_of_repositories_like_these():
    found = compare(uneven(gain=[0.3, *[0.0] * 10]), "a", "b", **FEW)
    block = found.record.metrics["file_recall"]
    assert block.mean_difference > 0.1
    assert block.estimate < block.mean_difference
    assert found.verdict.state == "no_detectable_difference"


def test_a_slice_of_all_tasks_has_the_interval_of_all_tasks():
    for rows in (uneven(SIZES[3:]), uneven([9, 8, 7]), uneven([30])):
        record = compare(rows, "a", "b", **FEW).record
        block = record.metrics["file_recall"]
        whole = [row for row in record.slices if row.n_pairs == block.n_pairs]
        assert whole
        for row in whole:
            assert (row.mean_difference, row.ci_low, row.ci_high) == (
                block.estimate,
                block.ci_low,
                block.ci_high,
            )


# One trial, and times that are not recorded


def numbers_named(document, names, path=""):
    if isinstance(document, dict):
        for name, value in document.items():
            if any(part in name for part in names) and isinstance(value, int | float):
                yield f"{path}/{name}", value
            yield from numbers_named(value, names, f"{path}/{name}")
    elif isinstance(document, list | tuple):
        for item in document:
            yield from numbers_named(item, names, path)


def test_one_trial_has_no_interval_and_no_restricted_mean():
    from retrieval_eval.model import to_builtins

    one = document("t", "a", 1.0, reward=1.0, hit=3.0)
    for rows in ([one], [one, document("t", "b", 0.5, reward=1.0, hit=5.0)]):
        made = to_builtins(impact_analysis(rows, seed=1))
        found = dict(numbers_named(made, ("_low", "_high", "estimate", "p_value")))
        assert {name for name in found if "bounds" not in name} == set()


def test_times_that_an_arm_does_not_record_are_not_files_that_were_never_found():
    values = [(f"t{i:02}", 0.4, 0.5) for i in range(12)]
    found = compare(arms(values, {"hit": 4.0}, {"hit": None}), "a", "b", **FEW)
    block = found.record.metrics["ttfr_seconds"]
    assert block.reason == "no_timestamps"
    never = compare(arms([(f"t{i}", 0.0, 0.0) for i in range(8)]), "a", "b", **FEW)
    assert never.record.metrics["ttfr_seconds"].reason == "never_hit"


def test_trials_whose_calls_cannot_be_read_are_counted_under_a_name_of_their_own():
    rows = arms(gains(*[0.2, 0.3] * 4))
    for row in rows:
        if row["provenance"]["config_name"] == "b":
            row["coverage"] |= {"degraded_reason": "x", "quality_flags": ["calls_unreadable"]}
    found = compare(rows, "a", "b", **FEW)
    assert found.record.gate.failed == ("calls_unreadable",)
    assert words.failed_sentence(found.record) == (
        "8 of 8 trials of b left a trace whose calls cannot be read."
    )
    assert found.record.ledger.comparison.removed == {"calls_unreadable": 8}


def test_a_last_call_without_an_answer_removes_no_trial():
    rows = arms(gains(*[0.2, 0.3] * 4))
    for row in rows:
        row["coverage"]["quality_flags"] = ["results_missing"]
        row["ledger"]["calls_without_result"] = 1
    found = compare(rows, "a", "b", **FEW)
    assert found.record.ledger.comparison.removed == {}
    assert found.verdict.state == "better"
