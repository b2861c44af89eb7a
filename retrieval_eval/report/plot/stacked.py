"""The parts of which each category is made, as a stacked bar."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, legend, name, row_labels
from retrieval_eval.report.headings import heading, inside, percent
from retrieval_eval.report.names import of
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
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST = len(style.PARTS)
REST = "other parts"


@figure("stacked")
def stacked(
    ax: Axes,
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    parts: str,
    weights: str | None = None,
    share: bool = True,
) -> Words:
    """Draw a bar a category, divided into its parts.

    Parameters
    ----------
    frame
        A row a thing that is counted, or a category and part with their number.
    rows
        The column (or columns) that names the category, a bar each.
    parts
        The column that names the part. Parts keep the order in which they appear, or that of a
        categorical column; beyond the seventh they are drawn as one.
    weights
        The column of numbers that are added up; by default rows are counted.
    share
        Whether bars are shares of their own total, or the totals themselves.

    Returns
    -------
    Exhibit
        With ``data`` of one row a category: the number of each part, and the ``total``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> files = pd.DataFrame({"config_name": ["a", "a", "b"], "part": ["used", "never", "used"]})
    >>> drawn = rev.plot.stacked(files, "config_name", "part")
    >>> drawn.finding, drawn.data["used"].tolist()
    ('Used: 50 % with a (1 of 2), 100 % with b (1 of 1)', [1, 1])
    """
    from matplotlib.patches import Patch

    keys = list(zip(labels(frame, rows), labels(frame, parts), strict=True))
    added = numbers(frame, weights) if weights else [1.0] * len(frame)
    need_rows(frame)
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for key, weight in zip(keys, added, strict=True):
        sums[key] += max(0.0, weight or 0.0)
    bars = groups_of(frame, rows)
    kinds = [p for p in groups_of(frame, parts) if any(sums[row, p] for row in bars)]
    totals = {row: sum(sums[row, p] for p in kinds) for row in bars}
    if not kinds:
        raise NothingToShow(f"Nothing is counted by {heading(parts)}.")
    drawn, rest = kinds, []
    if len(kinds) > _MOST:
        drawn, rest = kinds[: _MOST - 1], kinds[_MOST - 1 :]
    looks = dict(zip([*drawn, REST], style.PARTS, strict=False))
    for y, row in enumerate(bars):
        left, whole = 0.0, (totals[row] or 1.0) if share else 1.0
        amounts = [(p, sums[row, p]) for p in drawn] + [(REST, sum(sums[row, p] for p in rest))]
        for part, amount in amounts:
            if amount:
                _bar(ax, y, left, amount / whole, looks[part], max(totals.values()), share)
                left += amount / whole
    height(ax, 1.05 + 0.42 * len(bars) + 0.22 * (len(drawn) // 3))
    what = heading(weights) if weights else "n"
    row_labels(ax, bars, [f"n = {totals[row]:,.0f}" for row in bars])
    ax.set_xlim(0, 1 if share else None)
    if share:
        ax.xaxis.set_major_formatter(lambda value, _: percent(value))
    ax.set_xlabel(what if not share else f"Share of {inside(what)}" if weights else "Share")
    legend(
        ax,
        [
            Patch(facecolor=looks[p][0], hatch=looks[p][1], edgecolor=style.GREY, linewidth=0.6)
            for p in [*drawn, *([REST] if rest else [])]
        ],
        [*drawn, *([REST] if rest else [])],
    )
    whole_number = all(float(v).is_integer() for v in sums.values())
    number: Any = int if whole_number else float
    # Whatever the parts are called, they are columns beside ours.
    columns = {p: f"{p} " if p in ("group", "Total") else p for p in kinds}
    data = as_frame(
        {
            "group": bars,
            **{column: [number(sums[row, p]) for row in bars] for p, column in columns.items()},
            "Total": [number(totals[row]) for row in bars],
        }
    )
    first = kinds[0]
    said = [_share(sums[row, first], totals[row], row) for row in bars if totals[row]]
    words = [
        f"{name(row)} "
        + ", ".join(f"{name(p)} {_share(sums[row, p], totals[row])}" for p in kinds[:8])
        for row in bars
    ]
    return Words(
        f"{name(first, 40)[:1].upper()}{name(first, 40)[1:]}: {listed(said)}",
        f"{heading(parts)} by {inside(heading(rows))}, "
        + (f"{number(sum(totals.values())):,} {inside(what)} in " if weights else "")
        + f"{counted(len(frame), 'row')}.",
        data,
        f"Stacked bars of {inside(heading(parts))} by {inside(heading(rows))}: "
        f"{listed(words, 8, '; ')}.",
        heads={"group": heading(rows), **{column: name(p, 40) for p, column in columns.items()}},
    )


def _share(part: float, whole: float, row: str = "all") -> str:
    """Return a share with what it is of, and with the bar it belongs to where that has a name."""
    of_whole = f"({of(part, whole)})"
    where = "" if row == "all" else f" with {name(row, 36)}"
    return f"{percent(part / whole)}{where} {of_whole}" if whole else of_whole[1:-1]


def _bar(
    ax: Axes,
    y: int,
    left: float,
    width: float,
    look: tuple[str, str, str],
    largest: float,
    share: bool,
) -> None:
    color, hatch, ink = look
    ax.barh(
        y,
        width,
        left=left,
        height=0.62,
        color=color,
        hatch=hatch,
        edgecolor=style.GREY,
        linewidth=0.6,
    )
    if width > (0.1 if share else 0.1 * largest):
        ax.text(
            left + width / 2,
            y,
            f"{100 * width:.0f} %" if share else f"{width:,.0f}",
            ha="center",
            va="center",
            color=ink,
            fontsize=8,
            bbox={"fc": color, "ec": "none", "pad": 1.5} if hatch else None,
        )
