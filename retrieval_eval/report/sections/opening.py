"""The first screen: what the report is about, the answer, and whether to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval_eval.escape import visible
from retrieval_eval.model.impact import ComparisonDocument
from retrieval_eval.report import findings, prose, simulated, tables
from retrieval_eval.report.comparison import HEADLINE
from retrieval_eval.report.exhibits import Block, Table
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections.coverage import completeness
from retrieval_eval.report.tables_validity import gate_table, ledger_table
from retrieval_eval.stats.paired import MIN_PAIRS

STATUS = "standalone · non-ranking · association only"


def header(view: RunView) -> Block:
    """Return the strip that names run, suites, configs, status and completeness."""
    run = view.run
    suites = sorted({suite for suite, _ in view.tasks if suite})
    models = sorted({str(t["model"]) for t in view.trials if t["model"]})
    harnesses = sorted({str(t["harness"]) for t in view.trials if t["harness"]})
    badges = [
        ("Runs" if len(run.run_ids) > 1 else "Run", _names(run.run_ids)),
        ("Filtered", run.part.sentence if run.part else ""),
        ("Configurations", _names(run.configs)),
        ("Suites", _names(suites)),
        ("Model", _names(models)),
        ("Harness", _names(harnesses)),
        ("Status", STATUS),
        ("Completeness", completeness(view)),
        ("Answer on", _leading(view)),
    ]
    said = simulated.notice(run.n_simulated, len(run.trial_files), "trial", "agent")
    return Block("header", said, badges=tuple((k, v) for k, v in badges if v))


def _leading(view: RunView) -> str:
    """Return which of several pairs of configs the answer is about; nothing when there is one."""
    chosen, n = view.run.comparison, len(view.run.comparisons)
    if chosen is None or n < 2:
        return ""
    pair = (
        f"{findings.name(chosen.comparison_config)} against {findings.name(chosen.baseline_config)}"
    )
    return f"{pair}, one of {n} pairs; the others under Paired comparison"


def answer(view: RunView) -> Block:
    """Return the answer box: at most four sentences and one table."""
    comparison = view.run.comparison
    said = prose.answer(comparison, answer_inputs(view))
    return Block("answer", said.title, said.sentences, (_shown(view, comparison),), tone=said.tone)


def _shown(view: RunView, comparison: ComparisonDocument | None) -> Table:
    """Return the table of the first screen; none that invites a comparison that cannot be made."""
    if comparison is not None and view.withheld is not None:
        return replace(gate_table(comparison.gate, only_failed=True), key="headline")
    result = comparison.metrics.get(comparison.verdict_metric) if comparison else None
    if comparison is not None and result is not None and result.n_pairs >= MIN_PAIRS:
        return tables.headline(comparison)
    if comparison is not None:
        return replace(ledger_table(comparison), key="headline")
    metrics = {m: metric_name(m).titled for m in HEADLINE_METRICS}
    return tables.by_config(view.by_config, metrics, "headline")


def answer_inputs(view: RunView) -> prose.AnswerInputs:
    """Return what the answer's sentences rest on."""
    comparison = view.run.comparison
    pairs = view.pairs.get(comparison.verdict_metric, {}) if comparison else {}
    losses = [(d, task) for (_, task), (_, _, d) in pairs.items() if d < 0]
    worst = min(losses, default=None)
    return prose.AnswerInputs(
        n_tasks=len(view.tasks),
        n_trials=len(view.trials),
        n_scored=sum(finite(t[HEADLINE]) is not None for t in view.trials),
        n_excluded=sum(summary.counts.excluded for summary in view.run.summaries),
        n_configs=len(view.by_config),
        hurt=(worst[1], worst[0]) if worst else None,
        n_sign_changes=sum(a.sign_change is True for a in view.run.impact.associations),
        withheld=view.withheld,
    )


def _names(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(visible(n, 48) for n in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
