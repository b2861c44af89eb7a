"""The files an agent retrieved and wrote, from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.records import Access, Event, FileRef, Target

VIEWS: Final = ("accessed", "opened", "structured", "listing_discounted")
"""The definitions of "retrieved"; ``accessed`` is the seed's and the default."""


def accesses(trial: TrialEvents) -> Iterable[tuple[Event, Target]]:
    """Return every access in order: read, matched or listed, never written, never own output."""
    return trial.accesses


NARROW: Final = frozenset({"opened", "structured"})
"""The views under which some accesses do not count."""


def enters(view: str, event: Event, target: Target) -> bool:
    """Return whether an access counts as retrieved under a view."""
    if view == "opened":
        return target.access == "opened"
    if view != "structured":
        return True
    is_of_shell = event.via == "shell" or (event.is_shell and target.doubt is not None)
    return not is_of_shell


def ranking(trial: TrialEvents, view: str) -> tuple[FileRef, ...]:
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
    if view not in trial.rankings:
        found = Ranking(view)
        is_narrow = view in NARROW
        for event, target in trial.accesses:
            if not is_narrow or enters(view, event, target):
                found.add(target.file, target.access)
        trial.rankings[view] = found.files()
    return trial.rankings[view]


class Ranking:
    """Distinct files in order of first appearance; a view may put those only listed last."""

    def __init__(self, view: str) -> None:
        self._is_discounted = view == "listing_discounted"
        self._first: dict[Identity, FileRef] = {}
        self._listed: dict[Identity, FileRef] = {}

    def add(self, file: FileRef, access: Access) -> None:
        """Add an access to a file."""
        files = self._listed if self._is_discounted and access == "listed" else self._first
        files.setdefault(file.key, file)

    def open(self, files: Mapping[Identity, FileRef]) -> None:
        """Add accesses that show the content of several files."""
        self._first = {**self._first, **files, **self._first}

    def files(self) -> tuple[FileRef, ...]:
        """Return the files in order."""
        late = (f for k, f in self._listed.items() if k not in self._first)
        return (*self._first.values(), *late)


def files_with(trial: TrialEvents, access: str) -> dict[Identity, FileRef]:
    """Return the distinct files touched with one kind of access, own output left out."""
    return {
        target.file.key: target.file
        for event in trial.events
        for target in event.targets
        if target.access == access and target.file.key not in trial.own_output
    }
