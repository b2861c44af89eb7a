"""Trials on other processes and machines, and behind URLs: who works, what is fetched."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice, takewhile
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_end
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace as with_fields

from retrieval_eval.agents.runs.fingerprint import (
    code_fingerprint,
    is_task_input,
    is_trial_input,
)
from retrieval_eval.agents.runs.layout import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.agents.runs.trial import (
    Job,
    Tasks,
    TrialResult,
    collecting_rarely,
    evaluate_trial,
    give_up,
)
from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.layout import OWN_FOLDER
from retrieval_eval.io.locks import private_folder
from retrieval_eval.io.remote import Found, Place, laid_out
from retrieval_eval.values import counted

# --------------------------------------------------------------------------------------------------
# Work in other processes: one that dies takes nothing with it but the work that it had.

P = ParamSpec("P")

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
        wait_for_end([self.process.sentinel], patience)
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


# --------------------------------------------------------------------------------------------------
# Trials on other processes and machines, and behind URLs: who works, what is fetched.

T = TypeVar("T")
R = TypeVar("R")

_MOST_TRIALS: Final = 32
_MOST_BYTES: Final = 64 << 20
"""A part ends with the trial that reaches one of these."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Files behind a URL, and the folder below a private one where they are copied to.

    Of ``named`` only the names are there: a trial without a trace says what it holds.
    """

    place: Place
    folder: Path
    files: tuple[Found, ...]
    named: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A trial as a worker gets it: its paths behind URLs are relative to a private folder.

    Parameters
    ----------
    job
        Its evaluation.
    inputs, documents
        What is copied there first: its files and those of its task, and its former documents.
    output
        Where its documents are written; None where the client writes them.
    reason
        Why it is given up, or an empty text.
    """

    job: Job
    inputs: tuple[Copies, ...] = ()
    documents: tuple[Copies, ...] = ()
    output: Place | None = None
    reason: str = ""


Part = tuple[tuple[int, Item], ...]
"""Some trials with their positions."""


def parts_of(items: Iterable[tuple[int, Item]]) -> Iterator[Part]:
    """Yield trials in groups of some bytes."""
    group: list[tuple[int, Item]] = []
    size = 0
    for at, item in items:
        group.append((at, item))
        size += sum(file.size for copies in item.inputs for file in copies.files)
        if size >= _MOST_BYTES or len(group) >= _MOST_TRIALS:
            yield tuple(group)
            group, size = [], 0
    if group:
        yield tuple(group)


def evaluate_part(code: str, part: Part) -> list[tuple[int, TrialResult]]:
    """Evaluate some trials; the documents of those with an output are written, whole.

    Raises
    ------
    BadInputError
        When a worker runs other code than the client, whose digest is ``code``, or a storage
        refuses to be read or written.
    """
    if code_fingerprint() != code:
        raise BadInputError(
            "a worker runs another version of this package, or other metrics; install the same "
            "on all of them"
        )
    is_away = any(item.inputs or item.output for _, item in part)
    tasks = Tasks()
    with collecting_rarely(), private_folder() if is_away else nullcontext(Path()) as root:
        lost = _copied(part, root)
        found = [(at, item, _measured(item, root, lost, tasks)) for at, item in part]
        for output in {item.output for _, item in part if item.output is not None}:
            made = (result.files() for _, item, result in found if item.output == output)
            output.write(file for files in made for file in files.items())
    return [(at, _written(result) if item.output else result) for at, item, result in found]


def _copied(part: Part, root: Path) -> set[tuple[Place, str]]:
    """Copy the files of some trials; return those that could not be copied as listed."""
    every = [copies for _, item in part for copies in (*item.inputs, *item.documents)]
    wanted: dict[tuple[Place, Path], dict[Found, None]] = {}
    for one in every:
        wanted.setdefault((one.place, one.folder), {}).update(dict.fromkeys(one.files))
    lost = {
        (place, path)
        for (place, folder), files in wanted.items()
        for path in place.copy(list(files), root / folder)
    }
    for one in every:
        laid_out(one.named, root / one.folder)
    return lost


def _measured(
    item: Item, root: Path, lost: Collection[tuple[Place, str]], tasks: Tasks
) -> TrialResult:
    job = item.job
    path, task_dir = (job.trial.path, job.trial.task_dir)
    trial = with_fields(job.trial, path=root / path, task_dir=task_dir and root / task_dir)
    job = replace(job, trial=trial, folder=job.folder and root / job.folder)
    files = ((copies.place, file.path) for copies in item.inputs for file in copies.files)
    missing = next((path for place, path in files if (place, path) in lost), None)
    reason = item.reason
    if missing is not None and not reason:
        reason = f"the storage lists {missing!r}, which could not be copied as it was listed"
    return give_up(job, reason) if reason else evaluate_trial(job, tasks)


