"""Cost and tokens of a trial, out of records that may disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrieval_eval.outcomes.choose import Choice, agree, choose
from retrieval_eval.outcomes.fields import count, number, section
from retrieval_eval.records import Trace


@dataclass(frozen=True, slots=True)
class Usage:
    """What one file says was used; None for what it does not record.

    A zero was not recorded, except a cost of zero beside tokens: a model that costs nothing.
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
    """The believed total, whether two independent records agree on it, and its two parts."""

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
    read = None if fresh is None else int(fresh) + sum(cached)
    return _usage("task_metrics.json", cost, read, None if made is None else int(made))


def result_usage(result: Any) -> Usage:
    """Read result.json, whose input count holds the cached tokens."""
    agent = section(result, "agent_result")
    read, made = count(agent.get("n_input_tokens")), count(agent.get("n_output_tokens"))
    return _usage("result.json", number(agent.get("cost_usd")), read, made)


def choose_cost(metrics: Usage, result: Usage, trace: Trace | None) -> Choice:
    """Return the believed cost; a zero only where no source records a positive one."""
    stated = trace.declared_cost_usd or None if trace is not None else None
    candidates = [(u.source, u.cost_usd) for u in (metrics, result)] + [("trace", stated)]
    return choose([(s, c) for s, c in candidates if c] or candidates)


def choose_tokens(metrics: Usage, result: Usage, trace: Trace | None) -> Tokens:
    """Return the believed total of tokens.

    A trace whose own count equals the total it declares comes before all. An ATIF trace adds the
    usage of a message up once for every step it was split into, and result.json inherits that
    total; so where such a trace is whole and its count differs, the count is believed and
    result.json comes last. Everywhere else two records that agree outvote the third, and
    task_metrics.json comes before result.json before the trace.
    """
    by_file = [(u.source, _float(u.total)) for u in (metrics, result)]
    if trace is None:
        return _tokens(choose(by_file), metrics, result, independent=by_file)
    declared = _float(trace.declared_tokens or None)
    is_whole = "trimmed" not in trace.flags
    counted = _float(trace.counted_tokens or None) if is_whole else None
    if declared is not None and counted is not None and agree(declared, counted):
        others = {s: v for s, v in by_file if v is not None and not agree(v, declared)}
        chosen = Choice(declared, "trace", others)
        return _tokens(chosen, metrics, result, independent=[("", declared), ("", counted)])
    if trace.format.startswith("atif"):
        own = [("trace", counted)]
        order = [by_file[0], *own, by_file[1]] if counted else [*by_file, ("trace", None)]
        independent = [by_file[0], *own]
        if by_file[1][1] is None and counted is None:
            order.append(("trace", declared))
        return _tokens(choose(order), metrics, result, independent)
    order = [*by_file, ("trace", declared or counted)]
    return _tokens(choose(order), metrics, result, independent=order)
