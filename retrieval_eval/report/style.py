"""The look of every figure: colours with shapes, greys, sizes, and how many configs fit in one.

A config is never marked by colour alone: it has a marker and a line style too. At most four share
a panel; more become facets. Text keeps its characters in the SVG, so that the page's own type
face is used and the figure stays searchable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

TEXT: Final = "#222222"
GREY: Final = "#595959"
LIGHT_GREY: Final = "#767676"
FAINT: Final = "#d9d9d9"
MAX_CONFIGS: Final = 4
FONT_STACK: Final = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
WIDTH: Final = 7.2
"""Width of a full figure in inches."""


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
    Mark("#007D5B", "^", "-.", "...", "#cce6df"),
    Mark("#AA3377", "D", ":", "xxx", "#eed6e4"),
)

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
    "axes.titleweight": "bold",
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
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
    """Return the mark of the config at ``index``; every four configs start a new facet."""
    return MARKS[index % MAX_CONFIGS]


def facets(configs: Sequence[str]) -> list[list[tuple[str, Mark]]]:
    """Return the configs in groups of at most four, each config with its mark.

    Examples
    --------
    >>> [len(group) for group in facets(["a", "b", "c", "d", "e"])]
    [4, 1]
    """
    marked = [(config, mark(i)) for i, config in enumerate(configs)]
    return [marked[i : i + MAX_CONFIGS] for i in range(0, len(marked), MAX_CONFIGS)]
