"""What the report of a difference shows and says: first screen, small tables, sentences.

Functions that end in no other word return the sentences of one exhibit, as in
:mod:`retrieval_eval.report.search.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.search_diff import MetricDifference, MovedDocument, MovedDocuments
from retrieval_eval.report.exhibits import Block, Link, Links, Table
from retrieval_eval.report.numbers import interval, of, rate, signed
from retrieval_eval.report.search import summaries
from retrieval_eval.report.search.names import SHOWN, cutoff
from retrieval_eval.report.search.noise import noise_notes
from retrieval_eval.report.search.opening import (
    inside,
    is_breach,
    lead,
    lead_tone,
    no_verdict,
    ruling_words,
)
from retrieval_eval.report.search.places import Places
from retrieval_eval.report.search.run import excludes_zero
from retrieval_eval.report.search.words import (
    UNADJUSTED,
    WIDENED,
    Says,
    detectable,
    noise,
    noise_caption,
    range_of_parts,
    rest,
    says,
)
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.words import MAX_WORDS
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.report.search.diff import SearchDiff

SIDES: Final = ("A", "B")
OTHERS: Final = frozenset(BLOCK_OF)
"""Metrics that are none of rankings: of refusals and drafted answers."""
NOT_SAME: Final = "Not the same measurement"
MAX_DOCS: Final = 4


# --- the first screen ---


def header(diff: SearchDiff) -> Block:
    """Return the strip with the guard, both runs, set-up, what was accepted, queries and noise."""
    document = diff.document
    badges = [("Guard", _guard(diff))]
    for side, found in zip(SIDES, (document.a, document.b), strict=True):
        stated = f"{visible(found.label or 'no label', 48)}, {visible(found.generated_at, 24)}"
        badges.append((f"Run {side}", stated))
    only = f"{document.n_queries_only_a} in A only, {document.n_queries_only_b} in B only"
    failed = f"{document.a.n_failed} failed in A, {document.b.n_failed} in B"
    codes = ", ".join(visible(one.code, 30) for one in document.accepted)
    badges += [
        ("Filter", diff.filtered),
        ("Set-up", setup_finding(diff)),
        ("Queries", f"{counted(document.n_queries_in_both, 'query')} in both, {only}; {failed}"),
        ("Moved", queries_moved(diff)),
        (
            "Accepted differences",
            f"{NOT_SAME.upper()}: {codes}" if codes else "none: they measured the same",
        ),
        ("Noise level", _noise(diff)),
    ]
    total = max(run.run.gold_set.n_queries for run in diff.runs)
    said = notice(diff.n_simulated, total, "query", "search")
    return Block("header", said, badges=tuple((k, v) for k, v in badges if v))


def _guard(diff: SearchDiff) -> str:
    if diff.ruling is None:
        return f"not asked: {visible(diff.guard, 160)}"
    summary = f"{ruling_words(diff.ruling)}, B against A"
    return f"{summary}; no justification was read" if is_breach(diff.ruling) else summary


def _noise(diff: SearchDiff) -> str:
    if diff.level is None:
        return "not measured"
    state = "deterministic" if diff.level.is_deterministic else "measured"
    return f"{state}, but STALE" if diff.level.stale else state


def answer(diff: SearchDiff) -> Block:
    """Return the answer box: at most 90 words and one table."""
    change, tone = _title(diff)
    title = f"Guard not asked: {inside(change)}"
    reasons, accepted = withheld(diff), diff.document.accepted
    if reasons or accepted:
        title = change
    elif diff.ruling is not None:
        title, tone = ": ".join(lead(diff.ruling)), lead_tone(diff.ruling, tone)
    banner = "; ".join(visible(one.difference, 160) for one in accepted)
    said = [f"Accepted by name: {banner}." if banner else "", *reasons[:1]]
    if diff.ruling is not None and title != change:
        said.append(f"{change}.")
    said += [_how_much(diff), f"{queries_moved(diff)}.", _most_lost(diff)]
    kept: list[str] = []
    for sentence in filter(None, said):
        if sum(len(s.split()) for s in (*kept, sentence)) <= MAX_WORDS:
            kept.append(sentence)
    return Block("answer", title, tuple(kept), (_headline(diff),), tone=tone)


def withheld(diff: SearchDiff) -> list[str]:
    """Return why a run has no verdict, in sentences without the words of its retriever."""
    found = [
        no_verdict(run.status, f" of run {side}")
        for run, side in zip(diff.runs, SIDES, strict=True)
    ]
    known = [sentence for sentence in found if sentence is not None]
    # What a run cannot say of itself, such as that it holds a query twice.
    return known or [f"{visible(text, 200)}." for text in diff.document.no_verdict]


def queries_moved(diff: SearchDiff) -> str:
    """Return how many queries moved, and how many have another first document."""
    n, top = counted(len(diff.moved), "query"), len(diff.document.top1_changed)
    return f"{n} moved, {top:,} have another first document"


def _title(diff: SearchDiff) -> tuple[str, str]:
    document = diff.document
    moved = [m for m in diff.headline if m in document.flagged]
    a, b = diff.names
    level = f"{document.settings.flag_points:g} points"
    text = f"No headline metric moved by more than {level}"
    if moved:
        shifts = " and ".join(f"{m} {signed(document.metrics[m].delta_points)}" for m in moved)
        text = f"{shifts} points from {a} to {b}"
    if unclear := [m for m in moved if m not in diff.clear]:
        which = f"{' and '.join(unclear)} " if len(unclear) < len(moved) else ""
        # The guard decides by its own evidence; "not clear" would deny what it found.
        test = "not beyond chance by the test over these queries alone"
        text += f", {which}{test if is_breach(diff.ruling) else 'not clear of chance'}"
    worse = any((document.metrics[m].delta_points or 0.0) < 0 for m in diff.clear)
    tone = "worse" if worse else "better" if diff.clear else "none"
    if withheld(diff):
        text, tone = f"No verdict: {text}", "none"
    if document.accepted:
        text, tone = f"{NOT_SAME}: {text}", "worse"
    return text, tone


def numbers(change: MetricDifference, unit: str = "") -> str:
    """Return a difference in points with its interval."""
    ends = interval(change.ci_low_points, change.ci_high_points)
    return f"{signed(change.delta_points)}{unit} {ends}"


def _how_much(diff: SearchDiff) -> str:
    found = {m: diff.document.metrics[m] for m in diff.headline}
    parts = [f"{m} {numbers(change, ' points')}" for m, change in found.items()]
    n = max((change.n_pairs for change in found.values()), default=0)
    return f"Over {counted(n, 'query')}: {', '.join(parts)}." if parts else ""


def _most_lost(diff: SearchDiff) -> str:
    losses = [
        (points, query, metric)
        for query, given in diff.moved.items()
        for metric, points in given.items()
        if metric in diff.headline and points < 0
    ]
    if not losses:
        return ""
    points, query, metric = min(losses)
    drop = signed(points * diff.document.metrics[metric].n_pairs)
    return f"Most lost: “{diff.title(query, 48)}” ({metric} {drop} points)."


def _headline(diff: SearchDiff) -> Table:
    level, found = diff.level, diff.document.metrics
    noise = ("Noise level",) if level else ()
    rows = [
        (
            m,
            rate(c.a),
            rate(c.b),
            signed(c.delta_points),
            interval(c.ci_low_points, c.ci_high_points),
            *((level.words(m),) if level else ()),
            f"{c.n_up:,}",
            f"{c.n_down:,}",
            f"{c.n_pairs:,}",
            "yes" if c.is_flagged else "",
        )
        for m, c in ((m, found[m]) for m in SHOWN if m in found)
    ]
    head = ("Metric", *diff.names, "Difference (points)", f"{diff.coverage} interval")
    flag = f"More than {diff.document.settings.flag_points:g} points"
    return Table(
        "diff-headline",
        "Means over the queries of both runs, and their difference",
        (*head, *noise, "Up", "Down", "Pairs", flag),
        tuple(rows),
        notes=noise_notes(level),
    )


# --- single queries ---


def move_table(diff: SearchDiff, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the queries that moved, with what each adds to the difference of some metrics."""
    top1 = {one.id for one in diff.document.top1_changed}
    return summaries.named(diff, summaries.moves_of(diff.moved, metrics, top1))


