"""Two configurations compared on the tasks that both ran: a function of a frame of trials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.events.retrieved import VIEWS
from retrieval_eval.metrics.catalog import BY_NAME, Metric
from retrieval_eval.model.impact import (
    ComparisonDocument,
    Flip,
    Gate,
    MatchedPair,
    PairedEstimate,
    PairedStatistics,
    PairLedger,
    PairValues,
)
from retrieval_eval.study.arms import arm, config_named, configs_stated
from retrieval_eval.study.associations import difference_associations
from retrieval_eval.study.estimates import (
    Measure,
    discrimination,
    reward_by_suite,
    slices,
    with_holm,
)
from retrieval_eval.study.frames import dtypes_of, frame_of, notebook_html
from retrieval_eval.study.gate import Valid, screen
from retrieval_eval.study.pairs import Pair, excluded_tasks, ledger, match, planned_tasks
from retrieval_eval.study.settings import Settings, as_entry, metrics_named
from retrieval_eval.study.trials import VIEWED, Trial, Trials, some_trials
from retrieval_eval.study.verdict import (
    cautions,
    few_clusters,
    lacking_values,
    never_hit,
    partial_use,
    permitted,
    role_notes,
    scales,
    verdict_of,
)
from retrieval_eval.values import DEFAULT_SEED, signed

if TYPE_CHECKING:
    import pandas as pd

COMPARED: Final = tuple(name for name, metric in BY_NAME.items() if metric.is_compared)
"""The family of metrics that are compared pair by pair, fixed in advance."""

FAMILY: Final = metrics_named(COMPARED)

PRIMARY: Final = "file_recall"
"""The metric the verdict is about."""

_TABLE_COLUMNS: Final = {
    "n_pairs": "Tasks",
    "mean_baseline": "Baseline",
    "mean_comparison": "Comparison",
    "mean_difference": "Difference",
    "ci_low": "From",
    "ci_high": "To",
    "p_value": "p",
    "p_holm": "p (Holm)",
}

_CLEAR: Final = frozenset({"better", "worse", "fragile"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion of a comparison about its primary metric.

    ``state`` is ``better`` or ``worse`` where the difference is clear, ``fragile`` where values
    that an arm lacks could overturn it, ``no_detectable_difference``, ``too_few_pairs``, or
    ``no_verdict`` where the arms cannot be compared. ``reason`` explains it in a sentence.
    ``cautions`` are outcomes that clearly move the other way, and ``threats`` are sentences about
    what lowers or withholds the verdict.
    """

    state: str
    metric: str
    reason: str
    cautions: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.state.replace("_", " ")


