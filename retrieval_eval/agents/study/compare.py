"""Two configurations compared on the tasks that both ran: a function of a frame of trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from msgspec import structs

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.arms import (
    arm,
    config_named,
    config_pairs,
    configs_stated,
    pair_meant,
    pairs_to_compare,
)
from retrieval_eval.agents.study.associations import (
    association_label,
    calibration,
    difference_associations,
    first_times,
    tiers,
    time_to_first_relevant,
)
from retrieval_eval.agents.study.design import (
    Pair,
    design_of,
    excluded_tasks,
    ledger,
    match,
    planned_tasks,
    with_failures,
)
from retrieval_eval.agents.study.estimates import (
    Measure,
    discrimination,
    reward_by_suite,
    slices,
    with_holm,
)
from retrieval_eval.agents.study.frames import (
    DISPLAYS,
    Row,
    arms_of,
    as_made,
    design_rows,
    discrimination_rows,
    estimate_rows,
    found_rows,
    frame_of,
    gate_rows,
    ledger_rows,
    member_rows,
    pair_rows,
    rule_title,
    view_rows,
)
from retrieval_eval.agents.study.gate import by_task, let_through, screen
from retrieval_eval.agents.study.stated import (
    HEADLINE,
    Given,
    Settings,
    as_entry,
    checked,
    metrics_named,
    stated_from,
)
from retrieval_eval.agents.study.threats import (
    OverPairs,
    Study,
    leading_threats,
    lowers,
    threat_rows,
    threats_of,
)
from retrieval_eval.agents.study.trials import VIEWED, Trial, Trials, as_asked, average, some_trials
from retrieval_eval.agents.study.verdict import (
    Conclusion,
    cautions,
    overturn_of,
    permitted,
    verdict_of,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.model.design import Clustering, Design, Family
from retrieval_eval.model.impact import (
    ComparisonDocument,
    Flip,
    LetThrough,
    MatchedPair,
    PairedEstimate,
    PairedStatistics,
    PairValues,
    Resolved,
    ResolvedArm,
    Threat,
)
from retrieval_eval.stats.proportions import mcnemar_p, tango
from retrieval_eval.values import DEFAULT_SEED, signed

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# Resolved tasks: which arm resolved which, and how much of the difference comes from finding.

_REWARD: Final = "reward"


def resolved_of(pairs: Sequence[Pair], settings: Settings) -> Resolved | None:
    """Return the two-by-two table of resolved tasks; None unless every reward is 0 or 1.

    A task with repeats counts where all of an arm's agree. Interval and test take tasks as
    independent; the verdict on rewards, which counts tasks of a repository together, is in the
    metrics.
    """
    from retrieval_eval.stats.paired import MIN_PAIRS
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    sides = [(average(p.baseline, _REWARD), average(p.comparison, _REWARD)) for p in pairs]
    trials = [t for p in pairs for t in (*p.baseline, *p.comparison) if _REWARD in t.numbers]
    if not trials or any(t.numbers[_REWARD] not in (0, 1) or t.is_reward_open for t in trials):
        return None
    known = [(a, b) for a, b in sides if a in (0, 1) and b in (0, 1)]
    up, down = known.count((0, 1)), known.count((1, 0))
    ends = tango(up, down, len(known), confidence=settings.confidence)
    has_ends, has_p = len(known) >= MIN_PAIRS, len(known) >= MIN_PAIRS_FOR_P
    column = settings.column(BY_NAME["file_recall"], "opened")
    baseline = _arm((t for p in pairs for t in p.baseline), column)
    comparison = _arm((t for p in pairs for t in p.comparison), column)
    finding, using = _parts(baseline, comparison)
    return Resolved(
        n_both=known.count((1, 1)),
        n_only_baseline=down,
        n_only_comparison=up,
        n_neither=known.count((0, 0)),
        difference=(up - down) / len(known) if known else None,
        ci_low=ends.low.value if has_ends else None,
        ci_high=ends.high.value if has_ends else None,
        p_value=mcnemar_p(up, down) if has_p else None,
        baseline=baseline,
        comparison=comparison,
        by_finding=finding,
        by_using=using,
    )


def _arm(trials: Iterable[Trial], column: str) -> ResolvedArm:
    """Count the resolved trials of an arm with all expected files opened, and without."""
    counts = {True: [0, 0], False: [0, 0]}
    for trial in trials:
        if _REWARD in trial.numbers and column in trial.numbers:
            own = counts[trial.numbers[column] >= 1]
            own[0] += 1
            own[1] += trial.numbers[_REWARD] == 1
    return ResolvedArm(
        n_all_opened=counts[True][0],
        n_all_opened_resolved=counts[True][1],
        n_not_all_opened=counts[False][0],
        n_not_all_opened_resolved=counts[False][1],
    )


def _parts(before: ResolvedArm, after: ResolvedArm) -> tuple[float | None, float | None]:
    """Return what the difference owes to finding, and what to using what was found.

    The shares of trials that opened all files change at the mean of both arms' rates, the rates at
    the mean of both arms' shares (Kitagawa 1955). None where an arm lacks one of the two kinds.
    """
    arms = (before, after)
    if not all(arm.n_all_opened and arm.n_not_all_opened for arm in arms):
        return None, None
    shares = [arm.n_all_opened / (arm.n_all_opened + arm.n_not_all_opened) for arm in arms]
    rates = [
        (
            arm.n_all_opened_resolved / arm.n_all_opened,
            arm.n_not_all_opened_resolved / arm.n_not_all_opened,
        )
        for arm in arms
    ]
    found, lost = ((rates[0][i] + rates[1][i]) / 2 for i in (0, 1))
    finding = (shares[1] - shares[0]) * (found - lost)
    share = (shares[0] + shares[1]) / 2
    using = share * (rates[1][0] - rates[0][0]) + (1 - share) * (rates[1][1] - rates[0][1])
    return finding, using


# --------------------------------------------------------------------------------------------------
# Two configurations compared on the tasks that both ran: a function of a frame of trials.

COMPARED: Final = tuple(name for name, metric in BY_NAME.items() if metric.is_compared)
"""The family of metrics that are compared pair by pair, fixed in advance."""

FAMILY: Final = metrics_named(COMPARED)

PRIMARY: Final = HEADLINE
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

_SIDES: Final = ("baseline", "comparison", "difference")

DIFFERENCES: Final = (
    *("difference", "mean_difference", "estimate", "ci_low", "ci_high", "p_value", "p_holm"),
    *("bill_low", "bill_high", "bound_low", "bound_high", "default", "there", "q_value"),
    *("always_low", "always_high", "always_p", "spearman_r", "wins", "ties", "losses", "sentence"),
)
"""Columns of differences, which are empty where none may be read."""

_CLEAR: Final = frozenset({"better", "worse", "fragile"})

TaskStatus = Literal[
    "matched and scored",
    "scored in both, not comparable",
    "scored under some configurations only",
    "no usable trace",
    "no ground truth",
]
TASK_STATUSES: Final[tuple[TaskStatus, ...]] = get_args(TaskStatus)
"""What may become of a task, the best first."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion of a comparison about its primary metric.

    ``state`` is ``better`` or ``worse`` where the difference is clear, ``fragile`` where a threat
    could overturn it, ``equivalent`` where it lies within the stated margin,
    ``not_worse`` where a loss of that margin is excluded,
    ``no_detectable_difference``, ``too_few_pairs``, or ``no_verdict`` where the arms cannot be
    compared. ``reason`` explains it in a sentence, and ``overturn`` says what it would take to
    overturn it. ``threats`` are sentences about the two or three threats that matter most, and
    ``cautions`` outcomes that clearly move the other way.
    """

    state: str
    metric: str
    reason: str
    cautions: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()
    overturn: str = ""

    def __str__(self) -> str:
        return self.state.replace("_", " ")


@dataclass(frozen=True)
class Comparison:
    """Two configurations on the tasks that both ran; differences are comparison minus baseline.

    ``baseline`` and ``comparison`` are the configurations, and ``record`` is the entry of the
    impact document. ``trials`` are all that were given, also of other configurations. Where no
    two configurations were run ``comparison`` is empty, and so is every frame of pairs. Every
    frame has the columns that the reference describes. See :func:`compare`.
    """

    baseline: str
    comparison: str
    record: ComparisonDocument = field(repr=False)
    trials: tuple[Trial, ...] = field(default=(), repr=False)
    settings: Settings = field(default=Settings(DEFAULT_SEED), repr=False)

    @property
    def verdict(self) -> Verdict:
        """What the comparison shows, and why."""
        found = self.record
        return Verdict(
            found.verdict if self.comparison else "no_verdict",
            found.verdict_metric,
            found.verdict_reason,
            found.cautions,
            tuple(threat.sentence for threat in self.leading_threats),
            found.overturn,
        )

    @property
    def arms(self) -> tuple[str, ...]:
        """The configurations that are compared, the baseline first; one where there is no other."""
        return tuple(name for name in (self.baseline, self.comparison) if name)

    @property
    def why_not(self) -> str:
        """Why no difference may be shown, in a sentence; the empty text where one may."""
        from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

        if not self.comparison:
            return "There is one configuration only, so nothing is compared."
        if self.withheld:
            return self.withheld
        lead = self.record.metrics.get(self.record.verdict_metric)
        n = lead.n_pairs if lead is not None else 0
        if n >= MIN_PAIRS_FOR_P:
            return ""
        return f"{n} of at least {MIN_PAIRS_FOR_P} matched tasks: too few for intervals and tests."

    def headline(self) -> str:
        """Return what was found, at what price, and whether it paid, in a sentence."""
        return DISPLAYS["headline"](self)["text/plain"]

    @property
    def withheld(self) -> str:
        """Why no difference may be read; the empty text where the gate let the arms pass."""
        if not self.record.gate.failed:
            return ""
        titles = "; ".join(rule_title(name) for name in self.record.gate.failed)
        return f"The configurations cannot be compared: {titles}."

    @property
    def pairs(self) -> pd.DataFrame:
        """One row a matched task and metric, with both sides (repeats averaged) and difference."""
        return self._differences("pairs", pair_rows(self.record))

    @property
    def estimates(self) -> pd.DataFrame:
        """One row a metric: number of pairs, mean difference, interval, p, Holm's p and others."""
        return self._differences("estimates", estimate_rows(self.record))

    @property
    def views(self) -> pd.DataFrame:
        """One row a definition of what counts as retrieved and metric: the difference there."""
        return self._differences("views", view_rows(self.record))

    @property
    def flips(self) -> pd.DataFrame:
        """One row a conclusion that changes under another definition of what is retrieved."""
        return self._differences("flips", member_rows(self.record, "flips"))

    @property
    def slices(self) -> pd.DataFrame:
        """One row a slice of the tasks: the difference of the verdict's metric there."""
        return self._differences("slices", member_rows(self.record, "slices"))

    @property
    def discrimination(self) -> pd.DataFrame:
        """One row a metric: whether it can tell the configurations apart."""
        return self._differences("discrimination", discrimination_rows(self.record))

    @property
    def difference_associations(self) -> pd.DataFrame:
        """One row a retrieval metric and outcome: whether their differences go together."""
        rows = (
            row | {"label": association_label(found)}
            for row, found in zip(
                member_rows(self.record, "difference_associations"),
                self.record.difference_associations,
                strict=True,
            )
        )
        return self._differences("difference_associations", rows)

    @property
    def suites(self) -> pd.DataFrame:
        """One row a metric and suite: matched tasks and the means of both sides."""
        groups: dict[tuple[str, str], list[PairValues]] = {}
        for pair in self.record.pairs:
            for metric, sides in pair.metrics.items():
                if sides.difference is not None:
                    groups.setdefault((metric, pair.benchmark), []).append(sides)
        rows = [
            arms_of(self.record)
            | {"metric": metric, "benchmark": suite, "n_pairs": len(own)}
            | {name: fmean(getattr(s, name) for s in own) for name in _SIDES}
            for (metric, suite), own in groups.items()
        ]
        return self._differences("suites", rows)

    @property
    def gate(self) -> pd.DataFrame:
        """One row a rule of the validity gate: what it found and removed, and its outcome.

        Without a second configuration no rule has an outcome, and there is no row.
        """
        return frame_of("gate", gate_rows(self.record) if self.comparison else ())

    @property
    def threats(self) -> pd.DataFrame:
        """One row a threat to the comparison: its number, effect on the verdict, and sentence."""
        rows = threat_rows(self.record)
        frame = frame_of(
            "threats", (row for row in rows if not self.withheld or row["effect"] == "withholds")
        )
        if not self.comparison:
            frame.attrs["empty"] = "Nothing is compared, so there is nothing to overturn."
        return frame

    @property
    def design(self) -> pd.DataFrame:
        """One row a part of the design: what the study was meant to be, and the source of that."""
        return frame_of("design", design_rows(self.record) if self.comparison else ())

    @property
    def leading_threats(self) -> tuple[Threat, ...]:
        """The two or three threats that matter most; without a verdict, those that withhold it."""
        found = leading_threats(self.record)
        # Where no difference may be read, neither may one that a threat would give.
        return tuple(t for t in found if not self.withheld or t.effect == "withholds")

    @property
    def found(self) -> pd.DataFrame:
        """One row a rule of the gate and trial that it found."""
        return frame_of("found", found_rows(self.record))

    @property
    def ledger(self) -> pd.DataFrame:
        """One row an arm and status of its trials; all = removed + unmatched + used."""
        rows = (row for row in ledger_rows(self.record) if row["arm"])
        return frame_of("ledger", rows)

    @property
    def tasks(self) -> pd.DataFrame:
        """One row a task of any configuration, and whether it enters the comparison."""
        pairs = {
            (pair.benchmark, pair.task_name)
            for pair in self.record.pairs
            if pair.metrics[self.record.verdict_metric].difference is not None
        }
        rows = (
            {
                "benchmark": task[0],
                "task_name": task[1],
                "status": self._status(own, task in pairs),
                "n_trials": len(own),
            }
            for task, own in by_task(self.trials).items()
        )
        return frame_of("tasks", rows)

    def _status(self, trials: Sequence[Trial], is_paired: bool) -> TaskStatus:
        if is_paired:
            return TASK_STATUSES[0]
        column = self.settings.column(BY_NAME[PRIMARY])
        scored = {trial.config_name for trial in trials if column in trial.numbers}
        if scored >= {self.baseline, self.comparison}:
            return TASK_STATUSES[1]
        if scored:
            return TASK_STATUSES[2]
        return TASK_STATUSES[3 if any(trial.has_ground_truth for trial in trials) else 4]

    @property
    def every_pair(self) -> pd.DataFrame:
        """One row a pair of configurations among the trials: the estimate of the verdict's metric.

        Of more than :data:`~retrieval_eval.agents.study.arms.MOST_CONFIGS` configurations not every
        pair is compared, and ``attrs["left_out"]`` is a sentence about that. ``failed`` names the
        rules of the gate that withhold a verdict.
        """
        chosen = pairs_to_compare(self.trials, self.settings.stated)
        drafts = [self._draft(*pair) for pair in chosen.pairs]
        over = over_pairs([p_of_lead(draft.study) for draft in drafts])
        compared = [
            finish(draft, family).record for draft, family in zip(drafts, over, strict=True)
        ]
        rows = (
            {
                **{
                    name: None if record.gate.failed and name in DIFFERENCES else value
                    for name, value in row.items()
                },
                "p_over_pairs": record.p_over_pairs,
                "failed": "; ".join(map(rule_title, record.gate.failed)),
            }
            for record in compared
            for row in estimate_rows(record)
            if row["is_verdict_metric"]
        )
        frame = frame_of("every_pair", rows)
        if chosen.left_out is not None:
            frame.attrs |= {"n_pairs": chosen.n_all, "left_out": chosen.left_out.sentence}
            frame.attrs.update(as_made(frame))
        return frame

    def _draft(self, baseline: str, comparison: str) -> Draft:
        metrics = metrics_named([m for m in self.record.metrics if m in BY_NAME])
        primary = BY_NAME.get(self.record.verdict_metric, BY_NAME[PRIMARY])
        return draft_of(
            self.trials, baseline, comparison, self.settings, metrics=metrics, primary=primary
        )

    @property
    def admitted(self) -> tuple[LetThrough, ...]:
        """Of each configuration, how many trials the gate of any comparison let through.

        The frames on each configuration by itself, as ``first_hits``, are of these.
        """
        return self._valid[1]

    @property
    def first_hits(self) -> pd.DataFrame:
        """One row a configuration and unit: time to the first relevant file, of its tasks."""
        rows = time_to_first_relevant(self._valid[0], self.settings)
        return frame_of("first_hits", map(structs.asdict, rows))

    @property
    def times(self) -> pd.DataFrame:
        """One row a configuration, unit and task: ``time`` of the first hit, or ``end`` without."""
        rows = first_times(self._valid[0])
        return frame_of("times", rows)

    @property
    def tiers(self) -> pd.DataFrame:
        """One row a configuration and share of the ground truth found: the mean reward."""
        rows = tiers(self._valid[0], self.settings)
        return frame_of("tiers", map(structs.asdict, rows))

    @property
    def calibration(self) -> pd.DataFrame:
        """One row a configuration, slice and share of expected files opened: the mean reward."""
        rows = calibration(self._valid[0], self.settings)
        return frame_of("calibration", map(structs.asdict, rows))

    @cached_property
    def _valid(self) -> tuple[tuple[Trial, ...], tuple[LetThrough, ...]]:
        chosen = pairs_to_compare(self.trials, self.settings.stated)
        return let_through(self.trials, chosen.pairs, self.settings.stated)

    def _differences(self, name: str, rows: Iterable[Row]) -> pd.DataFrame:
        """Return a frame of differences that says where none may be read, for those who draw it."""
        from retrieval_eval.stats.paired import MIN_PAIRS

        frame = frame_of(name, rows)
        if self.withheld:
            # Whoever draws it by other means than ours is not to read a difference either.
            for column in [name for name in frame.columns if name in DIFFERENCES]:
                frame[column] = frame[column].iloc[:0].reindex(frame.index)
        frame.attrs["confidence"] = self.settings.confidence
        lead = self.record.metrics.get(self.record.verdict_metric)
        if self.withheld:
            why = "A difference could come from that, so it is withheld."
            frame.attrs["withheld"] = f"{self.withheld} {why}"
        elif lead is not None and 0 < lead.n_pairs < MIN_PAIRS:
            frame.attrs["too_few"] = (
                f"Fewer than {MIN_PAIRS} matched tasks; their values are listed task by task."
            )
        return frame

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
        """Return the comparison in one sentence: verdict, reason, and what matters most to it.

        Threats that do not change the verdict are left out, but for metrics that pay for it.
        """
        verdict = self.verdict
        if not self.comparison:
            return visible(f"nothing is compared: all trials are of {self.baseline}.")
        shown = (t for t in self.leading_threats if t.effect != "none" or t.name == "other_metrics")
        against = "".join(f"; {threat.sentence}" for threat in shown)
        text = f"{self.comparison} compared with {self.baseline}: {verdict}, {verdict.reason}"
        return visible(f"{text}{against}.")

    def to_json(self) -> dict[str, Any]:
        """Return the entry in ``comparisons`` of a ``run_impact_analysis.json``."""
        return as_entry(self.record)

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence()}>"

    def __str__(self) -> str:
        return DISPLAYS["comparison text"](self)["text/plain"]

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        return DISPLAYS["comparison"](self)


