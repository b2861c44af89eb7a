"""A value for each pair of two categories, as coloured cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrieval_eval.report import style
from retrieval_eval.report.canvas import hatched, height, light_grid, name, row_labels
from retrieval_eval.report.headings import NAMED, formatter, heading, inside
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    labels,
    listed,
    need_rows,
    numbers,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from retrieval_eval.report.headings import Format

_SHORT = 14


@figure("heatmap")
def heatmap(
    ax: Axes,
    frame: pd.DataFrame,
    rows: str,
    columns: str,
    values: str,
    n: str | None = None,
    least: int = 5,
) -> Words:
    """Draw a value for each row and column as a coloured cell with its number.

    With fewer than two rows or two columns of cells dots are drawn on a line instead.

    Parameters
    ----------
    frame
        A row a cell.
    rows, columns
        The columns that name the row and the column of the cell.
    values
        The column of numbers. Where some are negative the colours diverge from 0.
    n, least
        The column of what a cell rests on; a cell of fewer than ``least`` is hatched, and its value
        neither drawn nor printed.

    Returns
    -------
    Exhibit
        With ``data`` of one row a cell: the values of cells that rest on too little are missing.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> cells = {"suite": list("sstt"), "size": list("abab"), "recall": [0, 0.5, 1, 0.25]}
    >>> few = pd.DataFrame({**cells, "n": [9, 9, 9, 2]})
    >>> rev.plot.heatmap(few, "suite", "size", "recall", n="n").finding
    'recall from 0.00 (s, a) to 1.00 (t, a); 1 of 4 cells too small to interpret'
    """
    across, down = labels(frame, columns), labels(frame, rows)
    found, ns = numbers(frame, values), numbers(frame, n) if n else [None] * len(frame)
    need_rows(frame)
    small = [n is not None and (count is None or count < least) for count in ns]
    known = [
        (v, a, b)
        for v, a, b, few in zip(found, down, across, small, strict=True)
        if v is not None and not few
    ]
    if not known and not any(small):
        raise NothingToShow(f"No row has a value of {inside(heading(values))}.")
    if not known:
        raise NothingToShow(f"No cell rests on {least} or more, so that none can be interpreted.")
    is_signed = min(v for v, _, _ in known) < 0 or "differ" in values or "point" in values
    show = NAMED["signed"] if is_signed else formatter(values, [v for v, _, _ in known])
    cells = list(zip(down, across, found, ns, small, strict=True))
    names, heads = groups_of(frame, rows), groups_of(frame, columns)
    if len(names) < 2 or len(heads) < 2:
        _dots(ax, cells, show, is_single_row=len(names) == 1)
        ax.set_xlabel(heading(values))
    else:
        _grid(ax, cells, names, heads, show, is_signed=is_signed)
        ax.set_xlabel(heading(columns))

    def place(row: str, head: str) -> str:
        parts = [(row, names), (head, heads)]
        return ", ".join(name(p) for p, of in parts if len(of) > 1) or name(row)

    n_small = sum(small)
    low, high = min(known), max(known)
    text = (
        f"{heading(values)} from {show(low[0])} ({place(*low[1:])}) to "
        f"{show(high[0])} ({place(*high[1:])})"
    )
    if n_small:
        text += f"; {n_small} of {len(cells)} cells too small to interpret"
    data: dict[str, list[Any]] = {
        rows: list(down),
        columns: list(across),
        values: [None if few else v for v, few in zip(found, small, strict=True)],
    }
    if n:
        data[n] = [None if count is None else int(count) for count in ns]
    parts = [f"{place(a, b)} {show(v)}" for v, a, b in known]
    return Words(
        text,
        f"{heading(values)} by {inside(heading(rows))} and {inside(heading(columns))}, "
        f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}."
        + (f" Hatched: fewer than {least}, not interpreted." if n_small else ""),
        as_frame(data),
        f"Cells of {inside(heading(values))} by {inside(heading(rows))} and "
        f"{inside(heading(columns))}: {listed(parts, 12, '; ')}.",
        {values: show},
    )


Cells = list[tuple[str, str, float | None, float | None, bool]]
"""Row, column, value, what it rests on, and whether that is too little."""


def _grid(
    ax: Axes, cells: Cells, names: list[str], heads: list[str], show: Format, *, is_signed: bool
) -> None:
    import numpy as np
    import seaborn as sns
    from matplotlib.patches import Rectangle

    shown = np.full((len(names), len(heads)), np.nan)
    words = np.full(shown.shape, "", dtype=object)
    for row, head, value, count, few in cells:
        at = (names.index(row), heads.index(head))
        note = "" if count is None else f"\nn = {count:,.0f}"
        words[at] = f"n = {count:,.0f}" if few and count is not None else "—"
        if value is not None and not few:
            shown[at], words[at] = value, f"{show(value)}{note}"
    reach = float(np.nanmax(np.abs(shown))) or 1.0
    limits = (-reach, reach) if is_signed else (0.0, max(1.0, reach) if reach <= 1 else reach)
    for row, head, _, count, few in cells:
        if few:
            x, y = heads.index(head), names.index(row)
            ax.add_patch(
                Rectangle((x, y), 1, 1, fc=style.PAPER, ec=style.LIGHT_GREY, hatch="////", lw=0)
            )
            ax.text(
                x + 0.5,
                y + 0.5,
                "" if count is None else f"n = {count:,.0f}",
                ha="center",
                va="center",
                fontsize=8,
                color=style.TEXT,
                bbox={"fc": style.PAPER, "ec": "none", "pad": 1.0},
            )
    sns.heatmap(
        shown,
        ax=ax,
        cmap="PuOr" if is_signed else "cividis",
        vmin=limits[0],
        vmax=limits[1],
        cbar=False,
        annot=np.where(np.isnan(shown), "", words),
        fmt="",
        annot_kws={"fontsize": 8},
        linewidths=1,
        linecolor=style.PAPER,
    )
    for text in ax.texts:  # seaborn chose by the cell behind it, which is the same on a dark page
        if text.get_color() not in (style.TEXT, "w"):
            text.set_color(style.ON_LIGHT)
    height(ax, 0.9 + 0.42 * len(names))
    row_labels(ax, names, middle=0.5)
    turned = max(map(len, heads)) * len(heads) > 75
    ax.set_xticks(
        [i + 0.5 for i in range(len(heads))],
        [name(g, _SHORT if turned else 30) for g in heads],
        rotation=30 if turned else 0,
        ha="right" if turned else "center",
    )
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _dots(ax: Axes, cells: Cells, show: Format, *, is_single_row: bool) -> None:
    mark = style.MARKS[0]
    known = [v for *_, v, _, few in cells if v is not None and not few]
    low, high = min(0.0, *known), max(0.0, *known)
    notes = []
    for y, (_, _, value, count, few) in enumerate(cells):
        rests = "" if count is None else f"n = {count:,.0f}"
        if few:
            hatched(ax, y, low, (high - low) or 1.0)
            notes.append(f"{rests}: not interpreted")
        elif value is not None:
            ax.plot([0, value], [y, y], color=style.FAINT, linewidth=2, zorder=1)
            ax.plot([value], [y], marker=mark.marker, color=mark.color, markersize=7, zorder=3)
            notes.append(f"{show(value)}{f', {rests}' if rests else ''}")
        else:
            notes.append("—")
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    light_grid(ax)

    height(ax, 0.8 + 0.34 * len(cells))
    row_labels(ax, [head if is_single_row else row for row, head, *_ in cells], notes)
