"""Evaluate a generated run on a Dask cluster over object storage: what each part costs.

    python benchmarks/large_cluster.py [--tasks 6000] [--workers 2]

The run is that of `large_run.py`. The storage is the server of moto, an S3-compatible one in
memory, and the scheduler and each worker are processes of their own, all on this machine. So the
seconds are those of one machine that does everything; processor seconds are told by process.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from large_run import write_run

from tests.cloud import dask_cluster, object_storage

BUCKET = "s3://bucket"
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


def measure(address: str) -> None:
    import retrieval_eval as rev
    from retrieval_eval.io.remote import Place
    from retrieval_eval.pipeline import batches
    from retrieval_eval.pipeline.manifest import find_tasks, manifest_bytes, read_manifest
    from retrieval_eval.pipeline.tables import trials_in

    sizes: list[int] = []
    merge = batches.PartialSummary.merge

    def weighed(self: Any, other: Any) -> None:
        sizes.append(len(pickle.dumps(other)))
        merge(self, other)

    batches.PartialSummary.merge = weighed  # type: ignore[method-assign]
    clock = Clock()
    print("| step | seconds | processor seconds of the client | |")
    print("|---|---:|---:|---|")
    tasks = find_tasks(Place(f"{BUCKET}/benchmarks"))
    clock.tell("list the tasks", f"{len(tasks):,} tasks")
    manifest = manifest_bytes(Place(f"{BUCKET}/runs/large"))
    n = sum(1 for _ in read_manifest(manifest))
    clock.tell("list the run", f"manifest of {len(manifest) / 1e6:.1f} MB, {n} batches")
    options: dict[str, Any] = {"output_dir": f"{BUCKET}/out", "executor": f"dask://{address}"}
    run = f"{BUCKET}/runs/large"
    workers, (scheduler,) = children("dask_worker"), children("dask_scheduler")
    (storage,) = children("moto.server")
    before = {process: processor(process) for process in (*workers, scheduler, storage)}
    (done,) = rev.evaluate([run], **options).runs
    spent = {process: processor(process) - was for process, was in before.items()}
    clock.tell("evaluate", f"{done.n_fresh:,} trials")
    own = sum(spent[process] for process in workers)
    print(f"| … workers | | {own:.1f} | {1e3 * own / done.n_fresh:.2f} ms a trial |")
    print(f"| … scheduler | | {spent[scheduler]:.1f} | |")
    print(f"| … storage | | {spent[storage]:.1f} | |")
    trials = list(trials_in(done.shards))
    clock.tell("read the columns of all tables", f"{len(trials):,} trials")
    rev.evaluate([run], **options)
    clock.tell("evaluate again", "nothing has changed")
    print(f"\nreceipts: {len(sizes)}, {sum(sizes) / len(trials):.0f} bytes a trial")
    print(f"tables: {sum(f.size for f in Place(f'{BUCKET}/out/tables').files()) / 1e6:.1f} MB")
    client = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak memory in MB: client {client:.0f}, scheduler {peak(scheduler):.0f}, ", end="")
    print(f"workers {' and '.join(f'{peak(w):.0f}' for w in workers)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--repositories", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, object_storage(Path(folder)) as environment:
        os.environ.update(environment)
        write_run(Path(folder), given.tasks, given.repositories)
        upload(Path(folder))
        with dask_cluster(Path(folder), given.workers, environment) as (address, _):
            measure(address)


if __name__ == "__main__":
    main()
