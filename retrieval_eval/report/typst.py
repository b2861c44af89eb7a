"""Blocks, figures and tables as typst, for print. Pure; untrusted text becomes a string.

A string of typst is text and never markup, so that no cell of a table can become a heading, a
list or a term. Only functions of typst itself are called: a block looks the same in any document.
"""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.escape import typst_string, visible
from retrieval_eval.report.exhibits import Block, Empty, Exhibit, Figure, Table

TONES: Final = {"better": "#005f47", "worse": "#9a3b00"}
_INK: Final = "#1f2328"
_SOFT: Final = "#565d66"
_RULE: Final = "#d8dce1"
_WASH: Final = "#f6f7f8"

_SHORT: Final = 12
_LONGEST: Final = 60
"""Columns of left-aligned text longer than the one share the width, by lengths up to the other."""

_BREAK: Final = "\u200b"
_LONG_WORD: Final = re.compile(r"\S{13,}")
_PIECE: Final = re.compile(r"[^\W_]{1,8}[\W_]?|[\W_]")
"""What a line may break behind in a long word: a sign, else eight letters."""


def to_typst(block: Block) -> str:
    """Return a block as typst markup that needs nothing around it."""
    parts = [_badges(block.badges)] if block.badges else []
    if block.finding:
        size = "1.5em" if block.kind == "answer" else "1.25em"
        words = f"text(size: {size}, {_words(block.finding)})"
        parts.append(f"block(sticky: true, below: 0.8em, {words})")
    parts += [f"par({_words(sentence)})" for sentence in block.sentences]
    parts += [_exhibit(exhibit) for exhibit in block.exhibits]
    if block.kind != "answer":
        return "\n\n".join(f"#{part}" for part in parts)
    edge = f'stroke: (left: 3pt + rgb("{TONES.get(block.tone, _SOFT)}"))'
    body = "\n".join(parts)
    return f'#block(fill: rgb("{_WASH}"), {edge}, inset: 10pt, width: 100%, {{\n{body}\n}})'


def _badges(badges: tuple[tuple[str, str], ...]) -> str:
    cells = ", ".join(
        f"{_soft(_words(name))}, text(weight: 600, {_words(value)})" for name, value in badges
    )
    return f"grid(columns: (auto, 1fr), column-gutter: 10pt, row-gutter: 6pt, {cells})"


def _exhibit(exhibit: Exhibit) -> str:
    match exhibit:
        case Figure():
            return _figure(exhibit)
        case Table():
            return _table(exhibit)
        case Empty():
            words = _soft(_words(exhibit.sentence))
            return f'block(fill: rgb("{_WASH}"), inset: 8pt, width: 100%, {words})'


def _figure(figure: Figure) -> str:
    """Return a figure that keeps its number; its data is for the screen, not for print."""
    picture = (
        f'image(bytes({typst_string(figure.svg)}), format: "svg", '
        f"width: 100%, alt: {typst_string(visible(figure.alt))})"
    )
    caption = f'figure.caption(separator: ". ", {_words(figure.caption)})'
    return (
        f"{{\n{_caption_style('bottom')}\n"
        f'figure(kind: image, supplement: "Figure", numbering: "1", {picture}, '
        f"caption: {caption})\n}}"
    )


def _table(table: Table) -> str:
    """Return a table that goes on over pages with its head; as on the page, it has no number."""
    align = ", ".join(table.alignment(i) for i in range(len(table.header)))
    head = ", ".join(f"text(weight: 600, {_words(name)})" for name in table.header)
    rows = "".join("  " + ", ".join(map(_words, row)) + ",\n" for row in table.rows)
    body = (
        f"table(columns: ({_widths(table)}), align: ({align},), inset: (x: 3pt, y: 3.5pt), "
        f'stroke: (x, y) => (bottom: 0.5pt + rgb(if y == 0 {{ "{_INK}" }} else {{ "{_RULE}" }})),\n'
        f"  table.header({head}),\n{rows})"
    )
    shown = (
        f"{{\n{_caption_style('top')}\nshow figure: set block(breakable: true)\n"
        f"figure(kind: table, supplement: none, numbering: none, "
        f"caption: {_words(table.caption)}, "
        f"{{ set text(size: 7.5pt); set par(justify: false, leading: 0.5em); {body} }})\n"
    )
    notes = "".join(
        f"block(above: 0.5em, below: 0.5em, text(size: 7.5pt, {_soft(_words(note))}))\n"
        for note in table.notes
    )
    return f"{shown}{notes}}}"


def _caption_style(place: str) -> str:
    return (
        f"set figure.caption(position: {place})\n"
        "show figure.caption: set block(sticky: true)\n"
        "show figure.caption: set align(left)\n"
        f'show figure.caption: set text(size: 8.5pt, fill: rgb("{_SOFT}"))\n'
        "show figure: set align(left)\n"
        "set figure(gap: 0.6em)"
    )


def _widths(table: Table) -> str:
    """Return as wide columns as their numbers need, and shares of the rest for long text."""
    return "".join(f"{_width(table, i)}, " for i in range(len(table.header)))


def _width(table: Table, column: int) -> str:
    longest = max((len(row[column]) for row in table.rows), default=0)
    if longest <= _SHORT or table.alignment(column) == "right":
        return "auto"
    return f"{min(longest, _LONGEST)}fr"


def _soft(words: str) -> str:
    return f'text(fill: rgb("{_SOFT}"), {words})'


def _words(text: str) -> str:
    """Return text as a string whose long words may break, or they would leave their cells."""
    return typst_string(_LONG_WORD.sub(_with_breaks, visible(text)))


def _with_breaks(word: re.Match[str]) -> str:
    return _BREAK.join(_PIECE.findall(word[0]))