def moves(diff: SearchDiff, frame: pd.DataFrame) -> Says:
    """Return the words about the queries that moved."""
    n = diff.document.n_queries_in_both
    return says(
        f"{of(len(diff.moved), n)} queries moved" if diff.moved else "No query moved",
        "Queries by what they add to the difference, in points; the largest first",
        "A query moved when at least one metric of its ranking differs. A query adds (B − A) / n, "
        "in points, and what all add is the difference. 0 is unchanged, 0.00 a change below 0.005 "
        "points.",
        rest(frame, "contributions.csv"),
        empty="No query moved any of these metrics.",
    )


def pairs(diff: SearchDiff) -> pd.DataFrame:
    """Return every query and metric with its value in both runs, as ``plot.paired`` takes them."""
    a, b = ({query.id: query.metrics for query in run.queries} for run in diff.runs)
    titles = {name: diff.title(name, 60) for name in b}
    return summaries.paired_values(a, b, diff.document.metrics, titles)


def paired(diff: SearchDiff, metric: str) -> Says:
    """Return the words about one metric, query by query."""
    change = diff.document.metrics.get(metric)
    if change is None:
        why = f"The runs do not share {metric}."
        return says(f"{metric} is not compared", empty=why)
    up, down = change.n_up, change.n_down
    return says(
        f"{metric}: {up} higher, {down} lower, {change.n_pairs - up - down} unchanged of "
        f"{change.n_pairs}",
        f"{metric} of every query in both runs, sorted by difference",
        empty=f"No query has {metric} in both runs.",
    )


