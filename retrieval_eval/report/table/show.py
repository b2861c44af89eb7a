"""A frame as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from retrieval_eval.agents.study.frames import is_as_made
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.report.defaults import defaults_of
from retrieval_eval.report.exhibits import Link
from retrieval_eval.report.headings import NAMED, Format, is_missing
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    column,
    printed,
    tabular,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd


@tabular("show")
def show(
    frame: pd.DataFrame,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    formats: Mapping[str, str | Callable[[Any], str]] | None = None,
    header: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
    notes: str | Sequence[str] = (),
    top: int | None = None,
) -> Words:
    """Show rows of a frame, a column each, headed and printed as the columns are declared.

    A frame of a run, trial, comparison or history, or rows of it, is shown as
    :mod:`retrieval_eval.report.defaults` says: its caption, finding, columns, heads, formats, links
    and number of rows are those of the frame where no others are given.

    Parameters
    ----------
    frame
        Any frame; its index is not shown.
    columns
        Columns in the order to show them, or a mapping from column to printed head.
    formats
        For a column, how values are printed: ``rate`` (two decimals), ``signed``, ``points``
        (signed, ``0`` for none), ``band`` (±), ``count``, ``percent``, ``p``, ``interval`` (of
        cells with two ends), ``seconds``, ``text``, or a function from a value to text. By default
        as the metric or column is declared, else as fits its values. A missing value is a dash in
        any format.
    header
        For a column, its printed head.
    links
        For a column, the column that holds where each cell leads: a place on the page such as
        ``#top``, or a file of the report; of a column ``x`` by default ``x_page``, if there is
        one. A missing place is no link.
    notes
        Sentences below the table.
    top
        How many rows to show, from the first; a note says of how many.

    Returns
    -------
    Exhibit
        With ``data`` of the rows and columns shown.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"benchmark": ["s", "t"], "mrr": [0.5, None], "share": [0.125, 1]})
    >>> shown = rev.table.show(trials, ["benchmark", "mrr", "share"], formats={"share": "percent"})
    >>> shown.block().exhibits[0].rows
    (('s', '0.50', '12.5 %'), ('t', '—', '100 %'))
    >>> shown.block().exhibits[0].header
    ('Suite', 'MRR', 'Share')
    """
    known = defaults_of(frame)
    key = known.key if known else ""
    if columns is None and known is not None:
        columns, top = known.columns or None, top or known.top
    chosen = list(columns) if columns is not None else list(frame.columns)
    own = {name: f"{name}_page" for name in chosen if f"{name}_page" in frame.columns}
    if known is not None and links is None:
        own |= {
            name: place
            for name, place in known.links.items()
            if name in chosen and place in frame.columns
        }
    links = own | dict(links or {})
    for name in [*chosen, *links.values()]:
        column(frame, name)
    for what, given in (("formats", formats), ("header", header), ("links", links)):
        unknown = [name for name in given or {} if name not in chosen]
        if unknown:
            raise BadInputError(
                f"table.show: {what} names {visible(unknown[0], 60)!r}, which is not shown; shown "
                f"are {', '.join(visible(name, 40) for name in chosen)}"
            )
    if not len(frame) or not chosen:
        why = str(frame.attrs.get("empty", "")) or (known.empty if known else "")
        nothing = "The frame has no row or no column, so there is nothing to show."
        is_why = why and frame.attrs.get("was_empty")
        raise NothingToShow(
            why if is_why else nothing,
            key,
            known.of_no_row() if known else "",
            is_expected=known is not None and known.is_expected,
        )
    if top is not None and top < 1:
        raise BadInputError(f"table.show: top is {top}, and at least one row has to be shown")
    data = frame[chosen].head(top if top is not None else len(frame))
    heads = {
        **(known.columns if known else {}),
        **(columns if isinstance(columns, Mapping) else {}),
        **(header or {}),
    }
    shown_as = dict(known.formats) if known else {}
    shown_as |= {name: _format(name, given) for name, given in (formats or {}).items()}
    names, rows, align = printed(data, shown_as, heads)
    for name, place in links.items():
        rows = _linked(rows, chosen.index(name), list(frame[place]))
    said = [notes] if isinstance(notes, str) else list(notes)
    if known is not None and not said:
        own_notes = known.notes(frame) if callable(known.notes) else known.notes
        of_frame = str(frame.attrs.get("notes", ""))
        said = [of_frame if of_frame and is_as_made(frame) else "", *own_notes]
    if len(data) < len(frame):
        said.append(f"The first {len(data):,} of {len(frame):,} rows.")
    finding, caption = "", counted(len(frame), "row")
    if known is not None:
        finding = known.finding(frame) if callable(known.finding) else known.finding
        caption = known.caption(frame) if callable(known.caption) else known.caption or caption
    return Words(
        finding,
        caption,
        data,
        cells=(names, rows),
        align=align,
        notes=tuple(filter(None, said)),
        key=key,
    )


def _format(name: str, given: str | Format) -> Format:
    if not isinstance(given, str):
        return given
    if given in NAMED:
        return NAMED[given]
    close = get_close_matches(given, NAMED, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(NAMED)}"
    raise BadInputError(
        f"{visible(given, 40)!r} of column {visible(name, 40)} is no format; {hint}"
    )


def _linked(
    rows: tuple[tuple[str, ...], ...], place: int, hrefs: Sequence[Any]
) -> tuple[tuple[str, ...], ...]:
    linked = []
    for row, href in zip(rows, hrefs, strict=False):
        cell = row[place] if is_missing(href) or not href else Link(row[place], str(href))
        linked.append((*row[:place], cell, *row[place + 1 :]))
    return tuple(linked)
