"""Blocks, figures and tables as typst, for print. Pure; untrusted text becomes a string.

A string of typst is text and never markup, so that no cell of a table can become a heading, a
list or a term. Only functions of typst itself are called, and labels are used as classes
(``<finding>``, ``<note>``): the typst template of the Quarto extension styles them, and in any
other document a block is plain and complete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from retrieval_eval.escape import typst_string, visible
from retrieval_eval.report.exhibits import Block, Empty, Exhibit, Figure, Table

_LINE: Final = 112
"""Characters of a table on a line of an A4 page, in the widest font that is usual."""
_GAP: Final = 2
"""Characters between two columns."""
_BOLD: Final = 1.2
"""How much wider the bold words of the head are."""
_LONGEST: Final = 60
"""A cell longer than this takes part in sharing the width as if it had only so many characters."""

_TOGETHER: Final = 24
"""Tables of no more lines than these stay on one page."""

_BREAK: Final = "\u200b"
_LONG_WORD: Final = re.compile(r"\S{13,}")
_LONG_PROSE_WORD: Final = re.compile(r"\S{40,}")
_PIECE: Final = re.compile(r"[^\W_]{1,20}[\W_]*|[\W_]+")
"""What a line may break behind in a long word: signs, else twenty letters."""


def to_typst(block: Block) -> str:
    """Return a block as typst markup that needs nothing around it."""
    parts = [_badges(block)] if block.badges else []
    if block.finding:
        parts.append(f"#block(sticky: true, {_prose(block.finding)}) <finding>")
    # Sentences stay with what they are about, as headings do.
    sticky = "true" if block.exhibits else "false"
    parts += [f"#block(sticky: {sticky}, par({_prose(s)})) <sentence>" for s in block.sentences]
    if block.points:
        parts.append(_grid(block.points, "points"))
    parts += [_exhibit(exhibit) for exhibit in block.exhibits]
    if block.kind != "answer":
        return "\n\n".join(parts)
    tone = f"-{block.tone}" if block.tone in ("better", "worse") else ""
    return "#block(width: 100%)[\n" + "\n\n".join(parts) + f"\n] <answer{tone}>"


def _grid(entries: Sequence[tuple[str, str]], kind: Literal["badges", "points"]) -> str:
    """Return facts, or sentences, each beside the word that says what it is."""
    shown = "strong({})" if kind == "badges" else "{}"
    cells = "".join(
        f"  {typst_string(visible(name))}, {shown.format(_prose(value))},\n"
        for name, value in entries
    )
    return f"#grid(columns: (auto, 1fr), column-gutter: 10pt, row-gutter: 6pt,\n{cells}) <{kind}>"


def _badges(block: Block) -> str:
    grid = _grid(block.badges, "badges")
    if block.kind != "header":
        return grid
    # For the foot of every page: which run this is.
    name, value = block.badges[0]
    return f"#metadata({typst_string(visible(f'{name} {value}', 100))}) <running>\n{grid}"


def _exhibit(exhibit: Exhibit) -> str:
    match exhibit:
        case Figure():
            return _figure(exhibit)
        case Table():
            return _table(exhibit)
        case Empty():
            return f"#block(width: 100%, {_prose(exhibit.sentence)}) <empty>"


def _figure(figure: Figure) -> str:
    """Return a figure that keeps its number; its data is for the screen, not for print."""
    picture = (
        f'image(bytes({typst_string(figure.svg)}), format: "svg", '
        f"width: 100%, alt: {typst_string(visible(figure.alt))})"
    )
    caption = f'figure.caption(position: bottom, separator: ". ", {_prose(figure.caption)})'
    return (
        f'#figure(kind: image, supplement: "Figure", numbering: "1", {picture},\n'
        f"  caption: {caption}) {_label(f'fig-{figure.key}')}"
    )


def _table(table: Table) -> str:
    """Return a table without a number, as on the page; a long one repeats its head."""
    align = "".join(f"{table.alignment(i)}, " for i in range(len(table.header)))
    head = ", ".join(f"strong({_words(name)})" for name in table.header)
    rows = "".join("  " + ", ".join(map(_words, row)) + ",\n" for row in table.rows)
    notes = "".join(f"\n\n#block({_prose(note)}) <note>" for note in table.notes)
    breakable = "true" if _lines(table) > _TOGETHER else "false"
    return (
        f"#[\n#show figure: set block(breakable: {breakable})\n"
        "#set text(size: 7.5pt); #set par(justify: false)\n"
        "#figure(kind: table, supplement: none, numbering: none,\n"
        f"  caption: figure.caption(position: top, {_prose(table.caption)}),\n"
        f"  table(columns: ({_columns(table)}), align: ({align}),\n"
        f"  table.header({head}),\n{rows})) {_label(f'tbl-{table.key}')}{notes}\n]"
    )


def _lines(table: Table) -> int:
    """Return about how many lines a table needs, rather too many than too few."""
    return sum(1 + max((len(cell) for cell in row), default=0) // 20 for row in table.rows)


def _label(name: str) -> str:
    return f"#label({typst_string(name)})"


def _columns(table: Table) -> str:
    """Return the widths: what each column needs, or shares of the line where they need more.

    No column becomes narrower than its longest word, and no number breaks.
    """
    line = _LINE - _GAP * len(table.header)
    least: list[float] = []
    wanted: list[float] = []
    on_one_line: list[float] = []
    is_long = False
    for i, name in enumerate(table.header):
        cells = [visible(row[i]) for row in table.rows]
        longest = max(map(len, cells), default=0)
        is_number = table.alignment(i) == "right"
        words: list[float] = [len(word) for text in cells for word in _pieces(text)]
        words += [_BOLD * len(word) for word in _pieces(name)]
        least.append(max([*words, longest if is_number and longest <= _LONGEST // 2 else 0, 1]))
        wanted.append(max(least[i], min(longest, _LONGEST)))
        on_one_line.append(max(wanted[i], _BOLD * len(name)))
        is_long |= longest > _LONGEST
    if sum(on_one_line) <= line and not is_long:
        return "auto, " * len(wanted)
    if sum(wanted) <= line and not is_long:
        least, wanted = wanted, on_one_line  # heads share what the cells leave
    spare, over = line - sum(least), sum(wanted) - sum(least)
    share = max(spare / over, 0) if over else 0
    widths = [low + (high - low) * share for low, high in zip(least, wanted, strict=True)]
    return "".join(f"{width + _GAP:.4g}fr, " for width in widths)


def _pieces(text: str) -> list[str]:
    return _LONG_WORD.sub(_with_breaks, visible(text)).replace(_BREAK, " ").split()


def _words(text: str) -> str:
    """Return text as a string whose long words may break, or they would leave their cells."""
    return typst_string(_LONG_WORD.sub(_with_breaks, visible(text)))


def _prose(text: str) -> str:
    """Return text as a string for a whole line, on which only very long words need to break."""
    return typst_string(_LONG_PROSE_WORD.sub(_with_breaks, visible(text)))


def _with_breaks(word: re.Match[str]) -> str:
    return _BREAK.join(_PIECE.findall(word[0]))
