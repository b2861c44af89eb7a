"""Blocks, figures and tables as HTML and as words. Pure; untrusted text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

from retrieval_eval.escape import html_text, raw_block, visible
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Block, Empty, Exhibit, Figure, Link, Links, Strong, Table
from retrieval_eval.report.typst import to_typst

SHORT: Final = 8
"""Tables of at most so many rows are not split over two printed pages."""

WIDE: Final = 115
"""Tables of more letters in a line are printed on a page of their own, in landscape."""

LINE: Final = 90
"""Captions of at most so many letters are printed in one line, however narrow the table."""

SENTENCE: Final = 48
"""Columns with a text longer than this are kept wide on a narrow page."""

_PLACE: Final = re.compile(
    r"(?:\.\./){0,4}[\w@%+~-][\w.@%+~-]*(?:/[\w@%+~-][\w.@%+~-]*)*(?:#[\w.@%+~-]+)?|#[\w.@%+~-]+",
    re.ASCII,
)
"""Where a link may lead: a place on the page, or a file beside, below or above it."""

_NAMES: Final = {color.lower(): f"c{i}" for i, color in enumerate(style.DARK)}
_STYLE: Final = (
    "<style>text{fill:var(--c0,"
    + style.TEXT
    + ")}@media(prefers-color-scheme:dark){:root{"
    + ";".join(f"--{_NAMES[light.lower()]}:{dark}" for light, dark in style.DARK.items())
    + "}}</style>"
)
_COLOR: Final = re.compile(r"((?:fill|stroke):\s*)(#[0-9a-fA-F]{6})\b")
_ATTRIBUTE: Final = re.compile(r' (fill|stroke)="(#[0-9a-fA-F]{6})"')
_VARIABLE: Final = re.compile(r"var\(--c\d+,(%23[0-9a-fA-F]{6})\)")
_NARROW: Final = re.compile(r'<source media="[^"]*" srcset="data:[^"]*"[^>]*>')


_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
"""A day, or a time of a day, which is never broken over two lines."""

_NUMBER: Final = re.compile(r"[-+−\d][\d.,]*(?: %)?|\[[-+−\d.,]+, [-+−\d.,]+\]", re.ASCII)
"""A number or an interval, which is never broken over two lines either."""

_MARKS: Final = {
    ord(glyph): f'<span class="g{i}">{glyph}</span>' for i, glyph in enumerate(style.GLYPHS)
}

_LONG_WORD: Final = re.compile(r"\S{20,}")
_PIECE: Final = re.compile(r"(?:&[^;]+;|[^_/.:=@&\\-]){1,24}[_/.:=@\\-]*|[_/.:=@\\-]+")
"""What a line may break behind in an escaped word: a sign, else 24 letters."""


def to_html(block: Block) -> str:
    """Return a block as an HTML fragment without headings, scripts or outside resources."""
    parts = []
    if block.badges:
        parts.append(_list_html("badges", block.badges))
    if block.finding:
        parts.append(f'<p class="finding">{_marked(html_text(block.finding))}</p>')
    parts += [f"<p>{_marked(html_text(sentence))}</p>" for sentence in block.sentences]
    if block.points:
        parts.append(_list_html("points", block.points))
    is_answer = block.kind == "answer"
    parts += [exhibit_html(exhibit, labelled=is_answer) for exhibit in block.exhibits]
    tone = f" tone-{block.tone}" if block.tone else ""
    width = f" w-{block.width}" if block.width else ""
    return f'<div class="block {block.kind}{tone}{width}">\n' + "\n".join(parts) + "\n</div>"


def switch_html(shown: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a line for each sentence, which opens the blocks below it and closes the others."""
    panes = []
    for said, blocks in shown:
        inner = "\n".join(blocks)
        summary = f"<summary>{_marked(html_text(said))}</summary>"
        panes.append(f'<details class="pane" name="switch">{summary}\n{inner}</details>')
    return '<div class="block section switch">\n' + "\n".join(panes) + "\n</div>"


def _marked(html: str) -> str:
    """Return escaped text in which the marks of configurations have their colours."""
    return html.translate(_MARKS)


