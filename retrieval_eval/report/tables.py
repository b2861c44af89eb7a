"""Tables of metrics: the headline, every metric, every pair of configs, and means by config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.model.impact import ComparisonDocument, PairedEstimate, PairedStatistics
from retrieval_eval.report.comparison import (
    ALPHA,
    UNABLE,
    VERDICTS,
    arms,
    discrimination_of,
    is_by_means,
    is_fragile,
    is_gain,
)
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.findings import name
from retrieval_eval.report.gate_labels import inside, title
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING, count, interval, of, p_value, signed
from retrieval_eval.report.run_view import Record, mean, numbers
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.values import counted

_STATISTICS = ("Difference", "95 % interval", "Pairs", "Better / same / worse")
WITHHELD = "withheld"
MAX_SAID = 240
"""Characters of a sentence of the analysis that names configurations."""
READING = (
    "Better counts the tasks on which the second configuration did better. Times: lower is better, "
    "over tasks on which both found a file; never: tasks without. Repeats are averaged in a task."
)
NEVER = "… never found one (tasks)"
TIMES = (
    "A mean time is over the tasks on which both found a relevant file; “never” counts those on "
    "which a trial found none. A task on which one alone found a file counts as better or worse."
)
UNTIMED = (
    "{metrics}: the two never found a file on different numbers of tasks, so the tasks on which "
    "both did cannot tell which is faster, and there is neither interval nor test."
)

ENOUGH_FOR_TAILS = 30
FEW_FOR_TAILS = (
    "Times, tokens and costs have no upper bound. Fewer than "
    f"{ENOUGH_FOR_TAILS} tasks may not show the rare large ones, and their intervals can then be "
    "too short: over 10 tasks they missed the true mean in up to 9 % of simulated studies, not 5 %."
)


def headline(comparison: ComparisonDocument, metrics: Sequence[str] = HEADLINE_METRICS) -> Table:
    """Return one row a metric: both means, paired difference, interval, pairs, win/tie/loss.

    Metrics that cannot tell the arms apart leave the table and are named below it.
    """
    shown, left = _discriminating(comparison, metrics)
    notes = [READING]
    notes += [f"Left out, unable to tell the two apart: {', '.join(left)}."] if left else []
    notes += [*_grouped(comparison), *_adjusted(comparison), *_said(comparison)]
    return Table(
        "headline",
        "Means over matched tasks and their paired difference, in the unit of the metric",
        ("Metric", *arms(comparison), *_STATISTICS),
        tuple(_headline_row(metric, comparison.metrics.get(metric)) for metric in shown),
        notes=(*notes, *_lost(comparison, shown)),
    )


def _discriminating(
    comparison: ComparisonDocument, metrics: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the metrics that stay, and those that leave with the reason.

    The verdict's metric always stays; a redundant one leaves only when the metric it repeats
    stays, so that nothing is lost.
    """
    shown, left = [], []
    for metric in dict.fromkeys((comparison.verdict_metric, *metrics)):
        found = discrimination_of(comparison, metric)
        is_repeat = found is not None and found.status == "redundant" and found.with_ in shown
        is_constant = found is not None and found.status in UNABLE
        if found is None or metric == comparison.verdict_metric or not (is_constant or is_repeat):
            shown.append(metric)
            continue
        like = f"repeats {metric_name(found.with_ or '').label}" if is_repeat else found.status
        left.append(f"{metric_name(metric).label} ({like})")
    return shown, left


def _grouped(comparison: ComparisonDocument) -> list[str]:
    """Return the note on tasks that count together, without which 20 of 20 wins look surer."""
    result = comparison.metrics.get(comparison.verdict_metric)
    if result is None or result.cluster_by is None or result.n_clusters is None:
        return []
    tasks, by = counted(result.n_pairs, "task"), result.cluster_by
    if result.n_clusters == 1:
        return [f"All {tasks} are of one {by}, so the result is about this {by} only."]
    if is_by_means(result):
        how = f"t with {counted(result.n_clusters - 1, 'degree')} of freedom"
        text = f"{tasks} in {counted(result.n_clusters, 'group')} by {by}: the means, difference "
        return [f"{text}and interval are those of the {by} means ({how}), each counting the same."]
    text = (
        f"Tasks that share a {by} are resampled together: "
        f"{tasks} in {counted(result.n_clusters, 'group')}"
    )
    # The sign-flip test of n groups has 2**n outcomes and is two-sided.
    least = 2.0 ** (1 - result.n_clusters)
    return [f"{text}, so that p is at least {least:.3f}." if least >= 0.001 else f"{text}."]


