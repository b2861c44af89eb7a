"""The design of a study: what a user stated, and what the trials say about the rest.

Roles come from what the trials used, never from names alone; clusters from the repositories of the
tasks, else from their suites; the scale of rewards from the rewards of each suite. Every part of a
:class:`~retrieval_eval.model.design.Design` has its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrieval_eval.agents.study.arms import Arm, arm, roles_of
from retrieval_eval.agents.study.headline import PLURAL
from retrieval_eval.agents.study.pairs import Pair, clusters_of
from retrieval_eval.agents.study.stated import (
    ARGUMENT,
    HEADLINE,
    Given,
    Stated,
    checked,
    stated_from,
)
from retrieval_eval.agents.study.trials import Task, Trial
from retrieval_eval.model.design import Design
from retrieval_eval.values import counted


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
    arms = (arm(trials, baseline), arm(trials, comparison))
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
