"""What a threshold's metric is on both sides: one run of a system, or the mean of several."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Final

import numpy as np

from retrieval_eval.model.guard import NoiseFloor
from retrieval_eval.model.search_run import SearchRun, ShareWithInterval
from retrieval_eval.search.change.comparability import (
    judge_faults,
    judge_of,
    set_up_anew,
    unexplained_tops,
)
from retrieval_eval.search.change.paired_change import (
    POINTS,
    Change,
    Reading,
    Resampling,
    change_of,
    contributions,
    ends_of,
    readings,
    seconds_of,
)
from retrieval_eval.search.decide import NoiseLevel, by_query, harm_test, run_to_run
from retrieval_eval.search.decide.thresholds import Threshold
from retrieval_eval.search.run.named_metrics import (
    FIRST_TEN,
    TRUE_POSITIVE_RATE,
    WHOLE_RUN_ONLY,
    Share,
    block_of,
    metric_value,
    shares,
    stored,
)
from retrieval_eval.values import REASONS, Value, counted

# A value of these reasons was measured, and something went wrong.
_BROKEN: Final = frozenset({"query_failed", "not_a_number"})
_HOW_TO: Final = {
    "claims": "`retrieval-eval search claims` measures it",
    "abstention": "it needs queries that no document answers",
    "composite": "its components have to be measured",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A threshold's metric on both sides.

    ``baseline`` and ``current`` are the values over the queries the threshold looks at,
    ``change`` the paired change where the metric is one of queries, ``contributions`` what each
    query that moved adds to it (points), ``p_value`` and ``error_points`` those of `harm_test`
    (NaN without a test), ``spreads`` how much the metric varies between the runs of a side that
    has several. ``faults`` say why there is no verdict, ``not_applied`` why the threshold has
    nothing in the baseline to compare with, or cannot block; empty where it can. ``ends`` are the
    same with every unproved claim against the run and in its favour; empty where there is none.
    """

    threshold: Threshold
    baseline: Value
    current: Value
    change: Change | None = None
    contributions: Mapping[str, float] = field(default_factory=dict)
    p_value: float = math.nan
    error_points: float = math.nan
    spreads: tuple[NoiseLevel, ...] = ()
    faults: tuple[str, ...] = ()
    not_applied: str = ""
    ends: tuple[Measured, ...] = ()

    @property
    def change_points(self) -> float | None:
        """The change in points, now minus baseline; None without both values."""
        if self.change is not None:
            return self.change.delta_points
        if self.baseline.value is None or self.current.value is None:
            return None
        return POINTS * (self.current.value - self.baseline.value)

    @property
    def harm_points(self) -> float | None:
        """The change in points, positive where it is bad."""
        moved = self.change_points
        if moved is None:
            return None
        return -moved if self.threshold.direction == "down is bad" else moved

    @property
    def breach_points(self) -> float:
        """How far a breach goes, in points: what was lost, or how far the value is out of bounds.

        The larger of them; 0 without either.
        """
        floor, ceiling, value = self.threshold.floor, self.threshold.ceiling, self.current.value
        found = [0.0, self.harm_points or 0.0]
        if value is not None:
            found += [] if floor is None else [POINTS * (floor - value)]
            found += [] if ceiling is None else [POINTS * (value - ceiling)]
        return max(found)

    @property
    def n_pairs(self) -> int:
        """Queries that the change rests on; 0 where the metric is none of queries."""
        return 0 if self.change is None else self.change.n_pairs

    @property
    def limit_points(self) -> float | None:
        """The largest allowed harm in points; None where only the value is bounded."""
        before = self.baseline.value if self.change is None else self.change.before
        return self.threshold.limit_points(before)


