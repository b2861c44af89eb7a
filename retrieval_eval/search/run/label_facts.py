"""Facts about the labels of a run: whether they drifted, and which came from the retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import Circularity, LabelFacts, OutsideLabels, SearchRun
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.drift import DRIFTS, drift
from retrieval_eval.values import counted

_MOST_NAMED: Final = 5
_NO_DRIFT: Final = frozenset({"same", "not_recorded", "total"})


def label_facts(
    gold: GoldSet,
    asked: Collection[str],
    retriever: str,
    corpus: Corpus | None = None,
    known: Mapping[str, Collection[str]] | None = None,
) -> LabelFacts:
    """Return the facts about the labels of the queries asked.

    ``retriever`` is named as ``found_by`` has it. Without the documents (``corpus``) drift is not
    known, without their ids (``known``) which labels name documents that cannot be found. Nothing
    is guessed: what is not recorded is counted as such.

    Examples
    --------
    >>> from retrieval_eval.model.gold import GoldQuery
    >>> row = GoldQuery("q", "fees", "law", relevant={"d1": 1, "d2": 1}, found_by={"d1": ("bm25",)})
    >>> facts = label_facts(GoldSet((row,), ""), ["q"], "bm25").circularity
    >>> facts.share, facts.low, facts.high, facts.n_not_recorded
    (1.0, 0.5, 1.0, 1)
    """
    rows = tuple(query for query in gold.queries if query.id in asked)
    part = replace(gold, queries=rows)
    outside = None if known is None else outside_labels(part, known)
    if corpus is None or not any(query.digests for query in rows):
        return LabelFacts(circularity=circularity(part, retriever), outside=outside)
    report = drift(part, corpus)
    counts = Counter(one.drift for one in report)
    return LabelFacts(
        circularity=circularity(part, retriever),
        outside=outside,
        drift={**{name: counts[name] for name in DRIFTS}, "total": len(report)},
        drifted_queries=tuple(
            dict.fromkeys(one.query for one in report if one.drift in ("changed", "gone"))
        ),
    )


def outside_labels(gold: GoldSet, known: Mapping[str, Collection[str]]) -> OutsideLabels:
    """Return the labels of documents that their corpus lacks, which no retriever can find."""
    lacking = {
        query.id: [doc for doc in query.relevant if doc not in known.get(query.corpus, ())]
        for query in gold.queries
    }
    relevant = {query.id: query.relevant for query in gold.queries}
    pairs = [(name, doc) for name, docs in lacking.items() for doc in docs]
    return OutsideLabels(
        n_labels=sum(map(len, relevant.values())),
        n_outside=len(pairs),
        n_relevant=sum(relevant[name][doc] >= 1 for name, doc in pairs),
        documents={name: tuple(docs) for name, docs in lacking.items() if docs},
    )


def outside_sentence(run: SearchRun) -> str | None:
    """Return how many labels name documents that the corpus lacks, or None for none of them."""
    found = None if run.labels is None else run.labels.outside
    if found is None or not found.n_outside:
        return None
    effect = f", {found.n_relevant:,} of them relevant: no retriever can find these"
    return (
        f"{found.n_outside:,} of {counted(found.n_labels, 'label')} name documents that the corpus"
        f" lacks{effect if found.n_relevant else ''} ({_named([*found.documents])})"
    )


def circularity(gold: GoldSet, retriever: str) -> Circularity:
    """Return how many relevant labels only the measured retriever had found.

    Such a label cannot show what this retriever misses: a set made of them favours it. What other
    retrievers had found, too, counts as theirs. Runs and rows are matched by the retriever's name
    alone.
    """
    names = [
        query.found_by.get(doc)
        for query in gold.queries
        for doc, grade in query.relevant.items()
        if grade >= 1
    ]
    n, n_known = len(names), sum(one is not None for one in names)
    n_only = sum(one == (retriever,) for one in names)
    reason = None if n_known else "not_recorded" if n else "no_such_queries"
    return Circularity(
        retriever=retriever,
        n_relevant=n,
        n_only_this=n_only,
        n_others=n_known - n_only,
        n_not_recorded=n - n_known,
        share=n_only / n_known if n_known else None,
        low=n_only / n if n_known else None,
        high=(n_only + n - n_known) / n if n_known else None,
        reason=reason,
    )


def circularity_sentence(found: Circularity) -> str:
    """Return what is known of circular labels, with its counts."""
    labels = counted(found.n_relevant, "relevant label")
    if found.share is None:
        return f"which retriever found them is not recorded for {labels}"
    n_known = found.n_relevant - found.n_not_recorded
    text = f"{found.n_only_this} of {counted(n_known, 'relevant label')} found by"
    text += f" {found.retriever} alone ({found.share:.0%})"
    if not found.n_not_recorded:
        return text
    return (
        f"{text}; not recorded for {found.n_not_recorded} more, so between {found.low:.0%} and"
        f" {found.high:.0%} of all"
    )


def drift_sentence(document: SearchRun) -> str | None:
    """Return how many labelled documents drifted and which queries that concerns, or None."""
    facts = document.labels
    if facts is None or not facts.drifted_queries or facts.drift is None:
        return None
    # Runs of earlier versions tell apart what became of a text.
    drifted = {n: count for n, count in facts.drift.items() if count and n not in _NO_DRIFT}
    parts = ", ".join(f"{count} {name}" for name, count in drifted.items())
    n = counted(sum(drifted.values()), "label")
    return (
        f"given to other texts than the documents have now: {n}"
        f" of {counted(len(facts.drifted_queries), 'query')} ({parts}); a change of"
        f" {_named(facts.drifted_queries)} may come from the labels, not from the retrieval"
    )


def _named(queries: Sequence[str]) -> str:
    rest = len(queries) - _MOST_NAMED
    return ", ".join(queries[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
