"""The plan of a study: how many tasks and repeats it takes to see a difference."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.meta import EMPTY_LIST, NULL, Count, Record, Share, about


class Assumption(Record, frozen=True, kw_only=True):
    """A number that a plan rests on, and where it comes from."""

    name: Annotated[str, about("Which number")]
    meaning: Annotated[str, about("What it is")]
    value: Annotated[float, about("The number")]
    low: Annotated[float | None, about("Lower end of its 95 % interval")] = NULL
    high: Annotated[float | None, about("Upper end of its 95 % interval")] = NULL
    unit: Annotated[str, about("Unit")] = ""
    source: Annotated[str, about("stated, default, or the pilot study and what of it")]


class PlanNeed(Record, frozen=True, kw_only=True):
    """What a number of repeats needs."""

    repeats: Annotated[Count, about("Trials of a task in each arm", unit="trials")]
    n_tasks: Annotated[Count | None, about("Tasks needed for the power", unit="tasks")] = NULL
    n_tasks_low: Annotated[
        Count | None, about("Tasks needed at the lower end of the spread", unit="tasks")
    ] = NULL
    n_tasks_high: Annotated[
        Count | None, about("Tasks needed at the upper end of the spread", unit="tasks")
    ] = NULL
    n_trials: Annotated[Count | None, about("Trials of both arms together", unit="trials")] = NULL


class PlanPoint(Record, frozen=True, kw_only=True):
    """The power of a study of some size."""

    repeats: Annotated[Count, about("Trials of a task in each arm", unit="trials")]
    n_tasks: Annotated[Count, about("Matched tasks", unit="tasks")]
    n_trials: Annotated[Count, about("Trials of both arms together", unit="trials")]
    power: Annotated[Share, about("Share of such studies with a clear verdict", unit="0–1")]
    power_low: Annotated[
        Share | None, about("The same at the upper end of the spread", unit="0–1")
    ] = NULL
    power_high: Annotated[
        Share | None, about("The same at the lower end of the spread", unit="0–1")
    ] = NULL


class StudyPlan(Record, frozen=True, kw_only=True):
    """How many tasks and repeats a comparison needs."""

    metric: Annotated[str, about("Metric of the verdict")]
    scale: Annotated[
        Literal["difference", "ratio"],
        about("What is looked for: a mean difference, or a ratio of geometric means"),
    ]
    target: Annotated[float, about("The difference or ratio to see", unit="of the metric")]
    alpha: Annotated[float, about("Two-sided level of the test", unit="0–1")]
    power: Annotated[Share, about("Wanted power", unit="0–1")]
    repeats: Annotated[Count, about("Trials of a task in each arm", unit="trials")]
    n_tasks: Annotated[
        Count | None, about("Matched tasks needed; null where no number is enough", unit="tasks")
    ] = NULL
    n_trials: Annotated[Count | None, about("Trials of both arms together")] = NULL
    tasks: Annotated[Count | None, about("Stated number of matched tasks", unit="tasks")] = NULL
    detectable: Annotated[
        float | None,
        about("Smallest difference or ratio that the stated tasks show", unit="of the metric"),
    ] = NULL
    detectable_low: Annotated[
        float | None, about("The same at the lower end of the spread", unit="of the metric")
    ] = NULL
    detectable_high: Annotated[
        float | None, about("The same at the upper end of the spread", unit="of the metric")
    ] = NULL
    achieved: Annotated[
        Share | None, about("Power of the stated tasks for the target", unit="0–1")
    ] = NULL
    assumptions: Annotated[tuple[Assumption, ...], about("What it rests on")]
    needs: Annotated[tuple[PlanNeed, ...], about("Tasks needed, by number of repeats")]
    curve: Annotated[tuple[PlanPoint, ...], about("Power by number of tasks and of repeats")]
    notes: Annotated[tuple[str, ...], about("What the plan cannot take into account")] = EMPTY_LIST
