"""What each query adds to the change of a headline measure, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, to_svg
from retrieval_eval.report.numbers import signed
from retrieval_eval.report.search.records import Change
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS: Final = 60
MAX_BARS: Final = 150
"""Above this the bars are one outline: thousands of rectangles would make the page heavy."""

Moved = Mapping[str, Sequence[tuple[str, float]]]
"""By measure, the queries that moved it (printed name) and what each adds, in points."""


def draw(moved: Moved, changes: Mapping[str, Change]) -> Figure | Empty:
    """Return one panel a measure: bars of the queries that moved it, largest gain first."""
    if not any(moved.values()):
        measures = " or ".join(moved)
        return Empty("moved", f"No query moved {measures}.")
    ordered = {m: sorted(given, key=lambda g: (-g[1], g[0])) for m, given in moved.items()}
    with canvas(2.9, columns=len(ordered)) as (figure, panels):
        for axes, (measure, given) in zip(panels, ordered.items(), strict=True):
            _panel(axes, measure, [points for _, points in given], changes[measure])
        panels[0].set_ylabel("Points added to the mean")
        svg = to_svg(figure)
    text = "; ".join(_words(m, [p for _, p in given], changes[m]) for m, given in ordered.items())
    return Figure(
        "moved",
        svg,
        f"Sorted bars of what single queries add to the change of a mean. {text}.",
        "Every bar is a query; unchanged ones have none. A query adds (now − before) / n, in "
        f"points; the bars add up to the change. {text}.",
        _table(ordered),
    )


def _panel(axes: Axes, measure: str, values: Sequence[float], change: Change) -> None:
    up, down = style.MARKS[2], style.MARKS[1]
    gains, losses = [v for v in values if v > 0], [v for v in values if v < 0]
    for mark, chosen, start in ((up, gains, 0), (down, losses, len(gains))):
        edges = [start + i for i in range(len(chosen) + 1)]
        if not chosen:
            continue
        if len(values) <= MAX_BARS:
            middles = [edge + 0.5 for edge in edges[:-1]]
            axes.bar(middles, chosen, width=0.86, color=mark.color)
        else:
            axes.stairs(chosen, edges, fill=True, color=mark.color)
    axes.axhline(0, color=style.GREY, linewidth=0.8)
    reach = max((abs(v) for v in values), default=0.1) * 1.45
    axes.set_ylim(-reach, reach)
    axes.set_xlim(-0.5, max(len(values), 1) + 0.5)
    axes.set_xticks([])
    axes.set_title(f"{measure} {signed(change.delta_points)} points")
    axes.set_xlabel(f"{len(values):,} of {counted(change.n_pairs, 'query')} moved")
    light_grid(axes, "y")
    for text, place, align, mark in (
        (f"{len(gains):,} higher ▲", (0.99, 0.97), ("right", "top"), up),
        (f"▼ {len(losses):,} lower", (0.01, 0.03), ("left", "bottom"), down),
    ):
        axes.annotate(
            text,
            place,
            xycoords="axes fraction",
            ha=align[0],
            va=align[1],
            color=mark.color,
            weight="bold",
        )


def _words(measure: str, values: Sequence[float], change: Change) -> str:
    higher, lower = sum(v > 0 for v in values), sum(v < 0 for v in values)
    same = change.n_pairs - higher - lower
    return f"{measure}: {higher} higher, {lower} lower, {same} unchanged of {change.n_pairs}"


def _table(moved: Moved) -> Table:
    rows = [(query, m, signed(points)) for m, given in moved.items() for query, points in given]
    rows.sort(key=lambda row: row[1])
    shown = [r for m in moved for r in _ends([row for row in rows if row[1] == m])]
    return Table(
        "moved-data",
        "What single queries add to the change",
        ("Query", "Measure", "Points"),
        tuple(shown),
        ("left", "left", "right"),
        (f"The ends of {len(rows):,} rows; all in contributions.csv.",)
        if len(shown) < len(rows)
        else (),
    )


def _ends(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    half = MAX_ROWS // 2
    return list(rows) if len(rows) <= MAX_ROWS else [*rows[:half], *rows[-half:]]
