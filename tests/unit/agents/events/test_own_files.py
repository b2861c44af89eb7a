"""Files that the agent created, lines that its edits showed, and what the trace states besides."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.document import coverage, event_document, trial_events
from retrieval_eval.agents.events.evidence import attached_files, evidence, files_with, ranking
from retrieval_eval.agents.metrics import measure
from retrieval_eval.model.common import Provenance
from retrieval_eval.records import Attached, ToolCall, ToolResult, Trace
from tests.trials import truth

CWD = "/workspace"


def made(name: str, text: str | None, **arguments: object) -> ToolCall:
    return ToolCall("c", name, arguments, None if text is None else ToolResult(text))


def bash(command: str, text: str | None = "") -> ToolCall:
    return made("Bash", text, command=command)


def read(path: str, text: str = "     1\tx = 1") -> ToolCall:
    return made("Read", text, file_path=f"{CWD}/{path}")


def look(*calls: ToolCall, files: tuple[str, ...] = ("src/a.py", "src/new.py"), **facts):
    expected = facts.pop("edits", None)
    trace = Trace(calls, "test", "transcript", False, True, cwd=CWD, **facts)
    return extract_events(trace, truth(*files, edits=expected))


def names(found) -> list[str]:
    return [str(file) for file in ranking(found, "accessed")]


def probes(found):
    return measure(found).utilization_probes


NEW = f"{CWD}/src/new.py"
WRITES = [
    made("Write", f"File created successfully at: {NEW}", file_path=NEW, content="x = 1\n"),
    made("write_file", "Successfully created and wrote to new file.", file_path=NEW, content="x"),
    made("str_replace_editor", "File created.", command="create", path=NEW, file_text="x"),
    made("apply_patch", "ok", input="*** Begin Patch\n*** Add File: src/new.py\n+x\n"),
    bash("cat > src/new.py <<'EOF'\nx = 1\nEOF"),
    bash("printf 'x' | tee src/new.py >/dev/null"),
    bash("touch src/new.py && echo x >> src/new.py"),
    bash("python3 - <<'EOF'\nopen('src/new.py', 'w').write('x')\nEOF"),
]  # fmt: skip
LOOKS = [
    None,
    read("src/new.py"),
    bash("git status --short", "?? src/new.py"),
    bash("grep -rn x src", "src/new.py:1:x = 1"),
    bash("cat src/new.py", "x = 1"),
    bash("ls src", "new.py"),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("later", LOOKS)
def test_what_the_agent_created_is_not_retrieved_whether_or_not_it_looks_again(write, later):
    found = look(read("src/a.py"), write, *([later] if later else []))
    assert names(found) == ["src/a.py"]
    assert list(evidence(found).values()) == ["certain", "none"]
    assert [str(f) for f in files_with(found, "written").values()] == ["src/new.py"]
    assert measure(found).file_level_metrics.context_efficiency == 1.0
    assert "found_by_name_only" not in found.flags


def test_a_file_that_was_not_there_was_not_known_before():
    missing = ToolCall("c", "Read", {"file_path": NEW}, ToolResult("No such file", is_error=True))
    assert names(look(missing, WRITES[0], LOOKS[2])) == []


EOF = "cat > src/a.py <<'EOF'\nx\nEOF"
SEEN = bash("cat src/a.py", "x = 1\ny = 2")
MODIFIED = bash("git status --short", " M src/a.py")
DIFF = "diff --git a/src/a.py b/src/a.py\n{}--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y"


@pytest.mark.parametrize("later", LOOKS)
@pytest.mark.parametrize(
    "command",
    [
        "cp src/z.py src/new.py",
        "mv src/z.py src/new.py",
        "git mv src/z.py src/new.py",
        "install -m 644 src/z.py src/new.py",
        "cp /tmp/draft.py src/new.py",
    ],
)
def test_what_the_agent_made_of_another_file_is_not_retrieved(command, later):
    assert "src/new.py" not in names(look(bash(command), *([later] if later else [])))


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        # The file was there, for something used it or showed it before.
        (["cp src/a.py a.bak && sed -i s/x/y/ src/a.py", "cp a.bak src/a.py", SEEN], "certain"),
        (["cp src/a.py /tmp/a.py", "cp /tmp/a.py src/a.py", SEEN], "certain"),
        (["mv src/a.py /tmp/a.py", "mv /tmp/a.py src/a.py", SEEN], "certain"),
        ([bash("ls src", "a.py"), "cp /tmp/n.py src/a.py", SEEN], "certain"),
        # It may have been there.
        (["cp src/a.py.bak src/a.py", SEEN], "possible"),
        (["cp backup/a.py src/a.py", SEEN], "possible"),
        ([EOF.replace("src/a.py", "/tmp/a.py"), "cp /tmp/a.py src/a.py", SEEN], "none"),
        # What git says of it afterwards.
        (["cp src/a.py.bak src/a.py", MODIFIED], "certain"),
        (["cp src/a.py.bak src/a.py", bash("git status --short", "?? src/a.py"), SEEN], "none"),
        ([EOF, MODIFIED], "certain"),
        ([EOF, bash("git status", "Changes:\n\tmodified:   src/a.py\n")], "certain"),
        ([EOF, bash("git diff", DIFF.format(""))], "certain"),
        ([EOF, bash("git diff HEAD", DIFF.format("new file mode 100644\n"))], "none"),
        ([EOF, "git add -A && git commit -qm x", "echo y >> src/a.py", MODIFIED], "none"),
        ([EOF, "git add -A", bash("git diff", DIFF.format(""))], "none"),
        ([EOF, "git checkout -- src/a.py", SEEN], "certain"),
        ([EOF, MODIFIED, SEEN], "certain"),
        # What it held when the agent had only touched it.
        (["touch src/a.py", SEEN], "certain"),
        (["touch src/a.py", bash("cat src/a.py", "")], "none"),
        (["touch src/a.py", bash("ls src", "a.py")], "none"),
        (["touch src/a.py", bash("python gen.py", "ok"), SEEN], "possible"),
        (["touch src/a.py", "echo x >> src/a.py", SEEN], "none"),
        # Another file has its name now.
        (["rm src/a.py", EOF, SEEN], "none"),
        (["git rm -q src/a.py", EOF, SEEN], "none"),
        (["rm src/a.py", EOF, MODIFIED], "certain"),
        (["rm src/a.py", "git checkout -- src/a.py", SEEN], "certain"),
        (["cp src/a.py a.bak", "rm src/a.py", "cp a.bak src/a.py", SEEN], "certain"),
    ],
)  # fmt: skip
def test_what_shows_whether_a_file_was_there_before(calls, expected):
    calls = [bash(call) if isinstance(call, str) else call for call in calls]
    found = look(*calls, files=("src/a.py",))
    assert [*evidence(found).values()] == [expected]
    doubts = {t.doubt for event in found.events for t in event.possible if t.access != "written"}
    assert doubts <= {"may_be_own", "opaque_call"}


def test_what_a_command_printed_into_a_file_is_read_by_other_tools_too():
    log = made("Read", "     1\tsrc/a.py:3:x = 1", file_path="/tmp/hits.txt")
    found = look(bash("rg -n x src > /tmp/hits.txt"), log)
    assert [*evidence(found).values()] == ["certain", "none"]
    assert names(found) == ["src/a.py"]


SNIPPET = (
    f"The file {CWD}/src/a.py has been edited. Here's the result of running `cat -n` on a snippet "
    f"of {CWD}/src/a.py:\n    11\tdef f():\n    12\t    return 1\n    13\t\nReview the changes and "
    "make sure they are as expected."
)
WINDOW = (
    f"[File: {CWD}/src/a.py (90 lines total)]\n(10 more lines above)\n11:def f():\n"
    "12:    return 1\n13:\n(77 more lines below)"
)
EDITS = [
    made("str_replace_editor", SNIPPET, command="str_replace", path=f"{CWD}/src/a.py", old_str="x"),
    made("str_replace_editor", SNIPPET, command="insert", path=f"{CWD}/src/a.py", insert_line=11),
    made("Edit", SNIPPET.replace("edited", "updated"), file_path=f"{CWD}/src/a.py", old_string="x"),
    made("edit", WINDOW, path=f"{CWD}/src/a.py"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_the_lines_that_the_answer_to_an_edit_shows_were_delivered(edit):
    found = look(edit)
    shown = [(t.access, t.lines) for event in found.events for t in event.targets]
    assert shown == [("written", None), ("matched", ((11, 13),))]
    assert [str(f) for f in ranking(found, "accessed")] == ["src/a.py"]
    assert ranking(found, "opened") == ()


@pytest.mark.parametrize(
    "write",
    [
        made("Edit", "The file has been updated.", file_path=f"{CWD}/src/a.py", old_string="x"),
        made("Write", SNIPPET, file_path=f"{CWD}/src/a.py", content="def f():\n    return 1\n"),
        made("create", WINDOW, path=f"{CWD}/src/a.py"),
    ],
)
def test_a_pure_write_finds_nothing(write):
    assert names(look(write)) == []


def submitted(*paths: str) -> str:
    return "".join(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+y\n" for path in paths)


SCRIPT = bash("python fix.py", "ok")


def test_a_script_may_have_written_what_no_call_shows():
    found = probes(look(SCRIPT, read("src/a.py"), edits=["src/a.py"]))
    name = "util_write_overlap_with_expected_edit_files"
    assert found.util_write_overlap_with_expected_edit_files is None
    assert found.reasons[name] == "evidence_incomplete"
    assert found.reasons["util_read_before_write_ratio"] == "evidence_incomplete"
    assert found.bounds[name] == (0.0, 1.0)
    still = probes(look(bash("ls src", "a.py"), edits=["src/a.py"]))
    assert still.reasons[name] == "no_writes"


@pytest.mark.parametrize(
    "write",
    [
        made("Write", "File created", file_path="/tmp/s.py", content="print(open('src/a.py'))"),
        made("create", "ok", path="/tmp/s.py", file_text="print(open('src/a.py'))"),
        made("apply_patch", "ok", input="*** Add File: /tmp/s.py\n+print(open('src/a.py'))\n"),
    ],
)
def test_a_script_that_a_tool_wrote_may_show_what_its_text_names(write):
    found = look(write, bash("python /tmp/s.py", "x"), files=("src/a.py", "src/b.py"))
    assert [*evidence(found).values()] == ["possible", "none"]


def test_what_is_certainly_written_is_a_lower_bound_where_more_may_be():
    edit = made("Edit", "Updated.", file_path=f"{CWD}/src/a.py", old_string="x")
    found = probes(look(SCRIPT, edit, edits=["src/a.py", "src/b.py"]))
    assert found.util_write_overlap_with_expected_edit_files == 0.5
    assert found.bounds["util_write_overlap_with_expected_edit_files"] == (0.5, 1.0)


def test_a_submitted_patch_states_every_write():
    trial = look(SCRIPT, submission=submitted("src/a.py"), edits=["src/a.py", "src/b.py"])
    found = probes(trial)
    assert found.util_write_overlap_with_expected_edit_files == 0.5
    assert (found.files_written, found.bounds) == (1, {})
    assert measure(trial).error_taxonomy.labels["wrong_evidence_used"] == 0
    other = probes(look(SCRIPT, submission=submitted("src/c.py"), edits=["src/a.py"]))
    assert other.util_write_overlap_with_expected_edit_files == 0.0


def test_a_submission_that_is_no_patch_states_nothing():
    found = probes(look(SCRIPT, submission="The answer is 42.", edits=["src/a.py"]))
    assert found.reasons["util_write_overlap_with_expected_edit_files"] == "evidence_incomplete"


ATTACHED = (
    Attached(f"{CWD}/src/a.py", "named in the prompt", is_whole=True),
    Attached("AGENTS.md", "instructions of the folder", call_id="c", cwd=CWD, is_subagent=True),
    Attached(f"{CWD}/src/name.py", "named in the prompt", access="listed"),
)


def test_an_attached_file_was_delivered_and_not_retrieved():
    found = look(read("src/b.py"), files=("src/a.py", "src/b.py"), attached=ATTACHED)
    assert names(found) == ["src/b.py"]
    assert list(evidence(found).values()) == ["none", "certain"]
    assert list(evidence(found, with_attached=True).values()) == ["certain", "certain"]
    block = measure(found).file_level_metrics
    assert (block.file_recall, block.file_recall_with_attached, block.mrr) == (0.5, 1.0, 1.0)
    assert measure(found).error_taxonomy.labels["missed_key_evidence"] == 0


def test_of_an_attached_folder_names_were_shown_or_may_have_been():
    attached = (
        Attached(f"{CWD}/src/a.py", access="listed"),
        Attached(f"{CWD}/lib/*", access="listed", doubt="display_only", is_pattern=True),
    )
    files = ("src/a.py", "lib/b.py", "doc/c.py")
    found = look(files=files, attached=attached)
    assert list(evidence(found, with_attached=True).values()) == ["certain", "possible", "none"]
    assert [a.target.access for a in found.beside.attached] == ["listed", "listed"]
    views = measure(found).file_level_metrics.views
    assert views["accessed"].file_recall_with_attached == pytest.approx(1 / 3)
    assert views["opened"].file_recall_with_attached == 0


def test_files_beside_the_calls_survive_the_event_document():
    patch = submitted("src/a.py")
    found = look(*EDITS[:1], WRITES[0], LOOKS[1], attached=ATTACHED, submission=patch)
    document = event_document(
        found,
        provenance=Provenance(run_id="r", task_name="t", config_name="c", benchmark="b"),
        coverage=coverage(found, None, "no trace"),
    )
    assert [(row.file, row.how) for row in document.attached] == [
        ("src/a.py", "named in the prompt"),
        ("AGENTS.md", "instructions of the folder"),
        ("src/name.py", "named in the prompt"),
    ]
    saved = trial_events(document)
    for with_names in (False, True):
        assert attached_files(saved, with_names=with_names) == attached_files(
            found, with_names=with_names
        )
    assert saved.created == found.created
    assert names(saved) == names(found) == ["src/a.py"]
    assert files_with(saved, "written") == files_with(found, "written")


def unanswered(*answered: bool) -> bool:
    calls = [read("src/a.py") if ok else bash("cat src/b.py", None) for ok in answered]
    return "results_missing" in look(*calls).flags


def test_the_last_call_of_a_run_that_reached_its_limit_has_no_answer():
    assert not unanswered(True, True, False)
    assert unanswered(True, False, True)
    assert unanswered(True, False, False, True)
    assert unanswered(False)
    assert unanswered(False, False, False)
    found = look(read("src/a.py"), bash("cat src/new.py", None))
    assert list(evidence(found).values()) == ["certain", "possible"]


def test_calls_made_at_once_may_all_be_the_last_ones():
    last = [
        ToolCall(f"c{n}", "Read", {"file_path": f"{CWD}/src/{n}.py"}, None, timestamp=5.0)
        for n in range(3)
    ]
    assert "results_missing" not in look(read("src/a.py"), *last).flags
    agent = ToolCall("t", "Task", {"prompt": "x"}, None, timestamp=1.0)
    inner = [
        ToolCall("s1", "Read", {"file_path": f"{CWD}/src/a.py"}, ToolResult("1\tx"), parent_id="t"),
        ToolCall("s2", "Read", {"file_path": f"{CWD}/src/b.py"}, None, parent_id="t"),
    ]
    assert "results_missing" not in look(read("src/a.py"), agent, *inner).flags


def test_odd_values_of_what_stands_beside_are_survived():
    odd = json.loads('"\\ud800"')
    found = look(
        SCRIPT, submission=odd + "\n--- a/x\n+++ b/x\n@@", attached=(Attached("/"), Attached(".."))
    )
    assert list(evidence(found, with_attached=True).values()) == ["none", "none"]
