"""PostgreSQL's full-text search as a retriever."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.database import (
    connected,
    open_engine,
    parse_url,
    require_columns,
    sentences,
    shown,
    table_of,
)
from retrieval_eval.search.options import Options
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import RETRIEVERS, RetrieverKind

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Executable, TableClause

QUERY_FUNCTIONS: Final = ("websearch_to_tsquery", "plainto_tsquery")
NAMES: Final = ("table", "id", "text", "title", "corpus", "language")
MOST_NORMALIZATION: Final = 63
MOST_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """How documents are found and ranked; each field is an option of the same name.

    Attributes
    ----------
    table : str
        Table or view of the documents, ``name`` or ``schema.name``.
    id, text, title, corpus : str
        Its columns. An empty ``title`` or ``corpus`` says that there is no such column; without
        a corpus column every corpus is the whole table.
    language : str
        Text search configuration (``regconfig``) of documents and queries.
    query : str
        ``websearch_to_tsquery`` (phrases, ``or``, ``-``) or ``plainto_tsquery`` (all words).
    normalization : int
        Bit mask of ``ts_rank_cd``, 0 to 63: how a document's length enters its rank.
    timeout : float
        Seconds after which the server gives a query up; 0 waits for ever.
    """

    table: str = "documents"
    id: str = "id"
    text: str = "text"
    title: str = "title"
    corpus: str = "corpus"
    language: str = "english"
    query: str = "websearch_to_tsquery"
    normalization: int = 0
    timeout: float = 30.0


def postgres_settings(options: Mapping[str, str]) -> PostgresSettings:
    """Return the settings of textual options.

    Raises
    ------
    BadInputError
        An option is unknown or its value is out of range; names it and what was expected.

    Examples
    --------
    >>> postgres_settings({"language": "simple", "normalization": "2"}).normalization
    2
    """
    given = Options("PostgreSQL", options)
    names = [each.name for each in fields(PostgresSettings)]
    given.only(names)
    for name, value in options.items():
        if not value and name not in ("title", "corpus"):
            raise BadInputError(f"PostgreSQL: option {name} cannot be empty")
    plain = PostgresSettings()
    return replace(
        plain,
        **{name: options[name] for name in NAMES if name in options},
        query=given.choice("query", plain.query, QUERY_FUNCTIONS),
        normalization=given.whole("normalization", plain.normalization, 0, MOST_NORMALIZATION),
        timeout=given.number("timeout", plain.timeout, 0, MOST_SECONDS),
    )


class PostgresRetriever:
    """Full-text search over one table, ranked by ``ts_rank_cd``.

    A document matches when its title and text together match the query. Documents of equal rank
    are ordered by id, descending by code point, as the evaluation orders ties, so that the cut
    at ``k`` takes the same documents on every server. Every statement runs in a read-only
    transaction. Threads may share a retriever: each search takes a connection from a pool.

    The rank is defined in PostgreSQL's manual, "Controlling Text Search: Ranking".

    Raises
    ------
    BadInputError
        The server is down, or the table, a column or the language is missing; one sentence,
        never with the password.
    """

    is_thread_safe = True

    def __init__(self, url: str, settings: PostgresSettings) -> None:
        self._url = parse_url(url)
        if self._url.get_backend_name() != "postgresql":
            raise BadInputError(f"{shown(self._url)}: full-text search needs a postgresql:// URL")
        self._settings = settings
        # Unbounded, because the caller decides how many threads search at once.
        self._engine = open_engine(self._url, max_overflow=-1)
        self._finalizer = weakref.finalize(self, self._engine.dispose)
        with self._connection() as connection:
            names = (settings.id, settings.text, settings.title, settings.corpus)
            require_columns(connection, self._url, settings.table, filter(None, names))
            found = connection.execute(_configuration_number(settings.language))
            self._language = int(found.scalar_one())

    def search(self, query: str, *, corpus: str, k: int) -> tuple[ScoredDoc, ...]:
        """Return at most ``k`` documents of ``corpus``, best first.

        A query of stop words only, or of words no document has, finds nothing.

        Raises
        ------
        RetrieverError
            The server refused the query, is gone, or took longer than the timeout, or a document
            that was found has no id.
        """
        statement = _statement(self._settings, self._language, query, corpus, k)
        try:
            with self._connection() as connection:
                connection.execute(_time_limit(self._settings.timeout))
                found = connection.execute(statement).all()
        except BadInputError as error:
            raise RetrieverError(str(error)) from None
        if any(doc is None for doc, _ in found):
            settings = self._settings
            raise RetrieverError(f"a document found in {settings.table!r} has no {settings.id!r}")
        return tuple(ScoredDoc(str(doc), float(score)) for doc, score in found)

    def describe(self) -> Mapping[str, Any]:
        """Return the server, the settings, and how many documents each corpus has.

        Counting reads the whole table, and is not held to the timeout.
        """
        from sqlalchemy import text

        with self._connection() as connection:
            version = connection.execute(text("SHOW server_version")).scalar_one()
            counts = connection.execute(_counts(self._settings)).all()
        return {
            **asdict(self._settings),
            "name": "PostgreSQL full text",
            "reranker": None,
            "database": shown(self._url),
            "server_version": version,
            "corpora": [
                {"corpus": corpus, "n_documents": count, "fingerprint": None}
                for corpus, count in sorted(tuple(row) for row in counts if row[0] is not None)
            ],
        }

    def close(self) -> None:
        """Close all connections."""
        self._finalizer()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with sentences(self._url), connected(self._engine, self._url) as connection:
            yield connection


def open_postgres(spec: str, options: Mapping[str, str]) -> PostgresRetriever:
    """Return the retriever of a ``postgresql://`` URL and textual options.

    Raises
    ------
    BadInputError
        See :func:`postgres_settings` and :class:`PostgresRetriever`.
    """
    return PostgresRetriever(spec, postgres_settings(options))


def _configuration_number(language: str) -> Executable:
    """Return the question for the number of a text search configuration, which must exist."""
    from sqlalchemy import BigInteger, cast, literal, select
    from sqlalchemy.dialects.postgresql import REGCONFIG

    return select(cast(cast(literal(language), REGCONFIG), BigInteger))


def _time_limit(seconds: float) -> Executable:
    from sqlalchemy import func, select

    # For this transaction alone, and unlike SET LOCAL with a bound value.
    return select(func.set_config("statement_timeout", f"{ceil(seconds * 1000)}ms", True))


def _statement(
    settings: PostgresSettings, language: int, query: str, corpus: str, k: int
) -> Executable:
    from sqlalchemy import BigInteger, Text, cast, collate, func, literal, select
    from sqlalchemy.dialects.postgresql import REGCONFIG

    documents = _documents(settings)
    # By number, because a name is looked up anew in each row and no index would match it.
    configuration = cast(literal(language, BigInteger), REGCONFIG)
    parsed = getattr(func, settings.query)(configuration, query).label("query")
    wanted = select(parsed).cte("wanted")
    vector = func.to_tsvector(configuration, _searched_text(documents, settings))
    score = func.ts_rank_cd(vector, wanted.c.query, settings.normalization).label("score")
    identity = cast(documents.c[settings.id], Text)
    found = (
        select(identity.label("doc"), score)
        .select_from(documents.join(wanted, vector.bool_op("@@")(wanted.c.query)))
        .order_by(score.desc(), collate(identity, "C").desc())
        .limit(k)
    )
    if not settings.corpus:
        return found
    return found.where(cast(documents.c[settings.corpus], Text) == corpus)


def _searched_text(documents: TableClause, settings: PostgresSettings) -> ColumnElement[Any]:
    from sqlalchemy import func, literal_column

    # Written out, not bound, so that an index on this very expression can serve the search.
    empty: ColumnElement[str] = literal_column("''")
    space: ColumnElement[str] = literal_column("' '")
    text = func.coalesce(documents.c[settings.text], empty)
    if not settings.title:
        return text
    return func.coalesce(documents.c[settings.title], empty).op("||")(space).op("||")(text)


def _counts(settings: PostgresSettings) -> Executable:
    from sqlalchemy import Text, cast, func, literal_column, select

    documents = _documents(settings)
    if not settings.corpus:
        return select(literal_column("'*'"), func.count()).select_from(documents)
    corpus = documents.c[settings.corpus]
    return select(cast(corpus, Text), func.count()).group_by(corpus)


def _documents(settings: PostgresSettings) -> TableClause:
    names = (settings.id, settings.text, settings.title, settings.corpus)
    return table_of(settings.table, filter(None, names))


RETRIEVERS.add(
    "postgresql",
    RetrieverKind(
        "postgresql://…",
        open_postgres,
        options=tuple(each.name for each in fields(PostgresSettings)),
    ),
)
