"""Runs behind URLs: the documents of a local run, no work twice, and hostile listings."""

from __future__ import annotations

import json
import re
import shutil
import sys

import pytest

import retrieval_eval as rev
from retrieval_eval.agents.runs import away
from retrieval_eval.cli import run as run_command
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.remote import Place, located
from tests.runs import write_task, write_trial

fsspec = pytest.importorskip("fsspec", reason="the extra dask is not installed")
MemoryFile = pytest.importorskip("fsspec.implementations.memory").MemoryFile

CONFIGS = ("base line", "mcp")
N_TASKS = 4
TRIAL = "/b/runs/r/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"


@pytest.fixture
def memory():
    """An object storage in memory, empty before and after."""
    system = fsspec.filesystem("memory")
    clear(system)
    yield system
    clear(system)


def clear(system):
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def upload(folder, memory):
    for name in ("runs", "benchmarks"):
        for path in (folder / name).rglob("*"):
            if path.is_file():
                key = f"/b/{path.relative_to(folder).as_posix()}"
                memory.pipe_file(key, path.read_bytes())


@pytest.fixture
def study(tmp_path, memory):
    """A run on disk and, with its tasks, in the storage."""
    for number in range(N_TASKS):
        task = f"task-{number:02d}"
        write_task(tmp_path / "benchmarks", task, ["src/a.py", "src/b.py"])
        for config, reads in zip(CONFIGS, (["src/a.py"], ["src/a.py", "src/b.py"]), strict=True):
            write_trial(tmp_path / "runs/r", config, task, reads, reward=0.5)
    empty = tmp_path / "runs/r/mcp/2026-01-05__10-00-00/empty__aaaaaaa"
    empty.mkdir()
    (empty / "notes.md").write_text("x")
    traceless = write_trial(tmp_path / "runs/r", "mcp", "task-00", [], suffix="bbbbbbb")
    shutil.rmtree(traceless / "agent")
    (traceless / "config.json").write_text("{}")
    upload(tmp_path, memory)
    return tmp_path


N_TRIALS = 2 * N_TASKS + 1


def local(study, **options):
    return rev.evaluate(["r"], runs_root=study / "runs", output_dir=study / "out", **options)


def remote(run="memory://b/runs/r", output_dir="memory://b/out", **options):
    options = {"benchmarks_root": "memory://b/benchmarks", **options}
    (found,) = rev.evaluate([run], output_dir=output_dir, **options).runs
    return found


def n_fresh(run):
    return sum(done.is_fresh for done in run.trials)


def timeless(data):
    """The text of a document, but for its time."""
    return re.sub(r'"generated_at": "[^"]*"', "", data.decode())


def on_disk(folder):
    return {
        path.relative_to(folder).as_posix(): timeless(path.read_bytes())
        for path in folder.rglob("*.json")
    }


def in_storage(memory, folder="/b/out"):
    return {
        key.removeprefix(f"{folder}/"): timeless(memory.cat_file(key))
        for key in memory.find(folder)
        if key.endswith(".json")
    }


@pytest.fixture
def flat(memory, monkeypatch):
    """The storage with listings by the beginning of keys, as an object storage gives them."""

    def find(self, root, **_):
        return {
            key: {"name": key, "size": held.size, "type": "file"}
            for key, held in self.store.items()
            if key.startswith(f"/{root.strip('/')}/")
        }

    monkeypatch.setattr(type(memory), "find", find)


def put(memory, key, data=b"x"):
    """Store an object under any key, as an object storage does."""
    memory.store[key] = MemoryFile(memory, key, data)


def test_every_document_behind_a_url_is_that_of_a_local_run(study, memory):
    (here,) = local(study).runs
    there = remote()
    assert in_storage(memory) == on_disk(study / "out")
    assert [d.metrics.body_sha256 for d in there.trials] == [
        d.metrics.body_sha256 for d in here.trials
    ]
    assert str(there.folder) == "memory://b/out/r/retrieval_events"
    remote(output_dir=study / "copy")
    remote(str(study / "runs/r"), "memory://b/other", benchmarks_root=study / "benchmarks")
    assert on_disk(study / "copy") == on_disk(study / "out") == in_storage(memory, "/b/other")


