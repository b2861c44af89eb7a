"""Small tables of search runs and differences beside their frames: set-up, moves and others.

Each is a frame made for one table of the report; numbers stay numbers, and missing ones None.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.gold.backlog import STATUSES
from retrieval_eval.model.search_diff import MovedDocument, MovedDocuments
from retrieval_eval.model.search_run import QueryResult, RefusalRate
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report import style
from retrieval_eval.report.checkout import commit
from retrieval_eval.report.exhibits import Link, Links
from retrieval_eval.report.names import DIMENSIONS, PROBLEMS, SOURCES, cutoff, definition
from retrieval_eval.report.numbers import rate
from retrieval_eval.report.provenance import library_versions, package_version
from retrieval_eval.report.query_pages import Places
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.searched import SIDES, Searched, brackets, known, objects
from retrieval_eval.search.guard.rendering import HEAD, cells
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.noise import detectable_rows, shown_metrics
from retrieval_eval.search.scoring import NO_NAME
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from retrieval_eval.report.search_run import SearchRun

MAX_DOCS: Final = 4
MAX_MOVERS: Final = 5
MAX_LEVELS: Final = 20
OTHERS: Final = frozenset(BLOCK_OF)
"""Metrics that are none of rankings: of refusals and drafted answers."""
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


def with_ties(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means with the range over orders of equal scores as text, ``Ties``; None: one value.

    The range has as many decimals as tell its ends apart.
    """
    ends = zip(frame["tie_low"].astype(object), frame["tie_high"].astype(object), strict=True)
    return frame.assign(Ties=objects(frame, [_ties(known(a), known(b)) for a, b in ends]))


