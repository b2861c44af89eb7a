"""Parquet tables: rows of plain objects to a file of a stated schema, and columns back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from typing import Any, Final, Literal

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable
from retrieval_eval.io.remote import Place

Kind = Literal["text", "list", "integer", "boolean", "number", "uses"]
"""What a column holds; ``uses`` is a list of names with calls and answered calls."""

Schema = Mapping[str, Kind]
_LARGEST_INTEGER: Final = 2**63 - 1


def table_bytes(schema: Schema, rows: Sequence[Mapping[str, Any]], **about: bytes) -> bytes:
    """Return a Parquet file of some rows; a value that its column cannot hold is missing.

    ``about`` is kept in the file beside the schema.
    """
    arrow, parquet = _arrow(), import_module("pyarrow.parquet")
    types = _types(arrow)
    fields = [arrow.field(name, types[kind]) for name, kind in schema.items()]
    whole = arrow.schema(fields, {f"retrieval_eval.{k}": v for k, v in about.items()})
    columns = [
        arrow.array([_cell(row.get(name), kind) for row in rows], types[kind])
        for name, kind in schema.items()
    ]
    target = BytesIO()
    table = arrow.Table.from_arrays(columns, schema=whole)
    parquet.write_table(table, target, compression="zstd")
    return target.getvalue()


def read_table(place: Place, schema: Schema, columns: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return columns of a Parquet file as plain objects, by default all of a schema.

    Raises ``BadInputError`` when the file is damaged, or lacks one of the columns, of its kind.
    """
    names = list(columns or schema)
    with _opened(place) as file:
        types, there = _types(_arrow()), file.schema_arrow
        for name in names:
            if name not in there.names or there.field(name).type != types[schema[name]]:
                raise ValueError(f"it has no column {name} of kind {schema[name]}")
        found: dict[str, list[Any]] = file.read(columns=names).to_pydict()
        return found


def read_about(place: Place, name: str) -> bytes | None:
    """Return what :func:`table_bytes` kept beside the schema of a file; None where it has none."""
    with _opened(place) as file:
        kept = file.schema_arrow.metadata or {}
        found: bytes | None = kept.get(f"retrieval_eval.{name}".encode())
        return found


@contextmanager
def _opened(place: Place) -> Iterator[Any]:
    """Give a Parquet file that is read; a damaged one is a sentence that names it."""
    _arrow()
    try:
        stream = place.open_file()
    except FileNotFoundError:
        raise BadInputError(f"{place}: was removed meanwhile; evaluate the run again") from None
    with stream:
        try:
            yield import_module("pyarrow.parquet").ParquetFile(stream)
        except Exception as error:  # noqa: BLE001  the file may be damaged in any way
            raise BadInputError(
                f"{place}: is no whole Parquet file ({str(error)[:200]}); remove it and evaluate "
                "the run again"
            ) from None


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise BadInputError(f"tables are written with pyarrow: {install_hint('cloud')}") from None


def _types(arrow: Any) -> dict[Kind, Any]:
    use = [("name", arrow.string()), ("calls", arrow.int64()), ("answered", arrow.int64())]
    return {
        "text": arrow.string(),
        "list": arrow.list_(arrow.string()),
        "integer": arrow.int64(),
        "boolean": arrow.bool_(),
        "number": arrow.float64(),
        "uses": arrow.list_(arrow.struct(use)),
    }


def _cell(value: Any, kind: Kind) -> Any:
    match kind:
        case "text":
            return encodable(value) if isinstance(value, str) else None
        case "list":
            return [encodable(v) for v in value or () if isinstance(v, str)]
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer":
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            return value if is_whole and abs(value) <= _LARGEST_INTEGER else None
        case "number":
            return value
        case "uses":
            return [
                {"name": encodable(name), "calls": calls, "answered": answered}
                for name, (calls, answered) in (value or {}).items()
            ]