@dataclass(frozen=True)
class Comparison:
    """Two configurations on the tasks that both ran; differences are comparison minus baseline.

    ``baseline`` and ``comparison`` are the configurations, and ``record`` is the entry of the
    impact document with everything else: views, flips, slices, threats. See :func:`compare`.
    """

    baseline: str
    comparison: str
    record: ComparisonDocument = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """What the comparison shows, and why."""
        found = self.record
        return Verdict(
            found.verdict,
            found.verdict_metric,
            found.verdict_reason,
            found.cautions,
            tuple(threat.sentence for threat in found.threats if threat.effect != "none"),
        )

    @property
    def gate(self) -> Gate:
        """Whether the arms may be compared: ``passed``, ``failed``, and every rule."""
        return self.record.gate

    @property
    def ledger(self) -> PairLedger:
        """Counts of the trials of both arms by status, down to the pairs used."""
        return self.record.ledger

    @property
    def pairs(self) -> pd.DataFrame:
        """One row a matched task and metric, with both sides (repeats averaged) and difference."""
        rows = (
            {**self._arms(), **structs.asdict(pair), "metric": metric, **structs.asdict(sides)}
            for pair in self.record.pairs
            for metric, sides in pair.metrics.items()
        )
        names = (*self._arms(), "benchmark", "task_name", "metric")
        return frame_of(rows, dtypes_of(*names, PairValues, MatchedPair))

    @property
    def estimates(self) -> pd.DataFrame:
        """One row a metric: number of pairs, mean difference, interval, p, Holm's p and others."""
        rows = (
            {**self._arms(), "metric": metric, **structs.asdict(estimate)}
            for metric, estimate in self.record.metrics.items()
        )
        return frame_of(rows, dtypes_of(*self._arms(), "metric", PairedStatistics))

    def table(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the estimates of some metrics as a frame for people, a row a metric.

        Parameters
        ----------
        metrics
            Names of compared metrics; by default all of them.

        Raises
        ------
        BadInputError
            When a metric was not compared; the message names those that were.
        """
        import pandas as pd

        known = self.record.metrics
        chosen = list(known) if metrics is None else list(metrics)
        if unknown := [name for name in chosen if name not in known]:
            raise BadInputError(f"{unknown[0]!r} was not compared; compared: {', '.join(known)}")
        found = self.estimates.set_index("metric").loc[chosen, list(_TABLE_COLUMNS)]
        labels = [BY_NAME[name].label if name in BY_NAME else name for name in chosen]
        index = pd.Index(labels, name="Metric", dtype="object")
        return found.rename(columns=_TABLE_COLUMNS).set_axis(index, axis="index")

    def sentence(self) -> str:
        """Return the comparison in one sentence: verdict, reason, and cautions."""
        verdict = self.verdict
        against = "".join(f"; {remark}" for remark in (*verdict.cautions, *verdict.threats))
        text = f"{self.comparison} compared with {self.baseline}: {verdict}, {verdict.reason}"
        return visible(f"{text}{against}.")

    def to_json(self) -> dict[str, Any]:
        """Return the entry in ``comparisons`` of a ``run_impact_analysis.json``."""
        return as_entry(self.record)

    def _arms(self) -> dict[str, str]:
        return {"baseline_config": self.baseline, "comparison_config": self.comparison}

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence()}>"

    def _repr_html_(self) -> str:
        return notebook_html([self.sentence()], self.table())


def compare(
    trials: Trials,
    baseline: str,
    comparison: str,
    *,
    seed: int = DEFAULT_SEED,
    primary: str | Metric = PRIMARY,
    metrics: Sequence[str | Metric] = COMPARED,
    view: str | None = None,
    mcp_configs: Sequence[str] | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two configurations on the tasks that both ran.

    Trials that cannot be compared are removed by the rules of the validity gate
    (:data:`~retrieval_eval.study.gate.RULES`); repeats of a task are averaged; every metric is
    estimated over the matched tasks, tasks of one repository or suite counting together. All of
    it is computed from the trials that are given: a frame cut to one suite gives the gate, pairs,
    intervals and verdict of this suite. The scale of a suite's rewards is that of all given
    trials, also of other configurations. The order of the trials changes nothing.

    Parameters
    ----------
    trials
        ``load_run(…).trials`` or rows of it, or metrics documents of trials.
    baseline, comparison
        The two configurations. Differences are comparison minus baseline.
    seed
        Seed of every resampling.
    primary
        The metric the verdict is about.
    metrics
        The family of metrics to compare, over which p is adjusted (Holm). For a column of
        numbers of your own give a :class:`~retrieval_eval.metrics.catalog.Metric` of its name.
    view
        What counts as retrieved in the metrics that depend on it, such as ``opened``; by default
        any access.
    mcp_configs
        The configurations that are meant to use MCP; by default inferred from their trials.
    n_resamples, confidence
        Number of resamples, and coverage of every interval.

    Returns
    -------
    Comparison
        Verdict, pairs, estimates, gate and ledger. With fewer than three pairs nothing is
        computable, with fewer than six there is no p-value and no verdict.

    Raises
    ------
    BadInputError
        When a configuration, metric or view is not known, both sides are the same, or the frame
        lacks a column that a comparison reads; the message names the closest.
    NothingToEvaluateError
        When there is no trial.

    Examples
    --------
    In a notebook the trials are ``load_run("demo").trials``. Here a few documents will do:

    >>> def trial(task, config, recall):
    ...     return {
    ...         "provenance": {"benchmark": "suite", "task_name": task, "config_name": config},
    ...         "coverage": {},
    ...         "ledger": {"calls_seen": 5},
    ...         "file_level_metrics": {"computable": True, "file_recall": recall},
    ...         "outcome": {"reward": 1.0},
    ...     }
    >>> tasks = {f"task-{i}": i / 16 for i in range(8)}
    >>> trials = [trial(task, "old", recall) for task, recall in tasks.items()]
    >>> trials += [trial(task, "new", recall + 0.25) for task, recall in tasks.items()]
    >>> found = compare(trials, "old", "new")
    >>> found.verdict.state, found.estimates["mean_difference"].tolist()[0]
    ('better', 0.25)
    >>> print(found.sentence())
    new compared with old: better, file recall: mean difference +0.250 over 8 matched tasks, ...
    """
    if view is not None and view not in VIEWS:
        raise BadInputError(f"{view!r} is no view; there are: {', '.join(VIEWS)}")
    first = metrics_named([primary])[0]
    family = metrics_named(metrics)
    family = family if first in family else (first, *family)
    settings = Settings(seed, n_resamples, confidence, view=view)
    ordered = some_trials(trials, needed=[settings.column(metric) for metric in family])
    configs = sorted({trial.config_name for trial in ordered})
    sides = config_named(baseline, configs), config_named(comparison, configs)
    if sides[0] == sides[1]:
        raise BadInputError(f"both sides are {visible(sides[0])}")
    stated = configs_stated(mcp_configs, configs)
    return comparison_of(
        ordered, *sides, settings.with_roles(stated), metrics=family, primary=first
    )


def comparison_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    settings: Settings,
    *,
    metrics: Sequence[Metric] = FAMILY,
    primary: Metric = BY_NAME[PRIMARY],
) -> Comparison:
    """Return the comparison over trials that :func:`~retrieval_eval.study.trials.trials_of` gave.

    This is the only way a comparison is computed.
    """
    from retrieval_eval.stats.paired import MIN_PAIRS

    arms = (arm(trials, baseline), arm(trials, comparison))
    valid = screen(*arms, settings.mcp_configs)
    pairs = match(valid)
    measure = Measure(pairs, planned_tasks(arms, valid), settings)
    blocks = with_holm({metric.name: measure(metric) for metric in metrics})
    lead = blocks[primary.name]
    by_suite = reward_by_suite(measure, blocks.get("reward"))
    views = {view: _view(measure, view) for view in VIEWS}
    verdict, reason = verdict_of(primary, lead, valid, len(pairs))
    is_computable = len(pairs) >= MIN_PAIRS
    record = ComparisonDocument(
        baseline_config=baseline,
        comparison_config=comparison,
        computable=is_computable,
        reason=None if is_computable else "too_few_pairs",
        verdict=verdict,
        verdict_metric=primary.name,
        verdict_reason=reason,
        cautions=cautions(primary, metrics, blocks) if verdict in _CLEAR else (),
        threats=(
            *few_clusters(lead, pairs),
            *lacking_values(lead, arms, is_fragile=verdict == "fragile"),
            *role_notes(valid),
            *partial_use(settings.column(primary), valid, arms, pairs),
            *never_hit(blocks.get("ttfr_seconds"), arms),
            *scales(blocks.get("reward"), by_suite),
        ),
        gate=valid.gate,
        ledger=ledger(arms, valid, pairs),
        n_tasks_baseline=len({trial.task for trial in arms[0].trials}),
        n_tasks_comparison=len({trial.task for trial in arms[1].trials}),
        n_pairs=len(pairs),
        excluded=excluded_tasks(arms, valid, pairs),
        metrics=blocks,
        reward_by_suite=by_suite,
        views={
            view: {**found, "verdict": permitted(found[PRIMARY], valid)}
            for view, found in views.items()
        },
        flips=_flips(views, valid) if is_computable else (),
        discrimination=discrimination(pairs, metrics, settings),
        difference_associations=difference_associations(pairs, settings),
        slices=slices(pairs, settings),
        pairs=tuple(_pair_row(pair, metrics, settings) for pair in pairs),
    )
    return Comparison(baseline, comparison, record)


