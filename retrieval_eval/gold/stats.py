"""What a gold set is made of, with the share of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retrieval_eval.gold.model import ORIGINS, SOURCES, GoldSet

_TENTHS = 1000
"""Shares are printed in tenths of a percent."""


def gold_stats(gold: GoldSet) -> dict[str, Any]:
    """Return the composition of a gold set as a JSON-able document.

    ``composition`` has queries by ``corpus``, ``area``, ``origin``, ``source`` and
    ``answerable``, and judged pairs of query and document by ``grade``. Each is an object with
    what it counts (``unit``), its total ``n``, and its ``parts``: the ``value`` (null where the
    queries say nothing), ``n``, ``share`` of the total, and ``percent``, which is the share
    rounded by largest remainder so that the parts add up to 100.0.

    ``n_unlabelled`` counts the queries that no document is judged relevant for and that are not
    said to be unanswerable. A set without queries has parts of nothing, hence none.
    """
    queries = gold.queries
    grades = Counter(grade for query in queries for grade in query.relevant.values())
    answerable = Counter(query.answerable for query in queries)
    return {
        "fingerprint": gold.fingerprint,
        "is_provisional": gold.is_provisional,
        "n_queries": len(queries),
        "n_labelled_pairs": grades.total(),
        "n_relevant_pairs": sum(query.n_relevant for query in queries),
        "n_unlabelled": sum(
            query.n_relevant == 0 and query.answerable is not False for query in queries
        ),
        "n_labels": sum(len(query.labels) for query in queries),
        "n_anchors": sum(len(query.anchors) for query in queries),
        "composition": {
            "corpus": _parts("queries", Counter(query.corpus for query in queries)),
            "area": _parts("queries", Counter(query.area for query in queries)),
            "origin": _parts("queries", Counter(query.origin for query in queries), ORIGINS),
            "source": _parts("queries", Counter(query.source for query in queries), SOURCES),
            "answerable": _parts("queries", answerable, (True, False)),
            "grade": _parts("judged pairs", grades),
        },
    }


def percents(counts: Sequence[int]) -> list[float]:
    """Return each count's share of their sum in percent, to one decimal, adding up to 100.0.

    Shares are cut to a tenth of a percent; the tenths left over go to the largest remainders, on
    a tie to the earlier one (the method of Hare and Niemeyer). Empty when the sum is 0.

    Examples
    --------
    >>> percents([1, 1, 1])
    [33.4, 33.3, 33.3]
    """
    total = sum(counts)
    if total == 0:
        return []
    tenths = [count * _TENTHS // total for count in counts]
    remainders = [count * _TENTHS % total for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda place: -remainders[place])
    for place in by_remainder[: _TENTHS - sum(tenths)]:
        tenths[place] += 1
    return [count / 10 for count in tenths]


def _parts(unit: str, counts: Mapping[Any, int], order: Iterable[Any] = ()) -> dict[str, Any]:
    """Return the parts in the stated order, else by value; what says nothing comes last."""
    known = [value for value in order if value in counts]
    rest = sorted(value for value in counts if value is not None and value not in known)
    values = [*known, *rest, *([None] if None in counts else [])]
    total = sum(counts.values())
    rounded = percents([counts[value] for value in values])
    return {
        "unit": unit,
        "n": total,
        "parts": [
            {"value": value, "n": counts[value], "share": counts[value] / total, "percent": percent}
            for value, percent in zip(values, rounded, strict=True)
        ],
    }
