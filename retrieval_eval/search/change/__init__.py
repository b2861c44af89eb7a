"""Two search runs side by side: what moved, which queries moved it, which documents came and went.

Per-query first, aggregates second: a mean that stands still can hide queries that broke.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, cast

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.search_diff import (
    AcceptedMismatch,
    ChangedTop,
    DiffSettings,
    DiffSide,
    DiffSlice,
    DiffSlices,
    GoldSetOfSide,
    MetricDifference,
    MovedDocument,
    MovedDocuments,
    Outcome,
    QueryDifference,
    QueryOutcome,
    QueryValues,
    SearchDiff,
    TopDocument,
)
from retrieval_eval.model.search_run import QueryResult, SearchRun
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.search.change.anew import Relabelled, label_split
from retrieval_eval.search.change.causes import causes
from retrieval_eval.search.change.comparability import (
    accepted_mismatches,
    both_declare,
    changes,
    common_measures,
    own_faults,
    setup_differences,
    unverified,
)
from retrieval_eval.search.change.paired_change import (
    POINTS,
    Change,
    Resampling,
    Sides,
    about_claims,
    change_of,
    contributions,
    pairs_of,
    ranking_differs,
    restricted,
    slice_of,
    top1_differs,
    with_ends,
)
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import (
    BLOCK_OF,
    WHOLE_RUN_ONLY,
    is_refused,
    metric_value,
    moved_queries,
    shares,
)
from retrieval_eval.search.run.scoring import DIMENSIONS, NO_NAME
from retrieval_eval.search.run.summary import simulated
from retrieval_eval.values import counted

DEFAULT_FLAG_POINTS: Final = 0.5
_SHOWN: Final = ("id", "query", "corpus", "area", "origin", "source")

# Half a point is not always half a point in floats.
_ROUNDING: Final = 1e-9


def diff(
    a: SearchRun,
    b: SearchRun,
    *,
    accept: Collection[str] = (),
    flag_points: float = DEFAULT_FLAG_POINTS,
    seed: int,
    pinned: Collection[str] | None = None,
    relabelled: Relabelled | None = None,
) -> SearchDiff:
    """Return what changed from run ``a`` to run ``b``, in points (hundredths).

    Every metric that both runs have is compared over the queries that have a value in both
    (``auc`` and ``composite``, which are no means over queries, over the runs as they stand). A
    query contributes (b - a) / n_pairs to the change, and the contributions add up to it. Swapped
    runs give the negated document: changes, intervals and contributions exactly, gained and lost
    documents exchanged.

    Parameters
    ----------
    a, b
        Search runs (schema ``search_run``).
    accept
        Fingerprints that may differ (see `mismatches`); those that do head the diff as its banner.
    flag_points
        Metrics that moved by more are flagged.
    seed
        Seed of resampling; number and coverage are the larger ones of the two runs.
    pinned
        Ids of queries to show as a slice of their own.
    relabelled
        The gold sets of both runs and what became of documents between them, to split the change
        into what labels did and what retrieval did (see `label_split`).

    Returns
    -------
    SearchDiff
        ``no_verdict``: why what it says decides nothing, which the banner
        repeats. ``metrics``: by name. ``slices``: the same for parts of the
        queries. ``top1_changed``: queries with another first document. ``queries``: those that
        moved at all, with contributions and documents, the largest contribution to a headline
        measure first.

    Raises
    ------
    NothingToEvaluateError
        When a fingerprint differs that was not accepted, or the runs share no measure or query.
    BadInputError
        When ``accept`` names no fingerprint, or ``flag_points`` is no number from 0.
    """
    if not 0 <= flag_points < math.inf:
        raise BadInputError(
            f"the flag level is {flag_points} points; it must be a number, 0 or more"
        )
    accepted = accepted_mismatches(a, b, accept)
    before, after = _by_id(a), _by_id(b)
    if not before.keys() & after.keys():
        raise NothingToEvaluateError("the runs have no query in common")
    no_verdict = _no_verdict(a, b)
    both = sorted(before.keys() & after.keys())
    sides = {name: (shares(a, name), shares(b, name)) for name in _names(a, b)}
    compare = _Comparing(_resampling(a, b, seed), flag_points)
    metrics = with_ends(compare(sides) | compare.whole_runs(a, b), a, b)
    top1 = _top1_changed(before, after)
    queries = changed_queries(before, after, sides, _cutoffs(a, b))
    return SearchDiff(
        schema_version=SCHEMA_VERSION,
        a=_side(a),
        b=_side(b),
        settings=DiffSettings(flag_points=flag_points, **asdict(compare.resampling)),
        banner=_banner(no_verdict, accepted),
        no_verdict=tuple(no_verdict),
        accepted=tuple(
            AcceptedMismatch(code=cast("Any", code), difference=text)
            for code, text in accepted.items()
        ),
        notices=(*_notices(a, b, pinned), *about_claims(metrics, a, b)),
        changes=tuple(changes(a, b)),
        n_queries_in_both=len(both),
        n_queries_only_a=len(before.keys() - after.keys()),
        n_queries_only_b=len(after.keys() - before.keys()),
        n_queries_moved=len(moved_queries(queries)),
        n_queries_top1_changed=len(top1),
        n_queries_other_ranking=sum(ranking_differs(before[q], after[q]) for q in both),
        outcomes=outcomes(a, b),
        setup=setup_differences(a, b),
        label_split=None if relabelled is None else label_split(*relabelled, a, b),
        causes=() if no_verdict or "gold_set" in accepted else causes(a, b),
        metrics=metrics,
        flagged=tuple(name for name, change in metrics.items() if change.is_flagged),
        slices=_slices(a, b, sides, compare, pinned),
        top1_changed=top1,
        queries=queries,
    )


class _Comparing:
    """Compares metrics under the settings of one diff."""

    def __init__(self, resampling: Resampling, flag_points: float) -> None:
        self.resampling, self._flag = resampling, flag_points + _ROUNDING

    def __call__(self, sides: Sides) -> dict[str, MetricDifference]:
        return {
            name: self._block(change_of(*pair, self.resampling)) for name, pair in sides.items()
        }

    def whole_runs(
        self, a: SearchRun, b: SearchRun, within: Collection[str] | None = None
    ) -> dict[str, MetricDifference]:
        """Compare the metrics in which no query has a share; they have neither n nor interval."""
        found = {}
        for name in sorted(WHOLE_RUN_ONLY):
            old, new = (metric_value(run, name, within).value for run in (a, b))
            if old is not None and new is not None:
                moved = POINTS * (new - old)
                found[name] = self._block(
                    Change(old, new, moved, None, None, None, 0, 0, 0, 0, 0), is_paired=False
                )
        return found

    def _block(self, change: Change, *, is_paired: bool = True) -> MetricDifference:
        moved = change.delta_points
        return MetricDifference(
            a=change.before,
            b=change.after,
            delta_points=moved,
            ci_low_points=change.ci_low_points,
            ci_high_points=change.ci_high_points,
            p_value=change.p_value,
            is_paired=is_paired,
            n_pairs=change.n_pairs,
            n_only_a=change.n_only_before,
            n_only_b=change.n_only_after,
            n_up=change.n_up,
            n_down=change.n_down,
            is_flagged=moved is not None and abs(moved) > self._flag,
        )


def _names(a: SearchRun, b: SearchRun) -> list[str]:
    """Return the metrics of both runs that are compared by query."""
    others = [name for name in BLOCK_OF if name not in WHOLE_RUN_ONLY]
    return common_measures(a.run, b.run) + [
        name for name in others if shares(a, name) and shares(b, name)
    ]


def _by_id(run: SearchRun) -> dict[str, QueryResult]:
    return {query.id: query for query in run.queries}


def _side(run: SearchRun) -> DiffSide:
    gold, use, status = run.run.gold_set, run.run.retriever, run.status
    return DiffSide(
        label=run.label,
        generated_at=run.generated_at,
        retriever=use.name,
        gold_set=GoldSetOfSide(
            name=gold.name,
            fingerprint=gold.fingerprint,
            n_queries=gold.n_queries,
            n_labelled_pairs=gold.n_labelled_pairs,
        ),
        n_queries=status.n_queries,
        n_failed=status.n_failed,
        has_verdict=status.has_verdict,
    )


def _resampling(a: SearchRun, b: SearchRun, seed: int) -> Resampling:
    old, new = a.run.settings, b.run.settings
    return Resampling(
        seed, max(old.n_resamples, new.n_resamples), max(old.confidence, new.confidence)
    )


def _cutoffs(a: SearchRun, b: SearchRun) -> list[int]:
    old, new = (set(run.run.settings.k_values) for run in (a, b))
    return sorted(old & new)


def _no_verdict(a: SearchRun, b: SearchRun) -> list[str]:
    return [
        f"run {name} has no verdict: {reason}"
        for name, run in (("A", a), ("B", b))
        for reason in own_faults(run)
    ]


def _banner(no_verdict: Sequence[str], accepted: Mapping[str, str]) -> str | None:
    found = []
    if no_verdict:
        found.append(f"NO VERDICT, what follows decides nothing: {'; '.join(no_verdict)}.")
    if accepted:
        found.append(
            "THESE RUNS DID NOT MEASURE THE SAME THING, and the difference was accepted by name: "
            + "; ".join(f"{code}: {text}" for code, text in accepted.items())
        )
    return " ".join(found) or None


def _notices(a: SearchRun, b: SearchRun, pinned: Collection[str] | None) -> list[str]:
    """Return the sentences a reader must not miss, besides the banner."""
    found = simulated(a, b)
    before, after = _by_id(a).keys(), _by_id(b).keys()
    if before != after:
        found.append(
            f"Queries asked in one run only, and left out: {len(before - after)} of A, "
            f"{len(after - before)} of B."
        )
    if (declared := both_declare(a, b)) is not None:
        found.append(f"{declared[0].upper()}{declared[1:]}.")
    if names := unverified(a, b):
        found.append(
            f"The digest of corpus {', '.join(names)} was not recorded, so it is not known whether "
            "the documents were the same."
        )
    if pinned is not None and (missing := sorted(set(pinned) - (before & after))):
        found.append(
            f"Not in both runs: {len(missing)} of {counted(len(set(pinned)), 'pinned query')}, "
            f"such as {missing[0]}."
        )
    return found


def _slices(
    a: SearchRun, b: SearchRun, sides: Sides, compare: _Comparing, pinned: Collection[str] | None
) -> DiffSlices:
    def part(ids: tuple[Collection[str], Collection[str]]) -> DiffSlice:
        both = _by_id(a).keys() & _by_id(b).keys() & set(ids[0]) & set(ids[1])
        metrics = compare(restricted(sides, ids)) | compare.whole_runs(a, b, both)
        return DiffSlice(n_queries=len(both), metrics=metrics)

    found = {}
    for dimension in DIMENSIONS:
        values = {getattr(query, dimension) or NO_NAME for run in (a, b) for query in run.queries}
        found[dimension] = {
            value: part(slice_of(a, b, dimension, value)) for value in sorted(values)
        }
    if pinned is not None:
        found["pinned"] = {"pinned": part((pinned, pinned))}
    return DiffSlices(**found)


def _top1_changed(
    before: Mapping[str, QueryResult], after: Mapping[str, QueryResult]
) -> tuple[ChangedTop, ...]:
    return tuple(
        ChangedTop(
            id=query,
            query=after[query].query,
            a=first_document(before[query]),
            b=first_document(after[query]),
        )
        for query in sorted(before.keys() & after.keys())
        if top1_differs(before[query], after[query])
    )


def outcome_of(run: SearchRun, query: QueryResult | None) -> Outcome:
    """Return what a run did with a query: see :class:`QueryOutcome`."""
    if query is None:
        return "not_asked"
    if query.status == "failed":
        return "failed"
    if query.is_refused:
        return "refused"
    if not query.ranking:
        return "empty"
    threshold = None if run.abstention is None else run.abstention.threshold
    return "refused" if is_refused(query.ranking[0].score, threshold) else "answered"


def outcomes(a: SearchRun, b: SearchRun) -> tuple[QueryOutcome, ...]:
    """Return the queries that a run failed on, or with which the runs did different things.

    Failed ones come first, then those that one run did not ask, then the others, each by id.
    """
    before, after = _by_id(a), _by_id(b)
    found = []
    for name in before.keys() | after.keys():
        pair = [outcome_of(run, of.get(name)) for run, of in ((a, before), (b, after))]
        if "failed" in pair or pair[0] != pair[1]:
            text = (after[name] if name in after else before[name]).query
            found.append(QueryOutcome(id=name, query=text, a=pair[0], b=pair[1]))
    order = ("failed", "not_asked")

    def place(one: QueryOutcome) -> tuple[int, str]:
        codes = [order.index(code) for code in (one.a, one.b) if code in order]
        return min(codes, default=len(order)), one.id

    return tuple(sorted(found, key=place))


def changed_queries(
    before: Mapping[str, QueryResult],
    after: Mapping[str, QueryResult],
    sides: Sides,
    cutoffs: Sequence[int],
) -> tuple[QueryDifference, ...]:
    """Return the queries of both runs whose metrics or documents changed, the largest first.

    Size is the largest contribution to a headline measure, then to any; then the id decides.

    Parameters
    ----------
    before, after
        The queries of either run by id.
    sides
        What each query adds to every metric.
    cutoffs
        Within which documents are compared, see `moved_documents`.

        Each is described as in the second run.
    """
    given = {name: contributions(*pair) for name, pair in sides.items()}
    pairs = {name: pairs_of(*pair) for name, pair in sides.items()}
    rows = []
    for query in sorted(before.keys() & after.keys()):
        row = QueryDifference(
            **{key: getattr(after[query], key) for key in _SHOWN},
            metrics={
                name: QueryValues(a=a, b=b)
                for name, pair in pairs.items()
                if query in pair
                for a, b in [tuple(part / weight for part, weight in pair[query])]
                if a != b
            },
            contributions={
                name: points[query] for name, points in given.items() if query in points
            },
            documents=moved_documents(before[query], after[query], cutoffs),
        )
        if row.contributions or row.documents:
            rows.append(row)
    return tuple(sorted(rows, key=_size))


def movers(rows: Iterable[QueryDifference], name: str) -> list[QueryDifference]:
    """Return the queries that moved a metric, the largest contribution first."""
    moved = [row for row in rows if name in row.contributions]
    return sorted(moved, key=lambda row: (-abs(row.contributions[name]), row.id))


def _size(row: QueryDifference) -> tuple[float, float, str]:
    given = row.contributions
    headline = max(abs(given.get(name, 0.0)) for name in HEADLINE)
    return -headline, -max(map(abs, given.values()), default=0.0), row.id


def first_document(query: QueryResult) -> TopDocument | None:
    """Return the first document of a query and its grade, None for an empty ranking."""
    if not query.ranking:
        return None
    first = query.ranking[0]
    return TopDocument(doc=first.doc, grade=first.grade)


def moved_documents(
    a: QueryResult, b: QueryResult, cutoffs: Sequence[int]
) -> dict[str, MovedDocuments]:
    """Return the documents that the second ranking gained and lost within each cut-off.

    Parameters
    ----------
    a, b
        The same query in two runs. A query that failed in either has no documents to compare.
    cutoffs
        Numbers of first documents to look at.

    Returns
    -------
    dict
        Cut-off (as text) to ``gained`` and ``lost``, each a list of ``doc``, its ``grade`` (null
        when it is unjudged) in the run that has it, ``rank_a`` and ``rank_b`` (from 1, null
        when not retrieved), best rank first. Cut-offs without a change are left out.
    """
    if "failed" in (a.status, b.status):
        return {}
    ranks_a, ranks_b = _ranks(a), _ranks(b)
    found = {}
    for k in cutoffs:
        gained = _entering(b, ranks_a, ranks_b, k, new="rank_b", old="rank_a")
        lost = _entering(a, ranks_b, ranks_a, k, new="rank_a", old="rank_b")
        if gained or lost:
            found[str(k)] = MovedDocuments(gained=gained, lost=lost)
    return found


def _ranks(query: QueryResult) -> dict[str, int]:
    return {found.doc: rank for rank, found in enumerate(query.ranking, 1)}


def _entering(
    side: QueryResult,
    before: Mapping[str, int],
    after: Mapping[str, int],
    k: int,
    *,
    new: str,
    old: str,
) -> tuple[MovedDocument, ...]:
    """Return the first k documents of ``side`` that are not among the first k before."""
    found = []
    for place in side.ranking[:k]:
        doc = place.doc
        rank = before.get(doc)
        if rank is None or rank > k:
            ranks = {old: rank, new: after[doc]}
            found.append(MovedDocument(doc=doc, grade=place.grade, **ranks))
    return tuple(found)
