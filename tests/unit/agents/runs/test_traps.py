"""Known traps of evaluating retrieval by agents, each as one tiny trial through the pipeline."""

from __future__ import annotations

import json
import shutil

import pytest

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.model.summary import NeverHit
from retrieval_eval.schema import faults, kind_of
from tests.locking import lock
from tests.runs import write_trial
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


def test_one_shell_call_reads_searches_and_writes(bench):
    seen = bench.look(
        [
            shell(
                "cat src/a.py && rg foo src && sed -i s/x/y/ src/b.py",
                "import os\nsrc/c.py:1:foo",
            )
        ],
        "src/a.py",
        "src/c.py",
    )
    assert [(e["tool_category"], e["via"]) for e in seen.events["events"]] == [
        ("other", None),
        ("file_read", "shell"),
        ("code_search", "shell"),
        ("file_write", "shell"),
    ]
    assert seen.targets("opened") == ["src/a.py"]
    assert seen.targets("matched") == ["src/c.py"]
    assert seen.targets("written") == ["src/b.py"]
    assert (seen.recall, seen.ledger["calls_seen"], seen.ledger["shell_events"]) == (1.0, 1, 3)


def test_the_working_directory_lasts_from_call_to_call(bench):
    seen = bench.look([shell("cd /workspace/x"), shell("cat y.py", "z")], "x/y.py")
    assert seen.recall == 1.0


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat $(pwd)/src/a.py", ["src/a.py"]),
        ("F=src/a.py; cat $F", ["src/a.py"]),
        ("for f in src/a.py src/b.py; do head -3 $f; done", ["src/a.py", "src/b.py"]),
        ("head -5 src/a.py | grep x", ["src/a.py"]),
        ("cat > note.txt <<'E'\ncat src/a.py\nE", []),
    ],
)
def test_certain_commands_are_resolved(bench, command, found):
    # One line could not be of two files.
    seen = bench.look([shell(command, "x\ny")])
    assert seen.targets("opened") + seen.targets("matched") == found
    assert seen.ledger["calls_opaque"] == 0


@pytest.mark.parametrize("command", ["cat $UNKNOWN/a.py", "cat src/*.py", "python3 read_all.py"])
def test_uncertain_commands_are_opaque_and_never_guessed(bench, command):
    seen = bench.look([shell(command, "x")])
    assert seen.targets() == []
    assert (seen.ledger["calls_opaque"], seen.ledger["shell_opaque"]) == (1, 1)


def test_grep_in_one_file_prints_no_path(bench):
    seen = bench.look([shell("grep -n foo src/a.py", "12:foo")])
    (target,) = seen.events["events"][1]["targets"]
    assert (target["file"], target["lines"]) == ("src/a.py", [[12, 12]])


@pytest.mark.parametrize(
    ("tool", "output"),
    [
        (shell("grep -rn foo src", "src/a.py:12:text"), None),
        (shell("grep -rn -C1 foo src", "src/a.py-11-x\nsrc/a.py:12:foo\nsrc/a.py-13-text"), None),
        (shell("grep -rc foo .", "./src/a.py:3\nsrc/b.py:0"), None),
        (shell("grep -rl foo .", "./src/a.py"), None),
        (call("Grep", "src/a.py:12:foo\nsrc/a.py-13-y", output_mode="content"), None),
        (call("Grep", "src/a.py:3\nsrc/b.py:0", output_mode="count"), None),
        (call("Grep", "Found 1 file\n./src/a.py"), None),
    ],
)
def test_printed_lines_are_taken_apart(bench, tool, output):
    assert bench.look([tool]).targets() == ["src/a.py"]


def test_writing_is_not_retrieving(bench):
    seen = bench.look([call("Write", file_path="/workspace/src/a.py", content="x")])
    assert (seen.recall, seen.targets("written")) == (0.0, ["src/a.py"])
    assert seen.events["summary"]["first_ground_truth_hit_step"] is None


