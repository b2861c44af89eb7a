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
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import slug, visible
from retrieval_eval.registry import Registry
from retrieval_eval.report import style
from retrieval_eval.report.canvas import both_sizes, canvas, themed
from retrieval_eval.report.exhibits import Block, Empty, Figure, Kind, Table, Width
from retrieval_eval.report.headings import Format, as_text, formatter, heading, inside, is_missing
from retrieval_eval.report.names import MISSING
from retrieval_eval.values import as_number, counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Values = dict[str, list[float]]
"""The name of a group to its values, those that are missing left out."""

MAX_ROWS: Final = 500
"""Rows printed of the data of a figure."""


class NothingToShow(Exception):  # noqa: N818  no fault: the exhibit says why it is empty
    """Raised by a figure or table that has nothing to show; the text is the sentence that says why.

    The sentence ends with a full stop. ``key`` is as for :class:`Words`, and so is ``finding``; by
    default it is the sentence. ``is_expected`` is as for
    :class:`~retrieval_eval.report.exhibits.Empty`.
    """

    def __init__(
        self, why: str, key: str = "", finding: str = "", *, is_expected: bool = False
    ) -> None:
        super().__init__(why)
        self.key = key
        self.finding = finding
        self.is_expected = is_expected


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
    formats
        How columns of ``data`` are printed; by default as they are declared.
    heads
        What columns of ``data`` are called; by default as they are declared.
    cells
        For tables: header and rows as they are printed; by default those of ``data``.
    align
        For ``cells``: ``left`` or ``right`` for each column; all but the first are at the right by
        default.
    notes
        Sentences below a table.
    key
        What links call it, where it has a name of its own.
    kind
        Of tables, how they are laid out.
    """

    finding: str
    caption: str
    data: pd.DataFrame
    alt: str = ""
    formats: Mapping[str, Format] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    cells: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] | None = None
    align: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    key: str = ""
    kind: Kind = ""


@dataclass
class Exhibit:
    """A figure or table that shows itself in a notebook, or the sentence that says why not.

    Attributes
    ----------
    key
        What links on a page call it.
    finding, caption, alt
        Its words, computed from the frame unless they were given.
    data
        A copy of the numbers drawn or printed, as a frame; editing it changes nothing shown.
    ax
        The axes, which may be drawn on further: the page shows what they hold when it is shown.
        None for tables, and where there is nothing to draw.
    nothing
        The sentence that says why there is nothing to show; else empty.
    width
        What part of the page it takes.
    is_expected
        As for :class:`~retrieval_eval.report.exhibits.Empty`.
    """

    key: str
    finding: str
    caption: str
    alt: str
    data: pd.DataFrame
    ax: Axes | None = None
    nothing: str = ""
    width: Width = ""
    is_expected: bool = False
    _words: Words | None = field(default=None, repr=False)
    _svg: tuple[str, str] = field(default=("", ""), init=False, repr=False)

    @property
    def figure(self) -> Any:
        """The matplotlib figure that ``ax`` is part of, or None."""
        return None if self.ax is None else self.ax.get_figure()

    def svg(self) -> str:
        """Return the figure as SVG text for a page; empty where there is none."""
        return self._saved()[0]

    def narrow_svg(self) -> str:
        """Return the figure as SVG text for a narrow screen; empty on axes that were given."""
        return self._saved()[1]

    def _saved(self) -> tuple[str, str]:
        # Only after the axes have changed: a second layout of the same marks may differ in the
        # last digits of their places.
        if self.ax is not None and (self.figure.stale or not self._svg[0]):
            self._svg = both_sizes(self.figure)
            self.figure.stale = False
        return self._svg

    def block(self) -> Block:
        """Return what the exhibit shows, as the report's sections do."""
        if self.nothing or self._words is None:
            finding = "" if self.nothing.rstrip(".") == self.finding else self.finding
            empty = Empty(self.key, self.nothing, self.is_expected)
            return Block("section", finding, exhibits=(empty,))
        if self.ax is None:
            table = self._table(self.key)
            return Block("section", self.finding, exhibits=(table,), width=self.width)
        drawn = Figure(
            self.key,
            self.svg(),
            self.alt,
            self.caption,
            self._table(f"{self.key}-data"),
            self.narrow_svg(),
            _values(self._words.data),
        )
        return Block("section", self.finding, exhibits=(drawn,), width=self.width)

    def _table(self, key: str) -> Table:
        words = self._words
        assert words is not None
        if words.cells is not None:
            return Table(key, self.caption, *words.cells, words.align, words.notes, words.kind)
        shown = words.data.head(MAX_ROWS)
        header, rows, align = printed(shown, words.formats, words.heads)
        notes = words.notes
        if len(shown) < len(words.data):
            notes = (*notes, f"The first {len(shown):,} of {len(words.data):,} rows.")
        return Table(key, self.caption, header, rows, align, notes)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.ax is not None:
            from matplotlib import pyplot as plt

            plt.close(self.figure)  # or a notebook shows the canvas of plt.subplots() once more
        return self.block()._repr_mimebundle_(include, exclude)

    def _repr_html_(self) -> str:
        return str(self._repr_mimebundle_()["text/html"])

    def __repr__(self) -> str:
        return f"<Exhibit {self.key}: {self.finding or self.caption}>"