def _said(comparison: ComparisonDocument) -> list[str]:
    """Return what the analysis says of the arms' roles and of rewards that it does not average."""
    said = [
        name(threat.sentence, MAX_SAID)
        for threat in comparison.threats
        if threat.name in ("mcp_role", "reward_scales")
    ]
    return [f"{text[:1].upper()}{text[1:]}." for text in said]


def _adjusted(comparison: ComparisonDocument) -> list[str]:
    """Return the note that says which differences stand when all are looked at together."""
    family = {m: r for m, r in comparison.metrics.items() if r.p_holm is not None}
    if not family:
        return []
    clear = [
        f"{metric_name(metric).label} ({'better' if is_gain(r) else 'worse'}"
        f"{', fragile' if is_fragile(r) else ''})"
        for metric, r in family.items()
        if (r.p_holm or 0) < ALPHA
    ]
    stands = f"only for {', '.join(clear)}" if clear else "for none of them"
    return [f"Adjusted for {len(family)} metrics (Holm), p stays below 0.05 {stands}."]


def _timed(comparison: ComparisonDocument, metrics: Sequence[str]) -> list[str]:
    """Return how to read times where some trial found nothing, and which are not compared."""
    known = {m: comparison.metrics[m] for m in metrics if m in comparison.metrics}
    timed = {m: r for m, r in known.items() if r.n_never_baseline or r.n_never_comparison}
    unfair = [metric_name(m).label for m, r in timed.items() if r.ci_reason == "never_hit_differs"]
    notes = [TIMES] if timed else []
    return [*notes, UNTIMED.format(metrics=", ".join(unfair))] if unfair else notes


def _lost(comparison: ComparisonDocument, metrics: Sequence[str]) -> list[str]:
    lost: dict[str, list[str]] = {}
    for metric in metrics:
        result = comparison.metrics.get(metric)
        if result is not None and result.mean_difference is None:
            label = metric_name(metric).label
            lost.setdefault(reason_sentence(result.reason), []).append(label)
    return [f"{MISSING} {', '.join(labels)}: {why}." for why, labels in lost.items()]


def _tails(comparison: ComparisonDocument, metrics: Sequence[str]) -> list[str]:
    """Return the caution that few costs or times may not show their largest."""
    endless = [name for name in metrics if name in BY_NAME and not BY_NAME[name].is_bounded]
    results = [comparison.metrics.get(metric) for metric in endless]
    is_few = any(
        result is not None and result.ci_low is not None and result.n_pairs < ENOUGH_FOR_TAILS
        for result in results
    )
    return [FEW_FOR_TAILS] if is_few else []


def interval_of(metric: str, result: PairedEstimate) -> str:
    """Return the interval of a metric's difference in the metric's own decimals, or the dash."""
    return interval(result.ci_low, result.ci_high, metric_name(metric).digits)


def _difference_row(metric: str, result: PairedStatistics | None) -> tuple[str, ...]:
    known = metric_name(metric)
    if result is None:
        return (known.titled, *[MISSING] * 6)
    return (
        known.titled,
        known.value(result.mean_baseline),
        known.value(result.mean_comparison),
        known.difference(result.mean_difference),
        interval_of(metric, result),
        str(result.n_pairs),
        _outcomes(result) if result.n_pairs else MISSING,
    )


def _outcomes(result: PairedStatistics) -> str:
    return f"{result.wins or 0} / {result.ties or 0} / {result.losses or 0}"


