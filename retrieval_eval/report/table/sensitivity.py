"""How far associations hold within tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report.leading import plain_rows
from retrieval_eval.report.numbers import MISSING, count, interval, signed
from retrieval_eval.report.registered import NothingToShow, Words, tabular
from retrieval_eval.report.words import MIN_UNITS
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

HEADER: Final = (
    "Association",
    "Pooled",
    "Within tasks [95 %]",
    "Given the configuration too",
    "n",
)
WITHIN: Final = (
    "Within tasks: only configurations on the same task are compared, so that a task's difficulty "
    "cannot make the association; given the configuration too, neither can what differs between "
    "configurations on average."
)


@tabular("sensitivity")
def sensitivity(frame: pd.DataFrame) -> Words:
    """Show a pooled association on each row: pooled, and within tasks.

    Parameters
    ----------
    frame
        ``rev.associate(…).frame``, or rows of it.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"label": "MRR ~ reward", "scope": "pooled", "spearman_r": 0.4, "n": 20}
    >>> row |= {"partial_r": 0.3, "partial_low": -0.1, "partial_high": 0.6, "partial_n": 18}
    >>> row |= {"partial_config_r": 0.2}
    >>> shown = rev.table.sensitivity(pd.DataFrame([row])).block().exhibits[0]
    >>> shown.rows
    (('MRR ~ reward', '+0.40', '+0.30 [−0.10, +0.60]', '+0.20', '18'),)
    """
    pooled = [
        row
        for row in plain_rows(frame)
        if row["scope"] == "pooled" and row["spearman_r"] is not None and row["n"] >= MIN_UNITS
    ]
    if not pooled:
        raise NothingToShow(f"No association rests on {MIN_UNITS} tasks or more.")
    inner = [row for row in pooled if _known(row, "partial_r")]
    kept = sum(_is_kept(row) for row in inner)
    verb = "keeps" if kept == 1 else "keep"
    finding = (
        f"Within tasks {kept} of {counted(len(inner), 'association')} {verb} the sign with an "
        "interval that leaves out 0"
        if inner
        else f"None of {counted(len(pooled), 'association')} can be given within tasks: no task "
        "has values under several configurations"
    )
    return Words(
        finding,
        "Pooled rank correlations, and the same within tasks",
        frame,
        cells=(HEADER, tuple(map(_cells, pooled))),
        notes=(WITHIN,) if inner else (),
    )


def _known(row: dict[str, Any], name: str) -> bool:
    return row.get(name) is not None


def _is_kept(row: dict[str, Any]) -> bool:
    low, high = row.get("partial_low"), row.get("partial_high")
    if low is None or high is None:
        return False
    return bool(low > 0 if row["spearman_r"] > 0 else high < 0)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    within = MISSING
    if _known(row, "partial_r"):
        within = f"{signed(row['partial_r'])} "
        within += interval(row.get("partial_low"), row.get("partial_high"))
    beside = signed(row["partial_config_r"]) if _known(row, "partial_config_r") else MISSING
    return (
        row["label"],
        signed(row["spearman_r"]),
        within,
        beside,
        count(row.get("partial_n")),
    )
