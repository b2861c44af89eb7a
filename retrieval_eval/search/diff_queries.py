"""The queries that two runs answered differently: what each adds to the change, and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval_eval.search.paired_change import Sides, contributions, pairs_of
from retrieval_eval.search.settings import HEADLINE

Document = Mapping[str, Any]

_SHOWN: Final = ("id", "query", "corpus", "area", "origin", "source")


def changed_queries(
    before: Mapping[str, Document],
    after: Mapping[str, Document],
    sides: Sides,
    cutoffs: Sequence[int],
) -> list[dict[str, Any]]:
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

    Returns
    -------
    list
        Of each query who it is (as in the second run), ``metrics`` (``a``, ``b`` where they
        differ), ``contributions`` in points by metric and ``documents`` by cut-off.
    """
    given = {name: contributions(*pair) for name, pair in sides.items()}
    pairs = {name: pairs_of(*pair) for name, pair in sides.items()}
    rows = []
    for query in sorted(before.keys() & after.keys()):
        row = {
            **{key: after[query][key] for key in _SHOWN},
            "metrics": {
                name: {"a": a, "b": b}
                for name, pair in pairs.items()
                if query in pair
                for a, b in [tuple(part / weight for part, weight in pair[query])]
                if a != b
            },
            "contributions": {
                name: points[query] for name, points in given.items() if query in points
            },
            "documents": moved_documents(before[query], after[query], cutoffs),
        }
        if row["contributions"] or row["documents"]:
            rows.append(row)
    return sorted(rows, key=_size)


def movers(rows: Sequence[Document], name: str) -> list[Document]:
    """Return the queries that moved a metric, the largest contribution first."""
    moved = [row for row in rows if name in row["contributions"]]
    return sorted(moved, key=lambda row: (-abs(row["contributions"][name]), row["id"]))


def _size(row: Document) -> tuple[float, float, str]:
    given: Mapping[str, float] = row["contributions"]
    headline = max(abs(given.get(name, 0.0)) for name in HEADLINE)
    return -headline, -max(map(abs, given.values()), default=0.0), row["id"]


def first_document(query: Document) -> dict[str, Any] | None:
    """Return the first document of a query and its grade, None for an empty ranking."""
    if not query["ranking"]:
        return None
    first = query["ranking"][0]
    return {"doc": first["doc"], "grade": first["grade"]}


def moved_documents(a: Document, b: Document, cutoffs: Sequence[int]) -> dict[str, Any]:
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
        when nobody judged it) in the run that has it, ``rank_a`` and ``rank_b`` (from 1, null
        when not retrieved), best rank first. Cut-offs without a change are left out.
    """
    if "failed" in (a["status"], b["status"]):
        return {}
    ranks_a, ranks_b = _ranks(a), _ranks(b)
    found = {}
    for k in cutoffs:
        gained = _entering(b, ranks_a, ranks_b, k, new="rank_b", old="rank_a")
        lost = _entering(a, ranks_b, ranks_a, k, new="rank_a", old="rank_b")
        if gained or lost:
            found[str(k)] = {"gained": gained, "lost": lost}
    return found


def _ranks(query: Document) -> dict[str, int]:
    return {found["doc"]: rank for rank, found in enumerate(query["ranking"], 1)}


def _entering(
    side: Document,
    before: Mapping[str, int],
    after: Mapping[str, int],
    k: int,
    *,
    new: str,
    old: str,
) -> list[dict[str, Any]]:
    """Return the first k documents of ``side`` that are not among the first k before."""
    found = []
    for place in side["ranking"][:k]:
        doc = place["doc"]
        rank = before.get(doc)
        if rank is None or rank > k:
            ranks = {old: rank, new: after[doc]}
            found.append(
                {
                    "doc": doc,
                    "grade": place["grade"],
                    "rank_a": ranks["rank_a"],
                    "rank_b": ranks["rank_b"],
                }
            )
    return found
