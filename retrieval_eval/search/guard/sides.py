"""A side of the guard: one run of a system, or the mean of several runs of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from retrieval_eval.search.named_metrics import Share, metric_value, shares
from retrieval_eval.search.noise_level import RunToRun, by_query, run_to_run
from retrieval_eval.values import Value

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """Search runs of one system over the same queries, at least one.

    With one run, all numbers are those of the run. With several, a query's number is the mean of
    what it has in the runs, and a metric that is no mean over queries is the mean of theirs.
    """

    runs: Sequence[Document]

    @property
    def first(self) -> Document:
        """The run that stands for the side where they are all alike."""
        return self.runs[0]

    @cached_property
    def is_still(self) -> bool:
        """Whether every query got the same documents in all runs."""
        rankings = [
            {query["id"]: [found["doc"] for found in query["ranking"]] for query in run["queries"]}
            for run in self.runs
        ]
        return all(ranking == rankings[0] for ranking in rankings)

    def value(self, name: str, ids: Collection[str] | None) -> Value:
        """Return a metric as `metric_value` does; missing where a run lacks it."""
        found = [metric_value(run, name, ids) for run in self.runs]
        values = [one.value for one in found if one.value is not None]
        if len(values) < len(found):
            return next(one for one in found if one.value is None)
        if len(found) == 1:
            return found[0]
        means = self.shares(name, ids).values()
        weight = math.fsum(whole for _, whole in means)
        if not weight:
            return Value.of(_mean(values), found[0].n)
        return Value.of(math.fsum(part for part, _ in means) / weight, round(weight))

    def shares(self, name: str, ids: Collection[str] | None = None) -> dict[str, Share]:
        """Return what each query adds to a metric, as `shares` does, on the mean of all runs.

        Queries that lack it in a run are left out (see `lacking`); with ``ids``, all others too.
        """
        found = self._by_run(name, ids)
        if len(found) == 1:
            return found[0]
        return {
            query: (_mean(one[query][0] for one in found), _mean(one[query][1] for one in found))
            for query in _in_all(found)
        }

    def per_query(self, name: str) -> dict[str, float]:
        """Return a metric by query id, for the queries that have it."""
        return {query: part / whole for query, (part, whole) in self.shares(name).items() if whole}

    def lacking(self, name: str) -> list[str]:
        """Return the ids of queries that have a metric in some of the runs only, sorted."""
        found = self._by_run(name, None)
        return sorted(set().union(*found) - set(_in_all(found)))

    def spread(self, name: str, ids: Collection[str] | None) -> RunToRun | None:
        """Return how much a metric varies between the runs; None for one run."""
        if len(self.runs) == 1:
            return None
        table = by_query(self._by_run(name, ids))
        return run_to_run(table) if table.size else None

    def _by_run(self, name: str, ids: Collection[str] | None) -> list[dict[str, Share]]:
        found = [shares(run, name) for run in self.runs]
        if ids is None:
            return found
        return [{query: one[query] for query in one if query in ids} for one in found]


def _in_all(found: Sequence[Mapping[str, Share]]) -> list[str]:
    return [query for query in found[0] if all(query in one for one in found)]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)
