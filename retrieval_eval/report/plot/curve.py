"""One column over another as a line, with points of it named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retrieval_eval.report import style
from retrieval_eval.report.canvas import legend, light_grid, name
from retrieval_eval.report.headings import formatter, heading, inside
from retrieval_eval.report.names import MISSING
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    labels,
    marks_of,
    need_rows,
    numbers,
    texts,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("curve", height=3.6)
def curve(
    ax: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    marks: str | Mapping[str, tuple[float, float]] | None = None,
    by: str | Sequence[str] | None = None,
    diagonal: bool = False,
    xlabel: str = "",
    ylabel: str = "",
) -> Words:
    """Draw a line through the points of a frame, in their order along the axis.

    Parameters
    ----------
    frame
        A row a point, such as a threshold of an ROC.
    x, y
        The columns of the two axes; rows without both are left out and counted.
    marks
        The column that names some points (missing elsewhere), or names and places of marks of their
        own, such as ``{"this run": (0.1, 0.8)}``.
    by
        The column (or columns) that splits the rows into lines; None for one.
    diagonal
        Whether to draw what chance would give: both columns equal.
    xlabel, ylabel
        What is on the axes; by default the headings of the columns.

    Returns
    -------
    Exhibit
        With ``data`` of one row a point drawn, its name in ``mark``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> roc = pd.DataFrame({"refused": [0.0, 0.25, 1.0], "caught": [0.0, 0.75, 1.0]})
    >>> rev.plot.curve(roc, "refused", "caught", marks={"this run": (0.25, 0.75)}).finding
    'caught is 0.75 at 0.25 (this run)'
    """
    lines = labels(frame, by)
    named = texts(frame, marks) if isinstance(marks, str) else [MISSING] * len(frame)
    found = [
        (g, a, b, "" if label == MISSING else label)
        for g, a, b, label in zip(lines, numbers(frame, x), numbers(frame, y), named, strict=True)
        if a is not None and b is not None
    ]
    need_rows(frame)
    if not found:
        raise NothingToShow(
            f"No row has a value of both {inside(heading(x))} and {inside(heading(y))}."
        )
    across, up = xlabel or heading(x), ylabel or heading(y)
    show_x = formatter(x, [a for _, a, _, _ in found] + [0.5])
    show_y = formatter(y, [b for *_, b, _ in found] + [0.5])
    looks, present = marks_of(frame, by), {g for g, *_ in found}
    groups = [g for g in groups_of(frame, by) if g in present]
    handles = []
    for g in groups:
        points = sorted((a, b) for own, a, b, _ in found if own == g)
        look = looks[g]
        handles += ax.plot(
            [a for a, _ in points],
            [b for _, b in points],
            color=look.color,
            linestyle=look.line,
            marker=look.marker if len(points) <= 12 else "",
            markersize=4.5,
            clip_on=False,
        )
    if diagonal:
        ax.plot([0, 1], [0, 1], color=style.LIGHT_GREY, linewidth=1.0, linestyle=":", zorder=1)
    special = [(label, a, b) for _, a, b, label in found if label]
    if isinstance(marks, Mapping):
        special += [(label, float(a), float(b)) for label, (a, b) in marks.items()]
    for label, a, b in special:
        ax.plot(
            [a],
            [b],
            marker="o",
            markersize=10,
            markerfacecolor="none",
            markeredgewidth=2,
            color=style.TEXT,
            linestyle="",
            clip_on=False,
        )
        middle = sum(ax.get_xlim()) / 2
        bottom, top = ax.get_ylim()
        is_low = b < bottom + 0.2 * (top - bottom)
        ax.annotate(
            name(label, 40),
            (a, b),
            (10 if a <= middle else -10, 8 if is_low else -10),
            textcoords="offset points",
            ha="left" if a <= middle else "right",
            va="bottom" if is_low else "top",
            weight="bold",
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.0},
        )
    light_grid(ax, "both")
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    if len(groups) > 1:
        legend(ax, handles, [name(g) for g in groups])
    ends = sorted((a, b) for _, a, b, _ in found)
    if special:
        places = "; ".join(
            f"{show_y(b)} at {show_x(a)} ({name(label, 40)})" for label, a, b in special
        )
        finding = f"{up} is {places}"
    else:
        (a0, b0), (a1, b1) = ends[0], ends[-1]
        finding = f"{up} goes from {show_y(b0)} at {show_x(a0)} to {show_y(b1)} at {show_x(a1)}"
    out = len(frame) - len(found)
    n = counted(len(found), "point") + (f", {out:,} without a value left out" if out else "")
    data: dict[str, list[Any]] = {x: [a for _, a, _, _ in found], y: [b for *_, b, _ in found]}
    if by:
        data = {"group": [g for g, *_ in found], **data}
    if special:
        data["mark"] = [label or None for *_, label in found]
        for label, a, b in special if isinstance(marks, Mapping) else ():
            for column, value in {"group": None, x: a, y: b, "mark": label}.items():
                if column in data:
                    data[column].append(value)
    return Words(
        finding,
        f"{up} by {inside(across)}, {n}.",
        as_frame(data),
        f"Line of {inside(up)} by {inside(across)} over {n}: {inside(finding)}.",
        {x: show_x, y: show_y},
    )