View = dict[str, PairedEstimate]


def _view(measure: Measure, view: str) -> View:
    return {name: measure(BY_NAME[name], view) for name in VIEWED}


def _flips(views: Mapping[str, View], valid: Valid) -> tuple[Flip, ...]:
    """Return every headline whose sign or conclusion changes under another view."""
    rows = []
    for name in VIEWED:
        default = views[VIEWS[0]][name]
        for view in VIEWS[1:]:
            there = views[view][name]
            shown = (permitted(default, valid), permitted(there, valid))
            kind = _flip(default, there, has_same_conclusion=shown[0] == shown[1])
            if kind is not None:
                parts = (
                    f"{signed(estimate.mean_difference or 0.0)} ({word.replace('_', ' ')}) "
                    f"under {name_of}"
                    for estimate, word, name_of in zip(
                        (default, there), shown, (VIEWS[0], view), strict=True
                    )
                )
                rows.append(
                    Flip(
                        metric=name,
                        view=view,
                        kind=kind,
                        default=default.mean_difference,
                        there=there.mean_difference,
                        sentence=f"{BY_NAME[name].label}: {', '.join(parts)}",
                    )
                )
    return tuple(rows)


def _flip(
    default: PairedEstimate, there: PairedEstimate, *, has_same_conclusion: bool
) -> Literal["sign", "verdict"] | None:
    if default.mean_difference is None or there.mean_difference is None:
        return None
    if not has_same_conclusion:
        return "verdict"
    # Thirds that sum to 0 leave a rounding error, whose sign means nothing.
    means = (round(default.mean_difference, 9), round(there.mean_difference, 9))
    return "sign" if math.prod(means) < 0 else None


def _pair_row(pair: Pair, metrics: Sequence[Metric], settings: Settings) -> MatchedPair:
    sides = {metric.name: pair.values(settings.column(metric)) for metric in metrics}
    return MatchedPair(
        benchmark=pair.benchmark,
        task_name=pair.task_name,
        n_trials_baseline=len(pair.baseline),
        n_trials_comparison=len(pair.comparison),
        metrics={
            name: PairValues(
                baseline=before,
                comparison=after,
                difference=None if before is None or after is None else after - before,
            )
            for name, (before, after) in sides.items()
        },
    )
