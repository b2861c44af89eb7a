"""Tables on whether a comparison can be trusted: gate, ledger, views, discrimination."""

from __future__ import annotations

from typing import Final

from retrieval_eval.model.impact import ComparisonDocument, Gate
from retrieval_eval.report.comparison import (
    VERDICTS,
    arms,
    is_balanced,
    ledgers,
    metrics_of,
    verdict_of,
)
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.gate_labels import inside, title, ways_out
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import MISSING, count, of, rate
from retrieval_eval.report.tables import interval_of
from retrieval_eval.values import counted

MAX_FOUND: Final = 20
VIEW_MEANINGS: Final[dict[str, str]] = {
    "accessed": "every file read or returned",
    "opened": "only files whose content was read",
    "structured": "without files known from shell commands only",
    "listing_discounted": "names only seen in listings come last",
}
_STATUS: Final[dict[str, str]] = {
    "discriminates": "can discriminate",
    "constant": "cannot discriminate: constant",
    "saturated": "cannot discriminate: saturated",
    "redundant": "cannot discriminate: redundant",
    "not_computable": "not computable",
}


def gate_table(gate: Gate, *, only_failed: bool = False) -> Table:
    """Return one row a rule: what it means, what it found and removed, whether it failed."""
    rules = [rule for rule in gate.rules if rule.failed or not only_failed]
    details = [f"{title(rule.name)}: {rule.detail}." for rule in rules if rule.detail]
    return Table(
        "gate",
        "Validity of the arms, rule by rule; a rule that failed withholds the verdict",
        ("Rule", "Meaning", "Trials found", "Removed", "Share of an arm", "Outcome"),
        tuple(
            (
                title(rule.name),
                rule.meaning or MISSING,
                count(rule.count),
                count(rule.n_removed),
                rate(rule.share_removed) if rule.n_removed else MISSING,
                "failed" if rule.failed else "passed",
            )
            for rule in rules
        ),
        ("left", "left", "right", "right", "right", "left"),
        tuple(details),
    )


def found_table(gate: Gate) -> Table | None:
    """Return the trials that the rules found, or None when they found none."""
    body = [
        (title(rule.name), trial.config_name, trial.task_name, trial.trial_name or MISSING)
        for rule in gate.rules
        for trial in rule.trials
    ]
    if not body:
        return None
    hidden = len(body) - MAX_FOUND
    return Table(
        "gate-trials",
        "Trials that a rule found",
        ("Rule", "Config", "Task", "Trial"),
        tuple(body[:MAX_FOUND]),
        ("left", "left", "left", "left"),
        (f"{counted(hidden, 'further row')} in gate.csv.",) if hidden > 0 else (),
    )


def ledger_table(comparison: ComparisonDocument) -> Table:
    """Return the way from all trials of each arm to the pairs used."""
    both = ledgers(comparison)
    ways = [ways_out(arm) for arm in both]
    names = sorted({way for found in ways for way in found}, key=lambda w: (w[0] != "r", w))
    body = [("All trials", *(count(arm.trials) for arm in both))]
    body += [(f"− {way}", *(count(found.get(way, 0)) for found in ways)) for way in names]
    body.append(("= used in pairs", *(count(arm.used) for arm in both)))
    body += [
        (
            f"of these for outcomes only: {inside(title(rule))}",
            *(count(arm.outcomes_only.get(rule, 0)) for arm in both),
        )
        for rule in sorted({rule for arm in both for rule in arm.outcomes_only})
    ]
    if any(arm.mcp_called for arm in both):
        shown = (of(arm.mcp_answered or 0, arm.ran or 0) for arm in both)
        body.append(("of all that ran, an MCP server answered in", *shown))
    notes = [f"They form {counted(comparison.n_pairs, 'matched task')}; repeats are averaged."]
    if not all(is_balanced(arm) for arm in both):
        notes.append("These counts do not add up: the analysis is at fault, so do not rely on it.")
    return Table(
        "pair-ledger",
        "From all trials to the pairs used; every trial is removed, not matched or used",
        ("Trials", *arms(comparison)),
        tuple(body),
        notes=tuple(notes),
    )


def views_table(comparison: ComparisonDocument) -> Table:
    """Return the difference of every headline metric under every view; what changes is marked."""
    views = list(comparison.views)
    metrics = list(dict.fromkeys(m for v in comparison.views.values() for m in metrics_of(v)))
    changed = {(flip.metric, flip.view) for flip in comparison.flips}
    body = []
    for metric in metrics:
        cells = []
        for view in views:
            result = metrics_of(comparison.views[view]).get(metric)
            if result is None or result.mean_difference is None:
                cells.append(MISSING)
                continue
            text = metric_name(metric).difference(result.mean_difference)
            mark = " (changes)" if (metric, view) in changed else ""
            cells.append(f"{text} {interval_of(metric, result)}{mark}")
        body.append((metric_name(metric).titled, *cells))
    verdicts = [verdict_of(comparison.views[view]) for view in views]
    label = f"Conclusion on {metric_name(comparison.verdict_metric).label.lower()}"
    body.append((label, *(VERDICTS.get(v, v or MISSING) for v in verdicts)))
    return Table(
        "views",
        "Paired difference and 95 % interval under each view of what counts as retrieved",
        ("Metric", *(view.replace("_", " ") for view in views)),
        tuple(body),
        notes=(
            "; ".join(
                f"{view.replace('_', ' ')}: {VIEW_MEANINGS[view]}"
                for view in views
                if view in VIEW_MEANINGS
            )
            + ". “Changes” marks another sign or another conclusion than under the first view.",
        ),
    )


def discrimination_table(comparison: ComparisonDocument) -> Table:
    """Return whether each metric can tell the arms apart."""
    return Table(
        "discrimination",
        "Whether a metric can tell the configurations apart, over both sides of all pairs",
        ("Metric", "Finding", "Detail"),
        tuple(
            (
                metric_name(found.metric).titled,
                _STATUS.get(found.status, found.status)
                + (f" with {metric_name(found.with_).label}" if found.with_ else ""),
                found.detail or MISSING,
            )
            for found in comparison.discrimination
        ),
        ("left", "left", "left"),
    )
