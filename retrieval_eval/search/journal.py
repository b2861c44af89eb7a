"""The journal of a run in progress: what was answered is not asked again after an interruption."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import append_line, decode, json_bytes, read_bytes, write_bytes
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import UNTRUSTED, QueryResult, Status

_FORMAT: Final = "retrieval-eval search run, version 1"
_START_ANEW: Final = "start anew with --fresh"


@dataclass(frozen=True, slots=True)
class Journal:
    """A JSONL file: a header that says which settings it belongs to, then a result a line."""

    path: Path
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def record(self, result: QueryResult) -> None:
        """Append one result as a whole line; may be called from several threads.

        Raises
        ------
        BadInputError
            When the file cannot be written.
        """
        try:
            with self._lock:
                append_line(self.path, _line(result))
        except OSError as error:
            raise _cannot_be("written", self.path, error) from error


def open_journal(
    path: Path, settings: Mapping[str, Any], *, fresh: bool = False
) -> tuple[Journal, dict[str, QueryResult]]:
    """Return the journal at ``path`` and the answers it holds, by query id.

    Failed queries are left out, and answers that an earlier version let pass (see
    :data:`UNTRUSTED`): they are asked again. A last line without its end was being
    written when the run stopped, and is dropped. ``fresh`` begins the journal anew.

    Raises
    ------
    BadInputError
        When the file is no journal (it is left alone), when a line of it is broken, or when it
        belongs to a run with other settings and ``fresh`` is not asked for.
    """
    # As they come back from the file, so that tuples and lists do not differ.
    wanted = json.loads(json_bytes(dict(settings)))
    answered: dict[str, QueryResult] = {}
    try:
        lines = _whole_lines(path) if path.exists() else []
    except OSError as error:
        raise _cannot_be("read", path, error) from error
    if lines:
        _refuse_foreign(path, lines[0], wanted, fresh=fresh)
    if lines and not fresh:
        results = (_result(path, number, line) for number, line in enumerate(lines[1:], 2))
        answered = {result.id: result for result in results if _is_answer(result)}
    try:
        write_bytes(path, b"".join([_header(wanted), *map(_line, answered.values())]))
    except OSError as error:
        raise _cannot_be("written", path, error) from error
    return Journal(path), answered


def documents_fingerprint(documents: Mapping[str, Collection[str]]) -> str:
    """Return the SHA-256 over the document ids of each corpus."""
    listed = {name: sorted(ids) for name, ids in documents.items()}
    return sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def _cannot_be(what: str, path: Path, error: OSError) -> BadInputError:
    return BadInputError(f"{path}: the journal cannot be {what}: {error.strerror or error}")


def _is_answer(result: QueryResult) -> bool:
    return result.status == "ok" and UNTRUSTED.keys().isdisjoint(result.problems)


def _whole_lines(path: Path) -> list[bytes]:
    data, problem = read_bytes(path, path.resolve().parent)
    if problem is not None:
        raise BadInputError(f"the journal cannot be used: {problem}")
    if data and b"\n" not in data:
        raise BadInputError(f"{path}: not a journal of a search run; name another file")
    return data.split(b"\n")[:-1]


def _header(settings: dict[str, Any]) -> bytes:
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return json_bytes({"journal": _FORMAT, "fingerprint": digest, "settings": settings})


def _refuse_foreign(path: Path, line: bytes, wanted: dict[str, Any], *, fresh: bool) -> None:
    header, _ = decode(line.decode("utf-8", "replace"))
    settings = header.get("settings") if isinstance(header, dict) else None
    if not isinstance(settings, dict) or header.get("journal") != _FORMAT:
        raise BadInputError(f"{path}: not a journal of a search run; name another file")
    if fresh or settings == wanted:
        return
    names = sorted(settings.keys() | wanted.keys())
    differing = [name for name in names if settings.get(name) != wanted.get(name)]
    raise BadInputError(
        f"{path}: belongs to an unfinished run with other settings"
        f" ({', '.join(differing)}); finish that run, {_START_ANEW}"
    )


def _line(result: QueryResult) -> bytes:
    return json_bytes(
        {
            "id": result.id,
            "status": result.status,
            "error": result.error,
            "ranking": [[doc.doc, doc.score] for doc in result.ranking],
            "is_refused": result.is_refused,
            "problems": list(result.problems),
            "seconds": result.seconds,
        }
    )


def _result(path: Path, number: int, line: bytes) -> QueryResult:
    row, _ = decode(line.decode("utf-8", "replace"))
    if not isinstance(row, dict) or not _is_result(row):
        raise BadInputError(f"{path}: line {number}: no result of a query; {_START_ANEW}")
    return QueryResult(
        id=row["id"],
        status=cast("Status", row["status"]),
        error=row["error"],
        ranking=tuple(ScoredDoc(doc, float(score)) for doc, score in row["ranking"]),
        is_refused=row["is_refused"],
        problems=tuple(row["problems"]),
        seconds=row["seconds"],
    )


def _is_result(row: dict[str, Any]) -> bool:
    ranking, problems = row.get("ranking"), row.get("problems")
    return (
        isinstance(row.get("id"), str)
        and row.get("status") in ("ok", "failed")
        and isinstance(row.get("error", 0), str | None)
        and isinstance(row.get("is_refused"), bool)
        and isinstance(problems, list)
        and all(isinstance(code, str) for code in problems)
        and isinstance(ranking, list)
        and all(map(_is_document, ranking))
        and (row.get("seconds", "") is None or _is_number(row.get("seconds")))
    )


def _is_document(pair: Any) -> bool:
    is_pair = isinstance(pair, list) and len(pair) == 2
    return is_pair and isinstance(pair[0], str) and _is_number(pair[1])


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max
