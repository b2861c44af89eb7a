"""Relevance feedback in a database: read row by row, grouped into queries with judgements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.database import (
    ROWS_AT_A_TIME,
    parse_url,
    reading,
    require_columns,
    shown,
    table_of,
)
from retrieval_eval.gold.feedback_tables import DOCUMENTED, SCORES, FeedbackTables
from retrieval_eval.gold.ids import normalize_query, query_id
from retrieval_eval.gold.model import GoldQuery
from retrieval_eval.gold.rows import DEFAULT_CORPUS
from retrieval_eval.records import Progress

if TYPE_CHECKING:
    from sqlalchemy import Executable


NO_LOG, NO_QUERY, NO_CORPUS, NO_DOCUMENT = "no_log", "no_query", "no_corpus", "no_document"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the database knows: one query per normalised text and corpus.

    ``queries`` are ordered by (corpus, id). ``n_rows`` feedback rows had one of the wanted
    scores; ``skipped`` counts those that judge nothing, by reason: ``no_log`` (the search is
    gone), ``no_query``, ``no_corpus``, ``no_document`` (null or empty).
    """

    queries: tuple[GoldQuery, ...]
    n_rows: int
    skipped: Mapping[str, int]


class _Row(NamedTuple):
    log: Any
    query: Any
    corpus: Any
    area: Any
    document: Any
    score: Any


@dataclass(slots=True)
class _Group:
    """All searches of one normalised query in one corpus."""

    surfaces: Counter[str] = field(default_factory=Counter)
    areas: Counter[str] = field(default_factory=Counter)
    relevant: dict[str, int] = field(default_factory=dict)


def read_feedback(
    engine_url: str,
    tables: FeedbackTables = DOCUMENTED,
    scores: Mapping[int, int] = SCORES,
    *,
    progress: Progress | None = None,
) -> Feedback:
    """Read the feedback of the wanted scores and group it into gold queries.

    Searches of the same corpus whose queries differ only in case, white space or Unicode form
    are one query. It is published in its most frequent form, surrounding white space dropped,
    and with its most frequent area; a tie goes to the smallest text by code point. A document
    with several scores keeps the highest grade. The same rows give the same queries, whatever
    the database, its collation and the order of its rows.

    Parameters
    ----------
    engine_url : str
        A SQLAlchemy URL; the database is only read.
    tables : FeedbackTables
        The names of tables and columns.
    scores : Mapping[int, int]
        The scores that count, and the grade each is worth.
    progress : callable, optional
        Called with the rows read, the rows there are, and what they are.

    Raises
    ------
    BadInputError
        The database is down, or a table or column is missing, or ids are neither text, whole
        numbers nor UUIDs; one sentence, never with the password.
    """
    with reading(engine_url) as connection:
        url = parse_url(engine_url)
        logs = {name: getattr(tables, name) for name in ("id", "query", "corpus", "practice_area")}
        judged = (tables.search_log_id, tables.case_law_id, tables.relevance_score)
        require_columns(connection, url, tables.search_logs, filter(None, logs.values()))
        require_columns(connection, url, tables.search_relevance_feedback, judged)
        statement, counting = _statements(tables, tuple(scores))
        total = connection.execute(counting).scalar_one()
        stream = connection.execution_options(yield_per=ROWS_AT_A_TIME).execute(statement)
        rows = _counted(map(_Row._make, stream), total, progress)
        try:
            return _grouped(rows, scores)
        except _IdError as error:
            raise BadInputError(f"{shown(url)}: {error}") from None


