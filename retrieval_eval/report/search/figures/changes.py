"""Forest of the change of every measure against the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import beside, canvas, light_grid, name, to_svg
from retrieval_eval.report.numbers import interval, p_value, rate, signed
from retrieval_eval.report.search.noise import MEANING, Noise
from retrieval_eval.report.search.records import Change

MAX_ROWS: Final = 24


def draw(
    found: Sequence[Change],
    coverage: str,
    noise: Noise | None = None,
    against: str = "the baseline",
    current: str = "this run",
) -> Figure | Empty:
    """Return a row a measure: change in points with interval, filled where 0 lies outside.

    The band of noise, where that was measured, lies behind each row.
    """
    rows = [c for c in found if c.delta_points is not None][:MAX_ROWS]
    if not rows:
        return Empty("changes", "No query has a value in both runs, so there is no change.")
    with canvas(0.9 + 0.29 * len(rows)) as (figure, (axes,)):
        for y, c in enumerate(rows):
            if noise is not None and (band := noise.band(c.measure)):
                axes.barh(y, 2 * band, left=-band, height=0.74, color=style.FAINT, linewidth=0)
            color = style.TEXT if c.excludes_zero else style.LIGHT_GREY
            if c.ci_low_points is not None and c.ci_high_points is not None:
                axes.hlines(y, c.ci_low_points, c.ci_high_points, color=color, linewidth=1.6)
            fill = color if c.excludes_zero else "white"
            points = [c.delta_points or 0.0]
            axes.plot(points, [y], marker="D", color=color, markerfacecolor=fill, markersize=6)
            beside(axes, y, f"{numbers(c)}, n = {c.n_pairs}")
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        ends = [e for c in rows for e in (c.delta_points, c.ci_low_points, c.ci_high_points) if e]
        ends += [band for c in rows if noise is not None and (band := noise.band(c.measure))]
        reach = max(1.0, *(abs(e) for e in ends), 1.0) * 1.08
        axes.set_xlim(-reach, reach)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [name(c.measure) for c in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"Change against {against} in points, with {coverage} interval")
        light_grid(axes)
        svg = to_svg(figure)
    text = "; ".join(f"{name(c.measure)} {numbers(c)}" for c in rows[:8])
    return Figure(
        "changes",
        svg,
        f"Forest plot of the change of {len(rows)} measures against {against}: {text}.",
        f"Mean over the queries that have the measure in both runs, {current} minus {against}, "
        f"with a {coverage} paired bootstrap interval. Filled: the interval leaves out 0. The "
        f"measures overlap and the intervals are not adjusted for their number.{_caption(noise)}",
        table(found, coverage, noise),
    )


def _caption(noise: Noise | None) -> str:
    if noise is None:
        return " The noise of the system was not measured."
    stale = " That file is stale." if noise.stale else ""
    if noise.is_deterministic:
        return f" The system is deterministic, so there is no band of noise.{stale}"
    return f" Grey: {MEANING[:1].lower()}{MEANING[1:]}{stale}"


def numbers(change: Change, unit: str = "") -> str:
    """Return a change in points with its interval."""
    ends = interval(change.ci_low_points, change.ci_high_points)
    return f"{signed(change.delta_points)}{unit} {ends}"


def table(found: Sequence[Change], coverage: str, noise: Noise | None = None) -> Table:
    """Return every measure: both means, change, interval, noise, p, and what it rests on."""
    return Table(
        "changes-data",
        "Change of every measure",
        (
            "Measure",
            "Baseline",
            "Now",
            "Points",
            f"{coverage} interval",
            *(("Noise",) if noise else ()),
            "p",
            "Pairs",
            "In one run only",
        ),
        tuple(
            (
                c.measure,
                rate(c.baseline),
                rate(c.current),
                signed(c.delta_points),
                interval(c.ci_low_points, c.ci_high_points),
                *((noise.words(c.measure),) if noise else ()),
                p_value(c.p_value),
                str(c.n_pairs),
                str(c.n_only_baseline + c.n_only_current),
            )
            for c in found
        ),
    )
