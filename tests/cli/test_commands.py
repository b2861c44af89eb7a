from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval_eval.cli import run
from tests.runs import write_task, write_trial


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py", "src/b.py"])
    for config, reads in (("baseline", ["src/x.py"]), ("mcp", ["src/x.py", "src/a.py"])):
        write_trial(tmp_path / "runs" / "run-1", config, "task-one", reads)
    return tmp_path


def test_evaluate_prints_what_a_person_needs(tree, capsys):
    assert run(["evaluate", "run-1", "--output-dir", "out"]) == 0
    text = capsys.readouterr().out
    assert "2 trials found: 2 evaluated, 0 degraded, 0 excluded" in text
    assert "0.50 (n=1)" in text
    head, baseline, mcp = text.splitlines()[3:6]
    assert head.endswith("never hit")
    assert baseline.endswith("1 of 1")
    assert mcp.endswith("0 of 1")
    assert "out/run-1/retrieval_events" in text


def test_evaluate_as_json_is_one_document(tree, capsys):
    assert run(["evaluate", "runs/run-1", "--output-dir", "out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"][0]["counts"]["trials_found"] == 2
    assert found["runs"][0]["configs"]["mcp"]["metrics"]["file_recall"]["mean"] == 0.5


def test_exit_codes(tree, capsys):
    (tree / "runs" / "empty").mkdir()
    assert run(["evaluate", "run-2"]) == 3
    assert "run-1" in capsys.readouterr().err
    assert run(["evaluate", "empty"]) == 2
    assert "no trial found" in capsys.readouterr().err
    assert run(["evaluate"]) == 64
    assert run(["evaluate", "run-1", "--k", "1,two"]) == 64
    assert run(["evaluate", "run-1", "--k", "0"]) == 3
    assert run(["no-such-command"]) == 64
    assert run(["--version"]) == 0
    assert run(["evaluate", "--help"]) == 0


def test_validate_names_file_and_pointer(tree, capsys):
    run(["evaluate", "run-1", "--output-dir", "out", "--jobs", "1"])
    folder = tree / "out/run-1/retrieval_events"
    files = [str(p) for p in sorted(folder.rglob("*.json"))]
    capsys.readouterr()
    assert run(["validate", *files]) == 0
    assert capsys.readouterr().out.count(": valid") == len(files) == 6

    path = folder / "mcp/task-one.retrieval_events.json"
    document = json.loads(path.read_text())
    document["events"][0]["is_mcp"] = "yes"
    path.write_text(json.dumps(document))
    assert run(["validate", str(path)]) == 3
    assert f"{path}: /events/0/is_mcp: 'yes' is not of type 'boolean'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema_version": "2.0", "events": []}', "schema version 2.0 has another major"),
        ('{"events": []}', "/schema_version: expected a version"),
        ('{"x": 1}', "not a file this tool writes"),
        ("[1", "not valid JSON (line 1"),
    ],
)
def test_validate_rejects_unknown_documents(tree, capsys, content, message):
    (tree / "x.json").write_text(content)
    assert run(["validate", "x.json"]) == 3
    assert message in capsys.readouterr().out


