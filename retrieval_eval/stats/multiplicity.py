"""Adjusting p-values for the number of tests in a family."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted p-values in the order of the input, and the size ``m`` of the family.

    ``m`` counts the tests that have a p-value; the others stay None and do not count.
    """

    method: str
    m: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A declared family of tests by name, with the p-values adjusted over it.

    ``m`` of the declared tests have a p-value and count; ``untested`` names the others, so that
    ``len(adjusted) == m + len(untested)``.
    """

    method: str
    m: int
    adjusted: Mapping[str, float | None]
    untested: tuple[str, ...]

    def rejected(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Return the names whose adjusted p-value is below ``alpha``, in the declared order."""
        return tuple(name for name, p in self.adjusted.items() if p is not None and p < alpha)


def adjust_family(
    p_values: Mapping[str, float | None],
    adjust: Callable[[Sequence[float | None]], Adjusted] | None = None,
) -> Family:
    """Adjust the p-values of a declared family, by :func:`holm` unless ``adjust`` is given.

    A test without p-value stays in the family by name. It could never be rejected, so leaving it
    out of m keeps the error rate of the method as long as the data, not the result, decide which
    tests have one.

    Raises
    ------
    ValueError
        When a p-value lies outside [0, 1].

    Examples
    --------
    >>> family = adjust_family({"recall": 0.01, "cost": None, "reward": 0.04})
    >>> family.m, family.untested, family.rejected(0.03)
    (2, ('cost',), ('recall',))
    """
    adjusted = (adjust or holm)(list(p_values.values()))
    return Family(
        method=adjusted.method,
        m=adjusted.m,
        adjusted=dict(zip(p_values, adjusted.values, strict=True)),
        untested=tuple(name for name, p in p_values.items() if p is None),
    )


def benjamini_hochberg(p_values: Sequence[float | None]) -> Adjusted:
    """Return q-values that control the false discovery rate (Benjamini & Hochberg 1995).

    Raises
    ------
    ValueError
        When a p-value lies outside [0, 1].

    Examples
    --------
    >>> benjamini_hochberg([0.01, None, 0.04]).values
    (0.02, None, 0.04)
    """

    def step_up(ordered: list[float]) -> list[float]:
        m = len(ordered)
        scaled = [p * (m / place) for place, p in enumerate(ordered, start=1)]
        return list(accumulate(reversed(scaled), min))[::-1]

    return _adjust("benjamini_hochberg", p_values, step_up)


def holm(p_values: Sequence[float | None]) -> Adjusted:
    """Return p-values that control the family-wise error rate (Holm 1979).

    Raises
    ------
    ValueError
        When a p-value lies outside [0, 1].

    Examples
    --------
    >>> holm([0.01, None, 0.04]).values
    (0.02, None, 0.04)
    """

    def step_down(ordered: list[float]) -> list[float]:
        m = len(ordered)
        return list(accumulate((p * (m - place) for place, p in enumerate(ordered)), max))

    return _adjust("holm", p_values, step_down)


def _adjust(
    method: str, p_values: Sequence[float | None], correct: Callable[[list[float]], list[float]]
) -> Adjusted:
    present = [(p, place) for place, p in enumerate(p_values) if p is not None]
    if any(math.isnan(p) or not 0 <= p <= 1 for p, _ in present):
        raise ValueError("a p-value lies between 0 and 1")
    present.sort()
    values: list[float | None] = [None] * len(p_values)
    adjusted = correct([float(p) for p, _ in present])
    for (_, place), value in zip(present, adjusted, strict=True):
        values[place] = min(value, 1.0)
    return Adjusted(method, len(present), tuple(values))
