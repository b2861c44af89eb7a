"""PostgreSQL as a retriever: its full-text search, or vectors of the extension pgvector."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from math import ceil
from types import MappingProxyType
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
from retrieval_eval.search.query_vectors import OPTIONS as VECTOR_OPTIONS
from retrieval_eval.search.query_vectors import QueryVectors, require_query_vectors
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

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(filter(None, (self.id, self.text, self.title, self.corpus)))


DISTANCES: Final[Mapping[str, str]] = MappingProxyType({"cosine": "<=>", "l2": "<->", "ip": "<#>"})
"""Operators of pgvector by name. Each gives less for a nearer vector; <#> is minus the product."""


@dataclass(frozen=True, slots=True)
class PgvectorSettings:
    """How vectors are searched; each field is an option of the same name.

    Attributes
    ----------
    table : str
        Table or view of the documents, ``name`` or ``schema.name``.
    id, corpus, vector : str
        Its columns. Without a corpus column (empty) every corpus is the whole table.
    distance : str
        ``cosine`` (``<=>``), ``l2`` (``<->``) or ``ip``, the inner product (``<#>``).
    exact : str
        ``yes``: every vector is compared. ``no``: the server may use an index, which may miss some.
    ef_search : int
        How many candidates an HNSW index keeps; 0 leaves the server's value.
    timeout : float
        Seconds after which the server gives a query up; 0 waits for ever.
    """

    table: str = "documents"
    id: str = "id"
    vector: str = "embedding"
    corpus: str = "corpus"
    distance: str = "cosine"
    exact: str = "no"
    ef_search: int = 0
    timeout: float = 30.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(filter(None, (self.id, self.vector, self.corpus)))


def pgvector_settings(options: Mapping[str, str]) -> PgvectorSettings:
    """Return the settings of textual options; see `postgres_settings`.

    Examples
    --------
    >>> pgvector_settings({"vector": "embedding", "distance": "l2"}).distance
    'l2'
    """
    given = Options("pgvector", options)
    given.only((*(each.name for each in fields(PgvectorSettings)), *VECTOR_OPTIONS))
    _refuse_empty(given, ("corpus",))
    plain = PgvectorSettings()
    names = ("table", "id", "vector", "corpus")
    return replace(
        plain,
        **{name: options[name] for name in names if name in options},
        distance=given.choice("distance", plain.distance, tuple(DISTANCES)),
        exact=given.choice("exact", plain.exact, ("yes", "no")),
        ef_search=given.whole("ef_search", plain.ef_search, 0, 1000),
        timeout=given.number("timeout", plain.timeout, 0, MOST_SECONDS),
    )


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
    given.only([each.name for each in fields(PostgresSettings)])
    _refuse_empty(given, ("title", "corpus"))
    plain = PostgresSettings()
    return replace(
        plain,
        **{name: options[name] for name in NAMES if name in options},
        query=given.choice("query", plain.query, QUERY_FUNCTIONS),
        normalization=given.whole("normalization", plain.normalization, 0, MOST_NORMALIZATION),
        timeout=given.number("timeout", plain.timeout, 0, MOST_SECONDS),
    )


def _refuse_empty(options: Options, but: Collection[str]) -> None:
    for name, value in options.given.items():
        if not value and name not in but:
            raise BadInputError(f"{options.kind}: option {name} cannot be empty")


