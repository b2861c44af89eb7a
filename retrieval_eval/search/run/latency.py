"""How much longer queries took in one run than in another: the paired ratio."""

from __future__ import annotations

from math import exp, log
from typing import Final

from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.ask.retrievers import retriever_kind
from retrieval_eval.stats.quantiles import Quantile, quantile
from retrieval_eval.values import counted

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
