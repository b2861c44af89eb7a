"""The first screen of the search report: what was measured, the verdict, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRow, GuardRuling
from retrieval_eval.model.search_run import GoldSetFacts, MetricChange, RunStatus
from retrieval_eval.report.exhibits import Block, Table
from retrieval_eval.report.numbers import MISSING, count, finite, interval, of, rate, signed
from retrieval_eval.report.search.names import SHOWN, SOURCES, WORDS, reason
from retrieval_eval.report.search.noise import noise_notes
from retrieval_eval.report.search.summaries import brackets
from retrieval_eval.report.show import to_html, to_markdown, to_plain
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.words import MAX_WORDS
from retrieval_eval.search.guard.rendering import WORDS as VERDICTS
from retrieval_eval.search.paired_change import POINTS
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.report.search.run import SearchRun

JUDGED: Final = "Judged@10"
NO_BACKLOG: Final = "not counted; name one with --backlog"
NO_BASELINE: Final = "the file of the baseline was not read"
PART_ONLY: Final = "the guard is about whole runs, and this page shows some of the queries"
_FAILED: Final = "The failed queries are listed under What was measured; ask them again."
_OVERALL: Final = {"pass": "PASS", "breach": "BREACH", "no_verdict": "NO VERDICT"}
_HEADS: Final[Mapping[str, str]] = {
    "breach": "Guard breached",
    "pass": "Guard passed",
    "no_verdict": "No verdict of the guard",
}
_NAME_LIMIT: Final = 48
_REASON_LIMIT: Final = 110


def bundle(*blocks: Block) -> dict[str, str]:
    """Return several blocks as one output of a cell."""
    return {
        "text/html": "\n".join(map(to_html, blocks)),
        "text/markdown": "\n".join(map(to_markdown, blocks)),
        "text/plain": "\n".join(map(to_plain, blocks)),
    }


def opening(run: SearchRun) -> dict[str, str]:
    """Return what a run shows of itself: the header, and the answer with the headline metrics."""
    return bundle(header(run), answer(run))


def header(run: SearchRun) -> Block:
    """Return the strip with verdict, set-up, integrity, labels and review backlog."""
    stored = run.stored
    corpora, gold = stored.run.corpora, stored.run.gold_set
    shown = ", ".join(visible(corpus.corpus, 36) for corpus in corpora[:4])
    pairs = counted(gold.n_labelled_pairs, "labelled pair")
    badges = [
        ("Guard", ruling_words(run.ruling) if run.ruling else f"not asked: {not_asked(run)}"),
        ("Run", visible(run.name, 48)),
        ("Filter", run.filtered),
        ("Measured", visible(stored.generated_at, 24)),
        ("Retriever", "" if run.privacy else visible(stored.run.retriever.name, 48)),
        ("Corpora", f"{shown} and {len(corpora) - 4} more" if len(corpora) > 4 else shown),
        ("Gold set", f"{counted(gold.n_queries, 'query')}, {pairs}"),
        ("Labels", label_sources(gold)),
        ("Queries", integrity(stored.status)),
        ("Unjudged", _unjudged(run)),
        ("Compared with", _compared_with(run)),
        ("Review backlog", "" if run.part else backlog(run.backlog)),
    ]
    said = notice(run.n_simulated, gold.n_queries, "query", "search")
    return Block("header", said, badges=tuple((k, v) for k, v in badges if v))


def not_asked(run: SearchRun) -> str:
    """Return why there is no ruling of the guard."""
    return PART_ONLY if run.part is not None else NO_BASELINE


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


def integrity(status: RunStatus) -> str:
    """Return how many queries were asked, failed, came back empty or were refused."""
    return (
        f"{status.n_queries:,} asked, {status.n_failed:,} failed, {status.n_empty:,} empty, "
        f"{status.n_refused:,} refused (below the floor)"
    )


def _unjudged(run: SearchRun) -> str:
    mean = run.stored.metrics.get(JUDGED)
    if mean is None or mean.value is None:
        return ""
    return f"{percent(1 - mean.value)} of the first ten documents"


def percent(value: float | None) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.256), percent(None)
    ('26 %', '—')
    """
    return MISSING if value is None else f"{100 * value:.0f} %"


def _compared_with(run: SearchRun) -> str:
    if run.stored.delta is not None:
        return run.baseline_name
    return "nothing: no verdict" if run.stored.delta_withheld else "no baseline yet"


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


