"""What sessions read without a truth: counted by session, file, tool and sub-agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import retrieval_eval as rev
from retrieval_eval.agents.runs.what_was_read import what_was_read
from retrieval_eval.cli import run
from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.report import displays


def session(path: Path, name: str, calls: list[tuple[str, dict[str, object], str]]) -> None:
    """Write a session of Claude Code in which each call costs 100 tokens."""
    lines: list[dict[str, object]] = []
    for n, (tool, arguments, answer) in enumerate(calls):
        call = {"type": "tool_use", "id": f"{name}{n}", "name": tool, "input": arguments}
        usage = {"input_tokens": 90, "output_tokens": 10}
        message = {"id": f"{name}-m{n}", "role": "assistant", "content": [call], "usage": usage}
        result = {"type": "tool_result", "tool_use_id": f"{name}{n}", "content": answer}
        lines += [
            {"type": "assistant", "message": message},
            {"type": "user", "message": {"role": "user", "content": [result]}},
        ]
    own = {"sessionId": name, "cwd": "/w", "isSidechain": False, "userType": "external"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(
            json.dumps({**line, **own, "uuid": f"{name}-{n}"}) for n, line in enumerate(lines)
        )
    )


def numbered(first: int, last: int) -> str:
    return "\n".join(f"{n}\tx = {n}" for n in range(first, last + 1))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "shop"
    part = {"file_path": "/w/cart.py", "offset": 1, "limit": 6}
    session(folder / "a.jsonl", "a", [("Read", {"file_path": "/w/cart.py"}, numbered(1, 10))])
    session(folder / "b.jsonl", "b", [("Read", part, numbered(1, 6))] * 1)
    session(
        folder / "c.jsonl",
        "c",
        [
            ("Bash", {"command": "grep -n x pay.py"}, "1:x = 1"),
            ("Bash", {"command": "ls"}, "cart.py\npay.py\nodd.py"),
            ("Bash", {"command": "python run.py"}, "ok"),
        ],
    )
    return folder


def test_files_are_counted_by_session_with_how_much_of_them(project):
    found = what_was_read(project)
    assert [one.session for one in found.sessions] == ["a", "b", "c"]
    files = {row.file: row for row in found.files}
    cart = files["cart.py"]
    assert (cart.n_opened, cart.n_found, cart.n_named) == (2, 0, 1)
    assert (cart.n_lines, cart.share, cart.shares) == (10, 1.0, {"a": 1.0, "b": 0.6})
    assert cart.by == {"Read": 2, "shell": 1}
    assert (files["pay.py"].n_opened, files["pay.py"].n_found) == (0, 1)
    assert (files["odd.py"].n_named, files["odd.py"].n_opened) == (1, 0)


def test_tokens_of_results_are_told_by_kind_of_tool_and_agent(project):
    found = what_was_read(project)
    tools = {use.kind: use for use in found.tools}
    assert tools["file_read"].n_calls == 2
    assert tools["shell"].n_calls == 3
    assert tools["file_read"].result_tokens == -(-len(numbered(1, 10)) // 4) + -(
        -len(numbered(1, 6)) // 4
    )
    assert {(use.session, use.agent, use.tokens) for use in found.agents} == {
        ("a", "main agent", 100),
        ("b", "main agent", 100),
        ("c", "main agent", 300),
    }


def test_a_sub_agent_has_its_own_tokens(project):
    own = {"sessionId": "a", "isSidechain": True, "agentId": "s1", "cwd": "/w"}
    call = {"type": "tool_use", "id": "s", "name": "Read", "input": {"file_path": "/w/sub.py"}}
    usage = {"input_tokens": 40, "output_tokens": 2}
    message = {"id": "sm", "role": "assistant", "content": [call], "usage": usage}
    answer = {"type": "tool_result", "tool_use_id": "s", "content": "1\tx"}
    lines = [
        {"type": "assistant", "message": message},
        {"type": "user", "message": {"role": "user", "content": [answer]}},
    ]
    place = project / "a/subagents/agent-s1.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("\n".join(json.dumps({**line, **own}) for line in lines))
    found = what_was_read(project)
    assert len(found.sessions) == 3
    of_a = {use.agent: (use.n_files_opened, use.tokens) for use in found.agents[:2]}
    assert of_a == {"main agent": (1, 100), "s1": (1, 42)}
    (sub,) = [row for row in found.files if row.file == "sub.py"]
    assert sub.agents == ("s1",)


def test_the_command_prints_text_or_one_document(project, capsys):
    assert run(["trace", str(project), "--all"]) == 0
    text = capsys.readouterr().out
    assert "3 sessions: 3 of claude-code" in text
    assert "found but never opened: 1 file, such as pay.py" in text
    assert run(["trace", str(project), "--all", "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)
    assert stated["files"][0]["file"] == "cart.py"
    assert run(["trace", str(project), "--all", "--sample", "a"]) == 64


def test_a_place_without_sessions_is_said(tmp_path):
    with pytest.raises(NothingToEvaluateError, match=r"no session found in .*it holds 0 folders"):
        what_was_read(tmp_path)


def test_a_run_without_truth_has_frames_of_what_was_read(project, tmp_path):
    run = rev.load_run(project, output_dir=tmp_path / "out")
    files = run.files_read.set_index("file")
    first = files.loc["cart.py"]
    assert (first["opened_in"], first["how_much"], first["n_named"]) == ("2 of 3", "whole", 1)
    assert list(files.loc["pay.py", ["n_opened", "n_found", "how_much"]]) == [0, 1, "1 line"]
    shown = rev.table.show(run.files_read)
    assert shown.finding == "1 file opened; 1 found by a search but never opened"
    assert run.tools_read["result_tokens"].sum() > 0
    assert list(run.agents_read["session"]) == ["a", "b", "c"]
    lead = displays.answer(run.study)
    assert (lead.finding, lead.badges) == (
        "No task states what was to be found",
        (("Verdict", "not scored"),),
    )
    assert rev.table.cards(run.trials, run.ground_truth).is_expected


def test_a_run_with_truth_is_not_read_again(tmp_path):
    run = rev.load_run("demo", output_dir=tmp_path)
    assert rev.table.show(run.files_read).is_expected


def test_configurations_beyond_two_without_truth_still_have_their_trials(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two", "three"):
        call = ("Read", {"file_path": "/w/cart.py"}, numbered(1, 3))
        session(tmp_path / f"{name}.jsonl", name, [call])
    rows = [f"{name}.jsonl,t,{name}" for name in ("one", "two", "three")]
    (tmp_path / "trials.csv").write_text("\n".join(["trace,task,config", *rows]))
    run = rev.load_run("trials.csv")
    assert len(rev.table.tasks(run.study, run.trials).data) == len(run.study.arms) == 2
    assert run.found_by.empty
