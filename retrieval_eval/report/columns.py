"""The columns of every frame, read from the page that declares and documents them.

That page is ``docs/columns.md``: a section a frame, a row a column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retrieval_eval.report import assets


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type and unit, what it means, and where its value comes from.

    The type is ``text``, ``number``, ``integer``, ``boolean`` or ``list``. A source is a
    slash-separated path inside the artefact. ``{k}`` in a name or path stands for every cut-off of
    the run. Sources that start with ``=`` are derived while reading.
    """

    name: str
    type: str
    unit: str
    meaning: str
    source: str


Frames = dict[str, tuple[str, tuple[Column, ...]]]
"""The name of a frame to what a row of it is, and its columns."""


def declared(page: str) -> dict[str, Frames]:
    r"""Return the frames that a page declares, by what they are frames of.

    Examples
    --------
    >>> table = "| column | type | unit | meaning | source |\n|---|---|---|---|---|\n"
    >>> page = f"\n## `run.pairs`\n\nOne row a pair.\n\n{table}| `n` | integer | | size | `a/n` |"
    >>> declared(page)["run"]["pairs"]
    ('one row a pair', (Column(name='n', type='integer', unit='', meaning='size', source='a/n'),))
    """
    found: dict[str, Frames] = defaultdict(dict)
    for part in page.split("\n## ")[1:]:
        heading, meaning, _, _, *rows = filter(None, part.splitlines())
        owner, frame = heading.strip("`").split(".")
        cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
        columns = tuple(
            Column(name.strip("`"), type_, unit, what, source.strip("`"))
            for name, type_, unit, what, source in cells
        )
        found[owner][frame] = (f"{meaning[0].lower()}{meaning[1:].rstrip('.')}", columns)
    return dict(found)


_DECLARED: Final = declared(assets.columns_page().read_text(encoding="utf-8"))
FRAMES: Final = _DECLARED["run"]
SEARCH_FRAMES: Final = _DECLARED["search"]
DIFF_FRAMES: Final = _DECLARED["diff"]


def expand(
    columns: Iterable[Column], values: Sequence[object], *, of: str = "k"
) -> tuple[Column, ...]:
    """Return the columns with every ``{k}`` column (or ``{of}``) repeated for each value.

    Examples
    --------
    >>> [c.name for c in expand(FRAMES["trials"][1], [5]) if c.name.startswith("recall@")]
    ['recall@5']
    """
    mark = f"{{{of}}}"
    out: list[Column] = []
    for column in columns:
        for value in values if mark in column.name else ("",):
            name, source = (t.replace(mark, str(value)) for t in (column.name, column.source))
            out.append(replace(column, name=name, source=source))
    return tuple(out)
