"""By when an event had happened, as a share of all rows, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.report.canvas import group_legend, light_grid, name
from retrieval_eval.report.headings import formatter, heading, inside
from retrieval_eval.report.numbers import MISSING
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    figure,
    groups_of,
    labels,
    listed,
    marks_of,
    need_rows,
    numbers,
)
from retrieval_eval.stats.proportions import reached as share_reached
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MIN_N: Final = 5
"""Below five rows no median is interpreted."""


@figure("reached")
def reached(
    ax: Axes,
    frame: pd.DataFrame,
    time: str,
    by: str | Sequence[str] | None = "config_name",
    never: str | None = None,
) -> Words:
    """Draw the share of rows whose event had happened by then, one step curve a group.

    A row without the event never had it: nothing is assumed of what it would have done later.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    time
        The column of the time of the event, such as ``ttfr_seconds``; missing where there was none.
    by
        The column (or columns) that splits the rows into groups; None for one group.
    never
        The column that says whether a row never had the event, such as ``never_hit``: one without
        a time for which it is not true is left out and counted. By default a row without a time
        never had it.

    Returns
    -------
    Exhibit
        With ``data`` of one row a group: ``n``, ``n_hit``, ``n_never`` and the ``median``, which is
        missing where fewer than half had the event, or there are fewer than five rows.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a"], "ttfr_seconds": [3.0, None]})
    >>> drawn = rev.plot.reached(trials, "ttfr_seconds")
    >>> drawn.finding, drawn.data["n_never"].tolist()
    ('Never reached: 1 of 2 with a', [1])
    """
    times = numbers(frame, time)
    missed = [True] * len(frame) if never is None else [v is True for v in column(frame, never)]
    groups = labels(frame, by)
    need_rows(frame)
    known = [t for t in times if t is not None]
    if not known:
        raise NothingToShow(f"No row has a value of {inside(heading(time))}.")
    last = max(known)
    found: dict[str, list[float | None]] = {}
    for label, at, is_missed in zip(groups, times, missed, strict=True):
        if at is not None and at >= 0:
            found.setdefault(label, []).append(at)
        elif at is None and is_missed:
            found.setdefault(label, []).append(None)
    marks = marks_of(frame, by)
    ordered = [label for label in groups_of(frame, by) if label in found]
    curves = {g: share_reached(found[g]) for g in ordered}
    edge = last * 1.05 or 1.0
    for label, curve in curves.items():
        mark = marks[label]
        shares = [share for _, share in curve.curve]
        ax.step(
            [0, *(at for at, _ in curve.curve), edge],
            [0, *shares, shares[-1] if shares else 0],
            where="post",
            color=mark.color,
            linestyle=mark.line,
        )
        ax.plot(
            [edge],
            [shares[-1] if shares else 0],
            marker=mark.marker,
            color=mark.color,
            linestyle="",
            clip_on=False,
        )
    ax.set_xlim(0, edge * 1.02)
    ax.set_ylim(0, 1.03)
    ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(
        lambda value, _: f"{value / 1000:,.0f}k" if last >= 20_000 and value else f"{value:,g}"
    )
    light_grid(ax, "both")
    ax.set_xlabel(heading(time))
    ax.set_ylabel("Share by then")
    group_legend(ax, {f"{name(g)} (n = {curves[g].n:,})": marks[g] for g in ordered})
    medians = [c.median.value if c.n >= MIN_N else None for c in curves.values()]
    show = formatter(time, [*known, 0.5])
    data = as_frame(
        {
            "group": ordered,
            "n": [c.n for c in curves.values()],
            "n_hit": [c.n_events for c in curves.values()],
            "n_never": [c.n - c.n_events for c in curves.values()],
            "median": medians,
        }
    )
    said = [
        f"{c.n - c.n_events:,} of {c.n:,}{'' if g == 'all' else f' with {name(g, 36)}'}"
        for g, c in curves.items()
    ]
    parts = "; ".join(
        f"{name(g)} half by {MISSING if m is None else show(m)}, "
        f"{c.n - c.n_events:,} of {c.n:,} never"
        for (g, c), m in zip(curves.items(), medians, strict=True)
    )
    watched = sum(c.n for c in curves.values())
    out = len(frame) - watched
    return Words(
        f"Never reached: {listed(said)}",
        f"Share of {counted(watched, 'row')} that had it by {inside(heading(time))}; where a curve "
        "ends below 1, the rest never had it."
        + (f" Left out, as it is not known: {out:,} of {len(frame):,}." if out else ""),
        data,
        f"Share of rows by {inside(heading(time))}: {parts}.",
        {"median": show},
        {"group": heading(by)},
    )
