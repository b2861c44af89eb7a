"""Evaluate the rankings of many queries against their judgements."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, get_args

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import hits
from retrieval_eval.ranking.hits import Hits
from retrieval_eval.ranking.inputs import Frame, Rows, plain_grades, plain_scores
from retrieval_eval.ranking.measures import Measure, as_measures
from retrieval_eval.ranking.result import Columns, Convention, RankingResult
from retrieval_eval.ranking.trec import TrecFile
from retrieval_eval.values import MAX_GRADE

if TYPE_CHECKING:
    import pandas as pd

    QrelsLike: TypeAlias = Mapping[str, Mapping[str, int]] | pd.DataFrame | str | Path
    RankingsLike: TypeAlias = Mapping[str, Mapping[str, float]] | pd.DataFrame | str | Path

_NEED_ALL_JUDGED: Final = frozenset({"bpref", "Judged"})
_NOTHING: Final[dict[str, float]] = {}


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
    judged = _read(qrels, "qrels")
    run = _read(rankings, "rankings")
    needs_all = any(measure.name in _NEED_ALL_JUDGED for measure in wanted)
    return _evaluate(
        judged.nested() if isinstance(judged, Rows) else judged,
        _known(run, frozenset(documents)) if documents is not None else run,
        wanted,
        convention,
        -MAX_GRADE if needs_all else 1,
    )


def _read(given: object, name: str) -> Mapping[str, Any] | Rows:
    is_qrels = name == "qrels"
    if isinstance(given, Mapping):
        return given
    if isinstance(given, str | Path):
        return TrecFile(Path(given), "qrels" if is_qrels else "run")
    if hasattr(given, "columns"):
        return Frame(cast("pd.DataFrame", given), "grade" if is_qrels else "score", name)
    raise BadInputError(f"{name}: expected a mapping, a data frame or a path, not {type(given)}")


def _known(run: Mapping[str, Any] | Rows, documents: frozenset[str]) -> Mapping[str, Any]:
    """Return rankings without rows; raises `BadInputError` at a document that there is not."""
    rankings = run.nested() if isinstance(run, Rows) else run
    for query, scores in rankings.items():
        # What is no ranking is refused where it is ranked.
        for doc in scores if isinstance(scores, Mapping) else ():
            if doc not in documents:
                shown = str(doc)[:80]
                raise BadInputError(
                    f"rankings: query {query!r}: the corpus has no document {shown!r}"
                )
    return rankings


def _evaluate(
    qrels: Mapping[str, Any],
    run: Mapping[str, Any] | Rows,
    measures: tuple[Measure, ...],
    convention: Convention,
    lowest: int,
) -> RankingResult:
    is_trec = convention == "trec"
    queries, judged = list(qrels), list(qrels.values())
    ranked: Mapping[str, Any] = {}
    found = None
    # Other keys than text may compare in code of their own.
    if isinstance(run, Rows) and hits.kernel is not None and set(map(type, queries)) <= {str}:
        places = {query: place for place, query in enumerate(queries)}
        rows = run.packed()
        found = hits.rank_compiled(judged, rows, places, ranked, lowest, not is_trec)
    is_checked = found is not None
    if found is None:
        ranked = run.nested() if isinstance(run, Rows) else run
        runs = list(map(ranked.get, queries, repeat(_NOTHING)))
        found = _of_mappings(queries, judged, runs, lowest, not is_trec)
    missing: tuple[str, ...] = ()
    if not qrels.keys() <= ranked.keys():
        missing = tuple(query for query in queries if query not in ranked)
    unjudged: tuple[str, ...] = ()
    if len(ranked) > len(queries) - len(missing):
        unjudged = tuple(query for query in ranked if query not in qrels)
        if not is_checked:
            # What is wrong with a ranking that no judgement needs is a fault of the same system.
            runs = [ranked[query] for query in unjudged]
            _of_mappings(unjudged, [{}] * len(runs), runs, lowest, not is_trec)
    if missing and not is_trec:
        found = found.only([query in ranked for query in queries])
        queries = [query for query in queries if query in ranked]
    columns, means = found.measured(measures, math.nan if is_trec else 0.0)
    return RankingResult(
        convention=convention,
        measures=measures,
        query_ids=tuple(queries),
        missing_queries=missing,
        unjudged_queries=unjudged,
        scores=Columns(columns),
        means=means,
        hits=found,
    )


def _of_mappings(
    queries: Sequence[str], judged: list[Any], runs: list[Any], lowest: int, is_float32: bool
) -> Hits:
    found = hits.rank_compiled(judged, runs, {}, {}, lowest, is_float32)
    if found is None:
        plain_judged = list(map(plain_grades, queries, judged))
        plain_runs = list(map(plain_scores, queries, runs))
        found = hits.rank_compiled(plain_judged, plain_runs, {}, {}, lowest, is_float32)
        if found is None:
            found = hits.rank(plain_judged, plain_runs, lowest, is_float32)
    return found
