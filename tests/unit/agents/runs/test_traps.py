"""Known traps of evaluating retrieval by agents, each as one tiny trial through the pipeline."""

from __future__ import annotations

import json
import shutil

import pytest

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.model.summary import NeverHit
from tests.locking import lock
from tests.scenes import (
    BASELINE,
    MCP,
    Bench,
    Call,
    atif,
    call,
    failed,
    read,
    shell,
    stream_lines,
    text_blocks,
    write_lines,
)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


# --- which actions count


NEVER_RAN = [
    "Permission to use Bash with command cat src/a.py has been denied.",
    "Claude requested permissions to use Bash, but you haven't granted it yet.",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "[Request interrupted by user for tool use]",
    "Bash operation blocked by hook:\n- [guard.py]: import os is not to be read",
    "PreToolUse:Bash hook error: [guard.sh]: src/a.py is not to be read",
    "Command timed out after 2m 0.0s",
    "import os\n<error>Command was aborted before completion</error>",
    "<tool_use_error>Cancelled: parallel tool call Bash(ls) errored</tool_use_error>",
    "<tool_use_error>Sibling tool call errored</tool_use_error>",
    "This Bash command contains multiple operations. The following part requires approval: cat",
    "import os",
    "",
]


@pytest.mark.parametrize("text", NEVER_RAN)
@pytest.mark.parametrize("tool", ["Bash", "mcp__files__read_file"])
def test_an_error_without_exit_code_is_a_call_that_did_not_run(bench, tool, text):
    arguments = {"command": "cat src/a.py"} if tool == "Bash" else {"path": "src/a.py"}
    seen = bench.look([Call(tool, arguments, text, is_error=True)])
    assert (seen.recall, seen.targets(), seen.ledger["calls_error"]) == (0.0, [], 1)


def test_what_a_command_printed_before_it_timed_out_was_shown(bench):
    text = "Command timed out after 2m 0.0s\nimport os\nExit code 1"
    seen = bench.look([Call("Bash", {"command": "cat src/a.py"}, text, is_error=True)])
    assert (seen.recall, seen.ledger["calls_error"]) == (1.0, 1)


def test_a_command_that_did_not_run_changes_no_folder(bench):
    denied = failed("Bash", NEVER_RAN[0], command="cd /elsewhere")
    assert bench.look([denied, shell("cat src/a.py", "import os")]).recall == 1.0


def test_what_a_command_printed_before_it_was_interrupted_stays_open(bench):
    lines = stream_lines([shell("cat src/a.py", "import os")])
    answer = next(line for line in lines if line["type"] == "user")
    answer["tool_use_result"] = {"stdout": "import os", "stderr": "", "interrupted": True}
    seen = bench.look_at(lines)
    assert (seen.recall, seen.ledger["calls_error"]) == (None, 1)
    assert seen.metrics["coverage"]["possible_files"] == {"may_have_failed": 1}


@pytest.mark.parametrize(
    ("text", "recall"),
    [
        ("Exit code 1\nimport os\ncat: src/b.py: No such file or directory", 1.0),
        # What was printed before the stop begins with the first file.
        ("Exit code 143\nCommand timed out after 2m 0.0s\n\nimport os", 1.0),
        ("Exit code 143\nCommand timed out after 2m 0.0s", 0.0),
        ("Exit code 1", 0.0),
    ],
)
def test_a_command_with_an_exit_code_served_what_it_printed(bench, text, recall):
    assert bench.look([failed("Bash", text, command="cat src/a.py src/b.py")]).recall == recall


@pytest.mark.parametrize("text", [*NEVER_RAN[:7], *NEVER_RAN[8:10]])
def test_words_of_a_refusal_are_no_content_though_the_flag_was_lost(bench, text):
    seen = bench.look([shell("cat src/a.py", text)])
    assert (seen.recall, seen.targets()) == (0.0, [])


@pytest.mark.parametrize(
    "text",
    [
        "Permission to use, copy, modify, and/or distribute this software is hereby granted",
        "Commits are blocked by a hook until they are signed.",
        "Command timed out handling\n\nSee below.",
        "The user doesn't have to log in.",
    ],
)
def test_content_that_speaks_of_refusals_is_content(bench, text):
    assert bench.look([shell("cat src/a.py", text)]).recall == 1.0


