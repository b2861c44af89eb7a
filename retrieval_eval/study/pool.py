"""One comparison over many studies: its mean, how much the studies differ, and the next one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Union, cast

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.escape import visible
from retrieval_eval.metrics.catalog import BY_NAME, Metric
from retrieval_eval.study.arms import arm
from retrieval_eval.study.compare import PRIMARY, Comparison
from retrieval_eval.study.frames import notebook_html
from retrieval_eval.study.gate import screen
from retrieval_eval.study.pairs import Pair, clusters_of, match
from retrieval_eval.study.settings import metrics_named
from retrieval_eval.study.trials import SCALES_DIFFER, are_poolable, known_values
from retrieval_eval.values import REASONS, Interval, Value, as_number, counted, signed

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.stats.pooling import Pooled as Summary

Scale = Literal["difference", "ratio"]

_Z: Final = 1.959963984540054
"""Half the width of a normal 95 % interval, in standard errors."""

_FRAME: Final = {
    **dict.fromkeys(("study", "metric", "scale"), "object"),
    **dict.fromkeys(("estimate", "low", "high", "shift", "shift_low", "shift_high"), "float64"),
    **dict.fromkeys(("error", "weight"), "float64"),
    "n": "Int64",
}
"""The columns of what was pooled, with their types."""

COLUMNS: Final = ("study", "estimate", "error", "n", "scale")
"""The columns of a frame of studies: ``error`` is the standard error, for a ratio of its log."""


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """What one study found: a mean difference, or the logarithm of a ratio, with its error.

    ``n`` counts its independent units. Without ``estimate`` and ``error`` it has ``reason``.
    """

    study: str
    estimate: float | None
    error: float | None
    n: int
    scale: Scale
    pair: tuple[str, str] = ("", "")
    reason: str | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Its own 95 % interval: Student's t of its units, normal where they are not known."""
        return self.ends_at(0.95)

    def ends_at(self, confidence: float) -> tuple[float, float] | None:
        """Return the ends of its own interval: ``ends`` at another confidence."""
        if self.estimate is None or self.error is None:
            return None
        from scipy.special import ndtri, stdtrit

        tail = (1 + confidence) / 2
        reach = float(stdtrit(self.n - 1, tail) if self.n > 1 else ndtri(tail))
        return self.estimate - reach * self.error, self.estimate + reach * self.error


@dataclass(frozen=True)
class Pooled:
    """A random-effects summary of one metric over studies; see :func:`pool`.

    ``summary`` holds the numbers, on the scale of logarithms for a ratio. ``studies`` were pooled;
    ``left_out`` have no estimate, each with its reason.
    """

    metric: str
    scale: Scale
    studies: tuple[StudyEstimate, ...] = field(repr=False)
    left_out: tuple[StudyEstimate, ...] = field(repr=False)
    summary: Summary = field(repr=False)

    @property
    def mean(self) -> Value:
        """The mean over studies: a difference, or a ratio."""
        return _on_scale(self.summary.mean, self.scale)

    @property
    def frame(self) -> pd.DataFrame:
        """One row a study, then the pooled mean and the prediction for a further study.

        ``estimate``, ``low`` and ``high`` are differences or ratios; ``shift``, ``shift_low`` and
        ``shift_high`` the same, of a ratio its logarithm, which figures draw around 0.
        """
        return _frame(self._rows())

    @property
    def leave_one_out(self) -> pd.DataFrame:
        """One row a study: the mean and its interval without it."""
        parts = zip(self.studies, self.summary.without, strict=False)
        rows = (self._row(f"without {own.study}", *found, None) for own, found in parts)
        return _frame(rows)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for own, weight in zip(self.studies, self.summary.weights, strict=True):
            ends = own.ends
            assert own.estimate is not None and ends is not None  # noqa: PT018
            interval = Interval.of(*ends, own.n, 0.95, "t")
            row = self._row(own.study, Value.of(own.estimate, own.n), interval, weight)
            yield row | {"error": own.error, "n": own.n}
        found = self.summary
        yield self._row("all studies", found.mean, found.interval, None) | {"n": found.n}
        yield self._row("a further study", found.mean, found.prediction, None) | {"n": found.n}

    def _row(
        self, name: str, value: Value, interval: Interval, weight: float | None
    ) -> dict[str, Any]:
        shifts = (value.value, interval.low.value, interval.high.value)
        scaled = [_scaled(shift, self.scale) for shift in shifts]
        return {
            "study": name,
            "metric": self.metric,
            "scale": self.scale,
            **dict(zip(("estimate", "low", "high"), scaled, strict=True)),
            **dict(zip(("shift", "shift_low", "shift_high"), shifts, strict=True)),
            "weight": weight,
        }

    def sentences(self) -> list[str]:
        """Return what the studies say together, the answer first."""
        return list(_sentences(self))

    def __repr__(self) -> str:
        return f"<Pooled: {self.sentences()[0]}>"

    def _repr_html_(self) -> str:
        return notebook_html(self.sentences(), self.frame)


