"""Claim coverage: the share of a draft's claims that documents labelled relevant support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.gold.model import GoldQuery, GoldSet
from retrieval_eval.records import Progress
from retrieval_eval.search.claims.drafts import Draft
from retrieval_eval.search.claims.judge import Judge, Judgement, ask_all, block_text
from retrieval_eval.search.claims.splitting import Claim, split_claims
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.values import Value

NO_GOLD_BLOCK: Final = "no_gold_block"
NOT_SUBSTANTIVE: Final = "not_substantive"
CONTEXT_DEPTH: Final = 5
"""The documents of the run's ranking that count as context of a draft that names none."""


@dataclass(frozen=True, slots=True)
class Block:
    """A text that may support claims; ``doc`` is None for context that was given as text.

    ``offset`` is where the document's own text begins in ``text``, behind its title.
    """

    doc: str | None
    text: str
    offset: int = 0


class Blocks:
    """The documents of a corpus, by corpus and id."""

    def __init__(self, corpus: Corpus) -> None:
        self._name = corpus.path.name
        self._documents = {(d.corpus, d.id): d for d in corpus.documents}

    def labelled(self, query: GoldQuery) -> tuple[Block, ...]:
        """Return the blocks of grade 1 or more of a query: higher grades first, then by id.

        Raises
        ------
        BadInputError
            When one of them is not in the corpus file.
        """
        relevant = sorted((-grade, doc) for doc, grade in query.relevant.items() if grade >= 1)
        missing = [doc for _, doc in relevant if (query.corpus, doc) not in self._documents]
        if missing:
            raise BadInputError(
                f"{self._name}: lacks the document {missing[0]!r}, labelled relevant for query"
                f" {query.id!r} of corpus {query.corpus!r}; name the corpus file of the labels"
            )
        return tuple(_block(self._documents[query.corpus, doc]) for _, doc in relevant)

    def context(self, query: GoldQuery, draft: Draft, ranked: Mapping[str, Any]) -> list[Block]:
        """Return what a draft was written from: what it names, else the first five of the run.

        An entry that is a document id of the query's corpus is that document, any other is text.

        Raises
        ------
        BadInputError
            When an entry is one word and no document id, which is a typing mistake and no text.
        """
        if draft.context is None:
            found = [entry["doc"] for entry in ranked["ranking"][:CONTEXT_DEPTH]]
            known = [self._documents.get((query.corpus, doc)) for doc in found]
            # What a retriever returns need not exist; it then cannot support anything.
            return [_block(document) for document in known if document is not None]
        blocks = []
        for place, entry in enumerate(draft.context):
            document = self._documents.get((query.corpus, entry))
            if document is None and len(entry.split()) < 2:
                raise BadInputError(
                    f"the drafts: line {draft.line}: /context/{place}: {entry[:80]!r} is"
                    f" no document of corpus {query.corpus!r} in {self._name}"
                )
            blocks.append(Block(None, entry) if document is None else _block(document))
        return blocks

    def find(self, entry: str) -> str:
        """Return the block of a document id, or the entry itself where it is text.

        Raises
        ------
        BadInputError
            When the id is one of several corpora, or one word and no id.
        """
        found = [d for (_, doc), d in self._documents.items() if doc == entry]
        if len(found) > 1:
            raise BadInputError(f"the document id {entry[:80]!r} is in several corpora")
        if not found and len(entry.split()) < 2:
            raise BadInputError(f"{entry[:80]!r} is no document of {self._name}")
        return _block(found[0]).text if found else entry


