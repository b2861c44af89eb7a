"""Work in other processes: one that dies takes no other item with it, and its item is named."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Final, Generic, TypeVar

from retrieval_eval.errors import BadInputError

T = TypeVar("T")
R = TypeVar("R")

# A fork would copy locks that threads of this process hold at that moment.
_START_METHOD: Final = "spawn"

_CHUNK: Final = 32
"""Items a process takes at a time: an item costs milliseconds, a hand-over does too."""

_PAYS: Final = 128
"""Items that a process has to do before its start, most of a second of imports, has paid."""

_MOST_STILLBORN: Final = 3

_SECONDS_TO_LEAVE: Final = 5.0


def worth_starting(n_items: int, jobs: int) -> int:
    """Return how many processes to use for so many items; below two, none is worth starting."""
    return min(jobs, n_items // _PAYS)


def run_in_workers(
    function: Callable[[T], R],
    items: Sequence[T],
    n_workers: int,
    lost: Callable[[T, str], R],
) -> Iterator[tuple[int, R]]:
    """Yield the position and the result of every item, as they are done.

    A worker says which item it begins, so the one under way when it dies is known. That item is
    tried once more at the end, alone in a fresh process, for another one may have taken the memory;
    only when this process dies too is the item given up.

    Parameters
    ----------
    function
        What is done with an item; new processes import it.
    items
        What it is called with.
    n_workers
        Processes to use.
    lost
        Returns the result of an item that is given up, from the item and a sentence that says how
        its process ended.

    Raises
    ------
    BadInputError
        When processes end before they begin anything.
    Exception
        Whatever ``function`` raises.
    """
    crew = _Crew(function, items)
    starts = range(0, len(items), _CHUNK)
    yield from crew.run((range(s, min(s + _CHUNK, len(items))) for s in starts), n_workers)
    for position in crew.take_suspects():
        yield from crew.run([[position]], 1)
        if crew.take_suspects():
            yield position, lost(items[position], f"{crew.last_end}, twice")


class _Worker:
    """A process, the pipe to it, and the positions it was given and has not answered."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context(_START_METHOD)
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(function, theirs), daemon=True
        )
        self.process.start()
        # With the only other end in the worker, its death ends the pipe.
        theirs.close()
        self.todo: deque[int] = deque()
        self.begun: int | None = None
        self.has_begun = False

    def stop(self, patience: float = 0.0) -> int:
        """End the process, if it does not end in some seconds, and return its exit code."""
        self.pipe.close()
        self.process.join(patience)
        self.process.terminate()
        self.process.join()
        return self.process.exitcode or 0


class _Crew(Generic[T, R]):
    """The workers over one list of items."""

    def __init__(self, function: Callable[[T], R], items: Sequence[T]) -> None:
        self._function = function
        self._items = items
        self._suspects: list[int] = []
        self._n_stillborn = 0
        self.last_end = ""

    def take_suspects(self) -> list[int]:
        """Return the positions that were under way when their process died, and forget them."""
        taken, self._suspects = self._suspects, []
        return taken

    def run(self, chunks: Iterable[Iterable[int]], n_workers: int) -> Iterator[tuple[int, R]]:
        """Yield the results of all positions but the suspects, by up to ``n_workers`` processes."""
        waiting = deque(deque(chunk) for chunk in chunks)
        workers: list[_Worker] = []
        try:
            while waiting or any(worker.todo for worker in workers):
                while waiting and len(workers) < n_workers:
                    workers.append(_Worker(self._function))
                for worker in workers:
                    if waiting and not worker.todo:
                        self._hand_over(worker, waiting.popleft())
                busy = [worker for worker in workers if worker.todo]
                ready = wait([worker.pipe for worker in busy])
                for worker in busy:
                    if worker.pipe not in ready:
                        continue
                    try:
                        message = worker.pipe.recv()
                    except (EOFError, OSError):
                        workers.remove(worker)
                        self._bury(worker)
                        if worker.todo:
                            waiting.appendleft(worker.todo)
                    else:
                        yield from self._heard(worker, message)
        finally:
            for worker in workers:
                worker.stop()

    def _hand_over(self, worker: _Worker, chunk: deque[int]) -> None:
        worker.todo = chunk
        # A worker that is gone is noticed by its closed pipe.
        with suppress(OSError):
            worker.pipe.send([(position, self._items[position]) for position in chunk])

    def _heard(self, worker: _Worker, message: tuple[str, Any]) -> Iterator[tuple[int, R]]:
        kind, value = message
        if kind == "begun":
            worker.begun, worker.has_begun = value, True
            return
        if kind == "failed":
            error, trace = value
            error.add_note(f"in a worker process:\n{trace}")
            raise error
        position = worker.todo.popleft()
        worker.begun, self._n_stillborn = None, 0
        yield position, value

    def _bury(self, worker: _Worker) -> None:
        # A process that leaves by itself closes its pipe first.
        code = worker.stop(_SECONDS_TO_LEAVE)
        self.last_end = f"was killed (signal {-code})" if code < 0 else f"ended (exit code {code})"
        if worker.begun is not None:
            worker.todo.remove(worker.begun)
            self._suspects.append(worker.begun)
        elif not worker.has_begun:
            self._n_stillborn += 1
            if self._n_stillborn >= _MOST_STILLBORN:
                raise BadInputError(
                    f"a worker process {self.last_end} before it began any work, "
                    f"{self._n_stillborn} times in a row; use one job, and in a program of your "
                    "own call this package below `if __name__ == '__main__':`"
                )


def _serve(function: Callable[[Any], Any], pipe: Connection) -> None:
    """Answer for every item handed over, until the other end of the pipe is closed."""
    # An interrupt goes to all processes of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError):
        while True:
            for position, item in pipe.recv():
                pipe.send(("begun", position))
                try:
                    answer = ("done", function(item))
                except Exception as error:  # noqa: BLE001  it is raised on the other side
                    answer = ("failed", (error, traceback.format_exc()))
                pipe.send(answer)


def process_pool(n_workers: int) -> Executor:
    """Return an executor of new processes, which end with this one; the death of one breaks it."""
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context(_START_METHOD)
    return ProcessPoolExecutor(n_workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Let this process end when the one that started it has ended, however it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_wait_and_end, args=(parent,), daemon=True).start()


def _wait_and_end(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
