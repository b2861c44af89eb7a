"""Small tables of a search run beside its frames: set-up, composition, refusals and others.

Each is a frame made for one table of the report; numbers stay numbers, and missing ones None.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.gold.backlog import STATUSES
from retrieval_eval.model.search_run import QueryResult, RefusalRate
from retrieval_eval.report import style
from retrieval_eval.report.checkout import commit
from retrieval_eval.report.exhibits import Link, Links
from retrieval_eval.report.headings import is_missing
from retrieval_eval.report.numbers import interval, rate, signed
from retrieval_eval.report.provenance import library_versions, package_version
from retrieval_eval.report.search.names import DIMENSIONS, PROBLEMS, SOURCES, definition
from retrieval_eval.report.search.noise import Noise, band_words
from retrieval_eval.report.search.places import Places
from retrieval_eval.search.guard.rendering import HEAD, cells
from retrieval_eval.search.noise import detectable_rows, shown_metrics
from retrieval_eval.search.scoring import NO_NAME
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from retrieval_eval.report.search.diff import SearchDiff
    from retrieval_eval.report.search.run import SearchRun

_STALE: Final = {
    "document_gone": "the corpus has no such document",
    "text_changed": "the document's text is not the one that was labelled",
}
_HELD_OUT: Final = {
    "holds": "holds",
    "reverses": "REVERSES",
    "vanishes": "vanishes",
    "no_change": "others unchanged",
    "not_computable": "not computable",
}
PARTS: Final = (*STATUSES, "other")
MAX_DOCS: Final = 4
MAX_MOVERS: Final = 5
MAX_LEVELS: Final = 20
MAX_DRAWN: Final = 12
"""Levels drawn of one dimension, those with most queries; slices.csv has all."""
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


def source(value: str) -> str:
    """Return who made a row of the gold set, in words."""
    return SOURCES.get(value, value)


def flag(value: bool) -> str:
    """Return ``yes`` where something is flagged."""
    return "yes" if value else ""


def points(value: float) -> str:
    """Return what a query adds to a difference: 0 where it is unchanged, 0.00 where nearly so."""
    return signed(value) if value else "0"


def band(value: float) -> str:
    """Return a noise level as ± points; 0 stays 0."""
    return band_words(float(value))


def stale_reason(code: str) -> str:
    """Return why a label is stale, in words."""
    return _STALE[code]


def held_out(code: str) -> str:
    """Return what became of the sign of a change on the corpus left out, in words."""
    return _HELD_OUT[code]


def yes_no(value: Any) -> str:
    """Return whether something holds, in a word."""
    return "yes" if value else "NO"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Return a frame of plain objects: text of a run may hold what no string type can."""
    import pandas as pd

    listed = [tuple(row) for row in rows]
    return pd.DataFrame(
        {
            name: pd.Series([row[i] for row in listed], dtype="object")
            for i, name in enumerate(columns)
        }
    )


def brackets(low: Any, high: Any, *, signs: bool = False) -> str:
    """Return ``[low, high]``, or the dash where one end is unknown.

    Examples
    --------
    >>> brackets(0.1, 0.25), brackets(-1.0, 2.0, signs=True), brackets(None, 1.0)
    ('[0.10, 0.25]', '[−1.00, +2.00]', '—')
    """
    found = interval(low, high)
    return found if signs or found[0] != "[" else f"[{rate(low)}, {rate(high)}]"


def with_intervals(frame: pd.DataFrame, *, signs: bool = False) -> pd.DataFrame:
    """Return a frame with its interval as one column of text, ``Interval``."""
    ends = (
        ("ci_low_points", "ci_high_points") if "ci_low_points" in frame else ("ci_low", "ci_high")
    )
    pairs = zip(*(frame[end].astype(object) for end in ends), strict=True)
    texts = [
        brackets(_known(low), _known(high), signs=signs or "_p" in ends[0]) for low, high in pairs
    ]
    return frame.assign(Interval=_objects(frame, texts))


