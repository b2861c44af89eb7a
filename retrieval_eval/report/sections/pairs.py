"""How the matched tasks differ: the leading pair of configs, every pair, every view."""

from __future__ import annotations

from collections import defaultdict

from retrieval_eval.model.impact import ComparisonDocument
from retrieval_eval.report import findings, prose, tables, tables_validity
from retrieval_eval.report.comparison import UNABLE, VERDICTS
from retrieval_eval.report.exhibits import Block, Empty, section
from retrieval_eval.report.figures import paired_bars, suites
from retrieval_eval.report.names import METRICS
from retrieval_eval.report.run_view import RunView, mean
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.values import counted

UNPAIRED = "Fewer than two configurations share a task with ground truth and a trace in both."
TOO_FEW = f"Fewer than {MIN_PAIRS} matched tasks; their values are listed task by task."


def withheld(view: RunView, key: str) -> Block | None:
    """Return the block that stands where a difference is withheld, or None when it is not."""
    if view.withheld is None:
        return None
    why = f"{view.withheld} A difference could come from that fault, so it is withheld."
    return section("No verdict: the arms cannot be compared", Empty(key, why))


def paired(view: RunView) -> Block:
    """Return the sorted differences of the verdict's metric."""
    if (block := withheld(view, "paired")) is not None:
        return block
    comparison = view.run.comparison
    result = comparison.metrics.get(comparison.verdict_metric) if comparison else None
    finding = prose.paired(comparison)
    if comparison is None or result is None:
        return section(finding, Empty("paired", UNPAIRED))
    if result.n_pairs < MIN_PAIRS:
        return section(finding, Empty("paired", TOO_FEW))
    pairs = view.pairs.get(comparison.verdict_metric, {})
    differences = [(task, a, b, d) for (_, task), (a, b, d) in pairs.items()]
    return section(finding, paired_bars.draw(differences, comparison, result))


def by_suite(view: RunView) -> Block:
    """Return the verdict's metric by suite."""
    if (block := withheld(view, "suites")) is not None:
        return block
    comparison = view.run.comparison
    if comparison is None:
        return section("Nothing is paired, so nothing is split", Empty("suites", UNPAIRED))
    pairs = view.pairs.get(comparison.verdict_metric, {})
    if len(pairs) < MIN_PAIRS:
        return section("Too few matched tasks to split", Empty("suites", TOO_FEW))
    grouped: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for (suite, _), values in pairs.items():
        grouped[suite or "suite unknown"].append(values)
    found = [
        (suite, len(v), mean([a for a, _, _ in v]) or 0.0, mean([b for _, b, _ in v]) or 0.0)
        for suite, v in grouped.items()
    ]
    higher = sum(b > a for _, _, a, b in found)
    lower = sum(b < a for _, _, a, b in found)
    finding = (
        f"{findings.name(comparison.comparison_config)} has the higher mean in {higher}, the lower "
        f"in {lower} of {counted(len(found), 'suite')}"
    )
    return section(finding, suites.draw(found, comparison, comparison.verdict_metric))


def every_metric(view: RunView) -> Block:
    """Return every metric of the leading comparison, with adjusted tests and effects."""
    if (block := withheld(view, "differences")) is not None:
        return block
    comparison = view.run.comparison
    if comparison is None:
        return section("Nothing is paired", Empty("differences", UNPAIRED))
    metrics = [m for m in METRICS if m in comparison.metrics]
    if comparison.n_pairs < MIN_PAIRS or not metrics:
        return section("Too few matched tasks for a statistic", Empty("differences", TOO_FEW))
    results = [comparison.metrics[m] for m in metrics]
    return section(
        findings.intervals(results),
        tables.differences(comparison, metrics),
        tables.tests(comparison, metrics),
    )


def every_pair(view: RunView) -> Block:
    """Return the verdict on every pair of configs."""
    found = view.run.comparisons
    if not found:
        return section("There is no pair of configurations", Empty("every-pair", UNPAIRED))
    verdicts = [VERDICTS[c.verdict] for c in found]
    return section(findings.pairs(verdicts), tables.every_pair(found))


def views(view: RunView) -> Block:
    """Return the headline metrics under every view of what counts as retrieved."""
    if (block := withheld(view, "views")) is not None:
        return block
    comparison = view.run.comparison
    if comparison is None or not comparison.views:
        return section("No view is compared", Empty("views", UNPAIRED))
    if comparison.n_pairs < MIN_PAIRS:
        return section("Too few matched tasks to compare views", Empty("views", TOO_FEW))
    changed = {(f.metric, f.view) for f in comparison.flips}
    return section(
        findings.views(len(changed), len(comparison.views)),
        tables_validity.views_table(comparison),
    )


def discrimination(view: RunView) -> Block:
    """Return which metrics can tell the configurations apart."""
    if (block := withheld(view, "discrimination")) is not None:
        return block
    comparison = view.run.comparison
    if comparison is None or not comparison.discrimination:
        return section("No metric is compared", Empty("discrimination", UNPAIRED))
    return section(
        _discrimination_finding(comparison), tables_validity.discrimination_table(comparison)
    )


def _discrimination_finding(comparison: ComparisonDocument) -> str:
    found = comparison.discrimination
    all_of_them = counted(len(found), "metric")
    unable = sum(d.status in (*UNABLE, "redundant") for d in found)
    if unable:
        return f"{unable} of {all_of_them} cannot tell the configurations apart"
    able = sum(d.status == "discriminates" for d in found)
    if not able:
        return "Too few values to say which metrics can tell the configurations apart"
    whole = f"All {all_of_them}" if able == len(found) else f"{able} of {all_of_them}"
    return f"{whole} can tell the configurations apart"
