"""The reward a verifier gave, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from retrieval_eval.outcomes.choose import agree
from retrieval_eval.outcomes.fields import number, section
from retrieval_eval.outcomes.outcome import RewardScale


@dataclass(frozen=True, slots=True)
class Reward:
    """A recorded reward, or the reason code of a missing one.

    ``unreadable`` are those of the problems that say a record is no number.
    """

    value: float | None
    reason: str | None
    source: str | None
    problems: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def scale(self) -> RewardScale | None:
        """Whether the reward lies in 0 to 1 (``unit``) or not (``open``)."""
        if self.value is None:
            return None
        return "unit" if 0 <= self.value <= 1 else "open"


def read_reward(result: Any, metrics: Any) -> Reward:
    """Return the reward of ``result.json``, else of ``task_metrics.json``.

    Text, booleans, NaN and infinity are recorded but no numbers (``not_a_number``); null and a
    missing verifier result are ``not_recorded``, also when the trial ended with an exception.
    """
    recorded = [(s, v) for s, v in _candidates(result, metrics) if v is not None]
    numbers = [(s, n) for s, v in recorded if (n := number(v)) is not None]
    unreadable = tuple(
        f"{source}: the reward {str(value)[:60]!r} is not a finite number"
        for source, value in recorded
        if number(value) is None
    )
    if not numbers or (recorded and number(recorded[0][1]) is None):
        reason = "not_a_number" if recorded else "not_recorded"
        return Reward(None, reason, recorded[0][0] if recorded else None, unreadable, unreadable)
    source, value = numbers[0]
    problems = unreadable
    for other_source, other in numbers[1:]:
        if not agree(value, other):
            problems += (f"{other_source}: reward {other:g}, but {source} says {value:g}",)
    return Reward(value, None, source, problems, unreadable)


def _candidates(result: Any, metrics: Any) -> Iterator[tuple[str, Any]]:
    rewards = section(result, "verifier_result", "rewards")
    if "reward" in rewards:
        yield "result.json", rewards["reward"]
    elif len(rewards) == 1:
        # Verifiers with one named score write it under that name.
        yield "result.json", next(iter(rewards.values()))
    else:
        yield "result.json", section(result, "verifier_result").get("reward")
    yield "task_metrics.json", section(metrics).get("reward")
