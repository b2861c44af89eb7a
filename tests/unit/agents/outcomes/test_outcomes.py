"""The outcome of a trial out of its result, its metrics and its trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.agents.outcomes import load_outcome
from retrieval_eval.io.files import json_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Trace

RESULT: dict[str, Any] = {
    "task_name": "t",
    "started_at": "2026-02-23T17:00:00",
    "finished_at": "2026-02-23T17:30:00Z",
    "agent_execution": {
        "started_at": "2026-02-23T17:05:00.500000",
        "finished_at": "2026-02-23T18:15:00.500000+01:00",
    },
    "agent_info": {
        "name": "claude-code",
        "version": "unknown",
        "model_info": {"name": "haiku-4-5", "provider": "p"},
    },
    "agent_result": {"n_input_tokens": 900, "n_output_tokens": 100, "cost_usd": 0.5},
    "verifier_result": {"rewards": {"reward": 0.75}},
    "exception_info": None,
    "task_checksum": "ff57",
}

NOON = "2026-02-23T12:00:00"


def trace(**fields: Any) -> Trace:
    base = {"calls": (), "format": "claude-code-stream-json", "source": "transcript"}
    return Trace(**(base | {"has_trajectory": False, "has_transcript": True} | fields))


def trial(root: Path, result: Any = None, metrics: Any = None) -> Path:
    for name, content in (("result.json", result), ("task_metrics.json", metrics)):
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (root / name).write_text(text)
    return root


def test_a_whole_result(tmp_path):
    found = load_outcome(trial(tmp_path, RESULT), trace(harness_version="2.1"))
    assert (found.reward, found.reward_reason, found.reward_scale) == (0.75, None, "unit")
    assert (found.cost_usd, found.cost_source, found.cost_other) == (0.5, "result.json", {})
    assert (found.input_tokens, found.output_tokens, found.total_tokens) == (900, 100, 1000)
    assert (found.elapsed_seconds, found.elapsed_source) == (600.0, "result.json")
    # 2026-02-23T17:00:00Z is day 20,507 after 1970.
    assert found.started_at == 20_507 * 86_400 + 17 * 3_600
    assert found.agent_started_at == found.started_at + 300.5
    assert found.wall_seconds == 1800.0
    assert (found.model, found.harness, found.harness_version) == (
        "haiku-4-5",
        "claude-code",
        "2.1",
    )
    assert (found.exception, found.task_checksum, found.problems) == (None, "ff57", ())
    assert json_bytes(to_builtins(found))


def test_nothing_is_not_zero(tmp_path):
    found = load_outcome(tmp_path)
    assert (found.reward, found.reward_reason) == (None, "not_recorded")
    assert found.cost_usd is None
    assert found.total_tokens is None
    assert found.elapsed_seconds is None
    assert found.problems == ("result.json: missing",)
    assert to_builtins(found)["problems"] == ("result.json: missing",)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "result.json: not valid JSON (line 1, column 2"),
        ("[]", "result.json: expected an object"),
        ("null", "result.json: expected an object"),
    ],
)
def test_a_broken_result_is_named(tmp_path, content, problem):
    found = load_outcome(trial(tmp_path, content, {"reward": 1, "cost_usd": 2.5}))
    assert found.problems[0].startswith(problem)
    assert (found.reward, found.cost_usd) == (1.0, 2.5)


def test_a_link_out_of_the_trial_is_not_read(tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(RESULT))
    (tmp_path / "t").mkdir()
    (tmp_path / "t/result.json").symlink_to(outside)
    found = load_outcome(tmp_path / "t")
    assert found.reward is None
    assert "link" in found.problems[0]


@pytest.mark.parametrize(
    ("verifier", "value", "reason", "scale"),
    [
        ({"rewards": {"reward": 0}}, 0.0, None, "unit"),
        ({"rewards": {"reward": 3.33}}, 3.33, None, "open"),
        ({"rewards": {"score": 0.5}}, 0.5, None, "unit"),
        ({"reward": 1}, 1.0, None, "unit"),
        ({"rewards": {"a": 1, "b": 0}}, None, "not_recorded", None),
        ({"rewards": {"reward": None}}, None, "not_recorded", None),
        ({"rewards": {"reward": "0.5"}}, None, "not_a_number", None),
        ({"rewards": {"reward": float("nan")}}, None, "not_a_number", None),
        ({"rewards": {"reward": float("inf")}}, None, "not_a_number", None),
        ({"rewards": {"reward": True}}, None, "not_a_number", None),
        ({"rewards": {"reward": [1]}}, None, "not_a_number", None),
        ({"rewards": [1]}, None, "not_recorded", None),
        (None, None, "not_recorded", None),
        (3, None, "not_recorded", None),
    ],
)
def test_rewards(tmp_path, verifier, value, reason, scale):
    found = load_outcome(trial(tmp_path, {"task_name": "t", "verifier_result": verifier}))
    assert (found.reward, found.reward_reason, found.reward_scale) == (value, reason, scale)
    is_misfit = verifier in ({"rewards": [1]}, 3)
    assert bool(found.problems) is (reason == "not_a_number" or is_misfit)
    assert found.unreadable == found.problems


def test_an_exception_is_not_a_reward_of_zero(tmp_path):
    info = {"exception_type": "AgentTimeoutError", "exception_message": "m" * 900}
    found = load_outcome(
        trial(tmp_path, RESULT | {"verifier_result": None, "exception_info": info})
    )
    assert (found.reward, found.reward_reason) == (None, "not_recorded")
    assert found.exception == {"type": "AgentTimeoutError", "message": "m" * 300}


@pytest.mark.parametrize(
    ("result", "metrics", "expected"),
    [
        ({"exception_info": "boom"}, {}, {"type": None, "message": "boom"}),
        ({"exception_info": {}}, {}, None),
        (
            {},
            {"error": "timeout", "failure_class": "infra"},
            {"type": "infra", "message": "timeout"},
        ),
        ({}, {"error": "", "failure_class": None}, None),
    ],
)
def test_exceptions(tmp_path, result, metrics, expected):
    assert load_outcome(trial(tmp_path, {"task_name": "t"} | result, metrics)).exception == expected


def test_rewards_that_disagree_are_named(tmp_path):
    found = load_outcome(trial(tmp_path, RESULT, {"reward": 0.5}))
    assert found.reward == 0.75
    assert found.problems == ("task_metrics.json: reward 0.5, but result.json says 0.75",)


def usage(read: Any, made: Any, cost: Any = None) -> dict[str, Any]:
    stated = {"n_input_tokens": read, "n_output_tokens": made, "cost_usd": cost}
    return {"task_name": "t", "agent_result": stated}


def test_task_metrics_add_cached_tokens_to_the_input(tmp_path):
    metrics = {
        "input_tokens": 53,
        "cache_creation_tokens": 23_443,
        "cache_read_tokens": 205_213,
        "output_tokens": 3_259,
    }
    found = load_outcome(trial(tmp_path, usage(592_751, 2_454), metrics))
    assert (found.input_tokens, found.output_tokens) == (228_709, 3_259)
    assert (found.total_tokens, found.token_source) == (231_968, "task_metrics.json")
    assert found.token_other == {"result.json": 595_205.0}
    assert not found.is_token_total_confirmed


def test_tokens_of_a_tool_usage_section(tmp_path):
    nested = {"tool_usage": {"total_input_tokens": 10, "total_output_tokens": 5, "cost_usd": 0.25}}
    found = load_outcome(trial(tmp_path, {"task_name": "t"}, nested))
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (10, 5, 0.25)


def test_a_trace_that_counts_what_it_declares_comes_first(tmp_path):
    metrics = {"input_tokens": 400, "output_tokens": 100}
    counting = trace(declared_tokens=2_000, counted_tokens=1_990)
    found = load_outcome(trial(tmp_path, usage(1_500, 500), metrics), counting)
    assert (found.total_tokens, found.token_source) == (2_000, "trace")
    assert (found.input_tokens, found.output_tokens) == (1_500, 500)
    assert found.token_other == {"task_metrics.json": 500.0}
    assert found.is_token_total_confirmed


def test_a_whole_atif_trace_is_counted_because_its_total_repeats_messages(tmp_path):
    counting = trace(format="atif-1.2", declared_tokens=600, counted_tokens=250)
    found = load_outcome(trial(tmp_path, usage(500, 100)), counting)
    assert (found.total_tokens, found.token_source) == (250, "trace")
    assert (found.input_tokens, found.token_other) == (None, {"result.json": 600.0})
    assert not found.is_token_total_confirmed
    metrics = {"input_tokens": 200, "output_tokens": 51}
    found = load_outcome(trial(tmp_path, usage(500, 100), metrics), counting)
    assert (found.total_tokens, found.token_source) == (251, "task_metrics.json")
    assert found.is_token_total_confirmed


def test_the_count_of_a_trimmed_trace_says_nothing(tmp_path):
    cut = trace(format="atif-1.2", declared_tokens=600, counted_tokens=250, flags=("trimmed",))
    found = load_outcome(trial(tmp_path, usage(500, 100)), cut)
    assert (found.total_tokens, found.token_source) == (600, "result.json")
    metrics = {"input_tokens": 300, "output_tokens": 100}
    found = load_outcome(trial(tmp_path, usage(500, 100), metrics), cut)
    # result.json inherits the trace's total, so the two are one record and no majority.
    assert (found.total_tokens, found.token_source) == (400, "task_metrics.json")


def test_two_costs_that_agree_outvote_the_third(tmp_path):
    declared = trace(declared_cost_usd=1.004)
    found = load_outcome(trial(tmp_path, usage(1, 1, 1.0), {"cost_usd": 68.0}), declared)
    assert (found.cost_usd, found.cost_source) == (1.0, "result.json")
    assert found.cost_other == {"task_metrics.json": 68.0}
    found = load_outcome(trial(tmp_path, usage(1, 1, 5.0), {"cost_usd": 68.0}), declared)
    assert (found.cost_usd, found.cost_source) == (68.0, "task_metrics.json")
    assert found.cost_other == {"result.json": 5.0, "trace": 1.004}


@pytest.mark.parametrize(
    ("result", "metrics", "declared", "cost", "total"),
    [
        # Zeros in every field of a file mean that nothing was recorded.
        (
            usage(0, 0, 0),
            {"cost_usd": 0.0, "input_tokens": 0, "output_tokens": 0},
            None,
            None,
            None,
        ),
        (usage(None, None, 0.4), {"tool_usage": {"cost_usd": 0.0}}, None, 0.4, None),
        (usage(10, 5, 0), {}, None, 0.0, 15),
        (usage(10, 5, 0), {}, 0.3, 0.3, 15),
        (usage(10, 5, -1), {}, None, None, 15),
        (usage("10", [], "1"), {"cost_usd": float("nan")}, None, None, None),
        (usage(10.5, True, None), {}, None, None, None),
        (usage(10, None), {}, None, None, None),
    ],
)
def test_what_counts_as_recorded(tmp_path, result, metrics, declared, cost, total):
    known = trace(declared_cost_usd=declared)
    found = load_outcome(trial(tmp_path, result, metrics), known)
    assert (found.cost_usd, found.total_tokens) == (cost, total)


@pytest.mark.parametrize(
    ("result", "metrics", "seconds", "source"),
    [
        ({}, {"agent_execution_seconds": 36.5}, 36.5, "task_metrics.json"),
        ({}, {"timing": {"agent": 12.0, "build": 3.0}}, 12.0, "task_metrics.json"),
        ({}, {}, 90.0, "trace"),
        ({"agent_execution": {"started_at": 5, "finished_at": None}}, {}, 90.0, "trace"),
        ({"agent_execution": {"started_at": NOON, "finished_at": NOON}}, {}, 90.0, "trace"),
    ],
)
def test_where_the_agents_time_comes_from(tmp_path, result, metrics, seconds, source):
    known = trace(started_at=1_000_000_000.0, finished_at=1_000_000_090.0)
    found = load_outcome(trial(tmp_path, {"task_name": "t"} | result, metrics), known)
    assert (found.elapsed_seconds, found.elapsed_source) == (seconds, source)


def test_the_whole_trial_is_the_last_resort_for_time(tmp_path):
    stated = {
        "started_at": "2026-07-29T14:00:00+00:00",
        "completed_at": "2026-07-29T14:01:00+00:00",
    }
    found = load_outcome(trial(tmp_path, {"task_name": "t"}, stated), trace())
    assert (found.elapsed_seconds, found.elapsed_source) == (60.0, "whole trial")
    without = load_outcome(tmp_path)
    assert (without.elapsed_seconds, without.elapsed_source) == (None, None)
    assert found.wall_seconds == without.wall_seconds == 60.0


def test_reversed_times_are_named_and_give_no_duration(tmp_path):
    swapped = {"started_at": "2026-02-23T18:00:00", "finished_at": "2026-02-23T17:00:00"}
    found = load_outcome(trial(tmp_path, {"task_name": "t"} | swapped))
    assert (found.wall_seconds, found.elapsed_seconds) == (None, None)
    assert found.problems == ("result.json: the trial ends before it starts",)


@pytest.mark.parametrize(
    "stamp", ["soon", 5, None, True, "0001-01-01T00:00:00", "9" * 90, "1970-01-01T00:00:00Z"]
)
def test_a_time_that_is_none(tmp_path, stamp):
    assert load_outcome(trial(tmp_path, {"task_name": "t", "started_at": stamp})).started_at is None


def test_the_model_asked_for_stands_in_for_the_model_recorded(tmp_path):
    asked = {"config": {"agent": {"model_name": "anthropic/haiku-4-5"}}, "agent_info": "x"}
    known = trace(model="other", harness="h")
    found = load_outcome(trial(tmp_path, {"task_name": "t"} | asked), known)
    assert (found.model, found.harness, found.harness_version) == ("haiku-4-5", "h", None)
    assert load_outcome(trial(tmp_path, {"task_name": "t"}), known).model == "other"


def test_files_are_left_as_they_are(tmp_path):
    trial(tmp_path, RESULT, {"reward": 1})
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    load_outcome(tmp_path)
    assert before == {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
