"""The first screen: what the report is about, the answer, and whether to trust it."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval_eval.report import findings, prose, tables
from retrieval_eval.report.comparison import HEADLINE, MIN_PAIRS, Comparison
from retrieval_eval.report.derive import Facts, arms
from retrieval_eval.report.escape import visible
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.frames import coerce, members
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name

STATUS = "standalone · non-ranking · association only"


def header(facts: Facts) -> Block:
    """Return the strip that names run, suites, configs, status and completeness."""
    run = facts.run
    suites = sorted({suite for suite, _ in facts.tasks if suite})
    models = sorted({str(t["model"]) for t in facts.trials if t["model"]})
    harnesses = sorted({str(t["harness"]) for t in facts.trials if t["harness"]})
    badges = [
        ("Runs" if len(run.run_ids) > 1 else "Run", _names(run.run_ids)),
        ("Configurations", _names(run.configs)),
        ("Suites", _names(suites)),
        ("Model", _names(models)),
        ("Harness", _names(harnesses)),
        ("Status", STATUS),
        ("Completeness", completeness(facts)),
    ]
    return Block("header", badges=tuple((k, v) for k, v in badges if v))


def completeness(facts: Facts) -> str:
    """Return how many tasks enter the paired analysis."""
    return findings.coverage(
        len(facts.headline_pairs), len(facts.tasks), facts.run.comparison is not None
    )


def answer(facts: Facts) -> Block:
    """Return the answer box: at most three sentences and one table."""
    comparison = facts.run.comparison
    result = comparison.metric(HEADLINE) if comparison else None
    said = prose.answer(comparison, result, answer_facts(facts))
    shown = (
        tables.headline(comparison)
        if comparison is not None and len(facts.headline_pairs) >= MIN_PAIRS
        else tables.by_config(
            facts.by_config, {m: metric_name(m).titled for m in HEADLINE_METRICS}, "headline"
        )
    )
    return Block("answer", said.title, said.sentences, (shown,), tone=said.tone)


def answer_facts(facts: Facts) -> prose.Facts:
    """Return what the answer's sentences rest on."""
    losses = [(d, task) for (_, task), (_, _, d) in facts.headline_pairs.items() if d < 0]
    worst = min(losses, default=None)
    counts = [members(s.get("counts")) for s in facts.run.summaries]
    return prose.Facts(
        n_tasks=len(facts.tasks),
        n_paired=len(facts.headline_pairs),
        n_trials=len(facts.trials),
        n_degraded=sum(t["status"] == "degraded" for t in facts.trials),
        n_excluded=sum(coerce(c.get("excluded"), "integer") or 0 for c in counts),
        n_without_ground_truth=sum(t["has_ground_truth"] is not True for t in facts.trials),
        n_configs=len(facts.by_config),
        hurt=(worst[1], worst[0]) if worst else None,
        flips=facts.view_flips(),
        invalid=_invalid(facts, facts.run.comparison),
    )


def _invalid(facts: Facts, comparison: Comparison | None) -> str | None:
    if comparison is None:
        return None
    for config in arms(comparison):
        trials = facts.by_config.get(config, [])
        if trials and not any(t["total_events"] for t in trials):
            return f"No trial of {findings.name(config)} holds a single retrieval event."
    if facts.run.is_mcp_arm_named:
        named = facts.by_config.get(comparison.comparison, [])
        if named and not any(t["mcp_events"] for t in named):
            return f"No trial of {findings.name(comparison.comparison)} made a single MCP call."
    return None


def _names(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(visible(n, 48) for n in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
