"""Heat map of the difference by suite and candidate-set size, and by evidence type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, name, to_svg
from retrieval_eval.report.numbers import signed

MIN_N: Final = 5
SIZES: Final = {"small": "small ≤ 5", "medium": "medium 6–20", "large": "large > 20"}
Cells = Mapping[tuple[str, str], tuple[float, int]]
"""By row and column, mean difference and number of matched tasks."""
MAX_ROWS: Final = 25


def draw(cells: Cells, rows: Sequence[str], columns: Sequence[str]) -> Figure | Empty:
    """Return the heat map; cells with fewer than five tasks are hatched and show only their n."""
    if not cells:
        return Empty("slices", "No matched task, so there is nothing to slice.")
    shown = list(rows)[:MAX_ROWS]
    limit = max([0.25, *(abs(d) for d, n in cells.values() if n >= MIN_N)])
    with canvas(0.9 + 0.42 * len(shown)) as (figure, (axes,)):
        from matplotlib import colormaps
        from matplotlib.patches import Rectangle

        palette = colormaps[style.DIVERGING]
        for y, row in enumerate(shown):
            for x, column in enumerate(columns):
                difference, n = cells.get((row, column), (0.0, 0))
                is_shown = n >= MIN_N
                color = palette(0.5 + 0.5 * difference / limit) if is_shown else "#ffffff"
                axes.add_patch(
                    Rectangle(
                        (x - 0.5, y - 0.5),
                        1,
                        1,
                        facecolor=color,
                        edgecolor="#bdbdbd",
                        hatch="" if is_shown or not n else "////",
                        linewidth=0.8,
                    )
                )
                axes.text(
                    x,
                    y,
                    _cell(difference, n),
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color="white" if is_shown and abs(difference) > 0.62 * limit else style.TEXT,
                    bbox=None if is_shown or not n else {"fc": "white", "ec": "none", "pad": 1.5},
                )
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), [SIZES.get(c, name(c)) for c in columns])
        axes.set_yticks(range(len(shown)), [name(r) for r in shown])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("Files retrieved per trial (mean of both configs)")
        svg = to_svg(figure)
    strong = sorted(
        ((d, r, c, n) for (r, c), (d, n) in cells.items() if n >= MIN_N), key=lambda t: -abs(t[0])
    )
    text = "; ".join(f"{name(r)}, {c}: {signed(d)} (n = {n})" for d, r, c, n in strong[:5])
    table = Table(
        "slices-data",
        "Difference in file recall by slice",
        ("Slice", *(SIZES.get(c, c) for c in columns)),
        tuple((row, *(_cell(*cells.get((row, c), (0.0, 0))) for c in columns)) for row in shown),
    )
    return Figure(
        "slices",
        svg,
        "Mean difference in file recall by suite and number of files retrieved. "
        + (f"Largest: {text}." if text else f"No cell has {MIN_N} matched tasks."),
        "Mean difference in file recall over matched tasks (orange: higher in the second config, "
        f"purple: lower). Hatched cells have fewer than {MIN_N} tasks and are not interpreted.",
        table,
    )


def _cell(difference: float, n: int) -> str:
    if not n:
        return "—"
    return f"{signed(difference)}, n = {n}" if n >= MIN_N else f"n = {n}"
