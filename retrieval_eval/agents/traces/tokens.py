"""Cumulative tokens: every message once, cached tokens as part of the prompt.

Streams write one message on several lines and repeat its usage on each, so usage is keyed by
message id and the largest value counts. The output count of a stream line is a placeholder that
is too small; the session file of the same run has the real one and, where both are read, wins
by being larger. The total that the trace itself declares is kept beside the counted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.untrusted import amount_of, count_of, dict_of
from retrieval_eval.io.spooled import like
from retrieval_eval.records import ToolCall

ANTHROPIC_PROMPT = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
ANTHROPIC_COUNTS = (*ANTHROPIC_PROMPT, "output_tokens")
"""The names of an Anthropic message's token counts."""

OPENAI_COUNTS = ("input_tokens", "prompt_tokens", "output_tokens", "completion_tokens")
"""The names of an OpenAI message's token counts, of both interfaces."""


class Usage(Struct, frozen=True, gc=False, tag=True):
    """Tokens of one message: ``prompt`` includes what was read from or written to a cache."""

    message_id: str
    prompt: int
    output: int
    is_subagent: bool = False

    @property
    def total(self) -> int:
        """Prompt and output tokens together."""
        return self.prompt + self.output


class Gap(Struct, frozen=True, gc=False, tag=True):
    """A place where the trace lost steps: from here on no cumulative count is known."""


Item = ToolCall | Usage | Gap
"""What a trace file holds, in its order."""


def anthropic_usage(message_id: str, usage: Any, is_subagent: bool = False) -> Usage | None:
    """Return the usage of an Anthropic API message, or None when it states none."""
    counts = dict_of(usage)
    if not counts:
        return None
    prompt = sum([count_of(counts.get(name)) for name in ANTHROPIC_PROMPT])
    output = count_of(counts.get("output_tokens"))
    return Usage(message_id, prompt, output, is_subagent) if prompt + output else None


def openai_usage(message_id: str, usage: Any, is_subagent: bool = False) -> Usage | None:
    """Return the usage of an OpenAI API message, or None when it states none.

    Cached tokens are part of the input there, and reasoning tokens part of the output. The counts
    have other names in the Responses interface than in Chat Completions.

    Examples
    --------
    >>> usage = {"input_tokens": 90, "cached_input_tokens": 80, "output_tokens": 7}
    >>> openai_usage("m", usage).total, openai_usage("m", {"prompt_tokens": 5}).total
    (97, 5)
    """
    counts = dict_of(usage)
    prompt = count_of(counts.get("input_tokens")) or count_of(counts.get("prompt_tokens"))
    output = count_of(counts.get("output_tokens")) or count_of(counts.get("completion_tokens"))
    return Usage(message_id, prompt, output, is_subagent) if prompt + output else None


def is_misstated(usage: Any, names: Iterable[str]) -> bool:
    """Return whether a usage is there and cannot be counted, as when a count is a text.

    Examples
    --------
    >>> is_misstated({"input_tokens": "12"}, ANTHROPIC_COUNTS), is_misstated(None, ())
    (True, False)
    """
    if not isinstance(usage, dict):
        return usage is not None
    for name in names:
        value = usage.get(name)
        if value is not None and amount_of(value) is None:
            return True
    return False


def largest(items: Iterable[Item]) -> dict[str, Usage]:
    """Return for each message the largest prompt and output counts that are stated for it."""
    best: dict[str, Usage] = {}
    for item in items:
        if not isinstance(item, Usage):
            continue
        known = best.get(item.message_id)
        if known is not None and (known.prompt > item.prompt or known.output > item.output):
            item = replace(
                item, prompt=max(item.prompt, known.prompt), output=max(item.output, known.output)
            )
        best[item.message_id] = item
    return best


def count_tokens(items: Iterable[Item]) -> int | None:
    """Return the tokens of all messages, or None when no message states any."""
    best = largest(items)
    return sum(usage.total for usage in best.values()) if best else None


def accumulate(items: Sequence[Item]) -> Sequence[ToolCall]:
    """Return the calls with ``cumulative_tokens`` set.

    A call's count covers every message that began before the call or made it. It is None before
    the first stated usage and behind a :class:`Gap`.
    """
    return like(items, ToolCall, _accumulated(items, largest(items)))


def _accumulated(items: Iterable[Item], best: Mapping[str, Usage]) -> Iterator[ToolCall]:
    total, is_known = 0, bool(best)
    counted: set[str] = set()
    for item in items:
        if isinstance(item, Gap):
            is_known = False
        elif isinstance(item, Usage):
            if item.message_id not in counted:
                counted.add(item.message_id)
                total += best[item.message_id].total
        else:
            yield replace(item, cumulative_tokens=total if is_known and total else None)
