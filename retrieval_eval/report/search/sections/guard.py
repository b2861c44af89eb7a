"""The guard: a verdict for every threshold, and the composite with its worst component."""

from __future__ import annotations

from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRow, GuardRuling, Mover
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, count, finite, of, rate, signed
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.checks import NO_BASELINE
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.noise import STALE, STILL, Noise
from retrieval_eval.report.search.reading import members, records
from retrieval_eval.search.guard.rendering import HEAD, WORDS, cells, method, remarks
from retrieval_eval.values import counted

NOT_ASKED: Final = "not asked"
MAX_MOVERS: Final = 5
_OVERALL: Final = {"pass": "PASS", "breach": "BREACH", "no_verdict": "NO VERDICT"}


def verdict_words(facts: Facts) -> str:
    """Return the verdict of the guard with the count of thresholds by theirs, for a badge."""
    verdict = facts.checks.verdict
    if verdict is None:
        return f"{NOT_ASKED}: {NO_BASELINE}"
    return verdict_text(verdict)


def verdict_text(verdict: GuardRuling) -> str:
    """Return a verdict with the count of thresholds by theirs."""
    return f"{_OVERALL[verdict.verdict]} ({_counts(verdict)})"


def _counts(verdict: GuardRuling) -> str:
    counts = {code: sum(row.verdict == code for row in verdict.rows) for code in WORDS}
    summary = [f"{n} {WORDS[code].lower()}" for code, n in counts.items() if n]
    return f"{', '.join(summary)} of {counted(len(verdict.rows), 'threshold')}"


def guard(facts: Facts) -> Block:
    """Return the verdict of every threshold, with what moved a metric that is out of bounds."""
    verdict = facts.checks.verdict
    if verdict is None:
        why = f"The guard was not asked, for {NO_BASELINE}."
        return section("There is no verdict of the guard", Empty("guard", why))
    noise = facts.checks.noise
    if noise is not None and noise.is_deterministic:
        noise = None  # a column of zeros; the notes say it once
    head = [*HEAD[:-1], *(["noise"] if noise else []), HEAD[-1]]
    table = Table(
        "guard",
        f"Thresholds against the baseline ({facts.baseline_name}); changes in points",
        tuple(name.capitalize() for name in head),
        tuple(_row(row, noise) for row in verdict.rows),
        ("left", *["right"] * 4, *["left"] * (len(head) - 5)),
        _notes(facts, verdict),
    )
    moved = _movers(facts, verdict)
    finding = f"{_OVERALL[verdict.verdict]}: {_counts(verdict)}"
    return section(finding, table, *([moved] if moved else []))


def _notes(facts: Facts, verdict: GuardRuling) -> tuple[str, ...]:
    said = remarks(verdict)
    if facts.privacy and verdict.reasons:
        # The reasons of a run without a verdict repeat what its retriever said.
        said = [f"No verdict: {facts.withheld or 'the runs cannot be compared.'}"]
    noise = facts.checks.noise
    if noise is not None and noise.is_deterministic:
        said.append(STILL)
    stale = [STALE] if noise is not None and noise.stale else []
    return tuple(visible(summary, 600) for summary in (*said, *stale, method(verdict)))


def _row(row: GuardRow, noise: Noise | None) -> tuple[str, ...]:
    *shown, verdict = (visible(cell, 90) for cell in cells(row))
    band = noise and noise.words(row.metric, row.n_queries)
    return (*shown, *([band] if band else []), verdict)


def _movers(facts: Facts, verdict: GuardRuling) -> Table | None:
    rows = [
        (
            facts.title(facts.by_id[mover.id], tables.TEXTS),
            visible(row.name, 60),
            rate(mover.before),
            rate(mover.now),
            signed(mover.points),
        )
        for row in verdict.rows
        if row.verdict not in ("pass", "skipped")
        for mover in _harmful(row)
        if mover.id in facts.by_id
    ]
    if not rows:
        return None
    return Table(
        "guard-movers",
        f"The first {MAX_MOVERS} queries that moved each of these the wrong way",
        ("Query", "Metric", "Baseline", "Now", "Points"),
        tuple(rows),
        ("left", "left", "right", "right", "right"),
    )


def _harmful(row: GuardRow) -> list[Mover]:
    sign = 1 if row.direction == "down is bad" else -1
    return [mover for mover in row.movers if sign * mover.points < 0][:MAX_MOVERS]


def composite(facts: Facts) -> Block:
    """Return the composite score: the smallest margin of any component, and which one it is."""
    block = members(facts.run.document.get("composite"))
    components = records(block.get("components"))
    if not components:
        why = "The run holds no composite: it was measured before there was one."
        if block:
            why = "No threshold has a floor or a ceiling, so there is no margin to take."
        return section("There is no composite score", Empty("composite", why))
    value = members(block.get("value"))
    table = Table(
        "composite",
        "Components against their bounds; the composite is the smallest margin, never a mean",
        ("Component", "Value", "n", "Bound", "Margin", "Holds"),
        tuple(
            (
                visible(row.get("name"), 60),
                rate(row.get("value")),
                count(row.get("n")),
                _bound(row.get("floor"), row.get("ceiling")),
                signed(row.get("margin")),
                _holds(row.get("passes")),
            )
            for row in components
        ),
        ("left", "right", "right", "left", "right", "left"),
        tuple(visible(reason, 300) + "." for reason in block.get("reasons") or ()),
    )
    held = sum(row.get("passes") is True for row in components)
    if finite(value.get("value")) is None:
        finding = "The composite is not computable: a component is missing"
    else:
        ends = tables.span(value.get("ci_low"), value.get("ci_high"), signs=True)
        finding = (
            f"Composite {signed(value.get('value'))} {ends}: the worst is "
            f"{visible(block.get('worst'), 60)}; {of(held, len(components))} bounds hold"
        )
    return section(finding, table)


def _holds(passes: object) -> str:
    if not isinstance(passes, bool):
        return MISSING
    return "yes" if passes else "NO"


def _bound(floor: object, ceiling: object) -> str:
    if finite(floor) is not None:
        return f"≥ {rate(floor)}"
    return f"≤ {rate(ceiling)}"
