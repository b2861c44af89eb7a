"""How many queries a guard needs to catch a drop: from pilot runs, noise or stated assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.measures import parse_measure
from retrieval_eval.model.guard import GuardSlice
from retrieval_eval.model.noise import NoiseFloor
from retrieval_eval.model.plan import Assumption
from retrieval_eval.model.search_plan import MetricPlan, QueryPoint, SearchPlan
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.guard.thresholds import (
    PINNED,
    Threshold,
    Thresholds,
    shipped_thresholds,
)
from retrieval_eval.search.named_metrics import (
    BLOCK_OF,
    FALSE_REFUSAL_RATE,
    TRUE_POSITIVE_RATE,
    WHOLE_RUN_ONLY,
    query_ids,
    shares,
)
from retrieval_eval.search.noise_level import MOST_RUNS, error_of_means
from retrieval_eval.search.paired_change import POINTS, linear, pairs_of
from retrieval_eval.stats.harm_power import Moves, power_beyond_noise, power_of_flips
from retrieval_eval.stats.resampling import resample
from retrieval_eval.values import DEFAULT_SEED, counted

DEFAULT_POINTS: Final = 2.0
MAX_QUERIES: Final = 1_000_000
"""A plan that needs more queries has no number."""

_CURVE_POINTS: Final = 16
_LEAST_MOVED: Final = 6
_N_RESAMPLES: Final = 2_000
_ABSENT: Final = "the runs have no query with it in both"
_REFUSALS: Final = frozenset({TRUE_POSITIVE_RATE, FALSE_REFUSAL_RATE})

DecidedBy = Literal["threshold", "noise", "significance"]


def plan_search(
    change: tuple[SearchRun, SearchRun] | None = None,
    noise: NoiseFloor | None = None,
    *,
    thresholds: Thresholds | None = None,
    metrics: Sequence[str] = (),
    points: float = DEFAULT_POINTS,
    moved: float | None = None,
    sd: float | None = None,
    n_queries: int | None = None,
    n_runs: int = 1,
    is_deterministic: bool | None = None,
    power: float = 0.8,
) -> SearchPlan:
    """Return how many queries the guard needs to catch a drop, and what some queries catch.

    Caught means a breach under the guard's own rule: the drop exceeds its threshold, and is
    significant over the queries (sign flips) or beyond measured run-to-run noise, at the level of
    the strictest of all thresholds (Holm). Of a deterministic system the threshold alone decides.
    The queries are a sample of what users ask, so that the drop on them varies too; from a noise
    file alone the drop is one on these very queries.

    Parameters
    ----------
    change
        Two runs whose difference is typical of changes to come: the share of queries that move,
        how far they move, and the share of queries that each metric rests on, are taken from it.
    noise
        The noise of the system (`search noise`).
    thresholds
        Those of the guard, its rule and level; by default the shipped ones.
    metrics
        Only thresholds of these metrics; by default all.
    points
        The drop to catch, in points (hundredths).
    moved, sd
        Stated instead of ``change``: the share of queries that move at all, and the standard
        deviation of the change over all queries, in points. Of refusals, and of P where each
        query that moves wins or loses one document, ``moved`` is enough.
    n_queries
        Stated number of queries that a metric rests on: what they catch is given too.
    n_runs
        Runs on either side whose means are compared.
    is_deterministic
        Whether the system answers the same every time; by default what the runs and the noise
        file say.
    power
        Share of guards that are to catch the drop.

    Returns
    -------
    SearchPlan
        One entry a threshold; ``reason`` says where there is no plan.

    Raises
    ------
    BadInputError
        When nothing is given that a plan could rest on, a number is out of its range, or no
        threshold is about a requested metric.

    Examples
    --------
    >>> found = plan_search(moved=0.1, metrics=["P@5"])
    >>> found.metrics[0].n_queries
    90
    >>> from retrieval_eval.search.plan import plan_sentences
    >>> print(plan_sentences(found)[0])
    P@5: 90 queries catch a drop of 2 points in 80 % of guards...
    """
    thresholds = thresholds or shipped_thresholds()
    _check(
        points,
        moved,
        sd,
        n_queries,
        n_runs,
        power,
        has_pilot=change is not None or noise is not None,
    )
    bounded = [row for row in thresholds.rows if row.max_change is not None]
    rows = [row for row in bounded if not metrics or row.metric in metrics]
    if unknown := sorted(set(metrics) - {row.metric for row in rows}):
        known = ", ".join(dict.fromkeys(row.metric for row in bounded))
        raise BadInputError(f"no threshold bounds the change of {unknown[0]}; there are: {known}")
    known_still = _is_still(change, noise) if is_deterministic is None else is_deterministic
    spread = None if sd is None else math.hypot(sd, points)
    pilots = [_Basis.of(row, change, noise, moved, spread) for row in bounded]
    # As the guard does, which adjusts over the thresholds that apply.
    n_tested = max(1, sum(one.is_tested for one in pilots))
    level = thresholds.alpha / n_tested
    planned = [
        _planned(
            basis,
            _Guard(thresholds.rule, level, n_runs, known_still),
            points,
            power,
            n_queries,
        )
        for basis in pilots
        if basis.threshold in rows
    ]
    return SearchPlan(
        points=points,
        power=power,
        alpha=thresholds.alpha,
        rule=thresholds.rule,
        n_tested=n_tested,
        n_runs=n_runs,
        metrics=tuple(planned),
    )


def _check(
    points: float,
    moved: float | None,
    sd: float | None,
    n_queries: int | None,
    n_runs: int,
    power: float,
    *,
    has_pilot: bool,
) -> None:
    """Refuse numbers that no guard has."""
    if not 0 < points <= POINTS:
        raise BadInputError(f"a drop lies above 0 and up to 100 points, not at {points:g}")
    if moved is not None and not 0 < moved <= 1:
        raise BadInputError(
            f"the share of queries that move lies above 0 and up to 1, not at {moved:g}"
        )
    if sd is not None and not 0 < sd <= POINTS:
        raise BadInputError(
            f"a standard deviation lies above 0 and up to 100 points, not at {sd:g}"
        )
    if n_queries is not None and not 1 <= n_queries <= MAX_QUERIES:
        raise BadInputError(f"a guard looks at one query at least, and at {MAX_QUERIES:,} at most")
    if not 1 <= n_runs <= MOST_RUNS:
        raise BadInputError(f"a side has from 1 to {MOST_RUNS} runs, not {n_runs:,}")
    if not 0 < power < 1:
        raise BadInputError(f"the power lies between 0 and 1, not at {power:g}")
    if not has_pilot and moved is None and sd is None:
        raise BadInputError(
            "state what the plan rests on: two runs that differ like a typical change "
            "(--change A B), a noise file (--noise), or the share of queries that move (--moved)"
        )


def _is_still(change: tuple[SearchRun, SearchRun] | None, noise: NoiseFloor | None) -> bool:
    """Return whether the pilot says that the system answers the same every time."""
    if noise is not None:
        return noise.is_deterministic
    trusts = [run.trust for run in change or ()]
    return bool(trusts) and all(one is not None and one.is_deterministic is True for one in trusts)


@dataclass(frozen=True, slots=True)
class _Noise:
    """Run-to-run noise of one metric, by number of queries."""

    sd_by_query: float
    sd_of_runs: float
    step: float
    n_queries: int
    n_runs: int

    @property
    def common(self) -> float:
        """The variance that more queries do not average out: runs good or bad as a whole.

        Only as much as is surely more than what independent queries give.
        """
        from scipy.special import chdtri

        usual = self.sd_by_query**2
        surely = float(chdtri(self.n_runs - 1, 0.05)) / (self.n_runs - 1)
        excess = self.sd_of_runs**2 - usual
        return excess if self.sd_of_runs**2 > surely * usual else 0.0

    def band(self, n: int, pair_error: float = 0.0) -> float:
        """Return the standard deviation of a run of ``n`` queries, in points.

        Of a slice (`noise_of_part`) with the standard error that the compared pair shows.
        """
        of_queries = max(self.sd_by_query, 0.0 if self.common else self.sd_of_runs)
        by_query = max(of_queries * math.sqrt(self.n_queries / n), pair_error / math.sqrt(2.0))
        unseen = POINTS / n / math.sqrt(self.n_runs)
        return math.sqrt(by_query**2 + self.common + unseen**2)


@dataclass(frozen=True, slots=True)
class _Basis:
    """What is known of one threshold's metric; ``reason`` says why nothing is."""

    threshold: Threshold
    moves: Moves | None = None
    spread: tuple[float, float] = (1.0, 1.0)
    noise: _Noise | None = None
    share_of_set: float | None = None
    assumptions: tuple[Assumption, ...] = ()
    before: float | None = None
    reason: str | None = None
    is_pilot: bool = False
    """Whether the moves are those of a pilot, on top of which the drop comes."""
    is_tested: bool = True

    @classmethod
    def of(
        cls,
        row: Threshold,
        change: tuple[SearchRun, SearchRun] | None,
        noise: NoiseFloor | None,
        moved: float | None,
        size: float | None,
    ) -> _Basis:
        if row.metric in WHOLE_RUN_ONLY:
            reason = "it is no mean over queries; its threshold alone decides"
            return cls(row, reason=reason, is_tested=False)
        if row.part is not None and row.part.dimension == PINNED:
            return cls(row, reason="its slice is a list of queries; plan without the list")
        found: dict[str, Any] = {}
        made: list[Assumption] = []
        is_stated = moved is not None or size is not None
        if change is not None:
            gap = _of_change(row, change, found, made)
            if gap == _ABSENT or (gap is not None and not is_stated):
                return cls(row, reason=gap, is_tested=gap != _ABSENT)
        if is_stated and (gap := _of_stated(row, moved, size, found, made)) is not None:
            return cls(row, reason=gap)
        if noise is not None:
            _of_noise(row, noise, found, made)
        if "moves" not in found and "noise" not in found:
            return cls(row, reason="the noise file has no noise of it")
        return cls(row, assumptions=tuple(made), **found)


