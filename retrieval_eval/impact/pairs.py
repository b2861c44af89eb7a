"""Matched pairs: the same task under two configurations, repeats averaged inside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retrieval_eval.impact.arms import Arm, Document, Task, task_of
from retrieval_eval.impact.validity import Valid, lacks_ground_truth
from retrieval_eval.metrics.catalog import Metric, read_metric
from retrieval_eval.values import Value, mean


@dataclass(frozen=True, slots=True)
class Pair:
    """One task under two configurations; repeats are kept and averaged when read."""

    benchmark: str
    task_name: str
    baseline: tuple[Document, ...]
    comparison: tuple[Document, ...]

    def values(self, metric: Metric) -> tuple[Value, Value]:
        """Return the metric of both sides, repeats averaged."""
        return (
            mean(read_metric(d, metric) for d in self.baseline),
            mean(read_metric(d, metric) for d in self.comparison),
        )

    @property
    def repositories(self) -> tuple[str, ...]:
        """The repositories of the task, by name."""
        return tuple(self.baseline[0]["coverage"].get("repositories") or ())


def match(valid: Valid) -> tuple[Pair, ...]:
    """Return a pair for every task that valid trials of both arms ran, by suite and task."""
    shared = sorted(valid.baseline.keys() & valid.comparison.keys())
    return tuple(Pair(*task, valid.baseline[task], valid.comparison[task]) for task in shared)


def clusters_of(pairs: Sequence[Pair]) -> tuple[str | None, list[str] | None]:
    """Return what the pairs are clustered by, and the label of each; None where by nothing.

    Tasks of one repository are alike, and so are those of one suite. The finest grouping that
    joins some tasks and leaves at least six groups is used. A metric that some tasks lack is
    clustered by what is left of them.
    """
    from retrieval_eval.stats.clusters import MIN_CLUSTERS

    labels = {
        "repository": ["+".join(pair.repositories) for pair in pairs],
        "suite": [pair.benchmark for pair in pairs],
    }
    for name, found in labels.items():
        if all(found) and MIN_CLUSTERS <= len(set(found)) < len(found):
            return name, found
    return None, None


def excluded_tasks(
    arms: tuple[Arm, Arm], valid: Valid, pairs: Sequence[Pair]
) -> list[dict[str, Any]]:
    """Return every task of either arm that gave no pair, with the rule that left an arm none."""
    paired = {(pair.benchmark, pair.task_name) for pair in pairs}
    left = {arms[0].config: valid.baseline, arms[1].config: valid.comparison}
    removed_by: dict[Task, str] = {}
    for finding in valid.findings:
        for document in finding.removed:
            if task_of(document) not in left[document["provenance"]["config_name"]]:
                removed_by.setdefault(task_of(document), finding.name)
    tasks = [{task_of(d) for d in arm.trials} for arm in arms]
    rows = []
    for task in sorted((tasks[0] | tasks[1]) - paired):
        if task in tasks[0] and task in tasks[1]:
            reason = removed_by[task]
        else:
            reason = f"only in {arms[task in tasks[1]].config}"
        rows.append({"benchmark": task[0], "task_name": task[1], "reason": reason})
    return rows


def ledger(arms: tuple[Arm, Arm], valid: Valid, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return what became of every trial of both arms, down to the pairs used.

    In each arm ``trials`` is the sum of ``removed`` (by rule), ``unmatched`` and ``used``.
    ``outcomes_only`` counts the used trials that have no recall, by rule: a part of ``used``.
    """
    paired = {(pair.benchmark, pair.task_name) for pair in pairs}
    sides = {}
    for side, arm, left in zip(
        ("baseline", "comparison"), arms, (valid.baseline, valid.comparison), strict=True
    ):
        removed = Counter(
            finding.name
            for finding in valid.findings
            for d in finding.removed
            if d["provenance"]["config_name"] == arm.config
        )
        unmatched = sum(len(trials) for task, trials in left.items() if task not in paired)
        used = [d for task, trials in left.items() if task in paired for d in trials]
        without_truth = sum(map(lacks_ground_truth, used))
        sides[side] = {
            "trials": len(arm.trials),
            "removed": dict(sorted(removed.items())),
            "unmatched": {"no valid trial in the other arm": unmatched} if unmatched else {},
            "used": len(used),
            "outcomes_only": {"no_ground_truth": without_truth} if without_truth else {},
        }
    return {**sides, "n_pairs": len(pairs)}
