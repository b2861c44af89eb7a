"""Reward by file recall: in equal bins of recall, and by how much of the truth was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.model.impact import CalibrationBin, RewardTier
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.numbers import MISSING, rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIERS: Final = ("none", "below half", "half or more", "all")
Point = tuple[float, CalibrationBin | RewardTier]
"""Where on the horizontal axis a cell is drawn, and the cell."""


def draw(
    bins: Sequence[CalibrationBin], tiers: Sequence[RewardTier], configs: Sequence[str]
) -> Figure | Empty:
    """Return two panels; cells under five tasks are hollow, without interval and line."""
    cells: list[CalibrationBin | RewardTier] = [*bins, *tiers]
    shown = [c for c in configs if any(x.config_name == c and is_shown(x) for x in cells)]
    if not shown:
        return Empty("reliability", "No recall bin or tier holds five tasks with a reward.")
    groups = style.facets(shown)
    with canvas(2.9 * len(groups), rows=len(groups), columns=2, sharey=True) as (figure, panels):
        for row, group in enumerate(groups):
            left, right = panels[row * 2 : row * 2 + 2]
            for place, (config, mark) in enumerate(group):
                shift = (place - (len(group) - 1) / 2) * 0.16
                own_bins = [b for b in bins if b.config_name == config and b.n]
                own_tiers = [
                    t for t in tiers if t.config_name == config and t.n and t.tier in TIERS
                ]
                _series(left, [(_x(b), b) for b in own_bins], mark, name(config))
                _series(
                    right,
                    [(TIERS.index(t.tier) + shift, t) for t in own_tiers],
                    mark,
                    "",
                    line=False,
                )
            left.set_xlabel("Mean file recall in the bin")
            left.set_xlim(-0.02, 1.02)
            right.set_xlabel("Ground truth found")
            right.set_xticks(range(len(TIERS)), list(TIERS))
            right.set_xlim(-0.5, len(TIERS) - 0.5)
            left.set_ylabel("Mean reward")
            for axes in (left, right):
                light_grid(axes, "y")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        svg = to_svg(figure)
    text = "; ".join(
        f"{name(t.config_name)}, {t.tier}: {rate(t.mean_reward)} (n = {t.n})"
        for t in tiers
        if is_shown(t)
    )
    return Figure(
        "reliability",
        svg,
        f"Mean reward by file recall. By share of ground truth found: {text or 'too few tasks'}.",
        "Mean reward with 95 % interval by file recall, repeats averaged inside a task. Hollow "
        "marks rest on fewer than five tasks and are not interpreted. Intervals take tasks as "
        "independent: where those of a repository or suite are alike, they are too narrow. Harder "
        "tasks may lower both: a rising line is an association.",
        _bins_table(bins),
    )


def is_shown(cell: CalibrationBin | RewardTier) -> bool:
    """Return whether a cell holds enough tasks to be interpreted."""
    return cell.interpretable is True and cell.mean_reward is not None


def _x(cell: CalibrationBin) -> float:
    if cell.mean_recall is not None:
        return cell.mean_recall
    return ((cell.low or 0.0) + (cell.high or 0.0)) / 2


def _series(
    axes: Axes, points: Sequence[Point], mark: style.Mark, label: str, *, line: bool = True
) -> None:
    known = [(x, cell) for x, cell in points if cell.mean_reward is not None]
    solid = [(x, cell) for x, cell in known if cell.interpretable]
    hollow = [(x, cell) for x, cell in known if not cell.interpretable]
    for x, cell in solid:
        if cell.ci_low is not None and cell.ci_high is not None:
            axes.vlines(x, cell.ci_low, cell.ci_high, color=mark.color, linewidth=1.2)
    # Without clipping even a line without points takes part in the layout: it would be at 0, 0.
    axes.plot(
        [x for x, _ in solid],
        [cell.mean_reward or 0.0 for _, cell in solid],
        color=mark.color,
        marker=mark.marker,
        linestyle=mark.line if line else "",
        label=label or None,
        clip_on=not solid,
    )
    axes.plot(
        [x for x, _ in hollow],
        [cell.mean_reward or 0.0 for _, cell in hollow],
        color=style.LIGHT_GREY,
        marker=mark.marker,
        markerfacecolor="white",
        linestyle="",
        clip_on=not hollow,
    )


def _bins_table(bins: Sequence[CalibrationBin]) -> Table:
    return Table(
        "reliability-data",
        "Mean reward by bin of file recall",
        ("Config", "File recall", "Tasks", "Mean recall", "Mean reward [95 %]"),
        tuple(
            (
                b.config_name,
                f"{rate(b.low)} to {rate(b.high)}",
                str(b.n),
                rate(b.mean_recall),
                reward(b),
            )
            for b in bins
        ),
        ("left", "left", "right", "right", "right"),
    )


def reward(cell: CalibrationBin | RewardTier) -> str:
    """Return the mean reward with its interval, or why there is none."""
    if not cell.n:
        return MISSING
    if not is_shown(cell):
        return "not interpreted"
    if cell.ci_low is None or cell.ci_high is None:
        return rate(cell.mean_reward)
    return f"{rate(cell.mean_reward)} [{rate(cell.ci_low)}, {rate(cell.ci_high)}]"


def tiers_table(tiers: Sequence[RewardTier], configs: Sequence[str]) -> Table:
    """Return one row a tier and one column a config: reward, interval and n."""
    by = {(t.config_name, t.tier): t for t in tiers}
    names = [c for c in configs if any(key[0] == c for key in by)]
    return Table(
        "tiers",
        "Mean reward [95 %] by the share of ground truth found, and number of tasks",
        ("Ground truth found", *names),
        tuple(
            (
                tier,
                *(
                    f"{reward(cell)}, n = {cell.n}" if (cell := by.get((c, tier))) else MISSING
                    for c in names
                ),
            )
            for tier in TIERS
        ),
        notes=(
            "Cells with fewer than five tasks are not interpreted.",
            "Intervals take tasks as independent of each other.",
        ),
    )
