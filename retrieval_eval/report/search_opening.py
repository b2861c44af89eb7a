"""The first screen of a search run and of a difference: what was measured, verdict, how sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRow, GuardRuling
from retrieval_eval.model.search_run import GoldSetFacts, LabelFacts, MetricMean, RunStatus
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.exhibits import Block, Table, strip, within
from retrieval_eval.report.names import (
    MISSING,
    SHOWN,
    SOURCES,
    WORDS,
    count,
    finite,
    interval,
    of,
    rate,
    reason,
    signed,
)
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.search_run import SearchRun
from retrieval_eval.report.searched import (
    PART_ONLY,
    SIDES,
    Change,
    Searched,
    brackets,
    noise_notes,
    values_of,
)
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.words import MAX_WORDS
from retrieval_eval.search.change.paired_change import POINTS
from retrieval_eval.search.decide.guard.rendering import WORDS as VERDICTS
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.summary import moved_words
from retrieval_eval.search.run.trust import circularity_sentence, warnings
from retrieval_eval.search.run.trust import line as trust_line
from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

JUDGED: Final = "Judged@10"
NO_BACKLOG: Final = "not counted; `search run --backlog` names one"
NO_BASELINE: Final = "the file of the baseline was not read"
NOT_SAME: Final = "Not the same measurement"
_DECIDES: Final = "The numbers below describe the answers there were and decide nothing."
_FAILED: Final = "The failed queries are in queries.csv; ask them again."
_OVERALL: Final = {"pass": "PASS", "breach": "BREACH", "no_verdict": "NO VERDICT"}
_HEADS: Final[Mapping[str, str]] = {
    "breach": "Guard breached",
    "pass": "Guard passed",
    "no_verdict": "No verdict of the guard",
}
_NAME_LIMIT: Final = 48
_REASON_LIMIT: Final = 110

Said = tuple[str, str, tuple[str, ...]]
"""What there is to say of a change, its tone, and the sentences that explain it."""


# --- the strip above the answer ---


def header(view: Searched) -> Block:
    """Return the strip of facts: the guard, what was measured or compared, filter and noise."""
    own = _diff_facts(view) if isinstance(view, SearchDiff) else {}
    own = _run_facts(view) if isinstance(view, SearchRun) else own
    facts = {"Guard": _guard(view), "Filter": view.filtered, **own}
    total = max(run.run.gold_set.n_queries for run in view.runs)
    said = notice(view.n_simulated, total, "query", "search")
    return strip(said, facts)


def _guard(view: Searched) -> str:
    if view.ruling is None:
        return f"not asked: {not_asked(view)}"
    if not isinstance(view, SearchDiff):
        return ruling_words(view.ruling)
    excuse = "; no justification was read" if is_breach(view.ruling) else ""
    return f"{ruling_words(view.ruling)}, B against A{excuse}"


def not_asked(view: Searched) -> str:
    """Return why there is no ruling of the guard."""
    if view.part is not None:
        return PART_ONLY
    return visible(view.guard, 160) if isinstance(view, SearchDiff) else NO_BASELINE


def _run_facts(run: SearchRun) -> dict[str, str]:
    stored = run.stored
    corpora, gold = stored.run.corpora, stored.run.gold_set
    shown = ", ".join(visible(corpus.corpus, 36) for corpus in corpora[:4])
    judged = stored.metrics[JUDGED].value if JUDGED in stored.metrics else None
    return {
        "Run": visible(run.name, 48),
        "Measured": visible(stored.generated_at, 24),
        "Retriever": "" if run.privacy else visible(stored.run.retriever.name, 48),
        "Corpora": f"{shown} and {len(corpora) - 4} more" if len(corpora) > 4 else shown,
        "Gold set": f"{counted(gold.n_queries, 'query')}, "
        + counted(gold.n_labelled_pairs, "labelled pair"),
        "Labels": label_sources(gold),
        "Label origin": "" if run.part else label_origin(stored.labels),
        "Queries": integrity(stored.status),
        "Answers": _answers(stored),
        "Unjudged": "" if judged is None else f"{percent(1 - judged)} of the first ten documents",
        "Compared with": _compared_with(run),
        "Review backlog": "" if run.part else backlog(run.backlog),
    }


def _answers(stored: StoredRun) -> str:
    parts = [trust_line(stored), *(f"WARNING: {sentence}" for sentence in warnings(stored))]
    return ". ".join(parts)


def _compared_with(run: SearchRun) -> str:
    if run.stored.delta is not None:
        return run.baseline_name
    return "nothing: no verdict" if run.stored.delta_withheld else "no baseline yet"


def _diff_facts(diff: SearchDiff) -> dict[str, str]:
    document, level = diff.document, diff.level
    sides = (document.a, document.b)
    only = f"{document.n_queries_only_a} in A only, {document.n_queries_only_b} in B only"
    failed = f"{document.a.n_failed} failed in A, {document.b.n_failed} in B"
    codes = ", ".join(visible(one.code, 30) for one in document.accepted)
    state = "not measured"
    if level is not None:
        state = "deterministic" if level.is_deterministic else "measured"
    return {
        **{
            f"Run {side}": f"{visible(x.label or 'no label', 48)}, {visible(x.generated_at, 24)}"
            for side, x in zip(SIDES, sides, strict=True)
        },
        "Set-up": setup_finding(diff).removeprefix("The set-up "),
        "Queries": f"{counted(document.n_queries_in_both, 'query')} in both, {only}; {failed}",
        "Change": moved(diff),
        "Accepted differences": f"{NOT_SAME.upper()}: {codes}"
        if codes
        else "none: they measured the same",
        "Noise level": f"{state}, but STALE" if level and level.stale else state,
    }


def setup_finding(diff: SearchDiff) -> str:
    """Return how many settings differ."""
    n = len(diff.document.setup)
    if not n:
        return "The set-up of both runs is recorded as the same"
    return f"The set-up differs in {counted(n, 'field')}"


def ruling_words(ruling: GuardRuling) -> str:
    """Return a verdict with the count of thresholds by theirs."""
    return f"{_OVERALL[ruling.verdict]} ({counts(ruling)})"


def counts(ruling: GuardRuling) -> str:
    """Return how many thresholds have which verdict."""
    found = {code: sum(row.verdict == code for row in ruling.rows) for code in VERDICTS}
    summary = [f"{n} {VERDICTS[code].lower()}" for code, n in found.items() if n]
    return f"{', '.join(summary)} of {counted(len(ruling.rows), 'threshold')}"


def ruling_finding(ruling: GuardRuling) -> str:
    """Return a verdict with the counts, as a finding."""
    return f"{_OVERALL[ruling.verdict]}: {counts(ruling)}"


def label_sources(gold: GoldSetFacts) -> str:
    """Return who made the labels, with the count of each, people first."""
    found = sorted(gold.sources.items(), key=lambda item: (item[0] != "chair", item[0]))
    parts = [f"{count(n)} {SOURCES.get(source) or visible(source, 24)}" for source, n in found]
    return f"{', '.join(parts)}{': provisional' if gold.is_provisional else ''}"


def label_origin(facts: LabelFacts | None) -> str:
    """Return how many relevant labels came from the measured retriever alone.

    Examples
    --------
    >>> label_origin(None)
    ''
    """
    if facts is None:
        return ""
    return circularity_sentence(replace(facts.circularity, retriever="this retriever"))


def integrity(status: RunStatus) -> str:
    """Return how many queries were asked, failed, came back empty or were refused."""
    return (
        f"{status.n_queries:,} asked, {status.n_failed:,} failed, {status.n_empty:,} empty, "
        f"{status.n_refused:,} refused (below the floor)"
    )


def percent(value: float | None) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.256), percent(None)
    ('26 %', '—')
    """
    return MISSING if value is None else f"{100 * value:.0f} %"


