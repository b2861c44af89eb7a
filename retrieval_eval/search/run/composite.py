"""The composite grounded score: how far the worst component stands above its floor.

A mean would hide a cliff behind what goes well. The minimum falls with whatever falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.model.search_run import Component, Composite, SearchRun, ShareWithInterval
from retrieval_eval.search.run.abstention import Gate
from retrieval_eval.search.run.named_metrics import (
    FALSE_REFUSAL_RATE,
    TRUE_POSITIVE_RATE,
    metric_value,
    stored,
)
from retrieval_eval.search.run.summary import number, points, signed_span
from retrieval_eval.values import REASONS, Value


@dataclass(frozen=True, slots=True)
class Bound:
    """A metric that must not fall below ``bound``, or with ``is_ceiling`` not rise above it."""

    name: str
    bound: float
    is_ceiling: bool = False
    required: bool = True

    def margin(self, value: float) -> float:
        """Return how far a value lies on the right side of the bound.

        Examples
        --------
        >>> Bound("P@5", 0.5).margin(0.75), Bound("x", 0.5, True).margin(0.75)
        (0.25, -0.25)
        """
        return self.bound - value if self.is_ceiling else value - self.bound


COMPONENTS: Final = (
    Bound(TRUE_POSITIVE_RATE, Gate().min_true_positive_rate),
    Bound(FALSE_REFUSAL_RATE, Gate().max_false_refusal_rate, is_ceiling=True),
    Bound("auc", 0.7),
)
"""The components of every run: both sides of the gate of refusals, and an AUC at which
discrimination begins to count as acceptable."""


def composite_of(document: SearchRun, components: Sequence[Bound] = COMPONENTS) -> Composite:
    """Return the composite of a search run.

    The value is the smallest margin of any component, in the metrics' own unit (shares): 0 or
    more when every bound holds, and ``worst`` is the component it comes from, the first of
    several. ``n`` is that component's. Not computable (``missing_component``) when a component
    is, and ``reasons`` names it; one that is not required only counts where the run has it.

    The interval lies between the smallest lower and the smallest upper end of the components'
    margins. Its lower end is as safe as theirs: it can only be too high when the lower end of the
    truly worst component is. Its upper end is the smallest of several and a little too low. There
    is none when a component has none. Where a component is a range of unproved claims, the
    composite is one, too.

    Parameters
    ----------
    document
        A search run, its other blocks complete.
    components
        Metrics and bounds, such as `components_of` takes from a guard.toml.
    """
    rows, margins, ends, reasons = [], [], [], []
    ranges: list[tuple[float, float]] = []
    for component in components:
        value = metric_value(document, component.name)
        if not component.required and value.reason == "not_recorded":
            continue
        rows.append(_row(component, value))
        if value.value is None:
            reasons.append(f"{component.name}: {REASONS[value.reason or '']}")
        else:
            margins.append((component.margin(value.value), component.name, value.n))
            ranges.append(_range(document, component, value.value))
            ends.append(_margins_of_ends(document, component))
    if reasons or not margins:
        found, worst = Value.missing("missing_component"), None
        reasons = reasons or ["no component: no threshold has a floor or a ceiling"]
    else:
        # The first of equals: ties are no reason to prefer a name.
        least, worst, n = min(margins, key=lambda margin: margin[0])
        found = Value.of(least, n)
    known = [pair for pair in ends if pair is not None]
    has_range = found.computable and any(low < high for low, high in ranges)
    has_interval = found.computable and len(known) == len(rows)
    return Composite(
        value=ShareWithInterval(
            **found.to_json(),
            ci_low=min(low for low, _ in known) if has_interval else None,
            ci_high=min(high for _, high in known) if has_interval else None,
            unproved_low=min(low for low, _ in ranges) if has_range else None,
            unproved_high=min(high for _, high in ranges) if has_range else None,
        ),
        worst=worst,
        components=tuple(rows),
        reasons=tuple(reasons),
    )


def sentence(block: Composite | None) -> str | None:
    """Return the composite in one line of text, None where there is no block."""
    if block is None:
        return None
    value = block.value
    if value.value is None:
        return f"composite: not computable ({'; '.join(block.reasons)})"
    low, high = (None if end is None else 100 * end for end in (value.ci_low, value.ci_high))
    # A metric can have a floor and a ceiling.
    rows = [row for row in block.components if row.name == block.worst]
    worst = min(rows, key=lambda row: row.margin or 0.0)
    either = ""
    if value.unproved_low is not None and value.unproved_high is not None:
        ends = (points(100 * end) for end in (value.unproved_low, value.unproved_high))
        either = f", {' to '.join(ends)} with its unproved claims"
    bound, limit = ("floor", worst.floor) if worst.ceiling is None else ("ceiling", worst.ceiling)
    return (
        f"composite: {points(100 * value.value)} points {signed_span(low, high)}{either}; worst is "
        f"{worst.name} at {number(worst.value)} with a {bound} of {number(limit)}"
    )


def _row(component: Bound, value: Value) -> Component:
    margin = None if value.value is None else component.margin(value.value)
    return Component(
        name=component.name,
        value=value.value,
        n=value.n,
        floor=None if component.is_ceiling else component.bound,
        ceiling=component.bound if component.is_ceiling else None,
        margin=margin,
        passes=None if margin is None else margin >= 0,
    )


def _range(document: SearchRun, component: Bound, value: float) -> tuple[float, float]:
    """Return the margins of both ends of a component with unproved claims, the smaller first."""
    found = stored(document, component.name)
    low = high = value
    if isinstance(found, ShareWithInterval) and found.has_bounds:
        low, high = found.unproved_low or 0.0, found.unproved_high or 0.0
    least, most = sorted(map(component.margin, (low, high)))
    return least, most


def _margins_of_ends(document: SearchRun, component: Bound) -> tuple[float, float] | None:
    """Return the margins of both ends of a component's interval, the smaller first."""
    found = stored(document, component.name)
    if found is None or found.ci_low is None or found.ci_high is None:
        return None
    low, high = sorted(map(component.margin, (found.ci_low, found.ci_high)))
    return low, high
