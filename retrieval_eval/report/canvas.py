"""Drawing without global state: a figure under our style, and its byte-stable SVG text.

A figure is saved at two widths, for a page and for a narrow screen. What depends on the width
(columns of a legend, notes beside rows, long labels) is laid out anew before each.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from retrieval_eval.escape import visible
from retrieval_eval.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LAYOUTS: Final[WeakKeyDictionary[Any, list[Callable[[bool], None]]]] = WeakKeyDictionary()
"""Of every figure of ours, what lays it out for a narrow screen (True) or for a page."""

_HEAD: Final = '<svg font-family="' + style.FONT_STACK + '"'
_MARKS: Final = re.compile(r'<use [^>]*?( style="[^"]*")/>\s*(?:<use [^>]*?\1/>\s*){2,}')
_INCHES_A_SIGN: Final = 0.075
"""Width of a character of labels, in the face that measures them."""


@contextmanager
def themed() -> Iterator[None]:
    """Draw and save under our style."""
    import matplotlib as mpl

    settings: Any = style.RC
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text is kept as text in the SVG: a glyph the measuring font lacks is no fault.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@contextmanager
def canvas(inches: float, width: float = style.WIDTH) -> Iterator[Figure]:
    """Yield a new figure of ours, so many inches high and wide."""
    from matplotlib.figure import Figure

    with themed():
        figure = Figure(figsize=(width, inches), layout="constrained")
        _LAYOUTS[figure] = []
        yield figure


def panels(
    figure: Figure,
    columns: Sequence[int],
    *,
    narrow: float,
    share: bool = False,
    heights: Sequence[float] | None = None,
) -> Any:
    """Return axes in rows of so many, which stand below each other on a narrow screen.

    ``narrow`` is the height in inches of the figure there, and ``share`` whether all panels of a
    page have one vertical axis; ``heights`` are those of the rows.
    """
    from matplotlib.gridspec import GridSpec

    first: Any = None
    drawn: list[Axes] = []
    grid = GridSpec(len(columns), max(columns), figure=figure, height_ratios=heights)
    wide = [grid[row, i] for row, n in enumerate(columns) for i in range(n)]
    for place in wide:
        drawn.append(figure.add_subplot(place, sharey=first if share else None))
        first = first or drawn[0]
    stack = GridSpec(len(drawn), 1, figure=figure, height_ratios=heights)

    def lay_out(is_narrow: bool) -> None:
        for i, axes in enumerate(drawn):
            axes.set_subplotspec(stack[i] if is_narrow else wide[i])
            if share:
                axes.tick_params(labelleft=is_narrow or wide[i].colspan.start == 0)
        if is_narrow:
            figure.set_figheight(narrow)

    on_layout(drawn[0], lay_out)
    return drawn


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG text: same input, same bytes; text stays text.

    Call it inside :func:`canvas` or :func:`themed`, whose style fixes the hash salt.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.StringIO()
    blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    engine = figure.get_layout_engine()
    if engine is not None:
        # Laid out once, and with the measures of SVG: savefig does it twice.
        FigureCanvasSVG(figure)
        engine.execute(figure)
        figure.set_layout_engine(None)
    figure.savefig(stream, format="svg", metadata=blank)
    figure.set_layout_engine(engine)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].replace("<svg", _HEAD, 1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", _shorter, svg)
    ids = re.findall(r' id="([^"]*)"', svg)
    known = {old: f"i{number}" for number, old in enumerate(ids)}
    svg = re.sub(r"<[^>]*>", lambda tag: _renamed(tag[0], known), svg)
    svg = _MARKS.sub(_together, svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _renamed(tag: str, ids: Mapping[str, str]) -> str:
    return re.sub(
        r'( id="|"#|url\(#)([\w-]+)', lambda name: f"{name[1]}{ids.get(name[2], name[2])}", tag
    )


def _together(marks: re.Match[str]) -> str:
    """Return marks of one look in a group that has it, instead of each."""
    look = marks[1]
    return f"<g{look}>{marks[0].replace(look, '')}</g>\n"


def _shorter(tag: re.Match[str]) -> str:
    """Return a tag without names that nothing uses, numbers to a hundredth of a point."""
    text = re.sub(r"-?\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), tag[0])
    text = re.sub(r'^<g id="[^"]*"', "<g", text)
    text = re.sub(r' d="([^"]*)"', _path, text)
    text = re.sub(r' style="([^"]*)"', lambda s: re.sub(r"([:;]) +", r"\1", s[0]), text)
    text = text.replace("font-family:'DejaVu Sans', sans-serif;", "")  # one for all, in <svg>
    return re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)


def _path(drawn: re.Match[str]) -> str:
    steps = re.sub(r"\s*([A-Za-z])\s*", r"\1", drawn[1].strip())
    short = re.sub(r"\s+", ",", steps)
    return f' d="{short}"'


def both_sizes(figure: Figure) -> tuple[str, str]:
    """Return the figure as SVG for a page and for a narrow screen.

    A figure that is not ours (its axes were given) is saved as it is, and has no narrow form.
    """
    with themed():
        layouts = _LAYOUTS.get(figure)
        if layouts is None:
            return to_svg(figure), ""
        width, height = figure.get_size_inches()
        wide = _laid_out(figure, layouts, is_narrow=False)
        figure.set_figwidth(style.NARROW)
        narrow = _laid_out(figure, layouts, is_narrow=True)
        figure.set_size_inches(width, height)
        for lay_out in layouts:
            lay_out(False)
    return wide, narrow


def _laid_out(figure: Figure, layouts: Sequence[Callable[[bool], None]], *, is_narrow: bool) -> str:
    for lay_out in layouts:
        lay_out(is_narrow)
    width, height = figure.get_size_inches()
    written = []
    for axes in figure.axes:
        for label, length in ((axes.xaxis.label, width * 0.8), (axes.yaxis.label, height * 0.75)):
            text = label.get_text()
            written.append((label, text))
            label.set_text(textwrap.fill(text, max(12, int(length / _INCHES_A_SIGN))))
    svg = to_svg(figure)
    for label, text in written:
        label.set_text(text)
    return svg


def on_layout(axes: Axes, lay_out: Callable[[bool], None]) -> None:
    """Call ``lay_out`` now for a page, and before each saving with whether it is a narrow one."""
    lay_out(False)
    _LAYOUTS.get(axes.figure, []).append(lay_out)


def is_ours(axes: Axes) -> bool:
    """Return whether the figure was made by :func:`canvas`, so that its size may be chosen."""
    return axes.figure in _LAYOUTS


def height(axes: Axes, inches: float) -> None:
    """Make the figure as high as its rows need, where it is ours."""
    if is_ours(axes):
        axes.figure.set_figheight(inches)  # type: ignore[union-attr]


def name(text: object, limit: int = 30) -> str:
    """Return untrusted text as a label: one line, invisible characters shown, middle cut out."""
    return visible(text, limit)


def legend(axes: Axes, handles: Sequence[Any], labels: Iterable[str]) -> None:
    """Put a frameless legend in rows above the axes, in as many columns as there is width for."""
    names = [name(label, 48) for label in labels]
    if not names:
        return
    width = max(map(len, names)) * _INCHES_A_SIGN + 0.6

    def columns(inches: float) -> int:
        return max(1, min(len(names), int(inches / width)))

    drawn: list[Any] = []
    look: dict[str, Any] = {"borderaxespad": 0.2, "handlelength": 2.2, "columnspacing": 1.8}

    def lay_out(is_narrow: bool) -> None:
        look["ncols"] = columns(style.NARROW if is_narrow else style.WIDTH)
        if not is_ours(axes):
            axes.legend(handles, names, loc="lower left", bbox_to_anchor=(0, 1.02), **look)
            return
        figure: Any = axes.figure
        shown = names
        if is_narrow:
            shown = [textwrap.fill(text, 40) for text in names]
            more = -(-len(names) // look["ncols"]) - -(-len(names) // columns(style.WIDTH))
            more += sum(text.count("\n") for text in shown)
            figure.set_figheight(figure.get_figheight() + 0.19 * more)
        if drawn and drawn[-1] not in figure.legends:
            return  # it was taken away by hand
        for old in drawn:
            old.remove()
        drawn[:] = [figure.legend(handles, shown, loc="outside upper left", **look)]

    on_layout(axes, lay_out)


def group_legend(axes: Axes, marks: Mapping[str, style.Mark]) -> None:
    """Put a legend of lines above the axes, one a group by its name."""
    handles = [
        axes.plot([], [], color=mark.color, linestyle=mark.line, marker=mark.marker)[0]
        for mark in marks.values()
    ]
    legend(axes, handles, marks)


def row_labels(
    axes: Axes, labels: Sequence[str], notes: Sequence[str] = (), *, middle: float = 0.0
) -> None:
    """Name the rows of marks at 0, 1, … (and ``middle``); their notes are written right of them.

    On a narrow screen there is no room beside the marks: the note is below the name there, of one
    of several lines the first only, and rows are as high as that needs.
    """
    beside_rows = [
        beside(axes, y + middle, note.replace("\n", ", "), x=1.01)
        for y, note in enumerate(notes)
        if note
    ]
    places = [y + middle for y in range(len(labels))]
    longest = min(24, max([17, *(len(note.partition("\n")[0]) for note in notes)]))
    wide = [name(label, 36) for label in labels]
    current = wide

    def lay_out(is_narrow: bool) -> None:
        nonlocal current
        if [tick.get_text() for tick in axes.get_yticklabels()] not in ([], current):
            return  # they were written by hand
        current = wide
        if is_narrow:
            blank = [""] * len(labels)
            current = [
                "\n".join([*_lines(label, longest), *note.split("\n")[:1]]).strip("\n")
                for label, note in zip(labels, notes or blank, strict=True)
            ]
            lines = sum(text.count("\n") + 1 for text in current)
            needed = 0.15 * lines + 0.06 * len(labels) + 1.1
            figure: Any = axes.figure
            figure.set_figheight(max(figure.get_figheight(), needed))
        for note in beside_rows:
            note.set_visible(not is_narrow)
        bold = [tick.get_fontweight() for tick in axes.get_yticklabels()]
        axes.set_yticks(places, current)
        for tick, weight in zip(axes.get_yticklabels(), bold, strict=False):
            tick.set_fontweight(weight)

    axes.tick_params(axis="y", length=0, labelcolor=style.TEXT)
    axes.set_ylim(*((len(labels), 0) if middle else (len(labels) - 0.4, -0.6)))
    axes.set_yticks(places, wide, rotation=0)
    on_layout(axes, lay_out)


def _lines(text: str, longest: int) -> list[str]:
    """Return a name in lines that are short enough for a narrow screen, broken at its signs."""
    pieces = re.findall(r"[^\s_\-/.:·]*[\s_\-/.:·]?", name(text))
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece.rstrip()) > longest and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines if line.strip()] or [""]


def beside(axes: Axes, y: float, text: str, *, x: float = 1.02, size: float = 8) -> Any:
    """Write beside a row of marks, right of the axes."""
    return axes.annotate(
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
        color=style.PAPER,
        edgecolor=style.FAINT,
        hatch="////",
        linewidth=0,
        zorder=0.5,
    )


def whole_range(axes: Axes, values: Sequence[float], *, is_share: bool) -> None:
    """Show shares on the axis from 0 to 1, and other values with room at both ends."""
    low, high = (0.0, 1.0) if is_share else (min(values), max(values))
    room = 0.02 if is_share else 0.05 * (high - low) or abs(high) * 0.1 or 1.0
    axes.set_xlim(low - room, high + room)


def light_grid(axes: Axes, axis: Literal["x", "y", "both"] = "x") -> None:
    """Draw faint grid lines behind the marks."""
    axes.grid(visible=True, axis=axis, color=style.FAINT, linewidth=0.6)
