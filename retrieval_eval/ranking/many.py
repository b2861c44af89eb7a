"""Evaluate rankings in arrays, whatever they come from."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.hits import (
    Hits,
    Rankings,
    check_rankings,
    hits_from_mapping,
    hits_from_table,
)
from retrieval_eval.ranking.judgements import Judgements, Qrels
from retrieval_eval.ranking.measures import Measure
from retrieval_eval.ranking.result import Convention, RankingResult
from retrieval_eval.ranking.scoring import Scorer
from retrieval_eval.ranking.table import Table, table_from_frame
from retrieval_eval.ranking.trec import read_trec

if TYPE_CHECKING:
    import pandas as pd

    QrelsLike: TypeAlias = Qrels | pd.DataFrame | str | Path
    RankingsLike: TypeAlias = Rankings | pd.DataFrame | str | Path

NEED_ALL_JUDGED: Final = frozenset({"bpref", "Judged"})


def evaluate_many(
    qrels: QrelsLike,
    rankings: RankingsLike,
    wanted: tuple[Measure, ...],
    convention: Convention,
    documents: Collection[str] | None,
) -> RankingResult:
    """Return what `evaluate_rankings` promises, computed in arrays."""
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