def _of_change(
    row: Threshold,
    change: tuple[SearchRun, SearchRun],
    found: dict[str, Any],
    made: list[Assumption],
) -> str | None:
    """Add what two runs show of a metric; returns why they show nothing."""
    sides = [shares(run, row.metric) for run in change]
    if row.part is not None:
        ids = query_ids(change[0], row.part.dimension, row.part.value)
        sides = [{query: one[query] for query in one if query in ids} for one in sides]
    pairs = pairs_of(*sides)
    if not pairs:
        return _ABSENT
    old, new = (np.array(linear([pair[side] for pair in pairs.values()])) for side in (0, 1))
    changes = POINTS * (new - old)
    n_moved = int(np.count_nonzero(np.abs(changes) > 1e-9))
    if n_moved < _LEAST_MOVED:
        return (
            f"{counted(n_moved, 'query')} moved between the runs, too few to show how queries "
            "move; state it"
        )
    n = len(changes)
    squares = changes**2
    means = resample(lambda rows: squares[rows].mean(axis=1), n, _N_RESAMPLES, DEFAULT_SEED).ravel()
    low, high = (float(end) / float(squares.mean()) for end in np.quantile(means, [0.025, 0.975]))
    label = f"{change[0].label or 'the first run'} and {change[1].label or 'the second run'}"
    source = f"{label}: {counted(n, 'query')}"
    size = math.sqrt(float(squares.sum()) / n_moved)
    of_change = math.sqrt(float(squares.mean()))
    found["moves"] = Moves(n_moved / n, size, is_even=row.metric in _REFUSALS)
    found["spread"] = math.sqrt(low), math.sqrt(high)
    found["is_pilot"] = True
    found["before"] = float(old.mean())
    asked = len(change[0].queries)
    found["share_of_set"] = n / asked if asked else None
    made.append(
        Assumption(
            name="moved", meaning="share of queries that move", value=n_moved / n, source=source
        )
    )
    made.append(
        Assumption(
            name="size",
            meaning="root mean square of the change over all queries",
            value=of_change,
            low=of_change * math.sqrt(low),
            high=of_change * math.sqrt(high),
            unit="points",
            source=source,
        )
    )
    if asked:
        made.append(
            Assumption(
                name="share_of_set",
                meaning="share of all queries that it rests on",
                value=n / asked,
                source=source,
            )
        )
    return None


