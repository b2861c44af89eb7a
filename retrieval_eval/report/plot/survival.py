"""By when an event had happened: one minus the Kaplan-Meier estimate, by group."""

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
    figure,
    groups_of,
    labels,
    listed,
    marks_of,
    need_rows,
    numbers,
)
from retrieval_eval.stats.kaplan_meier import kaplan_meier
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MIN_N: Final = 5
"""Below five rows no median is interpreted."""


@figure("survival")
def survival(
    ax: Axes,
    frame: pd.DataFrame,
    time: str,
    by: str | Sequence[str] | None = "config_name",
    end: str | None = None,
) -> Words:
    """Draw the share of rows whose event had happened by then, one step curve a group.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    time
        The column of the time of the event, such as ``ttfr_seconds``; missing where there was none.
    by
        The column (or columns) that splits the rows into groups; None for one group.
    end
        The column of the time until which a row without an event was watched, such as
        ``censored_at_seconds``. A row with neither is left out and counted. By default such a row
        is watched until the last time of the frame.

    Returns
    -------
    Exhibit
        With ``data`` of one row a group: ``n``, ``n_hit``, ``n_never`` and the ``median``, which is
        missing where fewer than half had the event, or fewer than five rows were watched.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a"], "ttfr_seconds": [3.0, None]})
    >>> drawn = rev.plot.survival(trials, "ttfr_seconds")
    >>> drawn.finding, drawn.data["n_never"].tolist()
    ('Never reached: 1 of 2 with a', [1])
    """
    times = numbers(frame, time)
    ends = numbers(frame, end) if end else [None] * len(frame)
    groups = labels(frame, by)
    need_rows(frame)
    known = [t for t in times if t is not None]
    if not known:
        raise NothingToShow(f"No row has a value of {inside(heading(time))}.")
    last = max(known)
    found: dict[str, list[tuple[float, bool]]] = {}
    for label, at, until in zip(groups, times, ends, strict=True):
        if at is not None and at >= 0:
            found.setdefault(label, []).append((at, True))
        elif end is None or (until is not None and until >= 0):
            found.setdefault(label, []).append((last if until is None else until, False))
    marks = marks_of(frame, by)
    ordered = [label for label in groups_of(frame, by) if label in found]
    curves = {g: kaplan_meier([t for t, _ in found[g]], [h for _, h in found[g]]) for g in ordered}
    edge = last * 1.05 or 1.0
    for label, curve in curves.items():
        mark = marks[label]
        shares = [1 - s for s in curve.survival]
        ax.step(
            [0, *curve.times, edge],
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
    medians = [c.median().value if c.n >= MIN_N else None for c in curves.values()]
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
    never = [
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
        f"Never reached: {listed(never)}",
        f"Share of {counted(watched, 'row')} by {inside(heading(time))}: one minus the "
        "Kaplan–Meier estimate. A row "
        "without the event counts up to the end of its watch; where a curve ends below 1, the rest "
        "never had it."
        + (f" Left out, as neither is known: {out:,} of {len(frame):,}." if out else ""),
        data,
        f"Share of rows by {inside(heading(time))}: {parts}.",
        {"median": show},
        {"group": heading(by)},
    )