@pytest.mark.parametrize(
    "tool",
    [
        failed("Read", "File does not exist.", file_path="/workspace/src/a.py"),
        call("Read", "File does not exist.", file_path="/workspace/src/a.py"),
        failed("Edit", "String to replace not found in file.", file_path="/workspace/src/a.py"),
        failed("Grep", "src/a.py", pattern="x"),
        call(
            "mcp__github__get_file_contents",
            "failed to get file contents: 404 Not Found",
            owner="o",
            repo="r",
            path="src/a.py",
        ),
    ],
)
def test_an_error_finds_nothing(bench, tool):
    seen = bench.look([tool])
    assert (seen.recall, seen.targets(), seen.ledger["calls_error"]) == (0.0, [], 1)


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
@pytest.mark.parametrize("tool", ["Bash", "Read", "Grep", "mcp__files__read_file"])
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


def test_a_harnesss_own_shell_is_followed_and_is_no_mcp_server(bench):
    calls = [
        call("developer__shell", "", command="cd src"),
        call("developer__shell", "import os", command="cat a.py"),
    ]
    seen = bench.look_at(atif(calls, agent="goose"))
    assert (seen.recall, seen.targets("opened")) == (1.0, ["src/a.py"])
    assert (seen.ledger["shell_calls"], seen.ledger["mcp_calls"]) == (2, 0)


@pytest.mark.parametrize(
    "answer", ["", "[]", "{}", "No references found", '{"text": "No results."}', []]
)
def test_an_argument_of_a_search_is_not_a_result(bench, answer):
    tool = Call("mcp__sourcegraph__sg_find_references", {"repo": "o/r", "path": "src/a.py"}, answer)
    seen = bench.look([tool])
    assert (seen.recall, seen.targets(), seen.ledger["calls_opaque"]) == (0.0, [], 0)


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


@pytest.mark.parametrize(
    "path", ["Makefile", "Dockerfile", "docs/rfc-123-x.md", "app/(auth)/page.tsx"]
)
def test_one_rule_of_what_is_a_path_for_every_tool(bench, path):
    tools = [
        read(f"/workspace/{path}"),
        shell(f"cat '{path}'", "x"),
        call("Glob", f"/workspace/{path}", pattern="*"),
        call("Grep", f"Found 1 file\n{path}", pattern="x"),
        call("mcp__sourcegraph__sg_read_file", '{"content": "1: x"}', repo="o/r", path=path),
        call("mcp__github__get_file_contents", "x", owner="o", repo="r", path=path),
    ]
    for tool in tools:
        assert bench.look([tool], path).recall == 1.0, tool.tool


def test_calls_of_sub_agents_count(bench):
    inner = Call("Read", {"file_path": "/workspace/src/a.py"}, "     1\tx", parent="toolu_0")
    seen = bench.look([call("Task", "done", prompt="look"), inner])
    assert [e["is_subagent"] for e in seen.events["events"]] == [False, True]
    assert (seen.recall, seen.files["found_by"]["subagent_only"]) == (1.0, 1)
    assert seen.degraded is None


def test_a_trial_whose_trace_lost_its_sub_agents_says_so(bench):
    seen = bench.look([call("Task", "done", prompt="look")])
    assert "subagent_calls_missing" in seen.flags
    assert "sub-agents" in seen.degraded


@pytest.mark.parametrize(
    ("name", "category", "server"),
    [
        ("mcp__sourcegraph__sg_keyword_search", "code_search", "sourcegraph"),
        ("mcp__zoekt__search_everything", "code_search", "zoekt"),
        ("mcp__fs__read_file_lines", "file_read", "fs"),
        ("mcp__fs__list_directory", "file_search", "fs"),
        ("search_code", "code_search", "github"),
        ("codebase-retrieval", "code_search", "augment"),
        ("my_file_content_tool", "file_read", None),
        ("mcp__kitchen__make_coffee", "code_search", "kitchen"),
        ("make_coffee", "other", None),
    ],
)
def test_unknown_tools_go_by_their_name(bench, name, category, server):
    (event,) = bench.look([call(name, "src/a.py:3: x", path="src/a.py")]).events["events"]
    assert (event["tool_category"], event["server"]) == (category, server)
    assert event["is_mcp"] is (server is not None)
    # The answer of a server's tool that consists of hits is one of a search, whatever its name.
    assert event["is_opaque"] is (category == "other")


