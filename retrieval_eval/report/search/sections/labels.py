"""What labels are worth: who gave them, and how far people agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.gold.agreement import LabellerPair, adjudicators, disagreements, own_grades
from retrieval_eval.model.gold import GoldQuery
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import of, rate, share
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.names import SOURCES
from retrieval_eval.stats.agreement import Kappa
from retrieval_eval.values import counted

NO_GOLD: Final = "The gold set was not read; name it with --gold."
MAX_PAIRS: Final = 10
KAPPA: Final = (
    "κ is agreement beyond chance, at most 1; 95 % intervals resample whole queries. In weighted κ "
    "a disagreement counts by its size. Grades that settled a disagreement are left out."
)
RECORDED: Final = (
    "Labelled: with the grade of a named person on record. Settled: a third person decided a "
    "disagreement. Anchor: the place and digest of the text that was judged."
)


def agreement(facts: Facts) -> Block:
    """Return Cohen's kappa of every pair of labellers, and where labels come from."""
    if facts.run.gold is None:
        why = f"{facts.run.gold_problem}." if facts.run.gold_problem else NO_GOLD
        return section("How far labellers agree is not known", Empty("agreement", why))
    provenance = _provenance(facts)
    pairs = facts.checks.agreement
    if not pairs:
        why = (
            "No two people labelled the same document of a query; `retrieval-eval gold pool` makes "
            "sheets for two."
        )
        return section(
            "No labels were checked by a second labeller", Empty("agreement", why), provenance
        )
    first = pairs[0]
    kappa = first.overall.kappas["none"]
    finding = (
        f"Cohen's κ {_value(kappa)} over {counted(first.overall.n, 'pair')} that two people graded"
    )
    found = disagreements(facts.run.gold)
    n_settled = sum(bool(one.decided_by) for one in found)
    said = (
        f"{counted(len(found), 'judged document was', 'judged documents were')} graded "
        "differently; "
        f"a third person has settled {of(n_settled, len(found))}."
    )
    shown = pairs[:MAX_PAIRS]
    return section(
        finding,
        _kappas(facts, shown, len(pairs)),
        _confusion(facts, first),
        provenance,
        sentences=[said] if found else [],
    )


def _kappas(facts: Facts, pairs: Iterable[LabellerPair], n_pairs: int) -> Table:
    rows = [
        (
            _who(facts, pair),
            "all" if corpus is None else visible(corpus, 36),
            f"{part.n:,}",
            f"{part.n_queries:,}",
            rate(part.agreement.value),
            *(
                _value(part.kappas[name]) if name in part.kappas else "not interpreted"
                for name in ("none", "linear", "quadratic")
            ),
        )
        for pair in pairs
        for corpus, part in [(None, pair.overall), *pair.corpora.items()]
    ]
    more = (f"The first {MAX_PAIRS} of {n_pairs} pairs of labellers; all in agreement.csv.",)
    return Table(
        "agreement",
        "Agreement of labellers on the documents of queries that both graded",
        ("Labellers", "Corpus", "Pairs", "Queries", "Same grade", "κ", "Linear κ", "Quadratic κ"),
        tuple(rows),
        ("left", "left", *["right"] * 6),
        (
            KAPPA,
            *(more if n_pairs > MAX_PAIRS else ()),
        ),
    )


def _who(facts: Facts, pair: LabellerPair) -> str:
    if not facts.privacy:
        return f"{visible(pair.first, 24)} and {visible(pair.second, 24)}"
    names = sorted({name for p in facts.checks.agreement for name in (p.first, p.second)})
    return f"labellers {names.index(pair.first) + 1} and {names.index(pair.second) + 1}"


def _value(kappa: Kappa) -> str:
    low, high = kappa.interval.low.value, kappa.interval.high.value
    return f"{rate(kappa.value.value)} {tables.span(low, high)}"


def _confusion(facts: Facts, pair: LabellerPair) -> Table:
    grades = range(len(pair.overall.table))
    return Table(
        "confusion",
        f"Grades of {_who(facts, pair)}: rows the first, columns the second",
        ("Grade", *map(str, grades)),
        tuple((str(grade), *map(str, pair.overall.table[grade])) for grade in grades),
    )


def _provenance(facts: Facts) -> Table:
    asked = [q for q in facts.run.gold.queries if q.id in facts.by_id] if facts.run.gold else []
    n = Counter(query.source for query in asked)
    rows = [
        _source_row(source, [query for query in asked if query.source == source])
        for source in sorted(n, key=lambda name: (name != "chair", name))
    ]
    return Table(
        "label-provenance",
        "Where labels come from, by who made the row",
        (
            *("Row made by", "Queries", "Judged pairs", "Labelled by one", "By two or more"),
            *("Settled", "With anchor"),
        ),
        tuple(rows),
        notes=(RECORDED,),
    )


def _source_row(source: str, queries: list[GoldQuery]) -> tuple[str, ...]:
    pairs = [(query, doc) for query in queries for doc in query.relevant]
    people = {query.id: own_grades(query) for query in queries}
    by = Counter(min(len(people[query.id].get(doc, {})), 2) for query, doc in pairs)
    settled = {query.id: adjudicators(query) for query in queries}
    return (
        SOURCES.get(source) or visible(source, 40),
        f"{len(queries):,}",
        f"{len(pairs):,}",
        share(by[1], len(pairs)),
        share(by[2], len(pairs)),
        f"{sum(doc in settled[query.id] for query, doc in pairs):,}",
        share(sum(doc in query.anchors for query, doc in pairs), len(pairs)),
    )