@pytest.mark.parametrize(
    ("told", "recall"),
    [
        ({"is_error": True}, 0.0),
        ({"success": False}, 0.0),
        ({"is_error": True, "exit_code": 1}, 1.0),
        ({"is_error": True, "tool_metadata": {"exit_code": 2}}, 1.0),
    ],
)
@pytest.mark.parametrize("place", ["result", "step"])
def test_another_harness_says_whether_its_command_ended(bench, told, recall, place):
    document = atif([shell("cat src/a.py", "import os")], agent="other-agent")
    (step,) = document["steps"]
    (step if place == "step" else step["observation"]["results"][0])["extra"] = told
    assert bench.look_at(document).recall == recall


def test_a_long_listing_counts_is_seen_in_the_views_and_is_flagged(bench):
    names = [f"/workspace/src/{n:03}.py" for n in range(299)] + ["/workspace/src/a.py"]
    seen = bench.look([call("Glob", "\n".join(names), pattern="**/*.py")])
    views = seen.files["views"]
    assert (seen.recall, views["opened"]["file_recall"]) == (1.0, 0.0)
    assert seen.files["found_by"]["listed_only"] == 1
    assert "found_by_name_only" in seen.flags
    opened = bench.look([call("Glob", "\n".join(names), pattern="**/*.py"), read("src/a.py")])
    assert "found_by_name_only" not in opened.flags
    discounted = opened.files["views"]["listing_discounted"]
    assert (opened.files["mrr"], discounted["mrr"]) == (1 / 300, 1.0)


# --- joining and repeating


def test_decorated_names_are_paired_by_their_task(bench):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    bench.trial([read("src/a.py")], "mcp_task-one_AbCdEf", config=MCP)
    (comparison,) = bench.evaluate().impact.comparisons
    assert [pair.task_name for pair in comparison.pairs] == ["task-one"]


def test_only_what_is_there_now_is_aggregated(bench):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    gone = bench.trial([read("src/b.py")], suffix="bbbbbbb")
    bench.evaluate()
    shutil.rmtree(gone)
    (again,) = bench.evaluate().runs
    assert again.summary.counts.trials_found == 1
    assert again.summary.configs[BASELINE].metrics["file_recall"].mean == 1.0
    assert len(list((again.folder / BASELINE).iterdir())) == 2


def test_a_broken_run_is_left_out_trial_by_trial(bench):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    bench.trial([read("src/b.py")], config=MCP)
    shutil.copytree(bench.run, bench.root / "runs/run-1__broken")
    good, broken = bench.evaluate("run-1", "run-1__broken").runs
    assert good.summary.counts.evaluated == 2
    counts = broken.summary.counts
    assert (counts.trials_found, counts.evaluated, counts.excluded) == (2, 0, 2)
    assert {e.reason for e in broken.summary.excluded} == {"skipped_name"}
    with pytest.raises(NothingToEvaluateError, match="2 left out because the name marks"):
        bench.evaluate("run-1__broken")


def test_a_config_named_broken_is_a_config(bench):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")], config="remote-direct__broken_websearch")
    (run,) = bench.evaluate().runs
    assert (run.summary.counts.evaluated, run.summary.counts.excluded) == (1, 0)


# --- numbers


def test_no_trace_is_not_a_recall_of_zero(bench):
    bench.task(["src/a.py"])
    bench.trial(None)
    bench.evaluate()
    assert bench.seen().files == {"computable": False, "reason": "no_trace"}


def test_a_trace_in_which_the_agent_never_acts_is_not_a_recall_of_zero(bench):
    bench.task(["src/a.py"])
    folder = bench.trial(None)
    (folder / "agent").mkdir()
    for trace in (atif([]), {**atif([]), "steps": [{"source": "user", "message": "go"}]}):
        (folder / "agent/trajectory.json").write_text(json.dumps(trace))
        bench.evaluate()
        assert bench.seen().files == {"computable": False, "reason": "agent_never_acted"}


def test_an_agent_whose_calls_cannot_be_read_is_not_a_recall_of_zero(bench):
    bench.task(["src/a.py"])
    said = [
        {"role": "assistant", "content": "exec_bash_cmd('cat src/a.py')"},
        {"role": "user", "content": "x = 1"},
    ]
    info = {"exit_status": "Submitted", "model_stats": {"api_calls": 2}}
    trace = {"trajectory_format": "mini-swe-agent-1", "info": info, "messages": said * 2}
    folder = bench.trial(None)
    (folder / "agent").mkdir()
    (folder / "agent/trajectory.json").write_text(json.dumps(trace))
    bench.evaluate()
    seen = bench.seen()
    assert seen.files == {"computable": False, "reason": "calls_unreadable"}
    assert seen.degraded is not None


