"""Drawing without global state: a figure under our style, and its byte-stable SVG text."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from retrieval_eval.escape import visible
from retrieval_eval.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def canvas(
    height: float, *, rows: int = 1, columns: int = 1, width: float = style.WIDTH, **grid: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a new figure of ``width`` x ``height`` inches and its axes, row by row."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: Any = style.RC
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text is kept as text in the SVG: a glyph the measuring font lacks is no fault.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **grid)
        yield figure, list(axes.flat)


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG text: same input, same bytes; text stays text.

    Call it inside :func:`canvas`, whose style fixes the hash salt.
    """
    stream = io.StringIO()
    blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(stream, format="svg", metadata=blank)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].replace("'DejaVu Sans'", style.FONT_STACK)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    return re.sub(r"\n\s*", "\n", svg)


def name(text: str, limit: int = 30) -> str:
    """Return untrusted text as a label: one line, invisible characters shown, middle cut out."""
    return visible(text, limit)


def legend(axes: Axes, handles: Sequence[Any], labels: Iterable[str]) -> None:
    """Put a frameless legend in rows above the axes."""
    axes.legend(
        handles,
        list(labels),
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=2,
        borderaxespad=0,
        handlelength=2.2,
        columnspacing=1.8,
    )


def beside(axes: Axes, y: float, text: str, *, x: float = 1.02, size: float = 8) -> None:
    """Write beside a row of marks, right of the axes."""
    axes.annotate(
        text,
        (x, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=size,
        annotation_clip=False,
    )


def hatched(axes: Axes, y: float, left: float, width: float) -> None:
    """Draw the bar of a row that rests on too little to be interpreted."""
    axes.barh(
        y,
        width,
        left=left,
        height=0.84,
        color="white",
        edgecolor="#bdbdbd",
        hatch="////",
        linewidth=0,
    )


def light_grid(axes: Axes, axis: Literal["x", "y", "both"] = "x") -> None:
    """Draw faint grid lines behind the marks."""
    axes.grid(visible=True, axis=axis, color=style.FAINT, linewidth=0.6)


def whole_ticks(axes: Axes) -> None:
    """Put ticks of the horizontal axis on whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def stairs(values: Sequence[float], total: int) -> tuple[list[float], list[float]]:
    """Return the corners of the empirical distribution of ``values`` as shares of ``total``.

    Examples
    --------
    >>> stairs([2.0, 1.0, 2.0], 4)
    ([1.0, 2.0], [0.25, 0.75])
    """
    ordered = sorted(values)
    last = {value: i for i, value in enumerate(ordered, start=1)}
    return list(last), [n / total for n in last.values()]