def test_frames_and_comparisons_are_those_of_a_local_run(study, memory, capsys):
    one = rev.load_run("r", runs_root=study / "runs", output_dir=study / "out")
    other = rev.load_run(
        "memory://b/runs/r", output_dir="memory://b/out", benchmarks_root="memory://b/benchmarks"
    )
    for name in ("trials", "events", "pairs"):
        assert one.frame(name).equals(other.frame(name)), name
    texts = []
    for run, output, benchmarks in (
        ("memory://b/runs/r", "memory://b/out", "memory://b/benchmarks"),
        (str(study / "runs/r"), str(study / "out"), str(study / "benchmarks")),
    ):
        sides = ["compare", f"{run}:base line", f"{run}:mcp"]
        run_command([*sides, "--output-dir", output, "--benchmarks-root", benchmarks, "--json"])
        texts.append(timeless(capsys.readouterr().out.encode()))
    assert texts[0] == texts[1]
    assert "mcp" in texts[0]


def test_a_second_run_writes_nothing_and_a_change_only_what_depends_on_it(study, memory):
    assert n_fresh(remote()) == N_TRIALS
    before = {key: memory.modified(key) for key in memory.find("/b/out")}
    assert n_fresh(remote()) == 0
    assert {key: memory.modified(key) for key in memory.find("/b/out")} == before
    changed = write_trial(study / "runs/r", "mcp", "task-00", ["src/z.py"], reward=0.0)
    upload(study, memory)
    gone = "task-01__aaaaaaa"
    memory.rm(f"/b/runs/r/base line/{changed.parent.name}/{gone}", recursive=True)
    shutil.rmtree(study / "runs/r/base line" / changed.parent.name / gone)
    assert n_fresh(remote()) == 1
    local(study)
    assert in_storage(memory) == on_disk(study / "out")


def test_a_damaged_document_is_made_again_and_named(study, memory):
    remote()
    key = "/b/out/r/retrieval_events/mcp/task-01.retrieval_metrics.json"
    whole = memory.cat_file(key)
    memory.pipe_file(key, whole.replace(b"src/a.py", b"src/b.py"))
    memory.rm_file("/b/out/r/retrieval_events/mcp/task-02.retrieval_events.json")
    again = remote()
    assert n_fresh(again) == 2
    assert ["made again" in note for note in again.notes] == [True]
    assert timeless(memory.cat_file(key)) == timeless(whole)


@pytest.mark.parametrize("name", ["star*", "a [b]", "what#", "per%20cent", "a::b", "ü?"])
def test_names_that_mean_something_to_a_storage_are_names(study, memory, name):
    write_trial(study / "runs/r", f"config {name}", "task-00", ["src/a.py"], batch=name)
    upload(study, memory)
    remote(), local(study)
    assert in_storage(memory) == on_disk(study / "out")


@pytest.mark.usefixtures("flat")
@pytest.mark.parametrize("key", ["x//y.jsonl", "n" * 256, "../agent/up"])
def test_a_trial_whose_files_no_folder_can_hold_is_degraded_with_the_reason(study, memory, key):
    put(memory, f"{TRIAL}/agent/{key}")
    found = remote()
    reasons = {m.coverage.degraded_reason for m in found.metrics if m.coverage.degraded_reason}
    (reason,) = {reason for reason in reasons if not reason.startswith("no trace file")}
    assert reason.startswith("the storage lists 'mcp/2026-01-05__10-00-00/task-00__aaaaaaa/agent/")
    assert reason.endswith("which could not be copied as it was listed")
    assert found.summary.counts.degraded == 2


