"""The lab's own parts: what it asks of harnesses, and what it finds in their requests."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from retrieval_eval.agents.traces.formats import FORMATS
from tests.generated import proofs
from tests.lab import workspace
from tests.lab.drivers import ABSENT, UNPROVED, registry, turns
from tests.lab.model import DIALECTS, Call, Model, Script, Turn
from tests.lab.situations import SITUATIONS

LAB = Path(workspace.__file__).parent
NAMES = {situation.name for situation in SITUATIONS}


@pytest.mark.parametrize("driver", registry().values(), ids=registry())
def test_every_situation_has_a_plan_or_a_reason(driver):
    assert {*driver.without, *driver.alone} <= NAMES
    for situation in SITUATIONS:
        plans = turns(driver, situation)
        assert plans if isinstance(plans, str) else plans["main"]
        assert driver.start("PLAN:main", situation, False).command


def test_the_results_are_of_harnesses_and_situations_that_are_there():
    results = json.loads((LAB / "results.json").read_text(encoding="utf-8"))
    assert set(results) <= {*registry(), *ABSENT}
    shown = {(p.harness, p.kind) for found in proofs().values() for p in found}
    assert set(UNPROVED) <= set(FORMATS)
    for name, found in results.items():
        kinds = set(found.get("traces", ())) - {"none"}
        assert {(name, kind) for kind in kinds} <= shown, "a trace is of a registered format"
        assert set(found.get("situations", ())) <= NAMES
        for row in found.get("situations", {}).values():
            assert row.get("not_run") or all(part["verdict"] for part in row.values())


@pytest.mark.parametrize("where", DIALECTS)
def test_a_plan_is_played_and_what_it_was_answered_is_found(where):
    dialect = DIALECTS[where]
    plans = {"main": [Turn((Call("cat", {"path": "a"}),))]}
    record = io.StringIO()
    said = {"role": "user", "content": "PLAN:main", "parts": [{"text": "PLAN:main"}]}
    body = {"tools": [1], "messages": [said], "input": [said], "contents": [said]}
    answer = Model(Script(plans), record).answer(where, dialect, body)
    (key,) = answer.ids
    for sent in (dialect.whole(answer), [*dialect.stream(answer)]):
        assert key in json.dumps(sent)
        assert "cat" in json.dumps(sent)
    result = "cart_0003 = 3"
    body = {
        "/chat/completions": {
            "messages": [{"role": "tool", "tool_call_id": key, "content": result}]
        },
        "/responses": {"input": [{"type": "x_output", "call_id": key, "output": result}]},
        "/messages": {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": key, "content": result}],
                }
            ]
        },
        "enerateContent": {
            "contents": [
                {"parts": [{"functionResponse": {"id": key, "response": {"output": result}}}]}
            ]
        },
    }[where]
    texts = [text for call, text in dialect.received(body) if call == key]
    assert workspace.delivered(texts) == {"shop/cart.py": {3}}