def compare(
    trials: Trials,
    baseline: str = "",
    comparison: str = "",
    *,
    seed: int = DEFAULT_SEED,
    design: Given = None,
    primary: str | Metric | None = None,
    metrics: Sequence[str | Metric] = COMPARED,
    view: str | None = None,
    mcp_configs: Sequence[str] | None = None,
    alpha: float | None = None,
    margin: float | None = None,
    cluster: Clustering | None = None,
    sequential: bool | None = None,
    n_resamples: int = 10_000,
    confidence: float | None = None,
) -> Comparison:
    """Compare two configurations on the tasks that both ran.

    Trials that cannot be compared are removed by the rules of the validity gate
    (:data:`~retrieval_eval.agents.study.gate.RULES`); repeats of a task are averaged; every metric
    is estimated over the matched tasks, tasks of one repository or suite counting together. All of
    it is computed from the trials that are given: a frame cut to one suite gives the gate, pairs,
    intervals and verdict of this suite. The scale of a suite's rewards is that of all given
    trials, also of other configurations. The order of the trials changes nothing.

    Parameters
    ----------
    trials
        ``load_run(…).trials`` or rows of it, or metrics documents of trials.
    baseline, comparison
        The two configurations. Differences are comparison minus baseline. One that is empty is
        chosen by the data: of the pairs that fit, that which shares most tasks. Where the trials
        are of one configuration nothing is compared, and the result states it.
    seed
        Seed of every resampling.
    design
        What was meant: the path of a ``study.toml``, or the same as a mapping. What it leaves out
        is inferred from the trials; the arguments below override it. ``record.design`` has all of
        it with its sources.
    primary
        The metric the verdict is about; by default the headline of the design, else file recall.
    metrics
        The family of metrics to compare, over which p is adjusted (Holm). For a column of
        numbers of your own give a :class:`~retrieval_eval.agents.metrics.catalog.Metric` of its
        name.
    view
        What counts as retrieved in the metrics that depend on it, such as ``opened``; by default
        any access.
    mcp_configs
        The configurations that must use MCP, the others being meant not to; by default inferred
        from their trials.
    alpha, margin
        The level of the test, below 0.5, and the largest difference that counts as none.
    cluster
        What tasks share that count together: ``repository``, ``suite``, or ``task`` for none.
    sequential
        Whether trials are still added and the comparison is read more than once: intervals and
        p-values that hold at every look (``always_low``, ``always_high``, ``always_p`` of an
        estimate) then stand beside the others, and decide the verdict. Tasks count in the order of
        the batches of their trials.
    n_resamples, confidence
        Number of resamples, and coverage of every interval, by default 1 − alpha.

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
    new compared with old: better, file recall: mean difference +0.250 over 8 matched tasks ...
    """
    if view is not None and view not in VIEWS:
        raise BadInputError(f"{view!r} is no view; there are: {', '.join(VIEWS)}")
    stated = stated_from(design).overridden(
        alpha=alpha, margin=margin, cluster=cluster, is_sequential=sequential
    )
    first = metrics_named([primary or stated.headline or PRIMARY])[0]
    if primary is not None:
        stated = stated.with_headline(first.name)
    family = family_with(first, metrics_named(metrics))
    coverage = 1 - stated.level if confidence is None else confidence
    needed = [Settings(seed, view=view).column(metric) for metric in family]
    ordered = some_trials(trials, needed=needed, scales=stated.reward_scale)
    configs = sorted({trial.config_name for trial in ordered})
    if baseline and baseline == comparison:
        raise BadInputError(f"both sides are {visible(baseline)}")
    stated = checked(stated, ordered).with_mcp(configs_stated(mcp_configs, configs), configs)
    settings = Settings(seed, n_resamples, coverage, stated, view)
    sides = chosen_pair(ordered, baseline, comparison, settings) or (configs[0], "")
    is_stated = bool(baseline and comparison) or sides == pair_meant(stated, configs)
    return comparison_of(
        ordered, *sides, settings, metrics=family, primary=first, is_stated=is_stated
    )