@pytest.mark.parametrize(
    "write",
    [
        call("Write", file_path="/workspace/answer.json", content="{}"),
        shell("cat > /workspace/answer.json <<E\n{}\nE"),
    ],
)
def test_the_own_answer_is_neither_found_nor_wrong(bench, write):
    seen = bench.look([write, read("/workspace/answer.json")])
    assert seen.labels["irrelevant_retrieval"] == seen.labels["wrong_evidence_used"] == 0
    assert seen.files["n_retrieved"] == 0


SAVED = "/home/u/.claude/projects/-workspace/s/tool-results/toolu_0.txt"
NOTICE = (
    f"<persisted-output>\nOutput too large (74KB). Full output saved to: {SAVED}\n\n"
    "Preview (first 2KB):\nsrc/b.py:3:x\nsrc/c.py:4:y\n...\n</persisted-output>"
)


@pytest.mark.parametrize(
    "first",
    [
        call("Grep", NOTICE, pattern="x", output_mode="content"),
        shell("cd /workspace && grep -rn x src", NOTICE),
    ],
)
@pytest.mark.parametrize(
    "again",
    [read(SAVED, "     7\tsrc/a.py:9:x"), shell(f"grep a.py {SAVED}", "src/a.py:9:x")],
)
def test_a_saved_result_is_part_of_the_first_tools_result(bench, first, again):
    seen = bench.look([first, again])
    assert seen.recall == 1.0
    assert {"src/a.py", "src/b.py"} <= set(seen.targets("matched"))
    assert seen.targets("opened") == []
    assert not any("tool-results" in file for file in seen.targets())


def test_a_saved_result_read_in_its_own_way_is_opaque(bench):
    first = call("Grep", NOTICE, pattern="x", output_mode="content")
    seen = bench.look([first, shell(f"cut -d: -f1 {SAVED} | sort | uniq -c", "9 src/a.py")])
    # What it printed may be of any file, so that nothing is ruled out.
    assert (seen.ledger["calls_opaque"], seen.recall) == (1, None)


# --- paths


def test_a_folder_named_like_a_diff_prefix_stays(bench):
    seen = bench.look([read("/workspace/a/b/c.py")], "a/b/c.py")
    assert (seen.recall, seen.targets()) == (1.0, ["a/b/c.py"])


@pytest.mark.parametrize(
    "path",
    [
        "/repo_full/src/a.py",
        "/testbed/src/a.py",
        "/app/src/a.py",
        "./src/a.py",
        "src//a.py",
        "/workspace/src/x/../a.py",
        "/workspace/widgets--1f3c/src/a.py",
        "src\\a.py",
    ],
)
def test_every_way_to_write_a_path_is_one_file(bench, path):
    seen = bench.look([read(path), read("/workspace/src/a.py")], "src/a.py")
    assert (seen.recall, seen.files["n_retrieved"]) == (1.0, 1)


def test_the_address_in_an_answer_is_the_file(bench):
    url = "https://demo.host/github.com/acme/widgets@1f3c/-/blob/src/a.py%3FL1-9"
    answer = json.dumps({"text": f"URL: {url}\n1: x"})
    tool = call("mcp__sourcegraph__read_file", answer, repo="acme/other", path="src/b.py")
    seen = bench.look([tool], "widgets::src/a.py")
    assert (seen.recall, seen.targets("opened")) == (1.0, ["src/a.py"])


