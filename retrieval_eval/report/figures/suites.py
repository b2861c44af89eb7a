"""Mean of the headline metric by suite, one mark per config."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval_eval.model.impact import ComparisonDocument
from retrieval_eval.report import style
from retrieval_eval.report.comparison import arms
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, legend, light_grid, name, to_svg
from retrieval_eval.report.figures.dots import draw_dots
from retrieval_eval.report.names import metric_name
from retrieval_eval.values import counted

Suite = tuple[str, int, float, float]
"""Name, matched tasks, mean of the baseline, mean of the comparison."""
MAX_SUITES = 30


def draw(suites: Sequence[Suite], comparison: ComparisonDocument, metric: str) -> Figure | Empty:
    """Return the dumbbells, largest difference first."""
    if not suites:
        return Empty("suites", "No matched task, so there is nothing to split by suite.")
    known = metric_name(metric)
    first, second = arms(comparison)
    ordered = sorted(suites, key=lambda s: (s[2] - s[3], s[0]))[:MAX_SUITES]
    configs = [
        (first, style.mark(0)),
        (second, style.mark(1)),
    ]
    rows = [
        (
            f"{name(suite)} (n = {n})",
            {first: a, second: b},
            known.difference(b - a),
        )
        for suite, n, a, b in ordered
    ]
    with canvas(1.0 + 0.3 * len(rows)) as (figure, (axes,)):
        draw_dots(axes, rows, configs)
        light_grid(axes)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel(f"Mean {known.label.lower()} of matched tasks (right: difference)")
        handles, labels = axes.get_legend_handles_labels()
        legend(axes, handles, labels)
        svg = to_svg(figure)
    text = "; ".join(
        f"{name(suite)} {known.value(a)} to {known.value(b)} (n = {n})"
        for suite, n, a, b in ordered[:6]
    )
    table = Table(
        "suites-data",
        f"{known.label} by suite",
        (
            "Suite",
            "Tasks",
            name(first),
            name(second),
            "Difference",
        ),
        tuple(
            (suite, str(n), known.value(a), known.value(b), known.difference(b - a))
            for suite, n, a, b in ordered
        ),
    )
    hidden = len(suites) - len(ordered)
    return Figure(
        "suites",
        svg,
        f"Mean {known.label.lower()} by suite, {name(first)} to {name(second)}: {text}.",
        f"Mean {known.label.lower()} by suite over matched tasks; suites with few tasks say "
        "little." + (f" {counted(hidden, 'further suite')} in pairs.csv." if hidden else ""),
        table,
    )
