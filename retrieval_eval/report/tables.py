"""Tables of metrics: the headline, every pair of configs, and means by config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval_eval.report.comparison import Comparison, MetricResult
from retrieval_eval.report.derive import Record, mean, numbers
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.figures.recall_ecdf import quantile
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING


def headline(comparison: Comparison, metrics: Sequence[str] = HEADLINE_METRICS) -> Table:
    """Return one row a metric: both means, paired difference, interval, pairs, win/tie/loss."""
    rows, notes = [], []
    for metric in metrics:
        result = comparison.metric(metric)
        rows.append(_headline_row(metric, result))
        if result is not None and result.mean_difference is None:
            label = metric_name(metric).label
            notes.append(f"{MISSING} {label}: {reason_sentence(result.reason)}.")
    return Table(
        "headline",
        "Means over matched tasks and their paired difference, in the unit of the metric",
        (
            "Metric",
            comparison.baseline,
            comparison.comparison,
            "Difference",
            "95 % interval",
            "Pairs",
            "Better / same / worse",
        ),
        tuple(rows),
        notes=(
            "Better counts the tasks on which the second configuration did better; for times a "
            "lower value is better. Repeats are averaged inside a task.",
            *notes,
        ),
    )


def _headline_row(metric: str, result: MetricResult | None) -> tuple[str, ...]:
    known = metric_name(metric)
    if result is None:
        return (known.titled, *[MISSING] * 6)
    ends = MISSING
    if result.ci_low is not None and result.ci_high is not None:
        ends = f"[{known.difference(result.ci_low)}, {known.difference(result.ci_high)}]"
    return (
        known.titled,
        known.value(result.mean_baseline),
        known.value(result.mean_comparison),
        known.difference(result.mean_difference),
        ends,
        str(result.n_pairs),
        f"{result.wins} / {result.ties} / {result.losses}" if result.n_pairs else MISSING,
    )


def by_config(groups: Mapping[str, Sequence[Record]], metrics: Sequence[str], key: str) -> Table:
    """Return one row a config and metric: mean, median, n, and how many are not computable."""
    rows = []
    for metric in metrics:
        known = metric_name(metric)
        for config, trials in groups.items():
            values = numbers(trials, metric)
            middle = quantile(values, 0.5) if values else None
            rows.append(
                (
                    known.titled,
                    config,
                    known.value(mean(values)),
                    known.value(middle),
                    str(len(values)),
                    str(len(trials) - len(values)),
                )
            )
    return Table(
        key,
        "Means over the trials of each configuration, matched or not",
        ("Metric", "Config", "Mean", "Median", "n", "Not computable"),
        tuple(rows),
        ("left", "left", "right", "right", "right", "right"),
        (
            "Rankings follow the first appearance of a file (convention trec: P@k divides by k, "
            "nDCG is linear, a repeated file counts once). A trial without a value is counted, "
            "never scored 0.",
        ),
    )


def comparisons(found: Sequence[Comparison], metrics: Sequence[str]) -> Table:
    """Return one row a pair of configs and metric."""
    rows = []
    for comparison in found:
        for metric in metrics:
            row = _headline_row(metric, comparison.metric(metric))
            rows.append((f"{comparison.comparison} − {comparison.baseline}", *row))
    return Table(
        "comparisons",
        "Paired differences of every pair of configurations",
        (
            "Pair",
            "Metric",
            "First mean",
            "Second mean",
            "Difference",
            "95 % interval",
            "Pairs",
            "Better / same / worse",
        ),
        tuple(rows),
        ("left", "left", "right", "right", "right", "right", "right", "right"),
    )
