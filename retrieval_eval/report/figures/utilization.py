"""What became of the ground-truth files: retrieved and used, retrieved only, never retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import beside, canvas, name, to_svg
from retrieval_eval.report.numbers import of, share
from retrieval_eval.values import counted

PARTS: Final = {
    "retrieved and used": ("#35608d", "", "white"),
    "retrieved, not used": ("#b9cfe4", "", "#222222"),
    "never retrieved": ("#ffffff", "////", "#222222"),
}
Counts = Mapping[str, tuple[int, int, int]]
"""By config, the number of ground-truth files in each of :data:`PARTS`."""


def draw(counts: Counts) -> Figure | Empty:
    """Return one bar per config, as shares of its ground-truth files."""
    shown = {config: parts for config, parts in counts.items() if sum(parts)}
    if not shown:
        return Empty("utilization", "No trial has ground truth, so no file can have been used.")
    with canvas(0.95 + 0.5 * len(shown)) as (figure, (axes,)):
        from matplotlib.patches import Patch

        for y, parts in enumerate(shown.values()):
            total, left = sum(parts), 0.0
            for n, (color, hatch, ink) in zip(parts, PARTS.values(), strict=True):
                width = n / total
                axes.barh(
                    y,
                    width,
                    left=left,
                    height=0.62,
                    color=color,
                    hatch=hatch,
                    edgecolor="#595959",
                    linewidth=0.6,
                )
                if width > 0.08:
                    axes.text(
                        left + width / 2,
                        y,
                        f"{width:.2f}",
                        ha="center",
                        va="center",
                        color=ink,
                        bbox=None if not hatch else {"fc": "white", "ec": "none", "pad": 1.5},
                    )
                left += width
            beside(axes, y, counted(sum(parts), "file"), x=1.01, size=8.5)
        axes.set_yticks(range(len(shown)), [name(c) for c in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("Share of ground-truth files, summed over trials")
        handles = [
            Patch(facecolor=c, hatch=h, edgecolor="#595959", linewidth=0.6)
            for c, h, _ in PARTS.values()
        ]
        axes.legend(
            handles,
            list(PARTS),
            loc="lower left",
            bbox_to_anchor=(0, 1.01),
            ncols=3,
            borderaxespad=0,
        )
        svg = to_svg(figure)
    text = "; ".join(
        f"{name(config)} "
        + ", ".join(f"{part} {of(n, sum(ns))}" for part, n in zip(PARTS, ns, strict=True))
        for config, ns in shown.items()
    )
    table = Table(
        "utilization-data",
        "Ground-truth files by what became of them",
        ("Config", "Retrieved and used", "Retrieved, not used", "Never retrieved"),
        tuple((c, *(share(n, sum(ns)) for n in ns)) for c, ns in shown.items()),
    )
    return Figure(
        "utilization",
        svg,
        f"Ground-truth files by what became of them: {text}.",
        "Ground-truth files summed over trials. Used: its content was read, or it was written. "
        "Retrieved, not used: only listed or matched by a search.",
        table,
    )
