"""Runs behind URLs: the same numbers as a local run, no work twice, and hostile listings."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest

import retrieval_eval as rev
from retrieval_eval.cli.main import run as run_command
from retrieval_eval.errors import (
    BadInputError,
    NothingToEvaluateError,
    RetrievalEvalError,
    SchemaError,
)
from retrieval_eval.io.locks import alone
from retrieval_eval.io.parquet import read_table, table_bytes
from retrieval_eval.io.remote import Found, Place
from retrieval_eval.model import to_builtins
from retrieval_eval.pipeline import batches, manifest
from retrieval_eval.pipeline.naming import SUMMARY_FILE
from retrieval_eval.pipeline.tables import (
    SCHEMA,
    Shard,
    kept_in,
    shards_in,
    trials_in,
    write_documents,
)
from retrieval_eval.report.columns import FRAMES
from tests.runs import write_task, write_trial

fsspec = pytest.importorskip("fsspec", reason="the extra cloud is not installed")
pytest.importorskip("pyarrow", reason="the extra cloud is not installed")
MemoryFile = pytest.importorskip("fsspec.implementations.memory").MemoryFile

CONFIGS = ("base line", "mcp")
N_TASKS = 4


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
    (tmp_path / "runs/r/mcp/2026-01-05__10-00-00/empty__aaaaaaa").mkdir()
    (tmp_path / "runs/r/mcp/2026-01-05__10-00-00/empty__aaaaaaa/notes.md").write_text("x")
    upload(tmp_path, memory)
    return tmp_path


def local(study):
    return rev.evaluate(["r"], runs_root=study / "runs", output_dir=study / "out")


def remote(**options):
    return rev.evaluate(["memory://b/runs/r"], output_dir="memory://b/out", **options)


def body(document):
    plain = to_builtins(document)
    for name in ("generated_at", "input_fingerprint", "body_sha256", "trials"):
        plain.pop(name, None)
    return plain


def tables(memory):
    return sorted(path for path in memory.find("/b/out/tables") if path.endswith(".parquet"))


def test_a_run_behind_a_url_has_the_documents_and_frames_of_a_local_one(study, memory):
    (here,), (there,) = local(study).runs, remote().runs
    assert body(there.summary) == body(here.summary)
    assert body(there.impact) == body(here.impact)
    assert [e.reason for e in there.summary.excluded] == ["nothing_recorded"]
    options = {"runs_root": study / "runs", "output_dir": study / "out"}
    one, other = rev.load_run("r", **options), rev.load_run("memory://b/out/r/retrieval_events")
    for name in FRAMES:
        a, b = one.frame(name), other.frame(name)
        assert a.reset_index(drop=True).equals(b.reset_index(drop=True)), name


def test_a_second_run_does_nothing_and_a_change_only_what_depends_on_it(study, memory):
    assert remote().runs[0].n_fresh == 2 * N_TASKS
    before = {path: memory.modified(path) for path in tables(memory)}
    assert remote().runs[0].n_fresh == 0
    write_trial(study / "runs/r", "mcp", "task-00", ["src/z.py"], reward=0.0)
    upload(study, memory)
    changed = remote().runs[0]
    after = tables(memory)
    assert len(after) == 2, "the table of the former trial is gone"
    assert sum(path in before for path in after) <= 1
    assert changed.summary.configs["mcp"].metrics["file_recall"].mean == 0.75


def test_a_local_run_may_be_written_to_a_storage(study, memory):
    options = {"runs_root": study / "runs", "benchmarks_root": study / "benchmarks"}
    (run,) = rev.evaluate(["r"], output_dir="memory://b/out", **options).runs
    assert body(run.summary) == body(local(study).runs[0].summary)


def test_a_local_output_of_a_run_behind_a_url_has_the_files_of_a_local_run(study, memory):
    here = local(study).runs[0]
    (there,) = rev.evaluate(["memory://b/runs/r"], output_dir=study / "copy").runs
    files = {p.relative_to(study / "out") for p in (study / "out").rglob("*.json")}
    assert {p.relative_to(study / "copy") for p in (study / "copy").rglob("*.json")} == files
    assert to_builtins(there.summary)["trials"] == to_builtins(here.summary)["trials"]


def test_nothing_is_written_or_removed_through_a_link_or_among_tables(study, memory):
    own = study / "runs/r/retrieval_events"
    (own / "tables").mkdir(parents=True)
    of_user = study / "elsewhere/sub/precious.parquet"
    of_user.parent.mkdir(parents=True)
    of_user.write_bytes(b"kept")
    (own / "tables/run_id=r").symlink_to(study / "elsewhere")
    with pytest.raises(BadInputError, match="nothing is written through a link"):
        rev.evaluate([f"file://{study}/runs/r"], benchmarks_root="memory://b/benchmarks")
    with pytest.raises(BadInputError, match="nothing is written through a link"):
        rev.evaluate(["r"], runs_root=study / "runs", tables=True)
    (own / "tables/run_id=r").unlink()
    (own / "tables/run_id=r").mkdir()
    of_user.parent.rename(own / "tables/run_id=r/config_name=a")
    rev.evaluate(["r"], runs_root=study / "runs", tables=True)
    assert (own / "tables/run_id=r/config_name=a/precious.parquet").read_bytes() == b"kept"


def test_a_local_run_gets_tables_of_the_same_rows_when_requested(study, memory):
    options = {"runs_root": study / "runs", "output_dir": study / "out", "tables": True}
    for _ in range(2):
        rev.evaluate(["r"], **options)
        found = shards_in(Place(study / "out/tables"), "r")
        assert [shard.config for shard in found] == list(CONFIGS)
    there = remote().runs[0]
    names = ["task_name", "file_recall", "body_digest", "tools"]
    for one, other in zip(found, there.shards, strict=True):
        assert read_table(one.place, SCHEMA, names) == read_table(other.place, SCHEMA, names)


def test_a_hundred_runs_are_one_table(study, memory, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    from pyarrow import dataset

    options = {"runs_root": study / "runs", "output_dir": study / "out", "tables": True}
    rev.evaluate(["r"], **options)
    tables = study / "out/tables"
    for number in range(99):
        shutil.copytree(tables / "run_id=r", tables / f"run_id=r{number:02d}")
    rows = f"read_parquet('{tables}/**/*.parquet', hive_partitioning = true)"
    wanted = (100, 200 * N_TASKS, 0.75)
    counted = f"select count(distinct run_id), count(*), avg(file_recall) from {rows}"
    assert duckdb.sql(counted).fetchall() == [wanted]
    columns = ["run_id", "config_name", "file_recall", "file_recall_reason"]
    frame = dataset.dataset(tables, partitioning="hive").to_table(columns).to_pandas()
    assert (frame.run_id.nunique(), len(frame), frame.file_recall.mean()) == wanted
    assert set(frame.config_name) == set(CONFIGS)


def test_tasks_of_another_evaluation_are_not_taken_for_those_of_this_one(study, memory):
    remote()
    (place,) = (path for path in memory.find("/b/out") if path.endswith("/tasks.parquet"))
    with pytest.raises(BadInputError, match="was written by another evaluation"):
        batches._tasks(f"memory://{place.lstrip('/')}", "another digest")


class KilledWorker(Exception):  # noqa: N818
    """As Dask calls it."""


def test_a_trial_that_kills_every_worker_is_given_up_alone_and_tried_again_next_time(
    study, memory, monkeypatch
):
    own = batches.evaluate_batch

    def dying(batch):
        if not batch.gives_up and any("task-02" in unit.folder for unit in batch.units):
            raise KilledWorker
        return own(batch)

    monkeypatch.setattr(batches, "evaluate_batch", dying)
    (run,) = remote().runs
    assert (run.summary.counts.evaluated, run.summary.counts.degraded) == (2 * N_TASKS - 2, 2)
    reasons = {m.coverage.degraded_reason for m in run.metrics if m.coverage.degraded_reason}
    assert reasons == {"the process that measured it was killed, each time"}
    monkeypatch.setattr(batches, "evaluate_batch", own)
    (after,) = remote().runs
    assert (after.n_fresh, len(after.shards)) == (2 * N_TASKS, 2)
    assert body(after.summary) == body(local(study).runs[0].summary)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"half"])
def test_a_damaged_table_is_named(study, memory, damage):
    (first, *_) = remote().runs[0].shards
    content = first.place.read()
    first.place.write(content[: len(content) // 2] if damage == b"half" else damage)
    with pytest.raises(BadInputError, match=r"\.parquet: is no whole Parquet file"):
        rev.load_run("memory://b/out/r/retrieval_events").frame("trials")


def test_a_table_with_other_documents_is_refused(study, memory):
    (first, *_) = remote().runs[0].shards
    for text in (None, "{}", "[1", '{"schema_version": "9.0"}'):
        first.place.write(table_bytes(SCHEMA, [{"metrics": text, "events": text}]))
        with pytest.raises(RetrievalEvalError, match="row 1"):
            rev.load_run("memory://b/out/r/retrieval_events").frame("trials")


def test_batches_are_cut_by_trials_and_one_configuration_each(study, memory, monkeypatch):
    monkeypatch.setattr(manifest, "BATCH_TRIALS", 3)
    (run,) = remote(executor="threads:2").runs
    assert [shard.config for shard in run.shards] == ["base line"] * 2 + ["mcp"] * 2
    assert body(run.summary) == body(local(study).runs[0].summary)


class Weighing(ThreadPoolExecutor):
    """Notes how many bytes the results of each function have, and gives copies of them."""

    def submit(self, function, /, *args):
        def weighed(*args):
            result = pickle.dumps(function(*args))
            self.weights.setdefault(function.__name__, []).append(len(result))
            return pickle.loads(result)

        return super().submit(weighed, *args)


def test_what_the_client_receives_does_not_grow_with_the_trials(study, memory, monkeypatch):
    for number in range(N_TASKS, 40):
        write_trial(study / "runs/r", "mcp", f"task-{number:02d}", ["src/a.py"], reward=0.5)
    upload(study, memory)
    monkeypatch.setattr(batches, "_MOST_CELLS", 3 * 40)
    (here,) = local(study).runs
    heaviest = []
    for n_in_batch in (2, 40):
        monkeypatch.setattr(manifest, "BATCH_TRIALS", n_in_batch)
        with Weighing(1) as executor:
            executor.weights = {}
            (run,) = remote(executor=executor).runs
        assert body(run.summary) == body(here.summary)
        assert body(run.impact) == body(here.impact)
        heaviest.append({name: max(sizes) for name, sizes in executor.weights.items()})
        assert len(executor.weights["reduced"]) == 1 + 7, "three of 19 columns at a time"
    small, large = heaviest
    assert large["evaluate_batch"] < small["evaluate_batch"] + 300
    assert large["reduced"] == small["reduced"] < 2000


def test_documents_of_an_executor_are_those_of_one_process(study):
    options = {"runs_root": study / "runs", "output_dir": study / "other"}
    with ThreadPoolExecutor(2) as executor:
        (run,) = rev.evaluate(["r"], executor=executor, **options).runs
    assert [d.metrics.body_sha256 for d in run.trials] == [
        d.metrics.body_sha256 for d in local(study).runs[0].trials
    ]


@pytest.mark.usefixtures("flat")
def test_keys_that_no_folder_can_hold_are_left_out_with_a_note(study, memory):
    trial = "/b/runs/r/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"
    for key in (f"{trial}/../../../evil.txt", f"/b/runs/r/mcp/{'n' * 256}/result.json"):
        memory.store[key] = memory.store[f"{trial}/result.json"]
    (run,), (again,) = remote().runs, remote().runs
    assert body(run.summary) == body(local(study).runs[0].summary)
    assert run.notes == again.notes
    (note,) = run.notes
    assert "1 key that no local folder can hold left out, such as 'mcp/nnn" in note


@pytest.mark.parametrize("name", ["star*", "a [b]", "what#", "per%20cent", "a::b", "ü?"])
def test_names_that_mean_something_to_a_storage_are_names(study, memory, name):
    write_trial(study / "runs/r", "mcp", "task-00", ["src/a.py"], suffix="bbbbbbb", batch=name)
    write_trial(study / "runs/r", f"config {name}", "task-00", ["src/a.py"])
    upload(study, memory)
    assert body(remote().runs[0].summary) == body(local(study).runs[0].summary)


@pytest.mark.parametrize(
    "url", ["s3://key:secret@bucket/run", "s3://bucket/run?versionId=3", "s3://bucket/run#x"]
)
def test_a_url_with_credentials_or_a_query_is_refused_without_naming_it(url):
    with pytest.raises(BadInputError) as caught:
        rev.evaluate([url])
    assert "secret" not in str(caught.value)


def test_a_url_without_a_trial_says_so(memory):
    with pytest.raises(NothingToEvaluateError, match="no trial found in memory://b/none"):
        rev.evaluate(["memory://b/none"])


def test_a_damaged_summary_is_made_again(study, memory):
    remote()
    memory.pipe_file(f"/b/out/r/retrieval_events/{SUMMARY_FILE}", b'{"half":')
    assert body(remote().runs[0].summary) == body(local(study).runs[0].summary)


@pytest.fixture
def on_disk(study):
    """Evaluate the run on disk by its URL, into a local folder."""

    def evaluated(**options):
        (run,) = rev.evaluate(
            [f"file://{study}/runs/r"],
            output_dir=study / "copy",
            benchmarks_root=study / "benchmarks",
            **options,
        ).runs
        return run

    return evaluated


def test_an_evaluation_over_urls_waits_for_one_that_writes_the_same_local_documents(
    study, on_disk, monkeypatch
):
    monkeypatch.setattr(sys.modules["retrieval_eval.pipeline.evaluate"], "_PATIENCE", 0.0)
    summary = study / f"copy/r/retrieval_events/{SUMMARY_FILE}"
    with alone(summary, "evaluates this run"), pytest.raises(BadInputError, match="another proc"):
        on_disk()
    assert on_disk().n_fresh == 2 * N_TASKS


def test_documents_that_were_deleted_or_damaged_since_are_made_again(study, on_disk):
    on_disk()
    documents = sorted((study / "copy").rglob("task-*.json"))
    events, metrics = documents[:2]
    before = {path: path.read_bytes() for path in documents}
    events.unlink()
    metrics.write_bytes(before[metrics].replace(b"src/a.py", b"src/b.py"))
    laid_out = documents[-1]
    laid_out.write_text(json.dumps(json.loads(before[laid_out]), indent=1), encoding="utf-8")
    again = on_disk()
    assert again.n_fresh == 0
    assert [note.endswith("edited after it was written; made again") for note in again.notes] == [
        True
    ]
    assert before[events] == events.read_bytes()
    assert before[metrics] == metrics.read_bytes()
    assert laid_out.read_bytes() != before[laid_out], "whole, though laid out anew"


def test_a_configuration_with_a_long_name_has_that_name_everywhere(study, memory):
    name = f"{'configuration ' * 17}é"
    for number in range(N_TASKS):
        write_trial(study / "runs/r", name, f"task-{number:02d}", ["src/a.py"])
    upload(study, memory)
    here, there = local(study).runs[0], remote().runs[0]
    assert body(there.impact) == body(here.impact)
    assert body(there.summary) == body(here.summary)
    assert name in {trial.config_name for trial in trials_in(there.shards)}


def test_trials_of_tables_share_what_they_have_in_common(study, memory):
    upload(study, memory)
    first, *others = trials_in(remote().runs[0].shards)
    for name in ("run_id", "benchmark", "model", "harness", "repositories", "quality_flags"):
        own = getattr(first, name)
        assert all(getattr(t, name) is own for t in others if getattr(t, name) == own), name
    numbers = dict(first.numbers)
    assert first == pickle.loads(pickle.dumps(first)) == replace(first, numbers=numbers)
    assert replace(first, numbers=numbers | {"reward": 0.123}) != first
    assert list(first.numbers.items()) == list(numbers.items())
    assert first.numbers.get("no column") is None
    assert "no column" not in first.numbers


def test_a_changed_file_of_the_same_size_and_time_is_noticed_on_disk(study, on_disk):
    before = on_disk()
    (trace,) = (study / "runs/r/mcp").rglob("task-00*/agent/*")
    times = trace.stat()
    trace.write_bytes(trace.read_bytes().replace(b"src/a.py", b"src/z.py"))
    os.utime(trace, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = on_disk()
    assert after.n_fresh == N_TASKS
    recall = [run.summary.configs["mcp"].metrics["file_recall"].mean for run in (before, after)]
    assert recall[0] > recall[1]


@contextmanager
def each_batch(monkeypatch, name, function):
    """Call something else by this name of the module while the block runs."""
    with monkeypatch.context() as patched:
        patched.setattr(batches, name, partial(function, getattr(batches, name)))
        yield


def tried_again(evaluate, study):
    """Check that what is made when files are as listed again is that of a local run."""
    after = evaluate()
    assert after.n_fresh, "a table of other files had the name of those that were listed"
    assert not any("evaluate again" in note for note in after.notes)
    assert body(after.summary) == body(local(study).runs[0].summary)
    assert evaluate().n_fresh == 0


@pytest.mark.parametrize("file", ["runs/r/mcp/*/task-00*/agent/*", "benchmarks/*/task-00/tests/*"])
def test_a_file_that_changes_while_it_is_measured_in_place_gets_no_lasting_table(
    study, on_disk, monkeypatch, file
):
    (path,) = study.glob(file)
    listed = path.read_bytes()

    def disturbed(own, batch):
        path.write_bytes(listed.replace(b"src/a.py", b"src/z.py"))
        return own(batch)

    with each_batch(monkeypatch, "evaluate_batch", disturbed):
        first = on_disk()
    assert any("evaluate again" in note for note in first.notes)
    path.write_bytes(listed)
    tried_again(on_disk, study)


@pytest.mark.parametrize(
    "file", ["/b/runs/r/mcp/*/task-00*/result.json", "/b/benchmarks/*/task-00/tests/*"]
)
@pytest.mark.parametrize("content", [None, b"{}"], ids=["gone", "shorter"])
def test_a_file_that_changes_before_it_is_copied_gets_no_lasting_table(
    study, memory, monkeypatch, file, content
):
    def found(self, path, entry):
        digest = sha256(memory.cat_file(entry["name"])).hexdigest()
        return Found(path, entry["size"], digest)

    def disturbed(own, batch):
        if content is not None:
            memory.pipe_file(path, content)
        elif memory.exists(path):
            memory.rm_file(path)
        return own(batch)

    def evaluated():
        return remote(benchmarks_root="memory://b/benchmarks").runs[0]

    monkeypatch.setattr(Place, "_found", found)
    (path,) = memory.glob(file)
    listed = memory.cat_file(path)
    with each_batch(monkeypatch, "evaluate_batch", disturbed):
        first = evaluated()
    assert any("evaluate again" in note for note in first.notes)
    memory.pipe_file(path, listed)
    tried_again(evaluated, study)


def test_a_trial_that_could_not_be_measured_gets_no_lasting_table(study, memory, monkeypatch):
    def failing(own, job, tasks):
        with monkeypatch.context() as patched:
            patched.delattr(sys.modules[own.__module__], "documents")
            return own(job, tasks)

    with each_batch(monkeypatch, "evaluate_trial", failing):
        assert remote().runs[0].summary.counts.degraded == 2 * N_TASKS
    tried_again(lambda: remote().runs[0], study)


def test_a_storage_without_versions_is_refused(study, memory, monkeypatch):
    whole = type(memory).find

    def bare(self, *arguments, **options):
        return {k: v | {"created": None} for k, v in whole(self, *arguments, **options).items()}

    monkeypatch.setattr(type(memory), "find", bare)
    with pytest.raises(BadInputError, match="a change would not be noticed"):
        remote()


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (FileNotFoundError("The specified bucket does not exist"), "bucket does not exist"),
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


def test_nothing_is_written_where_half_a_file_could_be_left(study, memory):
    with pytest.raises(BadInputError, match="half a file may be left over sftp://"):
        rev.evaluate(["memory://b/runs/r"], output_dir="sftp://host/out")


def put(memory, key, data):
    """Store an object under any key, as an object storage does."""
    memory.store[key] = MemoryFile(memory, key, data)


@pytest.fixture
def flat(memory, monkeypatch):
    """The storage with listings by the beginning of keys, as an object storage gives them."""

    def find(self, root, **_):
        return {
            key: {"name": key, "size": held.size, "type": "file", "ETag": str(held.modified)}
            for key, held in self.store.items()
            if key.startswith(f"/{root.strip('/')}/")
        }

    monkeypatch.setattr(type(memory), "find", find)


@pytest.mark.usefixtures("flat")
def test_an_object_with_the_name_of_a_folder_hides_nothing_in_it(study, memory):
    trial = "/b/runs/r/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"
    tests = "/b/benchmarks/suite_a/task-00/tests"
    for name in (f"{trial}/agent", f"{trial}/agent/", trial, tests):
        put(memory, name, b"x")
    put(memory, f"{trial}/agent/logs", b"")
    put(memory, f"{trial}/agent/logs/a.txt", b"")
    assert body(remote().runs[0].summary) == body(local(study).runs[0].summary)


@pytest.mark.usefixtures("flat")
@pytest.mark.parametrize(
    "keys", [["x//y.jsonl"], ["n" * 256], ["../agent/up"], ["a.json", "a.json/b"]]
)
def test_a_trial_whose_trace_no_folder_can_hold_is_degraded_with_the_reason(study, memory, keys):
    trial = "/b/runs/r/mcp/2026-01-05__10-00-00/task-00__aaaaaaa"
    for key in keys:
        put(memory, f"{trial}/agent/{key}", b"x")
    (run,) = remote().runs
    (reason,) = {m.coverage.degraded_reason for m in run.metrics if m.coverage.degraded_reason}
    assert reason.startswith(f"the storage holds 'agent/{keys[0]}', which no local folder can hold")
    assert (run.summary.counts.evaluated, run.summary.counts.degraded) == (2 * N_TASKS - 1, 1)


def test_links_and_odd_names_in_a_folder_mean_what_they_mean_to_a_local_run(study, on_disk):
    run, outside = study / "runs/r", study / "outside"
    outside.mkdir()
    (run / "linked").symlink_to(run / "mcp")
    first, second, third, _ = sorted(run.glob("mcp/*/task-*"))
    (first / "agent").rename(first / "kept")
    (first / "agent").symlink_to(first / "kept")
    for path in (second / "agent/claude-code.txt", study / "benchmarks/suite_a/task-03/tests"):
        path.rename(outside / path.name)
        path.symlink_to(outside / path.name)
    name = os.fsdecode(b"claude-code\xff.txt")
    (third / "agent/claude-code.txt").rename(third / "agent" / name)
    assert body(on_disk().summary) == body(local(study).runs[0].summary)


@pytest.mark.parametrize("url", ["file://host/run", "local://run", "file://", "file://~/run"])
def test_a_file_url_of_another_machine_or_a_relative_one_is_refused(url):
    with pytest.raises(BadInputError, match="three slashes and no host"):
        Place(url)


def test_a_folder_of_runs_is_no_run_behind_a_url_either(study, memory):
    for root in ("memory://b/runs", f"file://{study}/runs"):
        with pytest.raises(NothingToEvaluateError, match="it holds 1 run, such as r; name a run"):
            rev.evaluate([root], output_dir="memory://b/other")


@pytest.mark.parametrize("start", ["file://", "local://", "FILE://localhost"])
def test_a_file_url_is_the_path_in_it(tmp_path, start):
    assert Place(f"{start}{tmp_path}/a b%20c/../d#e?") == Place(tmp_path / "d#e?")


@pytest.mark.parametrize(
    "url", ["s3://", "s3:///run", "s3://bucket/..", "s3://b/../x", "s3://b/./x", "s3://b/a\nb"]
)
def test_a_url_that_names_no_folder_is_refused(url):
    with pytest.raises(BadInputError, match="of the form scheme://bucket/folder"):
        Place(url)


def test_a_place_is_the_same_behind_a_url_and_on_disk(tmp_path, memory):
    for place in (Place(tmp_path / "x"), Place("memory://x")):
        (place / "a/b").write(b"1")
        (place / "c").write(b"22")
        assert [(f.path, f.size) for f in place.files()] == [("a/b", 1), ("c", 2)]
        (place / "c").remove()
        (place / "c").remove()
        assert [(place / "a/b").exists(), (place / "c").exists()] == [True, False]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.drop_columns(["tools"]), "no column tools of kind uses"),
        (lambda t: t.set_column(t.column_names.index("tools"), "tools", t["events"]), "tools"),
        (lambda t: t.append_column("task_name", t["task_name"]), "is no whole Parquet file"),
        (lambda t: t.replace_schema_metadata({"retrieval_eval.kept": b"\xff{"}), "shard.parquet"),
    ],
)
def test_a_table_of_other_columns_is_refused_by_its_name(study, tmp_path, change, why):
    parquet = pytest.importorskip("pyarrow.parquet")
    rev.evaluate(["r"], runs_root=study / "runs", output_dir=study / "out", tables=True)
    shard, *_ = shards_in(Place(study / "out/tables"), "r")
    parquet.write_table(change(parquet.read_table(shard.place.local)), tmp_path / "shard.parquet")
    damaged = Shard("r", shard.config, Place(tmp_path / "shard.parquet"))
    with pytest.raises((BadInputError, SchemaError), match=why):
        list(trials_in([damaged] if kept_in(damaged.place) else []))


def test_a_table_with_a_trial_of_no_task_is_refused_by_its_name(study, tmp_path):
    shard = Shard("r", "mcp", Place(tmp_path / "shard.parquet"))
    shard.place.write(table_bytes(SCHEMA, [{"task_name": None, "trial_name": "t"}]))
    with pytest.raises(BadInputError, match=r"shard\.parquet: has a trial without a task"):
        write_documents(tmp_path / "out", [shard])
