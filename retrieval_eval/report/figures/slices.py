"""Paired difference within slices of the tasks, every dimension in one column of dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.model.impact import PairSlice
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import beside, canvas, hatched, light_grid, name, to_svg
from retrieval_eval.report.numbers import MISSING, interval, rate, signed
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LEVELS: Final = 12
"""Levels drawn of one dimension, those with most tasks; the data table has all."""
DIMENSIONS: Final[dict[str, str]] = {
    "suite": "Suite",
    "candidate_set_size": "Files retrieved",
    "evidence_type": "MCP used by either config",
    "n_ground_truth_files": "Ground-truth files",
    "n_repositories": "Repositories",
    "ground_truth_confidence": "Confidence of ground truth",
}
SIZES: Final = {"small": "small: up to 5", "medium": "medium: 6–20", "large": "large: over 20"}

Row = tuple[str, PairSlice | None]
"""The label of a row, and its slice; None for the heading of a dimension."""


def draw(found: Sequence[PairSlice], overall: float | None, metric: str) -> Figure | Empty:
    """Return a dot and interval per slice; slices under five tasks are hatched, with n only."""
    rows = _rows(found)
    if not rows:
        return Empty("slices", "No matched task, so there is nothing to slice.")
    with canvas(0.75 + 0.235 * len(rows)) as (figure, (axes,)):
        _marks(axes, rows)
        if overall is not None:
            axes.axvline(overall, color=style.TEXT, linewidth=1.1, linestyle=":")
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        light_grid(axes)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        for tick, (_, cell) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if cell is None else "normal")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"Mean difference in {metric} with 95 % interval (dotted: all tasks)")
        svg = to_svg(figure)
    hidden = len(found) - sum(cell is not None for _, cell in rows)
    large = sorted((s for s in found if is_shown(s)), key=lambda s: -abs(s.mean_difference or 0))
    text = "; ".join(
        f"{name(dimension(s))} {name(level(s))} {signed(s.mean_difference)} (n = {s.n_pairs})"
        for s in large[:6]
    )
    return Figure(
        "slices",
        svg,
        f"Mean difference in {metric} within {len(found)} slices of the matched tasks. "
        + (f"Largest: {text}." if text else f"No slice has {MIN_INTERPRETABLE} matched tasks."),
        f"Every matched task is in one level of each dimension. Hatched levels have fewer than "
        f"{MIN_INTERPRETABLE} tasks and are not interpreted. Intervals are not adjusted for the "
        "number of slices: one that leaves out 0 among so many is expected now and then. They take "
        "tasks as independent: where tasks of a repository or suite are alike, too narrow."
        + (f" Only in the data: {counted(hidden, 'level')} with fewer tasks." if hidden else ""),
        table(found, metric),
    )


def is_shown(cell: PairSlice) -> bool:
    """Return whether a slice holds enough tasks to be interpreted."""
    return (
        cell.interpretable
        and cell.n_pairs >= MIN_INTERPRETABLE
        and cell.mean_difference is not None
    )


def dimension(cell: PairSlice) -> str:
    """Return the printed name of a slice's dimension."""
    return DIMENSIONS.get(cell.dimension) or cell.dimension.replace("_", " ")


def level(cell: PairSlice) -> str:
    """Return the printed name of a slice's level."""
    return SIZES.get(cell.level, cell.level) or "unknown"


def _rows(found: Sequence[PairSlice]) -> list[Row]:
    rows: list[Row] = []
    for key in dict.fromkeys(s.dimension for s in found):
        levels = [s for s in found if s.dimension == key]
        kept = sorted(levels, key=lambda s: -s.n_pairs)[:MAX_LEVELS]
        rows.append((name(dimension(levels[0])), None))
        rows += [(name(level(s)), s) for s in levels if s in kept]
    return rows


def _marks(axes: Axes, rows: Sequence[Row]) -> None:
    cells = [(y, cell) for y, (_, cell) in enumerate(rows) if cell is not None]
    shown = [(y, cell) for y, cell in cells if is_shown(cell)]
    ends = [0.0]
    for y, cell in shown:
        ends += [e for e in (cell.mean_difference, cell.ci_low, cell.ci_high) if e is not None]
        if cell.ci_low is not None and cell.ci_high is not None:
            axes.hlines(y, cell.ci_low, cell.ci_high, color=style.GREY, linewidth=1.6)
    color = style.mark(1).color
    dots = [cell.mean_difference or 0.0 for _, cell in shown]
    axes.plot(dots, [y for y, _ in shown], linestyle="", marker="s", color=color, markersize=6)
    reach = max(0.25, *(abs(e) for e in ends)) * 1.08
    axes.set_xlim(-reach, reach)
    for y, cell in cells:
        if not is_shown(cell):
            hatched(axes, y, -reach, 2 * reach)
        text = _numbers(cell) if is_shown(cell) else f"n = {cell.n_pairs}: not interpreted"
        beside(axes, y, text, x=1.01)


def _numbers(cell: PairSlice) -> str:
    ends = interval(cell.ci_low, cell.ci_high)
    return f"{signed(cell.mean_difference)} {ends}, n = {cell.n_pairs}"


def table(found: Sequence[PairSlice], metric: str) -> Table:
    """Return every slice; those that are not interpreted show only their n."""
    return Table(
        "slices-data",
        f"Paired difference in {metric} by slice",
        ("Dimension", "Level", "Tasks", "First mean", "Second mean", "Difference [95 %]"),
        tuple(
            (
                dimension(s),
                level(s),
                str(s.n_pairs),
                rate(s.mean_baseline) if is_shown(s) else MISSING,
                rate(s.mean_comparison) if is_shown(s) else MISSING,
                f"{signed(s.mean_difference)} {interval(s.ci_low, s.ci_high)}"
                if is_shown(s)
                else "not interpreted",
            )
            for s in found
        ),
        ("left", "left", "right", "right", "right", "right"),
    )