def _statements(tables: FeedbackTables, scores: tuple[int, ...]) -> tuple[Executable, Executable]:
    """Return the joined feedback, all rows of a search together, and the count of its rows."""
    from sqlalchemy import func, literal, null, select

    logs = table_of(
        tables.search_logs,
        filter(None, (tables.id, tables.query, tables.corpus, tables.practice_area)),
    )
    feedback = table_of(
        tables.search_relevance_feedback,
        (tables.search_log_id, tables.case_law_id, tables.relevance_score),
    )
    score = feedback.c[tables.relevance_score]
    columns = (
        logs.c[tables.id],
        logs.c[tables.query],
        logs.c[tables.corpus] if tables.corpus else literal(DEFAULT_CORPUS),
        logs.c[tables.practice_area] if tables.practice_area else null(),
        feedback.c[tables.case_law_id],
        score,
    )
    # Outer, so that feedback on a deleted search is counted and does not vanish unseen.
    joined = feedback.outerjoin(logs, logs.c[tables.id] == feedback.c[tables.search_log_id])
    labelled = [column.label(name) for name, column in zip(_Row._fields, columns, strict=True)]
    return (
        select(*labelled).select_from(joined).where(score.in_(scores)).order_by(logs.c[tables.id]),
        select(func.count()).select_from(feedback).where(score.in_(scores)),
    )


def _counted(rows: Iterable[_Row], total: int, progress: Progress | None) -> Iterator[_Row]:
    done = 0
    for done, row in enumerate(rows, start=1):
        yield row
        if progress is not None and done % ROWS_AT_A_TIME == 0:
            progress(done, max(done, total), "feedback")
    if progress is not None:
        progress(done, done, "feedback")


def _grouped(rows: Iterable[_Row], scores: Mapping[int, int]) -> Feedback:
    groups: defaultdict[tuple[str, str], _Group] = defaultdict(_Group)
    skipped: Counter[str] = Counter()
    n_rows = 0
    for _, found in groupby(rows, key=itemgetter(0)):
        # A search counts once for its wording, however many documents were relevant to it.
        searches = set()
        for row in found:
            n_rows += 1
            read = _understood(row)
            if isinstance(read, str):
                skipped[read] += 1
                continue
            corpus, query, area, document = read
            key = (corpus, normalize_query(query))
            searches.add((key, query, area))
            relevant, grade = groups[key].relevant, scores[int(row.score)]
            relevant[document] = max(grade, relevant.get(document, grade))
        for key, query, area in searches:
            groups[key].surfaces[query] += 1
            if area is not None:
                groups[key].areas[area] += 1
    queries = (_query(corpus, group) for (corpus, _), group in groups.items())
    return Feedback(
        tuple(sorted(queries, key=lambda query: (query.corpus, query.id))),
        n_rows,
        MappingProxyType(dict(sorted(skipped.items()))),
    )


def _query(corpus: str, group: _Group) -> GoldQuery:
    text = _most_frequent(group.surfaces)
    return GoldQuery(
        id=query_id(corpus, text),
        query=text,
        corpus=corpus,
        area=_most_frequent(group.areas) if group.areas else None,
        relevant=dict(sorted(group.relevant.items())),
        source="bootstrap",
        origin="replayed",
        answerable=True if any(group.relevant.values()) else None,
    )


def _most_frequent(counts: Counter[str]) -> str:
    most = max(counts.values())
    return min(text for text, count in counts.items() if count == most)


def _understood(row: _Row) -> tuple[str, str, str | None, str] | str:
    """Return (corpus, query, area, document) of a row, or the reason why it judges nothing."""
    if row.log is None:
        return NO_LOG
    query, corpus, document = _text(row.query).strip(), _text(row.corpus), _text(row.document)
    area = _text(row.area)
    if not query:
        return NO_QUERY
    if not corpus.strip():
        return NO_CORPUS
    if not document.strip():
        return NO_DOCUMENT
    return corpus, query, area if area.strip() else None, document


class _IdError(Exception):
    """A value that has no one way to be written as text."""


def _text(value: Any) -> str:
    """Return text, whole numbers and UUIDs as text, and nothing for NULL."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        raise _IdError(
            "a query, corpus, area or document id is binary; expected text, whole numbers or UUIDs"
        )
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return str(int(value))
    return str(value)
