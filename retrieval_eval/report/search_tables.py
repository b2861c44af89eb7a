"""Tables of search runs and differences, each a frame that carries what its table says.

A function returns rows made for one table of the report, with their finding, caption, columns and
notes (see :func:`retrieval_eval.report.defaults.shown_as`), so that ``table.show`` needs nothing
else; numbers stay numbers, and missing ones None. What figures say is returned as their keywords.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.escape import visible
from retrieval_eval.model.search_diff import MovedDocument, MovedDocuments
from retrieval_eval.model.search_run import (
    Abstention,
    AtRandom,
    QueryResult,
    RefusalRate,
    ShareWithInterval,
)
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report import style
from retrieval_eval.report.checkout import commit
from retrieval_eval.report.defaults import Defaults, shown_as
from retrieval_eval.report.exhibits import Link, Links
from retrieval_eval.report.headings import NAMED
from retrieval_eval.report.names import (
    DIMENSIONS,
    PROBLEMS,
    SHOWN,
    SOURCES,
    cutoff,
    definition,
    reason,
)
from retrieval_eval.report.numbers import MISSING, of, p_value, rate, signed
from retrieval_eval.report.provenance import library_versions, package_version
from retrieval_eval.report.query_pages import Places
from retrieval_eval.report.registered import listed
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.search_opening import (
    JUDGED,
    backlog,
    label_sources,
    not_asked,
    percent,
    ruling_finding,
    setup_finding,
)
from retrieval_eval.report.search_run import DOCUMENT_GONE, TEXT_CHANGED, SearchRun
from retrieval_eval.report.searched import (
    MEANING,
    SIDES,
    STALE,
    STILL,
    Noise,
    Searched,
    brackets,
    excludes_zero,
    known,
    objects,
    values_of,
)
from retrieval_eval.search.change.diff_text import OUTCOMES
from retrieval_eval.search.claims.coverage import (
    agreement_words,
    bounds_words,
    unproved_words,
    why_advisory_of,
)
from retrieval_eval.search.decide.guard.rendering import HEAD, cells, method, remarks
from retrieval_eval.search.decide.noise import detectable_rows, shown_metrics
from retrieval_eval.search.gold.agreement import disagreements
from retrieval_eval.search.gold.corpus import corpus_fingerprint
from retrieval_eval.search.gold.database import STATUSES
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import BLOCK_OF
from retrieval_eval.search.run.random_documents import not_beaten
from retrieval_eval.search.run.scoring import NO_NAME
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.proportions import MIN_INTERPRETABLE
from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Says = dict[str, Any]
"""The words of a figure as its keywords."""

ROWS: Final = 25
"""Rows that a table of queries lists; the CSV beside the page has all of them."""
MAX_DOCS: Final = 4
MAX_MOVERS: Final = 5
MAX_LEVELS: Final = 20
OTHERS: Final = frozenset(BLOCK_OF)
"""Metrics that are none of rankings: of refusals and drafted answers."""
MAX_DRAWN: Final = 12
"""Levels drawn of one dimension, those with most queries; slices.csv has all."""
UNADJUSTED: Final = (
    "A dash: too few queries moved for an interval. Not adjusted for the number of parts: among "
    "so many, one that leaves out 0 is expected now and then."
)
WIDENED: Final = (
    "Noise level of a part: that of all queries, wider by the root of how many fewer the part has, "
    "as if queries varied independently."
)
_NO_BASELINE: Final = (
    "There is no baseline yet. `retrieval-eval search baseline --update RUN` makes a run the "
    "baseline; measure before and after any change of the retrieval layer."
)
_NO_DIFFERENCE: Final = "No difference is given without a verdict"
_NO_GOLD: Final = "The gold set was not read; name it with --gold."
_IDS: Final = {
    True: "checked against the documents of the corpora",
    False: "not checked: the documents of the corpora were not known",
    None: "not recorded",
}
_SUPPORT: Final = (
    ((True, True), "labelled document and context"),
    ((True, False), "labelled document only"),
    ((False, True), "context only: from a document that is not labelled relevant"),
    ((False, False), "neither"),
)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Return a frame of plain objects: text of a run may hold what no string type can."""
    import pandas as pd

    found = [tuple(row) for row in rows]
    return pd.DataFrame(
        {
            name: pd.Series([row[i] for row in found], dtype="object")
            for i, name in enumerate(columns)
        }
    )


def says(
    frame: pd.DataFrame,
    key: str,
    finding: str,
    caption: str = "",
    *notes: str,
    empty: str = "",
    columns: Sequence[str] | Mapping[str, str] = (),
    formats: Mapping[str, str | Callable[[Any], str]] | None = None,
    file: str = "",
    top: int | None = None,
) -> pd.DataFrame:
    """Return rows with what their table says; empty notes are left out.

    ``columns`` are those shown, by default all, of which a mapping has the heads. The first
    ``top`` rows are listed, by default those that fit where a ``file`` has them all.
    """
    top = top or (ROWS if file else None)
    rest = f"All rows are in {file}." if file and top and len(frame) > top else ""
    given = (formats or {}).items()
    shows = {name: NAMED[how] if isinstance(how, str) else how for name, how in given}
    known_as = Defaults(
        key,
        caption,
        columns if isinstance(columns, Mapping) else dict.fromkeys(columns, ""),
        finding,
        empty,
        shows,
        top=top,
        notes=tuple(visible(note, 600) for note in (*notes, rest) if note),
    )
    return shown_as(frame, known_as)


def nothing(key: str, finding: str, why: str) -> pd.DataFrame:
    """Return no rows, with the sentence that a table shows in their place."""
    return says(table((), ()), key, finding, empty=why)


def interpreted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return named differences without the numbers of rows that rest on too few queries."""
    few = frame["n_pairs"].fillna(0) < MIN_INTERPRETABLE
    points = "delta_points" if "delta_points" in frame else "held_out_points"
    texts = zip(few, frame["Interval"], strict=True)
    shown = [("not interpreted" if is_few else text) for is_few, text in texts]
    return frame.assign(**{points: frame[points].mask(few), "Interval": objects(frame, shown)})


def ordered(frame: pd.DataFrame, column: str, *, largest_first: bool = False) -> pd.DataFrame:
    """Return rows by a column of numbers, those of one value by their ids; missing ones last."""
    sign = -1.0 if largest_first else 1.0
    values = [known(value) for value in frame[column].astype(object)]
    keys = [
        (v is None, sign * (v or 0.0), str(name))
        for v, name in zip(values, frame["id"], strict=True)
    ]
    return frame.iloc[sorted(range(len(frame)), key=keys.__getitem__)]


def answers(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of ``run.queries`` with their names, what came back, and relevant documents."""
    asked = [run.by_id[name] for name in run.ids_of(frame)]
    made = [", ".join(_code(c) for c in q.problems[:12]) or q.status for q in asked]
    return run.named(frame).assign(
        **{
            "Returned": objects(frame, [_returned(query) for query in asked]),
            "Relevant documents": objects(frame, [_relevant(run, query) for query in asked]),
            "Remark": objects(frame, made),
        }
    )


def _returned(query: QueryResult) -> str:
    if query.status == "failed":
        return "failed"
    if query.is_refused:
        return "refused"
    return f"{len(query.ranking):,}" if query.ranking else "nothing"


def _relevant(run: SearchRun, query: QueryResult) -> Links | None:
    """Return the relevant documents of a query with their ranks, the first few by name."""
    found = run.relevant_of(query)
    shown: list[str] = [
        Links(
            Link(doc[:60], run.places.of_document(doc)),
            f" (rank {place})" if place else " (not retrieved)",
        )
        for doc, _, place in found[:MAX_DOCS]
    ]
    more = len(found) - MAX_DOCS
    return Links.joined(", ", [*shown, *([f"{more} more"] if more > 0 else [])]) or None


def _code(text: str) -> str:
    return text.replace("_", " ")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# --- the guard ---


def guard(run: SearchRun) -> pd.DataFrame:
    """Return every threshold of the guard with its verdict, as its comment has them."""
    ruling, level = run.ruling, run.level
    if ruling is None:
        why = f"The guard was not asked: {not_asked(run)}."
        return nothing("guard", "There is no verdict of the guard", why)
    head, rows = [name.capitalize() for name in HEAD], []
    bands = None if level is None or level.is_deterministic else level
    for row in ruling.rows:
        *shown, verdict = cells(row)
        rows.append((*shown, *([bands.words(row.metric, row.n_queries)] if bands else []), verdict))
    stated = remarks(ruling)
    if run.privacy and ruling.reasons:
        # The reasons of a run without a verdict repeat what its retriever said.
        stated = [f"No verdict: {run.withheld or 'the runs cannot be compared.'}"]
    return says(
        table((*head[:-1], *(["Noise level"] if bands else []), head[-1]), rows),
        "guard",
        ruling_finding(ruling),
        f"Thresholds against the baseline ({run.baseline_name}); differences in points",
        *stated,
        STILL if level is not None and level.is_deterministic else "",
        STALE if level is not None and level.stale else "",
        method(ruling),
        empty="No threshold applies.",
    )