def answer(run: SearchRun) -> Block:
    """Return the answer to "does it pass, did it change, how sure, can I trust it".

    The title leads with the verdict of the guard: breached, passed, none, or not asked. What the
    tests over the queries say of the change comes second, and every case has its template: no
    verdict, no baseline, a baseline that cannot be compared with, too few queries, nothing moved,
    better, worse, mixed, no clear change. A gold set that no person reviewed is noted in the title.
    Together the sentences have at most 90 words.
    """
    change, tone, said = _body(run)
    ruling = run.ruling
    if withheld(run) is not None:
        head, detail, tone = "No verdict", change, "none"
    elif ruling is None:
        head, detail = "Guard not asked", inside(change)
    else:
        head, detail = lead(ruling)
        tone = lead_tone(ruling, tone)
        said = (f"{change}.", *said)
    provisional = run.stored.run.gold_set.is_provisional
    if provisional and not is_breach(ruling):
        tone = "none"
    rests = f"{trust(run)} {labels(run)}"
    while len(said) > 1 and _n_words((*said, rests)) > MAX_WORDS:
        said = said[:-1]
    title = f"{head}{', on provisional labels' if provisional else ''}: {detail}"
    sentences = tuple(filter(None, (said[0], " ".join(said[1:]), rests)))
    return Block("answer", title, sentences, (_headline(run),), tone=tone)


def _n_words(sentences: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)


def withheld(run: SearchRun) -> str | None:
    """Return why there is no verdict, as a sentence; None when there is one."""
    return (
        no_verdict(run.stored.status, "")
        or (no_verdict(run.baseline.status, " of the baseline") if run.baseline else None)
        or delta_withheld(run)
    )


def delta_withheld(run: SearchRun) -> str | None:
    """Return why there is no difference although there is a baseline, as a sentence."""
    reasons = run.stored.delta_withheld
    return f"{visible(reasons[0][:1].upper() + reasons[0][1:], 200)}." if reasons else None


def no_verdict(status: RunStatus, whose: str) -> str | None:
    """Return why a run has no verdict, without the words of its retriever; None when it has."""
    if status.has_verdict:
        return None
    if status.n_failed:
        failed = f"{status.n_failed:,} of {counted(status.n_queries, 'query')}{whose} failed"
        return f"{failed}, so the means are not those of the gold set."
    why = visible("; ".join(status.reasons) or "the reason was not recorded", 160)
    return f"{why[:1].upper()}{why[1:]}{whose}."


def incomparable(run: SearchRun) -> tuple[str, ...]:
    """Return why the baseline cannot be compared with, in sentences."""
    found = run.stored.delta
    if found is None or found.is_comparable:
        return ()
    given = [reason.partition(": ")[2] or reason for reason in found.reasons]
    return tuple(given) or ("the reason was not recorded",)


def _body(run: SearchRun) -> tuple[str, str, tuple[str, ...]]:
    """Return what there is to say of the change, its tone, and the sentences that explain it."""
    if (why := withheld(run)) is not None:
        decides = "The numbers below describe the answers there were and decide nothing."
        said = (decides, _FAILED) if run.stored.status.n_failed else (why, decides)
        return inside(why.partition(",")[0]), "none", said
    if run.stored.delta is None:
        hint = "Without a baseline this run says how good search is, not whether it got better."
        return f"{_level(run)}; no baseline to compare with", "none", (hint,)
    if reasons := incomparable(run):
        stated = f"Not comparable with the baseline: {reasons[0]}."
        return f"{_level(run)}; the baseline measured something else", "none", (stated,)
    return _compared(run)


def _level(run: SearchRun) -> str:
    parts = [f"{m} {rate(run.stored.metrics[m].value)}" for m in run.headline]
    return " and ".join(parts) or f"Neither {' nor '.join(HEADLINE)} was measured"


def _compared(run: SearchRun) -> tuple[str, str, tuple[str, ...]]:
    known = [m for m in HEADLINE if m in run.changes]
    n = max((run.changes[m].n_pairs for m in known), default=0)
    queries = counted(n, "query")
    if not run.moved and not _top1(run) and n:
        same = f"All metrics of the {queries} scored in both runs are as in the baseline."
        return "No metric of the rankings changed against the baseline", "none", (same,)
    if n < MIN_PAIRS_FOR_P:
        few = f"{queries} {'has' if n == 1 else 'have'} a value in both runs; below "
        few += f"{MIN_PAIRS_FOR_P} no test can decide."
        return f"Too few queries for a test against the baseline: {n}", "none", (few, moved(run))
    clear = [m for m in known if run.is_clear(m)]
    worse = [m for m in clear if (run.changes[m].delta_points or 0) < 0]
    tone = "worse" if worse else "better" if clear else "none"
    said = (_how_much(run, known), moved(run), hurt(run))
    if clear:
        ordered = sorted(clear, key=lambda m: (run.changes[m].delta_points or 0) > 0)
        shifts = ", ".join(_shift(m, run.changes[m]) for m in ordered)
        return f"{shifts} than the baseline", tone, said
    names = " and ".join(known)
    if is_breach(run.ruling):
        # The guard decides by its own evidence; "no clear change" would deny what it found.
        text = f"The test over these queries alone cannot tell the change in {names} from chance"
        return text, tone, said
    return f"No clear change in {names} against the baseline", tone, said


