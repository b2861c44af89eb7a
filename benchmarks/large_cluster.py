"""Evaluate a generated run on a Dask cluster over object storage: what it costs.

    python benchmarks/large_cluster.py [--tasks 1000] [--workers 2]

The run is that of `large_run.py`. The storage is the server of moto, an S3-compatible one in
memory. It, the scheduler and each worker are processes of their own, all on this machine, so that
the seconds are those of one machine that does everything; processor seconds are given by process,
with the requests that reach the storage.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from large_run import peak, write_run

from tests.cloud import dask_cluster, object_storage

_TICKS = os.sysconf("SC_CLK_TCK")


def processor(process: int) -> float:
    """Return the processor seconds of another process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def requests(log: Path) -> int:
    return sum(" HTTP/1.1" in line for line in log.read_text().splitlines())


def upload(root: Path) -> None:
    import s3fs

    system = s3fs.S3FileSystem()
    system.mkdir("bucket")
    for name in ("runs", "benchmarks"):
        system.put(str(root / name), f"bucket/{name}", recursive=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--repositories", type=int, default=250)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    import retrieval_eval as rev

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder, given.tasks, given.repositories)
        with object_storage(folder) as environment:
            os.environ.update(environment)
            upload(folder)
            with dask_cluster(folder, given.workers, environment) as (address, workers):
                print("| evaluation | seconds | client | workers | requests |")
                print("|---|---:|---:|---:|---:|")
                for what in ("of a new run", "again"):
                    wall, own = time.perf_counter(), time.process_time()
                    others = sum(processor(worker.pid) for worker in workers)
                    before = requests(folder / "storage.log")
                    rev.evaluate(
                        ["s3://bucket/runs/large"],
                        benchmarks_root="s3://bucket/benchmarks",
                        output_dir="s3://bucket/out",
                        executor=f"dask://{address}",
                    )
                    others = sum(processor(worker.pid) for worker in workers) - others
                    print(
                        f"| {what} | {time.perf_counter() - wall:.0f} "
                        f"| {time.process_time() - own:.1f} | {others:.1f} "
                        f"| {requests(folder / 'storage.log') - before:,} |",
                        flush=True,
                    )
                memory = " and ".join(f"{peak(worker.pid):.0f}" for worker in workers)
                print(f"peak memory in MB: client {peak():.0f}, workers {memory}")


if __name__ == "__main__":
    main()
