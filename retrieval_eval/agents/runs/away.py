"""Trials of which something lies behind a URL: what the client lists, and what a worker does.

The client lists a run once and lays out an empty file for each of it in a private folder; only the
few files that decide what is a trial have their content there. So trials are found by the rules of
local runs. A worker copies the files of its trials into a private folder of its own, measures them
as those of a local run, and writes their documents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from msgspec.structs import replace as with_fields

from retrieval_eval.agents.runs.fingerprint import (
    code_fingerprint,
    is_task_input,
    is_trial_input,
)
from retrieval_eval.agents.runs.naming import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.agents.runs.trial import (
    Job,
    Tasks,
    TrialResult,
    collecting_rarely,
    evaluate_trial,
    give_up,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.layout import OWN_FOLDER
from retrieval_eval.io.locks import private_folder
from retrieval_eval.io.remote import Found, Place, laid_out
from retrieval_eval.values import counted

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
