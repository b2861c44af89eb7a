"""The waffle of tasks by status: what enters the paired analysis and what does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, to_svg
from retrieval_eval.report.numbers import of, rate
from retrieval_eval.values import counted

STATUSES: Final = {
    "matched and scored": ("#0072B2", ""),
    "scored in both, not comparable": ("#8FBFDD", "...."),
    "scored in some configs only": ("#8FBFDD", ""),
    "no ground truth": ("#e4e4e4", "////"),
    "no usable trace": ("#ffffff", "xxxx"),
}
MAX_CELLS: Final = 500


def draw(statuses: Mapping[str, int]) -> Figure | Empty:
    """Return the waffle of ``statuses`` (number of tasks by a key of :data:`STATUSES`)."""
    total = sum(statuses.values())
    if not total:
        return Empty("coverage", "No task was found, so there is nothing to count.")
    per_cell = math.ceil(total / MAX_CELLS)
    cells = [
        status for status in STATUSES for _ in range(math.ceil(statuses.get(status, 0) / per_cell))
    ]
    columns = max(12, math.ceil(math.sqrt(len(cells) * 5)))
    rows = math.ceil(len(cells) / columns)
    with canvas(0.85 + rows * style.WIDTH / max(columns, 24)) as (figure, (axes,)):
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        for status, (color, hatch) in STATUSES.items():
            squares = [
                Rectangle((i % columns, -(i // columns)), 0.88, 0.88)
                for i, cell in enumerate(cells)
                if cell == status
            ]
            axes.add_collection(
                PatchCollection(
                    squares, facecolor=color, edgecolor=style.GREY, hatch=hatch, linewidth=0.4
                )
            )
        handles = [
            Rectangle((0, 0), 1, 1, facecolor=c, edgecolor=style.GREY, hatch=h, linewidth=0.4)
            for c, h in STATUSES.values()
        ]
        labels = [f"{status}: {of(statuses.get(status, 0), total)}" for status in STATUSES]
        axes.legend(
            handles, labels, loc="upper left", bbox_to_anchor=(0, 0), ncols=2, borderaxespad=0.4
        )
        axes.set_xlim(0, max(columns, 24))
        axes.set_ylim(-rows + 0.7, 1)
        axes.set_aspect("equal", anchor="NW")
        axes.axis("off")
        svg = to_svg(figure)
    text = "; ".join(f"{status} {of(statuses.get(status, 0), total)}" for status in STATUSES)
    unit = "one task" if per_cell == 1 else f"{per_cell} tasks"
    table = Table(
        "coverage-data",
        "Tasks by fate",
        ("Fate", "Tasks", "Share"),
        tuple((f, str(statuses.get(f, 0)), rate(statuses.get(f, 0) / total)) for f in STATUSES),
    )
    return Figure(
        "coverage",
        svg,
        f"Grid of squares, each of which is {unit}, by status: {text}.",
        f"Status of {counted(total, 'task')}; a square is {unit}. Matched: computable file "
        "recall in both configs that are compared, and in the paired analysis.",
        table,
    )
