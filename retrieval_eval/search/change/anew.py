"""A search run measured anew: under other labels, without a corpus, on some of its queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_diff import LabelSplit, SplitMetric
from retrieval_eval.model.search_run import (
    Claims,
    MetricMean,
    RunSettings,
    RunSlice,
    RunSlices,
    SearchRun,
)
from retrieval_eval.model.search_run import QueryResult as StoredQuery
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.search.ask import QueryResult, ScoredDoc
from retrieval_eval.search.change.comparability import accepted_mismatches, differences, own_faults
from retrieval_eval.search.change.paired_change import (
    POINTS,
    Change,
    Resampling,
    change_of,
    restricted,
)
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.chunks import Key
from retrieval_eval.search.run import HEADLINE, Settings
from retrieval_eval.search.run.abstention import Gate, abstention_of
from retrieval_eval.search.run.document import status_of
from retrieval_eval.search.run.named_metrics import (
    FALSE_REFUSAL_RATE,
    TRUE_POSITIVE_RATE,
    WHOLE_RUN_ONLY,
    check_metric_name,
    metric_value,
    query_ids,
    shares,
)
from retrieval_eval.search.run.scoring import DIMENSIONS, NO_NAME, Score, mean_of, score_run
from retrieval_eval.search.run.trust import recounted
from retrieval_eval.values import REASONS, Value

Relabelled = tuple[GoldSet, GoldSet, Mapping[Key, Sequence[str]]]
"""The gold sets of an earlier and a later run, and what became of documents between them."""

PerQuery = Mapping[str, Mapping[str, float]]

_GONE: Final = "\0"
"""Begins the id of a document that is no more: it keeps its rank and is unjudged."""


def label_split(
    old_gold: GoldSet,
    new_gold: GoldSet,
    mapping: Mapping[Key, Sequence[str]],
    run_before: SearchRun,
    run_after: SearchRun,
) -> LabelSplit:
    """Split the change of every metric after re-labelling into labels moved and retrieval moved.

    Between the two runs stands a third: the old rankings in the words of the new corpus. Each old
    document is replaced by the documents that hold its text now, in the order of the mapping, at
    its rank; a document that comes up again is left out, and one that is gone keeps its rank as
    an unjudged one. Documents of equal score stay tied, for ids may be new and the convention
    orders ties by id. Measured against the new labels, this says what the old retrieval would be
    worth today. ``labels`` is that minus the old run against the old labels, ``retrieval`` the
    new run minus that, and ``total`` is their sum, exactly.

    Queries count for a metric when it is computable in all three; ``n_left_out`` have it in some.
    Pairs that are still queued are unjudged in the new labels, and count among what the labels
    moved: settle them first.

    Parameters
    ----------
    old_gold, new_gold
        The gold sets that the runs were measured against.
    mapping
        What became of old documents; those that are not in it kept their id.
    run_before, run_after
        Search runs (schema ``search_run``).

    Returns
    -------
    LabelSplit
        All numbers of a metric are None where ``n`` is 0.

    Raises
    ------
    BadInputError
        When a run was not measured against its gold set, the runs measure differently, or the
        mapping leads to documents that neither the later run nor the new labels know.
    """
    _check(old_gold, new_gold, run_before, run_after)
    _check_mapping(new_gold, mapping, run_after)
    names = [
        name for name in run_before.run.settings.measures if name in run_after.run.settings.measures
    ]
    between = _between(new_gold, mapping, run_before)
    sides = (_values(run_before), between, _values(run_after))
    common = sides[0].keys() & sides[2].keys()
    return LabelSplit(
        n_queries=len(common),
        metrics={name: _split(name, sorted(common), sides) for name in names},
    )


def _check(old: GoldSet, new: GoldSet, before: SearchRun, after: SearchRun) -> None:
    for which, gold, run in (("earlier", old, before), ("later", new, after)):
        found = run.run.gold_set.fingerprint
        if found != gold.fingerprint:
            raise BadInputError(
                f"the {which} run was measured against another gold set ({found[:12]}) than the one"
                f" given for it ({gold.fingerprint[:12]}); run `search run` again with that one"
            )
    reasons = [
        sentence
        for code, sentence in differences(before.run, after.run).items()
        if code != "gold_set"
    ]
    if reasons:
        raise BadInputError(f"the runs cannot be compared: {'; '.join(reasons)}")


def _check_mapping(gold: GoldSet, mapping: Mapping[Key, Sequence[str]], after: SearchRun) -> None:
    led_to = {(corpus, doc) for (corpus, _), docs in mapping.items() for doc in docs}
    known = {(query.corpus, doc) for query in gold.queries for doc in query.relevant}
    known |= {(query.corpus, hit.doc) for query in after.queries for hit in query.ranking}
    if led_to and known and led_to.isdisjoint(known):
        raise BadInputError(
            f"none of the {len(led_to)} documents that the mapping leads to was found by the later"
            " run or is judged in the new gold set; give the relabel.json of this re-labelling"
        )


def _between(gold: GoldSet, mapping: Mapping[Key, Sequence[str]], run: SearchRun) -> PerQuery:
    """Return the metrics of the old rankings, in terms of new documents, against the new labels."""
    known = {query.id for query in gold.queries}
    results = [_in_new_documents(query, mapping) for query in run.queries if query.id in known]
    if not results:
        return {}
    # Only the scores of single queries are used, so nothing needs to be resampled.
    own = run.run.settings
    settings = Settings(k_values=tuple(own.k_values), depth=own.depth, n_resamples=0)
    found = score_run(gold, results, settings)
    return {
        query.query.id: {
            name: score.value.value
            for name, score in query.scores.items()
            if score.value.value is not None
        }
        for query in found.queries
    }


def _in_new_documents(query: StoredQuery, mapping: Mapping[Key, Sequence[str]]) -> QueryResult:
    docs: dict[str, float] = {}
    levels = {score: n for n, score in enumerate(sorted({hit.score for hit in query.ranking}))}
    for hit in sorted(query.ranking, key=lambda hit: -levels[hit.score]):
        new = mapping.get((query.corpus, hit.doc), (hit.doc,)) or (_GONE + hit.doc,)
        for n, doc in enumerate(new):
            docs.setdefault(doc, levels[hit.score] - n / len(new))
    ranking = tuple(ScoredDoc(doc, score) for doc, score in docs.items())
    return QueryResult(query.id, query.status, ranking=ranking)


def _values(run: SearchRun) -> PerQuery:
    return {
        query.id: {n: value for n, value in query.metrics.items() if value is not None}
        for query in run.queries
    }


def _split(name: str, queries: Sequence[str], sides: Sequence[PerQuery]) -> SplitMetric:
    has = [[name in side.get(query, {}) for side in sides] for query in queries]
    paired = [query for query, found in zip(queries, has, strict=True) if all(found)]
    n_left_out = sum(any(found) and not all(found) for found in has)
    if not paired:
        empty = dict.fromkeys(("before", "between", "after", "total", "labels", "retrieval"))
        return SplitMetric(**empty, n=0, n_left_out=n_left_out)
    rows = [[side[query][name] for query in paired] for side in sides]
    n = len(paired)
    labels, retrieval = (
        POINTS * math.fsum(b - a for a, b in zip(one, other, strict=True)) / n
        for one, other in pairwise(rows)
    )
    before, between, after = (math.fsum(row) / n for row in rows)
    return SplitMetric(
        before=before,
        between=between,
        after=after,
        total=labels + retrieval,
        labels=labels,
        retrieval=retrieval,
        n=n,
        n_left_out=n_left_out,
    )


def read_relabelled(
    old_gold: Path | None, gold: Path | None, mapping: Path | None
) -> Relabelled | None:
    """Return what splitting a change takes from its files; None where none is named.

    Without a ``mapping`` (``relabel.json`` of `gold relabel`) every document kept its id.

    Raises
    ------
    BadInputError
        When only one of the gold sets is named, or a file is of the wrong kind.
    """
    if not (old_gold or gold or mapping):
        return None
    if not (old_gold and gold):
        raise BadInputError(
            "to separate what labels did from what retrieval did, name both gold sets: that of A "
            "(old gold) and that of B (gold)"
        )
    old = load_gold_set(old_gold)
    if not mapping:
        return old, load_gold_set(gold), {}
    from retrieval_eval.search.gold.relabel import read_mapping

    return old, load_gold_set(gold), read_mapping(mapping, old)


# --------------------------------------------------------------------------------------------------
# Leave one corpus out: whether what a change does to the other corpora holds on this one.

DEFAULT_METRICS: Final = (*HEADLINE, "RR", "nDCG@10", TRUE_POSITIVE_RATE, FALSE_REFUSAL_RATE)
MIN_CORPORA: Final = 2

# A change in points this small is the rounding of one that is 0.
_ROUNDING: Final = 1e-9


def transfer(
    a: SearchRun,
    b: SearchRun,
    *,
    metrics: Sequence[str] = (),
    accept: Collection[str] = (),
    seed: int,
) -> dict[str, Any]:
    """Return for every corpus whether the change from ``a`` to ``b`` on the others holds on it.

    For each metric and corpus: the change over the queries of all other corpora pooled, so that
    every query counts the same, and the change over the corpus held out; both with paired
    intervals and pairs. The verdict compares their signs. ``holds``: the same. ``reverses``: the
    opposite. ``vanishes``: the corpus held out does not change. ``no_change``: the others do not.
    ``not_computable``: one of them has no pairs. ``is_clear`` says that the interval of the corpus
    held out leaves out 0; without that its sign may be chance.

    Not computable, and without numbers, when the runs have fewer than two corpora in common.

    Parameters
    ----------
    a, b
        Search runs (schema ``search_run``) before and after the change.
    metrics
        Names of metrics; by default those of :data:`DEFAULT_METRICS` that both runs have.
    accept
        What the runs may differ in; see `accepted_mismatches`, which refuses the rest.
    seed
        Seed of resampling.

    Raises
    ------
    BadInputError
        For a metric that there is not, or that is no mean over queries.
    NothingToEvaluateError
        When the runs did not measure the same thing.
    """
    accepted = accepted_mismatches(a, b, accept)
    names = _metrics(a, b, metrics)
    corpora = sorted({q.corpus for q in a.queries} & {q.corpus for q in b.queries})
    reasons = [
        f"{side} has no verdict: {reason}"
        for side, run in (("A", a), ("B", b))
        for reason in own_faults(run)
    ]
    is_computable = len(corpora) >= MIN_CORPORA
    if not is_computable:
        reasons.append(
            f"the runs share {len(corpora) or 'no'} corpus; holding one out needs at least"
            f" {MIN_CORPORA}"
        )
    resampling = Resampling.of(b.run.settings, seed)
    rows = {}
    if is_computable:
        sides = {name: (shares(a, name), shares(b, name)) for name in names}
        ids = {corpus: (_ids(a, corpus), _ids(b, corpus)) for corpus in corpora}

        def changes(chosen: Collection[str]) -> dict[str, Change]:
            # All metrics of some queries after one another: they are resampled with one draw.
            parts = tuple(frozenset().union(*(ids[c][side] for c in chosen)) for side in (0, 1))
            pairs = restricted(sides, (parts[0], parts[1]))
            return {name: change_of(*pair, resampling) for name, pair in pairs.items()}

        held_out = {corpus: changes([corpus]) for corpus in corpora}
        others = {c: changes([other for other in corpora if other != c]) for c in corpora}
        overall = changes(corpora)
        rows = {
            name: _row(overall[name], {c: (others[c][name], held_out[c][name]) for c in corpora})
            for name in names
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "a": {"label": a.label, "generated_at": a.generated_at},
        "b": {"label": b.label, "generated_at": b.generated_at},
        "accepted": accepted,
        "computable": is_computable,
        "reasons": reasons,
        "corpora": corpora,
        "metrics": rows,
    }


def _row(overall: Change, parts: Mapping[str, tuple[Change, Change]]) -> dict[str, Any]:
    """Return the row of a metric from its changes on the other corpora and on the one held out."""
    corpora: dict[str, dict[str, Any]] = {
        corpus: {
            "held_out": asdict(held_out),
            "others": asdict(others),
            "verdict": _verdict(others, held_out),
            "is_clear": _is_clear(held_out),
        }
        for corpus, (others, held_out) in parts.items()
    }
    return {
        "overall": asdict(overall),
        "corpora": corpora,
        "holds_everywhere": _holds_everywhere([row["verdict"] for row in corpora.values()]),
    }


def _verdict(others: Change, held_out: Change) -> str:
    if others.delta_points is None or held_out.delta_points is None:
        return "not_computable"
    expected, found = _sign(others.delta_points), _sign(held_out.delta_points)
    if expected == 0:
        return "no_change"
    if found == 0:
        return "vanishes"
    return "holds" if found == expected else "reverses"


def _holds_everywhere(verdicts: Collection[str]) -> bool | None:
    if {"vanishes", "reverses"} & set(verdicts):
        return False
    return True if set(verdicts) == {"holds"} else None


def _is_clear(change: Change) -> bool | None:
    if change.ci_low_points is None or change.ci_high_points is None:
        return None
    return change.ci_low_points > 0 or change.ci_high_points < 0


def _sign(points: float) -> int:
    return 0 if abs(points) <= _ROUNDING else (1 if points > 0 else -1)


def _ids(run: SearchRun, corpus: str) -> frozenset[str]:
    return query_ids(run, "corpus", corpus)


def _metrics(a: SearchRun, b: SearchRun, asked: Sequence[str]) -> list[str]:
    for name in asked:
        if check_metric_name(name) in WHOLE_RUN_ONLY:
            raise BadInputError(f"{name} is no mean over queries, so it has no part on a corpus")
    if asked:
        return list(dict.fromkeys(asked))
    return [
        name
        for name in DEFAULT_METRICS
        if all(metric_value(run, name).reason != "not_recorded" for run in (a, b))
    ]


# --------------------------------------------------------------------------------------------------
# Some queries of a search run, measured anew by the functions that measured the whole.


def part_of(run: SearchRun, ids: Collection[str], gold: GoldSet | None = None) -> SearchRun:
    """Return a search run of some of its queries, every number of which rests on these alone.

    Means, intervals, slices, refusals and claims are those that a run of these queries would have.
    The composite, the comparison with random documents and the change against a baseline are left
    out: the first two are of whole runs, and the change is measured anew by comparing two parts.

    Parameters
    ----------
    run
        A search run.
    ids
        Ids of the queries to keep.
    gold
        The gold set of the run. Without it the range over ties and the bounds of unjudged
        documents are not known, and are None.
    """
    kept = tuple(query for query in run.queries if query.id in ids)
    own = run.run.settings
    metrics, slices = _measured(kept, own, gold)
    refusals = run.abstention
    if refusals is not None:
        gate = Gate(refusals.gate.min_true_positive_rate, refusals.gate.max_false_refusal_rate)
        refusals = abstention_of(
            kept, threshold=refusals.threshold, confidence=own.confidence, gate=gate
        )
    trust = recounted(run, kept)
    return replace(
        run,
        status=status_of(kept, metrics, trust, run.run.retriever.name),
        trust=None if run.trust is None else trust,
        metrics=metrics,
        slices=slices,
        queries=kept,
        abstention=refusals,
        claims=None if run.claims is None else _claims(run.claims, kept, own),
        composite=None,
        random=None,
        delta=None,
        delta_withheld=(),
    )


def _claims(given: Claims, queries: Sequence[StoredQuery], own: RunSettings) -> Claims:
    from retrieval_eval.search.claims import claims_within

    return claims_within(given, queries, own)


def _measured(
    queries: Sequence[StoredQuery], own: RunSettings, gold: GoldSet | None
) -> tuple[dict[str, MetricMean], RunSlices]:
    settings = Settings(
        k_values=own.k_values,
        depth=own.depth,
        seed=own.seed,
        n_resamples=own.n_resamples,
        confidence=own.confidence,
    )
    if gold is not None and queries and settings.measures == own.measures:
        scores = score_run(gold, [answer_of(query) for query in queries], settings)
        parts = {name: dict(levels) for name, levels in scores.slices.items()}
        return dict(scores.overall.metrics), RunSlices(**parts)
    known = {query.id: _scores(query, own.measures) for query in queries}

    def means(chosen: Sequence[StoredQuery]) -> dict[str, MetricMean]:
        ordered = sorted(chosen, key=lambda query: query.id)
        return {m: mean_of([known[q.id][m] for q in ordered], settings) for m in own.measures}

    levels: dict[str, dict[str, RunSlice]] = {}
    for dimension in DIMENSIONS:
        groups: dict[str, list[StoredQuery]] = {}
        for query in queries:
            groups.setdefault(getattr(query, dimension) or NO_NAME, []).append(query)
        levels[dimension] = {
            name: RunSlice(n_queries=len(group), metrics=means(group))
            for name, group in sorted(groups.items())
        }
    return means(queries), RunSlices(**levels)


def _scores(query: StoredQuery, measures: Sequence[str]) -> Mapping[str, Score]:
    found = {}
    for name in measures:
        value = query.metrics.get(name)
        reason = query.reasons.get(name, "")
        if value is None:
            is_lost = reason == "query_failed" and query.answerable is True
            gap = Value.missing(reason if reason in REASONS else "not_recorded")
            found[name] = Score(gap, is_lost=is_lost)
        else:
            found[name] = Score(Value.of(value, 1))
    return found


def answer_of(query: StoredQuery) -> QueryResult:
    """Return the answer that a search run keeps of a query, as it was scored."""
    ranking = tuple(ScoredDoc(found.doc, found.score) for found in query.ranking)
    return QueryResult(
        query.id, query.status, query.error, ranking, query.is_refused, query.problems
    )
