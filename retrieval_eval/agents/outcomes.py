"""Outcomes: reward, cost, tokens, time, model and harness of a trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from msgspec.structs import replace

from retrieval_eval.agents.traces.reading import HISTORY_COMPACTED
from retrieval_eval.io.files import is_there, read_json
from retrieval_eval.model.metrics import TrialOutcome
from retrieval_eval.records import RecordedOutcome, Trace

# --------------------------------------------------------------------------------------------------
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


# --------------------------------------------------------------------------------------------------
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


# --------------------------------------------------------------------------------------------------
# Outcomes: reward, cost, tokens, time, model and harness of a trial.

__all__ = ["Outcome", "load_outcome", "model_name", "outcome_of_trace", "with_recorded"]

_LONGEST_MESSAGE = 300


def load_outcome(trial_dir: Path, trace: Trace | None = None) -> Outcome:
    """Return the outcome of a trial, from its result, its task metrics and its trace.

    Where the three disagree on cost or tokens, two that agree outvote the third; otherwise
    ``task_metrics.json`` comes before ``result.json`` before the trace, with the exceptions for
    tokens in :func:`retrieval_eval.agents.outcomes.choose_tokens`. The values not chosen are
    kept.

    Parameters
    ----------
    trial_dir
        The folder of the trial; ``result.json`` and ``task_metrics.json`` in it are read and
        never changed. Either may be missing or broken.
    trace
        The trial's trace, or None where there is none.

    Returns
    -------
    Outcome
        With None for what was not recorded, and a sentence for every file that is broken.
    """
    result, problems = _read(trial_dir, "result.json", is_expected=True)
    metrics, more = _read(trial_dir, "task_metrics.json", is_expected=False)
    broken = (*problems, *misfits(result, metrics), *more)
    reward = read_reward(result, metrics)
    usages = (metrics_usage(metrics), result_usage(result))
    cost = choose_cost(*usages, trace)
    tokens = choose_tokens(*usages, trace)
    timing = read_timing(result, metrics, trace)
    agent = section(result, "agent_info")
    return Outcome(
        reward=reward.value,
        reward_reason=reward.reason,
        reward_source=reward.source,
        reward_scale=reward.scale,
        cost_usd=cost.value,
        cost_source=cost.source,
        cost_other=dict(cost.others),
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        total_tokens=None if tokens.total.value is None else int(tokens.total.value),
        token_source=tokens.total.source,
        token_other=dict(tokens.total.others),
        is_token_total_confirmed=tokens.is_confirmed,
        elapsed_seconds=timing.elapsed_seconds,
        elapsed_source=timing.elapsed_source,
        wall_seconds=timing.wall_seconds,
        started_at=timing.started_at,
        finished_at=timing.finished_at,
        agent_started_at=timing.agent_started_at,
        model=_model(result) or model_name(trace.model if trace else None),
        harness=_known(agent.get("name")) or _known(trace.harness if trace else None),
        harness_version=_known(agent.get("version"))
        or _known(trace.harness_version if trace else None),
        exception=_exception(result, metrics),
        task_checksum=text(section(result).get("task_checksum")),
        is_simulated=section(result).get("simulated") is True,
        problems=(*broken, *reward.problems, *timing.problems),
        unreadable=(*broken, *reward.unreadable),
    )


def outcome_of_trace(trace: Trace) -> Outcome:
    """Return the outcome of a trace without a result: what the trace itself states."""
    lasted = None
    if trace.started_at is not None and trace.finished_at is not None:
        lasted = max(trace.finished_at - trace.started_at, 0.0)
    return Outcome(
        reward_reason="not_recorded",
        model=model_name(trace.model),
        harness=trace.harness,
        harness_version=trace.harness_version,
        cost_usd=trace.declared_cost_usd,
        total_tokens=own_tokens(trace),
        started_at=trace.started_at,
        finished_at=trace.finished_at,
        elapsed_seconds=lasted,
    )


_IN_MILLISECONDS: Final = (500, 2000)
"""A stated time that is so many times the trace's own is one in milliseconds."""


def with_recorded(outcome: Outcome, recorded: RecordedOutcome) -> Outcome:
    """Return an outcome in which what a table states comes before what files of the trial say."""
    names = ("cost_usd", "elapsed_seconds", "model", "harness", "harness_version")
    stated = {name: value for name in names if (value := getattr(recorded, name)) is not None}
    if (model := model_name(recorded.model)) is not None:
        stated["model"] = model
    problems: tuple[str, ...] = ()
    took, lasted = recorded.elapsed_seconds, outcome.elapsed_seconds
    if took and lasted and _IN_MILLISECONDS[0] < took / lasted < _IN_MILLISECONDS[1]:
        what = f"elapsed_seconds {took:g} is {took / lasted:,.0f} times what the trace shows"
        problems = (f"{recorded.source}: {what}; it is left out as a time in milliseconds",)
        del stated["elapsed_seconds"]
    sources = {"cost_usd": "cost_source", "elapsed_seconds": "elapsed_source"}
    stated |= {of: recorded.source for name, of in sources.items() if name in stated}
    if recorded.reward is not None:
        found = Reward(recorded.reward, None, recorded.source)
        stated |= {
            "reward": found.value,
            "reward_reason": None,
            "reward_source": found.source,
            "reward_scale": found.scale,
        }
    return replace(outcome, **stated, problems=(*outcome.problems, *problems))


