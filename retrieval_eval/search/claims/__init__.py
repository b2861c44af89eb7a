"""Claim coverage: drafts are read, judged and counted, and the run is written with its claims."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import Line, iter_jsonl, write_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import (
    Claim,
    Claims,
    Confusion,
    DraftClaims,
    JudgeAgreement,
    QueryResult,
    RunSettings,
    SearchRun,
    ShareWithInterval,
)
from retrieval_eval.records import Progress
from retrieval_eval.search.claims.judge import Judge, Judgement, ask_all, block_text, open_judge
from retrieval_eval.search.claims.splitting import Claim as DraftClaim
from retrieval_eval.search.claims.splitting import split_claims
from retrieval_eval.search.claims.veto import verdict_of
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.corpus import Corpus, Document, read_corpus
from retrieval_eval.search.gold.faults import kind, line_problem, pointer, unusable_part
from retrieval_eval.search.run.composite import composite_of
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.search.run.summary import number, span
from retrieval_eval.search.run.trust import require_trust
from retrieval_eval.stats.agreement import cohen_kappa
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import DEFAULT_SEED, Interval, Value, counted, ratio

# --------------------------------------------------------------------------------------------------
# Drafted answers, one a line, and the blocks that they were written from.

T = TypeVar("T")

_MOST_FAULTS: Final = 100
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that was drafted for one query.

    ``context`` are the document ids or texts it was written from, None when that is not known.
    ``refused`` drafts answer nothing and hold no claims.
    """

    id: str
    draft: str
    context: tuple[str, ...] | None = None
    refused: bool = False
    line: int = 0


def read_drafts(path: Path) -> tuple[Draft, ...]:
    """Return the drafts of a JSONL file, in its order.

    A line is an object with ``id`` (of the query), ``draft`` (text), perhaps ``context`` (a list
    of document ids or texts) and ``refused`` (true or false; its ``draft`` may be left out).
    Other keys are ignored.

    Raises
    ------
    BadInputError
        When the file cannot be read, holds no draft, or a line has a fault: broken JSON, a wrong
        type, or a query for the second time. The message names the first 100 faults by line.
    """
    seen: dict[str, int] = {}

    def draft_of(line: Line) -> Draft | str:
        found = _draft(line.value, line.number)
        if isinstance(found, Draft):
            first = seen.setdefault(found.id, line.number)
            if first != line.number:
                return f"{pointer('id')}: the query {found.id[:80]!r} has a draft on line {first}"
        return found

    return tuple(_lines_of(path, draft_of, "draft"))


def _lines_of(path: Path, read: Callable[[Line], T | str], what: str) -> list[T]:
    """Return what the lines of a JSONL file hold; a text is the fault of a line."""
    real = Path(os.path.realpath(path))
    found: list[T] = []
    faults: list[str] = []
    for line in iter_jsonl(real, real.parent):
        one = read(line) if line.problem is None else ""
        if line.problem is not None:
            faults.append(f"{path}: {line_problem(line.problem, real)}")
        elif isinstance(one, str):
            faults.append(f"{path}: line {line.number}: {one}")
        else:
            found.append(one)
    if faults:
        more = len(faults) - _MOST_FAULTS
        tail = [f"{path}: and {more} more faults"] if more > 0 else []
        raise BadInputError("\n".join([*faults[:_MOST_FAULTS], *tail]))
    if not found:
        raise BadInputError(f"{path}: holds no {what}; expected one JSON object a line")
    return found


def _draft(row: Any, line: int) -> Draft | str:
    if not isinstance(row, dict):
        return f"expected an object, found {kind(row)}"
    unusable = unusable_part(row)
    if unusable is not None:
        return unusable
    refused = row.get("refused", False)
    if not isinstance(refused, bool):
        return f"{pointer('refused')}: expected true or false, found {kind(refused)}"
    return _fault_of_text(row, needs_draft=not refused) or Draft(
        row["id"], row.get("draft") or "", _context(row), refused, line
    )


