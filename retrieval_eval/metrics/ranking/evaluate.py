"""Evaluate the rankings of many queries against their judgements."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, get_args

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.hits import (
    Hits,
    Rankings,
    check_rankings,
    hits_from_mapping,
    hits_from_table,
)
from retrieval_eval.metrics.ranking.judgements import Judgements, Qrels
from retrieval_eval.metrics.ranking.measures import Measure, as_measures
from retrieval_eval.metrics.ranking.result import Convention, RankingResult
from retrieval_eval.metrics.ranking.scoring import Scorer
from retrieval_eval.metrics.ranking.table import Table, table_from_frame
from retrieval_eval.metrics.ranking.trec import read_trec

if TYPE_CHECKING:
    import pandas as pd

    QrelsLike: TypeAlias = Qrels | pd.DataFrame | str | Path
    RankingsLike: TypeAlias = Rankings | pd.DataFrame | str | Path

NEED_ALL_JUDGED: Final = frozenset({"bpref", "Judged"})


def evaluate_rankings(
    qrels: QrelsLike,
    rankings: RankingsLike,
    measures: Iterable[str | Measure],
    *,
    convention: Convention = "trec",
    documents: Collection[str] | None = None,
) -> RankingResult:
    """Return ranking measures per query and in the mean.

    Documents are ranked by score, highest first; equal scores by document id, highest first, as
    trec_eval does. Definitions are trec_eval's; unjudged documents count as not relevant.

    Parameters
    ----------
    qrels
        Grades: ``{query: {document: grade}}``, a long frame (``query_id``, ``doc_id``, ``grade``)
        or the path of a TREC qrels file. A document is relevant from grade 1.
    rankings
        Scores: ``{query: {document: score}}``, a long frame (``query_id``, ``doc_id``, ``score``)
        or the path of a TREC run file.
    measures
        Names such as ``P@5``, ``Recall@20``, ``nDCG@10``, ``RR`` (see `parse_measure`).
    convention
        ``trec``: scores are 64-bit; an empty ranking scores 0, P included, and a query the
        rankings lack counts as one (``missing_queries`` of the result), as in ``trec_eval -c``.
        Undefined values are not computable: everything but Judged where nothing is relevant
        (``no_ground_truth``), Judged where nothing is retrieved (``nothing_retrieved``). A search
        run has the same numbers for the same rankings. ``trec9``: scores are compared as 32-bit
        numbers, queries the rankings lack are left out, and undefined values are 0, as in
        trec_eval 9.
    documents
        The ids of all documents there are: a ranking with another one is refused, as it is in a
        search run that knows them. None: not known, and not checked.

    Raises
    ------
    BadInputError
        When an input cannot be read, a measure or convention is unknown, a score is no finite
        number or a grade none, a document id of a ranking is not text or none of ``documents``, or
        a query ranks or judges a document twice; files are named with line numbers.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
    >>> rankings = {"q1": {"a": 0.3, "b": 0.9, "x": 0.5}}
    >>> result = evaluate_rankings(qrels, rankings, ["Recall@2", "RR"])
    >>> {name: (mean.value, mean.n) for name, mean in result.means.items()}
    {'Recall@2': (0.25, 2), 'RR': (0.5, 2)}
    >>> result.missing_queries
    ('q2',)
    """
    if convention not in get_args(Convention):
        raise BadInputError(f"unknown convention {convention!r}; known are 'trec' and 'trec9'")
    wanted = as_measures(measures)
    if not wanted:
        raise BadInputError("no measure was requested; give at least one, such as 'nDCG@10'")
    judgements = _judgements(qrels)
    run = _rankings(rankings)
    if documents is not None:
        _refuse_unknown(run, frozenset(documents))
    ranked: Mapping[str, object]
    lowest = None if any(m.name in NEED_ALL_JUDGED for m in wanted) else 1
    is_float32 = convention == "trec9"
    if isinstance(run, Table):
        hits = hits_from_table(judgements, run, lowest_grade=lowest, is_float32=is_float32)
        ranked = dict.fromkeys(run.query_ids)
    else:
        hits = hits_from_mapping(judgements, run, lowest_grade=lowest, is_float32=is_float32)
        ranked = run
    is_missing = hits.n_retrieved == 0
    for place in np.flatnonzero(is_missing).tolist():
        is_missing[place] = judgements.query_ids[place] not in ranked
    unjudged: tuple[str, ...] = ()
    if len(ranked) > len(is_missing) - is_missing.sum():
        judged = set(judgements.query_ids)
        unjudged = tuple(query for query in ranked if query not in judged)
        if not isinstance(run, Table):
            check_rankings(run, unjudged)
    scorer = Scorer(hits, judgements.query(), judgements.grades, wanted)
    if convention == "trec9":
        scorer = _without(scorer, is_missing)
    undefined = math.nan if convention == "trec" else 0.0
    query_ids = np.array(judgements.query_ids, dtype=object)
    kept = query_ids if convention == "trec" else query_ids[~is_missing]
    return RankingResult(
        convention=convention,
        measures=wanted,
        query_ids=tuple(kept),
        missing_queries=tuple(query_ids[is_missing]),
        unjudged_queries=unjudged,
        scores={str(measure): scorer.score(measure, undefined) for measure in wanted},
        _scorer=scorer,
    )


def _without(scorer: Scorer, is_missing: Any) -> Scorer:
    # A missing query has judgements but no hits.
    place = np.cumsum(~is_missing) - 1
    is_kept = ~is_missing[scorer.query]
    hits: Hits = replace(
        scorer.hits,
        query=place[scorer.hits.query],
        n_retrieved=scorer.hits.n_retrieved[~is_missing],
    )
    return Scorer(hits, place[scorer.query[is_kept]], scorer.grades[is_kept], scorer.measures)


def _judgements(qrels: object) -> Judgements:
    if isinstance(qrels, Mapping):
        return Judgements.from_mapping(qrels)
    if isinstance(qrels, str | Path):
        return Judgements.from_table(read_trec(Path(qrels), "qrels"))
    if hasattr(qrels, "columns"):
        return Judgements.from_table(
            table_from_frame(cast("pd.DataFrame", qrels), "grade", "qrels")
        )
    raise BadInputError(f"qrels: expected a mapping, a data frame or a path, not {type(qrels)}")


def _refuse_unknown(run: Rankings | Table, documents: frozenset[str]) -> None:
    rows: Iterable[tuple[str, str]]
    if isinstance(run, Table):
        rows = zip(run.docs.texts(), np.repeat(run.query_ids, np.diff(run.starts)), strict=True)
    else:
        rows = ((doc, query) for query, scores in run.items() for doc in scores)
    for doc, query in rows:
        if doc not in documents:
            shown = str(doc)[:80]
            raise BadInputError(f"rankings: query {query!r}: the corpus has no document {shown!r}")


def _rankings(rankings: object) -> Rankings | Table:
    if isinstance(rankings, Mapping):
        return rankings
    if isinstance(rankings, str | Path):
        return read_trec(Path(rankings), "run").finite()
    if hasattr(rankings, "columns"):
        frame = cast("pd.DataFrame", rankings)
        return table_from_frame(frame, "score", "rankings").finite()
    raise BadInputError(
        f"rankings: expected a mapping, a data frame or a path, not {type(rankings)}"
    )
