"""Spread of cost, tokens and time by config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, light_grid, name, to_svg
from retrieval_eval.report.figures.recall_ecdf import quantile
from retrieval_eval.report.names import METRICS

OUTCOMES: Final = ("cost_usd", "total_tokens", "elapsed_seconds")
Values = Mapping[str, Mapping[str, Sequence[float]]]
"""By outcome and config, the recorded values of its trials."""


def draw(values: Values, configs: Sequence[str]) -> Figure | Empty:
    """Return a panel per outcome: 5–95 % thin, quartiles thick, median marked; zero included."""
    present = [o for o in OUTCOMES if any(values.get(o, {}).get(c) for c in configs)]
    if not present:
        return Empty("costs", "No trial records its cost, tokens or time.")
    with canvas(0.9 + 0.42 * len(configs), columns=len(present)) as (figure, panels):
        for axes, outcome in zip(panels, present, strict=True):
            known = METRICS[outcome]
            for y, config in enumerate(configs):
                numbers = values[outcome].get(config, ())
                if not numbers:
                    axes.text(0, y, " not recorded", va="center", fontsize=8.5, color=style.GREY)
                    continue
                mark = style.mark(y)
                low, q1, middle, q3, high = (
                    quantile(numbers, level) for level in (0.05, 0.25, 0.5, 0.75, 0.95)
                )
                axes.plot([low, high], [y, y], color=mark.color, linewidth=1)
                axes.plot([q1, q3], [y, y], color=mark.color, linewidth=4.5, alpha=0.45)
                axes.plot([middle], [y], marker=mark.marker, color=mark.color, markersize=7)
                axes.text(middle, y - 0.28, known.value(middle), ha="center", fontsize=8)
            axes.set_ylim(len(configs) - 0.4, -0.7)
            axes.set_yticks(range(len(configs)), [name(c, 22) for c in configs])
            axes.tick_params(axis="y", length=0)
            if axes is not panels[0]:
                axes.set_yticklabels([])
            highest = max(max(v) for v in values[outcome].values() if v)
            axes.set_xlim(0, highest * 1.12 or 1)
            axes.set_title(known.titled)
            axes.locator_params(axis="x", nbins=4)
            axes.xaxis.set_major_formatter(_thousands)
            light_grid(axes)
        svg = to_svg(figure)
    text = "; ".join(
        f"{METRICS[o].titled}: "
        + ", ".join(
            f"{name(c)} {METRICS[o].value(quantile(v, 0.5))} (n = {len(v)})"
            for c in configs
            if (v := values[o].get(c))
        )
        for o in present
    )
    table = Table(
        "costs-data",
        "Cost, tokens and time of a trial",
        ("Outcome and config", "n", "5 %", "25 %", "Median", "75 %", "95 %"),
        tuple(
            (
                f"{METRICS[o].titled}, {c}",
                str(len(v)),
                *(METRICS[o].value(quantile(v, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95)),
            )
            for o in present
            for c in configs
            if (v := values[o].get(c))
        ),
    )
    return Figure(
        "costs",
        svg,
        f"Medians by config. {text}.",
        "Recorded values of all trials of a config, matched or not: 5–95 % (thin), quartiles "
        "(thick), median (mark).",
        table,
    )


def _thousands(value: float, _: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"
