"""The paired difference of every metric, and how sure it is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING, count, finite, interval, of, p_value, signed
from retrieval_eval.report.registered import NothingToShow, Words, column, tabular

if TYPE_CHECKING:
    import pandas as pd

NEVER: Final = "… never found one (tasks)"
TIMES: Final = (
    "A mean time is over the tasks on which both found a relevant file; “never” counts those on "
    "which a trial found none. A task on which one alone found a file counts as better or worse."
)
UNTIMED: Final = (
    "{metrics}: the two never found a file on different numbers of tasks, so the tasks on which "
    "both did cannot tell which is faster, and there is neither interval nor test."
)
ENOUGH_FOR_TAILS: Final = 30
FEW_FOR_TAILS: Final = (
    "Times, tokens and costs have no upper bound. Fewer than "
    f"{ENOUGH_FOR_TAILS} tasks may not show the rare large ones, and their intervals can then be "
    "too short: over 10 tasks they missed the true mean in up to 9 % of simulated studies, not 5 %."
)


@tabular("estimates")
def estimates(frame: pd.DataFrame, metrics: Sequence[str] | None = None) -> Words:
    """Show one row a metric: both means, paired difference, interval, pairs, better/same/worse.

    Every metric is printed in its own unit and decimals.

    Parameters
    ----------
    frame
        ``rev.compare(…).estimates``, or rows of it.
    metrics
        The metrics to show, in this order; by default all, in the order of the frame.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"metric": "mrr", "n_pairs": 8, "mean_baseline": 0.5, "mean_comparison": 0.75}
    >>> row |= {"baseline_config": "old", "comparison_config": "new", "mean_difference": 0.25}
    >>> shown = rev.table.estimates(pd.DataFrame([row]))
    >>> shown.block().exhibits[0].rows
    (('MRR', '0.50', '0.75', '+0.25', '—', '8', '0 / 0 / 0'),)
    """
    rows = metric_rows(frame, metrics)
    sides = {(str(row["baseline_config"]), str(row["comparison_config"])) for row in rows}
    if len(sides) > 1:
        raise NothingToShow("The frame holds several comparisons; choose the rows of one.")
    known = {str(row["metric"]): row for row in rows}
    body = []
    for metric, found in known.items():
        body.append(estimate_cells(metric, found))
        if found.get("n_never_baseline") is not None:
            never = (
                of(found["n_never_baseline"], found["n_watched_baseline"]),
                of(found["n_never_comparison"], found["n_watched_comparison"]),
            )
            body.append((NEVER, *never, "", "", "", ""))
    header = ("Metric", *sides.pop(), "Difference", "95 % interval", "Pairs")
    return Words(
        "",
        "Paired differences, in the unit of the metric",
        frame[frame["metric"].isin(list(known))],
        cells=((*header, "Better / same / worse"), tuple(body)),
        notes=estimate_notes(known),
    )


@tabular("significance")
def significance(frame: pd.DataFrame, metrics: Sequence[str] | None = None) -> Words:
    """Show one row a metric: p, p adjusted over the family, effect, clusters and power.

    Parameters
    ----------
    frame, metrics
        As for ``table.estimates``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> frame = pd.DataFrame({"metric": ["mrr"], "n_pairs": [8], "p_value": [0.03]})
    >>> rev.table.significance(frame).block().exhibits[0].rows
    (('MRR', '0.030', '—', '—', '8', '—', '—'),)
    """
    found = {str(row["metric"]): row for row in metric_rows(frame, metrics)}
    named = {
        (r.get("cluster_by"), r.get("averaged_over"))
        for r in found.values()
        if r.get("n_clusters") != 1
    }
    many = sorted({by for by, over in named if by and over != "clusters"})
    few = sorted({by for by, over in named if by and over == "clusters"})
    parts = [f"Tasks that share a {' or '.join(many)} are resampled together."] if many else []
    if few:
        parts.append(f"Of few groups the {' or '.join(few)} means are compared by a t test.")
    rows = tuple(
        (
            metric_name(metric).titled,
            p_value(r.get("p_value")),
            p_value(r.get("p_holm")),
            signed(r.get("rank_biserial")),
            count(r.get("n_pairs")),
            count(r.get("n_clusters")),
            metric_name(metric).value(r.get("smallest_detectable_difference")),
        )
        for metric, r in found.items()
    )
    effect = ("Rank-biserial", "Pairs", "Clusters", "Smallest detectable")
    return Words(
        "",
        "p of the difference, adjusted over the family of metrics (Holm), effect and power",
        frame[frame["metric"].isin(list(found))],
        cells=(("Metric", "p", "p (Holm)", *effect), rows),
        notes=(" ".join(parts) or "No clusters: every task is resampled by itself.",),
    )


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain objects, None for what is missing."""
    import pandas as pd

    plain = frame.astype("object").where(frame.notna(), None)
    return [
        {str(name): None if value is pd.NA else value for name, value in row.items()}
        for row in plain.to_dict("records")
    ]