def _of_stated(
    row: Threshold,
    moved: float | None,
    size_of_all: float | None,
    found: dict[str, Any],
    made: list[Assumption],
) -> str | None:
    """Add what is stated, in place of what a pilot shows; returns what more is to be stated."""
    share = 1.0 if moved is None else moved
    step = _step(row.metric)
    is_even = row.metric in _REFUSALS
    if is_even:
        if moved is None:
            return "of refusals the share of queries that move is to be stated"
        size, source = POINTS, "a refusal is all or nothing"
    elif size_of_all is not None:
        size, source = size_of_all / math.sqrt(share), "stated, with the drop"
    elif step is None:
        return "beside the share of queries that move, state the standard deviation of the change"
    else:
        size, source = step, "one document"
    found["moves"] = Moves(share, size, is_even=is_even or size_of_all is None)
    found["is_pilot"] = False
    found["spread"] = (1.0, 1.0)
    made[:] = [one for one in made if one.name == "share_of_set"]
    stated = "stated" if moved is not None else "default"
    made.append(
        Assumption(name="moved", meaning="share of queries that move", value=share, source=stated)
    )
    made.append(
        Assumption(
            name="size",
            meaning="root mean square of the change over all queries",
            value=size * math.sqrt(share),
            unit="points",
            source=source,
        )
    )
    return None