def measure(
    threshold: Threshold,
    run: Side,
    baseline: Side,
    ids: Collection[str] | None,
    resampling: Resampling,
) -> Measured:
    """Measure the metric of a threshold on both sides.

    Claims whose judge is not known to agree with people do not block: their threshold is not
    applied, and where it is required there is no verdict.

    Parameters
    ----------
    ids
        Ids of the queries to look at; None: the whole runs.
    """
    found = _measured(threshold, run, baseline, ids, resampling)
    if found.faults or found.not_applied or not _rests_on_claims(threshold.metric, baseline, run):
        return found
    from retrieval_eval.search.claims import why_advisory

    why = why_advisory([*baseline.runs, *run.runs])
    if why and threshold.required:
        return replace(found, faults=(f"it cannot block: {why}",))
    if why:
        return replace(found, not_applied=f"advisory{_exceeded(found)}: {why}")
    if not any(side.has_unproved(threshold.metric) for side in (run, baseline)):
        return found
    ends = tuple(
        _at_end(found, run, baseline, ids, resampling, in_favour=end) for end in (False, True)
    )
    return replace(found, ends=ends)


def measure_pair(
    threshold: Threshold,
    run: Side,
    baseline: Side,
    ids: Collection[str] | None,
    noise: NoiseFloor | None,
) -> Measured:
    """Measure what no run has by itself (:data:`OF_TWO_RUNS`), of the first run of either side.

    It is not applied where it cannot be known: the first ten of another set-up, and times without
    the noise of this kind of machine.
    """
    is_tops = threshold.metric == FIRST_TEN
    found = (
        _first_ten(run.first, baseline.first, ids) if is_tops else _latency(run.first, ids, noise)
    )
    if isinstance(found, str):
        gap = Value.missing("no_computable_values")
        if threshold.required:
            return Measured(threshold, gap, gap, faults=(found,))
        return Measured(threshold, gap, gap, not_applied=found)
    now, n = found
    return Measured(threshold, Value.of(0.0 if is_tops else 1.0, n), Value.of(now, n))


def _first_ten(
    run: SearchRun, baseline: SearchRun, ids: Collection[str] | None
) -> tuple[float, int] | str:
    if changed := set_up_anew(baseline, run):
        return f"the set-up changed: {changed[0]}"
    found, n = unexplained_tops(baseline, run, ids)
    return (len(found) / n, n) if n else "no query was answered in both runs"


def _latency(
    run: SearchRun, ids: Collection[str] | None, noise: NoiseFloor | None
) -> tuple[float, int] | str:
    if noise is None or noise.latency is None:
        return "the noise of times was not measured"
    if noise.run.machine != run.run.machine or run.run.machine is None:
        return (
            f"times and their noise were measured on different machines: {run.run.machine or '?'},"
            f" and {noise.run.machine or '?'}"
        )
    times = [time for name, time in seconds_of(run).items() if ids is None or name in ids]
    if not times:
        return "the run has no times"
    return median(times) / noise.latency.median_seconds, len(times)


def latency_note(run: SearchRun, noise: NoiseFloor | None) -> str | None:
    """Return how long queries take beside the runs of the noise file, or None where not known."""
    found = _latency(run, None, noise)
    if noise is None or noise.latency is None or isinstance(found, str):
        return None
    ratio, n = found
    return (
        f"a query took {ratio:.2f} times as long as in the runs of the noise file (median of"
        f" {counted(n, 'query')}, then {noise.latency.median_seconds:.3g} s, on the same kind of"
        " machine)"
    )


def _rests_on_claims(name: str, baseline: Side, run: Side) -> bool:
    """Return whether a metric is one of claims, or a composite whose value is."""
    composites = (one.composite for side in (baseline, run) for one in side.runs)
    worst = [one.worst for one in composites if one is not None and one.worst is not None]
    names = worst if name == "composite" else [name]
    return any(block_of(one) == "claims" for one in names)


def _exceeded(found: Measured) -> str:
    harm, limit = found.harm_points, found.limit_points
    if harm is None or limit is None or harm <= limit:
        return ""
    return f", {harm:.2f} points worse where {limit:g} are allowed"