@pytest.mark.usefixtures("flat")
def test_other_keys_that_no_folder_can_hold_are_noted_and_leave_it_never(study, memory, tmp_path):
    put(memory, f"{TRIAL}/../../../../../evil.txt")
    put(memory, f"/b/runs/r/mcp/{'n' * 256}/result.json")
    found = remote()
    local(study)
    written, own = in_storage(memory), on_disk(study / "out")
    (summary,) = (name for name, text in own.items() if written.pop(name) != text)
    assert summary.endswith("run_retrieval_summary.json")
    assert not written
    (note,) = [note for note in found.notes if "key" in note]
    assert "2 keys that no local folder can hold left out, such as 'mcp/2026" in note
    assert not list(tmp_path.parent.rglob("evil.txt"))


@pytest.mark.parametrize("content", [None, b"{}"], ids=["gone", "shorter"])
@pytest.mark.parametrize("file", [f"{TRIAL}/agent/*", "/b/benchmarks/*/task-00/tests/*"])
def test_what_changes_before_it_is_copied_degrades_its_trials_until_next_time(
    study, memory, monkeypatch, file, content
):
    (key,) = memory.glob(file)
    listed = memory.cat_file(key)
    own = away._copied

    def disturbed(part, root):
        memory.rm_file(key) if content is None else memory.pipe_file(key, content)
        return own(part, root)

    monkeypatch.setattr(away, "_copied", disturbed)
    assert any("could not be copied" in note for note in remote().notes)
    monkeypatch.undo()
    memory.pipe_file(key, listed)
    assert n_fresh(remote()) > 0
    local(study)
    assert in_storage(memory) == on_disk(study / "out")


@pytest.mark.parametrize(
    "url",
    [
        *("s3://key:secret@bucket/run", "s3://bucket/run?versionId=secret", "s3://bucket/r#secret"),
        *("s3://", "s3:///run", "s3://bucket/..", "s3://b/./x", "s3://b/a\nb"),
        *("file://secret/run", "file://~/run", "local:///run"),
    ],
)
def test_a_url_of_another_form_is_refused_without_naming_it(url):
    with pytest.raises(BadInputError) as caught:
        rev.evaluate([url])
    assert "secret" not in str(caught.value)


def test_a_file_url_is_the_path_in_it(tmp_path, study):
    assert located(f"file://{tmp_path}/a b%20c#d?") == tmp_path / "a b%20c#d?"
    remote(f"file://{study}/runs/r", f"file://{study}/copy", benchmarks_root=study / "benchmarks")
    local(study)
    assert on_disk(study / "copy") == on_disk(study / "out")


def test_what_is_no_run_behind_a_url_is_one_sentence(study, memory):
    with pytest.raises(NothingToEvaluateError, match=r"no trial found in memory://b/none$"):
        remote("memory://b/none")
    with pytest.raises(NothingToEvaluateError, match="memory://b/runs is no run: it holds 1 run, "):
        remote("memory://b/runs")
    with pytest.raises(BadInputError, match="benchmarks root memory://b/none is not a folder"):
        remote(benchmarks_root="memory://b/none")
    with pytest.raises(BadInputError, match="name each run behind a URL by its own"):
        rev.evaluate(["r"], runs_root="memory://b/runs")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (PermissionError("Access Denied"), "Access Denied"),
        (ImportError("Install s3fs to access S3"), "Install s3fs"),
        (OSError("Could not connect:\n http://key:secret@host/b?sign=secret"), "http://host/b"),
    ],
)
def test_an_output_that_refuses_is_one_sentence_and_bad_input(
    study, memory, monkeypatch, error, shown, capsys
):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(type(memory), "pipe_file", refuse)
    code = run_command(["evaluate", "memory://b/runs/r", "--output-dir", "memory://gone/out"])
    text = capsys.readouterr().err
    assert (code, text.count("\n")) == (3, 1)
    assert re.search(f"memory://gone/out.*{re.escape(shown)}", text)
    assert "secret" not in text


