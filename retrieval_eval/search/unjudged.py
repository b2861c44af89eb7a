"""How much a measure could gain if retrieved documents that nobody judged were relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieval_eval.metrics.ranking import evaluate_rankings, parse_measure
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.settings import CONVENTION, deepest_cutoff

Qrels = Mapping[str, Mapping[str, int]]


def upper_bounds(
    qrels: Qrels, rankings: Mapping[str, Sequence[ScoredDoc]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the largest value each measure of each query could have, had everything been judged.

    The largest over all choices of unjudged documents as relevant with grade 1, the others as not
    relevant. Both retrieved and other documents may be chosen; one outside the first k can only
    lower a measure at k (Recall and nDCG divide by more), so the best choice lies within them.
    P, Recall and RR are largest with all unjudged documents there relevant: Recall is then
    (hits + unjudged) / (R + unjudged). nDCG need not be, because its ideal order grows too. As
    equally many choices have the same ideal, the first of them gain most: the bound is the best of
    "the first m unjudged documents are relevant" over every m, for all measures alike.

    The matching lower end is the value itself, where unjudged documents are not relevant. What
    else the corpus holds could lower Recall and nDCG further, by how much nobody knows.

    Parameters
    ----------
    qrels
        Grades of the queries of ``rankings``.
    rankings
        Documents of each query in rank order.
    measures
        Their names; ``Judged`` has no bound and is left out.

    Returns
    -------
    dict
        Measure to query id to bound; only where the measure is computable as it stands.

    Examples
    --------
    >>> ranking = [ScoredDoc("x", 2.0), ScoredDoc("a", 1.0)]
    >>> upper_bounds({"q": {"a": 1}}, {"q": ranking}, ["P@1", "RR", "Recall@1"])
    {'P@1': {'q': 1.0}, 'RR': {'q': 1.0}, 'Recall@1': {'q': 0.5}}
    """
    wanted = [name for name in measures if parse_measure(name).name != "Judged"]
    owners: list[str] = []
    supposed: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    for query, ranking in rankings.items():
        judged = qrels[query]
        if not ranking or not any(grade >= 1 for grade in judged.values()):
            continue
        scores = {found.doc: found.score for found in ranking}
        unjudged = [doc for doc in scores if doc not in judged]
        # RR has no cut-off, but the first unjudged document alone decides it.
        for m in range(min(len(unjudged), max(deepest_cutoff(wanted), 1)) + 1):
            key = str(len(owners))
            owners.append(query)
            supposed[key] = {**judged, **dict.fromkeys(unjudged[:m], 1)}
            runs[key] = scores
    if not owners or not wanted:
        return {name: {} for name in wanted}
    found = evaluate_rankings(supposed, runs, wanted, convention=CONVENTION)
    return {name: _largest(owners, found.scores[name].tolist()) for name in wanted}


def _largest(owners: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    best: dict[str, float] = {}
    for query, value in zip(owners, values, strict=True):
        best[query] = max(value, best.get(query, value))
    return best
