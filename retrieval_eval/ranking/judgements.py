"""Judgements of many queries, as a mapping for lookups and as columns for arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.ids import Ids, Ints
from retrieval_eval.ranking.table import Table, packed
from retrieval_eval.values import MAX_GRADE

Qrels = Mapping[str, Mapping[str, int]]

_LEAST_PACKED: Final = -32
"""A byte of MessagePack is a whole number from this one on; lower ones are something else."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """Grades of all queries after each other: query ``i`` owns ``sizes[i]`` of them.

    One of ``mapping`` and ``table`` is what they came from.
    """

    query_ids: list[str]
    sizes: Ints
    grades: Ints
    mapping: Qrels | None = None
    table: Table | None = None

    @classmethod
    def from_mapping(cls, qrels: Qrels) -> Judgements:
        """Return the judgements of ``{query: {document: grade}}``.

        Raises
        ------
        BadInputError
            When a query has no mapping, or a grade is not a whole number.
        """
        # One look at the distinct types replaces a test of every query.
        if set(map(type, qrels.values())) - {dict}:
            for query, judged in qrels.items():
                if not isinstance(judged, Mapping):
                    raise BadInputError(f"qrels: query {query!r}: expected {{document: grade}}")
        sizes = np.fromiter(map(len, qrels.values()), dtype=np.int64, count=len(qrels))
        grades = _flat(qrels)
        if grades is None:
            qrels = {
                query: {
                    doc: _grade(grade, f"qrels: query {query!r}, document {doc!r}")
                    for doc, grade in judged.items()
                }
                for query, judged in qrels.items()
            }
            grades = _flat(qrels)
            assert grades is not None
        return cls(list(qrels), sizes, grades, mapping=qrels)

    @classmethod
    def from_table(cls, table: Table) -> Judgements:
        """Return the judgements of a table; raises `BadInputError` on a broken grade."""
        values = table.numbers
        bad = np.flatnonzero((values != np.rint(values)) | (np.abs(values) > MAX_GRADE))
        if len(bad):
            row = int(bad[0])
            place = f"{table.source.name}: {table.source.unit} {table.where(row)}"
            _grade(float(values[row]), place)
        return cls(table.query_ids, np.diff(table.starts), values.astype(np.int64), table=table)

    def by_query(self) -> Qrels:
        """Return ``{query: {document: grade}}``."""
        if self.mapping is not None:
            return self.mapping
        try:
            docs = self.columns().texts()
        except UnicodeDecodeError as error:
            raise BadInputError(f"qrels: a document id is not UTF-8 text: {error}") from error
        grades = self.grades.tolist()
        ends = np.cumsum(self.sizes).tolist()
        return {
            query: dict(zip(docs[start:end], grades[start:end], strict=True))
            for query, start, end in zip(self.query_ids, [0, *ends], ends, strict=False)
        }

    def columns(self) -> Ids:
        """Return the documents of all queries after each other."""
        if self.table is not None:
            return self.table.docs
        assert self.mapping is not None
        try:
            return Ids.from_strings(list(chain.from_iterable(self.mapping.values())))
        except TypeError as error:
            raise BadInputError(f"qrels: a document id is not text: {error}") from error

    def query(self) -> Ints:
        """Return the position of the query of each grade."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def _flat(qrels: Qrels) -> Ints | None:
    """Return the grades of all queries after each other; None where one is no whole number."""
    flat: list[Any] = []
    for judged in qrels.values():
        flat += judged.values()
    small = packed(flat, np.dtype(np.int8))
    if small is not None and (small >= _LEAST_PACKED).all():
        return small.astype(np.int64)
    try:
        grades = np.array(flat)
    except (ValueError, OverflowError):
        return None
    if grades.dtype != np.int64 or grades.ndim != 1 or np.abs(grades).max(initial=0) > MAX_GRADE:
        return None
    return grades


def _grade(grade: Any, where: str) -> int:
    is_number = isinstance(grade, int | float | np.integer | np.floating)
    if is_number and -MAX_GRADE <= grade <= MAX_GRADE and grade == int(grade):
        return int(grade)
    raise BadInputError(
        f"{where}: {str(grade)[:40]!r} is not a grade (a whole number up to {MAX_GRADE})"
    )
