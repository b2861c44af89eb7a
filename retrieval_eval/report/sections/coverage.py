"""What entered the analysis, what did not, and why: tasks, trials, ground truth, calls."""

from __future__ import annotations

from collections import Counter

from retrieval_eval.report import findings, gate_labels
from retrieval_eval.report.columns import FRAMES
from retrieval_eval.report.comparison import HEADLINE
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.figures import coverage as waffle
from retrieval_eval.report.names import reason_sentence
from retrieval_eval.report.numbers import MISSING, count, finite, rate
from retrieval_eval.report.run_view import Record, RunView, rows
from retrieval_eval.values import counted

MAX_DEGRADED = 40
_RANK = {"scored": 0, "not": 1, "excluded": 2}


def completeness(view: RunView) -> str:
    """Return how many tasks enter the paired analysis."""
    return findings.coverage(
        len(view.headline_pairs),
        len(view.tasks),
        view.run.comparison is not None,
        view.withheld is not None,
    )


def coverage(view: RunView) -> Block:
    """Return the waffle of tasks."""
    return section(completeness(view), waffle.draw(view.statuses()))


def trial_status(view: RunView) -> Block:
    """Return reason by config for every trial found; the columns add up."""
    configs = list(view.run.configs)
    counts: dict[str, Counter[str]] = {}
    for trial in view.trials:
        counts.setdefault(_status(trial), Counter())[str(trial["config_name"])] += 1
    for row in rows(view.run, "excluded"):
        label = f"excluded: {reason_sentence(row['reason'])}"
        counts.setdefault(label, Counter())[str(row["config_name"] or "")] += 1
    if any("" in c for c in counts.values()):
        configs.append("")
    if not counts:
        return section("No trial was found", Empty("trial-statuses", "There is nothing to count."))
    total: Counter[str] = sum(counts.values(), Counter())
    ordered = sorted(
        counts.items(), key=lambda item: (_RANK[item[0].split()[0].rstrip(",:")], item[0])
    )
    body = [
        (label, *(str(c[config]) for config in configs), str(c.total())) for label, c in ordered
    ]
    body.append(("all found", *(str(total[c]) for c in configs), str(total.total())))
    scored = sum(c.total() for label, c in counts.items() if label.startswith("scored"))
    table = Table(
        "trial-statuses",
        "Trials by what became of them; every trial is in exactly one row",
        ("Fate", *(c or "config unknown" for c in configs), "All"),
        tuple(body),
    )
    return section(f"{scored} of {counted(total.total(), 'trial')} found could be scored", table)


def _status(trial: Record) -> str:
    if finite(trial[HEADLINE]) is not None:
        return f"scored, {_flaw(trial)}" if trial["status"] == "degraded" else "scored"
    reason = trial["reason"] or trial["ground_truth_reason"] or trial["status_reason"]
    return f"not scored: {reason_sentence(reason)}"


def _flaw(trial: Record) -> str:
    """Return which of a degraded trial's files are at fault, the gravest kind first."""
    broken = trial["degraded_sources"] or ["trace"]
    if "trace" in broken:
        return "from an incomplete trace"
    if "ground_truth" in broken:
        return "a file of its ground truth unreadable"
    return "a file of its outcome unreadable"


def ground_truth(view: RunView) -> Block:
    """Return the sources of ground truth and how far they can be trusted."""
    sources: Counter[tuple[str, str]] = Counter()
    for trials in view.tasks.values():
        known = next((t for t in trials if t["has_ground_truth"] is True), None)
        if known is None:
            sources["none", MISSING] += 1
            continue
        source = str(known["ground_truth_source"] or "not recorded")
        sources[source, str(known["ground_truth_confidence"] or MISSING)] += 1
    total = sources.total()
    if not total:
        return section("No task was found", Empty("ground-truth", "There is no task to judge."))
    table = Table(
        "ground-truth",
        "Tasks by the file that named their relevant files",
        ("Source", "Confidence", "Tasks", "Share"),
        tuple(
            (source, confidence, str(n), rate(n / total))
            for (source, confidence), n in sorted(sources.items(), key=lambda s: (-s[1], s[0]))
        ),
        ("left", "left", "right", "right"),
    )
    high = sum(n for (_, confidence), n in sources.items() if confidence == "high")
    return section(f"High-confidence ground truth: {high} of {counted(total, 'task')}", table)


def degraded(view: RunView) -> Block:
    """Return the reasons of degraded trials and excluded folders, verbatim."""
    body = [
        (
            str(t["trial_name"] or t["task_name"]),
            str(t["config_name"]),
            str(t["degraded_reason"] or t["status_reason"] or "no reason was recorded"),
        )
        for t in view.trials
        if t["status"] == "degraded" or t["degraded_reason"]
    ]
    body += [
        (
            str(r["path"] or MISSING),
            str(r["config_name"] or MISSING),
            ": ".join(filter(None, (reason_sentence(r["reason"]), r["detail"]))),
        )
        for r in rows(view.run, "excluded")
    ]
    if not body:
        return section(
            "Nothing was degraded or excluded",
            Empty("degraded", "Every trial had a complete trace and readable files."),
        )
    hidden = len(body) - MAX_DEGRADED
    table = Table(
        "degraded",
        "Degraded trials and excluded folders, with the reason as recorded",
        ("Trial or folder", "Config", "Reason"),
        tuple(body[:MAX_DEGRADED]),
        ("left", "left", "left"),
        (f"{counted(hidden, 'further row')} in trials.csv and excluded.csv.",)
        if hidden > 0
        else (),
    )
    return section(
        f"{counted(len(body), 'trial or folder', 'trials or folders')} with a reason", table
    )


def ledger(view: RunView) -> Block:
    """Return what became of every tool call, by config."""
    names = [c for c in FRAMES["ledger"][1] if c.unit == "calls"]
    totals: dict[str, Counter[str]] = {c: Counter() for c in view.run.configs}
    for row in rows(view.run, "ledger"):
        for column in names:
            totals.setdefault(str(row["config_name"]), Counter())[column.name] += (
                row[column.name] or 0
            )
    seen = sum(t["calls_seen"] for t in totals.values())
    if not seen:
        return section("No tool call was seen", Empty("ledger", "No trace holds a tool call."))
    table = Table(
        "ledger",
        "Tool calls by config, summed over trials",
        ("Calls", *totals),
        tuple(
            (
                f"{column.name.replace('_', ' ')}: {gate_labels.inside(column.meaning)}",
                *(count(t[column.name]) for t in totals.values()),
            )
            for column in names
        ),
        notes=(
            (
                "Opaque calls may have touched files that no rule could resolve. If their share "
                "differs between configurations, so does what is missed."
            ),
        ),
    )
    opaque = [(c, t["calls_opaque"], t["calls_seen"]) for c, t in totals.items() if t["calls_seen"]]
    return section(findings.shares("Calls that stay opaque", opaque), table)
