"""The first screen of a difference: which runs, what moved, how sure, and the banner."""

from __future__ import annotations

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Table
from retrieval_eval.report.numbers import MISSING, interval, rate, signed
from retrieval_eval.report.search import lead, tables
from retrieval_eval.report.search.diffs.facts import SIDES, DiffFacts
from retrieval_eval.report.search.figures import changes
from retrieval_eval.report.search.names import SHOWN
from retrieval_eval.report.search.prose import inside
from retrieval_eval.report.search.records import Change
from retrieval_eval.report.search.sections.guard import verdict_text
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.words import MAX_WORDS
from retrieval_eval.values import counted

NOT_SAME = "Not the same measurement"


def header(facts: DiffFacts) -> Block:
    """Return the strip with both runs, what was accepted, queries, and noise."""
    document = facts.document
    sides = [(side, document[side.lower()]) for side in SIDES]
    badges = [("Guard", _guard(facts))]
    badges += [
        (
            f"Run {side}",
            f"{visible(found['label'] or 'no label', 48)}, {visible(found['generated_at'], 24)}",
        )
        for side, found in sides
    ]
    only = f"{document['n_queries_only_a']} in A only, {document['n_queries_only_b']} in B only"
    badges += [
        ("Queries", f"{counted(document['n_queries_in_both'], 'query')} in both, {only}"),
        ("Accepted differences", _accepted(facts) or "none: they measured the same"),
        ("Noise", _noise(facts)),
    ]
    total = max(run["run"]["gold_set"]["n_queries"] for run in facts.diff.runs)
    said = notice(facts.diff.n_simulated, total, "query", "search")
    return Block("header", said, badges=tuple(badges))


def _guard(facts: DiffFacts) -> str:
    if facts.verdict is None:
        return f"not asked: {visible(facts.diff.guard, 160)}"
    summary = f"{verdict_text(facts.verdict)}, B against A"
    return f"{summary}; no justification was read" if lead.is_breach(facts.verdict) else summary


def _accepted(facts: DiffFacts) -> str:
    codes = [visible(one["code"], 30) for one in facts.document["accepted"]]
    return f"{NOT_SAME.upper()}: {', '.join(codes)}" if codes else ""


def _noise(facts: DiffFacts) -> str:
    if facts.noise is None:
        return "not measured"
    state = "deterministic" if facts.noise.is_deterministic else "measured"
    return f"{state}, but STALE" if facts.noise.stale else state


def answer(facts: DiffFacts) -> Block:
    """Return the answer box: at most 90 words and one table."""
    change, tone = _title(facts)
    title = f"{lead.NOT_ASKED}: {inside(change)}"
    if facts.withheld or facts.document["accepted"]:
        title = change
    elif facts.verdict is not None:
        title, tone = ": ".join(lead.of(facts.verdict)), lead.tone(facts.verdict, tone)
    banner = [visible(one["difference"], 160) for one in facts.document["accepted"]]
    said = [f"Accepted by name: {'; '.join(banner)}." if banner else "", *facts.withheld[:1]]
    if facts.verdict is not None and title != change:
        said.append(f"{change}.")
    said += [_how_much(facts), _queries(facts), _most_lost(facts)]
    kept: list[str] = []
    for sentence in filter(None, said):
        if sum(len(s.split()) for s in (*kept, sentence)) <= MAX_WORDS:
            kept.append(sentence)
    return Block("answer", title, tuple(kept), (_table(facts),), tone=tone)


def _title(facts: DiffFacts) -> tuple[str, str]:
    level = f"{facts.document['settings']['flag_points']:g} points"
    moved = [facts.changes[m] for m in facts.headline if m in facts.document["flagged"]]
    text = (
        " and ".join(f"{c.measure} {signed(c.delta_points)}" for c in moved)
        + f" points from {facts.names[0]} to {facts.names[1]}"
        if moved
        else f"No headline measure moved by more than {level}"
    )
    if unclear := [c.measure for c in moved if c not in facts.clear]:
        which = f"{' and '.join(unclear)} " if len(unclear) < len(moved) else ""
        # The guard decides by its own evidence; "not clear" would deny what it found.
        test = "not beyond chance by the test over these queries alone"
        text += f", {which}{test if lead.is_breach(facts.verdict) else 'not clear of chance'}"
    worse = any((c.delta_points or 0.0) < 0 for c in facts.clear)
    tone = "worse" if worse else "better" if facts.clear else "none"
    if facts.withheld:
        text, tone = f"No verdict: {text}", "none"
    if facts.document["accepted"]:
        text, tone = f"{NOT_SAME}: {text}", "worse"
    return text, tone


def _how_much(facts: DiffFacts) -> str:
    parts = [f"{m} {changes.numbers(facts.changes[m], ' points')}" for m in facts.headline]
    n = max((facts.changes[m].n_pairs for m in facts.headline), default=0)
    return f"Over {counted(n, 'query')}: {', '.join(parts)}." if parts else ""


def _queries(facts: DiffFacts) -> str:
    top = len(facts.document["top1_changed"])
    changed = counted(len(facts.queries), "query")
    return f"{changed} changed, {top:,} of them in the first document."


def _most_lost(facts: DiffFacts) -> str:
    losses = [
        (points, query["id"], measure, query)
        for query in facts.queries
        for measure, points in query["contributions"].items()
        if measure in facts.headline and points < 0
    ]
    if not losses:
        return ""
    points, _, measure, query = min(losses, key=lambda loss: loss[:3])
    drop = signed(points * facts.changes[measure].n_pairs)
    return f"Most lost: “{facts.title(query, 48)}” ({measure} {drop} points)."


def _table(facts: DiffFacts) -> Table:
    noise = facts.noise
    shown = [m for m in SHOWN if m in facts.changes]
    a, b = facts.names
    notes = tables.noise_notes(noise)
    header = ("Measure", a, b, "Change (points)", f"{facts.coverage} interval")
    return Table(
        "diff-headline",
        "Means over the queries of both runs, and their change",
        (*header, *(("Noise",) if noise else ()), "Up", "Down", "Pairs", "Moved"),
        tuple(_row(facts, facts.changes[m]) for m in shown),
        notes=notes,
    )


def _row(facts: DiffFacts, change: Change) -> tuple[str, ...]:
    found = facts.document["metrics"][change.measure]
    return (
        change.measure,
        rate(change.baseline),
        rate(change.current),
        signed(change.delta_points),
        interval(change.ci_low_points, change.ci_high_points),
        *((facts.noise.words(change.measure),) if facts.noise else ()),
        *(f"{found[key]:,}" for key in ("n_up", "n_down", "n_pairs")),
        "yes" if found["is_flagged"] else MISSING if change.delta_points is None else "no",
    )
