"""The look of every figure: colours with shapes and hatches, greys, sizes, and what is dark.

A configuration is never marked by colour alone: it has a marker, a line style and a hatch too. Text
keeps its characters in the SVG, so that the page's own type face is used and the figure stays
searchable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

TEXT: Final = "#222222"
GREY: Final = "#595959"
LIGHT_GREY: Final = "#767676"
FAINT: Final = "#d9d9d9"
FONT_STACK: Final = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
WIDTH: Final = 7.0
"""Width of a figure in inches where nothing stands beside it."""
WIDTHS: Final = {"": WIDTH, "third": 4.1, "half": 6.2, "wide": 7.2, "large": 8.35, "full": 10.4}
"""Width of a figure by the part of the page that it takes."""
BAD: Final = "#AA3377"
GLYPHS: Final = "○■△◇"
"""The marks of configurations inside a text, in the order of `MARKS`."""
NARROW: Final = 3.65
"""Width of the same figure on a narrow screen."""
PAPER: Final = "#fefefe"
"""The paper behind a figure, which is dark on a dark page; pure white stays white there."""
ON_DARK: Final = "#ffffff"
ON_LIGHT: Final = "#1c1c1c"
"""Words on cells that keep their colour on a dark page, so that the words do too."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How one config is drawn: colour, marker, line style and hatch."""

    color: str
    marker: str
    line: str
    hatch: str
    soft: str


MARKS: Final = (
    Mark("#0072B2", "o", "-", "", "#cfe3f0"),
    Mark("#D55E00", "s", "--", "///", "#f8dfcc"),
    Mark("#007D5B", "^", "-.", "\\\\\\", "#cce6df"),
    Mark("#AA3377", "D", ":", "xxx", "#eed6e4"),
)

PARTS: Final = (
    ("#35608d", "", ON_DARK),
    ("#b9cfe4", "", ON_LIGHT),
    (PAPER, "////", TEXT),
    ("#e0a458", "", ON_LIGHT),
    ("#7a5195", "", ON_DARK),
    ("#9fd0c0", "\\\\\\\\", TEXT),
    ("#c9c9c9", "", ON_LIGHT),
    (PAPER, "xxxx", TEXT),
)
"""Colour, hatch and words of the parts of a stacked bar."""

DARK: Final = {
    TEXT: "#e4e7ea",
    GREY: "#b4bac1",
    LIGHT_GREY: "#8f969e",
    FAINT: "#3a4047",
    PAPER: "#14171a",
    "#000000": "#e4e7ea",
    "#0072b2": "#56b0ea",
    "#d55e00": "#f28c43",
    "#007d5b": "#3fc49a",
    "#aa3377": "#e47fb6",
    "#9fd0c0": "#2c6152",
    "#cfe3f0": "#20435b",
    "#f8dfcc": "#563318",
    "#cce6df": "#17483a",
    "#eed6e4": "#502744",
}
"""What a colour of the theme is on a dark page; every other colour stays."""

RC: Final[dict[str, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": TEXT,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "normal",
    "axes.unicode_minus": True,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 6,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "retrieval_eval",
    "text.color": TEXT,
    "text.parse_math": False,
    "xtick.color": GREY,
    "xtick.labelcolor": TEXT,
    "xtick.labelsize": 8.5,
    "ytick.color": GREY,
    "ytick.labelcolor": TEXT,
    "ytick.labelsize": 8.5,
}


def mark(index: int) -> Mark:
    """Return the mark of a config; from the fifth on colours come again with other shapes.

    Examples
    --------
    >>> mark(1).color == mark(5).color, mark(1).marker == mark(5).marker
    (True, False)
    """
    turn, place = divmod(index, len(MARKS))
    shape = MARKS[(place + turn) % len(MARKS)]
    return Mark(MARKS[place].color, shape.marker, shape.line, shape.hatch, MARKS[place].soft)
