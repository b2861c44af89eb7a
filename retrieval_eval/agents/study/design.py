"""Matched pairs of tasks, and the design: what a user stated, and what the trials say.

Roles come from what the trials used, never from names alone; clusters from the repositories of the
tasks, else from their suites; the scale of rewards from the rewards of each suite. Every part of a
:class:`~retrieval_eval.model.design.Design` has its source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.arms import Arm, roles_of
from retrieval_eval.agents.study.arms import arm as arm_of
from retrieval_eval.agents.study.gate import RULES, Valid
from retrieval_eval.agents.study.stated import (
    ARGUMENT,
    HEADLINE,
    Given,
    Stated,
    checked,
    stated_from,
)
from retrieval_eval.agents.study.trials import VIEWED, Numbers, Task, Trial, average
from retrieval_eval.agents.study.verdict import PLURAL
from retrieval_eval.model.design import Clustering, Design
from retrieval_eval.model.impact import ArmLedger, PairLedger, UnpairedTask
from retrieval_eval.values import counted


@dataclass(frozen=True, slots=True)
class Pair:
    """One task under two configurations; repeats are kept and averaged when read."""

    benchmark: str
    task_name: str
    baseline: tuple[Trial, ...]
    comparison: tuple[Trial, ...]

    def values(self, column: str) -> tuple[float | None, float | None]:
        """Return a number of both sides, repeats averaged."""
        return average(self.baseline, column), average(self.comparison, column)

    @property
    def repositories(self) -> tuple[str, ...]:
        """The repositories of the task, by name."""
        return repositories_of(self.baseline)


@dataclass(frozen=True, slots=True)
class Side:
    """The valid trials of one arm on a task, and how many others the gate took from them."""

    trials: tuple[Trial, ...]
    n_lost: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A task that at least one arm ran, with the trials of each arm."""

    benchmark: str
    task_name: str
    baseline: Side
    comparison: Side
    repositories: tuple[str, ...]
    has_ground_truth: bool


