"""Retrieval and outcomes: each configuration by itself, and associations over all of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.arms import configs_stated, pairs_to_compare
from retrieval_eval.agents.study.design import Pair
from retrieval_eval.agents.study.frames import frame_of, notebook_html
from retrieval_eval.agents.study.gate import by_task, let_through
from retrieval_eval.agents.study.stated import (
    Given,
    Settings,
    as_entry,
    checked,
    metrics_named,
    stated_from,
)
from retrieval_eval.agents.study.trials import (
    SCALES_DIFFER,
    Numbers,
    Trial,
    Trials,
    are_poolable,
    average,
    candidate_set_of,
    observed,
    some_trials,
)
from retrieval_eval.model.impact import (
    Association,
    AssociationFamily,
    CalibrationBin,
    DifferenceAssociation,
    FirstHitCurve,
    RewardTier,
)
from retrieval_eval.stats import MIN_POINTS
from retrieval_eval.values import DEFAULT_SEED, counted, signed

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.stats.proportions import Cell

# --------------------------------------------------------------------------------------------------
# Each configuration by itself: rewards by how much was found, time to the first relevant file.

Tier = Literal["none", "below half", "half or more", "all"]
TIERS: Final[tuple[Tier, ...]] = ("none", "below half", "half or more", "all")
"""How much of the ground truth a trial found."""

Opened = Literal["none", "some", "all"]
CELLS: Final[tuple[Opened, ...]] = ("none", "some", "all")
"""How many of the expected files a trial opened."""

ALL: Final = "all"
LEVELS: Final = (ALL, "small", "medium", "large", "local", "mcp")

TimeUnit = Literal["seconds", "tokens", "calls"]
MIN_TRIALS: Final = 2
"""One trial has no mean and no interval."""

UNITS: Final[dict[TimeUnit, tuple[str, str]]] = {
    "seconds": ("ttfr_seconds", "censored_at_seconds"),
    "tokens": ("ttfr_tokens", "censored_at_tokens"),
    "calls": ("ttfr_calls", "censored_at_calls"),
}
"""Unit to the columns of the time of the hit, and of the end of observation without one."""


# Rewards by how much was retrieved


def tiers(trials: Sequence[Trial], settings: Settings) -> list[RewardTier]:
    """Return the mean reward of every configuration by how much of the ground truth it found.

    As in :func:`calibration`, tasks count as independent of each other.
    """
    rows = []
    for config, points, reason in _points(trials):
        is_binary, ends = _is_binary(points), _range(points)
        for tier in TIERS:
            rewards = [reward for _, recall, reward in points if _tier(recall) == tier]
            found = _outcome(_cell(rewards, is_binary, settings), ends)
            rows.append(RewardTier(config_name=config, tier=tier, **found, reason=reason))
    return rows


def calibration(trials: Sequence[Trial], settings: Settings) -> list[CalibrationBin]:
    """Return the mean reward by how many of the expected files were opened, per configuration.

    Over all its tasks, and by the size of their candidate sets and their type of evidence. The
    intervals take tasks as independent, also those that share a repository or suite: a cell
    seldom holds the six clusters that an interval over clusters needs. So they are too narrow where
    such tasks are alike, as the report states beside them.
    """
    rows = []
    for config, points, reason in _points(trials, "file_recall:opened"):
        is_binary, ends = _is_binary(points), _range(points)
        for dimension, level_of in CALIBRATED.items():
            found = {level_of(own) for own, _, _ in points} | ({ALL} if dimension == ALL else set())
            levels = sorted((name for name in found if name is not None), key=_order)
            for level, opened in product(levels, CELLS):
                rewards = [
                    reward
                    for own, recall, reward in points
                    if level_of(own) == level and _opened(recall) == opened
                ]
                rows.append(
                    CalibrationBin(
                        config_name=config,
                        dimension=dimension,
                        level=level,
                        opened=opened,
                        **_outcome(_cell(rewards, is_binary, settings), ends),
                        reason=reason,
                    )
                )
    return rows


Point = tuple[tuple[Trial, ...], float, float]
"""The trials of a task, its file recall and its reward, repeats averaged."""


def _points(
    trials: Sequence[Trial], column: str = "file_recall"
) -> Iterator[tuple[str, list[Point], str | None]]:
    """Yield every configuration with its tasks that have file recall and a reward.

    A configuration whose rewards are on several scales has none, for the reason given.
    """
    for config, own in _by_config(trials).items():
        if not are_poolable(own):
            yield config, [], SCALES_DIFFER
            continue
        sides = (
            (group, average(group, column), average(group, "reward"))
            for group in by_task(own).values()
        )
        yield config, [(g, r, w) for g, r, w in sides if r is not None and w is not None], None


def _evidence(trials: Sequence[Trial]) -> str | None:
    """Return the type of evidence that the trials of a task share; None where it is not one."""
    types = {trial.evidence_type for trial in trials}
    return types.pop() if len(types) == 1 else None


Dimension = Literal["all", "candidate_set_size", "evidence_type"]
CALIBRATED: Final[dict[Dimension, Callable[[tuple[Trial, ...]], str | None]]] = {
    "all": lambda _: ALL,
    "candidate_set_size": candidate_set_of,
    "evidence_type": _evidence,
}
"""What the tasks of a configuration are split by: not at all, and by the seed's two dimensions."""