def _list_html(kind: str, entries: Sequence[tuple[str, str]]) -> str:
    items = "".join(
        f"<div><dt>{_cell_html(name, words=False)}</dt><dd>{_marked(html_text(value))}</dd></div>"
        for name, value in entries
    )
    return f'<dl class="{kind}">{items}</dl>'


def to_markdown(block: Block) -> str:
    """Return a block as Pandoc's Markdown: for print, in typst as it is.

    Markdown of its own would be a third grammar, in which text of a trace could be markup.
    """
    return raw_block("typst", to_typst(block)) + "\n"


def to_plain(block: Block) -> str:
    """Return the words of a block for a terminal."""
    lines = [block.finding, *block.sentences, *(f"{k}: {v}" for k, v in block.points)]
    for exhibit in block.exhibits:
        match exhibit:
            case Figure():
                lines.append(exhibit.alt)
            case Table():
                lines.append(exhibit.caption)
            case Empty():
                lines.append(exhibit.sentence)
    return "\n".join(visible(line) for line in lines if line)


def exhibit_html(exhibit: Exhibit, *, labelled: bool = False) -> str:
    """Return a figure, table or empty state as HTML; ``labelled`` as for :func:`table_html`."""
    match exhibit:
        case Figure():
            return _figure_html(exhibit)
        case Table():
            return table_html(exhibit, labelled=labelled)
        case Empty():
            return f'<p class="empty">{html_text(exhibit.sentence)}</p>'


def _figure_html(figure: Figure) -> str:
    width, height = _size(figure.svg)
    image = (
        f'<img src="{data_uri(figure.svg)}" alt="{html_text(figure.alt)}" '
        f'width="{width}" height="{height}">'
    )
    if figure.narrow:
        narrow = (
            f'<source media="screen and (max-width: 600px)" srcset="{data_uri(figure.narrow)}" '
            'width="{}" height="{}">'.format(*_size(figure.narrow))
        )
        image = f"<picture>{narrow}{image}</picture>"
    return (
        f'<figure id="fig-{figure.key}">{image}'
        f"<figcaption>{_marked(html_text(figure.caption))}</figcaption>"
        f"<details><summary>data</summary>{table_html(figure.data)}</details>"
        "</figure>"
    )


def table_html(table: Table, *, labelled: bool = False) -> str:
    """Return a table with caption, column and row scopes, in a scrollable labelled region.

    With ``labelled``, or where rows are headed by sentences such as queries, every cell carries
    the name of its column, so that a narrow page can show each row as a card.
    """
    columns = [_class_of(table, i) for i in range(len(table.header))]
    has_cards = table.kind == "cards" or (not table.kind and (labelled or "long" in columns[0]))
    head = "".join(
        f'<th scope="col" class="{column}">{_marked(html_text(name))}</th>'
        for column, name in zip(columns, table.header, strict=True)
    )
    body = "\n".join(f"<tr>{_row_html(table, row, columns, has_cards)}</tr>" for row in table.rows)
    notes = "".join(f"<p>{html_text(note)}</p>" for note in table.notes)
    kinds = {
        "cards": has_cards,
        "short": len(table.rows) <= SHORT,
        "wide": not labelled and _least_width(table) > WIDE,
        table.kind: bool(table.kind),
        f"t-{table.key}": True,
    }
    classes = ["table", *(name for name, holds in kinds.items() if holds)]
    line = ' class="line"' if len(table.caption) <= LINE else ""
    return (
        f'<div class="{" ".join(classes)}" role="group" tabindex="0" '
        f'aria-labelledby="tbl-{table.key}">'
        f'<table><caption id="tbl-{table.key}"{line}>{_marked(html_text(table.caption))}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        + (f'<div class="notes">{notes}</div>' if notes else "")
    )


def _least_width(table: Table) -> int:
    """Return about how many letters wide a table is at least, where lines break as they may."""
    width = 0
    for column, name in enumerate(table.header):
        words = re.split(r"[\s/-]", name)
        cells = (row[column] for row in table.rows)
        if table.alignment(column) == "right":
            words += cells
        else:
            words += (word[:24] for cell in cells for word in re.split(r"[\s/_.-]", cell))
        width += max(map(len, words)) + 1
    return width


