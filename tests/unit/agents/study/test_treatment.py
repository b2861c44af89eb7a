"""What arms are meant to differ in is no fault of their comparison; all else still is."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.study import compare
from retrieval_eval.errors import BadInputError
from retrieval_eval.report.displays import answer
from tests.studies import document

TOOLS = {"Read": [3, 3]}


def arms(first, second, n=8):
    return [
        document(f"t{i}", name, recall, **({"tools": TOOLS} | fields))
        for i in range(n)
        for name, recall, fields in (("one", 0.3, first), ("two", 0.6 + i / 100, second))
    ]


MODEL = {"model": "b"}
HARNESS = {"version": "2"}
AGENT = MODEL | HARNESS


@pytest.mark.parametrize(
    ("treatment", "second", "failed"),
    [
        ("model", MODEL, []),
        ("model", HARNESS, ["harness_version_differs"]),
        ("model", AGENT, ["harness_version_differs"]),
        ("harness", HARNESS, []),
        ("harness", MODEL, ["model_differs"]),
        ("agent", AGENT, []),
        ("agent", AGENT | {"digest": "other"}, ["ground_truth_differs"]),
        ("prompt", MODEL, ["model_differs"]),
        ("tools", AGENT, ["model_differs"]),
    ],
)
def test_what_is_compared_is_no_fault_and_all_else_is(treatment, second, failed):
    found = compare(arms({}, second), "one", "two", design={"treatment": treatment}).record
    assert found.gate.failed == tuple(failed)
    assert (found.verdict == "no_verdict") == bool(failed)
    assert found.design.treatment == treatment


@pytest.mark.parametrize(
    ("first", "second", "is_inferred"),
    [
        ({}, MODEL, True),
        ({}, {}, False),
        ({}, HARNESS, False),
        ({}, AGENT, False),
        ({"model": None}, MODEL, False),
        ({}, MODEL | {"tools": {"Grep": [1, 1]}}, False),
        ({}, MODEL | {"mcp": 3}, False),
        ({"tools": {}}, MODEL | {"tools": {}}, False),
    ],
)
def test_only_a_model_is_inferred_where_it_alone_differs(first, second, is_inferred):
    found = compare(arms(first, second), "one", "two").record
    assert found.design.treatment == ("model" if is_inferred else None)
    is_fault = second.get("model") == "b" and not is_inferred
    assert ("model_differs" in found.gate.failed) == is_fault
    source = found.design.sources["treatment"]
    assert ("only" in source or "one recorded thing" in source) == is_inferred


@pytest.mark.parametrize(
    ("second", "design", "asked"),
    [
        (HARNESS, {}, "harness"),
        (AGENT, {}, "model"),
        (AGENT, {"treatment": "model"}, "agent"),
        (MODEL | {"mcp": 3}, {}, "model"),
        ({"digest": "other"}, {}, None),
    ],
)
def test_a_failed_gate_says_how_to_state_the_question(second, design, asked):
    sentence = answer(compare(arms({}, second), "one", "two", design=design)).sentences[0]
    assert (f'state treatment = "{asked}" in [study]' in sentence) == (asked is not None)
    assert ("If that is the question" in sentence) == (asked is not None)


def test_a_study_may_say_that_no_trial_was_scored():
    rows = arms({"reward": None}, {"reward": None})
    withheld = compare(rows, "one", "two")
    assert withheld.record.gate.failed == ("missing_verifier_result",)
    assert 'state rewards = "none" in [study]' in answer(withheld).sentences[0]
    found = compare(rows, "one", "two", design={"rewards": "none"}).record
    assert (found.gate.failed, found.verdict, found.design.rewards) == ((), "better", "none")
    with pytest.raises(BadInputError, match="rewards: none are stated, and 1 trial of 16 have"):
        compare([*rows[1:], arms({}, {})[0]], "one", "two", design={"rewards": "none"})
