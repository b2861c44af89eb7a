"""How many tasks and repeats a comparison needs: from a pilot study or stated assumptions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.model.plan import Assumption, PlanNeed, PlanPoint, StudyPlan
from retrieval_eval.study.arms import arm, configs_stated
from retrieval_eval.study.compare import PRIMARY, Comparison, chosen_pair
from retrieval_eval.study.frames import notebook_html
from retrieval_eval.study.gate import screen
from retrieval_eval.study.pairs import Pair, clusters_of, match
from retrieval_eval.study.settings import Settings, as_entry, metrics_named
from retrieval_eval.study.trials import SCALES_DIFFER, Trials, are_poolable, some_trials
from retrieval_eval.values import DEFAULT_SEED, REASONS, counted

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_DIFFERENCE: Final = 0.05
DEFAULT_RATIO: Final = 1.2
"""What is looked for where nothing is stated: five points of a share, a fifth more cost or time."""

MAX_TASKS: Final = 100_000
"""A plan that needs more tasks has no number."""

REPEATS: Final = (1, 2, 3, 5)
"""Numbers of repeats that are compared where the variance within tasks is known."""

MIN_PILOT: Final = 3
_CURVE_POINTS: Final = 24


@dataclass(frozen=True)
class Plan:
    """How many tasks a comparison needs, and what this rests on; see :func:`plan`.

    ``record`` holds every number. ``n_tasks`` are the matched tasks needed, None where no number
    of tasks is enough.
    """

    record: StudyPlan = field(repr=False)

    @property
    def n_tasks(self) -> int | None:
        """Matched tasks needed with the planned number of repeats."""
        return self.record.n_tasks

    @property
    def curve(self) -> pd.DataFrame:
        """One row a number of repeats and of tasks: the power, at the ends of the spread too."""
        return _frame(self.record.curve, PlanPoint)

    @property
    def needs(self) -> pd.DataFrame:
        """One row a number of repeats: tasks and trials that it needs."""
        return _frame(self.record.needs, PlanNeed)

    @property
    def assumptions(self) -> pd.DataFrame:
        """One row a number that the plan rests on, with its source."""
        return _frame(self.record.assumptions, Assumption)

    def sentences(self) -> list[str]:
        """Return what the plan says, the answer first."""
        return list(_sentences(self.record))

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return as_entry(self.record)

    def __repr__(self) -> str:
        return f"<Plan: {self.sentences()[0]}>"

    def _repr_html_(self) -> str:
        return notebook_html(self.sentences(), self.needs)


def plan(
    pilot: Trials | Comparison | None = None,
    baseline: str = "",
    comparison: str = "",
    *,
    metric: str | Metric = PRIMARY,
    difference: float | None = None,
    ratio: float | None = None,
    sd: float | None = None,
    between: float | None = None,
    within: float | None = None,
    icc: float | None = None,
    cluster_size: float | None = None,
    share_zero: float | None = None,
    tasks: int | None = None,
    repeats: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    mcp_configs: Sequence[str] | None = None,
    source: str = "pilot",
) -> Plan:
    """Return how many matched tasks show a difference with a power, or what some tasks show.

    The power is that of a clear verdict: test and interval together
    (:func:`~retrieval_eval.stats.power.power_by_test_and_interval`), by the noncentral t
    distribution. Tasks of one cluster count by their design effect, 1 + (m - 1) ICC; with two to
    five clusters by Student's t of the clusters' means. It is exact for normal differences within
    three points of simulated studies; where many tasks do not change, real power is up to ten
    points higher. What is read from a pilot is uncertain: the numbers are also given at the ends of
    the 95 % interval of its spread (chi-square).

    Parameters
    ----------
    pilot
        Trials of a former study, or its :class:`~retrieval_eval.study.compare.Comparison`: the
        spread of paired differences between tasks and within tasks, the intra-cluster correlation,
        and the share of tasks without a difference are read from the pairs that its gate let
        through.
    baseline, comparison
        The configurations of the pilot, as for :func:`~retrieval_eval.study.compare.compare`.
    metric
        The metric of the verdict.
    difference
        The mean difference to see, in the unit of the metric; 0.05 by default.
    ratio
        The ratio to see, of metrics without a largest value such as cost and time; 1.2 by default.
    sd
        Standard deviation of the paired differences of tasks (of logarithms of their ratios).
    between, within
        Instead of ``sd``: standard deviation of the true differences of tasks, and of single
        trials of one arm around the mean of their task.
    icc, cluster_size
        Correlation of the differences of two tasks of one cluster, and mean tasks of a cluster.
    share_zero
        Share of tasks without any difference.
    tasks
        Stated number of matched tasks: what they can show is given too.
    repeats
        Trials of a task in each arm; by default those of the pilot, else 1.
    power, alpha
        Wanted power and two-sided level.
    mcp_configs
        The configurations of the pilot that are meant to use MCP.
    source
        What the pilot is called in the sources of the assumptions.

    Returns
    -------
    Plan
        Stated assumptions replace those of the pilot, one by one.

    Raises
    ------
    BadInputError
        When neither a pilot nor a standard deviation is given, a number is out of its range, or the
        pilot has fewer than three pairs.
    NothingToEvaluateError
        When the pilot has no trial.

    Examples
    --------
    >>> found = plan(sd=0.2, difference=0.1)
    >>> found.n_tasks
    36
    >>> round(plan(sd=0.2, tasks=60).record.detectable, 3)
    0.075
    >>> print(found.sentences()[0])
    To see a difference of 0.10 in file recall with 80 % power, 36 matched tasks are needed ...
    """
    (chosen,) = metrics_named([metric])
    is_ratio = (
        chosen.kind == "positive" if difference is None and ratio is None else ratio is not None
    )
    _check(chosen, difference, ratio, power, alpha, tasks, repeats, icc, share_zero)
    found = (
        None
        if pilot is None
        else _pilot(pilot, baseline, comparison, chosen, mcp_configs, source, is_ratio=is_ratio)
    )
    numbers = _Stated(sd, between, within, icc, cluster_size, share_zero, repeats)
    spread = _spread(found, numbers, is_ratio=is_ratio)
    stated = ratio if is_ratio else difference
    target = stated if stated is not None else DEFAULT_RATIO if is_ratio else DEFAULT_DIFFERENCE
    return Plan(
        _planned(
            chosen,
            spread,
            target,
            "stated" if stated is not None else "default",
            is_ratio=is_ratio,
            tasks=tasks,
            power=power,
            alpha=alpha,
        )
    )


def _check(
    metric: Metric,
    difference: float | None,
    ratio: float | None,
    power: float,
    alpha: float,
    tasks: int | None,
    repeats: int | None,
    icc: float | None,
    share_zero: float | None,
) -> None:
    """Refuse numbers that no study has."""
    if difference is not None and ratio is not None:
        raise BadInputError("state a difference or a ratio, not both")
    if difference is None and ratio is None and metric.kind not in ("bounded", "positive"):
        raise BadInputError(
            f"state the difference to see: {metric.label} has no default, which is for metrics "
            "from 0 to 1, cost, time and tokens"
        )
    if ratio is not None and metric.kind == "bounded":
        raise BadInputError(f"{metric.label} lies between 0 and 1: state a difference of it")
    if ratio is not None and not (0 < ratio < math.inf and ratio != 1):
        raise BadInputError(f"a ratio is above 0 and not 1, not {ratio:g}")
    if difference is not None and not (difference and math.isfinite(difference)):
        raise BadInputError(f"a difference to see is not {difference:g}")
    if difference is not None and metric.kind == "bounded" and abs(difference) >= 1:
        raise BadInputError(
            f"{metric.label} lies between 0 and 1, so a difference of {difference:g} cannot be"
        )
    for name, value, low, high in (
        ("the power", power, 0.0, 1.0),
        ("alpha", alpha, 0.0, 0.5),
    ):
        if not low < value < high:
            raise BadInputError(f"{name} lies between {low:g} and {high:g}, not at {value:g}")
    if power <= alpha:
        raise BadInputError("the power lies above alpha, which a study without data has too")
    for name, share in (("the ICC", icc), ("the share of tasks without a difference", share_zero)):
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"{name} lies from 0 to below 1, not at {share:g}")
    if repeats is not None and repeats < 1:
        raise BadInputError("a task has at least one trial in each arm")
    if tasks is not None and tasks < 1:
        raise BadInputError("a study has at least one task")


# The pilot study


@dataclass(frozen=True, slots=True)
class _Pilot:
    """What the pairs of a former study show about the next."""

    source: str
    n: int
    mean_baseline: float
    variance: float
    freedom: float
    within: float | None
    inverse_repeats: float
    repeats: int
    icc: float | None
    cluster_size: float
    by: str | None
    share_zero: float


def _pilot(
    pilot: Trials | Comparison,
    baseline: str,
    comparison: str,
    metric: Metric,
    mcp_configs: Sequence[str] | None,
    source: str,
    *,
    is_ratio: bool,
) -> _Pilot:
    pairs, settings = _pairs(pilot, baseline, comparison, metric, mcp_configs)
    column = settings.column(metric)
    trials = (t for pair in pairs for t in (*pair.baseline, *pair.comparison))
    if metric.name == "reward" and not are_poolable(trials):
        raise BadInputError(f"the pilot has no spread of reward: {REASONS[SCALES_DIFFER]}")
    sides = [(pair, *_repeats_of(pair, column, is_ratio=is_ratio)) for pair in pairs]
    known = [(pair, a, b) for pair, a, b in sides if a and b]
    if len(known) < MIN_PILOT:
        what = f"positive {metric.label}" if is_ratio else metric.label
        raise BadInputError(
            f"the pilot has {counted(len(known), 'matched task')} with {what} in both "
            f"configurations; a spread takes {MIN_PILOT}"
        )
    differences = [statistics.fmean(b) - statistics.fmean(a) for _, a, b in known]
    n, variance = len(differences), statistics.variance(differences)
    clusters = clusters_of([pair for pair, _, _ in known], settings.stated.cluster)
    icc, size = None, 1.0
    if clusters.labels is not None:
        icc, size = _icc(differences, [str(label) for label in clusters.labels])
    within = _within([a for _, a, _ in known]), _within([b for _, _, b in known])
    is_same = [round(d, 12) == 0 for d in differences]
    return _Pilot(
        source=source,
        n=n,
        mean_baseline=statistics.fmean(statistics.fmean(a) for _, a, _ in known),
        variance=variance,
        # Tasks of one cluster repeat each other, also about the spread.
        freedom=max(1.0, n / (1 + (size - 1) * (icc or 0.0)) - 1),
        within=None if None in within else sum(v for v in within if v is not None),
        inverse_repeats=statistics.fmean(
            1 / length for _, a, b in known for length in (len(a), len(b))
        ),
        repeats=round(statistics.median(min(len(a), len(b)) for _, a, b in known)),
        icc=icc,
        cluster_size=size,
        by=clusters.by if clusters.labels is not None else None,
        share_zero=min(sum(is_same) / n, 1 - 1 / n),
    )


def _pairs(
    pilot: Trials | Comparison,
    baseline: str,
    comparison: str,
    metric: Metric,
    mcp_configs: Sequence[str] | None,
) -> tuple[tuple[Pair, ...], Settings]:
    """Return the matched pairs of a pilot, as a comparison of it has them."""
    if isinstance(pilot, Comparison):
        trials, settings = list(pilot.trials), pilot.settings
        sides = (baseline or pilot.baseline, comparison or pilot.comparison)
    else:
        settings = Settings(DEFAULT_SEED)
        trials = some_trials(pilot, needed=[settings.column(metric)])
        sides = baseline, comparison
    configs = sorted({trial.config_name for trial in trials})
    stated = settings.stated.with_mcp(configs_stated(mcp_configs, configs), configs)
    settings = replace(settings, stated=stated)
    chosen = chosen_pair(trials, *sides, settings)
    if chosen is None:
        raise BadInputError(
            f"the pilot has one configuration, {', '.join(configs)}; a comparison takes two"
            if len(configs) < 2
            else "the pilot is to have two different configurations; there are: "
            + ", ".join(configs)
        )
    valid = screen(arm(trials, chosen[0]), arm(trials, chosen[1]), settings.stated)
    return match(valid), settings


def _repeats_of(pair: Pair, column: str, *, is_ratio: bool) -> tuple[list[float], list[float]]:
    """Return the values of the repeats of both sides; their logarithms for a ratio."""
    sides = (
        [trial.numbers[column] for trial in side if column in trial.numbers]
        for side in (pair.baseline, pair.comparison)
    )
    first, second = sides
    if not is_ratio:
        return first, second
    if min((*first, *second), default=1.0) <= 0:
        # As a comparison does: a value of 0 has no logarithm, and neither has its task.
        return [], []
    return [math.log(v) for v in first], [math.log(v) for v in second]


def _within(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the variance of repeats around the mean of their task, where any task has several."""
    repeated = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    if not freedom:
        return None
    return sum((len(g) - 1) * statistics.variance(g) for g in repeated) / freedom