def _fault_of_text(row: Mapping[str, Any], *, needs_draft: bool) -> str | None:
    query, draft, context = row.get("id"), row.get("draft"), row.get("context")
    if not isinstance(query, str) or not query.strip():
        return f"{pointer('id')}: expected the id of a query, found {kind(query)}"
    if not isinstance(draft, str) and (needs_draft or draft is not None):
        return f"{pointer('draft')}: expected text, found {kind(draft)}"
    if needs_draft and isinstance(draft, str) and not draft.strip():
        return f'{pointer("draft")}: is empty; say "refused": true where nothing was answered'
    if isinstance(draft, str) and len(draft) > _LONGEST:
        return f"{pointer('draft')}: is longer than {_LONGEST} characters"
    if context is not None and not isinstance(context, list):
        return f"{pointer('context')}: expected a list of document ids or texts"
    for place, item in enumerate(context or ()):
        if not isinstance(item, str) or not item.strip():
            return (
                f"{pointer('context', place)}: expected a document id or text, found {kind(item)}"
            )
    return None


def _context(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    context = row.get("context")
    return None if context is None else tuple(context)


# --------------------------------------------------------------------------------------------------
# Claim coverage: the share of a draft's claims that documents labelled relevant support.

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

    def context(self, query: GoldQuery, draft: Draft, ranked: QueryResult) -> list[Block]:
        """Return what a draft was written from: what it names, else the first five of the run.

        An entry that is a document id of the query's corpus is that document, any other is text.

        Raises
        ------
        BadInputError
            When an entry is one word and no document id, which is a typing mistake and no text.
        """
        if draft.context is None:
            found = [entry.doc for entry in ranked.ranking[:CONTEXT_DEPTH]]
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
class _Task:
    query: str
    claim: DraftClaim
    labelled: Sequence[Block]
    context: Sequence[Block]


def claims_of(
    run: SearchRun,
    drafts: Sequence[Draft],
    corpus: Corpus,
    judge: Judge,
    *,
    gold: GoldSet,
    progress: Progress | None = None,
) -> Claims:
    """Return what of the drafts of a search run the labelled documents support.

    *Coverage* is the share of substantive claims that a document of grade 1 or more of the query
    supports; *faithfulness* the share that the draft's context supports, be it relevant or not.
    Both rest on all substantive claims together, with a bootstrap interval that resamples whole
    drafts (`bootstrap_mean` with clusters), cut at 0 and 1. A refused draft holds no claim. Of an
    unanswerable query no document supports anything, so every claim of its draft is uncovered.
    Drafts of queries without labels are counted and left out.

    A claim without a supporting document that a judge called supported without proof is unproved.
    It counts as not supported in the value, and the interval reaches from the lower end of that
    share to the upper end of the share with all unproved claims supported.

    Parameters
    ----------
    run
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
    queries = _queries(run, gold)
    ranked = {query.id: query for query in run.queries}
    _check_drafts(drafts, queries)
    blocks = Blocks(corpus)
    ordered = sorted(drafts, key=lambda draft: draft.id)
    kept = [draft for draft in ordered if _is_labelled(queries[draft.id])]
    if not kept:
        raise NothingToEvaluateError("every draft belongs to a query without labels")
    tasks: list[_Task] = []
    for draft in kept:
        query = queries[draft.id]
        labelled = blocks.labelled(query)
        context = blocks.context(query, draft, ranked[draft.id])
        claims_of_draft = () if draft.refused else split_claims(draft.draft)
        tasks += [_Task(draft.id, claim, labelled, context) for claim in claims_of_draft]
    claims = _judged(tasks, judge, progress)
    by_query: dict[str, list[Claim]] = {draft.id: [] for draft in kept}
    for task, found in zip(tasks, claims, strict=True):
        by_query[task.query].append(found)
    own = [(query, claim) for query, found in by_query.items() for claim in found]
    settings = run.run.settings
    return Claims(
        judge=judge.facts,
        n_drafts=len(drafts),
        n_refused=sum(draft.refused for draft in kept),
        n_unlabelled=len(drafts) - len(kept),
        n_without_draft=len(queries.keys() - {draft.id for draft in drafts}),
        **_numbers(own, settings),
        # Labels of people come beside it; see `judge_agreement`.
        agreement=None,
        queries=tuple(
            DraftClaims(id=draft.id, is_refused=draft.refused, claims=tuple(by_query[draft.id]))
            for draft in kept
        ),
    )


def claims_within(claims: Claims, queries: Sequence[QueryResult], settings: RunSettings) -> Claims:
    """Return the claims of the drafts of some queries, with shares of these alone.

    Drafts that were left out for want of labels are not recorded by query, so they count 0. The
    agreement of the judge with people is that of all labels, for it is of the judge.
    """
    asked = {query.id for query in queries}
    drafts = tuple(draft for draft in claims.queries if draft.id in asked)
    own = [(draft.id, claim) for draft in drafts for claim in draft.claims]
    return replace(
        claims,
        n_drafts=len(drafts),
        n_refused=sum(draft.is_refused for draft in drafts),
        n_unlabelled=0,
        n_without_draft=len(asked) - len(drafts),
        **_numbers(own, settings),
        queries=drafts,
    )


def _numbers(claims: Sequence[tuple[str, Claim]], settings: RunSettings) -> dict[str, Any]:
    """Return the counts and shares of claims, each with the id of its query."""
    own = [(query, claim) for query, claim in claims if claim.is_substantive]
    clusters = [query for query, _ in own]
    is_covered = [claim.supported_by is not None for _, claim in own]
    is_unproved = [claim.is_unproved for _, claim in own]
    is_in_context = [claim.in_context for _, claim in own]
    is_context_unproved = [claim.is_context_unproved for _, claim in own]
    return {
        "n_claims": len(claims),
        "n_substantive": len(own),
        "n_supported": sum(is_covered),
        "n_unproved": sum(is_unproved),
        "n_context_unproved": sum(is_context_unproved),
        "n_vetoed": sum(claim.veto is not None for _, claim in own),
        "coverage": _share(is_covered, is_unproved, clusters, settings),
        "faithfulness": _share(is_in_context, is_context_unproved, clusters, settings),
    }


def _queries(run: SearchRun, gold: GoldSet) -> dict[str, GoldQuery]:
    if run.run.gold_set.fingerprint != gold.fingerprint:
        raise BadInputError(
            f"{gold.path or 'the gold set'}: is not the gold set of the run (the fingerprints"
            " differ); name the one it was measured against"
        )
    asked = {query.id for query in run.queries}
    return {query.id: query for query in gold.queries if query.id in asked}


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


def _judged(tasks: Sequence[_Task], judge: Judge, progress: Progress | None) -> list[Claim]:
    found = []
    for claim in ask_all(lambda task: _claim(task, judge), tasks, judge):
        found.append(claim)
        if progress is not None:
            progress(len(found), len(tasks), claim.text[:40])
    return found


def _claim(task: _Task, judge: Judge) -> Claim:
    """Return a claim with what supports it among labelled blocks, and whether its context does."""
    known: dict[str, Judgement] = {}

    def ask(block: Block) -> Judgement:
        if block.text not in known:
            known[block.text] = verdict_of(judge, task.claim.text, block.text)
        return known[block.text]

    covering, judgement = None, Judgement(False, None, NOT_SUBSTANTIVE)
    in_context = context_unproved = False
    if task.claim.is_substantive:
        judgement = Judgement(False, None, NO_GOLD_BLOCK)
        for number, block in enumerate(task.labelled):
            answer = ask(block)
            if answer.supported:
                covering, judgement = block, answer
                break
            # Why the best of the blocks does not support it tells most, but for a want of proof.
            is_first_unproved = answer.is_unproved and not judgement.is_unproved
            judgement = answer if not number or is_first_unproved else judgement
        for block in task.context:
            answer = ask(block)
            in_context = in_context or answer.supported
            context_unproved = context_unproved or answer.is_unproved
            if in_context:
                break
    return Claim(
        text=task.claim.text,
        draft_span=task.claim.span,
        is_substantive=task.claim.is_substantive,
        supported_by=covering.doc if covering else None,
        span=_span(covering, judgement),
        in_context=in_context,
        reason=judgement.reason,
        is_unproved=judgement.is_unproved,
        is_context_unproved=context_unproved and not in_context,
        veto=judgement.veto,
    )


def _span(block: Block | None, judgement: Judgement) -> tuple[int, int] | None:
    """Return where the support stands in the document's own text; None when in its title."""
    if block is None or judgement.span is None or judgement.span[1] <= block.offset:
        return None
    start, end = judgement.span
    return max(0, start - block.offset), end - block.offset


def _share(
    flags: Sequence[bool],
    unproved: Sequence[bool],
    clusters: Sequence[str],
    settings: RunSettings,
) -> ShareWithInterval:
    if not flags:
        return ShareWithInterval(**Value.missing("no_claims").to_json(), ci_low=None, ci_high=None)
    low, ends = _resampled(flags, clusters, settings)
    if not any(unproved):
        return ShareWithInterval(
            **Value.of(low, len(flags)).to_json(), ci_low=ends[0], ci_high=ends[1]
        )
    most = [flag or is_unproved for flag, is_unproved in zip(flags, unproved, strict=True)]
    high, high_ends = _resampled(most, clusters, settings)
    value = Value.missing("all_unproved") if all(unproved) else Value.of(low, len(flags))
    return ShareWithInterval(
        **value.to_json(),
        ci_low=ends[0],
        ci_high=high_ends[1],
        unproved_low=low,
        unproved_high=high,
    )


def _resampled(
    flags: Sequence[bool], clusters: Sequence[str], settings: RunSettings
) -> tuple[float, tuple[float | None, float | None]]:
    """Return the share of flags and both ends of its interval."""
    numbers = [float(flag) for flag in flags]
    interval = bootstrap_mean(
        numbers,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
        clusters=clusters,
    )
    low, high = interval.low.value, interval.high.value
    return math.fsum(numbers) / len(numbers), (
        None if low is None else max(low, 0.0),
        None if high is None else min(high, 1.0),
    )


# --------------------------------------------------------------------------------------------------
# What must stand beside every claim coverage, in sentences: proof, and agreement with people.

NOT_COMPARED: Final = "not compared with people"


def agreement_words(agreement: JudgeAgreement | None) -> str:
    """Return how far the judge agrees with people, or that it is not known.

    Examples
    --------
    >>> agreement_words(None)
    'not compared with people'
    """
    if agreement is None:
        return NOT_COMPARED
    kappa = agreement.kappa
    interval = "" if kappa.ci_low is None else f" {span(kappa.ci_low, kappa.ci_high)}"
    if kappa.value is None:
        return f"compared with people on {counted(agreement.n, 'label')}: κ is not computable"
    return f"agreement with people: κ {number(kappa.value)}{interval}, n={agreement.n:,}"


def unproved_words(claims: Claims) -> str:
    """Return how many claims are unproved and why; empty where none is."""
    parts = []
    if claims.n_unproved:
        parts.append(f"{claims.n_unproved:,} unproved for the coverage")
    if claims.n_context_unproved:
        parts.append(f"{claims.n_context_unproved:,} for the faithfulness")
    if not parts:
        return ""
    rules = Counter(
        claim.veto for query in claims.queries for claim in query.claims if claim.veto is not None
    )
    vetoes = ", ".join(f"{n:,} {code.replace('_', ' ')}" for code, n in sorted(rules.items()))
    return " and ".join(parts) + (f" ({claims.n_vetoed:,} vetoed: {vetoes})" if vetoes else "")


def bounds_words(share: ShareWithInterval) -> str:
    """Return ``low to high`` of a share with unproved claims; empty where there are none."""
    if share.unproved_low is None:
        return ""
    return f"{number(share.unproved_low)} to {number(share.unproved_high)}"


def why_advisory(runs: Iterable[SearchRun]) -> str:
    """Return why claims of runs of one judge cannot block a change; empty where they can.

    They can where a comparison with labels of people shows that the judge agrees with them more
    than by chance: the interval of Cohen's kappa lies above 0. One of the runs may have it.
    """
    found = [run.claims.agreement for run in runs if run.claims is not None]
    reasons = [why_advisory_of(one) for one in found if one is not None]
    return "" if "" in reasons else (reasons or [why_advisory_of(None)])[0]


def why_advisory_of(agreement: JudgeAgreement | None) -> str:
    """Return why claims of one judge cannot block a change; empty where they can."""
    if agreement is None:
        return f"the judge was {NOT_COMPARED}; `search claims --human-labels FILE` does it"
    low = agreement.kappa.ci_low
    if low is not None and low > 0:
        return ""
    words = agreement_words(agreement)
    return f"the judge is not known to agree with people beyond chance ({words})"


# --------------------------------------------------------------------------------------------------
# The whole of ``search claims``: read, judge, write the run with its claims.


@dataclass(frozen=True, slots=True)
class ClaimsRequest:
    """Which drafts to judge, and with what; ``out`` is the new file, ``cache`` that of verdicts.

    ``judge`` is one of `JUDGES`; there is no default.
    """

    run: Path
    drafts: Path
    corpus: Path
    gold: Path
    out: Path
    judge: str
    judge_options: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    human_labels: Path | None = None


def with_claims(run: SearchRun, claims: Claims) -> SearchRun:
    """Return a search run with these claims and the composite that follows."""
    joined = replace(run, claims=claims)
    return replace(joined, composite=composite_of(joined))


def measure_claims(request: ClaimsRequest, *, progress: Progress | None = None) -> SearchRun:
    """Write a copy of a search run with the claims of its drafts, and return it.

    Raises
    ------
    BadInputError
        When a file cannot be used; nothing is written then.
    JudgeError, NothingToEvaluateError
        When the judge fails or there is nothing to judge; nothing is written but the verdicts
        that the cache keeps.
    """
    run = load_search_run(request.run)
    require_trust(run, str(request.run))
    gold = load_gold_set(request.gold)
    corpus = read_corpus(request.corpus)
    drafts = read_drafts(request.drafts)
    # Whatever cannot be used is found before a judge is asked, which may cost money.
    labels = read_human_labels(request.human_labels, corpus) if request.human_labels else None
    judge = open_judge(request.judge, request.judge_options, cache=request.cache)
    claims = claims_of(run, drafts, corpus, judge, gold=gold, progress=progress)
    if labels is not None:
        agreement = judge_agreement(labels, judge, seed=run.run.settings.seed)
        claims = replace(claims, agreement=agreement)
    run = with_claims(run, claims)
    write_bytes(request.out, run_bytes(to_builtins(run)))
    return run


# How far the judge agrees with people on the same claims and blocks


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What a person says of one claim and one block."""

    claim: str
    block: str
    supported: bool


def read_human_labels(path: Path, corpus: Corpus) -> tuple[HumanLabel, ...]:
    """Return the labels of a JSONL file of ``{"claim", "block", "supported"}``.

    ``block`` is a document id of the corpus or the text of a block.

    Raises
    ------
    BadInputError
        When the file cannot be read or is empty, or a line has a fault; the message names the
        first 100 by line.
    """
    blocks = Blocks(corpus)
    return tuple(_lines_of(path, lambda line: _label(line.value, blocks), "label"))


def _label(row: Any, blocks: Blocks) -> HumanLabel | str:
    if not isinstance(row, dict):
        return f"expected an object, found {kind(row)}"
    unusable = unusable_part(row)
    if unusable is not None:
        return unusable
    for name in ("claim", "block"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            return f"{pointer(name)}: expected text, found {kind(row.get(name))}"
    if not isinstance(row.get("supported"), bool):
        return f"{pointer('supported')}: expected true or false, found {kind(row.get('supported'))}"
    try:
        block = blocks.find(row["block"])
    except BadInputError as error:
        return f"{pointer('block')}: {error}"
    return HumanLabel(row["claim"], block, row["supported"])


def judge_agreement(
    labels: Sequence[HumanLabel], judge: Judge, *, seed: int = DEFAULT_SEED
) -> JudgeAgreement:
    """Return how often a judge says what people say.

    Its verdicts are those that count in a coverage: vetoed and unproved ones are not supported.
    Cohen's kappa has a bootstrap interval, the accuracy Wilson's.

    Raises
    ------
    JudgeError
        When the judge fails.
    """
    asked = ask_all(lambda label: verdict_of(judge, label.claim, label.block), labels, judge)
    judgements = list(asked)
    said = [judgement.supported for judgement in judgements]
    human = [label.supported for label in labels]
    pairs = Counter(zip(said, human, strict=True))
    n_same = pairs[True, True] + pairs[False, False]
    kappa = cohen_kappa(said, human, categories=[False, True], seed=seed)
    accuracy = ratio(n_same, len(labels), "too_few_values")
    return JudgeAgreement(
        n=len(labels),
        kappa=_with_interval(kappa.value, kappa.interval),
        accuracy=_with_interval(accuracy, wilson(n_same, len(labels))),
        confusion=Confusion(
            both=pairs[True, True],
            judge_only=pairs[True, False],
            human_only=pairs[False, True],
            neither=pairs[False, False],
        ),
        n_unproved=sum(judgement.is_unproved for judgement in judgements),
    )


def _with_interval(value: Value, interval: Interval) -> ShareWithInterval:
    return ShareWithInterval(
        **value.to_json(), ci_low=interval.low.value, ci_high=interval.high.value
    )