def _step(metric: str) -> float | None:
    """Return what one document moves a query by, in points, None where that is no fixed number."""
    if metric in BLOCK_OF:
        return None
    measure = parse_measure(metric)
    return POINTS / measure.cutoff if measure.name == "P" and measure.cutoff else None


def _of_noise(
    row: Threshold, noise: NoiseFloor, found: dict[str, Any], made: list[Assumption]
) -> None:
    metric = noise.metrics.get(row.metric)
    if metric is None:
        return
    level = metric.run_to_run
    found["noise"] = _Noise(
        level.sd_by_query_points,
        level.sd_of_runs_points,
        level.step_points,
        metric.n_queries,
        noise.n_runs,
    )
    source = f"{counted(noise.n_runs, 'run')} of {counted(metric.n_queries, 'query')}"
    if noise.n_queries and row.part is None and found.get("share_of_set") is None:
        found["share_of_set"] = metric.n_queries / noise.n_queries
    made.append(
        Assumption(
            name="noise",
            meaning="run-to-run standard deviation used as noise",
            value=metric.band_points,
            unit="points",
            source=source,
        )
    )


@dataclass(frozen=True, slots=True)
class _Guard:
    """The guard that is planned."""

    rule: str
    level: float
    n_runs: int
    is_deterministic: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """One threshold of a planned guard: its power by drop and number of queries."""

    basis: _Basis
    guard: _Guard
    limit: float
    decided_by: DecidedBy

    def power(self, harm: float, n: int, factor: float = 1.0) -> float:
        """Return how often a drop is caught, the spread of single queries times ``factor``."""
        moves = self.basis.moves
        if moves is not None and factor != 1.0:
            # More queries that move, or where all do or sizes are fixed, larger moves.
            share = min(1.0, moves.share * factor**2)
            rest = moves.share * factor**2 / share
            size = moves.root_mean_square * (1.0 if moves.is_even else math.sqrt(rest))
            moves = Moves(share, size, moves.is_even)
        if moves is not None and self.basis.is_pilot:
            moves = moves.with_drop(harm)
        if self.decided_by == "significance":
            assert moves is not None
            return power_of_flips(harm, moves, n, level=self.guard.level, limit=self.limit)
        if self.decided_by == "threshold":
            assert moves is not None
            return power_of_flips(harm, moves, n, level=1.0, limit=self.limit)
        noise, runs = self.basis.noise, self.guard.n_runs
        assert noise is not None
        sampling_error = 0.0 if moves is None else moves.spread(harm) / math.sqrt(n)
        is_part = self.basis.threshold.part is not None
        band = noise.band(n, sampling_error if is_part and runs == 1 else 0.0)
        error = error_of_means(band, runs, runs)
        # Beside several runs, which measure the noise of a slice, the guard leaves the file aside.
        elsewhere = 0 if is_part and runs > 1 else noise.n_runs - 1
        return power_beyond_noise(
            harm,
            error,
            elsewhere + 2 * (runs - 1),
            level=self.guard.level,
            limit=self.limit,
            step=noise.step * noise.n_queries / n / runs,
            # The guard takes the larger of two estimates, and knows that of the queries well.
            least_estimate=0.0 if noise.common else error,
            sampling_error=sampling_error,
        )

    def needed(self, harm: float, power: float, factor: float = 1.0) -> int | None:
        """Return the number of queries that catch a drop with a power; None: no number does."""
        if harm <= self.limit:
            return None
        high = 1
        while self.power(harm, high, factor) < power:
            high *= 2
            if high > MAX_QUERIES:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.power(harm, middle, factor) < power:
                low = middle
            else:
                high = middle
        return high

    def detectable(self, n: int, power: float, factor: float = 1.0) -> float | None:
        """Return the smallest drop that ``n`` queries catch with a power; None: they catch none."""
        low, high = self.limit, POINTS
        if self.power(high, n, factor) < power:
            return None
        while high - low > 1e-6 * POINTS:
            middle = (low + high) / 2
            if self.power(middle, n, factor) < power:
                low = middle
            else:
                high = middle
        return high