def _class_of(table: Table, column: int) -> str:
    """Return the classes of a column: how it is aligned, and whether it holds sentences."""
    side = table.alignment(column)
    is_long = side == "left" and any(len(row[column]) > SENTENCE for row in table.rows)
    return f"{side} long" if is_long else side


def _row_html(table: Table, row: tuple[str, ...], columns: list[str], labelled: bool) -> str:
    first = f'<th scope="row" class="{columns[0]}">{_cell_html(row[0], words=True)}</th>'
    labels = [f' data-label="{html_text(n)}"' if labelled else "" for n in table.header]
    # The line ends keep the texts of neighbours apart for the search of a page.
    return first + "".join(
        f'\n<td class="{columns[i]}"{labels[i]}>'
        f"{_cell_html(cell, words=table.alignment(i) == 'left')}</td>"
        for i, cell in enumerate(row[1:], start=1)
    )


def _cell_html(cell: str, *, words: bool) -> str:
    if isinstance(cell, Strong):
        return f"<strong>{breakable(cell) if words else html_text(cell)}</strong>"
    if isinstance(cell, Links):
        # Escaping takes the white space around a text, which here is between two parts.
        return "".join(
            " " * part.startswith(" ") + _cell_html(part, words=words) + " " * part.endswith(" ")
            for part in cell.parts
        )
    if _MOMENT.fullmatch(cell):
        return f"<time>{html_text(cell)}</time>"
    if words and _NUMBER.fullmatch(cell):
        return f'<span class="number">{html_text(cell)}</span>'
    text = breakable(cell) if words else html_text(cell)
    if not isinstance(cell, Link) or not cell.href:
        return text
    if not _PLACE.fullmatch(cell.href):
        raise ValueError(f"not a place inside the report: {cell.href[:80]!r}")
    return f'<a href="{html_text(cell.href)}">{text}</a>'


def breakable(text: str) -> str:
    """Return text as HTML in which a line may break inside long words, or they squeeze the others.

    Examples
    --------
    >>> breakable("src/retrieval_eval.py")
    'src/<wbr>retrieval_<wbr>eval.<wbr>py'
    """
    return _LONG_WORD.sub(lambda word: "<wbr>".join(_PIECE.findall(word[0])), html_text(text))


def data_uri(svg: str) -> str:
    """Return an SVG as a data URI whose colours follow a dark page.

    A browser shows such an image in the colour scheme of the element that holds it.
    """
    return "data:image/svg+xml," + _encoded(_themed(svg))


def print_image(html: str) -> str:
    """Return a page whose figures have plain colours and one size, for a renderer of print."""
    plain = _NARROW.sub("", html.replace(_encoded(_STYLE), ""))
    return _VARIABLE.sub(r"\1", plain)


def _encoded(svg: str) -> str:
    # No space and no comma at the end, so that it may stand in a srcset.
    return quote(svg, safe="!'()*+,-./:;=?@_~$", errors="replace")


def _themed(svg: str) -> str:
    """Return an SVG in which the colours of the theme are variables with a dark value."""

    def variable(color: re.Match[str]) -> str:
        name = _NAMES.get(color[2].lower())
        return f"{color[1]}var(--{name},{color[2]})" if name else color[0]

    def tag(found: re.Match[str]) -> str:
        # In a pattern of hatches the colour is an attribute, where a variable has no effect.
        text = found[0]
        if "style=" not in text:
            text = _ATTRIBUTE.sub(r' style="\1:\2"', text)
        text = _COLOR.sub(variable, text)
        return text if "'" in text else text.replace('"', "'")  # which needs no escape

    first, end, rest = re.sub(r"<[^>]*>", tag, svg).partition(">")
    return f"{first}{end}{_STYLE}{rest}"


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'<svg[^>]{0,400}?viewBox="0 0 ([0-9.]+) ([0-9.]+)"', svg)
    if found is None:
        return (960, 480)
    return (round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3))
