"""Threats of how tasks hang together: clusters, groups that disagree, single tasks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.study.headline import PLURAL
from retrieval_eval.agents.study.pairs import Pair, labels_by
from retrieval_eval.agents.study.threats import THREATS, Study, kind
from retrieval_eval.model.impact import Threat
from retrieval_eval.stats.clusters import MIN_CLUSTERS
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.stats.robustness import Heterogeneity, MeanTest

DECIDING: Final = 0.4
"""A task that carries at least this share of the difference decides where Student's interval of the
others holds 0. One that carries half leaves no such interval without 0 to begin with."""

_TELLING: Final = 1 / 3
"""A task that carries at least this share of the difference is named."""

_MOST_NAMED: Final = 2
"""Groups of either sign that a sentence names."""

_MIN_IN_GROUP: Final = 3


@THREATS.register("few_clusters")
@kind(
    title="Few clusters",
    meaning="the tasks are of fewer than six repositories or suites",
    gravity=30,
)
def _few_clusters(study: Study) -> Iterator[Threat]:
    block = study.block
    by, n, n_pairs = block.cluster_by, block.n_clusters, block.n_pairs
    if by is None or n is None or n >= MIN_CLUSTERS or not block.computable:
        return
    tasks = counted(n_pairs, "matched task")
    if n == 1:
        text = f"{tasks}, all of one {by}: the result is about this {by} only"
        if not any(pair.repositories for pair in study.pairs):
            text += ", and takes tasks as independent, because none states its repository"
    else:
        what = "means and interval" if study.headline.p is None else "means, interval and p"
        text = (
            f"{tasks} in {n} {PLURAL[by]}: {what} are computed from the {by} "
            f"means, each counting the same (t, {counted(n - 1, 'degree')} of freedom)"
        )
        if by == "repository" and not all(pair.repositories for pair in study.pairs):
            text += "; a task that states no repository counts as one of its own"
    yield Threat(
        name="few_clusters",
        value=n,
        unit=PLURAL[by],
        effect="none",
        sentence=text,
        estimate=study.headline.estimate,
    )


# Groups that disagree


@dataclass(frozen=True, slots=True)
class _Group:
    """The difference of one group of tasks, and p that it is 0, adjusted over all groups."""

    label: str
    test: MeanTest
    p_value: float


def _model(pairs: Sequence[Pair]) -> list[Hashable]:
    return [pair.baseline[0].model for pair in pairs]


DIMENSIONS: Final[Mapping[str, Callable[[Sequence[Pair]], list[Hashable]]]] = {
    "suite": lambda pairs: labels_by("suite", pairs),
    "repository": lambda pairs: labels_by("repository", pairs),
    "model": _model,
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

    splits = {
        by: labels
        for by, label in DIMENSIONS.items()
        if 1 < len(set(labels := label(study.sample.pairs))) < len(labels)
    }
    if study.view is not None and not any(_opposite(study, own) for own in splits.values()):
        # Of a view only what lowers it is of interest, and no interaction needs to be tested.
        return
    found = {by: result for by, own in splits.items() if (result := _interaction(study, own))}
    adjusted = holm([result.p_value for result in found.values()]).values
    for (by, result), p_value in zip(found.items(), adjusted, strict=True):
        if p_value is not None and p_value < study.design.alpha:
            yield _disagreement(study, by, splits[by], result, p_value)


def _interaction(study: Study, labels: Sequence[Hashable]) -> Heterogeneity | None:
    from retrieval_eval.stats.robustness import heterogeneity

    sample = study.sample
    return heterogeneity(sample.values, labels, sample.clusters, seed=study.settings.seed)


def _disagreement(
    study: Study, by: str, labels: Sequence[Hashable], result: Heterogeneity, p_value: float
) -> Threat:
    opposite = _opposite(study, labels)
    sample = study.sample
    named = _named(study, _groups(study, labels))
    spread = sample.on_scale(result.spread)
    text = f"the difference depends on the {by} (p = {p_value:.3f})"
    if named:
        text += f": {named}"
    if result.low is not None and result.high is not None:
        low, high = result.low, result.high
        if study.block.kind == "bounded":
            low, high = max(low, -1.0), min(high, 1.0)
        ends = f"{sample.said(low, 2)} and {sample.said(high, 2)}"
        text += f"; of a further {by} it would lie between {ends}"
    return Threat(
        name="heterogeneity",
        value=spread,
        unit=f"standard deviation of {by} means" + (", as a ratio" if sample.is_ratio else ""),
        effect="lowers" if opposite else "none",
        sentence=text,
        estimate=sample.on_scale(opposite[0].test.mean) if opposite else None,
        overturn=f"if tasks are as those of {opposite[0].label}" if opposite else None,
    )


def _opposite(study: Study, labels: Sequence[Hashable]) -> list[_Group]:
    """Return the groups that clearly contradict what all tasks show: other signs, a large one."""
    return [
        group
        for group in _groups(study, labels)
        if group.p_value < study.design.alpha and study.overturns(group.test.mean)
    ]


def _groups(study: Study, labels: Sequence[Hashable]) -> list[_Group]:
    """Return the groups of at least three tasks, the largest difference first."""
    from retrieval_eval.stats.multiplicity import holm

    places: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    tests = [
        (_label(label), test)
        for label, own in places.items()
        if len(own) >= _MIN_IN_GROUP and (test := study.sample.test(own)) is not None
    ]
    adjusted = holm([test.p_value for _, test in tests]).values
    groups = [
        _Group(label, test, 1.0 if p is None else p)
        for (label, test), p in zip(tests, adjusted, strict=True)
    ]
    return sorted(groups, key=lambda group: (-group.test.mean, group.label))


def _label(label: Hashable) -> str:
    """Return a group in print; a task that states no repository is named itself."""
    return str(label[1]) if isinstance(label, tuple) else str("unknown" if label is None else label)


def _named(study: Study, groups: Sequence[_Group]) -> str:
    """Return the groups that gained and lost most, in words."""
    is_higher_better = study.primary.direction == "higher_is_better"

    def said(group: _Group) -> str:
        amount = study.sample.said(group.test.mean, 2)
        return f"{group.label} ({amount}, {counted(group.test.n, 'task')})"

    gains = [g for g in groups if (g.test.mean > 0) == is_higher_better and g.test.mean]
    losses = [g for g in groups if (g.test.mean < 0) == is_higher_better and g.test.mean]
    gains.sort(key=lambda g: -abs(g.test.mean))
    losses.sort(key=lambda g: -abs(g.test.mean))
    parts = [
        f"{word} in {', '.join(map(said, own[:_MOST_NAMED]))}"
        for word, own in (("better", gains), ("worse", losses))
        if own
    ]
    return ", ".join(parts)


# Single tasks


@THREATS.register("one_task")
@kind(
    title="One task decides",
    meaning="the result changes without a single task",
    gravity=25,
)
def _one_task(study: Study) -> Iterator[Threat]:
    from retrieval_eval.stats.robustness import largest

    if not study.is_clear:
        return
    sample = study.sample
    found = largest(sample.values, sample.clusters)
    if found is None:
        return
    pair = sample.pairs[found.place]
    rest = found.without
    changes_sign = study.overturns(rest.mean)
    low, high = rest.ends(1 - study.design.alpha)
    decides = found.share >= DECIDING and low <= 0 <= high
    if not (changes_sign or found.share >= _TELLING):
        return
    task = f"{pair.benchmark}/{pair.task_name}"
    text = (
        f"one of {counted(len(sample.values), 'matched task')}, {task}, carries "
        f"{100 * min(found.share, 1):.0f} % of the difference: without it, {sample.said(rest.mean)}"
    )
    if changes_sign:
        text += ", the other sign"
    elif decides:
        text += ", which is not clear"
    yield Threat(
        name="one_task",
        value=found.share,
        unit="share of the difference",
        effect="lowers" if changes_sign or decides else "none",
        sentence=text,
        estimate=sample.on_scale(rest.mean),
        overturn=f"without the task {task}" if changes_sign or decides else None,
    )
