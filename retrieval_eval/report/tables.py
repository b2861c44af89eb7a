"""Tables of metrics: the headline, every pair of configs, and means by config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from retrieval_eval.report.comparison import MIN_PAIRS, Comparison, MetricResult
from retrieval_eval.report.derive import Record, mean, numbers
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING, of, plural

_STATISTICS = ("Difference", "95 % interval", "Pairs", "Better / same / worse")


def headline(comparison: Comparison, metrics: Sequence[str] = HEADLINE_METRICS) -> Table:
    """Return one row a metric: both means, paired difference, interval, pairs, win/tie/loss."""
    rows = []
    lost: dict[str, list[str]] = {}
    for metric in metrics:
        result = comparison.metric(metric)
        rows.append(_headline_row(metric, result))
        if result is not None and result.mean_difference is None:
            label = metric_name(metric).label
            lost.setdefault(reason_sentence(result.reason), []).append(label)
    return Table(
        "headline",
        "Means over matched tasks and their paired difference, in the unit of the metric",
        (
            "Metric",
            comparison.baseline,
            comparison.comparison,
            *_STATISTICS,
        ),
        tuple(rows),
        notes=(
            (
                "Better counts the tasks on which the second configuration did better; for times a "
                "lower value is better. Repeats are averaged inside a task."
            ),
            *_unmatched(comparison),
            *(f"{MISSING} {', '.join(labels)}: {why}." for why, labels in lost.items()),
        ),
    )


def _unmatched(comparison: Comparison) -> list[str]:
    reasons = Counter(reason_sentence(reason) for reason in comparison.unmatched)
    parts = [f"{plural(n, 'task')} ({reason})" for reason, n in sorted(reasons.items())]
    return [f"Not matched: {'; '.join(parts)}."] if parts else []


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


def by_config(
    groups: Mapping[str, Sequence[Record]],
    metrics: Mapping[str, str],
    key: str,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return one row a metric and one column a config: mean and how many trials have a value.

    ``metrics`` maps a column of the trials frame to the name printed.
    """
    body = []
    for metric, label in metrics.items():
        row = [label]
        for trials in groups.values():
            values = numbers(trials, metric)
            shown = metric_name(metric).value(mean(values))
            row.append(f"{shown} ({of(len(values), len(trials))})")
        body.append(tuple(row))
    return Table(
        key,
        "Mean over the trials of a configuration, matched or not (trials with a value of all)",
        ("Metric", *groups),
        tuple(body),
        notes=notes,
    )


def comparisons(found: Sequence[Comparison], metrics: Sequence[str]) -> Table:
    """Return one row a metric; with several pairs of configs, one row a pair and metric."""
    if len(found) == 1:
        only = headline(found[0], metrics)
        return replace(only, key="comparisons")
    rows = []
    for c in found:
        pair = f"{c.comparison} − {c.baseline}"
        if c.n_pairs < MIN_PAIRS:
            too_few = (*[MISSING] * 4, str(c.n_pairs), MISSING)
            rows.append((pair, f"all: {reason_sentence(c.reason)}", *too_few))
            continue
        rows += [(pair, *_headline_row(metric, c.metric(metric))) for metric in metrics]
    return Table(
        "comparisons",
        "Paired differences of every pair of configurations, second minus first",
        ("Pair", "Metric", "First mean", "Second mean", *_STATISTICS),
        tuple(rows),
        ("left", "left", *["right"] * (2 + len(_STATISTICS))),
    )