def backlog(block: Mapping[str, Any] | None) -> str:
    """Return what waits for review and for how long, or that it was not counted.

    Examples
    --------
    >>> backlog({"pending_review": 2, "total": 9, "oldest_pending_age_days": 30.2})
    '2 of 9 pending, the oldest for 30 days'
    """
    pending = None if block is None else finite(block.get("pending_review"))
    if block is None or pending is None:
        return NO_BACKLOG
    text = f"{of(pending, block.get('total'))} pending"
    age, since = finite(block.get("oldest_pending_age_days")), block.get("oldest_pending_at")
    if not pending or age is None:
        return text
    when = f" (since {visible(since)[:10]})" if isinstance(since, str) and since else ""
    return f"{text}, the oldest for {counted(max(0, round(age)), 'day')}{when}"


# --- the answer ---


def answer(view: Searched) -> Block:
    """Return the answer to "does it pass, did it change, how sure, can I trust it".

    The title leads with what limits any reading of the change, else with the verdict of the guard:
    not the same measurement, no verdict, guard not asked, breached, passed. What the tests over
    the queries say of the change comes second, and every case has its template: no baseline, a
    baseline that cannot be compared with, too few queries, nothing moved, better, worse, no clear
    change. A gold set that no person reviewed is noted in the title. Together the sentences have
    at most 90 words.
    """
    change, tone, said = _body(view)
    ruling, accepted = view.ruling, view.document.accepted if isinstance(view, SearchDiff) else ()
    if accepted:
        head, detail, tone = NOT_SAME, inside(change), "worse"
        names = "; ".join(visible(one.difference, 160) for one in accepted)
        said = (f"Accepted by name: {names}.", *said)
    elif view.withheld:
        head, detail, tone = "No verdict", change, "none"
    elif ruling is None:
        head, detail = "Guard not asked", inside(change)
    else:
        head, detail = lead(ruling)
        tone = lead_tone(ruling, tone)
        said = (f"{change}.", *said)
    provisional = view.runs[-1].run.gold_set.is_provisional
    if provisional and not is_breach(ruling) and not accepted:
        tone = "none"
    first, *others, rests = within(MAX_WORDS, *said, f"{trust(view)} {labels(view)}")
    title = f"{head}{', on provisional labels' if provisional else ''}: {detail}"
    sentences = tuple(filter(None, (first, " ".join(others), rests)))
    return Block("answer", title, sentences, (_headline(view),), tone=tone)


