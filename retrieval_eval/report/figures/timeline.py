"""The events of one task as a strip per trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, name, to_svg, whole_ticks
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHAPES: Final = {
    "file_read": "o",
    "code_search": "D",
    "file_search": "|",
    "symbol_navigation": "s",
    "commit_search": "v",
    "deep_search": "*",
    "file_write": "^",
    "other": "X",
}
MAX_STEPS: Final = 400


@dataclass(frozen=True, slots=True)
class Track:
    """One trial: its config and its events as (step, category, hits ground truth)."""

    config: str
    trial: str
    steps: Sequence[tuple[int, str, bool]]

    @property
    def first_hit(self) -> int | None:
        """Step of the first event that hits and is no write."""
        return next((s for s, c, hit in self.steps if hit and c != "file_write"), None)


def steps(events: Iterable[Mapping[str, Any]]) -> list[tuple[int, str, bool]]:
    """Return the steps of a track from the rows of its events."""
    return [
        (int(e["step_index"] or 0), str(e["tool_category"]), e["hits_ground_truth"] is True)
        for e in events
    ]


def draw(tracks: Sequence[Track], task: str, configs: Sequence[str]) -> Figure | Empty:
    """Return the strips, one row a trial, in the order given."""
    shown = [t for t in tracks if t.steps]
    if not shown:
        return Empty("timeline", "No task has events in a trial that could be shown.")
    longest = max(len(t.steps) for t in shown)
    with canvas(1.15 + 0.62 * len(shown)) as (figure, (axes,)):
        from matplotlib.lines import Line2D

        for y, track in enumerate(shown):
            mark = style.mark(list(configs).index(track.config))
            steps = list(track.steps)[:MAX_STEPS]
            axes.plot([steps[0][0], steps[-1][0]], [y, y], color=style.FAINT, linewidth=1, zorder=1)
            _marks(axes, y, steps, mark.color, _size(longest))
            if track.first_hit is not None:
                axes.annotate(
                    "first hit",
                    (track.first_hit, y - 0.12),
                    (track.first_hit, y - 0.42),
                    ha="center",
                    fontsize=8,
                    color=mark.color,
                    arrowprops={"arrowstyle": "-", "color": mark.color, "linewidth": 0.8},
                )
        axes.set_yticks(range(len(shown)), [name(t.config) for t in shown])
        axes.set_ylim(len(shown) - 0.5, -0.75)
        axes.tick_params(axis="y", length=0)
        whole_ticks(axes)
        axes.set_xlabel("Step")
        used = [
            c for c in SHAPES if any(c == category for t in shown for _, category, _ in t.steps)
        ]
        handles = [
            Line2D(
                [],
                [],
                linestyle="",
                marker=SHAPES[c],
                color=style.GREY,
                markerfacecolor="white",
                markersize=6,
            )
            for c in used
        ] + [Line2D([], [], linestyle="", marker="o", color=style.GREY, markersize=6)]
        labels = [c.replace("_", " ") for c in used] + ["filled: hits ground truth"]
        figure.legend(handles, labels, loc="outside lower left", ncols=5)
        svg = to_svg(figure)
    text = "; ".join(
        f"{name(t.config)} {counted(len(t.steps), 'event')}, "
        + ("never hits" if t.first_hit is None else f"first hit at step {t.first_hit}")
        for t in shown
    )
    table = Table(
        "timeline-data",
        "Events in order",
        ("Config and step", "Category", "Hits ground truth"),
        tuple(
            (f"{t.config}, {step}", category, "yes" if hit else "no")
            for t in shown
            for step, category, hit in list(t.steps)[:MAX_STEPS]
        ),
        ("left", "left", "left"),
    )
    return Figure(
        "timeline",
        svg,
        f"Events of the task {name(task, 60)} in order, one strip a trial: {text}.",
        f"Events of the task {name(task, 60)}, one strip a trial, in the order of the trace."
        + (f" Of each the first {MAX_STEPS} are shown." if longest > MAX_STEPS else ""),
        table,
    )


def _marks(
    axes: Axes, y: int, steps: Sequence[tuple[int, str, bool]], color: str, size: float
) -> None:
    for category, shape in SHAPES.items():
        for hits in (False, True):
            xs = [s for s, c, hit in steps if hit is hits and c == category]
            axes.plot(
                xs,
                [y] * len(xs),
                linestyle="",
                marker=shape,
                color=color,
                markersize=max(size, 5) if hits else size,
                markeredgewidth=1.0 if size > 4 else 0.7,
                markerfacecolor=color if hits else "white",
                zorder=4 if hits else 3,
            )


def _size(n_steps: int) -> float:
    """Return the size of a mark in points, so that long traces do not become a band."""
    return min(6.5, max(2.4, 6.5 * 50 / n_steps))