def _shift(measure: str, change: MetricChange) -> str:
    points = change.delta_points or 0
    return f"{measure} is {rate(abs(points))} points {'higher' if points > 0 else 'lower'}"


def _how_much(run: SearchRun, known: Sequence[str]) -> str:
    found = {m: run.changes[m] for m in known}
    parts = [
        f"{m} {signed(c.delta_points)} points {interval(c.ci_low_points, c.ci_high_points)}"
        for m, c in found.items()
    ]
    queries = counted(found[known[0]].n_pairs, "query")
    text = f"Over {queries}: {', '.join(parts)}."
    is_unclear = not any(run.is_clear(m) for m in known)
    if is_unclear and (least := run.detectable(known[0])) is not None:
        text += (
            f" A change of {known[0]} smaller than about {rate(least)} points would go unnoticed."
        )
    return text


def _top1(run: SearchRun) -> tuple[str, ...]:
    return run.stored.delta.queries_top1_changed if run.stored.delta is not None else ()


def moved(run: SearchRun) -> str:
    """Return how many queries moved, and how many have another first document."""
    n = counted(len(run.moved), "query")
    return f"{n} moved, {len(_top1(run)):,} have another first document."


def hurt(run: SearchRun) -> str:
    """Return the query that lost most on a headline metric."""
    losses = [
        (points, query, measure)
        for query, given in run.moved.items()
        for measure, points in given.items()
        if measure in HEADLINE and points < 0 and query in run.by_id
    ]
    if not losses:
        return ""
    points, query, measure = min(losses)
    drop = signed(points * run.changes[measure].n_pairs)
    return f"Most lost: “{run.title(query, _NAME_LIMIT)}” ({measure} {drop} points)."


def labels(run: SearchRun) -> str:
    """Return who made the labels: people or feedback."""
    block = run.stored.run.gold_set
    if block.is_provisional:
        return f"No person reviewed any of the {counted(block.n_queries, 'gold query')}."
    people = of(block.sources.get("chair", 0), block.n_queries)
    return f"{people} gold queries were reviewed by people."


def trust(run: SearchRun) -> str:
    """Return what the numbers rest on: queries scored, and how much was judged."""
    n, status = len(run.scored), run.stored.status
    text = f"{of(n, status.n_queries)} queries could be scored"
    shown = (("failed", status.n_failed), ("empty", status.n_empty), ("refused", status.n_refused))
    bad = [f"{found:,} {word}" for word, found in shown if found]
    text += f" ({', '.join(bad)})" if bad else ""
    judged, first = run.stored.metrics.get(JUDGED), run.stored.metrics.get(HEADLINE[0])
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


def _headline(run: SearchRun) -> Table:
    has_change = bool(run.changes) and withheld(run) is None
    level = run.level if has_change else None
    header = ["Metric", "Value", f"{run.coverage} interval", "n"]
    header += ["Baseline", "Difference (points)", "Its interval"] if has_change else []
    header += ["Noise level"] if level else []
    rows = []
    for measure in SHOWN:
        mean, change = run.stored.metrics.get(measure), run.changes.get(measure)
        row = [measure, *([MISSING] * 2), "0"]
        if mean is not None:
            row = [measure, rate(mean.value), brackets(mean.ci_low, mean.ci_high), str(mean.n)]
        if has_change and change is not None:
            row += [rate(change.baseline), signed(change.delta_points)]
            row.append(interval(change.ci_low_points, change.ci_high_points))
        elif has_change:
            row += [MISSING] * 3
        row += [level.words(measure)] if level else []
        rows.append(tuple(row))
    means = [(m, run.stored.metrics[m]) for m in SHOWN if m in run.stored.metrics]
    lost = [(m, mean.reason) for m, mean in means if mean.value is None]
    gaps = [f"{MISSING} {', '.join(m for m, _ in lost)}: {reason(lost[0][1])}."] if lost else []
    what = "Means over queries"
    caption = f"{what}, and their difference from {run.baseline_name}" if has_change else what
    return Table(
        "headline", caption, tuple(header), tuple(rows), notes=(*gaps, *noise_notes(level))
    )


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