def test_the_recall_of_a_cut_trace_is_printed_as_a_lower_bound(tree, capsys):
    folder = write_trial(
        tree / "runs/run-1", "baseline", "task-one", ["src/a.py"], suffix="bbbbbbb"
    )
    with (folder / "agent/claude-code.txt").open("a") as transcript:
        transcript.write('{"type": "assis')
    assert run(["trace", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "file recall at least 0.50 (1 of 2)" in text
    assert "degraded" in text


def test_what_the_output_cannot_encode_is_escaped(tree):
    package = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "retrieval_eval", "evaluate", "run-1", "--output-dir", "out"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONPATH": package},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2014 (n=0)" in done.stdout, "the dash of what is not computable"


@pytest.fixture
def study(tree):
    """Two runs over eight tasks: another arm in each, and both arms in a third."""
    for number in range(8):
        task = f"task-{number:03d}"
        write_task(tree / "benchmarks", task, ["src/a.py", "src/b.py"])
        both = ["src/a.py", "src/b.py"]
        for run_id, config, reads in (
            ("old", "baseline", ["src/a.py"]),
            ("new", "baseline", both),
            ("study", "baseline", ["src/a.py"]),
            ("study", "local-v2", both if number % 4 else ["src/a.py"]),
        ):
            write_trial(tree / "runs" / run_id, config, task, reads)
    return tree


def test_compare_two_runs_of_one_config(study, capsys):
    assert run(["compare", "old", "new", "--output-dir", "out"]) == 0
    text = capsys.readouterr().out
    assert "baseline@new (B) against baseline@old (A)" in text
    assert "8 matched tasks · 16 trials" in text
    assert len(text.splitlines()) <= 15
    assert run(["compare", "new", "old", "--output-dir", "out"]) == 1


def test_compare_two_configs_of_a_run(study, capsys):
    command = ["compare", "baseline", "local-v2", "--run", "study", "--output-dir", "out"]
    assert run([*command, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert found["verdict"] == "better"
    assert found["metrics"]["file_recall"]["mean_difference"] == 0.375
    same = ["compare", "study:baseline", "study:local-v2", "--output-dir", "out", "--json"]
    assert run(same) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"] == [found]
    assert run(["compare", "study", "--output-dir", "out"]) == 0


@pytest.fixture
def roles(study):
    """A third arm beside them, whose trials all call a server."""
    for number in range(8):
        reads = ["mcp:src/a.py", "mcp:src/b.py"]
        write_trial(study / "runs" / "study", "third", f"task-{number:03d}", reads)
    return study


def test_compare_takes_the_roles_that_are_stated(roles, capsys):
    pair = ["compare", "study:baseline", "study:third", "--output-dir", "out"]
    assert run([*pair, "--mcp", "third"]) == 0
    assert "BETTER: third finds" in capsys.readouterr().out
    assert run([*pair, "--mcp", "baseline", "--verbose"]) == 2
    text = capsys.readouterr().out
    assert "FAILED mcp_in_baseline: 8 found, 8 removed" in text
    counts = "an MCP server was called in 0 and answered in 0"
    assert f"8 of 8 trials of baseline: {counts}" in text
    assert run([*pair, "--mcp", "thrid"]) == 3
    assert "no configuration 'thrid'" in capsys.readouterr().err


def test_compare_refuses_what_does_not_exist_and_names_what_does(study, capsys):
    assert run(["compare", "baseline", "mpc", "--run", "study", "--output-dir", "out"]) == 3
    assert "there are: baseline, local-v2" in capsys.readouterr().err
    assert run(["compare", "old", "study", "--output-dir", "out"]) == 3
    assert "name one as study:CONFIG (baseline, local-v2)" in capsys.readouterr().err
    assert run(["compare", "old", "old", "--output-dir", "out"]) == 3
    assert run(["compare", "old", "nowhere", "--output-dir", "out"]) == 3
    assert run(["compare", "a", "b", "c"]) == 3
    assert run(["compare", "baseline", "--run", "study", "--output-dir", "out"]) == 3


def test_compare_with_too_little_is_no_verdict(study, capsys):
    assert run(["compare", "run-1", "--output-dir", "out", "--verbose"]) == 2
    assert "dead_mcp_server" in capsys.readouterr().out
    for config in ("baseline", "local-v2"):
        write_trial(study / "runs" / "few", config, "task-000", ["src/a.py"])
    assert run(["compare", "few", "--output-dir", "out"]) == 2
    assert "TOO FEW PAIRS" in capsys.readouterr().out
    write_trial(study / "runs" / "alone", "baseline", "task-000", ["src/a.py"])
    assert run(["compare", "alone", "--output-dir", "out"]) == 2
    assert "only one configuration" in capsys.readouterr().out


def test_compare_writes_the_comparison_as_a_page(study, capsys):
    """The page gives the difference that the command prints, whichever way the sides are named."""
    options = ["--output-dir", "out", "--report"]
    assert run(["compare", "study:local-v2", "study:baseline", *options, "--json"]) == 1
    shown = capsys.readouterr()
    (found,) = json.loads(shown.out)["comparisons"]
    assert found["metrics"]["file_recall"]["mean_difference"] == -0.375
    assert shown.err.strip() == "reports/study/compare/index.html"
    page = (study / "reports/study/compare/index.html").read_text(encoding="utf-8")
    assert "baseline finds " in page
    assert "−0.38" in page


def test_one_run_named_in_two_ways_is_one_run(study, capsys):
    both = ["compare", "study:baseline", "runs/study:local-v2", "--output-dir", "out", "--json"]
    assert run(both) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (found["baseline_config"], found["comparison_config"]) == ("baseline", "local-v2")
    assert run(["compare", "old", "runs/old", "--output-dir", "out"]) == 3


def test_a_closed_output_pipe_is_neither_a_pass_nor_a_breach():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "retrieval_eval", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def everything(tree):
    return {p: p.read_bytes() if p.is_file() else None for p in tree.rglob("*")}


@pytest.mark.parametrize("place", [".", "runs", "official"])
def test_a_folder_of_runs_is_refused_and_nothing_is_written(tree, capsys, monkeypatch, place):
    if place == "official":
        (tree / "runs/official").mkdir()
        (tree / "runs/run-1").rename(tree / "runs/official/run-1")
        place = "runs/official"
    before = everything(tree)
    monkeypatch.chdir(tree / place)
    assert run(["evaluate", "."]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"retrieval-eval: {tree / place} is no run: it holds 1 run, such as ")
    assert "with --truth" in said
    assert everything(tree) == before


def test_a_run_without_ground_truth_ends_with_2_and_the_hint(tree, capsys, monkeypatch):
    import shutil

    shutil.rmtree(tree / "benchmarks")
    assert run(["evaluate", "run-1"]) == 2
    said = capsys.readouterr()
    assert "2 trials found" in said.out
    assert said.err == (
        "retrieval-eval: of 2 trials none could be measured; 2 without ground truth; "
        "there is no folder 'benchmarks' near the runs or here, so there is no ground truth; "
        "name the folder of the tasks, <suite>/<task>/, or a table of truth, with --truth; "
        "`retrieval-eval trace PLACE --all` shows what was read all the same\n"
    )
    (tree / "elsewhere").mkdir()
    assert run(["evaluate", "run-1", "--benchmarks-root", "elsewhere", "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["runs"][0]["counts"]["without_ground_truth"] == 2
    assert "ground truth is looked for in elsewhere; name the folder" in said.err
    monkeypatch.chdir(tree / "runs/run-1")
    assert run(["evaluate", "."]) == 2
    assert {p.name for p in (tree / "runs").iterdir()} == {"run-1"}


def test_a_run_that_is_measured_in_part_is_measured(tree, capsys):
    write_trial(tree / "runs" / "run-1", "mcp", "task-unknown", ["src/x.py"])
    assert run(["evaluate", "run-1"]) == 0
    assert "1 without ground truth" in capsys.readouterr().out


def test_a_run_without_a_trace_is_not_sent_to_the_benchmarks(tree, capsys):
    write_trial(tree / "runs" / "run-2", "mcp", "task-one", None)
    assert run(["evaluate", "run-2"]) == 2
    said = capsys.readouterr().err
    assert said == "retrieval-eval: of 1 trial none could be measured; 1 without trace\n"


def test_metrics_are_computed_from_event_documents_alone(tree, capsys):
    write_trial(tree / "runs/run-1", "mcp", "task-one", None, suffix="eeeeeee")
    assert run(["evaluate", "run-1", "--output-dir", "out"]) == 0
    capsys.readouterr()
    events = tree / "only"
    for path in (tree / "out").rglob("*.retrieval_events.json"):
        place = events / path.relative_to(tree / "out")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
    before = sorted(tree.rglob("*"))
    assert run(["evaluate", "--from-events", "only"]) == 0
    text = capsys.readouterr().out
    assert "3 trials found" in text
    assert "artefacts: not written; name a folder with --output-dir" in text
    assert sorted(tree.rglob("*")) == before
    assert run(["evaluate", "--from-events", "only", "--output-dir", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["counts"]["without_trace"] == 1
    again = list((tree / "again").rglob("*.retrieval_metrics.json"))
    assert len(again) == 3
    for path in again:
        first = json.loads((tree / "out" / path.relative_to(tree / "again")).read_text())
        second = json.loads(path.read_text())
        for block in ("file_level_metrics", "chunk_level_metrics", "error_taxonomy"):
            assert second[block] == first[block], path
        assert second["outcome"]["reward"] is None


def test_event_documents_of_another_version_are_refused_with_file_and_reason(tree, capsys):
    assert run(["evaluate", "run-1", "--output-dir", "out"]) == 0
    capsys.readouterr()
    (changed,) = (tree / "out").rglob("baseline*/task-one.retrieval_events.json")
    document = json.loads(changed.read_text())
    changed.write_text(json.dumps(document | {"schema_version": "2.0"}))
    (tree / "out/broken.retrieval_events.json").write_text("{")
    assert run(["evaluate", "--from-events", "out", "--output-dir", "new"]) == 3
    said = capsys.readouterr().err
    assert f"{changed.name}: schema version 2.0 has another major version" in said
    assert "broken.retrieval_events.json: not valid JSON" in said
    assert not (tree / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--from-events", "none"], 3, "none: no such folder"),
        (["--from-events", "runs"], 2, "no file named *.retrieval_events.json"),
        (["--from-events", "runs", "run-1"], 64, "name runs, or a folder of event documents"),
        ([], 64, "name runs, or a folder of event documents"),
    ],
)
def test_runs_or_event_documents_are_named(arguments, code, message, tree, capsys):
    assert run(["evaluate", *arguments]) == code
    assert message in capsys.readouterr().err


def test_event_documents_are_not_overwritten_by_their_own_evaluation(tree, capsys):
    assert run(["evaluate", "run-1", "--output-dir", "out"]) == 0
    assert run(["evaluate", "--from-events", "out", "--output-dir", "out"]) == 3
    assert "is one of the documents that are read" in capsys.readouterr().err