def repositories_of(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the repositories of a task, by name, as the first of its trials that has any does."""
    for trial in trials:
        if trial.repositories:
            return trial.repositories
    return ()


def match(valid: Valid) -> tuple[Pair, ...]:
    """Return a pair for every task that valid trials of both arms ran, by suite and task."""
    shared = sorted(valid.baseline.keys() & valid.comparison.keys())
    return tuple(Pair(*task, valid.baseline[task], valid.comparison[task]) for task in shared)


@dataclass(frozen=True, slots=True)
class Clusters:
    """The variable tasks are clustered by, the number of clusters, and the cluster of each task.

    Without ``labels`` tasks are independent: either they share nothing (``by`` is None), or all are
    of one cluster, and the result is about that cluster only.
    """

    by: str | None = None
    n: int | None = None
    labels: Sequence[Hashable] | None = None


def clusters_of(
    tasks: Sequence[Pair] | Sequence[Planned], stated: Clustering | None = None
) -> Clusters:
    """Return the clusters of tasks: by repository where some share one, else by suite.

    With ``stated`` they are clustered by that, whatever they share.

    Tasks that share a repository are alike, and so are those of one suite. A task that states no
    repository is a cluster of its own. The clusters of a metric that some tasks lack are those of
    the other tasks.
    """
    for by in ("repository", "suite") if stated is None else (stated,):
        if by == "task":
            break
        numbers: dict[Hashable, int] = {}
        labels = [numbers.setdefault(label, len(numbers)) for label in labels_by(by, tasks)]
        n = len(numbers)
        if stated is None and n == 1 and by == "suite" and all(task.repositories for task in tasks):
            # Their repositories already show that these tasks are independent.
            break
        if n < len(labels):
            return Clusters(by, n, labels if n > 1 else None)
    return Clusters()


def labels_by(by: str, tasks: Sequence[Pair] | Sequence[Planned]) -> list[Hashable]:
    """Return the label of every task: its suite, or its repository, or itself without one.

    Of several repositories a task is labelled with the one that most tasks state, so that tasks
    which share it are one cluster; a repository that all tasks state is used only for tasks that
    state no other.
    """
    if by == "suite":
        return [task.benchmark for task in tasks]
    each = [task.repositories for task in tasks]
    stated = Counter(name for names in each for name in set(names))
    n_stating = sum(map(bool, each))

    def commonest(names: Sequence[str]) -> str:
        if len(names) == 1:
            return names[0]
        own = [name for name in names if stated[name] < n_stating] or names
        return min(own, key=lambda name: (-stated[name], name))

    return [
        commonest(names) if names else (tasks[place].benchmark, tasks[place].task_name, None)
        for place, names in enumerate(each)
    ]


def planned_tasks(arms: tuple[Arm, Arm], valid: Valid) -> tuple[Planned, ...]:
    """Return every task that a trial of either arm ran, by suite and task.

    A removed trial of another version, model or harness does not count as missing when valid trials
    of its task remain. Of a task without a valid trial all are missing.
    """
    lost = _lost(valid)
    trials: dict[Task, list[Trial]] = defaultdict(list)
    for arm in arms:
        for trial in arm.trials:
            trials[trial.task].append(trial)
    rows = []
    for task, own in sorted(trials.items()):
        before, after = (
            Side(left.get(task, ()), lost[arm.config, task])
            for arm, left in zip(arms, (valid.baseline, valid.comparison), strict=True)
        )
        has_truth = not any(trial.lacks_ground_truth for trial in own)
        rows.append(Planned(*task, before, after, repositories_of(own), has_truth))
    return tuple(rows)


def _lost(valid: Valid) -> Counter[tuple[str, Task]]:
    """Return how many trials of a configuration and task were removed for what happened in them."""
    return Counter(
        (trial.config_name, trial.task)
        for finding in valid.findings
        if RULES[finding.name].is_loss
        for trial in finding.removed
    )


_FAILED: Final = {
    column: 0.0
    for name, metric in BY_NAME.items()
    if metric.kind == "bounded" and metric.better == "higher"
    for column in (name, *(f"{name}:{view}" for view in VIEWS if name in VIEWED))
}
"""The columns in which a failure counts as 0: of metrics from 0 to 1 of which more is better."""


def with_failures(arms: tuple[Arm, Arm], valid: Valid) -> Valid:
    """Return the valid trials and failures, where a missing value is meant to be a failure.

    A trial that was removed for what happened in it counts as one that failed, and so does a task
    that one arm has no valid trial of. A value that a valid trial lacks is a failure too. Only what
    some valid trial of the task has can be lacking. There is no finding left, as nothing is
    missing any more.
    """
    trials: dict[Task, list[Trial]] = defaultdict(list)
    for arm in arms:
        for trial in arm.trials:
            trials[trial.task].append(trial)
    lost = _lost(valid)
    sides: list[dict[Task, tuple[Trial, ...]]] = [{}, {}]
    for task, every in sorted(trials.items()):
        known = [*valid.baseline.get(task, ()), *valid.comparison.get(task, ())]
        columns = {
            column
            for trial in known
            for column in trial.numbers.keys() & _FAILED.keys()
            if not (column == "reward" and trial.is_reward_open)
        }
        for arm, left, side in zip(arms, (valid.baseline, valid.comparison), sides, strict=True):
            own = left.get(task, ())
            n_failed = (lost[arm.config, task] or int(not own)) if columns else 0
            failed = _failure(every[0], arm, repositories_of(every), columns)
            found = (*(_filled(trial, columns) for trial in own), *[failed] * n_failed)
            if found:
                side[task] = found
    return replace(valid, baseline=sides[0], comparison=sides[1], findings=())


def _filled(trial: Trial, columns: set[str]) -> Trial:
    if columns <= trial.numbers.keys():
        return trial
    return replace(trial, numbers=Numbers({**dict.fromkeys(columns, 0.0), **trial.numbers}))


def _failure(like: Trial, arm: Arm, repositories: tuple[str, ...], columns: Iterable[str]) -> Trial:
    """Return a trial of a task that retrieved and achieved nothing, and of which no more is known.

    Its other columns are those of any trial of the task.
    """
    return replace(
        like,
        config_name=arm.config,
        trial_name="",
        repositories=repositories,
        exception=None,
        has_exception=False,
        calls_seen=0,
        mcp_calls=0,
        mcp_calls_ok=0,
        shell_calls=0,
        shell_opaque=0,
        tools={},
        mcp_servers={},
        computable=False,
        never_hit=False,
        numbers=Numbers(dict.fromkeys(columns, 0.0)),
    )


def excluded_tasks(
    arms: tuple[Arm, Arm], valid: Valid, pairs: Sequence[Pair]
) -> tuple[UnpairedTask, ...]:
    """Return every task of either arm without a pair, with the rule that removed its trials."""
    paired = {(pair.benchmark, pair.task_name) for pair in pairs}
    left = {arms[0].config: valid.baseline, arms[1].config: valid.comparison}
    removed_by: dict[Task, str] = {}
    for finding in valid.findings:
        for trial in finding.removed:
            if trial.task not in left[trial.config_name]:
                removed_by.setdefault(trial.task, finding.name)
    tasks = [{trial.task for trial in arm.trials} for arm in arms]
    rows = []
    for task in sorted((tasks[0] | tasks[1]) - paired):
        if task in tasks[0] and task in tasks[1]:
            reason = removed_by[task]
        else:
            reason = f"only in {arms[task in tasks[1]].config}"
        rows.append(UnpairedTask(benchmark=task[0], task_name=task[1], reason=reason))
    return tuple(rows)


def ledger(arms: tuple[Arm, Arm], valid: Valid, pairs: Sequence[Pair]) -> PairLedger:
    """Return the counts of the trials of both arms by status, down to the pairs used.

    In each arm ``trials`` is the sum of ``removed`` (by rule), ``unmatched`` and ``used``.
    ``outcomes_only`` counts the used trials that have no recall, by rule: a part of ``used``.
    ``ran`` counts the trials with any call, ``mcp_called`` those of them that called an MCP server,
    and ``mcp_answered`` those in which one answered, where a trial of either arm did.
    """
    uses_mcp = any(arm.n_callers for arm in arms)
    paired = {(pair.benchmark, pair.task_name) for pair in pairs}
    sides = []
    for arm, left in zip(arms, (valid.baseline, valid.comparison), strict=True):
        removed = Counter(
            finding.name
            for finding in valid.findings
            for trial in finding.removed
            if trial.config_name == arm.config
        )
        unmatched = sum(len(trials) for task, trials in left.items() if task not in paired)
        used = [trial for task, trials in left.items() if task in paired for trial in trials]
        without_truth = sum(trial.lacks_ground_truth for trial in used)
        sides.append(
            ArmLedger(
                trials=len(arm.trials),
                removed=dict(sorted(removed.items())),
                unmatched={"no valid trial in the other arm": unmatched} if unmatched else {},
                used=len(used),
                outcomes_only={"no_ground_truth": without_truth} if without_truth else {},
                ran=arm.n_ran if uses_mcp else None,
                mcp_called=arm.n_callers if uses_mcp else None,
                mcp_answered=arm.n_users if uses_mcp else None,
            )
        )
    return PairLedger(baseline=sides[0], comparison=sides[1], n_pairs=len(pairs))


# --------------------------------------------------------------------------------------------------
# The design of a study: what a user stated, and what the trials say about the rest.


def design_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    stated: Given = None,
    *,
    headline: str = HEADLINE,
) -> Design:
    """Return the design of a comparison: what was stated, and the rest as the trials show it.

    Parameters
    ----------
    trials
        All trials of the study; those of other configurations are left out.
    baseline, comparison
        The two configurations.
    stated
        What a user states: a file, a mapping, or a design.
    headline
        The metric of the verdict, where the design states none.

    Raises
    ------
    BadInputError
        When what is stated makes no sense, or is of no configuration, suite or tool in the trials.

    Examples
    --------
    >>> from retrieval_eval.agents.study.trials import from_document
    >>> def trial(config, mcp):
    ...     return from_document(
    ...         {
    ...             "provenance": {"config_name": config, "task_name": "t", "benchmark": "suite"},
    ...             "coverage": {},
    ...             "ledger": {"calls_seen": 5, "mcp_calls": mcp, "mcp_calls_ok": mcp},
    ...             "file_level_metrics": {},
    ...             "outcome": {},
    ...         }
    ...     )
    >>> design = design_of([trial("old", 0), trial("new", 3)], "old", "new")
    >>> design.arms[1].must_use, design.sources["comparison"]
    (('mcp',), 'inferred: 1 of 1 trial of new called an MCP server')
    """
    given = stated if isinstance(stated, Stated) else checked(stated_from(stated), trials)
    arms = (arm_of(trials, baseline), arm_of(trials, comparison))
    roles = roles_of(arms, given)
    tasks = _shared(arms)
    clusters = clusters_of(tasks)
    scale: dict[str, tuple[float, float] | None] = {
        suite: None if is_open else (0.0, 1.0) for suite, is_open in _scales(arms).items()
    }
    n_configs = len({trial.config_name for trial in trials})
    values: dict[str, Any] = {
        "unit": "task",
        "cluster": clusters.by or "task",
        "treatment": roles.treatment,
        "missing": "unknown",
        "rewards": "recorded",
        "reward_scale": scale,
        "headline": headline,
        "margin": None,
        "alpha": given.level,
        "family": "stated_pair" if n_configs < 3 else "all_pairs",
        "is_sequential": False,
    }
    sources = {
        "baseline": roles.sources[0],
        "comparison": roles.sources[1],
        **dict.fromkeys(values, "default"),
        "cluster": _cluster_source(clusters.by, clusters.n, tasks),
        "reward_scale": _scale_source(scale),
        "treatment": roles.treatment_source,
        "margin": "default: none is stated",
        "family": f"inferred: {counted(n_configs, 'configuration')}",
    }
    named = given.values
    if "reward_scale" in named:
        stated_scale = {s: ends for s, ends in named["reward_scale"].items() if s in scale}
        named["reward_scale"] = scale | stated_scale
    return Design(
        arms=roles.designs,
        **(values | named),
        sources=sources | {name: given.sources.get(name, ARGUMENT) for name in named},
    )


def _shared(arms: tuple[Arm, Arm]) -> list[Pair]:
    """Return the tasks that both arms ran, whatever became of their trials."""
    own: list[dict[Task, list[Trial]]] = [{}, {}]
    for groups, one in zip(own, arms, strict=True):
        for trial in one.trials:
            groups.setdefault(trial.task, []).append(trial)
    tasks = sorted(own[0].keys() & own[1].keys())
    return [Pair(*task, tuple(own[0][task]), tuple(own[1][task])) for task in tasks]


def _scales(arms: tuple[Arm, Arm]) -> dict[str, bool]:
    """Return for every suite with rewards whether their scale is unknown."""
    trials = [trial for one in arms for trial in one.trials if "reward" in trial.numbers]
    return {trial.benchmark: trial.is_reward_open for trial in sorted(trials, key=_suite)}


def _suite(trial: Trial) -> str:
    return trial.benchmark


def _cluster_source(by: str | None, n: int | None, tasks: Sequence[Pair]) -> str:
    shared = counted(len(tasks), "shared task")
    if by is None:
        alone = ", each of another repository or suite" if len(tasks) > 1 else ""
        return f"inferred: {shared}{alone}"
    return f"inferred: {shared} in {n} {by if n == 1 else PLURAL[by]}"


def _scale_source(scale: Mapping[str, tuple[float, float] | None]) -> str:
    if not scale:
        return "inferred: there is no reward"
    outside = [suite for suite, ends in scale.items() if ends is None]
    known = len(scale) - len(outside)
    text = f"inferred: the rewards of {counted(known, 'suite')} lie between 0 and 1"
    return text + (f", those of {', '.join(outside)} do not" if outside else "")