def _at_end(
    found: Measured,
    run: Side,
    baseline: Side,
    ids: Collection[str] | None,
    resampling: Resampling,
    *,
    in_favour: bool,
) -> Measured:
    """Return a metric of claims with all unproved ones against the run, or in its favour."""
    name = found.threshold.metric
    if block_of(name) != "claims":
        return _composite_at_end(found, run, baseline, in_favour=in_favour)
    # A bound is one of the run alone.
    whole = run.shares(name, ids, read=(Reading(in_favour, in_favour), baseline.first))
    values = found.baseline, _total(whole)
    if found.change is None:
        return Measured(found.threshold, *values)
    sides = [
        (
            baseline.shares(name, ids, read=(first, run.first)),
            run.shares(name, ids, read=(second, baseline.first)),
        )
        for first, second in readings(in_favour=in_favour)
    ]
    extreme = (max if in_favour else min)(sides, key=_moved)
    return _paired(found.threshold, values, extreme, resampling, found.spreads)


def _moved(sides: tuple[Mapping[str, Share], Mapping[str, Share]]) -> float:
    before, after = map(_total, sides)
    return (after.value or 0.0) - (before.value or 0.0)


def _composite_at_end(found: Measured, run: Side, baseline: Side, *, in_favour: bool) -> Measured:
    """Return a composite, in which no query has a share."""
    name, place = found.threshold.metric, int(in_favour)
    is_same = baseline.first.claims == run.first.claims
    old, new = (
        replace(value, value=_mean(ends_of(one, name)[end] for one in side.runs))
        for value, side, end in (
            (found.baseline, baseline, place if is_same else 1 - place),
            (found.current, run, place),
        )
    )
    return Measured(found.threshold, old, new)


def _total(side: Mapping[str, Share]) -> Value:
    weight = math.fsum(whole for _, whole in side.values())
    if not weight:
        return Value.missing("no_computable_values")
    return Value.of(math.fsum(part for part, _ in side.values()) / weight, round(weight))


def _measured(
    threshold: Threshold,
    run: Side,
    baseline: Side,
    ids: Collection[str] | None,
    resampling: Resampling,
) -> Measured:
    name = threshold.metric
    old, new = (side.value(name, _within(side.first, ids)) for side in (baseline, run))
    if not threshold.required and (why := _not_in_baseline(threshold, baseline, old, new, ids)):
        if not threshold.is_bounded or not new.computable:
            return Measured(threshold, old, new, not_applied=why)
        # A bound is one of the run alone.
        return Measured(threshold, old, new)
    if threshold.max_change is None:
        return Measured(threshold, old, new, faults=_gap("the run has no value", new, name))
    if old.reason is not None and old.reason == new.reason:
        faults = _gap("neither run has a value", new, name)
    else:
        faults = (
            *_gap("the baseline has no value", old, name),
            *_gap("the run has no value", new, name),
        )
    if name in WHOLE_RUN_ONLY or faults:
        return Measured(threshold, old, new, faults=faults)
    before, after = (side.shares(name, ids) for side in (baseline, run))
    for whose, side in (("baseline", baseline), ("run", run)):
        if lacking := side.lacking(name):
            summary = f"some runs on the side of the {whose} lack it for"
            faults += (f"{summary} {counted(len(lacking), 'query')}, the first is {lacking[0]!r}",)
    lost = sorted(before.keys() - after.keys())
    if lost:
        summary = f"the run lacks it for {counted(len(lost), 'query')} of the baseline"
        faults += (f"{summary}, the first is {lost[0]!r}",)
    if block_of(name) == "claims":
        faults += tuple(judge_faults(judge_of(baseline.first), judge_of(run.first)))
    spreads = tuple(
        spread for side in (baseline, run) if (spread := side.spread(name, ids)) is not None
    )
    found = _paired(threshold, (old, new), (before, after), resampling, spreads)
    if not found.n_pairs:
        faults += ("no query has it in both runs",)
    return Measured(threshold, old, new, faults=faults) if faults else found


