"""Where the judged documents of many queries stand in their rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from retrieval_eval.metrics.ranking.ids import Ints


@dataclass(frozen=True, slots=True)
class Hits:
    """Judged documents that were retrieved, ordered by query and rank.

    Hit ``i`` belongs to query ``query[i]``, has ``grade[i]`` and stands at ``rank[i]`` (from 1).
    Its score is shared by the ``n_tied[i]`` documents at ranks ``first[i]`` and following.
    ``n_retrieved`` counts the documents of each query.
    """

    query: Ints
    grade: Ints
    rank: Ints
    first: Ints
    n_tied: Ints
    n_retrieved: Ints

    @classmethod
    def ordered(
        cls, query: Ints, grade: Ints, rank: Ints, first: Ints, n_tied: Ints, n_retrieved: Ints
    ) -> Hits:
        """Return hits given in any order."""
        # One key sorts faster than two.
        order = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank)
        return cls(
            query[order], grade[order], rank[order], first[order], n_tied[order], n_retrieved
        )

    def extreme(self, *, is_best: bool) -> Hits:
        """Return the hits with ties resolved as well, or as badly, as they can be.

        At best the judged documents of a tie come first, high grades before low ones; at worst
        they come last, low grades before high ones. No order of a tie gives any measure more or
        less than these two.
        """
        order = np.lexsort((-self.grade, self.first, self.query))
        query, first, n_tied = self.query[order], self.first[order], self.n_tied[order]
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (np.diff(query) != 0) | (np.diff(first) != 0)
        begins = np.flatnonzero(is_new)
        place = np.arange(len(order)) - begins[np.cumsum(is_new) - 1]
        rank = first + (place if is_best else n_tied - 1 - place)
        return Hits.ordered(query, self.grade[order], rank, first, n_tied, self.n_retrieved)
