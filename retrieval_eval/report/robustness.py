"""What a comparison looks like from other sides: views, slices, metrics that tell nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.report.frames import coerce
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.reading import read_as

BLUNT: Final = ("constant", "saturated")
"""States of a metric in which no difference can show."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A conclusion that another view turns: a mean difference (``sign``) or a ``verdict``."""

    metric: str
    view: str
    kind: str
    default: float | str | None
    there: float | str | None


@dataclass(frozen=True, slots=True)
class Discrimination:
    """Whether a metric can tell the arms apart; ``like`` names the metric it repeats."""

    metric: str
    status: str
    detail: str
    like: str | None


@dataclass(frozen=True, slots=True)
class Slice:
    """The paired difference among the tasks of one level of a dimension."""

    dimension: str
    level: str
    n_pairs: int
    interpretable: bool
    mean_baseline: float | None
    mean_comparison: float | None
    mean_difference: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class DifferenceAssociation:
    """Whether a larger difference in retrieval goes with a larger difference in outcome."""

    retrieval_metric: str
    outcome_metric: str
    n: int
    computable: bool
    reason: str | None
    spearman_r: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    q_value: float | None


def read_flip(document: Mapping[str, Any]) -> Flip:
    """Return a flip; its two sides are numbers or verdicts."""
    return read_as(
        Flip,
        document,
        default=_side(document.get("default")),
        there=_side(document.get("there")),
    )


def read_discrimination(document: Mapping[str, Any]) -> Discrimination:
    """Return how far a metric discriminates."""
    return read_as(Discrimination, document, like=coerce(document.get("with"), "text"))


def read_slice(document: Mapping[str, Any]) -> Slice:
    """Return a slice; a level that is a number is printed as it is written."""
    level = document.get("level")
    shown = str(level) if isinstance(level, str | int | float) else ""
    return read_as(Slice, document, level=shown or "unknown")


def _side(value: Any) -> float | str | None:
    return value if isinstance(value, str) else finite(value)
