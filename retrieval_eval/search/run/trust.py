"""May the numbers of a search run be trusted: one question, asked here of every run.

`~retrieval_eval.search.ask.read_documents` decides whether one answer can be scored. What
it found over a whole run, and whether the retriever answers the same question alike, makes the
block ``trust`` of the run; `distrust` reads it for everything that decides by a run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import (
    Circularity,
    EqualTexts,
    LabelFacts,
    MetricMean,
    MoreThanCutoff,
    OutsideLabels,
    OwnLabels,
    QueryResult,
    SearchRun,
    Trust,
    TrustSample,
)
from retrieval_eval.ranking.measures import parse_measure
from retrieval_eval.search.ask import EMPTY_IN_FILE, FAILURES, MISSING, RISING
from retrieval_eval.search.ask import QueryResult as Answer
from retrieval_eval.search.gold.chunks import DRIFTS, drift, text_digest
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.run import HEADLINE, Settings, deepest_cutoff
from retrieval_eval.stats.proportions import clopper_pearson
from retrieval_eval.values import counted

# --------------------------------------------------------------------------------------------------
# Facts about the labels of a run: whether they drifted, and which came from the retriever.

_MOST_NAMED: Final = 5
_MOST_MISSING: Final = 20
_NO_DRIFT: Final = frozenset({"same", "not_recorded", "total"})


def label_facts(
    gold: GoldSet,
    asked: Collection[str],
    retriever: str,
    corpus: Corpus | None = None,
    known: Mapping[str, Collection[str]] | None = None,
    *,
    settings: Settings | None = None,
) -> LabelFacts:
    """Return the facts about the labels of the queries asked.

    ``retriever`` is named as ``found_by`` has it. Without the documents (``corpus``) drift is not
    known, nor which documents have equal texts, and without their ids (``known``) which labels name
    documents that cannot be found. What no retriever can reach under ``settings`` is counted, too.
    Nothing is guessed: what is not recorded is counted as such.

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
    facts = LabelFacts(
        circularity=circularity(part, retriever),
        outside=None if known is None else outside_labels(part, known),
        own=_own_labels(rows) if settings is not None and settings.without_own else None,
        more_than_cutoff=None if settings is None else _more_than(rows, settings.measures),
        equal_texts=None if corpus is None else equal_texts(part, corpus),
    )
    if corpus is None or not any(query.digests for query in rows):
        return facts
    report = drift(part, corpus)
    counts = Counter(one.drift for one in report)
    return replace(
        facts,
        drift={**{name: counts[name] for name in DRIFTS}, "total": len(report)},
        drifted_queries=tuple(
            dict.fromkeys(one.query for one in report if one.drift in ("changed", "gone"))
        ),
    )


def unreachable(facts: LabelFacts) -> dict[str, set[str]]:
    """Return the labelled documents that no retriever can return, by the id of the query."""
    found = {} if facts.outside is None else facts.outside.documents
    lacking = {query: set(docs) for query, docs in found.items()}
    for query in () if facts.own is None else facts.own.queries:
        lacking.setdefault(query, set()).add(query)
    return lacking


def _own_labels(rows: Sequence[GoldQuery]) -> OwnLabels:
    grades = {query.id: query.relevant[query.id] for query in rows if query.id in query.relevant}
    n_relevant = sum(grade >= 1 for grade in grades.values())
    return OwnLabels(n_labels=len(grades), n_relevant=n_relevant, queries=tuple(grades))


def _more_than(rows: Sequence[GoldQuery], measures: Sequence[str]) -> MoreThanCutoff | None:
    """Return the queries with more relevant documents than Recall looks at, None without one."""
    k = deepest_cutoff(name for name in measures if parse_measure(name).name == "Recall")
    sizes = {query.id: query.n_relevant for query in rows if query.n_relevant > k}
    if not sizes:
        return None
    query, n = max(sizes.items(), key=lambda item: item[1])
    return MoreThanCutoff(measure=f"Recall@{k}", n_queries=len(sizes), query=query, n_relevant=n)


