"""Tables of search runs and differences, each a frame that carries what its table says.

A function returns rows made for one table of the report, with their finding, caption, columns and
notes (see :func:`retrieval_eval.report.defaults.shown_as`), so that ``table.show`` needs nothing
else; numbers stay numbers, and missing ones None. What figures say is returned as their keywords.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.search_run import (
    Abstention,
    QueryResult,
    RefusalRate,
    ShareWithInterval,
)
from retrieval_eval.report import style
from retrieval_eval.report.defaults import Defaults, shown_as
from retrieval_eval.report.exhibits import Link, Links
from retrieval_eval.report.headings import NAMED
from retrieval_eval.report.names import (
    DIMENSIONS,
    SHOWN,
    of,
    rate,
    reason,
    signed,
)
from retrieval_eval.report.registered import Exhibit, plot
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.search_opening import (
    not_asked,
    percent,
    ruling_finding,
    setup_finding,
)
from retrieval_eval.report.search_run import DOCUMENT_GONE, TEXT_CHANGED, SearchRun
from retrieval_eval.report.searched import (
    MEANING,
    STALE,
    STILL,
    Noise,
    Searched,
    brackets,
    excludes_zero,
    known,
    objects,
)
from retrieval_eval.search.change.diff_text import OUTCOMES
from retrieval_eval.search.claims import (
    agreement_words,
    bounds_words,
    unproved_words,
    why_advisory_of,
)
from retrieval_eval.search.decide.guard.rendering import HEAD, cells, method, remarks
from retrieval_eval.search.gold.agreement import disagreements
from retrieval_eval.search.gold.corpus import corpus_fingerprint
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import BLOCK_OF
from retrieval_eval.stats.proportions import MIN_INTERPRETABLE
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

Says = dict[str, Any]
"""The words of a figure as its keywords."""

ROWS: Final = 10
"""Rows that a table of queries lists; the CSV beside the page has all of them."""
MAX_DOCS: Final = 4
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
    is_expected: bool = False,
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
        is_expected=is_expected,
    )
    return shown_as(frame, known_as)


def nothing(key: str, finding: str, why: str, *, is_expected: bool = False) -> pd.DataFrame:
    """Return no rows, with the sentence that a table shows in their place."""
    return says(table((), ()), key, finding, empty=why, is_expected=is_expected)


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


# --- what was measured ---


def agreement(run: SearchRun) -> pd.DataFrame:
    """Return how far labellers agree, by pair of labellers, corpus and weighting."""
    if run.gold is None:
        why = f"{run.gold_problem}." if run.gold_problem else _NO_GOLD
        return nothing(
            "agreement",
            "How far labellers agree is not known",
            why,
            is_expected=not run.gold_problem,
        )
    if not run.labeller_pairs:
        why = (
            "No two people labelled the same document of a query; `retrieval-eval gold pool` makes "
            "sheets for two."
        )
        return nothing(
            "agreement", "No labels were checked by a second labeller", why, is_expected=True
        )
    overall, found = run.labeller_pairs[0].overall, disagreements(run.gold)
    kappa = overall.kappas["none"]
    ends = brackets(kappa.interval.low.value, kappa.interval.high.value)
    settled = of(sum(bool(one.decided_by) for one in found), len(found))
    differ = counted(len(found), "judged document was", "judged documents were")
    people = ("labeller_a", "labeller_b", "corpus")
    return says(
        run.named(run.agreement[run.agreement["weights"] == "none"]),
        "agreement",
        f"Cohen's κ {rate(kappa.value.value)} {ends} over {counted(overall.n, 'pair')} that two "
        "people graded",
        "Agreement of labellers on the documents of queries that both graded",
        f"{differ} graded differently; a third person has settled {settled}." if found else "",
        "κ is agreement beyond chance, at most 1; 95 % intervals resample whole queries."
        "Grades that settled a disagreement are left out. A corpus with few pairs has no κ of its "
        "own.",
        columns=(*people, "kappa", "Interval", "agreement", "n"),
        formats={"kappa": "rate", "agreement": "percent"},
        top=8,
    )


def stale_labels(run: SearchRun) -> pd.DataFrame:
    """Return the labels that the corpus has left behind."""
    gold = run.gold
    if gold is None or run.corpus is None:
        missing = "the documents were" if gold is not None else "the gold set was"
        why = f"Labels were not compared with the corpus, because {missing} not read."
        return nothing(
            "stale-labels", "Whether labels are stale is not known", why, is_expected=True
        )
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
        return nothing("stale-labels", "No label is stale", why, is_expected=True)
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
    {"gold set", "depth", "convention", "empty_ranking", "without_own", "seed", "n_resamples"}
    | {"confidence", "k_values"}
)


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


def moved(view: Searched, metric: str = HEADLINE[0]) -> Exhibit:
    """Return the figure of the difference of every query in a metric."""
    own = pairs(view, [metric])
    words: Says = {}
    if not len(own):
        unread = "The values before are known only when the baseline's file is read."
        why = "No query has the metric in both runs." if view.before else unread
        finding, empty = _incomplete(view) or ("No query is compared", why)
        words = {"finding": finding, "empty": empty}
    return plot.paired(own, metric, unit="query", key="moved", width="half", **words)


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


def changes(view: Searched) -> Exhibit:
    """Return the figure of the difference of every metric of rankings, over the noise level."""
    frame = view.frame("changes" if isinstance(view, SearchDiff) else "delta")
    own = frame[(frame["dimension"] == "all") & ~frame[view.of].isin(OTHERS)]
    own = own.dropna(subset="delta_points")
    interval = ("delta_points", "ci_low_points", "ci_high_points")
    drawn = plot.forest(own, view.of, *interval, key="changes", width="half", **differences(view))
    bands = [] if drawn.ax is None else [known(band) for band in own["noise_points"]]
    for y, band in enumerate(bands):
        if drawn.ax is not None and band:
            drawn.ax.barh(y, 2 * band, left=-band, height=0.74, color=style.FAINT, zorder=0)
    return drawn


def label_effects(view: Searched) -> pd.DataFrame:
    """Return how much of each change labels made, and how much retrieval did."""
    split = view.label_effects
    if split is None and isinstance(view, SearchDiff):
        golds = [side.gold_set.fingerprint for side in (view.document.a, view.document.b)]
        if golds[0] == golds[1]:
            why = "The gold set of both runs is the same one, so labels made none of the change."
            return nothing("label-split", "Both runs have the same labels", why, is_expected=True)
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
        return nothing(
            "label-split", "Labels and retrieval are not separated", why, is_expected=True
        )
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


# --- how good it is ---


def slices(run: SearchRun, measure: str) -> Exhibit:
    """Return the figure of the mean of a metric by part of the queries."""
    frame = run.slices
    frame = frame[frame["measure"] == measure]
    of_dimension = [frame[frame["dimension"] == dimension] for dimension in DIMENSIONS]
    # A dimension of one level says what all queries say.
    many = [part for part in of_dimension if len(part) > 1]
    shown = [part.nlargest(MAX_DRAWN, "n_queries", keep="first").sort_index() for part in many]
    import pandas as pd

    own = run.named(pd.concat(shown) if shown else frame.iloc[:0])
    large = [v for v, n in zip(own["value"], own["n"], strict=True) if n >= MIN_INTERPRETABLE]
    small = len(own) - len(large)
    finding, empty = "No part of the queries is large enough to interpret", "There are no parts."
    if measure not in run.stored.metrics:
        finding, empty = "There is nothing to slice", f"The run did not measure {measure}."
    elif large:
        low, high, parts = rate(min(large)), rate(max(large)), counted(len(large), "part")
        finding = f"{measure} from {low} to {high} over {parts} of the queries"
        finding += f"; {counted(small, 'part')} too small to interpret" if small else ""
    return plot.forest(
        own,
        *("level", "value", "ci_low", "ci_high"),
        by="dimension",
        n="n",
        xlabel=measure,
        key="slices",
        width="half",
        finding=finding,
        caption=f"Mean {measure} with {run.coverage} interval. Fewer than {MIN_INTERPRETABLE} "
        "queries with a value are not interpreted. Among many parts some lie far out by chance.",
        empty=empty,
    )


def slice_changes(view: Searched, metric: str = HEADLINE[0]) -> pd.DataFrame:
    """Return the difference of a metric by part of the queries, the largest first."""
    is_run = isinstance(view, SearchRun)
    key = "slice-changes" if is_run else "diff-slices"
    if is_run and (why := view.withheld) is not None:
        return nothing(key, _NO_DIFFERENCE, why)
    found = view.frame("delta" if is_run else "changes")
    found = found[(found["dimension"] != "all") & (found[view.of] == metric)]
    levels = found.groupby("dimension")["level"].transform("nunique")
    found = found[levels > 1].sort_values("delta_points", key=abs, ascending=False, kind="stable")
    frame = interpreted(view.named(found))
    if not len(frame):
        why = "There is no baseline that this run can be compared with."
        if not is_run:
            why = "The runs share no headline metric, or no query that belongs to a part."
        return nothing(key, "Nothing to compare by part", why, is_expected=is_run)
    own = frame[frame["n_pairs"] >= MIN_INTERPRETABLE]
    points = [float(v) for v in own["delta_points"].dropna()]
    finding = f"No part has {MIN_INTERPRETABLE} queries with a value in both runs"
    if points:
        finding = (
            f"{metric} changed by {signed(min(points))} to {signed(max(points))} points over "
            f"{counted(len(points), 'part')} of the queries"
        )
    numbers = ("delta_points", "Interval", *(("noise_points",) if view.level else ()))
    return says(
        frame,
        key,
        finding,
        f"Difference in points by part of the queries, with {view.coverage} interval",
        UNADJUSTED,
        WIDENED if view.level else "",
        columns=("dimension", "level", "n_pairs", *numbers),
        file="delta.csv" if is_run else "changes.csv",
        top=12,
    )


# --- refusals and claims ---


def _refusing(block: Abstention) -> str:
    """Return what refusing does, as a finding."""
    caught, refused, area = block.true_positive_rate, block.false_refusal_rate, block.auc
    if caught.value is None:
        return f"What refusing does is not computable: {reason(caught.reason)}"
    finding = f"{of(n_refused(caught), caught.n)} unanswerable queries were refused"
    if refused.value is not None:
        finding += f", and {of(n_refused(refused), refused.n)} answerable ones"
    return f"{finding}; AUC {rate(area.value)}" if area.value is not None else finding


def refusals(run: SearchRun) -> Exhibit:
    """Return the figure of refusals over all thresholds, with the gate, this run and controls."""
    block = run.stored.abstention
    axes = ("false_refusal_rate", "true_positive_rate")
    if block is None:
        why = "The gold set has no query that no document answers, so there is nothing to refuse "
        why += "rightly."
        if any(query.answerable is False for query in run.stored.queries):
            why = "The run was measured before refusals were; measure it again."
        finding = "Refusals were not measured"
        return plot.curve(run.roc, *axes, key="roc", finding=finding, empty=why)
    area, at, gate = block.auc, block.operating_point, block.gate
    marks = {"always answer": (0.0, 0.0), "always refuse": (1.0, 1.0)}
    if at.true_positive_rate is not None and at.false_refusal_rate is not None:
        marks = {"this run": (at.false_refusal_rate, at.true_positive_rate), **marks}
    summary = f"AUC {rate(area.value)} {brackets(area.ci_low, area.ci_high)}"
    drawn = plot.curve(
        run.roc,
        *axes,
        marks=marks,
        diagonal=True,
        key="roc",
        width="half",
        finding=_refusing(block),
        caption="A point is a threshold of the top score below which a query is refused. "
        f"{summary} ({run.coverage}). Shaded: where the gate passes. Dotted: chance.",
        empty="The retriever failed on queries, so there is no curve."
        if block.n_failed
        else "A curve needs both kinds of queries, answerable and unanswerable.",
        alt=f"ROC of refusing by the top score: {summary} over {block.n_unanswerable} "
        f"unanswerable and {block.n_answerable} answerable queries. This run refuses "
        f"{rate(at.true_positive_rate)} of the unanswerable and {rate(at.false_refusal_rate)} of "
        "the answerable; always answering lies at 0 and 0, always refusing at 1 and 1.",
    )
    if drawn.ax is not None:
        right, low = gate.max_false_refusal_rate, gate.min_true_positive_rate
        soft = style.MARKS[2].soft
        drawn.ax.fill_between([0, right], low, 1, color=soft, linewidth=0, zorder=0)
        drawn.ax.annotate("gate", (right, low), (4, 4), textcoords="offset points", fontsize=8)
    return drawn


def claims(run: SearchRun) -> pd.DataFrame:
    """Return claim coverage beside faithfulness, and the judge's agreement with people."""
    block = run.stored.claims
    if block is None:
        why = (
            "No drafts were judged; `retrieval-eval search claims RUN --drafts FILE --judge NAME` "
            "adds them to a run."
        )
        return nothing("claims", "No drafted answer was judged", why, is_expected=True)
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


