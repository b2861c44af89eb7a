"""Estimates over matched pairs: differences of metrics, bounds for missing values, slices."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval.agents.metrics.catalog import BY_NAME, Kind, Metric
from retrieval_eval.agents.study.design import Clusters, Pair, Planned, Side, clusters_of, labels_by
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.trials import (
    SCALES_DIFFER,
    Trial,
    are_poolable,
    average,
    candidate_set_of,
    known_values,
    observed,
)
from retrieval_eval.agents.study.verdict import headline_estimate, is_by_means
from retrieval_eval.model.impact import (
    Discrimination,
    PairedEstimate,
    PairedStatistics,
    PairSlice,
    RewardBySuite,
)
from retrieval_eval.values import Interval, signed

if TYPE_CHECKING:
    from retrieval_eval.stats.paired import PairedComparison

HEADLINES: Final[Mapping[Kind, Literal["mean_difference", "ratio", "restricted_mean"]]] = {
    "bounded": "mean_difference",
    "positive": "ratio",
    "time": "restricted_mean",
    "unbounded": "mean_difference",
}
"""The kind of a metric to the estimate that leads."""

NOT_RECORDED: Final[Mapping[str, str]] = {
    "ttfr_seconds": "no_timestamps",
    "ttfr_tokens": "no_tokens",
}
"""Why the time of a hit is not known."""

Row = tuple[Pair, float, float]
"""A pair with a number of both sides."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Estimates metrics over the pairs; what several of them read is made once."""

    pairs: Sequence[Pair]
    planned: Sequence[Planned]
    settings: Settings
    _columns: dict[str, array[float]] = field(default_factory=dict, init=False, repr=False)
    _clusters: dict[bytes, tuple[tuple[Pair, ...], Clusters]] = field(
        default_factory=dict, init=False, repr=False
    )
    _trials: list[Trial] = field(default_factory=list, init=False, repr=False)
    _estimates: dict[tuple[str, bytes], PairedEstimate] = field(
        default_factory=dict, init=False, repr=False
    )

    def __call__(self, metric: Metric, view: str | None = None) -> PairedEstimate:
        """Return the estimate of a metric, under a view of what counts as retrieved.

        Views under which every trial has the same number share an estimate.
        """
        column = self.settings.column(metric, view)
        key = metric.name, self._numbers(column)
        if key not in self._estimates:
            self._estimates[key] = self._estimate(metric, column)
        return self._estimates[key]

    def _numbers(self, column: str) -> bytes:
        """Return the digest of a number of every trial; NaN where it is not known."""
        if not self._trials:
            sides = (s.trials for task in self.planned for s in (task.baseline, task.comparison))
            every = {id(t): t for own in sides for t in own}
            every |= {id(t): t for t in _trials(self.pairs)}
            self._trials.extend(every.values())
        known = (trial.numbers.get(column, math.nan) for trial in self._trials)
        return sha256(array("d", known)).digest()

    def values(self, column: str) -> Iterator[tuple[float | None, float | None]]:
        """Return a number of both sides of every pair, in turn, repeats averaged."""
        if column not in self._columns:
            sides = (side for pair in self.pairs for side in pair.values(column))
            self._columns[column] = array("d", (math.nan if v is None else v for v in sides))
        known = (None if math.isnan(v) else v for v in self._columns[column])
        return zip(known, known, strict=True)

    def clusters(self, pairs: Sequence[Pair]) -> Clusters:
        """Return the clusters of some of the pairs."""
        key = array("Q", map(id, pairs)).tobytes()
        if key not in self._clusters:
            # With the pairs, which must live as long as the key that has their ids.
            found = clusters_of(pairs, self.settings.stated.cluster)
            self._clusters[key] = tuple(pairs), found
        return self._clusters[key][1]

    def _estimate(self, metric: Metric, column: str) -> PairedEstimate:
        if metric.kind == "time":
            return self._of_times(metric)
        sides = [(p, a, b) for p, (a, b) in zip(self.pairs, self.values(column), strict=True)]
        rows = [(pair, a, b) for pair, a, b in sides if a is not None and b is not None]
        is_pooled = metric.name != "reward" or are_poolable(_trials(p for p, _, _ in rows))
        rows = rows if is_pooled else []
        kind = self._kind(metric, rows)
        clusters = self.clusters([pair for pair, _, _ in rows])
        result = self._compared(metric, rows, clusters)
        reason = None if is_pooled else SCALES_DIFFER
        largest = 1.0 if kind == "bounded" else math.inf
        estimate = self._found(metric, kind, result, clusters, largest, reason)
        if kind == "bounded" and estimate.mean_difference is not None:
            known = bounds(self.planned, metric, column, estimate)
            if known is not None:
                estimate = structs.replace(estimate, bound_low=known.low, bound_high=known.high)
        if kind == "positive":
            ends = {"bill_low": estimate.ci_low, "bill_high": estimate.ci_high}
            estimate = structs.replace(estimate, **ends, **self._ratio(rows, column, clusters))
        if estimate.mean_difference is None:
            return estimate
        more: dict[str, Any] = {}
        if self.settings.stated.is_sequential:
            more |= self._always(rows, column, clusters, kind)
        more |= self._components(rows, column, kind)
        return structs.replace(estimate, **more)

    def _found(
        self,
        metric: Metric,
        kind: Kind,
        result: PairedComparison,
        clusters: Clusters,
        largest: float,
        reason: str | None,
    ) -> PairedEstimate:
        """Return what a comparison of means found; ``reason`` is why there can be none."""
        from retrieval_eval.stats.intervals import RANDOM_EFFECTS
        from retrieval_eval.stats.paired import CLUSTER_MEANS

        over: dict[str, Literal["clusters", "random_effects"]] = {
            CLUSTER_MEANS: "clusters",
            RANDOM_EFFECTS: "random_effects",
        }
        low, high = _within(result.interval, largest)
        return PairedEstimate(
            direction=metric.direction,
            kind=kind,
            headline=HEADLINES[kind],
            n_pairs=result.n,
            reason=reason or result.mean_difference.reason or result.interval.low.reason,
            averaged_over=over.get(result.clustering, "tasks"),
            mean_baseline=result.mean_baseline.value,
            mean_comparison=result.mean_comparison.value,
            mean_difference=result.mean_difference.value,
            estimate=result.estimate.value,
            ci_low=low,
            ci_high=high,
            p_value=result.p_value.value,
            smallest_detectable=result.smallest_detectable_difference.value,
            wins=result.wins,
            ties=result.ties,
            losses=result.losses,
            cluster_by=clusters.by,
            n_clusters=clusters.n,
            n_effective=result.n_effective,
            largest_cluster_share=result.largest_cluster_share,
        )

    def _kind(self, metric: Metric, rows: Sequence[Row]) -> Kind:
        """Return the kind of a metric; one whose values exceed 0 to 1 has no bounds."""
        if metric.kind != "bounded":
            return metric.kind
        if metric.name == "reward":
            is_open = any(trial.is_reward_open for trial in _trials(self.pairs))
        else:
            is_open = any(not 0 <= value <= 1 for _, *values in rows for value in values)
        return "unbounded" if is_open else "bounded"

    def _compared(
        self, metric: Metric, rows: Sequence[Row], clusters: Clusters
    ) -> PairedComparison:
        from retrieval_eval.stats.paired import compare_paired

        return compare_paired(
            [a for _, a, _ in rows],
            [b for _, _, b in rows],
            seed=self.settings.seed,
            is_higher_better=metric.direction == "higher_is_better",
            n_resamples=self.settings.n_resamples,
            confidence=self.settings.confidence,
            clusters=clusters.labels,
        )

    def cell(self, metric: Metric, rows: Sequence[Row]) -> dict[str, float | None]:
        """Return the means of some tasks and of their difference, with its interval."""
        found = self._compared(metric, rows, self.clusters([pair for pair, _, _ in rows]))
        low, high = _within(found.interval, 1.0)
        return {
            "mean_baseline": found.mean_baseline.value,
            "mean_comparison": found.mean_comparison.value,
            "mean_difference": found.estimate.value,
            "ci_low": low,
            "ci_high": high,
        }

    def _ratio(self, rows: Sequence[Row], column: str, clusters: Clusters) -> dict[str, Any]:
        """Return the ratio of geometric means, over tasks and inside each over its repeats."""
        from retrieval_eval.stats.paired import compare_ratio, geometric_mean

        sides = [
            [geometric_mean(known_values(own, column)) for own in (pair.baseline, pair.comparison)]
            for pair, _, _ in rows
        ]
        found = compare_ratio(
            [a for a, _ in sides],
            [b for _, b in sides],
            seed=self.settings.seed,
            n_resamples=self.settings.n_resamples,
            confidence=self.settings.confidence,
            clusters=clusters.labels,
        )
        return {
            "estimate": found.ratio.value,
            "ci_low": found.interval.low.value,
            "ci_high": found.interval.high.value,
            "reason": found.ratio.reason or found.interval.low.reason,
            "p_value": found.p_value.value,
            "n_not_positive": found.n_not_positive,
            "smallest_detectable": found.smallest_detectable_ratio.value,
        }

    def _always(
        self, rows: Sequence[Row], column: str, clusters: Clusters, kind: Kind
    ) -> dict[str, Any]:
        """Return the interval and p of the headline that hold at every look, in order of time.

        A task comes in with the batch of its last trial, and a cluster with that of its last task:
        what shares a repository or suite is one observation, its mean.
        """
        from retrieval_eval.stats.paired import geometric_mean
        from retrieval_eval.stats.sequential import always_valid_bounded, always_valid_mean

        labels = clusters.labels or [(pair.benchmark, pair.task_name) for pair, _, _ in rows]
        groups: dict[Hashable, list[tuple[str, float]]] = defaultdict(list)
        for (pair, before, after), label in zip(rows, labels, strict=True):
            if kind != "positive":
                groups[label].append((_came_in(pair), after - before))
                continue
            first, second = (
                geometric_mean(known_values(own, column))
                for own in (pair.baseline, pair.comparison)
            )
            if first > 0 and second > 0:
                groups[label].append((_came_in(pair), math.log(second / first)))
        # Groups are in the order of their tasks, which decides between those of one batch.
        ordered = sorted(groups.values(), key=lambda own: max(moment for moment, _ in own))
        values = [statistics.fmean(value for _, value in own) for own in ordered]
        confidence = self.settings.confidence
        found = (
            always_valid_bounded(values, confidence=confidence)
            if kind == "bounded"
            else always_valid_mean(values, confidence=confidence)
        )
        low, high = found.interval.low.value, found.interval.high.value
        if kind == "positive" and low is not None and high is not None:
            low, high = math.exp(low), math.exp(high)
        reason = found.interval.low.reason
        return ({"reason": reason} if reason else {}) | {
            "always_low": low,
            "always_high": high,
            "always_p": found.p_value.value,
            "always_method": found.method,
        }

    def _components(self, rows: Sequence[Row], column: str, kind: Kind) -> dict[str, Any]:
        """Return what repeats and what tasks contribute to the spread of the differences."""
        sides = [
            [known_values(own, column) for own in (pair.baseline, pair.comparison)]
            for pair, _, _ in rows
        ]
        if kind == "positive":
            sides = [
                [list(map(math.log, own)) for own in side]
                for side in sides
                if min(map(min, side)) > 0
            ]
        return _repeats(sides)

    def _of_times(self, metric: Metric) -> PairedEstimate:
        """Return the difference of restricted mean times, tasks without a hit included."""
        from retrieval_eval.stats.paired import compare_times

        times = observed_times(self.pairs, metric)
        clusters = self.clusters([pair for pair, _, _ in times])
        found = compare_times(
            [before for _, before, _ in times],
            [after for _, _, after in times],
            seed=self.settings.seed,
            is_higher_better=metric.better == "higher",
            n_resamples=self.settings.n_resamples,
            confidence=self.settings.confidence,
            clusters=clusters.labels,
        )
        never = [
            sum(any(t.never_hit for t in getattr(pair, side)) for pair in self.pairs)
            for side in ("baseline", "comparison")
        ]
        counts = {"n_never_baseline": never[0], "n_never_comparison": never[1]}
        if found is None:
            reason = self._why_none(metric)
            nothing = self._compared(metric, [], clusters)
            estimate = self._found(metric, "time", nothing, clusters, math.inf, reason)
            return structs.replace(estimate, **counts, n_pairs=len(times))
        estimate = self._found(metric, "time", found.compared, clusters, found.until, None)
        estimate = structs.replace(estimate, **counts, until=found.until)
        if estimate.mean_difference is None:
            return estimate
        sides = [
            [[found.until if time is None else time for time in own] for own in (before, after)]
            for _, before, after in times
        ]
        more = _repeats(sides)
        if self.settings.stated.is_sequential:
            rows = [
                (pair, statistics.fmean(before), statistics.fmean(after))
                for (pair, _, _), (before, after) in zip(times, sides, strict=True)
            ]
            more |= self._always(rows, "", clusters, "unbounded")
        return structs.replace(estimate, **more)

    def _why_none(self, metric: Metric) -> str:
        """Return why no time of a hit is known: there was none, or its time is not recorded."""
        has_hit = any(trial.computable and not trial.never_hit for trial in _trials(self.pairs))
        return NOT_RECORDED.get(metric.name, "not_recorded") if has_hit else "never_hit"


