"""What goes with what: pooled, within groups, and differences with differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retrieval_eval.model.impact import Association, DifferenceAssociation
from retrieval_eval.report import findings, gate_labels
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.figures import associations
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING, interval, p_value, signed
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections.pairs import UNPAIRED, withheld
from retrieval_eval.values import counted

MAX_SAID: Final = 3
MAX_CONFIGS: Final = 4
MIXES: Final = (
    "A pooled value whose sign changes mixes groups that differ in both, and describes none of "
    "them."
)


def associated(view: RunView) -> Block:
    """Return the associations of retrieval metrics with outcomes, and which change sign."""
    found = view.run.impact.associations
    pooled = [a for a in found if a.scope == "pooled" and associations.is_shown(a)]
    strong = [a for a in pooled if associations.is_strong(a)]
    turned = [a for a in pooled if a.sign_change]
    said = [turn_sentence(a, found) for a in turned[:MAX_SAID]]
    if len(turned) > MAX_SAID:
        more = len(turned) - MAX_SAID
        verb = "changes" if more == 1 else "change"
        said.append(f"{counted(more, 'more association')} {verb} sign; see the table.")
    if turned:
        said.append(MIXES)
    said += gate_labels.counted_trials(view.run.impact.let_through)
    figure = associations.draw(found, view.run.configs)
    shown = [] if isinstance(figure, Empty) else [beside_table(found, view.run.configs)]
    return section(
        findings.associations(len(strong), len(pooled), len(turned)),
        figure,
        *shown,
        sentences=said,
    )


def turn_sentence(pooled: Association, found: Sequence[Association]) -> str:
    """Return in words how a pooled association changes sign inside groups."""
    for scope in ("config", "suite"):
        inner = [
            a
            for a in _groups(pooled, found, scope)
            if (a.spearman_r or 0) * (pooled.spearman_r or 0) < 0
        ]
        if inner:
            break
    parts = [
        f"{signed(a.spearman_r)} within {findings.name(a.group or '')} (n = {a.n})"
        for a in inner[:3]
    ]
    more = f" and {len(inner) - 3} more" if len(inner) > 3 else ""
    inside = f", but {', '.join(parts)}{more}" if parts else ", with the other sign within groups"
    return (
        f"Sign change: {associations.title(pooled)} is {signed(pooled.spearman_r)} pooled{inside}."
    )


def _groups(pooled: Association, found: Sequence[Association], scope: str) -> list[Association]:
    key = (pooled.retrieval_metric, pooled.outcome_metric)
    return [
        a
        for a in found
        if a.scope == scope
        and (a.retrieval_metric, a.outcome_metric) == key
        and associations.is_shown(a)
    ]


def beside_table(found: Sequence[Association], configs: Sequence[str]) -> Table:
    """Return the pooled association beside those within configs and within suites."""
    shown = list(configs)[:MAX_CONFIGS]
    body = []
    for pooled in (a for a in found if a.scope == "pooled" and associations.is_shown(a)):
        inner = {a.group: a for a in _groups(pooled, found, "config")}
        suites = [a.spearman_r or 0.0 for a in _groups(pooled, found, "suite")]
        spread = (
            f"{signed(min(suites))} to {signed(max(suites))} ({len(suites)})" if suites else MISSING
        )
        body.append(
            (
                associations.title(pooled),
                f"{signed(pooled.spearman_r)} {interval(pooled.ci_low, pooled.ci_high)}",
                *(signed(inner[c].spearman_r) if c in inner else MISSING for c in shown),
                spread,
                "yes" if pooled.sign_change else "no",
            )
        )
    return Table(
        "beside",
        "Rank correlation pooled, within each configuration, and its range within suites (number)",
        ("Association", "Pooled [95 %]", *shown, "Within suites", "Sign changes"),
        tuple(body),
        ("left", *["right"] * (len(shown) + 2), "left"),
        (
            (
                f"Groups under {associations.MIN_N} observations are left out. The sign changes "
                "where every group of a kind that is large enough has the other sign."
            ),
        ),
    )


def with_differences(view: RunView) -> Block:
    """Return whether a larger difference in retrieval goes with a larger one in outcomes."""
    if (block := withheld(view, "difference-associations")) is not None:
        return block
    comparison = view.run.comparison
    found = comparison.difference_associations if comparison else ()
    if not found:
        nothing = "No difference can be set against another"
        return section(nothing, Empty("difference-associations", UNPAIRED))
    shown = [d for d in found if d.spearman_r is not None and d.n >= associations.MIN_N]
    if not shown:
        why = sorted({_few(d) for d in found})
        return section(
            "Too few matched tasks to set differences against each other",
            Empty("difference-associations", f"No association is given: {'; '.join(why)}."),
        )
    clear = sum(d.q_value is not None and d.q_value < associations.THRESHOLD for d in shown)
    verb = "stands" if clear == 1 else "stand"
    noun = counted(len(shown), "association of differences", "associations of differences")
    return section(
        f"{clear} of {noun} {verb} out after adjustment (q < 0.05)", difference_table(found)
    )


def _few(d: DifferenceAssociation) -> str:
    if d.spearman_r is None:
        return reason_sentence(d.reason)
    return "" if d.n >= associations.MIN_N else f"n below {associations.MIN_N}: not interpreted"


def difference_table(found: Sequence[DifferenceAssociation]) -> Table:
    """Return the associations of differences, also those that are not computable."""
    return Table(
        "difference-associations",
        "Rank correlation of paired differences over matched tasks",
        ("Difference in", "With difference in", "n", "ρ", "95 % interval", "p", "q", "Note"),
        tuple(map(_difference_row, found)),
        ("left", "left", "right", "right", "right", "right", "right", "left"),
    )


def _difference_row(d: DifferenceAssociation) -> tuple[str, ...]:
    is_shown = d.spearman_r is not None and d.n >= associations.MIN_N
    return (
        metric_name(d.retrieval_metric).label,
        metric_name(d.outcome_metric).label.lower(),
        str(d.n),
        signed(d.spearman_r) if is_shown else MISSING,
        interval(d.ci_low, d.ci_high) if is_shown else MISSING,
        p_value(d.p_value) if is_shown else MISSING,
        p_value(d.q_value) if is_shown else MISSING,
        _few(d),
    )
