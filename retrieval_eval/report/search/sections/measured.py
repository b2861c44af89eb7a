"""What was measured: set-up, gold set, judged documents, what happened to queries, backlog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, count, of, rate, share
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.backlog import PARTS
from retrieval_eval.report.search.facts import Facts, day
from retrieval_eval.report.search.names import DIMENSIONS, PROBLEMS, SOURCES
from retrieval_eval.report.search.prose import JUDGED
from retrieval_eval.report.search.reading import coerce
from retrieval_eval.report.search.sections.opening import backlog as backlog_words
from retrieval_eval.report.search.sections.opening import label_sources
from retrieval_eval.search.scoring import NO_NAME
from retrieval_eval.values import counted

MAX_LEVELS: Final = 20
MAX_CODES: Final = 12
_LEFT: Final = ("left", "left")
_LONG: Final = 200
_IDS: Final = {
    True: "checked against the documents of the corpora",
    False: "not checked: the documents of the corpora were not known",
    None: "not recorded",
}


def setup(facts: Facts) -> Block:
    """Return the corpora, the retriever and how it was asked."""
    run = facts.run.document["run"]
    use, settings = run["retriever"], run["settings"]
    options = ", ".join(f"{name} = {value}" for name, value in use["options"].items())
    rows = [
        *((f"Corpus {c['corpus']}", _corpus(c)) for c in run["corpora"]),
        ("Retriever", use["name"]),
        *(
            ()
            if facts.privacy
            else (("Opened as", use["spec"]), ("Options", options or "defaults"))
        ),
        ("Reranker", (use["reranker"] or "none") if use["uses_rerank"] else "left out"),
        ("Score floor", "none" if use["floor"] is None else f"{use['floor']:g}"),
        ("Documents requested", f"{settings['depth']:,} for each query"),
        ("Document ids", _IDS[run.get("ids_checked")]),
    ]
    n = counted(facts.status["n_queries"], "query")
    corpora = counted(len(run["corpora"]), "corpus", "corpora")
    body = tuple((visible(name, 60), visible(value, _LONG)) for name, value in rows)
    table = Table("setup", "What was asked, and how", ("What", "Value"), body, _LEFT)
    return section(f"{n} of {corpora}, {settings['depth']:,} documents deep", table)


def _corpus(corpus: dict[str, object]) -> str:
    size = coerce(corpus["n_documents"], "integer")
    digest = str(corpus["fingerprint"] or "")[:12]
    text = "size unknown" if size is None else counted(size, "document")
    return f"{text}, digest {digest}" if digest else text


def composition(facts: Facts) -> Block:
    """Return what the asked part of the gold set is made of, and who labelled it."""
    rows = [row for dimension in DIMENSIONS for row in _levels(facts, dimension)]
    answerable = Counter(_answerable(query["answerable"]) for query in facts.queries)
    rows += [
        ("Answerable", name, share(n, len(facts.queries))) for name, n in answerable.most_common()
    ]
    rows += _grades(facts)
    gold = facts.run.document["run"]["gold_set"]
    asked = of(len(facts.queries), gold["n_queries"])
    table = Table(
        "composition",
        f"Queries that were asked, {asked} of the gold set",
        ("Part", "Level", "Of all (share)"),
        tuple(rows),
        ("left", "left", "right"),
        notes=tuple(filter(None, (facts.run.gold_problem and f"{facts.run.gold_problem}.",))),
    )
    return section(f"Labels: {label_sources(gold)}", table)


def _levels(facts: Facts, dimension: str) -> Iterable[tuple[str, str, str]]:
    found = Counter(str(query[dimension] or NO_NAME) for query in facts.queries)
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    for level, n in ordered[:MAX_LEVELS]:
        name = SOURCES.get(level, level) if dimension == "source" else level
        yield DIMENSIONS[dimension], visible(name, 48), share(n, len(facts.queries))
    if rest := sum(n for _, n in ordered[MAX_LEVELS:]):
        others = counted(len(ordered) - MAX_LEVELS, "other level")
        yield DIMENSIONS[dimension], others, share(rest, len(facts.queries))


def _answerable(value: object) -> str:
    return (
        {True: "yes", False: "no document answers it"}.get(value is True, "")
        if isinstance(value, bool)
        else "not stated"
    )


def _grades(facts: Facts) -> Iterable[tuple[str, str, str]]:
    if facts.run.gold is None:
        return
    asked = [q for q in facts.run.gold.queries if q.id in facts.by_id]
    grades = Counter(grade for query in asked for grade in query.relevant.values())
    for grade, n in sorted(grades.items(), reverse=True):
        words = f"{grade} (judged, not relevant)" if grade < 1 else str(grade)
        yield "Grade of judged pairs", words, share(n, grades.total())


def judged(facts: Facts) -> Block:
    """Return every measure, with how ties and unjudged documents could move it."""
    mean = facts.means.get(JUDGED)
    if not facts.means:
        return section("Nothing was measured", Empty("measures", "The run holds no measure."))
    if mean is None or mean.value is None:
        return section("Every measure", tables.every_measure(facts))
    finding = (
        f"{rate(mean.value)} of the first ten documents were judged (n = {mean.n}); the others "
        "count as not relevant"
    )
    return section(finding, tables.every_measure(facts))


def problems(facts: Facts) -> Block:
    """Return what happened to queries: failed, empty, refused, and answers with faults."""
    status = facts.status
    counts = {name: status[f"n_{name}"] for name in ("failed", "empty", "refused")}
    found = facts.run.document["status"]["problems"]
    counts |= {code: n for code, n in found.items() if type(n) is int}
    rows = [
        (_code(code), of(n, status["n_queries"]), PROBLEMS.get(code, MISSING))
        for code, n in list(counts.items())[:MAX_CODES]
    ]
    summary = Table(
        "problems",
        "Queries by what happened to them; one query may have several",
        ("What", "Queries", "Meaning"),
        tuple(rows),
        ("left", "right", "left"),
    )
    n = sum(q["status"] == "failed" or bool(q["problems"]) for q in facts.queries)
    finding = (
        f"{of(n, len(facts.queries))} answers are remarked on: {_remarks(counts)}"
        if n
        else f"All {counted(len(facts.queries), 'query')} were answered without a fault"
    )
    listed = _listed(facts)
    return section(finding, summary, *([listed] if listed else []))


def _remarks(counts: Mapping[str, int]) -> str:
    noted = [(code, n) for code, n in counts.items() if n and code not in ("empty", "refused")]
    return ", ".join(f"{n:,} {_code(code)}" for code, n in noted[:MAX_CODES])


def _code(text: str) -> str:
    return visible(text.replace("_", " "), 40)


def _listed(facts: Facts) -> Table | None:
    bad = [q for q in facts.queries if q["status"] == "failed" or q["problems"]]
    bad.sort(key=lambda q: (q["status"] != "failed", -len(q["problems"]), q["id"]))
    if not bad:
        return None
    has_errors = not facts.privacy and any(query["error"] for query in bad)
    rows = [
        (
            facts.title(query),
            visible(query["corpus"], 36),
            ", ".join(map(_code, query["problems"][:MAX_CODES])) or query["status"],
            *([visible(query["error"] or "", 200) or MISSING] if has_errors else []),
        )
        for query in bad[: tables.MAX_ROWS]
    ]
    header = ("Query", "Corpus", "Remark", *(["Error"] if has_errors else []))
    return Table(
        "problem-queries",
        "Queries with a remark, failed ones first",
        header,
        tuple(rows),
        ("left",) * len(header),
        tables.capped(len(bad), "queries.csv"),
    )


def backlog(facts: Facts) -> Block:
    """Return the review queue: counts by status, and the oldest item that waits."""
    block = facts.run.backlog
    if block is None:
        why = "The review queue was not counted for this report."
        return section("The review backlog is unknown", Empty("backlog", why))
    known = [(part, coerce(block.get(part), "integer")) for part in (*PARTS, "total")]
    rows = [(part.replace("_", " "), count(n)) for part, n in known]
    table = Table(
        "backlog",
        f"Items by review status, {day(block.get('as_of'))}",
        ("Status", "Items"),
        tuple(rows),
    )
    return section(f"Review backlog: {backlog_words(block)}", table)
