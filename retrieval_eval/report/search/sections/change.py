"""Against the baseline: single queries first, then the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, of, rate, signed
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.figures import changes, moved
from retrieval_eval.report.search.names import SHOWN
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.values import counted

NO_BASELINE: Final = (
    "There is no baseline yet. `retrieval-eval search baseline --update RUN` makes a run the "
    "baseline; measure before and after any change of the retrieval layer."
)
NO_VERDICT: Final = (
    "There is no verdict: what follows shows single queries, and their sum is no measured change."
)
NO_SPLIT: Final = (
    "That takes a gold set that was re-labelled after a re-chunking: `retrieval-eval gold relabel` "
    "writes the mapping that --mapping names, --old-gold the labels of the baseline."
)
SPLIT: Final = (
    "Between the runs are the old rankings, translated to the new documents: measured with the new "
    "labels they differ from the baseline by labels alone, and this run differs from them by "
    "retrieval alone. Left out: queries without the measure in one of the three."
)
DOC_LIMIT: Final = 40


def _empty(facts: Facts, key: str) -> Block | None:
    """Return what is shown instead of a comparison that cannot be made."""
    if facts.delta_withheld is not None:
        return section("No change is given without a verdict", Empty(key, facts.delta_withheld))
    if facts.delta is None:
        return section("No baseline to compare with", Empty(key, NO_BASELINE))
    if facts.incomparable:
        why = f"The runs did not measure the same: {'; '.join(facts.incomparable)}."
        return section("The baseline cannot be compared with", Empty(key, why))
    return None


def queries(facts: Facts) -> Block:
    """Return the queries that moved a headline measure, by what each adds to the change."""
    if (block := _empty(facts, "moved")) is not None:
        return block
    known = [m for m in HEADLINE if m in facts.changes]
    given: dict[str, list[tuple[str, float]]] = {
        measure: [
            (facts.title(facts.by_id[query], tables.TEXTS), points[measure])
            for query, points in facts.contributions.items()
            if measure in points and query in facts.by_id
        ]
        for measure in known
    }
    n = len(facts.contributions)
    finding = (
        f"{of(n, len(facts.queries))} queries moved a measure"
        if n
        else "No query moved any measure"
    )
    if not known:
        why = f"The runs share neither {' nor '.join(HEADLINE)}."
        return section(finding, Empty("moved", why))
    said = (NO_VERDICT,) if facts.withheld is not None else ()
    said = (*said, _changed(facts))
    figure = moved.draw(given, facts.changes)
    listed = _largest(facts)
    return section(finding, figure, *([listed] if listed else []), sentences=filter_(said))


def filter_(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences that say something."""
    return tuple(sentence for sentence in sentences if sentence)


def _changed(facts: Facts) -> str:
    given = [str(change) for change in (facts.delta or {}).get("changes", [])]
    if not given:
        return "The set-up of both runs is recorded as the same."
    if facts.privacy:
        return f"The set-up differs in {counted(len(given), 'setting')}."
    shown = "; ".join(visible(change, 100) for change in given[:6])
    return f"Changed: {shown}{f'; and {len(given) - 6} more' if len(given) > 6 else ''}."


def _size(given: Mapping[str, float]) -> tuple[float, float]:
    """Return how much a query moved the headline measures, then all that are shown."""
    return tuple(  # type: ignore[return-value]
        -max((abs(given.get(m, 0.0)) for m in measures), default=0.0)
        for measures in (HEADLINE, SHOWN)
    )


def _largest(facts: Facts) -> Table | None:
    known = [(q, given) for q, given in facts.contributions.items() if q in facts.by_id]
    known = [(q, given) for q, given in known if any(m in given for m in SHOWN)]
    known.sort(key=lambda item: (_size(item[1]), item[0]))
    if not known:
        return None
    rows = [
        (
            facts.title(facts.by_id[query]),
            visible(facts.by_id[query]["corpus"], 30),
            *(signed(given[m]) if m in given else "0" for m in SHOWN),
            "yes" if query in facts.top1_changed else "",
        )
        for query, given in known[: tables.MAX_ROWS]
    ]
    return Table(
        "contributions",
        "Queries by what they add to the change, in points; the largest first",
        ("Query", "Corpus", *SHOWN, "Other first document"),
        tuple(rows),
        ("left", "left", *["right"] * len(SHOWN), "left"),
        (
            "0 is unchanged, 0.00 a change below 0.005 points.",
            *tables.capped(len(known), "contributions.csv"),
        ),
    )


