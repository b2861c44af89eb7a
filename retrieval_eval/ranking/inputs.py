"""What can be evaluated, brought into dictionaries: mappings, data frames and rows of files."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import hits
from retrieval_eval.values import MAX_GRADE, as_number

if TYPE_CHECKING:
    import pandas as pd


Row = tuple[int, str, str, float]
"""The place of a row in its source, query, document and number."""


class Rows(ABC):
    """Rows of a query, a document and a number each; ``unit`` is what messages call one."""

    name: str
    unit: str
    is_grade: bool

    @abstractmethod
    def packed(self) -> tuple[Any, ...]:
        """Return the rows as the kernel reads them."""

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """Yield the rows; raises `BadInputError` at one that is none."""

    def nested(self) -> dict[str, dict[str, Any]]:
        """Return ``{query: {document: number}}``, grades as whole numbers.

        Raises
        ------
        BadInputError
            When a row is broken, a grade or score is none, or a query has a document twice.
        """
        data: dict[str, dict[str, Any]] | None = None
        if hits.kernel is not None:
            data = hits.kernel.nested(self.packed(), self.is_grade)
        if data is not None:
            return data
        data = {}
        for place, query, doc, number in self.rows():
            own = data.setdefault(query, {})
            if doc in own:
                self._refuse(query, doc, place)
            own[doc] = grade_of(number, self.where(place)) if self.is_grade else number
        return data

    def where(self, place: int) -> str:
        """Return how a message names a row."""
        return f"{self.name}: {self.unit} {place}"

    def _refuse(self, query: str, doc: str, place: int) -> None:
        first = next(one for one, *ids, _ in self.rows() if ids == [query, doc])
        raise BadInputError(
            f"{self.name}: document {doc[:80]!r} occurs twice for query {query[:80]!r}"
            f" ({self.unit}s {first} and {place}); keep one of them"
        )


def grade_of(grade: Any, where: str) -> int:
    """Return a grade as a whole number; raises `BadInputError` where it is none."""
    number = float(grade) if isinstance(grade, bool) else as_number(grade)
    if number is not None and -MAX_GRADE <= number <= MAX_GRADE and number == int(number):
        return int(number)
    raise BadInputError(
        f"{where}: {_shown(grade)} is not a grade (a whole number up to {MAX_GRADE})"
    )


def plain_grades(query: Any, judged: Any) -> dict[str, int]:
    """Return judgements as they are compared; raises `BadInputError` where they are none."""
    where = f"qrels: query {query!r}"
    if not isinstance(judged, Mapping):
        raise BadInputError(f"{where}: expected {{document: grade}}")
    return {
        _text(doc, where): grade_of(grade, f"{where}, document {doc!r}")
        for doc, grade in judged.items()
    }


def plain_scores(query: Any, run: Any) -> dict[str, float]:
    """Return a ranking as it is compared; raises `BadInputError` where it is none."""
    where = f"rankings: query {query!r}"
    if not isinstance(run, Mapping):
        raise BadInputError(f"{where}: expected {{document: score}}")
    scores = {}
    for doc, score in run.items():
        number = as_number(score)
        name = _text(doc, where)
        # NaN is never within bounds.
        if number is None or not abs(number) <= sys.float_info.max:
            raise BadInputError(f"{where}, document {doc!r}: {_shown(score)} is no finite number")
        scores[name] = number
    return scores


def _text(doc: Any, where: str) -> str:
    if not isinstance(doc, str):
        raise BadInputError(f"{where}: a document id is not text: {_shown(doc)}")
    return doc if type(doc) is str else str.__str__(doc)


def _shown(value: Any) -> str:
    try:
        return repr(str(value)[:40])
    except ValueError:
        return "a number of thousands of digits"


class Frame(Rows):
    """The rows of a frame with ``query_id``, ``doc_id`` and a column of numbers.

    Raises
    ------
    BadInputError
        When a column is missing, there twice or holds something else, or a number is NaN or
        infinite; rows are named by their position.
    """

    unit = "row"

    def __init__(self, frame: pd.DataFrame, column: str, name: str) -> None:
        self.name = name
        self.is_grade = column == "grade"
        for wanted in ("query_id", "doc_id", column):
            columns = list(frame.columns)
            if (n := columns.count(wanted)) != 1:
                found, many = ", ".join(map(str, columns)), f"{n} columns" if n else "no column"
                raise BadInputError(f"{name}: {many} {wanted!r} (found {found})")
        self.numbers = self._numbers(frame[column])
        self.ids = [_Ids(frame[key], f"{name}: {key}") for key in ("query_id", "doc_id")]

    def packed(self) -> tuple[Any, ...]:
        """Return the columns as bytes."""
        queries, docs = (ids.packed() for ids in self.ids)
        return (*queries, *docs, self.numbers)

    def rows(self) -> Iterator[Row]:
        """Yield the rows with their positions."""
        queries, docs = (ids.texts() for ids in self.ids)
        numbers = self.numbers.tolist()
        return zip(range(len(numbers)), queries, docs, numbers, strict=True)

    def _numbers(self, given: pd.Series[Any]) -> Any:
        import numpy as np

        what = f"{self.name}: column {given.name!r} holds no numbers"
        # Text would be read as the number it looks like, and a boolean as 0 or 1.
        if given.dtype.kind not in "iuf":
            for row, value in enumerate(given.tolist()):
                if as_number(value) is None and value is not None:
                    raise BadInputError(f"{what}: row {row} has {_shown(value)}")
        try:
            numbers = given.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise BadInputError(f"{what}: {error}") from error
        bad = np.flatnonzero(~np.isfinite(numbers))
        if self.is_grade:
            is_whole = (numbers == np.rint(numbers)) & (np.abs(numbers) <= MAX_GRADE)
            bad = np.flatnonzero(~is_whole)
        if len(bad):
            row, value = int(bad[0]), float(numbers[bad[0]])
            if value != value:
                raise BadInputError(f"{self.where(row)}: no number")
            if self.is_grade:
                grade_of(value, self.where(row))
            raise BadInputError(f"{self.where(row)}: a score of {value}; expected a finite number")
        return np.ascontiguousarray(numbers)


_ARROW_OFFSETS: Final = {"string": "int32", "large_string": "int64"}


class _Ids:
    """A column of ids, in Arrow's layout if pandas has it so: the bytes are taken as they lie."""

    def __init__(self, series: pd.Series[Any], where: str) -> None:
        if series.isna().any():
            raise BadInputError(f"{where}: an id is missing")
        # Whole numbers are a common way to write ids; any other number would be a guess.
        if series.dtype.kind in "iu" or series.dtype == "category":
            series = series.astype("str")
        self.series = series
        self.arrow = _arrow(series)
        if self.arrow is None:
            for text in series.tolist():
                if not isinstance(text, str):
                    raise BadInputError(f"{where}: an id is not text: {_shown(text)}")

    def texts(self) -> Sequence[str]:
        """Return the ids."""
        return [text if type(text) is str else str.__str__(text) for text in self.series.tolist()]

    def packed(self) -> tuple[Any, Any]:
        """Return all ids after each other as bytes, and where each begins (and the last ends)."""
        import numpy as np

        if self.arrow is not None:
            column = self.arrow
            _, offsets, data = column.buffers()
            numbers = np.frombuffer(offsets, dtype=_ARROW_OFFSETS[str(column.type)])
            numbers = numbers[column.offset :][: len(column) + 1]
            return data or b"", np.ascontiguousarray(numbers, dtype=np.int64)
        texts = self.series.tolist()
        # A lone surrogate has no UTF-8 form, yet JSON can hold one.
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(texts))
        return b"".join(encoded), np.append(0, np.cumsum(lengths))


def _arrow(series: pd.Series[Any]) -> Any:
    convert = getattr(series.array, "__arrow_array__", None)
    if convert is None or not len(series):
        return None
    try:
        column = convert()
    except ImportError:
        return None
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    return column if str(column.type) in _ARROW_OFFSETS else None