def _block(document: Document) -> Block:
    text = block_text(document.title, document.text)
    return Block(document.id, text, len(text) - len(document.text))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A claim with what supports it among labelled blocks, and whether its context does."""

    claim: Claim
    block: Block | None
    judgement: Judgement
    is_in_context: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.claim.text,
            "draft_span": list(self.claim.span),
            "is_substantive": self.claim.is_substantive,
            "supported_by": self.block.doc if self.block else None,
            "span": _span(self.block, self.judgement),
            "in_context": self.is_in_context,
            "reason": self.judgement.reason,
        }


@dataclass(frozen=True, slots=True)
class _Task:
    claim: Claim
    labelled: Sequence[Block]
    context: Sequence[Block]


def claims_block(
    run_doc: Mapping[str, Any],
    drafts: Sequence[Draft],
    corpus: Corpus,
    judge: Judge,
    *,
    gold: GoldSet,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the ``claims`` block of a search run.

    *Coverage* is the share of substantive claims that a document of grade 1 or more of the query
    supports; *faithfulness* the share that the draft's context supports, be it relevant or not.
    Both rest on all substantive claims together, with a bootstrap interval that resamples whole
    drafts (`bootstrap_mean` with clusters), cut at 0 and 1. A refused draft holds no claim. Of an
    unanswerable query no document supports anything, so every claim of its draft is uncovered.
    Drafts of queries that nobody has labelled are counted and left out.

    Parameters
    ----------
    run_doc
        The search run the drafts belong to; its rankings are the context of drafts without one.
    drafts, corpus, judge
        The answers, the text of all documents, and who decides what supports what.
    gold
        The gold set of the run, for a run holds only the labels of what was retrieved.

    Raises
    ------
    BadInputError
        When the gold set is not that of the run, a draft belongs to none of its queries, or a
        document that is needed is not in the corpus.
    JudgeError
        When the judge fails; there is no block then.
    NothingToEvaluateError
        When no draft is left.
    """
    queries, ranked = _queries(run_doc, gold)
    _check_drafts(drafts, queries)
    blocks = Blocks(corpus)
    ordered = sorted(drafts, key=lambda draft: draft.id)
    kept = [draft for draft in ordered if _is_labelled(queries[draft.id])]
    if not kept:
        raise NothingToEvaluateError("every draft belongs to a query that nobody has labelled")
    tasks: list[_Task] = []
    owners: list[str] = []
    for draft in kept:
        query = queries[draft.id]
        labelled = blocks.labelled(query)
        context = blocks.context(query, draft, ranked[draft.id])
        for claim in () if draft.refused else split_claims(draft.draft):
            tasks.append(_Task(claim, labelled, context))
            owners.append(draft.id)
    verdicts = _judged(tasks, judge, progress)
    counted = [(o, v) for o, v in zip(owners, verdicts, strict=True) if v.claim.is_substantive]
    clusters = [owner for owner, _ in counted]
    settings = run_doc["run"]["settings"]
    by_query: dict[str, list[dict[str, Any]]] = {draft.id: [] for draft in kept}
    for owner, verdict in zip(owners, verdicts, strict=True):
        by_query[owner].append(verdict.to_json())
    is_covered = [verdict.block is not None for _, verdict in counted]
    return {
        "judge": judge.facts.to_json(),
        "n_drafts": len(drafts),
        "n_refused": sum(draft.refused for draft in kept),
        "n_unlabelled": len(drafts) - len(kept),
        "n_without_draft": len(queries.keys() - {draft.id for draft in drafts}),
        "n_claims": len(verdicts),
        "n_substantive": len(counted),
        "n_supported": sum(is_covered),
        "coverage": _share(is_covered, clusters, settings),
        "faithfulness": _share([v.is_in_context for _, v in counted], clusters, settings),
        # Labels of people come beside it; see `judge_agreement`.
        "agreement": None,
        "queries": [
            {"id": draft.id, "is_refused": draft.refused, "claims": by_query[draft.id]}
            for draft in kept
        ],
    }


def _queries(
    run_doc: Mapping[str, Any], gold: GoldSet
) -> tuple[dict[str, GoldQuery], dict[str, Mapping[str, Any]]]:
    if run_doc["run"]["gold_set"]["fingerprint"] != gold.fingerprint:
        raise BadInputError(
            f"{gold.path or 'the gold set'}: is not the gold set of the run (the fingerprints"
            " differ); name the one it was measured against"
        )
    ranked = {query["id"]: query for query in run_doc["queries"]}
    return {query.id: query for query in gold.queries if query.id in ranked}, ranked


def _check_drafts(drafts: Sequence[Draft], queries: Mapping[str, GoldQuery]) -> None:
    unknown = [draft for draft in drafts if draft.id not in queries]
    if unknown:
        listed = "\n".join(
            f"the drafts: line {draft.line}: /id: the run has no query {draft.id[:80]!r}"
            for draft in unknown[:20]
        )
        more = f"\nand {len(unknown) - 20} more" if len(unknown) > 20 else ""
        raise BadInputError(listed + more)


def _is_labelled(query: GoldQuery) -> bool:
    return bool(query.n_relevant) or query.answerable is False


def _judged(tasks: Sequence[_Task], judge: Judge, progress: Progress | None) -> list[_Verdict]:
    found = []
    for verdict in ask_all(lambda task: _verdict(task, judge), tasks, judge):
        found.append(verdict)
        if progress is not None:
            progress(len(found), len(tasks), verdict.claim.text[:40])
    return found


def _verdict(task: _Task, judge: Judge) -> _Verdict:
    claim = task.claim
    if not claim.is_substantive:
        return _Verdict(claim, None, Judgement(False, None, NOT_SUBSTANTIVE), False)
    known: dict[str, Judgement] = {}

    def ask(block: Block) -> Judgement:
        if block.text not in known:
            known[block.text] = judge.judge(claim.text, block.text)
        return known[block.text]

    covering, judgement = None, Judgement(False, None, NO_GOLD_BLOCK)
    for number, block in enumerate(task.labelled):
        answer = ask(block)
        if answer.supported:
            covering, judgement = block, answer
            break
        # Why the best of the blocks does not support it tells most.
        judgement = answer if not number else judgement
    return _Verdict(claim, covering, judgement, any(ask(block).supported for block in task.context))


def _span(block: Block | None, judgement: Judgement) -> list[int] | None:
    """Return where the support stands in the document's own text; None when in its title."""
    if block is None or judgement.span is None or judgement.span[1] <= block.offset:
        return None
    start, end = judgement.span
    return [max(0, start - block.offset), end - block.offset]


def _share(
    flags: Sequence[bool], clusters: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Any]:
    numbers = [float(flag) for flag in flags]
    if not numbers:
        value = Value.missing("no_claims")
        return {**value.to_json(), "ci_low": None, "ci_high": None}
    interval = bootstrap_mean(
        numbers,
        seed=settings["seed"],
        n_resamples=settings["n_resamples"],
        confidence=settings["confidence"],
        clusters=clusters,
    )
    low, high = interval.low.value, interval.high.value
    return {
        **Value.of(math.fsum(numbers) / len(numbers), len(numbers)).to_json(),
        "ci_low": None if low is None else max(low, 0.0),
        "ci_high": None if high is None else min(high, 1.0),
    }
