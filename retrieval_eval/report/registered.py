"""Figures and tables that a notebook calls by name: ``plot.NAME(frame, …)``, ``table.NAME(…)``.

Each is one decorated function in one file, of this package (``report/plot``, ``report/table``) or
of another distribution (entry points ``retrieval_eval.figures`` and ``retrieval_eval.tables``). It
takes a tidy frame and names of its columns, and returns an exhibit that shows itself. Whatever the
exhibit says — finding, alternative text, numbers — is computed from the frame that is drawn, so
that a filtered frame cannot be shown with the words of another.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import slug, visible
from retrieval_eval.registry import Registry
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Block, Empty, Figure, Table
from retrieval_eval.report.figures.canvas import canvas, to_svg
from retrieval_eval.report.numbers import MISSING, count, rate
from retrieval_eval.values import as_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Values = dict[str, list[float]]
"""The name of a group to its values, those that are missing left out."""


class NothingToShow(Exception):  # noqa: N818  no fault: the exhibit says why it is empty
    """Raised by a figure or table that has nothing to show; the text is the sentence that says why.

    The sentence ends with a full stop.
    """


@dataclass(frozen=True, slots=True)
class Words:
    """What a figure or table says beside its marks and cells, and the numbers it is made of.

    Attributes
    ----------
    finding
        The main numbers in a sentence without a full stop.
    caption
        What is shown, and of how many.
    data
        The numbers drawn, a row a mark or group.
    alt
        For figures: what is compared, with its main numbers.
    cells
        For tables: header and rows as they are printed; by default those of ``data``.
    """

    finding: str
    caption: str
    data: pd.DataFrame
    alt: str = ""
    cells: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] | None = None


@dataclass
class Exhibit:
    """A figure or table that shows itself in a notebook, or the sentence that says why not.

    ``ax`` may be drawn on further: the page shows what it holds when it is shown. It is None for
    tables, and where there is nothing to draw.
    """

    key: str
    finding: str
    caption: str
    alt: str
    data: pd.DataFrame
    ax: Axes | None = None
    nothing: str = ""
    cells: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] | None = field(
        default=None, repr=False
    )
    _svg: str = field(default="", init=False, repr=False)

    @property
    def figure(self) -> Any:
        """The matplotlib figure that ``ax`` is part of, or None."""
        return None if self.ax is None else self.ax.get_figure()

    def svg(self) -> str:
        """Return the figure as SVG text; empty where there is none.

        It is drawn again only after the axes have changed: a second layout of the same marks may
        differ in the last digits of their places.
        """
        if self.ax is not None and (self.figure.stale or not self._svg):
            with canvas(1):  # for its settings: the figure itself was made before
                self._svg = to_svg(self.figure)
            self.figure.stale = False
        return self._svg

    def block(self) -> Block:
        """Return what the exhibit shows, as the report's sections do."""
        if self.nothing:
            return Block("section", self.finding, exhibits=(Empty(self.key, self.nothing),))
        header, rows = self.cells or _cells(self.data)
        align = tuple("right" if _is_number(self.data, name) else "left" for name in header)
        if self.ax is None:
            shown = Table(self.key, self.caption, header, rows)
            return Block("section", self.finding, exhibits=(shown,))
        table = Table(f"{self.key}-data", self.caption, header, rows, align)
        drawn = Figure(self.key, self.svg(), self.alt, self.caption, table, _values(self.data))
        return Block("section", self.finding, exhibits=(drawn,))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.ax is not None:
            from matplotlib import pyplot as plt

            plt.close(self.figure)  # or a notebook shows the canvas of plt.subplots() once more
        return self.block()._repr_mimebundle_(include, exclude)

    def _repr_html_(self) -> str:
        return str(self._repr_mimebundle_()["text/html"])

    def __repr__(self) -> str:
        return f"<Exhibit {self.key}: {self.finding}>"


Shown = Callable[..., Exhibit]
FIGURES: Final = Registry[Shown](
    "retrieval_eval.figures", "figure", ("retrieval_eval.report.plot",)
)
TABLES: Final = Registry[Shown]("retrieval_eval.tables", "table", ("retrieval_eval.report.table",))


class Namespace:
    """The entries of a registry as attributes."""

    def __init__(self, entries: Registry[Shown], meaning: str) -> None:
        self._entries = entries
        self.__doc__ = meaning

    def __getattr__(self, name: str) -> Shown:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._entries[name]
        except BadInputError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return list(self._entries)


plot: Final = Namespace(FIGURES, "Figures of tidy frames, such as ``plot.ecdf(frame, column)``.")
table: Final = Namespace(TABLES, "Tables of tidy frames, such as ``table.means(frame, columns)``.")


def figure(name: str, *, height: float = 3.2) -> Callable[[Callable[..., Words]], Shown]:
    """Return a decorator that adds a figure.

    What it decorates is called with the axes, the frame and its own arguments, under the report's
    theme. Callers pass the frame first, and by keyword ``ax`` (axes to draw on; by default those of
    a new figure of ``height`` inches), ``key`` (what links call it) and ``finding`` or ``caption``
    in place of the computed ones.
    """
    return lambda draw: FIGURES.add(name, _shown(name, draw, height))


def tabular(name: str) -> Callable[[Callable[..., Words]], Shown]:
    """Return a decorator that adds a table; as :func:`figure`, but for the axes."""
    return lambda make: TABLES.add(name, _shown(name, make, None))


