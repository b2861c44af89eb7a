"""Associations pooled, beside those within configurations and within suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.leading import plain_rows
from retrieval_eval.report.numbers import MISSING, interval, signed
from retrieval_eval.report.registered import NothingToShow, Words, tabular
from retrieval_eval.report.words import MIN_UNITS
from retrieval_eval.report.words import associations as finding
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

MAX_CONFIGS: Final = 4
MAX_SAID: Final = 3
GROUPS: Final = (
    f"Groups under {MIN_UNITS} observations are left out. The sign changes where every group of a "
    "kind that is large enough has the other sign."
)
MIXES: Final = (
    "A pooled value whose sign changes mixes groups that differ in both, and describes none of "
    "them."
)


@tabular("associations")
def associations(frame: pd.DataFrame) -> Words:
    """Show one row an association: pooled, within each configuration, and its range in suites.

    Notes name those whose sign changes: pooling can reverse a sign.

    Parameters
    ----------
    frame
        ``rev.associate(…).frame``, or rows of it.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> rows = {"label": "MRR ~ reward", "scope": ["pooled", "config"], "group": [None, "a"]}
    >>> rows |= {"spearman_r": [0.4, -0.2], "n": [20, 9], "sign_change": [True, None]}
    >>> frame = pd.DataFrame({**rows, "ci_low": 0.1, "ci_high": 0.6, "q_value": 0.01})
    >>> shown = rev.table.associations(frame).block().exhibits[0]
    >>> shown.rows
    (('MRR ~ reward', '+0.40 [+0.10, +0.60]', '−0.20', '—', 'yes'),)
    >>> shown.notes[0]
    'Sign change: MRR ~ reward is +0.40 pooled, but −0.20 within a (n = 9).'
    """
    rows = [
        row for row in plain_rows(frame) if row["spearman_r"] is not None and row["n"] >= MIN_UNITS
    ]
    pooled = [row for row in rows if row["scope"] == "pooled"]
    if not pooled:
        raise NothingToShow(f"No association rests on {MIN_UNITS} tasks or more.")
    inner = {(row["label"], row["scope"], row["group"]): row for row in rows}
    configs = list(dict.fromkeys(row["group"] for row in rows if row["scope"] == "config"))
    shown = configs[:MAX_CONFIGS]
    body = []
    for row in pooled:
        own = [inner.get((row["label"], "config", config)) for config in shown]
        suites = [
            r["spearman_r"]
            for (label, scope, _), r in inner.items()
            if (label, scope) == (row["label"], "suite")
        ]
        spread = f"{signed(min(suites))} to {signed(max(suites))} ({len(suites)})" if suites else ""
        ends = f"{signed(row['spearman_r'])} {interval(row['ci_low'], row['ci_high'])}"
        cells = (signed(found["spearman_r"]) if found else MISSING for found in own)
        changes = "yes" if row["sign_change"] else "no"
        body.append((row["label"], ends, *cells, spread or MISSING, changes))
    changed = [row for row in pooled if row["sign_change"]]
    more = counted(len(changed) - MAX_SAID, "more association") if len(changed) > MAX_SAID else ""
    names = tuple(visible(str(config), 40) for config in shown)
    return Words(
        finding(frame),
        "Rank correlation pooled, within each configuration, and its range within suites (number)",
        frame,
        cells=(
            ("Association", "Pooled [95 %]", *names, "Within suites", "Sign changes"),
            tuple(body),
        ),
        align=("left", *["right"] * (len(names) + 2), "left"),
        notes=(
            *(_change(row, list(inner.values())) for row in changed[:MAX_SAID]),
            *([f"{more} with a changed sign in the table."] if more else []),
            *([MIXES] if changed else []),
            GROUPS,
        ),
    )


def _change(pooled: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return in words how a pooled association changes sign inside groups."""
    parts: list[str] = []
    for scope in ("config", "suite"):
        parts = parts or [
            f"{signed(row['spearman_r'])} within {visible(str(row['group']), 36)} (n = {row['n']})"
            for row in rows
            if (row["label"], row["scope"]) == (pooled["label"], scope)
            and row["spearman_r"] * pooled["spearman_r"] < 0
        ]
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    inside = f"but {', '.join(parts[:3])}{more}" if parts else "with the other sign within groups"
    value = signed(pooled["spearman_r"])
    return f"Sign change: {pooled['label']} is {value} pooled, {inside}."
