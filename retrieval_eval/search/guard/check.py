"""The guard itself: search runs of two systems and thresholds in, a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from retrieval_eval.model.gold import GoldSet
from retrieval_eval.search.guard.evidence import noise_at_hand
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.pinned import Pinned, pinning_faults
from retrieval_eval.search.guard.rows import Measured, measure
from retrieval_eval.search.guard.rulings import rulings, with_movers
from retrieval_eval.search.guard.sides import Side
from retrieval_eval.search.guard.soundness import run_faults, run_notes
from retrieval_eval.search.guard.thresholds import PINNED, Threshold, Thresholds
from retrieval_eval.search.guard.verdict import Row, Verdict
from retrieval_eval.search.named_metrics import query_ids
from retrieval_eval.search.paired_change import Resampling
from retrieval_eval.values import DEFAULT_SEED, Value

Document = Mapping[str, Any]


def check(
    runs: Sequence[Document],
    baselines: Sequence[Document],
    thresholds: Thresholds,
    *,
    today: date,
    gold: GoldSet | None = None,
    pinned: Pinned | None = None,
    lists: Mapping[str, Pinned] | None = None,
    justifications: Sequence[Justification] = (),
    noise: Document | None = None,
    notes: Sequence[str] = (),
    seed: int = DEFAULT_SEED,
) -> Verdict:
    """Hold a search run against a baseline, or the mean of several against that of others.

    Parameters
    ----------
    runs, baselines
        Search runs (schema ``search_run``), at least one of each. Several on a side are runs of one
        system, and how much they vary tells, beside ``noise``, what is real.
    thresholds
        What may change by how much.
    today
        The day on which justifications must be valid.
    gold
        The gold set that both runs measured; needed for pinned lists only.
    pinned
        Look at these queries only.
    lists
        Pinned lists that are slices of thresholds, by the path written there.
    justifications
        Breaches that were accepted in writing.
    noise
        The noise of the system (schema ``search_noise``), which decides under the shipped rule.
    notes
        More to know, such as why the noise is stale.
    seed
        Seed of intervals and tests.
    """
    sides = Side(runs), Side(baselines)
    run = runs[0]
    scope = None if pinned is None else frozenset(pinned.ids)
    faults = [] if pinned is None else _pinning(pinned, gold, run)
    faults += run_faults(runs, baselines, scope)
    settings = {**run["run"]["settings"], "seed": seed}
    measured = []
    for threshold in thresholds.rows:
        ids, why = _ids_of(threshold, run, scope, lists or {}, gold)
        if faults or why:
            gap = Value.missing("no_computable_values")
            measured.append(Measured(threshold, gap, gap, faults=tuple(faults or why)))
        else:
            measured.append(measure(threshold, *sides, ids, Resampling.of(settings, seed)))
    held = noise_at_hand(noise, *sides, pinned)
    rows = rulings(measured, thresholds, justifications, today, held)
    notes = [*run_notes(runs, baselines), *notes, *_unused(rows, justifications, today)]
    if noise is not None and held.document is None:
        notes.append(f"{held.why}, so it decided nothing")
    return Verdict(
        tuple(with_movers(row, *sides) for row in rows),
        thresholds.rule,
        thresholds.alpha,
        seed,
        today,
        tuple(faults),
        tuple(notes),
        {
            "run": _side(sides[0]),
            "baseline": _side(sides[1]),
            "confidence": settings["confidence"],
            "n_pinned": scope and len(scope),
        },
    )


def no_verdict(thresholds: Thresholds, reasons: Sequence[str], today: date) -> Verdict:
    """Return the verdict on a run or a baseline that cannot even be read as one."""
    gap = Value.missing("no_computable_values")
    rows = tuple(
        Row(Measured(threshold, gap, gap, faults=tuple(reasons)), "no_verdict", tuple(reasons))
        for threshold in thresholds.rows
    )
    sides = dict.fromkeys(("run", "baseline", "confidence", "n_pinned"))
    return Verdict(
        rows, thresholds.rule, thresholds.alpha, DEFAULT_SEED, today, tuple(reasons), (), sides
    )


def _pinning(pinned: Pinned, gold: GoldSet | None, run: Document) -> list[str]:
    asked = {query["id"] for query in run["queries"]}
    if gold is not None and gold.fingerprint != run["run"]["gold_set"]["fingerprint"]:
        return ["the run measured another gold set than the one at hand"]
    return pinning_faults(pinned, gold, asked)


def _ids_of(
    threshold: Threshold,
    run: Document,
    scope: frozenset[str] | None,
    lists: Mapping[str, Pinned],
    gold: GoldSet | None,
) -> tuple[frozenset[str] | None, list[str]]:
    """Return the queries a threshold looks at, and why it cannot."""
    part = threshold.part
    if part is None:
        return scope, []
    if part.dimension == PINNED:
        pinned = lists[part.value]
        ids, why = frozenset(pinned.ids), _pinning(pinned, gold, run)
    else:
        ids = query_ids(run, part.dimension, part.value)
        why = [] if ids else [f"the run asked no query of {part}"]
    if scope is not None:
        ids &= scope
        if not ids and not why:
            why = [f"none of the pinned queries is of {part}"]
    return ids, why


def _unused(rows: Sequence[Row], given: Sequence[Justification], today: date) -> list[str]:
    used = [row.justification for row in rows]
    breached = [row.measured.threshold for row in rows if row.verdict == "breach"]
    found = []
    for one in given:
        if any(one is other for other in used):
            continue
        name = ", ".join(one.names)
        is_about_breach = any(one.covers(threshold) for threshold in breached)
        if not one.is_valid(today) and is_about_breach:
            found.append(f"the justification of {name} expired on {one.expires}: it counts no more")
        elif not is_about_breach:
            found.append(f"the justification of {name} was not needed")
    return found


def _side(side: Side) -> dict[str, Any]:
    doc = side.first
    gold = doc["run"]["gold_set"]
    return {
        "label": doc["label"],
        "generated_at": doc["generated_at"],
        "gold_fingerprint": gold["fingerprint"],
        "n_queries": len(doc["queries"]),
        "n_runs": len(side.runs),
    }
