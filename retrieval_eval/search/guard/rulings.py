"""From measured thresholds to rows with a verdict: the rule, the bounds, the justifications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from retrieval_eval.search.guard.evidence import Evidence, Noise, evidence
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.rows import Measured
from retrieval_eval.search.guard.rule import (
    BREACH,
    HOLDS,
    UNDECIDED,
    Decided,
    decide,
    resolution,
)
from retrieval_eval.search.guard.sides import Side
from retrieval_eval.search.guard.thresholds import Thresholds
from retrieval_eval.search.guard.verdict import Mover, Row, RowVerdict
from retrieval_eval.search.noise_level import MOST_RUNS, runs_needed

Document = Mapping[str, Any]

N_MOVERS: Final = 10


def rulings(
    measured: Sequence[Measured],
    thresholds: Thresholds,
    justifications: Sequence[Justification],
    today: date,
    noise: Noise,
) -> list[Row]:
    """Return a row for every threshold; the arguments are those of `check`."""
    changes = [
        m
        for m in measured
        if not m.faults and not m.not_applied and m.threshold.max_change is not None
    ]
    found = [evidence(m, thresholds.rule, noise) for m in changes]
    decided = _decided(changes, found, thresholds)
    strictest = thresholds.alpha / max(sum(not math.isnan(one.p_value) for one in found), 1)
    place_of = {id(m): place for place, m in enumerate(changes)}
    rows = []
    for m in measured:
        place = place_of.get(id(m))
        if place is None:
            row = Row(m, *_ruling(m, HOLDS))
        else:
            p = _known(decided.p_adjusted[place])
            shown = _known(decided.detectable_points[place])
            row = Row(
                m,
                *_ruling(m, int(decided.codes[place]), found[place], p, shown, strictest),
                decided_by=found[place].decided_by,
                p_value=_known(found[place].p_value),
                p_adjusted=p,
                is_noise=None if p is None else p > thresholds.alpha,
                detectable_points=shown,
            )
        if row.verdict == "breach":
            row = _excused(row, [one for one in justifications if one.is_valid(today)])
        rows.append(row)
    return rows


def _excused(row: Row, justifications: Sequence[Justification]) -> Row:
    """Return a breach as overridden where a justification states its metric and its size."""
    threshold, points = row.measured.threshold, row.measured.breach_points
    for one in justifications:
        if one.excuses(threshold, points):
            return replace(row, verdict="overridden", justification=one)
    sizes = [one.metrics[threshold.metric] for one in justifications if one.covers(threshold)]
    if not sizes:
        return row
    told = f"the justification excuses at most {max(sizes):g} points, and these are {points:.2f}"
    return replace(row, reasons=(*row.reasons, told))


def with_movers(row: Row, run: Side, baseline: Side) -> Row:
    """Return the row with the queries that moved its metric most, the worst first."""
    m = row.measured
    if not m.contributions:
        return row
    sign = 1.0 if m.threshold.direction == "down is bad" else -1.0
    worst = sorted(m.contributions.items(), key=lambda item: (sign * item[1], item[0]))[:N_MOVERS]
    before, now = (side.per_query(m.threshold.metric) for side in (baseline, run))
    queries = {query["id"]: query for query in run.first["queries"]}
    movers = tuple(
        Mover(
            name, queries[name]["query"], queries[name]["corpus"], before[name], now[name], points
        )
        for name, points in worst
    )
    return replace(row, movers=movers)


def _decided(
    changes: Sequence[Measured], found: Sequence[Evidence], thresholds: Thresholds
) -> Decided:
    def numbers(values: Sequence[float | None]) -> list[float]:
        return [math.nan if value is None else value for value in values]

    return decide(
        numbers([m.harm_points for m in changes]),
        numbers([m.limit_points for m in changes]),
        [one.p_value for one in found],
        [one.error_points for one in found],
        [one.freedom for one in found],
        rule=thresholds.rule,
        alpha=thresholds.alpha,
    )


def _ruling(
    m: Measured,
    code: int,
    found: Evidence | None = None,
    p: float | None = None,
    detectable: float | None = None,
    strictest: float = math.nan,
) -> tuple[RowVerdict, tuple[str, ...]]:
    if m.not_applied:
        return "skipped", (m.not_applied,)
    if m.faults:
        return "no_verdict", m.faults
    bounds = _out_of_bounds(m)
    if not bounds and found is not None and found.gap is not None:
        return "no_verdict", (found.gap,)
    if code == HOLDS:
        return ("breach" if bounds else "pass"), bounds
    told = (*bounds, f"{m.harm_points:.2f} points worse, and {m.limit_points:g} are allowed")
    if bounds or code == BREACH or found is None:
        return "breach", told
    is_by_noise = found.decided_by == "noise"
    chance = "repeating the run" if is_by_noise else "chance"
    told += (f"{chance} alone would do that (adjusted p {p:.3f})",)
    if code != UNDECIDED:
        return "within_noise", told
    shown = (
        f"only {detectable:.1f} points or more" if detectable and detectable < 100 else "nothing"
    )
    if not is_by_noise:
        reason = f"too few queries to tell: {m.n_pairs} of them, moving as they do,"
        return "no_verdict", (*told, f"{reason} would show {shown}")
    here, there = found.sides
    means = "a run" if here == there == 1 else f"the mean of {here} against that of {there}"
    reason = f"too noisy to tell: as {found.n_runs} runs of one system move, {means}"
    return "no_verdict", (*told, f"{reason} would show {shown}", _remedy(m, found, strictest))


def _remedy(m: Measured, found: Evidence, alpha: float) -> str:
    """Return how many runs would show what the guard has to see."""
    points = float(resolution(m.limit_points or 0.0))
    needed = runs_needed(points, found.band_points, found.elsewhere, alpha=alpha)
    if needed is None:
        return f"even {MOST_RUNS} runs on either side would not show {points:g} points"
    return f"the means of {needed} runs on either side would show {points:g} points"


def _out_of_bounds(m: Measured) -> tuple[str, ...]:
    value, bounds = m.current.value, m.threshold
    if value is None:
        return ()
    found = []
    if bounds.floor is not None and value < bounds.floor:
        found.append(f"{value:.3f} is below the floor of {bounds.floor:g}")
    if bounds.ceiling is not None and value > bounds.ceiling:
        found.append(f"{value:.3f} is above the ceiling of {bounds.ceiling:g}")
    return tuple(found)


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