def documents_table(diff: SearchDiff, metric: str) -> pd.DataFrame:
    """Return the judged documents that came into or left the first k, query by query."""
    rows = []
    for query in diff.document.queries:
        side = query.documents.get(str(cutoff(metric)[1]))
        if side is None or not (metric in query.contributions or _is_judged(side)):
            continue
        value = query.metrics.get(metric)
        values = f"{rate(value.a)} → {rate(value.b)}" if value else "unchanged"
        points = query.contributions.get(metric, 0.0)
        came, left = (_graded(moved, diff.places) for moved in (side.gained, side.lost))
        rows.append((query.id, came, left, values, points))
    rows.sort(key=lambda row: (-abs(row[4]), row[0]))
    head = ("id", "Came (grade, rank before)", "Left (grade, rank now)", metric, "Points")
    return summaries.named(diff, summaries.table(head, rows))


def documents(diff: SearchDiff, metric: str, frame: pd.DataFrame) -> Says:
    """Return the words about the documents that came and went within a cut-off."""
    k = cutoff(metric)[1]
    own = [q.documents[str(k)] for q in diff.document.queries if str(k) in q.documents]
    came, went = (
        sum((doc.grade or 0) >= 1 for side in own for doc in getattr(side, what))
        for what in ("gained", "lost")
    )
    why = "Every query that was answered in both runs has the same documents at this cut-off."
    if not own:
        return says(f"No document came into or left the first {k}", empty=why)
    others = len(own) - len(frame)
    return says(
        f"{came} relevant documents entered the first {k}, {went} left",
        f"Documents that came into or left the first {k}, by what the query adds to {metric}",
        f"Not listed: {counted(others, 'query')} in which only unjudged documents changed places.",
        rest(frame, "documents.csv"),
        empty="Only unjudged documents changed places.",
    )


def _is_judged(side: MovedDocuments) -> bool:
    return any(doc.grade is not None for doc in (*side.gained, *side.lost))


def _graded(found: Sequence[MovedDocument], places: Places) -> Links | None:
    """Return the judged documents with grade and the rank they had or have; others by count."""
    judged = sorted((d for d in found if d.grade is not None), key=lambda d: -(d.grade or 0))
    parts: list[str] = [
        Links(Link(visible(d.doc, 32), places.of_document(d.doc)), f" ({d.grade}, {_outside(d)})")
        for d in judged[:MAX_DOCS]
    ]
    parts += [f"{len(judged) - MAX_DOCS} more judged"] if len(judged) > MAX_DOCS else []
    n_others = len(found) - len(judged)
    return Links.joined(", ", [*parts, *([f"{n_others} unjudged"] if n_others else [])]) or None


