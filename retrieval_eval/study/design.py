"""The design of a study: what a user stated, and what the trials say about the rest.

Roles come from what the trials used, never from names alone; clusters from the repositories of the
tasks, else from their suites; the scale of rewards from the rewards of each suite. Every part of a
:class:`~retrieval_eval.model.design.Design` has its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retrieval_eval.model.design import ArmDesign, Clustering, Design, Family, Missing, Role
from retrieval_eval.study.arms import Arm, Roles, arm, roles_of
from retrieval_eval.study.pairs import Pair, clusters_of
from retrieval_eval.study.trials import Task, Trial
from retrieval_eval.values import counted

MCP: Final = "mcp"
"""Names any MCP server among the tools that an arm must, may or must not use."""

ALPHA: Final = 0.05
HEADLINE: Final = "file_recall"


@dataclass(frozen=True, slots=True)
class StatedArm:
    """What a user stated about a configuration; None is inferred."""

    role: Role | None = None
    must_use: tuple[str, ...] | None = None
    may_use: tuple[str, ...] | None = None
    must_not_use: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """What a user stated of a design; the rest is inferred.

    ``arms`` are by configuration, and ``sources`` say by field where it was stated.
    """

    arms: Mapping[str, StatedArm] = field(default_factory=dict)
    cluster: Clustering | None = None
    missing: Missing | None = None
    reward_scale: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)
    headline: str | None = None
    margin: float | None = None
    alpha: float | None = None
    family: Family | None = None
    is_sequential: bool | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


def design_of(
    trials: Sequence[Trial],
    baseline: str,
    comparison: str,
    stated: Stated | None = None,
    *,
    headline: str = HEADLINE,
    mcp_configs: Sequence[str] | None = None,
) -> Design:
    """Return the design of a comparison: what was stated, and the rest as the trials show it.

    Parameters
    ----------
    trials
        All trials of the study; those of other configurations are left out.
    baseline, comparison
        The two configurations.
    stated
        What a user stated.
    headline
        The metric of the verdict, where the design states none.
    mcp_configs
        The configurations that are stated to use MCP.

    Examples
    --------
    >>> from retrieval_eval.study.trials import from_document
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
    stated = stated or Stated()
    arms = (arm(trials, baseline), arm(trials, comparison))
    roles = roles_of(arms, mcp_configs)
    is_stated = mcp_configs is not None
    found = [_arm_design(one, roles, is_stated=is_stated) for one in arms]
    tasks = _shared(arms)
    clusters = clusters_of(tasks)
    named = {name: value for name, value in _stated(stated).items() if value is not None}
    scale = {suite: None if is_open else (0.0, 1.0) for suite, is_open in _scales(arms).items()}
    configs = {trial.config_name for trial in trials}
    values: dict[str, Any] = {
        "unit": "task",
        "cluster": clusters.by or "task",
        "missing": "unknown",
        "reward_scale": scale | dict(stated.reward_scale),
        "headline": headline,
        "margin": None,
        "alpha": ALPHA,
        "family": "stated_pair" if len(configs) < 3 else "all_pairs",
        "is_sequential": False,
    }
    sources = {
        "baseline": found[0][1],
        "comparison": found[1][1],
        "unit": "default",
        "cluster": _cluster_source(clusters.by, clusters.n, tasks),
        "missing": "default",
        "reward_scale": _scale_source(scale),
        "headline": "default",
        "margin": "default: none is stated",
        "alpha": "default",
        "family": f"inferred: {counted(len(configs), 'configuration')}",
        "is_sequential": "default",
    }
    return Design(
        arms=(found[0][0], found[1][0]),
        **(values | named),
        sources=sources | {name: stated.sources.get(name, "stated") for name in named},
    )


def _stated(stated: Stated) -> dict[str, Any]:
    names = ("cluster", "missing", "headline", "margin", "alpha", "family", "is_sequential")
    return {name: getattr(stated, name) for name in names}


def _arm_design(one: Arm, roles: Roles, *, is_stated: bool) -> tuple[ArmDesign, str]:
    source = "argument" if is_stated else f"inferred: {one.use} called an MCP server"
    doubts = [why for doubted, why in roles.doubt if doubted is one]
    if doubts and not is_stated:
        return ArmDesign(config_name=one.config), f"unclear: {doubts[0]}"
    if one is roles.control:
        return ArmDesign(config_name=one.config, role="control", must_not_use=(MCP,)), source
    if one in roles.users:
        is_always = is_stated or one.n_callers == one.n_ran
        tools = {"must_use" if is_always else "may_use": (MCP,)}
        return ArmDesign(config_name=one.config, role="treatment", **tools), source
    return ArmDesign(config_name=one.config), source


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


_PLURAL: Final = {"repository": "repositories", "suite": "suites"}


def _cluster_source(by: str | None, n: int | None, tasks: Sequence[Pair]) -> str:
    shared = counted(len(tasks), "shared task")
    if by is None:
        return f"inferred: no two of {shared} state the same repository, or none"
    return f"inferred: {shared} in {n} {by if n == 1 else _PLURAL[by]}"


def _scale_source(scale: Mapping[str, tuple[float, float] | None]) -> str:
    if not scale:
        return "inferred: there is no reward"
    outside = [suite for suite, ends in scale.items() if ends is None]
    known = len(scale) - len(outside)
    text = f"inferred: the rewards of {counted(known, 'suite')} lie between 0 and 1"
    return text + (f", those of {', '.join(outside)} do not" if outside else "")
