"""Threats of which tasks count: what was not measured, clusters, groups, single tasks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.study.design import Pair, Planned, clusters_of, labels_by
from retrieval_eval.agents.study.estimates import bounds, known_part
from retrieval_eval.agents.study.threats import SIDES, THREATS, Study, by_arm, kind, only_arm
from retrieval_eval.agents.study.trials import Trial, average, known_values
from retrieval_eval.agents.study.verdict import PLURAL
from retrieval_eval.model.impact import Threat
from retrieval_eval.stats.resampling import MIN_CLUSTERS
from retrieval_eval.values import counted, signed

if TYPE_CHECKING:
    from retrieval_eval.stats.robustness import MeanTest

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
    found = bounds(study.planned, study.primary, study.column, study.block)
    if study.block.bound_low is None or found is None or not any(found.lacking):
        return
    tasks = _with_truth(study)
    worst, has_effect, said = _at_worst(study, found.low, found.high)
    if study.is_clear:
        assumed, has_effect = _tail(study, tasks)
        if assumed:
            said = f"the mean difference lies between {signed(found.low, 3)} and "
            said += f"{signed(found.high, 3)}; {assumed}"
    counts = by_arm(study, found.lacking, (found.n, found.n), "task")
    yield Threat(
        name="lacking_values",
        value=worst,
        unit="mean difference, worst case",
        effect="lowers" if has_effect else "none",
        sentence="; ".join(
            (f"values are missing on {counts}: over all of them {said}", *_which(study, tasks))
        ),
        arm=only_arm(study, found.lacking),
        estimate=worst,
        overturn=_unclear_means(study, tasks) if has_effect else None,
    )


def _with_truth(study: Study) -> list[Planned]:
    """Return the planned tasks that have the metric of the verdict."""
    is_outcome = study.primary.path[0] == "outcome"
    return [task for task in study.planned if is_outcome or task.has_ground_truth]


def _at_worst(
    study: Study, low: float, high: float, *, is_clear: bool = True
) -> tuple[float, bool, str]:
    """Return the worst mean difference, whether it overturns the result, and a clause about it.

    ``is_clear`` is whether a clear difference stays so under the values of the worst end.
    """
    worst = low if study.sign > 0 else high
    ends = (worst,) if study.is_clear else (low, high)
    has_effect = True
    if any(map(study.overturns, ends)) and not study.is_clear:
        how = ", beyond the margin"
    elif any(map(study.overturns, ends)):
        how = "; the sign can change" if round(worst, 9) else ", so there may be no difference"
    elif not is_clear:
        how = "; at its worst it is not clear"
    else:
        has_effect = False
        how = ", so they cannot change its sign" if study.sign * worst > 0 else ""
    text = f"the mean difference lies between {signed(low, 3)} and {signed(high, 3)}{how}"
    return worst, has_effect, text


def _tail(study: Study, tasks: Sequence[Planned]) -> tuple[str, bool]:
    """Return what the missing tasks would be as the worst of all, and whether that is unclear.

    The missing of n differences are taken as the lowest of a normal distribution, or the highest
    where the difference is negative, as far as the metric can be so. Where more than a fifth is
    missing or the others do not differ, their spread says too little: the missing ones are at the
    end of the metric then, and there is no sentence.
    """
    values, assumed = _likely_values(study, tasks)
    is_clear = _is_clear(study, tasks, values)
    if assumed is None:
        return "", not is_clear
    mean, m = assumed
    how = "it stays clear" if is_clear else "it is not clear"
    which = "the missing task" if m == 1 else f"the {m} missing tasks"
    text = f"if {which} were the worst of {len(tasks)}, with about {signed(mean, 2)}, {how}"
    return text, not is_clear


def _likely_values(
    study: Study, tasks: Sequence[Planned], columns: tuple[str, str] | None = None
) -> tuple[list[float], tuple[float, int] | None]:
    """Return the differences of planned tasks, the missing ones as the worst of all.

    Beside them, the mean of those and their number; None where they are at the end of the metric.
    """
    from retrieval_eval.stats.robustness import MIN_UNITS, mean_of_worst

    values = _planned_values(study, tasks, columns)
    lost = [
        not all(known_values(getattr(task, side).trials, study.column) for side in SIDES)
        for task in tasks
    ]
    seen = [v for v, is_lost in zip(values, lost, strict=True) if not is_lost]
    is_known = len(seen) >= MIN_UNITS and max(seen) - min(seen) > _LEAST_SPREAD
    if not 0 < sum(lost) <= _MOST_MISSING * len(tasks) or not is_known or not study.is_clear:
        return values, None
    sign = study.sign
    mean = sign * mean_of_worst([sign * value for value in seen], sum(lost))
    nearer = max if sign > 0 else min
    found = [nearer(v, mean) if is_lost else v for v, is_lost in zip(values, lost, strict=True)]
    missing = [value for value, is_lost in zip(found, lost, strict=True) if is_lost]
    return found, (statistics.mean(missing), len(missing))


def _planned_values(
    study: Study,
    tasks: Sequence[Planned],
    columns: tuple[str, str] | None = None,
    ends: tuple[float, float] | None = None,
) -> list[float]:
    """Return the differences of planned tasks, every missing value at its worst.

    ``columns`` are those of both arms, by default of the metric; ``ends`` what the missing values
    of both arms are taken as, by default the ends of the metric that speak against the difference.
    """
    ends = ends or ((1.0, 0.0) if study.sign > 0 else (0.0, 1.0))
    sides = [
        [
            _mean(study, side.trials, column, [end] * _n_missing(study, side.trials, side.n_lost))
            for side in (getattr(task, name) for task in tasks)
        ]
        for name, column, end in zip(SIDES, columns or (study.column,) * 2, ends, strict=True)
    ]
    return [after - before for before, after in zip(*sides, strict=True)]


def _n_missing(study: Study, trials: Sequence[Trial], n_lost: int) -> int:
    n_known = len(known_values(trials, study.column))
    return len(trials) - n_known + n_lost or int(not n_known)


def _mean(study: Study, trials: Sequence[Trial], column: str, more: Sequence[float] = ()) -> float:
    """Return the mean of a column of trials that have the metric, and of more values."""
    known = [t.numbers for t in trials if study.column in t.numbers]
    return statistics.mean([*(own.get(column, own[study.column]) for own in known), *more])


def _is_clear(
    study: Study, tasks: Sequence[Planned] | Sequence[Pair], values: Sequence[float]
) -> bool:
    """Whether a clear difference stays clear, with its sign, under assumed values."""
    from retrieval_eval.stats.robustness import mean_test

    if not study.is_clear:
        return True
    test = mean_test(values, clusters_of(tasks, study.settings.stated.cluster).labels)
    return test is not None and study.sign * test.mean > 0 and test.is_clear(study.design.alpha)


_MOST_MISSING: Final = 0.2
"""Share of tasks up to which the others show what the missing ones may be."""

_LEAST_SPREAD: Final = 1e-9

_STEPS: Final = 12
"""Halvings by which a mean of missing values is found: to a quarter of a thousandth."""


def _unclear_means(study: Study, tasks: Sequence[Planned]) -> str:
    """Return at which mean of the missing values of an arm the difference is not clear.

    The other arm's missing values are taken as the mean of those it has.
    """
    own = [[known_part(getattr(task, side), study.column) for task in tasks] for side in SIDES]
    known = [[s.part / (1 - s.missing) for s in sides if s.missing < 1] for sides in own]
    means = [statistics.fmean(values) if values else 0.5 for values in known]
    said = []
    for place, (arm, sides) in enumerate(zip(study.arms, own, strict=True)):
        is_low = (study.sign > 0) == (place == 1)

        def is_clear(mean: float, place: int = place) -> bool:
            ends = (mean, means[1]) if place == 0 else (means[0], mean)
            return _is_clear(study, tasks, _planned_values(study, tasks, ends=ends))

        bad, good = (0.0, 1.0) if is_low else (1.0, 0.0)
        if not any(side.missing for side in sides) or is_clear(bad) or not is_clear(good):
            continue
        for _ in range(_STEPS):
            middle = (bad + good) / 2
            bad, good = (bad, middle) if is_clear(middle) else (middle, good)
        said.append(f"of {arm.config} average {'below' if is_low else 'above'} {good:.2f}")
    return f"if the missing values {' or those '.join(said) or 'are as adverse as they can be'}"


def _which(study: Study, tasks: Sequence[Planned]) -> Iterator[str]:
    """Yield, for each arm that lacks tasks, how hard the other arm found these tasks."""
    rows = zip(SIDES, SIDES[::-1], study.arms, study.arms[::-1], strict=True)
    for side, other, arm, witness in rows:
        parts: tuple[list[float], list[float]] = ([], [])
        for task in tasks:
            value = average(getattr(task, other).trials, study.column)
            if value is not None:
                parts[bool(known_values(getattr(task, side).trials, study.column))].append(value)
        if min(map(len, parts)) < _MIN_DOUBTED:
            continue
        there, here = map(statistics.mean, parts)
        error = math.sqrt(sum(statistics.variance(part) / len(part) for part in parts))
        if abs(there - here) > 2 * error:
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
    sample, test = study.sample, study.sample.test()
    tasks = [task for task in _with_truth(study) if not _is_free(study, task)]
    lacking = tuple(
        sum(not _has_value(study, getattr(task, side).trials) for task in tasks) for side in SIDES
    )
    n_missing = len(tasks) - len(sample.values)
    if study.headline.estimate is None or test is None or not any(lacking) or n_missing <= 0:
        return
    sign = 1 if test.mean > 0 else -1
    tip = -test.mean * len(sample.values) / n_missing
    adverse = min(sign * value for value in sample.values)
    quantity = "ratio" if sample.is_ratio else "difference"
    size = sample.said(tip).removesuffix(" times")
    where = f"on {counted(n_missing, 'task')} without a pair"
    counts = by_arm(study, lacking, (len(tasks),) * 2, "task")
    yield Threat(
        name="lacking_values",
        value=sample.on_scale(tip),
        unit="mean of the missing pairs",
        effect="lowers" if study.is_clear and sign * tip >= min(adverse, 0.0) else "none",
        sentence=f"values are missing on {counts}: a {quantity} of {size} {where} would cancel the "
        "difference",
        arm=only_arm(study, lacking),
        overturn=f"if the {quantity} is {size} {where}",
    )


def _has_value(study: Study, trials: Sequence[Trial]) -> bool:
    if study.headline.quantity == "restricted_mean":
        # A time that is negative is not known.
        return any(t.never_hit or t.numbers.get(study.column, -1.0) >= 0 for t in trials)
    return bool(known_values(trials, study.column))


def _is_free(study: Study, task: Planned) -> bool:
    """Whether a task has no ratio because a value is 0, which is no missing value."""
    known = [known_values(getattr(task, side).trials, study.column) for side in SIDES]
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
    used = study.used
    n_open = tuple(sum(map(_is_open, trials)) for trials in used)
    if not any(n_open) or study.block.mean_difference is None:
        return
    test, pairs = study.sample.test(), study.sample.pairs
    weights = [1 / len(pairs)] * len(pairs) if test is None else test.weights.tolist()
    against, in_favour = (
        [_mean(study, p.comparison, after) - _mean(study, p.baseline, before) for p in pairs]
        for before, after in ((HIGH, LOW), (LOW, HIGH))
    )
    low, high = (
        math.fsum(w * change for w, change in zip(weights, changes, strict=True))
        for changes in (against, in_favour)
    )
    is_clear = _is_clear(study, pairs, against if study.sign > 0 else in_favour)
    worst, has_effect, said = _at_worst(study, low, high, is_clear=is_clear)
    over = None
    if has_effect:
        over = f"if only {study.arms[study.sign < 0].config} found the open files"
        if study.found == "equivalent":
            over = "if only one of the arms found the open files"
    elif joint := _with_missing(study):
        has_effect = True
        said += f", and together with missing values it can be {joint}, which is unclear"
        over = f"if only {study.arms[study.sign < 0].config} found the open files and the missing "
        over += "tasks are the worst of all"
    counts = by_arm(study, n_open, tuple(map(len, used)), "trial")
    yield Threat(
        name="evidence_width",
        value=high - low,
        unit="width of the mean difference",
        effect="lowers" if has_effect else "none",
        sentence=f"{counts} may have found more files than is certain: {said}",
        arm=only_arm(study, n_open),
        estimate=worst,
        overturn=over,
    )


def _is_open(trial: Trial) -> bool:
    return trial.numbers.get(LOW, 0.0) < trial.numbers.get(HIGH, 0.0)


def _with_missing(study: Study) -> str | None:
    """Return the mean difference that open and missing values make unclear only together."""
    tasks = _with_truth(study)
    joint, _ = _likely_values(study, tasks, (HIGH, LOW) if study.sign > 0 else (LOW, HIGH))
    if not _is_clear(study, tasks, _likely_values(study, tasks)[0]):
        # Missing values alone are a threat of their own.
        return None
    return None if _is_clear(study, tasks, joint) else signed(statistics.mean(joint), 3)


# --------------------------------------------------------------------------------------------------
# Threats of how tasks hang together: clusters, groups that disagree, single tasks.

DECIDING: Final = 0.4
"""A task that carries at least this share of the difference decides where Student's interval of the
others holds 0. One that carries half leaves no such interval without 0 to begin with."""

_TELLING: Final = 1 / 3
"""A task that carries at least this share of the difference is named."""

_MIN_IN_GROUP: Final = 3


@THREATS.register("few_clusters")
@kind(
    title="Few clusters",
    meaning="the tasks are of fewer than six repositories or suites",
    gravity=30,
)
def _few_clusters(study: Study) -> Iterator[Threat]:
    block = study.block
    by, n = block.cluster_by, block.n_clusters
    if by is None or n is None or n >= MIN_CLUSTERS or block.mean_difference is None:
        return
    text = counted(block.n_pairs, "matched task")
    if n > 1:
        text += f" in {n} {PLURAL[by]}: the {by} means are compared, each counting the same (t, "
        text += f"{counted(n - 1, 'degree')} of freedom)"
    else:
        text += f", all of one {by}: the result is about this {by} only"
        if not any(pair.repositories for pair in study.pairs):
            text += ", and takes tasks as independent, because none states its repository"
    yield Threat(
        name="few_clusters",
        value=n,
        unit=PLURAL[by],
        effect="none",
        sentence=text,
        estimate=study.headline.estimate,
    )


DIMENSIONS: Final[Mapping[str, Callable[[Sequence[Pair]], list[Hashable]]]] = {
    "suite": lambda pairs: labels_by("suite", pairs),
    "repository": lambda pairs: labels_by("repository", pairs),
    "model": lambda pairs: [pair.baseline[0].model for pair in pairs],
}
"""What the tasks are split by, with the function that labels them."""


@THREATS.register("heterogeneity")
@kind(
    title="Groups that disagree",
    meaning="the difference depends on the suite, repository or model",
    gravity=20,
)
def _heterogeneity(study: Study) -> Iterator[Threat]:
    from retrieval_eval.stats.multiplicity import holm
    from retrieval_eval.stats.robustness import interaction_p

    sample = study.sample
    splits = {
        by: labels
        for by, label in DIMENSIONS.items()
        if 1 < len(set(labels := label(sample.pairs))) < len(labels)
    }
    if study.view is not None and not any(_opposite(study, own) for own in splits.values()):
        # Of a view only what lowers it is of interest, and no interaction needs to be tested.
        return
    seed = study.settings.seed
    tested = {
        by: p_value
        for by, own in splits.items()
        if (p_value := interaction_p(sample.values, own, sample.clusters, seed=seed)) is not None
    }
    for by, p_value in zip(tested, holm(list(tested.values())).values, strict=True):
        if p_value is None or p_value >= study.design.alpha:
            continue
        groups, opposite = _groups(study, splits[by]), _opposite(study, splits[by])
        named = [
            f"{sample.said(test.mean, 2)} in {name} ({counted(test.n, 'task')})"
            for name, test, _ in (groups[:1] + groups[-1:] if len(groups) > 1 else ())
        ]
        text = f"the difference depends on the {by} (p = {p_value:.3f})"
        yield Threat(
            name="heterogeneity",
            value=p_value,
            unit="p",
            effect="lowers" if opposite else "none",
            sentence=": ".join([text, *([" to ".join(named)] if named else [])]),
            estimate=sample.on_scale(opposite[0][1].mean) if opposite else None,
            overturn=f"if tasks are as those of {opposite[0][0]}" if opposite else None,
        )


def _opposite(study: Study, labels: Sequence[Hashable]) -> list[tuple[str, MeanTest]]:
    """Return the groups that clearly contradict what all tasks show, the largest first."""
    return [
        (name, test)
        for name, test, p_value in _groups(study, labels)
        if p_value < study.design.alpha and study.overturns(test.mean)
    ]


def _groups(study: Study, labels: Sequence[Hashable]) -> list[tuple[str, MeanTest, float]]:
    """Return the groups of at least three tasks with p adjusted over them, the largest first."""
    from retrieval_eval.stats.multiplicity import holm

    places: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    tests = [
        # A task that states no repository is named itself.
        (
            str(label[1])
            if isinstance(label, tuple)
            else "unknown"
            if label is None
            else str(label),
            test,
        )
        for label, own in places.items()
        if len(own) >= _MIN_IN_GROUP and (test := study.sample.test(own)) is not None
    ]
    adjusted = holm([test.p_value for _, test in tests]).values
    groups = [(n, t, 1.0 if p is None else p) for (n, t), p in zip(tests, adjusted, strict=True)]
    return sorted(groups, key=lambda group: (-group[1].mean, group[0]))


@THREATS.register("one_task")
@kind(
    title="One task decides",
    meaning="the result changes without a single task",
    gravity=25,
)
def _one_task(study: Study) -> Iterator[Threat]:
    from retrieval_eval.stats.robustness import largest

    sample = study.sample
    found = largest(sample.values, sample.clusters) if study.is_clear else None
    if found is None:
        return
    rest, pair = found.without, sample.pairs[found.place]
    changes_sign = study.overturns(rest.mean)
    low, high = rest.ends(1 - study.design.alpha)
    has_effect = changes_sign or (found.share >= DECIDING and low <= 0 <= high)
    if not (changes_sign or found.share >= _TELLING):
        return
    task = f"{pair.benchmark}/{pair.task_name}"
    how = ", the other sign" if changes_sign else ", which is not clear" if has_effect else ""
    yield Threat(
        name="one_task",
        value=found.share,
        unit="share of the difference",
        effect="lowers" if has_effect else "none",
        sentence=f"one of {counted(len(sample.values), 'matched task')}, {task}, carries "
        f"{100 * min(found.share, 1):.0f} % of the difference: without it, "
        f"{sample.said(rest.mean)}{how}",
        estimate=sample.on_scale(rest.mean),
        overturn=f"without the task {task}" if has_effect else None,
    )