@pytest.mark.parametrize(
    ("tool", "recall"),
    [
        (read("/workspace/widgets/src/a.py"), 0.5),
        (read("/workspace/widgets--1f/src/a.py"), 0.5),
        (read("/workspace/gears/src/a.py"), 0.0),
        (read("/workspace/gears--1f/src/a.py"), 0.0),
        (call("sg_read_file", '{"content": "1: x"}', repo="acme/widgets", path="src/a.py"), 0.5),
        (call("sg_read_file", '{"content": "1: x"}', repo="acme/gears", path="src/a.py"), 0.0),
    ],
)
def test_the_repository_is_part_of_a_files_identity(bench, tool, recall):
    assert bench.look([tool], "widgets::src/a.py", "gears::src/b.py").recall == recall


def test_names_that_differ_in_case_are_one_file_and_reported(bench):
    seen = bench.look([read("/workspace/README.MD"), read("/workspace/readme.md")], "readme.md")
    assert (seen.recall, seen.files["n_retrieved"]) == (1.0, 1)
    assert "case_collision" in seen.flags


# --- joining and repeating


def test_a_task_name_is_resolved_against_the_tasks_that_exist(bench):
    bench.task(["src/a.py"], "fix_login_flow")
    bench.task(["src/b.py"], "fix")
    bench.trial([read("src/a.py")], "fix_login_flow")
    bench.evaluate()
    assert bench.seen(f"{BASELINE}/fix_login_flow").recall == 1.0


def test_five_repeats_are_five_trials_with_their_own_reward(bench):
    bench.task(["src/0.py"])
    for number in range(5):
        bench.trial([read(f"src/{number}.py")], suffix=f"aaaaaa{number}", reward=number / 4)
    bench.evaluate()
    stems = ["task-one", *(f"task-one@task-one__aaaaaa{n}" for n in range(1, 5))]
    documents = [bench.seen(f"{BASELINE}/{stem}") for stem in stems]
    assert [(d.recall, d.metrics["outcome"]["reward"]) for d in documents] == [
        (1.0, 0.0),
        (0.0, 0.25),
        (0.0, 0.5),
        (0.0, 0.75),
        (0.0, 1.0),
    ]


CALLS = [
    Call("Grep", {"pattern": name}, f"Found 1 file\nsrc/{name}.py", call_id=f"toolu_{name}")
    for name in "abc"
]
EXTRA = Call("Grep", {"pattern": "x"}, "Found 1 file\nsrc/x.py", call_id="toolu_x")


@pytest.mark.parametrize("is_extra_in_transcript", [True, False])
def test_two_files_of_a_trial_are_joined_by_call_id(bench, is_extra_in_transcript):
    longer = [CALLS[0], EXTRA, *CALLS[1:]]
    told, written = (longer, CALLS) if is_extra_in_transcript else (CALLS, longer)
    bench.task(["src/a.py"])
    folder = bench.trial(told)
    (folder / "agent/trajectory.json").write_text(json.dumps(atif(written)))
    bench.evaluate()
    seen = bench.seen()
    assert [e["target_files"] for e in seen.events["events"]] == [
        ["src/a.py"],
        ["src/x.py"],
        ["src/b.py"],
        ["src/c.py"],
    ]
    assert [e["arguments"]["pattern"] for e in seen.events["events"]] == ["a", "x", "b", "c"]


def test_files_that_disagree_about_a_call_are_recorded(bench):
    bench.task(["src/a.py"])
    other = Call("Grep", {"pattern": "q"}, "Found 1 file\nsrc/q.py", call_id="toolu_b")
    folder = bench.trial([CALLS[0], other, CALLS[2]])
    (folder / "agent/trajectory.json").write_text(json.dumps(atif(CALLS)))
    bench.evaluate()
    assert "source_conflict" in bench.seen().flags


def test_decorated_names_are_paired_by_their_task(bench):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    bench.trial([read("src/a.py")], "mcp_task-one_AbCdEf", config=MCP)
    (comparison,) = bench.evaluate().impact.comparisons
    assert [pair.task_name for pair in comparison.pairs] == ["task-one"]


