"""Threats of how tasks hang together: clusters, groups that disagree, single tasks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.study.headline import PLURAL
from retrieval_eval.agents.study.pairs import Pair, labels_by
from retrieval_eval.agents.study.threats import THREATS, Study, kind
from retrieval_eval.model.impact import Threat
from retrieval_eval.stats.resampling import MIN_CLUSTERS
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.stats.robustness import MeanTest

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
