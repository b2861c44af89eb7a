"""What search pages say beside their tables and figures: findings, captions and notes.

Each function returns the sentences of one exhibit as keywords of ``plot.…`` and ``table.…``:
``finding``, ``caption``, ``notes``, ``empty`` for the sentence where there is nothing to show, and
``top`` for how many rows are listed. Their numbers come from the run, or the difference of two
runs, that the frame of the exhibit comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.gold.agreement import disagreements
from retrieval_eval.gold.corpus import corpus_fingerprint
from retrieval_eval.report import search_tables as summaries
from retrieval_eval.report.names import SHOWN, cutoff, reason
from retrieval_eval.report.numbers import MISSING, of, p_value, rate, signed
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
from retrieval_eval.report.search_tables import n_refused
from retrieval_eval.report.searched import (
    MEANING,
    STALE,
    STILL,
    Noise,
    Searched,
    brackets,
    excludes_zero,
    values_of,
)
from retrieval_eval.search.guard.rendering import method, remarks
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.agreement import Kappa
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.study.stated import ALPHA
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

Says = dict[str, Any]

ROWS: Final = 25
"""Rows that a table of queries lists; the CSV beside the page has all of them."""

_NO_BASELINE: Final = (
    "There is no baseline yet. `retrieval-eval search baseline --update RUN` makes a run the "
    "baseline; measure before and after any change of the retrieval layer."
)
_NO_DIFFERENCE: Final = "No difference is given without a verdict"
_DEFINED: Final = "How each number is defined"
_NO_GOLD: Final = "The gold set was not read; name it with --gold."
UNADJUSTED: Final = (
    "A dash: too few queries moved for an interval. Not adjusted for the number of parts: among "
    "so many, one that leaves out 0 is expected now and then."
)
WIDENED: Final = (
    "Noise level of a part: that of all queries, wider by the root of how many fewer the part has, "
    "as if queries varied independently."
)


def says(
    finding: str,
    caption: str = "",
    *notes: str,
    empty: str = "",
    frame: pd.DataFrame | None = None,
    file: str = "",
    top: int = ROWS,
) -> Says:
    """Return the sentences of an exhibit; empty ones are left to the exhibit itself.

    Of a ``frame`` the first ``top`` rows are listed, and a note names the file that has them all.
    """
    found: Says = {"finding": finding, "caption": caption, "empty": empty}
    found = {k: v for k, v in found.items() if v}
    if frame is not None:
        found["top"] = top
        notes = (*notes, f"All rows are in {file}." if len(frame) > top else "")
    shown = tuple(visible(note, 600) for note in notes if note)
    return found | ({"notes": shown} if shown else {})


# --- the guard ---


def guard(run: SearchRun) -> Says:
    """Return the words about the guard's thresholds."""
    ruling, level = run.ruling, run.level
    if ruling is None:
        return says(
            "There is no verdict of the guard",
            empty=f"The guard was not asked: {not_asked(run)}.",
        )
    stated = remarks(ruling)
    if run.privacy and ruling.reasons:
        # The reasons of a run without a verdict repeat what its retriever said.
        stated = [f"No verdict: {run.withheld or 'the runs cannot be compared.'}"]
    still = STILL if level is not None and level.is_deterministic else ""
    stale = STALE if level is not None and level.stale else ""
    return says(
        ruling_finding(ruling),
        f"Thresholds against the baseline ({run.baseline_name}); differences in points",
        *stated,
        still,
        stale,
        method(ruling),
        empty="No threshold applies.",
    )


def movers() -> Says:
    """Return the words about the queries behind thresholds that are out of bounds."""
    return says(
        "Queries behind the thresholds that do not plainly pass",
        f"The first {summaries.MAX_MOVERS} queries that moved each of these the wrong way",
        empty="No query moved a threshold that is out of bounds.",
    ) | {"header": {"current": "Now"}}


def composite(run: SearchRun) -> Says:
    """Return the words about the composite and its worst component."""
    block = run.stored.composite
    caption = "Components against their bounds; the composite is the smallest margin, never a mean"
    if block is None or not block.components:
        why = "The run holds no composite: it was measured before there was one."
        if block is not None:
            why = "No threshold has a floor or a ceiling, so there is no margin to take."
        if run.part is not None:
            why = "The bounds of the composite are those of whole runs, so a part has none."
        return says("There is no composite score", empty=why)
    held = sum(c.passes is True for c in block.components)
    value = block.value
    finding = "The composite is not computable: a component is missing"
    if value.value is not None:
        ends = brackets(value.ci_low, value.ci_high, signs=True)
        finding = (
            f"Composite {signed(value.value)} {ends}: the worst is {visible(block.worst, 60)}; "
            f"{of(held, len(block.components))} bounds hold"
        )
    return says(finding, caption, *(f"{why}." for why in block.reasons))


