"""Writing gold sets: rows that nobody changed stay as they stood."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.fields import FIELDS, HEADER_KEY, FieldMap, field_map
from retrieval_eval.gold.ids import query_id
from retrieval_eval.gold.model import GoldQuery
from retrieval_eval.gold.reading import parse_gold, refuse
from retrieval_eval.gold.rows import Kept, read_row
from retrieval_eval.io.files import write_bytes

_ALWAYS: Final = frozenset({"id", "query", "corpus", "relevant", "source"})


def query_line(query: GoldQuery, *, fields: FieldMap | None = None) -> str:
    """Return the line of a query, without a line feed.

    A query that was read and not changed gives the line it came from, to the letter. One that
    was changed keeps what it did not change, and the names its file uses. Any other query is
    written under our names in our order, defaults left out, documents by falling grade.

    Parameters
    ----------
    query
        What to write.
    fields
        How the file that the line goes to names its fields; by default as the file that the
        query came from.

    Examples
    --------
    >>> query_line(GoldQuery("g1", "late fees", "law", relevant={"d2": 1, "d1": 2}, source="chair"))
    '{"id":"g1","query":"late fees","corpus":"law","relevant":{"d1":2,"d2":1},"source":"chair"}'
    """
    kept = query.extra if isinstance(query.extra, Kept) else None
    if kept is not None and kept.text is not None and kept.fields is not None:
        row = json.loads(kept.text)
        if fields is None or _is_read_alike(row, kept.fields, fields):
            changed = _changed(row, kept.fields, query)
            return kept.text if _dumps(changed) == _dumps(row) else _dumps(changed)
    values = _values(query)
    needed = _ALWAYS | _stated(query)
    stated = {name: values[name] for name in FIELDS if name in needed}
    return _dumps({**stated, **query.extra})


def write_gold_set(
    path: Path, queries: Iterable[GoldQuery], *, max_grade: int | None = None
) -> None:
    """Write a gold set, whole or not at all, in the order of ``queries``.

    The header line of a file that is replaced stays, and so does the meaning of ``gold.toml``
    beside it. A link stays a link, and what it leads to is written.

    Parameters
    ----------
    path
        The file to write or replace.
    queries
        Its rows.
    max_grade
        The top of the scale; a header line declares it where the file or ``gold.toml`` states a
        lower one.

    Raises
    ------
    BadInputError
        When the file cannot be written, or could not be read back as it is, for instance with two
        queries of one id or a grade off the scale. Nothing is written then.
    """
    data = gold_set_bytes(path, queries, max_grade=max_grade)
    write_bytes(Path(os.path.realpath(path)), data)


def gold_set_bytes(
    path: Path, queries: Iterable[GoldQuery], *, max_grade: int | None = None
) -> bytes:
    """Return what :func:`write_gold_set` would write, and raise what it would raise of it."""
    fields = field_map(path)
    if max_grade is not None and max_grade > fields.max_grade:
        fields = _with_scale(fields, max_grade)
    queries = list(queries)
    lines = [query_line(query, fields=fields) for query in queries]
    head = [] if fields.header is None else [fields.header]
    data = "".join(f"{line}\n" for line in (*head, *lines)).encode("utf-8", "surrogatepass")
    back, faults = parse_gold(data, fields)
    refuse(f"{path.name} (not written)", faults)
    for query, read in zip(queries, back, strict=True):
        if _values(query) != _values(read) or query.extra != read.extra:
            raise BadInputError(
                f"{path.name} (not written): the query {query.id[:80]!r} could not be read back as"
                " it is; one of its foreign fields has the name of a field"
            )
    return data


def _with_scale(fields: FieldMap, max_grade: int) -> FieldMap:
    header = json.loads(fields.header) if fields.header is not None else {HEADER_KEY: {}}
    header[HEADER_KEY]["max_grade"] = max_grade
    return replace(fields, max_grade=max_grade, header=_dumps(header))


def _is_read_alike(row: dict[str, Any], one: FieldMap, other: FieldMap) -> bool:
    here, there = one.meanings(), other.meanings()
    return all(here.get(name) == there.get(name) for name in row)


def _changed(row: dict[str, Any], fields: FieldMap, query: GoldQuery) -> dict[str, Any]:
    """Return the row with what differs between the query it was and the query it is now."""
    was, _ = read_row(row, fields)
    assert was is not None
    old, new, meanings = _values(was), _values(query), fields.meanings()
    found: dict[str, Any] = {}
    for name, value in row.items():
        ours = meanings.get(name)
        if ours is not None:
            found[name] = value if old[ours] == new[ours] else new[ours]
        elif name in query.extra:
            found[name] = query.extra[name]
    stated = _stated(query) - {meanings.get(name) for name in row}
    for ours in FIELDS:
        if ours in stated:
            found[fields.names.get(ours, ours)] = new[ours]
    return {**found, **query.extra}


def _stated(query: GoldQuery) -> set[str]:
    """Return the fields whose values do not follow from the others, and are no defaults."""
    plain = GoldQuery(query_id(query.corpus, query.query), query.query, query.corpus)
    plain = replace(plain, relevant=query.relevant)
    default, values = _values(plain), _values(query)
    return {name for name in FIELDS if values[name] != default[name]}


def _values(query: GoldQuery) -> dict[str, Any]:
    """Return the JSON values of all fields, each in the one form that has its meaning."""
    relevant = sorted(query.relevant.items(), key=lambda pair: (-pair[1], pair[0]))
    is_answerable = True if query.answerable is None and query.n_relevant else query.answerable
    return {
        "id": query.id,
        "query": query.query,
        "corpus": query.corpus,
        "area": query.area,
        "relevant": dict(relevant),
        "source": query.source,
        "origin": query.origin,
        "answerable": is_answerable,
        "note": query.note,
        "labels": [
            {"labeller": label.labeller, "doc": label.doc, "grade": label.grade}
            for label in query.labels
        ],
        "anchors": {
            doc: {
                "source": anchor.source,
                "start": anchor.start,
                "end": anchor.end,
                "sha256": anchor.sha256,
            }
            for doc, anchor in sorted(query.anchors.items())
        },
    }


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