def test_two_runs_are_compared(bench):
    for number in range(3):
        bench.task(["src/a.py"], f"task-{number}")
        bench.trial([read("src/a.py")], f"task-{number}")
        write_trial(bench.root / "runs/run-2", MCP, f"task-{number}", ["src/a.py"])
    (comparison,) = bench.evaluate("run-1", "run-2").impact.comparisons
    assert (comparison.n_pairs, comparison.computable) == (3, True)


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


def test_ground_truth_edited_later_is_read_again(bench):
    assert bench.look([read("src/a.py")], "src/b.py").recall == 0.0
    assert bench.look([read("src/a.py")], "src/a.py").recall == 1.0


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


def test_results_without_their_calls_degrade_the_trial(bench):
    bench.task(["src/a.py"])
    document = atif([read("src/a.py"), read("src/b.py")])
    del document["steps"][0]["tool_calls"]
    folder = bench.trial(None)
    (folder / "agent").mkdir()
    (folder / "agent/trajectory.json").write_text(json.dumps(document))
    bench.evaluate()
    assert "results of tool calls that it does not hold" in bench.seen().degraded


def test_tokens_are_cumulative_and_a_message_counts_once(bench):
    bench.task(["src/z.py"])
    folder = bench.trial(None)
    lines = stream_lines([read("src/a.py"), read("src/b.py"), read("src/c.py")])
    for line in lines:
        if line["type"] == "assistant":
            usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
            line["message"] |= {"usage": usage}
            # The first two calls are one message on two lines.
            is_first = line["message"]["id"] in {"msg_0", "msg_1"}
            line["message"]["id"] = "first" if is_first else "second"
    write_lines(folder / "agent/claude-code.txt", lines)
    bench.evaluate()
    counted = [e["cumulative_tokens"] for e in bench.seen().events["events"]]
    assert counted == [105, 105, 210]


def test_time_counts_from_the_agents_start(bench):
    bench.task(["src/a.py"])
    folder = bench.trial([shell("ls", ""), read("src/a.py")])
    result = json.loads((folder / "result.json").read_text())
    result["started_at"] = "2026-01-05T09:00:00Z"
    result["agent_execution"]["started_at"] = "2026-01-05T09:59:58"
    (folder / "result.json").write_text(json.dumps(result))
    bench.evaluate()
    assert bench.seen().files["ttfr_seconds"] == 3.0


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


@pytest.mark.parametrize("change", [{"model": "m-2"}, {"version": "9.9.9"}])
def test_another_model_or_harness_version_is_not_compared(bench, change):
    bench.task(["src/a.py"])
    bench.trial([read("src/a.py")])
    bench.trial([read("src/a.py")], config=MCP, **change)
    (comparison,) = bench.evaluate().impact.comparisons
    assert (comparison.n_pairs, len(comparison.excluded)) == (0, 1)