# --- what was measured ---


def setup(run: SearchRun) -> Says:
    """Return the words about the set-up."""
    n = counted(run.stored.status.n_queries, "query")
    corpora = counted(len(run.stored.run.corpora), "corpus", "corpora")
    depth = f"{run.stored.run.settings.depth:,} documents deep"
    return says(f"{n} of {corpora}, {depth}", "What was asked, and how")


def composition(run: SearchRun) -> Says:
    """Return the words about the gold set."""
    gold = run.stored.run.gold_set
    asked = of(len(run.stored.queries), gold.n_queries)
    problem = f"{run.gold_problem}." if run.gold_problem else ""
    caption = f"Queries that were asked, {asked} of the gold set"
    return says(f"Labels: {label_sources(gold)}", caption, problem, empty="No query was asked.")


def agreement(run: SearchRun) -> Says:
    """Return the words about how far labellers agree."""
    if run.gold is None:
        why = f"{run.gold_problem}." if run.gold_problem else _NO_GOLD
        return says("How far labellers agree is not known", empty=why)
    if not run.labeller_pairs:
        why = (
            "No two people labelled the same document of a query; `retrieval-eval gold pool` makes "
            "sheets for two."
        )
        return says("No labels were checked by a second labeller", empty=why)
    first, found = run.labeller_pairs[0], disagreements(run.gold)
    settled = of(sum(bool(one.decided_by) for one in found), len(found))
    differ = counted(len(found), "judged document was", "judged documents were")
    return says(
        f"Cohen's κ {_kappa(first.overall.kappas['none'])} over "
        f"{counted(first.overall.n, 'pair')} that two people graded",
        "Agreement of labellers on the documents of queries that both graded",
        f"{differ} graded differently; a third person has settled {settled}." if found else "",
        "κ is agreement beyond chance, at most 1; 95 % intervals resample whole queries. In "
        "weighted κ a disagreement counts by its size. Grades that settled a disagreement are left "
        "out. A corpus with few pairs has no κ of its own.",
    )


def _kappa(kappa: Kappa) -> str:
    return (
        f"{rate(kappa.value.value)} {brackets(kappa.interval.low.value, kappa.interval.high.value)}"
    )


def confusion(run: SearchRun) -> Says:
    """Return the words about the grades of the first pair of labellers."""
    if not run.labeller_pairs:
        return says("No pair of labellers to compare", empty="No two people graded the same.")
    pair = run.labeller_pairs[0]
    first, second = (visible(run.labeller(name), 24) for name in (pair.first, pair.second))
    caption = f"Grades of {first} and {second}: rows the first, columns the second"
    same = sum(row[i] for i, row in enumerate(pair.overall.table))
    return says(f"{of(same, pair.overall.n)} pairs got the same grade", caption)


def labels() -> Says:
    """Return the words about where labels come from."""
    return says(
        "Where labels come from",
        "Judged pairs of query and document, by who made the row",
        "By one, by more: with the grade of one named person, or of several, on record. Settled: a "
        "third person decided a disagreement. Anchored: the place and digest of the text that was "
        "judged.",
        empty=_NO_GOLD,
    )


