"""Threats of what was not measured: values that an arm lacks, files that may have been found."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from retrieval_eval.agents.events.retrieved import VIEWS
from retrieval_eval.agents.study.arms import Arm
from retrieval_eval.agents.study.estimates import known_part, mean_known
from retrieval_eval.agents.study.pairs import Planned, Side, clusters_of
from retrieval_eval.agents.study.threats import THREATS, Study, kind
from retrieval_eval.agents.study.trials import Trial, average, known_values
from retrieval_eval.model.impact import Threat
from retrieval_eval.values import counted, signed

RECALL: Final = "file_recall"
LOW: Final = "file_recall_low"
HIGH: Final = "file_recall_high"

_MIN_DOUBTED: Final = 3
"""Tasks below which those that an arm lacks are not compared with the others."""


@THREATS.register("lacking_values")
@kind(
    title="Missing values",
    meaning="values that an arm lacks could change the result",
    gravity=45,
)
def _lacking_values(study: Study) -> Iterator[Threat]:
    if study.headline.quantity != "mean_difference":
        yield from _lacking_without_range(study)
        return
    block, arms = study.block, study.arms
    low, high = block.bound_low, block.bound_high
    lacking = (block.n_lacking_baseline, block.n_lacking_comparison)
    if low is None or high is None or not any(lacking):
        return
    is_up = (block.mean_difference or 0.0) > 0
    worst = low if is_up else high
    ends = (worst,) if study.is_clear else (low, high)
    is_reversed = any(map(study.overturns, ends))
    has_effect = is_reversed or not _is_clear_at_worst(study, _completed(study))
    n = block.n_planned or 0
    parts = [
        f"{k} of {counted(n, 'task')} with {arm.config}"
        for k, arm in zip(lacking, arms, strict=True)
        if k
    ]
    text = f"values are missing on {' and '.join(parts)}"
    text += (
        f": over all of them the mean difference lies between {signed(low, 3)} and "
        f"{signed(high, 3)}"
    )
    # A gain is overturned by low missing values of the comparison or high ones of the baseline.
    tips = [
        f"of {arm.config} average {'above' if is_up == (arm is arms[0]) else 'below'} {tip:.2f}"
        for arm, tip in zip(arms, (block.tipping_baseline, block.tipping_comparison), strict=True)
        if tip is not None
    ]
    if is_reversed and study.found == "equivalent":
        text += ", beyond the margin"
    elif is_reversed and not round(worst, 9):
        text += ", so there may be no difference at all"
    elif is_reversed:
        how = f"changes if those {' or if those '.join(tips)}" if tips else "can change"
        text += f"; the sign {how}"
    elif has_effect:
        text += "; at their worst it is not clear"
    elif is_up == (worst > 0) and worst:
        text += ", so they cannot change its sign"
    text += "".join(f"; {said}" for said in _which(study))
    over = _how(study, tips) if has_effect else _overturn(tips)
    if has_effect and (over is None or study.found == "equivalent"):
        over = "if the missing values are as adverse as they can be"
    yield Threat(
        name="lacking_values",
        value=worst,
        unit="mean difference, worst case",
        effect="lowers" if has_effect else "none",
        sentence=text,
        arm=_only([arm.config for arm, k in zip(arms, lacking, strict=True) if k]),
        estimate=worst,
        overturn=over,
    )


def _overturn(tips: Sequence[str]) -> str | None:
    return f"if the missing values {' or those '.join(tips)}" if tips else None


def _how(study: Study, tips: Sequence[str]) -> str | None:
    """Return which missing values make the difference unclear, or of the other sign."""
    if not study.is_clear:
        return _overturn(tips)
    unclear = [
        f"of {arm.config} average {'below' if is_low else 'above'} {mean:.2f}"
        for arm, is_low, mean in _unclear_means(study)
    ]
    return _overturn(unclear) or _overturn(tips)


Row = tuple[Planned, float]
"""A planned task with a difference, which may be assumed."""


def _completed(
    study: Study,
    columns: tuple[str, str] | None = None,
    at: tuple[float, float] | None = None,
    tasks: Sequence[Planned] | None = None,
) -> list[Row]:
    """Return the differences of all planned tasks, or of some, every missing value at its worst.

    ``columns`` are those of both arms, by default of the metric; ``at`` what the missing values of
    both arms are taken as, by default the ends of the metric that speak against the difference.
    """
    before, after = columns or (study.column, study.column)
    ends = at or ((1.0, 0.0) if study.sign > 0 else (0.0, 1.0))
    return [
        (
            task,
            _assumed(study, task.comparison, after, ends[1])
            - _assumed(study, task.baseline, before, ends[0]),
        )
        for task in (_with_truth(study) if tasks is None else tasks)
    ]


def _assumed(study: Study, side: Side, column: str, missing: float) -> float:
    """Return the mean of one side, its trials without a value and those lost as ``missing``."""
    values = [t.numbers.get(column, t.numbers.get(study.column, missing)) for t in side.trials]
    n_gone = side.n_lost if values or side.n_lost else 1
    return statistics.mean([*values, *[missing] * n_gone])


def _is_clear_at_worst(study: Study, rows: Sequence[Row]) -> bool:
    """Whether a clear difference stays clear, with its sign, under assumed values."""
    from retrieval_eval.stats.robustness import mean_test

    if not study.is_clear:
        return True
    labels = clusters_of([task for task, _ in rows], study.settings.stated.cluster).labels
    test = mean_test([value for _, value in rows], labels)
    return test is not None and study.sign * test.mean > 0 and test.is_clear(study.design.alpha)


_STEPS: Final = 12
"""Halvings by which a mean of missing values is found: to a quarter of a thousandth."""


def _unclear_means(study: Study) -> Iterator[tuple[Arm, bool, float]]:
    """Yield for each arm that lacks values the mean of these at which the difference is unclear.

    The other arm's missing values are taken as the mean of those it has. Nothing is given for an
    arm that alone cannot make the difference unclear, or with which it never is clear.
    """
    tasks = _with_truth(study)
    own = [[known_part(getattr(task, side), study.column) for task in tasks] for side in _SIDES]
    means = [mean_known(sides) for sides in own]
    for place, (arm, sides) in enumerate(zip(study.arms, own, strict=True)):
        if not any(side.missing for side in sides):
            continue
        is_low = (study.sign > 0) == (place == 1)

        def is_clear(mean: float, place: int = place) -> bool:
            at = (mean, means[1]) if place == 0 else (means[0], mean)
            return _is_clear_at_worst(study, _completed(study, at=at))

        bad, good = (0.0, 1.0) if is_low else (1.0, 0.0)
        if is_clear(bad) or not is_clear(good):
            continue
        for _ in range(_STEPS):
            middle = (bad + good) / 2
            bad, good = (bad, middle) if is_clear(middle) else (middle, good)
        yield arm, is_low, good


def _only(configs: Sequence[str]) -> str | None:
    return configs[0] if len(configs) == 1 else None


def _with_truth(study: Study) -> list[Planned]:
    """Return the planned tasks that have the metric of the verdict."""
    is_outcome = study.primary.path[0] == "outcome"
    return [task for task in study.planned if is_outcome or task.has_ground_truth]


def _which(study: Study) -> Iterator[str]:
    """Yield, for each arm that lacks tasks, how hard the other arm found these tasks."""
    tasks = _with_truth(study)
    sides: tuple[Literal["baseline", "comparison"], ...] = ("baseline", "comparison")
    for side, other, arm, witness in zip(
        sides, reversed(sides), study.arms, reversed(study.arms), strict=True
    ):
        without: list[float] = []
        within: list[float] = []
        for task in tasks:
            value = average(getattr(task, other).trials, study.column)
            if value is not None:
                has = bool(known_values(getattr(task, side).trials, study.column))
                (within if has else without).append(value)
        if len(without) < _MIN_DOUBTED or len(within) < _MIN_DOUBTED:
            continue
        there, here = statistics.mean(without), statistics.mean(within)
        error = math.sqrt(sum(statistics.variance(v) / len(v) for v in (without, within)))
        if abs(there - here) <= 2 * error:
            continue
        is_harder = (there < here) == (study.primary.direction == "higher_is_better")
        yield (
            f"the tasks that {arm.config} lacks are the {'harder' if is_harder else 'easier'} "
            f"ones: {witness.config} has {there:.2f} on them and {here:.2f} on the others"
        )


def _lacking_without_range(study: Study) -> Iterator[Threat]:
    """Yield a threat where values without a largest one are missing.

    They have no worst case. The difference is taken to be overturned where it would vanish if
    every missing task were as adverse as the most adverse measured one.
    """
    tasks = [task for task in _with_truth(study) if not _is_free(study, task)]
    lacking = [[task for task in tasks if not _has_value(study, getattr(task, s))] for s in _SIDES]
    test = study.sample.test()
    n_measured = len(study.sample.values)
    n_missing = len(tasks) - n_measured
    if study.headline.estimate is None or test is None or not any(lacking) or n_missing <= 0:
        return
    sign = 1 if test.mean > 0 else -1
    tip = -test.mean * n_measured / n_missing
    adverse = min(sign * value for value in study.sample.values)
    has_effect = study.is_clear and sign * tip >= min(adverse, 0.0)
    parts = [
        f"{len(own)} of {counted(len(tasks), 'task')} with {arm.config}"
        for own, arm in zip(lacking, study.arms, strict=True)
        if own
    ]
    quantity = "ratio" if study.sample.is_ratio else "difference"
    size = study.sample.said(tip).removesuffix(" times")
    where = f"on {counted(n_missing, 'task')} without a pair"
    yield Threat(
        name="lacking_values",
        value=study.sample.on_scale(tip),
        unit="mean of the missing pairs",
        effect="lowers" if has_effect else "none",
        sentence=f"values are missing on {' and '.join(parts)}: a {quantity} of {size} {where} "
        "would cancel the difference",
        arm=_only([a.config for a, own in zip(study.arms, lacking, strict=True) if own]),
        overturn=f"if the {quantity} is {size} {where}",
    )


def _has_value(study: Study, side: Side) -> bool:
    if study.headline.quantity == "restricted_mean":
        # A time that is negative is not known.
        return any(t.never_hit or t.numbers.get(study.column, -1.0) >= 0 for t in side.trials)
    return bool(known_values(side.trials, study.column))


def _is_free(study: Study, task: Planned) -> bool:
    """Whether a task has no ratio because a value is 0, which is no missing value."""
    known = [known_values(getattr(task, side).trials, study.column) for side in _SIDES]
    return study.sample.is_ratio and any(own and min(own) <= 0 for own in known)


# Files that may have been found


@THREATS.register("evidence_width")
@kind(
    title="Open evidence",
    meaning="traces leave open whether expected files were found, which could change the result",
    gravity=50,
)
def _evidence_width(study: Study) -> Iterator[Threat]:
    if study.primary.name != RECALL or (study.view or study.settings.view or VIEWS[0]) != VIEWS[0]:
        return
    open_trials = [[t for t in _used(study, side) if _width(t) > 0] for side in _SIDES]
    if not any(open_trials) or study.block.mean_difference is None:
        return
    low, high = _at_ends(study)
    worst = low if study.sign > 0 else high
    ends = (worst,) if study.is_clear else (low, high)
    columns = (HIGH, LOW) if study.sign > 0 else (LOW, HIGH)
    is_reversed = any(map(study.overturns, ends))
    has_effect = is_reversed or not _is_clear_at_worst(study, _opened(study, columns))
    joint = _completed(study, columns)
    # Missing values alone are a threat of their own.
    is_joint = (
        not has_effect
        and _is_clear_at_worst(study, _completed(study))
        and not _is_clear_at_worst(study, joint)
    )
    parts = [
        f"{len(own)} of {counted(len(_used(study, side)), 'trial')} of {arm.config}"
        for own, side, arm in zip(open_trials, _SIDES, study.arms, strict=True)
        if own
    ]
    text = (
        f"{' and '.join(parts)} may have found more files than is certain: the mean difference "
        f"lies between {signed(low, 3)} and {signed(high, 3)}"
    )
    if is_joint:
        mean = statistics.mean(value for _, value in joint)
        text += f", and together with missing values it can be {signed(mean, 3)}, which is unclear"
    elif has_effect and not is_reversed:
        text += "; at its worst it is not clear"
    elif has_effect:
        text += ", beyond the margin" if study.found == "equivalent" else "; the sign can change"
    elif study.is_clear:
        text += ", so they cannot change its sign"
    over = None
    if has_effect or is_joint:
        over = f"if only {study.arms[study.sign < 0].config} found the open files"
        if study.found == "equivalent":
            over = "if only one of the arms found the open files"
        over += " and the missing values are as adverse as they can be" if is_joint else ""
    yield Threat(
        name="evidence_width",
        value=high - low,
        unit="width of the mean difference",
        effect="lowers" if has_effect or is_joint else "none",
        sentence=text,
        arm=_only([arm.config for own, arm in zip(open_trials, study.arms, strict=True) if own]),
        estimate=worst,
        overturn=over,
    )


Named = Literal["baseline", "comparison"]
_SIDES: Final[tuple[Named, Named]] = ("baseline", "comparison")


def _used(study: Study, side: Named) -> list[Trial]:
    return [t for pair in study.sample.pairs for t in getattr(pair, side)]


def _width(trial: Trial) -> float:
    low, high = trial.numbers.get(LOW), trial.numbers.get(HIGH)
    return 0.0 if low is None or high is None else high - low


def _end(trials: Sequence[Trial], column: str) -> float | None:
    """Return an end of file recall of one side, the stated value where a trial has no bounds."""
    values = [t.numbers.get(column, t.numbers.get(RECALL)) for t in trials if RECALL in t.numbers]
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def _at_ends(study: Study) -> tuple[float, float]:
    """Return the mean difference with every open file against the comparison, and for it."""
    pairs, test = study.sample.pairs, study.sample.test()
    weights = [1 / len(pairs)] * len(pairs) if test is None else test.weights.tolist()

    def mean(before: str, after: str) -> float:
        changes = (
            (_end(pair.comparison, after) or 0.0) - (_end(pair.baseline, before) or 0.0)
            for pair in pairs
        )
        return math.fsum(w * change for w, change in zip(weights, changes, strict=True))

    return mean(HIGH, LOW), mean(LOW, HIGH)


def _opened(study: Study, columns: tuple[str, str]) -> list[Row]:
    """Return the differences of the matched tasks at the stated ends of their bounds."""
    tasks = [
        Planned(
            *(pair.benchmark, pair.task_name),
            *(Side(pair.baseline, 0), Side(pair.comparison, 0)),
            *(pair.repositories, True),
        )
        for pair in study.sample.pairs
    ]
    return _completed(study, columns, tasks=tasks)