def metric_rows(frame: pd.DataFrame, metrics: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return the rows of some metrics in the order given, or all."""
    known = column(frame, "metric")
    if not known:
        raise NothingToShow("No metric is compared.")
    rows = plain_rows(frame)
    if not any(row.get("n_pairs") for row in rows):
        raise NothingToShow("No task has a value on both sides, so there is no difference.")
    if metrics is None:
        return rows
    for metric in metrics:
        if metric not in known:
            close = ", ".join(difflib.get_close_matches(metric, map(str, known), n=3) or known)
            raise BadInputError(f"the frame has no metric {visible(metric, 60)!r}; it has {close}")
    return [row for metric in metrics for row in rows if row["metric"] == metric]


def estimate_cells(
    metric: str, found: Mapping[str, Any] | None, *, has_never: bool = False
) -> tuple[str, ...]:
    """Return the cells of a metric; with ``has_never`` the tasks without a hit are in them.

    Those are printed beside the interval of a time, because it is of the other tasks only.
    """
    known = metric_name(metric)
    if found is None:
        return (known.titled, *[MISSING] * 6)
    ends = interval(found.get("ci_low"), found.get("ci_high"), known.digits)
    never = (found.get("n_never_baseline"), found.get("n_never_comparison"))
    if has_never and any(never):
        watched = (found["n_watched_baseline"], found["n_watched_comparison"])
        first = str(never[0]) + ("" if watched[0] == watched[1] else f" of {watched[0]}")
        text = f"never: {first} | {never[1]} of {watched[1]}"
        ends = text if ends == MISSING else f"{ends}, {text}"
    counts = " / ".join(str(found.get(name) or 0) for name in ("wins", "ties", "losses"))
    return (
        known.titled,
        known.value(found.get("mean_baseline")),
        known.value(found.get("mean_comparison")),
        known.difference(found.get("mean_difference")),
        ends,
        str(found["n_pairs"]),
        counts if found["n_pairs"] else MISSING,
    )


def estimate_notes(
    found: Mapping[str, Mapping[str, Any] | None], *, has_times: bool = True
) -> tuple[str, ...]:
    """Return how to read times and costs, and why metrics have no difference."""
    known = {metric: row for metric, row in found.items() if row is not None}
    notes = []
    if has_times:
        timed = {
            metric: row
            for metric, row in known.items()
            if row.get("n_never_baseline") or row.get("n_never_comparison")
        }
        unfair = [m for m, row in timed.items() if row.get("ci_reason") == "never_hit_differs"]
        notes += [TIMES] if timed else []
        notes += [UNTIMED.format(metrics=_labels(unfair))] if unfair else []
        is_few = any(
            metric in BY_NAME
            and not BY_NAME[metric].is_bounded
            and finite(row.get("ci_low")) is not None
            and row["n_pairs"] < ENOUGH_FOR_TAILS
            for metric, row in known.items()
        )
        notes += [FEW_FOR_TAILS] if is_few else []
    lost: dict[str, list[str]] = {}
    for metric, row in known.items():
        if finite(row.get("mean_difference")) is None:
            lost.setdefault(reason_sentence(row.get("reason")), []).append(metric)
    return (*notes, *(f"{MISSING} {_labels(metrics)}: {why}." for why, metrics in lost.items()))


def _labels(metrics: Iterable[str]) -> str:
    return ", ".join(metric_name(metric).label for metric in metrics)
