"""Work in other processes: one that dies takes nothing with it but the work that it had."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# A fork would copy locks that threads of this process hold at that moment.
_START_METHOD: Final = "spawn"

_PAYS: Final = 128
"""Items that a process has to do before its start, most of a second of imports, has paid."""

_SECONDS_TO_LEAVE: Final = 5.0

_BOOKS: Final = Lock()
"""Held while a process is started or waited for: the system tells of each end only once."""


def worth_starting(n_items: int, jobs: int) -> int:
    """Return how many processes to use for so many items; below two, none is worth starting."""
    return min(jobs, n_items // _PAYS)


class WorkerEndedError(BrokenExecutor):
    """A process ended before it had answered; the text says how, such as "was killed"."""


class Processes(ThreadPoolExecutor):
    """An executor of up to ``n`` processes, which start with the work and end with this one.

    A thread waits for each process, by a pipe that no other process has. So a process that is
    killed, also in the middle of an answer, is noticed, and only its own future fails
    (`WorkerEndedError`); the next work gets a new process.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self._free: deque[_Worker] = deque()
        self._all: set[_Worker] = set()
        self._is_ended = False

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Do the work in a process, which imports the function."""
        return super().submit(self._done, function, args, kwargs)

    def _done(self, *work: Any) -> Any:
        worker = self._taken()
        try:
            is_done, value = worker.answer(work)
        except BaseException:
            self._all.discard(worker)
            worker.stop()
            raise
        self._free.append(worker)
        if is_done:
            return value
        error, trace = value
        error.add_note(f"in a worker process:\n{trace}")
        raise error

    def _taken(self) -> _Worker:
        with suppress(IndexError):
            return self._free.pop()
        with _BOOKS:
            if self._is_ended:
                raise WorkerEndedError("was not started")
            worker = _Worker()
            self._all.add(worker)
            return worker

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes: after their work, or at once where ``cancel_futures``."""
        if cancel_futures:
            with _BOOKS:
                self._is_ended = True
                for worker in self._all:
                    worker.process.terminate()
        super().shutdown(wait, cancel_futures=cancel_futures)
        while self._free:
            self._free.pop().stop()


class _Worker:
    """A process, and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context(_START_METHOD)
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        # With the only other end in the worker, its death ends the pipe.
        theirs.close()

    def answer(self, work: object) -> Any:
        """Return whether the work was done, and its result or what it raised."""
        try:
            self.pipe.send(work)
            return self.pipe.recv()
        except (EOFError, OSError):
            # A process that leaves by itself closes its pipe first.
            code = self.stop(_SECONDS_TO_LEAVE)
            how = f"was killed (signal {-code})" if code < 0 else f"ended (exit code {code})"
            raise WorkerEndedError(how) from None

    def stop(self, patience: float = 0.0) -> int:
        """End the process, if it does not end in some seconds, and return its exit code."""
        self.pipe.close()
        wait([self.process.sentinel], patience)
        with _BOOKS:
            self.process.terminate()
            self.process.join()
            return self.process.exitcode or 0


def _serve(pipe: Connection) -> None:
    """Do what comes through a pipe until its other end is closed."""
    # An interrupt goes to all processes of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent,), daemon=True).start()
    with suppress(EOFError, BrokenPipeError):
        while True:
            function, args, kwargs = pipe.recv()
            try:
                answer = (True, function(*args, **kwargs))
            except Exception as error:  # noqa: BLE001  it is raised on the other side
                answer = (False, (error, traceback.format_exc()))
            pipe.send(answer)


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
