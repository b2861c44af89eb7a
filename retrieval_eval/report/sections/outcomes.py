"""Slices of the difference, associations with outcomes, cost, and the mix of tools."""

from __future__ import annotations

from collections import Counter, defaultdict

from retrieval_eval.report import findings
from retrieval_eval.report.derive import Facts, Record, Task, arms, mean, numbers, rows, task_mean
from retrieval_eval.report.exhibits import Block, Empty, section
from retrieval_eval.report.figures import associations, costs, slices, tool_mix
from retrieval_eval.report.names import METRICS
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.sections.quality import UNPAIRED

MEDIUM, LARGE = 5, 20


def sliced(facts: Facts) -> Block:
    """Return the difference by suite and candidate-set size, and by evidence type."""
    if facts.run.comparison is None:
        return section("Nothing is paired, so nothing is sliced", Empty("slices", UNPAIRED))
    if len(facts.headline_pairs) < slices.MIN_N:
        why = f"Below {slices.MIN_N} matched tasks no cell can be interpreted."
        return section("Too few matched tasks to slice", Empty("slices", why))
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for task, (_, _, difference) in facts.headline_pairs.items():
        size = _size(facts, task)
        for row in (task[0] or "suite unknown", _evidence(facts, task), "all matched tasks"):
            found[row, size].append(difference)
    cells = {key: (mean(v) or 0.0, len(v)) for key, v in found.items()}
    suites = sorted({task[0] or "suite unknown" for task in facts.headline_pairs})
    evidence = sorted({_evidence(facts, task) for task in facts.headline_pairs})
    shown = [*suites, *evidence, "all matched tasks"]
    columns = [s for s in slices.SIZES if any((r, s) in cells for r in shown)]
    of_suites = {key: cells[key] for key in cells if key[0] in suites}
    return section(findings.slices(of_suites, slices.MIN_N), slices.draw(cells, shown, columns))


def _size(facts: Facts, task: Task) -> str:
    assert facts.run.comparison is not None
    sizes = [
        n
        for config in arms(facts.run.comparison)
        if (n := task_mean(facts.tasks.get(task, []), config, "n_retrieved")) is not None
    ]
    files = mean(sizes) or 0.0
    return "small" if files <= MEDIUM else "medium" if files <= LARGE else "large"


def _evidence(facts: Facts, task: Task) -> str:
    assert facts.run.comparison is not None
    second = facts.run.comparison.comparison
    trials = [t for t in facts.tasks.get(task, []) if t["config_name"] == second]
    is_mcp = any(t["evidence_type"] == "mcp" for t in trials)
    return "second config used MCP" if is_mcp else "second config used no MCP"


def associated(facts: Facts) -> Block:
    """Return the associations of retrieval metrics with outcomes."""
    found = [_association(row) for row in rows(facts.run, "associations")]
    pooled = [a for a in found if a.scope == "pooled" and a.is_shown]
    strong = [a for a in pooled if a.is_strong]
    turned = [a for a in pooled if _turns(a, found)]
    return section(
        findings.associations(len(strong), len(pooled), len(turned)),
        associations.draw(found, facts.run.configs),
    )


def _association(row: Record) -> associations.Association:
    return associations.Association(
        retrieval=str(row["retrieval_metric"]),
        outcome=str(row["outcome_metric"]),
        scope=str(row["scope"]),
        group=str(row["group"] or ""),
        n=int(row["n"] or 0),
        r=finite(row["spearman_r"]),
        low=finite(row["ci_low"]),
        high=finite(row["ci_high"]),
        q=finite(row["q_value"]),
        reason=row["reason"],
    )


def _turns(pooled: associations.Association, found: list[associations.Association]) -> bool:
    """Whether every config shows the opposite sign of the pooled association."""
    key = (pooled.retrieval, pooled.outcome)
    inner = [a.r for a in found if a.scope == "config" and (a.retrieval, a.outcome) == key and a.r]
    return bool(pooled.r and inner) and all((r > 0) != ((pooled.r or 0) > 0) for r in inner)


def cost(facts: Facts) -> Block:
    """Return the spread of cost, tokens and time."""
    values = {
        outcome: {c: numbers(trials, outcome) for c, trials in facts.by_config.items()}
        for outcome in costs.OUTCOMES
    }
    comparison = facts.run.comparison
    parts = []
    for outcome in costs.OUTCOMES:
        result = comparison.metric(outcome) if comparison else None
        if result is not None and result.mean_difference is not None:
            known = METRICS[outcome]
            unit = f" {known.unit}" if known.unit and known.unit != "tokens" else ""
            text = f"{known.label.lower()} {known.difference(result.mean_difference)}{unit}"
            parts.append(f"{text} (n = {result.n_pairs})")
    finding = (
        f"Paired mean difference: {', '.join(parts)}"
        if parts
        else "No paired difference in cost, tokens or time is computable"
    )
    return section(finding, costs.draw(values, list(facts.by_config)))


def tools(facts: Facts) -> Block:
    """Return the mix of tool categories."""
    counts: dict[str, Counter[str]] = {c: Counter() for c in facts.by_config}
    mcp: Counter[str] = Counter()
    for row in rows(facts.run, "events"):
        config = str(row["config_name"])
        counts.setdefault(config, Counter())[str(row["tool_category"])] += 1
        mcp[config] += row["is_mcp"] is True
    shares = [(c, mcp[c] / n.total(), n.total()) for c, n in counts.items() if n.total()]
    return section(findings.ranked("Share of events by MCP tools", shares), tool_mix.draw(counts))
