"""Adjusting p-values for the number of tests in a family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_eval.stats.intervals import Floats


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted p-values in the order of the input, and the size ``m`` of the family.

    ``m`` counts the tests that have a p-value; the others stay None and do not count.
    """

    method: str
    m: int
    values: tuple[float | None, ...]


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

    def step_up(ordered: Floats, m: int) -> Floats:
        scaled = ordered * (m / np.arange(1, m + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

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

    def step_down(ordered: Floats, m: int) -> Floats:
        return np.maximum.accumulate(ordered * np.arange(m, 0, -1))

    return _adjust("holm", p_values, step_down)


def _adjust(
    method: str, p_values: Sequence[float | None], correct: Callable[[Floats, int], Floats]
) -> Adjusted:
    present = [(p, place) for place, p in enumerate(p_values) if p is not None]
    if any(math.isnan(p) or not 0 <= p <= 1 for p, _ in present):
        raise ValueError("a p-value lies between 0 and 1")
    present.sort()
    values: list[float | None] = [None] * len(p_values)
    if present:
        adjusted = correct(np.array([p for p, _ in present]), len(present))
        for (_, place), value in zip(present, np.minimum(adjusted, 1.0).tolist(), strict=True):
            values[place] = value
    return Adjusted(method, len(present), tuple(values))
