"""The estimate that leads for a metric: which number is read, and against which null value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from retrieval_eval.model.impact import PairedEstimate
from retrieval_eval.values import REASONS, counted, ends_beside, signed, signed_ends

PLURAL: Final = {"repository": "repositories", "suite": "suites", "model": "models"}

MOSTLY_REPEATS: Final = 0.8
"""From this share of variance on, repeats are nearly as good as tasks."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The leading estimate of a metric, with its interval, p and power.

    Parameters
    ----------
    quantity
        ``mean_difference``, ``ratio`` or ``restricted_mean``.
    estimate, low, high, p
        The number, the ends of its interval and its p-value; None where not computable.
    null
        The value without any difference: 1 for a ratio, else 0.
    n
        The pairs it is of.
    reason
        The reason code of a missing estimate, or of its missing interval.
    detectable
        The smallest value that this n could show with 80 % power: a difference, or a ratio above 1.
    """

    quantity: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    null: float
    n: int
    reason: str | None = None
    detectable: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval; the estimate itself where all differences are the same (or ratios)."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        if self.reason == "constant_input" and self.estimate is not None:
            return self.estimate, self.estimate
        return None

    @property
    def excludes_null(self) -> bool:
        """Whether there is an interval and the null value lies outside it."""
        ends = self.ends
        return ends is not None and not ends[0] <= self.null <= ends[1]

    @property
    def is_larger(self) -> bool:
        """Whether the comparison has the larger values."""
        return self.estimate is not None and self.estimate > self.null


def headline_estimate(block: PairedEstimate) -> Headline:
    """Return the leading estimate of a metric, which verdicts, tables and sentences use.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="lower_is_better",
    ...     n_pairs=9,
    ...     reason=None,
    ...     headline="ratio",
    ...     estimate=1.5,
    ...     ci_low=1.2,
    ...     ci_high=1.9,
    ...     p_value=0.004,
    ... )
    >>> found = headline_estimate(block)
    >>> found.estimate, found.null, found.excludes_null
    (1.5, 1.0, True)
    """
    return Headline(
        block.headline or "mean_difference",
        block.estimate,
        block.ci_low,
        block.ci_high,
        block.p_value,
        1.0 if block.headline == "ratio" else 0.0,
        block.n_pairs - (block.n_not_positive or 0),
        block.reason,
        block.smallest_detectable,
    )


def is_contradicted(block: PairedEstimate) -> bool:
    """Whether the mean difference over all tasks has another sign than the estimate that leads.

    A value of 0 has no ratio, but it is a value: a task that cost nothing lowers the bill. And the
    mean of uneven clusters' effects may differ from that of their tasks.
    """
    lead, change = headline_estimate(block), block.mean_difference
    is_of_others = lead.quantity == "ratio" and bool(block.n_not_positive)
    if change is None or not (is_of_others or (change and is_of_effects(block))):
        return False
    return lead.estimate is not None and (change > 0) != lead.is_larger


def without_ratio(block: PairedEstimate) -> str:
    """Return how many tasks have no ratio because a value is 0, as a clause; empty without any."""
    n = block.n_not_positive or 0
    if block.headline != "ratio" or not n:
        return ""
    return f"{counted(n, 'task')} with a value of 0 {'has' if n == 1 else 'have'} no ratio"


def has_no_estimate(block: PairedEstimate) -> bool:
    """Whether values of enough tasks for a test give no estimate, as costs of 0 give no ratio."""
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    lead = headline_estimate(block)
    return lead.estimate is None and max(lead.n, block.n_pairs) >= MIN_PAIRS_FOR_P


def deciding_estimate(block: PairedEstimate) -> Headline:
    """Return the headline with what decides: at a look among many, the numbers valid at all."""
    lead = headline_estimate(block)
    if block.always_method is None:
        return lead
    return replace(lead, low=block.always_low, high=block.always_high, p=block.always_p)


def is_by_means(block: PairedEstimate) -> bool:
    """Whether means, interval and p are those of the means of a few clusters."""
    return block.averaged_over == "clusters"


def is_of_effects(block: PairedEstimate) -> bool:
    """Whether estimate and interval are those of the effects of clusters of uneven size."""
    return block.averaged_over == "random_effects" and block.headline != "ratio"


def of_effects(block: PairedEstimate) -> str:
    """Return in a clause that uneven clusters count by their effects, and what the tasks show.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=201,
    ...     reason=None,
    ...     cluster_by="repository",
    ...     n_clusters=11,
    ...     mean_difference=0.131,
    ...     largest_cluster_share=0.46,
    ... )
    >>> print(of_effects(block))
    mean effect in 11 repositories of uneven size, the largest with 46 % of the tasks; over the
    tasks +0.131
    """
    n, share = block.n_clusters or 0, block.largest_cluster_share or 0.0
    many = PLURAL.get(block.cluster_by or "", "clusters")
    text = f"mean effect in {n} {many} of uneven size, the largest with {round(100 * share)} % of"
    text += " the tasks"
    if block.headline == "ratio" or block.mean_difference is None:
        return text
    return f"{text}; over the tasks {signed(block.mean_difference, 3)}"


def few_effective(block: PairedEstimate) -> str | None:
    """Return in a clause that a few large clusters carry the mean; None where none do.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=201,
    ...     reason=None,
    ...     cluster_by="repository",
    ...     n_clusters=11,
    ...     n_effective=2.54,
    ...     largest_cluster_share=0.46,
    ... )
    >>> print(few_effective(block))
    the 11 repositories count as about 2.5 equally large ones, since one has 46 % of the tasks: more
    repositories are missing, not more tasks
    """
    n, effective, share = block.n_clusters, block.n_effective, block.largest_cluster_share
    if n is None or effective is None or share is None or effective > n - 0.5:
        return None
    many = PLURAL.get(block.cluster_by or "", "clusters")
    return (
        f"the {n} {many} count as about {effective:.1f} equally large ones, since one has "
        f"{round(100 * share)} % of the tasks: more {many} are missing, not more tasks"
    )


def disagreement(block: PairedEstimate, alpha: float) -> str | None:
    """Return in a clause that interval and test of the headline disagree, and why if it is known.

    Clusters are the units of both. The interval allows for how few of them carry the mean, which
    the test does not; a test of few units takes few values, which the interval does not.
    """
    lead = deciding_estimate(block)
    if lead.p is None or lead.ends is None or (lead.p < alpha) == lead.excludes_null:
        return None
    why = few_effective(block) if lead.p < alpha else _coarse_p(block, lead)
    return f"interval and test disagree: {why}" if why else "interval and test disagree"


_COARSE: Final = 0.01
"""Steps of p that are larger are a reason for a test to miss what an interval shows."""


def _coarse_p(block: PairedEstimate, lead: Headline) -> str | None:
    """Return in a clause that an exact p of so few units takes few values; None of many units."""
    n = lead.n if block.n_effective is None else block.n_clusters or lead.n
    step = 2.0 ** (1 - n)
    if step < _COARSE:
        return None
    units = "tasks" if block.n_effective is None else PLURAL.get(block.cluster_by or "", "clusters")
    return f"of {n} {units} p can only be a multiple of {step:.3f}"


def looks_sentence(block: PairedEstimate) -> str | None:
    """Return what holds however often a comparison is read, in a sentence; None without looks."""
    if block.always_method is None:
        return None
    if block.always_low is None or block.always_high is None or block.always_p is None:
        return f"nothing holds at every look yet: {REASONS[block.reason or 'too_few_values']}"
    ends = ends_said(block.always_low, block.always_high, is_ratio=block.headline == "ratio")
    p_value = "p < 0.001" if block.always_p < 0.001 else f"p = {block.always_p:.3f}"
    exact = "" if block.always_method == "betting" else " (exact for normal values)"
    return (
        f"at every look together {ends}, {p_value}{exact}: it may be read again while trials are "
        "added"
    )


def ends_said(low: float, high: float, *, is_ratio: bool) -> str:
    """Return the ends of an interval in words.

    Examples
    --------
    >>> ends_said(0.5, 2.0, is_ratio=True), ends_said(-0.1, 0.2, is_ratio=False)
    ('0.50 to 2.00 times', '−0.100 to +0.200')
    """
    if is_ratio:
        first, last = ends_beside(low, high, 1.0, lambda value, digits: f"{value:.{digits}f}")
        return f"{first} to {last} times"
    return " to ".join(signed_ends(low, high, 3))


def repeats_sentence(block: PairedEstimate) -> str | None:
    """Return whether more tasks or more repeats would make the headline surer, in a sentence.

    From the variance of the differences between tasks and that of repeats inside them. Twice as
    many tasks halve both, twice as many repeats the second only; both double the trials. None where
    the two are not known.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=9,
    ...     reason=None,
    ...     variance_between=0.03,
    ...     variance_within=0.01,
    ... )
    >>> print(repeats_sentence(block))
    25 % of the variance of the differences comes from repeats: twice as many repeats would shorten
    the interval by 6 %, twice as many tasks by 29 %; more tasks help
    """
    between, within = block.variance_between, block.variance_within
    if between is None or within is None or between + within <= 0:
        return None
    share = within / (between + within)
    by_repeats, by_tasks = 1 - math.sqrt(1 - share / 2), 1 - math.sqrt(0.5)
    advice = "more repeats help about as much" if share >= MOSTLY_REPEATS else "more tasks help"
    return (
        f"{share:.0%} of the variance of the differences comes from repeats: twice as many repeats "
        f"would shorten the interval by {by_repeats:.0%}, twice as many tasks by {by_tasks:.0%}; "
        f"{advice}"
    ).replace("%", " %")
