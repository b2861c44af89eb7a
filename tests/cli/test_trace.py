"""``retrieval-eval trace``: the first thing to try on a file of one's own."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile

import pytest

from retrieval_eval.cli import run
from tests.runs import write_trial


@pytest.fixture
def transcript(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_trial(tmp_path / "run", "baseline", "task", ["src/a.py", "lib/b.c"])
    return (folder / "agent/claude-code.txt").rename(tmp_path / "mine.log")


def test_a_trace_is_shown_without_a_run_and_nothing_is_written(transcript, tmp_path, capsys):
    before = sorted(tmp_path.rglob("*"))
    assert run(["trace", "mine.log", "--truth", "src/a.py,src/c.py"]) == 0
    text = capsys.readouterr().out
    assert "  trace    transcript, claude-code-stream-json" in text
    assert "  agent    claude-code, m-1" in text
    assert "  expected 2 files (--truth)" in text
    assert "  calls    2 seen: 2 resolved" in text
    assert "file_read         Read  src/a.py" in text
    assert "certain   src/a.py\nnone      src/c.py\n" in text
    assert "file recall 0.50 (1 of 2)" in text
    assert sorted(tmp_path.rglob("*")) == before


def test_without_ground_truth_files_are_shown_and_how_to_name_some(transcript, capsys):
    assert run(["trace", str(transcript)]) == 0
    text = capsys.readouterr().out
    assert "2 files certain, 0 possible" in text
    assert "with --truth src/a.py,lib/b.c" in text


@pytest.mark.parametrize("kind", ["lines", "json", "task", "twice"])
def test_ground_truth_may_be_a_list_or_the_folder_of_a_task(kind, transcript, tmp_path, capsys):
    (tmp_path / "truth.txt").write_text("# what matters\nsrc/a.py\n\nlib/b.c\n")
    (tmp_path / "truth.json").write_text('{"files": ["src/a.py", "lib/b.c"]}')
    (tmp_path / "task/tests").mkdir(parents=True)
    (tmp_path / "task/tests/ground_truth.json").write_text('{"files": ["src/a.py", "lib/b.c"]}')
    stated = {
        "lines": ["--truth", "truth.txt"],
        "json": ["--truth", "truth.json"],
        "task": ["--truth", "task"],
        "twice": ["--truth", "src/a.py", "--truth", "lib/b.c"],
    }
    assert run(["trace", str(transcript), *stated[kind], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["evidence"] == {"src/a.py": "certain", "lib/b.c": "certain"}
    assert found["metrics"]["file_level_metrics"]["file_recall"] == 1


def test_patterns_mean_the_files_that_the_trace_names(transcript, capsys):
    assert run(["trace", str(transcript), "--truth", "**/*.py,docs/*.md"]) == 0
    text = capsys.readouterr().out
    assert "note     --truth: '**/*.py' matches 1 file that the trace names" in text
    assert "'docs/*.md' matches no file that the trace names, so it cannot be used" in text
    assert "certain   src/a.py\n" in text


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ("empty.txt", "empty.txt: no path in it"),
        ("folder", "folder: the folder states no ground truth (no_ground_truth)"),
        (",", "names no file"),
        ("", "names no file"),
    ],
)
def test_a_ground_truth_without_files_is_bad_input(truth, message, transcript, tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "folder").mkdir()
    assert run(["trace", str(transcript), "--truth", truth]) == 3
    assert message in capsys.readouterr().err


def _zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")


def _database(path):
    with sqlite3.connect(path) as database:
        database.execute("create table t (x)")
    database.close()


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (lambda path: path.write_text("12:00 starting"), "text, no JSON lines"),
        (lambda path: path.write_text('{"colour": 1, "size": 2}'), "the fields colour, size"),
        (lambda path: path.write_text('{"type": "x"}\n{"a": 1}'), "JSON lines of type x"),
        (lambda path: path.write_text('[{"type": "x"}]'), "an array of entries of type x"),
        (lambda path: path.write_bytes(gzip.compress(b'{"hue": 1}')), "the fields hue"),
        (lambda path: path.write_bytes(b"\x00\x01\x02"), "binary data"),
        (lambda path: path.write_text("<!DOCTYPE html><p>"), "a page of HTML"),
        (lambda path: path.write_text("\n# aider chat started at 9"), "chat history of aider"),
        (_zipped, "a zip archive"),
        (_database, "an SQLite database"),
    ],
)
def test_an_unknown_file_is_named_with_what_it_holds_and_what_was_tried(
    write, found, tmp_path, capsys
):
    path = tmp_path / "some.file"
    write(path)
    assert run(["trace", str(path)]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"retrieval-eval: {path}: ")
    assert found in said
    assert "formats tried: " in said
    assert "atif" in said
    # A folder that holds nothing else says the same of the file.
    assert run(["trace", str(tmp_path)]) == 3
    assert "some.file" in capsys.readouterr().err


def test_files_that_are_no_trace_for_other_reasons(tmp_path, capsys):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.json").write_text('{\n "steps": [')
    for name, message in (
        ("empty.jsonl", "the file is empty"),
        ("broken.json", "not valid JSON (line 2"),
        ("missing", "no such file or folder"),
    ):
        assert run(["trace", str(tmp_path / name)]) == 3
        assert message in capsys.readouterr().err


def test_a_folder_with_one_trace_under_any_name_is_read(transcript, tmp_path, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.md").write_text("# notes")
    transcript.rename(folder / "session.data")
    assert run(["trace", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"]["summary"]["total_events"] == 2
    (folder / "again.data").write_bytes((folder / "session.data").read_bytes())
    assert run(["trace", str(folder)]) == 3
    assert "holds 2 traces that belong to no trial (again.data, session.data)" in (
        capsys.readouterr().err
    )


def test_what_is_only_possible_is_named_with_its_cause_and_widens_the_metrics(tmp_path, capsys):
    calls = [
        {
            "type": "tool_use",
            "id": "a",
            "name": "Read",
            "input": {"file_path": "/workspace/src/a.py"},
        },
        {
            "type": "tool_use",
            "id": "b",
            "name": "Read",
            "input": {"file_path": "/workspace/src/b.py"},
        },
    ]
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "1\timport os"}
    messages = [
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [answer]},
    ]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(messages))
    assert run(["trace", str(path), "--truth", "src/a.py,src/b.py"]) == 0
    text = capsys.readouterr().out
    assert "certain   src/a.py\n" in text
    assert "possible  src/b.py  the trace holds no result of the call (step 1, Read)" in text
    assert "with what is only possible: file recall 0.50 to 1.00" in text


def test_a_file_of_several_traces_lists_them_and_reads_the_named_one(tmp_path, capsys):
    spans = [
        {
            "name": "execute_tool read",
            "context": {"trace_id": f"t{n}", "span_id": f"s{n}"},
            "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"},
        }
        for n in (1, 2)
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(map(json.dumps, spans)))
    assert run(["trace", str(path)]) == 0
    assert (
        capsys.readouterr().out
        == f"{path} holds 2 traces; name one with --sample, or read them with --all:\n  t1\n  t2\n"
    )
    assert run(["trace", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"samples": ["t1", "t2"]}
    assert run(["trace", str(path), "--sample", "t2"]) == 0
    assert "  calls    1 seen" in capsys.readouterr().out
    assert run(["trace", str(path), "--sample", "t3"]) == 3
    assert "holds no trace named 't3'" in capsys.readouterr().err


def test_a_name_alone_and_an_attached_file_are_told_apart(tmp_path, capsys):
    def line(kind, **fields):
        return {"type": kind, "sessionId": "s", "cwd": "/w", "version": "2.1.0", **fields}

    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls src"}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "a.py\nb.py"}
    lines = [
        line("user", uuid="1", message={"role": "user", "content": "x"}),
        line("assistant", uuid="2", message={"id": "m", "role": "assistant", "content": [use]}),
        line("user", uuid="3", message={"role": "user", "content": [answer]}),
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    about = ["trace", str(path), "--truth", "src/a.py,src/c.py"]
    assert run(about) == 0
    shown = capsys.readouterr().out
    assert "certain, name only src/a.py" in shown
    assert "none      src/c.py" in shown
    assert run([*about, "--json"]) == 0
    detail = json.loads(capsys.readouterr().out)
    assert detail["evidence"] == {"src/a.py": "certain", "src/c.py": "none"}
    assert detail["evidence_detail"]["src/a.py"]["access"] == "listed"
    assert detail["evidence_detail"]["src/a.py"]["channel"] == "calls"
