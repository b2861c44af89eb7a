"""Share of trials that have found a relevant file by then, in seconds and in tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, stairs, to_svg
from retrieval_eval.report.figures.recall_ecdf import quantile
from retrieval_eval.report.numbers import count, of, rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Arm:
    """Times to the first hit of one config's trials, in seconds and tokens.

    ``n_never`` trials never hit. A trial that hit at an unrecorded time is in neither list.
    """

    seconds: Sequence[float]
    tokens: Sequence[float]
    n_never: int

    def median(self, values: Sequence[float]) -> float | None:
        """Return the time by which half of the trials had hit; None when fewer did."""
        total = len(values) + self.n_never
        ordered = sorted(values)
        place = (total + 1) // 2
        return ordered[place - 1] if total and place <= len(ordered) else None


PANELS = {"seconds": "Seconds since the agent started", "tokens": "Tokens used so far"}


def draw(arms: Mapping[str, Arm]) -> Figure | Empty:
    """Return the two cumulative curves; where a curve ends below 1, the rest never hit."""
    shown = {c: a for c, a in arms.items() if a.seconds or a.tokens}
    if not shown:
        return Empty("ttfr", "No trial found a relevant file at a recorded time.")
    groups = style.facets(list(shown))
    with canvas(2.9 * len(groups), rows=len(groups), columns=2, sharey=True) as (figure, panels):
        for row, group in enumerate(groups):
            for column, (unit, title) in enumerate(PANELS.items()):
                axes = panels[row * 2 + column]
                _curves(axes, {c: shown[c] for c, _ in group}, unit)
                axes.set_xlabel(title)
                axes.set_ylim(0, 1.03)
                light_grid(axes, "both")
            panels[row * 2].set_ylabel("Share of trials with a hit")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        svg = to_svg(figure)
    text = "; ".join(
        f"{name(c)} half by {rate(a.median(a.seconds), 1)} s and "
        f"{count(a.median(a.tokens))} tokens, never {a.n_never}"
        for c, a in shown.items()
    )
    return Figure(
        "ttfr",
        svg,
        f"Share of trials that have found a relevant file by a time, by config: {text}.",
        "Cumulative share of trials whose first relevant file was found by then. The gap to 1 at "
        "the right end is the share that never found one; such trials stay in the denominator.",
        _table(shown),
    )


def _curves(axes: Axes, arms: Mapping[str, Arm], unit: str) -> None:
    longest = max((max(getattr(a, unit), default=0.0) for a in arms.values()), default=0.0)
    for i, (config, arm) in enumerate(arms.items()):
        values = getattr(arm, unit)
        mark = style.mark(i)
        if not values:
            axes.plot([], [], color=mark.color, linestyle=mark.line, label=name(config))
            continue
        xs, ys = stairs(values, len(values) + arm.n_never)
        axes.step(
            [0, *xs, longest * 1.05],
            [0, *ys, ys[-1]],
            where="post",
            color=mark.color,
            linestyle=mark.line,
            label=name(config),
        )
        axes.plot([longest * 1.05], [ys[-1]], marker=mark.marker, color=mark.color, clip_on=False)
    axes.set_xlim(0, longest * 1.08 or 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="x", nbins=5)


def _table(arms: Mapping[str, Arm]) -> Table:
    def row(config: str, arm: Arm) -> tuple[str, ...]:
        total = len(arm.seconds) + arm.n_never
        return (
            config,
            of(arm.n_never, max(total, len(arm.tokens) + arm.n_never)),
            rate(arm.median(arm.seconds), 1),
            *(rate(quantile(arm.seconds, q), 1) if arm.seconds else "—" for q in (0.25, 0.75)),
            count(arm.median(arm.tokens)),
            *(count(quantile(arm.tokens, q)) if arm.tokens else "—" for q in (0.25, 0.75)),
        )

    return Table(
        "ttfr-data",
        "Time to first relevant file; quartiles are over the trials that hit",
        (
            "Config",
            "Never hit",
            "Half had hit by (s)",
            "25 % (s)",
            "75 % (s)",
            "Half had hit by (tokens)",
            "25 % (tokens)",
            "75 % (tokens)",
        ),
        tuple(row(c, a) for c, a in arms.items()),
    )