def _paired(
    threshold: Threshold,
    values: tuple[Value, Value],
    sides: tuple[Mapping[str, Share], Mapping[str, Share]],
    resampling: Resampling,
    spreads: tuple[NoiseLevel, ...],
) -> Measured:
    change, moved = change_of(*sides, resampling), contributions(*sides)
    if not change.n_pairs:
        return Measured(threshold, *values, change)
    sign = -1.0 if threshold.direction == "down is bad" else 1.0
    harms = np.zeros(change.n_pairs)
    # In the order of query ids, for the seed of the test picks positions.
    harms[: len(moved)] = [sign * change.n_pairs * moved[query] for query in sorted(moved)]
    p_value, error = harm_test(harms, seed=resampling.seed)
    return Measured(threshold, *values, change, moved, p_value, error, spreads)


def _within(doc: SearchRun, ids: Collection[str] | None) -> Collection[str] | None:
    """Return None where the queries are all of the run, whose own numbers then count."""
    if ids is None or all(query.id in ids for query in doc.queries):
        return None
    return ids


def _not_in_baseline(
    threshold: Threshold, baseline: Side, old: Value, new: Value, ids: Collection[str] | None
) -> str:
    """Return why the baseline has nothing that a change could be counted from; empty: it has.

    A value that some runs of the baseline have, or that is broken, was recorded.
    """
    name = threshold.metric
    if name == TRUE_POSITIVE_RATE and old.value == 0 and new.computable:
        summary = "the baseline refused no unanswerable query, so it has none to lose"
        return "" if threshold.is_bounded else summary
    found = [metric_value(run, name, _within(run, ids)).reason for run in baseline.runs]
    if None in found or _BROKEN.intersection(found):
        return ""
    return "".join(_gap(f"the baseline has no {name}", old, name))


def _gap(summary: str, value: Value, name: str) -> tuple[str, ...]:
    if value.reason is None:
        return ()
    hint = _HOW_TO.get(block_of(name))
    is_hinted = hint is not None and value.reason == "not_recorded"
    return (f"{summary}: {REASONS[value.reason]}" + (f" ({hint})" if is_hinted else ""),)


@dataclass(frozen=True)
class Side:
    """Search runs of one system over the same queries, at least one.

    With one run, all numbers are those of the run. With several, a query's number is the mean of
    what it has in the runs, and a metric that is no mean over queries is the mean of theirs.
    """

    runs: Sequence[SearchRun]

    @property
    def first(self) -> SearchRun:
        """The first run, for what is the same in all of them."""
        return self.runs[0]

    @cached_property
    def is_still(self) -> bool:
        """Whether every query got the same documents in all runs."""
        rankings = [
            {query.id: [found.doc for found in query.ranking] for query in run.queries}
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

    def shares(
        self,
        name: str,
        ids: Collection[str] | None = None,
        *,
        read: tuple[Reading, SearchRun] | None = None,
    ) -> dict[str, Share]:
        """Return what each query adds to a metric, as `shares` does, on the mean of all runs.

        Queries that lack it in a run are left out (see `lacking`); with ``ids``, all others too.
        ``read`` says how unproved claims count beside another run.
        """
        found = self._by_run(name, ids, read=read)
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

    def spread(self, name: str, ids: Collection[str] | None) -> NoiseLevel | None:
        """Return how much a metric varies between the runs; None for one run."""
        if len(self.runs) == 1:
            return None
        table = by_query(self._by_run(name, ids))
        return run_to_run(table) if table.size else None

    def has_unproved(self, name: str) -> bool:
        """Whether a metric of claims has two ends in a run."""
        found = (stored(run, name) for run in self.runs)
        return any(isinstance(one, ShareWithInterval) and one.has_bounds for one in found)

    def _by_run(
        self,
        name: str,
        ids: Collection[str] | None,
        *,
        read: tuple[Reading, SearchRun] | None = None,
    ) -> list[dict[str, Share]]:
        found = [
            shares(run, name, unproved=None if read is None else read[0].counts(run, read[1], name))
            for run in self.runs
        ]
        if ids is None:
            return found
        return [{query: one[query] for query in one if query in ids} for one in found]


def _in_all(found: Sequence[Mapping[str, Share]]) -> list[str]:
    return [query for query in found[0] if all(query in one for one in found)]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)
