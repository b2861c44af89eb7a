"""A value over time, with its interval, joined only where it rests on the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from retrieval_eval.report.canvas import group_legend, light_grid, name
from retrieval_eval.report.headings import Format, formatter, heading, inside
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    known_of,
    labels,
    listed,
    marks_of,
    need_rows,
    numbers,
    texts,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_TICKS = 7


@figure("over_time", height=3.4)
def over_time(
    ax: Axes,
    frame: pd.DataFrame,
    value: str,
    when: str = "moment",
    by: str | Sequence[str] | None = "series",
    low: str | None = None,
    high: str | None = None,
    line: str | None = None,
    names: str | None = None,
    ylabel: str = "",
) -> Words:
    """Draw a value at each moment in their order, evenly spaced; nothing is ordered by value.

    Parameters
    ----------
    frame
        A row a measurement, such as ``history.metrics``.
    value
        The column of numbers; rows without one are left out and counted.
    when
        The column of moments as text that sorts, such as ``2026-07-01T10:00:00Z``.
    by
        The column (or columns) that splits the rows into series; None for one.
    low, high
        The columns of the ends of an interval.
    line
        The column that says which rows of a series rest on the same: only these are joined. By
        default all are.
    names
        The column that names the moments, such as ``run``.
    ylabel
        What is on the vertical axis; by default the heading of the column.

    Returns
    -------
    Exhibit
        With ``data`` of one row a mark: ``group``, ``when``, ``name``, the value, ``low``,
        ``high`` and ``line``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> runs = pd.DataFrame({"moment": ["2026-01-01", "2026-02-01"], "mrr": [0.5, 0.75]})
    >>> rev.plot.over_time(runs, "mrr", by=None).finding
    'MRR is 0.75 at 2026-02-01, after 0.50'
    """
    missing: list[float | None] = [None] * len(frame)
    columns = zip(
        texts(frame, when),
        labels(frame, by),
        texts(frame, line) if line else [""] * len(frame),
        numbers(frame, value),
        numbers(frame, low) if low else missing,
        numbers(frame, high) if high else missing,
        texts(frame, names) if names else [""] * len(frame),
        strict=True,
    )
    need_rows(frame)
    found = sorted(
        ((at, g, own, v, a, b, who) for at, g, own, v, a, b, who in columns if v is not None),
        key=lambda row: row[0],
    )
    if not found:
        raise NothingToShow(f"No row has a value of {inside(heading(value))}.")
    moments = sorted({(at, who) for at, *_, who in found})
    places = {moment: i for i, moment in enumerate(moments)}
    looks, present = marks_of(frame, by), {g for _, g, *_ in found}
    groups = [g for g in groups_of(frame, by) if g in present]
    breaks, said = 0, []
    title = ylabel or heading(value)
    show = formatter(value, [row[3] for row in found])
    for number, g in enumerate(groups):
        look, rows = looks[g], [row for row in found if row[1] == g]
        aside = (number - (len(groups) - 1) / 2) * min(0.08, 0.5 / len(groups))
        joined = [list(part) for _, part in groupby(rows, key=lambda row: row[2])]
        breaks += len(joined) - 1
        for part in joined:
            x = [places[at, who] + aside for at, *_, who in part]
            for place, (*_, a, b, _who) in zip(x, part, strict=True):
                if a is not None and b is not None:
                    ax.vlines(place, a, b, color=look.color, linewidth=1.2, alpha=0.6)
            ax.plot(
                x,
                [row[3] for row in part],
                color=look.color,
                linestyle=look.line,
                marker=look.marker,
                markersize=5,
            )
        said.append(_said(rows, show, g if len(groups) > 1 else "", when_named=bool(names)))
    light_grid(ax, "y")
    step = -(-len(moments) // _MOST_TICKS)
    ticks = list(range(0, len(moments), step))
    ax.set_xticks(ticks, [_tick(*moments[i]) for i in ticks])
    ax.set_xlim(-0.5, len(moments) - 0.5)
    ax.set_ylabel(title)
    values = [row[3] for row in found]
    if min(values) >= 0:
        ax.set_ylim(0, 1.02 if max(values) <= 1 else None)
    if len(groups) > 1:
        group_legend(ax, {name(g): looks[g] for g in groups})
    data = as_frame(
        {
            "group": [g for _, g, *_ in found],
            "when": [at for at, *_ in found],
            "name": [who for *_, who in found],
            "value": values,
            "low": [row[4] for row in found],
            "high": [row[5] for row in found],
            "line": [row[2] for row in found],
        }
    )
    finding = f"{title} is {listed(said, 2, '; ')}"
    broken = f"; in {counted(breaks, 'place')} the basis changed, and nothing is joined there"
    ends = " with 95 % intervals" if low and high else ""
    caption = (
        f"{title} at {counted(len(moments), 'moment')} in order of time, evenly spaced{ends}, "
        f"{known_of(len(found), len(frame))}{broken if breaks else ''}."
    )
    last = "; ".join(
        f"{name(g)}: {show(row[3])} {_ends(row[4], row[5], show)}".rstrip()
        for g in groups
        for row in [[r for r in found if r[1] == g][-1]]
    )
    alt = f"{title} over time, {counted(len(groups), 'line')}. Last values: {last}."
    return Words(finding, caption, data, alt=alt)


def _said(rows: Sequence[tuple[Any, ...]], show: Format, group: str, *, when_named: bool) -> str:
    """Return the last value of a series, and the one before it where both rest on the same."""
    at, _, own, value, *_, who = rows[-1]
    where = f" with {name(who)}" if when_named and who else f" at {at[:10]}"
    of = f" ({name(group)})" if group else ""
    before = rows[-2] if len(rows) > 1 and rows[-2][2] == own else None
    return f"{show(value)}{where}{of}" + (f", after {show(before[3])}" if before else "")


def _ends(low: float | None, high: float | None, show: Format) -> str:
    return "" if low is None or high is None else f"[{show(low)}, {show(high)}]"


def _tick(at: str, who: str) -> str:
    return f"{at[:10]}\n{name(who, 14)}" if who else at[:10]