def movers(run: SearchRun) -> pd.DataFrame:
    """Return the first queries that moved each threshold that is out of bounds the wrong way."""
    rows = []
    for row in run.ruling.rows if run.ruling else ():
        if row.verdict in ("pass", "skipped"):
            continue
        sign = 1 if row.direction == "down is bad" else -1
        harmful = [mover for mover in row.movers if sign * mover.points < 0][:MAX_MOVERS]
        rows += [
            (mover.id, row.name, mover.before, mover.now, mover.points)
            for mover in harmful
            if mover.id in run.by_id
        ]
    return says(
        run.named(table(("id", "metric", "baseline", "current", "points"), rows)),
        "guard-movers",
        "Queries behind the thresholds that do not plainly pass",
        f"The first {MAX_MOVERS} queries that moved each of these the wrong way",
        empty="No query moved a threshold that is out of bounds.",
        columns={"query": "", "metric": "", "baseline": "", "current": "Now", "points": ""},
    )


def components(run: SearchRun) -> pd.DataFrame:
    """Return the components of the composite, with its value and worst component."""
    block = run.stored.composite
    if block is None or not block.components:
        why = "The run holds no composite: it was measured before there was one."
        if block is not None:
            why = "No threshold has a floor or a ceiling, so there is no margin to take."
        if run.part is not None:
            why = "The bounds of the composite are those of whole runs, so a part has none."
        return nothing("composite", "There is no composite score", why)
    value, finding = block.value, "The composite is not computable: a component is missing"
    if value.value is not None:
        held = sum(c.passes is True for c in block.components)
        ends = brackets(value.ci_low, value.ci_high, signs=True)
        finding = (
            f"Composite {signed(value.value)} {ends}: the worst is {visible(block.worst, 60)}; "
            f"{of(held, len(block.components))} bounds hold"
        )
    return says(
        run.components,
        "composite",
        finding,
        "Components against their bounds; the composite is the smallest margin, never a mean",
        *(f"{why}." for why in block.reasons),
        columns=("name", "value", "n", "floor", "ceiling", "margin", "passes"),
        formats={"margin": "signed"},
    )


# --- what was measured ---


def setup(run: SearchRun) -> pd.DataFrame:
    """Return the corpora, the retriever and how it was asked."""
    header = run.stored.run
    use, settings = header.retriever, header.settings
    options = ", ".join(f"{name} = {value}" for name, value in use.options.items())
    rows = [(f"Corpus {c.corpus}", _corpus(c.n_documents, c.fingerprint)) for c in header.corpora]
    rows.append(("Retriever", use.name))
    if not run.privacy:
        rows += [("Opened as", use.spec), ("Options", options or "defaults")]
    rows += [
        ("Reranker", (use.reranker or "none") if use.uses_rerank else "left out"),
        ("Score floor", "none" if use.floor is None else f"{use.floor:g}"),
        ("Documents requested", f"{settings.depth:,} for each query"),
        ("Document ids", _IDS[header.ids_checked]),
    ]
    n = counted(run.stored.status.n_queries, "query")
    corpora = counted(len(header.corpora), "corpus", "corpora")
    finding = f"{n} of {corpora}, {settings.depth:,} documents deep"
    return says(table(("What", "Value"), rows), "setup", finding, "What was asked, and how")


def both_setups(diff: SearchDiff) -> pd.DataFrame:
    """Return both runs of a difference side by side."""
    document = diff.document
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
        for side, found in zip(SIDES, (document.a, document.b), strict=True)
    ]
    head = ("Run", "Label", "Measured", "Retriever", "Gold set", "Queries", "Failed")
    return says(
        table(head, rows),
        "sides",
        f"{counted(document.n_queries_in_both, 'query')} were asked in both runs",
        "The two runs",
        diff.withheld or "",
        *document.notices,
        *diff.notices,
    )


def _corpus(n_documents: int | None, fingerprint: str | None) -> str:
    size = "size unknown" if n_documents is None else f"{n_documents:,} documents"
    return f"{size}, digest {fingerprint[:12]}" if fingerprint else size


def composition(run: SearchRun) -> pd.DataFrame:
    """Return what the queries asked are made of: part, level, count and share."""
    gold = run.stored.run.gold_set
    return says(
        table(("Part", "Level", "n", "Of", "Share"), _composition(run)),
        "composition",
        f"Labels: {label_sources(gold)}",
        f"Queries that were asked, {of(len(run.stored.queries), gold.n_queries)} of the gold set",
        f"{run.gold_problem}." if run.gold_problem else "",
        empty="No query was asked.",
        formats={"Share": "percent"},
    )


def _composition(run: SearchRun) -> Iterator[tuple[str, str, int, int, float]]:
    asked = run.stored.queries
    parts: list[tuple[str, Counter[str]]] = []
    for dimension, title in DIMENSIONS.items():
        levels = Counter(str(getattr(query, dimension) or NO_NAME) for query in asked)
        found = Counter(dict(sorted(levels.items(), key=lambda item: (-item[1], item[0]))))
        kept = dict(list(found.items())[:MAX_LEVELS])
        if rest := found.total() - sum(kept.values()):
            kept[counted(len(found) - len(kept), "other level")] = rest
        names = SOURCES if dimension == "source" else {}
        parts.append((title, Counter({names.get(k, k): n for k, n in kept.items()})))
    words = {True: "yes", False: "no document answers it", None: "not stated"}
    parts.append(("Answerable", Counter(words[query.answerable] for query in asked)))
    if run.gold is not None:
        own = [q for q in run.gold.queries if q.id in run.by_id]
        grades = Counter(grade for query in own for grade in query.relevant.values())
        texts = {g: f"{g} (judged, not relevant)" if g < 1 else str(g) for g in grades}
        parts.append(
            (
                "Grade of judged pairs",
                Counter({texts[g]: grades[g] for g in sorted(grades, reverse=True)}),
            )
        )
    for title, found in parts:
        whole = found.total()
        for level, n in found.items():
            yield title, level, n, whole, n / whole


def agreement(run: SearchRun) -> pd.DataFrame:
    """Return how far labellers agree, by pair of labellers, corpus and weighting."""
    if run.gold is None:
        why = f"{run.gold_problem}." if run.gold_problem else _NO_GOLD
        return nothing("agreement", "How far labellers agree is not known", why)
    if not run.labeller_pairs:
        why = (
            "No two people labelled the same document of a query; `retrieval-eval gold pool` makes "
            "sheets for two."
        )
        return nothing("agreement", "No labels were checked by a second labeller", why)
    overall, found = run.labeller_pairs[0].overall, disagreements(run.gold)
    kappa = overall.kappas["none"]
    ends = brackets(kappa.interval.low.value, kappa.interval.high.value)
    settled = of(sum(bool(one.decided_by) for one in found), len(found))
    differ = counted(len(found), "judged document was", "judged documents were")
    people = ("labeller_a", "labeller_b", "corpus", "weights")
    return says(
        run.named(run.agreement),
        "agreement",
        f"Cohen's κ {rate(kappa.value.value)} {ends} over {counted(overall.n, 'pair')} that two "
        "people graded",
        "Agreement of labellers on the documents of queries that both graded",
        f"{differ} graded differently; a third person has settled {settled}." if found else "",
        "κ is agreement beyond chance, at most 1; 95 % intervals resample whole queries. In "
        "weighted κ a disagreement counts by its size. Grades that settled a disagreement are left "
        "out. A corpus with few pairs has no κ of its own.",
        columns=(*people, "kappa", "Interval", "agreement", "n", "n_queries"),
        formats={"kappa": "rate", "agreement": "percent"},
        top=60,
    )


def confusion(run: SearchRun) -> pd.DataFrame:
    """Return how the first pair of labellers graded: rows the first, columns the second."""
    if not run.labeller_pairs:
        why = "No two people graded the same."
        return nothing("confusion", "No pair of labellers to compare", why)
    pair = run.labeller_pairs[0]
    first, second = (visible(run.labeller(name), 24) for name in (pair.first, pair.second))
    grades = pair.overall.table
    same = sum(row[i] for i, row in enumerate(grades))
    return says(
        table(
            ("Grade", *map(str, range(len(grades)))),
            [(str(grade), *row) for grade, row in enumerate(grades)],
        ),
        "confusion",
        f"{of(same, pair.overall.n)} pairs got the same grade",
        f"Grades of {first} and {second}: rows the first, columns the second",
    )


def labels(run: SearchRun) -> pd.DataFrame:
    """Return where labels come from."""
    return says(
        run.named(run.labels),
        "label-provenance",
        "Where labels come from",
        "Judged pairs of query and document, by who made the row",
        "By one, by more: with the grade of one named person, or of several, on record. Settled: a "
        "third person decided a disagreement. Anchored: the place and digest of the text that was "
        "judged.",
        empty=_NO_GOLD,
    )


