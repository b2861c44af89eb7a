"""The paired difference of every metric, and how sure it is."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.agents.study.verdict import (
    deciding_estimate,
    disagreement,
    without_ratio,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.model.impact import PairedEstimate
from retrieval_eval.report.headings import percent
from retrieval_eval.report.names import (
    MISSING,
    estimate_of,
    finite,
    interval,
    leading,
    leading_interval,
    metric_name,
    of,
    plain_rows,
    reason_sentence,
    unit_of,
)
from retrieval_eval.report.registered import NothingToShow, Words, column, tabular

if TYPE_CHECKING:
    import pandas as pd

NEVER: Final = "{}: never found (tasks)"
BILL: Final = "{}: total bill ({} a task)"
OUTCOMES: Final = "Better / same / worse"

RATIOS: Final = (
    "× is the ratio of the geometric means, in which every task weighs the same; a few costly "
    "tasks can decide the means beside it."
)
TIMES: Final = (
    "{metrics}: means over all tasks; a task without a relevant file counts as that limit."
)
LOOKS: Final = (
    "Trials are still added: intervals and p of leading estimates hold at every look together."
)
ENOUGH_FOR_TAILS: Final = 30
FEW_FOR_TAILS: Final = (
    "Mean differences of costs, times and tokens: fewer than "
    f"{ENOUGH_FOR_TAILS} tasks may not show the rare large ones, so the interval can be too short. "
    "No method avoids this for a mean without upper bound; the ratio leads for that reason."
)
FEW_MOVED: Final = (
    f"{{metrics}}: at least half of fewer than {ENOUGH_FOR_TAILS} tasks show no difference; the "
    "interval can then be wider than needed, or missing."
)


@tabular("estimates")
def estimates(frame: pd.DataFrame, metrics: Sequence[str] | None = None) -> Words:
    """Show a row a metric: leading estimate, interval, tasks, both means, better/same/worse.

    What leads is the mean difference of shares and rewards, the ratio of the geometric means of
    costs, times and tokens, and the difference of restricted means of times to a relevant file. The
    mean difference of a cost or time, its total bill, has a row of its own.

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
    >>> row |= {"baseline_config": "old", "comparison_config": "new", "estimate": 0.25}
    >>> shown = rev.table.estimates(pd.DataFrame([row]))
    >>> shown.block().exhibits[0].rows
    (('MRR', '+0.25', '—', '8', '0.50', '0.75', '0 / 0 / 0'),)
    """
    rows = metric_rows(frame, metrics)
    sides = {(str(row["baseline_config"]), str(row["comparison_config"])) for row in rows}
    if len(sides) > 1:
        raise NothingToShow("The frame holds several comparisons; choose the rows of one.")
    known = {str(row["metric"]): estimate_of(row) for row in rows}
    level = f"{percent(frame.attrs.get('confidence', 0.95))} interval"
    body = tuple(cells for metric, found in known.items() for cells in metric_cells(metric, found))
    return Words(
        "",
        "Paired estimates; the second configuration compared with the first",
        frame[frame["metric"].isin(list(known))],
        cells=(header_of(*sides.pop(), level), body),
        notes=estimate_notes(known, round(1 - frame.attrs.get("confidence", 1 - ALPHA), 12)),
    )


def header_of(baseline: str, comparison: str, level: str = "95 % interval") -> tuple[str, ...]:
    """Return the head of a table of estimates; ``level`` is what its intervals are called."""
    return ("Metric", "Estimate", level, "Tasks", baseline, comparison, OUTCOMES)


def metric_cells(metric: str, found: PairedEstimate | None) -> list[tuple[str, ...]]:
    """Return the rows of a metric: the leading estimate, and what is read beside it.

    Below a time are the tasks without a relevant file, below a cost the mean difference.
    """
    known = metric_name(metric)
    if found is None:
        return [(known.titled, *[MISSING] * 6)]
    lead = deciding_estimate(found)
    means = (found.mean_baseline, found.mean_comparison)
    counts = " / ".join(str(n or 0) for n in (found.wins, found.ties, found.losses))
    own = (*map(known.value, means), counts if found.n_pairs else MISSING)
    # Means and counts of all tasks stand beside the ratio only where it is of all tasks.
    has_bill = lead.quantity == "ratio" and found.mean_difference is not None
    beside = (*[""] * 3,) if has_bill and found.n_not_positive else own
    rows: list[tuple[str, ...]] = [
        (
            known.titled,
            leading(metric, found, has_unit=True),
            leading_interval(metric, found),
            str(lead.n),
            *beside,
        )
    ]
    if found.n_never_baseline or found.n_never_comparison:
        never = (
            of(found.n_never_baseline, found.n_pairs),
            of(found.n_never_comparison, found.n_pairs),
        )
        rows.append((NEVER.format(known.label), "", "", "", *never, ""))
    if has_bill:
        unit = unit_of(metric)
        text = f"{known.difference(found.mean_difference)} {unit}".strip()
        ends = interval(found.bill_low, found.bill_high, known.digits)
        head = BILL.format(known.label, unit)
        of_all = own if found.n_not_positive else (*[""] * 3,)
        rows.append((head, text, ends, str(found.n_pairs), *of_all))
    return rows


def estimate_notes(
    found: Mapping[str, PairedEstimate | None], alpha: float = ALPHA
) -> tuple[str, ...]:
    """Return how to read ratios, times and total bills, and why metrics have no estimate.

    ``alpha`` is the level of the tests, which an interval can disagree with.
    """
    known = {metric: block for metric, block in found.items() if block is not None}
    leads = {metric: deciding_estimate(block) for metric, block in known.items()}
    has = {
        quantity: [m for m, lead in leads.items() if lead.quantity == quantity]
        for quantity in ("ratio", "restricted_mean")
    }
    notes = [RATIOS] if any(leads[m].estimate is not None for m in has["ratio"]) else []
    notes += doubt_notes(known, alpha)
    timed = [
        f"{metric_name(m).label} within {metric_name(m).value(known[m].until)} {unit_of(m)}".strip()
        for m in has["restricted_mean"]
        if leads[m].estimate is not None
    ]
    notes += [TIMES.format(metrics=", ".join(timed))] if timed else []
    if any(block.always_method is not None for block in known.values()):
        notes.append(LOOKS)
    still = [
        m
        for m, block in known.items()
        if block.kind == "bounded" and 0 < block.n_pairs <= 2 * (block.ties or 0)
        if block.ties != block.n_pairs and block.n_pairs < ENOUGH_FOR_TAILS
    ]
    notes += [FEW_MOVED.format(metrics=_labels(still))] if still else []
    endless = [m for m in known if m in BY_NAME and not BY_NAME[m].is_bounded]
    means = [m for m in endless if leads[m].quantity == "mean_difference"]
    ends = [
        *((known[m].bill_low, known[m].n_pairs) for m in has["ratio"]),
        *((known[m].ci_low, known[m].n_pairs) for m in means),
    ]
    if any(finite(low) is not None and n < ENOUGH_FOR_TAILS for low, n in ends):
        notes.append(FEW_FOR_TAILS)
    return (*notes, *missing_notes(found))


def doubt_notes(
    found: Mapping[str, PairedEstimate], alpha: float, with_p: Collection[str] | None = None
) -> list[str]:
    """Return which tasks have no ratio, and why interval and test disagree, metrics together.

    ``with_p`` are the metrics whose p is shown beside the interval; by default all of them.
    """
    why: dict[str, list[str]] = {}
    for metric, block in found.items():
        if zeros := without_ratio(block):
            why.setdefault(f"{zeros}; they count in the total bill", []).append(metric)
        is_shown = with_p is None or metric in with_p
        if is_shown and (cause := disagreement(block, alpha)):
            why.setdefault(cause, []).append(metric)
    return [f"{_labels(metrics)}: {said}." for said, metrics in why.items()]


def missing_notes(found: Mapping[str, PairedEstimate | None]) -> tuple[str, ...]:
    """Return why metrics have no estimate, or no interval."""
    leads = {m: deciding_estimate(block) for m, block in found.items() if block is not None}
    lost: dict[str, list[str]] = {}
    for metric, lead in leads.items():
        if lead.estimate is None or (lead.ends is None and lead.reason):
            lost.setdefault(reason_sentence(lead.reason), []).append(metric)
    return tuple(f"{MISSING} {_labels(metrics)}: {why}." for why, metrics in lost.items())


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


def _labels(metrics: Iterable[str]) -> str:
    return ", ".join(metric_name(metric).label for metric in metrics)