def test_every_pair_of_configs_is_compared_with_its_direction(bench):
    bench.task(["src/a.py"])
    for config in ("baseline", "hybrid", "mcp"):
        bench.trial([read("src/a.py")], config=config)
    comparisons = bench.evaluate().impact.comparisons
    assert {(c.baseline_config, c.comparison_config) for c in comparisons} == {
        ("baseline", "hybrid"),
        ("baseline", "mcp"),
        ("hybrid", "mcp"),
    }
    metrics = comparisons[0].metrics
    assert metrics["file_recall"].direction == "higher_is_better"
    for name in ("cost_usd", "elapsed_seconds", "total_tokens", "ttfr_seconds"):
        assert metrics[name].direction == "lower_is_better"


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
BAD_LINES = {
    "a list": [],
    "no message": {"type": "user", "message": None},
    "no content": {"type": "assistant", "message": {"id": "m", "content": None}},
    "a list for a name": {
        "type": "assistant",
        "message": {"id": "m", "content": [{"type": "tool_use", "name": ["Read"], "id": "t"}]},
    },
    "a list for arguments": {
        "type": "assistant",
        "message": {
            "id": "m",
            "content": [{"type": "tool_use", "name": "Read", "id": "t", "input": ["src/b.py"]}],
        },
    },
    "a list for a call id": {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": ["t"]}]},
    },
    "tokens as text": {
        "type": "assistant",
        "message": {"id": "m", "content": [], "usage": {"input_tokens": "12"}},
    },
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_degrades_its_trial_and_no_other(bench, name):
    bench.task(["src/a.py"])
    folder = bench.trial(GOOD)
    bench.trial(GOOD, config=MCP)
    lines = stream_lines(GOOD)
    write_lines(folder / "agent/claude-code.txt", [lines[0], BAD_LINES[name], *lines[1:]])
    (run,) = bench.evaluate().runs
    rows = {row.config_name: row for row in run.summary.trials}
    assert (rows[BASELINE].status, rows[MCP].status) == ("degraded", "evaluated")
    reason = rows[BASELINE].reason
    assert "agent/claude-code.txt: line 2" in reason or "agent/claude-code.txt:2" in reason
    assert bench.seen().recall == 1.0


STEP = atif(GOOD)["steps"][0]
BAD_STEPS = {
    "null": None,
    "a list": [],
    "calls as text": {**STEP, "tool_calls": "Read"},
    "a null call": {**STEP, "tool_calls": [None]},
    "a list for a name": {**STEP, "tool_calls": [{"function_name": ["Read"], "arguments": {}}]},
    "observation as list": {"source": "agent", "observation": [1]},
    "results as text": {"source": "agent", "observation": {"results": "x"}},
    "prompt tokens as text": {"source": "agent", "metrics": {"prompt_tokens": "12"}},
}


@pytest.mark.parametrize("name", BAD_STEPS)
def test_a_bad_step_degrades_its_trial_and_no_other(bench, name):
    bench.task(["src/a.py"])
    folder = bench.trial(None)
    bench.trial(GOOD, config=MCP)
    (folder / "agent").mkdir()
    document = atif(GOOD)
    document["steps"].append(BAD_STEPS[name])
    (folder / "agent/trajectory.json").write_text(json.dumps(document))
    (run,) = bench.evaluate().runs
    rows = {row.config_name: row for row in run.summary.trials}
    assert (rows[BASELINE].status, rows[MCP].status) == ("degraded", "evaluated")
    assert "agent/trajectory.json#/steps/1" in rows[BASELINE].reason
    assert bench.seen().recall == 1.0


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"{",
        b"\xff\xfe",
        b"null",
        json.dumps(
            {"task_name": "task-one", "verifier_result": {"rewards": {"reward": "0.5"}}}
        ).encode(),
        b'{"task_name": ["task-one"]}',
        b'{"task_name": "task-one", "verifier_result": []}',
        b'{"task_name": "task-one", "agent_result": {"n_input_tokens": "12"}}',
    ],
)
def test_a_bad_result_degrades_its_trial_and_no_other(bench, content):
    bench.task(["src/a.py"])
    folder = bench.trial(GOOD)
    bench.trial(GOOD, config=MCP)
    (folder / "result.json").write_bytes(content)
    (run,) = bench.evaluate().runs
    rows = {row.config_name: row for row in run.summary.trials}
    assert (rows[BASELINE].status, rows[MCP].status) == ("degraded", "evaluated")
    assert "result.json: " in rows[BASELINE].reason
    seen = bench.seen()
    assert (seen.recall, seen.metrics["outcome"]["reward"]) == (1.0, None)


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


