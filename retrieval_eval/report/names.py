"""How numbers are printed, and what metrics, labels, problems and reasons are called."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from retrieval_eval import values
from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.verdict import Headline, apparent, deciding_estimate
from retrieval_eval.io.layout import EXCLUSION_REASONS
from retrieval_eval.model.gold import SOURCE_WORDS
from retrieval_eval.model.impact import PairedEstimate, PairedStatistics
from retrieval_eval.ranking.measures import DEFINITIONS
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import BLOCK_OF, FALSE_REFUSAL_RATE, TRUE_POSITIVE_RATE
from retrieval_eval.values import REASONS

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# Numbers as they are printed: two decimals, signed differences, a dash for unknown.

MISSING: Final = "—"
"""What is printed for a value that is not computable; never 0 and never blank."""


def finite(value: Any) -> float | None:
    """Return ``value`` as a finite float, or None for anything else (booleans included).

    Examples
    --------
    >>> finite(2), finite("2"), finite(float("nan")), finite(True)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def rate(value: Any, digits: int = 2) -> str:
    """Return a rate or score with two decimals, or the dash.

    Examples
    --------
    >>> rate(0.125), rate(None)
    ('0.12', '—')
    """
    number = finite(value)
    return MISSING if number is None else _grouped(number, digits)


def signed(value: Any, digits: int = 2) -> str:
    """Return a difference with its sign, or the dash."""
    number = finite(value)
    return MISSING if number is None else values.signed(number, digits)


def contribution(value: Any) -> str:
    """Return what one query adds to a difference, or the dash."""
    number = finite(value)
    return MISSING if number is None else values.contribution(number)


def band(value: Any) -> str:
    """Return how far to either side of 0 a range goes.

    Examples
    --------
    >>> band(0.25), band(0.0), band(None)
    ('±0.25', '0', '—')
    """
    number = finite(value)
    return f"±{rate(number)}" if number else "0" if number == 0 else MISSING


def interval(low: Any, high: Any, digits: int = 2) -> str:
    """Return ``[low, high]`` with signs, or the dash when one end is unknown.

    An interval that excludes 0 has as many decimals as it takes to see that.

    Examples
    --------
    >>> interval(-0.1, 0.2), interval(0.0031, 0.2)
    ('[−0.10, +0.20]', '[+0.003, +0.200]')
    """
    first, last = finite(low), finite(high)
    if first is None or last is None:
        return MISSING
    return f"[{', '.join(values.signed_ends(first, last, digits))}]"


def bound(value: Any) -> str:
    """Return the end of an interval of differences: one that is not 0 never looks like 0.

    Examples
    --------
    >>> bound(0.126), bound(0.0), bound(-0.0021), bound(None)
    ('+0.13', '0.00', '−0.002', '—')
    """
    number = finite(value)
    return contribution(number) if number and not round(number, 2) else signed(number)


def times_bound(value: Any) -> str:
    """Return the end of an interval of ratios: one that is not 1 never looks like 1.

    Examples
    --------
    >>> times_bound(1.27), times_bound(1.0), times_bound(1.0021), times_bound(None)
    ('×1.27', '×1.00', '×1.002', '—')
    """
    number = finite(value)
    if number is None or number == 1 or round(number, 2) != 1:
        return times(number)
    (end, _) = values.ends_beside(number, number, 1.0, _factor)
    return f"×{end}"


def times(value: Any) -> str:
    """Return a ratio as a factor, with three significant digits or so, or the dash.

    Examples
    --------
    >>> times(1.27), times(0.504), times(12.34), times(1234.5), times(0.00123), times(None)
    ('×1.27', '×0.50', '×12.3', '×1,234', '×0.0012', '—')
    """
    number = finite(value)
    if number is None:
        return MISSING
    if 0 < number < 0.1:
        return f"×{number:.2g}"
    return f"×{_grouped(number, 2 if number < 10 else 1 if number < 100 else 0)}"


def times_interval(low: Any, high: Any) -> str:
    """Return the interval of a ratio, or the dash when one end is unknown.

    An interval that excludes 1 has as many decimals as it takes to see that.

    Examples
    --------
    >>> times_interval(1.1, 1.46), times_interval(1.1, None), times_interval(1.0021, 1.46)
    ('[1.10, 1.46]', '—', '[1.002, 1.460]')
    """
    first, last = finite(low), finite(high)
    if first is None or last is None:
        return MISSING
    return f"[{', '.join(values.ends_beside(first, last, 1.0, _factor))}]"


