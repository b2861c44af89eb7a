"""Gold queries from relevance feedback in a database; rows reviewed by people stay as they are."""

from __future__ import annotations

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import is_there, read_bytes, write_bytes
from retrieval_eval.io.user_files import followed
from retrieval_eval.model import Record
from retrieval_eval.model.gold import DEFAULT_CORPUS, STYLES, FieldMap, GoldQuery
from retrieval_eval.records import Progress
from retrieval_eval.search.gold import (
    SETTINGS_FILE,
    changing,
    field_map,
    gold_toml,
    parse_gold,
    query_line,
    refuse,
    says_same,
    style_of,
)
from retrieval_eval.search.gold.chunks import digests_of
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.database import (
    ROWS_AT_A_TIME,
    parse_url,
    reading,
    require_columns,
    shown,
    table_of,
)
from retrieval_eval.search.gold.identity import normalize_query, query_id
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from sqlalchemy import Executable


TABLES: Final = ("search_logs", "search_relevance_feedback")
OPTIONAL: Final = ("corpus", "practice_area")

SCORES: Final[Mapping[int, int]] = MappingProxyType({3: 1})
"""Feedback of score 3 (a finalised decision cites the document) is a judgement of grade 1."""

_SCORE: Final = re.compile(r"-?[0-9]{1,18}")


class FeedbackTables(Record, frozen=True):
    """The names of the two tables and their columns; each field is the documented name.

    ``search_logs`` has ``id``, ``query``, ``corpus`` and ``practice_area``;
    ``search_relevance_feedback`` has ``search_log_id``, ``case_law_id`` and ``relevance_score``.
    An empty ``practice_area`` or ``corpus`` means that there is no such column: areas are then
    unknown, and the corpus is ``default``. A table may be named ``schema.table``.

    >>> FeedbackTables().renamed(columns={"query": "query_text"}).query
    'query_text'
    """

    search_logs: str = "search_logs"
    search_relevance_feedback: str = "search_relevance_feedback"
    id: str = "id"
    query: str = "query"
    corpus: str = "corpus"
    practice_area: str = "practice_area"
    search_log_id: str = "search_log_id"
    case_law_id: str = "case_law_id"
    relevance_score: str = "relevance_score"

    def renamed(
        self, *, tables: Mapping[str, str] = {}, columns: Mapping[str, str] = {}
    ) -> FeedbackTables:
        """Return the names with some replaced; raises :class:`BadInputError` for unknown ones."""
        for given, known, what in ((tables, TABLES, "table"), (columns, COLUMNS, "column")):
            for name, own in given.items():
                if name not in known:
                    raise BadInputError(
                        f"{name!r} is no {what} of the feedback; expected one of {', '.join(known)}"
                    )
                if not own and name not in OPTIONAL:
                    raise BadInputError(f"the {what} {name!r} cannot do without a name")
        return replace(self, **tables, **columns)


COLUMNS: Final = tuple(name for name in FeedbackTables.__struct_fields__ if name not in TABLES)

DOCUMENTED: Final = FeedbackTables()


@dataclass(frozen=True, slots=True)
class FeedbackSettings:
    """The settings of the feedback in ``gold.toml``: names, and the grade of each score."""

    tables: FeedbackTables
    scores: Mapping[int, int]
    found_by: str = ""


def feedback_settings(gold: Path) -> FeedbackSettings:
    """Read ``[bootstrap.tables]``, ``[bootstrap.columns]`` and ``[bootstrap.scores]``.

    The file is the ``gold.toml`` beside the gold set; without one, or without these sections, the
    documented names apply.

    Raises
    ------
    BadInputError
        The file is not TOML, or a section has an invalid entry; names file and section.
    """
    path = gold.parent / SETTINGS_FILE
    section = _section(gold_toml(gold), "bootstrap", path)
    unknown = sorted(set(section) - {"tables", "columns", "scores", "found_by"})
    if unknown:
        raise BadInputError(
            f"{path}: [bootstrap] has no {unknown[0]!r}; expected tables, columns, scores or"
            " found_by"
        )
    found_by = section.get("found_by", "")
    if not isinstance(found_by, str):
        raise BadInputError(f"{path}: [bootstrap] found_by: expected a name in quotation marks")
    try:
        return FeedbackSettings(
            DOCUMENTED.renamed(
                tables=_names(section, "tables"), columns=_names(section, "columns")
            ),
            _scores(section) or SCORES,
            found_by.strip(),
        )
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from None


