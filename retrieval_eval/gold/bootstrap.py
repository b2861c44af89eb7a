"""Gold queries from real use: regenerate the machine's rows, leave a person's alone."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.database import parse_url, shown
from retrieval_eval.gold.feedback import Feedback, read_feedback
from retrieval_eval.gold.feedback_tables import FeedbackTables, feedback_settings
from retrieval_eval.gold.fields import FieldMap, field_map
from retrieval_eval.gold.ids import normalize_query
from retrieval_eval.gold.model import GoldQuery
from retrieval_eval.gold.reading import parse_gold, refuse
from retrieval_eval.gold.writing import query_line
from retrieval_eval.io.files import is_there, read_bytes, write_bytes
from retrieval_eval.records import Progress
from retrieval_eval.values import counted

MACHINE: Final = "bootstrap"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A machine's row that appears (no ``before``), vanishes (no ``after``) or differs."""

    id: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """What a bootstrap did, or with ``dry_run`` would do.

    ``n_feedback`` feedback rows had a wanted score; ``skipped`` counts those that judge nothing,
    by reason. They make ``n_found`` queries, of which ``n_covered`` have a person's row already.
    ``changes`` are ordered as the rows are; ``n_chair`` rows of a person were kept as they stood.
    ``is_changed`` also when only the order of rows differs.
    """

    path: Path
    database: str
    n_feedback: int
    skipped: Mapping[str, int]
    n_found: int
    n_covered: int
    n_unchanged: int
    n_chair: int
    changes: tuple[RowChange, ...]
    is_changed: bool
    is_written: bool

    @property
    def n_added(self) -> int:
        """Rows that were not there before."""
        return sum(change.before is None for change in self.changes)

    @property
    def n_dropped(self) -> int:
        """Rows whose queries the database no longer has."""
        return sum(change.after is None for change in self.changes)

    @property
    def n_changed(self) -> int:
        """Rows that were there and differ now."""
        return len(self.changes) - self.n_added - self.n_dropped

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON document."""
        return {
            "gold": str(self.path),
            "database": self.database,
            "n_feedback": self.n_feedback,
            "skipped": dict(self.skipped),
            "n_found": self.n_found,
            "n_covered": self.n_covered,
            "n_added": self.n_added,
            "n_changed": self.n_changed,
            "n_unchanged": self.n_unchanged,
            "n_dropped": self.n_dropped,
            "n_chair": self.n_chair,
            "is_changed": self.is_changed,
            "is_written": self.is_written,
            "changes": [
                {"id": change.id, "before": change.before, "after": change.after}
                for change in self.changes
            ],
        }


@dataclass(frozen=True, slots=True)
class _Existing:
    """A gold set as it stands: what stays to the byte, and the machine's rows by query."""

    fields: FieldMap
    data: bytes
    head: tuple[bytes, ...]
    chair: tuple[GoldQuery, ...]
    machine: Mapping[tuple[str, str], tuple[GoldQuery, str]]


def bootstrap(
    engine_url: str,
    path: Path,
    *,
    tables: FeedbackTables | None = None,
    scores: Mapping[int, int] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> BootstrapResult:
    """Regenerate the ``bootstrap`` rows of a gold set from the relevance feedback of a database.

    The file then holds its header line, the ``chair`` rows with their bytes and in their order
    (a blank line before one stays), and the machine's rows by (corpus, id). A query that a chair
    row has, by id or by normalised text and corpus, gets no row of the machine. A second run with
    the same database changes no byte.

    Parameters
    ----------
    engine_url : str
        A SQLAlchemy URL; the database is only read.
    path : Path
        The gold set; it need not exist.
    tables, scores : optional
        Names, and the grade each wanted score is worth. Default: what ``gold.toml`` beside the
        gold set says, else the documented names, and score 3 as grade 1.
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
        No row would be left: neither usable feedback nor a chair row. Nothing is written.
    """
    target = Path(os.path.realpath(path))
    # Beside the name that was given, where every other command looks for `gold.toml` too.
    settings = feedback_settings(path)
    worth = settings.scores if scores is None else scores
    existing = _read_existing(path, target)
    _check_scale(worth, existing.fields, path)
    feedback = read_feedback(engine_url, tables or settings.tables, worth, progress=progress)
    # Somebody may have saved the file while a large database was read.
    if _bytes(target) != existing.data:
        existing = _read_existing(path, target)
    made = _without_covered(feedback.queries, existing.chair)
    lines = {_key(query): query_line(query, fields=existing.fields) for query in made}
    if not made and not existing.chair:
        raise NothingToEvaluateError(_nothing(feedback, worth, path))
    data = _joined(existing.head, lines.values())
    if data != existing.data:
        refuse(f"{path.name} (not written)", parse_gold(data, existing.fields)[1])
        if not dry_run:
            write_bytes(target, data)
    return BootstrapResult(
        path=path,
        database=shown(parse_url(engine_url)),
        n_feedback=feedback.n_rows,
        skipped=feedback.skipped,
        n_found=len(feedback.queries),
        n_covered=len(feedback.queries) - len(made),
        n_unchanged=sum(existing.machine.get(key, (None, None))[1] == lines[key] for key in lines),
        n_chair=len(existing.chair),
        changes=tuple(_changes(existing, made, lines)),
        is_changed=data != existing.data,
        is_written=data != existing.data and not dry_run,
    )


def _check_scale(scores: Mapping[int, int], fields: FieldMap, path: Path) -> None:
    for score, grade in scores.items():
        if not 0 <= grade <= fields.max_grade:
            raise BadInputError(
                f"the score {score} is worth grade {grade}, which is off the scale 0 to "
                f"{fields.max_grade} of {path.name} (max_grade in gold.toml)"
            )


def _read_existing(path: Path, target: Path) -> _Existing:
    """Read a gold set; ``path`` is its name, and ``target`` what that leads to."""
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
    """Return the lines with their ends; nothing but a line feed ends one, as when rows are read."""
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
        f"{counted(feedback.n_rows, 'feedback row')} with score {wanted}{unusable}; no chair row"
    )