def test_answers_of_unknown_tools_alone_are_not_a_recall_of_zero(bench):
    unknown = call("Frobnicate", "src/a.py says x", q="x")
    seen = bench.look([unknown, shell("true")], "src/a.py")
    assert seen.files == {"computable": False, "reason": "nothing_resolved"}
    assert "could be resolved to files" in seen.degraded
    seen = bench.look([unknown, read("src/b.py")], "src/a.py")
    assert (seen.recall, seen.files["file_recall_bounds"]) == (None, [0.0, 1.0])
    seen = bench.look([call("Frobnicate", "done", q="x"), read("src/b.py")], "src/a.py")
    assert (seen.recall, seen.degraded) == (0.0, None)


def test_a_file_that_was_written_does_not_make_unresolved_answers_a_zero(bench):
    unknown = call("Frobnicate", "src/a.py says x", q="x")
    notes = "/workspace/notes.md"
    written = call("Write", "File created successfully", file_path=notes, content="x")
    again = read("notes.md")
    for calls in ([unknown, written], [unknown, written, again]):
        seen = bench.look(calls, "src/a.py")
        assert seen.files == {"computable": False, "reason": "nothing_resolved"}


def test_never_hit_is_a_category_of_its_own(bench):
    bench.task(["src/z.py"])
    bench.trial([read("src/a.py"), read("src/b.py")])
    (run,) = bench.evaluate().runs
    files = bench.seen().files
    assert (files["never_hit"], files["ttfr_seconds"], files["ttfr_tokens"]) == (True, None, None)
    assert (files["censored_at_seconds"], files["censored_at_tokens"]) == (1.0, 220)
    summary = run.summary.configs[BASELINE]
    assert summary.never_hit == NeverHit(count=1, denominator=1)
    assert summary.metrics["ttfr_seconds"].reasons == {"never_hit": 1}


def test_a_mean_over_what_is_computable_stands_beside_its_bounds(bench):
    for task in ("clear", "open"):
        bench.task(["src/a.py"], task)
    edited = call(
        "Edit", "updated", file_path="/workspace/src/a.py", old_string="x", new_string="y"
    )
    bench.trial([read("src/a.py"), edited], "clear")
    bench.trial([read("src/b.py"), shell("python fix.py src/a.py", "x = 1")], "open")
    (run,) = bench.evaluate().runs
    metrics = run.summary.configs[BASELINE].metrics
    for name in ("file_recall", "util_write_overlap_with_relevant_files_proxy"):
        found = metrics[name]
        assert (found.mean, found.n, found.reasons) == (1.0, 1, {"evidence_incomplete": 1})
        assert found.bounds == (0.5, 1.0)
    assert metrics["reward"].bounds is None


def test_means_are_not_means_of_rounded_values(bench):
    bench.task([f"src/{n}.py" for n in range(3)], "task-3")
    bench.task([f"src/{n}.py" for n in range(7)], "task-7")
    for task in ("task-3", "task-7"):
        bench.trial([read("src/0.py")], task)
    (run,) = bench.evaluate().runs
    mean = run.summary.configs[BASELINE].metrics["file_recall"].mean
    assert mean == pytest.approx(5 / 21, abs=1e-15)


def test_a_read_only_task_keeps_the_label_with_a_note_and_the_read_probe(bench):
    seen = bench.look([read("src/a.py")])
    assert seen.labels["unused_correct_retrieval"] == 1
    assert "read-overlap" in seen.metrics["error_taxonomy"]["note"]
    probes = seen.metrics["utilization_probes"]
    assert probes["util_read_overlap_with_relevant_files"] == 1.0


# --- robustness


GOOD = [read("src/a.py")]
NAMED_BY_A_LIST = {"type": "tool_use", "name": ["Read"], "id": "t"}


def break_line(folder):
    lines = stream_lines(GOOD)
    bad = {"type": "assistant", "message": {"id": "m", "content": [NAMED_BY_A_LIST]}}
    write_lines(folder / "agent/claude-code.txt", [lines[0], bad, *lines[1:]])


def break_step(folder):
    document = atif(GOOD)
    document["steps"].append({**document["steps"][0], "tool_calls": "Read"})
    (folder / "agent/trajectory.json").write_text(json.dumps(document))