def _body(view: Searched) -> Said:
    if (why := view.withheld) is not None:
        has_list = view.runs[-1].status.n_failed and not isinstance(view, SearchDiff)
        said = (_DECIDES, _FAILED) if has_list else (why, _DECIDES)
        return inside(why.partition(",")[0]), "none", said
    if view.change is not None:
        return _compared(view)
    last = view.runs[-1]
    parts = [f"{m} {rate(last.metrics[m].value)}" for m in HEADLINE if m in last.metrics]
    level = " and ".join(parts) or f"Neither {' nor '.join(HEADLINE)} was measured"
    if isinstance(view, SearchRun) and (reasons := view.incomparable):
        stated = f"Not comparable with the baseline: {reasons[0]}."
        return f"{level}; the baseline measured something else", "none", (stated,)
    hint = "Without a baseline this run says how good search is, not whether it got better."
    return f"{level}; no baseline to compare with", "none", (hint,)


def _compared(view: Searched) -> Said:
    known, before = view.headline, _before(view)
    n = max((view.differences[m].n_pairs for m in known), default=0)
    queries = counted(n, "query")
    if not view.moved and not view.top1 and n:
        same = f"All metrics of the {queries} scored in both runs are as in {before}."
        return f"No metric of the rankings changed against {before}", "none", (same,)
    if n < MIN_PAIRS_FOR_P:
        few = f"{queries} {'has' if n == 1 else 'have'} a value in both runs; below "
        few += f"{MIN_PAIRS_FOR_P} no test can decide."
        why = (few, f"{moved(view)}.")
        return f"Too few queries for a test against {before}: {n}", "none", why
    said = (_how_much(view), f"{moved(view)}.", hurt(view))
    if view.clear:
        falls = [m for m in view.clear if (view.differences[m].delta_points or 0) < 0]
        ordered = sorted(view.clear, key=lambda m: m not in falls)
        shifts = ", ".join(_shift(m, view.differences[m]) for m in ordered)
        return f"{shifts} than {before}", "worse" if falls else "better", said
    names = " and ".join(known)
    if is_breach(view.ruling):
        # The guard decides by its own evidence; "no clear change" would deny what it found.
        others = f"The guard decides on these queries; whether {names} would change on others too"
        return f"{others}, a test over these cannot tell", "none", said
    return f"No clear change in {names} against {before}", "none", said


def _before(view: Searched) -> str:
    return view.names[0] if isinstance(view, SearchDiff) else "the baseline"


def _shift(metric: str, change: Change) -> str:
    points = change.delta_points or 0
    return f"{metric} is {rate(abs(points))} points {'higher' if points > 0 else 'lower'}"


def _how_much(view: Searched) -> str:
    found = {m: view.differences[m] for m in view.headline}
    parts = [
        f"{m} {signed(c.delta_points)} points {interval(c.ci_low_points, c.ci_high_points)}"
        for m, c in found.items()
    ]
    first = view.headline[0]
    text = f"Over {counted(found[first].n_pairs, 'query')}: {', '.join(parts)}."
    if not view.clear and (least := view.detectable(first)) is not None:
        text += f" A change of {first} smaller than about {rate(least)} points would go unnoticed."
    return text


