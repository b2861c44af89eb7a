"""The trials of a study, read from metrics documents or from rows of a frame."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, Union, cast

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics import MEDIUM_SET, SMALL_SET
from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric, in_view
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.escape import encodable
from retrieval_eval.model import value_at
from retrieval_eval.values import as_number

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.agents.metrics.document import TrialMetrics

Document = Union["TrialMetrics", Mapping[str, Any]]
"""The metrics of a trial, as a record or as its document."""

Task = tuple[str, str]
"""Suite and name of a task: what trials of two configurations are paired by."""

Scales = Mapping[str, tuple[float, float] | None]
"""The lowest and highest reward by suite."""

Use = tuple[int, int]
"""Calls of a tool, and how many of them were answered."""

MCP: Final = "mcp"
"""Names any MCP server among the tools that an arm must, may or must not use."""

VIEWED: Final = tuple(
    name for name, metric in BY_NAME.items() if metric.is_compared and metric.is_of_view
)
"""Compared metrics whose value depends on the view."""

_TEXT: Final = {
    "run_id": "provenance/run_id",
    "benchmark": "provenance/benchmark",
    "task_name": "provenance/task_name",
    "config_name": "provenance/config_name",
    "trial_name": "provenance/trial_name",
    "batch_timestamp": "provenance/batch_timestamp",
    "model": "provenance/model",
    "harness": "provenance/harness",
    "harness_version": "provenance/harness_version",
    "degraded_reason": "coverage/degraded_reason",
    "ground_truth_confidence": "coverage/ground_truth_confidence",
    "ground_truth_digest": "coverage/ground_truth_digest",
    "task_checksum": "outcome/task_checksum",
    "exception": "outcome/exception/type",
    "reason": "file_level_metrics/reason",
    "evidence_type": "error_taxonomy/slices/evidence_type",
}
_LISTS: Final = {
    "degraded_sources": "coverage/degraded_sources",
    "quality_flags": "coverage/quality_flags",
    "repositories": "coverage/repositories",
}
_COUNTS: Final = {
    "calls_seen": "ledger/calls_seen",
    "mcp_calls": "ledger/mcp_calls",
    "mcp_calls_ok": "ledger/mcp_calls_ok",
    "shell_calls": "ledger/shell_calls",
    "shell_opaque": "ledger/shell_opaque",
    "total_events": "event_summary/total_events",
    "n_ground_truth": "file_level_metrics/n_ground_truth",
    "candidate_set_count": "error_taxonomy/slices/candidate_set_count",
}
_USES: Final = {"tools": "ledger/tools", "mcp_servers": "ledger/mcp_servers"}
"""Calls by name; documents of earlier versions have none."""
_FLAGS: Final = {
    "has_ground_truth": "coverage/has_ground_truth",
    "computable": "file_level_metrics/computable",
    "never_hit": "file_level_metrics/never_hit",
}
COLUMNS: Final = {
    **_TEXT,
    **_LISTS,
    **_COUNTS,
    **_FLAGS,
    "has_exception": "outcome/exception",
}
"""The columns that every frame of trials needs, with their places in a metrics document."""

NUMBERS: Final = {
    **{name: metric.path for name, metric in BY_NAME.items()},
    **{f"{name}:{view}": in_view(BY_NAME[name], view).path for name in VIEWED for view in VIEWS},
    "file_recall_low": ("file_level_metrics", "file_recall_bounds", "0"),
    "file_recall_high": ("file_level_metrics", "file_recall_bounds", "1"),
    "answer_exposed_at": ("coverage", "answer_exposed_at"),
    "started_at": ("outcome", "started_at"),
    **{
        name: ("file_level_metrics", name)
        for name in ("ttfr_calls", *(f"censored_at_{u}" for u in ("seconds", "tokens", "calls")))
    },
}
"""The columns of numbers with their places; a number that is not known is missing."""

_SECTIONS: Final = ("provenance", "coverage", "ledger", "file_level_metrics", "outcome")
"""The fields that every metrics document must have."""

_OF_OUTCOME: Final = frozenset(
    {name for name, metric in BY_NAME.items() if metric.path[:1] == ("outcome",)} | {"started_at"}
)
_NO_TRUTH: Final = frozenset({"no_ground_truth", "not_a_retrieval_target", "only_added_files"})


class Numbers(Mapping[str, float]):
    """Numbers by column, in a fraction of the memory of a ``dict``: all trials are held at once.

    The names of the columns are shared with all others that have numbers in the same columns.

    Examples
    --------
    >>> numbers = Numbers({"reward": 1.0, "file_recall": 0.5})
    >>> numbers["reward"], numbers.get("cost_usd"), "cost_usd" in numbers, list(numbers)
    (1.0, None, False, ['reward', 'file_recall'])
    """

    __slots__ = ("_places", "_values")

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._places = _places_of(tuple(numbers))
        self._values = array("d", numbers.values())

    def __getitem__(self, column: str) -> float:
        return self._values[self._places[column]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    # Inherited too, but slower: each number is read many times.

    def __contains__(self, column: object) -> bool:
        return column in self._places

    def get(self, column: str, default: Any = None) -> Any:
        """Return the number of a column, or what is given where it is not known."""
        place = self._places.get(column)
        return default if place is None else self._values[place]


@lru_cache(maxsize=1 << 10)
def _places_of(columns: tuple[str, ...]) -> dict[str, int]:
    return {column: place for place, column in enumerate(columns)}


@dataclass(frozen=True, slots=True)
class Trial:
    """The fields of one trial that comparisons and associations use.

    ``reason`` is the reason code of a trial without recall, ``exception`` the type of the error
    that ended it (``has_exception``), where that is known. ``numbers`` holds every number that is
    known by its column: a metric's name, or ``metric:view``. ``tools`` and ``mcp_servers`` hold
    what was called by its name; both are empty where that is not known.
    :func:`on_one_scale` sets ``is_reward_open`` where the scale of the suite's rewards is not
    known, and ``is_reward_mapped`` where the reward was mapped to 0 to 1.
    """

    run_id: str
    benchmark: str
    task_name: str
    config_name: str
    trial_name: str
    batch_timestamp: str | None
    model: str | None
    harness: str | None
    harness_version: str | None
    degraded_reason: str | None
    degraded_sources: tuple[str, ...]
    quality_flags: tuple[str, ...]
    repositories: tuple[str, ...]
    ground_truth_confidence: str | None
    ground_truth_digest: str | None
    task_checksum: str | None
    exception: str | None
    has_exception: bool
    calls_seen: int
    mcp_calls: int
    mcp_calls_ok: int
    shell_calls: int
    shell_opaque: int
    total_events: int | None
    n_ground_truth: int | None
    candidate_set_count: int | None
    evidence_type: str | None
    has_ground_truth: bool
    computable: bool
    never_hit: bool
    reason: str | None
    numbers: Mapping[str, float] = field(repr=False)
    tools: Mapping[str, Use] = field(default_factory=dict, repr=False)
    mcp_servers: Mapping[str, Use] = field(default_factory=dict, repr=False)
    is_reward_open: bool = False
    is_reward_mapped: bool = False

    @property
    def task(self) -> Task:
        """Suite and task."""
        return (self.benchmark, self.task_name)

    @property
    def has_degraded_trace(self) -> bool:
        """Whether the trace is degraded; documents before 1.2 do not name the degraded sources."""
        is_trace = not self.degraded_sources or "trace" in self.degraded_sources
        return bool(self.degraded_reason) and is_trace

    def with_outcome_alone(self) -> Trial:
        """Return the trial without what its trace shows, which is known of its outcome still."""
        known = {name: value for name, value in self.numbers.items() if name in _OF_OUTCOME}
        return replace(self, numbers=known, degraded_reason=None, degraded_sources=())

    @property
    def lacks_ground_truth(self) -> bool:
        """Whether there is no recall because the task names no file to find."""
        return "file_recall" not in self.numbers and self.reason in _NO_TRUTH

    @property
    def has_called_mcp(self) -> bool:
        """Whether an MCP server was called, successfully or not."""
        return self.mcp_calls > 0

    @property
    def was_answered(self) -> bool:
        """Whether an MCP server answered a call."""
        return self.mcp_calls_ok > 0

    def use_of(self, tool: str) -> Use | None:
        """Return the calls of a tool and how many were answered; None where that is not known.

        ``mcp`` is any MCP server; else the name of a server, or of a tool as it is called.
        """
        if tool == MCP:
            return self.mcp_calls, self.mcp_calls_ok
        if self.calls_seen and not self.tools:
            return None
        known = [uses[tool] for uses in (self.mcp_servers, self.tools) if tool in uses]
        return sum(calls for calls, _ in known), sum(answered for _, answered in known)


Trials = Union["pd.DataFrame", Iterable[Trial | Document]]
"""A frame of trials, or trials, or their metrics."""


Shared = dict[Any, Any]
"""What some trials say, by itself: what is equal is in memory once."""


def from_document(document: Document, shared: Shared | None = None) -> Trial:
    """Return the trial that its metrics, or a metrics document, describe.

    Raises
    ------
    LookupError
        When a part that every such document has is missing.
    """
    if isinstance(document, Mapping):
        for name in _SECTIONS:
            document[name]
    numbers = {name: _finite(value_at(document, path)) for name, path in NUMBERS.items()}
    return _trial(
        lambda column: value_at(document, _PATHS[column]),
        numbers,
        {name: value_at(document, path.split("/")) for name, path in _USES.items()},
        {} if shared is None else shared,
    )


def from_frame(frame: pd.DataFrame, needed: Collection[str] = ()) -> list[Trial]:
    """Return the trials of a frame, a row each.

    Parameters
    ----------
    frame
        The frame :attr:`Run.trials <retrieval_eval.report.Run>`, or some of its rows; the numbers
        may be changed, and further columns of numbers added.
    needed
        Columns of numbers that the frame must have.

    Raises
    ------
    BadInputError
        When a column is missing or holds something else than it should.
    """
    import pandas as pd

    if frame.empty:
        return []
    _refuse_missing([*COLUMNS, *needed], [str(name) for name in frame.columns])
    numeric = [n for n in dict.fromkeys((*NUMBERS, *needed)) if n in frame.columns]
    listed = [name for name in _USES if name in frame.columns]
    values = {name: _known(frame[name], pd) for name in (*COLUMNS, *numeric, *listed)}
    _refuse_other_kinds(values, numeric)
    return list(_of_columns(values, numeric, listed, {}))


def _of_columns(
    values: Mapping[str, Sequence[Any]],
    numeric: Collection[str],
    listed: Collection[str],
    shared: Shared,
) -> Iterator[Trial]:
    for row in range(len(values["run_id"])):
        yield _trial(
            lambda column, row=row: values[column][row],  # type: ignore[misc]
            {name: _finite(values[name][row]) for name in numeric},
            {name: values[name][row] for name in listed},
            shared,
        )


COLUMN_KINDS: Final[dict[str, Literal["text", "list", "integer", "boolean", "number", "uses"]]] = {
    **dict.fromkeys(_TEXT, "text"),
    **dict.fromkeys(_LISTS, "list"),
    **dict.fromkeys(_COUNTS, "integer"),
    **dict.fromkeys((*_FLAGS, "has_exception"), "boolean"),
    **dict.fromkeys(NUMBERS, "number"),
    **dict.fromkeys(_USES, "uses"),
}
"""Every column of a table of trials and what it holds."""


def to_row(document: Document) -> dict[str, Any]:
    """Return the columns of one trial, from its metrics."""
    found = {name: value_at(document, path) for name, path in _PATHS.items()}
    numbers = {name: _finite(value_at(document, path)) for name, path in NUMBERS.items()}
    uses = {name: value_at(document, path.split("/")) for name, path in _USES.items()}
    return {**found, "has_exception": found["has_exception"] is not None, **numbers, **uses}


def trials_of(
    given: Trials, needed: Collection[str] = (), scales: Scales | None = None
) -> list[Trial]:
    """Return trials in a fixed order with their rewards on one scale, from any kind of input.

    Parameters
    ----------
    given
        A frame of trials, or :class:`Trial` records, or their metrics.
    needed
        Columns of numbers that must be known of some trial.
    scales
        The lowest and highest reward by suite where they are stated, or None where the scale of a
        suite is stated not to be known.

    Raises
    ------
    BadInputError
        When the frame lacks a column, or what is given is neither.
    """
    if hasattr(given, "columns"):
        found = from_frame(cast("pd.DataFrame", given), needed)
    else:
        shared: Shared = {}
        found = [row if isinstance(row, Trial) else from_document(row, shared) for row in given]
        extra = {name for trial in found for name in trial.numbers} - NUMBERS.keys()
        _refuse_missing(needed, [*NUMBERS, *extra])
    return on_one_scale(sorted(found, key=order_of), scales)


def some_trials(
    given: Trials, needed: Collection[str] = (), scales: Scales | None = None
) -> list[Trial]:
    """Return :func:`trials_of`; raises ``NothingToEvaluateError`` where there is none."""
    found = trials_of(given, needed, scales)
    if not found:
        raise NothingToEvaluateError("there is no trial: the frame, or the list, is empty")
    return found


def order_of(trial: Trial) -> tuple[str, ...]:
    """Return the key by which trials are sorted, so that input order never matters."""
    names = (*trial.task, trial.config_name, trial.run_id, trial.batch_timestamp or "")
    return (*names, trial.trial_name)


def as_asked(trials: Sequence[Trial], metric: Metric) -> Sequence[Trial]:
    """Return trials as a verdict on a metric uses them.

    An outcome needs no trace: a trial that ran out of time, whose trace is cut, keeps the reward
    that was recorded of it, and what its trace shows of retrieval is left out.
    """
    if metric.path[:1] != ("outcome",):
        return trials
    return [
        trial.with_outcome_alone()
        if trial.has_degraded_trace and metric.name in trial.numbers
        else trial
        for trial in trials
    ]


def average(trials: Sequence[Trial], column: str) -> float | None:
    """Return the mean of a number over the trials that have it, rounded once."""
    if len(trials) == 1:  # nearly always
        return trials[0].numbers.get(column)
    known = known_values(trials, column)
    if len(known) < 2:
        return known[0] if known else None
    return statistics.mean(known)


def known_values(trials: Iterable[Trial], column: str) -> list[float]:
    """Return a number of every trial that has it."""
    found = (trial.numbers.get(column) for trial in trials)
    return [value for value in found if value is not None]


def candidate_set_of(trials: Iterable[Trial]) -> str | None:
    """Return the size of the candidate set, averaged over trials; None where it is not known."""
    counts = [trial.candidate_set_count for trial in trials]
    known = [count for count in counts if count is not None]
    if not known:
        return None
    size = sum(known) / len(known)
    return "small" if size <= SMALL_SET else "medium" if size <= MEDIUM_SET else "large"


_WHOLE: Final = {"censored_at_seconds": "elapsed_seconds", "censored_at_tokens": "total_tokens"}
"""End of observation to the outcome that measures the length of a trial without events."""


def observed(trial: Trial, hit: str, end: str) -> tuple[float, bool] | None:
    """Return the time of an event with True, or that of the end of observation with False.

    A trial without events never hit; its length is known from its outcome only. A time that is
    not known, or negative, is None.

    Parameters
    ----------
    trial
        The trial.
    hit, end
        The columns of the time of the event, and of the end of observation without one.
    """
    has_hit = not trial.never_hit
    time = trial.numbers.get(hit if has_hit else end)
    if time is None and not has_hit and trial.total_events == 0:
        time = trial.numbers.get(_WHOLE.get(end, ""))
    return None if time is None or time < 0 else (time, has_hit)


# The scale of rewards

MIN_ON_SCALE: Final = 0.9
"""A suite of which a smaller share of rewards lies between 0 and 1 has another scale."""

SCALES_DIFFER: Final = "reward_scales_differ"


def on_one_scale(trials: Sequence[Trial], stated: Scales | None = None) -> list[Trial]:
    """Return the trials with the scale of their suite's rewards, and without rewards off it.

    Rewards of a suite with a ``stated`` scale are mapped to 0 to 1, once. Of another suite: where
    nine in ten rewards lie between 0 and 1 that is its scale, and one outside is
    a fault: it is not computable. Else the scale is not known (``is_reward_open``), and
    :func:`are_poolable` says what may be averaged.
    """
    stated = stated or {}
    unknown = open_suites(
        (trial.benchmark, trial.numbers["reward"])
        for trial in trials
        if "reward" in trial.numbers and encodable(trial.benchmark) not in stated
    )
    unknown |= {suite for suite, ends in stated.items() if ends is None}
    return [
        _scaled(
            _mapped(trial, stated.get(encodable(trial.benchmark))),
            trial.benchmark in unknown or encodable(trial.benchmark) in unknown,
        )
        for trial in trials
    ]


def open_suites(rewards: Iterable[tuple[str, float]]) -> set[str]:
    """Return the suites whose rewards are not from 0 to 1.

    Examples
    --------
    >>> open_suites([("a", 0.5), ("a", 1.0), ("b", 37.0)])
    {'b'}
    """
    by_suite: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for suite, reward in rewards:
        by_suite[suite][0] += 1
        by_suite[suite][1] += 0 <= reward <= 1
    return off_scale(by_suite)


def off_scale(counts: Mapping[str, Sequence[int]]) -> set[str]:
    """Return :func:`open_suites` of how many rewards a suite has, and how many lie from 0 to 1."""
    return {suite for suite, (n, n_on_scale) in counts.items() if n_on_scale < MIN_ON_SCALE * n}


def are_poolable(trials: Iterable[Trial]) -> bool:
    """Whether the rewards of trials may be averaged, or ranked together.

    They may when they are of one suite, or all of suites whose rewards go from 0 to 1.
    """
    scales = {t.benchmark: t.is_reward_open for t in trials if "reward" in t.numbers}
    return len(scales) < 2 or not any(scales.values())


def _mapped(trial: Trial, ends: tuple[float, float] | None) -> Trial:
    """Return a trial with its reward as a share of a stated scale, unless it already is one."""
    if ends is None or trial.is_reward_mapped or "reward" not in trial.numbers:
        return trial
    low, high = ends
    reward = (trial.numbers["reward"] - low) / (high - low)
    numbers = Numbers({**trial.numbers, "reward": reward})
    return replace(trial, numbers=numbers, is_reward_mapped=True)


def _scaled(trial: Trial, is_open: bool) -> Trial:
    if is_open:
        return replace(trial, is_reward_open=True)
    if 0 <= trial.numbers.get("reward", 0) <= 1:
        return trial
    known = {k: v for k, v in trial.numbers.items() if k != "reward"}
    return replace(trial, numbers=Numbers(known))


# Reading


def _trial(
    read: Callable[[str], Any],
    numbers: Mapping[str, float | None],
    uses: Mapping[str, Any],
    shared: Shared,
) -> Trial:
    """Return a trial from its columns; values of another type than declared are dropped."""
    once = shared.setdefault
    text = {
        name: once(value, value) if isinstance(value := read(name), str) else None for name in _TEXT
    }
    lists = {
        name: once(own := tuple(once(v, v) for v in value if isinstance(v, str)), own)
        for name in _LISTS
        if isinstance(value := read(name) or (), list | tuple)
    }
    counts = {name: None if (n := _finite(read(name))) is None else int(n) for name in _COUNTS}
    never = {name: bool(read(name)) for name in _FLAGS}
    exception = read("has_exception")
    fields: dict[str, Any] = {
        **text,
        **{name: text[name] or "" for name in _NAMES},
        **dict.fromkeys(_LISTS, ()),
        **lists,
        **counts,
        **{name: counts[name] or 0 for name in _CALLS},
        **never,
        "has_exception": exception is not None and exception is not False,
    }
    fields |= {name: _uses(value, shared) for name, value in uses.items()}
    return Trial(**fields, numbers=Numbers({n: v for n, v in numbers.items() if v is not None}))


def _uses(value: Any, shared: Shared) -> Mapping[str, Use]:
    """Return calls and answers by name, as a document holds them or a column of a frame."""
    once = shared.setdefault
    if isinstance(value, Mapping):
        value = [(name, *parts) for name, parts in value.items() if isinstance(parts, list | tuple)]
    found = {}
    for row in value if isinstance(value, list | tuple) else ():
        if isinstance(row, list | tuple) and len(row) == 3 and isinstance(row[0], str):
            calls, answered = _finite(row[1]), _finite(row[2])
            if calls is not None and answered is not None:
                name, use = encodable(row[0]), (int(calls), int(answered))
                found[once(name, name)] = once(use, use)
    same: Mapping[str, Use] = once((dict, *found.items()), found)
    return same


_PATHS: Final = {name: tuple(path.split("/")) for name, path in COLUMNS.items()}
_NAMES: Final = ("run_id", "benchmark", "task_name", "config_name", "trial_name")
_CALLS: Final = ("calls_seen", "mcp_calls", "mcp_calls_ok", "shell_calls", "shell_opaque")


_LARGEST: Final = 1e100
"""No cost, time or count is larger, and squares of larger numbers are no numbers."""


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    number = value if type(value) is float else as_number(value)
    return number if number is not None and abs(number) <= _LARGEST else None


def _known(column: pd.Series[Any], pd: Any) -> list[Any]:
    """Return the values of a column as plain objects, None for one that is missing."""
    return [
        None if value is pd.NA or (isinstance(value, float) and math.isnan(value)) else value
        for value in column.tolist()
    ]


_MOST_NAMED: Final = 5


def _refuse_missing(needed: Iterable[str], columns: Sequence[str]) -> None:
    missing = [name for name in needed if name not in columns]
    if not missing:
        return
    close = get_close_matches(missing[0], columns, n=3, cutoff=0.5)
    hint = f"; closest: {', '.join(close)}" if close else ""
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    raise BadInputError(
        f"the trials have no column {', '.join(missing[:_MOST_NAMED])}{more}{hint}; take the frame "
        "load_run(…).trials, or rows of it with all its columns"
    )


def _refuse_other_kinds(values: Mapping[str, Sequence[Any]], numeric: Iterable[str]) -> None:
    for name in _LISTS:
        if any(isinstance(value, str) for value in values[name]):
            raise BadInputError(f"the column {name} holds text instead of lists")
    for name in (*_COUNTS, *numeric):
        for value in values[name]:
            if value is not None and as_number(value) is None:
                raise BadInputError(f"the column {name} holds {value!r}, which is no number")
