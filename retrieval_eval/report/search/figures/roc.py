"""The ROC of refusing by the top score, with operating point, controls and the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, to_svg
from retrieval_eval.report.numbers import MISSING, finite, rate
from retrieval_eval.report.search.reading import members, records
from retrieval_eval.report.search.tables import span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROWS: Final = 40
_SIZE: Final = 4.2
_PAPER: Final = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


def draw(block: Mapping[str, Any], coverage: str) -> Figure | Empty:
    """Return the curve over all thresholds; the controls stand at its ends, the gate shaded."""
    points = records(block.get("roc"))
    if not points:
        why = (
            "The retriever failed on queries, so there is no curve."
            if block.get("n_failed")
            else "A curve needs both kinds of queries, answerable and unanswerable."
        )
        return Empty("roc", why)
    with canvas(_SIZE, width=style.WIDTH * 0.8) as (figure, (axes,)):
        _gate(axes, members(block.get("gate")))
        _curve(axes, points)
        _controls(axes)
        _operating(axes, block)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.04)
        axes.set_aspect("equal")
        n_answerable, n_unanswerable = block["n_answerable"], block["n_unanswerable"]
        axes.set_xlabel(f"Answerable queries refused (share of {n_answerable:,})")
        axes.set_ylabel(f"Unanswerable queries refused (share of {n_unanswerable:,})")
        light_grid(axes, "both")
        svg = to_svg(figure)
    area = block["auc"]
    summary = f"AUC {rate(area['value'])} {span(area['ci_low'], area['ci_high'])}"
    at = members(block.get("operating_point"))
    return Figure(
        "roc",
        svg,
        f"ROC of refusing by the top score: {summary} over {n_unanswerable} unanswerable and "
        f"{n_answerable} answerable queries. This run refuses "
        f"{rate(at.get('true_positive_rate'))} of the unanswerable and "
        f"{rate(at.get('false_refusal_rate'))} of the answerable; always answering lies at 0 and "
        "0, always refusing at 1 and 1.",
        f"Every point of the line is a threshold of the top score below which a query is refused. "
        f"{summary} ({coverage} interval, DeLong and Newcombe). Shaded: where the gate passes. "
        "Dotted: what chance would give.",
        _table(points),
    )


def _gate(axes: Axes, gate: Mapping[str, Any]) -> None:
    low = finite(gate.get("min_true_positive_rate"))
    high = finite(gate.get("max_false_refusal_rate"))
    if low is None or high is None:
        return
    soft = style.MARKS[2].soft
    axes.fill_between([-0.02, high], low, 1.04, color=soft, linewidth=0)
    axes.annotate("gate", (high, low), (4, 4), textcoords="offset points", fontsize=8)


def _curve(axes: Axes, points: Sequence[Mapping[str, Any]]) -> None:
    axes.plot([0, 1], [0, 1], color=style.LIGHT_GREY, linewidth=1.0, linestyle=":")
    axes.plot(
        [p["false_refusal_rate"] for p in points],
        [p["true_positive_rate"] for p in points],
        color=style.MARKS[0].color,
        zorder=4,  # above the paper behind the words
    )


def _controls(axes: Axes) -> None:
    for place, mark, words, offset, align in (
        (0, style.MARKS[1], "always answer", (10, 6), "left"),
        (1, style.MARKS[3], "always refuse", (-4, -20), "right"),
    ):
        axes.plot(
            [place],
            [place],
            marker=mark.marker,
            color=mark.color,
            linestyle="",
            markersize=8,
            clip_on=False,
        )
        axes.annotate(
            words,
            (place, place),
            offset,
            textcoords="offset points",
            ha=align,
            color=mark.color,
            weight="bold",
            bbox=_PAPER,
        )


def _operating(axes: Axes, block: Mapping[str, Any]) -> None:
    at = members(block.get("operating_point"))
    caught, refused = finite(at.get("true_positive_rate")), finite(at.get("false_refusal_rate"))
    if caught is None or refused is None:
        return
    axes.plot(
        [refused],
        [caught],
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgewidth=2.2,
        color=style.TEXT,
        linestyle="",
        clip_on=False,
    )
    axes.annotate(
        f"this run: {rate(caught)} caught, {rate(refused)} refused wrongly",
        (refused, caught),
        (14, 22 if caught + refused < 0.1 else -16),
        textcoords="offset points",
        weight="bold",
        bbox=_PAPER,
    )


def _table(points: Sequence[Mapping[str, Any]]) -> Table:
    step = max(1, -(-len(points) // MAX_ROWS))
    shown = list(points)[::step]
    if shown[-1] is not points[-1]:
        shown.append(points[-1])
    note = f"{len(shown)} of {len(points):,} points; all in roc.csv."
    return Table(
        "roc-data",
        "What refusing below a top score does",
        ("Top score below", "Unanswerable refused", "Answerable refused"),
        tuple(
            (
                MISSING if finite(p["threshold"]) is None else f"{p['threshold']:.4g}",
                rate(p["true_positive_rate"]),
                rate(p["false_refusal_rate"]),
            )
            for p in shown
        ),
        notes=(note,) if len(shown) < len(points) else (),
    )