def _icc(values: Sequence[float], labels: Sequence[str]) -> tuple[float | None, float]:
    """Return the intra-cluster correlation of values by analysis of variance, and cluster size.

    The size is the one whose design effect clusters of these sizes have: the mean tasks of the
    cluster of a task (Donner & Klar 2000). A correlation below 0 is taken as 0.
    """
    groups: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    n, g = len(values), len(groups)
    sizes = [len(group) for group in groups.values()]
    effective = sum(size * size for size in sizes) / n
    if g < 2 or n == g:
        return None, effective
    centre = statistics.fmean(values)
    means = [statistics.fmean(group) for group in groups.values()]
    among = sum(s * (m - centre) ** 2 for s, m in zip(sizes, means, strict=True)) / (g - 1)
    inside = sum(
        (value - mean) ** 2
        for group, mean in zip(groups.values(), means, strict=True)
        for value in group
    ) / (n - g)
    usual = (n - sum(size * size for size in sizes) / n) / (g - 1)
    total = among + (usual - 1) * inside
    return (max(0.0, (among - inside) / total) if total > 0 else 0.0), effective


# Assumptions


@dataclass(frozen=True, slots=True)
class _Spread:
    """The spread of a planned study, and where each part of it is from."""

    between: float
    within: float | None
    low: float
    high: float
    icc: float
    cluster_size: float
    share_zero: float
    repeats: int
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]

    def variance(self, repeats: int) -> float:
        """Return the variance of the difference of a task with some repeats in each arm."""
        return self.between + (self.within or 0.0) / repeats

    def all_repeats(self) -> list[int]:
        """Return the numbers of repeats that a plan can compare."""
        return [self.repeats] if not self.within else sorted({*REPEATS, self.repeats})


