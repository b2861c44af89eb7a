"""Parts of trials on processes of this machine or on a Dask cluster; workers may die."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from retrieval_eval.agents.runs.workers import Processes
from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError

T = TypeVar("T")
R = TypeVar("R")

_PER_WORKER: Final = 2
"""Parts in flight for each worker: one that is run, and one that waits for it."""

_SECONDS_BETWEEN_LOOKS: Final = 5.0
_SECONDS_WITHOUT: Final = 300
"""How long work waits for a first or a new worker: a cluster may have to start a machine."""


class Engine(NamedTuple):
    """What does the work, how many workers it has now, and what waits where there is none."""

    submit: Callable[..., Future[Any]]
    n_workers: Callable[[], int]
    wait_for_worker: Callable[[], None] = lambda: None


@contextmanager
def engine_for(name: str) -> Iterator[Engine]:
    """Give the engine that ``processes:N`` or ``dask://HOST:PORT`` (extra ``dask``) names.

    Raises
    ------
    BadInputError
        When the text names none, or the scheduler does not answer.
    """
    kind, _, rest = name.partition(":")
    if kind == "dask" and rest.startswith("//") and len(rest) > 2:
        with _dask(rest.removeprefix("//")) as engine:
            yield engine
        return
    if kind != "processes" or not rest.isdecimal() or int(rest) < 1:
        raise BadInputError(f"{name!r} names no executor; name processes:N or dask://HOST:PORT")
    processes = Processes(int(rest))
    try:
        yield Engine(processes.submit, lambda: int(rest))
    finally:
        processes.shutdown(cancel_futures=True)


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

    def wait_for_worker() -> None:
        try:
            client.wait_for_workers(1, timeout=_SECONDS_WITHOUT)
        except TimeoutError:
            raise BadInputError(
                f"there was no worker for {_SECONDS_WITHOUT} seconds; what was written is kept, "
                "so evaluate again when there are workers"
            ) from None

    try:
        # The same part may be sent again; Dask would take equal arguments for the same task.
        submit = client.get_executor(pure=False).submit
        yield Engine(submit, lambda: len(client.nthreads()), wait_for_worker)
    finally:
        client.close()


def run_on(
    engine: Engine,
    function: Callable[[tuple[T, ...]], R],
    parts: Iterable[tuple[T, ...]],
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Yield the result of every part, in the order in which they are done.

    Dask itself begins the work of a lost worker again elsewhere. The items of a part whose workers
    died each time are tried one by one at the end, with nothing else under way, for another part
    may have been the cause; one that dies again is given up.

    Parameters
    ----------
    engine
        Where the work is run.
    function
        What is done with a part; workers import it. A part may be begun twice.
    parts
        What it is called with; taken as there is room.
    lost
        Returns the result of an item that is given up, from the item and a sentence.

    Raises
    ------
    BadInputError
        When workers die before they begin anything, none is there for five minutes, or the
        scheduler is gone.
    Exception
        Whatever ``function`` raises.
    """
    waiting, suspects = iter(parts), list[T]()
    flight: dict[Future[R], tuple[T, ...]] = {}
    has_answered = False
    try:
        while True:
            room = max(engine.n_workers(), 1) * _PER_WORKER - len(flight)
            for part in islice(waiting, max(room, 0)):
                flight[engine.submit(function, part)] = part
            if not flight:
                break
            for future in _finished(engine, flight):
                part, end = flight.pop(future), _death(future)
                if end is None:
                    has_answered = True
                    yield future.result()
                    continue
                suspects.extend(part)
                if not has_answered:
                    _refuse_dead(engine, end)
        for item in suspects:
            alone = engine.submit(function, (item,))
            end = _death(*_finished(engine, [alone]))
            said = f"the process that measured it {end}, each time"
            yield alone.result() if end is None else lost(item, said)
    finally:
        for future in flight:
            future.cancel()


def _finished(engine: Engine, futures: Iterable[Future[R]]) -> set[Future[R]]:
    """Return the futures that are done, of which there is at least one."""
    waiting = list(futures)
    while True:
        done, _ = wait(waiting, _SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
        if done:
            return done
        engine.wait_for_worker()


def _refuse_dead(engine: Engine, end: str) -> None:
    """Raise where workers cannot run at all, so that no item is the cause of their death."""
    if _death(*_finished(engine, [engine.submit(str)])) is not None:
        raise BadInputError(
            f"a worker {end} before it began any work; in a program of your own call this package "
            "below `if __name__ == '__main__':`"
        )


def _death(future: Future[Any]) -> str | None:
    """Return how the worker of a future died; None for one that has a result.

    Raises what the function raised, and ``BadInputError`` where the scheduler is gone.
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
    # Dask is optional, so its class cannot be named here.
    is_killed = type(error).__name__ == "KilledWorker"
    if not is_killed and not isinstance(error, BrokenExecutor):
        raise error
    return "was killed" if is_killed else str(error)