def break_result(folder):
    (folder / "result.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (break_line, "agent/claude-code.txt"),
        (break_step, "agent/trajectory.json#/steps/1"),
        (break_result, "result.json: "),
    ],
)
def test_a_bad_record_degrades_its_trial_and_no_other(bench, damage, where):
    bench.task(["src/a.py"])
    damage(bench.trial(GOOD))
    bench.trial(GOOD, config=MCP)
    (run,) = bench.evaluate().runs
    rows = {row.config_name: row for row in run.summary.trials}
    assert (rows[BASELINE].status, rows[MCP].status) == ("degraded", "evaluated")
    assert where in rows[BASELINE].reason
    assert bench.seen().recall == 1.0


def test_unreadable_ground_truth_degrades_the_trial(bench):
    task = bench.task(["src/a.py"])
    (task / "tests/ground_truth.json").write_text('{"files": ["src/a.py"')
    (task / "instruction.md").write_text("Fix src/b.py.")
    bench.trial(GOOD)
    bench.evaluate()
    seen = bench.seen()
    assert seen.degraded.startswith("tests/ground_truth.json: not valid JSON (line 1, column")
    assert seen.metrics["coverage"]["ground_truth_source"] == "instruction.md"


def test_a_folder_nobody_may_read_degrades_its_trial_and_no_other(bench, monkeypatch):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    locked = bench.trial([read("src/a.py")], config=MCP)
    lock(monkeypatch, locked.rename(locked.with_name("task-one__lock0001")))
    bench.evaluate()
    assert bench.seen().degraded is None
    seen = bench.seen(f"{MCP}/task-one")
    assert seen.files == {"computable": False, "reason": "no_trace"}
    assert "result.json: cannot be read" in seen.degraded


def test_calls_without_results_degrade_the_trial(bench):
    lost = Call("Grep", {"pattern": "x"}, None)
    seen = bench.look([GOOD[0], lost, *GOOD[1:], read("/workspace/src/a.py")])
    assert seen.ledger["calls_without_result"] == 1
    assert "without their results" in seen.degraded


# --- evidence that is missing


def delegated(*calls):
    """A main thread that hands its work to a sub-agent whose own calls were not kept."""
    return [call("Task", "I read src/a.py.", prompt="find it"), *calls]


@pytest.mark.parametrize(
    "calls",
    [
        delegated(),
        delegated(call("Task", "Done.", prompt="and this")),
        delegated(call("Write", file_path="/workspace/src/a.py", content="x")),
        delegated(failed("Read", "File does not exist.", file_path="/workspace/src/a.py")),
        delegated(call("TodoWrite", todos=[])),
        [Call("Read", {"file_path": "/workspace/src/a.py"}, None)],
        [Call("Bash", {"command": "cat src/a.py"}, None)],
        [Call("Grep", {"pattern": "x"}, None), call("Grep", "No matches found", pattern="y")],
        [Call("mcp__files__read_file", {"path": "src/a.py"}, None)],
    ],
)
def test_a_trial_whose_evidence_is_missing_is_not_computable(bench, calls):
    seen = bench.look(calls)
    assert seen.files == {"computable": False, "reason": "evidence_incomplete"}
    assert seen.metrics["error_taxonomy"]["labels"] == {}
    assert seen.degraded is not None


@pytest.mark.parametrize("tool", ["Agent", "task", "invoke_agent", "spawn_agent", "delegate"])
def test_sub_agents_of_any_harness_may_have_found_what_the_trace_lacks(bench, tool):
    seen = bench.look_at(atif([call(tool, "I read src/a.py.", prompt="x")], agent="other-agent"))
    assert seen.files["reason"] == "evidence_incomplete"
    assert "subagent_calls_missing" in seen.flags


def test_results_without_their_calls_are_no_zero(bench):
    lines = stream_lines([read("/workspace/src/a.py")])
    seen = bench.look_at([line for line in lines if line["type"] != "assistant"])
    assert seen.files == {"computable": False, "reason": "evidence_incomplete"}


@pytest.mark.parametrize("agent", ["claude-code", "openhands", "other-agent"])
def test_results_that_cannot_be_linked_are_no_zero(bench, agent):
    document = atif([read("/workspace/src/a.py"), read("/workspace/b.py")], agent=agent, per_step=2)
    results = document["steps"][0]["observation"]["results"]
    del results[0], results[0]["source_call_id"]
    seen = bench.look_at(document)
    assert seen.files == {"computable": False, "reason": "evidence_incomplete"}
    assert seen.metrics["coverage"]["possible_files"] == {"unlinked_result": 1}


