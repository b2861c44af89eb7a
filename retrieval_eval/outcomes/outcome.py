"""What came out of a trial: reward, cost, tokens, time, and who produced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

RewardScale = Literal["unit", "open"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one trial; None where a value was not recorded.

    Attributes
    ----------
    reward, reward_reason, reward_source, reward_scale
        The verifier's reward as recorded, or the reason code why there is none. The scale is
        ``open`` when the reward lies outside 0 to 1, as un-normalised sums of checkpoints do.
    cost_usd, cost_source, cost_other
        US dollars, where they are from, and the sources that say something else.
    input_tokens, output_tokens, total_tokens, token_source, token_other
        Cached tokens are part of the input; the split is None when only a total is known.
    is_token_total_confirmed
        Whether the count over the trace's messages gives that total too.
    elapsed_seconds, elapsed_source
        The time the agent worked, without set-up and verification where that is recorded.
    wall_seconds, started_at, finished_at, agent_started_at
        The whole trial; times are Unix seconds (UTC).
    model, harness, harness_version
        Who worked; None for ``unknown``.
    exception
        ``type`` and ``message`` of the error that ended the trial. It is not a reward of 0.
    is_simulated
        Whether the result says that the trial was simulated; part of the provenance, not of the
        JSON shape.
    problems
        Sentences that name the file and what is wrong with it.
    unreadable
        Those of the problems that say what could not be read; no part of the JSON shape.
    """

    reward: float | None = None
    reward_reason: str | None = "not_recorded"
    reward_source: str | None = None
    reward_scale: RewardScale | None = None
    cost_usd: float | None = None
    cost_source: str | None = None
    cost_other: Mapping[str, float] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    token_source: str | None = None
    token_other: Mapping[str, float] = field(default_factory=dict)
    is_token_total_confirmed: bool = False
    elapsed_seconds: float | None = None
    elapsed_source: str | None = None
    wall_seconds: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    agent_started_at: float | None = None
    model: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    exception: Mapping[str, str | None] | None = None
    task_checksum: str | None = None
    is_simulated: bool = False
    problems: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape: its attributes by name, ``problems`` as a list."""
        block = asdict(self) | {"problems": list(self.problems)}
        del block["unreadable"], block["is_simulated"]
        return block
