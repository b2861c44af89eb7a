"""Rows of one mark per config, joined by a line: the form shared by several figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.figures.canvas import beside, name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[tuple[str, Mapping[str, float | None], str]]
"""Row label, value by config (None: not computable), note printed at the right end."""


def draw_dots(axes: Axes, rows: Rows, configs: Sequence[tuple[str, style.Mark]]) -> None:
    """Draw ``rows`` from top to bottom; later configs lie above earlier ones."""
    for y, (_, values, _) in enumerate(rows):
        known = [v for config, _ in configs if (v := values.get(config)) is not None]
        if len(known) > 1:
            axes.plot([min(known), max(known)], [y, y], color="#b5b5b5", linewidth=2, zorder=1)
    for config, mark in configs:
        points = [(v, y) for y, (_, vs, _) in enumerate(rows) if (v := vs.get(config)) is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="",
            marker=mark.marker,
            color=mark.color,
            markeredgecolor="white",
            markeredgewidth=0.6,
            markersize=8,
            label=name(config),
            zorder=3,
        )
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    for y, (_, _, note) in enumerate(rows):
        beside(axes, y, note, x=1.01, size=8.5)
