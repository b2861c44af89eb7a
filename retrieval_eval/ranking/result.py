"""The result of evaluating rankings: per query, in the mean, and over all orders of ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.measures import Measure
from retrieval_eval.values import Value

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.ranking.scoring import Scorer
    from retrieval_eval.ranking.table import Floats
else:  # annotations are looked up where a signature is shown, which is no reason to load numpy
    Floats = Scorer = Any

Convention = Literal["trec", "trec9"]

_BLOCK: Final = 1 << 12
_LIMB_BITS: Final = 30
_LIMBS: Final = 3


class RankingResult(msgspec.Struct, frozen=True):
    """Measures of many rankings under a named convention.

    ``query_ids`` are the evaluated queries in the order of the qrels, ``missing_queries`` the
    judged ones that the rankings lack (``trec`` scores them as empty rankings, ``trec9``
    leaves them out), ``unjudged_queries`` the ranked ones without judgements (always left out).
    """

    convention: Convention
    measures: tuple[Measure, ...]
    query_ids: tuple[str, ...]
    missing_queries: tuple[str, ...]
    unjudged_queries: tuple[str, ...]
    scores: Mapping[str, Floats]
    """One number a query for each measure; NaN exactly where it is not computable."""
    _scorer: Scorer | Callable[[], Scorer]

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.measures))
        return f"<RankingResult of {len(self.query_ids)} queries ({self.convention}): {names}>"

    def arrays(self) -> Scorer:
        """Return the hits behind the numbers."""
        return self._scorer() if callable(self._scorer) else self._scorer

    @property
    def per_query(self) -> pd.DataFrame:
        """A frame with one row a query (index ``query_id``) and one column a measure.

        An empty cell (NaN) is not computable; `value` gives the reason.
        """
        import numpy as np
        import pandas as pd

        index = pd.Index(self.query_ids, name="query_id", dtype="str")
        # One block for all columns: a block a column takes longer than the measures.
        scores = np.column_stack(tuple(self.scores.values()))
        return pd.DataFrame(scores, index=index, columns=list(self.scores), copy=False)

    @property
    def means(self) -> dict[str, Value]:
        """The exactly summed mean of each measure; n is the number of queries it rests on."""
        if isinstance(self.scores, Columns):
            return {name: _mean(column) for name, column in self.scores.lists.items()}
        return _means(self.scores)

    @property
    def not_computable(self) -> dict[str, dict[str, int]]:
        """For each measure, how many queries have no value, by reason code."""
        import numpy as np

        counts, scorer = {}, self.arrays()
        for measure in self.measures:
            gap = np.isnan(self.scores[str(measure)])
            lacks_truth = int((gap & scorer.lacks_ground_truth(measure)).sum())
            found = {
                "no_ground_truth": lacks_truth,
                "nothing_retrieved": int(gap.sum()) - lacks_truth,
            }
            counts[str(measure)] = {reason: n for reason, n in found.items() if n}
        return counts

    def value(self, query_id: str, measure: str) -> Value:
        """Return one query's measure, or why it has none.

        Raises
        ------
        BadInputError
            When the query or the measure was not evaluated.
        """
        if query_id not in self.query_ids or measure not in self.scores:
            raise BadInputError(f"{measure!r} of query {query_id!r} was not evaluated")
        row = self.query_ids.index(query_id)
        score = float(self.scores[measure][row])
        if not math.isnan(score):
            return Value.of(score, 1)
        parsed = next(known for known in self.measures if str(known) == measure)
        lacks_truth = bool(self.arrays().lacks_ground_truth(parsed)[row])
        return Value.missing("no_ground_truth" if lacks_truth else "nothing_retrieved")

    @property
    def tie_bands(self) -> pd.DataFrame:
        """The smallest and largest value over all orders of tied documents.

        A frame with the columns ``query_id``, ``measure``, ``low``, ``value`` and ``high``, and
        one row for each computable measure of each query whose tied documents include a judged
        one; without ties it is empty. Documents of a tie that stand on both sides of a cut-off
        are what widens a band.
        """
        import numpy as np
        import pandas as pd

        hits = self.arrays().hits
        tied = np.zeros(len(self.query_ids), dtype=bool)
        tied[hits.query[hits.n_tied > 1]] = True
        names = np.array(self.query_ids, dtype=object)
        low, high = (self._extremes(is_best=is_best) for is_best in (False, True))
        parts = []
        for measure, scores in self.scores.items():
            rows = np.flatnonzero(tied & ~np.isnan(scores))
            columns = {"low": low[measure], "value": scores, "high": high[measure]}
            part = {name: column[rows] for name, column in columns.items()}
            parts.append(pd.DataFrame({"query_id": names[rows], "measure": measure, **part}))
        bands = pd.concat(parts, ignore_index=True)
        return bands.astype({"query_id": "str", "measure": "str"})

    @property
    def mean_bands(self) -> dict[str, tuple[Value, Value]]:
        """The smallest and largest mean of each measure over all orders of tied documents."""
        low, high = (self._extremes(is_best=is_best) for is_best in (False, True))
        lowest, highest = _means(low), _means(high)
        return {name: (lowest[name], highest[name]) for name in self.scores}

    def _extremes(self, *, is_best: bool) -> dict[str, Floats]:
        import numpy as np

        scorer = self.arrays()
        scorer = scorer.of(scorer.hits.extreme(is_best=is_best))
        return {
            str(measure): np.where(
                np.isnan(self.scores[str(measure)]), np.nan, scorer.score(measure)
            )
            for measure in self.measures
        }


class Columns(Mapping[str, "Floats"]):
    """Numbers of few queries in lists; arrays where they are read."""

    def __init__(self, lists: dict[str, list[float]]) -> None:
        self.lists = lists

    def __getitem__(self, name: str) -> Floats:
        import numpy as np

        return np.array(self.lists[name], dtype=np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)


def _mean(scores: list[float]) -> Value:
    present = [score for score in scores if not math.isnan(score)]
    if not present:
        return Value.missing("no_computable_values")
    return Value.of(math.fsum(present) / len(present), len(present))


def _means(scores: Mapping[str, Floats]) -> dict[str, Value]:
    """Return the mean of each column without its gaps, of the sum as it is rounded once."""
    import numpy as np

    n_queries = max(map(len, scores.values()))
    n = np.zeros(len(scores), dtype=np.int64)
    sums = [0] * len(scores)
    is_exact = np.ones(len(scores), dtype=bool)
    for start in range(0, n_queries, _BLOCK):
        rest = np.array([column[start : start + _BLOCK] for column in scores.values()])
        is_there = ~np.isnan(rest)
        n += is_there.sum(axis=1)
        rest[~is_there] = 0
        # Sums of whole numbers below 2**53 are exact in floating point.
        for limb in range(_LIMBS):
            rest *= 1 << _LIMB_BITS
            # Towards 0: what is left of a small negative number stays as it is.
            whole = np.trunc(rest)
            rest -= whole
            shift = _LIMB_BITS * (_LIMBS - limb - 1)
            for row, part in enumerate(whole.sum(axis=1).tolist()):
                sums[row] += int(part) << shift
        is_exact &= ~rest.any(axis=1)
    found = {}
    for row, (name, column) in enumerate(scores.items()):
        if not n[row] or not is_exact[row]:
            # No number, or one too small for the limbs.
            found[name] = _mean(column.tolist())
        else:
            total = sums[row] / (1 << _LIMB_BITS * _LIMBS)
            found[name] = Value.of(total / int(n[row]), int(n[row]))
    return found