def _came_in(pair: Pair) -> str:
    """Return when the last trial of a pair was run, as its batch is named; empty where unknown."""
    return max(trial.batch_timestamp or "" for trial in (*pair.baseline, *pair.comparison))


def _within(interval: Interval, largest: float) -> tuple[float | None, float | None]:
    """Return the ends of an interval, cut at the largest difference that the metric can have."""
    low, high = interval.low.value, interval.high.value
    if low is None or high is None:
        return low, high
    return max(low, -largest), min(high, largest)


def _repeats(sides: Sequence[Sequence[Sequence[float]]]) -> dict[str, Any]:
    from retrieval_eval.stats.paired import variance_components

    found = variance_components([before for before, _ in sides], [after for _, after in sides])
    return {
        "variance_between": found.between.value,
        "variance_within": found.within.value,
    }


Times = list[float | None]
"""Of trials, the time of each one's hit, or None for one that never hit."""


def observed_times(pairs: Sequence[Pair], metric: Metric) -> list[tuple[Pair, Times, Times]]:
    """Return the pairs in which some trial of each side is known to have hit or not, with times.

    Where a hit has no known time its trial is left out. Then so are trials that never hit and have
    no known end, since what left out the times of some took them from both.
    """
    own = [
        [
            [(trial, observed(trial, metric.name, metric.censored_at)) for trial in side]
            for side in (
                [trial for trial in pair.baseline if trial.computable],
                [trial for trial in pair.comparison if trial.computable],
            )
        ]
        for pair in pairs
    ]
    trials = [known for sides in own for side in sides for known in side]
    has_gap = any(time is None and not trial.never_hit for trial, time in trials)
    found = []
    for pair, sides in zip(pairs, own, strict=True):
        before, after = (
            [
                time[0] if time is not None and time[1] else None
                for trial, time in side
                if time is not None or (trial.never_hit and not has_gap)
            ]
            for side in sides
        )
        if before and after:
            found.append((pair, before, after))
    return found


