"""Threats of how tasks hang together: clusters, groups that disagree, single tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from retrieval_eval.model.impact import Threat
from retrieval_eval.stats.clusters import MIN_CLUSTERS
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.values import counted

PLURAL: Final = {"repository": "repositories", "suite": "suites"}


@THREATS.register("few_clusters")
@kind(
    title="Few clusters",
    meaning="the tasks are of fewer than six repositories or suites",
    gravity=50,
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
        text = (
            f"{tasks} in {n} {PLURAL[by]}: means, interval and p are computed from the {by} "
            f"means, each counting the same (t, {counted(n - 1, 'degree')} of freedom)"
        )
        if by == "repository" and not all(pair.repositories for pair in study.pairs):
            text += "; a task that states no repository counts as one of its own"
    yield Threat(name="few_clusters", value=n, unit=PLURAL[by], effect="none", sentence=text)