def _frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    made = list(rows)
    return pd.DataFrame(
        {
            column: pd.Series([row.get(column) for row in made], dtype=dtype)
            for column, dtype in _FRAME.items()
        }
    )


Studies = Union["pd.DataFrame", Iterable[Comparison]]
"""Comparisons, or a frame with the columns of :data:`COLUMNS`."""


def pool(
    studies: Studies,
    metric: str | Metric = PRIMARY,
    *,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> Pooled:
    """Return the random-effects summary of a metric over many studies.

    Studies differ in tasks, versions and models, so their true differences do too: the summary
    gives the mean over such studies with its interval (Hartung & Knapp), the spread between them
    (Paule & Mandel) with the share of the observed spread that it is (I²), and where the true
    difference of a further study lies. Ratios are pooled as logarithms. One study is given as it
    is; two do not show how much they differ.

    Parameters
    ----------
    studies
        Comparisons, each of another run. Those whose gate withholds a verdict are left out. Or a
        frame with a row a study: ``estimate``, and ``error`` (its standard error; of a ratio that
        of the logarithm) or ``low`` and ``high`` of a 95 % interval; and if known ``study``, ``n``,
        ``scale`` (``difference`` or ``ratio``) and ``metric``, whose rows are then chosen, as of
        ``rev.load_history(…).comparisons``.
    metric
        The metric to pool.
    names
        What comparisons are called, in their order; by default by their runs.
    confidence
        Coverage of the intervals.

    Returns
    -------
    Pooled
        It shows itself in a notebook; ``rev.plot.forest(found.frame, "study", "shift",
        "shift_low", "shift_high")`` draws it.

    Raises
    ------
    BadInputError
        When the metric is not known, the frame lacks a column or has other studies of differences
        than of ratios, or the names are not as many as the comparisons.
    NothingToEvaluateError
        When no study has an estimate of the metric.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"study": ["a", "b", "c", "d"], "estimate": [0.10, 0.16, 0.04, 0.12]}
    >>> found = pool(pd.DataFrame({**rows, "error": [0.03, 0.04, 0.02, 0.05]}))
    >>> round(found.mean.value, 2), round(found.summary.tau.value, 2)
    (0.1, 0.04)
    >>> print(found.sentences()[0])
    Over 4 studies the mean difference in file recall is +0.096, 95 % interval ...
    """
    from retrieval_eval.stats.pooling import pool_estimates

    if hasattr(studies, "columns"):
        name = metric.name if isinstance(metric, Metric) else metric
        rows = _of_frame(cast("pd.DataFrame", studies), name)
    else:
        (chosen,) = metrics_named([metric])
        name = chosen.name
        rows = _of_comparisons(list(studies), chosen, names)
    known = [row for row in rows if row.estimate is not None and row.error is not None]
    if not known:
        why = f": {REASONS[rows[0].reason]}" if rows and rows[0].reason in REASONS else ""
        raise NothingToEvaluateError(f"no study has an estimate of {name}{why}")
    scales = {row.scale for row in known}
    if len(scales) > 1:
        raise BadInputError(f"some studies have a difference of {name} and some a ratio")
    summary = pool_estimates(
        [row.estimate or 0.0 for row in known],
        [row.error or 0.0 for row in known],
        confidence=confidence,
    )
    if len(known) == 1 and (ends := known[0].ends_at(confidence)) is not None:
        own = summary.interval
        summary = replace(
            summary, interval=Interval.of(*ends, own.low.n, own.confidence, own.method)
        )
    left_out = tuple(row for row in rows if row.estimate is None or row.error is None)
    if name in BY_NAME and BY_NAME[name].unit == "share":
        summary = _of_shares(summary)
    return Pooled(name, scales.pop(), tuple(known), left_out, summary)


def _of_shares(summary: Summary) -> Summary:
    """Return a summary whose intervals end where differences of two shares do."""
    return replace(
        summary,
        interval=_cut(summary.interval),
        prediction=_cut(summary.prediction),
        without=tuple((value, _cut(interval)) for value, interval in summary.without),
    )


def _cut(interval: Interval) -> Interval:
    low, high = interval.low.value, interval.high.value
    if low is None or high is None:
        return interval
    n = interval.low.n
    return replace(interval, low=Value.of(max(low, -1.0), n), high=Value.of(min(high, 1.0), n))


# What each study found


def study_estimate(comparison: Comparison, metric: Metric, name: str = "") -> StudyEstimate:
    """Return what a comparison found about a metric, with the standard error of its clusters.

    Of cost, time and tokens it is the mean logarithm of the ratio, else the mean difference; both
    over tasks, or over the clusters' means where there are two to five. ``reason`` says why there
    is none.
    """
    import numpy as np

    from retrieval_eval.stats.clusters import group
    from retrieval_eval.stats.intervals import standard_error
    from retrieval_eval.stats.paired import MIN_PAIRS, cluster_means
    from retrieval_eval.stats.resampling import is_constant

    scale: Scale = "ratio" if metric.kind == "positive" else "difference"
    pair = (comparison.baseline, comparison.comparison)
    name = name or ", ".join(sorted({t.run_id for t in comparison.trials})) or " and ".join(pair)

    def without(reason: str, n: int = 0) -> StudyEstimate:
        return StudyEstimate(name, None, None, n, scale, pair, reason)

    if not comparison.comparison:
        return without("too_few_pairs")
    if comparison.record.gate.failed:
        return without("not_comparable")
    pairs, values = _changes(comparison, metric, scale)
    if metric.name == "reward" and not are_poolable(
        t for own in pairs for t in (*own.baseline, *own.comparison)
    ):
        return without(SCALES_DIFFER)
    if len(values) < MIN_PAIRS:
        return without("too_few_pairs", len(values))
    data = np.array(values)
    labels = clusters_of(pairs, comparison.settings.stated.cluster).labels
    grouping = group(labels, len(data))
    n = grouping.n_clusters
    if not grouping.is_usable:
        data = cluster_means(data, grouping)
        grouping = group(None, len(data))
    if len(data) < 2 or is_constant(data):
        return without("constant_input", n)
    error = standard_error(data, grouping)[0]
    return StudyEstimate(name, math.fsum(data) / len(data), error, n, scale, pair)


def _changes(
    comparison: Comparison, metric: Metric, scale: Scale
) -> tuple[list[Pair], list[float]]:
    """Return the matched pairs with a value on both sides, and how much it changed."""
    from retrieval_eval.stats.paired import geometric_mean

    sides = (
        arm(comparison.trials, comparison.baseline),
        arm(comparison.trials, comparison.comparison),
    )
    column = comparison.settings.column(metric)
    pairs, values = [], []
    for pair in match(screen(*sides, comparison.settings.stated)):
        own = [known_values(side, column) for side in (pair.baseline, pair.comparison)]
        if not all(own):
            continue
        if scale == "difference":
            before, after = pair.values(column)
            change = (after or 0.0) - (before or 0.0)
        else:
            first, second = map(geometric_mean, own)
            if first <= 0 or second <= 0:
                continue
            change = math.log(second / first)
        pairs.append(pair)
        values.append(change)
    return pairs, values


def _of_comparisons(
    comparisons: Sequence[Any], metric: Metric, names: Sequence[str] | None
) -> list[StudyEstimate]:
    for each in comparisons:
        if not isinstance(each, Comparison):
            raise BadInputError(
                f"a study is a Comparison or a row of a frame, not {type(each).__name__}"
            )
    if names is not None and len(names) != len(comparisons):
        raise BadInputError(f"{len(names)} names for {counted(len(comparisons), 'comparison')}")
    given = names if names is not None else [""] * len(comparisons)
    return [
        study_estimate(each, metric, name) for each, name in zip(comparisons, given, strict=True)
    ]


def _of_frame(frame: pd.DataFrame, metric: str) -> list[StudyEstimate]:
    columns = list(frame.columns)
    if "estimate" not in columns or not ("error" in columns or {"low", "high"} <= set(columns)):
        raise BadInputError(
            "a frame of studies has the columns estimate and error (its standard error), or "
            f"estimate, low and high; this one has {', '.join(map(str, columns[:12]))}"
        )
    if "metric" in columns:
        known = list(dict.fromkeys(frame["metric"]))
        if known and metric not in known:
            from difflib import get_close_matches

            close = get_close_matches(metric, map(str, known), n=3, cutoff=0.4) or known
            raise BadInputError(f"no study has {metric!r}; closest: {', '.join(map(str, close))}")
        frame = frame[frame["metric"] == metric]
    return [_of_row(row, i) for i, row in enumerate(frame.to_dict("records"), start=1)]


def _of_row(row: dict[Any, Any], number: int) -> StudyEstimate:
    scale: Scale = "ratio" if row.get("scale") == "ratio" else "difference"

    def read(name: str) -> float | None:
        value = as_number(row.get(name))
        return value if value is not None and math.isfinite(value) else None

    estimate, error, low, high = (read(name) for name in ("estimate", "error", "low", "high"))
    study = row.get("study", row.get("run"))
    own = (str(row.get("baseline_config") or ""), str(row.get("comparison_config") or ""))
    name = visible(study if isinstance(study, str) else f"study {number}", 120)
    if scale == "ratio":
        numbers = [n for n in (estimate, low, high) if n is not None]
        if any(n <= 0 for n in numbers):
            raise BadInputError(f"{name}: a ratio is above 0")
        estimate, low, high = (None if n is None else math.log(n) for n in (estimate, low, high))
    if error is None and low is not None and high is not None:
        error = (high - low) / (2 * _Z)
    if error is not None and error <= 0:
        error = None
    reason = row.get("reason")
    if not isinstance(reason, str):
        reason = None if estimate is not None and error is not None else "not_recorded"
    return StudyEstimate(name, estimate, error, int(read("n") or 0), scale, own, reason)


# Words


def _sentences(found: Pooled) -> Iterator[str]:
    summary, k = found.summary, found.summary.n
    label = BY_NAME[found.metric].label if found.metric in BY_NAME else found.metric
    what = f"mean {found.scale} in {label}" if found.scale == "difference" else f"ratio of {label}"
    mean = _said(summary.mean.value or 0.0, found.scale)
    if k == 1:
        own = found.studies[0]
        ends = _ends(summary.interval, found.scale)
        yield (
            f"One study, {own.study}: its {what} is {mean}, 95 % interval {ends}. One study does "
            "not show how much studies differ."
        )
    elif not summary.interval.low.computable:
        each = " and ".join(
            f"{_said(own.estimate or 0.0, found.scale)} in {own.study}" for own in found.studies
        )
        yield (
            f"Two studies: the {what} is {each}, {mean} on average. Two studies do not show how "
            "much studies differ."
        )
    else:
        yield (
            f"Over {k} studies the {what} is {mean}, {_percent(summary.interval.confidence)} "
            f"interval {_ends(summary.interval, found.scale)}{_p(summary.p_value)}."
        )
        yield _spread(found)
        yield (
            "The true value of a further study such as these lies between "
            f"{_ends(summary.prediction, found.scale, ' and ')} with 95 % confidence."
        )
        decisive = _decisive(found)
        if decisive:
            yield decisive
    yield from _doubts(found)


def _spread(found: Pooled) -> str:
    summary = found.summary
    tau, ends = summary.tau.value or 0.0, summary.tau_interval
    # Of logarithms it is a factor.
    is_ratio = found.scale == "ratio"

    def show(value: float) -> str:
        return f"a factor of {math.exp(value):.2f}" if is_ratio else f"{value:.3f}"

    return (
        f"The studies' true values differ by {show(tau)} (standard deviation"
        f"{' of logarithms' if is_ratio else ''}), between "
        f"{show(ends.low.value or 0.0)} and {show(ends.high.value or 0.0)}; "
        f"I² = {100 * (summary.i_squared.value or 0.0):.0f} % of the observed spread is not "
        f"sampling error (Q = {summary.q.value or 0.0:.1f}{_p(summary.q_p_value)})."
    )


def _decisive(found: Pooled) -> str:
    """Return which study decides whether the interval of the mean leaves out 0."""
    whole = _leaves_out(found.summary.interval)
    own = [
        study.study
        for study, (_, interval) in zip(found.studies, found.summary.without, strict=True)
        if interval.low.computable and _leaves_out(interval) != whole
    ]
    if not own:
        return ""
    verb = "holds" if whole else "leaves out"
    shown = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
    null = "1" if found.scale == "ratio" else "0"
    return f"Without {shown}{' (each alone)' if len(own) > 1 else ''} the interval {verb} {null}."


def _doubts(found: Pooled) -> Iterator[str]:
    pairs = sorted({own.pair for own in found.studies if own.pair != ("", "")})
    if len(pairs) > 1:
        given = "; ".join(f"{b} compared with {a}" for a, b in pairs[:3])
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        yield visible(
            f"The studies compare {len(pairs)} pairs of configurations: {given}{more}. Their mean "
            "is about none of them alone."
        )
    if found.left_out:
        reasons = "; ".join(
            f"{own.study}: {REASONS.get(own.reason or '', own.reason or 'no estimate')}"
            for own in found.left_out[:3]
        )
        more = f"; and {len(found.left_out) - 3} more" if len(found.left_out) > 3 else ""
        studies = counted(len(found.left_out), "study", "studies")
        yield visible(f"{studies} left out: {reasons}{more}.")


def _leaves_out(interval: Interval) -> bool:
    low, high = interval.low.value, interval.high.value
    return low is not None and high is not None and not low <= 0 <= high


def _scaled(value: float | None, scale: Scale) -> float | None:
    return value if value is None or scale == "difference" else math.exp(min(value, 700.0))


def _on_scale(value: Value, scale: Scale) -> Value:
    scaled = _scaled(value.value, scale)
    return value if scaled is None else Value.of(scaled, value.n)


def _said(value: float, scale: Scale) -> str:
    return signed(value, 3) if scale == "difference" else f"{math.exp(min(value, 700.0)):.2f}"


def _ends(interval: Interval, scale: Scale, joint: str = " to ") -> str:
    low, high = interval.low.value, interval.high.value
    if low is None or high is None:
        return "not known"
    return f"{_said(low, scale)}{joint}{_said(high, scale)}"


def _p(value: Value) -> str:
    if value.value is None:
        return ""
    return ", p < 0.001" if value.value < 0.001 else f", p = {value.value:.3f}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
