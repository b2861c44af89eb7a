"""Whether the numbers of a search run follow from its rankings, and published numbers from the run.

With the gold set every number is made again by the function that made it. Without, or with another
one, means are made again from the values of the queries, and P and RR of each query from the grades
beside its ranking.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.gold.corpus import corpus_fingerprint, read_corpus
from retrieval_eval.gold.faults import pointer
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.metrics.ranking import evaluate_rankings, parse_measure
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_audit import (
    AuditDifference,
    DifferenceKind,
    PublishedNumber,
    SearchAudit,
)
from retrieval_eval.model.search_run import MetricMean, SearchRun
from retrieval_eval.search.abstention import Gate, abstention_of
from retrieval_eval.search.document import search_run
from retrieval_eval.search.named_metrics import BLOCK_OF, query_ids, shares, stored
from retrieval_eval.search.part import answer_of
from retrieval_eval.search.published import Printed, agrees
from retrieval_eval.search.run_files import load_search_run
from retrieval_eval.search.scoring import DIMENSIONS, NO_NAME, score_run
from retrieval_eval.search.settings import CONVENTION, Settings
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.values import counted

MOST_DIFFERENCES: Final = 50
"""Differences that an audit lists; all are counted."""

_TOLERANCE: Final = 1e-9
_FROM_RANKING: Final = ("P", "RR")
"""Measures that the grades of the ranking alone decide."""
_ENDS: Final = frozenset({"ci_low", "ci_high"})
_IDENTITY: Final = ("query", "corpus", "area", "origin", "source", "answerable")


def audit_run(
    path: Path,
    *,
    gold: Path | None = None,
    corpus: Path | None = None,
    published: Sequence[Printed] = (),
) -> SearchAudit:
    """Return whether the numbers in the file of a run, and published ones, follow from it.

    Parameters
    ----------
    path
        A search run, such as a baseline.
    gold
        The gold set that it asked. Without it Recall, nDCG and grades cannot be recomputed.
    corpus
        The documents that were searched, whose digest the run states.
    published
        Numbers to be looked up in the run (`read_published`).

    Returns
    -------
    SearchAudit
        Its verdict is ``does_not_follow`` when a stored value is not the recomputed one or a
        published number is not the run's, else ``cannot_be_checked`` when either could not be
        looked at.

    Raises
    ------
    BadInputError
        When a file cannot be read, or holds no search run, gold set or corpus.

    Notes
    -----
    What a run says of the world cannot be recomputed: that the retriever returned these documents,
    who labelled what, and when it was measured.
    """
    run = load_search_run(path)
    check = _Check(run)
    labels = None if gold is None else load_gold_set(gold)
    state: Literal["same", "other", "not_given"] = "not_given"
    rebuilt = None
    if labels is None:
        check.unchecked.append("no gold set was given: Recall, nDCG and grades were not recomputed")
    elif labels.fingerprint != run.run.gold_set.fingerprint:
        state = "other"
        check.unchecked.append(
            f"{gold} is another gold set ({labels.fingerprint[:12]}) than that of the run "
            f"({run.run.gold_set.fingerprint[:12]}): Recall, nDCG and grades were not recomputed"
        )
    else:
        state = "same"
        rebuilt = _rebuilt(run, labels, check)
    _check_rankings(run, check)
    if rebuilt is None:
        _check_without_gold(run, check)
    else:
        _compare(run, rebuilt, check)
    _check_claims(run, check)
    if corpus is not None:
        _check_corpora(run, corpus, check)
    numbers = tuple(_looked_up(one, run, rebuilt or run, check) for one in published)
    verdict = _verdict(check, numbers)
    return SearchAudit(
        run=path.as_posix(),
        label=run.label,
        generated_at=run.generated_at,
        gold=state,
        n_queries=len(run.queries),
        n_values=check.n_values,
        n_differences=check.n_differences,
        differences=tuple(check.differences),
        unchecked=tuple(check.unchecked),
        notes=tuple(check.notes),
        published=numbers,
        verdict=verdict,
        exit_code=_EXIT_CODES[verdict],
    )


_EXIT_CODES: Final[Mapping[str, Literal[0, 1, 2]]] = {
    "follows": 0,
    "does_not_follow": 1,
    "cannot_be_checked": 2,
}


def _verdict(
    check: _Check, numbers: Sequence[PublishedNumber]
) -> Literal["follows", "does_not_follow", "cannot_be_checked"]:
    found = {number.verdict for number in numbers}
    if check.n_differences or "does_not_follow" in found:
        return "does_not_follow"
    is_open = check.unchecked or "cannot_be_checked" in found
    return "cannot_be_checked" if is_open else "follows"


@dataclass(slots=True)
class _Check:
    """What was compared so far."""

    run: SearchRun
    n_values: int = 0
    n_differences: int = 0
    differences: list[AuditDifference] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def same(
        self, kind: DifferenceKind, place: tuple[object, ...], stored: Any, found: Any
    ) -> None:
        """Compare a stored value with the recomputed one, numbers up to rounding."""
        self.n_values += 1
        if _is_same(stored, found):
            return
        self.n_differences += 1
        if len(self.differences) < MOST_DIFFERENCES:
            texts = (_text(stored), _text(found))
            self.differences.append(
                AuditDifference(
                    kind=kind, place=pointer(*place), stored=texts[0], recomputed=texts[1]
                )
            )


def _is_same(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _rebuilt(run: SearchRun, gold: GoldSet, check: _Check) -> SearchRun | None:
    """Return the run that its rankings and the gold set give; None where there is no such run."""
    known = {query.id: query for query in gold.queries}
    asked = [query.id for query in run.queries]
    unknown = sorted(set(asked) - known.keys())
    for name in unknown:
        check.same("queries", ("queries", asked.index(name), "id"), name, None)
    if len(set(asked)) < len(asked):
        check.same("queries", ("queries",), counted(len(asked), "query"), len(set(asked)))
    corpora = {corpus.corpus for corpus in run.run.corpora}
    left_out = [q.id for q in gold.queries if q.corpus in corpora and q.id not in set(asked)]
    # A pinned list asks some queries by choice, and the run states that.
    if left_out and getattr(run.run, "pinned", None) is None:
        check.same("queries", ("queries",), f"lacks {len(left_out)}, as {left_out[0]}", "all asked")
    if unknown or len(set(asked)) < len(asked):
        return None
    try:
        settings = _settings(run)
        results = [answer_of(query) for query in run.queries]
        scores = score_run(gold, results, settings)
    except RetrievalEvalError as error:
        check.same("settings", ("run", "settings"), "as stored", str(error))
        return None
    old = run.abstention
    made = search_run(
        gold,
        scores,
        retriever=run.run.retriever,
        corpora=run.run.corpora,
        generated_at=run.generated_at,
        label=run.label,
        abstain_at=None if old is None else old.threshold,
        ids_checked=bool(run.run.ids_checked),
        labels=run.labels,
    )
    if old is not None:
        gate = Gate(old.gate.min_true_positive_rate, old.gate.max_false_refusal_rate)
        made = replace(
            made,
            abstention=abstention_of(
                made.queries, threshold=old.threshold, confidence=settings.confidence, gate=gate
            ),
        )
    return replace(made, claims=run.claims)


def _settings(run: SearchRun) -> Settings:
    stated = run.run.settings
    return Settings(
        k_values=tuple(stated.k_values),
        depth=stated.depth,
        seed=stated.seed,
        n_resamples=stated.n_resamples,
        confidence=stated.confidence,
    )


def _compare(run: SearchRun, made: SearchRun, check: _Check) -> None:
    """Compare everything that rankings and gold set decide."""
    for name in ("settings", "gold_set"):
        kind: DifferenceKind = "settings" if name == "settings" else "gold_set"
        own, new = (to_builtins(getattr(each.run, name)) for each in (run, made))
        for key in new.keys() - {"name"}:
            check.same(kind, ("run", name, key), own.get(key), new[key])
    for key in ("n_queries", "n_ok", "n_failed", "n_empty", "n_refused", "n_with_problems"):
        check.same("status", ("status", key), getattr(run.status, key), getattr(made.status, key))
    for place, (query, new_query) in enumerate(zip(run.queries, made.queries, strict=True)):
        where: tuple[object, ...] = ("queries", place)
        for key in _IDENTITY:
            check.same("query", (*where, key), getattr(query, key), getattr(new_query, key))
        grades = {found.doc: found.grade for found in new_query.ranking}
        for rank, found in enumerate(query.ranking):
            check.same(
                "grade", (*where, "ranking", rank, "grade"), found.grade, grades.get(found.doc)
            )
        for name, value in new_query.metrics.items():
            of = (*where, "metrics", name)
            check.same("query_metric", of, query.metrics.get(name), value)
    _compare_means(("metrics",), run.metrics, made.metrics, check)
    for dimension in DIMENSIONS:
        own, new = getattr(run.slices, dimension), getattr(made.slices, dimension)
        at = ("slices", dimension)
        check.same("slice", at, sorted(own), sorted(new))
        for name in own.keys() & new.keys():
            check.same("slice", (*at, name, "n_queries"), own[name].n_queries, new[name].n_queries)
            _compare_means((*at, name, "metrics"), own[name].metrics, new[name].metrics, check)
    if run.null_systems is not None and made.null_systems is not None:
        nulls, new_nulls = (to_builtins(x) for x in (run.null_systems, made.null_systems))
        for system, found in new_nulls["systems"].items():
            of_system = ("null_systems", "systems", system)
            check.same("null_systems", of_system, nulls["systems"].get(system), found)
    old, block = (None if x is None else to_builtins(x) for x in (run.abstention, made.abstention))
    for key in block or {}:
        check.same("refusals", ("abstention", key), (old or {}).get(key), (block or {})[key])


def _compare_means(
    place: tuple[object, ...],
    own: Mapping[str, MetricMean],
    new: Mapping[str, MetricMean],
    check: _Check,
) -> None:
    for name, mean in new.items():
        old = own.get(name)
        for key in mean.__struct_fields__:
            kind: DifferenceKind = "interval" if key in _ENDS else "mean"
            at = (*place, name, key)
            check.same(kind, at, None if old is None else getattr(old, key), getattr(mean, key))


def _check_rankings(run: SearchRun, check: _Check) -> None:
    """Compare each ranking with the order of its own scores, and its length with what is stated."""
    for place, query in enumerate(run.queries):
        order = [(found.score, found.doc) for found in query.ranking]
        where = ("queries", place)
        docs = [doc for _, doc in order]
        check.same("ranking", (*where, "n_retrieved"), query.n_retrieved, len(order))
        wanted = [doc for _, doc in sorted(order, reverse=True)]
        check.same("ranking", (*where, "ranking"), docs, wanted)
        check.same("ranking", (*where, "ranking"), len(docs), len(set(docs)))


def _check_without_gold(run: SearchRun, check: _Check) -> None:
    """Compare means with the values of the queries, and P and RR with the grades of rankings."""
    names = [
        name for name in run.run.settings.measures if parse_measure(name).name in _FROM_RANKING
    ]
    scored = {q.id: q for q in run.queries if any(q.metrics.get(n) is not None for n in names)}
    if scored and names:
        # A relevant document that was not returned changes neither, and makes both computable.
        qrels = {
            name: {found.doc: found.grade for found in query.ranking if found.grade is not None}
            | {"\0": 1}
            for name, query in scored.items()
        }
        rankings = {n: {found.doc: found.score for found in q.ranking} for n, q in scored.items()}
        found = evaluate_rankings(qrels, rankings, names, convention=CONVENTION)
        places = {query.id: place for place, query in enumerate(run.queries)}
        for name in names:
            for query, value in zip(found.query_ids, found.scores[name].tolist(), strict=True):
                of = ("queries", places[query], "metrics", name)
                check.same("query_metric", of, scored[query].metrics.get(name), value)
    _means_from_queries(run, ("metrics",), run.metrics, None, check)
    for dimension in DIMENSIONS:
        for name, part in getattr(run.slices, dimension).items():
            ids = query_ids(run, dimension, name)
            at = ("slices", dimension, name)
            check.same("slice", (*at, "n_queries"), part.n_queries, len(ids))
            _means_from_queries(run, (*at, "metrics"), part.metrics, ids, check)


def _means_from_queries(
    run: SearchRun,
    place: tuple[object, ...],
    means: Mapping[str, MetricMean],
    ids: frozenset[str] | None,
    check: _Check,
) -> None:
    settings = run.run.settings
    ordered = sorted(run.queries, key=lambda query: query.id)
    for name, mean in means.items():
        chosen = [q.metrics.get(name) for q in ordered if ids is None or q.id in ids]
        values = [value for value in chosen if value is not None]
        ends = bootstrap_mean(
            values,
            seed=settings.seed,
            n_resamples=settings.n_resamples,
            confidence=settings.confidence,
        )
        low, high = ends.low.value, ends.high.value
        average = math.fsum(values) / len(values) if values else None
        check.same("mean", (*place, name, "n"), mean.n, len(values))
        check.same("mean", (*place, name, "value"), mean.value, average)
        low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (low, high))
        check.same("interval", (*place, name, "ci_low"), mean.ci_low, low)
        check.same("interval", (*place, name, "ci_high"), mean.ci_high, high)


def _check_claims(run: SearchRun, check: _Check) -> None:
    """Compare the shares of claims with the judged claims; the judgements are taken as they are."""
    block = run.claims
    if block is None:
        return
    check.notes.append("the judgements of claims are those of a judge, and were not made again")
    for key, name in (("coverage", "claim_coverage"), ("faithfulness", "claim_faithfulness")):
        share = getattr(block, key)
        if share.value is None:
            continue
        parts = list(shares(run, name).values())
        total = math.fsum(weight for _, weight in parts)
        value = math.fsum(part for part, _ in parts) / total if total else None
        check.same("claims", ("claims", key, "value"), share.value, value)
        check.same("claims", ("claims", key, "n"), share.n, round(total))


def _check_corpora(run: SearchRun, path: Path, check: _Check) -> None:
    documents = read_corpus(path).documents
    for place, corpus in enumerate(run.run.corpora):
        own = [document for document in documents if document.corpus == corpus.corpus]
        at = ("run", "corpora", place)
        if corpus.fingerprint is not None:
            digest = corpus_fingerprint(own)
            check.same("settings", (*at, "fingerprint"), corpus.fingerprint, digest)
        if corpus.n_documents is not None:
            check.same("settings", (*at, "n_documents"), corpus.n_documents, len(own))


# --- published numbers ---


def _looked_up(one: Printed, run: SearchRun, source: SearchRun, check: _Check) -> PublishedNumber:
    """Return a published number with the one of the run (``source``: recomputed where it was)."""

    def made(
        verdict: Literal["follows", "does_not_follow", "cannot_be_checked"],
        value: float | None = None,
        reason: str | None = None,
    ) -> PublishedNumber:
        return PublishedNumber(
            place=one.place,
            metric=one.metric,
            part=one.part if part is None else " ".join(part),
            what=one.what,
            printed=one.text,
            verdict=verdict,
            value=value,
            reason=reason,
        )

    part = None
    if one.unclear:
        return made("cannot_be_checked", reason=one.unclear)
    if one.part is not None:
        part = part_named(run, one.part)
        if part is None:
            return made("cannot_be_checked", reason=f"the run has no part called {one.part!r}")
    value, why = _value_in(source, one, part)
    if value is None:
        return made("cannot_be_checked", reason=why)
    if agrees(one.text, value, is_count=one.what == "n"):
        if check.n_differences:
            return made("follows", value, "of the recomputed run; the file holds other values too")
        return made("follows", value)
    was, _ = _value_in(run, one, part)
    reason = f"the run gives {value:.6g}"
    if was is not None and agrees(one.text, was, is_count=one.what == "n"):
        reason = f"the file holds {was:.6g}, and its rankings give {value:.6g}"
    return made("does_not_follow", value, reason)


def part_named(run: SearchRun, text: str) -> tuple[str, str] | None:
    """Return the slice of a run that a text names, such as ``corpus docs`` or ``docs`` alone."""
    dimension, _, name = text.partition(" ")
    if dimension in DIMENSIONS and name in getattr(run.slices, dimension):
        return dimension, name
    found = [each for each in DIMENSIONS if text in getattr(run.slices, each)]
    return (found[0], text) if len(found) == 1 else None


def part_names(run: SearchRun) -> Iterator[str]:
    """Yield the names of all slices of a run."""
    for dimension in DIMENSIONS:
        yield from (name for name in getattr(run.slices, dimension) if name != NO_NAME)


def _value_in(
    run: SearchRun, one: Printed, part: tuple[str, str] | None
) -> tuple[float | None, str]:
    block = (
        stored(run, one.metric)
        if part is None
        else getattr(run.slices, part[0])[part[1]].metrics.get(one.metric)
    )
    if block is None:
        is_known = one.metric in BLOCK_OF or _is_measure(one.metric)
        words = "did not measure it" if is_known else "knows no such metric"
        return None, f"the run {words}"
    if one.n_pairs not in (None, block.n):
        return None, f"it is over {one.n_pairs:,} pairs of two runs, and the run's over {block.n:,}"
    value = getattr(block, "value" if one.what == "mean" else one.what)
    if value is None:
        return None, f"the run has no such number ({block.reason or 'no interval'})"
    return float(value), ""


def _is_measure(name: str) -> bool:
    try:
        parse_measure(name)
    except BadInputError:
        return False
    return True