@dataclass(frozen=True, slots=True)
class _Stated:
    """What was stated about the spread; None is read from the pilot."""

    sd: float | None
    between: float | None
    within: float | None
    icc: float | None
    cluster_size: float | None
    share_zero: float | None
    repeats: int | None

    def refuse(self, pilot: _Pilot | None) -> None:
        """Raise ``BadInputError`` where the numbers are no spread, or not enough for one."""
        for name in ("sd", "between", "within"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise BadInputError(
                    f"the standard deviation {name} is finite and not below 0, not {value:g}"
                )
        if self.sd is not None and (self.between is not None or self.within is not None):
            raise BadInputError("state the standard deviation sd, or between and within, not both")
        if pilot is None and self.sd is None and self.between is None:
            raise BadInputError(
                "state what the plan rests on: a pilot study, the standard deviation of paired "
                "differences (sd), or those between and within tasks"
            )
        has_clusters = self.cluster_size or (pilot is not None and pilot.cluster_size > 1)
        if self.icc and not has_clusters:
            raise BadInputError("with an ICC state the mean number of tasks of a cluster too")
        if self.cluster_size is not None and not 1 <= self.cluster_size < math.inf:
            raise BadInputError("a cluster has at least one task")


def _spread(pilot: _Pilot | None, stated: _Stated, *, is_ratio: bool) -> _Spread:
    """Return the spread of a planned study, with the assumptions it is made of."""
    stated.refuse(pilot)
    made: list[Assumption] = []
    notes: list[str] = []
    what = "the logarithms of task ratios" if is_ratio else "the paired differences of tasks"
    if stated.sd is not None or stated.between is not None:
        of_tasks, of_trials = _of_stated_spread(stated, what, made)
        low = high = 1.0
    else:
        assert pilot is not None
        of_tasks, of_trials, low, high = _of_pilot(pilot, stated.within, what, made, notes)
    if of_tasks + (of_trials or 0.0) <= 0:
        raise BadInputError(
            "the paired differences do not vary, so that any number of tasks shows any difference; "
            "state a standard deviation"
        )
    by = f"{pilot.source}: by {pilot.by}" if pilot is not None else ""
    of = f"{pilot.source}: {counted(pilot.n, 'matched task')}" if pilot is not None else ""
    is_clustered = pilot is not None and pilot.by is not None
    icc = _either(
        made,
        ("icc", "correlation of two tasks of one cluster", ""),
        stated.icc,
        (pilot.icc, by) if pilot is not None and is_clustered else None,
    )
    size = _either(
        made,
        ("cluster_size", "tasks of a cluster, by the design effect of its sizes", "tasks"),
        stated.cluster_size,
        (pilot.cluster_size, by) if pilot is not None and is_clustered else None,
    )
    zero = _either(
        made,
        ("share_zero", "share of tasks without a difference", ""),
        stated.share_zero,
        (pilot.share_zero or None, of) if pilot is not None else None,
    )
    return _Spread(
        between=of_tasks,
        within=of_trials,
        low=low,
        high=high,
        icc=icc or 0.0,
        cluster_size=size or 1.0,
        share_zero=zero or 0.0,
        repeats=stated.repeats or (pilot.repeats if pilot is not None else 1),
        assumptions=tuple(made),
        notes=tuple(notes),
    )


def _either(
    made: list[Assumption],
    words: tuple[str, str, str],
    stated: float | None,
    of_pilot: tuple[float | None, str] | None,
) -> float | None:
    """Return a stated number, else that of the pilot, and add it to the assumptions."""
    value, source = (stated, "stated") if stated is not None else of_pilot or (None, "")
    if value is not None:
        name, meaning, unit = words
        made.append(Assumption(name=name, meaning=meaning, value=value, unit=unit, source=source))
    return value


_WITHIN: Final = "standard deviation of single trials around the mean of their task"


def _of_stated_spread(
    stated: _Stated, what: str, made: list[Assumption]
) -> tuple[float, float | None]:
    """Return the stated variances between and within tasks."""
    if stated.sd is not None:
        _either(made, ("sd", f"standard deviation of {what}", ""), stated.sd, None)
        return stated.sd**2, None
    assert stated.between is not None
    meaning = f"standard deviation of {what}, without repeats' noise"
    _either(made, ("between", meaning, ""), stated.between, None)
    _either(made, ("within", _WITHIN, ""), stated.within, None)
    return stated.between**2, None if stated.within is None else 2 * stated.within**2


def _of_pilot(
    pilot: _Pilot, within: float | None, what: str, made: list[Assumption], notes: list[str]
) -> tuple[float, float | None, float, float]:
    """Return the variances between and within tasks of a pilot, and the ends of its spread."""
    from scipy.special import chdtri

    low = math.sqrt(pilot.freedom / float(chdtri(pilot.freedom, 0.025)))
    high = math.sqrt(pilot.freedom / float(chdtri(pilot.freedom, 0.975)))
    size = math.sqrt(pilot.variance)
    made.append(
        Assumption(
            name="sd",
            meaning=f"standard deviation of {what}",
            value=size,
            low=size * low,
            high=size * high,
            source=f"{pilot.source}: {counted(pilot.n, 'matched task')}, "
            f"{counted(pilot.repeats, 'trial')} of each in each arm",
        )
    )
    of_trials = pilot.within
    source = f"{pilot.source}: repeats"
    if within is not None:
        of_trials, source = 2 * within**2, "stated"
    if of_trials is None:
        notes.append(
            "The pilot has one trial of each task in each arm, so how much repeats would help is "
            "not known: state the standard deviation of trials within tasks."
        )
        return pilot.variance, None, low, high
    of_tasks = max(0.0, pilot.variance - of_trials * pilot.inverse_repeats)
    made += [
        Assumption(
            name="between",
            meaning=f"standard deviation of {what}, without repeats' noise",
            value=math.sqrt(of_tasks),
            source=f"{pilot.source}: what repeats leave",
        ),
        Assumption(
            name="within",
            meaning=_WITHIN,
            value=math.sqrt(of_trials / 2),
            source=source,
        ),
    ]
    return of_tasks, of_trials, low, high


# Power


@dataclass(frozen=True, slots=True)
class _Study:
    """A planned study: its power with some number of independent units."""

    spread: _Spread
    shift: float
    alpha: float

    def n_tasks(self, units: int) -> int:
        """Return the tasks of so many units."""
        return math.ceil(units * self.spread.cluster_size - 1e-9)

    def units(self, tasks: int) -> int:
        """Return the independent units of so many tasks."""
        return math.floor(tasks / self.spread.cluster_size + 1e-9)

    def power(
        self, units: int, repeats: int, factor: float = 1.0, shift: float = math.nan
    ) -> float:
        """Return the power with a number of units, the spread multiplied by ``factor``."""
        from retrieval_eval.stats.clusters import MIN_CLUSTERS
        from retrieval_eval.stats.power import power_by_test_and_interval, power_of_t

        shift = self.shift if math.isnan(shift) else shift
        own = self.spread
        size = own.cluster_size
        effect = 1 + (size - 1) * own.icc
        deviation = factor * math.sqrt(own.variance(repeats) * effect / size)
        if size > 1 and units < MIN_CLUSTERS:
            return power_of_t(shift, deviation, units, alpha=self.alpha)
        zero = own.share_zero**size
        return power_by_test_and_interval(
            shift, deviation, units, alpha=self.alpha, share_zero=zero
        )

    def needed(self, power: float, repeats: int, factor: float = 1.0) -> int | None:
        """Return the smallest number of units from which on the power is reached."""

        def reaches(units: int) -> bool:
            return self.power(units, repeats, factor) >= power

        top = 8
        while not reaches(top):
            top *= 2
            if self.n_tasks(top) > 2 * MAX_TASKS:
                return None
        low, high = top // 2 if top > 8 else 1, top
        if top > 64:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if reaches(middle) else (middle, high)
        else:
            # Few units reach few levels, so that the power may fall where one is added.
            while high > 1 and reaches(high - 1):
                high -= 1
        return high if self.n_tasks(high) <= MAX_TASKS else None

    def detectable(
        self, units: int, power: float, repeats: int, factor: float = 1.0
    ) -> float | None:
        """Return the smallest shift that so many units show with a power."""
        from scipy.optimize import brentq

        def missing(shift: float) -> float:
            return self.power(units, repeats, factor, shift) - power

        upper = math.sqrt(self.spread.variance(repeats)) * factor
        for _ in range(40):
            if missing(upper) >= 0:
                return float(brentq(missing, 0.0, upper, xtol=1e-9))
            upper *= 1.5
        return None


def _planned(
    metric: Metric,
    spread: _Spread,
    target: float,
    source: str,
    *,
    is_ratio: bool,
    tasks: int | None,
    power: float,
    alpha: float,
) -> StudyPlan:
    study = _Study(spread, abs(math.log(target) if is_ratio else target), alpha)
    all_repeats = spread.all_repeats()
    units = {r: study.needed(power, r) for r in all_repeats}
    needs = tuple(_need(study, power, r, units[r]) for r in all_repeats)
    own = next(need for need in needs if need.repeats == spread.repeats)
    aim = Assumption(
        name="ratio" if is_ratio else "difference",
        meaning="the ratio to see" if is_ratio else "the mean difference to see",
        value=target,
        unit="" if is_ratio else metric.unit,
        source=source,
    )
    made: dict[str, Any] = {}
    if tasks is not None:
        made = _of_tasks(study, tasks, power, is_ratio=is_ratio)
    curve = tuple(
        point for r in all_repeats for point in _curve(study, r, _most(study, units, tasks))
    )
    return StudyPlan(
        metric=metric.name,
        scale="ratio" if is_ratio else "difference",
        target=target,
        alpha=alpha,
        power=power,
        repeats=spread.repeats,
        n_tasks=own.n_tasks,
        n_trials=own.n_trials,
        assumptions=(aim, *spread.assumptions),
        needs=needs,
        curve=curve,
        notes=(*spread.notes, *_notes(spread, own, study, is_ratio=is_ratio)),
        **made,
    )


def _need(study: _Study, power: float, repeats: int, units: int | None) -> PlanNeed:
    spread = study.spread
    low, high = None, None
    if spread.low < 1 < spread.high:
        low, high = (study.needed(power, repeats, f) for f in (spread.low, spread.high))
    n, n_low, n_high = (None if u is None else study.n_tasks(u) for u in (units, low, high))
    return PlanNeed(
        repeats=repeats,
        n_tasks=n,
        n_tasks_low=n_low,
        n_tasks_high=n_high,
        n_trials=None if n is None else 2 * n * repeats,
    )


def _of_tasks(study: _Study, tasks: int, power: float, *, is_ratio: bool) -> dict[str, Any]:
    spread, units = study.spread, study.units(tasks)

    def shown(factor: float) -> float | None:
        found = study.detectable(units, power, spread.repeats, factor)
        return None if found is None else math.exp(found) if is_ratio else found

    is_uncertain = spread.low < 1 < spread.high
    return {
        "tasks": tasks,
        "detectable": shown(1.0),
        "detectable_low": shown(spread.low) if is_uncertain else None,
        "detectable_high": shown(spread.high) if is_uncertain else None,
        "achieved": study.power(units, spread.repeats),
    }


def _most(study: _Study, units: dict[int, int | None], tasks: int | None) -> int:
    """Return the number of units at which the curves end."""
    known = [u for u in units.values() if u is not None]
    most = max([12, *(math.ceil(1.5 * u) for u in known)])
    return max(most, math.ceil(1.2 * study.units(tasks))) if tasks is not None else most


def _curve(study: _Study, repeats: int, most: int) -> Iterator[PlanPoint]:
    from retrieval_eval.stats.clusters import MIN_CLUSTERS

    spread = study.spread
    first = 2 if spread.cluster_size > 1 else MIN_CLUSTERS
    steps = {
        round(first + (most - first) * (i / (_CURVE_POINTS - 1))) for i in range(_CURVE_POINTS)
    }
    is_uncertain = spread.low < 1 < spread.high
    for units in sorted(steps):
        n = study.n_tasks(units)
        yield PlanPoint(
            repeats=repeats,
            n_tasks=n,
            n_trials=2 * n * repeats,
            power=study.power(units, repeats),
            power_low=study.power(units, repeats, spread.high) if is_uncertain else None,
            power_high=study.power(units, repeats, spread.low) if is_uncertain else None,
        )


def _notes(spread: _Spread, own: PlanNeed, study: _Study, *, is_ratio: bool) -> Iterator[str]:
    from retrieval_eval.stats.clusters import MIN_CLUSTERS

    if own.n_tasks is None:
        yield f"More than {MAX_TASKS:,} tasks would be needed."
    if spread.cluster_size > 1:
        yield (
            "Tasks are added in new clusters of the same size. More tasks of the same clusters "
            "help less, and the correlation between tasks of a cluster is uncertain itself."
        )
        if own.n_tasks is not None and study.units(own.n_tasks) < MIN_CLUSTERS:
            yield (
                f"Below {MIN_CLUSTERS} clusters the verdict is about the clusters' means, and "
                "their number counts more than that of tasks."
            )
    if spread.share_zero > 0:
        yield (
            "Where many tasks do not change, the real power is up to ten points higher than "
            "planned."
        )
    if spread.low < 1 < spread.high:
        yield (
            "A pilot shows its own spread only roughly: plan for the upper number where the study "
            "cannot be enlarged."
        )
    if is_ratio:
        yield "The ratio is that of geometric means over tasks."


# Words


def _sentences(record: StudyPlan) -> Iterator[str]:
    label = metrics_named([record.metric])[0].label if _is_known(record.metric) else record.metric
    what = (
        f"a ratio of {record.target:.2f}"
        if record.scale == "ratio"
        else f"a difference of {_size(record.target)}"
    )
    aim = f"To see {what} in {label} with {record.power:.0%} power".replace("%", " %")
    each = f"{counted(record.repeats, 'trial')} of each in both configurations"
    if record.n_tasks is None:
        yield f"{aim}, more than {MAX_TASKS:,} matched tasks would be needed ({each})."
    else:
        own = next(need for need in record.needs if need.repeats == record.repeats)
        text = (
            f"{aim}, {counted(record.n_tasks, 'matched task')} are needed ({each}, "
            f"{counted(record.n_trials or 0, 'trial')} in all)"
        )
        if own.n_tasks_low is not None:
            most = (
                f"{own.n_tasks_high:,}" if own.n_tasks_high is not None else f"over {MAX_TASKS:,}"
            )
            text += f"; between {own.n_tasks_low:,} and {most}, as the pilot's spread is uncertain"
        yield f"{text}."
    if record.tasks is not None:
        yield _of_stated(record, what)
    best = _best(record)
    if best is not None and best.repeats != record.repeats:
        yield (
            f"The fewest trials are {best.n_trials:,}: {counted(best.n_tasks or 0, 'task')} with "
            f"{counted(best.repeats, 'repeat')} each."
        )
    yield from record.notes


def _of_stated(record: StudyPlan, what: str) -> str:
    tasks = counted(record.tasks or 0, "matched task")
    if record.detectable is None:
        return f"{tasks} are too few for a verdict."
    show: Callable[[float], str] = (
        (lambda value: f"{value:.2f}") if record.scale == "ratio" else _size
    )
    ends = ""
    if record.detectable_low is not None and record.detectable_high is not None:
        ends = f" [{show(record.detectable_low)}, {show(record.detectable_high)}]"
    noun = "a ratio" if record.scale == "ratio" else "a difference"
    text = f"{tasks} show {noun} of {show(record.detectable)}{ends} with {record.power:.0%} power"
    text += f", and {what} with {record.achieved or 0.0:.0%}."
    return text.replace("%", " %")


def _best(record: StudyPlan) -> PlanNeed | None:
    known = [need for need in record.needs if need.n_trials is not None]
    return min(known, key=lambda need: (need.n_trials or 0, need.repeats), default=None)


def _size(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.02 else f"{value:.2g}"


def _is_known(name: str) -> bool:
    from retrieval_eval.metrics.catalog import BY_NAME

    return name in BY_NAME


def _frame(rows: Sequence[msgspec.Struct], kind: type[msgspec.Struct]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [msgspec.structs.asdict(row) for row in rows], columns=list(kind.__struct_fields__)
    )
