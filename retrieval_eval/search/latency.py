"""How long queries took: quantiles of one run, and the paired change between two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Final

from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.retrievers import retriever_kind
from retrieval_eval.stats.quantiles import Quantile, quantile
from retrieval_eval.values import counted

QUANTILES: Final[Mapping[str, float]] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

_FILE: Final = "run"


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of the answered queries of a run, each with all its retries.

    Attributes
    ----------
    quantiles
        By name; not computable where there are too few queries for an interval.
    most
        The longest.
    n
        Answered queries whose time is known.
    n_unknown
        Answered queries whose time is not known: asked together with others.
    n_failed
        Failed queries; their times are left out.
    """

    quantiles: Mapping[str, Quantile]
    most: float
    n: int
    n_unknown: int
    n_failed: int


def latency(run: SearchRun) -> Latency | None:
    """Return how long queries took, None where it is not known or a file gave the rankings."""
    seconds = _seconds(run)
    if not seconds:
        return None
    values, answered = list(seconds.values()), [q for q in run.queries if q.status == "ok"]
    return Latency(
        {name: quantile(values, q) for name, q in QUANTILES.items()},
        max(values),
        len(values),
        len(answered) - len(values),
        len(run.queries) - len(answered),
    )


def latency_change(before: SearchRun, after: SearchRun) -> Quantile | None:
    """Return the median ratio of seconds, after by before, over the queries of both runs.

    Information and no verdict: both runs were measured at another time, perhaps under another
    load. None where no query has a time in both.
    """
    old, new = _seconds(before), _seconds(after)
    shared = [log(new[name] / old[name]) for name in new if old.get(name, 0) > 0 and new[name] > 0]
    if not shared:
        return None
    found = quantile(shared, 0.5)
    value, low, high = (
        None if each is None else exp(each) for each in (found.value, found.ci_low, found.ci_high)
    )
    return Quantile(value, low, high, found.n, found.n_needed)


def latency_rows(found: Latency) -> list[list[str]]:
    """Return a table of the quantiles, the head first."""
    rows = [["seconds of a query", "value", "95% interval", "n"]]
    for name, each in found.quantiles.items():
        if each.value is None or each.ci_low is None or each.ci_high is None:
            why = f"needs {each.n_needed:,} queries"
            rows.append([name, "not computable", why, f"{each.n:,}"])
            continue
        ends = f"{duration(each.ci_low)} to {duration(each.ci_high)}"
        rows.append([name, duration(each.value), ends, f"{each.n:,}"])
    return [*rows, ["longest", duration(found.most), "", f"{found.n:,}"]]


def latency_remark(found: Latency) -> str:
    """Return what the times hold and leave out, in a sentence."""
    text = "Wall time of answered queries, retries included"
    left_out = [
        *([f"{counted(found.n_failed, 'failed query')}"] if found.n_failed else []),
        *(
            [f"{counted(found.n_unknown, 'query')} asked together with others"]
            if found.n_unknown
            else []
        ),
    ]
    return f"{text}; left out: {' and '.join(left_out)}." if left_out else f"{text}."


def latency_sentence(found: Latency) -> str:
    """Return the median and the deepest quantile that is computable, in a few words."""
    known = {n: q.value for n, q in found.quantiles.items() if q.value is not None}
    shown = {name: known[name] for name in dict.fromkeys((*list(known)[:1], *list(known)[-1:]))}
    parts = [f"{name} {duration(value)}" for name, value in shown.items()]
    text = ", ".join([*parts, f"longest {duration(found.most)}"])
    return f"{text} ({counted(found.n, 'query')})"


def change_sentence(found: Quantile) -> str:
    """Return the paired change of latency in a sentence, as information."""
    pairs = counted(found.n, "query")
    if found.value is None or found.ci_low is None or found.ci_high is None:
        return f"Latency: {pairs} timed in both runs; the median ratio needs {found.n_needed}."
    return (
        f"Latency: a query took {found.value:.2f} times as long (median of {pairs},"
        f" 95% interval {found.ci_low:.2f} to {found.ci_high:.2f}); this decides nothing."
    )


def duration(seconds: float) -> str:
    """Return seconds with three significant digits and a unit.

    Examples
    --------
    >>> duration(0.01234), duration(2.5), duration(0.0000412)
    ('12.3 ms', '2.5 s', '0.0412 ms')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _seconds(run: SearchRun) -> dict[str, float]:
    if retriever_kind(run.run.retriever.spec) == _FILE:
        return {}
    return {
        query.id: query.seconds
        for query in run.queries
        if query.status == "ok" and query.seconds is not None
    }
