"""Rows of the frames about comparisons, read from the impact analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from retrieval_eval.report.columns import FRAMES
from retrieval_eval.report.frames import Row, coerce, members, read_row, records

Document = Mapping[str, Any]

_COLUMNS: Final = {name: columns for name, (_, columns) in FRAMES.items()}
_ARMS: Final = ("baseline_config", "comparison_config")


def metric_rows(comparison: Document, arms: Row) -> Iterator[Row]:
    """Yield one row a metric."""
    for metric, block in members(comparison.get("metrics")).items():
        base = arms | {
            "metric": metric,
            "verdict": coerce(comparison.get("verdict"), "text"),
            "is_verdict_metric": comparison.get("verdict_metric") == metric,
        }
        yield read_row(block, _COLUMNS["statistics"], base)


def view_rows(comparison: Document, arms: Row) -> Iterator[Row]:
    """Yield one row a view and metric."""
    flips = {(f.get("metric"), f.get("view")): f for f in records(comparison.get("flips"))}
    for view, blocks in members(comparison.get("views")).items():
        for metric, block in members(blocks).items():
            if isinstance(block, Mapping):
                flip = flips.get((metric, view), {})
                base = arms | {
                    "view": view,
                    "metric": metric,
                    "verdict": coerce(members(blocks).get("verdict"), "text"),
                    "flip": coerce(flip.get("kind"), "text"),
                }
                yield read_row(block, _COLUMNS["views"], base)


def gate_rows(comparison: Document, arms: Row) -> Iterator[Row]:
    """Yield one row a rule."""
    for rule in records(members(comparison.get("gate")).get("rules")):
        names = ("config_name", "task_name", "trial_name")
        trials = [
            " / ".join(coerce(trial.get(n), "text") or "?" for n in names)
            for trial in records(rule.get("trials"))
        ]
        base = arms | {"rule": coerce(rule.get("name"), "text"), "trials": trials}
        yield read_row(rule, _COLUMNS["gate"], base)


def ledger_rows(comparison: Document, arms: Row) -> Iterator[Row]:
    """Yield one row an arm and fate; removed, unmatched and used add up to all."""
    for side in ("baseline", "comparison"):
        ledger = members(members(comparison.get("ledger")).get(side))
        if not ledger:
            continue
        arm = arms | {"arm": arms[f"{side}_config"]}
        yield arm | {"fate": "all", "n": coerce(ledger.get("trials"), "integer")}
        for fate in ("removed", "unmatched"):
            for reason, n in members(ledger.get(fate)).items():
                yield arm | {"fate": fate, "reason": reason, "n": coerce(n, "integer")}
        yield arm | {"fate": "used", "n": coerce(ledger.get("used"), "integer")}
        for reason, n in members(ledger.get("outcomes_only")).items():
            part = {"fate": "outcomes_only", "reason": reason, "n": coerce(n, "integer")}
            yield arm | part


def slice_rows(comparison: Document, arms: Row) -> Iterator[Row]:
    """Yield one row a dimension and level."""
    for cell in records(comparison.get("slices")):
        yield read_row(cell, _COLUMNS["slices"], arms)


OF_COMPARISON: Final[dict[str, Callable[[Document, Row], Iterator[Row]]]] = {
    "statistics": metric_rows,
    "gate": gate_rows,
    "pair_ledger": ledger_rows,
    "views": view_rows,
    "slices": slice_rows,
}
"""Frame to the rows of one comparison."""


def comparison_rows(impact: Document, frame: str) -> list[Row]:
    """Return the rows of a frame of :data:`OF_COMPARISON` over every comparison."""
    found = []
    for comparison in records(impact.get("comparisons")):
        arms = {name: coerce(comparison.get(name), "text") for name in _ARMS}
        found += list(OF_COMPARISON[frame](comparison, arms))
    return found
