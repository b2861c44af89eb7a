"""The result of evaluating rankings: per query, in the mean, and over all orders of ties."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.hits import Column, Hits
from retrieval_eval.ranking.measures import Measure
from retrieval_eval.values import Value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
else:  # annotations are looked up where a signature is shown, which is no reason to load numpy
    Floats = Any

Convention = Literal["trec", "trec9"]


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
    means: dict[str, Value]
    """The exactly summed mean of each measure; n is the number of queries it rests on."""
    hits: Hits
    """The judged documents behind the numbers."""

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.measures))
        return f"<RankingResult of {len(self.query_ids)} queries ({self.convention}): {names}>"

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
    def not_computable(self) -> dict[str, dict[str, int]]:
        """For each measure, how many queries have no value, by reason code."""
        return {
            str(measure): dict(Counter(filter(None, self._reasons(measure))))
            for measure in self.measures
        }

    def _reasons(self, measure: Measure) -> list[str | None]:
        """Return for each query why it has no value of a measure; None where it has one."""
        empty = "nothing_retrieved" if measure.name == "Judged" else "no_ground_truth"
        pairs = zip(self.scores[str(measure)].tolist(), self.hits.n_judged, strict=True)
        return [
            None if score == score else empty if n_judged else "no_ground_truth"
            for score, n_judged in pairs
        ]

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
        return Value.missing(self._reasons(parsed)[row] or "")

    @property
    def tie_bands(self) -> pd.DataFrame:
        """The smallest and largest value over all orders of tied documents.

        A frame with the columns ``query_id``, ``measure``, ``low``, ``value`` and ``high``, and
        one row for each computable measure of each query whose tied documents include a judged
        one; without ties it is empty. Documents of a tie that stand on both sides of a cut-off
        are what widens a band.
        """
        import pandas as pd

        return pd.DataFrame(self.tied()).astype({"query_id": "str", "measure": "str"})

    def tied(self) -> dict[str, Any]:
        """Return the columns of `tie_bands` as arrays, without pandas."""
        import numpy as np

        tied = np.array(self.hits.is_tied, dtype=bool)
        low, high = (Columns(self._extreme(is_best=is_best)[0]) for is_best in (False, True))
        rows = [np.flatnonzero(tied & ~np.isnan(scores)) for scores in self.scores.values()]
        found = {
            name: np.concatenate(
                [columns[key][of] for key, of in zip(self.scores, rows, strict=True)]
            )
            for name, columns in (("low", low), ("value", self.scores), ("high", high))
        }
        names = np.array(self.query_ids, dtype=object)[np.concatenate(rows)]
        measures = np.repeat(np.array(list(self.scores), dtype=object), list(map(len, rows)))
        return {"query_id": names, "measure": measures, **found}

    @property
    def mean_bands(self) -> dict[str, tuple[Value, Value]]:
        """The smallest and largest mean of each measure over all orders of tied documents."""
        lowest, highest = (self._extreme(is_best=is_best)[1] for is_best in (False, True))
        return {name: (lowest[name], highest[name]) for name in self.scores}

    def _extreme(self, *, is_best: bool) -> tuple[dict[str, Column], dict[str, Value]]:
        undefined = math.nan if self.convention == "trec" else 0.0
        return self.hits.extreme(is_best=is_best).measured(self.measures, undefined)


class Columns(Mapping[str, "Floats"]):
    """Numbers of all queries as they were computed; arrays where they are read."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> Floats:
        import numpy as np

        return np.frombuffer(self._columns[name], dtype=np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
