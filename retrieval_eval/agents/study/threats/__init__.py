"""What could overturn a comparison: each threat is a number, a sentence and an effect.

``effect`` of a threat is ``none`` where the verdict does not change, ``lowers`` where it is weaker
than the measured tasks alone would show, and ``withholds`` where there is no verdict. To add a
kind of threat, add a function here or an entry point.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval.agents.metrics.catalog import Metric
from retrieval_eval.agents.study.arms import Arm
from retrieval_eval.agents.study.design import Pair, Planned
from retrieval_eval.agents.study.estimates import Measure, observed_times
from retrieval_eval.agents.study.gate import Valid
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.trials import SCALES_DIFFER, Trial, average, known_values
from retrieval_eval.agents.study.verdict import (
    Conclusion,
    Headline,
    apparent,
    deciding_estimate,
    headline_estimate,
    without_ratio,
)
from retrieval_eval.model.design import Design
from retrieval_eval.model.impact import (
    ComparisonDocument,
    PairedEstimate,
    PairedStatistics,
    Threat,
)
from retrieval_eval.registry import Registry
from retrieval_eval.values import counted, signed

if TYPE_CHECKING:
    from retrieval_eval.stats.equivalence import Equivalence
    from retrieval_eval.stats.robustness import MeanTest

GRAVITY: Final = 100.0
"""The gravity of a kind of threat that states none."""

LARGEST: Final = 1e100
"""Differences beyond this cannot be squared, and are of no real metric; nothing threatens them."""

SIDES: Final[tuple[Literal["baseline"], Literal["comparison"]]] = ("baseline", "comparison")

Keep = Callable[[Trial], bool]
"""Whether a trial counts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The differences of the matched tasks on the scale on which they are averaged.

    ``values`` are comparison minus baseline; of a metric that is led by its ratio they are log
    ratios. ``clusters`` label the tasks, where they are clustered.
    """

    pairs: tuple[Pair, ...]
    values: tuple[float, ...]
    clusters: tuple[Hashable, ...] | None
    is_ratio: bool

    def test(self, places: Sequence[int] | None = None) -> MeanTest | None:
        """Return the test of the mean, of all tasks or of those at some places."""
        from retrieval_eval.stats.robustness import mean_test

        if places is None:
            return mean_test(self.values, self.clusters)
        labels = None if self.clusters is None else [self.clusters[i] for i in places]
        return mean_test([self.values[i] for i in places], labels)

    def on_scale(self, value: float) -> float:
        """Return a mean as documents give it: a difference, or a ratio."""
        # Beyond this no ratio is a number.
        return math.exp(min(value, 700.0)) if self.is_ratio else value

    def said(self, value: float, digits: int = 3) -> str:
        """Return a mean in print: ``+0.120`` or ``1.27 times``."""
        return f"{math.exp(min(value, 50.0)):.2f} times" if self.is_ratio else signed(value, digits)


@dataclass(frozen=True)
class Study:
    """The input of every kind of threat: one comparison before its verdict.

    ``measure`` holds the matched pairs and the planned tasks, ``blocks`` the estimates by metric.
    ``primary`` is the metric of the verdict. ``view`` is what counts as retrieved in it, where that
    is not the settings' own. ``views`` are the estimates of the metric under every view, where it
    has views; ``over`` the family of pairs that the verdict is one of.
    """

    arms: tuple[Arm, Arm]
    valid: Valid
    measure: Measure
    blocks: Mapping[str, PairedStatistics]
    primary: Metric
    design: Design
    view: str | None = None
    views: Mapping[str, PairedEstimate] = field(default_factory=dict)
    over: OverPairs | None = None

    @property
    def pairs(self) -> Sequence[Pair]:
        """The matched pairs."""
        return self.measure.pairs

    @property
    def planned(self) -> Sequence[Planned]:
        """Every task that a trial of either arm ran."""
        return self.measure.planned

    @property
    def settings(self) -> Settings:
        """The settings of the study."""
        return self.measure.settings

    @property
    def column(self) -> str:
        """The column of trials that holds the metric of the verdict."""
        return self.settings.column(self.primary, self.view)

    @property
    def block(self) -> PairedEstimate:
        """The estimate of the metric of the verdict."""
        return self.blocks[self.primary.name]

    @cached_property
    def headline(self) -> Headline:
        """The leading estimate of the metric of the verdict."""
        return headline_estimate(self.block)

    @cached_property
    def found(self) -> Conclusion:
        """What the measured tasks show, whatever threatens it.

        Where a margin is stated and the difference is shown to lie within it, the arms are
        equivalent, also when the difference is clear. Where it is not, and no difference is clear,
        the comparison may still be shown not to be worse by the margin.
        """
        same, low, high = self.equivalence, self.block.always_low, self.block.always_high
        measured = apparent(self.block, self.design.alpha)
        if same is None or not same.is_equivalent or without_ratio(self.block):
            # What holds of the tasks with a ratio is not shown of all.
            is_open = measured == "no_detectable_difference" and not without_ratio(self.block)
            return "not_worse" if is_open and self._is_not_worse() else measured
        if self.block.always_method is None:
            return "equivalent"
        # The interval that holds at every look has to lie within the margins too.
        is_inside = (
            low is not None
            and high is not None
            and same.margin_low < low
            and high < same.margin_high
        )
        return "equivalent" if is_inside else measured

    def _is_not_worse(self) -> bool:
        """Whether the interval that decides lies above a loss of the margin (non-inferiority).

        It is that of the confidence of the study: with that of two one-sided tests, 90 % of 95 %, a
        loss of the margin was called none in up to 10 % of simulated studies.
        """
        ends, margin = deciding_estimate(self.block).ends, self.design.margin
        if ends is None or margin is None:
            return False
        is_ratio = self.sample.is_ratio
        low, high = map(math.log, ends) if is_ratio else ends
        least = math.log(ratio_margin(margin)) if is_ratio else margin
        is_gain_higher = self.primary.direction == "higher_is_better"
        return low > -least if is_gain_higher else high < least

    @cached_property
    def equivalence(self) -> Equivalence | None:
        """The test of the difference against the stated margin; None where none is stated."""
        margin = self.design.margin
        if margin is None or self.headline.p is None:
            return None
        from retrieval_eval.stats.equivalence import equivalence_of_pairs, equivalence_of_ratios

        sample = self.sample
        options: dict[str, Any] = {
            "seed": self.settings.seed,
            "is_higher_better": self.primary.direction == "higher_is_better",
            "alpha": self.design.alpha,
            "n_resamples": self.settings.n_resamples,
            "clusters": sample.clusters,
        }
        if sample.is_ratio:
            return equivalence_of_ratios(sample.values, ratio_margin(margin), **options)
        return equivalence_of_pairs(sample.values, margin, **options)

    @cached_property
    def n_changed(self) -> int:
        """The tasks that differ between the arms, or the clusters in which any does."""
        values, clusters = self.sample.values, self.sample.clusters
        if clusters is None:
            return sum(value != 0 for value in values)
        sums: dict[Hashable, list[float]] = defaultdict(list)
        for label, value in zip(clusters, values, strict=True):
            sums[label].append(value)
        return sum(bool(round(math.fsum(own), 12)) for own in sums.values())

    @property
    def is_undecidable(self) -> bool:
        """Whether no test of the tasks that differ could fall below the level.

        Few tasks are the reason only where most of them differ: arms that are alike on most of
        many tasks show no detectable difference.
        """
        from retrieval_eval.stats.resampling import MIN_CLUSTERS, attainable_level

        n, changed = len(self.sample.values), self.n_changed
        clusters = self.sample.clusters
        units = n if clusters is None else len(set(clusters))
        if self.block.always_method or (clusters is not None and units < MIN_CLUSTERS):
            return False
        return 2 * changed > units and attainable_level(changed, self.design.alpha) == 0

    @property
    def used(self) -> tuple[list[Trial], list[Trial]]:
        """The trials of both arms on the matched tasks that have the metric."""
        before, after = (
            [trial for pair in self.sample.pairs for trial in getattr(pair, side)] for side in SIDES
        )
        return before, after

    @property
    def is_clear(self) -> bool:
        """Whether the measured tasks show a difference."""
        return self.found in ("better", "worse")

    @property
    def sign(self) -> int:
        """1 where the comparison has the larger values, else -1."""
        return 1 if self.headline.is_larger else -1

    @cached_property
    def sample(self) -> Sample:
        """The differences of the matched tasks."""
        return self.sample_of()

    def sample_of(self, keep: Keep | None = None) -> Sample:
        """Return the differences of the matched tasks, from the trials that count."""
        kept = self.pairs
        if keep is not None:
            kept = [
                replace(
                    pair,
                    baseline=tuple(filter(keep, pair.baseline)),
                    comparison=tuple(filter(keep, pair.comparison)),
                )
                for pair in kept
            ]
        known = list(self._changes(kept))
        if self.block.reason == SCALES_DIFFER or any(abs(v) > LARGEST for _, v in known):
            known = []
        pairs = tuple(pair for pair, _ in known)
        labels = self.measure.clusters(pairs).labels
        return Sample(
            pairs,
            tuple(value for _, value in known),
            None if labels is None else tuple(labels),
            self.headline.quantity == "ratio",
        )

    def _changes(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, float]]:
        """Yield the tasks of the estimate with their change; times of those never hit too."""
        quantity = self.headline.quantity
        if quantity == "restricted_mean":
            # Without an end no trial found a file, and there is no estimate.
            until = self.block.until or 0.0
            for pair, *times in observed_times(pairs, self.primary):
                means = [
                    statistics.mean(min(math.inf if t is None else t, until) for t in side)
                    for side in times
                ]
                yield pair, means[1] - means[0]
            return
        for pair in pairs:
            first, second = map(self._side, (pair.baseline, pair.comparison))
            if first is None or second is None:
                continue
            if quantity == "mean_difference":
                yield pair, second - first
            elif first > 0 and second > 0:
                yield pair, math.log(second) - math.log(first)

    def _side(self, trials: Sequence[Trial]) -> float | None:
        if self.headline.quantity == "mean_difference":
            return average(trials, self.column)
        # As the estimate: a repeat of 0 or below has no logarithm, and its task no ratio.
        from retrieval_eval.stats.paired import geometric_mean

        known = known_values(trials, self.column)
        return geometric_mean(known) if known else None

    def overturns(self, estimate: float | None) -> bool:
        """Whether a mean on the sample's scale contradicts what the measured tasks show.

        A clear difference is contradicted by none and by one of the other sign, equivalence by one
        beyond the margin, and that it is not worse by a loss beyond it.
        """
        if estimate is None:
            return False
        if self.is_clear:
            # A sum of exactly 0 can leave a rounding error.
            return round(self.sign * estimate, 9) <= 0
        if self.found in ("equivalent", "not_worse") and self.design.margin is not None:
            margin = self.design.margin
            is_ratio = self.sample.is_ratio
            is_loss = (estimate < 0) == (self.primary.direction == "higher_is_better")
            is_of_interest = is_loss or self.found == "equivalent"
            beyond = abs(estimate) > (math.log(ratio_margin(margin)) if is_ratio else margin)
            return is_of_interest and beyond
        return False


def by_arm(
    study: Study, counts: Sequence[int], of: Sequence[int], what: str, *, has_all: bool = False
) -> str:
    """Return counts of both arms in words; an arm without any is left out, unless it has to be in.

    ``what`` is one of what is counted: ``0 of 12 trials of old and 5 of 12 trials of new``.
    """
    word = "with" if what == "task" else "of"
    return " and ".join(
        f"{n} of {counted(total, what)} {word} {arm.config}"
        for n, total, arm in zip(counts, of, study.arms, strict=True)
        if n or has_all
    )


def only_arm(study: Study, counts: Sequence[int]) -> str | None:
    """Return the configuration that alone has a count; None where both or neither have one."""
    named = [arm.config for n, arm in zip(counts, study.arms, strict=True) if n]
    return named[0] if len(named) == 1 else None


def ratio_margin(margin: float) -> float:
    """Return a stated margin as a ratio: both 0.1 and 1.1 are ten percent.

    Examples
    --------
    >>> ratio_margin(0.25), ratio_margin(1.25)
    (1.25, 1.25)
    """
    return margin if margin > 1 else 1 + margin


@dataclass(frozen=True, slots=True)
class OverPairs:
    """The family of pairs of configurations that a comparison is one of.

    ``p_value`` is that of the verdict's metric, adjusted over the ``n`` pairs that have one (Holm).
    """

    n: int
    p_value: float | None


@dataclass(frozen=True, slots=True)
class ThreatKind:
    """One kind of threat.

    ``check`` is given the :class:`Study` and yields the threats that it finds. ``title`` is the
    printed name and ``meaning`` what the kind is about. ``gravity`` orders threats of the same
    effect, the gravest (least) first.
    """

    check: Callable[[Study], Iterator[Threat]]
    title: str
    meaning: str
    gravity: float = GRAVITY


THREATS: Final = Registry[ThreatKind](
    "retrieval_eval.threats",
    "threat",
    ("retrieval_eval.agents.study.threats.tasks", "retrieval_eval.agents.study.threats.trials"),
)
"""Every kind of threat by name, in the order in which documents list them."""


def kind(
    *, title: str, meaning: str, gravity: float = GRAVITY
) -> Callable[[Callable[[Study], Iterator[Threat]]], ThreatKind]:
    """Return a decorator that makes a function a :class:`ThreatKind`.

    Examples
    --------
    >>> @kind(title="Friday", meaning="an arm ran on a Friday", gravity=90)
    ... def friday(study):
    ...     yield from ()
    >>> friday.title, friday.gravity
    ('Friday', 90)
    """
    return lambda check: ThreatKind(check, title, meaning, gravity)


def threats_of(study: Study) -> tuple[Threat, ...]:
    """Return every threat to a comparison, in the order of their kinds; none beside no arm."""
    if not all(arm.trials for arm in study.arms):
        return ()
    return tuple(threat for entry in THREATS.values() for threat in entry.check(study))


def lowers(study: Study) -> bool:
    """Whether a threat lowers what the measured tasks show; the first that does ends the search."""
    return any(
        threat.effect == "lowers" for entry in THREATS.values() for threat in entry.check(study)
    )


def leading_threats(record: ComparisonDocument, n: int = 3) -> tuple[Threat, ...]:
    """Return the ``n`` threats to a comparison that matter most, as every page leads with them.

    Those that change the verdict come first, then by the gravity of their kind.
    """
    return tuple(
        sorted(record.threats, key=lambda t: (_EFFECTS.index(t.effect), gravity_of(t.name)))
    )[:n]


_EFFECTS: Final = ("withholds", "lowers", "none")


def gravity_of(name: str) -> float:
    """Return the gravity of a kind of threat; an unknown one has the least weight."""
    return THREATS[name].gravity if name in THREATS else GRAVITY


def threat_title(name: str) -> str:
    """Return the printed name of a kind of threat; an unknown one as it is named.

    Examples
    --------
    >>> threat_title("few_clusters"), threat_title("unheard_of")
    ('Few clusters', 'Unheard of')
    """
    return THREATS[name].title if name in THREATS else name.replace("_", " ").capitalize()


def threat_rows(record: ComparisonDocument) -> Iterator[dict[str, Any]]:
    """Yield one row a threat, those that matter most first."""
    sides = {
        "baseline_config": record.baseline_config,
        "comparison_config": record.comparison_config,
    }
    for threat in leading_threats(record, len(record.threats)):
        yield sides | {"title": threat_title(threat.name)} | structs.asdict(threat)