def first_documents(facts: Facts) -> Block:
    """Return the queries whose first document is another one, before and now."""
    if (block := _empty(facts, "top1")) is not None:
        return block
    ids = [query for query in facts.top1_changed if query in facts.by_id]
    finding = f"{of(len(ids), len(facts.queries))} queries have another first document"
    if not ids:
        why = "Every query that was answered in both runs has the same first document."
        return section(finding, Empty("top1", why))
    ids.sort(key=lambda query: (-abs(_rr(facts, query)), query))
    rows = [
        (
            facts.title(facts.by_id[query]),
            _before(facts, query),
            _now(facts, query),
            signed(_rr(facts, query)) if _rr(facts, query) else "0",
        )
        for query in ids[: tables.MAX_ROWS]
    ]
    notes = tables.capped(len(ids), "first_documents.csv of `retrieval-eval search diff --report`")
    if facts.run.baseline is None:
        notes += ("The first document before is known only when the baseline's file is read.",)
    return section(
        finding,
        Table(
            "top1",
            "First documents that changed, with their grade, and what the query adds to RR",
            ("Query", "Before", "Now", "RR, points"),
            tuple(rows),
            ("left", "left", "left", "right"),
            notes,
        ),
    )


def _rr(facts: Facts, query: str) -> float:
    return facts.contributions.get(query, {}).get("RR", 0.0)


def _before(facts: Facts, query: str) -> str:
    if query not in facts.first_before:
        return MISSING
    doc = facts.first_before[query]
    grades = {d: grade for d, grade, _ in facts.run.relevant_of(facts.by_id[query])}
    return "nothing" if doc is None else _graded(doc, grades.get(doc))


def _now(facts: Facts, query: str) -> str:
    ranking = facts.by_id[query]["ranking"]
    if not ranking:
        return "nothing"
    return _graded(ranking[0]["doc"], ranking[0]["grade"] or None)


def _graded(doc: str, grade: int | None) -> str:
    name = visible(doc, DOC_LIMIT)
    return f"{name} (grade {grade})" if grade else name


def measures(facts: Facts) -> Block:
    """Return the change of every measure with its interval."""
    if (block := _empty(facts, "changes")) is not None:
        return block
    if facts.withheld is not None:
        return section("No change is given without a verdict", Empty("changes", facts.withheld))
    found = [facts.changes[m] for m in facts.run.measures if m in facts.changes]
    figure = changes.draw(found, facts.coverage, facts.checks.noise)
    with_interval = [c for c in found if c.ci_low_points is not None]
    clear = sum(c.excludes_zero for c in with_interval)
    finding = (
        f"{of(clear, len(with_interval))} measures have an interval that leaves out 0"
        if with_interval
        else "Too few queries for an interval"
    )
    said = [
        f"{m}: {rate(c.baseline)} → {rate(c.current)}, p adjusted over the headline measures "
        f"(Holm) {tables.p_of(facts.adjusted.get(m))}."
        for m in HEADLINE
        if (c := facts.changes.get(m)) is not None
    ]
    return section(finding, figure, sentences=said)


def label_split(facts: Facts) -> Block:
    """Return how much of the change labels moved, and how much retrieval did."""
    found = facts.run.label_split
    if found is None:
        return section("Labels and retrieval are not separated", Empty("label-split", NO_SPLIT))
    known = [(m, found["metrics"][m]) for m in facts.run.measures if m in found["metrics"]]
    table = Table(
        "label-split",
        "Change of every measure, by what moved it",
        ("Measure", "Before", "Now", "Points", "By labels", "By retrieval", "n", "Left out"),
        tuple(
            (
                m,
                *(rate(part[side]) for side in ("before", "after")),
                *(signed(part[what]) for what in ("total", "labels", "retrieval")),
                *(f"{part[n]:,}" for n in ("n", "n_left_out")),
            )
            for m, part in known
        ),
        notes=(SPLIT,),
    )
    summary = [
        f"{m}: labels {signed(part['labels'])}, retrieval {signed(part['retrieval'])} points"
        for m, part in known
        if m in HEADLINE
    ]
    return section("; ".join(summary) or "No headline measure to split", table)
