"""Options of a retriever: ``name=value`` pairs of text, checked by name and range."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from retrieval_eval.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Options:
    """The options given for one kind of retriever (``kind`` is its name in messages)."""

    kind: str
    given: Mapping[str, str]

    def only(self, known: Collection[str], prefixes: tuple[str, ...] = ()) -> None:
        """Refuse an option that is neither ``known`` nor begins with one of ``prefixes``.

        Raises
        ------
        BadInputError
            When there is one; the message lists what there is.
        """
        for name in self.given:
            if name not in known and not name.startswith(prefixes or ("\0",)):
                listed = ", ".join([*known, *(f"{prefix}NAME" for prefix in prefixes)])
                raise BadInputError(
                    f"{self.kind} has no option {name!r}; it has {listed or 'no options at all'}"
                )

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Return a number from ``low`` to ``high``; raises BadInputError when it is none."""
        text = self.given.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise BadInputError(
                f"{self.kind}: option {name} is {text!r}; it must be a number"
                f" from {low:g} to {high:g}"
            )
        return value

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``; raises BadInputError when it is none."""
        value = self.number(name, default, low, high)
        if value % 1:
            raise BadInputError(f"{self.kind}: option {name} is {value:g}; it must be whole")
        return int(value)

    def choice(self, name: str, default: str, choices: Collection[str]) -> str:
        """Return one of ``choices``; raises BadInputError when it is none."""
        value = self.given.get(name, default)
        if value not in choices:
            raise BadInputError(
                f"{self.kind}: option {name} is {value!r}; it must be one of {', '.join(choices)}"
            )
        return value
