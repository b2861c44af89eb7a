"""The difference of every matched task, sorted, with its mean and interval."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval_eval.model.impact import ComparisonDocument, PairedStatistics
from retrieval_eval.report import style
from retrieval_eval.report.comparison import arms
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import interval
from retrieval_eval.values import counted

MAX_ROWS = 500


def draw(
    differences: Sequence[tuple[str, float, float, float]],
    comparison: ComparisonDocument,
    result: PairedStatistics,
) -> Figure | Empty:
    """Return the sorted bars.

    Parameters
    ----------
    differences
        Task name, baseline value, comparison value and difference of every matched task.
    comparison, result
        The configs compared and the statistics of the metric.
    """
    metric = metric_name(comparison.verdict_metric)
    if not differences:
        return Empty("paired", f"No task has a computable {metric.label.lower()} in both configs.")
    baseline, other = map(name, arms(comparison))
    ordered = sorted(differences, key=lambda row: (-row[3], row[0]))
    values = [row[3] for row in ordered]
    better, worse = (style.MARKS[1], style.MARKS[0])
    with canvas(3.1) as (figure, (axes,)):
        width = 0.9 if len(values) <= 60 else 1.0
        for mark, chosen in (
            (better, [max(0, v) for v in values]),
            (worse, [min(0, v) for v in values]),
        ):
            axes.bar(range(len(values)), chosen, width=width, color=mark.color)
        ties = [i for i, v in enumerate(values) if v == 0]
        axes.plot(ties, [0] * len(ties), linestyle="", marker="|", color=style.GREY, markersize=7)
        axes.axhline(0, color=style.GREY, linewidth=0.8)
        if result.mean_difference is not None:
            axes.axhline(result.mean_difference, color=style.TEXT, linewidth=1.2, linestyle=":")
        if result.ci_low is not None and result.ci_high is not None:
            axes.axhspan(result.ci_low, result.ci_high, color=style.LIGHT_GREY, alpha=0.22, lw=0)
        ends = [0.0, *values, *(e for e in (result.ci_low, result.ci_high) if e is not None)]
        reach = (max(ends) - min(ends)) or 1.0
        axes.set_ylim(min(*ends, -0.2 * reach) * 1.1, max(*ends, 0.2 * reach) * 1.1)
        axes.set_xlim(-0.8, len(values) - 0.2)
        axes.set_xticks([])
        axes.set_xlabel(f"{counted(len(values), 'matched task')}, sorted by difference")
        axes.set_ylabel(f"Δ {metric.titled}")
        light_grid(axes, "y")
        axes.annotate(
            f"{other} higher: {sum(v > 0 for v in values)}",
            (0.99, 0.95),
            ha="right",
            va="top",
            color=better.color,
            xycoords="axes fraction",
            weight="bold",
        )
        axes.annotate(
            f"{baseline} higher: {sum(v < 0 for v in values)}",
            (0.01, 0.05),
            ha="left",
            va="bottom",
            color=worse.color,
            xycoords="axes fraction",
            weight="bold",
        )
        svg = to_svg(figure)
    numbers = _summary(comparison.verdict_metric, result)
    table = Table(
        "paired-data",
        f"{metric.label} of every matched task, largest difference first",
        (
            "Task",
            baseline,
            other,
            "Difference",
        ),
        tuple(
            (task, metric.value(a), metric.value(b), metric.difference(d))
            for task, a, b, d in ordered[:MAX_ROWS]
        ),
        notes=(f"The first {MAX_ROWS} of {len(ordered)}; all in pairs.csv.",)
        if len(ordered) > MAX_ROWS
        else (),
    )
    return Figure(
        "paired",
        svg,
        f"Bars of the difference in {metric.label.lower()}, {other} minus "
        f"{baseline}, for {counted(len(values), 'matched task')}: {numbers}.",
        f"Difference in {metric.label.lower()} of {counted(len(values), 'matched task')}; repeats "
        f"are averaged inside a task. Dotted line and band: {numbers}.",
        table,
    )


def _summary(metric_key: str, result: PairedStatistics) -> str:
    """Return mean difference, interval and win/tie/loss in words."""
    metric = metric_name(metric_key)
    if result.mean_difference is None:
        return "mean difference not computable"
    text = f"mean {metric.difference(result.mean_difference)}"
    if result.ci_low is not None and result.ci_high is not None:
        ends = interval(result.ci_low, result.ci_high, metric.digits)
        text += f", 95 % bootstrap interval {ends}"
    return text + f", {result.wins or 0} won, {result.ties or 0} tied, {result.losses or 0} lost"