def stale_labels(run: SearchRun) -> pd.DataFrame:
    """Return the labels that the corpus has left behind."""
    gold = run.gold
    if gold is None or run.corpus is None:
        missing = "the documents were" if gold is not None else "the gold set was"
        why = f"Labels were not compared with the corpus, because {missing} not read."
        return nothing("stale-labels", "Whether labels are stale is not known", why)
    n = sum(len(query.relevant) for query in gold.queries)
    anchored = sum(
        doc in query.anchors or doc in query.digests
        for query in gold.queries
        for doc in query.relevant
    )
    frame = run.stale_labels
    if not len(frame):
        why = (
            f"All {n:,} judged documents are in the corpus, and {of(anchored, n)} were checked by "
            "their text."
        )
        why = " ".join(filter(None, (why, _other(run))))
        return nothing("stale-labels", "No label is stale", why)
    found = {code: int((frame["reason"] == code).sum()) for code in (DOCUMENT_GONE, TEXT_CHANGED)}
    words = {DOCUMENT_GONE: "gone", TEXT_CHANGED: "of another text"}
    counts = " and ".join(f"{k:,} {words[code]}" for code, k in found.items() if k)
    bare = (
        f"{of(n - anchored, n)} labels have neither anchor nor digest: only their ids could be"
        " checked."
    )
    return says(
        run.named(frame),
        "stale-labels",
        f"{of(len(frame), n)} labels are stale: {counts}",
        "Judged documents that are no longer what was judged",
        "`retrieval-eval gold relabel` moves what it can and queues the rest for a person.",
        _other(run),
        bare if anchored < n else "",
        columns=("query", "corpus", "doc", "grade", "reason"),
        file="stale_labels.csv",
    )


def _other(run: SearchRun) -> str:
    corpus = run.corpus
    others = [
        found.corpus
        for found in run.stored.run.corpora
        if corpus is not None
        and found.fingerprint is not None
        and found.fingerprint
        != corpus_fingerprint(d for d in corpus.documents if d.corpus == found.corpus)
    ]
    shown = ", ".join(visible(one, 36) for one in others[:4])
    return f"The documents at hand are not those that were searched ({shown})." if others else ""


def means(run: SearchRun) -> pd.DataFrame:
    """Return the mean of every metric, with what ties and unjudged documents could change."""
    frame = run.named(run.metrics)
    # The range over orders of equal scores has as many decimals as tell its ends apart.
    ends = zip(frame["tie_low"].astype(object), frame["tie_high"].astype(object), strict=True)
    ties = objects(frame, [_ties(known(a), known(b)) for a, b in ends])
    judged = run.stored.metrics.get(JUDGED)
    finding = "Every metric" if run.stored.metrics else "Nothing was measured"
    if judged is not None and judged.value is not None:
        finding = (
            f"{percent(judged.value)} of the first ten documents were judged (n = {judged.n}); the "
            "others count as not relevant"
        )
    lost = [(m, mean.reason) for m, mean in run.stored.metrics.items() if mean.value is None]
    bounds = run.part is None or run.gold is not None
    return says(
        frame.assign(Ties=ties),
        "measures",
        finding,
        f"Every metric: mean over queries with a value, {run.coverage} interval, and what could "
        "move it",
        "Ties: range of the mean over all orders of documents with equal scores. Unjudged: the "
        "largest mean there could be if retrieved unjudged documents were relevant; the smallest "
        "is the mean itself.",
        "" if bounds else "Of some queries both are known only when the gold set is read.",
        f"{MISSING} {', '.join(m for m, _ in lost)}: {reason(lost[0][1])}." if lost else "",
        empty="The run holds no metric.",
        columns=("measure", "value", "Interval", "n", "n_not_computable", "Ties", "unjudged_high"),
    )


def random_documents(run: SearchRun) -> pd.DataFrame:
    """Return what random documents would get beside the means of the run."""
    block = run.stored.random
    if block is None:
        why = "The run was measured before they were, or no query has a relevant document."
        if run.part is not None:
            why = "They are compared with whole runs, so a part has none."
        return nothing("random-documents", "What random documents would get is not known", why)
    means = block.metrics.values()
    n_known, n_failed = sum(m.is_beaten is not None for m in means), len(not_beaten(run.stored))
    finding = f"The run is better than random documents in all {n_known} metrics"
    if n_failed:
        finding = f"The run is no better than random documents in {of(n_failed, n_known)} metrics"
    elif not n_known:
        finding = "The run could not be compared with random documents"
    rows = (
        (name, run.stored.metrics[name].value, mean.value, _better_by(mean))
        for name in run.measures
        if (mean := block.metrics.get(name)) is not None
    )
    gone = any(mean.reason == "no_corpus_size" for mean in means)
    return says(
        table(("measure", "value", "At random", "Better by"), rows),
        "random-documents",
        finding,
        "What documents of the corpus in random order would get on the same queries and labels "
        f"(n = {block.n_queries}): expected values, and the interval of the mean difference "
        "(Student's t, queries as units)",
        "How many documents a corpus holds is not known, and so what random ones would get; "
        "`search run --corpus-file` records it."
        if gone
        else "",
        columns={"measure": "", "value": "This run", "At random": "", "Better by": ""},
    )


def _better_by(mean: AtRandom) -> str | None:
    if mean.difference is None:
        return None
    low, high = mean.difference_low, mean.difference_high
    ends = "" if low is None else f" {brackets(low, high)}"
    return f"{rate(mean.difference)}{ends}{', not better' if mean.is_beaten is False else ''}"


def _ties(low: float | None, high: float | None) -> str | None:
    if low is None or high is None or high - low < 5e-7:
        return None
    digits = next((d for d in range(2, 6) if rate(low, d) != rate(high, d)), 6)
    return f"[{rate(low, digits)}, {rate(high, digits)}]"


def to_judge(run: SearchRun) -> pd.DataFrame:
    """Return the documents to judge next."""
    if run.queue is None:
        return nothing("to-judge", "What to judge next is not known", _NO_GOLD)
    found = run.queue.candidates
    if not found:
        why = "Every document that could move a headline metric was judged."
        return nothing("to-judge", "Nothing is left to judge", why)
    gaps = [
        f"{m} lies between {rate(mean.value)} and {rate(mean.unjudged_high)}"
        for m in HEADLINE
        if (mean := run.stored.metrics.get(m)) is not None and mean.unjudged_high is not None
    ]
    gained, total = (sum(c.gain_points for c in part) for part in (found[:ROWS], found))
    return says(
        run.named(run.to_judge),
        "to-judge",
        f"{'; '.join(gaps) or 'Bounds are not known'}: {len(found):,} unjudged documents decide "
        "where",
        "Unjudged documents, by how many points judging them can narrow the bounds of "
        f"{' and '.join(HEADLINE)}",
        f"The {min(ROWS, len(found))} listed make up {rate(gained)} of {rate(total)} points; "
        "`retrieval-eval gold pool --by-gain N` makes sheets of them.",
        columns=("query", "doc", "rank", "gain_points"),
        formats={"gain_points": "rate"},
        file="to_judge.csv",
    )


def problems(run: SearchRun) -> pd.DataFrame:
    """Return how many queries failed, were empty, refused, or answered with a fault."""
    status, asked = run.stored.status, run.stored.queries
    counts = {"failed": status.n_failed, "empty": status.n_empty, "refused": status.n_refused}
    counts |= status.problems
    rows = [(_code(code), n, status.n_queries, PROBLEMS.get(code)) for code, n in counts.items()]
    n = sum(q.status == "failed" or bool(q.problems) for q in asked)
    noted = ([("failed", status.n_failed)] if status.n_failed else []) + [*status.problems.items()]
    found = ", ".join(f"{k:,} {visible(_code(code), 40)}" for code, k in noted[:12])
    fine = f"All {counted(len(asked), 'query')} were answered without a fault"
    return says(
        table(("What", "Queries", "Of", "Meaning"), rows[:12]),
        "problems",
        f"{of(n, len(asked))} answers are remarked on: {found}" if n else fine,
        "Queries by what happened to them; one query may have several",
    )


