"""How many matched tasks the next comparison needs, from the spread that a pilot study shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.compare import Comparison
from retrieval_eval.agents.study.verdict import (
    PLURAL,
    Headline,
    headline_estimate,
    is_by_means,
    repeats_sentence,
)
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.impact import ComparisonDocument, PairedEstimate
from retrieval_eval.values import REASONS, counted

DEFAULT_DIFFERENCE: Final = 0.05
"""What is looked for in metrics from 0 to 1 where nothing is stated."""

DEFAULT_SHARE: Final = 0.2
"""The same of cost, time and tokens, as a share of the baseline's."""

MAX_TASKS: Final = 100_000
"""Where more are needed there is no number."""

POWER: Final = 0.8


@dataclass(frozen=True, slots=True)
class TasksNeeded:
    """How many matched tasks show a difference with 80 % power; see :func:`tasks_needed`.

    ``n_tasks`` is None where no number of tasks up to 100,000 is enough; ``n_tasks_low`` and
    ``n_tasks_high`` are the numbers at the ends of the 95 % interval of the pilot's spread, and
    ``n_clusters`` the clusters like those of the pilot in which the tasks lie, None where each task
    counts by itself. ``note`` says whether more repeats would help.
    """

    baseline_config: str
    comparison_config: str
    metric: str
    is_ratio: bool
    difference: float
    n_tasks: int | None
    n_tasks_low: int | None
    n_tasks_high: int | None
    n_clusters: int | None
    cluster_by: str | None
    n_pilot: int
    power: float = POWER
    note: str = ""

    def sentence(self) -> str:
        """Return the answer in a sentence."""
        label = BY_NAME[self.metric].label if self.metric in BY_NAME else self.metric
        what = (
            f"{label} that is {100 * self.difference:g} % higher"
            if self.is_ratio
            else f"a difference of {self.difference:g} in {label}"
        )
        aim = f"To see {what} with {100 * self.power:g} % power"
        if self.n_tasks is None:
            return f"{aim}, more than {MAX_TASKS:,} matched tasks like these would be needed."
        where = ""
        if self.n_clusters is not None:
            where = f" in {self.n_clusters:,} {PLURAL.get(self.cluster_by or '', 'clusters')}"
            where += " like these; more tasks of the same ones help less"
        most = f"over {MAX_TASKS:,}" if self.n_tasks_high is None else f"{self.n_tasks_high:,}"
        return (
            f"{aim}, {counted(self.n_tasks, 'matched task')} are needed{where}. Between "
            f"{self.n_tasks_low or 0:,} and {most}, since {counted(self.n_pilot, 'task')} of a "
            "pilot show their spread only roughly."
        )


