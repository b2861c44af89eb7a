"""A real Dask cluster of separate processes, over a real S3-compatible server, on the loopback."""

from __future__ import annotations

import json

import pytest

import retrieval_eval as rev
from retrieval_eval.cli.main import run as run_command
from retrieval_eval.model import to_builtins
from retrieval_eval.pipeline import manifest
from tests.cloud import dask_cluster, object_storage
from tests.runs import write_task, write_trial

for name in ("distributed", "s3fs", "moto", "pyarrow", "duckdb", "flask"):
    pytest.importorskip(name, reason="the extras dask and cloud are not installed")

pytestmark = pytest.mark.slow

N_TASKS = 12
N_RUNS = 3
BUCKET = "s3://bucket"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tasks and runs on disk; every run has two configurations."""
    root = tmp_path_factory.mktemp("cloud")
    for number in range(N_TASKS):
        task = f"task-{number:02d}"
        write_task(root / "benchmarks", task, ["src/a.py", "src/b.py"])
        for run in range(N_RUNS):
            for config, n in (("base line", 1), ("mcp", 2)):
                reads = [f"src/{name}.py" for name in "abz"[:n] or number % 2 * "z"]
                write_trial(root / f"runs/r{run}", config, task, reads, reward=number % 2)
    return root


@pytest.fixture(scope="module")
def storage(folder):
    """The runs and tasks in a bucket."""
    import s3fs

    with object_storage(folder) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir("bucket")
        for name in ("runs", "benchmarks"):
            system.put(str(folder / name), f"bucket/{name}", recursive=True)
        yield environment
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="module")
def cluster(folder, storage):
    """A scheduler and two workers."""
    with dask_cluster(folder, 2, storage) as found:
        yield found


def body(document):
    plain = to_builtins(document)
    for name in ("generated_at", "input_fingerprint", "body_sha256", "trials"):
        plain.pop(name, None)
    return plain


def rows(run):
    return sorted(
        (m.provenance.trial_name, m.provenance.config_name, m.body_sha256) for m in run.metrics
    )


def test_a_killed_worker_loses_nothing_and_nothing_is_there_twice(folder, cluster, monkeypatch):
    address, workers = cluster
    monkeypatch.setattr(manifest, "BATCH_TRIALS", 2)
    done = []

    def progress(n_done, _n_all, name):
        done.append(name)
        if len(done) == 4:
            workers[0].kill()

    options = {"output_dir": f"{BUCKET}/out", "executor": f"dask://{address}"}
    (run,) = rev.evaluate([f"{BUCKET}/runs/r0"], progress=progress, **options).runs
    assert workers[0].wait(10) == -9
    assert run.n_fresh == 2 * N_TASKS
    assert len(done) == len(set(done)) == len(run.shards) == N_TASKS
    (here,) = rev.evaluate(["r0"], runs_root=folder / "runs", output_dir=folder / "out").runs
    assert rows(run) == rows(here)
    assert body(run.summary) == body(here.summary)
    assert body(run.impact) == body(here.impact)
    (again,) = rev.evaluate([f"{BUCKET}/runs/r0"], **options).runs
    assert (again.n_fresh, again.shards) == (0, run.shards)


def test_tables_of_many_runs_are_one_table_for_duckdb_and_pandas(folder, cluster, storage):
    import duckdb
    import pandas as pd
    import s3fs

    runs = [f"{BUCKET}/runs/r{number}" for number in range(N_RUNS)]
    address, _ = cluster
    rev.evaluate(runs, output_dir=f"{BUCKET}/many", executor=f"dask://{address}")
    frame = pd.read_parquet(f"{BUCKET}/many/tables", columns=["task_name", "file_recall", "run_id"])
    assert frame.groupby("run_id", observed=True).size().to_dict() == {
        f"r{number}": 2 * N_TASKS for number in range(N_RUNS)
    }
    s3fs.S3FileSystem().get(f"{BUCKET}/many/tables", str(folder / "copied"), recursive=True)
    found = duckdb.sql(
        "select run_id, config_name, count(*), avg(file_recall) from "
        f"read_parquet('{folder}/copied/**/*.parquet', hive_partitioning = true) "
        "group by all order by all"
    ).fetchall()
    assert found == [
        (f"r{number}", config, N_TASKS, recall)
        for number in range(N_RUNS)
        for config, recall in (("base line", 0.5), ("mcp", 1.0))
    ]


def test_a_page_is_made_from_the_storage_and_holds_no_credentials(folder, storage, monkeypatch):
    from retrieval_eval.report.building import build_trial

    monkeypatch.chdir(folder)
    given = {"reports_dir": folder / "reports", "output_dir": f"{BUCKET}/many"}
    page = build_trial(f"{BUCKET}/runs/r1", "task-03", config="base line", **given)
    assert page.is_relative_to(folder / "reports/r1/trials")
    assert "base line" in page.read_text(encoding="utf-8")
    text = b"".join(path.read_bytes() for path in page.parent.rglob("*") if path.is_file())
    (loaded,) = rev.evaluate([f"{BUCKET}/many/r1/retrieval_events"]).runs
    assert loaded.n_fresh == 0
    text += json.dumps([to_builtins(loaded.summary), to_builtins(loaded.impact)]).encode()
    assert b"made-up" not in text


def test_a_storage_may_hold_what_no_folder_can_and_lack_the_bucket(storage, capsys):
    import s3fs

    trial = "bucket/runs/r2/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"
    system = s3fs.S3FileSystem()
    for key in (f"{trial}/agent", f"{trial}/agent/", "bucket/benchmarks/suite_a/task-00/tests"):
        system.pipe_file(key, b"" if key.endswith("/") else b"x")
    (run,) = rev.evaluate([f"{BUCKET}/runs/r2"], output_dir=f"{BUCKET}/odd").runs
    counts = run.summary.counts
    assert (counts.evaluated, counts.degraded, counts.computable) == (2 * N_TASKS, 0, 2 * N_TASKS)
    system.pipe_file("bucket/runs/r2//x/y", b"x")
    system.pipe_file(f"{trial}/agent//x.jsonl", b"x")
    (run,) = rev.evaluate([f"{BUCKET}/runs/r2"], output_dir=f"{BUCKET}/odd").runs
    assert run.summary.counts.degraded == 1
    assert any("1 key that no local folder can hold" in note for note in run.notes)
    assert run_command(["evaluate", f"{BUCKET}/runs/r2", "--output-dir", "s3://not-there/x"]) == 3
    assert "The specified bucket does not exist" in capsys.readouterr().err