def moved(view: Searched) -> str:
    """Return how many queries moved, and how many have another first document."""
    return moved_words(len(view.moved), len(view.top1))


def hurt(view: Searched) -> str:
    """Return the query that lost most on a headline metric."""
    losses = [
        (points, query, metric)
        for query, given in view.moved.items()
        for metric, points in given.items()
        if metric in HEADLINE and points < 0 and query in view.by_id
    ]
    if not losses:
        return ""
    points, query, metric = min(losses)
    drop = signed(points * view.differences[metric].n_pairs)
    return f"Most lost: “{view.title(query, _NAME_LIMIT)}” ({metric} {drop} points)."


def labels(view: Searched) -> str:
    """Return who made the labels: people or feedback."""
    block = view.runs[-1].run.gold_set
    if block.is_provisional:
        return f"No person reviewed any of the {counted(block.n_queries, 'gold query')}."
    people = of(block.sources.get("chair", 0), block.n_queries)
    return f"{people} gold queries were reviewed by people."


def trust(view: Searched) -> str:
    """Return what the numbers rest on: queries scored, and how much was judged."""
    run = view.runs[-1]
    status, n = (
        run.status,
        sum(any(q.metrics.get(m) is not None for m in SHOWN) for q in run.queries),
    )
    text = f"{of(n, status.n_queries)} queries could be scored"
    shown = (("failed", status.n_failed), ("empty", status.n_empty), ("refused", status.n_refused))
    bad = [f"{found:,} {word}" for word, found in shown if found]
    text += f" ({', '.join(bad)})" if bad else ""
    judged, first = run.metrics.get(JUDGED), run.metrics.get(HEADLINE[0])
    if judged is None or judged.value is None:
        return f"{text}."
    text += f"; {percent(judged.value)} of the first ten documents were judged"
    if first is not None and first.value is not None and first.unjudged_high is not None:
        text += f", so {HEADLINE[0]} could be up to {rate(first.unjudged_high)}"
    return f"{text}."


def inside(text: str) -> str:
    """Return a sentence as it stands after a colon; the name of a metric keeps its capital.

    Examples
    --------
    >>> inside("No change."), inside("P@5 is lower.")
    ('no change', 'P@5 is lower')
    """
    is_metric = "@" in text.partition(" ")[0]
    first = text[:1] if is_metric else text[:1].lower()
    return f"{first}{text[1:].rstrip('.')}"


def _headline(view: Searched) -> Table:
    """Return a row a metric of the first screen: its means, and what is compared beside them."""
    is_diff = isinstance(view, SearchDiff)
    has_change = is_diff or (bool(view.differences) and view.withheld is None)
    columns = _columns(view, has_change=has_change)
    shown = [m for m in SHOWN if not is_diff or m in view.differences]
    notes: tuple[str, ...] = ()
    caption = "Means over the queries of both runs, and their difference"
    if not is_diff:
        means = view.runs[-1].metrics
        lost = [(m, means[m].reason) for m in SHOWN if m in means and means[m].value is None]
        notes = (
            (f"{MISSING} {', '.join(m for m, _ in lost)}: {reason(lost[0][1])}.",) if lost else ()
        )
        caption = "Means over queries"
        caption += f", and their difference from {view.names[0]}" if has_change else ""
    header = ("Metric", *(head for head, _ in columns))
    rows = tuple((m, *(cell(m) for _, cell in columns)) for m in shown)
    level = view.level if has_change else None
    key = "diff-headline" if is_diff else "headline"
    return Table(key, caption, header, rows, notes=(*notes, *noise_notes(level)))