def _trials(pairs: Iterable[Pair]) -> Iterator[Trial]:
    for pair in pairs:
        yield from (*pair.baseline, *pair.comparison)


def reward_by_suite(measure: Measure, pooled: PairedEstimate | None) -> tuple[RewardBySuite, ...]:
    """Return the reward of every suite, where rewards of several suites cannot be averaged."""
    if pooled is None or pooled.reason != SCALES_DIFFER:
        return ()
    rows = []
    for suite in sorted({pair.benchmark for pair in measure.pairs}):
        part = replace(
            measure,
            pairs=[p for p in measure.pairs if p.benchmark == suite],
            planned=[t for t in measure.planned if t.benchmark == suite],
        )
        rows.append(RewardBySuite(benchmark=suite, **structs.asdict(part(BY_NAME["reward"]))))
    return tuple(rows)


def with_holm(estimates: Mapping[str, PairedEstimate]) -> dict[str, PairedStatistics]:
    """Add Holm's adjusted p-value of the headline over the family of metrics."""
    from retrieval_eval.stats.multiplicity import holm

    adjusted = holm([headline_estimate(estimate).p for estimate in estimates.values()])
    return {
        name: PairedStatistics(**structs.asdict(estimate), p_holm=value)
        for (name, estimate), value in zip(estimates.items(), adjusted.values, strict=True)
    }