class _Table:
    """A table on a server, read in read-only transactions over a pool of connections."""

    is_thread_safe = True

    def __init__(self, url: str, settings: PostgresSettings | PgvectorSettings) -> None:
        self._url = parse_url(url)
        if self._url.get_backend_name() != "postgresql":
            raise BadInputError(f"{shown(self._url)}: this search needs a postgresql:// URL")
        self._settings = settings
        # Unbounded, because the caller decides how many threads search at once.
        self._engine = open_engine(self._url, max_overflow=-1)
        self._finalizer = weakref.finalize(self, self._engine.dispose)

    def _require_columns(self, connection: Connection) -> None:
        from sqlalchemy.exc import SAWarning

        with warnings.catch_warnings():
            # Of a type that the driver does not know, such as vector.
            warnings.simplefilter("ignore", SAWarning)
            require_columns(connection, self._url, self._settings.table, self._settings.columns)

    def _found(self, *statements: Executable) -> tuple[ScoredDoc, ...]:
        """Return the rows of the last statement, run after the others in one transaction."""
        settings = self._settings
        try:
            with self._connection() as connection:
                connection.execute(_time_limit(settings.timeout))
                for statement in statements[:-1]:
                    connection.execute(statement)
                found = connection.execute(statements[-1]).all()
        except BadInputError as error:
            raise RetrieverError(str(error)) from None
        if any(doc is None for doc, _ in found):
            raise RetrieverError(f"a document found in {settings.table!r} has no {settings.id!r}")
        return tuple(ScoredDoc(str(doc), float(score)) for doc, score in found)

    def _facts(self, name: str) -> dict[str, Any]:
        """Return server and settings, and how many documents each corpus has."""
        from sqlalchemy import text

        with self._connection() as connection:
            version = connection.execute(text("SHOW server_version")).scalar_one()
            counts = connection.execute(_counts(self._settings)).all()
        return {
            **asdict(self._settings),
            "name": name,
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


class PostgresRetriever(_Table):
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

    def __init__(self, url: str, settings: PostgresSettings) -> None:
        super().__init__(url, settings)
        self._text = settings
        with self._connection() as connection:
            self._require_columns(connection)
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
        return self._found(_statement(self._text, self._language, query, corpus, k))

    def describe(self) -> Mapping[str, Any]:
        """Return the server, the settings, and how many documents each corpus has.

        Counting reads the whole table, and is not held to the timeout.
        """
        return self._facts("PostgreSQL full text")


class PgvectorRetriever(_Table):
    """The nearest vectors of one table, by an operator of pgvector.

    The score is minus what the operator gives: minus the distance, or the inner product. Without
    an index, or with ``exact``, every vector is compared, and equal scores are ordered by document
    id, descending, also at the cut. Rows without a vector are not searched.

    Raises
    ------
    BadInputError
        The server is down, the table or a column is missing, or the column holds no vectors.
    """

    def __init__(self, url: str, settings: PgvectorSettings, queries: QueryVectors) -> None:
        from sqlalchemy import text

        super().__init__(url, settings)
        self._vector, self._queries = settings, queries
        with self._connection() as connection:
            self._require_columns(connection)
            places = {"table": _quoted(connection, settings.table), "column": settings.vector}
            kind, self._dimension = connection.execute(text(_COLUMN), places).one()
            indexes = connection.execute(text(_INDEXES), places).all()
            version = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            self._version = connection.execute(version).scalar()
        self._kind = str(kind)
        if self._kind.rpartition(".")[2] not in ("vector", "halfvec"):
            raise BadInputError(
                f"{shown(self._url)}: column {settings.vector!r} of {settings.table!r} is of type"
                f" {self._kind}; expected vector or halfvec of the extension pgvector"
            )
        self._indexes = [f"{name} ({method})" for name, method in indexes]
        self._is_exact = settings.exact == "yes" or not indexes

    def search(self, query: str, *, corpus: str, k: int) -> tuple[ScoredDoc, ...]:
        """Return the ``k`` nearest documents of ``corpus``, nearest first.

        Raises
        ------
        RetrieverError
            When the query has no vector that fits, or the server refused it, is gone or took too
            long.
        """
        from sqlalchemy import func, select

        settings = self._vector
        vector = self._queries.get(query, corpus, self._dimension)
        before = []
        if settings.exact == "yes":
            before.append(select(func.set_config("enable_indexscan", "off", True)))
        elif settings.ef_search:
            ef_search = str(settings.ef_search)
            before.append(select(func.set_config("hnsw.ef_search", ef_search, True)))
        wanted = f"[{','.join(map(repr, vector.tolist()))}]"
        nearest = _nearest(settings, self._kind, wanted, corpus, k, is_exact=self._is_exact)
        return self._found(*before, nearest)

    def describe(self) -> Mapping[str, Any]:
        """Return server and settings, and whether the search is exact or may use an index.

        ``search`` is ``exact`` or ``approximate``; ``indexes`` are those of the column.
        """
        return {
            **self._facts("pgvector"),
            "operator": DISTANCES[self._vector.distance],
            "search": "exact" if self._is_exact else "approximate",
            "indexes": self._indexes,
            "extension": f"pgvector {self._version}",
            **self._queries.facts,
        }


def open_postgres(spec: str, options: Mapping[str, str]) -> PostgresRetriever | PgvectorRetriever:
    """Return the retriever of a ``postgresql://`` URL and textual options.

    With the option ``vector``, a column, vectors are searched, else text.

    Raises
    ------
    BadInputError
        See :func:`postgres_settings`, :class:`PostgresRetriever` and :class:`PgvectorRetriever`.
    """
    if "vector" not in options:
        if alone := sorted(_VECTOR_ONLY & options.keys()):
            raise BadInputError(
                f"PostgreSQL: option {alone[0]} belongs to the search of vectors; name their column"
                " with the option vector"
            )
        return PostgresRetriever(spec, postgres_settings(options))
    settings = pgvector_settings(options)
    queries = require_query_vectors("pgvector", options)
    return PgvectorRetriever(spec, settings, queries)


_VECTOR_ONLY: Final = {"distance", "exact", "ef_search", *VECTOR_OPTIONS}

_COLUMN: Final = """
SELECT format_type(atttypid, NULL), NULLIF(atttypmod, -1)
FROM pg_attribute WHERE attrelid = to_regclass(:table) AND attname = :column
"""
_INDEXES: Final = """
SELECT c.relname, m.amname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass(:table) AND a.attname = :column AND m.amname IN ('hnsw', 'ivfflat')
ORDER BY c.relname
"""


def _quoted(connection: Connection, table: str) -> str:
    quote = connection.dialect.identifier_preparer.quote
    schema, _, plain = table.rpartition(".")
    return ".".join(quote(name) for name in (schema, plain) if name)


def _nearest(
    settings: PgvectorSettings, kind: str, vector: str, corpus: str, k: int, *, is_exact: bool
) -> Executable:
    from sqlalchemy import Float, Text, cast, collate, literal, select
    from sqlalchemy.types import UserDefinedType

    class Vector(UserDefinedType[Any]):
        cache_ok = True

        def get_col_spec(self, **_: Any) -> str:
            return kind

    documents = table_of(settings.table, settings.columns)
    column = documents.c[settings.vector]
    operator = column.op(DISTANCES[settings.distance], return_type=Float())
    distance = operator(cast(literal(vector, Text()), Vector()))
    identity = cast(documents.c[settings.id], Text)
    found = select(identity.label("doc"), distance.label("distance")).where(column.is_not(None))
    if settings.corpus:
        found = found.where(cast(documents.c[settings.corpus], Text) == corpus)
    # An index gives rows by distance alone, and another order could keep it from being used.
    ties = (collate(identity, "C").desc(),) if is_exact else ()
    near = found.order_by(distance, *ties).limit(k).subquery()
    order = (near.c.distance, collate(near.c.doc, "C").desc())
    return select(near.c.doc, -near.c.distance).order_by(*order)


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

    documents = table_of(settings.table, settings.columns)
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


def _counts(settings: PostgresSettings | PgvectorSettings) -> Executable:
    from sqlalchemy import Text, cast, func, literal_column, select

    documents = table_of(settings.table, settings.columns)
    if not settings.corpus:
        return select(literal_column("'*'"), func.count()).select_from(documents)
    corpus = documents.c[settings.corpus]
    return select(cast(corpus, Text), func.count()).group_by(corpus)


RETRIEVERS.add(
    "postgresql",
    RetrieverKind(
        "postgresql://…",
        open_postgres,
        options=tuple(
            dict.fromkeys(
                (
                    *(each.name for each in fields(PostgresSettings)),
                    *(each.name for each in fields(PgvectorSettings)),
                    *VECTOR_OPTIONS,
                )
            )
        ),
    ),
)
