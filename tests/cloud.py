"""An S3-compatible server and a Dask cluster of separate processes, all on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SECONDS = 60


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def started(*command: str, log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of Python until the block ends."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), **more}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command], env=environment, stdout=out, stderr=out, cwd=log.parent
        )
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def wait_for(port: int) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


@contextmanager
def object_storage(folder: Path) -> Iterator[dict[str, str]]:
    """Give the environment in which ``s3://`` is a server of moto, which holds all in memory."""
    port = free_port()
    command = ("-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
    with started(*command, log=folder / "storage.log"):
        wait_for(port)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "made-up-id",
            "AWS_SECRET_ACCESS_KEY": "made-up-secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }


@contextmanager
def dask_cluster(
    folder: Path, n_workers: int, environment: dict[str, str]
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Give the address of a scheduler and its workers, each one process of one thread."""
    port = free_port()
    quiet = ("--no-dashboard", "--host", "127.0.0.1")
    scheduler = ("-m", "distributed.cli.dask_scheduler", *quiet, "--port", str(port))
    worker = ("-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", *quiet)
    with started(*scheduler, log=folder / "scheduler.log"):
        wait_for(port)
        workers = [
            started(
                *(*worker, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)),
                log=folder / f"worker{number}.log",
                **environment,
            )
            for number in range(n_workers)
        ]
        processes = [each.__enter__() for each in workers]
        try:
            yield f"127.0.0.1:{port}", processes
        finally:
            for each in workers:
                each.__exit__(None, None, None)
