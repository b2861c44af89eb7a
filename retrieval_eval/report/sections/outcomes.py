"""What it took: cost, tokens, time, and the mix of tools."""

from __future__ import annotations

from collections import Counter

from retrieval_eval.report import findings
from retrieval_eval.report.exhibits import Block, section
from retrieval_eval.report.figures import costs, tool_mix
from retrieval_eval.report.names import METRICS
from retrieval_eval.report.run_view import RunView, numbers, rows


def cost(view: RunView) -> Block:
    """Return the spread of cost, tokens and time."""
    values = {
        outcome: {c: numbers(trials, outcome) for c, trials in view.by_config.items()}
        for outcome in costs.OUTCOMES
    }
    comparison = view.run.comparison if view.withheld is None else None
    parts = []
    for outcome in costs.OUTCOMES:
        result = comparison.metrics.get(outcome) if comparison else None
        if result is not None and result.mean_difference is not None:
            known = METRICS[outcome]
            unit = f" {known.unit}" if known.unit else ""
            text = f"{known.label.lower()} {known.difference(result.mean_difference)}{unit}"
            parts.append(f"{text} (n = {result.n_pairs})")
    finding = (
        f"Paired mean difference: {', '.join(parts)}"
        if parts
        else "No paired difference in cost, tokens or time can be given"
    )
    return section(finding, costs.draw(values, list(view.by_config)))


def tools(view: RunView) -> Block:
    """Return the mix of tool categories."""
    counts: dict[str, Counter[str]] = {c: Counter() for c in view.by_config}
    mcp: Counter[str] = Counter()
    for row in rows(view.run, "events"):
        config = str(row["config_name"])
        counts.setdefault(config, Counter())[str(row["tool_category"])] += 1
        mcp[config] += row["is_mcp"] is True
    shares = [(c, mcp[c] / n.total(), n.total()) for c, n in counts.items() if n.total()]
    return section(findings.ranked("Share of events by MCP tools", shares), tool_mix.draw(counts))
