"""How a page, a notebook and a table say that their numbers come from simulated data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

TITLE: Final = "Simulated data: "
_HEADING: Final = re.compile(r"^# ", re.MULTILINE)
COLUMN: Final = "simulated_data"
"""First column of every CSV made from simulated data; other CSVs do not have it."""


def notice(n_simulated: int, total: int, unit: str, subject: str) -> str:
    """Return the sentence for a header, or the empty text where nothing is simulated.

    Examples
    --------
    >>> notice(2, 2, "trial", "agent")
    'Simulated data: all 2 trials are invented; the findings are about no real agent.'
    >>> notice(2, 9, "trial", "agent")
    'Simulated data: 2 of 9 trials are invented; findings with them are about no real agent.'
    >>> notice(0, 9, "trial", "agent")
    ''
    """
    if not n_simulated:
        return ""
    if n_simulated >= total:
        which = f"all {counted(total, unit)} are" if total > 1 else f"the {unit} is"
        return f"{TITLE}{which} invented; the findings are about no real {subject}."
    verb = "are" if n_simulated > 1 else "is"
    which = f"{n_simulated:,} of {counted(total, unit)} {verb} invented"
    return f"{TITLE}{which}; findings with them are about no real {subject}."


def mark_title(notebook: Any) -> None:
    """Put it before the title of an executed notebook."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and _HEADING.search(cell.source):
            cell.source = _HEADING.sub(f"# {TITLE}", cell.source, count=1)
            return


def mark_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the first column that says it, in the head even where no row is left."""
    marked = frame.copy()
    marked.insert(0, COLUMN, "true")
    return marked
