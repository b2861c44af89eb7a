from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.formats.atif import read_atif
from retrieval_eval.agents.traces.reading import Unreadable
from retrieval_eval.agents.traces.tokens import accumulate


def document(*steps, agent="someagent", **more):
    return {
        "schema_version": "ATIF-v1.2",
        "session_id": "s1",
        "agent": {"name": agent, "version": "3.1", "model_name": "model-x"},
        "steps": list(steps),
        **more,
    }


def read(*steps, **more):
    return read_atif(document(*steps, **more), "agent/trajectory.json")


def step(*calls, results=(), **more):
    return {
        "source": "agent",
        "timestamp": "1970-01-01T00:00:05Z",
        "tool_calls": [
            {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
            for call_id, name, arguments in calls
        ],
        "observation": {
            "results": [{"source_call_id": call_id, "content": text} for call_id, text in results]
        },
        **more,
    }


def truncated(value, length):
    text = json.dumps(value)
    return {
        "_corpus_truncated": True,
        "preview": text[:length] + "...[truncated]...",
        "original_bytes": len(text),
    }


@pytest.mark.parametrize("call_id", ["a", None])
def test_a_result_without_id_belongs_to_the_only_call_of_its_step(call_id):
    reading = read(step((call_id, "Read", {}), results=[(None, "text")]), step(("b", "Read", {})))
    assert [c.result and c.result.text for c in reading.calls] == ["text", None]
    assert "result_without_call" not in reading.flags


def test_the_only_result_of_a_step_may_be_an_error():
    given = step(("a", "Bash", {"command": "cat a.py"}), results=[(None, "x")])
    given["observation"]["results"][0]["extra"] = {"is_error": True}
    assert read(given).calls[0].result.is_unfinished


def emptied(content, agent, **extra):
    given = step(("a", "Bash", {"command": "cat a.py"}), results=[("a", content)])
    given["observation"]["results"][0]["extra"] = extra
    (call,) = read(given, agent=agent).calls
    return call.result


AGENTS = ("claude-code", "codex", "gemini-cli", "goose", "openhands", "qwen-coder", "swe-agent")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_result_without_content_does_not_say_how_the_call_ended(agent):
    assert emptied(None, agent) is None


@pytest.mark.parametrize("agent", AGENTS)
def test_an_empty_text_is_an_answer_where_failures_have_a_text(agent):
    is_lost = agent in {"gemini-cli", "goose", "qwen-coder"}
    assert (emptied("", agent) is None) == is_lost


@pytest.mark.parametrize("content", [None, ""])
def test_a_status_says_that_a_call_without_content_ended(content):
    for agent, extra in (("codex", {"exit_code": 0}), ("copilot-cli", {"success": True})):
        given = emptied(content, agent, **extra)
        assert (given.text, given.is_error) == ("", False)
    assert emptied(content, "copilot-cli", success=False).is_unfinished
    assert emptied(content, "claude-code", is_error=True).is_unfinished


@pytest.mark.parametrize(
    "given",
    [
        {
            "source": "system",
            "message": "",
            "extra": {"context_management": {"type": "compaction"}},
        },
        {
            "source": "user",
            "message": "This session is being continued from a previous conversation",
        },
    ],
)
def test_a_summary_of_earlier_steps_says_whether_the_file_holds_them(given):
    done = step(("a", "Read", {}), results=[("a", "x")])
    assert "history_compacted" in read(given, done).flags
    assert "context_compacted" in read(done, given).flags


def test_settings_of_the_context_are_no_summary():
    given = {"source": "agent", "message": "", "extra": {"context_management": {"edits": []}}}
    assert read(given, {"source": "system", "extra": {"context_management": None}}).flags == ()


TWO = (("a", "Read", {}), ("b", "Read", {}))


@pytest.mark.parametrize(
    "given",
    [
        step(*TWO, results=[(None, "whose?")]),
        step(TWO[0], results=[(None, "whose?"), (None, "whose?")]),
        step(*TWO, results=[("a", "own"), (None, "whose?")]),
        step(TWO[0], results=[(None, "whose?")])
        | {"tool_calls": [{"tool_call_id": "a", "function_name": "Read"}, None]},
        step(TWO[0], results=[(None, "whose?")])
        | {"tool_calls": truncated(step(*TWO)["tool_calls"], 80)},
        step(TWO[0])
        | {"observation": truncated({"results": [{"content": "whose?"}, {"content": "x"}]}, 40)},
    ],
)
def test_a_result_that_could_be_anothers_may_be_any_call_s_of_its_step(given):
    reading = read(given)
    found = [(c.result.text.split("\n")[0], c.result.doubt) for c in reading.calls]
    assert set(found) <= {("whose?", "unlinked_result"), ("own", None)}
    assert ("whose?", "unlinked_result") in found
    assert "result_without_call" in reading.flags


@pytest.mark.parametrize(
    "given",
    [step(TWO[0], results=[("b", "another's")]), step(results=[(None, "whose?")])],
)
def test_a_result_without_a_call_belongs_to_none(given):
    reading = read(given)
    assert [c.result for c in reading.calls] == [None] * len(reading.calls)
    assert "result_without_call" in reading.flags


def test_a_result_in_a_later_step_is_joined_by_its_id():
    reading = read(
        step(("a", "terminal", {"command": "ls"})),
        step(("b", "terminal", {"command": "pwd"}), results=[("a", "a.py"), ("b", "/w")]),
        agent="openhands-sdk",
    )
    assert [c.result.text for c in reading.calls] == ["a.py", "/w"]


def test_a_gap_in_the_numbers_of_the_steps_says_that_steps_were_lost():
    def numbered(*numbers):
        return read(*({**step((f"c{n}", "Read", {})), "step_id": n} for n in numbers))

    assert "trimmed" in numbered(1, 2, 4).flags
    for whole in ((1, 2, 3), (7, 8), (2, 1, 2), ("1", "9"), (None, 5)):
        assert "trimmed" not in numbered(*whole).flags


def test_a_result_that_is_no_text_is_named():
    for content, is_fit in (({"a": 1}, False), (7, False), (None, True), ([], True)):
        reading = read(step(("a", "Read", {}), results=[("a", content)]))
        assert ("malformed_step" in reading.flags) is not is_fit


def test_the_run_is_described():
    reading = read(
        {"source": "user", "timestamp": "1970-01-01T00:00:01Z"},
        step(timestamp="1970-01-01T00:00:03Z"),
        step(timestamp="1970-01-01T00:00:09"),
        final_metrics={
            "total_prompt_tokens": 10,
            "total_completion_tokens": 4,
            "total_cost_usd": 0.25,
        },
    )
    assert (reading.harness, reading.harness_version, reading.model) == (
        "someagent",
        "3.1",
        "model-x",
    )
    assert (reading.started_at, reading.finished_at) == (3.0, 9.0)
    assert (reading.declared_tokens, reading.declared_cost_usd) == (14, 0.25)
    assert reading.format == "atif-1.2"


@pytest.mark.parametrize("minor", range(9))
def test_known_minor_versions_are_read_without_a_flag(minor):
    reading = read(schema_version=f"ATIF-v1.{minor}")
    assert reading.flags == ()
    assert reading.format == f"atif-1.{minor}"


def test_a_newer_minor_version_is_read_with_a_flag():
    assert read(schema_version="ATIF-v1.9").flags == ("newer_minor_version",)


@pytest.mark.parametrize("version", ["ATIF-v2.0", "ATIF-v1.x", "1.2", "", None, ["ATIF-v1.2"]])
def test_other_versions_are_refused_by_name(version):
    refused = read(schema_version=version)
    assert isinstance(refused, Unreadable)
    assert refused.reason.startswith("agent/trajectory.json: schema_version ")
    assert str(version) in refused.reason


def test_copied_context_is_not_done_again():
    old = step(("a", "Read", {}), results=[("a", "x")], is_copied_context=True)
    assert [c.call_id for c in read(old, step(("b", "Read", {}))).calls] == ["b"]


def test_one_call_that_is_not_in_a_list_is_one_call():
    lone = {"tool_call_id": "a", "function_name": "Read", "arguments": {}}
    assert len(read({"source": "agent", "tool_calls": lone}).calls) == 1


def test_an_id_in_reuse_is_joined_within_its_step():
    reading = read(
        step(("c1", "execute_bash", {"command": "ls a"})),
        step(("c1", "execute_bash", {"command": "ls b"}), results=[("c1", "b.py")]),
        step(("c1", "execute_bash", {"command": "ls b"}), results=[("c1", "later")]),
    )
    assert [c.result and c.result.text for c in reading.calls] == [None, "b.py"]
    assert "repeated_call_id" in reading.flags


def test_the_same_command_in_another_step_is_another_call():
    reading = read(
        step(("c1", "execute_bash", {"command": "ls"}), results=[("c1", "a.py")]),
        step(
            ("c1", "execute_bash", {"command": "ls"}),
            results=[("c1", "a.py b.py")],
            timestamp="1970-01-01T00:00:06Z",
        ),
    )
    assert [c.result.text for c in reading.calls] == ["a.py", "a.py b.py"]


def test_a_cut_observation_gives_its_beginning():
    whole = {"results": [{"source_call_id": "a", "content": "x" * 300}]}
    preview = truncated(whole, 100)
    reading = read(step(("a", "Read", {})) | {"observation": preview})
    result = reading.calls[0].result
    assert result.is_truncated
    assert result.text == "x" * (100 - len('{"results": [{"source_call_id": "a", "content": "'))
    assert reading.flags == ("truncated",)


def test_an_observation_cut_before_its_text_gives_no_result():
    preview = truncated({"results": [{"source_call_id": "a", "content": "x"}]}, 20)
    assert read(step(("a", "Read", {})) | {"observation": preview}).calls[0].result is None


def test_cut_calls_keep_whole_arguments_only():
    calls = [
        {
            "tool_call_id": "a",
            "function_name": "Write",
            "arguments": {"file_path": "/src/a.py", "content": "y" * 400},
        }
    ]
    reading = read(step(results=[("a", "written")]) | {"tool_calls": truncated(calls, 160)})
    (call,) = reading.calls
    assert (call.name, call.arguments) == ("Write", {"file_path": "/src/a.py"})
    assert call.result.text == "written"
    assert reading.flags == ("truncated",)


def test_left_out_steps_are_a_flag_and_end_the_token_count():
    metrics = {"prompt_tokens": 100, "completion_tokens": 5}
    reading = read(
        step(("a", "Read", {}), metrics=metrics),
        {"step_id": None, "source": "corpus_builder", "extra": {"trimmed": True}},
        step(("b", "Read", {}), metrics=metrics),
        _corpus_trim_applied=True,
    )
    assert reading.flags == ("trimmed",)
    assert [c.cumulative_tokens for c in accumulate(reading.items)] == [105, None]


def test_embedded_sub_agents_follow_the_call_that_started_them():
    child = {
        "trajectory_id": "child",
        "steps": [step(("s", "Grep", {}), results=[("s", "hit")])],
    }
    orphan = {"steps": [step(("o", "Read", {}))]}
    delegating = step(("t", "Task", {}))
    delegating["observation"]["results"] = [
        {"source_call_id": "t", "subagent_trajectory_ref": [{"trajectory_id": "child"}]}
    ]
    reading = read(delegating, step(("z", "Read", {})), subagent_trajectories=[child, orphan, None])
    assert [(c.call_id, c.is_subagent) for c in reading.calls] == [
        ("t", False),
        ("s", True),
        ("z", False),
        ("o", True),
    ]
    assert reading.calls[1].result.text == "hit"
    assert reading.calls[1].where == "agent/trajectory.json#/subagent_trajectories/0/steps/0"


def test_sub_agents_that_share_an_id_are_all_kept():
    twins = [{"trajectory_id": "c", "steps": [step((i, "Read", {}))]} for i in "xy"]
    assert [c.call_id for c in read(subagent_trajectories=twins).calls] == ["x", "y"]


def test_other_agents_text_is_left_as_it_is_and_their_errors_are_seen():
    text = "log\n\n[stdout]\nlog"
    failed = step(("a", "Run", {}), results=[("a", text)], extra={"is_error": True})
    result = read(failed).calls[0].result
    assert (result.text, result.is_error) == (text, True)
    given = step(("b", "Run", {}), results=[("b", "x")])
    given["observation"]["results"][0]["extra"] = {"is_error": True}
    assert read(given).calls[0].result.is_error


def test_a_sub_agent_in_another_file_is_not_opened():
    delegating = step(("t", "Task", {}))
    delegating["observation"]["results"] = [
        {"source_call_id": "t", "subagent_trajectory_ref": [{"trajectory_path": "/etc/passwd"}]}
    ]
    reading = read(delegating)
    assert [c.call_id for c in reading.calls] == ["t"]
    assert reading.flags == ("subagent_elsewhere",)


def test_trajectories_nested_without_end_stop():
    nested = {"steps": [step(("x", "Read", {}))]}
    for _ in range(50):
        nested = {"steps": [], "subagent_trajectories": [nested]}
    assert read(subagent_trajectories=[nested]).calls == ()


class TestClaudeCode:
    def metrics(self, prompt, cached, written, output):
        return {
            "prompt_tokens": prompt,
            "cached_tokens": cached,
            "completion_tokens": output,
            "extra": {"cache_creation_input_tokens": written, "cache_read_input_tokens": cached},
        }

    def test_steps_of_one_message_count_once_with_what_went_to_the_cache(self):
        reading = read(
            step(metrics=self.metrics(5187, 5185, 3501, 8)),
            step(("a", "Read", {}), metrics=self.metrics(5187, 5185, 3501, 127)),
            step(("b", "Read", {}), metrics=self.metrics(8689, 8686, 3305, 8)),
            agent="claude-code",
        )
        # 2 + 5185 + 3501 prompt tokens, then 3 + 8686 + 3305.
        first = 8688 + 127
        assert [c.cumulative_tokens for c in accumulate(reading.items)] == [first, first + 12002]

    def test_other_agents_may_repeat_their_counts(self):
        metrics = {"prompt_tokens": 100, "completion_tokens": 1}
        reading = read(step(metrics=metrics), step(("a", "Read", {}), metrics=metrics))
        assert accumulate(reading.items)[0].cumulative_tokens == 202

    def test_a_prompt_that_includes_the_cache_is_left_alone(self):
        metrics = self.metrics(5000, 3000, 1500, 1)
        reading = read(step(("a", "Read", {}), metrics=metrics), agent="claude-code")
        assert accumulate(reading.items)[0].cumulative_tokens == 5001

    def test_the_original_result_is_in_the_extra(self):
        extra = {
            "cwd": "/workspace",
            "is_sidechain": True,
            "tool_result_is_error": True,
            "tool_result_metadata": {
                "tool_use_result": {"stdout": "  lead\n"},
                "raw_tool_result": {"tool_use_id": "a", "content": "  lead", "is_error": False},
            },
        }
        (call,) = read(
            step(("a", "Bash", {}), results=[("a", "lead\n\n[stdout]\n  lead")], extra=extra),
            agent="claude-code",
        ).calls
        assert call.result.text == "  lead"
        assert call.result.structured == {"stdout": "  lead\n"}
        assert call.result.is_error
        assert call.cwd == "/workspace"
        assert call.is_subagent


class TestOpenHands:
    def test_a_cut_command_that_the_message_has_whole_is_no_mismatch(self):
        calls = [
            {
                "tool_call_id": "a",
                "function_name": "execute_bash",
                "arguments": {"command": "echo " + "z" * 300},
            }
        ]
        reading = read(
            step(message="Running command: echo z") | {"tool_calls": truncated(calls, 120)},
            agent="openhands",
        )
        assert reading.calls[0].arguments == {"command": "echo z"}
        assert reading.flags == ("truncated",)


def said(text, *observed, source="agent"):
    results = [{"source_call_id": None, "content": shown} for shown in observed]
    step = {"source": source, "message": text}
    return {**step, "observation": {"results": results}} if observed else step


PARSING = "Previous response had parsing errors:\nERROR: No valid JSON found in response"


def test_an_answer_that_could_not_be_parsed_is_no_missing_step():
    keys = {"keystrokes": "cat a.py\n"}
    shown = "New Terminal Output:\nu@h:/repo# cat a.py\nx = 1\nu@h:/repo# "
    typed = step(("a", "bash_command", keys), results=[("a", shown)])
    reading = read(typed, said("No JSON.", PARSING), said("Nor here.", PARSING), agent="terminus-2")
    assert reading.flags == ()


def test_an_error_of_the_next_answer_is_no_result_of_the_calls_before():
    calls = [("a", "bash", {"command": "cat a.py"}), ("b", "bash", {"command": "cat b.py"})]
    refusal = "Tool call error:\n\n<error>\nUnknown tool 'x'\n</error>"
    shown = '{"returncode": 0, "output": "%s"}'
    reading = read(
        step(*calls, results=[(None, shown % "x"), (None, shown % "y"), (None, refusal)]),
        agent="mini-swe-agent",
    )
    assert [call.result.text for call in reading.calls] == ["x", "y"]
    assert [call.result.doubt for call in reading.calls] == [None, None]
    assert reading.flags == ()


def test_commands_in_the_text_of_answers_are_unreadable_and_not_none():
    screen = "New Terminal Output:\nu@h:/repo# cat a.py\nx = 1\nu@h:/repo# "
    in_observation = read(*[said('{"commands": ["cat a.py"]}', screen)] * 2, agent="terminus-2")
    reply = said("OBSERVATION: x = 1", source="user")
    in_text = read(*[said("<function=execute_bash>"), reply] * 2, agent="openhands")
    assert "calls_unreadable" in in_observation.flags
    assert in_text.flags == ("calls_unreadable",)
    assert read(said("The answer is 3."), reply, said("Bye.")).flags == ()


def test_the_reply_to_a_message_without_a_call_says_that_nothing_was_carried_out():
    text = "Please continue on whatever approach you think is suitable. If you think you have"
    steps = [said("<function=execute_bash>"), said(text, source="user")]
    assert read(*steps * 3, agent="openhands").flags == ()


def with_references(*references, embedded=()):
    steps = []
    for number, reference in enumerate(references):
        delegated = step((f"t{number}", "Agent", {}), results=[(f"t{number}", "done")])
        delegated["observation"]["results"][0]["subagent_trajectory_ref"] = [reference]
        steps.append(delegated)
    children = [document(step((f"in {i}", "Read", {})), trajectory_id=i) for i in embedded]
    return read(*steps, subagent_trajectories=children)


@pytest.mark.parametrize(
    ("reference", "is_elsewhere"),
    [
        ({"trajectory_id": "s2"}, False),
        ({"trajectory_id": "s3"}, True),
        ({"trajectory_id": "s3", "trajectory_path": "agents/s3.json"}, True),
        ({"session_id": "s1"}, True),
        ({"trajectory_path": "trajectory.summarization-1-summary.json"}, False),
    ],
)
def test_each_reference_leads_to_an_embedded_trajectory_or_elsewhere(reference, is_elsewhere):
    reading = with_references({"trajectory_id": "s1"}, reference, embedded=("s1", "s2"))
    assert ("subagent_elsewhere" in reading.flags) == is_elsewhere
    assert reading.sub_agents == {"s1", "s2"}
    assert reading.delegated["t0"] == "s1"
    assert {c.parent_id for c in reading.calls if c.is_subagent} == {"s1", "s2"}


def test_a_part_without_the_one_before_lacks_the_calls_that_it_copies():
    copied = step(("a", "Read", {}), results=[("a", "x = 1")], is_copied_context=True)
    own = step(("b", "Read", {}), results=[("b", "y = 1")])
    assert read(copied, own).flags == ("history_compacted",)
    assert read({**copied, "tool_calls": []}, own).flags == ()


@pytest.mark.parametrize(
    ("shown", "is_stopped"),
    [("x = 1", True), ("x = 1\n[The command completed with exit code 0.]", False), ("", False)],
)
def test_a_runner_may_leave_out_that_a_command_ran_into_its_time_limit(shown, is_stopped):
    called = ("a", "terminal", {"command": "cat a.py; sleep 9; cat b.py"})
    (call,) = read(step(called, results=[("a", shown)]), agent="openhands-sdk").calls
    assert call.result.is_stopped == is_stopped
