"""How much longer queries took in one run than in another: the paired ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.ask.retrievers import retriever_kind
from retrieval_eval.values import counted

# --------------------------------------------------------------------------------------------------
# Quantiles with intervals that assume no distribution.


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, its interval, and how many values it rests on; None where not computable."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_needed: int


def quantile(values: Sequence[float], q: float, *, confidence: float = 0.95) -> Quantile:
    """Return the sample quantile ``q`` with an interval of order statistics.

    The value is the smallest one that at least the share ``q`` of the values does not exceed. The
    ends of the interval are values, too: a quantile lies above the i-th and not above the j-th of
    n independent values with a probability that the binomial distribution gives, whatever theirs
    is. Where the largest or smallest of so few values is no such end, as for the 99th percentile of
    40, the quantile is not computable.

    Parameters
    ----------
    values
        Numbers of any unit, in any order.
    q
        Between 0 and 1, both excluded.
    confidence
        Least coverage of the interval; half of the rest on each side.

    Returns
    -------
    Quantile
        ``n_needed`` is how many values the quantile needs.

    Notes
    -----
    H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.

    Examples
    --------
    >>> quantile(range(1, 101), 0.5)
    Quantile(value=50, ci_low=40, ci_high=61, n=100, n_needed=6)
    >>> quantile(range(40), 0.99).value, quantile(range(40), 0.99).n_needed
    (None, 368)
    """
    from math import ceil, log

    from scipy.stats import binom

    tail, n = (1 - confidence) / 2, len(values)
    needed = ceil(log(tail) / log(max(q, 1 - q)) - 1e-9)
    if n < needed:
        return Quantile(None, None, None, n, needed)
    ordered = sorted(values)
    # The i-th value (from 1) lies above the quantile if fewer than i of n lie below it.
    low = int(binom.ppf(tail, n, q))
    high = int(binom.ppf(1 - tail, n, q)) + 1
    return Quantile(
        ordered[max(ceil(q * n - 1e-9), 1) - 1],
        ordered[max(low, 1) - 1],
        ordered[min(high, n) - 1],
        n,
        needed,
    )


# --------------------------------------------------------------------------------------------------
# How much longer queries took in one run than in another: the paired ratio.

_FILE: Final = "run"


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


def change_sentence(found: Quantile) -> str:
    """Return the paired change of latency in a sentence, as information."""
    pairs = counted(found.n, "query")
    if found.value is None or found.ci_low is None or found.ci_high is None:
        return f"Latency: {pairs} timed in both runs; the median ratio needs {found.n_needed}."
    return (
        f"Latency: a query took {found.value:.2f} times as long (median of {pairs},"
        f" 95% interval {found.ci_low:.2f} to {found.ci_high:.2f}); this decides nothing."
    )


def _seconds(run: SearchRun) -> dict[str, float]:
    if retriever_kind(run.run.retriever.spec) == _FILE:
        return {}
    return {
        query.id: query.seconds
        for query in run.queries
        if query.status == "ok" and query.seconds is not None
    }
