"""Chooses among disagreeing records of the same quantity.

No file is reliable alone: totals were seen 68 times too high in one and too low in another. So
two independent records that agree outvote a third, and without agreement the order in which the
candidates are given decides. The values not chosen are kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from retrieval_eval.agents.traces.reading import HISTORY_COMPACTED
from retrieval_eval.records import Trace

# ------------------------------------------------------------------------------------------------
# Reads single values from untrusted JSON objects: numbers, times, text; never raises.

_LONGEST_TIME = 64
_FIRST_PLAUSIBLE = 946_684_800.0  # 2000-01-01: an earlier time is a clock that was never set


def section(document: Any, *keys: str) -> dict[str, Any]:
    """Return the object at ``keys``, or an empty one where anything on the way is not an object."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def number(value: Any) -> float | None:
    """Return a finite JSON number, or None; text and booleans are not numbers.

    Examples
    --------
    >>> number(2), number("2"), number(True), number(float("nan"))
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """Return a non-negative whole number, or None."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found.is_integer() else None


def text(value: Any, longest: int = 200) -> str | None:
    """Return a non-blank string cut to ``longest`` characters, or None."""
    return value.strip()[:longest] if isinstance(value, str) and value.strip() else None


def seconds(value: Any) -> float | None:
    """Return an ISO 8601 timestamp as Unix seconds, or None; a naive one is taken as UTC.

    Examples
    --------
    >>> seconds("2026-03-02T18:09:51Z") == seconds("2026-03-02T18:09:51")
    True
    """
    if not isinstance(value, str) or len(value) > _LONGEST_TIME:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return found if found >= _FIRST_PLAUSIBLE else None


def span(start: float | None, end: float | None) -> float | None:
    """Return the seconds between two times, or None when one is unknown or they are reversed."""
    return end - start if start is not None and end is not None and end >= start else None


# --------------------------------------------------------------------------------------------------
# Fields of a trial's outcome files that hold another type than they should.

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "a text": (str,),
    "a number": (int, float),
    "an object": (dict,),
}
_EXPECTED: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("task_name",), "a text"),
    (("verifier_result",), "an object"),
    (("verifier_result", "rewards"), "an object"),
    (("agent_info",), "an object"),
    (("agent_execution",), "an object"),
    (("agent_result",), "an object"),
    (("agent_result", "n_input_tokens"), "a number"),
    (("agent_result", "n_cache_tokens"), "a number"),
    (("agent_result", "n_output_tokens"), "a number"),
    (("agent_result", "cost_usd"), "a number"),
)
_EXPECTED_METRICS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("cost_usd",), "a number"),
    (("input_tokens",), "a number"),
    (("output_tokens",), "a number"),
    (("cache_creation_tokens",), "a number"),
    (("cache_read_tokens",), "a number"),
    (("agent_execution_seconds",), "a number"),
    (("wall_clock_seconds",), "a number"),
    (("tool_usage",), "an object"),
    (("tool_usage", "cost_usd"), "a number"),
    (("tool_usage", "total_input_tokens"), "a number"),
    (("tool_usage", "total_output_tokens"), "a number"),
    (("timing",), "an object"),
    (("timing", "agent"), "a number"),
)


def misfits(result: Any, metrics: Any = None) -> Iterator[str]:
    """Yield a sentence for each field of the files that cannot be used; null is allowed.

    ``result`` is the decoded result.json, ``metrics`` the decoded task_metrics.json.

    Examples
    --------
    >>> list(misfits({"verifier_result": [], "agent_result": {"cost_usd": 0.5}}))
    ['result.json: /verifier_result is no object']
    """
    for name, document, expected in (
        ("result.json", result, _EXPECTED),
        ("task_metrics.json", metrics, _EXPECTED_METRICS),
    ):
        for keys, kind in expected:
            value = section(document, *keys[:-1]).get(keys[-1])
            yield from _misfit(f"{name}: /{'/'.join(keys)}", kind, value)


def _misfit(where: str, kind: str, value: Any) -> Iterator[str]:
    is_fit = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
    if value is not None and not is_fit:
        yield f"{where} is no {kind.partition(' ')[2]}"
    elif kind == "a number" and value is not None and not 0 <= value < math.inf:
        yield f"{where} is negative or not finite"


# ------------------------------------------------------------------------------------------------
# Chooses among disagreeing records of the same quantity.

_AGREE = 0.01


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen value, its source, and the sources with another value."""

    value: float | None = None
    source: str | None = None
    others: Mapping[str, float] = field(default_factory=dict)


def agree(one: float, other: float) -> bool:
    """Return whether two records of a quantity are the same up to one per cent."""
    return abs(one - other) <= _AGREE * max(abs(one), abs(other))


def choose(candidates: Sequence[tuple[str, float | None]]) -> Choice:
    """Choose among ``(source, value)`` candidates, given from the most to the least trusted.

    Parameters
    ----------
    candidates
        Values of one quantity; None where a source has none.

    Returns
    -------
    Choice
        Without a value where no source has one. ``others`` holds the sources that disagree with
        the chosen value.

    Examples
    --------
    >>> choose([("a", 1.0), ("b", 5.0), ("c", 5.0)])
    Choice(value=5.0, source='b', others={'a': 1.0})
    """
    known = [(source, value) for source, value in candidates if value is not None]
    if not known:
        return Choice()
    supported = [
        (source, value)
        for position, (source, value) in enumerate(known)
        if any(agree(value, v) for i, (_, v) in enumerate(known) if i != position)
    ]
    source, value = (supported or known)[0]
    return Choice(value, source, {s: v for s, v in known if not agree(v, value)})


# --------------------------------------------------------------------------------------------------
# Cost and tokens of a trial, from records that may disagree.

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage one file records; None for what it does not record.

    A zero counts as not recorded, except a cost of zero beside tokens: a free model.
    """

    source: str
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Input and output together, or None when either is not recorded."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Tokens:
    """The chosen total, its two parts, and whether the count over the trace confirms it."""

    total: Choice
    is_confirmed: bool
    input_tokens: int | None = None
    output_tokens: int | None = None