def _by_config(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.config_name].append(trial)
    return dict(sorted(groups.items()))


def _tier(recall: float) -> Tier:
    if recall in {0.0, 1.0}:
        return TIERS[0] if recall == 0.0 else TIERS[-1]
    return TIERS[1] if recall < 0.5 else TIERS[2]


def _opened(recall: float) -> Opened:
    return CELLS[1] if 0.0 < recall < 1.0 else CELLS[2 if recall else 0]


def _order(level: str) -> tuple[int, str]:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS), level


def _is_binary(points: Sequence[Point]) -> bool:
    return all(reward in {0.0, 1.0} for *_, reward in points)


def _cell(rewards: Sequence[float], is_binary: bool, settings: Settings) -> Cell:
    from retrieval_eval.stats.proportions import cell

    return cell(
        rewards,
        is_binary=is_binary,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
    )


def _range(points: Sequence[Point]) -> tuple[float, float]:
    """Return the range of the rewards: from 0 to 1 where all of them are."""
    is_share = all(0 <= reward <= 1 for *_, reward in points)
    return (0.0, 1.0) if is_share else (-math.inf, math.inf)


def _outcome(found: Cell, ends: tuple[float, float]) -> dict[str, Any]:
    """Return the fields of a cell, its interval cut at the range of the rewards."""
    low, high = found.interval.low.value, found.interval.high.value
    return {
        "n": found.n,
        "interpretable": found.is_interpretable,
        "mean_reward": found.mean.value,
        "ci_low": None if low is None else max(low, ends[0]),
        "ci_high": None if high is None else min(high, ends[1]),
    }


# Time to the first relevant file


def time_to_first_relevant(trials: Sequence[Trial], settings: Settings) -> list[FirstHitCurve]:
    """Return the share of all trials that found a file by a time, per configuration and unit.

    A trial that never found one has not found it by any time: an agent ends its trial itself. A
    task is represented by its first trial.
    """
    return [
        _curve(config, unit, _times(own, unit), settings)
        for unit in UNITS
        for config, own in _first_trials(trials).items()
    ]


