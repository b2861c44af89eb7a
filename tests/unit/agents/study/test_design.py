"""The design of a study: what is inferred, what is stated, and what each source says."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.study.design import Stated, design_of
from retrieval_eval.agents.study.trials import trials_of
from tests.studies import document, study


def inferred(rows, baseline="baseline", comparison="mcp", **options):
    return design_of(trials_of(rows), baseline, comparison, **options)


def arms(*uses):
    """Return the rows of two arms, ``one`` and ``two``, whose trials made these MCP calls."""
    return [
        document(f"task-{i}", config, 0.5, mcp=called, mcp_ok=answered)
        for config, own in zip(("one", "two"), uses, strict=True)
        for i, (called, answered) in enumerate(own)
    ]


@pytest.mark.parametrize(
    ("uses", "roles", "tools"),
    [
        ([[(0, 0)] * 4, [(2, 2)] * 4], ("control", "treatment"), ("must_use", ("mcp",))),
        ([[(0, 0)] * 4, [(2, 2)] * 3 + [(0, 0)]], ("control", "treatment"), ("may_use", ("mcp",))),
        ([[(0, 0)] * 4, [(2, 0)] * 4], ("control", "treatment"), ("must_use", ("mcp",))),
        ([[(0, 0)] * 4, [(0, 0)] * 4], ("unstated", "unstated"), ("must_use", ())),
        ([[(1, 1)] * 4, [(1, 1)] * 4], ("treatment", "treatment"), ("must_use", ("mcp",))),
    ],
)
def test_roles_come_from_use(uses, roles, tools) -> None:
    design = inferred(arms(*uses), "one", "two")
    assert tuple(arm.role for arm in design.arms) == roles
    assert getattr(design.arms[1], tools[0]) == tools[1]
    n = sum(called > 0 for called, _ in uses[1])
    assert design.sources["comparison"] == f"inferred: {n} of 4 trials of two called an MCP server"


@pytest.mark.parametrize(
    ("repositories", "suites", "cluster", "source"),
    [
        (("a", "a", "b"), ("s", "s", "s"), "repository", "3 shared tasks in 2 repositories"),
        ((None, None, None), ("s", "s", "t"), "suite", "3 shared tasks in 2 suites"),
        (("a", "b", "c"), ("s", "s", "s"), "task", "3 shared tasks, each of another repository"),
        (("a", "b", "c"), ("s", "s", "t"), "suite", "3 shared tasks in 2 suites"),
    ],
)
def test_clusters_come_from_repositories_then_suites(repositories, suites, cluster, source) -> None:
    rows = [
        document(f"task-{i}", config, 0.5, repositories=[name] if name else [], benchmark=suites[i])
        for i, name in enumerate(repositories)
        for config in ("baseline", "mcp")
    ]
    design = inferred(rows)
    assert design.cluster == cluster
    assert source in design.sources["cluster"]


def test_the_scale_of_rewards_is_that_of_each_suite() -> None:
    rows = [
        document(f"task-{i}", config, 0.5, reward=reward, benchmark=suite)
        for i in range(4)
        for config in ("baseline", "mcp")
        for suite, reward in (("unit", 0.25), ("points", 40.0))
    ]
    design = inferred(rows)
    assert design.reward_scale == {"unit": (0.0, 1.0), "points": None}
    assert "those of points do not" in design.sources["reward_scale"]


def test_what_is_stated_wins_and_has_its_source() -> None:
    stated = Stated(
        cluster="task",
        margin=0.05,
        alpha=0.1,
        sources={"cluster": "study.toml", "alpha": "--alpha"},
    )
    design = inferred(study(), stated=stated)
    assert (design.cluster, design.margin, design.alpha) == ("task", 0.05, 0.1)
    assert design.sources["cluster"] == "study.toml"
    assert design.sources["alpha"] == "--alpha"
    assert design.sources["margin"] == "argument"
    assert set(design.sources) >= {"baseline", "comparison", "missing", "headline", "family"}
