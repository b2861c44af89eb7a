"""Work on any ``concurrent.futures.Executor``: few futures at a time, and workers that die."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
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
from itertools import islice
from time import monotonic
from typing import Any, Final, TypeVar

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline.workers import Processes, WorkerEndedError

T = TypeVar("T")
R = TypeVar("R")

_PER_WORKER: Final = 2
"""Futures in flight for each worker: one that is run, and one that waits for it."""

_UNKNOWN_WIDTH: Final = 64
"""Futures in flight on an executor that does not tell how many workers it has."""

_SECONDS_BETWEEN_LOOKS: Final = 2.0
_MOST_SECONDS_WITHOUT: Final = 300.0
"""How long work waits for a first or a new worker: a cluster may have to start a machine."""

WAITS: Final = "no worker; waits for one"
"""What a progress line shows meanwhile."""


class Engine:
    """An executor, and how many futures it shall hold.

    Parameters
    ----------
    executor
        What runs the work.
    n_workers
        Returns how many workers there are now; they may come and go.
    """

    def __init__(
        self, executor: Executor, n_workers: Callable[[], int | None] = lambda: None
    ) -> None:
        self.executor = executor
        self._n_workers = n_workers

    @property
    def width(self) -> int:
        """How many futures may be in flight."""
        known = self._n_workers()
        return _UNKNOWN_WIDTH if known is None else max(known, 1) * _PER_WORKER

    def done(self, futures: Collection[Future[R]], waits: Callable[[], None]) -> set[Future[R]]:
        """Return the futures that are done, of which there is at least one.

        ``waits`` is called again and again while there is no worker; after five minutes of that
        ``BadInputError`` is raised.
        """
        since: float | None = None
        while True:
            done, _ = wait(futures, _SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            if done:
                return done
            if self._n_workers() != 0:
                since = None
                continue
            since = monotonic() if since is None else since
            if monotonic() - since >= _MOST_SECONDS_WITHOUT:
                raise BadInputError(
                    f"there was no worker for {_MOST_SECONDS_WITHOUT:.0f} seconds; what was "
                    "written is kept, so evaluate again when there are workers"
                )
            waits()

    def submit(self, function: Callable[[T], R], item: T) -> Future[R]:
        """Start work; raises ``BadInputError`` where the executor takes no more."""
        try:
            return self.executor.submit(function, item)
        except BrokenExecutor:
            raise BadInputError(
                "a worker died and the executor takes no more work; what was written is kept, so "
                "evaluate again with a new executor, or name one, such as processes:4, that goes "
                "on with new workers"
            ) from None


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
    own = Processes(n) if kind == "processes" else ThreadPoolExecutor(n)
    try:
        yield Engine(own, lambda: n)
    finally:
        own.shutdown(cancel_futures=True)


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
        yield Engine(client.get_executor(pure=False), lambda: _n_threads(client))
    finally:
        client.close()


def _n_threads(client: Any) -> int:
    """Return how many threads the workers of a cluster have; none where it does not answer."""
    try:
        return sum(client.nthreads().values())
    except (OSError, TimeoutError):
        return 0


def run_on(
    engine: Engine,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    split: Callable[[T], list[T]],
    lost: Callable[[T, str], R],
    waits: Callable[[], None] = lambda: None,
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
    waits
        Called again and again while there is no worker.

    Raises
    ------
    BadInputError
        When workers die before they begin anything, none is there for five minutes, or the
        executor gives up the work.
    Exception
        Whatever ``function`` raises.
    """
    waiting, suspects = iter(items), deque[T]()
    flight: dict[Future[R], T] = {}
    has_answered = False
    try:
        while True:
            for item in islice(waiting, max(engine.width - len(flight), 0)):
                flight[engine.submit(function, item)] = item
            if not flight:
                break
            for future in engine.done(flight, waits):
                item = flight.pop(future)
                end = _death(future)
                if end is None:
                    has_answered = True
                    yield future.result()
                    continue
                suspects.append(item)
                if not has_answered:
                    _refuse_dead(engine, end, waits)
        while suspects:
            yield from _alone(engine, function, suspects, split, lost, waits)
    finally:
        for future in flight:
            future.cancel()


def halves(items: tuple[T, ...]) -> list[tuple[T, ...]]:
    """Return both halves of several items; nothing of a single one."""
    middle = len(items) // 2
    return [items[:middle], items[middle:]] if middle else []


def _alone(
    engine: Engine,
    function: Callable[[T], R],
    suspects: deque[T],
    split: Callable[[T], list[T]],
    lost: Callable[[T, str], R],
    waits: Callable[[], None],
) -> Iterator[R]:
    """Try the first suspect with nothing else under way; put its parts back where that fails."""
    item = suspects.popleft()
    future = engine.submit(function, item)
    engine.done([future], waits)
    end = _death(future)
    if end is None:
        yield future.result()
        return
    _refuse_dead(engine, end, waits)
    parts = split(item)
    suspects.extendleft(reversed(parts))
    if not parts:
        yield lost(item, f"the process that measured it {end}, each time")


def _refuse_dead(engine: Engine, end: str, waits: Callable[[], None]) -> None:
    """Raise where workers cannot run at all, so that no item is the cause of their death."""
    alive = engine.submit(_answer, None)
    engine.done([alive], waits)
    if _death(alive) is not None:
        raise BadInputError(
            f"a worker {end} before it began any work; in a program of your own call this package "
            "below `if __name__ == '__main__':`"
        )


def _answer(_: object) -> bool:
    return True


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
    if isinstance(error, WorkerEndedError):
        return str(error)
    # Dask is optional, so its class cannot be named here.
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return "was killed"
    raise error
