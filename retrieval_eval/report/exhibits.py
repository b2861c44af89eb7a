"""What a section shows: a figure, a table, or the sentence that stands where there is none.

The text in these records is plain and unescaped; :mod:`retrieval_eval.report.show` escapes it
for HTML and for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from retrieval_eval.escape import visible

FIGURE_DATA: Final = "application/vnd.retrieval-eval.figures+json"
"""What a block offers beside page and print: the data of its figures, for files of their own."""

NOTHING: Final = "application/vnd.retrieval-eval.nothing+json"
"""What a block offers that has nothing to show: the sentences that say why."""


class Link(str):
    """The text of a cell that leads to another page or place of the report.

    ``href`` is relative to the page, or ``#`` and the id of a place on it.
    """

    __slots__ = ("href",)
    href: str

    def __new__(cls, text: str, href: str) -> Link:
        """Return the text with where it leads; without an ``href`` it leads nowhere."""
        link = super().__new__(cls, text)
        link.href = href
        return link


class Strong(str):
    """The text of a cell, or of a part of it, that stands out: what it says does so too."""

    __slots__ = ()


class Links(str):
    """The text of a cell made of several parts, of which some are a :class:`Link` each.

    Examples
    --------
    >>> Links(Link("a.md", "a.html"), " (rank 2)")
    'a.md (rank 2)'
    """

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Links:
        """Return the parts as one text."""
        whole = super().__new__(cls, "".join(parts))
        whole.parts = parts
        return whole

    @classmethod
    def joined(cls, separator: str, cells: Iterable[str]) -> Links:
        """Return the parts of all cells with a separator between two cells."""
        found: list[str] = []
        for cell in cells:
            found += [separator] if found else []
            found += cell.parts if isinstance(cell, Links) else [cell]
        return cls(*found)


Kind = Literal["", "rankings", "numbers", "cards"]
"""How a table is laid out."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of formatted text, of which cells may be :class:`Link` or :class:`Links`.

    ``align`` says ``left`` or ``right`` for each column; the first column holds row headers.
    ``notes`` are printed below it. ``kind`` is ``rankings`` for two rankings side by side,
    ``numbers`` for the few that lead a page, and ``cards`` for a card a row: their rows are neither
    sorted nor searched.
    """

    key: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: Kind = ""

    def alignment(self, column: int) -> str:
        """Return the alignment of a column; all but the first are right-aligned by default."""
        if self.align:
            return self.align[column]
        return "left" if column == 0 else "right"


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure: SVG text, alternative text with its main numbers, caption and data.

    ``narrow`` is the same figure for a narrow screen, where there is one. ``values`` are the
    names of the columns that were drawn and all rows, unformatted; empty where they are not known.
    """

    key: str
    svg: str
    alt: str
    caption: str
    data: Table
    narrow: str = ""
    values: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    """The designed empty state of a figure or table: one sentence that says why.

    A page leaves out one that ``is_expected`` without a word: it says the same elsewhere, or shows
    something else in its place.
    """

    key: str
    sentence: str
    is_expected: bool = False


Width = Literal["", "third", "half", "narrow", "wide", "large", "full"]
"""What part of the page an exhibit takes, where it does not stand by itself."""

Exhibit = Figure | Table | Empty


@dataclass(frozen=True, slots=True)
class Block:
    """What one notebook cell shows: a finding, its sentences and at most a few exhibits.

    ``badges`` are short facts printed in a row, ``points`` sentences below each other, each after a
    word that says what it is about. A block shows itself in any notebook front end as HTML or
    Markdown; the renderers pick one of the two.
    """

    kind: Literal["header", "answer", "section"]
    finding: str = ""
    sentences: tuple[str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    badges: tuple[tuple[str, str], ...] = ()
    tone: str = ""
    points: tuple[tuple[str, str], ...] = ()
    width: Width = ""

    def _repr_mimebundle_(
        self,
        include: Any = None,  # noqa: ARG002 - the notebook protocol passes it
        exclude: Any = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        from retrieval_eval.report.show import to_html, to_markdown, to_plain

        bundle: dict[str, Any] = {
            "text/html": to_html(self),
            "text/markdown": to_markdown(self),
            "text/plain": to_plain(self),
        }
        figures = [exhibit for exhibit in self.exhibits if isinstance(exhibit, Figure)]
        if figures:
            bundle[FIGURE_DATA] = {f.key: _data(f) for f in figures}
        if self.exhibits and all(isinstance(exhibit, Empty) for exhibit in self.exhibits):
            bundle[NOTHING] = [
                e.sentence for e in self.exhibits if isinstance(e, Empty) and not e.is_expected
            ]
        return bundle

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.finding or 'no finding'}>"


@dataclass(frozen=True, slots=True)
class Switch:
    """Blocks below a sentence each, of which a page shows those of one sentence; print shows all.

    No script is needed for it.
    """

    panes: tuple[tuple[str, tuple[Block, ...]], ...]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from retrieval_eval.report.show import switch_html

        shown = [
            (said, [block._repr_mimebundle_(include, exclude) for block in (note(said), *blocks)])
            for said, blocks in self.panes
        ]
        every = [bundle for _, bundles in shown for bundle in bundles]
        joined = {
            kind: "\n".join(bundle[kind] for bundle in every)
            for kind in ("text/markdown", "text/plain")
        }
        figures = {k: v for bundle in every for k, v in bundle.get(FIGURE_DATA, {}).items()}
        # A page has the sentence as what opens the pane.
        html = switch_html((said, [b["text/html"] for b in own[1:]]) for said, own in shown)
        return {"text/html": html, **joined, FIGURE_DATA: figures}


def _data(figure: Figure) -> dict[str, Any]:
    """Return the data of a figure as JSON."""
    rows = figure.values or (figure.data.header, *figure.data.rows)
    header, *body = [[visible(v) if isinstance(v, str) else v for v in row] for row in rows]
    return {"header": header, "rows": body}


def strip(said: str, facts: Mapping[str, str], *tables: Table) -> Block:
    """Return what a page is about: a sentence, short facts in a row without empty ones, tables."""
    return Block("header", said, (), tables, tuple((k, v) for k, v in facts.items() if v))


def anchor(title: str) -> str:
    """Return the id of a heading, by which links lead to it.

    Examples
    --------
    >>> anchor("Can the configurations be compared?")
    'can-the-configurations-be-compared'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def n_words(sentences: Iterable[str]) -> int:
    """Return how many words some sentences have."""
    return sum(len(sentence.split()) for sentence in sentences)


def within(limit: int, *sentences: str) -> tuple[str, ...]:
    """Return sentences without those before the last that make them longer than a limit of words.

    The first and the last always stay.

    Examples
    --------
    >>> within(4, "One two.", "Three four.", "Five six.")
    ('One two.', 'Five six.')
    """
    first, *others, last = sentences
    while others and n_words((first, *others, last)) > limit:
        others.pop()
    return (first, *others, last)


def section(finding: str, *exhibits: Exhibit, sentences: Sequence[str] = ()) -> Block:
    """Return the block of an ordinary section."""
    return Block("section", finding, tuple(sentences), exhibits)


def note(*sentences: str) -> Block:
    """Return sentences that a notebook shows by themselves."""
    return Block("section", "", sentences)
