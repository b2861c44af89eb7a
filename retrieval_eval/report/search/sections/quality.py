"""How good search is: curves over cut-offs, and parts of the queries."""

from __future__ import annotations

from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.report.canvas import name
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import rate, signed
from retrieval_eval.report.search import records
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.figures import at_k, changes, slices
from retrieval_eval.report.search.names import DIMENSIONS
from retrieval_eval.report.search.reading import members
from retrieval_eval.report.search.records import Change
from retrieval_eval.report.words import listed
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

MAX_ROWS: Final = 60
UNADJUSTED: Final = (
    "A dash: too few queries moved for an interval. Not adjusted for the number of parts: among "
    "so many, one that leaves out 0 is expected now and then."
)

WIDENED: Final = (
    "Noise of a part: that of all queries, wider by the root of how many fewer the part has, as if "
    "queries varied independently."
)


def cutoffs(facts: Facts) -> Block:
    """Return P, Recall and nDCG at each cut-off by corpus."""
    parts = sorted(
        (p for p in facts.parts if p.dimension == "corpus"), key=lambda p: (-p.n_queries, p.level)
    )
    curves = {part.level: part.means for part in parts}
    ceiling = HEADLINE[1]
    shown = [
        f"{rate(mean.value)} in {name(part.level)} (n = {mean.n})"
        for part in parts
        if (mean := part.means.get(ceiling)) is not None and mean.value is not None
    ]
    finding = f"{ceiling}: {listed(shown)}" if shown else "No corpus has a scored query"
    return section(finding, at_k.draw(curves, facts.coverage))


def sliced(facts: Facts) -> Block:
    """Return the headline measures by corpus, area, origin and label source."""
    measures = [m for m in HEADLINE if m in facts.means]
    if not measures:
        why = f"The run measured neither {' nor '.join(HEADLINE)}."
        return section("There is nothing to slice", Empty("search-slices", why))
    first = [p.means.get(measures[0]) for p in facts.parts]
    known = [m.value or 0.0 for m in first if m is not None and slices.is_shown(m)]
    small = len(first) - len(known)
    finding = (
        f"{measures[0]} from {rate(min(known))} to {rate(max(known))} over "
        f"{counted(len(known), 'part')} of the queries"
        if known
        else "No part of the queries is large enough to interpret"
    )
    if known and small:
        finding += f"; {counted(small, 'part')} too small to interpret"
    return section(finding, slices.draw(facts.parts, facts.means, measures, facts.coverage))


def sliced_changes(facts: Facts) -> Block:
    """Return the change of the headline measures by corpus and area."""
    if facts.withheld is not None:
        return section(
            "No change is given without a verdict", Empty("slice-changes", facts.withheld)
        )
    found = [] if facts.incomparable else _changes(facts)
    if not found:
        why = "There is no baseline that this run can be compared with."
        return section("Nothing to compare by part", Empty("slice-changes", why))
    noise = facts.checks.noise
    rows = [
        (
            DIMENSIONS.get(dimension, dimension),
            visible(level, 60),
            change.measure,
            str(change.n_pairs),
            changes.numbers(change) if change.n_pairs >= MIN_INTERPRETABLE else "not interpreted",
            *((noise.words(change.measure, change.n_pairs),) if noise else ()),
        )
        for dimension, level, change in found
    ]
    known = [
        change.delta_points or 0.0
        for _, _, change in found
        if change.measure == HEADLINE[0] and change.n_pairs >= MIN_INTERPRETABLE
    ]
    finding = (
        f"{HEADLINE[0]} changed by {signed(min(known))} to {signed(max(known))} points over "
        f"{counted(len(known), 'part')} of the queries"
        if known
        else f"No part has {MIN_INTERPRETABLE} queries with a value in both runs"
    )
    more = f"The first {MAX_ROWS} of {len(rows)}; all in delta.csv." if len(rows) > MAX_ROWS else ""
    table = Table(
        "slice-changes",
        f"Change against the baseline in points, with {facts.coverage} interval",
        ("Dimension", "Level", "Measure", "Pairs", "Points", *(("Noise",) if noise else ())),
        tuple(rows[:MAX_ROWS]),
        ("left", "left", "left", *["right"] * (3 if noise else 2)),
        tuple(filter(None, (UNADJUSTED, WIDENED if noise else "", more))),
    )
    return section(finding, table)


def _changes(facts: Facts) -> list[tuple[str, str, Change]]:
    block = members(members(facts.delta).get("slices"))
    return [
        (dimension, level, change)
        for dimension, levels in block.items()
        for level, part in members(levels).items()
        for measure, change in records.changes(members(part).get("metrics")).items()
        if measure in HEADLINE
    ]