def _planned(
    basis: _Basis, guard: _Guard, points: float, power: float, n_stated: int | None
) -> MetricPlan:
    threshold = basis.threshold
    part = threshold.part
    where = None if part is None else GuardSlice(dimension=part.dimension, value=part.value)
    limit = threshold.limit_points(basis.before)
    known: dict[str, Any] = {
        "metric": threshold.metric,
        "slice": where,
        "direction": threshold.direction,
        "limit_points": limit or 0.0,
        "assumptions": basis.assumptions,
        "share_of_set": basis.share_of_set,
    }
    reason = basis.reason
    decided_by = _decided_by(basis, guard)
    if reason is None and limit is None:
        reason = "its threshold is relative to a baseline, which the pilot does not have"
    if reason is None and decided_by is None:
        reason = (
            "noise decides under this rule, and none was measured"
            if guard.rule == "threshold_and_beyond_noise"
            else "how queries move decides under this rule, and only noise was measured"
        )
    if reason is None and limit is not None and points <= limit:
        reason = f"its threshold allows a change of {limit:g} points"
    if reason is None and decided_by == "threshold" and basis.moves is None:
        reason = (
            "the system is deterministic, so that any drop beyond the threshold is caught on the "
            "queries that it was measured on; how queries move is not known"
        )
    if reason is not None or decided_by is None:
        return MetricPlan(**known, reason=reason)
    row = _Row(basis, guard, limit or 0.0, decided_by)
    low, high = basis.spread
    is_uncertain = low < 1 < high
    needed = row.needed(points, power)
    known |= {"decided_by": decided_by, "n_queries": needed}
    if is_uncertain:
        # Where moves are few, a smaller spread can mean that more queries are needed.
        ends = [needed, *(row.needed(points, power, f) for f in (low, high))]
        known["n_queries_low"] = min((n for n in ends if n is not None), default=None)
        known["n_queries_high"] = None if None in ends else max(n for n in ends if n is not None)
    if needed is not None and basis.share_of_set:
        known["n_asked"] = math.ceil(needed / basis.share_of_set - 1e-9)
    if n_stated is not None:
        shown = [row.detectable(n_stated, power, f) for f in (1.0, low, high)]
        known |= {
            "n_stated": n_stated,
            "achieved": row.power(points, n_stated),
            "detectable_points": shown[0],
            "detectable_low_points": shown[1] if is_uncertain else None,
            "detectable_high_points": shown[2] if is_uncertain else None,
        }
    return MetricPlan(
        **known,
        curve=tuple(_curve(row, points, needed, n_stated)),
        notes=tuple(_notes(row, points, needed)),
    )


def _decided_by(basis: _Basis, guard: _Guard) -> DecidedBy | None:
    """Return what decides under the guard's rule; None where that is not known."""
    if guard.rule == "threshold":
        return "threshold"
    if guard.rule == "threshold_and_significant":
        return None if basis.moves is None else "significance"
    if guard.is_deterministic:
        return "threshold"
    if basis.noise is not None:
        return "noise"
    if guard.rule == "threshold_and_beyond_noise" or basis.moves is None:
        return None
    return "significance"