def _ties(low: float | None, high: float | None) -> str | None:
    if low is None or high is None or high - low < 5e-7:
        return None
    digits = next((d for d in range(2, 6) if rate(low, d) != rate(high, d)), 6)
    return f"[{rate(low, digits)}, {rate(high, digits)}]"


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
    remarks = [", ".join(_code(c) for c in q.problems[:12]) or q.status for q in asked]
    return run.named(frame).assign(
        **{
            "Returned": objects(frame, [_returned(query) for query in asked]),
            "Relevant documents": objects(frame, [_relevant(run, query) for query in asked]),
            "Remark": objects(frame, remarks),
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
    return run.named(table(("id", "metric", "baseline", "current", "points"), rows))


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


def both_setups(diff: SearchDiff) -> pd.DataFrame:
    """Return both runs of a difference side by side."""
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
    return table(("Run", "Label", "Measured", "Retriever", "Gold set", "Queries", "Failed"), rows)


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
    rows = (
        [(_code(part), block.get(part)) for part in (*STATUSES, "other", "total")] if block else []
    )
    return table(("Status", "Items"), rows)


# --- against the baseline ---


def moves(view: Searched, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the queries that moved, with what each adds to the change of some metrics.

    Those that move a headline metric most come first.
    """
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

    return view.named(table(("id", *metrics, "Other first document"), sorted(rows, key=size)))


def levels(run: SearchRun, measure: str) -> pd.DataFrame:
    """Return the mean of a metric by part of the queries, the dimensions in the report's order."""
    frame = run.slices
    frame = frame[frame["measure"] == measure]
    kept = [frame[frame["dimension"] == dimension] for dimension in DIMENSIONS]
    shown = [part.nlargest(MAX_DRAWN, "n_queries", keep="first").sort_index() for part in kept]
    import pandas as pd

    return run.named(pd.concat(shown))


def pairs(view: Searched) -> pd.DataFrame:
    """Return every query and metric with its value in both runs, as ``plot.paired`` takes them."""
    before = {q.id: q.metrics for q in view.before.queries} if view.before else {}
    sides = view.names if isinstance(view, SearchDiff) else ("baseline", "this run")
    rows = [
        (metric, view.title(query.id, 60), old, new, new - old, *sides)
        for metric in view.differences
        for query in view.runs[-1].queries
        if (new := query.metrics.get(metric)) is not None
        and (old := before.get(query.id, {}).get(metric)) is not None
    ]
    values = ("metric", "task_name", "baseline", "comparison", "difference")
    return table((*values, "baseline_config", "comparison_config"), rows)


def first_documents(view: Searched) -> pd.DataFrame:
    """Return the queries with another first document, before and after, largest effect first."""
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
    return view.named(table(("id", "before", "after", "points"), rows))


def first(query: QueryResult, places: Places) -> str:
    """Return the first document of a query with its grade, or that nothing came."""
    if not query.ranking:
        return "nothing"
    found = query.ranking[0]
    grade = "unjudged" if found.grade is None else f"grade {found.grade}"
    return Links(Link(found.doc[:60], places.of_document(found.doc)), f" ({grade})")


def moved_documents(diff: SearchDiff, metric: str) -> pd.DataFrame:
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
    head = ("id", "Came (grade, rank before)", "Left (grade, rank now)", metric, "points")
    return diff.named(table(head, rows))


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


def label_effects(run: SearchRun) -> pd.DataFrame:
    """Return how much of each change labels made, and how much retrieval did."""
    found = run.label_effects["metrics"] if run.label_effects else {}
    keys = ("before", "after", "total", "labels", "retrieval", "n", "n_left_out")
    rows = [(m, *(found[m][key] for key in keys)) for m in run.measures if m in found]
    head = ("Before", "Now", "Points", "By labels", "By retrieval", "n", "Left out")
    return table(("Metric", *head), rows)


def noise_levels(view: Searched) -> pd.DataFrame:
    """Return the noise of every metric: between runs, from sampling queries, of a change."""
    rows, level = [], view.level
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


def detectable(view: Searched) -> pd.DataFrame:
    """Return the smallest change that 80 % of comparisons find, by number of queries."""
    head, *rows = detectable_rows(view.noise_floor) if view.noise_floor else [["queries"]]
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
    bands = [] if ax is None else [known(band) for band in frame["noise_points"]]
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
    return run.named(table(names, [row[2:] for row in rows]))


# --- methods ---


def definitions(measures: Iterable[str]) -> pd.DataFrame:
    """Return the definition of every metric."""
    rows = [(m, definition(m) or "not a metric of this package") for m in measures]
    return table(("Metric", "Definition"), rows)


def provenance(view: Searched) -> pd.DataFrame:
    """Return fingerprints, versions, settings and the time of measuring."""
    rows = []
    for side, run in zip(SIDES, view.runs, strict=False):
        own = _measured(run, is_private=view.privacy)
        rows += [(f"{side}: {name}" if len(view.runs) > 1 else name, v) for name, v in own]
    settings = view.settings
    return table(
        ("What", "Value"),
        [
            *rows,
            *([("Filter", view.filtered)] if view.part else []),
            *((name, _setting(getattr(settings, name))) for name in settings.__struct_fields__),
            ("Noise", view.level.document.generated_at if view.level else "not measured"),
            ("Package", package_version()),
            ("Git commit", commit() or "not run from a checkout"),
            ("Libraries", library_versions()),
        ],
    )


def _measured(run: StoredRun, *, is_private: bool) -> Iterator[tuple[str, str]]:
    yield "Label", run.label or "none"
    yield "Measured", run.generated_at
    yield "Gold set", f"{run.run.gold_set.name}, sha256 {run.run.gold_set.fingerprint}"
    yield from ((f"Corpus {c.corpus}", c.fingerprint or "no digest") for c in run.run.corpora)
    facts = {} if is_private else run.run.retriever.facts
    known = {k: v for k, v in facts.items() if k != "corpora" and v is not None}
    simple = [(k, str(v)) for k, v in known.items() if not isinstance(v, dict | list)]
    yield from ((f"Retriever {name}", value) for name, value in simple[:20])
    base = run.delta.baseline if run.delta else None
    named = f"{visible(base.label or 'no label', 36)}, {visible(base.generated_at)}" if base else ""
    yield "Baseline", f"{named}; gold set {base.gold_fingerprint[:12]}" if base else "none"
    yield "Schema version", run.schema_version
    yield "Measured with", ", ".join(f"{name} {v}" for name, v in run.run.versions.items())


def _setting(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
