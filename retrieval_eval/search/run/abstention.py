"""Does a retriever know when to return nothing: refusals, and which threshold to refuse at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import search_run as model
from retrieval_eval.model.search_run import (
    Abstention,
    AreaUnderCurve,
    Controls,
    QueryResult,
    RefusalLimits,
    RefusalRate,
    RocPoint,
    SearchRun,
)
from retrieval_eval.search.ask import MISSING, ScoredDoc, says_rank_only
from retrieval_eval.search.run.named_metrics import is_refused
from retrieval_eval.search.run.summary import number, span
from retrieval_eval.stats import MIN_VALUES
from retrieval_eval.stats.proportions import normal_quantile, root_of, t_quantile, wilson
from retrieval_eval.stats.resampling import Floats
from retrieval_eval.values import REASONS, Interval, Value, counted, ratio

# --------------------------------------------------------------------------------------------------
# The ROC of refusing by the top score: its points, the area under it, and an interval of that.

METHOD: Final = "delong_newcombe"


def roc_points(unanswerable: Sequence[float], answerable: Sequence[float]) -> tuple[RocPoint, ...]:
    """Return the ROC from (0, 0) to (1, 1), one point for every distinct top score.

    The points are those of scikit-learn's ``roc_curve`` (``drop_intermediate=False``) with
    unanswerable queries as the positives and minus the top score as their score.

    Parameters
    ----------
    unanswerable, answerable
        The top score of every query, -inf where nothing came back: refused at every threshold.

    Returns
    -------
    tuple of RocPoint
        What refusing every query scored below the threshold of a point does. The threshold is None
        at an end that no score reaches: answering also what came back empty, and refusing
        everything. Empty when there are no queries of either kind.

    Examples
    --------
    >>> [(p.threshold, p.true_positive_rate) for p in roc_points([1.0, 2.0], [2.0, 3.0])]
    [(1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (None, 1.0)]
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    if not len(low) or not len(high):
        return ()
    scores = np.unique(np.concatenate([low, high]))
    thresholds: list[float] = scores[np.isfinite(scores)].tolist()
    # What came back empty is refused at every threshold, so that none answers everything.
    points = [_roc_point(None, 0.0, 0.0)] if len(thresholds) < len(scores) else []
    for threshold in thresholds:
        refused = (float(np.searchsorted(part, threshold)) / len(part) for part in (low, high))
        points.append(_roc_point(threshold, *refused))
    return (*points, _roc_point(None, 1.0, 1.0))


def _roc_point(threshold: float | None, caught: float, refused: float) -> RocPoint:
    return RocPoint(threshold=threshold, true_positive_rate=caught, false_refusal_rate=refused)


def auc(unanswerable: Sequence[float], answerable: Sequence[float]) -> Value:
    """Return the area under the ROC: how often an answerable query outscores an unanswerable one.

    Ties count half (Mann-Whitney; Hanley & McNeil 1982). ``n`` counts all queries. Not computable
    without queries of either kind (``one_class_only``).

    Examples
    --------
    >>> auc([1.0, 2.0], [2.0, 3.0]).value
    0.875
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    n = len(low) + len(high)
    if not len(low) or not len(high):
        return Value.missing("one_class_only", n)
    # Twice the number of pairs, so that the sum is whole and rounded once.
    above = 2 * len(high) * len(low) - int(_below_twice(high, low).sum())
    return Value.of(above / (2 * len(low) * len(high)), n)


def auc_interval(
    unanswerable: Sequence[float], answerable: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Return an interval of the area under the ROC.

    Each end is the farther one of two: DeLong's (DeLong, DeLong & Clarke-Pearson 1988) on the
    logit scale with Welch's degrees of freedom, which holds whatever the scores' spreads but is
    short near 1, and Newcombe's fifth (2006), which is the other way round and the only one where
    the scores separate both kinds completely.

    Not computable with fewer than three queries of either kind (``too_few_values``), or when all
    scores are equal (``constant_input``).
    """
    low, high = _sorted(unanswerable), _sorted(answerable)
    m, n = len(low), len(high)
    if min(m, n) < MIN_VALUES:
        return Interval.missing("too_few_values", m + n, confidence, METHOD)
    if min(low[0], high[0]) == max(low[-1], high[-1]):
        return Interval.missing("constant_input", m + n, confidence, METHOD)
    area = auc(unanswerable, answerable).value
    assert area is not None
    ends = [_newcombe(area, m, n, confidence)]
    if 0 < area < 1:
        # The share of the other kind on its right side, for every query.
        shares = 1 - _below_twice(high, low) / (2 * n), _below_twice(low, high) / (2 * m)
        parts = [float(np.var(share, ddof=1)) / len(share) for share in shares]
        ends.append(_delong(area, parts, (m, n), confidence))
    bottom, top = min(end[0] for end in ends), max(end[1] for end in ends)
    return Interval.of(bottom, top, m + n, confidence, METHOD)


def _delong(
    area: float, parts: Sequence[float], sizes: Sequence[int], confidence: float
) -> tuple[float, float]:
    variance = math.fsum(parts)
    # Welch and Satterthwaite, each part weighted by its share so that small ones do not vanish.
    freedom = 1 / math.fsum(
        (part / variance) ** 2 / (size - 1) for part, size in zip(parts, sizes, strict=True)
    )
    half = t_quantile(freedom, (1 + confidence) / 2) * math.sqrt(variance) / (area * (1 - area))
    middle = math.log(area / (1 - area))
    low, high = (
        1 / (1 + math.exp(-min(max(end, -700.0), 700.0))) for end in (middle - half, middle + half)
    )
    return low, high


def _newcombe(area: float, m: int, n: int, confidence: float) -> tuple[float, float]:
    """Solve for the true areas from which the found one lies just z standard errors away."""
    z = normal_quantile((1 + confidence) / 2)
    size = (m + n) / 2 - 1

    def excess(truth: float) -> float:
        spread = 1 + size * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        return (truth - area) ** 2 - z * z * truth * (1 - truth) * spread / (m * n)

    # An area of 0 or 1 is itself a root, and the only one on its side.
    low = 0.0 if area == 0 else root_of(excess, 0.0, min(area, 1 - 1e-9))
    high = 1.0 if area == 1 else root_of(lambda truth: -excess(truth), max(area, 1e-9), 1.0)
    return low, high


def _below_twice(sorted_scores: Floats, queries: Floats) -> Floats:
    """Return for each query twice the number of scores below its own, ties counted once."""
    found: Floats = np.searchsorted(sorted_scores, queries, "left").astype(np.float64)
    return found + np.searchsorted(sorted_scores, queries, "right")


def _sorted(scores: Sequence[float]) -> Floats:
    return np.sort(np.asarray(scores, dtype=np.float64))


# --------------------------------------------------------------------------------------------------
# Does a retriever know when to return nothing: refusals, and which threshold to refuse at.

MIN_TRUE_POSITIVE_RATE: Final = 0.80
MAX_FALSE_REFUSAL_RATE: Final = 0.08
"""The two sides of the shipped gate: what is known of a working proposal search lies around 0.80
to 0.85 and 0.05 to 0.08, and these are the lenient ends."""

CAPS: Final = (0.0, 0.01, 0.02, 0.05, 0.08, 0.10, 0.20)
"""False refusal rates that the table of operating points looks below."""

N_HALVINGS: Final = 500
MIN_TO_HALVE: Final = 10
"""Queries of either kind below which half of them say nothing about the other half."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Two sides that must hold at once: enough caught, and not too much refused.

    Raises
    ------
    BadInputError
        When a retriever that always answers, or always refuses, would pass.
    """

    min_true_positive_rate: float = MIN_TRUE_POSITIVE_RATE
    max_false_refusal_rate: float = MAX_FALSE_REFUSAL_RATE

    def __post_init__(self) -> None:
        sides = {"always answers": (0.0, 0.0), "always refuses": (1.0, 1.0)}
        for control, rates in sides.items():
            if self.passes(*rates):
                raise BadInputError(
                    f"a retriever that {control} would pass this gate: the true-positive rate must"
                    f" be at least {self.min_true_positive_rate:g} and the false refusal rate at"
                    f" most {self.max_false_refusal_rate:g}; demand more than 0 and less than 1"
                )

    def passes(self, true_positive_rate: float, false_refusal_rate: float) -> bool:
        """Return whether both sides hold.

        Examples
        --------
        >>> Gate().passes(0.85, 0.05), Gate().passes(1.0, 1.0), Gate().passes(0.0, 0.0)
        (True, False, False)
        """
        return (
            true_positive_rate >= self.min_true_positive_rate
            and false_refusal_rate <= self.max_false_refusal_rate
        )


@dataclass(frozen=True, slots=True)
class Kinds:
    """The queries of a run that count here; those of which it is not known are left out."""

    unanswerable: tuple[QueryResult, ...]
    answerable: tuple[QueryResult, ...]

    @classmethod
    def of(cls, queries: Iterable[QueryResult]) -> Kinds:
        """Sort the queries of a run, by id, as resampling and halving pick positions."""
        ordered = sorted(queries, key=lambda query: query.id)
        return cls(
            tuple(query for query in ordered if query.answerable is False),
            tuple(query for query in ordered if query.answerable is True),
        )

    @property
    def n_failed(self) -> int:
        """Queries of either kind without an answer: failed ones, and those a file lacks."""
        asked = (*self.unanswerable, *self.answerable)
        return sum(query.status == "failed" or MISSING in query.problems for query in asked)

    @property
    def has_scores(self) -> bool:
        """Whether scores are more than the rank with a minus before it."""
        rankings = [q.ranking for q in (*self.unanswerable, *self.answerable) if q.ranking]
        return not rankings or not all(
            says_rank_only([ScoredDoc(found.doc, found.score) for found in ranking])
            for ranking in rankings
        )

    def top_scores(self) -> tuple[list[float], list[float]]:
        """Return the top score of every unanswerable and answerable query, -inf for none."""
        return [_top_score(q) for q in self.unanswerable], [_top_score(q) for q in self.answerable]


def abstention_of(
    queries: Sequence[QueryResult],
    *,
    threshold: float | None = None,
    confidence: float = 0.95,
    gate: Gate | None = None,
) -> Abstention | None:
    """Return the refusals of a search run, None when no query is unanswerable.

    A query is refused when nothing came back for it (the retriever returned nothing, or its floor
    dropped all), or, with a ``threshold``, when its top score lies below that. True-positive rate
    is the share of unanswerable queries refused, false refusal rate the share of answerable ones;
    their intervals are Wilson's. ROC and AUC are those of the top scores over all thresholds
    (`roc_points`, `auc`), with the interval of `auc_interval`.

    Nothing is computable when the retriever failed on a query of either kind (``query_failed``),
    nor are decisions by a threshold when it gives no scores (``no_scores``).

    Parameters
    ----------
    queries
        Those of a search run.
    threshold
        Refuse below this top score; None: the retriever's own refusals.
    confidence
        Coverage of the intervals.
    gate
        What has to hold; the shipped one by default.

    Raises
    ------
    BadInputError
        When the threshold is not finite.
    """
    check_threshold(threshold)
    kinds, gate = Kinds.of(queries), gate or Gate()
    if not kinds.unanswerable:
        return None
    caught = rate(kinds, kinds.unanswerable, threshold, confidence)
    refused = rate(kinds, kinds.answerable, threshold, confidence)
    scores = kinds.top_scores()
    if kinds.n_failed:
        n = len(kinds.unanswerable) + len(kinds.answerable)
        area = Value.missing("query_failed", n)
        ends = Interval.missing("query_failed", n, confidence, METHOD)
    else:
        area, ends = auc(*scores), auc_interval(*scores, confidence=confidence)
    return Abstention(
        decided_by="refusal" if threshold is None else "threshold",
        threshold=threshold,
        n_answerable=len(kinds.answerable),
        n_unanswerable=len(kinds.unanswerable),
        n_failed=kinds.n_failed,
        true_positive_rate=caught,
        false_refusal_rate=refused,
        auc=AreaUnderCurve(
            **area.to_json(), ci_low=ends.low.value, ci_high=ends.high.value, interval=METHOD
        ),
        roc=() if kinds.n_failed else roc_points(*scores),
        operating_point=_point(caught.value, refused.value, gate),
        controls=Controls(
            always_answer=_point(0.0, 0.0, gate), always_refuse=_point(1.0, 1.0, gate)
        ),
        gate=RefusalLimits(
            min_true_positive_rate=gate.min_true_positive_rate,
            max_false_refusal_rate=gate.max_false_refusal_rate,
        ),
        reasons=tuple(_reasons(kinds, threshold)),
    )


def check_threshold(threshold: float | None) -> None:
    """Raise `BadInputError` for a threshold of top scores that no score can be compared with."""
    if threshold is not None and not math.isfinite(threshold):
        raise BadInputError(f"the threshold is {threshold}; it must be a finite number")


def sentences(block: Abstention | None) -> list[str]:
    """Return the abstention of a run in a few lines of text; none where there is no block."""
    if block is None:
        return []
    decided = (
        "refused: nothing returned"
        if block.threshold is None
        else f"refused: nothing returned, or top score below {block.threshold:g}"
    )
    area = block.auc
    lines = [
        f"ungrounded TP rate: {rate_text(block.true_positive_rate)} ({decided})",
        f"answerable FR rate: {rate_text(block.false_refusal_rate)}",
        f"AUC over all thresholds: {_area_text(area)}",
    ]
    return lines + [f"Abstention: {reason}" for reason in block.reasons]


def _area_text(block: AreaUnderCurve) -> str:
    if block.value is None:
        return f"not computable ({REASONS[block.reason or '']})"
    return f"{number(block.value)} {span(block.ci_low, block.ci_high)}"


def rate_text(block: RefusalRate) -> str:
    """Return a rate with its counts and interval."""
    if block.value is None:
        return f"not computable ({REASONS[block.reason or '']})"
    counts = f"{block.n_refused} of {block.n}"
    return f"{number(block.value)} {span(block.ci_low, block.ci_high)}, {counts}"


def rate(
    kinds: Kinds, part: Sequence[QueryResult], threshold: float | None, confidence: float
) -> RefusalRate:
    """Return how much of a part is refused, with its interval."""
    if kinds.n_failed:
        found = Value.missing("query_failed", len(part))
    elif threshold is not None and not kinds.has_scores:
        found = Value.missing("no_scores", len(part))
    else:
        n = sum(is_refused(_top_score(query), threshold) for query in part)
        found = ratio(n, len(part), "no_such_queries")
    if found.value is None:
        return RefusalRate(**found.to_json(), ci_low=None, ci_high=None, n_refused=None)
    n_refused = round(found.value * found.n)
    ends = wilson(n_refused, found.n, confidence=confidence)
    return RefusalRate(
        **found.to_json(), ci_low=ends.low.value, ci_high=ends.high.value, n_refused=n_refused
    )


def _point(caught: float | None, refused: float | None, gate: Gate) -> model.OperatingPoint:
    return model.OperatingPoint(
        true_positive_rate=caught,
        false_refusal_rate=refused,
        passes=None if caught is None or refused is None else gate.passes(caught, refused),
    )


def _reasons(kinds: Kinds, threshold: float | None) -> list[str]:
    found = []
    queries = (*kinds.unanswerable, *kinds.answerable)
    if kinds.n_failed:
        found.append(
            f"{counted(kinds.n_failed, 'query')} got no answer, failed or missing, and whether the"
            " retriever would have refused is not known"
        )
    if not kinds.answerable:
        found.append("no answerable query was asked, so refusing everything would cost nothing")
    if not kinds.has_scores:
        found.append("the retriever gives an order without scores, so no threshold can be set")
    elif threshold is None and not any(is_refused(_top_score(query), None) for query in queries):
        found.append("nothing was refused: the retriever answers every query")
    return found


def _top_score(query: QueryResult) -> float:
    return query.ranking[0].score if query.ranking else -math.inf


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What refusing below a threshold does to the queries of a run.

    ``cap`` is the false refusal rate it was chosen to stay within, None when it was given. Both
    rates are those of `rate`.
    """

    cap: float | None
    threshold: float | None
    true_positive_rate: RefusalRate
    false_refusal_rate: RefusalRate
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
    passes = _point(caught.value, refused.value, gate or Gate()).passes
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
    _check_choosable(kinds)
    found = []
    for cap in sorted(set(caps)):
        point = threshold_within(*kinds.top_scores(), cap)
        if point is not None:
            threshold = point.threshold
            found.append(operating_point(kinds, threshold, confidence=confidence, cap=cap))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Choice:
    """At which threshold a run had better refuse.

    ``now`` is what it did, ``points`` what the best thresholds for several false refusal rates
    do, and ``recommended`` that for the ``target``, tried on other queries by ``split_half``.
    """

    target: float
    now: OperatingPoint
    points: tuple[OperatingPoint, ...]
    recommended: OperatingPoint | None
    split_half: HalvedChoice | None


def choice_of(run: SearchRun, target: float) -> Choice:
    """Return the thresholds that a run can be refused at, for a false refusal rate to aim at.

    Raises
    ------
    NothingToEvaluateError
        When there is nothing to choose by: no query of one kind, failed queries, or no scores.
    """
    settings, kinds = run.run.settings, Kinds.of(run.queries)
    confidence = settings.confidence
    points = operating_points(kinds, (*CAPS, target), confidence=confidence)
    now = None if run.abstention is None else run.abstention.threshold
    return Choice(
        target,
        operating_point(kinds, now, confidence=confidence),
        points,
        next((point for point in points if point.cap == target), None),
        halved(kinds, target, seed=settings.seed),
    )


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


def _check_choosable(kinds: Kinds) -> None:
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