def _shown(name: str, make: Callable[..., Words], height: float | None) -> Shown:
    """Return the public function: checks the frame, gives axes, and returns the exhibit."""
    own = list(inspect.signature(make).parameters.values())

    def show(
        frame: pd.DataFrame,
        *arguments: Any,
        ax: Axes | None = None,
        key: str = "",
        finding: str = "",
        caption: str = "",
        **options: Any,
    ) -> Exhibit:
        if height is None and ax is not None:
            raise BadInputError(f"table.{name} draws nothing, so it takes no axes")
        head: tuple[Any, ...] = (_checked(frame),)
        try:
            if height is None:
                words = make(*head, *arguments, **options)
            else:
                with canvas(height) as (_, (new,)):
                    ax = new if ax is None else ax
                    head = (ax, *head)
                    words = make(*head, *arguments, **options)
        except NothingToShow as nothing:
            words, ax, said = (
                Words(str(nothing).rstrip("."), "", frame.iloc[:0]),
                None,
                str(nothing),
            )
        else:
            said = ""
        bound = inspect.signature(make).bind(*head, *arguments, **options)
        return Exhibit(
            key or _key(name, bound.arguments),
            finding or words.finding,
            caption or words.caption,
            words.alt or said,
            words.data,
            ax,
            said,
            words.cells,
        )

    added = [
        p
        for p in inspect.signature(show).parameters.values()
        if p.kind is p.KEYWORD_ONLY and (height is not None or p.name != "ax")
    ]
    taken = own if height is None else own[1:]
    show.__name__ = show.__qualname__ = make.__name__
    show.__doc__, show.__module__ = make.__doc__, make.__module__
    signature = inspect.Signature([*taken, *added], return_annotation=Exhibit)
    show.__signature__ = signature  # type: ignore[attr-defined]
    return show


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    texts = [
        part
        for argument, value in arguments.items()
        if argument not in ("ax", "frame")
        for part in ([value] if isinstance(value, str) else value or ())
        if isinstance(part, str)
    ]
    return slug("-".join([name, *texts]))[:80]


def _checked(frame: Any) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise BadInputError(f"expected a data frame, not {type(frame).__name__}")
    return frame


def column(frame: pd.DataFrame, name: str) -> list[Any]:
    """Return the values of a column; raises ``BadInputError`` with the closest names if none is."""
    if name not in frame.columns:
        known = [str(c) for c in frame.columns]
        close = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4)
        listed = ", ".join(close or known) or "no column"
        raise BadInputError(f"the frame has no column {visible(str(name), 60)!r}; it has {listed}")
    return list(frame[name])


def numbers(frame: pd.DataFrame, name: str) -> list[float | None]:
    """Return the finite numbers of a column, None for what is none."""
    found = [as_number(value) for value in column(frame, name)]
    return [v if v is not None and math.isfinite(v) else None for v in found]


def labels(frame: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return the group of every row: the values of ``by``, or ``all`` without."""
    if not by:
        return ["all"] * len(frame)
    names = [by] if isinstance(by, str) else list(by)
    rows = zip(*(column(frame, name) for name in names), strict=True)
    return [" · ".join(MISSING if _is_missing(v) else str(v) for v in row) for row in rows]


def values_by(frame: pd.DataFrame, x: str, by: str | Sequence[str] | None) -> Values:
    """Return the values of a column by group, in the order in which the groups first appear."""
    found: Values = {}
    for label, value in zip(labels(frame, by), numbers(frame, x), strict=True):
        own = found.setdefault(label, [])
        if value is not None:
            own.append(value)
    return found


def known_values(frame: pd.DataFrame, x: str, by: str | Sequence[str] | None) -> Values:
    """Return the groups that have values; raises :class:`NothingToShow` where none has."""
    found = values_by(frame, x, by)
    if not len(frame):
        raise NothingToShow("The frame has no row, so there is nothing to show.")
    if not any(found.values()):
        raise NothingToShow(f"No row has a value of {visible(x, 60)}.")
    return {label: values for label, values in found.items() if values}


def marked(groups: Mapping[str, Any]) -> Iterator[tuple[int, str, style.Mark]]:
    """Yield number, name and mark of every group."""
    for i, label in enumerate(groups):
        yield i, label, style.mark(i)


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _is_number(data: pd.DataFrame, name: str) -> bool:
    return name in data.columns and data[name].dtype.kind in "iuf"


def _cells(data: pd.DataFrame) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows of a frame as text."""
    header = tuple(str(name) for name in data.columns)
    return header, tuple(tuple(map(_text, row)) for row in data.itertuples(index=False, name=None))


def _values(data: pd.DataFrame) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of a frame as JSON has them: numbers, text, truth and None."""
    return tuple(
        tuple(None if _is_missing(v) else _plain(v) for v in row)
        for row in data.itertuples(index=False, name=None)
    )


def _plain(value: Any) -> Any:
    found = value.item() if hasattr(value, "item") else value
    if isinstance(found, float) and not math.isfinite(found):
        return str(found)  # JSON has no infinity
    return found if isinstance(found, str | int | float) else str(found)


def _text(value: Any) -> str:
    if _is_missing(value):
        return MISSING
    if isinstance(value, str):
        return value
    return count(value) if float(value).is_integer() else rate(float(value))
