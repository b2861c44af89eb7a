"""Which kinds of tools the agents used, as shares of their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, legend, light_grid, name, to_svg
from retrieval_eval.report.figures.dots import draw_dots
from retrieval_eval.report.numbers import share
from retrieval_eval.values import counted

CATEGORIES: Final = (
    "file_read",
    "file_search",
    "code_search",
    "symbol_navigation",
    "commit_search",
    "deep_search",
    "file_write",
    "other",
)


def draw(counts: Mapping[str, Mapping[str, int]]) -> Figure | Empty:
    """Return a row per tool category; ``counts`` are events by config and category."""
    totals = {config: sum(by.values()) for config, by in counts.items()}
    shown = {config: by for config, by in counts.items() if totals[config]}
    if not shown:
        return Empty("tool-mix", "No trial has a retrieval event.")
    used = [c for c in CATEGORIES if any(by.get(c) for by in shown.values())]
    rows = [
        (
            category.replace("_", " "),
            {config: by.get(category, 0) / totals[config] for config, by in shown.items()},
            "",
        )
        for category in used
    ]
    groups = style.facets(list(shown))
    height = (0.95 + 0.3 * len(rows)) * len(groups)
    with canvas(height, rows=len(groups)) as (figure, panels):
        for axes, group in zip(panels, groups, strict=True):
            draw_dots(axes, rows, group)
            light_grid(axes)
            axes.set_xlim(left=-0.01)
            axes.set_xlabel("Share of the config's events")
            handles, _ = axes.get_legend_handles_labels()
            labels = [f"{name(c)} ({counted(totals[c], 'event')})" for c, _ in group]
            legend(axes, handles, labels)
        svg = to_svg(figure)
    text = "; ".join(
        f"{category.replace('_', ' ')} "
        + ", ".join(f"{name(c)} {by.get(category, 0) / totals[c]:.2f}" for c, by in shown.items())
        for category in used
    )
    table = Table(
        "tool-mix-data",
        "Events by tool category: count of all events (share)",
        ("Category", *(name(c) for c in shown)),
        tuple(
            (category, *(share(by.get(category, 0), totals[c]) for c, by in shown.items()))
            for category in used
        ),
    )
    return Figure(
        "tool-mix",
        svg,
        f"Share of events by tool category and config: {text}.",
        "Events of all trials. A shell call counts as other, each command in it that touched "
        "files as an event of its own category.",
        table,
    )