def test_nothing_is_written_where_half_a_file_could_be_left():
    with pytest.raises(BadInputError, match="half a file may be left over sftp://"):
        Place("sftp://host/out").write([("a", b"")])


def test_a_worker_with_other_code_refuses_the_work():
    with pytest.raises(BadInputError, match="a worker runs another version of this package"):
        away.evaluate_part("other", ())


# Tables.


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow", reason="the extra dask is not installed")


def rows_of(data):
    from io import BytesIO

    from pyarrow import parquet

    return parquet.read_table(BytesIO(data)).to_pylist()


def test_tables_hold_the_documents_and_are_those_of_a_local_run(study, memory, arrow):
    (here,) = local(study, tables=True).runs
    remote(tables=True)
    files = sorted((study / "out/tables").rglob("*.parquet"))
    keys = sorted(memory.find("/b/out/tables"))
    assert [p.relative_to(study / "out").as_posix() for p in files] == [
        key.removeprefix("/b/out/") for key in keys
    ]
    assert [p.parent.name for p in files] == ["config_name=base%20line", "config_name=mcp"]
    rows = [row for path in files for row in rows_of(path.read_bytes())]
    for row, trial in zip(rows, here.trials, strict=True):
        assert row["body_digest"] == json.loads(row["metrics"])["body_sha256"]
        assert row["file_recall"] == trial.metrics.file_level_metrics.file_recall
        assert json.loads(row["events"])["provenance"]["trial_name"] == row["trial_name"]
    theirs = [row for key in keys for row in rows_of(memory.cat_file(key))]
    names = ("task_name", "file_recall_reason", "tools", "body_digest", "reward")
    assert [[row[n] for n in names] for row in rows] == [[r[n] for n in names] for r in theirs]


def test_a_hundred_runs_are_one_table(study, arrow):
    duckdb = pytest.importorskip("duckdb")
    from pyarrow import dataset

    local(study, tables=True)
    tables = study / "out/tables"
    for number in range(99):
        shutil.copytree(tables / "run_id=r", tables / f"run_id=r{number:02d}")
    rows = f"read_parquet('{tables}/**/*.parquet', hive_partitioning = true)"
    wanted = (100, 100 * N_TRIALS, 0.75)
    counted = f"select count(distinct run_id), count(*), avg(file_recall) from {rows}"
    assert duckdb.sql(counted).fetchall() == [wanted]
    columns = ["run_id", "config_name", "file_recall"]
    frame = dataset.dataset(tables, partitioning="hive").to_table(columns).to_pandas()
    assert (frame.run_id.nunique(), len(frame), frame.file_recall.mean()) == wanted


def test_tables_of_what_is_gone_are_removed_and_nothing_else(study, arrow):
    local(study, tables=True)
    own = study / "out/tables/run_id=r"
    (own / "config_name=mcp/mine.parquet").write_bytes(b"kept")
    (own / "config_name=mcp/0007.parquet").write_bytes(b"of a run that had more trials")
    shutil.rmtree(study / "runs/r/base line")
    local(study, tables=True)
    assert sorted(p.relative_to(own).as_posix() for p in own.rglob("*.parquet")) == [
        "config_name=mcp/0000.parquet",
        "config_name=mcp/mine.parquet",
    ]


@pytest.mark.parametrize("link", ["run_id=r", "run_id=r/config_name=mcp"])
def test_no_table_is_written_through_a_link(study, arrow, link):
    place = study / "runs/r/retrieval_events/tables" / link
    place.parent.mkdir(parents=True)
    (study / "elsewhere").mkdir()
    place.symlink_to(study / "elsewhere")
    with pytest.raises(BadInputError, match="nothing is written through a link"):
        rev.evaluate(["r"], runs_root=study / "runs", tables=True)
    assert list((study / "elsewhere").iterdir()) == []


def test_tables_without_pyarrow_name_the_extra(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInputError, match=r"written with pyarrow: pip install '.\[dask\]'"):
        local(study, tables=True)