def test_an_argument_of_50_kilobytes_is_cut_and_its_length_kept(bench):
    text = "x" * 50_000
    arguments = {"file_path": "/workspace/src/a.py", "old_string": text, "new_string": text}
    edits = [{"old_string": text, "new_string": text}] * 9
    seen = bench.look([call("Edit", **arguments), call("MultiEdit", edits=edits, **arguments)])
    for event in seen.events["events"]:
        assert event["arguments"]["old_string_length"] == 50_000
        assert len(event["arguments"]["old_string"]) == 500
        assert len(json.dumps(event)) < 4_000
        assert event["target_files"] == ["src/a.py"]


def test_nothing_found_is_a_sentence(bench):
    (bench.root / "runs/empty").mkdir(parents=True)
    with pytest.raises(NothingToEvaluateError, match=r"no trial found in .*empty"):
        bench.evaluate("empty")


def test_every_document_follows_its_schema(bench):
    bench.look([*GOOD, shell("cat $X", "y"), call("mcp__k__make_coffee", text_blocks("z"))])
    for path in (bench.root / "out").rglob("*.json"):
        document = json.loads(path.read_text())
        assert faults(document, kind_of(document)) == [], path.name


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


@pytest.mark.parametrize(
    "text",
    [
        "Command running in background with ID: b1. Output is being written to: /tmp/b1.output",
        "Command is running in background. PID: 12",
        "Process running with session ID 7",
    ],
)
def test_the_output_of_a_background_command_was_not_seen(bench, text):
    seen = bench.look([shell("cat src/a.py", text), read("/workspace/src/b.py")])
    assert (seen.recall, seen.ledger["calls_opaque"]) == (None, 1)
    assert seen.metrics["coverage"]["possible_files"] == {"background": 1}


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


def test_a_result_without_an_id_is_linked_where_only_one_call_can_own_it(bench):
    document = atif([read("/workspace/src/a.py")], agent="other-agent")
    del document["steps"][0]["observation"]["results"][0]["source_call_id"]
    seen = bench.look_at(document)
    assert (seen.recall, seen.degraded) == (1.0, None)


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


def test_a_trial_whose_evidence_is_missing_is_named_in_the_comparison(bench):
    bench.task(["src/a.py"])
    bench.trial(delegated())
    bench.trial([read("/workspace/src/a.py")], config=MCP)
    (run,) = bench.evaluate().runs
    (trial,) = [t for t in run.summary.trials if t.config_name == BASELINE]
    assert trial.not_computable_reason == "evidence_incomplete"
    (pair,) = run.impact.comparisons
    (rule,) = [r for r in pair.gate.rules if r.name == "degraded_trace"]
    assert rule.n_removed == 1


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


@pytest.mark.parametrize("message", [SUMMARY, text_blocks(SUMMARY)])
@pytest.mark.parametrize(("at", "flag"), [(0, "history_compacted"), (1, "context_compacted")])
def test_a_trajectory_with_a_summary(bench, message, at, flag):
    document = atif(READS)
    document["steps"].insert(at, {"source": "user", "message": message})
    for number, step in enumerate(document["steps"], start=1):
        step["step_id"] = number
    seen = bench.look_at(document)
    assert flag in seen.flags
    assert (seen.degraded is not None) == (flag == "history_compacted")


def test_a_trajectory_that_shows_nothing_behind_a_summary_is_no_zero(bench):
    document = atif([call("Write", file_path="/workspace/src/a.py", content="x")])
    document["steps"].insert(0, {"source": "user", "message": SUMMARY})
    assert bench.look_at(document).files["reason"] == "evidence_incomplete"


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


def test_a_history_that_was_compacted_away_is_compared_like_any_cut_trace(bench):
    bench.task(["src/a.py"])
    folder = bench.trial(None) / "agent"
    write_lines(folder / "claude-code.txt", summarised("boundary", 0, READS))
    bench.trial(READS, config=MCP)
    (run,) = bench.evaluate().runs
    (pair,) = run.impact.comparisons
    (rule,) = [r for r in pair.gate.rules if r.name == "degraded_trace"]
    assert rule.n_removed == 1
