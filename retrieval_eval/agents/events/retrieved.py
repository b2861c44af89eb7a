"""The files an agent retrieved and wrote, from its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache, cached_property
from itertools import chain
from typing import Final

from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.events.normalise import TrialEvents
from retrieval_eval.records import Access, Event, FileRef, Target

VIEWS: Final = ("accessed", "opened", "structured", "listing_discounted")
"""The definitions of "retrieved"; ``accessed`` is the seed's and the default."""


def accesses(trial: TrialEvents) -> Iterable[tuple[Event, Target]]:
    """Return every access in order: read, matched or listed, never written, never own output."""
    return trial.accesses


def views_of(event: Event, target: Target) -> tuple[str, ...]:
    """Return the views under which an access counts as retrieved."""
    is_of_shell = event.via == "shell" or (event.is_shell and target.doubt is not None)
    return _ENTERED[target.access == "opened", is_of_shell]


_ENTERED: Final = {
    (is_opened, is_of_shell): tuple(
        view
        for view in VIEWS
        if (view != "opened" or is_opened) and (view != "structured" or not is_of_shell)
    )
    for is_opened in (False, True)
    for is_of_shell in (False, True)
}

OTHER_FILES: Final = 1000
"""How many other files a call that cannot be resolved, or a gap, is taken to have shown at most."""


class Ranking:
    """Distinct files in order of first appearance; a view may put those only listed last.

    Files are added first; then it is read.
    """

    def __init__(self, view: str) -> None:
        self._is_discounted = view == "listing_discounted"
        self._first: dict[Identity, FileRef] = {}
        self._after_others: dict[Identity, FileRef] | None = None
        self._listed: dict[Identity, FileRef] = {}

    def add(self, file: FileRef, access: Access) -> None:
        """Add an access to a file."""
        if self._is_discounted and access == "listed":
            self._listed.setdefault(file.key, file)
        elif self._after_others is None:
            self._first.setdefault(file.key, file)
        elif file.key not in self._first:
            self._after_others.setdefault(file.key, file)

    def open(self, files: Mapping[Identity, FileRef]) -> None:
        """Add accesses that show the content of several files."""
        self._first = {**self._first, **files, **self._first}

    def open_others(self) -> None:
        """Add accesses that show the content of :data:`OTHER_FILES` other files, once."""
        if self._after_others is None:
            self._after_others = {}

    @cached_property
    def files(self) -> tuple[FileRef, ...]:
        """The files in order."""
        return tuple(chain.from_iterable(part.values() for part in self._parts()))

    @cached_property
    def keys(self) -> tuple[Identity, ...]:
        """Their identities."""
        return tuple(chain.from_iterable(self._parts()))

    def hits(self, relevant: Set[Identity]) -> tuple[int, ...]:
        """Return the ranks of some files, counted from 1."""
        found: list[int] = []
        start = 1
        for part in self._parts():
            if not relevant.isdisjoint(part):
                found += [rank for rank, key in enumerate(part, start) if key in relevant]
            start += len(part)
        return tuple(found)

    def _parts(self) -> Iterator[Mapping[Identity, FileRef]]:
        first, after = self._first, self._after_others
        yield first
        if after is not None:
            yield _others()
            yield after
        if self._listed:
            seen = first if after is None else {**first, **after}
            yield {key: file for key, file in self._listed.items() if key not in seen}


@cache
def _others() -> dict[Identity, FileRef]:
    """Return the files that a call or a gap may have shown besides."""
    files = [FileRef(f"\0other {number}") for number in range(OTHER_FILES)]
    return {file.key: file for file in files}


def ranked(trial: TrialEvents, view: str) -> Ranking:
    """Return the distinct retrieved files in order of first appearance under ``view``.

    Parameters
    ----------
    view
        ``accessed``: everything read or returned. ``opened``: only files whose content was read.
        ``structured``: without events derived from shell commands. ``listing_discounted``: as
        ``accessed``, with names seen only in listings after everything opened or matched.
    """
    if view not in VIEWS:
        raise ValueError(f"no such view: {view!r}")
    if not trial.rankings:
        trial.rankings.update({view: Ranking(view) for view in VIEWS})
        for event, target in trial.accesses:
            for name in views_of(event, target):
                trial.rankings[name].add(target.file, target.access)
    return trial.rankings[view]


def ranking(trial: TrialEvents, view: str) -> tuple[FileRef, ...]:
    """Return the files of :func:`ranked`."""
    return ranked(trial, view).files


def files_with(trial: TrialEvents, access: str) -> dict[Identity, FileRef]:
    """Return the distinct files touched with one kind of access, own output left out.

    Files in the patch that the agent handed in were written. A file that the agent created was
    written, and is nothing that it read.
    """
    own = trial.own_output if access == "written" else trial.own_files
    found = {
        target.file.key: target.file
        for event in trial.events
        for target in event.targets
        if target.access == access and target.file.key not in own
    }
    for target in trial.beside.submitted or () if access == "written" else ():
        if target.doubt is None and target.file.key not in own:
            found.setdefault(target.file.key, target.file)
    return found
