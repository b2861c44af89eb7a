"""The numbers of a trial that are aggregated, compared and associated, declared once as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from retrieval_eval.values import REASONS, Value

Direction = Literal["higher_is_better", "lower_is_better"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a ``.retrieval_metrics.json`` document.

    ``path`` leads to the number; ``reason`` is the code for a missing number whose block gives
    none.
    """

    name: str
    label: str
    path: tuple[str, ...]
    direction: Direction = "higher_is_better"
    unit: str = "share"
    reason: str = "not_recorded"

    @property
    def is_bounded(self) -> bool:
        """Whether no value can lie far above all others, as one cost or time can."""
        return self.unit in ("share", "reward")


def _files(name: str, label: str, **options: Any) -> Metric:
    path = ("file_level_metrics", *options.pop("key", (name,)))
    return Metric(name, label, path, **options)


RETRIEVAL: Final = (
    _files("file_recall", "file recall"),
    _files("mrr", "MRR"),
    _files("map_score", "MAP"),
    _files("ndcg@10", "nDCG@10", key=("ndcg", "10")),
    _files("precision@5", "P@5", key=("precision", "5")),
    _files("recall@10", "Recall@10", key=("recall", "10")),
    _files("context_efficiency", "context efficiency"),
    _files(
        "ttfr_seconds",
        "TTFR (seconds)",
        direction="lower_is_better",
        unit="s",
        reason="no_timestamps",
    ),
    _files(
        "ttfr_tokens",
        "TTFR (tokens)",
        direction="lower_is_better",
        unit="tokens",
        reason="no_tokens",
    ),
    Metric(
        "util_read_overlap_with_relevant_files",
        "read overlap",
        ("utilization_probes", "util_read_overlap_with_relevant_files"),
    ),
    Metric(
        "util_write_overlap_with_relevant_files_proxy",
        "write overlap (proxy)",
        ("utilization_probes", "util_write_overlap_with_relevant_files_proxy"),
    ),
    Metric(
        "util_write_overlap_with_expected_edit_files",
        "write overlap (expected edits)",
        ("utilization_probes", "util_write_overlap_with_expected_edit_files"),
    ),
    Metric(
        "util_read_before_write_ratio",
        "read before write",
        ("utilization_probes", "util_read_before_write_ratio"),
    ),
    Metric("chunk_recall", "chunk recall", ("chunk_level_metrics", "chunk_recall")),
)
"""Retrieval and utilization metrics, in the order reports list them."""

OUTCOMES: Final = (
    Metric("reward", "reward", ("outcome", "reward"), unit="reward"),
    Metric("cost_usd", "cost", ("outcome", "cost_usd"), "lower_is_better", "USD"),
    Metric("elapsed_seconds", "time", ("outcome", "elapsed_seconds"), "lower_is_better", "s"),
    Metric("total_tokens", "tokens", ("outcome", "total_tokens"), "lower_is_better", "tokens"),
)
"""Outcomes of a trial; their direction differs."""

FIXED_K: Final = tuple(sorted({int(m.path[-1]) for m in RETRIEVAL if "@" in m.name}))
"""The cut-offs in the names above. They are measured whatever others are asked for, so that
nDCG@10 is a headline metric of every run and means the same in all of them."""

BY_NAME: Final = {metric.name: metric for metric in (*RETRIEVAL, *OUTCOMES)}


def in_view(metric: Metric, view: str) -> Metric:
    """Return a file-level metric as it is under another view of what "retrieved" means."""
    path = (metric.path[0], "views", view, *metric.path[1:])
    return replace(metric, path=path)


def read_metric(document: Mapping[str, Any], metric: Metric) -> Value:
    """Return one number of a trial's metric document as a value.

    A missing number carries the reason of its own block, else the block's, else ``never_hit`` for
    a time of a trial that never hit, else the metric's default.
    """
    block = document.get(metric.path[0]) or {}
    number: Any = block
    for key in metric.path[1:]:
        number = number.get(key) if isinstance(number, Mapping) else None
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if is_number and math.isfinite(number):
        return Value.of(float(number), 1)
    return Value.missing(_reason(block, metric))


def _reason(block: Mapping[str, Any], metric: Metric) -> str:
    own = block.get("reasons", {})
    name = metric.path[-1]
    for reason in (
        own.get(name),
        own.get("@".join(metric.path[1:])),
        block.get(f"{name}_reason"),
        block.get("reason"),
        "never_hit" if name.startswith("ttfr_") and block.get("never_hit") else None,
    ):
        if reason in REASONS:
            return str(reason)
    return metric.reason
