"""Which of several disagreeing records of the same quantity to believe.

No file is safe on its own: totals were seen 68 times too high in one and too low in another. So
two independent records that agree outvote a third, and without agreement the order in which the
candidates are given decides. What was not chosen is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_AGREE = 0.01


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen value, the source it is from, and the sources that say something else."""

    value: float | None = None
    source: str | None = None
    others: Mapping[str, float] = field(default_factory=dict)


def agree(one: float, other: float) -> bool:
    """Return whether two records of a quantity are the same up to one per cent."""
    return abs(one - other) <= _AGREE * max(abs(one), abs(other))


def choose(candidates: Sequence[tuple[str, float | None]]) -> Choice:
    """Return the believed one of ``(source, value)`` candidates, the most trusted first.

    Parameters
    ----------
    candidates
        Values of one quantity; None where a source has none.

    Returns
    -------
    Choice
        Without a value where no source has one. ``others`` holds the sources that disagree with
        the chosen value.

    Examples
    --------
    >>> choose([("a", 1.0), ("b", 5.0), ("c", 5.0)])
    Choice(value=5.0, source='b', others={'a': 1.0})
    """
    known = [(source, value) for source, value in candidates if value is not None]
    if not known:
        return Choice()
    supported = [
        (source, value)
        for position, (source, value) in enumerate(known)
        if any(agree(value, v) for i, (_, v) in enumerate(known) if i != position)
    ]
    source, value = (supported or known)[0]
    return Choice(value, source, {s: v for s, v in known if not agree(v, value)})
