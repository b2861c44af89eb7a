"""Tables of trials and of truth: what is taken, and what is said of the rest."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from retrieval_eval.agents.door import read_trials, read_truths
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.cli import run
from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.report import load_run

PATCH = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/src/new.py\n"


def trace_of(path: str, seconds: int = 30) -> str:
    call = {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": f"/w/{path}"}}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": "1\timport os"}
    lines = [
        {"type": "system", "subtype": "init", "cwd": "/w", "tools": ["Read"]},
        {
            "type": "assistant",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"id": "m", "content": [call]},
        },
        {
            "type": "user",
            "timestamp": f"2026-01-01T00:00:{seconds:02}Z",
            "message": {"content": [answer]},
        },
        {"type": "result", "subtype": "success", "is_error": False, "result": "ok"},
    ]
    return "\n".join(map(json.dumps, lines))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for task in ("t-1", "t-2"):
        for arm, file in (("old", "src/b.py"), ("new", "src/a.py")):
            (tmp_path / f"logs/{arm}-{task}.jsonl").write_text(trace_of(file), encoding="utf-8")
    head = "trace,task,config,reward,cost_usd,elapsed_seconds\n"
    rows = [
        f"logs/{arm}-{task}.jsonl,{task},{arm},{int(arm == 'new')},0.5,{seconds}"
        for task, seconds in (("t-1", 25), ("t-2", 30_000))
        for arm in ("old", "new")
    ]
    (tmp_path / "trials.csv").write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    truths = [{"instance_id": "t-1", "patch": PATCH}, {"instance_id": "T-2", "files": ["src/a.py"]}]
    (tmp_path / "truth.jsonl").write_text("\n".join(map(json.dumps, truths)), encoding="utf-8")
    return tmp_path


def test_a_table_and_its_truth_are_a_run(place):
    (found,) = evaluate(["trials.csv"], benchmarks_root="truth.jsonl").runs
    assert (found.run_id, str(found.folder)) == (
        "trials",
        "reports/trials/data/trials/retrieval_events",
    )
    by_name = {(m.provenance.config_name, m.provenance.task_name): m for m in found.metrics}
    block = to_builtins(by_name["new", "t-1"])["file_level_metrics"]
    assert (block["file_recall"], block["n_ground_truth"]) == (1.0, 1)
    block = to_builtins(by_name["old", "t-1"])["file_level_metrics"]
    assert block["file_recall"] == 0.0
    outcome = by_name["new", "t-1"].outcome
    assert (outcome["reward"], outcome["cost_usd"], outcome["elapsed_seconds"]) == (1.0, 0.5, 25.0)
    assert outcome["reward_source"] == outcome["elapsed_source"] == "trials.csv"
    assert found.notes == ()


def test_frames_of_trials_and_truth_are_a_run(place):
    trials = pd.read_csv("trials.csv")
    truth = pd.DataFrame({"task": ["t-1", "t-2"], "files": [["src/a.py"]] * 2})
    frame = load_run(trials, benchmarks_root=truth).trials
    assert frame.groupby("config_name")["file_recall"].mean().to_dict() == {"new": 1, "old": 0}
    assert set(frame["reward"]) == {0.0, 1.0}


def test_a_time_in_milliseconds_is_left_out_with_that_reason(place):
    (found,) = evaluate(["trials.csv"], benchmarks_root="truth.jsonl").runs
    outcome = next(m.outcome for m in found.metrics if m.provenance.task_name == "t-2")
    assert outcome["elapsed_seconds"] == 30.0
    assert "1,000 times what the trace shows" in outcome["problems"][0]


def test_a_changed_truth_or_reward_measures_the_trial_again(place):
    def fresh():
        (found,) = evaluate(["trials.csv"], benchmarks_root="truth.jsonl").runs
        return sum(done.is_fresh for done in found.trials)

    assert (fresh(), fresh()) == (4, 0)
    text = (place / "trials.csv").read_text()
    (place / "trials.csv").write_text(text.replace("t-1,old,0", "t-1,old,1"))
    assert fresh() == 1
    text = (place / "truth.jsonl").read_text()
    (place / "truth.jsonl").write_text(text.replace('["src/a.py"]', '["src/b.py"]'))
    assert fresh() == 2


def test_the_commands_take_a_table_and_its_truth(place, capsys):
    assert run(["evaluate", "trials.csv", "--truth", "truth.jsonl", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["counts"]["computable"] == 4
    sides = ["trials.csv:old", "trials.csv:new"]
    assert run(["compare", *sides, "--truth", "truth.jsonl", "--json"]) == 2  # too few tasks
    capsys.readouterr()
    assert run(["evaluate", "trials.csv", "--truth", "trials.csv"]) == 3
    assert "trials.csv: a row of truth names its task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"reward": "85%"}, "row 1, reward: expected a share such as 0.85, got '85%'"),
        ({"cost_usd": "-1"}, "row 1, cost_usd: expected 0 or more, got '-1'"),
        ({"elapsed_seconds": "soon"}, "row 1, elapsed_seconds: expected a number, got 'soon'"),
        ({"rewrd": 1}, "column 'rewrd' is not used; did you mean reward"),
        ({"trace": "absent.json"}, "row 1, trace: there is no absent.json"),
        ({"task": " "}, "row 1, task: is empty"),
        ({"reward": 85}, "reward: 1 of 1 value lie above 1, such as 85 in row 1; shares are"),
        (
            {"elapsed_seconds": 118_000},
            "elapsed_seconds: half of 1 value lie above 20,000, such as 118000 in row 1; seconds",
        ),
    ],
)
def test_a_cell_that_makes_no_sense_is_named_by_row_and_column(place, row, message):
    found = read_trials(pd.DataFrame([{"trace": "logs/old-t-1.jsonl", "task": "t-1", **row}]))
    said = [*found.problems, *(one.detail for one in found.left_out)]
    assert any(message in text for text in said), said


def test_trials_that_repeat_others_are_left_out_and_repeats_are_numbered(place):
    rows = [
        {"trace": "logs/old-t-1.jsonl", "task": "t-1", "config": "old"},
        {"trace": "logs/old-t-1.jsonl", "task": "t-1", "config": "old"},
        {"trace": "logs/new-t-1.jsonl", "task": "t-1", "config": "old"},
        {"trace": "logs/new-t-2.jsonl", "task": "t-2", "config": "old", "repeat": "a"},
        {"trace": "logs/old-t-2.jsonl", "task": "t-2", "config": "old", "repeat": "a"},
    ]
    found = read_trials(pd.DataFrame(rows))
    assert [(row.task, row.repeat) for row in found.rows] == [
        ("t-1", "1"),
        ("t-1", "2"),
        ("t-2", "a"),
    ]
    assert {one.reason for one in found.left_out} == {"repeated"}
    said = [one.detail for one in found.left_out]
    assert "row 2: the same trace of the same trial again" in said[0]
    assert "row 5, repeat: 'a' is another repeat of t-2 under old already" in said[1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("trials.jsonl", "row 2: not valid JSON"),
        ("trials.jsonl", "row 3: expected an object, got [1, 2]"),
        ("trials.jsonl", "row 4: is not UTF-8"),
        ("trials.csv", "row 1: has 7 cells, of which 6 have a column"),
        ("trials.csv", "row 5: is not UTF-8"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_and_the_rest_goes_on(place, table, message):
    (place / "trials.jsonl").write_bytes(
        b'{"trace": "logs/new-t-1.jsonl", "task": "t-1"}\n{"trace": "logs\n[1, 2]\n'
        b'{"trace": "\xff", "task": "t-2"}\n{"trace": "logs/new-t-2.jsonl", "task": "t-2"}\n'
    )
    text = (place / "trials.csv").read_bytes().replace(b",25\n", b",25,extra,\n", 1)
    (place / "trials.csv").write_bytes(text + b"logs/old-t-1.jsonl,\xe9,old,1,0.5,25\n")
    found = read_trials(place / table)
    assert message in "; ".join(one.detail for one in found.left_out)
    assert {row.task for row in found.rows} == {"t-1", "t-2"}


def test_a_broken_row_of_truth_is_named_wherever_the_run_is_read(place, capsys):
    text = (place / "truth.jsonl").read_text()
    (place / "truth.jsonl").write_text('{"instance_id": "t-1", \n' + text)
    broken = "truth.jsonl: row 1: not valid JSON, so it is left out"
    (found,) = evaluate(["trials.csv"], benchmarks_root="truth.jsonl").runs
    assert found.summary.notes == (broken,)
    assert found.summary.counts.computable == 4
    run(["compare", "trials.csv", "--truth", "truth.jsonl"])
    assert f"note: {broken}" in capsys.readouterr().out
    said = load_run("trials.csv", benchmarks_root="truth.jsonl").left_out
    assert ("stated", broken) in said.points


def test_rows_that_are_left_out_count_as_excluded(place, capsys):
    with (place / "trials.csv").open("a", encoding="utf-8") as table:
        table.write("logs/absent.jsonl,t-3,old,1,0.5,25\n")
    (found,) = evaluate(["trials.csv"], benchmarks_root="truth.jsonl").runs
    counts = found.summary.counts
    assert (counts.trials_found, counts.evaluated, counts.excluded) == (5, 4, 1)
    assert run(["evaluate", "trials.csv", "--truth", "truth.jsonl"]) == 0
    assert "no_trace trials.csv: row 5, trace: there is no logs/absent.jsonl" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_every_kind_of_table_gives_the_same(place, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    frame = pd.read_csv(place / "trials.csv")
    path = place / f"same{suffix}"
    match suffix:
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".json":
            frame.to_json(path, orient="records")
        case _:
            frame.to_parquet(path)
    assert read_trials(path).rows == read_trials(place / "trials.csv").rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no row"),
        ("file,task\na,b\n", "has no column trace; its columns are file, task"),
        ("trace\na\n", "has no column task"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match=message):
        read_trials(path)


def test_truth_is_a_patch_files_or_contexts_with_lines():
    contexts = [{"file": "src/c.py", "start_line": 3, "end_line": 9}]
    rows = [
        {"task": "patch", "repo": "acme/widgets", "patch": PATCH},
        {"task": "files", "files": "src/a.py; src/b.py", "edit_files": ["src/a.py"]},
        {"task": "contexts", "gold_context": json.dumps(contexts), "patch": PATCH},
        {"task": "files", "files": "other.py"},
        {"task": "bad", "patch": "no diff", "files": "[1]", "contexts": '[{"path": "x"}]'},
        {"files": "x.py"},
        {"task": "number", "patch": 17},
    ]
    found = read_truths(pd.DataFrame(rows))
    of_patch = found.by_task["patch"]
    assert [str(file) for file in of_patch.files] == ["src/a.py"]
    assert [str(file) for file in of_patch.added_files] == ["src/new.py"]
    assert of_patch.primary == "widgets"
    of_files = found.by_task["files"]
    assert [str(file) for file in of_files.files] == ["src/a.py", "src/b.py"]
    assert [str(file) for file in of_files.expected_edit_files] == ["src/a.py"]
    of_contexts = found.by_task["contexts"]
    assert [(str(c.file), c.line_start, c.line_end) for c in of_contexts.chunks] == [
        ("src/c.py", 3, 9)
    ]
    assert [str(file) for file in of_contexts.expected_edit_files] == ["src/a.py", "src/new.py"]
    renamed = [{"instance_id": "Verified__1", "original_inst_id": "a__b-1", "files": "x.py"}]
    assert list(read_truths(pd.DataFrame(renamed)).by_task) == ["a__b-1"]
    assert found.by_task["bad"].files == ()
    for message in (
        "row 4: 'files' again; the first is kept",
        "row 5, patch: expected a unified diff, and no file is named in it",
        "row 5, files: expected paths, as a list or with ; between",
        "row 5, contexts: expected objects with path, line_start and line_end",
        "row 6, task: is empty",
        "row 7, patch: expected a unified diff, got 17",
    ):
        assert any(message in problem for problem in found.problems), message


def test_a_folder_of_patches_is_a_truth(place):
    (place / "patches").mkdir()
    (place / "patches/t-1.patch").write_text(PATCH)
    (found,) = evaluate(["trials.csv"], benchmarks_root="patches").runs
    assert found.summary.counts.computable == 2
    assert found.notes == ("patches: 1 task of the trials without a row: t-2",)
