"""Two values of each category, joined by a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, legend, light_grid, name, row_labels
from retrieval_eval.report.headings import formatter, heading, inside
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    listed,
    metric_of,
    need_rows,
    numbers,
    side_of,
    texts,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("dumbbell")
def dumbbell(
    ax: Axes,
    frame: pd.DataFrame,
    rows: str,
    low: str,
    high: str,
    names: Sequence[str] = (),
    n: str | None = None,
    xlabel: str = "",
) -> Words:
    """Draw two values of each category as two marks and the line between them.

    Parameters
    ----------
    frame
        A row a category, such as a suite or an error mode.
    rows
        The column that names the category.
    low, high
        The columns of the first and the second value, such as those of two configurations; the
        second may be the smaller one.
    names
        What the two are called; by default the configurations of the frame's ``baseline_config``
        and ``comparison_config``, else as the columns are headed.
    n
        The column of what a row rests on: a number, or words such as ``of 12 files``.
    xlabel
        What is on the axis; by default the metric that the frame's rows are about.

    Returns
    -------
    Exhibit
        With ``data`` of one row a category: both values, their ``difference`` and ``n``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> suites = pd.DataFrame({"suite": ["s", "t"], "a": [0.25, 0.5], "b": [0.75, 0.25]})
    >>> rev.plot.dumbbell(suites, "suite", "a", "b").finding
    'b is higher than a in 1 of 2 suites, lower in 1'
    """
    first, second = (names or (side_of(frame, low), side_of(frame, high)))[:2]
    metric = metric_of(frame)
    xlabel = xlabel or (f"Mean {inside(metric)}" if metric and n else metric)
    found = list(zip(texts(frame, rows), numbers(frame, low), numbers(frame, high), strict=True))
    notes = [""] * len(found)
    if n is not None:
        counts = frame[n] if n in frame.columns else texts(frame, n)
        show_n = formatter(n, counts)
        notes = [
            text if isinstance(value, str) else f"n = {text}"
            for value, text in zip(counts, map(show_n, counts), strict=True)
        ]
    need_rows(frame)
    values = [v for _, a, b in found for v in (a, b) if v is not None]
    if not values:
        raise NothingToShow(f"No row has a value of {first} or {second}.")
    show = formatter(low, values)
    for y, (_, a, b) in enumerate(found):
        if a is not None and b is not None:
            ax.plot([a, b], [y, y], color=style.LIGHT_GREY, linewidth=2, zorder=1)
    for side, mark in (
        ([a for _, a, _ in found], style.MARKS[0]),
        ([b for _, _, b in found], style.MARKS[1]),
    ):
        points = [(v, y) for y, v in enumerate(side) if v is not None]
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="",
            marker=mark.marker,
            color=mark.color,
            markeredgecolor=style.PAPER,
            markeredgewidth=0.6,
            markersize=9 if mark is style.MARKS[0] else 7,  # both are seen where they are equal
            zorder=3,
        )
    handles = ax.get_lines()[-2:]
    height(ax, 1.0 + 0.32 * len(found))
    row_labels(ax, [label for label, _, _ in found], notes)
    light_grid(ax)
    if min(values) >= 0:
        ax.set_xlim(-0.02 * max(values, default=1.0), 1.02 if 0.2 < max(values) <= 1 else None)
    ax.set_xlabel(xlabel)
    legend(ax, handles, [name(first, 40), name(second, 40)])
    pairs = [(a, b) for _, a, b in found if a is not None and b is not None]
    up, down = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
    columns: dict[str, list[Any]] = {
        rows: [label for label, _, _ in found],
        low: [a for _, a, _ in found],
        high: [b for _, _, b in found],
        "difference": [None if a is None or b is None else b - a for _, a, b in found],
    }
    if n is not None:
        columns[n] = list(counts)
    parts = [
        f"{name(label)} {show(a) if a is not None else 'unknown'} and "
        f"{show(b) if b is not None else 'unknown'}{f' ({note})' if note else ''}"
        for (label, a, b), note in zip(found, notes, strict=True)
    ]
    about = f"{xlabel}, " if xlabel else ""
    noun = inside(heading(rows))
    return Words(
        f"{name(second, 36)} is higher than {name(first, 36)} in {up} of "
        f"{counted(len(pairs), noun)}, lower in {down}",
        about + f"{name(first, 40)} and {name(second, 40)} of {counted(len(found), noun)}.",
        as_frame(columns),
        about + f"{name(first, 40)} and {name(second, 40)}: {listed(parts, 12, '; ')}.",
        {low: show, high: show},
        {low: name(first, 40), high: name(second, 40)},
    )
