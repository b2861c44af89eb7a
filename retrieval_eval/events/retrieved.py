"""The files an agent retrieved and wrote, from its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.records import Event, FileRef, Target

VIEWS: Final = ("accessed", "opened", "structured", "listing_discounted")
"""The definitions of "retrieved"; ``accessed`` is the seed's and the default."""


def accesses(trial: TrialEvents) -> Iterator[tuple[Event, Target]]:
    """Yield every access in order: read, matched or listed, never written, never own output."""
    for event in trial.events:
        for target in event.targets:
            if target.access != "written" and target.file.key not in trial.own_output:
                yield event, target


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
    first: dict[Identity, FileRef] = {}
    listed: dict[Identity, FileRef] = {}
    for event, target in accesses(trial):
        if (view == "opened" and target.access != "opened") or (
            view == "structured" and event.via == "shell"
        ):
            continue
        late = view == "listing_discounted" and target.access == "listed"
        (listed if late else first).setdefault(target.file.key, target.file)
    return tuple((first | {k: f for k, f in listed.items() if k not in first}).values())


def files_with(trial: TrialEvents, access: str) -> dict[Identity, FileRef]:
    """Return the distinct files touched with one kind of access, own output left out."""
    return {
        target.file.key: target.file
        for event in trial.events
        for target in event.targets
        if target.access == access and target.file.key not in trial.own_output
    }


Certainty = Literal["certain", "possible", "none"]
"""Whether a file was accessed: the trace proves it, leaves it open, or rules it out."""


def possible_accesses(trial: TrialEvents) -> Iterator[tuple[Event, Target]]:
    """Yield every possible access in order: never written, never own output."""
    for event in trial.events:
        for target in event.possible:
            if target.access != "written" and target.file.key not in trial.own_output:
                yield event, target


def evidence(trial: TrialEvents) -> dict[FileRef, Certainty]:
    """Return for each ground-truth file whether it was accessed.

    Examples
    --------
    >>> from retrieval_eval.records import GroundTruth
    >>> evidence(TrialEvents((), GroundTruth(files=(FileRef("a.py"),))))
    {FileRef(path='a.py', repository=None): 'none'}
    """
    certain = {target.file.key for _, target in accesses(trial)}
    possible = {target.file.key for _, target in possible_accesses(trial)}
    return {
        file: "certain" if file.key in certain else "possible" if file.key in possible else "none"
        for file in trial.ground_truth.files
    }
