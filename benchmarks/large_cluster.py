"""Evaluate a generated run on a Dask cluster over object storage: what each part costs.

    python benchmarks/large_cluster.py [--tasks 6000] [--workers 2] [--storage s3|file]

The run is that of `large_run.py`. The storage is the server of moto, an S3-compatible one in
memory, or a folder that all processes see (`file`). The scheduler and each worker are processes of
their own, all on this machine, so that the seconds are those of one machine that does everything;
processor seconds are told by process. The impact document is left out: `large_run.py` times it.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from large_run import write_run

from tests.cloud import dask_cluster, object_storage

_TICKS = os.sysconf("SC_CLK_TCK")


def processor(process: int) -> float:
    """Return the processor seconds of another process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak(process: int) -> float:
    """Return the peak memory of another process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


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
        self.rows: list[tuple[str, float, float, str]] = []
        self.start()

    def start(self) -> None:
        self._wall, self._own = time.perf_counter(), time.process_time()

    def tell(self, what: str, remark: str = "") -> None:
        wall, own = time.perf_counter() - self._wall, time.process_time() - self._own
        print(f"| {what} | {wall:.1f} | {own:.1f} | {remark} |", flush=True)
        self.start()


def measure(bucket: str, address: str) -> None:
    import retrieval_eval as rev
    from retrieval_eval.io.remote import Place
    from retrieval_eval.pipeline import batches
    from retrieval_eval.pipeline.manifest import find_tasks, manifest_bytes, read_manifest
    from retrieval_eval.pipeline.tables import trials_in
    from retrieval_eval.study import impact_analysis

    sizes: list[int] = []
    merge = batches.PartialSummary.merge

    def weighed(self: Any, other: Any) -> None:
        sizes.append(len(pickle.dumps(other)))
        merge(self, other)

    batches.PartialSummary.merge = weighed  # type: ignore[method-assign]
    analysis = impact_analysis([], seed=0)
    batches.impact_analysis = lambda _trials, **_: analysis  # type: ignore[assignment]
    clock = Clock()
    print("| step | seconds | processor seconds of the client | |")
    print("|---|---:|---:|---|")
    tasks = find_tasks(Place(f"{bucket}/benchmarks"))
    clock.tell("list the tasks", f"{len(tasks):,} tasks")
    manifest = manifest_bytes(Place(f"{bucket}/runs/large"))
    n = sum(1 for _ in read_manifest(manifest))
    clock.tell("list the run", f"manifest of {len(manifest) / 1e6:.1f} MB, {n} batches")
    options: dict[str, Any] = {"output_dir": f"{bucket}/out", "executor": f"dask://{address}"}
    run = f"{bucket}/runs/large"
    workers, (scheduler,) = children("dask_worker"), children("dask_scheduler")
    storage = children("moto.server")
    before = {process: processor(process) for process in (*workers, scheduler, *storage)}
    (done,) = rev.evaluate([run], **options).runs
    spent = {process: processor(process) - was for process, was in before.items()}
    clock.tell("evaluate", f"{done.n_fresh:,} trials")
    own = sum(spent[process] for process in workers)
    print(f"| … workers | | {own:.1f} | {1e3 * own / done.n_fresh:.2f} ms a trial |")
    print(f"| … scheduler | | {spent[scheduler]:.1f} | |")
    print(f"| … storage | | {sum(spent[process] for process in storage):.1f} | |")
    trials = list(trials_in(done.shards))
    clock.tell("read the columns of all tables", f"{len(trials):,} trials")
    rev.evaluate([run], **options)
    clock.tell("evaluate again", "nothing has changed")
    print(f"\nreceipts: {len(sizes)}, {sum(sizes) / len(trials):.0f} bytes a trial")
    print(f"tables: {sum(f.size for f in Place(f'{bucket}/out/tables').files()) / 1e6:.1f} MB")
    client = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak memory in MB: client {client:.0f}, scheduler {peak(scheduler):.0f}, ", end="")
    print(f"workers {' and '.join(f'{peak(w):.0f}' for w in workers)}")


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
        measure(bucket, address)


if __name__ == "__main__":
    main()
