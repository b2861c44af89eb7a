from __future__ import annotations

import pytest

from retrieval_eval.agents.outcomes import misfits


@pytest.mark.parametrize(
    ("result", "places"),
    [
        ({"task_name": "t", "verifier_result": None, "agent_result": {"cost_usd": 1}}, []),
        ({"task_name": ["t"]}, ["/task_name is no text"]),
        ({"verifier_result": {"rewards": [1]}}, ["/verifier_result/rewards is no object"]),
        ({"agent_result": {"n_input_tokens": "1"}}, ["/agent_result/n_input_tokens is no number"]),
        ({"agent_result": {"cost_usd": True}}, ["/agent_result/cost_usd is no number"]),
        (
            {"agent_result": {"cost_usd": -1, "n_output_tokens": float("nan")}},
            [
                "/agent_result/n_output_tokens is negative or not finite",
                "/agent_result/cost_usd is negative or not finite",
            ],
        ),
        ({"agent_info": 3, "agent_execution": ""}, ["/agent_info", "/agent_execution"]),
        ([], []),
        (None, []),
    ],
)
def test_fields_of_another_type_are_named(result, places):
    found = list(misfits(result))
    assert len(found) == len(places)
    for sentence, place in zip(found, places, strict=True):
        assert sentence.startswith(f"result.json: {place}")


def test_fields_of_the_task_metrics_are_named_too():
    metrics = {
        "cost_usd": "0.5",
        "input_tokens": -1,
        "tool_usage": {"total_input_tokens": []},
        "timing": 3,
        "reward": None,
    }
    assert list(misfits({}, metrics)) == [
        "task_metrics.json: /cost_usd is no number",
        "task_metrics.json: /input_tokens is negative or not finite",
        "task_metrics.json: /tool_usage/total_input_tokens is no number",
        "task_metrics.json: /timing is no object",
    ]