def equal_texts(gold: GoldSet, corpus: Corpus) -> EqualTexts | None:
    """Return the texts that several ids of one corpus have, None without one.

    Texts are equal in Unicode NFC with white space collapsed, titles included; empty ones are not
    compared.
    """
    ids: dict[tuple[str, str], list[str]] = {}
    for one in corpus.documents:
        text = f"{one.title} {one.text}"
        if not text.isspace():
            ids.setdefault((one.corpus, text_digest(text)), []).append(one.id)
    twins = {key: docs for key, docs in ids.items() if len(docs) > 1}
    if not twins:
        return None
    others = {(name, doc): docs for (name, _), docs in twins.items() for doc in docs}
    pairs = [
        (query.id, doc, unjudged[0])
        for query in gold.queries
        for doc, grade in query.relevant.items()
        if grade >= 1
        and (
            unjudged := [
                twin for twin in others.get((query.corpus, doc), ()) if twin not in query.relevant
            ]
        )
    ]
    return EqualTexts(
        n_texts=len(twins),
        n_documents=len(others),
        n_relevant=len(pairs),
        example=pairs[0] if pairs else None,
    )


def equal_texts_sentence(found: EqualTexts) -> str:
    """Return how many texts several documents have, and what that does to the labels."""
    text = (
        f"{counted(found.n_texts, 'text')} of the corpus {'has' if found.n_texts == 1 else 'have'}"
        f" several ids ({counted(found.n_documents, 'document')})"
    )
    if found.example is None:
        return text
    query, doc, twin = found.example
    return (
        f"{text}: a twin of {counted(found.n_relevant, 'relevant label')} is not judged and counts"
        f" as not relevant where it is returned, such as {twin}, the text of {doc}, for {query}"
    )


