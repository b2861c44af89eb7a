"""Error modes as rates, each with its own denominator."""

from __future__ import annotations

from collections.abc import Mapping

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, legend, light_grid, name, to_svg
from retrieval_eval.report.figures.dots import draw_dots
from retrieval_eval.report.names import LABELS
from retrieval_eval.report.numbers import rate, share

Counts = Mapping[str, Mapping[str, tuple[int, int]]]
"""By config and error label, count and denominator summed over trials."""


def draw(counts: Counts) -> Figure | Empty:
    """Return a row per error label with a mark per config."""
    if not any(whole for labels in counts.values() for _, whole in labels.values()):
        return Empty("error-modes", "No trial has ground truth, so no error mode is defined.")
    groups = style.facets(list(counts))
    rows = [
        (
            title,
            {c: _rate(counts[c].get(label, (0, 0))) for c in counts},
            f"of {denominator}",
        )
        for label, (title, denominator) in LABELS.items()
    ]
    with canvas(3.3 * len(groups), rows=len(groups)) as (figure, panels):
        for axes, group in zip(panels, groups, strict=True):
            draw_dots(axes, rows, group)
            light_grid(axes)
            axes.set_xlim(-0.02, 1.02)
            axes.set_xlabel("Rate (labels are not exclusive)")
            handles, labels = axes.get_legend_handles_labels()
            legend(axes, handles, labels)
        svg = to_svg(figure)
    text = "; ".join(
        f"{title.lower()} "
        + ", ".join(f"{name(c)} {rate(_rate(counts[c].get(label, (0, 0))))}" for c in counts)
        for label, (title, _) in LABELS.items()
    )
    table = Table(
        "error-modes-data",
        "Error modes: count of denominator (rate)",
        ("Error mode", *(name(c) for c in counts)),
        tuple(
            (
                f"{title}, of {denominator}",
                *(share(*counts[c].get(label, (0, 0))) for c in counts),
            )
            for label, (title, denominator) in LABELS.items()
        ),
    )
    return Figure(
        "error-modes",
        svg,
        f"Rates of five error modes by config: {text}.",
        "Rates over all trials with ground truth: files summed, each label with its own "
        "denominator. On tasks that write nothing, “unused” counts every file found.",
        table,
    )


def _rate(pair: tuple[int, int]) -> float | None:
    part, whole = pair
    return part / whole if whole else None
