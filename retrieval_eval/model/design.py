"""The design of a study: what was meant, and where each part of it comes from."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from retrieval_eval.model.common import EMPTY_LIST, EMPTY_MAP, NULL, Record, about

DESIGN_FILE: Final = "study.toml"
"""The name of a file that states a design."""

PROJECT_FILE: Final = "retrieval-eval.toml"
"""The name of the project file, whose section ``study`` states a design."""

Role = Literal["control", "treatment", "unstated"]
Clustering = Literal["repository", "suite", "task"]
Missing = Literal["unknown", "failure"]
Family = Literal["stated_pair", "all_pairs"]
Rewards = Literal["recorded", "none"]
"""Whether the trials of a study were scored."""
Treatment = Literal["model", "harness", "tools", "prompt", "agent"]
"""What two arms are meant to differ in; an agent is harness and model together."""


class ArmDesign(Record, frozen=True, kw_only=True):
    """What one configuration is meant to do.

    A tool is named ``mcp`` (any MCP server), as an MCP server, or as it is called.
    """

    config_name: Annotated[str, about("Config")]
    role: Annotated[
        Role,
        about("control (meant to do without a tool), treatment (meant to have it) or unstated"),
    ] = "unstated"
    must_use: Annotated[
        tuple[str, ...],
        about("Tools of which a trial needs a successful call; one without is removed"),
    ] = EMPTY_LIST
    may_use: Annotated[
        tuple[str, ...],
        about("Tools that the agent may leave alone; a trial is removed where all its calls fail"),
    ] = EMPTY_LIST
    must_not_use: Annotated[
        tuple[str, ...],
        about("Tools that no trial may call with success; one that did is removed"),
    ] = EMPTY_LIST


class Design(Record, frozen=True, kw_only=True):
    """The design of a comparison.

    What was not stated is inferred from the trials, and ``sources`` says from what.
    """

    arms: Annotated[tuple[ArmDesign, ArmDesign], about("The baseline and the comparison")]
    unit: Annotated[Literal["task"], about("What one observation is; repeats are averaged")]
    cluster: Annotated[
        Clustering,
        about("What tasks that count together share; task: each counts by itself"),
    ]
    missing: Annotated[
        Missing,
        about("What a missing value means: unknown (bounds are given) or failure (it counts as 0)"),
    ]
    treatment: Annotated[
        Treatment | None,
        about(
            "What the arms are meant to differ in, which is then no fault of the comparison "
            "(agent: harness and model together); null where none is stated or inferred"
        ),
    ] = NULL
    rewards: Annotated[
        Rewards, about("none: no trial of the study was scored, so that none lacks a reward")
    ] = "recorded"
    reward_scale: Annotated[
        dict[str, tuple[float, float] | None],
        about("Lowest and highest reward by suite; null where the scale is not known"),
    ] = EMPTY_MAP
    headline: Annotated[str, about("The metric that the verdict is about")]
    margin: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        about("Largest difference of the headline that counts as none; null where none is stated"),
    ] = NULL
    alpha: Annotated[
        Annotated[float, Meta(gt=0, lt=0.5)],
        about("Level of the test; intervals cover 1 − alpha", unit="0–1"),
    ]
    family: Annotated[
        Family, about("Whether this pair was chosen in advance or every pair is compared")
    ]
    is_sequential: Annotated[
        bool, about("Whether trials are still added and the comparison is read more than once")
    ]
    sources: Annotated[
        dict[str, str],
        about("Where each part comes from: baseline and comparison for the arms, then by field"),
    ] = EMPTY_MAP
