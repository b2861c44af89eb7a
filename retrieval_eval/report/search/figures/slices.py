"""The headline measures within parts of the queries, with intervals and n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import beside, canvas, hatched, light_grid, name, to_svg
from retrieval_eval.report.numbers import rate
from retrieval_eval.report.search.names import DIMENSIONS, SHOWN
from retrieval_eval.report.search.records import Mean, Part
from retrieval_eval.report.search.tables import span
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LEVELS: Final = 12
"""Levels drawn of one dimension, those with most queries; the data table has more."""
MAX_ROWS: Final = 100

Row = tuple[str, Part | None]
"""The label of a row, and its part; None for the heading of a dimension."""


def draw(
    found: Sequence[Part], overall: Mapping[str, Mean], measures: Sequence[str], coverage: str
) -> Figure | Empty:
    """Return a panel a measure; parts under five queries are hatched, with n only."""
    rows = _rows(found)
    if not rows:
        return Empty("search-slices", "No query was asked, so there is nothing to slice.")
    with canvas(0.9 + 0.25 * len(rows), columns=len(measures), sharey=True) as (figure, panels):
        for axes, measure in zip(panels, measures, strict=True):
            _panel(axes, measure, rows, overall.get(measure))
        panels[0].set_ylim(len(rows) - 0.4, -0.6)
        panels[0].set_yticks(range(len(rows)), [label for label, _ in rows])
        for tick, (_, part) in zip(panels[0].get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if part is None else "normal")
        svg = to_svg(figure)
    hidden = len(found) - sum(part is not None for _, part in rows)
    return Figure(
        "search-slices",
        svg,
        f"{' and '.join(measures)} within {counted(len(found), 'part')} of the queries. "
        f"{_words(found, measures)}",
        f"Mean with {coverage} interval; dotted: all queries. Every query is in one level of each "
        f"dimension. Hatched: fewer than {MIN_INTERPRETABLE} queries with a value, not "
        "interpreted. Among so many parts some lie far out by chance."
        + (f" Not drawn: {counted(hidden, 'level')} with fewer queries." if hidden else ""),
        table(found, coverage),
    )


def is_shown(mean: Mean | None) -> bool:
    """Return whether a mean rests on enough queries to be interpreted."""
    return mean is not None and mean.value is not None and mean.n >= MIN_INTERPRETABLE


def _rows(found: Sequence[Part]) -> list[Row]:
    rows: list[Row] = []
    for key in dict.fromkeys(part.dimension for part in found):
        levels = [part for part in found if part.dimension == key]
        kept = sorted(levels, key=lambda p: -p.n_queries)[:MAX_LEVELS]
        rows.append((DIMENSIONS.get(key, key), None))
        rows += [(name(part.level), part) for part in levels if part in kept]
    return rows


def _panel(axes: Axes, measure: str, rows: Sequence[Row], overall: Mean | None) -> None:
    mark = style.mark(0)
    for y, (_, part) in enumerate(rows):
        if part is None:
            continue
        mean = part.means.get(measure)
        n = mean.n if mean is not None else 0
        note = f"n = {n}"
        if mean is not None and is_shown(mean):
            if mean.ci_low is not None and mean.ci_high is not None:
                axes.hlines(y, mean.ci_low, mean.ci_high, color=style.GREY, linewidth=1.6)
            axes.plot([mean.value or 0.0], [y], marker=mark.marker, color=mark.color, clip_on=False)
            note = f"{rate(mean.value)}, {note}"
        else:
            hatched(axes, y, 0, 1)
        beside(axes, y, note)
    if overall is not None and overall.value is not None:
        axes.axvline(overall.value, color=style.TEXT, linewidth=1.1, linestyle=":")
    axes.set_xlim(0, 1)
    axes.set_title(measure)
    axes.tick_params(axis="y", length=0)
    light_grid(axes)


def _words(found: Sequence[Part], measures: Sequence[str]) -> str:
    parts = []
    for measure in measures:
        shown = [
            (mean.value or 0.0, part.level, mean.n)
            for part in found
            if (mean := part.means.get(measure)) is not None and is_shown(mean)
        ]
        if shown:
            low, high = min(shown), max(shown)
            parts.append(
                f"{measure} from {rate(low[0])} ({name(low[1])}, n = {low[2]}) to "
                f"{rate(high[0])} ({name(high[1])}, n = {high[2]})"
            )
    return f"{'; '.join(parts)}." if parts else f"No part has {MIN_INTERPRETABLE} queries."


def table(found: Sequence[Part], coverage: str) -> Table:
    """Return every part with its means; those that are not interpreted show only their n."""
    rows = [
        (
            DIMENSIONS.get(part.dimension, part.dimension),
            name(part.level, 60),
            str(part.n_queries),
            *(_cell(part.means.get(measure)) for measure in SHOWN),
        )
        for part in found
    ]
    return Table(
        "search-slices-data",
        f"Mean [{coverage} interval] (queries with a value) by part of the queries",
        ("Dimension", "Level", "Queries", *SHOWN),
        tuple(rows[:MAX_ROWS]),
        ("left", "left", *["right"] * (1 + len(SHOWN))),
        (f"The first {MAX_ROWS} of {len(rows)} parts; all in slices.csv.",)
        if len(rows) > MAX_ROWS
        else (),
    )


def _cell(mean: Mean | None) -> str:
    if mean is None or not is_shown(mean):
        return f"not interpreted (n = {mean.n if mean else 0})"
    return f"{rate(mean.value)} {span(mean.ci_low, mean.ci_high)} ({mean.n})"
