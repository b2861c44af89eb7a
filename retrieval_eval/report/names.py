"""What metrics, labels and reasons are called in print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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


METRICS: Final[dict[str, MetricName]] = {
    "file_recall": MetricName(
        "File recall", "", 2, "ground-truth files found anywhere / ground-truth files"
    ),
    "mrr": MetricName("MRR", "", 2, "1 / rank of the first ground-truth file, averaged"),
    "ndcg@10": MetricName(
        "nDCG@10", "", 2, "discounted gain of the first 10 files / gain of the ideal order"
    ),
    "ttfr_seconds": MetricName(
        "Time to first relevant", "s", 1, "seconds from the agent's start to the first hit"
    ),
    "ttfr_tokens": MetricName("Tokens to first relevant", "", 0, "tokens used up to the first hit"),
    "context_efficiency": MetricName(
        "Context efficiency", "", 2, "retrieved files that are relevant / retrieved files"
    ),
    "util_read_overlap_with_relevant_files": MetricName(
        "Read overlap", "", 2, "ground-truth files whose content was read / ground-truth files"
    ),
    "reward": MetricName("Reward", "", 2, "what the verifier of the task gave"),
    "cost_usd": MetricName("Cost", "USD", 2, "recorded cost of the trial"),
    "elapsed_seconds": MetricName("Elapsed time", "s", 0, "wall-clock time of the agent"),
    "total_tokens": MetricName("Tokens", "", 0, "input (cached included) and output tokens"),
    "map_score": MetricName(
        "MAP", "", 2, "precision at each hit, summed / ground-truth files, averaged"
    ),
}

HEADLINE_METRICS: Final = (
    "file_recall",
    "mrr",
    "ndcg@10",
    "ttfr_seconds",
    "context_efficiency",
    "util_read_overlap_with_relevant_files",
)

OUTCOMES: Final = ("reward", "cost_usd", "elapsed_seconds", "total_tokens")

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
    return METRICS.get(metric) or MetricName(metric, "", 2, "")


def reason_sentence(reason: str | None) -> str:
    """Return the sentence of a reason code, or the text itself when it is no code.

    Examples
    --------
    >>> reason_sentence("no_writes")
    'the agent wrote no file'
    """
    known = REASONS | EXCLUSIONS
    return known.get(reason or "", reason or "no reason was recorded")