def _factor(value: float, digits: int) -> str:
    return times(value)[1:] if digits == 2 else _grouped(value, digits)


def count(value: Any) -> str:
    """Return a count with thousands separated, or the dash."""
    number = finite(value)
    return MISSING if number is None else f"{number:,.0f}"


def of(part: Any, whole: Any) -> str:
    """Return ``part of whole``, the form in which a share carries its denominator.

    Examples
    --------
    >>> of(3, 1200)
    '3 of 1,200'
    """
    return f"{count(part)} of {count(whole)}"


def p_value(value: Any) -> str:
    """Return a p or q value; small ones as a bound."""
    number = finite(value)
    if number is None:
        return MISSING
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def _grouped(number: float, digits: int) -> str:
    return f"{number:,.{digits}f}".replace("-", "−") if round(number, digits) else f"{0:.{digits}f}"


# --------------------------------------------------------------------------------------------------
# What metrics, labels, problems and reasons of runs and of search runs are called in print.


@dataclass(frozen=True, slots=True)
class MetricName:
    """How a metric is printed: its name, unit, decimals and definition."""

    label: str
    unit: str
    digits: int
    definition: str

    def value(self, number: object) -> str:
        """Return a value of the metric as text, without its unit."""
        return rate(number, self.digits)

    def difference(self, number: object) -> str:
        """Return a difference as signed text, without its unit."""
        return signed(number, self.digits)

    @property
    def titled(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_PRINTED_UNITS: Final = {"s": "s", "USD": "USD"}


def _named(metric: Metric) -> MetricName:
    unit = _PRINTED_UNITS.get(metric.unit, "")
    return MetricName(metric.title, unit, metric.digits, metric.meaning)


METRICS: Final = {
    name: _named(metric)
    for name, metric in BY_NAME.items()
    if metric.is_compared or (metric.is_of_view and "@" not in name)
}
"""The metrics that pages define, by name."""

OUTCOMES: Final = tuple(name for name, m in BY_NAME.items() if m.path[0] == "outcome")

LABELS: Final[dict[str, tuple[str, str]]] = {
    "missed_key_evidence": ("Missed key evidence", "ground-truth files"),
    "unused_correct_retrieval": ("Unused correct retrieval", "ground-truth files retrieved"),
    "irrelevant_retrieval": ("Irrelevant retrieval", "files retrieved"),
    "ambiguity_near_miss": ("Near miss, same folder", "irrelevant files retrieved"),
    "wrong_evidence_used": ("Wrong evidence used", "files written"),
}
"""Error label to its printed name and the name of its denominator."""


def metric_name(metric: str) -> MetricName:
    """Return how ``metric`` is printed; an unknown one is printed as it is named."""
    return _named(BY_NAME[metric]) if metric in BY_NAME else MetricName(metric, "", 2, "")


def reason_sentence(reason: str | None) -> str:
    """Return the sentence of a reason code, or the text itself when it is no code.

    Examples
    --------
    >>> reason_sentence("no_writes")
    'the agent wrote no file'
    """
    known = EXCLUSION_REASONS | REASONS
    return known.get(reason or "", reason or "no reason was recorded")


# --- search ---

SHOWN: Final = (*HEADLINE, "RR", "nDCG@10")
"""The measures of the first screen; the verdict rests on the first two."""

WORDS: Final[dict[str, str]] = {
    FALSE_REFUSAL_RATE: "refusals of answerable queries",
    TRUE_POSITIVE_RATE: "refusals of unanswerable queries",
    "claim_coverage": "claim coverage",
    "claim_faithfulness": "claim faithfulness",
}
"""Metrics whose name in files is no word, as a sentence says them."""

DIMENSIONS: Final[dict[str, str]] = {
    "corpus": "Corpus",
    "area": "Area",
    "origin": "Origin",
    "source": "Label source",
}

SOURCES: Final[dict[str, str]] = dict(SOURCE_WORDS)

CODES: Final[dict[str, str]] = {
    **SOURCES,
    "document_gone": "the corpus has no such document",
    "text_changed": "the document's text is not the one that was labelled",
    "reverses": "REVERSES",
    "no_change": "others unchanged",
    "not_computable": "not computable",
    "pinned": "Pinned",
}
"""Codes of frames in words; one that is no code here is shown as it is."""

PROBLEMS: Final[dict[str, str]] = {
    "failed": "no usable answer: the run has no verdict",
    "empty": "answered without any document; scores 0 where something is relevant",
    "refused": "everything found lay below the floor; counted among the empty",
    "missing": "the file of rankings has no line for it: the run is incomplete",
    "empty_in_file": "the file of rankings states that nothing was found",
    "fewer_than_k": "fewer documents than requested",
    "unsorted": "not in the order of the scores; ranked by score",
    "scores_rise": "the scores rise, as those of distances do; ranked by score",
    "no_score": "places with the score ±3.4e38, at which nothing was found, were left out",
    "more_than_k": "more documents than requested; the rest was dropped",
}
"""What can happen to a query, with what it means for the measures."""

_REASONS: Final[dict[str, str]] = {
    "no_ground_truth": "nothing is labelled relevant, or no document answers the query",
    "nothing_retrieved": "nothing was returned",
    "query_failed": "the retriever failed on the query",
    "no_computable_values": "no query has a value",
}

_CUTOFF: Final = re.compile(r"(.+)@(\d{1,9})$")


def cutoff(measure: str) -> tuple[str, int | None]:
    """Return a measure's name without its cut-off, and the cut-off.

    Examples
    --------
    >>> cutoff("nDCG@10"), cutoff("RR")
    (('nDCG', 10), ('RR', None))
    """
    found = _CUTOFF.match(measure)
    return (found[1], int(found[2])) if found else (measure, None)


def definition(measure: str) -> str:
    """Return the definition of a measure; nothing for one that is not ours."""
    name, k = cutoff(measure)
    other = BLOCK_OF.get(measure)
    text = DEFINITIONS[name].meaning if name in DEFINITIONS else other.meaning if other else ""
    return text if k is None else text.replace("first k", f"first {k}").replace("/ k", f"/ {k}")


def reason(code: str | None) -> str:
    """Return the sentence of a reason code, in the words of search."""
    return _REASONS.get(code or "") or reason_sentence(code)


# --------------------------------------------------------------------------------------------------
# The leading estimate of a metric as it is printed: a signed difference, or a factor.

_FIELDS: Final = {entry.name: entry for entry in structs.fields(PairedStatistics)}


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain objects, None for what is missing."""
    import pandas as pd

    plain = frame.astype("object").where(frame.notna(), None)
    return [
        {str(name): None if value is pd.NA else value for name, value in row.items()}
        for row in plain.to_dict("records")
    ]


def estimate_of(row: Mapping[str, Any]) -> PairedStatistics:
    """Return the estimate that a row of a frame holds; fields without a column are unknown."""
    known = {name: row.get(name) for name in _FIELDS}
    known["n_pairs"] = known["n_pairs"] or 0
    return PairedStatistics(**known)  # type: ignore[arg-type]


def leading(metric: str, block: PairedEstimate, *, has_unit: bool = False) -> str:
    """Return the leading estimate as text, with its unit where that is not in a heading.

    Examples
    --------
    >>> leading("cost_usd", estimate_of({"headline": "ratio", "estimate": 1.27, "n_pairs": 9}))
    '×1.27'
    >>> leading("cost_usd", estimate_of({"estimate": 0.25}), has_unit=True)
    '+0.25 USD'
    """
    found = deciding_estimate(block)
    if found.quantity == "ratio":
        return times(found.estimate)
    known = metric_name(metric)
    text = known.difference(found.estimate)
    unit = unit_of(metric)
    return f"{text} {unit}" if has_unit and unit and found.estimate is not None else text


def leading_interval(metric: str, block: PairedEstimate) -> str:
    """Return its interval as text, or the dash."""
    return interval_of(metric, deciding_estimate(block))


def interval_of(metric: str, found: Headline) -> str:
    """Return the interval of an estimate that leads as text, or the dash."""
    low, high = found.ends or (None, None)
    if found.quantity == "ratio":
        return times_interval(low, high)
    return interval(low, high, metric_name(metric).digits)


def unit_of(metric: str) -> str:
    """Return the unit of a metric as it follows a number; none for shares and rewards."""
    unit = BY_NAME[metric].unit if metric in BY_NAME else ""
    return {"s": "s", "USD": "USD", "tokens": "tokens"}.get(unit, "")


Side = Literal["better", "worse", "unclear"]


def side_of(block: PairedEstimate, alpha: float) -> Side:
    """Return on which side the leading estimate clearly is, interval and test agreeing."""
    found = apparent(block, alpha)
    return found if found in ("better", "worse") else "unclear"
