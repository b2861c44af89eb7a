"""Tables of measures of a search run, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.numbers import MISSING, finite, interval, p_value, rate, signed
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.names import SHOWN, reason
from retrieval_eval.report.search.noise import MEANING, STALE, STILL, Noise
from retrieval_eval.report.search.records import Mean

MAX_ROWS: Final = 25
"""Queries listed in one table of the page; the CSV beside it has all of them."""

TEXTS: Final = 60


def span(low: object, high: object, *, signs: bool = False) -> str:
    """Return ``[low, high]`` of rates, or the dash.

    Examples
    --------
    >>> span(0.1, 0.25), span(None, 1)
    ('[0.10, 0.25]', '—')
    """
    if finite(low) is None or finite(high) is None:
        return MISSING
    if signs:
        return interval(low, high)
    return f"[{rate(low)}, {rate(high)}]"


def headline(facts: Facts) -> Table:
    """Return the table of the first screen; with the change where it may be read."""
    has_change = bool(facts.changes) and facts.withheld is None
    interval_name = f"{facts.coverage} interval"
    header = ["Measure", "Value", interval_name, "n"]
    noise = facts.checks.noise if has_change else None
    header += ["Baseline", "Change (points)", "Its interval"] if has_change else []
    header += ["Noise"] if noise else []
    return Table(
        "headline",
        f"Means over queries, and their change against {facts.baseline_name}"
        if has_change
        else "Means over queries",
        tuple(header),
        tuple(
            _headline_row(facts, measure, has_change) + ((noise.words(measure),) if noise else ())
            for measure in SHOWN
        ),
        notes=tuple(_gaps([facts.means[m] for m in SHOWN if m in facts.means]))
        + noise_notes(noise),
    )


def noise_notes(noise: Noise | None) -> tuple[str, ...]:
    """Return the notes under a table with a column of noise; none where it has none."""
    if noise is None:
        return ()
    stale = f" {STALE}" if noise.stale else ""
    if noise.is_deterministic:
        return (f"{STILL}{stale}",)
    return (f"{MEANING}{stale}",)


def _headline_row(facts: Facts, measure: str, has_change: bool) -> tuple[str, ...]:
    mean = facts.means.get(measure)
    row = [measure]
    row += (
        [rate(mean.value), span(mean.ci_low, mean.ci_high), str(mean.n)]
        if mean
        else [MISSING, MISSING, "0"]
    )
    change = facts.changes.get(measure)
    if has_change and change is not None:
        row += [rate(change.baseline), signed(change.delta_points)]
        row.append(interval(change.ci_low_points, change.ci_high_points))
    elif has_change:
        row += [MISSING] * 3
    return tuple(row)


def _gaps(means: Sequence[Mean]) -> list[str]:
    lost = [mean for mean in means if mean.value is None]
    if not lost:
        return []
    return [f"{MISSING} {', '.join(m.measure for m in lost)}: {reason(lost[0].reason)}."]


def every_measure(facts: Facts) -> Table:
    """Return every measure with all that qualifies it: interval, n, ties, unjudged documents."""
    shown = [facts.means[m] for m in facts.run.measures if m in facts.means]
    return Table(
        "measures",
        "Every measure: mean over queries with a value, and what could move it",
        (
            *("Measure", "Mean", f"{facts.coverage} interval", "n", "Without a value"),
            *("Ties", "Unjudged: up to"),
        ),
        tuple(
            (
                m.measure,
                rate(m.value),
                span(m.ci_low, m.ci_high),
                str(m.n),
                str(m.n_not_computable),
                _band(m),
                rate(m.unjudged_high),
            )
            for m in shown
        ),
        notes=(
            (
                "Ties: range of the mean over all orders of documents with equal scores; a dash "
                "where they change nothing. Unjudged: the largest mean there could be if retrieved "
                "unjudged documents were relevant; the smallest is the mean itself."
            ),
            *_gaps(shown),
        ),
    )


def _band(mean: Mean) -> str:
    low, high = mean.tie_low, mean.tie_high
    return MISSING if low is None or high is None or high - low < 5e-7 else _fine(low, high)


def _fine(low: float, high: float) -> str:
    """Return a range in as many decimals as tell its ends apart."""
    digits = next((d for d in range(2, 6) if rate(low, d) != rate(high, d)), 6)
    return f"[{rate(low, digits)}, {rate(high, digits)}]"


def capped(n: int, file: str) -> tuple[str, ...]:
    """Return the note under a table that lists the first of ``n`` queries; none if it has all.

    Examples
    --------
    >>> capped(30, "queries.csv")
    ('The first 25 of 30; all in queries.csv.',)
    """
    return (f"The first {MAX_ROWS} of {n:,}; all in {file}.",) if n > MAX_ROWS else ()


def p_of(value: float | None) -> str:
    """Return a p-value in a sentence, ``not computable`` when there is none."""
    return "not computable" if value is None else p_value(value)