def stale_labels(run: SearchRun) -> Says:
    """Return the words about labels that the corpus has left behind."""
    gold = run.gold
    if gold is None or run.corpus is None:
        missing = "the documents were" if gold is not None else "the gold set was"
        why = f"Labels were not compared with the corpus, because {missing} not read."
        return says("Whether labels are stale is not known", empty=why)
    n = sum(len(query.relevant) for query in gold.queries)
    anchored = sum(doc in query.anchors for query in gold.queries for doc in query.relevant)
    frame = run.stale_labels
    if not len(frame):
        why = (
            f"All {n:,} judged documents are in the corpus, and {of(anchored, n)} were checked by "
            "their text."
        )
        return says("No label is stale", "", empty=" ".join(filter(None, (why, _other(run)))))
    found = {code: int((frame["reason"] == code).sum()) for code in (DOCUMENT_GONE, TEXT_CHANGED)}
    words = {DOCUMENT_GONE: "gone", TEXT_CHANGED: "of another text"}
    counts = " and ".join(f"{k:,} {words[code]}" for code, k in found.items() if k)
    bare = f"{of(n - anchored, n)} labels have no anchor: only their ids could be checked."
    return says(
        f"{of(len(frame), n)} labels are stale: {counts}",
        "Judged documents that are no longer what was judged",
        "`retrieval-eval gold relabel` moves what it can and queues the rest for a person.",
        _other(run),
        bare if anchored < n else "",
        frame=frame,
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


def judged(run: SearchRun) -> Says:
    """Return the words about ties and unjudged documents."""
    mean = run.stored.metrics.get(JUDGED)
    finding = "Every metric" if run.stored.metrics else "Nothing was measured"
    if mean is not None and mean.value is not None:
        finding = (
            f"{percent(mean.value)} of the first ten documents were judged (n = {mean.n}); the "
            "others count as not relevant"
        )
    lost = [(m, mean.reason) for m, mean in run.stored.metrics.items() if mean.value is None]
    bounds = run.part is None or run.gold is not None
    return says(
        finding,
        f"Every metric: mean over queries with a value, {run.coverage} interval, and what could "
        "move it",
        "Ties: range of the mean over all orders of documents with equal scores. Unjudged: the "
        "largest mean there could be if retrieved unjudged documents were relevant; the smallest "
        "is the mean itself.",
        "" if bounds else "Of some queries both are known only when the gold set is read.",
        f"{MISSING} {', '.join(m for m, _ in lost)}: {reason(lost[0][1])}." if lost else "",
        empty="The run holds no metric.",
    )


def to_judge(run: SearchRun) -> Says:
    """Return the words about the documents to judge next."""
    if run.queue is None:
        return says("What to judge next is not known", empty=_NO_GOLD)
    found = run.queue.candidates
    if not found:
        why = "Every document that could move a headline metric was judged."
        return says("Nothing is left to judge", empty=why)
    gaps = [
        f"{m} lies between {rate(mean.value)} and {rate(mean.unjudged_high)}"
        for m in HEADLINE
        if (mean := run.stored.metrics.get(m)) is not None and mean.unjudged_high is not None
    ]
    gained, total = (sum(c.gain_points for c in part) for part in (found[:ROWS], found))
    return says(
        f"{'; '.join(gaps) or 'Bounds are not known'}: {len(found):,} unjudged documents decide "
        "where",
        "Unjudged documents, by how many points judging them can narrow the bounds of "
        f"{' and '.join(HEADLINE)}",
        f"The {min(ROWS, len(found))} listed make up {rate(gained)} of {rate(total)} points; "
        "`retrieval-eval search judge-next` makes a sheet of them.",
        frame=run.to_judge,
        file="to_judge.csv",
    )


def problems(run: SearchRun) -> Says:
    """Return the words about what happened to queries."""
    status, asked = run.stored.status, run.stored.queries
    n = sum(q.status == "failed" or bool(q.problems) for q in asked)
    noted = ([("failed", status.n_failed)] if status.n_failed else []) + [*status.problems.items()]
    remarks_ = ", ".join(f"{k:,} {visible(code.replace('_', ' '), 40)}" for code, k in noted[:12])
    fine = f"All {counted(len(asked), 'query')} were answered without a fault"
    return says(
        f"{of(n, len(asked))} answers are remarked on: {remarks_}" if n else fine,
        "Queries by what happened to them; one query may have several",
    )


def problem_queries(frame: pd.DataFrame) -> Says:
    """Return the words about the queries with a remark."""
    return says(
        f"{counted(len(frame), 'query')} with a remark",
        "Queries with a remark, failed ones first",
        empty="Every query was answered without a fault.",
        frame=frame,
        file="queries.csv",
    )


def review(run: SearchRun) -> Says:
    """Return the words about the review backlog."""
    if run.part is not None:
        why = "The review queue is that of all queries, so it does not follow the filter."
        return says("The review backlog is not shown for a part of the queries", empty=why)
    if run.backlog is None:
        why = "The review queue was not counted for this report."
        return says("The review backlog is unknown", empty=why)
    day = visible(run.backlog.get("as_of") or "undated")[:10]
    return says(f"Review backlog: {backlog(run.backlog)}", f"Items by review status, {day}")


# --- against the baseline ---


def _incomplete(view: Searched) -> Says | None:
    """Return the words in place of a comparison that cannot be made."""
    if isinstance(view, SearchRun) and (why := view.delta_withheld) is not None:
        return says(_NO_DIFFERENCE, empty=why)
    if isinstance(view, SearchRun) and (reasons := view.incomparable):
        why = f"The runs did not measure the same: {'; '.join(reasons)}."
        return says("The baseline cannot be compared with", empty=visible(why, 600))
    if view.block is None:
        return says("No baseline to compare with", empty=_NO_BASELINE)
    return None


def changed(run: SearchRun) -> str:
    """Return what differs between the set-ups."""
    given = run.stored.delta.changes if run.stored.delta else ()
    if not given:
        return "The set-up of both runs is recorded as the same."
    if run.privacy:
        return f"The set-up differs in {counted(len(given), 'setting')}."
    shown = "; ".join(visible(change, 100) for change in given[:6])
    return f"Changed: {shown}{f'; and {len(given) - 6} more' if len(given) > 6 else ''}."


def moves(view: Searched, frame: pd.DataFrame) -> Says:
    """Return the words about the queries that moved."""
    if (found := _incomplete(view)) is not None:
        return found
    undecided = (
        "There is no verdict: what follows shows single queries, and their sum is no measured "
        "difference."
    )
    is_run = isinstance(view, SearchRun)
    return says(
        f"{of(len(view.moved), view.n_compared)} queries moved" if view.moved else "No query moved",
        "Queries that moved one of these metrics, by the points they add to its difference",
        undecided if view.withheld is not None else "",
        changed(view) if isinstance(view, SearchRun) else "",
        "A query moved when at least one metric of its ranking differs. A query adds "
        f"({'now − before' if is_run else 'B − A'}) / n, in points, and what all add is the "
        "difference. 0 is unchanged, 0.00 a change below 0.005 points.",
        empty="No query moved any of these metrics.",
        frame=frame,
        file="contributions.csv",
    )


def paired(view: Searched, pairs: pd.DataFrame) -> Says:
    """Return the words in place of a figure of single queries; where it is drawn, its own do."""
    if len(pairs):
        return {}
    unread = "The values before are known only when the baseline's file is read."
    why = "No query has a metric in both runs." if view.before else unread
    return _incomplete(view) or says("No query is compared", empty=why)


def first_documents(view: Searched, frame: pd.DataFrame) -> Says:
    """Return the words about the queries with another first document, and heads of its columns."""
    if (found := _incomplete(view)) is not None:
        return found
    is_diff = isinstance(view, SearchDiff)
    before, after = view.names if is_diff else ("Before", "Now")
    unread = "The first document before is known only when the baseline's file is read."
    found = says(
        f"{of(len(frame), view.n_compared)} queries have another first document",
        "First documents that changed, with their grade, and what the query adds to RR in points",
        _grades(view) if view.before else unread,
        empty="Every query that was answered in both runs has the same first document.",
        frame=frame,
        file=f"first_documents.csv{'' if is_diff else ' of `retrieval-eval search diff --report`'}",
    )
    return found | {"header": {"before": before, "after": after, "points": "RR, points"}}


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


def moved_documents(diff: SearchDiff, metric: str, frame: pd.DataFrame) -> Says:
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
    others = counted(len(own) - len(frame), "query")
    return says(
        f"{came} relevant documents entered the first {k}, {went} left",
        f"Documents that came into or left the first {k}, by what the query adds to {metric}",
        f"Not listed: {others} in which only unjudged documents changed places.",
        empty="Only unjudged documents changed places.",
        frame=frame,
        file="documents.csv",
    )


def differences(view: Searched) -> Says:
    """Return the words about the difference of every metric."""
    if (found := _incomplete(view)) is not None:
        return found
    is_diff = isinstance(view, SearchDiff)
    if not is_diff and (why := view.withheld) is not None:
        return says(_NO_DIFFERENCE, empty=why)
    level, minus, stated = view.level, "this run minus the baseline", []
    ranked = {m: c for m, c in view.differences.items() if m not in BLOCK_OF}
    known = [c for c in ranked.values() if c.ci_low_points is not None]
    if isinstance(view, SearchDiff):
        document, minus = view.document, " minus ".join(reversed(view.names))
        flagged = of(len(document.flagged), len(document.metrics))
        stated = [f"{flagged} metrics moved by more than {document.settings.flag_points:g} points"]
    clear = f"{of(sum(map(excludes_zero, known)), len(known))} metrics"
    clear += " of rankings have" if is_diff else " have"
    stated.append(
        f"{clear} an interval that leaves out 0" if known else "no metric has an interval"
    )
    if level is not None and not level.is_deterministic:
        bands = [(abs(c.delta_points or 0.0), level.band(m)) for m, c in ranked.items()]
        outside = [moved > band for moved, band in bands if band is not None]
        beyond = of(sum(outside), len(outside))
        stated.append(f"{beyond} lie outside the noise level of the system")
    finding = "; ".join(stated)
    return says(
        f"{finding[:1].upper()}{finding[1:]}",
        f"Mean over the queries that have the metric in both runs, {minus}, in points, with a "
        f"{view.coverage} paired bootstrap interval. The metrics overlap and the intervals are not "
        f"adjusted for their number.{noise_caption(level)}",
        empty="No query has a value in both runs, so there is no difference.",
    )


def noise_caption(level: Noise | None) -> str:
    """Return what a figure of differences says of the noise level."""
    if level is None:
        return " The noise of the system was not measured."
    stale = " That file is stale." if level.stale else ""
    if level.is_deterministic:
        return f" The system is deterministic, so its noise level is 0.{stale}"
    return f" Grey: {MEANING[:1].lower()}{MEANING[1:]}{stale}"


def every_difference(view: Searched) -> Says:
    """Return the words about the differences as a table: the headline metrics and their p."""
    found = differences(view)
    headline = [
        f"{m}: {rate(before)} → {rate(after)}, p adjusted over the headline metrics (Holm) "
        f"{_p(view.adjusted.get(m))}."
        for m in view.headline
        for before, after in (values_of(view.differences[m]),)
    ]
    stated = [" ".join(headline), WIDENED if view.part and view.level else ""]
    if "caption" not in found:
        return found
    found["caption"] = "Difference of every metric, in points"
    if isinstance(view, SearchDiff):
        a, b = view.names
        own = {"a": a, "b": b, "n_only_a": "A only", "n_only_b": "B only", "is_flagged": "Flagged"}
        unpaired = (
            "Without pairs: the metric is no mean over queries, so the runs are compared as they "
            "stand, without an interval."
        )
        found |= {"header": own}
        stated = [view.withheld or "", *stated, unpaired]
    return found | {"notes": tuple(filter(None, stated))}


def _p(value: float | None) -> str:
    return "not computable" if value is None else p_value(value)


def label_effects(run: SearchRun) -> Says:
    """Return the words about the effects of labels and of retrieval."""
    found = run.label_effects
    if found is None:
        why = (
            "That takes a gold set that was re-labelled after a re-chunking: `retrieval-eval gold "
            "relabel` writes the mapping that --mapping names, --old-gold the labels of the "
            "baseline."
        )
        return says("Labels and retrieval are not separated", empty=why)
    shown = [
        f"{m}: labels {signed(part['labels'])}, retrieval {signed(part['retrieval'])} points"
        for m in HEADLINE
        if (part := found["metrics"].get(m)) is not None
    ]
    return says(
        "; ".join(shown) or "No headline metric to split",
        "Difference of every metric in points, by what made it",
        "Between the runs are the old rankings, translated to the new documents: measured with the "
        "new labels they differ from the baseline by labels alone, and this run differs from them "
        "by retrieval alone. Left out: queries without the metric in one of the three.",
    )


def noise(view: Searched) -> Says:
    """Return the words about the noise level.

    What made it stale may be how the retriever was opened, which private reports leave out.
    """
    level = view.level
    if level is None:
        why = "No noise file was read; `retrieval-eval search noise` repeats a run and writes one."
        return says("The noise level of the system is not known", empty=why)
    document = level.document
    runs = counted(document.n_runs, "run")
    if level.is_deterministic:
        finding = f"{runs} of the same system gave the same documents: it is deterministic"
    else:
        varied = counted(document.n_queries_varied, "query")
        finding = f"{varied} of {document.n_queries:,} varied between {runs} of the system"
    stated = [f"{text[:1].upper()}{text[1:]}." for text in level.stale]
    if level.stale:
        finding = f"Stale noise: {finding[:1].lower()}{finding[1:]}"
        if view.privacy:
            verb = "is" if len(stated) == 1 else "are"
            stated = [f"There {verb} {counted(len(stated), 'reason')} for that."]
    caption = "Noise in points: between runs of one system, and from the choice of queries"
    return says(finding, caption, *stated, MEANING, empty="The noise file has no metric.")


def detectable() -> Says:
    """Return the words about the smallest differences that comparisons find."""
    return says(
        "More queries show smaller differences",
        "Smallest difference in points that 80 % of comparisons would find, by number of queries",
        "From the best case, in which the noise of runs alone hides a difference, to the worst: "
        "two systems with nothing in common. Between them, where it was measured, a typical "
        "difference.",
        empty="Without a noise file this is not known.",
    )


def transfer(run: SearchRun) -> Says:
    """Return the words about the change with one corpus left out."""
    unknown = "Whether the change holds elsewhere is not known"
    found = run.held_out
    if found is None:
        why = "There is no baseline, whose file was read, that this run can be compared with."
        return says(unknown, empty=why)
    if (why_not := run.withheld) is not None:
        return says(_NO_DIFFERENCE, empty=why_not)
    if not found["computable"]:
        why = "Fewer than two corpora were asked, so none can be left out."
        return says(unknown, empty=why)
    shown = {m: found["metrics"][m] for m in SHOWN if m in found["metrics"]}
    return says(
        "; ".join(f"{m} {_holds(row)}" for m, row in shown.items()) or "No metric to compare",
        f"Difference on the corpus left out: points, {run.coverage} interval, queries, and whether "
        "its sign is that of the difference on all others",
        f"Below {MIN_INTERPRETABLE} queries nothing is interpreted. An interval that holds 0 may "
        "have either sign by chance. More metrics are in transfer.csv.",
        empty="No metric is shared.",
    )


def _holds(row: Mapping[str, Any]) -> str:
    parts = [part["verdict"] for part in row["corpora"].values()]
    if row["holds_everywhere"] is True:
        return f"moves alike on all {len(parts)} corpora"
    return f"holds on {parts.count('holds')} of {len(parts)} corpora left out"


# --- how good it is ---


def cutoffs(run: SearchRun, metric: str) -> Says:
    """Return the words about a metric at each cut-off, with the coverage of the run's intervals.

    The finding is that of one cut-off.
    """
    parts = sorted(run.stored.slices.corpus.items(), key=lambda item: (-item[1].n_queries, item[0]))
    shown = [
        f"{rate(mean.value)} in {visible(level, 30)} (n = {mean.n})"
        for level, part in parts
        if (mean := part.metrics.get(metric)) is not None and mean.value is not None
    ]
    return says(
        f"{metric}: {listed(shown)}" if shown else "No corpus has a scored query",
        f"Mean over the queries of a corpus with {run.coverage} bootstrap interval."
        + (
            " P@k divides by k, so it falls where fewer than k documents are relevant."
            if metric.startswith("P@")
            else ""
        ),
        empty="No query has a value, so there is no curve to draw.",
    ) | {"confidence": run.stored.run.settings.confidence}


def slices(run: SearchRun, frame: pd.DataFrame, measure: str) -> Says:
    """Return the words about one metric by part of the queries."""
    if measure not in run.stored.metrics:
        return says("There is nothing to slice", empty=f"The run did not measure {measure}.")
    known = [v for v, n in zip(frame["value"], frame["n"], strict=True) if n >= MIN_INTERPRETABLE]
    small = len(frame) - len(known)
    finding = "No part of the queries is large enough to interpret"
    if known:
        low, high, parts = rate(min(known)), rate(max(known)), counted(len(known), "part")
        finding = f"{measure} from {low} to {high} over {parts} of the queries"
        finding += f"; {counted(small, 'part')} too small to interpret" if small else ""
    return says(
        finding,
        f"Mean {measure} with {run.coverage} interval. Every query is in one level of each "
        f"dimension. Fewer than {MIN_INTERPRETABLE} queries with a value are not interpreted. "
        "Among so many parts some lie far out by chance.",
        empty="No query was asked, so there is nothing to slice.",
    )


def range_of_parts(frame: pd.DataFrame) -> str:
    """Return the range of the differences of one metric over the parts that are large enough."""
    own = frame[frame["n_pairs"] >= MIN_INTERPRETABLE]
    known = [float(v) for v in own["delta_points"].dropna()]
    if not known:
        return f"No part has {MIN_INTERPRETABLE} queries with a value in both runs"
    return (
        f"{HEADLINE[0]} changed by {signed(min(known))} to {signed(max(known))} points over "
        f"{counted(len(known), 'part')} of the queries"
    )


def slice_differences(view: Searched, frame: pd.DataFrame) -> Says:
    """Return the words about the difference by part of the queries."""
    is_run = isinstance(view, SearchRun)
    if is_run and (why := view.withheld) is not None:
        return says(_NO_DIFFERENCE, empty=why)
    if not len(frame):
        why = "There is no baseline that this run can be compared with."
        if not is_run:
            why = "The runs share no headline metric, or no query that belongs to a part."
        return says("Nothing to compare by part", empty=why)
    return says(
        range_of_parts(frame[frame[view.of] == HEADLINE[0]]),
        f"Difference in points by part of the queries, with {view.coverage} interval",
        UNADJUSTED,
        WIDENED if view.level else "",
        frame=frame,
        file="delta.csv" if is_run else "changes.csv",
        top=60,
    )


def nothing_found(run: SearchRun, frame: pd.DataFrame) -> Says:
    """Return the words about the scored queries without a relevant document."""
    depth, n = run.stored.run.settings.depth, len(run.scored)
    n_empty = sum(n == 0 for n in frame["n_retrieved"])
    why = f"Every scored query has a relevant document among its first {depth}."
    unscored = "No query could be scored, so none can be said to have found nothing."
    return says(
        f"{of(len(frame), n)} scored queries found nothing relevant",
        f"Scored queries without a relevant document among the first {depth}",
        f"{counted(n_empty, 'query')} came back empty, which scores 0." if n_empty else "",
        _unread(run),
        empty=why if n else unscored,
        frame=frame,
        file="queries.csv",
    )


def _unread(run: SearchRun) -> str:
    if run.gold is not None:
        return ""
    return "Relevant documents that were not retrieved are named when the gold set is read."


def worst(run: SearchRun, frame: pd.DataFrame, measure: str = "nDCG@10") -> Says:
    """Return the words about the queries that found something, worst ranked first."""
    below = sum(value < 0.5 for value in frame[measure]) if measure in frame else 0
    return says(
        f"{of(below, len(frame))} queries that found something have {measure} below 0.50",
        f"Queries that found something, by {measure}, with the ranks of relevant documents",
        _unread(run),
        empty="No scored query found a relevant document.",
        frame=frame,
        file="queries.csv",
    )


# --- refusals and claims ---


def refusals(run: SearchRun) -> Says:
    """Return the words about refusals beside the two controls."""
    block = run.stored.abstention
    if block is None:
        n = sum(query.answerable is False for query in run.stored.queries)
        why = (
            "The run was measured before refusals were; measure it again."
            if n
            else "The gold set has no query that no document answers, so there is nothing to "
            "refuse rightly."
        )
        return says("Refusals were not measured", empty=why)
    caught, refused, area, gate = (
        block.true_positive_rate,
        block.false_refusal_rate,
        block.auc,
        block.gate,
    )
    if caught.value is None:
        finding = f"What refusing does is not computable: {reason(caught.reason)}"
    else:
        finding = f"{of(n_refused(caught), caught.n)} unanswerable queries were refused"
        if refused.value is not None:
            finding += f", and {of(n_refused(refused), refused.n)} answerable ones"
        finding += f"; AUC {rate(area.value)}" if area.value is not None else ""
    auc = f"{MISSING} AUC: {reason(area.reason)}."
    if area.value is not None:
        auc = (
            f"AUC {rate(area.value)} {brackets(area.ci_low, area.ci_high)} over "
            f"{counted(area.n, 'query')}: how often an answerable query outscores an unanswerable "
            "one."
        )
    return says(
        finding,
        f"Share refused, with {run.coverage} Wilson interval and counts",
        *(f"{text[:1].upper()}{text[1:]}." for text in block.reasons),
        auc,
        f"The gate has two sides: at least {percent(gate.min_true_positive_rate)} of the "
        f"unanswerable refused, at most {percent(gate.max_false_refusal_rate)} of the answerable. "
        "Both controls must fail it. A threshold that was chosen on these queries does worse on "
        "others.",
    )


def thresholds(run: SearchRun, frame: pd.DataFrame) -> Says:
    """Return the words about what refusing below single thresholds does."""
    n = len(run.roc)
    block = run.stored.abstention
    return says(
        "What each threshold would do",
        "Shares refused when every query with a lower top score is refused",
        f"{of(len(frame), n)} thresholds; all are in roc.csv." if len(frame) < n else "",
        empty=roc(run)["empty"] if block is not None else refusals(run)["empty"],
    )


def roc(run: SearchRun) -> Says:
    """Return the words about the curve over all thresholds."""
    block = run.stored.abstention
    if block is None:
        return refusals(run)
    area, at = block.auc, block.operating_point
    summary = f"AUC {rate(area.value)} {brackets(area.ci_low, area.ci_high)}"
    why = (
        "The retriever failed on queries, so there is no curve."
        if block.n_failed
        else "A curve needs both kinds of queries, answerable and unanswerable."
    )
    found = says(
        refusals(run)["finding"],
        "Every point of the line is a threshold of the top score below which a query is refused. "
        f"{summary} ({run.coverage} interval, DeLong and Newcombe). Shaded: where the gate passes. "
        "Dotted: what chance would give.",
        empty=why,
    )
    return found | {
        "alt": f"ROC of refusing by the top score: {summary} over {block.n_unanswerable} "
        f"unanswerable and {block.n_answerable} answerable queries. This run refuses "
        f"{rate(at.true_positive_rate)} of the unanswerable and {rate(at.false_refusal_rate)} of "
        "the answerable; always answering lies at 0 and 0, always refusing at 1 and 1."
    }


def unanswerable(run: SearchRun) -> Says:
    """Return the words about what came back for queries that no document answers."""
    asked = [query for query in run.stored.queries if query.answerable is False]
    if not asked:
        why = "The gold set has no query that is marked as not answerable."
        return says("No unanswerable query was asked", empty=why)
    stated, block = "", run.stored.abstention
    caught = None if block is None else n_refused(block.true_positive_rate)
    if block is not None and block.threshold is not None and caught is not None:
        stated = f"The threshold of {block.threshold:g} refuses {of(caught, len(asked))}."
    n = sum(bool(query.ranking) for query in asked)
    return says(
        f"{of(n, len(asked))} unanswerable queries got documents all the same",
        "Scores of the first documents of unanswerable queries beside those of answerable ones",
        "They have no ranking metric. Scores of different queries are often not comparable.",
        stated,
    )


def unanswerable_queries(frame: pd.DataFrame) -> Says:
    """Return the words about the unanswerable queries one by one."""
    return says(
        "The highest first scores are the likeliest to mislead",
        "Unanswerable queries by the score of their first document",
        empty="The gold set has no query that is marked as not answerable.",
        frame=frame,
        file="queries.csv",
    )


def claims(run: SearchRun) -> Says:
    """Return the words about claim coverage beside faithfulness."""
    block = run.stored.claims
    if block is None:
        why = (
            "No drafts were judged; `retrieval-eval search claims RUN --drafts FILE --judge NAME` "
            "adds them to a run."
        )
        return says("No drafted answer was judged", empty=why)
    finding = f"Claim coverage is not computable: {reason(block.coverage.reason)}"
    if block.coverage.value is not None:
        finding = (
            f"Claim coverage {percent(block.coverage.value)}, faithfulness "
            f"{percent(block.faithfulness.value)} over {counted(block.n_substantive, 'claim')} of "
            f"{counted(block.n_drafts, 'draft')}"
        )
    counts = (
        (block.n_refused, "refused"),
        (block.n_unlabelled, "of queries without labels, left out"),
        (block.n_without_draft, "queries have none"),
    )
    parts = [f"{n:,} {words}" for n, words in counts if n]
    judge = block.judge
    known = f"; {visible(judge.known_errors, 200)}" if judge.known_errors else ""
    unchecked = (
        "The judge was not compared with labels of people, so how often it errs is not known."
    )
    return says(
        finding,
        "Share of the substantive claims of drafted answers that is supported, with "
        f"{run.coverage} interval",
        f"Drafts: {'; '.join(parts)}." if parts else "",
        f"Judge: {visible(judge.name, 60)} {visible(judge.version, 40)}{known}.",
        "Coverage: share of substantive claims that a document labelled relevant supports. "
        "Faithfulness: share that the draft's own context supports, relevant or not. Intervals "
        "resample whole drafts.",
        "" if block.agreement else unchecked,
    )


def claim_support() -> Says:
    """Return the words about what supports claims."""
    return says(
        "What supports the claims",
        "Substantive claims by what supports them",
        empty="There is no substantive claim.",
    )


def drafts(frame: pd.DataFrame) -> Says:
    """Return the words about the drafts with unsupported claims."""
    return says(
        f"{counted(len(frame), 'draft')} with claims that no labelled document supports",
        "Drafts with claims that no labelled document supports, the worst first",
        empty="No draft has a claim that no labelled document supports.",
        frame=frame,
        file="claims.csv",
    )


def both_setups(diff: SearchDiff) -> Says:
    """Return the words about the set-up of both runs."""
    changes = diff.document.changes
    shown = "; ".join(visible(change, 160) for change in changes[:12])
    return says(
        setup_finding(diff),
        "The two runs",
        *(f"Accepted although it differs: {one.difference}." for one in diff.document.accepted),
        f"Changed: {shown}." if changes and not diff.privacy else "",
        diff.withheld or "",
        *diff.document.notices,
        *diff.notices,
    )


# --- methods ---


def definitions(view: Searched) -> Says:
    """Return how each number is defined."""
    settings = view.settings
    resampled = f"{settings.n_resamples:,} resamples, seed {settings.seed}"
    paired = (
        f"bootstrap interval from {MIN_PAIRS} pairs, sign-flip p from {MIN_PAIRS_FOR_P}. A "
        "difference is called clear when its interval leaves out 0 and its p, adjusted over the "
        f"headline metrics (Holm), lies below {ALPHA}. Parts with fewer than {MIN_INTERPRETABLE} "
        "queries are not interpreted. Points are hundredths."
    )
    if isinstance(view, SearchDiff):
        return says(
            _DEFINED,
            "Definitions",
            "Queries are paired by id, and a metric is compared over those that have it in both "
            "runs. A query adds (B − A) / pairs, in points, and what all add is the difference. "
            f"Paired by query: {view.coverage} {paired} Intervals: {resampled}. Swapping A and B "
            "negates every number exactly.",
        )
    return says(
        _DEFINED,
        "Definitions; higher is better in all but Judged",
        "Grade 1 and more is relevant. Documents are ranked by score, equal scores by document id, "
        f"both descending (convention {view.runs[-1].run.settings.convention}). An answerable "
        "query without documents scores 0 on every metric but Judged; one without relevant labels, "
        "unanswerable ones among them, and one that failed have no value and are counted.",
        f"Intervals of a mean are {view.coverage} studentised bootstrap intervals over queries "
        f"({resampled}). Differences are paired by query: {paired}",
    )


def provenance() -> Says:
    """Return what the report was made from."""
    return says("The same files give the same report", "What this report was made from")