def metrics_usage(metrics: Any) -> Usage:
    """Read task_metrics.json, flat or with a ``tool_usage`` section."""
    flat, nested = section(metrics), section(metrics, "tool_usage")
    fresh = _first(count(flat.get("input_tokens")), count(nested.get("total_input_tokens")))
    made = _first(count(flat.get("output_tokens")), count(nested.get("total_output_tokens")))
    cached = [count(flat.get(key)) or 0 for key in ("cache_creation_tokens", "cache_read_tokens")]
    cost = _first(number(flat.get("cost_usd")), number(nested.get("cost_usd")))
    read = None if fresh is None else fresh + sum(cached)
    return _usage("task_metrics.json", cost, read, made)


def result_usage(result: Any) -> Usage:
    """Read result.json, whose input count holds the cached tokens."""
    agent = section(result, "agent_result")
    read, made = count(agent.get("n_input_tokens")), count(agent.get("n_output_tokens"))
    return _usage("result.json", number(agent.get("cost_usd")), read, made)


def choose_cost(metrics: Usage, result: Usage, trace: Trace | None) -> Choice:
    """Return the chosen cost; zero only where no source records a positive one."""
    stated = trace.declared_cost_usd or None if trace is not None else None
    candidates = [(u.source, u.cost_usd) for u in (metrics, result)] + [("trace", stated)]
    return choose([(s, c) for s, c in candidates if c] or candidates)


def choose_tokens(metrics: Usage, result: Usage, trace: Trace | None) -> Tokens:
    """Return the chosen total of tokens.

    A trace whose own count equals the total it declares comes before all. An ATIF trace adds the
    usage of a message once for every step it was split into, and result.json inherits that total;
    so where such a trace is complete and its count differs, the count is used and result.json comes
    last. Everywhere else two records that agree outvote the third, and task_metrics.json comes
    before result.json before the trace.
    """
    files = [(usage.source, _float(usage.total)) for usage in (metrics, result)]
    declared = _float(trace.declared_tokens) if trace is not None else None
    counted = _counted(trace)
    own = _float(own_tokens(trace)) if trace is not None else None
    if declared is not None and counted is not None and agree(declared, counted):
        others = {s: v for s, v in files if v is not None and not agree(v, declared)}
        chosen = Choice(declared, "trace", others)
    elif trace is None or not trace.format.startswith("atif"):
        chosen = choose([*files, ("trace", own)])
    elif counted is not None:
        chosen = choose([files[0], ("trace", counted), files[1]])
    else:
        chosen = choose([*files, ("trace", None if files[1][1] else declared)])
    stated = [declared, *(value for _, value in files)]
    return _tokens(chosen, (metrics, result), _is_confirmed(chosen.value, counted, stated))


def own_tokens(trace: Trace) -> int | None:
    """Return the tokens that a trace alone states for its run, with those of its sub-agents.

    A total may leave sub-agents out, whose messages are counted; a count lacks what is not stated
    by message.
    """
    return max(trace.declared_tokens or 0, trace.counted_tokens or 0) or None


def _counted(trace: Trace | None) -> float | None:
    """Return the count over a trace's messages; None when some are missing."""
    if trace is None or {"trimmed", HISTORY_COMPACTED} & set(trace.flags):
        return None
    return _float(trace.counted_tokens)


def _is_confirmed(
    total: float | None, counted: float | None, stated: Iterable[float | None]
) -> bool:
    """Return whether the count is the chosen total, and another record has it too."""
    if total is None or counted is None or not agree(total, counted):
        return False
    return any(value is not None and agree(value, counted) for value in stated)


def _tokens(chosen: Choice, usages: Iterable[Usage], is_confirmed: bool) -> Tokens:
    for usage in usages:
        total = usage.total
        if chosen.value is not None and total is not None and agree(total, chosen.value):
            return Tokens(chosen, is_confirmed, usage.input_tokens, usage.output_tokens)
    return Tokens(chosen, is_confirmed)


def _usage(source: str, cost: float | None, read: int | None, made: int | None) -> Usage:
    if not read and not made:
        read = made = None
    if cost is not None and (cost < 0 or (cost == 0 and read is None)):
        cost = None
    return Usage(source, cost, read, made)


def _float(value: int | None) -> float | None:
    """Return a recorded number of tokens; zero is what harnesses write for unknown."""
    return float(value) if value else None


def _first(one: T | None, other: T | None) -> T | None:
    return other if one is None else one
