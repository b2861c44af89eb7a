"""What metrics, labels, problems and reasons of runs and of search runs are called in print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.io.layout import EXCLUSION_REASONS
from retrieval_eval.model.gold import SOURCE_WORDS
from retrieval_eval.ranking.measures import DEFINITIONS
from retrieval_eval.report.numbers import rate, signed
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import BLOCK_OF, FALSE_REFUSAL_RATE, TRUE_POSITIVE_RATE
from retrieval_eval.values import REASONS


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
