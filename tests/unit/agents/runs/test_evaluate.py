from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.errors import BadInputError, NothingToEvaluateError, SchemaError
from retrieval_eval.model import to_builtins
from retrieval_eval.report import load_run
from retrieval_eval.schema import faults, kind_of
from tests.runs import write_task, write_trial


def digests(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


@pytest.fixture
def tree(tmp_path):
    benchmarks, run = tmp_path / "benchmarks", tmp_path / "runs" / "run-1"
    write_task(benchmarks, "task-one", ["src/a.py", "src/b.py"])
    write_task(benchmarks, "task-two", ["src/c.py"])
    write_trial(run, "baseline", "task-one", ["src/a.py", "src/x.py"])
    write_trial(run, "baseline", "task-two", ["src/c.py"], reward=0.5)
    write_trial(run, "mcp", "mcp_task-one_AbCdEf", ["src/b.py", "src/a.py"])
    write_trial(run, "mcp", "task-two", None)
    return tmp_path


def run_it(tree: Path, **options):
    options.setdefault("output_dir", tree / "out")
    return evaluate(["run-1"], runs_root=tree / "runs", **options)


def test_every_trial_is_accounted_for_and_every_artefact_is_valid(tree):
    (found,) = run_it(tree).runs
    counts = found.summary.counts
    assert to_builtins(counts) == {
        "trials_found": 4,
        "evaluated": 3,
        "degraded": 1,
        "excluded": 0,
        "without_trace": 1,
        "without_ground_truth": 0,
        "computable": 3,
    }
    files = sorted(p.relative_to(found.folder).as_posix() for p in found.folder.rglob("*.json"))
    assert "baseline/task-one.retrieval_events.json" in files
    assert "mcp/task-one.retrieval_metrics.json" in files
    assert len(files) == 4 * 2 + 2
    for name in files:
        document = json.loads((found.folder / name).read_text())
        assert faults(document, kind_of(document)) == [], name


def test_inputs_are_read_only_and_the_run_tree_stays_clean(tree):
    before = digests(tree)
    run_it(tree)
    after = digests(tree)
    assert {k: v for k, v in after.items() if not k.startswith("out/")} == before


def test_artefacts_go_into_the_run_by_default(tree):
    run_it(tree, output_dir=None)
    assert (tree / "runs/run-1/retrieval_events/run_retrieval_summary.json").is_file()
    (again,) = run_it(tree, output_dir=None).runs
    assert again.summary.counts.trials_found == 4


def test_a_second_run_computes_nothing_and_changes_no_byte(tree):
    run_it(tree)
    before = digests(tree / "out")
    (again,) = run_it(tree).runs
    assert not any(d.is_fresh for d in again.trials)
    assert digests(tree / "out") == before


def test_the_same_input_gives_the_same_bytes_but_for_the_time(tree):
    run_it(tree)
    run_it(tree, output_dir=tree / "other")
    for name in digests(tree / "out"):
        one, other = (json.loads((tree / d / name).read_text()) for d in ("out", "other"))
        assert one.pop("generated_at")
        assert other.pop("generated_at")
        assert one == other


@pytest.mark.parametrize("change", ["truth", "trace", "result", "k"])
def test_a_changed_input_is_computed_again(tree, change):
    run_it(tree)
    options = {}
    if change == "truth":
        write_task(tree / "benchmarks", "task-one", ["src/x.py"])
    elif change == "trace":
        write_trial(tree / "runs/run-1", "baseline", "task-one", ["src/q.py"])
    elif change == "result":
        write_trial(tree / "runs/run-1", "baseline", "task-one", ["src/a.py", "src/x.py"], reward=0)
    else:
        options["k_values"] = (2,)
    (again,) = run_it(tree, **options).runs
    fresh = [d.job.trial.trial_name for d in again.trials if d.is_fresh]
    assert "task-one__aaaaaaa" in fresh
    assert len(fresh) == {"truth": 2, "trace": 1, "result": 1, "k": 4}[change]


def test_ground_truth_in_the_folder_of_its_task_is_an_input_too(tree):
    task = tree / "benchmarks/suite_a/task-two"
    (task / "tests/ground_truth.json").rename(task / "ground_truth.json")
    (task / "ground_truth.json").write_text(json.dumps({"files": ["src/x.py"]}))
    run_it(tree)
    (task / "ground_truth.json").write_text(json.dumps({"files": ["src/c.py"]}))
    (again,) = run_it(tree).runs
    (changed,) = [d for d in again.trials if d.job.stem == "baseline/task-two"]
    assert changed.is_fresh
    assert changed.metrics.file_level_metrics.file_recall == 1.0


def test_sessions_in_the_folder_of_the_trial_are_an_input_too(tree):
    trial = tree / "runs/run-1/mcp/2026-01-05__10-00-00/task-two__aaaaaaa"
    reads = tree / "runs/run-1/baseline/2026-01-05__10-00-00/task-two__aaaaaaa/agent"
    run_it(tree)
    (trial / "sessions").mkdir()
    shutil.copy(reads / "claude-code.txt", trial / "sessions" / "one.jsonl")
    (again,) = run_it(tree).runs
    (changed,) = [d for d in again.trials if d.job.stem == "mcp/task-two"]
    assert changed.metrics.file_level_metrics.file_recall == 1.0


@pytest.mark.parametrize(
    "name",
    [
        "baseline/task-one.retrieval_events.json",
        "baseline/task-one.retrieval_metrics.json",
        "run_retrieval_summary.json",
        "run_impact_analysis.json",
    ],
)
def test_an_artefact_of_another_major_version_is_neither_read_nor_overwritten(tree, name):
    run_it(tree)
    path = tree / "out/run-1/retrieval_events" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": "3.0"}))
    before = digests(tree / "out")
    with pytest.raises(SchemaError, match=rf"{name}: schema version 3\.0 has another major"):
        run_it(tree)
    with pytest.raises(SchemaError, match=rf"{name}: schema version 3\.0 has another major"):
        load_run("run-1", runs_root=tree / "runs", output_dir=tree / "out")
    assert digests(tree / "out") == before


def test_a_deleted_trial_leaves_no_artefact_and_foreign_files_stay(tree):
    run_it(tree)
    folder = tree / "out/run-1/retrieval_events"
    (folder / "notes.txt").write_text("mine")
    (folder / "baseline" / "notes.json").write_text("mine")
    shutil.rmtree(tree / "runs/run-1/baseline/2026-01-05__10-00-00/task-two__aaaaaaa")
    run_it(tree)
    names = {p.name for p in (folder / "baseline").iterdir()}
    assert names == {
        "task-one.retrieval_events.json",
        "task-one.retrieval_metrics.json",
        "notes.json",
    }
    assert (folder / "notes.txt").read_text() == "mine"


def test_repeats_each_have_their_own_artefacts(tree):
    for suffix, batch in (("bbbbbbb", "2026-01-05__10-00-00"), ("ccccccc", "2026-01-04__10-00-00")):
        write_trial(
            tree / "runs/run-1", "baseline", "task-two", ["src/z.py"], suffix=suffix, batch=batch
        )
    run_it(tree)
    names = {p.name for p in (tree / "out/run-1/retrieval_events/baseline").iterdir()}
    assert names >= {
        "task-two.retrieval_events.json",
        "task-two@task-two__aaaaaaa.retrieval_events.json",
        "task-two@task-two__bbbbbbb.retrieval_events.json",
    }
    first = tree / "out/run-1/retrieval_events/baseline/task-two.retrieval_events.json"
    assert json.loads(first.read_text())["provenance"]["trial_name"] == "task-two__ccccccc"


def test_several_processes_give_the_same_artefacts(tree):
    for number in range(70):
        write_trial(
            tree / "runs/run-1", "baseline", "task-one", ["src/a.py"], suffix=f"{number:07d}"
        )
    run_it(tree)
    run_it(tree, output_dir=tree / "other", jobs=2)
    one, other = digests(tree / "out"), digests(tree / "other")
    assert one.keys() == other.keys()
    for name in one:
        first, second = (json.loads((tree / d / name).read_text()) for d in ("out", "other"))
        assert {**first, "generated_at": ""} == {**second, "generated_at": ""}


def test_progress_is_reported_trial_by_trial(tree):
    seen = []
    run_it(tree, progress=lambda done, total, name: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_wrong_run_names_the_closest_ones(tree):
    with pytest.raises(BadInputError, match=r"run-1"):
        evaluate(["run-2"], runs_root=tree / "runs", output_dir=tree / "out")


def test_nothing_to_evaluate_is_a_sentence(tree):
    (tree / "runs" / "empty").mkdir()
    with pytest.raises(NothingToEvaluateError, match="no trial found in"):
        evaluate(["empty"], runs_root=tree / "runs", output_dir=tree / "out")


@pytest.mark.parametrize("k_values", [(), (0,), (-1,), (True,), (1.5,), (10**9,)])
def test_senseless_cutoffs_are_refused(tree, k_values):
    with pytest.raises(BadInputError, match="whole numbers"):
        run_it(tree, k_values=k_values)


def test_a_missing_benchmarks_root_is_refused(tree):
    with pytest.raises(BadInputError, match="benchmarks root"):
        run_it(tree, benchmarks_root=tree / "none")


def test_an_unforeseen_failure_degrades_one_trial_and_not_the_batch(tree, monkeypatch):
    from retrieval_eval.agents.runs import trial as module

    original = module.extract_events

    def fail(trace, *arguments, **options):
        if len(trace.calls) == 1:
            raise RuntimeError("unforeseen")
        return original(trace, *arguments, **options)

    monkeypatch.setattr(module, "extract_events", fail)
    (found,) = run_it(tree).runs
    assert found.summary.counts.degraded == 2
    reasons = [t.reason for t in found.summary.trials if t.reason]
    assert any("RuntimeError: unforeseen" in reason for reason in reasons)
    monkeypatch.undo()
    (again,) = run_it(tree).runs
    assert again.summary.counts.degraded == 1


def test_names_from_traces_never_leave_the_output_folder(tree):
    folder = write_trial(tree / "runs/run-1", "baseline", "task-two", ["src/c.py"], suffix="evil")
    result = json.loads((folder / "result.json").read_text())
    result["task_name"] = "../../../../escaped/<script>"
    (folder / "result.json").write_text(json.dumps(result))
    before = {p for p in tree.rglob("*") if (tree / "out") not in p.parents}
    run_it(tree)
    after = {p for p in tree.rglob("*") if (tree / "out") not in p.parents}
    assert after - before <= {tree / "out"}
    assert len(list((tree / "out/run-1/retrieval_events/baseline").glob("*_events.json"))) == 3


def test_two_runs_of_one_name_do_not_share_an_output_folder(tree):
    write_trial(tree / "elsewhere" / "run-1", "baseline", "task-two", ["src/c.py"])
    paths = [str(tree / root / "run-1") for root in ("runs", "elsewhere")]
    with pytest.raises(BadInputError, match="2 runs are named 'run-1'"):
        evaluate(paths, output_dir=tree / "out")
    assert not (tree / "out").exists()
    assert [len(run.trials) for run in evaluate(paths).runs] == [4, 1]


@pytest.mark.parametrize("link", ["retrieval_events", "retrieval_events/baseline"])
def test_nothing_is_written_through_a_link_that_a_run_brought(tree, link):
    (tree / "outside").mkdir()
    place = tree / "runs/run-1" / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tree / "outside")
    with pytest.raises(BadInputError, match="nothing is written through a link"):
        run_it(tree, output_dir=None)
    assert not any((tree / "outside").iterdir())


@pytest.mark.parametrize("name", ["old.retrieval_events.json", ".x.json.999999999.abc.tmp"])
def test_a_folder_named_like_a_stale_artefact_is_left_alone(tree, name):
    place = tree / "out/run-1/retrieval_events/baseline" / name
    place.mkdir(parents=True)
    run_it(tree)
    assert place.is_dir()


def test_a_name_too_long_for_a_folder_is_bad_input(tree):
    with pytest.raises(BadInputError, match="no run"):
        evaluate(["a" * 300], runs_root=tree / "runs")
    for option in ("output_dir", "benchmarks_root"):
        with pytest.raises(BadInputError, match="aaa"):
            run_it(tree, **{option: tree / ("a" * 300)})