def _section(document: Mapping[str, Any], name: str, where: object) -> Mapping[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise BadInputError(f"{where}: [{name}] is a section, not a single value")
    return value


def _names(section: Mapping[str, Any], name: str) -> dict[str, str]:
    found = _section(section, name, "[bootstrap]")
    for key, value in found.items():
        if not isinstance(value, str):
            raise BadInputError(f"[bootstrap.{name}] {key}: expected a name in quotation marks")
    return dict(found)


def _scores(section: Mapping[str, Any]) -> dict[int, int]:
    scores = {}
    for key, grade in _section(section, "scores", "[bootstrap]").items():
        if not _SCORE.fullmatch(key) or type(grade) is not int or grade < 0:
            raise BadInputError(
                f"[bootstrap.scores] {key}: expected a whole score and the grade it is worth, "
                "0 or more, such as 3 = 1"
            )
        scores[int(key)] = grade
    return scores


NO_LOG, NO_QUERY, NO_CORPUS, NO_DOCUMENT = "no_log", "no_query", "no_corpus", "no_document"


@dataclass(frozen=True, slots=True)
class Feedback:
    """The feedback in a database: one query per normalised text and corpus.

    ``queries`` are ordered by (corpus, id). ``n_rows`` feedback rows had one of the requested
    scores; ``skipped`` counts unusable ones by reason: ``no_log`` (the search is gone),
    ``no_query``, ``no_corpus``, ``no_document`` (null or empty).
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
    """Read the feedback of the requested scores and group it into gold queries.

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
    # An outer join, so that feedback on a deleted search is counted as skipped.
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
        dict(sorted(skipped.items())),
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
    """Return (corpus, query, area, document) of a row, or the reason why it is unusable."""
    if row.log is None:
        return NO_LOG
    query, corpus, area, document = map(_value_text, row[1:5])
    query = query.strip()
    if not query:
        return NO_QUERY
    if not corpus.strip():
        return NO_CORPUS
    if not document.strip():
        return NO_DOCUMENT
    return corpus, query, area if area.strip() else None, document


class _IdError(Exception):
    """A value without a unique form as text."""


def _value_text(value: Any) -> str:
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


MACHINE: Final = "bootstrap"


class RowChange(Record, frozen=True):
    """A generated row that is added (no ``before``), dropped (no ``after``) or changed."""

    id: str
    before: str | None
    after: str | None


class BootstrapResult(Record, frozen=True):
    """The result of a bootstrap, or with ``dry_run`` what it would be.

    ``n_feedback`` feedback rows had a requested score; ``skipped`` counts unusable ones by reason.
    They make ``n_found`` queries, of which ``n_covered`` have a reviewed row already. Of the
    generated rows ``n_added`` were not there before, ``n_changed`` differ now, and ``n_dropped``
    have queries that the database no longer has; ``changes`` are all three, ordered as the rows
    are. ``n_chair`` reviewed rows were kept unchanged. ``is_changed`` is also true when only the
    order of rows differs.
    """

    gold: str
    database: str
    n_feedback: int
    skipped: Mapping[str, int]
    n_found: int
    n_covered: int
    n_added: int
    n_changed: int
    n_unchanged: int
    n_dropped: int
    n_chair: int
    is_changed: bool
    is_written: bool
    changes: tuple[RowChange, ...]


@dataclass(frozen=True, slots=True)
class _Existing:
    """A gold set before the bootstrap: rows kept byte for byte, and generated rows by query."""

    fields: FieldMap
    data: bytes
    head: tuple[bytes, ...]
    chair: tuple[GoldQuery, ...]
    machine: Mapping[tuple[str, str], tuple[GoldQuery, str]]

    def queries(self) -> Iterator[GoldQuery]:
        """Yield the reviewed rows, then the generated ones."""
        yield from self.chair
        yield from (query for query, _ in self.machine.values())


def bootstrap(
    engine_url: str,
    path: Path,
    *,
    tables: FeedbackTables | None = None,
    scores: Mapping[int, int] | None = None,
    names: str | None = None,
    found_by: str | None = None,
    corpus: Corpus | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> BootstrapResult:
    """Regenerate the ``bootstrap`` rows of a gold set from the relevance feedback of a database.

    The file then holds its header line, the reviewed rows (``chair``) with their bytes and in their
    order (a blank line before one stays), and the generated rows by (corpus, id). A query that a
    reviewed row has, by id or by normalised text and corpus, gets no generated row. A second run
    with the same database changes no byte.

    Parameters
    ----------
    engine_url : str
        A SQLAlchemy URL; the database is only read.
    path : Path
        The gold set; it need not exist.
    tables, scores : optional
        Names, and the grade of each requested score. Default: ``gold.toml`` beside the gold set,
        else the documented names, and score 3 as grade 1.
    names : str, optional
        One of :data:`~retrieval_eval.model.gold.STYLES`: how rows are written where the file has
        none that shows it. Default: ``names`` in the header line or ``gold.toml``, else the
        standard names.
    found_by : str, optional
        The name of the retriever whose results the searches of the database showed; it is recorded
        with every document. Default: ``found_by`` of ``[bootstrap]`` in ``gold.toml``, else
        nothing is recorded.
    corpus : Corpus, optional
        The documents of the searches. A row that is written gets the digests of the texts that its
        labels were given to; rows that stay as they are keep theirs, or have none.
    dry_run : bool
        Write nothing.
    progress : callable, optional
        Called with feedback rows read, rows there are, and what they are.

    Raises
    ------
    BadInputError
        The database is down or lacks a table or column, or the gold set has faults (all named
        by line). Nothing is written then.
    NothingToEvaluateError
        There would be no row: neither usable feedback nor a reviewed row. Nothing is written.
    """
    target = followed(path)
    # Beside the name that was given, where every other command looks for `gold.toml` too.
    settings = feedback_settings(path)
    worth = settings.scores if scores is None else scores
    existing = _read_existing(path, target)
    _check_scale(worth, existing.fields, path)
    feedback = read_feedback(engine_url, tables or settings.tables, worth, progress=progress)
    with nullcontext() if dry_run else changing(target):
        # The file may have been saved while a large database was read.
        if _bytes(target) != existing.data:
            existing = _read_existing(path, target)
        found_by = settings.found_by if found_by is None else found_by
        made = tuple(
            _completed(query, existing, found_by, corpus)
            for query in _without_covered(feedback.queries, existing.chair)
        )
        style = existing.fields.style if names is None else STYLES[names]
        fields = replace(existing.fields, style=style)
        fields = replace(fields, style=style_of(existing.queries(), fields))
        lines = {_key(query): _line(query, existing, fields) for query in made}
        if not made and not existing.chair:
            raise NothingToEvaluateError(_nothing(feedback, worth, path))
        data = _joined(existing.head, lines.values())
        if data != existing.data:
            refuse(f"{path.name} (not written)", parse_gold(data, existing.fields)[1])
            if not dry_run:
                write_bytes(target, data)
    changes = tuple(_changes(existing, made, lines))
    n_added = sum(change.before is None for change in changes)
    n_dropped = sum(change.after is None for change in changes)
    return BootstrapResult(
        gold=str(path),
        database=shown(parse_url(engine_url)),
        n_feedback=feedback.n_rows,
        skipped=feedback.skipped,
        n_found=len(feedback.queries),
        n_covered=len(feedback.queries) - len(made),
        n_added=n_added,
        n_changed=len(changes) - n_added - n_dropped,
        n_unchanged=sum(existing.machine.get(key, (None, None))[1] == lines[key] for key in lines),
        n_dropped=n_dropped,
        n_chair=len(existing.chair),
        is_changed=data != existing.data,
        is_written=data != existing.data and not dry_run,
        changes=changes,
    )


def _completed(
    query: GoldQuery, existing: _Existing, found_by: str, corpus: Corpus | None
) -> GoldQuery:
    """Return a generated row with the digests of its documents, and where they came from."""
    before, _ = existing.machine.get(_key(query), (None, ""))
    keys = {(query.corpus, doc) for doc in query.relevant}
    digests = {} if corpus is None else {doc: d for (_, doc), d in digests_of(corpus, keys).items()}
    # An earlier digest is of the text that the label was given to.
    digests |= {} if before is None else before.digests
    kept = {doc: digests[doc] for doc in query.relevant if doc in digests}
    names = dict.fromkeys(query.relevant, (found_by,)) if found_by else {}
    return replace(query, digests=kept, found_by=names)


def _line(query: GoldQuery, existing: _Existing, fields: FieldMap) -> str:
    """Return the line of a generated row; that of the file where only digests are new."""
    before, text = existing.machine.get(_key(query), (None, ""))
    is_known = before is not None and says_same(
        replace(before, digests={}), replace(query, digests={})
    )
    return text if is_known else query_line(query, fields=fields)


def _check_scale(scores: Mapping[int, int], fields: FieldMap, path: Path) -> None:
    for score, grade in scores.items():
        if not 0 <= grade <= fields.max_grade:
            raise BadInputError(
                f"the score {score} is worth grade {grade}, which is off the scale 0 to "
                f"{fields.max_grade} of {path.name} (max_grade in gold.toml)"
            )


def _read_existing(path: Path, target: Path) -> _Existing:
    """Read a gold set; ``path`` is its name, and ``target`` the file it links to."""
    fields = field_map(path)
    data = _bytes(target)
    queries, faults = parse_gold(data, fields)
    refuse(path.name, faults)
    by_line = {query.line: query for query in queries}
    head: list[bytes] = []
    machine = {}
    blank: list[bytes] = []
    for number, raw in enumerate(_lines(data), start=1):
        query = by_line.get(number)
        if not raw.removeprefix(codecs.BOM_UTF8).strip():
            blank.append(raw)
            continue
        if query is not None and query.source == MACHINE:
            machine[_key(query)] = query, _text(raw)
        else:
            head += [*blank, raw]
        blank = []
    chair = tuple(query for query in queries if query.source != MACHINE)
    return _Existing(fields, data, tuple(head), chair, machine)


def _bytes(path: Path) -> bytes:
    """Return the bytes of a gold set, none for one that does not exist yet."""
    if not is_there(path):
        return b""
    data, problem = read_bytes(path, path.parent)
    if problem is not None:
        raise BadInputError(problem)
    return data


def _lines(data: bytes) -> list[bytes]:
    """Return the lines with their ends; only a line feed ends one, as when rows are read."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def _text(raw: bytes) -> str:
    return raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig")


def _joined(head: Iterable[bytes], rows: Iterable[str]) -> bytes:
    """Return the bytes of the file; a last line that had no end gets one before another follows."""
    kept = b"".join(head)
    made = "".join(f"{row}\n" for row in rows).encode()
    return kept + (b"\n" if kept and made and not kept.endswith(b"\n") else b"") + made


def _key(query: GoldQuery) -> tuple[str, str]:
    return query.corpus, normalize_query(query.query)


def _without_covered(
    found: Iterable[GoldQuery], chair: Iterable[GoldQuery]
) -> tuple[GoldQuery, ...]:
    chair = tuple(chair)
    ids, keys = {query.id for query in chair}, {_key(query) for query in chair}
    return tuple(query for query in found if query.id not in ids and _key(query) not in keys)


def _changes(
    existing: _Existing, made: Iterable[GoldQuery], lines: Mapping[tuple[str, str], str]
) -> Iterator[RowChange]:
    """Yield what differs, in the order of (corpus, id)."""
    places = {key: query for key, (query, _) in existing.machine.items()}
    places.update({_key(query): query for query in made})
    for key, query in sorted(places.items(), key=lambda item: (item[1].corpus, item[1].id)):
        before, after = existing.machine.get(key, (None, None))[1], lines.get(key)
        if before != after:
            yield RowChange(query.id, before, after)


def _nothing(feedback: Feedback, scores: Mapping[int, int], path: Path) -> str:
    wanted = " or ".join(map(str, sorted(scores)))
    reasons = ", ".join(f"{reason} {n}" for reason, n in feedback.skipped.items())
    unusable = f", all unusable ({reasons})" if reasons else ""
    return (
        f"{path}: not written, for it would hold no query: "
        f"{counted(feedback.n_rows, 'feedback row')} with score {wanted}{unusable}; no reviewed row"
    )
