"""An S3-compatible server and a Dask cluster of separate processes, all on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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


_QUIET = ("--no-dashboard", "--host", "127.0.0.1")


@contextmanager
def dask_scheduler(folder: Path) -> Iterator[str]:
    """Give the address of a scheduler."""
    port = free_port()
    command = ("-m", "distributed.cli.dask_scheduler", *_QUIET, "--port", str(port))
    with started(*command, log=folder / "scheduler.log"):
        wait_for(port)
        yield f"127.0.0.1:{port}"


@contextmanager
def dask_worker(
    address: str, folder: Path, environment: dict[str, str], name: str = "worker"
) -> Iterator[subprocess.Popen[bytes]]:
    """Give a worker: one process of one thread."""
    command = ("-m", "distributed.cli.dask_worker", f"tcp://{address}", *_QUIET, "--nthreads", "1")
    own = ("--no-nanny", "--local-directory", str(folder))
    with started(*command, *own, log=folder / f"{name}.log", **environment) as process:
        yield process


@contextmanager
def dask_cluster(
    folder: Path, n_workers: int, environment: dict[str, str]
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Give the address of a scheduler, and its workers."""
    with dask_scheduler(folder) as address, ExitStack() as stack:
        workers = [
            stack.enter_context(dask_worker(address, folder, environment, f"worker{number}"))
            for number in range(n_workers)
        ]
        yield address, workers
