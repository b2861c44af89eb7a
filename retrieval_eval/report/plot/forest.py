"""Estimates with their intervals, one below another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.report import style
from retrieval_eval.report.canvas import hatched, height, legend, light_grid, name, row_labels
from retrieval_eval.report.headings import NAMED, heading, inside
from retrieval_eval.report.numbers import p_value
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    labels,
    listed,
    metric_of,
    need_rows,
    numbers,
    texts,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from retrieval_eval.report.headings import Format

MAX_ROWS = 30
"""Rows drawn, those of the frame's beginning; the data table has all."""


@figure("forest")
def forest(
    ax: Axes,
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    estimate: str,
    low: str = "ci_low",
    high: str = "ci_high",
    p: str | None = None,
    by: str | None = None,
    n: str | None = None,
    least: int = 5,
    limit: str | None = None,
    xlabel: str = "",
) -> Words:
    """Draw an estimate with its interval on each row.

    Parameters
    ----------
    frame
        A row an estimate: of associations, metrics, slices.
    rows
        The column (or columns) that names the row.
    estimate, low, high
        The columns of the estimate and of the ends of its interval.
    p
        The column of the (adjusted) p or q value: below 0.05 the mark is filled. Without it the
        mark is filled where the interval leaves out 0.
    by
        The column whose values head the rows that have it in common.
    n, least
        The column of what a row rests on; with fewer than ``least`` it is hatched, and its
        estimate neither drawn nor printed.
    limit
        The column of a limit of the estimate, such as that of a guard, drawn as a tick.
    xlabel
        What is on the axis; by default the heading of ``estimate``, and the metric that the
        frame's rows are about.

    Returns
    -------
    Exhibit
        With ``data`` of one row a row: estimate, interval, and ``p``, ``n`` and ``limit`` if given.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> found = pd.DataFrame({"metric": ["mrr", "reward"], "d": [0.2, 0.1], "low": [0.1, -0.1]})
    >>> rev.plot.forest(found.assign(high=0.3), "metric", "d", "low", "high").finding
    'The interval leaves out 0 in 1 of 2 metrics: MRR +0.20'
    """
    metric = "" if rows == "metric" else metric_of(frame)
    what = xlabel or heading(estimate) + (f" of {inside(metric)}" if metric else "")
    found = _estimates(frame, rows, (estimate, low, high), (p, n, limit), by, least)
    need_rows(frame)
    known = _known(found, estimate, least)
    ends = [v for e in known for v in (e.value, e.low, e.high, e.limit) if v is not None]
    is_signed = min(ends) < 0 or "differ" in estimate or "point" in estimate
    show = NAMED["signed" if is_signed else "rate"]
    heads = dict.fromkeys(e.head for e in found)
    drawn = [e for head in heads for e in found if e.head == head][:MAX_ROWS]
    lines: list[Estimate | str] = []
    for e in drawn:
        if e.head and e.head not in lines:
            lines.append(e.head)
        lines.append(e)
    edges = min(0.0, *ends), max(0.0, *ends)
    notes = ["" if isinstance(e, str) else _note(e, show, _letter(p)) for e in lines]
    for y, line in enumerate(lines):
        if not isinstance(line, str):
            _draw(ax, y, line, edges, has_p=p is not None)
    height(ax, 0.85 + 0.27 * len(lines))
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    light_grid(ax)
    row_labels(ax, [e if isinstance(e, str) else e.title for e in lines], notes)
    for tick, line in zip(ax.get_yticklabels(), lines, strict=True):
        tick.set_fontweight("bold" if isinstance(line, str) else "normal")
    ax.set_xlabel(what)
    if limit and any(e.limit is not None for e in found):
        color = style.MARKS[1].color
        handle = ax.plot([], [], color=color, marker="|", linestyle="", markeredgewidth=2.2)
        legend(ax, handle, [heading(limit)])
    strong = [e for e in known if _is_strong(e, has_p=p is not None)]
    clear = listed([f"{name(e.whole, 60)} {show(e.value)}" for e in strong])
    test = f"{_letter(p)} is below 0.05" if p else "The interval leaves out 0"
    parts = [f"{name(e.whole, 60)} {show(e.value)} {_ends(e, show)}" for e in known]
    noun = inside(heading(rows)) if isinstance(rows, str) else "row"
    more = len(found) - len(drawn)
    return Words(
        f"{test} in {len(strong)} of {counted(len(known), noun)}{f': {clear}' if clear else ''}",
        f"{what} with interval, {counted(len(frame), noun)}; filled: "
        f"{test if p else inside(test)}."
        + (f" Hatched: fewer than {least}, not interpreted." if len(known) < len(found) else "")
        + (f" Only in the data: {more} more." if more else ""),
        _data(found, rows, {"head": by, "p": p, "limit": limit, "n": n}, (estimate, low, high)),
        f"Forest plot of {inside(what)}: {listed(parts, 10, '; ')}.",
        {c: show for c in (estimate, low, high, limit) if c} | ({p: NAMED["p"]} if p else {}),
        {} if isinstance(rows, str) else {"group": "Row"},
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row: its heading and name, estimate, interval, p, what it rests on, and its limit."""

    head: str
    title: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: float | None
    limit: float | None
    is_small: bool

    @property
    def whole(self) -> str:
        """The name with its heading."""
        return f"{self.head}: {self.title}" if self.head else self.title


def _estimates(
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    columns: Sequence[str],
    extra: Sequence[str | None],
    by: str | None,
    least: int,
) -> list[Estimate]:
    missing: list[float | None] = [None] * len(frame)
    found = zip(
        texts(frame, by) if by else [""] * len(frame),
        labels(frame, rows),
        *(numbers(frame, column) for column in columns),
        *(numbers(frame, column) if column else missing for column in extra),
        strict=True,
    )
    return [
        Estimate(
            heading(head) if head else "",
            " ~ ".join(heading(part) if part in BY_NAME else part for part in title.split(" · ")),
            value,
            low,
            high,
            p,
            n,
            limit,
            is_small=extra[1] is not None and (n is None or n < least),
        )
        for head, title, value, low, high, p, n, limit in found
    ]


def _known(found: Sequence[Estimate], estimate: str, least: int) -> list[Estimate]:
    known = [e for e in found if e.value is not None and not e.is_small]
    if known:
        return known
    if any(e.is_small for e in found):
        raise NothingToShow(f"No row rests on {least} or more, so that none can be interpreted.")
    raise NothingToShow(f"No row has a value of {inside(heading(estimate))}.")


def _data(
    found: Sequence[Estimate],
    rows: str | Sequence[str],
    extra: Mapping[str, str | None],
    columns: Sequence[str],
) -> pd.DataFrame:
    name = rows if isinstance(rows, str) else "group"
    data: dict[str, list[Any]] = {extra["head"]: [e.head for e in found]} if extra["head"] else {}
    data[name] = [e.title for e in found]
    for column, part in zip(columns, ("value", "low", "high"), strict=True):
        data[column] = [None if e.is_small else getattr(e, part) for e in found]
    for part in ("p", "limit", "n"):
        if label := extra[part]:
            data[label] = [getattr(e, part) for e in found]
    return as_frame(data)


def _draw(ax: Axes, y: int, e: Estimate, edges: tuple[float, float], *, has_p: bool) -> None:
    mark = style.MARKS[0]
    if e.is_small:
        hatched(ax, y, edges[0], (edges[1] - edges[0]) or 1.0)
        return
    if e.value is None:
        return
    if e.low is not None and e.high is not None:
        ax.hlines(y, e.low, e.high, color=style.GREY, linewidth=1.6)
    ax.plot(
        [e.value],
        [y],
        marker=mark.marker,
        color=mark.color,
        markersize=6.5,
        linestyle="",
        markerfacecolor=mark.color if _is_strong(e, has_p=has_p) else style.PAPER,
        zorder=3,
    )
    if e.limit is not None:
        ax.vlines(e.limit, y - 0.32, y + 0.32, color=style.MARKS[1].color, linewidth=2.2)


def _note(e: Estimate, show: Format, letter: str) -> str:
    rests = "" if e.n is None else f"n = {e.n:,.0f}"
    if e.is_small:
        return f"{rests or 'too few'}: not interpreted"
    if e.value is None:
        return "not computable"
    sure = "" if e.p is None else f"{letter} {p_value(e.p)}"
    value = f"{show(e.value)} {_ends(e, show)}".strip()
    return "\n".join([value, *([", ".join(filter(None, (sure, rests)))] if sure or rests else [])])


def _ends(e: Estimate, show: Format) -> str:
    return "" if e.low is None or e.high is None else f"[{show(e.low)}, {show(e.high)}]"


def _is_strong(e: Estimate, *, has_p: bool) -> bool:
    if has_p:
        return e.p is not None and e.p < 0.05
    return e.low is not None and e.high is not None and (e.low > 0 or e.high < 0)


def _letter(p: str | None) -> str:
    return "q" if p and p.startswith("q") else "p"