def _headline_row(metric: str, result: PairedStatistics | None) -> tuple[str, ...]:
    """Return the row of a metric; for times the tasks without one are beside the interval."""
    name, before, after, difference, ends, *rest = _difference_row(metric, result)
    if result is not None and (result.n_never_baseline or result.n_never_comparison):
        before_of, after_of = result.n_watched_baseline, result.n_watched_comparison
        first = str(result.n_never_baseline)
        first += "" if before_of == after_of else f" of {before_of}"
        never = f"never: {first} | {result.n_never_comparison} of {after_of}"
        ends = never if ends == MISSING else f"{ends}, {never}"
    return (name, before, after, difference, ends, *rest)


def _rows(metric: str, result: PairedStatistics | None) -> Iterator[tuple[str, ...]]:
    """Yield the row of a metric, and for times one on the tasks that have none."""
    yield _difference_row(metric, result)
    if result is not None and result.n_never_baseline is not None:
        counts = (
            of(result.n_never_baseline, result.n_watched_baseline),
            of(result.n_never_comparison, result.n_watched_comparison),
        )
        yield (NEVER, *counts, "", "", "", "")


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


def differences(comparison: ComparisonDocument, metrics: Sequence[str]) -> Table:
    """Return the paired difference of every metric of one comparison."""
    return Table(
        "differences",
        "Paired differences of every metric, in the unit of the metric",
        ("Metric", *arms(comparison), *_STATISTICS),
        tuple(row for metric in metrics for row in _rows(metric, comparison.metrics.get(metric))),
        notes=(
            *_timed(comparison, metrics),
            *_tails(comparison, metrics),
            *_lost(comparison, metrics),
        ),
    )


def tests(comparison: ComparisonDocument, metrics: Sequence[str]) -> Table:
    """Return how sure the paired difference of every metric is."""
    rows = []
    groupings: set[tuple[str | None, bool]] = set()
    for metric in metrics:
        known, result = metric_name(metric), comparison.metrics.get(metric)
        if result is None:
            continue
        if result.n_clusters != 1:
            groupings.add((result.cluster_by, is_by_means(result)))
        rows.append(
            (
                known.titled,
                p_value(result.p_value),
                p_value(result.p_holm),
                signed(result.rank_biserial),
                str(result.n_pairs),
                count(result.n_clusters),
                known.value(result.smallest_detectable_difference),
            )
        )
    named = sorted({by for by, is_by_means in groupings if by and not is_by_means})
    few = sorted({by for by, is_by_means in groupings if by and is_by_means})
    parts = [f"Tasks that share a {' or '.join(named)} are resampled together."] if named else []
    if few:
        parts.append(f"Of few groups the {' or '.join(few)} means are compared by a t test.")
    how = " ".join(parts) or "No clusters: every task is resampled by itself."
    return Table(
        "tests",
        "p of the difference, adjusted over the family of metrics (Holm), effect and power",
        ("Metric", "p", "p (Holm)", "Rank-biserial", "Pairs", "Clusters", "Smallest detectable"),
        tuple(rows),
        notes=(how,),
    )


def every_pair(found: Sequence[ComparisonDocument]) -> Table:
    """Return one row a pair of configs: its verdict, pairs, difference, and what the gate says."""
    return Table(
        "every-pair",
        "Every pair of configurations, second minus first",
        ("First", "Second", "Verdict", "Metric", "Pairs", "Difference", "95 % interval", "Gate"),
        tuple(map(_pair_row, found)),
        ("left", "left", "left", "left", "right", "right", "right", "left"),
    )


def _pair_row(c: ComparisonDocument) -> tuple[str, ...]:
    result, known = c.metrics.get(c.verdict_metric), metric_name(c.verdict_metric)
    failed = ", ".join(inside(title(rule)) for rule in c.gate.failed)
    absent = WITHHELD if c.verdict == "no_verdict" else MISSING
    has_numbers = c.verdict != "no_verdict" and result is not None and result.n_pairs >= MIN_PAIRS
    return (
        *arms(c),
        VERDICTS[c.verdict],
        known.titled,
        str(result.n_pairs if result else 0),
        known.difference(result.mean_difference) if result and has_numbers else absent,
        interval_of(c.verdict_metric, result) if result and has_numbers else absent,
        f"failed: {failed}" if failed else "passed",
    )
