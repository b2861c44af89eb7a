"""The outcomes of a trial that are summarised, compared and associated with retrieval."""

from __future__ import annotations

from typing import Final

from retrieval_eval.agents.metrics.catalog import recorded

REWARD: Final = recorded(
    "reward",
    "reward",
    "what the verifier of the task gave",
    "outcome",
    unit="reward",
    is_compared=True,
    is_associated=True,
)
COST: Final = recorded(
    "cost_usd",
    "cost",
    "recorded cost of the trial",
    "outcome",
    better="lower",
    unit="USD",
    is_compared=True,
    is_associated=True,
)
TIME: Final = recorded(
    "elapsed_seconds",
    "time",
    "wall-clock time of the agent",
    "outcome",
    better="lower",
    unit="s",
    title="Elapsed time",
    digits=0,
    is_compared=True,
    is_associated=True,
)
TOKENS: Final = recorded(
    "total_tokens",
    "tokens",
    "input (cached included) and output tokens",
    "outcome",
    better="lower",
    unit="tokens",
    digits=0,
    is_compared=True,
    is_associated=True,
)
