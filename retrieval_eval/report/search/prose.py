"""The answer of the search report: sentences from numbers, the same for the same numbers."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.numbers import interval, of, rate, signed
from retrieval_eval.report.search import lead
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.records import Change
from retrieval_eval.report.words import MAX_WORDS, Answer
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

JUDGED: Final = "Judged@10"
FAILED: Final = "The failed queries are listed under What was measured; ask them again."
_NAME_LIMIT: Final = 48


def answer(facts: Facts) -> Answer:
    """Return the answer to "does it pass, did it change, how sure, can I trust it".

    The title leads with the verdict of the guard: breached, passed, none, or not asked. What the
    tests over the queries say of the change comes second, and every case has its template: no
    verdict, no baseline, a baseline that cannot be compared with, too few queries, nothing moved,
    better, worse, mixed, no clear change. A gold set that no person reviewed is noted in the title.
    Together the sentences have at most 90 words.
    """
    change, tone, said = _body(facts)
    head, detail, tone = _lead(facts, change, tone)
    if facts.withheld is None and facts.checks.verdict is not None:
        said = (f"{change}.", *said)
    provisional = is_provisional(facts)
    where = ", on provisional labels" if provisional else ""
    if provisional and not lead.is_breach(facts.checks.verdict):
        tone = "none"
    rests = f"{trust(facts)} {labels(facts)}"
    while len(said) > 1 and _words((*said, rests)) > MAX_WORDS:
        said = said[:-1]
    return Answer(
        f"{head}{where}: {detail}",
        tuple(filter(None, (said[0], " ".join(said[1:]), rests))),
        tone,
    )


def _lead(facts: Facts, change: str, tone: str) -> tuple[str, str, str]:
    """Return the head of the title, the rest of it, and the tone."""
    verdict = facts.checks.verdict
    if facts.withheld is not None:
        return "No verdict", change, "none"
    if verdict is None:
        return lead.NOT_ASKED, inside(change), tone
    # Reasons of a run without a verdict, which may repeat its retriever, are `withheld`.
    return *lead.of(verdict), lead.tone(verdict, tone)


def _words(sentences: tuple[str, ...]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)


def is_provisional(facts: Facts) -> bool:
    """Whether no row of the gold set was reviewed by a person."""
    return facts.run.document["run"]["gold_set"]["is_provisional"] is True


def _body(facts: Facts) -> tuple[str, str, tuple[str, ...]]:
    """Return what there is to say of the change, its tone, and the sentences that explain it."""
    if facts.withheld is not None:
        why = "The numbers below describe the answers there were and decide nothing."
        has_failed = facts.status["n_failed"] > 0
        said = (why, FAILED) if has_failed else (facts.withheld, why)
        return inside(facts.withheld.partition(",")[0]), "none", said
    if facts.delta is None:
        hint = "Without a baseline this run says how good search is, not whether it got better."
        return f"{_level(facts)}; no baseline to compare with", "none", (hint,)
    if facts.incomparable:
        reason = f"Not comparable with the baseline: {facts.incomparable[0]}."
        return f"{_level(facts)}; the baseline measured something else", "none", (reason,)
    return _compared(facts)


def _level(facts: Facts) -> str:
    return (
        " and ".join(f"{m} {rate(facts.means[m].value)}" for m in HEADLINE if m in facts.means)
        or "Neither P@5 nor Recall@20 was measured"
    )


def _compared(facts: Facts) -> tuple[str, str, tuple[str, ...]]:
    known = [facts.changes[m] for m in HEADLINE if m in facts.changes]
    n = max((c.n_pairs for c in known), default=0)
    queries = counted(n, "query")
    if not facts.contributions and not facts.top1_changed and n:
        same = f"All measures of the {queries} scored in both runs are as in the baseline."
        return "No measure of the rankings changed against the baseline", "none", (same,)
    if n < MIN_PAIRS_FOR_P:
        few = f"{queries} {'has' if n == 1 else 'have'} a value in both runs; below "
        few += f"{MIN_PAIRS_FOR_P} no test can decide."
        return f"Too few queries for a test against the baseline: {n}", "none", (few, moved(facts))
    clear = [c for c in known if facts.is_clear(c.measure)]
    worse = [c for c in clear if (c.delta_points or 0) < 0]
    tone = "worse" if worse else "better" if clear else "none"
    said = (_how_much(facts, known), moved(facts), hurt(facts))
    if clear:
        ordered = sorted(clear, key=lambda c: (c.delta_points or 0) > 0)
        return f"{', '.join(map(_shift, ordered))} than the baseline", tone, said
    names = " and ".join(c.measure for c in known)
    if lead.is_breach(facts.checks.verdict):
        # The guard decides by its own evidence; "no clear change" would deny what it found.
        text = f"The test over these queries alone cannot tell the change in {names} from chance"
        return text, tone, said
    return f"No clear change in {names} against the baseline", tone, said


def _shift(change: Change) -> str:
    word = "higher" if (change.delta_points or 0) > 0 else "lower"
    return f"{change.measure} is {rate(abs(change.delta_points or 0))} points {word}"


def _how_much(facts: Facts, known: list[Change]) -> str:
    parts = [
        f"{c.measure} {signed(c.delta_points)} points {interval(c.ci_low_points, c.ci_high_points)}"
        for c in known
    ]
    text = f"Over {counted(known[0].n_pairs, 'query')}: {', '.join(parts)}"
    unclear = [c.measure for c in known if not facts.is_clear(c.measure)]
    if len(unclear) == len(known) and (least := facts.detectable(known[0].measure)) is not None:
        text += (
            f". A change of {known[0].measure} smaller than about {rate(least)} points "
            "could go unnoticed"
        )
    return f"{text}."


def moved(facts: Facts) -> str:
    """Return how many queries moved a measure, and how many have another first document."""
    n, top = len(facts.contributions), len(facts.top1_changed)
    return f"{counted(n, 'query')} moved a measure, {top:,} have another first document."


def hurt(facts: Facts) -> str:
    """Return the query that lost most on a headline measure."""
    losses = [
        (points, query, measure)
        for query, given in facts.contributions.items()
        for measure, points in given.items()
        if measure in HEADLINE and points < 0 and query in facts.by_id
    ]
    if not losses:
        return ""
    _, query, measure = min(losses)
    n = facts.changes[measure].n_pairs
    drop = signed(facts.contributions[query][measure] * n)
    title = facts.title(facts.by_id[query], _NAME_LIMIT)
    return f"Most lost: “{title}” ({measure} {drop} points)."


def labels(facts: Facts) -> str:
    """Return who made the labels: people or feedback."""
    block = facts.run.document["run"]["gold_set"]
    people, n = block["sources"].get("chair", 0), block["n_queries"]
    if is_provisional(facts):
        return f"No person reviewed any of the {counted(n, 'gold query')}."
    return f"A person reviewed {of(people, n)} gold queries."


def trust(facts: Facts) -> str:
    """Return what the numbers rest on: queries scored, and how much was judged."""
    n, status = len(facts.scored), facts.status
    text = f"{of(n, status['n_queries'])} queries could be scored"
    bad = [
        f"{status[key]:,} {word}"
        for word, key in (("failed", "n_failed"), ("empty", "n_empty"), ("refused", "n_refused"))
        if status[key]
    ]
    text += f" ({', '.join(bad)})" if bad else ""
    judged, first = facts.means.get(JUDGED), facts.means.get(HEADLINE[0])
    if judged is None or judged.value is None:
        return f"{text}."
    text += f"; {rate(judged.value)} of the first ten documents were judged"
    if first is not None and first.value is not None and first.unjudged_high is not None:
        text += f", so {first.measure} could be up to {rate(first.unjudged_high)}"
    return f"{text}."


def inside(text: str) -> str:
    """Return a sentence as it stands after a colon; the name of a measure keeps its capital.

    Examples
    --------
    >>> inside("No change."), inside("P@5 is lower.")
    ('no change', 'P@5 is lower')
    """
    is_measure = "@" in text.partition(" ")[0]
    first = text[:1] if is_measure else text[:1].lower()
    return f"{first}{text[1:].rstrip('.')}"
