"""Which threshold to abstain at: what each would do, and whether a choice holds elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.abstention import Gate, Kinds, rate
from retrieval_eval.search.roc import RocPoint, roc_points
from retrieval_eval.values import counted

CAPS: Final = (0.0, 0.01, 0.02, 0.05, 0.08, 0.10, 0.20)
"""False refusal rates that the table of operating points looks below."""

N_HALVINGS: Final = 500
MIN_TO_HALVE: Final = 10
"""Queries of either kind below which half of them say nothing about the other half."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What refusing below a threshold does to the queries of a run.

    ``cap`` is the false refusal rate it was chosen to stay within, None when it was given. Both
    rates are metric blocks (see `rate`).
    """

    cap: float | None
    threshold: float | None
    true_positive_rate: dict[str, Any]
    false_refusal_rate: dict[str, Any]
    passes: bool | None


@dataclass(frozen=True, slots=True)
class HalvedChoice:
    """A threshold chosen on one half of the queries and tried on the other, many times over.

    ``share_over`` is how often the false refusal rate of the other half lay above the cap; the
    rates are means over halvings.
    """

    n_halvings: int
    true_positive_rate: float
    false_refusal_rate: float
    share_over: float


def threshold_within(
    unanswerable: Sequence[float], answerable: Sequence[float], cap: float
) -> RocPoint | None:
    """Return the point of the ROC that catches most while its false refusal rate is within ``cap``.

    Of several that catch as many it is the one that refuses fewest answerable queries. None where
    no threshold does: what came back empty is refused at every threshold.

    Raises
    ------
    BadInputError
        Unless ``cap`` lies from 0 to below 1; refusing everything is no choice.

    Examples
    --------
    >>> threshold_within([1.0, 2.0], [2.0, 3.0], 0.0)
    RocPoint(threshold=2.0, true_positive_rate=0.5, false_refusal_rate=0.0)
    """
    if not 0 <= cap < 1:
        raise BadInputError(f"a false refusal rate of {cap:g} is none to aim at; use 0 to below 1")
    fitting = [
        point
        for point in roc_points(unanswerable, answerable)
        if point.threshold is not None and point.false_refusal_rate <= cap
    ]
    return max(fitting, key=lambda p: (p.true_positive_rate, -p.false_refusal_rate), default=None)


def operating_point(
    kinds: Kinds,
    threshold: float | None,
    *,
    confidence: float,
    gate: Gate | None = None,
    cap: float | None = None,
) -> OperatingPoint:
    """Return what refusing below ``threshold`` (None: nothing more than the run did) does."""
    caught = rate(kinds, kinds.unanswerable, threshold, confidence)
    refused = rate(kinds, kinds.answerable, threshold, confidence)
    rates = caught["value"], refused["value"]
    passes = None if None in rates else (gate or Gate()).passes(*rates)
    return OperatingPoint(cap, threshold, caught, refused, passes)


def operating_points(
    kinds: Kinds, caps: Sequence[float] = CAPS, *, confidence: float
) -> tuple[OperatingPoint, ...]:
    """Return for every cap on the false refusal rate the threshold that catches most within it.

    Caps that no threshold stays within are left out.

    Raises
    ------
    NothingToEvaluateError
        When there is nothing to choose by: no query of one kind, failed queries, or no scores.
    """
    _check(kinds)
    found = []
    for cap in sorted(set(caps)):
        point = threshold_within(*kinds.top_scores(), cap)
        if point is not None:
            threshold = point.threshold
            found.append(operating_point(kinds, threshold, confidence=confidence, cap=cap))
    return tuple(found)


def halved(kinds: Kinds, cap: float, *, seed: int) -> HalvedChoice | None:
    """Choose the threshold on a random half of the queries and try it on the other half.

    A threshold is chosen where it looks best, so that it does worse on queries that had no part in
    the choice. Either kind is halved by itself. None with fewer than ten queries of one kind, or
    when no half has a threshold within the cap.

    Parameters
    ----------
    cap
        The false refusal rate to stay within.
    seed
        Seed of the PCG64 generator.
    """
    low, high = (np.asarray(part) for part in kinds.top_scores())
    if min(len(low), len(high)) < MIN_TO_HALVE:
        return None
    generator = np.random.Generator(np.random.PCG64(seed))
    rates = []
    for _ in range(N_HALVINGS):
        one, other = generator.permutation(len(low)), generator.permutation(len(high))
        chosen = threshold_within(
            low[one[: len(low) // 2]].tolist(), high[other[: len(high) // 2]].tolist(), cap
        )
        if chosen is not None and chosen.threshold is not None:
            rates.append(
                (
                    float(np.mean(low[one[len(low) // 2 :]] < chosen.threshold)),
                    float(np.mean(high[other[len(high) // 2 :]] < chosen.threshold)),
                )
            )
    if not rates:
        return None
    n = len(rates)
    return HalvedChoice(
        n,
        math.fsum(caught for caught, _ in rates) / n,
        math.fsum(refused for _, refused in rates) / n,
        sum(refused > cap for _, refused in rates) / n,
    )


def _check(kinds: Kinds) -> None:
    if not kinds.unanswerable or not kinds.answerable:
        raise NothingToEvaluateError(
            f"the run has {len(kinds.unanswerable)} unanswerable and {len(kinds.answerable)}"
            " answerable queries; a threshold needs both kinds to be chosen by"
        )
    if kinds.n_failed:
        raise NothingToEvaluateError(
            f"the retriever failed on {counted(kinds.n_failed, 'query')}; measure again before you"
            " choose"
        )
    if not kinds.has_scores:
        raise NothingToEvaluateError(
            "the retriever gives an order without scores, so there is no threshold to choose"
        )