def with_ties(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means with the range over orders of equal scores as text, ``Ties``; None: one value.

    The range has as many decimals as tell its ends apart.
    """
    ends = zip(frame["tie_low"].astype(object), frame["tie_high"].astype(object), strict=True)
    return frame.assign(Ties=_objects(frame, [_ties(_known(a), _known(b)) for a, b in ends]))


def _ties(low: float | None, high: float | None) -> str | None:
    if low is None or high is None or high - low < 5e-7:
        return None
    digits = next((d for d in range(2, 6) if rate(low, d) != rate(high, d)), 6)
    return f"[{rate(low, digits)}, {rate(high, digits)}]"


def interpreted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return differences without the numbers of rows that rest on too few queries to be read."""
    few = frame["n_pairs"].fillna(0) < MIN_INTERPRETABLE
    shown = frame.copy()
    points = "delta_points" if "delta_points" in frame else "held_out_points"
    shown[points] = shown[points].mask(few)
    texts = [
        "not interpreted" if is_few else text
        for is_few, text in zip(few, with_intervals(frame)["Interval"], strict=True)
    ]
    return shown.assign(Interval=_objects(frame, texts))


def _known(value: Any) -> float | None:
    return None if is_missing(value) else float(value)


def _objects(frame: pd.DataFrame, values: Sequence[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(list(values), index=frame.index, dtype="object")


def named(run: SearchRun | SearchDiff, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with what a query of each row is called, and where its page is.

    Added are ``query`` (its text, or its id in private reports), ``corpus``, ``query_page`` and,
    where there is a column of documents (``doc`` or ``first_document``), ``doc_page``.
    """
    ids = list(frame["id"])
    docs = next((frame[name] for name in ("doc", "first_document") if name in frame), None)
    columns: dict[str, list[Any]] = {
        "query": [run.title(name) for name in ids],
        "corpus": [run.by_id[name].corpus if name in run.by_id else None for name in ids],
        "query_page": [run.places.of_query(name) for name in ids],
    }
    if docs is not None:
        columns["doc_page"] = [run.places.of_document(doc) for doc in docs]
    return frame.assign(**{name: _objects(frame, found) for name, found in columns.items()})


def ordered(frame: pd.DataFrame, column: str, *, largest_first: bool = False) -> pd.DataFrame:
    """Return rows by a column of numbers, those of one value by their ids; missing ones last."""
    sign = -1.0 if largest_first else 1.0
    values = [_known(value) for value in frame[column].astype(object)]
    keys = [
        (v is None, sign * (v or 0.0), str(name))
        for v, name in zip(values, frame["id"], strict=True)
    ]
    return frame.iloc[sorted(range(len(frame)), key=keys.__getitem__)]


def answers(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of ``run.queries`` with their names, what came back, and relevant documents."""
    found = named(run, frame)
    asked = [run.by_id[name] for name in frame["id"]]
    remarks = [", ".join(_code(c) for c in q.problems[:12]) or q.status for q in asked]
    return found.assign(
        **{
            "Returned": _objects(frame, [_returned(query) for query in asked]),
            "Relevant documents": _objects(frame, [_relevant(run, query) for query in asked]),
            "Remark": _objects(frame, remarks),
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


# --- the guard ---


def thresholds(run: SearchRun) -> pd.DataFrame:
    """Return every threshold of the guard with its verdict, as its comment has them."""
    level = run.level
    with_noise = level is not None and not level.is_deterministic
    head = [name.capitalize() for name in HEAD]
    rows = []
    for row in run.ruling.rows if run.ruling else ():
        *shown, verdict = cells(row)
        band = [level.words(row.metric, row.n_queries)] if level is not None and with_noise else []
        rows.append((*shown, *band, verdict))
    return table((*head[:-1], *(["Noise level"] if with_noise else []), head[-1]), rows)


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
    return named(run, table(("id", "Metric", "Baseline", "Now", "Points"), rows))


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
    return table(("What", "Value"), rows)


def _corpus(n_documents: int | None, fingerprint: str | None) -> str:
    size = "size unknown" if n_documents is None else f"{n_documents:,} documents"
    return f"{size}, digest {fingerprint[:12]}" if fingerprint else size


def composition(run: SearchRun) -> pd.DataFrame:
    """Return what the queries asked are made of: part, level, count and share."""
    return table(("Part", "Level", "n", "Of", "Share"), _composition(run))


def _composition(run: SearchRun) -> Iterator[tuple[str, str, int, int, float]]:
    asked = run.stored.queries
    parts: list[tuple[str, Counter[str]]] = []
    for dimension, title in DIMENSIONS.items():
        levels = Counter(str(getattr(query, dimension) or NO_NAME) for query in asked)
        ordered = Counter(dict(sorted(levels.items(), key=lambda item: (-item[1], item[0]))))
        kept = dict(list(ordered.items())[:MAX_LEVELS])
        if rest := ordered.total() - sum(kept.values()):
            kept[counted(len(ordered) - len(kept), "other level")] = rest
        names = SOURCES if dimension == "source" else {}
        parts.append((title, Counter({names.get(k, k): n for k, n in kept.items()})))
    words = {True: "yes", False: "no document answers it", None: "not stated"}
    parts.append(("Answerable", Counter(words[query.answerable] for query in asked)))
    if run.gold is not None:
        judged = [q for q in run.gold.queries if q.id in run.by_id]
        grades = Counter(grade for query in judged for grade in query.relevant.values())
        texts = {g: f"{g} (judged, not relevant)" if g < 1 else str(g) for g in grades}
        ordered = Counter({texts[g]: grades[g] for g in sorted(grades, reverse=True)})
        parts.append(("Grade of judged pairs", ordered))
    for title, found in parts:
        whole = found.total()
        for level, n in found.items():
            yield title, level, n, whole, n / whole


def confusion(run: SearchRun) -> pd.DataFrame:
    """Return how the first pair of labellers graded: rows the first, columns the second."""
    if not run.labeller_pairs:
        return table(("Grade",), ())
    grades = run.labeller_pairs[0].overall.table
    rows = [(str(grade), *row) for grade, row in enumerate(grades)]
    return table(("Grade", *map(str, range(len(grades)))), rows)


def problems(run: SearchRun) -> pd.DataFrame:
    """Return how many queries failed, were empty, refused, or answered with a fault."""
    status = run.stored.status
    counts = {"failed": status.n_failed, "empty": status.n_empty, "refused": status.n_refused}
    counts |= status.problems
    rows = [(_code(code), n, status.n_queries, PROBLEMS.get(code)) for code, n in counts.items()]
    return table(("What", "Queries", "Of", "Meaning"), rows[:12])


def review(run: SearchRun) -> pd.DataFrame:
    """Return the review queue: items by status."""
    block = run.backlog if run.part is None else None
    rows = [(_code(part), block.get(part)) for part in (*PARTS, "total")] if block else []
    return table(("Status", "Items"), rows)


# --- against the baseline ---


def moves(run: SearchRun, measures: Sequence[str]) -> pd.DataFrame:
    """Return the queries that moved, with what each adds to the change of some measures.

    Those that move a headline measure most come first.
    """
    top1 = set(run.stored.delta.queries_top1_changed) if run.stored.delta else set()
    known = {name: given for name, given in run.moved.items() if name in run.by_id}
    return named(run, moves_of(known, measures, top1))


def moves_of(
    moved: Mapping[str, Mapping[str, float]], measures: Sequence[str], top1: Collection[str]
) -> pd.DataFrame:
    """Return what each query that moved adds to the change of some measures, largest first."""
    rows = [
        (name, *(given.get(m, 0.0) for m in measures), "yes" if name in top1 else "")
        for name, given in moved.items()
        if any(m in given for m in measures)
    ]
    headline = [i for i, m in enumerate(measures, 1) if m in HEADLINE]
    every = range(1, len(measures) + 1)

    def size(row: Sequence[Any]) -> tuple[Any, ...]:
        largest = (max((abs(row[i]) for i in of), default=0.0) for of in (headline, every))
        return (*(-value for value in largest), row[0])

    return table(("id", *measures, "Other first document"), sorted(rows, key=size))


def readable(run: SearchRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Return differences, or none of their rows where they must not be read.

    That is where a run has no verdict, or the baseline measured something else.
    """
    block = run.stored.delta
    is_other = block is not None and not block.is_comparable
    return frame.iloc[:0] if run.is_withheld or is_other else frame


def levels(run: SearchRun, measure: str) -> pd.DataFrame:
    """Return the mean of a metric by part of the queries, the dimensions in the report's order."""
    frame = run.slices
    frame = frame[frame["measure"] == measure]
    kept = [frame[frame["dimension"] == dimension] for dimension in DIMENSIONS]
    shown = [part.nlargest(MAX_DRAWN, "n_queries", keep="first").sort_index() for part in kept]
    import pandas as pd

    return in_words(pd.concat(shown))


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of parts with dimensions, and sources of labels, as a page names them."""
    parts = list(zip(frame["dimension"], frame["level"], strict=True))
    titles = DIMENSIONS | {"pinned": "Pinned"}
    found = [titles.get(dimension, dimension) for dimension, _ in parts]
    levels = [source(level) if dimension == "source" else level for dimension, level in parts]
    return frame.assign(dimension=_objects(frame, found), level=_objects(frame, levels))


def pairs(run: SearchRun) -> pd.DataFrame:
    """Return every query and measure with its value in both runs, as ``plot.paired`` takes them."""
    before = {q.id: q.metrics for q in run.baseline.queries} if run.baseline else {}
    after = {q.id: q.metrics for q in run.stored.queries}
    return paired_values(before, after, run.changes, {name: run.title(name, 60) for name in after})


def paired_values(
    before: Mapping[str, Mapping[str, float | None]],
    after: Mapping[str, Mapping[str, float | None]],
    measures: Iterable[str],
    titles: Mapping[str, str],
) -> pd.DataFrame:
    """Return the values of every query and measure that both runs have, and their difference."""
    rows = [
        (measure, titles[name], old, new, new - old)
        for measure in measures
        for name, values in after.items()
        if (new := values.get(measure)) is not None
        and (old := before.get(name, {}).get(measure)) is not None
    ]
    return table(("metric", "task_name", "baseline", "comparison", "difference"), rows)


def first_documents(run: SearchRun) -> pd.DataFrame:
    """Return the queries with another first document, before and now, largest effect first."""
    changed = run.stored.delta.queries_top1_changed if run.stored.delta else ()
    before = {q.id: q for q in run.baseline.queries} if run.baseline else {}
    rows = []
    for name in changed if run.stored.delta and run.stored.delta.is_comparable else ():
        if (query := run.by_id.get(name)) is None:
            continue
        old = before.get(name)
        rr = run.moved.get(name, {}).get("RR", 0.0)
        was = None if old is None else first(old, run.places)
        rows.append((name, was, first(query, run.places), rr))
    rows.sort(key=lambda row: (-abs(row[3]), row[0]))
    return named(run, table(("id", "Before", "Now", "RR, points"), rows))


def first(query: QueryResult, places: Places) -> str:
    """Return the first document of a query with its grade, or that nothing came."""
    if not query.ranking:
        return "nothing"
    found = query.ranking[0]
    grade = "unjudged" if found.grade is None else f"grade {found.grade}"
    return Links(Link(found.doc[:60], places.of_document(found.doc)), f" ({grade})")


def label_effects(run: SearchRun) -> pd.DataFrame:
    """Return how much of each change labels made, and how much retrieval did."""
    found = run.label_effects["metrics"] if run.label_effects else {}
    keys = ("before", "after", "total", "labels", "retrieval", "n", "n_left_out")
    rows = [(m, *(found[m][key] for key in keys)) for m in run.measures if m in found]
    head = ("Before", "Now", "Points", "By labels", "By retrieval", "n", "Left out")
    return table(("Metric", *head), rows)


def noise_levels(level: Noise | None) -> pd.DataFrame:
    """Return the noise of every metric: between runs, from sampling queries, of a change."""
    rows = []
    for name in shown_metrics(level.document) if level else ():
        assert level is not None
        own = level.document.metrics[name]
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
    deviations = ("Run to run, SD", "Largest", "Sampling, SD")
    return table(("Metric", "Queries", *deviations, "Noise level of a difference"), rows)


def detectable(level: Noise | None) -> pd.DataFrame:
    """Return the smallest change that 80 % of comparisons find, by number of queries."""
    head, *rows = detectable_rows(level.document) if level else [["queries"]]
    return table(("Queries", *head[1:]), rows)


# --- refusals and claims ---


def refusals(run: SearchRun) -> pd.DataFrame:
    """Return the shares refused by this run and by the two controls, with the gate's decision."""
    block = run.stored.abstention
    head = ("Who decides", "Of unanswerable", "Of answerable", "Passes the gate")
    if block is None:
        return table(head, ())
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
    return table(head, rows)


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
    bands = [] if ax is None else [_known(band) for band in frame["noise_points"]]
    for y, band in enumerate(bands):
        if ax is not None and band:
            ax.barh(y, 2 * band, left=-band, height=0.74, color=style.FAINT, linewidth=0, zorder=0)


def first_scores(run: SearchRun) -> pd.DataFrame:
    """Return the first scores of unanswerable queries beside those of answerable ones."""
    rows: list[tuple[Any, ...]] = []
    for name, wanted in (("Unanswerable", False), ("Answerable", True)):
        group = [query for query in run.stored.queries if query.answerable is wanted]
        tops = [query.ranking[0].score for query in group if query.ranking]
        n_failed = sum(query.status == "failed" for query in group)
        n_nothing = sum(query.status == "ok" and not query.ranking for query in group)
        ends = (min(tops), statistics.median(tops), max(tops)) if tops else (None,) * 3
        rows.append((name, len(group), n_failed, n_nothing, *ends))
    head = ("Failed", "Nothing returned", "Lowest", "Median", "Highest first score")
    return table(("Queries", "n", *head), rows if rows[0][1] else ())


def claim_shares(run: SearchRun) -> pd.DataFrame:
    """Return claim coverage beside faithfulness, and the judge's agreement with people."""
    block = run.stored.claims
    found: list[tuple[str, Any]] = []
    if block is not None:
        found = [("Claim coverage", block.coverage), ("Faithfulness", block.faithfulness)]
        if block.agreement is not None:
            found.append(("Judge and people: κ", block.agreement.kappa))
            found.append(("Judge and people: same verdict", block.agreement.accuracy))
    rows = [(name, s.value, brackets(s.ci_low, s.ci_high), s.n) for name, s in found]
    return table(("Metric", "Share", "Interval", "Claims"), rows)


def claim_support(run: SearchRun) -> pd.DataFrame:
    """Return the substantive claims by what supports them."""
    block = run.stored.claims
    own = [
        c for draft in (block.queries if block else ()) for c in draft.claims if c.is_substantive
    ]
    found = Counter((claim.supported_by is not None, claim.in_context) for claim in own)
    rows = [(words, found[key], len(own), found[key] / len(own)) for key, words in _SUPPORT if own]
    return table(("Supported by", "Claims", "Of", "Share"), rows)


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
        said = bare[0].reason.replace("_", " ")
        shares = (f"{n - n_bare} of {n}", f"{in_context} of {n}")
        rows.append((-n_bare / n, -n_bare, draft.id, *shares, text, said))
    rows.sort(key=lambda row: row[:3])
    names = ("id", "Covered", "In context", "First unsupported claim", "The judge said")
    return named(run, table(names, [row[2:] for row in rows]))


# --- methods ---


def definitions(measures: Iterable[str]) -> pd.DataFrame:
    """Return the definition of every metric."""
    rows = [(m, definition(m) or "not a metric of this package") for m in measures]
    return table(("Metric", "Definition"), rows)


def provenance(run: SearchRun) -> pd.DataFrame:
    """Return fingerprints, versions, settings and the time of measuring."""
    header, settings = run.stored.run, run.stored.run.settings
    own = {} if run.privacy else header.retriever.facts
    base = run.stored.delta.baseline if run.stored.delta else None
    rows = [
        ("Label", run.stored.label or "none"),
        ("Measured", run.stored.generated_at),
        *([("Filter", run.filtered)] if run.part else []),
        ("Gold set", f"{header.gold_set.name}, sha256 {header.gold_set.fingerprint}"),
        *((f"Corpus {c.corpus}", c.fingerprint or "no digest") for c in header.corpora),
        *retriever(own),
        *((name, setting(getattr(settings, name))) for name in settings.__struct_fields__),
        (
            "Baseline",
            f"{run.baseline_name}; gold set {base.gold_fingerprint[:12]}" if base else "none",
        ),
        ("Schema version", run.stored.schema_version),
        ("Measured with", ", ".join(f"{name} {v}" for name, v in header.versions.items())),
        *made_with(),
    ]
    return table(("What", "Value"), rows)


def retriever(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a retriever says of itself, as names and values."""
    return [
        (f"Retriever {name}", str(value))
        for name, value in facts.items()
        if name != "corpora" and value is not None and not isinstance(value, dict | list)
    ][:20]


def setting(value: Any) -> str:
    """Return the value of a setting as text."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def made_with() -> list[tuple[str, str]]:
    """Return package, commit and libraries that made a report."""
    return [
        ("Package", package_version()),
        ("Git commit", commit() or "not run from a checkout"),
        ("Libraries", library_versions()),
    ]
