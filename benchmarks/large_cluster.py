"""Evaluate a generated run on a Dask cluster over object storage: what each part costs.

    python benchmarks/large_cluster.py [--tasks 6000] [--workers 2] [--storage s3|file]

The run is that of `large_run.py`. The storage is the server of moto, an S3-compatible one in
memory, or a folder that all processes see (`file`). The scheduler and each worker are processes of
their own, all on this machine, so that the seconds are those of one machine that does everything;
processor seconds are given by process, with the requests that reach the storage.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from large_run import peak, write_run

from tests.cloud import dask_cluster, object_storage

_TICKS = os.sysconf("SC_CLK_TCK")


def processor(process: int) -> float:
    """Return the processor seconds of another process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def children(name: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            is_own = f"PPid:\t{os.getpid()}\n" in (folder / "status").read_text()
            command = (folder / "cmdline").read_bytes().decode().replace("\0", " ")
        except OSError:
            continue
        if is_own and name in command:
            found.append(int(folder.name))
    return found


def upload(root: Path) -> None:
    import s3fs

    system = s3fs.S3FileSystem()
    system.mkdir("bucket")
    for name in ("runs", "benchmarks"):
        system.put(str(root / name), f"bucket/{name}", recursive=True)


class Clock:
    """Seconds and processor seconds of this process between two calls."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._wall, self._own = time.perf_counter(), time.process_time()

    def tell(self, what: str, remark: str = "") -> None:
        wall, own = time.perf_counter() - self._wall, time.process_time() - self._own
        print(f"| {what} | {wall:.1f} | {own:.1f} | {remark} |", flush=True)
        self.start()


class Weights:
    """Bytes of what workers return to the client, by the function that made it."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}

    def watch(self, batches: Any) -> None:
        own = batches.run_on

        def weighed(engine: Any, function: Any, items: Any, **options: Any) -> Any:
            for result in own(engine, function, items, **options):
                self.rows.setdefault(function.__name__, []).append(len(pickle.dumps(result)))
                yield result

        batches.run_on = weighed


class Meter:
    """Processor seconds of other processes since the last call, and requests to the storage."""

    def __init__(self, log: Path) -> None:
        self.processes = {
            "workers": children("dask_worker"),
            "scheduler": children("dask_scheduler"),
            "storage": children("moto.server"),
        }
        self._log = log
        self._before = self._now()

    def _now(self) -> dict[str, float]:
        now = {what: sum(map(processor, own)) for what, own in self.processes.items()}
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        for method in ("GET", "HEAD", "PUT"):
            now[method] = sum(f"{method} /" in line for line in lines)
        return now

    def since(self) -> dict[str, float]:
        """Return what was added since the last call."""
        now = self._now()
        added = {what: value - self._before[what] for what, value in now.items()}
        self._before = now
        return added


def told(added: dict[str, float]) -> str:
    seconds = ", ".join(
        f"{what} {added[what]:.1f} s" for what in ("workers", "scheduler", "storage")
    )
    requests = ", ".join(f"{added[method]:,.0f} {method}" for method in ("GET", "HEAD", "PUT"))
    return f"{seconds}; {requests}"


def measure(bucket: str, address: str, log: Path) -> None:
    import retrieval_eval as rev
    from retrieval_eval.io.remote import Place
    from retrieval_eval.pipeline import batches
    from retrieval_eval.pipeline.manifest import find_tasks, manifest_of
    from retrieval_eval.pipeline.tables import trials_in

    weights = Weights()
    weights.watch(batches)
    meter = Meter(log)
    clock = Clock()
    print("| step | seconds | processor seconds of the client | others |")
    print("|---|---:|---:|---|")
    tasks = find_tasks(Place(f"{bucket}/benchmarks"))
    clock.tell("list the tasks", f"{len(tasks):,} tasks; {told(meter.since())}")
    with manifest_of(Place(f"{bucket}/runs/large")) as manifest:
        groups = [units for _, _, units in manifest]
    size = sum(unit.size for units in groups for unit in units)
    size += sum(found.size for task in tasks for found in task.files)
    clock.tell("list the run", f"{len(groups)} batches, {size / 1e6:.1f} MB; {told(meter.since())}")
    del tasks, groups
    options: dict[str, Any] = {"output_dir": f"{bucket}/out", "executor": f"dask://{address}"}
    run = f"{bucket}/runs/large"
    began = {what: processor(p) for what in meter.processes for p in meter.processes[what][:1]}

    def progress(done: int, n: int, _: str) -> None:
        if done < n:
            return
        added = meter.since()
        clock.tell("evaluate: trials", told(added))
        per_second = n / added["workers"]
        print(f"| … workers | | | {1e3 / per_second:.2f} ms a trial, {per_second:.0f} a second |")

    (done,) = rev.evaluate([run], progress=progress, **options).runs
    clock.tell("evaluate: summary and impact", told(meter.since()))
    trials = list(trials_in(done.shards))
    clock.tell("read the columns of all tables", f"{len(trials):,} trials; {told(meter.since())}")
    del trials
    client = peak()
    rev.evaluate([run], **options)
    clock.tell("evaluate again", f"nothing has changed; {told(meter.since())}")
    for name, sizes in weights.rows.items():
        print(f"{name}: {len(sizes)} results of up to {max(sizes) / 1e3:.1f} kB")
    tables = sum(f.size for f in Place(f"{bucket}/out/tables").files())
    print(f"tables: {tables / 1e6:.1f} MB; processes began with {began} processor seconds")
    print(f"peak memory in MB: client {client:.0f}, ", end="")
    for what, own in meter.processes.items():
        print(f"{what} {' and '.join(f'{peak(p):.0f}' for p in own)}", end="; ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--repositories", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--storage", choices=("s3", "file"), default="s3")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_run(folder, given.tasks, given.repositories)
        bucket, environment = folder.as_uri(), {}
        if given.storage == "s3":
            environment = stack.enter_context(object_storage(folder))
            os.environ.update(environment)
            bucket = "s3://bucket"
            upload(folder)
        cluster = dask_cluster(folder, given.workers, environment)
        address, _ = stack.enter_context(cluster)
        measure(bucket, address, folder / "storage.log")


if __name__ == "__main__":
    main()
