"""What metrics, labels and reasons are called in print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from retrieval_eval.metrics.catalog import BY_NAME, Metric
from retrieval_eval.report.numbers import rate, signed
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

HEADLINE_METRICS: Final = tuple(name for name, m in BY_NAME.items() if m.is_headline)
OUTCOMES: Final = tuple(name for name, m in BY_NAME.items() if m.path[0] == "outcome")

LABELS: Final[dict[str, tuple[str, str]]] = {
    "missed_key_evidence": ("Missed key evidence", "ground-truth files"),
    "unused_correct_retrieval": ("Unused correct retrieval", "ground-truth files retrieved"),
    "irrelevant_retrieval": ("Irrelevant retrieval", "files retrieved"),
    "ambiguity_near_miss": ("Near miss, same folder", "irrelevant files retrieved"),
    "wrong_evidence_used": ("Wrong evidence used", "files written"),
}
"""Error label to its printed name and the name of its denominator."""


EXCLUSIONS: Final[dict[str, str]] = {
    "skipped_name": "its name marks it as archived, broken or otherwise not to be evaluated",
    "link": "it is a link, and links are not followed",
    "nothing_recorded": "it is named like a trial but holds no result and no trace",
    "unreadable": "the folder cannot be read",
}
"""Why discovery leaves a folder out, in words."""


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
    known = REASONS | EXCLUSIONS
    return known.get(reason or "", reason or "no reason was recorded")
