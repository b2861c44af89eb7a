"""Which labels the corpus has left behind, and which documents to judge next."""

from __future__ import annotations

from retrieval_eval.escape import visible
from retrieval_eval.gold.corpus import corpus_fingerprint
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import of, rate, signed
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.sections.labels import NO_GOLD
from retrieval_eval.report.search.stale import REASONS, LabelCheck
from retrieval_eval.search.settings import HEADLINE


def stale(facts: Facts) -> Block:
    """Return the labels whose document is gone or has another text."""
    found = facts.checks.labels
    if found is None:
        missing = "the documents were" if facts.run.gold is not None else "the gold set was"
        why = f"Labels were not compared with the corpus, because {missing} not read."
        return section("Whether labels are stale is not known", Empty("stale-labels", why))
    other = _other_corpus(facts)
    if not found.stale:
        why = (
            f"All {found.n_labels:,} judged documents are in the corpus, and "
            f"{of(found.n_anchored, found.n_labels)} were checked by their text."
        )
        return section("No label is stale", Empty("stale-labels", why), sentences=other)
    rows = [
        (
            facts.title(facts.by_id[label.query]) if label.query in facts.by_id else label.query,
            visible(label.corpus, 30),
            visible(label.doc, 40),
            str(label.grade),
            REASONS[label.reason],
        )
        for label in found.stale[: tables.MAX_ROWS]
    ]
    table = Table(
        "stale-labels",
        "Judged documents that are no longer what was judged",
        ("Query", "Corpus", "Document", "Grade", "Why"),
        tuple(rows),
        ("left", "left", "left", "right", "left"),
        (*tables.capped(len(found.stale), "stale_labels.csv"), *other, *_unanchored(found)),
    )
    counts = " and ".join(
        f"{n:,} {'gone' if reason == 'document_gone' else 'of another text'}"
        for reason in REASONS
        if (n := found.count(reason))
    )
    hint = "`retrieval-eval gold relabel` moves what it can and queues the rest for a person."
    finding = f"{of(len(found.stale), found.n_labels)} labels are stale: {counts}"
    return section(finding, table, sentences=[hint])


def _unanchored(found: LabelCheck) -> tuple[str, ...]:
    rest = found.n_labels - found.n_anchored
    if not rest:
        return ()
    return (f"{of(rest, found.n_labels)} labels have no anchor: only their ids could be checked.",)


def _other_corpus(facts: Facts) -> tuple[str, ...]:
    corpus = facts.run.corpus
    searched = {c["corpus"]: c["fingerprint"] for c in facts.run.document["run"]["corpora"]}
    others = [
        name
        for name, known in searched.items()
        if corpus is not None
        and known is not None
        and known != corpus_fingerprint(d for d in corpus.documents if d.corpus == name)
    ]
    if not others:
        return ()
    listed = ", ".join(visible(name, 36) for name in others[:4])
    return (f"The documents at hand are not those that were searched ({listed}).",)


def to_judge(facts: Facts) -> Block:
    """Return the unjudged documents whose judgement would narrow the headline measures most."""
    queue = facts.checks.queue
    if queue is None:
        return section("What to judge next is not known", Empty("to-judge", NO_GOLD))
    gaps = [
        f"{m} lies between {rate(mean.value)} and {rate(mean.unjudged_high)}"
        for m in HEADLINE
        if (mean := facts.means.get(m)) is not None and mean.unjudged_high is not None
    ]
    if not queue.candidates:
        why = "Every document that could move a headline measure was judged."
        return section("Nothing is left to judge", Empty("to-judge", why))
    total = sum(found.gain_points for found in queue.candidates)
    shown = queue.candidates[: tables.MAX_ROWS]
    gained = sum(found.gain_points for found in shown)
    table = Table(
        "to-judge",
        "Unjudged documents, by how much judging them can narrow the bounds of "
        f"{' and '.join(HEADLINE)}",
        ("Query", "Document", "Rank", "Points"),
        tuple(
            (
                facts.title(facts.by_id[found.query]),
                visible(found.doc, 40),
                str(found.best_rank),
                signed(found.gain_points).lstrip("+"),
            )
            for found in shown
        ),
        ("left", "left", "right", "right"),
        tables.capped(queue.n_candidates, "to_judge.csv"),
    )
    finding = (
        f"{'; '.join(gaps) or 'Bounds are not known'}: {queue.n_candidates:,} unjudged documents "
        "decide where"
    )
    said = (
        f"The {len(shown)} listed make up {rate(gained)} of {rate(total)} points; "
        "`retrieval-eval search judge-next` makes a sheet of them."
    )
    return section(finding, table, sentences=[said])