@pytest.mark.parametrize(
    "calls",
    [
        delegated(read("/workspace/src/b.py")),
        delegated(call("Grep", "Found 1 file\nsrc/b.py", pattern="x")),
        [
            read("/workspace/src/b.py"),
            Call("Read", {"file_path": "/workspace/src/a.py"}, None),
            read("/workspace/src/b.py"),
        ],
    ],
)
def test_a_trace_that_lacks_accesses_leaves_the_recall_open(bench, calls):
    seen = bench.look(calls)
    assert seen.recall is None
    assert seen.files["reasons"]["file_recall"] == "evidence_incomplete"
    assert seen.files["file_recall_bounds"] == [0.0, 1.0]
    assert seen.degraded is not None


@pytest.mark.parametrize(
    "calls",
    [
        [failed("Read", "File does not exist.", file_path="/workspace/src/a.py")],
        [call("Write", file_path="/workspace/src/a.py", content="x")],
        [shell("make test", "ok")],
        [
            call("Task", "Done.", prompt="x"),
            Call("Read", {"file_path": "x.py"}, "1\tx", parent="t"),
        ],
    ],
)
def test_a_complete_trace_that_shows_no_hit_is_a_true_zero(bench, calls):
    assert bench.look(calls).recall == 0.0


# --- a history that was summarised

SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\nI read src/b.py."
)


def summarised(kind, at, calls):
    """A transcript with a summary in front of its call number ``at``."""
    lines = stream_lines(calls)
    place = [n for n, line in enumerate(lines) if line["type"] == "assistant"][at]
    row = {
        "boundary": {"type": "system", "subtype": "compact_boundary", "session_id": "s"},
        "mark": {"type": "user", "isCompactSummary": True, "message": {"content": "Summary."}},
        "sentence": {"type": "user", "message": {"content": SUMMARY}},
        "blocks": {"type": "user", "message": {"content": text_blocks(SUMMARY)}},
    }[kind]
    return [*lines[:place], row, *lines[place:]]


def session_lines(lines):
    return [{**line, "sessionId": "s", "uuid": str(n)} for n, line in enumerate(lines)]


READS = [read("/workspace/src/a.py"), read("/workspace/src/c.py")]
KINDS = ["boundary", "mark", "sentence", "blocks"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [list, session_lines])
def test_calls_before_a_summary_that_the_trace_lacks_make_it_a_cut_trace(bench, kind, form):
    seen = bench.look_at(form(summarised(kind, 0, READS)), "src/a.py", "src/b.py")
    assert seen.recall == 0.5
    assert "history_compacted" in seen.flags
    assert "history was summarised" in seen.degraded
    assert seen.metrics["coverage"]["degraded_sources"] == ["trace"]
    assert seen.files["ttfr_tokens"] is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [list, session_lines])
def test_a_trace_that_keeps_the_calls_before_a_summary_is_whole(bench, kind, form):
    seen = bench.look_at(form(summarised(kind, 1, READS)), "src/a.py", "src/c.py")
    assert (seen.recall, seen.degraded) == (1.0, None)
    assert "context_compacted" in seen.flags
    assert "history_compacted" not in seen.flags


def test_an_agent_that_says_the_sentence_has_not_been_cut(bench):
    document = atif(READS)
    document["steps"].insert(0, {"source": "agent", "message": SUMMARY})
    assert bench.look_at(document).flags == []


def test_a_summary_is_filled_by_the_file_that_holds_the_calls_before_it(bench):
    whole = session_lines(stream_lines(READS))
    bench.task(["src/a.py", "src/c.py"])
    sessions = bench.trial(None) / "agent" / "sessions"
    write_lines(sessions / "one.jsonl", whole[:3])
    write_lines(sessions / "two.jsonl", session_lines(summarised("mark", 1, READS))[3:])
    bench.evaluate()
    assert (bench.seen().recall, bench.seen().degraded) == (1.0, None)
    (sessions / "one.jsonl").unlink()
    bench.evaluate()
    assert bench.seen().recall == 0.5
    assert "history_compacted" in bench.seen().flags


def test_a_summary_is_filled_by_a_transcript_that_holds_the_calls_before_it(bench):
    bench.task(["src/a.py", "src/c.py"])
    folder = bench.trial(READS) / "agent"
    document = atif(READS)
    document["steps"][0] = {"step_id": 1, "source": "user", "message": SUMMARY}
    (folder / "trajectory.json").write_text(json.dumps(document))
    bench.evaluate()
    assert (bench.seen().recall, bench.seen().degraded) == (1.0, None)
    (folder / "claude-code.txt").unlink()
    bench.evaluate()
    assert bench.seen().recall == 0.5
    assert "history_compacted" in bench.seen().flags
