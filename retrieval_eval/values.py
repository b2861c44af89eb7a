"""A number that never travels without its denominator.

A :class:`Value` is either a finite number with the count it rests on, or *not computable* with
a reason code from :data:`REASONS`. There is no third state: unknown is never 0, 1 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, SupportsFloat, SupportsIndex

from msgspec import Struct

MAX_GRADE: Final = 1000
"""The highest grade: no scale needs more, and ``2 ** grade`` stays finite."""

DEFAULT_SEED: Final = 20260101
"""Default seed of resampling; every result records the seed it was made with."""

REASONS: Final[dict[str, str]] = {
    "no_ground_truth": "the task has no file-level ground truth",
    "not_a_retrieval_target": "the ground truth names only files the agent itself had to create",
    "only_added_files": "the reference change only adds files, which were not there to be found",
    "no_trace": "no readable trace was found for the trial",
    "agent_never_acted": "the trace is incomplete and shows no tool call",
    "calls_unreadable": "the trace shows an agent at work, and none of its calls can be read",
    "evidence_incomplete": "nothing relevant is certain, and some of it may have happened",
    "nothing_resolved": "no answer of a tool could be resolved to files",
    "nothing_retrieved": "no file was retrieved, so a share of the retrieved files does not exist",
    "never_hit": "no ground-truth file was ever found (right-censored)",
    "no_chunk_ground_truth": "the ground truth has no line ranges",
    "no_line_ranges": "the reads carry no line ranges",
    "unknown_length": "lines were read that cannot be counted, such as a file of unknown length",
    "no_writes": "the agent wrote no file",
    "no_expected_edit_files": "no high-confidence source names the files to edit",
    "no_timestamps": "no times are recorded in the trace",
    "no_tokens": "no token counts are recorded in the trace",
    "not_recorded": "the value was not recorded",
    "not_a_number": "the recorded value is not a finite number",
    "reward_off_scale": "the recorded reward is outside the scale the run declares",
    "reward_scales_differ": "rewards of suites with different or unknown scales are not averaged",
    "outside_trial": "the recorded time lies before the start or after the end of the trial",
    "never_hit_differs": "the configurations never found a file on different tasks",
    "not_positive": "more than a third of the pairs have a side of 0 or below, so no ratio",
    "tasks_in_clusters": "tasks of one cluster are not independent, as this interval needs",
    "no_repeats": "no task was repeated in both arms, so the spread of repeats is not known",
    "query_failed": "the retriever failed on the query, so there is nothing to measure",
    "missing_component": "a component of the composite has no value",
    "no_corpus_size": "the number of documents of the corpus is not known",
    "no_such_queries": "the run asked no query of this kind",
    "one_class_only": "only answerable or only unanswerable queries were asked",
    "no_scores": "the retriever gives an order without scores, so there is no threshold",
    "too_few_values": "fewer values than the statistic needs",
    "too_few_pairs": "fewer than three matched pairs",
    "not_comparable": "the validity gate withholds a verdict",
    "constant_input": "one side is constant, so no association is defined",
    "mean_drifts": "intervals at different times do not overlap: the mean did not stay the same",
    "one_value_per_task": "no task has values under several configurations",
    "whole_run_only": "the metric is one of the whole run, and of no part of it",
    "no_claims": "no draft makes a substantive claim",
    "all_unproved": "no claim was decided: the judge gave no verdict with proof",
    "no_computable_values": "no trial has a computable value",
}
"""Every reason code with the sentence a report prints for it."""


class Value(Struct, frozen=True):
    """A finite number resting on ``n`` observations, or not computable for a reason.

    Examples
    --------
    >>> Value.of(0.5, n=4).computable
    True
    >>> Value.missing("no_trace").to_json()
    {'value': None, 'n': 0, 'computable': False, 'reason': 'no_trace'}
    """

    value: float | None
    n: int
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.value is None:
            if self.reason not in REASONS:
                raise ValueError(f"a missing value needs a reason code, not {self.reason!r}")
        elif not math.isfinite(self.value) or self.reason is not None:
            raise ValueError("a value is a finite number without a reason")

    @classmethod
    def of(cls, value: float, n: int) -> Value:
        """Return a computable value; raises ``ValueError`` unless it is finite."""
        return cls(value, n)

    @classmethod
    def missing(cls, reason: str, n: int = 0) -> Value:
        """Return a value that is not computable for ``reason`` (a key of :data:`REASONS`)."""
        return cls(None, n, reason)

    @property
    def computable(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape shared by all artefacts."""
        return {
            "value": self.value,
            "n": self.n,
            "computable": self.computable,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval and how it was made.

    Both ends are missing together, but for the median of censored times, whose upper end may
    lie beyond what was watched.
    """

    low: Value
    high: Value
    confidence: float
    method: str

    @classmethod
    def of(cls, low: float, high: float, n: int, confidence: float, method: str) -> Interval:
        """Return an interval resting on ``n`` independent units."""
        return cls(Value.of(low, n), Value.of(high, n), confidence, method)

    @classmethod
    def missing(cls, reason: str, n: int, confidence: float, method: str) -> Interval:
        """Return an interval that is not computable for ``reason``."""
        end = Value.missing(reason, n)
        return cls(end, end, confidence, method)


def as_number(value: Any) -> float | None:
    """Return a number of any type (of numpy, a decimal) as a float; None for what is none.

    Text that looks like a number, booleans and arrays of either are not numbers. NaN and infinities
    are returned.

    Examples
    --------
    >>> as_number(2), as_number("0.5"), as_number(True)
    (2.0, None, None)
    """
    if type(value) is float:  # nearly all of them, and the rest is slow
        return value
    if type(value) is int:
        with suppress(OverflowError):
            return float(value)
        return None
    plain = value
    # The element of a zero-dimensional array.
    with suppress(AttributeError, TypeError, ValueError, RuntimeError):
        plain = value.item()
    if isinstance(plain, bool | Sequence) or not isinstance(plain, SupportsFloat | SupportsIndex):
        return None
    with suppress(TypeError, ValueError, OverflowError):
        return float(value)
    return None


def ratio(part: int, whole: int, reason: str) -> Value:
    """Return ``part / whole`` resting on ``whole``, or not computable when ``whole`` is 0.

    Examples
    --------
    >>> ratio(1, 4, "no_ground_truth").value
    0.25
    >>> ratio(0, 0, "no_ground_truth").reason
    'no_ground_truth'
    """
    return Value.of(part / whole, whole) if whole else Value.missing(reason)


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> [counted(n, "query") for n in (1, 2)], counted(1000, "day"), counted(0, "corpus", "corpora")
    (['1 query', '2 queries'], '1,000 days', '0 corpora')
    """
    if plural is None:
        plural = f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def signed(number: float, digits: int = 2) -> str:
    """Return a number with its sign; a true minus sign, and no sign for what rounds to 0.

    Examples
    --------
    >>> signed(0.1), signed(-0.5), signed(-0.001)
    ('+0.10', '−0.50', '0.00')
    """
    if not round(number, digits):
        return f"{0:.{digits}f}"
    return f"{number:+,.{digits}f}".replace("-", "−")


_MOST_DIGITS: Final = 6


def signed_ends(low: float, high: float, digits: int = 2) -> tuple[str, str]:
    """Return the ends of an interval with their signs; one that excludes 0 never shows it as 0.

    Examples
    --------
    >>> signed_ends(-0.1, 0.2), signed_ends(0.0031, 0.2), signed_ends(-0.2, -1e-9)
    (('−0.10', '+0.20'), ('+0.003', '+0.200'), ('−0.200000', '< 0'))
    """
    return ends_beside(low, high, 0.0, signed, digits)


def ends_beside(
    low: float, high: float, null: float, show: Callable[[float, int], str], digits: int = 2
) -> tuple[str, str]:
    """Return the ends of an interval by ``show``, with as many decimals as tell them from ``null``.

    Only of an interval that excludes ``null``. An end that six decimals do not tell from it is
    shown as beyond it.
    """
    is_beside = not low <= null <= high
    while is_beside and digits < _MOST_DIGITS and null in (round(low, digits), round(high, digits)):
        digits += 1
    first, last = (
        f"{'>' if end > null else '<'} {null:g}"
        if is_beside and round(end, digits) == null
        else show(end, digits)
        for end in (low, high)
    )
    return first, last


def contribution(points: float) -> str:
    """Return what one query adds to a difference: one that is not 0 never looks like 0.

    Examples
    --------
    >>> contribution(0.126), contribution(0), contribution(-0.002), contribution(1e-9)
    ('+0.13', '0', '−0.002', '+0.000001')
    """
    if not points:
        return "0"
    digits = 2
    while digits < 6 and not round(points, digits):
        digits += 1
    return signed(points if round(points, 6) else math.copysign(1e-6, points), digits)


def mean(values: Iterable[Value]) -> Value:
    """Return the mean of the computable values, rounded once; n is how many there were.

    Exact arithmetic: the mean of equal numbers is that number.
    """
    numbers = [v.value for v in values if v.value is not None]
    if not numbers:
        return Value.missing("no_computable_values")
    import statistics

    return Value.of(statistics.mean(numbers), len(numbers))
