"""A real Dask cluster of separate processes, over a real S3-compatible server, on the loopback."""

from __future__ import annotations

import re

import pytest

import retrieval_eval as rev
from retrieval_eval.cli import run as run_command
from tests.cloud import dask_cluster, object_storage
from tests.runs import write_task, write_trial

for name in ("distributed", "s3fs", "moto", "pyarrow", "flask"):
    pytest.importorskip(name, reason="the extra dask is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.extra]

N_TASKS = 12
BUCKET = "s3://bucket"
TRIAL = "bucket/runs/r/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tasks and a run of two configurations on disk."""
    root = tmp_path_factory.mktemp("cloud")
    for number in range(N_TASKS):
        task = f"task-{number:02d}"
        write_task(root / "benchmarks", task, ["src/a.py", "src/b.py"])
        for config, n in (("base line", 1), ("mcp", 2)):
            reads = [f"src/{name}.py" for name in "abz"[:n] or number % 2 * "z"]
            write_trial(root / "runs/r", config, task, reads, reward=number % 2)
    return root


@pytest.fixture(scope="module")
def storage(folder):
    """The run and its tasks in a bucket; yields the environment and the file system."""
    import s3fs

    with object_storage(folder) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem(use_listings_cache=False)
        system.mkdir("bucket")
        for name in ("runs", "benchmarks"):
            system.put(str(folder / name), f"bucket/{name}", recursive=True)
        # Empty objects that mark folders, and one that only an object storage can hold.
        for key in (f"{TRIAL}/agent", f"{TRIAL}/agent/", f"{TRIAL}/verifier/"):
            system.pipe_file(key, b"")
        yield environment, system
        s3fs.S3FileSystem.clear_instance_cache()


def evaluate(**options):
    options = {
        "output_dir": f"{BUCKET}/out",
        "benchmarks_root": f"{BUCKET}/benchmarks",
        **options,
    }
    (run,) = rev.evaluate([f"{BUCKET}/runs/r"], **options).runs
    return run


def timeless(data):
    return re.sub(rb'"generated_at": "[^"]*"', b"", data)


def test_a_killed_worker_loses_nothing_and_nothing_is_there_twice(folder, storage, monkeypatch):
    environment, system = storage
    monkeypatch.setattr("retrieval_eval.agents.runs.away._MOST_TRIALS", 2)
    done = []
    with dask_cluster(folder, 2, environment) as (address, workers):

        def progress(_done, _all, name):
            done.append(name)
            if len(done) == 5:
                workers[0].kill()

        options = {"executor": f"dask://{address}"}
        run = evaluate(progress=progress, **options)
        assert workers[0].wait(10) == -9
        assert len(done) == len(run.trials) == 2 * N_TASKS
        assert all(trial.is_fresh for trial in run.trials)
        written = system.find("bucket/out", detail=True)
        assert len(written) == 2 + 2 * 2 * N_TASKS
        again = evaluate(**options)
        assert not any(trial.is_fresh for trial in again.trials)
        after = system.find("bucket/out", detail=True)
        assert {k: v["LastModified"] for k, v in after.items()} == {
            k: v["LastModified"] for k, v in written.items()
        }
    rev.evaluate(["r"], runs_root=folder / "runs", output_dir=folder / "out")
    for key in written:
        here = folder / "out" / key.removeprefix("bucket/out/")
        assert timeless(system.cat_file(key)) == timeless(here.read_bytes()), key


def test_a_page_and_tables_are_made_from_the_storage_without_credentials(
    folder, storage, monkeypatch
):
    import pandas as pd

    from retrieval_eval.report.building import build_trial

    monkeypatch.chdir(folder)
    evaluate(tables=True)
    frame = pd.read_parquet(f"{BUCKET}/out/tables", columns=["task_name", "file_recall", "run_id"])
    assert frame.groupby("run_id", observed=True).size().to_dict() == {"r": 2 * N_TASKS}
    given = {"reports_dir": folder / "reports", "output_dir": f"{BUCKET}/out"}
    given |= {"config": "base line", "benchmarks_root": f"{BUCKET}/benchmarks"}
    page = build_trial(f"{BUCKET}/runs/r", "task-03", **given)
    assert page.is_relative_to(folder / "reports/r/trials")
    text = page.read_text(encoding="utf-8")
    assert "base line" in text
    assert "made-up" not in text


def test_what_a_folder_cannot_hold_degrades_its_trial_and_a_bucket_must_be_there(storage, capsys):
    _, system = storage
    keys = [f"{TRIAL}/agent/a.json", f"{TRIAL}/agent/a.json/b"]
    for key in keys:
        system.pipe_file(key, b"x")
    run = evaluate(output_dir=f"{BUCKET}/odd")
    (reason,) = {m.coverage.degraded_reason for m in run.metrics if m.coverage.degraded_reason}
    assert "agent/a.json', which could not be copied as it was listed" in reason
    for key in keys:
        system.rm_file(key)
    places = ["--output-dir", "s3://not-there/x", "--benchmarks-root", f"{BUCKET}/benchmarks"]
    assert run_command(["evaluate", f"{BUCKET}/runs/r", *places]) == 3
    shown = capsys.readouterr().err
    assert "The specified bucket does not exist" in shown
    assert shown.count("\n") == 1
