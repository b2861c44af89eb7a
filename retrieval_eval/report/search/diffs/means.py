"""Means of a difference: every metric with its interval and noise, and parts of the queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, interval, of, rate, signed
from retrieval_eval.report.search.diffs.facts import SIDES, DiffFacts, change_of
from retrieval_eval.report.search.figures import changes
from retrieval_eval.report.search.names import DIMENSIONS
from retrieval_eval.report.search.records import Change
from retrieval_eval.report.search.sections.noise import noise_block
from retrieval_eval.report.search.sections.quality import UNADJUSTED, WIDENED
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

MAX_ROWS: Final = 60
UNPAIRED: Final = (
    "A dash under pairs: the metric is no mean over queries, so the runs are compared as they "
    "stand, without an interval."
)


def metrics(facts: DiffFacts) -> Block:
    """Return the change of every metric, with interval and noise."""
    found = [c for c in facts.changes.values() if c.delta_points is not None]
    measures = [c for c in found if c.measure not in BLOCK_OF]
    a, b = (f"run {name}" if name in SIDES else name for name in facts.names)
    figure = changes.draw(measures, facts.coverage, facts.noise, a, b)
    others = [c for c in found if c.measure in BLOCK_OF]
    flagged = facts.document["flagged"]
    level = f"{facts.document['settings']['flag_points']:g} points"
    finding = f"{of(len(flagged), len(facts.changes))} metrics moved by more than {level}"
    said = [*facts.withheld, _spread(facts, measures)]
    return section(finding, figure, *([_others(facts, others)] if others else []), sentences=said)


def _spread(facts: DiffFacts, measures: Sequence[Change]) -> str:
    outside = sum(c.excludes_zero for c in measures)
    text = f"{of(outside, len(measures))} measures have an interval that leaves out 0"
    noise = facts.noise
    if noise is None or noise.is_deterministic:
        return f"{text}."
    bands = [(abs(c.delta_points or 0.0), noise.band(c.measure)) for c in measures]
    known = [(moved, band) for moved, band in bands if band is not None]
    beyond = sum(moved > band for moved, band in known)
    return f"{text}; {of(beyond, len(known))} lie outside the noise of the system."


def _others(facts: DiffFacts, found: Sequence[Change]) -> Table:
    noise = facts.noise
    rows = [
        (
            c.measure,
            rate(c.baseline),
            rate(c.current),
            signed(c.delta_points),
            interval(c.ci_low_points, c.ci_high_points),
            *((noise.words(c.measure),) if noise else ()),
            f"{c.n_pairs:,}" if facts.document["metrics"][c.measure]["is_paired"] else MISSING,
        )
        for c in found
    ]
    heads = ("Points", f"{facts.coverage} interval", *(("Noise",) if noise else ()), "Pairs")
    return Table(
        "other-metrics",
        "Metrics of refusals and drafted answers",
        ("Metric", *facts.names, *heads),
        tuple(rows),
        notes=(UNPAIRED,) if any(row[-1] == MISSING for row in rows) else (),
    )


def noise(facts: DiffFacts) -> Block:
    """Return how much repetition alone moves every metric."""
    return noise_block(facts.noise, privacy=facts.privacy)


def slices(facts: DiffFacts) -> Block:
    """Return the change of the headline measures by part of the queries."""
    rows, known = [], []
    for dimension, levels in facts.document["slices"].items():
        for level, part in levels.items():
            cells = []
            for measure in facts.headline:
                change = change_of(measure, part["metrics"][measure])
                is_shown = change.n_pairs >= MIN_INTERPRETABLE
                cells.append(
                    f"{changes.numbers(change)} ({change.n_pairs})"
                    if is_shown
                    else f"not interpreted (n = {change.n_pairs})"
                )
                if facts.noise:
                    cells.append(facts.noise.words(measure, change.n_pairs))
                if is_shown and measure == facts.headline[0]:
                    known.append(change.delta_points or 0.0)
            name = "Pinned" if dimension == "pinned" else DIMENSIONS.get(dimension, dimension)
            rows.append((name, visible(level, 60), f"{part['n_queries']:,}", *cells))
    if not rows or not facts.headline:
        why = "The runs share no headline measure, or no query that belongs to a part."
        return section("There is nothing to slice", Empty("diff-slices", why))
    finding = (
        f"{facts.headline[0]} changed by {signed(min(known))} to {signed(max(known))} points over "
        f"{counted(len(known), 'part')} of the queries"
        if known
        else f"No part has {MIN_INTERPRETABLE} queries with a value in both runs"
    )
    heads = [head for m in facts.headline for head in (m, *(("Noise",) if facts.noise else ()))]
    more = (
        f"The first {MAX_ROWS} of {len(rows)}; all in changes.csv." if len(rows) > MAX_ROWS else ""
    )
    table = Table(
        "diff-slices",
        f"Change in points by part of the queries, with {facts.coverage} interval (pairs)",
        ("Dimension", "Level", "Queries", *heads),
        tuple(rows[:MAX_ROWS]),
        ("left", "left", *["right"] * (1 + len(heads))),
        tuple(filter(None, (UNADJUSTED, WIDENED if facts.noise else "", more))),
    )
    return section(finding, table)