def _read(trial_dir: Path, name: str, *, is_expected: bool) -> tuple[Any, tuple[str, ...]]:
    path = trial_dir / name
    if not is_there(path):
        return None, (f"{name}: missing",) if is_expected else ()
    document = read_json(path, trial_dir)
    if document.problem is not None:
        return None, (document.problem,)
    if not isinstance(document.value, dict):
        return None, (f"{name}: expected an object",)
    return document.value, ()


def _known(value: Any) -> str | None:
    """Return a name, or None for what harnesses write when they do not know one."""
    name = text(value)
    return None if name is None or name.lower() in {"unknown", "none", "null", "n/a"} else name


def _model(result: Any) -> str | None:
    stated = section(result, "agent_info").get("model_info")
    name = stated.get("name") if isinstance(stated, dict) else stated
    asked_for = section(result, "config", "agent").get("model_name")
    return model_name(name) or model_name(asked_for)


def model_name(value: Any) -> str | None:
    """Return the name of a model without its provider, or None for what is none.

    Examples
    --------
    >>> model_name("@google/gemini-3-pro"), model_name("openrouter/google/gemini-3-pro")
    ('gemini-3-pro', 'gemini-3-pro')
    """
    known = _known(value)
    return (known.rstrip("/").rsplit("/", 1)[-1].lstrip("@") or None) if known else None


def _exception(result: Any, metrics: Any) -> dict[str, str | None] | None:
    """Return type and message of the error that ended a trial; None without one."""
    info = section(result).get("exception_info")
    if isinstance(info, dict) and info:
        kind = text(info.get("exception_type")) or text(info.get("type"))
        message = info.get("exception_message", info.get("message"))
        return {"type": kind, "message": text(message, _LONGEST_MESSAGE)}
    if text(info):
        return {"type": None, "message": text(info, _LONGEST_MESSAGE)}
    flat = section(metrics)
    message, kind = text(flat.get("error"), _LONGEST_MESSAGE), text(flat.get("failure_class"))
    return {"type": kind, "message": message} if message or kind else None


# --------------------------------------------------------------------------------------------------
# The outcome of a trial: reward, cost, tokens, time, model and harness.


class Outcome(TrialOutcome, frozen=True, kw_only=True):
    """The outcome of one trial, and two facts that other parts of its documents need.

    ``is_simulated`` is whether the result marks the trial as simulated; ``unreadable`` are those of
    the problems about files that could not be read. Neither is in the outcome's block.
    """

    is_simulated: bool = False
    unreadable: tuple[str, ...] = ()

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the block without what other parts of the documents hold."""
        return {k: v for k, v in plain.items() if k not in ("is_simulated", "unreadable")}


# --------------------------------------------------------------------------------------------------
# The reward a verifier gave, or the reason why there is none.


@dataclass(frozen=True, slots=True)
class Reward:
    """A recorded reward, or the reason code of a missing one.

    ``unreadable`` are those of the problems about records that are not numbers.
    """

    value: float | None
    reason: str | None
    source: str | None
    problems: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def scale(self) -> Literal["unit", "open"] | None:
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


# --------------------------------------------------------------------------------------------------
# When a trial and its agent started and ended.


@dataclass(frozen=True, slots=True)
class Timing:
    """Unix seconds and durations; ``elapsed_seconds`` is the time the agent worked."""

    started_at: float | None
    finished_at: float | None
    agent_started_at: float | None
    wall_seconds: float | None
    elapsed_seconds: float | None
    elapsed_source: str | None
    problems: tuple[str, ...] = ()


def read_timing(result: Any, metrics: Any, trace: Trace | None) -> Timing:
    """Return the times of a trial.

    The agent's time comes from ``agent_execution`` of result.json, else from
    ``agent_execution_seconds`` or ``timing.agent`` of task_metrics.json, else from the first to
    the last time in the trace, else it is the whole trial's time; the source is recorded. A trial
    that left no trace of an agent at work has no agent's time unless one is stated.
    """
    started, finished = _times(section(result))
    if started is None and finished is None:
        started, finished = _times(section(metrics))
    agent_started, agent_finished = _times(section(result, "agent_execution"))
    wall = span(started, finished)
    stated_wall = _positive(section(metrics).get("wall_clock_seconds"))
    candidates = (
        ("result.json", span(agent_started, agent_finished)),
        ("task_metrics.json", _stated_seconds(metrics)),
        ("trace", span(trace.started_at, trace.finished_at) if trace is not None else None),
        ("whole trial", wall if trace is not None else None),
    )
    source, elapsed = next(((source, value) for source, value in candidates if value), (None, None))
    problems = tuple(
        f"result.json: {name} ends before it starts"
        for name, start, end in (
            ("the trial", started, finished),
            ("the agent", agent_started, agent_finished),
        )
        if start is not None and end is not None and end < start
    )
    return Timing(started, finished, agent_started, wall or stated_wall, elapsed, source, problems)


def _times(holder: dict[str, Any]) -> tuple[float | None, float | None]:
    finished = holder.get("finished_at", holder.get("completed_at"))
    return seconds(holder.get("started_at")), seconds(finished)


def _stated_seconds(metrics: Any) -> float | None:
    flat = _positive(section(metrics).get("agent_execution_seconds"))
    return flat or _positive(section(metrics, "timing").get("agent"))


def _positive(value: Any) -> float | None:
    found = number(value)
    return found if found is not None and found > 0 else None