def reach_sentences(run: SearchRun) -> list[str]:
    """Return which labels no retriever can reach, each with its count and an example."""
    facts, found = run.labels, []
    if (outside := outside_sentence(run)) is not None:
        found.append(outside)
    if facts is not None and facts.own is not None and facts.own.n_relevant:
        found.append(
            f"{counted(facts.own.n_relevant, 'relevant label')} of the query's own document, which"
            f" was left out: no retriever can find these ({_named(facts.own.queries)})"
        )
    if facts is not None and (more := facts.more_than_cutoff) is not None:
        found.append(
            f"{more.measure} cannot reach 1 for {counted(more.n_queries, 'query')} with more"
            f" relevant documents than that, such as {more.query} with {more.n_relevant:,}"
        )
    return found


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
    query, docs = next(iter(found.documents.items()))
    return (
        f"{found.n_outside:,} of {counted(found.n_labels, 'label')} name documents that the corpus"
        f" lacks{effect if found.n_relevant else ''} ({_named([*found.documents])}), such as"
        f" {docs[0]} for {query}"
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


def _named(queries: Sequence[str], most: int = _MOST_NAMED) -> str:
    rest = len(queries) - most
    return ", ".join(queries[:most]) + (f" and {rest} more" if rest > 0 else "")


# --------------------------------------------------------------------------------------------------
# May the numbers of a search run be trusted: one question, asked here of every run.

ASK_TWICE: Final = 20
"""Queries asked a second time unless another number is stated."""

LOWER: Final = (
    "negate them, or say that lower is better (lower_is_better = True on a retriever of your own,"
    " --option best=low of run: and http:)"
)
"""What to do where scores are distances."""

# Sums and quotients are off by their last digits.
_ROUNDING: Final = 1e-9
_COUNTS: Final = ("n_failed", "n_asked_twice", "n_same_answer", "is_deterministic")
_VARIED: Final = ("other_answer", "failed")
SecondAnswer = Literal["same", "other_scores", "other_answer", "failed"]


def check_limits(max_failed: float, ask_twice: int) -> None:
    """Raise `BadInputError` for a share of failures, or a number of queries, that is none."""
    if not 0 <= max_failed < 1:
        raise BadInputError(
            f"the largest share of failed queries is {max_failed}; it must be 0 or more and below 1"
        )
    if ask_twice < 0:
        raise BadInputError(f"{ask_twice} queries cannot be asked twice; it must be 0 or more")


def sample_of(n: int, seed: int, *, is_reopened: bool = False) -> TrustSample | None:
    """Return the rule by which `~retrieval_eval.search.run.running.sampled` chooses; None for 0."""
    if not n:
        return None
    rule = "the smallest SHA-256 of seed, colon and query id; answered ones are asked again"
    return TrustSample(n_wanted=n, seed=seed, rule=rule, is_reopened=is_reopened)


def second_answer(answer: Answer, threshold: float | None = None) -> SecondAnswer | None:
    """Return how the second answer to a query differs from the first; None without a second.

    Metrics see documents in their order, so that this decides whether two answers are the same.
    Scores decide where a score is compared with a number: at a floor, whose effect on the ranking
    is seen in it, and at the ``threshold`` of refusals, whose effect counts as another answer.
    Scores that differ otherwise, such as in their last digit, count as other scores.
    """
    again = answer.again
    if again is None or answer.status == "failed":
        return None
    if again.status == "failed":
        return "failed"
    if _decided(answer, threshold) != _decided(again, threshold):
        return "other_answer"
    return "same" if answer.ranking == again.ranking else "other_scores"


def _decided(answer: Answer, threshold: float | None) -> tuple[list[str], bool, bool]:
    top = answer.ranking[0].score if answer.ranking else -math.inf
    is_below = threshold is not None and top < threshold
    return [found.doc for found in answer.ranking], answer.is_refused, is_below


def trust_in(
    queries: Sequence[QueryResult],
    *,
    ids_checked: bool,
    max_failed: float = 0.0,
    is_declared: bool = False,
    sample: TrustSample | None = None,
    confidence: float = 0.95,
) -> Trust:
    """Return what was found out about the answers of a run.

    Parameters
    ----------
    queries
        Those of the run.
    ids_checked
        Whether the documents were known.
    max_failed
        The share of failed queries above which there is no verdict.
    is_declared
        Whether the retriever says that it is deterministic.
    sample
        Which queries were to be asked twice.
    confidence
        Coverage of the interval of the share that varies.
    """
    failed = [query.failure or "raised" for query in queries if query.status == "failed"]
    found = Counter(failed)
    second = Counter(query.second_answer for query in queries if query.second_answer is not None)
    n_varied = sum(second[code] for code in _VARIED)
    n_twice = second.total()
    is_measured = n_twice > 0 and not (is_declared and not n_varied)
    return Trust(
        ids_checked=ids_checked,
        n_failed=len(failed),
        failed_share=len(failed) / len(queries) if queries else 0.0,
        max_failed_share=max_failed,
        problems={code: found[code] for code in FAILURES if found[code]},
        n_asked_twice=n_twice,
        n_same_answer=n_twice - n_varied,
        n_same_scores=second["same"],
        varied_high=clopper_pearson(n_varied, n_twice, confidence=confidence).high.value,
        is_declared=is_declared,
        determinism="measured" if is_measured else "declared" if is_declared else "not_measured",
        is_deterministic=not n_varied if n_twice or is_declared else None,
        sample=sample,
    )


_REMEDIES: Final = {
    "raised": "; see that it runs and can be reached from here, then ask again",
    "unknown_documents": "; is the corpus file the one that it searches?",
}
"""What to do where queries failed, by the code of the first; the others say it themselves."""


def reasons(trust: Trust, queries: Sequence[QueryResult], retriever: str) -> list[str]:
    """Return why a run of a retriever with these queries has no verdict of its own."""
    failed = [query for query in queries if query.status == "failed"]
    n_rising = sum(query.failure == RISING for query in failed)
    found = []
    if n_rising:
        found.append(
            f"scores rise along the answers of {retriever} to {n_rising:,} of"
            f" {counted(len(queries), 'query')}, as distances do, and here the highest score is the"
            f" best, so nothing was scored: {LOWER}"
        )
    elif failed and len(failed) > trust.max_failed_share * len(queries):
        limit = trust.max_failed_share
        above = f", above the limit of {_percent(limit)}" if limit else ""
        found.append(
            f"{len(failed)} of {counted(len(queries), 'query')} failed{above}, so the means are not"
            f" those of the gold set; the first of {retriever} was {failed[0].id}"
            f" ({failed[0].error}){_REMEDIES.get(failed[0].failure or '', '')}"
        )
    return found + lacking(queries)


def lacking(queries: Sequence[QueryResult]) -> list[str]:
    """Return what a file of rankings lacks to be a whole run, in sentences.

    Half of a run is no regression, and an export that broke is no system that refuses: neither may
    be compared with another run.
    """
    missing = [query.id for query in queries if MISSING in query.problems]
    meant = [query for query in queries if query.answerable is not False]
    empty = [query.id for query in meant if EMPTY_IN_FILE in query.problems]
    found = []
    if missing:
        found.append(
            f"the run is incomplete: the file has no line for {len(missing):,} of"
            f" {counted(len(queries), 'query')} ({_named(missing, _MOST_MISSING)}); where nothing"
            ' was found, say so: "ranking": [] in JSONL, or --option missing=empty'
        )
    if 2 * len(empty) > len(meant):
        found.append(
            f"the run is incomplete: the file has no document for {len(empty):,} of"
            f" {counted(len(meant), 'answerable query')}, which are most of them"
            f" ({_named(empty, _MOST_MISSING)})"
        )
    return found


def recounted(run: SearchRun, queries: Sequence[QueryResult]) -> Trust:
    """Return the block ``trust`` of a run for these of its queries."""
    known = trust_of(run)
    return trust_in(
        queries,
        ids_checked=known.ids_checked,
        max_failed=known.max_failed_share,
        is_declared=known.is_declared,
        sample=known.sample,
        confidence=run.run.settings.confidence,
    )


def trust_of(run: SearchRun) -> Trust:
    """Return the block ``trust`` of a run; of one of an earlier version, what can be known."""
    if run.trust is not None:
        return run.trust
    return trust_in(run.queries, ids_checked=run.run.ids_checked is True)


def distrust(run: SearchRun) -> list[str]:
    """Return why nothing may be decided by a run, in sentences; empty where it may be.

    The queries of the run decide it, and not what its file says of them.
    """
    return reasons(trust_of(run), run.queries, run.run.retriever.name) or contradictions(run)


def contradictions(run: SearchRun) -> list[str]:
    """Return what a run states that does not follow from its own queries, in sentences.

    Precision and reciprocal rank follow from the grades beside the documents, every mean from the
    values of its queries, and the counts of ``trust`` from what each query records. A file edited
    by hand, or cut by a tool, seldom agrees with itself.
    """
    ids = {query.id for query in run.queries}
    if len(ids) < len(run.queries) or len(ids) != run.status.n_queries:
        # A truncated run, which has a reason of its own.
        return []
    found = []
    if wrong := [query.id for query in run.queries if not _follows(query)]:
        found.append(
            f"P or RR does not follow from the documents of {counted(len(wrong), 'query')}; the"
            f" first is {wrong[0]}"
        )
    if wrong := [name for name, mean in run.metrics.items() if not _is_mean(run, name, mean)]:
        found.append(
            f"the mean of {wrong[0]} does not follow from the queries, nor do"
            f" {counted(len(wrong) - 1, 'other mean')}"
            if len(wrong) > 1
            else f"the mean of {wrong[0]} does not follow from the queries"
        )
    if run.trust is not None:
        counts = recounted(run, run.queries)
        wrong = [name for name in _COUNTS if getattr(run.trust, name) != getattr(counts, name)]
        if wrong:
            found.append(f"trust states another {' and '.join(wrong)} than the queries")
    return found


def _is_mean(run: SearchRun, name: str, mean: MetricMean) -> bool:
    if not all(name in query.metrics for query in run.queries):
        # What a query lacks has a reason of its own, and a history keeps some metrics only.
        return True
    values = [query.metrics[name] for query in run.queries]
    known = [value for value in values if value is not None]
    if mean.value is None or len(known) != mean.n:
        return mean.value is None
    return abs(math.fsum(known) / mean.n - mean.value) <= _ROUNDING


def _follows(query: QueryResult) -> bool:
    """Return whether P and RR of a query are those of the grades in its ranking."""
    if query.status == "failed" or query.n_retrieved != len(query.ranking):
        return True
    hits = [rank for rank, found in enumerate(query.ranking, 1) if (found.grade or 0) >= 1]
    for name, value in query.metrics.items():
        if value is None:
            continue
        stem, _, cutoff = name.partition("@")
        if name == "RR":
            expected = 1 / hits[0] if hits else 0.0
        elif stem == "P" and cutoff.isdecimal():
            expected = sum(rank <= int(cutoff) for rank in hits) / int(cutoff)
        else:
            continue
        if abs(value - expected) > _ROUNDING:
            return False
    return True


def require_trust(run: SearchRun, name: str) -> None:
    """Raise NothingToEvaluateError, naming the run, where nothing may be decided by it."""
    if why := distrust(run):
        raise NothingToEvaluateError(f"{name} has no verdict: {'; '.join(why)}")


def incomplete(run: SearchRun) -> list[str]:
    """Return why other runs may not be compared with a run, in sentences.

    A run that allowed failures has a verdict of its own. Where each query is paired with its like,
    a query that failed here would be left out silently, and so none may have failed.
    """
    if why := distrust(run):
        return why
    failed = [query for query in run.queries if query.status == "failed"]
    if not failed:
        return []
    share = f"{len(failed)} of {counted(len(run.queries), 'query')}"
    limits = "failed, within the limit of the run, and what it is compared with needs each of them"
    return [f"{share} {limits}; the first was {failed[0].id}"]


def line(run: SearchRun) -> str:
    """Return what was found out about the answers in one line, for a terminal and a page.

    Such as "600 queries, 0 failed; ids checked; 20 asked twice, all the same".
    """
    trust, n = trust_of(run), len(run.queries)
    failed = f"{counted(n, 'query')}, {trust.n_failed:,} failed"
    if trust.n_failed:
        codes = ", ".join(f"{count:,} {FAILURES[code]}" for code, count in _known(trust))
        failed += f" ({codes})" if codes else ""
    if trust.max_failed_share:
        failed += f", at most {_percent(trust.max_failed_share)} may"
    ids = "ids checked" if trust.ids_checked else "ids not checked"
    return f"{failed}; {ids}; {_twice(trust)}"


def _known(trust: Trust) -> list[tuple[str, int]]:
    return [(code, n) for code, n in trust.problems.items() if code in FAILURES]


def _twice(trust: Trust) -> str:
    declared = ""
    if trust.is_declared:
        but = ", which is not so" if trust.is_deterministic is False else ""
        declared = f" (the retriever says that it is deterministic{but})"
    if not trust.n_asked_twice:
        return f"none asked twice{declared}"
    n_varied = trust.n_asked_twice - trust.n_same_answer
    n_scores = trust.n_same_answer - trust.n_same_scores
    parts = []
    if n_varied:
        parts.append(f"{n_varied:,} answered differently")
    if n_scores:
        parts.append(f"{n_scores:,} with other scores in the same order")
    return f"{trust.n_asked_twice:,} asked twice, {', '.join(parts) or 'all the same'}{declared}"


def warnings(run: SearchRun) -> list[str]:
    """Return what a reader must know before the numbers, in sentences without a full stop."""
    trust = trust_of(run)
    found = []
    if trust.n_failed and trust.n_failed <= trust.max_failed_share * len(run.queries):
        found.append(
            f"{trust.n_failed:,} of {counted(len(run.queries), 'query')} failed, within the limit"
            f" of {_percent(trust.max_failed_share)}, and means are over the others{_bounds(run)}"
        )
    n_varied = trust.n_asked_twice - trust.n_same_answer
    if n_varied:
        but = "although the retriever says that it is deterministic: it"
        found.append(
            f"{n_varied:,} of {counted(trust.n_asked_twice, 'query')} asked twice got another"
            f" answer{f', {but}' if trust.is_declared else ': the retriever'} is not deterministic,"
            " and `retrieval-eval search noise` says how much its numbers move"
        )
    found += _of_answers(run)
    found += reach_sentences(run)
    if run.labels is not None and (equal := run.labels.equal_texts) is not None:
        found.append(equal_texts_sentence(equal))
    if n_other := run.run.n_other_queries:
        found.append(
            f"the file has rankings of {counted(n_other, 'query')} that the gold set lacks; they"
            " were left out"
        )
    return found


def _of_answers(run: SearchRun) -> list[str]:
    """Return what was odd about answers that were scored nevertheless, in sentences."""
    n = len(run.queries)
    has = {
        code: sum(code in query.problems for query in run.queries)
        for code in ("unsorted", RISING, "no_score")
    }
    found = []
    if n_other := has["unsorted"] + has[RISING]:
        found.append(
            f"{n_other:,} of {counted(n, 'query')} were answered in another order than the scores"
            " say, and the scores decided"
        )
    if has["no_score"]:
        found.append(
            f"{has['no_score']:,} of {counted(n, 'query')} got places with the score ±3.4e38 (the"
            " largest 32-bit number), which says that nothing was found there; they were left out"
        )
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _bounds(run: SearchRun) -> str:
    means = {name: run.metrics[name] for name in HEADLINE if name in run.metrics}
    found = [
        f"{name} would lie from {mean.failed_low:.3f} to {mean.failed_high:.3f}"
        for name, mean in means.items()
        if mean.failed_low is not None and mean.failed_high is not None
    ]
    return f"; with each failed one between 0 and 1, {' and '.join(found)}" if found else ""
