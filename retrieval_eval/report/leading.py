"""The leading estimate of a metric as it is printed: a signed difference, or a factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.verdict import Headline, apparent, deciding_estimate
from retrieval_eval.model.impact import PairedEstimate, PairedStatistics
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import interval, times, times_interval

if TYPE_CHECKING:
    import pandas as pd


_FIELDS: Final = {entry.name: entry for entry in structs.fields(PairedStatistics)}


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain objects, None for what is missing."""
    import pandas as pd

    plain = frame.astype("object").where(frame.notna(), None)
    return [
        {str(name): None if value is pd.NA else value for name, value in row.items()}
        for row in plain.to_dict("records")
    ]


def estimate_of(row: Mapping[str, Any]) -> PairedStatistics:
    """Return the estimate that a row of a frame holds; fields without a column are unknown."""
    known = {name: row.get(name) for name in _FIELDS}
    known["n_pairs"] = known["n_pairs"] or 0
    return PairedStatistics(**known)  # type: ignore[arg-type]


def leading(metric: str, block: PairedEstimate, *, has_unit: bool = False) -> str:
    """Return the leading estimate as text, with its unit where that is not in a heading.

    Examples
    --------
    >>> leading("cost_usd", estimate_of({"headline": "ratio", "estimate": 1.27, "n_pairs": 9}))
    '×1.27'
    >>> leading("cost_usd", estimate_of({"estimate": 0.25}), has_unit=True)
    '+0.25 USD'
    """
    found = deciding_estimate(block)
    if found.quantity == "ratio":
        return times(found.estimate)
    known = metric_name(metric)
    text = known.difference(found.estimate)
    unit = unit_of(metric)
    return f"{text} {unit}" if has_unit and unit and found.estimate is not None else text


def leading_interval(metric: str, block: PairedEstimate) -> str:
    """Return its interval as text, or the dash."""
    return interval_of(metric, deciding_estimate(block))


def interval_of(metric: str, found: Headline) -> str:
    """Return the interval of an estimate that leads as text, or the dash."""
    low, high = found.ends or (None, None)
    if found.quantity == "ratio":
        return times_interval(low, high)
    return interval(low, high, metric_name(metric).digits)


def unit_of(metric: str) -> str:
    """Return the unit of a metric as it follows a number; none for shares and rewards."""
    unit = BY_NAME[metric].unit if metric in BY_NAME else ""
    return {"s": "s", "USD": "USD", "tokens": "tokens"}.get(unit, "")


Side = Literal["better", "worse", "unclear"]


def side_of(block: PairedEstimate, alpha: float) -> Side:
    """Return on which side the leading estimate clearly is, interval and test agreeing."""
    found = apparent(block, alpha)
    return found if found in ("better", "worse") else "unclear"