def _outside(doc: MovedDocument) -> str:
    """Return the worse of the two ranks: the one outside of the cut-off."""
    if doc.rank_a is None or doc.rank_b is None:
        return "not retrieved"
    return f"rank {max(doc.rank_a, doc.rank_b)}"


def first_table(diff: SearchDiff) -> pd.DataFrame:
    """Return the queries with another first document, largest effect on RR first."""
    a, b = ({query.id: query for query in run.queries} for run in diff.runs)
    rows = [
        (
            one.id,
            summaries.first(a[one.id], diff.places),
            summaries.first(b[one.id], diff.places),
            diff.moved.get(one.id, {}).get("RR", 0.0),
        )
        for one in diff.document.top1_changed
    ]
    rows.sort(key=lambda row: (-abs(row[3]), row[0]))
    return summaries.named(diff, summaries.table(("id", "A", "B", "RR"), rows))


def first_documents(diff: SearchDiff, frame: pd.DataFrame) -> Says:
    """Return the words about the queries with another first document."""
    grades = [
        ((one.b and one.b.grade) or 0) - ((one.a and one.a.grade) or 0)
        for one in diff.document.top1_changed
    ]
    better, worse = sum(g > 0 for g in grades), sum(g < 0 for g in grades)
    same = counted(len(grades) - better - worse, "query")
    return says(
        f"{of(len(frame), diff.document.n_queries_in_both)} queries have another first document",
        "First documents that changed, with their grade, and what the query adds to RR in points",
        f"The grade is higher for {better:,}, lower for {worse:,} and the same for {same}; "
        "unjudged counts as 0.",
        rest(frame, "first_documents.csv"),
        empty="Every query that was answered in both runs has the same first document.",
    )


# --- means ---


def metrics(diff: SearchDiff) -> Says:
    """Return the words about the difference of every metric of the rankings."""
    found = {m: c for m, c in diff.document.metrics.items() if c.delta_points is not None}
    flagged = of(len(diff.document.flagged), len(diff.document.metrics))
    level = f"{diff.document.settings.flag_points:g} points"
    ranked = {m: c for m, c in found.items() if m not in BLOCK_OF}
    outside = f"{of(sum(map(excludes_zero, ranked.values())), len(ranked))} metrics of rankings"
    stated = f"{outside} have an interval that leaves out 0"
    level_ = diff.level
    if level_ is not None and not level_.is_deterministic:
        bands = [(abs(c.delta_points or 0.0), level_.band(m)) for m, c in ranked.items()]
        known = [(moved, band) for moved, band in bands if band is not None]
        beyond = sum(moved > band for moved, band in known)
        stated += f"; {of(beyond, len(known))} lie outside the noise level of the system"
    a, b = diff.names
    return says(
        f"{flagged} metrics moved by more than {level}; {stated}",
        f"Mean over the queries that have the metric in both runs, {b} minus {a}, in points, with "
        f"a {diff.coverage} paired bootstrap interval. The metrics overlap and the intervals are "
        f"not adjusted for their number.{noise_caption(level_)}",
        empty="No query has a value in both runs, so there is no difference.",
    )


def every_metric(diff: SearchDiff) -> Says:
    """Return the words about the table of every metric."""
    return says(
        metrics(diff)["finding"],
        "Difference of every metric, those of refusals and drafted answers last",
        *withheld(diff),
        "Without pairs: the metric is no mean over queries, so the runs are compared as they "
        "stand, without an interval.",
        empty="The runs share no metric.",
    )


def heads(diff: SearchDiff) -> dict[str, str]:
    """Return how the columns of ``diff.changes`` are headed that declare no words of their own."""
    a, b = diff.names
    only = {"n_only_a": "A only", "n_only_b": "B only", "is_flagged": "Flagged"}
    return {"a": a, "b": b, **only}