def tasks_needed(
    pilot: Comparison | ComparisonDocument,
    *,
    metric: str | None = None,
    difference: float | None = None,
) -> TasksNeeded:
    """Return how many matched tasks a study needs to see a difference with 80 % power.

    The spread of the tasks' differences is that of the pilot; what is to be seen is stated. The
    difference that the pilot happened to show is not used: it is too large where it is clear, and
    a power computed from it says nothing new. Power is that of a clear verdict, test and interval
    together (:func:`~retrieval_eval.stats.power.detectable_by_test_and_interval`). Of clustered
    tasks the spread is that of the clusters, and new tasks lie in new clusters of such sizes.

    In simulated studies (``docs/verdict-simulation.md``) of normal differences it holds within four
    points, with rewards of 0 and 1 the power is 76 %; of very skewed differences it is not known.

    Parameters
    ----------
    pilot
        A comparison with six or more matched tasks.
    metric
        A compared metric; by default that of the verdict.
    difference
        The smallest mean difference that would change a decision, in the unit of the metric; of
        cost, time and tokens a share of the baseline's, 0.2 for 1.2 times as much. By default 0.05
        and 0.2.

    Raises
    ------
    BadInputError
        When the metric was not compared, or the difference is none that it can have.
    NothingToEvaluateError
        When the pilot shows no spread: it has too few matched tasks, or all differ equally.

    Examples
    --------
    >>> import retrieval_eval as rev
    >>> found = tasks_needed(rev.compare(rev.load_run("demo").trials), difference=0.1)
    >>> found.n_tasks_low < found.n_tasks < found.n_tasks_high
    True
    """
    record = pilot.record if isinstance(pilot, Comparison) else pilot
    name = metric or record.verdict_metric
    if name not in record.metrics:
        raise BadInputError(
            f"{name!r} was not compared; compared: {', '.join(record.metrics) or 'nothing'}"
        )
    block = record.metrics[name]
    lead = headline_estimate(block)
    is_ratio = lead.quantity == "ratio"
    target = _target(block, name, difference, is_ratio=is_ratio)
    if lead.detectable is None or lead.detectable <= lead.null:
        reason = "constant_input" if lead.reason is None and lead.n >= 6 else "too_few_pairs"
        raise NothingToEvaluateError(
            f"the pilot shows no spread of {name} between {record.baseline_config} and "
            f"{record.comparison_config}: {REASONS[lead.reason or reason]}"
        )
    from retrieval_eval.stats.power import INTERVAL_EXCESS, detectable_of_units, units_needed

    seen = math.log(lead.detectable) if is_ratio else lead.detectable
    shift = math.log1p(target) if is_ratio else target
    n_units, is_clustered = _units(block, lead)
    given: dict[str, Any] = {
        "alpha": 0.05 if record.design is None else record.design.alpha,
        # The interval of log ratios is Student's own.
        "excess": 0.0 if is_ratio else INTERVAL_EXCESS,
        "share_effective": (block.n_effective or n_units) / n_units,
        "is_clustered": is_clustered,
    }
    spread = seen / detectable_of_units(n_units, **given)
    low, high = _ends_of_spread(n_units - 1)
    units = [
        units_needed(shift / (spread * by), most=MAX_TASKS, **given) for by in (1.0, low, high)
    ]
    tasks = [None if u is None else math.ceil(u * lead.n / n_units) for u in units]
    return TasksNeeded(
        baseline_config=record.baseline_config,
        comparison_config=record.comparison_config,
        metric=name,
        is_ratio=is_ratio,
        difference=target,
        n_tasks=tasks[0],
        n_tasks_low=tasks[1],
        n_tasks_high=tasks[2],
        n_clusters=units[0] if is_clustered else None,
        cluster_by=block.cluster_by if is_clustered else None,
        n_pilot=lead.n,
        note=_note(block),
    )


def _note(block: PairedEstimate) -> str:
    said = repeats_sentence(block)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _target(block: PairedEstimate, name: str, difference: float | None, *, is_ratio: bool) -> float:
    """Return what is to be seen, stated or usual."""
    if difference is None:
        if not is_ratio and block.kind != "bounded":
            raise BadInputError(
                f"state the difference to see: {name} has no usual one, as metrics from 0 to 1, "
                "cost, time and tokens have"
            )
        return DEFAULT_SHARE if is_ratio else DEFAULT_DIFFERENCE
    if not 0 < difference < math.inf or (block.kind == "bounded" and difference >= 1):
        limit = "between 0 and 1" if block.kind == "bounded" else "above 0"
        raise BadInputError(f"a difference to see in {name} lies {limit}, not at {difference:g}")
    return difference


def _units(block: PairedEstimate, lead: Headline) -> tuple[int, bool]:
    """Return the number of independent units of a pilot, and whether they are clusters."""
    is_clustered = block.n_effective is not None or is_by_means(block)
    return (block.n_clusters if is_clustered else None) or lead.n, is_clustered


def _ends_of_spread(freedom: int) -> tuple[float, float]:
    """Return the ends of the chi-square interval of a standard deviation, as shares of it."""
    from scipy.special import chdtri

    low, high = (math.sqrt(freedom / float(chdtri(freedom, tail))) for tail in (0.025, 0.975))
    return low, high