def family_with(first: Metric, family: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the family of compared metrics with that of the verdict."""
    return tuple(family) if first in family else (first, *family)


def chosen_pair(
    trials: Sequence[Trial], baseline: str, comparison: str, settings: Settings
) -> tuple[str, str] | None:
    """Return the configurations to compare; of several pairs that fit the one with most tasks.

    An empty name fits every configuration. Without a second configuration there is no pair.

    Raises
    ------
    BadInputError
        When there is no configuration of a name; the message names the closest.
    """
    configs = sorted({trial.config_name for trial in trials})
    baseline = baseline and config_named(baseline, configs)
    comparison = comparison and config_named(comparison, configs)
    meant = pair_meant(settings.stated, configs)
    if meant is not None and baseline in ("", meant[0]) and comparison in ("", meant[1]):
        return meant
    if baseline and comparison:
        return None if baseline == comparison else (baseline, comparison)
    if baseline or comparison:
        pairs = list(config_pairs(trials))
        pairs += [(b, a) for a, b in pairs]
    else:
        pairs = list(pairs_to_compare(trials, settings.stated).pairs)
    fitting = [p for p in pairs if baseline in ("", p[0]) and comparison in ("", p[1])]
    if len(fitting) < 2:
        return fitting[0] if fitting else None

    def n_shared(pair: tuple[str, str]) -> tuple[int, int]:
        matched = match(screen(arm(trials, pair[0]), arm(trials, pair[1]), settings.stated))
        return sum(None not in found.values(PRIMARY) for found in matched), len(matched)

    return max(fitting, key=n_shared)


def comparison_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    settings: Settings,
    *,
    metrics: Sequence[Metric] = FAMILY,
    primary: Metric = BY_NAME[PRIMARY],
    is_stated: bool = True,
) -> Comparison:
    """Return the comparison over trials.

    The trials are those of :func:`~retrieval_eval.agents.study.trials.trials_of`.

    Where the pair was not stated in advance (``is_stated``) it is one of all pairs of the trials'
    configurations, and its p is adjusted over them.
    """
    draft = draft_of(trials, baseline, comparison, settings, metrics=metrics, primary=primary)
    if (settings.stated.family or ("stated_pair" if is_stated else "all_pairs")) == "stated_pair":
        return finish(draft)
    own = {(baseline, comparison), (comparison, baseline)}
    others = [p for p in pairs_to_compare(trials, settings.stated).pairs if p not in own]
    if not others:
        return finish(draft)
    p_values = [p_of_lead(draft.study)]
    p_values += [
        p_of_lead(study_of(trials, *pair, settings, [primary], primary)) for pair in others
    ]
    return finish(draft, over_pairs(p_values)[0])


@dataclass(frozen=True, slots=True)
class Draft:
    """A comparison before its verdict, which may depend on those of other pairs."""

    study: Study
    trials: Sequence[Trial]
    metrics: Sequence[Metric]


def draft_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    settings: Settings,
    *,
    metrics: Sequence[Metric] = FAMILY,
    primary: Metric = BY_NAME[PRIMARY],
) -> Draft:
    """Return a comparison with all its estimates, which :func:`finish` gives a verdict."""
    study = study_of(trials, baseline, comparison, settings, metrics, primary)
    return Draft(study, trials, metrics)


def study_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    settings: Settings,
    metrics: Sequence[Metric],
    primary: Metric,
) -> Study:
    """Return design, valid trials, matched pairs and estimates of two configurations."""
    trials = as_asked(trials, primary)
    arms = (arm(trials, baseline), arm(trials, comparison))
    design = design_of(trials, baseline, comparison, settings.stated, headline=primary.name)
    valid = screen(*arms, settings.stated)
    counted = with_failures(arms, valid) if design.missing == "failure" else valid
    measure = Measure(match(counted), planned_tasks(arms, counted), settings)
    blocks = with_holm({metric.name: measure(metric) for metric in metrics})
    return Study(arms, valid, measure, blocks, primary, design)


def p_of_lead(study: Study) -> float | None:
    """Return the p of the verdict's metric; None where the pair can have no verdict."""
    return None if study.valid.failed else study.headline.p


def over_pairs(p_values: Sequence[float | None]) -> list[OverPairs | None]:
    """Return for every pair of configurations its p adjusted over all pairs that have one.

    Of two configurations there is one pair, which needs no adjustment.
    """
    if len(p_values) < 2:
        return [None] * len(p_values)
    from retrieval_eval.stats.multiplicity import holm

    adjusted = holm(p_values)
    return [OverPairs(adjusted.m, p_value) for p_value in adjusted.values]


def groups_of(comparisons: Sequence[ComparisonDocument]) -> tuple[tuple[str, ...], ...]:
    """Return the largest groups of configurations of which no two can be distinguished.

    They are the maximal cliques of the pairs that are neither better nor worse (Bron & Kerbosch
    1973), by name. Empty below three configurations, or where some pair was not compared.

    Examples
    --------
    >>> groups_of([])
    ()
    """
    apart = {
        frozenset((one.baseline_config, one.comparison_config)): one.verdict in ("better", "worse")
        for one in comparisons
    }
    configs = sorted({config for pair in apart for config in pair})
    if len(configs) < 3 or len(apart) < len(configs) * (len(configs) - 1) // 2:
        return ()
    alike = {a: {b for b in configs if b != a and not apart[frozenset((a, b))]} for a in configs}

    def grow(group: set[str], left: set[str], done: set[str]) -> Iterator[tuple[str, ...]]:
        if not left and not done:
            yield tuple(sorted(group))
        for config in sorted(left):
            yield from grow(group | {config}, left & alike[config], done & alike[config])
            left, done = left - {config}, done | {config}

    return tuple(sorted(grow(set(), set(configs), set())))


def finish(draft: Draft, over: OverPairs | None = None) -> Comparison:
    """Return the comparison with its threats and verdict.

    ``over`` is the family of pairs that it is one of; None where the pair was stated in advance.
    """
    from retrieval_eval.stats.paired import MIN_PAIRS
    from retrieval_eval.stats.robustness import n_to_overturn

    study = draft.study
    measure, blocks, primary = study.measure, study.blocks, study.primary
    pairs, settings = study.pairs, study.settings
    views = {view: _view(measure, view) for view in VIEWS}
    study = replace(
        study,
        design=study.design
        if settings.stated.family is not None
        else _with_family(study.design, "stated_pair" if over is None else "all_pairs"),
        views={view: found[primary.name] for view, found in views.items() if primary.name in found},
        over=over,
    )
    threats = threats_of(study)
    verdict, reason = verdict_of(study, threats)
    is_decided = verdict in _CLEAR
    n_tasks = None
    if is_decided:
        sample = study.sample
        n_tasks = n_to_overturn(sample.values, sample.clusters, alpha=study.design.alpha)
    is_computable = len(pairs) >= MIN_PAIRS
    concluded = {
        (name, view): _under_view(study, BY_NAME[name], view, found[name])
        for view, found in views.items()
        for name in found
    }
    if primary.name in VIEWED:
        concluded[primary.name, settings.view or VIEWS[0]] = verdict
    record = ComparisonDocument(
        baseline_config=study.arms[0].config,
        comparison_config=study.arms[1].config,
        computable=is_computable,
        reason=None if is_computable else "too_few_pairs",
        verdict=verdict,
        verdict_metric=primary.name,
        verdict_reason=reason,
        cautions=cautions(primary, draft.metrics, blocks, study.design.alpha) if is_decided else (),
        threats=threats,
        overturn=overturn_of(study, verdict, threats, n_tasks),
        n_tasks_to_overturn=n_tasks,
        p_over_pairs=None if over is None else over.p_value,
        n_family=None if over is None else over.n,
        gate=study.valid.gate,
        ledger=ledger(study.arms, study.valid, pairs),
        n_tasks_baseline=len({trial.task for trial in study.arms[0].trials}),
        n_tasks_comparison=len({trial.task for trial in study.arms[1].trials}),
        n_pairs=len(pairs),
        excluded=excluded_tasks(study.arms, study.valid, pairs),
        metrics={metric.name: blocks[metric.name] for metric in draft.metrics},
        reward_by_suite=reward_by_suite(measure, blocks.get("reward")),
        resolved=resolved_of(pairs, settings),
        views={
            view: {**found, "verdict": concluded[PRIMARY, view]} for view, found in views.items()
        },
        flips=_flips(views, concluded) if is_computable else (),
        discrimination=discrimination(measure, draft.metrics),
        difference_associations=difference_associations(pairs, measure.values, settings),
        slices=slices(measure),
        pairs=tuple(_pair_rows(measure, draft.metrics)),
        design=study.design,
    )
    names = (record.baseline_config, record.comparison_config)
    return Comparison(*names, record, tuple(draft.trials), settings)


def _with_family(design: Design, family: Family) -> Design:
    if design.family == family:
        return design
    how = "both were named" if family == "stated_pair" else "no pair was named"
    sources = design.sources | {"family": f"inferred: {how}"}
    return structs.replace(design, family=family, sources=sources)


def _under_view(study: Study, metric: Metric, view: str, found: PairedEstimate) -> Conclusion:
    """Return the conclusion about a metric under a view, which the same threats lower."""
    blocks = {**study.blocks, metric.name: PairedStatistics(**structs.asdict(found))}
    views = study.views if metric == study.primary else {}
    there = replace(study, blocks=blocks, primary=metric, view=view, views=views)
    is_lowered = not study.valid.failed and there.is_clear and lowers(there)
    return permitted(there, is_lowered=is_lowered)


View = dict[str, PairedEstimate]


def _view(measure: Measure, view: str) -> View:
    return {name: measure(BY_NAME[name], view) for name in VIEWED}


def _flips(
    views: Mapping[str, View], concluded: Mapping[tuple[str, str], Conclusion]
) -> tuple[Flip, ...]:
    """Return every headline whose sign or conclusion changes under another view."""
    rows = []
    for name in VIEWED:
        default = views[VIEWS[0]][name]
        for view in VIEWS[1:]:
            there = views[view][name]
            shown = (concluded[name, VIEWS[0]], concluded[name, view])
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


def _pair_rows(measure: Measure, metrics: Sequence[Metric]) -> Iterator[MatchedPair]:
    columns = [measure.values(measure.settings.column(metric)) for metric in metrics]
    names = [metric.name for metric in metrics]
    for pair, *sides in zip(measure.pairs, *columns, strict=True):
        yield MatchedPair(
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
                for name, (before, after) in zip(names, sides, strict=True)
            },
        )