def slices(diff: SearchDiff, frame: pd.DataFrame) -> Says:
    """Return the words about the difference by part of the queries."""
    if not len(frame):
        why = "The runs share no headline metric, or no query that belongs to a part."
        return says("There is nothing to slice", empty=why)
    return says(
        range_of_parts(frame[frame["metric"] == HEADLINE[0]]),
        f"Difference in points by part of the queries, with {diff.coverage} interval",
        UNADJUSTED,
        WIDENED if diff.level else "",
        rest(frame, "changes.csv", 60),
    )


# --- set-up and methods ---


def setup_finding(diff: SearchDiff) -> str:
    """Return how many settings differ."""
    n = len(diff.document.changes)
    if not n:
        return "The set-up of both runs is recorded as the same"
    return f"The set-up differs in {counted(n, 'setting')}"


def setup_table(diff: SearchDiff) -> pd.DataFrame:
    """Return both runs side by side."""
    rows = [
        (
            side,
            found.label or "no label",
            found.generated_at,
            "not shown" if diff.privacy else found.retriever,
            f"{found.gold_set.name} {found.gold_set.fingerprint[:12]}",
            found.n_queries,
            found.n_failed,
        )
        for side, found in zip(SIDES, (diff.document.a, diff.document.b), strict=True)
    ]
    head = ("Run", "Label", "Measured", "Retriever", "Gold set", "Queries", "Failed")
    return summaries.table(head, rows)


def setup(diff: SearchDiff) -> Says:
    """Return the words about the set-up of both runs."""
    changes = diff.document.changes
    shown = "; ".join(visible(change, 160) for change in changes[:12])
    return says(
        setup_finding(diff),
        "The two runs",
        *(f"Accepted although it differs: {one.difference}." for one in diff.document.accepted),
        f"Changed: {shown}." if changes and not diff.privacy else "",
        *withheld(diff),
        *diff.document.notices,
        *diff.notices,
    )


def definitions(diff: SearchDiff) -> Says:
    """Return how each number is defined."""
    settings = diff.document.settings
    return says(
        "How each number is defined",
        "Definitions",
        "Queries are paired by id, and a metric is compared over those that have it in both runs. "
        "A query adds (B − A) / pairs, in points (hundredths), and what all add is the difference. "
        f"Intervals: {diff.coverage} paired bootstrap over queries ({settings.n_resamples:,} "
        f"resamples, seed {settings.seed}), from {MIN_PAIRS} pairs; p: sign flips, from "
        f"{MIN_PAIRS_FOR_P}. Swapping A and B negates every number exactly.",
    )


def provenance_table(diff: SearchDiff) -> pd.DataFrame:
    """Return fingerprints, versions and settings."""
    rows = []
    for side, run in zip(SIDES, diff.runs, strict=True):
        gold = run.run.gold_set
        rows.append((f"{side}: gold set", f"{gold.name}, sha256 {gold.fingerprint}"))
        rows += [
            (f"{side}: corpus {c.corpus}", c.fingerprint or "no digest") for c in run.run.corpora
        ]
        versions = ", ".join(f"{name} {v}" for name, v in run.run.versions.items())
        rows.append((f"{side}: measured with", versions))
    settings = diff.document.settings
    rows += [(n, summaries.setting(getattr(settings, n))) for n in settings.__struct_fields__]
    rows += [("Filter", diff.filtered)] if diff.part else []
    rows += [
        ("Noise", diff.level.document.generated_at if diff.level else "not measured"),
        ("Schema version", diff.document.schema_version),
        *summaries.made_with(),
    ]
    return summaries.table(("What", "Value"), rows)


def provenance() -> Says:
    """Return what the report was made from."""
    return says("The same runs give the same report", "What this report was made from")


__all__ = [
    "OTHERS",
    "answer",
    "definitions",
    "detectable",
    "documents",
    "documents_table",
    "every_metric",
    "first_documents",
    "first_table",
    "header",
    "heads",
    "metrics",
    "move_table",
    "moves",
    "noise",
    "paired",
    "pairs",
    "provenance",
    "provenance_table",
    "setup",
    "setup_table",
    "slices",
]
