"""Estimates with their intervals, one below another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.report import style
from retrieval_eval.report.canvas import hatched, height, legend, light_grid, name, row_labels
from retrieval_eval.report.headings import NAMED, declared, heading, inside
from retrieval_eval.report.names import interval, metric_name, p_value, times_interval, unit_of
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
    is_log: bool | None = None,
) -> Words:
    """Draw an estimate with its interval on each row.

    Metrics of several units share no axis, so that their differences are not drawn together; their
    ratios are, on a logarithmic axis around 1.

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
    is_log
        Whether the axis is logarithmic and no difference is 1; by default where ``estimate`` is a
        ratio.

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
    is_ratio = estimate == "ratio" if is_log is None else is_log
    null = 1.0 if is_ratio else 0.0
    if rows == "metric" and not is_ratio:
        _refuse_mixed_units(frame, estimate)
    metric = "" if rows == "metric" else metric_of(frame)
    what = xlabel or heading(estimate) + (f" of {inside(metric)}" if metric else "")
    found = _estimates(frame, rows, (estimate, low, high), (p, n, limit), by, least)
    if is_ratio and rows == "metric":
        found = [
            replace(e, title=metric_name(str(m)).label)
            for e, m in zip(found, frame["metric"], strict=True)
        ]
    need_rows(frame)
    known = _known(found, estimate, least)
    ends = [v for e in known for v in (e.value, e.low, e.high, e.limit) if v is not None]
    is_signed = min(ends) < 0 or "differ" in estimate or "point" in estimate
    show = NAMED["times" if is_ratio else "signed" if is_signed else "rate"]
    heads = dict.fromkeys(e.head for e in found)
    drawn = [e for head in heads for e in found if e.head == head][:MAX_ROWS]
    lines: list[Estimate | str] = []
    for e in drawn:
        if e.head and e.head not in lines:
            lines.append(e.head)
        lines.append(e)
    edges = min(null, *ends), max(null, *ends)
    notes = ["" if isinstance(e, str) else _note(e, show, _letter(p)) for e in lines]
    for y, line in enumerate(lines):
        if not isinstance(line, str):
            _draw(ax, y, line, edges, is_strong=_is_strong(line, null, has_p=p is not None))
    height(ax, 0.85 + 0.27 * len(lines))
    ax.axvline(null, color=style.GREY, linewidth=0.8)
    if is_ratio:
        _log_axis(ax, edges)
    light_grid(ax)
    row_labels(ax, [e if isinstance(e, str) else e.title for e in lines], notes)
    for tick, line in zip(ax.get_yticklabels(), lines, strict=True):
        tick.set_fontweight("bold" if isinstance(line, str) else "normal")
    ax.set_xlabel(what)
    if limit and any(e.limit is not None for e in found):
        color = style.MARKS[1].color
        handle = ax.plot([], [], color=color, marker="|", linestyle="", markeredgewidth=2.2)
        legend(ax, handle, [heading(limit)])
    strong = [e for e in known if _is_strong(e, null, has_p=p is not None)]
    clear = listed([f"{name(e.whole, 60)} {show(e.value)}" for e in strong])
    test = f"{_letter(p)} is below 0.05" if p else f"The interval leaves out {null:g}"
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
        {c: show for c in (estimate, limit) if c}
        | dict.fromkeys((low, high), _ENDS.get(show, show))
        | ({p: NAMED["p"]} if p else {}),
        {} if isinstance(rows, str) else {"group": "Row"},
    )


_ENDS: Final = {NAMED["signed"]: NAMED["bound"], NAMED["times"]: NAMED["times_bound"]}
"""How the ends of an interval are printed, by how its estimate is."""


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


def _refuse_mixed_units(frame: pd.DataFrame, estimate: str) -> None:
    """Raise where the estimates are differences of metrics in several units."""
    known = declared(estimate)
    if known is None or known.unit != "of the metric":
        return
    units = sorted({unit_of(name) or "a share" for name in texts(frame, "metric")})
    if len(units) > 1:
        raise NothingToShow(
            f"The metrics are in several units ({', '.join(units)}), which share no axis; choose "
            "rows of one unit."
        )


_STEPS: Final = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
"""Parts of a power of ten that are ticks, the fewer the wider the axis."""

_MOST_TICKS: Final = 7


def _log_axis(ax: Axes, edges: tuple[float, float]) -> None:
    """Show ratios on a logarithmic axis, with few ticks that are easily read."""
    from matplotlib.ticker import NullFormatter

    low, high = edges[0] / 1.05, edges[1] * 1.05
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in _STEPS:
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= _MOST_TICKS:
            break
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_xticks(ticks, [f"×{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="x", which="minor", length=0)


def _draw(ax: Axes, y: int, e: Estimate, edges: tuple[float, float], *, is_strong: bool) -> None:
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
        markerfacecolor=mark.color if is_strong else style.PAPER,
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
    if e.low is None or e.high is None:
        return ""
    if show is NAMED["signed"]:
        return interval(e.low, e.high)
    if show is NAMED["times"]:
        return times_interval(e.low, e.high)
    return f"[{show(e.low)}, {show(e.high)}]"


def _is_strong(e: Estimate, null: float, *, has_p: bool) -> bool:
    if has_p:
        return e.p is not None and e.p < 0.05
    return e.low is not None and e.high is not None and (e.low > null or e.high < null)


def _letter(p: str | None) -> str:
    """Return what the column of p or q values is called, adjusted ones by their method."""
    if p and p.startswith("q"):
        return "q"
    return "p (Holm)" if p and p.endswith("holm") else "p"
