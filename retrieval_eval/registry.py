"""Registries: the extension points of this package, filled by decorated functions.

The entries of this package are declared where they are implemented. Another distribution adds its
own with an entry point of the registry's group; the name of the entry point is the name of the
entry::

    [project.entry-points."retrieval_eval.metrics"]
    reciprocal_hits = "their_package.metrics:reciprocal_hits"

An entry of another distribution that cannot be loaded, or that takes a name which is taken, is an
error that names it: a metric that is silently missing would be a wrong report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module, metadata
from inspect import currentframe
from typing import Generic, TypeVar

from retrieval_eval.errors import BadInputError

T = TypeVar("T")


def entry_points(group: str) -> Iterable[metadata.EntryPoint]:
    """Return what other distributions add to a group; all of them are read once, not by group."""
    return _installed(tuple(sys.path)).get(group, ())


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> dict[str, tuple[metadata.EntryPoint, ...]]:
    found = metadata.entry_points()
    ours = (group for group in found.groups if group.startswith("retrieval_eval."))
    return {group: tuple(found.select(group=group)) for group in ours}


class Registry(Generic[T]):
    """Entries of one kind by name, in declaration order, then those of other distributions.

    Parameters
    ----------
    group
        The entry-point group, such as ``retrieval_eval.metrics``.
    noun
        What one entry is called in messages.
    modules
        Modules of this package that declare entries; they are imported on first use, and their
        order is that of the entries, whichever of them was imported first.
    of
        With a type, every instance of it at the top level of these modules is an entry, under its
        ``name``.

    Examples
    --------
    >>> units = Registry[str]("retrieval_eval.doctest", "unit")
    >>> units.add("second", "s")
    's'
    >>> units["second"], "hour" in units, list(units)
    ('s', False, ['second'])
    >>> units["secnd"]
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: 'secnd' is no unit; did you mean 'second'?
    """

    def __init__(
        self, group: str, noun: str, modules: tuple[str, ...] = (), *, of: type[T] | None = None
    ) -> None:
        self.group = group
        self.noun = noun
        self._modules = modules
        self._type = of
        self._entries: dict[str, T] = {}
        self._places: dict[str, int] = {}
        self._is_loaded = False

    def add(self, name: str, entry: T) -> T:
        """Add an entry and return it; raises ``ValueError`` when another has the name."""
        if self._entries.get(name, entry) is not entry:
            raise ValueError(f"there are two entries {name!r} in {self.group}")
        self._entries[name] = entry
        self._places.setdefault(name, self._place())
        return entry

    def _place(self) -> int:
        """Return the number of the declaring module that is being imported, or that of none."""
        frame = currentframe()
        while frame is not None:
            name = frame.f_globals.get("__name__")
            if name in self._modules:
                return self._modules.index(name)
            frame = frame.f_back
        return len(self._modules)

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds what it decorates."""
        return lambda entry: self.add(name, entry)

    def load(self) -> None:
        """Import what declares entries, here and in other distributions, once.

        Raises
        ------
        BadInputError
            When another distribution's entry cannot be imported or takes a name that is taken.
        """
        if self._is_loaded:
            return
        self._is_loaded = True
        for name in self._modules:
            module = import_module(name)
            if self._type is not None:
                for entry in vars(module).values():
                    if isinstance(entry, self._type):
                        self.add(str(getattr(entry, "name")), entry)  # noqa: B009  of any type
        # Whichever module was imported first, by whomever.
        self._entries = dict(sorted(self._entries.items(), key=lambda e: self._places[e[0]]))
        for point in sorted(entry_points(group=self.group), key=lambda p: (p.name, p.value)):
            try:
                self.add(point.name, point.load())
            except Exception as error:
                self._is_loaded = False
                raise BadInputError(
                    f"the {self.noun} {point.name!r} cannot be loaded from {point.value}: {error}"
                ) from error

    def __getitem__(self, name: str) -> T:
        """Return an entry; raises ``BadInputError`` with the closest name when there is none."""
        self.load()
        if name in self._entries:
            return self._entries[name]
        close = get_close_matches(name, self._entries, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self._entries)}"
        raise BadInputError(f"{name!r} is no {self.noun}; {hint}")

    def __contains__(self, name: object) -> bool:
        self.load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(self._entries)

    def __len__(self) -> int:
        self.load()
        return len(self._entries)

    def values(self) -> list[T]:
        """Return the entries, in order."""
        self.load()
        return list(self._entries.values())

    def items(self) -> list[tuple[str, T]]:
        """Return names and entries, in order."""
        self.load()
        return list(self._entries.items())