# --- methods ---


def n_refused(found: RefusalRate) -> int | None:
    """Return how many queries of a rate were refused."""
    if found.n_refused is not None or found.value is None:
        return found.n_refused
    return round(found.value * found.n)


# --- queries ---


def worst(run: SearchRun, measure: str = "nDCG@10") -> pd.DataFrame:
    """Return scored queries, those that found nothing first, then the worst ranked."""
    queries = run.queries
    scored = queries[queries["id"].isin([query.id for query in run.scored])]
    n_missed, n_below = int(scored["first_relevant"].isna().sum()), 0
    if measure in scored:
        n_below = sum(value < 0.5 for value in scored[measure].dropna()) - n_missed
    finding = f"{of(n_missed, len(scored))} scored queries found nothing relevant"
    if n_below > 0:
        finding += f", {n_below:,} more have {measure} below 0.50"
    shown = [m for m in (measure, *HEADLINE) if m in scored]
    frame = ordered(scored, measure) if measure in scored else scored
    return says(
        answers(run, frame),
        "worst",
        finding,
        f"Scored queries by {measure}, with the ranks of relevant documents",
        ""
        if run.gold is not None
        else "Relevant documents that were not retrieved are named when the gold set is read.",
        empty="No query could be scored, so none can be said to have found nothing.",
        columns=("query", "corpus", *shown, "Returned", "Relevant documents"),
        file="queries.csv",
    )
