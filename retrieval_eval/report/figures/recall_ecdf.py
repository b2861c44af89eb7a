"""The distribution of file recall by config."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, legend, light_grid, name, stairs, to_svg
from retrieval_eval.report.numbers import rate
from retrieval_eval.values import counted

_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def draw(values: Mapping[str, Sequence[float]]) -> Figure | Empty:
    """Return the empirical distributions of ``values`` (file recall of each trial by config)."""
    shown = {config: list(v) for config, v in values.items() if v}
    if not shown:
        return Empty("recall-ecdf", "No trial has a computable file recall.")
    groups = style.facets(list(shown))
    with canvas(3.3 * len(groups), rows=len(groups)) as (figure, panels):
        for axes, group in zip(panels, groups, strict=True):
            handles, labels = [], []
            for config, mark in group:
                xs, ys = stairs(shown[config], len(shown[config]))
                axes.step(
                    [0, *xs, 1],
                    [0, *ys, 1],
                    where="post",
                    color=mark.color,
                    linestyle=mark.line,
                )
                middle = statistics.median(shown[config])
                axes.plot([middle], [0.5], marker=mark.marker, color=mark.color, markersize=7.5)
                line = axes.plot([], [], color=mark.color, linestyle=mark.line, marker=mark.marker)[
                    0
                ]
                handles.append(line)
                labels.append(f"{name(config)}: median {rate(middle)}, n = {len(shown[config])}")
            legend(axes, handles, labels)
            light_grid(axes, "both")
            axes.set_xlim(0, 1.01)
            axes.set_ylim(0, 1.02)
            axes.set_ylabel("Share of trials ≤ x")
            axes.set_xlabel("File recall (ground-truth files found / all of them)")
        svg = to_svg(figure)
    medians = ", ".join(
        f"{name(c)} median {rate(statistics.median(v))} over {counted(len(v), 'trial')}"
        for c, v in shown.items()
    )
    table = Table(
        "recall-ecdf-data",
        "Quantiles of file recall",
        ("Config", "n", *(f"{level:.0%}" for level in _LEVELS), "Share at 0", "Share at 1"),
        tuple(
            (
                c,
                str(len(v)),
                *(rate(quantile(v, level)) for level in _LEVELS),
                rate(sum(x == 0 for x in v) / len(v)),
                rate(sum(x == 1 for x in v) / len(v)),
            )
            for c, v in shown.items()
        ),
    )
    return Figure(
        "recall-ecdf",
        svg,
        f"Cumulative distribution of file recall: {medians}.",
        "Empirical distribution of file recall over trials with computable recall; further right "
        "is better. Marks show the medians.",
        table,
    )


def quantile(values: Sequence[float], level: float) -> float:
    """Return the quantile by linear interpolation between order statistics.

    Examples
    --------
    >>> quantile([0.0, 1.0], 0.25)
    0.25
    """
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
