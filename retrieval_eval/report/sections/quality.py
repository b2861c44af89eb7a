"""How well each config retrieved, and how the matched tasks differ."""

from __future__ import annotations

from collections import defaultdict

from retrieval_eval.report import findings, prose, tables
from retrieval_eval.report.comparison import HEADLINE, MIN_PAIRS
from retrieval_eval.report.derive import Facts, mean, numbers
from retrieval_eval.report.exhibits import Block, Empty, section
from retrieval_eval.report.figures import at_k, paired_bars, recall_ecdf, suites
from retrieval_eval.report.names import METRICS, metric_name
from retrieval_eval.report.numbers import plural

UNPAIRED = "Fewer than two configurations share a task with ground truth and a trace in both."
TOO_FEW = f"Fewer than {MIN_PAIRS} matched tasks; their values are in the table of all tasks."
RANKED_NOTE = (
    "Files are ranked by first appearance (convention trec): P@k divides by k, nDCG is linear, a "
    "repeated file counts once. A trial without a value is counted as such, never scored 0."
)
MEANS = ("file_recall", "mrr", "map_score", "ndcg@10", "context_efficiency")


def recall(facts: Facts) -> Block:
    """Return the distribution of file recall."""
    values = {c: numbers(trials, HEADLINE) for c, trials in facts.by_config.items()}
    medians = [(c, recall_ecdf.quantile(v, 0.5), len(v)) for c, v in values.items() if v]
    return section(findings.ranked("Median file recall", medians), recall_ecdf.draw(values))


def cutoffs(facts: Facts) -> Block:
    """Return precision, recall and nDCG at each cut-off."""
    ks = facts.run.k_values
    means: dict[str, dict[tuple[str, int], tuple[float | None, int]]] = {}
    for config, trials in facts.by_config.items():
        means[config] = {}
        for measure in at_k.MEASURES:
            for k in ks:
                values = numbers(trials, f"{measure}@{k}")
                means[config][measure, k] = (mean(values), len(values))
    top = ks[-1]
    shown = [
        (config, value, n)
        for config, by in means.items()
        for value, n in [by["ndcg", top]]
        if value is not None
    ]
    return section(findings.ranked(f"Mean nDCG@{top}", shown), at_k.draw(means, ks))


def metric_means(facts: Facts) -> Block:
    """Return means by config, matched or not."""
    metrics = [m for m in MEANS if "@" not in m or int(m.split("@")[1]) in facts.run.k_values]
    scored = [(c, len(numbers(trials, HEADLINE))) for c, trials in facts.by_config.items()]
    text = ", ".join(f"{n} with {findings.name(c)}" for c, n in scored[:4])
    return section(
        f"Trials with computable metrics: {text}" if text else "No trial was evaluated",
        tables.by_config(
            facts.by_config,
            {m: metric_name(m).titled for m in metrics},
            "means",
            (RANKED_NOTE,),
        ),
    )


def paired(facts: Facts) -> Block:
    """Return the sorted differences of the headline metric."""
    comparison = facts.run.comparison
    result = comparison.metric(HEADLINE) if comparison else None
    finding = prose.paired(comparison, result)
    if comparison is None or result is None:
        return section(finding, Empty("paired", UNPAIRED))
    if result.n_pairs < MIN_PAIRS:
        return section(finding, Empty("paired", TOO_FEW))
    differences = [(task, a, b, d) for (_, task), (a, b, d) in facts.headline_pairs.items()]
    return section(finding, paired_bars.draw(differences, comparison, result))


def by_suite(facts: Facts) -> Block:
    """Return the headline metric by suite."""
    comparison = facts.run.comparison
    if comparison is None:
        return section("Nothing is paired, so nothing is split", Empty("suites", UNPAIRED))
    if len(facts.headline_pairs) < MIN_PAIRS:
        return section("Too few matched tasks to split", Empty("suites", TOO_FEW))
    grouped: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for (suite, _), values in facts.headline_pairs.items():
        grouped[suite or "suite unknown"].append(values)
    found = [
        (suite, len(v), mean([a for a, _, _ in v]) or 0.0, mean([b for _, b, _ in v]) or 0.0)
        for suite, v in grouped.items()
    ]
    higher = sum(b > a for _, _, a, b in found)
    lower = sum(b < a for _, _, a, b in found)
    finding = (
        f"{findings.name(comparison.comparison)} has the higher mean in {higher}, the lower in "
        f"{lower} of {plural(len(found), 'suite')}"
    )
    return section(finding, suites.draw(found, comparison, HEADLINE))


def every_pair(facts: Facts) -> Block:
    """Return every metric of every pair of configs."""
    found = facts.run.comparisons
    if not found:
        return section("There is no pair of configurations", Empty("comparisons", UNPAIRED))
    metrics = [m for m in METRICS if any(m in c.metrics for c in found)]
    every = [c.metrics[m] for c in found for m in metrics if m in c.metrics]
    return section(findings.intervals(every), tables.comparisons(found, metrics))
