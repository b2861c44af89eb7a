"""What layouts share: folders looked through with a bound, and names of configurations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from retrieval_eval.io.files import entries, probe
from retrieval_eval.io.layout import OWN_FOLDER

T = TypeVar("T")

MOST_FOLDERS: Final = 20_000
DEEPEST: Final = 6

_NUMBER: Final = re.compile(r"\d{1,18}")


def folders_in(folder: Path) -> list[Path]:
    """Return the folders of a folder; links, hidden ones and our own are none."""
    return [
        path
        for path in entries(folder)
        if path.name[0] != "."
        and path.name != OWN_FOLDER
        and not probe(path.is_symlink)
        and probe(path.is_dir)
    ]


def places_with(folder: Path, find: Callable[[Path], T | None]) -> Iterator[tuple[Path, T]]:
    """Yield the folders in which something is found, the outermost ones, with what it is."""
    level = [folder]
    n_seen = 0
    for _ in range(DEEPEST):
        following: list[Path] = []
        for place in level:
            n_seen += 1
            if n_seen > MOST_FOLDERS:
                return
            found = find(place)
            if found is None:
                following += folders_in(place)
            else:
                yield place, found
        level = following


def names_of(places: Sequence[Path], folder: Path) -> list[str]:
    """Return a name for each of some folders: its own, or the path to it where two are alike."""
    same = Counter(place.name for place in places)
    return [
        place.name
        if same[place.name] == 1 or place == folder
        else place.relative_to(folder).as_posix()
        for place in places
    ]


def in_order(name: str) -> tuple[list[int], str]:
    """Return the order of a name by the numbers in it."""
    return [int(number) for number in _NUMBER.findall(name)], name