def _curve(
    row: _Row, points: float, needed: int | None, n_stated: int | None
) -> Iterator[QueryPoint]:
    low, high = row.basis.spread
    is_uncertain = low < 1 < high
    most = max(20, math.ceil(1.5 * (needed or 0)), math.ceil(1.2 * (n_stated or 0)))
    if needed is None and n_stated is None:
        most = MAX_QUERIES
    for step in range(1, _CURVE_POINTS + 1):
        n = max(1, round(most * step / _CURVE_POINTS))
        yield QueryPoint(
            n_queries=n,
            power=row.power(points, n),
            power_low=row.power(points, n, high) if is_uncertain else None,
            power_high=row.power(points, n, low) if is_uncertain else None,
        )


def _notes(row: _Row, points: float, needed: int | None) -> Iterator[str]:
    basis = row.basis
    if needed is None:
        yield f"More than {MAX_QUERIES:,} queries would be needed."
    if row.decided_by == "threshold":
        yield "The system is taken as deterministic: any change beyond the threshold is a breach."
    if basis.moves is None:
        yield "The drop is one on these very queries; how queries move is not known."
    elif basis.is_pilot:
        yield "The drop is taken to move further queries, as far as the pilot's moved."
    elif points > basis.moves.share * basis.moves.root_mean_square:
        yield "More queries than stated must move for such a drop, and all of them down."
    if row.decided_by == "noise" and basis.noise is not None and basis.noise.common:
        yield (
            "Runs are good or bad as a whole, which more queries do not average out; more runs "
            "on either side do."
        )
    if row.decided_by == "significance" and row.guard.n_runs > 1:
        yield "Several runs on either side measure their own noise; the plan takes one of each."


def plan_sentences(plan: SearchPlan) -> list[str]:
    """Return a plan in sentences, one or two for each threshold."""
    return [sentence for row in plan.metrics for sentence in _sentences(plan, row)]


_BY: Final = {
    "threshold": "by the threshold alone",
    "noise": "beyond run-to-run noise",
    "significance": "by the sign-flip test",
}


def _sentences(plan: SearchPlan, row: MetricPlan) -> Iterator[str]:
    what = "a rise" if row.direction == "up is bad" else "a drop"
    drop = f"{what} of {plan.points:g} points"
    share = f"{100 * plan.power:.6g} %"
    if row.reason is not None or row.decided_by is None:
        yield f"{row.name}: no plan: {row.reason}."
        return
    how = _BY[row.decided_by]
    if row.n_queries is None:
        yield f"{row.name}: no number of queries catches {drop} in {share} of guards ({how})."
    else:
        text = f"{counted(row.n_queries, 'query')} catch{'es' if row.n_queries == 1 else ''} {drop}"
        text = f"{row.name}: {text} in {share} of guards ({how})"
        if row.n_queries_low is not None:
            most = (
                f"{row.n_queries_high:,}"
                if row.n_queries_high is not None
                else f"over {MAX_QUERIES:,}"
            )
            text += f", between {row.n_queries_low:,} and {most} as the pilot is uncertain"
        if row.n_asked is not None and row.n_asked != row.n_queries:
            text += f"; that takes {row.n_asked:,} queries of a set such as this one"
        yield f"{text}."
    if row.n_stated is None:
        return
    stated = counted(row.n_stated, "query")
    catch = "catches" if row.n_stated == 1 else "catch"
    if row.detectable_points is None:
        yield f"{row.name}: {stated} {catch} nothing."
        return
    ends = ""
    if row.detectable_low_points is not None and row.detectable_high_points is not None:
        ends = f" [{row.detectable_low_points:.1f}, {row.detectable_high_points:.1f}]"
    achieved = _achieved(row.achieved or 0.0)
    yield (
        f"{row.name}: {stated} {catch} {what} of {row.detectable_points:.1f}{ends} points in "
        f"{share} of guards, and {drop} in {achieved}."
    )


def _achieved(share: float) -> str:
    """Return a share in per cent, 100 % only where all of it is meant, and 0 % where none is."""
    if 0.995 <= share < 1:
        return "over 99 %"
    return "under 1 %" if 0 < share < 0.005 else f"{share:.0%}".replace("%", " %")