def remarked(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return queries with a remark, failed ones first."""
    return says(
        answers(run, frame.sort_values("status", kind="stable")),
        "problem-queries",
        f"{counted(len(frame), 'query')} with a remark",
        "Queries with a remark, failed ones first",
        empty="Every query was answered without a fault.",
        columns=("query", "corpus", "Remark", "error"),
        file="queries.csv",
    )


def review(run: SearchRun) -> pd.DataFrame:
    """Return the review queue: items by status."""
    if run.part is not None:
        why = "The review queue is that of all queries, so it does not follow the filter."
        return nothing("backlog", "The review backlog is not shown for a part of the queries", why)
    block = run.backlog
    if block is None:
        why = "The review queue was not counted for this report."
        return nothing("backlog", "The review backlog is unknown", why)
    states = (*STATUSES, "other", "total") if block else ()
    return says(
        table(("Status", "Items"), [(_code(state), block.get(state)) for state in states]),
        "backlog",
        f"Review backlog: {backlog(block)}",
        f"Items by review status, {visible(block.get('as_of') or 'undated')[:10]}",
    )


# --- against the baseline ---


def _incomplete(view: Searched) -> tuple[str, str] | None:
    """Return the finding and the sentence in place of a comparison that cannot be made."""
    if isinstance(view, SearchRun) and (why := view.delta_withheld) is not None:
        return _NO_DIFFERENCE, why
    if isinstance(view, SearchRun) and (reasons := view.incomparable):
        why = f"The runs did not measure the same: {'; '.join(reasons)}."
        return "The baseline cannot be compared with", visible(why, 600)
    return ("No baseline to compare with", _NO_BASELINE) if view.change is None else None


def changed(run: SearchRun) -> str:
    """Return what differs between the set-ups."""
    given = run.stored.delta.changes if run.stored.delta else ()
    if not given:
        return "The set-up of both runs is recorded as the same."
    if run.privacy:
        return f"The set-up differs in {counted(len(given), 'setting')}."
    shown = "; ".join(visible(change, 100) for change in given[:6])
    return f"Changed: {shown}{f'; and {len(given) - 6} more' if len(given) > 6 else ''}."


def moves(view: Searched, metrics: Sequence[str] = SHOWN) -> pd.DataFrame:
    """Return the queries that moved, with what each adds to the change of some metrics.

    Those that move a headline metric most come first.
    """
    if (found := _incomplete(view)) is not None:
        return nothing("contributions", *found)
    top1 = set(view.top1)
    rows = [
        (name, *(given.get(m, 0.0) for m in metrics), "yes" if name in top1 else "")
        for name, given in view.moved.items()
        if name in view.by_id and any(m in given for m in metrics)
    ]
    headline = [i for i, m in enumerate(metrics, 1) if m in HEADLINE]
    every = range(1, len(metrics) + 1)

    def size(row: Sequence[Any]) -> tuple[Any, ...]:
        largest = (max((abs(row[i]) for i in of), default=0.0) for of in (headline, every))
        return (*(-value for value in largest), row[0])

    other, what = "Other first document", "Relevant documents that moved"
    undecided = (
        "There is no verdict: what follows shows single queries, and their sum is no measured "
        "difference."
    )
    sign = "now − before" if isinstance(view, SearchRun) else "B − A"
    rows.sort(key=size)
    frame = view.named(table(("id", *metrics, other), rows))
    if isinstance(view, SearchDiff):
        frame = frame.assign(**{what: objects(frame, _moves_of_relevant(view, rows))})
    return says(
        frame,
        "contributions",
        f"{of(len(view.moved), view.n_compared)} queries moved" if view.moved else "No query moved",
        "Queries that moved one of these metrics, by the points they add to its difference",
        undecided if view.withheld is not None else "",
        changed(view) if isinstance(view, SearchRun) else "",
        f"A query moved when at least one metric of its ranking differs. A query adds ({sign}) / "
        "n, in points, and what all add is the difference. 0 is unchanged.",
        empty="No query moved any of these metrics.",
        columns=("query", "corpus", *metrics, other, *([what] if what in frame else [])),
        formats=dict.fromkeys(metrics, "points"),
        file="contributions.csv",
    )


def _moves_of_relevant(diff: SearchDiff, rows: Sequence[Sequence[Any]]) -> list[Links | None]:
    """Return the relevant documents of queries that have another rank, as before → after."""
    sides = [{query.id: query.ranking for query in run.queries} for run in diff.runs]
    found: list[Links | None] = []
    for name, *_ in rows:
        rankings = [side.get(name, ()) for side in sides]
        ranks = [{d.doc: i for i, d in enumerate(ranking, 1)} for ranking in rankings]
        grades = {d.doc: d.grade for ranking in rankings for d in ranking if (d.grade or 0) >= 1}
        moved = [(ranks[0].get(doc), ranks[1].get(doc), doc) for doc in grades]
        moved = [one for one in moved if one[0] != one[1]]
        moved.sort(key=lambda one: (min(one[0] or 10**6, one[1] or 10**6), one[2]))
        parts: list[str] = [
            Links(
                Link(visible(doc, 32), diff.places.of_document(doc)),
                f" {old or 'none'} → {new or 'none'}",
            )
            for old, new, doc in moved[:MAX_DOCS]
        ]
        parts += [f"{len(moved) - MAX_DOCS} more"] if len(moved) > MAX_DOCS else []
        found.append(Links.joined(", ", parts) or None)
    return found


def outcomes(diff: SearchDiff) -> pd.DataFrame:
    """Return the queries that a run failed on, or that one run alone was asked, refused or empty.

    They are shown as what they are, never as 0.
    """
    rows = [(one.id, OUTCOMES[one.a], OUTCOMES[one.b]) for one in diff.document.outcomes]
    counts = Counter((old, new) for _, old, new in rows)
    parts = [f"{n:,} {old} → {new}" for (old, new), n in counts.most_common(6)]
    a, b = diff.names
    return says(
        diff.named(table(("id", "a", "b"), rows)),
        "outcomes",
        f"{counted(len(rows), 'query')} failed, or one run alone answered: {'; '.join(parts)}"
        if rows
        else "Both runs answered the same queries",
        "Queries that failed, were asked in one run only, or were refused or empty in one run only",
        "A query that failed or was not asked has no metric: it is left out of every difference "
        "and counts as no 0. One that was refused, or for which nothing was returned, is a "
        "legitimate answer; where a document is relevant its metrics are those of the documents "
        "that came back, 0 without any.",
        empty="No query failed, and each was asked, answered, refused or left empty by both runs.",
        columns={"query": "", "corpus": "", "a": a, "b": b},
        file="outcomes.csv",
    )


def setup_fields(diff: SearchDiff) -> pd.DataFrame:
    """Return the fields of the set-up in which the runs differ, with both values."""
    found = diff.document.setup
    shown = [one for one in found if not diff.privacy or _is_public(one.field)]
    hidden = len(found) - len(shown)
    rows = [
        (
            visible(one.field, 60),
            *(None if value is None else visible(value, 120) for value in (one.a, one.b)),
        )
        for one in shown
    ]
    a, b = diff.names
    return says(
        table(("Field", "a", "b"), rows),
        "setup",
        setup_finding(diff),
        "Fields of the set-up that differ; all others are recorded as the same",
        *(f"Accepted although it differs: {one.difference}." for one in diff.document.accepted),
        f"Not shown: {counted(hidden, 'field')} of retriever, options and corpora."
        if hidden
        else "",
        "Everything that differs acts together: no difference of this page can be put down to "
        "one of several fields."
        if len(found) > 1
        else "",
        empty="No field of retriever, options, reranker, floor, corpora, settings and versions "
        "differs.",
        columns={"Field": "", "a": a, "b": b},
    )


def _is_public(field: str) -> bool:
    return field.startswith("version of ") or field in _PUBLIC


_PUBLIC: Final = frozenset(
    {"gold set", "depth", "convention", "empty_ranking", "seed", "n_resamples", "confidence"}
    | {"k_values"}
)


def levels(run: SearchRun, measure: str) -> pd.DataFrame:
    """Return the mean of a metric by part of the queries, the dimensions in the report's order."""
    frame = run.slices
    frame = frame[frame["measure"] == measure]
    kept = [frame[frame["dimension"] == dimension] for dimension in DIMENSIONS]
    shown = [part.nlargest(MAX_DRAWN, "n_queries", keep="first").sort_index() for part in kept]
    import pandas as pd

    return run.named(pd.concat(shown))


def pairs(view: Searched, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Return every query with its value in both runs, as ``plot.paired`` takes them.

    ``metrics`` are those to look at; None: all that are compared.
    """
    names = [m for m in view.differences if metrics is None or m in metrics]
    before = {q.id: q.metrics for q in view.before.queries} if view.before else {}
    sides = view.names if isinstance(view, SearchDiff) else ("baseline", "this run")
    rows = [
        (metric, view.title(query.id, 60), old, new, new - old, *sides)
        for metric in names
        for query in view.runs[-1].queries
        if (new := query.metrics.get(metric)) is not None
        and (old := before.get(query.id, {}).get(metric)) is not None
    ]
    values = ("metric", "task_name", "baseline", "comparison", "difference")
    return table((*values, "baseline_config", "comparison_config"), rows)


def paired(view: Searched, pairs: pd.DataFrame) -> Says:
    """Return the words in place of a figure of single queries; where it is drawn, its own do."""
    if len(pairs):
        return {}
    unread = "The values before are known only when the baseline's file is read."
    why = "No query has a metric in both runs." if view.before else unread
    finding, empty = _incomplete(view) or ("No query is compared", why)
    return {"finding": finding, "empty": empty}


def first_documents(view: Searched) -> pd.DataFrame:
    """Return the queries with another first document, before and after, largest effect first."""
    if (found := _incomplete(view)) is not None:
        return nothing("top1", *found)
    before = {q.id: q for q in view.before.queries} if view.before else {}
    after = {q.id: q for q in view.runs[-1].queries}
    rows = [
        (
            name,
            first(before[name], view.places) if name in before else None,
            first(after[name], view.places),
            view.moved.get(name, {}).get("RR", 0.0),
        )
        for name in view.top1
        if name in after
    ]
    rows.sort(key=lambda row: (-abs(row[3]), row[0]))
    is_diff = isinstance(view, SearchDiff)
    old, new = view.names if is_diff else ("Before", "Now")
    unread = "The first document before is known only when the baseline's file is read."
    return says(
        view.named(table(("id", "before", "after", "points"), rows)),
        "top1",
        f"{of(len(rows), view.n_compared)} queries have another first document",
        "First documents that changed, with their grade, and what the query adds to RR in points",
        _grades(view) if view.before else unread,
        empty="Every query that was answered in both runs has the same first document.",
        columns={"query": "", "before": old, "after": new, "points": "RR, points"},
        file=f"first_documents.csv{'' if is_diff else ' of `retrieval-eval report A B`'}",
    )


def first(query: QueryResult, places: Places) -> str:
    """Return the first document of a query with its grade, or that nothing came."""
    if not query.ranking:
        return "nothing"
    found = query.ranking[0]
    grade = "unjudged" if found.grade is None else f"grade {found.grade}"
    return Links(Link(found.doc[:60], places.of_document(found.doc)), f" ({grade})")


def _grades(view: Searched) -> str:
    """Return how the grades of changed first documents compare."""
    sides = [{q.id: q.ranking for q in run.queries} for run in (view.before, view.runs[-1]) if run]
    grades = [[(side[q][0].grade or 0) if side.get(q) else 0 for q in view.top1] for side in sides]
    better, worse = (
        sum(sign * (b - a) > 0 for a, b in zip(*grades, strict=True)) for sign in (1, -1)
    )
    same = counted(len(view.top1) - better - worse, "query")
    return (
        f"The grade is higher for {better:,}, lower for {worse:,} and the same for {same}; "
        "unjudged counts as 0."
    )


def moved_documents(diff: SearchDiff, metric: str) -> pd.DataFrame:
    """Return the judged documents that came into or left the first k, query by query."""
    k = cutoff(metric)[1]
    own = [(q, q.documents[str(k)]) for q in diff.document.queries if str(k) in q.documents]
    if not own:
        why = "Every query that was answered in both runs has the same documents at this cut-off."
        return nothing(f"documents-{k}", f"No document came into or left the first {k}", why)
    rows = []
    for query, side in own:
        if not (metric in query.contributions or _is_judged(side)):
            continue
        value = query.metrics.get(metric)
        values = f"{rate(value.a)} → {rate(value.b)}" if value else "unchanged"
        points = query.contributions.get(metric, 0.0)
        came, left = (_graded(moved, diff.places) for moved in (side.gained, side.lost))
        rows.append((query.id, came, left, values, points))
    rows.sort(key=lambda row: (-abs(row[4]), row[0]))
    head = ("Came (grade, rank before)", "Left (grade, rank now)", metric, "points")
    n_came, n_left = (
        sum((doc.grade or 0) >= 1 for _, side in own for doc in getattr(side, what))
        for what in ("gained", "lost")
    )
    others = counted(len(own) - len(rows), "query")
    return says(
        diff.named(table(("id", *head), rows)),
        f"documents-{k}",
        f"{n_came} relevant documents entered the first {k}, {n_left} left",
        f"Documents that came into or left the first {k}, by what the query adds to {metric}",
        f"Not listed: {others} in which only unjudged documents changed places.",
        empty="Only unjudged documents changed places.",
        columns=("query", *head),
        file="documents.csv",
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


def differences(view: Searched) -> Says:
    """Return the words of a figure of the difference of every metric."""
    if (found := _incomplete(view)) is not None:
        return {"finding": found[0], "empty": found[1]}
    is_diff = isinstance(view, SearchDiff)
    if not is_diff and (why := view.withheld) is not None:
        return {"finding": _NO_DIFFERENCE, "empty": why}
    level, minus, stated = view.level, "this run minus the baseline", []
    ranked = {m: c for m, c in view.differences.items() if m not in BLOCK_OF}
    with_ends = [c for c in ranked.values() if c.ci_low_points is not None]
    if isinstance(view, SearchDiff):
        document, minus = view.document, " minus ".join(reversed(view.names))
        flagged = of(len(document.flagged), len(document.metrics))
        stated = [f"{flagged} metrics moved by more than {document.settings.flag_points:g} points"]
    clear = f"{of(sum(map(excludes_zero, with_ends)), len(with_ends))} metrics"
    clear += " of rankings have" if is_diff else " have"
    stated.append(
        f"{clear} an interval that leaves out 0" if with_ends else "no metric has an interval"
    )
    if level is not None and not level.is_deterministic:
        bands = [(abs(c.delta_points or 0.0), level.band(m)) for m, c in ranked.items()]
        outside = [moved > band for moved, band in bands if band is not None]
        beyond = of(sum(outside), len(outside))
        stated.append(f"{beyond} lie outside the noise level of the system")
    return {
        "finding": _capital("; ".join(stated)),
        "caption": f"Mean over the queries that have the metric in both runs, {minus}, in points, "
        f"with a {view.coverage} paired bootstrap interval. The metrics overlap and the intervals "
        f"are not adjusted for their number.{noise_caption(level)}",
        "empty": "No query has a value in both runs, so there is no difference.",
    }


def noise_caption(level: Noise | None) -> str:
    """Return what a figure of differences says of the noise level."""
    if level is None:
        return " The noise of the system was not measured."
    stale = " That file is stale." if level.stale else ""
    if level.is_deterministic:
        return f" The system is deterministic, so its noise level is 0.{stale}"
    return f" Grey: {MEANING[:1].lower()}{MEANING[1:]}{stale}"


def changes(view: Searched) -> pd.DataFrame:
    """Return the difference of every metric over all queries, the headline metrics with their p."""
    is_diff = isinstance(view, SearchDiff)
    frame = view.frame("changes" if is_diff else "delta")
    words = differences(view)
    notes: list[str] = []
    if "caption" in words:
        adjusted = [
            (m, values_of(view.differences[m]), view.adjusted.get(m)) for m in view.headline
        ]
        headline = [
            f"{m}: {rate(before)} → {rate(after)}, p adjusted over the headline metrics (Holm) "
            f"{'not computable' if p is None else p_value(p)}."
            for m, (before, after), p in adjusted
        ]
        notes = [" ".join(headline), WIDENED if view.part and view.level else ""]
    columns = {"measure": "", "baseline": "", "current": ""}
    ends = {"n_only_baseline": "", "n_only_current": ""}
    if is_diff:
        a, b = view.names
        columns = {"metric": "", "a": a, "b": b}
        ends = {"n_up": "", "n_down": "", "n_only_a": "A only", "n_only_b": "B only"}
        ends["is_flagged"] = "Flagged"
        unpaired = (
            "Without pairs: the metric is no mean over queries, so the runs are compared as they "
            "stand, without an interval."
        )
        notes = [view.withheld or "", *notes, unpaired]
    shared = ("delta_points", "Interval", "noise_points", "p_value", "n_pairs")
    return says(
        view.named(frame[frame["dimension"] == "all"]),
        "every-metric" if is_diff else "changes-table",
        words["finding"],
        "Difference of every metric, in points",
        *notes,
        empty=words["empty"],
        columns={**columns, **dict.fromkeys(shared, ""), **ends},
    )


def label_effects(view: Searched) -> pd.DataFrame:
    """Return how much of each change labels made, and how much retrieval did."""
    split = view.label_effects
    if split is None and isinstance(view, SearchDiff):
        golds = [side.gold_set.fingerprint for side in (view.document.a, view.document.b)]
        if golds[0] == golds[1]:
            why = "The gold set of both runs is the same one, so labels made none of the change."
            return nothing("label-split", "Both runs have the same labels", why)
        why = (
            "The gold sets differ, so a part of every change is made by labels. Name both with "
            "--old-gold (that of A) and --gold (that of B) to separate the two; after a "
            "re-chunking also --mapping."
        )
        return nothing("label-split", "Labels and retrieval are not separated", why)
    if split is None:
        why = (
            "That takes a gold set that was re-labelled after a re-chunking: `retrieval-eval gold "
            "relabel` writes the mapping that --mapping names, --old-gold the labels of the "
            "baseline."
        )
        return nothing("label-split", "Labels and retrieval are not separated", why)
    found = split.metrics
    keys = ("before", "after", "total", "labels", "retrieval", "n", "n_left_out")
    rows = [(m, *(getattr(part, key) for key in keys)) for m, part in found.items()]
    points = ("Points", "By labels", "By retrieval")
    sides = view.names if isinstance(view, SearchDiff) else ("Before", "Now")
    earlier, later = sides if isinstance(view, SearchDiff) else ("the baseline", "this run")
    shown = [
        f"{m}: labels {signed(part.labels)}, retrieval {signed(part.retrieval)} points"
        for m in HEADLINE
        if (part := found.get(m)) is not None
    ]
    return says(
        table(("Metric", *sides, *points, "n", "Left out"), rows),
        "label-split",
        "; ".join(shown) or "No headline metric to split",
        "Difference of every metric in points, by what made it",
        "Between the runs are the old rankings, translated to the new documents: measured with the "
        f"new labels they differ from {earlier} by labels alone, and {later} differs from them "
        "by retrieval alone. Left out: queries without the metric in one of the three.",
        formats=dict.fromkeys(points, "signed"),
    )


def noise(view: Searched) -> pd.DataFrame:
    """Return the noise of every metric: between runs, from sampling queries, of a change.

    What made it stale may be how the retriever was opened, which private reports leave out.
    """
    level = view.level
    if level is None:
        why = "No noise file was read; `retrieval-eval search noise` repeats a run and writes one."
        return nothing("noise", "The noise level of the system is not known", why)
    document, rows = level.document, []
    for name in shown_metrics(document):
        own = document.metrics[name]
        between = own.run_to_run
        sd = None if between.is_deterministic else between.sd_points
        rows.append(
            (
                name,
                own.n_queries,
                "deterministic" if sd is None else f"{sd:.2f}",
                between.largest_delta_points,
                own.query_sampling.level_sd_points,
                level.words(name),
            )
        )
    runs = counted(document.n_runs, "run")
    finding = f"{runs} of the same system gave the same documents: it is deterministic"
    if not level.is_deterministic:
        varied = counted(document.n_queries_varied, "query")
        finding = f"{varied} of {document.n_queries:,} varied between {runs} of the system"
    stated = [f"{_capital(text)}." for text in level.stale]
    if level.stale:
        finding = f"Stale noise: {finding[:1].lower()}{finding[1:]}"
        if view.privacy:
            verb = "is" if len(stated) == 1 else "are"
            stated = [f"There {verb} {counted(len(stated), 'reason')} for that."]
    deviations = ("Run to run, SD", "Largest", "Sampling, SD")
    return says(
        table(("Metric", "Queries", *deviations, "Noise level of a difference"), rows),
        "noise",
        finding,
        "Noise in points: between runs of one system, and from the choice of queries",
        *stated,
        MEANING,
        empty="The noise file has no metric.",
    )


def detectable(view: Searched) -> pd.DataFrame:
    """Return the smallest change that 80 % of comparisons find, by number of queries."""
    head, *rows = detectable_rows(view.noise_floor) if view.noise_floor else [["queries"]]
    return says(
        table(("Queries", *head[1:]), rows),
        "detectable",
        "More queries show smaller differences",
        "Smallest difference in points that 80 % of comparisons would find, by number of queries",
        "From the best case, in which the noise of runs alone hides a difference, to the worst: "
        "two systems with nothing in common. Between them, where it was measured, a typical "
        "difference.",
        empty="Without a noise file this is not known.",
    )


def transfer(run: SearchRun) -> pd.DataFrame:
    """Return the change with one corpus left out."""
    unknown = "Whether the change holds elsewhere is not known"
    found = run.held_out
    if found is None:
        why = "There is no baseline, whose file was read, that this run can be compared with."
        return nothing("transfer", unknown, why)
    if (why_not := run.withheld) is not None:
        return nothing("transfer", _NO_DIFFERENCE, why_not)
    if not found["computable"]:
        why = "Fewer than two corpora were asked, so none can be left out."
        return nothing("transfer", unknown, why)
    shown = {m: found["metrics"][m] for m in SHOWN if m in found["metrics"]}
    frame = run.transfer
    points = ("held_out_points", "Interval", "n_pairs", "others_points")
    return says(
        interpreted(run.named(frame[frame["metric"].isin(SHOWN)])),
        "transfer",
        "; ".join(f"{m} {_holds(row)}" for m, row in shown.items()) or "No metric to compare",
        f"Difference on the corpus left out: points, {run.coverage} interval, queries, and whether "
        "its sign is that of the difference on all others",
        f"Below {MIN_INTERPRETABLE} queries nothing is interpreted. An interval that holds 0 may "
        "have either sign by chance. More metrics are in transfer.csv.",
        empty="No metric is shared.",
        columns=("metric", "corpus", *points, "verdict"),
    )


def _holds(row: Mapping[str, Any]) -> str:
    parts = [part["verdict"] for part in row["corpora"].values()]
    if row["holds_everywhere"] is True:
        return f"moves alike on all {len(parts)} corpora"
    return f"holds on {parts.count('holds')} of {len(parts)} corpora left out"


# --- how good it is ---


def cutoffs(run: SearchRun, metric: str) -> Says:
    """Return the words of a figure of a metric at each cut-off; the finding is that of one.

    With them comes the coverage of the run's intervals.
    """
    parts = sorted(run.stored.slices.corpus.items(), key=lambda item: (-item[1].n_queries, item[0]))
    shown = [
        f"{rate(mean.value)} in {visible(level, 30)} (n = {mean.n})"
        for level, part in parts
        if (mean := part.metrics.get(metric)) is not None and mean.value is not None
    ]
    falls = " P@k divides by k, so it falls where fewer than k documents are relevant."
    return {
        "finding": f"{metric}: {listed(shown)}" if shown else "No corpus has a scored query",
        "caption": f"Mean over the queries of a corpus with {run.coverage} bootstrap interval."
        f"{falls if metric.startswith('P@') else ''}",
        "empty": "No query has a value, so there is no curve to draw.",
        "confidence": run.stored.run.settings.confidence,
    }


def slices(run: SearchRun, frame: pd.DataFrame, measure: str) -> Says:
    """Return the words of a figure of one metric by part of the queries."""
    if measure not in run.stored.metrics:
        return {
            "finding": "There is nothing to slice",
            "empty": f"The run did not measure {measure}.",
        }
    large = [v for v, n in zip(frame["value"], frame["n"], strict=True) if n >= MIN_INTERPRETABLE]
    small = len(frame) - len(large)
    finding = "No part of the queries is large enough to interpret"
    if large:
        low, high, parts = rate(min(large)), rate(max(large)), counted(len(large), "part")
        finding = f"{measure} from {low} to {high} over {parts} of the queries"
        finding += f"; {counted(small, 'part')} too small to interpret" if small else ""
    return {
        "finding": finding,
        "caption": f"Mean {measure} with {run.coverage} interval. Every query is in one level of "
        f"each dimension. Fewer than {MIN_INTERPRETABLE} queries with a value are not interpreted. "
        "Among so many parts some lie far out by chance.",
        "empty": "No query was asked, so there is nothing to slice.",
    }


def slice_changes(view: Searched, metrics: Sequence[str] = HEADLINE) -> pd.DataFrame:
    """Return the difference of some metrics by part of the queries."""
    is_run = isinstance(view, SearchRun)
    key = "slice-changes" if is_run else "diff-slices"
    if is_run and (why := view.withheld) is not None:
        return nothing(key, _NO_DIFFERENCE, why)
    found = view.frame("delta" if is_run else "changes")
    found = found[(found["dimension"] != "all") & found[view.of].isin(metrics)]
    frame = interpreted(view.named(found))
    if not len(frame):
        why = "There is no baseline that this run can be compared with."
        if not is_run:
            why = "The runs share no headline metric, or no query that belongs to a part."
        return nothing(key, "Nothing to compare by part", why)
    own = frame[(frame["n_pairs"] >= MIN_INTERPRETABLE) & (frame[view.of] == HEADLINE[0])]
    points = [float(v) for v in own["delta_points"].dropna()]
    finding = f"No part has {MIN_INTERPRETABLE} queries with a value in both runs"
    if points:
        finding = (
            f"{HEADLINE[0]} changed by {signed(min(points))} to {signed(max(points))} points over "
            f"{counted(len(points), 'part')} of the queries"
        )
    numbers = ("delta_points", "Interval", "noise_points")
    n = () if is_run else ("n_queries",)
    return says(
        frame,
        key,
        finding,
        f"Difference in points by part of the queries, with {view.coverage} interval",
        UNADJUSTED,
        WIDENED if view.level else "",
        columns=("dimension", "level", *n, view.of, "n_pairs", *numbers),
        file="delta.csv" if is_run else "changes.csv",
        top=60,
    )


def nothing_found(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return scored queries without a relevant document, those with fewest documents first."""
    depth, n = run.stored.run.settings.depth, len(run.scored)
    n_empty = sum(n == 0 for n in frame["n_retrieved"])
    why = f"Every scored query has a relevant document among its first {depth}."
    unscored = "No query could be scored, so none can be said to have found nothing."
    return says(
        answers(run, ordered(frame, "n_retrieved")),
        "nothing-found",
        f"{of(len(frame), n)} scored queries found nothing relevant",
        f"Scored queries without a relevant document among the first {depth}",
        f"{counted(n_empty, 'query')} came back empty, which scores 0." if n_empty else "",
        _unread(run),
        empty=why if n else unscored,
        columns=("query", "corpus", "area", "Returned", "first_document", "Relevant documents"),
        file="queries.csv",
    )


def _unread(run: SearchRun) -> str:
    if run.gold is not None:
        return ""
    return "Relevant documents that were not retrieved are named when the gold set is read."


def worst(run: SearchRun, frame: pd.DataFrame, measure: str = "nDCG@10") -> pd.DataFrame:
    """Return queries that found something, the worst ranked first."""
    frame = frame.dropna(subset=measure)
    below = sum(value < 0.5 for value in frame[measure])
    return says(
        answers(run, ordered(frame, measure)),
        "worst",
        f"{of(below, len(frame))} queries that found something have {measure} below 0.50",
        f"Queries that found something, by {measure}, with the ranks of relevant documents",
        _unread(run),
        empty="No scored query found a relevant document.",
        columns=("query", "corpus", measure, "P@5", "Recall@20", "Relevant documents"),
        file="queries.csv",
    )


# --- refusals and claims ---


def refusals(run: SearchRun) -> pd.DataFrame:
    """Return the shares refused by this run and by the two controls, with the gate's decision."""
    block = run.stored.abstention
    if block is None:
        return nothing("abstention", "Refusals were not measured", _no_refusals(run))
    decided = "nothing came back"
    if block.threshold is not None:
        decided += f", or the top score is below {block.threshold:g}"
    controls = (
        ("Always answer", block.controls.always_answer),
        ("Always refuse", block.controls.always_refuse),
    )
    rows = [
        (
            f"This run (refused: {decided})",
            _refused(block.true_positive_rate),
            _refused(block.false_refusal_rate),
            _passes(block.operating_point.passes),
        ),
        *(
            (name, rate(at.true_positive_rate), rate(at.false_refusal_rate), _passes(at.passes))
            for name, at in controls
        ),
    ]
    area, gate = block.auc, block.gate
    auc = f"{MISSING} AUC: {reason(area.reason)}."
    if area.value is not None:
        auc = (
            f"AUC {rate(area.value)} {brackets(area.ci_low, area.ci_high)} over "
            f"{counted(area.n, 'query')}: how often an answerable query outscores an unanswerable "
            "one."
        )
    return says(
        table(("Who decides", "Of unanswerable", "Of answerable", "Passes the gate"), rows),
        "abstention",
        _refusing(block),
        f"Share refused, with {run.coverage} Wilson interval and counts",
        *(f"{_capital(text)}." for text in block.reasons),
        auc,
        f"The gate has two sides: at least {percent(gate.min_true_positive_rate)} of the "
        f"unanswerable refused, at most {percent(gate.max_false_refusal_rate)} of the answerable. "
        "Both controls must fail it. A threshold that was chosen on these queries does worse on "
        "others.",
    )


def _no_refusals(run: SearchRun) -> str:
    """Return why refusals were not measured."""
    if any(query.answerable is False for query in run.stored.queries):
        return "The run was measured before refusals were; measure it again."
    return (
        "The gold set has no query that no document answers, so there is nothing to refuse rightly."
    )


def _refusing(block: Abstention) -> str:
    """Return what refusing does, as a finding."""
    caught, refused, area = block.true_positive_rate, block.false_refusal_rate, block.auc
    if caught.value is None:
        return f"What refusing does is not computable: {reason(caught.reason)}"
    finding = f"{of(n_refused(caught), caught.n)} unanswerable queries were refused"
    if refused.value is not None:
        finding += f", and {of(n_refused(refused), refused.n)} answerable ones"
    return f"{finding}; AUC {rate(area.value)}" if area.value is not None else finding


def n_refused(found: RefusalRate) -> int | None:
    """Return how many queries of a rate were refused."""
    if found.n_refused is not None or found.value is None:
        return found.n_refused
    return round(found.value * found.n)


def _refused(found: RefusalRate) -> str | None:
    if found.value is None:
        return None
    ends = brackets(found.ci_low, found.ci_high)
    return f"{rate(found.value)} {ends}, {n_refused(found):,} of {found.n:,}"


def _passes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def operating_points(run: SearchRun) -> dict[str, tuple[float, float]]:
    """Return where on the curve this run and the two controls lie: refused wrongly, rightly."""
    block = run.stored.abstention
    found = {"always answer": (0.0, 0.0), "always refuse": (1.0, 1.0)}
    at = None if block is None else block.operating_point
    if at is None or at.true_positive_rate is None or at.false_refusal_rate is None:
        return found
    return {"this run": (at.false_refusal_rate, at.true_positive_rate), **found}


def roc(run: SearchRun) -> Says:
    """Return the words of a figure of the curve over all thresholds."""
    block = run.stored.abstention
    if block is None:
        return {"finding": "Refusals were not measured", "empty": _no_refusals(run)}
    area, at = block.auc, block.operating_point
    summary = f"AUC {rate(area.value)} {brackets(area.ci_low, area.ci_high)}"
    why = (
        "The retriever failed on queries, so there is no curve."
        if block.n_failed
        else "A curve needs both kinds of queries, answerable and unanswerable."
    )
    return {
        "finding": _refusing(block),
        "caption": "Every point of the line is a threshold of the top score below which a query is "
        f"refused. {summary} ({run.coverage} interval, DeLong and Newcombe). Shaded: where the "
        "gate passes. Dotted: what chance would give.",
        "empty": why,
        "alt": f"ROC of refusing by the top score: {summary} over {block.n_unanswerable} "
        f"unanswerable and {block.n_answerable} answerable queries. This run refuses "
        f"{rate(at.true_positive_rate)} of the unanswerable and {rate(at.false_refusal_rate)} of "
        "the answerable; always answering lies at 0 and 0, always refusing at 1 and 1.",
    }


def thresholds(run: SearchRun, most: int = 40) -> pd.DataFrame:
    """Return what refusing below single thresholds does, about ``most`` of all."""
    n = len(run.roc)
    frame = run.roc.iloc[:: max(1, n // most)]
    return says(
        frame,
        "thresholds",
        "What each threshold would do",
        "Shares refused when every query with a lower top score is refused",
        f"{of(len(frame), n)} thresholds; all are in roc.csv." if len(frame) < n else "",
        empty=roc(run)["empty"],
        formats={"threshold": "{:.4g}".format},
    )


def shade_gate(ax: Axes | None, run: SearchRun) -> None:
    """Shade where the gate of refusals passes, on axes with the wrong refusals across."""
    block = run.stored.abstention
    if ax is None or block is None:
        return
    right, low = block.gate.max_false_refusal_rate, block.gate.min_true_positive_rate
    ax.fill_between([0, right], low, 1, color=style.MARKS[2].soft, linewidth=0, zorder=0)
    ax.annotate("gate", (right, low), (4, 4), textcoords="offset points", fontsize=8)


def shade_noise(ax: Axes | None, frame: pd.DataFrame) -> None:
    """Shade the noise level behind each row of a figure of differences."""
    bands = [] if ax is None else [known(band) for band in frame["noise_points"]]
    for y, band in enumerate(bands):
        if ax is not None and band:
            ax.barh(y, 2 * band, left=-band, height=0.74, color=style.FAINT, linewidth=0, zorder=0)


def first_scores(run: SearchRun) -> pd.DataFrame:
    """Return the first scores of unanswerable queries beside those of answerable ones."""
    asked = [query for query in run.stored.queries if query.answerable is False]
    if not asked:
        why = "The gold set has no query that is marked as not answerable."
        return nothing("scores", "No unanswerable query was asked", why)
    rows: list[tuple[Any, ...]] = []
    for name, wanted in (("Unanswerable", False), ("Answerable", True)):
        group = [query for query in run.stored.queries if query.answerable is wanted]
        tops = [query.ranking[0].score for query in group if query.ranking]
        n_failed = sum(query.status == "failed" for query in group)
        n_nothing = sum(query.status == "ok" and not query.ranking for query in group)
        ends = (min(tops), statistics.median(tops), max(tops)) if tops else (None,) * 3
        rows.append((name, len(group), n_failed, n_nothing, *ends))
    stated, block = "", run.stored.abstention
    caught = None if block is None else n_refused(block.true_positive_rate)
    if block is not None and block.threshold is not None and caught is not None:
        stated = f"The threshold of {block.threshold:g} refuses {of(caught, len(asked))}."
    head = ("Failed", "Nothing returned", "Lowest", "Median", "Highest first score")
    return says(
        table(("Queries", "n", *head), rows),
        "scores",
        f"{of(sum(bool(query.ranking) for query in asked), len(asked))} unanswerable queries got "
        "documents all the same",
        "Scores of the first documents of unanswerable queries beside those of answerable ones",
        "They have no ranking metric. Scores of different queries are often not comparable.",
        stated,
    )


def unanswerable(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return unanswerable queries, those with the highest first score first."""
    return says(
        answers(run, ordered(frame, "first_score", largest_first=True)),
        "unanswerable",
        "The highest first scores are the likeliest to mislead",
        "Unanswerable queries by the score of their first document",
        empty="The gold set has no query that is marked as not answerable.",
        columns=("query", "corpus", "Returned", "first_document", "first_score"),
        file="queries.csv",
    )


def claims(run: SearchRun) -> pd.DataFrame:
    """Return claim coverage beside faithfulness, and the judge's agreement with people."""
    block = run.stored.claims
    if block is None:
        why = (
            "No drafts were judged; `retrieval-eval search claims RUN --drafts FILE --judge NAME` "
            "adds them to a run."
        )
        return nothing("claims", "No drafted answer was judged", why)
    found: list[tuple[str, Any]] = [
        ("Claim coverage", block.coverage),
        ("Faithfulness", block.faithfulness),
    ]
    if block.agreement is not None:
        found.append(("Judge and people: κ", block.agreement.kappa))
        found.append(("Judge and people: same verdict", block.agreement.accuracy))
    finding = f"Claim coverage is not computable: {reason(block.coverage.reason)}"
    if block.coverage.value is not None:
        finding = (
            f"Claim coverage {_share_words(block.coverage)}, faithfulness "
            f"{_share_words(block.faithfulness)} over {counted(block.n_substantive, 'claim')} of "
            f"{counted(block.n_drafts, 'draft')}; judge {agreement_words(block.agreement)}"
        )
    counts = (
        (block.n_refused, "refused"),
        (block.n_unlabelled, "of queries without labels, left out"),
        (block.n_without_draft, "queries have none"),
    )
    parts = [f"{n:,} {words}" for n, words in counts if n]
    judge = block.judge
    advisory, unproved = why_advisory_of(block.agreement), unproved_words(block)
    names = ("Metric", "Share", "Interval", "Claims", "Unproved: none or all hold")
    rows = [(n, s.value, brackets(s.ci_low, s.ci_high), s.n, bounds_words(s)) for n, s in found]
    # A column only where there is something in it.
    width = len(names) if unproved else len(names) - 1
    return says(
        table(names[:width], [row[:width] for row in rows]),
        "claims",
        finding,
        "Share of the substantive claims of drafted answers that is supported, with "
        f"{run.coverage} interval",
        f"Drafts: {'; '.join(parts)}." if parts else "",
        f"Judge: {visible(judge.name, 60)} {visible(judge.version, 40)}.",
        "Coverage: share of substantive claims that a document labelled relevant supports. "
        "Faithfulness: share that the draft's own context supports, relevant or not. Intervals "
        "resample whole drafts.",
        f"Claims called supported without proof: {unproved}. They count as not supported in the "
        "share, and the interval reaches as far as if all were supported."
        if unproved
        else "",
        f"Claims do not block a change: {advisory}." if advisory else "",
    )


def _share_words(share: ShareWithInterval) -> str:
    if share.value is None:
        return "not computable"
    if share.unproved_high is None:
        return percent(share.value)
    return f"{percent(share.unproved_low)} to {percent(share.unproved_high)}"


def claim_support(run: SearchRun) -> pd.DataFrame:
    """Return the substantive claims by what supports them."""
    block = run.stored.claims
    own = [
        c for draft in (block.queries if block else ()) for c in draft.claims if c.is_substantive
    ]
    found = Counter((claim.supported_by is not None, claim.in_context) for claim in own)
    rows = [(words, found[key], len(own), found[key] / len(own)) for key, words in _SUPPORT if own]
    return says(
        table(("Supported by", "Claims", "Of", "Share"), rows),
        "claim-support",
        "What supports the claims",
        "Substantive claims by what supports them",
        empty="There is no substantive claim.",
        formats={"Share": "percent"},
    )


def drafts(run: SearchRun) -> pd.DataFrame:
    """Return the drafts with claims that no labelled document supports, the worst first."""
    rows = []
    for draft in run.stored.claims.queries if run.stored.claims else ():
        own = [claim for claim in draft.claims if claim.is_substantive]
        bare = [claim for claim in own if claim.supported_by is None]
        if not bare or draft.id not in run.by_id:
            continue
        text = None if run.privacy else bare[0].text
        n, n_bare = len(own), len(bare)
        in_context = sum(claim.in_context for claim in own)
        shares = (f"{n - n_bare} of {n}", f"{in_context} of {n}")
        rows.append((-n_bare / n, -n_bare, draft.id, *shares, text, _code(bare[0].reason)))
    rows.sort(key=lambda row: row[:3])
    names = ("Covered", "In context", "First unsupported claim", "The judge said")
    return says(
        run.named(table(("id", *names), [row[2:] for row in rows])),
        "worst-drafts",
        f"{counted(len(rows), 'draft')} with claims that no labelled document supports",
        "Drafts with claims that no labelled document supports, the worst first",
        empty="No draft has a claim that no labelled document supports.",
        columns=("query", *names),
        file="claims.csv",
    )


# --- methods ---


def definitions(view: Searched) -> pd.DataFrame:
    """Return the definition of every metric, and how each number is computed."""
    settings, run = view.settings, view.runs[-1].run
    resampled = f"{settings.n_resamples:,} resamples, seed {settings.seed}"
    test = (
        f"bootstrap interval from {MIN_PAIRS} pairs, sign-flip p from {MIN_PAIRS_FOR_P}. A "
        "difference is called clear when its interval leaves out 0 and its p, adjusted over the "
        f"headline metrics (Holm), lies below {ALPHA}. Parts with fewer than {MIN_INTERPRETABLE} "
        "queries are not interpreted. Points are hundredths."
    )
    if isinstance(view, SearchDiff):
        measures, key, caption = tuple(view.document.metrics), "diff-definitions", "Definitions"
        scored = (
            "Queries are paired by id, and a metric is compared over those that have it in both "
            "runs. A query adds (B − A) / pairs, in points, and what all add is the difference. "
            f"Paired by query: {view.coverage} {test} Intervals: {resampled}. Swapping A and B "
            "negates every number exactly."
        )
        intervals = ""
    else:
        measures = tuple(dict.fromkeys(run.settings.measures))
        key, caption = "search-definitions", "Definitions; higher is better in all but Judged"
        scored = (
            "Grade 1 and more is relevant. Documents are ranked by score, equal scores by document "
            f"id, both descending (convention {run.settings.convention}). An answerable query "
            "without documents scores 0 on every metric but Judged; one without relevant labels, "
            "unanswerable ones among them, and one that failed have no value and are counted."
        )
        intervals = (
            f"Intervals of a mean are {view.coverage} studentised bootstrap intervals over queries "
            f"({resampled}). Differences are paired by query: {test}"
        )
    rows = [(m, definition(m) or "not a metric of this package") for m in measures]
    defined = "How each number is defined"
    return says(table(("Metric", "Definition"), rows), key, defined, caption, scored, intervals)


def provenance(view: Searched) -> pd.DataFrame:
    """Return fingerprints, versions, settings and the time of measuring."""
    rows = []
    for side, run in zip(SIDES, view.runs, strict=False):
        own = _measured(run, is_private=view.privacy)
        rows += [(f"{side}: {name}" if len(view.runs) > 1 else name, v) for name, v in own]
    settings = view.settings
    rows += [("Filter", view.filtered)] if view.part else []
    rows += [(name, _setting(getattr(settings, name))) for name in settings.__struct_fields__]
    rows += [
        ("Noise", view.level.document.generated_at if view.level else "not measured"),
        ("Package", package_version()),
        ("Git commit", commit() or "not run from a checkout"),
        ("Libraries", library_versions()),
    ]
    finding, caption = "The same files give the same report", "What this report was made from"
    return says(table(("What", "Value"), rows), "provenance", finding, caption)


def _measured(run: StoredRun, *, is_private: bool) -> Iterator[tuple[str, str]]:
    yield "Label", run.label or "none"
    yield "Measured", run.generated_at
    yield "Gold set", f"{run.run.gold_set.name}, sha256 {run.run.gold_set.fingerprint}"
    yield from ((f"Corpus {c.corpus}", c.fingerprint or "no digest") for c in run.run.corpora)
    facts = {} if is_private else run.run.retriever.facts
    given = {k: v for k, v in facts.items() if k != "corpora" and v is not None}
    simple = [(k, str(v)) for k, v in given.items() if not isinstance(v, dict | list)]
    yield from ((f"Retriever {name}", value) for name, value in simple[:20])
    base = run.delta.baseline if run.delta else None
    named = f"{visible(base.label or 'no label', 36)}, {visible(base.generated_at)}" if base else ""
    yield "Baseline", f"{named}; gold set {base.gold_fingerprint[:12]}" if base else "none"
    yield "Schema version", run.schema_version
    yield "Measured with", ", ".join(f"{name} {v}" for name, v in run.run.versions.items())


def _setting(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
