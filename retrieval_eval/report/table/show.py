"""Tables of any frame: as it is, the means of its columns by group, and counts of its rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from retrieval_eval.agents.study.frames import is_as_made
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.report.defaults import defaults_of
from retrieval_eval.report.exhibits import Link
from retrieval_eval.report.headings import NAMED, Format, formatter, heading, inside, is_missing
from retrieval_eval.report.names import MISSING, of
from retrieval_eval.report.names import count as count_text
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    groups_of,
    labels,
    need_rows,
    printed,
    ranked,
    tabular,
    values_by,
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


# --------------------------------------------------------------------------------------------------
# How many rows there are of each kind.


@tabular("count")
def count(
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    columns: str | Sequence[str] | None = None,
) -> Words:
    """Count the rows of a frame by one or two things, with totals that add up.

    Parameters
    ----------
    frame
        A row a thing that is counted.
    rows
        The column (or columns) of which each value is a row; missing values are counted too.
    columns
        The column (or columns) of which each value is a column; None for the total only.

    Returns
    -------
    Exhibit
        With ``data`` of one row a row, the last of them the totals.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"status": ["ok", "ok", "cut"], "config_name": ["a", "b", "a"]})
    >>> counted = rev.table.count(trials, "status", "config_name")
    >>> counted.finding, counted.data["Total"].tolist()
    ('Status of 3 rows: 2 ok, 1 cut', [2, 1, 3])
    """
    down, across = labels(frame, rows), labels(frame, columns)
    need_rows(frame)
    found = Counter(zip(down, across, strict=True))
    names, heads = groups_of(frame, rows), groups_of(frame, columns) if columns else []
    head = heading(rows)
    totals = Counter(down)
    body = [[name, *(found[name, g] for g in heads), totals[name]] for name in names]
    sums = [sum(found[name, g] for name in names) for g in heads]
    body.append(["Total", *sums, len(frame)])
    # Whatever the groups are called, they are columns beside ours.
    keys = ["row", *(g if g not in ("row", "Total") else f"{g} " for g in heads), "Total"]
    data = as_frame(dict(zip(keys, map(list, zip(*body, strict=True)), strict=True)))
    cells = tuple((str(name), *(count_text(n) for n in ns)) for name, *ns in body)
    parts = [f"{n:,} {name}" for name, n in totals.most_common(4)]
    more = len(totals) - len(parts)
    by = f" and {inside(heading(columns))}" if columns else ""
    return Words(
        f"{head} of {counted(len(frame), 'row')}: {', '.join(parts)}"
        + (f" and {more} more" if more > 0 else ""),
        f"{counted(len(frame), 'row')} by {inside(head)}{by}",
        data,
        cells=((head, *heads, "Total"), cells),
    )


# --------------------------------------------------------------------------------------------------
# Means of several columns, by group.


@tabular("means")
def means(
    frame: pd.DataFrame, columns: Sequence[str], by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Show one row a column and one column a group: mean, and how many rows have a value.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    columns
        The columns of numbers.
    by
        The column (or columns) that splits the rows into groups; None for one group.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "mrr": [0.0, 0.5, None]})
    >>> shown = rev.table.means(trials, ["mrr"])
    >>> shown.finding, shown.data["n"].tolist(), shown.data["rows"].tolist()
    ('Mean MRR: 0.25 with a (n = 2)', [2, 0], [2, 1])
    """
    values = {name: values_by(frame, name, by) for name in columns}
    if not len(frame) or not columns:
        raise NothingToShow("There is no row or no column, so there is no mean to show.")
    of_rows = labels(frame, by)
    groups = groups_of(frame, by)
    sizes = [of_rows.count(group) for group in groups]
    body, rows = [], []
    for name in columns:
        show = formatter(name, [v for own in values[name].values() for v in own] + [0.5])
        cells = [heading(name)]
        for group, size in zip(groups, sizes, strict=True):
            own = values[name][group]
            mean = statistics.fmean(own) if own else None
            rows.append((name, group, mean, len(own), size))
            text = MISSING if mean is None else show(mean)
            cells.append(f"{text} ({of(len(own), size)})")
        body.append(tuple(cells))
    names = ("column", "group", "mean", "n", "rows")
    first = next((c for c in columns if any(values[c].values())), columns[0])
    known = {g: (mean, n) for c, g, mean, n, _ in rows if c == first and mean is not None}
    show = formatter(first, [v for own in values[first].values() for v in own] + [0.5])
    what = inside(heading(first))
    return Words(
        ranked(f"Mean {what}", known, show) if known else f"None of {len(frame):,} rows has {what}",
        f"Means over {len(frame):,} rows (rows with a value of all)",
        as_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        cells=(("Metric", *groups), tuple(body)),
    )