def _columns(view: Searched, *, has_change: bool) -> list[tuple[str, Callable[[str], str]]]:
    """Return heads and what prints their cells: means of a run, what changed, how many moved."""
    means, found = view.runs[-1].metrics, view.differences
    is_diff = isinstance(view, SearchDiff)

    def mean(show: Callable[[MetricMean], str], missing: str = MISSING) -> Callable[[str], str]:
        return lambda m: show(means[m]) if m in means else missing

    def change(show: Callable[[Any], str]) -> Callable[[str], str]:
        return lambda m: show(found[m]) if m in found else MISSING

    ends = change(lambda c: interval(c.ci_low_points, c.ci_high_points))
    old = change(lambda c: rate(values_of(c)[0]))
    new = change(lambda c: rate(values_of(c)[1]))
    coverage, level = f"{view.coverage} interval", view.level
    columns = [
        ("Value", mean(lambda v: rate(v.value))),
        (coverage, mean(lambda v: brackets(v.ci_low, v.ci_high))),
        ("n", mean(lambda v: str(v.n), "0")),
    ]
    sides = [(view.names[0], old), (view.names[1], new)] if is_diff else [("Baseline", old)]
    if has_change:
        columns = [] if is_diff else columns
        columns += [*sides, ("Difference (points)", change(lambda c: signed(c.delta_points)))]
        columns.append((coverage if is_diff else "Its interval", ends))
        columns += [("Noise level", level.words)] if level else []
    if isinstance(view, SearchDiff):
        flag = f"More than {view.document.settings.flag_points:g} points"
        columns += [
            ("Up", change(lambda c: f"{c.n_up:,}")),
            ("Down", change(lambda c: f"{c.n_down:,}")),
            ("Pairs", change(lambda c: f"{c.n_pairs:,}")),
            (flag, change(lambda c: "yes" if c.is_flagged else "")),
        ]
    return columns


# --- the verdict of the guard as the beginning of a title ---


def lead(ruling: GuardRuling) -> tuple[str, str]:
    """Return the verdict, and what it rests on: the worst threshold, or how many hold."""
    head, code = _HEADS[ruling.verdict], ruling.verdict
    if code == "no_verdict" and ruling.reasons:
        return head, visible(ruling.reasons[0], _REASON_LIMIT)
    if code != "pass":
        return head, _worst(ruling, code)
    if any(row.verdict == "overridden" for row in ruling.rows):
        return f"{head} by justification", _worst(ruling, "overridden")
    return head, _held(ruling)


def is_breach(ruling: GuardRuling | None) -> bool:
    """Whether the guard was asked, and a threshold is breached."""
    return ruling is not None and ruling.verdict == "breach"


def lead_tone(ruling: GuardRuling, change: str) -> str:
    """Return the tone of a page: that of the change where the guard passed, and no alarm then."""
    if ruling.verdict == "pass":
        return "none" if change == "worse" else change
    return "worse" if is_breach(ruling) else "none"


def _worst(ruling: GuardRuling, code: str) -> str:
    """Return the worst threshold of a verdict in words, and how many more there are."""
    rows = sorted((row for row in ruling.rows if row.verdict == code), key=_beyond, reverse=True)
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    none = "no threshold applies to what the baseline recorded"
    return f"{_row_words(rows[0])}{more}" if rows else none


def _row_words(row: GuardRow) -> str:
    metric = row.metric
    name = visible(row.name.replace(metric, WORDS.get(metric, metric), 1), _NAME_LIMIT)
    if row.reasons and _out_of_bounds(row):
        return f"{name} {visible(row.reasons[0], _REASON_LIMIT)}"
    if row.reasons and not _excess(row):
        # What follows in brackets is a command.
        return f"{name} ({visible(row.reasons[0].partition(' (')[0], _REASON_LIMIT)})"
    change, limit = row.change_points or 0.0, row.limit_points or 0.0
    text = f"{name} {'fell' if change < 0 else 'rose'} by {rate(abs(change))} points"
    text += f" (limit {limit:.3g})"
    return f"{text}, which may be chance" if row.verdict == "no_verdict" else text


def _beyond(row: GuardRow) -> float:
    return max(_excess(row), _out_of_bounds(row))


def _out_of_bounds(row: GuardRow) -> float:
    """Return by how many points the value lies outside of its bounds; 0 where it does not."""
    value = row.current.value
    if value is None:
        return 0.0
    below = 0.0 if row.floor is None else row.floor - value
    above = 0.0 if row.ceiling is None else value - row.ceiling
    return POINTS * max(below, above, 0.0)


def _excess(row: GuardRow) -> float:
    """Return by how many points a change is worse than its limit; 0 where it is not."""
    harm, limit = row.harm_points, row.limit_points
    return 0.0 if harm is None or limit is None else max(harm - limit, 0.0)


def _held(ruling: GuardRuling) -> str:
    found = Counter(row.verdict for row in ruling.rows)
    n = found["pass"] + found["within_noise"]
    text = f"{counted(n, 'threshold')} {'holds' if n == 1 else 'hold'}"
    if found["within_noise"]:
        text += f", {found['within_noise']} of them with a change that may be chance"
    return f"{text}, {found['skipped']} not applied" if found["skipped"] else text
