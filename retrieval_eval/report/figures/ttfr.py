"""Share of tasks whose relevant file was found by then, in seconds, tokens and calls.

Of repeats the first is taken for its task, as the analysis has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.model.impact import FirstHitCurve
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.numbers import MISSING, of, rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS: Final = {
    "seconds": "Seconds since the start",
    "tokens": "Tokens used so far",
    "calls": "Tool calls so far",
}
_DIGITS: Final = {"seconds": 1, "tokens": 0, "calls": 0}
MIN_N: Final = 5
"""Below five tasks no median and no mean is interpreted."""
_SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


def draw(found: Sequence[FirstHitCurve], configs: Sequence[str]) -> Figure | Empty:
    """Return a cumulative curve per config and unit; what stays below 1 never hit."""
    by_unit = {u: {f.config_name: f for f in found if f.unit == u and f.n} for u in PANELS}
    shown = [c for c in configs if any(c in by and by[c].curve for by in by_unit.values())]
    if not shown:
        return Empty("ttfr", "No trial found a relevant file at a recorded time.")
    groups = style.facets(shown)
    with canvas(2.9 * len(groups), rows=len(groups), columns=3, sharey=True) as (figure, panels):
        for row, group in enumerate(groups):
            for column, (unit, title) in enumerate(PANELS.items()):
                axes = panels[row * 3 + column]
                _curves(axes, {c: (by_unit[unit].get(c), mark) for c, mark in group})
                axes.set_xlabel(title)
                axes.set_ylim(0, 1.03)
                light_grid(axes, "both")
            panels[row * 3].set_ylabel("Share with a hit")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        svg = to_svg(figure)
    text = "; ".join(_words(f) for c in shown for u in PANELS if (f := by_unit[u].get(c)))
    return Figure(
        "ttfr",
        svg,
        f"Share of tasks with a relevant file found by then, by config: {text}.",
        "One minus the Kaplan–Meier estimate: the share of tasks whose first relevant file was "
        "found by then. Of repeats the first is taken. A trial that never found one is "
        "watched until its end and counts up to there; where a curve ends below 1, the rest never "
        "found one.",
        _reached([f for u in PANELS for c in shown if (f := by_unit[u].get(c))]),
    )


def _curves(axes: Axes, arms: Mapping[str, tuple[FirstHitCurve | None, style.Mark]]) -> None:
    ends = [f.curve[-1][0] for f, _ in arms.values() if f is not None and f.curve]
    longest = max(ends, default=0.0)
    for config, (found, mark) in arms.items():
        if found is None or not found.curve:
            axes.plot([], [], color=mark.color, linestyle=mark.line, label=name(config))
            continue
        xs, ys = [x for x, _ in found.curve], [y for _, y in found.curve]
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
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))
    axes.locator_params(axis="x", nbins=4)


def _short(value: float) -> str:
    return f"{value / 1000:,.0f}k" if value >= 10_000 else f"{value:,.0f}"


def _words(found: FirstHitCurve) -> str:
    median = rate(found.median if found.n >= MIN_N else None, _DIGITS[found.unit])
    return (
        f"{name(found.config_name)} half by {median} {found.unit}, "
        f"{of(found.n_never, found.n)} never"
    )


def _reached(found: Sequence[FirstHitCurve]) -> Table:
    def by(f: FirstHitCurve, share: float) -> str:
        time = next((x for x, y in f.curve if y >= share - 1e-12), None)
        return rate(time, _DIGITS.get(f.unit, 1))

    return Table(
        "ttfr-data",
        "By when a relevant file was found on a share of the tasks (— not reached)",
        ("Config", "Unit", *(f"{share:.0%}" for share in _SHARES), "At the end"),
        tuple(
            (
                f.config_name,
                f.unit,
                *(by(f, share) for share in _SHARES),
                rate(f.curve[-1][1] if f.curve else None),
            )
            for f in found
        ),
        ("left", "left", *["right"] * (len(_SHARES) + 1)),
    )


def table(found: Sequence[FirstHitCurve], configs: Sequence[str]) -> Table:
    """Return one row a unit and config: share never hit, median and restricted mean."""
    by = {(str(f.unit), f.config_name): f for f in found}
    ordered = [f for unit in PANELS for c in configs if (f := by.get((unit, c)))]
    return Table(
        "ttfr-times",
        "Time to the first relevant file [95 % interval], tasks without a hit counted as such",
        (
            "Config",
            "Unit",
            "Never hit",
            "Share never",
            "Median",
            "Restricted mean",
            "Up to",
        ),
        tuple(_row(f) for f in ordered),
        ("left", "left", "right", "right", "right", "right", "right"),
        (
            (
                f"Median: by then half had found one; {MISSING} where fewer than half did, or "
                f"fewer than {MIN_N} tasks were watched. The restricted mean is the mean time "
                "without a hit up to the end that every config was watched. Intervals take tasks "
                "as independent of each other."
            ),
        ),
    )


def _row(f: FirstHitCurve) -> tuple[str, ...]:
    digits = _DIGITS.get(f.unit, 1)
    return (
        f.config_name,
        f.unit,
        of(f.n_never, f.n),
        _with_ends(f.share_never, f.share_never_low, f.share_never_high, 2),
        _with_ends(f.median, f.median_low, f.median_high, digits, is_open=True)
        if f.n >= MIN_N
        else MISSING,
        _with_ends(f.restricted_mean, f.restricted_mean_low, f.restricted_mean_high, digits)
        if f.n >= MIN_N
        else MISSING,
        rate(f.until, digits),
    )


def _with_ends(
    value: float | None,
    low: float | None,
    high: float | None,
    digits: int,
    *,
    is_open: bool = False,
) -> str:
    if value is None:
        return MISSING
    text = rate(value, digits)
    if low is None and high is None:
        return text
    unknown = "not reached" if is_open else MISSING
    ends = [rate(end, digits) if end is not None else unknown for end in (low, high)]
    return f"{text} [{ends[0]}, {ends[1]}]"