def _written(result: TrialResult) -> TrialResult:
    return replace(result, events=b"") if result.is_fresh else result


# --- what the client lists ---


@dataclass(frozen=True, slots=True)
class Listing:
    """The files behind a URL, and the folder of the client in which they are laid out."""

    place: Place
    root: Path
    folder: Path
    files: tuple[Found, ...]

    def starting(self, start: str, is_wanted: Callable[[str], bool] = bool) -> Copies:
        """Return the files whose path starts so and whose rest of it is wanted."""
        first = bisect_left(self.files, start, key=_path_of)
        every = takewhile(lambda f: f.path.startswith(start), islice(self.files, first, None))
        wanted: list[Found] = []
        named: list[Found] = []
        for file in every:
            (wanted if is_wanted(file.path.removeprefix(start)) else named).append(file)
        return Copies(self.place, self.folder.relative_to(self.root), tuple(wanted), tuple(named))

    def within(self, folder: Path, is_wanted: Callable[[str], bool]) -> Copies:
        """Return the files in a folder that are wanted by their path in it."""
        inner = folder.relative_to(self.folder).as_posix()
        return self.starting("" if inner == "." else f"{inner}/", is_wanted)


class Away:
    """What of an evaluation lies behind URLs, by the folders in which it is laid out."""

    def __init__(self, root: Path = Path()) -> None:
        self.root = root
        self.inputs: dict[Path, Listing] = {}
        self.outputs: dict[Path, Listing] = {}
        self.notes: dict[Path, list[str]] = {}

    def add_input(self, place: Place, contents: Collection[str]) -> Path:
        """List a run or benchmarks, and return where they are laid out.

        Of files with one of the names in ``contents`` the content is there too.
        """
        folder = self.root / str(len(self.inputs)) / place.name
        files = [file for file in place.files() if OWN_FOLDER not in file.path.split("/")]
        held, lost = laid_out(files, folder)
        place.copy([f for f in held if f.path.rpartition("/")[2] in contents], folder)
        if lost:
            what = counted(len(lost), "key")
            self.notes[folder] = [
                f"{place}: {what} that no local folder can hold left out, such as {min(lost)!r}"
            ]
        self.inputs[folder] = Listing(place, self.root, folder, tuple(files))
        return folder

    def add_output(self, place: Place) -> Path:
        """List the documents of a run, and return the folder with those of the whole run."""
        folder = self.root / f"out{len(self.outputs)}"
        files = place.files()
        place.copy([f for f in files if f.path in (SUMMARY_FILE, IMPACT_FILE)], folder)
        self.outputs[folder] = Listing(place, self.root, folder, tuple(files))
        return folder

    def is_folder(self, folder: Path) -> bool:
        """Return whether there is a folder; behind a URL one that holds something."""
        listing = self.inputs.get(folder)
        return probe(folder.is_dir) if listing is None else bool(listing.files)

    def shown(self, folder: Path) -> Path | Place:
        """Return what a folder is named to people."""
        listing = self.inputs.get(folder) or self.outputs.get(folder)
        return folder if listing is None else listing.place

    def item(self, job: Job, run: Path, benchmarks: Path | None) -> Item:
        """Return a trial as a worker gets it."""
        trial = job.trial
        own, tasks = self.inputs.get(run), self.inputs.get(benchmarks or Path())
        output = self.outputs.get(job.folder or Path())
        inputs = [] if own is None else [own.within(trial.path, is_trial_input)]
        if tasks is not None and trial.task_dir is not None:
            inputs.append(tasks.within(trial.task_dir, is_task_input))
        documents = () if output is None else (output.starting(f"{job.stem}.retrieval_"),)
        task_dir = None if trial.task_dir is None else self._relative(trial.task_dir)
        trial = with_fields(trial, path=self._relative(trial.path), task_dir=task_dir)
        folder = None if job.folder is None else self._relative(job.folder)
        job = replace(job, trial=trial, folder=folder)
        return Item(job, tuple(inputs), documents, None if output is None else output.place)

    def _relative(self, path: Path) -> Path:
        is_laid_out = (self.inputs or self.outputs) and path.is_relative_to(self.root)
        return path.relative_to(self.root) if is_laid_out else path.absolute()


def _path_of(file: Found) -> str:
    return file.path


# --------------------------------------------------------------------------------------------------
# Parts of trials on processes of this machine or on a Dask cluster; workers may die.

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