# Bounds of a mean difference for the values that an arm lacks


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one side of a task: its value is ``part`` + ``missing`` × (0 to 1)."""

    part: float
    missing: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """The mean difference over all ``n`` planned tasks, every lacking value taken as 0 and as 1.

    ``lacking`` counts the tasks of which each arm lacks the value, or that of some repeats.
    """

    low: float
    high: float
    n: int
    lacking: tuple[int, int]


def bounds(
    planned: Sequence[Planned], metric: Metric, column: str, estimate: PairedEstimate
) -> Bounds | None:
    """Return bounds of the mean difference over all planned tasks (Manski 1989).

    Parameters
    ----------
    planned
        Every task that an arm was meant to run. Those without ground truth have no value of a
        retrieval metric in any arm, so they lack none.
    metric, column
        The metric, which lies between 0 and 1, and where its numbers are.
    estimate
        What the matched tasks show; the bounds are of means over the same clusters.
    """
    tasks = [t for t in planned if t.has_ground_truth or metric.path[:1] == ("outcome",)]
    if not tasks:
        return None
    weights = list(_weights(tasks, estimate.cluster_by if is_by_means(estimate) else None))
    before = [known_part(task.baseline, column) for task in tasks]
    after = [known_part(task.comparison, column) for task in tasks]
    known = math.fsum(w * (b.part - a.part) for w, a, b in zip(weights, before, after, strict=True))
    gaps = [
        math.fsum(w * side.missing for w, side in zip(weights, sides, strict=True))
        for sides in (before, after)
    ]
    return Bounds(
        known - gaps[0],
        known + gaps[1],
        len(tasks),
        (sum(side.missing > 0 for side in before), sum(side.missing > 0 for side in after)),
    )


def _weights(tasks: Sequence[Planned], by: str | None) -> Iterator[float]:
    if by is None:
        yield from [1 / len(tasks)] * len(tasks)
        return
    labels = labels_by(by, tasks)
    sizes = Counter(labels)
    yield from (1 / (len(sizes) * sizes[label]) for label in labels)


def known_part(side: Side, column: str) -> Known:
    """Return what is known of one side of a task; repeats that were lost count as missing."""
    n_known = len(known_values(side.trials, column))
    mean = average(side.trials, column)
    if mean is None:
        return Known(0.0, 1.0)
    n = len(side.trials) + side.n_lost
    return Known(mean * (n_known / n), (n - n_known) / n)


# Which metrics discriminate between tasks and configurations

SATURATED_SHARE: Final = 0.9
"""A share-like metric with this much of its values at 0, or at 1, is saturated."""

REDUNDANT_R: Final = 0.98
"""Two metrics whose ranks correlate this strongly are redundant."""

MIN_VALUES: Final = 6

Status = Literal["discriminates", "constant", "saturated", "redundant", "not_computable"]
Values = Sequence[float | None]


def discrimination(measure: Measure, metrics: Sequence[Metric]) -> tuple[Discrimination, ...]:
    """Return for each metric whether it discriminates, over both sides of all pairs.

    ``constant``: every value is the same. ``saturated``: nearly all values sit at an end of the
    scale. ``redundant``: it ranks the units as an earlier metric of the list does. Otherwise
    ``discriminates``, or ``not_computable`` below six values. Rewards of several scales are not
    computable.
    """
    rows = []
    kept: dict[str, Values] = {}
    for metric in metrics:
        is_known = metric.name != "reward" or are_poolable(_trials(measure.pairs))
        sides = measure.values(measure.settings.column(metric)) if is_known else ()
        values = [value for side in sides for value in side]
        status, detail, other = _status(metric, values, kept)
        if status == "discriminates":
            kept[metric.name] = values
        rows.append(Discrimination(metric=metric.name, status=status, detail=detail, with_=other))
    return tuple(rows)


def _status(
    metric: Metric, column: Values, kept: Mapping[str, Values]
) -> tuple[Status, str, str | None]:
    values = [v for v in column if v is not None]
    if len(values) < MIN_VALUES:
        return "not_computable", f"{len(values)} values", None
    if len(set(values)) == 1:
        return "constant", f"all {len(values)} values are {values[0]:g}", None
    if metric.kind == "bounded":
        for end in (0.0, 1.0):
            share = values.count(end) / len(values)
            if share >= SATURATED_SHARE:
                return "saturated", f"{share:.2f} of {len(values)} values are {end:g}", None
    for name, other in kept.items():
        r = _rank_correlation(column, other)
        if r is not None and abs(r) >= REDUNDANT_R:
            label = BY_NAME[name].label if name in BY_NAME else name
            return "redundant", f"ranks as {label} does (r = {signed(r, 3)})", name
    return "discriminates", f"{len(set(values))} distinct of {len(values)} values", None


def _rank_correlation(xs: Values, ys: Values) -> float | None:
    from retrieval_eval.stats.correlation import rank_correlation

    known = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    if len(known) < MIN_VALUES:
        return None
    return rank_correlation([x for x, _ in known], [y for _, y in known])


# The paired difference within slices of the tasks

SLICED: Final = "file_recall"


def slices(measure: Measure) -> tuple[PairSlice, ...]:
    """Return the paired difference in file recall by every dimension and level, with its n.

    A cell with too few tasks is marked as not interpretable. Tasks are clustered as in the estimate
    over all tasks, which is that of a cell that holds all of them.
    """
    from retrieval_eval.stats.proportions import MIN_INTERPRETABLE

    metric = BY_NAME[SLICED]
    column = measure.settings.column(metric)
    known = [
        (pair, before, after)
        for pair, (before, after) in zip(measure.pairs, measure.values(column), strict=True)
        if before is not None and after is not None
    ]
    # Where a dimension has one level, its cell is that of all others which have one.
    made: dict[tuple[int, ...], dict[str, float | None]] = {}
    rows = []
    for dimension, level_of in DIMENSIONS.items():
        cells: dict[str, list[Row]] = defaultdict(list)
        for row in known:
            cells[level_of(row[0])].append(row)
        for level in sorted(cells, key=lambda name: (_ORDER.get(name, 99), name)):
            cell = cells[level]
            key = tuple(id(pair) for pair, _, _ in cell)
            if key not in made:
                made[key] = measure.cell(metric, cell)
            rows.append(
                PairSlice(
                    dimension=dimension,
                    level=level,
                    n_pairs=len(cell),
                    interpretable=len(cell) >= MIN_INTERPRETABLE,
                    **made[key],
                )
            )
    return tuple(rows)


def _suite(pair: Pair) -> str:
    return pair.benchmark


def _candidate_set(pair: Pair) -> str:
    """Return the size of the candidate set, averaged over all trials of the pair."""
    return candidate_set_of((*pair.baseline, *pair.comparison)) or "unknown"


def _evidence(pair: Pair) -> str:
    """Return whether trials used MCP, in the arm that did so more: arms can be swapped."""
    return max(map(_evidence_of, (pair.baseline, pair.comparison)), key=_BY_MCP.index)


def _evidence_of(trials: Sequence[Trial]) -> str:
    types = {trial.evidence_type for trial in trials if trial.evidence_type is not None}
    return types.pop() if len(types) == 1 else "mixed" if types else "unknown"


def _truth_size(pair: Pair) -> str:
    size = pair.baseline[0].n_ground_truth
    if size is None:
        return "unknown"
    return next(name for name, most in _TRUTH_SIZES if size <= most)


def _repositories(pair: Pair) -> str:
    n = len(pair.repositories)
    return "unstated" if n == 0 else "one repository" if n == 1 else "several repositories"


def _confidence(pair: Pair) -> str:
    return pair.baseline[0].ground_truth_confidence or "unknown"


_BY_MCP: Final = ("unknown", "local", "mixed", "mcp")
_TRUTH_SIZES: Final = (
    ("1 file", 1),
    ("2 to 5 files", 5),
    ("6 to 10 files", 10),
    ("over 10 files", float("inf")),
)
_ORDERED: Final = (
    *("small", "high", "medium", "low", "large"),
    *("local", "mcp", "mixed"),
    *(name for name, _ in _TRUTH_SIZES),
    *("one repository", "several repositories"),
    *("unstated", "unknown"),
)
_ORDER: Final = {name: place for place, name in enumerate(_ORDERED)}
"""Sizes and confidences share the level medium, so one order serves both."""

DIMENSIONS: Final[Mapping[str, Callable[[Pair], str]]] = {
    "suite": _suite,
    "candidate_set_size": _candidate_set,
    "evidence_type": _evidence,
    "n_ground_truth_files": _truth_size,
    "n_repositories": _repositories,
    "ground_truth_confidence": _confidence,
}
"""Every dimension with the function that puts a pair into one of its levels."""