def printed(
    data: pd.DataFrame, formats: Mapping[str, Format], heads: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return header, rows and alignment of a frame as text, its columns as they are declared.

    Columns behind the first of a frame that was pivoted by something else than metrics are values
    of the data, such as a configuration called "baseline", and no columns of ours.
    """
    is_pivoted = data.columns.name not in (None, "metric", "measure")
    columns, align = [], []
    for place, column in enumerate(data.columns):
        values = list(data.iloc[:, place])
        show = formats.get(column) or formatter("" if is_pivoted and place else column, values)
        columns.append([cell_text(value, show) for value in values])
        is_text = show is as_text or (place == 0 and column not in formats)
        is_text |= any(isinstance(value, str) for value in values)
        align.append("left" if is_text else "right")
    header = tuple(
        heads.get(column) or (visible(column, 80) if is_pivoted and place else heading(column))
        for place, column in enumerate(data.columns)
    )
    return header, tuple(zip(*columns, strict=True)), tuple(align)


def cell_text(value: Any, show: Format) -> str:
    """Return a value as text; a missing one is a dash."""
    return MISSING if is_missing(value) else show(value)


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


def figure(
    name: str, *, height: float = 3.2, width: Width = "", of: Of = "frame", panels: bool = False
) -> Callable[[Callable[..., Words]], Shown]:
    """Return a decorator that adds a figure.

    What it decorates is called with the axes, the frame and its own arguments, under the report's
    theme. Callers pass the frame first, and by keyword ``ax`` (axes to draw on; by default those of
    a new figure of ``height`` inches), ``key`` (what links call it), ``width`` (what part of the
    page it takes), and ``finding``, ``caption`` or ``alt`` in place of the computed ones; an empty
    ``finding`` shows none. ``empty`` is the sentence, in place of the computed one, where there is
    nothing to show. One ``of`` a study is given what :func:`retrieval_eval.compare` returns in
    place of a frame, and one of ``panels`` a figure in place of axes.
    """
    drawn = _Drawn(height, width, of, panels)
    return lambda draw: FIGURES.add(name, _shown(name, draw, drawn))


def tabular(
    name: str, *, width: Width = "", of: Of = "frame"
) -> Callable[[Callable[..., Words]], Shown]:
    """Return a decorator that adds a table; as :func:`figure`, but for the axes."""
    return lambda make: TABLES.add(name, _shown(name, make, _Drawn(None, width, of)))


Of = Literal["frame", "study"]
"""What an entry shows."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """How an entry is drawn; without a height it is a table."""

    height: float | None
    width: Width
    of: Of
    has_panels: bool = False


def _shown(name: str, make: Callable[..., Words], drawn: _Drawn) -> Shown:
    """Return the public function: checks the frame, gives axes, and returns the exhibit."""
    own = inspect.signature(make)
    is_table = drawn.height is None
    kind = "table" if is_table else "plot"

    def show(
        frame: Any,
        *arguments: Any,
        ax: Axes | None = None,
        key: str = "",
        width: Width | None = None,
        finding: str | None = None,
        caption: str | None = None,
        alt: str | None = None,
        empty: str | None = None,
        **options: Any,
    ) -> Exhibit:
        if is_table and (ax is not None or alt is not None):
            raise BadInputError(f"table.{name} draws nothing, so it takes no axes and no alt text")
        if drawn.has_panels and ax is not None:
            raise BadInputError(f"plot.{name} draws several panels, so it takes no axes")
        part = drawn.width if width is None else width
        if part and part not in get_args(Width):
            raise BadInputError(f"{kind}.{name}: width is one of {', '.join(get_args(Width)[1:])}")
        attrs = _checked(frame).attrs if drawn.of == "frame" else _study(frame, kind, name)
        head: tuple[Any, ...] = (frame,)
        try:
            bound = own.bind(*([frame] if is_table else [ax, frame]), *arguments, **options)
        except TypeError as error:
            raise BadInputError(f"{kind}.{name}: {error}") from None
        words, said, found, own_key, is_expected = None, "", "", "", False
        try:
            if why := str(attrs.get("withheld", "") or attrs.get("too_few", "")):
                raise NothingToShow(why, is_expected=True)
            if drawn.height is None:
                words = make(*head, *arguments, **options)
            elif ax is not None:
                with themed():
                    words = make(ax, *head, *arguments, **options)
            else:
                with canvas(drawn.height, style.WIDTHS.get(part, style.WIDTH)) as made:
                    target: Any = made if drawn.has_panels else made.subplots()
                    words = make(target, *head, *arguments, **options)
                    ax = made.axes[0]
        except NothingToShow as nothing:
            ax, said, found, own_key = None, str(nothing), nothing.finding, nothing.key
            is_expected = nothing.is_expected
            said = said if {"withheld", "too_few"} & attrs.keys() else empty or said
        except KeyError as error:
            if drawn.of == "frame":
                _need_column(frame, error)
            raise
        found = words.finding if words else found
        if words is not None:
            # Not the frame that was given, which may be edited before the exhibit is shown.
            words = replace(words, data=words.data.copy())
        return Exhibit(
            key or (words.key if words else own_key) or _key(name, bound.arguments),
            finding
            if finding is not None
            else words.finding
            if words
            else found or said.rstrip("."),
            caption if caption is not None else words.caption if words else "",
            alt if alt is not None else words.alt if words else said,
            words.data.copy() if words else as_frame({}),
            ax,
            said,
            part,
            is_expected,
            words,
        )

    added = [
        p
        for p in inspect.signature(show).parameters.values()
        if p.kind is p.KEYWORD_ONLY and (not is_table or p.name not in ("ax", "alt"))
    ]
    taken = list(own.parameters.values())[0 if is_table else 1 :]
    show.__name__ = show.__qualname__ = make.__name__
    show.__doc__, show.__module__ = make.__doc__, make.__module__
    signature = inspect.Signature([*taken, *added], return_annotation=Exhibit)
    show.__signature__ = signature  # type: ignore[attr-defined]
    return show


_OPTIONS: Final = (
    *("ax", "frame", "names", "xlabel", "ylabel", "sort"),
    *("notes", "formats", "header", "links", "caption", "top"),
    *("by", "n", "p", "low", "high", "end", "limit", "marks"),
)
"""Arguments that do not tell one exhibit from another."""


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    texts = [name]
    for argument, value in arguments.items():
        if argument not in _OPTIONS:
            parts = [value] if isinstance(value, str) else value
            texts += [p for p in parts if isinstance(p, str)] if _is_listed(parts) else []
    return slug("-".join(texts))[:80]


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple | Mapping)


def _study(study: Any, kind: str, name: str) -> Mapping[str, Any]:
    """Return what the frames of a study note; that none may be shown is left to its entries."""
    if not hasattr(study, "why_not"):
        given = type(study).__name__
        raise BadInputError(f"{kind}.{name} shows what compare(…) returned, not {given}")
    return {}


def _checked(frame: Any) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise BadInputError(f"expected a data frame, not {type(frame).__name__}")
    return frame


def _need_column(frame: pd.DataFrame, error: KeyError) -> None:
    """Raise ``BadInputError`` where the key that was not found is a column the frame lacks."""
    for name in re.findall(r"[\w@:]+", str(error.args[0])) if error.args else ():
        column(frame, name)


def column(frame: pd.DataFrame, name: str) -> list[Any]:
    """Return the values of a column; raises ``BadInputError`` with the closest names if none is."""
    if name not in frame.columns:
        known = [str(c) for c in frame.columns]
        close = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4)
        listed = ", ".join(visible(c, 60) for c in close or known[:12]) or "no column"
        raise BadInputError(f"the frame has no column {visible(str(name), 60)!r}; it has {listed}")
    return list(frame[name])


def numbers(frame: pd.DataFrame, name: str) -> list[float | None]:
    """Return the finite numbers of a column, None for what is none."""
    found = [as_number(value) for value in column(frame, name)]
    return [v if v is not None and math.isfinite(v) else None for v in found]


def metric_of(frame: pd.DataFrame) -> str:
    """Return the heading of the metric that all rows are about, or the empty text.

    Examples
    --------
    >>> import pandas as pd
    >>> metric_of(pd.DataFrame({"metric": ["mrr", "mrr"]})), metric_of(pd.DataFrame({"n": [1]}))
    ('MRR', '')
    """
    named = set(texts(frame, "metric")) if "metric" in frame.columns else set()
    return heading(named.pop()) if len(named) == 1 else ""


def side_of(frame: pd.DataFrame, side: str) -> str:
    """Return the configuration of a side of pairs, where the frame names exactly one."""
    if f"{side}_config" not in frame.columns:
        return heading(side)
    found = list(dict.fromkeys(texts(frame, f"{side}_config")))
    return visible(found[0], 30) if len(found) == 1 else heading(side)


def truths(frame: pd.DataFrame, name: str) -> list[bool]:
    """Return whether each value of a column is true; what is missing is not."""
    return [not is_missing(value) and bool(value) for value in column(frame, name)]


def texts(frame: pd.DataFrame, name: str) -> list[str]:
    """Return the values of a column as text, lists joined, a dash for what is missing."""
    return [as_text(value) for value in column(frame, name)]


def labels(frame: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return the group of every row: the values of ``by``, or ``all`` without."""
    if not by:
        return ["all"] * len(frame)
    names = [by] if isinstance(by, str) else list(by)
    return [" · ".join(row) for row in zip(*(texts(frame, name) for name in names), strict=True)]


def groups_of(frame: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return the groups that have rows, in the order of the rows or of a categorical column."""
    present = set(labels(frame, by))
    return [group for group in _all_groups(frame, by) if group in present]


def _all_groups(frame: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """Return all groups, also those of categories without a row.

    With categories a group keeps its place, and so its colour and shape, when a filter takes away
    those before it.
    """
    found = list(dict.fromkeys(labels(frame, by)))
    categories = getattr(frame[by].dtype, "categories", None) if isinstance(by, str) and by else ()
    known = [as_text(category) for category in (() if categories is None else categories)]
    return [*known, *(label for label in found if label not in known)]


def marks_of(frame: pd.DataFrame, by: str | Sequence[str] | None) -> dict[str, style.Mark]:
    """Return colour and shape of every group, also of one without values."""
    return {label: style.mark(i) for i, label in enumerate(_all_groups(frame, by))}


def values_by(frame: pd.DataFrame, x: str, by: str | Sequence[str] | None) -> Values:
    """Return the values of a column by group, in the order of :func:`groups_of`."""
    found: Values = {label: [] for label in groups_of(frame, by)}
    for label, value in zip(labels(frame, by), numbers(frame, x), strict=True):
        if value is not None:
            found[label].append(value)
    return found


def known_values(frame: pd.DataFrame, x: str, by: str | Sequence[str] | None) -> Values:
    """Return the groups that have values; raises :class:`NothingToShow` where none has."""
    found = values_by(frame, x, by)
    need_rows(frame)
    if not any(found.values()):
        raise NothingToShow(f"No row has a value of {inside(heading(x))}.")
    return {label: values for label, values in found.items() if values}


def need_rows(frame: pd.DataFrame) -> None:
    """Raise :class:`NothingToShow` where the frame has no row."""
    if not len(frame):
        raise NothingToShow("There is no row to show.")


def as_frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a frame of columns of text (as objects, whatever they hold) and numbers."""
    import pandas as pd

    frame = pd.DataFrame({i: _series(list(v)) for i, v in enumerate(columns.values())})
    # As objects: names that are no valid Unicode are no strings of pandas.
    frame.columns = pd.Index(list(columns), dtype="object")
    return frame


def _series(values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    known = [v for v in values if v is not None]
    if any(isinstance(v, str) or as_number(v) is None for v in known):
        return pd.Series(values, dtype="object")
    whole = len(known) == len(values) and all(isinstance(v, int) for v in known)
    return pd.Series(values, dtype="int64" if whole and values else "float64")


def ranked(what: str, found: Mapping[str, tuple[float, int]], show: Format) -> str:
    """Return the finding that orders groups by a value, given with what it rests on.

    Examples
    --------
    >>> ranked("Mean MRR", {"a": (0.5, 10), "b": (0.625, 12)}, "{:.2f}".format)
    'Mean MRR: 0.62 with b (n = 12), 0.50 with a (n = 10)'
    """
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return f"{what}: " + listed(
        [
            (f"{show(v)} with {visible(group, 36)}" if group != "all" else show(v))
            + f" (n = {n:,})"
            for group, (v, n) in ordered
        ]
    )


def listed(parts: Sequence[str], most: int = 4, separator: str = ", ") -> str:
    """Return the first parts, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    more = len(parts) - most
    return separator.join(parts[:most]) + (f" and {more} more" if more > 0 else "")


def known_of(n: int, total: int, noun: str = "row") -> str:
    """Return of how many rows an exhibit is; those without a value are counted.

    Examples
    --------
    >>> known_of(3, 3), known_of(2, 3)
    ('3 rows', '2 of 3 rows, the others without a value')
    """
    if n == total:
        return counted(n, noun)
    return f"{n:,} of {counted(total, noun)}, the others without a value"


def _values(data: pd.DataFrame) -> tuple[tuple[Any, ...], ...]:
    """Return columns and rows of a frame as JSON has them: numbers, text, truth and None."""
    return (
        tuple(map(str, data.columns)),
        *(
            tuple(None if is_missing(v) else _plain(v) for v in row)
            for row in data.itertuples(index=False, name=None)
        ),
    )


def _plain(value: Any) -> Any:
    found = value.item() if hasattr(value, "item") else value
    if isinstance(found, float) and not math.isfinite(found):
        return str(found)  # JSON has no infinity
    return found if isinstance(found, str | int | float) else str(found)
