"""Evaluate the rankings of many queries against their judgements."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, get_args

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.few import evaluate_few
from retrieval_eval.ranking.measures import Measure, as_measures
from retrieval_eval.ranking.result import Convention, RankingResult

if TYPE_CHECKING:
    from retrieval_eval.ranking.many import QrelsLike, RankingsLike


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
    if convention == "trec" and documents is None and "numpy" not in sys.modules:
        # Loading numpy takes far longer than a few queries do without it.
        found = evaluate_few(qrels, rankings, wanted)
        if found is not None:
            return found
    from retrieval_eval.ranking.many import evaluate_many

    return evaluate_many(qrels, rankings, wanted, convention, documents)
