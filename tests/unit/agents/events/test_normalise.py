from __future__ import annotations

from msgspec.structs import replace

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.document import summarise
from retrieval_eval.agents.events.evidence import ranking
from retrieval_eval.records import ToolCall, ToolResult, Trace
from tests.trials import truth


def call(name: str, arguments: dict, text: str | None = "", **fields) -> ToolCall:
    structured, is_error = fields.pop("structured", None), fields.pop("is_error", False)
    result = None if text is None else ToolResult(text, structured, is_error)
    return ToolCall(fields.pop("call_id", "c"), name, arguments, result, **fields)


def trace(*calls: ToolCall, **fields) -> Trace:
    options = {"cwd": "/workspace", "started_at": 100.0, **fields}
    return Trace(calls, "test", "transcript", False, True, **options)


def names(events) -> list[str]:
    return [str(f) for f in ranking(events, "accessed")]


def read(path: str, **fields) -> ToolCall:
    return call("Read", {"file_path": path}, "     1\tx = 1", **fields)


def bash(command: str, output: str, **fields) -> ToolCall:
    return call("Bash", {"command": command}, output, **fields)


def test_a_shell_call_is_one_event_and_one_more_for_each_command():
    found = extract_events(
        trace(bash("cat src/a.py && grep -n foo src/b.py", "x = 1\n12:foo\n")), truth("src/b.py")
    )
    assert [(e.tool_category, e.via, e.call_index) for e in found.events] == [
        ("other", None, 0),
        ("file_read", "shell", 0),
        ("code_search", "shell", 0),
    ]
    assert [e.step_index for e in found.events] == [0, 1, 2]
    assert names(found) == ["src/a.py", "src/b.py"]
    assert found.ledger.shell_events == 2


def test_the_working_directory_lasts_and_each_sub_agent_has_its_own():
    found = extract_events(
        trace(
            bash("cd /workspace/pkg", ""),
            bash("cat a.py", "x"),
            bash("cat a.py", "x", is_subagent=True, parent_id="t1"),
        ),
        truth("pkg/a.py"),
    )
    assert names(found) == ["pkg/a.py", "a.py"]
    assert found.events[1].matched or found.events[2].matched


def test_elapsed_time_counts_from_the_agents_start():
    calls = [read("/workspace/a.py", timestamp=130.5)]
    assert extract_events(trace(*calls), truth()).events[0].elapsed_seconds == 30.5
    started = extract_events(trace(*calls), truth(), agent_started_at=120.0)
    assert started.events[0].elapsed_seconds == 10.5


def test_a_clock_that_runs_backwards_gives_no_time_and_a_flag():
    found = extract_events(trace(read("/workspace/a.py", timestamp=90.0)), truth())
    assert found.events[0].elapsed_seconds is None
    assert "clock_skew" in found.flags


def test_a_clock_that_goes_back_in_the_middle_is_a_flag():
    def flags(*times, **more):
        calls = [read(f"/workspace/{t}.py", timestamp=t) for t in times]
        return extract_events(trace(*(replace(c, **more) for c in calls)), truth()).flags

    assert "clock_skew" in flags(5000.0, 200.0)
    # Calls made together end in any order, and sub-agents are listed one after the other.
    assert "clock_skew" not in flags(5000.0, 4500.0)
    assert "clock_skew" not in flags(5000.0, 200.0, is_subagent=True)


def test_the_ledger_adds_up():
    found = extract_events(
        trace(
            read("/workspace/a.py"),
            call("TodoWrite", {"todos": []}),
            call("Read", {"file_path": "/workspace/b.py"}, None),
            call("Read", {"file_path": "/workspace/c.py"}, "no", is_error=True),
            bash("cat $(find . -name '*.py' -newer x)", "x = 1"),
            call("mcp__remote__read_file", {"path": "d.py", "repo": "r"}, "1: x"),
        ),
        truth("a.py"),
    )
    ledger = found.ledger
    assert ledger.calls_seen == 6
    assert ledger.calls_seen == (
        ledger.calls_not_retrieval
        + ledger.calls_without_result
        + ledger.calls_error
        + ledger.calls_opaque
        + ledger.calls_resolved
    )
    assert ledger.not_retrieval_by_tool == {"TodoWrite": 1}
    assert (ledger.calls_without_result, ledger.calls_error, ledger.calls_opaque) == (1, 1, 1)
    assert (ledger.mcp_calls, ledger.mcp_calls_ok) == (1, 1)
    assert ledger.tools == {
        "Bash": (1, 1),
        "Read": (3, 1),
        "TodoWrite": (1, 1),
        "mcp__remote__read_file": (1, 1),
    }
    assert ledger.mcp_servers == {"remote": (1, 1)}


def test_of_many_tools_the_ledger_keeps_those_called_most_often():
    calls = [call(f"tool-{i:03d}" + "x" * 300, {}) for i in range(300)]
    calls += [call("tool-299" + "x" * 300, {})]
    tools = extract_events(trace(*calls), truth("a.py")).ledger.tools
    assert len(tools) == 200
    assert tools["tool-299" + "x" * 192][0] == 2
    assert max(map(len, tools)) == 200


def test_the_output_a_task_names_is_the_agents_own_also_inside_the_checkout():
    ground_truth = replace(
        truth("widgets::src/a.py"), output_files=("/workspace/widgets/docs/REPORT.md",)
    )
    path = "/workspace/widgets/docs/REPORT.md"
    written = call("Write", {"file_path": path, "content": "x"}, "File created")
    found = extract_events(trace(written, read(path)), ground_truth)
    assert names(found) == []
    assert found.own_output


def test_an_agent_that_reads_the_answer_is_flagged():
    assert extract_events(trace(read("/workspace/src/a.py")), truth()).flags == ()
    found = extract_events(trace(read("/workspace/.task/ground_truth.json")), truth())
    assert found.flags == ("ground_truth_read",)


def test_summary_counts_by_category():
    found = extract_events(
        trace(read("/workspace/a.py"), read("/workspace/a.py"), bash("true", "")), truth("a.py")
    )
    summary = summarise(found)
    assert summary.total_events == 3
    assert summary.events_by_category == {"file_read": 2, "other": 1}
    assert (summary.unique_files_accessed, summary.ground_truth_files_hit) == (1, 1)


def test_lines_begin_at_1_whatever_a_tool_counts_from():
    grep = call("Grep", {"pattern": "x", "output_mode": "content"}, "a.py:0:x\na.py:1:x\nb.py:0:x")
    found = extract_events(trace(grep), truth("a.py"))
    assert [t.lines for t in found.events[0].targets] == [((1, 1),), None]


def test_reasons_are_cut_and_the_rare_ones_counted_together():
    names = [f"p{n:02}" for n in range(60)]
    calls = [bash(f"{name} x", "y") for name in [*names, "p59", "q" * 900]]
    reasons = extract_events(trace(*calls), truth("a.py")).ledger.opaque_reasons
    assert sum(reasons.values()) == 62
    assert reasons["p59: not a program this package knows"] == 2
    assert reasons["11 further reasons"] == 11
    assert max(map(len, reasons)) <= 200
