"""Tokens of ATIF steps, where one message of the model may be spread over several steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_eval.traces.foreign import count_of, dict_of
from retrieval_eval.traces.tokens import Usage

CLAUDE_CODE = "claude-code"
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")
"""The names of the token counts in a step's ``metrics``."""


class StepTokens:
    """Turns the ``metrics`` of successive steps into usages, one for each message.

    Steps have no message id. The Claude Code converter writes a step for each block of a message
    and repeats the message's prompt counts on each, so neighbouring steps with the same prompt
    counts are one message there (prompts only grow). Its ``prompt_tokens`` leave out the tokens
    written to the cache; they are added where the numbers prove that they are missing.
    """

    def __init__(self, agent: str, scope: str, is_subagent: bool) -> None:
        self._repeats = agent == CLAUDE_CODE
        self._scope = scope
        self._is_subagent = is_subagent
        self._key: tuple[Any, ...] | None = None
        self._message_id = ""

    def of(self, step: Mapping[str, Any], index: int) -> Usage | None:
        """Return the usage that a step states, or None when it states none."""
        metrics = dict_of(step.get("metrics"))
        prompt = count_of(metrics.get("prompt_tokens"))
        output = count_of(metrics.get("completion_tokens"))
        if not prompt + output:
            return None
        extra = dict_of(metrics.get("extra"))
        written = count_of(extra.get("cache_creation_input_tokens"))
        read = max(
            count_of(metrics.get("cached_tokens")), count_of(extra.get("cache_read_input_tokens"))
        )
        key = (prompt, read, written)
        if not self._repeats or key != self._key:
            self._message_id = f"{self._scope}/steps/{index}"
        self._key = key
        # A prompt that included what was read and what was written could not be smaller.
        is_written_missing = prompt < read + written
        prompt += written if is_written_missing else 0
        return Usage(self._message_id, prompt, output, self._is_subagent)


def declared_total(metrics: Mapping[str, Any]) -> int | None:
    """Return the prompt and completion tokens that ``final_metrics`` declares, if any.

    The Claude Code converter sums over steps, so its declared totals count messages repeatedly.
    """
    total = count_of(metrics.get("total_prompt_tokens")) + count_of(
        metrics.get("total_completion_tokens")
    )
    return total or None