def first_times(trials: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """Yield the time of every task that :func:`time_to_first_relevant` counts, by unit.

    ``time`` is that of the first hit; missing for a task without one.
    """
    for unit in UNITS:
        for config, own in _first_trials(trials).items():
            for time in _times(own, unit):
                yield {"config_name": config, "unit": unit, "time": time}


def _first_trials(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups = _by_config([trial for trial in trials if trial.computable])
    return {config: [t[0] for t in by_task(own).values()] for config, own in groups.items()}


def _times(trials: Sequence[Trial], unit: TimeUnit) -> list[float | None]:
    """Return the times of the trials' hits, None for one without; those not known are left out.

    Where the time of a hit is not known, trials that never hit and have no known end are left out
    too, since what left out the times of some took them from both.
    """
    found = [(trial, observed(trial, *UNITS[unit])) for trial in trials]
    has_gap = any(time is None and not trial.never_hit for trial, time in found)
    return [
        time[0] if time is not None and time[1] else None
        for trial, time in found
        if time is not None or (trial.never_hit and not has_gap)
    ]


def _curve(
    config: str, unit: TimeUnit, times: Sequence[float | None], settings: Settings
) -> FirstHitCurve:
    n = len(times)
    if n < MIN_TRIALS:
        n_hit = sum(time is not None for time in times)
        return FirstHitCurve(
            config_name=config, unit=unit, n=n, n_hit=n_hit, n_never=n - n_hit, curve=()
        )
    from retrieval_eval.stats.proportions import reached

    found = reached(times, confidence=settings.confidence)
    low, high = found.median_interval
    return FirstHitCurve(
        config_name=config,
        unit=unit,
        n=n,
        n_hit=found.n_events,
        n_never=n - found.n_events,
        share_never=found.never.value,
        share_never_low=found.never_interval.low.value,
        share_never_high=found.never_interval.high.value,
        median=found.median.value,
        median_low=low,
        median_high=high,
        curve=found.curve,
    )


# --------------------------------------------------------------------------------------------------
# Associations of retrieval with outcomes: pooled, within configs and suites, and of changes.

_ASSOCIATED: Final = [metric for metric in BY_NAME.values() if metric.is_associated]
RETRIEVAL_METRICS: Final = tuple(m.name for m in _ASSOCIATED if m.path[0] != "outcome")
OUTCOME_METRICS: Final = tuple(m.name for m in _ASSOCIATED if m.path[0] == "outcome")

Family = tuple[tuple[Metric, Metric], ...]
"""The family of tests, fixed in advance: every retrieval metric with every outcome."""

FAMILY: Final[Family] = tuple(
    product(metrics_named(RETRIEVAL_METRICS), metrics_named(OUTCOME_METRICS))
)

MIN_GROUP: Final = 5
"""A group with fewer units does not contradict the pooled sign."""


@dataclass(frozen=True)
class Associations:
    """Rank associations of retrieval metrics with outcomes; none of them shows a cause.

    ``family`` has the number ``m`` of tests with a p-value, those ``declared``, and the
    ``method`` that makes their q-values; ``records`` are the entries of the impact document. See
    :func:`associate`.
    """

    family: AssociationFamily
    records: tuple[Association, ...] = field(repr=False)

    @property
    def frame(self) -> pd.DataFrame:
        """One row an association: metrics, scope, group, n, r with interval, p and q."""
        rows = (structs.asdict(row) | {"label": association_label(row)} for row in self.records)
        return frame_of("associations", rows)

    def sentences(self) -> list[str]:
        """Return what every pooled association is, within the configurations where several are."""
        return [row.interpretation or "" for row in self._pooled]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the entries of ``associations`` in a ``run_impact_analysis.json``."""
        return [as_entry(row) for row in self.records]

    @property
    def _pooled(self) -> list[Association]:
        return [row for row in self.records if row.scope == "pooled"]

    def __repr__(self) -> str:
        n = sum(row.computable for row in self._pooled)
        declared = counted(len(self._pooled), "association")
        return f"<Associations: {n} of {declared} can be given; none of them shows a cause>"

    def _repr_html_(self) -> str:
        return notebook_html(self.sentences())


def association_label(row: Association | DifferenceAssociation) -> str:
    """Return the metrics of both sides, as ``File recall ~ reward``."""
    sides = (row.retrieval_metric, row.outcome_metric)
    first, second = (BY_NAME[m].title if m in BY_NAME else m for m in sides)
    return f"{first} ~ {second.lower()}"


def associate(
    trials: Trials,
    retrieval: Sequence[str | Metric] = RETRIEVAL_METRICS,
    outcomes: Sequence[str | Metric] = OUTCOME_METRICS,
    *,
    seed: int = DEFAULT_SEED,
    pairs: Sequence[tuple[str, str]] | None = None,
    design: Given = None,
    mcp_configs: Sequence[str] | None = None,
    n_resamples: int = 10_000,
    confidence: float | None = None,
) -> Associations:
    """Return the rank associations of retrieval metrics with outcomes over trials (Spearman's r).

    Only the trials count that the validity gate lets through in at least one comparison. A unit
    is a task under one configuration, repeats averaged; the units of one task are one cluster.
    Pooled over everything, and within each configuration and each suite, since pooling can reverse
    a sign; the false discovery rate is controlled over the pooled family.

    Parameters
    ----------
    trials
        ``load_run(…).trials`` or rows of it, or metrics documents of trials.
    retrieval, outcomes
        The metrics of both sides: every one of the first with every one of the second is the
        family. For a column of numbers of your own give a
        :class:`~retrieval_eval.agents.metrics.catalog.Metric` of its name.
    seed
        Seed of every resampling.
    pairs
        The comparisons whose gate selects the trials; by default every pair of configurations.
    design
        What was meant, as for :func:`~retrieval_eval.compare`; by default inferred.
    mcp_configs
        The configurations that must use MCP, the others being meant not to; by default inferred
        from their trials.
    n_resamples, confidence
        Number of resamples, and coverage of every interval, by default 1 − alpha.

    Returns
    -------
    Associations
        Not computable below three units, or where one side is constant.

    Raises
    ------
    BadInputError
        When a metric or configuration is not known, or the frame lacks a column that is read.
    NothingToEvaluateError
        When there is no trial.

    Examples
    --------
    In a notebook the trials are ``load_run("demo").trials``. Here a few documents will do:

    >>> trials = [
    ...     {
    ...         "provenance": {"benchmark": "suite", "task_name": f"t-{i}", "config_name": "new"},
    ...         "coverage": {},
    ...         "ledger": {"calls_seen": 5},
    ...         "file_level_metrics": {"computable": True, "file_recall": i / 16},
    ...         "outcome": {"reward": (i + i % 3) / 16},
    ...     }
    ...     for i in range(8)
    ... ]
    >>> found = associate(trials, ["file_recall"], ["reward"])
    >>> found.frame["n"].tolist(), found.frame["spearman_r"].round(2).tolist()
    ([8, 8, 8], [0.95, 0.95, 0.95])
    >>> found.sentences()
    ['Positive rank association of file recall and reward (Spearman r=+0.95, n=8); ...']
    """
    family = tuple(product(metrics_named(retrieval), metrics_named(outcomes)))
    stated = stated_from(design)
    needed = sorted({m.name for pair in family for m in pair})
    ordered = some_trials(trials, needed=needed, scales=stated.reward_scale)
    configs = sorted({trial.config_name for trial in ordered})
    stated = checked(stated, ordered).with_mcp(configs_stated(mcp_configs, configs), configs)
    coverage = 1 - stated.level if confidence is None else confidence
    settings = Settings(seed, n_resamples, coverage, stated)
    chosen = pairs_to_compare(ordered, stated).pairs if pairs is None else pairs
    valid, _ = let_through(ordered, chosen, stated)
    return associations(valid, settings, among=ordered, family=family)


Found = dict[str, Any]
"""The association of one pair of metrics, before q-values and sentence are added."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One task under one configuration: its known numbers with repeats averaged."""

    task: str
    config: str
    suite: str
    values: Mapping[str, float]
    trials: tuple[Trial, ...]


def associations(
    trials: Sequence[Trial],
    settings: Settings,
    *,
    among: Sequence[Trial],
    family: Family = FAMILY,
) -> Associations:
    """Return the associations over trials that the gate let through.

    Configurations and suites are those of ``among``, all trials: one without remaining trials has
    no association, with the reason. This is the only way an association is computed.
    """
    units = _units(trials, family)
    known: dict[tuple[int, ...], list[Found]] = {}
    results: list[Found] = []
    for scope, group, rows in _groups(units, among):
        # With one configuration, or one suite, the units are those of the pooled scope.
        same = tuple(map(id, rows))
        if same not in known and len(rows) < MIN_POINTS:
            known[same] = _of_too_few(rows, family)
        elif same not in known:
            known[same] = _associate(rows, settings, family)
        results += [found | {"scope": scope, "group": group} for found in known[same]]
    pooled = [found for found in results if found["scope"] == "pooled"]
    m, method = _adjust(pooled)
    for found in pooled:
        found["sign_change"] = _changes_sign(found, results)
    said = (_within(found, results, family) or _sentence(found, family) for found in results)
    records = (
        Association(**found, interpretation=text) for found, text in zip(results, said, strict=True)
    )
    return Associations(AssociationFamily(m=m, declared=len(pooled), method=method), tuple(records))


def difference_associations(
    pairs: Sequence[Pair],
    values_of: Callable[[str], Iterable[tuple[float | None, float | None]]],
    settings: Settings,
) -> tuple[DifferenceAssociation, ...]:
    """Return whether a larger change of retrieval goes with a larger change of an outcome.

    ``values_of`` gives a column's numbers of both sides, in the order of the pairs.
    """
    columns = {m.name: values_of(settings.column(m)) for m in _both_sides(FAMILY)}
    units = []
    for pair, *sides in zip(pairs, *columns.values(), strict=True):
        values = _known({name: _difference(*own) for name, own in zip(columns, sides, strict=True)})
        task = f"{pair.benchmark}/{pair.task_name}"
        trials = (*pair.baseline, *pair.comparison)
        units.append(Unit(task, "", pair.benchmark, values, trials))
    rows = _associate(units, settings, FAMILY)
    _adjust(rows)
    return tuple(
        DifferenceAssociation(
            **row, interpretation=_sentence(row | {"group": None}, FAMILY, "the change of ")
        )
        for row in rows
    )


def _difference(before: float | None, after: float | None) -> float | None:
    # Differences that are equal but for rounding must tie; their last digits would rank them.
    return None if before is None or after is None else round(after - before, 12)


def _both_sides(family: Family) -> list[Metric]:
    # By name: the hash of a metric is that of all its fields.
    sides = {metric.name: metric for side in zip(*family, strict=True) for metric in side}
    return list(sides.values())


def _units(trials: Sequence[Trial], family: Family) -> list[Unit]:
    groups: dict[tuple[str, str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[*trial.task, trial.config_name].append(trial)
    names = [metric.name for metric in _both_sides(family)]
    return [
        Unit(
            f"{suite}/{task}",
            config,
            suite,
            _known({name: average(group, name) for name in names}),
            tuple(group),
        )
        for (suite, task, config), group in sorted(groups.items())
    ]


def _known(values: Mapping[str, float | None]) -> Numbers:
    return Numbers({name: value for name, value in values.items() if value is not None})


def _groups(
    units: Sequence[Unit], among: Sequence[Trial]
) -> Iterator[tuple[str, str | None, Sequence[Unit]]]:
    yield "pooled", None, units
    for config in sorted({trial.config_name for trial in among}):
        yield "config", config, [unit for unit in units if unit.config == config]
    for suite in sorted({trial.benchmark for trial in among}):
        yield "suite", suite, [unit for unit in units if unit.suite == suite]


def _associate(units: Sequence[Unit], settings: Settings, family: Family) -> list[Found]:
    """Return every association of the family over some units."""
    from retrieval_eval.stats.correlation import spearman_of

    found = spearman_of(
        _columns(units, family),
        [(metric.name, outcome.name) for metric, outcome in family],
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
        clusters=[unit.task for unit in units],
    )
    has_one_scale = are_poolable(trial for unit in units for trial in unit.trials)
    return [
        _not_computable(metric.name, outcome.name, SCALES_DIFFER)
        | {"n": result.n, "clusters": result.n_clusters}
        if outcome.name == "reward" and not has_one_scale
        else {
            "retrieval_metric": metric.name,
            "outcome_metric": outcome.name,
            "n": result.n,
            "clusters": result.n_clusters,
            "computable": result.r.computable,
            "reason": result.r.reason,
            "spearman_r": result.r.value,
            "ci_low": result.interval.low.value,
            "ci_high": result.interval.high.value,
            "p_value": result.p_value.value,
            "p_method": result.p_method,
            "p_reason": result.p_value.reason,
            "q_value": None,
        }
        for (metric, outcome), result in zip(family, found, strict=True)
    ]


def _of_too_few(units: Sequence[Unit], family: Family) -> list[Found]:
    """Return the associations over one or two units, or none, where none can be computed.

    They are those of :func:`_associate`, without loading what computes: a run of a few trials has
    only such.
    """
    has_one_scale = are_poolable(trial for unit in units for trial in unit.trials)
    found = []
    for metric, outcome in family:
        sides = (metric.name, outcome.name)
        tasks = [u.task for u in units if all(name in u.values for name in sides)]
        is_off = outcome.name == "reward" and not has_one_scale
        reason = SCALES_DIFFER if is_off else "too_few_values"
        row = _not_computable(*sides, reason)
        found.append(row | {"n": len(tasks), "clusters": len(set(tasks))})
    return found


def _columns(units: Sequence[Unit], family: Family) -> dict[str, list[float]]:
    return {
        metric.name: [u.values.get(metric.name, math.nan) for u in units]
        for metric in _both_sides(family)
    }


def _not_computable(metric: str, outcome: str, reason: str) -> Found:
    names = ("spearman_r", "ci_low", "ci_high", "p_value", "p_method", "q_value")
    return {
        "retrieval_metric": metric,
        "outcome_metric": outcome,
        "computable": False,
        "reason": reason,
        "p_reason": reason,
        **dict.fromkeys(names),
    }


def _adjust(rows: Sequence[Found]) -> tuple[int, str]:
    """Add q-values over a family; return its size and the method."""
    if all(row["p_value"] is None for row in rows):
        return 0, "benjamini_hochberg"
    from retrieval_eval.stats.multiplicity import benjamini_hochberg

    adjusted = benjamini_hochberg([row["p_value"] for row in rows])
    for row, q_value in zip(rows, adjusted.values, strict=True):
        row["q_value"] = q_value
    return adjusted.m, adjusted.method


def _changes_sign(pooled: Found, results: Sequence[Found]) -> bool:
    """Return whether every group of some scope that is large enough has the other sign.

    One deviating group among many is noise; a whole scope that deviates is a pooling artefact.
    """
    if not pooled["computable"]:
        return False
    for scope in ("config", "suite"):
        signs = [
            r["spearman_r"] * pooled["spearman_r"] < 0
            for r in results
            if r["scope"] == scope
            and r["computable"]
            and r["n"] >= MIN_GROUP
            and r["retrieval_metric"] == pooled["retrieval_metric"]
            and r["outcome_metric"] == pooled["outcome_metric"]
        ]
        if signs and all(signs):
            return True
    return False


def _within(pooled: Found, results: Sequence[Found], family: Family) -> str | None:
    """Return the sentence of a pooled association of several configurations; None for another.

    Configurations that differ in both metrics are associated by that alone once they are pooled, so
    the coefficients within them come first.
    """
    sides = (pooled["retrieval_metric"], pooled["outcome_metric"])
    own = [
        each
        for each in results
        if each["scope"] == "config"
        and (each["retrieval_metric"], each["outcome_metric"]) == sides
        and each["computable"]
    ]
    if pooled["scope"] != "pooled" or not pooled["computable"] or len(own) < 2:
        return None
    within = ", ".join(f"{r['group']} {signed(r['spearman_r'])} (n={r['n']})" for r in own)
    return (
        f"Rank association of {_what(pooled, family)} within configurations (Spearman r): {within}."
        f" Pooled {signed(pooled['spearman_r'])} (n={pooled['n']}), which also holds how the "
        f"configurations differ{_other_sign(pooled)}. An association, not a cause."
    )


def _other_sign(pooled: Found) -> str:
    return ", and within the groups has the other sign" if pooled.get("sign_change") else ""


def _what(result: Found, family: Family, prefix: str = "") -> str:
    names = result["retrieval_metric"], result["outcome_metric"]
    metric, outcome = next((a.label, b.label) for a, b in family if (a.name, b.name) == names)
    return f"{prefix}{metric} and {prefix}{outcome}"


def _sentence(result: Found, family: Family, prefix: str = "") -> str:
    """Return a sentence about an association; it never states a cause."""
    what = _what(result, family, prefix)
    where = f" within {result['group']}" if result["group"] else ""
    if not result["computable"]:
        return f"No association of {what}{where} can be given (n={result['n']})."
    r = result["spearman_r"]
    sign = "positive" if r > 0 else "negative" if r < 0 else "no"
    return (
        f"{sign.capitalize()} rank association of {what}{where} "
        f"(Spearman r={signed(r)}, n={result['n']}){_other_sign(result)}; an association, not a "
        "cause."
    )
