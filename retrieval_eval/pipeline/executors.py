"""Work on any ``concurrent.futures.Executor``: few futures at a time, and workers that die."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, TypeVar

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline.workers import process_pool

T = TypeVar("T")
R = TypeVar("R")

_PER_WORKER: Final = 2
"""Futures in flight for each worker: one that is run, and one that waits for it."""

_UNKNOWN_WIDTH: Final = 64
"""Futures in flight on an executor that does not tell how many workers it has."""


class Engine:
    """An executor, how many futures it shall hold, and how to start it anew.

    Parameters
    ----------
    executor
        What runs the work.
    n_workers
        Returns how many workers there are now; they may come and go.
    start
        Makes the executor again after the death of a worker has broken it; None where only its
        owner can.
    """

    def __init__(
        self,
        executor: Executor,
        n_workers: Callable[[], int | None] = lambda: None,
        start: Callable[[], Executor] | None = None,
    ) -> None:
        self.executor = executor
        self._n_workers = n_workers
        self._start = start

    @property
    def width(self) -> int:
        """How many futures may be in flight."""
        known = self._n_workers()
        return _UNKNOWN_WIDTH if known is None else max(known, 1) * _PER_WORKER

    def revive(self) -> None:
        """Start the executor again; raises ``BadInputError`` where only its owner can."""
        if self._start is None:
            raise BadInputError(
                "a worker died and the executor takes no more work; what was written is kept, so "
                "evaluate again with a new executor, or name one, such as processes:4, that can "
                "be started again"
            )
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._start()


@contextmanager
def engine_for(executor: Executor | str) -> Iterator[Engine]:
    """Give the engine for an executor, or for the text that names one.

    Parameters
    ----------
    executor
        Any executor, which stays open; or ``processes:N``, ``threads:N`` or ``dask://HOST:PORT``
        (extra ``dask``), whose connection is closed at the end.

    Raises
    ------
    BadInputError
        When the text names none, or the scheduler does not answer.
    """
    if not isinstance(executor, str):
        yield Engine(executor)
        return
    kind, _, rest = executor.partition(":")
    if kind == "dask" and rest.startswith("//") and len(rest) > 2:
        with _dask(rest.removeprefix("//")) as engine:
            yield engine
        return
    if kind not in ("processes", "threads") or not rest.isdecimal() or int(rest) < 1:
        raise BadInputError(
            f"{executor!r} names no executor; name processes:N, threads:N or dask://HOST:PORT"
        )
    n = int(rest)

    def start() -> Executor:
        return process_pool(n) if kind == "processes" else ThreadPoolExecutor(n)

    engine = Engine(start(), lambda: n, start)
    try:
        yield engine
    finally:
        engine.executor.shutdown(cancel_futures=True)


@contextmanager
def _dask(address: str) -> Iterator[Engine]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise BadInputError(f"dask:// needs Dask: {install_hint('dask')}") from None
    try:
        client = distributed.Client(f"tcp://{address}", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise BadInputError(
            f"no Dask scheduler answers at {address} ({type(error).__name__})"
        ) from None
    try:
        # The same batch may be sent again; Dask would take equal arguments for the same task.
        yield Engine(client.get_executor(pure=False), lambda: sum(client.nthreads().values()))
    finally:
        client.close()


def run_on(
    engine: Engine,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    split: Callable[[T], list[T]],
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Yield the result of every item, in the order in which they are done.

    An item whose worker died is tried again alone at the end, for another one may have been the
    cause; when its worker dies again it is split, down to single ones, which are given up.

    Parameters
    ----------
    engine
        Where the work is run.
    function
        What is done with an item; workers import it. An item may be begun twice.
    items
        What it is called with; taken as there is room.
    split
        Returns the parts of an item; nothing where there is no smaller one.
    lost
        Returns the result of an item that is given up, from the item and a sentence.

    Raises
    ------
    BadInputError
        When workers die before they begin anything, or the executor gives up the work.
    Exception
        Whatever ``function`` raises.
    """
    waiting, suspects = iter(items), deque[T]()
    flight: dict[Future[R], T] = {}
    try:
        while True:
            for item in _taken(waiting, engine.width - len(flight)):
                flight[_submitted(engine, function, item)] = item
            if not flight:
                break
            done, _ = wait(flight, return_when=FIRST_COMPLETED)
            is_broken = False
            for future in done:
                item = flight.pop(future)
                end = _death(future)
                if end is None:
                    yield future.result()
                    continue
                suspects.append(item)
                is_broken = is_broken or isinstance(future.exception(), BrokenExecutor)
            if is_broken:
                wait(flight)
                for future, item in flight.items():
                    if _death(future) is None:
                        yield future.result()
                    else:
                        suspects.append(item)
                flight = {}
                engine.revive()
        while suspects:
            yield from _alone(engine, function, suspects, split, lost)
    finally:
        for future in flight:
            future.cancel()


def halves(items: tuple[T, ...]) -> list[tuple[T, ...]]:
    """Return both halves of several items; nothing of a single one."""
    middle = len(items) // 2
    return [items[:middle], items[middle:]] if middle else []


def _taken(waiting: Iterator[T], n: int) -> Iterator[T]:
    for _ in range(n):
        try:
            yield next(waiting)
        except StopIteration:
            return


def _alone(
    engine: Engine,
    function: Callable[[T], R],
    suspects: deque[T],
    split: Callable[[T], list[T]],
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Try the first suspect with nothing else under way; put its parts back where that fails."""
    item = suspects.popleft()
    future = _submitted(engine, function, item)
    wait([future])
    end = _death(future)
    if end is None:
        yield future.result()
        return
    if isinstance(future.exception(), BrokenExecutor):
        engine.revive()
    parts = split(item)
    if parts:
        suspects.extendleft(reversed(parts))
        return
    # Where workers cannot run at all, the item is not the cause.
    alive = _submitted(engine, _answer, None)
    wait([alive])
    if _death(alive) is not None:
        raise BadInputError(
            f"workers die before they begin any work ({end}); in a program of your own call this "
            "package below `if __name__ == '__main__':`"
        )
    yield lost(item, end)


def _answer(_: object) -> bool:
    return True


def _submitted(engine: Engine, function: Callable[[Any], Any], item: object) -> Future[Any]:
    try:
        return engine.executor.submit(function, item)
    except BrokenExecutor:
        engine.revive()
        return engine.executor.submit(function, item)


def _death(future: Future[Any]) -> str | None:
    """Return how the worker of a future died; None for one that has a result.

    Raises what the function raised, and ``BadInputError`` where the executor gave up the work.
    """
    try:
        error = future.exception()
    except CancelledError:
        raise BadInputError(
            "the executor gave up the work; what was written is kept, so evaluate again when it "
            "is back"
        ) from None
    if error is None:
        return None
    if isinstance(error, BrokenExecutor):
        return "the process of the worker ended"
    # Dask is optional, so its class cannot be named here.
    if type(error).__name__ == "KilledWorker":
        return "the worker was killed each time"
    raise error
