"""The first screen: what was measured, the answer, and whether to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.numbers import count, finite, of
from retrieval_eval.report.search import prose, tables
from retrieval_eval.report.search.facts import Facts, day
from retrieval_eval.report.search.names import SOURCES
from retrieval_eval.report.search.reading import coerce
from retrieval_eval.report.search.sections.guard import verdict_words
from retrieval_eval.report.simulated import notice
from retrieval_eval.values import counted

NO_BACKLOG = "not counted; name one with --backlog"


def header(facts: Facts) -> Block:
    """Return the strip with label, retriever, corpora, gold set, status, labels and backlog."""
    document = facts.run.document
    run = document["run"]
    corpora = ", ".join(visible(corpus["corpus"], 36) for corpus in run["corpora"][:4])
    more = len(run["corpora"]) - 4
    gold = run["gold_set"]
    pairs = counted(gold["n_labelled_pairs"], "labelled pair")
    badges = [
        ("Guard", verdict_words(facts)),
        ("Run", visible(facts.run.name, 48)),
        ("Measured", visible(document["generated_at"], 24)),
        ("Retriever", visible(run["retriever"]["name"], 48) if not facts.privacy else ""),
        ("Corpora", f"{corpora} and {more} more" if more > 0 else corpora),
        ("Gold set", f"{counted(gold['n_queries'], 'query')}, {pairs}"),
        ("Labels", label_sources(gold)),
        ("Queries", _status(facts.status)),
        ("Compared with", _compared_with(facts)),
        ("Review backlog", backlog(facts.run.backlog)),
    ]
    said = notice(facts.run.n_simulated, gold["n_queries"], "query", "search")
    return Block("header", said, badges=tuple((k, v) for k, v in badges if v))


def _compared_with(facts: Facts) -> str:
    if facts.delta is not None:
        return facts.baseline_name
    return "nothing: no verdict" if facts.delta_withheld is not None else "no baseline yet"


def label_sources(gold: Mapping[str, Any]) -> str:
    """Return who made the labels, with the count of each, people first."""
    found = sorted(gold["sources"].items(), key=lambda item: (item[0] != "chair", item[0]))
    parts = [f"{count(n)} {SOURCES.get(source) or visible(source, 24)}" for source, n in found]
    return f"{', '.join(parts)}{': provisional' if gold['is_provisional'] else ''}"


def _status(status: Mapping[str, int]) -> str:
    words = [f"{status['n_queries']:,} asked"]
    words += [f"{status[f'n_{what}']:,} {what}" for what in ("failed", "empty")]
    words.append(f"{status['n_refused']:,} below the floor")
    return ", ".join(words)


def backlog(block: Mapping[str, Any] | None) -> str:
    """Return what waits for review and for how long, or that it was not counted.

    Examples
    --------
    >>> backlog({"pending_review": 2, "total": 9, "oldest_pending_age_days": 30.2})
    '2 of 9 pending, the oldest for 30 days'
    """
    pending = None if block is None else coerce(block.get("pending_review"), "integer")
    if block is None or pending is None:
        return NO_BACKLOG
    text = f"{of(pending, coerce(block.get('total'), 'integer'))} pending"
    age = finite(block.get("oldest_pending_age_days"))
    since = coerce(block.get("oldest_pending_at"), "text")
    if not pending or age is None:
        return text
    when = f" (since {day(since)})" if since else ""
    return f"{text}, the oldest for {counted(max(0, round(age)), 'day')}{when}"


def answer(facts: Facts) -> Block:
    """Return the answer box: a few sentences and one table."""
    said = prose.answer(facts)
    return Block("answer", said.title, said.sentences, (tables.headline(facts),), tone=said.tone)
