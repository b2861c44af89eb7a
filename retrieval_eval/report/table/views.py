"""The differences under every definition of what counts as retrieved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.study.compare import PRIMARY
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import MISSING, interval
from retrieval_eval.report.registered import Words, tabular
from retrieval_eval.report.table.estimates import metric_rows
from retrieval_eval.report.words import VERDICTS, VIEWS
from retrieval_eval.report.words import views as finding

if TYPE_CHECKING:
    import pandas as pd


@tabular("views")
def views(frame: pd.DataFrame) -> Words:
    """Show one row a metric and one column a view: difference and interval; changes are marked.

    Parameters
    ----------
    frame
        ``rev.compare(…).views``, or rows of it.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> rows = {"view": ["accessed", "opened"], "metric": "mrr", "n_pairs": 8}
    >>> rows |= {"verdict": ["better", "worse"], "mean_difference": [0.2, -0.1]}
    >>> rows |= {"ci_low": [0.1, -0.2], "ci_high": [0.3, -0.05], "flip": [None, "verdict"]}
    >>> for row in rev.table.views(pd.DataFrame(rows)).block().exhibits[0].rows:
    ...     print(row)
    ('MRR', '+0.20 [+0.10, +0.30]', '−0.10 [−0.20, −0.05] *')
    ('Conclusion on file recall', 'better', 'worse')
    """
    rows = metric_rows(frame, None)
    views, metrics = (list(dict.fromkeys(str(row[key]) for row in rows)) for key in _KEYS)
    found = {(row["view"], row["metric"]): row for row in rows}
    body = []
    for metric in metrics:
        known, cells = metric_name(metric), [metric_name(metric).titled]
        for view in views:
            row = found.get((view, metric), {})
            text = known.difference(row.get("mean_difference"))
            ends = interval(row.get("ci_low"), row.get("ci_high"), known.digits)
            mark = " *" if row.get("flip") else ""
            cells.append(text if text == MISSING else f"{text} {ends}{mark}")
        body.append(tuple(cells))
    verdicts = {str(row["view"]): row["verdict"] for row in rows}
    label = f"Conclusion on {metric_name(PRIMARY).label.lower()}"
    body.append((label, *(VERDICTS.get(verdicts[view], MISSING) for view in views)))
    meanings = "; ".join(f"{v.replace('_', ' ')}: {VIEWS[v][0]}" for v in views if v in VIEWS)
    return Words(
        finding(frame),
        "Paired difference and 95 % interval by what counts as retrieved",
        frame,
        cells=(("Metric", *(view.replace("_", " ") for view in views)), tuple(body)),
        notes=(f"{meanings[:1].upper()}{meanings[1:]}.", CHANGES),
    )


CHANGES: Final = "* Another sign or another conclusion than in the first column."
_KEYS = ("view", "metric")
